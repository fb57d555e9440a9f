/* SPDX-License-Identifier: MIT
 *
 * tensormap.replace, which changes a field of a tensor map in memory, and
 * tensormap.cp_fenceproxy, which publishes a map that shared memory holds (PTX
 * ISA 9.0, 9.7.9.27).  Maps are the emulator's own 128 bytes (tensor_map.h).
 */
#include <string.h>

#include "ptx/emulate/emu_async.h"
#include "ptx/emulate/emu_program.h"
#include "ptx/ir/tensor_map.h"

/* in->b: the operand that is the new value; c: the ordinal */

static uint8_t *map_at(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const struct tcb_emu_operand *op,
		       enum tcb_ptx_word space, int lane, unsigned flags)
{
	const uint64_t address = tcb_emu_address(warp, op, (unsigned)lane);

	if (space == TCB_PTX_SHARED_CTA)
		return tcb_emu_shared(warp, in, lane, (uint32_t)address, TCB_PTX_TENSOR_MAP_BYTES,
				      TCB_PTX_TENSOR_MAP_ALIGN, flags, NULL);
	return tcb_emu_generic(warp, in, lane, address, TCB_PTX_TENSOR_MAP_BYTES, TCB_PTX_TENSOR_MAP_ALIGN, flags,
			       NULL);
}

static void run_replace(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const enum tcb_ptx_word field = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_FIELD);

	TCB_EMU_EACH(lane, active)
	{
		uint8_t *map = map_at(warp, in, &in->op[0], tcb_ptx_mod(in->ins, TCB_PTX_SLOT_SPACE), (int)lane,
				      TCB_EMU_READ | TCB_EMU_WRITE);
		const uint64_t value = tcb_emu_get(warp, &in->op[in->b], lane);
		struct tcb_error err;

		if (!map)
			return;
		if (tcb_ptx_tensor_map_replace(map, field, in->c, value, &err) != TCB_OK) {
			tcb_emu_fault(warp, in, (int)lane, TCB_PTX_RULE_BULK_COPY, "%s", err.message);
			return;
		}
		tcb_emu_progress(warp->run);
	}
}

static void run_publish(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const uint8_t *from;
	uint8_t *to;

	if (!tcb_emu_whole_warp(warp, in, active))
		return;
	from = map_at(warp, in, &in->op[1], TCB_PTX_SHARED_CTA, 0, TCB_EMU_READ);
	to = from ? map_at(warp, in, &in->op[0], TCB_PTX_GLOBAL, 0, TCB_EMU_WRITE) : NULL;
	if (!to)
		return;
	memcpy(to, from, TCB_PTX_TENSOR_MAP_BYTES);
	tcb_emu_fence(warp, active, TCB_EMU_ALL_BLOCKS);
}

enum tcb_status tcb_emu_bind_tensor_map(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	if (in->ins->op == TCB_PTX_OP_TENSORMAP_CP_FENCEPROXY) {
		decoder->program->has_fences = 1;
		in->run = run_publish;
		if (in->ins->operands[2].bits != TCB_PTX_TENSOR_MAP_BYTES)
			return tcb_fail(err, TCB_E_UNSUPPORTED, "a tensor map has 128 bytes");
		return TCB_OK;
	}
	in->b = in->op_count - 1u;
	in->c = in->op_count > 2 ? (uint32_t)in->ins->operands[1].bits : 0;
	in->run = run_replace;
	return TCB_OK;
}
