/* SPDX-License-Identifier: MIT
 *
 * The quantised matmuls on GPUs: products of a unit with mma.sync (contract f16).
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_GPU_UNIT_H
#define TCB_KERNELS_QUANT_MATMUL_GPU_UNIT_H

#include "kernels/quant_matmul/quant_matmul_gpu_weights.h"

/* SUMS += a unit's products with the first GROUPS times 8 tokens of the tile, its codes and header in RAW, or, where
 * weights come from a ring, AT bytes behind LANE and TILE_ROWS from one tile of rows to the next.  X_AT: where the lane
 * reads of a tile of activations (qmm_write_lane_rows()), X_OFFSET bytes before the unit's. */
void qmm_write_unit(struct qmm_writer *w, const struct qmm_lane_at *lane, unsigned at, unsigned tile_rows,
		    struct qmm_raw raw[], const kit_op x_at[2], unsigned x_offset, unsigned groups,
		    struct qmm_sums *sums);

#endif
