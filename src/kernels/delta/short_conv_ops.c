/* SPDX-License-Identifier: MIT
 *
 * The ops short_conv_decode_f32 and short_conv_prefill_f32: operands, data, the reference, the model of bytes and
 * operations.
 *
 * With s the sum below silu, off by gamma(5) of the sizes of what it is summed from, y is off by that times silu's
 * slope, at most 1.1, and by what exp of s and the quotient are, which is relative and grows with |s|.
 */
#include "kernels/delta/short_conv.h"

#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "base/util.h"

#define SLOPE_MOST 1.1
enum { CHANNELS = 64 /* of a task of the reference */ };

static int is_prefill_of(const struct tcb_op *op)
{
	return ((const struct delta_op *)op->member)->is_prefill;
}

static enum tcb_status check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	size_t tokens, size;
	if (!shape->m || !shape->n || !shape->k || !shape->words.query)
		return tcb_fail(err, TCB_E_USAGE,
				"op %s takes the shape of the recurrent op behind it: new tokens x values of a head x "
				"keys of a head, then heads of values / of keys, for example 1x128x128,h32/16 (tcbtune "
				"help shapes)",
				op->name);
	if (!is_prefill_of(op) && shape->m > DELTA_DECODE_TOKENS_MAX)
		return tcb_fail(err, TCB_E_USAGE, "op %s takes up to %d new tokens of a sequence, not %zu", op->name,
				DELTA_DECODE_TOKENS_MAX, shape->m);
	if (shape->m > INT32_MAX || shape->k > INT32_MAX || shape->n > INT32_MAX / (shape->words.query + 1) ||
	    tcb_mul_size(shape->words.sequences, shape->m, &tokens) || tcb_mul_size(tokens, delta_row(shape), &size) ||
	    size > INT32_MAX)
		return tcb_fail(err, TCB_E_OVERFLOW, "new tokens of more than 2^31 values, of %zux%zux%zu", shape->m,
				shape->n, shape->k);
	return TCB_OK;
}

static size_t operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	const struct tcb_shape *s = &problem->shape;
	const size_t sequences = s->words.sequences, rows = sequences * s->m, row = delta_row(s);
	const size_t slots = delta_slots_row(problem), kept = sequences * delta_kept(problem), f = sizeof(float);
	const int is_partly = s->words.ragged != 0;
	out[CONV_X] = (struct tcb_operand){ "x", TCB_ROLE_INPUT, TCB_TYPE_F32, rows, row, rows * row * f, 1 };
	out[CONV_WEIGHTS] =
		(struct tcb_operand){ "weights", TCB_ROLE_INPUT, TCB_TYPE_F32, CONV_TAPS, row, CONV_TAPS * row * f, 0 };
	out[CONV_BIAS] = (struct tcb_operand){ "bias", TCB_ROLE_INPUT, TCB_TYPE_F32, 1, row, row * f, 0 };
	out[CONV_Y] = (struct tcb_operand){ .name = "y",
					    .role = TCB_ROLE_OUTPUT,
					    .type = TCB_TYPE_F32,
					    .rows = rows,
					    .cols = row,
					    .bytes = rows * row * f,
					    .streams = 1,
					    .is_partly_written = is_partly };
	out[CONV_STATES_OUT] = (struct tcb_operand){ .name = "states_out",
						     .role = TCB_ROLE_OUTPUT,
						     .type = TCB_TYPE_F32,
						     .rows = kept,
						     .cols = conv_state(s),
						     .bytes = kept * conv_state(s) * f,
						     .streams = 1,
						     .is_partly_written = is_partly };
	out[CONV_STATES] = (struct tcb_operand){ "states",  TCB_ROLE_INPUT, TCB_TYPE_F32,
						 sequences, conv_state(s),  sequences * conv_state(s) * f,
						 1 };
	out[CONV_COUNTS] =
		(struct tcb_operand){ "counts", TCB_ROLE_INPUT, TCB_TYPE_I32, 1, sequences, 4 * sequences, 0 };
	out[CONV_SLOTS] = (struct tcb_operand){ "slots",   TCB_ROLE_INPUT, TCB_TYPE_I32,
						sequences, slots,          4 * sequences * slots,
						0 };
	return CONV_OPERANDS;
}

