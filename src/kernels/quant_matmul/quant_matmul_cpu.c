/* SPDX-License-Identifier: MIT
 *
 * How a geometry of the quantised matmul becomes a plan for a CPU, and the
 * loops that run it.  Activations are prepared first, by all threads.  Then
 * macro tiles (tokens x rows, all of k) are dealt to threads; within one, midi
 * blocks of rows x k follow each other.  decode=panel: the block is unpacked
 * into the thread's panels before the tokens pass, midi.m of them at a time;
 * decode=regs: register tiles take the packed lines themselves.  Innermost, the
 * weights of a register tile stay in the first cache while tokens pass.
 */
#include "kernels/quant_matmul/quant_matmul_cpu.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "base/util.h"
#include "kernels/quant.h"
#include "kernels/quant_matmul/quant_matmul_pack.h"

enum {
	PREPARE_SUPERBLOCKS = 8, /* of a task that prepares activations */
	PAGE = 4096,             /* threads' panels start on pages of their own */
};

/* Where things are in the workspace, and how large. */
struct parts {
	size_t superblocks;  /* along k */
	size_t token_bytes;  /* one superblock of one token, prepared */
	size_t tile_bytes;   /* the tokens of a register tile, all of k */
	size_t panel_bytes;  /* one superblock of a row group, unpacked */
	size_t group_bytes;  /* a row group over midi.k, unpacked */
	size_t threads_at;   /* panels of the first thread */
	size_t thread_bytes; /* lines of one superblock, then panels */
	size_t midi_superblocks;
};

static size_t knob(const struct tcb_geometry *geometry, enum tcb_knob which, size_t unset)
{
	return geometry->knob[which] == TCB_KNOB_UNSET ? unset : (size_t)geometry->knob[which];
}

static int from_lines(const struct tcb_geometry *geometry)
{
	return geometry->knob[TCB_KNOB_DECODE] == TCB_DECODE_REGS;
}

static struct parts lay_out(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	const struct tcb_format *format = problem->op->format;
	const struct tcb_tile *midi = &geometry->tile[TCB_MIDI], *micro = &geometry->tile[TCB_MICRO];
	const int q8 = problem->contract == TCB_CONTRACT_Q8;
	struct parts parts = { .superblocks = tcb_div_up(problem->shape.k, QMM_VALUES) };
	parts.token_bytes = q8 ? sizeof(struct qmm_x8) : QMM_VALUES * sizeof(float);
	parts.tile_bytes = parts.superblocks * micro->m * parts.token_bytes;
	parts.panel_bytes = q8 ? qmm_panel_bytes(format->id) : sizeof(struct qmm_values);
	parts.midi_superblocks = tcb_div_up(midi->k, QMM_VALUES);
	parts.group_bytes = parts.midi_superblocks * parts.panel_bytes;
	parts.threads_at = tcb_div_up(problem->shape.m, micro->m) * parts.tile_bytes;
	parts.threads_at = tcb_div_up(parts.threads_at, PAGE) * PAGE;
	if (!from_lines(geometry))
		parts.thread_bytes =
			tcb_div_up(QMM_LINES_MAX * QMM_LINE + tcb_div_up(midi->n, QMM_ROWS) * parts.group_bytes, PAGE) *
			PAGE;
	return parts;
}

double qmm_q8_chain(const struct tcb_problem *problem)
{
	const enum tcb_format_id format = problem->op->format->id;
	const size_t superblocks = tcb_div_up(problem->shape.k, QMM_VALUES);
	const int terms = QMM_VALUES / qmm_run_values(format) << qmm_has_offsets(format);
	if (tcb_quant_group(problem->op->format) < QMM_VALUES)
		return terms * (double)superblocks + 1 + 3;
	return (double)superblocks + terms + 1 + 3;
}

