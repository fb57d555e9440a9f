/* SPDX-License-Identifier: MIT
 *
 * Rules about knobs that mean the same in all GPU kernels (struct tcb_rule).
 */
#ifndef TCB_KERNELS_GPU_RULES_H
#define TCB_KERNELS_GPU_RULES_H

#include "kernels/op.h"

/* A knob's value as a count; 0 where it is not set. */
unsigned tcb_gpu_knob(const struct tcb_geometry *geometry, enum tcb_knob which);
/* occ: blocks that an SM is to hold, as many as stay (blocks) where any do. */
const char *tcb_gpu_rule_occ(const struct tcb_problem *problem, const struct tcb_target *target,
			     const struct tcb_geometry *geometry);

#endif
