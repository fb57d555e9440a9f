/* SPDX-License-Identifier: MIT
 *
 * Barriers of a block (bar, barrier) and of a cluster.
 *
 * A barrier without a count waits for all threads that have not exited; one
 * with a count for that many, a warp counting whole once all its live lanes
 * have come.  Aligned barriers want all live lanes of a warp together; that is
 * reported, and the lanes count as they come, as the hardware since Volta does.
 */
#include "ptx/emulate/emu_program.h"

#include <stdio.h>
#include <string.h>

struct tcb_emu_barrier {
	uint32_t *arrived;          /* lanes, by warp of the block (by agent for the last one) */
	struct tcb_emu_clock order; /* what those who came know: released to those who wait */
	struct tcb_emu_clock done;  /* cluster: of the phase before */
	uint32_t *owing;            /* cluster: lanes that arrived and have not waited, by warp */
	uint32_t warps;
	uint32_t count;                 /* threads; 0: all */
	uint32_t past_agent, past_tick; /* a warp that waited in the phase before, and its end; 0: none */
	int in_use;
	uint32_t votes; /* of bar.red */
	int all, any;
};

enum { CLUSTER_BARRIER = TCB_EMU_BARRIERS }; /* of the cluster's first block */
enum { SYNC, ARRIVE, RED };

struct tcb_emu_barrier *tcb_emu_barriers_new(struct tcb_emu_block *block)
{
	struct tcb_emu_barrier *all = tcb_arena_array(&block->arena, TCB_EMU_BARRIERS + 1, sizeof *all);

	for (unsigned i = 0; all && i <= TCB_EMU_BARRIERS; i++) {
		uint32_t *space;

		all[i].warps = i == CLUSTER_BARRIER ? block->run->warps : block->warp_count;
		space = tcb_arena_array(&block->arena, 2 * (size_t)all[i].warps, sizeof *space);
		if (!space || !tcb_emu_clock_init(block->run, &block->arena, &all[i].order) ||
		    !tcb_emu_clock_init(block->run, &block->arena, &all[i].done))
			return NULL;
		all[i].arrived = space;
		all[i].owing = space + all[i].warps;
		all[i].all = 1;
		if (i == CLUSTER_BARRIER && block->rank)
			break;
	}
	return all;
}

/* The running split's lanes ACTIVE wait in STATE; those that do not take part go on. */
static struct tcb_emu_split *park(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active,
				  enum tcb_emu_state state)
{
	struct tcb_emu_split *split = &warp->split[warp->current];
	uint32_t rest = warp->mask & ~active;

	warp->mask = active;
	tcb_emu_split_save(warp);
	split->state = (uint8_t)state;
	split->in = in;
	if (rest)
		tcb_emu_split_add(warp, rest, split->pc, split->frame, split->join);
	warp->current = UINT32_MAX;
	warp->stop = 1;
	return split;
}

/* --- barriers of a block --- */

static int is_complete(const struct tcb_emu_block *block, const struct tcb_emu_barrier *barrier)
{
	uint32_t threads = 0;

	for (uint32_t i = 0; i < block->warp_count; i++) {
		uint32_t arrived = barrier->arrived[i], missing = block->warps[i].live & ~arrived;

		if (!barrier->count && missing)
			return 0;
		if (arrived)
			threads += missing ? (uint32_t)__builtin_popcount(arrived) : TCB_EMU_LANES;
	}
	return threads >= barrier->count;
}

/* The lanes of WARP that wait at barrier ID. */
static uint32_t waiting(const struct tcb_emu_warp *warp, unsigned id)
{
	uint32_t lanes = 0;

	for (uint32_t k = 0; k < warp->split_count; k++)
		if (warp->split[k].state == TCB_EMU_AT_BARRIER && warp->split[k].barrier == id)
			lanes |= warp->split[k].mask;
	return lanes;
}

