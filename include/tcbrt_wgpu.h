/* SPDX-License-Identifier: MIT
 *
 * libtcbrt: tuned kernels in WGSL, for a program's own device of WebGPU.
 *
 * A plan for WebGPU (tcbrt.h) is a module of WGSL, to be run in the caller's own device, whichever implementation that
 * is of: this library neither opens nor needs one.
 *
 *     struct tcbrt_wgpu_adapter adapter = { ... };   what WGPUAdapterInfo and the device's WGPULimits say
 *     query.wgpu = &adapter;
 *     tcbrt_plan_create(rt, &query, &plan, &err);
 *     tcbrt_wgpu_code(plan, &code);                  the module, and what to dispatch
 *     a pipeline per launch                          once; examples/webgpu.c
 *     one dispatch per launch, in order              as often as needed
 *
 * tcbrt_plan_info and tcbrt_pack are as for any plan; packed weights go to the device as they are.
 */
#ifndef TCBRT_WGPU_H
#define TCBRT_WGPU_H

#include <tcbrt.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { /* Features of a device, which have to be asked for when it is made; DP4A is one of the language. */
       TCBRT_WGPU_F16 = 1,       /* "shader-f16" */
       TCBRT_WGPU_SUBGROUPS = 2, /* "subgroups" */
       TCBRT_WGPU_DP4A = 4       /* "packed_4x8_integer_dot_product" */
};

/* A device and its adapter.  Numbers are those of webgpu.h.  Set the rest to zero. */
struct tcbrt_wgpu_adapter {
	/* WGPUAdapterInfo: vendorID, deviceID, backendType, adapterType, and two texts, which need no NUL. */
	unsigned vendor_id, device_id;
	int backend, type;
	const char *device, *description;
	size_t device_bytes, description_bytes;
	/* wgpuGetVersion() of wgpu-native, which tcbtune measures with; 0: another implementation, whose answers are
	 * those of other devices of the maker (ARCHITECTURE) or defaults. */
	unsigned version;
	unsigned features;                   /* of the device: TCBRT_WGPU_... */
	unsigned subgroup_min, subgroup_max; /* invocations; 0: unknown (wgpu-native does not tell them) */
	/* WGPULimits of the device; 0: what WebGPU guarantees.  maxComputeInvocationsPerWorkgroup,
	 * maxComputeWorkgroupSizeX, maxComputeWorkgroupStorageSize, maxComputeWorkgroupsPerDimension,
	 * maxStorageBuffersPerShaderStage. */
	unsigned workgroup_invocations, workgroup_size_x, workgroup_bytes, workgroups, storage_buffers;
	int is_trusted;       /* modules are made without checks of bounds and loops, as pages cannot: wgpu:0:trusted */
	size_t binding_bytes; /* the smaller of maxStorageBufferBindingSize and maxBufferSize */
	size_t reserved[4];
};

/* The name that results for ADAPTER are stored under: its maker, and a hash of what it is.  TCBRT_E_USAGE: a NULL. */
enum { TCBRT_WGPU_NAME_MAX = 48 };
TCBRT_API int tcbrt_wgpu_device(const struct tcbrt_wgpu_adapter *adapter, char name[TCBRT_WGPU_NAME_MAX],
				struct tcbrt_error *err);

enum { TCBRT_WGPU_CONSTANTS_MAX = 12 };
/* A storage buffer in group 0 of a launch. */
struct tcbrt_wgpu_binding {
	unsigned binding; /* its number */
	int operand;      /* of the plan (tcbrt_plan_operand), packed where that is; -1: the workspace */
	int is_written;   /* "storage"; else "read-only-storage", where layouts are not "auto" */
	size_t offset;    /* in the workspace, a multiple of TCBRT_ALIGNMENT; 0 in an operand */
	/* To be bound: as the operand has, rounded up to a multiple of 16, so its buffer needs up to 15 more; what
	 * these hold means nothing. */
	size_t bytes;
	size_t reserved[1];
};
/* A pipeline-overridable constant, u32. */
struct tcbrt_wgpu_constant {
	const char *name;
	unsigned value;
};
struct tcbrt_wgpu_launch {
	const char *entry;
	unsigned workgroup;   /* invocations, along x, as the module says */
	unsigned dispatch[3]; /* dispatchWorkgroups */
	unsigned binding_count, constant_count;
	struct tcbrt_wgpu_binding binding[TCBRT_ARGUMENTS_MAX];
	struct tcbrt_wgpu_constant constant[TCBRT_WGPU_CONSTANTS_MAX];
	size_t reserved[4];
};
struct tcbrt_wgpu_code {
	/* The module, with a NUL that BYTES does not count.  It depends on the geometry alone: shapes that share one
	 * share it.  wgpu-native does not know the line "enable subgroups;": blank it there. */
	const char *wgsl;
	size_t bytes;
	unsigned features; /* that the device must have been made with */
	unsigned launch_count;
	struct tcbrt_wgpu_launch launch[TCBRT_LAUNCHES_MAX];
	size_t reserved[4];
};
/*
 * Fills OUT, which is lent by PLAN: texts live as long as it.  The launches follow each other, in one pass or several.
 * The buffer of the workspace has info.workspace_bytes, zeros before the first call, and is of one call at a time.
 * TCBRT_E_USAGE: a NULL, or a plan for anything else.
 */
TCBRT_API int tcbrt_wgpu_code(const struct tcbrt_plan *plan, struct tcbrt_wgpu_code *out);

#ifdef __cplusplus
}
#endif

#endif
