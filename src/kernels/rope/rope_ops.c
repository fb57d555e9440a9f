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
#include "kernels/rope/rope_wgsl.h"

static enum tcb_status check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	size_t bytes;
	if (!shape->m || !shape->n || !shape->k || !shape->words.query)
		return tcb_fail(err, TCB_E_USAGE,
				"op %s takes new tokens x tokens of the cache x head size, then query / KV heads and "
				"where wanted other words, for example 1x4096x128,h32/8 (tcbtune help shapes)",
				op->name);
	const struct tcb_kv_row *kv = tcb_kv_row(((const struct rope_op *)op->member)->kv);
	const int has_blocks = tcb_kv_kind_format(kv->k) || tcb_kv_kind_format(kv->v);
	const size_t unit = has_blocks ? ROPE_BLOCK : ROPE_HEAD_UNIT;
	if (shape->k % unit || shape->k > ROPE_HEAD_MAX)
		return tcb_fail(err, TCB_E_USAGE, "op %s takes heads of %zu to %d values in steps of %zu, not of %zu",
				op->name, unit, ROPE_HEAD_MAX, unit, shape->k);
	if (shape->words.rotated && (shape->words.rotated % ROPE_HEAD_UNIT || shape->words.rotated >= shape->k))
		return tcb_fail(err, TCB_E_USAGE,
				"rot%u: the rotated part of a head is a multiple of %d below the head's %zu values; "
				"where all of it is rotated, leave rot out",
				shape->words.rotated, ROPE_HEAD_UNIT, shape->k);
	if (shape->m > INT32_MAX || shape->n > INT32_MAX ||
	    tcb_mul_size(rope_tokens(shape), rope_row_heads(shape), &bytes) || bytes > INT32_MAX ||
	    tcb_mul_size(tcb_kv_tokens(shape), (size_t)2 * shape->words.kv, &bytes) || bytes > INT32_MAX)
		return tcb_fail(err, TCB_E_OVERFLOW, "new tokens or a KV cache of more than 2^31 heads, of %zux%zux%zu",
				shape->m, shape->n, shape->k);
	if (rope_operand(&shape->words, ROPE_MORE_COUNT) > TCB_OPERANDS_MAX)
		return tcb_fail(err, TCB_E_USAGE,
				"pages, qknorm, mrope and apart together are more than the %d operands that an op may "
				"have: leave one out",
				TCB_OPERANDS_MAX);
	return TCB_OK;
}

/* An input of ROWS x COLS elements of 4 bytes. */
static struct tcb_operand input(const char *name, enum tcb_type type, size_t rows, size_t cols)
{
	return (struct tcb_operand){
		.name = name, .role = TCB_ROLE_INPUT, .type = type, .rows = rows, .cols = cols, .bytes = 4 * rows * cols
	};
}

/* Rows of new tokens that have HEADS heads. */
static struct tcb_operand new_heads(const char *name, const struct tcb_problem *problem, size_t heads)
{
	struct tcb_operand out =
		tcb_operand_rows(name, TCB_ROLE_INPUT, rope_io_type(problem), rope_tokens(&problem->shape),
				 heads * problem->shape.k, problem->x_stride);
	out.streams = 1;
	return out;
}

static size_t more_operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	const struct tcb_shape *s = &problem->shape;
	const struct tcb_operand all[ROPE_MORE_COUNT] = {
		[ROPE_TABLE] = input("pages", TCB_TYPE_I32, s->words.sequences, tcb_kv_pages(s)),
		[ROPE_Q_NORM] = input("q_norm", TCB_TYPE_F32, 1, s->k),
		[ROPE_K_NORM] = input("k_norm", TCB_TYPE_F32, 1, s->k),
		[ROPE_POSITIONS] = input("positions", TCB_TYPE_I32, ROPE_POSITIONS_OF_TOKEN, rope_tokens(s)),
		[ROPE_SECTIONS] = input("sections", TCB_TYPE_I32, 1, rope_rotated(s) / 2),
		[ROPE_NEW_K] = new_heads("new_k", problem, s->words.kv),
		[ROPE_NEW_V] = new_heads("new_v", problem, s->words.kv),
	};
	for (enum rope_more i = 0; i < ROPE_MORE_COUNT; i++)
		if (rope_has(&s->words, i))
			out[rope_operand(&s->words, i)] = all[i];
	return rope_operand(&s->words, ROPE_MORE_COUNT);
}

