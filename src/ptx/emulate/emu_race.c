/* SPDX-License-Identifier: MIT
 *
 * Races and reads of what nobody wrote.
 *
 * For each grain of memory (as small as the program's smallest access) there is
 * a record of who wrote it last and who read it when.  An access races with an
 * earlier one of another thread when nothing orders them: a barrier, a sync of
 * the warp, or what passes through an mbarrier, an atomic or a flag (vector
 * clocks by warp, as in FastTrack, Flanagan and Freund 2009; within a warp by
 * lane).  Of shared memory all readers are known, of global memory the last.
 */
#include "ptx/emulate/emu_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	NOBODY = 62 /* no lane in particular */,
	MANY = 63,
	STRONG = 64,
	VOLATILE = 128 /* beside a lane */,
	OF_BLOCK = 1 /* beside STRONG */,
	MANY_WARPS = UINT16_MAX
};
/* Cells of a region that are still worth their memory. */
static const uint64_t cells_max = 1u << 26;

struct who {
	uint32_t tick; /* 0: nobody */
	uint32_t cluster;
	uint32_t ins; /* its counter; UINT32_MAX: not known */
	uint16_t agent;
	uint8_t lane;
	uint8_t is_strong; /* STRONG, and VOLATILE or OF_BLOCK if it is that */
};

/* What read a cell last: TICK tells whether anybody of this block did, the rest is for the message. */
struct read {
	uint32_t ins, reader, tick;
};

struct tcb_emu_shadow {
	uint32_t cells, base; /* what was written before the tick BASE is another block's */
	unsigned shift;
	uint32_t readers; /* warps of the cluster, and the copy engine */
	struct who *writer;
	uint32_t *read_tick; /* [readers][cells]: what reads or writes a row of cells meets one reader's in a row */
	uint8_t *read_lane;
	uint32_t *read_lanes;   /* where READ_LANE is MANY: which */
	uint64_t *read_by;      /* [cells][words]: whose READ_TICK of a cell counts, if that of LAST_READ does */
	uint32_t words;         /* 64 readers each */
	struct read *last_read; /* [cells] */
	uint8_t *pending;
	uint32_t pending_count;
};

struct tcb_emu_cell {
	struct who writer, reader; /* of the running cluster, else the last one's */
	struct who earlier;        /* a reader of an earlier cluster */
};

/* --- beginning and end --- */

int tcb_emu_races_begin(struct tcb_emu_run *run)
{
	run->shadows = calloc(run->room, sizeof *run->shadows);
	if (!run->shadows) {
		tcb_emu_no_memory(run);
		return 0;
	}
	for (uint32_t i = 0; i < run->memory->region_count; i++) {
		free(run->memory->regions[i].cells);
		run->memory->regions[i].cells = NULL;
		run->memory->regions[i].early = NULL;
		run->memory->regions[i].is_written = 0;
		free(run->memory->regions[i].sides);
		run->memory->regions[i].sides = NULL;
	}
	return 1;
}

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