static enum tcb_status qmm_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				struct tcb_plan *out, struct tcb_error *err)
{
	const struct tcb_op *op = problem->op;
	const struct tcb_variant *variant = tcb_variant_find(op, problem->contract, geometry);
	const char *why;
	memset(out, 0, sizeof(*out));
	if (!variant || !variant->entry) {
		char text[TCB_GEOMETRY_TEXT_MAX];
		tcb_geometry_print(geometry, text);
		return tcb_fail(err, TCB_E_ILLEGAL, "%s has no %s variant for %s", op->name,
				tcb_contract_text(problem->contract), text);
	}
	TCB_TRY(tcb_quant_check_shape(op, &problem->shape, err));
	if ((why = qmm_cpu_refused(problem, geometry)))
		return tcb_fail(err, TCB_E_ILLEGAL, "%s: %s", op->name, why);
	const struct parts parts = lay_out(problem, geometry);
	out->problem = *problem;
	out->geometry = *geometry;
	out->variant = variant;
	out->threads = (unsigned)knob(geometry, TCB_KNOB_THREADS, 1);
	if (variant->layout != TCB_LAYOUT_NATIVE)
		out->packed_bytes[TCB_QUANT_WEIGHTS] = tcb_lines_bytes(problem);
	if (tcb_mul_size(out->threads, parts.thread_bytes, &out->workspace_bytes) ||
	    tcb_add_size(out->workspace_bytes, parts.threads_at, &out->workspace_bytes))
		return tcb_fail(err, TCB_E_OVERFLOW, "%s: the panels of %u threads are too large", op->name,
				out->threads);
	/* f32: one fused operation a value. */
	out->chain = problem->contract == TCB_CONTRACT_Q8 ? qmm_q8_chain(problem) : 2 * (double)problem->shape.k;
	return TCB_OK;
}

/* One call of qmm_run(), shared by its threads. */
struct job {
	const struct tcb_plan *plan;
	const struct tcb_format *format;
	const struct qmm_unpacker *unpacker;
	qmm_unpack_fn *unpack;
	qmm_tile_fn *tile;
	qmm_quantize_fn *quantize;
	struct parts parts;
	const uint8_t *weights;
	size_t row_bytes;   /* of weights as stored */
	size_t lines_bytes; /* of one superblock of a row group as lines */
	const float *x;
	uint8_t *workspace;
	float *y;
	size_t macro_columns; /* macro tiles along n */
	size_t prefetch;
	enum tcb_hint hint;
};

static int is_packed(const struct job *job)
{
	return job->plan->variant->layout != TCB_LAYOUT_NATIVE;
}

/* TOKENS rows of K activations, contract f32: [k][TILE], zeros past the last token and past K. */
static void interleave(const float *x, size_t x_stride, size_t tokens, size_t tile, size_t k, size_t superblocks,
		       float *out)
{
	for (size_t i = 0; i < superblocks * QMM_VALUES; i++, out += tile)
		for (size_t t = 0; t < tile; t++)
			out[t] = t < tokens && i < k ? x[t * x_stride + i] : 0;
}

/* One task of preparing activations: the tokens of a register tile, some superblocks. */
static void prepare(void *ctx, size_t task, unsigned thread)
{
	const struct job *job = ctx;
	const struct tcb_shape *s = &job->plan->problem.shape;
	const size_t chunks = tcb_div_up(job->parts.superblocks, PREPARE_SUPERBLOCKS),
		     tile = job->plan->geometry.tile[TCB_MICRO].m;
	const size_t token = task / chunks * tile, first = task % chunks * PREPARE_SUPERBLOCKS;
	const size_t count = tcb_least(PREPARE_SUPERBLOCKS, job->parts.superblocks - first);
	const size_t tokens = tcb_least(tile, s->m - token),
		     k = tcb_least(count * QMM_VALUES, s->k - first * QMM_VALUES);
	const float *x = job->x + token * s->k + first * QMM_VALUES;
	uint8_t *out = job->workspace + task / chunks * job->parts.tile_bytes + first * tile * job->parts.token_bytes;
	(void)thread;
	if (job->plan->problem.contract == TCB_CONTRACT_Q8)
		job->quantize(job->format->id, x, s->k, tokens, tile, k, (struct qmm_x8 *)(void *)out);
	else
		interleave(x, s->k, tokens, tile, k, count, (float *)(void *)out);
}

static void prefetch_line(const uint8_t *at, enum tcb_hint hint)
{
	if (hint == TCB_HINT_T0)
		__builtin_prefetch(at, 0, 3);
	else if (hint == TCB_HINT_T1)
		__builtin_prefetch(at, 0, 2);
	else
		__builtin_prefetch(at, 0, 0);
}

/* A block of weights of one thread: row groups from GROUP on, superblocks from FIRST on. */
struct block {
	size_t group, groups, first, superblocks;
};

static const uint8_t *lines_of(const struct job *job, size_t group, size_t superblock)
{
	return job->weights + (group * job->parts.superblocks + superblock) * job->lines_bytes;
}

