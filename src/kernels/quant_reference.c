/* SPDX-License-Identifier: MIT
 *
 * The reference of ops with quantised weights: y, sum of |w||x| and what the
 * contract may add, all in double.  In: operands as stored.  Method: a product in
 * blocks (reference_tiles.h).  Of 128 rows, 256 values of k are taken apart once
 * and multiplied with up to 256 tokens, 8 at a time.  What the contract may add is
 * a sum of products of a number of the row's and one of the token's: some more
 * steps of k (struct panels).
 *
 * What the contracts allow (quant.h):
 *   all  a kernel need not form a weight w = a q - c (a scale, q code, c offset,
 *        or q with its centre): it may sum a q x and c x apart.  Then gamma(chain)
 *        holds for the sum of (|a q| + |c|)|x|, at most |w x| + 2 |c x|; the
 *        latter part is extra, with the longest chain that such a kernel may have.
 *        A product that underflows is off by 2^-150 at most, whatever its size.
 *   f32  a kernel may multiply the 256 activations x of a superblock by a power of
 *        two t, such that the largest, X, is in [2^14, 2^15), and take z = t x as
 *        h + 2^-12 r, two halves: h = fl16(z), r = fl16(2^12 (z - h)).  With
 *        e the exponent of z, e >= -14: |z - h| <= 2^(e-11), which is exact in f32;
 *        2^12 times that is below 2^(e+1), or is 2^(e+1) and a half, so r is off by
 *        2^(e-11) at most, z by 2^(e-23) <= 2^-23 |z|: two roundings of the chain.
 *        Below 2^-14 halves are 2^-24 apart, so |z - h| <= 2^-25, and 2^12 times
 *        that, at most 2^-13, is off by 2^-25 again: z by 2^-37, which no chain
 *        has.  That is 2^-37 / t <= 2^-51 X of x.  It is multiplied by a q, of
 *        which |a q| <= |w| + |c|.
 *        Of rows of BF16 and F32 it may take a float as a sum of numbers of bf16, which
 *        cut off what is below 2^-133.
 *   q8   half a step of each group's scale for each activation.
 *   f16  2^-11 of x, and of a, c and w, or half of the smallest f16, 2^-25; of a
 *        as often as q is large, 128 at most.  Behind a norm x is not cut off at
 *        65504: a kernel scales a superblock by a power of two as under f32, whose
 *        smallest half is 2^-39 of the largest x.
 *
 * Behind a norm x is what comes out of it: factor * x * norm, in double.  Its
 * roundings are relative to each x, so they are the chain's (quant.h).  A kernel
 * may multiply the sums with the factor instead of the activations: then what
 * underflows, or counts as zeros, does so before the factor.
 */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/quant.h"
#include "kernels/reference_tiles.h"

enum {
	SPAN = 256,
	RUNS = 16,
	GROUPS = SPAN / 32,
	TERMS = RUNS + GROUPS,
	PANEL_N = 128,
	TASK_M = 256,
	GATED_M = TCB_REFERENCE_M,
	GATE_CHAIN = 4, /* what a bias, exp's argument and its factors add to a chain at most */
	TILE_VALUES = TCB_REFERENCE_M * TCB_REFERENCE_N,
};

static const double unit_roundoff = 0x1p-24, half_roundoff = 0x1p-11, half_least = 0x1p-25, underflow = 0x1p-149;
static const double halves_least = 0x1p-51, terms_least = 0x1p-133;
/* The largest derivatives of silu and gelu; what flushing exp(-|z|) below 2^-126 loses of either, at most 88 * 2^-126.
 */
static const double silu_slope = 1.0999, gelu_slope = 1.1291, silu_least = 0x1p-119;

