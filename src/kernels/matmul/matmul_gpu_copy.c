/* SPDX-License-Identifier: MIT
 *
 * Tiles of A and B to shared memory by the threads of a block.  Consecutive
 * threads take consecutive pieces of a row, then the next rows; what is left is
 * taken in further passes.  Pieces outside of the matrices become zeros.
 *
 * Rows in shared memory are swizzled in chunks of 16 bytes, so that eight rows
 * of one chunk lie in different banks; fma's B, read along its rows, is not.
 * fma with vec=4 puts A's values where k runs slowest, in rows that are padded so
 * that eight steps of k by four rows lie in different banks.
 */
#include "kernels/matmul/matmul_gpu_copy.h"

enum { CHUNK = 16, TRANSPOSED_K = 8 /* steps of k that neighbouring threads take */ };

/* How one operand's tile is dealt. */
struct deal {
	unsigned across;       /* threads side by side */
	unsigned rows, passes; /* rows of a pass; passes */
	unsigned groups;       /* transposed: groups of 8 steps of k */
	unsigned vec;
	unsigned tile_rows;
};

static struct deal deal_a(const struct matmul_gpu *g)
{
	struct deal d = { .vec = g->vec_a, .groups = 1, .tile_rows = g->bm };
	d.across = g->a_is_transposed ? TRANSPOSED_K : g->bk * g->element / g->vec_a;
	if (g->a_is_transposed)
		d.groups = g->bk / TRANSPOSED_K;
	d.rows = g->threads / d.across;
	d.passes = (g->bm + d.rows - 1) / d.rows;
	return d;
}

/* Rows of B that are longer than the block has threads are taken in groups of columns. */
static struct deal deal_b(const struct matmul_gpu *g)
{
	struct deal d = { .vec = g->vec_b, .groups = 1, .tile_rows = g->bk };
	d.across = g->pitch_b / g->vec_b;
	if (d.across > g->threads) {
		d.groups = d.across / g->threads;
		d.across = g->threads;
	}
	d.rows = g->threads / d.across;
	d.passes = (g->bk + d.rows - 1) / d.rows;
	return d;
}

unsigned mm_copy_pieces(const struct matmul_gpu *g)
{
	const struct deal a = deal_a(g), b = deal_b(g);
	return a.passes * a.groups > b.passes * b.groups ? a.passes * a.groups : b.passes * b.groups;
}

kit_op mm_write_swizzle(struct mm_writer *w, unsigned pitch, kit_op row)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned chunks = pitch / CHUNK < 8 ? pitch / CHUNK : 8, shift = chunks == 8 ? 0 : chunks == 4 ? 1 : 2;
	const kit_op which = u_and(b, u_shr(b, row, I(shift)), I(chunks - 1));
	return u_shl(b, which, I(4));
}

/* Where pass PASS of what is at row ROW, byte AT of the row goes. */
static kit_op goal(struct mm_writer *w, unsigned pitch, int is_swizzled, kit_op row, kit_op at)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op to = is_swizzled ? u_xor(b, at, mm_write_swizzle(w, pitch, row)) : at;
	return u_mad(b, row, I(pitch), to);
}

static void goals(struct mm_writer *w, const struct deal *d, unsigned pitch, int is_swizzled, kit_op row, kit_op at,
		  kit_op *out)
{
	for (unsigned i = 0; i < d->passes; i++)
		if (i == 0 || !is_swizzled || d->rows % 8 == 0)
			out[i] = i ? out[0] : goal(w, pitch, is_swizzled, row, at);
		else
			out[i] = goal(w, pitch, 1, u_add(&w->kit.b, row, I(i * d->rows)), at);
}

/* Bytes from goal 0 to that of pass PASS where the goals are one. */
static unsigned goal_step(const struct deal *d, unsigned pitch, int is_swizzled, unsigned pass)
{
	return !is_swizzled || d->rows % 8 == 0 ? pass * d->rows * pitch : 0;
}

/* Lengths and columns in pieces of VEC bytes, so that it is plain that what is made of them is aligned. */
static kit_op in_pieces(struct mm_writer *w, kit_op values, unsigned vec)
{
	const unsigned each = vec / w->g->element;
	return each > 1 ? u_shr(&w->kit.b, values, I(__builtin_ctz(each))) : values;
}

/* BASE + (ROW * LENGTH + COLUMN) * element: where the block's tile begins, the same for all threads. */
static kit_op tile_address(struct mm_writer *w, kit_op base, kit_op row, kit_op length, kit_op column, unsigned vec)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op first = l_from_u(b, in_pieces(w, column, vec));
	const kit_op pieces = l_mad_wide(b, row, in_pieces(w, length, vec), first);
	return l_add(b, base, l_mul(b, pieces, I(vec)));
}

/* A thread's bytes from there on, for each pass. */
static void offsets(struct mm_writer *w, const struct deal *d, kit_op row, kit_op length, kit_op piece, kit_op *out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	for (unsigned i = 0; i < d->passes; i++) {
		const kit_op here = i ? u_add(b, row, I(i * d->rows)) : row;
		out[i] = u_mad(b, here, in_pieces(w, length, d->vec), piece);
		out[i] = u_mul(b, out[i], I(d->vec));
	}
}

