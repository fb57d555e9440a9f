/* SPDX-License-Identifier: MIT
 *
 * softmax over rows: the op, its reference in double and its bound.  The loops
 * are those of kernels/rows.
 */
#include "kernels/softmax/softmax.h"
#include "kernels/rows/rows_gpu.h"

#include <math.h>

#include "base/sizes.h"
#include "base/util.h"

enum { OPERAND_X, OPERAND_Y, OPERAND_COUNT };

/* Rows of three kinds in turn: flat ones, like logits, and so spread that most results underflow. */
static void fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	static const float spread[3] = { 0.1f, 4, 40 };
	float *x = operand[OPERAND_X];
	struct tcb_rng rng;
	tcb_rng_init(&rng, seed);
	for (size_t r = 0; r < problem->shape.m; r++) {
		for (size_t c = 0; c < problem->shape.n; c++)
			*x++ = spread[(r + 1) % 3] * tcb_rng_normal(&rng);
	}
}

/*
 * Beside the roundings that plan() counts in ulps: x - max is rounded before exp, which turns |x - max| 2^-24 into a
 * relative error (in blocks, x - block max and block max - max add up to the same), for the element and, weighted, for
 * the sum; exp's own error that grows with |x - max| goes the same way.  Numbers below 2^-126 are flushed to 0, once as
 * exponential and once as result.
 */
struct reference {
	const float *x;
	size_t n;
	struct tcb_reference *out;
};

static void reference_row(void *ctx, size_t r, unsigned thread)
{
	const double unit = 0x1p-24 * 1.001 + SOFTMAX_EXP_DEPTH, tiny = 0x1p-125;
	const struct reference *reference = ctx;
	const size_t n = reference->n;
	const float *row = reference->x + r * n;
	double *y = reference->out->y + r * n, *extra = reference->out->extra + r * n;
	double max = -INFINITY, sum = 0, weighted = 0;
	(void)thread;
	for (size_t c = 0; c < n; c++)
		max = (double)row[c] > max ? (double)row[c] : max;
	for (size_t c = 0; c < n; c++) {
		double depth = max - (double)row[c];
		y[c] = exp(-depth);
		sum += y[c];
		if (y[c] > 0)
			weighted += y[c] * depth;
	}
	for (size_t c = 0; c < n; c++) {
		double depth = max - (double)row[c];
		y[c] /= sum;
		reference->out->magnitude[r * n + c] = y[c];
		extra[c] = tiny + (y[c] > 0 ? y[c] * unit * (depth + weighted / sum) : 0);
	}
}

static void reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	struct reference shared = { operand[OPERAND_X], problem->shape.n, out };
	tcb_reference_share(out, problem->shape.m, reference_row, &shared);
}

/* The row's maximum and sum from those of its blocks, then each block's factor. */
static void softmax_combine(struct rows_row *row)
{
	double sum = 0;
	if (row->blocks == 1) {
		row->shift = (float)row->stats[SOFTMAX_MAX];
		row->factors[0] = (float)(1 / row->stats[SOFTMAX_SUM]);
		return;
	}
	for (size_t b = 0; b < row->blocks; b++)
		row->factors[b] = (float)row->stats[b * SOFTMAX_STATS + SOFTMAX_MAX];
	struct rows_call call = { .stage = ROWS_REDUCE,
				  .form = TCB_FORM_TWOPASS,
				  .count = row->blocks,
				  .x = row->factors,
				  .e = row->factors };
	row->micro(&call); /* factors = exp(block max - row max) */
	for (size_t b = 0; b < row->blocks; b++)
		sum += (double)row->factors[b] * row->stats[b * SOFTMAX_STATS + SOFTMAX_SUM];
	row->shift = (float)call.stat[SOFTMAX_MAX];
	for (size_t b = 0; b < row->blocks; b++)
		row->factors[b] = (float)((row->form == TCB_FORM_ONEPASS ? 1 : (double)row->factors[b]) / sum);
}

/*
 * Roundings of one result: exp of the element and of the block's factor, each again inside the sum; the factor, its
 * quotient by the sum and the product, half an ulp each, and as much again for their products of second order; a part's
 * factor is one of these, and where a row has blocks of parts one more.  In one pass a sum may be rescaled at every
 * step, each time by an exponential (1.5 u) and a product (1 u), and against the largest so far at every part.
 */
static void softmax_bound(enum tcb_form form, size_t block, double chain, struct tcb_plan *plan)
{
	const double rescaled = 2 * SOFTMAX_EXP_ULPS + 1;
	plan->chain = chain;
	if (form == TCB_FORM_ONEPASS)
		plan->chain += rescaled * chain;
	if (form == TCB_FORM_RUNNING)
		plan->chain += rescaled * (double)tcb_div_up(block, plan->geometry.tile[TCB_MIDI].n);
	plan->ulps = 4 * SOFTMAX_EXP_ULPS + 2;
	if (form == TCB_FORM_RUNNING && block < plan->problem.shape.n)
		plan->ulps += 2 * SOFTMAX_EXP_ULPS + 1;
}

static const struct rows_op rows = {
	.x = OPERAND_X,
	.y = OPERAND_Y,
	.weight = ROWS_NO_OPERAND,
	.bias = ROWS_NO_OPERAND,
	.forms = 1u << TCB_FORM_TWOPASS | 1u << TCB_FORM_ONEPASS | 1u << TCB_FORM_RUNNING,
	.kept_forms = 1u << TCB_FORM_TWOPASS | 1u << TCB_FORM_RUNNING,
	.part_forms = 1u << TCB_FORM_RUNNING,
	.stats = SOFTMAX_STATS,
	.sums = 1,
	.registers = 4, /* value, n, r and polynomial */
	.long_form = TCB_FORM_RUNNING,
	.long_part = 512,
	.long_lanes = 16,
	.long_chains = 2,
	.long_stages = 3,
	.long_asks = 2,
	.combine = softmax_combine,
	.bound = softmax_bound,
	.flops = 5, /* max, subtract, exp, add, scale */
	.gpu = &softmax_gpu_math,
};

ROWS_OP(softmax, rows, tcb_rows_gpu_plain_rules, "softmax of each row of f32, stable, in blocks", { 1, 32000, 0 },
	{ 4096, 4096, 0 });
