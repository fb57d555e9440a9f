/* SPDX-License-Identifier: MIT
 *
 * The quantised matmuls on a GPU: a geometry comes in, a module of PTX and its
 * launches go out.  Here is what all kernels begin with; the
 * kernels themselves are in quant_matmul_gpu_mma.c and _stream.c.
 *
 * With dependent launch (pdl) the weights, which no kernel before this one writes,
 * are asked for before griddepcontrol.wait and the activations after it.
 */
#include "kernels/quant.h"
#include "kernels/quant_matmul/quant_matmul_gpu.h"
#include "kernels/quant_matmul/quant_matmul_gpu_join.h"
#include "kernels/quant_matmul/quant_matmul_gpu_s8.h"
#include "kernels/quant_matmul/quant_matmul_gpu_x.h"

void qmm_write_threads(struct qmm_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	tcb_kit_threads(&w->kit);
	tcb_kit_uniform_warp(&w->kit);
	w->quad = u_shr(b, w->kit.lane, I(2));
	w->pair = u_and(b, w->kit.lane, I(3));
	w->side = g->is_wgmma ? u_shr(b, w->kit.warp, I(2)) : w->kit.warp; /* four warps are one */
	w->ks = I(0);
	if (g->ksplit > 1) {
		w->ks = u_rem(b, w->side, I(g->ksplit));
		w->side = u_div(b, w->side, I(g->ksplit));
	}
}

/* The block's groups: FIRST to END - 1. */
static void write_groups(struct qmm_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	const kit_op block = u_block_x(b);
	w->first = u_mad(b, block, w->least, u_min(b, block, w->longer));
	w->end = u_add(b, w->first, w->least);
	w->end = u_add(b, w->end, u_select(b, I(1), I(0), u_lt(b, block, w->longer)));
	if (!g->resident &&
	    !g->is_rolling) { /* warps with no rows of their own copy, too, and do the last ones again */
		const kit_op groups = u_div_up(b, w->rows, g->rows);
		w->end = u_min(b, w->end, groups);
	}
}

static void write_parameters(struct qmm_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	kit_op slice = I(0), tile;
	w->weights = tcb_kit_operand(&w->kit, "weights", 16, TCB_QUANT_WEIGHTS);
	const int has_image = g->own_launch || g->by_grid;
	w->x = has_image ? tcb_kit_workspace(&w->kit, "x", 16, 0) : tcb_kit_operand(&w->kit, "x", 16, TCB_QUANT_X);
	w->y = tcb_kit_operand(&w->kit, "y", 4, TCB_QUANT_Y);
	if (g->has_added)
		w->added = tcb_kit_operand(&w->kit, "added", 4, TCB_QUANT_ADDED);
	if (g->has_bias)
		w->bias = tcb_kit_operand(&w->kit, "bias", 4, tcb_quant_bias_at(&w->kit.out->problem));
	if (g->join == TCB_JOIN_LAST)
		w->slices = tcb_kit_workspace(&w->kit, "slices", g->is_dealt ? 16 : 4, g->slices_at);
	if (g->is_dealt)
		w->counters = tcb_kit_workspace(&w->kit, "counters", 4, g->counters_at);
	if (g->by_grid) {
		w->image = w->x;
		w->floats = tcb_kit_operand(&w->kit, "floats", 16, TCB_QUANT_X);
		w->claims = tcb_kit_workspace(&w->kit, "claims", 4, g->claims_at);
	}
	w->rows = tcb_kit_number(&w->kit, "rows", g->n);
	w->tokens = tcb_kit_number(&w->kit, "tokens", g->m);
	w->least = tcb_kit_number(&w->kit, "least", g->least);
	w->longer = tcb_kit_number(&w->kit, "longer", g->longer);
	tile = u_block_z(b);
	if (g->is_dealt) {
		w->padded = u_mul(b, u_div_up(b, w->tokens, g->tokens), I(g->tokens));
	} else {
		w->first_token = u_mul(b, tile, I(g->tokens));
		w->padded = u_mul(b, u_blocks_z(b), I(g->tokens));
	}
	if (g->splitk > 1) {
		const kit_op groups = u_shr(b, w->padded, I(3));
		slice = u_block_y(b);
		w->weights = tcb_kit_element(b, w->weights, slice, g->slice * g->unit.bytes);
		if (has_image)
			w->x = tcb_kit_element(b, w->x, u_mul(b, slice, groups),
					       g->slice * g->unit_tiles * g->x_group_bytes);
		else
			w->x = tcb_kit_element(b, w->x, slice, g->slice * QMM_UNIT_VALUES * g->x_bytes);
	}
	if (g->join == TCB_JOIN_LAST && !g->is_dealt) { /* the counters lie behind the slices */
		const kit_op all = u_mul(b, u_mul(b, w->tokens, w->rows), I(g->splitk));
		const kit_op block = u_mad(b, tile, u_blocks_x(b), u_block_x(b));
		w->counters = tcb_kit_element(b, tcb_kit_element(b, w->slices, all, 4), block, 4);
	}
	if (!g->is_dealt)
		write_groups(w);
	tcb_kit_dependents(&w->kit, 0);
	qmm_write_threads(w);
	tcb_kit_memory(&w->kit, 1024);
	qmm_write_code_constants(w);
	if (g->group)
		qmm_write_s8_constants(w);
	qmm_write_header_constants(w);
}

