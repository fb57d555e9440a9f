/* SPDX-License-Identifier: MIT
 *
 * The dense products on a GPU: a geometry comes in, a module of PTX and its
 * launch go out.
 */
#include "kernels/matmul/matmul_gpu.h"

#include "kernels/matmul/matmul_gpu_frame.h"

enum tcb_status matmul_emit(const struct tcb_problem *problem, const struct tcb_target *target,
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
const struct tcb_variant matmul_f32_gpu_variants[] = {
	ROW(f32, TCB_CONTRACT_F32, FMA, "fma"),
	{ .name = NULL },
};
const struct tcb_variant matmul_f16_gpu_variants[] = {
	ROW(f16, TCB_CONTRACT_F16, MMA, "mma"),
	ROW(f16, TCB_CONTRACT_F16, WGMMA, "wgmma"),
	{ .name = NULL },
};
const struct tcb_variant matmul_bf16_gpu_variants[] = {
	ROW(bf16, TCB_CONTRACT_F16, MMA, "mma"),
	ROW(bf16, TCB_CONTRACT_F16, WGMMA, "wgmma"),
	{ .name = NULL },
};
