/* SPDX-License-Identifier: MIT
 *
 * reduce2d_sum, reduce2d_max, reduce2d_min: the ops, what they compute, and their
 * references.
 */
#include "kernels/reduce2d/reduce2d.h"

#include <float.h>
#include <math.h>

#include "base/sizes.h"
#include "base/util.h"
#include "kernels/reduce2d/reduce2d_gpu.h"
#include "kernels/reduce2d/reduce2d_wgsl.h"

enum {
	PART_VALUES = 1 << 20, /* of a part of the data */
	PARTS_MAX = 256,       /* of the reference, and values of each at least */
	PART_LEAST = 1 << 16,
};

static double add(double a, double b)
{
	return a + b;
}

static double maximum(double a, double b)
{
	if (isnan(a) || isnan(b))
		return (double)NAN;
	return a > b || (a == b && signbit(b)) ? a : b;
}

static double minimum(double a, double b)
{
	if (isnan(a) || isnan(b))
		return (double)NAN;
	return a < b || (a == b && signbit(a)) ? a : b;
}

const struct reduce2d_operation reduce2d_sum = { "sum", -0.0, add };
const struct reduce2d_operation reduce2d_max = { "max", -INFINITY, maximum };
const struct reduce2d_operation reduce2d_min = { "min", INFINITY, minimum };

static double reduce_view(const struct reduce2d_operation *operation, const struct tcb_view *view, const float *x)
{
	double result = operation->identity;
	for (size_t r = 0; r < view->shape[0]; r++) {
		const float *row = x + view->offset + r * view->stride[0];
		for (size_t c = 0; c < view->shape[1]; c++)
			result = reduce2d_combine(operation, result, (double)row[c * view->stride[1]]);
	}
	return result;
}

double reduce2d_tiles(const struct reduce2d_operation *operation, const struct tcb_partition *tiles, const float *x)
{
	double result = operation->identity;
	for (size_t t = 0; t < tiles->total; t++) {
		struct tcb_view tile;
		tcb_partition_tile_view(tiles, t, &tile);
		result = reduce2d_combine(operation, result, reduce_view(operation, &tile, x));
	}
	return result;
}

static enum tcb_status reduce2d_check_shape(const struct tcb_op *op, const struct tcb_shape *shape,
					    struct tcb_error *err)
{
	size_t bytes;
	if (shape->k)
		return tcb_fail(err, TCB_E_USAGE, "op %s takes a shape MxN (M rows of N values), for example 4096x%zu",
				op->name, shape->n ? shape->n : 4096);
	if (!shape->m || !shape->n)
		return tcb_fail(err, TCB_E_USAGE, "op %s needs at least one row and one column, for example 4096x4096",
				op->name);
	if (tcb_mul_size(shape->m, shape->n, &bytes) || tcb_mul_size(bytes, 4 * sizeof(double), &bytes))
		return tcb_fail(err, TCB_E_OVERFLOW, "a matrix of %zux%zu does not fit in memory", shape->m, shape->n);
	const struct reduce2d_program *program = reduce2d_program(op->member);
	if (program && reduce2d_program_multiplies(program) && shape->m * shape->n > REDUCE2D_FACTORS_MAX)
		return tcb_fail(err, TCB_E_USAGE,
				"op %s multiplies a and b: errors of more than %d factors could not be bounded",
				op->name, REDUCE2D_FACTORS_MAX);
	return TCB_OK;
}

static size_t reduce2d_operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	size_t m = problem->shape.m, n = problem->shape.n;
	out[REDUCE2D_X] = (struct tcb_operand){ "x", TCB_ROLE_INPUT, TCB_TYPE_F32, m, n, m * n * sizeof(float), 1 };
	out[REDUCE2D_Y] = (struct tcb_operand){ "y", TCB_ROLE_OUTPUT, TCB_TYPE_F32, 1, 1, sizeof(float), 0 };
	return REDUCE2D_OPERANDS;
}

static size_t reduce2d_fill_parts(const struct tcb_problem *problem)
{
	return tcb_div_up(problem->shape.m * problem->shape.n, PART_VALUES);
}

/* With a mean: a sum of nothing but noise is near 0, and any error bound would be wider than the result. */
static void reduce2d_fill_part(const struct tcb_problem *problem, uint64_t seed, void *const operand[], size_t part)
{
	const size_t first = part * PART_VALUES;
	const size_t count = tcb_least(PART_VALUES, problem->shape.m * problem->shape.n - first);
	float *x = (float *)operand[REDUCE2D_X] + first;
	struct tcb_rng rng;
	tcb_part_rng(seed, part, &rng);
	for (size_t i = 0; i < count; i++)
		x[i] = 0.75f + tcb_rng_normal(&rng);
}

/* The rounding error of each addition is carried along (Neumaier). */
struct part {
	double y; /* the sum so far, or what the operation makes of the values */
	double lost, magnitude;
};

static void add_value(struct part *part, double value)
{
	const double total = part->y + value;
	part->lost += fabs(part->y) >= fabs(value) ? (part->y - total) + value : (value - total) + part->y;
	part->y = total;
}

/* The values in at most PARTS_MAX parts, which threads share. */
struct parts {
	const struct reduce2d_operation *operation;
	const float *x;
	size_t count, size;
	struct part part[PARTS_MAX];
};

