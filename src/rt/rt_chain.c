/* SPDX-License-Identifier: MIT
 *
 * Chains: calls in, whose operands are addresses; out goes where threads must wait for each other, and where each
 * call's part of the workspace is.
 *
 * Threads go through a chain together.  Of a call each does its share and goes on to the next call, as long as that one
 * depends on no other since the last wait: such calls are a group, at whose end all meet.  A call's threads share a
 * gang (base/pool.h): those of a group have one each, so that a thread which is ahead deals out nothing of the call
 * before. The workspace is the gangs of the largest group, then the calls' own parts, which groups use one after
 * another.
 */
#include "rt/rt_chain.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/gang.h"
#include "base/sizes.h"
#include "base/util.h"
#include "kernels/gpu/ptx_code.h"
#include "rt/rt_pool.h"

/* ---- which calls wait ---- */

static size_t operand_bytes(const struct tcbrt_operand *operand)
{
	return operand->packed_bytes ? operand->packed_bytes : operand->bytes;
}

typedef int pair_fn(enum tcbrt_role before, enum tcbrt_role now);

/* One of the two is written. */
static int depends(enum tcbrt_role before, enum tcbrt_role now)
{
	return before == TCBRT_ROLE_OUTPUT || now == TCBRT_ROLE_OUTPUT;
}

static int writes_weights(enum tcbrt_role before, enum tcbrt_role now)
{
	return before == TCBRT_ROLE_OUTPUT && now == TCBRT_ROLE_WEIGHTS;
}

/* Bytes from a row to the next, and of a row. */
static void rows_of(const struct tcbrt_operand *operand, size_t *stride, size_t *row)
{
	const size_t elements = (operand->rows - 1) * operand->stride + operand->columns;
	*stride = operand->bytes / elements * operand->stride;
	*row = operand->bytes / elements * operand->columns;
}

/* Do A, at AT, and B, at TO, whose bytes overlap, have parts of the rows of one buffer that do not? */
static int are_beside(const struct tcbrt_operand *a, unsigned long long at, const struct tcbrt_operand *b,
		      unsigned long long to)
{
	size_t stride_a, stride_b, row_a, row_b;

	if (!a->stride || !b->stride)
		return 0;
	rows_of(a, &stride_a, &row_a);
	rows_of(b, &stride_b, &row_b);
	if (stride_a != stride_b)
		return 0;
	const size_t behind = to >= at ? (to - at) % stride_a : (stride_a - (at - to) % stride_a) % stride_a;
	return behind >= row_a && behind + row_b <= stride_a;
}

/* Have two calls operands that overlap and that MATTER? */
static int touch(const struct rt_link *one, const struct rt_link *other, pair_fn *matter)
{
	for (size_t i = 0; i < one->plan->info.operand_count; i++)
		for (size_t j = 0; j < other->plan->info.operand_count; j++) {
			const struct tcbrt_operand *a = &one->plan->operand[i], *b = &other->plan->operand[j];
			const unsigned long long at = one->address[i], to = other->address[j];

			if (matter(a->role, b->role) && at < to + operand_bytes(b) && to < at + operand_bytes(a) &&
			    !are_beside(a, at, b, to))
				return 1;
		}
	return 0;
}

/* Groups, and where their calls' parts of the workspace are. */
static void plan_waits(struct tcbrt_chain *chain)
{
	size_t first = 0, at = 0, largest = 0, most = 0;

	for (size_t i = 0; i < chain->count; i++) {
		struct rt_link *link = &chain->links[i];
		int must_wait = i - first == RT_GROUP_MAX;

		for (size_t before = first; before < i && !must_wait; before++)
			must_wait = touch(&chain->links[before], link, depends);
		if (must_wait) {
			chain->links[i - 1].waits = 1;
			first = i;
			at = 0;
		}
		link->place = i - first;
		link->scratch = at;
		at += tcb_round_up(link->plan->info.workspace_bytes - RT_GANG_BYTES, TCBRT_ALIGNMENT);
		largest = at > largest ? at : largest;
		most = link->place + 1 > most ? link->place + 1 : most;
	}
	chain->links[chain->count - 1].waits = 1;
	for (size_t i = 0; i < chain->count; i++)
		chain->info.waits += chain->links[i].waits != 0;
	chain->gangs = most;
	chain->info.workspace_bytes = most * RT_GANG_BYTES + largest;
}

