/* SPDX-License-Identifier: MIT
 *
 * attention_prefill on a GPU: a geometry comes in, a module of PTX and its launch go
 * out.  Here is what the kernels share: launch, parameters, which tile a number is and
 * what it sees.  attention_prefill_gpu.h says how they work.
 */
#include "kernels/attention/attention_prefill_gpu.h"

#include <math.h>

#include "base/sizes.h"
#include "kernels/attention/attention_gpu_visible.h"

const char *prefill_type_word(const struct prefill_gpu *g)
{
	return g->type == TCB_TYPE_F16 ? "f16" : "bf16";
}

/* --- tiles --- */

/* What query token I sees. */
static void write_visible(struct prefill_writer *w, kit_op i, kit_op *begin, kit_op *end)
{
	attention_visible_write(&w->kit.b, w->g->causal, w->g->window, w->g->has_prefix ? &w->prefix : NULL, w->length,
				w->m, i, begin, end);
}

void prefill_rows_open(struct prefill_writer *w, struct prefill_rows *rows, kit_op first_row)
{
	struct tcb_ptx_build *b = &w->kit.b;
	for (unsigned r = 0; r < 2; r++) {
		rows->row[r] = r ? u_add(b, first_row, I(PREFILL_ROWS / 2)) : first_row;
		const kit_op token = u_add(b, u_div(b, rows->row[r], I(w->g->heads)), w->first_token);
		const kit_op seeing = u_min(b, token, u_sub(b, w->m, I(1)));
		write_visible(w, seeing, &rows->from[r], &rows->to[r]);
		if (w->g->has_alibi)
			rows->own[r] = s_add(b, s_sub(b, w->length, w->m), seeing);
	}
}

/* The block's part of the tile's KV tokens, in whole tiles of them. */
static void take_part(struct prefill_writer *w, kit_op seen_by_all, kit_op last_begin)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	const kit_op each = u_div(b, w->count, I(g->kv_parts)), more = u_rem(b, w->count, I(g->kv_parts));
	const kit_op first = u_mad(b, w->part, each, u_min(b, w->part, more));
	w->count = u_add(b, each, u_select(b, I(1), I(0), u_lt(b, w->part, more)));
	w->begin = u_mad(b, first, I(g->kv), w->begin);
	w->end = u_min(b, w->end, u_mad(b, w->count, I(g->kv), w->begin));
	const kit_op seen = u_div(b, s_max(b, s_sub(b, seen_by_all, w->begin), I(0)), I(g->kv));
	w->masked = u_min(b, u_max(b, u_sub(b, w->count, u_min(b, seen, w->count)), I(1)), w->count);
	w->unmasked_to = w->count;
	if (g->window) {
		const kit_op hidden = s_max(b, s_sub(b, last_begin, w->begin), I(0));
		const kit_op before = u_div_up(b, hidden, g->kv);
		w->unmasked_to = s_max(b, w->masked, s_sub(b, w->count, before));
	}
}

static void write_limits(struct prefill_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	kit_op seen_by_all, last_begin;
	const kit_op last = u_min(b, u_add(b, w->first_token, I(g->tokens - 1)), u_sub(b, w->m, I(1)));
	write_visible(w, w->first_token, &w->begin, &seen_by_all);
	write_visible(w, last, &last_begin, &w->end);
	w->count = u_div_up(b, u_sub(b, w->end, w->begin), g->kv);
	if (g->kv_parts) {
		take_part(w, seen_by_all, last_begin);
		return;
	}
	seen_by_all = s_max(b, s_sub(b, seen_by_all, w->begin), I(0));
	w->masked = u_sub(b, w->count, u_div(b, seen_by_all, I(g->kv)));
	w->masked = u_max(b, u_min(b, w->masked, w->count), I(1));
	w->unmasked_to = w->count;
	if (g->window) {
		const kit_op before = u_add(b, u_sub(b, last_begin, w->begin), I(g->kv - 1));
		w->unmasked_to = s_max(b, w->masked, s_sub(b, w->count, u_div(b, before, I(g->kv))));
	}
}

