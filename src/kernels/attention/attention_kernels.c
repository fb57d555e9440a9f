/* SPDX-License-Identifier: MIT
 *
 * The micro-kernels of attention_decode on CPUs, written once in vector operations.
 *
 * Scores: LANES sums are in registers, of ROWS query rows by LANES / ROWS tokens;
 * they are added up to one vector of results.  Values, in one of two ways: with
 * step=0 weights of ROWS query rows by a few tokens are in registers while the head
 * goes by; with other steps ROWS query rows by a few vectors of the head are, while
 * a step's tokens go by.
 */
#include "kernels/attention/attention_twelve.h"

enum {
	ROWS_TOGETHER = LANES < 8 ? LANES : 8,
	VECTORS = ATTENTION_BLOCK / LANES, /* of a unit of the head */
	WEIGHTS = LANES == 8 ? 8 : 16,     /* in registers (attention_tokens_of) */
	FAR = 32,                          /* tokens */
	WHOLE = 8, /* vectors: as many of a head's are added up in whole passes for any number of rows */
};

/* How far from the rows of COUNT tokens from T on those are that are asked for meanwhile, or NULL AHEAD: 0.  With ASKS
 * one line is asked for of those that are FAR tokens further on: where a page is takes as long to find out as what is
 * in it, on a virtual machine longer. */
SIMD_INLINE void find_distances(const struct attention_call *call, const void *const *rows, const void *const *ahead,
				size_t t, const int count, const int asks, ptrdiff_t *out)
{
	if (asks && t + FAR + (size_t)count <= call->tokens)
		SIMD_FOR (int j = 0; j < count; j++)
			__builtin_prefetch(ahead[t + FAR + (size_t)j], 0, 3);
	SIMD_FOR (int j = 0; j < count; j++)
		out[j] = ahead ? (const char *)ahead[t + (size_t)j] - (const char *)rows[t + (size_t)j] : 0;
}

SIMD_INLINE int is_in_parts(const int kind)
{
	return kind == KV_PARTS || kind == KV_FINITE_PARTS;
}

/* Of tokens BEGIN to END - 1, whose rows of E4M3 are ROWS, of BYTES: whole numbers of eight. */
SIMD_INLINE int have_nan(const void *const *rows, size_t begin, size_t end, size_t bytes)
{
	typedef uint64_t eight __attribute__((aligned(1), may_alias));
	uint64_t any = 0;
	for (size_t t = begin; t < end; t++) {
		const eight *codes = rows[t];
		for (size_t i = 0; i < bytes / 8; i++)
			any |= (codes[i] & 0x7f7f7f7f7f7f7f7f) + 0x0101010101010101;
	}
	return (any & 0x8080808080808080) != 0;
}

/* KV heads and tokens that are gone over, all of a token's heads before the next tokens. */
struct span {
	size_t head, end_head, begin, end;
};

/* --- scores --- */

/* ROWS rows of each head from its row FIRST on.  q is [unit of the head][vector][row][lane], so that one address and
 * constants find it.  The last tokens are whole groups with what follows. */
