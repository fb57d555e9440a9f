/* SPDX-License-Identifier: MIT
 *
 * The read limit, measured with kernels in OpenCL C.
 */
#ifndef TCB_KERNELS_OPENCL_OPENCL_LIMIT_H
#define TCB_KERNELS_OPENCL_OPENCL_LIMIT_H

#include "kernels/code.h"

/* As tcb_limit_image (kernels/limit.h). */
enum tcb_status tcb_limit_opencl(const struct tcb_problem *problem, const struct tcb_target *target, int dependent,
				 struct tcb_code_image **out, struct tcb_error *err);

#endif
