/* SPDX-License-Identifier: MIT
 *
 * Attention: space, plan and loops (attention_space.c asks attention_gpu.h where
 * the target is a GPU).
 */
#ifndef TCB_KERNELS_ATTENTION_CPU_H
#define TCB_KERNELS_ATTENTION_CPU_H

#include "kernels/attention/attention.h"

size_t attention_axes(const struct tcb_problem *problem, const struct tcb_target *target,
		      struct tcb_axis out[TCB_AXES_MAX]);
void attention_default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
				struct tcb_geometry *out);
void attention_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
			 const struct tcb_geometry *geometry, struct tcb_footprint *out);
extern const struct tcb_rule attention_cpu_rules[];

enum tcb_status attention_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			       struct tcb_plan *out, struct tcb_error *err);
void attention_run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool);

#endif
