/* SPDX-License-Identifier: MIT
 *
 * The products of experts on GPUs: sums of an item, in the order of the matrix
 * instructions' D, to the rows of its tokens; gate and up are joined on the way.
 *
 * Warps that share rows put their sums side by side in shared memory, and all
 * warps add them in the order of the warps.
 */
#include "kernels/gpu/barrier.h"
#include "kernels/gpu/quant_gpu.h"
#include "kernels/quant_experts/quant_experts_gpu_writer.h"

enum { WORD = 4, ROWS = 8 /* of a quarter of D */ };

kit_op qex_row_tile(struct qex_writer *x, unsigned i)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	return x->g->tile.is_wgmma ? u_add(b, u_and(b, x->w.kit.warp, I(3)), I(4 * i)) : I(i);
}

/* An item of which results are stored. */
struct item {
	kit_op tokens, first_row; /* of y's columns */
	kit_op expert;
	kit_op products; /* where their numbers are */
	kit_op is_none;  /* no expert's: zeros */
};

static void open_item(struct qex_writer *x, kit_op entry, struct item *out)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qex_gpu *g = x->g;
	kit_op word[4];
	tcb_kit_load(b, TCB_KIT_SHARED, "u32", tcb_ptx_assume_aligned(b, entry, QEX_ITEM_BYTES), word, 4);
	out->expert = word[0];
	out->is_none = u_ge(b, word[0], I(g->experts));
	out->tokens = word[1];
	out->first_row = u_mul(b, word[2], I(g->tile.side * g->tile.rows));
	out->products = u_add(b, entry, I(QEX_ITEM_BYTES));
}

/* The biases of row ROW of the item's expert, of each matrix; 0 where there is no such row, or no expert. */
static void load_biases(struct qex_writer *x, const struct item *item, kit_op row, kit_op out[2])
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qex_gpu *g = x->g;
	const kit_op has = u_lt_and(b, row, x->w.rows, u_lt(b, item->expert, I(g->experts)));
	const kit_op at = l_add(b, l_mul_wide(b, item->expert, x->w.rows), l_from_u(b, row));
	for (unsigned m = 0; m < g->matrices; m++) {
		out[m] = f_set(b, F(0));
		tcb_kit_load_where(b, has, tcb_kit_input(g->tile.pdl), "f32", l_mad(b, at, I(WORD), x->bias[m]),
				   &out[m], 1);
	}
}

/* SUM of GATE or the only matrix, and of UP: with BIAS (NULL: none), to column ROW of the row of the chunk's token
 * TOKEN. */
static void store(struct qex_writer *x, const struct item *item, kit_op token, kit_op row, const kit_op *bias,
		  kit_op sum, kit_op up)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qex_gpu *g = x->g;
	const struct tcb_quant_gate how = tcb_quant_gate_of(&x->w.kit.out->problem.shape.words);
	kit_op product = u_set(b, I(0)), value = sum;
	const kit_op has = u_lt_and(b, row, x->w.rows, u_lt(b, token, item->tokens));
	if (bias)
		value = f_add(b, value, bias[0]);
	if (bias && g->matrices > 1)
		up = f_add(b, up, bias[1]);
	if (g->matrices > 1)
		value = tcb_quant_write_gate(b, &how, value, up);
	value = f_select(b, F(0), value, item->is_none);
	tcb_kit_load_where(b, has, TCB_KIT_SHARED, "u32", u_mad(b, token, I(WORD), item->products), &product, 1);
	const kit_op y_row = l_mul_wide(b, product, x->w.rows);
	const kit_op at = l_mad(b, l_add(b, y_row, l_from_u(b, row)), I(WORD), x->w.y);
	tcb_kit_put_where(b, has, TCB_KIT_GLOBAL, "f32", at, value);
}

/* Rows of a group that a matrix has. */
static unsigned tiles_of(const struct qex_gpu *g)
{
	return g->tile.row_tiles / g->matrices;
}

/* From a tile of 16 rows of a warp to its next; in four warps' turn. */
static unsigned tile_rows(const struct qex_gpu *g)
{
	return (g->tile.is_wgmma ? 4 : 1) * QMM_UNIT_ROWS;
}

/* The lane's first row of its block's. */
static kit_op first_row(struct qex_writer *x)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const kit_op row = u_mad(b, x->w.side, I(x->g->tile.rows), x->w.quad);
	return u_mad(b, qex_row_tile(x, 0), I(QMM_UNIT_ROWS), row);
}

/* Row HALF (8 rows on) of tile I of those that begin at FIRST. */
static kit_op row_at(struct qex_writer *x, kit_op first, unsigned i, unsigned half)
{
	return u_add(&x->w.kit.b, first, I(i * tile_rows(x->g) + half * ROWS));
}

