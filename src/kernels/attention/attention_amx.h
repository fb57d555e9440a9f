/* SPDX-License-Identifier: MIT
 *
 * A tile of KV of attention_prefill on AMX: contract f16 in products of tiles of bf16
 * (amx_tiles.h), softmax in vectors of floats.
 *
 * What is counted, in cycles, for 16 rows of q by a KV token with heads of 128: 8 for the
 * tiles' products, about 8 for exp and its company in vectors.  S = Q K^T wants K's pairs of
 * values across tokens, O += P V V's pairs of tokens across values.  Such K is a transpose of
 * words, 16 a token, once for all rows of a task (512: 1 of 32 cycles); V interleaves two rows, 4
 * a token; weights are left operands as softmax leaves them.  The other way round, S^T = K Q^T,
 * takes K as it is stored, but O^T then wants V transposed, for the same 16, or P, at 2 cycles
 * for 16 of its values in each tile; and O is transposed at the end.
 *
 * Packed K and V stay in the second cache, also for the thread's next tasks of that KV
 * head.  32 rows go over all that they see of the tile by chunks of KV tokens.  The softmax of a
 * chunk has the products of its neighbours between its rows, in two places for scores: P V of
 * the one before, then Q K^T of the next one.  What is read once a chunk, K and V, is kept out of
 * the first cache, which scores and sums want.
 */
#ifndef TCB_KERNELS_ATTENTION_AMX_H
#define TCB_KERNELS_ATTENTION_AMX_H

#include "kernels/attention/attention_bf16.h"
#include "kernels/simd/amx_tiles.h"

#ifdef AMX_CONFIGURE

/* --- to bf16 --- */

enum { TILE_HALVES = AMX_BYTES / 2, PAIR_HALVES = 2 * TILE_HALVES };

SIMD_INLINE void round_bf16(uint16_t *to, vfloat value)
{
#ifdef SIMD_HAS_BF16
	v_round_bf16(to, value);
#else
	v_to_bf16(to, value);
#endif
}

SIMD_INLINE void round_unit(uint16_t *to, const vfloat value[UNIT_VECTORS])
{
#ifdef SIMD_HAS_BF16
	vi_store(to, (vint)_mm512_cvtne2ps_pbh(value[1], value[0]));
#else
	SIMD_FOR (size_t i = 0; i < UNIT_VECTORS; i++)
		round_bf16(to + i * LANES, value[i]);
#endif
}

/* The LEFT values of a unit of a row of K or V from AT on, and zeros. */
SIMD_INLINE void part_of_unit(const void *row, size_t at, size_t left, uint16_t *to)
{
	memset(to, 0, UNIT_BYTES);
	memcpy(to, (const char *)row + 2 * at, left < UNIT ? 2 * left : UNIT_BYTES);
}

/* A tile of K: lines of a pair of values of each of AMX_SIDE tokens. */
SIMD_INLINE void pack_k_tile(const void *const *rows, size_t at, size_t left, uint16_t *to)
{
	uint16_t unit[AMX_SIDE][UNIT];
	const int is_direct = left >= UNIT && LANES == AMX_SIDE;
	for (int i = 0; !is_direct && i < AMX_SIDE; i++)
		part_of_unit(rows[i], at, left, unit[i]);
#if LANES == 16
	vfloat r[LANES];
	SIMD_FOR (int i = 0; i < LANES; i++)
		r[i] = v_load((const float *)(const void *)(is_direct ? (const char *)rows[i] + 2 * at
								      : (const char *)unit[i]));
	v_transpose(r);
	SIMD_FOR (int i = 0; i < LANES; i++)
		v_store((float *)(void *)to + i * LANES, r[i]);
#else
	for (int p = 0; p < UNIT / 2; p++)
		for (int i = 0; i < AMX_SIDE; i++)
			memcpy(to + (p * AMX_SIDE + i) * 2, &unit[i][2 * p], 4);
#endif
}

