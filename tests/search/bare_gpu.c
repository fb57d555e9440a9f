/* SPDX-License-Identifier: MIT
 *
 * The driver's calls in the order that a small measurement needs them.
 */
#include "bare_gpu.h"

#include <stdio.h>
#include <string.h>

enum { FIRST = 0, SHARED_DEFAULT = 48 * 1024 };

static enum tcb_status check(const struct bare_gpu *gpu, int result, const char *what, struct tcb_error *err)
{
	return tcb_cuda_check(gpu->cuda, result, what, err);
}

static enum tcb_status attribute(const struct bare_gpu *gpu, int which, int *out, struct tcb_error *err)
{
	return check(gpu, gpu->cuda->device_attribute(out, which, gpu->device), "cuDeviceGetAttribute", err);
}

enum tcb_status bare_gpu_open(size_t bytes, struct bare_gpu *gpu, struct tcb_error *err)
{
	int major, minor, khz, count = 0;
	memset(gpu, 0, sizeof *gpu);
	const struct tcb_cuda *cuda = gpu->cuda = tcb_cuda_open(err);
	if (!cuda)
		return TCB_E_UNSUPPORTED;
	TCB_TRY(check(gpu, cuda->device_count(&count), "cuDeviceGetCount", err));
	if (!count)
		return tcb_fail(err, TCB_E_NOT_FOUND, "the driver knows no GPU");
	TCB_TRY(check(gpu, cuda->device_get(&gpu->device, FIRST), "cuDeviceGet", err));
	TCB_TRY(attribute(gpu, TCB_CUDA_DEVICE_MULTIPROCESSOR_COUNT, &gpu->multiprocessors, err));
	TCB_TRY(attribute(gpu, TCB_CUDA_DEVICE_COMPUTE_CAPABILITY_MAJOR, &major, err));
	TCB_TRY(attribute(gpu, TCB_CUDA_DEVICE_COMPUTE_CAPABILITY_MINOR, &minor, err));
	TCB_TRY(attribute(gpu, TCB_CUDA_DEVICE_CLOCK_RATE, &khz, err));
	gpu->capability = 10 * major + minor;
	gpu->clock_hz = 1e3 * khz;
	TCB_TRY(check(gpu, cuda->context_retain(&gpu->context, gpu->device), "cuDevicePrimaryCtxRetain", err));
	TCB_TRY(check(gpu, cuda->context_set(gpu->context), "cuCtxSetCurrent", err));
	TCB_TRY(check(gpu, cuda->stream_create(&gpu->stream, TCB_CUDA_STREAM_NON_BLOCKING), "cuStreamCreate", err));
	TCB_TRY(check(gpu, cuda->event_create(&gpu->from, TCB_CUDA_EVENT_DEFAULT), "cuEventCreate", err));
	TCB_TRY(check(gpu, cuda->event_create(&gpu->to, TCB_CUDA_EVENT_DEFAULT), "cuEventCreate", err));
	TCB_TRY(check(gpu, cuda->alloc(&gpu->buffer, bytes), "cuMemAlloc", err));
	TCB_TRY(check(gpu, cuda->alloc(&gpu->out, BARE_OUT), "cuMemAlloc", err));
	gpu->buffer_bytes = bytes;
	TCB_TRY(check(gpu, cuda->fill(gpu->buffer, 0, bytes, gpu->stream), "cuMemsetD8Async", err));
	TCB_TRY(check(gpu, cuda->fill(gpu->out, 0, BARE_OUT, gpu->stream), "cuMemsetD8Async", err));
	return check(gpu, cuda->stream_sync(gpu->stream), "cuStreamSynchronize", err);
}

void bare_gpu_close(struct bare_gpu *gpu)
{
	const struct tcb_cuda *cuda = gpu->cuda;
	if (!cuda || !gpu->context)
		return;
	if (gpu->out)
		(void)cuda->free(gpu->out);
	if (gpu->buffer)
		(void)cuda->free(gpu->buffer);
	if (gpu->from)
		(void)cuda->event_destroy(gpu->from);
	if (gpu->to)
		(void)cuda->event_destroy(gpu->to);
	if (gpu->stream)
		(void)cuda->stream_destroy(gpu->stream);
	(void)cuda->context_release(gpu->device);
	memset(gpu, 0, sizeof *gpu);
}

