/* SPDX-License-Identifier: MIT
 *
 * What the driver tells of a GPU: all that identifies its model, and the limits
 * of its multiprocessors.  Apart from gpu_attached.c, because libtcbrt asks too.
 */
#include "device/cuda.h"
#include "device/gpu.h"

#include <string.h>

static unsigned attribute(const struct tcb_cuda *cuda, int device, int which)
{
	int value = 0;
	if (cuda->device_attribute(&value, which, device) != TCB_CUDA_SUCCESS || value < 0)
		return 0;
	return (unsigned)value;
}

enum tcb_status tcb_gpu_describe(const struct tcb_cuda *cuda, int device, struct tcb_gpu *out, struct tcb_error *err)
{
	struct tcb_target *target = &out->device.target;
	size_t bytes = 0;

	memset(out, 0, sizeof *out);
	out->source = "driver";
	TCB_TRY(tcb_cuda_check(cuda, cuda->device_name(out->device.model, sizeof out->device.model, device),
			       "asking for the GPU's name", err));
	TCB_TRY(tcb_cuda_check(cuda, cuda->device_memory(&bytes, device), "asking for the GPU's memory", err));
	out->device.memory_bytes = bytes;
	target->cuda.capability = 10 * attribute(cuda, device, TCB_CUDA_DEVICE_COMPUTE_CAPABILITY_MAJOR) +
				  attribute(cuda, device, TCB_CUDA_DEVICE_COMPUTE_CAPABILITY_MINOR);
	target->cuda.sm_count = attribute(cuda, device, TCB_CUDA_DEVICE_MULTIPROCESSOR_COUNT);
	target->cuda.shared_optin_bytes = attribute(cuda, device, TCB_CUDA_DEVICE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
	target->cuda.block_registers_max = attribute(cuda, device, TCB_CUDA_DEVICE_MAX_REGISTERS_PER_BLOCK);
	target->l2_bytes = attribute(cuda, device, TCB_CUDA_DEVICE_L2_CACHE_SIZE);
	out->device.clock_khz = attribute(cuda, device, TCB_CUDA_DEVICE_CLOCK_RATE);
	out->device.has_ecc = (int)attribute(cuda, device, TCB_CUDA_DEVICE_ECC_ENABLED);
	out->threads_max = attribute(cuda, device, TCB_CUDA_DEVICE_MAX_THREADS_PER_MULTIPROCESSOR);
	out->blocks_max = attribute(cuda, device, TCB_CUDA_DEVICE_MAX_BLOCKS_PER_MULTIPROCESSOR);
	out->registers_max = attribute(cuda, device, TCB_CUDA_DEVICE_MAX_REGISTERS_PER_MULTIPROCESSOR);
	out->shared_max = attribute(cuda, device, TCB_CUDA_DEVICE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
	out->shared_reserved_block = attribute(cuda, device, TCB_CUDA_DEVICE_RESERVED_SHARED_MEMORY_PER_BLOCK);
	out->memory_khz = attribute(cuda, device, TCB_CUDA_DEVICE_MEMORY_CLOCK_RATE);
	out->bus_bits = attribute(cuda, device, TCB_CUDA_DEVICE_GLOBAL_MEMORY_BUS_WIDTH);
	/* Two transfers a clock on every memory that these cards have. */
	out->read_bytes_s = 2e3 * out->memory_khz * out->bus_bits / 8;
	tcb_gpu_complete(out);
	tcb_gpu_remember(out);
	return TCB_OK;
}
