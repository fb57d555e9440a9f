/* SPDX-License-Identifier: MIT
 *
 * Candidates on a GPU of any kind, by its driver.
 */
#include "worker/gpu_runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"

enum { OWN_MOST = 1 << 28 /* bytes of outputs and workspaces of independent calls */ };

/* By enum tcb_target_kind. */
static const struct tcb_gpu_driver *const drivers[TCB_TARGET_COUNT] = { [TCB_TARGET_CUDA] = &tcb_gpu_driver_cuda,
									[TCB_TARGET_WGPU] = &tcb_gpu_driver_wgpu,
									[TCB_TARGET_OPENCL] = &tcb_gpu_driver_opencl };

enum tcb_status tcb_gpu_session_open(const struct tcb_place *place, struct tcb_gpu_session *out, struct tcb_error *err)
{
	*out = (struct tcb_gpu_session){ .driver = drivers[place->device.target.kind] };
	return out->driver->open(place, &out->own, err);
}

void tcb_gpu_session_close(struct tcb_gpu_session *session)
{
	if (session->own)
		session->driver->close(session->own);
	memset(session, 0, sizeof *session);
}

enum tcb_status tcb_gpu_runner_init(struct tcb_gpu_runner *runner, struct tcb_gpu_session *session,
				    const struct tcb_code_image *image, size_t unit, enum tcb_gpu_fault *fault_out,
				    char why[TCB_GPU_WHY_MAX], struct tcb_error *err)
{
	*runner = (struct tcb_gpu_runner){ .session = session, .unit = &image->unit[unit] };
	*fault_out = session->driver->load(runner, image, why);
	if (*fault_out != TCB_GPU_FINE || runner->unit->workspace_bytes == 0)
		return TCB_OK;
	TCB_TRY(tcb_gpu_buffer_alloc(session, runner->unit->workspace_bytes, &runner->workspace, err));
	TCB_TRY(session->driver->fill(session->own, runner->workspace.base, runner->workspace.first, 0,
				      runner->workspace.bytes, err));
	return session->driver->sync(session->own, err);
}

void tcb_gpu_runner_fini(struct tcb_gpu_runner *runner)
{
	if (!runner->session)
		return;
	runner->session->driver->unload(runner);
	tcb_gpu_buffer_free(runner->session, &runner->workspace);
	memset(runner, 0, sizeof *runner);
}

enum tcb_gpu_fault tcb_gpu_runner_call(struct tcb_gpu_runner *runner,
				       const struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX], int overlap,
				       char why[TCB_GPU_WHY_MAX])
{
	return runner->session->driver->call(runner, operand, overlap, why);
}

enum tcb_gpu_fault tcb_gpu_wait(struct tcb_gpu_session *session, char why[TCB_GPU_WHY_MAX])
{
	return session->driver->wait(session->own, why);
}

enum tcb_gpu_fault tcb_gpu_runner_once(struct tcb_gpu_runner *runner,
				       const struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX], double *ns_out,
				       char why[TCB_GPU_WHY_MAX])
{
	return runner->session->driver->once(runner, operand, ns_out, why);
}

enum tcb_gpu_fault tcb_gpu_runner_record(struct tcb_gpu_runner *runner, const struct tcb_gpu_memory *memory,
					 enum tcb_layout layout, size_t copies, size_t calls, char why[TCB_GPU_WHY_MAX])
{
	struct tcb_gpu_buffer(*operands)[TCB_OPERANDS_MAX] = calloc(copies, sizeof *operands);
	enum tcb_gpu_fault fault;

	if (!operands) {
		snprintf(why, TCB_GPU_WHY_MAX, "out of memory for %zu copies", copies);
		return TCB_GPU_REFUSED;
	}
	for (size_t i = 0; i < copies; i++)
		tcb_gpu_memory_operands(memory, layout, i, operands[i]);
	runner->calls = calls;
	fault = runner->session->driver->record(runner, operands, copies, why);
	free(operands);
	return fault;
}

/* Outputs and a workspace for call INDEX; OPERAND gets the former. */
static enum tcb_status add_own(struct tcb_gpu_own *own, size_t index, const struct tcb_gpu_runner *runner,
			       const struct tcb_gpu_memory *memory, struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX],
			       struct tcb_error *err)
{
	const struct tcb_gpu_session *session = runner->session;
	struct tcb_gpu_buffer *workspace = &own->workspaces[index];

