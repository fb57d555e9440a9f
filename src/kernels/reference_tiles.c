/* SPDX-License-Identifier: MIT
 *
 * The references' tiles for any machine, and which of the families to take.
 */
#include "kernels/reference_tiles.h"

#include <math.h>
#include <string.h>

/* Any machine: vectors of the compiler's. */
typedef double wide __attribute__((vector_size(16)));
typedef float slim __attribute__((vector_size(16)));
enum { WIDE_LANES = 2, SLIM_LANES = 4 };

static inline wide wide_load(const double *from)
{
	wide value;
	memcpy(&value, from, sizeof(value));
	return value;
}

static inline wide wide_load_size(const double *from)
{
	return (wide){ fabs(from[0]), fabs(from[1]) };
}

static inline void wide_store(double *to, wide value)
{
	memcpy(to, &value, sizeof(value));
}

static inline wide wide_spread(double value)
{
	return (wide){ value, value };
}

static inline wide wide_multiply_add(wide a, wide b, wide c)
{
	return a * b + c;
}

static inline slim slim_load(const float *from)
{
	slim value;
	memcpy(&value, from, sizeof(value));
	return value;
}

static inline void slim_store(float *to, slim value)
{
	memcpy(to, &value, sizeof(value));
}

static inline slim slim_spread(float value)
{
	return (slim){ value, value, value, value };
}

static inline slim slim_multiply_add(slim a, slim b, slim c)
{
	return a * b + c;
}

TCB_REFERENCE_TILE(tile_wide, double, wide, WIDE_LANES, 4, wide_load, wide_spread, wide_multiply_add, wide_store)
TCB_REFERENCE_TILE(tile_sizes, double, wide, WIDE_LANES, 4, wide_load_size, wide_spread, wide_multiply_add, wide_store)
TCB_REFERENCE_TILE(tile_slim, float, slim, SLIM_LANES, 4, slim_load, slim_spread, slim_multiply_add, slim_store)

const struct tcb_reference_tiles *tcb_reference_tiles(void)
{
	static const struct tcb_reference_tiles any = { tile_wide, tile_sizes, tile_slim };
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		return &tcb_reference_tiles_avx512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return &tcb_reference_tiles_avx2;
#endif
	return &any;
}
