/* SPDX-License-Identifier: MIT
 *
 * Clocks: what somebody knows of what everybody did, as vectors of ticks by warp
 * (vector clocks as in FastTrack, Flanagan and Freund 2009).  In: who releases or
 * acquires what.  Out: whether an access is behind somebody.
 *
 * Releasing and acquiring are a thread's own: they pass on what that thread did
 * and what it had learnt.  As long as all lanes of a warp do it together, one
 * tick per warp says it all.  Where only some do, the clock gets a part with a
 * tick per lane of that warp, and who acquires alone has a clock of his own
 * beside his warp's.  When the warp meets again (bar.warp.sync, a barrier), parts
 * and clocks fall back into the ticks of whole warps.
 */
#include <string.h>

#include "ptx/emulate/emu_program.h"

/* --- parts --- */

static struct tcb_emu_part **place_of(struct tcb_emu_clock *clock, uint32_t agent)
{
	struct tcb_emu_part **at = &clock->parts;

	while (*at && (*at)->agent < agent)
		at = &(*at)->next;
	return at;
}

static const struct tcb_emu_part *part_of(const struct tcb_emu_clock *clock, uint32_t agent)
{
	const struct tcb_emu_part *part = clock->parts;

	while (part && part->agent < agent)
		part = part->next;
	return part && part->agent == agent ? part : NULL;
}

static struct tcb_emu_part *part_new(struct tcb_emu_run *run, struct tcb_emu_part **place, uint32_t agent)
{
	struct tcb_emu_part *part = run->spare_parts;

	if (part)
		run->spare_parts = part->next;
	else if (!(part = tcb_arena_alloc(&run->parts, sizeof *part))) {
		tcb_emu_no_memory(run);
		return NULL;
	}
	memset(part->tick, 0, sizeof part->tick);
	part->reads = 0;
	part->agent = agent;
	part->next = *place;
	*place = part;
	return part;
}

static void part_drop(struct tcb_emu_run *run, struct tcb_emu_part **place)
{
	struct tcb_emu_part *part = *place;

	*place = part->next;
	part->next = run->spare_parts;
	run->spare_parts = part;
}

/* The lanes of AGENT that may still do something; of a warp that has ended those that were there. */
static uint32_t lanes_of(const struct tcb_emu_run *run, uint32_t agent)
{
	const uint32_t each = run->blocks[0].warp_count, number = agent % run->warps;
	const struct tcb_emu_warp *warp = &run->blocks[number / each].warps[number % each];

	return warp->live ? warp->live : warp->exists;
}

/* What all lanes have in common goes to the whole; a part that says nothing more is dropped. */
static void settle(struct tcb_emu_run *run, struct tcb_emu_clock *clock, struct tcb_emu_part **place)
{
	const struct tcb_emu_part *part = *place;
	uint32_t *whole = &clock->whole[part->agent], least = UINT32_MAX, most = 0;

	TCB_EMU_EACH(lane, lanes_of(run, part->agent))
	{
		least = part->tick[lane] < least ? part->tick[lane] : least;
		most = part->tick[lane] > most ? part->tick[lane] : most;
	}
	if (*whole < least)
		*whole = least;
	if (most <= *whole)
		part_drop(run, place);
}

static void raise(uint32_t *to, const uint32_t *from, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		to[i] = to[i] < from[i] ? from[i] : to[i];
}

void tcb_emu_clock_lanes(struct tcb_emu_run *run, struct tcb_emu_clock *clock, uint32_t agent, const uint32_t *tick,
			 uint32_t reads)
{
	struct tcb_emu_part **place = place_of(clock, agent);

	if ((!*place || (*place)->agent != agent) && !part_new(run, place, agent))
		return;
	raise((*place)->tick, tick, TCB_EMU_LANES);
	raise(&(*place)->reads, &reads, 1);
	settle(run, clock, place);
}

/* --- clocks --- */

