/* SPDX-License-Identifier: MIT
 *
 * Accesses that leave the variable that their address is based on, and those
 * whose address is not a multiple of what it must be, thread by thread.
 */
#ifndef TCB_PTX_BOUNDS_H
#define TCB_PTX_BOUNDS_H

#include "ptx/analyse/values/affine.h"

struct tcb_ptx_bounds_launch {
	int is_exact;            /* the block is as the launch has it; else thread 0 alone is known to exist */
	int is_given;            /* somebody said how the kernel is launched */
	uint64_t dynamic_shared; /* bytes; 0: not said */
};

/* out-of-bounds: an error where a thread surely comes and leaves its variable, a warning where a condition decides that
 * it comes; where dynamic shared memory is used and nobody said how much there is, a warning (advice if the launch is
 * not given) about the whole kernel.  misaligned: likewise, and a warning where only what allocations guarantee says
 * so.  AFFINE is of FUNCTION, an entry. */
enum tcb_status tcb_ptx_bounds(struct tcb_ptx_function *function, struct tcb_ptx_affine *affine,
			       const struct tcb_ptx_bounds_launch *launch, const struct tcb_ptx_sink *sink,
			       struct tcb_error *err);

#endif
