/* SPDX-License-Identifier: MIT
 *
 * A GPU's chain as one graph: all launches are captured from the caller's stream, dependent ones as such.
 */
#include <stdlib.h>

#include "device/cuda.h"
#include "rt/rt_chain.h"

struct rt_chain_graph {
	const struct tcb_cuda *cuda;
	CUgraphExec exec;
};

void rt_chain_graph_destroy(struct rt_chain_graph *graph)
{
	if (!graph)
		return;
	if (graph->exec)
		graph->cuda->graph_exec_destroy(graph->exec);
	free(graph);
}

static int queue_call(const struct rt_link *link, const struct tcbrt_gpu *gpu, unsigned long long workspace,
		      void *stream, int flags)
{
	return tcbrt_gpu_execute(gpu, link->address, workspace + link->scratch, stream, (unsigned)flags);
}

/* Queues all calls of CHAIN on STREAM. */
static enum tcb_status queue(const struct tcbrt_chain *chain, unsigned long long workspace, void *stream,
			     struct tcb_error *err)
{
	for (size_t i = 0; i < chain->count; i++) {
		const struct rt_link *link = &chain->links[i];

		if (queue_call(link, link->placed ? link->placed->gpu : link->gpu, workspace, stream,
			       link->overlaps ? TCBRT_GPU_OVERLAP : 0) != TCBRT_OK)
			return tcb_fail(err, TCB_E_FAILED, "call %zu of the chain, %s: the driver refused its launch",
					i, link->plan->problem.op->name);
	}
	return TCB_OK;
}

/* Kernels that calls have for their places. */
static enum tcb_status load_placed(struct tcbrt_chain *chain, struct tcb_error *err)
{
	for (size_t i = 0; i < chain->placed_count; i++) {
		struct rt_placed *placed = &chain->placed[i];
		struct tcbrt_error why;

		if (placed->plan && !placed->gpu && tcbrt_gpu_load(placed->plan, &placed->gpu, &why) != TCBRT_OK)
			return tcb_fail(err, TCB_E_FAILED, "%.200s", why.message);
	}
	return TCB_OK;
}

static enum tcb_status record(struct tcbrt_chain *chain, unsigned long long workspace, void *stream,
			      struct tcb_error *err)
{
	const struct tcb_cuda *cuda = tcb_cuda_open(err);
	CUgraph captured = NULL;
	enum tcb_status status, ended;

	if (!cuda)
		return TCB_E_UNSUPPORTED;
	chain->graph = calloc(1, sizeof(*chain->graph));
	if (!chain->graph)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a chain's graph");
	chain->graph->cuda = cuda;
	TCB_TRY(load_placed(chain, err));
	TCB_TRY(tcb_cuda_check(cuda, cuda->capture_begin(stream, TCB_CUDA_CAPTURE_THREAD_LOCAL),
			       "beginning to capture the chain", err));
	status = queue(chain, workspace, stream, err);
	ended = tcb_cuda_check(cuda, cuda->capture_end(stream, &captured), "capturing the chain",
			       status == TCB_OK ? err : NULL);
	if (status == TCB_OK)
		status = ended;
	if (status == TCB_OK)
		status = tcb_cuda_check(cuda, cuda->graph_instantiate(&chain->graph->exec, captured, 0),
					"making a graph of the chain", err);
	if (captured)
		cuda->graph_destroy(captured);
	return status;
}

int tcbrt_chain_record(struct tcbrt_chain *chain, unsigned long long workspace, void *stream, struct tcbrt_error *err)
{
	struct tcb_error error = { .message = "" };
	enum tcb_status status;

	if (!chain || !chain->info.is_gpu)
		status = tcb_fail(&error, TCB_E_USAGE, "recording wants a chain of a GPU's calls");
	else if (chain->graph)
		status = tcb_fail(&error, TCB_E_USAGE, "the chain was recorded before");
	else if (chain->info.workspace_bytes && (!workspace || workspace % TCBRT_ALIGNMENT))
		status = tcb_fail(&error, TCB_E_USAGE, "the chain wants a workspace of %zu bytes at a multiple of %d",
				  chain->info.workspace_bytes, TCBRT_ALIGNMENT);
	else if ((status = record(chain, workspace, stream, &error)) != TCB_OK) {
		rt_chain_graph_destroy(chain->graph);
		chain->graph = NULL;
	}
	return rt_report(status, &error, err);
}

int tcbrt_chain_launch(const struct tcbrt_chain *chain, void *stream)
{
	if (!chain || !chain->graph)
		return TCBRT_E_USAGE;
	return chain->graph->cuda->graph_launch(chain->graph->exec, stream) == TCB_CUDA_SUCCESS ? TCBRT_OK
												: TCBRT_E_FAILED;
}

/* Calls and, around and between them, the EVENTS, one more than calls. */
static int queue_timed(const struct tcbrt_chain *chain, unsigned long long workspace, void *stream,
		       const struct tcb_cuda *cuda, CUevent events[])
{
	for (size_t i = 0; i <= chain->count; i++)
		if (cuda->event_create(&events[i], TCB_CUDA_EVENT_DEFAULT) != TCB_CUDA_SUCCESS)
			return TCBRT_E_FAILED;
	for (size_t i = 0; i < chain->count; i++)
		if (cuda->event_record(events[i], stream) != TCB_CUDA_SUCCESS ||
		    queue_call(&chain->links[i], chain->links[i].gpu, workspace, stream, 0) != TCBRT_OK)
			return TCBRT_E_FAILED;
	if (cuda->event_record(events[chain->count], stream) != TCB_CUDA_SUCCESS ||
	    cuda->event_sync(events[chain->count]) != TCB_CUDA_SUCCESS)
		return TCBRT_E_FAILED;
	return TCBRT_OK;
}

int rt_chain_gpu_profile(const struct tcbrt_chain *chain, unsigned long long workspace, void *stream, double seconds[])
{
	const struct tcb_cuda *cuda = tcb_cuda_open(NULL);
	CUevent *events = calloc(chain->count + 1, sizeof(*events));
	int code = cuda && events ? queue_timed(chain, workspace, stream, cuda, events) : TCBRT_E_FAILED;
	float milliseconds;

	for (size_t i = 0; i < chain->count && code == TCBRT_OK; i++) {
		if (cuda->event_elapsed(&milliseconds, events[i], events[i + 1]) != TCB_CUDA_SUCCESS)
			code = TCBRT_E_FAILED;
		else
			seconds[i] += 1e-3 * (double)milliseconds;
	}
	for (size_t i = 0; events && i <= chain->count; i++)
		if (events[i])
			cuda->event_destroy(events[i]);
	free(events);
	return code;
}
