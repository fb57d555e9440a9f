/* SPDX-License-Identifier: MIT
 *
 * Private to the quantised matvec's GPU kernels: what a geometry means on a
 * GPU, what a weight format is there, and the parts that write a kernel.
 *
 * How a geometry drives a kernel.  micro.n rows are a group: one warp computes
 * them together.  warps / ksplit groups of a block go side by side (midi.n =
 * micro.n * warps / ksplit rows); ksplit warps share a group, each with a
 * consecutive part of the block's superblocks.  blocks = 0: each block computes
 * midi.n rows and ends; else blocks * SMs blocks stay, each with a consecutive
 * range of groups.  splitk blocks share a row (grid y), and where they stay are a cluster (join=cluster), which reads
 * activations once between them; tokens are grid z.
 *
 * micro.m = 2, 4 or 8 (copy=ldg, prep=block, xin=shared, splitk=1, isa=dp4a or fma): a block prepares the activations
 * of so many tokens side by side in shared memory, and each piece of weights is read and taken apart once, then
 * multiplied with all of them; a lane has a sum for each row and token.  Tiles of tokens are grid z.
 *
 * A superblock is 256 values of any format: one block, or eight of 32 values.
 * In a warp it is spread over (128, or 256 where a value is a byte) / vec lanes,
 * each with vec bytes of codes (a piece); a warp so takes several superblocks at
 * once (a step).  Values of a piece: the low nibbles, then the high ones, which
 * are 2^log_run values further on.  Layouts native and p have runs of 32
 * (TCB_CODES_PAIRS) or 64 (QUARTERS) values; layout s, and RUNS as stored, of 16,
 * so that 16 bytes are one sub-block of 32 values.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_GPU_H
#define TCB_KERNELS_QUANT_MATVEC_GPU_H

#include "kernels/formats.h"
#include "kernels/op.h"
#include "kernels/quant_matvec/quant_matvec_fused.h"

/* quant_matvec_gpu_emit.c */
#define QMV_DECLARE_SIDE(kind, has_norm, is_gated, op) extern const struct tcb_side qmv_##op##_##kind##_gpu;
#define QMV_DECLARE_SIDES(id, name, op, ...) QMV_KINDS(QMV_DECLARE_SIDE, op)
TCB_FORMAT_LIST(QMV_DECLARE_SIDES)
#undef QMV_DECLARE_SIDES
#undef QMV_DECLARE_SIDE

/* quant_matvec_gpu_work.c: GEOMETRY keeps the rules. */
void qmv_gpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry, struct tcb_footprint *out);

/* quant_matvec_gpu_rules.c */
extern const struct tcb_rule qmv_gpu_rules[];

/* quant_matvec_gpu_space.c */
extern const struct tcb_side_space qmv_gpu_space;
/* Is GEOMETRY one of the quantised matmul's kernels (contract q8), which compute a matvec of several tokens? */
int qmv_gpu_is_product(const struct tcb_geometry *geometry);

#endif
