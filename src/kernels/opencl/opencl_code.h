/* SPDX-License-Identifier: MIT
 *
 * Kernels in OpenCL C, for those that make and run them.  A kernel is the text of a
 * program, whose first line is a comment with the options that it is built with.
 * Arguments OWN are local memory of as many bytes as their value says.
 */
#ifndef TCB_KERNELS_OPENCL_OPENCL_CODE_H
#define TCB_KERNELS_OPENCL_OPENCL_CODE_H

#include "base/util.h"
#include "kernels/op.h"

enum { TCB_OPENCL_FOLDER_MAX = 512 };
#define TCB_OPENCL_OPTIONS "// options:" /* what a text begins with; they are behind it */

/* The own part of a launch: in images as it is. */
struct tcb_launch_opencl {
	/* Where included files are, which no signature has; empty: nowhere.  It has no blanks. */
	char folder[TCB_OPENCL_FOLDER_MAX];
	uint8_t scalar_bytes[TCB_ARGUMENTS_MAX]; /* of each argument U32 or U64 */
};

/* OWN of a launch in an image; lent. */
static inline const struct tcb_launch_opencl *tcb_launch_opencl(const void *own)
{
	return own;
}

/* What struct tcb_kernel's code is. */
struct tcb_kernel_opencl {
	struct tcb_str text;
	struct tcb_launch_opencl launch; /* of the only one */
};

/* Makes of KERNEL, which has no code, one in OpenCL C; NULL: out of memory. */
struct tcb_kernel_opencl *tcb_kernel_opencl_new(struct tcb_kernel *kernel);

#endif