/* Of NULL operands those of whole numbers are the others'. */
static void fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	static const int floats[] = { CONV_X, CONV_WEIGHTS, CONV_BIAS, CONV_STATES };
	const struct tcb_shape *s = &problem->shape;
	int32_t *counts = operand[CONV_COUNTS];
	struct tcb_operand all[TCB_OPERANDS_MAX];
	struct tcb_rng rng;
	operands(problem, all);
	tcb_rng_init(&rng, seed);
	for (size_t b = 0; b < s->words.sequences; b++)
		counts[b] = (int32_t)delta_count_of(s, b);
	delta_fill_slots(problem, &rng, operand[CONV_SLOTS]);
	for (size_t o = 0; o < sizeof floats / sizeof *floats; o++) {
		float *to = operand[floats[o]];
		for (size_t i = 0; to && i < all[floats[o]].bytes / sizeof(float); i++)
			to[i] = tcb_rng_normal(&rng);
	}
}

/* --- the reference --- */

struct job {
	const struct tcb_problem *problem;
	void *const *operand;
	struct tcb_reference *out;
};

/* x of CHANNEL, token T of SEQUENCE, below 0 of what it goes on from. */
static double input(const struct job *job, size_t sequence, ptrdiff_t t, size_t channel)
{
	const struct tcb_shape *s = &job->problem->shape;
	const size_t row = delta_row(s);
	const int32_t from = ((const int32_t *)job->operand[CONV_SLOTS])[sequence * delta_slots_row(job->problem)];
	if (t >= 0)
		return (double)((const float *)job->operand[CONV_X])[(sequence * s->m + (size_t)t) * row + channel];
	if (from < 0)
		return 0;
	return (double)((const float *)job->operand[CONV_STATES])[(size_t)from * conv_state(s) +
								  (size_t)(CONV_KEPT + t) * row + channel];
}

static void refer_token(const struct job *job, size_t sequence, size_t t, size_t channel)
{
	const struct tcb_shape *s = &job->problem->shape;
	const size_t row = delta_row(s), at = (sequence * s->m + t) * row + channel;
	const float *weights = job->operand[CONV_WEIGHTS];
	double sum = (double)((const float *)job->operand[CONV_BIAS])[channel], size = fabs(sum);
	for (size_t i = 0; i < CONV_TAPS; i++) {
		const double term = (double)weights[i * row + channel] *
				    input(job, sequence, (ptrdiff_t)t - CONV_KEPT + (ptrdiff_t)i, channel);
		sum += term;
		size += fabs(term);
	}
	const double y = sum / (1 + exp(-sum));
	job->out[0].y[at] = y;
	job->out[0].magnitude[at] = SLOPE_MOST * size + fabs(y) * (1 + fabs(sum));
	job->out[0].extra[at] = 0;
}

/* Task INDEX: CHANNELS channels of a sequence. */
static void refer_channels(void *ctx, size_t index, unsigned thread)
{
	const struct job *job = ctx;
	const struct tcb_shape *s = &job->problem->shape;
	const size_t row = delta_row(s), blocks = tcb_div_up(row, CHANNELS), sequence = index / blocks;
	const size_t first = index % blocks * CHANNELS, end = tcb_least(first + CHANNELS, row);
	const size_t count = (size_t)((const int32_t *)job->operand[CONV_COUNTS])[sequence];
	const int32_t *slots = (const int32_t *)job->operand[CONV_SLOTS] + sequence * delta_slots_row(job->problem);
	(void)thread;
	for (size_t t = 0; t < count; t++) {
		const size_t to = delta_slot_of(job->problem, t, count);
		for (size_t c = first; c < end; c++) {
			refer_token(job, sequence, t, c);
			for (size_t i = 0; to && slots[to] >= 0 && i < CONV_KEPT; i++) {
				const size_t at = (size_t)slots[to] * conv_state(s) + i * row + c;
				const ptrdiff_t token = (ptrdiff_t)(t + i) - (CONV_KEPT - 1);
				job->out[1].y[at] = input(job, sequence, token, c);
			}
		}
	}
}

