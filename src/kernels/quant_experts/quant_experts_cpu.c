/* SPDX-License-Identifier: MIT
 *
 * How products of experts run on a CPU.  Three steps, each by all threads when
 * the one before is done: the products [t][u] are put in order of their experts
 * (a counting sort); each row of activations is prepared once, into the register
 * tiles of all experts that it goes to; then work is claimed: an expert's rows,
 * macro.n of them, times macro.m of its tokens.  An expert whose tokens do not
 * fill the last tile has a narrower one for the rest, so that few tokens cost
 * little.  Results of a block go through a thread's scratch to the tokens' rows
 * of y; sums over experts are made by whoever has these rows of all experts, in
 * the order of experts, so that they do not depend on the threads.
 */
#include "kernels/quant_experts/quant_experts_cpu.h"

#include <assert.h>
#include <string.h>

#include "base/gang.h"
#include "base/sizes.h"
#include "kernels/quant_lines.h"
#include "kernels/quant_matmul/quant_matmul_cpu.h"

enum { PREPARE_SUPERBLOCKS = 8, PAGE = 4096, LINE = 64, TILES_MAX = 8 };

static size_t tile_m(const struct tcb_plan *plan)
{
	return plan->geometry.tile[TCB_MICRO].m;
}

/* --- the workspace --- */

/* Products by experts, those of no expert behind all others: expert e has order[first[e]] to order[first[e + 1] - 1],
 * tokens from place[e] on, tiles filled up, and chunks of macro.m from chunk[e] on. */
struct routing {
	uint32_t *first, *place, *chunk; /* of experts + 2 */
	uint32_t *order, *rank;          /* of products: who has a place, and which of its expert's */
};

struct parts {
	size_t x_at, threads_at, thread_bytes, bytes; /* bytes 0: too large */
	size_t y_at, up_at;                           /* in a thread's part: results of a block */
};

static size_t table_bytes(const struct tcb_shape *s)
{
	return tcb_round_up((3 * (qex_experts(s) + 2) + 2 * qex_pairs(s)) * sizeof(uint32_t), PAGE);
}

static struct routing routing_at(const struct tcb_shape *s, void *workspace)
{
	const size_t bounds = qex_experts(s) + 2;
	struct routing routing = { .first = workspace };
	routing.place = routing.first + bounds;
	routing.chunk = routing.place + bounds;
	routing.order = routing.chunk + bounds;
	routing.rank = routing.order + qex_pairs(s);
	return routing;
}

/* A block's results have as many tokens as an expert's chunk; all products may be one expert's. */
static size_t block_floats(const struct tcb_plan *plan)
{
	const struct tcb_geometry *g = &plan->geometry;
	return tcb_least(g->tile[TCB_MACRO].m, qex_pairs(&plan->problem.shape)) * g->tile[TCB_MIDI].n;
}

static struct parts lay_out(const struct tcb_plan *plan, const struct qmm_matrix *matrix)
{
	const struct tcb_shape *s = &plan->problem.shape;
	const struct qex_kind *kind = qex_kind(&plan->problem);
	/* Each expert may have a tile that one token fills. */
	const size_t places = qex_pairs(s) + tcb_least(qex_experts(s), qex_pairs(s)) * (tile_m(plan) - 1);
	const size_t block = tcb_round_up(block_floats(plan) * sizeof(float), LINE);
	const size_t prepared = PREPARE_SUPERBLOCKS * matrix->token_bytes;
	struct parts parts = { .x_at = table_bytes(s) };
	size_t x_bytes, threads_bytes;
	parts.y_at = tcb_round_up(tcb_most(matrix->scratch_bytes, prepared), LINE);
	parts.up_at = parts.y_at + block;
	parts.thread_bytes = tcb_round_up(parts.up_at + (kind->is_gated ? block : 0), PAGE);
	if (tcb_mul_size(places, matrix->superblocks * matrix->token_bytes, &x_bytes) ||
	    tcb_add_size(x_bytes, parts.x_at + PAGE, &parts.threads_at) ||
	    tcb_mul_size(plan->threads, parts.thread_bytes, &threads_bytes))
		return parts;
	parts.threads_at = tcb_round_up(parts.x_at + x_bytes, PAGE);
	if (tcb_add_size(parts.threads_at, threads_bytes, &parts.bytes))
		parts.bytes = 0;
	return parts;
}

