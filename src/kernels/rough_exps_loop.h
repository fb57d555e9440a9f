/* SPDX-License-Identifier: MIT
 *
 * The loops of rough_exps.h in the compiler's vectors, for each instruction family
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
typedef int32_t rough_half __attribute__((vector_size(ROUGH_LANES * sizeof(int32_t))));

static const double ROUGH_LEAST = -700;

static float rough_largest(const float *x, size_t count)
{
	rough_narrow most = (rough_narrow){ 0 } - INFINITY;
	float largest = -INFINITY;
	size_t c = 0;
	for (; c + ROUGH_LANES <= count; c += ROUGH_LANES) {
		rough_narrow some;
		memcpy(&some, x + c, sizeof(some));
		const rough_half is_more = some > most;
		most = (rough_narrow)(((rough_half)some & is_more) | ((rough_half)most & ~is_more));
	}
	for (int lane = 0; lane < ROUGH_LANES; lane++)
		largest = fmaxf(largest, most[lane]);
	for (; c < count; c++)
		largest = fmaxf(largest, x[c]);
	return largest;
}

/* E: exp of T, which lies between ROUGH_LEAST and 0. */
static inline void rough_exp(const rough_wide *t, rough_wide *e)
{
	static const double over_factorial[ROUGH_TERMS] = { 1,         1.0 / 2,    1.0 / 6,     1.0 / 24,    1.0 / 120,
							    1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880 };
	const double shift = 0x1.8p52; /* added to k, its last bits are k */
	const rough_wide shifted = *t * 0x1.71547652b82fep0 + shift, r = *t - (shifted - shift) * 0x1.62e42fefa39efp-1;
	rough_wide value = over_factorial[ROUGH_TERMS - 1] + (rough_wide){ 0 };
	for (int i = ROUGH_TERMS - 2; i >= 0; i--)
		value = value * r + over_factorial[i];
	value = value * r + 1;
	*e = (rough_wide)((rough_whole)value + ((rough_whole)shifted << 52));
}

static inline double rough_total(const rough_wide *lanes)
{
	double total = 0;
	for (int lane = 0; lane < ROUGH_LANES; lane++)
		total += (*lanes)[lane];
	return total;
}

static struct tcb_rough_sums rough_add(const float *x, float max, const double *factor, size_t count)
{
	const rough_wide none = { 0 }, least = none + ROUGH_LEAST;
	rough_wide sum = none, sum_depth = none, by_factor = none, by_size = none, by_size_depth = none;
	size_t c = 0;
	for (; c + ROUGH_LANES <= count; c += ROUGH_LANES) {
		rough_narrow some;
		rough_wide factors;
		memcpy(&some, x + c, sizeof(some));
		memcpy(&factors, factor + c, sizeof(factors));
		const rough_wide t = __builtin_convertvector(some, rough_wide) - (double)max;
		const rough_whole is_deep = t < least;
		const rough_wide near = (rough_wide)(((rough_whole)t & ~is_deep) | ((rough_whole)least & is_deep));
		rough_wide e;
		rough_exp(&near, &e);
		const rough_wide size = (rough_wide)((rough_whole)factors & INT64_MAX), e_depth = e * -t;
		sum += e;
		sum_depth += e_depth;
		by_factor += factors * e;
		by_size += size * e;
		by_size_depth += size * e_depth;
	}
	struct tcb_rough_sums out = { rough_total(&sum), rough_total(&sum_depth), rough_total(&by_factor),
				      rough_total(&by_size), rough_total(&by_size_depth) };
	for (; c < count; c++) {
		const double depth = (double)max - (double)x[c], e = exp(fmax(-depth, ROUGH_LEAST));
		out.e += e;
		out.e_depth += e * depth;
		out.factor_e += factor[c] * e;
		out.size_e += fabs(factor[c]) * e;
		out.size_e_depth += fabs(factor[c]) * e * depth;
	}
	return out;
}

#endif
