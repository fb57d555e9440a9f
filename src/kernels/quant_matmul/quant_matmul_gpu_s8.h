/* SPDX-License-Identifier: MIT
 *
 * The quantised matmuls on GPUs: products of bytes (contract q8).
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_GPU_S8_H
#define TCB_KERNELS_QUANT_MATMUL_GPU_S8_H

#include "kernels/quant_matmul/quant_matmul_gpu_weights.h"

void qmm_write_s8_constants(struct qmm_writer *w);
/* SUMS += a unit's products, its codes and header in RAW, or, where weights come
 * from a ring, AT bytes behind LANE and TILE_ROWS from one tile of rows to the next.  X_AT: where the lane reads of a
 * record of activations, X_OFFSET bytes before the unit's. */
enum qmm_x_part { QMM_X_LOW, QMM_X_HIGH, QMM_X_SUMS, QMM_X_SCALES, QMM_X_PARTS };
void qmm_write_unit_s8(struct qmm_writer *w, const struct qmm_lane_at *lane, unsigned at, unsigned tile_rows,
		       struct qmm_raw raw[], const kit_op x_at[QMM_X_PARTS], unsigned x_offset,
		       kit_op sums[][QMM_TOKENS_MAX / 8][4]);

#endif
