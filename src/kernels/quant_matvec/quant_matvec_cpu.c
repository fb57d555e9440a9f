/* SPDX-License-Identifier: MIT
 *
 * The MatVecs of all weight formats on CPUs: how a geometry becomes a plan, and
 * the loops that run it: macro tiles are dealt to threads, midi tiles follow
 * each other within them, one micro-kernel call covers a few rows of a midi
 * tile.  Every tile's offset comes from base/view.h.  The search space is
 * described in quant_matvec_cpu_space.c.
 *
 * Of several tokens, where micro.m is above 1, the micro-kernel is a register tile of the quantised matmul's
 * (decode=regs there): a task has all tokens, so that a row group's weights stay in the first cache while tokens pass.
 *
 * And the MatVecs fused with their neighbours (quant_matvec_fused.h).  A norm goes before the activations are prepared.
 * Of a gated pair a task has the same rows of gate and up: the sums of gate go to y, those of up beside it, and when
 * all of k is done y is what becomes of both.
 */
#include "kernels/quant_matmul/quant_matmul_block.h"
#include "kernels/quant_matmul/quant_matmul_pack.h"
#include "kernels/quant_matvec/quant_matvec.h"
#include "kernels/quant_matvec/quant_matvec_pack.h"
#include "kernels/quant_matvec/quant_matvec_prepare.h"

#include <assert.h>
#include <string.h>

#include "base/gang.h"
#include "base/sizes.h"
#include "base/util.h"
#include "base/view.h"
#include "kernels/quant.h"
#include "kernels/quant_matmul/quant_matmul_types.h"

static const struct qmv_own *own_of(const struct tcb_plan *plan)
{
	return qmv_own(plan->problem.op, plan->variant->isa);
}

/* Prepared activations of a superblock. */
static size_t activation_bytes(const struct tcb_plan *plan)
{
	const int q8 = plan->problem.contract == TCB_CONTRACT_Q8;
	if (qmv_has_tokens(plan->variant))
		return sizeof(struct qmm_x8);
	if (own_of(plan))
		return q8 ? own_of(plan)->q8_bytes : own_of(plan)->f32_bytes;
	return q8 ? sizeof(struct qmv_x8) : sizeof(struct qmv_x32);
}

static size_t packed_bytes(const struct tcb_problem *problem, enum tcb_layout layout)
{
	const size_t groups = tcb_div_up(problem->shape.n, qmv_layout_rows(layout));
	return layout == TCB_LAYOUT_NATIVE ? 0
					   : (groups << qmv_kind(problem)->is_gated) * qmv_group_bytes(problem, layout);
}

/* The workspace: prepared activations of all tokens; what comes out of their norms; the sums of up. */
struct space {
	size_t normed, up, x, y, bytes; /* x, y: as floats, where they are not in memory */
};

/* Do the sums of products lie in the workspace, and results are made of them? */
static int has_sums(const struct tcb_problem *problem)
{
	return tcb_quant_y_type(problem) != TCB_TYPE_F32 ||
	       (qmv_kind(problem)->is_gated && tcb_quant_y_stride(problem) != problem->shape.n);
}

static struct space space_of(const struct tcb_plan *plan)
{
	const struct tcb_shape *s = &plan->problem.shape;
	const struct qmv_kind *kind = qmv_kind(&plan->problem);
	const size_t tokens = tcb_round_up(s->m, plan->variant->micro.m); /* of whole register tiles */
	struct space space = { .normed = tokens * tcb_div_up(s->k, QMV_SUPER) * activation_bytes(plan) };
	space.up = space.normed + (kind->has_norm ? s->m * s->k * sizeof(float) : 0);
	space.x = space.up + (kind->is_gated ? s->m * s->n * sizeof(float) : 0);
	space.y = space.x + (tcb_quant_x_type(&plan->problem) != TCB_TYPE_F32 ? s->m * s->k * sizeof(float) : 0);
	space.bytes = space.y + (has_sums(&plan->problem) ? s->m * s->n * sizeof(float) : 0);
	return space;
}

