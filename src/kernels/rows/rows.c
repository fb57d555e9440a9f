/* SPDX-License-Identifier: MIT
 *
 * The loops of all ops on rows: a plan comes in, its tasks go over tiles of the
 * matrix, blocks of a row, and call the op's micro-kernel.  rows.h says how the
 * geometry drives them.
 */
#include "kernels/rows/rows.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/gang.h"
#include "base/sizes.h"
#include "base/util.h"
#include "base/view.h"

enum {
	LINE_FLOATS = 16,      /* 64 bytes: what threads write lies on lines of their own */
	LINE_DOUBLES = 8,      /* the same */
	STREAM_ALIGNMENT = 64, /* streaming stores of any width fault on less than their own */
	STAGES_OVERLAPPED = 3,
	/*
	 * A load waits for an earlier store whose address looks alike: on a Zen 4 one with the same offset in its page,
	 * or nearly so.  What is kept of two rows in turn lies half a page apart, and the first as x does: loops over
	 * rows of whole KiB then load nothing that looks like what they store.  It costs half as much again where two
	 * kept rows are whole pages apart, or a line more.
	 */
	PAGE_FLOATS = 1024,
};

size_t rows_operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	const struct rows_op *rows = rows_of(problem);
	const size_t m = problem->shape.m, n = problem->shape.n, bytes = n * sizeof(float);
	out[rows->x] = (struct tcb_operand){ "x", TCB_ROLE_INPUT, TCB_TYPE_F32, m, n, m * bytes, 1 };
	out[rows->y] = (struct tcb_operand){ "y", TCB_ROLE_OUTPUT, TCB_TYPE_F32, m, n, m * bytes, 1 };
	if (rows->weight >= 0)
		out[rows->weight] = (struct tcb_operand){ "w", TCB_ROLE_INPUT, TCB_TYPE_F32, 1, n, bytes, 0 };
	if (rows->bias >= 0)
		out[rows->bias] = (struct tcb_operand){ "b", TCB_ROLE_INPUT, TCB_TYPE_F32, 1, n, bytes, 0 };
	if (!problem->shape.words.add)
		return rows_count(rows);
	out[rows_added(rows)] = out[rows->x];
	out[rows_added(rows)].name = "added";
	out[rows_sum(rows)] = out[rows->y];
	out[rows_sum(rows)].name = "sum";
	return rows_sum(rows) + 1;
}

double rows_flops(const struct tcb_problem *problem)
{
	return (rows_of(problem)->flops + problem->shape.words.add) * (double)problem->shape.m *
	       (double)problem->shape.n;
}

double rows_traffic(const struct tcb_problem *problem)
{
	const struct rows_op *rows = rows_of(problem);
	return sizeof(float) * (double)problem->shape.n *
	       ((problem->shape.words.add ? 4.0 : 2.0) * (double)problem->shape.m + (rows->weight >= 0) +
		(rows->bias >= 0));
}

enum tcb_status rows_check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	size_t bytes;
	if (shape->k)
		return tcb_fail(err, TCB_E_USAGE, "op %s takes a shape MxN (M rows of N values), for example 4096x%zu",
				op->name, shape->n ? shape->n : 4096);
	if (!shape->m || !shape->n)
		return tcb_fail(err, TCB_E_USAGE, "op %s needs at least one row and one column, for example 1x32000",
				op->name);
	if (tcb_mul_size(shape->m, shape->n, &bytes) || tcb_mul_size(bytes, 4 * sizeof(float), &bytes))
		return tcb_fail(err, TCB_E_OVERFLOW, "a %s of %zux%zu does not fit in memory", op->name, shape->m,
				shape->n);
	return TCB_OK;
}

/* The sizes that plan() and run() share. */
struct dims {
	size_t m, n;
	size_t strips, tasks;   /* strips of a row; tasks of a phase */
	size_t strip_blocks;    /* column blocks in a strip */
	size_t blocks;          /* in a row, counted as if every strip had as many */
	size_t block;           /* columns of each */
	size_t row_blocks;      /* in a row: the last strip may have fewer than the others */
	size_t rows_kept;       /* rows whose block statistics are kept at a time */
	size_t row_stats;       /* doubles of one row */
	size_t factor_floats;   /* of one row */
	size_t factor_rows;     /* of one thread */
	size_t scratch_row;     /* kept elements of one row, where they cannot wait in y */
	size_t part_floats;     /* factors of the parts of a strip of one row, where the form has some */
	size_t turns;           /* rows whose scratch and factors a thread keeps: 1 or 2 */
	size_t kept_parts;      /* floats: of all rows, where threads share rows */
	size_t thread_floats;   /* of one thread: factors, scratch and parts, unless kept */
	size_t workspace_bytes; /* statistics of the kept rows, and their parts; per thread: factors, scratch, parts */
};