SIMD_BODY void score_rows(const struct attention_call *call, const int kind, const int is_whole, const int rows,
			  const struct span *span, size_t first)
{
	enum { SUMS = LANES };
	const int asks = first == 0 && call->k_ahead;
	const int tokens = SUMS / (rows == 3 ? 4 : rows);
	const size_t head_bytes = kv_bytes(kind, call->k), head_rows = call->head_rows;
	const size_t left = is_whole ? 0 : call->k % ATTENTION_BLOCK, units = call->k - left;
	const size_t past = is_whole ? 0 : call->q_lead - (call->k + LANES - 1) / LANES * LANES;
	for (size_t t = span->begin; t < span->end; t += (size_t)tokens) {
		const float *q = call->q + span->head * head_rows * call->q_lead + first * LANES;
		float *out = call->scores + (span->head * head_rows + first) * ATTENTION_DECODE_LEAD + t;
		const char *k[SUMS];
		ptrdiff_t ahead[SUMS];
		find_distances(call, call->k_rows, call->k_ahead, t, tokens, asks, ahead);
		SIMD_FOR (int j = 0; j < tokens; j++)
			k[j] = (const char *)call->k_rows[t + (size_t)j] + span->head * head_bytes;
		for (size_t h = span->head; h < span->end_head; h++) {
			vfloat sum[SUMS];
			float result[LANES];
			SIMD_FOR (int i = 0; i < SUMS; i++)
				sum[i] = v_set(0);
			for (size_t at = 0; at < units; at += ATTENTION_BLOCK) {
				SIMD_FOR (int v = 0; v < VECTORS; v++) {
					SIMD_ADDRESS(q);
					SIMD_FOR (int j = 0; j < tokens; j++) {
						const vfloat value = load_kv(kind, k[j], (size_t)v * LANES);
						if (v == 0 && asks)
							__builtin_prefetch(k[j] + ahead[j], 0, 3);
						SIMD_FOR (int r = 0; r < rows; r++)
							sum[r * tokens + j] = v_fma(v_load(q + r * LANES), value,
										    sum[r * tokens + j]);
					}
					q += head_rows * LANES;
				}
				SIMD_FOR (int j = 0; j < tokens; j++) {
					k[j] += kv_bytes(kind, ATTENTION_BLOCK);
					SIMD_ADDRESS(k[j]);
				}
			}
			for (size_t at = 0; at < left; at += LANES) {
				SIMD_FOR (int j = 0; j < tokens; j++) {
					const vfloat value = load_kv_left(kind, k[j], at, left - at);
					SIMD_FOR (int r = 0; r < rows; r++)
						sum[r * tokens + j] =
							v_fma(v_load(q + r * LANES), value, sum[r * tokens + j]);
				}
				q += head_rows * LANES;
			}
			if (!is_whole) {
				q += head_rows * past;
				SIMD_FOR (int j = 0; j < tokens; j++)
					k[j] += kv_bytes(kind, left);
			}
			const vfloat all = v_reduce_each(sum);
			v_store(result, is_in_parts(kind) ? v_mul(all, v_set(E4M3_PARTS)) : all);
			SIMD_FOR (int r = 0; r < rows; r++)
				memcpy(out + r * ATTENTION_DECODE_LEAD, result + r * tokens,
				       (size_t)tokens * sizeof(float));
			out += head_rows * ATTENTION_DECODE_LEAD;
		}
	}
}

SIMD_INLINE void scores(const struct attention_call *call, const int kind, const int is_whole, const struct span *span)
{
	enum { MOST = ROWS_TOGETHER };
	const size_t rows = call->head_rows;
	size_t r = 0;
	for (; MOST >= 8 && r + 8 <= rows; r += 8)
		score_rows(call, kind, is_whole, MOST >= 8 ? 8 : 1, span, r);
	for (; MOST >= 4 && r + 4 <= rows; r += 4)
		score_rows(call, kind, is_whole, MOST >= 4 ? 4 : 1, span, r);
	for (; MOST >= 4 && r + 3 <= rows; r += 3)
		score_rows(call, kind, is_whole, MOST >= 4 ? 3 : 1, span, r);
	for (; MOST >= 2 && r + 2 <= rows; r += 2)
		score_rows(call, kind, is_whole, MOST >= 2 ? 2 : 1, span, r);
	for (; r < rows; r++)
		score_rows(call, kind, is_whole, 1, span, r);
}

/* --- values, weights in registers --- */

/* TOKENS tokens of a head, a vector that is AT of whose unit ROW points to, or the LEFT values of it, by WEIGHT, added
 * to ROWS rows of o, which are O_LEAD floats apart. */
SIMD_INLINE void add_vector(const int kind, const int rows, const int tokens, const char *const row[], size_t at,
			    size_t left, const vfloat weight[], float *o, size_t o_lead)
{
	vfloat sum[4];
	SIMD_FOR (int r = 0; r < rows; r++)
		sum[r] = v_load(o + (size_t)r * o_lead + at);
	SIMD_FOR (int j = 0; j < tokens; j++) {
		const vfloat value = load_kv_left(kind, row[j], at, left);
		SIMD_FOR (int r = 0; r < rows; r++)
			sum[r] = v_fma(weight[r * tokens + j], value, sum[r]);
	}
	SIMD_FOR (int r = 0; r < rows; r++)
		v_store(o + (size_t)r * o_lead + at, sum[r]);
}

