/* SPDX-License-Identifier: MIT
 *
 * The MatVecs of all weight formats:
 * y[m][n] = sum over k of x[m][k] * w[n][k] with quantised weights, for one
 * or a few tokens; and those fused with their neighbours (quant_matvec_fused.h).
 * What they are and how their weights are packed; their CPU side is in
 * quant_matvec_cpu.c, their GPU side begins with quant_matvec_gpu.h.
 */
#include "kernels/quant_matvec/quant_matvec.h"
#include "kernels/quant_matmul/quant_matmul_fragments.h"
#include "kernels/quant_matvec/quant_matvec_gpu.h"
#include "kernels/quant_matvec/quant_matvec_pack.h"
#include "kernels/quant_matvec/quant_matvec_planes.h"
#include "kernels/quant_matvec/quant_matvec_wgsl.h"

#include "kernels/quant.h"

static const struct tcb_shape default_shapes[] = { { 1, 4096, 4096 }, { 1, 14336, 4096 }, { 1, 4096, 14336 } };

static int is_for_gpus(enum tcb_layout layout)
{
	return layout == TCB_LAYOUT_P || layout == TCB_LAYOUT_S || layout == TCB_LAYOUT_F;
}

/* A matrix in row groups. */
static void pack_groups(const struct tcb_problem *problem, enum tcb_layout layout, const void *weights, void *packed)
{
	const size_t n = problem->shape.n, k = problem->shape.k;
	if (layout == TCB_LAYOUT_R16)
		tcb_lines_pack(problem, weights, packed);
	else if (layout == TCB_LAYOUT_R16G)
		tcb_places_lines_pack(problem, weights, packed);
	else
		qmv_kind(problem)->own->pack(layout, n, k, weights, packed);
}

static void unpack_groups(const struct tcb_problem *problem, enum tcb_layout layout, const void *packed, void *weights)
{
	const size_t n = problem->shape.n, k = problem->shape.k;
	if (layout == TCB_LAYOUT_R16)
		tcb_lines_unpack(problem, packed, weights);
	else if (layout == TCB_LAYOUT_R16G)
		tcb_places_lines_unpack(problem, packed, weights);
	else
		qmv_kind(problem)->own->unpack(layout, n, k, packed, weights);
}

/* The row groups of gate and up in turn. */
struct pair {
	struct tcb_problem group; /* its rows alone */
	size_t stored[2], packed[2];
};

static size_t pair_at(const struct tcb_problem *problem, enum tcb_layout layout, size_t first, struct pair *out)
{
	const size_t rows = qmv_layout_rows(layout), left = problem->shape.n - first;
	const size_t row_bytes = qmv_group_bytes(problem, TCB_LAYOUT_NATIVE), bytes = qmv_group_bytes(problem, layout);
	out->group = *problem;
	out->group.shape.n = left < rows ? left : rows;
	for (size_t side = 0; side < 2; side++) {
		out->stored[side] = (side * problem->shape.n + first) * row_bytes;
		out->packed[side] = (first / rows * 2 + side) * bytes;
	}
	return first + rows;
}

static void pack(const struct tcb_problem *problem, size_t which, enum tcb_layout layout, const void *weights,
		 void *packed)
{
	struct pair pair;
	(void)which;
	if (layout == TCB_LAYOUT_G)
		qmm_fragments_pack(problem->op->format->id, layout, problem->shape.n, problem->shape.k, weights,
				   packed);
	else if (is_for_gpus(layout))
		qmv_plane_pack(problem, layout, weights, packed);
	else if (!qmv_kind(problem)->is_gated)
		pack_groups(problem, layout, weights, packed);
	else
		for (size_t first = 0; first < problem->shape.n;) {
			first = pair_at(problem, layout, first, &pair);
			for (int side = 0; side < 2; side++)
				pack_groups(&pair.group, layout, (const uint8_t *)weights + pair.stored[side],
					    (uint8_t *)packed + pair.packed[side]);
		}
}

static void unpack(const struct tcb_problem *problem, size_t which, enum tcb_layout layout, const void *packed,
		   void *weights)
{
	struct pair pair;
	(void)which;
	if (layout == TCB_LAYOUT_G)
		qmm_fragments_unpack(problem->op->format->id, layout, problem->shape.n, problem->shape.k, packed,
				     weights);
	else if (is_for_gpus(layout))
		qmv_plane_unpack(problem, layout, packed, weights);
	else if (!qmv_kind(problem)->is_gated)
		unpack_groups(problem, layout, packed, weights);
	else
		for (size_t first = 0; first < problem->shape.n;) {
			first = pair_at(problem, layout, first, &pair);
			for (int side = 0; side < 2; side++)
				unpack_groups(&pair.group, layout, (const uint8_t *)packed + pair.packed[side],
					      (uint8_t *)weights + pair.stored[side]);
		}
}

