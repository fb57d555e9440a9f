/* SPDX-License-Identifier: MIT
 *
 * Every callback finds its op, and behind it the source, in the problem that it
 * is handed.
 */
#include "scaled_copy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "kernels/axes.h"
#include "kernels/signature.h"

enum { CHUNK_MOST = 256 };

static const char *const orders[] = { "up", "down", NULL };
static const struct tcb_parameter parameters[] = {
	{ "chunk", "values that are taken at a time", NULL },
	{ "order", "the end at which it begins", orders },
	{ NULL, NULL, NULL },
};
static const struct tcb_shape shapes[] = { { 16, 1024 } };

/* 0: the source says nothing that is understood. */
static int scale_of(const struct tcb_problem *problem, double *out)
{
	const struct scaled_copy *own = problem->op->context;
	return sscanf(own->source, "y = %lf * x", out) == 1;
}

static enum tcb_status check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	return shape->m && shape->n && !shape->k ? TCB_OK
						 : tcb_fail(err, TCB_E_USAGE, "op %s takes a shape MxN", op->name);
}

static size_t operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	const size_t m = problem->shape.m, n = problem->shape.n;
	out[0] = (struct tcb_operand){ "x", TCB_ROLE_INPUT, TCB_TYPE_F32, m, n, m * n * sizeof(float), 1 };
	out[1] = (struct tcb_operand){ "y", TCB_ROLE_OUTPUT, TCB_TYPE_F32, m, n, m * n * sizeof(float), 0 };
	return 2;
}

static void fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	struct tcb_rng rng;
	tcb_rng_init(&rng, seed);
	for (size_t i = 0; i < problem->shape.m * problem->shape.n; i++)
		((float *)operand[0])[i] = tcb_rng_normal(&rng);
}

static void reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	double scale = 0;
	if (!scale_of(problem, &scale)) {
		out->failure = "its source says nothing that is understood";
		return;
	}
	for (size_t i = 0; i < problem->shape.m * problem->shape.n; i++) {
		out->y[i] = scale * (double)((const float *)operand[0])[i];
		out->magnitude[i] = fabs(out->y[i]);
		out->extra[i] = 0;
	}
}

static double flops(const struct tcb_problem *problem)
{
	return (double)(problem->shape.m * problem->shape.n);
}

static double traffic(const struct tcb_problem *problem)
{
	return 2.0 * sizeof(float) * (double)(problem->shape.m * problem->shape.n);
}

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	size_t count = 0;
	(void)problem, (void)target;
	ADD(tcb_axis_knob(out, &count, (enum tcb_knob)CHUNK), 4, 32, CHUNK_MOST);
	ADD(tcb_axis_knob(out, &count, (enum tcb_knob)ORDER), 0, 1);
	return count;
}

static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	(void)target;
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ problem->shape.m, problem->shape.n, 1 };
	out->knob[TCB_KNOB_ISA] = TCB_ISA_SCALAR;
	out->knob[TCB_KNOB_THREADS] = 1;
	out->parameters = problem->op->parameters;
	out->knob[CHUNK] = 4;
	out->knob[ORDER] = 0;
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	(void)problem, (void)target, (void)geometry;
	*out = (struct tcb_footprint){ .shared_bytes = 0 };
}

static const char *chunk_broken(const struct tcb_problem *problem, const struct tcb_target *target,
				const struct tcb_geometry *geometry)
{
	(void)problem, (void)target;
	return geometry->knob[CHUNK] >= 1 && geometry->knob[CHUNK] <= CHUNK_MOST ? NULL : "chunk is from 1 to 256";
}

static const struct tcb_rule rules[] = { { 0, TCB_RULE_KERNEL, chunk_broken }, { 0, TCB_RULE_KERNEL, NULL } };

static enum tcb_status plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			    struct tcb_plan *out, struct tcb_error *err)
{
	const struct tcb_variant *variant = tcb_variant_find(problem->op, problem->contract, geometry);
	if (!variant)
		return tcb_fail(err, TCB_E_ILLEGAL, "op %s has no such kernel", problem->op->name);
	*out = (struct tcb_plan){
		.problem = *problem, .geometry = *geometry, .variant = variant, .threads = 1, .chain = 1
	};
	return TCB_OK;
}

/* Small chunks do all of their work again and again, so that it is known which is the fastest. */
static void run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	const size_t count = plan->problem.shape.m * plan->problem.shape.n;
	const size_t chunk = (size_t)plan->geometry.knob[CHUNK], chunks = (count + chunk - 1) / chunk;
	const float *x = operand[0];
	volatile float *y = operand[1];
	double scale = 0;
	(void)workspace, (void)pool;
	(void)scale_of(&plan->problem, &scale);
	for (size_t again = 0; again < CHUNK_MOST / chunk; again++)
		for (size_t c = 0; c < chunks; c++) {
			const size_t at = (plan->geometry.knob[ORDER] ? chunks - 1 - c : c) * chunk;
			for (size_t i = at; i < at + chunk && i < count; i++)
				y[i] = (float)scale * x[i];
		}
}

static const struct tcb_side_space space = { rules, axes, default_geometry, footprint };

void scaled_copy_make(const char *source, struct scaled_copy *out)
{
	struct tcb_str text = { 0 }, rest = { 0 };
	*out = (struct scaled_copy){ .source = source };
	tcb_str_add(&text, source);
	tcb_str_add(&rest, "chunk, order");
	tcb_source_sign(&text, &rest, out->signature);
	tcb_str_fini(&text);
	tcb_str_fini(&rest);
	out->variants[0] = (struct tcb_variant){ .name = "scaled_copy_scalar",
						 .contract = TCB_CONTRACT_F32,
						 .isa = TCB_ISA_SCALAR,
						 .micro = { 1, 1, 1 },
						 .unroll = 1,
						 .class = TCB_CLASS_BOUNDED,
						 .signature = out->signature };
	out->lists[0] = out->variants;
	out->side = (struct tcb_side){ .variants = out->lists, .space = &space, .plan = plan, .run = run };
	out->op = (struct tcb_op){
		.name = "scaled_copy",
		.summary = "y = S x, of a source",
		.shape_form = "MxN",
		.contracts = 1u << TCB_CONTRACT_F32,
		.default_contract = TCB_CONTRACT_F32,
		.default_shapes = shapes,
		.default_shape_count = 1,
		.check_shape = check_shape,
		.operands = operands,
		.fill = fill,
		.reference = reference,
		.flops = flops,
		.traffic = traffic,
		.side = TCB_SIDES(&out->side, NULL),
		.parameters = parameters,
		.context = out,
	};
}
