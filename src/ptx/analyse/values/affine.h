/* SPDX-License-Identifier: MIT
 *
 * Integer values of a kernel, thread by thread: each is a constant, plus a part
 * that is known for every thread of a block, plus multiples of symbols that
 * stand for what is the same in all of them (parameters, block indices, how
 * often a loop has gone round).  Whatever follows from the thread's index alone
 * is computed for each thread, so masks, shifts and XOR swizzles are exact.
 *
 *     tcb_ptx_affine_create(function, block, &affine, err);
 *     tcb_ptx_affine_address(affine, ins, index, &value);
 *     if (value.known) ... tcb_ptx_value_lane(&value, thread) ...
 *
 * What is not proved is unknown, never guessed.  Two assumptions are made and
 * marked in `assumes`: index arithmetic that is widened to 64 bits does not
 * wrap around, as compilers of C assume too.
 */
#ifndef TCB_PTX_AFFINE_H
#define TCB_PTX_AFFINE_H

#include "ptx/analyse/values/affine_control.h"
#include "ptx/analyse/values/affine_leaf.h"
#include "ptx/analyse/values/affine_loops.h"
#include "ptx/analyse/values/affine_ops.h"
#include "ptx/analyse/values/affine_read.h"

struct tcb_ptx_affine;

/* BLOCK: threads along x, y, z; NULL: from .reqntid, else .maxntid where the kernel reads no index but tid.x.  Where
 * the size is unknown, nothing that depends on a thread's index is.  Computes dominators and loops of FUNCTION, which
 * must not change while the result lives. */
enum tcb_status tcb_ptx_affine_create(struct tcb_ptx_function *function, const uint32_t block[3],
				      struct tcb_ptx_affine **out, struct tcb_error *err);
void tcb_ptx_affine_destroy(struct tcb_ptx_affine *affine);

/* 0: unknown */
uint32_t tcb_ptx_affine_threads(const struct tcb_ptx_affine *affine);
/* Threads along x, y, z; 0 along x: unknown */
const uint32_t *tcb_ptx_affine_block(const struct tcb_ptx_affine *affine);
/* Whether the block's size is exact: given, or .reqntid. */
int tcb_ptx_affine_exact(const struct tcb_ptx_affine *affine);
const struct tcb_ptx_dominators *tcb_ptx_affine_dominators(const struct tcb_ptx_affine *affine);
const struct tcb_ptx_symbolic *tcb_ptx_affine_symbol(const struct tcb_ptx_affine *affine, uint32_t symbol);

#endif
