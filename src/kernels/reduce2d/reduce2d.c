/* SPDX-License-Identifier: MIT
 *
 * reduce2d_sum, reduce2d_max, reduce2d_min: the ops, their plan, their loops
 * and their references.  reduce2d.h says how the geometry drives them.
 */
#include "kernels/reduce2d/reduce2d.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "base/util.h"
#include "kernels/reduce2d/reduce2d_gpu.h"
#include "kernels/simd/isas.h"

enum {
	PART_VALUES = 1 << 20, /* of a part of the data */
	PARTS_MAX = 256,       /* of the reference, and values of each at least */
	PART_LEAST = 1 << 16,
};

static double add(double a, double b)
{
	return a + b;
}

static double maximum(double a, double b)
{
	if (isnan(a) || isnan(b))
		return (double)NAN;
	return a > b || (a == b && signbit(b)) ? a : b;
}

static double minimum(double a, double b)
{
	if (isnan(a) || isnan(b))
		return (double)NAN;
	return a < b || (a == b && signbit(a)) ? a : b;
}

const struct reduce2d_operation reduce2d_sum = { "sum", -0.0, add };
const struct reduce2d_operation reduce2d_max = { "max", -INFINITY, maximum };
const struct reduce2d_operation reduce2d_min = { "min", INFINITY, minimum };

static double reduce_view(const struct reduce2d_operation *operation, const struct tcb_view *view, const float *x)
{
	double result = operation->identity;
	for (size_t r = 0; r < view->shape[0]; r++) {
		const float *row = x + view->offset + r * view->stride[0];
		for (size_t c = 0; c < view->shape[1]; c++)
			result = operation->combine(result, (double)row[c * view->stride[1]]);
	}
	return result;
}

double reduce2d_tiles(const struct reduce2d_operation *operation, const struct tcb_partition *tiles, const float *x)
{
	double result = operation->identity;
	for (size_t t = 0; t < tiles->total; t++) {
		struct tcb_view tile;
		tcb_partition_tile_view(tiles, t, &tile);
		result = operation->combine(result, reduce_view(operation, &tile, x));
	}
	return result;
}

static const struct reduce2d_operation *operation_of(const struct tcb_problem *problem)
{
	return problem->op->member;
}

static enum tcb_status reduce2d_check_shape(const struct tcb_op *op, const struct tcb_shape *shape,
					    struct tcb_error *err)
{
	size_t bytes;
	if (shape->k)
		return tcb_fail(err, TCB_E_USAGE, "op %s takes a shape MxN (M rows of N values), for example 4096x%zu",
				op->name, shape->n ? shape->n : 4096);
	if (!shape->m || !shape->n)
		return tcb_fail(err, TCB_E_USAGE, "op %s needs at least one row and one column, for example 4096x4096",
				op->name);
	if (tcb_mul_size(shape->m, shape->n, &bytes) || tcb_mul_size(bytes, 4 * sizeof(double), &bytes))
		return tcb_fail(err, TCB_E_OVERFLOW, "a matrix of %zux%zu does not fit in memory", shape->m, shape->n);
	return TCB_OK;
}

static size_t reduce2d_operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	size_t m = problem->shape.m, n = problem->shape.n;
	out[REDUCE2D_X] = (struct tcb_operand){ "x", TCB_ROLE_INPUT, TCB_TYPE_F32, m, n, m * n * sizeof(float), 1 };
	out[REDUCE2D_Y] = (struct tcb_operand){ "y", TCB_ROLE_OUTPUT, TCB_TYPE_F32, 1, 1, sizeof(float), 0 };
	return REDUCE2D_OPERANDS;
}

static size_t reduce2d_fill_parts(const struct tcb_problem *problem)
{
	return tcb_div_up(problem->shape.m * problem->shape.n, PART_VALUES);
}

/* With a mean: a sum of nothing but noise is near 0, and any error bound would be wider than the result. */
static void reduce2d_fill_part(const struct tcb_problem *problem, uint64_t seed, void *const operand[], size_t part)
{
	const size_t first = part * PART_VALUES;
	const size_t count = tcb_least(PART_VALUES, problem->shape.m * problem->shape.n - first);
	float *x = (float *)operand[REDUCE2D_X] + first;
	struct tcb_rng rng;
	tcb_part_rng(seed, part, &rng);
	for (size_t i = 0; i < count; i++)
		x[i] = 0.75f + tcb_rng_normal(&rng);
}

/* The rounding error of each addition is carried along (Neumaier). */
struct part {
	double y; /* the sum so far, or what the operation makes of the values */
	double lost, magnitude;
};

static void add_value(struct part *part, double value)
{
	const double total = part->y + value;
	part->lost += fabs(part->y) >= fabs(value) ? (part->y - total) + value : (value - total) + part->y;
	part->y = total;
}

