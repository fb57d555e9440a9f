/* SPDX-License-Identifier: MIT
 *
 * In: decoded launches and the rates of a machine.  Out: when each launch of a
 * sequence of calls ends.  One multiprocessor with its share of the blocks, the
 * others being supposed to do the same at the same time.
 *
 * The unit of time is a cycle.  Each step issues one warp instruction: the one
 * that can go first, of the quarter that is free first.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/opcodes.h"
#include "ptx/pipeline_private.h"

enum {
	QUARTERS = 4,
	WARP = 32,
	BLOCKS_MAX = 32,
	WARPS_MAX = 64,
	MBARRIERS = 1024, /* by address / 8 */
	GROUPS = 16,      /* of asynchronous copies of a warp */
	REQUESTS = 4096,  /* in flight; the oldest are forgotten */
	STEPS_MAX = 4000000
};
static const double NEVER = 1e30, UNKNOWN = -1, BARRIER_LATENCY = 20, REQUEST_LATENCY = 30;

static inline double larger(double a, double b)
{
	return a > b ? a : b;
}

static inline double smaller(double a, double b)
{
	return a < b ? a : b;
}

struct warp {
	int is_there, block; /* its block's place */
	uint32_t pc;
	double ready; /* NEVER while it waits at a barrier */
	double group[GROUPS], group_open;
	unsigned groups;
	struct tcb_pipe_lane lane;
	double *reg; /* when each register is there */
};

struct block {
	int is_there, is_triggered;
	unsigned launch; /* number in the sequence */
	unsigned warps, live, arrived;
	double barrier_time;
	double mbarrier[MBARRIERS];
};

/* A way to memory, and what is on it. */
struct channel {
	double rate, latency, spread, free;
	double in_flight; /* bytes */
	double done[REQUESTS];
	uint32_t bytes[REQUESTS];
	unsigned first, count;
};

/* One launch of the sequence. */
struct running {
	const struct tcb_pipe_program *program;
	unsigned share, started, triggered, ended; /* blocks of this multiprocessor */
	double trigger_time, end_time;
};

struct simulation {
	const struct tcb_pipe_setup *setup;
	uint32_t streamed;
	struct running *running;
	unsigned launch_count, next; /* the next launch with blocks to start */
	struct warp warp[WARPS_MAX];
	struct block block[BLOCKS_MAX];
	unsigned resident, registers, warps; /* in use */
	size_t shared;
	double quarter_free[QUARTERS], unit_free[QUARTERS][TCB_PIPE_UNITS];
	/* When each warp's next instruction can go, by quarter: warp i is [i % QUARTERS][i / QUARTERS].  NEVER where
	 * there is none; UNKNOWN: to be found out. */
	double go[QUARTERS][WARPS_MAX / QUARTERS];
	int quarter_best[QUARTERS]; /* its warp that can go first; -1: to be found again, -2: none */
	double shared_free, bulk_free, last_start;
	struct channel memory, cache;
	uint64_t steps;
	int is_counting; /* the last call */
	struct tcb_pipe_result *out;
	double *reg_room;
	uint64_t *value_room;
	uint8_t *known_room;
};

/* --- blocks come and go --- */

static int fits(const struct simulation *s, const struct tcb_pipe_program *program)
{
	const unsigned warps = tcb_pipe_warps(program->launch);
	return s->resident < s->setup->machine->blocks && s->resident < BLOCKS_MAX &&
	       (s->warps + warps) * WARP <= s->setup->machine->threads && s->warps + warps <= WARPS_MAX &&
	       s->registers + tcb_pipe_registers(program) <= s->setup->machine->registers &&
	       s->shared + tcb_pipe_shared(s->setup->machine, program) <= s->setup->machine->shared_bytes;
}

