/* SPDX-License-Identifier: MIT
 *
 * Register tiles of the quantised matmul, contract f16, on tiles of bf16: 16 or
 * 32 tokens and rows, weights as struct qmm_halves.  Whatever the format, the
 * sums of a span of k stay in tiles; where k is cut they go on as the floats that
 * they were.
 *
 * Tiles are those of amx_tiles.h, which a test takes from plain C.  Empty for a
 * file that has none.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_BF16_H
#define TCB_KERNELS_QUANT_MATMUL_BF16_H

#include <assert.h>
#include <string.h>

#include "kernels/quant_matmul/quant_matmul_layout.h"
#include "kernels/simd/amx_tiles.h"

#ifdef AMX_CONFIGURE

_Static_assert(sizeof(struct amx_config) == sizeof(struct qmm_before), "what a thread had fits");

static inline void bf16_enter(struct qmm_before *before)
{
	_Alignas(64) struct amx_config config;
	amx_whole_tiles(&config);
	amx_enter(&config, (struct amx_config *)(void *)before->bytes);
}

static inline void bf16_leave(const struct qmm_before *before)
{
	amx_leave((const struct amx_config *)(const void *)before->bytes);
}

/*
 * Sums += tokens x rows over STEPS times AMX_HALVES values, as amx_add_bf16() does it.  Rows stay in the first cache
 * while all tokens pass, tokens do not: loaded like rows a call takes 1.07 to 1.2 times as long (Xeon, 16 steps).
 */
AMX_INLINE void bf16_add(const struct qmm_call *call, size_t steps, const int micro_m, const int micro_n)
{
	const uint8_t *a = call->x, *b = call->weights, *ahead = call->ahead;
	for (; steps; steps--, a += (size_t)micro_m * AMX_LINE, b += AMX_BYTES) {
		AMX_LOAD(6, b, AMX_LINE);
		AMX_LOAD_ONCE(4, a, AMX_LINE);
		AMX_DOT_BF16(0, 4, 6);
		if (micro_n > AMX_SIDE) {
			AMX_LOAD(7, b + call->group_bytes, AMX_LINE);
			AMX_DOT_BF16(1, 4, 7);
		}
		for (size_t i = 0; i < call->ahead_lines; i++, ahead += AMX_LINE)
			__builtin_prefetch(ahead, 0, 2);
		if (micro_m > AMX_SIDE) {
			AMX_LOAD_ONCE(5, a + AMX_BYTES, AMX_LINE);
			AMX_DOT_BF16(2, 5, 6);
		}
		if (micro_m > AMX_SIDE && micro_n > AMX_SIDE)
			AMX_DOT_BF16(3, 5, 7);
	}
}

/* Between bf16_enter and bf16_leave; MICRO_M and MICRO_N are 16 or 32. */
AMX_INLINE void bf16_tile(const struct qmm_call *call, const int micro_m, const int micro_n)
{
	const int is_whole = call->tokens == (size_t)micro_m && call->rows == (size_t)micro_n;
	_Alignas(64) float part[AMX_SPAN * AMX_SPAN];
	float *const sums = is_whole ? call->y : part;
	const size_t stride = is_whole ? call->y_stride : (size_t)micro_n;
	assert(call->superblocks >= 1 && call->tokens <= (size_t)micro_m && call->rows <= (size_t)micro_n);
	if (call->accumulate)
		amx_load_sums(call->sums, call->sums_stride * sizeof(float), micro_m, micro_n);
	else
		amx_clear_sums(micro_m, micro_n);
	bf16_add(call, (call->values + AMX_HALVES - 1) / AMX_HALVES, micro_m, micro_n);
	amx_store_sums(sums, stride * sizeof(float), micro_m, micro_n);
	for (size_t m = 0; !is_whole && m < call->tokens; m++)
		memcpy(call->y + m * call->y_stride, part + m * stride, call->rows * sizeof(float));
}

#endif
#endif
