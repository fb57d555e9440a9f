/* SPDX-License-Identifier: MIT
 *
 * The results of a quantised matvec on GPUs: a lane's sums of rows, or of rows by
 * tokens, come in; they are added over the warp, with those of the other warps
 * and blocks that share the row, and go through norm and gate to y.
 */
#include "kernels/gpu/barrier.h"
#include "kernels/gpu/quant_gpu.h"
#include "kernels/quant_matvec/quant_matvec_gpu_fused.h"
#include "kernels/quant_matvec/quant_matvec_gpu_math.h"
#include "kernels/quant_matvec/quant_matvec_gpu_mma.h"

/*
 * The rows of y that the warp's lanes hold the sums of, from the group's first; of several tokens, of which of the
 * block's; gated, also WHICH, 0 for that of gate and 1 for that of up, which DISTANCE lanes share.  Lanes whose bits of
 * MASK are zero are the first that hold one.
 */
struct held {
	kit_op row, token, which;
	unsigned distance, mask;
};

static struct held held_rows(struct qmv_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const unsigned lanes = WARP / (g->is_mma ? g->rows : g->sums);
	struct held held = { .distance = g->is_mma ? 1 : WARP / 2, .mask = g->is_mma ? 2 : lanes - 1 };
	if (g->is_mma) { /* of four lanes 4 g + t two write: rows g and g + 8, or g of gate and of up */
		const kit_op is_odd = u_and(b, w->kit.lane, I(1));
		held.which = is_odd;
		held.row = g->is_gated ? w->column : u_mad(b, is_odd, I(QMV_TILE_ROWS / 2), w->column);
	} else if (g->is_gated) {
		held.which = u_shr(b, w->kit.lane, I(4));
		held.row = u_div(b, u_and(b, w->kit.lane, I(WARP / 2 - 1)), I(lanes));
	} else {
		held.row = u_div(b, w->kit.lane, I(lanes));
	}
	if (g->at_once > 1) {
		const struct kit_split of_token = u_split(b, held.row, I(g->at_once));
		held.row = of_token.whole;
		held.token = of_token.rest;
	}
	return held;
}

kit_op qmv_write_y_row(struct qmv_writer *w, kit_op token)
{
	const struct qmv_gpu *g = w->g;
	return u_mul(&w->kit.b, token, g->y_stride == g->n ? w->rows : I(g->y_stride));
}

/* Of several tokens: ROW from the first of the tile's, TOKEN's row, and whether there is such a token. */
static kit_op row_of_token(struct qmv_writer *w, kit_op token, kit_op row, kit_op *has)
{
	struct tcb_ptx_build *b = &w->kit.b;
	*has = u_lt(b, u_add(b, w->first_token, token), w->tokens);
	if (w->g->has_norm)
		qmv_write_factor_of(w, token);
	return u_mad(b, token, w->rows, row);
}

kit_op qmv_write_own_row(struct qmv_writer *w, kit_op i)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op mine = w->g->is_joined ? u_mad(b, i, I(w->g->splitk), u_block_y(b)) : i;
	return u_mad(b, w->first, I(w->g->group_rows), mine);
}

/* RESULT, and where HAS (NULL: everywhere) what is to be added to element ROW of y. */
static kit_op with_added(struct qmv_writer *w, const kit_op *has, kit_op row, kit_op result)
{
	if (!w->g->has_added)
		return result;
	if (w->g->is_added_early)
		return f_add(&w->kit.b, result, w->early);
	return qmv_write_sum_with(w, has, tcb_kit_element(&w->kit.b, w->added, row, 4), result);
}

/* Where y has element ROW, or where its rows are further apart ELEMENT of row TOKEN of the block's. */
static kit_op result_at(struct qmv_writer *w, kit_op row, kit_op token, kit_op element)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	if (g->at_once > 1 && g->y_stride != g->n)
		row = u_mad(b, token, I(g->y_stride), element);
	return tcb_kit_element(b, w->y, row, g->y_bytes);
}

