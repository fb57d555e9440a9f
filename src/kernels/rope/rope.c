/* SPDX-License-Identifier: MIT
 *
 * The ops rope_append_*: operands, data, reference, the model of bytes and operations,
 * and the tables of what runs them.
 */
#include "kernels/rope/rope.h"

#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "base/util.h"
#include "kernels/rope/rope_cpu.h"
#include "kernels/rope/rope_gpu.h"
#include "kernels/simd/isas.h"

static enum tcb_status check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	size_t bytes;
	if (!shape->m || !shape->n || !shape->k || !shape->heads.query)
		return tcb_fail(
			err, TCB_E_USAGE,
			"op %s takes new tokens x tokens of the cache x head size, then query / KV heads and "
			"where wanted b, p, ragged and pairs, for example 1x4096x128,h32/8 (tcbtune help shapes)",
			op->name);
	if (shape->heads.window || shape->heads.cap || shape->heads.causal)
		return tcb_fail(err, TCB_E_USAGE, "op %s takes no window, cap or mask: these are attention's",
				op->name);
	if (shape->k % ROPE_HEAD_UNIT || shape->k > ROPE_HEAD_MAX)
		return tcb_fail(err, TCB_E_USAGE, "op %s takes heads of 32 to 256 values in steps of 32, not of %zu",
				op->name, shape->k);
	if (shape->m > INT32_MAX || shape->n > INT32_MAX ||
	    tcb_mul_size(rope_tokens(shape), rope_row_heads(shape), &bytes) || bytes > INT32_MAX ||
	    tcb_mul_size(tcb_kv_tokens(shape), (size_t)2 * shape->heads.kv, &bytes) || bytes > INT32_MAX)
		return tcb_fail(err, TCB_E_OVERFLOW, "new tokens or a KV cache of more than 2^31 heads, of %zux%zux%zu",
				shape->m, shape->n, shape->k);
	return TCB_OK;
}

static size_t operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	const struct tcb_shape *s = &problem->shape;
	const enum tcb_type io = rope_io_type(problem), kv = rope_kv_type(problem);
	const size_t rows = rope_tokens(s), row = rope_row_heads(s) * s->k, pages = tcb_kv_pages(s);
	const size_t heads = rope_v_head(s, tcb_kv_tokens(s)), sequences = s->heads.sequences;
	out[ROPE_QKV] =
		(struct tcb_operand){ "qkv", TCB_ROLE_INPUT, io, rows, row, rows * row * tcb_type_bytes(io), 1 };
	out[ROPE_ROTATION] =
		(struct tcb_operand){ "rotation", TCB_ROLE_INPUT, TCB_TYPE_F32, s->n, s->k, s->n * s->k * sizeof(float),
				      0 };
	out[ROPE_LENGTHS] =
		(struct tcb_operand){ "lengths", TCB_ROLE_INPUT, TCB_TYPE_I32, 1, sequences, 4 * sequences, 0 };
	out[ROPE_OUT] =
		(struct tcb_operand){ "out", TCB_ROLE_OUTPUT, kv, heads, s->k, heads * s->k * tcb_type_bytes(kv), 1 };
	if (!pages)
		return ROPE_TABLE;
	out[ROPE_TABLE] = (struct tcb_operand){ "pages",   TCB_ROLE_INPUT, TCB_TYPE_I32,
						sequences, pages,          4 * sequences * pages,
						0 };
	return ROPE_TABLE + 1;
}

/* --- test data --- */

/* The position of new token I of a sequence of LENGTH; negative: there is none. */
static ptrdiff_t position(const struct tcb_shape *shape, size_t length, size_t i)
{
	return (ptrdiff_t)length - (ptrdiff_t)shape->m + (ptrdiff_t)i;
}

/* Angles of base 10000 (Su et al. 2021), in double. */
static void fill_rotation(const struct tcb_shape *shape, float *rotation)
{
	const size_t half = shape->k / 2;
	double step[ROPE_HEAD_MAX / 2];
	for (size_t j = 0; j < half; j++)
		step[j] = pow(10000, -2 * (double)j / (double)shape->k);
	for (size_t p = 0; p < shape->n; p++)
		for (size_t j = 0; j < half; j++) {
			rotation[p * shape->k + j] = (float)cos((double)p * step[j]);
			rotation[p * shape->k + half + j] = (float)sin((double)p * step[j]);
		}
}

