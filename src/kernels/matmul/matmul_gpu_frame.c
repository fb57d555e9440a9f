/* SPDX-License-Identifier: MIT
 *
 * What the kernels of the dense products share: launch and parameters, threads,
 * and which tile of C a number is: down a group of rows of tiles, then one step to
 * the right, so that blocks that run together find B in the L2.
 */
#include "kernels/matmul/matmul_gpu_frame.h"

void mm_write_begin(struct mm_writer *w, const char *name)
{
	const struct matmul_gpu *g = w->g;
	tcb_kit_begin(&w->kit, name,
		      &(struct tcb_kit_kernel){ .threads = g->threads,
						.blocks_together = g->occ,
						.grid = { g->grid, g->splitk },
						.cluster = { g->cluster > 1 ? g->cluster : 0 },
						.shared_bytes = g->shared_bytes,
						.is_dependent = g->pdl });
}

void mm_write_parameters(struct mm_writer *w)
{
	const struct matmul_gpu *g = w->g;
	w->steps = tcb_kit_number(&w->kit, "steps", g->slice_steps);
	w->tiles_m = tcb_kit_number(&w->kit, "tiles_m", g->tiles_m);
	w->tiles_n = tcb_kit_number(&w->kit, "tiles_n", g->tiles_n);
	w->group = tcb_kit_number(&w->kit, "group", g->group);
	if (g->splitk > 1) {
		w->slices = tcb_kit_workspace(&w->kit, "slices", 16, 0);
		w->counters = tcb_kit_workspace(&w->kit, "counters", 4, g->counters_at);
	}
	tcb_kit_memory(&w->kit, MM_MEMORY_ALIGN);
	if (g->isa != TCB_ISA_MMA) /* which releases the next launch late (matmul_gpu_tile.c) */
		tcb_kit_dependents(&w->kit, 0);
	tcb_kit_threads(&w->kit);
	tcb_kit_uniform_warp(&w->kit);
}

void mm_write_tile(struct mm_writer *w, kit_op tile)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct kit_split group = u_split(b, tile, u_mul(b, w->group, w->tiles_n));
	const kit_op first = u_mul(b, group.whole, w->group);
	const kit_op rows = u_min(b, w->group, u_sub(b, w->tiles_m, first));
	const struct kit_split column = u_split(b, group.rest, rows);
	w->row = u_mul(b, u_add(b, first, column.rest), I((int64_t)w->g->bm * w->g->cluster));
	w->column = u_mul(b, column.whole, I(w->g->bn));
}

void mm_write_warp_origin(struct mm_writer *w, kit_op *m_out, kit_op *n_out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	*m_out = u_mul(b, u_div(b, w->kit.warp, I(g->warps_n)), I(g->wm));
	*n_out = u_mul(b, u_rem(b, w->kit.warp, I(g->warps_n)), I(g->wn));
}
