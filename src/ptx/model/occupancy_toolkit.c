/* SPDX-License-Identifier: MIT
 *
 * In and out as occupancy.c, calculated by the CUDA toolkit's own
 * cuda_occupancy.h.  That header is NVIDIA's and is not part of this project:
 * the build uses it where a toolkit is installed (src/ptx/CMakeLists.txt).
 */
#include "ptx/model/occupancy.h"

#ifdef TCB_HAVE_CUDA_OCCUPANCY
#include <cuda_occupancy.h>

int tcb_occupancy_toolkit(const struct tcb_sm_limits *sm, const struct tcb_ptx_resources *resources,
			  unsigned block_threads, size_t dynamic_shared, struct tcb_occupancy *out)
{
	const struct cudaOccDeviceProp device = {
		.computeMajor = (int)(sm->capability / 10),
		.computeMinor = (int)(sm->capability % 10),
		.maxThreadsPerBlock = TCB_SM_BLOCK_THREADS_MAX,
		.maxThreadsPerMultiprocessor = (int)(sm->warps * 32),
		.regsPerBlock = 65536,
		.regsPerMultiprocessor = 65536,
		.warpSize = 32,
		.sharedMemPerBlock = 48 * 1024,
		.sharedMemPerMultiprocessor = sm->shared_sm,
		.numSms = 1,
		.sharedMemPerBlockOptin = sm->shared_block,
		.reservedSharedMemPerBlock = sm->reserved,
	};
	const struct cudaOccFuncAttributes kernel = {
		.maxThreadsPerBlock = TCB_SM_BLOCK_THREADS_MAX,
		.numRegs = (int)resources->registers,
		.sharedSizeBytes = resources->shared_bytes,
		.partitionedGCConfig = PARTITIONED_GC_OFF,
		.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
		.maxDynamicSharedSizeBytes = sm->shared_block,
		.numBlockBarriers = (int)resources->barriers,
	};
	const struct cudaOccDeviceState state = { .carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT };
	struct cudaOccResult result;

	/* Its arithmetic is in int. */
	if (resources->shared_bytes > 1u << 24 || dynamic_shared > 1u << 24 || resources->registers > 4096)
		return 0;
	if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, (int)block_threads,
						    dynamic_shared) != CUDA_OCC_SUCCESS)
		return 0;
	*out = (struct tcb_occupancy){ .blocks = (unsigned)result.activeBlocksPerMultiprocessor,
				       .warps_max = sm->warps,
				       .limiter = "warps" };
	out->warps = out->blocks * ((block_threads + 31) / 32);
	/* Not by its limitingFactors, which keep what a later and lower limit has overtaken. */
	const struct {
		int blocks;
		const char *name;
	} limits[] = {
		/* in the order of occupancy.c: the first of equals */
		{ result.blockLimitWarps, "warps" },
		{ result.blockLimitRegs, "registers" },
		{ result.blockLimitSharedMem, "shared memory" },
		{ result.blockLimitBlocks, "blocks" },
		{ result.blockLimitBarriers, "barriers" },
	};
	for (size_t i = sizeof limits / sizeof *limits; i-- > 0;)
		if (limits[i].blocks == result.activeBlocksPerMultiprocessor)
			out->limiter = limits[i].name;
	return 1;
}
#else
int tcb_occupancy_toolkit(const struct tcb_sm_limits *sm, const struct tcb_ptx_resources *resources,
			  unsigned block_threads, size_t dynamic_shared, struct tcb_occupancy *out)
{
	(void)sm;
	(void)resources;
	(void)block_threads;
	(void)dynamic_shared;
	(void)out;
	return 0;
}
#endif
