/* SPDX-License-Identifier: MIT
 *
 * Who carries out requests on each kind of device; alone in its file as base/kinds/kinds.c is.
 */
#include "worker/backend.h"

const struct tcb_backend *const tcb_backends[] = { [TCB_TARGET_CPU] = &tcb_backend_cpu,
						   [TCB_TARGET_CUDA] = &tcb_backend_cuda,
						   [TCB_TARGET_WGPU] = &tcb_backend_wgpu,
						   [TCB_TARGET_OPENCL] = &tcb_backend_opencl };
