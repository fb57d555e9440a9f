/* SPDX-License-Identifier: MIT
 *
 * The reference of ops with quantised weights: y, sum of |w||x| and what the
 * contract may add, all in double.  In: operands as stored.  Method: 256 values
 * of k at a time; 32 tokens are widened and weighed, then each row's blocks are
 * taken apart once and multiplied with all of them.
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
 *   q8   half a step of each group's scale for each activation.
 *   f16  2^-11 of x, and of a, c and w, or half of the smallest f16, 2^-25; of a
 *        as often as q is large, 128 at most.
 */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/quant.h"

enum { SPAN = 256, LANES = 8, TOKENS = 32, TOKENS_TOGETHER = 4, RUNS = 16, GROUPS = SPAN / 32 };

static const double unit_roundoff = 0x1p-24, half_roundoff = 0x1p-11, half_least = 0x1p-25, underflow = 0x1p-149;
static const double halves_least = 0x1p-51;

/* GCC and Clang cut these to what the machine has. */
typedef double vector __attribute__((vector_size(LANES * sizeof(double))));
typedef long long mask __attribute__((vector_size(LANES * sizeof(double))));

#define INLINE static inline __attribute__((always_inline))

/* One row, or one token, over SPAN values of k; zeros past the end. */
struct row {
	_Alignas(64) double w[SPAN];
	double absolute[GROUPS];        /* sum of |w| over a group of activations that share a scale */
	double apart[RUNS];             /* |offset| + |scale * centre| */
	double absolute_sum, apart_sum; /* of every value */
};
struct token {
	_Alignas(64) double x[SPAN];
	double codes[GROUPS]; /* contract q8: most that the rounding of a code and of d move an activation of the group
			       */
	double sum_of[RUNS];  /* |x| of a run, each with what quantising may add to it */
	double sum;
	double left_out; /* contract f32: most that two halves leave out of an activation beside two roundings */
};

double tcb_quant_chain_max(size_t k)
{
	return 17 * (double)((k + SPAN - 1) / SPAN) + 64;
}

static double f16_seen(double x)
{
	return fabs(x) >= 65520 ? copysign(INFINITY, x) : x;
}

static void weigh_token(const struct tcb_format *format, enum tcb_contract contract, const float *x, size_t values,
			struct token *out)
{
	const size_t group = tcb_quant_group(format);
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < values; i++)
		out->x[i] = contract == TCB_CONTRACT_F16 ? f16_seen((double)x[i]) : (double)x[i];
	for (size_t g = 0; contract == TCB_CONTRACT_Q8 && g < values / group; g++) {
		double largest = 0;
		for (size_t i = g * group; i < (g + 1) * group; i++)
			largest = fabs(out->x[i]) > largest ? fabs(out->x[i]) : largest;
		/* Half a step; d = fl(max / 127), x / d and code times d each add at most 127 roundings of a step. */
		out->codes[g] = largest / 127 * (0.5 + 4 * 127 * unit_roundoff);
		if (largest < 127 * (double)FLT_MIN)
			out->codes[g] = largest; /* counts as zeros */
	}
	for (size_t i = 0; i < values; i++)
		out->sum_of[i / format->run_values] += fabs(out->x[i]) + out->codes[i / group];
	for (size_t r = 0; r < RUNS; r++)
		out->sum += out->sum_of[r];
	double largest = 0;
	for (size_t i = 0; contract == TCB_CONTRACT_F32 && i < values; i++)
		largest = fabs(out->x[i]) > largest ? fabs(out->x[i]) : largest;
	out->left_out = isfinite(largest) ? halves_least * largest : 0;
}

static void weigh_row(const struct tcb_format *format, const uint8_t *blocks, size_t values, struct row *out)
{
	const size_t group = tcb_quant_group(format), runs = format->block_values / format->run_values;
	struct tcb_codes codes;
	memset(out, 0, sizeof(*out));
	for (size_t first = 0, run = 0; first < values; first += format->block_values, blocks += format->block_bytes) {
		format->decode(blocks, &codes);
		for (size_t r = 0; r < runs; r++, run++) {
			double *w = out->w + first + r * format->run_values, absolute = 0;
			const int8_t *code = codes.code + r * format->run_values;
			for (size_t i = 0; i < format->run_values; i++) {
				w[i] = (double)(codes.scale[r] * (float)code[i] - codes.offset[r]);
				absolute += fabs(w[i]);
			}
			out->absolute[(first + r * format->run_values) / group] += absolute;
			out->absolute_sum += absolute;
			out->apart[run] = fabs((double)codes.offset[r]) + fabs((double)codes.scale[r]) * format->centre;
			out->apart_sum += (double)format->run_values * out->apart[run];
		}
	}
}

/* One row times COUNT tokens: sums of products and of their magnitudes. */
INLINE void multiply(const struct row *row, const struct token *token, size_t count, double y[TOKENS],
		     double magnitude[TOKENS])
{
	const mask positive = ~(((mask){ 0 } + 1) << 63);
	for (size_t t = 0; t < count; t += TOKENS_TOGETHER) {
		vector sum[TOKENS_TOGETHER] = { { 0 } }, size[TOKENS_TOGETHER] = { { 0 } };
		for (size_t k = 0; k < SPAN; k += LANES)
			for (size_t i = 0; i < TOKENS_TOGETHER; i++) {
				const vector product =
					*(const vector *)(row->w + k) * *(const vector *)(token[t + i].x + k);
				sum[i] += product;
				size[i] += (vector)((mask)product & positive);
			}
		for (size_t i = 0; i < TOKENS_TOGETHER; i++) {
			y[t + i] = magnitude[t + i] = 0;
			for (size_t lane = 0; lane < LANES; lane++) {
				y[t + i] += sum[i][lane];
				magnitude[t + i] += size[i][lane];
			}
		}
	}
}