/* Weights are read early, so they must not be what a call before writes.  Each plan has a part of the workspace of its
 * own, since it leaves there what it wants to find. */
static void plan_overlaps(struct tcbrt_chain *chain)
{
	for (size_t i = 0; i < chain->count; i++) {
		struct rt_link *link = &chain->links[i];
		size_t same = 0;

		link->overlaps = 1;
		for (size_t before = 0; before < i; before++)
			link->overlaps &= !touch(&chain->links[before], link, writes_weights);
		chain->info.overlap_launches += link->overlaps ? link->plan->info.overlap_launches : 0;
		while (same < i && chain->links[same].plan != link->plan)
			same++;
		link->scratch = same < i ? chain->links[same].scratch : chain->info.workspace_bytes;
		if (same == i)
			chain->info.workspace_bytes += tcb_round_up(link->plan->info.workspace_bytes, TCBRT_ALIGNMENT);
	}
}

/* PLAN's kernel for a place, made when it is first asked for; NULL: it has none. */
static struct rt_placed *place(struct tcbrt_chain *chain, const struct tcbrt_plan *plan, int32_t order)
{
	struct rt_placed *placed = chain->placed;

	while (placed < chain->placed + chain->placed_count && (placed->of != plan || placed->order != order))
		placed++;
	if (placed == chain->placed + chain->placed_count) {
		*placed = (struct rt_placed){ plan, order, rt_plan_in_order(plan, order), NULL };
		chain->placed_count++;
	}
	return placed->plan ? placed : NULL;
}

/* Calls that need nothing of the one before, nor of those beside that, and whose kernels can run beside it. */
static void plan_beside(struct tcbrt_chain *chain)
{
	size_t first = 0;

	for (size_t i = 1; i < chain->count; i++) {
		struct rt_link *link = &chain->links[i];
		int may = link->overlaps;

		for (size_t before = first; before < i && may; before++)
			may = !touch(&chain->links[before], link, depends);
		struct rt_placed *opens = may ? place(chain, chain->links[first].plan, RT_OPENS) : NULL;
		struct rt_placed *beside = opens ? place(chain, link->plan, RT_BESIDE) : NULL;
		if (!beside) {
			first = i;
			continue;
		}
		chain->links[first].placed = opens;
		link->placed = beside;
		chain->info.beside++;
	}
}

static const struct tcb_launch_ptx *first_launch(const struct tcbrt_plan *plan)
{
	return tcb_launch_ptx(plan->image->unit[0].launch[0].own);
}

static int has_bit(uint32_t bits, size_t i)
{
	return bits >> i & 1;
}

/* Do both calls have as many new tokens, and get lengths from one place? */
static int are_alike(const struct rt_link *one, const struct rt_link *other)
{
	const uint32_t a = first_launch(one->plan)->lengths, b = first_launch(other->plan)->lengths;

	for (size_t i = 0; i < one->plan->info.operand_count; i++)
		for (size_t j = 0; j < other->plan->info.operand_count; j++)
			if (has_bit(a, i) && has_bit(b, j))
				return one->address[i] == other->address[j] &&
				       one->plan->problem.shape.m == other->plan->problem.shape.m;
	return 0;
}

/* Does the call BEFORE, the one right before LINK or not (IS_NEXT), write nothing that OWN, LINK's kernel, reads early?
 */
static int leaves_alone(const struct rt_link *before, const struct rt_link *link, const struct tcb_launch_ptx *own,
			int is_next)
{
	const uint32_t appended = is_next && are_alike(before, link) ? first_launch(before->plan)->appended : 0;

	for (size_t i = 0; i < before->plan->info.operand_count; i++)
		for (size_t j = 0; j < link->plan->info.operand_count; j++) {
			const struct tcbrt_operand *a = &before->plan->operand[i], *b = &link->plan->operand[j];
			const unsigned long long at = before->address[i], to = link->address[j];
			const int is_old = has_bit(own->early_old, j) && has_bit(appended, i) && at == to;

			if (a->role == TCBRT_ROLE_OUTPUT && has_bit(own->early | own->early_old, j) && !is_old &&
			    at < to + operand_bytes(b) && to < at + operand_bytes(a))
				return 0;
		}
	return 1;
}

