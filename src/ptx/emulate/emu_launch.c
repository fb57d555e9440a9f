/* SPDX-License-Identifier: MIT
 *
 * griddepcontrol: the launch before this one, which may still run until it is
 * waited for.  It is not emulated; what is written, or read and written, before
 * the wait is told.
 */
#include "ptx/emulate/emu_program.h"

static void run_wait(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	(void)in;
	warp->waited |= active;
	warp->waited_tick = warp->run->tick;
}

static void run_nothing(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	(void)warp;
	(void)in;
	(void)active;
}

/* Whether LANE waited for the launch before, or something orders it behind somebody who did. */
static int is_behind_wait(struct tcb_emu_warp *warp, int lane)
{
	struct tcb_emu_block *block = warp->block;

	if (lane < 0 ? warp->waited != 0 : (int)(warp->waited >> lane & 1))
		return 1;
	for (uint32_t i = 0; i < block->warp_count; i++) {
		const struct tcb_emu_warp *other = &block->warps[i];

		if (other->waited_tick && tcb_emu_knows(warp, (unsigned)lane, other->agent, 0, other->waited_tick)) {
			warp->waited = UINT32_MAX;
			return 1;
		}
	}
	return 0;
}

void tcb_emu_see_global(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane,
			struct tcb_emu_region *region, unsigned flags)
{
	int is_behind = is_behind_wait(warp, lane);

	if (flags & TCB_EMU_WRITE) {
		if (!is_behind)
			tcb_emu_report(warp, in, lane, TCB_PTX_RULE_RACE, TCB_PTX_WARNING,
				       "writes '%s' before griddepcontrol.wait: the launch before may still use it",
				       region->name);
		region->is_written = 1;
	} else if (!is_behind && !region->early) {
		region->early = in;
	}
	if (region->early && region->is_written)
		tcb_emu_report(warp, region->early, -1, TCB_PTX_RULE_RACE, TCB_PTX_WARNING,
			       "reads '%s' before griddepcontrol.wait, and this launch writes it, as the launch before "
			       "may still do",
			       region->name);
}

enum tcb_status tcb_emu_bind_launch(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	int waits = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_MODE) == TCB_PTX_WAIT;

	(void)err;
	decoder->program->waits_for_launch |= waits;
	in->run = waits ? run_wait : run_nothing;
	return TCB_OK;
}
