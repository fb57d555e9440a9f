/* SPDX-License-Identifier: MIT
 *
 * The plan and the loops of attention on CPUs that both ops share: a plan comes in, its
 * tasks go over tiles of KV tokens and call the micro-kernel.
 */
#include "kernels/attention/attention_cpu.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/cpu/cpu_plan.h"

enum {
	SHARE = 64,  /* bytes that threads' memory lies apart in multiples of */
	POINTERS = 4 /* of a token: to its rows of K and V, and to those to ask for meanwhile */
};

/* What a thread has packed in CALL: COUNT KV tokens of a sequence and KV head from FIRST on. */
struct packed {
	uint64_t call;
	size_t sequence, head, first, count;
};

void attention_dims_complete(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			     struct attention_dims *d)
{
	const struct tcb_shape *s = &problem->shape;
	d->rows = tcb_round_up(tcb_least(geometry->tile[TCB_MIDI].m, s->m) * attention_group(s),
			       geometry->tile[TCB_MICRO].m);
	d->all_rows = d->heads * d->rows;
	d->q_lead = tcb_round_up(s->k, ATTENTION_BLOCK);
	d->o_lead = tcb_round_up(attention_v(s), ATTENTION_BLOCK);
	d->k_apart = tcb_kv_kind_bytes(attention_k_kind(problem), s->k);
	d->v_apart = tcb_kv_kind_bytes(attention_v_kind(problem), attention_v_apart(s));
	d->tiles = tcb_div_up(s->m, geometry->tile[TCB_MIDI].m);
	d->splits = tcb_div_up(s->n, geometry->tile[TCB_MACRO].n);
	d->tasks = s->words.sequences * (s->words.kv / d->heads) * d->tiles * d->splits;
	d->tile = geometry->tile[TCB_MIDI].n;
	d->together = tcb_round_up(d->tile, ATTENTION_TOKENS_TOGETHER);
	d->q_floats = d->all_rows * d->q_lead;
	d->o_floats = d->all_rows * d->o_lead;
	d->score_floats = (d->score_rows ? d->score_rows : d->all_rows) * d->lead;
	d->floats = d->q_floats + d->o_floats + d->score_floats + d->packed_floats + d->scale_floats + 3 * d->all_rows +
		    3 * d->rows;
	d->thread_bytes = tcb_round_up(d->floats * 4, SHARE) +
			  tcb_round_up((POINTERS * d->together + d->all_rows) * sizeof(void *), SHARE) +
			  tcb_round_up(sizeof(struct packed), SHARE);
	d->part_bytes = d->splits > 1 ? tcb_round_up((d->o_floats + 2 * d->all_rows) * 4, SHARE) : 0;
	d->bytes = d->thread_bytes * (size_t)geometry->knob[TCB_KNOB_THREADS] + d->part_bytes * d->tasks;
}

enum tcb_status attention_plan(const struct attention_dims *dims, struct tcb_plan *plan, struct tcb_error *err)
{
	TCB_TRY(tcb_cpu_plan_shares(plan, dims->tasks, "macro.n", err));
	plan->workspace_bytes = dims->bytes;
	/* A weighted value is added token by token, its product rounded too where there is no fused one; what was added
	 * is brought to another maximum by an exponential and a product a tile, and a split. */
	const double tokens = (double)tcb_least(plan->geometry.tile[TCB_MACRO].n, plan->problem.shape.n);
	const double each = plan->variant->isa == TCB_ISA_SCALAR ? 2 : 1;
	plan->chain = each * tokens + 4 * (tokens / (double)dims->tile + 1) + 5 * (double)dims->splits + 20;
	return TCB_OK;
}

struct run {
	const struct tcb_plan *plan;
	const struct tcb_shape *shape;
	struct attention_dims dims;
	attention_micro_fn *micro;
	void *const *operand;
	enum tcb_type io;
	char *threads, *parts;
	uint64_t call;
};

