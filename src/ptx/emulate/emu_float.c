/* SPDX-License-Identifier: MIT
 *
 * The number formats of PTX below double.  One table row describes a format;
 * widening reads its bits, pack() makes them from a sign, a 64-bit significand
 * and a power of two.  The facts are from
 * the PTX ISA manual 9.0, sections 5.2.3 and 9.7.9.21 (cvt); rounding to odd is
 * from Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved
 * algorithms using rounding to odd", 2008.
 */
#include <assert.h>
#include <math.h>

#include "ptx/emulate/emu_float.h"

struct format {
	int exponent_bits, mantissa_bits;
	int dropped;            /* bits of the container below the mantissa: tf32 sits in the high bits of 32 */
	uint64_t finite;        /* the largest finite number, without its sign */
	uint64_t infinity, nan; /* 0: there is none */
};

enum { FORMAT_NONE, FORMAT_F64, FORMAT_F32, FORMAT_TF32, FORMAT_F16, FORMAT_BF16 };
enum { FORMAT_E5M2 = FORMAT_BF16 + 1, FORMAT_E4M3, FORMAT_E3M2, FORMAT_E2M3, FORMAT_E2M1 };

static const struct format formats[] = {
	[FORMAT_F64] = { 11, 52, 0, 0x7fefffffffffffff, 0x7ff0000000000000, 0x7fffffffffffffff },
	[FORMAT_F32] = { 8, 23, 0, 0x7f7fffff, 0x7f800000, 0x7fffffff },
	[FORMAT_TF32] = { 8, 10, 13, 0x3fbff, 0x3fc00, 0x3ffff },
	[FORMAT_F16] = { 5, 10, 0, 0x7bff, 0x7c00, 0x7fff },
	[FORMAT_BF16] = { 8, 7, 0, 0x7f7f, 0x7f80, 0x7fff },
	[FORMAT_E5M2] = { 5, 2, 0, 0x7b, 0x7c, 0x7f },
	[FORMAT_E4M3] = { 4, 3, 0, 0x7e, 0, 0x7f },
	[FORMAT_E3M2] = { 3, 2, 0, 0x1f, 0, 0 },
	[FORMAT_E2M3] = { 2, 3, 0, 0x1f, 0, 0 },
	[FORMAT_E2M1] = { 2, 1, 0, 0x7, 0, 0 },
};

static const struct format *format_of(enum tcb_ptx_word type)
{
	static const uint8_t of_type[TCB_PTX_TYPE_END] = {
		[TCB_PTX_F64] = FORMAT_F64,     [TCB_PTX_TF32] = FORMAT_TF32,   [TCB_PTX_F32] = FORMAT_F32,
		[TCB_PTX_F32X2] = FORMAT_F32,   [TCB_PTX_F16] = FORMAT_F16,     [TCB_PTX_F16X2] = FORMAT_F16,
		[TCB_PTX_BF16] = FORMAT_BF16,   [TCB_PTX_BF16X2] = FORMAT_BF16, [TCB_PTX_E5M2] = FORMAT_E5M2,
		[TCB_PTX_E5M2X2] = FORMAT_E5M2, [TCB_PTX_E4M3] = FORMAT_E4M3,   [TCB_PTX_E4M3X2] = FORMAT_E4M3,
		[TCB_PTX_E3M2] = FORMAT_E3M2,   [TCB_PTX_E3M2X2] = FORMAT_E3M2, [TCB_PTX_E2M3] = FORMAT_E2M3,
		[TCB_PTX_E2M3X2] = FORMAT_E2M3, [TCB_PTX_E2M1] = FORMAT_E2M1,   [TCB_PTX_E2M1X2] = FORMAT_E2M1,
	};
	unsigned format = type < TCB_PTX_TYPE_END ? of_type[type] : FORMAT_NONE;

	assert(format != FORMAT_NONE);
	return &formats[format ? format : FORMAT_F32];
}

static int bias_of(const struct format *f)
{
	return (1 << (f->exponent_bits - 1)) - 1;
}

double tcb_ptx_float_widen(enum tcb_ptx_word type, uint64_t bits)
{
	const struct format *f = format_of(type);
	int sign_at = f->exponent_bits + f->mantissa_bits, exponent;
	uint64_t magnitude, mantissa;
	double value;

	if (type == TCB_PTX_F32)
		return (double)tcb_ptx_float_of_bits((uint32_t)bits);
	if (type == TCB_PTX_F64)
		return tcb_ptx_double_of_bits(bits);
	bits >>= f->dropped;
	magnitude = bits & ((1ull << sign_at) - 1);
	mantissa = magnitude & ((1ull << f->mantissa_bits) - 1);
	exponent = (int)(magnitude >> f->mantissa_bits);
	if (f->infinity ? magnitude > f->infinity : f->nan && magnitude == f->nan)
		return (double)NAN;
	if (f->infinity && magnitude == f->infinity)
		value = (double)INFINITY;
	else if (exponent)
		value = tcb_ptx_double_of_bits((uint64_t)(exponent - bias_of(f) + 1023) << 52 |
					       mantissa << (52 - f->mantissa_bits));
	else
		value = (double)mantissa *
			tcb_ptx_double_of_bits((uint64_t)(1024 - bias_of(f) - f->mantissa_bits) << 52);
	return bits >> sign_at & 1 ? -value : value;
}

