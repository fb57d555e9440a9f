/* SPDX-License-Identifier: MIT
 *
 * Races in shared memory, and reads of what nobody wrote or what a copy still
 * brings (emu_race.c has the rest).  All readers of a cell are known, until a
 * write that is behind all of them.
 */
#include "ptx/emulate/emu_race.h"

#include <stdlib.h>
#include <string.h>

/* What read a cell last: TICK tells whether anybody of this block did, the rest is for the message. */
struct read {
	uint32_t ins, reader, tick;
};

struct tcb_emu_shadow {
	uint32_t cells, base; /* what was written before the tick BASE is another block's */
	unsigned shift;
	uint32_t readers; /* warps of the cluster, and the copy engine */
	struct tcb_emu_who *writer;
	uint32_t *read_tick; /* [readers][cells]: what reads or writes a row of cells meets one reader's in a row */
	uint8_t *read_lane;
	uint32_t *read_lanes;   /* where READ_LANE is TCB_EMU_MANY: which */
	uint64_t *read_by;      /* [cells][words]: whose READ_TICK of a cell counts, if that of LAST_READ does */
	uint32_t words;         /* 64 readers each */
	struct read *last_read; /* [cells] */
	uint8_t *pending;
	uint32_t pending_count;
};

/* --- beginning and end --- */

static void shadow_free(struct tcb_emu_shadow *shadow)
{
	if (!shadow)
		return;
	free(shadow->writer);
	free(shadow->read_tick);
	free(shadow->read_lane);
	free(shadow->read_lanes);
	free(shadow->read_by);
	free(shadow->last_read);
	free(shadow->pending);
	free(shadow);
}

void tcb_emu_shadows_free(struct tcb_emu_run *run)
{
	for (uint32_t i = 0; run->shadows && i < run->room; i++)
		shadow_free(run->shadows[i]);
	free(run->shadows);
	run->shadows = NULL;
}

int tcb_emu_shadow_start(struct tcb_emu_block *block)
{
	struct tcb_emu_run *run = block->run;
	struct tcb_emu_shadow **place = &run->shadows[block - run->blocks], *shadow = *place;

	if (!shadow) {
		shadow = *place = calloc(1, sizeof *shadow);
		if (!shadow)
			return 0;
		shadow->shift = (unsigned)__builtin_ctz(run->program->shared_grain);
		shadow->cells = (block->shared_bytes >> shadow->shift) + 1;
		shadow->readers = run->cluster_blocks * block->warp_count + 1;
		shadow->writer = calloc(shadow->cells, sizeof *shadow->writer);
		shadow->read_tick = calloc((size_t)shadow->cells * shadow->readers, sizeof *shadow->read_tick);
		shadow->read_lane = calloc((size_t)shadow->cells * shadow->readers, 1);
		shadow->read_lanes = calloc((size_t)shadow->cells * shadow->readers, sizeof *shadow->read_lanes);
		shadow->words = (shadow->readers + 63) / 64;
		shadow->read_by = calloc((size_t)shadow->cells * shadow->words, sizeof *shadow->read_by);
		shadow->last_read = calloc(shadow->cells, sizeof *shadow->last_read);
		shadow->pending = calloc(shadow->cells, 1);
		if (!shadow->writer || !shadow->read_tick || !shadow->read_lane || !shadow->read_lanes ||
		    !shadow->read_by || !shadow->last_read || !shadow->pending)
			return 0;
	}
	shadow->base = ++run->tick;
	block->shadow = shadow;
	return 1;
}

void tcb_emu_shadow_end(struct tcb_emu_block *block)
{
	if (block->shadow && block->shadow->pending_count)
		memset(block->shadow->pending, 0, block->shadow->cells);
	if (block->shadow)
		block->shadow->pending_count = 0;
}

/* --- copies in flight --- */

void tcb_emu_pending(struct tcb_emu_block *block, uint32_t offset, uint32_t bytes, int on)
{
	struct tcb_emu_shadow *shadow = block->shadow;

	for (uint32_t at = offset >> shadow->shift; bytes && at <= (offset + bytes - 1) >> shadow->shift; at++) {
		shadow->pending[at] = (uint8_t)(on ? shadow->pending[at] + 1 : shadow->pending[at] - 1);
		shadow->pending_count += on ? 1 : UINT32_MAX;
	}
}