/* Two lines of two tiles of V: of each of AMX_SIDE columns the values of two tokens. */
SIMD_INLINE void pack_v_lines(const void *even, const void *odd, size_t at, size_t left, uint16_t *to)
{
	uint16_t unit[2][UNIT];
	if (left < UNIT) {
		part_of_unit(even, at, left, unit[0]);
		part_of_unit(odd, at, left, unit[1]);
	}
	const void *a = left < UNIT ? (const char *)unit[0] : (const char *)even + 2 * at;
	const void *b = left < UNIT ? (const char *)unit[1] : (const char *)odd + 2 * at;
#ifdef SIMD_HAS_HALVES
	vint pair[2];
	vi_interleave(vi_load(a), vi_load(b), pair);
	vi_store(to, pair[0]);
	vi_store(to + TILE_HALVES, pair[1]);
#else
	for (int c = 0; c < UNIT; c++) {
		uint16_t *word = to + c / AMX_SIDE * TILE_HALVES + c % AMX_SIDE * 2;
		memcpy(word, (const char *)a + 2 * c, 2);
		memcpy(word + 1, (const char *)b + 2 * c, 2);
	}
#endif
}

/*
 * Where a tile of KV is: for amx_add_bf16 as amx_packed has it, two tiles of a step side by side.  K is [32
 * tokens][unit], V [32 values][32 tokens], of ROOM tokens both.
 */
SIMD_INLINE uint16_t *k_of(const struct attention_call *call, size_t t)
{
	return (uint16_t *)(void *)call->packed + t * call->q_lead;
}

SIMD_INLINE uint16_t *v_of(const struct attention_call *call, size_t t, size_t at)
{
	return k_of(call, call->room) + at * call->room + t * AMX_SPAN;
}

/* The other half of a last unit of tokens is as it was: its scores are not looked at. */
SIMD_INLINE void pack_k(const struct attention_call *call)
{
	for (size_t t = 0; t < call->tokens; t += AMX_SIDE) {
		uint16_t *to = k_of(call, t / UNIT * UNIT) + t / AMX_SIDE % 2 * TILE_HALVES;
		for (size_t at = 0; at < call->k; at += UNIT, to += PAIR_HALVES)
			pack_k_tile(call->k_rows + t, at, call->k - at, to);
	}
}

/* Tokens past the last are its row again: numbers if all that are seen are. */
SIMD_INLINE void pack_v(const struct attention_call *call)
{
	const size_t end = (call->tokens + UNIT - 1) / UNIT * UNIT;
	for (size_t t = 0; t < end; t += 2) {
		const size_t even = t < call->tokens ? t : call->tokens - 1;
		const size_t odd = t + 1 < call->tokens ? t + 1 : call->tokens - 1;
		for (size_t at = 0; at < call->v; at += UNIT)
			pack_v_lines(call->v_rows[even], call->v_rows[odd], at, call->v - at,
				     v_of(call, t / UNIT * UNIT, at) + t % UNIT * AMX_SIDE);
	}
}

/* Rows of q and of out are far from each other: they are asked for so many ahead. */
enum { ROWS_AHEAD = 16, LINE = 64 };

SIMD_INLINE void ask_for_row(const struct attention_call *call, size_t r, size_t values, const int is_written)
{
	const size_t bytes = values * sizeof(uint16_t);
	if (r >= call->rows)
		return;
	for (size_t at = 0; at < bytes; at += LINE)
		__builtin_prefetch((const char *)call->io_row[r] + at, is_written, 3);
}

/* A unit of q, or the LEFT values of it and zeros, times POWER. */
SIMD_INLINE void load_q_unit(const void *row, size_t at, size_t left, vfloat power, uint16_t *to)
{
	vfloat value[UNIT_VECTORS];
	SIMD_FOR (size_t i = 0; i < UNIT_VECTORS; i++)
		value[i] = i * LANES < left
				   ? v_mul(load_q_left(TCB_TYPE_BF16, row, at + i * LANES, left - i * LANES), power)
				   : v_set(0);
	round_unit(to, value);
}

/* q as pairs of tiles, [32 rows][unit]; rows that only fill one are zeros. */
SIMD_INLINE void load_q_tiles(const struct attention_call *call)
{
	const vfloat power = v_set(power_of(call));
	const size_t rows = (call->rows + AMX_SPAN - 1) / AMX_SPAN * AMX_SPAN;
	for (size_t r = 0; r < rows; r++) {
		uint16_t *to =
			(uint16_t *)(void *)call->q + r / AMX_SPAN * AMX_SPAN * call->q_lead + r % AMX_SPAN * UNIT;
		ask_for_row(call, r + ROWS_AHEAD, call->k, 0);
		for (size_t at = 0; at < call->q_lead; at += UNIT, to += PAIR_HALVES)
			if (r < call->rows)
				load_q_unit(call->io_row[r], at, call->k - at, power, to);
			else
				memset(to, 0, UNIT_BYTES);
	}
}

/* --- weights --- */

