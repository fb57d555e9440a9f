/* SPDX-License-Identifier: MIT
 *
 * Private to the q4k_matvec op: the micro-kernel's contract, the packed
 * layouts and the quantised activations.
 *
 * y[m][n] = sum over k of x[m][k] * w[n][k], w stored as N rows of K/256 Q4_K
 * blocks of 144 bytes.
 *
 * The geometry drives the loops (q4k_matvec.c):
 *   macro 1 x n x K   rows that one thread takes in one piece (static share)
 *   midi  1 x n x k   one task: rows x k-block; k < K: partial sums are added to y, k-block outermost
 *   micro 1 x n x 256*... rows of one micro-kernel call, which runs along the whole midi k
 * A micro-kernel call covers micro.n rows (native) or one row group (interleaved; micro.n is the group's size).
 */
#ifndef TCB_KERNELS_Q4K_MATVEC_H
#define TCB_KERNELS_Q4K_MATVEC_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/op.h"

enum { Q4K_BLOCK_VALUES = 256, Q4K_BLOCK_BYTES = 144 };

/* One micro-kernel call. */
struct q4k_call {
	const uint8_t *weights; /* first block of the span of the first row (native) or of the row group */
	size_t row_bytes;       /* native: from a row to the next; interleaved: from a row group to the next */
	const void *x;          /* prepared activations of the span: struct q4k_x32 or struct q4k_x8 blocks */
	size_t blocks;          /* Q4_K blocks along k, >= 1 */
	size_t rows;            /* rows to compute and write, 1 to micro.n; fewer only at the edge */
	float *y;               /* y[0 .. rows) */
	int accumulate;         /* add to y instead of writing it */
	size_t prefetch;        /* bytes ahead, 0 for none */
	enum tcb_hint hint;     /* which cache level to prefetch to */
	size_t next_bytes;      /* from the first row (group) of this call to that of the next call of the task, so that
				   prefetching can run on past the end of the rows; 0 on the last */
};
typedef void q4k_micro_fn(const struct q4k_call *call);

/*
 * 256 activations quantised to 8 bits for contract q8, 16-byte aligned: x[i] ~ d * q[i], d = max|x| / 127 (0 for a
 * block of zeros), q rounded to nearest even; sums[j] = sum of the 32 codes q[32 j ...] for the mins.
 */
struct q4k_x8 {
	int8_t q[256];
	int32_t sums[8];
	float d;
	float pad[7];
};

/* q4k_matvec_quantize_<isa>.c: K/256 blocks from K floats, K a multiple of 256; all give the same bits. */
void q4k_quantize_scalar(const float *x, size_t blocks, struct q4k_x8 *out);
void q4k_quantize_avx2(const float *x, size_t blocks, struct q4k_x8 *out);
void q4k_quantize_avx512(const float *x, size_t blocks, struct q4k_x8 *out);

/*
 * 256 activations for contract f32, 64-byte aligned, in the order in which the codes of a native block come out of
 * 64-byte vectors of 16 words: value 128 g + 64 p + 32 h + 4 w + b (vector g, half p of its words, nibble h, word w
 * of that half, byte b of the word) is x[128 g + 64 h + 16 b + 8 p + w].
 * sums[j] = sum of the 32 activations of sub-block j for the mins, its additions in a fixed order.
 */
struct q4k_x32 {
	float x[256];
	float sums[8];
	float pad[8];
};

/* Where activation K of a block, 0 to 255, is in struct q4k_x32. */
static inline unsigned q4k_x32_index(unsigned k)
{
	return (k & 128) + ((k & 32) << 1) + ((k & 3) << 4) + ((k & 64) >> 3) + ((k & 28) >> 2);
}

/* q4k_matvec_f32_<isa>.c: K/256 blocks from K floats, K a multiple of 256; all give the same bits. */
void q4k_prepare_scalar(const float *x, size_t blocks, struct q4k_x32 *out);
void q4k_prepare_avx2(const float *x, size_t blocks, struct q4k_x32 *out);
void q4k_prepare_avx512(const float *x, size_t blocks, struct q4k_x32 *out);

/* q4k_matvec_reference.c */
void q4k_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out);
void q4k_exact(const struct tcb_plan *plan, void *const operand[], float *y);

/* q4k_matvec_pack.c: whole matrices; N is padded up to the group with zero blocks in the packed copy. */
size_t q4k_packed_bytes(enum tcb_layout layout, size_t n, size_t k);
size_t q4k_layout_rows(enum tcb_layout layout); /* rows in a group; 1 for native */
void q4k_pack(enum tcb_layout layout, size_t n, size_t k, const void *weights, void *packed);
void q4k_unpack(enum tcb_layout layout, size_t n, size_t k, const void *packed, void *weights);

/* Each variant file ends in its table (a row without a name is the last); q4k_matvec.c lists them. */
extern const struct tcb_variant q4k_variants_f32_scalar[];
extern const struct tcb_variant q4k_variants_f32_avx2[];
extern const struct tcb_variant q4k_variants_f32_avx512[];
extern const struct tcb_variant q4k_variants_q8_scalar[];
extern const struct tcb_variant q4k_variants_q8_avx2[];
extern const struct tcb_variant q4k_variants_q8_avx512[];
extern const struct tcb_variant q4k_variants_q8_avx512vnni[];

#endif
