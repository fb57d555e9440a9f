/* SPDX-License-Identifier: MIT
 *
 * The micro-kernels of attention_decode with KV of Q8_0, of Q4_0 or of both under contract f16 on CPUs with AVX2, whose
 * products of bytes saturate and whose products of 16 bits do not (simd.h: SIMD_HAS_HALF_PRODUCTS).
 *
 * Scores: a row of q becomes whole numbers of a power of two, of 16 bits. A token's codes become as wide, once for all
 * query rows of its KV head; a block's products are added up as words, which become floats and are multiplied by its
 * scale.  LANES such sums, of ROWS query rows by LANES / ROWS tokens, are in registers.  Values: as in
 * attention_codes_kernels.c weights times scales are integers of 16 bits, which multiply codes of two tokens at a time,
 * half a block by all of ROWS rows.
 */
#include "kernels/attention/attention_codes.h"

enum { HALF_UNIT = UNIT / 2, WORDS = UNIT / 4 };

/* A unit of a query row, of each four values the first and the third and then the others.  A head's are in place of its
 * rows of floats, [unit][row], and then each row's scale. */
struct halves {
	int16_t value[UNIT];
	int32_t start; /* of the sums of their products */
};

SIMD_INLINE float *scale_of(const struct attention_call *call, float *head_q, size_t row)
{
	struct halves *halves = (struct halves *)(void *)head_q;
	return (float *)(void *)(halves + call->k / UNIT * call->head_rows) + row;
}

/* A unit of the head at AT, times FACTOR. */
SIMD_INLINE void load_unit(const int kind, const void *row, enum tcb_type io, size_t at, float factor,
			   struct halves *out)
{
	int16_t halves[UNIT];
	int32_t sum = 0;
	SIMD_FOR (size_t v = 0; v < UNIT; v += LANES)
		vi_store_halves(halves + v, vi_to_words(v_mul(load_half(io, row, at + v), v_set(factor))));
	for (size_t i = 0; i < UNIT; i++) {
		out->value[i / 4 * 4 + i % 4 / 2 + i % 2 * 2] = halves[i];
		sum += halves[i];
	}
	out->start = kind == TCB_KV_KIND_Q40 ? -8 * sum : 0;
}

SIMD_INLINE void load_queries(const struct attention_call *call, const int kind)
{
	for (size_t r = 0; r < call->rows; r++) {
		const size_t of_head = r % call->head_rows;
		float *head_q = call->q + (r - of_head) * call->q_lead;
		struct halves *out = (struct halves *)(void *)head_q + of_head;
		const float factor = query_factor(call, call->io_row[r], scale_of(call, head_q, of_head));
		for (size_t at = 0; at < call->k; at += UNIT, out += call->head_rows)
			load_unit(kind, call->io_row[r], call->io, at, factor, out);
	}
}

/* Blocks of a row that are gone over for each line that is asked for. */
SIMD_INLINE size_t blocks_of_line(const int kind)
{
	return kind == TCB_KV_KIND_Q40 ? 3 : 2;
}

/*
 * What is asked for while some tokens of a head are at work: the same tokens of a head that comes some heads later, or
 * tokens of the next step, before the first cache has lost it.  ROWS: their rows, each APART bytes further on than what
 * is at work; NULL: nothing.
 */
struct next {
	const void *const *rows;
	size_t at;
};

/* LATER heads after HEAD, of STEP tokens from T on. */
SIMD_INLINE struct next next_of(const struct attention_call *call, const void *const *rows, const void *const *ahead,
				size_t apart, size_t t, size_t step, size_t head, size_t later)
{
	const size_t steps = (head + later) / call->heads, token = t + steps * step;
	if (!ahead)
		return (struct next){ NULL, 0 };
	return (struct next){ token + step <= call->tokens ? rows + token : ahead + t,
			      (head + later) % call->heads * apart };
}

/* --- scores --- */

/* A word of four codes of each token, or of Q4_0 one of eight, by those values of ROWS rows. */
SIMD_INLINE void score_word(const int kind, const int rows, const struct halves *q, const int word, vint v,
			    vint sum[ROWS_MOST])
{
	const int parts = kind == TCB_KV_KIND_Q40 ? 4 : 2;
	vint codes[4];
	if (kind == TCB_KV_KIND_Q40)
		vi_halves_of_nibbles(v, codes);
	else
		vi_halves_of_words(v, codes);
	SIMD_FOR (int i = 0; i < parts; i++)
		SIMD_FOR (int r = 0; r < rows; r++)
			sum[r] = vi_dot16(sum[r], codes[i],
					  vi_two_halves(q[r].value + i / 2 * HALF_UNIT + 4 * word + i % 2 * 2));
}

