/* SPDX-License-Identifier: MIT
 *
 * Results of the quantised matmuls' GPU kernels: accumulators in the order of the
 * matrix instructions' D come in, y goes out.
 *
 * Where warps or blocks share rows, each block's sums lie in its shared memory as
 * [warp's share of k][token][row], a pitch of 4 modulo 16 apart so that neither
 * storing nor reading meets a bank conflict, until all are there; then they are
 * added in a fixed order: of the block's warps, of the cluster's blocks
 * (join=cluster), or, through the workspace, of all blocks by the last one that
 * is done (join=last).
 */
#include "kernels/quant_matmul/quant_matmul_gpu.h"

#define I tcb_ptx_int
#define OP1 tcb_ptx_op1
#define OP2 tcb_ptx_op2
#define OP3 tcb_ptx_op3

enum { WARP = 32, CLUSTER_MAX = 16 };

/* Row of y that lane's first row of tile ROW_TILE of GROUP is. */
static qmm_op row_of(struct qmm_writer *w, qmm_op group, unsigned row_tile)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmm_gpu *g = w->g;
	qmm_op row = OP3(b, "mad.lo.u32", group, I(g->rows), w->quad);
	if (g->is_wgmma) /* four warps, 16 rows each */
		row = OP3(b, "mad.lo.u32", OP2(b, "and.b32", w->warp, I(3)), I(QMM_UNIT_ROWS), row);
	return OP2(b, "add.u32", row, I(row_tile * (g->is_wgmma ? 4 : 1) * QMM_UNIT_ROWS));
}

static void store_direct(struct qmm_writer *w, qmm_op group, unsigned row_tile, qmm_op sums[][4])
{
	struct tcb_ptx_build *b = &w->b;
	const qmm_op row = row_of(w, group, row_tile), other = OP2(b, "add.u32", row, I(8));
	const qmm_op has[2] = { OP2(b, "setp.lt.u32", row, w->rows), OP2(b, "setp.lt.u32", other, w->rows) };
	const qmm_op token = OP3(b, "mad.lo.u32", w->pair, I(2), w->first_token);
	const qmm_op y_row = qmm_write_element(w, w->y, row, 4);
	const qmm_op pitch = OP2(b, "mul.wide.u32", w->rows, I(4));
	qmm_op at = OP3(b, "mad.lo.u64", OP1(b, "cvt.u64.u32", token), pitch, y_row);
	for (unsigned group8 = 0; group8 < w->g->token_groups; group8++) {
		for (unsigned odd = 0; odd < 2; odd++) {
			const qmm_op this = OP2(b, "add.u32", token, I(8 * group8 + odd));
			for (unsigned half = 0; half < 2; half++) {
				tcb_ptx_guard(b, OP3(b, "setp.lt.and.u32", this, w->tokens, has[half]));
				tcb_ptx_store(b, "st.global.f32", tcb_ptx_at(at, 32 * half),
					      &sums[group8][2 * half + odd], 1);
				tcb_ptx_unguard(b);
			}
			at = OP2(b, "add.u64", at, pitch);
		}
		at = OP3(b, "mad.lo.u64", pitch, I(6), at);
	}
}

void qmm_write_results(struct qmm_writer *w, qmm_op group, unsigned row_tile, qmm_op sums[][4])
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmm_gpu *g = w->g;
	qmm_op row, at;
	if (!g->has_parts) {
		store_direct(w, group, row_tile, sums);
		return;
	}
	row = row_of(w, OP2(b, "sub.u32", group, w->first), row_tile);
	at = OP3(b, "mad.lo.u32", w->pair, I(2 * g->part_pitch), row);
	at = OP3(b, "mad.lo.u32", at, I(4), w->shared);
	if (g->ksplit > 1)
		at = OP3(b, "mad.lo.u32", w->ks, I(g->part_bytes), at);
	for (unsigned group8 = 0; group8 < g->token_groups; group8++)
		for (unsigned e = 0; e < 4; e++) {
			const unsigned token = 8 * group8 + e % 2;
			tcb_ptx_store(b, "st.shared.f32",
				      tcb_ptx_at(at, g->part_at + 4 * (token * g->part_pitch + e / 2 * 8)),
				      &sums[group8][e], 1);
		}
}

/* --- adding --- */

/* Rows that a lane adds at a time: the more, the fewer rounds of waiting for other blocks' memory. */
static unsigned lane_rows(const struct qmm_gpu *g)
{
	return g->block_rows >= 4 * WARP ? 4 : g->block_rows >= 2 * WARP ? 2 : 1;
}

struct spread {
	struct tcb_ptx_for loop;
	qmm_op token, row; /* of the block */
	qmm_op left;       /* rows from there on */
	struct tcb_ptx_if scope;
};

/* For all tokens and ROWS of the block: the rows of a warp's lanes of a token; WARPS take part, this one is number ME.
 */
