/* SPDX-License-Identifier: MIT
 *
 * wgmma: warpgroups multiply tiles of A and B that lie in shared memory, and a
 * warp of its own keeps them coming.
 *
 * That warp, the last of the block, has one thread ask for tensor copies into a
 * ring of stages: an mbarrier a stage counts the bytes (full), another the warps
 * that are done with it (empty).  Tiles are swizzled in rows of 128 bytes: A as
 * bk / 64 boxes of bm rows of 64 values along k, B as bn / 64 boxes of bk rows of
 * 64 values along n.  Blocks of a cluster lie one below the other: each copies a
 * part of B's boxes into the shared memory of all, so that a stage is filled, and
 * must be empty, in all of them.
 *
 * turns=1: each warpgroup multiplies a tile of its own, all steps of it, then hands
 * the tensor cores to the next one and stores its results while that one
 * multiplies.  The ring has one tile's steps behind the other's; whose tile it is
 * not goes past them.  A phase of a barrier is told by its parity alone, and is
 * waited for only after the other has seen all of its own filled: so no one is two
 * phases off.
 *
 * Results leave through shared memory as tensor stores of 64 x 64 values, two
 * buffers a warpgroup; what lies outside of C is cut off by the copy.
 */
#include "kernels/gpu/tile_ring.h"
#include "kernels/matmul/matmul_gpu_pieces.h"

enum {
	GROUP_WARPS = 4,
	GROUP_THREADS = 128,
	BOX = 64, /* values of a box's rows of 128 bytes */
	ROW_BYTES = TCB_KIT_BOX_BYTES,
	OUT_BYTES = BOX * ROW_BYTES,
	GROUPS_MAX = 3,
	GROUP_BARRIER = 1,                         /* named barriers of the warpgroups from here on */
	TURN_BARRIER = GROUP_BARRIER + GROUPS_MAX, /* where each waits for its turn */
};

static void write_barriers(struct mm_writer *w, const struct tcb_kit_tiles *r)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	tcb_kit_one_begin(&w->kit);
	tcb_kit_tiles_init(b, r, GROUP_WARPS * g->warps_m * g->warps_n * g->cluster);
	tcb_kit_barriers_ready(b);
	tcb_ptx_if_end(b);
	if (g->cluster > 1) {
		tcb_kit_warp_barrier(b);
		tcb_kit_cluster_barrier(b);
	} else {
		tcb_kit_block_barrier(b);
	}
}

/* --- the warp that copies --- */

static void copy_box(struct mm_writer *w, const struct tcb_kit_tiles *r, unsigned at, kit_op map, kit_op x, kit_op y,
		     int is_shared)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op where[] = { x, y };
	const kit_op all = is_shared ? u16_set(b, I((1 << w->g->cluster) - 1)) : I(0);
	tcb_kit_copy_box(b, r->slot, at, map, where, 2, r->full, is_shared ? &all : NULL);
}

/* The boxes of one stage: RANK's part of B's. */
static void write_copies(struct mm_writer *w, const struct tcb_kit_tiles *r, kit_op rank, kit_op step_k)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	const unsigned boxes = g->bn / BOX, each = boxes / g->cluster, box_bytes = g->bk * ROW_BYTES;
	for (unsigned i = 0; i < g->bk / BOX; i++)
		copy_box(w, r, i * g->bm * ROW_BYTES, w->a, i ? u_add(b, step_k, I(i * BOX)) : step_k, w->row, 0);
	if (g->cluster == 1) {
		for (unsigned i = 0; i < boxes; i++)
			copy_box(w, r, g->a_bytes + i * box_bytes, w->b_,
				 i ? u_add(b, w->column, I(i * BOX)) : w->column, step_k, 0);
		return;
	}
	struct tcb_kit_tiles mine = *r;
	mine.slot = u_mad(b, rank, I(each * box_bytes), r->slot);
	const kit_op column = u_mad(b, rank, I(each * BOX), w->column);
	for (unsigned i = 0; i < each; i++)
		copy_box(w, &mine, g->a_bytes + i * box_bytes, w->b_, i ? u_add(b, column, I(i * BOX)) : column, step_k,
			 1);
}