static struct tcb_operand cache(const char *name, const struct tcb_shape *s, enum tcb_kv_kind kind)
{
	const size_t tokens = tcb_kv_tokens(s), row = s->words.kv * s->k;
	return (struct tcb_operand){ .name = name,
				     .role = TCB_ROLE_OUTPUT,
				     .type = tcb_kv_kind_row(kind)->type,
				     .rows = tokens,
				     .cols = row,
				     .bytes = tcb_kv_kind_bytes(kind, tokens * row),
				     .streams = 1,
				     .format = tcb_kv_kind_format(kind),
				     .is_partly_written = 1 };
}

static size_t operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	const struct tcb_shape *s = &problem->shape;
	const struct tcb_kv_row *kv = tcb_kv_row(rope_kv(problem));
	out[ROPE_QKV] = new_heads(s->words.apart ? "new_q" : "qkv", problem, rope_first_heads(s));
	out[ROPE_ROTATION] = input("rotation", TCB_TYPE_F32, s->n, rope_rotated(s));
	out[ROPE_LENGTHS] = input("lengths", TCB_TYPE_I32, 1, s->words.sequences);
	out[ROPE_Q] = tcb_operand_rows("q", TCB_ROLE_OUTPUT, rope_q_type(problem), rope_tokens(s),
				       s->words.query * s->k, problem->y_stride);
	out[ROPE_Q].streams = 1;
	out[ROPE_K] = cache("k", s, kv->k);
	out[ROPE_V] = cache("v", s, kv->v);
	return more_operands(problem, out);
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
	const size_t rotated = rope_rotated(shape), half = rotated / 2;
	double step[ROPE_HEAD_MAX / 2];
	for (size_t j = 0; j < half; j++)
		step[j] = pow(10000, -2 * (double)j / (double)rotated);
	for (size_t p = 0; p < shape->n; p++)
		for (size_t j = 0; j < half; j++) {
			rotation[p * rotated + j] = (float)cos((double)p * step[j]);
			rotation[p * rotated + half + j] = (float)sin((double)p * step[j]);
		}
}

/* Weights around 1, as models have them; positions of the table; sections in any order.  Of NULL operands none. */
static void fill_more(const struct tcb_shape *shape, struct tcb_rng *rng, void *const operand[])
{
	float *norms[2] = { rope_data(&shape->words, operand, ROPE_Q_NORM),
			    rope_data(&shape->words, operand, ROPE_K_NORM) };
	int32_t *positions = rope_data(&shape->words, operand, ROPE_POSITIONS);
	int32_t *sections = rope_data(&shape->words, operand, ROPE_SECTIONS);
	for (size_t i = 0; i < 2; i++)
		for (size_t j = 0; norms[i] && j < shape->k; j++)
			norms[i][j] = 1 + 0.25f * tcb_rng_normal(rng);
	for (size_t i = 0; positions && i < ROPE_POSITIONS_OF_TOKEN * rope_tokens(shape); i++)
		positions[i] = (int32_t)tcb_rng_below(rng, shape->n);
	for (size_t j = 0; sections && j < rope_rotated(shape) / 2; j++)
		sections[j] = (int32_t)tcb_rng_below(rng, ROPE_POSITIONS_OF_TOKEN);
}

