/* SPDX-License-Identifier: MIT
 *
 * Quantised weight formats as ggml stores them (SPEC section 3), one row of
 * TCB_FORMAT_LIST per format.  A block is runs of values that share a scale;
 * every value is scale * code - offset, with a small integer code.
 * Dequantisation is element-exact against ggml.
 *
 * The row is all that there is to say of a format: decoding, quantising, packed
 * layouts, kernels and ops are computed from it, by where its codes lie (enum
 * tcb_codes_kind) and how its scales are written (enum tcb_scales_kind).  A
 * format of known kinds is a row; a new kind is one more case wherever kinds
 * are told apart.  Of a format whose codes follow no such rule the row is the frame,
 * and a function says the rest (formats_expand.h).
 */
#ifndef TCB_KERNELS_FORMATS_H
#define TCB_KERNELS_FORMATS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/util.h"

/* Where the codes of a block lie. */
enum tcb_codes_kind {
	TCB_CODES_BYTES,    /* a byte a code, signed */
	TCB_CODES_RUNS,     /* 16 bytes for 32 values: low nibbles the first 16, high nibbles the others */
	TCB_CODES_PAIRS,    /* 32 bytes for 64 values: low nibbles the first 32, high nibbles the others; a fifth bit of
			     * value i is bit i / 32 of byte i mod 32 of the high bits */
	TCB_CODES_QUARTERS, /* 64 bytes for 128 values: low nibbles the first 64; two high bits of value i of the 128
			     * are from bit 2 (i / 32) on of byte i mod 32 of their 32 bytes of high bits */
	TCB_CODES_EXPANDED, /* where a function of the format finds them: its kernels take blocks apart into bytes first
			     */
	/* No codes: values, each a block, but E4M3 (below). */
	TCB_CODES_F16,
	TCB_CODES_BF16,
	TCB_CODES_F32,
	TCB_CODES_E4M3 /* a byte each, with a sign, four bits exponent and three mantissa */
};

/* How the scales of a block are written. */
enum tcb_scales_kind {
	TCB_SCALES_HALF,  /* an f16 for the block */
	TCB_SCALES_K,     /* f16 d and dmin, eight scales and mins of 6 bits: tcb_k_scales() */
	TCB_SCALES_BYTES, /* f16 d and a signed byte a run */
	TCB_SCALES_POWER, /* a byte e for the block: 2^(e - 128), subnormal for e = 0 and 1 */
	TCB_SCALES_SIX,   /* f16 d and eight scales of 6 bits, less 32: in 16 bits the upper two of each, then in four
			   * bytes the lower four, that of the even run in the low ones */
	/* Of expanded codes, what d is, for test data; of others than these TCB_SCALES_HALF. */
	TCB_SCALES_MINS, /* f16 d and f16 of the offsets: what is added, or in superblocks what their mins are times */
	TCB_SCALES_SPREAD, /* an f16 d, four bits of it on top of each of four words of 16 bits */
	TCB_SCALES_E4M3,   /* four bytes, floats without a sign of four bits exponent and three mantissa */
	TCB_SCALES_FLOAT   /* an f32 for the block, of values */
};

/*
 * A row:
 *   ID, name, op     the ID is GGUF's name, the ops are op_matvec and op_matmul
 *   values, bytes    of a block
 *   run, bits        values that share a scale and an offset: 16 or 32; bits of a code as stored
 *   centre           stored as code + centre, unsigned: 8, 32; 0 where codes are stored as they are or in a table
 *   codes at, high   kind, and the first byte of the codes and of their bits beyond four
 *   scales at, d     kind, and the first byte of the scales and of what they are multiplied by
 *   size             of d in test data: values are some 1e-2, as in models of a few thousand columns
 *   table            the 16 codes that nibbles stand for, or TCB_NO_TABLE
 * Rows are apart whose MatVec has kernels of its own for x86 (struct qmv_own), and whose codes are expanded: there bits
 * are those of the largest code without its sign, the table is that of their planes (struct tcb_planes), and where codes
 * and scales lie is the function's business; Y are those that layout r16g (decode/places.h) has, too.  The last rows are
 * of values, without contract q8: as they are, each a block, and with scales.
 *
 * FP8 is E4M3 with scales in f32, as models of DeepSeek and vLLM have it: there the bytes of a matrix and its scales,
 * one for each row or for 128 x 128 values, are two arrays.  Here 128 values of a row are a block with their scale, so
 * that a row is all that a kernel reads, for 3 % more bytes, and both kinds of scales are one format; the scale stays
 * an f32, so nothing is rounded.  tcb_fp8_blocks() makes blocks of the arrays.  Rows end with whole blocks, filled up
 * with zeros where the model's K is not a multiple of 128: then activations need zeros there, too.
 */
