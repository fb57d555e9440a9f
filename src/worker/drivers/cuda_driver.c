/* SPDX-License-Identifier: MIT
 *
 * Candidates on a CUDA GPU: memory, and graphs of launches that are timed with
 * events.  A fault poisons the context.
 */
#include "worker/drivers/cuda_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/sizes.h"
#include "device/cupti.h"
#include "device/gpu.h"
#include "device/nvml.h"
#include "gpu/launch.h"
#include "kernels/language.h"

enum { ROTATION_LEAST = 1 << 29 /* bytes */ };

/* A runner's.  Graphs are launched in turn, a sample each. */
struct cuda_runner {
	struct tcb_gpu_code code;
	CUgraphExec *graphs;
	size_t count, next;
};

/* ---- open, close ---- */

static enum tcb_status make_context(struct tcb_cuda_session *session, int ordinal, struct tcb_error *err)
{
	const struct tcb_cuda *cuda = session->cuda;
	int result = cuda->device_get(&session->device, ordinal);

	if (result == TCB_CUDA_SUCCESS)
		result = cuda->context_retain(&session->context, session->device);
	if (result == TCB_CUDA_SUCCESS)
		result = cuda->context_set(session->context);
	if (result != TCB_CUDA_SUCCESS) {
		char what[48];
		snprintf(what, sizeof what, "making a context on cuda:%d", ordinal);
		return tcb_cuda_check(cuda, result, what, err);
	}
	TCB_TRY(tcb_cuda_check(cuda, cuda->stream_create(&session->stream, TCB_CUDA_STREAM_NON_BLOCKING),
			       "making a stream", err));
	TCB_TRY(tcb_cuda_check(cuda, cuda->event_create(&session->from, TCB_CUDA_EVENT_DEFAULT), "making an event",
			       err));
	return tcb_cuda_check(cuda, cuda->event_create(&session->to, TCB_CUDA_EVENT_DEFAULT), "making an event", err);
}

static enum tcb_status open_session(const struct tcb_place *place, void **own_out, struct tcb_error *err)
{
	const struct tcb_cuda *cuda = tcb_cuda_open(err);
	struct tcb_cuda_session *session;

	if (!cuda)
		return TCB_E_UNSUPPORTED;
	session = calloc(1, sizeof *session);
	if (!session)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a GPU's session");
	session->cuda = cuda;
	*own_out = session;
	return make_context(session, tcb_gpu_of(place)->ordinal, err);
}

static void close_session(void *own)
{
	struct tcb_cuda_session *session = own;

	if (session->from)
		(void)session->cuda->event_destroy(session->from);
	if (session->to)
		(void)session->cuda->event_destroy(session->to);
	if (session->stream)
		(void)session->cuda->stream_destroy(session->stream);
	if (session->context)
		(void)session->cuda->context_release(session->device);
	free(session);
}

static size_t rotation_least(const struct tcb_place *place)
{
	(void)place;
	return ROTATION_LEAST;
}

/* ---- memory: all on the default stream, which the session's does not wait for by itself ---- */

static enum tcb_status alloc_memory(void *own, size_t bytes, uint64_t *base_out, struct tcb_error *err)
{
	const struct tcb_cuda *cuda = ((struct tcb_cuda_session *)own)->cuda;
	return tcb_cuda_check(cuda, cuda->alloc(base_out, bytes), "allocating device memory", err);
}

static void free_memory(void *own, uint64_t base)
{
	(void)((struct tcb_cuda_session *)own)->cuda->free(base);
}

static enum tcb_status fill(void *own, uint64_t base, size_t first, unsigned char value, size_t bytes,
			    struct tcb_error *err)
{
	const struct tcb_cuda *cuda = ((struct tcb_cuda_session *)own)->cuda;
	return tcb_cuda_check(cuda, cuda->fill(base + first, value, bytes, NULL), "filling device memory", err);
}

static enum tcb_status copy_in(void *own, uint64_t base, size_t first, const void *from, size_t bytes,
			       struct tcb_error *err)
{
	const struct tcb_cuda *cuda = ((struct tcb_cuda_session *)own)->cuda;
	return tcb_cuda_check(cuda, cuda->copy_in(base + first, from, bytes), "copying to the GPU", err);
}

