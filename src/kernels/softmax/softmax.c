/* SPDX-License-Identifier: MIT
 *
 * softmax over rows: the op, its plan, its loops and its reference in double.
 * softmax.h says how the geometry drives them.
 */
#include "kernels/softmax/softmax.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/util.h"
#include "base/view.h"
#include "kernels/rows/rows_gpu.h"

enum { OPERAND_X, OPERAND_Y, OPERAND_COUNT };
enum {
	LINE_FLOATS = 16,      /* 64 bytes: what threads write lies on lines of their own */
	STREAM_ALIGNMENT = 64, /* streaming stores of any width fault on less than their own */
};

static enum tcb_status softmax_check_shape(const struct tcb_op *op, const struct tcb_shape *shape,
					   struct tcb_error *err)
{
	size_t bytes;
	(void)op;
	if (shape->k)
		return tcb_fail(err, TCB_E_USAGE,
				"op softmax takes a shape MxN (M rows of N values), for example 4096x%zu",
				shape->n ? shape->n : 4096);
	if (!shape->m || !shape->n)
		return tcb_fail(err, TCB_E_USAGE,
				"op softmax needs at least one row and one column, for example 1x32000");
	if (tcb_mul_size(shape->m, shape->n, &bytes) || tcb_mul_size(bytes, 4 * sizeof(float), &bytes))
		return tcb_fail(err, TCB_E_OVERFLOW, "a softmax of %zux%zu does not fit in memory", shape->m, shape->n);
	return TCB_OK;
}

static size_t softmax_operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	size_t m = problem->shape.m, n = problem->shape.n;
	out[OPERAND_X] = (struct tcb_operand){ "x", TCB_ROLE_INPUT, "f32", m, n, m * n * sizeof(float), 1 };
	out[OPERAND_Y] = (struct tcb_operand){ "y", TCB_ROLE_OUTPUT, "f32", m, n, m * n * sizeof(float), 1 };
	return OPERAND_COUNT;
}

/* Rows of three kinds in turn: flat ones, like logits, and so spread that most results underflow. */
static void softmax_fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	static const float spread[3] = { 0.1f, 4, 40 };
	float *x = operand[OPERAND_X];
	struct tcb_rng rng;
	tcb_rng_init(&rng, seed);
	for (size_t r = 0; r < problem->shape.m; r++) {
		for (size_t c = 0; c < problem->shape.n; c++)
			*x++ = spread[(r + 1) % 3] * tcb_rng_normal(&rng);
	}
}

/*
 * Beside the roundings that plan() counts in ulps: x - max is rounded before exp, which turns |x - max| 2^-24 into a
 * relative error (in blocks, x - block max and block max - max add up to the same), for the element and, weighted, for
 * the sum.  Numbers below 2^-126 are flushed to 0, once as exponential and once as result.
 */
static void softmax_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	const double unit = 0x1p-24 * 1.001, tiny = 0x1p-125;
	const float *x = operand[OPERAND_X];
	size_t n = problem->shape.n;
	for (size_t r = 0; r < problem->shape.m; r++) {
		const float *row = x + r * n;
		double max = -INFINITY, sum = 0, weighted = 0;
		for (size_t c = 0; c < n; c++)
			max = (double)row[c] > max ? (double)row[c] : max;
		for (size_t c = 0; c < n; c++) {
			double depth = max - (double)row[c], e = exp(-depth);
			sum += e;
			if (e > 0)
				weighted += e * depth;
		}
		for (size_t c = 0; c < n; c++) {
			double depth = max - (double)row[c], y = exp(-depth) / sum;
			out->y[r * n + c] = y;
			out->magnitude[r * n + c] = y;
			out->extra[r * n + c] = tiny + (y > 0 ? y * unit * (depth + weighted / sum) : 0);
		}
	}
}

static double softmax_flops(const struct tcb_problem *problem)
{
	return 5.0 * (double)problem->shape.m * (double)problem->shape.n; /* max, subtract, exp, add, scale */
}

static double softmax_traffic(const struct tcb_problem *problem)
{
	return 2.0 * sizeof(float) * (double)problem->shape.m * (double)problem->shape.n;
}

static size_t div_up(size_t a, size_t b)
{
	return a / b + (a % b != 0);
}

