/* SPDX-License-Identifier: MIT
 *
 * K and V of attention on a GPU: pieces come in by their number; what a lane needs of
 * them for tensor cores goes out, from registers (copy=ldg) or from the ring.
 *
 * Of K a lane has token g of each eight: of each 32 values 8 c to 8 c + 7, or of blocks
 * codes 4 c to 4 c + 3 and 16 + 4 c to 16 + 4 c + 3, which Q4_0 has in one word.  Of V it has
 * tokens 2c, 2c + 1, 2c + 8, 2c + 9: 16 bytes (or 8) of each eight lanes' 128 (64), or of less
 * than 16 bits values 4 g to 4 g + 3.
 *
 * Pitches in shared memory: of K's 16-bit rows 64 bytes modulo 128, of its FP8 32 modulo 64,
 * of blocks, and of V's rows, 16 modulo 32, boxes are swizzled: no two lanes meet in a bank.
 */
#include "kernels/attention/attention_gpu.h"

enum { HALF_CODES = 16, CODES_AT = 2, NIBBLES = 0x0f0f0f0f };

static const unsigned own_tokens[ATTENTION_TOKENS] = { 0, 1, 8, 9 };

/* --- copy=ldg --- */

/* K's row of token T, or V's (V), or of the last that is seen. */
static kit_op row_at(struct attention_reader *r, unsigned v, kit_op t)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const kit_op base = v ? r->v : r->k;
	return tcb_ptx_assume_aligned(b, l_mad_wide(b, attention_row_of(r, t), r->row_bytes[v], base),
				      4 * r->w->g->v_words);
}

/* COUNT pieces of WIDTH words, STEP bytes apart, from ROW on, where CONDITION holds (NULL: everywhere). */
static void load_row(struct attention_reader *r, kit_op row, kit_op (*to)[4], unsigned to_step, unsigned count,
		     unsigned width, unsigned step, const kit_op *condition)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const enum tcb_kit_memory memory = tcb_kit_input_once(r->w->g->pdl);
	if (condition)
		tcb_ptx_guard(b, *condition);
	for (unsigned i = 0; i < count; i++)
		tcb_kit_load_into(b, memory, "b32", tcb_ptx_at(row, step * i), to[i * to_step], width);
	if (condition)
		tcb_ptx_unguard(b);
}

/* The same of the row's last block, AT bytes on, of whose lanes some have none: there are zeros (registers_begin). */
static void load_rest(struct attention_reader *r, kit_op row, unsigned at, const kit_op *to, kit_op is_there,
		      unsigned width, const kit_op *condition)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	tcb_kit_load_where(b, condition ? p_and(b, is_there, *condition) : is_there, tcb_kit_input_once(r->w->g->pdl),
			   "b32", tcb_ptx_at(row, at), to, width);
}

static void load_k(struct attention_reader *r, kit_op first, const kit_op *condition)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op own = u_add(b, first, r->g);
	for (unsigned s = 0; s < g->subs; s++)
		for (unsigned h = 0; h < g->halves; h++) {
			const kit_op row = row_at(r, 0, u_add(b, own, I(16 * s + 8 * h)));
			load_row(r, row, &r->k_words[s][0][h], ATTENTION_HALVES, g->k_blocks - (g->k_rest > 0), 4,
				 2 * ATTENTION_K_BLOCK, condition);
			if (g->k_rest)
				load_rest(r, row, 2 * ATTENTION_K_BLOCK * (g->k_blocks - 1),
					  r->k_words[s][g->k_blocks - 1][h], u_lt(b, r->c, I(g->k_rest / 8)), 4,
					  condition);
		}
}

static void load_v(struct attention_reader *r, kit_op first, const kit_op *condition)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const unsigned block_bytes = 8 * 4 * g->v_words, blocks = g->row_bytes[1] / block_bytes;
	const kit_op mine = u_mad(b, r->c, I(2), first);
	for (unsigned s = 0; s < g->subs; s++)
		for (unsigned t = 0; t < 2 * g->halves; t++) {
			const kit_op row = row_at(r, 1, u_add(b, mine, I(16 * s + own_tokens[t])));
			load_row(r, row, &r->v_words[s][0][t], ATTENTION_TOKENS, blocks, g->v_words, block_bytes,
				 condition);
			if (g->v_rest)
				load_rest(r, row, block_bytes * blocks, r->v_words[s][blocks][t],
					  u_lt(b, r->g, I(g->v_rest / 4)), g->v_words, condition);
		}
}