/* ROWS rows of each head from its row FIRST on.  Tokens past the tile's have weights of 0 and its last row. */
SIMD_BODY void add_tokens(const struct attention_call *call, const int kind, const int is_whole, const int rows,
			  const struct span *span, size_t first)
{
	const int tokens = (int)attention_tokens_of(LANES, (size_t)rows), asks = first == 0 && call->v_ahead;
	const size_t left = is_whole ? 0 : call->v % ATTENTION_BLOCK, units = call->v - left;
	const size_t past = is_whole ? 0 : call->v_apart - kv_bytes(kind, units), head_rows = call->head_rows;
	for (size_t t = span->begin; t < span->end; t += (size_t)tokens) {
		const float *p = call->scores + (span->head * head_rows + first) * ATTENTION_DECODE_LEAD + t;
		float *o = call->o + (span->head * head_rows + first) * call->o_lead;
		const char *row[LANES];
		ptrdiff_t ahead[LANES];
		find_distances(call, call->v_rows, call->v_ahead, t, tokens, asks, ahead);
		SIMD_FOR (int j = 0; j < tokens; j++)
			row[j] = (const char *)call->v_rows[t + (size_t)j] + span->head * call->v_apart;
		for (size_t h = span->head; h < span->end_head; h++) {
			vfloat weight[WEIGHTS];
			SIMD_FOR (int i = 0; i < rows * tokens; i++)
				weight[i] = v_set(p[i / tokens * ATTENTION_DECODE_LEAD + i % tokens]);
			for (size_t at = 0; at < units; at += ATTENTION_BLOCK) {
				if (asks)
					SIMD_FOR (int j = 0; j < tokens; j++)
						__builtin_prefetch(row[j] + ahead[j], 0, 3);
				SIMD_FOR (size_t v = 0; v < VECTORS; v++)
					add_vector(kind, rows, tokens, row, v * LANES, LANES, weight, o + at,
						   call->o_lead);
				SIMD_FOR (int j = 0; j < tokens; j++) {
					row[j] += kv_bytes(kind, ATTENTION_BLOCK);
					SIMD_ADDRESS(row[j]);
				}
			}
			if (!is_whole) {
				for (size_t at = 0; at < left; at += LANES)
					add_vector(kind, rows, tokens, row, at, left - at, weight, o + units,
						   call->o_lead);
				SIMD_FOR (int j = 0; j < tokens; j++)
					row[j] += past;
			}
			o += head_rows * call->o_lead;
			p += head_rows * ATTENTION_DECODE_LEAD;
		}
	}
}

SIMD_INLINE void values_of_few(const struct attention_call *call, const int kind, const int is_whole,
			       const struct span *span)
{
	const size_t rows = call->head_rows;
	size_t r = 0;
	for (; r + 4 <= rows; r += 4)
		add_tokens(call, kind, is_whole, 4, span, r);
	for (; r + 3 <= rows; r += 3)
		add_tokens(call, kind, is_whole, 3, span, r);
	for (; r + 2 <= rows; r += 2)
		add_tokens(call, kind, is_whole, 2, span, r);
	for (; r < rows; r++)
		add_tokens(call, kind, is_whole, 1, span, r);
}

/* --- values, sums in registers --- */

/* ROWS rows from FIRST on, VECTORS vectors of the head from AT on, of which the last is of LEFT values if not whole,
 * tokens BEGIN to END - 1. */
SIMD_BODY void add_values(const struct attention_call *call, const int kind, const int rows, const int vectors,
			  const size_t left, const struct head *head, size_t first, size_t at, size_t begin, size_t end)
{
	const int bytes = (int)kv_bytes(kind, ATTENTION_BLOCK) * vectors / VECTORS;
	const int asks = first == 0 && call->v_ahead;
	vfloat sum[8][8];
	float *o = head->o + first * call->o_lead + at;
	const float *p = head->scores + first * ATTENTION_DECODE_LEAD;
	/* Constants below where all that is added up here begins with a block: compilers then keep one address. */
	const size_t within = vectors * LANES % ATTENTION_BLOCK ? at % ATTENTION_BLOCK : 0;
	const size_t from = head->at + kv_bytes(kind, at - within);
	SIMD_FOR (int r = 0; r < rows; r++)
		SIMD_FOR (int v = 0; v < vectors; v++)
			sum[r][v] = v_load(o + (size_t)r * call->o_lead + (size_t)v * LANES);
	for (size_t t = begin; t < end; t++) {
		const char *row = (const char *)call->v_rows[t] + from;
		const float *weight = p + t;
		SIMD_ADDRESS(row);
		SIMD_ADDRESS(weight);
		if (asks)
			SIMD_FOR (int at_line = 0; at_line < bytes; at_line += LINE)
				__builtin_prefetch((const char *)call->v_ahead[t] + from + at_line, 0, 3);
		SIMD_FOR (int v = 0; v < vectors; v++) {
			const vfloat value = load_kv_left(kind, row, within + (size_t)v * LANES, left);
			SIMD_FOR (int r = 0; r < rows; r++)
				sum[r][v] = v_fma(v_set(weight[r * ATTENTION_DECODE_LEAD]), value, sum[r][v]);
		}
	}
	SIMD_FOR (int r = 0; r < rows; r++)
		SIMD_FOR (int v = 0; v < vectors; v++)
			v_store(o + (size_t)r * call->o_lead + (size_t)v * LANES, sum[r][v]);
}