static size_t pad_floats(size_t count)
{
	return div_up(count, LINE_FLOATS) * LINE_FLOATS;
}

/* The sizes that plan() and run() share. */
struct dims {
	size_t m, n;
	size_t strips, tasks;    /* strips of a row; tasks of a phase */
	size_t strip_blocks;     /* column blocks in a strip */
	size_t blocks;           /* in a row, counted as if every strip had as many */
	size_t rows_kept;        /* rows whose block statistics are kept at a time */
	size_t stats_floats;     /* of one array of one row */
	size_t scratch_floats;   /* exponentials of one thread, stream=1 only */
	size_t workspace_floats; /* stats: maxima, sums; per thread: factors, scratch */
};

static enum tcb_status dims_init(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				 struct dims *out, struct tcb_error *err)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	size_t threads = (size_t)geometry->knob[TCB_KNOB_THREADS], per_thread, kept;
	struct dims d = { .m = problem->shape.m, .n = problem->shape.n };
	d.strips = div_up(d.n, macro->n);
	d.tasks = div_up(d.m, midi->m) * d.strips;
	d.strip_blocks = div_up(macro->n < d.n ? macro->n : d.n, midi->n);
	d.blocks = d.strips * d.strip_blocks;
	d.rows_kept = d.strips > 1 ? d.m : threads * midi->m;
	d.stats_floats = pad_floats(d.blocks);
	if (geometry->knob[TCB_KNOB_STREAM] > 0 && tcb_mul_size(midi->m, pad_floats(d.n), &d.scratch_floats))
		goto overflow;
	if (tcb_mul_size(d.rows_kept, 2 * d.stats_floats, &kept) ||
	    tcb_add_size(d.scratch_floats, d.stats_floats, &per_thread) ||
	    tcb_mul_size(per_thread, threads, &per_thread) || tcb_add_size(kept, per_thread, &d.workspace_floats) ||
	    d.workspace_floats > SIZE_MAX / sizeof(float))
		goto overflow;
	*out = d;
	return TCB_OK;
overflow:
	return tcb_fail(err, TCB_E_OVERFLOW, "the workspace of this softmax geometry does not fit in memory");
}

static unsigned log2_up(size_t value)
{
	unsigned log = 0;
	while (((size_t)1 << log) < value)
		log++;
	return log;
}

/* Roundings of one result: exp of the element and of the block's factor, each again inside the sum; the factor, its
 * quotient by the sum and the product, half an ulp each, and as much again for their products of second order. */
#define RESULT_ULPS (4 * SOFTMAX_EXP_ULPS + 2)

static enum tcb_status softmax_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				    struct tcb_plan *out, struct tcb_error *err)
{
	const struct tcb_tile *tile = geometry->tile;
	int32_t threads = geometry->knob[TCB_KNOB_THREADS], prefetch = geometry->knob[TCB_KNOB_PREFETCH];
	int32_t sched = geometry->knob[TCB_KNOB_SCHED], hint = geometry->knob[TCB_KNOB_HINT];
	int32_t stream = geometry->knob[TCB_KNOB_STREAM];
	struct dims dims;
	memset(out, 0, sizeof(*out));
	const struct tcb_variant *variant = tcb_variant_find(&tcb_op_softmax, problem->contract, geometry);
	if (!variant)
		return tcb_fail(err, TCB_E_ILLEGAL, "softmax has no kernel for this isa and micro.n=%zu",
				tile[TCB_MICRO].n);
	if (threads < 1 || prefetch < 0 || sched < 0 || hint < 0 || (stream != 0 && stream != 1))
		return tcb_fail(err, TCB_E_ILLEGAL,
				"softmax needs the knobs threads, sched, prefetch, hint, stream (0 or 1)");
	TCB_TRY(dims_init(problem, geometry, &dims, err));
	if ((size_t)threads > dims.tasks)
		return tcb_fail(err, TCB_E_ILLEGAL, "threads=%d, but midi.m=%zu and macro.n=%zu make only %zu tasks",
				threads, tile[TCB_MIDI].m, tile[TCB_MACRO].n, dims.tasks);
	if (dims.strips > 1 && threads == 1)
		return tcb_fail(err, TCB_E_ILLEGAL, "macro.n=%zu shares a row of %zu between threads, but threads=1",
				tile[TCB_MACRO].n, dims.n);
	if (stream && dims.strips > 1)
		return tcb_fail(err, TCB_E_ILLEGAL, "stream=1 needs whole rows in a task: macro.n of at least %zu",
				dims.n);
	if (stream && variant->isa == TCB_ISA_SCALAR)
		return tcb_fail(err, TCB_E_ILLEGAL, "stream=1 needs vectors; scalar code has no such stores");
	size_t block = tile[TCB_MIDI].n < dims.n ? tile[TCB_MIDI].n : dims.n, lanes = softmax_lanes(variant->isa);
	size_t chains = variant->micro.n / lanes;
	out->problem = *problem;
	out->geometry = *geometry;
	out->variant = variant;
	out->workspace_bytes = dims.workspace_floats * sizeof(float);
	out->threads = (unsigned)threads;
	/* Additions that a term of a block's sum goes through: steps, left-over vectors, chains, lanes. */
	out->chain = (double)(block / variant->micro.n + chains + chains + log2_up(lanes));
	out->ulps = RESULT_ULPS;
	return TCB_OK;
}

