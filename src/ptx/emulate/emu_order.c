/* SPDX-License-Identifier: MIT
 *
 * What passes clocks (emu_clock.c) on: atomics and flags in memory, fences, and
 * fences between proxies.
 *
 * Atomics and flags do so through the place that they touch: a release (or a
 * fence before a relaxed write) leaves a clock there, an acquire (or a fence
 * after a relaxed read) takes it.  The last agent of a clock stands for all
 * clusters that ran before.
 */
#include "ptx/emulate/emu_program.h"

#include <stdlib.h>
#include <string.h>

struct tcb_emu_places {
	const void **key;
	struct tcb_emu_clock *clock;
	uint32_t *ticks; /* the clocks' */
	uint32_t count, capacity;
};

void tcb_emu_release_async(struct tcb_emu_run *run, struct tcb_emu_clock *to)
{
	to->whole[run->agents - 2] = ++run->tick;
}

void tcb_emu_fence_proxy(struct tcb_emu_warp *warp, uint32_t lanes)
{
	struct tcb_emu_run *run = warp->run;
	struct tcb_emu_clock *told = warp->block->scratch, *copies = told + 1;

	if (!run->program->reads_async)
		return;
	/* what warp I did is known to copies as what agent run->warps + I did */
	tcb_emu_clock_clear(run, told);
	tcb_emu_clock_clear(run, copies);
	tcb_emu_release(warp, lanes, told);
	memcpy(copies->whole + run->warps, told->whole, run->warps * sizeof *told->whole);
	for (const struct tcb_emu_part *part = told->parts; part && part->agent < run->warps; part = part->next)
		tcb_emu_clock_lanes(run, copies, run->warps + part->agent, part->tick, 0);
	tcb_emu_acquire(warp, lanes, copies);
}

enum tcb_emu_scope tcb_emu_scope_of(const struct tcb_ptx_ins *ins)
{
	return tcb_ptx_mod(ins, TCB_PTX_SLOT_SCOPE) == TCB_PTX_CTA ? TCB_EMU_OWN_BLOCK : TCB_EMU_ALL_BLOCKS;
}

/* --- places --- */

/* What is left at a place for one block alone is in a place of its own, whose key no pointer has. */
static const uintptr_t own_bits = (uintptr_t)0xffff << 48;

static const void *own_key(const struct tcb_emu_warp *warp, const void *key)
{
	const uintptr_t block = (uintptr_t)(warp->block - warp->run->blocks) + 1;

	return (const void *)((uintptr_t)key ^ block << 48);
}

static uint32_t slot_of(const struct tcb_emu_places *places, const void *key)
{
	uint32_t at = (uint32_t)(((uintptr_t)key >> 2) * 0x9e3779b97f4a7c15ull >> 32) & (places->capacity - 1);

	while (places->key[at] && places->key[at] != key)
		at = (at + 1) & (places->capacity - 1);
	return at;
}

static void table_free(struct tcb_emu_places *places)
{
	if (!places)
		return;
	free(places->key);
	free(places->clock);
	free(places->ticks);
	free(places);
}

static int grow(struct tcb_emu_run *run)
{
	struct tcb_emu_places *old = run->places, *grown = calloc(1, sizeof *grown);

	if (!grown)
		return 0;
	grown->capacity = old ? old->capacity * 2 : 64;
	grown->key = calloc(grown->capacity, sizeof *grown->key);
	grown->clock = calloc(grown->capacity, sizeof *grown->clock);
	grown->ticks = calloc((size_t)grown->capacity * run->agents, sizeof *grown->ticks);
	if (!grown->key || !grown->clock || !grown->ticks) {
		table_free(grown);
		return 0;
	}
	for (uint32_t i = 0; i < grown->capacity; i++)
		grown->clock[i].whole = grown->ticks + (size_t)i * run->agents;
	for (uint32_t i = 0; old && i < old->capacity; i++)
		if (old->key[i]) {
			uint32_t at = slot_of(grown, old->key[i]);

			grown->key[at] = old->key[i];
			memcpy(grown->clock[at].whole, old->clock[i].whole, run->agents * sizeof *old->ticks);
			grown->clock[at].parts = old->clock[i].parts;
			grown->count++;
		}
	table_free(old);
	run->places = grown;
	return 1;
}