/* Weights as stored: SUPERBLOCK of GROUP as lines. */
static void gather(const struct job *job, size_t group, size_t superblock, uint8_t *lines)
{
	const struct tcb_shape *s = &job->plan->problem.shape;
	const size_t rows = tcb_least(QMM_ROWS, s->n - group * QMM_ROWS),
		     values = tcb_least(QMM_VALUES, s->k - superblock * QMM_VALUES);
	const size_t bytes = QMM_VALUES / job->format->block_values * job->format->block_bytes;
	const uint8_t *at = job->weights + group * QMM_ROWS * job->row_bytes + superblock * bytes;
	for (size_t r = 0; job->prefetch && r < rows; r++)
		for (size_t b = 0; b < bytes; b += QMM_LINE)
			prefetch_line(at + r * job->row_bytes + b + job->prefetch, job->hint);
	job->unpacker->gather(at, job->row_bytes, rows, values, lines);
}

/* Unpacks BLOCK into PANELS. */
static void unpack_block(const struct job *job, const struct block *block, uint8_t *scratch, uint8_t *panels)
{
	for (size_t g = 0; g < block->groups; g++) {
		uint8_t *panel = panels + g * job->parts.group_bytes;
		for (size_t b = 0; b < block->superblocks; b++, panel += job->parts.panel_bytes) {
			const uint8_t *lines = scratch;
			if (is_packed(job)) {
				lines = lines_of(job, block->group + g, block->first + b);
				for (size_t at = 0; job->prefetch && at < job->lines_bytes; at += QMM_LINE)
					prefetch_line(lines + at + job->prefetch, job->hint);
			} else {
				gather(job, block->group + g, block->first + b, scratch);
			}
			job->unpack(lines, panel);
		}
	}
}

/* All tokens from TOKEN to TOKENS_END times the rows of BLOCK up to ROWS_END. */
static void multiply_block(const struct job *job, const struct block *block, const uint8_t *panels, size_t token,
			   size_t tokens_end, size_t rows_end)
{
	const struct tcb_shape *s = &job->plan->problem.shape;
	const struct tcb_tile *micro = &job->plan->geometry.tile[TCB_MICRO];
	const int lines = from_lines(&job->plan->geometry);
	const size_t stride = lines ? job->parts.superblocks * job->lines_bytes : job->parts.group_bytes;
	const uint8_t *const base = lines ? lines_of(job, block->group, block->first) : panels;
	const size_t start = block->group * QMM_ROWS;
	struct qmm_call call = { .y_stride = s->n,
				 .superblocks = block->superblocks,
				 .values = tcb_least(block->superblocks * QMM_VALUES, s->k - block->first * QMM_VALUES),
				 .accumulate = block->first > 0,
				 .prefetch = job->prefetch,
				 .hint = job->hint };
	for (size_t n = start; n < rows_end; n += micro->n) {
		call.rows = tcb_least(micro->n, rows_end - n);
		call.weights = base + (n - start) / QMM_ROWS * stride + (n - start) % QMM_ROWS * 4;
		/* A tile of two groups where there is one group only takes that one twice. */
		call.group_bytes = call.rows > QMM_ROWS ? stride : 0;
		for (size_t m = token; m < tokens_end; m += micro->m) {
			call.tokens = tcb_least(micro->m, tokens_end - m);
			call.x = job->workspace + m / micro->m * job->parts.tile_bytes +
				 block->first * micro->m * job->parts.token_bytes;
			call.y = job->y + m * s->n + n;
			job->tile(&call);
		}
	}
}

/* One macro tile. */
static void run_macro(void *ctx, size_t task, unsigned thread)
{
	const struct job *job = ctx;
	const struct tcb_shape *s = &job->plan->problem.shape;
	const struct tcb_geometry *g = &job->plan->geometry;
	const struct tcb_tile *macro = &g->tile[TCB_MACRO], *midi = &g->tile[TCB_MIDI];
	const size_t token = task / job->macro_columns * macro->m, row = task % job->macro_columns * macro->n;
	const size_t tokens_end = token + tcb_least(macro->m, s->m - token),
		     rows_end = row + tcb_least(macro->n, s->n - row);
	uint8_t *scratch = job->workspace + job->parts.threads_at + thread * job->parts.thread_bytes;
	uint8_t *panels = scratch + QMM_LINES_MAX * QMM_LINE;
	for (size_t n = row; n < rows_end; n += midi->n) {
		const size_t n_end = n + tcb_least(midi->n, rows_end - n);
		for (size_t k = 0; k < job->parts.superblocks; k += job->parts.midi_superblocks) {
			const struct block block = { n / QMM_ROWS, tcb_div_up(n_end - n, QMM_ROWS), k,
						     tcb_least(job->parts.midi_superblocks,
							       job->parts.superblocks - k) };
			if (!from_lines(g))
				unpack_block(job, &block, scratch, panels);
			for (size_t m = token; m < tokens_end; m += midi->m)
				multiply_block(job, &block, panels, m, m + tcb_least(midi->m, tokens_end - m), n_end);
		}
	}
}