void tcb_emu_races_end(struct tcb_emu_run *run)
{
	tcb_emu_shadows_free(run);
	for (uint32_t i = 0; i < run->memory->region_count; i++) {
		free(run->memory->regions[i].cells);
		free(run->memory->regions[i].sides);
		run->memory->regions[i].cells = NULL;
		run->memory->regions[i].sides = NULL;
	}
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

/* --- order --- */

/* Several warps read: when none of the others is behind this one, none of those is. */
static int any_ordered(const struct tcb_emu_warp *warp, unsigned lane, uint32_t tick)
{
	for (uint32_t i = 0; i < warp->run->warps; i++)
		if (i != warp->agent && tcb_emu_knows(warp, lane, i, 0, tick))
			return 1;
	return 0;
}

/* Whether WHO, of LANES, is behind LANE. */
static int are_ordered(const struct tcb_emu_warp *warp, unsigned lane, const struct who *who, uint32_t lanes)
{
	if (who->cluster != warp->run->cluster)
		return tcb_emu_knows(warp, lane, warp->run->agents - 1, 0, who->tick);
	if (who->agent == MANY_WARPS)
		return any_ordered(warp, lane, who->tick);
	return tcb_emu_knows(warp, lane, who->agent, lanes, who->tick);
}

/* Which lanes of another warp read global memory is not written down when there are many: one is enough. */
static int is_ordered(const struct tcb_emu_warp *warp, unsigned lane, const struct who *who)
{
	const int are_many = who->lane == MANY && who->agent != warp->agent;

	return are_ordered(warp, lane, who, who->lane < TCB_EMU_LANES ? 1u << who->lane : are_many ? 0 : UINT32_MAX);
}

static const struct tcb_ptx_ins *ins_of(const struct tcb_ptx_program *program, uint32_t count)
{
	for (uint32_t f = 0; f < program->function_count; f++)
		for (uint32_t i = 0; i < program->functions[f]->code_count; i++)
			if (program->functions[f]->code[i].ins && program->functions[f]->code[i].count == count)
				return program->functions[f]->code[i].ins;
	return NULL;
}

/* What would have ordered LANE behind WHO, had the lanes of one of their warps met. */
static const char *advice(const struct tcb_emu_warp *warp, unsigned lane, const struct who *who)
{
	if (who->cluster != warp->run->cluster || who->agent >= warp->run->warps || who->agent == warp->agent)
		return "";
	if (tcb_emu_knows(warp, lane, who->agent, 0, who->tick))
		return "; of that warp another lane's accesses are ordered: an arrive or release is of its own thread, "
		       "bar.warp.sync before it makes it the warp's";
	if (tcb_emu_knows(warp, NOBODY, who->agent, 0, who->tick))
		return "; another lane of this warp has waited for it: bar.warp.sync behind that wait";
	return "";
}

static void report(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, const struct who *who,
		   const char *what, const char *space, uint64_t place, enum tcb_ptx_severity severity)
{
	const struct tcb_ptx_ins *other = ins_of(warp->run->program, who->ins);
	const uint32_t each = warp->block->warp_count;
	char whom[64] = "", where[32] = "";

	if (who->cluster != warp->run->cluster)
		snprintf(whom, sizeof whom, "another block");
	else if (who->agent == MANY_WARPS)
		snprintf(whom, sizeof whom, "other warps");
	else if (who->lane == MANY && who->agent == warp->agent)
		snprintf(whom, sizeof whom, "other lanes of the same warp");
	else if (who->agent == warp->run->agents - 2 || who->agent == warp->run->agents - 3)
		snprintf(whom, sizeof whom, "an asynchronous copy");
	else if (who->agent != warp->agent)
		snprintf(whom, sizeof whom, "warp %u%s", who->agent % each,
			 who->agent / each == warp->agent / each ? "" : " of another block");
	else
		snprintf(whom, sizeof whom, "lane %u of the same warp", who->lane);
	if (other && other->line)
		snprintf(where, sizeof where, " at line %u", other->line);
	tcb_emu_report(warp, in, lane, TCB_PTX_RULE_RACE, severity,
		       "%s at byte %llu of %s, which %s %s%s with nothing between that orders them%s", what,
		       (unsigned long long)place, space, whom, strstr(what, "was read") ? "read" : "touched", where,
		       advice(warp, lane < 0 ? NOBODY : (unsigned)lane, who));
}

/* --- shared memory --- */

struct access {
	struct tcb_emu_warp *warp;
	const struct tcb_emu_ins *in;
	int lane;
	unsigned place; /* the lane, or NOBODY */
	unsigned flags;
	int is_equal; /* writes what is there already */
	int is_shared;
	const char *space;
	uint64_t at;
};

/* What may end somebody's wait; atomics say it themselves. */
static void note_change(const struct access *a)
{
	if (a->flags & TCB_EMU_WRITE && !a->is_equal &&
	    (!(a->flags & TCB_EMU_ATOMIC) || a->flags & TCB_EMU_ASYNC_AGENT))
		tcb_emu_progress(a->warp->run);
}

/* Copies into device memory are waited for apart from those that only read shared memory. */
static uint32_t agent_of(const struct access *a)
{
	if (!(a->flags & (TCB_EMU_ASYNC_AGENT | TCB_EMU_PROXY_ASYNC)))
		return a->warp->agent;
	return a->warp->run->agents - (a->flags & TCB_EMU_WRITE && !a->is_shared ? 3 : 2);
}

static struct who myself(const struct access *a)
{
	const struct tcb_emu_run *run = a->warp->run;

	return (struct who){ run->tick,
			     run->cluster,
			     a->in->count,
			     (uint16_t)agent_of(a),
			     (uint8_t)a->place,
			     (uint8_t)((a->flags & (TCB_EMU_ATOMIC | TCB_EMU_STRONG) ? STRONG : 0) |
				       (a->flags & TCB_EMU_VOLATILE ? VOLATILE : 0) |
				       (a->flags & TCB_EMU_BLOCK ? OF_BLOCK : 0)) };
}

/* Strong accesses race with nothing but weak ones, and those of a block's scope with those of other blocks.  Yet code
 * from before sm_70 has volatile accesses between the lanes of a warp where a sync belongs. */
static int are_strong(const struct access *a, const struct who *who)
{
	if (!who->is_strong || !(a->flags & (TCB_EMU_ATOMIC | TCB_EMU_STRONG)) ||
	    (who->cluster != a->warp->run->cluster && (who->is_strong & OF_BLOCK || a->flags & TCB_EMU_BLOCK)))
		return 0;
	if (a->is_shared && who->is_strong & VOLATILE && a->flags & TCB_EMU_VOLATILE && who->agent == a->warp->agent &&
	    who->cluster == a->warp->run->cluster && who->tick != a->warp->run->tick)
		tcb_emu_report(
			a->warp, a->in, a->lane, TCB_PTX_RULE_RACE, TCB_PTX_WARNING,
			"volatile accesses pass byte %llu of shared memory from lane to lane of a warp, and order "
			"nothing since sm_70; put __syncwarp (bar.warp.sync) between them",
			(unsigned long long)a->at);
	return 1;
}

static void against_writer(const struct access *a, const struct who *writer)
{
	if (is_ordered(a->warp, a->place, writer) || are_strong(a, writer))
		return;
	if (!(a->flags & TCB_EMU_WRITE))
		report(a->warp, a->in, a->lane, writer, "reads", a->space, a->at, TCB_PTX_ERROR);
	else if (!a->is_equal)
		report(a->warp, a->in, a->lane, writer, "writes", a->space, a->at, TCB_PTX_ERROR);
	else if (writer->tick != a->warp->run->tick)
		report(a->warp, a->in, a->lane, writer, "writes the same value", a->space, a->at, TCB_PTX_WARNING);
}

/* The first warp of the cluster whose warps read the shared memory of A. */
static uint32_t first_agent(const struct access *a)
{
	struct tcb_emu_block *block = a->warp->block;

	return (uint32_t)(tcb_emu_cluster(block) - a->warp->run->blocks) * block->warp_count;
}

static uint32_t mask_of(uint8_t lane)
{
	return lane < TCB_EMU_LANES ? 1u << lane : UINT32_MAX;
}

/* Reader I of CELL, which it read in this block; whether it is behind A. */
static int against_one(const struct access *a, const struct tcb_emu_shadow *shadow, uint32_t cell, uint32_t i)
{
	const struct tcb_emu_run *run = a->warp->run;
	const size_t at = (size_t)i * shadow->cells + cell;
	const uint32_t tick = shadow->read_tick[at];
	const uint8_t lane = shadow->read_lane[at];
	const uint32_t lanes = (lane & MANY) == MANY ? shadow->read_lanes[at] : mask_of(lane & MANY);
	const struct read *last = &shadow->last_read[cell];
	const struct who reader = {
		tick,
		run->cluster,
		last->reader == i ? last->ins : UINT32_MAX,
		(uint16_t)(i + 1 < shadow->readers ? first_agent(a) + i : run->agents - 2),
		lane & MANY,
		lane & (STRONG | VOLATILE),
	};

	if (are_ordered(a->warp, a->place, &reader, lanes) ||
	    tcb_emu_knows_reads(a->warp, a->place, reader.agent, tick))
		return 1;
	if (tick != run->tick && !are_strong(a, &reader))
		report(a->warp, a->in, a->lane, &reader, "writes what was read", a->space, a->at, TCB_PTX_ERROR);
	return 0;
}

/* Who read CELL and is behind this write is behind all that the write is behind, and need not be known any more. */
static void against_readers(const struct access *a, struct tcb_emu_shadow *shadow, uint32_t cell)
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
static inline void note_read(struct tcb_emu_shadow *shadow, uint32_t cell, uint32_t reader, const struct who *me,
			     uint32_t lanes, uint32_t synced)
{
	uint64_t *by = shadow->read_by + (size_t)cell * shadow->words;
	const size_t at = (size_t)reader * shadow->cells + cell;
	const uint32_t before = shadow->read_tick[at];
	const uint8_t strong = me->is_strong & (STRONG | VOLATILE);
	uint8_t *known = &shadow->read_lane[at], first = *known & MANY;

	if (shadow->last_read[cell].tick < shadow->base)
		memset(by, 0, shadow->words * sizeof *by);
	if (before < shadow->base || before < synced || !(by[reader / 64] >> reader % 64 & 1)) {
		*known = me->lane | strong;
		shadow->read_lanes[at] = lanes;
	} else if (first != me->lane || first == MANY) {
		shadow->read_lanes[at] = lanes | (first == MANY ? shadow->read_lanes[at] : mask_of(first));
		*known = MANY | (*known & strong);
	} else {
		*known &= MANY | strong;
	}
	by[reader / 64] |= (uint64_t)1 << reader % 64;
	shadow->read_tick[at] = me->tick;
	shadow->last_read[cell] = (struct read){ me->ins, reader, me->tick };
}

/* Copies and wgmma read through another proxy: ordinary writes need a fence, by the writer or by who knows of them. */
static void check_proxy(const struct access *a, const struct who *writer)
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
			is_kept = tcb_emu_knows(&block->warps[i], NOBODY, agent, 0, remote->tick);
		if (!is_kept)
			tcb_emu_report(remote->warp, remote->in, -1, TCB_PTX_RULE_RACE, TCB_PTX_ERROR,
				       "touches shared memory of block %u of the cluster, which may have ended: no "
				       "barrier of the cluster behind this access keeps it",
				       block->rank);
	}
}