static void store_own(struct qex_writer *x, const struct item *item, struct qmm_sums *sums)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qmm_gpu *t = &x->g->tile;
	const unsigned tiles = tiles_of(x->g), up = x->g->matrices > 1 ? tiles : 0;
	const kit_op first = u_add(b, first_row(x), item->first_row);
	kit_op bias[QMM_ROW_TILES_MAX][2][2];
	for (unsigned i = 0; x->g->has_bias && i < tiles; i++)
		for (unsigned half = 0; half < 2; half++)
			load_biases(x, item, row_at(x, first, i, half), bias[i][half]);
	for (unsigned group = 0; group < t->token_groups; group++) {
		tcb_ptx_if_begin(b, u_gt(b, item->tokens, I(group * QMM_GROUP_TOKENS)));
		for (unsigned odd = 0; odd < 2; odd++) {
			const kit_op token = u_mad(b, x->w.pair, I(2), I(group * QMM_GROUP_TOKENS + odd));
			for (unsigned i = 0; i < tiles; i++)
				for (unsigned half = 0; half < 2; half++)
					store(x, item, token, row_at(x, first, i, half),
					      x->g->has_bias ? bias[i][half] : NULL,
					      sums->of[0][i][group][2 * half + odd],
					      sums->of[0][i + up][group][2 * half + odd]);
		}
		tcb_ptx_if_end(b);
	}
}

/* Rows of a block that parts have: of each matrix its own. */
static unsigned rows_of(const struct qex_gpu *g)
{
	return g->tile.side * g->tile.rows;
}

/* The lane's first token of row ROW of part PART. */
static kit_op part_at(struct qex_writer *x, kit_op part, kit_op row, kit_op token)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const kit_op of_part = u_mad(b, u_mad(b, row, I(x->g->part_pitch), token), I(WORD), x->w.kit.shared);
	return tcb_ptx_assume_aligned(b, u_mad(b, part, I(x->g->part_bytes), of_part), 2 * WORD);
}

static void store_parts(struct qex_writer *x, struct qmm_sums *sums)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qex_gpu *g = x->g;
	const unsigned tiles = tiles_of(g);
	const kit_op to = part_at(x, x->w.ks, first_row(x), u_shl(b, x->w.pair, I(1)));
	for (unsigned i = 0; i < g->tile.row_tiles; i++)
		for (unsigned group = 0; group < g->tile.token_groups; group++)
			for (unsigned half = 0; half < 2; half++) {
				const unsigned on = i / tiles * rows_of(g) + i % tiles * tile_rows(g) + half * ROWS;
				const unsigned at = g->part_at + (on * g->part_pitch + group * QMM_GROUP_TOKENS) * WORD;
				tcb_kit_store(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(to, at),
					      &sums->of[0][i][group][2 * half], 2);
			}
}

static void add_parts(struct qex_writer *x, const struct item *item)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qex_gpu *g = x->g;
	const kit_op groups = u_div_up(b, item->tokens, QMM_GROUP_TOKENS);
	const kit_op all = u_mul(b, groups, I(rows_of(g) / ROWS));
	const kit_op loop = tcb_ptx_for_begin(b, x->w.kit.warp, all, I(g->tile.warps), 0);
	const struct kit_split at = u_split(b, loop, I(rows_of(g) / ROWS));
	const kit_op row = u_mad(b, at.rest, I(ROWS), x->w.quad);
	const kit_op token = u_mad(b, at.whole, I(QMM_GROUP_TOKENS), u_shl(b, x->w.pair, I(1)));
	const kit_op from = part_at(x, I(0), row, token);
	kit_op sum[2][2];
	for (unsigned m = 0; m < g->matrices; m++)
		for (unsigned part = 0; part < g->tile.ksplit; part++) {
			const unsigned at_part =
				g->part_at + part * g->part_bytes + m * rows_of(g) * g->part_pitch * WORD;
			kit_op two[2];
			tcb_kit_load(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(from, at_part), two, 2);
			for (unsigned i = 0; i < 2; i++)
				sum[m][i] = part ? f_add(b, sum[m][i], two[i]) : two[i];
		}
	kit_op bias[2];
	if (g->has_bias)
		load_biases(x, item, u_add(b, item->first_row, row), bias);
	for (unsigned i = 0; i < 2; i++)
		store(x, item, i ? u_add(b, token, I(1)) : token, u_add(b, item->first_row, row),
		      g->has_bias ? bias : NULL, sum[0][i], sum[g->matrices - 1][i]);
	tcb_ptx_for_end(b);
}

void qex_write_results(struct qex_writer *x, kit_op entry, struct qmm_sums *sums)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qmm_gpu *t = &x->g->tile;
	struct item item;
	for (unsigned chain = 1; chain < t->chains; chain++)
		for (unsigned i = 0; i < t->row_tiles; i++)
			for (unsigned group = 0; group < t->token_groups; group++)
				for (unsigned j = 0; j < 4; j++)
					f_add_to(b, sums->of[0][i][group][j], sums->of[0][i][group][j],
						 sums->of[chain][i][group][j]);
	open_item(x, entry, &item);
	if (t->ksplit == 1) {
		store_own(x, &item, sums);
		return;
	}
	store_parts(x, sums);
	tcb_kit_block_barrier(b);
	add_parts(x, &item);
}
