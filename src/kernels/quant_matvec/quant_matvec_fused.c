/* SPDX-License-Identifier: MIT
 *
 * The ops qXX_matvec and what they are fused with, whatever runs them: operands, data, work, the reference
 * (quant_reference.c has its bound).
 */
#include "kernels/quant_matvec/quant_matvec_fused.h"

#include <math.h>

#include "base/util.h"
#include "kernels/quant.h"

enum tcb_status qmv_check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	const struct qmv_kind *kind = op->member;
	struct tcb_shape all = *shape;
	TCB_TRY(tcb_quant_check_shape(op, shape, err));
	if (kind->is_gated && tcb_mul_size(all.n, 2, &all.n))
		return tcb_fail(err, TCB_E_OVERFLOW, "shape %zux%zux%zu is too large for this machine's sizes",
				shape->m, shape->n, shape->k);
	return tcb_quant_check_shape(op, &all, err);
}

size_t qmv_operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	const struct qmv_kind *kind = qmv_kind(problem);
	tcb_quant_operands(problem, out);
	if (kind->is_gated) {
		out[TCB_QUANT_WEIGHTS].rows *= 2;
		out[TCB_QUANT_WEIGHTS].bytes *= 2;
	}
	out[tcb_quant_bias_at(problem)] = tcb_quant_bias_operand(qmv_weight_rows(problem));
	const size_t count = tcb_quant_bias_at(problem) + problem->shape.words.bias;
	if (!kind->has_norm)
		return count;
	out[QMV_NORM] = (struct tcb_operand){
		.name = "norm",
		.role = TCB_ROLE_INPUT,
		.type = TCB_TYPE_F32,
		.rows = 1,
		.cols = problem->shape.k,
		.bytes = problem->shape.k * sizeof(float),
	};
	return count;
}

/* Behind a norm, tokens of four kinds in turn: as in a model, with an offset, so small that eps rules, large.  SIZE: of
 * activations without a norm. */
static void spread_tokens(const struct tcb_problem *problem, float size, char *x)
{
	static const float spread[4] = { 1, 0.5f, 1e-4f, 1e3f }, offset[4] = { 0, 3, 0, 0 };
	const struct tcb_shape *s = &problem->shape;
	const enum tcb_type type = tcb_quant_x_type(problem);
	const size_t each = tcb_type_bytes(type);
	const int has_norm = qmv_kind(problem)->has_norm;
	for (size_t m = 0; m < s->m; m++)
		for (size_t k = 0; k < s->k; k++) {
			char *at = x + (m * tcb_quant_x_stride(problem) + k) * each;
			float value;
			tcb_type_to_f32(type, at, 1, &value);
			value = has_norm ? offset[m % 4] + spread[m % 4] * value : value * size;
			tcb_type_from_f32(type, &value, 1, at);
		}
}

/* Weights are some 1e-2 (formats.h): gates spread over some -6 to 6, where silu is neither 0 nor a line. */
void qmv_fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	const struct qmv_kind *kind = qmv_kind(problem);
	const struct tcb_shape *s = &problem->shape;
	const float size = kind->is_gated ? (float)(200 / sqrt((double)s->k)) : 1;
	struct tcb_problem all = *problem;
	float *bias = problem->shape.words.bias ? operand[tcb_quant_bias_at(problem)] : NULL;
	struct tcb_rng rng;
	all.shape.n = qmv_weight_rows(problem);
	all.shape.words.bias = 0;
	tcb_quant_fill(&all, seed, operand);
	tcb_rng_init(&rng, seed + 2);
	for (size_t n = 0; bias && n < all.shape.n; n++)
		bias[n] = tcb_rng_normal(&rng);
	if (kind->has_norm || kind->is_gated)
		spread_tokens(problem, size, operand[TCB_QUANT_X]);
	tcb_rng_init(&rng, seed + 1);
	for (size_t k = 0; kind->has_norm && k < s->k; k++)
		((float *)operand[QMV_NORM])[k] = size * (1 + 0.25f * tcb_rng_normal(&rng));
}

void qmv_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	const struct qmv_kind *kind = qmv_kind(problem);
	const struct tcb_quant_more more = tcb_quant_more(problem, operand);
	tcb_quant_reference_rows(problem, operand,
				 &(struct tcb_quant_fused){ .norm = kind->has_norm ? operand[QMV_NORM] : NULL,
							    .eps = qmv_eps(problem),
							    .is_gated = kind->is_gated },
				 &more, out);
}

/* Norm: square, sum, factor and norm of an activation.  Gate: exp, sum, quotient and two products of an output. */
double qmv_flops(const struct tcb_problem *problem)
{
	const struct qmv_kind *kind = qmv_kind(problem);
	const double m = (double)problem->shape.m, n = (double)problem->shape.n, k = (double)problem->shape.k;
	return (1 + kind->is_gated) * tcb_quant_flops(problem) + 4 * kind->has_norm * m * k +
	       5 * kind->is_gated * m * n;
}
