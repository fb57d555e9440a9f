/* SPDX-License-Identifier: MIT
 *
 * The quantised matmuls on a GPU: a geometry comes in, a module of PTX and its
 * launches go out.  Here is what all kernels begin with, and the launches; the
 * kernels themselves are in quant_matmul_gpu_mma.c and _stream.c.
 *
 * With dependent launch (pdl) the weights, which no kernel before this one writes,
 * are asked for before griddepcontrol.wait and the activations after it.
 */
#include <string.h>

#include "kernels/quant.h"
#include "kernels/quant_matmul/quant_matmul_gpu.h"

#define I tcb_ptx_int
#define OP1 tcb_ptx_op1
#define OP2 tcb_ptx_op2
#define OP3 tcb_ptx_op3

enum { WARP = 32 };

qmm_op qmm_write_constant(struct qmm_writer *w, const char *type, qmm_op value)
{
	const qmm_op reg = tcb_ptx_reg(&w->b, type);
	const char *mnemonic = type[0] == 'f' ? "mov.f32" : type[0] == 'b' ? "mov.b32" : "mov.u32";
	tcb_ptx_into1(&w->b, mnemonic, reg, value);
	return reg;
}

qmm_op qmm_write_element(struct qmm_writer *w, qmm_op base, qmm_op index, unsigned bytes)
{
	return OP3(&w->b, "mad.wide.u32", index, I(bytes), base);
}

/* Without a number of blocks ptxas takes one of its own, and spills a register or two to reach it. */
void qmm_write_begin(struct qmm_writer *w, const char *name, unsigned threads, unsigned blocks)
{
	const struct tcb_ptx_directives directives = { .reqntid = { threads, 1, 1 }, .minnctapersm = blocks };
	tcb_ptx_kernel_begin(&w->b, name, &directives);
}

static void write_threads(struct qmm_writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmm_gpu *g = w->g;
	w->tid = tcb_ptx_special(b, "tid.x");
	w->lane = OP2(b, "and.b32", w->tid, I(WARP - 1));
	w->warp = OP2(b, "shr.u32", w->tid, I(5));
	/* The same in all lanes: what follows from it alone can then be kept once a warp. */
	w->warp = tcb_ptx_op4(b, "shfl.sync.idx.b32", w->warp, I(0), I(WARP - 1), I(-1));
	w->quad = OP2(b, "shr.u32", w->lane, I(2));
	w->pair = OP2(b, "and.b32", w->lane, I(3));
	w->side = g->is_wgmma ? OP2(b, "shr.u32", w->warp, I(2)) : w->warp; /* four warps are one */
	w->ks = I(0);
	if (g->ksplit > 1) {
		w->ks = OP2(b, "rem.u32", w->side, I(g->ksplit));
		w->side = OP2(b, "div.u32", w->side, I(g->ksplit));
	}
}

/* The block's groups: FIRST to END - 1. */
static void write_groups(struct qmm_writer *w, qmm_op least, qmm_op longer)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmm_gpu *g = w->g;
	const qmm_op block = tcb_ptx_special(b, "ctaid.x");
	w->first = OP3(b, "mad.lo.u32", block, least, OP2(b, "min.u32", block, longer));
	w->end = OP2(b, "add.u32", w->first, least);
	w->end = OP2(b, "add.u32", w->end, OP3(b, "selp.u32", I(1), I(0), OP2(b, "setp.lt.u32", block, longer)));
	if (!g->resident &&
	    !g->is_rolling) { /* warps with no rows of their own copy, too, and do the last ones again */
		const qmm_op groups = OP2(b, "div.u32", OP2(b, "add.u32", w->rows, I(g->rows - 1)), I(g->rows));
		w->end = OP2(b, "min.u32", w->end, groups);
	}
}

