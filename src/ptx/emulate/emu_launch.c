/* SPDX-License-Identifier: MIT
 *
 * griddepcontrol: the launch before this one, which may still run until it is
 * waited for.  It is not emulated; what is written before the wait, or read
 * before it and written by this launch, is told.  The same bytes are an error:
 * where the launch before is one of the same kernel, as in a chain of them, it
 * may still write what is read.
 */
#include "ptx/emulate/emu_program.h"

#include <stdlib.h>

/* What was done to a grain of memory. */
enum { READ_EARLY = 1, WRITTEN = 2 };
/* Grains of a region that are still worth their memory. */
static const uint64_t grains_max = 1u << 28;

static void run_wait(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	(void)in;
	warp->waited |= active;
	warp->waited_tick = warp->run->tick;
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

/* Whether the grains of an access that does DONE to them are then read early and written. */
static int meets(struct tcb_emu_warp *warp, struct tcb_emu_region *region, uint64_t offset, unsigned bytes, int done)
{
	const unsigned grain = warp->run->program->global_grain;
	const uint64_t count = region->bytes / grain + 1;
	int both = 0;

	if (region->permission == TCB_PTX_READ_ONLY || count > grains_max)
		return 0;
	if (!region->sides)
		region->sides = calloc(count, 1);
	for (uint64_t at = offset / grain; region->sides && at <= (offset + bytes - 1) / grain; at++) {
		region->sides[at] |= (uint8_t)done;
		both |= region->sides[at] == (READ_EARLY | WRITTEN);
	}
	return both;
}

void tcb_emu_see_global(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane,
			struct tcb_emu_region *region, uint64_t offset, unsigned bytes, unsigned flags)
{
	int is_behind = is_behind_wait(warp, lane), both = 0;

	if (flags & TCB_EMU_WRITE) {
		if (!is_behind)
			tcb_emu_report(warp, in, lane, TCB_PTX_RULE_RACE, TCB_PTX_WARNING,
				       "writes '%s' before griddepcontrol.wait: the launch before may still use it",
				       region->name);
		region->is_written = 1;
		both = meets(warp, region, offset, bytes, WRITTEN);
	} else if (!is_behind) {
		if (!region->early)
			region->early = in;
		both = meets(warp, region, offset, bytes, READ_EARLY);
	}
	if (both)
		tcb_emu_report(warp, region->early, -1, TCB_PTX_RULE_GRIDDEPCONTROL, TCB_PTX_ERROR,
			       "reads '%s' before griddepcontrol.wait, of which this launch writes byte %llu, as the "
			       "launch before may still do",
			       region->name, (unsigned long long)offset);
	else if (region->early && region->is_written)
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
	in->run = waits ? run_wait : tcb_emu_run_nothing;
	return TCB_OK;
}
