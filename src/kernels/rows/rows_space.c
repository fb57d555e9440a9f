/* SPDX-License-Identifier: MIT
 *
 * What an op on rows offers to the search: axes, the standard geometry and the
 * numbers that the constraints judge.
 */
#include "base/sizes.h"
#include "kernels/rows/rows.h"
#include "kernels/rows/rows_gpu.h"

#include <string.h>

enum {
	BLOCK_MIN = 256,       /* columns; smaller blocks only add bookkeeping */
	TASK_ROWS_MAX = 64,    /* more only make shares uneven */
	STRIPS_PER_THREAD = 2, /* finer cuts of a row only add bookkeeping */
	MICRO_MIN_WIDE = 16,   /* one 512-bit vector: rows that are shorter fill part of it */
	MICRO_MAX = 256,       /* columns of the widest step that an op may have built */
	DEFAULT_CHAINS = 4,
	LINE_BYTES = 64,
	AHEAD_MAX = 256 << 10, /* a row beyond this is no longer in the caches when its turn comes */
};

size_t rows_lanes(enum tcb_isa isa)
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

enum tcb_form rows_first_form(const struct rows_op *rows)
{
	int form = 0;
	while (!(rows->forms >> form & 1u))
		form++;
	return (enum tcb_form)form;
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
	for (size_t i = 0; i < axis->count; i++) {
		if (axis->values[i] == (int64_t)value)
			return;
	}
	if (axis->count < TCB_AXIS_VALUES_MAX)
		axis->values[axis->count++] = (int64_t)value;
}

/* FROM, FROM FACTOR, FROM FACTOR^2, ... while at most LAST. */
static void add_powers(struct tcb_axis *axis, size_t from, size_t factor, size_t last)
{
	for (size_t value = from; value <= last; value *= factor)
		add_value(axis, value);
}

/* Rows are alike, so macro.m has nothing to choose; strips narrower than the row pay only when rows are few. */
size_t rows_axes(const struct rows_op *rows, const struct tcb_problem *problem, const struct tcb_target *target,
		 struct tcb_axis out[TCB_AXES_MAX])
{
	size_t row_count = tcb_power_of_two_up(problem->shape.m), columns = tcb_power_of_two_up(problem->shape.n);
	size_t count = 0;
	if (target->kind == TCB_TARGET_CUDA)
		return tcb_rows_gpu_axes(rows->gpu, problem, target, out);
	struct tcb_axis *axis = add_axis(out, &count, TCB_AXIS_TILE_N, TCB_MACRO);
	add_value(axis, columns);
	for (size_t wide = MICRO_MIN_WIDE; wide <= MICRO_MAX; wide *= 2) {
		if (columns < wide)
			add_value(axis, wide);
	}
	for (size_t strips = 2; problem->shape.m < target->threads && strips <= STRIPS_PER_THREAD * target->threads &&
				columns / strips >= BLOCK_MIN;
	     strips *= 2)
		add_value(axis, columns / strips);