int tcb_emu_clock_init(struct tcb_emu_run *run, struct tcb_arena *arena, struct tcb_emu_clock *clock)
{
	clock->parts = NULL;
	clock->whole = tcb_arena_array(arena, run->agents, sizeof *clock->whole);
	return clock->whole != NULL;
}

void tcb_emu_clock_clear(struct tcb_emu_run *run, struct tcb_emu_clock *clock)
{
	memset(clock->whole, 0, run->agents * sizeof *clock->whole);
	while (clock->parts)
		part_drop(run, &clock->parts);
}

void tcb_emu_clock_merge(struct tcb_emu_run *run, struct tcb_emu_clock *to, const struct tcb_emu_clock *from)
{
	struct tcb_emu_part **at = &to->parts;

	raise(to->whole, from->whole, run->agents);
	for (const struct tcb_emu_part *part = from->parts; part; part = part->next) {
		while (*at && (*at)->agent < part->agent)
			at = &(*at)->next;
		if ((!*at || (*at)->agent != part->agent) && !part_new(run, at, part->agent))
			return;
		raise((*at)->tick, part->tick, TCB_EMU_LANES);
		raise(&(*at)->reads, &part->reads, 1);
	}
	for (at = &to->parts; *at;) {
		const struct tcb_emu_part *before = *at;

		settle(run, to, at);
		if (*at == before)
			at = &(*at)->next;
	}
}

void tcb_emu_clock_reach(struct tcb_emu_run *run, struct tcb_emu_clock *clock, uint32_t agent, uint32_t tick)
{
	struct tcb_emu_part **place = place_of(clock, agent);

	clock->whole[agent] = tick;
	if (*place && (*place)->agent == agent)
		part_drop(run, place);
}

uint32_t tcb_emu_clock_most(const struct tcb_emu_run *run, const struct tcb_emu_clock *clock)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < run->agents; i++)
		most = most < clock->whole[i] ? clock->whole[i] : most;
	for (const struct tcb_emu_part *part = clock->parts; part; part = part->next)
		for (unsigned lane = 0; lane < TCB_EMU_LANES; lane++)
			most = most < part->tick[lane] ? part->tick[lane] : most;
	return most;
}

/* Whether FROM says nothing that TO does not know. */
static int is_known(const struct tcb_emu_run *run, const struct tcb_emu_clock *to, const struct tcb_emu_clock *from)
{
	uint32_t beyond = 0;

	for (uint32_t i = 0; i < run->agents; i++)
		beyond |= from->whole[i] > to->whole[i];
	return !beyond && !from->parts;
}

/* --- lanes of one warp --- */

/* WARP->known, made when it is first needed; NULL: out of memory. */
static uint32_t *known_of(struct tcb_emu_warp *warp)
{
	if (!warp->known)
		warp->known = tcb_arena_array(&warp->block->arena, TCB_EMU_LANES * TCB_EMU_LANES, sizeof *warp->known);
	if (!warp->known)
		tcb_emu_no_memory(warp->run);
	return warp->known;
}

/* LANE's own clock, made when it is first needed; NULL: out of memory. */
static struct tcb_emu_clock *clock_of(struct tcb_emu_warp *warp, unsigned lane)
{
	struct tcb_arena *arena = &warp->block->arena;

	if (!warp->apart)
		warp->apart = tcb_arena_array(arena, TCB_EMU_LANES, sizeof *warp->apart);
	if (!warp->apart || (!warp->apart[lane].whole && !tcb_emu_clock_init(warp->run, arena, &warp->apart[lane]))) {
		tcb_emu_no_memory(warp->run);
		return NULL;
	}
	if (!(warp->apart_lanes >> lane & 1))
		tcb_emu_clock_clear(warp->run, &warp->apart[lane]);
	warp->apart_lanes |= 1u << lane;
	return &warp->apart[lane];
}

/* What LANES do together, all that live of WARP do. */
static int is_whole(const struct tcb_emu_warp *warp, uint32_t lanes)
{
	return !(warp->live & ~lanes);
}

