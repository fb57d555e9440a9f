/* SPDX-License-Identifier: MIT
 *
 * Results of the quantised matmuls' GPU kernels: accumulators in the order of the
 * matrix instructions' D come in, y goes out.
 *
 * Where warps or blocks share rows, their sums lie in shared memory as parts
 * [row][token] until all are there, and are added in a fixed order: those of the
 * block's warps; with join=last, through the workspace, those of all blocks by the
 * last one that is done; with join=cluster those of the cluster's blocks.  In a
 * cluster each block adds a share of the rows, and the others store their sums of
 * these straight into its memory (st.async), where a barrier counts the bytes: no
 * block waits for more than the sums that it adds.
 *
 * A row's pitch is 8 or 24 words modulo 32: lanes of 8 rows by 4 pairs of tokens
 * then meet no bank conflict, neither storing nor reading.
 */
#include "kernels/quant_matmul/quant_matmul_gpu_join.h"

#include "kernels/gpu/quant_gpu.h"

enum { ROWS = 8 /* that a warp adds at a time, of 8 tokens */ };

/* Row of y that lane's first row of tile ROW_TILE of GROUP is. */
static kit_op row_of(struct qmm_writer *w, kit_op group, unsigned row_tile)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	kit_op row = u_mad(b, group, I(g->rows), w->quad);
	if (g->is_wgmma) /* four warps, 16 rows each */
		row = u_mad(b, u_and(b, w->kit.warp, I(3)), I(QMM_UNIT_ROWS), row);
	return u_add(b, row, I(row_tile * (g->is_wgmma ? 4 : 1) * QMM_UNIT_ROWS));
}

/* SUM, and where HAS what lies AT among what is to be added. */
static kit_op with_added(struct qmm_writer *w, kit_op has, kit_op at, kit_op sum)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op added = f_set(b, F(0));
	tcb_kit_load_where(b, has, tcb_kit_input(w->g->pdl), "f32", at, &added, 1);
	return f_add(b, sum, added);
}

/* Are results where sums would be? */
static int is_plain(const struct qmm_gpu *g)
{
	return g->y_type == TCB_TYPE_F32 && g->y_stride == g->n;
}

/* Bytes from one token's results to the next one's. */
static kit_op y_pitch(struct qmm_writer *w)
{
	const struct qmm_gpu *g = w->g;
	return l_mul_wide(&w->kit.b, g->y_stride == g->n ? w->rows : I(g->y_stride), I(g->y_bytes));
}

/* The bias of row ROW, where HAS there is one. */
static kit_op bias_where(struct qmm_writer *w, kit_op has, kit_op row)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op bias = f_set(b, F(0));
	tcb_kit_load_where(b, has, tcb_kit_input(w->g->pdl), "f32", tcb_kit_element(b, w->bias, row, 4), &bias, 1);
	return bias;
}

static void store_direct(struct qmm_writer *w, kit_op group, unsigned row_tile, kit_op sums[][4])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const int has_added = w->g->has_added;
	const kit_op row = row_of(w, group, row_tile), other = u_add(b, row, I(8));
	const kit_op has[2] = { u_lt(b, row, w->rows), u_lt(b, other, w->rows) };
	const kit_op token = u_mad(b, w->pair, I(2), w->first_token);
	const unsigned each = w->g->y_bytes;
	const kit_op y_row = tcb_kit_element(b, w->y, row, each);
	const kit_op pitch = y_pitch(w), of_added = has_added && !is_plain(w->g) ? l_mul_wide(b, w->rows, I(4)) : pitch;
	kit_op at = l_mad(b, l_from_u(b, token), pitch, y_row), added = at, bias[2];
	for (unsigned half = 0; half < 2 && w->g->has_bias; half++)
		bias[half] = bias_where(w, has[half], half ? other : row);
	if (has_added)
		added = l_mad(b, l_from_u(b, token), of_added, tcb_kit_element(b, w->added, row, 4));
	for (unsigned group8 = 0; group8 < w->g->token_groups; group8++) {
		for (unsigned odd = 0; odd < 2; odd++) {
			const kit_op this = u_add(b, token, I(8 * group8 + odd));
			for (unsigned half = 0; half < 2; half++) {
				const kit_op is_there = u_lt_and(b, this, w->tokens, has[half]);
				kit_op sum = sums[group8][2 * half + odd];
				if (w->g->has_bias)
					sum = f_add(b, sum, bias[half]);
				if (has_added)
					sum = with_added(w, is_there, tcb_ptx_at(added, 32 * half), sum);
				tcb_quant_put_float(b, &is_there, w->g->y_type, tcb_ptx_at(at, 8 * each * half), sum);
			}
			at = l_add(b, at, pitch);
			if (has_added)
				added = l_add(b, added, of_added);
		}
		at = l_mad(b, pitch, I(6), at);
		if (has_added)
			added = l_mad(b, of_added, I(6), added);
	}
}

