/* SPDX-License-Identifier: MIT
 *
 * The products of experts on GPUs: blocks that stay and go over their items, each
 * a chunk of an expert's tokens by midi.n of its rows, as over one stream of
 * steps.
 *
 * A step is ksplit units of 256 along k.  Its slot in shared memory has each
 * warp's weights (layout f or g), copied by that warp, and the chunk's activations,
 * gathered by all warps (quant_experts_gpu_gather.c).  One barrier a step says that
 * all copies of its slot are there, and that the slot before is free.
 *
 * copy=bulk: lane 0 asks for the warp's weights, a unit of 16 rows at a time, and an
 * mbarrier of that warp and slot counts them.  With prep=block nothing else comes a
 * step, and warps meet only where an item begins: its activations take the place of
 * those before, which all are then done with, as they are with its parts and its entry.
 *
 * What an item is, its copies and its results need at different times: it is
 * asked for an item ahead, looked up with its first copy, and kept in shared
 * memory until the results are stored.
 */
#include "kernels/gpu/barrier.h"
#include "kernels/gpu/ring.h"
#include "kernels/quant_experts/quant_experts_gpu_gather.h"
#include "kernels/quant_matmul/quant_matmul_gpu_join.h"
#include "kernels/quant_matmul/quant_matmul_gpu_s8.h"
#include "kernels/quant_matmul/quant_matmul_gpu_unit.h"
#include "kernels/quant_matmul/quant_matmul_gpu_wgmma.h"
#include "kernels/quant_matmul/quant_matmul_gpu_x.h"

enum { PIECE = 16, WORD = 4 };

/* What is asked for next: registers that go on from step to step. */
struct asking {
	kit_op item, step, left;           /* steps that are left of all items */
	kit_op entry;                      /* of the item in shared memory */
	kit_op weights[QMM_ROW_TILES_MAX]; /* of each 16 rows, the lane's first piece; bulk: the unit */
	kit_op lane_at;                    /* 16 times the lane; not bulk */
	kit_op weights_to;                 /* where they go, behind a slot's start */
	kit_op chunk[QEX_CHUNK_WORDS], number,
		block; /* of the item: its chunk, the number of that, its block of rows */
	struct qex_gather gather;
};

static int is_bulk(const struct qex_gpu *g)
{
	return g->tile.copy == TCB_COPY_BULK;
}

static kit_op entry_at(struct qex_writer *x, unsigned i)
{
	return I(x->g->items_at + i * x->g->item_bytes);
}

/* ENTRY of the next item. */
static void next_entry(struct qex_writer *x, kit_op entry)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qex_gpu *g = x->g;
	u_add_to(b, entry, entry, I(g->item_bytes));
	const kit_op end = u_add(b, x->w.kit.shared, entry_at(x, g->tile.stages));
	const kit_op start = u_add(b, x->w.kit.shared, entry_at(x, 0));
	u_select_to(b, entry, start, entry, u_eq(b, entry, end));
}

/* Asks for what the item is: an item ahead of when that is wanted, so that nothing waits for it. */
static void fetch(struct qex_writer *x, struct asking *a)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct kit_split at = u_split(b, a->item, x->chunks);
	u_set_to(b, a->number, at.rest);
	u_set_to(b, a->block, at.whole);
	tcb_kit_load_into(b, x->route_memory, "u32", qex_route_at(x, x->table, a->number, QEX_CHUNK_WORDS * WORD),
			  a->chunk, QEX_CHUNK_WORDS);
	if (!x->g->is_in_block)
		qex_gather_fetch(x, &a->gather, a->number, a->chunk[1]);
}

