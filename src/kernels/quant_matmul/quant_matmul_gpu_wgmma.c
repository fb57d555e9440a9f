/* SPDX-License-Identifier: MIT
 *
 * wgmma (sm_90a) for the quantised matmuls' GPU kernels: each four warps expand 64
 * rows (or more) of weights to A in registers, 64 along k at a time, while the
 * tensor cores work on the 64 before; B is a tile of activations in shared memory,
 * as it lies.
 */
#include "kernels/quant_matmul/quant_matmul_gpu_wgmma.h"
#include "kernels/gpu/tile_ring.h"

#include <string.h>

enum { STEP_BYTES = 32 };

void qmm_write_chunks_open(struct qmm_writer *w, struct qmm_chunks *c)
{
	for (unsigned set = 0; set < 2; set++)
		for (unsigned i = 0; i < w->g->row_tiles; i++)
			for (unsigned j = 0; j < QMM_CHUNK_STEPS * 4; j++)
				c->a[set][i][j / 4][j % 4] = tcb_ptx_reg(&w->kit.b, "b32");
}

void qmm_write_expand(struct qmm_writer *w, struct qmm_chunks *c, const struct qmm_lane_at *lane, unsigned at,
		      unsigned tile_bytes, unsigned chunk)
{
	for (unsigned i = 0; i < w->g->row_tiles; i++) {
		if (chunk == 0) {
			c->raw[i] = (struct qmm_raw){ 0 };
			qmm_write_load_header(w, lane, at + i * tile_bytes, &c->raw[i]);
			for (unsigned ahead = 1; w->g->is_ahead && ahead < QMM_CHUNKS; ahead++)
				qmm_write_load_codes(w, lane, at + i * tile_bytes, ahead, &c->raw[i]);
		}
		if (w->g->unit.is_plain)
			memcpy(c->raw[i].code[chunk], c->a[chunk % 2][i], sizeof c->a[chunk % 2][i]);
		if (chunk == 0 || !w->g->is_ahead)
			qmm_write_load_codes(w, lane, at + i * tile_bytes, chunk, &c->raw[i]);
		if (chunk == 0)
			qmm_write_scales(w, &c->raw[i], &c->scales[i]);
		for (unsigned step = 0; step < QMM_CHUNK_STEPS; step++)
			qmm_write_fragment(w, &c->raw[i], &c->scales[i], chunk, step, c->a[chunk % 2][i][step]);
	}
}

/* K-major, swizzled by 128 bytes, 8 tokens 1024 bytes apart. */
static kit_op descriptor_of(struct qmm_writer *w, kit_op address)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const uint64_t constant = UINT64_C(1) << 62 | (uint64_t)(QMM_TILE_BYTES >> 4) << 32 | UINT64_C(1) << 16;
	const kit_op start = u_shr(b, u_and(b, address, I(0x3ffff)), I(4));
	return l_or(b, l_from_u(b, start), I((int64_t)constant));
}

void qmm_write_products(struct qmm_writer *w, struct qmm_chunks *c, unsigned chunk, kit_op tile, struct qmm_sums *sums)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	const kit_op all = u_eq(b, I(0), I(0)), first = descriptor_of(w, tile);
	wgmma_begin(b);
	for (unsigned step = 0; step < QMM_CHUNK_STEPS; step++) {
		const kit_op x = step ? l_add(b, first, I(step * STEP_BYTES >> 4)) : first;
		for (unsigned i = 0; i < g->row_tiles; i++)
			tcb_kit_multiply_group(b, g->unit.x_terms > 1 ? "bf16" : "f16", g->tokens,
					       sums->of[qmm_chain(g, step)][i][0],
					       tcb_ptx_vector(b, c->a[chunk % 2][i][step], 4), x, all, 0);
	}
	wgmma_commit(b);
	wgmma_wait(b, I(1));
}