static void place_tile(struct prefill_writer *w, kit_op item)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	const unsigned head_tiles = g->group / g->heads, of_sequence = g->kv_heads * head_tiles;
	struct kit_split tile = u_split(b, item, w->width);
	if (g->causal)
		tile.whole = u_sub(b, u_sub(b, w->token_tiles, I(1)), tile.whole);
	w->first_token = u_mul(b, tile.whole, I(g->tokens));
	const struct kit_split heads = u_split(b, tile.rest, I(of_sequence));
	w->sequence = heads.whole;
	w->head = u_mul(b, heads.rest, I(g->heads));
	w->kv_head = u_div(b, heads.rest, I(head_tiles));
}

void prefill_write_tile_ahead(struct prefill_writer *w, kit_op item)
{
	struct tcb_ptx_build *b = &w->kit.b;
	place_tile(w, item);
	w->length = u_min(b, tcb_kit_entry(b, TCB_KIT_RELAXED, w->lengths, w->sequence), I(w->g->n));
	write_limits(w);
}

void prefill_write_tile(struct prefill_writer *w, kit_op item)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	place_tile(w, item);
	w->length = tcb_kit_entry(b, tcb_kit_input(g->pdl), w->lengths, w->sequence);
	if (g->has_prefix)
		w->prefix = tcb_kit_entry(b, tcb_kit_input(g->pdl), w->prefixes, w->sequence);
	write_limits(w);
}

void prefill_items_begin(struct prefill_writer *w, struct prefill_items *items)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op block = u_block_x(b);
	if (!w->g->resident) {
		prefill_write_tile(w, block);
		return;
	}
	const kit_op blocks = u_blocks_x(b);
	const kit_op all = u_mul(b, w->token_tiles, w->width);
	if (w->g->is_dynamic) {
		items->all = all;
		items->next = u_set(b, block);
		tcb_ptx_repeat_begin(b);
		prefill_write_tile(w, items->next);
		return;
	}
	const kit_op other = u_sub(b, u_sub(b, blocks, I(1)), block);
	const kit_op both = u_add(b, block, other);
	const kit_op within = u_set(b, block);
	const kit_op loop = tcb_ptx_for_begin(b, I(0), all, blocks, 1);
	const kit_op item = u_add(b, loop, within);
	u_sub_to(b, within, both, within);
	tcb_ptx_if_begin(b, u_lt(b, item, all));
	prefill_write_tile(w, item);
}

/* As many are drawn as there are tiles, one past the end by each block, so that the counter ends where it began. */
kit_op prefill_items_draw(struct prefill_writer *w, struct prefill_items *items)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op drawn = u_atomic_count(b, tcb_ptx_at(w->counter, 0), u_sub(b, items->all, I(1)));
	return u_add(b, drawn, u_blocks_x(b));
}

void prefill_items_end(struct prefill_writer *w, struct prefill_items *items)
{
	if (!w->g->resident)
		return;
	if (w->g->is_dynamic) {
		tcb_ptx_repeat_end(&w->kit.b, u_lt(&w->kit.b, items->next, items->all));
		return;
	}
	tcb_ptx_if_end(&w->kit.b);
	tcb_ptx_for_end(&w->kit.b);
}

/* --- the kernel --- */