/* --- cells --- */

/* The first warp of the cluster whose warps read the shared memory of A. */
static uint32_t first_agent(const struct tcb_emu_touch *a)
{
	struct tcb_emu_block *block = a->warp->block;

	return (uint32_t)(tcb_emu_cluster(block) - a->warp->run->blocks) * block->warp_count;
}

static uint32_t mask_of(uint8_t lane)
{
	return lane < TCB_EMU_LANES ? 1u << lane : UINT32_MAX;
}

/* Reader I of CELL, which it read in this block; whether it is behind A. */
static int against_one(const struct tcb_emu_touch *a, const struct tcb_emu_shadow *shadow, uint32_t cell, uint32_t i)
{
	const struct tcb_emu_run *run = a->warp->run;
	const size_t at = (size_t)i * shadow->cells + cell;
	const uint32_t tick = shadow->read_tick[at];
	const uint8_t lane = shadow->read_lane[at];
	const uint32_t lanes =
		(lane & TCB_EMU_MANY) == TCB_EMU_MANY ? shadow->read_lanes[at] : mask_of(lane & TCB_EMU_MANY);
	const struct read *last = &shadow->last_read[cell];
	const struct tcb_emu_who reader = {
		tick,
		run->cluster,
		last->reader == i ? last->ins : UINT32_MAX,
		(uint16_t)(i + 1 < shadow->readers ? first_agent(a) + i : run->agents - 2),
		lane & TCB_EMU_MANY,
		lane & (TCB_EMU_WAS_STRONG | TCB_EMU_WAS_VOLATILE),
	};

	if (tcb_emu_are_ordered(a->warp, a->place, &reader, lanes) ||
	    tcb_emu_knows_reads(a->warp, a->place, reader.agent, tick))
		return 1;
	if (tick != run->tick && !tcb_emu_are_strong(a, &reader))
		tcb_emu_race_report(a->warp, a->in, a->lane, &reader, "writes what was read", a->space, a->at,
				    TCB_PTX_ERROR);
	return 0;
}

/* Who read CELL and is behind this write is behind all that the write is behind, and need not be known any more. */
static void against_readers(const struct tcb_emu_touch *a, struct tcb_emu_shadow *shadow, uint32_t cell)
{
	const uint64_t *by = shadow->read_by + (size_t)cell * shadow->words;
	int is_behind = 1;

	if (shadow->last_read[cell].tick < shadow->base)
		return;
	for (uint32_t word = 0; word < shadow->words; word++)
		for (uint64_t left = by[word]; left; left &= left - 1)
			is_behind &= against_one(a, shadow, cell, word * 64 + (uint32_t)__builtin_ctzll(left));
	if (is_behind)
		shadow->last_read[cell].tick = 0;
}

/* LANES of READER, who is ME but for the lane, read CELL.  Of what readers of an earlier block left, or were before
 * this warp met last, there is no more. */
static inline __attribute__((always_inline)) void note_read(struct tcb_emu_shadow *shadow, uint32_t cell,
							    uint32_t reader, const struct tcb_emu_who *me,
							    uint32_t lanes, uint32_t synced)
{
	uint64_t *by = shadow->read_by + (size_t)cell * shadow->words;
	const size_t at = (size_t)reader * shadow->cells + cell;
	const uint32_t before = shadow->read_tick[at];
	const uint8_t strong = me->is_strong & (TCB_EMU_WAS_STRONG | TCB_EMU_WAS_VOLATILE);
	uint8_t *known = &shadow->read_lane[at], first = *known & TCB_EMU_MANY;

	if (shadow->last_read[cell].tick < shadow->base)
		memset(by, 0, shadow->words * sizeof *by);
	if (before < shadow->base || before < synced || !(by[reader / 64] >> reader % 64 & 1)) {
		*known = me->lane | strong;
		shadow->read_lanes[at] = lanes;
	} else if (first != me->lane || first == TCB_EMU_MANY) {
		shadow->read_lanes[at] = lanes | (first == TCB_EMU_MANY ? shadow->read_lanes[at] : mask_of(first));
		*known = TCB_EMU_MANY | (*known & strong);
	} else {
		*known &= TCB_EMU_MANY | strong;
	}
	by[reader / 64] |= (uint64_t)1 << reader % 64;
	shadow->read_tick[at] = me->tick;
	shadow->last_read[cell] = (struct read){ me->ins, reader, me->tick };
}