/* --- parts --- */

kit_op qmm_write_cast_rank(struct qmm_writer *w)
{
	return u_rem(&w->kit.b, u_block_x(&w->kit.b), I(w->g->cast));
}

/* Parts that a block adds. */
static unsigned part_count(const struct qmm_gpu *g)
{
	return g->ksplit * (g->join == TCB_JOIN_CLUSTER ? g->splitk : 1);
}

/* Rows that the block's warps have sums of, whole groups. */
static kit_op block_rows(struct qmm_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	if (g->is_streamed) /* of rows that there are not, too */
		return I(g->block_rows);
	return u_mul(b, u_sub(b, u_max(b, w->end, w->first), w->first), I(g->rows));
}

/* The first of the block's rows that this block adds, and how many. */
static void own_rows(struct qmm_writer *w, kit_op *first, kit_op *count)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op all = block_rows(w);
	*first = I(0);
	*count = all;
	if (w->g->join != TCB_JOIN_CLUSTER)
		return;
	*first = u_mul(b, u_block_y(b), I(w->g->own_rows));
	*count = u_sub(b, all, u_min(b, *first, all));
	*count = u_min(b, *count, I(w->g->own_rows));
}

void qmm_write_join_open(struct qmm_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	kit_op first, count;
	if (g->join != TCB_JOIN_CLUSTER)
		return;
	w->join_barrier = u_add(b, w->kit.shared, I(g->flag_at));
	own_rows(w, &first, &count);
	count = u_mul(b, count, I(g->tokens * 4 * part_count(g)));
	tcb_ptx_guard(b, u_eq(b, w->kit.tid, I(0)));
	tcb_kit_barriers_init(b, w->join_barrier, 1, 1);
	fence_barriers(b);
	tcb_kit_expect(b, tcb_ptx_at(w->join_barrier, 0), count);
	tcb_ptx_unguard(b);
	cluster_arrive(b);
}

void qmm_write_join_meet(struct qmm_writer *w)
{
	if (w->g->join == TCB_JOIN_CLUSTER)
		cluster_wait(&w->kit.b);
}

/* Sums of two tokens of each group, of a row in each quad's lanes, to where the row is added. */
static void store_part(struct qmm_writer *w, kit_op row, unsigned half, kit_op sums[][4])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	kit_op at = u_add(b, w->kit.shared, I(g->part_at)), part = w->ks, barrier = I(0);
	if (g->join == TCB_JOIN_CLUSTER) {
		const kit_op owner = u_div(b, row, I(g->own_rows));
		kit_op rank = owner;
		if (g->cast > 1) /* the cluster's blocks of other rows come first */
			rank = u_mad(b, owner, I(g->cast), qmm_write_cast_rank(w));
		row = u_rem(b, row, I(g->own_rows));
		part = u_mad(b, u_block_y(b), I(g->ksplit), part);
		at = u_in_rank(b, at, rank);
		barrier = u_in_rank(b, w->join_barrier, rank);
	}
	at = u_mad(b, part, I(g->part_bytes), at);
	at = u_mad(b, row, I(4 * g->part_pitch), at);
	at = tcb_ptx_assume_aligned(b, u_mad(b, w->pair, I(8), at), 8);
	for (unsigned group8 = 0; group8 < g->token_groups; group8++) {
		const kit_op *pair = &sums[group8][2 * half], to = tcb_ptx_at(at, 4 * QMM_GROUP_TOKENS * group8);
		if (g->join == TCB_JOIN_CLUSTER)
			f_store_counted(b, to, tcb_ptx_vector(b, pair, 2), tcb_ptx_at(barrier, 0));
		else
			tcb_kit_store(b, TCB_KIT_SHARED, "f32", to, pair, 2);
	}
}

/* Sum number I of a warp's, in the order of their registers. */
static kit_op *sum_at(const struct qmm_gpu *g, struct qmm_sums *sums, unsigned i)
{
	const unsigned of_tile = g->token_groups * 4, of_chain = g->row_tiles * of_tile;
	return &sums->of[i / of_chain][i % of_chain / of_tile][i % of_tile / 4][i % 4];
}

static unsigned sums_of_chain(const struct qmm_gpu *g)
{
	return g->row_tiles * g->token_groups * 4;
}

static void write_zeros(struct qmm_writer *w, struct qmm_sums *sums, unsigned first, unsigned end)
{
	for (unsigned i = first; i < end; i++)
		*sum_at(w->g, sums, i) = f_set(&w->kit.b, F(0));
}