static void parts_free(struct tcb_emu_run *run)
{
	run->spare_parts = NULL;
	tcb_arena_fini(&run->parts);
}

void tcb_emu_places_free(struct tcb_emu_run *run)
{
	table_free(run->places);
	run->places = NULL;
	parts_free(run);
}

/* The cluster is over: its warps become "earlier clusters", and no clock but those of places is left. */
void tcb_emu_places_fold(struct tcb_emu_run *run)
{
	for (uint32_t i = 0; run->places && i < run->places->capacity; i++) {
		struct tcb_emu_clock *clock = &run->places->clock[i];
		const uint32_t most = tcb_emu_clock_most(run, clock);

		clock->parts = NULL;
		memset(clock->whole, 0, run->agents * sizeof *clock->whole);
		if (!((uintptr_t)run->places->key[i] & own_bits))
			clock->whole[run->agents - 1] = most;
	}
	parts_free(run);
}

/* Room for two more places, so that clocks stay where they are; 0: out of memory. */
static int make_room(struct tcb_emu_run *run)
{
	if ((run->places && (run->places->count + 2) * 2 <= run->places->capacity) || grow(run))
		return 1;
	tcb_emu_no_memory(run);
	return 0;
}

/* What was left at the place KEY, for which there is room. */
static struct tcb_emu_clock *clock_at(struct tcb_emu_run *run, const void *key)
{
	const uint32_t at = slot_of(run->places, key);

	if (!run->places->key[at]) {
		run->places->key[at] = key;
		run->places->count++;
	}
	return &run->places->clock[at];
}

/* What CLOCK says is known to LANES now, or behind their next fence. */
static void hear(struct tcb_emu_warp *warp, uint32_t lanes, const struct tcb_emu_clock *clock, int acquires)
{
	if (acquires) {
		tcb_emu_acquire(warp, lanes, clock);
	} else if (warp->run->program->has_fences) {
		tcb_emu_clock_merge(warp->run, &warp->heard, clock);
		warp->heard_lanes |= lanes;
	}
}

void tcb_emu_strong(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t lanes, const void *key,
		    unsigned flags)
{
	struct tcb_emu_run *run = warp->run;
	enum tcb_ptx_word order = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_ORDER);
	const int acquires = order == TCB_PTX_ACQUIRE || order == TCB_PTX_ACQ_REL,
		  releases = order == TCB_PTX_RELEASE || order == TCB_PTX_ACQ_REL;
	const int is_for_own = releases && tcb_emu_scope_of(in->ins) == TCB_EMU_OWN_BLOCK;
	struct tcb_emu_clock *clock, *own;

	if (!acquires && !releases && !run->program->has_fences)
		return;
	if (!make_room(run))
		return;
	clock = clock_at(run, key);
	own = run->program->has_own_scope ? clock_at(run, own_key(warp, key)) : NULL;
	if (flags & TCB_EMU_READ) {
		hear(warp, lanes, clock, acquires);
		if (own)
			hear(warp, lanes, own, acquires);
	}
	if (!(flags & TCB_EMU_WRITE))
		return;
	if (releases)
		tcb_emu_release(warp, lanes, is_for_own ? own : clock);
	else
		TCB_EMU_EACH(lane, lanes)
		{
			tcb_emu_release_fenced(warp, lane, TCB_EMU_ALL_BLOCKS, clock);
			if (own)
				tcb_emu_release_fenced(warp, lane, TCB_EMU_OWN_BLOCK, own);
		}
}
