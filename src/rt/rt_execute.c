/* SPDX-License-Identifier: MIT
 *
 * Running a plan on a CPU (SPEC section 9a), with a pool's threads or the
 * caller's.  Between the call and the op's own run there is nothing that
 * allocates, locks or asks the kernel.
 */
#include <stdint.h>
#include <string.h>

#include "base/gang.h"
#include "rt/rt_plan.h"
#include "rt/rt_pool.h"

int tcbrt_workspace_init(const struct tcbrt_plan *plan, void *workspace)
{
	if (!plan || rt_plan_is_launched(plan) || !workspace || (uintptr_t)workspace % TCBRT_ALIGNMENT)
		return TCBRT_E_USAGE;
	memset(workspace, 0, RT_GANG_BYTES);
	return TCBRT_OK;
}

/* What is wrong with operand I, or nothing. */
static enum tcb_status check_operand(const struct tcbrt_plan *plan, void *const operand[], size_t i,
				     struct tcb_error *err)
{
	const struct tcbrt_operand *wanted = &plan->operand[i];

	if (!operand[i])
		return tcb_fail(err, TCB_E_USAGE, "operand %zu, %s, is NULL", i, wanted->name);
	if ((uintptr_t)operand[i] % wanted->alignment)
		return tcb_fail(err, TCB_E_USAGE, "operand %zu, %s, at %p is not at a multiple of %zu bytes", i,
				wanted->name, operand[i], wanted->alignment);
	return TCB_OK;
}

static enum tcb_status check(const struct tcbrt_plan *plan, void *const operand[], const void *workspace,
			     struct tcb_error *err)
{
	if (!plan)
		return tcb_fail(err, TCB_E_USAGE, "the plan is NULL");
	if (rt_plan_is_launched(plan))
		return tcb_fail(err, TCB_E_USAGE, "the plan is for the GPU %s: use %s", plan->device,
				rt_plan_is_ptx(plan) ? "tcbrt_gpu_execute" : "tcbrt_wgpu_code");
	if (!operand)
		return tcb_fail(err, TCB_E_USAGE, "the list of operands is NULL");
	if (!workspace)
		return tcb_fail(err, TCB_E_USAGE, "the workspace is NULL; it wants %zu bytes",
				plan->info.workspace_bytes);
	if ((uintptr_t)workspace % TCBRT_ALIGNMENT)
		return tcb_fail(err, TCB_E_USAGE, "the workspace at %p is not at a multiple of %d bytes", workspace,
				TCBRT_ALIGNMENT);
	for (size_t i = 0; i < plan->info.operand_count; i++)
		TCB_TRY(check_operand(plan, operand, i, err));
	return TCB_OK;
}

int tcbrt_execute_check(const struct tcbrt_plan *plan, void *const operand[], const void *workspace,
			struct tcbrt_error *err)
{
	struct tcb_error error = { .message = "" };

	return rt_report(check(plan, operand, workspace, &error), &error, err);
}

static void run(const struct tcbrt_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	tcb_op_cpu(plan->problem.op)->run(&plan->cpu, operand, (char *)workspace + RT_GANG_BYTES, pool);
}

int tcbrt_execute(const struct tcbrt_plan *plan, void *const operand[], void *workspace, struct tcbrt_pool *pool)
{
	struct tcb_pool alone = tcb_pool_seat(NULL, 0, 1);

	if (check(plan, operand, workspace, NULL) != TCB_OK)
		return TCBRT_E_USAGE;
	run(plan, operand, workspace, pool ? rt_pool_enter(pool) : &alone);
	return TCBRT_OK;
}

int tcbrt_execute_thread(const struct tcbrt_plan *plan, void *const operand[], void *workspace, unsigned thread,
			 unsigned threads)
{
	struct tcb_pool seat;

	if (check(plan, operand, workspace, NULL) != TCB_OK || thread >= threads)
		return TCBRT_E_USAGE;
	seat = tcb_pool_seat((struct tcb_gang *)workspace, thread, threads);
	run(plan, operand, workspace, &seat);
	tcb_pool_meet(&seat, NULL, 0);
	return TCBRT_OK;
}
