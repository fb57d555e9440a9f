/* SPDX-License-Identifier: MIT
 *
 * Packing weights for a plan, giving them back as they were stored, reading
 * rows of what is packed; blocks of FP8.
 */
#include <stdint.h>

#include "base/sizes.h"
#include "kernels/quant_lines.h"
#include "rt/rt_plan.h"
#include "tcbrt_fp8.h"

static int is_aligned(const void *at, size_t alignment)
{
	return at && (uintptr_t)at % alignment == 0;
}

static enum tcb_layout layout_of(const struct tcbrt_plan *plan)
{
	const int32_t knob = plan->geometry.knob[TCB_KNOB_LAYOUT];

	return knob == TCB_KNOB_UNSET ? TCB_LAYOUT_NATIVE : (enum tcb_layout)knob;
}

static int is_packed(const struct tcbrt_plan *plan, size_t index)
{
	return plan && index < plan->info.operand_count && plan->operand[index].packed_bytes;
}

int tcbrt_pack_operand(const struct tcbrt_plan *plan, size_t index, const void *weights, void *packed)
{
	if (!is_packed(plan, index) || !weights || !is_aligned(packed, TCBRT_ALIGNMENT))
		return TCBRT_E_USAGE;
	plan->problem.op->pack(&plan->problem, index, layout_of(plan), weights, packed);
	return TCBRT_OK;
}

int tcbrt_unpack_operand(const struct tcbrt_plan *plan, size_t index, const void *packed, void *weights)
{
	if (!is_packed(plan, index) || !weights || !is_aligned(packed, TCBRT_ALIGNMENT))
		return TCBRT_E_USAGE;
	plan->problem.op->unpack(&plan->problem, index, layout_of(plan), packed, weights);
	return TCBRT_OK;
}

int tcbrt_pack(const struct tcbrt_plan *plan, const void *weights, void *packed)
{
	return tcbrt_pack_operand(plan, plan ? (size_t)plan->info.weights : 0, weights, packed);
}

int tcbrt_unpack(const struct tcbrt_plan *plan, const void *packed, void *weights)
{
	return tcbrt_unpack_operand(plan, plan ? (size_t)plan->info.weights : 0, packed, weights);
}

/* The problem of ROWS rows from FIRST on, and where they begin in packed weights; 0: they are not groups of rows. */
static int take_rows(const struct tcbrt_plan *plan, size_t first, size_t rows, struct tcb_problem *part, size_t *at)
{
	const size_t group = plan ? plan->info.pack_rows : 0, all = plan ? plan->problem.shape.n : 0;

	if (!group || rows == 0 || first >= all || rows > all - first || first % group ||
	    (rows % group && first + rows != all))
		return 0;
	*part = plan->problem;
	part->shape.n = rows;
	*at = first / group * (plan->info.packed_bytes / tcb_div_up(all, group));
	return 1;
}

int tcbrt_pack_rows(const struct tcbrt_plan *plan, size_t first, size_t rows, const void *weights, void *packed)
{
	struct tcb_problem part;
	size_t at;

	if (!weights || !is_aligned(packed, TCBRT_ALIGNMENT) || !take_rows(plan, first, rows, &part, &at))
		return TCBRT_E_USAGE;
	part.op->pack(&part, (size_t)plan->info.weights, layout_of(plan), weights, (char *)packed + at);
	return TCBRT_OK;
}

int tcbrt_unpack_rows(const struct tcbrt_plan *plan, size_t first, size_t rows, const void *packed, void *weights)
{
	struct tcb_problem part;
	size_t at;

	if (!weights || !is_aligned(packed, TCBRT_ALIGNMENT) || !take_rows(plan, first, rows, &part, &at))
		return TCBRT_E_USAGE;
	part.op->unpack(&part, (size_t)plan->info.weights, layout_of(plan), (const char *)packed + at, weights);
	return TCBRT_OK;
}

size_t tcbrt_fp8_bytes(size_t rows, size_t k)
{
	return tcb_fp8_bytes(rows, k);
}

int tcbrt_fp8_blocks(size_t rows, size_t k, const void *values, const float *scale, size_t scale_rows,
		     size_t scale_columns, void *out, struct tcbrt_error *err)
{
	struct tcb_error error = { .message = "" };
	enum tcb_status status;

	if (!values || !scale || !out)
		status = tcb_fail(&error, TCB_E_USAGE, "values, scales and blocks of FP8 must not be NULL");
	else
		status = tcb_fp8_blocks(rows, k, values, scale, scale_rows, scale_columns, out, &error);
	return rt_report(status, &error, err);
}

enum { SUPER_VALUES = 256 };

int tcbrt_read_row(const struct tcbrt_plan *plan, size_t row, const void *weights, float *out)
{
	const struct tcb_problem *problem = plan ? &plan->problem : NULL;
	const struct tcb_format *format = problem ? problem->op->format : NULL;
	const size_t all = format ? plan->operand[plan->info.weights].rows : 0;
	const uint8_t *from = weights;

	if (!weights || !out || row >= all || plan->info.is_gpu)
		return TCBRT_E_USAGE;
	if (!plan->info.packed_bytes) {
		tcb_dequantize(format, from + row * tcb_quant_row_bytes(format, problem->shape.k),
			       problem->shape.k / format->block_values, out);
		return TCBRT_OK;
	}
	if (layout_of(plan) != TCB_LAYOUT_R16 || all != problem->shape.n)
		return TCBRT_E_UNSUPPORTED;
	for (size_t at = 0; at < problem->shape.k; at += SUPER_VALUES) {
		const size_t values = tcb_least(problem->shape.k - at, SUPER_VALUES);
		uint8_t blocks[TCB_LINES_MAX * sizeof(uint32_t)];

		tcb_lines_row(format, from + tcb_lines_at(problem, row, at), row % TCB_LINE_ROWS, values, blocks);
		tcb_dequantize(format, blocks, values / format->block_values, out + at);
	}
	return TCBRT_OK;
}