static void registers_begin(struct attention_reader *r)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	for (unsigned i = 0; i < g->subs * ATTENTION_K_BLOCKS_MAX * ATTENTION_HALVES * 4; i++)
		(&r->k_words[0][0][0][0])[i] = tcb_ptx_reg(b, "b32");
	for (unsigned i = 0; i < g->subs * ATTENTION_K_BLOCKS_MAX * ATTENTION_TOKENS * 4; i++)
		(&r->v_words[0][0][0][0])[i] = tcb_ptx_reg(b, "b32");
	for (unsigned s = 0; s < g->subs; s++)
		for (unsigned i = 0; i < 4 * 4; i++) {
			if (g->k_rest && i / 4 < g->halves)
				b_set_to(b, r->k_words[s][g->k_blocks - 1][i / 4][i % 4], I(0));
			if (g->v_rest && i / 4 < 2 * g->halves && i % 4 < g->v_words)
				b_set_to(b, r->v_words[s][g->v_blocks - 1][i / 4][i % 4], I(0));
		}
	r->k = l_mad_wide(b, r->c, I(16), r->k);
	r->v = l_mad_wide(b, r->g, I(4 * g->v_words), r->v);
}

/* --- copy=async --- */

/*
 * Rows of a box are 128 bytes, whose 16-byte places are turned round by exclusive or with the row's number modulo 8.
 * Of K a lane has token g's places 2 c, in even blocks, and 2 c + 1: an exclusive or with 16.  Of V it has tokens 2 c
 * and 2 c + 1, whose place g, or half of place g / 2 of the upper or lower four, is turned round by 2 c, and by one
 * more.
 */
static void boxes_begin(struct attention_reader *r)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op two = u_shl(b, r->c, I(1));
	r->k_in_box = u_mad(b, u_xor(b, two, r->g), I(16), u_mul(b, r->g, I(ATTENTION_BOX_BYTES)));
	const kit_op row = u_mul(b, two, I(ATTENTION_BOX_BYTES));
	const kit_op place = g->v_words < 4 ? u_shr(b, r->g, I(1)) : r->g;
	r->v_in_box = u_mad(b, u_xor(b, place, two), I(16), row);
	if (g->v_words < 4)
		r->v_in_box = u_mad(b, u_and(b, r->g, I(1)), I(8), r->v_in_box);
	if (g->value_warps > 1)
		r->v_in_box =
			u_mad(b, r->part, I(g->v_part / ATTENTION_BOX * g->kv * ATTENTION_BOX_BYTES), r->v_in_box);
}

/* The lane's places in the slot in use, whose address is a multiple of what swizzling repeats after. */
static void write_box_places(struct attention_reader *r)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const unsigned align = 4 * g->v_words;
	r->k_lane = tcb_ptx_assume_aligned(b, u_add(b, r->ring.slot, r->k_in_box), 16);
	r->k_odd = tcb_ptx_assume_aligned(b, u_xor(b, r->k_lane, I(16)), 16);
	r->v_odd[0] = tcb_ptx_assume_aligned(b, u_add(b, u_add(b, r->ring.slot, I(g->v_at)), r->v_in_box), align);
	r->v_odd[1] = tcb_ptx_assume_aligned(b, u_xor(b, r->v_odd[0], I(16)), align);
	for (unsigned i = 2; i < 4 && g->v_words < 4; i++)
		r->v_odd[i] = tcb_ptx_assume_aligned(b, u_xor(b, r->v_odd[i - 2], I(64)), align);
}

