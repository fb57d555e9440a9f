/* SPDX-License-Identifier: MIT
 *
 * The ops of quant_experts.h, of all quantised weight formats: shapes, operands, data, work and packing.  Their CPU
 * side is in quant_experts_cpu.c, contracts f32 and q8; their GPU side begins with quant_experts_gpu.h, contracts f16
 * and q8.
 */
#include "kernels/quant_experts/quant_experts.h"

#include <math.h>

#include "base/util.h"
#include "kernels/quant_experts/quant_experts_cpu.h"
#include "kernels/quant_experts/quant_experts_gpu.h"
#include "kernels/quant_lines.h"
#include "kernels/quant_matmul/quant_matmul_fragments.h"

#define QWEN3_30B .words = { .experts = 128, .used = 8, .skew = 10 }
static const struct tcb_shape up_shapes[] = {
	{ 1, 768, 2048, QWEN3_30B },
	{ 4, 768, 2048, QWEN3_30B },
	{ 32, 768, 2048, QWEN3_30B },
	{ 512, 768, 2048, QWEN3_30B },
};
static const struct tcb_shape down_shapes[] = {
	{ 1, 2048, 768, QWEN3_30B },
	{ 4, 2048, 768, QWEN3_30B },
	{ 32, 2048, 768, QWEN3_30B },
	{ 512, 2048, 768, QWEN3_30B },
};

static enum tcb_status check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	const struct tcb_words *words = &shape->words;
	struct tcb_shape all = *shape;
	if (!words->experts)
		return tcb_fail(err, TCB_E_USAGE,
				"op %s takes tokens x outputs x inputs, then experts / those that a token uses, for "
				"example 32x768x2048,e128/8 (tcbtune help shapes)",
				op->name);
	if (words->even + words->one + (words->skew != 10) > 1)
		return tcb_fail(err, TCB_E_USAGE, "op %s takes one of even, one and zipf, which say the same thing",
				op->name);
	if (words->oai && words->gelu)
		return tcb_fail(err, TCB_E_USAGE, "op %s joins gate and up by oai's gate or by gelu, not by both",
				op->name);
	TCB_TRY(tcb_quant_check_shape(op, shape, err));
	const size_t experts_most = tcb_word_rows[TCB_WORD_EXPERTS].most, used_most = tcb_word_rows[TCB_WORD_USED].most;
	if (qex_experts(shape) > experts_most || qex_used(shape) > used_most)
		return tcb_fail(err, TCB_E_USAGE,
				"op %s has at most %zu experts, and %zu of a token, the shared ones among them",
				op->name, experts_most, used_most);
	/* As many rows as all experts have, and a token for each product. */
	if (tcb_mul_size(all.n, qex_experts(shape), &all.n) || tcb_mul_size(all.m, qex_used(shape), &all.m) ||
	    all.m > INT32_MAX)
		return tcb_fail(err, TCB_E_OVERFLOW, "%zu experts of %zux%zu are too large for this machine's sizes",
				qex_experts(shape), shape->n, shape->k);
	return tcb_quant_check_shape(op, &all, err);
}

static size_t matrix_bytes(const struct tcb_problem *problem)
{
	return problem->shape.n * tcb_quant_row_bytes(problem->op->format, problem->shape.k);
}

/* Of weights or up; as much of it is touched as of them. */
static struct tcb_operand bias_of(const struct tcb_problem *problem, const char *name)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t experts = qex_experts(s), touched = qex_touched(s), row = s->n * sizeof(float);
	return (struct tcb_operand){ .name = name,
				     .role = TCB_ROLE_INPUT,
				     .type = TCB_TYPE_F32,
				     .rows = experts,
				     .cols = s->n,
				     .bytes = experts * row,
				     .streams = 1,
				     .touched = touched < experts ? touched * row : 0 };
}

