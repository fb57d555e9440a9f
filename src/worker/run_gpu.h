/* SPDX-License-Identifier: MIT
 *
 * One call of an op on a GPU.
 */
#ifndef TCB_WORKER_RUN_GPU_H
#define TCB_WORKER_RUN_GPU_H

#include "device/device.h"
#include "kernels/op.h"

/* A backend's `run`. */
enum tcb_status tcb_run_gpu(const struct tcb_op *op, const struct tcb_problem *problem,
			    const struct tcb_geometry *geometry, const struct tcb_place *place, void *const host[],
			    double *pack_ns_out, double *run_ns_out, struct tcb_error *err);

#endif