/*
 * SPAN values of k: tokens in panels of TCB_REFERENCE_M, rows of weights in panels of TCB_REFERENCE_N.  The products of
 * x_terms and w_terms sum up to what the contract may add:
 *   all  for each run, |x| with what quantising may add, times the parts that are kept apart
 *   q8   for each group, the most that rounding moves an activation of it, times the sum of its |w|
 *   f32  the most that two halves leave out, times the sum of all |w| and parts
 *   f16  what halves of the smallest numbers are off by, of the weights and of the tokens
 */
struct panels {
	double w[PANEL_N * SPAN], w_terms[PANEL_N * TERMS];
	double x[TCB_REFERENCE_M * SPAN], x_size[TCB_REFERENCE_M * SPAN], x_terms[TCB_REFERENCE_M * TERMS];
};

/* One call, shared by threads: each has some rows of the weights and some tokens. */
struct job {
	const struct tcb_problem *problem;
	const struct tcb_format *format;
	const uint8_t *weights;
	const void *x;
	const struct tcb_reference_tiles *tiles;
	const struct tcb_quant_fused *fused;
	const struct tcb_quant_more *more;
	double gamma_max;
	struct tcb_reference *out;
	size_t m, n;           /* outputs that are wanted */
	size_t across, task_m; /* tasks side by side; tokens of one */
};

/* Where a task's sums go: those of its first token and row; from a token to the next. */
struct sums {
	double *y, *magnitude, *extra;
	size_t stride;
};

double tcb_quant_chain_max(size_t k)
{
	return 17 * (double)((k + SPAN - 1) / SPAN) + 64;
}

static double f16_seen(double x)
{
	return fabs(x) >= 65520 ? copysign(INFINITY, x) : x;
}

static size_t term_count(enum tcb_contract contract)
{
	return RUNS + (contract == TCB_CONTRACT_Q8 ? GROUPS : contract == TCB_CONTRACT_F16 ? 2 : 1);
}

/* What rounding to 8 bits moves an activation of a group by at most, LARGEST being the group's; what is quantised may
 * have been multiplied with FACTOR already, or not yet. */
static double rounding_of_codes(double largest, double factor)
{
	if (largest < 127 * (double)FLT_MIN || largest < 127 * (double)FLT_MIN * factor)
		return largest; /* counts as zeros */
	/* Half a step; d = fl(max / 127), x / d and code times d each add at most 127 roundings of a step. */
	return largest / 127 * (0.5 + 4 * 127 * unit_roundoff);
}

/* What terms of bf16 leave out of a float. */
static double least_of_terms(const struct job *job)
{
	return tcb_is_float(job->format->id) && job->format->block_values == 1 ? terms_least : 0;
}

/* What a token's activations are multiplied with, beside the norm. */
static double norm_factor(const struct job *job, size_t token)
{
	const size_t k = job->problem->shape.k;
	double sum = 0;
	if (!job->fused->norm)
		return 1;
	for (size_t first = 0; first < k; first += SPAN) {
		float room[SPAN];
		const size_t values = tcb_least(SPAN, k - first);
		const float *x = tcb_quant_x_values(job->problem, job->x, token, first, values, room);
		for (size_t i = 0; i < values; i++)
			sum += (double)x[i] * (double)x[i];
	}
	return 1 / sqrt(sum / (double)k + job->fused->eps);
}

