/* SPDX-License-Identifier: MIT
 *
 * Times one plan on an NVIDIA GPU as an engine runs it: a graph of calls, each
 * on other copies of the weights, or where there are none of all operands (cold),
 * or all on one (hot); with TCBRT_GPU_OVERLAP (ns) and without it (plain_ns), by turns.  One line of JSON.
 *
 *     measure_gpu OP MxNxK cold|hot [DATABASE [MEGABYTES [SECONDS]]]
 *
 * MEGABYTES: how much memory cold calls go through (512); SECONDS: how long (1).
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tcbrt.h>

#include "measure.h"

enum { SAMPLES = 400, COPIES_MAX = 512, CALLS = 200 };

static void check(CUresult result, const char *what)
{
	const char *text = "unknown error";

	if (result == CUDA_SUCCESS)
		return;
	cuGetErrorString(result, &text);
	fprintf(stderr, "%s: %s\n", what, text);
	exit(1);
}

static void require(int code, const struct tcbrt_error *err)
{
	if (code == TCBRT_OK)
		return;
	fprintf(stderr, "%s\n", err->message);
	exit(1);
}

static void *host(size_t bytes)
{
	void *at = aligned_alloc(TCBRT_ALIGNMENT, (bytes + TCBRT_ALIGNMENT) / TCBRT_ALIGNMENT * TCBRT_ALIGNMENT);

	if (!at) {
		fprintf(stderr, "out of memory for %zu bytes\n", bytes);
		exit(1);
	}
	return at;
}

struct job {
	struct tcbrt_plan *plan;
	struct tcbrt_plan_info info;
	size_t copies;
	unsigned long long operand[COPIES_MAX][TCBRT_OPERANDS_MAX], workspace;
};

static void make_copies(struct job *job, size_t bytes)
{
	struct tcbrt_operand operand;
	size_t each = 0;

	/* Activations come from the product before and are in the caches. */
	for (size_t i = 0; i < job->info.operand_count; i++)
		if (tcbrt_plan_operand(job->plan, i, &operand) == TCBRT_OK && is_streamed(&job->info, i))
			each += operand.bytes;
	job->copies = bytes / each + 1 < COPIES_MAX ? bytes / each + 1 : COPIES_MAX;
	for (size_t i = 0; i < job->info.operand_count; i++) {
		tcbrt_plan_operand(job->plan, i, &operand);
		const int is_packed = operand.packed_bytes != 0;
		const size_t size = is_packed ? operand.packed_bytes : operand.bytes;
		char *stored = host(operand.bytes), *packed = is_packed ? host(size) : stored;

		fill(stored, operand.bytes, operand.type);
		if (is_packed)
			tcbrt_pack_operand(job->plan, i, stored, packed);
		for (size_t c = 0; c < job->copies; c++) {
			CUdeviceptr at;

			if (c && !is_streamed(&job->info, i)) {
				job->operand[c][i] = job->operand[0][i];
				continue;
			}
			check(cuMemAlloc(&at, size), "allocating device memory");
			check(cuMemcpyHtoD(at, packed, size), "copying to the GPU");
			job->operand[c][i] = at;
		}
		if (is_packed)
			free(packed);
		free(stored);
	}
	if (job->info.workspace_bytes) {
		CUdeviceptr at;

		check(cuMemAlloc(&at, job->info.workspace_bytes), "allocating device memory");
		check(cuMemsetD8(at, 0, job->info.workspace_bytes), "clearing device memory");
		job->workspace = at;
	}
	check(cuCtxSynchronize(), "waiting");
}

struct timing {
	CUgraphExec exec;
	double samples[SAMPLES];
};

static void capture(const struct job *job, const struct tcbrt_gpu *gpu, CUstream stream, size_t calls, unsigned flags,
		    struct timing *out)
{
	CUgraph graph;

	check(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "capturing");
	for (size_t i = 0; i < calls; i++)
		if (tcbrt_gpu_execute(gpu, job->operand[i % job->copies], job->workspace, stream, flags) != TCBRT_OK) {
			fprintf(stderr, "the launch was refused\n");
			exit(1);
		}
	check(cuStreamEndCapture(stream, &graph), "capturing");
	check(cuGraphInstantiate(&out->exec, graph, 0), "making the graph");
	for (int warm = 0; warm < 3; warm++)
		check(cuGraphLaunch(out->exec, stream), "warming up");
}

