/* SPDX-License-Identifier: MIT
 *
 * Private to the ops qXX_matvec: the micro-kernel's contract, the packed
 * layouts and the prepared activations.
 *
 * y[m][n] = sum over k of x[m][k] * w[n][k], w stored as N rows of quantised
 * blocks (kernels/quant.h).  K is walked in superblocks of 256 values whatever
 * the format: one block of a K-quant, eight of 32 values.
 *
 * The geometry drives the loops (quant_matvec.c):
 *   macro 1 x n x K   rows that one thread takes in one piece (static share)
 *   midi  1 x n x k   one task: rows x k-block; k < K: partial sums are added to y, k-block outermost
 *   micro 1 x n x block   rows of one micro-kernel call, which runs along the whole midi k
 * A micro-kernel call covers micro.n rows (native) or one row group (interleaved; micro.n is the group's size).
 *
 * On x86 and in scalar code Q4_K has kernels of its own (q4k_matvec_*.c); those of the other formats, and all on Arm,
 * are one for all of them (quant_matvec_native.h, quant_matvec_lines.h).
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_LAYOUT_H
#define TCB_KERNELS_QUANT_MATVEC_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/quant_lines.h"

enum { Q4K_BLOCK_VALUES = 256, Q4K_BLOCK_BYTES = 144 };

/* One micro-kernel call. */
struct qmv_call {
	const uint8_t *weights; /* first block of the span of the first row (native) or of the row group */
	size_t row_bytes;       /* native: from a row to the next; interleaved: from a row group to the next */
	const void *x;          /* prepared activations of the span, a struct for each superblock */
	size_t blocks;          /* superblocks along k, >= 1 */
	size_t values;          /* that they hold: the last may be shorter than 256 */
	size_t rows;            /* rows to compute and write, 1 to micro.n; fewer only at the edge */
	float *y;               /* y[0 .. rows) */
	int accumulate;         /* add to y instead of writing it */
	size_t prefetch;        /* bytes ahead, 0 for none */
	enum tcb_hint hint;     /* which cache level to prefetch to */
	size_t next_bytes;      /* from the first row (group) of this call to that of the next call of the thread, so
				   that prefetching can run on past the end of the rows; 0 on the last */
};
typedef void qmv_micro_fn(const struct qmv_call *call);

/*
 * 256 activations quantised to 8 bits for contract q8: x[i] ~ d * code, d = max|x| / 127, code = x * (127 / max)
 * rounded to nearest even.  A block whose max is below 127 * 2^-126 counts as zeros (d = 0); a block that holds a NaN
 * or an infinity gets d = NaN and codes 0, so that every output it touches is NaN.
 *
 * The runs of 32 codes lie in the order 0 2 1 3 4 6 5 7 (q4k_x8_run): 64 bytes then match the low, or the high,
 * nibbles of 64 bytes of a Q4_K block.  sums[j] is the sum of run j's codes, for the mins, natural order;
 * sums[j] == 64 * sums_high[j] + sums_low[j], -32 <= sums_low < 32, for byte dot products.
 */
struct q4k_x8 {
	_Alignas(64) int8_t q[256];
	int16_t sums[8];
	int8_t sums_high[8], sums_low[8];
	float d;
	float pad[7];
};
/* Where run J of 32 codes lies in q, counted in runs; its own inverse. */
static inline unsigned q4k_x8_run(unsigned j)
{
	return (j & 4u) | (j & 1u) << 1 | (j >> 1 & 1u);
}

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

enum { QMV_SUPER = 256, QMV_RUNS = 16, QMV_ROWS = 16, QMV_LINE = 64 };

/* What is added to codes so that they are unsigned, in contract q8. */
static inline int qmv_centre(enum tcb_format_id format)
{
	return tcb_code_bias(format);
}

/* Bytes of a superblock as stored. */
static inline size_t qmv_super_bytes(enum tcb_format_id format)
{
	return QMV_SUPER / tcb_format_row(format)->block_values * tcb_format_row(format)->block_bytes;
}

/*
 * 256 activations as tcb_quant_codes() gives them, for the shared kernels.  d is that of each run of 32 values of
 * formats whose activations are scaled by 32, the superblock's everywhere otherwise.  start[i] is -centre times the sum
 * of codes 4 i to 4 i + 3: what integer sums of unsigned codes start from.  sums has the sums of the runs of 32 in its
 * upper half where the format has mins, zeros elsewhere; the sum of run r is 64 sums_high[r] + sums_low[r], too,
 * -32 <= sums_low < 32, for byte dot products.
 */
struct qmv_x8 {
	_Alignas(64) int8_t q[QMV_SUPER];
	int32_t start[QMV_SUPER / 4];
	int32_t run_start[QMV_RUNS]; /* the same for a whole run */
	float d[QMV_RUNS];
	float sums[QMV_RUNS];
	int8_t sums_high[8], sums_low[8];
};

/*
 * 256 activations for contract f32.  Vectors of L lanes multiply L words of four codes of a row: value 4 L g + 4 w + b
 * is x[4 L g + L b + w].  The scalar kernels and layout r16 want them as they are, L = 1.  sums[r] is what the scale of
 * run r is taken off with, centre times the run's sum; where the format has mins, sums[8 + r] is the sum of run r.
 */
struct qmv_x32 {
	_Alignas(64) float x[QMV_SUPER];
	float sums[QMV_RUNS];
};

/* Whether variants of ISA are Q4_K's own kernels, where FORMAT is Q4_K: with activations of their own. */
static inline int qmv_is_own(enum tcb_format_id format, enum tcb_isa isa)
{
	return format == TCB_FORMAT_Q4_K && isa != TCB_ISA_NEON;
}

#endif
