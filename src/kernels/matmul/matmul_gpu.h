/* SPDX-License-Identifier: MIT
 *
 * The dense products on GPUs: how a geometry drives their kernels.
 *
 *   macro m      rows of C that blocks which run together go down before they step to the right (L2)
 *   midi m x n   the tile of C of one block; midi k: the step along k that one stage of shared memory holds
 *   micro m x n  the tile of one warp (isa=fma, mma) or warpgroup (wgmma), in registers
 *   micro k      as midi k: the loop over a step is unrolled
 *   stages       steps of k in shared memory, the one in use included
 *   splitk       blocks that share a tile of C, each a part of k; the last one adds the parts in order
 *   copy         ldg: loads, then stores to shared memory; async: cp.async; bulk: tensor copies (wgmma)
 *   vec          bytes of a copy of A; fma: 4 puts A into shared memory with k running slowest
 *   blocks       0: a block per tile; 1 and more: as many blocks per SM, which stay for all tiles
 *   sched        streamk, where blocks stay: the tiles of the last round are dealt to them by their
 *                steps along k (matmul_gpu_pieces.h); left out: all tiles are whole
 *   turns        1, where blocks stay: each warpgroup has a tile of micro's size of its own, and they take turns
 *                at the tensor cores, so that one stores its results while the next one multiplies; left
 *                out: those of a block share a tile of midi's size
 *   cluster      blocks, one below the other, that share what they copy of B
 *   occ          blocks per SM that the registers of a thread leave room for
 *   pdl          1: may be launched before the launch before it has ended
 */
#ifndef TCB_KERNELS_MATMUL_GPU_H
#define TCB_KERNELS_MATMUL_GPU_H

#include "kernels/matmul/matmul.h"

/* matmul_gpu_emit.c */
extern const struct tcb_side matmul_f32_gpu, matmul_f16_gpu, matmul_bf16_gpu;

/* matmul_gpu_work.c */
extern const struct tcb_rule matmul_gpu_rules[];
void matmul_gpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
			  const struct tcb_geometry *geometry, struct tcb_footprint *out);

/* matmul_gpu_space.c */
extern const struct tcb_side_space matmul_gpu_space;

#endif