/* A thread's memory. */
struct scratch {
	float *q, *o, *scores, *packed, *max, *sum, *slope, *own;
	uint16_t *scales;
	uint32_t *from, *to;
	const void **k, **v, **k_ahead, **v_ahead;
	void **io;
	struct packed *packed_now;
};

static struct scratch scratch_of(const struct run *run, unsigned thread)
{
	const struct attention_dims *d = &run->dims;
	char *memory = run->threads + thread * d->thread_bytes;
	struct scratch s = { .q = (float *)(void *)memory };
	s.o = s.q + d->q_floats;
	s.scores = s.o + d->o_floats;
	s.packed = s.scores + d->score_floats;
	s.scales = (uint16_t *)(void *)(s.packed + d->packed_floats);
	s.max = s.packed + d->packed_floats + d->scale_floats;
	s.sum = s.max + d->all_rows;
	s.slope = s.sum + d->all_rows;
	s.own = s.slope + d->all_rows;
	s.from = (uint32_t *)(void *)(s.own + d->rows);
	s.to = s.from + d->rows;
	memory += tcb_round_up(d->floats * 4, SHARE);
	s.k = (const void **)(void *)memory;
	s.v = s.k + d->together;
	s.k_ahead = s.v + d->together;
	s.v_ahead = s.k_ahead + d->together;
	s.io = (void **)(s.v_ahead + d->together);
	memory += tcb_round_up((POINTERS * d->together + d->all_rows) * sizeof(void *), SHARE);
	s.packed_now = (struct packed *)(void *)memory;
	return s;
}

static size_t length_of(const struct run *run, size_t sequence)
{
	const int32_t *lengths = attention_data(&run->shape->words, run->operand, ATTENTION_LENGTHS);
	return (size_t)lengths[sequence];
}

/* Query tokens of one tile of a sequence: of one KV head, or of all. */
struct tile {
	size_t sequence, head, first, rows; /* head, query token: the first; query rows of a KV head */
	size_t length, prefix;              /* of the sequence */
	size_t from, to;                    /* KV tokens that any of them sees */
};

/* Of a head, tiles with more visible KV come first, so that what threads finish with is short. */
static struct tile tile_of(const struct run *run, size_t index)
{
	const struct tcb_shape *s = run->shape;
	const size_t tokens = run->plan->geometry.tile[TCB_MIDI].m, heads = s->words.kv / run->dims.heads;
	struct tile tile = { .first = (run->dims.tiles - 1 - index % run->dims.tiles) * tokens };
	size_t unused;
	tile.head = index / run->dims.tiles % heads;
	tile.sequence = index / run->dims.tiles / heads;
	const size_t count = tcb_least(tokens, s->m - tile.first);
	tile.rows = count * attention_group(s);
	tile.length = length_of(run, tile.sequence);
	tile.prefix = attention_prefix(&s->words, run->operand, tile.sequence);
	attention_visible(s, tile.length, tile.prefix, tile.first, &tile.from, &unused);
	attention_visible(s, tile.length, tile.prefix, tile.first + count - 1, &unused, &tile.to);
	return tile;
}

/* Its rows of OPERAND, q or out, of VALUES values; those of a KV head together. */
static void find_rows(const struct run *run, enum attention_operand operand, size_t values, const struct tile *tile,
		      void **out)
{
	const struct tcb_shape *s = run->shape;
	const struct tcb_problem *problem = &run->plan->problem;
	const size_t group = attention_group(s), each = tcb_type_bytes(run->io);
	const size_t apart = operand == ATTENTION_Q ? attention_q_apart(problem) : attention_out_apart(problem);
	char *rows = attention_data(&s->words, run->operand, operand);
	for (size_t h = 0; h < run->dims.heads; h++)
		for (size_t r = 0; r < tile->rows; r++) {
			const size_t token = tile->sequence * s->m + tile->first + r / group;
			const size_t head = (tile->head + h) * group + r % group;
			*out++ = rows + (token * apart + head * values) * each;
		}
}