static void let_go(struct tcb_emu_warp *warp, struct tcb_emu_split *split, const struct tcb_emu_barrier *barrier)
{
	const struct tcb_emu_ins *in = split->in;
	uint8_t *kept = warp->lanes;

	split->state = TCB_EMU_READY;
	if (in->d >> 8 != RED)
		return;
	warp->lanes = split->frame->lanes;
	TCB_EMU_EACH(lane, split->mask)
	tcb_emu_set(warp, &in->op[0], lane,
		    in->ins->mod[TCB_PTX_SLOT_ATOMIC] == TCB_PTX_AND  ? (uint64_t)barrier->all
		    : in->ins->mod[TCB_PTX_SLOT_ATOMIC] == TCB_PTX_OR ? (uint64_t)barrier->any
								      : barrier->votes);
	warp->lanes = kept;
}

static void complete(struct tcb_emu_block *block, unsigned id)
{
	struct tcb_emu_barrier *barrier = &block->barriers[id];
	uint32_t now = ++block->run->tick;

	/* Who waits here whole has done nothing since: all that it did is before now. */
	for (uint32_t i = 0; i < block->warp_count; i++) {
		const struct tcb_emu_warp *warp = &block->warps[i];

		if (!warp->live || waiting(warp, id) != warp->live)
			continue;
		tcb_emu_clock_reach(block->run, &barrier->order, warp->agent, now);
		barrier->past_agent = warp->agent;
		barrier->past_tick = now;
	}
	for (uint32_t i = 0; i < block->warp_count; i++) {
		struct tcb_emu_warp *warp = &block->warps[i];
		const uint32_t lanes = waiting(warp, id);

		if (!lanes)
			continue;
		for (uint32_t k = 0; k < warp->split_count; k++)
			if (warp->split[k].state == TCB_EMU_AT_BARRIER && warp->split[k].barrier == id)
				let_go(warp, &warp->split[k], barrier);
		if (lanes == warp->live)
			tcb_emu_sync_lanes(warp, lanes);
		tcb_emu_acquire(warp, lanes, &barrier->order);
	}
	memset(barrier->arrived, 0, barrier->warps * sizeof *barrier->arrived);
	tcb_emu_clock_clear(block->run, &barrier->order);
	barrier->in_use = barrier->any = 0;
	barrier->votes = 0;
	barrier->all = 1;
	tcb_emu_progress(block->run);
}

/* The value of an operand that must be the same in all lanes. */
static uint32_t uniform(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, unsigned index, uint32_t active)
{
	const uint32_t *value = tcb_emu_get32(warp, &in->op[index]);
	uint32_t first = value[__builtin_ctz(active)];

	TCB_EMU_EACH(lane, active)
	if (value[lane] != first) {
		tcb_emu_report(warp, in, (int)lane, TCB_PTX_RULE_BARRIER_DIVERGENT, TCB_PTX_ERROR,
			       "lanes of a warp name different barriers or counts");
		break;
	}
	return first;
}

static void check_arrival(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, struct tcb_emu_barrier *barrier,
			  uint32_t active, uint32_t count)
{
	if (in->d & 1 && active != warp->live)
		tcb_emu_report(
			warp, in, __builtin_ctz(active), TCB_PTX_RULE_BARRIER_DIVERGENT, TCB_PTX_ERROR,
			"lanes 0x%08x of the live lanes 0x%08x reach an aligned barrier; all must reach it together",
			active, warp->live);
	if (barrier->in_use && barrier->count != count)
		tcb_emu_report(warp, in, __builtin_ctz(active), TCB_PTX_RULE_BARRIER_DIVERGENT, TCB_PTX_ERROR,
			       "one barrier is waited for with counts %u and %u", barrier->count, count);
	if (count && warp->agent != barrier->past_agent && barrier->past_tick &&
	    !tcb_emu_knows(warp, (unsigned)__builtin_ctz(active), barrier->past_agent, 0, barrier->past_tick - 1))
		tcb_emu_report(warp, in, __builtin_ctz(active), TCB_PTX_RULE_BARRIER_DIVERGENT, TCB_PTX_ERROR,
			       "nothing keeps this arrival from being counted with those before, for which warp %u "
			       "waited: give them barriers of different numbers",
			       barrier->past_agent);
	if (barrier->arrived[warp->index] & active)
		tcb_emu_report(warp, in, __builtin_ctz(active), TCB_PTX_RULE_BARRIER_DIVERGENT, TCB_PTX_ERROR,
			       "lanes 0x%08x arrive again before the barrier is complete",
			       barrier->arrived[warp->index] & active);
}