static enum tcb_status write_text(const char *folder, unsigned number, const char *text, struct tcb_error *err)
{
	char path[512];
	snprintf(path, sizeof path, "%s/k%03u.ptx", folder, number);
	FILE *file = fopen(path, "w");
	if (!file || fputs(text, file) < 0)
		return tcb_fail(err, TCB_E_IO, "cannot write %s", path);
	fclose(file);
	return TCB_OK;
}

enum tcb_status bare_kernel_load(const struct bare_gpu *gpu, const char *text, struct bare_kernel *out,
				 struct tcb_error *err)
{
	static char log[4096];
	static unsigned number;
	if (!gpu->cuda)
		return write_text(gpu->folder, number++, text, err);
	int options[] = { TCB_CUDA_JIT_ERROR_LOG_BUFFER, TCB_CUDA_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { log, (void *)sizeof log };
	memset(out, 0, sizeof *out);
	log[0] = '\0';
	const int result = gpu->cuda->module_load(&out->module, text, 2, options, values);
	if (result != TCB_CUDA_SUCCESS)
		return tcb_fail(err, TCB_E_FAILED, "the driver refuses the kernel: %s",
				log[0] ? log : tcb_cuda_error_name(gpu->cuda, result));
	return check(gpu, gpu->cuda->module_function(&out->function, out->module, "k"), "cuModuleGetFunction", err);
}

void bare_kernel_unload(const struct bare_gpu *gpu, struct bare_kernel *kernel)
{
	if (kernel->module && gpu->cuda)
		(void)gpu->cuda->module_unload(kernel->module);
	kernel->module = NULL;
}

enum tcb_status bare_kernel_run(const struct bare_gpu *gpu, const struct bare_kernel *kernel, double *seconds_out,
				struct tcb_error *err)
{
	const struct tcb_cuda *cuda = gpu->cuda;
	const struct tcb_cuda_config config = { .grid = { kernel->grid, 1, 1 },
						.block = { kernel->block, 1, 1 },
						.shared_bytes = kernel->shared_bytes,
						.stream = gpu->stream };
	uint64_t buffer = gpu->buffer, out = gpu->out;
	void *params[] = { &buffer, &out };
	float ms = 0;
	*seconds_out = 1;
	if (!cuda)
		return TCB_OK;
	if (kernel->shared_bytes > SHARED_DEFAULT)
		TCB_TRY(check(gpu,
			      cuda->function_set(kernel->function, TCB_CUDA_FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES,
						 (int)kernel->shared_bytes),
			      "cuFuncSetAttribute", err));
	TCB_TRY(check(gpu, cuda->event_record(gpu->from, gpu->stream), "cuEventRecord", err));
	TCB_TRY(check(gpu, cuda->launch(&config, kernel->function, params, NULL), "cuLaunchKernelEx", err));
	TCB_TRY(check(gpu, cuda->event_record(gpu->to, gpu->stream), "cuEventRecord", err));
	TCB_TRY(check(gpu, cuda->event_sync(gpu->to), "the kernel", err));
	TCB_TRY(check(gpu, cuda->event_elapsed(&ms, gpu->from, gpu->to), "cuEventElapsedTime", err));
	*seconds_out = 1e-3 * ms;
	return TCB_OK;
}

enum tcb_status bare_gpu_read(const struct bare_gpu *gpu, uint32_t *words, size_t count, struct tcb_error *err)
{
	memset(words, 0, count * sizeof *words);
	if (!gpu->cuda)
		return TCB_OK;
	return check(gpu, gpu->cuda->copy_out(words, gpu->out, count * sizeof *words), "cuMemcpyDtoH", err);
}