/* --- the plan --- */

static enum tcb_status qex_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				struct tcb_plan *out, struct tcb_error *err)
{
	const struct tcb_op *op = problem->op;
	const struct qex_kind *kind = qex_kind(problem);
	struct qmm_matrix matrix;
	TCB_TRY(qmm_plan_begin(problem, geometry, out, err));
	if (out->variant->layout != TCB_LAYOUT_NATIVE)
		out->packed_bytes[TCB_QUANT_WEIGHTS] = qex_experts(&problem->shape) * tcb_lines_bytes(problem);
	if (kind->is_gated)
		out->packed_bytes[QEX_UP] = out->packed_bytes[TCB_QUANT_WEIGHTS];
	qmm_matrix_init(problem, geometry, &matrix);
	out->workspace_bytes = lay_out(out, &matrix).bytes;
	if (!out->workspace_bytes)
		return tcb_fail(err, TCB_E_OVERFLOW, "%s: what %u threads prepare and unpack is too large", op->name,
				out->threads);
	const struct tcb_words *words = &problem->shape.words;
	/* A bias; exp's argument and its factor; a product and an addition of each expert, the first addition to 0. */
	out->chain = qmm_chain(problem, geometry) + words->bias + kind->is_gated + words->oai + words->gelu +
		     (kind->is_summed ? (double)qex_used(&problem->shape) + 1 : 0);
	out->ulps = !kind->is_gated ? 0 : words->oai ? QEX_GATE_OAI_ULPS : QMV_GATE_ULPS;
	return TCB_OK;
}

/* --- one call, shared by its threads --- */

struct tile {
	size_t width;
	qmm_tile_fn *panel, *lines; /* lines NULL: not of this kind of weights */
	const struct qmm_kernels *kernels;
};

struct job {
	const struct tcb_plan *plan;
	const struct qex_kernels *kernels;
	const struct qex_kind *kind;
	struct qmm_matrix matrix, up;
	struct tile tile[TILES_MAX]; /* by width; the last is the variant's */
	size_t tile_count;
	struct parts parts;
	struct routing routing;
	const int32_t *ids;
	const float *x, *factors, *bias, *up_bias; /* biases NULL: there are none */
	qmv_gate_fn *gate;
	uint8_t *workspace;
	float *y;
	size_t matrix_bytes, row_blocks, x_chunks;
};

/* TILES as wide in rows as the variant, and no wider in tokens, by their width; of two of one width the first. */
static void add_tiles(struct job *job, const struct tcb_variant *tiles)
{
	const struct tcb_variant *own = job->plan->variant;
	for (; tiles && tiles->name; tiles++) {
		const struct qmm_kernels *kernels = ((qmm_kernels_fn *)tiles->entry)();
		size_t at = 0;
		if (tiles->contract != own->contract || tiles->layout != own->layout ||
		    tiles->micro.n != own->micro.n || tiles->micro.m > own->micro.m)
			continue;
		while (at < job->tile_count && job->tile[at].width < tiles->micro.m)
			at++;
		if ((at < job->tile_count && job->tile[at].width == tiles->micro.m) || job->tile_count == TILES_MAX)
			continue;
		memmove(&job->tile[at + 1], &job->tile[at], (job->tile_count++ - at) * sizeof(job->tile[0]));
		job->tile[at] = (struct tile){ tiles->micro.m, kernels->panel,
					       job->matrix.is_packed ? kernels->lines : NULL, kernels };
	}
}

/* The narrowest for COUNT tokens, fewer than the variant's. */
static const struct tile *tile_for(const struct job *job, size_t count)
{
	size_t at = 0;
	while (job->tile[at].width < count)
		at++;
	return &job->tile[at];
}