/* Calls whose kernels can read early what no call of the chain writes. */
static void plan_early(struct tcbrt_chain *chain)
{
	for (size_t i = 0; i < chain->count; i++) {
		struct rt_link *link = &chain->links[i];
		struct rt_placed *early = link->overlaps ? place(chain, link->plan, RT_EARLY) : NULL;
		int may = early != NULL;

		for (size_t before = 0; before < i && may; before++)
			may = leaves_alone(&chain->links[before], link, first_launch(early->plan), before + 1 == i);
		if (!may)
			continue;
		link->placed = early;
		chain->info.early++;
	}
}

/* ---- creation ---- */

static enum tcb_status check_operand(const struct rt_link *link, size_t call, size_t i, struct tcb_error *err)
{
	const struct tcbrt_operand *wanted = &link->plan->operand[i];

	if (!link->address[i])
		return tcb_fail(err, TCB_E_USAGE, "call %zu of the chain, %s: operand %zu, %s, is NULL", call,
				link->plan->problem.op->name, i, wanted->name);
	if (link->address[i] % wanted->alignment)
		return tcb_fail(
			err, TCB_E_USAGE,
			"call %zu of the chain, %s: operand %zu, %s, at 0x%llx is not at a multiple of %zu bytes", call,
			link->plan->problem.op->name, i, wanted->name, link->address[i], wanted->alignment);
	return TCB_OK;
}

static enum tcb_status take_call(struct tcbrt_chain *chain, const struct tcbrt_call *call, struct tcb_error *err)
{
	const size_t number = chain->count;
	struct rt_link *link = &chain->links[chain->count];

	if (!call->plan == !call->gpu)
		return tcb_fail(err, TCB_E_USAGE, "call %zu of the chain has %s: give one of plan and gpu", number,
				call->plan ? "both a plan and a gpu" : "no plan and no gpu");
	link->gpu = call->gpu;
	link->plan = call->gpu ? rt_gpu_plan(call->gpu) : call->plan;
	if (call->plan && rt_plan_is_launched(call->plan))
		return tcb_fail(err, TCB_E_USAGE,
				"call %zu of the chain is a plan for %s: load it (tcbrt_gpu_load) and give its gpu",
				number, call->plan->device);
	if (!call->gpu != !chain->info.is_gpu && number)
		return tcb_fail(err, TCB_E_USAGE, "call %zu of the chain is of a %s, and those before it are not",
				number, call->gpu ? "GPU" : "CPU");
	chain->info.is_gpu = call->gpu != NULL;
	for (size_t i = 0; i < link->plan->info.operand_count; i++) {
		link->address[i] = call->operand[i];
		link->operand[i] = (void *)(uintptr_t)call->operand[i];
		TCB_TRY(check_operand(link, number, i, err));
	}
	chain->count++;
	return TCB_OK;
}

static enum tcb_status create(const struct tcbrt_call calls[], size_t count, struct tcbrt_chain *chain,
			      struct tcb_error *err)
{
	if (!calls || !count)
		return tcb_fail(err, TCB_E_USAGE, "a chain wants calls: 1 or more");
	chain->links = calloc(count, sizeof(*chain->links));
	if (!chain->links)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a chain of %zu calls", count);
	for (size_t i = 0; i < count; i++)
		TCB_TRY(take_call(chain, &calls[i], err));
	chain->info.calls = count;
	if (!chain->info.is_gpu) {
		plan_waits(chain);
		return TCB_OK;
	}
	chain->placed = calloc(RT_ORDERS * count, sizeof(*chain->placed));
	if (!chain->placed)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a chain of %zu calls", count);
	plan_overlaps(chain);
	plan_beside(chain);
	plan_early(chain);
	return TCB_OK;
}

int tcbrt_chain_create(const struct tcbrt_call calls[], size_t count, struct tcbrt_chain **out, struct tcbrt_error *err)
{
	struct tcb_error error = { .message = "" };
	struct tcbrt_chain *chain = out ? calloc(1, sizeof(*chain)) : NULL;
	enum tcb_status status;

	if (!out)
		status = tcb_fail(&error, TCB_E_USAGE, "there is no place for the chain: OUT is NULL");
	else if (!chain)
		status = tcb_fail(&error, TCB_E_NOMEM, "out of memory for a chain");
	else
		status = create(calls, count, chain, &error);
	if (status != TCB_OK) {
		tcbrt_chain_destroy(chain);
		chain = NULL;
	}
	if (out)
		*out = chain;
	return rt_report(status, &error, err);
}

