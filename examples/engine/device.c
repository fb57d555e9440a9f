/* SPDX-License-Identifier: MIT
 *
 * Processors: a pool's threads and memory in large pages.  A GPU: the driver, opened while the program runs, as
 * libtcbrt does it, so that one program serves machines with a GPU and without.
 */
#define _GNU_SOURCE 1 /* clock_gettime */
#include "device.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The functions of the CUDA driver that are used, as its library has them. */
#define CUDA_FUNCTIONS(X)                                                                   \
	X(cuInit, (unsigned flags))                                                         \
	X(cuGetErrorString, (int error, const char **text))                                 \
	X(cuDevicePrimaryCtxRetain, (void **context, int device))                           \
	X(cuCtxSetCurrent, (void *context))                                                 \
	X(cuMemAlloc_v2, (address * at, size_t bytes))                                      \
	X(cuMemsetD8_v2, (address at, unsigned char value, size_t bytes))                   \
	X(cuMemcpyHtoDAsync_v2, (address to, const void *from, size_t bytes, void *stream)) \
	X(cuMemcpyDtoHAsync_v2, (void *to, address from, size_t bytes, void *stream))       \
	X(cuMemcpyDtoDAsync_v2, (address to, address from, size_t bytes, void *stream))     \
	X(cuStreamCreate, (void **stream, unsigned flags))                                  \
	X(cuStreamSynchronize, (void *stream))
#define CUDA_MEMBER(name, parameters) int(*name) parameters;
static struct {
	CUDA_FUNCTIONS(CUDA_MEMBER)
} cuda;

void die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("engine: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(1);
}

void must(int code, const struct tcbrt_error *err)
{
	if (code != TCBRT_OK)
		die("%s", err->message);
}

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(int result, const char *what)
{
	const char *text = "unknown error";

	if (result == 0)
		return;
	cuda.cuGetErrorString(result, &text);
	die("%s: %s", what, text);
}

static void open_gpu(struct device *device)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
	struct tcbrt_error err;

	if (!library)
		die("--device gpu wants an NVIDIA GPU and its driver, and libcuda.so.1 is not here: %s", dlerror());
#define CUDA_FIND(name, parameters)                          \
	if (!(*(void **)&cuda.name = dlsym(library, #name))) \
		die("the CUDA driver has no %s: install a newer one", #name);
	CUDA_FUNCTIONS(CUDA_FIND)
	check(cuda.cuInit(0), "starting the CUDA driver");
	check(cuda.cuDevicePrimaryCtxRetain(&context, 0), "making a context on the first GPU");
	check(cuda.cuCtxSetCurrent(context), "using it");
	check(cuda.cuStreamCreate(&device->stream, 1), "making a stream"); /* 1: that waits for no other */
	must(tcbrt_gpu_device(device->name, &err), &err);
}

void device_open(struct device *device, size_t is_gpu, unsigned threads)
{
	struct tcbrt_error err;

	*device = (struct device){ .name = "cpu" };
	if (is_gpu) {
		open_gpu(device);
		return;
	}
	device->threads = threads;
	must(tcbrt_pool_create(threads, &device->pool, &err), &err);
}

address device_alloc(const struct device *device, size_t bytes)
{
	struct tcbrt_error err;
	address at;
	void *memory;

	if (device->pool) {
		must(tcbrt_weights_alloc(bytes, &memory, NULL, &err), &err);
		return (address)(uintptr_t)memory;
	}
	check(cuda.cuMemAlloc_v2(&at, bytes), "allocating memory of the GPU");
	check(cuda.cuMemsetD8_v2(at, 0, bytes), "clearing it");
	return at;
}

void device_write(const struct device *device, address to, const void *from, size_t bytes)
{
	if (device->pool)
		memcpy((void *)(uintptr_t)to, from, bytes);
	else
		check(cuda.cuMemcpyHtoDAsync_v2(to, from, bytes, device->stream), "copying to the GPU");
}

void device_wait(const struct device *device)
{
	if (!device->pool)
		check(cuda.cuStreamSynchronize(device->stream), "running on the GPU");
}

void device_read(const struct device *device, void *to, address from, size_t bytes)
{
	if (device->pool)
		memcpy(to, (const void *)(uintptr_t)from, bytes);
	else
		check(cuda.cuMemcpyDtoHAsync_v2(to, from, bytes, device->stream), "copying from the GPU");
	device_wait(device);
}

void device_copy_rows(const struct device *device, const address operand[])
{
	address to = operand[0], from = operand[2];

	for (size_t i = 0; i < operand[4]; i++, to += operand[1], from += operand[3])
		if (device->pool)
			memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, operand[3]);
		else
			check(cuda.cuMemcpyDtoDAsync_v2(to, from, operand[3], device->stream), "copying on the GPU");
}

void device_widen(const struct device *device, const address operand[])
{
	const _Float16 *from = (const _Float16 *)(uintptr_t)operand[1];
	float *to = (float *)(uintptr_t)operand[0];

	if (!device->pool)
		die("a GPU has no op that makes f32 of f16");
	for (size_t i = 0; i < operand[2]; i++)
		to[i] = (float)from[i];
}

void device_execute(const struct device *device, const struct call *call, address workspace)
{
	void *operand[TCBRT_OPERANDS_MAX], *scratch = (void *)(uintptr_t)workspace;
	struct tcbrt_error err = { .message = "the GPU refused a launch" };

	for (size_t i = 0; i < TCBRT_OPERANDS_MAX; i++)
		operand[i] = (void *)(uintptr_t)call->operand[i];
	if (call->own)
		call->own(device, call->operand);
	else if (call->gpu)
		must(tcbrt_gpu_execute(call->gpu, call->operand, workspace, device->stream, TCBRT_GPU_OVERLAP), &err);
	else if (tcbrt_execute(call->plan, operand, scratch, device->pool) != TCBRT_OK)
		must(tcbrt_execute_check(call->plan, operand, scratch, &err), &err);
}
