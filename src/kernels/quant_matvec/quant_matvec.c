/* SPDX-License-Identifier: MIT
 *
 * The MatVecs of all weight formats, q4k_matvec and so on:
 * y[m][n] = sum over k of x[m][k] * w[n][k] with quantised weights, a token at
 * a time.  What the ops are, how a geometry becomes a plan, and the loops that
 * run it: macro tiles are dealt to threads, midi tiles follow each other within
 * them, one micro-kernel call covers a few rows of a midi tile.  Every tile's
 * offset comes from base/view.h.  The search space is described in
 * quant_matvec_space.c.
 */
#include "kernels/quant_matvec/quant_matvec.h"
#include "kernels/quant_matvec/quant_matvec_gpu.h"
#include "kernels/quant_matvec/quant_matvec_pack.h"
#include "kernels/quant_matvec/quant_matvec_planes.h"
#include "kernels/quant_matvec/quant_matvec_prepare.h"

#include <assert.h>
#include <string.h>

#include "base/sizes.h"
#include "base/util.h"
#include "base/view.h"
#include "kernels/quant.h"

static const struct tcb_shape default_shapes[] = { { 1, 4096, 4096 }, { 1, 14336, 4096 }, { 1, 4096, 14336 } };

static int is_own(const struct tcb_plan *plan)
{
	return qmv_is_own(plan->problem.op->format->id, plan->variant->isa);
}

/* Prepared activations of a superblock. */
static size_t activation_bytes(const struct tcb_plan *plan)
{
	const int q8 = plan->problem.contract == TCB_CONTRACT_Q8;
	if (is_own(plan))
		return q8 ? sizeof(struct q4k_x8) : sizeof(struct q4k_x32);
	return q8 ? sizeof(struct qmv_x8) : sizeof(struct qmv_x32);
}

/* Bytes of a superblock of a row, or of a row group. */
static size_t super_bytes(const struct tcb_format *format, enum tcb_layout layout)
{
	if (format->id == TCB_FORMAT_Q4_K)
		return q4k_layout_block_bytes(layout);
	return layout == TCB_LAYOUT_NATIVE ? qmv_super_bytes(format->id) : tcb_lines(format->id) * QMV_LINE;
}

static size_t packed_bytes(const struct tcb_problem *problem, enum tcb_layout layout)
{
	const struct tcb_format *format = problem->op->format;
	const size_t rows = q4k_layout_rows(layout);
	if (layout == TCB_LAYOUT_NATIVE)
		return 0;
	return tcb_div_up(problem->shape.n, rows) * tcb_div_up(problem->shape.k, QMV_SUPER) *
	       super_bytes(format, layout);
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
	return (double)(k / QMV_SUPER + (k + step - 1) / step + 4 + 9 + 3);
}

/*
 * The same for the kernels that formats share.  A lane takes at most 8 vectors of codes and two sums of offsets a
 * superblock (of four lanes 8, and their sum with another 8 and four sums), the scalar kernels 16 runs with a product,
 * a difference and a product each; the sums of 32 activations, or of products in a run, 32; lanes, codes and k-steps as
 * above.
 */
static double shared_chain(const struct tcb_plan *plan)
{
	const size_t k = plan->problem.shape.k, steps = k / plan->geometry.tile[TCB_MIDI].k;
	return (double)(16 * tcb_div_up(k, QMV_SUPER) + (plan->problem.contract == TCB_CONTRACT_Q8 ? 12 : 44) + steps);
}

static double chain_of(const struct tcb_plan *plan)
{
	if (!is_own(plan))
		return shared_chain(plan);
	return plan->problem.contract == TCB_CONTRACT_Q8 ? q8_chain(plan) : q4k_f32_chain(plan);
}

static enum tcb_status plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			    struct tcb_plan *out, struct tcb_error *err)
{
	const struct tcb_op *op = problem->op;
	const struct tcb_variant *variant = tcb_variant_find(op, problem->contract, geometry);
	const int32_t *knob = geometry->knob;
	const char *why;
	memset(out, 0, sizeof(*out));
	if (!variant) {
		char text[TCB_GEOMETRY_TEXT_MAX];
		tcb_geometry_print(geometry, text);
		return tcb_fail(err, TCB_E_ILLEGAL, "%s has no %s variant for %s", op->name,
				tcb_contract_text(problem->contract), text);
	}
	TCB_TRY(tcb_quant_check_shape(op, &problem->shape, err));
	if ((why = qmv_geometry_refused(problem, geometry)))
		return tcb_fail(err, TCB_E_ILLEGAL, "%s: %s", op->name, why);
	out->problem = *problem;
	out->geometry = *geometry;
	out->variant = variant;
	out->threads = knob[TCB_KNOB_THREADS] == TCB_KNOB_UNSET ? 1 : (unsigned)knob[TCB_KNOB_THREADS];
	out->packed_bytes = packed_bytes(problem, variant->layout);
	out->workspace_bytes = problem->shape.m * tcb_div_up(problem->shape.k, QMV_SUPER) * activation_bytes(out);
	out->chain = chain_of(out);
	return TCB_OK;
}

