/* SPDX-License-Identifier: MIT
 *
 * How a geometry of the dense products becomes a plan for a CPU, and the loops
 * that run it; matmul_cpu.h says what the tiles mean.  Macro tiles are dealt to
 * threads.  Each thread has its block of A, its block of B and, where C's type
 * would round them, its sums in the workspace.
 */
#include "kernels/matmul/matmul_cpu.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/gang.h"
#include "base/sizes.h"
#include "base/util.h"
#include "base/view.h"
#include "kernels/formats.h"
#include "kernels/simd/isas.h"

enum { PAGE_FLOATS = 1024, LINE_FLOATS = 16 }; /* threads' parts begin on pages, blocks on lines of their own */

static int has_tiles(int32_t isa)
{
	return tcb_cpu_isa(isa)->has_tiles;
}

static int takes_stored(const struct tcb_geometry *geometry)
{
	return geometry->knob[TCB_KNOB_DECODE] == TCB_DECODE_REGS;
}

/* M x N floats, and some more, on lines of their own. */
static int add_block(size_t m, size_t n, size_t more, size_t *block, size_t *all)
{
	if (tcb_mul_size(m, n, block) || tcb_add_size(*block, more, block) || *block > SIZE_MAX / 64)
		return -1;
	*block = tcb_round_up(*block, LINE_FLOATS);
	return tcb_add_size(*all, *block, all) ? -1 : 0;
}

/* In floats. */
static int make_room(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct matmul_room *out)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const size_t steps = tcb_least(midi->k, problem->shape.k);
	const int is_f32 = problem->op->type == TCB_TYPE_F32, is_one_block = midi->k >= problem->shape.k;
	*out = (struct matmul_room){ 0 };
	/* B as stored: only what is left past the last whole panel is packed. */
	if (add_block(midi->m, steps, MATMUL_SLACK, &out->a, &out->all) ||
	    add_block(takes_stored(geometry) ? micro->n : midi->n, steps, 0, &out->b, &out->all))
		return -1;
	if (!is_f32 && add_block(is_one_block ? midi->m : macro->m, midi->n, 0, &out->sums, &out->all))
		return -1;
	out->all = tcb_round_up(out->all, PAGE_FLOATS);
	return 0;
}

/* A x B x EACH bytes, on lines of their own. */
static int add_bytes(size_t a, size_t b, size_t each, size_t *block, size_t *all)
{
	if (tcb_mul_size(a, b, block) || tcb_mul_size(*block, each, block) || *block > SIZE_MAX / 64)
		return -1;
	*block = tcb_round_up(*block, MATMUL_LINE);
	return tcb_add_size(*all, *block, all) ? -1 : 0;
}

int matmul_tiles_room(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct matmul_room *out)
{
	const struct tcb_tile *midi = &geometry->tile[TCB_MIDI], *micro = &geometry->tile[TCB_MICRO];
	const size_t k = problem->shape.k, each = problem->op->type == TCB_TYPE_F16 ? 4 : 2;
	const int is_one_block = midi->k >= k;
	*out = (struct matmul_room){ 0 };
	if (k > SIZE_MAX / 64 || add_bytes(midi->m, tcb_round_up(k, MATMUL_TILE_STEP), each, &out->a, &out->all) ||
	    add_bytes(tcb_round_up(tcb_least(midi->k, k), MATMUL_TILE_STEP), midi->n, each, &out->b, &out->all) ||
	    add_bytes(is_one_block ? micro->m : midi->m, is_one_block ? micro->n : midi->n, sizeof(float), &out->sums,
		      &out->all))
		return -1;
	out->all = tcb_round_up(out->all, PAGE_FLOATS * sizeof(float));
	return 0;
}

/* Roundings of an output's longest chain, and what else it may be off by, in units of those. */
double matmul_chain(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	enum { IN_STEP = MATMUL_TILE_STEP / 2 + 1, LOW_BY_LOW = 1 << 8 }; /* 2^-16 of the products */
	const size_t k = problem->shape.k;
	if (!has_tiles(geometry->knob[TCB_KNOB_ISA]))
		return (double)k + 1; /* a product and an addition a step; fused ones round less */
	const double steps = (double)tcb_div_up(k, MATMUL_TILE_STEP);
	return problem->op->type == TCB_TYPE_F16 ? IN_STEP + 3 * steps + LOW_BY_LOW : IN_STEP + steps;
}

