/* SPDX-License-Identifier: MIT
 *
 * The read limit, measured with kernels in OpenCL C.
 */
#ifndef TCB_KERNELS_OPENCL_OPENCL_LIMIT_H
#define TCB_KERNELS_OPENCL_OPENCL_LIMIT_H

#include "kernels/code.h"

enum { TCB_LIMITS_OPENCL = 2 };
/* Kernel NUMBER of those that move bytes (kernels/limit.c); DEPENDENT does not matter. */
enum tcb_status tcb_limit_opencl(const struct tcb_problem *problem, const struct tcb_target *target, size_t number,
				 int dependent, struct tcb_kernel *out, struct tcb_error *err);

#endif