/* Copies and wgmma read through another proxy: ordinary writes need a fence, by the writer or by who knows of them. */
static void check_proxy(const struct tcb_emu_touch *a, const struct tcb_emu_who *writer)
{
	const struct tcb_emu_run *run = a->warp->run;

	if (!run->program->reads_async || writer->agent >= run->warps ||
	    tcb_emu_knows(a->warp, a->place, run->warps + writer->agent, mask_of(writer->lane), writer->tick))
		return;
	tcb_emu_report(
		a->warp, a->in, a->lane, TCB_PTX_RULE_PROXY_FENCE, TCB_PTX_ERROR,
		"reads byte %llu of shared memory, which ordinary stores of warp %u wrote; let the writers execute "
		"fence.proxy.async before the barrier",
		(unsigned long long)a->at, writer->agent);
}

/* --- shared memory of other blocks --- */

struct tcb_emu_remote {
	const struct tcb_emu_ins *in;
	struct tcb_emu_warp *warp;
	uint32_t tick;
};

/* WARP touches shared memory of another BLOCK of its cluster. */
static void note_remote(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, struct tcb_emu_block *block)
{
	if (!block->remote)
		block->remote = tcb_arena_array(&block->arena, warp->run->warps, sizeof *block->remote);
	if (block->remote)
		block->remote[warp->agent] = (struct tcb_emu_remote){ in, warp, warp->run->tick };
	else
		tcb_emu_no_memory(warp->run);
}

void tcb_emu_remote_end(struct tcb_emu_block *block)
{
	for (uint32_t agent = 0; block->remote && agent < block->run->warps; agent++) {
		const struct tcb_emu_remote *remote = &block->remote[agent];
		int is_kept = !remote->in;

		for (uint32_t i = 0; i < block->warp_count && !is_kept; i++)
			is_kept = tcb_emu_knows(&block->warps[i], TCB_EMU_NOBODY, agent, 0, remote->tick);
		if (!is_kept)
			tcb_emu_report(remote->warp, remote->in, -1, TCB_PTX_RULE_RACE, TCB_PTX_ERROR,
				       "touches shared memory of block %u of the cluster, which may have ended: no "
				       "barrier of the cluster behind this access keeps it",
				       block->rank);
	}
}

static void shared_cell(const struct tcb_emu_touch *a, struct tcb_emu_shadow *shadow, uint32_t cell)
{
	struct tcb_emu_run *run = a->warp->run;
	struct tcb_emu_who *writer = &shadow->writer[cell];

	if (shadow->pending[cell] && !(a->flags & TCB_EMU_ASYNC_AGENT))
		tcb_emu_report(a->warp, a->in, a->lane, TCB_PTX_RULE_ASYNC_PENDING, TCB_PTX_ERROR,
			       "%s byte %llu of shared memory while an asynchronous copy to it is in flight; wait for "
			       "it first",
			       a->flags & TCB_EMU_WRITE ? "writes" : "reads", (unsigned long long)a->at);
	if (writer->tick >= shadow->base) {
		if (!(a->flags & TCB_EMU_INIT))
			tcb_emu_against_writer(a, writer);
		if ((a->flags & (TCB_EMU_ASYNC_AGENT | TCB_EMU_PROXY_ASYNC)) && !(a->flags & TCB_EMU_WRITE))
			check_proxy(a, writer);
	} else if (a->flags & TCB_EMU_READ && !(a->flags & TCB_EMU_INIT) && !shadow->pending[cell]) {
		tcb_emu_report(a->warp, a->in, a->lane, TCB_PTX_RULE_UNWRITTEN_SHARED, TCB_PTX_ERROR,
			       "byte %llu of shared memory is read and nobody in the block has written it",
			       (unsigned long long)a->at);
	}
	if (a->flags & TCB_EMU_WRITE) {
		if (!(a->flags & TCB_EMU_INIT))
			against_readers(a, shadow, cell);
		*writer = tcb_emu_myself(a);
	} else {
		struct tcb_emu_who me = tcb_emu_myself(a);

		note_read(shadow, cell, me.agent == run->agents - 2 ? shadow->readers - 1 : me.agent - first_agent(a),
			  &me, mask_of(me.lane), a->warp->synced);
	}
}

