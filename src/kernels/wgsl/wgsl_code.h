/* SPDX-License-Identifier: MIT
 *
 * Kernels in WGSL, for those that make and run them.  A kernel is one module,
 * whose entries are launched in order.  Argument I of a launch is bound in group 0
 * as its own part says; what depends on the shape, beside grids, are the module's
 * pipeline-overridable constants.
 *
 * Whoever runs it binds every operand with its bytes rounded up to a multiple of
 * TCB_WGSL_ALIGN, whatever is behind its end: vectors at the end reach over it.
 * An offset is a multiple of 256, as everywhere.
 */
#ifndef TCB_KERNELS_WGSL_WGSL_CODE_H
#define TCB_KERNELS_WGSL_WGSL_CODE_H

#include "base/util.h"
#include "kernels/op.h"

enum { TCB_WGSL_CONSTANTS_MAX = 12, TCB_WGSL_NAME_MAX = 24, TCB_WGSL_ALIGN = 16, TCB_WGSL_WORKSPACE_ALIGN = 256 };

struct tcb_wgsl_constant {
	char name[TCB_WGSL_NAME_MAX];
	uint32_t value;
};

/* The own part of a launch: in images as it is. */
struct tcb_launch_wgsl {
	uint32_t constant_count;
	struct tcb_wgsl_constant constant[TCB_WGSL_CONSTANTS_MAX];
	uint8_t binding[TCB_ARGUMENTS_MAX]; /* of each argument */
	/* Operands are bound with their own bytes, in whole words, since the module may ask for an array's length: of
	 * modules that are not ours. */
	uint32_t is_exact;
	size_t bytes[TCB_ARGUMENTS_MAX]; /* of each that is a part of the workspace; parts do not overlap */
};

/* OWN of a launch in an image; lent. */
static inline const struct tcb_launch_wgsl *tcb_launch_wgsl(const void *own)
{
	return own;
}

/* What struct tcb_kernel's code is. */
struct tcb_kernel_wgsl {
	struct tcb_str text;
	struct tcb_launch_wgsl launch[TCB_LAUNCHES_MAX];
};

/* KERNEL's, which is in WGSL. */
struct tcb_kernel_wgsl *tcb_kernel_wgsl(const struct tcb_kernel *kernel);

#endif