void mm_write_copy_open(struct mm_writer *w, struct mm_copy *copy, kit_op k_first, kit_op k_end)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	const struct deal a = deal_a(g), d = deal_b(g);
	const kit_op a_piece = u_rem(b, w->kit.tid, I(a.across)), a_row = u_div(b, w->kit.tid, I(a.across));
	const kit_op b_piece = u_rem(b, w->kit.tid, I(d.across)), b_row = u_div(b, w->kit.tid, I(d.across));
	copy->k = u_set(b, k_first);
	copy->k_end = k_end;
	copy->a_k = u_mul(b, a_piece, I(g->vec_a / g->element));
	copy->b_k = b_row;
	const kit_op column = u_mad(b, b_piece, I(g->vec_b / g->element), w->column);
	copy->a_rows = s_sub(b, w->m, u_add(b, w->row, a_row));
	for (unsigned i = 0; i < d.groups; i++)
		copy->b_is_inside[i] = u_lt(b, u_add(b, column, I(i * d.across * g->vec_b / g->element)), w->n);
	copy->a = tile_address(w, w->a, w->row, w->k, k_first, g->vec_a);
	copy->b_ = tile_address(w, w->b_, k_first, w->n, w->column, g->vec_b);
	offsets(w, &a, a_row, w->k, a_piece, copy->a_from);
	offsets(w, &d, b_row, w->n, b_piece, copy->b_from);
	copy->b_step = l_mul_wide(b, in_pieces(w, w->n, g->vec_b), I((int64_t)g->bk * g->vec_b));
	if (g->a_is_transposed) {
		const kit_op to = u_mad(b, a_piece, I(g->pitch_a), u_shl(b, a_row, I(2)));
		for (unsigned i = 0; i < a.passes; i++)
			copy->a_to[i] = to;
	} else {
		goals(w, &a, g->pitch_a, 1, a_row, u_mul(b, a_piece, I(g->vec_a)), copy->a_to);
	}
	for (unsigned i = 0; i < d.groups; i++)
		goals(w, &d, g->pitch_b, g->isa == TCB_ISA_MMA, b_row,
		      u_mad(b, b_piece, I(g->vec_b), I(i * d.across * g->vec_b)), copy->b_to + i * d.passes);
	copy->slot = u_set(b, w->kit.shared);
}

kit_op mm_write_copy_is_plain(struct mm_writer *w, const struct mm_copy *copy)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	const kit_op rest = u_rem(b, u_sub(b, copy->k_end, copy->k), I(g->bk));
	kit_op is_plain = u_eq(b, rest, I(0));
	is_plain = u_le_and(b, u_add(b, w->row, I(g->bm)), w->m, is_plain);
	return u_le_and(b, u_add(b, w->column, I(g->bn)), w->n, is_plain);
}

/* --- one piece --- */

/* PLAIN: only where IS_INSIDE; else zeros where it is not. */
static void piece_async(struct mm_writer *w, unsigned vec, kit_op from, kit_op to, kit_op is_inside, int is_plain)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op bytes = is_plain ? I(vec) : u_select(b, I(vec), I(0), is_inside);
	tcb_kit_copy(b, to, from, vec, 0, is_plain ? NULL : &bytes);
}

/* Registers of a piece: 16-bit ones for single halves. */
static unsigned words(unsigned vec)
{
	return vec < 4 ? 1 : vec / 4;
}

static void piece_load(struct mm_writer *w, unsigned vec, kit_op from, kit_op *held, kit_op is_inside)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const char *type = vec == 2 ? "b16" : "b32";
	for (unsigned i = 0; i < words(vec); i++)
		held[i] = (vec == 2 ? b16_set : b_set)(b, I(0));
	tcb_kit_load_where(b, is_inside, TCB_KIT_INPUT, type, from, held, words(vec));
}

static void piece_store(struct mm_writer *w, unsigned vec, kit_op to, const kit_op *held)
{
	tcb_kit_store(&w->kit.b, TCB_KIT_SHARED, vec == 2 ? "b16" : "b32", to, held, words(vec));
}

/* --- a step --- */

enum how { ASYNC, LOAD, STORE };

static void one(struct mm_writer *w, struct mm_copy *copy, enum how how, unsigned vec, kit_op from, kit_op to,
		kit_op is_inside, unsigned *held)
{
	if (how == ASYNC)
		piece_async(w, vec, from, to, is_inside, copy->is_plain);
	else if (how == LOAD)
		piece_load(w, vec, from, copy->held + *held, is_inside);
	else
		piece_store(w, vec, to, copy->held + *held);
	*held += 4;
}

/* The last pass may have fewer rows of the tile than a pass. */
static int is_cut(const struct deal *d, unsigned pass)
{
	return (pass + 1) * d->rows > d->tile_rows;
}

/* The base address and an offset, so that the assembler may add them in the instruction. */
static kit_op place(struct mm_writer *w, kit_op base, kit_op offset, unsigned at)
{
	struct tcb_ptx_build *b = &w->kit.b;
	return tcb_ptx_at(l_add(b, base, l_from_u(b, offset)), at);
}

