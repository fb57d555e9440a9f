/* SPDX-License-Identifier: MIT
 *
 * In: the turns that warps take and the ends of blocks.  Out: turns and blocks
 * that are left out, and their time.
 *
 * The first warp that has gone round a loop a few times leads: every few of its
 * turns the time and all warps' turns are marked down.  Three marks in a row
 * make two stretches that can be compared.  What is left out is a whole number
 * of both stretches together, by all warps; how many turns there are still is
 * found by following a warp of each block to the end of its loop.
 */
#include "ptx/model/simulate_sample.h"

#include <math.h>
#include <string.h>

enum {
	WARM = 4,  /* turns that a loop must have made to be watched */
	EVERY = 4, /* turns between marks at first; where they are not steady twice as many, and so on */
	EVERY_MOST = 128,
	UNSTEADY_MOST = 2, /* marks that are not steady before there are fewer of them */
	MARGIN = 4,        /* turns that are left to be simulated */
	RING = 3,          /* samples, of 8 turns or more, after which rings of 2, 3, 4, 6 stages are where they were */
	LOOKED_AT = 16,    /* blocks whose length is found out */
	TURNS_MOST = 1 << 24,
	FOLLOWED_MOST = 20000000
};
/* How far two stretches may differ: the mean of both is off by no more than half of it.  Warps of several blocks that
 * take turns make patterns whose length is not a power of two, so that longer stretches may differ more. */
static const double STEADY = 0.01, STEADY_LONG = 0.05, STEADY_BLOCKS = 0.02;
/* How far blocks that are left out may be longer or shorter than those seen, in their mean. */
static const double LENGTHS_APART = 0.02;

static double larger(double a, double b)
{
	return a > b ? a : b;
}

void tcb_sim_sampling_init(struct tcb_sim_sampling *sampling)
{
	*sampling = (struct tcb_sim_sampling){ .leader = -1, .every = EVERY };
}

static const struct tcb_sim_program *program_of(const struct tcb_simulation *s, const struct tcb_sim_warp *warp)
{
	return s->running[s->block[warp->block].launch].program;
}

/* --- marks --- */

static void set_mark(const struct tcb_simulation *s, double now, struct tcb_sim_mark *out)
{
	out->time = now;
	out->backlog[0] = larger(0, s->memory.free - now);
	out->backlog[1] = larger(0, s->cache.free - now);
	out->done = *s->out;
	for (unsigned i = 0; i < TCB_SIM_WARPS_MAX; i++)
		out->turns[i] = s->warp[i].turns;
}

/* Did both stretches take the same time within TOLERANCE, and did no queue grow by more than GROWING of it or shrink by
 * more than SHRINKING? */
static int is_steady(const struct tcb_sim_mark mark[3], double tolerance, double growing, double shrinking)
{
	const double first = mark[1].time - mark[0].time, second = mark[2].time - mark[1].time;
	if (!(fabs(first - second) <= tolerance * larger(first, second)))
		return 0;
	for (unsigned i = 0; i < 2; i++) {
		const double growth = (mark[2].backlog[i] - mark[0].backlog[i]) / (first + second);
		if (growth > growing || growth < -shrinking)
			return 0;
	}
	return 1;
}

/* Adds TIMES what was done between FROM and TO. */
static void add_done(struct tcb_sim_result *out, const struct tcb_sim_result *from, const struct tcb_sim_result *to,
		     double times)
{
#define ADD(member) out->member += times * (to->member - from->member)
	ADD(issue_cycles);
	ADD(shared_cycles);
	ADD(memory_cycles);
#undef ADD
#define ADD(member) out->counts.member += (uint64_t)(times * (double)(to->counts.member - from->counts.member) + 0.5)
	ADD(instructions);
	ADD(wavefronts);
	ADD(wavefronts_ideal);
	ADD(sectors);
	ADD(sectors_ideal);
	ADD(memory_bytes);
#undef ADD
}

/* --- following a warp --- */

/* Computes LANE's values from PC on until it is there again WANTED turns of LOOP later, or to the end where LOOP is 0.
 * Returns the turns that it made; less than WANTED where the loop is left before.  OPS_OUT: instructions on the way. */