/* Whether all that was read of CELL in this block was read by READER, the warp itself, and is behind LANE. */
static inline int are_own_reads(const struct tcb_emu_warp *warp, const struct tcb_emu_shadow *shadow, uint32_t cell,
				unsigned lane, uint32_t reader)
{
	const size_t at = (size_t)reader * shadow->cells + cell;

	return shadow->words == 1 && shadow->read_by[cell] == (uint64_t)1 << reader &&
	       (shadow->read_tick[at] < warp->synced || (shadow->read_lane[at] & TCB_EMU_MANY) == lane);
}

/* Whether there is nothing to tell of CELL: its writer is behind LANE of READER, the warp itself, or nobody has written
 * it and WRITES; and so are those who read it, who need not be known then. */
static inline int is_plain(const struct tcb_emu_warp *warp, struct tcb_emu_shadow *shadow, uint32_t cell, unsigned lane,
			   uint32_t reader, int writes)
{
	const struct tcb_emu_who *writer = &shadow->writer[cell];
	int is_behind;

	if (shadow->pending[cell])
		return 0;
	if (writer->tick < shadow->base)
		is_behind = writes;
	else if (writer->agent == warp->agent)
		is_behind = writer->tick < warp->synced || writer->lane == lane;
	else
		is_behind = warp->seen.whole[writer->agent] > writer->tick;
	if (!is_behind || !writes || shadow->last_read[cell].tick < shadow->base)
		return is_behind;
	if (!are_own_reads(warp, shadow, cell, lane, reader))
		return 0;
	shadow->last_read[cell].tick = 0;
	return 1;
}

/* The usual access of a lane, A's and ME's, to OFFSET: neither strong nor a copy's, of the warp's own block. */
static inline __attribute__((always_inline)) void ordinary(struct tcb_emu_touch *a, struct tcb_emu_who *me,
							   struct tcb_emu_shadow *shadow, uint32_t reader,
							   unsigned lane, uint32_t offset, unsigned bytes, int writes)
{
	const uint32_t first = offset >> shadow->shift, last = (offset + bytes - 1) >> shadow->shift;

	a->lane = (int)lane;
	a->place = lane;
	a->at = offset;
	me->lane = (uint8_t)lane;
	for (uint32_t cell = first; cell <= last; cell++)
		if (!is_plain(a->warp, shadow, cell, lane, reader, writes))
			shared_cell(a, shadow, cell);
		else if (writes)
			shadow->writer[cell] = *me;
		else
			note_read(shadow, cell, reader, me, 1u << lane, a->warp->synced);
}

void tcb_emu_race_shared_loads(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const uint64_t *address,
			       uint32_t active, unsigned bytes)
{
	struct tcb_emu_touch a = { warp, in, 0, 0, TCB_EMU_READ, 0, 1, "shared memory", 0 };
	const uint32_t reader = warp->agent - first_agent(&a);
	struct tcb_emu_who me = tcb_emu_myself(&a);

	TCB_EMU_EACH(lane, active)
	ordinary(&a, &me, warp->block->shadow, reader, lane, (uint32_t)address[lane] - TCB_EMU_SHARED_START, bytes, 0);
}

void tcb_emu_race_shared_stores(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const uint64_t *address,
				uint32_t active, unsigned bytes, const uint8_t (*value)[TCB_EMU_BYTES_MAX])
{
	struct tcb_emu_touch a = { warp, in, 0, 0, TCB_EMU_WRITE, 0, 1, "shared memory", 0 };
	const uint32_t reader = warp->agent - first_agent(&a);
	struct tcb_emu_who me = tcb_emu_myself(&a);

	TCB_EMU_EACH(lane, active)
	{
		const uint32_t offset = (uint32_t)address[lane] - TCB_EMU_SHARED_START;
		uint8_t *to = warp->block->shared + offset;

		a.is_equal = memcmp(to, value[lane], bytes) == 0;
		tcb_emu_note_change(&a);
		ordinary(&a, &me, warp->block->shadow, reader, lane, offset, bytes, 1);
		memcpy(to, value[lane], bytes);
	}
}

