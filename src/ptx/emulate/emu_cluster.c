/* SPDX-License-Identifier: MIT
 *
 * What blocks of a cluster do to each other (mapa, getctarank, st.async,
 * red.async), and fences between proxies.
 */
#include <string.h>

#include "ptx/emulate/emu_bulk.h"

static void run_mapa(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	TCB_EMU_EACH(lane, active)
	{
		uint64_t address = tcb_emu_get(warp, &in->op[1], lane);
		uint32_t rank = (uint32_t)tcb_emu_get(warp, &in->op[2], lane);

		if (rank >= warp->run->cluster_blocks) {
			tcb_emu_fault(warp, in, (int)lane, TCB_PTX_RULE_OUT_OF_BOUNDS, "block %u of a cluster of %u",
				      rank, warp->run->cluster_blocks);
			return;
		}
		address = (address & ~(0xffull << TCB_EMU_RANK_SHIFT)) | (uint64_t)(rank + 1) << TCB_EMU_RANK_SHIFT;
		tcb_emu_set(warp, &in->op[0], lane, address);
	}
}

static void run_getctarank(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	TCB_EMU_EACH(lane, active)
	{
		uint32_t rank = (uint32_t)tcb_emu_get(warp, &in->op[1], lane) >> TCB_EMU_RANK_SHIFT & 0xff;

		tcb_emu_set(warp, &in->op[0], lane, rank ? rank - 1 : warp->block->rank);
	}
}

/* --- stores that complete on a barrier --- */

static void move_value(struct tcb_emu_bulk *copy)
{
	uint8_t *to = copy->block->shared + copy->offset;
	enum tcb_ptx_word op = tcb_ptx_mod(copy->in->ins, TCB_PTX_SLOT_ATOMIC);

	if (op)
		tcb_emu_bulk_reduce(to, copy->value, copy->bytes, tcb_ptx_mod(copy->in->ins, TCB_PTX_SLOT_TYPE), op);
	else
		memcpy(to, copy->value, copy->bytes);
}

static void run_store(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	unsigned bytes = tcb_ptx_type_bits(tcb_ptx_mod(in->ins, TCB_PTX_SLOT_TYPE)) / 8;

	TCB_EMU_EACH(lane, active)
	{
		struct tcb_emu_bulk copy = { .warp = warp, .in = in, .move = move_value, .lane = lane };
		uint32_t barrier = tcb_emu_shared_address(warp, in, &in->op[2], TCB_PTX_NO_WORD, lane);
		uint32_t address = tcb_emu_shared_address(warp, in, &in->op[0], TCB_PTX_NO_WORD, lane);

		for (unsigned i = 0; i < tcb_emu_items(&in->op[1]); i++) {
			uint64_t value = tcb_emu_get(warp, tcb_emu_item(&in->op[1], i), lane);

			memcpy(copy.value + i * bytes, &value, bytes);
			copy.bytes += bytes;
		}
		copy.span = copy.bytes;
		if (warp->run->fault || !tcb_emu_bulk_into_shared(&copy, address, barrier, 0))
			return;
	}
}

/* --- nothing to compute --- */

static void run_fence_proxy(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	(void)in;
	tcb_emu_fence_proxy(warp, active);
}

enum tcb_status tcb_emu_bind_cluster(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	const enum tcb_ptx_op op = (enum tcb_ptx_op)in->ins->op;

	(void)decoder;
	(void)err;
	if (op == TCB_PTX_OP_FENCE_PROXY)
		in->run = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_PROXY) == TCB_PTX_ASYNC ? run_fence_proxy
										    : tcb_emu_run_nothing;
	else
		in->run = op == TCB_PTX_OP_MAPA ? run_mapa : op == TCB_PTX_OP_GETCTARANK ? run_getctarank : run_store;
	return TCB_OK;
}