static uint32_t follow(struct tcb_simulation *s, const struct tcb_sim_program *program, struct tcb_sim_lane *lane,
		       uint32_t pc, unsigned loop, uint32_t wanted, uint64_t *ops_out)
{
	uint32_t turns = 0, at = pc;
	*ops_out = 0;
	while (at < program->op_count && s->sampling.followed < FOLLOWED_MOST) {
		const uint32_t next = program->next_followed[at];
		if (turns == wanted && at <= pc && pc <= next)
			return turns;
		if (next >= program->op_count)
			return turns;
		const struct tcb_sim_op *op = &program->ops[next];
		const int is_branch = op->kind == TCB_SIM_BRANCH;
		const int runs = tcb_sim_guarded(program, op, lane, !is_branch);
		s->sampling.followed++;
		*ops_out += next + 1 - at;
		at = next + 1;
		if (op->kind == TCB_SIM_EXIT && runs)
			return turns;
		if (op->is_valued && runs)
			tcb_sim_compute(program, op, lane);
		if (!is_branch)
			continue;
		if (runs) {
			turns += loop && op->loop == loop;
			at = op->target;
		} else if (loop && op->loop == loop) {
			return turns;
		}
		if (turns > wanted)
			return wanted;
	}
	return 0;
}

/* WARP's values, or a copy of all of them that can be thrown away. */
static struct tcb_sim_lane copy_lane(struct tcb_simulation *s, const struct tcb_sim_warp *warp)
{
	const size_t at = (size_t)(warp - s->warp) * s->setup->value_most;
	struct tcb_sim_lane copy = warp->lane;
	copy.value = s->value_copy + at;
	copy.known = s->known_copy + at;
	memcpy(copy.value, warp->lane.value, s->setup->value_most * sizeof *copy.value);
	memcpy(copy.known, warp->lane.known, s->setup->value_most);
	return copy;
}

static uint32_t turns_left(struct tcb_simulation *s, const struct tcb_sim_warp *warp)
{
	struct tcb_sim_lane lane = copy_lane(s, warp);
	uint64_t ops;
	return follow(s, program_of(s, warp), &lane, warp->pc, warp->watched, TURNS_MOST, &ops);
}

/* --- leaving out turns --- */

/* A warp that does nothing until a launch before its own has ended. */
static int is_waiting(const struct tcb_simulation *s, const struct tcb_sim_warp *warp)
{
	const struct tcb_sim_program *program = program_of(s, warp);
	return warp->pc < program->op_count && program->ops[warp->pc].kind == TCB_SIM_DEPENDENT_WAIT;
}

/* The turns that the warps of each block make in a sample; 0 where they differ by more than when they are looked at, or
 * a warp is in no loop. */
static int turns_of_blocks(const struct tcb_simulation *s, uint32_t out[TCB_SIM_BLOCKS_MAX])
{
	const struct tcb_sim_sampling *sampling = &s->sampling;
	uint32_t least[TCB_SIM_BLOCKS_MAX], most[TCB_SIM_BLOCKS_MAX] = { 0 };
	memset(least, 0xff, sizeof least);
	for (unsigned i = 0; i < TCB_SIM_WARPS_MAX; i++) {
		const struct tcb_sim_warp *warp = &s->warp[i];
		if (!warp->is_there || (!warp->watched && is_waiting(s, warp)))
			continue;
		const uint32_t turns = sampling->mark[2].turns[i] - sampling->mark[0].turns[i];
		if (!warp->watched || !turns)
			return 0;
		least[warp->block] = turns < least[warp->block] ? turns : least[warp->block];
		most[warp->block] = turns > most[warp->block] ? turns : most[warp->block];
	}
	const uint32_t leading = 2 * sampling->every;
	for (unsigned b = 0; b < TCB_SIM_BLOCKS_MAX; b++) {
		if (most[b] && most[b] - least[b] > 1)
			return 0;
		out[b] = most[b] && most[b] + 1 >= leading && most[b] <= leading + 1 ? leading : most[b];
	}
	return 1;
}