/* The values in at most PARTS_MAX parts, which threads share. */
struct parts {
	const struct reduce2d_operation *operation;
	const float *x;
	size_t count, size;
	struct part part[PARTS_MAX];
};

static void reduce_part(void *ctx, size_t task, unsigned thread)
{
	struct parts *parts = ctx;
	const size_t first = task * parts->size, end = tcb_least(first + parts->size, parts->count);
	const struct reduce2d_operation *operation = parts->operation;
	struct part part = { .y = operation->identity };
	(void)thread;
	for (size_t i = first; operation == &reduce2d_sum && i < end; i++) {
		add_value(&part, (double)parts->x[i]);
		part.magnitude += fabs((double)parts->x[i]);
	}
	for (size_t i = first; operation != &reduce2d_sum && i < end; i++)
		part.y = operation->combine(part.y, (double)parts->x[i]);
	parts->part[task] = part;
}

/* The sum of all parts; what rounds to more than f32 has is infinite. */
static void add_parts(const struct parts *parts, size_t count, struct tcb_reference *out)
{
	struct part sum = parts->part[0];
	for (size_t i = 1; i < count; i++) {
		add_value(&sum, parts->part[i].y);
		sum.lost += parts->part[i].lost;
		sum.magnitude += parts->part[i].magnitude;
	}
	const double y = sum.lost != 0 && isfinite(sum.y) ? sum.y + sum.lost : sum.y;
	out->y[0] = fabs(y) > FLT_MAX * (1 + 0x1p-25) ? copysign(INFINITY, y) : y;
	out->magnitude[0] = sum.magnitude;
	out->extra[0] = 0x1p-149;
}

static void reduce2d_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	struct parts parts = { .operation = operation_of(problem),
			       .x = operand[REDUCE2D_X],
			       .count = problem->shape.m * problem->shape.n };
	parts.size = tcb_most(tcb_div_up(parts.count, PARTS_MAX), PART_LEAST);
	const size_t count = tcb_div_up(parts.count, parts.size);
	tcb_reference_share(out, count, reduce_part, &parts);
	if (parts.operation == &reduce2d_sum) {
		add_parts(&parts, count, out);
		return;
	}
	out->y[0] = parts.part[0].y;
	for (size_t i = 1; i < count; i++)
		out->y[0] = parts.operation->combine(out->y[0], parts.part[i].y);
	out->magnitude[0] = out->extra[0] = 0;
}

/* The order does not matter to max and min, so one tile is as good as the plan's. */
static void reduce2d_exact(const struct tcb_plan *plan, void *const operand[], float *y)
{
	const struct tcb_shape *shape = &plan->problem.shape;
	struct tcb_view matrix;
	struct tcb_partition tiles;
	enum tcb_status status = tcb_view_init(&matrix, 2, (const size_t[]){ shape->m, shape->n }, NULL);
	assert(status == TCB_OK);
	status = tcb_partition_init(&tiles, &matrix, (const size_t[]){ shape->m, shape->n }, NULL);
	assert(status == TCB_OK);
	(void)status;
	*y = (float)reduce2d_tiles(operation_of(&plan->problem), &tiles, operand[REDUCE2D_X]);
}

static double reduce2d_flops(const struct tcb_problem *problem)
{
	return (double)problem->shape.m * (double)problem->shape.n;
}

static double reduce2d_traffic(const struct tcb_problem *problem)
{
	return sizeof(float) * ((double)problem->shape.m * (double)problem->shape.n + 1);
}

static double log2_up(size_t value)
{
	unsigned log = 0;
	while (((size_t)1 << log) < value)
		log++;
	return log;
}

/* The longest chain of roundings that a term of a tile's sum goes through (the combination is in double). */
static double sum_chain(const struct tcb_plan *plan)
{
	const struct tcb_tile *midi = &plan->geometry.tile[TCB_MIDI], *micro = &plan->variant->micro;
	size_t rows = tcb_least(midi->m, plan->problem.shape.m), columns = tcb_least(midi->n, plan->problem.shape.n);
	size_t lanes = tcb_float_lanes((int32_t)plan->variant->isa), chains = micro->n / lanes;
	/* Rows beyond whole steps, and vectors beyond whole steps of each row, are further ones. */
	size_t steps = (rows / micro->m + rows % micro->m) * (columns / micro->n + chains);
	double sums = (double)(micro->m * chains), fold = log2_up(lanes);
	switch ((enum tcb_form)plan->geometry.knob[TCB_KNOB_FORM]) {
	case TCB_FORM_PAIRWISE:
		return REDUCE2D_LEAF_STEPS + sums + 2 * log2_up(steps / REDUCE2D_LEAF_STEPS + 2) + fold;
	case TCB_FORM_KAHAN: /* 2u + O(steps u^2) (Higham 2002, 4.3) */
		return 2 + 4 * (double)steps * 0x1p-24 + 0.1;
	default:
		return (double)steps + sums + fold;
	}
}

