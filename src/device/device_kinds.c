/* SPDX-License-Identifier: MIT
 *
 * Which kinds of devices can be opened, by enum tcb_target_kind; alone in its file as base/kinds/kinds.c is.
 */
#include "device/device.h"

const struct tcb_device_kind *const tcb_device_kinds[] = { [TCB_TARGET_CPU] = &tcb_device_cpu,
							   [TCB_TARGET_CUDA] = &tcb_device_cuda,
							   [TCB_TARGET_WGPU] = &tcb_device_wgpu,
							   [TCB_TARGET_OPENCL] = &tcb_device_opencl };
