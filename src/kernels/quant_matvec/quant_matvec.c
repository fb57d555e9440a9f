/* SPDX-License-Identifier: MIT
 *
 * The op q4k_matvec: y[m][n] = sum over k of x[m][k] * w[n][k] with Q4_K
 * weights.  What the op is, how a geometry becomes a plan, and the loops that
 * run it: macro tiles are dealt to threads, midi tiles follow each other
 * within them, one micro-kernel call covers a few rows of a midi tile.  Every
 * tile's offset comes from base/view.h.  Its search space is described in
 * quant_matvec_space.c.
 */
#include "kernels/quant_matvec/quant_matvec_gpu.h"

#include <assert.h>
#include <string.h>

#include "base/util.h"
#include "base/view.h"
#include "kernels/quant.h"

static const struct tcb_variant *const variant_lists[] = {
	q4k_variants_q8_scalar,  q4k_variants_q8_avx2,  q4k_variants_q8_avx512,  q4k_variants_q8_avx512vnni,
	q4k_variants_f32_scalar, q4k_variants_f32_avx2, q4k_variants_f32_avx512, NULL,
};

static const struct tcb_shape default_shapes[] = { { 1, 4096, 4096 }, { 1, 14336, 4096 }, { 1, 4096, 14336 } };

static size_t k_blocks(const struct tcb_plan *plan)
{
	return plan->problem.shape.k / Q4K_BLOCK_VALUES;
}

static size_t activation_bytes(enum tcb_contract contract)
{
	return contract == TCB_CONTRACT_Q8 ? sizeof(struct q4k_x8) : sizeof(struct q4k_x32);
}

/*
 * Longest rounding chain of one output, contract q8.  Per block at most four roundings (integer sum to f32, the product
 * with dmin, the difference, the product with dx), then one addition per block and one per k-step, and the reduction
 * over at most 16 lanes (4 in pairs, 8 in sequence) with its final difference; three for max / 127, 127 / max and x
 * times that.
 */
static double q8_chain(const struct tcb_plan *plan)
{
	size_t k = plan->problem.shape.k, step = plan->geometry.tile[TCB_MIDI].k;
	return (double)(k / Q4K_BLOCK_VALUES + (k + step - 1) / step + 4 + 9 + 3);
}

static enum tcb_status plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			    struct tcb_plan *out, struct tcb_error *err)
{
	const struct tcb_variant *variant = tcb_variant_find(&tcb_op_q4k_matvec, problem->contract, geometry);
	const int32_t *knob = geometry->knob;
	const char *why;
	memset(out, 0, sizeof(*out));
	if (!variant) {
		char text[TCB_GEOMETRY_TEXT_MAX];
		tcb_geometry_print(geometry, text);
		return tcb_fail(err, TCB_E_ILLEGAL, "q4k_matvec has no %s variant for %s",
				tcb_contract_text(problem->contract), text);
	}
	TCB_TRY(tcb_quant_check_shape(&tcb_op_q4k_matvec, &problem->shape, err));
	if ((why = q4k_geometry_refused(&problem->shape, geometry)))
		return tcb_fail(err, TCB_E_ILLEGAL, "q4k_matvec: %s", why);
	out->problem = *problem;
	out->geometry = *geometry;
	out->variant = variant;
	out->threads = knob[TCB_KNOB_THREADS] == TCB_KNOB_UNSET ? 1 : (unsigned)knob[TCB_KNOB_THREADS];
	if (variant->layout != TCB_LAYOUT_NATIVE)
		out->packed_bytes = q4k_packed_bytes(variant->layout, problem->shape.n, problem->shape.k);
	out->workspace_bytes =
		problem->shape.m * (problem->shape.k / Q4K_BLOCK_VALUES) * activation_bytes(problem->contract);
	out->chain = problem->contract == TCB_CONTRACT_Q8 ? q8_chain(out) : q4k_f32_chain(out);
	return TCB_OK;
}

static void pack(const struct tcb_problem *problem, enum tcb_layout layout, const void *weights, void *packed)
{
	if (layout == TCB_LAYOUT_P || layout == TCB_LAYOUT_S)
		qmv_plane_pack(problem, layout, weights, packed);
	else
		q4k_pack(layout, problem->shape.n, problem->shape.k, weights, packed);
}

