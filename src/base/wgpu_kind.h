/* SPDX-License-Identifier: MIT
 *
 * Names of WebGPU's devices, and the one that stands for all.
 */
#ifndef TCB_BASE_WGPU_KIND_H
#define TCB_BASE_WGPU_KIND_H

#include "base/target.h"

#define TCB_WGPU_PORTABLE_NAME "wgpu:portable"

/* The number of "wgpu:0"; -1: NAME is not so. */
int tcb_wgpu_ordinal(const char *name);
/* Fills what follows from DEVICE's limits, its name included; the key is its maker's to know. */
void tcb_wgpu_complete(struct tcb_device *device);
/* A device with what WebGPU guarantees, and no more. */
void tcb_wgpu_portable(struct tcb_device *out);

#endif