/* The threads that take the piece of pass PASS: all, or those whose rows are in the tile; of those, when the step is
 * PLAIN, none past the end of k. */
static int guard(struct mm_writer *w, const struct mm_copy *copy, enum how how, const struct deal *d, unsigned pass)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const int is_plain = copy->is_plain && how == ASYNC;
	const kit_op threads = I(is_cut(d, pass) ? (d->tile_rows - pass * d->rows) * d->across : 0);
	if (is_cut(d, pass) && is_plain)
		tcb_ptx_guard(b, u_lt_and(b, w->kit.tid, threads, copy->more));
	else if (is_cut(d, pass))
		tcb_ptx_guard(b, u_lt(b, w->kit.tid, threads));
	else if (is_plain)
		tcb_ptx_guard(b, copy->more);
	return is_cut(d, pass) || is_plain;
}

static void each_a(struct mm_writer *w, struct mm_copy *copy, enum how how, kit_op left, unsigned *held)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	const struct deal d = deal_a(g);
	const int is_tested = how != STORE && !copy->is_plain;
	for (unsigned i = 0; i < d.passes; i++) {
		kit_op from = I(0), is_row = I(0);
		const kit_op at = u_add(b, copy->slot, copy->a_to[i]);
		if (how != STORE)
			from = place(w, copy->a, copy->a_from[i], 0);
		if (is_tested)
			is_row = s_gt(b, copy->a_rows, I(i * d.rows));
		for (unsigned group = 0; group < d.groups; group++) {
			const unsigned step = g->a_is_transposed ? group * TRANSPOSED_K * g->pitch_a + i * d.rows * 4
								 : goal_step(&d, g->pitch_a, 1, i);
			kit_op inside = is_row;
			if (is_tested)
				inside = s_gt_and(b, left, u_add(b, copy->a_k, I(group * TRANSPOSED_K)), is_row);
			const int is_guarded = guard(w, copy, how, &d, i);
			one(w, copy, how, d.vec, tcb_ptx_at(from, group * TRANSPOSED_K * 4), tcb_ptx_at(at, step),
			    inside, held);
			if (is_guarded)
				tcb_ptx_unguard(b);
		}
	}
}

static void each_b(struct mm_writer *w, struct mm_copy *copy, enum how how, kit_op left, unsigned *held)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	const struct deal d = deal_b(g);
	const int is_swizzled = g->isa == TCB_ISA_MMA, is_tested = how != STORE && !copy->is_plain;
	if (is_tested)
		left = s_sub(b, left, copy->b_k);
	for (unsigned i = 0; i < d.passes; i++) {
		kit_op from = I(0);
		if (how != STORE)
			from = place(w, copy->b_, copy->b_from[i], 0);
		for (unsigned group = 0; group < d.groups; group++) {
			const kit_op at = u_add(b, copy->slot, copy->b_to[group * d.passes + i]);
			const kit_op to = tcb_ptx_at(at, g->a_bytes + goal_step(&d, g->pitch_b, is_swizzled, i));
			kit_op inside = I(0);
			if (is_tested)
				inside = s_gt_and(b, left, I(i * d.rows), copy->b_is_inside[group]);
			const int is_guarded = guard(w, copy, how, &d, i);
			one(w, copy, how, d.vec, tcb_ptx_at(from, group * d.across * d.vec), to, inside, held);
			if (is_guarded)
				tcb_ptx_unguard(b);
		}
	}
}

void mm_write_next_slot(struct mm_writer *w, kit_op slot)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op end = u_add(b, w->kit.shared, I((int64_t)w->g->stages * w->g->stage_bytes));
	u_add_to(b, slot, slot, I(w->g->stage_bytes));
	u_select_to(b, slot, w->kit.shared, slot, u_eq(b, slot, end));
}

static void next_step(struct mm_writer *w, struct mm_copy *copy)
{
	struct tcb_ptx_build *b = &w->kit.b;
	l_add_to(b, copy->a, copy->a, I((int64_t)w->g->bk * w->g->element));
	l_add_to(b, copy->b_, copy->b_, copy->b_step);
	u_add_to(b, copy->k, copy->k, I(w->g->bk));
}

void mm_write_copy_load(struct mm_writer *w, struct mm_copy *copy)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const enum how how = w->g->copy == TCB_COPY_ASYNC ? ASYNC : LOAD;
	kit_op left = I(0);
	unsigned held = 0;
	if (copy->is_plain)
		copy->more = u_lt(b, copy->k, copy->k_end);
	else
		left = s_sub(b, copy->k_end, copy->k);
	each_a(w, copy, how, left, &held);
	each_b(w, copy, how, left, &held);
	if (how == ASYNC) {
		copies_commit(&w->kit.b);
		mm_write_next_slot(w, copy->slot);
	}
	next_step(w, copy);
}

void mm_write_copy_store(struct mm_writer *w, struct mm_copy *copy)
{
	unsigned held = 0;
	each_a(w, copy, STORE, I(0), &held);
	each_b(w, copy, STORE, I(0), &held);
	mm_write_next_slot(w, copy->slot);
}
