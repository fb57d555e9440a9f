/* SPDX-License-Identifier: MIT
 *
 * Quantised weight formats as ggml stores them (SPEC section 3), one table row
 * per format.  A block is runs of values that share a scale; every value is
 * scale * code - offset, with a small integer code.  Dequantisation is
 * element-exact against ggml.
 */
#ifndef TCB_KERNELS_FORMATS_H
#define TCB_KERNELS_FORMATS_H

#include <stddef.h>
#include <stdint.h>

#include "base/util.h"

enum tcb_format_id {
	TCB_FORMAT_Q4_0,
	TCB_FORMAT_Q8_0,
	TCB_FORMAT_Q4_K,
	TCB_FORMAT_Q5_K,
	TCB_FORMAT_Q6_K,
	TCB_FORMAT_COUNT
};

enum { TCB_BLOCK_VALUES_MAX = 256, TCB_BLOCK_BYTES_MAX = 210, TCB_BLOCK_RUNS_MAX = 16 };

/* One block taken apart.  Value i of run r is scale[r] * code[i] - offset[r]: scale, offset and the product are exact
 * in f32, the difference rounds once. */
struct tcb_codes {
	int8_t code[TCB_BLOCK_VALUES_MAX];
	float scale[TCB_BLOCK_RUNS_MAX], offset[TCB_BLOCK_RUNS_MAX];
};

struct tcb_format {
	enum tcb_format_id id;
	const char *name;      /* "q4_k" */
	const char *gguf_name; /* "Q4_K" */
	size_t block_values, block_bytes;
	size_t run_values; /* values that share a scale and an offset: 16 or 32 */
	int centre;        /* stored as code + centre, unsigned: 8, 32; 0 where codes are stored as they are */
	int has_offsets;
	int code_bits;
	void (*decode)(const void *block, struct tcb_codes *out);
	/* formats_quantize.c: the nearest block of block_values values, finite; good enough for test data. */
	void (*quantize)(const float *x, void *block);
	/* One valid random block: finite scales of the size that real weights have, every code possible. */
	void (*random_block)(struct tcb_rng *rng, void *block);
};

const struct tcb_format *tcb_format(enum tcb_format_id id);
const struct tcb_format *tcb_format_find(const char *gguf_name); /* NULL if unknown */

/* BLOCKS blocks to f32 values. */
void tcb_dequantize(const struct tcb_format *format, const void *blocks, size_t block_count, float *out);

/* The eight 6-bit scales and mins of a Q4_K or Q5_K block from its 12 bytes, and back. */
void tcb_k_scales(const uint8_t packed[12], uint8_t scale_out[8], uint8_t min_out[8]);
void tcb_k_scales_pack(const uint8_t scale[8], const uint8_t min[8], uint8_t packed_out[12]);

/* IEEE 754 binary16 to binary32 and back (round to nearest even), without hardware support. */
float tcb_f16_to_f32(uint16_t half);
uint16_t tcb_f32_to_f16(float value);
/* bfloat16: the upper half of a binary32, likewise. */
float tcb_bf16_to_f32(uint16_t bits);
uint16_t tcb_f32_to_bf16(float value);

/* The same at an address of any alignment, little-endian. */
float tcb_f16_load(const void *bytes);
void tcb_f16_store(float value, void *bytes);

/* formats_quantize.c */
void tcb_q4_0_quantize(const float *x, void *block);
void tcb_q8_0_quantize(const float *x, void *block);
void tcb_q4_k_quantize(const float *x, void *block);
void tcb_q5_k_quantize(const float *x, void *block);
void tcb_q6_k_quantize(const float *x, void *block);

#endif