/* What one task works on: its tile of the matrix, and its strip's column blocks. */
struct task {
	struct tcb_tile_info tile;
	struct tcb_partition blocks;
	size_t first_block; /* of the strip, among those of the row */
	size_t first_kept;  /* index of the tile's first row among the kept ones */
	float *factors, *scratch;
};

struct run {
	const struct tcb_plan *plan;
	struct dims dims;
	struct tcb_partition tiles; /* midi.m rows x macro.n columns: one task each */
	softmax_micro_fn *micro;
	const float *x;
	float *y;
	float *maxima, *sums; /* [kept row][block] */
	float *per_thread;
	size_t prefetch;
	enum tcb_hint hint;
	int stream;
};

static void task_init(const struct run *run, size_t index, unsigned thread, struct task *out)
{
	const struct dims *d = &run->dims;
	const size_t midi_m = run->plan->geometry.tile[TCB_MIDI].m, midi_n = run->plan->geometry.tile[TCB_MIDI].n;
	struct tcb_view columns;
	tcb_partition_tile(&run->tiles, index, &out->tile);
	enum tcb_status status = tcb_view_init(&columns, 1, &out->tile.extent[1], NULL);
	assert(status == TCB_OK);
	status = tcb_partition_init(&out->blocks, &columns, &midi_n, NULL);
	assert(status == TCB_OK);
	(void)status;
	out->first_block = index % d->strips * d->strip_blocks;
	out->first_kept = d->strips > 1 ? out->tile.start[0] : thread * midi_m;
	out->factors = run->per_thread + thread * (d->stats_floats + d->scratch_floats);
	out->scratch = out->factors + d->stats_floats;
}

/* Where the exponentials of row R of the task wait: in scratch, or in the results. */
static float *exponentials(const struct run *run, const struct task *task, size_t r)
{
	if (run->stream)
		return task->scratch + r * pad_floats(run->dims.n);
	return run->y + task->tile.offset + r * run->dims.n;
}

static void reduce_row(const struct run *run, const struct task *task, size_t r)
{
	const float *x = run->x + task->tile.offset + r * run->dims.n;
	float *e = exponentials(run, task, r);
	size_t stats = (task->first_kept + r) * run->dims.stats_floats + task->first_block;
	struct softmax_call call = { .stage = SOFTMAX_REDUCE, .prefetch = run->prefetch, .hint = run->hint };
	for (size_t b = 0; b < task->blocks.total; b++) {
		struct tcb_tile_info block;
		tcb_partition_tile(&task->blocks, b, &block);
		call.count = block.extent[0];
		call.x = x + block.offset;
		call.e = e + block.offset;
		run->micro(&call);
		run->maxima[stats + b] = call.max_out;
		run->sums[stats + b] = call.sum_out;
	}
}