/* Rows of HEADS heads of all new tokens; NULL: none. */
static void fill_heads(const struct tcb_problem *problem, struct tcb_rng *rng, size_t heads, void *out)
{
	const size_t k = problem->shape.k, apart = rope_new_apart(problem, heads);
	const enum tcb_type io = rope_io_type(problem);
	for (size_t i = 0; out && i < rope_tokens(&problem->shape) * heads; i++) {
		float values[ROPE_HEAD_MAX];
		for (size_t j = 0; j < k; j++)
			values[j] = tcb_rng_normal(rng);
		tcb_type_from_f32(io, values, k,
				  (char *)out + (i / heads * apart + i % heads * k) * tcb_type_bytes(io));
	}
}

/* Of NULL operands lengths and pages are the others'. */
static void fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	const struct tcb_shape *s = &problem->shape;
	int32_t *lengths = operand[ROPE_LENGTHS];
	struct tcb_rng rng;
	tcb_rng_init(&rng, seed);
	fill_heads(problem, &rng, rope_first_heads(s), operand[ROPE_QKV]);
	for (enum rope_more i = ROPE_NEW_K; i <= ROPE_NEW_V; i++)
		fill_heads(problem, &rng, s->words.kv, rope_data(&s->words, operand, i));
	if (operand[ROPE_ROTATION])
		fill_rotation(s, operand[ROPE_ROTATION]);
	tcb_kv_fill(s, &rng, lengths, rope_data(&s->words, operand, ROPE_TABLE));
	fill_more(s, &rng, operand);
}

/* --- reference --- */

#define QUOTIENT 0x1p-21 /* of a value over its block's scale: products, quotients, an approximate reciprocal */
#define F16_ENDS 65520   /* what is less is rounded to an f16 that is not infinite */

struct job {
	const struct tcb_problem *problem;
	void *const *operand;
	struct tcb_reference *out; /* of q, K and V */
};

/* Heads of one kind, of a new token. */
struct refer {
	const struct tcb_problem *problem;
	size_t heads;
	const float *rotation; /* cos and sin of the rotated values; NULL: there are none */
	const float *norm;     /* weights; NULL: no norm */
	enum tcb_type type;    /* of the results, of blocks BLOCKS' */
	enum tcb_format_id blocks;
	double inexact; /* what a value's terms may be off in f32, of their magnitude */
};

/*
 * COUNT results from AT on, in y and magnitude, are of R's type.  A kernel's roundings in f32 are its chain; the extra
 * is the rounding to the type, of what that has become.  What nothing was done to is as it was.
 */
static void round_results(const struct refer *r, struct tcb_reference *out, size_t at, size_t count)
{
	static const double unit[TCB_TYPE_COUNT] = { [TCB_TYPE_F16] = 0x1p-11, [TCB_TYPE_BF16] = 0x1p-8 };
	static const double tiny[TCB_TYPE_COUNT] = { [TCB_TYPE_F16] = 0x1p-25, [TCB_TYPE_BF16] = 0x1p-134 };
	const int is_copy = r->type == rope_io_type(r->problem);
	for (size_t i = at; i < at + count; i++)
		if (!is_copy || out->magnitude[i] > 0 || isnan(out->magnitude[i]))
			out->extra[i] =
				unit[r->type] * (fabs(out->y[i]) + 2 * r->inexact * out->magnitude[i]) + tiny[r->type];
}

/* COUNT results from AT on become E4M3: of two where the value before is as near to both as a kernel is exact. */
static void round_to_fp8(const struct refer *r, struct tcb_reference *out, size_t at, size_t count)
{
	for (size_t i = at; i < at + count; i++) {
		const double y = out->y[i], off = isfinite(y) ? 2 * r->inexact * out->magnitude[i] : 0;
		const double low = (double)tcb_e4m3_to_f32(tcb_f32_to_e4m3((float)(y - off)));
		const double high = (double)tcb_e4m3_to_f32(tcb_f32_to_e4m3((float)(y + off)));
		out->y[i] = (low + high) / 2;
		out->extra[i] = (high - low) / 2;
		out->magnitude[i] = 0;
	}
}

/*
 * The block of results from AT on, as they were before, is quantised: what a block reads as is its code times its
 * scale.  The scale may be the one above or below where a kernel's largest magnitude is not quite this one, and so may
 * be a code that is as near to two as a kernel's chain, scale and quotient are exact: then y is between the two.
 */