static void write_producer(struct mm_writer *w, struct tcb_kit_tiles *r, struct mm_pieces *pieces)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	tcb_ptx_if_begin(b, u_eq(b, w->kit.lane, I(0)));
	mm_write_pieces_begin(w, pieces);
	mm_write_piece_place(w, pieces);
	const kit_op steps = tcb_ptx_for_begin(b, I(0), pieces->count, I(1), 1);
	(g->cluster > 1 ? tcb_kit_wait_cluster : tcb_kit_wait)(b, tcb_ptx_at(r->empty, 0), u_xor(b, r->parity, I(1)));
	tcb_kit_expect(b, tcb_ptx_at(r->full, 0), I(g->stage_bytes));
	const kit_op step = g->is_dealt ? u_add(b, pieces->step, steps) : steps;
	write_copies(w, r, pieces->rank, u_mul(b, step, I(g->bk)));
	tcb_kit_tiles_next(b, r);
	tcb_ptx_for_end(b);
	mm_write_pieces_end(w, pieces);
	tcb_ptx_if_end(b);
}

/* --- the warpgroups that multiply --- */

struct group {
	struct mm_piece_group of; /* its number is that of all, whether they share tiles or not */
	kit_op warp;              /* in the warpgroup */
	kit_op a, b;              /* where its parts begin in a stage, as a descriptor counts (16 bytes) */
	kit_op high;              /* upper half of descriptors */
	kit_op always;            /* true */
	kit_op out, stores;       /* buffers; which of the two is next */
};

static const char *type_word(const struct matmul_gpu *g)
{
	return g->type == TCB_TYPE_F16 ? "f16" : "bf16";
}

/* One k16 of a stage: rows of A times columns of B, 64 rows at a time. */
static void write_multiply(struct mm_writer *w, const struct group *group, kit_op slot16, unsigned kk, kit_op adds)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	const unsigned a_at = kk / 4 * g->bm * ROW_BYTES + kk % 4 * 32, b_at = 2 * kk * TCB_KIT_EIGHT_ROWS;
	const kit_op low_b = u_add(b, u_add(b, slot16, group->b), I(b_at / 16));
	const kit_op from_b = tcb_kit_descriptor(b, low_b, group->high);
	for (unsigned i = 0; i < g->wm / 64; i++) {
		const kit_op low_a = u_add(b, u_add(b, slot16, group->a), I((a_at + i * 64 * ROW_BYTES) / 16));
		tcb_kit_multiply_group(b, type_word(g), g->wn, w->acc + i * g->wn / 2,
				       tcb_kit_descriptor(b, low_a, group->high), from_b, adds, 1);
	}
}

/* A stage is free again: every warp says so in every block of the cluster.  Reads are over then, and nothing written
 * has to be seen there: a release for the whole cluster would wait for every store of the block. */
static void write_release(struct mm_writer *w, kit_op empty)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	if (g->cluster == 1) {
		tcb_kit_release(&w->kit, empty);
		return;
	}
	const kit_op there = u_in_rank(b, empty, u_and(b, w->kit.lane, I(g->cluster - 1)));
	tcb_ptx_guard(b, u_lt(b, w->kit.lane, I(g->cluster)));
	barrier_arrive_release_to(b, tcb_ptx_sink_operand(), tcb_ptx_at(there, 0));
	tcb_ptx_unguard(b);
}

/* turns: the warpgroup waits for its turn, and hands on to the next one. */
static void take_turn(struct mm_writer *w, const struct group *group)
{
	struct tcb_ptx_build *b = &w->kit.b;
	if (w->g->turns)
		barrier_named(b, u_add(b, group->of.index, I(TURN_BARRIER)), I(2 * GROUP_THREADS));
}

static kit_op next_turn(struct mm_writer *w, kit_op turn)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op next = u_add(b, turn, I(1));
	return u_select(b, I(0), next, u_eq(b, next, I(w->g->workers)));
}

static void hand_on(struct mm_writer *w, const struct group *group)
{
	struct tcb_ptx_build *b = &w->kit.b;
	if (w->g->turns)
		barrier_named_arrive(b, u_add(b, next_turn(w, group->of.index), I(TURN_BARRIER)), I(2 * GROUP_THREADS));
}

/* COUNT steps of a tile; one product is in flight while the next stage is waited for. */
static void write_steps(struct mm_writer *w, struct tcb_kit_tiles *r, const struct group *group, kit_op count)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	const kit_op before = u_set(b, r->empty);
	const kit_op steps = tcb_ptx_for_begin(b, I(0), count, I(1), 1);
	const kit_op is_later = u_ne(b, steps, I(0));
	tcb_kit_wait(b, tcb_ptx_at(r->full, 0), r->parity);
	/* Without its upper bits, which in a cluster say whose memory it is. */
	const kit_op slot16 = u_shr(b, u_and(b, r->slot, I(0x3ffff)), I(4));
	wgmma_begin(b);
	for (unsigned kk = 0; kk < g->bk / 16; kk++)
		write_multiply(w, group, slot16, kk, kk ? group->always : is_later);
	wgmma_commit(b);
	tcb_ptx_if_begin(b, is_later);
	wgmma_wait(b, I(1));
	write_release(w, before);
	tcb_ptx_if_end(b);
	u_set_to(b, before, r->empty);
	tcb_kit_tiles_next(b, r);
	tcb_ptx_for_end(b);
	hand_on(w, group);
	wgmma_wait(b, I(0));
	write_release(w, before);
}

