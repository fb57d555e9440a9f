/* SPDX-License-Identifier: MIT
 *
 * The two calculations behind tcb_occupancy, and the limits that both use; the
 * test holds one against the other.
 */
#ifndef TCB_PTX_OCCUPANCY_H
#define TCB_PTX_OCCUPANCY_H

#include "ptx/assemble/assemble.h"

enum { TCB_SM_BLOCK_THREADS_MAX = 1024 };

struct tcb_sm_limits {
	unsigned capability;
	unsigned warps, blocks;                     /* resident on an SM */
	unsigned shared_sm, shared_block, reserved; /* bytes; a block's is the opt-in limit, without the reserved */
	unsigned shared_unit;                       /* bytes that are handed out together */
	unsigned barriers;                          /* of an SM */
};

/* occupancy.c; NULL when CAPABILITY is not in the table. */
const struct tcb_sm_limits *tcb_sm_limits_find(unsigned capability);
void tcb_occupancy_own(const struct tcb_sm_limits *sm, const struct tcb_ptx_resources *resources,
		       unsigned block_threads, size_t dynamic_shared, struct tcb_occupancy *out);

/* occupancy_toolkit.c: by cuda_occupancy.h; 0 when the build had none, or it does not know the device. */
int tcb_occupancy_toolkit(const struct tcb_sm_limits *sm, const struct tcb_ptx_resources *resources,
			  unsigned block_threads, size_t dynamic_shared, struct tcb_occupancy *out);

#endif
