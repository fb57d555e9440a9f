/* SPDX-License-Identifier: MIT
 *
 * The op topk: operands, data, reference, the model of bytes and operations.
 */
#include <math.h>

#include "base/sizes.h"
#include "base/util.h"
#include "kernels/formats.h"
#include "kernels/topk/topk.h"
#include "kernels/topk/topk_gpu.h"
#include "kernels/topk/topk_wgsl.h"

enum { PART = 1 << 16 };

static const struct tcb_shape default_shapes[] = { { 1, 32000, 40 }, { 1, 128256, 40 }, { 1, 262144, 256 } };

static enum tcb_status check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	size_t bytes;
	if (!shape->m || !shape->n || !shape->k)
		return tcb_fail(err, TCB_E_USAGE,
				"op %s takes a shape MxNxK, of M rows of N scores the K largest, for example "
				"1x128256x40",
				op->name);
	if (shape->k > TOPK_MOST)
		return tcb_fail(err, TCB_E_USAGE, "K is %zu: op %s finds the %d largest of a row at most", shape->k,
				op->name, TOPK_MOST);
	if (shape->n > TOPK_COLUMNS_MOST)
		return tcb_fail(err, TCB_E_USAGE, "N is %zu: op %s takes rows of %d scores at most", shape->n, op->name,
				TOPK_COLUMNS_MOST);
	if (tcb_mul_size(shape->m, shape->n + shape->k, &bytes) || tcb_mul_size(bytes, 6 * sizeof(double), &bytes))
		return tcb_fail(err, TCB_E_OVERFLOW, "%zu rows of %zu scores do not fit in memory", shape->m, shape->n);
	return TCB_OK;
}

static size_t operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	const size_t m = problem->shape.m, n = problem->shape.n, k = problem->shape.k;
	out[TOPK_X] = (struct tcb_operand){ "x", TCB_ROLE_INPUT, TCB_TYPE_F32, m, n, m * n * sizeof(float), 1 };
	out[TOPK_VALUES] =
		(struct tcb_operand){ "values", TCB_ROLE_OUTPUT, TCB_TYPE_F32, m, k, m * k * sizeof(float), 0 };
	out[TOPK_COLUMNS] =
		(struct tcb_operand){ "columns", TCB_ROLE_OUTPUT, TCB_TYPE_I32, m, k, m * k * sizeof(int32_t), 0 };
	return TOPK_OPERANDS;
}

/* --- test data: scores of few digits, so that some are equal --- */

static size_t fill_parts(const struct tcb_problem *problem)
{
	return tcb_div_up(problem->shape.m * problem->shape.n, PART);
}

static void fill_part(const struct tcb_problem *problem, uint64_t seed, void *const operand[], size_t part)
{
	const size_t first = part * PART, end = tcb_least(first + PART, problem->shape.m * problem->shape.n);
	float *x = operand[TOPK_X];
	struct tcb_rng rng;
	tcb_part_rng(seed, part, &rng);
	for (size_t i = first; x && i < end; i++)
		x[i] = tcb_f16_to_f32(tcb_f32_to_f16(4 * tcb_rng_normal(&rng)));
}

/* --- reference --- */

struct job {
	const struct tcb_problem *problem;
	const float *x;
	struct tcb_reference *out;
};

/* Does A come before B, which has a lower column? */
static int comes_before(double a, double b)
{
	return a > b || (isnan(b) && !isnan(a));
}

/* The best so far, in order, of which each score is held against the last. */
static void refer_row(void *ctx, size_t row, unsigned thread)
{
	const struct job *job = ctx;
	const size_t n = job->problem->shape.n, k = job->problem->shape.k;
	double *value = job->out[0].y + row * k, *column = job->out[1].y + row * k;
	size_t held = 0;
	(void)thread;
	for (size_t i = 0; i < n; i++) {
		const double x = (double)job->x[row * n + i];
		if (held == k && !comes_before(x, value[k - 1]))
			continue;
		size_t at = held < k ? held++ : k - 1;
		for (; at > 0 && comes_before(x, value[at - 1]); at--) {
			value[at] = value[at - 1];
			column[at] = column[at - 1];
		}
		value[at] = x;
		column[at] = (double)i;
	}
	for (size_t i = 0; i < k; i++) {
		if (i >= held) {
			value[i] = NAN;
			column[i] = -1;
		}
		for (int o = 0; o < 2; o++)
			job->out[o].magnitude[row * k + i] = job->out[o].extra[row * k + i] = 0;
	}
}

static void reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	struct job job = { problem, operand[TOPK_X], out };
	tcb_reference_share(out, problem->shape.m, refer_row, &job);
}

static double flops(const struct tcb_problem *problem)
{
	return (double)problem->shape.m * (double)problem->shape.n;
}

static double traffic(const struct tcb_problem *problem)
{
	const double m = (double)problem->shape.m, n = (double)problem->shape.n, k = (double)problem->shape.k;
	return m * (sizeof(float) * n + (sizeof(float) + sizeof(int32_t)) * k);
}

const struct tcb_op tcb_op_topk = {
	.name = "topk",
	.summary = "the K largest of each of M rows of N scores, and their columns, in order",
	.shape_form = "MxNxK",
	.type = TCB_TYPE_F32,
	.contracts = 1u << TCB_CONTRACT_F32,
	.default_contract = TCB_CONTRACT_F32,
	.default_shapes = default_shapes,
	.default_shape_count = sizeof(default_shapes) / sizeof(default_shapes[0]),
	.side = TCB_SIDES(&topk_cpu, &topk_gpu, &topk_wgsl),
	.check_shape = check_shape,
	.operands = operands,
	.fill = tcb_fill_in_parts,
	.fill_parts = fill_parts,
	.fill_part = fill_part,
	.reference = reference,
	.flops = flops,
	.traffic = traffic,
};