static int keeps(const struct rows_op *rows, const struct tcb_geometry *geometry)
{
	return (rows->kept_forms >> geometry->knob[TCB_KNOB_FORM] & 1u) != 0;
}

static int has_parts(const struct rows_op *rows, const struct tcb_geometry *geometry)
{
	return (rows->part_forms >> geometry->knob[TCB_KNOB_FORM] & 1u) != 0;
}

/* Columns of what one call of the micro-kernel reduces. */
static size_t block_columns(const struct rows_op *rows, const struct tcb_geometry *geometry)
{
	const int is_whole = has_parts(rows, geometry) || geometry->knob[TCB_KNOB_STAGES] == ROWS_STAGES_GROUPED;
	return geometry->tile[is_whole ? TCB_MACRO : TCB_MIDI].n;
}

static enum tcb_status dims_init(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				 struct dims *out, struct tcb_error *err)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	size_t threads = (size_t)geometry->knob[TCB_KNOB_THREADS], per_turn, per_thread, kept;
	const struct rows_op *rows = rows_of(problem);
	struct dims d = { .m = problem->shape.m, .n = problem->shape.n };
	d.strips = tcb_div_up(d.n, macro->n);
	d.tasks = tcb_div_up(d.m, midi->m) * d.strips;
	d.block = block_columns(rows, geometry);
	d.row_blocks = tcb_div_up(d.n, d.block);
	d.strip_blocks = tcb_div_up(tcb_least(macro->n, d.n), d.block);
	d.blocks = d.strips * d.strip_blocks;
	const int is_grouped = geometry->knob[TCB_KNOB_STAGES] == ROWS_STAGES_GROUPED;
	d.factor_rows = is_grouped ? 2 * ROWS_GROUP_MAX : 1;
	d.rows_kept = d.strips > 1 ? d.m : threads;
	d.row_stats = tcb_round_up(d.blocks * rows->stats, LINE_DOUBLES);
	d.factor_floats = tcb_round_up(d.blocks, LINE_FLOATS);
	const int has_scratch = geometry->knob[TCB_KNOB_STREAM] > 0 && keeps(rows, geometry);
	if (has_scratch && tcb_add_size(d.n, 2 * PAGE_FLOATS, &d.scratch_row))
		goto overflow;
	if (has_scratch)
		d.scratch_row = tcb_round_up(d.n, PAGE_FLOATS) + PAGE_FLOATS / 2;
	if (has_parts(rows, geometry))
		d.part_floats = tcb_round_up(tcb_div_up(tcb_least(macro->n, d.n), midi->n), LINE_FLOATS);
	if (d.strips > 1 && tcb_mul_size(d.m * d.strips, d.part_floats * sizeof(float), &d.kept_parts))
		goto overflow;
	d.kept_parts /= sizeof(float);
	d.turns = geometry->knob[TCB_KNOB_STAGES] == STAGES_OVERLAPPED ? 2 : 1;
	if (tcb_mul_size(d.rows_kept, d.row_stats * sizeof(double), &kept) ||
	    tcb_add_size(kept, d.kept_parts * sizeof(float), &kept) ||
	    tcb_add_size(d.scratch_row, d.kept_parts ? 0 : d.part_floats, &per_turn) ||
	    tcb_mul_size(per_turn, d.turns, &d.thread_floats) ||
	    tcb_add_size(d.thread_floats, d.factor_rows * d.factor_floats + (has_scratch ? PAGE_FLOATS : 0),
			 &d.thread_floats) ||
	    tcb_mul_size(d.thread_floats, threads * sizeof(float), &per_thread) ||
	    tcb_add_size(kept, per_thread, &d.workspace_bytes))
		goto overflow;
	*out = d;
	return TCB_OK;
overflow:
	return tcb_fail(err, TCB_E_OVERFLOW, "the workspace of this geometry does not fit in memory");
}

