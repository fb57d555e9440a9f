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

#define ROW(type, contract, isa, word) TCB_EMITTED_ROW("matmul_" #type "_ptx_" word, contract, isa, BOUNDED)
#define SIDE(type, ...)                                                                     \
	const struct tcb_side matmul_##type##_gpu = { .variants = TCB_EMITTED(__VA_ARGS__), \
						      .space = &matmul_gpu_space,           \
						      .emit = matmul_emit }
SIDE(f32, ROW(f32, F32, FMA, "fma"));
SIDE(f16, ROW(f16, F16, MMA, "mma"), ROW(f16, F16, WGMMA, "wgmma"));
SIDE(bf16, ROW(bf16, F16, MMA, "mma"), ROW(bf16, F16, WGMMA, "wgmma"));