/* The block with number NUMBER among those of this multiprocessor. */
static void block_index(const struct simulation *s, const struct tcb_ptx_timed_launch *launch, unsigned number,
			uint32_t out[3])
{
	const uint64_t linear = (uint64_t)number * s->setup->machine->sm_count;
	out[0] = (uint32_t)(linear % launch->grid[0]);
	out[1] = (uint32_t)(linear / launch->grid[0] % launch->grid[1]);
	out[2] = (uint32_t)(linear / launch->grid[0] / launch->grid[1]);
}

static void start_block(struct simulation *s, unsigned launch, double now)
{
	struct running *running = &s->running[launch];
	const struct tcb_pipe_program *program = running->program;
	const unsigned warps = tcb_pipe_warps(program->launch);
	unsigned place = 0, started = 0;
	uint32_t index[3];
	while (s->block[place].is_there)
		place++;
	struct block *block = &s->block[place];
	memset(block, 0, sizeof *block);
	block->is_there = 1;
	block->launch = launch;
	block->warps = block->live = warps;
	block_index(s, program->launch, running->started++, index);
	s->resident++;
	s->warps += warps;
	s->registers += tcb_pipe_registers(program);
	s->shared += tcb_pipe_shared(s->setup->machine, program);
	s->last_start = larger(now, s->last_start + s->setup->block_start);
	for (unsigned i = 0; i < WARPS_MAX && started < warps; i++) {
		struct warp *warp = &s->warp[i];
		if (warp->is_there)
			continue;
		warp->is_there = 1;
		warp->block = (int)place;
		warp->pc = 0;
		warp->ready = s->last_start;
		s->go[i % QUARTERS][i / QUARTERS] = UNKNOWN;
		warp->group_open = 0;
		warp->groups = 0;
		warp->reg = s->reg_room + (size_t)i * s->setup->reg_most;
		memset(warp->reg, 0, program->reg_count * sizeof *warp->reg);
		warp->lane.value = s->value_room + (size_t)i * s->setup->value_most;
		warp->lane.known = s->known_room + (size_t)i * s->setup->value_most;
		memset(warp->lane.known, 0, program->value_count);
		memcpy(warp->lane.block, index, sizeof index);
		warp->lane.tid = started++ * WARP;
		s->quarter_best[i % QUARTERS] = -1;
	}
}

/* Starts what may start: blocks in order; those of a launch only after the one before it allows. */
static void start_blocks(struct simulation *s, double now)
{
	while (s->next < s->launch_count) {
		struct running *running = &s->running[s->next];
		const struct running *before = s->next ? running - 1 : NULL;
		double from = now;
		if (running->started == running->share) {
			s->next++;
			continue;
		}
		if (before) {
			const int overlaps = running->program->launch->is_dependent;
			if (before->ended < before->share && !(overlaps && before->triggered == before->share))
				return;
			double allowed = before->end_time + s->setup->launch_gap;
			if (overlaps && before->triggered == before->share)
				allowed = smaller(before->ended == before->share ? allowed : NEVER,
						  before->trigger_time + s->setup->dependent_start);
			from = larger(from, allowed);
		}
		if (!fits(s, running->program))
			return;
		start_block(s, s->next, from);
	}
}

static void end_block(struct simulation *s, struct block *block, double now)
{
	struct running *running = &s->running[block->launch];
	const struct tcb_pipe_program *program = running->program;
	block->is_there = 0;
	s->resident--;
	s->warps -= block->warps;
	s->registers -= tcb_pipe_registers(program);
	s->shared -= tcb_pipe_shared(s->setup->machine, program);
	if (!block->is_triggered) {
		running->triggered++;
		running->trigger_time = larger(running->trigger_time, now);
	}
	running->ended++;
	running->end_time = larger(running->end_time, now);
	start_blocks(s, now);
	if (running->ended < running->share)
		return;
	for (unsigned i = 0; i < WARPS_MAX; i++) /* those that waited for this launch find out */
		if (s->warp[i].is_there && s->go[i % QUARTERS][i / QUARTERS] >= NEVER)
			s->go[i % QUARTERS][i / QUARTERS] = UNKNOWN;
	for (unsigned q = 0; q < QUARTERS; q++)
		s->quarter_best[q] = -1;
}

