/* SPDX-License-Identifier: MIT
 *
 * The first launch of attention_prefill with KV of less than 16 bits: K and V, as stored
 * or in pages, come in; as much of them as lengths say goes out as f16, token after
 * token, to the workspace.
 *
 * A thread has eight values of a token, a quarter of a block, in K and in V, so that
 * neighbours load side by side, of blocks two bytes at a time as they are aligned, and store
 * 16 bytes each.  Bytes become floats by way of their place in 2^23.  Contract f32: of blocks f16 of
 * the codes, f32 of the scales.  What is f16 already, and comes with pages, is only moved.
 */
#include "base/sizes.h"
#include "kernels/attention/attention_prefill_gpu.h"

enum { THREADS = 256, VALUES = 8, SCALE_BYTES = 2, QUARTERS = 4 };

/* Four codes of WORD, each OFF too large, to two words of f16, times SCALE (NULL: 1). */
static void unpack(struct tcb_ptx_build *b, kit_op word, unsigned off, const kit_op *scale, kit_op out[2])
{
	const kit_op magic = b_set(b, I(0x4b000000));
	kit_op value[4];
	for (unsigned i = 0; i < 4; i++) {
		const kit_op bits = u_permute(b, word, magic, I(0x7650 + i));
		const kit_op code = f_sub(b, b_set(b, bits), F(0x1p23f + (float)off));
		value[i] = scale ? f_mul(b, code, *scale) : code;
	}
	out[0] = tcb_kit_pack_f16(b, value[0], value[1]);
	out[1] = tcb_kit_pack_f16(b, value[2], value[3]);
}

/* Eight values as they were stored. */
struct quarter {
	kit_op scale, half[4]; /* of blocks; of Q4_0 the halves' low or high parts */
	kit_op word[4];        /* of others */
};

/* Number NUMBER of the block at FROM on; in Q4_0 the third and fourth are above the others. */
static struct quarter load_of_block(struct tcb_ptx_build *b, enum tcb_kv_kind kind, kit_op from, kit_op number)
{
	struct quarter out;
	const kit_op own = kind == TCB_KV_KIND_Q40 ? u_and(b, number, I(QUARTERS / 2 - 1)) : number;
	const kit_op codes = l_mad_wide(b, own, I(VALUES), from);
	out.scale = tcb_kit_get(b, TCB_KIT_INPUT, "b16", from);
	for (unsigned i = 0; i < 4; i++)
		out.half[i] = tcb_kit_get(b, TCB_KIT_INPUT, "b16", tcb_ptx_at(codes, SCALE_BYTES + 2 * i));
	return out;
}

/* Quarter NUMBER of a block, as OWN, as f16; SCALE (NULL: 1). */
static void unpack_block(struct tcb_ptx_build *b, enum tcb_kv_kind kind, const struct quarter *own, kit_op number,
			 const kit_op *scale, kit_op out[4])
{
	const int is_q40 = kind == TCB_KV_KIND_Q40;
	const kit_op shift = is_q40 ? u_shl(b, u_shr(b, number, I(1)), I(2)) : I(0);
	for (unsigned i = 0; i < 2; i++) {
		kit_op word = b_set(b, tcb_ptx_vector(b, own->half + 2 * i, 2));
		if (is_q40)
			word = u_and(b, u_shr(b, word, shift), I(0x0f0f0f0f));
		else
			word = u_xor(b, word, I(0x80808080));
		unpack(b, word, is_q40 ? 8 : 128, scale, out + 2 * i);
	}
}

/* The row of TOKEN in K and V. */
static kit_op row_of(struct prefill_writer *w, kit_op token, kit_op table)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned page_tokens = w->g->block_page;
	const kit_op before = u_mul(b, w->sequence, w->per_sequence);
	if (!page_tokens)
		return u_add(b, before, token);
	const struct kit_split page = u_split(b, token, I(page_tokens));
	const kit_op number = tcb_kit_entry(b, TCB_KIT_INPUT, table, u_add(b, before, page.whole));
	return u_mad(b, number, I(page_tokens), page.rest);
}

/* What a thread has: eight values of a token in each of the operands. */
struct eighth {
	kit_op token;
	kit_op from, to;       /* the token in K and V, and in what is made of them */
	kit_op block, quarter; /* of the row, of the block */
	kit_op number;         /* of the row */
	kit_op in[2], out[2], scales[2];
	unsigned row[2]; /* values */
};

static struct quarter load(struct prefill_writer *w, const struct eighth *e, unsigned i)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const enum tcb_kv_kind kind = w->g->kind[i];
	const unsigned each = (unsigned)tcb_kv_kind_bytes(kind, ATTENTION_BLOCK);
	const kit_op row = l_mad_wide(b, e->from, I((int64_t)tcb_kv_kind_bytes(kind, e->row[i])), e->in[i]);
	struct quarter out;
	if (tcb_kv_kind_format(kind))
		return load_of_block(b, kind, tcb_ptx_assume_aligned(b, l_mad_wide(b, e->block, I(each), row), 2),
				     e->quarter);
	const kit_op at = l_mad_wide(b, e->number, I(each / QUARTERS), row);
	tcb_kit_load(b, TCB_KIT_INPUT, "b32", tcb_ptx_assume_aligned(b, at, each / QUARTERS), out.word,
		     each / QUARTERS / 4);
	return out;
}

