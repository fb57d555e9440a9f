/* SPDX-License-Identifier: MIT
 *
 * For tests that run on the fake CUDA driver (tests/device/fake_cuda.c): loaded
 * by its path, it is what the product finds when it asks for libcuda.so.1.
 */
#ifndef TCB_TESTS_FAKE_GPU_H
#define TCB_TESTS_FAKE_GPU_H

#include "cmocka_all.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"

/* Workers are forked from a tuner with threads, and start threads of their own. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "die_after_fork=0";
}

/* CARDS as FAKE_CUDA has them: "90,90"; the driver reads it when it starts, which is in a process of its own each time
 * (tcb_gpu_list, workers).  Kernels stay PTX. */
static inline void fake_gpu_load(const char *cards)
{
	if (!dlopen(FAKE_CUDA_PATH, RTLD_NOW | RTLD_LOCAL))
		fail_msg("%s", dlerror());
	setenv("FAKE_CUDA", cards, 1);
	setenv("TCBTUNE_ASSEMBLER", "none", 1);
}

static inline void fake_gpu_place(const char *name, struct tcb_place *out)
{
	struct tcb_error err;
	if (tcb_place_open(name, 0, 1, out, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

#endif
