/* SPDX-License-Identifier: MIT
 *
 * What softmax offers to the search: axes, the standard geometry and the
 * numbers that the constraints judge.
 */
#include "kernels/softmax/softmax.h"

#include <string.h>

enum {
	BLOCK_MIN = 256,       /* columns; smaller blocks only add bookkeeping */
	TASK_ROWS_MAX = 32,    /* rows of 4096 floats and their results fill half of a 2 MiB L2 then */
	STRIPS_PER_THREAD = 2, /* finer cuts of a row only add bookkeeping */
	MICRO_MIN_WIDE = 16,   /* one 512-bit vector: rows that are shorter fill part of it */
	DEFAULT_CHAINS = 4,
	MICRO_OPERANDS = 4, /* registers of the inner loop beside the accumulators: value, n, r and polynomial */
};

size_t softmax_lanes(enum tcb_isa isa)
{
	switch (isa) {
	case TCB_ISA_SCALAR:
		return 1;
	case TCB_ISA_AVX2:
		return 8;
	case TCB_ISA_AVX512:
		return 16;
	default:
		return 0;
	}
}

static size_t power_of_two_above(size_t value)
{
	size_t power = 1;
	while (power < value)
		power *= 2;
	return power;
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
	if (axis->count < TCB_AXIS_VALUES_MAX)
		axis->values[axis->count++] = (int64_t)value;
}

/* FROM, 2 FROM, 4 FROM, ... while at most LAST. */
static void add_powers(struct tcb_axis *axis, size_t from, size_t last)
{
	for (size_t value = from; value <= last; value *= 2)
		add_value(axis, value);
}

/* Rows are alike, so macro.m has nothing to choose; strips narrower than the row pay only when rows are few. */
size_t softmax_axes(const struct tcb_problem *problem, const struct tcb_target *target,
		    struct tcb_axis out[TCB_AXES_MAX])
{
	size_t rows = power_of_two_above(problem->shape.m), columns = power_of_two_above(problem->shape.n), count = 0;
	if (target->kind == TCB_TARGET_CUDA)
		return softmax_gpu_axes(problem, target, out);
	struct tcb_axis *axis = add_axis(out, &count, TCB_AXIS_TILE_N, TCB_MACRO);
	add_value(axis, columns);
	if (columns < MICRO_MIN_WIDE)
		add_value(axis, MICRO_MIN_WIDE);
	for (size_t strips = 2; problem->shape.m < target->threads && strips <= STRIPS_PER_THREAD * target->threads &&
				columns / strips >= BLOCK_MIN;
	     strips *= 2)
		add_value(axis, columns / strips);

	axis = add_axis(out, &count, TCB_AXIS_TILE_M, TCB_MIDI);
	add_powers(axis, 1, rows < TASK_ROWS_MAX ? rows : TASK_ROWS_MAX);
	axis = add_axis(out, &count, TCB_AXIS_TILE_N, TCB_MIDI);
	add_powers(axis, columns < BLOCK_MIN ? columns : BLOCK_MIN, columns);
	if (columns < MICRO_MIN_WIDE)
		add_value(axis, MICRO_MIN_WIDE);
	axis = add_axis(out, &count, TCB_AXIS_TILE_N, TCB_MICRO);
	add_powers(axis, 1, 128);
	axis = add_axis(out, &count, TCB_AXIS_KNOB, TCB_KNOB_ISA);
	for (int isa = 0; isa < TCB_ISA_COUNT; isa++) {
		if (softmax_lanes((enum tcb_isa)isa) && tcb_target_has(target, (enum tcb_isa)isa))
			add_value(axis, (size_t)isa);
	}
	if (!axis->count) /* nothing runs here; V1 says so */
		add_value(axis, TCB_ISA_SCALAR);

	axis = add_axis(out, &count, TCB_AXIS_KNOB, TCB_KNOB_THREADS);
	add_powers(axis, 1, target->threads);
	add_value(axis, target->threads);
	axis = add_axis(out, &count, TCB_AXIS_KNOB, TCB_KNOB_SCHED);
	add_value(axis, TCB_SCHED_STATIC);
	add_value(axis, TCB_SCHED_DYNAMIC);
	axis = add_axis(out, &count, TCB_AXIS_KNOB, TCB_KNOB_PREFETCH);
	add_value(axis, 0);
	add_powers(axis, 1024, 16384);
	axis = add_axis(out, &count, TCB_AXIS_KNOB, TCB_KNOB_HINT);
	add_value(axis, TCB_HINT_T0);
	add_value(axis, TCB_HINT_T1);
	axis = add_axis(out, &count, TCB_AXIS_KNOB, TCB_KNOB_STREAM);
	add_value(axis, 0);
	add_value(axis, 1);
	return count;
}

/* Whole rows, one a task, the widest vectors, no prefetch, ordinary stores: what a textbook kernel does. */
void softmax_default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			      struct tcb_geometry *out)
{
	enum tcb_isa isa = tcb_target_has(target, TCB_ISA_AVX512) ? TCB_ISA_AVX512
			   : tcb_target_has(target, TCB_ISA_AVX2) ? TCB_ISA_AVX2
								  : TCB_ISA_SCALAR;
	size_t micro = DEFAULT_CHAINS * softmax_lanes(isa), columns = power_of_two_above(problem->shape.n);
	if (target->kind == TCB_TARGET_CUDA) {
		softmax_gpu_default_geometry(problem, target, out);
		return;
	}
	if (columns < micro)
		columns = micro;
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ power_of_two_above(problem->shape.m), columns, 1 };
	out->tile[TCB_MIDI] = (struct tcb_tile){ 1, columns, 1 };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, micro, 1 };
	out->knob[TCB_KNOB_ISA] = (int32_t)isa;
	out->knob[TCB_KNOB_THREADS] =
		(int32_t)(problem->shape.m < target->threads ? problem->shape.m : target->threads);
	out->knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
	out->knob[TCB_KNOB_PREFETCH] = 0;
	out->knob[TCB_KNOB_HINT] = TCB_HINT_T0;
	out->knob[TCB_KNOB_STREAM] = 0;
}

void softmax_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	const struct tcb_tile *tile = geometry->tile;
	int32_t isa = geometry->knob[TCB_KNOB_ISA];
	size_t lanes = isa >= 0 && isa < TCB_ISA_COUNT ? softmax_lanes((enum tcb_isa)isa) : 0;
	if (target->kind == TCB_TARGET_CUDA) {
		softmax_gpu_footprint(problem, target, geometry, out);
		return;
	}
	memset(out, 0, sizeof(*out));
	out->element_bytes = sizeof(float);
	if (lanes) {
		out->accumulators = (unsigned)(tile[TCB_MICRO].n / lanes);
		out->vector_registers = lanes > 1 ? out->accumulators + MICRO_OPERANDS : 0;
	}
	if (geometry->knob[TCB_KNOB_STREAM] > 0) { /* streaming stores fault where they are not aligned */
		out->vector_bytes = lanes * sizeof(float);
		out->base_bytes = 64;
		out->leading_bytes = problem->shape.n * sizeof(float);
		out->tile_offset_bytes = tile[TCB_MIDI].n * sizeof(float);
	}
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = 2 * sizeof(float) * tile[level].m * tile[level].n;
}
