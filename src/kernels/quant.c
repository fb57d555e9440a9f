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
	if (shape->words.x_type == 1 || shape->words.y_type == 1)
		return tcb_fail(err, TCB_E_USAGE, "x and y of %s are f32 where nothing else is said: leave %s out",
				op->name, shape->words.x_type == 1 ? "xf32" : "yf32");
	return TCB_OK;
}

/* An operand of ROWS rows of COLS elements of TYPE, STRIDE apart. */
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
	out[TCB_QUANT_X] =
		tcb_operand_rows("x", TCB_ROLE_INPUT, tcb_quant_x_type(problem), s->m, s->k, problem->x_stride);
	out[TCB_QUANT_Y] =
		tcb_operand_rows("y", TCB_ROLE_OUTPUT, tcb_quant_y_type(problem), s->m, s->n, problem->y_stride);
	if (s->words.add)
		out[TCB_QUANT_ADDED] = tcb_operand_rows("added", TCB_ROLE_INPUT, TCB_TYPE_F32, s->m, s->n, 0);
	out[tcb_quant_bias_at(problem)] = tcb_quant_bias_operand(s->n);
	return tcb_quant_bias_at(problem) + (s->words.bias != 0);
}

struct tcb_operand tcb_quant_bias_operand(size_t values)
{
	return (struct tcb_operand){
		.name = "bias",
		.role = TCB_ROLE_INPUT,
		.type = TCB_TYPE_F32,
		.rows = 1,
		.cols = values,
		.bytes = values * sizeof(float),
	};
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
	const enum tcb_type type = tcb_quant_x_type(problem);
	for (size_t m = 0; m < s->m; m++) {
		char *x = (char *)operand[TCB_QUANT_X] + m * tcb_quant_x_stride(problem) * tcb_type_bytes(type);
		for (size_t i = 0; i < s->k; i++, x += tcb_type_bytes(type)) {
			const float value = tcb_rng_normal(&rng);
			tcb_type_from_f32(type, &value, 1, x);
		}
	}
	float *added = s->words.add ? operand[TCB_QUANT_ADDED] : NULL;
	for (size_t i = 0; added && i < s->m * s->n; i++)
		added[i] = tcb_rng_normal(&rng);
	float *bias = s->words.bias ? operand[tcb_quant_bias_at(problem)] : NULL;
	for (size_t j = 0; bias && j < s->n; j++)
		bias[j] = tcb_rng_normal(&rng);
}

const float *tcb_quant_x_values(const struct tcb_problem *problem, const void *x, size_t token, size_t first,
				size_t values, float *room)
{
	const enum tcb_type type = tcb_quant_x_type(problem);
	const char *from = (const char *)x + (token * tcb_quant_x_stride(problem) + first) * tcb_type_bytes(type);
	if (type == TCB_TYPE_F32)
		return (const float *)(const void *)from;
	tcb_type_to_f32(type, from, values, room);
	return room;
}

struct tcb_quant_more tcb_quant_more(const struct tcb_problem *problem, void *const operand[])
{
	const struct tcb_words *words = &problem->shape.words;
	return (struct tcb_quant_more){ .n = problem->shape.n,
					.stride = tcb_quant_y_stride(problem),
					.bias = words->bias ? operand[tcb_quant_bias_at(problem)] : NULL,
					.added = words->add ? operand[TCB_QUANT_ADDED] : NULL };
}

void tcb_quant_add_more(const struct tcb_quant_more *more, size_t row, size_t rows, size_t column, size_t columns,
			float *y)
{
	const float *bias = more->bias ? more->bias + column : NULL;
	const float *added = more->added ? more->added + row * more->n + column : NULL;
	for (size_t i = 0; i < rows && (bias || added); i++, y += more->stride) {
		for (size_t j = 0; bias && j < columns; j++)
			y[j] += bias[j];
		for (size_t j = 0; added && j < columns; j++)
			y[j] += added[i * more->n + j];
	}
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
