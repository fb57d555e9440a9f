/* SPDX-License-Identifier: MIT
 *
 * The attention ops: operands, data, the model of bytes and operations, and the
 * tables of what runs them.
 */
#include "kernels/attention/attention.h"

#include <math.h>
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
	       tcb_mul_size(shape->m * shape->words.sequences,
			    (size_t)shape->words.query * tcb_most(shape->k, attention_v(shape)), &rows) ||
	       tcb_mul_size(tcb_kv_tokens(shape), (size_t)shape->words.kv * tcb_most(shape->k, attention_v(shape)),
			    &kv) ||
	       tcb_add_size(rows, kv, &bytes) || tcb_mul_size(bytes, 4 * sizeof(double), &bytes);
}

/* Values that heads of this kind have a multiple of. */
static size_t unit_of(enum tcb_kv_kind kind)
{
	return tcb_kv_kind_format(kind) ? ATTENTION_BLOCK : ATTENTION_HEAD_UNIT;
}

static enum tcb_status check_heads(const struct tcb_op *op, const char *of, enum tcb_kv_kind kind, size_t values,
				   struct tcb_error *err)
{
	const size_t unit = unit_of(kind);
	if (values % unit || values > ATTENTION_HEAD_MAX)
		return tcb_fail(err, TCB_E_USAGE,
				"op %s takes heads of %s of %zu to %d values in steps of %zu, not of %zu", op->name, of,
				unit, ATTENTION_HEAD_MAX, unit, values);
	return TCB_OK;
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
	if (shape->words.prefix && !shape->words.causal)
		return tcb_fail(err, TCB_E_USAGE,
				"a prefix is what a query sees of later tokens: say causal, too, or leave prefix out");
	const struct tcb_kv_row *kv = tcb_kv_row(attention->kv);
	TCB_TRY(check_heads(op, "q and K", kv->k, shape->k, err));
	TCB_TRY(check_heads(op, "V", kv->v, attention_v(shape), err));
	if (shape->words.view && kv->k != kv->v)
		return tcb_fail(err, TCB_E_USAGE,
				"op %s has K and V of two kinds, and with vk V is of K's rows: take an op of one kind",
				op->name);
	if (shape->words.view && attention_v(shape) > shape->k)
		return tcb_fail(err, TCB_E_USAGE,
				"vk: V is the first values of K's heads, of which there are %zu, not %zu", shape->k,
				attention_v(shape));
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

const char *attention_rule_plain(const struct tcb_problem *problem, const struct tcb_target *target,
				 const struct tcb_geometry *geometry)
{
	const struct tcb_shape *s = &problem->shape;
	const struct tcb_words *words = &s->words;
	(void)target, (void)geometry;
	if (s->k % 32 || s->k > 256 || attention_v(s) != s->k)
		return "heads must be of 32 to 256 values in steps of 32, of V as of K";
	if (problem->x_stride || problem->y_stride)
		return "there is no kernel for rows that do not follow each other";
	return words->view || words->sinks || words->alibi || words->prefix
		       ? "there is no kernel with vk, sinks, alibi or prefix"
		       : NULL;
}

/* ROWS x COLS of 4 bytes. */
static struct tcb_operand words_of(const char *name, enum tcb_type type, size_t rows, size_t cols)
{
	return (struct tcb_operand){ name, TCB_ROLE_INPUT, type, rows, cols, 4 * rows * cols, 0 };
}

static size_t operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	const struct tcb_shape *s = &problem->shape;
	const enum tcb_type io = attention_io_type(problem);
	const enum tcb_kv_kind k_kind = attention_k_kind(problem), v_kind = attention_v_kind(problem);
	const size_t rows = s->words.sequences * s->m, heads = s->words.query, sequences = s->words.sequences;
	const size_t q = heads * s->k, results = heads * attention_v(s);
	const size_t tokens = tcb_kv_tokens(s), k = (size_t)s->words.kv * s->k,
		     v = (size_t)s->words.kv * attention_v(s);
	const struct tcb_operand all[ATTENTION_OPERANDS_MAX] = {
		[ATTENTION_Q] = tcb_operand_rows("q", TCB_ROLE_INPUT, io, rows, q, problem->x_stride),
		[ATTENTION_K] = { "k", TCB_ROLE_INPUT, tcb_kv_kind_row(k_kind)->type, tokens, k,
				  tcb_kv_kind_bytes(k_kind, tokens * k), 1, tcb_kv_kind_format(k_kind) },
		[ATTENTION_V] = { "v", TCB_ROLE_INPUT, tcb_kv_kind_row(v_kind)->type, tokens, v,
				  tcb_kv_kind_bytes(v_kind, tokens * v), 1, tcb_kv_kind_format(v_kind) },
		[ATTENTION_LENGTHS] = words_of("lengths", TCB_TYPE_I32, 1, sequences),
		[ATTENTION_OUT] = tcb_operand_rows("out", TCB_ROLE_OUTPUT, io, rows, results, problem->y_stride),
		[ATTENTION_TABLE] = words_of("pages", TCB_TYPE_I32, sequences, tcb_kv_pages(s)),
		[ATTENTION_SINKS] = words_of("sinks", TCB_TYPE_F32, 1, heads),
		[ATTENTION_SLOPES] = words_of("slopes", TCB_TYPE_F32, 1, heads),
		[ATTENTION_PREFIX] = words_of("prefix", TCB_TYPE_I32, 1, sequences),
	};
	for (enum attention_operand i = 0; i < ATTENTION_OPERANDS_MAX; i++)
		if (attention_has(&s->words, i))
			out[attention_at(&s->words, i)] = all[i];
	return attention_at(&s->words, ATTENTION_OPERANDS_MAX);
}

