/* SPDX-License-Identifier: MIT
 *
 * Chunks of tokens on a GPU: the two launches, their parameters and where their threads are.
 */
#include "kernels/delta/delta_chunk_gpu.h"

#include "base/sizes.h"

/* --- the first --- */

static void prepare(struct chunk_preparer *w)
{
	struct tcb_kit *kit = &w->kit;
	struct tcb_ptx_build *b = &kit->b;
	const struct delta_gpu *g = w->g;
	tcb_kit_begin(kit, "prepare",
		      &(struct tcb_kit_kernel){ .threads = 2 * chunk_tiles(g) * WARP,
						.blocks_together = g->k > DELTA_KEY_MAX / 2 ? 1 : 2,
						.grid = { g->chunks * g->key_heads, g->sequences, g->parts },
						.shared_bytes = g->prepare_shared,
						.is_dependent = g->pdl });
	w->qkv = tcb_kit_operand(kit, "qkv", 16, DELTA_QKV);
	w->decay = tcb_kit_operand(kit, "g", 4, DELTA_G);
	w->beta = tcb_kit_operand(kit, "beta", 4, DELTA_BETA);
	w->key_heads = tcb_kit_operand(kit, "key_heads", 4, DELTA_KEY_HEADS);
	w->counts = tcb_kit_operand(kit, "counts", 4, DELTA_COUNTS);
	w->rows = tcb_kit_workspace(kit, "rows", 256, 0);
	w->records = tcb_kit_workspace(kit, "records", 256, g->records_at);
	tcb_kit_memory(kit, 16);
	tcb_kit_dependents(kit, 1);
	tcb_kit_threads(kit);
	tcb_kit_uniform_warp(kit);
	const struct kit_split block = u_split(b, u_block_x(b), I(g->key_heads));
	w->chunk = block.whole;
	w->key_head = block.rest;
	w->sequence = u_block_y(b);
	w->first = u_mul(b, w->chunk, I(g->chunk));
	w->count = tcb_kit_entry(b, tcb_kit_input(g->pdl), w->counts, w->sequence);
	w->quad = u_shr(b, kit->lane, I(2));
	w->pair = u_and(b, kit->lane, I(3));
	w->keys = kit->shared;
	w->systems = u_add(b, w->keys, I(chunk_rows_bytes(g)));
	w->numbers = u_add(b, w->systems, I(g->has_correction ? 2 * chunk_system_bytes(g) : 0));
	w->list = u_add(b, w->numbers, I(4 * CHUNK_NUMBERS * g->chunk * g->taken));
	const kit_op chunk = u_mad(b, w->sequence, I(g->chunks), w->chunk);
	w->rows = l_mad_wide(b, u_mad(b, chunk, I(g->key_heads), w->key_head), I(chunk_rows_bytes(g)), w->rows);
	w->records = l_mad_wide(b, u_mul(b, chunk, I(g->heads)), I(chunk_record_bytes(g)), w->records);
	tcb_ptx_if_begin(b, u_lt(b, w->first, w->count));
	chunk_write_prepare(w);
	tcb_ptx_if_end(b);
	tcb_kit_end(kit);
}

/* --- the second --- */

static void declare(struct chunk_writer *w)
{
	struct tcb_kit *kit = &w->kit;
	w->qkv = tcb_kit_operand(kit, "qkv", 16, DELTA_QKV);
	w->key_heads = tcb_kit_operand(kit, "key_heads", 4, DELTA_KEY_HEADS);
	w->counts = tcb_kit_operand(kit, "counts", 4, DELTA_COUNTS);
	w->slots = tcb_kit_operand(kit, "slots", 4, DELTA_SLOTS);
	w->states = tcb_kit_operand(kit, "states", 16, DELTA_STATES);
	w->y = tcb_kit_operand(kit, "y", 8, DELTA_Y);
	w->states_out = tcb_kit_operand(kit, "states_out", 16, DELTA_STATES_OUT);
	w->rows = tcb_kit_workspace(kit, "rows", 256, 0);
	w->records = tcb_kit_workspace(kit, "records", 256, w->g->records_at);
	if (!w->g->has_correction)
		w->skips = tcb_kit_operand(kit, "skip", 4, DELTA_SKIP);
}

