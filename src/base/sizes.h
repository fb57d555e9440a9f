/* SPDX-License-Identifier: MIT
 *
 * Arithmetic of sizes and counts that everybody needs: none of it overflows
 * for counts of things in memory.
 */
#ifndef TCB_BASE_SIZES_H
#define TCB_BASE_SIZES_H

#include <stddef.h>
#include <stdint.h>

static inline size_t tcb_least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static inline size_t tcb_most(size_t a, size_t b)
{
	return a > b ? a : b;
}

static inline size_t tcb_div_up(size_t a, size_t b)
{
	return a / b + (a % b != 0);
}

/* The least multiple of STEP that is VALUE or more; VALUE itself for a step of 0. */
static inline size_t tcb_round_up(size_t value, size_t step)
{
	return step ? tcb_div_up(value, step) * step : value;
}

static inline int tcb_is_power_of_two(size_t value)
{
	return value && (value & (value - 1)) == 0;
}

/* The least power of two that is VALUE or more; the largest that there is, if none is. */
static inline size_t tcb_power_of_two_up(size_t value)
{
	size_t power = 1;
	while (power < value && power <= SIZE_MAX / 2)
		power *= 2;
	return power;
}

/* Doublings that take 1 to VALUE or more. */
static inline unsigned tcb_log2_up(size_t value)
{
	unsigned log = 0;
	while (log < 63 && ((size_t)1 << log) < value)
		log++;
	return log;
}

#endif