static void shared_cell(const struct access *a, struct tcb_emu_shadow *shadow, uint32_t cell)
{
	struct tcb_emu_run *run = a->warp->run;
	struct who *writer = &shadow->writer[cell];

	if (shadow->pending[cell] && !(a->flags & TCB_EMU_ASYNC_AGENT))
		tcb_emu_report(a->warp, a->in, a->lane, TCB_PTX_RULE_ASYNC_PENDING, TCB_PTX_ERROR,
			       "%s byte %llu of shared memory while an asynchronous copy to it is in flight; wait for "
			       "it first",
			       a->flags & TCB_EMU_WRITE ? "writes" : "reads", (unsigned long long)a->at);
	if (writer->tick >= shadow->base) {
		if (!(a->flags & TCB_EMU_INIT))
			against_writer(a, writer);
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
		*writer = myself(a);
	} else {
		struct who me = myself(a);

		note_read(shadow, cell, me.agent == run->agents - 2 ? shadow->readers - 1 : me.agent - first_agent(a),
			  &me, mask_of(me.lane), a->warp->synced);
	}
}

/* Whether there is nothing to tell of CELL: its writer is behind LANE, or nobody has written it and WRITES. */
static inline int is_plain(const struct tcb_emu_warp *warp, const struct tcb_emu_shadow *shadow, uint32_t cell,
			   unsigned lane, int writes)
{
	const struct who *writer = &shadow->writer[cell];

	if (shadow->pending[cell] || (writes && shadow->last_read[cell].tick >= shadow->base))
		return 0;
	if (writer->tick < shadow->base)
		return writes;
	if (writer->agent == warp->agent)
		return writer->tick < warp->synced || writer->lane == lane;
	return warp->seen.whole[writer->agent] > writer->tick;
}

