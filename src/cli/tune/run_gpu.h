/* SPDX-License-Identifier: MIT
 *
 * One call of an op on a GPU, for tcbtune run.
 */
#ifndef TCB_CLI_RUN_GPU_H
#define TCB_CLI_RUN_GPU_H

#include "device/device.h"
#include "kernels/op.h"

/* HOST: the operands in the op's order, weights as stored; the output is written.  PACK_NS_OUT: repacking on the host,
 * RUN_NS_OUT: the launches and their end, after a first call that is not timed. */
enum tcb_status cli_run_gpu(const struct tcb_op *op, const struct tcb_problem *problem,
			    const struct tcb_geometry *geometry, const struct tcb_place *place, void *const host[],
			    double *pack_ns_out, double *run_ns_out, struct tcb_error *err);

#endif
