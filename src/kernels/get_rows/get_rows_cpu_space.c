/* SPDX-License-Identifier: MIT
 *
 * The search space of the ops qXX_get_rows on CPUs, its rules and its default geometry.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/constraint.h"
#include "kernels/cpu/cpu_rules.h"
#include "kernels/get_rows/get_rows.h"
#include "kernels/simd/isas.h"

/* A thread more is worth it from so many values on: waking one takes some microseconds. */
enum { THREAD_VALUES = 1 << 15, TASK_VALUES = 1 << 13, AHEAD = 1024 };

static size_t macro_m(const struct tcb_problem *problem)
{
	return tcb_power_of_two_up(problem->shape.m);
}
static size_t macro_k(const struct tcb_problem *problem)
{
	return tcb_most(tcb_power_of_two_up(problem->shape.k), GET_ROWS_SUPER);
}

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const size_t m = macro_m(problem), k = macro_k(problem);
	size_t count = 0;
	tcb_axis_add_float_isas(tcb_axis_knob(out, &count, TCB_KNOB_ISA), target);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_LAYOUT), TCB_LAYOUT_NATIVE, TCB_LAYOUT_R16);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MIDI), 1, 2, m);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MIDI), GET_ROWS_SUPER, 2, k);
	tcb_axis_add_threads(tcb_axis_knob(out, &count, TCB_KNOB_THREADS), target);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_SCHED), TCB_SCHED_STATIC, TCB_SCHED_DYNAMIC);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_PREFETCH), 0, 512, 1024, 2048, 4096);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MICRO), 1);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MICRO), GET_ROWS_SUPER);
	tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MACRO), m);
	tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MACRO), k);
	for (int level = TCB_MACRO; level < TCB_LEVEL_COUNT; level++)
		ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, (enum tcb_level)level), 1);
	return count;
}

/* --- rules (V4) --- */

static const char *rule_tiles(const struct tcb_problem *problem, const struct tcb_target *target,
			      const struct tcb_geometry *geometry)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *micro = &geometry->tile[TCB_MICRO];
	(void)target;
	if (micro->m != 1 || micro->k != GET_ROWS_SUPER || macro->n != 1)
		return "micro must be 1x1x256, and n of all tiles 1: rows are found by their ids";
	return macro->m != macro_m(problem) || macro->k != macro_k(problem)
		       ? "macro must be tokens x 1 x k, rounded up to powers of two, k to a superblock at least"
		       : NULL;
}

static const struct tcb_rule rules[] = {
	{ TCB_FIELD_TILES, TCB_RULE_DOUBLE, rule_tiles },
	{ TCB_FIELD_KNOB(ISA), TCB_RULE_POLICY, tcb_cpu_policy_scalar },
	{ 0, 0, NULL },
};

/* --- default geometry --- */

/* The table as it is stored; few values are one thread's. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t m = macro_m(problem), k = macro_k(problem);
	const size_t most = tcb_most(s->m * s->k / THREAD_VALUES, 1);
	size_t midi = 1;
	while (2 * midi <= m && 2 * midi * k <= TASK_VALUES)
		midi *= 2;
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ m, 1, k };
	out->tile[TCB_MIDI] = (struct tcb_tile){ midi, 1, k };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, 1, GET_ROWS_SUPER };
	out->knob[TCB_KNOB_ISA] = (int32_t)tcb_float_isa(target);
	out->knob[TCB_KNOB_LAYOUT] = TCB_LAYOUT_NATIVE;
	out->knob[TCB_KNOB_THREADS] =
		(int32_t)tcb_least(tcb_least(most, tcb_most(target->threads, 1)), tcb_div_up(s->m, midi));
	out->knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
	out->knob[TCB_KNOB_PREFETCH] = AHEAD;
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	const size_t element = tcb_type_bytes(get_rows_type(problem));
	(void)target;
	memset(out, 0, sizeof(*out));
	out->element_bytes = element;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = element * geometry->tile[level].m * geometry->tile[level].k;
}

const struct tcb_side_space get_rows_cpu_space = { rules, axes, default_geometry, footprint };
