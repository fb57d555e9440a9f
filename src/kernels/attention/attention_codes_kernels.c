/* SPDX-License-Identifier: MIT
 *
 * The micro-kernels of attention_decode with KV of Q8_0, of Q4_0 or of both under contract f16 on CPUs with products
 * of bytes and of 16 bits (simd.h: SIMD_HAS_HALVES), in vector operations.
 *
 * Scores: a row of q becomes whole numbers of a power of two, in two signed bytes each.  Lanes are KV tokens: four
 * codes of each at a time are multiplied by four high and four low bytes of a query row, a block's sums become one
 * float. Values: of SHARE_TOKENS tokens a query row's weights times a block's scales become integers of 16 bits,
 * against the largest of them; codes of two tokens at a time are multiplied by these and added up as words, which
 * become floats once.
 */
#include "kernels/attention/attention_codes.h"
#include "kernels/simd/simd_pairs.h"

enum { WORDS = UNIT / 4 };

/* A unit of a query row.  A head's are in place of its rows of floats, [unit][row], and then each row's scale. */
struct codes {
	int8_t high[UNIT], low[UNIT];
	int32_t high_start, low_start; /* of the sums of their products (vi_signed_start) */
};

SIMD_INLINE float *scale_of(const struct attention_call *call, float *head_q, size_t row)
{
	struct codes *codes = (struct codes *)(void *)head_q;
	return (float *)(void *)(codes + call->k / UNIT * call->head_rows) + row;
}

/* A unit of the head at AT, times FACTOR. */
SIMD_INLINE void load_unit(const int kind, const void *row, enum tcb_type io, size_t at, float factor,
			   struct codes *out)
{
	int32_t words[UNIT];
	const int centre = kind == TCB_KV_KIND_Q40 ? 8 : 128; /* of K's codes as they are multiplied */
	int high_sum = 0, low_sum = 0;
	SIMD_FOR (size_t v = 0; v < UNIT; v += LANES)
		vi_store(words + v, vi_to_words(v_mul(load_half(io, row, at + v), v_set(factor))));
	for (size_t i = 0; i < UNIT; i++) {
		out->high[i] = (int8_t)((words[i] + 128) >> 8);
		out->low[i] = (int8_t)words[i];
	}
	for (size_t i = 0; i < UNIT; i++) {
		high_sum += out->high[i];
		low_sum += out->low[i];
	}
	out->high_start = -centre * high_sum;
	out->low_start = -centre * low_sum;
}

/* A row of q, whose first unit is OUT. */
SIMD_INLINE void load_query(const struct attention_call *call, const int kind, const void *row, struct codes *out,
			    float *scale)
{
	const float factor = query_factor(call, row, scale);
	for (size_t at = 0; at < call->k; at += UNIT)
		load_unit(kind, row, call->io, at, factor, out + at / UNIT * call->head_rows);
}

SIMD_INLINE void load_queries(const struct attention_call *call, const int kind)
{
	for (size_t r = 0; r < call->rows; r++) {
		const size_t of_head = r % call->head_rows;
		float *head_q = call->q + (r - of_head) * call->q_lead;
		load_query(call, kind, call->io_row[r], (struct codes *)(void *)head_q + of_head,
			   scale_of(call, head_q, of_head));
	}
}

/* --- scores --- */

/* ROWS rows, of which Q has a unit each, by that unit of VECTORS * LANES tokens, whose words are WORDS and scales D. */
SIMD_INLINE void score_unit(const int rows, const int vectors, const struct codes *q, vint words[2][WORDS],
			    const vfloat scale[2], vfloat *score)
{
	vint high[2][2], low[2][2];
	SIMD_FOR (int r = 0; r < rows; r++)
		SIMD_FOR (int v = 0; v < vectors; v++) {
			high[r][v] = vi_signed_start(vi_words(q[r].high_start));
			low[r][v] = vi_signed_start(vi_words(q[r].low_start));
		}
	SIMD_FOR (int w = 0; w < WORDS; w++)
		SIMD_FOR (int r = 0; r < rows; r++) {
			const vint q_high = vi_four_bytes(q[r].high + 4 * w), q_low = vi_four_bytes(q[r].low + 4 * w);
			SIMD_FOR (int v = 0; v < vectors; v++) {
				high[r][v] = vi_dot_in_place(high[r][v], words[v][w], q_high);
				low[r][v] = vi_dot_in_place(low[r][v], words[v][w], q_low);
			}
		}
	SIMD_FOR (int r = 0; r < rows; r++)
		SIMD_FOR (int v = 0; v < vectors; v++) {
			const vint sum = vi_add(vi_shift_left(high[r][v], 8), low[r][v]);
			score[r * vectors + v] = v_fma(v_from_words(sum), scale[v], score[r * vectors + v]);
		}
}

