/* SPDX-License-Identifier: MIT
 *
 * Compiling, binding and dispatching the kernels of a code image in WebGPU.
 */
#include "gpu/wgpu_launch.h"

#include <string.h>

#include "base/sizes.h"
#include "kernels/wgsl/wgsl_code.h"

static WGPUComputePipeline make_pipeline(const struct tcb_wgpu_code *code, const struct tcb_code_launch *launch)
{
	const struct tcb_launch_wgsl *own = tcb_launch_wgsl(launch->own);
	struct tcb_wgpu_constant constants[TCB_WGSL_CONSTANTS_MAX];

	for (uint32_t i = 0; i < own->constant_count; i++)
		constants[i] = (struct tcb_wgpu_constant){ .name = tcb_wgpu_text(own->constant[i].name),
							   .value = own->constant[i].value };
	return tcb_wgpu_pipeline(code->session, code->module, launch->entry, constants, own->constant_count);
}

int tcb_wgpu_code_load(struct tcb_wgpu_session *session, const struct tcb_code_image *image, size_t unit,
		       int is_checked, struct tcb_wgpu_code *out, char why[TCB_WGPU_WHY_MAX])
{
	memset(out, 0, sizeof *out);
	out->session = session;
	out->unit = &image->unit[unit];
	out->module = tcb_wgpu_module(session, (const char *)image + out->unit->offset, is_checked);
	if (tcb_wgpu_failed(session, why))
		return -1;
	for (uint32_t i = 0; i < out->unit->launch_count; i++) {
		out->pipeline[i] = make_pipeline(out, &out->unit->launch[i]);
		if (tcb_wgpu_failed(session, why))
			return -1;
	}
	return 0;
}

void tcb_wgpu_code_unload(struct tcb_wgpu_code *code)
{
	if (!code->session)
		return;
	for (size_t i = 0; i < TCB_LAUNCHES_MAX; i++)
		if (code->pipeline[i])
			code->session->wgpu->pipeline_release(code->pipeline[i]);
	if (code->module)
		code->session->wgpu->module_release(code->module);
	memset(code, 0, sizeof *code);
}

static struct tcb_wgpu_binding bind_one(const struct tcb_code_launch *launch, uint32_t index,
					const struct tcb_wgpu_part operand[], const struct tcb_wgpu_part *workspace,
					size_t extra)
{
	const struct tcb_argument *argument = &launch->argument[index];
	struct tcb_wgpu_binding out = { .binding = tcb_launch_wgsl(launch->own)->binding[index] };

	if (argument->kind == TCB_ARGUMENT_WORKSPACE) {
		out.buffer = workspace->buffer;
		out.offset = workspace->at + argument->value;
		out.bytes = workspace->bytes - tcb_least(argument->value, workspace->bytes);
	} else {
		const struct tcb_wgpu_part *part = &operand[argument->value];

		out.buffer = part->buffer;
		out.offset = part->at;
		out.bytes = tcb_launch_wgsl(launch->own)->is_exact ? tcb_round_up(part->bytes, 4)
								   : tcb_round_up(part->bytes, TCB_WGSL_ALIGN) + extra;
	}
	return out;
}

int tcb_wgpu_code_bind(const struct tcb_wgpu_code *code, const struct tcb_wgpu_part operand[TCB_OPERANDS_MAX],
		       const struct tcb_wgpu_part *workspace, size_t extra, struct tcb_wgpu_bound *out,
		       char why[TCB_WGPU_WHY_MAX])
{
	struct tcb_wgpu_binding entries[TCB_ARGUMENTS_MAX];

	memset(out, 0, sizeof *out);
	for (uint32_t i = 0; i < code->unit->launch_count; i++) {
		const struct tcb_code_launch *launch = &code->unit->launch[i];

		for (uint32_t j = 0; j < launch->argument_count; j++)
			entries[j] = bind_one(launch, j, operand, workspace, extra);
		out->group[i] = tcb_wgpu_bind(code->session, code->pipeline[i], entries, launch->argument_count);
	}
	return tcb_wgpu_failed(code->session, why) ? -1 : 0;
}

void tcb_wgpu_code_unbind(const struct tcb_wgpu_code *code, struct tcb_wgpu_bound *bound)
{
	for (size_t i = 0; i < TCB_LAUNCHES_MAX; i++)
		if (bound->group[i])
			code->session->wgpu->bind_group_release(bound->group[i]);
	memset(bound, 0, sizeof *bound);
}

void tcb_wgpu_code_dispatch(const struct tcb_wgpu_code *code, const struct tcb_wgpu_bound *bound,
			    WGPUComputePassEncoder pass)
{
	const struct tcb_wgpu *wgpu = code->session->wgpu;

	for (uint32_t i = 0; i < code->unit->launch_count; i++) {
		const uint32_t *grid = code->unit->launch[i].grid;

		wgpu->set_pipeline(pass, code->pipeline[i]);
		wgpu->set_bind_group(pass, 0, bound->group[i], 0, NULL);
		wgpu->dispatch(pass, grid[0], grid[1], grid[2]);
	}
}
