/* SPDX-License-Identifier: MIT
 *
 * Contract f32 of attention_prefill: values of f32 come in, the terms that they are
 * sums of go out, which tensor cores multiply exactly with K and V.
 *
 * q is the sum of two f16, each row brought to a largest value between 2^14 and 2^15
 * first, since f16 has few exponents; with bf16 K that of three bf16.  A weight is the
 * sum of two tf32 of 11 bits, since it may be as small as f32 has and f16 may not; with
 * bf16 V that of three bf16, which are twice as fast and need no V in f32.  Each term is
 * what the ones before it left, rounded.
 *
 * K and V of blocks are multiplied as codes, which all of these types have: sums of
 * a block of K times its scale, and V's scale goes into the weights.
 */
#include <math.h>

#include "base/sizes.h"
#include "kernels/attention/attention_prefill_gpu.h"

#define LOG2_E 1.4426950408889634

enum {
	EXPONENT = 23,
	LARGEST = 14,
	NOT_FINITE = 255,
	BIAS = 127,
	SCALE = 4, /* bytes */
};

/* --- q --- */

static void floats_of(struct prefill_writer *w, kit_op word, kit_op out[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	if (w->g->type != TCB_TYPE_BF16) {
		tcb_kit_floats(b, word, out);
		return;
	}
	out[0] = u_shl(b, word, I(16));
	out[1] = u_and(b, word, I(-65536));
}

/* Two values as COUNT terms, each of both in a word; IS_WILD, if it is a predicate: the first has all that there is. */
static void write_pair(struct prefill_writer *w, const kit_op value[2], unsigned count, const kit_op *is_wild,
		       kit_op *out, size_t step)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op left[2] = { value[0], value[1] }, rounded[2];
	for (unsigned term = 0; term < count; term++) {
		out[term * step] = tcb_kit_pack(b, prefill_type_word(w->g), left[0], left[1]);
		if (term + 1 == count)
			return;
		floats_of(w, out[term * step], rounded);
		for (unsigned j = 0; j < 2; j++) {
			left[j] = f_sub(b, left[j], rounded[j]);
			if (is_wild)
				left[j] = f_select(b, F(0), left[j], *is_wild);
		}
	}
}

/* 2^(TO - 127) of an exponent's place. */
static kit_op power_of(struct tcb_ptx_build *b, kit_op to)
{
	return b_set(b, u_shl(b, to, I(EXPONENT)));
}

void prefill_load_terms(struct prefill_writer *w, struct prefill_rows *rows, unsigned r, kit_op at,
			kit_op out[PREFILL_TERMS_MAX][PREFILL_WORDS_MAX])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	const double scale = LOG2_E / sqrt((double)g->k), unit = g->cap ? 2 * scale / g->cap : scale;
	kit_op value[2 * PREFILL_WORDS_MAX], bits[2 * PREFILL_WORDS_MAX];
	for (unsigned i = 0; i < g->k / 8; i++)
		tcb_kit_load(b, tcb_kit_input(g->pdl), "f32", tcb_ptx_at(at, 32 * i), value + 2 * i, 2);
	for (unsigned i = 0; i < g->k / 4; i++)
		bits[i] = u_and(b, value[i], I(INT32_MAX));
	const kit_op largest = tcb_kit_over_lanes(b, u_max, tcb_kit_fold(b, u_max, bits, g->k / 4), 4);
	const kit_op exponent = u_max(b, u_shr(b, largest, I(EXPONENT)), I(LARGEST + 1));
	const kit_op is_wild = u_eq(b, exponent, I(NOT_FINITE));
	rows->scale[r] = F((float)unit);
	if (g->type != TCB_TYPE_BF16) {
		const kit_op factor = power_of(b, u_sub(b, I(2 * BIAS + LARGEST), exponent));
		const kit_op inverse = power_of(b, u_sub(b, exponent, I(LARGEST)));
		rows->scale[r] = f_mul(b, inverse, F((float)unit));
		for (unsigned i = 0; i < g->k / 4; i++)
			value[i] = f_mul(b, value[i], factor);
	}
	for (unsigned i = 0; i < g->k / 8; i++)
		write_pair(w, value + 2 * i, g->terms, &is_wild, &out[0][i], PREFILL_WORDS_MAX);
}

kit_op prefill_write_score(struct prefill_writer *w, kit_op high, kit_op rest)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op is_finite = f_lt(b, f_abs(b, high), F(INFINITY));
	return f_select(b, f_add(b, high, rest), high, is_finite);
}

/* --- weights --- */

void prefill_write_narrow(struct prefill_writer *w, const kit_op weights[8], kit_op out[PREFILL_TERMS_MAX][4])
{
	for (unsigned i = 0; i < 4; i++)
		write_pair(w, weights + 2 * i, w->g->terms, NULL, &out[0][i], 4);
}