static double sample_ns(const struct timing *timing, CUstream stream, CUevent from, CUevent to)
{
	float milliseconds;

	check(cuEventRecord(from, stream), "timing");
	check(cuGraphLaunch(timing->exec, stream), "running the graph");
	check(cuEventRecord(to, stream), "timing");
	check(cuEventSynchronize(to), "running the graph");
	check(cuEventElapsedTime(&milliseconds, from, to), "timing");
	return 1e6 * (double)milliseconds;
}

/* Medians of a call, by turns without TCBRT_GPU_OVERLAP ([0]) and with it ([1]). */
static void median_ns(const struct job *job, const struct tcbrt_gpu *gpu, CUstream stream, double seconds,
		      double ns_out[2])
{
	static struct timing timing[2];
	const size_t calls = job->copies > CALLS ? job->copies : CALLS;
	double total = 0;
	size_t count = 0;
	CUevent from, to;

	check(cuEventCreate(&from, CU_EVENT_DEFAULT), "making an event");
	check(cuEventCreate(&to, CU_EVENT_DEFAULT), "making an event");
	capture(job, gpu, stream, calls, 0, &timing[0]);
	capture(job, gpu, stream, calls, TCBRT_GPU_OVERLAP, &timing[1]);
	while (count < SAMPLES && (count < 5 || total < 1e9 * seconds)) {
		for (int i = 0; i < 2; i++) {
			timing[i].samples[count] = sample_ns(&timing[i], stream, from, to);
			total += timing[i].samples[count];
		}
		count++;
	}
	for (int i = 0; i < 2; i++) {
		qsort(timing[i].samples, count, sizeof(double), ascending);
		ns_out[i] = timing[i].samples[count / 2] / (double)calls;
	}
}

int main(int argc, char **argv)
{
	static struct job job;
	struct tcbrt_query query = { 0 };
	char kind[TCBRT_GPU_NAME_MAX];
	struct tcbrt_error err;
	struct tcbrt_gpu *gpu;
	struct tcbrt *rt;
	CUdevice device;
	CUcontext context;
	CUstream stream;
	double ns[2];

	if (argc < 4 || sscanf(argv[2], "%zux%zux%zu", &query.m, &query.n, &query.k) < 2) {
		fprintf(stderr, "usage: measure_gpu OP MxNxK cold|hot [DATABASE [MEGABYTES [SECONDS]]]\n");
		return 2;
	}
	check(cuInit(0), "starting the driver");
	check(cuDeviceGet(&device, 0), "the first GPU");
	check(cuDevicePrimaryCtxRetain(&context, device), "making a context");
	check(cuCtxSetCurrent(context), "using it");
	check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "making a stream");
	query.op = argv[1];
	query.state = strcmp(argv[3], "hot") == 0 ? TCBRT_HOT : TCBRT_COLD;
	require(tcbrt_gpu_device(kind, &err), &err);
	query.device = kind;
	if (argc > 4)
		require(tcbrt_open(argv[4], &rt, &err), &err);
	else if (tcbrt_open(NULL, &rt, &err) != TCBRT_OK)
		require(tcbrt_open_empty(&rt, &err), &err);
	require(tcbrt_plan_create(rt, &query, &job.plan, &err), &err);
	require(tcbrt_gpu_load(job.plan, &gpu, &err), &err);
	tcbrt_plan_info(job.plan, &job.info);
	make_copies(&job, query.state == TCBRT_HOT ? 0 : (argc > 5 ? strtoul(argv[5], NULL, 10) : 512) << 20);
	median_ns(&job, gpu, stream, argc > 6 ? strtod(argv[6], NULL) : 1, ns);
	printf("{\"op\": \"%s\", \"shape\": \"%s\", \"state\": \"%s\", \"ns\": %.1f, \"plain_ns\": %.1f, \"source\": "
	       "\"%s\", \"geometry\": \"%s\"}\n",
	       query.op, argv[2], argv[3], ns[1], ns[0], tcbrt_source_text(job.info.tuning.source),
	       job.info.tuning.geometry);
	tcbrt_gpu_unload(gpu);
	tcbrt_plan_destroy(job.plan);
	tcbrt_close(rt);
	return 0;
}
