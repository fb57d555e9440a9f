/* SPDX-License-Identifier: MIT
 *
 * The vectors of quant_matvec_vector.h for 64-bit Arm with dot products: four
 * lanes of four bytes.  Its dot product takes two signed operands, which all
 * codes fit as they are, those of q8_0 too.  Shifts by variables are written
 * with the operators of C, as the intrinsics want constants before unrolling.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_NEON_H
#define TCB_KERNELS_QUANT_MATVEC_NEON_H

#include <string.h>

#include "kernels/quant_matvec/quant_matvec_micro.h"

#if defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>

enum { LANES = 4, VECTOR_BYTES = 16 };
typedef int32x4_t vint;
typedef float32x4_t vfloat;

QMV_INLINE vint load(const void *p)
{
	return vreinterpretq_s32_u8(vld1q_u8(p));
}

QMV_INLINE vint bytes_of(int byte)
{
	return vreinterpretq_s32_u8(vdupq_n_u8((uint8_t)byte));
}

QMV_INLINE vint words_of(int32_t word)
{
	return vdupq_n_s32(word);
}

QMV_INLINE vint zero(void)
{
	return vdupq_n_s32(0);
}

/* WORD in the first lane, zeros in the others. */
QMV_INLINE vint first_word(int32_t word)
{
	return vsetq_lane_s32(word, zero(), 0);
}

QMV_INLINE vint and_bits(vint a, vint b)
{
	return vandq_s32(a, b);
}

QMV_INLINE vint xor_bits(vint a, vint b)
{
	return veorq_s32(a, b);
}

QMV_INLINE vint merge(vint a, vint b, vint mask)
{
	return vorrq_s32(a, vandq_s32(b, mask));
}

QMV_INLINE vint shift_right(vint v, int bits)
{
	return vreinterpretq_s32_u32(vreinterpretq_u32_s32(v) >> bits);
}

QMV_INLINE vint shift_left(vint v, int bits)
{
	return vreinterpretq_s32_u32(vreinterpretq_u32_s32(v) << bits);
}

QMV_INLINE vint unsigned_byte(vint v, int index)
{
	if (index == 3)
		return shift_right(v, 24);
	return vandq_s32(shift_right(v, 8 * index), vdupq_n_s32(255));
}

QMV_INLINE vint signed_byte(vint v, int index)
{
	return shift_left(v, 24 - 8 * index) >> 24;
}

QMV_INLINE vfloat to_float(vint v)
{
	return vcvtq_f32_s32(v);
}

QMV_INLINE vfloat half_of(vint v, int index)
{
	const uint16x4_t half = vmovn_u32(vreinterpretq_u32_s32(shift_right(v, 16 * index)));
	return vcvt_f32_f16(vreinterpret_f16_u16(half));
}

QMV_INLINE vfloat halves_at(const uint8_t *p)
{
	return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(p)));
}

QMV_INLINE vfloat fzero(void)
{
	return vdupq_n_f32(0);
}

QMV_INLINE vfloat fload(const float *p)
{
	return vld1q_f32(p);
}

QMV_INLINE vfloat fspread(const float *p)
{
	return vld1q_dup_f32(p);
}

QMV_INLINE vfloat mul(vfloat a, vfloat b)
{
	return vmulq_f32(a, b);
}

QMV_INLINE vfloat add(vfloat a, vfloat b)
{
	return vaddq_f32(a, b);
}

QMV_INLINE vfloat fma_add(vfloat a, vfloat b, vfloat c)
{
	return vfmaq_f32(c, a, b);
}

QMV_INLINE vfloat fma_from(vfloat a, vfloat b, vfloat c)
{
	return vfmsq_f32(c, a, b);
}

QMV_INLINE float sum_of(vfloat v)
{
	return vaddvq_f32(v);
}

QMV_INLINE vfloat fload_part(const float *p, size_t count)
{
	float part[LANES] = { 0 };
	if (count >= LANES)
		return vld1q_f32(p);
	memcpy(part, p, count * sizeof(*p));
	return vld1q_f32(part);
}

QMV_INLINE void fstore_part(float *p, size_t count, vfloat v)
{
	float part[LANES];
	if (count >= LANES) {
		vst1q_f32(p, v);
		return;
	}
	vst1q_f32(part, v);
	memcpy(p, part, count * sizeof(*p));
}

QMV_INLINE vint dot_add(vint sum, vint u, vint s)
{
	return vdotq_s32(sum, vreinterpretq_s8_s32(u), vreinterpretq_s8_s32(s));
}

QMV_INLINE vint signed_start(vint start)
{
	return vsubq_s32(start, start);
}

QMV_INLINE vint dot_add_signed(vint sum, vint w, vint s)
{
	return dot_add(sum, w, s);
}

#endif
#endif
