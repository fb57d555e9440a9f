/* SPDX-License-Identifier: MIT
 *
 * The ops delta_decode_*, delta_prefill_*, ssd_decode_* and ssd_prefill_*: operands, data, the model of bytes and
 * operations, and the tables of what runs them.
 */
#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "base/util.h"
#include "kernels/delta/delta.h"
#include "kernels/delta/delta_cpu.h"
#include "kernels/delta/delta_gpu.h"
#include "kernels/kv_cache.h"

static enum tcb_status check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	const int is_prefill = ((const struct delta_op *)op->member)->is_prefill;
	const size_t heads = shape->words.query;
	size_t tokens, size;
	if (!shape->m || !shape->n || !shape->k || !heads)
		return tcb_fail(err, TCB_E_USAGE,
				"op %s takes new tokens x values of a head x keys of a head, then heads of values / of "
				"keys and where wanted other words, for example 1x128x128,h32/16 (tcbtune help shapes)",
				op->name);
	if (shape->k % DELTA_KEY_UNIT || shape->k > DELTA_KEY_MAX)
		return tcb_fail(err, TCB_E_USAGE, "op %s takes heads of 16 to 256 keys in steps of 16, not of %zu",
				op->name, shape->k);
	if (!is_prefill && shape->m > DELTA_DECODE_TOKENS_MAX)
		return tcb_fail(err, TCB_E_USAGE, "op %s takes up to %d new tokens of a sequence, not %zu", op->name,
				DELTA_DECODE_TOKENS_MAX, shape->m);
	if (shape->m > INT32_MAX || shape->n > INT32_MAX / DELTA_KEY_MAX / heads ||
	    tcb_mul_size(shape->words.sequences, shape->m, &tokens) || tcb_mul_size(tokens, delta_row(shape), &size) ||
	    size > INT32_MAX || tcb_mul_size(is_prefill ? shape->words.sequences : tokens, delta_state(shape), &size) ||
	    size > SIZE_MAX / 16)
		return tcb_fail(err, TCB_E_OVERFLOW, "new tokens of more than 2^31 values, of %zux%zux%zu", shape->m,
				shape->n, shape->k);
	return TCB_OK;
}

static size_t operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	const struct tcb_shape *s = &problem->shape;
	const enum tcb_type type = delta_of(problem)->state;
	const size_t sequences = s->words.sequences, rows = sequences * s->m, heads = s->words.query;
	const size_t row = delta_row(s), slots = delta_slots_row(problem), state = delta_state(s);
	const size_t element = tcb_type_bytes(type), kept = sequences * delta_kept(problem);
	const int is_partly = s->words.ragged != 0;
	out[DELTA_QKV] =
		(struct tcb_operand){ "qkv", TCB_ROLE_INPUT, TCB_TYPE_F32, rows, row, rows * row * sizeof(float), 1 };
	out[DELTA_G] =
		(struct tcb_operand){ "g", TCB_ROLE_INPUT, TCB_TYPE_F32, rows, heads, rows * heads * sizeof(float), 0 };
	out[DELTA_BETA] = out[DELTA_G];
	out[DELTA_BETA].name = "beta";
	out[DELTA_KEY_HEADS] =
		(struct tcb_operand){ "key_heads", TCB_ROLE_INPUT, TCB_TYPE_I32, 1, heads, 4 * heads, 0 };
	out[DELTA_COUNTS] =
		(struct tcb_operand){ "counts", TCB_ROLE_INPUT, TCB_TYPE_I32, 1, sequences, 4 * sequences, 0 };
	out[DELTA_SLOTS] = (struct tcb_operand){ "slots",   TCB_ROLE_INPUT, TCB_TYPE_I32,
						 sequences, slots,          4 * sequences * slots,
						 0 };
	out[DELTA_STATES] = (struct tcb_operand){ "states",  TCB_ROLE_INPUT, type,
						  sequences, state,          sequences * state * element,
						  1 };
	out[DELTA_Y] = (struct tcb_operand){ .name = "y",
					     .role = TCB_ROLE_OUTPUT,
					     .type = TCB_TYPE_F32,
					     .rows = rows,
					     .cols = heads * s->n,
					     .bytes = rows * heads * s->n * sizeof(float),
					     .streams = 1,
					     .is_partly_written = is_partly };
	out[DELTA_STATES_OUT] = (struct tcb_operand){ .name = "states_out",
						      .role = TCB_ROLE_OUTPUT,
						      .type = type,
						      .rows = kept,
						      .cols = state,
						      .bytes = kept * state * element,
						      .streams = 1,
						      .is_partly_written = is_partly };
	if (delta_of(problem)->has_correction)
		return DELTA_SKIP;
	out[DELTA_SKIP] =
		(struct tcb_operand){ "skip", TCB_ROLE_INPUT, TCB_TYPE_F32, 1, heads, heads * sizeof(float), 0 };
	return DELTA_SKIP + 1;
}

