/* SPDX-License-Identifier: MIT
 *
 * Plans for WebGPU: the module is handed out with its launches, for the program to
 * run in its own device (SPEC section 9a).
 */
#include <stdio.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/wgsl/wgsl_code.h"
#include "rt/rt_plan.h"
#include "tcbrt_wgpu.h"

int tcbrt_wgpu_device(const struct tcbrt_wgpu_adapter *adapter, char name[TCBRT_WGPU_NAME_MAX], struct tcbrt_error *err)
{
	struct tcb_error error = { .message = "" };
	enum tcb_status status = TCB_OK;

	_Static_assert((int)TCBRT_WGPU_NAME_MAX == (int)TCB_DEVICE_NAME_MAX, "every name has room");
	if (adapter && name)
		rt_wgpu_name(adapter, name);
	else
		status = tcb_fail(&error, TCB_E_USAGE, "ADAPTER or NAME is NULL");
	return rt_report(status, &error, err);
}

static struct tcbrt_wgpu_binding binding_of(const struct tcbrt_plan *plan, const struct tcb_code_launch *launch,
					    uint32_t index)
{
	const struct tcb_launch_wgsl *own = tcb_launch_wgsl(launch->own);
	const struct tcb_argument *argument = &launch->argument[index];
	struct tcbrt_wgpu_binding out = { .binding = own->binding[index], .operand = -1, .is_written = 1 };

	if (argument->kind == TCB_ARGUMENT_WORKSPACE) {
		out.offset = argument->value;
		out.bytes = own->bytes[index];
	} else {
		const struct tcbrt_operand *operand = &plan->operand[argument->value];

		out.operand = (int)argument->value;
		out.is_written = operand->role == TCBRT_ROLE_OUTPUT;
		out.bytes =
			tcb_round_up(operand->packed_bytes ? operand->packed_bytes : operand->bytes, TCB_WGSL_ALIGN);
	}
	return out;
}

static void fill_launch(const struct tcbrt_plan *plan, const struct tcb_code_launch *from, struct tcbrt_wgpu_launch *to)
{
	const struct tcb_launch_wgsl *own = tcb_launch_wgsl(from->own);

	_Static_assert((int)TCBRT_WGPU_CONSTANTS_MAX == (int)TCB_WGSL_CONSTANTS_MAX, "every constant has room");
	to->entry = from->entry;
	to->workgroup = from->block[0];
	memcpy(to->dispatch, from->grid, sizeof(to->dispatch));
	to->binding_count = from->argument_count;
	for (uint32_t i = 0; i < from->argument_count; i++)
		to->binding[i] = binding_of(plan, from, i);
	to->constant_count = own->constant_count;
	for (uint32_t i = 0; i < own->constant_count; i++)
		to->constant[i] = (struct tcbrt_wgpu_constant){ own->constant[i].name, own->constant[i].value };
}

/* What the module's directives ask for; products of bytes are an instruction family's. */
static unsigned features_of(const struct tcbrt_plan *plan, const char *wgsl)
{
	return (strstr(wgsl, "enable f16;\n") ? TCBRT_WGPU_F16 : 0u) |
	       (strstr(wgsl, "enable subgroups;\n") ? TCBRT_WGPU_SUBGROUPS : 0u) |
	       (plan->geometry.knob[TCB_KNOB_ISA] == TCB_ISA_WGSL_DP4A ? TCBRT_WGPU_DP4A : 0u);
}

int tcbrt_wgpu_code(const struct tcbrt_plan *plan, struct tcbrt_wgpu_code *out)
{
	const struct tcb_code_unit *unit;

	if (!plan || !rt_plan_is_launched(plan) || plan->language != &tcb_language_wgsl || !out)
		return TCBRT_E_USAGE;
	unit = &plan->image->unit[0];
	memset(out, 0, sizeof(*out));
	out->wgsl = (const char *)plan->image + unit->offset;
	out->bytes = unit->bytes - 1;
	out->features = features_of(plan, out->wgsl);
	out->launch_count = unit->launch_count;
	for (unsigned i = 0; i < out->launch_count; i++)
		fill_launch(plan, &unit->launch[i], &out->launch[i]);
	return TCBRT_OK;
}
