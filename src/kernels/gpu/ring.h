/* SPDX-License-Identifier: MIT
 *
 * The GPU kit: a ring of slots in shared memory that copies fill ahead of who
 * reads them.
 *
 * bulk: one lane asks for whole rows with cp.async.bulk; an mbarrier a slot counts
 * the bytes, and the parity of its phase turns each time round.  async: each lane
 * copies 4 to 16 bytes at a time with cp.async; a group of copies a slot, empty
 * ones past the end included, so that counting groups counts slots.
 */
#ifndef TCB_KERNELS_GPU_RING_H
#define TCB_KERNELS_GPU_RING_H

#include "kernels/gpu/barrier.h"

struct tcb_kit_ring {
	unsigned stages, slot_bytes;
	int is_bulk;                                 /* has barriers */
	int has_before;                              /* keeps track of the slot before */
	kit_op first_slot, slots_end, first_barrier; /* .u32 */
	kit_op slot, barrier, parity;                /* of the slot in use */
	kit_op slot_before, barrier_before;
};

/* The slots of ring number INDEX of those that lie one behind the other from MEMORY on; the first is in use. */
void tcb_kit_ring_slots(struct tcb_ptx_build *b, struct tcb_kit_ring *r, kit_op index, kit_op memory);
/* is_bulk: its barriers, of all those from MEMORY on, set up by the lane that is IS_FILLER. */
void tcb_kit_ring_barriers(struct tcb_ptx_build *b, struct tcb_kit_ring *r, kit_op index, kit_op memory);
void tcb_kit_ring_barriers_init(struct tcb_ptx_build *b, const struct tcb_kit_ring *r, kit_op is_filler);

/* A slot to fill: its number, or that in use, or the one before. */
enum { TCB_KIT_SLOT_NOW = -1, TCB_KIT_SLOT_BEFORE = -2 };
struct tcb_kit_slot {
	kit_op base; /* the slot begins AT bytes behind it */
	unsigned at;
	kit_op barrier; /* is_bulk: an address */
};
struct tcb_kit_slot tcb_kit_ring_slot(const struct tcb_kit_ring *r, int which);
/* BYTES from FROM, by one thread, counted by BARRIER; in each of BLOCKS, bits of a cluster's (NULL: this one). */
void tcb_kit_copy_bulk(struct tcb_ptx_build *b, kit_op to, kit_op from, kit_op bytes, kit_op barrier,
		       const kit_op *blocks);
/* BYTES by all lanes of a warp, 16 each at a time: from FROM, to AT bytes behind TO.  LANE_AT, 16 times the lane, is
 * added to both already. */
void tcb_kit_copy_lanes(struct tcb_ptx_build *b, kit_op lane_at, kit_op from, kit_op to, unsigned at, unsigned bytes);
/* Ends what a thread asked for one slot: async, the group. */
void tcb_kit_ring_filled(struct tcb_ptx_build *b, const struct tcb_kit_ring *r);
/* Until the slot in use is filled: async, by what the calling thread copied. */
void tcb_kit_ring_wait(struct tcb_ptx_build *b, const struct tcb_kit_ring *r);
void tcb_kit_ring_next(struct tcb_ptx_build *b, struct tcb_kit_ring *r);

#endif