static void asking_open(struct qex_writer *x, struct asking *a, kit_op all)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qex_gpu *g = x->g;
	const struct qmm_writer *w = &x->w;
	a->item = u_set(b, u_block_x(b));
	a->step = u_set(b, I(0));
	a->left = u_set(b, all);
	a->entry = u_add(b, w->kit.shared, entry_at(x, 0));
	for (unsigned i = 0; i < g->tile.row_tiles; i++)
		a->weights[i] = l_set(b, w->weights);
	if (is_bulk(g)) {
		a->weights_to = u_mad(b, w->kit.warp, I(g->warp_bytes), w->kit.shared);
	} else {
		a->lane_at = u_shl(b, w->kit.lane, I(4));
		a->weights_to = u_mad(b, w->kit.warp, I(g->warp_bytes), u_add(b, w->kit.shared, a->lane_at));
	}
	qex_gather_open(x, &a->gather);
	a->number = u_set(b, I(0));
	a->block = u_set(b, I(0));
	for (unsigned i = 0; i < QEX_CHUNK_WORDS; i++)
		a->chunk[i] = u_set(b, I(0));
	fetch(x, a);
}

/* The item: a chunk, whose expert's weights and tokens are pointed at, by a block of rows. */
static void look_up(struct qex_writer *x, struct asking *a)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qex_gpu *g = x->g;
	const struct qmm_gpu *t = &g->tile;
	const unsigned of_matrix = t->row_tiles / g->matrices;
	const kit_op expert = u_min(b, a->chunk[0], I(g->experts - 1));
	const kit_op group = u_mad(b, a->block, I(t->side), x->w.side);
	const kit_op weights[] = { x->w.weights, x->up };
	for (unsigned m = 0; m < g->matrices; m++) {
		x->w.weights = l_mad_wide(b, expert, I((int64_t)g->matrix_bytes), weights[m]);
		for (unsigned i = 0; i < of_matrix; i++) {
			const kit_op rows = qmm_write_rows_at(&x->w, group, qex_row_tile(x, i));
			const kit_op from = tcb_kit_element(b, rows, x->w.ks, t->unit.bytes);
			if (is_bulk(g))
				l_set_to(b, a->weights[m * of_matrix + i], from);
			else
				l_add_to(b, a->weights[m * of_matrix + i], from, l_from_u(b, a->lane_at));
		}
	}
	x->w.weights = weights[0];
	qex_gather_look_up(x, &a->gather, a->entry, a->number, a->chunk[1]);
	tcb_ptx_guard(b, u_eq(b, x->w.kit.tid, I(0)));
	tcb_kit_store(b, TCB_KIT_SHARED, "u32", tcb_ptx_assume_aligned(b, a->entry, QEX_ITEM_BYTES),
		      (const kit_op[]){ a->chunk[0], a->chunk[1], a->block, a->block }, 4);
	tcb_ptx_unguard(b);
	next_entry(x, a->entry);
	u_add_to(b, a->item, a->item, u_blocks_x(b));
	fetch(x, a);
}

/* A unit of 16 rows from FROM to AT bytes behind TO, 16 of each lane at a time. */
static void copy_by_lanes(struct qex_writer *x, const struct asking *a, kit_op from, kit_op to, unsigned at)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const unsigned bytes = x->g->tile.unit.bytes;
	for (unsigned done = 0; done < bytes; done += WARP * PIECE) {
		const unsigned left = bytes - done;
		if (left < WARP * PIECE)
			tcb_ptx_if_begin(b, u_lt(b, a->lane_at, I(left)));
		qex_copy(x, tcb_ptx_at(to, at + done), tcb_ptx_at(from, done), PIECE, NULL);
		if (left < WARP * PIECE)
			tcb_ptx_if_end(b);
	}
}

