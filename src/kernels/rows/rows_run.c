/* SPDX-License-Identifier: MIT
 *
 * The loops of all ops on rows: a plan comes in, its tasks go over tiles of the
 * matrix, blocks of a row, and call the op's micro-kernel.  rows.h says how the
 * geometry drives them.
 */
#include "kernels/rows/rows_dims.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/gang.h"
#include "base/sizes.h"
#include "base/util.h"
#include "base/view.h"
#include "kernels/quant_matmul/quant_matmul_types.h"

enum { STREAM_ALIGNMENT = 64 /* streaming stores of any width fault on less than their own */ };

/* What one task works on: its tile of the matrix, and its strip's column blocks. */
struct task {
	struct tcb_tile_info tile;
	struct tcb_partition blocks;
	struct tcb_tile_info block; /* the first of them, and mostly the only one */
	size_t first_block;         /* of the strip, among those of the row */
	unsigned thread;
	float *factors, *scratch, *parts;
};

struct run {
	const struct rows_op *rows;
	const struct tcb_plan *plan;
	struct rows_dims dims;
	struct tcb_partition tiles; /* midi.m rows x macro.n columns: one task each */
	rows_micro_fn *micro;
	const float *x, *weight, *bias; /* with the word add X is SUM, of these two */
	const float *terms[2];
	float *sum;
	float *y;
	/* Where x or y is of 16 bits: all four as they are in memory, the two of add or NULL. */
	const void *stored_x, *stored_added;
	void *stored_sum, *stored_y;
	const struct qmm_types *types;
	double *stats;     /* [kept row][block][stat] */
	float *kept_parts; /* [row][strip][part] */
	float *per_thread;
	size_t prefetch[ROWS_WHOLE]; /* by stage */
	struct rows_call call;       /* what all calls have in common */
};

static void task_init(const struct run *run, size_t index, unsigned thread, struct task *out)
{
	const struct rows_dims *d = &run->dims;
	struct tcb_view columns;
	tcb_partition_tile(&run->tiles, index, &out->tile);
	enum tcb_status status = tcb_view_init(&columns, 1, &out->tile.extent[1], NULL);
	assert(status == TCB_OK);
	status = tcb_partition_init(&out->blocks, &columns, &d->block, NULL);
	assert(status == TCB_OK);
	(void)status;
	tcb_partition_tile(&out->blocks, 0, &out->block);
	out->first_block = index % d->strips * d->strip_blocks;
	out->thread = thread;
	out->factors = run->per_thread + thread * d->thread_floats;
	out->parts = out->factors + d->factor_rows * d->factor_floats;
	out->scratch = out->parts + (d->kept_parts ? 0 : d->turns * d->part_floats);
	if (d->kept_parts)
		out->parts = run->kept_parts + (out->tile.start[0] * d->strips + index % d->strips) * d->part_floats;
	out->scratch += ((uintptr_t)run->x - (uintptr_t)out->scratch) / sizeof(float) % ROWS_PAGE_FLOATS /
			ROWS_LINE_FLOATS * ROWS_LINE_FLOATS;
}

/* Where what is kept of row R of the task waits: in scratch, or in the results. */
static float *kept_elements(const struct run *run, const struct task *task, size_t r)
{
	if (run->dims.scratch_row)
		return task->scratch + (r & (run->dims.turns - 1)) * run->dims.scratch_row;
	return run->y + task->tile.offset + r * run->dims.n;
}

/* CALL on the block INFO of row R. */
static void aim(const struct run *run, const struct task *task, size_t r, const struct tcb_tile_info *info,
		struct rows_call *call)
{
	size_t row = task->tile.offset + r * run->dims.n, column = task->tile.start[1] + info->offset;
	call->count = info->extent[0];
	call->x = run->x + row + info->offset;
	call->y = run->y + row + info->offset;
	call->e = kept_elements(run, task, r) + info->offset;
	call->parts = task->parts +
		      run->dims.part_floats * (run->dims.kept_parts ? r * run->dims.strips : r & (run->dims.turns - 1));
	call->weight = run->weight ? run->weight + column : NULL;
	call->bias = run->bias ? run->bias + column : NULL;
}

/* The statistics of row R: kept until the row is done, or, where threads share rows, until all are reduced. */
static double *kept_stats(const struct run *run, const struct task *task, size_t r)
{
	size_t row = run->dims.strips > 1 ? task->tile.start[0] + r : task->thread;
	return run->stats + row * run->dims.row_stats;
}

