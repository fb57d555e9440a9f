/* SPDX-License-Identifier: MIT
 *
 * Products of tiles of bf16 (amx_tiles.h) as functions, by plain C and by the processor.
 */
#ifndef TCB_TESTS_KERNELS_BF16_TILES_H
#define TCB_TESTS_KERNELS_BF16_TILES_H

#include <stddef.h>
#include <stdint.h>

struct bf16_tiles {
	/* SUMS [micro_m][stride] = its values or 0, plus LEFT [micro_m][left_stride] times RIGHT, lines of pairs as
	 * amx_packed has them; strides in values. */
	void (*run)(int micro_m, int micro_n, size_t steps, const uint16_t *left, size_t left_stride,
		    const uint16_t *right, int accumulate, float *sums, size_t stride);
};
extern const struct bf16_tiles bf16_tiles_in_c;
extern const struct bf16_tiles bf16_tiles_of_processor; /* x86: needs AMX */

#endif
