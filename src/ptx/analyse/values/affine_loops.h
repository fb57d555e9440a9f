/* SPDX-License-Identifier: MIT
 *
 * Of affine.h: loops and how often they went back.
 */
#ifndef TCB_PTX_AFFINE_LOOPS_H
#define TCB_PTX_AFFINE_LOOPS_H

#include "ptx/analyse/analyses.h"
#include "ptx/analyse/values/affine_value.h"

struct tcb_ptx_affine;

/* Bit of `loops` for the loop with that header; several share the last one. */
uint64_t tcb_ptx_affine_loop_bit(const struct tcb_ptx_affine *affine, const struct tcb_ptx_block *header);
/* The loops around BLOCK. */
uint64_t tcb_ptx_affine_loops_of(const struct tcb_ptx_affine *affine, const struct tcb_ptx_block *block);
/* The symbol for how often the loop with that header went back to it. */
uint32_t tcb_ptx_affine_counter(struct tcb_ptx_affine *a, const struct tcb_ptx_block *header);
int tcb_ptx_affine_is_inside(const struct tcb_ptx_block *block, const struct tcb_ptx_loop *loop);

#endif