void prefill_write_wide(struct prefill_writer *w, const kit_op weights[4], const kit_op *scale, kit_op out[2][4])
{
	struct tcb_ptx_build *b = &w->kit.b;
	for (unsigned i = 0; i < 4; i++) {
		const unsigned to = i % 2 * 2 + i / 2; /* rows of a token, then those of the next */
		const kit_op value = scale ? f_mul(b, weights[i], scale[i % 2]) : weights[i];
		out[0][to] = tf32_from_f(b, value);
		out[1][to] = tf32_from_f(b, f_sub(b, value, out[0][to]));
	}
}

void prefill_write_floats(struct prefill_writer *w, kit_op word, kit_op out[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op half[2];
	tcb_kit_halves(b, word, half);
	for (unsigned i = 0; i < 2; i++) {
		out[i] = tcb_ptx_reg(b, "b32"); /* mma takes no .f32 */
		f_from_f16_to(b, out[i], half[i]);
	}
}

/* --- scales of blocks --- */

/* Of a head of K or of V; with the columns of zeros behind it. */
static unsigned blocks_of(const struct prefill_gpu *g, int is_v)
{
	return (is_v ? g->v : g->k) / ATTENTION_BLOCK;
}
static unsigned places_of(const struct prefill_gpu *g, int is_v)
{
	return (is_v ? g->v_columns : g->k_columns) / ATTENTION_BLOCK;
}

/* In a slot, V's behind K's; with vk they are K's. */
static unsigned scales_of(const struct prefill_gpu *g, int is_v)
{
	return g->scales_at + (is_v && !g->is_view && g->has_scales[0] ? places_of(g, 0) * g->scale_pitch : 0);
}

/* Of K, or of V (FROM 1), or of both, which have as many. */
static void copy_scales(struct prefill_writer *w, kit_op slot, kit_op first, unsigned from, unsigned to_end)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	const unsigned blocks = blocks_of(g, (int)from), places = places_of(g, (int)from), items = g->kv * places;
	const kit_op row = u_mad(b, w->sequence, w->per_sequence, first);
	const kit_op of_head = u_mul(b, w->kv_head, I((int64_t)blocks * SCALE));
	for (unsigned done = 0; done < items; done += g->threads) {
		const int is_partial = done + g->threads > items;
		const kit_op item = done ? u_add(b, w->kit.tid, I(done)) : w->kit.tid;
		if (is_partial)
			tcb_ptx_if_begin(b, u_lt(b, item, I(items)));
		const struct kit_split of_token = u_split(b, item, I(places));
		const kit_op token = of_token.whole, block = of_token.rest;
		const kit_op is_seen = u_lt(b, u_add(b, first, token), w->end);
		const kit_op bytes =
			u_select(b, I(SCALE), I(0), places > blocks ? u_lt_and(b, block, I(blocks), is_seen) : is_seen);
		const kit_op within = u_mad(b, block, I(SCALE), of_head);
		const kit_op to = tcb_ptx_assume_aligned(
			b, u_mad(b, block, I((int64_t)g->scale_pitch), u_mad(b, token, I(SCALE), slot)), SCALE);
		for (unsigned v = from; v < to_end; v++) {
			const kit_op of_row =
				l_mad_wide(b, u_add(b, row, token), I((int64_t)g->kv_heads * blocks * SCALE),
					   v ? w->v_scales : w->k_scales);
			const kit_op at = tcb_ptx_assume_aligned(b, tcb_kit_behind(b, of_row, within), SCALE);
			tcb_kit_copy(b, tcb_ptx_at(to, scales_of(g, (int)v)), at, SCALE, 0, &bytes);
		}
		if (is_partial)
			tcb_ptx_if_end(b);
	}
}

void prefill_copy_scales(struct prefill_writer *w, kit_op slot, kit_op first)
{
	const struct prefill_gpu *g = w->g;
	const int has_own = g->has_scales[1] && !g->is_view;
	const int are_alike = g->has_scales[0] && has_own && g->v == g->k && g->v_columns == g->k_columns;
	if (g->has_scales[0])
		copy_scales(w, slot, first, 0, are_alike ? 2 : 1);
	if (!are_alike && has_own)
		copy_scales(w, slot, first, 1, 2);
}

void prefill_load_scales(struct prefill_writer *w, kit_op slot, int is_v, unsigned block, unsigned tokens,
			 kit_op out[2][2])
{
	const struct prefill_gpu *g = w->g;
	for (unsigned half = 0; half < 2; half++)
		tcb_kit_load(
			&w->kit.b, TCB_KIT_SHARED, "f32",
			tcb_ptx_at(slot, scales_of(g, is_v) + block * g->scale_pitch + (tokens + 8 * half) * SCALE),
			out[half], 2);
}
