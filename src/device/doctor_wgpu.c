/* SPDX-License-Identifier: MIT
 *
 * What this host has for kernels in WGSL: the library and the drivers below it.
 */
#include <stdlib.h>

#include "device/doctor_private.h"
#include "device/wgpu.h"

/* An adapter in software serves for correctness alone. */
static void look_at_adapters(const char *root, struct tcb_doctor_row *row)
{
	struct tcb_device *adapters = calloc(TCB_WGPU_ADAPTERS_MAX, sizeof *adapters);
	struct tcb_error why;
	size_t count;

	(void)root;
	if (adapters && tcb_wgpu_list(adapters, &count, &why) == TCB_OK) {
		tcb_doctor_found(row, TCB_DOCTOR_OK, "%.100s, %zu adapter%s", adapters[0].model, count,
				 count == 1 ? "" : "s");
	} else if (adapters && why.status == TCB_E_UNSUPPORTED) {
		tcb_doctor_found(row, TCB_DOCTOR_MISSING, "no wgpu-native");
		tcb_doctor_advise(row,
				  "scripts/fetch-wgpu.sh fetches it (or 'pip install wgpu'): let TCBTUNE_WGPU name "
				  "its library");
	} else {
		tcb_doctor_found(row, TCB_DOCTOR_LIMITED, "%.150s", adapters ? why.message : "out of memory");
		tcb_doctor_advise(row,
				  "install Vulkan's loader and a driver of it (libvulkan1; mesa-vulkan-drivers has "
				  "one in software)");
	}
	free(adapters);
}

const struct tcb_doctor_check tcb_doctor_wgpu[] = { { "WebGPU", look_at_adapters }, { NULL, NULL } };
