/* SPDX-License-Identifier: MIT
 *
 * What the plans of all ops that run on CPUs as threads that share tasks begin with.
 */
#ifndef TCB_KERNELS_CPU_PLAN_H
#define TCB_KERNELS_CPU_PLAN_H

#include "kernels/op.h"

/* Of tcb_cpu_plan's NEEDS. */
#define TCB_NEEDS(knob) (UINT64_C(1) << TCB_KNOB_##knob)

/*
 * OUT becomes PROBLEM and GEOMETRY (copied), its variant, which has code, and its threads; all else is 0.
 * TCB_E_ILLEGAL: no kernel was built for this isa, layout, micro tile and unroll, threads is below 1, sched or a knob
 * of NEEDS is unset, or stream, which is 0 or 1 where it is needed, is above.
 */
enum tcb_status tcb_cpu_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, uint64_t needs,
			     struct tcb_plan *out, struct tcb_error *err);

/* TCB_E_ILLEGAL where PLAN has more threads than TASKS, which TILES, as a geometry's text names them, make. */
enum tcb_status tcb_cpu_plan_shares(const struct tcb_plan *plan, size_t tasks, const char *tiles,
				    struct tcb_error *err);

#endif
