/* SPDX-License-Identifier: MIT
 *
 * Rings of slots and the copies into them.  Addresses come in; the registers that
 * go round, and the copies, go out.
 */
#include "kernels/gpu/ring.h"

enum { BARRIER = 8, PIECE = 16 };

void tcb_kit_ring_slots(struct tcb_ptx_build *b, struct tcb_kit_ring *r, kit_op index, kit_op memory)
{
	const unsigned bytes = r->stages * r->slot_bytes;
	r->first_slot = u_mad(b, index, I(bytes), memory);
	r->slot = u_set(b, r->first_slot);
	r->slots_end = u_add(b, r->first_slot, I(bytes));
	if (r->has_before)
		r->slot_before = u_add(b, r->first_slot, I(bytes - r->slot_bytes));
}

void tcb_kit_ring_barriers(struct tcb_ptx_build *b, struct tcb_kit_ring *r, kit_op index, kit_op memory)
{
	const unsigned bytes = r->stages * BARRIER;
	r->first_barrier = u_mad(b, index, I(bytes), memory);
	r->barrier = u_set(b, r->first_barrier);
	if (r->has_before)
		r->barrier_before = u_add(b, r->first_barrier, I(bytes - BARRIER));
	r->parity = u_set(b, I(0));
}

void tcb_kit_ring_barriers_init(struct tcb_ptx_build *b, const struct tcb_kit_ring *r, kit_op is_filler)
{
	tcb_ptx_guard(b, is_filler);
	tcb_kit_barriers_init(b, r->first_barrier, r->stages, 1);
	tcb_kit_barriers_ready(b); /* the copies count on the barriers before any other thread */
	tcb_ptx_unguard(b);
}

struct tcb_kit_slot tcb_kit_ring_slot(const struct tcb_kit_ring *r, int which)
{
	if (which >= 0)
		return (struct tcb_kit_slot){ r->first_slot, (unsigned)which * r->slot_bytes,
					      r->is_bulk ? tcb_ptx_at(r->first_barrier, BARRIER * (int64_t)which)
							 : I(0) };
	const int is_now = which == TCB_KIT_SLOT_NOW;
	return (struct tcb_kit_slot){ is_now ? r->slot : r->slot_before, 0,
				      r->is_bulk ? tcb_ptx_at(is_now ? r->barrier : r->barrier_before, 0) : I(0) };
}

void tcb_kit_copy_bulk(struct tcb_ptx_build *b, kit_op to, kit_op from, kit_op bytes, kit_op barrier,
		       const kit_op *blocks)
{
	const kit_op operands[] = { to, tcb_ptx_at(from, 0), bytes, barrier, blocks ? *blocks : I(0) };
	if (blocks)
		tcb_ptx_into(b, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster",
			     5, operands);
	else
		tcb_ptx_into(b, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", 4, operands);
}

void tcb_kit_copy_lanes(struct tcb_ptx_build *b, kit_op lane_at, kit_op from, kit_op to, unsigned at, unsigned bytes)
{
	for (unsigned done = 0; done < bytes; done += WARP * PIECE) {
		const unsigned left = bytes - done;
		if (left < WARP * PIECE)
			tcb_ptx_guard(b, u_lt(b, lane_at, I(left)));
		tcb_kit_copy(b, tcb_ptx_at(to, at + done), tcb_ptx_at(from, done), PIECE, 0, NULL);
		if (left < WARP * PIECE)
			tcb_ptx_unguard(b);
	}
}

void tcb_kit_ring_filled(struct tcb_ptx_build *b, const struct tcb_kit_ring *r)
{
	if (!r->is_bulk)
		copies_commit(b);
}

void tcb_kit_ring_wait(struct tcb_ptx_build *b, const struct tcb_kit_ring *r)
{
	if (r->is_bulk)
		tcb_kit_wait(b, tcb_ptx_at(r->barrier, 0), r->parity);
	else
		copies_wait(b, I(r->stages - 1));
}

void tcb_kit_ring_next(struct tcb_ptx_build *b, struct tcb_kit_ring *r)
{
	if (r->has_before)
		u_set_to(b, r->slot_before, r->slot);
	u_add_to(b, r->slot, r->slot, I(r->slot_bytes));
	const kit_op again = u_eq(b, r->slot, r->slots_end);
	u_select_to(b, r->slot, r->first_slot, r->slot, again);
	if (!r->is_bulk)
		return;
	if (r->has_before)
		u_set_to(b, r->barrier_before, r->barrier);
	u_add_to(b, r->barrier, r->barrier, I(BARRIER));
	u_select_to(b, r->barrier, r->first_barrier, r->barrier, again);
	tcb_ptx_guard(b, again);
	u_xor_to(b, r->parity, r->parity, I(1));
	tcb_ptx_unguard(b);
}
