/* SPDX-License-Identifier: MIT
 *
 * The dense products of 16-bit types on AMX's tiles of bf16: the loops of a task,
 * from operands as stored to C.  matmul_amx.c takes the processor's tile
 * instructions, a test plain C's (amx_tiles.h).
 *
 *   midi m x (all k)  rows of A, packed once (second or third cache)
 *   midi k x n        a block of B, packed for each midi.m rows (second cache)
 *   micro m x n       one or two tiles each way; a panel of B stays in the first cache while the panels of A pass
 * Panels have steps of 32 values of k, the lines of amx_packed; what is past an edge is 0.
 *
 * A bf16 is multiplied as it is.  An f16 is the exact sum of two of bf16, HIGH and LOW, a plane of the panel each, low
 * at most 2^-8 of it; the products high x high, high x low and low x high are added up, and low x low, below 2^-16 of
 * the product, is not.  An infinite f16 gives NaN.  All sums of an output are one chain of tile instructions in the
 * order of k, whatever the geometry: a block of k goes on from the sums of the one before.
 */
#ifndef TCB_KERNELS_MATMUL_AMX_H
#define TCB_KERNELS_MATMUL_AMX_H

#include "base/sizes.h"
#include "kernels/matmul/matmul_move.h"
#include "kernels/simd/amx_tiles.h"

#ifdef AMX_CONFIGURE

enum {
	AMX_PLANES_MOST = 2,
	AMX_LINES_APART = 4,
	/* Pairs of rows of B that are packed together, and how many rows ahead the second cache is asked for: few rows
	 * at a time leave the processor's own prefetchers long runs, which they begin too late. */
	AMX_PACK_PAIRS = 4,
	AMX_ROWS_AHEAD = 16,
	AMX_STREAMED = 2 << 20, /* bytes of C that do not stay in the second cache of processors with tiles */
};

/* --- panels --- */

#ifdef __AVX512BW__

/* COUNT values from FROM, then zeros. */
AMX_INLINE __m512i amx_halves(const uint16_t *from, size_t count)
{
	return count >= AMX_HALVES ? _mm512_loadu_si512(from)
				   : _mm512_maskz_loadu_epi16((__mmask32)((UINT64_C(1) << count) - 1), from);
}

/* The bits of 16 of f16: HIGH rounded to bf16, in the upper halves of words, and what is left. */
AMX_INLINE __m512i amx_split(__m256i halves, __m512i *low)
{
	const __m512 value = _mm512_cvtph_ps(halves);
	const __m512i bits = _mm512_castps_si512(value);
	const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
	const __m512i near = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
	const __m512i high = _mm512_and_si512(near, _mm512_set1_epi32((int)0xffff0000));
	*low = _mm512_castps_si512(_mm512_sub_ps(value, _mm512_castsi512_ps(high)));
	return high;
}

/* A line of A, and of its planes: PLANE bytes on. */
AMX_INLINE void amx_pack_line(const uint16_t *from, size_t count, const int planes, char *out, size_t plane)
{
	const __m512i halves = amx_halves(from, count);
	if (planes == 1) {
		_mm512_store_si512(out, halves);
		return;
	}
	__m512i low[2];
	const __m512i first = amx_split(_mm512_castsi512_si256(halves), &low[0]);
	const __m512i second = amx_split(_mm512_extracti64x4_epi64(halves, 1), &low[1]);
	__m256i *to = (__m256i *)(void *)out;
	_mm256_store_si256(to, _mm512_cvtepi32_epi16(_mm512_srli_epi32(first, 16)));
	_mm256_store_si256(to + 1, _mm512_cvtepi32_epi16(_mm512_srli_epi32(second, 16)));
	to = (__m256i *)(void *)(out + plane);
	_mm256_store_si256(to, _mm512_cvtepi32_epi16(_mm512_srli_epi32(low[0], 16)));
	_mm256_store_si256(to + 1, _mm512_cvtepi32_epi16(_mm512_srli_epi32(low[1], 16)));
}

