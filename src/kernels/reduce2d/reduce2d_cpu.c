/* SPDX-License-Identifier: MIT
 *
 * The plan and the loops of the reduce2d ops on CPUs, and what a variant gives bit by
 * bit.  reduce2d.h says how the geometry drives them.
 */
#include "kernels/reduce2d/reduce2d.h"

#include <assert.h>
#include <math.h>

#include "base/gang.h"
#include "base/sizes.h"
#include "kernels/cpu/cpu_plan.h"
#include "kernels/simd/isas.h"

static double log2_up(size_t value)
{
	unsigned log = 0;
	while (((size_t)1 << log) < value)
		log++;
	return log;
}

/* Steps of a tile that an accumulator takes part in, at most. */
static size_t tile_steps(const struct tcb_plan *plan)
{
	const struct tcb_tile *midi = &plan->geometry.tile[TCB_MIDI], *micro = &plan->variant->micro;
	size_t rows = tcb_least(midi->m, plan->problem.shape.m), columns = tcb_least(midi->n, plan->problem.shape.n);
	size_t chains = micro->n / tcb_float_lanes((int32_t)plan->variant->isa);
	/* Rows beyond whole steps, and vectors beyond whole steps of each row, are further ones. */
	return (rows / micro->m + rows % micro->m) * (columns / micro->n + chains);
}

/* The longest chain of roundings that a term of a tile's sum goes through (the combination is in double). */
static double sum_chain(const struct tcb_plan *plan)
{
	const struct tcb_tile *micro = &plan->variant->micro;
	size_t lanes = tcb_float_lanes((int32_t)plan->variant->isa), chains = micro->n / lanes;
	size_t steps = tile_steps(plan);
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

static enum tcb_status check_form(const struct tcb_problem *problem, int32_t form, struct tcb_error *err)
{
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
	TCB_TRY(tcb_cpu_plan(problem, geometry, TCB_NEEDS(PREFETCH) | TCB_NEEDS(HINT), out, err));
	TCB_TRY(check_form(problem, geometry->knob[TCB_KNOB_FORM], err));
	size_t tasks = tcb_div_up(shape->m, tile[TCB_MACRO].m) * tcb_div_up(shape->n, tile[TCB_MACRO].n);
	size_t partials = tcb_div_up(shape->m, tile[TCB_MIDI].m) * tcb_div_up(shape->n, tile[TCB_MIDI].n);
	TCB_TRY(tcb_cpu_plan_shares(out, tasks, "macro", err));
	out->workspace_bytes = partials * sizeof(double);
	if (reduce2d_is_sum(problem)) {
		out->chain = sum_chain(out);
		out->ulps = 0.51; /* rounded to f32; the combination in double leaves next to nothing */
	}
	const struct reduce2d_program *program = reduce2d_program(reduce2d_operation(problem));
	if (program && reduce2d_program_roundings(program)) {
		const double all = (double)shape->m * (double)shape->n;
		out->chain = reduce2d_program_roundings(program) *
			     (reduce2d_program_multiplies(program) ? all : (double)tile_steps(out));
		out->ulps = 0.51;
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
	const struct reduce2d_operation *operation = reduce2d_operation(&run->plan->problem);
	double result = operation->identity;
	(void)index;
	(void)thread;
	for (size_t t = 0; t < run->partial_count; t++)
		result = reduce2d_combine(operation, result, run->partials[t]);
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
			  .hint = (enum tcb_hint)g->knob[TCB_KNOB_HINT],
			  .program = reduce2d_program(reduce2d_operation(&plan->problem)) },
	};
	struct tcb_view matrix;
	enum tcb_status status = tcb_view_init(&matrix, 2, (const size_t[]){ shape->m, shape->n }, NULL);
	assert(status == TCB_OK);
	status = tcb_partition_init(&run.tasks, &matrix, (const size_t[]){ macro->m, macro->n }, NULL);
	assert(status == TCB_OK);
	(void)status;
	tcb_pool_run(pool, plan->threads, (enum tcb_sched)g->knob[TCB_KNOB_SCHED], run.tasks.total, reduce_task, &run);
	tcb_pool_run_last(pool, plan->threads, TCB_SCHED_STATIC, 1, combine_task, &run);
}

/* The order does not matter to max and min, so one tile is as good as the plan's. */
void reduce2d_exact(const struct tcb_plan *plan, void *const operand[], float *y)
{
	const struct tcb_shape *shape = &plan->problem.shape;
	struct tcb_view matrix;
	struct tcb_partition tiles;
	enum tcb_status status = tcb_view_init(&matrix, 2, (const size_t[]){ shape->m, shape->n }, NULL);
	assert(status == TCB_OK);
	status = tcb_partition_init(&tiles, &matrix, (const size_t[]){ shape->m, shape->n }, NULL);
	assert(status == TCB_OK);
	(void)status;
	*y = (float)reduce2d_tiles(reduce2d_operation(&plan->problem), &tiles, operand[REDUCE2D_X]);
}

#define SIDE(what)                                                                                                    \
	TCB_VARIANT_TABLES(what##_variants, TCB_ISAS_FLOATS, reduce2d_##what##_variants)                              \
	const struct tcb_side reduce2d_##what##_cpu = {                                                               \
		.variants = what##_variants, .space = &reduce2d_cpu_space, .plan = reduce2d_plan, .run = reduce2d_run \
	}
SIDE(sum);
SIDE(max);
SIDE(min);
SIDE(absmax);
