/* SPDX-License-Identifier: MIT
 *
 * Of affine.h: what each instruction computes.
 */
#ifndef TCB_PTX_AFFINE_EVAL_H
#define TCB_PTX_AFFINE_EVAL_H

#include "ptx/analyse/analyses.h"
#include "ptx/analyse/values/affine_value.h"

struct tcb_ptx_affine;

/* What INS computes for REG, from what its operands hold; its guard is left out. */
struct tcb_ptx_value tcb_ptx_affine_eval(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, uint32_t reg);

/* What the comparison in INS, a setp, gives each thread, in OUT, without what it is joined to; 0 when that is unknown
 * for each. */
int tcb_ptx_affine_compared(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, uint8_t *out);

#endif
