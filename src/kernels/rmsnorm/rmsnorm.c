/* SPDX-License-Identifier: MIT
 *
 * rmsnorm over rows: the op, its reference in double and its bound.  The loops
 * are those of kernels/rows.
 */
#include "kernels/rmsnorm/rmsnorm.h"
#include "kernels/rows/rows_gpu.h"

#include <math.h>

#include "base/util.h"

/* Rows of four kinds in turn: as in a model, with an offset, so small that eps rules, large. */
static void fill_row(struct tcb_rng *rng, size_t r, size_t n, float *x)
{
	static const float spread[4] = { 1, 0.5f, 1e-4f, 1e3f }, offset[4] = { 0, 3, 0, 0 };
	for (size_t c = 0; c < n; c++)
		x[c] = offset[r % 4] + spread[r % 4] * tcb_rng_normal(rng);
}

static void statistics(struct rows_line *line)
{
	double sum = 0;
	for (size_t c = 0; c < line->n; c++)
		sum += (double)line->x[c] * (double)line->x[c];
	line->stat[0] = sqrt(sum / (double)line->n + line->eps);
}

/* Half of the sum's relative error reaches the result, and what is below 2^-126 is rounded to multiples of 2^-149. */
static void results(const struct rows_line *line, size_t first, size_t count, double *y, double *magnitude,
		    double *extra)
{
	const double inverse = 1 / line->stat[0];
	const float *x = line->x + first, *w = line->weight + first;
	for (size_t c = 0; c < count; c++) {
		y[c] = (double)x[c] * inverse * (double)w[c];
		magnitude[c] = fabs(y[c]);
		extra[c] = 0x1p-149 * (1 + fabs((double)w[c]));
	}
}

static void rmsnorm_combine(struct rows_row *row)
{
	/* Beyond this the factor comes near to what f32 has no full precision for; NaN goes the same way. */
	const double mean_most = 0x1p240;
	double sum = 0;
	for (size_t b = 0; b < row->blocks; b++)
		sum += row->stats[b];
	double mean = sum / (double)row->n;
	row->wide_factor = 1 / sqrt(mean + row->eps);
	row->is_wide = !(mean <= mean_most);
	for (size_t b = 0; b < row->blocks; b++)
		row->factors[b] = (float)row->wide_factor;
}

static void rmsnorm_wide(struct rows_call *call)
{
	if (call->stage == ROWS_REDUCE) {
		call->stat[0] = 0;
		for (size_t c = 0; c < call->count; c++)
			call->stat[0] += (double)call->x[c] * (double)call->x[c];
		return;
	}
	for (size_t c = 0; c < call->count; c++)
		call->y[c] = (float)((double)call->x[c] * call->wide_factor * (double)call->weight[c]);
}

/* The square and the additions, half of which the root leaves; then the factor and two products, half an ulp each. */
static void rmsnorm_bound(enum tcb_form form, size_t block, double chain, struct tcb_plan *plan)
{
	(void)form;
	(void)block;
	plan->chain = (chain + 1) / 2;
	plan->ulps = 1.5 + 0.01;
}

static const struct rows_op rows = {
	.x = RMSNORM_X,
	.y = RMSNORM_Y,
	.weight = RMSNORM_W,
	.bias = ROWS_NO_OPERAND,
	.forms = 1u << TCB_FORM_ONEPASS,
	.has_groups = 1,
	.stats = 1,
	.sums = 1,
	.registers = 2, /* a value, the factor */
	/* With narrower vectors fewer prefetches are dropped, so fewer do. */
	.long_rows = { TCB_FORM_ONEPASS, .lanes = 8, .chains = 4, .stages = 3 },
	.combine = rmsnorm_combine,
	.wide = rmsnorm_wide,
	.bound = rmsnorm_bound,
	.reference = { fill_row, statistics, results },
	.flops = 4, /* square, add, factor, weight */
	.gpu = &rmsnorm_gpu_math,
	.wgsl = &rmsnorm_wgsl_math,
};

ROWS_OP(rmsnorm, rows, ROWS_NORM_WORDS, "rows of f32 over their root mean square, times a weight a column",
	{ 512, 4096, 0 }, { 1, 4096, 0 }, { 4096, 4096, 0 });