/* AMX_SIDE columns of rows K and K + 1 of B, COUNT of them there; NEXT is NULL where there is only K. */
AMX_INLINE void amx_pack_pair(const uint16_t *row, const uint16_t *next, size_t count, const int planes, char *out,
			      size_t plane)
{
	const __mmask16 mask = (__mmask16)(count >= AMX_SIDE ? 0xffff : (1u << count) - 1);
	const __m256i even = _mm256_maskz_loadu_epi16(mask, row);
	const __m256i odd = next ? _mm256_maskz_loadu_epi16(mask, next) : _mm256_setzero_si256();
	if (planes == 1) {
		const __m512i above = _mm512_slli_epi32(_mm512_cvtepu16_epi32(odd), 16);
		_mm512_store_si512(out, _mm512_or_si512(_mm512_cvtepu16_epi32(even), above));
		return;
	}
	__m512i low[2];
	const __m512i first = amx_split(even, &low[0]), second = amx_split(odd, &low[1]);
	_mm512_store_si512(out, _mm512_or_si512(_mm512_srli_epi32(first, 16), second));
	_mm512_store_si512(out + plane, _mm512_or_si512(_mm512_srli_epi32(low[0], 16),
							_mm512_and_si512(low[1], _mm512_set1_epi32((int)0xffff0000))));
}

/* AMX_SPAN columns of bf16 at once: pairs come in lanes of four columns, which are put in order. */
AMX_INLINE void amx_pack_pairs(const uint16_t *row, const uint16_t *next, size_t count, char *out)
{
	const __m512i left = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
	const __m512i right = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
	const __m512i even = amx_halves(row, count), odd = next ? amx_halves(next, count) : _mm512_setzero_si512();
	const __m512i low = _mm512_unpacklo_epi16(even, odd), high = _mm512_unpackhi_epi16(even, odd);
	_mm512_store_si512(out, _mm512_permutex2var_epi64(low, left, high));
	_mm512_store_si512(out + AMX_BYTES, _mm512_permutex2var_epi64(low, right, high));
}

#else

/* HALF for plane 0 of PLANES, or the parts of an f16. */
AMX_INLINE uint16_t amx_plane(uint16_t half, const int planes, int plane)
{
	const float value = tcb_f16_to_f32(half);
	const uint16_t high = tcb_f32_to_bf16(value);
	return planes == 1 ? half : plane == 0 ? high : tcb_f32_to_bf16(value - tcb_bf16_to_f32(high));
}

AMX_INLINE void amx_pack_line(const uint16_t *from, size_t count, const int planes, char *out, size_t plane)
{
	for (int p = 0; p < planes; p++)
		for (size_t i = 0; i < AMX_HALVES; i++)
			((uint16_t *)(void *)(out + (size_t)p * plane))[i] =
				i < count ? amx_plane(from[i], planes, p) : 0;
}

AMX_INLINE void amx_pack_pair(const uint16_t *row, const uint16_t *next, size_t count, const int planes, char *out,
			      size_t plane)
{
	for (int p = 0; p < planes; p++)
		for (size_t i = 0; i < AMX_SIDE; i++) {
			uint16_t *to = (uint16_t *)(void *)(out + (size_t)p * plane) + 2 * i;
			to[0] = i < count ? amx_plane(row[i], planes, p) : 0;
			to[1] = next && i < count ? amx_plane(next[i], planes, p) : 0;
		}
}

AMX_INLINE void amx_pack_pairs(const uint16_t *row, const uint16_t *next, size_t count, char *out)
{
	amx_pack_pair(row, next, count, 1, out, 0);
	amx_pack_pair(row + AMX_SIDE, next ? next + AMX_SIDE : NULL, left_of(count, AMX_SIDE), 1, out + AMX_BYTES, 0);
}

#endif

AMX_INLINE size_t amx_steps(size_t k)
{
	return (k + AMX_HALVES - 1) / AMX_HALVES;
}

/* Bytes of a panel of SPAN rows or columns and STEPS. */
AMX_INLINE size_t amx_panel_bytes(size_t span, size_t steps, const int planes)
{
	return span * steps * (size_t)planes * AMX_LINE;
}

/* ROWS of A, COUNT values each, STRIDE apart, into panels of SPAN. */
AMX_INLINE void amx_pack_a(const uint16_t *a, size_t stride, size_t rows, size_t count, size_t span, const int planes,
			   char *out)
{
	const size_t plane = span * AMX_LINE;
	for (size_t first = 0; first < rows; first += span)
		for (size_t k = 0; k < count; k += AMX_HALVES, out += plane * (size_t)planes)
			for (size_t i = 0; i < span; i++)
				if (first + i < rows)
					amx_pack_line(a + (first + i) * stride + k, left_of(count, k), planes,
						      out + i * AMX_LINE, plane);
				else
					for (int p = 0; p < planes; p++)
						memset(out + (size_t)p * plane + i * AMX_LINE, 0, AMX_LINE);
}

