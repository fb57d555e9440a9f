/* SPDX-License-Identifier: MIT
 *
 * The queries of attention on a GPU.  Rows of q come in; fragments for tensor cores,
 * and what scores are to be multiplied by, go out.
 *
 * A lane has of row g of each of the tile's columns eight values of each block of 32,
 * those that it has of K: 8 c to 8 c + 7, or of K in blocks 4 c to 4 c + 3 and as many
 * from 16 + 4 c on; of K in boxes of 64 values 16 c to 16 c + 7 are of one block, the next eight of another.  f32
 * values become terms of 16 bits: the value rounded, what that left rounded, and so on.  f16 has too few exponents for
 * that, so each row is brought to a largest value between 2^14 and 2^15 first.
 *
 * group=256: values become whole numbers of a power of two for each row, the smallest
 * with which the largest is at most 32,639, or of three terms 8,355,711; these are
 * signed digits in base 256, the highest first.  Of a row with an infinity that one is 1
 * and the rest 0, of one with more of them or a NaN all are 0, and the unit is infinite,
 * so that scores are what they are, or NaN.
 */
#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/attention/attention_gpu.h"

#define LOG2_E 1.4426950408889634

enum {
	VALUES = 8, /* of a block */
	WORDS = 4,
	EXPONENT = 23,
	LARGEST = 14,
	NOT_FINITE = 255,
	BIAS = 127,
	INFINITE = 0x7f800000,
	DIGIT = 8,      /* bits */
	CARRY = 0x10101 /* what takes a significand that has no room in digits to the next power of two */
};

kit_op attention_operand_of(struct attention_writer *w, const char *name, unsigned align, enum attention_operand which)
{
	const struct tcb_words *words = w->g->words;
	return attention_has(words, which) ? tcb_kit_operand(&w->kit, name, align, attention_at(words, which)) : I(0);
}

const char *attention_word(const struct attention_gpu *g)
{
	return g->is_bf16 ? "bf16" : "f16";
}

kit_op attention_token_of(struct attention_writer *w, kit_op row)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op i = u_add(b, w->first_token, u_div(b, row, I(w->g->heads)));
	return u_min(b, i, I(w->g->m - 1));
}

kit_op attention_row(struct attention_reader *r, kit_op own, unsigned more)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const kit_op row = u_add(b, own, I(more));
	return r->w->g->row_warps > 1 ? u_add(b, row, r->first_row) : row;
}

/* Where the lane's values of row g of columns N begin; rows past the tile, and heads past the group, are others again.
 */
static kit_op lane_row(struct attention_reader *r, kit_op q, unsigned n)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const unsigned bytes = (unsigned)tcb_type_bytes(g->io);
	const unsigned lane = (g->is_blocks[0] ? VALUES / 2 : g->is_boxed ? 2 * VALUES : VALUES) * bytes;
	const kit_op own = u_min(b, u_add(b, r->g, I(ATTENTION_COLUMNS * n)), I(g->own_rows - 1));
	const kit_op row = attention_row(r, own, 0);
	const kit_op head = u_add(b, r->w->first_head, u_rem(b, row, I(g->heads)));
	const kit_op in_kv = u_min(b, head, I(g->group - 1));
	const kit_op all = r->head[n] = u_mad(b, r->w->kv_head, I(g->group), in_kv);
	const kit_op token = u_mad(b, r->w->sequence, I(g->m), attention_token_of(r->w, row));
	const kit_op at = u_mad(b, token, I(g->kv_heads * g->group), all);
	const kit_op of_lane = l_mad_wide(b, r->c, I(lane), tcb_kit_past_gaps(b, q, token, g->q_gap));
	return tcb_ptx_assume_aligned(b, tcb_kit_element(b, of_lane, at, bytes * g->k), lane < 16 ? lane : 16);
}

/* The first value of block I that lane 0 has, and how many of four lanes have values of it that there are. */
static unsigned first_value(const struct attention_gpu *g, unsigned i)
{
	return g->is_boxed ? i / 2 * ATTENTION_BOX + i % 2 * VALUES : i * ATTENTION_K_BLOCK;
}

static unsigned lanes_of(const struct attention_gpu *g, unsigned i)
{
	const unsigned first = first_value(g, i), apart = g->is_boxed ? 2 * VALUES : VALUES;
	return first < g->k ? (unsigned)tcb_least(tcb_div_up(g->k - first, apart), 4) : 0;
}

/* COUNT words of a block that is not whole, AT bytes on: zeros in all but the first LANES. */
static void load_rest(struct attention_reader *r, kit_op row, unsigned at, unsigned lanes, const char *type,
		      kit_op *out, unsigned count)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op is_there = u_lt(b, r->c, I(lanes));
	for (unsigned i = 0; i < count; i++)
		out[i] = g->io == TCB_TYPE_F32 ? f_set(b, F(0)) : b_set(b, I(0));
	for (unsigned done = 0; done < count; done += 4)
		tcb_kit_load_where(b, is_there, tcb_kit_input(g->pdl), type, tcb_ptx_at(row, at + 4 * done), out + done,
				   4);
}

