/* SPDX-License-Identifier: MIT
 *
 * The attention ops: operands, data, the model of bytes and operations, and the
 * tables of what runs them.
 */
#include "kernels/attention/attention.h"

#include <string.h>

#include "base/sizes.h"
#include "base/util.h"
#include "kernels/attention/attention_cpu.h"
#include "kernels/attention/attention_gpu.h"
#include "kernels/attention/attention_prefill_gpu.h"
#include "kernels/attention/attention_wgsl.h"

static int overflows(const struct tcb_shape *shape)
{
	size_t rows, kv, bytes;
	return shape->m > INT32_MAX || shape->n > INT32_MAX ||
	       tcb_mul_size(shape->m * shape->words.sequences, (size_t)shape->words.query * shape->k, &rows) ||
	       tcb_mul_size(tcb_kv_tokens(shape), (size_t)shape->words.kv * shape->k, &kv) ||
	       tcb_add_size(rows, kv, &bytes) || tcb_mul_size(bytes, 4 * sizeof(double), &bytes);
}

static enum tcb_status check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	const struct attention_op *attention = op->member;
	if (!shape->m || !shape->n || !shape->k || !shape->words.query)
		return tcb_fail(err, TCB_E_USAGE,
				"op %s takes query tokens x KV tokens x head size, then query / KV heads and where "
				"wanted other words, for example %s (tcbtune help shapes)",
				op->name, attention->example);
	if (shape->words.window && !shape->words.causal)
		return tcb_fail(err, TCB_E_USAGE, "op %s has windows that end at a query's own token: w%u is causal",
				op->name, shape->words.window);
	if (shape->k % ATTENTION_HEAD_UNIT || shape->k > ATTENTION_HEAD_MAX)
		return tcb_fail(err, TCB_E_USAGE, "op %s takes heads of 32 to 256 values in steps of 32, not of %zu",
				op->name, shape->k);
	if (attention->tokens_max && shape->m > attention->tokens_max)
		return tcb_fail(err, TCB_E_USAGE,
				"op %s takes at most %zu query tokens of a sequence, not %zu; attention_prefill takes "
				"more",
				op->name, attention->tokens_max, shape->m);
	if (overflows(shape))
		return tcb_fail(err, TCB_E_OVERFLOW, "an attention of %zux%zux%zu does not fit in memory", shape->m,
				shape->n, shape->k);
	return TCB_OK;
}

static size_t operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	const struct tcb_shape *s = &problem->shape;
	const enum tcb_type io = attention_io_type(problem);
	const enum tcb_kv kv = attention_of(problem)->kv;
	const enum tcb_type type = tcb_kv_row(kv)->type;
	const size_t rows = s->words.sequences * s->m, q = (size_t)s->words.query * s->k;
	const size_t tokens = tcb_kv_tokens(s), row = (size_t)s->words.kv * s->k;
	const size_t io_bytes = rows * q * tcb_type_bytes(io), kv_bytes = tcb_kv_bytes(kv, tokens * row);
	const size_t pages = tcb_kv_pages(s);
	out[ATTENTION_Q] = (struct tcb_operand){ "q", TCB_ROLE_INPUT, io, rows, q, io_bytes, 0 };
	out[ATTENTION_K] =
		(struct tcb_operand){ "k", TCB_ROLE_INPUT, type, tokens, row, kv_bytes, 1, tcb_kv_format(kv) };
	out[ATTENTION_V] =
		(struct tcb_operand){ "v", TCB_ROLE_INPUT, type, tokens, row, kv_bytes, 1, tcb_kv_format(kv) };
	out[ATTENTION_LENGTHS] = (struct tcb_operand){ "lengths", TCB_ROLE_INPUT,     TCB_TYPE_I32,
						       1,         s->words.sequences, 4 * (size_t)s->words.sequences,
						       0 };
	out[ATTENTION_OUT] = (struct tcb_operand){ "out", TCB_ROLE_OUTPUT, io, rows, q, io_bytes, 0 };
	if (!pages)
		return ATTENTION_TABLE;
	out[ATTENTION_TABLE] = (struct tcb_operand){
		"pages", TCB_ROLE_INPUT, TCB_TYPE_I32, s->words.sequences, pages, 4 * s->words.sequences * pages, 0
	};
	return ATTENTION_TABLE + 1;
}