/* K's or with IS_V V's rows of COUNT tokens from FIRST on, then the last again, LENGTH in all. */
static void find_tokens(const struct run *run, const struct tile *tile, int is_v, size_t first, size_t count,
			size_t length, const void **out)
{
	const struct tcb_shape *s = run->shape;
	const size_t of_head = is_v ? run->dims.v_apart : run->dims.k_apart, each = s->words.kv * of_head;
	const int32_t *table = attention_data(&s->words, run->operand, ATTENTION_TABLE);
	const char *rows =
		(const char *)run->operand[is_v ? attention_v_operand(&s->words) : ATTENTION_K] + tile->head * of_head;
	for (size_t t = 0; t < count;) {
		const size_t from = tcb_kv_token(s, table, tile->sequence, first + t) * each;
		const size_t page = s->words.page ? s->words.page - (first + t) % s->words.page : count;
		const size_t together = tcb_least(page, count - t);
		for (size_t i = 0; i < together; i++, t++)
			out[t] = rows + from + i * each;
	}
	for (size_t t = count; t < length; t++)
		out[t] = out[count - 1];
}

/* What is asked for while COUNT rows are at work: those of the last of them that are AHEAD of others, then as many of
 * NEXT, of which there are LEFT, then the last again, LENGTH in all. */
static void find_ahead(const void *const *rows, size_t count, size_t ahead, const void *const *next, size_t left,
		       size_t length, const void **out)
{
	ahead = tcb_least(ahead, count);
	memcpy(out, rows + ahead, (count - ahead) * sizeof(*out));
	for (size_t i = 0; i < ahead; i++)
		out[count - ahead + i] = left ? next[tcb_least(i, left - 1)] : rows[count - 1];
	for (size_t i = count; i < length; i++)
		out[i] = out[count - 1];
}

/* The rows of all heads together. */
static struct attention_call call_of(const struct run *run, const struct tile *tile, const struct scratch *scratch)
{
	const struct tcb_shape *s = run->shape;
	return (struct attention_call){ .io = run->io,
					.rows = run->dims.heads * tile->rows,
					.k = s->k,
					.v = attention_v(s),
					.q_lead = run->dims.q_lead,
					.o_lead = run->dims.o_lead,
					.k_apart = run->dims.k_apart,
					.v_apart = run->dims.v_apart,
					.q = scratch->q,
					.o = scratch->o,
					.max = scratch->max,
					.sum = scratch->sum,
					.scores = scratch->scores,
					.packed = scratch->packed,
					.scales = scratch->scales,
					.lead = run->dims.lead,
					.k_ahead = run->dims.ahead ? scratch->k_ahead : NULL,
					.v_ahead = run->dims.ahead ? scratch->v_ahead : NULL,
					.step = run->dims.step,
					.heads = run->dims.heads,
					.head_rows = tile->rows,
					.k_rows = scratch->k,
					.v_rows = scratch->v,
					.from = scratch->from,
					.to = scratch->to,
					.slope = s->words.alibi ? scratch->slope : NULL,
					.own = scratch->own,
					.cap = (float)s->words.cap,
					.scale = (float)(1 / sqrt((double)s->k)),
					.io_row = scratch->io,
					.room = run->dims.together };
}

static void stage(const struct run *run, struct attention_call *call, enum attention_stage which)
{
	call->stage = which;
	run->micro(call);
}

/* Nothing seen yet; rows that only fill a register tile are zeros. */
static void clear_sums(const struct run *run, const struct attention_call *call)
{
	const size_t rows = call->rows;
	memset(call->o, 0, run->dims.o_floats * sizeof(float));
	memset(call->q + rows * call->q_lead, 0, (run->dims.all_rows - rows) * call->q_lead * sizeof(float));
	memset(call->sum, 0, rows * sizeof(float));
	for (size_t r = 0; r < call->rows; r++)
		call->max[r] = -FLT_MAX;
}

