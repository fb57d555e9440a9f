/* SPDX-License-Identifier: MIT
 *
 * The vocabulary of simd.h in the 128-bit vectors of 64-bit Arm with dot
 * products.  Shifts by variables are written with the operators of C, as the
 * intrinsics want constants before unrolling.  Empty for a file that is not
 * compiled for dot products: Advanced SIMD alone all files for Arm may use.
 */
#ifndef TCB_KERNELS_SIMD_NEON_H
#define TCB_KERNELS_SIMD_NEON_H

#include "kernels/simd/simd_inline.h"

#if defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>

#define SIMD_ISA neon
#define SIMD_ID NEON
#define SIMD_HAS_BYTES
#define SIMD_HAS_DOT
#define SIMD_DOT_IS_SIGNED
#define LANES 4
typedef float32x4_t vfloat;
typedef int32x4_t vint;
typedef size_t vmask; /* how many of the first lanes */
typedef uint32x4_t vflag;

/* --- floats --- */

SIMD_FROM(vfloat, v_set, float, vdupq_n_f32)

SIMD_INLINE vfloat v_load(const float *from)
{
	return vld1q_f32(from);
}

SIMD_INLINE void v_store(float *to, vfloat value)
{
	vst1q_f32(to, value);
}

/* Such stores are a hint for pairs of vectors here, which no intrinsic gives: plans refuse stream=1. */
SIMD_INLINE void v_stream(float *to, vfloat value)
{
	vst1q_f32(to, value);
}

SIMD_INLINE vmask v_first(size_t count)
{
	return count > LANES ? LANES : count;
}

SIMD_INLINE vfloat v_load_part(const float *from, size_t count, float fill)
{
	float part[LANES] = { fill, fill, fill, fill };
	memcpy(part, from, count * sizeof(*from));
	return vld1q_f32(part);
}

SIMD_INLINE void v_store_part(float *to, vfloat value, size_t count)
{
	float part[LANES];
	vst1q_f32(part, value);
	memcpy(to, part, count * sizeof(*to));
}

SIMD_INLINE vfloat v_load_first(const float *from, vmask first)
{
	return first == LANES ? v_load(from) : v_load_part(from, first, 0);
}

SIMD_INLINE void v_store_first(float *to, vfloat value, vmask first)
{
	if (first == LANES)
		v_store(to, value);
	else
		v_store_part(to, value, first);
}

SIMD_INLINE vfloat v_part(vfloat value, size_t count)
{
	static const uint32_t index[LANES] = { 0, 1, 2, 3 };
	const uint32x4_t part = vcltq_u32(vld1q_u32(index), vdupq_n_u32((uint32_t)count));
	return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(value), part));
}

SIMD_OF_2(vfloat, v_add, vaddq_f32)
SIMD_OF_2(vfloat, v_sub, vsubq_f32)
SIMD_OF_2(vfloat, v_mul, vmulq_f32)

SIMD_INLINE vfloat v_fma(vfloat a, vfloat b, vfloat c)
{
	return vfmaq_f32(c, a, b);
}

SIMD_INLINE vfloat v_fms(vfloat a, vfloat b, vfloat c)
{
	return vfmaq_f32(vnegq_f32(c), a, b);
}

SIMD_INLINE vfloat v_fnma(vfloat a, vfloat b, vfloat c)
{
	return vfmsq_f32(c, a, b);
}

SIMD_INLINE vfloat v_max(vfloat a, vfloat b)
{
	return vbslq_f32(vcgtq_f32(a, b), a, b);
}

SIMD_INLINE vfloat v_maximum(vfloat a, vfloat b)
{
	return vmaxq_f32(a, b); /* FMAX: -0 < +0 */
}

SIMD_OF_2(vfloat, v_minimum, vminq_f32)
SIMD_FROM(vfloat, v_round, vfloat, vrndnq_f32)

SIMD_INLINE vfloat v_power2(vfloat n)
{
	return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vcvtq_s32_f32(n), vdupq_n_s32(127)), 23));
}

SIMD_INLINE int v_any_above(vfloat a, vfloat b)
{
	return vmaxvq_u32(vcgtq_f32(a, b)) != 0;
}

SIMD_INLINE vflag v_unordered(vfloat a, vfloat b)
{
	return vmvnq_u32(vandq_u32(vceqq_f32(a, a), vceqq_f32(b, b)));
}

SIMD_INLINE vflag v_no_flag(void)
{
	return vdupq_n_u32(0);
}

