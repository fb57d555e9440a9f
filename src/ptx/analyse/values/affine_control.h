/* SPDX-License-Identifier: MIT
 *
 * Of affine.h: who is there.
 */
#ifndef TCB_PTX_AFFINE_CONTROL_H
#define TCB_PTX_AFFINE_CONTROL_H

#include "ptx/analyse/analyses.h"
#include "ptx/analyse/values/affine_value.h"

struct tcb_ptx_affine;

enum tcb_ptx_presence {
	TCB_PTX_ALL_ALIKE, /* the threads that ACTIVE tells, or (where a condition is the same for all) none */
	TCB_PTX_SPLIT,     /* as ALL_ALIKE, but not all threads of the block */
	TCB_PTX_AT_MOST /* some of the threads that ACTIVE tells: a condition differs between threads and is unknown */
};
/* The threads that may run BLOCK: bit t % 64 of word t / 64. */
const uint64_t *tcb_ptx_affine_active(const struct tcb_ptx_affine *affine, const struct tcb_ptx_block *block);
/* The threads that take the branch (or exit) at the end of BLOCK when they come to it; NULL when its condition is not
 * known for each. */
const uint64_t *tcb_ptx_affine_taken(const struct tcb_ptx_affine *affine, const struct tcb_ptx_block *block);
/* The block at whose end all threads leave LOOP, each after the times in ROUNDS that it has gone back to the header;
 * NULL when there are more exits or the times are unknown. */
const struct tcb_ptx_block *tcb_ptx_affine_rounds(struct tcb_ptx_affine *affine, const struct tcb_ptx_loop *loop,
						  uint64_t *rounds);
enum tcb_ptx_presence tcb_ptx_affine_presence(const struct tcb_ptx_affine *affine, const struct tcb_ptx_block *block);
/* Whether a condition that is the same in all threads, but unknown, decides if BLOCK runs. */
int tcb_ptx_affine_is_optional(const struct tcb_ptx_affine *affine, const struct tcb_ptx_block *block);
void tcb_ptx_affine_bound_counters(struct tcb_ptx_affine *a);
enum tcb_status tcb_ptx_affine_control(struct tcb_ptx_affine *a, struct tcb_error *err);

#endif
