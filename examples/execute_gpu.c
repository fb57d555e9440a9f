/* SPDX-License-Identifier: MIT
 *
 * A matrix product on an NVIDIA GPU, in a context and on a stream of this
 * program's own: planned for the GPU that is there, executed, captured into
 * graphs with TCBRT_GPU_OVERLAP and without, and held against a plain loop.
 *
 *     execute_gpu [DATABASE]        (none, or an empty one: the default database)
 *
 *     cc execute_gpu.c $(pkg-config --cflags --libs tcbrt) -I/usr/local/cuda/include -lcuda -o execute_gpu
 */
#include <cuda.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tcbrt.h>

enum { M = 200, N = 300, K = 260, CALLS = 20 };

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

static unsigned long long to_gpu(const void *from, size_t bytes)
{
	CUdeviceptr at;

	check(cuMemAlloc(&at, bytes ? bytes : 1), "allocating device memory");
	if (from)
		check(cuMemcpyHtoD(at, from, bytes), "copying to the GPU");
	else
		check(cuMemsetD8(at, 0, bytes ? bytes : 1), "clearing device memory");
	return at;
}

static double error_of(const float *a, const float *b, const float *c)
{
	double worst = 0;

	for (size_t m = 0; m < M; m++)
		for (size_t n = 0; n < N; n++) {
			double sum = 0, magnitude = 0;

			for (size_t k = 0; k < K; k++) {
				sum += (double)a[m * K + k] * (double)b[k * N + n];
				magnitude += fabs((double)a[m * K + k] * (double)b[k * N + n]);
			}
			worst = fmax(worst, fabs((double)c[m * N + n] - sum) / magnitude);
		}
	return worst;
}

static CUgraphExec capture(const struct tcbrt_gpu *gpu, const unsigned long long operand[],
			   unsigned long long workspace, CUstream stream, unsigned flags)
{
	CUgraph graph;
	CUgraphExec exec;

	check(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "capturing");
	for (int call = 0; call < CALLS; call++)
		require(tcbrt_gpu_execute(gpu, operand, workspace, stream, flags),
			&(struct tcbrt_error){ .message = "the launch was refused" });
	check(cuStreamEndCapture(stream, &graph), "capturing");
	check(cuGraphInstantiate(&exec, graph, 0), "making the graph");
	cuGraphDestroy(graph);
	return exec;
}

/* Microseconds per call. */
static double time_of(CUgraphExec exec, CUstream stream)
{
	CUevent from, to;
	float milliseconds;

	check(cuEventCreate(&from, CU_EVENT_DEFAULT), "making an event");
	check(cuEventCreate(&to, CU_EVENT_DEFAULT), "making an event");
	check(cuGraphLaunch(exec, stream), "warming up");
	check(cuEventRecord(from, stream), "timing");
	check(cuGraphLaunch(exec, stream), "running the graph");
	check(cuEventRecord(to, stream), "timing");
	check(cuEventSynchronize(to), "running the graph");
	check(cuEventElapsedTime(&milliseconds, from, to), "timing");
	cuEventDestroy(from);
	cuEventDestroy(to);
	return (double)milliseconds * 1000 / CALLS;
}

int main(int argc, char **argv)
{
	struct tcbrt_query query = { .op = "matmul_f32", .m = M, .n = N, .k = K };
	char kind[TCBRT_GPU_NAME_MAX];
	struct tcbrt_plan_info info;
	struct tcbrt_plan *plan;
	struct tcbrt_gpu *gpu;
	struct tcbrt_error err;
	struct tcbrt *rt;
	CUdevice device;
	CUcontext context;
	CUstream stream;

	check(cuInit(0), "starting the driver");
	check(cuDeviceGet(&device, 0), "the first GPU");
	check(cuDevicePrimaryCtxRetain(&context, device), "making a context");
	check(cuCtxSetCurrent(context), "using it");
	check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "making a stream");

	if (tcbrt_open(argc > 1 && *argv[1] ? argv[1] : NULL, &rt, &err) != TCBRT_OK)
		require(tcbrt_open_empty(&rt, &err), &err);
	require(tcbrt_gpu_device(kind, &err), &err);
	query.device = kind;
	require(tcbrt_plan_create(rt, &query, &plan, &err), &err);
	require(tcbrt_gpu_load(plan, &gpu, &err), &err);
	tcbrt_close(rt); /* the plan does not need it */
	tcbrt_plan_info(plan, &info);
	printf("kernel   %s on %s\nsource   %s (%s)\n", info.tuning.variant, kind,
	       tcbrt_source_text(info.tuning.source), info.tuning.reason);

	float *a = malloc(M * K * sizeof(*a)), *b = malloc(K * N * sizeof(*b)), *c = malloc(M * N * sizeof(*c));
	srand(1);
	for (size_t i = 0; i < M * K; i++)
		a[i] = (float)rand() / (float)RAND_MAX - 0.5f;
	for (size_t i = 0; i < K * N; i++)
		b[i] = (float)rand() / (float)RAND_MAX - 0.5f;
	/* info.operand says so: A, B, C */
	const unsigned long long operand[] = { to_gpu(a, M * K * sizeof(*a)), to_gpu(b, K * N * sizeof(*b)),
					       to_gpu(NULL, M * N * sizeof(*c)) };
	const unsigned long long workspace = to_gpu(NULL, info.workspace_bytes); /* zeros */
	check(cuCtxSynchronize(), "waiting");                                    /* the stream waits for no other */

	/* All that it reads was written before: it may overlap with what is before it on the stream. */
	if (tcbrt_gpu_execute(gpu, operand, workspace, stream, TCBRT_GPU_OVERLAP) != TCBRT_OK)
		return 1;
	check(cuStreamSynchronize(stream), "running the kernel");
	check(cuMemcpyDtoH(c, operand[2], M * N * sizeof(*c)), "copying from the GPU");
	const double error = error_of(a, b, c);

	/* As an engine runs it: a graph of many calls. */
	const CUgraphExec plain = capture(gpu, operand, workspace, stream, 0),
			  overlapping = capture(gpu, operand, workspace, stream, TCBRT_GPU_OVERLAP);
	const double plain_us = time_of(plain, stream), us = time_of(overlapping, stream);
	check(cuMemcpyDtoH(c, operand[2], M * N * sizeof(*c)), "copying from the GPU");
	printf("time     %.2f us per call in a graph, without overlap %.2f (%zu launches can overlap)\n"
	       "error    %.2g and %.2g of the sum of magnitudes\n",
	       us, plain_us, info.overlap_launches, error, error_of(a, b, c));
	const int is_wrong = !(error < 1e-5 && error_of(a, b, c) < 1e-5);

	cuGraphExecDestroy(plain);
	cuGraphExecDestroy(overlapping);
	tcbrt_gpu_unload(gpu);
	tcbrt_plan_destroy(plan);
	for (int i = 0; i < 3; i++)
		cuMemFree(operand[i]);
	cuMemFree(workspace);
	cuStreamDestroy(stream);
	cuDevicePrimaryCtxRelease(device);
	free(a);
	free(b);
	free(c);
	return is_wrong;
}
