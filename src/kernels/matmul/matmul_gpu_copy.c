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
#include "kernels/matmul/matmul_gpu.h"

#define I tcb_ptx_int
#define OP1 tcb_ptx_op1
#define OP2 tcb_ptx_op2
#define OP3 tcb_ptx_op3

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

mm_op mm_write_swizzle(struct mm_writer *w, unsigned pitch, mm_op row)
{
	struct tcb_ptx_build *b = &w->b;
	const unsigned chunks = pitch / CHUNK < 8 ? pitch / CHUNK : 8, shift = chunks == 8 ? 0 : chunks == 4 ? 1 : 2;
	const mm_op which = OP2(b, "and.b32", OP2(b, "shr.u32", row, I(shift)), I(chunks - 1));
	return OP2(b, "shl.b32", which, I(4));
}

/* Where pass PASS of what is at row ROW, byte AT of the row goes. */
static mm_op goal(struct mm_writer *w, unsigned pitch, int is_swizzled, mm_op row, mm_op at)
{
	struct tcb_ptx_build *b = &w->b;
	const mm_op to = is_swizzled ? OP2(b, "xor.b32", at, mm_write_swizzle(w, pitch, row)) : at;
	return OP3(b, "mad.lo.u32", row, I(pitch), to);
}

static void goals(struct mm_writer *w, const struct deal *d, unsigned pitch, int is_swizzled, mm_op row, mm_op at,
		  mm_op *out)
{
	struct tcb_ptx_build *b = &w->b;
	for (unsigned i = 0; i < d->passes; i++)
		if (i == 0 || !is_swizzled || d->rows % 8 == 0)
			out[i] = i ? out[0] : goal(w, pitch, is_swizzled, row, at);
		else
			out[i] = goal(w, pitch, 1, OP2(b, "add.u32", row, I(i * d->rows)), at);
}

/* Bytes from goal 0 to that of pass PASS where the goals are one. */
static unsigned goal_step(const struct deal *d, unsigned pitch, int is_swizzled, unsigned pass)
{
	return !is_swizzled || d->rows % 8 == 0 ? pass * d->rows * pitch : 0;
}

/* Lengths and columns in pieces of VEC bytes, so that it is plain that what is made of them is aligned. */
static mm_op in_pieces(struct mm_writer *w, mm_op values, unsigned vec)
{
	const unsigned each = vec / w->g->element;
	return each > 1 ? OP2(&w->b, "shr.u32", values, I(__builtin_ctz(each))) : values;
}

static mm_op pitch_of(struct mm_writer *w, mm_op length, unsigned rows, unsigned vec)
{
	return OP2(&w->b, "mul.wide.u32", in_pieces(w, length, vec), I((int64_t)rows * vec));
}

/* BASE + (ROW * LENGTH + COLUMN) * element */
static mm_op address(struct mm_writer *w, mm_op base, mm_op row, mm_op length, mm_op column, unsigned vec)
{
	struct tcb_ptx_build *b = &w->b;
	const mm_op first = OP1(b, "cvt.u64.u32", in_pieces(w, column, vec));
	const mm_op pieces = OP3(b, "mad.wide.u32", row, in_pieces(w, length, vec), first);
	return OP2(b, "add.u64", base, OP2(b, "mul.lo.u64", pieces, I(vec)));
}

