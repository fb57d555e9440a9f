/* SPDX-License-Identifier: MIT
 *
 * The activations of the quantised matmuls' GPU kernels: floats in global memory
 * come in, tiles of halves go out: [64 of k][8 tokens] of 1024 bytes, 128 a
 * token, its 16-byte chunks exchanged by the token's last three bits, which is
 * what ldmatrix wants against bank conflicts and wgmma calls a swizzle of 128
 * bytes.  Tokens and values that there are none of are zeros.
 *
 * A warp takes a token's 256 values, a lane one chunk: four values of each of two
 * neighbouring runs, alternating.
 */
#include "kernels/quant_matmul/quant_matmul_gpu.h"

#define I tcb_ptx_int
#define OP1 tcb_ptx_op1
#define OP2 tcb_ptx_op2
#define OP3 tcb_ptx_op3

enum { WARP = 32, AHEAD = 8, TOKEN_BYTES = 128, CHUNK_BYTES = 16, LANE_FLOATS = 4 };

/* A lane's part of a token's values of one unit. */
struct lane_values {
	qmm_op value[2 * LANE_FLOATS]; /* of the even run, of the odd one */
};

/* The lane's first value within a unit. */
static qmm_op lane_offset(struct qmm_writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	const unsigned run = w->g->unit.run, lanes = run / LANE_FLOATS;
	const qmm_op pair = OP2(b, "shr.u32", w->lane, I(lanes == 8 ? 3 : 2));
	const qmm_op within = OP2(b, "and.b32", w->lane, I(lanes - 1));
	return OP3(b, "mad.lo.u32", pair, I(2 * run), OP2(b, "shl.b32", within, I(2)));
}

/* TOKEN, of all, UNIT of the row. */
static void load_values(struct qmm_writer *w, qmm_op token, qmm_op unit, struct lane_values *out)
{
	struct tcb_ptx_build *b = &w->b;
	const qmm_op first = OP3(b, "mad.lo.u32", unit, I(QMM_UNIT_VALUES), lane_offset(w));
	const qmm_op row = OP3(b, "mad.wide.u32", token, I((int64_t)w->g->k * 4), w->x);
	const qmm_op at = qmm_write_element(w, row, first, 4);
	const qmm_op is_token = OP2(b, "setp.lt.u32", token, w->tokens);
	for (unsigned i = 0; i < 2 * LANE_FLOATS; i++)
		out->value[i] = qmm_write_constant(w, "f32", tcb_ptx_f32(0));
	for (unsigned half = 0; half < 2; half++) {
		qmm_op has = is_token;
		if (w->g->k % QMM_UNIT_VALUES)
			has = OP3(b, "setp.lt.and.u32", first, I(w->g->k - half * w->g->unit.run), is_token);
		tcb_ptx_guard(b, has);
		tcb_ptx_into1(b, "ld.global.v4.f32", tcb_ptx_vector(b, out->value + half * LANE_FLOATS, LANE_FLOATS),
			      tcb_ptx_at(at, half * w->g->unit.run * 4));
		tcb_ptx_unguard(b);
	}
}

/* LOW and HIGH as a pair of halves. */
static qmm_op pair_of(struct qmm_writer *w, qmm_op low, qmm_op high)
{
	struct tcb_ptx_build *b = &w->b;
	qmm_op half[2], pair;
	if (w->g->capability >= 80)
		return OP2(b, "cvt.rn.f16x2.f32", high, low);
	half[0] = OP1(b, "cvt.rn.f16.f32", low);
	half[1] = OP1(b, "cvt.rn.f16.f32", high);
	pair = tcb_ptx_reg(b, "b32");
	tcb_ptx_into1(b, "mov.b32", pair, tcb_ptx_vector(b, half, 2));
	return pair;
}

/* Bytes from a tile's start to where TOKEN's chunk of this lane is. */
static qmm_op place_in_tile(struct qmm_writer *w, qmm_op token)
{
	struct tcb_ptx_build *b = &w->b;
	const qmm_op row = OP2(b, "and.b32", token, I(QMM_GROUP_TOKENS - 1));
	const qmm_op chunk = OP2(b, "xor.b32", OP2(b, "and.b32", w->lane, I(7)), row);
	return OP3(b, "mad.lo.u32", row, I(TOKEN_BYTES), OP2(b, "shl.b32", chunk, I(4)));
}

static void pairs_of(struct qmm_writer *w, const struct lane_values *values, qmm_op pair[LANE_FLOATS])
{
	for (unsigned i = 0; i < LANE_FLOATS; i++)
		pair[i] = pair_of(w, values->value[i], values->value[LANE_FLOATS + i]);
}