/* ROWS of B, COLUMNS wide, STRIDE apart, into panels of SPAN columns. */
AMX_INLINE void amx_pack_b(const uint16_t *b, size_t stride, size_t rows, size_t columns, size_t span, const int planes,
			   char *out)
{
	const size_t plane = span * AMX_LINE, steps = amx_steps(rows), pairs = steps * AMX_SIDE;
	const int is_by_span = planes == 1 && span == AMX_SPAN;
	for (size_t from = 0; from < pairs; from += AMX_PACK_PAIRS)
		for (size_t j = 0; j < columns || j % span; j += is_by_span ? AMX_SPAN : AMX_SIDE)
			for (size_t pair = from; pair < from + AMX_PACK_PAIRS; pair++) {
				char *to = out + j / span * amx_panel_bytes(span, steps, planes) +
					   pair / AMX_SIDE * plane * (size_t)planes + j % span / AMX_SIDE * AMX_BYTES +
					   pair % AMX_SIDE * AMX_LINE;
				const uint16_t *row = b + 2 * pair * stride + j;
				const uint16_t *next = 2 * pair + 1 < rows ? row + stride : NULL;
				const uintptr_t ahead = (uintptr_t)row + AMX_ROWS_AHEAD * stride * sizeof(*b);
				__builtin_prefetch((const void *)ahead, 0, 2);
				__builtin_prefetch((const void *)(ahead + stride * sizeof(*b)), 0, 2);
				if (2 * pair >= rows)
					for (size_t line = 0; line < (is_by_span ? 2 : (size_t)planes); line++)
						memset(to + line * (is_by_span ? AMX_BYTES : plane), 0, AMX_LINE);
				else if (is_by_span)
					amx_pack_pairs(row, next, left_of(columns, j), to);
				else
					amx_pack_pair(row, next, left_of(columns, j), planes, to, plane);
			}
}

/* --- products --- */

/* What is asked for while others are multiplied, to the second cache: every fourth of LINES lines of each of ROWS rows.
 * The processor's own prefetchers bring those between; asked for, they would take the first cache's few places for
 * lines under way from the tiles' operands. */
struct amx_rows {
	const char *row;
	size_t stride, lines, rows, line;
};

/* The same beside each step of a register tile. */
struct amx_ahead {
	const char *sums; /* of the next tile, to the first cache */
	const char *a;    /* the panels of A in the next block of k */
	struct amx_rows b;
	size_t sum_lines, a_lines, b_lines; /* per step */
};

AMX_INLINE void amx_fetch(struct amx_ahead *ahead)
{
	for (size_t i = 0; i < ahead->sum_lines; i++, ahead->sums += AMX_LINE)
		__builtin_prefetch(ahead->sums, 1, 3);
	for (size_t i = 0; i < ahead->a_lines; i++, ahead->a += AMX_LINE)
		__builtin_prefetch(ahead->a, 0, 2);
	struct amx_rows *b = &ahead->b;
	for (size_t i = 0; i < ahead->b_lines && b->rows; i++) {
		__builtin_prefetch(b->row + b->line * AMX_LINE, 0, 2);
		b->line += AMX_LINES_APART;
		if (b->line >= b->lines) {
			b->line = 0;
			b->row += b->stride;
			b->rows--;
		}
	}
}

/* One step of f16: high x low, high x high, low x high; planes lie SPAN lines apart. */
AMX_INLINE void amx_add_split(const char *a, const char *b, const int micro_m, const int micro_n)
{
	const char *a_low = a + micro_m * AMX_LINE, *b_low = b + micro_n * AMX_LINE;
	const int is_tall = micro_m > AMX_SIDE, is_wide = micro_n > AMX_SIDE;
#define LOAD_PAIR(load, t, u, is_pair, from)                   \
	do {                                                   \
		load(t, from, AMX_LINE);                       \
		if (is_pair)                                   \
			load(u, (from) + AMX_BYTES, AMX_LINE); \
	} while (0)
#define DOT_EACH()                             \
	do {                                   \
		AMX_DOT_BF16(0, 4, 6);         \
		if (is_wide)                   \
			AMX_DOT_BF16(1, 4, 7); \
		if (is_tall)                   \
			AMX_DOT_BF16(2, 5, 6); \
		if (is_tall && is_wide)        \
			AMX_DOT_BF16(3, 5, 7); \
	} while (0)
	LOAD_PAIR(AMX_LOAD, 6, 7, is_wide, b_low);
	LOAD_PAIR(AMX_LOAD_ONCE, 4, 5, is_tall, a);
	DOT_EACH();
	LOAD_PAIR(AMX_LOAD, 6, 7, is_wide, b);
	DOT_EACH();
	LOAD_PAIR(AMX_LOAD_ONCE, 4, 5, is_tall, a_low);
	DOT_EACH();
#undef DOT_EACH
#undef LOAD_PAIR
}