/*
 * Longest rounding chain of one output of the kernels that formats share: three for max / 127, 127 / max and x times
 * that, the reduction over at most 16 lanes (4 in pairs, 8 in sequence).  A lane takes at most 8 vectors of codes and
 * two sums of offsets a superblock (of four lanes 8, and their sum with another 8 and four sums), the scalar kernels 16
 * runs with a product, a difference and a product each; the sums of 32 activations, or of products in a run, 32; one
 * for each k-step.  Values as they are: 16 in each sum, the scalar kernels all in one.
 */
static double shared_chain(const struct tcb_plan *plan)
{
	const size_t k = plan->problem.shape.k, steps = k / plan->geometry.tile[TCB_MIDI].k;
	if (tcb_is_float(plan->problem.op->format->id) && plan->variant->isa == TCB_ISA_SCALAR)
		return (double)(2 * k + steps);
	return (double)(16 * tcb_div_up(k, QMV_SUPER) + (plan->problem.contract == TCB_CONTRACT_Q8 ? 12 : 44) + steps);
}

static double chain_of(const struct tcb_plan *plan)
{
	const double norm = qmv_kind(&plan->problem)->has_norm ? QMV_NORM_CHAIN : 0;
	if (qmv_has_tokens(plan->variant))
		return norm + qmm_q8_chain(&plan->problem);
	return norm + (own_of(plan) ? own_of(plan)->chain(plan) : shared_chain(plan));
}

static enum tcb_status qmv_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
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
	TCB_TRY(qmv_check_shape(op, &problem->shape, err));
	if ((why = qmv_geometry_refused(problem, geometry)))
		return tcb_fail(err, TCB_E_ILLEGAL, "%s: %s", op->name, why);
	out->problem = *problem;
	out->geometry = *geometry;
	out->variant = variant;
	out->threads = knob[TCB_KNOB_THREADS] == TCB_KNOB_UNSET ? 1 : (unsigned)knob[TCB_KNOB_THREADS];
	out->packed_bytes[TCB_QUANT_WEIGHTS] = packed_bytes(problem, variant->layout);
	out->workspace_bytes = space_of(out).bytes;
	/* of exp's argument, or of what is added; and a bias */
	out->chain = chain_of(out) + (qmv_kind(problem)->is_gated || problem->shape.words.add) +
		     problem->shape.words.bias + problem->shape.words.gelu;
	out->ulps = qmv_kind(problem)->is_gated ? QMV_GATE_ULPS : 0;
	return TCB_OK;
}

