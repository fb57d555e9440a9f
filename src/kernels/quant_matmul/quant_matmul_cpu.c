/* SPDX-License-Identifier: MIT
 *
 * How a geometry of the quantised matmul becomes a plan for a CPU, and the
 * loops that run it.  Activations are prepared first, by all threads.  Then
 * macro tiles (tokens x rows, all of k) are dealt to threads; within one, midi
 * blocks follow each other (quant_matmul_block.h).
 */
#include "kernels/quant_matmul/quant_matmul_cpu.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/gang.h"
#include "base/sizes.h"
#include "base/util.h"
#include "kernels/quant.h"
#include "kernels/quant_matmul/quant_matmul_block.h"
#include "kernels/quant_matmul/quant_matmul_types.h"

enum {
	PREPARE_SUPERBLOCKS = 8, /* of a task that prepares activations */
	PAGE = 4096,             /* threads' panels start on pages of their own */
};

/* Where things are in the workspace, and how large. */
struct parts {
	size_t tile_bytes; /* the tokens of a register tile, all of k */
	size_t x_at, y_at; /* activations and results as floats, where they are not in memory */
	size_t threads_at; /* what the first thread unpacks into */
	size_t thread_bytes;
};

/* Are results of PROBLEM floats in the workspace first? */
static int has_sums(const struct tcb_problem *problem)
{
	return tcb_quant_y_type(problem) != TCB_TYPE_F32;
}

static struct parts lay_out(const struct tcb_problem *problem, const struct qmm_matrix *matrix)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t tile = matrix->geometry->tile[TCB_MICRO].m;
	struct parts parts = { .tile_bytes = matrix->superblocks * tile * matrix->token_bytes };
	const int is_widened = tcb_quant_x_type(problem) != TCB_TYPE_F32;
	parts.x_at = tcb_round_up(tcb_div_up(s->m, tile) * parts.tile_bytes, PAGE);
	parts.y_at = parts.x_at + (is_widened ? tcb_round_up(s->m * s->k * sizeof(float), PAGE) : 0);
	parts.threads_at = parts.y_at + (has_sums(problem) ? tcb_round_up(s->m * s->n * sizeof(float), PAGE) : 0);
	parts.thread_bytes = tcb_round_up(matrix->scratch_bytes, PAGE);
	return parts;
}

enum tcb_status qmm_plan_begin(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			       struct tcb_plan *out, struct tcb_error *err)
{
	const struct tcb_op *op = problem->op;
	const struct tcb_variant *variant = tcb_variant_find(op, problem->contract, geometry);
	const int32_t threads = geometry->knob[TCB_KNOB_THREADS];
	const char *why;
	memset(out, 0, sizeof(*out));
	if (!variant || !variant->entry) {
		char text[TCB_GEOMETRY_TEXT_MAX];
		tcb_geometry_print(geometry, text);
		return tcb_fail(err, TCB_E_ILLEGAL, "%s has no %s variant for %s", op->name,
				tcb_contract_text(problem->contract), text);
	}
	TCB_TRY(op->check_shape(op, &problem->shape, err));
	if ((why = qmm_cpu_refused(problem, geometry)))
		return tcb_fail(err, TCB_E_ILLEGAL, "%s: %s", op->name, why);
	out->problem = *problem;
	out->geometry = *geometry;
	out->variant = variant;
	out->threads = threads == TCB_KNOB_UNSET ? 1 : (unsigned)threads;
	return TCB_OK;
}