static void spread_begin(struct qmm_writer *w, struct spread *s, qmm_op rows, qmm_op me, unsigned warps)
{
	struct tcb_ptx_build *b = &w->b;
	const unsigned tokens = w->g->tokens, of_warp = WARP * lane_rows(w->g);
	const qmm_op runs = OP2(b, "div.u32", OP2(b, "add.u32", rows, I(of_warp - 1)), I(of_warp));
	const qmm_op lane_row = OP2(b, "mul.lo.u32", w->lane, I(lane_rows(w->g)));
	qmm_op is_any, token;
	tcb_ptx_for_begin(b, &s->loop, me, OP2(b, "mul.lo.u32", runs, I(tokens)), I(warps), 0);
	s->token = OP2(b, "rem.u32", s->loop.iv, I(tokens));
	s->row = OP3(b, "mad.lo.u32", OP2(b, "div.u32", s->loop.iv, I(tokens)), I(of_warp), lane_row);
	s->left = OP2(b, "sub.u32", rows, s->row);
	token = OP2(b, "add.u32", w->first_token, s->token);
	is_any = OP2(b, "setp.lt.u32", token, w->tokens);
	is_any = OP3(b, "setp.lt.and.u32", s->row, rows, is_any);
	tcb_ptx_if_begin(b, &s->scope, is_any);
}

static void spread_end(struct qmm_writer *w, struct spread *s)
{
	tcb_ptx_if_end(&w->b, &s->scope);
	tcb_ptx_for_end(&w->b, &s->loop);
}

/* y or, with SLICE, the workspace's partial sums: [slice][token][row]. */
static qmm_op place_of(struct qmm_writer *w, const struct spread *s, qmm_op first_row, const qmm_op *slice)
{
	struct tcb_ptx_build *b = &w->b;
	qmm_op token = OP2(b, "add.u32", w->first_token, s->token), at;
	if (slice)
		token = OP3(b, "mad.lo.u32", *slice, w->tokens, token);
	at = OP2(b, "mul.wide.u32", token, w->rows);
	at = OP2(b, "add.u64", at, OP1(b, "cvt.u64.u32", OP2(b, "add.u32", first_row, s->row)));
	return OP3(b, "mad.lo.u64", at, I(4), slice ? w->slices : w->y);
}

/* To as many of the lane's rows as there are. */
static void store_rows(struct qmm_writer *w, const struct spread *s, qmm_op at, const qmm_op *sum)
{
	struct tcb_ptx_build *b = &w->b;
	for (unsigned i = 0; i < lane_rows(w->g); i++) {
		if (i)
			tcb_ptx_guard(b, OP2(b, "setp.gt.u32", s->left, I(i)));
		tcb_ptx_store(b, "st.global.f32", tcb_ptx_at(at, 4 * i), &sum[i], 1);
		tcb_ptx_unguard(b);
	}
}

/* Where the sums for a place begin in shared memory. */
static qmm_op part_of(struct qmm_writer *w, const struct spread *s)
{
	struct tcb_ptx_build *b = &w->b;
	const qmm_op at = OP3(b, "mad.lo.u32", s->token, I(w->g->part_pitch), s->row);
	return tcb_ptx_assume_aligned(b, OP3(b, "mad.lo.u32", at, I(4), w->shared), 4 * lane_rows(w->g));
}

/* Adds the parts AT of a block's warps to SUM, or makes it if it is none yet. */
static void add_parts(struct qmm_writer *w, int is_cluster, qmm_op at, qmm_op *sum)
{
	static const char *const own[] = { "", "ld.shared.f32", "ld.shared.v2.f32", "", "ld.shared.v4.f32" };
	static const char *const others[] = { "", "ld.shared::cluster.f32", "ld.shared::cluster.v2.f32", "",
					      "ld.shared::cluster.v4.f32" };
	const struct qmm_gpu *g = w->g;
	const unsigned rows = lane_rows(g);
	for (unsigned ks = 0; ks < g->ksplit; ks++) {
		qmm_op part[4];
		tcb_ptx_load(&w->b, (is_cluster ? others : own)[rows], tcb_ptx_at(at, g->part_at + ks * g->part_bytes),
			     part, rows);
		for (unsigned i = 0; i < rows; i++)
			sum[i] = sum[i].kind ? OP2(&w->b, "add.rn.f32", sum[i], part[i]) : part[i];
	}
}

static void join_block(struct qmm_writer *w, qmm_op first_row, qmm_op rows, const qmm_op *slice)
{
	struct tcb_ptx_build *b = &w->b;
	struct spread s;
	qmm_op sum[4] = { { 0 } };
	tcb_ptx_op1(b, "bar.sync", I(0));
	spread_begin(w, &s, rows, w->warp, w->g->threads / WARP);
	add_parts(w, 0, part_of(w, &s), sum);
	store_rows(w, &s, place_of(w, &s, first_row, slice), sum);
	spread_end(w, &s);
}