/* COUNT words in the order of a block's values: all of them, or two halves that are half a block apart. */
static void load(struct attention_reader *r, kit_op row, unsigned i, const char *type, kit_op *out, unsigned count)
{
	const struct attention_gpu *g = r->w->g;
	const enum tcb_kit_memory memory = tcb_kit_input(g->pdl);
	const unsigned block = ATTENTION_K_BLOCK * (unsigned)tcb_type_bytes(g->io);
	const unsigned at = first_value(g, i) * (unsigned)tcb_type_bytes(g->io);
	const unsigned width = g->is_blocks[0] ? count / 2 : count < 4 ? count : 4;
	if (lanes_of(g, i) < 4) {
		load_rest(r, row, at, lanes_of(g, i), type, out, count);
		return;
	}
	for (unsigned done = 0; done < count; done += width)
		tcb_kit_load(&r->w->kit.b, memory, type,
			     tcb_ptx_at(row, at + (g->is_blocks[0] ? block / 2 * (done / width) : 4 * done)),
			     out + done, width);
}

/* --- in shared memory --- */

/* Where TERM of block I of columns N is, behind the lane's place. */
static kit_op q_place(struct attention_reader *r, unsigned n, unsigned term, unsigned i)
{
	const struct attention_gpu *g = r->w->g;
	return tcb_ptx_at(r->q_lane, ((n * g->q_terms + term) * g->k_blocks + i) * g->q_block);
}

/* Of warps with the same rows those of the first turn store theirs. */
static void begin_shared(struct attention_reader *r)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	kit_op at = u_mad(b, r->w->kit.lane, I(g->q_block / WARP), u_add(b, r->w->kit.shared, I(g->q_at)));
	if (g->row_warps > 1)
		at = u_mad(b, r->first_row, I(g->columns * g->q_terms * g->k_blocks * g->q_block / g->own_rows), at);
	r->q_lane = tcb_ptx_assume_aligned(b, at, g->q_block / WARP);
}

/* Block I of columns N, once it is made. */
static void store_block(struct attention_reader *r, unsigned n, unsigned i)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	if (!g->q_block)
		return;
	const kit_op is_first = u_eq(b, g->value_warps > 1 ? u_or(b, r->turn, r->part) : r->turn, I(0));
	for (unsigned term = 0; term < g->q_terms; term++)
		tcb_kit_store_where(b, is_first, TCB_KIT_SHARED, "b32", q_place(r, n, term, i), r->q[n][term][i],
				    g->q_block / WARP / 4);
}

/* --- what it is made of --- */

static void floats_of(struct attention_reader *r, kit_op word, kit_op out[2])
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	if (!r->w->g->is_bf16) {
		tcb_kit_floats(b, word, out);
		return;
	}
	out[0] = u_shl(b, word, I(16));
	out[1] = u_and(b, word, I(-65536));
}

/* VALUES of a row to terms; IS_WILD: one is infinite or none, and the first term has all that there is. */
static void write_terms(struct attention_reader *r, unsigned n, unsigned i, kit_op value[VALUES], kit_op is_wild)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	for (unsigned w = 0; w < WORDS; w++)
		for (unsigned term = 0; term < g->q_terms; term++) {
			kit_op *pair = value + 2 * w, rounded[2];
			const kit_op word = tcb_kit_pack(b, attention_word(g), pair[0], pair[1]);
			r->q[n][term][i][w] = word;
			if (term + 1 == g->q_terms)
				break;
			floats_of(r, word, rounded);
			for (unsigned j = 0; j < 2; j++)
				pair[j] = f_select(b, F(0), f_sub(b, pair[j], rounded[j]), is_wild);
		}
}

/* Are they left as they were loaded, pairs of f16, until they are asked for?  There are too many of long heads. */
static int is_lazy(const struct attention_gpu *g)
{
	return g->q_block && g->io != TCB_TYPE_F32;
}

/* Block I of a row's VALUEs as floats. */
static void block_of(struct attention_reader *r, kit_op (*value)[VALUES], unsigned i, kit_op out[VALUES])
{
	for (unsigned w = 0; w < WORDS && is_lazy(r->w->g); w++)
		floats_of(r, value[i][w], out + 2 * w);
	if (!is_lazy(r->w->g))
		memcpy(out, value[i], VALUES * sizeof(*out));
}

