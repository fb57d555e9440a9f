/* SPDX-License-Identifier: MIT
 *
 * q4k_exact(): the roundings of one f32 variant, in its order, in scalar code;
 * and how long its longest chain of them is.
 *
 * The f32 kernels never form a weight w = a q - c (a = d sc and c = dmin m are
 * exact in f32).  With t the chain of products q x of one lane within a
 * sub-block they add a t, and subtract c times the sum of the sub-block's
 * activations.
 */
#include <assert.h>

#include "kernels/quant.h"
#include "kernels/quant_matvec/q4k_matvec.h"
#include "kernels/quant_matvec/quant_matvec.h"
#include "kernels/quant_matvec/quant_matvec_pack.h"

enum { SUB_BLOCKS = 8, ROWS_MAX = 16 };

static float load_half(const uint8_t *bytes)
{
	return tcb_f16_to_f32((uint16_t)(bytes[0] | bytes[1] << 8));
}

double q4k_f32_chain(const struct tcb_plan *plan)
{
	const size_t span = plan->geometry.tile[TCB_MIDI].k;
	const double blocks = (double)(span / Q4K_BLOCK_VALUES), steps = (double)(plan->problem.shape.k / span);
	/* A sum of 32 activations and its product, or four products and theirs; five terms a block and lane. */
	if (plan->variant->layout == TCB_LAYOUT_NATIVE)
		return 6 + 5 * blocks + 4 + steps;
	/* 16 products, their two parts, eight sub-blocks; a term a block; the mins; two lanes. */
	return 16 + 1 + 8 + blocks + 1 + 1 + steps;
}

/*
 * The orders of contract f32.  Activations are those of struct q4k_x32, whose sums of sub-blocks add lanes i and
 * i + 16, then as add_lanes() does.
 *   native       16 lanes per row.  A block first takes c times each sub-block's sum from lanes 8 to 15, then in the
 *                order of sub-blocks 2 p + h and 4 + 2 p + h: the four bytes of word w in sequence, times a, to lane
 *                8 p + w.  The lanes are added at the end.
 *   interleaved  16 / R lanes per row for R rows.  Word w belongs to lane w mod lanes; the bytes of its words in
 *                sequence, even and odd bytes apart and then added, times sc, added over the sub-blocks, times d to
 *                the lane.  Mins likewise, in lane 0, taken off at the end; then the lanes are added.
 * The scalar kernels round each product before it is added; all others fuse the two.
 */
struct order {
	int fused;
	unsigned lanes; /* interleaved; 0 for native */
};

#define EXACT_INLINE static inline __attribute__((always_inline))

EXACT_INLINE float multiply_add(float a, float b, float c, int fused)
{
	return fused ? __builtin_fmaf(a, b, c) : a * b + c;
}

/* Lanes i and i + 8, then i and i + 4, i and i + 2, i and i + 1. */
EXACT_INLINE float add_lanes(const float lane[16])
{
	float eight[8];
	for (int i = 0; i < 8; i++)
		eight[i] = lane[i] + lane[i + 8];
	for (int i = 0; i < 4; i++)
		eight[i] += eight[i + 4];
	return (eight[0] + eight[2]) + (eight[1] + eight[3]);
}

/* One block of one row. */
EXACT_INLINE void exact_native(const uint8_t *block, const struct q4k_x32 *x, int fused, float lane[16])
{
	const float d = load_half(block), dmin = load_half(block + 2);
	uint8_t scale[SUB_BLOCKS], min[SUB_BLOCKS];
	tcb_k_scales(block + 4, scale, min);
	for (int j = 0; j < SUB_BLOCKS; j++)
		lane[8 + j] = multiply_add(-(dmin * (float)min[j]), x->sums[j], lane[8 + j], fused);
	for (int j = 0; j < SUB_BLOCKS; j++) {
		const uint8_t *codes = block + 16 + j / 2 * 32;
		const float *xj = x->x + 128 * (j / 4) + 64 * (j % 2) + 8 * (j / 2 % 2);
		float *to = lane + 8 * (j / 2 % 2);
		const float a = d * (float)scale[j];
		for (int w = 0; w < 8; w++) {
			float sum = 0;
			for (int b = 0; b < 4; b++) {
				const float q = (float)(codes[4 * w + b] >> 4 * (j % 2) & 15);
				sum = b == 0 ? q * xj[w] : multiply_add(q, xj[16 * b + w], sum, fused);
			}
			to[w] = multiply_add(sum, a, to[w], fused);
		}
	}
}

