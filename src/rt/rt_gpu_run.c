/* SPDX-License-Identifier: MIT
 *
 * Running a plan on a GPU (SPEC section 9a), in the caller's context and on its
 * stream, and the same in parts for programs that have a driver of their own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/gpu.h"
#include "gpu/launch.h"
#include "rt/rt_chain.h"

struct tcbrt_gpu {
	const struct tcbrt_plan *plan;
	struct tcb_gpu_code code;
};

/* The current context's GPU: its kind and the key of its model. */
static enum tcb_status find_device(const struct tcb_cuda *cuda, char name[TCBRT_GPU_NAME_MAX], struct tcb_error *err)
{
	struct tcb_gpu gpu;
	int device, result = cuda->context_device(&device);

	if (result != TCB_CUDA_SUCCESS)
		return tcb_fail(err, TCB_E_USAGE, "no CUDA context is current (%s): set one on this thread",
				tcb_cuda_error_name(cuda, result));
	TCB_TRY(tcb_gpu_describe(cuda, device, &gpu, err));
	(void)snprintf(name, TCBRT_GPU_NAME_MAX, "sm_%u:%s", gpu.device.target.cuda.capability, gpu.device.key);
	return TCB_OK;
}

/* May a plan for DEVICE, "sm_90:KEY" or any "sm_90", be loaded on the GPU of that NAME? */
static int is_for(const char *device, const char *name)
{
	return strcmp(device, name) == 0 || (!strchr(device, ':') && strncmp(device, name, strcspn(name, ":")) == 0 &&
					     strlen(device) == strcspn(name, ":"));
}

int tcbrt_gpu_device(char name[TCBRT_GPU_NAME_MAX], struct tcbrt_error *err)
{
	struct tcb_error error = { .message = "" };
	const struct tcb_cuda *cuda;
	enum tcb_status status;

	if (!name)
		status = tcb_fail(&error, TCB_E_USAGE, "there is no place for the name: NAME is NULL");
	else if (!(cuda = tcb_cuda_open(&error)))
		status = TCB_E_UNSUPPORTED;
	else
		status = find_device(cuda, name, &error);
	return rt_report(status, &error, err);
}

static enum tcb_status load(const struct tcbrt_plan *plan, struct tcbrt_gpu **out, struct tcb_error *err)
{
	char name[TCBRT_GPU_NAME_MAX], log[TCB_GPU_LOG_MAX], what[TCB_GPU_LOG_MAX + 64];
	const struct tcb_cuda *cuda;
	int result;

	if (!plan || !rt_plan_is_ptx(plan))
		return tcb_fail(err, TCB_E_USAGE, "loading wants a plan for a GPU: query.device is \"sm_90\" or such");
	cuda = tcb_cuda_open(err);
	if (!cuda)
		return TCB_E_UNSUPPORTED;
	TCB_TRY(find_device(cuda, name, err));
	if (!is_for(plan->device, name))
		return tcb_fail(err, TCB_E_UNSUPPORTED, "the plan is for %s, and the current context is on %s",
				plan->device, name);
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a plan of %s", plan->problem.op->name);
	(*out)->plan = plan;
	result = tcb_gpu_code_load(cuda, plan->image, 0, &(*out)->code, log);
	snprintf(what, sizeof(what), "loading a kernel for %s%s%.*s", plan->device, log[0] ? ": " : "",
		 (int)strcspn(log, "\n"), log);
	return tcb_cuda_check(cuda, result, what, err);
}

int tcbrt_gpu_load(const struct tcbrt_plan *plan, struct tcbrt_gpu **out, struct tcbrt_error *err)
{
	struct tcb_error error = { .message = "" };
	struct tcbrt_gpu *gpu = NULL;
	enum tcb_status status = out ? load(plan, &gpu, &error)
				     : tcb_fail(&error, TCB_E_USAGE, "there is no place for the plan: OUT is NULL");

	if (status != TCB_OK) {
		tcbrt_gpu_unload(gpu);
		gpu = NULL;
	}
	if (out)
		*out = gpu;
	return rt_report(status, &error, err);
}

void tcbrt_gpu_unload(struct tcbrt_gpu *gpu)
{
	if (!gpu)
		return;
	tcb_gpu_code_unload(&gpu->code);
	free(gpu);
}

const struct tcbrt_plan *rt_gpu_plan(const struct tcbrt_gpu *gpu)
{
	return gpu->plan;
}