static void pack(const struct tcb_problem *problem, enum tcb_layout layout, const void *weights, void *packed)
{
	const size_t n = problem->shape.n, k = problem->shape.k;
	if (layout == TCB_LAYOUT_P || layout == TCB_LAYOUT_S || layout == TCB_LAYOUT_F)
		qmv_plane_pack(problem, layout, weights, packed);
	else if (layout == TCB_LAYOUT_R16)
		tcb_lines_pack(problem, weights, packed);
	else
		q4k_pack(layout, n, k, weights, packed);
}

static void unpack(const struct tcb_problem *problem, enum tcb_layout layout, const void *packed, void *weights)
{
	const size_t n = problem->shape.n, k = problem->shape.k;
	if (layout == TCB_LAYOUT_P || layout == TCB_LAYOUT_S || layout == TCB_LAYOUT_F)
		qmv_plane_unpack(problem, layout, packed, weights);
	else if (layout == TCB_LAYOUT_R16)
		tcb_lines_unpack(problem, packed, weights);
	else
		q4k_unpack(layout, n, k, packed, weights);
}

static size_t pack_rows(enum tcb_layout layout)
{
	if (layout == TCB_LAYOUT_P || layout == TCB_LAYOUT_S)
		return 0;
	return layout == TCB_LAYOUT_F ? QMV_TILE_ROWS : q4k_layout_rows(layout);
}