/* clang-format off */
#define TCB_NO_TABLE { 0 }
#define TCB_MXFP4_TABLE { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 }
#define TCB_IQ4_TABLE { -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113 }
#define TCB_FORMAT_OWN_ROWS(X) \
	X(Q4_K, q4_k, q4k, 256, 144, 32, 4,  0, PAIRS,    16,   0, K,       4,   0, 1e-4, TCB_NO_TABLE)
#define TCB_FORMAT_SHARED_ROWS(X) \
	X(Q4_0, q4_0, q40,  32,  18, 32, 4,  8, RUNS,      2,   0, HALF,    0,   0, 4e-3, TCB_NO_TABLE) \
	X(Q8_0, q8_0, q80,  32,  34, 32, 8,  0, BYTES,     2,   0, HALF,    0,   0, 2.5e-4, TCB_NO_TABLE) \
	X(Q5_K, q5_k, q5k, 256, 176, 32, 5,  0, PAIRS,    48,  16, K,       4,   0, 5e-5, TCB_NO_TABLE) \
	X(Q6_K, q6_k, q6k, 256, 210, 16, 6, 32, QUARTERS,  0, 128, BYTES, 192, 208, 1.3e-5, TCB_NO_TABLE) \
	X(MXFP4, mxfp4, mxfp4, 32, 17, 32, 4, 0, RUNS,     1,   0, POWER,   0,   0, 4e-3, TCB_MXFP4_TABLE) \
	X(IQ4_XS, iq4_xs, iq4xs, 256, 136, 32, 4, 0, RUNS, 8,   0, SIX,     2,   0, 2e-5, TCB_IQ4_TABLE) \
	X(IQ4_NL, iq4_nl, iq4nl, 32, 18, 32, 4,  0, RUNS,      2,   0, HALF,    0,   0, 2e-4, TCB_IQ4_TABLE)
#define TCB_IQ3_S_TABLE { 1, 3, 5, 7, 9, 11, 13, 15, -1, -3, -5, -7, -9, -11, -13, -15 }
#define TCB_IQ3_XXS_TABLE { 4, 12, 20, 28, 36, 44, 52, 62, -4, -12, -20, -28, -36, -44, -52, -62 }
#define TCB_IQ2_TABLE { 8, 25, 43, 43, -8, -25, -43, -43, 8, 25, 43, 43, -8, -25, -43, -43 }
#define TCB_IQ1_TABLE { -7, 1, 9, 9, -9, -1, 7, 7, -7, 1, 9, 9, -9, -1, 7, 7 }
#define TCB_FORMAT_EXPANDED_WITH(X, Y) \
	X(Q5_0, q5_0, q50,  32,  22, 32, 5, 16, EXPANDED,  0,   0, HALF,    0,   0, 2e-3, TCB_NO_TABLE) \
	X(Q5_1, q5_1, q51,  32,  24, 32, 5,  0, EXPANDED,  0,   0, MINS,    0,   0, 2e-3, TCB_NO_TABLE) \
	X(Q4_1, q4_1, q41,  32,  20, 32, 4,  0, EXPANDED,  0,   0, MINS,    0,   0, 4e-3, TCB_NO_TABLE) \
	X(Q3_K, q3_k, q3k, 256, 110, 16, 3,  4, EXPANDED,  0,   0, HALF,    0, 108, 5e-4, TCB_NO_TABLE) \
	X(Q2_K, q2_k, q2k, 256,  84, 16, 2,  0, EXPANDED,  0,   0, MINS,    0,  80, 2e-3, TCB_NO_TABLE) \
	X(IQ3_S, iq3_s, iq3s, 256, 110, 32, 4, 0, EXPANDED, 0,  0, HALF,    0,   0, 1e-4, TCB_IQ3_S_TABLE) \
	Y(IQ3_XXS, iq3_xxs, iq3xxs, 256, 98, 32, 6, 0, EXPANDED, 0, 0, HALF, 0,  0, 1e-4, TCB_IQ3_XXS_TABLE) \
	X(IQ2_S, iq2_s, iq2s, 256, 82, 16, 6, 0, EXPANDED, 0,   0, HALF,    0,   0, 5e-4, TCB_IQ2_TABLE) \
	Y(IQ2_XS, iq2_xs, iq2xs, 256, 74, 16, 6, 0, EXPANDED, 0, 0, HALF,   0,   0, 5e-4, TCB_IQ2_TABLE) \
	Y(IQ2_XXS, iq2_xxs, iq2xxs, 256, 66, 32, 6, 0, EXPANDED, 0, 0, HALF, 0,  0, 5e-4, TCB_IQ2_TABLE) \
	X(IQ1_S, iq1_s, iq1s, 256, 50, 32, 4, 0, EXPANDED, 0,   0, HALF,    0,   0, 3e-3, TCB_IQ1_TABLE) \
	X(IQ1_M, iq1_m, iq1m, 256, 56, 16, 4, 0, EXPANDED, 0,   0, SPREAD,  0,  48, 3e-3, TCB_IQ1_TABLE) \
	X(NVFP4, nvfp4, nvfp4, 64, 36, 16, 4, 0, EXPANDED, 0,   0, E4M3,    0,   0, 4e-3, TCB_MXFP4_TABLE)
