/* SPDX-License-Identifier: MIT
 *
 * The interpreter's loop, and who runs when: warps of a cluster take turns, and
 * the splits of a warp in its turn.  A turn ends when nobody in the warp can go
 * on, or after a while, so that lanes that spin do not starve those they wait
 * for.  Copies in flight arrive between rounds.
 */
#include "base/util.h"
#include "ptx/emulate/emu_async.h"
#include "ptx/emulate/emu_program.h"

#include <stdio.h>
#include <string.h>

enum {
	SPLIT_TURN = 2048,   /* instructions before another split of the warp has its turn */
	WARP_TURN = 16384,   /* ... before another warp has */
	IDLE_ROUNDS = 20000, /* rounds in which everybody only spins before that is a deadlock */
	STALE_ROUNDS = 64    /* without progress before blocks that may wait for later ones get those beside them */
};

enum { WATCH_AFTER = 32 /* turns without progress before a warp's state is looked at */ };

/* The clock of the race detector has 32 bits; a turn adds less than what is left beyond this. */
static const uint32_t tick_max = UINT32_MAX - (1u << 20);

/* --- one split --- */

/* REG, which IN reads, has no value in some lanes of ACTIVE. */
static void report_unwritten(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t reg, uint32_t active)
{
	char name[64];

	if (tcb_emu_wgmma_pending(warp, reg))
		tcb_emu_report(warp, in, -1, TCB_PTX_RULE_ASYNC_PENDING, TCB_PTX_ERROR,
			       "register %s is read while wgmma still works on it; wgmma.wait_group first",
			       tcb_ptx_reg_name(warp->frame->function->function, reg, name, sizeof name));
	else
		tcb_emu_check_written(warp, in, reg, active);
}

/* The same of what IN computes with; a copy of such a value is told where it is used.  Returns the lanes of IN's result
 * that have no value therefore. */
static uint32_t see_unwritten(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t reg, uint32_t active)
{
	if (in->is_copy && !tcb_emu_wgmma_pending(warp, reg))
		return active & ~warp->frame->written[reg];
	report_unwritten(warp, in, reg, active);
	return 0;
}

/* Executes instructions of the loaded split until something stops it; returns how many. */
static uint64_t run_split(struct tcb_emu_warp *warp, uint64_t budget)
{
	struct tcb_ptx_counts *counts = warp->run->counts;
	uint64_t done = 0;

	warp->stop = 0;
	while (done < budget && !warp->stop) {
		const struct tcb_emu_ins *in = warp->pc++;
		uint32_t *written = warp->frame->written, active = warp->mask, missing = 0;
		unsigned first = 0;

		if (!in->ins) { /* join points and the end */
			in->run(warp, in, active);
			continue;
		}
		done++;
		warp->run->tick++;
		if (in->guard != UINT32_MAX) {
			uint32_t holds = *(const uint32_t *)(warp->lanes + in->guard);

			if (active & ~written[in->guard_reg])
				report_unwritten(warp, in, in->guard_reg, active);
			active &= in->guard_negated ? ~holds : holds;
			first = 1; /* the guard is the first source */
		}
		if (warp->frame->unknown)
			active = tcb_emu_known_lanes(warp, in, active);
		counts[in->count].warps++;
		counts[in->count].threads +=
			active == UINT32_MAX ? TCB_EMU_LANES : (uint64_t)__builtin_popcount(active);
		if (!active)
			continue;
		for (unsigned i = first; i < in->source_count; i++)
			if (active & ~written[in->sources[i]])
				missing |= see_unwritten(warp, in, in->sources[i], active);
		in->run(warp, in, active);
		for (unsigned i = 0; i < in->result_count; i++)
			written[in->results[i]] = (written[in->results[i]] | active) & ~missing;
	}
	return done;
}

/* --- one warp --- */