/* --- test data --- */

size_t delta_count_of(const struct tcb_shape *shape, size_t sequence)
{
	struct tcb_shape tokens = *shape;
	tokens.n = shape->m;
	return tcb_kv_length(&tokens, sequence);
}

/* With ragged the first of several sequences begins, and every second one keeps its last state alone. */
int delta_goes_on(const struct tcb_shape *shape, size_t sequence)
{
	return !shape->words.ragged || shape->words.sequences == 1 || sequence > 0;
}
int delta_is_kept(const struct tcb_shape *shape, size_t sequence, size_t token)
{
	return !shape->words.ragged || sequence % 2 == 0 || token + 1 == delta_count_of(shape, sequence);
}

/* 0 to COUNT - 1 in a random order, IN_ROW of them a row of STRIDE. */
static void shuffle(struct tcb_rng *rng, size_t count, size_t in_row, size_t stride, int32_t *slots)
{
	for (size_t i = 0; i < count; i++)
		slots[i / in_row * stride + i % in_row] = (int32_t)i;
	for (size_t i = count; i > 1; i--) {
		const size_t j = tcb_rng_below(rng, i);
		int32_t *last = &slots[(i - 1) / in_row * stride + (i - 1) % in_row];
		int32_t *drawn = &slots[j / in_row * stride + j % in_row], other = *drawn;
		*drawn = *last;
		*last = other;
	}
}

void delta_fill_slots(const struct tcb_problem *problem, struct tcb_rng *rng, int32_t *slots)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t sequences = s->words.sequences, row = delta_slots_row(problem);
	shuffle(rng, sequences, 1, row, slots);
	shuffle(rng, sequences * (row - 1), row - 1, row, slots + 1);
	for (size_t b = 0; b < sequences; b++) {
		if (!delta_goes_on(s, b))
			slots[b * row] = -1;
		for (size_t i = 0; i < s->m && !delta_of(problem)->is_prefill; i++)
			if (!delta_is_kept(s, b, i))
				slots[b * row + 1 + i] = -1;
	}
}

static void fill_states(const struct tcb_problem *problem, struct tcb_rng *rng, char *states)
{
	const enum tcb_type type = delta_of(problem)->state;
	const size_t count = problem->shape.words.sequences * delta_state(&problem->shape);
	for (size_t i = 0; i < count; i += DELTA_KEY_UNIT) {
		float values[DELTA_KEY_UNIT];
		for (size_t j = 0; j < DELTA_KEY_UNIT; j++)
			values[j] = 0.25f * tcb_rng_normal(rng);
		tcb_type_from_f32(type, values, DELTA_KEY_UNIT, states + i * tcb_type_bytes(type));
	}
}

/* Of NULL operands those of whole numbers are the others'.  Decays and beta are below 1, as models have them. */
static void fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	const struct tcb_shape *s = &problem->shape;
	const size_t sequences = s->words.sequences, rows = sequences * s->m, heads = s->words.query;
	float *qkv = operand[DELTA_QKV], *g = operand[DELTA_G], *beta = operand[DELTA_BETA];
	int32_t *counts = operand[DELTA_COUNTS], *key_heads = operand[DELTA_KEY_HEADS];
	float *skip = delta_of(problem)->has_correction ? NULL : operand[DELTA_SKIP];
	struct tcb_rng rng;
	tcb_rng_init(&rng, seed);
	for (size_t b = 0; b < sequences; b++)
		counts[b] = (int32_t)delta_count_of(s, b);
	for (size_t h = 0; h < heads; h++)
		key_heads[h] = (int32_t)(h / (heads / s->words.kv));
	delta_fill_slots(problem, &rng, operand[DELTA_SLOTS]);
	for (size_t i = 0; qkv && i < rows * delta_row(s); i++)
		qkv[i] = tcb_rng_normal(&rng);
	for (size_t i = 0; g && i < rows * heads; i++) {
		g[i] = -expf(tcb_rng_normal(&rng) - 1.5f);
		beta[i] = 1 / (1 + expf(-tcb_rng_normal(&rng)));
	}
	for (size_t i = 0; skip && i < heads; i++)
		skip[i] = tcb_rng_normal(&rng);
	if (operand[DELTA_STATES])
		fill_states(problem, &rng, operand[DELTA_STATES]);
}