/* A unit of LANES tokens, of those from T on and at AT in their rows, or with IS_REGULAR of those that lie APART bytes
 * from each other, the first at FROM, which leaves more registers for addresses.  Returns where the next one's are. */
SIMD_INLINE const uint8_t *load_words(const struct attention_call *call, const int kind, const int is_regular, size_t t,
				      size_t at, const uint8_t *from, size_t apart, size_t three_apart,
				      vint words[WORDS])
{
	const uint8_t *k[LANES];
	SIMD_FOR (int j = 0; j < LANES; j++)
		if (!is_regular)
			k[j] = (const uint8_t *)call->k_rows[t + (size_t)j] + at;
	SIMD_FOR (int j = 0; j < LANES; j += 4)
		if (is_regular) {
			k[j] = from;
			k[j + 1] = from + apart;
			k[j + 2] = from + 2 * apart;
			k[j + 3] = from + three_apart;
			from += 4 * apart;
			SIMD_ADDRESS(from);
		}
	if (kind == TCB_KV_KIND_Q40) {
		vint both[WORDS / 2];
		vi_four_words(k, 0, both);
		SIMD_FOR (int w = 0; w < WORDS / 2; w++) {
			words[w] = vi_and(both[w], vi_bytes(15));
			words[WORDS / 2 + w] = vi_and(vi_shift_right(both[w], 4), vi_bytes(15));
		}
		return from;
	}
	vi_eight_words(k, 0, words);
	SIMD_FOR (int w = 0; w < WORDS; w++)
		words[w] = vi_as_unsigned(words[w]);
	return from;
}

/* ROWS rows from FIRST on, VECTORS * LANES tokens from T on, the first of which has scales D. */
SIMD_BODY void score_tokens(const struct attention_call *call, const int kind, const int rows, const int vectors,
			    const int is_regular, const struct head *head, size_t first, size_t t, const uint16_t *d,
			    struct ahead *ahead)
{
	const int each = rows < 2 ? 1 : 2;
	const size_t bytes = block_of(kind);
	const uint8_t *base = (const uint8_t *)call->k_rows[t] + head->at + CODES_AT;
	const size_t apart = (size_t)((const char *)call->k_rows[t + 1] - (const char *)call->k_rows[t]);
	const struct codes *q = (const struct codes *)(const void *)head->q + first;
	const float *row_scale = scale_of(call, head->q, first);
	float *out = head->scores + first * ATTENTION_DECODE_LEAD + t;
	size_t three_apart = 3 * apart, at = head->at + CODES_AT;
	vfloat score[ROWS_MOST * 2];
	SIMD_ADDRESS(three_apart);
	SIMD_FOR (int i = 0; i < rows * vectors; i++)
		score[i] = v_set(0);
	for (const uint8_t *end = base + call->k_apart; base < end; base += bytes, at += bytes) {
		vint words[2][WORDS];
		vfloat scale[2];
		const uint8_t *from = base;
		if (first == 0)
			fetch(ahead, (vectors * LANES * (int)bytes + LINE - 1) / LINE);
		SIMD_FOR (int v = 0; v < vectors; v++)
			from = load_words(call, kind, is_regular, t + (size_t)(v * LANES), at, from, apart, three_apart,
					  words[v]);
		SIMD_FOR (int r = 0; r < rows; r += each) {
			SIMD_FOR (int v = 0; v < vectors; v++)
				scale[v] = v_from_f16(d + v * LANES);
			score_unit(each, vectors, q + r, words, scale, score + r * vectors);
		}
		q += head->rows;
		d += SHARE_TOKENS;
	}
	SIMD_FOR (int r = 0; r < rows; r++)
		SIMD_FOR (int v = 0; v < vectors; v++)
			v_store(out + r * ATTENTION_DECODE_LEAD + v * LANES,
				v_mul(score[r * vectors + v], v_set(row_scale[r])));
}

SIMD_INLINE void score_rows(const struct attention_call *call, const int kind, const int vectors, const int is_regular,
			    const struct head *head, size_t t, const uint16_t *d, struct ahead *ahead)
{
	size_t r = 0;
	for (; r + 4 <= head->rows; r += 4)
		score_tokens(call, kind, 4, vectors, is_regular, head, r, t, d, ahead);
	for (; r + 2 <= head->rows; r += 2)
		score_tokens(call, kind, 2, vectors, is_regular, head, r, t, d, ahead);
	for (; r < head->rows; r++)
		score_tokens(call, kind, 1, vectors, is_regular, head, r, t, d, ahead);
}

