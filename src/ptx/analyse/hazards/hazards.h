/* SPDX-License-Identifier: MIT
 *
 * What the threads of a block may do to each other through memory between two
 * barriers: shared-memory races, and barriers that separate nothing.
 *
 * Between two barriers the accesses of different threads have no order.  Two of
 * them that touch the same bytes, one of them a write, are a hazard.  Addresses
 * come from affine.h; what they leave open counts as a hazard when a barrier is
 * to be removed, and as none when a race is to be reported.
 */
#ifndef TCB_PTX_HAZARDS_H
#define TCB_PTX_HAZARDS_H

#include "ptx/analyse/values/affine.h"

struct tcb_ptx_hazards;

/* AFFINE is of FUNCTION and must outlive the result. */
enum tcb_status tcb_ptx_hazards_create(struct tcb_ptx_affine *affine, struct tcb_ptx_function *function,
				       struct tcb_ptx_hazards **out, struct tcb_error *err);
void tcb_ptx_hazards_destroy(struct tcb_ptx_hazards *hazards);

/* Reports SHARED_RACE, and RACE in global memory: an error where two threads of different warps are sure to meet, a
 * warning where they meet if a condition allows it or the lanes of one warp are not in step.  IS_EXACT: all threads of
 * the block exist; without it global memory is left out. */
enum tcb_status tcb_ptx_races(struct tcb_ptx_hazards *hazards, int is_exact, const struct tcb_ptx_sink *sink,
			      struct tcb_error *err);

/* Reports RACE between neighbouring blocks in global memory, where all threads of a block exist: warnings, since a grid
 * may be one block. */
void tcb_ptx_grid_races(struct tcb_ptx_hazards *hazards, const struct tcb_ptx_sink *sink);
/* Reports UNWRITTEN_SHARED, where all threads of the block exist: a warning for the first read in each variable of what
 * nobody writes. */
enum tcb_status tcb_ptx_unwritten_shared(struct tcb_ptx_hazards *hazards, const struct tcb_ptx_sink *sink,
					 struct tcb_error *err);

/* The barriers that can all be removed together: without them no two accesses lose their order.  Only bar.sync and
 * barrier.sync of all threads that all threads of the block reach; in text order, in *OUT (lent). */
enum tcb_status tcb_ptx_redundant_barriers(struct tcb_ptx_hazards *hazards, struct tcb_ptx_ins *const **out,
					   uint32_t *count, struct tcb_error *err);
/* Reports them as BARRIER_REDUNDANT (advice). */
enum tcb_status tcb_ptx_report_redundant(struct tcb_ptx_hazards *hazards, const struct tcb_ptx_sink *sink,
					 struct tcb_error *err);

#endif
