/* SPDX-License-Identifier: MIT
 *
 * The number formats of PTX below double: bits in, a double that holds the same
 * value out, and the way back with every rounding mode.
 *
 * A value travels as a double, which holds each value of f16, bf16, tf32, f32
 * and the 8-, 6- and 4-bit formats exactly.  Arithmetic is done in double with
 * the inexact part folded into the last bit (rounding to odd), which makes the
 * one rounding that follows the right one for any format of at most 51 bits.
 * Types and rounding modes are words of PTX: TCB_PTX_F16, TCB_PTX_RZ.
 */
#ifndef TCB_PTX_EMU_FLOAT_H
#define TCB_PTX_EMU_FLOAT_H

#include <string.h>

#include "ptx/ir/words.h"

/* Modifiers of a result. */
enum {
	TCB_PTX_FLOAT_SAT = 1,       /* .sat: clamped to [0, 1], NaN becomes 0 */
	TCB_PTX_FLOAT_SATFINITE = 2, /* .satfinite: beyond the largest finite value becomes that, NaN stays */
	TCB_PTX_FLOAT_RELU = 4,      /* .relu: below 0 becomes 0, NaN stays */
	TCB_PTX_FLOAT_FTZ = 8        /* .ftz: subnormals become 0 with their sign */
};

/* The value of BITS.  TYPE is one element: F16, BF16, TF32, F32, F64, E4M3, E5M2, E3M2, E2M3 or E2M1; the packed types
 * (F16X2, E4M3X2, ...) stand for their element.  Of tf32 the low 13 bits are ignored, as the tensor cores do. */
double tcb_ptx_float_widen(enum tcb_ptx_word type, uint64_t bits);
/* VALUE rounded once to TYPE.  ROUND: RN, RZ, RM, RP, RNA; NO_WORD means RN.  NaN becomes the format's canonical one
 * (largest finite value where there is none).  Held against an H200 for 40,000 inputs and 20 kinds of cvt; it differs
 * only in NaN through cvt.rna, where hardware keeps the upper bits. */
uint64_t tcb_ptx_float_narrow(enum tcb_ptx_word type, double value, enum tcb_ptx_word round, unsigned flags);
/* MAGNITUDE, negated or not, rounded once to TYPE: cvt from integers. */
uint64_t tcb_ptx_float_from_integer(enum tcb_ptx_word type, int negative, uint64_t magnitude, enum tcb_ptx_word round,
				    unsigned flags);
/* VALUE as an integer of type TO, sign- or zero-extended to 64 bits: clamped to its range.  FROM decides what NaN
 * becomes.  ROUND: RNI, RZI, RMI, RPI. */
uint64_t tcb_ptx_float_to_integer(enum tcb_ptx_word to, enum tcb_ptx_word from, double value, enum tcb_ptx_word round);
/* VALUE rounded to an integer that stays floating point: RNI, RZI, RMI, RPI. */
double tcb_ptx_float_integral(double value, enum tcb_ptx_word round);
/* VALUE, or 0 with its sign when it is below TYPE's least normal number: .ftz of a source. */
double tcb_ptx_float_flush(enum tcb_ptx_word type, double value);

/* One operation rounded once to TYPE (any but F64); the sources hold values of TYPE or narrower formats of at most
 * f32's range and precision. */
uint64_t tcb_ptx_float_add(enum tcb_ptx_word type, double a, double b, enum tcb_ptx_word round, unsigned flags);
uint64_t tcb_ptx_float_mul(enum tcb_ptx_word type, double a, double b, enum tcb_ptx_word round, unsigned flags);
uint64_t tcb_ptx_float_fma(enum tcb_ptx_word type, double a, double b, double c, enum tcb_ptx_word round,
			   unsigned flags);
uint64_t tcb_ptx_float_div(enum tcb_ptx_word type, double a, double b, enum tcb_ptx_word round, unsigned flags);
uint64_t tcb_ptx_float_sqrt(enum tcb_ptx_word type, double a, enum tcb_ptx_word round, unsigned flags);
/* a + b in double with the inexact part in the last bit: a sum of a few values that is rounded later. */
double tcb_ptx_float_add_odd(double a, double b);

/* --- the conversions that kernels are full of --- */

static inline float tcb_ptx_float_of_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

static inline uint32_t tcb_ptx_float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof bits);
	return bits;
}

static inline double tcb_ptx_double_of_bits(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

static inline uint64_t tcb_ptx_double_bits(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	return bits;
}

/* Exact; NaN becomes the canonical 0x7fffffff. */
static inline float tcb_ptx_f16_to_f32(uint32_t half)
{
	uint32_t magnitude = half & 0x7fff, sign = (half & 0x8000) << 16, bits;

	if (magnitude > 0x7c00)
		return tcb_ptx_float_of_bits(0x7fffffff);
	if (magnitude == 0x7c00)
		return tcb_ptx_float_of_bits(sign | 0x7f800000);
	if (magnitude >= 0x400)
		return tcb_ptx_float_of_bits(sign | ((magnitude << 13) + (112u << 23)));
	bits = tcb_ptx_float_bits((float)magnitude * 0x1p-24f);
	return tcb_ptx_float_of_bits(sign | bits);
}

/* To nearest, ties to even. */
static inline uint32_t tcb_ptx_f32_to_f16(float value)
{
	uint32_t bits = tcb_ptx_float_bits(value), magnitude = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;

	if (magnitude > 0x7f800000)
		return 0x7fff;
	if (magnitude >= 0x477ff000) /* halfway from the largest half to the next power of two */
		return sign | 0x7c00;
	if (magnitude < 0x38800000) /* 0.5 has the ulp of the least half: the sum rounds there */
		return sign | (tcb_ptx_float_bits(tcb_ptx_float_of_bits(magnitude) + 0.5f) - 0x3f000000);
	magnitude += 0xfff + (magnitude >> 13 & 1);
	return sign | (magnitude - (112u << 23)) >> 13;
}

static inline float tcb_ptx_bf16_to_f32(uint32_t bits)
{
	return tcb_ptx_float_of_bits(bits << 16);
}

/* To nearest, ties to even. */
static inline uint32_t tcb_ptx_f32_to_bf16(float value)
{
	uint32_t bits = tcb_ptx_float_bits(value);

	if ((bits & 0x7fffffff) > 0x7f800000)
		return 0x7fff;
	return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/* The least exponent of a normal number of TYPE (f16, bf16, tf32, f32, e4m3, e5m2). */
int tcb_ptx_least_exponent(enum tcb_ptx_word type);

#endif