/* From the statistics of all blocks of a row to what its results need, FACTORS among it. */
static void combine(const struct run *run, const double *stats, float *factors, struct rows_row *out)
{
	*out = (struct rows_row){
		.micro = run->micro,
		.form = run->call.form,
		.n = run->dims.n,
		.block = run->dims.block,
		.blocks = run->dims.row_blocks,
		.stats = stats,
		.factors = factors,
		.eps = run->call.eps,
	};
	run->rows->combine(out);
}

static void combine_row(const struct run *run, const struct task *task, size_t r, struct rows_row *out)
{
	combine(run, kept_stats(run, task, r), task->factors, out);
}

/* CALL for the results of block INFO, the Bth, of row R, of which ROW tells. */
static void apply_call(const struct run *run, const struct task *task, size_t r, const struct rows_row *row, size_t b,
		       const struct tcb_tile_info *info, struct rows_call *call)
{
	*call = run->call;
	aim(run, task, r, info, call);
	call->stage = ROWS_APPLY;
	call->prefetch = run->prefetch[ROWS_APPLY];
	call->factor = row->factors[task->first_block + b];
	call->shift = row->shift;
	call->wide_factor = row->wide_factor;
	call->wide_shift = row->wide_shift;
	call->stream = run->call.stream && (uintptr_t)call->y % STREAM_ALIGNMENT == 0;
}

/* The results of this strip of row R, which is reduced and of which ROW tells. */
static void apply_row(const struct run *run, const struct task *task, size_t r, const struct rows_row *row, int fence)
{
	for (size_t b = 0; b < task->blocks.total; b++) {
		struct rows_call call;
		struct tcb_tile_info info = task->block;
		if (b)
			tcb_partition_tile(&task->blocks, b, &info);
		apply_call(run, task, r, row, b, &info, &call);
		call.fence = run->call.stream && fence && b + 1 == task->blocks.total;
		if (row->is_wide)
			run->rows->wide(&call);
		else
			run->micro(&call);
	}
}

static struct rows_call reduce_call(const struct run *run)
{
	struct rows_call call = run->call;
	call.stage = ROWS_REDUCE;
	call.prefetch = run->prefetch[ROWS_REDUCE];
	return call;
}

/* CALL's statistics to STATS, in double where f32 has none. */
static void keep_stats(const struct run *run, struct rows_call *call, double *stats)
{
	const size_t each = run->rows->stats;
	if (run->rows->wide && !isfinite(call->stat[each - 1]))
		run->rows->wide(call);
	for (size_t s = 0; s < each; s++)
		stats[s] = call->stat[s];
}

/* COUNT rows of the task from row R on become sums of two, with the word add; before anything else reads them, once. */
static void add_rows(const struct run *run, const struct task *task, size_t r, size_t count)
{
	typedef float four __attribute__((vector_size(16)));
	const size_t columns = task->tile.extent[1];
	for (size_t end = r + count; run->sum && r < end; r++) {
		const size_t row = task->tile.offset + r * run->dims.n;
		const float *a = run->terms[0] + row, *b = run->terms[1] + row;
		float *to = run->sum + row;
		size_t i = 0;
		for (four x, y; i + 4 <= columns; i += 4) {
			memcpy(&x, a + i, sizeof(x));
			memcpy(&y, b + i, sizeof(y));
			x += y;
			memcpy(to + i, &x, sizeof(x));
		}
		for (; i < columns; i++)
			to[i] = a[i] + b[i];
	}
}

/* The statistics of row R; the results of the row before, of which BEFORE tells, are stored on the way, unless NULL. */
static void reduce_row(const struct run *run, const struct task *task, size_t r, const struct rows_row *before)
{
	const size_t each = run->rows->stats;
	double *stats = kept_stats(run, task, r) + task->first_block * each;
	struct rows_call call = reduce_call(run), late;
	add_rows(run, task, r, 1);
	call.late = before ? &late : NULL;
	for (size_t b = 0; b < task->blocks.total; b++, stats += each) {
		struct tcb_tile_info info = task->block;
		if (b)
			tcb_partition_tile(&task->blocks, b, &info);
		aim(run, task, r, &info, &call);
		call.before = b ? stats - each : NULL;
		if (before)
			apply_call(run, task, r - 1, before, b, &info, &late);
		run->micro(&call);
		keep_stats(run, &call, stats);
	}
}

/* Row R, from x to y. */
static void whole_row(const struct run *run, const struct task *task, size_t r, int fence)
{
	struct rows_row row;
	reduce_row(run, task, r, NULL);
	combine_row(run, task, r, &row);
	apply_row(run, task, r, &row, fence);
}