/* In the arrays that laying out reads, which are longer than the op's operands. */
static int take_operands(const struct tcbrt_plan *plan, const unsigned long long operand[],
			 unsigned long long workspace, uint64_t out[TCB_OPERANDS_MAX])
{
	if (!operand || (plan->info.workspace_bytes && (!workspace || workspace % TCBRT_ALIGNMENT)))
		return -1;
	for (size_t i = 0; i < plan->info.operand_count; i++) {
		if (!operand[i] || operand[i] % plan->operand[i].alignment)
			return -1;
		out[i] = operand[i];
	}
	return 0;
}

int tcbrt_gpu_execute(const struct tcbrt_gpu *gpu, const unsigned long long operand[], unsigned long long workspace,
		      void *stream, unsigned flags)
{
	uint64_t addresses[TCB_OPERANDS_MAX] = { 0 };

	if (!gpu || (flags & ~(unsigned)TCBRT_GPU_OVERLAP) || take_operands(gpu->plan, operand, workspace, addresses))
		return TCBRT_E_USAGE;
	return tcb_gpu_code_launch(&gpu->code, addresses, workspace, stream, (flags & TCBRT_GPU_OVERLAP) != 0) ==
			       TCB_CUDA_SUCCESS
		       ? TCBRT_OK
		       : TCBRT_E_FAILED;
}

/* ---- in parts ---- */

int tcbrt_gpu_code(const struct tcbrt_plan *plan, struct tcbrt_gpu_code *out)
{
	const struct tcb_code_unit *unit;

	_Static_assert((int)TCBRT_LAUNCHES_MAX == (int)TCB_LAUNCHES_MAX &&
			       (int)TCBRT_ARGUMENTS_MAX == (int)TCB_ARGUMENTS_MAX,
		       "every launch and argument has room");
	if (!plan || !rt_plan_is_ptx(plan) || !out)
		return TCBRT_E_USAGE;
	unit = &plan->image->unit[0];
	memset(out, 0, sizeof(*out));
	out->code = (const char *)plan->image + unit->offset;
	out->bytes = unit->bytes;
	out->is_ptx = plan->image->is_text != 0;
	out->launch_count = unit->launch_count;
	for (unsigned i = 0; i < out->launch_count; i++) {
		const struct tcb_code_launch *from = &unit->launch[i];
		const struct tcb_launch_ptx *own = tcb_launch_ptx(from->own);
		struct tcbrt_gpu_launch *to = &out->launch[i];

		to->entry = from->entry;
		memcpy(to->grid, from->grid, sizeof(to->grid));
		memcpy(to->block, from->block, sizeof(to->block));
		memcpy(to->cluster, own->cluster, sizeof(to->cluster));
		to->shared_bytes = from->shared_bytes;
		to->may_overlap = own->is_dependent != 0;
		to->argument_count = from->argument_count;
	}
	return TCBRT_OK;
}

static struct tcb_gpu_values *values_in(struct tcbrt_gpu_arguments *arguments)
{
	const uintptr_t align = _Alignof(struct tcb_gpu_values);

	_Static_assert(sizeof(struct tcb_gpu_values) + _Alignof(struct tcb_gpu_values) <= sizeof(arguments->storage),
		       "the values have room wherever the struct is");
	return (struct tcb_gpu_values *)(void *)(((uintptr_t)arguments->storage + align - 1) & ~(align - 1));
}

int tcbrt_gpu_arguments(const struct tcbrt_plan *plan, unsigned index, const unsigned long long operand[],
			unsigned long long workspace, struct tcbrt_gpu_arguments *out, struct tcbrt_error *err)
{
	struct tcb_error error = { .message = "" };
	uint64_t addresses[TCB_OPERANDS_MAX] = { 0 };
	struct tcb_gpu_values *values;
	const struct tcb_cuda *cuda = NULL;
	enum tcb_status status = TCB_OK;

	if (!plan || !rt_plan_is_ptx(plan) || index >= plan->image->unit[0].launch_count || !out ||
	    take_operands(plan, operand, workspace, addresses))
		status = tcb_fail(&error, TCB_E_USAGE,
				  "arguments want a plan for a GPU, one of its launches, and aligned addresses");
	else if (!(cuda = tcb_cuda_open(&error)))
		status = TCB_E_UNSUPPORTED;
	if (status != TCB_OK)
		return rt_report(status, &error, err);
	values = values_in(out);
	status = tcb_cuda_check(
		cuda, tcb_gpu_lay_out(cuda, &plan->image->unit[0].launch[index], addresses, workspace, values),
		"laying out a tensor map", &error);
	memcpy(out->pointer, values->pointer, sizeof(out->pointer));
	return rt_report(status, &error, err);
}
