/* SPDX-License-Identifier: MIT
 *
 * Names of OpenCL's devices, and what makes them who they are.
 */
#ifndef TCB_BASE_OPENCL_KIND_H
#define TCB_BASE_OPENCL_KIND_H

#include "base/target.h"

/* The number of "opencl:0"; -1: NAME is not so. */
int tcb_opencl_ordinal(const char *name);

/* What a device says that it is. */
struct tcb_opencl_identity {
	uint32_t vendor_id;
	int is_cpu;
	const char *platform, *platform_version, *device, *driver; /* texts */
};
/* DEVICE's vendor, name, architecture, model, driver and key, by IDENTITY and by its target's limits. */
void tcb_opencl_identify(const struct tcb_opencl_identity *identity, struct tcb_device *device);

#endif
