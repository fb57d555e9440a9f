/* SPDX-License-Identifier: MIT
 *
 * Loading, launching and timing one candidate on a GPU.
 */
#include "worker/gpu_runner.h"

#include <stdio.h>
#include <string.h>

enum tcb_status tcb_gpu_session_open(int ordinal, struct tcb_gpu_session *out, struct tcb_error *err)
{
	const struct tcb_cuda *cuda = tcb_cuda_open(err);
	memset(out, 0, sizeof *out);
	if (!cuda)
		return TCB_E_UNSUPPORTED;
	out->cuda = cuda;
	int result = cuda->device_get(&out->device, ordinal);
	if (result == TCB_CUDA_SUCCESS)
		result = cuda->context_retain(&out->context, out->device);
	if (result == TCB_CUDA_SUCCESS)
		result = cuda->context_set(out->context);
	if (result != TCB_CUDA_SUCCESS) {
		char what[48];
		snprintf(what, sizeof what, "making a context on cuda:%d", ordinal);
		return tcb_cuda_check(cuda, result, what, err);
	}
	TCB_TRY(tcb_cuda_check(cuda, cuda->stream_create(&out->stream, TCB_CUDA_STREAM_NON_BLOCKING), "making a stream",
			       err));
	TCB_TRY(tcb_cuda_check(cuda, cuda->event_create(&out->from, TCB_CUDA_EVENT_DEFAULT), "making an event", err));
	return tcb_cuda_check(cuda, cuda->event_create(&out->to, TCB_CUDA_EVENT_DEFAULT), "making an event", err);
}

void tcb_gpu_session_close(struct tcb_gpu_session *session)
{
	if (session->from)
		(void)session->cuda->event_destroy(session->from);
	if (session->to)
		(void)session->cuda->event_destroy(session->to);
	if (session->stream)
		(void)session->cuda->stream_destroy(session->stream);
	if (session->context)
		(void)session->cuda->context_release(session->device);
	memset(session, 0, sizeof *session);
}

/* ---- loading ---- */

static void say(const struct tcb_gpu_session *session, int result, const char *what, char why[256])
{
	struct tcb_error error;
	(void)tcb_cuda_check(session->cuda, result, what, &error);
	snprintf(why, 256, "%.250s", error.message);
}

/* Errors after which the context is of no use. */
static enum tcb_gpu_fault classify(int result)
{
	switch (result) {
	case TCB_CUDA_SUCCESS:
		return TCB_GPU_FINE;
	case TCB_CUDA_INVALID_IMAGE:
	case TCB_CUDA_NO_BINARY_FOR_GPU:
	case TCB_CUDA_INVALID_PTX:
	case TCB_CUDA_UNSUPPORTED_PTX_VERSION:
		return TCB_GPU_NO_CODE;
	case TCB_CUDA_INVALID_VALUE:
	case TCB_CUDA_OUT_OF_MEMORY:
	case TCB_CUDA_LAUNCH_OUT_OF_RESOURCES:
		return TCB_GPU_REFUSED;
	default:
		return TCB_GPU_CRASHED;
	}
}

enum tcb_status tcb_gpu_runner_init(struct tcb_gpu_runner *runner, struct tcb_gpu_session *session,
				    const struct tcb_code_image *image, size_t unit, enum tcb_gpu_fault *fault_out,
				    char why[256], struct tcb_error *err)
{
	char log[TCB_GPU_LOG_MAX];
	memset(runner, 0, sizeof *runner);
	runner->session = session;
	int result = tcb_gpu_code_load(session->cuda, image, unit, &runner->code, log);
	*fault_out = classify(result);
	if (*fault_out != TCB_GPU_FINE) {
		say(session, result, "loading the code", why);
		if (log[0])
			snprintf(why, 256, "loading the code: %.180s", log);
		return TCB_OK;
	}
	if (runner->code.unit->workspace_bytes == 0)
		return TCB_OK;
	TCB_TRY(tcb_gpu_buffer_alloc(session->cuda, runner->code.unit->workspace_bytes, &runner->workspace, err));
	/* On the stream that the poison went to, and waited for: the session's stream waits for no other. */
	result = session->cuda->fill(runner->workspace.data, 0, runner->workspace.bytes, NULL);
	if (result == TCB_CUDA_SUCCESS)
		result = session->cuda->context_sync();
	return tcb_cuda_check(session->cuda, result, "clearing the workspace", err);
}

void tcb_gpu_runner_fini(struct tcb_gpu_runner *runner)
{
	if (!runner->session)
		return;
	const struct tcb_cuda *cuda = runner->session->cuda;
	if (runner->exec)
		(void)cuda->graph_exec_destroy(runner->exec);
	if (runner->graph)
		(void)cuda->graph_destroy(runner->graph);
	tcb_gpu_buffer_free(cuda, &runner->workspace);
	tcb_gpu_code_unload(&runner->code);
	memset(runner, 0, sizeof *runner);
}

