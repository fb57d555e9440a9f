/* SPDX-License-Identifier: MIT
 *
 * Attention on GPUs.
 */
#ifndef TCB_KERNELS_ATTENTION_GPU_H
#define TCB_KERNELS_ATTENTION_GPU_H

#include "kernels/attention/attention.h"

size_t attention_gpu_axes(const struct tcb_problem *problem, const struct tcb_target *target,
			  struct tcb_axis out[TCB_AXES_MAX]);
void attention_gpu_default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
				    struct tcb_geometry *out);
void attention_gpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
			     const struct tcb_geometry *geometry, struct tcb_footprint *out);
enum tcb_status attention_emit(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err);
extern const struct tcb_rule attention_gpu_rules[];
extern const struct tcb_variant attention_decode_f16_gpu_variants[], attention_decode_bf16_gpu_variants[];

#endif
