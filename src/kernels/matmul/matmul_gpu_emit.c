/* SPDX-License-Identifier: MIT
 *
 * The dense products on a GPU: a geometry comes in, a module of PTX and its
 * launch go out.
 */
#include "kernels/matmul/matmul_gpu.h"

#include "kernels/matmul/matmul_gpu_frame.h"

static enum tcb_status matmul_emit(const struct tcb_problem *problem, const struct tcb_target *target,
				   const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	const int is_wgmma = geometry->knob[TCB_KNOB_ISA] == TCB_ISA_WGMMA;
	struct matmul_gpu g;
	struct mm_writer w = { .g = &g };
	TCB_TRY(tcb_kit_open(&w.kit, problem, target, is_wgmma ? 'a' : 0, geometry, out, err));
	matmul_gpu_plan(problem, target, geometry, &g);
	(is_wgmma ? mm_write_wgmma : mm_write_tiles)(&w);
	out->workspace_bytes = g.workspace_bytes;
	out->class = TCB_CLASS_BOUNDED;
	out->chain = matmul_gpu_chain(&g);
	return tcb_kit_close(&w.kit, err);
}

#define ROW(type, contract_, isa_, word)                                                            \
	{                                                                                           \
		.name = "matmul_" #type "_ptx_" word, .contract = contract_, .isa = TCB_ISA_##isa_, \
		.class = TCB_CLASS_BOUNDED                                                          \
	}
static const struct tcb_variant f32_variants[] = {
	ROW(f32, TCB_CONTRACT_F32, FMA, "fma"),
	{ .name = NULL },
};
static const struct tcb_variant f16_variants[] = {
	ROW(f16, TCB_CONTRACT_F16, MMA, "mma"),
	ROW(f16, TCB_CONTRACT_F16, WGMMA, "wgmma"),
	{ .name = NULL },
};
static const struct tcb_variant bf16_variants[] = {
	ROW(bf16, TCB_CONTRACT_F16, MMA, "mma"),
	ROW(bf16, TCB_CONTRACT_F16, WGMMA, "wgmma"),
	{ .name = NULL },
};

#define SIDE(type)                                               \
	const struct tcb_side matmul_##type##_gpu = {            \
		.variants = TCB_VARIANT_LIST(type##_variants),   \
		.rules = matmul_gpu_rules,                       \
		.axes = matmul_gpu_axes,                         \
		.default_geometry = matmul_gpu_default_geometry, \
		.footprint = matmul_gpu_footprint,               \
		.emit = matmul_emit,                             \
	}
SIDE(f32);
SIDE(f16);
SIDE(bf16);