static int next_ready(const struct tcb_emu_warp *warp, uint32_t from)
{
	for (uint32_t i = 0; i < warp->split_count; i++) {
		uint32_t index = (from + i) % warp->split_count;

		if (warp->split[index].state == TCB_EMU_READY)
			return (int)index;
	}
	return -1;
}

static uint64_t mix(uint64_t hash, const void *from, size_t bytes)
{
	return tcb_hash64(from, bytes, hash);
}

/* All that decides what a warp does next, as long as nobody changes memory. */
static uint64_t state_of(const struct tcb_emu_warp *warp)
{
	uint64_t hash = mix(warp->carry, &warp->live, sizeof warp->live);

	for (uint32_t i = 0; i < warp->split_count; i++) {
		const struct tcb_emu_split *split = &warp->split[i];
		const uint64_t place[] = { split->mask, split->pc, split->state, split->members };

		hash = mix(hash, place, sizeof place);
		for (const struct tcb_emu_frame *frame = split->frame; frame; frame = frame->caller)
			hash = mix(hash, frame->lanes, frame->function->lane_bytes);
	}
	return warp->local ? mix(hash, warp->local, (size_t)TCB_EMU_LANES * warp->local_bytes) : hash;
}

/* WARP's turn is over: has it come to a state where it was before, with nothing in between that anybody can see?  Then
 * it repeats itself for ever, or until somebody does something. */
static void watch(struct tcb_emu_warp *warp)
{
	uint64_t state;

	if (warp->watched_progress != warp->run->progress) {
		warp->watched_progress = warp->run->progress;
		warp->watched_turns = 0;
		warp->repeats = 0;
	}
	if (warp->repeats || ++warp->watched_turns < WATCH_AFTER)
		return;
	state = state_of(warp);
	warp->repeats = warp->watched_turns > WATCH_AFTER && state == warp->watched_state;
	if ((warp->watched_turns & (warp->watched_turns - 1)) == 0)
		warp->watched_state = state;
}

uint64_t tcb_emu_step_limit(const struct tcb_emu_run *run)
{
	return run->launch->step_limit ? run->launch->step_limit : 1ull << 40;
}

/* Gives WARP its turn; returns whether any of its lanes could do something. */
static int run_warp(struct tcb_emu_warp *warp)
{
	struct tcb_emu_run *run = warp->run;
	uint64_t left = WARP_TURN;
	uint32_t turn = 0, spun = 0;
	int index;

	warp->spins = 0;
	while (left && !run->fault && (index = next_ready(warp, turn)) >= 0) {
		const uint64_t limit = tcb_emu_step_limit(run);
		uint64_t done;

		if (run->steps >= limit || run->tick > tick_max) {
			tcb_emu_split_load(warp, (uint32_t)index);
			tcb_emu_fault(warp, warp->pc->ins ? warp->pc : NULL, -1, TCB_PTX_RULE_STEP_LIMIT,
				      "after %llu warp instructions it still runs", (unsigned long long)run->steps);
			return 1;
		}
		tcb_emu_split_load(warp, (uint32_t)index);
		warp->spins = 0;
		done = run_split(warp, SPLIT_TURN < limit - run->steps ? SPLIT_TURN : limit - run->steps);
		run->steps += done;
		left -= done < left ? done : left;
		if (warp->current != UINT32_MAX)
			tcb_emu_split_save(warp);
		turn = (uint32_t)index + 1;
		if (warp->spins && ++spun >= warp->split_count)
			break;
	}
	return turn != 0;
}

/* --- the cluster --- */

static int run_deferred(struct tcb_emu_run *run)
{
	struct tcb_emu_deferred *first = run->deferred;

	if (!first)
		return 0;
	run->deferred = first->next;
	run->progress++;
	first->run(first);
	return 1;
}

static struct tcb_emu_warp *warp_of(struct tcb_emu_run *run, uint32_t agent)
{
	uint32_t each = run->blocks[0].warp_count;

	return &run->blocks[agent / each].warps[agent % each];
}