/* --- memory --- */

static void forget_oldest(struct channel *c)
{
	c->in_flight -= c->bytes[c->first];
	c->first = (c->first + 1) % REQUESTS;
	c->count--;
}

/*
 * How long BYTES that are asked for at NOW take.  A memory that is used to the share u of its bandwidth answers after
 * latency + spread * u / (1 - u), and what is in flight is that time at the rate u * rate: the time for what is in
 * flight is a root of a quadratic equation.  Bursts wait for each other, besides.
 */
static double through(struct channel *c, double now, uint32_t bytes)
{
	while (c->count && (c->done[c->first] <= now || c->count == REQUESTS))
		forget_oldest(c);
	c->in_flight += bytes;
	const double linear = c->rate * c->latency + c->in_flight;
	const double square = 4 * c->rate * (c->latency - c->spread) * c->in_flight;
	const double loaded = now + (linear + sqrt(larger(0, linear * linear - square))) / (2 * c->rate);
	c->free = larger(now, c->free) + bytes / c->rate;
	const double done = larger(loaded, c->free + c->latency);
	const unsigned at = (c->first + c->count++) % REQUESTS;
	c->done[at] = done;
	c->bytes[at] = bytes;
	return done;
}

static double request(struct simulation *s, double now, uint32_t bytes, int is_streamed, double more)
{
	const double queue = larger(0, s->memory.free - now);
	if (!is_streamed)
		return larger(through(&s->cache, now, bytes), now + s->setup->behind * queue + s->cache.latency) + more;
	if (s->is_counting) {
		s->out->memory_cycles += bytes / s->setup->memory_rate;
		s->out->counts.memory_bytes += bytes;
	}
	return through(&s->memory, now, bytes) + more;
}

static int is_streamed(const struct simulation *s, const struct tcb_pipe_program *program, const struct tcb_pipe_op *op,
		       const struct tcb_pipe_lane *lane)
{
	uint64_t address;
	if (!tcb_pipe_address(program, op, op->address, lane, &address) || address >> 48 == 0)
		return 0;
	const uint64_t array = (address >> 48) - 1;
	return array < TCB_PTX_ARRAYS_MAX && (s->streamed >> array & 1);
}

/* --- issuing --- */

static double sources_ready(const struct warp *warp, const struct tcb_pipe_op *op)
{
	double ready = 0;
	for (unsigned i = 0; i < op->source_count; i++)
		ready = larger(ready, warp->reg[op->source[i]]);
	return ready;
}

static void set_results(struct warp *warp, const struct tcb_pipe_op *op, double when)
{
	for (unsigned i = 0; i < op->result_count; i++)
		warp->reg[op->result[i]] = when;
}

static double *mbarrier_of(const struct simulation *s, struct block *block, const struct tcb_pipe_op *op,
			   unsigned index, const struct warp *warp)
{
	uint64_t address = 0;
	(void)tcb_pipe_address(s->running[block->launch].program, op, index, &warp->lane, &address);
	return &block->mbarrier[address / 8 % MBARRIERS];
}

static void arrive_at_barrier(struct simulation *s, struct warp *warp, double now)
{
	struct block *block = &s->block[warp->block];
	block->barrier_time = larger(block->barrier_time, now);
	warp->ready = NEVER;
	block->arrived++;
	if (block->arrived < block->live)
		return;
	for (unsigned i = 0; i < WARPS_MAX; i++) {
		if (!s->warp[i].is_there || s->warp[i].block != warp->block || s->warp[i].ready < NEVER)
			continue;
		s->warp[i].ready = block->barrier_time + BARRIER_LATENCY;
		s->go[i % QUARTERS][i / QUARTERS] = UNKNOWN;
		s->quarter_best[i % QUARTERS] = -1;
	}
	block->arrived = 0;
	block->barrier_time = 0;
}