static void write_matmul(struct qmm_writer *w)
{
	const struct qmm_gpu *g = w->g;
	const int is_cluster = g->cast > 1 || g->join == TCB_JOIN_CLUSTER;
	tcb_kit_begin(&w->kit, "qmm_matmul",
		      &(struct tcb_kit_kernel){
			      .threads = g->threads,
			      .blocks_together = g->together,
			      .grid = { g->grid, g->splitk, g->is_dealt ? 1 : g->token_tiles },
			      .cluster = { is_cluster ? g->cast : 0, g->join == TCB_JOIN_CLUSTER ? g->splitk : 0 },
			      .shared_bytes = g->launch_bytes,
			      .is_dependent = g->pdl });
	write_parameters(w);
	(g->is_streamed ? qmm_write_stream : qmm_write_mma)(w);
	qmm_write_join(w);
	tcb_kit_end(&w->kit);
}

enum tcb_status qmm_gpu_emit(const struct tcb_problem *problem, const struct tcb_target *target,
			     const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	const int is_wgmma = geometry->knob[TCB_KNOB_ISA] == TCB_ISA_WGMMA;
	struct qmm_gpu g;
	struct qmm_writer w = { .g = &g };
	TCB_TRY(tcb_kit_open(&w.kit, problem, target, is_wgmma ? 'a' : 0, geometry, out, err));
	qmm_gpu_plan(problem, target, geometry, &g);
	if (g.own_launch) {
		qmm_write_prepare_kernel(&w);
		w = (struct qmm_writer){ .kit = w.kit, .g = &g };
	}
	write_matmul(&w);
	out->packed_bytes[TCB_QUANT_WEIGHTS] = qmm_fragments_bytes(g.unit.format, g.n, g.k);
	out->workspace_bytes = g.workspace_bytes;
	out->class = TCB_CLASS_BOUNDED;
	out->chain = qmm_gpu_chain(&g) + g.has_added + g.has_bias;
	return tcb_kit_close(&w.kit, err);
}

const struct tcb_side qmm_terms_gpu = {
	.variants = TCB_EMITTED(TCB_EMITTED_ROW("quant_matmul_f32_ptx_mma", F32, MMA, BOUNDED),
				TCB_EMITTED_ROW("quant_matmul_f32_ptx_wgmma", F32, WGMMA, BOUNDED)),
	.space = &qmm_gpu_space,
	.emit = qmm_gpu_emit,
};
const struct tcb_side qmm_gpu = {
	.variants = TCB_EMITTED(TCB_EMITTED_ROW("quant_matmul_f16_ptx_mma", F16, MMA, BOUNDED),
				TCB_EMITTED_ROW("quant_matmul_f16_ptx_wgmma", F16, WGMMA, BOUNDED),
				TCB_EMITTED_ROW("quant_matmul_q8_ptx_mma", Q8, MMA, BOUNDED)),
	.space = &qmm_gpu_space,
	.emit = qmm_gpu_emit,
};