/* TOKEN of the block, UNIT of its slice. */
static void store_values(struct qmm_writer *w, qmm_op image, qmm_op token, qmm_op unit,
			 const struct lane_values *values)
{
	struct tcb_ptx_build *b = &w->b;
	const qmm_op chunk = OP3(b, "mad.lo.u32", unit, I(QMM_CHUNKS), OP2(b, "shr.u32", w->lane, I(3)));
	const qmm_op group = OP3(b, "mad.lo.u32", chunk, I(w->g->token_groups), OP2(b, "shr.u32", token, I(3)));
	qmm_op at = OP3(b, "mad.lo.u32", group, I(QMM_TILE_BYTES), place_in_tile(w, token)), pair[LANE_FLOATS];
	pairs_of(w, values, pair);
	at = OP2(b, "add.u32", image, at);
	tcb_ptx_store(b, "st.shared.v4.b32", tcb_ptx_at(tcb_ptx_assume_aligned(b, at, 16), 0), pair, LANE_FLOATS);
}

void qmm_write_x_prepare(struct qmm_writer *w, qmm_op image)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmm_gpu *g = w->g;
	const unsigned items = g->tokens * g->slice, rounds = (items + g->warps - 1) / g->warps;
	const unsigned ahead = rounds < AHEAD ? rounds : AHEAD;
	const int is_whole = items % (ahead * g->warps) == 0;
	struct lane_values values[AHEAD];
	qmm_op token[AHEAD], unit[AHEAD], has[AHEAD];
	struct tcb_ptx_for loop;
	tcb_ptx_for_begin(b, &loop, w->warp, I(items), I(ahead * g->warps), items >= g->warps);
	for (unsigned i = 0; i < ahead; i++) {
		const qmm_op item = OP2(b, "add.u32", loop.iv, I(i * g->warps));
		qmm_op of_all;
		token[i] = OP2(b, "rem.u32", item, I(g->tokens));
		unit[i] = OP2(b, "div.u32", item, I(g->tokens));
		of_all = OP2(b, "add.u32", w->first_token, token[i]);
		if (!is_whole) { /* past the last item: no token either, and nothing is stored */
			has[i] = OP2(b, "setp.lt.u32", item, I(items));
			of_all = OP3(b, "selp.u32", of_all, w->tokens, has[i]);
		}
		load_values(w, of_all, unit[i], &values[i]);
	}
	for (unsigned i = 0; i < ahead; i++) {
		struct tcb_ptx_if scope;
		if (!is_whole)
			tcb_ptx_if_begin(b, &scope, has[i]);
		store_values(w, image, token[i], unit[i], &values[i]);
		if (!is_whole)
			tcb_ptx_if_end(b, &scope);
	}
	tcb_ptx_for_end(b, &loop);
}

/* Tile I of the block's, 64 along k each, in the image. */
static qmm_op tile_at(struct qmm_writer *w, qmm_op i)
{
	struct tcb_ptx_build *b = &w->b;
	const qmm_op groups = OP2(b, "shr.u32", w->padded, I(3)), first = OP2(b, "shr.u32", w->first_token, I(3));
	return qmm_write_element(w, w->x, OP3(b, "mad.lo.u32", i, groups, first), QMM_TILE_BYTES);
}

/* By all threads, 16 bytes at a time, several asked for before the first is stored. */
static void copy_by_threads(struct qmm_writer *w, qmm_op image)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmm_gpu *g = w->g;
	const unsigned pieces = g->token_groups * (QMM_TILE_BYTES / CHUNK_BYTES), all = g->slice * QMM_CHUNKS * pieces;
	struct tcb_ptx_for loop;
	qmm_op word[AHEAD][4], piece[AHEAD], has[AHEAD];
	tcb_ptx_for_begin(b, &loop, w->tid, I(all), I(AHEAD * g->threads), 0);
	for (unsigned i = 0; i < AHEAD; i++) {
		qmm_op from;
		piece[i] = OP2(b, "add.u32", loop.iv, I(i * g->threads));
		has[i] = OP2(b, "setp.lt.u32", piece[i], I(all));
		from = tile_at(w, OP2(b, "div.u32", piece[i], I(pieces)));
		from = qmm_write_element(w, from, OP2(b, "rem.u32", piece[i], I(pieces)), CHUNK_BYTES);
		for (unsigned j = 0; j < 4; j++)
			word[i][j] = tcb_ptx_reg(b, "b32");
		tcb_ptx_guard(b, has[i]);
		tcb_ptx_into1(b, "ld.global.v4.b32", tcb_ptx_vector(b, word[i], 4), tcb_ptx_at(from, 0));
		tcb_ptx_unguard(b);
	}
	for (unsigned i = 0; i < AHEAD; i++) {
		const qmm_op to = OP3(b, "mad.lo.u32", piece[i], I(CHUNK_BYTES), image);
		tcb_ptx_guard(b, has[i]);
		tcb_ptx_store(b, "st.shared.v4.b32", tcb_ptx_at(to, 0), word[i], 4);
		tcb_ptx_unguard(b);
	}
	tcb_ptx_for_end(b, &loop);
}