static void end_warp(struct simulation *s, struct warp *warp, double now)
{
	struct block *block = &s->block[warp->block];
	const size_t index = (size_t)(warp - s->warp);
	warp->is_there = 0;
	s->go[index % QUARTERS][index / QUARTERS] = NEVER;
	block->live--;
	if (!block->live)
		end_block(s, block, now);
}

/* The groups but the newest KEEP. */
static double groups_done(const struct warp *warp, unsigned keep)
{
	double done = 0;
	for (unsigned i = keep; i < warp->groups && i < GROUPS; i++)
		done = larger(done, warp->group[(warp->groups - 1 - i) % GROUPS]);
	return done;
}

/* What OP does besides taking a slot; returns when its results are there. */
static double effect(struct simulation *s, struct warp *warp, const struct tcb_pipe_op *op, double now)
{
	struct block *block = &s->block[warp->block];
	struct running *running = &s->running[block->launch];
	const struct tcb_pipe_program *program = running->program;
	double done = now + op->latency, start;
	switch ((enum tcb_pipe_kind)op->kind) {
	case TCB_PIPE_SHARED:
		start = larger(now, s->shared_free);
		s->shared_free = start + op->wavefronts;
		if (s->is_counting) {
			s->out->shared_cycles += op->wavefronts;
			s->out->counts.wavefronts += op->wavefronts;
			s->out->counts.wavefronts_ideal += op->wavefronts_ideal;
		}
		return s->shared_free + op->latency;
	case TCB_PIPE_GLOBAL:
	case TCB_PIPE_ASYNC:
		start = larger(now, s->shared_free);
		s->shared_free = start + (op->wavefronts + 3) / 4;
		if (s->is_counting) {
			s->out->shared_cycles += (op->wavefronts + 3) / 4;
			s->out->counts.sectors += op->wavefronts;
			s->out->counts.sectors_ideal += op->wavefronts_ideal;
		}
		if (!op->is_load && op->kind == TCB_PIPE_GLOBAL)
			return now;
		done = request(s, start + REQUEST_LATENCY, op->bytes, is_streamed(s, program, op, &warp->lane), 0);
		if (op->kind == TCB_PIPE_ASYNC)
			warp->group_open = larger(warp->group_open, done);
		return done;
	case TCB_PIPE_COMMIT:
		warp->group[warp->groups++ % GROUPS] = warp->group_open;
		warp->group_open = 0;
		return now;
	case TCB_PIPE_WAIT_GROUP:
		warp->ready = larger(warp->ready, groups_done(warp, (unsigned)op->ins->operands[0].bits));
		return now;
	case TCB_PIPE_WAIT_ALL:
		warp->ready = larger(warp->ready, larger(groups_done(warp, 0), warp->group_open));
		return now;
	case TCB_PIPE_BULK:
		start = larger(now, s->bulk_free);
		s->bulk_free = start + s->setup->bulk_issue;
		done = request(s, start + REQUEST_LATENCY, op->bytes, is_streamed(s, program, op, &warp->lane),
			       s->setup->bulk_latency);
		double *mbarrier = mbarrier_of(s, block, op, op->ins->operand_count - 1u, warp);
		*mbarrier = larger(*mbarrier, done);
		return now;
	case TCB_PIPE_MBARRIER_WAIT:
		warp->ready = larger(warp->ready, *mbarrier_of(s, block, op, op->address, warp) + op->latency);
		return now;
	case TCB_PIPE_LAUNCH_DEPENDENTS:
		if (!block->is_triggered) {
			block->is_triggered = 1;
			running->triggered++;
			running->trigger_time = larger(running->trigger_time, now);
			start_blocks(s, now);
		}
		return now;
	case TCB_PIPE_DEPENDENT_WAIT:
		if (block->launch)
			warp->ready =
				larger(warp->ready, s->running[block->launch - 1].end_time + s->setup->dependent_wait);
		return now;
	default:
		return done;
	}
}