/* By lane 0, which alone knows where it is; BARRIER counts them. */
static void ask_bulk(struct qex_writer *x, struct asking *a, kit_op to, kit_op barrier)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qmm_gpu *t = &x->g->tile;
	const int64_t bytes = t->unit.bytes;
	tcb_ptx_if_begin(b, u_eq(b, x->w.kit.lane, I(0)));
	tcb_kit_expect(b, barrier, I(x->g->warp_bytes));
	for (unsigned i = 0; i < t->row_tiles; i++) {
		const kit_op from = tcb_ptx_assume_aligned(b, a->weights[i], PIECE);
		tcb_kit_copy_bulk(b, tcb_ptx_at(to, i * bytes), from, I(bytes), barrier, NULL);
		l_add_to(b, a->weights[i], a->weights[i], I(t->ksplit * bytes));
	}
	tcb_ptx_if_end(b);
}

static void copy_weights(struct qex_writer *x, struct asking *a, kit_op slot, kit_op barrier)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qmm_gpu *t = &x->g->tile;
	const kit_op to = tcb_ptx_assume_aligned(b, u_add(b, a->weights_to, slot), PIECE);
	if (is_bulk(x->g)) {
		ask_bulk(x, a, to, barrier);
		return;
	}
	for (unsigned i = 0; i < t->row_tiles; i++) {
		copy_by_lanes(x, a, tcb_ptx_assume_aligned(b, a->weights[i], PIECE), to, i * t->unit.bytes);
		l_add_to(b, a->weights[i], a->weights[i], I((int64_t)t->ksplit * t->unit.bytes));
	}
}

/* Asks for the next step, if there is one, into the slot that begins SLOT bytes behind the first; bulk: BARRIER's. */
static void ask(struct qex_writer *x, struct asking *a, kit_op slot, kit_op barrier)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qex_gpu *g = x->g;
	tcb_ptx_if_begin(b, u_gt(b, a->left, I(0)));
	tcb_ptx_if_begin(b, u_eq(b, a->step, I(0)));
	look_up(x, a);
	tcb_ptx_if_end(b);
	copy_weights(x, a, slot, barrier);
	if (!g->is_in_block)
		qex_gather_copy(x, &a->gather, slot);
	u_sub_to(b, a->left, a->left, I(1));
	u_add_to(b, a->step, a->step, I(1));
	u_select_to(b, a->step, I(0), a->step, u_eq(b, a->step, I(g->steps)));
	tcb_ptx_if_end(b);
	if (g->has_groups)
		copies_commit(b);
}

/* --- products --- */

struct multiplying {
	kit_op step, entry;                /* of the item; its entry in shared memory */
	kit_op weights, x_at[QMM_X_PARTS]; /* behind a slot's start: the warp's weights, the lane's activations */
	struct qmm_sums sums;
	struct qmm_chunks chunks; /* wgmma */
};

static void multiplying_open(struct qex_writer *x, struct multiplying *m)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qex_gpu *g = x->g;
	const kit_op image = u_add(b, x->w.kit.shared, I(g->is_in_block ? g->x_at : g->slot_x_at));
	m->step = u_set(b, I(0));
	m->entry = u_add(b, x->w.kit.shared, entry_at(x, 0));
	m->weights = u_mad(b, x->w.kit.warp, I(g->warp_bytes), x->w.kit.shared);
	const kit_op share = u_mad(b, x->w.ks, I(g->tile.unit_tiles * g->tile.x_tile_bytes), image);
	m->x_at[QMM_X_LOW] = m->x_at[QMM_X_HIGH] = share;
	m->x_at[QMM_X_SUMS] = u_mad(b, x->w.kit.lane, I(8), share);
	m->x_at[QMM_X_SCALES] = u_mad(b, x->w.pair, I(QMM_SCALE_STRIDE), share);
	if (g->tile.is_wgmma)
		qmm_write_chunks_open(&x->w, &m->chunks);
	else
		qmm_write_lane_rows(&x->w, share, m->x_at);
	qmm_write_zero(&x->w, &m->sums);
}