/* Of an operand that has a number for each query head, in the order of ROWS rows. */
static float of_row(const struct run *run, const struct tile *tile, const float *of_heads, size_t row)
{
	const size_t group = attention_group(run->shape);
	return of_heads[(tile->head + row / tile->rows) * group + row % tile->rows % group];
}

/* The sinks, which one part of a sequence has. */
static void add_sinks(const struct run *run, const struct tile *tile, const struct attention_call *call)
{
	const float *sinks = attention_data(&run->shape->words, run->operand, ATTENTION_SINKS);
	for (size_t r = 0; sinks && r < call->rows; r++) {
		const float sink = of_row(run, tile, sinks, r);
		if (sink > -FLT_MAX || isnan(sink)) {
			call->max[r] = sink;
			call->sum[r] = isfinite(sink) ? 1 : NAN;
		}
	}
}

static void find_slopes(const struct run *run, const struct tile *tile, const struct scratch *scratch)
{
	const float *slopes = attention_data(&run->shape->words, run->operand, ATTENTION_SLOPES);
	for (size_t r = 0; slopes && r < run->dims.heads * tile->rows; r++)
		scratch->slope[r] = of_row(run, tile, slopes, r);
}

/* What each row sees of the tile of KV from T on. */
static void find_rows_of_tile(const struct run *run, struct attention_call *call, const struct scratch *scratch,
			      const struct tile *tile, size_t t)
{
	const struct tcb_shape *s = run->shape;
	const size_t group = attention_group(s);
	call->first_row = tile->rows;
	call->end_row = 0;
	for (size_t r = 0; r < tile->rows; r++) {
		size_t from, to;
		const size_t token = tile->first + r / group;
		attention_visible(s, tile->length, tile->prefix, token, &from, &to);
		if (s->words.alibi)
			scratch->own[r] = (float)((double)tile->length - (double)s->m + (double)token - (double)t);
		scratch->from[r] = (uint32_t)(tcb_least(tcb_most(from, t), t + call->tokens) - t);
		scratch->to[r] = (uint32_t)(tcb_least(tcb_most(to, t), t + call->tokens) - t);
		if (scratch->from[r] < scratch->to[r]) {
			call->first_row = tcb_least(call->first_row, r);
			call->end_row = r + 1;
		}
	}
}

/* K's and V's of the tile from T on, and of a part that goes on to END those to ask for. */
static void find_rows_of_kv(const struct run *run, const struct attention_call *call, const struct scratch *scratch,
			    const struct tile *tile, size_t t, size_t end)
{
	const struct attention_dims *d = &run->dims;
	const size_t count = call->tokens, ahead = d->ahead, left = tcb_least(ahead, end - t - count);
	if (left) /* where nothing else is yet */
		find_tokens(run, tile, 0, t + count, left, left, scratch->k);
	find_tokens(run, tile, 1, t, count, d->together, scratch->v);
	if (ahead)
		find_ahead(scratch->v, count, ahead, scratch->k, left, d->together, scratch->v_ahead);
	find_tokens(run, tile, 0, t, count, d->together, scratch->k);
	if (ahead)
		find_ahead(scratch->k, count, ahead, scratch->v, count, d->together, scratch->k_ahead);
}

/* Has this thread the tokens from T on already? Then they stay; else what it has next is these. */
static int has_packed(const struct run *run, const struct attention_call *call, const struct scratch *scratch,
		      const struct tile *tile, size_t t)
{
	struct packed *now = scratch->packed_now;
	if (!run->dims.keeps_packed)
		return 0;
	if (now->call == run->call && now->count >= call->tokens && now->first == t &&
	    now->sequence == tile->sequence && now->head == tile->head)
		return 1;
	*now = (struct packed){ run->call, tile->sequence, tile->head, t, call->tokens };
	return 0;
}

static void go_over(const struct run *run, struct attention_call *call, const struct scratch *scratch,
		    const struct tile *tile, size_t first, size_t end)
{
	for (size_t t = first; t < end; t += run->dims.tile) {
		call->tokens = tcb_least(run->dims.tile, end - t);
		call->is_packed = has_packed(run, call, scratch, tile, t);
		if (!call->is_packed)
			find_rows_of_kv(run, call, scratch, tile, t, end);
		find_rows_of_tile(run, call, scratch, tile, t);
		stage(run, call, ATTENTION_TILE);
	}
}

