/* SPDX-License-Identifier: MIT
 *
 * layernorm over rows: the op, its reference in double and its bound.  The
 * loops are those of kernels/rows; layernorm.h says how the variance is taken.
 */
#include "kernels/layernorm/layernorm.h"
#include "kernels/rows/rows_gpu.h"

#include <float.h>
#include <math.h>

#include "base/util.h"

/* Rows of four kinds in turn: as in a model, with a mean of a hundred deviations, so small that eps rules, with a step
 * in the middle. */
static void fill_row(struct tcb_rng *rng, size_t r, size_t n, float *x)
{
	static const float spread[4] = { 1, 0.5f, 1e-4f, 1 }, offset[4] = { 0, 50, 0, -20 }, step[4] = { 0, 0, 0, 40 };
	for (size_t c = 0; c < n; c++)
		x[c] = offset[r % 4] + (c > n / 2 ? step[r % 4] : 0) + spread[r % 4] * tcb_rng_normal(rng);
}

enum { MEAN, DEVIATION, SIZE };

static void statistics(struct rows_line *line)
{
	const double n = (double)line->n;
	double sum = 0, size = 0, squares = 0;
	for (size_t c = 0; c < line->n; c++) {
		sum += (double)line->x[c];
		size += fabs((double)line->x[c]);
	}
	const double mean = sum / n;
	for (size_t c = 0; c < line->n; c++)
		squares += ((double)line->x[c] - mean) * ((double)line->x[c] - mean);
	line->stat[MEAN] = mean;
	line->stat[DEVIATION] = sqrt(squares / n + line->eps);
	line->stat[SIZE] = size / n;
}

/*
 * A mean off by d moves a result by d / deviation * w; the variance it leaves is larger by d^2, which is less than d
 * deviations as long as anything is left of the result.  With d = gamma * mean|x| and the sum's own error, that is
 * gamma * magnitude:
 *     |w| / deviation * (A + |x - mean| * (1 + A / deviation)),  A = mean|x|
 * Four roundings (x - mean, factor, two products with w) come to it, which ulps cannot cover where b cancels what they
 * were made on: extra.
 */
static void results(const struct rows_line *line, size_t first, size_t count, double *y, double *magnitude,
		    double *extra)
{
	const double mean = line->stat[MEAN], inverse = 1 / line->stat[DEVIATION], size = line->stat[SIZE];
	const double rounding = 0x1p-24 * 1.001, tiny = 0x1p-149;
	const float *x = line->x + first, *w = line->weight + first, *b = line->bias + first;
	for (size_t c = 0; c < count; c++) {
		const double weight = fabs((double)w[c]), from_mean = (double)x[c] - mean;
		const double scaled = from_mean * inverse * (double)w[c];
		y[c] = scaled + (double)b[c];
		magnitude[c] = weight * inverse * (size + fabs(from_mean) * (1 + size * inverse));
		extra[c] = 4 * rounding * fabs(scaled) + tiny * (2 + weight);
	}
}

static void layernorm_combine(struct rows_row *row)
{
	/* Beyond this the factor comes near to what f32 has no full precision for, or x - mean near to its largest
	 * value; NaN goes the same way. */
	const double variance_most = 0x1p240, mean_most = FLT_MAX / 4;
	double count = 0, mean = 0, m2 = 0;
	for (size_t b = 0; b < row->blocks; b++) {
		const double *stat = row->stats + b * LAYERNORM_STATS;
		double more = (double)(b + 1 < row->blocks ? row->block : row->n - b * row->block);
		double apart = stat[LAYERNORM_MEAN] - mean, part = more / (count + more);
		m2 += stat[LAYERNORM_M2] + apart * apart * count * part;
		mean += apart * part;
		count += more;
	}
	double variance = m2 / (double)row->n;
	row->wide_factor = 1 / sqrt(variance + row->eps);
	row->wide_shift = mean;
	row->is_wide = !(variance <= variance_most && fabs(mean) <= mean_most);
	row->shift = (float)mean;
	for (size_t b = 0; b < row->blocks; b++)
		row->factors[b] = (float)row->wide_factor;
}

static void layernorm_wide(struct rows_call *call)
{
	if (call->stage == ROWS_REDUCE) {
		double sum = 0, m2 = 0;
		for (size_t c = 0; c < call->count; c++)
			sum += (double)call->x[c];
		double mean = sum / (double)call->count;
		for (size_t c = 0; c < call->count; c++)
			m2 += ((double)call->x[c] - mean) * ((double)call->x[c] - mean);
		call->stat[LAYERNORM_MEAN] = mean;
		call->stat[LAYERNORM_M2] = m2;
		return;
	}
	for (size_t c = 0; c < call->count; c++) {
		double from_mean = (double)call->x[c] - call->wide_shift;
		call->y[c] = (float)(from_mean * call->wide_factor * (double)call->weight[c] + (double)call->bias[c]);
	}
}

/* In one pass the sums are of up to 17 M2 of the first block and 4 of the others, which the first is counted among
 * twice (layernorm.h), and of a block's own mean otherwise; x - p, its square and the rounding of p as a float come to
 * the additions. */
static void layernorm_bound(enum tcb_form form, size_t block, double chain, struct tcb_plan *plan)
{
	(void)block;
	plan->chain = (form == TCB_FORM_ONEPASS ? 17 + 2 : 1) * (chain + 3) + 1;
	plan->ulps = 0.51;
}

static const struct rows_op rows = {
	.x = LAYERNORM_X,
	.y = LAYERNORM_Y,
	.weight = LAYERNORM_W,
	.bias = LAYERNORM_B,
	.forms = 1u << TCB_FORM_TWOPASS | 1u << TCB_FORM_ONEPASS,
	.has_groups = 1,
	.stats = LAYERNORM_STATS,
	.sums = 2,
	.registers = 2, /* a value, the pivot */
	/* It reads two more arrays: with narrower vectors fewer of its prefetches are dropped, so fewer do. */
	.long_rows = { TCB_FORM_ONEPASS, .lanes = 8, .chains = 4, .stages = ROWS_STAGES_GROUPED },
	.combine = layernorm_combine,
	.wide = layernorm_wide,
	.bound = layernorm_bound,
	.reference = { fill_row, statistics, results },
	.flops = 7, /* sum, deviation, its square, its sum, factor, weight, bias */
	.gpu = &layernorm_gpu_math,
	.wgsl = &layernorm_wgsl_math,
};

ROWS_OP(layernorm, rows, ROWS_NORM_WORDS,
	"rows of f32 less their mean over their deviation, times a weight and plus a bias a column", { 512, 4096, 0 },
	{ 1, 4096, 0 }, { 4096, 4096, 0 });