/* Whether LANES rows lie APART bytes from each other. */
SIMD_INLINE int lie_apart(const void *const *rows, ptrdiff_t apart)
{
	int lie = 1;
	for (int j = 1; j < LANES; j++)
		lie &= (const char *)rows[j] - (const char *)rows[j - 1] == apart;
	return lie;
}

/* Addresses of LANES rows, AT bytes on: of ROWS or, with IS_REGULAR, APART bytes from each other, the first FROM, which
 * leaves more registers for addresses. */
SIMD_INLINE void find_addresses(const void *const *rows, const int is_regular, const char *from, size_t apart,
				size_t three_apart, size_t at, const uint8_t *out[LANES])
{
	from += at;
	SIMD_FOR (int j = 0; j < LANES; j++)
		if (!is_regular)
			out[j] = (const uint8_t *)rows[j] + at;
	SIMD_FOR (int j = 0; j < LANES; j += 4)
		if (is_regular) {
			SIMD_ADDRESS(from);
			out[j] = (const uint8_t *)from;
			out[j + 1] = (const uint8_t *)from + apart;
			out[j + 2] = (const uint8_t *)from + 2 * apart;
			out[j + 3] = (const uint8_t *)from + three_apart;
			from += 4 * apart;
		}
}

/* ROWS rows from FIRST on by LANES tokens from T on with scales D, [unit][token].  With ASKS NEXT is asked for. */
SIMD_BODY void score_tokens(const struct attention_call *call, const int kind, const int rows, const int asks,
			    const int is_regular, const struct head *head, size_t first, size_t t, const uint16_t *d,
			    const struct next *next)
{
	const struct halves *q = (const struct halves *)(const void *)head->q + first;
	const float *row_scale = scale_of(call, head->q, first);
	const void *const *k_rows = call->k_rows + t;
	const size_t bytes = block_of(kind), end = head->at + call->k_apart;
	const size_t apart = (size_t)((const char *)k_rows[1] - (const char *)k_rows[0]);
	const char *from = k_rows[0], *next_from = asks ? next->rows[0] : NULL;
	float *out = head->scores + first * ATTENTION_DECODE_LEAD + t;
	size_t three_apart = 3 * apart, next_at = asks ? next->at : 0;
	vfloat score[ROWS_MOST];
	SIMD_ADDRESS(three_apart);
	SIMD_FOR (int r = 0; r < rows; r++)
		score[r] = v_set(0);
	for (size_t at = head->at; at < end; at += bytes, next_at += bytes) {
		const uint8_t *k[LANES];
		vint sum[ROWS_MOST];
		if (asks) {
			find_addresses(next->rows, is_regular, next_from, apart, three_apart, next_at, k);
			SIMD_FOR (int j = 0; j < LANES; j++)
				__builtin_prefetch(k[j], 0, 3);
		}
		find_addresses(k_rows, is_regular, from, apart, three_apart, at, k);
		SIMD_FOR (int r = 0; r < rows; r++)
			sum[r] = vi_words(q[r].start);
		for (size_t w = 0; w < (kind == TCB_KV_KIND_Q40 ? WORDS / 2 : WORDS); w += 4) {
			vint words[4];
			vi_four_words(k, CODES_AT + 4 * w, words);
			SIMD_FOR (int i = 0; i < 4; i++)
				score_word(kind, rows, q, (int)w + i, words[i], sum);
		}
		const vfloat scale = v_from_f16(d);
		SIMD_FOR (int r = 0; r < rows; r++)
			score[r] = v_fma_into(score[r], v_from_words(sum[r]), scale);
		q += head->rows;
		d += SHARE_TOKENS;
	}
	SIMD_FOR (int r = 0; r < rows; r++)
		v_store(out + r * ATTENTION_DECODE_LEAD, v_mul(score[r], v_set(row_scale[r])));
}