/* Of NULL operands lengths and pages are the others'. */
static void fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	const struct tcb_shape *s = &problem->shape;
	const enum tcb_type io = rope_io_type(problem);
	int32_t *lengths = operand[ROPE_LENGTHS];
	char *qkv = operand[ROPE_QKV];
	struct tcb_rng rng;
	tcb_rng_init(&rng, seed);
	for (size_t head = 0; qkv && head < rope_tokens(s) * rope_row_heads(s); head++) {
		float values[ROPE_HEAD_MAX];
		for (size_t j = 0; j < s->k; j++)
			values[j] = tcb_rng_normal(&rng);
		tcb_type_from_f32(io, values, s->k, qkv + head * s->k * tcb_type_bytes(io));
	}
	if (operand[ROPE_ROTATION])
		fill_rotation(s, operand[ROPE_ROTATION]);
	tcb_kv_fill(s, &rng, lengths, s->heads.page ? operand[ROPE_TABLE] : NULL);
}

/* --- reference --- */

struct job {
	const struct tcb_problem *problem;
	void *const *operand;
	struct tcb_reference *out;
};

/*
 * One result: its products' sum in double.  A kernel's two products and their sum, each rounded in f32, are its chain;
 * the extra is the rounding to the cache's type, of what that has become.
 */
static void set_result(const struct job *job, size_t at, double y, double magnitude, int is_exact)
{
	static const double unit[TCB_TYPE_COUNT] = { [TCB_TYPE_F16] = 0x1p-11, [TCB_TYPE_BF16] = 0x1p-8 };
	static const double tiny[TCB_TYPE_COUNT] = { [TCB_TYPE_F16] = 0x1p-25, [TCB_TYPE_BF16] = 0x1p-134 };
	const enum tcb_type kv = rope_kv_type(job->problem);
	job->out->y[at] = y;
	job->out->magnitude[at] = magnitude;
	job->out->extra[at] = is_exact ? 0 : unit[kv] * (fabs(y) + 0x1p-21 * magnitude) + tiny[kv];
}

/* HEADS heads of X to the output's, from head FIRST on; rotated by ROTATION, if there is one. */
static void refer_heads(const struct job *job, const char *x, size_t heads, const float *rotation, size_t first)
{
	const struct tcb_problem *problem = job->problem;
	const enum tcb_type io = rope_io_type(problem);
	const size_t k = problem->shape.k, half = k / 2;
	for (size_t h = 0; h < heads; h++) {
		float values[ROPE_HEAD_MAX];
		tcb_type_to_f32(io, x + h * k * tcb_type_bytes(io), k, values);
		for (size_t j = 0; j < k; j++) {
			const int is_pairs = problem->shape.heads.pairs != 0, is_low = is_pairs ? j % 2 == 0 : j < half;
			const size_t at = (first + h) * k + j, angle = is_pairs ? j / 2 : j % half;
			const size_t apart = is_pairs ? 1 : half;
			if (!rotation) {
				set_result(job, at, (double)values[j], 0, io == rope_kv_type(problem));
				continue;
			}
			const double other = is_low ? -(double)values[j + apart] : (double)values[j - apart];
			const double a = (double)values[j] * (double)rotation[angle];
			const double b = other * (double)rotation[half + angle];
			set_result(job, at, a + b, fabs(a) + fabs(b), 0);
		}
	}
}

static void refer_token(void *ctx, size_t token, unsigned thread)
{
	const struct job *job = ctx;
	const struct tcb_shape *s = &job->problem->shape;
	const size_t sequence = token / s->m, each = s->k * tcb_type_bytes(rope_io_type(job->problem));
	const size_t length = (size_t)((const int32_t *)job->operand[ROPE_LENGTHS])[sequence];
	const int32_t *table = s->heads.page ? job->operand[ROPE_TABLE] : NULL;
	const ptrdiff_t p = position(s, length, token % s->m);
	const char *x = (const char *)job->operand[ROPE_QKV] + token * rope_row_heads(s) * each;
	(void)thread;
	if (p < 0)
		return;
	const float *rotation = (const float *)job->operand[ROPE_ROTATION] + (size_t)p * s->k;
	const size_t at = tcb_kv_token(s, table, sequence, (size_t)p);
	refer_heads(job, x, s->heads.query, rotation, rope_q_head(s, token));
	x += s->heads.query * each;
	refer_heads(job, x, s->heads.kv, rotation, rope_k_head(s, at));
	refer_heads(job, x + s->heads.kv * each, s->heads.kv, NULL, rope_v_head(s, at));
}