	own->calls = index + 1;
	for (size_t i = 0; i < TCB_OPERANDS_MAX; i++) {
		struct tcb_gpu_buffer *output = &own->outputs[index * TCB_OPERANDS_MAX + i];

		if (!tcb_gpu_memory_is_output(memory, i))
			continue;
		TCB_TRY(tcb_gpu_buffer_alloc(session, operand[i].bytes, output, err));
		operand[i] = *output;
	}
	if (runner->workspace.bytes == 0)
		return TCB_OK;
	TCB_TRY(tcb_gpu_buffer_alloc(session, runner->workspace.bytes, workspace, err));
	return session->driver->fill(session->own, workspace->base, workspace->first, 0, workspace->bytes, err);
}

/* Bytes that a call writes. */
static size_t own_bytes(const struct tcb_gpu_runner *runner, const struct tcb_gpu_memory *memory,
			const struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX])
{
	size_t bytes = runner->workspace.bytes + 1;

	for (size_t i = 0; i < TCB_OPERANDS_MAX; i++)
		bytes += tcb_gpu_memory_is_output(memory, i) ? operand[i].bytes : 0;
	return bytes;
}

enum tcb_status tcb_gpu_runner_record_independent(struct tcb_gpu_runner *runner, const struct tcb_gpu_memory *memory,
						  enum tcb_layout layout, size_t copies, size_t calls,
						  struct tcb_gpu_own *own, enum tcb_gpu_fault *fault_out,
						  char why[TCB_GPU_WHY_MAX], struct tcb_error *err)
{
	struct tcb_gpu_buffer(*operands)[TCB_OPERANDS_MAX] = calloc(calls, sizeof *operands);
	enum tcb_status status = TCB_OK;

	own->outputs = calloc(calls * TCB_OPERANDS_MAX, sizeof *own->outputs);
	own->workspaces = calloc(calls, sizeof *own->workspaces);
	if (!operands || !own->outputs || !own->workspaces)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu calls", calls);
	for (size_t i = 0; status == TCB_OK && i < calls; i++) {
		tcb_gpu_memory_operands(memory, layout, i % copies, operands[i]);
		if (i == 0)
			calls = tcb_most(tcb_least(calls, OWN_MOST / own_bytes(runner, memory, operands[i])), 1);
		status = add_own(own, i, runner, memory, operands[i], err);
	}
	if (status == TCB_OK)
		status = runner->session->driver->sync(runner->session->own, err);
	if (status == TCB_OK) {
		runner->calls = calls;
		runner->workspaces = own->workspaces;
		*fault_out = runner->session->driver->record(
			runner, (const struct tcb_gpu_buffer(*)[TCB_OPERANDS_MAX])operands, calls, why);
		runner->workspaces = NULL;
	}
	free(operands);
	return status;
}

void tcb_gpu_own_fini(const struct tcb_gpu_session *session, struct tcb_gpu_own *own)
{
	for (size_t i = 0; i < own->calls; i++) {
		tcb_gpu_buffer_free(session, &own->workspaces[i]);
		for (size_t j = 0; j < TCB_OPERANDS_MAX; j++)
			tcb_gpu_buffer_free(session, &own->outputs[i * TCB_OPERANDS_MAX + j]);
	}
	free(own->outputs);
	free(own->workspaces);
	*own = (struct tcb_gpu_own){ 0 };
}

enum tcb_status tcb_gpu_runner_begin_anew(struct tcb_gpu_runner *runner, struct tcb_gpu_memory *memory,
					  const struct tcb_instance *instance, enum tcb_gpu_fault *fault_out,
					  char why[TCB_GPU_WHY_MAX], struct tcb_error *err)
{
	struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX];

	*fault_out = TCB_GPU_FINE;
	if (!tcb_instance_is_updated(instance))
		return TCB_OK;
	TCB_TRY(tcb_gpu_memory_poison(memory, err));
	tcb_gpu_memory_operands(memory, (enum tcb_layout)runner->unit->layout, 0, operand);
	*fault_out = tcb_gpu_runner_call(runner, operand, 0, why);
	if (*fault_out == TCB_GPU_FINE)
		*fault_out = tcb_gpu_wait(runner->session, why);
	return TCB_OK;
}

double tcb_gpu_runner_sample(struct tcb_gpu_runner *runner, char why[TCB_GPU_WHY_MAX])
{
	const double ns = runner->session->driver->sample(runner, why);

	return ns < 0 ? ns : ns / (double)runner->calls;
}
