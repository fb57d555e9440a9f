/* SPDX-License-Identifier: MIT
 *
 * Private to the quantised matmuls' GPU kernels, contracts f16 and q8, of rows of BF16 and F32 f32: what a
 * geometry means on a GPU, and the parts that write a kernel.
 *
 * Weights are the matrix instructions' A, 16 rows per warp, expanded from codes to
 * halves in registers; tokens are B's columns, so that 8 tokens waste nothing.
 * Layout f has the codes in the order of A's registers, activations are halves in
 * tiles of 8 tokens by 64 of k, 128 bytes per token, swizzled by 16-byte chunks.
 * Eight runs of k with scales of their own take turns along k, so that a lane's
 * registers hold two of them alone, one in their lower and one in their upper halves,
 * and a lane takes apart one pair of scales a row (qmm_k_of()).
 *
 * Contract f32, rows of BF16 and F32: a float is the sum of three numbers of bf16, and a product of two of these exact.
 * Activations have a tile for each term, weights of F32 are taken apart in registers; of 3 by 3 products the three
 * smallest are left out.
 *
 * Contract q8, integers of 8 bits: each product is of one run, since its sums are scaled before they are added up.
 * Layout g has k in its order, nibbles of a row in the low and of another in the high halves of the bytes that they
 * become.  Activations come in records of 8 tokens and 256 of k: codes in two tiles as above, 128 of k each, then what
 * they are scaled with (quant_matmul_gpu_x_s8.c).
 *
 * How a geometry drives a kernel.
 *   isa=mma    micro.n rows are a group, computed by one warp for midi.m tokens.
 *              warps / ksplit groups of a block go side by side; ksplit warps share a group, each with a consecutive
 *              part of the block's k.  Each warp has a ring of its own with tiles of micro.n rows by unroll units of
 *              256 along k.  The block has the activations of its k in shared memory for good; or, with xstages
 *              (copy=async, prep=launch), in a ring of its own of as many slots, a unit each, that all its warps fill.
 *              prep=warps: more warps prepare them, a unit after the other, while these multiply what is there.
 *   isa=wgmma  micro.n rows are a group, computed by four warps; the rest is as with mma if xstages = 1.  Else
 *              (prep=launch or grid) the activations are streamed: one more warp asks for the copies, a ring of tiles
 * of midi.n rows by 256 of k, and one of activations, midi.m tokens by 64 of k; cluster blocks of neighbouring rows
 *              fetch a part each and send it to all of them.  Where two groups of four warps need more registers than
 *              nine warps can have (256 tokens), the one more is a group, too, which gives most of its own away.
 *              blocks > 0: that many blocks stay on each SM, with equal runs of all tiles times units along k, whatever
 *              the tiles are (quant_matmul_gpu_deal.h); tiles that several have parts of go through the workspace.
 *   both       blocks = 0: each block computes midi.n rows and ends; else blocks * SMs blocks stay, each with a
 *              consecutive range of groups.  splitk blocks share a row (grid y) and join their parts through a
 *              cluster's shared memory or the workspace.  Tiles of midi.m tokens are grid z.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_GPU_H
#define TCB_KERNELS_QUANT_MATMUL_GPU_H

#include "kernels/op.h"

/* quant_matmul_gpu_emit.c */
extern const struct tcb_side qmm_gpu;       /* of formats that halves hold */
extern const struct tcb_side qmm_terms_gpu; /* of rows of BF16 and F32, contract f32 */
enum tcb_status qmm_gpu_emit(const struct tcb_problem *problem, const struct tcb_target *target,
			     const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err);

/* quant_matmul_gpu_rules.c */
extern const struct tcb_rule qmm_gpu_rules[];
/* quant_matmul_gpu_plan.c: GEOMETRY keeps the rules. */
void qmm_gpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry, struct tcb_footprint *out);

/* quant_matmul_gpu_space.c */
extern const struct tcb_side_space qmm_gpu_space;

#endif
