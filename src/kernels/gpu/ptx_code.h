/* SPDX-License-Identifier: MIT
 *
 * Kernels in PTX, for those that make and run them: the module, and what a
 * launch of CUDA has besides that of any language: clusters, dependent launch,
 * tensor maps.
 */
#ifndef TCB_KERNELS_GPU_PTX_CODE_H
#define TCB_KERNELS_GPU_PTX_CODE_H

#include "kernels/op.h"
#include "ptx/ir/ir.h"
#include "ptx/ir/tensor_map.h"

enum {
	TCB_TENSORS_MAX = 3,
	/* Bytes that the parameters of a launch take at most. */
	TCB_PARAMETERS_MAX =
		8 * TCB_ARGUMENTS_MAX + TCB_TENSORS_MAX * (TCB_PTX_TENSOR_MAP_BYTES + TCB_PTX_TENSOR_MAP_ALIGN)
};

/* What cp.async.bulk.tensor copies from or to. */
struct tcb_tensor {
	size_t operand;
	struct tcb_ptx_tensor_map map; /* but for the address */
	int in_workspace;              /* what was made of the operand, AT bytes into the workspace */
	size_t at;
};

static inline uint64_t tcb_tensor_address(const struct tcb_tensor *tensor, const uint64_t operand[], uint64_t workspace)
{
	return tensor->in_workspace ? workspace + tensor->at : operand[tensor->operand];
}

/* The own part of a launch: in images as it is. */
struct tcb_launch_ptx {
	uint32_t cluster[3]; /* zeros for none */
	/* The kernel waits for the launch before it where it must (griddepcontrol), so that it may be launched with
	 * programmatic stream serialization. */
	int is_dependent;
	/* For chains, bits of operands (1 << operand): what is read before that wait, all of it (EARLY) or the tokens
	 * that were there before this call's; outputs that get this call's tokens, and the lengths that say which. */
	uint32_t early, early_old, appended, lengths;
	struct tcb_tensor tensor[TCB_TENSORS_MAX]; /* arguments OWN: the tensor map of tensor[value] */
};

/* OWN of a launch in an image; lent. */
static inline const struct tcb_launch_ptx *tcb_launch_ptx(const void *own)
{
	return own;
}

/* What struct tcb_kernel's code is. */
struct tcb_kernel_ptx {
	struct tcb_ptx_module *module; /* whose arena this is in */
	struct tcb_launch_ptx launch[TCB_LAUNCHES_MAX];
};

/* KERNEL's, which is in PTX. */
struct tcb_kernel_ptx *tcb_kernel_ptx(const struct tcb_kernel *kernel);
/* Makes MODULE, with these own parts of its launches (NULL: zeros), the code of KERNEL, which has none.  MODULE is
 * KERNEL's from then on, or destroyed. */
enum tcb_status tcb_kernel_set_ptx(struct tcb_kernel *kernel, struct tcb_ptx_module *module,
				   const struct tcb_launch_ptx launch[TCB_LAUNCHES_MAX], struct tcb_error *err);
/* Lays out the parameters of launch INDEX as its entry wants them; returns their bytes, 0 when CAPACITY is too small
 * (TCB_PARAMETERS_MAX is enough) or a tensor map breaks a rule.  Tensor maps are the emulator's. */
size_t tcb_launch_parameters(const struct tcb_kernel *kernel, size_t index, const uint64_t operand[],
			     uint64_t workspace, void *out, size_t capacity);

#endif