static void run_barrier(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct tcb_emu_block *block = warp->block;
	uint32_t id = uniform(warp, in, in->a, active), count = in->b ? uniform(warp, in, in->b, active) : 0;
	struct tcb_emu_barrier *barrier;

	if (id >= TCB_EMU_BARRIERS || count % TCB_EMU_LANES || (in->b && !count)) {
		tcb_emu_fault(warp, in, __builtin_ctz(active), TCB_PTX_RULE_OUT_OF_BOUNDS,
			      "barrier %u with %u threads; there are %d, and counts are multiples of 32", id, count,
			      TCB_EMU_BARRIERS);
		return;
	}
	barrier = &block->barriers[id];
	check_arrival(warp, in, barrier, active, count);
	barrier->in_use = 1;
	barrier->count = count;
	barrier->arrived[warp->index] |= active;
	tcb_emu_release(warp, active, &barrier->order);
	if (in->d >> 8 == RED) {
		uint32_t votes = tcb_emu_pred(warp, &in->op[in->c]) & active;

		barrier->votes += (uint32_t)__builtin_popcount(votes);
		barrier->any |= votes != 0;
		barrier->all &= votes == active;
	}
	if (in->d >> 8 != ARRIVE)
		park(warp, in, active, TCB_EMU_AT_BARRIER)->barrier = (uint8_t)id;
	if (is_complete(block, barrier))
		complete(block, id);
}

/* --- the barrier of a cluster --- */

static struct tcb_emu_barrier *cluster_barrier(struct tcb_emu_block *block)
{
	return &tcb_emu_cluster(block)->barriers[CLUSTER_BARRIER];
}

static int is_cluster_complete(struct tcb_emu_block *block)
{
	const struct tcb_emu_barrier *barrier = cluster_barrier(block);
	const struct tcb_emu_block *first = tcb_emu_cluster(block);

	for (uint32_t b = 0; b < block->run->cluster_blocks; b++)
		for (uint32_t i = 0; i < first[b].warp_count; i++)
			if (first[b].warps[i].live & ~barrier->arrived[first[b].warps[i].agent])
				return 0;
	return 1;
}

static void complete_cluster(struct tcb_emu_block *block)
{
	struct tcb_emu_barrier *barrier = cluster_barrier(block);
	struct tcb_emu_block *first = tcb_emu_cluster(block);
	struct tcb_emu_run *run = block->run;
	const struct tcb_emu_clock done = barrier->order;

	tcb_emu_clock_clear(run, &barrier->done);
	barrier->order = barrier->done;
	barrier->done = done;
	memset(barrier->arrived, 0, barrier->warps * sizeof *barrier->arrived);
	barrier->in_use = 0;
	for (uint32_t b = 0; b < run->cluster_blocks; b++)
		for (uint32_t i = 0; i < first[b].warp_count; i++) {
			struct tcb_emu_warp *warp = &first[b].warps[i];
			uint32_t lanes = 0;

			for (uint32_t k = 0; k < warp->split_count; k++)
				if (warp->split[k].state == TCB_EMU_AT_CLUSTER) {
					warp->split[k].state = TCB_EMU_READY;
					lanes |= warp->split[k].mask;
				}
			if (lanes)
				tcb_emu_acquire(warp, lanes, &barrier->done);
		}
	tcb_emu_progress(run);
}

static void check_aligned(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	if (in->ins->mod[TCB_PTX_SLOT_ALIGNED] && active != warp->live)
		tcb_emu_report(warp, in, __builtin_ctz(active), TCB_PTX_RULE_BARRIER_DIVERGENT, TCB_PTX_ERROR,
			       "lanes 0x%08x of the live lanes 0x%08x reach an aligned barrier of the cluster", active,
			       warp->live);
}

static void run_cluster_arrive(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct tcb_emu_barrier *barrier = cluster_barrier(warp->block);

	check_aligned(warp, in, active);
	if (barrier->owing[warp->agent] & active)
		tcb_emu_report(warp, in, __builtin_ctz(active), TCB_PTX_RULE_BARRIER_DIVERGENT, TCB_PTX_ERROR,
			       "barrier.cluster.arrive twice without a wait between them");
	barrier->in_use = 1;
	barrier->arrived[warp->agent] |= active;
	barrier->owing[warp->agent] |= active;
	if (in->ins->mod[TCB_PTX_SLOT_ORDER] != TCB_PTX_RELAXED)
		tcb_emu_release(warp, active, &barrier->order);
	if (is_cluster_complete(warp->block))
		complete_cluster(warp->block);
}

