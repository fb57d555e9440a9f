/* SPDX-License-Identifier: MIT
 *
 * Whose kernels measure the limits of a kind of device.
 */
#include "kernels/limit.h"

#include <assert.h>
#include <string.h>

#include "kernels/limit_gpu.h"
#include "kernels/opencl/opencl_limit.h"
#include "kernels/wgsl/wgsl_limit.h"

enum { FORMS_MAX = 4 };

/* By enum tcb_target_kind: kernels that move bytes, so many, and those that compute; NULL: nobody wrote any. */
static const struct {
	size_t count;
	enum tcb_status (*make)(const struct tcb_problem *problem, const struct tcb_target *target, size_t number,
				int dependent, struct tcb_kernel *out, struct tcb_error *err);
	enum tcb_status (*computing)(const struct tcb_problem *problem, const struct tcb_target *target,
				     struct tcb_code_image **out, struct tcb_error *err);
} limits[] = { [TCB_TARGET_CUDA] = { TCB_LIMITS_GPU, tcb_limit_gpu, tcb_compute_limit_gpu },
	       [TCB_TARGET_WGPU] = { TCB_LIMITS_WGSL, tcb_limit_wgsl, tcb_compute_limit_wgsl },
	       [TCB_TARGET_OPENCL] = { TCB_LIMITS_OPENCL, tcb_limit_opencl, NULL } };

enum tcb_status tcb_limit_image(const struct tcb_problem *problem, const struct tcb_target *target, int dependent,
				struct tcb_code_image **out, struct tcb_error *err)
{
	struct tcb_kernel kernels[FORMS_MAX];
	const size_t count = limits[target->kind].count;
	enum tcb_status status = TCB_OK;

	assert(count <= FORMS_MAX);
	memset(kernels, 0, sizeof kernels);
	for (size_t i = 0; i < count && status == TCB_OK; i++)
		status = limits[target->kind].make(problem, target, i, dependent, &kernels[i], err);
	if (status == TCB_OK)
		status = tcb_code_compile(kernels, count, target, out, err);
	for (size_t i = 0; i < count; i++)
		tcb_kernel_fini(&kernels[i]);
	return status;
}

enum tcb_status tcb_compute_limit_image(const struct tcb_problem *problem, const struct tcb_target *target,
					struct tcb_code_image **out, struct tcb_error *err)
{
	if (!tcb_has_compute_limit(target))
		return tcb_fail(err, TCB_E_UNSUPPORTED, "the compute limit of %s is not measured",
				tcb_kind_of(target)->name);
	return limits[target->kind].computing(problem, target, out, err);
}

int tcb_has_compute_limit(const struct tcb_target *target)
{
	return limits[target->kind].computing != NULL;
}