static void reduce_task(void *ctx, size_t index, unsigned thread)
{
	struct task task;
	task_init(ctx, index, thread, &task);
	for (size_t r = 0; r < task.tile.extent[0]; r++)
		reduce_row(ctx, &task, r, NULL);
}

static void apply_task(void *ctx, size_t index, unsigned thread)
{
	struct task task;
	struct rows_row row;
	task_init(ctx, index, thread, &task);
	for (size_t r = 0; r < task.tile.extent[0]; r++) {
		combine_row(ctx, &task, r, &row);
		apply_row(ctx, &task, r, &row, r + 1 == task.tile.extent[0]);
	}
}

static void whole_task(void *ctx, size_t index, unsigned thread)
{
	struct task task;
	task_init(ctx, index, thread, &task);
	for (size_t r = 0; r < task.tile.extent[0]; r++)
		whole_row(ctx, &task, r, r + 1 == task.tile.extent[0]);
}

/* Each row but the last, and but wide ones, is stored by the loop that reduces the one after it. */
static void overlapped_task(void *ctx, size_t index, unsigned thread)
{
	struct task task;
	struct rows_row row = { 0 };
	task_init(ctx, index, thread, &task);
	for (size_t r = 0; r < task.tile.extent[0]; r++) {
		reduce_row(ctx, &task, r, r && !row.is_wide ? &row : NULL);
		combine_row(ctx, &task, r, &row);
		if (row.is_wide || r + 1 == task.tile.extent[0])
			apply_row(ctx, &task, r, &row, 1);
	}
}

/* Whether all ROWS of y, STRIDE floats apart, may be streamed to. */
static int is_aligned(const float *y, size_t rows, size_t stride)
{
	return (uintptr_t)y % STREAM_ALIGNMENT == 0 && (rows == 1 || stride * sizeof(*y) % STREAM_ALIGNMENT == 0);
}

/* A thread's rows, group by group, and what tells about those of two groups in turn. */
struct share {
	const struct run *run;
	struct task task; /* the first of them: its tile begins where the share does */
	struct rows_row row[2][ROWS_GROUP_MAX];
	size_t turn;         /* of the group that is reduced next */
	size_t stored, left; /* rows before those that are reduced and not stored, and how many these are */
};

/* The results of the group before, row by row. */
static void store_group(struct share *share)
{
	for (size_t i = 0; i < share->left; i++)
		apply_row(share->run, &share->task, share->stored + i, &share->row[!share->turn][i], 1);
	share->stored += share->left;
	share->left = 0;
}

/* Whether the loops that reduce COUNT rows can store the group before: not rows that are done in double, nor more. */
static int can_overlap(const struct share *share, size_t count)
{
	int is_wide = 0;
	for (size_t i = 0; i < share->left; i++)
		is_wide |= share->row[!share->turn][i].is_wide;
	return !is_wide && share->left == count;
}

/* The statistics of row R, STATS as the micro-kernel left them, and what follows from them. */
static void combine_grouped(struct share *share, size_t r, size_t i, double *stats)
{
	const struct run *run = share->run;
	if (run->rows->wide && !isfinite(stats[run->rows->stats - 1])) {
		struct rows_call call = reduce_call(run);
		aim(run, &share->task, r, &share->task.block, &call);
		call.stat[run->rows->stats - 1] = stats[run->rows->stats - 1];
		keep_stats(run, &call, stats);
	}
	combine(run, stats, share->task.factors + (share->turn * ROWS_GROUP_MAX + i) * run->dims.factor_floats,
		&share->row[share->turn][i]);
}

/*
 * The statistics of the next COUNT rows, and on the way the results of the group before.  There is little beside the
 * kernel's loops, because memory waits meanwhile.
 */
static void reduce_group(struct share *share, size_t count)
{
	const struct run *run = share->run;
	const size_t r = share->stored + share->left;
	struct rows_call call = reduce_call(run), late;
	double stats[ROWS_GROUP_MAX * ROWS_STATS_MAX];
	add_rows(run, &share->task, r, count);
	aim(run, &share->task, r, &share->task.block, &call);
	call.stage = ROWS_GROUP;
	call.rows = count;
	call.stride = run->dims.n;
	call.group_stats = stats;
	if (share->left) {
		call.done = share->row[!share->turn];
		apply_call(run, &share->task, share->stored, call.done, 0, &share->task.block, &late);
		late.stream = run->call.stream && is_aligned(late.y, count, call.stride);
		call.late = &late;
	}
	run->micro(&call);
	for (size_t i = 0; i < count; i++)
		combine_grouped(share, r + i, i, stats + i * run->rows->stats);
	share->stored = r;
	share->left = count;
	share->turn = !share->turn;
}

