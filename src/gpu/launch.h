/* SPDX-License-Identifier: MIT
 *
 * Kernels on a GPU: a unit of a code image is loaded into the current context,
 * its arguments are laid out, its launches go to a stream.  What happens before
 * and after (memory, timing, faults) is the caller's.
 */
#ifndef TCB_GPU_LAUNCH_H
#define TCB_GPU_LAUNCH_H

#include "device/cuda.h"
#include "kernels/code.h"
#include "kernels/gpu/ptx_code.h"

/* The values of a launch's parameters, where POINTER, which the driver takes, leads; not to be copied.  The driver
 * wants tensor maps aligned. */
struct tcb_gpu_values {
	_Alignas(TCB_PTX_TENSOR_MAP_ALIGN) unsigned char map[TCB_TENSORS_MAX][TCB_PTX_TENSOR_MAP_BYTES];
	uint64_t word[TCB_ARGUMENTS_MAX];
	void *pointer[TCB_ARGUMENTS_MAX];
};

/* A unit of an image, loaded into the context that was current then. */
struct tcb_gpu_code {
	const struct tcb_cuda *cuda;
	const struct tcb_code_unit *unit; /* lent by the image */
	CUmodule module;
	CUfunction function[TCB_LAUNCHES_MAX];
};

enum { TCB_GPU_LOG_MAX = 200 };

/* All return the driver's result.  LOG gets what its assembler says, or "".  After a failure unload, too. */
int tcb_gpu_code_load(const struct tcb_cuda *cuda, const struct tcb_code_image *image, size_t unit,
		      struct tcb_gpu_code *out, char log[TCB_GPU_LOG_MAX]);
void tcb_gpu_code_unload(struct tcb_gpu_code *code); /* zeroed is fine */
/* Lays out LAUNCH's parameters for operands and a workspace at these addresses. */
int tcb_gpu_lay_out(const struct tcb_cuda *cuda, const struct tcb_code_launch *launch,
		    const uint64_t operand[TCB_OPERANDS_MAX], uint64_t workspace, struct tcb_gpu_values *out);
/* All launches, in order, to STREAM; does not wait.  OVERLAP: those that may be dependent are, on what is before them
 * in the stream. */
int tcb_gpu_code_launch(const struct tcb_gpu_code *code, const uint64_t operand[TCB_OPERANDS_MAX], uint64_t workspace,
			CUstream stream, int overlap);

#endif