/* --- test data --- */

static void draw(struct tcb_rng *rng, float size, size_t count, float *out)
{
	for (size_t j = 0; j < count; j++)
		out[j] = size * tcb_rng_normal(rng);
}

/* COUNT values of K or V, from OUT on; whole heads. */
static void fill_values(enum tcb_kv_kind kind, struct tcb_rng *rng, size_t count, void *out)
{
	const size_t unit = unit_of(kind);
	float values[ATTENTION_BLOCK];
	for (size_t i = 0; i < count; i += unit) {
		draw(rng, 1, unit, values);
		tcb_kv_kind_from_f32(kind, values, unit, (char *)out + tcb_kv_kind_bytes(kind, i));
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
		const size_t token = i / s->words.query, head = i % s->words.query;
		draw(rng, spread[head % 3], s->k, values);
		tcb_type_from_f32(io, values, s->k,
				  (char *)q + (token * attention_q_apart(problem) + head * s->k) * tcb_type_bytes(io));
	}
}

/* Of a sequence of LENGTH in test data and in measurements. */
static size_t prefix_of(const struct tcb_shape *shape, size_t length)
{
	return shape->words.prefix ? tcb_div_up(length, 3) : 0;
}

/* Sinks as large as scores are; slopes of 2^-1 to 2^-8 over the heads, as ALiBi's are. */
static void fill_more(const struct tcb_shape *shape, struct tcb_rng *rng, const int32_t *lengths, void *const operand[])
{
	float *sinks = attention_data(&shape->words, operand, ATTENTION_SINKS);
	float *slopes = attention_data(&shape->words, operand, ATTENTION_SLOPES);
	int32_t *prefix = attention_data(&shape->words, operand, ATTENTION_PREFIX);
	const double heads = shape->words.query;
	if (sinks)
		draw(rng, 2, shape->words.query, sinks);
	for (size_t h = 0; slopes && h < shape->words.query; h++)
		slopes[h] = (float)exp2(-8 * (double)(h + 1) / heads);
	for (size_t b = 0; prefix && b < shape->words.sequences; b++)
		prefix[b] = (int32_t)prefix_of(shape, lengths ? (size_t)lengths[b] : tcb_kv_length(shape, b));
}

/* What no sequence reads is NaN (in blocks, their scale).  Of NULL operands whole numbers are the others'. */
static void fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	const struct tcb_shape *s = &problem->shape;
	const enum tcb_kv_kind k_kind = attention_k_kind(problem), v_kind = attention_v_kind(problem);
	const struct tcb_words *words = &s->words;
	const size_t k_row = (size_t)words->kv * s->k, v_row = (size_t)words->kv * attention_v(s);
	const size_t k_bytes = tcb_kv_kind_bytes(k_kind, k_row), v_bytes = tcb_kv_kind_bytes(v_kind, v_row);
	int32_t *lengths = attention_data(words, operand, ATTENTION_LENGTHS);
	int32_t *table = attention_data(words, operand, ATTENTION_TABLE);
	char *k = operand[ATTENTION_K], *v = attention_data(words, operand, ATTENTION_V);
	struct tcb_rng rng;
	tcb_rng_init(&rng, seed);
	if (operand[ATTENTION_Q])
		fill_q(problem, &rng, operand[ATTENTION_Q]);
	tcb_kv_fill(s, &rng, lengths, table);
	fill_more(s, &rng, lengths, operand);
	if (!k)
		return;
	memset(k, 0xff, tcb_kv_tokens(s) * k_bytes);
	if (v)
		memset(v, 0xff, tcb_kv_tokens(s) * v_bytes);
	for (size_t b = 0; b < words->sequences; b++)
		for (size_t t = 0; t < (size_t)lengths[b]; t++) {
			const size_t at = tcb_kv_token(s, table, b, t);
			fill_values(k_kind, &rng, k_row, k + at * k_bytes);
			if (v)
				fill_values(v_kind, &rng, v_row, v + at * v_bytes);
		}
}

