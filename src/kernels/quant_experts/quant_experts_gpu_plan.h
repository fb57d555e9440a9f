/* SPDX-License-Identifier: MIT
 *
 * The products of experts on GPUs: a geometry and a problem in numbers, for those
 * who write a kernel and those who judge it.
 */
#ifndef TCB_KERNELS_QUANT_EXPERTS_GPU_PLAN_H
#define TCB_KERNELS_QUANT_EXPERTS_GPU_PLAN_H

#include "kernels/quant_experts/quant_experts.h"
#include "kernels/quant_matmul/quant_matmul_gpu_plan.h"

enum {
	QEX_TOKENS_MAX = 64, /* of a chunk; with wgmma */
	QEX_TOKENS_MAX_WGMMA = 128,
	QEX_IN_BLOCK_MOST = 256,    /* products that each block routes by itself */
	QEX_IN_BLOCK_EXPERTS = 512, /* of so many: more take shared memory that weights want */
	QEX_X_AHEAD = 4,            /* units of a token that a warp asks for before it stores the first */
	QEX_ROUTE_AHEAD = 8,        /* ids that a thread asks for before it counts the first */
	QEX_SUM_THREADS = 256,      /* of a block that adds products */
	QEX_SUM_AHEAD = 16,         /* products that a thread asks for before it adds the first */
	QEX_CHUNK_WORDS = 2,        /* of a chunk in the table: expert, tokens */
	QEX_ITEM_BYTES = 16,     /* of an item in shared memory: expert, tokens, block of rows, unused; then products */
	QEX_GATHER_ROWS = 4,     /* tokens that a warp copies at once, 64 of k of each */
	QEX_GATHER_POINTERS = 8, /* such fours of a warp at most */
};

struct qex_gpu {
	struct qmm_gpu tile;  /* of the product, as the plain matmul's parts want it */
	struct qmm_gpu image; /* the same of the launch that prepares x, whose rows are m */
	int routes_itself;    /* each block of the product does, while the image is made; else the launch before */
	int is_in_block;      /* one launch: each block also prepares what its items need, whole along k */
	int has_groups;    /* threads copy with cp.async, a group a step: weights, or with copy=bulk the tokens alone */
	unsigned matrices; /* 2: gate and up, whose groups are a warp's, one behind the other */
	int is_summed, has_rows_each, has_bias, is_oai, is_gelu;
	unsigned experts, used, pairs, x_rows, padded; /* padded: rows of the image */
	unsigned steps;                                /* of ksplit units, along k */
	unsigned row_blocks;                           /* of midi.n */
	unsigned most_chunks;                          /* that any routing makes */
	unsigned grid;
	size_t matrix_bytes; /* packed */
	/* gathering: warps that do, those that share the rows of a tile of 64 of k, fours of rows that one has */
	unsigned gatherers, across, fours;
	/* shared memory: of a warp's weights in a slot, where a slot's activations are, a slot; the items in flight;
	 * parts of the warps that share a group */
	unsigned warp_bytes, slot_x_at, slot_bytes;
	unsigned items_at, item_bytes;
	unsigned x_at;       /* is_in_block: an item's activations */
	unsigned barrier_at; /* copy=bulk: of each warp's weights, one a slot */
	unsigned part_at, part_pitch, part_bytes;
	unsigned route_entries, route_bytes;                      /* experts that are counted */
	unsigned counts_at, table_in_block_at, order_in_block_at; /* routes_itself: where that is */
	unsigned shared_bytes;                                    /* of the product's blocks */
	/* workspace: behind the image */
	size_t count_at, table_at, order_at, products_at, workspace_bytes;
};

/* GEOMETRY keeps the rules. */
void qex_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
		  const struct tcb_geometry *geometry, struct qex_gpu *out);
/* Registers that are enough for a thread of the product. */
unsigned qex_gpu_registers(const struct qex_gpu *g);
/* The longest rounding chain of an output. */
double qex_gpu_chain(const struct qex_gpu *g);

#endif