static void quantise_results(const struct refer *r, struct tcb_reference *out, size_t at)
{
	double *y = out->y + at, *magnitude = out->magnitude + at, *extra = out->extra + at;
	const int is_q40 = r->blocks == TCB_FORMAT_Q4_0;
	double largest = 0, terms = 0, top = 0,
	       other = 0; /* the value that is the largest; of the other sign, its size */
	int is_finite = 1;
	for (size_t i = 0; i < ROPE_BLOCK; i++) {
		largest = fmax(largest, fabs(y[i]));
		terms = fmax(terms, magnitude[i]);
		is_finite &= isfinite(y[i]) != 0;
		top = fabs(y[i]) > fabs(top) ? y[i] : top;
	}
	for (size_t i = 0; i < ROPE_BLOCK; i++)
		other = y[i] * top < 0 ? fmax(other, fabs(y[i])) : other;
	const double scale = is_q40 ? top / -8 : largest / 127, step = fabs(scale);
	const double inexact = largest > 0 ? r->inexact * terms / largest + QUOTIENT : 0;
	const int is_either = is_q40 && other >= largest * (1 - 2 * inexact); /* the largest may be of either sign */
	for (size_t i = 0; i < ROPE_BLOCK; i++) {
		const double steps = step > 0 ? y[i] / scale : 0, low = floor(steps);
		const double off = step > 0 ? fabs(steps) * inexact + r->inexact * magnitude[i] / step : 0;
		const int is_end = is_either && fabs(steps) > 7.5 - off;
		const int is_tie = fabs(steps - low - 0.5) <= off || is_end;
		const double nearest = is_end ? copysign(7.5, steps) : is_tie ? low + 0.5 : rint(steps);
		const double code = is_q40 && !is_end ? fmin(nearest, 7) : nearest, most = fabs(code) + 0.5 * is_tie;
		y[i] = !is_finite ? (double)NAN : step < F16_ENDS ? code * scale : code * (double)INFINITY;
		extra[i] = most * (step * (0x1p-11 + inexact) + 0x1p-25) + 0.5 * is_tie * step;
		magnitude[i] = 0;
	}
}

/* The head X in double: as it is, or over its root mean square and times its weights. */
static void read_head(const struct refer *r, const char *x, double values[ROPE_HEAD_MAX])
{
	const size_t k = r->problem->shape.k;
	float stored[ROPE_HEAD_MAX];
	double squares = 0;
	tcb_type_to_f32(rope_io_type(r->problem), x, k, stored);
	for (size_t j = 0; j < k; j++) {
		values[j] = (double)stored[j];
		squares += values[j] * values[j];
	}
	for (size_t j = 0; r->norm && j < k; j++)
		values[j] *= (double)r->norm[j] /
			     sqrt(squares / (double)k + tcb_words_power(r->problem->shape.words.qknorm));
}

/* The heads X to OUT's, from head FIRST on. */
static void refer_heads(const struct refer *r, const char *x, struct tcb_reference *out, size_t first)
{
	const enum tcb_type io = rope_io_type(r->problem);
	const size_t k = r->problem->shape.k, rotated = rope_rotated(&r->problem->shape), half = rotated / 2;
	const int is_pairs = r->problem->shape.words.pairs != 0;
	for (size_t at = first * k; at < (first + r->heads) * k; at += k, x += k * tcb_type_bytes(io)) {
		double values[ROPE_HEAD_MAX];
		read_head(r, x, values);
		for (size_t j = 0; j < k; j++) {
			const int is_low = is_pairs ? j % 2 == 0 : j < half;
			const size_t angle = is_pairs ? j / 2 : j % half, apart = is_pairs ? 1 : half;
			out->y[at + j] = values[j];
			out->magnitude[at + j] = r->norm ? fabs(values[j]) : 0;
			out->extra[at + j] = 0;
			if (!r->rotation || j >= rotated)
				continue;
			const double other = is_low ? -values[j + apart] : values[j - apart];
			const double a = values[j] * (double)r->rotation[angle];
			const double b = other * (double)r->rotation[half + angle];
			out->y[at + j] = a + b;
			out->magnitude[at + j] = fabs(a) + fabs(b);
		}
		for (size_t j = 0; r->type == TCB_TYPE_BLOCKS && j < k; j += ROPE_BLOCK)
			quantise_results(r, out, at + j);
		if (r->type == TCB_TYPE_E4M3)
			round_to_fp8(r, out, at, k);
		else if (r->type != TCB_TYPE_BLOCKS)
			round_results(r, out, at, k);
	}
}