/* Of the shared memory behind the ring, which begins at MEMORY. */
static void write_shared_places(struct chunk_writer *w, kit_op memory)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned pitch = chunk_row(g), value_pitch = chunk_value_row(g);
	const kit_op group = u_mul(b, u_div(b, w->kit.warp, I(chunk_tiles(g))), I(g->warp_values));
	const kit_op token = u_mad(b, w->tile, I(CHUNK_TILE), w->quad), lane = w->kit.lane;
	const kit_op own = u_mad(b, group, I(2), u_mul(b, w->pair, I(4)));
	const kit_op to = u_mad(b, token, I(value_pitch), own);
	const kit_op from = u_mad(b, group, I(2), chunk_lane_down(b, lane, value_pitch));
	const kit_op across = chunk_lane_across(b, lane, value_pitch);
	w->states_to = u_mad(b, w->quad, I(pitch), u_mad(b, w->pair, I(4), memory));
	w->states_from = u_mad(b, group, I(pitch), u_add(b, memory, chunk_lane_across(b, lane, pitch)));
	w->states_from = tcb_ptx_assume_aligned(b, w->states_from, 16);
	memory = u_add(b, memory, I(g->tile * pitch));
	if (g->has_correction) {
		w->right_to = tcb_ptx_assume_aligned(b, u_add(b, memory, to), 4);
		w->right_from = tcb_ptx_assume_aligned(b, u_add(b, memory, from), 16);
		memory = u_add(b, memory, I(g->chunk * value_pitch));
	}
	w->added_to = tcb_ptx_assume_aligned(b, u_add(b, memory, to), 4);
	w->added_from = tcb_ptx_assume_aligned(b, u_add(b, memory, from), 16);
	memory = u_add(b, memory, I(g->chunk * value_pitch));
	w->left_to = tcb_ptx_assume_aligned(b, u_add(b, memory, to), 4);
	w->left_from = tcb_ptx_assume_aligned(b, u_add(b, memory, across), 16);
}

static void write_places(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const enum tcb_kit_memory input = tcb_kit_input(g->pdl);
	const struct kit_split block = u_split(b, u_block_x(b), I(g->tiles));
	const struct kit_split warp = u_split(b, w->kit.warp, I(chunk_tiles(g)));
	const unsigned rows = chunk_rows_bytes(g), record = chunk_record_bytes(g);
	w->head = block.whole;
	w->sequence = u_block_y(b);
	w->quad = u_shr(b, w->kit.lane, I(2));
	w->pair = u_and(b, w->kit.lane, I(3));
	w->tile = warp.rest;
	const kit_op key_head = tcb_kit_entry(b, input, w->key_heads, w->head);
	w->count = tcb_kit_entry(b, input, w->counts, w->sequence);
	if (!g->has_correction)
		w->skip = tcb_kit_get(b, input, "f32", tcb_kit_element(b, w->skips, w->head, 4));
	/* Of the state the lane has values from its quad on, of the tokens' pairs from twice its pair on. */
	const kit_op first = u_mul(b, block.rest, I(g->tile));
	w->value = u_add(b, first, w->quad);
	const kit_op of_warp = u_mad(b, warp.whole, I(g->warp_values), u_mad(b, w->pair, I(2), first));
	for (unsigned e = 0; e < g->warp_values / CHUNK_EIGHT; e++)
		for (unsigned i = 0; i < 2; i++)
			w->has_value[e][i] = u_lt(b, u_add(b, of_warp, I(CHUNK_EIGHT * e + i)), I(g->n));
	for (unsigned i = 0; i < g->key_groups; i++)
		w->group[i] = u_min(b, u_add(b, w->kit.warp, I(i * g->warps)), I(g->k / CHUNK_TILE - 1));
	for (unsigned r = 0; r < 2; r++) {
		const kit_op in_chunk = u_mad(b, w->tile, I(CHUNK_TILE), u_add(b, w->quad, I(CHUNK_EIGHT * r)));
		const kit_op token = u_mad(b, w->sequence, I(g->m), in_chunk);
		const kit_op v = u_mad(b, w->head, I(g->n), u_add(b, of_warp, I(2 * g->key_heads * g->k)));
		const kit_op y = u_mad(b, u_mad(b, token, I(g->heads), w->head), I(g->n), of_warp);
		const unsigned align = g->n % 2 ? 4 : 8;
		w->v_at[r] =
			tcb_ptx_assume_aligned(b, tcb_kit_element(b, w->qkv, u_mad(b, token, I(g->row), v), 4), align);
		w->y_at[r] = tcb_ptx_assume_aligned(b, tcb_kit_element(b, w->y, y, 4), align);
	}
	const kit_op chunk = u_mul(b, w->sequence, I(g->chunks));
	w->rows_at = l_mad_wide(b, u_mad(b, chunk, I(g->key_heads), key_head), I(rows), w->rows);
	w->records_at = l_mad_wide(b, u_mad(b, chunk, I(g->heads), w->head), I(record), w->records);
	const kit_op memory = w->kit.shared, slots = u_add(b, memory, I(g->is_bulk ? CHUNK_BARRIERS_BYTES : 0));
	write_shared_places(w, u_add(b, slots, I(g->stages * chunk_slot_bytes(g))));
	if (g->is_bulk) {
		w->tiles = (struct tcb_kit_tiles){ .stages = g->stages, .slot_bytes = chunk_slot_bytes(g) };
		tcb_kit_tiles_open(b, &w->tiles, slots, memory, 0);
		return;
	}
	w->asked = u_set(b, I(0));
	w->ring = (struct tcb_kit_ring){ .stages = g->stages, .slot_bytes = chunk_slot_bytes(g), .has_before = 1 };
	tcb_kit_ring_slots(b, &w->ring, I(0), slots);
}