/* How many samples all blocks can leave out. */
static uint32_t samples_left(struct tcb_simulation *s, const uint32_t turns[TCB_SIM_BLOCKS_MAX])
{
	uint32_t left = UINT32_MAX;
	unsigned seen[TCB_SIM_BLOCKS_MAX] = { 0 }; /* bits: loops of a block that were followed */
	for (unsigned i = 0; i < TCB_SIM_WARPS_MAX; i++) {
		const struct tcb_sim_warp *warp = &s->warp[i];
		if (!warp->is_there || !warp->watched || seen[warp->block] >> warp->watched & 1)
			continue;
		seen[warp->block] |= 1u << warp->watched;
		const uint32_t rest = turns_left(s, warp);
		const uint32_t samples = rest > MARGIN ? (rest - MARGIN) / turns[warp->block] : 0;
		left = samples < left ? samples : left;
	}
	if (left == UINT32_MAX)
		return 0;
	return left > RING ? left / RING * RING : left;
}

static void restore(struct tcb_simulation *s, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		const struct tcb_sim_warp *warp = &s->warp[i];
		const size_t at = i * (size_t)s->setup->value_most;
		if (!warp->is_there || !warp->watched)
			continue;
		memcpy(warp->lane.value, s->value_copy + at, s->setup->value_most * sizeof *warp->lane.value);
		memcpy(warp->lane.known, s->known_copy + at, s->setup->value_most);
	}
}

/* All warps SAMPLES further; 0, and nothing changed, where one of them would leave its loop. */
static int advance(struct tcb_simulation *s, const uint32_t turns[TCB_SIM_BLOCKS_MAX], uint32_t samples)
{
	for (unsigned i = 0; i < TCB_SIM_WARPS_MAX; i++) {
		struct tcb_sim_warp *warp = &s->warp[i];
		if (!warp->is_there || !warp->watched)
			continue;
		const uint32_t wanted = samples * turns[warp->block];
		uint64_t ops;
		(void)copy_lane(s, warp);
		if (follow(s, program_of(s, warp), &warp->lane, warp->pc, warp->watched, wanted, &ops) < wanted) {
			restore(s, i + 1);
			return 0;
		}
	}
	return 1;
}

static int skip_turns(struct tcb_simulation *s)
{
	struct tcb_sim_sampling *sampling = &s->sampling;
	uint32_t turns[TCB_SIM_BLOCKS_MAX];
	if (!turns_of_blocks(s, turns))
		return 0;
	const uint32_t samples = samples_left(s, turns);
	if (!samples || !advance(s, turns, samples))
		return 0;
	sampling->skipped += samples * (sampling->mark[2].time - sampling->mark[0].time);
	add_done(s->out, &sampling->mark[0].done, &sampling->mark[2].done, samples);
	return 1;
}

/* --- turns --- */

/* Watches again, from EVERY turns a mark. */
static void start_over(struct tcb_sim_sampling *sampling, int leader, unsigned every)
{
	sampling->leader = leader;
	sampling->mark_count = 0;
	sampling->unsteady = 0;
	sampling->every = every;
}

static void look(struct tcb_simulation *s, double now)
{
	struct tcb_sim_sampling *sampling = &s->sampling;
	set_mark(s, now, &sampling->mark[sampling->mark_count++]);
	if (sampling->mark_count < 3)
		return;
	const double tolerance = STEADY * sampling->every / (2 * EVERY);
	if (is_steady(sampling->mark,
		      tolerance < STEADY        ? STEADY
		      : tolerance < STEADY_LONG ? tolerance
						: STEADY_LONG,
		      STEADY, 1) &&
	    skip_turns(s)) {
		start_over(sampling, sampling->leader, sampling->every);
		return;
	}
	sampling->mark[0] = sampling->mark[1];
	sampling->mark[1] = sampling->mark[2];
	sampling->mark_count = 2;
	if (++sampling->unsteady == UNSTEADY_MOST)
		start_over(sampling, sampling->leader, sampling->every < EVERY_MOST ? 2 * sampling->every : EVERY_MOST);
}