/* TO learns what LANES know of other warps. */
static void tell_known(struct tcb_emu_warp *warp, uint32_t lanes, struct tcb_emu_clock *to)
{
	tcb_emu_clock_merge(warp->run, to, &warp->seen);
	TCB_EMU_EACH(lane, lanes & warp->apart_lanes)
	tcb_emu_clock_merge(warp->run, to, &warp->apart[lane]);
}

/* What LANES, at NOW, and those whom they know did until when. */
static void ticks_of(const struct tcb_emu_warp *warp, uint32_t lanes, uint32_t now, uint32_t *tick)
{
	for (unsigned i = 0; i < TCB_EMU_LANES; i++)
		tick[i] = warp->synced;
	TCB_EMU_EACH(lane, warp->known ? lanes : 0)
	raise(tick, warp->known + lane * TCB_EMU_LANES, TCB_EMU_LANES);
	TCB_EMU_EACH(own, lanes)
	tick[own] = now;
}

void tcb_emu_release(struct tcb_emu_warp *warp, uint32_t lanes, struct tcb_emu_clock *to)
{
	uint32_t now = ++warp->run->tick, tick[TCB_EMU_LANES];

	tell_known(warp, lanes, to);
	if (is_whole(warp, lanes)) {
		tcb_emu_clock_reach(warp->run, to, warp->agent, now);
		return;
	}
	ticks_of(warp, lanes, now, tick);
	tcb_emu_clock_lanes(warp->run, to, warp->agent, tick, warp->gathered);
}

void tcb_emu_acquire(struct tcb_emu_warp *warp, uint32_t lanes, const struct tcb_emu_clock *from)
{
	const struct tcb_emu_part *own = part_of(from, warp->agent);
	const uint32_t whole = from->whole[warp->agent];

	if (is_whole(warp, lanes)) {
		tcb_emu_clock_merge(warp->run, &warp->seen, from);
		if (warp->synced < whole)
			warp->synced = whole;
		lanes = own ? lanes : 0;
	} else if (!is_known(warp->run, &warp->seen, from)) {
		TCB_EMU_EACH(lane, lanes)
		{
			struct tcb_emu_clock *clock = clock_of(warp, lane);

			if (clock)
				tcb_emu_clock_merge(warp->run, clock, from);
		}
	}
	if (!own && whole <= warp->synced)
		return;
	TCB_EMU_EACH(each, known_of(warp) ? lanes : 0)
	{
		uint32_t *known = warp->known + each * TCB_EMU_LANES;

		for (unsigned i = 0; i < TCB_EMU_LANES; i++)
			known[i] = known[i] < whole ? whole : known[i];
		if (own)
			raise(known, own->tick, TCB_EMU_LANES);
	}
}

void tcb_emu_fence(struct tcb_emu_warp *warp, uint32_t lanes, enum tcb_emu_scope least)
{
	if (lanes & warp->heard_lanes)
		tcb_emu_acquire(warp, lanes, &warp->heard);
	warp->run->tick++;
	for (unsigned scope = least; scope < TCB_EMU_SCOPES; scope++) {
		tell_known(warp, lanes, &warp->fenced[scope]);
		TCB_EMU_EACH(lane, lanes)
		warp->fence_tick[scope][lane] = warp->run->tick;
	}
}

void tcb_emu_release_fenced(struct tcb_emu_warp *warp, unsigned lane, enum tcb_emu_scope scope,
			    struct tcb_emu_clock *to)
{
	const uint32_t then = warp->fence_tick[scope][lane];
	uint32_t tick[TCB_EMU_LANES];

	if (!then)
		return;
	tcb_emu_clock_merge(warp->run, to, &warp->fenced[scope]);
	ticks_of(warp, 1u << lane, then, tick);
	for (unsigned i = 0; i < TCB_EMU_LANES; i++)
		tick[i] = tick[i] < then ? tick[i] : then;
	tcb_emu_clock_lanes(warp->run, to, warp->agent, tick, warp->gathered < then ? warp->gathered : then);
}