static enum tcb_status copy_out(void *own, uint64_t base, size_t first, size_t bytes, void *to, struct tcb_error *err)
{
	const struct tcb_cuda *cuda = ((struct tcb_cuda_session *)own)->cuda;
	return tcb_cuda_check(cuda, cuda->copy_out(to, base + first, bytes), "copying from the GPU", err);
}

static enum tcb_status copy(void *own, uint64_t to, size_t to_first, uint64_t from, size_t from_first, size_t bytes,
			    struct tcb_error *err)
{
	const struct tcb_cuda *cuda = ((struct tcb_cuda_session *)own)->cuda;
	return tcb_cuda_check(cuda, cuda->copy_device(to + to_first, from + from_first, bytes, NULL),
			      "copying on the GPU", err);
}

static enum tcb_status sync(void *own, struct tcb_error *err)
{
	const struct tcb_cuda *cuda = ((struct tcb_cuda_session *)own)->cuda;
	return tcb_cuda_check(cuda, cuda->context_sync(), "waiting for the GPU", err);
}

/* ---- faults ---- */

static void say(const struct tcb_cuda *cuda, int result, const char *what, char why[TCB_GPU_WHY_MAX])
{
	struct tcb_error error;
	(void)tcb_cuda_check(cuda, result, what, &error);
	snprintf(why, TCB_GPU_WHY_MAX, "%.250s", error.message);
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

/* RESULT of WHAT, as a fault. */
static enum tcb_gpu_fault judge(const struct tcb_cuda *cuda, int result, const char *what, char why[TCB_GPU_WHY_MAX])
{
	if (result != TCB_CUDA_SUCCESS)
		say(cuda, result, what, why);
	return classify(result);
}

/* ---- code ---- */

static enum tcb_gpu_fault load(struct tcb_gpu_runner *runner, const struct tcb_code_image *image,
			       char why[TCB_GPU_WHY_MAX])
{
	const struct tcb_cuda *cuda = tcb_cuda_session(runner->session)->cuda;
	struct cuda_runner *own = calloc(1, sizeof *own);
	char log[TCB_GPU_LOG_MAX] = "";
	int result = TCB_CUDA_OUT_OF_MEMORY;

	runner->own = own;
	if (own)
		result = tcb_gpu_code_load(cuda, image, (size_t)(runner->unit - image->unit), &own->code, log);
	const enum tcb_gpu_fault fault = judge(cuda, result, "loading the code", why);
	if (fault != TCB_GPU_FINE && log[0])
		snprintf(why, TCB_GPU_WHY_MAX, "loading the code: %.180s", log);
	return fault;
}

static void forget(const struct tcb_cuda *cuda, struct cuda_runner *own)
{
	while (own->count > 0)
		(void)cuda->graph_exec_destroy(own->graphs[--own->count]);
	free(own->graphs);
	own->graphs = NULL;
	own->next = 0;
}

static void unload(struct tcb_gpu_runner *runner)
{
	struct cuda_runner *own = runner->own;

	if (!own)
		return;
	forget(tcb_cuda_session(runner->session)->cuda, own);
	tcb_gpu_code_unload(&own->code);
	free(own);
}

static int launch(struct tcb_gpu_runner *runner, const struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX], int overlap)
{
	const struct cuda_runner *own = runner->own;
	uint64_t address[TCB_OPERANDS_MAX];

	for (size_t i = 0; i < TCB_OPERANDS_MAX; i++)
		address[i] = operand[i].base + operand[i].first;
	return tcb_gpu_code_launch(&own->code, address, runner->workspace.base + runner->workspace.first,
				   tcb_cuda_session(runner->session)->stream, overlap);
}

static enum tcb_gpu_fault call(struct tcb_gpu_runner *runner, const struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX],
			       int overlap, char why[TCB_GPU_WHY_MAX])
{
	return judge(tcb_cuda_session(runner->session)->cuda, launch(runner, operand, overlap), "launching it", why);
}

static enum tcb_gpu_fault wait_for(void *own, char why[TCB_GPU_WHY_MAX])
{
	const struct tcb_cuda_session *session = own;
	return judge(session->cuda, session->cuda->stream_sync(session->stream), "running it", why);
}