static size_t experts_of(const struct job *job)
{
	return qex_experts(&job->plan->problem.shape);
}

/* Where product PAIR belongs: an expert, or behind all. */
static size_t expert_of(const struct job *job, size_t pair)
{
	const size_t experts = experts_of(job), id = (uint32_t)job->ids[pair];
	return id < experts ? id : experts;
}

static size_t count_of(const struct job *job, size_t expert)
{
	return job->routing.first[expert + 1] - job->routing.first[expert];
}

/* The counting sort: one thread's. */
static void sort(void *ctx, size_t task, unsigned thread)
{
	struct job *job = ctx;
	const struct routing *to = &job->routing;
	const size_t experts = experts_of(job), pairs = qex_pairs(&job->plan->problem.shape);
	const size_t macro_m = job->plan->geometry.tile[TCB_MACRO].m, full = tile_m(job->plan);
	(void)task, (void)thread;
	memset(to->first, 0, (experts + 2) * sizeof(uint32_t));
	for (size_t i = 0; i < pairs; i++)
		to->rank[i] = to->first[expert_of(job, i) + 1]++;
	to->place[0] = to->chunk[0] = 0;
	for (size_t e = 0; e <= experts; e++) {
		const size_t count = to->first[e + 1], rest = count % full;
		to->first[e + 1] += to->first[e];
		to->place[e + 1] = to->place[e] + (uint32_t)(count - rest + (rest ? tile_for(job, rest)->width : 0));
		to->chunk[e + 1] = to->chunk[e] + (uint32_t)tcb_div_up(count, macro_m);
	}
	for (size_t i = 0; i < pairs; i++)
		to->order[to->first[expert_of(job, i)] + to->rank[i]] = (uint32_t)i;
}

/* --- activations --- */

/* Token INDEX of EXPERT's: where its tile begins, its place in it, and how wide it is. */
struct place {
	uint8_t *tile;
	size_t lane, width;
};

static struct place place_of(const struct job *job, size_t expert, size_t index)
{
	const size_t count = count_of(job, expert), full = tile_m(job->plan), begin = index / full * full;
	struct place place = { .lane = index - begin, .width = full };
	if (count - begin < full)
		place.width = tile_for(job, count - begin)->width;
	place.tile = job->workspace + job->parts.x_at +
		     (job->routing.place[expert] + begin) * job->matrix.superblocks * job->matrix.token_bytes;
	return place;
}

/* Superblocks FIRST to FIRST + COUNT - 1 of a token to its PLACE.  f32, f16: [value][token], for tiles of bf16
 * [32 values][token]; q8: [superblock][token]. */
static void put_codes(const struct place *place, size_t first, size_t count, const struct qmm_x8 *codes)
{
	struct qmm_x8 *to = (struct qmm_x8 *)(void *)place->tile + first * place->width + place->lane;
	for (size_t b = 0; b < count; b++)
		to[b * place->width] = codes[b];
}

static void put_floats(enum tcb_contract contract, const struct place *place, size_t first, size_t count, size_t values,
		       const float *x)
{
	float *to = (float *)(void *)place->tile + first * QMM_VALUES * place->width + place->lane;
	for (size_t i = 0; i < count * QMM_VALUES; i++)
		to[i * place->width] = i < values ? qmm_activation(contract, x[i]) : 0;
}

static void put_halves(qmm_round_fn *round, const struct place *place, size_t first, size_t count, size_t values,
		       const float *x)
{
	const size_t lines = QMM_VALUES / QMM_LINE_HALVES, apart = place->width * QMM_LINE;
	round(x, values, count * lines, apart, place->tile + first * lines * apart + place->lane * QMM_LINE);
}