static void multiply_any(const struct row *row, const struct token *token, size_t count, double y[TOKENS],
			 double magnitude[TOKENS])
{
	multiply(row, token, count, y, magnitude);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void multiply_avx2(const struct row *row, const struct token *token,
							  size_t count, double y[TOKENS], double magnitude[TOKENS])
{
	multiply(row, token, count, y, magnitude);
}

__attribute__((target("avx512f,avx512dq"))) static void multiply_avx512(const struct row *row,
									const struct token *token, size_t count,
									double y[TOKENS], double magnitude[TOKENS])
{
	multiply(row, token, count, y, magnitude);
}
#endif

typedef void multiply_fn(const struct row *row, const struct token *token, size_t count, double y[TOKENS],
			 double magnitude[TOKENS]);

static multiply_fn *best_multiply(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
		return multiply_avx512;
	if (__builtin_cpu_supports("avx2"))
		return multiply_avx2;
#endif
	return multiply_any;
}

/* What CONTRACT may add to one output over this span. */
static double extra(const struct row *row, const struct token *token, enum tcb_contract contract, double magnitude,
		    double gamma_max)
{
	double apart = 0, codes = 0;
	for (size_t r = 0; r < RUNS; r++)
		apart += row->apart[r] * token->sum_of[r];
	for (size_t g = 0; g < GROUPS; g++)
		codes += token->codes[g] * row->absolute[g];
	double sum = codes * (1 + gamma_max) + 2 * gamma_max * apart + SPAN * underflow;
	if (contract == TCB_CONTRACT_F32)
		sum += token->left_out * (row->absolute_sum + row->apart_sum) * (1 + gamma_max);
	if (contract == TCB_CONTRACT_F16)
		sum += half_roundoff * (1 + 4 * half_roundoff) * (3 * magnitude + 2 * apart) +
		       half_least * (row->absolute_sum + 129 * token->sum);
	return sum;
}

/* One call, shared by threads: each has some rows of the weights. */
struct job {
	const struct tcb_problem *problem;
	const struct tcb_format *format;
	const uint8_t *weights;
	const float *x;
	multiply_fn *products;
	double gamma_max;
	struct tcb_reference *out;
};

enum { TASK_ROWS = 64 };

/* Rows BEGIN to END over VALUES values from K on, times COUNT tokens from FIRST on. */
static void add_rows(const struct job *job, size_t begin, size_t end, size_t k, size_t values,
		     const struct token *token, size_t first, size_t count)
{
	const struct tcb_shape *s = &job->problem->shape;
	const enum tcb_contract contract = job->problem->contract;
	const size_t row_bytes = tcb_quant_row_bytes(job->format, s->k), before = tcb_quant_row_bytes(job->format, k);
	struct row row;
	for (size_t n = begin; n < end; n++) {
		double y[TOKENS], magnitude[TOKENS];
		weigh_row(job->format, job->weights + n * row_bytes + before, values, &row);
		job->products(&row, token, count, y, magnitude);
		for (size_t t = 0; t < count; t++) {
			const size_t at = (first + t) * s->n + n;
			job->out->y[at] += y[t];
			job->out->magnitude[at] += magnitude[t];
			job->out->extra[at] += extra(&row, &token[t], contract, magnitude[t], job->gamma_max);
		}
	}
}

static void run_rows(void *ctx, size_t task, unsigned thread)
{
	const struct job *job = ctx;
	const struct tcb_shape *s = &job->problem->shape;
	const size_t begin = task * TASK_ROWS, end = s->n - begin < TASK_ROWS ? s->n : begin + TASK_ROWS;
	struct token token[TOKENS];
	(void)thread;
	for (size_t first = 0; first < s->m; first += TOKENS) {
		const size_t count = s->m - first < TOKENS ? s->m - first : TOKENS;
		for (size_t t = first; t < first + count; t++)
			for (size_t n = begin; n < end; n++) {
				const size_t at = t * s->n + n;
				job->out->y[at] = job->out->magnitude[at] = job->out->extra[at] = 0;
			}
		/* Those past the end are multiplied too, and not looked at. */
		memset(token, 0, sizeof(token));
		for (size_t k = 0; k < s->k; k += SPAN) {
			const size_t values = s->k - k < SPAN ? s->k - k : SPAN;
			for (size_t t = 0; t < count; t++)
				weigh_token(job->format, job->problem->contract, job->x + (first + t) * s->k + k,
					    values, &token[t]);
			add_rows(job, begin, end, k, values, token, first, count);
		}
	}
}

void tcb_quant_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	struct job job = {
		.problem = problem,
		.format = tcb_quant_format(problem),
		.weights = operand[TCB_QUANT_WEIGHTS],
		.x = operand[TCB_QUANT_X],
		.products = best_multiply(),
		.gamma_max = tcb_gamma(tcb_quant_chain_max(problem->shape.k)),
		.out = out,
	};
	tcb_reference_share(out, (problem->shape.n + TASK_ROWS - 1) / TASK_ROWS, run_rows, &job);
}