void tcbrt_chain_destroy(struct tcbrt_chain *chain)
{
	if (!chain)
		return;
	rt_chain_graph_destroy(chain->graph);
	for (size_t i = 0; i < chain->placed_count; i++) {
		if (chain->placed[i].gpu)
			tcbrt_gpu_unload(chain->placed[i].gpu);
		tcbrt_plan_destroy(chain->placed[i].plan);
	}
	free(chain->placed);
	free(chain->links);
	free(chain);
}

int tcbrt_chain_info(const struct tcbrt_chain *chain, struct tcbrt_chain_info *out)
{
	if (!chain || !out)
		return TCBRT_E_USAGE;
	*out = chain->info;
	return TCBRT_OK;
}

/* ---- execution on a CPU ---- */

static int is_workspace(const struct tcbrt_chain *chain, const void *workspace)
{
	return chain && !chain->info.is_gpu && workspace && (uintptr_t)workspace % TCBRT_ALIGNMENT == 0;
}

int tcbrt_chain_init(const struct tcbrt_chain *chain, void *workspace)
{
	if (!is_workspace(chain, workspace))
		return TCBRT_E_USAGE;
	memset(workspace, 0, chain->gangs * RT_GANG_BYTES);
	return TCBRT_OK;
}

static struct tcb_gang *gang_of(void *workspace, size_t place)
{
	return (struct tcb_gang *)(void *)((char *)workspace + place * RT_GANG_BYTES);
}

/* SECONDS, or NULL: threads wait behind each call, and thread 0 adds how long it took. */
static void run(const struct tcbrt_chain *chain, void *workspace, unsigned thread, unsigned threads, double seconds[])
{
	struct tcb_gang *group[RT_GROUP_MAX];
	uint64_t began = seconds && thread == 0 ? tcb_clock_ns() : 0;

	for (size_t i = 0; i < chain->count; i++) {
		const struct rt_link *link = &chain->links[i];
		struct tcb_pool seat;

		group[link->place] = gang_of(workspace, link->place);
		seat = tcb_pool_seat(group[link->place], thread, threads);
		tcb_op_cpu(link->plan->problem.op)
			->run(&link->plan->cpu, link->operand,
			      (char *)workspace + chain->gangs * RT_GANG_BYTES + link->scratch, &seat);
		if (link->waits || seconds)
			tcb_pool_meet(&seat, group, link->place);
		if (seconds && thread == 0) {
			const uint64_t now = tcb_clock_ns();

			seconds[i] += 1e-9 * (double)(now - began);
			began = now;
		}
	}
}

int tcbrt_chain_execute_thread(const struct tcbrt_chain *chain, void *workspace, unsigned thread, unsigned threads)
{
	if (!is_workspace(chain, workspace) || thread >= threads)
		return TCBRT_E_USAGE;
	run(chain, workspace, thread, threads, NULL);
	return TCBRT_OK;
}

struct execution {
	const struct tcbrt_chain *chain;
	void *workspace;
	unsigned threads;
	double *seconds;
};

static void run_seat(void *ctx, size_t task, unsigned thread)
{
	const struct execution *execution = ctx;

	(void)task;
	run(execution->chain, execution->workspace, thread, execution->threads, execution->seconds);
}

static int execute(const struct tcbrt_chain *chain, void *workspace, struct tcbrt_pool *pool, double seconds[])
{
	struct execution execution = { chain, workspace, pool ? tcb_pool_present(pool->threads) : 1, seconds };

	if (!is_workspace(chain, workspace))
		return TCBRT_E_USAGE;
	if (execution.threads > 1)
		tcb_pool_each(rt_pool_enter(pool), execution.threads, run_seat, &execution);
	else
		run_seat(&execution, 0, 0);
	return TCBRT_OK;
}

int tcbrt_chain_execute(const struct tcbrt_chain *chain, void *workspace, struct tcbrt_pool *pool)
{
	return execute(chain, workspace, pool, NULL);
}

int tcbrt_chain_profile(const struct tcbrt_chain *chain, unsigned long long workspace, struct tcbrt_pool *pool,
			void *stream, double seconds[])
{
	if (!chain || !seconds)
		return TCBRT_E_USAGE;
	if (chain->info.is_gpu)
		return rt_chain_gpu_profile(chain, workspace, stream, seconds);
	return execute(chain, (void *)(uintptr_t)workspace, pool, seconds);
}