static enum tcb_status qmm_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				struct tcb_plan *out, struct tcb_error *err)
{
	struct qmm_matrix matrix;
	TCB_TRY(qmm_plan_begin(problem, geometry, out, err));
	qmm_matrix_init(problem, geometry, &matrix);
	const struct parts parts = lay_out(problem, &matrix);
	if (out->variant->layout != TCB_LAYOUT_NATIVE)
		out->packed_bytes[TCB_QUANT_WEIGHTS] = tcb_lines_bytes(problem);
	if (tcb_mul_size(out->threads, parts.thread_bytes, &out->workspace_bytes) ||
	    tcb_add_size(out->workspace_bytes, parts.threads_at, &out->workspace_bytes))
		return tcb_fail(err, TCB_E_OVERFLOW, "%s: the panels of %u threads are too large", problem->op->name,
				out->threads);
	out->chain = qmm_chain(problem, geometry) + problem->shape.words.add + problem->shape.words.bias;
	return TCB_OK;
}

/* One call of qmm_run(), shared by its threads. */
struct job {
	const struct tcb_plan *plan;
	struct qmm_matrix matrix;
	qmm_tile_fn *tile;
	const struct qmm_conversions *conversions;
	const struct qmm_types *types;
	struct parts parts;
	const void *x;
	uint8_t *workspace;
	float *sums; /* Y, or what it is made of */
	void *y;
	struct tcb_quant_more more;
	size_t macro_columns; /* macro tiles along n */
};

/* TOKENS rows of K activations, contracts f32 and f16: [k][TILE], zeros past the last token and past K. */
static void interleave(enum tcb_contract contract, const float *x, size_t x_stride, size_t tokens, size_t tile,
		       size_t k, size_t superblocks, float *out)
{
	for (size_t i = 0; i < superblocks * QMM_VALUES; i++, out += tile)
		for (size_t t = 0; t < tile; t++)
			out[t] = t < tokens && i < k ? qmm_activation(contract, x[t * x_stride + i]) : 0;
}

/* The same for tiles of bf16: [32 values of k][TILE], a superblock after the other, of which the first cache holds all.
 */
static void round_tokens(qmm_round_fn *round, const float *x, size_t x_stride, size_t tokens, size_t tile, size_t k,
			 size_t superblocks, uint8_t *out)
{
	const size_t lines = QMM_VALUES / QMM_LINE_HALVES, apart = tile * QMM_LINE;
	for (size_t b = 0; b < superblocks; b++, out += lines * apart)
		for (size_t t = 0; t < tile; t++) {
			const size_t first = b * QMM_VALUES, count = t < tokens && first < k ? k - first : 0;
			round(count ? x + t * x_stride + first : x, tcb_least(count, QMM_VALUES), lines, apart,
			      out + t * QMM_LINE);
		}
}

/* TOKENS rows of K activations from TOKEN and FIRST on, and how far these are apart. */
static const float *floats_of(const struct job *job, size_t token, size_t tokens, size_t first, size_t k,
			      size_t *stride)
{
	const struct tcb_problem *problem = &job->plan->problem;
	const enum tcb_type type = tcb_quant_x_type(problem);
	const size_t each = tcb_type_bytes(type), apart = tcb_quant_x_stride(problem), own = problem->shape.k;
	const char *from = (const char *)job->x + (token * apart + first) * each;
	*stride = apart;
	if (type == TCB_TYPE_F32)
		return (const float *)(const void *)from;
	float *to = (float *)(void *)(job->workspace + job->parts.x_at) + token * own + first;
	for (size_t i = 0; i < tokens; i++)
		job->types->widen(type, from + i * apart * each, k, to + i * own);
	*stride = own;
	return to;
}

