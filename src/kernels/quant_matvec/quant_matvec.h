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
#ifndef TCB_KERNELS_QUANT_MATVEC_H
#define TCB_KERNELS_QUANT_MATVEC_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/quant.h"
#include "kernels/simd/isas.h"

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

/* quant_matvec_quantize_<isa>.c: K/256 blocks from K floats, K a multiple of 256; all give the same bits. */
typedef void q4k_quantize_fn(const float *x, size_t blocks, struct q4k_x8 *out);

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
typedef void q4k_prepare_fn(const float *x, size_t blocks, struct q4k_x32 *out);

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

/* quant_matvec_prepare.c: K values, K a multiple of the format's block; q8 gives the same bits everywhere. */
typedef void qmv_prepare_q8_fn(const struct tcb_format *format, const float *x, size_t k, struct qmv_x8 *out);
typedef void qmv_prepare_f32_fn(const struct tcb_format *format, int as_they_are, const float *x, size_t k,
				struct qmv_x32 *out);

/* Of these every family has its own; of Q4_K's the portable ones are all on Arm. */
#if defined(__x86_64__)
#define Q4K_ISAS_FLOATS TCB_ISAS_FLOATS
#define Q4K_ISAS_BYTES TCB_ISAS_BYTES
#else
#define Q4K_ISAS_FLOATS TCB_ISAS_SCALAR
#define Q4K_ISAS_BYTES TCB_ISAS_SCALAR
#endif
#define QMV_DECLARE_PREPARERS(isa, ...)         \
	qmv_prepare_q8_fn qmv_prepare_q8_##isa; \
	qmv_prepare_f32_fn qmv_prepare_f32_##isa;
#define Q4K_DECLARE_PREPARERS(isa, ...)     \
	q4k_quantize_fn q4k_quantize_##isa; \
	q4k_prepare_fn q4k_prepare_##isa;
TCB_ISAS_FLOATS(QMV_DECLARE_PREPARERS, )
Q4K_ISAS_FLOATS(Q4K_DECLARE_PREPARERS, )
#undef QMV_DECLARE_PREPARERS
#undef Q4K_DECLARE_PREPARERS

/* Whether variants of ISA are Q4_K's own kernels, where FORMAT is Q4_K: with activations of their own. */
static inline int qmv_is_own(enum tcb_format_id format, enum tcb_isa isa)
{
	return format == TCB_FORMAT_Q4_K && isa != TCB_ISA_NEON;
}

/*
 * quant_matvec_lines.c: layout r16 of all formats but Q4_K.  16 rows of a superblock become lines of 64 bytes, word w
 * of each row side by side, where a row's words are
 *     q4_0, q8_0, mxfp4   the scales of eight blocks, then eight times the block's codes
 *     q5_k, iq4_xs        the block as stored
 *     q6_k                d and two bytes of zeros, the scales, then of each half of the values the high bits and the
 * low so that kernels read line after line. Superblocks follow each other along k, groups of rows along n.  N is padded
 * up to the group with zeros, and so is the last superblock.
 */
static inline size_t qmv_lines(enum tcb_format_id format) /* of a superblock */
{
	return (qmv_super_bytes(format) + 3) / 4;
}
void qmv_lines_pack(const struct tcb_problem *problem, const void *weights, void *packed);
void qmv_lines_unpack(const struct tcb_problem *problem, const void *packed, void *weights);

/* q4k_matvec_exact.c: what PLAN's f32 variant gives, bit by bit; its longest rounding chain. */
double q4k_f32_chain(const struct tcb_plan *plan);
void q4k_exact(const struct tcb_plan *plan, void *const operand[], float *y);

/*
 * quant_matvec_pack.c: whole matrices.  Layout rR: R rows of one block position become one group block,
 *     f16 d[R]; f16 dmin[R]; scale words [3][R]; nibbles [4][R / 2][R][64 / R]
 * where word w of row r holds bytes 4w..4w+3 of its 12 scale bytes, and the nibble bytes of each 64-value pair of
 * sub-blocks are cut into pieces of 64 / R bytes, so that 64 bytes hold one piece of every row.  rRw: scale words
 * [4][R] hold the eight scales, then the eight mins, one byte each.  Group blocks follow each other along k, groups
 * along n: one call reads one strictly sequential stream.  N is padded up to the group with zero blocks in the packed
 * copy. */
size_t q4k_packed_bytes(enum tcb_layout layout, size_t n, size_t k);
size_t q4k_layout_rows(enum tcb_layout layout);        /* rows in a group; 1 for native */
size_t q4k_layout_block_bytes(enum tcb_layout layout); /* bytes of one group block */
void q4k_pack(enum tcb_layout layout, size_t n, size_t k, const void *weights, void *packed);
void q4k_unpack(enum tcb_layout layout, size_t n, size_t k, const void *packed, void *weights);

/* quant_matvec_space.c */
size_t qmv_axes(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_axis out[TCB_AXES_MAX]);
void qmv_default_geometry(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out);
void qmv_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		   const struct tcb_geometry *geometry, struct tcb_footprint *out);
/* Why the op cannot run GEOMETRY whatever the variant, NULL if it can. */
const char *qmv_geometry_refused(const struct tcb_problem *problem, const struct tcb_geometry *geometry);

#define QMV_DECLARE_OP(id, name, op, ...) extern const struct tcb_op tcb_op_##op##_matvec;
TCB_FORMAT_LIST(QMV_DECLARE_OP)
#undef QMV_DECLARE_OP

#endif
