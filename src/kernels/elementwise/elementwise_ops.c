/* SPDX-License-Identifier: MIT
 *
 * The element-wise ops: operands, data, reference in double with its bound, the model of
 * bytes and operations.
 */
#include "kernels/elementwise/elementwise.h"

#include <float.h>
#include <math.h>

#include "base/sizes.h"
#include "base/util.h"

enum { PART = 1 << 16, PIECE = 256 };

static enum tcb_status check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	size_t bytes;
	if (!shape->m || !shape->n || shape->k)
		return tcb_fail(err, TCB_E_USAGE, "op %s takes a shape MxN (rows and columns), for example 4096x4096",
				op->name);
	if (tcb_mul_size(shape->m, shape->n, &bytes) || tcb_mul_size(bytes, 4 * sizeof(double), &bytes))
		return tcb_fail(err, TCB_E_OVERFLOW, "a matrix of %zux%zu does not fit in memory", shape->m, shape->n);
	return TCB_OK;
}

static size_t count_of(const struct tcb_problem *problem)
{
	return problem->shape.m * problem->shape.n;
}

static size_t operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	const size_t m = problem->shape.m, n = problem->shape.n, inputs = elementwise_inputs(elementwise_kind(problem));
	const enum tcb_type type = problem->op->type;
	for (size_t o = 0; o <= inputs; o++)
		out[o] = (struct tcb_operand){ "y", TCB_ROLE_OUTPUT, type, m, n, m * n * tcb_type_bytes(type), 1 };
	for (size_t o = 0; o < inputs; o++) {
		out[o].name = o == ELEMENTWISE_X ? "x" : "b";
		out[o].role = TCB_ROLE_INPUT;
	}
	return inputs + 1;
}

/* --- test data --- */

static size_t part_count(const struct tcb_problem *problem)
{
	return tcb_div_up(count_of(problem), PART);
}

/* The elements of OPERAND from AT on. */
static void *place(const struct tcb_problem *problem, void *operand, size_t at)
{
	return (char *)operand + at * tcb_type_bytes(problem->op->type);
}

/* x so spread that gelu and silu are seen on both sides of where they are neither 0 nor x. */
static void fill_part(const struct tcb_problem *problem, uint64_t seed, void *const operand[], size_t part)
{
	const size_t first = part * PART, end = tcb_least(first + PART, count_of(problem));
	struct tcb_rng rng;
	tcb_part_rng(seed, part, &rng);
	for (size_t o = 0; o < elementwise_inputs(elementwise_kind(problem)); o++)
		for (size_t at = first, count; at < end; at += count) {
			float values[PIECE];
			count = tcb_least(PIECE, end - at);
			for (size_t i = 0; i < count; i++)
				values[i] = (o == ELEMENTWISE_X ? 4 : 1) * tcb_rng_normal(&rng);
			tcb_type_from_f32(problem->op->type, values, count, place(problem, operand[o], at));
		}
}

/* --- reference --- */

#define LOWEST (-80.0)   /* below, exp of the other sign or its inverse may be below 2^-126 */
#define LOST 0x1p-119    /* what that costs, at most 88 * 2^-126 */
#define F16_END 65520.0  /* what is less is rounded to an f16 that is not infinite */
#define F16_UNIT 0x1p-11 /* half a unit in the last place, over the value; and of the least */
#define F16_LEAST 0x1p-25
#define F32_LEAST 0x1p-149

/* What one element is allowed. */
struct element {
	double y, magnitude, extra;
};

/* Without b. */
static struct element judge_factor(enum elementwise_kind kind, double x)
{
	const double z = elementwise_is_gelu(kind) ? x * (TCB_GELU_Z1 + TCB_GELU_Z3 * x * x) : x;
	struct element e = { .y = (kind == ELEMENTWISE_SIGMOID_MUL ? 1 : x) / (1 + exp(-z)) };
	e.magnitude = fabs(e.y * z) / (1 + exp(z));
	if (kind == ELEMENTWISE_SOFTPLUS_MUL) {
		e.y = (x < 0 ? 0 : x) + log1p(exp(-fabs(x)));
		e.magnitude = fabs(x) / (1 + exp(fabs(x)));
	}
	if (isinf(x))
		e.magnitude = 0;
	e.extra = z < LOWEST ? LOST : F32_LEAST;
	return e;
}

/* Of those that are not exact.  f32's last rounding is in the plan's ulps. */
static struct element judge(enum elementwise_kind kind, enum tcb_type type, double x, double b)
{
	struct element e = judge_factor(kind, x);
	double end = type == TCB_TYPE_F16 ? F16_END : FLT_MAX * (1 + 0x1p-25);
	if (elementwise_is_gated(kind)) {
		e.y *= b;
		e.magnitude *= fabs(b);
		e.extra = e.extra * fabs(b) + F32_LEAST;
	}
	if (type == TCB_TYPE_F16)
		e.extra += F16_UNIT * (fabs(e.y) * (1 + 0x1p-20) + 0x1p-20 * e.magnitude) + F16_LEAST;
	if (fabs(e.y) >= end)
		e.y = copysign((double)INFINITY, e.y);
	if (!isfinite(e.y))
		e.magnitude = e.extra = 0;
	return e;
}