	axis = add_axis(out, &count, TCB_AXIS_TILE_M, TCB_MIDI);
	add_powers(axis, 1, 4, row_count < TASK_ROWS_MAX ? row_count : TASK_ROWS_MAX);
	axis = add_axis(out, &count, TCB_AXIS_TILE_N, TCB_MIDI);
	add_powers(axis, columns < BLOCK_MIN ? columns : BLOCK_MIN, 2, columns);
	for (size_t wide = MICRO_MIN_WIDE; wide <= MICRO_MAX; wide *= 2) {
		if (columns < wide)
			add_value(axis, wide);
	}
	axis = add_axis(out, &count, TCB_AXIS_TILE_N, TCB_MICRO);
	add_powers(axis, 1, 2, MICRO_MAX);
	axis = add_axis(out, &count, TCB_AXIS_KNOB, TCB_KNOB_ISA);
	for (int isa = 0; isa < TCB_ISA_COUNT; isa++) {
		if (rows_lanes((enum tcb_isa)isa) && tcb_target_has(target, (enum tcb_isa)isa))
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
	size_t row_bytes = (problem->shape.n * sizeof(float) + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
	if (problem->shape.m > 1 && row_bytes >= 1024 && row_bytes <= AHEAD_MAX)
		add_value(axis, row_bytes);
	axis = add_axis(out, &count, TCB_AXIS_KNOB, TCB_KNOB_HINT);
	add_value(axis, TCB_HINT_T0);
	add_value(axis, TCB_HINT_T1);
	add_value(axis, TCB_HINT_NTA);
	axis = add_axis(out, &count, TCB_AXIS_KNOB, TCB_KNOB_ASKS);
	add_powers(axis, 1, 2, ROWS_ASKS_MAX);
	axis = add_axis(out, &count, TCB_AXIS_KNOB, TCB_KNOB_STAGES);
	add_value(axis, 1);
	add_value(axis, 2);
	add_value(axis, 3);
	axis = add_axis(out, &count, TCB_AXIS_KNOB, TCB_KNOB_STREAM);
	add_value(axis, 0);
	add_value(axis, 1);
	axis = add_axis(out, &count, TCB_AXIS_KNOB, TCB_KNOB_FORM);
	for (int form = 0; form < TCB_FORM_COUNT; form++) {
		if (rows->forms >> form & 1u)
			add_value(axis, (size_t)form);
	}
	return count;
}

void rows_default_geometry(const struct rows_op *rows, const struct tcb_problem *problem,
			   const struct tcb_target *target, struct tcb_geometry *out)
{
	enum tcb_isa isa = tcb_target_has(target, TCB_ISA_AVX512) ? TCB_ISA_AVX512
			   : tcb_target_has(target, TCB_ISA_AVX2) ? TCB_ISA_AVX2
			   : tcb_target_has(target, TCB_ISA_NEON) ? TCB_ISA_NEON
								  : TCB_ISA_SCALAR;
	size_t micro = DEFAULT_CHAINS * rows_lanes(isa), columns = tcb_power_of_two_up(problem->shape.n);
	if (target->kind == TCB_TARGET_CUDA) {
		tcb_rows_gpu_default_geometry(rows->gpu, problem, target, out);
		return;
	}
	if (columns < micro)
		columns = micro;
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ tcb_power_of_two_up(problem->shape.m), columns, 1 };
	out->tile[TCB_MIDI] = (struct tcb_tile){ 1, columns, 1 };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, micro, 1 };
	out->knob[TCB_KNOB_ISA] = (int32_t)isa;
	out->knob[TCB_KNOB_THREADS] =
		(int32_t)(problem->shape.m < target->threads ? problem->shape.m : target->threads);
	out->knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
	out->knob[TCB_KNOB_PREFETCH] = 0;
	out->knob[TCB_KNOB_HINT] = TCB_HINT_T0;
	out->knob[TCB_KNOB_STREAM] = 0;
	out->knob[TCB_KNOB_STAGES] = 1;
	out->knob[TCB_KNOB_ASKS] = 1;
	out->knob[TCB_KNOB_FORM] = (int32_t)rows_first_form(rows);
}

void rows_footprint(const struct rows_op *rows, const struct tcb_problem *problem, const struct tcb_target *target,
		    const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	const struct tcb_tile *tile = geometry->tile;
	int32_t isa = geometry->knob[TCB_KNOB_ISA];
	size_t lanes = isa >= 0 && isa < TCB_ISA_COUNT ? rows_lanes((enum tcb_isa)isa) : 0;
	if (target->kind == TCB_TARGET_CUDA) {
		tcb_rows_gpu_footprint(rows->gpu, problem, target, geometry, out);
		return;
	}
	memset(out, 0, sizeof(*out));
	out->element_bytes = sizeof(float);
	if (lanes) {
		out->accumulators = (unsigned)(tile[TCB_MICRO].n / lanes);
		out->vector_registers = lanes > 1 ? rows->sums * out->accumulators + rows->registers : 0;
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