static void shuffle(struct tcb_emu_run *run, uint32_t *order, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	for (uint32_t i = count; run->launch->seed && i > 1; i--) {
		uint32_t other = (uint32_t)tcb_rng_below(run->rng, i), kept = order[i - 1];

		order[i - 1] = order[other];
		order[other] = kept;
	}
}

/* Everybody waits: says for what. */
static void report_deadlock(struct tcb_emu_run *run, int only_spinning)
{
	for (uint32_t agent = 0; agent < run->warps; agent++) {
		struct tcb_emu_warp *warp = warp_of(run, agent);

		for (uint32_t i = 0; i < warp->split_count; i++) {
			struct tcb_emu_split *split = &warp->split[i];
			const struct tcb_emu_ins *in = split->in;
			char text[200] = "in a loop that repeats itself, on what nobody changes any more";

			if (split->state == TCB_EMU_READY)
				in = split->frame->function->code + (split->pc ? split->pc - 1 : 0);
			else
				tcb_emu_barrier_describe(warp, split, text, sizeof text);
			tcb_emu_fault(warp, in && in->ins ? in : NULL, __builtin_ctz(split->mask),
				      TCB_PTX_RULE_DEADLOCK, "%s: lanes 0x%08x wait %s",
				      only_spinning ? "no warp makes progress" : "no warp can go on", split->mask,
				      text);
		}
	}
}

/* Whether somebody else wants RUN to end. */
static int is_stopped(struct tcb_emu_run *run)
{
	if (run->launch->is_stopped && run->launch->is_stopped(run->launch->progress_ctx)) {
		run->fault = 1;
		run->status = tcb_fail(run->err, TCB_E_INTERRUPTED, "interrupted");
	}
	run->fault |= tcb_emu_has_given_up(run);
	return run->fault;
}

/* All wait, perhaps for blocks that have not begun. */
static int asks_for_company(struct tcb_emu_run *run)
{
	if (run->may_widen)
		run->wants_company = run->fault = 1;
	return run->wants_company;
}

void tcb_emu_cluster_run(struct tcb_emu_run *run)
{
	uint32_t count = run->warps, idle = 0, stale = 0;
	uint32_t *order = tcb_arena_array(&run->blocks[0].arena, count, sizeof *order);

	if (!order) {
		tcb_emu_no_memory(run);
		return;
	}
	while (!run->fault) {
		uint64_t progress = run->progress;
		int ran = 0, worked = 0, live = 0, repeats = 1;

		shuffle(run, order, count);
		for (uint32_t i = 0; i < count && !run->fault; i++) {
			struct tcb_emu_warp *warp = warp_of(run, order[i]);

			if (!warp->live)
				continue;
			if (is_stopped(run))
				return;
			live = 1;
			if (run_warp(warp)) {
				ran = 1;
				worked |= !warp->spins;
				watch(warp);
				repeats &= warp->repeats;
			}
		}
		if (!live)
			return;
		if (run->fault)
			break;
		if (run_deferred(run) || run->progress != progress)
			idle = stale = 0;
		else if (ran && (repeats || ++stale > STALE_ROUNDS) && asks_for_company(run))
			break;
		else if (run->has_ended && ran && repeats)
			run->fault = 1;
		else if (ran && repeats)
			report_deadlock(run, 1);
		else if (worked)
			idle = 0;
		else if (!ran || ++idle > IDLE_ROUNDS) {
			int gave_up = 0;

			if (run->has_ended) {
				run->fault = 1;
				break;
			}
			for (uint32_t b = 0; b < run->block_count && !ran; b++)
				gave_up |= tcb_emu_sync_give_up(&run->blocks[b]);
			if (!gave_up)
				report_deadlock(run, ran);
		}
	}
}

/* --- beginning and end --- */

