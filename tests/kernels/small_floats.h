/* SPDX-License-Identifier: MIT
 *
 * What halves, bytes of E4M3 and blocks of FP8 (kernels/formats.h) are, from their
 * definition.
 */
#ifndef TCB_TESTS_SMALL_FLOATS_H
#define TCB_TESTS_SMALL_FLOATS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline double half_value(unsigned half)
{
	int exponent = (half >> 10) & 31;
	double mantissa = half & 1023, sign = half & 0x8000 ? -1 : 1;
	if (exponent == 31)
		return mantissa != 0 ? NAN : sign * INFINITY;
	return sign * (exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24));
}

/* 0x7f and 0xff are NaNs. */
static inline double e4m3_value(unsigned bits)
{
	const unsigned exponent = bits >> 3 & 15, mantissa = bits & 7;
	const double sign = bits & 0x80 ? -1 : 1;
	if (exponent == 15 && mantissa == 7)
		return NAN;
	return sign * (exponent ? ldexp(8 + mantissa, (int)exponent - 10) : ldexp(mantissa, -9));
}

/* Four and 24 bits: the product is exact in double, and rounds once. */
static inline float fp8_value(const uint8_t *block, unsigned i)
{
	float scale;
	memcpy(&scale, block, sizeof(scale));
	return (float)((double)scale * e4m3_value(block[4 + i]));
}

#endif
