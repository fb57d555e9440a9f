/* SPDX-License-Identifier: MIT
 *
 * Running a plan on a CPU (SPEC section 9a), with a pool's threads or the
 * caller's.  Between the call and the op's own run there is nothing that
 * allocates, locks or asks the kernel.
 */
#include <stdint.h>
#include <string.h>

#include "rt/rt_plan.h"

int tcbrt_workspace_init(const struct tcbrt_plan *plan, void *workspace)
{
	if (!plan || plan->info.is_gpu || !workspace || (uintptr_t)workspace % TCBRT_ALIGNMENT)
		return TCBRT_E_USAGE;
	memset(workspace, 0, RT_GANG_BYTES);
	return TCBRT_OK;
}

int tcbrt_pool_create(unsigned threads, struct tcbrt_pool **out, struct tcbrt_error *err)
{
	struct tcb_error error = { .message = "" };
	struct tcb_pool *pool = NULL;
	enum tcb_status status = TCB_OK;

	if (!out || threads < 1 || threads > RT_THREADS_MAX)
		status = tcb_fail(&error, TCB_E_USAGE, "a pool wants %s",
				  out ? "1 to 1024 threads" : "a place: OUT is NULL");
	else
		status = tcb_pool_create(threads, NULL, &pool, &error);
	if (out)
		*out = (struct tcbrt_pool *)pool;
	return rt_report(status, &error, err);
}

void tcbrt_pool_destroy(struct tcbrt_pool *pool)
{
	tcb_pool_destroy((struct tcb_pool *)pool);
}

static int is_ready(const struct tcbrt_plan *plan, void *const operand[], const void *workspace)
{
	if (!plan || plan->info.is_gpu || !operand || !workspace || (uintptr_t)workspace % TCBRT_ALIGNMENT)
		return 0;
	for (size_t i = 0; i < plan->info.operand_count; i++)
		if (!operand[i] || (uintptr_t)operand[i] % plan->info.operand[i].alignment)
			return 0;
	return 1;
}

static void run(const struct tcbrt_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	plan->problem.op->run(&plan->cpu, operand, (char *)workspace + RT_GANG_BYTES, pool);
}

int tcbrt_execute(const struct tcbrt_plan *plan, void *const operand[], void *workspace, struct tcbrt_pool *pool)
{
	struct tcb_pool alone = tcb_pool_seat(NULL, 0, 1);

	if (!is_ready(plan, operand, workspace))
		return TCBRT_E_USAGE;
	run(plan, operand, workspace, pool ? (struct tcb_pool *)pool : &alone);
	return TCBRT_OK;
}

int tcbrt_execute_thread(const struct tcbrt_plan *plan, void *const operand[], void *workspace, unsigned thread,
			 unsigned threads)
{
	struct tcb_pool seat;

	if (!is_ready(plan, operand, workspace) || thread >= threads)
		return TCBRT_E_USAGE;
	seat = tcb_pool_seat((struct tcb_gang *)workspace, thread, threads);
	run(plan, operand, workspace, &seat);
	return TCBRT_OK;
}