/* The same as largest_of of pairs of f16, without making floats of them. */
static kit_op largest_of_pairs(struct attention_reader *r, kit_op (*value)[VALUES])
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const unsigned count = 2 * WORDS * r->w->g->k_blocks;
	kit_op bits[2 * ATTENTION_K_BLOCKS_MAX * WORDS], half[2];
	for (unsigned i = 0; i < count; i++) {
		const kit_op word = value[i / 2 / WORDS][i / 2 % WORDS];
		bits[i] = u_and(b, i % 2 ? u_shr(b, word, I(16)) : word, I(INT16_MAX));
	}
	tcb_kit_halves(b, tcb_kit_over_lanes(b, u_max, tcb_kit_fold(b, u_max, bits, count), 4), half);
	return b_set(b, f_from_f16(b, half[0]));
}

/* Largest of the row's bits, over four lanes. */
static kit_op largest_of(struct attention_reader *r, kit_op (*value)[VALUES])
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const unsigned blocks = r->w->g->k_blocks;
	kit_op bits[ATTENTION_K_BLOCKS_MAX * VALUES];
	if (is_lazy(r->w->g))
		return largest_of_pairs(r, value);
	for (unsigned i = 0; i < blocks * VALUES; i++)
		bits[i] = u_and(b, value[i / VALUES][i % VALUES], I(INT32_MAX));
	return tcb_kit_over_lanes(b, u_max, tcb_kit_fold(b, u_max, bits, blocks * VALUES), 4);
}

/* 2^(TO - 127) of an exponent's place. */
static kit_op power_of(struct attention_reader *r, kit_op to)
{
	return u_shl(&r->w->kit.b, to, I(EXPONENT));
}

/* Columns N of q, VALUE, as terms of 16 bits. */
static void make_terms(struct attention_reader *r, unsigned n, kit_op (*value)[VALUES])
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const kit_op largest = largest_of(r, value);
	const kit_op exponent = u_max(b, u_shr(b, largest, I(EXPONENT)), I(LARGEST + 1));
	const kit_op is_wild = u_eq(b, exponent, I(NOT_FINITE));
	const kit_op factor = power_of(r, u_sub(b, I(2 * BIAS + LARGEST), exponent));
	const kit_op inverse = power_of(r, u_sub(b, exponent, I(LARGEST)));
	r->scale[n] = f_mul(b, inverse, r->scale[n]);
	for (unsigned i = 0; i < r->w->g->k_blocks; i++) {
		for (unsigned j = 0; j < VALUES; j++)
			value[i][j] = f_mul(b, value[i][j], factor);
		write_terms(r, n, i, value[i], is_wild);
		store_block(r, n, i);
	}
}

/* What rows of q are that have something infinite or a NaN; rare. */
struct wild {
	kit_op is_row, is_any; /* .pred: this row; one of the warp's */
	kit_op is_single;      /* .u32: 1 if the row has one infinity and no NaN */
};

static kit_op is_not_finite(struct tcb_ptx_build *b, kit_op value)
{
	return u_ge(b, u_and(b, value, I(INT32_MAX)), I(INFINITE));
}

static struct wild find_wild(struct attention_reader *r, kit_op (*value)[VALUES], kit_op largest)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	struct wild wild = { .is_row = u_ge(b, largest, I(INFINITE)) };
	wild.is_any = p_any(b, wild.is_row);
	wild.is_single = u_set(b, I(0));
	tcb_ptx_if_begin(b, wild.is_any);
	kit_op found = I(0);
	for (unsigned i = 0; i < r->w->g->k_blocks * VALUES; i++) {
		kit_op own[VALUES];
		if (i % VALUES == 0)
			block_of(r, value, i / VALUES, own);
		found = u_add(b, found, u_select(b, I(1), I(0), is_not_finite(b, own[i % VALUES])));
	}
	const kit_op all = tcb_kit_over_lanes(b, u_add, found, 4);
	const kit_op is_single = u_eq_and(b, all, I(1), u_eq(b, largest, I(INFINITE)));
	u_select_to(b, wild.is_single, I(1), I(0), is_single);
	tcb_ptx_if_end(b);
	return wild;
}

/* WHOLE numbers of a block of such rows. */
static void mend_wild(struct attention_reader *r, const struct wild *wild, const kit_op value[VALUES],
		      const kit_op whole[VALUES])
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	tcb_ptx_if_begin(b, wild->is_any);
	const kit_op is_single = u_ne(b, wild->is_single, I(0));
	for (unsigned i = 0; i < VALUES; i++) {
		const kit_op sign = u_or(b, s_shr(b, b_set(b, value[i]), I(31)), I(1));
		const kit_op own = s_select(b, sign, I(0), is_not_finite(b, value[i]));
		s_select_to(b, whole[i], s_select(b, own, I(0), is_single), whole[i], wild->is_row);
	}
	tcb_ptx_if_end(b);
}