static size_t operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	const struct tcb_shape *s = &problem->shape;
	const struct qex_kind *kind = qex_kind(problem);
	const size_t experts = qex_experts(s), used = qex_used(s), pairs = qex_pairs(s), touched = qex_touched(s);
	size_t count = QEX_IDS;
	tcb_quant_operands(problem, out);
	struct tcb_operand *weights = &out[TCB_QUANT_WEIGHTS], *x = &out[TCB_QUANT_X], *y = &out[TCB_QUANT_Y];
	weights->rows *= experts;
	weights->bytes *= experts;
	weights->touched = touched < experts ? touched * matrix_bytes(problem) : 0;
	x->rows = qex_has_rows_each(problem) ? pairs : s->m;
	x->bytes = x->rows * s->k * sizeof(float);
	y->rows = kind->is_summed ? s->m : pairs;
	y->bytes = y->rows * s->n * sizeof(float);
	out[count++] = (struct tcb_operand){ .name = "ids",
					     .role = TCB_ROLE_INPUT,
					     .type = TCB_TYPE_I32,
					     .rows = s->m,
					     .cols = used,
					     .bytes = pairs * sizeof(int32_t),
					     .varies = 1 };
	if (kind->is_gated) {
		out[count] = *weights;
		out[count++].name = "up";
		weights->name = "gate";
	}
	if (kind->is_summed)
		out[count++] = (struct tcb_operand){ .name = "factors",
						     .role = TCB_ROLE_INPUT,
						     .type = TCB_TYPE_F32,
						     .rows = s->m,
						     .cols = used,
						     .bytes = pairs * sizeof(float) };
	if (s->words.bias)
		out[count++] = bias_of(problem, kind->is_gated ? "gate_bias" : "bias");
	if (s->words.bias && kind->is_gated)
		out[count++] = bias_of(problem, "up_bias");
	return count;
}

/* --- data: a part for each expert's weights, and one for the rest --- */

static size_t fill_parts(const struct tcb_problem *problem)
{
	return qex_experts(&problem->shape) + 1;
}

static void fill_matrix(const struct tcb_problem *problem, struct tcb_rng *rng, size_t expert, void *weights)
{
	const struct tcb_format *format = problem->op->format;
	const size_t bytes = matrix_bytes(problem);
	uint8_t *block = (uint8_t *)weights + expert * bytes, *end = block + bytes;
	for (; block < end; block += format->block_bytes)
		tcb_block_random(format, rng, block);
}

/* Weights are some 1e-2 (formats.h): gates spread over some -6 to 6, where silu is neither 0 nor a line. */
static void fill_x(const struct tcb_problem *problem, struct tcb_rng *rng, float *x)
{
	const struct tcb_shape *s = &problem->shape;
	const float size = qex_kind(problem)->is_gated ? (float)(200 / sqrt((double)s->k)) : 1;
	const size_t count = (qex_has_rows_each(problem) ? qex_pairs(s) : s->m) * s->k;
	for (size_t i = 0; i < count; i++)
		x[i] = size * tcb_rng_normal(rng);
}

/* A router's: positive, and of each token 1 together; those of shared experts are gates of their own. */
static void fill_factors(const struct tcb_shape *s, struct tcb_rng *rng, float *factors)
{
	for (size_t t = 0; t < s->m; t++, factors += qex_used(s)) {
		float sum = 0;
		for (size_t u = 0; u < qex_used(s); u++)
			factors[u] = 0.05f + (float)tcb_rng_unit(rng);
		for (size_t u = 0; u < s->words.used; u++)
			sum += factors[u];
		for (size_t u = 0; u < s->words.used; u++)
			factors[u] /= sum;
	}
}

/* Of an expert, beside products as large as those of fill_x: what a limit would cut is there, too. */
static void fill_bias(const struct tcb_problem *problem, struct tcb_rng *rng, size_t expert, float *bias)
{
	const size_t n = problem->shape.n;
	for (size_t i = 0; i < n; i++)
		bias[expert * n + i] = 2 * tcb_rng_normal(rng);
}