/* Of a step: weights at LANE, activations at X_AT, those of the first GROUPS times 8 tokens. */
static void multiply_groups(struct qex_writer *x, struct multiplying *m, const struct qmm_lane_at *lane,
			    const kit_op x_at[QMM_X_PARTS], unsigned groups)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qmm_gpu *t = &x->g->tile;
	struct qmm_raw raw[QMM_ROW_TILES_MAX];
	struct qmm_gpu fewer = *t;
	if (!t->is_wgmma && !t->group) {
		qmm_write_unit(&x->w, lane, 0, t->unit.bytes, raw, x_at, 0, groups, &m->sums);
		return;
	}
	fewer.tokens = groups * QMM_GROUP_TOKENS;
	fewer.token_groups = groups;
	x->w.g = &fewer;
	if (t->group) {
		qmm_write_unit_s8(&x->w, lane, 0, t->unit.bytes, raw, x_at, 0, m->sums.of[0]);
		x->w.g = t;
		return;
	}
	for (unsigned chunk = 0; chunk < QMM_CHUNKS; chunk++) {
		qmm_write_expand(&x->w, &m->chunks, lane, 0, t->unit.bytes, chunk);
		qmm_write_products(&x->w, &m->chunks, chunk, u_add(b, x_at[0], I(chunk * t->x_tile_bytes)), &m->sums);
	}
	wgmma_wait(b, I(0)); /* the slot is free when all have come to the next barrier */
	x->w.g = t;
}

/* The step in SLOT: with as many groups of 8 tokens as the chunk has, of powers of two. */
static void multiply(struct qex_writer *x, struct multiplying *m, kit_op slot)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qex_gpu *g = x->g;
	const kit_op weights = tcb_ptx_assume_aligned(b, u_add(b, m->weights, slot), PIECE);
	const kit_op tokens = tcb_kit_get(b, TCB_KIT_SHARED, "u32", tcb_ptx_at(m->entry, WORD));
	const unsigned step_bytes = g->tile.ksplit * g->tile.unit_tiles * g->tile.x_tile_bytes;
	const kit_op on = g->is_in_block ? u_mul(b, m->step, I(step_bytes)) : slot;
	struct qmm_lane_at lane = { 0 };
	kit_op x_at[QMM_X_PARTS];
	unsigned depth = 0;
	qmm_write_lane_at(&x->w, weights, &lane);
	for (unsigned i = 0; i < (g->tile.group ? QMM_X_PARTS : QMM_X_SUMS); i++)
		x_at[i] = tcb_ptx_assume_aligned(b, u_add(b, m->x_at[i], on), i == QMM_X_SUMS ? 8 : PIECE);
	for (unsigned groups = 1; groups < g->tile.token_groups; groups *= 2, depth++) {
		tcb_ptx_if_begin(b, u_le(b, tokens, I(groups * QMM_GROUP_TOKENS)));
		multiply_groups(x, m, &lane, x_at, groups);
		tcb_ptx_if_else(b);
	}
	multiply_groups(x, m, &lane, x_at, g->tile.token_groups);
	while (depth--)
		tcb_ptx_if_end(b);
}

static void clear_sums(struct qex_writer *x, struct qmm_sums *sums)
{
	const struct qmm_gpu *t = &x->g->tile;
	for (unsigned chain = 0; chain < t->chains; chain++)
		for (unsigned i = 0; i < t->row_tiles; i++)
			for (unsigned group = 0; group < t->token_groups; group++)
				for (unsigned j = 0; j < 4; j++)
					f_set_to(&x->w.kit.b, sums->of[chain][i][group][j], F(0));
}

/* --- the stream --- */

/* Steps of the block's items. */
static kit_op count_steps(struct qex_writer *x)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const kit_op items = u_mul(b, x->chunks, u_div_up(b, x->w.rows, x->g->tile.side * x->g->tile.rows));
	const kit_op block = u_block_x(b), blocks = u_blocks_x(b);
	const kit_op left = u_sub(b, u_max(b, items, block), block);
	const kit_op mine = u_div(b, u_add(b, left, u_sub(b, blocks, I(1))), blocks);
	return u_mul(b, mine, I(x->g->steps));
}