static enum tcb_status matmul_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				   struct tcb_plan *out, struct tcb_error *err)
{
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const struct tcb_variant *variant = tcb_variant_find(problem->op, problem->contract, geometry);
	const char *why;
	struct matmul_room room;
	size_t bytes;
	memset(out, 0, sizeof(*out));
	if (!variant || !variant->entry)
		return tcb_fail(err, TCB_E_ILLEGAL, "%s has no CPU kernel for this isa and micro=%zux%zu",
				problem->op_name, micro->m, micro->n);
	if ((why = matmul_refused(problem, geometry)))
		return tcb_fail(err, TCB_E_ILLEGAL, "%s", why);
	const size_t threads = (size_t)geometry->knob[TCB_KNOB_THREADS];
	const int is_tiles = has_tiles(geometry->knob[TCB_KNOB_ISA]);
	if ((is_tiles ? matmul_tiles_room : make_room)(problem, geometry, &room) ||
	    tcb_mul_size(room.all, threads * (is_tiles ? 1 : sizeof(float)), &bytes))
		return tcb_fail(err, TCB_E_OVERFLOW, "the workspace of this geometry does not fit in memory");
	out->problem = *problem;
	out->geometry = *geometry;
	out->variant = variant;
	out->workspace_bytes = bytes;
	out->threads = (unsigned)threads;
	out->chain = matmul_chain(problem, geometry);
	return TCB_OK;
}

/* One call, shared by its threads. */
struct run {
	const struct tcb_plan *plan;
	enum tcb_type type;
	size_t each; /* bytes of an element */
	const struct matmul_kernels *kernels;
	struct tcb_partition tasks; /* macro tiles of C */
	struct matmul_room room;
	float *workspace;
	const char *a, *b;
	char *c;
	size_t prefetch;
	int is_stored;
};

/* What a thread is at: a block of a task. */
struct block {
	float *a, *b, *sums;
	size_t m_task;  /* first row of the task */
	size_t m, rows; /* of C */
	size_t n, columns;
	size_t k, steps;
};

static struct matmul_part part_of_b(const struct run *run, const struct block *at, size_t column, size_t count)
{
	const size_t n = run->plan->problem.shape.n;
	return (struct matmul_part){ run->type, run->b + (at->k * n + at->n + column) * run->each, n, at->steps,
				     count };
}

/* Where tiles go on from and are left. */
static float *sums_at(const struct run *run, const struct block *at, size_t row, size_t column, size_t *stride)
{
	const struct tcb_tile *midi = &run->plan->geometry.tile[TCB_MIDI];
	if (run->type == TCB_TYPE_F32) {
		*stride = run->plan->problem.shape.n;
		return (float *)(void *)run->c + (at->m + row) * *stride + at->n + column;
	}
	*stride = midi->n;
	const size_t first = midi->k >= run->plan->problem.shape.k ? 0 : at->m - at->m_task;
	return at->sums + (first + row) * *stride + column;
}

/* One panel of B, all panels of the block of A. */
static void run_panel(const struct run *run, const struct block *at, size_t column)
{
	const struct tcb_tile *micro = &run->plan->geometry.tile[TCB_MICRO];
	const size_t columns = tcb_least(micro->n, at->columns - column);
	const int is_stored = run->is_stored && columns == micro->n;
	const struct matmul_part part = part_of_b(run, at, column, columns);
	struct matmul_call call = { .b = is_stored ? part.first : at->b + (run->is_stored ? 0 : column * at->steps),
				    .b_stride = part.stride,
				    .k = at->steps,
				    .columns = columns,
				    .accumulate = at->k > 0 };
	if (run->is_stored && !is_stored)
		run->kernels->movers->pack_b(&part, micro->n, run->prefetch, at->b);
	for (size_t row = 0; row < at->rows; row += micro->m) {
		call.a = at->a + row * at->steps;
		call.c = sums_at(run, at, row, column, &call.c_stride);
		call.rows = tcb_least(micro->m, at->rows - row);
		call.prefetch = row ? 0 : run->prefetch; /* the first one brings the panel into the caches */
		(is_stored ? run->kernels->stored : run->kernels->panel)(&call);
	}
}

/* A block of A against a block of B. */
static void run_block(const struct run *run, const struct block *at)
{
	const struct tcb_shape *s = &run->plan->problem.shape;
	const struct tcb_tile *micro = &run->plan->geometry.tile[TCB_MICRO];
	const struct matmul_part part = { run->type, run->a + (at->m * s->k + at->k) * run->each, s->k, at->rows,
					  at->steps };
	run->kernels->movers->pack_a(&part, micro->m, at->a);
	for (size_t column = 0; column < at->columns; column += micro->n)
		run_panel(run, at, column);
	if (run->type == TCB_TYPE_F32 || at->k + at->steps < s->k)
		return;
	for (size_t row = 0; row < at->rows; row++) {
		size_t stride;
		const float *sums = sums_at(run, at, row, 0, &stride);
		run->kernels->movers->narrow(run->type, sums, at->columns,
					     run->c + ((at->m + row) * s->n + at->n) * run->each);
	}
}