/* Rows of a gated pair's groups do not follow each other as stored. */
static size_t pack_rows(const struct tcb_op *op, enum tcb_layout layout)
{
	const struct qmv_kind *kind = op->member;
	if (kind->is_gated || layout == TCB_LAYOUT_P || layout == TCB_LAYOUT_S)
		return 0;
	return layout == TCB_LAYOUT_F || layout == TCB_LAYOUT_G ? QMV_TILE_ROWS : qmv_layout_rows(layout);
}

#define SUMMARY_matvec " weights x f32 activations, one or a few tokens"
#define SUMMARY_rmsnorm_matvec " weights x rmsnorm of f32 activations, one or a few tokens"
#define SUMMARY_swiglu_matvec ": silu of a gate's rows x activations, times up's rows x activations"
#define SUMMARY_rmsnorm_swiglu_matvec ": silu of gate's rows, times up's rows, of rmsnorm of activations"

/* The ops differ in format, in what they are fused with, in kernels, and in the contracts and devices that have them.
 */
enum {
	OF_FLOATS = 1 << TCB_CONTRACT_F32,
	ON_CPUS = OF_FLOATS | 1 << TCB_CONTRACT_Q8,
	EVERYWHERE = ON_CPUS | 1 << TCB_CONTRACT_F16,
};
#define OP(kind, has_norm_, is_gated_, id, op, own_, exact_, contracts_, gpu_, wgsl_)                         \
	const struct tcb_op tcb_op_##op##_##kind = {                                                          \
		.name = #op "_" #kind,                                                                        \
		.summary = #id SUMMARY_##kind,                                                                \
		.shape_form = "MxNxK",                                                                        \
		.words = TCB_QUANT_WORDS | (has_norm_ ? UINT64_C(1) << TCB_WORD_EPS : 0) |                    \
			 (is_gated_   ? UINT64_C(1) << TCB_WORD_GELU                                          \
			  : has_norm_ ? 0                                                                     \
				      : UINT64_C(1) << TCB_WORD_ADD),                                         \
		.format = &tcb_formats[TCB_FORMAT_##id],                                                      \
		.member = &(const struct qmv_kind){ has_norm_, is_gated_, own_ },                             \
		.contracts = contracts_,                                                                      \
		.default_contract = (contracts_) >> TCB_CONTRACT_Q8 & 1 ? TCB_CONTRACT_Q8 : TCB_CONTRACT_F32, \
		.default_shapes = default_shapes,                                                             \
		.default_shape_count = sizeof(default_shapes) / sizeof(default_shapes[0]),                    \
		.side = TCB_SIDES(&qmv_##op##_##kind##_cpu, gpu_, wgsl_),                                     \
		.stride_unit = 1,                                                                             \
		.check_shape = qmv_check_shape,                                                               \
		.operands = qmv_operands,                                                                     \
		.fill = qmv_fill,                                                                             \
		.reference = qmv_reference,                                                                   \
		.exact = has_norm_ || is_gated_ ? NULL : exact_,                                              \
		.flops = qmv_flops,                                                                           \
		.traffic = tcb_quant_traffic,                                                                 \
		.rules_of = has_norm_ || is_gated_ ? #op "_matvec" : NULL,                                    \
		.other = has_norm_ || is_gated_ ? NULL : #op "_matmul",                                       \
		.pack = pack,                                                                                 \
		.unpack = unpack,                                                                             \
		.pack_rows = pack_rows,                                                                       \
	};
#define OP_OF_FIELDS(kind, has_norm_, is_gated_, id, op, own_, exact_)                             \
	OP(kind, has_norm_, is_gated_, id, op, own_, exact_, EVERYWHERE, &qmv_##op##_##kind##_gpu, \
	   has_norm_ || is_gated_ ? NULL : &qmv_##op##_wgsl)
#define OP_EXPANDED(kind, has_norm_, is_gated_, id, op) \
	OP(kind, has_norm_, is_gated_, id, op, NULL, NULL, EVERYWHERE, &qmv_##op##_##kind##_gpu, NULL)
#define OP_OF_FLOATS(kind, has_norm_, is_gated_, id, op) \
	OP(kind, has_norm_, is_gated_, id, op, NULL, NULL, OF_FLOATS, &qmv_##op##_##kind##_gpu, NULL)
#define OPS_OWN(id, name, op, ...) QMV_KINDS(OP_OF_FIELDS, id, op, &op##_own, op##_exact)
#define OPS(id, name, op, ...) QMV_KINDS(OP_OF_FIELDS, id, op, NULL, NULL)
#define OPS_EXPANDED(id, name, op, ...) QMV_KINDS(OP_EXPANDED, id, op)
#define OPS_OF_FLOATS(id, name, op, ...) QMV_KINDS(OP_OF_FLOATS, id, op)
TCB_FORMAT_OWN_ROWS(OPS_OWN)
TCB_FORMAT_SHARED_ROWS(OPS)
TCB_FORMAT_EXPANDED_ROWS(OPS_EXPANDED)
TCB_FORMAT_FLOAT_ROWS(OPS_OF_FLOATS)
