/* SPDX-License-Identifier: MIT
 *
 * Candidates on a GPU of any kind, by its driver.
 */
#include "worker/gpu_runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By enum tcb_target_kind. */
static const struct tcb_gpu_driver *const drivers[TCB_TARGET_COUNT] = {
	[TCB_TARGET_CUDA] = &tcb_gpu_driver_cuda, [TCB_TARGET_WGPU] = &tcb_gpu_driver_wgpu
};

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

double tcb_gpu_runner_sample(struct tcb_gpu_runner *runner, char why[TCB_GPU_WHY_MAX])
{
	const double ns = runner->session->driver->sample(runner, why);

	return ns < 0 ? ns : ns / (double)runner->calls;
}