/* What brings weights and activations into the order of the kernels, by the family that does arithmetic on floats. */
struct conversions {
	const struct qmm_unpacker *unpackers;
	qmm_quantize_fn *quantize;
};

static const struct conversions *conversions_of(enum tcb_isa isa)
{
#define CONVERSIONS(isa, ID, ...) [TCB_ISA_##ID] = { qmm_unpackers_##isa, qmm_quantize_##isa },
	static const struct conversions all[TCB_ISA_COUNT] = { TCB_ISAS_FLOATS(CONVERSIONS, ) };
	return &all[tcb_cpu_isa(isa)->floats];
}

static void qmm_run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	const struct tcb_shape *s = &plan->problem.shape;
	const struct tcb_geometry *g = &plan->geometry;
	const struct qmm_kernels *kernels = ((qmm_kernels_fn *)plan->variant->entry)();
	const enum tcb_sched sched =
		g->knob[TCB_KNOB_SCHED] == TCB_SCHED_DYNAMIC ? TCB_SCHED_DYNAMIC : TCB_SCHED_STATIC;
	const int q8 = plan->problem.contract == TCB_CONTRACT_Q8;
	struct job job = {
		.plan = plan,
		.format = plan->problem.op->format,
		.unpacker = conversions_of(plan->variant->isa)->unpackers,
		.tile = from_lines(g) ? kernels->lines : kernels->panel,
		.quantize = conversions_of(plan->variant->isa)->quantize,
		.parts = lay_out(&plan->problem, g),
		.weights = operand[TCB_QUANT_WEIGHTS],
		.x = operand[TCB_QUANT_X],
		.workspace = workspace,
		.y = operand[TCB_QUANT_Y],
		.macro_columns = tcb_div_up(s->n, g->tile[TCB_MACRO].n),
		.prefetch = knob(g, TCB_KNOB_PREFETCH, 0),
		.hint = (enum tcb_hint)knob(g, TCB_KNOB_HINT, TCB_HINT_T0),
	};
	job.unpacker += job.format->id;
	job.unpack = q8 ? job.unpacker->panel : job.unpacker->values;
	job.row_bytes = tcb_quant_row_bytes(job.format, s->k);
	job.lines_bytes = tcb_lines(job.format->id) * QMM_LINE;
	assert(job.tile);
	tcb_pool_run(pool, plan->threads, TCB_SCHED_STATIC,
		     tcb_div_up(s->m, g->tile[TCB_MICRO].m) * tcb_div_up(job.parts.superblocks, PREPARE_SUPERBLOCKS),
		     prepare, &job);
	tcb_pool_run(pool, plan->threads, sched, tcb_div_up(s->m, g->tile[TCB_MACRO].m) * job.macro_columns, run_macro,
		     &job);
}

/* Contract f32: k in order, one fused operation each (the scalar kernels round the product first). */
void qmm_exact(const struct tcb_plan *plan, void *const operand[], float *y)
{
	const struct tcb_shape *s = &plan->problem.shape;
	const struct tcb_format *format = plan->problem.op->format;
	const int fused = plan->variant->isa != TCB_ISA_SCALAR;
	const float *x = operand[TCB_QUANT_X];
	const uint8_t *row = operand[TCB_QUANT_WEIGHTS];
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
}

#define SIDE(id, format, name, ...)                                                                    \
	TCB_VARIANT_TABLES(name##_variants, TCB_ISAS_TILES, qmm_##name)                                \
	const struct tcb_side qmm_##name##_cpu = {                                                     \
		.variants = name##_variants, .space = &qmm_cpu_space, .plan = qmm_plan, .run = qmm_run \
	};
TCB_FORMAT_LIST(SIDE)
