/* SPDX-License-Identifier: MIT
 *
 * The quantised matvec on GPUs: what it is fused with (quant_matvec_fused.h), a
 * norm of the activations and a gate of the results.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_GPU_FUSED_H
#define TCB_KERNELS_QUANT_MATVEC_GPU_FUSED_H

#include "kernels/quant_matvec/quant_matvec_gpu_writer.h"

enum { QMV_SQUARES_BYTES = 8 }; /* of one part of the sum of squares, in the image */

/* A lane's sum of squares: begins, adds eight VALUES; stores that of the warp as part PART (.u32) of the image. */
void qmv_write_squares_begin(struct qmv_writer *w);
void qmv_write_squares_add(struct qmv_writer *w, const kit_op value[8]);
void qmv_write_squares_store(struct qmv_writer *w, kit_op part);
/* W->factor, or W->factors of the block's tokens, from all parts in shared memory, behind a barrier. */
void qmv_write_factor(struct qmv_writer *w);
/* W->factor of the block's token TOKEN, one of several. */
void qmv_write_factor_of(struct qmv_writer *w, kit_op token);

/* What becomes of the sum of row ROW of N, or of GATE's and UP's, where HAS (NULL: everywhere) there is one. */
kit_op qmv_write_result(struct qmv_writer *w, const kit_op *has, kit_op row, kit_op gate, kit_op up);
/* SUM, and where HAS (NULL: everywhere) the float AT of an input. */
kit_op qmv_write_sum_with(struct qmv_writer *w, const kit_op *has, kit_op at, kit_op sum);

/* What all that rounds: of a norm in the chain, of a gate in ulps of the result. */
double qmv_gpu_norm_chain(const struct qmv_gpu *g);
double qmv_gpu_gate_ulps(const struct qmv_gpu *g);

#endif
