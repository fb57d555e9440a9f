/* SPDX-License-Identifier: MIT
 *
 * The plan and the tasks of the element-wise ops on CPUs.
 */
#include "kernels/elementwise/elementwise.h"

#include "base/gang.h"
#include "base/sizes.h"
#include "kernels/cpu/cpu_plan.h"
#include "kernels/simd/isas.h"

enum { STREAM_ALIGN = 64 };

/* exp of -|z|, within 1 ulp and 2^-28.4 |z| (softmax.h); a product, a sum and a quotient, half an ulp each, and what
 * these make of each other; softplus has some more.  gelu's z has four roundings and its constants'. */
#define LOGISTIC_ULPS 2.6
#define SOFTPLUS_ULPS 4.5
#define GATE_ULPS 0.5
#define SILU_CHAIN 0.05
#define GELU_CHAIN 5.1

size_t elementwise_task(const struct tcb_geometry *geometry)
{
	return geometry->tile[TCB_MIDI].m * geometry->tile[TCB_MIDI].n;
}

size_t elementwise_tasks(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	return tcb_div_up(problem->shape.m * problem->shape.n, elementwise_task(geometry));
}

static enum tcb_status elementwise_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
					struct tcb_plan *out, struct tcb_error *err)
{
	const enum elementwise_kind kind = elementwise_kind(problem);
	TCB_TRY(tcb_cpu_plan(problem, geometry, TCB_NEEDS(PREFETCH) | TCB_NEEDS(HINT) | TCB_NEEDS(STREAM), out, err));
	if (geometry->knob[TCB_KNOB_STREAM] && !tcb_cpu_isa((int32_t)out->variant->isa)->has_stream)
		return tcb_fail(err, TCB_E_ILLEGAL, "stream=1 needs stores past the caches, which isa=%s has not",
				tcb_isa_text(out->variant->isa));
	TCB_TRY(tcb_cpu_plan_shares(out, elementwise_tasks(problem, geometry), "midi", err));
	if (!elementwise_is_exact(kind)) {
		out->chain = elementwise_is_gelu(kind) ? GELU_CHAIN : SILU_CHAIN;
		out->ulps = (kind == ELEMENTWISE_SOFTPLUS_MUL ? SOFTPLUS_ULPS : LOGISTIC_ULPS) +
			    (elementwise_is_gated(kind) ? GATE_ULPS : 0);
	}
	return TCB_OK;
}

struct run {
	const struct tcb_plan *plan;
	const char *x, *b;
	char *y;
	size_t count, task;
	struct elementwise_call call;
};

static void run_task(void *ctx, size_t index, unsigned thread)
{
	const struct run *run = ctx;
	const size_t first = index * run->task, at = first * tcb_type_bytes(run->plan->problem.op->type);
	struct elementwise_call call = run->call;
	(void)thread;
	call.x = run->x + at;
	call.b = run->b ? run->b + at : NULL;
	call.y = run->y + at;
	call.count = tcb_least(run->task, run->count - first);
	((elementwise_micro_fn *)run->plan->variant->entry)(&call);
}

static void elementwise_run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	const int32_t *knob = plan->geometry.knob;
	const size_t inputs = elementwise_inputs(elementwise_kind(&plan->problem));
	struct run run = { .plan = plan,
			   .x = operand[ELEMENTWISE_X],
			   .b = inputs > 1 ? operand[ELEMENTWISE_B] : NULL,
			   .y = operand[inputs],
			   .count = plan->problem.shape.m * plan->problem.shape.n,
			   .task = elementwise_task(&plan->geometry),
			   .call = { .prefetch = (size_t)knob[TCB_KNOB_PREFETCH],
				     .hint = (enum tcb_hint)knob[TCB_KNOB_HINT] } };
	(void)workspace;
	/* Tasks are whole vectors, so all begin as the matrix does where there is more than one. */
	const size_t between = elementwise_tasks(&plan->problem, &plan->geometry) > 1
				       ? run.task * tcb_type_bytes(plan->problem.op->type)
				       : 0;
	run.call.stream = knob[TCB_KNOB_STREAM] && ((uintptr_t)run.y | between) % STREAM_ALIGN == 0;
	tcb_pool_run_last(pool, plan->threads, (enum tcb_sched)knob[TCB_KNOB_SCHED],
			  elementwise_tasks(&plan->problem, &plan->geometry), run_task, &run);
}

#define SIDE(f, KIND, CLASS, type, ...)                                                                 \
	TCB_VARIANT_TABLES(f##_##type##_variants, TCB_ISAS_FLOATS, elementwise_##f##_##type##_variants) \
	const struct tcb_side elementwise_##f##_##type##_cpu = {                                        \
		.variants = f##_##type##_variants,                                                      \
		.space = &elementwise_cpu_space,                                                        \
		.plan = elementwise_plan,                                                               \
		.run = elementwise_run,                                                                 \
	};
ELEMENTWISE_LIST(SIDE, )