static float *part_of(const struct run *run, size_t tile, size_t split)
{
	return (float *)(void *)(run->parts + (tile * run->dims.splits + split) * run->dims.part_bytes);
}

static void part_task(void *ctx, size_t index, unsigned thread)
{
	const struct run *run = ctx;
	const size_t which = index / run->dims.splits, split = index % run->dims.splits;
	const struct tile tile = tile_of(run, which);
	const struct scratch scratch = scratch_of(run, thread);
	struct attention_call call = call_of(run, &tile, &scratch);
	if (run->dims.splits > 1) {
		call.o = part_of(run, which, split);
		call.max = call.o + run->dims.o_floats;
		call.sum = call.max + run->dims.all_rows;
	}
	clear_sums(run, &call);
	if (split == 0)
		add_sinks(run, &tile, &call);
	const size_t part = run->plan->geometry.tile[TCB_MACRO].n;
	size_t first = tile.from + split * part, end = first + part;
	if (run->shape->words.bits) { /* parts and tiles begin at multiples of what they are, whatever is visible */
		first = tile.from - tile.from % part + split * part;
		end = first + part;
		first = tcb_most(first, tile.from - tile.from % run->dims.tile);
	}
	if (first < tile.to) {
		find_slopes(run, &tile, &scratch);
		find_rows(run, ATTENTION_Q, run->shape->k, &tile, scratch.io);
		stage(run, &call, ATTENTION_LOAD);
		go_over(run, &call, &scratch, &tile, first, tcb_least(tile.to, end));
	}
	if (run->dims.splits == 1) {
		find_rows(run, ATTENTION_OUT, attention_v(run->shape), &tile, scratch.io);
		stage(run, &call, ATTENTION_STORE);
	}
}

static void merge_task(void *ctx, size_t index, unsigned thread)
{
	const struct run *run = ctx;
	const struct tile tile = tile_of(run, index);
	const struct scratch scratch = scratch_of(run, thread);
	struct attention_call call = call_of(run, &tile, &scratch);
	clear_sums(run, &call);
	for (size_t split = 0; split < run->dims.splits; split++) {
		call.part_o = part_of(run, index, split);
		call.part_max = call.part_o + run->dims.o_floats;
		call.part_sum = call.part_max + run->dims.all_rows;
		stage(run, &call, ATTENTION_MERGE);
	}
	find_rows(run, ATTENTION_OUT, attention_v(run->shape), &tile, scratch.io);
	stage(run, &call, ATTENTION_STORE);
}

/* A number that no other call has, nor memory that was never written: where a host's threads come each by itself, each
 * has one of its own, and nobody writes what is another's. */
static uint64_t next_call(void)
{
	static _Atomic uint64_t last = 0x9e3779b97f4a7c15;
	return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

void attention_run(const struct tcb_plan *plan, const struct attention_dims *dims, void *const operand[],
		   void *workspace, struct tcb_pool *pool)
{
	struct run run = { .plan = plan,
			   .shape = &plan->problem.shape,
			   .dims = *dims,
			   .micro = (attention_micro_fn *)plan->variant->entry,
			   .operand = operand,
			   .io = attention_io_type(&plan->problem),
			   .threads = workspace,
			   .call = dims->keeps_packed ? next_call() : 0 };
	const enum tcb_sched sched = (enum tcb_sched)plan->geometry.knob[TCB_KNOB_SCHED];
	run.parts = run.threads + run.dims.thread_bytes * plan->threads;
	tcb_pool_run(pool, plan->threads, sched, run.dims.tasks, part_task, &run);
	if (run.dims.splits > 1)
		tcb_pool_run(pool, plan->threads, sched, run.dims.tasks / run.dims.splits, merge_task, &run);
}