static void unpack(const struct tcb_problem *problem, enum tcb_layout layout, const void *packed, void *weights)
{
	if (layout == TCB_LAYOUT_P || layout == TCB_LAYOUT_S)
		qmv_plane_unpack(problem, layout, packed, weights);
	else
		q4k_unpack(layout, problem->shape.n, problem->shape.k, packed, weights);
}

/* One call of run(), shared by its threads. */
struct job {
	const struct tcb_plan *plan;
	q4k_micro_fn *kernel;
	const uint8_t *weights, *activations; /* as stored or packed; prepared */
	float *y;
	size_t group_rows, block_bytes, x_bytes; /* of the layout; of one block of prepared activations */
	size_t prefetch;
	enum tcb_hint hint;
	struct tcb_view w, x;        /* row groups x blocks along k; tokens x blocks */
	struct tcb_view out;         /* tokens x outputs */
	struct tcb_partition shares; /* of out: what one task covers, all of k */
};

/* Views and partitions of a planned problem cannot fail: tcb_quant_check_shape() bounded the sizes. */
static void must(enum tcb_status status)
{
	assert(status == TCB_OK);
	(void)status;
}

/* Rows of one midi tile over its part of k: micro-kernel calls one after another. */
static void run_midi(const struct job *job, const struct tcb_tile_info *midi, size_t group, size_t token, int runs_on)
{
	const struct tcb_plan *p = job->plan;
	const size_t k0 = midi->start[0], rows_end = p->problem.shape.n, micro = p->geometry.tile[TCB_MICRO].n;
	const size_t step = micro / job->group_rows * job->w.stride[0] * job->block_bytes;
	size_t n = (group + midi->start[1]) * job->group_rows, end = n + midi->extent[1] * job->group_rows;
	struct q4k_call call = {
		.weights = job->weights + midi->offset * job->block_bytes,
		.row_bytes = job->w.stride[0] * job->block_bytes,
		.x = job->activations + tcb_view_at(&job->x, (size_t[]){ token, k0 }) * job->x_bytes,
		.blocks = midi->extent[0],
		.y = job->y + tcb_view_at(&job->out, (size_t[]){ token, n }),
		.accumulate = k0 > 0,
		.prefetch = job->prefetch,
		.hint = job->hint,
	};
	end = end < rows_end ? end : rows_end;
	for (; n < end; n += micro, call.weights += step, call.y += micro) {
		const size_t left = end - n;
		call.rows = left < micro ? left : micro;
		call.next_bytes = left > micro || (runs_on && end < rows_end) ? step : 0;
		job->kernel(&call);
	}
}

/* One task: a token's outputs of one tile of job->shares, k-blocks outermost, midi tiles in order within them. */
static void run_share(void *ctx, size_t task, unsigned thread)
{
	const struct job *job = ctx;
	const struct tcb_tile *midi = &job->plan->geometry.tile[TCB_MIDI];
	const size_t tile[2] = { midi->k / Q4K_BLOCK_VALUES, (midi->n + job->group_rows - 1) / job->group_rows };
	const int runs_on = job->plan->geometry.knob[TCB_KNOB_SCHED] != TCB_SCHED_DYNAMIC;
	struct tcb_tile_info share, tile_info;
	struct tcb_view rows, by_k;
	struct tcb_partition tiles;
	(void)thread;
	tcb_partition_tile(&job->shares, task, &share);
	const size_t group = share.start[1] / job->group_rows;
	must(tcb_view_slice(&job->w, 0, group, (share.extent[1] + job->group_rows - 1) / job->group_rows, &rows, NULL));
	must(tcb_view_transpose(&rows, 0, 1, &by_k, NULL));
	must(tcb_partition_init(&tiles, &by_k, tile, NULL));
	for (size_t i = 0; i < tiles.total; i++) {
		tcb_partition_tile(&tiles, i, &tile_info);
		run_midi(job, &tile_info, group, share.start[0], runs_on);
	}
}