/* COUNT superblocks of a token, which hold VALUES values, as CODES or as they are at X. */
static void put(const struct job *job, const struct place *place, size_t first, size_t count, size_t values,
		const struct qmm_x8 *codes, const float *x)
{
	switch (job->matrix.kind) {
	case QMM_PANEL_CODES:
		put_codes(place, first, count, codes);
		break;
	case QMM_PANEL_HALVES:
		put_halves(job->kernels->conversions.round, place, first, count, values, x);
		break;
	case QMM_PANEL_VALUES:
		put_floats(job->plan->problem.contract, place, first, count, values, x);
	}
}

/* Row ROW of x from superblock FIRST on, to all experts that it goes to. */
static void prepare_row(const struct job *job, size_t row, size_t first, unsigned thread)
{
	const struct tcb_shape *s = &job->plan->problem.shape;
	const size_t used = qex_has_rows_each(&job->plan->problem) ? 1 : qex_used(s);
	const size_t count = tcb_least(PREPARE_SUPERBLOCKS, job->matrix.superblocks - first);
	const size_t values = tcb_least(count * QMM_VALUES, s->k - first * QMM_VALUES);
	const float *x = job->x + row * s->k + first * QMM_VALUES;
	void *codes = job->workspace + job->parts.threads_at + thread * job->parts.thread_bytes;
	if (job->matrix.kind == QMM_PANEL_CODES)
		job->kernels->conversions.quantize(job->matrix.format->id, x, s->k, 1, 1, values, codes);
	for (size_t pair = row * used; pair < (row + 1) * used; pair++) {
		const size_t expert = expert_of(job, pair);
		if (expert == experts_of(job)) {
			if (first == 0 && !job->kind->is_summed)
				memset(job->y + pair * s->n, 0, s->n * sizeof(float));
			continue;
		}
		const struct place place = place_of(job, expert, job->routing.rank[pair]);
		put(job, &place, first, count, values, codes, x);
	}
}

/* Zeros for what no token has of EXPERT's last tile. */
static void fill_up(const struct job *job, size_t expert)
{
	static const struct qmm_x8 none[PREPARE_SUPERBLOCKS];
	const size_t count = count_of(job, expert), rest = count % tile_m(job->plan);
	struct place place = { .width = 0 };
	if (rest)
		place = place_of(job, expert, count - 1);
	for (place.lane = rest; place.lane < place.width; place.lane++)
		for (size_t first = 0; first < job->matrix.superblocks; first += PREPARE_SUPERBLOCKS) {
			const size_t blocks = tcb_least(PREPARE_SUPERBLOCKS, job->matrix.superblocks - first);
			put(job, &place, first, blocks, 0, none, NULL);
		}
}

static size_t x_rows(const struct job *job)
{
	const struct tcb_problem *problem = &job->plan->problem;
	return qex_has_rows_each(problem) ? qex_pairs(&problem->shape) : problem->shape.m;
}

/* Tasks: some superblocks of a row of x, then one for each expert. */
static void prepare(void *ctx, size_t task, unsigned thread)
{
	const struct job *job = ctx;
	const size_t rows = x_rows(job) * job->x_chunks;
	if (task < rows)
		prepare_row(job, task / job->x_chunks, task % job->x_chunks * PREPARE_SUPERBLOCKS, thread);
	else
		fill_up(job, task - rows);
}

/* --- products --- */

/* COUNT tokens from PLACE on in tiles of TILE. */
static struct qmm_tokens tokens_of(const struct tile *tile, int from_lines, struct place place, size_t count, float *y,
				   size_t y_stride)
{
	return (struct qmm_tokens){
		from_lines ? tile->lines : tile->panel, tile->width, count, place.tile, y, y_stride
	};
}

/*
 * Rows FIRST to END - 1 of an expert, midi.n or fewer, times COUNT of its tokens from TOKEN on, at a thread's Y.  What
 * one tile alone would read is not unpacked for it, where the kernels can do without.
 */
