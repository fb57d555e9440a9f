/* SPDX-License-Identifier: MIT
 *
 * The first launch of attention_prefill with KV of less than 16 bits: K and V, as stored
 * or in pages, come in; as much of them as lengths say goes out as f16, token after
 * token, to the workspace.
 *
 * A thread has eight values of a token, a quarter of a block, in K and in V, so that
 * neighbours store 16 bytes each side by side.  Blocks come by way of shared memory, 16 bytes at a time, where all of a
 * sequence lies side by side from a multiple of 16 on; else they are loaded two bytes at a time as they are aligned.
 * Bytes become f16 by way of their place in 1024.  Contract f32: of blocks f16 of
 * the codes, f32 of the scales.  What is f16 already, and comes with pages, is only moved.
 */
#include "base/sizes.h"
#include "kernels/attention/attention_prefill_gpu.h"
#include "kernels/gpu/barrier.h"

enum { THREADS = 256, VALUES = 8, SCALE_BYTES = 2, QUARTERS = 4, UNIT = 16, STAGED_ROUNDS = 2 };

/* Four codes of WORD, each OFF too large, to two words of f16, times SCALE (NULL: 1), which is there twice. */
static void unpack(struct tcb_ptx_build *b, kit_op word, unsigned off, const kit_op *scale, kit_op out[2])
{
	for (unsigned i = 0; i < 2; i++) {
		const kit_op above = u_permute(b, word, I(0x64646464), I(i ? 0x4342 : 0x4140));
		const kit_op code = h_sub(b, above, b_set(b, I(0x64006400 + 0x10001 * (int64_t)off)));
		out[i] = scale ? h_mul(b, code, *scale) : code;
	}
}

/* Eight values as they were stored. */
struct quarter {
	kit_op scale;   /* of blocks */
	kit_op word[4]; /* of blocks two, of Q4_0 with others in their bytes' low or high halves */
};

/* Of Q4_0 which eight bytes of a block quarter NUMBER is in. */
static kit_op quarter_of(struct tcb_ptx_build *b, enum tcb_kv_kind kind, kit_op number)
{
	return kind == TCB_KV_KIND_Q40 ? u_and(b, number, I(QUARTERS / 2 - 1)) : number;
}

/* Number NUMBER of the block at FROM on; in Q4_0 the third and fourth are above the others. */
static struct quarter load_of_block(struct tcb_ptx_build *b, enum tcb_kv_kind kind, kit_op from, kit_op number)
{
	struct quarter out;
	const kit_op codes = l_mad_wide(b, quarter_of(b, kind, number), I(VALUES), from);
	kit_op half[4];
	out.scale = tcb_kit_get(b, TCB_KIT_INPUT, "b16", from);
	for (unsigned i = 0; i < 4; i++)
		half[i] = tcb_kit_get(b, TCB_KIT_INPUT, "b16", tcb_ptx_at(codes, SCALE_BYTES + 2 * i));
	for (unsigned i = 0; i < 2; i++)
		out.word[i] = b_set(b, tcb_ptx_vector(b, half + 2 * i, 2));
	return out;
}

/* Where a thread's quarters are in shared memory: words from the codes' first byte on, which of an odd block is in the
 * middle of one; the scale. */
struct taker {
	kit_op first, last, shift, scale;
};

/* Of quarter NUMBER of block BLOCK of those from the beginning of MEMORY on. */
static struct taker open_taker(struct tcb_ptx_build *b, enum tcb_kv_kind kind, kit_op memory, kit_op block,
			       kit_op number)
{
	const unsigned each = (unsigned)tcb_kv_kind_bytes(kind, ATTENTION_BLOCK);
	const kit_op from = u_mad(b, block, I(each), memory);
	const kit_op codes = u_mad(b, quarter_of(b, kind, number), I(VALUES), from);
	struct taker out;
	out.first = tcb_ptx_assume_aligned(b, u_and(b, u_add(b, codes, I(SCALE_BYTES)), I(-4)), 4);
	out.last = tcb_ptx_assume_aligned(b, u_and(b, u_add(b, codes, I(SCALE_BYTES + 6)), I(-4)), 4);
	out.shift = u_sub(b, I(16), u_shl(b, u_and(b, block, I(1)), I(4)));
	out.scale = tcb_ptx_assume_aligned(b, from, 2);
	return out;
}