/* The usual access: neither strong nor a copy's, of the warp's own block. */
static void ordinary(const struct access *a, struct tcb_emu_shadow *shadow, uint32_t first, uint32_t last)
{
	const int writes = a->flags & TCB_EMU_WRITE;
	const uint32_t reader = a->warp->agent - first_agent(a), lanes = mask_of((uint8_t)a->place);
	const struct who me = myself(a);

	for (uint32_t cell = first; cell <= last; cell++)
		if (!is_plain(a->warp, shadow, cell, a->place, writes))
			shared_cell(a, shadow, cell);
		else if (writes)
			shadow->writer[cell] = me;
		else
			note_read(shadow, cell, reader, &me, lanes, a->warp->synced);
}

void tcb_emu_race_shared(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, struct tcb_emu_block *block,
			 uint32_t offset, unsigned bytes, unsigned flags, const void *value)
{
	struct tcb_emu_shadow *shadow = block->shadow;
	struct access a = { warp, in, lane, lane < 0 ? NOBODY : (unsigned)lane, flags, 0, 1, "shared memory", offset };
	const uint32_t first = offset >> shadow->shift, last = (offset + bytes - 1) >> shadow->shift;

	if (block != warp->block && !(flags & (TCB_EMU_ASYNC_AGENT | TCB_EMU_COMPLETES)))
		note_remote(warp, in, block);
	a.is_equal = value && memcmp(block->shared + offset, value, bytes) == 0;
	note_change(&a);
	if ((flags == TCB_EMU_READ || flags == TCB_EMU_WRITE) && block == warp->block && lane >= 0) {
		ordinary(&a, shadow, first, last);
		return;
	}
	for (uint32_t cell = first; cell <= last; cell++)
		shared_cell(&a, shadow, cell);
}

