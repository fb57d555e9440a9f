/* SPDX-License-Identifier: MIT
 *
 * The first GPU with one buffer of device memory, for programs that measure what
 * single instructions do: kernels are PTX texts k(buffer, out).
 */
#ifndef TCB_TESTS_BARE_GPU_H
#define TCB_TESTS_BARE_GPU_H

#include "device/cuda.h"

struct bare_gpu {
	const struct tcb_cuda *cuda; /* NULL: kernels are written into FOLDER instead of run, and all is zero */
	const char *folder;
	CUcontext context;
	CUstream stream;
	CUevent from, to;
	int device, multiprocessors, capability;
	double clock_hz;
	uint64_t buffer, out; /* OUT: BARE_OUT bytes */
	size_t buffer_bytes;
};

enum { BARE_OUT = 1 << 20 };

/* TCB_E_NOT_FOUND or TCB_E_UNSUPPORTED without a GPU.  The buffer holds BYTES of zeros. */
enum tcb_status bare_gpu_open(size_t bytes, struct bare_gpu *out, struct tcb_error *err);
void bare_gpu_close(struct bare_gpu *gpu); /* a zeroed one is fine */

struct bare_kernel {
	CUmodule module;
	CUfunction function;
	unsigned grid, block, shared_bytes;
};

/* The entry "k" of TEXT. */
enum tcb_status bare_kernel_load(const struct bare_gpu *gpu, const char *text, struct bare_kernel *out,
				 struct tcb_error *err);
void bare_kernel_unload(const struct bare_gpu *gpu, struct bare_kernel *kernel);
/* One launch, waited for; its seconds by events. */
enum tcb_status bare_kernel_run(const struct bare_gpu *gpu, const struct bare_kernel *kernel, double *seconds_out,
				struct tcb_error *err);
/* COUNT 32-bit words of OUT. */
enum tcb_status bare_gpu_read(const struct bare_gpu *gpu, uint32_t *words, size_t count, struct tcb_error *err);

#endif
