/* SPDX-License-Identifier: MIT
 *
 * The limits' kernels in WGSL; limit.h says what they are.
 */
#ifndef TCB_KERNELS_WGSL_WGSL_LIMIT_H
#define TCB_KERNELS_WGSL_WGSL_LIMIT_H

#include "kernels/code.h"

enum { TCB_LIMITS_WGSL = 3 };
/* wgsl_limit.c: kernel NUMBER of those that move bytes (kernels/limit.c); DEPENDENT does not matter. */
enum tcb_status tcb_limit_wgsl(const struct tcb_problem *problem, const struct tcb_target *target, size_t number,
			       int dependent, struct tcb_kernel *out, struct tcb_error *err);
/* wgsl_compute_limit.c */
enum tcb_status tcb_compute_limit_wgsl(const struct tcb_problem *problem, const struct tcb_target *target,
				       struct tcb_code_image **out, struct tcb_error *err);

#endif
