/* SPDX-License-Identifier: MIT
 *
 * The short convolution on CPUs: its space, plan and tasks.  A task has CONV_CHANNELS channels of one sequence and
 * midi.m tokens; the one with a sequence's first tokens stores its states.  Tiles' m are tokens, n and k 1.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/constraint.h"
#include "kernels/cpu/cpu_plan.h"
#include "kernels/cpu/cpu_rules.h"
#include "kernels/delta/short_conv.h"
#include "kernels/simd/isas.h"

enum { TOKENS_LEAST = 16, DEFAULT_TOKENS = 64 };

static size_t task_count(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	const struct tcb_shape *s = &problem->shape;
	return s->words.sequences * tcb_div_up(delta_row(s), CONV_CHANNELS) *
	       tcb_div_up(s->m, tcb_most(geometry->tile[TCB_MIDI].m, 1));
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
		if (level == TCB_MIDI && delta_of(problem)->is_prefill)
			tcb_axis_add_powers(axis, TOKENS_LEAST, 2, m);
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
	const size_t m = tcb_power_of_two_up(problem->shape.m);
	(void)target;
	if (geometry->tile[TCB_MACRO].m != m || (!delta_of(problem)->is_prefill && geometry->tile[TCB_MIDI].m != m))
		return "macro.m must be the tokens, rounded up to a power of two, and for a few tokens midi.m";
	return geometry->tile[TCB_MACRO].n != 1 || geometry->tile[TCB_MACRO].k != 1 ? "tiles' n and k must be 1" : NULL;
}

static const struct tcb_rule rules[] = {
	{ TCB_FIELD_TILES, TCB_RULE_DOUBLE, rule_tiles },
	{ TCB_FIELD_KNOB(ISA), TCB_RULE_POLICY, tcb_cpu_policy_scalar },
	{ 0, 0, NULL },
};

static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const size_t m = tcb_power_of_two_up(problem->shape.m);
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ m, 1, 1 };
	out->tile[TCB_MIDI] =
		(struct tcb_tile){ delta_of(problem)->is_prefill ? tcb_least(m, DEFAULT_TOKENS) : m, 1, 1 };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, 1, 1 };
	out->knob[TCB_KNOB_ISA] = (int32_t)tcb_float_isa(target);
	out->knob[TCB_KNOB_THREADS] = (int32_t)tcb_least(tcb_most(target->threads, 1), task_count(problem, out));
	out->knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	(void)problem, (void)target;
	memset(out, 0, sizeof(*out));
	out->element_bytes = sizeof(float);
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = 2 * sizeof(float) * CONV_CHANNELS * geometry->tile[level].m;
}

static const struct tcb_side_space cpu_space = { rules, axes, default_geometry, footprint };

/* --- the plan and the tasks --- */

static enum tcb_status conv_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				 struct tcb_plan *out, struct tcb_error *err)
{
	TCB_TRY(tcb_cpu_plan(problem, geometry, 0, out, err));
	if (!geometry->tile[TCB_MIDI].m ||
	    (!delta_of(problem)->is_prefill && geometry->tile[TCB_MIDI].m < problem->shape.m))
		return tcb_fail(err, TCB_E_ILLEGAL, "midi.m=%zu, but a task has all of a few tokens",
				geometry->tile[TCB_MIDI].m);
	TCB_TRY(tcb_cpu_plan_shares(out, task_count(problem, geometry), "midi.m", err));
	out->chain = CONV_CHAIN;
	return TCB_OK;
}

struct run {
	const struct tcb_plan *plan;
	void *const *operand;
};

static void conv_task(void *ctx, size_t index, unsigned thread)
{
	const struct run *run = ctx;
	const struct tcb_problem *problem = &run->plan->problem;
	const struct tcb_shape *s = &problem->shape;
	const size_t row = delta_row(s), blocks = tcb_div_up(row, CONV_CHANNELS),
		     tile = run->plan->geometry.tile[TCB_MIDI].m;
	const size_t tiles = tcb_div_up(s->m, tile), sequence = index / blocks / tiles;
	const size_t channel = index / tiles % blocks * CONV_CHANNELS, first = index % tiles * tile;
	const size_t count = (size_t)((const int32_t *)run->operand[CONV_COUNTS])[sequence];
	const int32_t *slots = (const int32_t *)run->operand[CONV_SLOTS] + sequence * delta_slots_row(problem);
	const size_t at = sequence * s->m * row + channel;
	struct conv_call call = {
		.x = (const float *)run->operand[CONV_X] + at,
		.y = (float *)run->operand[CONV_Y] + at,
		.row = row,
		.weights = (const float *)run->operand[CONV_WEIGHTS] + channel,
		.bias = (const float *)run->operand[CONV_BIAS] + channel,
		.old = slots[0] < 0
			       ? NULL
			       : (const float *)run->operand[CONV_STATES] + (size_t)slots[0] * conv_state(s) + channel,
		.first = first,
		.tokens = first < count ? tcb_least(tile, count - first) : 0,
		.channels = tcb_least(CONV_CHANNELS, row - channel),
	};
	(void)thread;
	if (!call.tokens)
		return;
	if (first) /* not looked at: another thread may be writing there */
		call.old = NULL;
	for (size_t t = 0; !first && t < count; t++) {
		const size_t to = delta_slot_of(problem, t, count);
		if (!to || slots[to] < 0)
			continue;
		call.keep[call.kept].to =
			(float *)run->operand[CONV_STATES_OUT] + (size_t)slots[to] * conv_state(s) + channel;
		call.keep[call.kept++].token = t;
	}
	((conv_micro_fn *)run->plan->variant->entry)(&call);
}

static void conv_run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	struct run run = { plan, operand };
	(void)workspace;
	tcb_pool_run(pool, plan->threads, (enum tcb_sched)plan->geometry.knob[TCB_KNOB_SCHED],
		     task_count(&plan->problem, &plan->geometry), conv_task, &run);
}

#define SIDE(kind)                                                                         \
	TCB_VARIANT_TABLES(kind##_here, TCB_ISAS_FLOATS, short_conv_##kind##_f32_variants) \
	const struct tcb_side short_conv_##kind##_f32_cpu = {                              \
		.variants = kind##_here,                                                   \
		.space = &cpu_space,                                                       \
		.plan = conv_plan,                                                         \
		.run = conv_run,                                                           \
	};
SIDE(decode)
SIDE(prefill)