/* VALUES of token TOKEN, from K on, into column I of the panels; FACTOR is the token's. */
static void weigh_token(const struct job *job, size_t token, size_t k, double factor, size_t values, size_t i,
			struct panels *p)
{
	float room[SPAN];
	const float *x = tcb_quant_x_values(job->problem, job->x, token, k, values, room), *norm = job->fused->norm;
	const enum tcb_contract contract = job->problem->contract;
	const size_t group = tcb_quant_group(job->format);
	const size_t run = tcb_is_float(job->format->id) ? SPAN / RUNS : job->format->run_values;
	double size[SPAN], codes[GROUPS] = { 0 }, terms[TERMS] = { 0 }, sum = 0, largest = 0;
	for (size_t s = 0; s < values; s++) {
		const double stored = norm ? (double)x[s] * factor * (double)norm[k + s] : (double)x[s];
		const double value = contract == TCB_CONTRACT_F16 && !norm ? f16_seen(stored) : stored;
		size[s] = fabs(value);
		p->x[s * TCB_REFERENCE_M + i] = value;
		p->x_size[s * TCB_REFERENCE_M + i] = size[s];
	}
	for (size_t g = 0; contract == TCB_CONTRACT_Q8 && g < values / group; g++) {
		double most = 0;
		for (size_t s = g * group; s < (g + 1) * group; s++)
			most = size[s] > most ? size[s] : most;
		terms[RUNS + g] = codes[g] = rounding_of_codes(most, norm ? factor : 1);
	}
	for (size_t first = 0; first < values; first += run) {
		double *of_run = &terms[first / run];
		for (size_t s = first; s < tcb_least(first + run, values); s++)
			*of_run += size[s];
		*of_run += (double)run * codes[first / group];
		sum += *of_run;
	}
	for (size_t s = 0; contract != TCB_CONTRACT_Q8 && s < values; s++)
		largest = size[s] > largest ? size[s] : largest;
	if (contract == TCB_CONTRACT_F32)
		terms[RUNS] = (isfinite(largest) ? halves_least * largest : 0) + least_of_terms(job);
	if (contract == TCB_CONTRACT_F16) {
		terms[RUNS] = norm && isfinite(largest) ? 1 + 0x1p-14 * largest : 1;
		terms[RUNS + 1] = 129 * half_least * sum;
	}
	for (size_t t = 0; t < TERMS; t++)
		p->x_terms[t * TCB_REFERENCE_M + i] = terms[t];
}

/* One row's terms: ABSOLUTE, the sums of |w| over groups, and APART, |offset| + |scale * centre| of each run. */
static void weigh_terms(const struct job *job, const double absolute[GROUPS], const double apart[RUNS], double *to)
{
	const enum tcb_contract contract = job->problem->contract;
	double each = 2 * job->gamma_max, absolute_sum = 0, apart_sum = 0;
	if (contract == TCB_CONTRACT_F16)
		each += 2 * half_roundoff * (1 + 4 * half_roundoff);
	for (size_t r = 0; r < RUNS; r++, to += TCB_REFERENCE_N) {
		apart_sum += (double)job->format->run_values * apart[r];
		*to = each * apart[r] + (contract == TCB_CONTRACT_F32 ? least_of_terms(job) : 0);
	}
	for (size_t g = 0; g < GROUPS; g++)
		absolute_sum += absolute[g];
	for (size_t g = 0; contract == TCB_CONTRACT_Q8 && g < GROUPS; g++)
		to[g * TCB_REFERENCE_N] = absolute[g] * (1 + job->gamma_max);
	if (contract == TCB_CONTRACT_F32)
		*to = (absolute_sum + apart_sum) * (1 + job->gamma_max);
	if (contract == TCB_CONTRACT_F16) {
		to[0] = half_least * absolute_sum;
		to[TCB_REFERENCE_N] = 1;
	}
}