/* --- the model of bytes and operations --- */

/* KV tokens that any query of a sequence of LENGTH sees. */
static double tokens_read(const struct tcb_shape *shape, size_t length)
{
	const size_t prefix = prefix_of(shape, length);
	size_t from, to, end, unused;
	attention_visible(shape, length, prefix, 0, &from, &unused);
	attention_visible(shape, length, prefix, shape->m - 1, &unused, &end);
	to = tcb_most(from, end);
	return (double)(to - from);
}

static double traffic(const struct tcb_problem *problem)
{
	const struct tcb_shape *s = &problem->shape;
	struct tcb_operand all[TCB_OPERANDS_MAX];
	const size_t count = operands(problem, all), heads = s->words.kv;
	const size_t of_v = s->words.view ? 0 : tcb_kv_kind_bytes(attention_v_kind(problem), heads * attention_v(s));
	const double row = (double)(tcb_kv_kind_bytes(attention_k_kind(problem), heads * s->k) + of_v);
	double bytes = 0;
	for (size_t b = 0; b < s->words.sequences; b++)
		bytes += row * tokens_read(s, tcb_kv_length(s, b));
	for (size_t i = 0; i < count; i++)
		bytes += all[i].streams ? 0 : (double)all[i].bytes;
	return bytes;
}

static double flops(const struct tcb_problem *problem)
{
	const struct tcb_shape *s = &problem->shape;
	double pairs = 0;
	for (size_t b = 0; b < s->words.sequences; b++) {
		const size_t length = tcb_kv_length(s, b), prefix = prefix_of(s, length);
		for (size_t i = 0; i < s->m; i++) {
			size_t from, to;
			attention_visible(s, length, prefix, i, &from, &to);
			pairs += (double)(to - from);
		}
	}
	return 2.0 * (double)(s->k + attention_v(s)) * (double)s->words.query * pairs;
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
#define ATTENTION_WORDS                                                                                   \
	(TCB_KV_WORDS | UINT64_C(1) << TCB_WORD_WINDOW | UINT64_C(1) << TCB_WORD_CAP |                    \
	 UINT64_C(1) << TCB_WORD_CAUSAL | UINT64_C(1) << TCB_WORD_VALUES | UINT64_C(1) << TCB_WORD_VIEW | \
	 UINT64_C(1) << TCB_WORD_SINKS | UINT64_C(1) << TCB_WORD_ALIBI | UINT64_C(1) << TCB_WORD_PREFIX | \
	 UINT64_C(1) << TCB_WORD_BITS)
#define ATTENTION_OP(kv_, ID, k_, v_, io_, text, kind, KIND, SIDES, summary_, ...)       \
	static const struct attention_op kind##_##kv_ = KIND(TCB_KV_##ID);               \
	const struct tcb_op tcb_op_attention_##kind##_##kv_ = {                          \
		.name = "attention_" #kind "_" #kv_,                                     \
		.summary = summary_ text,                                                \
		.shape_form = "MxNxK,hQ/KV",                                             \
		.words = ATTENTION_WORDS,                                                \
		.type = io_,                                                             \
		.member = &kind##_##kv_,                                                 \
		.contracts = 1u << TCB_CONTRACT_F32 | 1u << TCB_CONTRACT_F16,            \
		.default_contract = TCB_CONTRACT_F16,                                    \
		.default_shapes = kind##_shapes,                                         \
		.default_shape_count = sizeof(kind##_shapes) / sizeof(kind##_shapes[0]), \
		.side = SIDES(attention_##kind##_##kv_),                                 \
		.check_shape = check_shape,                                              \
		.operands = operands,                                                    \
		.fill = fill,                                                            \
		.reference = attention_reference,                                        \
		.drawn_columns = attention_drawn_columns,                                \
		.reference_flop_ns = 1,                                                  \
		.stride_unit = ATTENTION_HEAD_UNIT,                                      \
		.flops = flops,                                                          \
		.traffic = traffic,                                                      \
	};
#define DECODE_TEXT "attention of one or a few query tokens against "
#define PREFILL_TEXT "attention of many query tokens against "
#define ON_ALL(of) TCB_SIDES(&of##_cpu, &of##_gpu, &of##_wgsl)
#define NOT_WGSL(of) TCB_SIDES(&of##_cpu, &of##_gpu)
TCB_KV_ALL_LIST(ATTENTION_OP, decode, DECODE, ON_ALL, DECODE_TEXT, )
TCB_KV_CPU_LIST(ATTENTION_OP, decode, DECODE, NOT_WGSL, DECODE_TEXT, )
TCB_KV_ALL_LIST(ATTENTION_OP, prefill, PREFILL, ON_ALL, PREFILL_TEXT, )
TCB_KV_CPU_LIST(ATTENTION_OP, prefill, PREFILL, NOT_WGSL, PREFILL_TEXT, )
