/* SPDX-License-Identifier: MIT
 *
 * Names of WebGPU's devices, and the one that stands for all.
 */
#ifndef TCB_BASE_WGPU_KIND_H
#define TCB_BASE_WGPU_KIND_H

#include "base/target.h"

#define TCB_WGPU_PORTABLE_NAME "wgpu:portable"
#define TCB_WGPU_TRUSTED ":trusted"

/* The number of "wgpu:0" and "wgpu:0:trusted"; -1: NAME is not so. */
int tcb_wgpu_ordinal(const char *name);
/* Does NAME, as people or results have it, end in what says that kernels are trusted? */
int tcb_wgpu_is_trusted(const char *name);
/* Makes of DEVICE what it is to a program that trusts its kernels. */
void tcb_wgpu_trust(struct tcb_device *device);
/* Fills what follows from DEVICE's limits, its name included; the key is its maker's to know. */
void tcb_wgpu_complete(struct tcb_device *device);
enum { TCB_WGPU_ADAPTER_CPU = 3 }; /* WGPUAdapterType */

/* What an adapter says that it is: WGPUAdapterInfo (numbers as there), and wgpu-native's version, 0: of another
 * implementation. */
struct tcb_wgpu_identity {
	uint32_t vendor_id, device_id, version;
	int backend, type;
	const char *device, *description; /* no NUL at their ends */
	size_t device_bytes, description_bytes;
};
/* DEVICE's vendor, model, driver and key, which also is of whether it is_checked. */
void tcb_wgpu_identify(const struct tcb_wgpu_identity *identity, struct tcb_device *device);
/* Sets limits that are 0 to what every device has. */
void tcb_wgpu_guarantee(struct tcb_wgpu_target *target);
/* A device with what WebGPU guarantees, and no more. */
void tcb_wgpu_portable(struct tcb_device *out);

#endif