static int warp_start(struct tcb_emu_block *block, uint32_t index, const struct tcb_emu_function *entry)
{
	struct tcb_emu_warp *warp = &block->warps[index];
	struct tcb_emu_run *run = block->run;
	const uint32_t *size = run->launch->block;
	uint32_t threads = size[0] * size[1] * size[2];
	struct tcb_emu_frame *frame;

	warp->run = run;
	warp->block = block;
	warp->index = index;
	warp->agent = (uint32_t)(block - run->blocks) * block->warp_count + index;
	warp->pool = run->program->pool;
	for (uint32_t lane = 0; lane < TCB_EMU_LANES; lane++) {
		uint32_t thread = index * TCB_EMU_LANES + lane;

		warp->tid[0][lane] = thread % size[0];
		warp->tid[1][lane] = thread / size[0] % size[1];
		warp->tid[2][lane] = thread / size[0] / size[1];
		if (thread < threads)
			warp->exists |= 1u << lane;
	}
	warp->live = warp->exists;
	warp->synced = run->tick;
	if (!tcb_emu_clock_init(run, &block->arena, &warp->seen) ||
	    !tcb_emu_clock_init(run, &block->arena, &warp->fenced[TCB_EMU_ALL_BLOCKS]) ||
	    !tcb_emu_clock_init(run, &block->arena, &warp->fenced[TCB_EMU_OWN_BLOCK]) ||
	    !tcb_emu_clock_init(run, &block->arena, &warp->heard))
		return 0;
	for (uint32_t i = 0; i + 1 < run->agents; i++)
		warp->seen.whole[i] = run->tick;
	frame = tcb_emu_frame_new(warp, entry, NULL, warp->live);
	if (!frame)
		return 0;
	tcb_emu_split_add(warp, warp->live, 0, frame, NULL);
	return 1;
}

int tcb_emu_block_start(struct tcb_emu_run *run, struct tcb_emu_block *block, uint32_t rank, const uint32_t *ctaid)
{
	const uint32_t *size = run->launch->block;
	uint32_t threads = size[0] * size[1] * size[2];

	memset(block, 0, sizeof *block);
	block->run = run;
	block->rank = rank;
	memcpy(block->ctaid, ctaid, sizeof block->ctaid);
	block->warp_count = (threads + TCB_EMU_LANES - 1) / TCB_EMU_LANES;
	block->shared_bytes = run->program->shared_static;
	if (run->launch->dynamic_shared)
		block->shared_bytes = run->program->dynamic_offset + run->launch->dynamic_shared;
	block->shared = tcb_arena_alloc(&block->arena, block->shared_bytes);
	block->warps = tcb_arena_array(&block->arena, block->warp_count, sizeof *block->warps);
	block->barriers = tcb_emu_barriers_new(block);
	if (!block->shared || !block->warps || !block->barriers || !tcb_emu_shadow_start(block) ||
	    !tcb_emu_clock_init(run, &block->arena, &block->scratch[0]) ||
	    !tcb_emu_clock_init(run, &block->arena, &block->scratch[1]))
		return 0;
	/* what nobody wrote shall not look like zeros */
	memset(block->shared, run->launch->shared_fill ? run->launch->shared_fill : 0xa5, block->shared_bytes);
	for (uint32_t i = 0; i < block->warp_count; i++)
		if (!warp_start(block, i, run->program->functions[0]))
			return 0;
	return 1;
}

void tcb_emu_cluster_end(struct tcb_emu_run *run)
{
	while (!run->fault && run_deferred(run))
		continue;
	run->deferred = NULL;
	for (uint32_t i = 0; i < run->block_count && !run->fault; i++) {
		tcb_emu_wgmma_end(&run->blocks[i]);
		tcb_emu_tmem_end(&run->blocks[i]);
		tcb_emu_product05_end(&run->blocks[i]);
		tcb_emu_registers_end(&run->blocks[i]);
		tcb_emu_remote_end(&run->blocks[i]);
	}
	for (uint32_t i = 0; i < run->block_count; i++) {
		tcb_emu_shadow_end(&run->blocks[i]);
		tcb_arena_fini(&run->blocks[i].arena);
	}
}
