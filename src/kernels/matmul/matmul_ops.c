/* SPDX-License-Identifier: MIT
 *
 * The dense products as ops: operands, data, the model of bytes and operations,
 * and the tables of what runs them.
 */
#include "base/util.h"
#include "kernels/matmul/matmul_cpu.h"
#include "kernels/matmul/matmul_gpu.h"
#include "kernels/matmul/matmul_wgsl.h"

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
	const enum tcb_type type = problem->op->type;
	const struct tcb_shape *s = &problem->shape;
	const size_t each = tcb_type_bytes(type);
	out[MATMUL_A] = (struct tcb_operand){ "a", TCB_ROLE_INPUT, type, s->m, s->k, s->m * s->k * each, 1 };
	out[MATMUL_B] = (struct tcb_operand){ "b", TCB_ROLE_INPUT, type, s->k, s->n, s->k * s->n * each, 1 };
	out[MATMUL_C] = (struct tcb_operand){ "c", TCB_ROLE_OUTPUT, type, s->m, s->n, s->m * s->n * each, 1 };
	return MATMUL_OPERANDS;
}

static void fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	const enum tcb_type type = problem->op->type;
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
	return (double)tcb_type_bytes(problem->op->type) * (m * k + k * n + m * n);
}

/* --- the ops --- */

static const struct tcb_shape default_shapes[] = { { 1024, 1024, 1024 }, { 2048, 2048, 2048 }, { 4096, 4096, 4096 } };

#define MATMUL_OP(type_, TYPE, contract, exact_, summary_)                                               \
	const struct tcb_op tcb_op_matmul_##type_ = {                                                    \
		.name = "matmul_" #type_,                                                                \
		.summary = summary_,                                                                     \
		.shape_form = "MxNxK",                                                                   \
		.words = UINT64_C(1) << TCB_WORD_BITS,                                                   \
		.type = TYPE,                                                                            \
		.contracts = 1u << contract,                                                             \
		.default_contract = contract,                                                            \
		.default_shapes = default_shapes,                                                        \
		.default_shape_count = sizeof(default_shapes) / sizeof(default_shapes[0]),               \
		.side = TCB_SIDES(&matmul_##type_##_cpu, &matmul_##type_##_gpu, &matmul_##type_##_wgsl), \
		.check_shape = check_shape,                                                              \
		.operands = operands,                                                                    \
		.fill = fill,                                                                            \
		.reference = matmul_reference,                                                           \
		.drawn_columns = matmul_drawn_columns,                                                   \
		.reference_flop_ns = 0.1,                                                                \
		.reference_sums = matmul_reference_sums,                                                 \
		.exact = exact_,                                                                         \
		.flops = flops,                                                                          \
		.traffic = traffic,                                                                      \
	}

MATMUL_OP(f32, TCB_TYPE_F32, TCB_CONTRACT_F32, matmul_exact, "dense f32 matrix product");
MATMUL_OP(f16, TCB_TYPE_F16, TCB_CONTRACT_F16, NULL, "dense f16 matrix product, f32 sums, f16 results");
MATMUL_OP(bf16, TCB_TYPE_BF16, TCB_CONTRACT_F16, NULL, "dense bf16 matrix product, f32 sums, bf16 results");