void qmm_write_zero(struct qmm_writer *w, struct qmm_sums *sums)
{
	write_zeros(w, sums, 0, w->g->chains * sums_of_chain(w->g));
}

void qmm_write_halves_begin(struct qmm_writer *w, struct qmm_sums *sums, kit_op *half)
{
	*half = I(0);
	if (!w->g->is_halved)
		return;
	*half = tcb_ptx_for_begin(&w->kit.b, I(0), I(2), I(1), 1);
	tcb_kit_nounroll(&w->kit.b);
	write_zeros(w, sums, 0, sums_of_chain(w->g));
}

void qmm_write_halves_end(struct qmm_writer *w, struct qmm_sums *sums, kit_op half)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned count = sums_of_chain(w->g);
	if (!w->g->is_halved)
		return;
	tcb_ptx_if_begin(b, u_eq(b, half, I(0)));
	for (unsigned i = 0; i < count; i++)
		f_set_to(b, *sum_at(w->g, sums, count + i), *sum_at(w->g, sums, i));
	tcb_ptx_if_end(b);
	tcb_ptx_for_end(b);
}

void qmm_write_half_over(struct qmm_writer *w, struct qmm_sums *sums)
{
	const unsigned count = sums_of_chain(w->g);
	for (unsigned i = 0; i < count; i++)
		*sum_at(w->g, sums, count + i) = *sum_at(w->g, sums, i);
	write_zeros(w, sums, 0, count);
}

void qmm_write_results(struct qmm_writer *w, kit_op group, struct qmm_sums *sums)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned of_chain = sums_of_chain(w->g);
	for (unsigned i = of_chain; i < w->g->chains * of_chain; i++) {
		kit_op *sum = sum_at(w->g, sums, i % of_chain);
		f_add_to(b, *sum, *sum, *sum_at(w->g, sums, i));
	}
	for (unsigned i = 0; i < w->g->row_tiles; i++) {
		kit_op row;
		if (!w->g->has_parts) {
			store_direct(w, group, i, sums->of[0][i]);
			continue;
		}
		row = row_of(w, u_sub(b, group, w->first), i);
		store_part(w, row, 0, sums->of[0][i]);
		store_part(w, u_add(b, row, I(ROWS)), 1, sums->of[0][i]);
	}
}

/* --- adding --- */

/* A warp's 8 rows by 8 tokens, a row and two tokens per lane. */
struct spread {
	kit_op part;       /* where the lane's sums of the first part are */
	kit_op row, token; /* of all; the next token is there if HAS_NEXT */
	kit_op has_next;
};

static void spread_begin(struct qmm_writer *w, struct spread *s)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	kit_op first, count, row, token;
	own_rows(w, &first, &count);
	count = u_mul(b, u_shr(b, count, I(3)), I(g->token_groups));
	const kit_op loop = tcb_ptx_for_begin(b, w->kit.warp, count, I(g->threads / WARP), 0);
	row = u_mad(b, u_div(b, loop, I(g->token_groups)), I(ROWS), w->quad);
	token = u_mul(b, u_rem(b, loop, I(g->token_groups)), I(QMM_GROUP_TOKENS));
	token = u_mad(b, w->pair, I(2), token);
	s->part = u_mad(b, row, I(g->part_pitch), token);
	s->part = u_mad(b, s->part, I(4), w->kit.shared);
	s->part = tcb_ptx_assume_aligned(b, s->part, 8);
	s->row = u_mad(b, w->first, I(g->rows), u_add(b, first, row));
	s->token = u_add(b, w->first_token, token);
	s->has_next = u_lt(b, u_add(b, s->token, I(1)), w->tokens);
	const kit_op has = u_lt(b, s->row, w->rows);
	tcb_ptx_if_begin(b, u_lt_and(b, s->token, w->tokens, has));
}

static void spread_end(struct qmm_writer *w)
{
	tcb_ptx_if_end(&w->kit.b);
	tcb_ptx_for_end(&w->kit.b);
}

static void add_pair(struct qmm_writer *w, kit_op sum[2], const kit_op part[2])
{
	for (unsigned i = 0; i < 2; i++)
		sum[i] = sum[i].kind ? f_add(&w->kit.b, sum[i], part[i]) : part[i];
}

static void add_parts(struct qmm_writer *w, const struct spread *s, kit_op sum[2])
{
	const struct qmm_gpu *g = w->g;
	for (unsigned i = 0; i < part_count(g); i++) {
		kit_op part[2];
		tcb_kit_load(&w->kit.b, TCB_KIT_SHARED, "f32", tcb_ptx_at(s->part, g->part_at + i * g->part_bytes),
			     part, 2);
		add_pair(w, sum, part);
	}
}

