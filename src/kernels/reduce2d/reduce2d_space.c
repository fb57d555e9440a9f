/* SPDX-License-Identifier: MIT
 *
 * What the reduce2d ops offer to the search: axes, the standard geometry and
 * the numbers that the constraints judge.
 */
#include "base/sizes.h"
#include "kernels/reduce2d/reduce2d_gpu.h"

#include <string.h>

enum {
	SEED_TILE = 16,      /* the seed's tile is 16x16 */
	MIDI_ROWS_MAX = 256, /* of a midi tile */
	MICRO_MAX_M = 8,
	MICRO_MAX_N = 128,
	MICRO_OPERANDS = 2, /* registers of the inner loop beside the accumulators: a value, a flag or a sum */
};

size_t reduce2d_lanes(enum tcb_isa isa)
{
	switch (isa) {
	case TCB_ISA_SCALAR:
		return 1;
	case TCB_ISA_AVX2:
		return 8;
	case TCB_ISA_AVX512:
		return 16;
	case TCB_ISA_NEON:
		return 4;
	default:
		return 0;
	}
}

static struct tcb_axis *add_axis(struct tcb_axis *axes, size_t *count, enum tcb_axis_kind kind, int which)
{
	struct tcb_axis *axis = &axes[(*count)++];
	memset(axis, 0, sizeof(*axis));
	axis->kind = kind;
	axis->which = which;
	return axis;
}

static void add_value(struct tcb_axis *axis, size_t value)
{
	for (size_t i = 0; i < axis->count; i++)
		if (axis->values[i] == (int64_t)value)
			return;
	if (axis->count < TCB_AXIS_VALUES_MAX)
		axis->values[axis->count++] = (int64_t)value;
}

/* FROM, FACTOR FROM, FACTOR^2 FROM, ... while at most LAST. */
static void add_powers(struct tcb_axis *axis, size_t from, size_t factor, size_t last)
{
	for (size_t value = from; value <= last; value *= factor)
		add_value(axis, value);
}

static void add_tiles(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_axis *out,
		      size_t *count)
{
	size_t rows = tcb_power_of_two_up(problem->shape.m), columns = tcb_power_of_two_up(problem->shape.n);
	/* A task's rows: from a strip of the seed's tiles to a share of each thread. */
	size_t share = rows / tcb_power_of_two_up(target->threads ? target->threads : 1);
	struct tcb_axis *axis = add_axis(out, count, TCB_AXIS_TILE_M, TCB_MACRO);
	add_powers(axis, SEED_TILE, 8, rows);
	add_value(axis, share ? share : 1);
	add_value(axis, rows);
	add_powers(axis, 1, 2, MICRO_MAX_M); /* where rows are fewer than a micro tile has, and single rows */
	axis = add_axis(out, count, TCB_AXIS_TILE_N, TCB_MACRO);
	add_value(axis, columns);
	add_value(axis, columns / 2 ? columns / 2 : 1);
	add_powers(axis, 1024, 4, columns);
	if (columns < MICRO_MAX_N)
		add_powers(axis, SEED_TILE, 2, MICRO_MAX_N);

	axis = add_axis(out, count, TCB_AXIS_TILE_M, TCB_MIDI);
	add_powers(axis, 1, 4, MIDI_ROWS_MAX);
	add_value(axis, 2);
	add_value(axis, MICRO_MAX_M);
	axis = add_axis(out, count, TCB_AXIS_TILE_N, TCB_MIDI);
	add_powers(axis, SEED_TILE, 4, columns);
	add_value(axis, columns);
	if (columns < MICRO_MAX_N)
		add_powers(axis, SEED_TILE, 2, MICRO_MAX_N);

	axis = add_axis(out, count, TCB_AXIS_TILE_M, TCB_MICRO);
	add_powers(axis, 1, 2, MICRO_MAX_M);
	axis = add_axis(out, count, TCB_AXIS_TILE_N, TCB_MICRO);
	add_powers(axis, 1, 2, MICRO_MAX_N);
}