/* Whether COUNT tokens from T on lie a constant apart. */
SIMD_INLINE int lie_regularly(const struct attention_call *call, size_t t, size_t count)
{
	const char *const *row = (const char *const *)call->k_rows + t;
	int is_regular = 1;
	for (size_t i = 1; i < count; i++)
		is_regular &= row[i] - row[i - 1] == row[1] - row[0];
	return is_regular;
}

/* COUNT tokens from T on, whole vectors of them. */
SIMD_INLINE void scores(const struct attention_call *call, const int kind, const int is_regular,
			const struct head *head, size_t t, size_t count, struct ahead *ahead)
{
	const uint16_t *d = load_scales(call, kind, call->k_rows + t, count, call->k / UNIT, head->at);
	if (is_regular) {
		score_rows(call, kind, 2, 1, head, t, d, ahead);
		return;
	}
	for (size_t i = 0; i < count; i += LANES)
		score_rows(call, kind, 1, 0, head, t + i, d + i, ahead);
}

/* --- values --- */

/* Codes of a block of two tokens, in pairs. */
SIMD_INLINE void load_pairs(const int kind, const int8_t *even, const int8_t *odd, vint pair[VECTORS])
{
	if (kind == TCB_KV_KIND_Q40)
		vi_nibble_pairs((const uint8_t *)even, (const uint8_t *)odd, pair);
	else
		vi_interleave(vi_halves_of_bytes(even), vi_halves_of_bytes(odd), pair);
}

/* BLOCKS blocks from unit U on: codes of COUNT tokens by weights of ROWS rows from FIRST on.  Columns of a block are in
 * o as products of 16 bits leave them, of Q8_0 as of vi_interleave. */
SIMD_BODY void add_blocks(const struct attention_call *call, const int kind, const int rows, const int blocks,
			  const struct head *head, size_t first, size_t u, const void *const *v_rows, size_t count,
			  const struct weights *weights, struct ahead *ahead)
{
	const size_t bytes = block_of(kind), from = head->at + u * bytes + CODES_AT;
	const int16_t(*all)[SHARE_TOKENS] = weights->w + u * (size_t)rows;
	vint sum[ROWS_MOST][2][VECTORS];
	SIMD_FOR (int r = 0; r < rows; r++)
		SIMD_FOR (int b = 0; b < blocks; b++)
			SIMD_FOR (int v = 0; v < VECTORS; v++)
				sum[r][b][v] = vi_zero();
	/* A block of two tokens of Q8_0 has 68 bytes: a line each while they go by, and one more for 32 of them; of
	 * Q4_0 it has 36, so that lines are asked for by every other pair. */
	const int asks = first == 0 && ahead->row_lines;
	const int lines = kind == TCB_KV_KIND_Q40 ? (blocks + 1) / 2 : blocks;
	const char *next = ahead->at;
	for (size_t t = 0; t < count; t += 2) {
		const int8_t *even = (const int8_t *)v_rows[t] + from, *odd = (const int8_t *)v_rows[t + 1] + from;
		const int16_t *weight = all[0] + t;
		SIMD_ADDRESS(even);
		SIMD_ADDRESS(odd);
		SIMD_ADDRESS(weight);
		if (asks) {
			SIMD_FOR (int b = 0; b < lines; b++)
				__builtin_prefetch(next + b * LINE, 0, 3);
			next += lines * LINE;
			SIMD_ADDRESS(next);
		}
		SIMD_FOR (int b = 0; b < blocks; b++) {
			vint pair[VECTORS];
			load_pairs(kind, even + (size_t)b * bytes, odd + (size_t)b * bytes, pair);
			SIMD_FOR (int r = 0; r < rows; r++) {
				const vint both = vi_two_halves(weight + (b * rows + r) * SHARE_TOKENS);
				SIMD_FOR (int v = 0; v < VECTORS; v++)
					sum[r][b][v] = vi_dot16(sum[r][b][v], both, pair[v]);
			}
		}
	}
	if (asks) {
		move_on(ahead, (next - ahead->at) / LINE);
		fetch(ahead, lines);
	}
	SIMD_FOR (int r = 0; r < rows; r++)
		SIMD_FOR (int b = 0; b < blocks; b++) {
			float *o = head->o + (first + (size_t)r) * call->o_lead + (u + (size_t)b) * UNIT;
			const vfloat back = v_set(weights->back[(u + (size_t)b) * (size_t)rows + (size_t)r]);
			SIMD_FOR (int v = 0; v < VECTORS; v++)
				v_store(o + v * LANES, v_fma(v_from_words(sum[r][b][v]), back, v_load(o + v * LANES)));
		}
}