/* The tiles' sums += a panel of A x one of B. */
AMX_INLINE void amx_add_panels(const char *a, const char *b, size_t steps, const int planes, const int micro_m,
			       const int micro_n, struct amx_ahead *ahead)
{
	for (; steps; steps--, a += micro_m * AMX_LINE * planes, b += micro_n * AMX_LINE * planes) {
		const struct amx_operand left = amx_packed(a, micro_m), right = amx_packed(b, micro_n);
		if (planes == 1)
			amx_add_bf16(&left, &right, 1, micro_m, micro_n);
		else
			amx_add_split(a, b, micro_m, micro_n);
		amx_fetch(ahead);
	}
}

/* A task under way: rows M to M + ROWS - 1, columns and values of k of a block of B. */
struct amx_at {
	const struct matmul_task *task;
	char *a_first, *a, *b; /* panels of A of all of k, of this block, and of B */
	float *sums;
	size_t m, rows, n, columns, k, steps;
	int is_first, is_last; /* block of k */
};

/* The block of B after this one, and what of A goes with it, spread over the steps of this one's register tiles. */
AMX_INLINE struct amx_ahead amx_next(const struct amx_at *at, const int planes, const int micro_m, const int micro_n)
{
	const struct matmul_task *task = at->task;
	const struct tcb_shape *s = &task->plan->problem.shape;
	const struct tcb_tile *midi = &task->plan->geometry.tile[TCB_MIDI];
	const size_t down = tcb_div_up(at->rows, (size_t)micro_m), across = tcb_div_up(at->columns, (size_t)micro_n);
	const size_t steps = amx_steps(at->steps), n = at->is_last ? at->n + midi->n : at->n;
	struct amx_ahead next = { 0 };
	if (!at->is_first || !at->is_last)
		next.sum_lines = tcb_div_up((size_t)(micro_m * micro_n) * sizeof(float) / AMX_LINE, steps);
	if (!task->plan->geometry.knob[TCB_KNOB_PREFETCH] || n >= task->n + task->columns)
		return next;
	next.b.stride = s->n * sizeof(uint16_t);
	next.b.row = task->b + (at->is_last ? 0 : at->k + midi->k) * next.b.stride + n * sizeof(uint16_t);
	next.b.rows = at->is_last ? tcb_least(midi->k, s->k) : tcb_least(midi->k, s->k - at->k - midi->k);
	next.b.lines = tcb_div_up(tcb_least(midi->n, task->n + task->columns - n) * sizeof(uint16_t), AMX_LINE);
	next.b_lines = tcb_div_up(tcb_div_up(next.b.lines, AMX_LINES_APART) * next.b.rows, down * across * steps);
	next.a = at->is_last ? at->a_first : at->a + down * amx_panel_bytes((size_t)micro_m, steps, planes);
	if (midi->k < s->k)
		next.a_lines = tcb_div_up((size_t)(micro_m * planes), across);
	return next;
}

/* Rows of C from the SUMS of the register tile at (I, J); whole lines of a C that is large pass the caches, which would
 * read them first. */
AMX_INLINE void amx_close(const struct amx_at *at, const enum tcb_type type, size_t i, size_t j, const int micro_m,
			  const int micro_n, const float *sums)
{
	const struct tcb_shape *s = &at->task->plan->problem.shape;
	const size_t rows = tcb_least((size_t)micro_m, at->rows - i);
	const size_t columns = tcb_least((size_t)micro_n, at->columns - j);
	uint16_t *c = (uint16_t *)(void *)at->task->c + (at->m + i) * s->n + at->n + j;
	_Alignas(AMX_LINE) uint16_t lines[AMX_SPAN * AMX_HALVES];
	if (columns < AMX_HALVES || (uintptr_t)c % AMX_LINE || s->n % AMX_HALVES ||
	    s->m * s->n * sizeof(*c) < AMX_STREAMED) {
		for (size_t r = 0; r < rows; r++)
			narrow_as(type, sums + r * (size_t)micro_n, columns, c + r * s->n);
		return;
	}
	narrow_as(type, sums, rows * AMX_HALVES, lines);
	for (size_t r = 0; r < rows; r++)
		for (size_t v = 0; v < AMX_SIDE; v += LANES)
			v_stream((float *)(void *)(c + r * s->n) + v,
				 v_load((const float *)(const void *)(lines + r * AMX_HALVES) + v));
}