/* VALUES of row J of the panels. */
static void weigh_row(const struct job *job, const uint8_t *blocks, size_t values, size_t j, struct panels *p)
{
	const struct tcb_format *format = job->format;
	const size_t group = tcb_quant_group(format), runs = format->block_values / format->run_values;
	const size_t panel = j / TCB_REFERENCE_N, lane = j % TCB_REFERENCE_N;
	double *to = p->w + panel * SPAN * TCB_REFERENCE_N + lane;
	double absolute[GROUPS] = { 0 }, apart[RUNS] = { 0 };
	struct tcb_codes codes;
	if (tcb_is_float(format->id)) {
		float w[SPAN];
		tcb_dequantize(format, blocks, values / format->block_values, w);
		for (size_t i = 0; i < values; i++) {
			to[i * TCB_REFERENCE_N] = (double)w[i];
			absolute[i / group] += fabs((double)w[i]);
		}
		weigh_terms(job, absolute, apart, p->w_terms + panel * TERMS * TCB_REFERENCE_N + lane);
		return;
	}
	for (size_t first = 0, run = 0; first < values; first += format->block_values, blocks += format->block_bytes) {
		tcb_block_decode(format, blocks, &codes);
		for (size_t r = 0; r < runs; r++, run++) {
			const size_t start = first + r * format->run_values;
			const int8_t *code = codes.code + r * format->run_values;
			double sum = 0;
			for (size_t i = 0; i < format->run_values; i++) {
				const float w = codes.scale[r] * (float)code[i] - codes.offset[r];
				to[(start + i) * TCB_REFERENCE_N] = (double)w;
				sum += fabs((double)w);
			}
			absolute[start / group] += sum;
			apart[run] = fabs((double)codes.offset[r]) + fabs((double)codes.scale[r]) * format->centre;
		}
	}
	weigh_terms(job, absolute, apart, p->w_terms + panel * TERMS * TCB_REFERENCE_N + lane);
}

/* Adds a panel of COUNT tokens from M0 on times the panel of ROWS rows from N0 on, both the task's. */
static void add_tile(const struct job *job, const struct panels *p, size_t panel, size_t values, size_t m0,
		     size_t count, size_t n0, size_t rows, const struct sums *to)
{
	double y[TILE_VALUES] = { 0 }, magnitude[TILE_VALUES] = { 0 }, extra[TILE_VALUES] = { 0 };
	const double *w = p->w + panel * SPAN * TCB_REFERENCE_N;
	job->tiles->wide(p->x, w, values, y);
	job->tiles->sizes(p->x_size, w, values, magnitude);
	job->tiles->wide(p->x_terms, p->w_terms + panel * TERMS * TCB_REFERENCE_N, term_count(job->problem->contract),
			 extra);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < rows; j++) {
			const size_t at = (m0 + i) * to->stride + n0 + j;
			to->y[at] += y[i * TCB_REFERENCE_N + j];
			to->magnitude[at] += magnitude[i * TCB_REFERENCE_N + j];
			to->extra[at] += extra[i * TCB_REFERENCE_N + j];
		}
}

/* Row BESIDE + that of wanted output I of the weights, from value K on. */
static const uint8_t *weights_at(const struct job *job, size_t beside, size_t i, size_t k)
{
	const size_t row = beside + tcb_grid_column(job->out->grid, i);
	return job->weights + row * tcb_quant_row_bytes(job->format, job->problem->shape.k) +
	       tcb_quant_row_bytes(job->format, k);
}

/* TOKENS of a task from M0 on, times ROWS rows of the weights from N0 on, BESIDE further, over VALUES values from K on.
 * All are counted among what is wanted. */
static void add_span(const struct job *job, size_t k, size_t values, size_t m0, size_t tokens, const double *factor,
		     size_t beside, size_t n0, size_t rows, struct panels *p, const struct sums *to)
{
	for (size_t j = 0; j < rows; j++)
		weigh_row(job, weights_at(job, beside, n0 + j, k), values, j, p);
	for (size_t i = 0; i < tokens; i += TCB_REFERENCE_M) {
		const size_t count = tcb_least(TCB_REFERENCE_M, tokens - i);
		for (size_t t = 0; t < count; t++)
			weigh_token(job, tcb_grid_row(job->out->grid, m0 + i + t), k, factor[i + t], values, t, p);
		for (size_t j = 0; j < rows; j += TCB_REFERENCE_N)
			add_tile(job, p, j / TCB_REFERENCE_N, values, i, count, j, tcb_least(TCB_REFERENCE_N, rows - j),
				 to);
	}
}