SIMD_OF_2(vflag, v_either, vorrq_u32)

SIMD_INLINE int v_is_set(vflag a)
{
	return vmaxvq_u32(a) != 0;
}

SIMD_FROM(float, v_reduce_add, vfloat, vaddvq_f32)
SIMD_FROM(float, v_reduce_max, vfloat, vmaxvq_f32)

SIMD_INLINE vfloat v_from_f16(const void *from)
{
	return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(from)));
}

SIMD_INLINE vfloat v_from_bf16(const uint16_t *from)
{
	return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(from), 16));
}

SIMD_INLINE vfloat v_set_f16(const void *from)
{
	uint16_t half;
	memcpy(&half, from, sizeof(half));
	return vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(half)));
}

SIMD_INLINE vfloat v_from_bytes(const int8_t *from)
{
	int32_t four;
	memcpy(&four, from, sizeof(four));
	const int8x8_t bytes = vreinterpret_s8_s32(vdup_n_s32(four));
	return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(bytes))));
}

/* Seven bits up they are halves. */
SIMD_INLINE vfloat v_from_e4m3(const uint8_t *from)
{
	uint32_t four;
	memcpy(&four, from, sizeof(four));
	const int16x4_t wide = vget_low_s16(vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(four))));
	const uint16x4_t half = vand_u16(vreinterpret_u16_s16(vshl_n_s16(wide, 7)), vdup_n_u16(0xbf80));
	return vcvt_f32_f16(vreinterpret_f16_u16(half));
}

SIMD_INLINE void v_to_f16(uint16_t *to, vfloat value)
{
	vst1_u16(to, vreinterpret_u16_f16(vcvt_f16_f32(value)));
}

SIMD_INLINE void v_to_bf16(uint16_t *to, vfloat value)
{
	const uint32x4_t bits = vreinterpretq_u32_f32(value), half = vshrq_n_u32(bits, 16);
	const uint32x4_t odd = vandq_u32(half, vdupq_n_u32(1));
	const uint32x4_t up = vaddq_u32(vaddq_u32(bits, vdupq_n_u32(0x7fff)), odd);
	const uint32x4_t quiet = vorrq_u32(half, vdupq_n_u32(0x40));
	vst1_u16(to, vmovn_u32(vbslq_u32(vceqq_f32(value, value), vshrq_n_u32(up, 16), quiet)));
}

/* 32-bit pairs, then 64-bit pairs. */
SIMD_INLINE void v_transpose(vfloat r[LANES])
{
	const float64x2_t a = vreinterpretq_f64_f32(vtrn1q_f32(r[0], r[1]));
	const float64x2_t b = vreinterpretq_f64_f32(vtrn2q_f32(r[0], r[1]));
	const float64x2_t c = vreinterpretq_f64_f32(vtrn1q_f32(r[2], r[3]));
	const float64x2_t d = vreinterpretq_f64_f32(vtrn2q_f32(r[2], r[3]));
	r[0] = vreinterpretq_f32_f64(vtrn1q_f64(a, c));
	r[1] = vreinterpretq_f32_f64(vtrn1q_f64(b, d));
	r[2] = vreinterpretq_f32_f64(vtrn2q_f64(a, c));
	r[3] = vreinterpretq_f32_f64(vtrn2q_f64(b, d));
}

SIMD_INLINE vfloat v_reduce_each(const vfloat r[LANES])
{
	return vpaddq_f32(vpaddq_f32(r[0], r[1]), vpaddq_f32(r[2], r[3]));
}

SIMD_INLINE vfloat v_reduce_each_max(const vfloat r[LANES])
{
	return vpmaxq_f32(vpmaxq_f32(r[0], r[1]), vpmaxq_f32(r[2], r[3]));
}

/* --- words and bytes --- */

SIMD_INLINE vint vi_load(const void *from)
{
	return vreinterpretq_s32_u8(vld1q_u8(from));
}

SIMD_INLINE void vi_store(void *to, vint v)
{
	vst1q_u8(to, vreinterpretq_u8_s32(v));
}

SIMD_INLINE vint vi_zero(void)
{
	return vdupq_n_s32(0);
}

SIMD_INLINE vint vi_bytes(int byte)
{
	return vreinterpretq_s32_u8(vdupq_n_u8((uint8_t)byte));
}

SIMD_FROM(vint, vi_words, int32_t, vdupq_n_s32)