static void fill_part(const struct tcb_problem *problem, uint64_t seed, void *const operand[], size_t part)
{
	const struct qex_kind *kind = qex_kind(problem);
	const size_t bias = qex_bias(problem), biases = problem->shape.words.bias ? 1 + (size_t)kind->is_gated : 0;
	struct tcb_rng rng;
	tcb_part_rng(seed, part, &rng);
	if (part < qex_experts(&problem->shape)) {
		if (operand[TCB_QUANT_WEIGHTS])
			fill_matrix(problem, &rng, part, operand[TCB_QUANT_WEIGHTS]);
		if (kind->is_gated && operand[QEX_UP])
			fill_matrix(problem, &rng, part, operand[QEX_UP]);
		tcb_part_rng(seed, part + fill_parts(problem), &rng);
		for (size_t i = bias; i < bias + biases; i++)
			if (operand[i])
				fill_bias(problem, &rng, part, operand[i]);
		return;
	}
	if (operand[QEX_IDS])
		qex_draw(&problem->shape, seed, operand[QEX_IDS]);
	if (operand[TCB_QUANT_X])
		fill_x(problem, &rng, operand[TCB_QUANT_X]);
	if (kind->is_summed && operand[QEX_FACTORS])
		fill_factors(&problem->shape, &rng, operand[QEX_FACTORS]);
}

/* --- the model of bytes and operations --- */

/* Gate: exp, sum, quotient and two products of an output, and three limits and a sum; sum: a product and an addition of
 * each of its terms. */
static double flops(const struct tcb_problem *problem)
{
	const struct qex_kind *kind = qex_kind(problem);
	const struct tcb_words *words = &problem->shape.words;
	const double pairs = (double)qex_pairs(&problem->shape), n = (double)problem->shape.n;
	return pairs * n *
	       ((1 + kind->is_gated) * (2 * (double)problem->shape.k + words->bias) +
		(5 + (words->oai ? 4 : 0)) * kind->is_gated + 2 * kind->is_summed);
}

static double traffic(const struct tcb_problem *problem)
{
	struct tcb_operand all[TCB_OPERANDS_MAX];
	double bytes = 0;
	for (size_t i = 0, count = operands(problem, all); i < count; i++)
		bytes += (double)(all[i].touched ? all[i].touched : all[i].bytes);
	return bytes;
}

/* --- packing --- */

static int is_fragments(enum tcb_layout layout)
{
	return layout == TCB_LAYOUT_F || layout == TCB_LAYOUT_G;
}

/* An expert's matrix in LAYOUT. */
static size_t packed_bytes(const struct tcb_problem *problem, enum tcb_layout layout)
{
	return is_fragments(layout) ? qmm_fragments_bytes(problem->op->format->id, problem->shape.n, problem->shape.k)
				    : tcb_lines_bytes(problem);
}

static void pack(const struct tcb_problem *problem, size_t which, enum tcb_layout layout, const void *weights,
		 void *packed)
{
	const struct tcb_shape *s = &problem->shape;
	(void)which;
	for (size_t e = 0; e < qex_experts(s); e++) {
		const uint8_t *from = (const uint8_t *)weights + e * matrix_bytes(problem);
		uint8_t *to = (uint8_t *)packed + e * packed_bytes(problem, layout);
		if (is_fragments(layout))
			qmm_fragments_pack(problem->op->format->id, layout, s->n, s->k, from, to);
		else
			tcb_lines_pack(problem, from, to);
	}
}

static void unpack(const struct tcb_problem *problem, size_t which, enum tcb_layout layout, const void *packed,
		   void *weights)
{
	const struct tcb_shape *s = &problem->shape;
	(void)which;
	for (size_t e = 0; e < qex_experts(s); e++) {
		const uint8_t *from = (const uint8_t *)packed + e * packed_bytes(problem, layout);
		uint8_t *to = (uint8_t *)weights + e * matrix_bytes(problem);
		if (is_fragments(layout))
			qmm_fragments_unpack(problem->op->format->id, layout, s->n, s->k, from, to);
		else
			tcb_lines_unpack(problem, from, to);
	}
}

