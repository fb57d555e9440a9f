/* SPDX-License-Identifier: MIT
 *
 * Loading and launching the kernels of a code image.
 */
#include "gpu/launch.h"

#include <string.h>

#include "kernels/gpu/hardware.h"

int tcb_gpu_code_load(const struct tcb_cuda *cuda, const struct tcb_code_image *image, size_t unit,
		      struct tcb_gpu_code *out, char log[TCB_GPU_LOG_MAX])
{
	int options[] = { TCB_CUDA_JIT_ERROR_LOG_BUFFER, TCB_CUDA_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { log, (void *)(uintptr_t)TCB_GPU_LOG_MAX };
	memset(out, 0, sizeof *out);
	out->cuda = cuda;
	out->unit = &image->unit[unit];
	log[0] = '\0';
	int result = cuda->module_load(&out->module, (const char *)image + out->unit->offset, 2, options, values);
	for (uint32_t i = 0; i < out->unit->launch_count && result == TCB_CUDA_SUCCESS; i++) {
		const struct tcb_code_launch *launch = &out->unit->launch[i];
		result = cuda->module_function(&out->function[i], out->module, launch->entry);
		if (result == TCB_CUDA_SUCCESS && launch->shared_bytes > 0)
			result = cuda->function_set(out->function[i], TCB_CUDA_FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES,
						    (int)launch->shared_bytes);
		const uint32_t *cluster = tcb_launch_ptx(launch->own)->cluster;
		if (result == TCB_CUDA_SUCCESS && cluster[0] * cluster[1] * cluster[2] > CLUSTER_MAX)
			result = cuda->function_set(out->function[i],
						    TCB_CUDA_FUNCTION_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
	}
	return result;
}

void tcb_gpu_code_unload(struct tcb_gpu_code *code)
{
	if (code->module)
		(void)code->cuda->module_unload(code->module);
	memset(code, 0, sizeof *code);
}

static int encode(const struct tcb_cuda *cuda, const struct tcb_ptx_tensor_map *map, uint64_t address, void *out)
{
	unsigned box[TCB_PTX_TENSOR_RANK], step[TCB_PTX_TENSOR_RANK];
	int type = -1;
	switch (map->type) {
#define TYPE(id, number)                     \
	case TCB_PTX_##id:                   \
		type = TCB_CUDA_TENSOR_##id; \
		break;
		TCB_CUDA_TENSOR_LIST(TYPE)
#undef TYPE
	default:
		return TCB_CUDA_INVALID_VALUE;
	}
	for (unsigned i = 0; i < TCB_PTX_TENSOR_RANK; i++) {
		box[i] = map->box[i];
		step[i] = map->element_stride[i] ? map->element_stride[i] : 1;
	}
	const int swizzle = map->swizzle ? __builtin_ctz(map->swizzle) - 4 : TCB_CUDA_TENSOR_SWIZZLE_NONE;
	return cuda->tensor_map(out, type, map->rank, (void *)(uintptr_t)address, map->size, map->stride + 1, box, step,
				0, swizzle, TCB_CUDA_TENSOR_PROMOTION_256B, map->fill_nan);
}

int tcb_gpu_lay_out(const struct tcb_cuda *cuda, const struct tcb_code_launch *launch,
		    const uint64_t operand[TCB_OPERANDS_MAX], uint64_t workspace, struct tcb_gpu_values *out)
{
	for (uint32_t i = 0; i < launch->argument_count; i++) {
		const struct tcb_argument *argument = &launch->argument[i];
		out->pointer[i] = &out->word[i];
		switch (argument->kind) {
		case TCB_ARGUMENT_OPERAND:
			out->word[i] = operand[argument->value];
			break;
		case TCB_ARGUMENT_WORKSPACE:
			out->word[i] = workspace + argument->value;
			break;
		case TCB_ARGUMENT_OWN: {
			const struct tcb_tensor *tensor = &tcb_launch_ptx(launch->own)->tensor[argument->value];
			out->pointer[i] = out->map[argument->value];
			int result = encode(cuda, &tensor->map, tcb_tensor_address(tensor, operand, workspace),
					    out->pointer[i]);
			if (result != TCB_CUDA_SUCCESS)
				return result;
			break;
		}
		default:
			out->word[i] = argument->value; /* the driver reads the low 4 bytes of a .u32 */
		}
	}
	return TCB_CUDA_SUCCESS;
}

static int launch_one(const struct tcb_gpu_code *code, uint32_t index, struct tcb_gpu_values *values, CUstream stream,
		      int overlap)
{
	const struct tcb_code_launch *launch = &code->unit->launch[index];
	const struct tcb_launch_ptx *own = tcb_launch_ptx(launch->own);
	struct tcb_cuda_attribute attributes[2];
	struct tcb_cuda_config config = { .shared_bytes = launch->shared_bytes,
					  .stream = stream,
					  .attributes = attributes };
	memset(attributes, 0, sizeof attributes);
	memcpy(config.grid, launch->grid, sizeof config.grid);
	memcpy(config.block, launch->block, sizeof config.block);
	if (own->cluster[0] > 0) {
		struct tcb_cuda_attribute *cluster = &attributes[config.attribute_count++];
		cluster->id = TCB_CUDA_LAUNCH_CLUSTER_DIMENSION;
		memcpy(cluster->value.dims, own->cluster, sizeof own->cluster);
	}
	if (overlap && own->is_dependent) {
		struct tcb_cuda_attribute *dependent = &attributes[config.attribute_count++];
		dependent->id = TCB_CUDA_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION;
		dependent->value.flag = 1;
	}
	return code->cuda->launch(&config, code->function[index], values->pointer, NULL);
}

int tcb_gpu_code_launch(const struct tcb_gpu_code *code, const uint64_t operand[TCB_OPERANDS_MAX], uint64_t workspace,
			CUstream stream, int overlap)
{
	for (uint32_t i = 0; i < code->unit->launch_count; i++) {
		struct tcb_gpu_values values;
		int result = tcb_gpu_lay_out(code->cuda, &code->unit->launch[i], operand, workspace, &values);
		if (result == TCB_CUDA_SUCCESS)
			result = launch_one(code, i, &values, stream, overlap);
		if (result != TCB_CUDA_SUCCESS)
			return result;
	}
	return TCB_CUDA_SUCCESS;
}
