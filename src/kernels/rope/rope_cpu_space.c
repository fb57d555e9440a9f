/* SPDX-License-Identifier: MIT
 *
 * The search space of rope_append on CPUs, its rules and its default geometry.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/constraint.h"
#include "kernels/cpu/cpu_rules.h"
#include "kernels/rope/rope_cpu.h"
#include "kernels/simd/isas.h"

enum { MIDI_MOST = 64, DEFAULT_MIDI = 8, FIRST_CACHES = 2, STREAM_BYTES = 64 };

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const struct tcb_shape *s = &problem->shape;
	const size_t m = tcb_power_of_two_up(s->m);
	size_t count = 0;
	tcb_axis_add_float_isas(tcb_axis_knob(out, &count, TCB_KNOB_ISA), target);
	tcb_axis_add_threads(tcb_axis_knob(out, &count, TCB_KNOB_THREADS), target);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_SCHED), TCB_SCHED_STATIC, TCB_SCHED_DYNAMIC);
	for (int level = TCB_MACRO; level < TCB_LEVEL_COUNT; level++) {
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, (enum tcb_level)level),
			     level == TCB_MICRO ? 1 : s->k);
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, (enum tcb_level)level), 1);
	}
	tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MICRO), 1);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MIDI), 1, 2, tcb_least(m, MIDI_MOST));
	tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MACRO), m);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_STREAM), 0, 1);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_PARTS), ROPE_WHOLE, ROPE_PARTS);
	return count;
}

/* --- rules (V4) --- */

static const char *rule_tiles(const struct tcb_problem *problem, const struct tcb_target *target,
			      const struct tcb_geometry *geometry)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	(void)target;
	if (macro->m != tcb_power_of_two_up(problem->shape.m))
		return "macro.m must be the problem's, rounded up to a power of two";
	if (macro->n != 1 || midi->n != 1 || macro->k != problem->shape.k || midi->k != problem->shape.k)
		return "tiles' n must be 1, and their k the head's";
	return NULL;
}

int rope_can_stream(const struct tcb_problem *problem)
{
	const enum tcb_type cache = tcb_kv_row(rope_kv(problem))->type; /* its blocks are stored as usual */
	const size_t q = tcb_type_bytes(rope_q_type(problem));
	const size_t least = cache == TCB_TYPE_BLOCKS ? q : tcb_least(q, tcb_type_bytes(cache));
	return problem->shape.k * least % STREAM_BYTES == 0;
}

static const char *rule_stream(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry)
{
	(void)target;
	return geometry->knob[TCB_KNOB_STREAM] > 0 && !rope_can_stream(problem)
		       ? "stream=1 needs heads of a multiple of 64 bytes"
		       : NULL;
}

static const char *policy_parts(const struct tcb_problem *problem, const struct tcb_target *target,
				const struct tcb_geometry *geometry)
{
	(void)problem, (void)target;
	return geometry->knob[TCB_KNOB_PARTS] == ROPE_PARTS ? "parts=4 is there to compare with" : NULL;
}

static const struct tcb_rule rules[] = {
	{ TCB_FIELD_TILES, TCB_RULE_DOUBLE, rule_tiles },
	{ TCB_FIELD_KNOB(STREAM), TCB_RULE_KERNEL, rule_stream },
	{ TCB_FIELD_KNOB(PARTS), TCB_RULE_POLICY, policy_parts },
	{ TCB_FIELD_KNOB(ISA), TCB_RULE_POLICY, tcb_cpu_policy_scalar },
	{ 0, 0, NULL },
};

/* --- default geometry --- */

/* Past the caches where what is written does not stay in the second one. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t m = tcb_power_of_two_up(s->m), threads = tcb_most(target->threads, 1);
	const double written = (double)rope_tokens(s) * (double)rope_token_bytes(problem);
	size_t midi = tcb_least(m, DEFAULT_MIDI);
	while (midi > 1 && s->words.sequences * tcb_div_up(s->m, midi) < threads)
		midi /= 2;
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ m, 1, s->k };
	out->tile[TCB_MIDI] = (struct tcb_tile){ midi, 1, s->k };
	out->knob[TCB_KNOB_ISA] = (int32_t)tcb_float_isa(target);
	out->knob[TCB_KNOB_THREADS] = (int32_t)tcb_least(threads, s->words.sequences * tcb_div_up(s->m, midi));
	out->knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
	out->knob[TCB_KNOB_STREAM] = rope_can_stream(problem) && written > FIRST_CACHES * (double)target->l2_bytes;
	out->knob[TCB_KNOB_PARTS] = ROPE_WHOLE;
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	(void)target;
	memset(out, 0, sizeof(*out));
	out->element_bytes = tcb_type_bytes(tcb_kv_row(rope_kv(problem))->type);
	out->vector_registers = tcb_float_lanes(geometry->knob[TCB_KNOB_ISA]) > 1 ? 6 : 0;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] =
			4 * geometry->tile[level].m * geometry->tile[level].k * rope_row_heads(&problem->shape);
}

const struct tcb_side_space rope_cpu_space = { rules, axes, default_geometry, footprint };
