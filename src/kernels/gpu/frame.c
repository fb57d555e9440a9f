/* SPDX-License-Identifier: MIT
 *
 * Kernels and their launches: what is said of a kernel once goes into its
 * directives and into the launch, each parameter also into the arguments.
 */
#include "kernels/gpu/frame.h"

#include <assert.h>
#include <string.h>

#include "kernels/constraint.h"

enum tcb_status tcb_kit_open(struct tcb_kit *kit, const struct tcb_problem *problem, const struct tcb_target *target,
			     char feature, const struct tcb_geometry *geometry, struct tcb_kernel *out,
			     struct tcb_error *err)
{
	const struct tcb_ptx_target ptx_target = { target->cuda.capability, feature };
	memset(out, 0, sizeof(*out));
	memset(kit->owns, 0, sizeof(kit->owns));
	if (geometry)
		TCB_TRY(tcb_constraint_require(problem, target, geometry, err));
	out->problem = *problem;
	if (geometry)
		out->geometry = *geometry;
	else
		tcb_geometry_init(&out->geometry);
	kit->out = out;
	return tcb_ptx_build_init(&kit->b, &ptx_target, err);
}

enum tcb_status tcb_kit_close(struct tcb_kit *kit, struct tcb_error *err)
{
	struct tcb_ptx_module *module;

	TCB_TRY(tcb_ptx_build_finish(&kit->b, &module, err));
	return tcb_kernel_set_ptx(kit->out, module, kit->owns, err);
}

void tcb_kit_begin(struct tcb_kit *kit, const char *name, const struct tcb_kit_kernel *kernel)
{
	struct tcb_ptx_directives directives = { .reqntid = { kernel->threads, 1, 1 },
						 .minnctapersm = kernel->blocks_together };
	assert(kit->out->launch_count < TCB_LAUNCHES_MAX);
	struct tcb_launch_ptx *own = kit->own = &kit->owns[kit->out->launch_count];
	struct tcb_launch *launch = kit->launch = &kit->out->launch[kit->out->launch_count++];
	launch->entry = name;
	for (int i = 0; i < 3; i++) {
		launch->grid[i] = kernel->grid[i] ? kernel->grid[i] : 1;
		launch->block[i] = i ? 1 : kernel->threads;
		own->cluster[i] = kernel->cluster[0] && !kernel->cluster[i] ? 1 : kernel->cluster[i];
		if (kernel->is_cluster_fixed)
			directives.reqnctapercluster[i] = own->cluster[i];
	}
	launch->shared_bytes = kernel->shared_bytes;
	own->is_dependent = kernel->is_dependent;
	tcb_ptx_kernel_begin(&kit->b, name, &directives);
}

void tcb_kit_end(struct tcb_kit *kit)
{
	tcb_ptx_kernel_end(&kit->b);
}

static void add_argument(struct tcb_kit *kit, enum tcb_argument_kind kind, size_t value)
{
	assert(kit->launch->argument_count < TCB_ARGUMENTS_MAX);
	kit->launch->argument[kit->launch->argument_count++] = (struct tcb_argument){ kind, value };
}

kit_op tcb_kit_operand(struct tcb_kit *kit, const char *name, unsigned align, size_t operand)
{
	add_argument(kit, TCB_ARGUMENT_OPERAND, operand);
	return tcb_ptx_param_pointer(&kit->b, name, align);
}

kit_op tcb_kit_workspace(struct tcb_kit *kit, const char *name, unsigned align, size_t at)
{
	add_argument(kit, TCB_ARGUMENT_WORKSPACE, at);
	return tcb_ptx_param_pointer(&kit->b, name, align);
}

kit_op tcb_kit_number(struct tcb_kit *kit, const char *name, size_t value)
{
	add_argument(kit, TCB_ARGUMENT_U32, value);
	return tcb_ptx_param(&kit->b, "u32", name);
}

kit_op tcb_kit_tensor(struct tcb_kit *kit, const char *name, const struct tcb_tensor *tensor)
{
	const size_t index = tensor->operand; /* no operand has two */
	assert(index < TCB_TENSORS_MAX);
	add_argument(kit, TCB_ARGUMENT_OWN, index);
	kit->own->tensor[index] = *tensor;
	const kit_op map = tcb_ptx_param_bytes(&kit->b, name, TCB_PTX_TENSOR_MAP_ALIGN, TCB_PTX_TENSOR_MAP_BYTES);
	return tcb_ptx_op1(&kit->b, "cvta.param.u64", l_set(&kit->b, map));
}

void tcb_kit_depend(struct tcb_kit *kit)
{
	if (kit->own->is_dependent)
		tcb_ptx_op0(&kit->b, "griddepcontrol.wait");
}

void tcb_kit_dependents(struct tcb_kit *kit, int is_waiting)
{
	if (kit->own->is_dependent)
		tcb_ptx_op0(&kit->b, "griddepcontrol.launch_dependents");
	if (is_waiting)
		tcb_kit_depend(kit);
}

void tcb_kit_threads(struct tcb_kit *kit)
{
	kit->tid = u_thread(&kit->b);
	kit->lane = u_and(&kit->b, kit->tid, I(WARP - 1));
	kit->warp = u_shr(&kit->b, kit->tid, I(5));
}

void tcb_kit_uniform_warp(struct tcb_kit *kit)
{
	kit->warp = u_lane(&kit->b, kit->warp, I(0));
}

void tcb_kit_memory(struct tcb_kit *kit, unsigned align)
{
	kit->shared = u_set(&kit->b, tcb_ptx_shared_dynamic(&kit->b, "memory", align));
}

void tcb_kit_one_begin(struct tcb_kit *kit)
{
	tcb_ptx_if_begin(&kit->b, u_eq(&kit->b, kit->tid, I(0)));
}