static void cluster_barrier(struct chunk_writer *w)
{
	if (w->g->cluster == 1)
		return;
	tcb_kit_warp_barrier(&w->kit.b);
	tcb_kit_cluster_barrier(&w->kit.b);
}

static void write_barriers(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	tcb_kit_one_begin(&w->kit);
	tcb_kit_tiles_init(b, &w->tiles, w->g->warps * w->g->cluster);
	tcb_kit_barriers_ready(b);
	tcb_ptx_if_end(b);
	if (w->g->cluster == 1)
		tcb_kit_block_barrier(b);
	cluster_barrier(w);
}

static void states(struct chunk_writer *w)
{
	const struct delta_gpu *g = w->g;
	tcb_kit_begin(&w->kit, g->has_correction ? "delta_chunks" : "ssd_chunks",
		      &(struct tcb_kit_kernel){ .threads = g->threads,
						.blocks_together = 1,
						.grid = { g->tiles * g->heads, g->sequences },
						.cluster = { g->cluster > 1 ? g->cluster : 0 },
						.shared_bytes = g->shared_bytes,
						.is_dependent = g->pdl });
	declare(w);
	tcb_kit_memory(&w->kit, 16);
	tcb_kit_dependents(&w->kit, 1);
	tcb_kit_threads(&w->kit);
	tcb_kit_uniform_warp(&w->kit);
	write_places(w);
	if (g->is_bulk)
		write_barriers(w);
	tcb_ptx_if_begin(&w->kit.b, u_gt(&w->kit.b, w->count, I(0)));
	chunk_write_states(w);
	tcb_ptx_if_end(&w->kit.b);
	cluster_barrier(w); /* others' copies and arrivals end here before the block does */
	tcb_kit_end(&w->kit);
}

enum tcb_status delta_chunk_emit(const struct tcb_problem *problem, const struct tcb_target *target,
				 const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct delta_gpu g;
	struct chunk_preparer first = { .g = &g };
	struct chunk_writer second = { .g = &g };
	delta_gpu_plan(problem, geometry, &g);
	/* Copies for a whole cluster are of sm_90a, not sm_90. */
	TCB_TRY(tcb_kit_open(&first.kit, problem, target, g.cluster > 1 ? 'a' : 0, geometry, out, err));
	prepare(&first);
	second.kit = first.kit;
	states(&second);
	out->class = TCB_CLASS_BOUNDED;
	out->workspace_bytes = g.workspace_bytes;
	/* Tensor cores cut sums towards zero, up to two units a step of eight and as much of what they add at a time;
	 * three products of terms lack 3 * 2^-18, 192 units, which the reference counts thrice; ratios of decays are
	 * off by some units. */
	out->chain = 4.0 * (g.k + g.chunk) + 64 + 192;
	return tcb_kit_close(&second.kit, err);
}