/* TOTAL, or of a gated pair what becomes of it and of that of up, to row ROW of y by the lanes of IS_WRITER. */
static void write_row(struct qmv_writer *w, kit_op total, const struct held *held, kit_op row, kit_op is_writer)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op of_bias = row;
	if (w->g->at_once > 1) {
		kit_op has;
		row = row_of_token(w, held->token, row, &has);
		is_writer = p_and(b, is_writer, has);
	}
	const kit_op up = w->g->is_gated ? tcb_kit_butterfly(b, total, held->distance) : total;
	const kit_op result = qmv_write_result(w, &is_writer, of_bias, total, up);
	const kit_op at = result_at(w, row, held->token, of_bias);
	if (w->g->is_gated)
		is_writer = u_eq_and(b, held->which, I(0), is_writer);
	tcb_quant_put_float(b, &is_writer, w->g->y_type, at, with_added(w, &is_writer, row, result));
}

void qmv_write_results(struct qmv_writer *w, kit_op group, const kit_op *sums, const kit_op *mins)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	kit_op value[QMV_GPU_SUMS_MAX], total, row, is_writer, part;
	for (unsigned i = 0; i < g->sums; i++)
		value[i] = f_sub(b, sums[i], mins[i]);
	total = g->is_mma ? qmv_write_mma_sum(w, value) : qmv_write_warp_sum(w, value, g->sums);
	const struct held held = held_rows(w);
	row = u_mad(b, group, I(g->group_rows), held.row);
	is_writer = u_lt(b, row, w->rows);
	is_writer = u_eq_and(b, u_and(b, w->kit.lane, I(held.mask)), I(0), is_writer);
	if (g->ksplit == 1 && g->splitk == 1) {
		write_row(w, total, &held, row, is_writer);
		return;
	}
	row = u_sub(b, row, u_mul(b, w->first, I(g->group_rows)));
	if (g->is_gated)
		row = u_mad(b, row, I(2), held.which);
	if (g->at_once > 1)
		row = u_mad(b, row, I(g->at_once), held.token);
	if (g->is_joined) { /* to the block that adds them */
		const kit_op of_slice = u_mad(b, u_block_y(b), I(g->ksplit), w->ks);
		const kit_op owner = u_rem(b, g->is_gated ? u_shr(b, row, I(1)) : row, I(g->splitk));
		part = u_in_rank(b, u_add(b, w->kit.shared, I(g->part_at)), owner);
		part = u_mad(b, u_mad(b, row, I(g->row_parts), of_slice), I(4), part);
		tcb_kit_put_where(b, is_writer, TCB_KIT_CLUSTER, "f32", part, total);
		return;
	}
	part = u_mad(b, u_mad(b, row, I(g->ksplit), w->ks), I(4), w->kit.shared);
	tcb_kit_put_where(b, is_writer, TCB_KIT_SHARED, "f32", tcb_ptx_at(part, g->part_at), total);
}

/* The parts of row I of the block, of its warps or of its cluster's, added in order; gated, I counts rows of gate and
 * up in turn. */
static kit_op write_parts_sum(struct qmv_writer *w, kit_op i)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned parts = w->g->row_parts, width = parts % 4 == 0 ? 4 : parts % 2 == 0 ? 2 : 1;
	const kit_op at = u_mad(b, i, I(4 * parts), w->kit.shared);
	kit_op part[4], sum = I(0);
	for (unsigned k = 0; k < parts; k++) {
		if (k % width == 0)
			tcb_kit_load(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(at, w->g->part_at + 4 * k), part, width);
		sum = k ? f_add(b, sum, part[k % width]) : part[0];
	}
	return sum;
}