/* --- test data --- */

static void draw(struct tcb_rng *rng, float size, size_t count, float *out)
{
	for (size_t j = 0; j < count; j++)
		out[j] = size * tcb_rng_normal(rng);
}

/* COUNT values of K or V, from OUT on; whole units of a head. */
static void fill_values(enum tcb_kv kv, struct tcb_rng *rng, size_t count, void *out)
{
	float values[ATTENTION_HEAD_UNIT];
	for (size_t i = 0; i < count; i += ATTENTION_HEAD_UNIT) {
		draw(rng, 1, ATTENTION_HEAD_UNIT, values);
		tcb_kv_from_f32(kv, values, ATTENTION_HEAD_UNIT, (char *)out + tcb_kv_bytes(kv, i));
	}
}

/* Heads of three kinds in turn, by how far scores are apart. */
static void fill_q(const struct tcb_problem *problem, struct tcb_rng *rng, void *q)
{
	static const float spread[3] = { 1, 0.25f, 5 };
	const struct tcb_shape *s = &problem->shape;
	const enum tcb_type io = attention_io_type(problem);
	float values[ATTENTION_HEAD_MAX];
	for (size_t i = 0; i < s->words.sequences * s->m * s->words.query; i++) {
		draw(rng, spread[i % s->words.query % 3], s->k, values);
		tcb_type_from_f32(io, values, s->k, (char *)q + i * s->k * tcb_type_bytes(io));
	}
}

/* What no sequence reads is NaN (in blocks, their scale).  Of NULL operands lengths and pages are the others'. */
static void fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	const struct tcb_shape *s = &problem->shape;
	const enum tcb_kv kv = attention_of(problem)->kv;
	const size_t row = (size_t)s->words.kv * s->k, row_bytes = tcb_kv_bytes(kv, row);
	int32_t *lengths = operand[ATTENTION_LENGTHS];
	struct tcb_rng rng;
	tcb_rng_init(&rng, seed);
	if (operand[ATTENTION_Q])
		fill_q(problem, &rng, operand[ATTENTION_Q]);
	tcb_kv_fill(s, &rng, lengths, s->words.page ? operand[ATTENTION_TABLE] : NULL);
	if (!operand[ATTENTION_K])
		return;
	memset(operand[ATTENTION_K], 0xff, tcb_kv_tokens(s) * row_bytes);
	memset(operand[ATTENTION_V], 0xff, tcb_kv_tokens(s) * row_bytes);
	for (size_t b = 0; b < s->words.sequences; b++)
		for (size_t t = 0; t < (size_t)lengths[b]; t++) {
			const int32_t *table = s->words.page ? operand[ATTENTION_TABLE] : NULL;
			const size_t at = tcb_kv_token(s, table, b, t) * row_bytes;
			fill_values(kv, &rng, row, (char *)operand[ATTENTION_K] + at);
			fill_values(kv, &rng, row, (char *)operand[ATTENTION_V] + at);
		}
}

/* --- the model of bytes and operations --- */

/* KV tokens that any query of a sequence of LENGTH sees. */
static double tokens_read(const struct tcb_shape *shape, size_t length)
{
	size_t from, to, end, unused;
	attention_visible(shape, length, 0, &from, &unused);
	attention_visible(shape, length, shape->m - 1, &unused, &end);
	to = tcb_most(from, end);
	return (double)(to - from);
}