void mm_write_copy_open(struct mm_writer *w, struct mm_copy *copy, mm_op k_first, mm_op k_end)
{
	struct tcb_ptx_build *b = &w->b;
	const struct matmul_gpu *g = w->g;
	const struct deal a = deal_a(g), d = deal_b(g);
	const mm_op a_piece = OP2(b, "rem.u32", w->tid, I(a.across)), a_row = OP2(b, "div.u32", w->tid, I(a.across));
	const mm_op b_piece = OP2(b, "rem.u32", w->tid, I(d.across)), b_row = OP2(b, "div.u32", w->tid, I(d.across));
	copy->k_end = k_end;
	copy->a_k = OP3(b, "mad.lo.u32", a_piece, I(g->vec_a / g->element), k_first);
	copy->b_k = OP2(b, "add.u32", b_row, k_first);
	const mm_op row = OP2(b, "add.u32", w->row, a_row);
	const mm_op column = OP3(b, "mad.lo.u32", b_piece, I(g->vec_b / g->element), w->column);
	copy->a_rows = OP2(b, "sub.s32", w->m, row);
	for (unsigned i = 0; i < d.groups; i++)
		copy->b_is_inside[i] =
			OP2(b, "setp.lt.u32", OP2(b, "add.u32", column, I(i * d.across * g->vec_b / g->element)), w->n);
	copy->a = address(w, w->a, row, w->k, copy->a_k, g->vec_a);
	copy->b_ = address(w, w->b_, copy->b_k, w->n, column, g->vec_b);
	copy->a_pass = pitch_of(w, w->k, a.rows, g->vec_a);
	copy->b_pass = pitch_of(w, w->n, d.rows, g->vec_b);
	copy->b_step = pitch_of(w, w->n, g->bk, g->vec_b);
	if (g->a_is_transposed) {
		const mm_op to = OP3(b, "mad.lo.u32", a_piece, I(g->pitch_a), OP2(b, "shl.b32", a_row, I(2)));
		for (unsigned i = 0; i < a.passes; i++)
			copy->a_to[i] = to;
	} else {
		goals(w, &a, g->pitch_a, 1, a_row, OP2(b, "mul.lo.u32", a_piece, I(g->vec_a)), copy->a_to);
	}
	for (unsigned i = 0; i < d.groups; i++)
		goals(w, &d, g->pitch_b, g->isa == TCB_ISA_MMA, b_row,
		      OP3(b, "mad.lo.u32", b_piece, I(g->vec_b), I(i * d.across * g->vec_b)),
		      copy->b_to + i * d.passes);
	copy->slot = OP1(b, "mov.u32", w->shared);
}

/* --- one piece --- */

static void piece_async(struct mm_writer *w, unsigned vec, mm_op from, mm_op to, mm_op is_inside)
{
	struct tcb_ptx_build *b = &w->b;
	const mm_op operands[] = { to, from, I(vec), OP3(b, "selp.u32", I(vec), I(0), is_inside) };
	tcb_ptx_into(b, vec == 16 ? "cp.async.cg.shared.global" : "cp.async.ca.shared.global", 4, operands);
}

/* Registers of a piece: 16-bit ones for single halves. */
static unsigned words(unsigned vec)
{
	return vec < 4 ? 1 : vec / 4;
}

static void piece_load(struct mm_writer *w, unsigned vec, mm_op from, mm_op *held, mm_op is_inside)
{
	static const char *const loads[] = { "", "ld.global.nc.b32", "ld.global.nc.v2.b32", "", "ld.global.nc.v4.b32" };
	struct tcb_ptx_build *b = &w->b;
	const char *load = vec == 2 ? "ld.global.nc.b16" : loads[vec / 4];
	for (unsigned i = 0; i < words(vec); i++)
		held[i] = mm_constant(w, vec == 2 ? "b16" : "b32", I(0));
	tcb_ptx_guard(b, is_inside);
	tcb_ptx_into1(b, load, words(vec) > 1 ? tcb_ptx_vector(b, held, words(vec)) : held[0], from);
	tcb_ptx_unguard(b);
}

static void piece_store(struct mm_writer *w, unsigned vec, mm_op to, const mm_op *held)
{
	static const char *const stores[] = { "", "st.shared.b32", "st.shared.v2.b32", "", "st.shared.v4.b32" };
	tcb_ptx_store(&w->b, vec == 2 ? "st.shared.b16" : stores[vec / 4], to, held, words(vec));
}

/* --- a step --- */

enum how { ASYNC, LOAD, STORE };