/* ---- calls ---- */

int tcb_gpu_runner_call(struct tcb_gpu_runner *runner, const uint64_t operand[TCB_OPERANDS_MAX], int overlap)
{
	return tcb_gpu_code_launch(&runner->code, operand, runner->workspace.data, runner->session->stream, overlap);
}

enum tcb_gpu_fault tcb_gpu_wait(struct tcb_gpu_session *session, char why[256])
{
	int result = session->cuda->stream_sync(session->stream);
	if (result != TCB_CUDA_SUCCESS)
		say(session, result, "running it", why);
	return classify(result);
}

/* ---- timing ---- */

/* The driver's result once what lies between the two events is done; NS_OUT: what it took. */
static int elapsed(const struct tcb_gpu_session *session, double *ns_out)
{
	const struct tcb_cuda *cuda = session->cuda;
	float milliseconds = 0;
	int result = cuda->event_record(session->to, session->stream);
	if (result == TCB_CUDA_SUCCESS)
		result = cuda->event_sync(session->to);
	if (result == TCB_CUDA_SUCCESS)
		result = cuda->event_elapsed(&milliseconds, session->from, session->to);
	*ns_out = 1e6 * (double)milliseconds;
	return result;
}

enum tcb_gpu_fault tcb_gpu_runner_once(struct tcb_gpu_runner *runner, const uint64_t operand[TCB_OPERANDS_MAX],
				       double *ns_out, char why[256])
{
	struct tcb_gpu_session *session = runner->session;
	*ns_out = 0;
	int result = session->cuda->event_record(session->from, session->stream);
	if (result == TCB_CUDA_SUCCESS)
		result = tcb_gpu_runner_call(runner, operand, 0);
	if (result == TCB_CUDA_SUCCESS)
		result = elapsed(session, ns_out);
	if (result != TCB_CUDA_SUCCESS)
		say(session, result, "running it", why);
	return classify(result);
}

static int capture(struct tcb_gpu_runner *runner, const struct tcb_gpu_memory *memory, enum tcb_layout layout,
		   size_t copies, size_t calls)
{
	const struct tcb_gpu_session *session = runner->session;
	int result = session->cuda->capture_begin(session->stream, TCB_CUDA_CAPTURE_THREAD_LOCAL);
	if (result != TCB_CUDA_SUCCESS)
		return result;
	for (size_t i = 0; i < calls && result == TCB_CUDA_SUCCESS; i++) {
		uint64_t operand[TCB_OPERANDS_MAX];
		tcb_gpu_memory_operands(memory, layout, i % copies, operand);
		result = tcb_gpu_runner_call(runner, operand, 1);
	}
	int ended = session->cuda->capture_end(session->stream, &runner->graph);
	return result != TCB_CUDA_SUCCESS ? result : ended;
}

enum tcb_gpu_fault tcb_gpu_runner_record(struct tcb_gpu_runner *runner, const struct tcb_gpu_memory *memory,
					 enum tcb_layout layout, size_t copies, size_t calls, char why[256])
{
	const struct tcb_cuda *cuda = runner->session->cuda;
	runner->calls = calls;
	int result = capture(runner, memory, layout, copies, calls);
	if (result == TCB_CUDA_SUCCESS)
		result = cuda->graph_instantiate(&runner->exec, runner->graph, 0);
	if (result == TCB_CUDA_SUCCESS)
		result = cuda->graph_launch(runner->exec, runner->session->stream);
	if (result != TCB_CUDA_SUCCESS) {
		say(runner->session, result, "making a graph of its launches", why);
		return classify(result) == TCB_GPU_FINE ? TCB_GPU_REFUSED : classify(result);
	}
	return tcb_gpu_wait(runner->session, why);
}

double tcb_gpu_runner_sample(struct tcb_gpu_runner *runner, char why[256])
{
	struct tcb_gpu_session *session = runner->session;
	const struct tcb_cuda *cuda = session->cuda;
	double ns = 0;
	int result = TCB_CUDA_SUCCESS;
	if (runner->flush_bytes)
		result = cuda->fill(runner->flush, TCB_POISON, runner->flush_bytes, session->stream);
	if (result == TCB_CUDA_SUCCESS)
		result = cuda->event_record(session->from, session->stream);
	if (result == TCB_CUDA_SUCCESS)
		result = cuda->graph_launch(runner->exec, session->stream);
	if (result == TCB_CUDA_SUCCESS)
		result = elapsed(session, &ns);
	if (result != TCB_CUDA_SUCCESS) {
		say(session, result, "running it", why);
		return -1;
	}
	return ns / (double)runner->calls;
}