/* Tokens of the tile. */
struct amx_span {
	size_t begin, end;
};

/* What the COUNT rows from R on see, as whole units: a row sees no more before, and no less behind, than the one before
 * it.  Empty: nothing. */
SIMD_INLINE struct amx_span span_of(const struct attention_call *call, size_t r, size_t count)
{
	return (struct amx_span){ call->from[r] / UNIT * UNIT, (call->to[r + count - 1] + UNIT - 1) / UNIT * UNIT };
}

/* Scores of products, times what q was not multiplied by, with cap and slope: what weigh then only takes as they are.
 */
static __attribute__((noinline)) void finish_scores(const struct attention_call *call, size_t r, float *s,
						    const struct amx_span *span, float rest)
{
	const size_t count = span->end - span->begin;
	for (size_t t = 0; t < count; t += LANES) {
		const vfloat x = v_mul(v_load(s + t), v_set(rest));
		v_store(s + t, call->cap > 0 ? capped(x, call->cap) : x);
	}
	if (call->slope)
		subtract_distances(s, count, call->own[r] - (float)span->begin, call->slope[r]);
}

/* What row R does not see becomes -inf; the largest of each lane. */
SIMD_INLINE vfloat largest_of(const struct attention_call *call, size_t r, float *s, const struct amx_span *span)
{
	const size_t count = span->end - span->begin;
	vfloat top = v_set(-FLT_MAX);
	for (size_t t = span->begin; t < call->from[r] && t < span->end; t++)
		s[t - span->begin] = -INFINITY;
	for (size_t t = call->to[r] > span->begin ? call->to[r] : span->begin; t < span->end; t++)
		s[t - span->begin] = -INFINITY;
	for (size_t t = 0; t < count; t += LANES)
		top = v_max(v_load(s + t), top); /* NaN in the first operand stays out */
	return top;
}

/* --- products, a step at a time --- */

/* What C has written is in memory for tile loads, which compilers do not know to read. */
#define AMX_WRITTEN() __asm__ volatile("" ::: "memory")

/* A product of 16 or 32 rows by GROUPS times 32 columns of STEPS times 32 values, of which STEP and C are where it is.
 */
struct amx_product {
	struct amx_operand left, right;
	size_t right_apart; /* from a group of 32 columns to the next */
	size_t groups, steps, step;
	float *c;
	size_t c_stride; /* bytes */
	int adds;
};

/* 32 values, if there are any left. */
SIMD_INLINE void product_step(struct amx_product *p)
{
	if (!p->groups)
		return;
	if (p->step == 0 && p->adds)
		amx_load_sums(p->c, p->c_stride, AMX_SPAN, AMX_SPAN);
	else if (p->step == 0)
		amx_clear_sums(AMX_SPAN, AMX_SPAN);
	const char *left = (const char *)p->left.first + p->step * p->left.step;
	const char *right = (const char *)p->right.first + p->step * p->right.step;
	AMX_LOAD_ONCE(6, right, AMX_LINE);
	AMX_LOAD(4, left, p->left.line);
	AMX_DOT_BF16(0, 4, 6);
	AMX_LOAD_ONCE(7, right + AMX_BYTES, AMX_LINE);
	AMX_DOT_BF16(1, 4, 7);
	AMX_LOAD(5, left + p->left.group, p->left.line);
	AMX_DOT_BF16(2, 5, 6);
	AMX_DOT_BF16(3, 5, 7);
	if (++p->step < p->steps)
		return;
	amx_store_sums(p->c, p->c_stride, AMX_SPAN, AMX_SPAN);
	p->c += AMX_SPAN;
	p->right.first = (const char *)p->right.first + p->right_apart;
	p->step = 0;
	p->groups--;
}

SIMD_INLINE void product_rest(struct amx_product *p)
{
	while (p->groups)
		product_step(p);
}

/* Some rows and some tokens that go together: all that both see of the tile, by chunks that begin at multiples of their
 * length. */
struct amx_part {
	size_t first, count;  /* rows: those that there are, 0: there is no part */
	struct amx_span seen; /* by these rows */
	struct amx_span span; /* now */
	float *scores;
};

