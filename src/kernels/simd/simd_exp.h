/* SPDX-License-Identifier: MIT
 *
 * exp in the vector operations of simd.h, once for each instruction set:
 * whichever the including file is compiled for.
 *
 * exp(x) for x <= 0: x = n ln2 + r (Cody and Waite), exp(r) times 2^n.  With
 * |r| <= ln2/2 exp(r) is a polynomial of degree 6.  AVX-512 takes 2^(1/16) instead
 * of 2: a table of 16 in a register, |r| <= ln2/32 and degree 3, which saves a
 * quarter of the multiplications.  Where arithmetic is fused ln2 is one float: what
 * it lacks is a sixteenth of what rounding x to a float has cost (SOFTMAX_EXP_DEPTH).
 * Results below 2^-126 are flushed to 0, because a subnormal number costs a
 * microcode assist of more than a hundred cycles and a row of spread values is
 * full of them.  -inf gives 0, NaN stays NaN.
 */
#ifndef TCB_KERNELS_SIMD_EXP_H
#define TCB_KERNELS_SIMD_EXP_H

#include "kernels/rows/rows_vec.h"

/* Relative minimax on |r| <= ln2/2 with 1 + r kept exact: Remez, then rounded to binary32; error 2^-28. */
#define EXP_C2 0x1.fffffcp-2f
#define EXP_C3 0x1.555492p-3f
#define EXP_C4 0x1.5558f2p-5f
#define EXP_C5 0x1.1239e2p-7f
#define EXP_C6 0x1.6a2434p-10f
#define EXP_LOG2E 0x1.715476p+0f
#define EXP_LN2_HI 0x1.63p-1f /* 9 bits: n * hi is exact without fused arithmetic */
#define EXP_LN2_LO -0x1.bd0106p-13f
#define EXP_LN2 0x1.62e43p-1f
/* Relative minimax on |r| <= ln2/32 with 1 + r kept exact; error 2^-29. */
#define EXP_D2 0x1.00022p-1f
#define EXP_D3 0x1.555556p-3f
#define EXP_LOWEST -88.0f /* exp of it is below 2^-126; n = -127 gives a power of 0 */

/* Between the two calls subnormal results and operands count as 0 (MXCSR's FTZ and DAZ). */
static inline unsigned v_flush_begin(void)
{
#if defined(__SSE2__)
	unsigned before = _mm_getcsr();
	_mm_setcsr(before | 0x8040);
	return before;
#else
	return 0;
#endif
}
static inline void v_flush_end(unsigned before)
{
#if defined(__SSE2__)
	_mm_setcsr(before);
#else
	(void)before;
#endif
}

#if LANES == 16

/* 2^(j/16) */
static const float exp_table[16] = { 0x1p+0f,        0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f,
				     0x1.306fep+0f,  0x1.3dea64p+0f, 0x1.4bfdaep+0f, 0x1.5ab07ep+0f,
				     0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f, 0x1.9c4918p+0f,
				     0x1.ae89fap+0f, 0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f };

SIMD_INLINE vfloat v_exp(vfloat x)
{
	const vfloat magic =
		v_set(0x1.8p19f); /* adding it leaves sixteenths: rounds to the nearest, count in the low bits */
	x = _mm512_max_ps(v_set(EXP_LOWEST), x); /* NaN in the second operand comes through */
	vfloat t = _mm512_fmadd_ps(x, v_set(EXP_LOG2E), magic);
	__m512i j = _mm512_castps_si512(t); /* the permutation looks at its low four bits */
	vfloat power = _mm512_permutexvar_ps(j, _mm512_loadu_ps(exp_table));
	vfloat n = _mm512_sub_ps(t, magic);
	vfloat r = _mm512_fnmadd_ps(n, v_set(EXP_LN2), x);
	vfloat p = _mm512_fmadd_ps(v_set(EXP_D3), r, v_set(EXP_D2));
	p = _mm512_fmadd_ps(p, _mm512_mul_ps(r, r), r);
	return _mm512_scalef_ps(_mm512_fmadd_ps(power, p, power), n); /* by 2^floor(n) */
}

#elif LANES > 1

SIMD_INLINE vfloat v_exp(vfloat x)
{
	x = v_max(v_set(EXP_LOWEST), x); /* NaN in the second operand comes through */
	const vfloat n = v_round(v_mul(x, v_set(EXP_LOG2E)));
	const vfloat r = v_fnma(n, v_set(EXP_LN2), x);
	vfloat p = v_fma(v_set(EXP_C6), r, v_set(EXP_C5));
	p = v_fma(p, r, v_set(EXP_C4));
	p = v_fma(p, r, v_set(EXP_C3));
	p = v_fma(p, r, v_set(EXP_C2));
	p = v_fma(p, r, v_set(1));
	p = v_fma(p, r, v_set(1));
	return v_mul(p, v_power2(n));
}

#else

SIMD_INLINE vfloat v_exp(vfloat x)
{
	const float magic = 0x1.8p23f; /* adding it leaves no fraction bits: rounds to the nearest integer */
	if (x < EXP_LOWEST)
		x = EXP_LOWEST;
	float n = (x * EXP_LOG2E + magic) - magic;
	float r = (x - n * EXP_LN2_HI) - n * EXP_LN2_LO;
	float p = EXP_C6 * r + EXP_C5;
	p = p * r + EXP_C4;
	p = p * r + EXP_C3;
	p = p * r + EXP_C2;
	p = r * r * p + r + 1;
	if (n != n)
		return n;
	uint32_t bits = (uint32_t)((int32_t)n + 127) << 23;
	float power;
	memcpy(&power, &bits, sizeof(power));
	return p * power;
}

#endif

#endif