void tcb_emu_race_shared(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, struct tcb_emu_block *block,
			 uint32_t offset, unsigned bytes, unsigned flags, const void *value)
{
	struct tcb_emu_shadow *shadow = block->shadow;
	struct tcb_emu_touch a = { warp,  in, lane, lane < 0 ? TCB_EMU_NOBODY : (unsigned)lane,
				   flags, 0,  1,    "shared memory",
				   offset };
	const uint32_t first = offset >> shadow->shift, last = (offset + bytes - 1) >> shadow->shift;

	if (block != warp->block && !(flags & (TCB_EMU_ASYNC_AGENT | TCB_EMU_COMPLETES)))
		note_remote(warp, in, block);
	a.is_equal = value && memcmp(block->shared + offset, value, bytes) == 0;
	tcb_emu_note_change(&a);
	if ((flags == TCB_EMU_READ || flags == TCB_EMU_WRITE) && block == warp->block && lane >= 0) {
		struct tcb_emu_who me = tcb_emu_myself(&a);

		ordinary(&a, &me, shadow, warp->agent - first_agent(&a), a.place, offset, bytes,
			 flags == TCB_EMU_WRITE);
		return;
	}
	for (uint32_t cell = first; cell <= last; cell++)
		shared_cell(&a, shadow, cell);
}

void tcb_emu_race_shared_by_all(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t lanes,
				uint32_t offset, unsigned bytes)
{
	struct tcb_emu_shadow *shadow = warp->block->shadow;
	const struct tcb_emu_touch a = { warp, in, -1, TCB_EMU_MANY, TCB_EMU_READ, 0, 1, "shared memory", offset };
	const uint32_t first = offset >> shadow->shift, last = (offset + bytes - 1) >> shadow->shift;
	const struct tcb_emu_who me = tcb_emu_myself(&a);
	int is_usual = 1;

	for (uint32_t cell = first; cell <= last; cell++)
		is_usual &= is_plain(warp, shadow, cell, TCB_EMU_MANY, 0, 0);
	for (uint32_t cell = first; cell <= last && is_usual; cell++)
		note_read(shadow, cell, warp->agent - first_agent(&a), &me, lanes, warp->synced);
	TCB_EMU_EACH(lane, is_usual ? 0 : lanes)
	tcb_emu_race_shared(warp, in, (int)lane, warp->block, offset, bytes, TCB_EMU_READ, NULL);
}

/* As is_plain, of what tensor cores read for WARP: its writers have also executed a fence between the proxies. */
static inline int is_plain_for_tensor(const struct tcb_emu_warp *warp, const struct tcb_emu_shadow *shadow,
				      uint32_t cell)
{
	const struct tcb_emu_who *writer = &shadow->writer[cell];
	const struct tcb_emu_run *run = warp->run;

	if (shadow->pending[cell] || writer->tick < shadow->base)
		return 0;
	if ((writer->agent == warp->agent ? warp->synced : warp->seen.whole[writer->agent]) <= writer->tick)
		return 0;
	return !run->program->reads_async || writer->agent >= run->warps ||
	       warp->seen.whole[run->warps + writer->agent] > writer->tick;
}

void tcb_emu_race_shared_chunks(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const uint32_t *address,
				unsigned count, unsigned bytes)
{
	struct tcb_emu_shadow *shadow = warp->block->shadow;
	struct tcb_emu_touch a = {
		warp, in, -1, TCB_EMU_NOBODY, TCB_EMU_READ | TCB_EMU_PROXY_ASYNC, 0, 1, "shared memory", 0
	};
	const struct tcb_emu_who me = tcb_emu_myself(&a);

	for (unsigned i = 0; i < count; i++) {
		const uint32_t offset = address[i] - TCB_EMU_SHARED_START;
		const uint32_t last = (offset + bytes - 1) >> shadow->shift;

		a.at = offset;
		for (uint32_t cell = offset >> shadow->shift; cell <= last; cell++)
			if (is_plain_for_tensor(warp, shadow, cell))
				note_read(shadow, cell, shadow->readers - 1, &me, mask_of(me.lane), warp->synced);
			else
				shared_cell(&a, shadow, cell);
	}
}
