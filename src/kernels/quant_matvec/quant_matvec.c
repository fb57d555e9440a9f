/* SPDX-License-Identifier: MIT
 *
 * The ops q40_matvec, q80_matvec, q4k_matvec, q5k_matvec and q6k_matvec:
 * y[m][n] = sum over k of x[m][k] * w[n][k] with quantised weights, a token at
 * a time.  What the ops are, how a geometry becomes a plan, and the loops that
 * run it: macro tiles are dealt to threads, midi tiles follow each other within
 * them, one micro-kernel call covers a few rows of a midi tile.  Every tile's
 * offset comes from base/view.h.  The search space is described in
 * quant_matvec_space.c.
 */
#include "kernels/quant_matvec/quant_matvec_gpu.h"

#include <assert.h>
#include <string.h>

#include "base/util.h"
#include "base/view.h"
#include "kernels/quant.h"

static const struct tcb_shape default_shapes[] = { { 1, 4096, 4096 }, { 1, 14336, 4096 }, { 1, 4096, 14336 } };

static size_t supers(size_t k)
{
	return (k + QMV_SUPER - 1) / QMV_SUPER;
}

static int is_q4k(const struct tcb_problem *problem)
{
	return tcb_quant_format(problem)->id == TCB_FORMAT_Q4_K;
}

static int is_own(const struct tcb_plan *plan)
{
	return qmv_is_own(tcb_quant_format(&plan->problem)->id, plan->variant->isa);
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
	return layout == TCB_LAYOUT_NATIVE ? qmv_super_bytes(format->id) : qmv_lines(format->id) * QMV_LINE;
}

static size_t packed_bytes(const struct tcb_problem *problem, enum tcb_layout layout)
{
	const struct tcb_format *format = tcb_quant_format(problem);
	const size_t rows = q4k_layout_rows(layout);
	if (layout == TCB_LAYOUT_NATIVE)
		return 0;
	return tcb_quant_shares(problem->shape.n, rows) * supers(problem->shape.k) * super_bytes(format, layout);
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
	return (double)(16 * supers(k) + (plan->problem.contract == TCB_CONTRACT_Q8 ? 12 : 44) + steps);
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
	const struct tcb_op *op = tcb_quant_op(problem);
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
	out->workspace_bytes = problem->shape.m * supers(problem->shape.k) * activation_bytes(out);
	out->chain = chain_of(out);
	return TCB_OK;
}

static void pack(const struct tcb_problem *problem, enum tcb_layout layout, const void *weights, void *packed)
{
	const size_t n = problem->shape.n, k = problem->shape.k;
	if (layout == TCB_LAYOUT_P || layout == TCB_LAYOUT_S || layout == TCB_LAYOUT_F)
		qmv_plane_pack(problem, layout, weights, packed);
	else if (is_q4k(problem))
		q4k_pack(layout, n, k, weights, packed);
	else
		qmv_lines_pack(problem, weights, packed);
}

static void unpack(const struct tcb_problem *problem, enum tcb_layout layout, const void *packed, void *weights)
{
	const size_t n = problem->shape.n, k = problem->shape.k;
	if (layout == TCB_LAYOUT_P || layout == TCB_LAYOUT_S || layout == TCB_LAYOUT_F)
		qmv_plane_unpack(problem, layout, packed, weights);
	else if (is_q4k(problem))
		q4k_unpack(layout, n, k, packed, weights);
	else
		qmv_lines_unpack(problem, packed, weights);
}

