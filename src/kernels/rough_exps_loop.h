/* SPDX-License-Identifier: MIT
 *
 * The loop of rough_exps.h in the compiler's vectors, for each instruction family
 * once: exp(t) = 2^k exp(t - k ln 2), the second factor by its Taylor series, whose
 * first term left out is less than 10^-11 of it.
 */
#ifndef TCB_KERNELS_ROUGH_EXPS_LOOP_H
#define TCB_KERNELS_ROUGH_EXPS_LOOP_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/rough_exps.h"

enum { ROUGH_LANES = 8, ROUGH_TERMS = 9 };

typedef double rough_wide __attribute__((vector_size(ROUGH_LANES * sizeof(double))));
typedef int64_t rough_whole __attribute__((vector_size(ROUGH_LANES * sizeof(int64_t))));
typedef float rough_narrow __attribute__((vector_size(ROUGH_LANES * sizeof(float))));

static inline void rough_exps(const float *x, float max, size_t count, double *e, double sums[2])
{
	/* 1.5 2^52: added to k, its last bits are k. */
	const double shift = 0x1.8p52, per_ln2 = 0x1.71547652b82fep0, ln2 = 0x1.62e42fefa39efp-1, least = -700;
	static const double over_factorial[ROUGH_TERMS] = { 1,         1.0 / 2,    1.0 / 6,     1.0 / 24,    1.0 / 120,
							    1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880 };
	rough_wide sum = { 0 }, weighted = { 0 };
	size_t c = 0;
	for (; c + ROUGH_LANES <= count; c += ROUGH_LANES) {
		rough_narrow some;
		memcpy(&some, x + c, sizeof(some));
		const rough_wide depth = (double)max - __builtin_convertvector(some, rough_wide);
		const rough_whole is_deep = -depth < least;
		const rough_wide t = (rough_wide)(((rough_whole)-depth & ~is_deep) |
						  ((rough_whole)(least + (rough_wide){ 0 }) & is_deep));
		const rough_wide shifted = t * per_ln2 + shift, r = t - (shifted - shift) * ln2;
		rough_wide value = over_factorial[ROUGH_TERMS - 1] + (rough_wide){ 0 };
		for (int i = ROUGH_TERMS - 2; i >= 0; i--)
			value = value * r + over_factorial[i];
		value = value * r + 1;
		value = (rough_wide)((rough_whole)value + ((rough_whole)shifted << 52));
		memcpy(e + c, &value, sizeof(value));
		sum += value;
		weighted += value * depth;
	}
	for (int lane = 0; lane < ROUGH_LANES; lane++) {
		sums[0] += sum[lane];
		sums[1] += weighted[lane];
	}
	for (; c < count; c++) {
		const double depth = (double)max - (double)x[c];
		e[c] = exp(fmax(-depth, least));
		sums[0] += e[c];
		sums[1] += e[c] * depth;
	}
}

#endif