static void ring_begin(struct attention_reader *r)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	r->ring = (struct tcb_kit_ring){
		.stages = g->stages, .slot_bytes = g->slot_bytes, .has_before = 1, .is_bulk = g->copy == TCB_COPY_BULK
	};
	tcb_kit_ring_slots(b, &r->ring, r->turn, u_add(b, r->w->kit.shared, I(g->ring_at)));
	if (r->ring.is_bulk) {
		tcb_kit_ring_barriers(b, &r->ring, r->turn, u_add(b, r->w->kit.shared, I(g->barrier_at)));
		tcb_kit_ring_barriers_init(b, &r->ring, u_eq(b, r->thread, I(0)));
		attention_ring_barrier(r);
	}
	if (g->is_boxed) {
		boxes_begin(r);
		return;
	}
	attention_ring_begin(r);
	/* Of V in Q4_0 lanes g and g + 4 have a word together, the first of them its low halves. */
	r->v_word = g->kind[1] == TCB_KV_KIND_Q40 ? u_and(b, r->g, I(3)) : r->g;
	if (g->kind[1] == TCB_KV_KIND_Q40)
		r->v_shift = u_and(b, r->g, I(4));
}

/* Piece PIECE, if there is one, to SLOT; a group of copies either way. */
static void ask(struct attention_reader *r, kit_op begin, kit_op piece, kit_op end, struct tcb_kit_slot slot)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	tcb_ptx_if_begin(b, u_lt(b, piece, end));
	attention_ring_fill(r, u_mad(b, piece, I(r->w->g->kv), begin), &slot);
	tcb_ptx_if_end(b);
	tcb_kit_ring_filled(b, &r->ring);
}

/* Bytes of block I of a row of K, or of V (V). */
static unsigned block_at(const struct attention_gpu *g, unsigned v, unsigned i)
{
	return g->block_bytes[v] * i;
}

/* SLOT + TOKEN times the pitch of K's rows, or V's (V), and LANE times BYTES. */
static kit_op place(struct attention_reader *r, unsigned v, kit_op token, kit_op lane, unsigned bytes, unsigned align)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	kit_op row = u_mad(b, token, I(g->pitch[v]), u_add(b, r->ring.slot, I(v ? g->v_at : 0)));
	if (g->is_within)
		row = u_add(b, row, u_and(b, r->within[v], I(-4)));
	if (v && g->value_warps > 1)
		row = u_mad(b, r->part, I(block_at(g, 1, g->v_part / ATTENTION_K_BLOCK)), row);
	return tcb_ptx_assume_aligned(b, bytes ? u_mad(b, lane, I(bytes), row) : row, align);
}

static void write_places(struct attention_reader *r)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op pair = u_shl(b, r->c, I(1));
	const unsigned of_k = g->is_blocks[0] ? 4 : g->is_short[0] ? 8 : 16, of_v = g->is_short[1] ? 4 : 4 * g->v_words;
	r->k_lane = place(r, 0, r->g, r->c, of_k, of_k);
	r->v_lane = place(r, 1, pair, r->v_word, of_v, of_v);
	if (g->is_blocks[0])
		r->k_scale = place(r, 0, pair, r->c, 0, 2);
	if (g->is_blocks[1])
		r->v_scale = place(r, 1, pair, r->c, 0, 2);
	for (int v = 0; v < 2; v++)
		if (g->is_odd[v] && !g->is_within)
			r->shifts[v] =
				v && !g->v_own
					? r->shifts[0]
					: tcb_ptx_assume_aligned(b, u_add(b, r->ring.slot, I(g->shifts_at[v])), 4);
}

/* --- both --- */

void attention_read_begin(struct attention_reader *r)
{
	if (r->w->g->copy == TCB_COPY_LDG)
		registers_begin(r);
	else
		ring_begin(r);
}

void attention_read_first(struct attention_reader *r, kit_op begin, kit_op first, kit_op end)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	if (g->copy == TCB_COPY_LDG) {
		const kit_op here = u_mad(b, first, I(g->kv), begin);
		load_k(r, here, NULL);
		load_v(r, here, NULL);
		return;
	}
	for (unsigned i = 0; i + 1 < g->stages; i++)
		ask(r, begin, u_add(b, first, I(i * g->turns)), end, tcb_kit_ring_slot(&r->ring, (int)i));
}

void attention_read_old(struct attention_reader *r, kit_op begin, kit_op first, kit_op end)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op old = s_sub(b, r->length, I(g->m));
	for (unsigned i = 0; i + 1 < g->stages; i++) {
		const kit_op piece = u_add(b, first, I(i * g->turns));
		const struct tcb_kit_slot slot = tcb_kit_ring_slot(&r->ring, (int)i);
		tcb_ptx_if_begin(b, u_lt(b, piece, end));
		attention_ring_fill_before(r, u_mad(b, piece, I(g->kv), begin), old, &slot);
		tcb_ptx_if_end(b);
		tcb_kit_ring_filled(b, &r->ring);
	}
}