/* The lane's places in BASE, y or what is as large, or with SLICE in the workspace's sums: [slice][token][row]. */
static void places_in(struct qmm_writer *w, const struct spread *s, kit_op base, const kit_op *slice, kit_op at[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op token = slice ? u_mad(b, *slice, w->tokens, s->token) : s->token;
	const kit_op first = l_mul_wide(b, token, w->rows), row = l_from_u(b, s->row);
	at[0] = l_mad(b, l_add(b, first, row), I(4), slice ? w->slices : base);
	at[1] = l_add(b, at[0], l_mul_wide(b, w->rows, I(4)));
}

static void places_of(struct qmm_writer *w, const struct spread *s, const kit_op *slice, kit_op at[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	if (slice || is_plain(w->g)) {
		places_in(w, s, w->y, slice, at);
		return;
	}
	const kit_op pitch = y_pitch(w);
	at[0] = l_mad(b, l_from_u(b, s->token), pitch, tcb_kit_element(b, w->y, s->row, w->g->y_bytes));
	at[1] = l_add(b, at[0], pitch);
}

/* SUM, of TYPE in memory. */
static void store_pair(struct qmm_writer *w, const struct spread *s, enum tcb_type type, const kit_op at[2],
		       const kit_op sum[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	tcb_quant_put_float(b, NULL, type, at[0], sum[0]);
	tcb_quant_put_float(b, &s->has_next, type, at[1], sum[1]);
}

/* SUM is all of the pair's sums: with what is to be added. */
static void add_more(struct qmm_writer *w, const struct spread *s, kit_op sum[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op at[2];
	if (w->g->has_bias) {
		const kit_op bias =
			tcb_kit_get(b, tcb_kit_input(w->g->pdl), "f32", tcb_kit_element(b, w->bias, s->row, 4));
		for (unsigned i = 0; i < 2; i++)
			sum[i] = f_add(b, sum[i], bias);
	}
	if (!w->g->has_added)
		return;
	places_in(w, s, w->added, NULL, at);
	sum[0] = f_add(b, sum[0], tcb_kit_get(b, tcb_kit_input(w->g->pdl), "f32", at[0]));
	sum[1] = with_added(w, s->has_next, at[1], sum[1]);
}

/* The parts in the block's memory, to y or to the workspace. */
static void join_parts(struct qmm_writer *w, const kit_op *slice)
{
	struct spread s;
	kit_op sum[2] = { { 0 } }, at[2];
	if (w->g->join == TCB_JOIN_CLUSTER)
		tcb_kit_wait(&w->kit.b, tcb_ptx_at(w->join_barrier, 0), I(0));
	else
		tcb_kit_block_barrier(&w->kit.b);
	spread_begin(w, &s);
	add_parts(w, &s, sum);
	if (!slice)
		add_more(w, &s, sum);
	places_of(w, &s, slice, at);
	store_pair(w, &s, slice ? TCB_TYPE_F32 : w->g->y_type, at, sum);
	spread_end(w);
}

/* The atomic increment leaves the counter at 0. */
static void join_last(struct qmm_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	kit_op slice = u_block_y(b), zero = I(0);
	kit_op at[2], part[2], sum[2] = { { 0 } };
	struct spread s;
	join_parts(w, &slice);
	tcb_kit_block_barrier(b);
	tcb_kit_last_begin(&w->kit);
	tcb_kit_last_of(&w->kit, tcb_ptx_at(w->counters, 0), I(g->splitk - 1), g->flag_at);
	spread_begin(w, &s);
	places_of(w, &s, &zero, at);
	at[1] = lb_select(b, at[1], at[0], s.has_next);
	const kit_op pitch = l_mul_wide(b, u_mul(b, w->tokens, w->rows), I(4));
	for (unsigned k = 0; k < g->splitk; k++) {
		for (unsigned i = 0; i < 2; i++) {
			part[i] = tcb_kit_get(b, TCB_KIT_OTHERS, "f32", at[i]);
			at[i] = l_add(b, at[i], pitch);
		}
		add_pair(w, sum, part);
	}
	add_more(w, &s, sum);
	places_of(w, &s, NULL, at);
	store_pair(w, &s, w->g->y_type, at, sum);
	spread_end(w);
	tcb_ptx_if_end(b);
}

void qmm_write_join(struct qmm_writer *w)
{
	if (w->g->is_dealt)
		return;
	if (w->g->join == TCB_JOIN_LAST)
		join_last(w);
	else if (w->g->has_parts)
		join_parts(w, NULL);
	if (w->g->cast > 1)
		tcb_kit_cluster_barrier(&w->kit.b); /* others still say here which slots they are done with */
}