static void one(struct mm_writer *w, struct mm_copy *copy, enum how how, unsigned vec, mm_op from, mm_op to,
		mm_op is_inside, unsigned *held)
{
	if (how == ASYNC)
		piece_async(w, vec, from, to, is_inside);
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

static void each_a(struct mm_writer *w, struct mm_copy *copy, enum how how, unsigned *held)
{
	struct tcb_ptx_build *b = &w->b;
	const struct matmul_gpu *g = w->g;
	const struct deal d = deal_a(g);
	for (unsigned group = 0; group < d.groups; group++) {
		mm_op k = copy->a_k, from = copy->a, inside_k = I(0);
		if (how != STORE) {
			if (group)
				k = OP2(b, "add.u32", k, I(group * TRANSPOSED_K));
			inside_k = OP2(b, "setp.lt.u32", k, copy->k_end);
		}
		for (unsigned i = 0; i < d.passes; i++) {
			const unsigned step = g->a_is_transposed ? group * TRANSPOSED_K * g->pitch_a + i * d.rows * 4
								 : goal_step(&d, g->pitch_a, 1, i);
			const mm_op to = tcb_ptx_at(OP2(b, "add.u32", copy->slot, copy->a_to[i]), step);
			mm_op inside = inside_k;
			if (how != STORE)
				inside = OP3(b, "setp.gt.and.s32", copy->a_rows, I(i * d.rows), inside_k);
			if (i && how != STORE)
				from = OP2(b, "add.u64", from, copy->a_pass);
			if (is_cut(&d, i))
				tcb_ptx_guard(b,
					      OP2(b, "setp.lt.u32", w->tid, I((d.tile_rows - i * d.rows) * d.across)));
			one(w, copy, how, d.vec, tcb_ptx_at(from, group * TRANSPOSED_K * 4), to, inside, held);
			if (is_cut(&d, i))
				tcb_ptx_unguard(b);
		}
	}
}

static void each_b(struct mm_writer *w, struct mm_copy *copy, enum how how, unsigned *held)
{
	struct tcb_ptx_build *b = &w->b;
	const struct matmul_gpu *g = w->g;
	const struct deal d = deal_b(g);
	const int is_swizzled = g->isa == TCB_ISA_MMA;
	mm_op left = I(0);
	if (how != STORE)
		left = OP2(b, "sub.s32", copy->k_end, copy->b_k);
	for (unsigned group = 0; group < d.groups; group++) {
		mm_op from = copy->b_;
		for (unsigned i = 0; i < d.passes; i++) {
			const mm_op at = OP2(b, "add.u32", copy->slot, copy->b_to[group * d.passes + i]);
			const mm_op to = tcb_ptx_at(at, g->a_bytes + goal_step(&d, g->pitch_b, is_swizzled, i));
			mm_op inside = I(0);
			if (how != STORE)
				inside = OP3(b, "setp.gt.and.s32", left, I(i * d.rows), copy->b_is_inside[group]);
			if (i && how != STORE)
				from = OP2(b, "add.u64", from, copy->b_pass);
			if (is_cut(&d, i))
				tcb_ptx_guard(b,
					      OP2(b, "setp.lt.u32", w->tid, I((d.tile_rows - i * d.rows) * d.across)));
			one(w, copy, how, d.vec, tcb_ptx_at(from, group * d.across * d.vec), to, inside, held);
			if (is_cut(&d, i))
				tcb_ptx_unguard(b);
		}
	}
}

static void next_slot(struct mm_writer *w, mm_op slot)
{
	struct tcb_ptx_build *b = &w->b;
	const mm_op end = OP2(b, "add.u32", w->shared, I((int64_t)w->g->stages * w->g->stage_bytes));
	tcb_ptx_into2(b, "add.u32", slot, slot, I(w->g->stage_bytes));
	tcb_ptx_into3(b, "selp.u32", slot, w->shared, slot, OP2(b, "setp.eq.u32", slot, end));
}

static void next_step(struct mm_writer *w, struct mm_copy *copy)
{
	struct tcb_ptx_build *b = &w->b;
	tcb_ptx_into2(b, "add.u64", copy->a, copy->a, I((int64_t)w->g->bk * w->g->element));
	tcb_ptx_into2(b, "add.u64", copy->b_, copy->b_, copy->b_step);
	tcb_ptx_into2(b, "add.u32", copy->a_k, copy->a_k, I(w->g->bk));
	tcb_ptx_into2(b, "add.u32", copy->b_k, copy->b_k, I(w->g->bk));
}

void mm_write_copy_load(struct mm_writer *w, struct mm_copy *copy)
{
	const enum how how = w->g->copy == TCB_COPY_ASYNC ? ASYNC : LOAD;
	unsigned held = 0;
	each_a(w, copy, how, &held);
	each_b(w, copy, how, &held);
	if (how == ASYNC) {
		tcb_ptx_op0(&w->b, "cp.async.commit_group");
		next_slot(w, copy->slot);
	}
	next_step(w, copy);
}

void mm_write_copy_store(struct mm_writer *w, struct mm_copy *copy)
{
	unsigned held = 0;
	each_a(w, copy, STORE, &held);
	each_b(w, copy, STORE, &held);
	next_slot(w, copy->slot);
}