/* All of such a piece again: it is in the L2. */
void attention_read_new(struct attention_reader *r, kit_op begin, kit_op first, kit_op end)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op old = s_sub(b, r->length, I(g->m));
	for (unsigned i = 0; i + 1 < g->stages; i++) {
		const kit_op piece = u_add(b, first, I(i * g->turns));
		const struct tcb_kit_slot slot = tcb_kit_ring_slot(&r->ring, (int)i);
		const kit_op from = u_mad(b, piece, I(g->kv), begin);
		const kit_op is_new = s_lt(b, old, u_add(b, from, I(g->kv)));
		tcb_ptx_if_begin(b, u_lt_and(b, piece, end, is_new));
		copies_wait(b, I(0)); /* what they bring is overwritten */
		attention_ring_fill(r, from, &slot);
		tcb_ptx_if_end(b);
	}
	tcb_kit_ring_filled(b, &r->ring);
}

void attention_read_piece(struct attention_reader *r, kit_op begin, kit_op piece, kit_op end)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	if (g->copy == TCB_COPY_LDG)
		return;
	if (r->ring.is_bulk)
		tcb_kit_ring_wait(b, &r->ring);
	else
		copies_wait(b, I(g->stages - 2));
	attention_ring_barrier(r); /* others' copies are there, and all have done with the slot before */
	ask(r, begin, u_add(b, piece, I((g->stages - 1) * g->turns)), end,
	    tcb_kit_ring_slot(&r->ring, TCB_KIT_SLOT_BEFORE));
	if (r->ring.is_bulk)
		attention_ring_clear(r, u_mad(b, piece, I(g->kv), begin));
	(g->is_boxed ? write_box_places : write_places)(r);
}

/* Zeros that threads stored (attention_ring_clear) come before the copies of what takes their place; barriers are set
 * up again. */
void attention_read_end(struct attention_reader *r)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	if (!r->ring.is_bulk)
		return;
	fence_async_shared(b);
	tcb_ptx_guard(b, u_eq(b, r->thread, I(0)));
	for (unsigned i = 0; i < r->ring.stages; i++)
		barrier_end(b, tcb_kit_ring_slot(&r->ring, (int)i).barrier);
	tcb_ptx_unguard(b);
}

static kit_op next_first(struct attention_reader *r, kit_op begin, kit_op piece, kit_op end, kit_op *has_next)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op next = u_add(b, piece, I(g->turns));
	*has_next = u_lt(b, next, end);
	return u_mad(b, next, I(g->kv), begin);
}

void attention_read_k_done(struct attention_reader *r, kit_op begin, kit_op piece, kit_op end)
{
	kit_op has_next;
	if (r->w->g->copy != TCB_COPY_LDG)
		return;
	const kit_op first = next_first(r, begin, piece, end, &has_next);
	load_k(r, first, &has_next);
}

void attention_read_v_done(struct attention_reader *r, kit_op begin, kit_op piece, kit_op end)
{
	kit_op has_next;
	if (r->w->g->copy != TCB_COPY_LDG) {
		tcb_kit_ring_next(&r->w->kit.b, &r->ring);
		return;
	}
	const kit_op first = next_first(r, begin, piece, end, &has_next);
	load_v(r, first, &has_next);
}

/* --- codes of blocks --- */

static kit_op shared_word(struct attention_reader *r, kit_op base, unsigned at)
{
	return tcb_kit_get(&r->w->kit.b, TCB_KIT_SHARED, "b32", tcb_ptx_at(base, at));
}

/* What K's row, or V's (V), of the slot's token TOKEN, and of the lane's (STEP bytes each lane), is off by: 0 or 16
 * bits. */
static kit_op shift_of(struct attention_reader *r, unsigned v, kit_op lane, unsigned step, unsigned token)
{
	if (r->w->g->is_within)
		return r->shift[v];
	return shared_word(r, u_mad(&r->w->kit.b, lane, I(step), r->shifts[v]), 4 * token);
}

