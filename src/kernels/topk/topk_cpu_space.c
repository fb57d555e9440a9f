/* SPDX-License-Identifier: MIT
 *
 * The search space of topk on CPUs, its rules and its default geometry.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/constraint.h"
#include "kernels/cpu/cpu_rules.h"
#include "kernels/simd/isas.h"
#include "kernels/topk/topk.h"

/* A thread more is worth it from so many scores on: waking one takes some microseconds. */
enum { THREAD_SCORES = 1 << 15, PART_LEAST = 1 << 12, DEFAULT_VECTORS = 8 };

static size_t macro_n(const struct tcb_problem *problem, size_t micro)
{
	return tcb_most(tcb_power_of_two_up(problem->shape.n), micro);
}

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const size_t m = tcb_power_of_two_up(problem->shape.m), n = tcb_power_of_two_up(problem->shape.n);
	const size_t micro_most = TOPK_VECTORS_MOST * tcb_float_lanes((int32_t)tcb_float_isa(target));
	const size_t most = tcb_most(n, micro_most);
	size_t count = 0;
	tcb_axis_add_float_isas(tcb_axis_knob(out, &count, TCB_KNOB_ISA), target);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO), 4, 2, micro_most);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI), 4, 2, most);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO), n, 2, most);
	tcb_axis_add_threads(tcb_axis_knob(out, &count, TCB_KNOB_THREADS), target);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_SCHED), TCB_SCHED_STATIC, TCB_SCHED_DYNAMIC);
	for (int level = TCB_MACRO; level < TCB_LEVEL_COUNT; level++) {
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, (enum tcb_level)level),
			     level == TCB_MACRO ? m : 1);
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, (enum tcb_level)level), 1);
	}
	return count;
}

/* --- rules (V4) --- */

static const char *rule_tiles(const struct tcb_problem *problem, const struct tcb_target *target,
			      const struct tcb_geometry *geometry)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	(void)target;
	if (midi->m != 1 || macro->k != 1)
		return "midi.m and k of all tiles must be 1: a task is of one row";
	return macro->m != tcb_power_of_two_up(problem->shape.m) ||
			       macro->n != macro_n(problem, geometry->tile[TCB_MICRO].n)
		       ? "macro must be m x n, rounded up to powers of two, n to micro.n at least"
		       : NULL;
}

/* Of parts with no more scores than are kept all come out again. */
static const char *policy_parts(const struct tcb_problem *problem, const struct tcb_target *target,
				const struct tcb_geometry *geometry)
{
	const size_t midi = geometry->tile[TCB_MIDI].n;
	(void)target;
	return midi < problem->shape.n && midi < tcb_most(PART_LEAST, 4 * problem->shape.k)
		       ? "midi.n makes parts of a row so small that joining them is most of the work"
		       : NULL;
}

static const struct tcb_rule rules[] = {
	{ TCB_FIELD_TILES, TCB_RULE_DOUBLE, rule_tiles },
	{ TCB_FIELD_MIDI_N, TCB_RULE_POLICY, policy_parts },
	{ TCB_FIELD_KNOB(ISA), TCB_RULE_POLICY, tcb_cpu_policy_scalar },
	{ 0, 0, NULL },
};

/* --- default geometry: whole rows, or as many parts as threads are worth waking --- */

static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t micro = DEFAULT_VECTORS * tcb_float_lanes((int32_t)tcb_float_isa(target));
	const size_t n = macro_n(problem, micro), m = tcb_power_of_two_up(s->m);
	const size_t worth = tcb_most(s->m * s->n / THREAD_SCORES, 1);
	const size_t threads = tcb_least(worth, tcb_most(target->threads, 1));
	size_t midi = n;
	while (s->m * tcb_div_up(s->n, midi) < threads && midi / 2 >= tcb_most(PART_LEAST, 4 * s->k))
		midi /= 2;
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ m, n, 1 };
	out->tile[TCB_MIDI] = (struct tcb_tile){ 1, midi, 1 };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, micro, 1 };
	out->knob[TCB_KNOB_ISA] = (int32_t)tcb_float_isa(target);
	out->knob[TCB_KNOB_THREADS] = (int32_t)tcb_least(threads, s->m * tcb_div_up(s->n, midi));
	out->knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	(void)problem, (void)target;
	memset(out, 0, sizeof(*out));
	out->element_bytes = sizeof(float);
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = sizeof(float) * geometry->tile[level].m * geometry->tile[level].n;
}

const struct tcb_side_space topk_cpu_space = { rules, axes, default_geometry, footprint };