/* Whether a number cut off at KEPT goes up; HALF: the first bit cut off, REST: whether anything is below it. */
static int goes_up(enum tcb_ptx_word round, int negative, uint64_t kept, int half, int rest)
{
	switch (round) {
	case TCB_PTX_RZ:
		return 0;
	case TCB_PTX_RM:
		return negative && (half || rest);
	case TCB_PTX_RP:
		return !negative && (half || rest);
	case TCB_PTX_RNA:
		return half;
	default:
		return half && (rest || (kept & 1));
	}
}

static uint64_t overflowed(const struct format *f, int negative, enum tcb_ptx_word round, unsigned flags)
{
	if ((flags & TCB_PTX_FLOAT_SATFINITE) || !f->infinity || round == TCB_PTX_RZ ||
	    (round == TCB_PTX_RM && !negative) || (round == TCB_PTX_RP && negative))
		return f->finite;
	return f->infinity;
}

/* Bits of SIGNIFICAND * 2^EXPONENT, which is below the least normal number by itself: with .ftz that number when
 * rounding to full precision makes it (as an H200 does), else 0. */
static uint64_t pack_tiny(const struct format *f, int negative, uint64_t significand, int top, int exponent,
			  enum tcb_ptx_word round)
{
	int shift = top - f->mantissa_bits - exponent;
	uint64_t kept, rest;

	if (top != -bias_of(f) || shift <= 0)
		return 0;
	kept = significand >> shift;
	rest = significand & ((1ull << (shift - 1)) - 1);
	kept += (uint64_t)goes_up(round, negative, kept, (int)(significand >> (shift - 1) & 1), rest != 0);
	return kept >> (f->mantissa_bits + 1) ? 1ull << f->mantissa_bits : 0;
}

/* Bits of SIGNIFICAND * 2^EXPONENT. */
static uint64_t pack(const struct format *f, int negative, uint64_t significand, int exponent, enum tcb_ptx_word round,
		     unsigned flags)
{
	uint64_t kept = 0, sign = (uint64_t)negative << (f->exponent_bits + f->mantissa_bits);
	int least = 1 - bias_of(f), top, shift, half = 0, rest = 0;

	if (!significand)
		return sign << f->dropped;
	top = 63 - __builtin_clzll(significand) + exponent;
	if (top < least && (flags & TCB_PTX_FLOAT_FTZ))
		return (sign | pack_tiny(f, negative, significand, top, exponent, round)) << f->dropped;
	if (top < least)
		top = least;
	shift = top - f->mantissa_bits - exponent; /* bits below the last one that fits */
	if (shift <= 0) {
		kept = significand << -shift;
	} else if (shift > 64) {
		rest = 1;
	} else {
		kept = shift < 64 ? significand >> shift : 0;
		half = (int)(significand >> (shift - 1) & 1);
		rest = (significand & ((1ull << (shift - 1)) - 1)) != 0;
	}
	kept += (uint64_t)goes_up(round, negative, kept, half, rest);
	/* a carry out of the mantissa is the next exponent's zero mantissa */
	kept += (uint64_t)(top - least) << f->mantissa_bits;
	if (kept > f->finite)
		kept = overflowed(f, negative, round, flags);
	return (sign | kept) << f->dropped;
}

uint64_t tcb_ptx_float_narrow(enum tcb_ptx_word type, double value, enum tcb_ptx_word round, unsigned flags)
{
	const struct format *f = format_of(type);
	uint64_t bits, mantissa;
	int negative, exponent;

	if ((flags & TCB_PTX_FLOAT_SAT) && !(value > 0))
		value = 0; /* also NaN */
	if ((flags & TCB_PTX_FLOAT_SAT) && value > 1)
		value = 1;
	if (isnan(value))
		return (f->nan ? f->nan : f->finite) << f->dropped;
	if ((flags & TCB_PTX_FLOAT_RELU) && !(value > 0))
		value = 0;
	bits = tcb_ptx_double_bits(value);
	negative = (int)(bits >> 63);
	mantissa = bits & 0xfffffffffffff;
	exponent = (int)(bits >> 52 & 0x7ff);
	if (exponent == 0x7ff) {
		uint64_t magnitude = (flags & TCB_PTX_FLOAT_SATFINITE) || !f->infinity ? f->finite : f->infinity;

		return ((uint64_t)negative << (f->exponent_bits + f->mantissa_bits) | magnitude) << f->dropped;
	}
	if (exponent)
		mantissa |= 1ull << 52;
	else
		exponent = 1;
	return pack(f, negative, mantissa, exponent - 1023 - 52, round, flags);
}

