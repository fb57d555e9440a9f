/* SPDX-License-Identifier: MIT
 *
 * Of affine.h: which value a register has where.
 */
#ifndef TCB_PTX_AFFINE_READ_H
#define TCB_PTX_AFFINE_READ_H

#include "ptx/analyse/analyses.h"
#include "ptx/analyse/values/affine_value.h"

struct tcb_ptx_affine;

/* The value that INS reads as OPERAND (a register, number, symbol or special register), or as its guard. */
struct tcb_ptx_value tcb_ptx_affine_operand(struct tcb_ptx_affine *affine, const struct tcb_ptx_ins *ins,
					    const struct tcb_ptx_operand *operand);
struct tcb_ptx_value tcb_ptx_affine_guard(struct tcb_ptx_affine *affine, const struct tcb_ptx_ins *ins);
/* The threads in which the guard of INS may hold (RUNS), or not hold, as far as parts of it that are known for each
 * thread tell: a conjunction that holds has all its parts, a disjunction that does not has none.  MAY has a bit for
 * each thread of the block, as tcb_ptx_affine_active.  0 when nothing is known, and MAY has them all. */
int tcb_ptx_affine_may_run(struct tcb_ptx_affine *affine, const struct tcb_ptx_ins *ins, int runs, uint64_t *may);
/* The address in operand INDEX of INS, offset included.  A value that left the loop that changed it is known only where
 * all threads leave it in the same round. */
struct tcb_ptx_value tcb_ptx_affine_address(struct tcb_ptx_affine *affine, const struct tcb_ptx_ins *ins,
					    unsigned index);
/* What register REG holds after INS wrote it. */
struct tcb_ptx_value tcb_ptx_affine_result(struct tcb_ptx_affine *affine, const struct tcb_ptx_ins *ins, uint32_t reg);

#endif
