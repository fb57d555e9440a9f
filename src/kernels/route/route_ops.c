/* SPDX-License-Identifier: MIT
 *
 * The op route_f32: operands, data, the reference, the model of bytes and operations.
 *
 * Which experts are chosen is exact, since scores are compared as they are.  With z = s - s_0, which is rounded once, a
 * share y is off by 2^-24 (|z| + 2) of itself for its own exponential and quotient, by the mean of that over all
 * shares for their sum, and by a rounding for each that is added.  Exponentials below 2^-126 may count as 0.
 */
#include "kernels/route/route_gpu.h"
#include "kernels/route/route_wgsl.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/sizes.h"
#include "base/util.h"

enum { TOKENS = 16 /* of a task of the reference */ };
#define LOST 0x1p-125

static enum tcb_status check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	size_t size;
	if (!shape->m || !shape->n || !shape->k)
		return tcb_fail(err, TCB_E_USAGE,
				"op %s takes a shape MxNxU (tokens, experts, experts that a token uses), for example "
				"512x128x8",
				op->name);
	if (shape->n > ROUTE_EXPERTS_MAX || shape->k > ROUTE_USED_MAX || shape->k > shape->n)
		return tcb_fail(err, TCB_E_USAGE,
				"op %s takes up to %d experts, of which a token uses up to %d and not more than there "
				"are, not %zu of %zu",
				op->name, ROUTE_EXPERTS_MAX, ROUTE_USED_MAX, shape->k, shape->n);
	if (shape->m > INT32_MAX || tcb_mul_size(shape->m, shape->n * sizeof(double), &size))
		return tcb_fail(err, TCB_E_OVERFLOW, "scores of %zu tokens do not fit in memory", shape->m);
	return TCB_OK;
}

static size_t operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	const struct tcb_shape *s = &problem->shape;
	out[ROUTE_SCORES] =
		(struct tcb_operand){ "scores", TCB_ROLE_INPUT, TCB_TYPE_F32, s->m, s->n, s->m * s->n * 4, 1 };
	out[ROUTE_IDS] = (struct tcb_operand){ "ids", TCB_ROLE_OUTPUT, TCB_TYPE_I32, s->m, s->k, s->m * s->k * 4, 1 };
	out[ROUTE_FACTORS] =
		(struct tcb_operand){ "factors", TCB_ROLE_OUTPUT, TCB_TYPE_F32, s->m, s->k, s->m * s->k * 4, 1 };
	return ROUTE_OPERANDS;
}

static void fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	float *scores = operand[ROUTE_SCORES];
	struct tcb_rng rng;
	tcb_rng_init(&rng, seed);
	for (size_t i = 0; scores && i < problem->shape.m * problem->shape.n; i++)
		scores[i] = 2 * tcb_rng_normal(&rng);
}

/* --- the reference --- */

struct job {
	const struct tcb_problem *problem;
	const float *scores;
	struct tcb_reference *out;
};

/* What a score counts as. */
static double counted(float score)
{
	return isnan(score) ? -FLT_MAX : fmin(fmax((double)score, -FLT_MAX), FLT_MAX);
}

struct ranked {
	double score;
	size_t expert;
};

static int compare(const void *a, const void *b)
{
	const struct ranked *one = a, *other = b;
	if (one->score != other->score)
		return one->score > other->score ? -1 : 1;
	return one->expert < other->expert ? -1 : 1;
}

static void refer_token(const struct job *job, size_t token)
{
	const struct tcb_shape *s = &job->problem->shape;
	struct ranked ranked[ROUTE_EXPERTS_MAX];
	double sum = 0, spread = 0;
	for (size_t i = 0; i < s->n; i++)
		ranked[i] = (struct ranked){ counted(job->scores[token * s->n + i]), i };
	qsort(ranked, s->n, sizeof(*ranked), compare);
	for (size_t u = 0; u < s->k; u++) {
		const double z = ranked[u].score - ranked[0].score;
		sum += exp(z);
		spread += z < 0 && exp(z) > 0 ? -z * exp(z) : 0;
	}
	for (size_t u = 0, at = token * s->k; u < s->k; u++, at++) {
		const double z = ranked[u].score - ranked[0].score, y = exp(z) / sum;
		job->out[0].y[at] = (double)ranked[u].expert;
		job->out[0].magnitude[at] = job->out[0].extra[at] = 0;
		job->out[1].y[at] = y;
		job->out[1].magnitude[at] = y > 0 ? y * (1 - z + spread / sum + (double)s->k) : 0;
		job->out[1].extra[at] = LOST;
	}
}

static void refer_tokens(void *ctx, size_t index, unsigned thread)
{
	const struct job *job = ctx;
	const size_t first = index * TOKENS;
	(void)thread;
	for (size_t t = first; t < tcb_least(first + TOKENS, job->problem->shape.m); t++)
		refer_token(job, t);
}

static void reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	struct job job = { problem, operand[ROUTE_SCORES], out };
	tcb_reference_share(out, tcb_div_up(problem->shape.m, TOKENS), refer_tokens, &job);
}

/* --- the model of bytes and operations --- */

/* A comparison for each score and expert that is chosen. */
static double flops(const struct tcb_problem *problem)
{
	return (double)problem->shape.m * (double)problem->shape.n * (double)problem->shape.k;
}

static double traffic(const struct tcb_problem *problem)
{
	return 4 * (double)problem->shape.m * ((double)problem->shape.n + 2 * (double)problem->shape.k);
}

static const struct tcb_shape default_shapes[] = { { 1, 128, 8 }, { 512, 128, 8 } };

const struct tcb_op tcb_op_route_f32 = {
	.name = "route_f32",
	.summary = "which experts of a mixture each token uses, and their shares",
	.shape_form = "MxNxU",
	.type = TCB_TYPE_F32,
	.contracts = 1u << TCB_CONTRACT_F32,
	.default_contract = TCB_CONTRACT_F32,
	.default_shapes = default_shapes,
	.default_shape_count = sizeof(default_shapes) / sizeof(default_shapes[0]),
	.side = TCB_SIDES(&route_cpu, &route_gpu, &route_wgsl),
	.check_shape = check_shape,
	.operands = operands,
	.fill = fill,
	.reference = reference,
	.flops = flops,
	.traffic = traffic,
};