static enum tcb_status check_knobs(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				   struct tcb_error *err)
{
	const char *name = problem->op_name;
	const int32_t *knob = geometry->knob;
	int32_t form = knob[TCB_KNOB_FORM], stream = knob[TCB_KNOB_STREAM];
	const int32_t asks = knob[TCB_KNOB_ASKS];
	if (knob[TCB_KNOB_THREADS] < 1 || knob[TCB_KNOB_PREFETCH] < 0 || knob[TCB_KNOB_SCHED] < 0 ||
	    knob[TCB_KNOB_HINT] < 0 || (stream != 0 && stream != 1) || knob[TCB_KNOB_STAGES] < 1 ||
	    knob[TCB_KNOB_STAGES] > ROWS_STAGES_GROUPED)
		return tcb_fail(
			err, TCB_E_ILLEGAL,
			"%s needs the knobs threads, sched, prefetch, hint, stream (0 or 1), stages (1 to %d), asks",
			name, ROWS_STAGES_GROUPED);
	if (asks != 1 && asks != 2 && asks != ROWS_ASKS_MAX)
		return tcb_fail(err, TCB_E_ILLEGAL, "%s asks for a line 1, 2 or %d times", name, ROWS_ASKS_MAX);
	if (asks > 1 && (knob[TCB_KNOB_STAGES] == 1 || knob[TCB_KNOB_HINT] != TCB_HINT_T1))
		return tcb_fail(err, TCB_E_ILLEGAL,
				"asks above 1 needs stages above 1 and hint=t1: others are not dropped");
	if (knob[TCB_KNOB_HINT] > TCB_HINT_T1 ||
	    (knob[TCB_KNOB_STAGES] > 1 && knob[TCB_KNOB_PREFETCH] && knob[TCB_KNOB_HINT] != TCB_HINT_T1))
		return tcb_fail(err, TCB_E_ILLEGAL,
				"%s prefetches with hint=t1 (stages above 1: a row is too long for the first cache) or "
				"hint=t0",
				name);
	if (!knob[TCB_KNOB_PREFETCH] && (knob[TCB_KNOB_HINT] != TCB_HINT_T0 || asks > 1))
		return tcb_fail(err, TCB_E_ILLEGAL, "prefetch=0 asks for nothing: it must be hint=t0 and asks=1");
	if (form < 0 || !(rows_of(problem)->forms >> form & 1u))
		return tcb_fail(err, TCB_E_ILLEGAL, "%s has no form=%s", name,
				form < 0 ? "(unset)" : tcb_knob_word(TCB_KNOB_FORM, form));
	return TCB_OK;
}