/* One call of run(), shared by its threads. */
struct job {
	const struct tcb_plan *plan;
	qmv_micro_fn *kernel;
	const uint8_t *weights; /* as stored or packed */
	const float *x_stored;
	uint8_t *prepared;
	float *y;
	size_t group_rows, x_bytes; /* of the layout; of one superblock of prepared activations */
	size_t prefetch;
	enum tcb_hint hint;
	struct tcb_view w, x;        /* bytes, row groups x superblocks along k; tokens x superblocks */
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
	const size_t k0 = midi->start[0], values = p->problem.shape.k - k0 * QMV_SUPER;
	const size_t rows_end = p->problem.shape.n, micro = p->geometry.tile[TCB_MICRO].n;
	const size_t step = micro / job->group_rows * job->w.stride[0];
	size_t n = (group + midi->start[1]) * job->group_rows, end = n + midi->extent[1] * job->group_rows;
	struct qmv_call call = {
		.weights = job->weights + midi->offset,
		.row_bytes = job->w.stride[0],
		.x = job->prepared + tcb_view_at(&job->x, (size_t[]){ token, k0 }) * job->x_bytes,
		.blocks = midi->extent[0],
		.values = values < midi->extent[0] * QMV_SUPER ? values : midi->extent[0] * QMV_SUPER,
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
	const size_t tile[2] = { tcb_div_up(midi->k, QMV_SUPER), (midi->n + job->group_rows - 1) / job->group_rows };
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

/* How activations are prepared for the variants of a family, by that which does arithmetic on floats; own: Q4_K's. */
struct preparers {
	qmv_prepare_q8_fn *q8;
	qmv_prepare_f32_fn *f32;
	q4k_quantize_fn *own_q8;
	q4k_prepare_fn *own_f32;
};
#define PREPARERS(isa, ID, ...) \
	[TCB_ISA_##ID] = { qmv_prepare_q8_##isa, qmv_prepare_f32_##isa, q4k_quantize_##isa, q4k_prepare_##isa },
static const struct preparers preparers[TCB_ISA_COUNT] = { TCB_ISAS_FLOATS(PREPARERS, ) };

/*
 * The activations of one token into the workspace: 0.6 us for 4096 values of q4_k with AVX-512.  Native kernels take
 * four codes of a row to a lane, those of r16 one activation for all lanes.
 */
static void prepare(void *ctx, size_t token, unsigned thread)
{
	const struct job *job = ctx;
	const struct tcb_plan *plan = job->plan;
	const enum tcb_isa isa = tcb_cpu_isa(plan->variant->isa)->floats;
	const struct tcb_format *format = plan->problem.op->format;
	const size_t k = plan->problem.shape.k, superblocks = tcb_div_up(k, QMV_SUPER);
	const int q8 = plan->problem.contract == TCB_CONTRACT_Q8;
	const int as_they_are = plan->variant->layout != TCB_LAYOUT_NATIVE;
	const float *x = job->x_stored + token * k;
	void *out = job->prepared + token * superblocks * job->x_bytes;
	(void)thread;
	if (is_own(plan) && q8)
		preparers[isa].own_q8(x, superblocks, out);
	else if (is_own(plan))
		preparers[isa].own_f32(x, superblocks, out);
	else if (q8)
		preparers[isa].q8(format, x, k, out);
	else
		preparers[isa].f32(format, as_they_are, x, k, out);
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
		.kernel = (qmv_micro_fn *)plan->variant->entry,
		.weights = operand[TCB_QUANT_WEIGHTS],
		.x_stored = operand[TCB_QUANT_X],
		.prepared = workspace,
		.y = operand[TCB_QUANT_Y],
		.group_rows = q4k_layout_rows(plan->variant->layout),
		.x_bytes = activation_bytes(plan),
		.prefetch = g->knob[TCB_KNOB_PREFETCH] > 0 ? (size_t)g->knob[TCB_KNOB_PREFETCH] : 0,
		.hint = g->knob[TCB_KNOB_HINT] > 0 ? (enum tcb_hint)g->knob[TCB_KNOB_HINT] : TCB_HINT_T0,
	};
	const struct tcb_format *format = plan->problem.op->format;
	const enum tcb_layout layout = plan->variant->layout;
	const size_t groups = tcb_div_up(s->n, job.group_rows), bytes = super_bytes(format, layout);
	const size_t group_bytes =
		layout == TCB_LAYOUT_NATIVE ? tcb_quant_row_bytes(format, s->k) : tcb_div_up(s->k, QMV_SUPER) * bytes;
	must(tcb_view_init_strided(&job.w, 2, (size_t[]){ groups, tcb_div_up(s->k, QMV_SUPER) },
				   (size_t[]){ group_bytes, bytes }, 0, NULL));
	must(tcb_view_init(&job.x, 2, (size_t[]){ s->m, tcb_div_up(s->k, QMV_SUPER) }, NULL));
	must(tcb_view_init(&job.out, 2, (size_t[]){ s->m, s->n }, NULL));
	must(tcb_partition_init(&job.shares, &job.out, (size_t[]){ 1, share }, NULL));
	tcb_pool_run(pool, plan->threads, TCB_SCHED_STATIC, s->m, prepare, &job);
	tcb_pool_run(pool, plan->threads, sched, job.shares.total, run_share, &job);
}

/* Q4_K's own kernels; on Arm those of all formats beside the portable ones. */
#if defined(__x86_64__)
#define Q4K_ISAS_FLOATS TCB_ISAS_FLOATS
#define Q4K_ISAS_BYTES TCB_ISAS_BYTES
#define Q4K_SHARED(X)
#else
#define Q4K_ISAS_FLOATS TCB_ISAS_SCALAR
#define Q4K_ISAS_BYTES TCB_ISAS_SCALAR
#define Q4K_SHARED(X) X(neon, NEON, qmv_q4k)
#endif
Q4K_ISAS_BYTES(TCB_VARIANT_TABLE_DECLARATION, q4k_variants_q8)
Q4K_ISAS_FLOATS(TCB_VARIANT_TABLE_DECLARATION, q4k_variants_f32)
Q4K_SHARED(TCB_VARIANT_TABLE_DECLARATION)
static const struct tcb_variant *const lists_q4k[] = { Q4K_ISAS_BYTES(TCB_VARIANT_TABLE, q4k_variants_q8)
							       Q4K_ISAS_FLOATS(TCB_VARIANT_TABLE, q4k_variants_f32)
								       Q4K_SHARED(TCB_VARIANT_TABLE) NULL };
#define LISTS(id, name, op, ...) TCB_VARIANT_TABLES(lists_##op, TCB_ISAS_BYTES, qmv_##op)
TCB_FORMAT_OTHER_ROWS(LISTS)

/* The ops differ in format and kernels. */
#define OP(id, name_, op, ...)                                                                        \
	const struct tcb_op tcb_op_##op##_matvec = {                                                  \
		.name = #op "_matvec",                                                                \
		.summary = #id " weights x f32 activations, one token at a time",                     \
		.shape_form = "MxNxK",                                                                \
		.format = &tcb_formats[TCB_FORMAT_##id],                                              \
		.contracts = 1u << TCB_CONTRACT_F32 | 1u << TCB_CONTRACT_F16 | 1u << TCB_CONTRACT_Q8, \
		.default_contract = TCB_CONTRACT_Q8,                                                  \
		.default_shapes = default_shapes,                                                     \
		.default_shape_count = sizeof(default_shapes) / sizeof(default_shapes[0]),            \
		.variant_lists = lists_##op,                                                          \
		.check_shape = tcb_quant_check_shape,                                                 \
		.operands = tcb_quant_operands,                                                       \
		.fill = tcb_quant_fill,                                                               \
		.reference = tcb_quant_reference,                                                     \
		.exact = TCB_FORMAT_##id == TCB_FORMAT_Q4_K ? q4k_exact : NULL,                       \
		.flops = tcb_quant_flops,                                                             \
		.traffic = tcb_quant_traffic,                                                         \
		.axes = qmv_axes,                                                                     \
		.default_geometry = qmv_default_geometry,                                             \
		.footprint = qmv_footprint,                                                           \
		.plan = plan,                                                                         \
		.pack = pack,                                                                         \
		.unpack = unpack,                                                                     \
		.pack_rows = pack_rows,                                                               \
		.run = run,                                                                           \
		.emit = qmv_emit,                                                                     \
		.gpu_rules = qmv_gpu_rules,                                                           \
		.gpu_variants = qmv_gpu_variants[TCB_FORMAT_##id],                                    \
	};
TCB_FORMAT_LIST(OP)