/* The last of the blocks that share rows adds their slices in order; its atomic increment leaves the counter at 0. */
static void write_slices_sum(struct qmv_writer *w, kit_op first_row, kit_op count)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const unsigned sides = 1 + (unsigned)g->is_gated;
	kit_op row, sum[2], part, at[2];
	tcb_kit_block_barrier(b);
	tcb_kit_last_begin(&w->kit);
	tcb_kit_last_of(&w->kit, tcb_ptx_at(w->counters, 0), I(g->splitk - 1), g->flag_at);
	const kit_op loop = tcb_ptx_for_begin(b, w->kit.tid, count, I(g->warps * WARP), 0);
	row = u_add(b, first_row, loop);
	at[0] = tcb_kit_element(b, w->slices, row, 4);
	if (g->is_gated)
		at[1] = tcb_kit_element(b, at[0], w->rows, 4);
	for (unsigned i = 0; i < sides; i++)
		sum[i] = f_set(b, F(0));
	tcb_ptx_for_begin(b, I(0), I(g->splitk), I(1), 1);
	for (unsigned i = 0; i < sides; i++) {
		part = tcb_kit_get(b, TCB_KIT_OTHERS, "f32", at[i]);
		f_add_to(b, sum[i], sum[i], part);
		l_mad_wide_to(b, at[i], w->weight_rows, I(4), at[i]);
	}
	tcb_ptx_for_end(b);
	sum[0] = qmv_write_result(w, NULL, row, sum[0], sum[sides - 1]);
	sum[0] = with_added(w, NULL, row, sum[0]);
	tcb_quant_put_float(b, NULL, g->y_type, result_at(w, row, I(0), row), sum[0]);
	tcb_ptx_for_end(b);
	tcb_ptx_if_end(b);
}

/* Of several tokens, where several warps share a row: COUNT rows' parts are added, and written. */
static void write_shared_tokens(struct qmv_writer *w, kit_op first_row, kit_op count)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const kit_op all = u_mul(b, count, I(g->at_once));
	kit_op has, sum, up;
	const kit_op loop = tcb_ptx_for_begin(b, w->kit.tid, all, I(g->warps * WARP), 0);
	const struct kit_split of_token = u_split(b, loop, I(g->at_once));
	if (g->is_gated) {
		const kit_op first = u_mad(b, of_token.whole, I(2 * g->at_once), of_token.rest);
		sum = write_parts_sum(w, first);
		up = write_parts_sum(w, u_add(b, first, I(g->at_once)));
	} else {
		sum = up = write_parts_sum(w, loop);
	}
	const kit_op of_bias = u_add(b, first_row, of_token.whole);
	const kit_op row = row_of_token(w, of_token.rest, of_bias, &has);
	sum = with_added(w, &has, row, qmv_write_result(w, &has, of_bias, sum, up));
	tcb_quant_put_float(b, &has, g->y_type, result_at(w, row, of_token.rest, of_bias), sum);
	tcb_ptx_for_end(b);
}

void qmv_write_shared_rows(struct qmv_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const kit_op first_row = u_mul(b, w->first, I(g->group_rows));
	const kit_op end_row = u_min(b, u_mul(b, w->end, I(g->group_rows)), w->rows);
	const kit_op count = u_sub(b, end_row, first_row);
	kit_op sum, up, row, first = w->kit.tid;
	unsigned step = g->warps * WARP;
	if (g->is_joined) { /* every splitk-th row is this block's */
		tcb_kit_cluster_barrier(b);
		first = u_mad(b, first, I(g->splitk), u_block_y(b));
		step *= g->splitk;
	} else {
		tcb_kit_block_barrier(b);
	}
	if (g->at_once > 1) {
		write_shared_tokens(w, first_row, count);
		return;
	}
	const kit_op loop = tcb_ptx_for_begin(b, first, count, I(step), 0);
	if (g->is_gated) {
		first = u_shl(b, loop, I(1));
		sum = write_parts_sum(w, first);
		up = write_parts_sum(w, u_add(b, first, I(1)));
	} else {
		sum = up = write_parts_sum(w, loop);
	}
	row = u_add(b, first_row, loop);
	if (g->splitk > 1 && !g->is_joined) {
		const kit_op slice = u_block_y(b);
		const kit_op at = tcb_kit_element(b, w->slices, u_mad(b, slice, w->weight_rows, row), 4);
		tcb_kit_put(b, TCB_KIT_GLOBAL, "f32", at, sum);
		if (g->is_gated)
			tcb_kit_put(b, TCB_KIT_GLOBAL, "f32", tcb_kit_element(b, at, w->rows, 4), up);
	} else {
		sum = qmv_write_result(w, NULL, row, sum, up);
		const kit_op at = result_at(w, row, I(0), row);
		tcb_quant_put_float(b, NULL, g->y_type, at, with_added(w, NULL, row, sum));
	}
	tcb_ptx_for_end(b);
	if (g->splitk > 1 && !g->is_joined)
		write_slices_sum(w, first_row, count);
}
