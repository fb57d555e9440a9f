/* SPDX-License-Identifier: MIT
 *
 * Routing on CPUs: its space, plan and tasks.  A task has midi.m tokens.  Tiles' m are tokens, n and k 1.
 */
#include <string.h>

#include "base/gang.h"
#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/constraint.h"
#include "kernels/cpu/cpu_plan.h"
#include "kernels/cpu/cpu_rules.h"
#include "kernels/route/route.h"
#include "kernels/simd/isas.h"

enum { DEFAULT_TOKENS = 16 };

static size_t task_count(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	return tcb_div_up(problem->shape.m, tcb_most(geometry->tile[TCB_MIDI].m, 1));
}

/* --- the space --- */

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const size_t m = tcb_power_of_two_up(problem->shape.m);
	size_t count = 0;
	tcb_axis_add_float_isas(tcb_axis_knob(out, &count, TCB_KNOB_ISA), target);
	for (int level = TCB_MACRO; level < TCB_LEVEL_COUNT; level++) {
		struct tcb_axis *axis = tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, (enum tcb_level)level);
		tcb_axis_add(axis, level == TCB_MICRO ? 1 : m);
		if (level == TCB_MIDI)
			tcb_axis_add_powers(axis, 1, 2, m);
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, (enum tcb_level)level), 1);
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, (enum tcb_level)level), 1);
	}
	tcb_axis_add_threads(tcb_axis_knob(out, &count, TCB_KNOB_THREADS), target);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_SCHED), TCB_SCHED_STATIC, TCB_SCHED_DYNAMIC);
	return count;
}

static const char *rule_tiles(const struct tcb_problem *problem, const struct tcb_target *target,
			      const struct tcb_geometry *geometry)
{
	(void)target;
	if (geometry->tile[TCB_MACRO].m != tcb_power_of_two_up(problem->shape.m))
		return "macro.m must be the tokens, rounded up to a power of two";
	return geometry->tile[TCB_MACRO].n != 1 || geometry->tile[TCB_MACRO].k != 1 ? "tiles' n and k must be 1" : NULL;
}

/* Who takes which tokens matters to several threads only. */
static const char *policy_task(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry)
{
	(void)problem, (void)target;
	return geometry->knob[TCB_KNOB_THREADS] == 1 && geometry->tile[TCB_MIDI].m != geometry->tile[TCB_MACRO].m
		       ? "one thread takes all tokens in one task"
		       : NULL;
}

static const struct tcb_rule rules[] = {
	{ TCB_FIELD_TILES, TCB_RULE_DOUBLE, rule_tiles },
	{ TCB_FIELD_TILES | TCB_FIELD_KNOB(THREADS), TCB_RULE_POLICY, policy_task },
	{ TCB_FIELD_KNOB(ISA), TCB_RULE_POLICY, tcb_cpu_policy_scalar },
	{ 0, 0, NULL },
};

static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const size_t m = tcb_power_of_two_up(problem->shape.m);
	const size_t threads = tcb_least(tcb_most(target->threads, 1), tcb_div_up(problem->shape.m, DEFAULT_TOKENS));
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ m, 1, 1 };
	out->tile[TCB_MIDI] = (struct tcb_tile){ threads > 1 ? DEFAULT_TOKENS : m, 1, 1 };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, 1, 1 };
	out->knob[TCB_KNOB_ISA] = (int32_t)tcb_float_isa(target);
	out->knob[TCB_KNOB_THREADS] = (int32_t)threads;
	out->knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	(void)target;
	memset(out, 0, sizeof(*out));
	out->element_bytes = sizeof(float);
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] =
			sizeof(float) * geometry->tile[level].m * (problem->shape.n + 2 * problem->shape.k);
}

static const struct tcb_side_space cpu_space = { rules, axes, default_geometry, footprint };

/* --- the plan and the tasks --- */

static enum tcb_status route_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				  struct tcb_plan *out, struct tcb_error *err)
{
	TCB_TRY(tcb_cpu_plan(problem, geometry, 0, out, err));
	TCB_TRY(tcb_cpu_plan_shares(out, task_count(problem, geometry), "midi.m", err));
	out->chain = ROUTE_CHAIN;
	return TCB_OK;
}

struct run {
	const struct tcb_plan *plan;
	void *const *operand;
};

static void route_task(void *ctx, size_t index, unsigned thread)
{
	const struct run *run = ctx;
	const struct tcb_shape *s = &run->plan->problem.shape;
	const size_t tile = tcb_most(run->plan->geometry.tile[TCB_MIDI].m, 1), first = index * tile;
	(void)thread;
	for (size_t t = first; t < tcb_least(first + tile, s->m); t++) {
		const struct route_call call = {
			.scores = (const float *)run->operand[ROUTE_SCORES] + t * s->n,
			.ids = (int32_t *)run->operand[ROUTE_IDS] + t * s->k,
			.factors = (float *)run->operand[ROUTE_FACTORS] + t * s->k,
			.experts = s->n,
			.used = s->k,
		};
		((route_micro_fn *)run->plan->variant->entry)(&call);
	}
}

static void route_run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	struct run run = { plan, operand };
	(void)workspace;
	tcb_pool_run_last(pool, plan->threads, (enum tcb_sched)plan->geometry.knob[TCB_KNOB_SCHED],
			  task_count(&plan->problem, &plan->geometry), route_task, &run);
}

TCB_VARIANT_TABLES(variants, TCB_ISAS_FLOATS, route_variants)
const struct tcb_side route_cpu = { .variants = variants, .space = &cpu_space, .plan = route_plan, .run = route_run };