static double traffic(const struct tcb_problem *problem)
{
	const struct tcb_shape *s = &problem->shape;
	struct tcb_operand all[TCB_OPERANDS_MAX];
	const size_t count = operands(problem, all);
	const double row = (double)tcb_kv_bytes(attention_of(problem)->kv, (size_t)s->words.kv * s->k);
	double bytes = 0;
	for (size_t b = 0; b < s->words.sequences; b++)
		bytes += 2 * row * tokens_read(s, tcb_kv_length(s, b));
	for (size_t i = 0; i < count; i++)
		bytes += i == ATTENTION_K || i == ATTENTION_V ? 0 : (double)all[i].bytes;
	return bytes;
}

static double flops(const struct tcb_problem *problem)
{
	const struct tcb_shape *s = &problem->shape;
	double pairs = 0;
	for (size_t b = 0; b < s->words.sequences; b++)
		for (size_t i = 0; i < s->m; i++) {
			size_t from, to;
			attention_visible(s, tcb_kv_length(s, b), i, &from, &to);
			pairs += (double)(to - from);
		}
	return 4.0 * (double)s->k * (double)s->words.query * pairs;
}

/* --- the ops --- */

#define WORDS(query_, kv_, causal_)                                                 \
	{                                                                           \
		.query = (query_), .kv = (kv_), .sequences = 1, .causal = (causal_) \
	}
static const struct tcb_shape decode_shapes[] = {
	{ 1, 4096, 128, WORDS(32, 8, 0) },
	{ 1, 16384, 128, WORDS(32, 8, 0) },
};
static const struct tcb_shape prefill_shapes[] = {
	{ 512, 512, 128, WORDS(32, 8, 1) },
	{ 2048, 2048, 128, WORDS(32, 8, 1) },
};

#define DECODE(kv_)                                                                          \
	{                                                                                    \
		.kv = kv_, .multiplies_codes = 1, .tokens_max = ATTENTION_DECODE_TOKENS_MAX, \
		.example = "1x4096x128,h32/8"                                                \
	}
#define PREFILL(kv_)                                               \
	{                                                          \
		.kv = kv_, .example = "2048x2048x128,h32/8,causal" \
	}
#define ATTENTION_OP(kv_, ID, type_, io_, format_, text, kind, KIND, summary_, ...)                         \
	static const struct attention_op kind##_##kv_ = KIND(TCB_KV_##ID);                                  \
	const struct tcb_op tcb_op_attention_##kind##_##kv_ = {                                             \
		.name = "attention_" #kind "_" #kv_,                                                        \
		.summary = summary_ text,                                                                   \
		.shape_form = "MxNxK,hQ/KV",                                                                \
		.words = TCB_KV_WORDS | 1u << TCB_WORD_WINDOW | 1u << TCB_WORD_CAP | 1u << TCB_WORD_CAUSAL, \
		.type = io_,                                                                                \
		.member = &kind##_##kv_,                                                                    \
		.contracts = 1u << TCB_CONTRACT_F32 | 1u << TCB_CONTRACT_F16,                               \
		.default_contract = TCB_CONTRACT_F16,                                                       \
		.default_shapes = kind##_shapes,                                                            \
		.default_shape_count = sizeof(kind##_shapes) / sizeof(kind##_shapes[0]),                    \
		.side = TCB_SIDES(&attention_##kind##_##kv_##_cpu, &attention_##kind##_##kv_##_gpu,         \
				  &attention_##kind##_##kv_##_wgsl),                                        \
		.check_shape = check_shape,                                                                 \
		.operands = operands,                                                                       \
		.fill = fill,                                                                               \
		.reference = attention_reference,                                                           \
		.drawn_columns = attention_drawn_columns,                                                   \
		.reference_flop_ns = 1,                                                                     \
		.flops = flops,                                                                             \
		.traffic = traffic,                                                                         \
	};
#define DECODE_TEXT "attention of one or a few query tokens against "
#define PREFILL_TEXT "attention of many query tokens against "
TCB_KV_LIST(ATTENTION_OP, decode, DECODE, DECODE_TEXT, )
TCB_KV_LIST(ATTENTION_OP, prefill, PREFILL, PREFILL_TEXT, )