/* One call of qmv_run(), shared by its threads. */
struct job {
	const struct tcb_plan *plan;
	qmv_micro_fn *kernel;   /* of one token */
	qmm_tile_fn *tile;      /* or of several */
	const uint8_t *weights; /* as stored or packed */
	const void *x_stored;
	const float *norm;
	uint8_t *prepared;
	float *normed, *widened, *y, *up; /* y: sums */
	void *results;                    /* NULL: they are where sums are */
	struct tcb_quant_more more;
	size_t group_rows, x_bytes; /* of the layout; of one superblock of prepared activations */
	size_t up_bytes;            /* gated: from a row group, or a row, to that of up */
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

/* How many row groups follow each other for the same rows of y: gate's and up's where a layout packs them in turn. */
static size_t sides(const struct job *job)
{
	return job->up && job->group_rows > 1 ? 2 : 1;
}

/* ROWS rows from CALL's on, micro-kernel calls one after another, STEP bytes apart; RUNS_ON: others follow. */
static void run_rows(const struct job *job, struct qmv_call *call, size_t rows, size_t step, float *y, float *up,
		     int runs_on)
{
	const size_t micro = job->plan->geometry.tile[TCB_MICRO].n;
	for (size_t done = 0; done < rows; done += micro) {
		const size_t left = rows - done;
		call->rows = left < micro ? left : micro;
		call->y = y + done;
		call->next_bytes = left > micro || runs_on || up ? step : 0;
		job->kernel(call);
		call->weights += step;
		if (!up)
			continue;
		call->y = up + done;
		call->next_bytes = left > micro || runs_on ? step : 0;
		job->kernel(call);
		call->weights += step;
	}
}

/* Rows of one midi tile over its part of k. */
static void run_midi(const struct job *job, const struct tcb_tile_info *midi, size_t group, size_t token, int runs_on)
{
	const struct tcb_plan *p = job->plan;
	const size_t k0 = midi->start[0], values = p->problem.shape.k - k0 * QMV_SUPER;
	const size_t n = (group + midi->start[1]) * job->group_rows, left = p->problem.shape.n - n;
	const size_t rows = midi->extent[1] * job->group_rows < left ? midi->extent[1] * job->group_rows : left;
	const size_t step = p->geometry.tile[TCB_MICRO].n / job->group_rows * job->w.stride[0] / sides(job);
	const size_t at = tcb_view_at(&job->out, (size_t[]){ token, n });
	struct qmv_call call = {
		.weights = job->weights + midi->offset,
		.row_bytes = job->w.stride[0] / sides(job),
		.x = job->prepared + tcb_view_at(&job->x, (size_t[]){ token, k0 }) * job->x_bytes,
		.blocks = midi->extent[0],
		.values = values < midi->extent[0] * QMV_SUPER ? values : midi->extent[0] * QMV_SUPER,
		.accumulate = k0 > 0,
		.prefetch = job->prefetch,
		.hint = job->hint,
	};
	run_rows(job, &call, rows, step, job->y + at, sides(job) > 1 ? job->up + at : NULL, runs_on && rows < left);
	if (job->up && sides(job) == 1) {
		call.weights = job->weights + midi->offset + job->up_bytes;
		run_rows(job, &call, rows, step, job->up + at, NULL, runs_on && rows < left);
	}
}

/* What else is done for the variants of a family, by that which does arithmetic on floats. */
struct preparers {
	qmv_prepare_q8_fn *q8;
	qmv_prepare_f32_fn *f32;
	qmm_quantize_fn *tokens; /* q8 of those of a register tile */
	qmv_norm_fn *norm;
	qmv_gate_fn *gate;
};
#define PREPARERS(isa, ID, ...)                                                                             \
	[TCB_ISA_##ID] = { qmv_prepare_q8_##isa, qmv_prepare_f32_##isa, qmm_quantize_##isa, qmv_norm_##isa, \
			   qmv_gate_##isa },
static const struct preparers preparers[TCB_ISA_COUNT] = { TCB_ISAS_FLOATS(PREPARERS, ) };

static const struct preparers *preparers_of(const struct job *job)
{
	return &preparers[tcb_cpu_isa(job->plan->variant->isa)->floats];
}

/* What becomes of the sums of COLUMNS outputs from COLUMN on of tokens FIRST to END. */
static void finish(const struct job *job, size_t first, size_t end, size_t column, size_t columns)
{
	const struct tcb_problem *problem = &job->plan->problem;
	const size_t n = job->more.stride, at = first * n + column;
	if (job->up && job->more.bias) {
		const struct tcb_quant_more of_up = { job->more.n, n, job->more.bias + job->more.n, NULL };
		tcb_quant_add_more(&job->more, first, end - first, column, columns, job->y + at);
		tcb_quant_add_more(&of_up, first, end - first, column, columns, job->up + at);
	}
	qmv_gate_fn *gate =
		problem->shape.words.gelu ? tcb_gelu_gate(job->plan->variant->isa) : preparers_of(job)->gate;
	for (size_t token = 0; job->up && token < end - first; token++)
		gate(job->y + at + token * n, job->up + at + token * n, columns);
	if (!job->up)
		tcb_quant_add_more(&job->more, first, end - first, column, columns, job->y + at);
	const enum tcb_type type = tcb_quant_y_type(problem);
	for (size_t token = first; job->results && token < end; token++)
		qmm_types_of(job->plan->variant->isa)
			->narrow(type, job->y + token * n + column, columns,
				 (char *)job->results +
					 (token * tcb_quant_y_stride(problem) + column) * tcb_type_bytes(type));
}

/* One task: all tokens' outputs of one tile of job->shares, register tiles of rows outermost. */
static void run_tokens(void *ctx, size_t task, unsigned thread)
{
	const struct job *job = ctx;
	const struct tcb_shape *s = &job->plan->problem.shape;
	const struct tcb_tile *micro = &job->plan->geometry.tile[TCB_MICRO];
	const size_t groups = job->w.stride[0], tile_bytes = micro->m * job->x_bytes * tcb_div_up(s->k, QMV_SUPER);
	struct qmm_call call = {
		.y_stride = job->more.stride,
		.superblocks = tcb_div_up(s->k, QMV_SUPER),
		.values = s->k,
		.hint = job->hint,
	};
	struct tcb_tile_info share;
	(void)thread;
	tcb_partition_tile(&job->shares, task, &share);
	const size_t first = share.start[1], end = first + share.extent[1];
	for (size_t n = first; n < end; n += micro->n) {
		call.rows = tcb_least(micro->n, end - n);
		call.group_bytes = call.rows > QMM_ROWS ? groups : 0;
		for (size_t side = 0; side < sides(job); side++) {
			float *const y = (side ? job->up : job->y) + n;
			call.weights = job->weights + n / QMM_ROWS * groups + n % QMM_ROWS * 4 + side * job->up_bytes;
			for (size_t m = 0; m < s->m; m += micro->m) {
				call.tokens = tcb_least(micro->m, s->m - m);
				call.x = job->prepared + m / micro->m * tile_bytes;
				call.y = y + m * job->more.stride;
				call.prefetch = m ? 0 : job->prefetch;
				job->tile(&call);
			}
		}
	}
	finish(job, 0, s->m, first, share.extent[1]);
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
	finish(job, share.start[0], share.start[0] + 1, share.start[1], share.extent[1]);
}

/* The activations of TOKEN, and where there is a norm what comes out of it. */
static const float *normed(const struct job *job, size_t token)
{
	const struct tcb_problem *problem = &job->plan->problem;
	const enum tcb_type type = tcb_quant_x_type(problem);
	const size_t k = problem->shape.k;
	const char *stored = (const char *)job->x_stored + token * tcb_quant_x_stride(problem) * tcb_type_bytes(type);
	const float *x = (const float *)(const void *)stored;
	if (type != TCB_TYPE_F32) {
		qmm_types_of(job->plan->variant->isa)->widen(type, stored, k, job->widened + token * k);
		x = job->widened + token * k;
	}
	if (!job->norm)
		return x;
	preparers_of(job)->norm(x, job->norm, qmv_eps(&job->plan->problem), k, job->normed + token * k);
	return job->normed + token * k;
}

/* The same of the tokens of a register tile. */
static void prepare_tokens(void *ctx, size_t tile, unsigned thread)
{
	const struct job *job = ctx;
	const struct tcb_shape *s = &job->plan->problem.shape;
	const size_t most = job->plan->geometry.tile[TCB_MICRO].m, first = tile * most;
	const size_t tokens = tcb_least(most, s->m - first);
	const size_t apart = job->norm || job->widened ? s->k : tcb_quant_x_stride(&job->plan->problem);
	const float *x = NULL;
	uint8_t *out = job->prepared + first * tcb_div_up(s->k, QMV_SUPER) * job->x_bytes;
	(void)thread;
	for (size_t token = tokens; token-- > 0;)
		x = normed(job, first + token);
	preparers_of(job)->tokens(job->plan->problem.op->format->id, x, apart, tokens, most, s->k,
				  (struct qmm_x8 *)(void *)out);
}

/* Codes in the order of what a word of places stands for. */
static void order_for_places(struct qmv_x8 *x, size_t superblocks)
{
	for (size_t b = 0; b < superblocks; b++) {
		int8_t q[QMV_SUPER];
		memcpy(q, x[b].q, sizeof(q));
		for (size_t i = 0; i < QMV_SUPER; i++)
			x[b].q[i] = q[tcb_places_order(i)];
	}
}

/*
 * The activations of one token into the workspace: 0.6 us for 4096 values with AVX-512.  Native kernels take
 * four codes of a row to a lane, those of r16 one activation for all lanes; those of values take activations as they
 * are, too, or by pairs.
 */
static void prepare(void *ctx, size_t token, unsigned thread)
{
	const struct job *job = ctx;
	const struct tcb_plan *plan = job->plan;
	const struct tcb_format *format = plan->problem.op->format;
	const size_t k = plan->problem.shape.k, superblocks = tcb_div_up(k, QMV_SUPER);
	const int q8 = plan->problem.contract == TCB_CONTRACT_Q8;
	const int as_they_are = tcb_is_float(format->id) || plan->variant->layout != TCB_LAYOUT_NATIVE;
	const enum qmv_order order = qmv_looks_up(format->id, plan->variant->isa) ? QMV_BY_PAIRS
				     : as_they_are                                ? QMV_AS_THEY_ARE
										  : QMV_BY_WORDS;
	const float *x = normed(job, token);
	void *out = job->prepared + token * superblocks * job->x_bytes;
	(void)thread;
	if (own_of(plan))
		own_of(plan)->prepare(tcb_cpu_isa(plan->variant->isa)->floats, q8, x, superblocks, out);
	else if (q8) {
		preparers_of(job)->q8(format, x, k, out);
		if (plan->variant->layout == TCB_LAYOUT_R16G)
			order_for_places(out, superblocks);
	} else
		preparers_of(job)->f32(format, order, x, k, out);
}

/*
 * Rows of a static task: a part of a macro tile, so that others can take what a thread has not begun, of so many bytes
 * of weights that beginning it costs nothing.  Midi tiles come in the same order as in a whole one; where they go
 * through it block by block along k, it stays whole.
 */
static size_t part_rows(const struct tcb_plan *plan, size_t row_bytes)
{
	enum { PARTS_MAX = 16, PART_BYTES = 128 << 10 };
	const struct tcb_tile *macro = &plan->geometry.tile[TCB_MACRO], *midi = &plan->geometry.tile[TCB_MIDI];

	if (plan->threads > 1 && midi->k >= plan->problem.shape.k)
		for (size_t parts = PARTS_MAX; parts > 1; parts--)
			if (macro->n % (parts * midi->n) == 0 && macro->n / parts * row_bytes >= PART_BYTES)
				return macro->n / parts;
	return macro->n;
}

static void qmv_run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	const struct tcb_shape *s = &plan->problem.shape;
	const struct tcb_geometry *g = &plan->geometry;
	const enum tcb_sched sched =
		g->knob[TCB_KNOB_SCHED] == TCB_SCHED_DYNAMIC ? TCB_SCHED_DYNAMIC : TCB_SCHED_STATIC;
	const struct qmv_kind *kind = qmv_kind(&plan->problem);
	const struct space space = space_of(plan);
	const int tokens = qmv_has_tokens(plan->variant);
	struct job job = {
		.plan = plan,
		.kernel = tokens ? NULL : (qmv_micro_fn *)plan->variant->entry,
		.tile = tokens ? ((qmm_kernels_fn *)plan->variant->entry)()->lines : NULL,
		.weights = operand[TCB_QUANT_WEIGHTS],
		.x_stored = operand[TCB_QUANT_X],
		.norm = kind->has_norm ? operand[QMV_NORM] : NULL,
		.prepared = workspace,
		.normed = (float *)((char *)workspace + space.normed),
		.y = operand[TCB_QUANT_Y],
		.more = tcb_quant_more(&plan->problem, operand),
		.up = kind->is_gated ? (float *)((char *)workspace + space.up) : NULL,
		.group_rows = qmv_layout_rows(plan->variant->layout),
		.x_bytes = activation_bytes(plan),
		.prefetch = g->knob[TCB_KNOB_PREFETCH] > 0 ? (size_t)g->knob[TCB_KNOB_PREFETCH] : 0,
		.hint = g->knob[TCB_KNOB_HINT] > 0 ? (enum tcb_hint)g->knob[TCB_KNOB_HINT] : TCB_HINT_T0,
	};
	const enum tcb_layout layout = plan->variant->layout;
	const size_t groups = tcb_div_up(s->n, job.group_rows), bytes = qmv_group_bytes(&plan->problem, layout);
	job.up_bytes = layout == TCB_LAYOUT_NATIVE ? s->n * bytes : bytes;
	must(tcb_view_init_strided(&job.w, 2, (size_t[]){ groups, tcb_div_up(s->k, QMV_SUPER) },
				   (size_t[]){ bytes * sides(&job), qmv_block_bytes(&plan->problem, layout) }, 0,
				   NULL));
	must(tcb_view_init(&job.x, 2, (size_t[]){ s->m, tcb_div_up(s->k, QMV_SUPER) }, NULL));
	if (tcb_quant_x_type(&plan->problem) != TCB_TYPE_F32)
		job.widened = (float *)((char *)workspace + space.x);
	if (has_sums(&plan->problem)) {
		job.results = operand[TCB_QUANT_Y];
		job.y = (float *)((char *)workspace + space.y);
		job.more.stride = s->n;
	}
	must(tcb_view_init_strided(&job.out, 2, (size_t[]){ s->m, s->n }, (size_t[]){ job.more.stride, 1 }, 0, NULL));
	const size_t rows = sched == TCB_SCHED_DYNAMIC ? g->tile[TCB_MIDI].n : part_rows(plan, bytes / job.group_rows);
	must(tcb_partition_init(&job.shares, &job.out, (size_t[]){ tokens ? s->m : 1, rows }, NULL));
	tcb_pool_run(pool, plan->threads, TCB_SCHED_STATIC, tcb_div_up(s->m, g->tile[TCB_MICRO].m),
		     tokens ? prepare_tokens : prepare, &job);
	tcb_pool_run_last(pool, plan->threads, sched, job.shares.total, tokens ? run_tokens : run_share, &job);
}

#define LIST(kind, has_norm, is_gated, op)                                                        \
	TCB_ISAS_BYTES(TCB_VARIANT_TABLE_DECLARATION, qmv_##op##_##kind)                          \
	TCB_ISAS_DOTS(TCB_VARIANT_TABLE_DECLARATION, qmv_few_##op##_##kind)                       \
	static const struct tcb_variant *const qmv_##op##_##kind##_variants[] = { TCB_ISAS_BYTES( \
		TCB_VARIANT_TABLE, qmv_##op##_##kind) TCB_ISAS_DOTS(TCB_VARIANT_TABLE, qmv_few_##op##_##kind) NULL };
#define LISTS(id, name, op, ...) QMV_KINDS(LIST, op)
TCB_FORMAT_SHARED_ROWS(LISTS)
TCB_FORMAT_EXPANDED_ROWS(LISTS)

/* Register tiles do not take the lines of these. */
#define LIST_OF_ROWS(kind, has_norm, is_gated, op) \
	TCB_VARIANT_TABLES(qmv_##op##_##kind##_variants, TCB_ISAS_BYTES, qmv_##op##_##kind)
#define LISTS_OF_ROWS(id, name, op, ...) QMV_KINDS(LIST_OF_ROWS, op)
TCB_FORMAT_FLOAT_ROWS(LISTS_OF_ROWS)

#define SIDE(kind, has_norm, is_gated, op)                \
	const struct tcb_side qmv_##op##_##kind##_cpu = { \
		.variants = qmv_##op##_##kind##_variants, \
		.space = &qmv_cpu_space,                  \
		.plan = qmv_plan,                         \
		.run = qmv_run,                           \
	};
#define SIDES(id, name, op, ...) QMV_KINDS(SIDE, op)
TCB_FORMAT_LIST(SIDES)