static enum tcb_status check_knobs(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				   struct tcb_error *err)
{
	const int32_t *knob = geometry->knob;
	int32_t form = knob[TCB_KNOB_FORM];
	if (knob[TCB_KNOB_THREADS] < 1 || knob[TCB_KNOB_PREFETCH] < 0 || knob[TCB_KNOB_SCHED] < 0 ||
	    knob[TCB_KNOB_HINT] < 0)
		return tcb_fail(err, TCB_E_ILLEGAL, "%s needs the knobs threads, sched, prefetch, hint",
				problem->op_name);
	if (reduce2d_is_sum(problem) && form != TCB_FORM_LANES && form != TCB_FORM_PAIRWISE && form != TCB_FORM_KAHAN)
		return tcb_fail(err, TCB_E_ILLEGAL, "%s needs form=lanes, pairwise or kahan", problem->op_name);
	if (!reduce2d_is_sum(problem) && form != TCB_KNOB_UNSET)
		return tcb_fail(err, TCB_E_ILLEGAL, "%s has no knob form: the order does not matter to it",
				problem->op_name);
	return TCB_OK;
}

static enum tcb_status reduce2d_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				     struct tcb_plan *out, struct tcb_error *err)
{
	const struct tcb_tile *tile = geometry->tile;
	const struct tcb_shape *shape = &problem->shape;
	memset(out, 0, sizeof(*out));
	const struct tcb_variant *variant = tcb_variant_find(problem->op, problem->contract, geometry);
	if (!variant || !variant->entry)
		return tcb_fail(err, TCB_E_ILLEGAL, "%s has no kernel for this isa and micro=%zux%zu", problem->op_name,
				tile[TCB_MICRO].m, tile[TCB_MICRO].n);
	TCB_TRY(check_knobs(problem, geometry, err));
	size_t threads = (size_t)geometry->knob[TCB_KNOB_THREADS];
	size_t tasks = tcb_div_up(shape->m, tile[TCB_MACRO].m) * tcb_div_up(shape->n, tile[TCB_MACRO].n);
	size_t partials = tcb_div_up(shape->m, tile[TCB_MIDI].m) * tcb_div_up(shape->n, tile[TCB_MIDI].n);
	if (threads > tasks)
		return tcb_fail(err, TCB_E_ILLEGAL, "threads=%zu, but macro=%zux%zu makes only %zu tasks", threads,
				tile[TCB_MACRO].m, tile[TCB_MACRO].n, tasks);
	out->problem = *problem;
	out->geometry = *geometry;
	out->variant = variant;
	out->workspace_bytes = partials * sizeof(double);
	out->threads = (unsigned)threads;
	if (reduce2d_is_sum(problem)) {
		out->chain = sum_chain(out);
		out->ulps =
			0.51; /* the result is rounded to f32, and the combination in double leaves next to nothing */
	}
	return TCB_OK;
}

struct run {
	const struct tcb_plan *plan;
	struct tcb_partition tasks; /* macro tiles */
	size_t midi_columns;        /* midi tiles in a row of them, of the whole matrix */
	reduce2d_micro_fn *micro;
	const float *x;
	double *partials; /* [midi tile], row-major */
	size_t partial_count;
	float *y;
	struct reduce2d_call call;
};

static double sum_wide(const struct reduce2d_call *call)
{
	double sum = reduce2d_sum.identity;
	for (size_t r = 0; r < call->rows; r++)
		for (size_t c = 0; c < call->columns; c++)
			sum += (double)call->x[r * call->stride + c];
	return sum;
}

static void reduce_task(void *ctx, size_t index, unsigned thread)
{
	const struct run *run = ctx;
	const struct tcb_tile *midi = &run->plan->geometry.tile[TCB_MIDI];
	const int is_sum = reduce2d_is_sum(&run->plan->problem);
	struct tcb_view view;
	struct tcb_partition tiles;
	struct tcb_tile_info task;
	(void)thread;
	tcb_partition_tile(&run->tasks, index, &task);
	tcb_partition_tile_view(&run->tasks, index, &view);
	enum tcb_status status = tcb_partition_init(&tiles, &view, (const size_t[]){ midi->m, midi->n }, NULL);
	assert(status == TCB_OK);
	(void)status;
	struct reduce2d_call call = run->call;
	for (size_t t = 0; t < tiles.total; t++) {
		struct tcb_tile_info tile;
		tcb_partition_tile(&tiles, t, &tile);
		call.x = run->x + tile.offset;
		call.rows = tile.extent[0];
		call.columns = tile.extent[1];
		run->micro(&call);
		if (is_sum && !isfinite(call.result))
			call.result = sum_wide(&call);
		run->partials[(task.start[0] + tile.start[0]) / midi->m * run->midi_columns +
			      (task.start[1] + tile.start[1]) / midi->n] = call.result;
	}
}