SIMD_INLINE struct amx_product scores_of(const struct attention_call *call, const struct amx_part *part,
					 const int chunk)
{
	const size_t units = call->q_lead / UNIT;
	return (struct amx_product){
		.left = amx_packed((const uint16_t *)(const void *)call->q + part->first * call->q_lead, AMX_SPAN),
		.right = amx_packed(k_of(call, part->span.begin), AMX_SPAN),
		.right_apart = units * 2 * AMX_BYTES,
		.groups = (part->span.end - part->span.begin) / AMX_SPAN,
		.steps = units,
		.c = part->scores,
		.c_stride = (size_t)chunk * sizeof(float),
	};
}

SIMD_INLINE struct amx_product values_of(const struct attention_call *call, const struct amx_part *part,
					 const int chunk)
{
	const size_t line = (size_t)chunk * sizeof(float), steps = (part->span.end - part->span.begin) / UNIT;
	return (struct amx_product){
		.left = { part->scores, line, AMX_LINE, AMX_SIDE * line },
		.right = amx_packed(v_of(call, part->span.begin, 0), AMX_SPAN),
		.right_apart = call->room / UNIT * 2 * AMX_BYTES,
		.groups = steps ? call->o_lead / AMX_SPAN : 0,
		.steps = steps,
		.c = call->o + part->first * call->o_lead,
		.c_stride = call->o_lead * sizeof(float),
		.adds = 1,
	};
}

/* Two products, the second one after the first. */
struct amx_work {
	struct amx_product before, after;
	size_t each; /* steps beside so much softmax as BESIDE scores of a row are */
};
enum { BESIDE = 128 };

SIMD_INLINE void work_step(struct amx_work *work)
{
	for (size_t i = 0; i < work->each; i++)
		if (work->before.groups)
			product_step(&work->before);
		else
			product_step(&work->after);
}

/* --- weights --- */

/* COUNT scores times REST against BASE become weights of bf16 in the first half of the row; the sum of each lane. */
SIMD_INLINE vfloat weigh_row(float *s, size_t count, float rest, float base, struct amx_work *work)
{
	uint16_t *p = (uint16_t *)(void *)s;
	vfloat sum = v_set(0);
	for (size_t t = 0; t < count; t += UNIT) {
		vfloat weight[UNIT_VECTORS];
		if (t % BESIDE == 0)
			work_step(work);
		SIMD_FOR (size_t i = 0; i < UNIT_VECTORS; i++) {
			weight[i] = v_exp(v_fma(v_load(s + t + i * LANES), v_set(rest), v_set(-base)));
			sum = v_add(sum, weight[i]);
		}
		round_unit(p + t, weight);
	}
	return sum;
}

/* COUNT rows of PART from its row I on, LANES or fewer; FACTOR: what brings their sums of values to the new maximum. */
SIMD_INLINE void weigh_some(const struct attention_call *call, const struct amx_part *part, size_t i, size_t count,
			    const int chunk, float rest, float *factor, struct amx_work *work)
{
	const int is_plain = !(call->cap > 0) && !call->slope;
	const float times = is_plain ? rest : 1;
	const size_t r = part->first + i, scores = part->span.end - part->span.begin;
	float *s = part->scores + i * (size_t)chunk;
	vfloat each[LANES];
	for (size_t j = 0; j < LANES; j++) {
		if (j < count && !is_plain)
			finish_scores(call, r + j, s + j * (size_t)chunk, &part->span, rest);
		each[j] = j < count ? largest_of(call, r + j, s + j * (size_t)chunk, &part->span) : v_set(0);
	}
	const vfloat max = v_load_left(call->max + r, count, 0);
	const vfloat next = v_max(v_mul(v_reduce_each_max(each), v_set(times)), max);
	const vfloat less = v_exp(v_sub(max, next)), sum = v_load_left(call->sum + r, count, 0);
	v_store(factor, less);
	v_store_left(call->max + r, next, count, 0);
	for (size_t j = 0; j < count; j++)
		each[j] = weigh_row(s + j * (size_t)chunk, scores, times, call->max[r + j], work);
	v_store_left(call->sum + r, v_fma(sum, less, v_reduce_each(each)), count, 0);
}

SIMD_INLINE void lessen(const struct attention_call *call, const struct amx_part *part, const float *factor)
{
	for (size_t i = 0; i < part->count; i++) {
		float *o = call->o + (part->first + i) * call->o_lead;
		if (!(factor[i] < 1))
			continue;
		for (size_t at = 0; at < call->o_lead; at += LANES)
			v_store(o + at, v_mul(v_load(o + at), v_set(factor[i])));
	}
}

/* --- a tile --- */

