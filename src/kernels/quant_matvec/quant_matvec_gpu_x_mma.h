/* SPDX-License-Identifier: MIT
 *
 * The quantised matvec on GPUs: activations as the products of isa=mma read them.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_GPU_X_MMA_H
#define TCB_KERNELS_QUANT_MATVEC_GPU_X_MMA_H

#include "kernels/quant_matvec/quant_matvec_gpu_writer.h"

/* Bytes of a piece's activations in one part. */
unsigned qmv_gpu_piece_bytes(const struct qmv_gpu *g);
#define QMV_REST 4096.0f /* what the second half of an activation is larger by */
/* Where the image has a lane's eight values of a superblock; stores them, from ADDRESS on. */
kit_op qmv_write_mma_place(struct qmv_writer *w);
void qmv_write_mma_values(struct qmv_writer *w, const kit_op value[8], kit_op address);
/* What a superblock's activations are multiplied by under contract f32, and 2^10 over that. */
kit_op qmv_write_mma_scale(struct qmv_writer *w, kit_op largest, kit_op *inverse);
/* Where the image has the activations of a lane's first piece. */
kit_op qmv_write_mma_base(struct qmv_writer *w, kit_op superblock);

#endif
