/* SPDX-License-Identifier: MIT
 *
 * Places of a list that threads take one after the other by an atomic addition.
 */
#ifndef TCB_PTX_BOUNDS_TICKETS_H
#define TCB_PTX_BOUNDS_TICKETS_H

#include "ptx/analyse/witness.h"

/* Reports OUT_OF_BOUNDS, errors, for a block whose threads all exist.  COMING: who surely comes where. */
void tcb_ptx_bounds_tickets(struct tcb_ptx_function *function, struct tcb_ptx_affine *affine,
			    const struct tcb_ptx_coming *coming, const struct tcb_ptx_sink *sink);

#endif