static kit_op tensor_param(struct prefill_writer *w, const char *name, enum attention_operand operand)
{
	const struct prefill_gpu *g = w->g;
	const int is_q = operand == ATTENTION_Q;
	const size_t values = operand == ATTENTION_V ? g->v : g->k, row = values * 2;
	const size_t heads = is_q ? (size_t)g->kv_heads * g->group : g->kv_heads, tokens = is_q ? g->m : g->n;
	const size_t apart = row * heads + (is_q ? g->q_gap : 0);
	struct tcb_tensor tensor = { attention_at(w->words, operand),
				     { .type = g->type == TCB_TYPE_F16 ? TCB_PTX_F16 : TCB_PTX_BF16,
				       .rank = 4,
				       .size = { values, heads, tokens, g->sequences },
				       .stride = { 0, row, apart, apart * tokens },
				       .box = { PREFILL_BOX, is_q ? g->heads : 1, is_q ? g->own_rows / g->heads : g->kv,
						1 },
				       .swizzle = PREFILL_BOX_BYTES } };
	if (g->page && !is_q) {
		tensor.map.size[2] = g->page;
		tensor.map.size[3] = (uint64_t)g->sequences * g->pages;
		tensor.map.stride[3] = row * heads * g->page;
		tensor.map.box[2] = (unsigned)tcb_least(g->page, g->kv);
	}
	if (g->converts && !is_q) { /* pairs of bytes, since rows of blocks begin with any of them */
		const size_t bytes = g->k / 32 * 34;
		tensor.map.type = TCB_PTX_U16;
		tensor.map.rank = 3;
		tensor.map.size[0] = bytes * heads / 2;
		tensor.map.size[1] = tokens;
		tensor.map.size[2] = g->sequences;
		tensor.map.stride[1] = bytes * heads;
		tensor.map.stride[2] = bytes * heads * tokens;
		tensor.map.box[0] = g->raw_pitch / 2;
		tensor.map.box[1] = g->kv;
		tensor.map.box[2] = 1;
		tensor.map.swizzle = 0;
	}
	if (!is_q && g->made[operand == ATTENTION_V]) {
		tensor.in_workspace = 1;
		tensor.at = operand == ATTENTION_V ? g->v16_at : 0;
	}
	return tcb_kit_tensor(&w->kit, name, &tensor);
}

/* An argument, or where a launch has no more of them a part of the kernel. */
static kit_op number(struct prefill_writer *w, const char *name, unsigned value)
{
	return w->kit.launch->argument_count < TCB_ARGUMENTS_MAX ? tcb_kit_number(&w->kit, name, value)
								 : u_set(&w->kit.b, I(value));
}

/* With more words the assembler must not know the numbers of tiles, which predicates that are always true are made of.
 */
static void write_numbers(struct prefill_writer *w)
{
	const struct prefill_gpu *g = w->g;
	const int has_more = g->has_sinks || g->has_alibi || g->has_prefix;
	if (!has_more)
		w->m = tcb_kit_number(&w->kit, "m", g->m);
	w->token_tiles = number(w, "token_tiles", g->token_tiles);
	w->width = number(w, "width", g->width);
	if (has_more)
		w->m = number(w, "m", g->m);
	w->per_sequence = number(w, g->page ? "pages_each" : "tokens_each", g->page ? g->pages : g->n);
}

static void write_parameters(struct prefill_writer *w)
{
	const struct prefill_gpu *g = w->g;
	static const char *const names[] = { "q", "k", "v" };
	kit_op *const to[] = { &w->q, &w->k, &w->v };
	for (enum attention_operand i = ATTENTION_Q; i <= (g->is_view ? ATTENTION_K : ATTENTION_V); i++)
		*to[i] = g->isa == TCB_ISA_WGMMA ? tensor_param(w, names[i], i)
			 : i && g->made[i > 1]   ? tcb_kit_workspace(&w->kit, names[i], 16, i > 1 ? g->v16_at : 0)
						 : tcb_kit_operand(&w->kit, names[i], 16, i);
	if (g->has_scales[0])
		w->k_scales = tcb_kit_workspace(&w->kit, "k_scales", 4, g->k_scales_at);
	if (g->has_scales[1] && !g->is_view)
		w->v_scales = tcb_kit_workspace(&w->kit, "v_scales", 4, g->v_scales_at);
	w->lengths = tcb_kit_operand(&w->kit, "lengths", 4, attention_at(w->words, ATTENTION_LENGTHS));
	if (!g->kv_parts)
		w->out = tcb_kit_operand(&w->kit, "out", 16, attention_at(w->words, ATTENTION_OUT));
	if (g->page)
		w->table = tcb_kit_operand(&w->kit, "pages", 4, attention_at(w->words, ATTENTION_TABLE));
	if (g->has_sinks)
		w->sinks = tcb_kit_operand(&w->kit, "sinks", 4, attention_at(w->words, ATTENTION_SINKS));
	if (g->has_alibi)
		w->slopes = tcb_kit_operand(&w->kit, "slopes", 4, attention_at(w->words, ATTENTION_SLOPES));
	if (g->has_prefix)
		w->prefixes = tcb_kit_operand(&w->kit, "prefix", 4, attention_at(w->words, ATTENTION_PREFIX));
	if (g->is_dynamic)
		w->counter = tcb_kit_workspace(&w->kit, "counter", 4, g->counter_at);
	if (g->kv_parts) {
		w->parts = tcb_kit_workspace(&w->kit, "parts", 16, 0);
		w->parts_ml = tcb_kit_workspace(&w->kit, "parts_ml", 16, g->parts_ml_at);
	}
	write_numbers(w);
}

