/* SPDX-License-Identifier: MIT
 *
 * Bulk copies in flight, for emu_bulk.c (plain ones and groups) and
 * emu_tensor.c (boxes of a tensor).
 *
 * A copy is checked when it is issued, and moves its bytes as late as it may:
 * when a wait asks for it or nobody else can go on.  Whoever reads too early
 * finds the old bytes, marked as pending; whoever overwrites the source too
 * early spoils the copy.
 */
#ifndef TCB_PTX_EMU_BULK_H
#define TCB_PTX_EMU_BULK_H

#include "ptx/emulate/emu_async.h"
#include "ptx/ir/tensor_map.h"

struct tcb_emu_bulk {
	struct tcb_emu_deferred deferred; /* first: the scheduler hands it back */
	struct tcb_emu_bulk *next;        /* of the warp's that belong to groups */
	struct tcb_emu_warp *warp;        /* that issued it, for messages */
	const struct tcb_emu_ins *in;
	void (*move)(struct tcb_emu_bulk *self);
	int is_done;
	uint32_t lane;
	uint64_t group; /* of the lane */
	uint32_t bytes; /* that the barrier counts */
	uint32_t span;  /* of shared memory that they are spread over */
	/* the shared side */
	struct tcb_emu_block *block;
	uint32_t offset;
	/* the other side of a plain copy: global memory, or shared memory that is read */
	uint8_t *other;
	uint8_t value[32]; /* of st.async and red.async */
	/* what it completes on; NULL for groups */
	struct tcb_emu_block *barrier_block;
	uint32_t barrier_offset;
	/* of a tensor */
	struct tcb_ptx_tensor_map map;
	int32_t at[TCB_PTX_TENSOR_RANK];
	uint8_t *tensor; /* host's bytes of the map's address */
};

/* --- emu_bulk.c --- */

/* Where a copy that writes shared memory ends, its barrier included, for each block of the multicast; 0 after a fault.
 * SOURCE is copied for each and put in flight. */
int tcb_emu_bulk_into_shared(const struct tcb_emu_bulk *source, uint32_t address, uint32_t barrier, uint32_t blocks);
/* Puts a copy of SOURCE out of shared memory in flight, in the lane's open group. */
int tcb_emu_bulk_out_of_shared(const struct tcb_emu_bulk *source);
/* to[i] = to[i] OP from[i] for BYTES of elements of TYPE. */
void tcb_emu_bulk_reduce(uint8_t *to, const uint8_t *from, uint32_t bytes, enum tcb_ptx_word type,
			 enum tcb_ptx_word op);

#endif
