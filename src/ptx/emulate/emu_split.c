/* SPDX-License-Identifier: MIT
 *
 * The splits of a warp, each with its lanes, its place and its frame of
 * registers: loading, saving, adding and dropping them; new frames.
 */
#include "ptx/emulate/emu_program.h"

#include <string.h>

void tcb_emu_split_save(struct tcb_emu_warp *warp)
{
	struct tcb_emu_split *split = &warp->split[warp->current];

	split->mask = warp->mask;
	split->pc = (uint32_t)(warp->pc - warp->frame->function->code);
	split->frame = warp->frame;
	split->join = warp->join;
}

void tcb_emu_split_load(struct tcb_emu_warp *warp, uint32_t index)
{
	const struct tcb_emu_split *split = &warp->split[index];

	warp->current = index;
	warp->mask = split->mask;
	warp->frame = split->frame;
	warp->join = split->join;
	warp->lanes = split->frame->lanes;
	warp->pc = split->frame->function->code + split->pc;
}

struct tcb_emu_split *tcb_emu_split_add(struct tcb_emu_warp *warp, uint32_t mask, uint32_t pc,
					struct tcb_emu_frame *frame, struct tcb_emu_join *join)
{
	struct tcb_emu_split *split = &warp->split[warp->split_count++];

	*split = (struct tcb_emu_split){ .mask = mask, .pc = pc, .frame = frame, .join = join };
	return split;
}

void tcb_emu_split_drop(struct tcb_emu_warp *warp)
{
	warp->split[warp->current] = warp->split[--warp->split_count];
	warp->current = UINT32_MAX;
	warp->mask = 0;
	warp->stop = 1;
}

static int grow_local(struct tcb_emu_warp *warp, uint64_t need)
{
	uint32_t bytes = warp->local_bytes ? warp->local_bytes : 64;
	uint8_t *grown;

	if (need <= warp->local_bytes)
		return 1;
	while (bytes < need)
		bytes *= 2;
	grown = tcb_arena_array(&warp->block->arena, TCB_EMU_LANES, bytes);
	if (!grown) {
		tcb_emu_no_memory(warp->run);
		return 0;
	}
	for (unsigned lane = 0; warp->local && lane < TCB_EMU_LANES; lane++)
		memcpy(grown + (size_t)lane * bytes, warp->local + (size_t)lane * warp->local_bytes, warp->local_bytes);
	warp->local = grown;
	warp->local_bytes = bytes;
	return 1;
}

struct tcb_emu_frame *tcb_emu_frame_new(struct tcb_emu_warp *warp, const struct tcb_emu_function *function,
					struct tcb_emu_frame *caller, uint32_t lanes)
{
	struct tcb_emu_frame **at = &warp->free_frames, *frame;
	uint32_t regs = function->function->reg_count, base = 0;
	size_t lane_bytes = (function->lane_bytes + 63u) / 64 * 64;

	while (*at && (*at)->function != function)
		at = &(*at)->caller;
	frame = *at;
	if (frame) {
		*at = frame->caller;
	} else {
		frame = tcb_arena_alloc(&warp->block->arena, sizeof *frame);
		if (frame)
			frame->lanes = tcb_arena_alloc(&warp->block->arena, lane_bytes + 8 * ((size_t)regs + 1));
		if (!frame || !frame->lanes) {
			tcb_emu_no_memory(warp->run);
			return NULL;
		}
		frame->written = (uint32_t *)(frame->lanes + lane_bytes);
		frame->function = function;
	}
	frame->unknown = warp->run->launch->anywhere ? frame->written + regs + 1 : NULL;
	memset(frame->written, 0, (frame->unknown ? 8 : 4) * ((size_t)regs + 1));
	if (caller)
		base = caller->local_base + caller->function->local_bytes;
	frame->caller = caller;
	frame->live = lanes;
	frame->local_base = base;
	frame->depth = caller ? caller->depth + 1 : 0;
	return grow_local(warp, (uint64_t)base + function->local_bytes) ? frame : NULL;
}