/* The same for a row of an interleaved group; LANE[8] is the sum of the mins. */
EXACT_INLINE void exact_interleaved(const uint8_t *block, const struct q4k_x32 *x, struct order order, float lane[16])
{
	const float d = load_half(block), dmin = load_half(block + 2);
	uint8_t scale[SUB_BLOCKS], min[SUB_BLOCKS];
	float sum[2] = { 0 }, min_sum = 0;
	tcb_k_scales(block + 4, scale, min);
	for (int j = 0; j < SUB_BLOCKS; j++) {
		const uint8_t *codes = block + 16 + j / 2 * 32;
		const float *xj = x->x + 128 * (j / 4) + 64 * (j % 2) + 8 * (j / 2 % 2);
		for (unsigned l = 0; l < order.lanes; l++) {
			float part[2] = { 0 };
			for (unsigned w = l; w < 8; w += order.lanes)
				for (unsigned b = 0; b < 4; b++) {
					const float q = (float)(codes[4 * w + b] >> 4 * (j % 2) & 15);
					part[b % 2] = w == l && b < 2 ? q * xj[16 * b + w]
								      : multiply_add(q, xj[16 * b + w], part[b % 2],
										     order.fused);
				}
			const float dot = part[0] + part[1];
			sum[l] = j == 0 ? dot * (float)scale[j]
					: multiply_add(dot, (float)scale[j], sum[l], order.fused);
		}
		min_sum = j == 0 ? x->sums[j] * (float)min[j]
				 : multiply_add(x->sums[j], (float)min[j], min_sum, order.fused);
	}
	for (unsigned l = 0; l < order.lanes; l++)
		lane[l] = multiply_add(sum[l], d, lane[l], order.fused);
	lane[8] = multiply_add(min_sum, dmin, lane[8], order.fused);
}

/* ROWS outputs of one token over BLOCKS blocks of a k-step, added to y or written. */
EXACT_INLINE void exact_rows(const uint8_t *weights, size_t row_bytes, const float *x, size_t blocks, size_t rows,
			     int accumulate, struct order order, float *y)
{
	float lane[ROWS_MAX][16] = { { 0 } };
	for (size_t b = 0; b < blocks; b++) {
		struct q4k_x32 prepared;
		q4k_prepare_scalar(x + b * Q4K_BLOCK_VALUES, 1, &prepared);
		for (size_t r = 0; r < rows; r++) {
			const uint8_t *block = weights + r * row_bytes + b * Q4K_BLOCK_BYTES;
			if (order.lanes)
				exact_interleaved(block, &prepared, order, lane[r]);
			else
				exact_native(block, &prepared, order.fused, lane[r]);
		}
	}
	for (size_t r = 0; r < rows; r++) {
		float value = add_lanes(lane[r]);
		if (order.lanes) {
			value = lane[r][0] - lane[r][8];
			if (order.lanes == 2)
				value += lane[r][1];
		}
		y[r] = accumulate ? y[r] + value : value;
	}
}

/* The same scalar code with fused operations in hardware; without them the library's are exact as well. */
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void exact_rows_fma(const uint8_t *weights, size_t row_bytes, const float *x,
							       size_t blocks, size_t rows, int accumulate,
							       unsigned lanes, float *y)
{
	exact_rows(weights, row_bytes, x, blocks, rows, accumulate, (struct order){ 1, lanes }, y);
}
#endif

static void exact_rows_any(const uint8_t *weights, size_t row_bytes, const float *x, size_t blocks, size_t rows,
			   int accumulate, struct order order, float *y)
{
#if defined(__x86_64__)
	if (order.fused && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
		exact_rows_fma(weights, row_bytes, x, blocks, rows, accumulate, order.lanes, y);
		return;
	}
#endif
	exact_rows(weights, row_bytes, x, blocks, rows, accumulate, order, y);
}

void q4k_exact(const struct tcb_plan *plan, void *const operand[], float *y)
{
	const struct tcb_shape *s = &plan->problem.shape;
	const size_t row_bytes = s->k / Q4K_BLOCK_VALUES * Q4K_BLOCK_BYTES, span = plan->geometry.tile[TCB_MIDI].k;
	const enum tcb_layout layout = plan->variant->layout;
	const struct order order = { plan->variant->isa != TCB_ISA_SCALAR,
				     layout == TCB_LAYOUT_NATIVE ? 0 : 16 / (unsigned)qmv_layout_rows(layout) };
	const uint8_t *weights = operand[TCB_QUANT_WEIGHTS];
	const float *x = operand[TCB_QUANT_X];
	assert(plan->problem.contract == TCB_CONTRACT_F32 && order.lanes <= 2);
	for (size_t m = 0; m < s->m; m++)
		for (size_t n = 0; n < s->n; n += ROWS_MAX)
			for (size_t k = 0; k < s->k; k += span)
				exact_rows_any(weights + n * row_bytes + k / Q4K_BLOCK_VALUES * Q4K_BLOCK_BYTES,
					       row_bytes, x + m * s->k + k, span / Q4K_BLOCK_VALUES,
					       s->n - n < ROWS_MAX ? s->n - n : ROWS_MAX, k > 0, order,
					       y + m * s->n + n);
	const struct tcb_quant_more more = tcb_quant_more(&plan->problem, operand);
	tcb_quant_add_more(&more, 0, s->m, 0, s->n, y);
}
