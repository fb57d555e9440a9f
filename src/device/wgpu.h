/* SPDX-License-Identifier: MIT
 *
 * WebGPU through wgpu-native, opened at run time.  wgpu.c: the library.
 * wgpu_session.c: a device of an adapter, ready to work.  wgpu_adapters.c: which
 * adapters there are.  A process that forks must not have opened it: the drivers below
 * it do not survive that.
 */
#ifndef TCB_DEVICE_WGPU_H
#define TCB_DEVICE_WGPU_H

#include "base/status.h"
#include "base/target.h"
#include "device/wgpu_abi.h"

enum { TCB_WGPU_ADAPTERS_MAX = 16, TCB_WGPU_WHY_MAX = 256 };

struct tcb_wgpu {
#define TCB_WGPU_MEMBER(member, symbol, type, parameters) type(*member) parameters;
	TCB_WGPU_FUNCTIONS(TCB_WGPU_MEMBER)
#undef TCB_WGPU_MEMBER
};

/* wgpu.c */
/*
 * The library that TCBTUNE_WGPU names (a file, or the folder that it is in), else the loader's; opened once per
 * process and never closed.  NULL with a line that says how to get it.
 */
const struct tcb_wgpu *tcb_wgpu_open(struct tcb_error *err);

/* wgpu_session.c */
struct tcb_wgpu_session {
	const struct tcb_wgpu *wgpu;
	WGPUInstance instance;
	WGPUAdapter adapter;
	WGPUDevice device;
	WGPUQueue queue;
	struct tcb_wgpu_limits limits; /* of the adapter, all of which the device has */
	uint32_t features;             /* of them, bits of enum tcb_wgpu_feature */
	double tick_ns;                /* of timestamps; 0: it has none */
	WGPUBuffer staging;            /* what is read goes through it */
	int is_lost;
	int error_type; /* of the first error since the last look; 0: none */
	char error[512];
};
/* Adapter ORDINAL of the list, with all of its limits and features.  Whatever it returns, close OUT; it must not move
 * meanwhile. */
enum tcb_status tcb_wgpu_session_open(unsigned ordinal, struct tcb_wgpu_session *out, struct tcb_error *err);
void tcb_wgpu_session_close(struct tcb_wgpu_session *session); /* zeroed is fine */
/* Something went wrong since the last call: what.  0: nothing. */
int tcb_wgpu_failed(struct tcb_wgpu_session *session, char why[TCB_WGPU_WHY_MAX]);
/* The same as a status. */
enum tcb_status tcb_wgpu_check(struct tcb_wgpu_session *session, const char *what, struct tcb_error *err);
/* Is the device gone, and with it all that was made by it?  Asked when errors were looked at. */
int tcb_wgpu_is_lost(struct tcb_wgpu_session *session);
/* Until all that was submitted is done. */
void tcb_wgpu_wait(struct tcb_wgpu_session *session);
/* A buffer for shaders to read and write, and to copy from and to; NULL where tcb_wgpu_failed says why. */
WGPUBuffer tcb_wgpu_buffer(struct tcb_wgpu_session *session, size_t bytes);
void tcb_wgpu_buffer_free(const struct tcb_wgpu_session *session, WGPUBuffer buffer); /* NULL is fine */
/* What MAKER's commands leave, submitted. */
void tcb_wgpu_submit(struct tcb_wgpu_session *session, WGPUCommandEncoder encoder);
/* BYTES of BUFFER from AT on, which may be any number. */
enum tcb_status tcb_wgpu_read(struct tcb_wgpu_session *session, WGPUBuffer buffer, size_t at, size_t bytes, void *to,
			      struct tcb_error *err);
/* AT and BYTES are multiples of 4. */
enum tcb_status tcb_wgpu_write(struct tcb_wgpu_session *session, WGPUBuffer buffer, size_t at, const void *from,
			       size_t bytes, struct tcb_error *err);
/* WGSL as the library takes it: TEXT as pages have it, whose directive for subgroups it does not know.  IS_CHECKED: no
 * access goes out of bounds, as in pages. */
WGPUShaderModule tcb_wgpu_module(struct tcb_wgpu_session *session, const char *text, int is_checked);
WGPUComputePipeline tcb_wgpu_pipeline(struct tcb_wgpu_session *session, WGPUShaderModule module, const char *entry,
				      const struct tcb_wgpu_constant *constants, size_t constant_count);
WGPUBindGroup tcb_wgpu_bind(struct tcb_wgpu_session *session, WGPUComputePipeline pipeline,
			    const struct tcb_wgpu_binding *entries, size_t count);

/* wgpu_adapters.c */
/* The adapters, asked for in a process that ends at once; each device's name is its group's ("wgpu-nvidia"). */
enum tcb_status tcb_wgpu_list(struct tcb_device out[TCB_WGPU_ADAPTERS_MAX], size_t *count_out, struct tcb_error *err);

static inline struct tcb_wgpu_text tcb_wgpu_text(const char *text)
{
	return (struct tcb_wgpu_text){ text, SIZE_MAX };
}

#endif
