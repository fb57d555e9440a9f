/* SPDX-License-Identifier: MIT
 *
 * The kinds of this build.  Nothing else is in this file, so that a program may
 * bring a table of its own (tests/kinds/).
 */
#include "base/kind.h"

const struct tcb_kind *const tcb_kinds[] = { [TCB_TARGET_CPU] = &tcb_kind_cpu,
					     [TCB_TARGET_CUDA] = &tcb_kind_cuda,
					     [TCB_TARGET_WGPU] = &tcb_kind_wgpu,
					     [TCB_TARGET_OPENCL] = &tcb_kind_opencl,
					     NULL };
