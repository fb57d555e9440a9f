/* SPDX-License-Identifier: MIT
 *
 * Quantised weight formats as ggml stores them (SPEC section 3), one table row
 * per format.  Dequantisation is element-exact against ggml.
 */
#ifndef TCB_KERNELS_FORMATS_H
#define TCB_KERNELS_FORMATS_H

#include <stddef.h>
#include <stdint.h>

#include "base/util.h"

enum tcb_format_id { TCB_FORMAT_Q4_K, TCB_FORMAT_COUNT };

struct tcb_format {
	const char *name;      /* "q4_k" */
	const char *gguf_name; /* "Q4_K" */
	size_t block_values, block_bytes;
	/* BLOCKS blocks to f32 values. */
	void (*dequantize)(const void *blocks, size_t block_count, float *out);
	/* One valid random block: finite scales of the size that real weights have, every code possible. */
	void (*random_block)(struct tcb_rng *rng, void *block);
};

const struct tcb_format *tcb_format(enum tcb_format_id id);
const struct tcb_format *tcb_format_find(const char *gguf_name); /* NULL if unknown */

/* The eight 6-bit scales and mins of a Q4_K or Q5_K block from its 12 bytes. */
void tcb_k_scales(const uint8_t packed[12], uint8_t scale_out[8], uint8_t min_out[8]);

/* IEEE 754 binary16 to binary32 and back (round to nearest even), without hardware support. */
float tcb_f16_to_f32(uint16_t half);
uint16_t tcb_f32_to_f16(float value);

#endif
