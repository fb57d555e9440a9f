/* SPDX-License-Identifier: MIT
 *
 * What is known of a kernel's launch, and what that says of special registers.
 */
#ifndef TCB_PTX_BITS_LAUNCH_H
#define TCB_PTX_BITS_LAUNCH_H

#include "ptx/analyse/values/known_bits.h"
#include "ptx/ir/ir.h"

/* What is known or supposed of the launch. */
struct tcb_ptx_shape {
	uint32_t ntid[3];     /* threads of a block where the launch or .reqntid says it, else 0 */
	uint32_t ntid_max[3]; /* bounds */
	uint32_t threads_max; /* of a block */
	int whole_warps;      /* %ntid.x is a multiple of 32: warps lie along x */
};

/* function->launch_block or .reqntid says it all.  Without it a kernel that reads neither %tid.y nor %tid.z is supposed
 * to be launched with one-dimensional blocks of whole warps; any other may have any shape. */
void tcb_ptx_shape_of(const struct tcb_ptx_function *function, struct tcb_ptx_shape *out);

/* The special register's bits in the thread TID, or in all threads (NULL). */
struct tcb_ptx_bits tcb_ptx_bits_special(const struct tcb_ptx_function *function, const struct tcb_ptx_shape *shape,
					 const uint32_t *tid, enum tcb_ptx_special special);

#endif