/* Groups end where an expert does, which a number of rows does not tell. */
static size_t pack_rows(const struct tcb_op *op, enum tcb_layout layout)
{
	(void)op, (void)layout;
	return 0;
}

#define WORDS                                                                                            \
	(UINT64_C(1) << TCB_WORD_EXPERTS | UINT64_C(1) << TCB_WORD_USED | UINT64_C(1) << TCB_WORD_SKEW | \
	 UINT64_C(1) << TCB_WORD_EVEN | UINT64_C(1) << TCB_WORD_ONE | UINT64_C(1) << TCB_WORD_SHARED |   \
	 UINT64_C(1) << TCB_WORD_BIAS | UINT64_C(1) << TCB_WORD_BITS)
#define SUMMARY_experts_matmul " weights of experts x f32 activations of the tokens that use them"
#define SUMMARY_experts_swiglu_matmul " experts: silu of gate x activations, times up x activations"
#define SUMMARY_experts_sum_matmul " experts: products of a token's experts, weighted and added up"
#define SHAPES_experts_matmul up_shapes
#define SHAPES_experts_swiglu_matmul up_shapes
#define SHAPES_experts_sum_matmul down_shapes

#define OP(kind, is_gated_, is_summed_, id, op, contracts_, contract_)                                        \
	const struct tcb_op tcb_op_##op##_##kind = {                                                          \
		.name = #op "_" #kind,                                                                        \
		.summary = #id SUMMARY_##kind,                                                                \
		.shape_form = "MxNxK,eE/U",                                                                   \
		.words = WORDS | ((is_gated_)    ? UINT64_C(1) << TCB_WORD_OAI | UINT64_C(1) << TCB_WORD_GELU \
				  : (is_summed_) ? 0                                                          \
						 : UINT64_C(1) << TCB_WORD_EACH),                             \
		.format = &tcb_formats[TCB_FORMAT_##id],                                                      \
		.member = &(const struct qex_kind){ is_gated_, is_summed_ },                                  \
		.contracts = contracts_,                                                                      \
		.default_contract = TCB_CONTRACT_##contract_,                                                 \
		.default_shapes = SHAPES_##kind,                                                              \
		.default_shape_count = sizeof(SHAPES_##kind) / sizeof(SHAPES_##kind[0]),                      \
		.side = TCB_SIDES(&qex_##op##_##kind##_cpu, &qex_gpu),                                        \
		.check_shape = check_shape,                                                                   \
		.operands = operands,                                                                         \
		.fill = tcb_fill_in_parts,                                                                    \
		.fill_parts = fill_parts,                                                                     \
		.fill_part = fill_part,                                                                       \
		.reference = qex_reference,                                                                   \
		.drawn_columns = tcb_quant_drawn_columns,                                                     \
		.reference_flop_ns = 0.2,                                                                     \
		.flops = flops,                                                                               \
		.traffic = traffic,                                                                           \
		.pack = pack,                                                                                 \
		.unpack = unpack,                                                                             \
		.pack_rows = pack_rows,                                                                       \
	};
/* Contract f16 of codes is GPUs' alone. */
#define CODE_OPS(id, name, op, ...) \
	QEX_KINDS(OP, id, op, 1u << TCB_CONTRACT_F32 | 1u << TCB_CONTRACT_Q8 | 1u << TCB_CONTRACT_F16, Q8)
#define SCALED_OPS(id, name, op, ...) QEX_KINDS(OP, id, op, 1u << TCB_CONTRACT_F32 | 1u << TCB_CONTRACT_F16, F16)
TCB_FORMAT_CODE_LIST(CODE_OPS)
TCB_FORMAT_SCALED_ROWS(SCALED_OPS)