/* TOKENS from M0 on times ROWS rows of the weights from N0 on, BESIDE further. */
static void multiply(const struct job *job, size_t m0, size_t tokens, size_t beside, size_t n0, size_t rows,
		     const struct sums *to)
{
	const struct tcb_shape *s = &job->problem->shape;
	const int is_half = job->problem->contract == TCB_CONTRACT_F16;
	const double of_magnitude = is_half ? 3 * half_roundoff * (1 + 4 * half_roundoff) : 0;
	const double least = (double)tcb_round_up(s->k, SPAN) * underflow;
	double factor[TASK_M];
	struct panels panels;
	/* Rows and tokens that are missing in a panel are multiplied too, and not looked at. */
	if (rows % TCB_REFERENCE_N)
		memset(&panels, 0, sizeof(panels));
	memset(panels.x, 0, sizeof(panels.x));
	memset(panels.x_size, 0, sizeof(panels.x_size));
	memset(panels.x_terms, 0, sizeof(panels.x_terms));
	for (size_t i = 0; i < tokens; i++) {
		factor[i] = norm_factor(job, tcb_grid_row(job->out->grid, m0 + i));
		for (size_t j = 0; j < rows; j++)
			to->y[i * to->stride + j] = to->magnitude[i * to->stride + j] = to->extra[i * to->stride + j] =
				0;
	}
	for (size_t k = 0; k < s->k; k += SPAN)
		add_span(job, k, tcb_least(SPAN, s->k - k), m0, tokens, factor, beside, n0, rows, &panels, to);
	for (size_t i = 0; i < tokens; i++)
		for (size_t at = i * to->stride; at < i * to->stride + rows; at++)
			/* The factor may come after what underflowed. */
			to->extra[at] += least * (factor[i] > 1 ? 1 + factor[i] : 1) + of_magnitude * to->magnitude[at];
}

/*
 * Gate and up to h(gate) * (up + plus), h(p) = p / (1 + exp(-z)), z = p (slope + cubic p^2).  With errors of at most
 * e = g M + X of the gate p and f = g N + Z of up u (g is gamma(chain), M and N magnitudes, X and Z extra), h(p) is off
 * by at most s e, s its steepest slope (that of silu or gelu, whatever SLOPE is), and the product by
 * s e |u| + |h(p)| f + s e f; g g M N counts as g gamma_max M N.  What exp, the sums, the quotient and the products
 * round are ulps of the result, but for the roundings of exp's argument: of silu's one more of the chain of p, of
 * gelu's, which has four and its constants', two, since |z| exp(-z) / (1 + exp(-z))^2 is at most 0.224.  Limits bring
 * nothing further apart.
 */
static void gate(const struct tcb_quant_gate *how, double gamma_max, size_t tokens, size_t rows, const struct sums *p,
		 const struct sums *u)
{
	const double s = how->cubic != 0 ? gelu_slope : silu_slope, limit = (double)how->limit;
	for (size_t i = 0; i < tokens; i++)
		for (size_t j = 0; j < rows; j++) {
			double *y = &p->y[i * p->stride + j], *magnitude = &p->magnitude[i * p->stride + j];
			double *extra = &p->extra[i * p->stride + j];
			const size_t at = i * u->stride + j;
			const double in = *y > limit ? limit : *y, beside = u->y[at] > limit ? limit : u->y[at];
			const double h = in / (1 + exp(-in * ((double)how->slope + (double)how->cubic * in * in)));
			const double factor = (beside < -limit ? -limit : beside) + (double)how->plus;
			const double m = *magnitude, x = *extra, n = u->magnitude[at], z = u->extra[at];
			const double up = fabs(factor);
			*y = h * factor;
			*magnitude = s * (m * up + m * z + x * n + gamma_max * m * n) + fabs(h) * n;
			*extra = s * x * up + fabs(h) * z + s * x * z + silu_least * (up + n) + underflow;
		}
}

