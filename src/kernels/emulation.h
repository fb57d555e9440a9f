/* SPDX-License-Identifier: MIT
 *
 * Running an op's GPU kernel in the emulator against the op's reference.
 *
 * Each operand is a region of its own in device memory with unmapped space
 * around it, inputs are read-only, outputs are poisoned and the workspace is
 * zeroed once; the kernel is called twice, the second time with its warps in
 * another order and the workspace as the first call left it.
 */
#ifndef TCB_KERNELS_EMULATION_H
#define TCB_KERNELS_EMULATION_H

#include "kernels/op.h"
#include "ptx/emulate/emulate.h"

enum { TCB_EMULATION_CALLS = 2 };

struct tcb_kernel_emulation {
	/* of the first call, all launches */
	struct tcb_ptx_counts total;
	uint64_t by_class[TCB_PTX_COUNT_CLASSES];
	uint64_t global_read_bytes, global_write_bytes;
	/* of both */
	uint64_t findings;  /* errors that went to the sink */
	double error_ratio; /* largest |error| / allowed; above 1 it is wrong */
	const char *output; /* the one that has it */
	size_t first_bad;   /* its first element above 1, where ERROR_RATIO is */
	int calls_differ;   /* the second call gave other bits */
	double seconds;
};

/* MODULE: the text of KERNEL's module parsed again, so that findings have its lines; NULL: KERNEL's own. */
enum tcb_status tcb_kernel_emulate(const struct tcb_op *op, const struct tcb_kernel *kernel,
				   struct tcb_ptx_module *module, uint64_t seed, const struct tcb_ptx_sink *sink,
				   struct tcb_kernel_emulation *out, struct tcb_error *err);

#endif
