/* SPDX-License-Identifier: MIT
 *
 * Rings of tiles for wgmma: addresses come in; the registers that go round, the
 * barriers, copies and descriptors go out.
 */
#include "kernels/gpu/tile_ring.h"

enum { BARRIER = 8 };

void tcb_kit_tiles_open(struct tcb_ptx_build *b, struct tcb_kit_tiles *r, kit_op slots, kit_op memory, unsigned at)
{
	r->first_slot = slots;
	r->slots_end = OP2(b, "add.u32", slots, I((int64_t)r->stages * r->slot_bytes));
	r->first_full = OP2(b, "add.u32", memory, I(at));
	r->first_empty = OP2(b, "add.u32", r->first_full, I(BARRIER * r->stages));
	r->slot = OP1(b, "mov.u32", r->first_slot);
	r->full = OP1(b, "mov.u32", r->first_full);
	r->empty = OP1(b, "mov.u32", r->first_empty);
	r->parity = tcb_kit_constant(b, "u32", I(0));
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
	tcb_ptx_into2(b, "add.u32", r->slot, r->slot, I(r->slot_bytes));
	tcb_ptx_into2(b, "add.u32", r->full, r->full, I(BARRIER));
	tcb_ptx_into2(b, "add.u32", r->empty, r->empty, I(BARRIER));
	const kit_op again = OP2(b, "setp.eq.u32", r->slot, r->slots_end);
	tcb_ptx_into3(b, "selp.u32", r->slot, r->first_slot, r->slot, again);
	tcb_ptx_into3(b, "selp.u32", r->full, r->first_full, r->full, again);
	tcb_ptx_into3(b, "selp.u32", r->empty, r->first_empty, r->empty, again);
	tcb_ptx_guard(b, again);
	tcb_ptx_into2(b, "xor.b32", r->parity, r->parity, I(1));
	tcb_ptx_unguard(b);
}

void tcb_kit_tiles_skip(struct tcb_ptx_build *b, struct tcb_kit_tiles *r, kit_op count)
{
	const kit_op at = OP2(b, "shr.u32", OP2(b, "sub.u32", r->full, r->first_full), I(__builtin_ctz(BARRIER)));
	const kit_op sum = OP2(b, "add.u32", at, count), rounds = OP2(b, "div.u32", sum, I(r->stages));
	const kit_op index = OP2(b, "sub.u32", sum, OP2(b, "mul.lo.u32", rounds, I(r->stages)));
	tcb_ptx_into3(b, "mad.lo.u32", r->slot, index, I(r->slot_bytes), r->first_slot);
	tcb_ptx_into3(b, "mad.lo.u32", r->full, index, I(BARRIER), r->first_full);
	tcb_ptx_into3(b, "mad.lo.u32", r->empty, index, I(BARRIER), r->first_empty);
	tcb_ptx_into2(b, "xor.b32", r->parity, r->parity, OP2(b, "and.b32", rounds, I(1)));
}

void tcb_kit_release(struct tcb_kit *kit, kit_op empty)
{
	struct tcb_ptx_build *b = &kit->b;
	const kit_op operands[] = { tcb_ptx_sink_operand(), tcb_ptx_at(empty, 0) };
	tcb_ptx_guard(b, OP2(b, "setp.eq.u32", kit->lane, I(0)));
	tcb_ptx_into(b, "mbarrier.arrive.shared::cta.b64", 2, operands);
	tcb_ptx_unguard(b);
}

void tcb_kit_copy_box(struct tcb_ptx_build *b, kit_op slot, unsigned at, kit_op map, const kit_op *where, unsigned rank,
		      kit_op full)
{
	const kit_op operands[] = { tcb_ptx_at(slot, at), tcb_ptx_at_tile(b, map, where, rank), tcb_ptx_at(full, 0) };
	tcb_ptx_into(
		b,
		tcb_ptx_namef(b, "cp.async.bulk.tensor.%ud.shared::cluster.global.mbarrier::complete_tx::bytes", rank),
		3, operands);
}

kit_op tcb_kit_descriptor(struct tcb_ptx_build *b, kit_op low, kit_op high)
{
	const kit_op pair[] = { low, high };
	return OP1(b, "mov.b64", tcb_ptx_vector(b, pair, 2));
}
