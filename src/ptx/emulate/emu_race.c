/* SPDX-License-Identifier: MIT
 *
 * Races: what orders accesses, what is told, and global memory.
 *
 * For each grain of memory (as small as the program's smallest access) there is
 * a record of who wrote it last and who read it when.  An access races with an
 * earlier one of another thread when nothing orders them: a barrier, a sync of
 * the warp, or what passes through an mbarrier, an atomic or a flag (vector
 * clocks by warp, as in FastTrack, Flanagan and Freund 2009; within a warp by
 * lane).  Of shared memory all readers are known (emu_race_shared.c), of global
 * memory the last.
 */
#include "ptx/emulate/emu_race.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Cells of a region that are still worth their memory. */
static const uint64_t cells_max = 1u << 26;

struct tcb_emu_cell {
	struct tcb_emu_who writer, reader; /* of the running cluster, else the last one's */
	struct tcb_emu_who earlier;        /* a reader of an earlier cluster */
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

void tcb_emu_races_end(struct tcb_emu_run *run)
{
	for (uint32_t i = 0; i < run->memory->region_count; i++) {
		free(run->memory->regions[i].cells);
		free(run->memory->regions[i].sides);
		run->memory->regions[i].cells = NULL;
		run->memory->regions[i].sides = NULL;
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

int tcb_emu_are_ordered(const struct tcb_emu_warp *warp, unsigned lane, const struct tcb_emu_who *who, uint32_t lanes)
{
	if (who->cluster != warp->run->cluster)
		return tcb_emu_knows(warp, lane, warp->run->agents - 1, 0, who->tick);
	if (who->agent == TCB_EMU_MANY_WARPS)
		return any_ordered(warp, lane, who->tick);
	return tcb_emu_knows(warp, lane, who->agent, lanes, who->tick);
}

/* Which lanes of another warp read global memory is not written down when there are many: one is enough. */
static int is_ordered(const struct tcb_emu_warp *warp, unsigned lane, const struct tcb_emu_who *who)
{
	const int are_many = who->lane == TCB_EMU_MANY && who->agent != warp->agent;

	return tcb_emu_are_ordered(warp, lane, who,
				   who->lane < TCB_EMU_LANES ? 1u << who->lane
				   : are_many                ? 0
							     : UINT32_MAX);
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
static const char *advice(const struct tcb_emu_warp *warp, unsigned lane, const struct tcb_emu_who *who)
{
	if (who->cluster != warp->run->cluster || who->agent >= warp->run->warps || who->agent == warp->agent)
		return "";
	if (tcb_emu_knows(warp, lane, who->agent, 0, who->tick))
		return "; of that warp another lane's accesses are ordered: an arrive or release is of its own thread, "
		       "bar.warp.sync before it makes it the warp's";
	if (tcb_emu_knows(warp, TCB_EMU_NOBODY, who->agent, 0, who->tick))
		return "; another lane of this warp has waited for it: bar.warp.sync behind that wait";
	return "";
}

void tcb_emu_race_report(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane,
			 const struct tcb_emu_who *who, const char *what, const char *space, uint64_t place,
			 enum tcb_ptx_severity severity)
{
	const struct tcb_ptx_ins *other = ins_of(warp->run->program, who->ins);
	const uint32_t each = warp->block->warp_count;
	char whom[64] = "", where[32] = "";

	if (who->cluster != warp->run->cluster)
		snprintf(whom, sizeof whom, "another block");
	else if (who->agent == TCB_EMU_MANY_WARPS)
		snprintf(whom, sizeof whom, "other warps");
	else if (who->lane == TCB_EMU_MANY && who->agent == warp->agent)
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
		       advice(warp, lane < 0 ? TCB_EMU_NOBODY : (unsigned)lane, who));
}

/* --- an access --- */

/* Strong accesses race with nothing but weak ones, and those of a block's scope with those of other blocks.  Yet code
 * from before sm_70 has volatile accesses between the lanes of a warp where a sync belongs. */
int tcb_emu_are_strong(const struct tcb_emu_touch *a, const struct tcb_emu_who *who)
{
	if (!who->is_strong || !(a->flags & (TCB_EMU_ATOMIC | TCB_EMU_STRONG)) ||
	    (who->cluster != a->warp->run->cluster && (who->is_strong & TCB_EMU_OF_BLOCK || a->flags & TCB_EMU_BLOCK)))
		return 0;
	if (a->is_shared && who->is_strong & TCB_EMU_WAS_VOLATILE && a->flags & TCB_EMU_VOLATILE &&
	    who->agent == a->warp->agent && who->cluster == a->warp->run->cluster && who->tick != a->warp->run->tick)
		tcb_emu_report(
			a->warp, a->in, a->lane, TCB_PTX_RULE_RACE, TCB_PTX_WARNING,
			"volatile accesses pass byte %llu of shared memory from lane to lane of a warp, and order "
			"nothing since sm_70; put __syncwarp (bar.warp.sync) between them",
			(unsigned long long)a->at);
	return 1;
}

void tcb_emu_against_writer(const struct tcb_emu_touch *a, const struct tcb_emu_who *writer)
{
	if (is_ordered(a->warp, a->place, writer) || tcb_emu_are_strong(a, writer))
		return;
	if (!(a->flags & TCB_EMU_WRITE))
		tcb_emu_race_report(a->warp, a->in, a->lane, writer, "reads", a->space, a->at, TCB_PTX_ERROR);
	else if (!a->is_equal)
		tcb_emu_race_report(a->warp, a->in, a->lane, writer, "writes", a->space, a->at, TCB_PTX_ERROR);
	else if (writer->tick != a->warp->run->tick)
		tcb_emu_race_report(a->warp, a->in, a->lane, writer, "writes the same value", a->space, a->at,
				    TCB_PTX_WARNING);
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

static void note_reader(const struct tcb_emu_touch *a, struct tcb_emu_cell *cell)
{
	struct tcb_emu_who *reader = &cell->reader, me = tcb_emu_myself(a);

	if (!reader->tick || is_ordered(a->warp, a->place, reader)) {
		*reader = me;
	} else if (reader->cluster != me.cluster) {
		cell->earlier = *reader;
		*reader = me;
	} else {
		me.lane = reader->agent == me.agent && reader->lane == me.lane ? me.lane : TCB_EMU_MANY;
		if (reader->agent != me.agent)
			me.agent = TCB_EMU_MANY_WARPS;
		*reader = me;
	}
}

static void against_reader(const struct tcb_emu_touch *a, const struct tcb_emu_who *reader)
{
	if (reader->tick && reader->tick != a->warp->run->tick && !is_ordered(a->warp, a->place, reader) &&
	    !tcb_emu_are_strong(a, reader))
		tcb_emu_race_report(a->warp, a->in, a->lane, reader, "writes what was read", a->space, a->at,
				    TCB_PTX_ERROR);
}

void tcb_emu_race_global(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane,
			 struct tcb_emu_region *region, uint64_t offset, unsigned bytes, unsigned flags,
			 const void *value)
{
	unsigned grain = warp->run->program->global_grain;
	struct tcb_emu_touch a = { warp, in,           lane,  lane < 0 ? TCB_EMU_NOBODY : (unsigned)lane, flags, 0,
				   0,    region->name, offset };

	a.is_equal = value && memcmp(region->host + offset, value, bytes) == 0;
	tcb_emu_note_change(&a);
	if (!tcb_emu_cells(warp->run, region))
		return;
	for (uint64_t at = offset / grain; at <= (offset + bytes - 1) / grain; at++) {
		struct tcb_emu_cell *cell = &region->cells[at];

		/* what several clusters read, or reduce, is written by nobody */
		if (warp->run->crew && !tcb_emu_is_claimed(warp->run, region, at))
			continue;
		if (cell->writer.tick)
			tcb_emu_against_writer(&a, &cell->writer);
		if (!(flags & TCB_EMU_WRITE)) {
			note_reader(&a, cell);
			continue;
		}
		against_reader(&a, &cell->reader);
		against_reader(&a, &cell->earlier);
		cell->writer = tcb_emu_myself(&a);
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
