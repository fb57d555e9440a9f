/* SPDX-License-Identifier: MIT
 *
 * The time of an op's GPU kernel on a device that is not there, by simulating
 * one multiprocessor of it (ptx/model/simulate.h).
 */
#ifndef TCB_KERNELS_TIMING_H
#define TCB_KERNELS_TIMING_H

#include "kernels/op.h"
#include "ptx/model/simulate.h"

/* In both cache states.  Cold: operands that stream come from device memory, the others from the L2; hot: all that fits
 * in the L2 comes from there.  REGISTERS: of the largest launch, from the assembler; 0: estimated.  TCB_E_UNSUPPORTED
 * for a kernel that the simulation does not understand. */
enum tcb_status tcb_kernel_time(const struct tcb_op *op, const struct tcb_kernel *kernel,
				const struct tcb_ptx_machine *machine, unsigned registers,
				struct tcb_ptx_timing out[TCB_STATE_COUNT], struct tcb_error *err);

#endif