/* One task of preparing activations: the tokens of a register tile, some superblocks. */
static void prepare(void *ctx, size_t task, unsigned thread)
{
	const struct job *job = ctx;
	const struct tcb_shape *s = &job->plan->problem.shape;
	const size_t chunks = tcb_div_up(job->matrix.superblocks, PREPARE_SUPERBLOCKS),
		     tile = job->plan->geometry.tile[TCB_MICRO].m;
	const size_t token = task / chunks * tile, first = task % chunks * PREPARE_SUPERBLOCKS;
	const size_t count = tcb_least(PREPARE_SUPERBLOCKS, job->matrix.superblocks - first);
	const size_t tokens = tcb_least(tile, s->m - token),
		     k = tcb_least(count * QMM_VALUES, s->k - first * QMM_VALUES);
	size_t stride;
	const float *x = floats_of(job, token, tokens, first * QMM_VALUES, k, &stride);
	uint8_t *out = job->workspace + task / chunks * job->parts.tile_bytes + first * tile * job->matrix.token_bytes;
	(void)thread;
	switch (job->matrix.kind) {
	case QMM_PANEL_CODES:
		job->conversions->quantize(job->matrix.format->id, x, stride, tokens, tile, k,
					   (struct qmm_x8 *)(void *)out);
		break;
	case QMM_PANEL_HALVES:
		round_tokens(job->conversions->round, x, stride, tokens, tile, k, count, out);
		break;
	case QMM_PANEL_VALUES:
		interleave(job->plan->problem.contract, x, stride, tokens, tile, k, count, (float *)(void *)out);
	}
}

/* ROWS rows of COLUMNS sums from ROW and COLUMN on become results. */
static void narrow(const struct job *job, size_t row, size_t rows, size_t column, size_t columns)
{
	const struct tcb_problem *problem = &job->plan->problem;
	const enum tcb_type type = tcb_quant_y_type(problem);
	const size_t each = tcb_type_bytes(type), apart = tcb_quant_y_stride(problem);
	for (size_t i = row; has_sums(problem) && i < row + rows; i++)
		job->types->narrow(type, job->sums + i * job->more.stride + column, columns,
				   (char *)job->y + (i * apart + column) * each);
}

/* One macro tile. */
static void run_macro(void *ctx, size_t task, unsigned thread)
{
	const struct job *job = ctx;
	const struct tcb_shape *s = &job->plan->problem.shape;
	const struct tcb_geometry *g = &job->plan->geometry;
	const struct tcb_tile *macro = &g->tile[TCB_MACRO], *midi = &g->tile[TCB_MIDI];
	const size_t token = task / job->macro_columns * macro->m, row = task % job->macro_columns * macro->n;
	const size_t rows_end = row + tcb_least(macro->n, s->n - row);
	uint8_t *scratch = job->workspace + job->parts.threads_at + thread * job->parts.thread_bytes;
	struct qmm_tokens tokens = { .tile = job->tile,
				     .width = g->tile[TCB_MICRO].m,
				     .count = tcb_least(macro->m, s->m - token),
				     .y_stride = job->more.stride };
	tokens.x = job->workspace + token / tokens.width * job->parts.tile_bytes;
	for (size_t n = row; n < rows_end; n += midi->n) {
		const size_t rows = tcb_least(midi->n, rows_end - n);
		tokens.y = job->sums + token * tokens.y_stride + n;
		qmm_multiply_rows(&job->matrix, n, n + rows, &tokens, 1, scratch);
		tcb_quant_add_more(&job->more, token, tokens.count, n, rows, tokens.y);
		narrow(job, token, tokens.count, n, rows);
	}
}

static const struct qmm_conversions *conversions_of(enum tcb_isa isa)
{
#define CONVERSIONS(isa, ID, ...) [TCB_ISA_##ID] = { qmm_unpackers_##isa, qmm_quantize_##isa, QMM_HALVES_##ID },
	static const struct qmm_conversions all[TCB_ISA_COUNT] = { TCB_ISAS_FLOATS(CONVERSIONS, ) };
	return &all[tcb_cpu_isa(isa)->floats];
}

const struct qmm_types *qmm_types_of(enum tcb_isa isa)
{
#define TYPES(isa, ID, ...) [TCB_ISA_##ID] = { qmm_widen_##isa, qmm_narrow_##isa },
	static const struct qmm_types all[TCB_ISA_COUNT] = { TCB_ISAS_FLOATS(TYPES, ) };
	return &all[tcb_cpu_isa(isa)->floats];
}