static void multiply(const struct job *job, struct qmm_matrix matrix, size_t expert, size_t first, size_t end,
		     size_t token, size_t count, uint8_t *scratch, float *y)
{
	const size_t full = tile_m(job->plan), rest = count % full, rows = end - first;
	const struct tile *own = &job->tile[job->tile_count - 1], *narrow = rest ? tile_for(job, rest) : own;
	struct qmm_tokens sets[2];
	size_t set_count = 0;
	matrix.weights += expert * job->matrix_bytes;
	matrix.from_lines |= count <= full && narrow->lines;
	if (count >= full)
		sets[set_count++] =
			tokens_of(own, matrix.from_lines, place_of(job, expert, token), count - rest, y, rows);
	if (rest)
		sets[set_count++] = tokens_of(narrow, matrix.from_lines, place_of(job, expert, token + count - 1), rest,
					      y + (count - rest) * rows, rows);
	qmm_multiply_rows(&matrix, first, end, sets, set_count, scratch);
}

/* What is done with a block's results: rows FIRST on of EXPERT's, ROWS of them. */
static void put_results(const struct job *job, size_t expert, const uint32_t *pairs, size_t count, size_t first,
			size_t rows, float *y, float *up)
{
	const struct tcb_shape *s = &job->plan->problem.shape;
	const size_t at = expert * s->n + first;
	for (size_t i = 0; i < count; i++, y += rows, up += rows) {
		const size_t pair = pairs[i];
		if (job->bias)
			job->kernels->add(y, job->bias + at, 1, rows);
		if (job->up_bias)
			job->kernels->add(up, job->up_bias + at, 1, rows);
		if (job->kind->is_summed) {
			job->kernels->add(job->y + pair / qex_used(s) * s->n + first, y, job->factors[pair], rows);
			continue;
		}
		if (job->kind->is_gated)
			job->gate(y, up, rows);
		memcpy(job->y + pair * s->n + first, y, rows * sizeof(float));
	}
}

/* Chunk CHUNK of EXPERT's tokens times row block ROW_BLOCK of its matrix. */
static void run_chunk(const struct job *job, size_t expert, size_t chunk, size_t row_block, unsigned thread)
{
	const struct tcb_geometry *g = &job->plan->geometry;
	const size_t macro_m = g->tile[TCB_MACRO].m, macro_n = g->tile[TCB_MACRO].n, midi_n = g->tile[TCB_MIDI].n;
	const size_t token = chunk * macro_m, count = tcb_least(macro_m, count_of(job, expert) - token);
	const size_t end = row_block * macro_n + tcb_least(macro_n, job->matrix.n - row_block * macro_n);
	const uint32_t *pairs = job->routing.order + job->routing.first[expert] + token;
	uint8_t *scratch = job->workspace + job->parts.threads_at + thread * job->parts.thread_bytes;
	float *y = (float *)(void *)(scratch + job->parts.y_at), *up = (float *)(void *)(scratch + job->parts.up_at);
	for (size_t n = row_block * macro_n; n < end; n += midi_n) {
		const size_t n_end = n + tcb_least(midi_n, end - n);
		multiply(job, job->matrix, expert, n, n_end, token, count, scratch, y);
		if (job->kind->is_gated)
			multiply(job, job->up, expert, n, n_end, token, count, scratch, up);
		put_results(job, expert, pairs, count, n, n_end - n, y, up);
	}
}

/* A task is a chunk of an expert's tokens times a row block; those of the same rows follow each other. */
static void run_task(void *ctx, size_t task, unsigned thread)
{
	const struct job *job = ctx;
	const uint32_t *chunk = job->routing.chunk;
	size_t expert = 0, above = experts_of(job);
	while (above - expert > 1) {
		const size_t middle = expert + (above - expert) / 2;
		if (chunk[middle] * job->row_blocks <= task)
			expert = middle;
		else
			above = middle;
	}
	const size_t chunks = chunk[expert + 1] - chunk[expert], in = task - chunk[expert] * job->row_blocks;
	run_chunk(job, expert, in % chunks, in / chunks, thread);
}