void qmm_write_parameters(struct qmm_writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmm_gpu *g = w->g;
	qmm_op least, longer, slice = I(0), tile;
	w->weights = tcb_ptx_param_pointer(b, "weights", 16);
	w->x = tcb_ptx_param_pointer(b, "x", 16);
	w->y = tcb_ptx_param_pointer(b, "y", 4);
	if (g->join == TCB_JOIN_LAST)
		w->slices = tcb_ptx_param_pointer(b, "slices", 4);
	w->rows = tcb_ptx_param(b, "u32", "rows");
	w->tokens = tcb_ptx_param(b, "u32", "tokens");
	least = tcb_ptx_param(b, "u32", "least");
	longer = tcb_ptx_param(b, "u32", "longer");
	tile = tcb_ptx_special(b, "ctaid.z");
	w->first_token = OP2(b, "mul.lo.u32", tile, I(g->tokens));
	w->padded = OP2(b, "mul.lo.u32", tcb_ptx_special(b, "nctaid.z"), I(g->tokens));
	if (g->splitk > 1) {
		const qmm_op groups = OP2(b, "shr.u32", w->padded, I(3));
		slice = tcb_ptx_special(b, "ctaid.y");
		w->weights = qmm_write_element(w, w->weights, slice, g->slice * g->unit.bytes);
		if (g->own_launch)
			w->x = qmm_write_element(w, w->x, OP2(b, "mul.lo.u32", slice, groups),
						 g->slice * g->unit_tiles * g->x_group_bytes);
		else
			w->x = qmm_write_element(w, w->x, slice, g->slice * QMM_UNIT_VALUES * 4);
	}
	if (g->join == TCB_JOIN_LAST) { /* the counters lie behind the slices */
		const qmm_op all = OP2(b, "mul.lo.u32", OP2(b, "mul.lo.u32", w->tokens, w->rows), I(g->splitk));
		const qmm_op block =
			OP3(b, "mad.lo.u32", tile, tcb_ptx_special(b, "nctaid.x"), tcb_ptx_special(b, "ctaid.x"));
		w->counters = qmm_write_element(w, qmm_write_element(w, w->slices, all, 4), block, 4);
	}
	write_groups(w, least, longer);
	if (g->pdl)
		tcb_ptx_op0(b, "griddepcontrol.launch_dependents");
	write_threads(w);
	w->shared = OP1(b, "mov.u32", tcb_ptx_shared_dynamic(b, "memory", 1024));
	qmm_write_weight_constants(w);
}

qmm_op qmm_write_rows_at(struct qmm_writer *w, qmm_op group, qmm_op i)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmm_gpu *g = w->g;
	const qmm_op last = OP2(b, "shr.u32", OP2(b, "sub.u32", w->rows, I(1)), I(4));
	const qmm_op at = OP3(b, "mad.lo.u32", group, I(g->rows / QMM_UNIT_ROWS), i);
	return qmm_write_element(w, w->weights, OP2(b, "min.u32", at, last), g->row_units * g->unit.bytes);
}

void qmm_write_wait(struct qmm_writer *w, qmm_op barrier, qmm_op parity)
{
	struct tcb_ptx_build *b = &w->b;
	struct tcb_ptx_for wait;
	tcb_ptx_repeat_begin(b, &wait);
	tcb_ptx_repeat_end(b, &wait, tcb_ptx_not(OP2(b, "mbarrier.try_wait.parity.shared::cta.b64", barrier, parity)));
}

/* --- launches --- */

static struct tcb_argument argument(enum tcb_argument_kind kind, size_t value)
{
	return (struct tcb_argument){ kind, value };
}

static void add_prepare(const struct qmm_gpu *g, struct tcb_launch *launch)
{
	const unsigned padded = g->token_tiles * g->tokens, of_block = QMM_PREPARE_WARPS * QMM_PREPARE_TOKENS;
	launch->entry = "qmm_prepare";
	launch->grid[0] = g->row_units;
	launch->grid[1] = (padded + of_block - 1) / of_block;
	launch->grid[2] = 1;
	launch->block[0] = QMM_PREPARE_WARPS * WARP;
	launch->argument[0] = argument(TCB_ARGUMENT_OPERAND, TCB_QUANT_X);
	launch->argument[1] = argument(TCB_ARGUMENT_WORKSPACE, 0);
	launch->argument[2] = argument(TCB_ARGUMENT_U32, g->m);
	launch->argument[3] = argument(TCB_ARGUMENT_U32, padded);
	launch->argument_count = 4;
}