void qmm_write_x_open(struct qmm_writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	if (!w->g->x_is_bulk)
		return;
	w->x_barrier = OP2(b, "add.u32", w->shared, I(w->g->x_barrier_at));
	tcb_ptx_guard(b, OP2(b, "setp.eq.u32", w->tid, I(0)));
	OP2(b, "mbarrier.init.shared::cta.b64", tcb_ptx_at(w->x_barrier, 0), I(1));
	tcb_ptx_op0(b, "fence.mbarrier_init.release.cluster");
	tcb_ptx_op0(b, "fence.proxy.async.shared::cta");
	tcb_ptx_unguard(b);
}

void qmm_write_x_copy(struct qmm_writer *w, qmm_op image)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmm_gpu *g = w->g;
	const unsigned bytes = g->token_groups * QMM_TILE_BYTES, tiles = g->slice * QMM_CHUNKS;
	struct tcb_ptx_if scope;
	struct tcb_ptx_for loop;
	if (!g->x_is_bulk) {
		copy_by_threads(w, image);
		return;
	}
	tcb_ptx_if_begin(b, &scope, OP2(b, "setp.eq.u32", w->tid, I(0)));
	OP2(b, "mbarrier.arrive.expect_tx.shared::cta.b64", tcb_ptx_at(w->x_barrier, 0), I(tiles * bytes));
	tcb_ptx_for_begin(b, &loop, I(0), I(tiles), I(1), 1);
	tcb_ptx_op4(b, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
		    tcb_ptx_at(OP3(b, "mad.lo.u32", loop.iv, I(bytes), image), 0), tcb_ptx_at(tile_at(w, loop.iv), 0),
		    I(bytes), tcb_ptx_at(w->x_barrier, 0));
	tcb_ptx_for_end(b, &loop);
	tcb_ptx_if_end(b, &scope);
}

void qmm_write_x_wait(struct qmm_writer *w)
{
	if (w->g->x_is_bulk)
		qmm_write_wait(w, tcb_ptx_at(w->x_barrier, 0), I(0));
}

void qmm_write_prepare_kernel(struct qmm_writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmm_gpu *g = w->g;
	struct lane_values values[QMM_PREPARE_TOKENS];
	qmm_op image, unit, first, token[QMM_PREPARE_TOKENS];
	qmm_write_begin(w, "qmm_prepare", QMM_PREPARE_WARPS * WARP, 1);
	w->x = tcb_ptx_param_pointer(b, "x", 16);
	image = tcb_ptx_param_pointer(b, "image", 256);
	w->tokens = tcb_ptx_param(b, "u32", "tokens");
	w->padded = tcb_ptx_param(b, "u32", "padded");
	if (g->pdl) {
		tcb_ptx_op0(b, "griddepcontrol.launch_dependents");
		tcb_ptx_op0(b, "griddepcontrol.wait");
	}
	w->tid = tcb_ptx_special(b, "tid.x");
	w->lane = OP2(b, "and.b32", w->tid, I(WARP - 1));
	w->warp = OP2(b, "shr.u32", w->tid, I(5));
	unit = tcb_ptx_special(b, "ctaid.x");
	first = OP3(b, "mad.lo.u32", tcb_ptx_special(b, "ctaid.y"), I(QMM_PREPARE_WARPS), w->warp);
	first = OP2(b, "mul.lo.u32", first, I(QMM_PREPARE_TOKENS));
	for (unsigned i = 0; i < QMM_PREPARE_TOKENS; i++) {
		token[i] = OP2(b, "add.u32", first, I(i));
		load_values(w, token[i], unit, &values[i]);
	}
	const qmm_op groups = OP2(b, "shr.u32", w->padded, I(3));
	const qmm_op chunk = OP3(b, "mad.lo.u32", unit, I(QMM_CHUNKS), OP2(b, "shr.u32", w->lane, I(3)));
	for (unsigned i = 0; i < QMM_PREPARE_TOKENS; i++) {
		const qmm_op tile = OP3(b, "mad.lo.u32", chunk, groups, OP2(b, "shr.u32", token[i], I(3)));
		const qmm_op base = qmm_write_element(w, image, tile, QMM_TILE_BYTES);
		const qmm_op at = qmm_write_element(w, base, place_in_tile(w, token[i]), 1);
		const qmm_op has = OP2(b, "setp.lt.u32", token[i], w->padded);
		qmm_op pair[LANE_FLOATS];
		pairs_of(w, &values[i], pair);
		tcb_ptx_guard(b, has);
		tcb_ptx_store(b, "st.global.v4.b32", tcb_ptx_at(tcb_ptx_assume_aligned(b, at, 16), 0), pair,
			      LANE_FLOATS);
		tcb_ptx_unguard(b);
	}
	tcb_ptx_kernel_end(b);
}