/* ---- timing ---- */

/* The driver's result once what lies between the two events is done; NS_OUT: what it took. */
static int elapsed(const struct tcb_cuda_session *session, double *ns_out)
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

static enum tcb_gpu_fault once(struct tcb_gpu_runner *runner, const struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX],
			       double *ns_out, char why[TCB_GPU_WHY_MAX])
{
	const struct tcb_cuda_session *session = tcb_cuda_session(runner->session);
	*ns_out = 0;
	int result = session->cuda->event_record(session->from, session->stream);
	if (result == TCB_CUDA_SUCCESS)
		result = launch(runner, operand, 0);
	if (result == TCB_CUDA_SUCCESS)
		result = elapsed(session, ns_out);
	return judge(session->cuda, result, "running it", why);
}

/* One more graph: RUNNER's calls from copy FIRST on. */
static int add_graph(struct tcb_gpu_runner *runner, const struct tcb_gpu_buffer (*operands)[TCB_OPERANDS_MAX],
		     size_t copies, size_t first)
{
	const struct tcb_cuda_session *session = tcb_cuda_session(runner->session);
	const struct tcb_cuda *cuda = session->cuda;
	struct cuda_runner *own = runner->own;
	CUgraph graph = NULL;
	int result = cuda->capture_begin(session->stream, TCB_CUDA_CAPTURE_THREAD_LOCAL);
	if (result != TCB_CUDA_SUCCESS)
		return result;
	for (size_t i = 0; i < runner->calls && result == TCB_CUDA_SUCCESS; i++)
		result = launch(runner, operands[(first + i) % copies], 1);
	const int ended = cuda->capture_end(session->stream, &graph);
	if (result == TCB_CUDA_SUCCESS)
		result = ended;
	if (result == TCB_CUDA_SUCCESS)
		result = cuda->graph_instantiate(&own->graphs[own->count], graph, 0);
	if (result == TCB_CUDA_SUCCESS)
		own->count++;
	if (graph)
		(void)cuda->graph_destroy(graph);
	return result;
}

static enum tcb_gpu_fault record(struct tcb_gpu_runner *runner,
				 const struct tcb_gpu_buffer (*operands)[TCB_OPERANDS_MAX], size_t copies,
				 char why[TCB_GPU_WHY_MAX])
{
	const struct tcb_cuda_session *session = tcb_cuda_session(runner->session);
	const struct tcb_cuda *cuda = session->cuda;
	struct cuda_runner *own = runner->own;
	const size_t count = tcb_most(copies / runner->calls, 1);
	forget(cuda, own);
	own->graphs = calloc(count, sizeof *own->graphs);
	int result = own->graphs ? TCB_CUDA_SUCCESS : TCB_CUDA_OUT_OF_MEMORY;
	for (size_t i = 0; i < count && result == TCB_CUDA_SUCCESS; i++)
		result = add_graph(runner, operands, copies, i * runner->calls);
	if (result == TCB_CUDA_SUCCESS)
		result = cuda->graph_launch(own->graphs[own->next++ % count], session->stream);
	if (result == TCB_CUDA_SUCCESS)
		return wait_for(runner->session->own, why);
	return judge(cuda, result, "making a graph of its launches", why);
}

static double sample(struct tcb_gpu_runner *runner, char why[TCB_GPU_WHY_MAX])
{
	const struct tcb_cuda_session *session = tcb_cuda_session(runner->session);
	struct cuda_runner *own = runner->own;
	const struct tcb_cuda *cuda = session->cuda;
	double ns = 0;
	int result = TCB_CUDA_SUCCESS;
	if (runner->flush.bytes)
		result = cuda->fill(runner->flush.base + runner->flush.first, TCB_POISON, runner->flush.bytes,
				    session->stream);
	if (result == TCB_CUDA_SUCCESS)
		result = cuda->event_record(session->from, session->stream);
	if (result == TCB_CUDA_SUCCESS)
		result = cuda->graph_launch(own->graphs[own->next++ % own->count], session->stream);
	if (result == TCB_CUDA_SUCCESS)
		result = elapsed(session, &ns);
	return judge(cuda, result, "running it", why) == TCB_GPU_FINE ? ns : -1;
}