/* Activations into the workspace, on the calling thread before the others start: 0.6 us for 4096 values with AVX-512,
 * 0.4 % of a hot call on two threads. */
static void prepare(const struct tcb_plan *plan, const float *x, void *workspace)
{
	const size_t blocks = plan->problem.shape.m * k_blocks(plan);
	const enum tcb_isa isa = plan->variant->isa;
	const int wide = isa == TCB_ISA_AVX512 || isa == TCB_ISA_AVX512VNNI;
	if (plan->problem.contract == TCB_CONTRACT_Q8)
		(wide                  ? q4k_quantize_avx512
		 : isa == TCB_ISA_AVX2 ? q4k_quantize_avx2
				       : q4k_quantize_scalar)(x, blocks, workspace);
	else
		(wide                  ? q4k_prepare_avx512
		 : isa == TCB_ISA_AVX2 ? q4k_prepare_avx2
				       : q4k_prepare_scalar)(x, blocks, workspace);
}

static void run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	const struct tcb_shape *s = &plan->problem.shape;
	const struct tcb_geometry *g = &plan->geometry;
	const enum tcb_sched sched =
		g->knob[TCB_KNOB_SCHED] == TCB_SCHED_DYNAMIC ? TCB_SCHED_DYNAMIC : TCB_SCHED_STATIC;
	const size_t share = sched == TCB_SCHED_DYNAMIC ? g->tile[TCB_MIDI].n : g->tile[TCB_MACRO].n;
	struct job job = {
		.plan = plan,
		.kernel = (q4k_micro_fn *)plan->variant->entry,
		.weights = operand[TCB_QUANT_WEIGHTS],
		.activations = workspace,
		.y = operand[TCB_QUANT_Y],
		.group_rows = q4k_layout_rows(plan->variant->layout),
		.block_bytes = q4k_layout_block_bytes(plan->variant->layout),
		.x_bytes = activation_bytes(plan->problem.contract),
		.prefetch = g->knob[TCB_KNOB_PREFETCH] > 0 ? (size_t)g->knob[TCB_KNOB_PREFETCH] : 0,
		.hint = g->knob[TCB_KNOB_HINT] > 0 ? (enum tcb_hint)g->knob[TCB_KNOB_HINT] : TCB_HINT_T0,
	};
	const size_t groups = (s->n + job.group_rows - 1) / job.group_rows;
	must(tcb_view_init(&job.w, 2, (size_t[]){ groups, k_blocks(plan) }, NULL));
	must(tcb_view_init(&job.x, 2, (size_t[]){ s->m, k_blocks(plan) }, NULL));
	must(tcb_view_init(&job.out, 2, (size_t[]){ s->m, s->n }, NULL));
	must(tcb_partition_init(&job.shares, &job.out, (size_t[]){ 1, share }, NULL));
	prepare(plan, operand[TCB_QUANT_X], workspace);
	tcb_pool_run(pool, plan->threads, sched, job.shares.total, run_share, &job);
}

const struct tcb_op tcb_op_q4k_matvec = {
	.name = "q4k_matvec",
	.summary = "Q4_K weights x f32 activations, one token at a time",
	.shape_form = "MxNxK",
	.weight_type = "Q4_K",
	.contracts = 1u << TCB_CONTRACT_F32 | 1u << TCB_CONTRACT_Q8,
	.default_contract = TCB_CONTRACT_Q8,
	.default_shapes = default_shapes,
	.default_shape_count = sizeof(default_shapes) / sizeof(default_shapes[0]),
	.variant_lists = variant_lists,
	.check_shape = tcb_quant_check_shape,
	.operands = tcb_quant_operands,
	.fill = tcb_quant_fill,
	.reference = tcb_quant_reference,
	.exact = q4k_exact,
	.flops = tcb_quant_flops,
	.traffic = tcb_quant_traffic,
	.axes = q4k_axes,
	.default_geometry = q4k_default_geometry,
	.footprint = q4k_footprint,
	.plan = plan,
	.pack = pack,
	.unpack = unpack,
	.run = run,
	.emit = qmv_emit,
	.gpu_rules = qmv_gpu_rules,
	.gpu_variants = qmv_gpu_variants[TCB_FORMAT_Q4_K],
};