/* cos and sin of new token TOKEN at position P: of the table's row P, or of three rows. */
static void find_rotation(const struct job *job, size_t token, size_t p, float rotation[ROPE_HEAD_MAX])
{
	const struct tcb_shape *s = &job->problem->shape;
	const size_t rotated = rope_rotated(s), half = rotated / 2;
	const float *table = job->operand[ROPE_ROTATION];
	const int32_t *positions = rope_data(&s->words, job->operand, ROPE_POSITIONS);
	const int32_t *sections = rope_data(&s->words, job->operand, ROPE_SECTIONS);
	for (size_t j = 0; j < half; j++) {
		if (positions)
			p = (size_t)positions[(size_t)sections[j] * rope_tokens(s) + token];
		rotation[j] = table[p * rotated + j];
		rotation[half + j] = table[p * rotated + half + j];
	}
}

static void refer_token(void *ctx, size_t token, unsigned thread)
{
	const struct job *job = ctx;
	const struct tcb_shape *s = &job->problem->shape;
	const size_t sequence = token / s->m;
	const size_t length = (size_t)((const int32_t *)job->operand[ROPE_LENGTHS])[sequence];
	const int32_t *table = rope_data(&s->words, job->operand, ROPE_TABLE);
	const ptrdiff_t p = position(s, length, token % s->m);
	char *x[3];
	(void)thread;
	if (p < 0)
		return;
	rope_new_heads(job->problem, job->operand, token, x);
	float rotation[ROPE_HEAD_MAX];
	find_rotation(job, token, (size_t)p, rotation);
	const size_t at = tcb_kv_token(s, table, sequence, (size_t)p);
	const struct tcb_kv_row *row = tcb_kv_row(rope_kv(job->problem));
	const struct tcb_kv_kind_row *of_k = tcb_kv_kind_row(row->k), *of_v = tcb_kv_kind_row(row->v);
	const size_t query = s->words.query, heads = s->words.kv;
	const double inexact = (rope_chain(s, 1) + 1) * 0x1p-24;
	const struct refer q = { .problem = job->problem,
				 .heads = query,
				 .rotation = rotation,
				 .norm = rope_data(&s->words, job->operand, ROPE_Q_NORM),
				 .type = rope_q_type(job->problem),
				 .inexact = inexact };
	const struct refer k = { .problem = job->problem,
				 .heads = heads,
				 .rotation = rotation,
				 .norm = rope_data(&s->words, job->operand, ROPE_K_NORM),
				 .type = of_k->type,
				 .blocks = of_k->blocks,
				 .inexact = inexact };
	const struct refer v = {
		.problem = job->problem, .heads = heads, .type = of_v->type, .blocks = of_v->blocks, .inexact = inexact
	};
	refer_heads(&q, x[0], &job->out[0], token * query);
	refer_heads(&k, x[1], &job->out[1], at * heads);
	refer_heads(&v, x[2], &job->out[2], at * heads);
}

/* What is not written keeps what it had: the poison, which is a NaN in all types of a cache. */
static void reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t q = rope_tokens(s) * s->words.query * s->k, kv = tcb_kv_tokens(s) * s->words.kv * s->k;
	struct job job = { problem, operand, out };
	for (size_t o = 0; o < 3; o++)
		for (size_t i = 0; i < (o ? kv : q); i++) {
			out[o].y[i] = (double)NAN;
			out[o].magnitude[i] = out[o].extra[i] = 0;
		}
	tcb_reference_share(out, rope_tokens(s), refer_token, &job);
}

