/* SPDX-License-Identifier: MIT
 *
 * The quantised matmuls on GPUs: a geometry and a problem in numbers, for those
 * who write a kernel and those who judge it.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_GPU_PLAN_H
#define TCB_KERNELS_QUANT_MATMUL_GPU_PLAN_H

#include "kernels/gpu/gpu_rules.h"
#include "kernels/quant_matmul/quant_matmul_fragments.h"

struct qmm_gpu {
	unsigned capability, sms;
	struct qmm_unit unit;
	unsigned group; /* contract q8: activations that share a scale; f16: 0 */
	int is_wgmma, own_launch, pdl;
	int is_streamed;  /* wgmma: activations pass through a ring that a warp of its own fills */
	int is_rolling;   /* mma: through a ring that all warps fill */
	int is_dealt;     /* streamed: blocks that stay, with equal runs of units (quant_matmul_gpu_deal.h) */
	unsigned beside;  /* warps of the block that prepare them and do nothing else */
	int by_grid;      /* warps of all blocks prepare a share each, which meet in the workspace */
	unsigned sharers; /* these of a block, and the one that asks for the copies */
	enum tcb_copy copy;
	enum tcb_join join;
	unsigned rows, row_tiles;       /* of a group: rows, 16-row (mma) or 64-row (wgmma) tiles */
	unsigned tokens, token_groups;  /* of a block: tokens, groups of 8 */
	unsigned warps, threads;        /* that compute; of a block */
	unsigned askers;                /* streamed: warps of which one asks for copies; else 0 */
	int is_traded;                  /* four askers, who leave registers to the warps that compute */
	int is_ahead;                   /* wgmma: a lane has the codes of a whole unit, not of one chunk */
	unsigned chains;                /* sums of each output that a warp adds to in turn, so that products
					 * of few tokens need not wait for each other */
	int is_halved;                  /* words.bits: the second chain is the sum of K's first half */
	unsigned ksplit, side, splitk;  /* warps of a group; groups side by side; blocks of a row */
	unsigned stages, lead, xstages; /* tiles of weights in flight, before the activations; tiles of activations */
	unsigned cast;                  /* streamed: blocks along x that fetch activations for each other */
	unsigned resident, together;
	unsigned n, m, k;
	int has_added, has_bias; /* the words add and bias */
	/* In memory: types, their bytes, elements from one row to the next. */
	enum tcb_type x_type, y_type;
	unsigned x_bytes, y_bytes, x_stride, y_stride;
	unsigned row_units, slice,
		share;          /* units along k: of a row, of a block's part of it, of a warp's part of that */
	unsigned unroll, steps; /* units of a tile, tiles of a share */
	int is_whole;           /* a warp has one share, and stages for all of it */
	/* In the grid and in arguments, not in the PTX. */
	unsigned groups, token_tiles, grid;
	unsigned least, longer; /* groups of a block, or units; one more in the first LONGER blocks */
	/* memory */
	unsigned block_rows; /* most rows of a block */
	unsigned tile_bytes; /* of weights */
	/* activations: of a unit, tiles (f16) or one record (q8); their bytes, of 8 tokens and of all */
	unsigned unit_tiles, x_group_bytes, x_tile_bytes;
	unsigned x_scale_at, x_sum_at, x_power_at; /* within a record */
	int has_parts;
	unsigned own_rows;               /* most of the block's rows that it adds parts of */
	unsigned part_pitch, part_bytes; /* floats from a row to the next; bytes of a part */
	int x_is_bulk;                   /* the block's activations come by bulk copies */
	int x_is_counted;                /* each unit of them has a barrier that says when it is there */
	unsigned x_barrier_at;
	unsigned grid_at; /* expanded formats: what places stand for */
	unsigned barrier_at, image_at, part_at, flag_at, shared_bytes;
	unsigned launch_bytes; /* that a launch asks for: no SM holds more blocks than are to be */
	size_t image_bytes, slices_at, counters_at, claims_at, workspace_bytes;
};

/* What a warp's tile is: rows of MATRICES that lie side by side (2: gate and up), tokens, units along k and their
 * bytes; the rest of OUT is zeros.  GEOMETRY keeps the rules. */
void qmm_gpu_plan_tile(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry, unsigned matrices, struct qmm_gpu *out);
/* Expanded formats: their grid's place in shared memory whose first AT bytes are taken; how many are then. */
unsigned qmm_gpu_plan_grid(struct qmm_gpu *g, unsigned at);
/* The whole of the plain matmul. */
void qmm_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
		  const struct tcb_geometry *geometry, struct qmm_gpu *out);
/* Of the word bits: is each output the sum of two, one of each half of K? */
int qmm_has_halves(const struct tcb_problem *problem);
/* Blocks along the tokens of the launch that prepares them. */
unsigned qmm_prepare_blocks(const struct qmm_gpu *g);
unsigned qmm_prepare_together(const struct qmm_gpu *g);
unsigned qmm_prepare_tokens(const struct qmm_gpu *g); /* that a warp of it prepares */
unsigned qmm_share_tokens(const struct qmm_gpu *g);   /* the same of a warp at a time, prep=grid */
double qmm_gpu_chain(const struct qmm_gpu *g);        /* the longest rounding chain of an output */

/* Rules that the products of experts keep too: the contract and its instructions; the weights' layout under it; how
 * many activations share a scale. */
tcb_gpu_rule qmm_gpu_rule_isa, qmm_gpu_rule_layout, qmm_gpu_rule_group;

/* quant_matmul_gpu_registers.c: of a thread.  Upper bounds, held against ptxas by tests/kernels/check_gpu_space.c. */
unsigned qmm_gpu_registers(const struct qmm_gpu *g);
/* That WARPS warps of an SM can have: each quarter has every fourth of them. */
unsigned qmm_registers_of(unsigned warps);

#endif
