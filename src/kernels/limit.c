/* SPDX-License-Identifier: MIT
 *
 * Whose kernels measure the limits of a kind of device.
 */
#include "kernels/limit.h"

#include "kernels/limit_gpu.h"
#include "kernels/opencl/opencl_limit.h"
#include "kernels/wgsl/wgsl_limit.h"

/* By enum tcb_target_kind; NULL: nobody wrote any. */
static const struct {
	enum tcb_status (*moving)(const struct tcb_problem *problem, const struct tcb_target *target, int dependent,
				  struct tcb_code_image **out, struct tcb_error *err);
	enum tcb_status (*computing)(const struct tcb_problem *problem, const struct tcb_target *target,
				     struct tcb_code_image **out, struct tcb_error *err);
} limits[] = { [TCB_TARGET_CUDA] = { tcb_limit_gpu, tcb_compute_limit_gpu },
	       [TCB_TARGET_WGPU] = { tcb_limit_wgsl, tcb_compute_limit_wgsl },
	       [TCB_TARGET_OPENCL] = { tcb_limit_opencl, NULL } };

enum tcb_status tcb_limit_image(const struct tcb_problem *problem, const struct tcb_target *target, int dependent,
				struct tcb_code_image **out, struct tcb_error *err)
{
	return limits[target->kind].moving(problem, target, dependent, out, err);
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
