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
 * Of several tokens together, in layout r16 and contract q8: micro.m tokens and micro.n rows are a register tile,
 * midi.k is K, and macro.m and midi.m are all tokens, rounded up to a power of two. A micro-kernel call covers micro.n
 * rows (native) or one row group (interleaved; micro.n is the group's size).
 *
 * Kernels are one for all formats (quant_matvec_native.h, quant_matvec_lines.h), but for those with kernels of their
 * own (struct qmv_own).
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_LAYOUT_H
#define TCB_KERNELS_QUANT_MATVEC_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/quant_lines.h"
#include "kernels/quant_matvec/quant_matvec_fused.h"

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
 * 256 activations as tcb_quant_codes() gives them, for the shared kernels.  d is that of each run of formats whose
 * activations are scaled by 32, the superblock's everywhere otherwise.  start[i] is -centre times the sum
 * of codes 4 i to 4 i + 3: what integer sums of unsigned codes start from.  sums has the sums of the runs of 32 in its
 * upper half where the format has mins, those of each run, times d, where an expanded format has offsets, zeros
 * elsewhere; the sum of codes of run r is 64 sums_high[r] + sums_low[r], too, -32 <= sums_low < 32, for byte dot
 * products.
 */
struct qmv_x8 {
	_Alignas(64) int8_t q[QMV_SUPER];
	int32_t start[QMV_SUPER / 4];
	int32_t run_start[QMV_RUNS]; /* the same for a whole run */
	float d[QMV_RUNS];
	float sums[QMV_RUNS];
	int8_t sums_high[QMV_RUNS], sums_low[QMV_RUNS];
};

/*
 * 256 activations for contract f32.  Vectors of L lanes multiply L words of four codes of a row: value 4 L g + 4 w + b
 * is x[4 L g + L b + w].  The scalar kernels and layout r16 want them as they are, L = 1; kernels that look up E4M3 in
 * registers (quant_matvec_floats.h) value 64 g + 16 l + 8 h + 2 i + o at x[64 g + 32 h + 16 o + 4 l + i].  sums[r] is
 * what the scale of run r is taken off with, centre times the run's sum; where the format has mins, sums[8 + r] is the
 * sum of run r, where an expanded one has offsets sums[r].
 */
struct qmv_x32 {
	_Alignas(64) float x[QMV_SUPER];
	float sums[QMV_RUNS];
};
enum qmv_order { QMV_BY_WORDS, QMV_AS_THEY_ARE, QMV_BY_PAIRS };

/* Whether kernels of ISA look up FORMAT's values in registers: E4M3, where a processor has VBMI beside AVX-512. */
static inline int qmv_looks_up(enum tcb_format_id format, enum tcb_isa isa)
{
#if defined(__x86_64__)
	return tcb_format_row(format)->codes == TCB_CODES_E4M3 && isa == TCB_ISA_AVX512 &&
	       __builtin_cpu_supports("avx512vbmi");
#else
	(void)format, (void)isa;
	return 0;
#endif
}

/*
 * A format's own kernels on CPUs: what they have in place of what formats share.  Layout r16 is the shared one, with
 * blocks as BLOCK_BYTES says; other row groups they pack themselves.
 */
struct qmv_own {
	unsigned without;           /* instruction families, by bits, that run the shared kernels */
	size_t q8_bytes, f32_bytes; /* prepared activations of a superblock */
	size_t alignment;           /* of a block as stored */
	void (*prepare)(enum tcb_isa floats, int q8, const float *x, size_t superblocks, void *out);
	size_t (*block_bytes)(enum tcb_layout layout); /* of a superblock of a row, or of a row group */
	void (*pack)(enum tcb_layout layout, size_t n, size_t k, const void *weights, void *packed);
	void (*unpack)(enum tcb_layout layout, size_t n, size_t k, const void *packed, void *weights);
	double (*chain)(const struct tcb_plan *plan);                               /* longest, of roundings */
	size_t (*registers)(enum tcb_isa isa, enum tcb_layout layout, size_t rows); /* vectors */
};

/* Is VARIANT's entry a register tile of the quantised matmul's (quant_matmul_layout.h)? */
static inline int qmv_has_tokens(const struct tcb_variant *variant)
{
	return variant->micro.m > 1;
}

/* That of variants of ISA of OP; NULL: they are shared ones. */
static inline const struct qmv_own *qmv_own(const struct tcb_op *op, enum tcb_isa isa)
{
	const struct qmv_own *own = ((const struct qmv_kind *)op->member)->own;
	return own && !(own->without >> isa & 1) ? own : NULL;
}

#endif