/* --- results --- */

/* 64 rows, columns 64 C on of a warpgroup's sums: through a buffer, then a tensor store by the first thread. */
static void write_box(struct mm_writer *w, struct group *group, const kit_op *acc, kit_op row, kit_op column)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op lane_row = u_and(b, w->kit.lane, I(15)), half = u_shr(b, w->kit.lane, I(4));
	const kit_op swizzle = u_and(b, w->kit.lane, I(7));
	const kit_op buffer = u_mad(b, group->stores, I(OUT_BYTES), group->out);
	const kit_op at = u_mad(b, u_mad(b, group->warp, I(16), lane_row), I(ROW_BYTES), buffer);
	tcb_ptx_guard(b, group->of.leader); /* the buffer's last store has been read */
	stores_wait_read(b, I(1));
	tcb_ptx_unguard(b);
	barrier_named(b, group->of.barrier, I(GROUP_THREADS));
	for (unsigned i = 0; i < BOX / 16; i++) {
		const kit_op chunk = u_xor(b, u_add(b, half, I(2 * i)), swizzle);
		kit_op packed[4];
		for (unsigned q = 0; q < 4; q++)
			packed[q] = tcb_kit_pack(b, type_word(w->g), acc[8 * i + 2 * q], acc[8 * i + 2 * q + 1]);
		store_matrices(b, tcb_ptx_at(u_mad(b, chunk, I(16), at), 0), tcb_ptx_vector(b, packed, 4));
	}
	fence_async_shared(b);
	barrier_named(b, group->of.barrier, I(GROUP_THREADS));
	tcb_ptx_if_begin(b, group->of.leader);
	const kit_op where[] = { column, row };
	store_box(b, tcb_ptx_at_tile(b, w->c, where, 2), tcb_ptx_at(buffer, 0));
	stores_commit(b);
	tcb_ptx_if_end(b);
	u_xor_to(b, group->stores, group->stores, I(1));
}

static void write_results(struct mm_writer *w, struct group *group)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	const kit_op index = group->of.index;
	const kit_op index_m = g->warps_n > 1 ? u_div(b, index, I(g->warps_n)) : index;
	const kit_op index_n = g->warps_n > 1 ? u_rem(b, index, I(g->warps_n)) : I(0);
	const kit_op row = g->turns ? w->row : u_mad(b, index_m, I(g->wm), w->row);
	const kit_op column = g->warps_n > 1 ? u_mad(b, index_n, I(g->wn), w->column) : w->column;
	for (unsigned i = 0; i < g->wm / 64; i++)
		for (unsigned j = 0; j < g->wn / BOX; j++)
			write_box(w, group, w->acc + i * g->wn / 2 + j * BOX / 2, i ? u_add(b, row, I(64 * i)) : row,
				  j ? u_add(b, column, I(BOX * j)) : column);
}

/* Fields of a descriptor: start / 16 in bits 0 to 13, leading / 16 from 16 on, stride / 16 from 32 on, swizzling of 128
 * bytes in bit 62. */
static void open_group(struct mm_writer *w, struct group *group)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	const unsigned box_bytes = g->bk * ROW_BYTES;
	const kit_op index = u_shr(b, w->kit.warp, I(2));
	group->of.index = index;
	group->warp = u_and(b, w->kit.warp, I(GROUP_WARPS - 1));
	const kit_op index_m = g->warps_n > 1 ? u_div(b, index, I(g->warps_n)) : index;
	group->a = g->turns ? u_set(b, I(1 << 16)) : u_mad(b, index_m, I(g->wm * ROW_BYTES / 16), I(1 << 16));
	group->b = u_set(b, I((int64_t)g->a_bytes / 16 + ((int64_t)(box_bytes / 16) << 16)));
	if (g->warps_n > 1) {
		const kit_op index_n = u_rem(b, index, I(g->warps_n));
		group->b = u_mad(b, index_n, I(g->wn / BOX * box_bytes / 16), group->b);
	}
	group->high = u_set(b, I(TCB_KIT_DESCRIPTOR_HIGH));
	group->always = u_ne(b, w->steps, I(0));
	group->of.barrier = u_add(b, index, I(GROUP_BARRIER));
	group->of.leader = u_eq(b, u_and(b, w->kit.tid, I(GROUP_THREADS - 1)), I(0));
	group->out = u_mad(b, index, I(2 * OUT_BYTES), u_add(b, w->kit.shared, I(g->out_at)));
	group->stores = u_set(b, I(0));
}

