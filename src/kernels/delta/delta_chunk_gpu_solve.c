/* SPDX-License-Identifier: MIT
 *
 * Chunks of tokens on a GPU: T = (I + A)^-1 diag(beta) of two heads.  Blocks of 32 tokens on the diagonal are inverted
 * in f32, row after row, a lane a column; with 64 tokens what lies below is -T_22 A_21 T_11, which tensor cores work
 * out with floats as two tf32, of which the product of the small parts is left out.
 */
#include "base/sizes.h"
#include "kernels/delta/delta_chunk_gpu.h"

enum { BLOCK = 32, FOUR = 4, STEP = 8 /* of k of a product in tf32 */ };
#define TF32 ((int64_t)0xffffe000)

/* A float as two tf32, cut off: to round to the nearest takes five instructions of an sm_90. */
struct terms {
	kit_op high, low;
};

static void split(struct tcb_ptx_build *b, kit_op x, struct terms *out)
{
	out->high = u_and(b, x, I(TF32));
	out->low = u_and(b, f_sub(b, x, out->high), I(TF32));
}

/* Rows of a block by its columns, STEP of k from ROW of X on, at the lane's place X. */
static void multiply(struct tcb_ptx_build *b, kit_op sums[BLOCK / CHUNK_EIGHT][4], const struct terms a[4], kit_op x,
		     unsigned pitch, unsigned row)
{
	const kit_op high[4] = { a[0].high, a[1].high, a[2].high, a[3].high };
	const kit_op low[4] = { a[0].low, a[1].low, a[2].low, a[3].low };
	kit_op x_high[BLOCK / CHUNK_EIGHT][2], x_low[BLOCK / CHUNK_EIGHT][2];
	for (unsigned i = 0; i < 2 * BLOCK / CHUNK_EIGHT; i++) {
		struct terms terms;
		const unsigned c = i / 2, r = i % 2;
		split(b,
		      tcb_kit_get(b, TCB_KIT_SHARED, "f32",
				  tcb_ptx_at(x, (int64_t)(row + r) * pitch + 4 * CHUNK_EIGHT * (int64_t)c)),
		      &terms);
		x_high[c][r] = terms.high;
		x_low[c][r] = terms.low;
	}
	for (unsigned i = 0; i < 3 * BLOCK / CHUNK_EIGHT; i++) {
		const unsigned c = i % (BLOCK / CHUNK_EIGHT), which = i / (BLOCK / CHUNK_EIGHT);
		tcb_kit_multiply(b, "tf32", STEP, sums[c], sums[c], which ? high : low,
				 which == 1 ? x_low[c] : x_high[c]);
	}
}

/* Sums as a factor: columns 2 j and 2 j + 1 stand where j and j + 4 should, as rows of the other factor do. */
static void split_sums(struct tcb_ptx_build *b, const kit_op sums[4], struct terms out[4])
{
	for (unsigned i = 0; i < 4; i++)
		split(b, sums[i / 2 + i % 2 * 2], &out[i]);
}

/* Columns COLUMN to COLUMN + 3 of four rows from ROW on. */
static void load_square(struct tcb_ptx_build *b, kit_op base, unsigned pitch, unsigned row, unsigned column,
			kit_op out[FOUR][FOUR])
{
	for (unsigned r = 0; r < FOUR; r++)
		tcb_kit_load(b, TCB_KIT_SHARED, "f32",
			     tcb_ptx_at(base, (int64_t)(row + r) * pitch + 4 * (int64_t)column), out[r], FOUR);
}

/* A block's inverse in its place, four rows at a time: the lane's column, BASE of the block, of SIZE. */
static void invert(struct tcb_ptx_build *b, kit_op base, unsigned pitch, kit_op column, unsigned size)
{
	kit_op x[BLOCK], negative[BLOCK], a[FOUR][FOUR];
	for (unsigned row = 0; row < size; row += FOUR) {
		kit_op sum[FOUR][2];
		for (unsigned r = 0; r < FOUR; r++)
			sum[r][0] = f_select(b, F(1), F(0), u_eq(b, column, I(row + r)));
		for (unsigned j = 0; j < row; j++) {
			if (j % FOUR == 0)
				load_square(b, base, pitch, row, j, a);
			for (unsigned r = 0; r < FOUR; r++)
				sum[r][j % 2] = j == 1 ? f_mul(b, a[r][j % FOUR], negative[j])
						       : f_fma(b, a[r][j % FOUR], negative[j], sum[r][j % 2]);
		}
		load_square(b, base, pitch, row, row, a);
		for (unsigned r = 0; r < FOUR; r++) {
			x[row + r] = row ? f_add(b, sum[r][0], sum[r][1]) : sum[r][0];
			for (unsigned j = 0; j < r; j++)
				x[row + r] = f_fma(b, a[r][j], negative[row + j], x[row + r]);
			negative[row + r] = f_neg(b, x[row + r]);
		}
	}
	tcb_kit_warp_barrier(b); /* all have read the system */
	const kit_op to = tcb_ptx_assume_aligned(b, u_mad(b, column, I(4), base), 4);
	for (unsigned i = 0; i < size; i++)
		tcb_kit_put(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(to, (int64_t)i * pitch), x[i]);
}