/* The sums of a register tile side by side, tiles in the order of their products; those of the only block of k in the
 * first tile's place, one after the other. */
AMX_INLINE void amx_multiply_block(const struct amx_at *at, const enum tcb_type type, const int micro_m,
				   const int micro_n)
{
	const int planes = type == TCB_TYPE_F16 ? AMX_PLANES_MOST : 1;
	const size_t a_panel = amx_panel_bytes((size_t)micro_m, amx_steps(at->steps), planes);
	const size_t b_panel = amx_panel_bytes((size_t)micro_n, amx_steps(at->steps), planes);
	const size_t stride = (size_t)micro_n * sizeof(float);
	const int is_only = at->is_first && at->is_last;
	struct amx_ahead ahead = amx_next(at, planes, micro_m, micro_n);
	float *sums = at->sums;
	for (size_t j = 0; j < at->columns; j += (size_t)micro_n)
		for (size_t i = 0; i < at->rows; i += (size_t)micro_m) {
			if (at->is_first)
				amx_clear_sums(micro_m, micro_n);
			else
				amx_load_sums(sums, stride, micro_m, micro_n);
			ahead.sums = (const char *)(sums + micro_m * micro_n);
			amx_add_panels(at->a + i / (size_t)micro_m * a_panel, at->b + j / (size_t)micro_n * b_panel,
				       amx_steps(at->steps), planes, micro_m, micro_n, &ahead);
			amx_store_sums(sums, stride, micro_m, micro_n);
			if (at->is_last)
				amx_close(at, type, i, j, micro_m, micro_n, sums);
			sums += is_only ? 0 : micro_m * micro_n;
		}
}

AMX_INLINE void amx_task(const struct matmul_task *task, const enum tcb_type type, const int micro_m, const int micro_n)
{
	const int planes = type == TCB_TYPE_F16 ? AMX_PLANES_MOST : 1;
	const struct tcb_shape *s = &task->plan->problem.shape;
	const struct tcb_tile *midi = &task->plan->geometry.tile[TCB_MIDI];
	const uint16_t *a = (const uint16_t *)(const void *)task->a, *b = (const uint16_t *)(const void *)task->b;
	struct amx_at at = { .task = task, .a_first = task->workspace };
	struct amx_config config, before;
	at.b = at.a_first + task->room->a;
	at.sums = (float *)(void *)(at.b + task->room->b);
	amx_whole_tiles(&config);
	amx_enter(&config, &before);
	for (size_t m = 0; m < task->rows; m += midi->m) {
		at.m = task->m + m;
		at.rows = tcb_least(midi->m, task->rows - m);
		const size_t block = amx_panel_bytes((size_t)micro_m, 1, planes) * tcb_div_up(at.rows, (size_t)micro_m);
		for (size_t k = 0; k < s->k; k += midi->k)
			amx_pack_a(a + at.m * s->k + k, s->k, at.rows, tcb_least(midi->k, s->k - k), (size_t)micro_m,
				   planes, at.a_first + k / AMX_HALVES * block);
		for (size_t n = 0; n < task->columns; n += midi->n) {
			at.n = task->n + n;
			at.columns = tcb_least(midi->n, task->columns - n);
			for (at.k = 0; at.k < s->k; at.k += midi->k) {
				at.steps = tcb_least(midi->k, s->k - at.k);
				at.a = at.a_first + at.k / AMX_HALVES * block;
				at.is_first = at.k == 0;
				at.is_last = at.k + at.steps == s->k;
				amx_pack_b(b + at.k * s->n + at.n, s->n, at.steps, at.columns, (size_t)micro_n, planes,
					   at.b);
				amx_multiply_block(&at, type, micro_m, micro_n);
			}
		}
	}
	amx_leave(&before);
	v_fence();
}

#endif
#endif
