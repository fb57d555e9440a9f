/* SPDX-License-Identifier: MIT
 *
 * The products of experts on GPUs: a kernel being written, and what its parts hand
 * to each other.
 */
#ifndef TCB_KERNELS_QUANT_EXPERTS_GPU_WRITER_H
#define TCB_KERNELS_QUANT_EXPERTS_GPU_WRITER_H

#include "kernels/quant_experts/quant_experts_gpu_plan.h"
#include "kernels/quant_matmul/quant_matmul_gpu_writer.h"

/* A kernel being written. */
struct qex_writer {
	struct qmm_writer w; /* for the plain matmul's parts; weights: of the only matrix or of gate */
	const struct qex_gpu *g;
	kit_op up;
	kit_op bias[2];                   /* has_bias: of each matrix */
	enum tcb_kit_memory route_memory; /* where the next two are */
	kit_op table, order;              /* chunks; products by experts */
	kit_op chunks;                    /* how many there are */
	unsigned route_threads;           /* of a block that routes */
	kit_op counts;                    /* its shared memory for that */
};

/* quant_experts_gpu_route.c */
/* By a block: IDS (COUNT of them) to the table, the order and x->chunks. */
void qex_write_route(struct qex_writer *x, kit_op ids, kit_op count);
/* Number INDEX of BYTES each in the table or the order at BASE. */
kit_op qex_route_at(struct qex_writer *x, kit_op base, kit_op index, unsigned bytes);

/* quant_experts_gpu_items.c: the product's kernel, from the routing on. */
void qex_write_items(struct qex_writer *x);

/* quant_experts_gpu_results.c */
/* Which 16 rows of a matrix's part of a group are the warp's tile I. */
kit_op qex_row_tile(struct qex_writer *x, unsigned i);
/* An item that a block is done with: its entry in shared memory, where expert, tokens, block of rows and the numbers of
 * its products are. */
void qex_write_results(struct qex_writer *x, kit_op item, struct qmm_sums *sums);

#endif
