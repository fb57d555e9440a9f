/* SPDX-License-Identifier: MIT
 *
 * Rings of tiles for wgmma: addresses come in; the registers that go round, the
 * barriers, copies and descriptors go out.
 */
#include "kernels/gpu/tile_ring.h"

#include <stdio.h>

enum { BARRIER = 8 };

void tcb_kit_tiles_open(struct tcb_ptx_build *b, struct tcb_kit_tiles *r, kit_op slots, kit_op memory, unsigned at)
{
	r->first_slot = slots;
	r->slots_end = u_add(b, slots, I((int64_t)r->stages * r->slot_bytes));
	r->first_full = u_add(b, memory, I(at));
	r->first_empty = u_add(b, r->first_full, I(BARRIER * r->stages));
	r->slot = u_set(b, r->first_slot);
	r->full = u_set(b, r->first_full);
	r->empty = u_set(b, r->first_empty);
	r->parity = u_set(b, I(0));
}

void tcb_kit_tiles_init_for(struct tcb_ptx_build *b, const struct tcb_kit_tiles *r, unsigned fills, unsigned releases)
{
	for (unsigned i = 0; i < r->stages; i++) {
		tcb_kit_barriers_init(b, tcb_ptx_at(r->first_full, BARRIER * i), 1, fills);
		tcb_kit_barriers_init(b, tcb_ptx_at(r->first_empty, BARRIER * i), 1, releases);
	}
}

void tcb_kit_tiles_init(struct tcb_ptx_build *b, const struct tcb_kit_tiles *r, unsigned releases)
{
	tcb_kit_tiles_init_for(b, r, 1, releases);
}

void tcb_kit_tiles_next(struct tcb_ptx_build *b, struct tcb_kit_tiles *r)
{
	u_add_to(b, r->slot, r->slot, I(r->slot_bytes));
	u_add_to(b, r->full, r->full, I(BARRIER));
	u_add_to(b, r->empty, r->empty, I(BARRIER));
	const kit_op again = u_eq(b, r->slot, r->slots_end);
	u_select_to(b, r->slot, r->first_slot, r->slot, again);
	u_select_to(b, r->full, r->first_full, r->full, again);
	u_select_to(b, r->empty, r->first_empty, r->empty, again);
	tcb_ptx_guard(b, again);
	u_xor_to(b, r->parity, r->parity, I(1));
	tcb_ptx_unguard(b);
}

void tcb_kit_tiles_skip(struct tcb_ptx_build *b, struct tcb_kit_tiles *r, kit_op count)
{
	const kit_op at = u_shr(b, u_sub(b, r->full, r->first_full), I(__builtin_ctz(BARRIER)));
	const struct kit_split round = u_split(b, u_add(b, at, count), I(r->stages));
	u_mad_to(b, r->slot, round.rest, I(r->slot_bytes), r->first_slot);
	u_mad_to(b, r->full, round.rest, I(BARRIER), r->first_full);
	u_mad_to(b, r->empty, round.rest, I(BARRIER), r->first_empty);
	u_xor_to(b, r->parity, r->parity, u_and(b, round.whole, I(1)));
}

void tcb_kit_release(struct tcb_kit *kit, kit_op empty)
{
	struct tcb_ptx_build *b = &kit->b;
	tcb_ptx_guard(b, u_eq(b, kit->lane, I(0)));
	barrier_arrive_to(b, tcb_ptx_sink_operand(), tcb_ptx_at(empty, 0));
	tcb_ptx_unguard(b);
}

void tcb_kit_box_ahead(struct tcb_ptx_build *b, kit_op map, const kit_op *where, unsigned rank)
{
	const kit_op tile = tcb_ptx_at_tile(b, map, where, rank);
	char text[64];
	snprintf(text, sizeof text, "cp.async.bulk.prefetch.tensor.%ud.L2.global.tile", rank);
	tcb_ptx_into(b, text, 1, &tile);
}

void tcb_kit_copy_box(struct tcb_ptx_build *b, kit_op slot, unsigned at, kit_op map, const kit_op *where, unsigned rank,
		      kit_op full, const kit_op *blocks)
{
	const kit_op operands[] = { tcb_ptx_at(slot, at), tcb_ptx_at_tile(b, map, where, rank), tcb_ptx_at(full, 0),
				    blocks ? *blocks : I(0) };
	char text[112];
	snprintf(text, sizeof text, "cp.async.bulk.tensor.%ud.shared::cluster.global.mbarrier::complete_tx::bytes%s",
		 rank, blocks ? ".multicast::cluster" : "");
	tcb_ptx_into(b, text, blocks ? 4 : 3, operands);
}

kit_op tcb_kit_descriptor(struct tcb_ptx_build *b, kit_op low, kit_op high)
{
	const kit_op pair[] = { low, high };
	return lb_set(b, tcb_ptx_vector(b, pair, 2));
}

void tcb_kit_multiply_group(struct tcb_ptx_build *b, const char *type, unsigned columns, const kit_op *sums, kit_op a,
			    kit_op x, kit_op adds, int x_is_turned)
{
	const int is_described = a.kind != TCB_PTX_O_VECTOR; /* which says how A lies, too */
	const kit_op turned = I(x_is_turned), positive = I(1);
	const kit_op operands[] = { tcb_ptx_vector(b, sums, columns / 2), a,     x, adds, positive, positive,
				    is_described ? I(0) : turned,         turned };
	char text[64];
	snprintf(text, sizeof text, "wgmma.mma_async.sync.aligned.m64n%uk16.f32.%s.%s", columns, type, type);
	tcb_ptx_into(b, text, is_described ? 8 : 7, operands);
}
