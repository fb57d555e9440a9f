/* SPDX-License-Identifier: MIT
 *
 * The quantised matmuls on GPUs: a kernel being written, and what its parts hand to
 * each other.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_GPU_WRITER_H
#define TCB_KERNELS_QUANT_MATMUL_GPU_WRITER_H

#include "kernels/gpu/pieces_gpu.h"
#include "kernels/gpu/ring.h"
#include "kernels/quant_matmul/quant_matmul_gpu_plan.h"

/* A kernel being written. */
struct qmm_writer {
	struct tcb_kit kit;
	const struct qmm_gpu *g;
	kit_op weights, x, y; /* global; x: the activations, or their image */
	kit_op added;         /* has_added: what is added to y */
	kit_op bias;          /* has_bias: that of row 0 */
	kit_op rows, tokens;  /* N and M */
	kit_op padded;        /* own launch: tokens of the image */
	kit_op slices, counters;
	kit_op least, longer;         /* groups, or dealt units, of a block; the first LONGER blocks have one more */
	kit_op floats, image, claims; /* prep=grid: the activations, their whole image, who prepares what */
	kit_op x_barrier, join_barrier;
	kit_op ks, side;    /* side: which of the groups side by side */
	kit_op quad, pair;  /* lane / 4: row within 8; lane % 4 */
	kit_op first_token; /* of the block */
	kit_op first, end;  /* the block's groups */
	/* constants in registers */
	kit_op bias_low, bias_high;     /* what codes in the low, in the high nibbles of a byte are above */
	kit_op minus_1024, mins_bias;   /* the same of scales and mins of 6 bits */
	kit_op select_one, select_two;  /* a lane's bytes of headers */
	kit_op table[4];                /* what nibbles stand for, a byte each */
	kit_op start[4];                /* q8: what products are added to */
	struct tcb_piece_tables tables; /* expanded formats */
	kit_op field_shift;             /* from which bit of a byte on a lane's fields begin */
	int is_direct;                  /* weights come from global memory, not from a ring in shared memory */
};

/* What a warp sums up, in the order of the matrix instructions' D. */
struct qmm_sums {
	kit_op of[QMM_CHAINS_MAX][QMM_ROW_TILES_MAX][QMM_TOKENS_MAX / 8][4];
};

/* Which of them product STEP of a unit adds to. */
static inline unsigned qmm_chain(const struct qmm_gpu *g, unsigned step)
{
	return g->is_halved ? 0 : step % g->chains;
}

/* quant_matmul_gpu_emit.c: the thread's numbers: of warp, group, part of k, and within a quarter of D. */
void qmm_write_threads(struct qmm_writer *w);
/* The kernels from their parameters on, in files of their own. */
void qmm_write_mma(struct qmm_writer *w);
void qmm_write_stream(struct qmm_writer *w);

#endif