/* Four codes at OF_ROW bytes from a row's beginning, which is at ROW_AT behind BASE. */
static kit_op codes_at(struct attention_reader *r, kit_op base, unsigned row_at_, unsigned of_row, const kit_op *shift)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const unsigned off = of_row % 4, at = row_at_ + of_row - off;
	kit_op word = shared_word(r, base, at);
	if (shift) {
		const kit_op by = off ? u_add(b, *shift, I(16)) : *shift;
		word = u_funnel(b, word, shared_word(r, base, at + 4), by);
	} else if (off) {
		word = u_permute(b, word, shared_word(r, base, at + 4), I(0x5432));
	}
	return word;
}

static kit_op flipped(struct attention_reader *r, kit_op word)
{
	return u_xor(&r->w->kit.b, word, I(INT32_C(-0x7f7f7f80)));
}

/* Codes of a word of Q4_0, the low halves of its bytes or what SHIFT brings there, plus eight. */
static kit_op nibbles(struct attention_reader *r, kit_op word, const kit_op *shift)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	return u_and(b, shift ? u_shr(b, word, *shift) : word, I(NIBBLES));
}

/* The same as signed bytes. */
static kit_op signed_nibbles(struct attention_reader *r, kit_op codes)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	return flipped(r, u_sub(b, u_or(b, codes, I(INT32_C(-0x7f7f7f80))), I(0x08080808)));
}

/* What is taken off codes as bytes: those of Q8_0 are flipped in their highest bit. */
static unsigned off_of(enum tcb_kv_kind kind)
{
	return kind == TCB_KV_KIND_Q40 ? 8 : 128;
}

static kit_op scale_at(struct attention_reader *r, kit_op base, unsigned at, const kit_op *shift)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	kit_op half;
	if (shift)
		base = tcb_ptx_assume_aligned(b, u_add(b, base, u_shr(b, *shift, I(3))), 2);
	half = tcb_kit_get(b, TCB_KIT_SHARED, "b16", tcb_ptx_at(base, at));
	return half;
}

/* The code's byte below 1024's f16, or 2^23's f32, minus that and what it is off by. */
void attention_codes_f16(struct tcb_ptx_build *b, enum tcb_kv_kind kind, kit_op word, kit_op out[2])
{
	const int64_t off = 0x64006400 + 0x10001 * (int64_t)off_of(kind);
	if (kind == TCB_KV_KIND_FP8)
		tcb_kit_e4m3_f16(b, word, out);
	for (unsigned i = 0; i < 2 && kind != TCB_KV_KIND_FP8; i++)
		out[i] = h_sub(b, u_permute(b, word, I(0x64646464), I(i ? 0x4342 : 0x4140)), b_set(b, I(off)));
}

kit_op attention_code_f32(struct tcb_ptx_build *b, enum tcb_kv_kind kind, kit_op word, unsigned i)
{
	const kit_op out = tcb_ptx_reg(b, "b32"); /* mma takes no .f32 */
	f_sub_to(b, out, u_permute(b, word, I(0x4b000000), I(0x7540 + i)), F(0x1p23f + (float)off_of(kind)));
	return out;
}

/* --- what is asked for --- */

static void k_codes(struct attention_reader *r, unsigned s, unsigned h, unsigned i, kit_op out[4], kit_op scale_out[2])
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const unsigned token = 16 * s + 8 * h, row = token * g->pitch[0];
	kit_op shift = { .kind = 0 }, of_scale[2];
	if (g->is_odd[0])
		shift = shift_of(r, 0, r->g, 4, token);
	const int is_q40 = g->kind[0] == TCB_KV_KIND_Q40;
	kit_op both = I(0);
	for (unsigned half = 0; half < 2; half++) {
		const unsigned at = block_at(g, 0, i) + CODES_AT + (is_q40 ? 0 : HALF_CODES * half);
		const kit_op high = I(4);
		if (!is_q40 || half == 0)
			both = codes_at(r, r->k_lane, row, at, g->is_odd[0] ? &shift : NULL);
		const kit_op word = is_q40 ? nibbles(r, both, half ? &high : NULL) : both;
		if (!g->is_coded)
			attention_codes_f16(b, g->kind[0], is_q40 ? word : flipped(r, word), out + 2 * half);
		else
			out[half] = is_q40 ? signed_nibbles(r, word) : word;
	}
	for (unsigned x = 0; x < 2; x++) {
		if (g->is_odd[0])
			of_scale[x] = shift_of(r, 0, r->c, 8, token + x);
		scale_out[x] = f_from_f16(b, scale_at(r, r->k_scale, row + x * g->pitch[0] + block_at(g, 0, i),
						      g->is_odd[0] ? &of_scale[x] : NULL));
	}
}