/* When WARP's next instruction can go; runs those that cost nothing on the way. */
static double can_go(struct simulation *s, struct warp *warp)
{
	const struct running *running = &s->running[s->block[warp->block].launch];
	const struct tcb_pipe_program *program = running->program;
	if (warp->ready >= NEVER)
		return NEVER;
	for (;;) {
		const struct tcb_pipe_op *op = &program->ops[warp->pc];
		if (warp->pc >= program->op_count)
			return warp->ready;
		if (op->issues == 0) {
			if (op->is_valued && tcb_pipe_guarded(program, op, &warp->lane, 1))
				tcb_pipe_compute(program, op, &warp->lane);
			set_results(warp, op, sources_ready(warp, op));
			warp->pc++;
			continue;
		}
		if (op->kind == TCB_PIPE_DEPENDENT_WAIT) {
			const unsigned launch = s->block[warp->block].launch;
			if (launch && s->running[launch - 1].ended < s->running[launch - 1].share)
				return NEVER;
		}
		return larger(warp->ready, sources_ready(warp, op));
	}
}

static void count_issue(struct simulation *s, const struct tcb_pipe_op *op)
{
	if (!s->is_counting)
		return;
	s->out->counts.instructions += op->issues;
	s->out->issue_cycles += (double)op->issues / QUARTERS;
}

/* When the pipe that OP goes to is free. */
static double *unit_of(struct simulation *s, unsigned quarter, const struct tcb_pipe_op *op)
{
	double *free = s->unit_free[quarter];
	if (op->unit != TCB_PIPE_FMA)
		return &free[op->unit];
	return &free[free[TCB_PIPE_LIGHT] <= free[TCB_PIPE_HEAVY] ? TCB_PIPE_LIGHT : TCB_PIPE_HEAVY];
}

/* Issues WARP's next instruction at NOW. */
static void issue(struct simulation *s, unsigned quarter, struct warp *warp, double now)
{
	const struct running *running = &s->running[s->block[warp->block].launch];
	const struct tcb_pipe_program *program = running->program;
	if (warp->pc >= program->op_count) {
		end_warp(s, warp, now);
		return;
	}
	const struct tcb_pipe_op *op = &program->ops[warp->pc];
	const int is_back = op->kind == TCB_PIPE_BRANCH && op->target <= warp->pc;
	const int runs = tcb_pipe_guarded(program, op, &warp->lane, op->kind == TCB_PIPE_BRANCH ? 0 : 1);
	if (op->unit != TCB_PIPE_NO_UNIT) {
		double *unit = unit_of(s, quarter, op);
		now = larger(now, *unit);
		*unit = now + op->busy;
	}
	s->quarter_free[quarter] = now + op->issues;
	warp->ready = now + op->issues;
	count_issue(s, op);
	if (!runs) {
		warp->pc++;
		return;
	}
	if (op->is_valued)
		tcb_pipe_compute(program, op, &warp->lane);
	if (op->kind == TCB_PIPE_EXIT) {
		end_warp(s, warp, now);
		return;
	}
	if (op->kind == TCB_PIPE_BRANCH) {
		warp->pc = op->target;
		warp->ready += is_back ? 10 : 5;
		return;
	}
	warp->pc++;
	if (op->kind == TCB_PIPE_BARRIER) {
		arrive_at_barrier(s, warp, now);
		return;
	}
	set_results(warp, op, effect(s, warp, op, now));
}

/* The warp of QUARTER that can go first, and when. */
static int first_of(struct simulation *s, unsigned quarter, double *when)
{
	double *go = s->go[quarter];
	const double free = s->quarter_free[quarter];
	int best = -2;
	*when = NEVER;
	for (unsigned i = 0; i < WARPS_MAX / QUARTERS; i++) {
		if (go[i] < 0)
			go[i] = can_go(s, &s->warp[i * QUARTERS + quarter]);
		const double at = larger(go[i], free);
		if (at >= *when)
			continue;
		*when = at;
		best = (int)(i * QUARTERS + quarter);
		if (at <= free) /* nothing goes earlier */
			break;
	}
	return best;
}