/* The first part of the rows from R on. */
SIMD_INLINE struct amx_part part_at(const struct attention_call *call, size_t r, const int chunk)
{
	struct amx_part part = { .first = r, .count = 0 };
	for (; part.first < call->end_row; part.first += AMX_SPAN) {
		const size_t left = call->rows - part.first, count = left < AMX_SPAN ? left : AMX_SPAN;
		part.seen = span_of(call, part.first, count);
		if (part.seen.begin >= part.seen.end)
			continue;
		const size_t end = (part.seen.begin / (size_t)chunk + 1) * (size_t)chunk;
		part.count = count;
		part.span = (struct amx_span){ part.seen.begin, end < part.seen.end ? end : part.seen.end };
		part.scores = call->scores;
		return part;
	}
	return part;
}

/* The next one, in the other place for scores. */
SIMD_INLINE struct amx_part part_after(const struct attention_call *call, const struct amx_part *part, const int chunk)
{
	struct amx_part next = *part;
	if (part->span.end < part->seen.end) {
		const size_t end = part->span.end + (size_t)chunk;
		next.span = (struct amx_span){ part->span.end, end < part->seen.end ? end : part->seen.end };
	} else
		next = part_at(call, part->first + AMX_SPAN, chunk);
	next.scores = call->scores + (part->scores == call->scores ? AMX_SPAN * (size_t)chunk : 0);
	return next;
}

SIMD_INLINE void amx_parts(const struct attention_call *call, const int chunk)
{
	const float rest = rest_of(call);
	struct amx_work work = { .each = 0 };
	struct amx_part part = part_at(call, call->first_row / AMX_SPAN * AMX_SPAN, chunk);
	if (part.count)
		work.after = scores_of(call, &part, chunk);
	product_rest(&work.after);
	while (part.count) {
		const struct amx_part next = part_after(call, &part, chunk);
		float factor[AMX_SPAN];
		AMX_WRITTEN();
		if (next.count)
			work.after = scores_of(call, &next, chunk);
		const size_t steps = work.before.groups * work.before.steps + work.after.groups * work.after.steps;
		const size_t beside = part.count * ((part.span.end - part.span.begin + BESIDE - 1) / BESIDE);
		work.each = (steps + beside - 1) / beside;
		for (size_t i = 0; i < part.count; i += LANES)
			weigh_some(call, &part, i, part.count - i < LANES ? part.count - i : LANES, chunk, rest,
				   factor + i, &work);
		product_rest(&work.before);
		product_rest(&work.after);
		lessen(call, &part, factor);
		work.before = values_of(call, &part, chunk);
		part = next;
	}
	AMX_WRITTEN();
	product_rest(&work.before);
}

SIMD_BODY void amx_tile(const struct attention_call *call, const int chunk)
{
	struct amx_config config, before;
	amx_whole_tiles(&config);
	amx_enter(&config, &before);
	AMX_WRITTEN();
	amx_parts(call, chunk);
	amx_leave(&before);
}

/* A unit of a row of o, whose columns are as vi_interleave leaves them, times FACTOR, or the LEFT values of it. */
SIMD_INLINE void store_unit(const float *o, vfloat factor, size_t left, uint16_t *to)
{
	vfloat value[UNIT_VECTORS];
	SIMD_FOR (size_t i = 0; i < UNIT_VECTORS; i++)
		value[i] = v_mul(v_load(o + i * LANES), factor);
#ifdef SIMD_HAS_HALVES
	v_deinterleave(value);
#endif
	if (left >= UNIT)
		round_unit(to, value);
	else
		for (size_t i = 0; i < UNIT_VECTORS && i * LANES < left; i++)
			store_left(TCB_TYPE_BF16, to + i * LANES, left - i * LANES, value[i]);
}

SIMD_INLINE void store_rows(const struct attention_call *call)
{
	for (size_t r = 0; r < call->rows; r++) {
		const vfloat factor = v_set(call->sum[r] == 0 ? 0 : 1 / call->sum[r]);
		ask_for_row(call, r + ROWS_AHEAD, call->v, 1);
		for (size_t at = 0; at < call->v; at += UNIT)
			store_unit(call->o + r * call->o_lead + at, factor, call->v - at,
				   (uint16_t *)call->io_row[r] + at);
	}
}

SIMD_INLINE void around_tiles_amx(const struct attention_call *call)
{
	if (call->stage == ATTENTION_LOAD)
		load_q_tiles(call);
	else if (call->stage == ATTENTION_STORE)
		store_rows(call);
	else
		around_tiles(call, 0);
}

#endif
#endif
