/* SPDX-License-Identifier: MIT
 *
 * What each kind of device's kernels are written in; alone in its file as base/kinds/kinds.c is.
 */
#include "base/target.h"
#include "kernels/language.h"

const struct tcb_language *const tcb_languages[] = { [TCB_TARGET_CUDA] = &tcb_language_ptx,
						     [TCB_TARGET_WGPU] = &tcb_language_wgsl,
						     [TCB_TARGET_OPENCL] = &tcb_language_opencl };
