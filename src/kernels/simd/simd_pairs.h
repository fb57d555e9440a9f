/* SPDX-License-Identifier: MIT
 *
 * Values that are taken in pairs, in the vector operations of simd.h: bf16 of even and of odd places apart, which costs
 * a shift and a mask where in their order it is a permutation; and codes of four bits of two rows side by side.
 */
#ifndef TCB_KERNELS_SIMD_PAIRS_H
#define TCB_KERNELS_SIMD_PAIRS_H

#include "kernels/simd/simd.h"

#if LANES > 1

typedef uint32_t pair_words __attribute__((vector_size(VECTOR_BYTES)));

/* Of 2 LANES bf16 those at even places, and those at odd ones. */
SIMD_INLINE void v_unpack_bf16(const uint16_t *from, vfloat pair[2])
{
	pair_words both;
	memcpy(&both, from, sizeof(both));
	pair[0] = (vfloat)(both << 16);
	pair[1] = (vfloat)(both & 0xffff0000);
}

/* The bits of a vector of both, rounded as v_to_bf16 does. */
SIMD_INLINE vfloat v_pack_bf16(const vfloat pair[2])
{
	const int has_nan = v_is_set(v_unordered(pair[0], pair[1]));
	pair_words up[2];
	SIMD_FOR (int i = 0; i < 2; i++) {
		const pair_words bits = (pair_words)pair[i];
		up[i] = bits + 0x7fff + (bits >> 16 & 1);
		if (__builtin_expect(has_nan, 0)) {
			const pair_words is_nan = (pair_words)((bits & 0x7fffffff) > 0x7f800000);
			up[i] = (is_nan & (bits | 0x400000)) | (~is_nan & up[i]);
		}
	}
	return (vfloat)((up[1] & 0xffff0000) | up[0] >> 16);
}

#else

SIMD_INLINE void v_unpack_bf16(const uint16_t *from, vfloat pair[2])
{
	pair[0] = v_from_bf16(from);
	pair[1] = v_from_bf16(from + 1);
}

SIMD_INLINE vfloat v_pack_bf16(const vfloat pair[2])
{
	uint16_t both[2];
	vfloat packed;
	v_to_bf16(both, pair[0]);
	v_to_bf16(both + 1, pair[1]);
	memcpy(&packed, both, sizeof(packed));
	return packed;
}

#endif

#ifdef SIMD_HAS_HALVES

/* Of 16 bytes at A and at B: in OUT[0] halves of the low four bits of one of A and one of B, in OUT[1] of the high
 * ones, less 8. */
SIMD_INLINE void vi_nibble_pairs(const uint8_t *a, const uint8_t *b, vint out[2])
{
	const __m128i first = _mm_loadu_si128((const __m128i_u *)a), second = _mm_loadu_si128((const __m128i_u *)b);
	const __m256i bytes = _mm256_set_m128i(_mm_unpackhi_epi8(first, second), _mm_unpacklo_epi8(first, second));
	const vint pairs = _mm512_cvtepu8_epi16(bytes), centre = _mm512_set1_epi16(8);
	out[0] = _mm512_sub_epi16(_mm512_and_si512(pairs, _mm512_set1_epi16(15)), centre);
	out[1] = _mm512_sub_epi16(_mm512_srli_epi16(pairs, 4), centre);
}

#endif
#endif