/* Offsets of slots from the first; the one before is that to fill.  copy=bulk: the warp's own barriers. */
static void ring_open(struct qex_writer *x, struct tcb_kit_ring *ring)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qex_gpu *g = x->g;
	*ring = (struct tcb_kit_ring){ .stages = g->tile.stages,
				       .slot_bytes = g->slot_bytes,
				       .is_bulk = is_bulk(g),
				       .has_before = 1,
				       .first_slot = I(0),
				       .slots_end = I(g->tile.stages * g->slot_bytes) };
	if (!is_bulk(g))
		return;
	tcb_kit_ring_barriers(b, ring, x->w.kit.warp, u_add(b, x->w.kit.shared, I(g->barrier_at)));
	tcb_kit_ring_barriers_init(b, ring, u_eq(b, x->w.kit.lane, I(0)));
	tcb_kit_warp_barrier(b);
}

/* Until step LOOP's activations are there, and the slot before is free: that of all warps, or of the calling one. */
static void meet(struct qex_writer *x, const struct multiplying *m, kit_op loop)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qex_gpu *g = x->g;
	if (is_bulk(g) && g->is_in_block) {
		tcb_kit_warp_barrier(b);
		tcb_ptx_if_begin(b, u_eq_and(b, m->step, I(0), u_gt(b, loop, I(0))));
		tcb_kit_block_barrier(b);
		tcb_ptx_if_end(b);
		return;
	}
	if (g->has_groups)
		copies_wait(b, I(g->tile.stages - 2));
	if (g->tile.is_wgmma)
		fence_async_shared(b); /* which reads what this thread copied */
	tcb_kit_block_barrier(b);
}

void qex_write_items(struct qex_writer *x)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qex_gpu *g = x->g;
	const unsigned ahead = g->tile.stages - 1;
	struct tcb_kit_ring ring;
	struct asking a;
	struct multiplying m;
	const kit_op all = count_steps(x);
	asking_open(x, &a, all);
	multiplying_open(x, &m);
	ring_open(x, &ring);
	for (unsigned i = 0; i < ahead; i++) {
		const struct tcb_kit_slot to = tcb_kit_ring_slot(&ring, (int)i);
		ask(x, &a, I(to.at), to.barrier);
	}
	ring.slot = u_set(b, I(0));
	ring.slot_before = u_set(b, I(ahead * g->slot_bytes));
	if (g->is_in_block) { /* of the first item while its weights come */
		tcb_kit_block_barrier(b);
		tcb_ptx_if_begin(b, u_gt(b, all, I(0)));
		qex_gather_whole(x, m.entry);
		tcb_ptx_if_end(b);
	}
	const kit_op loop = tcb_ptx_for_begin(b, I(0), all, I(1), 0);
	meet(x, &m, loop);
	const struct tcb_kit_slot free_slot = tcb_kit_ring_slot(&ring, TCB_KIT_SLOT_BEFORE);
	ask(x, &a, free_slot.base, free_slot.barrier);
	if (g->is_in_block) {
		tcb_ptx_if_begin(b, u_eq_and(b, m.step, I(0), u_gt(b, loop, I(0))));
		qex_gather_whole(x, m.entry);
		tcb_ptx_if_end(b);
	}
	if (is_bulk(g))
		tcb_kit_ring_wait(b, &ring);
	multiply(x, &m, ring.slot);
	tcb_kit_ring_next(b, &ring);
	u_add_to(b, m.step, m.step, I(1));
	tcb_ptx_if_begin(b, u_eq(b, m.step, I(g->steps)));
	qex_write_results(x, m.entry, &m.sums);
	clear_sums(x, &m.sums);
	u_set_to(b, m.step, I(0));
	next_entry(x, m.entry);
	tcb_ptx_if_end(b);
	tcb_ptx_for_end(b);
}