/* What is not written keeps what it had: the poison, which is a NaN. */
static void reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	const struct tcb_shape *s = &problem->shape;
	struct tcb_operand all[TCB_OPERANDS_MAX];
	struct job job = { problem, operand, out };
	operands(problem, all);
	for (size_t o = 0; o < 2; o++)
		for (size_t i = 0; i < all[CONV_Y + o].rows * all[CONV_Y + o].cols; i++) {
			out[o].y[i] = (double)NAN;
			out[o].magnitude[i] = out[o].extra[i] = 0;
		}
	tcb_reference_share(out, s->words.sequences * tcb_div_up(delta_row(s), CHANNELS), refer_channels, &job);
}

/* --- the model of bytes and operations --- */

static double traffic(const struct tcb_problem *problem)
{
	const struct tcb_shape *s = &problem->shape;
	const double row = 4 * (double)delta_row(s);
	double bytes = 4 * (double)s->words.sequences * (double)(1 + delta_slots_row(problem)) + (CONV_TAPS + 1) * row;
	for (size_t b = 0; b < s->words.sequences; b++) {
		const size_t count = delta_count_of(s, b);
		bytes += row * (2 * (double)count + CONV_KEPT * (count > 0 && delta_goes_on(s, b)));
		for (size_t i = 0; i < count; i++)
			bytes += CONV_KEPT * row * (delta_slot_of(problem, i, count) && delta_is_kept(s, b, i));
	}
	return bytes;
}

static double flops(const struct tcb_problem *problem)
{
	const struct tcb_shape *s = &problem->shape;
	double tokens = 0;
	for (size_t b = 0; b < s->words.sequences; b++)
		tokens += (double)delta_count_of(s, b);
	return (2 * CONV_TAPS + 4) * tokens * (double)delta_row(s);
}

/* --- the ops --- */

#define SHAPE(m, sequences_)                                             \
	{                                                                \
		m, 128, 128,                                             \
		{                                                        \
			.query = 32, .kv = 16, .sequences = (sequences_) \
		}                                                        \
	}
static const struct tcb_shape decode_shapes[] = { SHAPE(1, 1), SHAPE(1, 32) };
static const struct tcb_shape prefill_shapes[] = { SHAPE(512, 1) };

#define OP(kind, is_prefill_, tokens, shapes)                                                              \
	static const struct delta_op kind##_member = { TCB_TYPE_F32, 0, is_prefill_ };                     \
	const struct tcb_op tcb_op_short_conv_##kind##_f32 = {                                             \
		.name = "short_conv_" #kind "_f32",                                                        \
		.summary = "the convolution over four tokens before a recurrent layer, " tokens " tokens", \
		.shape_form = "MxNxK,hV/K",                                                                \
		.words = DELTA_WORDS,                                                                      \
		.type = TCB_TYPE_F32,                                                                      \
		.member = &kind##_member,                                                                  \
		.contracts = 1u << TCB_CONTRACT_F32,                                                       \
		.default_contract = TCB_CONTRACT_F32,                                                      \
		.default_shapes = shapes,                                                                  \
		.default_shape_count = sizeof(shapes) / sizeof(shapes[0]),                                 \
		.side = TCB_SIDES(&short_conv_##kind##_f32_cpu, &short_conv_##kind##_f32_gpu),             \
		.check_shape = check_shape,                                                                \
		.operands = operands,                                                                      \
		.fill = fill,                                                                              \
		.reference = reference,                                                                    \
		.flops = flops,                                                                            \
		.traffic = traffic,                                                                        \
	};
OP(decode, 0, "a few", decode_shapes)
OP(prefill, 1, "many", prefill_shapes)
