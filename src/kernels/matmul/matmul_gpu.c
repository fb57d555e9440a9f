/* SPDX-License-Identifier: MIT
 *
 * The dense products on a GPU: a geometry comes in, a module of PTX and its
 * launch go out.  Here is what the kernels share, and how they are launched.
 */
#include "kernels/matmul/matmul_gpu.h"

#include <string.h>

#define I tcb_ptx_int
#define OP1 tcb_ptx_op1
#define OP2 tcb_ptx_op2
#define OP3 tcb_ptx_op3

enum { WARP = 32, BOX = 64 /* values of 2 bytes in the 128 bytes that are swizzled */ };

mm_op mm_constant(struct mm_writer *w, const char *type, mm_op value)
{
	return OP1(&w->b, tcb_ptx_namef(&w->b, "mov.%s", type), value);
}

void mm_write_threads(struct mm_writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	w->tid = tcb_ptx_special(b, "tid.x");
	w->lane = OP2(b, "and.b32", w->tid, I(WARP - 1));
	w->warp = OP2(b, "shr.u32", w->tid, I(5));
	/* From lane 0, so that the assembler sees that it is the same in the whole warp. */
	w->warp = tcb_ptx_op4(b, "shfl.sync.idx.b32", w->warp, I(0), I(WARP - 1), I(-1));
}

void mm_write_tile(struct mm_writer *w, mm_op tile)
{
	struct tcb_ptx_build *b = &w->b;
	const mm_op group_tiles = OP2(b, "mul.lo.u32", w->group, w->tiles_n);
	const mm_op index = OP2(b, "div.u32", tile, group_tiles);
	const mm_op within = OP2(b, "sub.u32", tile, OP2(b, "mul.lo.u32", index, group_tiles));
	const mm_op first = OP2(b, "mul.lo.u32", index, w->group);
	const mm_op rows = OP2(b, "min.u32", w->group, OP2(b, "sub.u32", w->tiles_m, first));
	const mm_op column = OP2(b, "div.u32", within, rows);
	const mm_op row = OP2(b, "sub.u32", within, OP2(b, "mul.lo.u32", column, rows));
	w->row = OP2(b, "mul.lo.u32", OP2(b, "add.u32", first, row), I((int64_t)w->g->bm * w->g->cluster));
	w->column = OP2(b, "mul.lo.u32", column, I(w->g->bn));
}

void mm_write_wait(struct mm_writer *w, mm_op barrier, mm_op parity, const char *scope)
{
	struct tcb_ptx_build *b = &w->b;
	struct tcb_ptx_for wait;
	const char *mnemonic = tcb_ptx_namef(b, "mbarrier.try_wait.parity%s.shared::cta.b64", scope);
	tcb_ptx_repeat_begin(b, &wait);
	const mm_op done = OP2(b, mnemonic, tcb_ptx_at(barrier, 0), parity);
	tcb_ptx_repeat_end(b, &wait, tcb_ptx_not(done));
}

/* --- launches --- */

static struct tcb_argument argument(enum tcb_argument_kind kind, size_t value)
{
	return (struct tcb_argument){ kind, value };
}

/* ROWS rows of COLUMNS values, a box of BOX columns and BOX_ROWS rows. */
static struct tcb_tensor tensor(const struct matmul_gpu *g, size_t operand, size_t rows, size_t columns,
				unsigned box_rows)
{
	return (struct tcb_tensor){ operand,
				    { .type = g->type == MATMUL_F16 ? TCB_PTX_F16 : TCB_PTX_BF16,
				      .rank = 2,
				      .size = { columns, rows },
				      .stride = { 0, columns * g->element },
				      .box = { BOX, box_rows },
				      .swizzle = 128 } };
}