/* ---- counters ---- */

/* What is called once a pass. */
struct counted {
	struct tcb_gpu_runner *runner;
	const struct tcb_gpu_buffer (*operands)[TCB_OPERANDS_MAX];
	size_t next, copies; /* of the rotation */
	unsigned calls;
	char why[TCB_GPU_WHY_MAX];
};

static int counted_calls(void *ctx)
{
	struct counted *counted = ctx;
	for (unsigned i = 0; i < counted->calls; i++)
		if (launch(counted->runner, counted->operands[counted->next++ % counted->copies], 0) !=
		    TCB_CUDA_SUCCESS)
			return -1;
	return wait_for(counted->runner->session->own, counted->why) == TCB_GPU_FINE ? 0 : -1;
}

static void add_counter(struct tcb_counter *out, size_t capacity, size_t *count, const char *source, const char *name,
			double value)
{
	if (*count >= capacity)
		return;
	struct tcb_counter *counter = &out[(*count)++];
	*counter = (struct tcb_counter){ .value = value };
	snprintf(counter->source, sizeof counter->source, "%s", source);
	snprintf(counter->name, sizeof counter->name, "%s", name);
}

/* Clocks while the kernel runs: read right after a graph of its launches was sent. */
static void add_state(const struct tcb_place *place, struct tcb_counter *out, size_t capacity, size_t *count)
{
	struct tcb_nvml *nvml = tcb_place_watch(place);
	struct tcb_gpu_state now;
	if (!nvml)
		return;
	tcb_nvml_state(nvml, &now);
	add_counter(out, capacity, count, "nvml", "sm_mhz", now.sm_mhz);
	add_counter(out, capacity, count, "nvml", "memory_mhz", now.memory_mhz);
	add_counter(out, capacity, count, "nvml", "celsius", now.celsius);
	add_counter(out, capacity, count, "nvml", "watts", now.milliwatts / 1000.0);
	add_counter(out, capacity, count, "nvml", "clocks_held_back", now.held_back != 0);
	tcb_nvml_close(nvml);
}

static enum tcb_status count_with(struct counted *counted, struct tcb_counter *out, size_t capacity, size_t *count_out,
				  struct tcb_error *err)
{
	const struct tcb_cuda_session *session = tcb_cuda_session(counted->runner->session);
	struct tcb_cupti *cupti;
	struct tcb_error why;
	/* No counters are no failure: the doctor tells why there are none. */
	if (tcb_cupti_open(session->context, session->device, &cupti, &why) != TCB_OK) {
		fprintf(stderr, "%s\n", why.message);
		return TCB_OK;
	}
	enum tcb_status status =
		tcb_cupti_measure(cupti, counted_calls, counted, counted->calls, out, capacity, count_out, err);
	tcb_cupti_close(cupti);
	return status;
}

static enum tcb_status count(struct tcb_gpu_runner *runner, const struct tcb_place *place,
			     const struct tcb_gpu_buffer (*operands)[TCB_OPERANDS_MAX], size_t copies, unsigned calls,
			     struct tcb_counter *out, size_t capacity, size_t *count_out, struct tcb_error *err)
{
	const struct tcb_cuda_session *session = tcb_cuda_session(runner->session);
	const struct cuda_runner *own = runner->own;
	struct counted counted = { .runner = runner, .operands = operands, .copies = copies, .calls = calls };
	const enum tcb_status status = count_with(&counted, out, capacity, count_out, err);

	if (own->count && session->cuda->graph_launch(own->graphs[0], session->stream) == 0)
		add_state(place, out, capacity, count_out);
	(void)wait_for(runner->session->own, counted.why);
	return status;
}

const struct tcb_gpu_driver tcb_gpu_driver_cuda = {
	.goes_on = 1,
	.language = &tcb_language_ptx,
	.rotation_least = rotation_least,
	.open = open_session,
	.close = close_session,
	.alloc = alloc_memory,
	.free = free_memory,
	.fill = fill,
	.copy_in = copy_in,
	.copy_out = copy_out,
	.copy = copy,
	.sync = sync,
	.load = load,
	.unload = unload,
	.call = call,
	.wait = wait_for,
	.once = once,
	.record = record,
	.sample = sample,
	.count = count,
};