/* One call of run(), shared by its threads. */
struct job {
	const struct tcb_plan *plan;
	qmv_micro_fn *kernel;
	const uint8_t *weights, *activations; /* as stored or packed; prepared */
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
		.x = job->activations + tcb_view_at(&job->x, (size_t[]){ token, k0 }) * job->x_bytes,
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
	const size_t tile[2] = { supers(midi->k), (midi->n + job->group_rows - 1) / job->group_rows };
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

typedef void q4k_quantize_fn(const float *x, size_t blocks, struct q4k_x8 *out);
typedef void q4k_prepare_fn(const float *x, size_t blocks, struct q4k_x32 *out);
typedef void prepare_q8_fn(const struct tcb_format *format, const float *x, size_t k, struct qmv_x8 *out);
typedef void prepare_f32_fn(const struct tcb_format *format, int as_they_are, const float *x, size_t k,
			    struct qmv_x32 *out);

static void prepare_as_they_are(const struct tcb_format *format, int as_they_are, const float *x, size_t k,
				struct qmv_x32 *out)
{
	(void)as_they_are;
	qmv_prepare_f32_scalar(format, x, k, out);
}

/* How activations are prepared for the variants of one instruction family; a processor has those of its own. */
struct preparers {
	q4k_quantize_fn *q4k_q8;
	q4k_prepare_fn *q4k_f32;
	prepare_q8_fn *q8;
	prepare_f32_fn *f32;
};

static const struct preparers *preparers_of(enum tcb_isa isa)
{
	static const struct preparers scalar = { q4k_quantize_scalar, q4k_prepare_scalar, qmv_prepare_q8_scalar,
						 prepare_as_they_are };
#if defined(__x86_64__)
	static const struct preparers avx2 = { q4k_quantize_avx2, q4k_prepare_avx2, qmv_prepare_q8_avx2,
					       qmv_prepare_f32_avx2 };
	static const struct preparers avx512 = { q4k_quantize_avx512, q4k_prepare_avx512, qmv_prepare_q8_avx512,
						 qmv_prepare_f32_avx512 };
	if (isa == TCB_ISA_AVX2)
		return &avx2;
	if (isa == TCB_ISA_AVX512 || isa == TCB_ISA_AVX512VNNI)
		return &avx512;
#elif defined(__aarch64__)
	static const struct preparers neon = { NULL, NULL, qmv_prepare_q8_neon, qmv_prepare_f32_neon };
	if (isa == TCB_ISA_NEON)
		return &neon;
#endif
	(void)isa;
	return &scalar;
}

/*
 * Activations into the workspace, on the calling thread before the others start: 0.6 us for 4096 values of q4_k with
 * AVX-512, 0.4 % of a hot call on two threads.  Native kernels take four codes of a row to a lane, those of r16 one
 * activation for all lanes.
 */
static void prepare(const struct tcb_plan *plan, const float *x, char *workspace)
{
	const struct preparers *with = preparers_of(plan->variant->isa);
	const struct tcb_format *format = tcb_quant_format(&plan->problem);
	const struct tcb_shape *s = &plan->problem.shape;
	const int q8 = plan->problem.contract == TCB_CONTRACT_Q8;
	const int as_they_are = plan->variant->layout != TCB_LAYOUT_NATIVE;
	void *out = workspace;
	if (is_own(plan) && q8) {
		with->q4k_q8(x, s->m * supers(s->k), out);
		return;
	}
	if (is_own(plan)) {
		with->q4k_f32(x, s->m * supers(s->k), out);
		return;
	}
	for (size_t m = 0; m < s->m; m++, x += s->k) {
		out = workspace + m * supers(s->k) * activation_bytes(plan);
		if (q8)
			with->q8(format, x, s->k, out);
		else
			with->f32(format, as_they_are, x, s->k, out);
	}
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
		.activations = workspace,
		.y = operand[TCB_QUANT_Y],
		.group_rows = q4k_layout_rows(plan->variant->layout),
		.x_bytes = activation_bytes(plan),
		.prefetch = g->knob[TCB_KNOB_PREFETCH] > 0 ? (size_t)g->knob[TCB_KNOB_PREFETCH] : 0,
		.hint = g->knob[TCB_KNOB_HINT] > 0 ? (enum tcb_hint)g->knob[TCB_KNOB_HINT] : TCB_HINT_T0,
	};
	const struct tcb_format *format = tcb_quant_format(&plan->problem);
	const enum tcb_layout layout = plan->variant->layout;
	const size_t groups = tcb_quant_shares(s->n, job.group_rows), bytes = super_bytes(format, layout);
	const size_t group_bytes =
		layout == TCB_LAYOUT_NATIVE ? tcb_quant_row_bytes(format, s->k) : supers(s->k) * bytes;
	must(tcb_view_init_strided(&job.w, 2, (size_t[]){ groups, supers(s->k) }, (size_t[]){ group_bytes, bytes }, 0,
				   NULL));
	must(tcb_view_init(&job.x, 2, (size_t[]){ s->m, supers(s->k) }, NULL));
	must(tcb_view_init(&job.out, 2, (size_t[]){ s->m, s->n }, NULL));
	must(tcb_partition_init(&job.shares, &job.out, (size_t[]){ 1, share }, NULL));
	prepare(plan, operand[TCB_QUANT_X], workspace);
	tcb_pool_run(pool, plan->threads, sched, job.shares.total, run_share, &job);
}

