/* SPDX-License-Identifier: MIT
 *
 * The quantised matvec on GPUs: a geometry and a problem in numbers, for those who
 * write a kernel and those who judge it.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_GPU_PLAN_H
#define TCB_KERNELS_QUANT_MATVEC_GPU_PLAN_H

#include "kernels/quant.h"
#include "kernels/quant_matvec/quant_matvec_planes.h"

enum {
	QMV_GPU_VEC_MAX = 16,
	QMV_GPU_ROWS_MAX = 8,
	QMV_GPU_TOKENS_MAX = 8, /* of a block */
	QMV_GPU_SUMS_MAX = 16,  /* of a lane: rows by tokens */
	QMV_GPU_WORDS_MAX = QMV_GPU_VEC_MAX / 4,
	QMV_GPU_STEPS_MAX = 16, /* unrolled */
	QMV_FLOAT_VALUES = 8,   /* that a lane has of rows of values, its vec */
	QMV_GPU_STAGES_MAX = 8,
	QMV_GPU_X_AHEAD = 4, /* superblocks of activations that a warp loads before it uses the first */
	QMV_PIECE = 16,      /* isa=mma: bytes of codes */
	QMV_PIECES_MAX = 4,  /* isa=mma: 16-byte pieces that a lane has of a row */
	QMV_PARTS_MAX = 2,   /* isa=mma: of an activation */
	QMV_B_WORDS = 16     /* isa=mma: registers of activations for each of them */
};

/* The prepared activations of a block's slice: where their parts lie, in bytes from the start. */
struct qmv_gpu_image {
	unsigned blocks;                  /* superblocks, one of zeros included where steps may be partial */
	unsigned high, scale, sum, bytes; /* codes of high nibbles (q8), scales, sums; all of it */
	unsigned code_stride;             /* a superblock's codes (of one half), or values, in bytes */
	unsigned squares, squares_count;  /* has_norm: parts of the sum of squares; how many */
	unsigned scale_stride, sum_stride;
};

/* Bytes of the weights that lie together: everything (native), or one part. */
struct qmv_stream {
	unsigned stride; /* from a superblock to the next */
	unsigned copied, slot_at,
		pitch; /* rings: bytes of a row; where a slot has its rows, and from one to the next */
};

/*
 * A geometry and a problem in numbers.  isa=mma (quant_matvec_gpu_mma.c): what is said of rows holds for tiles of
 * sixteen, whose superblocks lie together (layout f).
 */
struct qmv_gpu {
	const struct qmv_format *format;
	unsigned capability;
	int is_q8, is_half;                          /* else f32 */
	int has_norm, is_gated, has_added, has_bias; /* the last two: the words add and bias */
	int has_scale;                               /* activations of a superblock, or a group, share one */
	unsigned group;                              /* q8: activations that share a scale, 32 or 256; else 256 */
	enum tcb_layout layout;
	enum tcb_copy copy;
	int is_mma, x_in_regs, own_launch, pdl;
	int opens, is_beside; /* pdl=2, pdl=3 */
	int is_joined;        /* join=cluster: the blocks that share a row are a cluster */
	int is_added_early; /* each thread has at most one row, and asks for what is added to it before the products */
	unsigned vec, rows, warps, ksplit, row_warps, splitk, stages, lead, resident, together;
	/* Rows of y of a group; sums that a lane adds up.  Gated: rows are those of gate, then as many of up. */
	unsigned group_rows, sums;
	unsigned n, k, tokens;
	/* In memory: types, their bytes, elements from one row to the next, of the activations that the op reads and of
	 * results. */
	enum tcb_type x_type, y_type;
	unsigned x_bytes, y_bytes, x_stride, y_stride;
	unsigned at_once, token_tiles;     /* tokens that weights are read for together; blocks that have them all */
	unsigned row_blocks, slice, share; /* superblocks of a row, of a block's part of it, of a warp's part of that */
	unsigned log_run, halves;          /* of the layout; values of a byte of codes */
	unsigned piece_lanes, step;        /* lanes of a superblock; superblocks that a warp takes at once */
	unsigned steps, unroll;            /* of a warp's share; in flight together */
	unsigned chunks;                   /* rings: of a warp's share, each as long as a slot */
	int is_partial;                    /* the last step has fewer superblocks */
	unsigned rounds;                   /* of the loop over k */
	int has_rest;                      /* behind which the last step comes alone, since it is partial */
	int is_narrow;                     /* codes are aligned to two bytes only */
	unsigned parts;                    /* isa=mma: of an activation */
	unsigned runs, is_split;           /* sums of a superblock's activations; a piece has two of them */
	unsigned scales_apart; /* group 32: sub-blocks from that of a piece's low codes to that of its high ones */
	/* Not in the PTX, which serves any number of rows and of SMs: they are in the grid and in arguments. */
	unsigned groups, grid;  /* groups of rows; blocks along x */
	unsigned least, longer; /* groups of a block; one more in the first LONGER blocks */
	unsigned block_rows;    /* most rows of a block */
	unsigned row_parts;     /* sums of a row that are added in shared memory */
	/* weights */
	unsigned stream_count, stream_of[QMV_PARTS];
	struct qmv_stream stream[QMV_PARTS];
	unsigned code_words, high_words; /* of a lane's piece */
	/* shared memory: rings, barriers, activations, a flag and partial sums; bytes in all */
	unsigned slot_bytes, slot_copied; /* of a stage; of these copied */
	unsigned grid_at;                 /* expanded formats: what places stand for */
	int has_signs;                    /* with their signs */
	unsigned barrier_at, image_at, flag_at, part_at, shared_bytes;
	struct qmv_gpu_image image;
	/* workspace: images of the tokens; partial sums of the slices; how many slices are done, by token and block */
	size_t slices_at, counters_at, workspace_bytes;
};

/* Sums of a lane at most where there are several tokens: rows by tokens.  Under contracts of floats ptxas asks for so
 * many activations ahead that 16 sums spill. */
static inline size_t qmv_gpu_sums_most(enum tcb_contract contract)
{
	return contract == TCB_CONTRACT_Q8 ? QMV_GPU_SUMS_MAX : QMV_GPU_SUMS_MAX / 2;
}

/* Whether TARGET has shared memory to spare for grids with signs. */
static inline int qmv_has_signed_grid(const struct tcb_target *target)
{
	return target->cuda.capability >= 80;
}

/* GEOMETRY keeps the rules. */
void qmv_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
		  const struct tcb_geometry *geometry, struct qmv_gpu *out);
/* Registers that are enough for a thread. */
unsigned qmv_gpu_registers(const struct qmv_gpu *g);
/* The longest rounding chain of a sum of products. */
double qmv_gpu_chain(const struct qmv_gpu *g);
/* Tiles' k at the innermost level. */
unsigned qmv_gpu_micro_k(const struct tcb_problem *problem);

#endif