size_t reduce2d_axes(const struct tcb_problem *problem, const struct tcb_target *target,
		     struct tcb_axis out[TCB_AXES_MAX])
{
	size_t count = 0;
	if (target->kind == TCB_TARGET_CUDA)
		return reduce2d_gpu_axes(problem, target, out);
	add_tiles(problem, target, out, &count);
	struct tcb_axis *axis = add_axis(out, &count, TCB_AXIS_KNOB, TCB_KNOB_ISA);
	for (int isa = 0; isa < TCB_ISA_COUNT; isa++) {
		if (reduce2d_lanes((enum tcb_isa)isa) && tcb_target_has(target, (enum tcb_isa)isa))
			add_value(axis, (size_t)isa);
	}
	if (!axis->count) /* nothing runs here; V1 says so */
		add_value(axis, TCB_ISA_SCALAR);
	axis = add_axis(out, &count, TCB_AXIS_KNOB, TCB_KNOB_THREADS);
	add_powers(axis, 1, 2, target->threads);
	add_value(axis, target->threads);
	axis = add_axis(out, &count, TCB_AXIS_KNOB, TCB_KNOB_SCHED);
	add_value(axis, TCB_SCHED_STATIC);
	add_value(axis, TCB_SCHED_DYNAMIC);
	axis = add_axis(out, &count, TCB_AXIS_KNOB, TCB_KNOB_PREFETCH);
	add_value(axis, 0);
	add_powers(axis, 1024, 4, 16384);
	axis = add_axis(out, &count, TCB_AXIS_KNOB, TCB_KNOB_HINT);
	add_value(axis, TCB_HINT_T0);
	add_value(axis, TCB_HINT_NTA);
	if (reduce2d_is_sum(problem)) {
		axis = add_axis(out, &count, TCB_AXIS_KNOB, TCB_KNOB_FORM);
		add_value(axis, TCB_FORM_LANES);
		add_value(axis, TCB_FORM_PAIRWISE);
		add_value(axis, TCB_FORM_KAHAN);
	}
	return count;
}

void reduce2d_default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			       struct tcb_geometry *out)
{
	enum tcb_isa isa = tcb_target_has(target, TCB_ISA_AVX512) ? TCB_ISA_AVX512
			   : tcb_target_has(target, TCB_ISA_AVX2) ? TCB_ISA_AVX2
			   : tcb_target_has(target, TCB_ISA_NEON) ? TCB_ISA_NEON
								  : TCB_ISA_SCALAR;
	size_t rows = tcb_least(tcb_power_of_two_up(problem->shape.m), SEED_TILE);
	size_t columns = tcb_power_of_two_up(problem->shape.n), tasks = (problem->shape.m + rows - 1) / rows;
	if (target->kind == TCB_TARGET_CUDA) {
		reduce2d_gpu_default_geometry(problem, target, out);
		return;
	}
	/* Scalar code has no micro tile as wide as the seed's. */
	const size_t micro = isa == TCB_ISA_SCALAR ? 8 : reduce2d_lanes(isa);
	if (columns < micro)
		columns = micro;
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ rows, columns, 1 };
	out->tile[TCB_MIDI] = (struct tcb_tile){ rows, tcb_least(columns, SEED_TILE), 1 };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, micro, 1 };
	out->knob[TCB_KNOB_ISA] = (int32_t)isa;
	out->knob[TCB_KNOB_THREADS] = (int32_t)tcb_least(tasks, target->threads ? target->threads : 1);
	out->knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
	out->knob[TCB_KNOB_PREFETCH] = 0;
	out->knob[TCB_KNOB_HINT] = TCB_HINT_T0;
	if (reduce2d_is_sum(problem))
		out->knob[TCB_KNOB_FORM] = TCB_FORM_LANES;
}

void reduce2d_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
			const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	const struct tcb_tile *tile = geometry->tile;
	int32_t isa = geometry->knob[TCB_KNOB_ISA];
	size_t lanes = isa >= 0 && isa < TCB_ISA_COUNT ? reduce2d_lanes((enum tcb_isa)isa) : 0;
	if (target->kind == TCB_TARGET_CUDA) {
		reduce2d_gpu_footprint(problem, target, geometry, out);
		return;
	}
	memset(out, 0, sizeof(*out));
	out->element_bytes = sizeof(float);
	if (lanes) {
		out->accumulators = (unsigned)(tile[TCB_MICRO].m * tile[TCB_MICRO].n / lanes);
		/* A compensated sum has two registers an accumulator. */
		unsigned each = geometry->knob[TCB_KNOB_FORM] == TCB_FORM_KAHAN ? 2 : 1;
		out->vector_registers = lanes > 1 ? each * out->accumulators + MICRO_OPERANDS : 0;
	}
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = sizeof(float) * tile[level].m * tile[level].n;
}