static void combine_task(void *ctx, size_t index, unsigned thread)
{
	const struct run *run = ctx;
	const struct reduce2d_operation *operation = operation_of(&run->plan->problem);
	double result = operation->identity;
	(void)index;
	(void)thread;
	for (size_t t = 0; t < run->partial_count; t++)
		result = operation->combine(result, run->partials[t]);
	*run->y = (float)result;
}

static void reduce2d_run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	const struct tcb_geometry *g = &plan->geometry;
	const struct tcb_shape *shape = &plan->problem.shape;
	const struct tcb_tile *macro = &g->tile[TCB_MACRO], *midi = &g->tile[TCB_MIDI];
	struct run run = {
		.plan = plan,
		.midi_columns = tcb_div_up(shape->n, midi->n),
		.partial_count = tcb_div_up(shape->m, midi->m) * tcb_div_up(shape->n, midi->n),
		.micro = (reduce2d_micro_fn *)plan->variant->entry,
		.x = operand[REDUCE2D_X],
		.partials = workspace,
		.y = operand[REDUCE2D_Y],
		.call = { .stride = shape->n,
			  .form = (enum tcb_form)g->knob[TCB_KNOB_FORM],
			  .prefetch = (size_t)g->knob[TCB_KNOB_PREFETCH],
			  .hint = (enum tcb_hint)g->knob[TCB_KNOB_HINT] },
	};
	struct tcb_view matrix;
	enum tcb_status status = tcb_view_init(&matrix, 2, (const size_t[]){ shape->m, shape->n }, NULL);
	assert(status == TCB_OK);
	status = tcb_partition_init(&run.tasks, &matrix, (const size_t[]){ macro->m, macro->n }, NULL);
	assert(status == TCB_OK);
	(void)status;
	tcb_pool_run(pool, plan->threads, (enum tcb_sched)g->knob[TCB_KNOB_SCHED], run.tasks.total, reduce_task, &run);
	tcb_pool_run(pool, plan->threads, TCB_SCHED_STATIC, 1, combine_task, &run);
}

static const struct tcb_shape default_shapes[] = { { 4096, 4096, 0 }, { 5000, 6007, 0 } };

TCB_VARIANT_TABLES(sum_lists, TCB_ISAS_FLOATS, reduce2d_sum_variants)
TCB_VARIANT_TABLES(max_lists, TCB_ISAS_FLOATS, reduce2d_max_variants)
TCB_VARIANT_TABLES(min_lists, TCB_ISAS_FLOATS, reduce2d_min_variants)

#define REDUCE2D_OP(what, text)                                                                                     \
	{                                                                                                           \
		.name = "reduce2d_" #what, .summary = text, .shape_form = "MxN", .member = &reduce2d_##what,        \
		.contracts = 1u << TCB_CONTRACT_F32, .default_contract = TCB_CONTRACT_F32,                          \
		.default_shapes = default_shapes,                                                                   \
		.default_shape_count = sizeof(default_shapes) / sizeof(default_shapes[0]),                          \
		.variant_lists = what##_lists, .check_shape = reduce2d_check_shape, .operands = reduce2d_operands,  \
		.fill = tcb_fill_in_parts, .fill_parts = reduce2d_fill_parts, .fill_part = reduce2d_fill_part,      \
		.reference = reduce2d_reference, .exact = reduce2d_exact, .flops = reduce2d_flops,                  \
		.traffic = reduce2d_traffic, .axes = reduce2d_axes, .default_geometry = reduce2d_default_geometry,  \
		.footprint = reduce2d_footprint, .plan = reduce2d_plan, .run = reduce2d_run, .emit = reduce2d_emit, \
		.gpu_rules = reduce2d_gpu_rules, .gpu_variants = reduce2d_##what##_gpu_variants,                    \
		.cpu_rules = reduce2d_cpu_rules,                                                                    \
	}

const struct tcb_op tcb_op_reduce2d_sum =
	REDUCE2D_OP(sum, "sum of a matrix of f32, tile by tile, plain, pairwise or compensated");
const struct tcb_op tcb_op_reduce2d_max = REDUCE2D_OP(max, "IEEE maximum of a matrix of f32, tile by tile");
const struct tcb_op tcb_op_reduce2d_min = REDUCE2D_OP(min, "IEEE minimum of a matrix of f32, tile by tile");