/* Of the head, with ROWS rows: registers for sums; WHOLE is a multiple. */
SIMD_INLINE int vectors_of(const int rows)
{
	return LANES == 8 || rows < 2 ? 8 / rows : 16 / rows;
}

SIMD_INLINE void values_of_rows(const struct attention_call *call, const int kind, const int is_whole, const int rows,
				const struct head *head, size_t first, size_t begin, size_t end)
{
	const int vectors = vectors_of(rows);
	size_t at = 0;
	for (; at + (size_t)vectors * LANES <= call->v; at += (size_t)vectors * LANES)
		add_values(call, kind, rows, vectors, LANES, head, first, at, begin, end);
	if (is_whole)
		return;
	for (; vectors > 4 && at + 4 * LANES <= call->v; at += 4 * LANES)
		add_values(call, kind, rows, 4, LANES, head, first, at, begin, end);
	for (; vectors > 2 && at + 2 * LANES <= call->v; at += 2 * LANES)
		add_values(call, kind, rows, 2, LANES, head, first, at, begin, end);
	for (; at + LANES <= call->v; at += LANES)
		add_values(call, kind, rows, 1, LANES, head, first, at, begin, end);
	if (at < call->v)
		add_values(call, kind, rows, 1, LANES / 2, head, first, at, begin, end);
}

SIMD_INLINE void values(const struct attention_call *call, const int kind, const int is_whole, const struct head *head,
			size_t begin, size_t end)
{
	size_t r = 0;
	for (; r + 8 <= head->rows; r += 8)
		values_of_rows(call, kind, is_whole, 8, head, r, begin, end);
	for (; r + 4 <= head->rows; r += 4)
		values_of_rows(call, kind, is_whole, 4, head, r, begin, end);
	for (; r + 2 <= head->rows; r += 2)
		values_of_rows(call, kind, is_whole, 2, head, r, begin, end);
	for (; r < head->rows; r++)
		values_of_rows(call, kind, is_whole, 1, head, r, begin, end);
}

SIMD_INLINE void values_of_span(const struct attention_call *call, const int kind, const int is_whole,
				const struct span *span)
{
	const struct head head = head_of(call, span->head, call->v_apart);
	if (call->step)
		values(call, kind, is_whole, &head, span->begin, span->end);
	else
		values_of_few(call, kind, is_whole, span);
}

/* Tokens T to END - 1, from the head HEAD on: with step=0 all heads. */
SIMD_INLINE struct span span_of(const struct attention_call *call, size_t t, size_t end, size_t head)
{
	return (struct span){ head, call->step ? head + 1 : call->heads, t, end };
}

/* A step's tokens of all heads before the next step: a token's heads lie side by side. */
SIMD_INLINE size_t step_of(const struct attention_call *call)
{
	if (call->step)
		return call->step;
	return attention_least_step(LANES, call->head_rows);
}

SIMD_INLINE void all_scores(const struct attention_call *call, const int kind, const int is_whole)
{
	const size_t step = step_of(call), spans = call->step ? call->heads : 1;
	const int is_fp8 = kind == TCB_KV_KIND_FP8;
	for (size_t t = 0; t < call->tokens; t += step) {
		const size_t end = t + step < call->tokens ? t + step : call->tokens;
		const int is_finite = is_fp8 && !have_nan(call->k_rows, t, end, call->heads * call->k_apart);
		for (size_t h = 0; h < spans; h++) {
			const struct span span = span_of(call, t, end, h);
			if (is_finite)
				scores(call, KV_FINITE_PARTS, is_whole, &span);
			else
				scores(call, is_fp8 ? KV_PARTS : kind, is_whole, &span);
		}
	}
}

SIMD_INLINE void all_values(const struct attention_call *call, const int kind, const int is_whole)
{
	const size_t step = step_of(call), spans = call->step ? call->heads : 1;
	const int is_fp8 = kind == TCB_KV_KIND_FP8;
	for (size_t t = 0; t < call->tokens; t += step) {
		const size_t end = t + step < call->tokens ? t + step : call->tokens;
		const int is_finite = is_fp8 && !have_nan(call->v_rows, t, end, call->heads * call->v_apart);
		for (size_t h = 0; h < spans; h++) {
			const struct span span = span_of(call, t, end, h);
			if (is_finite)
				values_of_span(call, KV_FINITE_PARTS, is_whole, &span);
			else
				values_of_span(call, is_fp8 ? KV_PARTS : kind, is_whole, &span);
		}
	}
}