#define TCB_FORMAT_EXPANDED_ROWS(X) TCB_FORMAT_EXPANDED_WITH(X, X)
#define TCB_FORMAT_HALF_ROWS(X) \
	X(F16, f16, f16, 1, 2, 1, 16, 0, F16, 0, 0, HALF, 0, 0, 2e-2, TCB_NO_TABLE)
#define TCB_FORMAT_WIDE_ROWS(X) \
	X(BF16, bf16, bf16, 1, 2, 1, 16, 0, BF16, 0, 0, HALF, 0, 0, 2e-2, TCB_NO_TABLE) \
	X(F32, f32, f32, 1, 4, 1, 32, 0, F32, 0, 0, HALF, 0, 0, 2e-2, TCB_NO_TABLE)
#define TCB_FORMAT_VALUE_ROWS(X) TCB_FORMAT_HALF_ROWS(X) TCB_FORMAT_WIDE_ROWS(X)
#define TCB_FORMAT_SCALED_ROWS(X) \
	X(FP8, fp8, fp8, 128, 132, 128, 8, 0, E4M3, 4, 0, FLOAT, 0, 0, 2e-4, TCB_NO_TABLE)
#define TCB_FORMAT_FLOAT_ROWS(X) TCB_FORMAT_VALUE_ROWS(X) TCB_FORMAT_SCALED_ROWS(X)
/* Those of values whose matmuls have contract f16, since halves hold these.  Those whose codes are fields of bits, which
 * all kernels read where they lie; those with codes; those that products of experts have; and all. */
#define TCB_FORMAT_HALVES_LIST(X) TCB_FORMAT_HALF_ROWS(X) TCB_FORMAT_SCALED_ROWS(X)
#define TCB_FORMAT_FIELD_LIST(X) TCB_FORMAT_OWN_ROWS(X) TCB_FORMAT_SHARED_ROWS(X)
#define TCB_FORMAT_CODE_LIST(X) TCB_FORMAT_FIELD_LIST(X) TCB_FORMAT_EXPANDED_ROWS(X)
#define TCB_FORMAT_EXPERTS_LIST(X) TCB_FORMAT_CODE_LIST(X) TCB_FORMAT_SCALED_ROWS(X)
#define TCB_FORMAT_LIST(X) TCB_FORMAT_CODE_LIST(X) TCB_FORMAT_FLOAT_ROWS(X)
/* clang-format on */

#define TCB_FORMAT_ID(id, ...) TCB_FORMAT_##id,
enum tcb_format_id { TCB_FORMAT_LIST(TCB_FORMAT_ID) TCB_FORMAT_COUNT };
#undef TCB_FORMAT_ID
/* How many are not expanded, and how many have codes: the first. */
#define TCB_FORMAT_ONE(...) +1
enum {
	TCB_FORMAT_FIELD_COUNT = TCB_FORMAT_FIELD_LIST(TCB_FORMAT_ONE),
	TCB_FORMAT_CODE_COUNT = TCB_FORMAT_CODE_LIST(TCB_FORMAT_ONE)
};
#undef TCB_FORMAT_ONE

enum { TCB_BLOCK_VALUES_MAX = 256, TCB_BLOCK_BYTES_MAX = 210, TCB_BLOCK_RUNS_MAX = 16 };

/* One block taken apart.  Value i of run r is scale[r] * code[i] - offset[r]: scale, offset and the product are exact
 * in f32, the difference rounds once.  A value as it is is its own scale, of code 1. */
struct tcb_codes {
	_Alignas(64) int8_t code[TCB_BLOCK_VALUES_MAX];
	float scale[TCB_BLOCK_RUNS_MAX], offset[TCB_BLOCK_RUNS_MAX];
};

