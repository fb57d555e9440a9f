/* SPDX-License-Identifier: MIT
 *
 * Kernels in OpenCL: a unit of a code image becomes a program and its kernel, which
 * is launched on memory.  What happens before and after is the caller's.
 */
#ifndef TCB_GPU_OPENCL_LAUNCH_H
#define TCB_GPU_OPENCL_LAUNCH_H

#include "device/opencl/opencl.h"
#include "kernels/code.h"

enum { TCB_OPENCL_WHY_MAX = 256 };

/* Of all that a program of UNIT, of IMAGE, is built from. */
uint64_t tcb_opencl_unit_hash(const struct tcb_code_image *image, const struct tcb_code_unit *unit);
/* Nonzero: WHY, with the line and column of the source; OUT is the caller's to release. */
int tcb_opencl_build(const struct tcb_opencl_session *session, const struct tcb_code_image *image,
		     const struct tcb_code_unit *unit, tcb_cl_program *out, char why[TCB_OPENCL_WHY_MAX]);
/* The kernel of LAUNCH in PROGRAM.  Negative: there is none; positive: the device does not run it so.  Release OUT,
 * unless it is NULL, in any case. */
int tcb_opencl_kernel(const struct tcb_opencl_session *session, tcb_cl_program program,
		      const struct tcb_code_launch *launch, tcb_cl_kernel *out, char why[TCB_OPENCL_WHY_MAX]);
/* One call, not waited for; MEMORY by argument, of those that are operands or the workspace.  EVENT_OUT (nullable) is
 * the caller's to release.  OpenCL's status, and WHY where it is none of success. */
int32_t tcb_opencl_launch(const struct tcb_opencl_session *session, tcb_cl_kernel kernel,
			  const struct tcb_code_launch *launch, const tcb_cl_memory memory[TCB_ARGUMENTS_MAX],
			  tcb_cl_event *event_out, char why[TCB_OPENCL_WHY_MAX]);

#endif