void tcb_emu_race_shared_by_all(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t lanes,
				uint32_t offset, unsigned bytes)
{
	struct tcb_emu_shadow *shadow = warp->block->shadow;
	const struct access a = { warp, in, -1, MANY, TCB_EMU_READ, 0, 1, "shared memory", offset };
	const uint32_t first = offset >> shadow->shift, last = (offset + bytes - 1) >> shadow->shift;
	const struct who me = myself(&a);
	int is_usual = 1;

	for (uint32_t cell = first; cell <= last; cell++)
		is_usual &= is_plain(warp, shadow, cell, MANY, 0);
	for (uint32_t cell = first; cell <= last && is_usual; cell++)
		note_read(shadow, cell, warp->agent - first_agent(&a), &me, lanes, warp->synced);
	TCB_EMU_EACH(lane, is_usual ? 0 : lanes)
	tcb_emu_race_shared(warp, in, (int)lane, warp->block, offset, bytes, TCB_EMU_READ, NULL);
}

/* --- global memory --- */

int tcb_emu_cells(struct tcb_emu_run *run, struct tcb_emu_region *region)
{
	uint64_t count = region->bytes / run->program->global_grain + 1;

	if (region->cells)
		return 1;
	if (region->permission == TCB_PTX_READ_ONLY || count > cells_max)
		return 0;
	region->cells = calloc(count, sizeof *region->cells);
	return region->cells != NULL;
}

static void note_reader(const struct access *a, struct tcb_emu_cell *cell)
{
	struct who *reader = &cell->reader, me = myself(a);

	if (!reader->tick || is_ordered(a->warp, a->place, reader)) {
		*reader = me;
	} else if (reader->cluster != me.cluster) {
		cell->earlier = *reader;
		*reader = me;
	} else {
		me.lane = reader->agent == me.agent && reader->lane == me.lane ? me.lane : MANY;
		if (reader->agent != me.agent)
			me.agent = MANY_WARPS;
		*reader = me;
	}
}

static void against_reader(const struct access *a, const struct who *reader)
{
	if (reader->tick && reader->tick != a->warp->run->tick && !is_ordered(a->warp, a->place, reader) &&
	    !are_strong(a, reader))
		report(a->warp, a->in, a->lane, reader, "writes what was read", a->space, a->at, TCB_PTX_ERROR);
}

void tcb_emu_race_global(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane,
			 struct tcb_emu_region *region, uint64_t offset, unsigned bytes, unsigned flags,
			 const void *value)
{
	unsigned grain = warp->run->program->global_grain;
	struct access a = { warp, in, lane, lane < 0 ? NOBODY : (unsigned)lane, flags, 0, 0, region->name, offset };

	a.is_equal = value && memcmp(region->host + offset, value, bytes) == 0;
	note_change(&a);
	if (!tcb_emu_cells(warp->run, region))
		return;
	for (uint64_t at = offset / grain; at <= (offset + bytes - 1) / grain; at++) {
		struct tcb_emu_cell *cell = &region->cells[at];

		/* what several clusters read, or reduce, is written by nobody */
		if (warp->run->crew && !tcb_emu_is_claimed(warp->run, region, at))
			continue;
		if (cell->writer.tick)
			against_writer(&a, &cell->writer);
		if (!(flags & TCB_EMU_WRITE)) {
			note_reader(&a, cell);
			continue;
		}
		against_reader(&a, &cell->reader);
		against_reader(&a, &cell->earlier);
		cell->writer = myself(&a);
	}
}

int tcb_emu_race_written(const struct tcb_emu_run *run, const struct tcb_emu_region *region, uint64_t offset,
			 unsigned bytes)
{
	unsigned grain = run->program->global_grain;

	for (uint64_t at = offset / grain; region->cells && at <= (offset + bytes - 1) / grain; at++)
		if ((!run->crew || tcb_emu_is_claimed(run, region, at)) && region->cells[at].writer.tick)
			return 1;
	return 0;
}