/* A row block of all experts: sums are this thread's alone. */
static void run_sums(void *ctx, size_t task, unsigned thread)
{
	const struct job *job = ctx;
	const struct tcb_shape *s = &job->plan->problem.shape;
	const size_t macro_n = job->plan->geometry.tile[TCB_MACRO].n, first = task * macro_n;
	for (size_t t = 0; t < s->m; t++)
		memset(job->y + t * s->n + first, 0, tcb_least(macro_n, s->n - first) * sizeof(float));
	for (size_t e = 0; e < experts_of(job); e++)
		for (size_t c = 0; c < job->routing.chunk[e + 1] - job->routing.chunk[e]; c++)
			run_chunk(job, e, c, task, thread);
}

static void qex_run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	const struct tcb_problem *problem = &plan->problem;
	const struct tcb_geometry *g = &plan->geometry;
	const enum tcb_sched sched =
		g->knob[TCB_KNOB_SCHED] == TCB_SCHED_DYNAMIC ? TCB_SCHED_DYNAMIC : TCB_SCHED_STATIC;
	struct job job = {
		.plan = plan,
		.kernels = ((qex_kernels_fn *)plan->variant->entry)(),
		.kind = qex_kind(problem),
		.routing = routing_at(&problem->shape, workspace),
		.ids = operand[QEX_IDS],
		.x = operand[TCB_QUANT_X],
		.workspace = workspace,
		.y = operand[TCB_QUANT_Y],
		.row_blocks = tcb_div_up(problem->shape.n, g->tile[TCB_MACRO].n),
	};
	qmm_matrix_init(problem, g, &job.matrix);
	job.matrix.weights = operand[TCB_QUANT_WEIGHTS];
	job.matrix.is_packed = plan->variant->layout != TCB_LAYOUT_NATIVE;
	qmm_matrix_convert(&job.matrix, &job.kernels->conversions);
	job.matrix_bytes = job.matrix.is_packed ? tcb_lines_bytes(problem) : job.matrix.n * job.matrix.row_bytes;
	job.up = job.matrix;
	if (job.kind->is_gated)
		job.up.weights = operand[QEX_UP];
	if (job.kind->is_summed)
		job.factors = operand[QEX_FACTORS];
	if (problem->shape.words.bias)
		job.bias = operand[qex_bias(problem)];
	if (problem->shape.words.bias && job.kind->is_gated)
		job.up_bias = operand[qex_bias(problem) + 1];
	job.gate = problem->shape.words.oai    ? job.kernels->gate_oai
		   : problem->shape.words.gelu ? tcb_gelu_gate(plan->variant->isa)
					       : job.kernels->gate;
	job.x_chunks = tcb_div_up(job.matrix.superblocks, PREPARE_SUPERBLOCKS);
	job.parts = lay_out(plan, &job.matrix);
	add_tiles(&job, job.kernels->tiles);
	assert(job.tile_count && job.tile[job.tile_count - 1].width == tile_m(plan));
	job.matrix.kernels = job.up.kernels = job.tile[job.tile_count - 1].kernels;
	tcb_pool_run(pool, plan->threads, TCB_SCHED_STATIC, 1, sort, &job);
	tcb_pool_run(pool, plan->threads, TCB_SCHED_STATIC, x_rows(&job) * job.x_chunks + experts_of(&job), prepare,
		     &job);
	if (job.kind->is_summed)
		tcb_pool_run_last(pool, plan->threads, sched, job.row_blocks, run_sums, &job);
	else
		tcb_pool_run_last(pool, plan->threads, sched, job.routing.chunk[experts_of(&job)] * job.row_blocks,
				  run_task, &job);
}

#define SIDE(kind, is_gated, is_summed, op)                                                                   \
	TCB_VARIANT_TABLES(op##_##kind##_variants, TCB_ISAS_TILES, qex_##op##_##kind)                         \
	const struct tcb_side qex_##op##_##kind##_cpu = {                                                     \
		.variants = op##_##kind##_variants, .space = &qex_cpu_space, .plan = qex_plan, .run = qex_run \
	};
#define SIDES(id, name, op, ...) QEX_KINDS(SIDE, op)
TCB_FORMAT_EXPERTS_LIST(SIDES)
