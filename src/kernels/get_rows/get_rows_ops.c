/* SPDX-License-Identifier: MIT
 *
 * The ops qXX_get_rows: operands, data, reference, packing, the model of bytes and operations.
 */
#include <math.h>

#include "base/sizes.h"
#include "base/util.h"
#include "kernels/get_rows/get_rows.h"
#include "kernels/get_rows/get_rows_gpu.h"

enum { PART_ROWS = 64 };

static const struct tcb_shape default_shapes[] = { { 1, 32000, 4096 }, { 512, 32000, 4096 } };

struct tcb_problem get_rows_product(const struct tcb_problem *problem)
{
	struct tcb_problem product = *problem;
	product.op = get_rows_matvec(problem->op);
	return product;
}

static enum tcb_status check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	size_t bytes;
	TCB_TRY(tcb_quant_check_shape(op, shape, err));
	if (shape->n > INT32_MAX)
		return tcb_fail(err, TCB_E_OVERFLOW, "%s has ids of 32 bits, and N is %zu: at most 2147483647",
				op->name, shape->n);
	if (tcb_mul_size(shape->m, shape->k, &bytes) || tcb_mul_size(bytes, 3 * sizeof(double), &bytes))
		return tcb_fail(err, TCB_E_OVERFLOW, "%zu rows of %zu values do not fit in memory", shape->m, shape->k);
	return TCB_OK;
}

static size_t row_bytes(const struct tcb_problem *problem)
{
	return tcb_quant_row_bytes(problem->op->format, problem->shape.k);
}

/* Test data has no id twice before all had their turn. */
static size_t touched_rows(const struct tcb_shape *shape)
{
	return tcb_least(shape->m, shape->n);
}

static size_t operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	const struct tcb_shape *s = &problem->shape;
	const enum tcb_type type = get_rows_type(problem);
	out[GET_ROWS_WEIGHTS] = (struct tcb_operand){
		.name = "weights",
		.role = TCB_ROLE_WEIGHTS,
		.type = TCB_TYPE_BLOCKS,
		.rows = s->n,
		.cols = s->k,
		.bytes = s->n * row_bytes(problem),
		.streams = 1,
		.format = problem->op->format,
		.touched = touched_rows(s) < s->n ? touched_rows(s) * row_bytes(problem) : 0,
	};
	out[GET_ROWS_IDS] = (struct tcb_operand){
		.name = "ids",
		.role = TCB_ROLE_INPUT,
		.type = TCB_TYPE_I32,
		.rows = 1,
		.cols = s->m,
		.bytes = s->m * sizeof(int32_t),
		.varies = 1,
	};
	out[GET_ROWS_Y] = (struct tcb_operand){
		.name = "y",
		.role = TCB_ROLE_OUTPUT,
		.type = type,
		.rows = s->m,
		.cols = s->k,
		.bytes = s->m * s->k * tcb_type_bytes(type),
		.streams = 1,
	};
	return GET_ROWS_OPERANDS;
}

/* --- test data: parts of the table, and one that is the ids --- */

static size_t fill_parts(const struct tcb_problem *problem)
{
	return tcb_div_up(problem->shape.n, PART_ROWS) + 1;
}