static void run_cluster_wait(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct tcb_emu_barrier *barrier = cluster_barrier(warp->block);

	check_aligned(warp, in, active);
	if (active & ~barrier->owing[warp->agent])
		tcb_emu_report(warp, in, __builtin_ctz(active), TCB_PTX_RULE_BARRIER_DIVERGENT, TCB_PTX_ERROR,
			       "barrier.cluster.wait without an arrive before it");
	barrier->owing[warp->agent] &= ~active;
	if (barrier->arrived[warp->agent] & active)
		park(warp, in, active, TCB_EMU_AT_CLUSTER);
	else
		tcb_emu_acquire(warp, active, &barrier->done);
}

/* --- for the scheduler --- */

void tcb_emu_barrier_recheck(struct tcb_emu_block *block)
{
	for (unsigned id = 0; id < TCB_EMU_BARRIERS; id++)
		if (block->barriers[id].in_use && is_complete(block, &block->barriers[id]))
			complete(block, id);
	if (cluster_barrier(block)->in_use && is_cluster_complete(block))
		complete_cluster(block);
}

void tcb_emu_barrier_describe(const struct tcb_emu_warp *warp, const struct tcb_emu_split *split, char *out,
			      size_t size)
{
	const struct tcb_emu_barrier *barrier = &warp->block->barriers[split->barrier];
	uint32_t come = 0;

	if (split->state == TCB_EMU_AT_CLUSTER) {
		snprintf(out, size, "at the cluster's barrier");
		return;
	}
	if (split->state == TCB_EMU_AT_WARP_SYNC) {
		snprintf(out, size, "for the lanes 0x%08x of their warp", split->members & ~split->mask);
		return;
	}
	for (uint32_t i = 0; i < warp->block->warp_count; i++)
		come += barrier->arrived[i] != 0;
	snprintf(out, size, "at barrier %u, to which %u of %u warps have come%s", split->barrier, come,
		 warp->block->warp_count, barrier->count ? "; it has a count" : "");
}

/* --- binding --- */

enum tcb_status tcb_emu_bind_barrier(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	unsigned kind = SYNC, first = 0, aligned = 1, count;

	(void)decoder;
	in->run = run_barrier;
	switch ((enum tcb_ptx_op)in->ins->op) {
	case TCB_PTX_OP_BARRIER_CLUSTER_ARRIVE:
		in->run = run_cluster_arrive;
		return TCB_OK;
	case TCB_PTX_OP_BARRIER_CLUSTER_WAIT:
		in->run = run_cluster_wait;
		return TCB_OK;
	case TCB_PTX_OP_BARRIER_SYNC:
	case TCB_PTX_OP_BARRIER_ARRIVE:
	case TCB_PTX_OP_BARRIER_RED:
		aligned = in->ins->mod[TCB_PTX_SLOT_ALIGNED] != 0;
		break;
	default:
		break;
	}
	if (in->ins->op == TCB_PTX_OP_BAR_ARRIVE || in->ins->op == TCB_PTX_OP_BARRIER_ARRIVE)
		kind = ARRIVE;
	if (in->ins->op == TCB_PTX_OP_BAR_RED || in->ins->op == TCB_PTX_OP_BARRIER_RED) {
		kind = RED;
		first = 1;
		in->c = in->op_count - 1u;
		if (in->op[in->c].bits != 1)
			return tcb_fail(err, TCB_E_UNSUPPORTED, "the vote is not a predicate");
	}
	count = in->op_count - first - (kind == RED);
	in->a = first;
	in->b = count > 1 ? first + 1 : 0;
	in->d = aligned | kind << 8;
	for (unsigned i = first; i < first + count; i++)
		if (in->op[i].bits != 32)
			return tcb_fail(err, TCB_E_UNSUPPORTED, "a barrier or count of %u bits", in->op[i].bits);
	return TCB_OK;
}