/* Variants that the processor's architecture can have, all ISAs; the last is NULL. */
#if defined(__x86_64__)
static const struct tcb_variant *const lists_q4k[] = {
	q4k_variants_q8_scalar,  q4k_variants_q8_avx2,  q4k_variants_q8_avx512,  q4k_variants_q8_avx512vnni,
	q4k_variants_f32_scalar, q4k_variants_f32_avx2, q4k_variants_f32_avx512, NULL,
};
#define LISTS(op)                                                                                                \
	static const struct tcb_variant *const lists_##op[] = { qmv_scalar_##op, qmv_avx2_##op, qmv_avx512_##op, \
								qmv_avx512vnni_##op, NULL };
#elif defined(__aarch64__)
static const struct tcb_variant *const lists_q4k[] = { q4k_variants_q8_scalar, q4k_variants_f32_scalar, qmv_neon_q4k,
						       NULL };
#define LISTS(op) static const struct tcb_variant *const lists_##op[] = { qmv_scalar_##op, qmv_neon_##op, NULL };
#else
static const struct tcb_variant *const lists_q4k[] = { q4k_variants_q8_scalar, q4k_variants_f32_scalar, NULL };
#define LISTS(op) static const struct tcb_variant *const lists_##op[] = { qmv_scalar_##op, NULL };
#endif
LISTS(q40)
LISTS(q80)
LISTS(q5k)
LISTS(q6k)

/* The ops differ in format and kernels. */
#define OP(op, type, format, exact_)                                                                  \
	const struct tcb_op tcb_op_##op##_matvec = {                                                  \
		.name = #op "_matvec",                                                                \
		.summary = type " weights x f32 activations, one token at a time",                    \
		.shape_form = "MxNxK",                                                                \
		.weight_type = type,                                                                  \
		.contracts = 1u << TCB_CONTRACT_F32 | 1u << TCB_CONTRACT_F16 | 1u << TCB_CONTRACT_Q8, \
		.default_contract = TCB_CONTRACT_Q8,                                                  \
		.default_shapes = default_shapes,                                                     \
		.default_shape_count = sizeof(default_shapes) / sizeof(default_shapes[0]),            \
		.variant_lists = lists_##op,                                                          \
		.check_shape = tcb_quant_check_shape,                                                 \
		.operands = tcb_quant_operands,                                                       \
		.fill = tcb_quant_fill,                                                               \
		.reference = tcb_quant_reference,                                                     \
		.exact = exact_,                                                                      \
		.flops = tcb_quant_flops,                                                             \
		.traffic = tcb_quant_traffic,                                                         \
		.axes = qmv_axes,                                                                     \
		.default_geometry = qmv_default_geometry,                                             \
		.footprint = qmv_footprint,                                                           \
		.plan = plan,                                                                         \
		.pack = pack,                                                                         \
		.unpack = unpack,                                                                     \
		.run = run,                                                                           \
		.emit = qmv_emit,                                                                     \
		.gpu_rules = qmv_gpu_rules,                                                           \
		.gpu_variants = qmv_gpu_variants[format],                                             \
	}
extern const struct tcb_op tcb_op_q40_matvec, tcb_op_q80_matvec, tcb_op_q5k_matvec, tcb_op_q6k_matvec;
OP(q40, "Q4_0", TCB_FORMAT_Q4_0, NULL);
OP(q80, "Q8_0", TCB_FORMAT_Q8_0, NULL);
OP(q4k, "Q4_K", TCB_FORMAT_Q4_K, q4k_exact);
OP(q5k, "Q5_K", TCB_FORMAT_Q5_K, NULL);
OP(q6k, "Q6_K", TCB_FORMAT_Q6_K, NULL);