/*
 * A product of tensor cores cuts sums towards zero: four units a token and term, as in matmul_gpu_work.c.  A rescale is
 * an exponential and a product, a tile.  Polynomials' weights are off by at most PREFILL_EXP_OFF of each, before they
 * are rounded, in the sum of p v and, the same values, in the sum of p: of sum p |v| and of sum p |y| so much, in units
 * of 2^-24.
 */
static double chain(const struct prefill_gpu *g)
{
	const double tiles = (double)tcb_div_up(g->n, g->kv) + 1;
	return tiles * (4.0 * g->kv * g->terms + 8) + 24 + (g->polynomials ? ceil(PREFILL_EXP_OFF * 0x1p24) : 0);
}

void prefill_write_kernel(struct prefill_writer *w, const char *name)
{
	const struct prefill_gpu *g = w->g;
	tcb_kit_begin(&w->kit, name,
		      &(struct tcb_kit_kernel){ .threads = g->threads,
						.blocks_together = g->occ,
						.grid = { g->grid, g->kv_parts },
						.shared_bytes = g->shared_bytes,
						.is_dependent = g->pdl });
	write_parameters(w);
	tcb_kit_memory(&w->kit, PREFILL_MEMORY_ALIGN);
	tcb_kit_dependents(&w->kit, 0);
	tcb_kit_threads(&w->kit);
	tcb_kit_uniform_warp(&w->kit);
	if (g->kv_parts)
		w->part = u_block_y(&w->kit.b);
	(g->isa == TCB_ISA_WGMMA ? prefill_write_wgmma : prefill_write_mma)(w);
	tcb_kit_end(&w->kit);
}

static enum tcb_status emit(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	const int is_wgmma = geometry->knob[TCB_KNOB_ISA] == TCB_ISA_WGMMA;
	struct prefill_gpu g;
	struct prefill_writer w = { .g = &g, .words = &problem->shape.words };
	TCB_TRY(tcb_kit_open(&w.kit, problem, target, is_wgmma ? 'a' : 0, geometry, out, err));
	prefill_gpu_plan(problem, target, geometry, &g);
	if (g.has_launch)
		prefill_write_unpack(&w);
	prefill_write_kernel(&w, tcb_ptx_namef(&w.kit.b, "attention_prefill_%s%s", prefill_type_word(&g),
					       is_wgmma   ? "_wgmma"
					       : g.is_f32 ? "_f32"
							  : ""));
	out->workspace_bytes = g.workspace_bytes;
	out->class = TCB_CLASS_BOUNDED;
	out->chain = chain(&g);
	if (g.is_dynamic)
		out->not_simulated = "the simulation does not follow tiles that are drawn";
	return tcb_kit_close(&w.kit, err);
}

#define ROW(type, isa, contract, word) TCB_EMITTED_ROW("attention_prefill_" #type "_" word, contract, isa, BOUNDED)
#define SIDE(kv, ...)                                                                                   \
	const struct tcb_side attention_prefill_##kv##_gpu = {                                          \
		.variants = TCB_EMITTED(ROW(kv, MMA, F16, "ptx_mma"), ROW(kv, WGMMA, F16, "ptx_wgmma"), \
					ROW(kv, MMA, F32, "f32_ptx_mma")),                              \
		.space = &prefill_gpu_space,                                                            \
		.emit = emit                                                                            \
	};
TCB_KV_LIST(SIDE, )