/* The same as load_of_block gives, MORE bytes behind: whole words. */
static struct quarter take(struct tcb_ptx_build *b, const struct taker *from, unsigned more)
{
	struct quarter out;
	kit_op word[3];
	for (unsigned i = 0; i < 3; i++)
		word[i] = tcb_kit_get(b, TCB_KIT_SHARED, "b32",
				      i < 2 ? tcb_ptx_at(from->first, more + 4 * i) : tcb_ptx_at(from->last, more));
	for (unsigned i = 0; i < 2; i++)
		out.word[i] = u_funnel(b, word[i], word[i + 1], from->shift);
	out.scale = tcb_kit_get(b, TCB_KIT_SHARED, "b16", tcb_ptx_at(from->scale, more));
	return out;
}

/* Quarter NUMBER of a block, as OWN, as f16; SCALE (NULL: 1). */
static void unpack_block(struct tcb_ptx_build *b, enum tcb_kv_kind kind, const struct quarter *own, kit_op number,
			 const kit_op *scale, kit_op out[4])
{
	const int is_q40 = kind == TCB_KV_KIND_Q40;
	const kit_op shift = is_q40 ? u_shl(b, u_shr(b, number, I(1)), I(2)) : I(0);
	for (unsigned i = 0; i < 2; i++) {
		kit_op word = own->word[i];
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
	kit_op bytes[2];  /* of a sequence, of blocks that come by way of shared memory */
	unsigned row[2];  /* values */
	unsigned eighths; /* of a token's longer row */
	unsigned operands;
	/* Both have rows as long, and there is memory for all tokens, which are all used: nobody waits for the length
	 * before it loads. */
	int is_eager;
	kit_op tokens, table; /* .u32: KV tokens of a sequence; .u64: with pages */
};

/* The eighth numbered INDEX of a sequence's. */
static void place(struct prefill_writer *w, struct eighth *e, kit_op index)
{
	const struct kit_split eighth = u_split(&w->kit.b, index, I(e->eighths));
	e->token = eighth.whole;
	e->number = eighth.rest;
}

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
		const kit_op both = b_set(b, tcb_ptx_vector(b, (const kit_op[]){ own->scale, own->scale }, 2));
		if (w->g->has_scales[i]) {
			const kit_op row = l_mad_wide(b, e->to, I(e->row[i] / ATTENTION_BLOCK * 4), e->scales[i]);
			const kit_op at = tcb_ptx_assume_aligned(b, l_mad_wide(b, e->block, I(4), row), 4);
			tcb_kit_put_where(b, u_eq(b, e->quarter, I(0)), TCB_KIT_GLOBAL, "f32", at,
					  f_from_f16(b, own->scale));
		}
		unpack_block(b, kind, own, e->quarter, w->g->has_scales[i] ? NULL : &both, out);
	}
	for (unsigned j = 0; j < 2 && kind == TCB_KV_KIND_FP8; j++)
		tcb_kit_e4m3_f16(b, own->word[j], out + 2 * j);
	tcb_kit_store(b, TCB_KIT_GLOBAL, "b32", l_mad_wide(b, e->number, I(2 * VALUES), to_row),
		      kind == TCB_KV_KIND_F16 ? own->word : out, 4);
}

/* One after the other, where rows are not as long. */
static void unpack_apart(struct prefill_writer *w, const struct eighth *e)
{
	struct tcb_ptx_build *b = &w->kit.b;
	for (unsigned i = 0; i < e->operands; i++) {
		tcb_ptx_if_begin(b, u_lt(b, e->number, I(e->row[i] / VALUES)));
		struct quarter own = load(w, e, i);
		store(w, e, i, &own);
		tcb_ptx_if_end(b);
	}
}

/* Of K, or of V (V): bytes of a quarter for each thread; those that a thread block has; a sequence's. */
static unsigned round_bytes(const struct prefill_gpu *g, unsigned v)
{
	return (unsigned)tcb_kv_kind_bytes(g->kind[v], THREADS * VALUES);
}