uint64_t tcb_ptx_float_from_integer(enum tcb_ptx_word type, int negative, uint64_t magnitude, enum tcb_ptx_word round,
				    unsigned flags)
{
	if ((flags & TCB_PTX_FLOAT_SAT) && magnitude)
		magnitude = !negative;
	if (!magnitude || ((flags & TCB_PTX_FLOAT_RELU) && negative))
		return 0;
	return pack(format_of(type), negative, magnitude, 0, round, flags);
}

double tcb_ptx_float_integral(double value, enum tcb_ptx_word round)
{
	switch (round) {
	case TCB_PTX_RZI:
	case TCB_PTX_RZ:
		return trunc(value);
	case TCB_PTX_RMI:
	case TCB_PTX_RM:
		return floor(value);
	case TCB_PTX_RPI:
	case TCB_PTX_RP:
		return ceil(value);
	default:
		return rint(value); /* the host runs in its default mode, to nearest even */
	}
}

uint64_t tcb_ptx_float_to_integer(enum tcb_ptx_word to, enum tcb_ptx_word from, double value, enum tcb_ptx_word round)
{
	unsigned bits = tcb_ptx_type_bits(to);
	int is_signed = tcb_ptx_type_class(to) == TCB_PTX_CLASS_SINT;
	double limit = tcb_ptx_double_of_bits((uint64_t)(1023 + bits - (unsigned)is_signed)
					      << 52); /* first that is too large */

	if (isnan(value)) {
		if (from != TCB_PTX_F64 && bits < 64)
			return 0;
		return is_signed ? ~0ull << (bits - 1) : 1ull << (bits - 1);
	}
	value = tcb_ptx_float_integral(value, round);
	if (value >= limit)
		return ~0ull >> (64 - bits + (unsigned)is_signed);
	if (!is_signed)
		return value > 0 ? (uint64_t)value : 0;
	return value < -limit ? ~0ull << (bits - 1) : (uint64_t)(int64_t)value;
}

double tcb_ptx_float_flush(enum tcb_ptx_word type, double value)
{
	double least = tcb_ptx_double_of_bits((uint64_t)(1 - bias_of(format_of(type)) + 1023) << 52);

	return fabs(value) < least ? copysign(0, value) : value;
}

/* SUM with the sign of ERROR, what it lacks, folded into its last bit. */
static double to_odd(double sum, double error)
{
	uint64_t bits = tcb_ptx_double_bits(sum);

	if (error == 0 || !isfinite(sum) || (bits & 1))
		return sum;
	/* the truth is beyond SUM: one bit more in magnitude; or before it: one less, odd because SUM is even */
	return tcb_ptx_double_of_bits((error > 0) == (sum > 0) ? bits | 1 : bits - 1);
}

double tcb_ptx_float_add_odd(double a, double b)
{
	double sum = a + b, back = sum - a;

	if (!isfinite(sum))
		return sum;
	return to_odd(sum, (a - (sum - back)) + (b - back)); /* Knuth's TwoSum: the error is exact */
}

uint64_t tcb_ptx_float_add(enum tcb_ptx_word type, double a, double b, enum tcb_ptx_word round, unsigned flags)
{
	double sum = tcb_ptx_float_add_odd(a, b);

	if (sum == 0 && round == TCB_PTX_RM && (signbit(a) || signbit(b)))
		sum = -0.0;
	return tcb_ptx_float_narrow(type, sum, round, flags);
}

uint64_t tcb_ptx_float_mul(enum tcb_ptx_word type, double a, double b, enum tcb_ptx_word round, unsigned flags)
{
	return tcb_ptx_float_narrow(type, a * b, round, flags); /* 24 by 24 bits: exact */
}

uint64_t tcb_ptx_float_fma(enum tcb_ptx_word type, double a, double b, double c, enum tcb_ptx_word round,
			   unsigned flags)
{
	return tcb_ptx_float_add(type, a * b, c, round, flags);
}

uint64_t tcb_ptx_float_div(enum tcb_ptx_word type, double a, double b, enum tcb_ptx_word round, unsigned flags)
{
	double quotient = a / b, left;

	if (isfinite(quotient) && quotient != 0 && isfinite(b)) {
		left = fma(-quotient, b, a); /* exact: a remainder */
		quotient = to_odd(quotient, signbit(b) ? -left : left);
	}
	return tcb_ptx_float_narrow(type, quotient, round, flags);
}

uint64_t tcb_ptx_float_sqrt(enum tcb_ptx_word type, double a, enum tcb_ptx_word round, unsigned flags)
{
	double root = sqrt(a);

	if (isfinite(root) && root != 0)
		root = to_odd(root, fma(-root, root, a));
	return tcb_ptx_float_narrow(type, root, round, flags);
}

int tcb_ptx_least_exponent(enum tcb_ptx_word type)
{
	switch (type) {
	case TCB_PTX_F16:
	case TCB_PTX_E5M2:
		return -14;
	case TCB_PTX_E4M3:
		return -6;
	default:
		return -126;
	}
}
