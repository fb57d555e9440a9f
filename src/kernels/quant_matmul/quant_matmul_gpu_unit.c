/* SPDX-License-Identifier: MIT
 *
 * A warp's products of a unit with mma.sync: its 16 rows, or several times as
 * many, by 256 of k; the weights, expanded to halves a step of 16 along k at a
 * time, stay in registers while all groups of 8 tokens pass.
 */
#include "kernels/quant_matmul/quant_matmul_gpu_unit.h"

/* The fragments of B of 32 of k, half HALF of tile TILE of the unit that is OFFSET bytes behind X_AT. */
static void load_x(struct qmm_writer *w, const kit_op x_at[2], unsigned offset, unsigned tile, unsigned half,
		   unsigned group, kit_op out[4])
{
	tile = tile * w->g->token_groups + group;
	tcb_kit_load_matrices(&w->kit.b, 0, tcb_ptx_at(x_at[half], offset + (int64_t)tile * QMM_TILE_BYTES), out, 4);
}

/* 32 of k, half HALF of chunk CHUNK, of values and activations in terms: products of terms that are not below the last
 * term of their product. */
static void write_half_of_terms(struct qmm_writer *w, const struct qmm_raw raw[], const kit_op x_at[2],
				unsigned x_offset, unsigned groups, unsigned chunk, unsigned half,
				struct qmm_sums *sums)
{
	const struct qmm_gpu *g = w->g;
	kit_op a[QMM_ROW_TILES_MAX][2][QMM_TERMS_MAX][4];
	for (unsigned i = 0; i < g->row_tiles; i++)
		for (unsigned step = 0; step < 2; step++)
			qmm_write_terms(w, &raw[i], chunk, 2 * half + step, a[i][step]);
	for (unsigned x_term = 0; x_term < g->unit.x_terms; x_term++) {
		kit_op x[QMM_TOKENS_MAX / 8][4];
		for (unsigned group = 0; group < groups; group++)
			load_x(w, x_at, x_offset, chunk * g->unit.x_terms + x_term, half, group, x[group]);
		for (unsigned i = 0; i < g->row_tiles; i++)
			for (unsigned step = 0; step < 2; step++)
				for (unsigned term = 0; term < g->unit.terms && term + x_term < QMM_TERMS_MAX; term++)
					for (unsigned group = 0; group < groups; group++) {
						kit_op *of = sums->of[qmm_chain(g, step)][i][group];
						tcb_kit_multiply(&w->kit.b, "bf16", 16, of, of, a[i][step][term],
								 x[group] + step * 2);
					}
	}
}

void qmm_write_unit(struct qmm_writer *w, const struct qmm_lane_at *lane, unsigned at, unsigned tile_rows,
		    struct qmm_raw raw[], const kit_op x_at[2], unsigned x_offset, unsigned groups,
		    struct qmm_sums *sums)
{
	const struct qmm_gpu *g = w->g;
	struct qmm_scales scales[QMM_ROW_TILES_MAX];
	for (unsigned i = 0; i < g->row_tiles; i++) {
		if (!w->is_direct) {
			raw[i] = (struct qmm_raw){ 0 };
			qmm_write_load_header(w, lane, at + i * tile_rows, &raw[i]);
		}
		qmm_write_scales(w, &raw[i], &scales[i]);
	}
	for (unsigned chunk = 0; chunk < QMM_CHUNKS; chunk++) {
		for (unsigned i = 0; i < g->row_tiles && !w->is_direct; i++)
			qmm_write_load_codes(w, lane, at + i * tile_rows, chunk, &raw[i]);
		for (unsigned half = 0; half < 2; half++) {
			kit_op x[QMM_TOKENS_MAX / 8][4];
			if (g->unit.x_terms > 1) {
				write_half_of_terms(w, raw, x_at, x_offset, groups, chunk, half, sums);
				continue;
			}
			for (unsigned group = 0; group < groups; group++)
				load_x(w, x_at, x_offset, chunk, half, group, x[group]);
			for (unsigned i = 0; i < g->row_tiles; i++)
				for (unsigned step = 2 * half; step < 2 * half + 2; step++) {
					kit_op a[4] = { 0 };
					qmm_write_fragment(w, &raw[i], &scales[i], chunk, step, a);
					for (unsigned group = 0; group < groups; group++)
						tcb_kit_multiply_f16(&w->kit.b, sums->of[qmm_chain(g, step)][i][group],
								     a, x[group] + step % 2 * 2);
				}
		}
	}
}