/* A tile of T, columns from COLUMN (in numbers) on, times beta. */
static void put(struct chunk_preparer *w, kit_op to, kit_op beta, kit_op tile[2][4])
{
	struct tcb_ptx_build *b = &w->kit.b;
	for (unsigned half = 0; half < 2; half++) {
		kit_op factor[2];
		tcb_kit_load(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(beta, 4 * CHUNK_EIGHT * (int64_t)half), factor, 2);
		for (unsigned i = 0; i < 4; i++)
			tile[half][i] = f_mul(b, tile[half][i], factor[i % 2]);
	}
	chunk_put_tile(b, to, tile);
}

/* The tiles of the block on the diagonal of system SYSTEM that begins at tile FIRST, a register. */
static void put_block(struct chunk_preparer *w, kit_op system, kit_op record, kit_op beta, kit_op first)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned tiles = (unsigned)tcb_least(chunk_tiles(g), BLOCK / CHUNK_TILE), pitch = chunk_system_row(g);
	const kit_op lane = u_mad(b, w->quad, I(pitch), u_mad(b, w->pair, I(8), system));
	const kit_op from = tcb_ptx_assume_aligned(b, u_mad(b, first, I(CHUNK_TILE * (pitch + 4)), lane), 8);
	const kit_op columns = u_mad(b, first, I(4 * CHUNK_TILE), u_mad(b, w->pair, I(8), beta));
	const kit_op factor = tcb_ptx_assume_aligned(b, columns, 8);
	for (unsigned r = 0; r < tiles; r++) {
		const kit_op row = u_add(b, first, I(r)), above = u_shr(b, u_mul(b, row, u_add(b, row, I(1))), I(1));
		const kit_op index = u_add(b, above, first);
		const kit_op in_record = u_mad(b, index, I(CHUNK_TILE_BYTES), u_mul(b, w->kit.lane, I(16)));
		const kit_op to = tcb_ptx_assume_aligned(b, tcb_kit_behind(b, record, in_record), 16);
		for (unsigned c = 0; c <= r; c++) {
			kit_op tile[2][4];
			for (unsigned i = 0; i < 4; i++)
				tcb_kit_load(
					b, TCB_KIT_SHARED, "f32",
					tcb_ptx_at(from, (int64_t)(CHUNK_TILE * r + CHUNK_EIGHT * (i % 2)) * pitch +
								 4 * (int64_t)(CHUNK_TILE * c + CHUNK_EIGHT * (i / 2))),
					&tile[i / 2][2 * (i % 2)], 2);
			put(w, tcb_ptx_at(to, (int64_t)c * CHUNK_TILE_BYTES),
			    tcb_ptx_at(factor, 4 * CHUNK_TILE * (int64_t)c), tile);
		}
	}
}