static void qmm_run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	const struct tcb_shape *s = &plan->problem.shape;
	const struct tcb_geometry *g = &plan->geometry;
	const struct qmm_kernels *kernels = ((qmm_kernels_fn *)plan->variant->entry)();
	const enum tcb_sched sched =
		g->knob[TCB_KNOB_SCHED] == TCB_SCHED_DYNAMIC ? TCB_SCHED_DYNAMIC : TCB_SCHED_STATIC;
	struct job job = {
		.plan = plan,
		.conversions = conversions_of(plan->variant->isa),
		.types = qmm_types_of(plan->variant->isa),
		.x = operand[TCB_QUANT_X],
		.workspace = workspace,
		.y = operand[TCB_QUANT_Y],
		.more = tcb_quant_more(&plan->problem, operand),
		.macro_columns = tcb_div_up(s->n, g->tile[TCB_MACRO].n),
	};
	qmm_matrix_init(&plan->problem, g, &job.matrix);
	job.matrix.weights = operand[TCB_QUANT_WEIGHTS];
	job.matrix.is_packed = plan->variant->layout != TCB_LAYOUT_NATIVE;
	job.matrix.kernels = kernels;
	qmm_matrix_convert(&job.matrix, job.conversions);
	job.parts = lay_out(&plan->problem, &job.matrix);
	job.sums = has_sums(&plan->problem) ? (float *)(void *)(job.workspace + job.parts.y_at) : job.y;
	if (has_sums(&plan->problem))
		job.more.stride = s->n;
	job.tile = job.matrix.from_lines ? kernels->lines : kernels->panel;
	assert(job.tile);
	tcb_pool_run(pool, plan->threads, TCB_SCHED_STATIC,
		     tcb_div_up(s->m, g->tile[TCB_MICRO].m) * tcb_div_up(job.matrix.superblocks, PREPARE_SUPERBLOCKS),
		     prepare, &job);
	tcb_pool_run_last(pool, plan->threads, sched, tcb_div_up(s->m, g->tile[TCB_MACRO].m) * job.macro_columns,
			  run_macro, &job);
}

/* Contract f32: k in order, one fused operation each (the scalar kernels round the product first). */
void qmm_exact(const struct tcb_plan *plan, void *const operand[], float *y)
{
	const struct tcb_shape *s = &plan->problem.shape;
	const struct tcb_format *format = plan->problem.op->format;
	const int fused = plan->variant->isa != TCB_ISA_SCALAR;
	const float *x = operand[TCB_QUANT_X];
	const uint8_t *row = operand[TCB_QUANT_WEIGHTS];
	const struct tcb_quant_more more = tcb_quant_more(&plan->problem, operand);
	assert(plan->problem.contract == TCB_CONTRACT_F32);
	memset(y, 0, s->m * s->n * sizeof(*y));
	for (size_t n = 0; n < s->n; n++, row += tcb_quant_row_bytes(format, s->k))
		for (size_t b = 0; b < s->k / format->block_values; b++) {
			float w[TCB_BLOCK_VALUES_MAX];
			tcb_dequantize(format, row + b * format->block_bytes, 1, w);
			for (size_t m = 0; m < s->m; m++) {
				const float *at = x + m * s->k + b * format->block_values;
				float sum = y[m * s->n + n];
				for (size_t i = 0; i < format->block_values; i++)
					sum = fused ? fmaf(w[i], at[i], sum) : w[i] * at[i] + sum;
				y[m * s->n + n] = sum;
			}
		}
	tcb_quant_add_more(&more, 0, s->m, 0, s->n, y);
}

#define SIDE(id, format, name, ...)                                                                    \
	TCB_VARIANT_TABLES(name##_variants, TCB_ISAS_TILES, qmm_##name)                                \
	const struct tcb_side qmm_##name##_cpu = {                                                     \
		.variants = name##_variants, .space = &qmm_cpu_space, .plan = qmm_plan, .run = qmm_run \
	};
TCB_FORMAT_LIST(SIDE)
