/* SPDX-License-Identifier: MIT
 *
 * The recurrent ops' sides of GPUs.  How a geometry drives the kernels: delta_gpu_plan.h.
 */
#ifndef TCB_KERNELS_DELTA_GPU_H
#define TCB_KERNELS_DELTA_GPU_H

#include "kernels/delta/delta.h"

/* delta_gpu.c */
#define DELTA_SIDE(state, ID, type, text, rule) \
	extern const struct tcb_side rule##_decode_##state##_gpu, rule##_prefill_##state##_gpu;
DELTA_STATE_LIST(DELTA_SIDE, delta)
DELTA_STATE_LIST(DELTA_SIDE, ssd)
#undef DELTA_SIDE

#endif
