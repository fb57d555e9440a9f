/* SPDX-License-Identifier: MIT
 *
 * The quantised matvec on GPUs: a warp's own ring of tiles in shared memory.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_GPU_RING_H
#define TCB_KERNELS_QUANT_MATVEC_GPU_RING_H

#include "kernels/quant_matvec/quant_matvec_gpu_lane.h"

struct qmv_ring {
	struct tcb_kit_ring kit;     /* of the warp */
	kit_op source[QMV_PARTS];    /* global: the warp's part of row 0, by stream */
	struct qmv_where lane, last; /* a lane's parts in a slot; the same in a partial step */
};
void qmv_write_ring_open(struct qmv_writer *w, struct qmv_ring *ring);
/* Asks for CHUNK of GROUP, if the block has it, into slot WHICH (tcb_kit_ring_slot). */
void qmv_write_ring_fill(struct qmv_writer *w, struct qmv_ring *ring, kit_op group, unsigned chunk, int which);
void qmv_write_ring_wait(struct qmv_writer *w, const struct qmv_ring *ring);
/* A unit of the slot in use: STEP counts from the chunk's first. */
void qmv_write_ring_take(struct qmv_writer *w, struct qmv_ring *ring, unsigned row, unsigned step,
			 struct qmv_lane_w *out);
/* Row I of GROUP (.u32), or its tile: the last of all where there is no such row. */
kit_op qmv_write_row(struct qmv_writer *w, kit_op group, unsigned i);

#endif
