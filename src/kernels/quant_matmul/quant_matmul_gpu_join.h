/* SPDX-License-Identifier: MIT
 *
 * The quantised matmuls on GPUs: sums of a warp, of the warps of a block and of
 * blocks, to y.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_GPU_JOIN_H
#define TCB_KERNELS_QUANT_MATMUL_GPU_JOIN_H

#include "kernels/quant_matmul/quant_matmul_gpu_writer.h"

/* Before anything is computed; and before the first results: by all of a block's threads. */
void qmm_write_join_open(struct qmm_writer *w);
void qmm_write_join_meet(struct qmm_writer *w);
/* Sums of a warp, in new registers; then those of group GROUP, chains added: to y, or to the parts in shared memory. */
void qmm_write_zero(struct qmm_writer *w, struct qmm_sums *sums);
/* is_halved: what is between them, sums being zero, goes over the halves of K (HALF, the first is 0), each from zero
 * on; without that it is done once. */
void qmm_write_halves_begin(struct qmm_writer *w, struct qmm_sums *sums, kit_op *half);
void qmm_write_halves_end(struct qmm_writer *w, struct qmm_sums *sums, kit_op half);
/* The same without a loop: the first half is over. */
void qmm_write_half_over(struct qmm_writer *w, struct qmm_sums *sums);
void qmm_write_results(struct qmm_writer *w, kit_op group, struct qmm_sums *sums);
/* After all groups: what warps and blocks have of the same rows is added, to y. */
void qmm_write_join(struct qmm_writer *w);
/* Which of the CAST blocks of neighbouring rows this one is. */
kit_op qmm_write_cast_rank(struct qmm_writer *w);

#endif
