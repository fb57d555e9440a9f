/* SPDX-License-Identifier: MIT
 *
 * A head's values as KV blocks on a GPU: a thread's two vectors come in, codes and
 * scales go out, and from there to the cache.
 *
 * A KV block's 32 values are those of some lanes side by side, its lanes.  Of values half a
 * head apart a thread has a part of two blocks: of the one in the first half, and of the
 * one in the second.  Where half a head is no whole number of blocks, one block has the
 * last 16 values of the first half and the first 16 of the second: largest magnitudes are
 * those of units of 16 values then, and of a block's two units the larger one.
 *
 * Q4_0: what lanes look up is the value that is the largest, its bits turned left by one, so that of two as large the
 * one below zero counts.  Nibbles of values 16 apart share a byte, so a lane with some of a block's first sixteen gets
 * the codes of the lane that has the others; blocks begin at multiples of 2, and words are stored by halves.
 *
 * A Q8_0 block's 34 bytes begin at a multiple of 4 if its number is even, else 2 behind one.
 * Words are stored at multiples of 4: of an odd block its codes as they are, of an even one
 * each lane's moved by two codes, behind the scale or the last two codes of the lane
 * before.  Two bytes are left over: an odd block's scale, an even one's last two codes.
 */
#include "base/sizes.h"
#include "kernels/gpu/quant_gpu.h"
#include "kernels/rope/rope_gpu_writer.h"

enum {
	UNIT = ROPE_BLOCK / 2,
	BLOCK_BYTES = 34,
	SCALE_BYTES = 2,
	NIBBLES_BYTES = SCALE_BYTES + UNIT, /* of a block of Q4_0 */
	/* Of bits turned left: of a largest value of 2^-120, below which no scale is one in f16; of infinity. */
	LEAST_TURNED = 7 << 24
};
#define INFINITE_TURNED INT64_C(0xff000000)

/* Vectors that go to different blocks; values of one that a lane has; lanes of a block, or of half of one. */
static unsigned runs_of(const struct rope_gpu *g)
{
	return g->is_pairs ? 1 : 2;
}

static unsigned values_of(const struct rope_gpu *g)
{
	return g->is_pairs ? 2 * g->width : g->width;
}

static unsigned lanes_of(const struct rope_gpu *g)
{
	return ROPE_BLOCK / values_of(g);
}

/* VALUE of the lane that has CHUNK of the same head. */
static kit_op value_at(struct rope_writer *w, kit_op value, kit_op chunk)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned lanes = rope_gpu_lanes(w->g, w->launch);
	const kit_op first = u_and(b, w->lane, I(-(int64_t)lanes));
	return u_lane(b, value, u_add(b, first, chunk));
}

/*
 * LARGEST of the thread's unit in the first half and of that in the second, to those of their blocks.  Half a head has
 * H units, an odd number: of the first half's H - 1 is with the second's 0, and else 0 with 1, 2 with 3, of the
 * second's 1 with 2, 3 with 4.
 */
static void join_units(struct rope_writer *w, kit_op largest[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned h = w->g->k / 2 / UNIT;
	if (h == 1) {
		largest[0] = largest[1] = u_max(b, largest[0], largest[1]);
		return;
	}
	const unsigned lanes = UNIT / w->g->width;
	const kit_op unit = u_div(b, w->chunk, I(lanes));
	const kit_op is_last = u_eq(b, unit, I(h - 1)), is_first = u_eq(b, unit, I(0));
	const kit_op low = u_select(b, unit, u_xor(b, unit, I(1)), is_last);
	const kit_op up = u_add(b, u_xor(b, u_sub(b, unit, I(1)), I(1)), I(1));
	const kit_op high = u_select(b, unit, up, is_first);
	kit_op low_other = value_at(w, largest[0], u_mul(b, low, I(lanes)));
	kit_op high_other = value_at(w, largest[1], u_mul(b, high, I(lanes)));
	low_other = b_select(b, value_at(w, largest[1], I(0)), low_other, is_last);
	high_other = b_select(b, value_at(w, largest[0], I((h - 1) * lanes)), high_other, is_first);
	largest[0] = u_max(b, largest[0], low_other);
	largest[1] = u_max(b, largest[1], high_other);
}

/* The lane of a block that the thread is, for its vector RUN; the block's number in the head. */
static kit_op lane_of_block(struct rope_writer *w, unsigned run, kit_op *block)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned values = values_of(w->g), lanes = lanes_of(w->g);
	kit_op at = run ? u_add(b, w->chunk, I(w->g->k / 2 / values)) : w->chunk;
	if (!w->g->is_pairs && rope_gpu_has_rest(w->g)) {
		at = u_div(b, w->offset, I(values));
		at = run ? u_add(b, at, u_div(b, w->apart, I(values))) : at;
	}
	*block = u_div(b, at, I(lanes));
	return u_and(b, at, I(lanes - 1));
}

