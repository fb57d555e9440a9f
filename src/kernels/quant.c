/* SPDX-License-Identifier: MIT
 *
 * The parts of an op with quantised weights that do not depend on how it is
 * computed: shapes, operands, data, work, activations to 8 bits (quant.h).
 */
#include "kernels/quant.h"

#include "base/util.h"
#include "kernels/quant_codes.h"

size_t tcb_quant_row_bytes(const struct tcb_format *format, size_t k)
{
	return k / format->block_values * format->block_bytes;
}

size_t tcb_quant_group(const struct tcb_format *format)
{
	return tcb_group_values(format->id);
}

enum tcb_status tcb_quant_check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	const size_t unit = op->format->block_values;
	size_t x_bytes, w_values, y_bytes;
	if (shape->m < 1 || shape->n < 1 || shape->k < 1)
		return tcb_fail(err, TCB_E_USAGE,
				"%s needs a shape MxNxK with M, N and K of 1 or more, K a multiple of %zu", op->name,
				unit);
	if (shape->k % unit)
		return tcb_fail(err, TCB_E_USAGE, "K is %zu: %s weights need K to be a multiple of %zu, such as %zu",
				shape->k, op->format->gguf_name, unit, (shape->k - 1) / unit * unit + unit);
	/* Twice the values bounds every buffer: prepared activations, widened scales, padding to 16 rows. */
	if (tcb_mul_size(shape->m, shape->k, &x_bytes) || tcb_mul_size(x_bytes, 2 * sizeof(float), &x_bytes) ||
	    tcb_add_size(shape->n, 16, &w_values) || tcb_mul_size(w_values, shape->k, &w_values) ||
	    tcb_mul_size(w_values, 2, &w_values) || tcb_mul_size(shape->m, shape->n, &y_bytes) ||
	    tcb_mul_size(y_bytes, sizeof(float), &y_bytes))
		return tcb_fail(err, TCB_E_OVERFLOW, "shape %zux%zux%zu is too large for this machine's sizes",
				shape->m, shape->n, shape->k);
	return TCB_OK;
}

size_t tcb_quant_operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	const struct tcb_shape *s = &problem->shape;
	const struct tcb_format *format = problem->op->format;
	out[TCB_QUANT_WEIGHTS] = (struct tcb_operand){
		.name = "weights",
		.role = TCB_ROLE_WEIGHTS,
		.type = TCB_TYPE_BLOCKS,
		.rows = s->n,
		.cols = s->k,
		.bytes = s->n * tcb_quant_row_bytes(format, s->k),
		.streams = 1,
		.format = format,
	};
	out[TCB_QUANT_X] = (struct tcb_operand){
		.name = "x",
		.role = TCB_ROLE_INPUT,
		.type = TCB_TYPE_F32,
		.rows = s->m,
		.cols = s->k,
		.bytes = s->m * s->k * sizeof(float),
	};
	out[TCB_QUANT_Y] = (struct tcb_operand){
		.name = "y",
		.role = TCB_ROLE_OUTPUT,
		.type = TCB_TYPE_F32,
		.rows = s->m,
		.cols = s->n,
		.bytes = s->m * s->n * sizeof(float),
	};
	if (!s->words.add)
		return TCB_QUANT_OPERANDS;
	out[TCB_QUANT_ADDED] = out[TCB_QUANT_Y];
	out[TCB_QUANT_ADDED].name = "added";
	out[TCB_QUANT_ADDED].role = TCB_ROLE_INPUT;
	return TCB_QUANT_ADDED + 1;
}

void tcb_quant_fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	const struct tcb_shape *s = &problem->shape;
	const struct tcb_format *format = problem->op->format;
	struct tcb_rng rng;
	tcb_rng_init(&rng, seed);
	uint8_t *block = operand[TCB_QUANT_WEIGHTS];
	for (size_t b = 0; b < s->n * (s->k / format->block_values); b++, block += format->block_bytes)
		tcb_block_random(format, &rng, block);
	float *x = operand[TCB_QUANT_X];
	for (size_t i = 0; i < s->m * s->k; i++)
		x[i] = tcb_rng_normal(&rng);
	float *added = s->words.add ? operand[TCB_QUANT_ADDED] : NULL;
	for (size_t i = 0; added && i < s->m * s->n; i++)
		added[i] = tcb_rng_normal(&rng);
}

void tcb_quant_add(const struct tcb_problem *problem, void *const operand[], size_t row, size_t rows, size_t column,
		   size_t columns, float *y)
{
	const size_t n = problem->shape.n;
	if (!problem->shape.words.add)
		return;
	const float *added = (const float *)operand[TCB_QUANT_ADDED] + row * n + column;
	for (size_t i = 0; i < rows; i++, y += n, added += n)
		for (size_t j = 0; j < columns; j++)
			y[j] += added[j];
}

double tcb_quant_flops(const struct tcb_problem *problem)
{
	return 2.0 * (double)problem->shape.m * (double)problem->shape.n * (double)problem->shape.k;
}

double tcb_quant_traffic(const struct tcb_problem *problem)
{
	struct tcb_operand all[TCB_OPERANDS_MAX];
	double bytes = 0;
	for (size_t i = 0, count = problem->op->operands(problem, all); i < count; i++)
		bytes += (double)all[i].bytes;
	return bytes;
}

void tcb_quant_codes(const float *x, size_t count, int8_t *code_out, float *d_out)
{
	tcb_quant_codes_inline(x, count, code_out, d_out);
}
