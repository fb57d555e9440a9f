/* SPDX-License-Identifier: MIT
 *
 * PTX as a language of kernels: its row, and the parameters that its launches
 * take in the emulator and the model.
 */
#include "kernels/gpu/ptx_code.h"

#include <assert.h>
#include <string.h>

#include "kernels/language.h"
#include "ptx/optimise/passes.h"
#include "ptx/text/text.h"

_Static_assert(sizeof(struct tcb_launch_ptx) <= TCB_LAUNCH_OWN_MAX, "an image has room for the own part of a launch");

struct tcb_kernel_ptx *tcb_kernel_ptx(const struct tcb_kernel *kernel)
{
	assert(kernel->language == &tcb_language_ptx);
	return kernel->code;
}

enum tcb_status tcb_kernel_set_ptx(struct tcb_kernel *kernel, struct tcb_ptx_module *module,
				   const struct tcb_launch_ptx launch[TCB_LAUNCHES_MAX], struct tcb_error *err)
{
	struct tcb_kernel_ptx *code = tcb_arena_alloc(&module->arena, sizeof *code);

	if (!code) {
		tcb_ptx_module_destroy(module);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a kernel");
	}
	code->module = module;
	if (launch)
		memcpy(code->launch, launch, sizeof code->launch);
	kernel->language = &tcb_language_ptx;
	kernel->code = code;
	return TCB_OK;
}

/* ---- parameters ---- */

/* One parameter, at most 128 bytes; returns its size, which its offset is a multiple of (but for tensor maps), or 0. */
static size_t parameter(const struct tcb_launch_ptx *own, const struct tcb_argument *argument, const uint64_t operand[],
			uint64_t workspace, void *out)
{
	uint64_t address = argument->kind == TCB_ARGUMENT_U64 ? argument->value : workspace + argument->value;
	const uint32_t word = (uint32_t)argument->value;
	struct tcb_ptx_tensor_map map;
	switch (argument->kind) {
	case TCB_ARGUMENT_U32:
		memcpy(out, &word, sizeof word);
		return sizeof word;
	case TCB_ARGUMENT_OWN:
		map = own->tensor[argument->value].map;
		map.address = tcb_tensor_address(&own->tensor[argument->value], operand, workspace);
		return tcb_ptx_tensor_map_encode(&map, out, NULL) == TCB_OK ? TCB_PTX_TENSOR_MAP_BYTES : 0;
	case TCB_ARGUMENT_OPERAND:
		address = operand[argument->value];
		break;
	default:
		break;
	}
	memcpy(out, &address, sizeof address);
	return sizeof address;
}

/* Each at a multiple of its size or of a tensor map's alignment, as PTX lays out parameters. */
size_t tcb_launch_parameters(const struct tcb_kernel *kernel, size_t index, const uint64_t operand[],
			     uint64_t workspace, void *out, size_t capacity)
{
	const struct tcb_launch *launch = &kernel->launch[index];
	const struct tcb_launch_ptx *own = &tcb_kernel_ptx(kernel)->launch[index];
	size_t used = 0;
	for (size_t i = 0; i < launch->argument_count; i++) {
		unsigned char value[TCB_PTX_TENSOR_MAP_BYTES];
		const size_t bytes = parameter(own, &launch->argument[i], operand, workspace, value);
		const size_t align = bytes < TCB_PTX_TENSOR_MAP_ALIGN ? bytes : TCB_PTX_TENSOR_MAP_ALIGN;
		if (!bytes)
			return 0;
		const size_t at = (used + align - 1) / align * align;
		if (at + bytes > capacity)
			return 0;
		memset((char *)out + used, 0, at - used);
		memcpy((char *)out + at, value, bytes);
		used = at + bytes;
	}
	return used;
}

/* ---- the language ---- */

static void destroy(void *code)
{
	struct tcb_kernel_ptx *ptx = code;

	if (ptx)
		tcb_ptx_module_destroy(ptx->module);
}

static void print(const void *code, struct tcb_str *out)
{
	tcb_ptx_print(((const struct tcb_kernel_ptx *)code)->module, out);
}

static void describe_tensor(const struct tcb_tensor *tensor, struct tcb_str *out)
{
	const struct tcb_ptx_tensor_map *map = &tensor->map;
	tcb_str_addf(out, "tensor operand=%zu type=%d swizzle=%u nan=%d", tensor->operand, (int)map->type, map->swizzle,
		     map->fill_nan);
	for (unsigned i = 0; i < map->rank; i++)
		tcb_str_addf(out, " %llu/%llu/%u/%u", (unsigned long long)map->size[i],
			     i ? (unsigned long long)map->stride[i] : 0, map->box[i], map->element_stride[i]);
	if (tensor->in_workspace)
		tcb_str_addf(out, " workspace %zu", tensor->at);
	tcb_str_add(out, "\n");
}

static void describe_launch(const struct tcb_launch *launch, const struct tcb_launch_ptx *own, struct tcb_str *out)
{
	tcb_str_addf(out, "launch %s grid=%ux%ux%u block=%ux%ux%u cluster=%ux%ux%u shared=%u dependent=%d\n",
		     launch->entry, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
		     launch->block[1], launch->block[2], own->cluster[0], own->cluster[1], own->cluster[2],
		     launch->shared_bytes, own->is_dependent);
	for (size_t i = 0; i < launch->argument_count; i++) {
		const struct tcb_argument *argument = &launch->argument[i];
		tcb_str_addf(out, "argument %d %zu\n", (int)argument->kind, argument->value);
		if (argument->kind == TCB_ARGUMENT_OWN)
			describe_tensor(&own->tensor[argument->value], out);
	}
}

static void describe(const struct tcb_kernel *kernel, struct tcb_str *out)
{
	for (size_t i = 0; i < kernel->launch_count; i++)
		describe_launch(&kernel->launch[i], &tcb_kernel_ptx(kernel)->launch[i], out);
}

static enum tcb_status optimise(void *code, struct tcb_error *err)
{
	return tcb_ptx_optimise(((struct tcb_kernel_ptx *)code)->module, NULL, NULL, err);
}

static struct tcb_ptx_target assembled_for(const void *code)
{
	return ((const struct tcb_kernel_ptx *)code)->module->target;
}

static void pack_own(const struct tcb_kernel *kernel, size_t index, void *own_out)
{
	memcpy(own_out, &tcb_kernel_ptx(kernel)->launch[index], sizeof(struct tcb_launch_ptx));
}

static int is_own_valid(const void *own, const struct tcb_argument *arguments, size_t count)
{
	const struct tcb_launch_ptx *ptx = own;

	for (size_t i = 0; i < count; i++)
		if (arguments[i].kind == TCB_ARGUMENT_OWN &&
		    (arguments[i].value >= TCB_TENSORS_MAX ||
		     ptx->tensor[arguments[i].value].operand >= TCB_OPERANDS_MAX))
			return 0;
	return 1;
}

const struct tcb_language tcb_language_ptx = {
	.name = "PTX",
	.destroy = destroy,
	.print = print,
	.describe = describe,
	.optimise = optimise,
	.assembled_for = assembled_for,
	.pack_own = pack_own,
	.is_own_valid = is_own_valid,
};
