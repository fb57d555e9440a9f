/* SPDX-License-Identifier: MIT
 *
 * Processors: a pool's threads and memory in large pages.  A GPU: the driver, opened while the program runs, as
 * libtcbrt does it, so that one program serves machines with a GPU and without.
 */
#include "engine.h"

#include <dlfcn.h>
#include <err.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

/* The functions of the CUDA driver that are used, as CUDA 12.0 has them. */
#define CUDA_FUNCTIONS(X)                                                                 \
	X(cuInit, (unsigned flags))                                                       \
	X(cuDevicePrimaryCtxRetain, (void **context, int device))                         \
	X(cuCtxSetCurrent, (void *context))                                               \
	X(cuMemAlloc, (address * at, size_t bytes))                                       \
	X(cuMemsetD8Async, (address at, unsigned char value, size_t bytes, void *stream)) \
	X(cuMemcpyHtoD, (address to, const void *from, size_t bytes))                     \
	X(cuMemcpyDtoH, (void *to, address from, size_t bytes))                           \
	X(cuStreamCreate, (void **stream, unsigned flags))                                \
	X(cuCtxSynchronize, (void))
#define CUDA_MEMBER(name, parameters) int(*name) parameters;
static struct {
	CUDA_FUNCTIONS(CUDA_MEMBER)
} cuda;
typedef int get_proc_address(const char *name, void **out, int version, unsigned long long flags, int *found);

void must(int code, const struct tcbrt_error *err)
{
	if (code != TCBRT_OK)
		errx(1, "%s", err->message);
}

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(int result, const char *what)
{
	if (result != 0)
		errx(1, "%s: error %d of the CUDA driver", what, result);
}

static void open_gpu(struct device *device)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
	get_proc_address *get = NULL;
	struct tcbrt_error err;
	int found;

	if (!library)
		errx(1, "--device gpu wants an NVIDIA GPU and its driver, and libcuda.so.1 is not here: %s", dlerror());
	*(void **)&get = dlsym(library, "cuGetProcAddress_v2");
#define CUDA_FIND(name, parameters)                                                       \
	if (!get || get(#name, (void **)&cuda.name, 12000, 0, &found) != 0 || !cuda.name) \
		errx(1, "the CUDA driver has no %s: install one of CUDA 12.0 or later", #name);
	CUDA_FUNCTIONS(CUDA_FIND)
	check(cuda.cuInit(0), "starting the CUDA driver");
	check(cuda.cuDevicePrimaryCtxRetain(&context, 0), "making a context on the first GPU");
	check(cuda.cuCtxSetCurrent(context), "using it");
	check(cuda.cuStreamCreate(&device->stream, 1), "making a stream"); /* that waits for no other */
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

void device_wait(const struct device *device)
{
	if (!device->pool)
		check(cuda.cuCtxSynchronize(), "running on the GPU");
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
	check(cuda.cuMemAlloc(&at, bytes), "allocating memory of the GPU");
	check(cuda.cuMemsetD8Async(at, 0, bytes, device->stream), "clearing it");
	device_wait(device);
	return at;
}

void device_write(const struct device *device, address to, const void *from, size_t bytes)
{
	if (device->pool)
		memcpy((void *)(uintptr_t)to, from, bytes);
	else
		check(cuda.cuMemcpyHtoD(to, from, bytes), "copying to the GPU");
}

void device_read(const struct device *device, void *to, address from, size_t bytes)
{
	if (device->pool)
		memcpy(to, (const void *)(uintptr_t)from, bytes);
	else
		check(cuda.cuMemcpyDtoH(to, from, bytes), "copying from the GPU");
}

struct tcbrt_chain *device_chain(const struct device *device, const struct tcbrt_call *calls, size_t count,
				 address *workspace)
{
	struct tcbrt_chain_info info;
	struct tcbrt_chain *chain;
	struct tcbrt_error err;

	must(tcbrt_chain_create(calls, count, &chain, &err), &err);
	tcbrt_chain_info(chain, &info);
	*workspace =
		info.workspace_bytes ? device_alloc(device, info.workspace_bytes) : 0; /* zeros are ready for use */
	if (!device->pool)
		must(tcbrt_chain_record(chain, *workspace, device->stream, &err), &err);
	return chain;
}

void device_run(const struct device *device, const struct tcbrt_chain *chain, address workspace, double *seconds)
{
	const int code = seconds        ? tcbrt_chain_profile(chain, workspace, device->pool, device->stream, seconds)
			 : device->pool ? tcbrt_chain_execute(chain, (void *)(uintptr_t)workspace, device->pool)
					: tcbrt_chain_launch(chain, device->stream);

	if (code != TCBRT_OK)
		errx(1, "a chain of ops could not be run");
}