static void add_matmul(const struct qmm_gpu *g, struct tcb_launch *launch)
{
	struct tcb_argument *a = launch->argument;
	launch->entry = "qmm_matmul";
	launch->grid[0] = g->grid;
	launch->grid[1] = g->splitk;
	launch->grid[2] = g->token_tiles;
	launch->block[0] = g->threads;
	launch->shared_bytes = g->launch_bytes;
	if (g->cast > 1 || g->join == TCB_JOIN_CLUSTER) {
		launch->cluster[0] = g->cast;
		launch->cluster[1] = g->join == TCB_JOIN_CLUSTER ? g->splitk : 1;
		launch->cluster[2] = 1;
	}
	*a++ = argument(TCB_ARGUMENT_OPERAND, TCB_QUANT_WEIGHTS);
	*a++ = g->own_launch ? argument(TCB_ARGUMENT_WORKSPACE, 0) : argument(TCB_ARGUMENT_OPERAND, TCB_QUANT_X);
	*a++ = argument(TCB_ARGUMENT_OPERAND, TCB_QUANT_Y);
	if (g->join == TCB_JOIN_LAST)
		*a++ = argument(TCB_ARGUMENT_WORKSPACE, g->slices_at);
	*a++ = argument(TCB_ARGUMENT_U32, g->n);
	*a++ = argument(TCB_ARGUMENT_U32, g->m);
	*a++ = argument(TCB_ARGUMENT_U32, g->least);
	*a++ = argument(TCB_ARGUMENT_U32, g->longer);
	launch->argument_count = (size_t)(a - launch->argument);
}

enum tcb_status qmm_emit(const struct tcb_problem *problem, const struct tcb_target *target,
			 const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct tcb_ptx_target ptx_target = { target->capability, 0 };
	struct qmm_gpu g;
	struct qmm_writer w = { .g = &g };
	memset(out, 0, sizeof(*out));
	if (problem->contract != TCB_CONTRACT_F16 && problem->contract != TCB_CONTRACT_Q8)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "%s has GPU kernels for contracts f16 and q8 only",
				problem->op);
	qmm_gpu_plan(problem, target, geometry, &g);
	ptx_target.feature = g.is_wgmma ? 'a' : 0;
	TCB_TRY(tcb_ptx_build_init(&w.b, &ptx_target, err));
	if (g.own_launch) {
		qmm_write_prepare_kernel(&w);
		w = (struct qmm_writer){ .b = w.b, .g = &g };
	}
	qmm_write_begin(&w, "qmm_matmul", g.threads, g.together);
	qmm_write_parameters(&w);
	(g.is_streamed ? qmm_write_stream : qmm_write_mma)(&w);
	qmm_write_join(&w);
	tcb_ptx_kernel_end(&w.b);
	TCB_TRY(tcb_ptx_build_finish(&w.b, &out->module, err));
	out->problem = *problem;
	out->geometry = *geometry;
	if (g.own_launch)
		add_prepare(&g, &out->launch[out->launch_count++]);
	add_matmul(&g, &out->launch[out->launch_count++]);
	for (size_t i = 0; i < out->launch_count; i++) {
		out->launch[i].block[1] = out->launch[i].block[2] = 1;
		out->launch[i].is_dependent = g.pdl;
	}
	out->packed_bytes = qmm_fragments_bytes(g.unit.format, g.n, g.k);
	out->workspace_bytes = g.workspace_bytes;
	out->class = TCB_CLASS_BOUNDED;
	out->chain = qmm_gpu_chain(&g);
	return TCB_OK;
}

const struct tcb_variant qmm_gpu_variants[] = {
	{ .name = "quant_matmul_f16_ptx_mma",
	  .contract = TCB_CONTRACT_F16,
	  .isa = TCB_ISA_MMA,
	  .class = TCB_CLASS_BOUNDED,
	  .signature = TCB_SOURCE_HASH },
	{ .name = "quant_matmul_f16_ptx_wgmma",
	  .contract = TCB_CONTRACT_F16,
	  .isa = TCB_ISA_WGMMA,
	  .class = TCB_CLASS_BOUNDED,
	  .signature = TCB_SOURCE_HASH },
	{ .name = "quant_matmul_q8_ptx_mma",
	  .contract = TCB_CONTRACT_Q8,
	  .isa = TCB_ISA_MMA,
	  .class = TCB_CLASS_BOUNDED,
	  .signature = TCB_SOURCE_HASH },
	{ .name = NULL },
};