/* 16 rows of what is below the blocks of 64 tokens, HALF the first or the second ones. */
static void put_below(struct chunk_preparer *w, kit_op system, kit_op record, kit_op beta, kit_op half)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned pitch = chunk_system_row(g), columns = BLOCK / CHUNK_EIGHT;
	const kit_op lane = u_mad(b, w->quad, I(pitch), u_mad(b, w->pair, I(8), system));
	const kit_op a = tcb_ptx_assume_aligned(b, u_mad(b, half, I(CHUNK_TILE * pitch), lane), 8);
	const kit_op x = tcb_ptx_assume_aligned(b, u_mad(b, w->pair, I(2 * pitch), u_mad(b, w->quad, I(4), system)), 4);
	kit_op first[BLOCK / CHUNK_EIGHT][4], sums[BLOCK / CHUNK_EIGHT][4];
	for (unsigned c = 0; c < columns; c++)
		for (unsigned i = 0; i < 4; i++) {
			first[c][i] = f_set(b, F(0));
			sums[c][i] = f_set(b, F(0));
		}
	for (unsigned step = 0; step < BLOCK / STEP; step++) {
		kit_op rows[2][2];
		struct terms factor[4];
		for (unsigned r = 0; r < 2; r++)
			tcb_kit_load(b, TCB_KIT_SHARED, "f32",
				     tcb_ptx_at(a, (int64_t)(BLOCK + CHUNK_EIGHT * r) * pitch +
							   4 * (int64_t)(BLOCK + STEP * step)),
				     rows[r], 2);
		for (unsigned i = 0; i < 4; i++)
			split(b, rows[i % 2][i / 2], &factor[i]);
		multiply(b, first, factor, x, pitch, BLOCK + STEP * step);
	}
	for (unsigned step = 0; step < BLOCK / STEP; step++) {
		struct terms factor[4];
		split_sums(b, first[step], factor);
		multiply(b, sums, factor, x, pitch, STEP * step);
	}
	/* Tile (2, 0) is the fourth of all, (3, 0) the seventh. */
	const kit_op in_record =
		u_mad(b, u_mad(b, half, I(3), I(3)), I(CHUNK_TILE_BYTES), u_mul(b, w->kit.lane, I(16)));
	const kit_op to = tcb_ptx_assume_aligned(b, tcb_kit_behind(b, record, in_record), 16);
	const kit_op factor = tcb_ptx_assume_aligned(b, u_mad(b, w->pair, I(8), beta), 8);
	for (unsigned c = 0; c < BLOCK / CHUNK_TILE; c++) {
		kit_op tile[2][4];
		for (unsigned i = 0; i < 8; i++)
			tile[i / 4][i % 4] = f_neg(b, sums[2 * c + i / 4][i % 4]);
		put(w, tcb_ptx_at(to, (int64_t)c * CHUNK_TILE_BYTES), tcb_ptx_at(factor, 4 * CHUNK_TILE * (int64_t)c),
		    tile);
	}
}

/* System WHICH, or the warp's half of it. */
static void put_system(struct chunk_preparer *w, kit_op which, kit_op record, kit_op numbers)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const kit_op system = u_mad(b, which, I(chunk_system_bytes(g)), w->systems);
	const kit_op beta = u_add(b, numbers, I(4 * CHUNK_BETA * g->chunk));
	const kit_op half = g->chunk > BLOCK ? u_and(b, w->kit.warp, I(1)) : u_set(b, I(0));
	put_block(w, system, record, beta, u_mul(b, half, I(BLOCK / CHUNK_TILE)));
	if (g->chunk > BLOCK)
		put_below(w, system, record, beta, half);
}

void chunk_write_solution(struct chunk_preparer *w, const kit_op record[2], const kit_op number[2], kit_op has_second)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned size = (unsigned)tcb_least(g->chunk, BLOCK), pitch = chunk_system_row(g);
	const kit_op index = u_mad(b, w->kit.warp, I(WARP), w->kit.lane);
	/* Shifts: ptxas makes real divisions of those by powers of two. */
	const kit_op which_system = u_shr(b, index, I(__builtin_ctz(g->chunk)));
	const kit_op block = u_shr(b, u_and(b, index, I(g->chunk - 1)), I(__builtin_ctz(size)));
	const kit_op system = u_mad(b, which_system, I(chunk_system_bytes(g)), w->systems);
	const kit_op base = tcb_ptx_assume_aligned(b, u_mad(b, block, I(size * (pitch + 4)), system), 16);
	invert(b, base, pitch, u_and(b, index, I(size - 1)), size);
	barrier_named(b, I(CHUNK_BARRIER), I(chunk_tiles(g) * WARP));
	/* A system of 16 tokens is half a warp's columns; a larger one is one of each warp, or half of one. */
	if (g->chunk < BLOCK) {
		put_system(w, I(0), record[0], number[0]);
		tcb_ptx_if_begin(b, has_second);
		put_system(w, I(1), record[1], number[1]);
		tcb_ptx_if_end(b);
		return;
	}
	const kit_op which = u_shr(b, w->kit.warp, I(__builtin_ctz(g->chunk / BLOCK))), is_first = u_eq(b, which, I(0));
	tcb_ptx_if_begin(b, p_or(b, is_first, has_second));
	put_system(w, which, l_select(b, record[0], record[1], is_first), u_select(b, number[0], number[1], is_first));
	tcb_ptx_if_end(b);
}