/* The bias of columns N0 on, or of those BESIDE them: one more addition of a kernel's chain. */
static void add_bias(const struct job *job, size_t tokens, size_t beside, size_t n0, size_t rows, const struct sums *to)
{
	for (size_t i = 0; job->more->bias && i < tokens; i++)
		for (size_t j = 0; j < rows; j++) {
			const size_t column = tcb_grid_column(job->out->grid, n0 + j);
			const double bias = (double)job->more->bias[beside + column];
			to->y[i * to->stride + j] += bias;
			to->magnitude[i * to->stride + j] += fabs(bias);
		}
}

static void run_task(void *ctx, size_t task, unsigned thread)
{
	const struct job *job = ctx;
	const size_t n0 = task % job->across * PANEL_N, m0 = task / job->across * job->task_m;
	const size_t rows = tcb_least(PANEL_N, job->n - n0), tokens = tcb_least(job->task_m, job->m - m0);
	const size_t at = m0 * job->n + n0;
	const struct sums to = { job->out->y + at, job->out->magnitude + at, job->out->extra + at, job->n };
	(void)thread;
	multiply(job, m0, tokens, 0, n0, rows, &to);
	add_bias(job, tokens, 0, n0, rows, &to);
	if (job->fused->is_gated) {
		double up[3][GATED_M * PANEL_N];
		const struct sums beside = { up[0], up[1], up[2], PANEL_N };
		multiply(job, m0, tokens, job->problem->shape.n, n0, rows, &beside);
		add_bias(job, tokens, job->problem->shape.n, n0, rows, &beside);
		const struct tcb_quant_gate how = tcb_quant_gate_of(&job->problem->shape.words);
		gate(&how, job->gamma_max, tokens, rows, &to, &beside);
	}
}

static struct job make_job(const struct tcb_problem *problem, void *const operand[],
			   const struct tcb_quant_fused *fused, const struct tcb_quant_more *more,
			   struct tcb_reference *out)
{
	const double norm = fused->norm ? TCB_QUANT_NORM_CHAIN + (double)tcb_div_up(problem->shape.k, SPAN) : 0;
	const double chain = tcb_quant_chain_max(problem->shape.k) + norm;
	const size_t n = out->grid ? out->grid->column_count : problem->shape.n;
	return (struct job){
		.problem = problem,
		.format = problem->op->format,
		.weights = operand[TCB_QUANT_WEIGHTS],
		.x = operand[TCB_QUANT_X],
		.tiles = tcb_reference_tiles(),
		.fused = fused,
		.more = more,
		.gamma_max = tcb_gamma(chain + fused->is_gated + problem->shape.words.gelu + (more->bias != NULL)),
		.out = out,
		.m = out->grid ? out->grid->row_count : problem->shape.m,
		.n = n,
		.across = tcb_div_up(n, PANEL_N),
		.task_m = fused->is_gated ? GATED_M : TASK_M,
	};
}

/* One more addition of a kernel's chain. */
static void add_added(const struct tcb_problem *problem, const float *added, struct tcb_reference *out)
{
	const struct tcb_grid *grid = out->grid;
	const size_t rows = grid && grid->rows ? grid->row_count : problem->shape.m;
	const size_t columns = grid && grid->columns ? grid->column_count : problem->shape.n;
	for (size_t i = 0, at = 0; i < rows; i++)
		for (size_t j = 0; j < columns; j++, at++) {
			const double more =
				(double)added[tcb_grid_row(grid, i) * problem->shape.n + tcb_grid_column(grid, j)];
			out->y[at] += more;
			out->magnitude[at] += fabs(more);
		}
}

void tcb_quant_reference_rows(const struct tcb_problem *problem, void *const operand[],
			      const struct tcb_quant_fused *fused, const struct tcb_quant_more *more,
			      struct tcb_reference *out)
{
	struct job job = make_job(problem, operand, fused, more, out);
	tcb_reference_share(out, job.across * tcb_div_up(job.m, job.task_m), run_task, &job);
	if (more->added)
		add_added(problem, more->added, out);
	tcb_reference_round(out, tcb_quant_y_type(problem), job.m * job.n);
}