static void reduce_part(void *ctx, size_t task, unsigned thread)
{
	struct parts *parts = ctx;
	const size_t first = task * parts->size, end = tcb_least(first + parts->size, parts->count);
	const struct reduce2d_operation *operation = parts->operation;
	struct part part = { .y = operation->identity };
	(void)thread;
	for (size_t i = first; operation == &reduce2d_sum && i < end; i++) {
		add_value(&part, (double)parts->x[i]);
		part.magnitude += fabs((double)parts->x[i]);
	}
	const struct reduce2d_program *program = reduce2d_program(operation);
	part.magnitude = program ? fabs(operation->identity) : part.magnitude;
	for (size_t i = first; operation != &reduce2d_sum && i < end; i++) {
		part.y = reduce2d_combine(operation, part.y, (double)parts->x[i]);
		if (program)
			part.magnitude = reduce2d_program_magnitude(program, part.magnitude, fabs((double)parts->x[i]));
	}
	parts->part[task] = part;
}

/* What rounds to more than f32 has is infinite. */
static double round_to_f32(double y)
{
	return fabs(y) > FLT_MAX * (1 + 0x1p-25) ? copysign(INFINITY, y) : y;
}

/* The sum of all parts. */
static void add_parts(const struct parts *parts, size_t count, struct tcb_reference *out)
{
	struct part sum = parts->part[0];
	for (size_t i = 1; i < count; i++) {
		add_value(&sum, parts->part[i].y);
		sum.lost += parts->part[i].lost;
		sum.magnitude += parts->part[i].magnitude;
	}
	const double y = sum.lost != 0 && isfinite(sum.y) ? sum.y + sum.lost : sum.y;
	out->y[0] = round_to_f32(y);
	out->magnitude[0] = sum.magnitude;
	out->extra[0] = 0x1p-149;
}

static void reduce2d_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	struct parts parts = { .operation = reduce2d_operation(problem),
			       .x = operand[REDUCE2D_X],
			       .count = problem->shape.m * problem->shape.n };
	parts.size = tcb_most(tcb_div_up(parts.count, PARTS_MAX), PART_LEAST);
	const size_t count = tcb_div_up(parts.count, parts.size);
	tcb_reference_share(out, count, reduce_part, &parts);
	if (parts.operation == &reduce2d_sum) {
		add_parts(&parts, count, out);
		return;
	}
	const struct reduce2d_program *program = reduce2d_program(parts.operation);
	struct part all = parts.part[0];
	for (size_t i = 1; i < count; i++) {
		all.y = reduce2d_combine(parts.operation, all.y, parts.part[i].y);
		if (program)
			all.magnitude = reduce2d_program_magnitude(program, all.magnitude, parts.part[i].magnitude);
	}
	out->y[0] = all.y;
	out->magnitude[0] = out->extra[0] = 0;
	if (program && reduce2d_program_roundings(program)) {
		out->y[0] = round_to_f32(all.y);
		out->magnitude[0] = all.magnitude;
		out->extra[0] = 0x1p-149;
	}
}

static double reduce2d_flops(const struct tcb_problem *problem)
{
	return (double)problem->shape.m * (double)problem->shape.n;
}

static double reduce2d_traffic(const struct tcb_problem *problem)
{
	return sizeof(float) * ((double)problem->shape.m * (double)problem->shape.n + 1);
}

static const struct tcb_shape default_shapes[] = { { 4096, 4096, 0 }, { 5000, 6007, 0 } };

#define REDUCE2D_OP(what, text, wgsl)                                                                                \
	{                                                                                                            \
		.name = "reduce2d_" #what, .summary = text, .shape_form = "MxN", .member = &reduce2d_##what,         \
		.contracts = 1u << TCB_CONTRACT_F32, .default_contract = TCB_CONTRACT_F32,                           \
		.default_shapes = default_shapes,                                                                    \
		.default_shape_count = sizeof(default_shapes) / sizeof(default_shapes[0]),                           \
		.side = TCB_SIDES(&reduce2d_##what##_cpu, &reduce2d_##what##_gpu, wgsl),                             \
		.check_shape = reduce2d_check_shape, .operands = reduce2d_operands, .fill = tcb_fill_in_parts,       \
		.fill_parts = reduce2d_fill_parts, .fill_part = reduce2d_fill_part, .reference = reduce2d_reference, \
		.exact = reduce2d_exact, .flops = reduce2d_flops, .traffic = reduce2d_traffic,                       \
	}

/* The largest magnitude, from which scales of quantisation are made. */
static const struct reduce2d_own reduce2d_absmax = { .operation = { .name = "absmax", .identity = 0 },
						     .program = { .identity = 0,
								  .count = 5,
								  .step = { { REDUCE2D_CODE_A, 0 },
									    { REDUCE2D_CODE_ABS, 0 },
									    { REDUCE2D_CODE_B, 0 },
									    { REDUCE2D_CODE_ABS, 0 },
									    { REDUCE2D_CODE_MAX, 0 } } } };

const struct tcb_op tcb_op_reduce2d_sum =
	REDUCE2D_OP(sum, "sum of a matrix of f32, tile by tile, plain, pairwise or compensated", &reduce2d_sum_wgsl);
const struct tcb_op tcb_op_reduce2d_max =
	REDUCE2D_OP(max, "IEEE maximum of a matrix of f32, tile by tile", &reduce2d_max_wgsl);
const struct tcb_op tcb_op_reduce2d_min =
	REDUCE2D_OP(min, "IEEE minimum of a matrix of f32, tile by tile", &reduce2d_min_wgsl);
const struct tcb_op tcb_op_reduce2d_absmax =
	REDUCE2D_OP(absmax, "largest magnitude in a matrix of f32, as an identity and a combine of one's own",
		    &reduce2d_absmax_wgsl);