/* Each of LANES, some of WARP, learns what the others know of other warps. */
static void share_clocks(struct tcb_emu_warp *warp, uint32_t lanes)
{
	const uint32_t first = (uint32_t)__builtin_ctz(lanes);
	struct tcb_emu_clock *all = clock_of(warp, first);

	TCB_EMU_EACH(lane, all ? lanes & warp->apart_lanes & ~(1u << first) : 0)
	tcb_emu_clock_merge(warp->run, all, &warp->apart[lane]);
	TCB_EMU_EACH(each, all ? lanes & ~(1u << first) : 0)
	{
		struct tcb_emu_clock *clock = clock_of(warp, each);

		if (clock)
			tcb_emu_clock_merge(warp->run, clock, all);
	}
}

void tcb_emu_sync_lanes(struct tcb_emu_warp *warp, uint32_t lanes)
{
	uint32_t now = ++warp->run->tick, most[TCB_EMU_LANES] = { 0 };

	if (is_whole(warp, lanes)) {
		warp->synced = now;
		TCB_EMU_EACH(lane, warp->apart_lanes)
		tcb_emu_clock_merge(warp->run, &warp->seen, &warp->apart[lane]);
		warp->apart_lanes = 0;
		return;
	}
	if (lanes & warp->apart_lanes)
		share_clocks(warp, lanes);
	if (!known_of(warp))
		return;
	ticks_of(warp, lanes, now, most);
	TCB_EMU_EACH(each, lanes)
	memcpy(warp->known + each * TCB_EMU_LANES, most, sizeof most);
}

/* --- questions --- */

/* Which of LANES of AGENT CLOCK has behind it beyond TICK. */
static uint32_t covered(const struct tcb_emu_clock *clock, uint32_t agent, uint32_t lanes, uint32_t tick)
{
	const struct tcb_emu_part *part = part_of(clock, agent);
	uint32_t result = 0;

	if (clock->whole[agent] > tick)
		return lanes;
	TCB_EMU_EACH(lane, part ? lanes : 0)
	result |= (uint32_t)(part->tick[lane] > tick) << lane;
	return result;
}

int tcb_emu_knows_lanes(const struct tcb_emu_warp *warp, unsigned lane, uint32_t agent, uint32_t lanes, uint32_t tick)
{
	const uint32_t asked = lanes ? lanes : UINT32_MAX;
	uint32_t found = 0;

	if (agent == warp->agent) {
		TCB_EMU_EACH(other, warp->known && lane < TCB_EMU_LANES ? asked : 0)
		found |= (uint32_t)(warp->known[lane * TCB_EMU_LANES + other] > tick) << other;
		if (lane < TCB_EMU_LANES)
			found |= asked & 1u << lane;
	} else {
		const uint32_t own = lane < TCB_EMU_LANES ? 1u << lane : UINT32_MAX;

		found = covered(&warp->seen, agent, asked, tick);
		TCB_EMU_EACH(each, warp->apart_lanes & own)
		found |= covered(&warp->apart[each], agent, asked, tick);
	}
	return lanes ? !(lanes & ~found) : found != 0;
}

static int has_reads(const struct tcb_emu_clock *clock, uint32_t agent, uint32_t tick)
{
	const struct tcb_emu_part *part = part_of(clock, agent);

	return part && part->reads > tick;
}

int tcb_emu_knows_reads(const struct tcb_emu_warp *warp, unsigned lane, uint32_t agent, uint32_t tick)
{
	const uint32_t own = lane < TCB_EMU_LANES ? 1u << lane : UINT32_MAX;
	int found = agent == warp->agent ? warp->gathered > tick : has_reads(&warp->seen, agent, tick);

	TCB_EMU_EACH(each, warp->apart_lanes & own)
	found |= has_reads(&warp->apart[each], agent, tick);
	return found;
}