void tcb_quant_reference_fused(const struct tcb_problem *problem, void *const operand[],
			       const struct tcb_quant_fused *fused, struct tcb_reference *out)
{
	tcb_quant_reference_rows(problem, operand, fused, &(struct tcb_quant_more){ .bias = NULL }, out);
}

void tcb_quant_reference_gate(const struct tcb_quant_gate *how, size_t k, size_t count,
			      const struct tcb_reference *gated, const struct tcb_reference *up)
{
	gate(how, tcb_gamma(tcb_quant_chain_max(k) + GATE_CHAIN), 1, count,
	     &(struct sums){ gated->y, gated->magnitude, gated->extra, count },
	     &(struct sums){ up->y, up->magnitude, up->extra, count });
}

void tcb_quant_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	const struct tcb_quant_more more = tcb_quant_more(problem, operand);
	tcb_quant_reference_rows(problem, operand, &(struct tcb_quant_fused){ .norm = NULL }, &more, out);
}

/* --- sums of outputs --- */

enum {
	SUM_ROWS = TCB_REFERENCE_N * TCB_SUM_COLUMNS
}; /* of the weights in a task: as many sums as a tile has columns */

/* SPAN values of k of rows added up, times their factors; their sizes; and their terms. */
struct added {
	double w[TCB_REFERENCE_N * SPAN], w_size[TCB_REFERENCE_N * SPAN], w_terms[TCB_REFERENCE_N * TERMS];
};

/* Adds ROWS rows of the weights from N0 on to sum LANE, a panel of them at a time. */
static void add_rows(const struct job *job, size_t k, size_t values, size_t n0, size_t rows, size_t lane,
		     struct panels *p, struct added *to)
{
	for (size_t first = 0; first < rows; first += TCB_REFERENCE_N) {
		double factor[TCB_REFERENCE_N] = { 0 };
		for (size_t j = 0; j < tcb_least(TCB_REFERENCE_N, rows - first); j++) {
			factor[j] = tcb_sum_factor(n0 + first + j);
			weigh_row(job, weights_at(job, 0, n0 + first + j, k), values, j, p);
		}
		for (size_t s = 0; s < values; s++) {
			double sum = 0, size = 0;
			for (size_t j = 0; j < TCB_REFERENCE_N; j++) {
				const double term = factor[j] * p->w[s * TCB_REFERENCE_N + j];
				sum += term;
				size += fabs(term);
			}
			to->w[s * TCB_REFERENCE_N + lane] += sum;
			to->w_size[s * TCB_REFERENCE_N + lane] += size;
		}
		for (size_t t = 0; t < TERMS; t++)
			for (size_t j = 0; j < TCB_REFERENCE_N; j++)
				to->w_terms[t * TCB_REFERENCE_N + lane] +=
					fabs(factor[j]) * p->w_terms[t * TCB_REFERENCE_N + j];
	}
}

/* All tokens times the sums of a task, COUNT of them from sum FIRST on. */
static void add_products(const struct job *job, size_t k, size_t values, size_t first, size_t count, struct panels *p,
			 const struct added *sums)
{
	for (size_t m0 = 0; m0 < job->m; m0 += TCB_REFERENCE_M) {
		const size_t tokens = tcb_least(TCB_REFERENCE_M, job->m - m0);
		double y[TILE_VALUES] = { 0 }, magnitude[TILE_VALUES] = { 0 }, extra[TILE_VALUES] = { 0 };
		for (size_t t = 0; t < tokens; t++)
			weigh_token(job, m0 + t, k, 1, values, t, p);
		job->tiles->wide(p->x, sums->w, values, y);
		job->tiles->wide(p->x_size, sums->w_size, values, magnitude);
		job->tiles->wide(p->x_terms, sums->w_terms, term_count(job->problem->contract), extra);
		for (size_t i = 0; i < tokens * count; i++) {
			const size_t t = i / count, at = (m0 + t) * job->across + first + i % count;
			job->out->y[at] += y[t * TCB_REFERENCE_N + i % count];
			job->out->magnitude[at] += magnitude[t * TCB_REFERENCE_N + i % count];
			job->out->extra[at] += extra[t * TCB_REFERENCE_N + i % count];
		}
	}
}

