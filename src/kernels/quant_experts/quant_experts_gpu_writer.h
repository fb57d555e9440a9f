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
	kit_op table, order; /* chunks; products by experts */
	kit_op chunks;       /* how many there are */
};

/* quant_experts_gpu_route.c: by a block, whose shared memory is at w.kit.shared: IDS (COUNT of them) to the table of
 * chunks, their number at AT, and the order. */
void qex_write_route(struct qex_writer *x, kit_op ids, kit_op count, kit_op at);

/* quant_experts_gpu_items.c: the product's kernel from its parameters on. */
void qex_write_items(struct qex_writer *x);

/* quant_experts_gpu_results.c */
/* An item that a block is done with: its entry in shared memory, where expert, tokens, block of rows and the numbers of
 * its products are. */
void qex_write_results(struct qex_writer *x, kit_op item, struct qmm_sums *sums);

#endif