static unsigned staged_bytes(const struct prefill_gpu *g, unsigned v)
{
	return STAGED_ROUNDS * round_bytes(g, v);
}

static size_t sequence_bytes(const struct prefill_gpu *g, unsigned v)
{
	return g->n * tcb_kv_kind_bytes(g->kind[v], (size_t)g->kv_heads * (v ? g->v : g->k));
}

/* Whether the blocks' bytes are whole units, which begin with them. */
static int can_stage(const struct prefill_gpu *g)
{
	int can = 1;
	for (unsigned v = 0; v < 2; v++)
		can &= tcb_kv_kind_format(g->kind[v]) && sequence_bytes(g, v) % UNIT == 0 &&
		       round_bytes(g, v) % UNIT == 0;
	return can;
}

/* The thread block's blocks of both to shared memory, by all threads: V's behind K's. */
static void stage(struct prefill_writer *w, const struct eighth *e)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	const kit_op own = u_mul(b, w->kit.tid, I(UNIT)), to = u_add(b, w->kit.shared, own);
	kit_op data[2][STAGED_ROUNDS][4], is_there[2][STAGED_ROUNDS];
	for (unsigned v = 0; v < 2; v++) {
		const kit_op at = u_mad(b, u_block_x(b), I(staged_bytes(g, v)), own);
		const kit_op from = tcb_ptx_assume_aligned(
			b, l_mad_wide(b, w->sequence, e->bytes[v], tcb_kit_behind(b, e->in[v], at)), UNIT);
		for (unsigned i = 0; i * THREADS * UNIT < staged_bytes(g, v); i++) {
			const unsigned more = i * THREADS * UNIT;
			is_there[v][i] = u_lt_and(b, u_add(b, at, I(more)), e->bytes[v],
						  u_lt(b, own, I(staged_bytes(g, v) - more)));
			for (unsigned j = 0; j < 4; j++)
				data[v][i][j] = tcb_ptx_reg(b, "b32");
			tcb_kit_load_where(b, is_there[v][i], TCB_KIT_INPUT_ONCE, "b32", tcb_ptx_at(from, more),
					   data[v][i], 4);
		}
	}
	for (unsigned v = 0; v < 2; v++)
		for (unsigned i = 0; i * THREADS * UNIT < staged_bytes(g, v); i++)
			tcb_kit_store_where(b, is_there[v][i], TCB_KIT_SHARED, "b32",
					    tcb_ptx_at(to, (v ? staged_bytes(g, 0) : 0) + i * THREADS * UNIT),
					    data[v][i], 4);
	tcb_kit_block_barrier(b);
}

/* By way of shared memory: quarters of both for each thread, and as many again from as many tokens on. */
static void unpack_staged(struct prefill_writer *w, struct eighth *e)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	struct taker taker[2];
	tcb_kit_memory(&w->kit, PREFILL_MEMORY_ALIGN); /* as the other launch declares it */
	stage(w, e);
	const kit_op block = u_shr(b, w->kit.tid, I(2));
	e->quarter = u_and(b, w->kit.tid, I(3));
	for (unsigned v = 0; v < 2; v++)
		taker[v] = v && g->kind[1] == g->kind[0] ? taker[0]
							 : open_taker(b, g->kind[v], w->kit.shared, block, e->quarter);
	for (unsigned i = 0; i < STAGED_ROUNDS; i++) {
		place(w, e, u_mad(b, u_block_x(b), I(STAGED_ROUNDS * THREADS), u_add(b, w->kit.tid, I(i * THREADS))));
		tcb_ptx_if_begin(b, u_lt(b, e->token, w->length));
		e->to = u_mad(b, w->sequence, e->tokens, e->token);
		e->block = u_shr(b, e->number, I(2));
		for (unsigned v = 0; v < 2; v++) {
			struct quarter own = take(b, &taker[v], (v ? staged_bytes(g, 0) : 0) + i * round_bytes(g, v));
			store(w, e, v, &own);
		}
		tcb_ptx_if_end(b);
	}
}

