/* SPDX-License-Identifier: MIT
 *
 * The quantised matvec on GPUs: isa=mma, where a lane has parts of sixteen rows and
 * sums of two.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_GPU_MMA_H
#define TCB_KERNELS_QUANT_MATVEC_GPU_MMA_H

#include "kernels/quant_matvec/quant_matvec_gpu_lane.h"
#include "kernels/quant_matvec/quant_matvec_gpu_x.h"

void qmv_write_mma_constants(struct qmv_writer *w);
void qmv_write_mma_load(struct qmv_writer *w, enum tcb_kit_memory memory, const struct qmv_where *where,
			const int64_t offset[QMV_PARTS], int is_again, struct qmv_lane_w *out);
void qmv_write_mma_open(struct qmv_writer *w);
void qmv_write_mma_unit(struct qmv_writer *w, const struct qmv_lane_w *weights, const struct qmv_x_bases *bases,
			unsigned step, kit_op sum[2], kit_op mins[2]);
/* Rows g and g + 8 over the four lanes that share them: lane (g, t) gets that of row g + 8 (t mod 2). */
kit_op qmv_write_mma_sum(struct qmv_writer *w, kit_op value[2]);

#endif