/* --- the model of bytes and operations --- */

static double traffic(const struct tcb_problem *problem)
{
	const struct tcb_shape *s = &problem->shape;
	const double heads = s->words.query;
	const double state = (double)(delta_state(s) * tcb_type_bytes(delta_of(problem)->state));
	const double token = 4 * ((double)delta_row(s) + heads * (double)s->n + 2 * heads);
	double bytes = 4 * ((double)s->words.sequences * (double)(1 + delta_slots_row(problem)) + heads);
	if (!delta_of(problem)->has_correction)
		bytes += 4 * heads;
	for (size_t b = 0; b < s->words.sequences; b++) {
		const size_t count = delta_count_of(s, b);
		bytes += (double)count * token + state * (count > 0 && delta_goes_on(s, b));
		for (size_t i = 0; i < count; i++)
			bytes += state * (delta_slot_of(problem, i, count) && delta_is_kept(s, b, i));
	}
	return bytes;
}

/* Of a token: a product of the state with the query and one with the key, the decay, and what is added. */
static double flops(const struct tcb_problem *problem)
{
	const struct tcb_shape *s = &problem->shape;
	const double each = delta_of(problem)->has_correction ? 7 : 5;
	double tokens = 0;
	for (size_t b = 0; b < s->words.sequences; b++)
		tokens += (double)delta_count_of(s, b);
	return each * tokens * (double)delta_state(s);
}

/* --- the ops --- */

#define HEADS(query_, kv_, sequences_)                                    \
	{                                                                 \
		.query = (query_), .kv = (kv_), .sequences = (sequences_) \
	}
static const struct tcb_shape delta_shapes[] = {
	{ 1, 128, 128, HEADS(32, 16, 1) },
	{ 1, 128, 128, HEADS(32, 16, 32) },
	{ 4, 128, 128, HEADS(32, 16, 8) },
};
static const struct tcb_shape ssd_shapes[] = {
	{ 1, 64, 128, HEADS(80, 1, 1) },
	{ 1, 64, 128, HEADS(80, 1, 32) },
};

static const struct tcb_shape delta_prompts[] = {
	{ 512, 128, 128, HEADS(32, 16, 1) },
	{ 2048, 128, 128, HEADS(32, 16, 1) },
};
static const struct tcb_shape ssd_prompts[] = { { 512, 64, 128, HEADS(80, 1, 1) } };

#define OP(state_, type_, text, rule, has_correction_, summary_, kind, is_prefill_, tokens, shapes)      \
	static const struct delta_op rule##_##kind##_##state_ = { type_, has_correction_, is_prefill_ }; \
	const struct tcb_op tcb_op_##rule##_##kind##_##state_ = {                                        \
		.name = #rule "_" #kind "_" #state_,                                                     \
		.summary = summary_ ", " tokens " tokens, " text,                                        \
		.shape_form = "MxNxK,hV/K",                                                              \
		.words = DELTA_WORDS,                                                                    \
		.type = TCB_TYPE_F32,                                                                    \
		.member = &rule##_##kind##_##state_,                                                     \
		.contracts = 1u << TCB_CONTRACT_F32,                                                     \
		.default_contract = TCB_CONTRACT_F32,                                                    \
		.default_shapes = shapes,                                                                \
		.default_shape_count = sizeof(shapes) / sizeof(shapes[0]),                               \
		.side = TCB_SIDES(&rule##_##kind##_##state_##_cpu, &rule##_##kind##_##state_##_gpu),     \
		.check_shape = check_shape,                                                              \
		.operands = operands,                                                                    \
		.fill = fill,                                                                            \
		.reference = delta_reference,                                                            \
		.flops = flops,                                                                          \
		.traffic = traffic,                                                                      \
	};
#define OPS(state, ID, type, text, rule, has_correction, summary)                               \
	OP(state, type, text, rule, has_correction, summary, decode, 0, "a few", rule##_shapes) \
	OP(state, type, text, rule, has_correction, summary, prefill, 1, "many", rule##_prompts)

DELTA_STATE_LIST(OPS, delta, 1, "the gated delta rule")
DELTA_STATE_LIST(OPS, ssd, 0, "Mamba-2's recurrence")
