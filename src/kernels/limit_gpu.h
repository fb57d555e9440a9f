/* SPDX-License-Identifier: MIT
 *
 * The limits' kernels in PTX; limit.h says what they are.
 */
#ifndef TCB_KERNELS_LIMIT_GPU_H
#define TCB_KERNELS_LIMIT_GPU_H

#include "kernels/code.h"

/* limit_gpu.c, compute_limit_gpu.c */
enum tcb_status tcb_limit_gpu(const struct tcb_problem *problem, const struct tcb_target *target, int dependent,
			      struct tcb_code_image **out, struct tcb_error *err);
enum tcb_status tcb_compute_limit_gpu(const struct tcb_problem *problem, const struct tcb_target *target,
				      struct tcb_code_image **out, struct tcb_error *err);

#endif
