/* SPDX-License-Identifier: MIT
 *
 * The products of experts on GPUs: the rules of their geometries.
 */
#ifndef TCB_KERNELS_QUANT_EXPERTS_GPU_RULES_H
#define TCB_KERNELS_QUANT_EXPERTS_GPU_RULES_H

#include "kernels/op.h"

extern const struct tcb_rule qex_gpu_rules[];

#endif
