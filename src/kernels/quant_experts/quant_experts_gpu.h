/* SPDX-License-Identifier: MIT
 *
 * The GPU side of the products of experts, contracts f16 and q8: what a
 * geometry means there.
 *
 * Two launches and no word to the host.  The first puts the products [t][u] in
 * order of their experts, cuts each expert's into chunks of micro.m, and makes
 * the image of halves that the plain matmul's parts read of every row of x.  The
 * second has blocks that stay; they draw items, a chunk by midi.n rows of its
 * expert, one after the other, and go over all their units along k as over one
 * stream: tiles of weights and the chunk's tokens, gathered out of the image, are
 * copied `stages` - 1 steps ahead, also past the end of an item.  A chunk with
 * few tokens is multiplied with as few groups of 8 columns.  Of
 * experts_sum_matmul products go to the workspace, and a third launch adds them.
 *
 * How a geometry drives a kernel.  micro.n rows of each matrix are a group,
 * computed by one warp for micro.m tokens; warps / ksplit groups go side by side
 * (midi.n), ksplit warps share a group, each with every ksplit-th unit of 256.
 * blocks blocks per SM stay.
 */
#ifndef TCB_KERNELS_QUANT_EXPERTS_GPU_H
#define TCB_KERNELS_QUANT_EXPERTS_GPU_H

#include "kernels/op.h"

/* quant_experts_gpu_emit.c */
extern const struct tcb_side qex_gpu; /* of all formats and kinds */

/* quant_experts_gpu_plan.c: GEOMETRY keeps the rules, or has zeros where it does not. */
void qex_gpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry, struct tcb_footprint *out);

/* quant_experts_gpu_space.c */
extern const struct tcb_side_space qex_gpu_space;

#endif
