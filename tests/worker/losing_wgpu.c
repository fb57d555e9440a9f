/* SPDX-License-Identifier: MIT
 *
 * A wgpu-native whose devices are lost on request, as a driver loses one: a library
 * that is linked to the real one, which is found behind it for all else.  A module
 * whose text has "lost at N" is remembered, and its device destroyed behind the Nth
 * submission of commands from then on; 0: at once.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "device/wgpu_abi.h"

#define EXPORT __attribute__((visibility("default")))
/* Of the library below. */
#define REAL(name) ((__typeof__(&(name)))real(#name))

EXPORT WGPUShaderModule wgpuDeviceCreateShaderModule(WGPUDevice device, const struct tcb_wgpu_named *with);
EXPORT void wgpuQueueSubmit(WGPUQueue queue, size_t count, const WGPUCommandBuffer *commands);
void wgpuDeviceDestroy(WGPUDevice device); /* the real one's */

static WGPUDevice doomed;
static unsigned long left;

static void *real(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found)
		abort();
	return found;
}

static void lose(void)
{
	const WGPUDevice device = doomed;

	doomed = NULL;
	REAL(wgpuDeviceDestroy)(device);
}

WGPUShaderModule wgpuDeviceCreateShaderModule(WGPUDevice device, const struct tcb_wgpu_named *with)
{
	static const char words[] = "lost at ";
	const char *at = strstr(((const struct tcb_wgpu_source *)(const void *)with->next)->code.data, words);
	const WGPUShaderModule module = REAL(wgpuDeviceCreateShaderModule)(device, with);

	if (!at)
		return module;
	doomed = device;
	left = strtoul(at + sizeof(words) - 1, NULL, 10);
	if (left == 0)
		lose();
	return module;
}

void wgpuQueueSubmit(WGPUQueue queue, size_t count, const WGPUCommandBuffer *commands)
{
	REAL(wgpuQueueSubmit)(queue, count, commands);
	if (count > 0 && doomed && --left == 0)
		lose();
}