struct tcb_format {
	enum tcb_format_id id;
	const char *name; /* as GGUF's, in lower case */
	const char *gguf_name;
	size_t block_values, block_bytes, run_values;
	int code_bits, centre, has_offsets;
	enum tcb_codes_kind codes;
	size_t codes_at, high_at;
	enum tcb_scales_kind scales;
	size_t scales_at, d_at;
	double size;
	int8_t table[16];
};

/* A row as struct tcb_format. */
/* clang-format off */
#define TCB_FORMAT_STRUCT(id, name, op, values, bytes, run, bits, centre, codes, codes_at, high_at, scales, scales_at, \
			  d_at, size, ...)                                                                             \
	{ TCB_FORMAT_##id, #name, #id, values, bytes, run, bits, centre,                                              \
	  TCB_SCALES_##scales == TCB_SCALES_K || TCB_SCALES_##scales == TCB_SCALES_MINS,                               \
	  TCB_CODES_##codes, codes_at, high_at, TCB_SCALES_##scales, scales_at, d_at, size, __VA_ARGS__ },
/* clang-format on */

extern const struct tcb_format tcb_formats[TCB_FORMAT_COUNT];

static inline const struct tcb_format *tcb_format(enum tcb_format_id id)
{
	return &tcb_formats[id];
}

/* The same row, for kernels whose ID is a constant: here compilers see what it says. */
static inline const struct tcb_format *tcb_format_row(enum tcb_format_id id)
{
	static const struct tcb_format rows[TCB_FORMAT_COUNT] = { TCB_FORMAT_LIST(TCB_FORMAT_STRUCT) };
	return &rows[id];
}

/* Codes are TCB_CODES_QUARTERS; as comparisons of ID, which compilers fold before what they read of a row. */
static inline int tcb_has_quarters(enum tcb_format_id id)
{
#define TCB_IF_QUARTERS(id_, name, op, values, bytes, run, bits, centre, codes, ...) \
	(TCB_CODES_##codes == TCB_CODES_QUARTERS && id == TCB_FORMAT_##id_) ||
	return TCB_FORMAT_LIST(TCB_IF_QUARTERS) 0;
#undef TCB_IF_QUARTERS
}

/* Nibbles stand for codes of a table; blocks are expanded first; codes have a sign, and take a byte. */
static inline int tcb_has_table(enum tcb_format_id id)
{
	return tcb_format_row(id)->table[15] != 0;
}

static inline int tcb_is_expanded(enum tcb_format_id id)
{
	return tcb_format_row(id)->codes == TCB_CODES_EXPANDED;
}

static inline int tcb_is_float(enum tcb_format_id id)
{
	return tcb_format_row(id)->codes >= TCB_CODES_F16;
}

static inline int tcb_has_signed_codes(enum tcb_format_id id)
{
	return tcb_format_row(id)->code_bits == 8 || tcb_has_table(id);
}

/*
 * What packed layouts hold of an expanded format: few bits of each value, in planes, and scales.  A value's number is
 * low_bits of the first plane, and high_bits of the second above them; it is the code + centre, or its place in the
 * row's table.  Scales say what else there is:
 *   HALVES   an f16 d a run
 *   PAIRS    an f16 d and an f16 of what is added a run
 *   SIXES    an f16 d, six bits a run, less 32
 *   BYTES    f16 d and dmin, a byte a run: scale, and min << 4
 *   ODDS     an f16 d, four bits s a run: d factor (2 s + 1)
 *   MARKED   the same with three bits, and above them, and once more where a run is two of eight values, a mark of
 *            the values: 4 more in their numbers
 *   E4M3S    a byte a run, an E4M3 without its sign, half of which counts (codes are twice E2M1); 0x7f is 0
 */
enum tcb_planes_scales {
	TCB_PLANES_HALVES,
	TCB_PLANES_PAIRS,
	TCB_PLANES_SIXES,
	TCB_PLANES_BYTES,
	TCB_PLANES_ODDS,
	TCB_PLANES_MARKED,
	TCB_PLANES_E4M3S
};
struct tcb_planes {
	int low_bits, high_bits;
	enum tcb_planes_scales scales;
	int head_words; /* four bytes each, that the scales of 256 values take */
	float factor;
};
/* X(ID, low_bits, high_bits, scales, head words, factor) */
/* clang-format off */
#define TCB_PLANES_ROWS(X) \
	X(Q5_0,    4, 1, HALVES, 4, 1)      X(Q5_1,    4, 1, PAIRS,  8, 1)       X(Q4_1,   4, 0, PAIRS, 8, 1) \
	X(Q3_K,    2, 1, SIXES,  4, 1)      X(Q2_K,    2, 0, BYTES,  5, 1)       X(NVFP4,  4, 0, E4M3S, 4, 1) \
	X(IQ3_S,   4, 0, ODDS,   2, 1)      X(IQ3_XXS, 4, 0, ODDS,   2, 0.25f) \
	X(IQ2_S,   2, 1, ODDS,   3, 0.125f) X(IQ2_XS,  2, 1, ODDS,   3, 0.125f)  X(IQ2_XXS, 2, 1, ODDS, 2, 0.125f) \
	X(IQ1_S,   2, 0, MARKED, 2, 0.125f) X(IQ1_M,   2, 0, MARKED, 3, 0.125f)
/* clang-format on */

/* Those of an expanded format, whose ID is a constant in kernels: compilers see what they say. */
static inline const struct tcb_planes *tcb_planes_of(enum tcb_format_id id)
{
#define TCB_PLANES_STRUCT(id_, low, high, scales, head, factor) \
	[TCB_FORMAT_##id_] = { low, high, TCB_PLANES_##scales, head, factor },
	static const struct tcb_planes rows[TCB_FORMAT_CODE_COUNT] = { TCB_PLANES_ROWS(TCB_PLANES_STRUCT) };
#undef TCB_PLANES_STRUCT
	return &rows[id];
}

/* Activations that share a scale in contract q8, at most. */
static inline size_t tcb_group_values(enum tcb_format_id id)
{
	return tcb_format_row(id)->block_values < 256 ? 32 : 256;
}

/* What is added to codes so that they are unsigned. */
static inline int tcb_code_bias(enum tcb_format_id id)
{
	return tcb_has_signed_codes(id) ? 128 : tcb_format_row(id)->centre;
}

/* From one run of 32 values of a superblock of 256 to the next, where codes are TCB_CODES_RUNS. */
static inline size_t tcb_run_stride(enum tcb_format_id id)
{
	return tcb_format_row(id)->block_values == 32 ? tcb_format_row(id)->block_bytes : 16;
}

const struct tcb_format *tcb_format_find(const char *gguf_name); /* NULL if unknown */

/* Of a format with codes, or of values as they are. */
void tcb_block_decode(const struct tcb_format *format, const void *block, struct tcb_codes *out);
/* The nearest block of block_values values, finite; good enough for test data.  FORMAT's codes are fields. */
void tcb_block_quantize(const struct tcb_format *format, const float *x, void *block);
/* One valid random block: finite scales of the size that real weights have, every code possible. */
void tcb_block_random(const struct tcb_format *format, struct tcb_rng *rng, void *block);

/* Where code I of a block is, of a format of fields, or of FP8: low_bits of a byte, and above them high_bits of
 * another. */
struct tcb_code_place {
	unsigned low, low_shift, low_bits, high, high_shift, high_bits;
};
struct tcb_code_place tcb_code_place(const struct tcb_format *format, unsigned i);

/* BLOCKS blocks to f32 values. */
void tcb_dequantize(const struct tcb_format *format, const void *blocks, size_t block_count, float *out);

float tcb_power_scale(uint8_t exponent); /* 2^(EXPONENT - 128) */

/* The value of a byte of E4M3 (fn: no infinities, NaN for 0x7f and 0xff); is it a NaN? */
float tcb_e4m3_to_f32(uint8_t bits);
/* To nearest even; what is too large, infinities too, becomes the largest number, 448. */
uint8_t tcb_f32_to_e4m3(float value);
static inline int tcb_e4m3_is_nan(uint8_t bits)
{
	return (bits & 0x7f) == 0x7f;
}

/*
 * ROWS rows of K bytes of E4M3, as files have them, to blocks of FP8 at OUT, tcb_fp8_bytes() of them.  Value (r, c) has
 * the scale SCALE[r / SCALE_ROWS][c / SCALE_COLUMNS], of rows of ceil(K / SCALE_COLUMNS) scales: 128 and 128, or 1 and
 * K for one a row; the value is byte times scale (DeepSeek's weight_scale_inv).  SCALE_COLUMNS is a multiple of 128, or
 * K and more.  TCB_E_FORMAT: a byte is a NaN, of which kernels make some number.
 */
size_t tcb_fp8_bytes(size_t rows, size_t k);
enum tcb_status tcb_fp8_blocks(size_t rows, size_t k, const void *values, const float *scale, size_t scale_rows,
			       size_t scale_columns, void *out, struct tcb_error *err);
/* The eight scales of TCB_SCALES_SIX, -32 to 31, and back. */
void tcb_six_scales(const uint8_t packed[6], int8_t scale_out[8]);
void tcb_six_scales_pack(const int8_t scale[8], uint8_t packed_out[6]);

/* The eight scales and mins of TCB_SCALES_K from their 12 bytes, and back. */
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

#endif
