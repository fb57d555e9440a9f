/* SPDX-License-Identifier: MIT
 *
 * Between async_tensor.c and async_tensor_places.c: places in Tensor Memory.
 */
#ifndef TCB_PTX_ASYNC_TENSOR_H
#define TCB_PTX_ASYNC_TENSOR_H

#include "ptx/analyse/async/async_private.h"

/* Columns of Tensor Memory, from an address that was loaded from SLOT or is a number. */
struct tcb_ptx_tensor_place {
	int is_known;
	const struct tcb_ptx_symbol *slot; /* the variable that tcgen05.alloc put the address into; NULL: none */
	int64_t slot_offset;
	const struct tcb_ptx_ins *root; /* what made the address, where SLOT is unknown; NULL: it is a number */
	int64_t column;
	unsigned columns; /* from COLUMN on; at least these */
};

/* What operand INDEX, an address of INS or the one that tcgen05.dealloc takes, is; 0: it is unknown. */
int tcb_ptx_tensor_operand(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins, unsigned index,
			   struct tcb_ptx_tensor_place *out);
/* The place in shared memory of operand INDEX as a slot. */
void tcb_ptx_tensor_slot(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins, unsigned index,
			 struct tcb_ptx_tensor_place *out);
/* Whether they surely have a column in common. */
int tcb_ptx_tensor_overlap(const struct tcb_ptx_tensor_place *x, const struct tcb_ptx_tensor_place *y);

#endif