void attention_k_block(struct attention_reader *r, unsigned s, unsigned h, unsigned i, kit_op out[4],
		       kit_op scale_out[ATTENTION_PAIR])
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const unsigned at = (16 * s + 8 * h) * g->pitch[0] + block_at(g, 0, i);
	if (g->is_blocks[0]) {
		k_codes(r, s, h, i, out, scale_out);
	} else if (g->is_boxed) {
		const unsigned row = i / 2 * g->kv + 16 * s + 8 * h;
		tcb_kit_load(b, TCB_KIT_SHARED, "b32",
			     tcb_ptx_at(i % 2 ? r->k_odd : r->k_lane, row * ATTENTION_BOX_BYTES), out, 4);
	} else if (g->copy == TCB_COPY_LDG) {
		for (unsigned w = 0; w < 4; w++)
			out[w] = r->k_words[s][i][h][w];
	} else if (g->is_short[0]) {
		kit_op words[2];
		tcb_kit_load(b, TCB_KIT_SHARED, "b32", tcb_ptx_at(r->k_lane, at), words, 2);
		for (unsigned x = 0; x < 2; x++)
			attention_codes_f16(b, g->kind[0], words[x], out + 2 * x);
	} else {
		tcb_kit_load(b, TCB_KIT_SHARED, "b32", tcb_ptx_at(r->k_lane, at), out, 4);
	}
}

void attention_v_block(struct attention_reader *r, unsigned s, unsigned t, unsigned i, kit_op out[4])
{
	const struct attention_gpu *g = r->w->g;
	const unsigned token = 16 * s + own_tokens[t];
	if (g->is_short[1]) {
		const unsigned at = block_at(g, 1, i) + (g->is_blocks[1] ? CODES_AT : 0);
		kit_op shift = { .kind = 0 };
		if (g->is_odd[1])
			shift = shift_of(r, 1, r->c, 8, token);
		out[0] = codes_at(r, r->v_lane, token * g->pitch[1], at, g->is_odd[1] ? &shift : NULL);
		if (g->is_blocks[1])
			out[0] = g->kind[1] == TCB_KV_KIND_Q40 ? nibbles(r, out[0], &r->v_shift) : flipped(r, out[0]);
	} else if (g->copy == TCB_COPY_LDG) {
		for (unsigned w = 0; w < g->v_words; w++)
			out[w] = r->v_words[s][i][t][w];
	} else if (g->is_boxed) {
		/* i: of 64 values, or of 32 */
		const unsigned box = g->v_words < 4 ? i / 2 : i, is_upper = g->v_words < 4 ? i % 2 : 0;
		tcb_kit_load(&r->w->kit.b, TCB_KIT_SHARED, "b32",
			     tcb_ptx_at(r->v_odd[t % 2 + 2 * is_upper], (box * g->kv + token) * ATTENTION_BOX_BYTES),
			     out, g->v_words);
	} else {
		tcb_kit_load(&r->w->kit.b, TCB_KIT_SHARED, "b32",
			     tcb_ptx_at(r->v_lane, token * g->pitch[1] + 8 * 4 * g->v_words * i), out, g->v_words);
	}
}

kit_op attention_v_scale(struct attention_reader *r, unsigned s, unsigned t, unsigned i)
{
	const struct attention_gpu *g = r->w->g;
	const unsigned token = 16 * s + own_tokens[t];
	kit_op shift = { .kind = 0 };
	if (g->is_odd[1])
		shift = shift_of(r, 1, r->c, 8, token);
	return scale_at(r, r->v_scale, token * g->pitch[1] + block_at(g, 1, i), g->is_odd[1] ? &shift : NULL);
}