static void run_sums(void *ctx, size_t task, unsigned thread)
{
	const struct job *job = ctx;
	const size_t k_all = job->problem->shape.k, first = task * TCB_REFERENCE_N;
	const size_t count = tcb_least(TCB_REFERENCE_N, job->across - first);
	const int is_half = job->problem->contract == TCB_CONTRACT_F16;
	const double of_magnitude = is_half ? 3 * half_roundoff * (1 + 4 * half_roundoff) : 0;
	const double least = 1.5 * TCB_SUM_COLUMNS * (double)tcb_round_up(k_all, SPAN) * underflow;
	struct panels panels;
	struct added sums;
	(void)thread;
	memset(&panels, 0, sizeof(panels));
	for (size_t i = 0; i < job->m * count; i++) {
		const size_t at = i / count * job->across + first + i % count;
		job->out->y[at] = job->out->magnitude[at] = job->out->extra[at] = 0;
	}
	for (size_t k = 0; k < k_all; k += SPAN) {
		const size_t values = tcb_least(SPAN, k_all - k);
		memset(&sums, 0, sizeof(sums));
		for (size_t lane = 0; lane < count; lane++) {
			const size_t n0 = (first + lane) * TCB_SUM_COLUMNS;
			add_rows(job, k, values, n0, tcb_least(TCB_SUM_COLUMNS, job->n - n0), lane, &panels, &sums);
		}
		add_products(job, k, values, first, count, &panels, &sums);
	}
	for (size_t i = 0; i < job->m * count; i++) {
		const size_t at = i / count * job->across + first + i % count;
		job->out->extra[at] += least + of_magnitude * job->out->magnitude[at];
	}
}

/* COUNT sums of results that are rounded each: of as much as all their terms are large. */
static void round_sums(const struct tcb_problem *problem, const struct tcb_reference *out, size_t count)
{
	static const double units[TCB_TYPE_COUNT] = { [TCB_TYPE_F16] = 0x1p-11, [TCB_TYPE_BF16] = 0x1p-8 };
	const double unit = units[tcb_quant_y_type(problem)];
	for (size_t i = 0; unit > 0 && i < count; i++)
		out->extra[i] =
			(1 + unit) * (out->extra[i] + unit * out->magnitude[i]) + 1.5 * TCB_SUM_COLUMNS * half_least;
}

void tcb_quant_reference_sums(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	const struct tcb_quant_more more = tcb_quant_more(problem, operand);
	struct job job = make_job(problem, operand, &(struct tcb_quant_fused){ .norm = NULL }, &more, out);
	job.across = tcb_div_up(job.n, TCB_SUM_COLUMNS);
	tcb_reference_share(out, tcb_div_up(job.n, SUM_ROWS), run_sums, &job);
	for (size_t i = 0; (more.bias || more.added) && i < job.m * job.n; i++) {
		const size_t column = i % job.n, at = i / job.n * job.across + column / TCB_SUM_COLUMNS;
		const double factor = tcb_sum_factor(column);
		const double bias = more.bias ? (double)more.bias[column] * factor : 0;
		const double added = more.added ? (double)more.added[i] * factor : 0;
		out->y[at] += bias + added;
		out->magnitude[at] += fabs(bias) + fabs(added);
	}
	round_sums(problem, out, job.m * job.across);
}

size_t tcb_quant_drawn_columns(const struct tcb_problem *problem)
{
	(void)problem;
	return 1;
}