/* Digit PLACE, 0 the lowest, of four WHOLE numbers in a word. */
static kit_op digits_of(struct attention_reader *r, const kit_op whole[4], unsigned place)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	kit_op own[4], pair[2];
	for (unsigned i = 0; i < 4; i++)
		own[i] = place ? s_add(b, whole[i], I(place > 1 ? 0x8080 : 0x80)) : whole[i];
	for (unsigned i = 0; i < 2; i++)
		pair[i] = u_permute(b, own[2 * i], own[2 * i + 1], I(place | (4 + place) << 4));
	return u_permute(b, pair[0], pair[1], I(0x5410));
}

/* Columns N of q, VALUE, as terms of bytes. */
static void make_codes(struct attention_reader *r, unsigned n, kit_op (*value)[VALUES])
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const unsigned top = DIGIT * g->q_terms - 2; /* the largest is between 2^top and twice that */
	const kit_op largest = largest_of(r, value);
	const kit_op exponent = u_max(b, u_shr(b, u_add(b, largest, I(CARRY)), I(EXPONENT)), I(top + 1));
	const kit_op factor = power_of(r, u_sub(b, I(2 * BIAS + top), exponent));
	/* Sums are in the unit of the highest digit. */
	const kit_op unit = power_of(r, u_sub(b, exponent, I(top - DIGIT * (g->q_terms - 1))));
	const struct wild wild = find_wild(r, value, largest);
	r->scale[n] = f_mul(b, b_select(b, I(INFINITE), unit, wild.is_row), r->scale[n]);
	for (unsigned i = 0; i < g->k_blocks; i++) {
		kit_op own[VALUES], whole[VALUES];
		block_of(r, value, i, own);
		for (unsigned j = 0; j < VALUES; j++)
			whole[j] = s_from_f(b, f_mul(b, own[j], factor));
		mend_wild(r, &wild, own, whole);
		for (unsigned term = 0; term < g->q_terms; term++)
			for (unsigned half = 0; half < 2; half++)
				r->q[n][term][i][half] = digits_of(r, whole + 4 * half, g->q_terms - 1 - term);
		store_block(r, n, i);
	}
}

/* Of long heads at once: while the first pieces are asked for there would be too few registers. */
static int is_made_early(const struct attention_gpu *g)
{
	return g->q_block || g->k > 128;
}

/* Columns N of it. */
static void make_columns(struct attention_reader *r, unsigned n)
{
	const struct attention_gpu *g = r->w->g;
	kit_op(*value)[VALUES] = r->q_loaded[n];
	if (g->io != TCB_TYPE_F32 && !g->is_coded)
		return;
	for (unsigned i = 0; g->io != TCB_TYPE_F32 && !is_lazy(g) && i < g->k_blocks; i++)
		for (unsigned w = WORDS; w-- > 0;)
			floats_of(r, value[i][w], value[i] + 2 * w);
	if (g->is_coded)
		make_codes(r, n, value);
	else
		make_terms(r, n, value);
}

static void make_q(struct attention_reader *r)
{
	for (unsigned n = 0; n < r->w->g->columns; n++)
		make_columns(r, n);
}

void attention_fetch_q(struct attention_reader *r, unsigned i)
{
	const struct attention_gpu *g = r->w->g;
	for (unsigned x = 0; g->q_block && x < g->columns * g->q_terms; x++)
		tcb_kit_load(&r->w->kit.b, TCB_KIT_SHARED, "b32", q_place(r, x / g->q_terms, x % g->q_terms, i),
			     r->q[x / g->q_terms][x % g->q_terms][i], g->q_block / WARP / 4);
}

/* --- both --- */

void attention_load_q(struct attention_reader *r, kit_op q)
{
	const struct attention_gpu *g = r->w->g;
	const double scale = LOG2_E / sqrt((double)g->k);
	const int is_f32 = g->io == TCB_TYPE_F32;
	if (g->q_block)
		begin_shared(r);
	for (unsigned n = 0; n < g->columns; n++) {
		const kit_op row = lane_row(r, q, n);
		r->scale[n] = F((float)(g->cap ? 2 * scale / g->cap : scale));
		for (unsigned i = 0; i < g->k_blocks; i++)
			load(r, row, i, is_f32 ? "f32" : "b32",
			     is_f32 || g->is_coded ? r->q_loaded[n][i] : r->q[n][0][i], is_f32 ? VALUES : WORDS);
		if (g->q_block) {
			make_columns(r, n);
			for (unsigned i = 0; !is_f32 && !g->is_coded && i < g->k_blocks; i++)
				store_block(r, n, i);
		}
	}
	if (is_made_early(g) && !g->q_block)
		make_q(r);
}

void attention_make_q(struct attention_reader *r)
{
	if (!is_made_early(r->w->g))
		make_q(r);
}