/* The word before the first of vector RUN. */
static kit_op word_before(struct rope_writer *w, unsigned run, const struct rope_codes *codes)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned last = values_of(w->g) / 4 - 1;
	kit_op block;
	kit_op before = u_lane_before(b, codes->word[run][last], I(1));
	if (run && rope_gpu_has_split_block(w->g)) { /* the second half goes on where the first ends */
		const kit_op other = value_at(w, codes->word[0][last], I(w->g->chunks - 1));
		before = b_select(b, other, before, u_eq(b, w->chunk, I(0)));
	}
	const kit_op is_first = u_eq(b, lane_of_block(w, run, &block), I(0));
	return b_select(b, codes->scale[run], before, is_first);
}

/* --- Q4_0 --- */

static kit_op turned(struct tcb_ptx_build *b, kit_op word, unsigned left)
{
	return u_or(b, u_shl(b, word, I(left)), u_shr(b, word, I(32 - left)));
}

/* Of COUNT values of each lane of GROUP values: the largest of their bits turned left. */
static kit_op largest_turned(struct tcb_ptx_build *b, const kit_op value[], unsigned count, unsigned group)
{
	kit_op most = turned(b, b_set(b, value[0]), 1);
	for (unsigned i = 1; i < count; i++)
		most = u_max(b, most, turned(b, b_set(b, value[i]), 1));
	for (unsigned distance = 1; distance < group / count; distance *= 2)
		most = u_max(b, most, tcb_kit_butterfly(b, most, distance));
	return most;
}

/* VALUE over the scale, whose INVERSE it is, as a nibble. */
static kit_op nibble_of(struct tcb_ptx_build *b, kit_op value, kit_op inverse)
{
	const kit_op steps = f_max(b, f_min(b, f_mul(b, value, inverse), F(7)), F(-8));
	return s_add(b, s_from_f(b, steps), I(8));
}

/* The word I of the lane whose values are 16 further in vector RUN's block, or 16 before. */
static kit_op word_beside(struct rope_writer *w, const struct rope_codes *codes, unsigned run, unsigned i)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned lanes = UNIT / values_of(w->g), h = w->g->k / 2 / UNIT;
	if (!rope_gpu_has_split_block(w->g))
		return tcb_kit_butterfly(b, codes->word[run][i], lanes);
	/* Units of 16 values are counted over the whole head. */
	const struct kit_split own = u_split(b, w->chunk, I(lanes));
	const kit_op other = u_xor(b, run ? u_add(b, own.whole, I(h)) : own.whole, I(1));
	const kit_op is_second = u_ge(b, other, I(h));
	const kit_op unit = u_select(b, u_sub(b, other, I(h)), other, is_second);
	const kit_op chunk = u_mad(b, unit, I(lanes), own.rest);
	return b_select(b, value_at(w, codes->word[1][i], chunk), value_at(w, codes->word[0][i], chunk), is_second);
}

static void write_nibbles(struct rope_writer *w, kit_op value[2][2 * ROPE_WIDTH_MAX], struct rope_codes *out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct rope_gpu *g = w->g;
	const unsigned values = values_of(g), each = values < 4 ? values : 4;
	const int is_split = rope_gpu_has_split_block(g);
	kit_op largest[2];
	for (unsigned run = 0; run < runs_of(g); run++)
		largest[run] = largest_turned(b, value[run], values, is_split ? UNIT : ROPE_BLOCK);
	if (is_split)
		join_units(w, largest);
	for (unsigned run = 0; run < runs_of(g); run++) {
		const kit_op is_some = u_ge(b, largest[run], I(LEAST_TURNED));
		const kit_op is_bad = u_ge(b, largest[run], I(INFINITE_TURNED));
		kit_op scale = f_mul(b, b_set(b, turned(b, largest[run], 31)), F(-0.125f));
		const kit_op inverse = f_select(b, f_reciprocal_near(b, scale), F(0), is_some);
		scale = b_select(b, I(0x7fc00000), scale, is_bad);
		out->scale[run] = tcb_kit_pack_f16(b, scale, scale);
		for (unsigned i = 0; i < values / each; i++) {
			kit_op word = nibble_of(b, value[run][each * i], inverse);
			for (unsigned j = 1; j < each; j++)
				word = u_mad(b, nibble_of(b, value[run][each * i + j], inverse), I(INT64_C(1) << 8 * j),
					     word);
			out->word[run][i] = word;
		}
	}
	const struct rope_codes own = *out;
	for (unsigned run = 0; run < runs_of(g); run++)
		for (unsigned i = 0; i < values / each; i++)
			out->word[run][i] = u_or(b, own.word[run][i], u_shl(b, word_beside(w, &own, run, i), I(4)));
}

void rope_write_codes(struct rope_writer *w, const kit_op first[], const kit_op second[], struct rope_codes *out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct rope_gpu *g = w->g;
	const unsigned values = values_of(g), width = g->width;
	const int is_split = rope_gpu_has_split_block(g);
	kit_op value[2][2 * ROPE_WIDTH_MAX], largest[2];
	for (unsigned i = 0; i < width; i++) {
		value[0][i] = first[i];
		value[g->is_pairs ? 0 : 1][g->is_pairs ? width + i : i] = second[i];
	}
	if (rope_gpu_kind(g, w->launch) == TCB_KV_KIND_Q40) {
		write_nibbles(w, value, out);
		return;
	}
	for (unsigned run = 0; run < runs_of(g); run++)
		largest[run] = tcb_quant_write_largest(b, value[run], values, is_split ? UNIT : ROPE_BLOCK);
	if (is_split)
		join_units(w, largest);
	for (unsigned run = 0; run < runs_of(g); run++) {
		const kit_op scale = tcb_quant_write_codes(b, value[run], values, largest[run], out->word[run]);
		out->scale[run] = tcb_kit_pack_f16(b, scale, scale);
		if (values >= 4)
			out->before[run] = word_before(w, run, out);
	}
}

