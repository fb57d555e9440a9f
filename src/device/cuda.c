/* SPDX-License-Identifier: MIT
 *
 * Opening libcuda.  Out: its functions, or the reason why there are none.
 */
#include "device/cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct tcb_cuda driver;
static struct tcb_error failure; /* of the one attempt */
static pthread_once_t once = PTHREAD_ONCE_INIT;

const char *tcb_cuda_error_name(const struct tcb_cuda *cuda, int result)
{
	const char *name = NULL;
	if (cuda->error_name(result, &name) != TCB_CUDA_SUCCESS || !name)
		return "unknown CUDA error";
	return name;
}

enum tcb_status tcb_cuda_check(const struct tcb_cuda *cuda, int result, const char *what, struct tcb_error *err)
{
	const char *text = NULL;
	if (result == TCB_CUDA_SUCCESS)
		return TCB_OK;
	if (cuda->error_string(result, &text) != TCB_CUDA_SUCCESS || !text)
		text = "no description";
	return tcb_fail(err, result == TCB_CUDA_OUT_OF_MEMORY ? TCB_E_NOMEM : TCB_E_FAILED, "%s: %s (%s)", what,
			tcb_cuda_error_name(cuda, result), text);
}

/* By the driver's table of versions, never by name: the plain names are of the first CUDA, with other parameters. */
typedef int (*get_proc_address)(const char *symbol, void **out, int version, uint64_t flags, int *found);

static enum tcb_status load(struct tcb_error *err)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return tcb_fail(err, TCB_E_UNSUPPORTED,
				"no CUDA driver: %s; install the NVIDIA driver (its libcuda.so.1), or put its folder "
				"into LD_LIBRARY_PATH",
				dlerror());
	void *symbol = dlsym(library, "cuGetProcAddress_v2");
	get_proc_address get;
	if (!symbol)
		return tcb_fail(err, TCB_E_UNSUPPORTED,
				"the CUDA driver is too old; tcbtune needs a driver of CUDA 12.0 or later");
	memcpy(&get, &symbol, sizeof get);
	int found;
#define FIND(member, name, parameters)                                                                              \
	symbol = NULL;                                                                                              \
	if (get("cu" #name, &symbol, TCB_CUDA_VERSION, 0, &found) != TCB_CUDA_SUCCESS || !symbol)                   \
		return tcb_fail(err, TCB_E_UNSUPPORTED,                                                             \
				"the CUDA driver lacks cu" #name "; tcbtune needs a driver of CUDA 12.0 or later"); \
	memcpy(&driver.member, &symbol, sizeof symbol);
	TCB_CUDA_FUNCTIONS(FIND)
#undef FIND
	int result = driver.init(0);
	if (result == TCB_CUDA_NO_DEVICE)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "the CUDA driver is installed but sees no GPU");
	if (result != TCB_CUDA_SUCCESS)
		return tcb_cuda_check(&driver, result, "the CUDA driver does not start", err);
	if (driver.driver_version(&driver.version) != TCB_CUDA_SUCCESS)
		driver.version = 0;
	return TCB_OK;
}

static void load_once(void)
{
	failure.status = load(&failure);
}

const struct tcb_cuda *tcb_cuda_open(struct tcb_error *err)
{
	pthread_once(&once, load_once);
	if (failure.status == TCB_OK)
		return &driver;
	tcb_fail(err, failure.status, "%s", failure.message);
	return NULL;
}