SIMD_INLINE void score_rows(const struct attention_call *call, const int kind, const int rows, const struct head *head,
			    size_t first, size_t t, const uint16_t *d, const int is_regular, const struct next *next)
{
	if (!is_regular)
		score_tokens(call, kind, rows, 0, 0, head, first, t, d, next);
	else if (first == 0 && next->rows)
		score_tokens(call, kind, rows, 1, 1, head, first, t, d, next);
	else
		score_tokens(call, kind, rows, 0, 1, head, first, t, d, next);
}

/* LANES tokens from T on. */
SIMD_INLINE void scores(const struct attention_call *call, const int kind, const struct head *head, size_t t,
			const int is_regular, const struct next *next)
{
	const uint16_t *d = load_scales(call, kind, call->k_rows + t, LANES, call->k / UNIT, head->at);
	size_t r = 0;
	for (; r + 4 <= head->rows; r += 4)
		score_rows(call, kind, 4, head, r, t, d, is_regular, next);
	for (; r + 2 <= head->rows; r += 2)
		score_rows(call, kind, 2, head, r, t, d, is_regular, next);
	for (; r < head->rows; r++)
		score_rows(call, kind, 1, head, r, t, d, is_regular, next);
}

/* --- values --- */

/* Half a block of two tokens, in pairs: its first or its second codes, of Q4_0 those of its first or second eight
 * bytes, whose columns are half a block apart. */
SIMD_INLINE void load_pairs(const int kind, const char *even, const char *odd, vint pair[2])
{
	if (kind == TCB_KV_KIND_Q40)
		vi_eight_nibble_pairs((const uint8_t *)even, (const uint8_t *)odd, pair);
	else
		vi_byte_pairs((const int8_t *)even, (const int8_t *)odd, pair);
}

/* Half HALF of block U of COUNT tokens from T on, by weights of ROWS rows from FIRST on.  With ASKS NEXT is asked for.
 */
SIMD_BODY void add_half(const struct attention_call *call, const int kind, const int rows, const int asks,
			const struct head *head, size_t first, size_t t, size_t u, size_t half, const size_t count,
			const struct weights *weights, const struct next *next)
{
	enum { TOGETHER = 8 };
	const size_t bytes = kind == TCB_KV_KIND_Q40 ? LANES : HALF_UNIT;  /* of codes, and the second half's column */
	const size_t second = kind == TCB_KV_KIND_Q40 ? HALF_UNIT : LANES; /* column of the second vector */
	const size_t from = head->at + u * block_of(kind) + CODES_AT + half * bytes;
	const int16_t *weight = weights->w[u * (size_t)rows];
	vint sum[ROWS_MOST][2];
	SIMD_FOR (int r = 0; r < rows; r++)
		SIMD_FOR (int v = 0; v < 2; v++)
			sum[r][v] = vi_zero();
	for (size_t i = 0; i < count; i += TOGETHER)
		SIMD_FOR (size_t j = i; j < i + TOGETHER; j += 2) {
			const void *const *row = call->v_rows + t + j;
			vint pair[2];
			load_pairs(kind, (const char *)row[0] + from, (const char *)row[1] + from, pair);
			if (asks)
				SIMD_FOR (size_t odd = 0; odd < 2; odd++)
					__builtin_prefetch((const char *)next->rows[j + odd] + next->at +
								   u * block_of(kind),
							   0, 3);
			SIMD_FOR (int r = 0; r < rows; r++) {
				const vint both = vi_two_halves(weight + r * SHARE_TOKENS + j);
				SIMD_FOR (int v = 0; v < 2; v++)
					sum[r][v] = vi_dot16(sum[r][v], both, pair[v]);
			}
		}
	SIMD_FOR (int r = 0; r < rows; r++) {
		const vfloat back = v_set(weights->back[u * (size_t)rows + (size_t)r]);
		float *o = head->o + (first + (size_t)r) * call->o_lead + u * UNIT + half * bytes;
		v_store(o, v_fma(v_from_words(sum[r][0]), back, v_load(o)));
		v_store(o + second, v_fma(v_from_words(sum[r][1]), back, v_load(o + second)));
	}
}

SIMD_INLINE void values_of_rows(const struct attention_call *call, const int kind, const int rows,
				const struct head *head, size_t first, size_t t, const size_t count, const uint16_t *d,
				const struct next *next)
{
	struct weights weights;
	quantise(call, rows, count, head->scores + first * ATTENTION_DECODE_LEAD + t, d, &weights);
	for (size_t u = 0; u < call->v / UNIT; u++) {
		if (first == 0 && next->rows && u % blocks_of_line(kind) == 0)
			add_half(call, kind, rows, 1, head, first, t, u, 0, count, &weights, next);
		else
			add_half(call, kind, rows, 0, head, first, t, u, 0, count, &weights, next);
		add_half(call, kind, rows, 0, head, first, t, u, 1, count, &weights, next);
	}
}