SIMD_INLINE vint vi_first_word(int32_t word)
{
	return vsetq_lane_s32(word, vi_zero(), 0);
}

SIMD_OF_2(vint, vi_and, vandq_s32)
SIMD_OF_2(vint, vi_xor, veorq_s32)

SIMD_INLINE vint vi_merge(vint a, vint b, vint mask)
{
	return vorrq_s32(a, vandq_s32(b, mask));
}

SIMD_OF_2(vint, vi_add, vaddq_s32)
SIMD_OF_2(vint, vi_sub, vsubq_s32)

SIMD_INLINE vint vi_shift_right(vint v, int bits)
{
	return vreinterpretq_s32_u32(vreinterpretq_u32_s32(v) >> bits);
}

SIMD_INLINE vint vi_shift_left(vint v, int bits)
{
	return vreinterpretq_s32_u32(vreinterpretq_u32_s32(v) << bits);
}

SIMD_INLINE vint vi_unsigned_byte(vint v, int index)
{
	const vint low = vi_shift_right(v, 8 * index);
	return index == 3 ? low : vandq_s32(low, vdupq_n_s32(255));
}

SIMD_INLINE vint vi_signed_byte(vint v, int index)
{
	return vi_shift_left(v, 24 - 8 * index) >> 24;
}

SIMD_INLINE vint vi_add_where(vint v, int value, vint bits, int bit)
{
	const uint8x16_t where = vtstq_u8(vreinterpretq_u8_s32(bits), vdupq_n_u8((uint8_t)bit));
	const uint8x16_t more = vandq_u8(where, vdupq_n_u8((uint8_t)value));
	return vreinterpretq_s32_u8(vaddq_u8(vreinterpretq_u8_s32(v), more));
}

SIMD_INLINE vint vi_clear_where(vint v, int byte)
{
	const uint8x16_t bytes = vreinterpretq_u8_s32(v);
	return vreinterpretq_s32_u8(vbicq_u8(bytes, vceqq_u8(bytes, vdupq_n_u8((uint8_t)byte))));
}

SIMD_INLINE vint vi_table16(const int8_t table[16])
{
	return vreinterpretq_s32_s8(vld1q_s8(table));
}

SIMD_INLINE vint vi_lookup16(vint table, vint indices)
{
	return vreinterpretq_s32_u8(vqtbl1q_u8(vreinterpretq_u8_s32(table), vreinterpretq_u8_s32(indices)));
}

SIMD_FROM(vfloat, v_from_bits, vint, vreinterpretq_f32_s32)
SIMD_FROM(vfloat, v_from_words, vint, vcvtq_f32_s32)

SIMD_INLINE vfloat v_from_halves(vint v, int index)
{
	const uint16x4_t half = vmovn_u32(vreinterpretq_u32_s32(vi_shift_right(v, 16 * index)));
	return vcvt_f32_f16(vreinterpret_f16_u16(half));
}

SIMD_INLINE void vi_four_words(const uint8_t *const row[LANES], size_t offset, vint out[4])
{
	const vint a = vi_load(row[0] + offset), b = vi_load(row[1] + offset);
	const vint c = vi_load(row[2] + offset), d = vi_load(row[3] + offset);
	const int64x2_t ab0 = vreinterpretq_s64_s32(vtrn1q_s32(a, b)), ab1 = vreinterpretq_s64_s32(vtrn2q_s32(a, b));
	const int64x2_t cd0 = vreinterpretq_s64_s32(vtrn1q_s32(c, d)), cd1 = vreinterpretq_s64_s32(vtrn2q_s32(c, d));
	out[0] = vreinterpretq_s32_s64(vtrn1q_s64(ab0, cd0));
	out[1] = vreinterpretq_s32_s64(vtrn1q_s64(ab1, cd1));
	out[2] = vreinterpretq_s32_s64(vtrn2q_s64(ab0, cd0));
	out[3] = vreinterpretq_s32_s64(vtrn2q_s64(ab1, cd1));
}

/* --- byte products --- */

/* Two signed operands, which all codes fit as they are. */
SIMD_INLINE vint vi_dot(vint sum, vint u, vint s)
{
	return vdotq_s32(sum, vreinterpretq_s8_s32(u), vreinterpretq_s8_s32(s));
}

SIMD_INLINE vint vi_signed_start(vint start)
{
	return vsubq_s32(start, start);
}

SIMD_OF_3(vint, vi_dot_signed, vi_dot)

#endif
#endif