/* A piece: its sums, and where they go. */
static void write_piece(struct mm_writer *w, struct tcb_kit_tiles *r, struct mm_pieces *pieces, struct group *group)
{
	mm_write_piece_place(w, pieces);
	take_turn(w, group);
	write_steps(w, r, group, pieces->count);
	if (w->g->is_dealt)
		mm_write_parts_begin(w, pieces, &group->of);
	write_results(w, group);
	if (w->g->is_dealt)
		tcb_ptx_if_end(&w->kit.b);
}

/* turns: every piece is one's whose turn it is; the first is the first warpgroup's, and the turn that comes after the
 * last piece is taken back. */
static void write_turns(struct mm_writer *w, struct tcb_kit_tiles *r, struct mm_pieces *pieces, struct group *group)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op turn = u_set(b, I(0)), last = I(w->g->workers - 1);
	tcb_ptx_if_begin(b, u_eq(b, group->of.index, last));
	hand_on(w, group);
	tcb_ptx_if_end(b);
	mm_write_pieces_begin(w, pieces);
	tcb_ptx_if_begin(b, u_eq(b, group->of.index, turn));
	write_piece(w, r, pieces, group);
	tcb_ptx_if_else(b);
	tcb_kit_tiles_skip(b, r, pieces->count);
	tcb_ptx_if_end(b);
	u_set_to(b, turn, next_turn(w, turn));
	mm_write_pieces_end(w, pieces);
	tcb_ptx_if_begin(b, u_eq(b, group->of.index, turn));
	take_turn(w, group);
	tcb_ptx_if_end(b);
}

static void write_consumers(struct mm_writer *w, struct tcb_kit_tiles *r, struct mm_pieces *pieces)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	struct group group;
	open_group(w, &group);
	for (unsigned i = 0; i < g->wm / 64 * (g->wn / 2); i++)
		w->acc[i] = f_set(b, F(0));
	if (g->turns) {
		write_turns(w, r, pieces, &group);
	} else {
		mm_write_pieces_begin(w, pieces);
		write_piece(w, r, pieces, &group);
		mm_write_pieces_end(w, pieces);
	}
	tcb_ptx_guard(b, group.of.leader); /* shared memory is read until then */
	stores_wait_read(b, I(0));
	tcb_ptx_unguard(b);
}

/* A map of OPERAND: ROWS rows of COLUMNS values, in boxes of BOX columns and BOX_ROWS rows. */
static kit_op map_param(struct mm_writer *w, const char *name, size_t operand, size_t rows, size_t columns,
			unsigned box_rows)
{
	return tcb_kit_tensor(&w->kit, name,
			      &(struct tcb_tensor){ operand,
						    { .type = w->g->type == TCB_TYPE_F16 ? TCB_PTX_F16 : TCB_PTX_BF16,
						      .rank = 2,
						      .size = { columns, rows },
						      .stride = { 0, columns * w->g->element },
						      .box = { BOX, box_rows },
						      .swizzle = ROW_BYTES } });
}

void mm_write_wgmma(struct mm_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	struct mm_pieces pieces = { .number = I(0) };
	struct tcb_kit_tiles ring = { .stages = g->stages, .slot_bytes = g->stage_bytes };
	mm_write_begin(w, tcb_ptx_namef(b, "matmul_%s_wgmma", type_word(g)));
	w->a = map_param(w, "map_a", MATMUL_A, g->m, g->k, g->bm);
	w->b_ = map_param(w, "map_b", MATMUL_B, g->k, g->n, g->bk);
	w->c = map_param(w, "map_c", MATMUL_C, g->m, g->n, BOX);
	mm_write_pieces_parameters(w, &pieces);
	mm_write_parameters(w);
	mm_write_pieces_open(w, &pieces);
	tcb_kit_tiles_open(b, &ring, w->kit.shared, w->kit.shared, g->barrier_at);
	write_barriers(w, &ring);
	tcb_kit_depend(&w->kit);
	tcb_ptx_if_begin(b, u_ge(b, w->kit.warp, I(GROUP_WARPS * g->workers)));
	write_producer(w, &ring, &pieces);
	tcb_ptx_if_else(b);
	write_consumers(w, &ring, &pieces);
	tcb_ptx_if_end(b);
	if (g->cluster > 1) { /* others' copies and arrivals end here before the block does */
		tcb_kit_warp_barrier(b);
		tcb_kit_cluster_barrier(b);
	}
	tcb_kit_end(&w->kit);
}