/* Values to their place; or codes, and the scale, by the block's first quarter. */
static void store(struct prefill_writer *w, const struct eighth *e, unsigned i, struct quarter *own)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const enum tcb_kv_kind kind = w->g->kind[i];
	const kit_op to_row = l_mad_wide(b, e->to, I(e->row[i] * 2), e->out[i]);
	kit_op out[4];
	if (tcb_kv_kind_format(kind)) {
		const kit_op scale = f_from_f16(b, own->scale);
		if (w->g->has_scales[i]) {
			const kit_op row = l_mad_wide(b, e->to, I(e->row[i] / ATTENTION_BLOCK * 4), e->scales[i]);
			const kit_op at = tcb_ptx_assume_aligned(b, l_mad_wide(b, e->block, I(4), row), 4);
			tcb_kit_put_where(b, u_eq(b, e->quarter, I(0)), TCB_KIT_GLOBAL, "f32", at, scale);
		}
		unpack_block(b, kind, own, e->quarter, w->g->has_scales[i] ? NULL : &scale, out);
	}
	for (unsigned j = 0; j < 2 && kind == TCB_KV_KIND_FP8; j++)
		tcb_kit_e4m3_f16(b, own->word[j], out + 2 * j);
	tcb_kit_store(b, TCB_KIT_GLOBAL, "b32", l_mad_wide(b, e->number, I(2 * VALUES), to_row),
		      kind == TCB_KV_KIND_F16 ? own->word : out, 4);
}

/* One after the other, where rows are not as long. */
static void unpack_apart(struct prefill_writer *w, const struct eighth *e, unsigned operands)
{
	struct tcb_ptx_build *b = &w->kit.b;
	for (unsigned i = 0; i < operands; i++) {
		tcb_ptx_if_begin(b, u_lt(b, e->number, I(e->row[i] / VALUES)));
		struct quarter own = load(w, e, i);
		store(w, e, i, &own);
		tcb_ptx_if_end(b);
	}
}

static void unpack_together(struct prefill_writer *w, const struct eighth *e, int is_eager)
{
	struct tcb_ptx_build *b = &w->kit.b;
	struct quarter own[2];
	for (unsigned i = 0; i < 2; i++)
		own[i] = load(w, e, i);
	if (is_eager)
		tcb_ptx_if_begin(b, u_lt(b, e->token, w->length));
	for (unsigned i = 0; i < 2; i++)
		store(w, e, i, &own[i]);
	if (is_eager)
		tcb_ptx_if_end(b);
}

void prefill_write_unpack(struct prefill_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	const unsigned operands = g->made[1] ? 2 : 1;
	struct eighth e = { .row = { g->kv_heads * g->k, g->kv_heads * g->v } };
	const unsigned row = operands > 1 && e.row[1] > e.row[0] ? e.row[1] : e.row[0];
	const int are_together = operands > 1 && e.row[0] == e.row[1];
	const int is_eager = are_together && !g->block_page && !w->kit.out->problem.shape.words.ragged;
	tcb_kit_begin(&w->kit, "attention_prefill_unpack",
		      &(struct tcb_kit_kernel){
			      .threads = THREADS,
			      .blocks_together = 4,
			      .grid = { (unsigned)tcb_div_up((size_t)g->n * (row / VALUES), THREADS), g->sequences },
			      .is_dependent = g->pdl });
	for (unsigned i = 0; i < operands; i++)
		e.in[i] = tcb_kit_operand(&w->kit, i ? "v" : "k", 16, i ? ATTENTION_V : ATTENTION_K);
	const kit_op lengths = tcb_kit_operand(&w->kit, "lengths", 4, attention_at(w->words, ATTENTION_LENGTHS));
	const kit_op table =
		g->block_page ? tcb_kit_operand(&w->kit, "pages", 4, attention_at(w->words, ATTENTION_TABLE)) : I(0);
	for (unsigned i = 0; i < operands; i++)
		e.out[i] = tcb_kit_workspace(&w->kit, i ? "v16" : "k16", 16, i ? g->v16_at : 0);
	for (unsigned i = 0; i < operands; i++)
		if (g->has_scales[i])
			e.scales[i] = tcb_kit_workspace(&w->kit, i ? "v_scales" : "k_scales", 4,
							i ? g->v_scales_at : g->k_scales_at);
	const kit_op tokens = tcb_kit_number(&w->kit, "tokens", g->n);
	w->per_sequence = g->block_page ? tcb_kit_number(&w->kit, "pages_each", g->block_pages) : tokens;
	tcb_kit_dependents(&w->kit, 1);
	tcb_kit_threads(&w->kit);
	w->sequence = u_block_y(b);
	const kit_op index = u_mad(b, u_block_x(b), I(THREADS), w->kit.tid);
	const struct kit_split eighth = u_split(b, index, I(row / VALUES));
	e.token = eighth.whole;
	e.number = eighth.rest;
	w->length = tcb_kit_entry(b, TCB_KIT_INPUT, lengths, w->sequence);
	/* Without pages there is memory for all tokens, and where they are all used nobody waits for the length first.
	 */
	tcb_ptx_if_begin(b, u_lt(b, e.token, is_eager ? tokens : w->length));
	e.from = row_of(w, e.token, table);
	e.block = u_shr(b, e.number, I(2));
	e.quarter = u_and(b, e.number, I(3));
	e.to = u_mad(b, w->sequence, tokens, e.token);
	if (are_together)
		unpack_together(w, &e, is_eager);
	else
		unpack_apart(w, &e, operands);
	tcb_ptx_if_end(b);
	tcb_kit_end(&w->kit);
}