/* --- the model of bytes and operations --- */

/* New tokens that there are, of all sequences; positions that any has; entries of the table that these need. */
static void count_tokens(const struct tcb_shape *shape, double *tokens, double *positions, double *entries)
{
	size_t end = SIZE_MAX;
	*tokens = *positions = *entries = 0;
	for (size_t b = 0; b < shape->words.sequences; b++) {
		const size_t length = tcb_kv_length(shape, b), count = tcb_least(shape->m, length),
			     first = length - count;
		*tokens += (double)count;
		*positions += end > length ? (double)count : end > first ? (double)(end - first) : 0;
		end = tcb_least(end, first);
		if (shape->words.page && count)
			*entries += (double)((length - 1) / shape->words.page - first / shape->words.page + 1);
	}
}

static double traffic(const struct tcb_problem *problem)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t read = rope_row_heads(s) * s->k * tcb_type_bytes(rope_io_type(problem));
	double tokens, positions, entries;
	count_tokens(s, &tokens, &positions, &entries);
	const double more = s->words.qknorm ? 2 * (double)s->k : 0;
	const double of_mrope = s->words.mrope ? ROPE_POSITIONS_OF_TOKEN * tokens + (double)(rope_rotated(s) / 2) : 0;
	return tokens * (double)(read + rope_token_bytes(problem)) +
	       4 * (positions * (double)rope_rotated(s) + entries + (double)s->words.sequences + more + of_mrope);
}

static double flops(const struct tcb_problem *problem)
{
	const struct tcb_shape *s = &problem->shape;
	double tokens, positions, entries;
	count_tokens(s, &tokens, &positions, &entries);
	const double each = 3 * (double)rope_rotated(s) + (s->words.qknorm ? 4 * (double)s->k : 0);
	return tokens * (double)(s->words.query + s->words.kv) * each;
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

#define ON_ALL(of) TCB_SIDES(&of##_cpu, &of##_gpu, &of##_wgsl)
#define NOT_WGSL(of) TCB_SIDES(&of##_cpu, &of##_gpu)
#define ROPE_OP(kv_, ID, k_, v_, io_, text, SIDES, ...)                                                   \
	static const struct rope_op kv_ = { TCB_KV_##ID };                                                \
	const struct tcb_op tcb_op_rope_append_##kv_ = {                                                  \
		.name = "rope_append_" #kv_,                                                              \
		.summary = "rotary embedding of q and k; k and v appended to " text,                      \
		.shape_form = "MxNxK,hQ/KV",                                                              \
		.words = TCB_KV_WORDS | UINT64_C(1) << TCB_WORD_PAIRS | UINT64_C(1) << TCB_WORD_ROTATED | \
			 UINT64_C(1) << TCB_WORD_QKNORM | UINT64_C(1) << TCB_WORD_MROPE |                 \
			 UINT64_C(1) << TCB_WORD_APART,                                                   \
		.type = io_,                                                                              \
		.member = &kv_,                                                                           \
		.contracts = 1u << TCB_CONTRACT_F32 | 1u << TCB_CONTRACT_F16,                             \
		.default_contract = TCB_CONTRACT_F16,                                                     \
		.stride_unit = ROPE_HEAD_UNIT,                                                            \
		.default_shapes = default_shapes,                                                         \
		.default_shape_count = sizeof(default_shapes) / sizeof(default_shapes[0]),                \
		.side = SIDES(rope_##kv_),                                                                \
		.check_shape = check_shape,                                                               \
		.operands = operands,                                                                     \
		.fill = fill,                                                                             \
		.reference = reference,                                                                   \
		.flops = flops,                                                                           \
		.traffic = traffic,                                                                       \
	};

TCB_KV_ALL_LIST(ROPE_OP, ON_ALL, )
TCB_KV_CPU_LIST(ROPE_OP, NOT_WGSL, )
