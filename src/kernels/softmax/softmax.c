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
#include "kernels/rough_exps.h"

enum { PIECE = 1024 };

/* Rows of three kinds in turn: flat ones, like logits, and so spread that most results underflow. */
static void fill_row(struct tcb_rng *rng, size_t r, size_t n, float *x)
{
	static const float spread[3] = { 0.1f, 4, 40 };
	for (size_t c = 0; c < n; c++)
		x[c] = spread[(r + 1) % 3] * tcb_rng_normal(rng);
}

/*
 * Beside the roundings that plan() counts in ulps: x - max is rounded before exp, which turns |x - max| 2^-24 into a
 * relative error (in blocks, x - block max and block max - max add up to the same), for the element and, weighted, for
 * the sum; exp's own error that grows with |x - max| goes the same way.  Numbers below 2^-126 are flushed to 0, once as
 * exponential and once as result.
 */
enum { MAXIMUM, SUM, WEIGHTED };

static const double UNIT = 0x1p-24 * 1.001 + SOFTMAX_EXP_DEPTH, TINY = 0x1p-125;
static const double MOST_FACTOR = 1.5; /* tcb_sum_factor */

/* COUNT exponentials from column FIRST on; adds them up to SUMS[0], each times its depth below the maximum to SUMS[1].
 */
static void exponentials(const struct rows_line *line, size_t first, size_t count, double *e, double sums[2])
{
	const double max = line->stat[MAXIMUM];
	for (size_t c = 0; c < count; c++) {
		const double depth = max - (double)line->x[first + c];
		e[c] = exp(-depth);
		sums[0] += e[c];
		if (e[c] > 0)
			sums[1] += e[c] * depth;
	}
}

static void statistics(struct rows_line *line)
{
	double max = -INFINITY, sums[2] = { 0 }, piece[PIECE];
	for (size_t c = 0; c < line->n; c++)
		max = (double)line->x[c] > max ? (double)line->x[c] : max;
	line->stat[MAXIMUM] = max;
	if (line->kept)
		exponentials(line, 0, line->n, line->kept, sums);
	for (size_t c = 0; !line->kept && c < line->n; c += PIECE)
		exponentials(line, c, tcb_least(PIECE, line->n - c), piece, sums);
	line->stat[SUM] = sums[0];
	line->stat[WEIGHTED] = sums[1];
}

static void results(const struct rows_line *line, size_t first, size_t count, double *y, double *magnitude,
		    double *extra)
{
	const double max = line->stat[MAXIMUM], sum = line->stat[SUM], mean_depth = line->stat[WEIGHTED] / sum;
	double unused[2] = { 0 };
	if (!line->kept)
		exponentials(line, first, count, y, unused);
	for (size_t c = 0; c < count; c++) {
		const double depth = max - (double)line->x[first + c];
		const double value = (line->kept ? line->kept[first + c] : y[c]) / sum;
		y[c] = magnitude[c] = value;
		extra[c] = TINY + (value > 0 ? value * UNIT * (depth + mean_depth) : 0);
	}
}

/* The same of a large output, by rough exponentials. */
static void add_up(struct rows_line *line, const double *factor, double *y, double *magnitude, double *extra)
{
	const struct tcb_rough_exps *rough = tcb_rough_exps();
	const size_t blocks = tcb_div_up(line->n, TCB_SUM_COLUMNS);
	const float max = rough->largest(line->x, line->n);
	double sum = 0, weighted = 0;
	for (size_t b = 0; b < blocks; b++) {
		const size_t first = b * TCB_SUM_COLUMNS, count = tcb_least(TCB_SUM_COLUMNS, line->n - first);
		const struct tcb_rough_sums block = rough->add(line->x + first, max, factor + first, count);
		sum += block.e;
		weighted += block.e_depth;
		y[b] = block.factor_e;
		magnitude[b] = block.size_e;
		extra[b] = block.size_e_depth;
	}
	for (size_t b = 0; b < blocks; b++) {
		extra[b] =
			MOST_FACTOR * TCB_SUM_COLUMNS * TINY + UNIT * (extra[b] + magnitude[b] * weighted / sum) / sum;
		magnitude[b] /= sum;
		y[b] /= sum;
	}
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
	.x = SOFTMAX_X,
	.y = SOFTMAX_Y,
	.weight = ROWS_NO_OPERAND,
	.bias = ROWS_NO_OPERAND,
	.forms = 1u << TCB_FORM_TWOPASS | 1u << TCB_FORM_ONEPASS | 1u << TCB_FORM_RUNNING,
	.kept_forms = 1u << TCB_FORM_TWOPASS | 1u << TCB_FORM_RUNNING,
	.part_forms = 1u << TCB_FORM_RUNNING,
	.stats = SOFTMAX_STATS,
	.sums = 1,
	.registers = 4, /* value, n, r and polynomial */
	.long_rows = { TCB_FORM_RUNNING, .part = 512, .lanes = 16, .chains = 2, .stages = 3 },
	.combine = softmax_combine,
	.bound = softmax_bound,
	.reference = { fill_row, statistics, results, add_up },
	.flops = 5, /* max, subtract, exp, add, scale */
	.gpu = &softmax_gpu_math,
	.wgsl = &softmax_wgsl_math,
};

ROWS_OP(softmax, rows, 0, "softmax of each row of f32, stable, in blocks", { 1, 32000, 0 }, { 4096, 4096, 0 });