static void unpack_together(struct prefill_writer *w, const struct eighth *e)
{
	struct tcb_ptx_build *b = &w->kit.b;
	struct quarter own[2];
	for (unsigned i = 0; i < 2; i++)
		own[i] = load(w, e, i);
	if (e->is_eager)
		tcb_ptx_if_begin(b, u_lt(b, e->token, w->length));
	for (unsigned i = 0; i < 2; i++)
		store(w, e, i, &own[i]);
	if (e->is_eager)
		tcb_ptx_if_end(b);
}

/* From where they are stored. */
static void unpack_direct(struct prefill_writer *w, struct eighth *e)
{
	struct tcb_ptx_build *b = &w->kit.b;
	place(w, e, u_mad(b, u_block_x(b), I(THREADS), w->kit.tid));
	tcb_ptx_if_begin(b, u_lt(b, e->token, e->is_eager ? e->tokens : w->length));
	e->from = row_of(w, e->token, e->table);
	e->block = u_shr(b, e->number, I(2));
	e->quarter = u_and(b, e->number, I(3));
	e->to = u_mad(b, w->sequence, e->tokens, e->token);
	if (e->operands > 1 && e->row[0] == e->row[1])
		unpack_together(w, e);
	else
		unpack_apart(w, e);
	tcb_ptx_if_end(b);
}

void prefill_write_unpack(struct prefill_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	struct eighth e = { .row = { g->kv_heads * g->k, g->kv_heads * g->v }, .operands = g->made[1] ? 2 : 1 };
	e.eighths = (unsigned)tcb_most(e.row[0], e.operands > 1 ? e.row[1] : 0) / VALUES;
	e.is_eager =
		e.operands > 1 && e.row[0] == e.row[1] && !g->block_page && !w->kit.out->problem.shape.words.ragged;
	const int is_staged = e.is_eager && can_stage(g);
	const size_t together = is_staged ? STAGED_ROUNDS * THREADS : THREADS;
	tcb_kit_begin(&w->kit, "attention_prefill_unpack",
		      &(struct tcb_kit_kernel){
			      .threads = THREADS,
			      .blocks_together = 4,
			      .grid = { (unsigned)tcb_div_up((size_t)g->n * e.eighths, together), g->sequences },
			      .shared_bytes = is_staged ? staged_bytes(g, 0) + staged_bytes(g, 1) : 0,
			      .is_dependent = g->pdl });
	for (unsigned i = 0; i < e.operands; i++)
		e.in[i] = tcb_kit_operand(&w->kit, i ? "v" : "k", 16, i ? ATTENTION_V : ATTENTION_K);
	const kit_op lengths = tcb_kit_operand(&w->kit, "lengths", 4, attention_at(w->words, ATTENTION_LENGTHS));
	if (g->block_page)
		e.table = tcb_kit_operand(&w->kit, "pages", 4, attention_at(w->words, ATTENTION_TABLE));
	for (unsigned i = 0; i < e.operands; i++)
		e.out[i] = tcb_kit_workspace(&w->kit, i ? "v16" : "k16", 16, i ? g->v16_at : 0);
	for (unsigned i = 0; i < e.operands; i++)
		if (g->has_scales[i])
			e.scales[i] = tcb_kit_workspace(&w->kit, i ? "v_scales" : "k_scales", 4,
							i ? g->v_scales_at : g->k_scales_at);
	e.tokens = tcb_kit_number(&w->kit, "tokens", g->n);
	for (unsigned v = 0; is_staged && v < 2; v++)
		e.bytes[v] = tcb_kit_number(&w->kit, v ? "v_bytes" : "k_bytes", sequence_bytes(g, v));
	w->per_sequence = g->block_page ? tcb_kit_number(&w->kit, "pages_each", g->block_pages) : e.tokens;
	tcb_kit_dependents(&w->kit, 1);
	tcb_kit_threads(&w->kit);
	w->sequence = u_block_y(b);
	w->length = tcb_kit_entry(b, TCB_KIT_INPUT, lengths, w->sequence);
	(is_staged ? unpack_staged : unpack_direct)(w, &e);
	tcb_kit_end(&w->kit);
}