static void set_launch(const struct matmul_gpu *g, struct tcb_kernel *out)
{
	struct tcb_launch *launch = &out->launch[0];
	struct tcb_argument *a = launch->argument;
	const int is_bulk = g->copy == TCB_COPY_BULK;
	out->launch_count = 1;
	launch->entry = out->module->last_function->symbol->name;
	launch->grid[0] = g->grid;
	launch->grid[1] = g->splitk;
	launch->grid[2] = launch->block[1] = launch->block[2] = 1;
	launch->block[0] = g->threads;
	if (g->cluster > 1) {
		launch->cluster[0] = g->cluster;
		launch->cluster[1] = launch->cluster[2] = 1;
	}
	launch->shared_bytes = g->shared_bytes;
	launch->is_dependent = g->pdl;
	for (size_t i = MATMUL_A; i <= MATMUL_C; i++)
		*a++ = argument(is_bulk ? TCB_ARGUMENT_TENSOR : TCB_ARGUMENT_OPERAND, i);
	if (is_bulk) {
		launch->tensor[MATMUL_A] = tensor(g, MATMUL_A, g->m, g->k, g->bm);
		launch->tensor[MATMUL_B] = tensor(g, MATMUL_B, g->k, g->n, g->bk);
		launch->tensor[MATMUL_C] = tensor(g, MATMUL_C, g->m, g->n, BOX);
	} else {
		*a++ = argument(TCB_ARGUMENT_U32, g->m);
		*a++ = argument(TCB_ARGUMENT_U32, g->n);
		*a++ = argument(TCB_ARGUMENT_U32, g->k);
	}
	*a++ = argument(TCB_ARGUMENT_U32, g->slice_steps);
	*a++ = argument(TCB_ARGUMENT_U32, g->tiles_m);
	*a++ = argument(TCB_ARGUMENT_U32, g->tiles_n);
	*a++ = argument(TCB_ARGUMENT_U32, g->group);
	if (g->splitk > 1) {
		*a++ = argument(TCB_ARGUMENT_WORKSPACE, 0);
		*a++ = argument(TCB_ARGUMENT_WORKSPACE, g->counters_at);
	}
	launch->argument_count = (size_t)(a - launch->argument);
}

enum tcb_status matmul_emit(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	const struct tcb_ptx_target ptx_target = { target->capability, 0 };
	const struct tcb_ptx_target own_target = { target->capability, 'a' };
	struct matmul_gpu g;
	struct mm_writer w = { .g = &g };
	memset(out, 0, sizeof(*out));
	matmul_gpu_plan(problem, target, geometry, &g);
	if (g.type == MATMUL_BF16 && target->capability < 80)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "%s needs sm_80", problem->op);
	if (matmul_gpu_misfit(&g))
		return tcb_fail(err, TCB_E_ILLEGAL, "%s", matmul_gpu_misfit(&g));
	TCB_TRY(tcb_ptx_build_init(&w.b, g.isa == TCB_ISA_WGMMA ? &own_target : &ptx_target, err));
	if (g.isa == TCB_ISA_WGMMA)
		mm_write_wgmma(&w);
	else
		mm_write_tiles(&w);
	TCB_TRY(tcb_ptx_build_finish(&w.b, &out->module, err));
	out->problem = *problem;
	out->geometry = *geometry;
	set_launch(&g, out);
	out->workspace_bytes = g.workspace_bytes;
	out->class = TCB_CLASS_BOUNDED;
	out->chain = matmul_gpu_chain(&g);
	return TCB_OK;
}

#define ROW(type, contract_, isa_, word)                                                            \
	{                                                                                           \
		.name = "matmul_" #type "_ptx_" word, .contract = contract_, .isa = TCB_ISA_##isa_, \
		.class = TCB_CLASS_BOUNDED, .signature = TCB_SOURCE_HASH                            \
	}
const struct tcb_variant matmul_f32_gpu_variants[] = {
	ROW(f32, TCB_CONTRACT_F32, FMA, "fma"),
	{ .name = NULL },
};
const struct tcb_variant matmul_f16_gpu_variants[] = {
	ROW(f16, TCB_CONTRACT_F16, MMA, "mma"),
	ROW(f16, TCB_CONTRACT_F16, WGMMA, "wgmma"),
	{ .name = NULL },
};
const struct tcb_variant matmul_bf16_gpu_variants[] = {
	ROW(bf16, TCB_CONTRACT_F16, MMA, "mma"),
	ROW(bf16, TCB_CONTRACT_F16, WGMMA, "wgmma"),
	{ .name = NULL },
};
