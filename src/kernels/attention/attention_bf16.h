/* SPDX-License-Identifier: MIT
 *
 * What the micro-kernels of attention with KV of bf16 under contract f16 share on CPUs
 * that multiply pairs of bf16 (simd.h: SIMD_HAS_BF16); for others of q's factor alone.
 *
 * q stays bf16: times the power of two next below 1 / sqrt(k), which is exact, so that
 * products add up to no more than scores do; sums are multiplied by the rest.  Weights
 * are rounded to bf16, in place of a row's scores.  o has the columns of 32 values as
 * interleaved pairs of V's rows leave them, until it is stored.
 */
#ifndef TCB_KERNELS_ATTENTION_BF16_H
#define TCB_KERNELS_ATTENTION_BF16_H

#include "kernels/attention/attention_micro.h"

enum {
	UNIT = ATTENTION_BLOCK, /* of the head: a vector of bf16, two of floats */
	UNIT_BYTES = 2 * UNIT,
	UNIT_VECTORS = UNIT / LANES,
	PAIRS = UNIT / 2
};

SIMD_INLINE float power_of(const struct attention_call *call)
{
	int exponent;
	(void)frexpf(call->scale, &exponent);
	return ldexpf(1, exponent - 1);
}

SIMD_INLINE float rest_of(const struct attention_call *call)
{
	return call->scale / power_of(call);
}

#ifdef SIMD_HAS_BF16

/* A unit, or the LEFT values of the last and zeros. */
SIMD_INLINE vint load_unit(const void *from, size_t left)
{
	uint16_t unit[UNIT] = { 0 };
	if (left >= UNIT)
		return vi_load(from);
	memcpy(unit, from, left * sizeof(*unit));
	return vi_load(unit);
}

/* q as rows of bf16 that lie as far apart as those of floats, or with IS_SIDE_BY_SIDE for each KV head as
 * [unit][row][value]. */
SIMD_INLINE void load_bf16(const struct attention_call *call, const int is_side_by_side)
{
	const vfloat power = v_set(power_of(call));
	for (size_t r = 0; r < call->rows; r++) {
		const size_t of_head = r % call->head_rows, first = is_side_by_side ? r - of_head : r;
		const size_t each = is_side_by_side ? call->head_rows * UNIT : UNIT;
		uint16_t *q =
			(uint16_t *)(void *)(call->q + first * call->q_lead) + (is_side_by_side ? of_head * UNIT : 0);
		for (size_t at = 0; at < call->k; at += UNIT, q += each) {
			uint16_t unit[UNIT];
			vi_store(unit, load_unit((const uint16_t *)call->io_row[r] + at, call->k - at));
			SIMD_FOR (size_t v = 0; v < UNIT; v += LANES)
				v_round_bf16(q + v, v_mul(load_half(TCB_TYPE_BF16, unit, v), power));
		}
	}
}

SIMD_INLINE void around_tiles_bf16(const struct attention_call *call, const int is_side_by_side)
{
	if (call->stage == ATTENTION_LOAD) {
		load_bf16(call, is_side_by_side);
		return;
	}
	if (call->stage == ATTENTION_STORE)
		order_columns(call);
	around_tiles(call, 0);
}

#endif
#endif
