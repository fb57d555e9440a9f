/* SPDX-License-Identifier: MIT
 *
 * The vectors of quant_matmul_vector.h for 64-bit Arm with dot products: four
 * rows each.  Shifts by variables are written with the operators of C, as the
 * intrinsics want constants before unrolling.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_NEON_H
#define TCB_KERNELS_QUANT_MATMUL_NEON_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/quant_matmul/quant_matmul_vector.h" /* whoever comes first */

#if defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>

enum { LANES = 4 };
typedef int32x4_t vint;
typedef float32x4_t vfloat;
typedef size_t vmask; /* how many of the first lanes */

QMM_INLINE vint load(const void *p)
{
	return vreinterpretq_s32_u8(vld1q_u8(p));
}

QMM_INLINE void store(void *p, vint v)
{
	vst1q_u8(p, vreinterpretq_u8_s32(v));
}

QMM_INLINE vint zero(void)
{
	return vdupq_n_s32(0);
}

QMM_INLINE vint bytes_of(int byte)
{
	return vreinterpretq_s32_u8(vdupq_n_u8((uint8_t)byte));
}

QMM_INLINE vint words_of(int32_t word)
{
	return vdupq_n_s32(word);
}

QMM_INLINE vint and_bits(vint a, vint b)
{
	return vandq_s32(a, b);
}

QMM_INLINE vint xor_bits(vint a, vint b)
{
	return veorq_s32(a, b);
}

QMM_INLINE vint merge(vint a, vint b, vint mask)
{
	return vorrq_s32(a, vandq_s32(b, mask));
}

QMM_INLINE vint shift_right(vint v, int bits)
{
	return vreinterpretq_s32_u16(vreinterpretq_u16_s32(v) >> bits);
}

QMM_INLINE vint shift_left(vint v, int bits)
{
	return vreinterpretq_s32_u16(vreinterpretq_u16_s32(v) << bits);
}

QMM_INLINE vint add_where(vint v, int value, vint bits, int bit)
{
	const uint8x16_t where = vtstq_u8(vreinterpretq_u8_s32(bits), vdupq_n_u8((uint8_t)bit));
	const uint8x16_t more = vandq_u8(where, vdupq_n_u8((uint8_t)value));
	return vreinterpretq_s32_u8(vaddq_u8(vreinterpretq_u8_s32(v), more));
}

QMM_INLINE vint unsigned_byte(vint v, int index)
{
	return vandq_s32(vreinterpretq_s32_u32(vreinterpretq_u32_s32(v) >> 8 * index), vdupq_n_s32(255));
}

QMM_INLINE vint signed_byte(vint v, int index)
{
	return vreinterpretq_s32_u32(vreinterpretq_u32_s32(v) << (24 - 8 * index)) >> 24;
}

QMM_INLINE vint add(vint a, vint b)
{
	return vaddq_s32(a, b);
}

QMM_INLINE vint times_64(vint v)
{
	return vshlq_n_s32(v, 6);
}

QMM_INLINE vfloat to_float(vint v)
{
	return vcvtq_f32_s32(v);
}

QMM_INLINE vfloat half_of(vint v, int index)
{
	const uint16x4_t half = vmovn_u32(vreinterpretq_u32_s32(v) >> 16 * index);
	return vcvt_f32_f16(vreinterpret_f16_u16(half));
}

QMM_INLINE vfloat fzero(void)
{
	return vdupq_n_f32(0);
}

QMM_INLINE vfloat fload(const float *p)
{
	return vld1q_f32(p);
}

QMM_INLINE void fstore(float *p, vfloat v)
{
	vst1q_f32(p, v);
}

QMM_INLINE vfloat fspread(const float *p)
{
	return vld1q_dup_f32(p);
}

QMM_INLINE vfloat mul(vfloat a, vfloat b)
{
	return vmulq_f32(a, b);
}

QMM_INLINE vfloat fma_add(vfloat a, vfloat b, vfloat c)
{
	return vfmaq_f32(c, a, b);
}

QMM_INLINE vfloat fma_less(vfloat a, vfloat b, vfloat c)
{
	return vfmaq_f32(vnegq_f32(c), a, b);
}

QMM_INLINE vfloat fma_from(vfloat a, vfloat b, vfloat c)
{
	return vfmsq_f32(c, a, b);
}

QMM_INLINE vmask first_lanes(size_t count)
{
	return count > LANES ? LANES : count;
}

QMM_INLINE vfloat fload_part(const float *p, vmask lanes)
{
	float part[LANES] = { 0 };
	if (lanes == LANES)
		return vld1q_f32(p);
	memcpy(part, p, lanes * sizeof(*p));
	return vld1q_f32(part);
}

QMM_INLINE void fstore_part(float *p, vmask lanes, vfloat v)
{
	float part[LANES];
	if (lanes == LANES) {
		vst1q_f32(p, v);
		return;
	}
	vst1q_f32(part, v);
	memcpy(p, part, lanes * sizeof(*p));
}

/* Sums of four products of signed bytes; codes of up to 7 bits are signed, too. */
QMM_INLINE vint dot_add(vint sum, vint w, vint s)
{
	return vdotq_s32(sum, vreinterpretq_s8_s32(w), vreinterpretq_s8_s32(s));
}

QMM_INLINE void four_words(const uint8_t *const row[LANES], size_t offset, vint out[4])
{
	const vint a = load(row[0] + offset), b = load(row[1] + offset);
	const vint c = load(row[2] + offset), d = load(row[3] + offset);
	const int64x2_t ab0 = vreinterpretq_s64_s32(vtrn1q_s32(a, b)), ab1 = vreinterpretq_s64_s32(vtrn2q_s32(a, b));
	const int64x2_t cd0 = vreinterpretq_s64_s32(vtrn1q_s32(c, d)), cd1 = vreinterpretq_s64_s32(vtrn2q_s32(c, d));
	out[0] = vreinterpretq_s32_s64(vtrn1q_s64(ab0, cd0));
	out[1] = vreinterpretq_s32_s64(vtrn1q_s64(ab1, cd1));
	out[2] = vreinterpretq_s32_s64(vtrn2q_s64(ab0, cd0));
	out[3] = vreinterpretq_s32_s64(vtrn2q_s64(ab1, cd1));
}

#endif
#endif
