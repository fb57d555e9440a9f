/* SPDX-License-Identifier: MIT
 *
 * The plan and the loops of topk on CPUs: a plan comes in, its tasks find the best of
 * their columns, and where several have a row, others the best of these.
 */
#include <math.h>
#include <string.h>

#include "base/gang.h"
#include "base/sizes.h"
#include "kernels/cpu/cpu_plan.h"
#include "kernels/simd/isas.h"
#include "kernels/topk/topk.h"
#include "kernels/topk/topk_keys.h"

static size_t parts_of(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	return tcb_div_up(problem->shape.n, geometry->tile[TCB_MIDI].n);
}

/* Of a task: its keys, and then how many. */
static size_t task_words(const struct tcb_problem *problem)
{
	enum { LINE_WORDS = 8 };
	return tcb_round_up(2 * problem->shape.k + 1, LINE_WORDS);
}

static enum tcb_status topk_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				 struct tcb_plan *out, struct tcb_error *err)
{
	const size_t parts = parts_of(problem, geometry), tasks = problem->shape.m * parts;
	size_t bytes;
	TCB_TRY(tcb_cpu_plan(problem, geometry, 0, out, err));
	TCB_TRY(tcb_cpu_plan_shares(out, tasks, "midi.n", err));
	/* Keys of all tasks; then, for each thread, a row's that are brought together. */
	if (tcb_mul_size(tasks + out->threads * parts, task_words(problem) * sizeof(uint64_t), &bytes))
		return tcb_fail(err, TCB_E_OVERFLOW, "the workspace of this geometry does not fit in memory");
	out->workspace_bytes = bytes;
	return TCB_OK;
}

struct run {
	const struct tcb_plan *plan;
	void *const *operand;
	uint64_t *keys, *joined;
	size_t parts, words;
};

/* The best COUNT keys of a row, in any order, as results. */
static void write_row(const struct run *run, size_t row, uint64_t *keys, size_t count)
{
	const size_t n = run->plan->problem.shape.n, k = run->plan->problem.shape.k;
	const float *x = (const float *)run->operand[TOPK_X] + row * n;
	float *values = (float *)run->operand[TOPK_VALUES] + row * k;
	int32_t *columns = (int32_t *)run->operand[TOPK_COLUMNS] + row * k;
	topk_sort(keys, count);
	for (size_t i = 0; i < k; i++) {
		columns[i] = i < count ? (int32_t)topk_column(keys[i]) : -1;
		values[i] = i < count ? x[columns[i]] : NAN;
	}
}

static void part_task(void *ctx, size_t index, unsigned thread)
{
	const struct run *run = ctx;
	const struct tcb_plan *plan = run->plan;
	const size_t n = plan->problem.shape.n, row = index / run->parts, midi = plan->geometry.tile[TCB_MIDI].n;
	const size_t first = index % run->parts * midi;
	uint64_t *keys = run->keys + index * run->words;
	struct topk_call call = {
		.x = (const float *)run->operand[TOPK_X] + row * n + first,
		.first = first,
		.columns = tcb_least(midi, n - first),
		.k = plan->problem.shape.k,
		.keys = keys,
	};
	(void)thread;
	((topk_micro_fn *)plan->variant->entry)(&call);
	keys[run->words - 1] = call.count;
	if (run->parts == 1)
		write_row(run, row, keys, call.count);
}

static void join_task(void *ctx, size_t row, unsigned thread)
{
	const struct run *run = ctx;
	const size_t k = run->plan->problem.shape.k;
	uint64_t *joined = run->joined + thread * run->parts * run->words;
	size_t count = 0;
	for (size_t part = 0; part < run->parts; part++) {
		const uint64_t *keys = run->keys + (row * run->parts + part) * run->words;
		const size_t found = keys[run->words - 1];
		memcpy(joined + count, keys, found * sizeof(*keys));
		count += found;
	}
	topk_select(joined, count, k);
	write_row(run, row, joined, tcb_least(count, k));
}

static void topk_run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	const enum tcb_sched sched = (enum tcb_sched)plan->geometry.knob[TCB_KNOB_SCHED];
	const size_t rows = plan->problem.shape.m, parts = parts_of(&plan->problem, &plan->geometry);
	const size_t words = task_words(&plan->problem);
	struct run run = { plan, operand, workspace, (uint64_t *)workspace + rows * parts * words, parts, words };
	if (parts == 1) {
		tcb_pool_run_last(pool, plan->threads, sched, rows, part_task, &run);
		return;
	}
	tcb_pool_run(pool, plan->threads, sched, rows * parts, part_task, &run);
	tcb_pool_run_last(pool, plan->threads, sched, rows, join_task, &run);
}

TCB_VARIANT_TABLES(variants, TCB_ISAS_FLOATS, topk_variants)
const struct tcb_side topk_cpu = {
	.variants = variants,
	.space = &topk_cpu_space,
	.plan = topk_plan,
	.run = topk_run,
};