SIMD_INLINE void values_of_rows(const struct attention_call *call, const int kind, const int rows,
				const struct head *head, size_t first, size_t t, size_t count, const uint16_t *d,
				struct ahead *ahead)
{
	enum { BLOCKS = 2 };
	struct weights weights;
	const float *p = head->scores + first * ATTENTION_DECODE_LEAD + t;
	const size_t units = call->v / UNIT;
	size_t u = 0;
	if (count == SHARE_TOKENS)
		quantise(call, rows, SHARE_TOKENS, p, d, &weights);
	else
		quantise(call, rows, LANES, p, d, &weights);
	for (; u + BLOCKS <= units; u += BLOCKS)
		add_blocks(call, kind, rows, BLOCKS, head, first, u, call->v_rows + t, count, &weights, ahead);
	for (; u < units; u++)
		add_blocks(call, kind, rows, 1, head, first, u, call->v_rows + t, count, &weights, ahead);
}

/* COUNT tokens from T on, whole vectors of them. */
SIMD_INLINE void values(const struct attention_call *call, const int kind, const struct head *head, size_t t,
			size_t count, struct ahead *ahead)
{
	const uint16_t *d = load_scales(call, kind, call->v_rows + t, count, call->v / UNIT, head->at);
	size_t r = 0;
	for (; r + 4 <= head->rows; r += 4)
		values_of_rows(call, kind, 4, head, r, t, count, d, ahead);
	for (; r + 2 <= head->rows; r += 2)
		values_of_rows(call, kind, 2, head, r, t, count, d, ahead);
	for (; r < head->rows; r++)
		values_of_rows(call, kind, 1, head, r, t, count, d, ahead);
}

SIMD_INLINE void all_scores(const struct attention_call *call, const int kind)
{
	struct ahead ahead = ahead_of(call, call->k_apart, call->k_ahead);
	for (size_t t = 0; t < call->tokens; t += SHARE_TOKENS) {
		const size_t left = whole_vectors(call->tokens - t), count = left < SHARE_TOKENS ? left : SHARE_TOKENS;
		const int is_regular = count == SHARE_TOKENS && lie_regularly(call, t, count);
		for (size_t h = 0; h < call->heads; h++) {
			const struct head head = head_of(call, h, call->k_apart);
			scores(call, kind, is_regular, &head, t, count, &ahead);
		}
	}
}

SIMD_INLINE void all_values(const struct attention_call *call, const int kind)
{
	struct ahead ahead = ahead_of(call, call->v_apart, call->v_ahead);
	for (size_t t = 0; t < call->tokens; t += SHARE_TOKENS) {
		const size_t left = whole_vectors(call->tokens - t), count = left < SHARE_TOKENS ? left : SHARE_TOKENS;
		for (size_t h = 0; h < call->heads; h++) {
			const struct head head = head_of(call, h, call->v_apart);
			values(call, kind, &head, t, count, &ahead);
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

SIMD_INLINE void around(const struct attention_call *call, const int k_kind, const int v_kind)
{
	if (call->stage == ATTENTION_LOAD) {
		load_queries(call, k_kind);
		return;
	}
	if (call->stage == ATTENTION_STORE && v_kind == TCB_KV_KIND_Q80)
		order_columns(call);
	around_tiles(call, 0);
}

#define KERNEL(kv, K, V)                                                                \
	static void SIMD_NAME(attention_##kv##_half)(const struct attention_call *call) \
	{                                                                               \
		const unsigned before = v_flush_begin();                                \
		if (call->stage == ATTENTION_TILE) {                                    \
			scores_##K(call);                                               \
			weigh_all(call);                                                \
			values_##V(call);                                               \
		} else                                                                  \
			around(call, TCB_KV_KIND_##K, TCB_KV_KIND_##V);                 \
		v_flush_end(before);                                                    \
	}                                                                               \
	const struct tcb_variant SIMD_NAME(attention_decode_##kv##_half_variants)[] = { \
		ATTENTION_ROW(decode_##kv, TCB_CONTRACT_F16, "half", 1, LANES,          \
			      SIMD_NAME(attention_##kv##_half)){ .name = NULL },        \
	};
KERNEL(q80, Q80, Q80)
KERNEL(q40, Q40, Q40)
KERNEL(q80q40, Q80, Q40)
