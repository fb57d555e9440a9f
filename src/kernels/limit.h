/* SPDX-License-Identifier: MIT
 *
 * What a GPU can do at best with a problem: kernels that read all that the op
 * streams (or copy, where it writes as much as it reads) and compute nothing,
 * and kernels that compute as much and read nothing (compute_limit.h).  Measured
 * beside the candidates, they are the limits that results are compared with.
 */
#ifndef TCB_KERNELS_LIMIT_H
#define TCB_KERNELS_LIMIT_H

#include "kernels/code.h"

/* One unit for each way of reading; the fastest is the limit.  DEPENDENT: with programmatic dependent launch, of PTX.
 * The image is the caller's: free(). */
enum tcb_status tcb_limit_image(const struct tcb_problem *problem, const struct tcb_target *target, int dependent,
				struct tcb_code_image **out, struct tcb_error *err);

/*
 * One unit for each instruction of TARGET that multiplies what PROBLEM's contract does; the fastest is the limit.  The
 * last argument of its launch is the number of steps, at first 1, of step_operations each (all threads together); of a
 * language whose launches take no numbers its grid has so many rows.  The image is the caller's: free().
 */
enum tcb_status tcb_compute_limit_image(const struct tcb_problem *problem, const struct tcb_target *target,
					struct tcb_code_image **out, struct tcb_error *err);
int tcb_has_compute_limit(const struct tcb_target *target); /* 0: TCB_E_UNSUPPORTED, no kernels measure it */

#endif
