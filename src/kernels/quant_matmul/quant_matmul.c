/* SPDX-License-Identifier: MIT
 *
 * The matmuls of all weight formats, q4k_matmul and so on:
 * y[m][n] = sum over k of x[m][k] * w[n][k] with quantised weights, for
 * several tokens at once.  What they are; their CPU side is in
 * quant_matmul_cpu.c and quant_matmul_cpu_space.c, contracts f32 and q8; their
 * GPU side begins with quant_matmul_gpu.h, contracts f16 and q8.
 */
#include <string.h>

#include "kernels/quant.h"
#include "kernels/quant_lines.h"
#include "kernels/quant_matmul/quant_matmul_cpu.h"
#include "kernels/quant_matmul/quant_matmul_fragments.h"
#include "kernels/quant_matmul/quant_matmul_gpu.h"
#include "kernels/quant_matmul/quant_matmul_layout.h"
#include "kernels/simd/isas.h"

static const struct tcb_shape default_shapes[] = {
	{ 8, 4096, 4096 },
	{ 32, 4096, 4096 },
	{ 128, 4096, 4096 },
	{ 512, 4096, 4096 },
};

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	return (target->kind == TCB_TARGET_CUDA ? qmm_gpu_axes : qmm_cpu_axes)(problem, target, out);
}

static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	(target->kind == TCB_TARGET_CUDA ? qmm_gpu_default_geometry : qmm_cpu_default_geometry)(problem, target, out);
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	if (target->kind == TCB_TARGET_CUDA)
		qmm_gpu_footprint(problem, target, geometry, out);
	else
		qmm_cpu_footprint(problem, geometry, out);
}

static void pack(const struct tcb_problem *problem, size_t which, enum tcb_layout layout, const void *weights,
		 void *packed)
{
	(void)which;
	if (layout == TCB_LAYOUT_F || layout == TCB_LAYOUT_G)
		qmm_fragments_pack(problem->op->format->id, layout, problem->shape.n, problem->shape.k, weights,
				   packed);
	else
		tcb_lines_pack(problem, weights, packed);
}

static void unpack(const struct tcb_problem *problem, size_t which, enum tcb_layout layout, const void *packed,
		   void *weights)
{
	(void)which;
	if (layout == TCB_LAYOUT_F || layout == TCB_LAYOUT_G)
		qmm_fragments_unpack(problem->op->format->id, layout, problem->shape.n, problem->shape.k, packed,
				     weights);
	else
		tcb_lines_unpack(problem, packed, weights);
}

static size_t pack_rows(const struct tcb_op *op, enum tcb_layout layout)
{
	(void)op, (void)layout;
	return QMM_ROWS;
}

#define OP(id, format_, name_, ...)                                                                   \
	TCB_VARIANT_TABLES(variants_##name_, TCB_ISAS_TILES, qmm_##name_)                             \
	const struct tcb_op tcb_op_##name_##_matmul = {                                               \
		.name = #name_ "_matmul",                                                             \
		.summary = #id " weights x f32 activations, many tokens at once",                     \
		.shape_form = "MxNxK",                                                                \
		.format = &tcb_formats[TCB_FORMAT_##id],                                              \
		.contracts = 1u << TCB_CONTRACT_F32 | 1u << TCB_CONTRACT_F16 | 1u << TCB_CONTRACT_Q8, \
		.default_contract = TCB_CONTRACT_Q8,                                                  \
		.default_shapes = default_shapes,                                                     \
		.default_shape_count = sizeof(default_shapes) / sizeof(default_shapes[0]),            \
		.variant_lists = variants_##name_,                                                    \
		.check_shape = tcb_quant_check_shape,                                                 \
		.operands = tcb_quant_operands,                                                       \
		.fill = tcb_quant_fill,                                                               \
		.reference = tcb_quant_reference,                                                     \
		.drawn_columns = tcb_quant_drawn_columns,                                             \
		.reference_flop_ns = 0.1,                                                             \
		.reference_sums = tcb_quant_reference_sums,                                           \
		.exact = qmm_exact,                                                                   \
		.flops = tcb_quant_flops,                                                             \
		.traffic = tcb_quant_traffic,                                                         \
		.axes = axes,                                                                         \
		.default_geometry = default_geometry,                                                 \
		.footprint = footprint,                                                               \
		.plan = qmm_plan,                                                                     \
		.pack = pack,                                                                         \
		.unpack = unpack,                                                                     \
		.pack_rows = pack_rows,                                                               \
		.run = qmm_run,                                                                       \
		.emit = qmm_emit,                                                                     \
		.gpu_rules = qmm_gpu_rules,                                                           \
		.gpu_variants = qmm_gpu_variants,                                                     \
	};

TCB_FORMAT_LIST(OP)