void qmm_write_cluster_barrier(struct qmm_writer *w)
{
	tcb_ptx_op0(&w->b, "barrier.cluster.arrive.release.aligned");
	tcb_ptx_op0(&w->b, "barrier.cluster.wait.acquire.aligned");
}

static void join_cluster(struct qmm_writer *w, qmm_op first_row, qmm_op rows)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmm_gpu *g = w->g;
	const unsigned warps = g->threads / WARP;
	struct spread s;
	qmm_op sum[4] = { { 0 } }, me;
	qmm_write_cluster_barrier(w);
	me = OP3(b, "mad.lo.u32", tcb_ptx_special(b, "ctaid.y"), I(warps), w->warp);
	spread_begin(w, &s, rows, me, warps * g->splitk);
	const qmm_op part = part_of(w, &s);
	for (unsigned k = 0; k < g->splitk; k++) {
		qmm_op rank = I(k * g->cast); /* the cluster's blocks of other rows come first */
		if (g->cast > 1)
			rank = OP2(b, "add.u32", rank, qmm_write_cast_rank(w));
		const qmm_op at = OP2(b, "mapa.shared::cluster.u32", part, rank);
		add_parts(w, 1, tcb_ptx_assume_aligned(b, at, 4 * lane_rows(g)), sum);
	}
	store_rows(w, &s, place_of(w, &s, first_row, NULL), sum);
	spread_end(w, &s);
	qmm_write_cluster_barrier(w); /* others still read this block's memory */
}

/* The atomic increment leaves the counter at 0. */
static void join_last(struct qmm_writer *w, qmm_op first_row, qmm_op rows)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmm_gpu *g = w->g;
	qmm_op slice = tcb_ptx_special(b, "ctaid.y"), arrived, flag, zero = I(0);
	struct tcb_ptx_if scope;
	struct spread s;
	join_block(w, first_row, rows, &slice);
	tcb_ptx_op1(b, "bar.sync", I(0));
	tcb_ptx_if_begin(b, &scope, OP2(b, "setp.eq.u32", w->tid, I(0)));
	tcb_ptx_op0(b, "fence.acq_rel.gpu"); /* of what the whole block wrote, which the barrier told this thread of */
	arrived = OP2(b, "atom.global.inc.u32", tcb_ptx_at(w->counters, 0), I(g->splitk - 1));
	tcb_ptx_op0(b, "fence.acq_rel.gpu");
	tcb_ptx_store(b, "st.shared.u32", tcb_ptx_at(w->shared, g->flag_at), &arrived, 1);
	tcb_ptx_if_end(b, &scope);
	tcb_ptx_op1(b, "bar.sync", I(0));
	tcb_ptx_load(b, "ld.shared.u32", tcb_ptx_at(w->shared, g->flag_at), &flag, 1);
	tcb_ptx_if_begin(b, &scope, OP2(b, "setp.eq.u32", flag, I(g->splitk - 1)));
	spread_begin(w, &s, rows, w->warp, g->threads / WARP);
	qmm_op at = place_of(w, &s, first_row, &zero), part, sum[4];
	const qmm_op pitch = OP2(b, "mul.wide.u32", OP2(b, "mul.lo.u32", w->tokens, w->rows), I(4));
	for (unsigned k = 0; k < g->splitk; k++) {
		for (unsigned i = 0; i < lane_rows(g); i++) {
			const qmm_op left =
				OP2(b, "min.u32", OP2(b, "sub.u32", s.left, I(1)), I(i)); /* or the last row */
			tcb_ptx_load(b, "ld.global.cg.f32", tcb_ptx_at(qmm_write_element(w, at, left, 4), 0), &part, 1);
			sum[i] = k ? OP2(b, "add.rn.f32", sum[i], part) : part;
		}
		at = OP2(b, "add.u64", at, pitch);
	}
	store_rows(w, &s, place_of(w, &s, first_row, NULL), sum);
	spread_end(w, &s);
	tcb_ptx_if_end(b, &scope);
}

void qmm_write_join(struct qmm_writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmm_gpu *g = w->g;
	qmm_op first_row, end_row, rows;
	if (!g->has_parts) {
		if (g->cast > 1)
			qmm_write_cluster_barrier(w); /* others still say here which slots they are done with */
		return;
	}
	first_row = OP2(b, "min.u32", OP2(b, "mul.lo.u32", w->first, I(g->rows)), w->rows);
	end_row = OP2(b, "min.u32", OP2(b, "mul.lo.u32", w->end, I(g->rows)), w->rows);
	rows = OP2(b, "sub.u32", end_row, first_row);
	if (g->join == TCB_JOIN_CLUSTER)
		join_cluster(w, first_row, rows);
	else if (g->join == TCB_JOIN_LAST)
		join_last(w, first_row, rows);
	else
		join_block(w, first_row, rows, NULL);
	if (g->cast > 1 && g->join != TCB_JOIN_CLUSTER)
		qmm_write_cluster_barrier(w);
}
