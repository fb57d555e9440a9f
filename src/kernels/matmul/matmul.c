/* SPDX-License-Identifier: MIT
 *
 * The dense products as ops: operands, data, the model of bytes and operations,
 * and the tables of what runs them.
 */
#include <string.h>

#include "base/util.h"
#include "kernels/matmul/matmul_cpu.h"
#include "kernels/matmul/matmul_gpu.h"

static const struct {
	const char *op, *text; /* the element type as operands name it */
} types[] = {
	[MATMUL_F32] = { "matmul_f32", "f32" },
	[MATMUL_F16] = { "matmul_f16", "f16" },
	[MATMUL_BF16] = { "matmul_bf16", "bf16" },
};

enum matmul_type matmul_type(const struct tcb_problem *problem)
{
	for (int type = MATMUL_F32; type < MATMUL_BF16; type++)
		if (strcmp(problem->op, types[type].op) == 0)
			return (enum matmul_type)type;
	return MATMUL_BF16;
}

static enum tcb_status check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	size_t a, b, c, bytes;
	if (!shape->m || !shape->n || !shape->k)
		return tcb_fail(err, TCB_E_USAGE,
				"op %s takes a shape MxNxK of at least 1 each, for example 1024x1024x1024", op->name);
	if (tcb_mul_size(shape->m, shape->k, &a) || tcb_mul_size(shape->k, shape->n, &b) ||
	    tcb_mul_size(shape->m, shape->n, &c) || tcb_add_size(a, b, &bytes) || tcb_add_size(bytes, c, &bytes) ||
	    tcb_mul_size(bytes, 4 * sizeof(double), &bytes))
		return tcb_fail(err, TCB_E_OVERFLOW, "a %s of %zux%zux%zu does not fit in memory", op->name, shape->m,
				shape->n, shape->k);
	return TCB_OK;
}

static size_t operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	const enum matmul_type type = matmul_type(problem);
	const struct tcb_shape *s = &problem->shape;
	const size_t each = matmul_type_bytes(type);
	const char *text = types[type].text;
	out[MATMUL_A] = (struct tcb_operand){ "a", TCB_ROLE_INPUT, text, s->m, s->k, s->m * s->k * each, 1 };
	out[MATMUL_B] = (struct tcb_operand){ "b", TCB_ROLE_INPUT, text, s->k, s->n, s->k * s->n * each, 1 };
	out[MATMUL_C] = (struct tcb_operand){ "c", TCB_ROLE_OUTPUT, text, s->m, s->n, s->m * s->n * each, 1 };
	return MATMUL_OPERANDS;
}

static void fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	const enum matmul_type type = matmul_type(problem);
	const size_t counts[] = { problem->shape.m * problem->shape.k, problem->shape.k * problem->shape.n };
	struct tcb_rng rng;
	tcb_rng_init(&rng, seed);
	for (int o = MATMUL_A; o <= MATMUL_B; o++) {
		float values[64];
		for (size_t i = 0; i < counts[o]; i += 64) {
			const size_t count = counts[o] - i < 64 ? counts[o] - i : 64;
			for (size_t j = 0; j < count; j++)
				values[j] = tcb_rng_normal(&rng);
			matmul_narrow(type, values, count, operand[o], i);
		}
	}
}

static double flops(const struct tcb_problem *problem)
{
	return 2.0 * (double)problem->shape.m * (double)problem->shape.n * (double)problem->shape.k;
}

static double traffic(const struct tcb_problem *problem)
{
	const double m = (double)problem->shape.m, n = (double)problem->shape.n, k = (double)problem->shape.k;
	return (double)matmul_type_bytes(matmul_type(problem)) * (m * k + k * n + m * n);
}

/* --- the ops --- */

static const struct tcb_shape default_shapes[] = { { 1024, 1024, 1024 }, { 2048, 2048, 2048 }, { 4096, 4096, 4096 } };

#if defined(__x86_64__)
#define LISTS(type)                                                                                                   \
	{                                                                                                             \
		matmul_##type##_variants_scalar, matmul_##type##_variants_avx2, matmul_##type##_variants_avx512, NULL \
	}
#elif defined(__aarch64__)
#define LISTS(type)                                                                  \
	{                                                                            \
		matmul_##type##_variants_scalar, matmul_##type##_variants_neon, NULL \
	}
#else
#define LISTS(type)                                   \
	{                                             \
		matmul_##type##_variants_scalar, NULL \
	}
#endif
static const struct tcb_variant *const f32_variants[] = LISTS(f32);
static const struct tcb_variant *const f16_variants[] = LISTS(f16);
static const struct tcb_variant *const bf16_variants[] = LISTS(bf16);

#define MATMUL_OP(type, contract, exact_, summary_)                                        \
	const struct tcb_op tcb_op_matmul_##type = {                                       \
		.name = "matmul_" #type,                                                   \
		.summary = summary_,                                                       \
		.shape_form = "MxNxK",                                                     \
		.contracts = 1u << contract,                                               \
		.default_contract = contract,                                              \
		.default_shapes = default_shapes,                                          \
		.default_shape_count = sizeof(default_shapes) / sizeof(default_shapes[0]), \
		.variant_lists = type##_variants,                                          \
		.check_shape = check_shape,                                                \
		.operands = operands,                                                      \
		.fill = fill,                                                              \
		.reference = matmul_reference,                                             \
		.exact = exact_,                                                           \
		.flops = flops,                                                            \
		.traffic = traffic,                                                        \
		.axes = matmul_axes,                                                       \
		.default_geometry = matmul_default_geometry,                               \
		.footprint = matmul_footprint,                                             \
		.plan = matmul_plan,                                                       \
		.run = matmul_run,                                                         \
		.emit = matmul_emit,                                                       \
		.gpu_rules = matmul_gpu_rules,                                             \
		.gpu_variants = matmul_##type##_gpu_variants,                              \
		.cpu_rules = matmul_cpu_rules,                                             \
	}

MATMUL_OP(f32, TCB_CONTRACT_F32, matmul_exact, "dense f32 matrix product");
MATMUL_OP(f16, TCB_CONTRACT_F16, NULL, "dense f16 matrix product, f32 sums, f16 results");
MATMUL_OP(bf16, TCB_CONTRACT_F16, NULL, "dense bf16 matrix product, f32 sums, bf16 results");