/* A thread's share of the tasks, one after another: each is stored by the loops that reduce the next one. */
static void grouped_tasks(void *ctx, size_t index, unsigned thread)
{
	const struct run *run = ctx;
	const size_t tasks = run->dims.tasks, threads = run->plan->threads;
	const size_t group = run->plan->geometry.tile[TCB_MIDI].m, begin = tasks * index / threads * group;
	const size_t end = tcb_least(tasks * (index + 1) / threads * group, run->dims.m);
	struct share share;
	share.run = run;
	share.turn = share.stored = share.left = 0;
	task_init(run, begin / group, thread, &share.task);
	for (size_t row = begin; row < end; row += group) {
		const size_t count = tcb_least(group, end - row);
		if (!can_overlap(&share, count))
			store_group(&share);
		reduce_group(&share, count);
	}
	store_group(&share);
}

/* Row R, which fits into registers but is beyond what f32 does. */
static void wide_row(const struct run *run, const struct task *task, size_t r)
{
	struct rows_row row;
	struct rows_call call = run->call;
	double *stats = kept_stats(run, task, r);
	assert(run->rows->wide);
	aim(run, task, r, &task->block, &call);
	call.stage = ROWS_REDUCE;
	run->rows->wide(&call);
	for (size_t s = 0; s < run->rows->stats; s++)
		stats[s] = call.stat[s];
	combine_row(run, task, r, &row);
	apply_call(run, task, r, &row, 0, &task->block, &call);
	run->rows->wide(&call);
}

/* Rows of the task, which fit into the registers of one step. */
static void register_rows(const struct run *run, const struct task *task)
{
	add_rows(run, task, 0, task->tile.extent[0]);
	struct rows_call call = run->call;
	call.stage = ROWS_WHOLE;
	call.stride = run->dims.n;
	call.prefetch = run->prefetch[ROWS_REDUCE];
	call.fence = run->call.stream;
	for (size_t r = 0; r < task->tile.extent[0]; r++) {
		aim(run, task, r, &task->block, &call);
		call.rows = task->tile.extent[0] - r;
		call.stream = run->call.stream && is_aligned(call.y, call.rows, call.stride);
		run->micro(&call);
		r += call.rows_done;
		if (call.rows_done == call.rows)
			return;
		wide_row(run, task, r);
	}
}

static void register_task(void *ctx, size_t index, unsigned thread)
{
	struct task task;
	task_init(ctx, index, thread, &task);
	register_rows(ctx, &task);
}

/* ---- rows of 16 bits ---- */

/* Aims OWN at row ROW of RUN: its x, or the sum of two, as floats, which are in X where memory has none; Y and X have
 * room for a row. */
static void open_row(const struct run *run, size_t row, float *x, float *y, struct run *own)
{
	const enum tcb_type type = rows_x_type(&run->plan->problem);
	const size_t n = run->dims.n, at = row * n * tcb_type_bytes(type);
	own->y = rows_y_type(&run->plan->problem) == TCB_TYPE_F32 ? run->y + row * n : y;
	if (type == TCB_TYPE_F32) {
		own->x = run->x + row * n;
		for (int i = 0; run->sum && i < 2; i++)
			own->terms[i] = run->terms[i] + row * n;
		own->sum = run->sum ? run->sum + row * n : NULL;
		return;
	}
	own->x = x;
	own->sum = NULL;
	run->types->widen(type, (const char *)run->stored_x + at, n, x);
	if (!run->stored_added)
		return;
	run->types->widen(type, (const char *)run->stored_added + at, n, y);
	for (size_t i = 0; i < n; i++)
		x[i] += y[i];
	run->types->narrow(type, x, n, (char *)run->stored_sum + at);
	run->types->widen(type, (char *)run->stored_sum + at, n, x);
}

/* midi.m rows, one after another; they come and go by way of floats in the first caches, and whole. */
static void converted_task(void *ctx, size_t index, unsigned thread)
{
	const struct run *run = ctx;
	const struct rows_dims *d = &run->dims;
	const size_t rows = run->plan->geometry.tile[TCB_MIDI].m, end = tcb_least((index + 1) * rows, d->m);
	const enum tcb_type type = rows_y_type(&run->plan->problem);
	float *x = run->per_thread + (thread + 1) * d->thread_floats - ROWS_OWN * d->own_row, *y = x + d->own_row;
	struct run own = *run;
	struct task task;
	own.call.stream = 0;
	memset(own.prefetch, 0, sizeof(own.prefetch));
	for (size_t row = index * rows; row < end; row++) {
		open_row(run, row, x, y, &own);
		task_init(&own, 0, thread, &task);
		if (d->n <= run->plan->variant->micro.n)
			register_rows(&own, &task);
		else
			whole_row(&own, &task, 0, 0);
		if (type != TCB_TYPE_F32)
			run->types->narrow(type, y, d->n, (char *)run->stored_y + row * d->n * tcb_type_bytes(type));
	}
}

