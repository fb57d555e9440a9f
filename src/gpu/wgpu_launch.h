/* SPDX-License-Identifier: MIT
 *
 * Kernels in WebGPU: a unit of a code image becomes pipelines, buffers are bound
 * to them, dispatches go into a pass.  What happens before and after is the
 * caller's.
 */
#ifndef TCB_GPU_WGPU_LAUNCH_H
#define TCB_GPU_WGPU_LAUNCH_H

#include "device/wgpu.h"
#include "kernels/code.h"

/* A unit of an image, compiled for a session. */
struct tcb_wgpu_code {
	struct tcb_wgpu_session *session;
	const struct tcb_code_unit *unit; /* lent by the image */
	WGPUShaderModule module;
	WGPUComputePipeline pipeline[TCB_LAUNCHES_MAX];
};

/* A part of a buffer, from a multiple of 256 bytes on. */
struct tcb_wgpu_part {
	WGPUBuffer buffer;
	size_t at, bytes;
};

/* What is bound to the launches of a call. */
struct tcb_wgpu_bound {
	WGPUBindGroup group[TCB_LAUNCHES_MAX];
};

/* Nonzero: WHY, with the line and column of the text.  Unload OUT in any case. */
int tcb_wgpu_code_load(struct tcb_wgpu_session *session, const struct tcb_code_image *image, size_t unit,
		       int is_checked, struct tcb_wgpu_code *out, char why[TCB_WGPU_WHY_MAX]);
void tcb_wgpu_code_unload(struct tcb_wgpu_code *code); /* zeroed is fine */
/* EXTRA: bytes that are bound behind each operand, a multiple of 16; 0 as engines do it.  Nonzero: WHY. */
int tcb_wgpu_code_bind(const struct tcb_wgpu_code *code, const struct tcb_wgpu_part operand[TCB_OPERANDS_MAX],
		       const struct tcb_wgpu_part *workspace, size_t extra, struct tcb_wgpu_bound *out,
		       char why[TCB_WGPU_WHY_MAX]);
void tcb_wgpu_code_unbind(const struct tcb_wgpu_code *code, struct tcb_wgpu_bound *bound); /* zeroed is fine */
/* All launches, in order. */
void tcb_wgpu_code_dispatch(const struct tcb_wgpu_code *code, const struct tcb_wgpu_bound *bound,
			    WGPUComputePassEncoder pass);

#endif
