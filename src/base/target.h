/* SPDX-License-Identifier: MIT
 *
 * What a search space must know of a device (struct tcb_target), and the
 * device's identity as the database keeps it (struct tcb_device).  Filled by
 * src/device/, read everywhere else.
 */
#ifndef TCB_BASE_TARGET_H
#define TCB_BASE_TARGET_H

#include <stddef.h>
#include <stdint.h>

#include "base/geometry.h"

enum { TCB_DEVICE_NAME_MAX = 48, TCB_DEVICE_KEY_MAX = 17, TCB_DEVICE_TEXT_MAX = 128 };

enum tcb_target_kind { TCB_TARGET_CPU, TCB_TARGET_CUDA, TCB_TARGET_WGPU, TCB_TARGET_OPENCL, TCB_TARGET_COUNT };

/* What CUDA devices have besides what all have. */
struct tcb_cuda_target {
	unsigned capability; /* 89 for sm_89 */
	unsigned sm_count, warp_threads, block_threads_max, thread_registers_max, block_registers_max;
	size_t shared_optin_bytes;
};

/* Of adapters of WebGPU, in groups that share rules; a device in software, and what runs anywhere, are their own. */
enum tcb_wgpu_vendor {
	TCB_WGPU_PORTABLE,
	TCB_WGPU_SOFTWARE,
	TCB_WGPU_OTHER,
	TCB_WGPU_NVIDIA,
	TCB_WGPU_AMD,
	TCB_WGPU_INTEL,
	TCB_WGPU_APPLE,
	TCB_WGPU_QUALCOMM,
	TCB_WGPU_ARM,
	TCB_WGPU_VENDOR_COUNT
};
enum tcb_wgpu_feature { TCB_WGPU_TIMESTAMPS, TCB_WGPU_F16, TCB_WGPU_SUBGROUPS, TCB_WGPU_DP4A };

/* What WebGPU devices have besides what all have. */
struct tcb_wgpu_target {
	unsigned vendor;                        /* enum tcb_wgpu_vendor */
	unsigned features;                      /* bits of enum tcb_wgpu_feature */
	unsigned workgroup_most, size_most[3];  /* invocations of a workgroup, all and along each axis */
	unsigned grid_most;                     /* workgroups along each axis */
	unsigned bindings_most;                 /* storage buffers of a launch */
	unsigned subgroup_least, subgroup_most; /* invocations, as shaders see them; 0: no subgroups */
	unsigned is_checked;                    /* accesses and loops are kept within bounds, as in pages */
	size_t workgroup_bytes, binding_bytes;  /* of a workgroup's memory; of a bound buffer */
};

/* Of devices of OpenCL, in groups that share rules; processors are one, whoever made them. */
enum tcb_opencl_vendor {
	TCB_OPENCL_CPU,
	TCB_OPENCL_OTHER,
	TCB_OPENCL_NVIDIA,
	TCB_OPENCL_AMD,
	TCB_OPENCL_INTEL,
	TCB_OPENCL_ARM,
	TCB_OPENCL_QUALCOMM,
	TCB_OPENCL_VENDOR_COUNT
};
enum tcb_opencl_feature { TCB_OPENCL_F64, TCB_OPENCL_F16 };

/* What OpenCL devices have besides what all have. */
struct tcb_opencl_target {
	unsigned vendor;                       /* enum tcb_opencl_vendor */
	unsigned features;                     /* bits of enum tcb_opencl_feature */
	unsigned compute_units;                /* 0: unknown */
	unsigned workgroup_most, side_most[3]; /* work-items of a work-group, all and along each dimension */
	size_t local_bytes, buffer_bytes;      /* of a work-group's local memory; of a buffer */
};

struct tcb_target {
	enum tcb_target_kind kind;
	uint32_t isa_mask; /* bit 1u << enum tcb_isa: what may be used here */
	unsigned threads;  /* most threads a candidate may use, of a kind that has them (kind.h) */
	size_t line_bytes, l1d_bytes, l2_bytes, llc_bytes; /* of caches; 0: unknown, or there is none */
	/* One for each kind that has more than that: zeros in targets of other kinds. */
	struct tcb_cuda_target cuda;
	struct tcb_wgpu_target wgpu;
	struct tcb_opencl_target opencl;
};

/* gpu_table.c: fills what follows from the rest of a GPU's: kind, instruction families, limits of a block. */
void tcb_target_complete_gpu(struct tcb_target *target);

static inline int tcb_target_has(const struct tcb_target *target, enum tcb_isa isa)
{
	return (target->isa_mask >> isa) & 1u;
}

struct tcb_device {
	struct tcb_target target;
	char name[TCB_DEVICE_NAME_MAX];   /* as the user names it: "cpu", "cpu:avx2", "cuda:0", "sm_89" */
	char key[TCB_DEVICE_KEY_MAX];     /* 16 hex digits: hash of the hardware identity (see cpu_identity.h) */
	char arch[32];                    /* group of the same-architecture fall-back: "x86_64-avx512vnni", "sm_89" */
	char model[TCB_DEVICE_TEXT_MAX];  /* marketing name */
	char os[TCB_DEVICE_TEXT_MAX];     /* kernel name and release */
	char driver[TCB_DEVICE_TEXT_MAX]; /* GPU driver, empty on a CPU */
	unsigned family, stepping_model, stepping; /* CPUID family, model, stepping */
	unsigned cores;                            /* physical cores */
	uint64_t memory_bytes;                     /* RAM or device memory */
	unsigned clock_khz;                        /* nominal, 0 where unknown */
	int is_virtual;                            /* a hypervisor was detected */
	int has_ecc;                               /* -1 unknown */
};

#endif