/* V's heads of all that registers hold, which lie side by side. */
SIMD_INLINE int has_whole_values(const struct attention_call *call, const int kind)
{
	return call->v % ATTENTION_BLOCK == 0 && call->v % (WHOLE * LANES) == 0 &&
	       call->v_apart == kv_bytes(kind, call->v);
}

/* Heads that are no whole number of what registers hold have functions of their own, whose many ways to go over K or V
 * leave others' registers alone. */
#define BODY static __attribute__((noinline)) void
#define OF_KIND(ID, ...)                                                      \
	BODY SIMD_NAME(twelve_scores_##ID)(const struct attention_call *call) \
	{                                                                     \
		all_twelve(call, TCB_KV_KIND_##ID, 0);                        \
	}                                                                     \
	BODY SIMD_NAME(twelve_values_##ID)(const struct attention_call *call) \
	{                                                                     \
		all_twelve(call, TCB_KV_KIND_##ID, 1);                        \
	}                                                                     \
	BODY SIMD_NAME(part_scores_##ID)(const struct attention_call *call)   \
	{                                                                     \
		all_scores(call, TCB_KV_KIND_##ID, 0);                        \
	}                                                                     \
	BODY SIMD_NAME(scores_##ID)(const struct attention_call *call)        \
	{                                                                     \
		if (has_twelve(call, TCB_KV_KIND_##ID, 0))                    \
			SIMD_NAME(twelve_scores_##ID)(call);                  \
		else if (call->k % ATTENTION_BLOCK == 0)                      \
			all_scores(call, TCB_KV_KIND_##ID, 1);                \
		else                                                          \
			SIMD_NAME(part_scores_##ID)(call);                    \
	}                                                                     \
	BODY SIMD_NAME(part_values_##ID)(const struct attention_call *call)   \
	{                                                                     \
		all_values(call, TCB_KV_KIND_##ID, 0);                        \
	}                                                                     \
	BODY SIMD_NAME(values_##ID)(const struct attention_call *call)        \
	{                                                                     \
		if (!call->step && has_twelve(call, TCB_KV_KIND_##ID, 1))     \
			SIMD_NAME(twelve_values_##ID)(call);                  \
		else if (has_whole_values(call, TCB_KV_KIND_##ID))            \
			all_values(call, TCB_KV_KIND_##ID, 1);                \
		else                                                          \
			SIMD_NAME(part_values_##ID)(call);                    \
	}
TCB_KV_KIND_LIST(OF_KIND)

/* What weights are stored times: V is in parts. */
#define PARTS_OF(kind) ((kind) == TCB_KV_KIND_FP8 ? E4M3_PARTS : 1)

/* Scores of all heads before the first weights: these are long chains, and of many rows at a time. */
#define ATTENTION_KERNEL(kv, ID, K, V, ...)                                                          \
	static void SIMD_NAME(attention_##kv)(const struct attention_call *call)                     \
	{                                                                                            \
		const unsigned before = v_flush_begin();                                             \
		if (call->stage == ATTENTION_TILE) {                                                 \
			SIMD_NAME(scores_##K)(call);                                                 \
			for (size_t r = 0; r < call->rows; r += LANES)                               \
				weigh_rows(call, r, call->rows - r < LANES ? call->rows - r : LANES, \
					   PARTS_OF(TCB_KV_KIND_##V), 0);                            \
			SIMD_NAME(values_##V)(call);                                                 \
		} else                                                                               \
			around_tiles(call, 1);                                                       \
		v_flush_end(before);                                                                 \
	}
/* Contract f16 of what OWN_<kv> stands for has kernels of its own (attention_halves_kernels.c). */
#if LANES == 8
#define OWN_q80 own, NO_ROW
#define OWN_q40 own, NO_ROW
#define OWN_q80q40 own, NO_ROW
#endif
#define NO_ROW(kv)
#define HALF_ROW(kv) ATTENTION_ROW(decode_##kv, TCB_CONTRACT_F16, "half", 1, LANES, SIMD_NAME(attention_##kv))
#define SECOND(...) SECOND_OF(__VA_ARGS__)
#define SECOND_OF(a, b, ...) b
#define ATTENTION_TABLE(kv, ...)                                                                         \
	const struct tcb_variant SIMD_NAME(attention_decode_##kv##_variants)[] = {                       \
		ATTENTION_ROW(decode_##kv, TCB_CONTRACT_F32, "f32", 1, LANES, SIMD_NAME(attention_##kv)) \
			SECOND(OWN_##kv, HALF_ROW, )(kv){ .name = NULL },                                \
	};

TCB_KV_LIST(ATTENTION_KERNEL, )
TCB_KV_LIST(ATTENTION_TABLE, )