/* COUNT tokens from T on. */
SIMD_INLINE void values(const struct attention_call *call, const int kind, const struct head *head, size_t t,
			const size_t count, const struct next *next)
{
	const uint16_t *d = load_scales(call, kind, call->v_rows + t, count, call->v / UNIT, head->at);
	size_t r = 0;
	for (; r + 4 <= head->rows; r += 4)
		values_of_rows(call, kind, 4, head, r, t, count, d, next);
	for (; r + 2 <= head->rows; r += 2)
		values_of_rows(call, kind, 2, head, r, t, count, d, next);
	for (; r < head->rows; r++)
		values_of_rows(call, kind, 1, head, r, t, count, d, next);
}

/* --- a tile --- */

/* LANES tokens of all heads before the next. */
SIMD_INLINE void all_scores(const struct attention_call *call, const int kind)
{
	enum { LATER = 4 }; /* heads */
	for (size_t t = 0; t < call->tokens; t += LANES) {
		const void *const *rows = call->k_rows + t;
		const ptrdiff_t apart = (const char *)rows[1] - (const char *)rows[0];
		const int is_regular = lie_apart(rows, apart);
		for (size_t h = 0; h < call->heads; h++) {
			const struct head head = head_of(call, h, call->k_apart);
			struct next next =
				next_of(call, call->k_rows, call->k_ahead, call->k_apart, t, LANES, h, LATER);
			if (next.rows && !lie_apart(next.rows, apart))
				next.rows = NULL;
			scores(call, kind, &head, t, is_regular, &next);
		}
	}
}

/* SHARE_TOKENS of all heads before the next, at last LANES. */
SIMD_INLINE void all_values(const struct attention_call *call, const int kind)
{
	enum { LATER = 2 }; /* heads */
	size_t count;
	for (size_t t = 0; t < call->tokens; t += count) {
		count = call->tokens - t > SHARE_TOKENS - LANES ? SHARE_TOKENS : LANES;
		for (size_t h = 0; h < call->heads; h++) {
			const struct head head = head_of(call, h, call->v_apart);
			const struct next next =
				next_of(call, call->v_rows, call->v_ahead, call->v_apart, t, count, h, LATER);
			if (count == SHARE_TOKENS)
				values(call, kind, &head, t, SHARE_TOKENS, &next);
			else
				values(call, kind, &head, t, LANES, &next);
		}
	}
}

/* Apart, so that neither takes the other's registers. */
#define OF_KIND(KIND)                                                                          \
	static __attribute__((noinline)) void scores_##KIND(const struct attention_call *call) \
	{                                                                                      \
		all_scores(call, TCB_KV_KIND_##KIND);                                          \
	}                                                                                      \
	static __attribute__((noinline)) void values_##KIND(const struct attention_call *call) \
	{                                                                                      \
		all_values(call, TCB_KV_KIND_##KIND);                                          \
	}
OF_KIND(Q80)
OF_KIND(Q40)

#define KERNEL(kv, K, V)                                                                \
	static void SIMD_NAME(attention_##kv##_half)(const struct attention_call *call) \
	{                                                                               \
		const unsigned before = v_flush_begin();                                \
		if (call->stage == ATTENTION_LOAD) {                                    \
			load_queries(call, TCB_KV_KIND_##K);                            \
		} else if (call->stage == ATTENTION_TILE) {                             \
			scores_##K(call);                                               \
			weigh_all(call);                                                \
			values_##V(call);                                               \
		} else {                                                                \
			around_tiles(call, 0);                                          \
		}                                                                       \
		v_flush_end(before);                                                    \
	}                                                                               \
	const struct tcb_variant SIMD_NAME(attention_decode_##kv##_half_variants)[] = { \
		ATTENTION_ROW(decode_##kv, TCB_CONTRACT_F16, "half", 1, LANES,          \
			      SIMD_NAME(attention_##kv##_half)){ .name = NULL },        \
	};
KERNEL(q80, Q80, Q80)
KERNEL(q40, Q40, Q40)
KERNEL(q80q40, Q80, Q40)
