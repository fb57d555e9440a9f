/* SPDX-License-Identifier: MIT
 *
 * The quantised matvec on GPUs: a lane's place in a superblock, its weights from
 * memory to registers, and its codes.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_GPU_LANE_H
#define TCB_KERNELS_QUANT_MATVEC_GPU_LANE_H

#include "kernels/quant_matvec/quant_matvec_gpu_writer.h"

void qmv_write_table_constants(struct qmv_writer *w);
void qmv_write_lane_constants(struct qmv_writer *w);
/* Addresses (.u64 or .u32) of a lane's parts of a superblock; of the last words of code and high where narrow. */
struct qmv_where {
	kit_op at[QMV_PARTS], tail[2], select[2];
};
/* From addresses of the parts: narrow ones rounded down to words. */
void qmv_write_where(struct qmv_writer *w, const char *type, struct qmv_where *where);
/* Loads from MEMORY, OFFSET[part] behind WHERE into OUT, whose registers exist already if IS_AGAIN. */
void qmv_write_lane_load(struct qmv_writer *w, enum tcb_kit_memory memory, const struct qmv_where *where,
			 const int64_t offset[QMV_PARTS], int is_again, struct qmv_lane_w *out);
/* Aligns narrow words, and takes pieces of expanded formats apart, once, before the other two are called. */
void qmv_write_lane_align(struct qmv_writer *w, const struct qmv_lane_w *loaded, struct qmv_lane_w *out);
/* Word I of the low or high codes, a byte each; those of nibbles without a table come 16 times as large if high. */
kit_op qmv_write_codes(struct qmv_writer *w, const struct qmv_lane_w *weights, unsigned i, int is_high);
/* Of rows of values, a lane's, f32. */
void qmv_write_values(struct qmv_writer *w, const struct qmv_lane_w *weights, kit_op value[QMV_FLOAT_VALUES]);
/* Two of them, bytes 0 and 2, or 1 and 3: halves of 2^-24 times the code. */
kit_op qmv_write_halves(struct qmv_writer *w, const struct qmv_lane_w *weights, unsigned i, int is_high, int is_odd);

#endif
