/* SPDX-License-Identifier: MIT
 *
 * Private to src/rt: a chain.
 */
#ifndef TCB_RT_RT_CHAIN_H
#define TCB_RT_RT_CHAIN_H

#include "rt/rt_plan.h"
#include "tcbrt_chain.h"

struct rt_chain_graph; /* rt_chain_gpu.c */

enum { RT_GROUP_MAX = 16 }; /* calls that threads run without a wait */
/* What the knob pdl says of a call's place among others (kernels/gpu/gpu_rules.h): calls behind it may run beside it;
 * it runs beside the one before; it reads early what nothing writes. */
enum { RT_OPENS = 2, RT_BESIDE, RT_EARLY, RT_ORDERS = 3 };

/* A plan's kernel for a place. */
struct rt_placed {
	const struct tcbrt_plan *of;
	int32_t order;
	struct tcbrt_plan *plan; /* NULL: there is none */
	struct tcbrt_gpu *gpu;   /* once the chain is recorded */
};

/* A call as it was checked. */
struct rt_link {
	const struct tcbrt_plan *plan;
	const struct tcbrt_gpu *gpu;
	void *operand[TCBRT_OPERANDS_MAX];
	unsigned long long address[TCBRT_OPERANDS_MAX];
	/* CPUs: its place among the calls that threads run without a wait, and whether they wait behind it. */
	size_t place;
	int waits;
	int overlaps;             /* GPUs: it may begin early */
	struct rt_placed *placed; /* GPUs: its kernel for its place; or NULL, and that of gpu */
	size_t scratch;           /* where its own part of the workspace begins */
};

struct tcbrt_chain {
	size_t count;
	struct rt_link *links;
	struct tcbrt_chain_info info;
	size_t gangs; /* CPUs: of a workspace, before the calls' own parts */
	struct rt_placed *placed;
	size_t placed_count;
	struct rt_chain_graph *graph;
};

/* rt_gpu_run.c: the plan that was loaded. */
const struct tcbrt_plan *rt_gpu_plan(const struct tcbrt_gpu *gpu);
/* rt_chain_gpu.c */
void rt_chain_graph_destroy(struct rt_chain_graph *graph); /* NULL is fine */
int rt_chain_gpu_profile(const struct tcbrt_chain *chain, unsigned long long workspace, void *stream, double seconds[]);

#endif