/* What is not written keeps what it had: the poison, which is a NaN in all types of a cache. */
static void reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t count = rope_v_head(s, tcb_kv_tokens(s)) * s->k;
	struct job job = { problem, operand, out };
	for (size_t i = 0; i < count; i++) {
		out->y[i] = (double)NAN;
		out->magnitude[i] = out->extra[i] = 0;
	}
	tcb_reference_share(out, rope_tokens(s), refer_token, &job);
}

/* --- the model of bytes and operations --- */

/* New tokens that there are, of all sequences; positions that any has; entries of the table that these need. */
static void count_tokens(const struct tcb_shape *shape, double *tokens, double *positions, double *entries)
{
	size_t end = SIZE_MAX;
	*tokens = *positions = *entries = 0;
	for (size_t b = 0; b < shape->heads.sequences; b++) {
		const size_t length = tcb_kv_length(shape, b), count = tcb_least(shape->m, length),
			     first = length - count;
		*tokens += (double)count;
		*positions += end > length ? (double)count : end > first ? (double)(end - first) : 0;
		end = tcb_least(end, first);
		if (shape->heads.page && count)
			*entries += (double)((length - 1) / shape->heads.page - first / shape->heads.page + 1);
	}
}

static double traffic(const struct tcb_problem *problem)
{
	const struct tcb_shape *s = &problem->shape;
	const double each = (double)rope_row_heads(s) * (double)s->k;
	const size_t moved = tcb_type_bytes(rope_io_type(problem)) + tcb_type_bytes(rope_kv_type(problem));
	double tokens, positions, entries;
	count_tokens(s, &tokens, &positions, &entries);
	return tokens * each * (double)moved + 4 * (positions * (double)s->k + entries + (double)s->heads.sequences);
}

static double flops(const struct tcb_problem *problem)
{
	const struct tcb_shape *s = &problem->shape;
	double tokens, positions, entries;
	count_tokens(s, &tokens, &positions, &entries);
	return 3 * tokens * (double)(s->heads.query + s->heads.kv) * (double)s->k;
}

/* --- the ops --- */

#define HEADS(sequences_)                                       \
	{                                                       \
		.query = 32, .kv = 8, .sequences = (sequences_) \
	}
static const struct tcb_shape default_shapes[] = {
	{ 512, 2048, 128, HEADS(1) },
	{ 1, 64, 128, HEADS(64) },
};

TCB_VARIANT_TABLES(f16_variants, TCB_ISAS_FLOATS, rope_append_f16_variants)
TCB_VARIANT_TABLES(bf16_variants, TCB_ISAS_FLOATS, rope_append_bf16_variants)

#define ROPE_OP(kv_, TYPE, summary_)                                                       \
	static const struct rope_op kv_ = { TYPE };                                        \
	const struct tcb_op tcb_op_rope_append_##kv_ = {                                   \
		.name = "rope_append_" #kv_,                                               \
		.summary = summary_,                                                       \
		.shape_form = "MxNxK,hQ/KV",                                               \
		.has_words = 1,                                                            \
		.is_copy = 1,                                                              \
		.type = TYPE,                                                              \
		.member = &kv_,                                                            \
		.contracts = 1u << TCB_CONTRACT_F32 | 1u << TCB_CONTRACT_F16,              \
		.default_contract = TCB_CONTRACT_F16,                                      \
		.default_shapes = default_shapes,                                          \
		.default_shape_count = sizeof(default_shapes) / sizeof(default_shapes[0]), \
		.variant_lists = kv_##_variants,                                           \
		.check_shape = check_shape,                                                \
		.operands = operands,                                                      \
		.fill = fill,                                                              \
		.reference = reference,                                                    \
		.flops = flops,                                                            \
		.traffic = traffic,                                                        \
		.axes = rope_axes,                                                         \
		.default_geometry = rope_default_geometry,                                 \
		.footprint = rope_footprint,                                               \
		.plan = rope_plan,                                                         \
		.run = rope_run,                                                           \
		.emit = rope_emit,                                                         \
		.gpu_rules = rope_gpu_rules,                                               \
		.gpu_variants = rope_append_##kv_##_gpu_variants,                          \
		.cpu_rules = rope_cpu_rules,                                               \
	}

ROPE_OP(f16, TCB_TYPE_F16, "rotary embedding of q and k; k and v appended to an f16 KV cache");
ROPE_OP(bf16, TCB_TYPE_BF16, "rotary embedding of q and k; k and v appended to a bf16 KV cache");