void tcb_sim_turned(struct tcb_simulation *s, struct tcb_sim_warp *warp, unsigned loop, double now)
{
	struct tcb_sim_sampling *sampling = &s->sampling;
	const int index = (int)(warp - s->warp);
	if (s->setup->machine->whole)
		return;
	warp->round[loop]++;
	if (!warp->watched && warp->round[loop] >= WARM) {
		warp->watched = loop;
		warp->turns = 0;
		start_over(sampling, sampling->leader < 0 ? index : sampling->leader, sampling->every);
	}
	if (warp->watched != loop)
		return;
	warp->turns++;
	if (sampling->leader < 0)
		sampling->leader = index;
	if (sampling->leader == index && warp->turns % sampling->every == 0)
		look(s, now);
}

void tcb_sim_left(struct tcb_simulation *s, struct tcb_sim_warp *warp, unsigned loop)
{
	warp->round[loop] = 0;
	if (warp->watched == loop)
		tcb_sim_unwatch(s, warp);
}

void tcb_sim_unwatch(struct tcb_simulation *s, struct tcb_sim_warp *warp)
{
	const int is_leader = s->sampling.leader == (int)(warp - s->warp);
	if (!warp->watched)
		return;
	warp->watched = 0;
	start_over(&s->sampling, is_leader ? -1 : s->sampling.leader, s->sampling.every);
}

/* --- blocks --- */

/* The mean length of the way that the first warps of COUNT blocks from FIRST on take through the kernel. */
static double length_of_blocks(struct tcb_simulation *s, const struct tcb_sim_program *program, unsigned first,
			       unsigned count)
{
	const unsigned looked_at = count < LOOKED_AT ? count : LOOKED_AT;
	double sum = 0;
	for (unsigned i = 0; i < looked_at; i++) {
		struct tcb_sim_lane lane = { .value = s->value_copy, .known = s->known_copy };
		uint64_t ops;
		const unsigned number = first + (unsigned)((uint64_t)i * count / looked_at);
		tcb_sim_block_index(s->setup->machine, program->launch, number, lane.block);
		memset(lane.known, 0, program->value_count);
		(void)follow(s, program, &lane, 0, 0, 1, &ops);
		sum += (double)ops;
	}
	return sum / looked_at;
}

/* How many blocks' time one of those to come takes. */
static double relative_length(struct tcb_simulation *s, const struct tcb_sim_running *running, unsigned seen,
			      unsigned to_come)
{
	const double before = length_of_blocks(s, running->program, running->ended - seen, seen);
	return length_of_blocks(s, running->program, running->started, to_come) / before;
}

void tcb_sim_block_ended(struct tcb_simulation *s, struct tcb_sim_running *running, double now)
{
	const unsigned room = tcb_sim_most_resident(s->setup->machine, running->program);
	struct tcb_sim_mark *mark = running->mark;
	if (s->setup->machine->whole || running->ended % room != 0 || running->share - running->started < room)
		return;
	set_mark(s, now + s->sampling.skipped, &mark[running->mark_count++]);
	if (running->mark_count < 3)
		return;
	if (is_steady(mark, STEADY_BLOCKS, STEADY_BLOCKS, STEADY_BLOCKS)) {
		unsigned rows = (running->share - running->started) / room;
		double length = relative_length(s, running, 2 * room, rows * room);
		/* Time follows length over short ways only: those of other lengths are for another time. */
		while (rows > 1 && fabs(length - 1) > LENGTHS_APART) {
			rows /= 2;
			length = relative_length(s, running, 2 * room, rows * room);
		}
		const double times = 0.5 * rows * length;
		running->started += rows * room;
		running->ended += rows * room;
		running->triggered += rows * room;
		s->sampling.skipped += times * (mark[2].time - mark[0].time);
		running->skipped = s->sampling.skipped;
		add_done(s->out, &mark[0].done, &mark[2].done, times);
	}
	mark[0] = mark[1];
	mark[1] = mark[2];
	running->mark_count = 2;
}