static size_t common_divisor(size_t a, size_t b)
{
	while (b) {
		const size_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* Steps of a random length round the table, which come to every row before one again. */
static void fill_ids(const struct tcb_shape *shape, struct tcb_rng *rng, int32_t *ids)
{
	size_t at = tcb_rng_below(rng, shape->n), step = 1 + tcb_rng_below(rng, shape->n);
	while (common_divisor(step, shape->n) != 1)
		step++;
	for (size_t i = 0; i < shape->m; i++, at = (at + step) % shape->n)
		ids[i] = (int32_t)at;
}

static void fill_part(const struct tcb_problem *problem, uint64_t seed, void *const operand[], size_t part)
{
	const struct tcb_format *format = problem->op->format;
	const size_t first = part * PART_ROWS, end = tcb_least(first + PART_ROWS, problem->shape.n);
	struct tcb_rng rng;
	tcb_part_rng(seed, part, &rng);
	if (first >= problem->shape.n) {
		if (operand[GET_ROWS_IDS])
			fill_ids(&problem->shape, &rng, operand[GET_ROWS_IDS]);
		return;
	}
	uint8_t *table = operand[GET_ROWS_WEIGHTS];
	for (size_t at = first * row_bytes(problem); table && at < end * row_bytes(problem); at += format->block_bytes)
		tcb_block_random(format, &rng, table + at);
}

/* --- reference: what is allowed is that and nothing else --- */

struct job {
	const struct tcb_problem *problem;
	void *const *operand;
	struct tcb_reference *out;
};

static float rounded(enum tcb_type type, float value)
{
	return type == TCB_TYPE_F16 ? tcb_f16_to_f32(tcb_f32_to_f16(value)) : value;
}

static void refer_token(void *ctx, size_t token, unsigned thread)
{
	const struct job *job = ctx;
	const struct tcb_shape *s = &job->problem->shape;
	const struct tcb_format *format = job->problem->op->format;
	const int32_t id = ((const int32_t *)job->operand[GET_ROWS_IDS])[token];
	const int is_there = id >= 0 && (size_t)id < s->n;
	const uint8_t *block = job->operand[GET_ROWS_WEIGHTS];
	float values[TCB_BLOCK_VALUES_MAX];
	(void)thread;
	if (is_there)
		block += (size_t)id * row_bytes(job->problem);
	for (size_t at = 0; at < s->k; at += format->block_values, block += format->block_bytes) {
		if (is_there)
			tcb_dequantize(format, block, 1, values);
		for (size_t i = 0; i < format->block_values; i++) {
			const size_t to = token * s->k + at + i;
			job->out->y[to] = (double)(is_there ? rounded(get_rows_type(job->problem), values[i]) : NAN);
			job->out->magnitude[to] = job->out->extra[to] = 0;
		}
	}
}

static void reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	struct job job = { problem, operand, out };
	tcb_reference_share(out, problem->shape.m, refer_token, &job);
}

/* --- the model of bytes and operations --- */

static double flops(const struct tcb_problem *problem)
{
	return (double)problem->shape.m * (double)problem->shape.k;
}

static double traffic(const struct tcb_problem *problem)
{
	const struct tcb_shape *s = &problem->shape;
	return (double)touched_rows(s) * (double)row_bytes(problem) +
	       (double)s->m * ((double)s->k * (double)tcb_type_bytes(get_rows_type(problem)) + sizeof(int32_t));
}

/* --- packing: the product's --- */

static void pack(const struct tcb_problem *problem, size_t which, enum tcb_layout layout, const void *weights,
		 void *packed)
{
	const struct tcb_problem product = get_rows_product(problem);
	product.op->pack(&product, which, layout, weights, packed);
}

static void unpack(const struct tcb_problem *problem, size_t which, enum tcb_layout layout, const void *packed,
		   void *weights)
{
	const struct tcb_problem product = get_rows_product(problem);
	product.op->unpack(&product, which, layout, packed, weights);
}

static size_t pack_rows(const struct tcb_op *op, enum tcb_layout layout)
{
	return get_rows_matvec(op)->pack_rows(get_rows_matvec(op), layout);
}

#define OP(id, name_, op_, ...)                                                               \
	extern const struct tcb_op tcb_op_##op_##_matvec;                                     \
	const struct tcb_op tcb_op_##op_##_get_rows = {                                       \
		.name = #op_ "_get_rows",                                                     \
		.summary = "rows of a table of " #id " weights, as embeddings are looked up", \
		.shape_form = "MxNxK",                                                        \
		.format = &tcb_formats[TCB_FORMAT_##id],                                      \
		.member = &tcb_op_##op_##_matvec,                                             \
		.contracts = 1u << TCB_CONTRACT_F32 | 1u << TCB_CONTRACT_F16,                 \
		.default_contract = TCB_CONTRACT_F32,                                         \
		.default_shapes = default_shapes,                                             \
		.default_shape_count = sizeof(default_shapes) / sizeof(default_shapes[0]),    \
		.side = TCB_SIDES(&op_##_get_rows_cpu, &get_rows_gpu),                        \
		.check_shape = check_shape,                                                   \
		.operands = operands,                                                         \
		.fill = tcb_fill_in_parts,                                                    \
		.fill_parts = fill_parts,                                                     \
		.fill_part = fill_part,                                                       \
		.reference = reference,                                                       \
		.flops = flops,                                                               \
		.traffic = traffic,                                                           \
		.pack = pack,                                                                 \
		.unpack = unpack,                                                             \
		.pack_rows = pack_rows,                                                       \
	};
TCB_FORMAT_LIST(OP)
