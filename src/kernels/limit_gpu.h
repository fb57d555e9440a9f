/* SPDX-License-Identifier: MIT
 *
 * The limits' kernels in PTX; limit.h says what they are.
 */
#ifndef TCB_KERNELS_LIMIT_GPU_H
#define TCB_KERNELS_LIMIT_GPU_H

#include "kernels/code.h"

enum { TCB_LIMITS_GPU = 3 };
/* limit_gpu.c: kernel NUMBER of those that move bytes (kernels/limit.c). */
enum tcb_status tcb_limit_gpu(const struct tcb_problem *problem, const struct tcb_target *target, size_t number,
			      int dependent, struct tcb_kernel *out, struct tcb_error *err);
/* compute_limit_gpu.c */
enum tcb_status tcb_compute_limit_gpu(const struct tcb_problem *problem, const struct tcb_target *target,
				      struct tcb_code_image **out, struct tcb_error *err);

#endif