/* Of f16's sums and products f32 has enough digits that rounding twice does not matter (2 * 11 + 2). */
static float exact_result(enum elementwise_kind kind, float x, float b)
{
	if (kind == ELEMENTWISE_RELU)
		return isnan(x) || x > 0 ? x : 0;
	return kind == ELEMENTWISE_ADD ? x + b : x * b;
}

struct job {
	const struct tcb_problem *problem;
	void *const *operand;
	struct tcb_reference *out;
};

static void refer_piece(const struct job *job, size_t at, size_t count)
{
	const enum elementwise_kind kind = elementwise_kind(job->problem);
	const enum tcb_type type = job->problem->op->type;
	float x[PIECE], b[PIECE] = { 0 };
	uint16_t rounded[PIECE];
	tcb_type_to_f32(type, place(job->problem, job->operand[ELEMENTWISE_X], at), count, x);
	if (elementwise_inputs(kind) > 1)
		tcb_type_to_f32(type, place(job->problem, job->operand[ELEMENTWISE_B], at), count, b);
	for (size_t i = 0; i < count && elementwise_is_exact(kind); i++)
		x[i] = exact_result(kind, x[i], b[i]);
	if (elementwise_is_exact(kind) && type == TCB_TYPE_F16) {
		tcb_type_from_f32(type, x, count, rounded);
		tcb_type_to_f32(type, rounded, count, x);
	}
	for (size_t i = 0; i < count; i++) {
		struct element e = { .y = (double)x[i] };
		if (!elementwise_is_exact(kind))
			e = judge(kind, type, (double)x[i], (double)b[i]);
		job->out->y[at + i] = e.y;
		job->out->magnitude[at + i] = e.magnitude;
		job->out->extra[at + i] = e.extra;
	}
}

static void refer_part(void *ctx, size_t part, unsigned thread)
{
	const struct job *job = ctx;
	const size_t first = part * PART, end = tcb_least(first + PART, count_of(job->problem));
	(void)thread;
	for (size_t at = first; at < end; at += PIECE)
		refer_piece(job, at, tcb_least(PIECE, end - at));
}

static void reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	struct job job = { problem, operand, out };
	tcb_reference_share(out, part_count(problem), refer_part, &job);
}

/* --- the model of bytes and operations --- */

/* An exponential, a sum and a quotient count as one each. */
static double flops(const struct tcb_problem *problem)
{
	static const double each[] = {
		[ELEMENTWISE_RELU] = 1,     [ELEMENTWISE_GELU] = 7,        [ELEMENTWISE_SILU] = 3,
		[ELEMENTWISE_ADD] = 1,      [ELEMENTWISE_MUL] = 1,         [ELEMENTWISE_SILU_MUL] = 4,
		[ELEMENTWISE_GELU_MUL] = 8, [ELEMENTWISE_SIGMOID_MUL] = 4, [ELEMENTWISE_SOFTPLUS_MUL] = 22
	};
	return each[elementwise_kind(problem)] * (double)count_of(problem);
}

static double traffic(const struct tcb_problem *problem)
{
	const size_t each = (elementwise_inputs(elementwise_kind(problem)) + 1) * tcb_type_bytes(problem->op->type);
	return (double)each * (double)count_of(problem);
}

/* --- the ops --- */

static const struct tcb_shape default_shapes[] = { { 4096, 4096, 0 } };

#define SUMMARY_relu "maximum(x, 0)"
#define SUMMARY_gelu "gelu in its tanh form"
#define SUMMARY_silu "silu, x / (1 + exp(-x)),"
#define SUMMARY_add "x + b"
#define SUMMARY_mul "x * b"
#define SUMMARY_silu_mul "silu(x) * b"
#define SUMMARY_gelu_mul "gelu(x) * b, in its tanh form,"
#define SUMMARY_sigmoid_mul "b / (1 + exp(-x))"
#define SUMMARY_softplus_mul "log(1 + exp(x)) * b"

#define ELEMENTWISE_OP(f, KIND, CLASS, type_, TYPE, ...)                                              \
	static const struct elementwise_op f##_##type_ = { ELEMENTWISE_##KIND };                      \
	const struct tcb_op tcb_op_elementwise_##f##_##type_ = {                                      \
		.name = "elementwise_" #f "_" #type_,                                                 \
		.summary = SUMMARY_##f " of each element of matrices of " #type_,                     \
		.shape_form = "MxN",                                                                  \
		.type = TCB_TYPE_##TYPE,                                                              \
		.member = &f##_##type_,                                                               \
		.contracts = 1u << TCB_CONTRACT_##TYPE,                                               \
		.default_contract = TCB_CONTRACT_##TYPE,                                              \
		.default_shapes = default_shapes,                                                     \
		.default_shape_count = sizeof(default_shapes) / sizeof(default_shapes[0]),            \
		.side = TCB_SIDES(&elementwise_##f##_##type_##_cpu, &elementwise_##f##_##type_##_gpu, \
				  &elementwise_##f##_##type_##_wgsl),                                 \
		.check_shape = check_shape,                                                           \
		.operands = operands,                                                                 \
		.fill = tcb_fill_in_parts,                                                            \
		.fill_parts = part_count,                                                             \
		.fill_part = fill_part,                                                               \
		.reference = reference,                                                               \
		.flops = flops,                                                                       \
		.traffic = traffic,                                                                   \
	};
ELEMENTWISE_LIST(ELEMENTWISE_OP, )