static void run_converted(struct run *run, void *const operand[], enum tcb_sched sched, struct tcb_pool *pool)
{
	const int is_added = run->plan->problem.shape.words.add != 0;
	struct tcb_view row;
	run->stored_x = operand[run->rows->x];
	run->stored_y = operand[run->rows->y];
	run->stored_added = is_added ? operand[rows_added(run->rows)] : NULL;
	run->stored_sum = is_added ? operand[rows_sum(run->rows)] : NULL;
	run->types = qmm_types_of(run->plan->variant->isa);
	run->dims.strips = 1;
	enum tcb_status status = tcb_view_init(&row, 2, (const size_t[]){ 1, run->dims.n }, NULL);
	assert(status == TCB_OK);
	status = tcb_partition_init(&run->tiles, &row, (const size_t[]){ 1, run->dims.n }, NULL);
	assert(status == TCB_OK);
	(void)status;
	tcb_pool_run_last(pool, run->plan->threads, sched,
			  tcb_div_up(run->dims.m, run->plan->geometry.tile[TCB_MIDI].m), converted_task, run);
}

void rows_run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	const struct rows_op *rows = rows_of(&plan->problem);
	const struct tcb_geometry *g = &plan->geometry;
	struct run run = {
		.rows = rows,
		.plan = plan,
		.micro = (rows_micro_fn *)plan->variant->entry,
		.x = operand[rows->x],
		.y = operand[rows->y],
		.weight = rows->weight >= 0 ? operand[rows->weight] : NULL,
		.bias = rows->bias >= 0 ? operand[rows->bias] : NULL,
		.call = { .form = (enum tcb_form)g->knob[TCB_KNOB_FORM],
			  .eps = rows_eps(&plan->problem.shape),
			  .hint = (enum tcb_hint)g->knob[TCB_KNOB_HINT],
			  .asks = g->knob[TCB_KNOB_ASKS],
			  .part = g->tile[TCB_MIDI].n,
			  .stream = g->knob[TCB_KNOB_STREAM] > 0 },
	};
	if (plan->problem.shape.words.add) {
		run.terms[0] = run.x;
		run.terms[1] = operand[rows_added(rows)];
		run.x = run.sum = operand[rows_sum(rows)];
	}
	run.prefetch[g->knob[TCB_KNOB_STAGES] == 2 ? ROWS_APPLY : ROWS_REDUCE] = (size_t)g->knob[TCB_KNOB_PREFETCH];
	enum tcb_sched sched = (enum tcb_sched)g->knob[TCB_KNOB_SCHED];
	struct tcb_view matrix;
	enum tcb_status status = rows_dims_init(&plan->problem, g, &run.dims, NULL);
	assert(status == TCB_OK);
	status = tcb_view_init(&matrix, 2, (const size_t[]){ run.dims.m, run.dims.n }, NULL);
	assert(status == TCB_OK);
	status = tcb_partition_init(&run.tiles, &matrix, (const size_t[]){ g->tile[TCB_MIDI].m, g->tile[TCB_MACRO].n },
				    NULL);
	assert(status == TCB_OK && run.tiles.total == run.dims.tasks);
	(void)status;
	run.stats = workspace;
	run.kept_parts = (float *)(void *)(run.stats + run.dims.rows_kept * run.dims.row_stats);
	run.per_thread = run.kept_parts + run.dims.kept_parts;
	if (run.dims.own_row) {
		run_converted(&run, operand, sched, pool);
		return;
	}
	if (run.dims.strips > 1) {
		tcb_pool_run(pool, plan->threads, sched, run.dims.tasks, reduce_task, &run);
		tcb_pool_run_last(pool, plan->threads, sched, run.dims.tasks, apply_task, &run);
		return;
	}
	if (g->knob[TCB_KNOB_STAGES] == ROWS_STAGES_GROUPED) {
		tcb_pool_run_last(pool, plan->threads, sched, plan->threads, grouped_tasks, &run);
		return;
	}
	tcb_pool_run_last(pool, plan->threads, sched, run.dims.tasks,
			  run.dims.n <= plan->variant->micro.n                 ? register_task
			  : g->knob[TCB_KNOB_STAGES] == ROWS_STAGES_OVERLAPPED ? overlapped_task
									       : whole_task,
			  &run);
}
