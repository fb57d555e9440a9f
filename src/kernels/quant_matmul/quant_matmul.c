/* SPDX-License-Identifier: MIT
 *
 * The matmuls of all weight formats:
 * y[m][n] = sum over k of x[m][k] * w[n][k] with quantised weights, for
 * several tokens at once.  What they are; their CPU side is in
 * quant_matmul_cpu.c and quant_matmul_cpu_space.c, contracts f32 and q8; their
 * GPU side begins with quant_matmul_gpu.h, contracts f16 and q8, of rows of BF16 and F32 f32.
 */
#include <string.h>

#include "kernels/quant.h"
#include "kernels/quant_lines.h"
#include "kernels/quant_matmul/quant_matmul_cpu.h"
#include "kernels/quant_matmul/quant_matmul_fragments.h"
#include "kernels/quant_matmul/quant_matmul_gpu.h"
#include "kernels/quant_matmul/quant_matmul_layout.h"
#include "kernels/quant_matmul/quant_matmul_wgsl.h"

static const struct tcb_shape default_shapes[] = {
	{ 8, 4096, 4096 },
	{ 32, 4096, 4096 },
	{ 128, 4096, 4096 },
	{ 512, 4096, 4096 },
};

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

/* Ops differ in format, and in the contracts and devices that have them. */
enum {
	OF_FLOATS = 1 << TCB_CONTRACT_F32,
	ON_CPUS = OF_FLOATS | 1 << TCB_CONTRACT_Q8,
	EVERYWHERE = ON_CPUS | 1 << TCB_CONTRACT_F16,
};
#define OP(id, name_, contracts_, gpu_, wgsl_)                                                 \
	const struct tcb_op tcb_op_##name_##_matmul = {                                        \
		.name = #name_ "_matmul",                                                      \
		.summary = #id " weights x f32 activations, many tokens at once",              \
		.shape_form = "MxNxK",                                                         \
		.words = TCB_QUANT_WORDS | UINT64_C(1) << TCB_WORD_ADD,                        \
		.format = &tcb_formats[TCB_FORMAT_##id],                                       \
		.contracts = contracts_,                                                       \
		.default_contract = (contracts_) >> TCB_CONTRACT_Q8 & 1    ? TCB_CONTRACT_Q8   \
				    : (contracts_) >> TCB_CONTRACT_F16 & 1 ? TCB_CONTRACT_F16  \
									   : TCB_CONTRACT_F32, \
		.default_shapes = default_shapes,                                              \
		.default_shape_count = sizeof(default_shapes) / sizeof(default_shapes[0]),     \
		.side = TCB_SIDES(&qmm_##name_##_cpu, gpu_, wgsl_),                            \
		.stride_unit = 1,                                                              \
		.check_shape = tcb_quant_check_shape,                                          \
		.operands = tcb_quant_operands,                                                \
		.fill = tcb_quant_fill,                                                        \
		.reference = tcb_quant_reference,                                              \
		.drawn_columns = tcb_quant_drawn_columns,                                      \
		.reference_flop_ns = 0.1,                                                      \
		.reference_sums = tcb_quant_reference_sums,                                    \
		.exact = qmm_exact,                                                            \
		.flops = tcb_quant_flops,                                                      \
		.traffic = tcb_quant_traffic,                                                  \
		.pack = pack,                                                                  \
		.unpack = unpack,                                                              \
		.pack_rows = pack_rows,                                                        \
	};

#define OP_OF_FIELDS(id, format_, name_, ...) OP(id, name_, EVERYWHERE, &qmm_gpu, &qmm_wgsl)
#define OP_EXPANDED(id, format_, name_, ...) OP(id, name_, EVERYWHERE, &qmm_gpu, NULL)
TCB_FORMAT_FIELD_LIST(OP_OF_FIELDS)
TCB_FORMAT_EXPANDED_ROWS(OP_EXPANDED)
#define OP_OF_FLOATS(id, format_, name_, ...) OP(id, name_, OF_FLOATS, &qmm_terms_gpu, NULL)
TCB_FORMAT_WIDE_ROWS(OP_OF_FLOATS)
#define OP_OF_HALVES(id, format_, name_, ...) OP(id, name_, OF_FLOATS | 1 << TCB_CONTRACT_F16, &qmm_gpu, NULL)
TCB_FORMAT_HALVES_LIST(OP_OF_HALVES)