static enum tcb_status run(struct simulation *s, unsigned first_counted, struct tcb_error *err)
{
	double when[QUARTERS] = { 0 };
	for (unsigned q = 0; q < QUARTERS; q++)
		s->quarter_best[q] = -1;
	while (s->running[s->launch_count - 1].ended < s->running[s->launch_count - 1].share) {
		unsigned pick = 0;
		for (unsigned q = 0; q < QUARTERS; q++) {
			if (s->quarter_best[q] == -1)
				s->quarter_best[q] = first_of(s, q, &when[q]);
			if (when[q] < when[pick])
				pick = q;
		}
		if (when[pick] >= NEVER)
			return tcb_fail(err, TCB_E_UNSUPPORTED, "the simulated kernel waits for ever");
		if (++s->steps > STEPS_MAX)
			return tcb_fail(err, TCB_E_UNSUPPORTED, "the simulated kernel runs too long");
		const unsigned index = (unsigned)s->quarter_best[pick];
		struct warp *warp = &s->warp[index];
		s->is_counting = s->block[warp->block].launch >= first_counted;
		s->quarter_best[pick] = -1;
		s->go[pick][index / QUARTERS] = UNKNOWN;
		issue(s, pick, warp, when[pick]);
	}
	return TCB_OK;
}

static enum tcb_status prepare(struct simulation *s, unsigned calls, struct tcb_error *err)
{
	const struct tcb_pipe_setup *setup = s->setup;
	for (unsigned i = 0; i < WARPS_MAX; i++)
		s->go[i % QUARTERS][i / QUARTERS] = NEVER;
	s->launch_count = setup->count * calls;
	s->last_start = -setup->block_start;
	s->memory = (struct channel){ .rate = setup->memory_rate,
				      .latency = setup->memory_latency,
				      .spread = setup->memory_spread };
	s->cache = (struct channel){ .rate = setup->cache_rate,
				     .latency = setup->cache_latency,
				     .spread = setup->cache_spread };
	s->running = calloc(s->launch_count, sizeof *s->running);
	s->reg_room = malloc(WARPS_MAX * (setup->reg_most + 1) * sizeof *s->reg_room);
	s->value_room = malloc(WARPS_MAX * (setup->value_most + 1) * sizeof *s->value_room);
	s->known_room = malloc(WARPS_MAX * (setup->value_most + 1));
	if (!s->running || !s->reg_room || !s->value_room || !s->known_room)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a simulation");
	for (unsigned i = 0; i < s->launch_count; i++) {
		const struct tcb_pipe_program *program = &setup->program[i % setup->count];
		s->running[i].program = program;
		s->running[i].share = tcb_pipe_share(setup->machine, program->launch);
	}
	return TCB_OK;
}

enum tcb_status tcb_pipe_run(const struct tcb_pipe_setup *setup, uint32_t streamed, unsigned calls,
			     struct tcb_pipe_result *out, struct tcb_error *err)
{
	struct simulation *s = calloc(1, sizeof *s);
	memset(out, 0, sizeof *out);
	if (!s)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a simulation");
	s->setup = setup;
	s->streamed = streamed;
	s->out = out;
	enum tcb_status status = prepare(s, calls, err);
	if (status == TCB_OK) {
		start_blocks(s, 0);
		status = s->resident
				 ? run(s, s->launch_count - setup->count, err)
				 : tcb_fail(err, TCB_E_UNSUPPORTED, "a block of %s does not fit on a multiprocessor",
					    setup->program[0].launch->function->symbol->name);
	}
	if (status == TCB_OK) {
		out->first_end = s->running[setup->count - 1].end_time;
		out->last_end = s->running[s->launch_count - 1].end_time;
	}
	free(s->running);
	free(s->reg_room);
	free(s->value_room);
	free(s->known_room);
	free(s);
	return status;
}
