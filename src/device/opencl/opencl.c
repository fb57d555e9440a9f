/* SPDX-License-Identifier: MIT
 *
 * Opening OpenCL.  Out: its functions, or the reason why there are none.  A driver that
 * is named itself has them only in a table, which the first word of each of its
 * objects points to.
 */
#include "device/opencl/opencl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tcb_opencl library;
static struct tcb_error failure; /* of the one attempt */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Of a loader. */
static const char *find_symbols(void *handle)
{
	void *symbol;

#define FIND(member, name, place, result, parameters)         \
	if (!(symbol = dlsym(handle, "cl" #name)))            \
		return "it lacks cl" #name ", of OpenCL 1.2"; \
	memcpy(&library.member, &symbol, sizeof symbol);
	TCB_OPENCL_FUNCTIONS(FIND)
#undef FIND
	return NULL;
}

/* Of a driver: by the table of its first platform. */
static const char *find_table(void *handle)
{
	void *(*get_address)(const char *) = NULL;
	int32_t (*platform_ids)(uint32_t, tcb_cl_platform *, uint32_t *) = NULL;
	void *symbol = dlsym(handle, "clGetExtensionFunctionAddress");
	void *const *table;
	tcb_cl_platform platform = NULL;

	memcpy(&get_address, &symbol, sizeof symbol);
	if (!get_address)
		return "it is neither OpenCL's loader nor a driver of it";
	symbol = get_address("clIcdGetPlatformIDsKHR");
	memcpy(&platform_ids, &symbol, sizeof symbol);
	if (!platform_ids || platform_ids(1, &platform, NULL) != TCB_CL_SUCCESS || !platform)
		return "it is a driver that has no platform here";
	memcpy(&table, platform, sizeof(void *));
#define FIND(member, name, place, result, parameters)         \
	if (!table[place])                                    \
		return "it lacks cl" #name ", of OpenCL 1.2"; \
	memcpy(&library.member, &table[place], sizeof symbol);
	TCB_OPENCL_FUNCTIONS(FIND)
#undef FIND
	library.platform_ids = platform_ids;
	return NULL;
}

static enum tcb_status load(struct tcb_error *err)
{
	const char *given = getenv("TCBTUNE_OPENCL");
	const char *name = given && *given ? given : "libOpenCL.so.1";
	void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	const char *why;

	if (!handle)
		return tcb_fail(
			err, TCB_E_UNSUPPORTED,
			"no OpenCL: %.200s; install its loader and a driver of it (Debian: ocl-icd-libopencl1, and "
			"pocl-opencl-icd for processors), or let TCBTUNE_OPENCL name its library",
			dlerror());
	why = dlsym(handle, "clGetPlatformIDs") ? find_symbols(handle) : find_table(handle);
	return why ? tcb_fail(err, TCB_E_UNSUPPORTED, "no OpenCL in %.200s: %s", name, why) : TCB_OK;
}

static void load_once(void)
{
	failure.status = load(&failure);
}

const struct tcb_opencl *tcb_opencl_open(struct tcb_error *err)
{
	pthread_once(&once, load_once);
	if (failure.status == TCB_OK)
		return &library;
	tcb_fail(err, failure.status, "%s", failure.message);
	return NULL;
}

const char *tcb_opencl_text(int32_t status)
{
	/* Those that candidates or full devices bring about ("Error codes" in the specification). */
	static const struct {
		int32_t status;
		const char *text;
	} rows[] = {
		{ -1, "no device" },
		{ -2, "the device is not available" },
		{ -3, "the driver has no compiler" },
		{ -4, "the device's memory is full" },
		{ -5, "out of resources" },
		{ -6, "out of memory" },
		{ -7, "it has no profile" },
		{ -11, "the program does not compile" },
		{ -13, "a part of a buffer that begins off the device's alignment" },
		{ -14, "the kernel failed" },
		{ -36, "the queue is lost" },
		{ -43, "invalid compiler options" },
		{ -46, "the source has no such kernel" },
		{ -49, "the kernel has fewer arguments" },
		{ -50, "the kernel takes another kind of argument" },
		{ -51, "the kernel takes an argument of another size" },
		{ -52, "the kernel has more arguments" },
		{ -54, "invalid sizes of a work-group" },
		{ -55, "a work-group that is too large along a dimension" },
		{ -61, "a buffer of invalid size" },
		{ -63, "a global size that is too large" },
		{ TCB_CL_PLATFORM_NOT_FOUND, "no platform" },
		{ -9999, "an illegal read or write (as NVIDIA says)" },
	};
	static _Thread_local char other[32];

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].status == status)
			return rows[i].text;
	snprintf(other, sizeof other, "error %d", status);
	return other;
}
