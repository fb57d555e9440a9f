/* SPDX-License-Identifier: MIT
 *
 * The quantised matvec on GPUs: a kernel being written, and what its parts hand to
 * each other.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_GPU_WRITER_H
#define TCB_KERNELS_QUANT_MATVEC_GPU_WRITER_H

#include "kernels/gpu/pieces_gpu.h"
#include "kernels/gpu/ring.h"
#include "kernels/quant_matvec/quant_matvec_gpu_plan.h"

/* A kernel being written. */
struct qmv_writer {
	struct tcb_kit kit;
	const struct qmv_gpu *g;
	kit_op weights[QMV_PARTS], x,
		y;         /* global addresses: a stream's weights of row 0; activations, results of the token */
	kit_op added;      /* has_added: what is added to results of the token */
	kit_op early;      /* is_added_early: the thread's */
	kit_op bias;       /* has_bias: that of row 0 */
	kit_op x_values;   /* how many activations the slice has, or a constant */
	kit_op norm;       /* has_norm: its weights, of the slice */
	kit_op row_x;      /* has_norm, splitk > 1: the whole token */
	kit_op squares[2]; /* has_norm: a lane's sums; of values as they are, and scaled down */
	kit_op factor;     /* has_norm */
	kit_op tokens, first_token; /* at_once > 1: M; the block's first */
	kit_op factors[QMV_GPU_TOKENS_MAX];
	kit_op rows, last_row;            /* N, N - 1 */
	kit_op weight_rows;               /* N, or 2 N of a gated pair */
	kit_op slices, counters;          /* splitk > 1: the workspace's */
	kit_op image;                     /* base address: of the image in SPACE */
	enum tcb_kit_memory image_memory; /* shared or global */
	int image_is_global;              /* its addresses are .u64 */
	kit_op ks, rw;
	kit_op first, end; /* the block's groups of rows */
	/* constants of a lane: its piece, its superblock within a step; its bytes of a superblock's parts */
	kit_op piece, within, part[QMV_PARTS];
	kit_op sub_block, sum_run; /* of its low codes; of the sum that it takes off, or of the first of two */
	kit_op is_first;           /* of the lanes that share such a sum; the others take zero */
	kit_op shift_high;         /* its bits within words of high bits */
	kit_op column;             /* isa=mma: of what comes out of a product */
	kit_op is_column[QMV_PIECES_MAX], b_words[QMV_PIECES_MAX][QMV_B_WORDS];
	kit_op is_late;                                /* K: its scales are in the last four sub-blocks */
	kit_op select_pair, select_low, select_min;    /* K, native and p: prmt selectors */
	kit_op mask_early, mask_top, mask_c, mask_d;   /* K, native and p */
	kit_op select_field, shift, shift_min, mask_m; /* K, s */
	kit_op table[4];                               /* 16 codes; with contracts f32 and f16 above -128 */
	struct tcb_piece_tables tables;                /* expanded formats; SHIFT: of a piece's fields */
};

/* A lane's activations of one step, in registers. */
struct qmv_lane_x {
	kit_op low[QMV_GPU_VEC_MAX], high[QMV_GPU_VEC_MAX]; /* words of codes (q8), values (f32) */
	kit_op scale[2], sum[2];
};
/* A lane's weights of one row and step, as loaded. */
struct qmv_lane_w {
	kit_op code[2 * QMV_PIECES_MAX * QMV_GPU_WORDS_MAX], high[2 * QMV_GPU_WORDS_MAX]; /* one more where narrow */
	kit_op scale[8], d[2];
	/* expanded formats, once taken apart */
	kit_op byte[TCB_PIECE_WORDS];
	struct tcb_piece_scales piece;
	kit_op select[2]; /* narrow: of code and high */
};

/* How activations are read, which another call wrote. */
static inline enum tcb_kit_memory qmv_input(const struct qmv_gpu *g)
{
	return g->is_beside ? TCB_KIT_OTHERS : tcb_kit_input(g->pdl);
}

/* quant_matvec_gpu_results.c */
/* SUMS less MINS of group GROUP's rows, over the warp; to y, or beside those of the other warps of the row. */
void qmv_write_results(struct qmv_writer *w, kit_op group, const kit_op *sums, const kit_op *mins);
/* Elements of y before row TOKEN of it. */
kit_op qmv_write_y_row(struct qmv_writer *w, kit_op token);
/* Where several warps or blocks share a row: row I of those that this block adds the parts of, and the adding. */
kit_op qmv_write_own_row(struct qmv_writer *w, kit_op i);
void qmv_write_shared_rows(struct qmv_writer *w);

#endif