enum tcb_status rows_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct tcb_plan *out,
			  struct tcb_error *err)
{
	const struct rows_op *rows = rows_of(problem);
	const struct tcb_tile *tile = geometry->tile;
	struct dims dims;
	memset(out, 0, sizeof(*out));
	const struct tcb_variant *variant = tcb_variant_find(problem->op, problem->contract, geometry);
	if (!variant || !variant->entry)
		return tcb_fail(err, TCB_E_ILLEGAL, "%s has no kernel for this isa and micro.n=%zu", problem->op_name,
				tile[TCB_MICRO].n);
	const size_t lanes = tcb_float_lanes((int32_t)variant->isa), chains = variant->micro.n / lanes;
	TCB_TRY(check_knobs(problem, geometry, err));
	TCB_TRY(dims_init(problem, geometry, &dims, err));
	if (dims.n > variant->micro.n && !rows_has_loops(chains))
		return tcb_fail(err, TCB_E_ILLEGAL,
				"micro.n=%zu holds whole rows; longer ones are taken in steps of %zu or %zu columns",
				variant->micro.n, 2 * lanes, ROWS_CHAINS_MOST * lanes);
	int32_t threads = geometry->knob[TCB_KNOB_THREADS], form = geometry->knob[TCB_KNOB_FORM];
	int is_streamed = geometry->knob[TCB_KNOB_STREAM] == 1;
	if ((size_t)threads > dims.tasks)
		return tcb_fail(err, TCB_E_ILLEGAL, "threads=%d, but midi.m=%zu and macro.n=%zu make only %zu tasks",
				threads, tile[TCB_MIDI].m, tile[TCB_MACRO].n, dims.tasks);
	if (dims.strips > 1 && threads == 1)
		return tcb_fail(err, TCB_E_ILLEGAL, "macro.n=%zu shares a row of %zu between threads, but threads=1",
				tile[TCB_MACRO].n, dims.n);
	if (is_streamed && dims.strips > 1 && keeps(rows, geometry))
		return tcb_fail(err, TCB_E_ILLEGAL, "stream=1 needs whole rows in a task: macro.n of at least %zu",
				dims.n);
	if (has_parts(rows, geometry) && tile[TCB_MIDI].n % LINE_FLOATS)
		return tcb_fail(err, TCB_E_ILLEGAL, "form=%s needs parts of whole lines, midi.n a multiple of %d",
				tcb_knob_word(TCB_KNOB_FORM, form), LINE_FLOATS);
	if (geometry->knob[TCB_KNOB_STAGES] == 2 &&
	    ((size_t)geometry->knob[TCB_KNOB_PREFETCH] / sizeof(float) < dims.n || dims.strips > 1 || dims.m == 1 ||
	     dims.n <= variant->micro.n))
		return tcb_fail(
			err, TCB_E_ILLEGAL,
			"stages=2 fetches the next row while one is stored: it needs prefetch of a row or more, "
			"several rows, and rows that are whole and longer than micro.n");
	if (geometry->knob[TCB_KNOB_STAGES] == STAGES_OVERLAPPED &&
	    (dims.strips > 1 || dims.m == 1 || tile[TCB_MIDI].m == 1 || dims.n <= variant->micro.n))
		return tcb_fail(
			err, TCB_E_ILLEGAL,
			"stages=3 stores a row while the next is reduced: it needs midi.m above 1, and rows that are "
			"whole and longer than micro.n");
	if (geometry->knob[TCB_KNOB_STAGES] == ROWS_STAGES_GROUPED &&
	    (!rows->has_groups || form != TCB_FORM_ONEPASS || dims.strips > 1 || dims.n <= variant->micro.n ||
	     tile[TCB_MIDI].m > ROWS_GROUP_MAX || dims.m <= tile[TCB_MIDI].m ||
	     geometry->knob[TCB_KNOB_SCHED] != TCB_SCHED_STATIC || tile[TCB_MIDI].n % LINE_FLOATS))
		return tcb_fail(
			err, TCB_E_ILLEGAL,
			"stages=4 stores the rows of a task while those of the next are reduced: it needs an op "
			"with weights, form=onepass, sched=static, midi.m of at most %d and less than the rows, "
			"midi.n of whole lines, and whole rows longer than micro.n",
			ROWS_GROUP_MAX);
	if (is_streamed && !tcb_cpu_isa(variant->isa)->has_stream)
		return tcb_fail(err, TCB_E_ILLEGAL, "stream=1 needs stores past the caches, which isa=%s has not",
				tcb_isa_text(variant->isa));
	if (dims.n <= variant->micro.n && form != (int32_t)rows_first_form(rows))
		return tcb_fail(err, TCB_E_ILLEGAL, "rows of %zu stay in registers, whatever the form: it must be %s",
				dims.n, tcb_knob_word(TCB_KNOB_FORM, rows_first_form(rows)));
	const size_t block = tcb_least(block_columns(rows, geometry), dims.n);
	out->problem = *problem;
	out->geometry = *geometry;
	out->variant = variant;
	out->workspace_bytes = dims.workspace_bytes;
	out->threads = (unsigned)threads;
	/* Additions that a term of a block's sum goes through: steps, left-over vectors, chains, lanes. */
	rows->bound((enum tcb_form)form, block,
		    (double)(block / variant->micro.n + chains + chains + tcb_log2_up(lanes)), out);
	return TCB_OK;
}

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
	struct dims dims;
	struct tcb_partition tiles; /* midi.m rows x macro.n columns: one task each */
	rows_micro_fn *micro;
	const float *x, *weight, *bias; /* with the word add X is SUM, of these two */
	const float *terms[2];
	float *sum;
	float *y;
	double *stats;     /* [kept row][block][stat] */
	float *kept_parts; /* [row][strip][part] */
	float *per_thread;
	size_t prefetch[ROWS_WHOLE]; /* by stage */
	struct rows_call call;       /* what all calls have in common */
};

static void task_init(const struct run *run, size_t index, unsigned thread, struct task *out)
{
	const struct dims *d = &run->dims;
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
	out->scratch +=
		((uintptr_t)run->x - (uintptr_t)out->scratch) / sizeof(float) % PAGE_FLOATS / LINE_FLOATS * LINE_FLOATS;
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

/* Rows that fit into the registers of one step. */
static void register_task(void *ctx, size_t index, unsigned thread)
{
	const struct run *run = ctx;
	struct task task;
	task_init(run, index, thread, &task);
	add_rows(run, &task, 0, task.tile.extent[0]);
	struct rows_call call = run->call;
	call.stage = ROWS_WHOLE;
	call.stride = run->dims.n;
	call.prefetch = run->prefetch[ROWS_REDUCE];
	call.fence = run->call.stream;
	for (size_t r = 0; r < task.tile.extent[0]; r++) {
		aim(run, &task, r, &task.block, &call);
		call.rows = task.tile.extent[0] - r;
		call.stream = run->call.stream && is_aligned(call.y, call.rows, call.stride);
		run->micro(&call);
		r += call.rows_done;
		if (call.rows_done == call.rows)
			return;
		wide_row(run, &task, r);
	}
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
	enum tcb_status status = dims_init(&plan->problem, g, &run.dims, NULL);
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
			  run.dims.n <= plan->variant->micro.n            ? register_task
			  : g->knob[TCB_KNOB_STAGES] == STAGES_OVERLAPPED ? overlapped_task
									  : whole_task,
			  &run);
}