/* The row's maximum and sum from those of its blocks, then each block's factor and the results. */
static void scale_row(const struct run *run, const struct task *task, size_t r, int fence)
{
	size_t stats = (task->first_kept + r) * run->dims.stats_floats;
	/* The last strip may have fewer blocks than the others. */
	size_t blocks = div_up(run->dims.n, run->plan->geometry.tile[TCB_MIDI].n);
	struct softmax_call call = {
		.stage = SOFTMAX_REDUCE, .count = blocks, .x = run->maxima + stats, .e = task->factors
	};
	run->micro(&call); /* factors = exp(block max - row max) */
	double sum = 0;
	for (size_t b = 0; b < blocks; b++)
		sum += (double)task->factors[b] * (double)run->sums[stats + b];

	float *e = exponentials(run, task, r), *y = run->y + task->tile.offset + r * run->dims.n;
	call = (struct softmax_call){ .stage = SOFTMAX_SCALE };
	for (size_t b = 0; b < task->blocks.total; b++) {
		struct tcb_tile_info block;
		tcb_partition_tile(&task->blocks, b, &block);
		call.count = block.extent[0];
		call.e = e + block.offset;
		call.y = y + block.offset;
		call.scale = (float)((double)task->factors[task->first_block + b] / sum);
		call.stream = run->stream && (uintptr_t)call.y % STREAM_ALIGNMENT == 0;
		call.fence = run->stream && fence && b + 1 == task->blocks.total;
		run->micro(&call);
	}
}

static void reduce_task(void *ctx, size_t index, unsigned thread)
{
	struct task task;
	task_init(ctx, index, thread, &task);
	for (size_t r = 0; r < task.tile.extent[0]; r++)
		reduce_row(ctx, &task, r);
}

static void scale_task(void *ctx, size_t index, unsigned thread)
{
	struct task task;
	task_init(ctx, index, thread, &task);
	for (size_t r = 0; r < task.tile.extent[0]; r++)
		scale_row(ctx, &task, r, r + 1 == task.tile.extent[0]);
}

static void whole_task(void *ctx, size_t index, unsigned thread)
{
	reduce_task(ctx, index, thread);
	scale_task(ctx, index, thread);
}

static void softmax_run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	const struct tcb_geometry *g = &plan->geometry;
	struct run run = {
		.plan = plan,
		.micro = (softmax_micro_fn *)plan->variant->entry,
		.x = operand[OPERAND_X],
		.y = operand[OPERAND_Y],
		.prefetch = (size_t)g->knob[TCB_KNOB_PREFETCH],
		.hint = (enum tcb_hint)g->knob[TCB_KNOB_HINT],
		.stream = g->knob[TCB_KNOB_STREAM] > 0,
	};
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
	run.maxima = workspace;
	run.sums = run.maxima + run.dims.rows_kept * run.dims.stats_floats;
	run.per_thread = run.sums + run.dims.rows_kept * run.dims.stats_floats;
	if (run.dims.strips == 1) {
		tcb_pool_run(pool, plan->threads, sched, run.dims.tasks, whole_task, &run);
		return;
	}
	tcb_pool_run(pool, plan->threads, sched, run.dims.tasks, reduce_task, &run);
	tcb_pool_run(pool, plan->threads, sched, run.dims.tasks, scale_task, &run);
}

static const struct tcb_shape default_shapes[] = { { 1, 32000, 0 }, { 4096, 4096, 0 } };

static const struct tcb_variant *const variant_lists[] = {
	softmax_variants_scalar,
#if defined(__x86_64__)
	softmax_variants_avx2,
	softmax_variants_avx512,
#endif
	NULL,
};

const struct tcb_op tcb_op_softmax = {
	.name = "softmax",
	.summary = "softmax of each row of f32, stable, in blocks",
	.shape_form = "MxN",
	.contracts = 1u << TCB_CONTRACT_F32,
	.default_contract = TCB_CONTRACT_F32,
	.default_shapes = default_shapes,
	.default_shape_count = sizeof(default_shapes) / sizeof(default_shapes[0]),
	.variant_lists = variant_lists,
	.check_shape = softmax_check_shape,
	.operands = softmax_operands,
	.fill = softmax_fill,
	.reference = softmax_reference,
	.flops = softmax_flops,
	.traffic = softmax_traffic,
	.axes = softmax_axes,
	.default_geometry = softmax_default_geometry,
	.footprint = softmax_footprint,
	.plan = softmax_plan,
	.run = softmax_run,
	.emit = softmax_emit,
	.gpu_rules = tcb_rows_gpu_plain_rules,
	.gpu_variants = softmax_gpu_variants,
};
