/* SPDX-License-Identifier: MIT
 *
 * What measure.c, measure_gpu.c and pages.c share: the data, what of it is copied, the
 * order of samples.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include <stdint.h>
#include <string.h>

#include <tcbrt.h>

/* Numbers near 1 in f32, f16 and bf16, and scales of quantised blocks that are none of the special ones. */
static inline void fill(char *at, size_t bytes, const char *type)
{
	uint32_t state = 12345;

	for (size_t i = 0; i + 4 <= bytes; i += 4) {
		uint32_t word;

		state = state * 1664525u + 1013904223u;
		word = strcmp(type, "f32") == 0 ? 0x3f000000u | (state >> 9)
						: 0x20202020u | ((state >> 3) & 0x1b1b1b1bu);
		memcpy(at + i, &word, 4);
	}
}

static inline int is_streamed(const struct tcbrt_plan_info *info, size_t operand)
{
	return info->weights < 0 || (int)operand == info->weights;
}

static inline int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

#endif