static void store_half(struct rope_writer *w, kit_op address, kit_op word, unsigned half)
{
	kit_op halves[2];
	tcb_kit_halves(&w->kit.b, word, halves);
	tcb_kit_put(&w->kit.b, w->g->stream ? TCB_KIT_STREAM : TCB_KIT_GLOBAL, "b16", address, halves[half]);
}

/* Of a vector of two values: the codes, and by the first lane the scale. */
static void store_two(struct rope_writer *w, kit_op block, kit_op lane, kit_op word, kit_op scale)
{
	struct tcb_ptx_build *b = &w->kit.b;
	store_half(w, tcb_kit_behind(b, block, u_mad(b, lane, I(2), I(SCALE_BYTES))), word, 0);
	tcb_ptx_if_begin(b, u_eq(b, lane, I(0)));
	store_half(w, block, scale, 0);
	tcb_ptx_if_end(b);
}

static void store_words(struct rope_writer *w, kit_op block, kit_op is_odd, kit_op lane, const kit_op word[],
			kit_op before, kit_op scale)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned values = values_of(w->g), words = values / 4, lanes = lanes_of(w->g);
	const kit_op odd = u_select(b, I(1), I(0), is_odd);
	const kit_op select = b_select(b, I(0x7654), I(0x5432), is_odd);
	const kit_op to = tcb_kit_behind(b, block, u_mad(b, lane, I(values), u_mul(b, odd, I(SCALE_BYTES))));
	for (unsigned i = 0; i < words; i++) {
		const kit_op moved = u_permute(b, i ? word[i - 1] : before, word[i], select);
		tcb_kit_put(b, w->g->stream ? TCB_KIT_STREAM : TCB_KIT_GLOBAL, "b32", tcb_ptx_at(to, 4 * i), moved);
	}
	const kit_op left = u_select(b, I(0), I(lanes - 1), is_odd);
	tcb_ptx_if_begin(b, u_eq(b, lane, left));
	store_half(w, tcb_kit_behind(b, block, u_select(b, I(0), I(ROPE_BLOCK), is_odd)),
		   b_select(b, scale, word[words - 1], is_odd), 1);
	tcb_ptx_if_end(b);
}

/* By the lanes that have a block's first sixteen values; of Q4_0 block NUMBER of CACHE. */
static void store_nibbles(struct rope_writer *w, kit_op cache, kit_op number, kit_op lane, const kit_op word[],
			  kit_op scale)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned values = values_of(w->g);
	const kit_op block = l_mad_wide(b, number, I(NIBBLES_BYTES), cache);
	tcb_ptx_if_begin(b, u_lt(b, lane, I(UNIT / values)));
	const kit_op to = tcb_kit_behind(b, block, u_mad(b, lane, I(values), I(SCALE_BYTES)));
	for (unsigned i = 0; i < values / 2; i++)
		store_half(w, tcb_ptx_at(to, 2 * i), word[i / 2], i % 2);
	tcb_ptx_if_end(b);
	tcb_ptx_if_begin(b, u_eq(b, lane, I(0)));
	store_half(w, block, scale, 0);
	tcb_ptx_if_end(b);
}

void rope_store_codes(struct rope_writer *w, kit_op cache, kit_op head, const struct rope_codes *codes,
		      const kit_op *predicate)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct rope_gpu *g = w->g;
	if (predicate)
		tcb_ptx_if_begin(b, *predicate);
	for (unsigned run = 0; run < runs_of(g); run++) {
		kit_op in_head;
		const kit_op lane = lane_of_block(w, run, &in_head);
		const kit_op number = u_mad(b, head, I(g->k / ROPE_BLOCK), in_head);
		if (rope_gpu_kind(g, w->launch) == TCB_KV_KIND_Q40) {
			store_nibbles(w, cache, number, lane, codes->word[run], codes->scale[run]);
			continue;
		}
		const kit_op odd = u_and(b, number, I(1));
		/* Two blocks at a time, so that the assembler and the checks see what addresses are multiples of. */
		const kit_op pair = l_mad_wide(b, u_shr(b, number, I(1)), I(2 * BLOCK_BYTES), cache);
		const kit_op block = l_mad_wide(b, odd, I(BLOCK_BYTES), pair);
		if (values_of(g) < 4)
			store_two(w, block, lane, codes->word[run][0], codes->scale[run]);
		else
			store_words(w, block, u_ne(b, odd, I(0)), lane, codes->word[run], codes->before[run],
				    codes->scale[run]);
	}
	if (predicate)
		tcb_ptx_if_end(b);
}