static void run_task(void *ctx, size_t index, unsigned thread)
{
	const struct run *run = ctx;
	const struct tcb_tile *midi = &run->plan->geometry.tile[TCB_MIDI];
	const size_t k = run->plan->problem.shape.k;
	struct tcb_tile_info task;
	struct block at = { .a = run->workspace + thread * run->room.all };
	tcb_partition_tile(&run->tasks, index, &task);
	at.b = at.a + run->room.a;
	at.sums = at.b + run->room.b;
	at.m_task = task.start[0];
	for (size_t j = 0; j < task.extent[1]; j += midi->n) {
		at.n = task.start[1] + j;
		at.columns = tcb_least(midi->n, task.extent[1] - j);
		for (at.k = 0; at.k < k; at.k += midi->k) {
			at.steps = tcb_least(midi->k, k - at.k);
			if (!run->is_stored) {
				const struct matmul_part part = part_of_b(run, &at, 0, at.columns);
				run->kernels->movers->pack_b(&part, run->plan->variant->micro.n, run->prefetch, at.b);
			}
			for (size_t i = 0; i < task.extent[0]; i += midi->m) {
				at.m = task.start[0] + i;
				at.rows = tcb_least(midi->m, task.extent[0] - i);
				run_block(run, &at);
			}
		}
	}
}

static void run_tiles_task(void *ctx, size_t index, unsigned thread)
{
	const struct run *run = ctx;
	struct tcb_tile_info task;
	tcb_partition_tile(&run->tasks, index, &task);
	run->kernels->task(&(struct matmul_task){ .plan = run->plan,
						  .room = &run->room,
						  .a = run->a,
						  .b = run->b,
						  .c = run->c,
						  .m = task.start[0],
						  .rows = task.extent[0],
						  .n = task.start[1],
						  .columns = task.extent[1],
						  .workspace = (char *)run->workspace + thread * run->room.all });
}

static void matmul_run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	const struct tcb_geometry *g = &plan->geometry;
	const struct tcb_shape *s = &plan->problem.shape;
	const enum tcb_type type = plan->problem.op->type;
	struct run run = { .plan = plan,
			   .type = type,
			   .each = tcb_type_bytes(type),
			   .kernels = ((matmul_kernels_fn *)plan->variant->entry)(),
			   .workspace = workspace,
			   .a = operand[MATMUL_A],
			   .b = operand[MATMUL_B],
			   .c = operand[MATMUL_C],
			   .prefetch = (size_t)g->knob[TCB_KNOB_PREFETCH],
			   .is_stored = takes_stored(g) };
	struct tcb_view view;
	int is_too_large = (run.kernels->task ? matmul_tiles_room : make_room)(&plan->problem, g, &run.room);
	enum tcb_status status = tcb_view_init(&view, 2, (const size_t[]){ s->m, s->n }, NULL);
	assert(status == TCB_OK && !is_too_large);
	status = tcb_partition_init(&run.tasks, &view, (const size_t[]){ g->tile[TCB_MACRO].m, g->tile[TCB_MACRO].n },
				    NULL);
	assert(status == TCB_OK);
	(void)status;
	(void)is_too_large;
	tcb_pool_run_last(pool, plan->threads, (enum tcb_sched)g->knob[TCB_KNOB_SCHED], run.tasks.total,
			  run.kernels->task ? run_tiles_task : run_task, &run);
}

/* f32 only: in each block of k one fused operation a step in order, unfused in scalar code; then the blocks' sums. */
void matmul_exact(const struct tcb_plan *plan, void *const operand[], float *y)
{
	const struct tcb_shape *s = &plan->problem.shape;
	const size_t block = plan->geometry.tile[TCB_MIDI].k;
	const int is_fused = plan->variant->isa != TCB_ISA_SCALAR;
	const float *a = operand[MATMUL_A], *b = operand[MATMUL_B];
	assert(plan->problem.op->type == TCB_TYPE_F32);
	for (size_t m = 0; m < s->m; m++, a += s->k, y += s->n)
		for (size_t n = 0; n < s->n; n++)
			for (size_t first = 0; first < s->k; first += block) {
				float sum = 0;
				for (size_t k = first; k < first + tcb_least(block, s->k - first); k++)
					sum = is_fused ? fmaf(a[k], b[k * s->n + n], sum)
						       : a[k] * b[k * s->n + n] + sum;
				y[n] = first ? y[n] + sum : sum;
			}
}

/* Families with kernels for 16-bit types: tiles multiply bf16. */
#if defined(__x86_64__)
#define HALVES(X, ...) TCB_ISAS_FLOATS(X, __VA_ARGS__) X(amx, AMX, __VA_ARGS__)
#else
#define HALVES TCB_ISAS_FLOATS
#endif

#define SIDE(type, ISAS)                                                                                        \
	TCB_VARIANT_TABLES(type##_variants, ISAS, matmul_##type##_variants)                                     \
	const struct tcb_side matmul_##type##_cpu = {                                                           \
		.variants = type##_variants, .space = &matmul_cpu_space, .plan = matmul_plan, .run = matmul_run \
	}
SIDE(f32, TCB_ISAS_FLOATS);
SIDE(f16, HALVES);
SIDE(bf16, HALVES);
