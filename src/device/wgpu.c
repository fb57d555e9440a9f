/* SPDX-License-Identifier: MIT
 *
 * Opening wgpu-native.  Out: its functions, or the reason why there are none.
 */
#include "device/wgpu.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 512 };

static struct tcb_wgpu library;
static struct tcb_error failure; /* of the one attempt */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *open_library(void)
{
	/* The first is of the package for Python, whose folder resources it is in. */
	static const char *const names[] = { "libwgpu_native-release.so", "libwgpu_native.so" };
	const char *given = getenv("TCBTUNE_WGPU");
	char path[PATH_BYTES];
	void *found;

	if (!given || !*given)
		return dlopen(names[1], RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/%s", given, names[i]);
		if ((found = dlopen(path, RTLD_NOW | RTLD_LOCAL)))
			return found;
	}
	return dlopen(given, RTLD_NOW | RTLD_LOCAL);
}

static enum tcb_status load(struct tcb_error *err)
{
	void *handle = open_library(), *symbol;

	if (!handle)
		return tcb_fail(err, TCB_E_UNSUPPORTED,
				"no wgpu-native: %.200s; scripts/fetch-wgpu.sh fetches it (so does 'pip install "
				"wgpu'): let TCBTUNE_WGPU name its library, or the folder that it is in",
				dlerror());
#define FIND(member, name, type, parameters)                                                                     \
	symbol = dlsym(handle, "wgpu" #name);                                                                    \
	if (!symbol)                                                                                             \
		return tcb_fail(err, TCB_E_UNSUPPORTED,                                                          \
				"the wgpu-native that was found lacks wgpu" #name "; tcbtune needs version 29"); \
	memcpy(&library.member, &symbol, sizeof symbol);
	TCB_WGPU_FUNCTIONS(FIND)
#undef FIND
	library.set_log_level(0); /* what goes wrong, errors say */
	return TCB_OK;
}

static void load_once(void)
{
	failure.status = load(&failure);
}

const struct tcb_wgpu *tcb_wgpu_open(struct tcb_error *err)
{
	pthread_once(&once, load_once);
	if (failure.status == TCB_OK)
		return &library;
	tcb_fail(err, failure.status, "%s", failure.message);
	return NULL;
}
