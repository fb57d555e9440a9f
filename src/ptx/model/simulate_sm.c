/* SPDX-License-Identifier: MIT
 *
 * In: decoded launches and the rates of a machine.  Out: when each launch of a
 * sequence of calls ends.  One multiprocessor with its share of the blocks, the
 * others being supposed to do the same at the same time.
 *
 * The unit of time is a cycle.  Each step issues one warp instruction: the one
 * that can go first, of the quarter that is free first.
 */
#include "ptx/model/simulate_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "ptx/ir/opcodes.h"
#include "ptx/model/simulate_sample.h"
#include "ptx/model/simulate_state.h"

enum { STEPS_MAX = 16000000 };
enum { STEPS_BETWEEN_LOOKS = 16384 }; /* at the clock: some milliseconds */
static const uint64_t STEPS_WHOLE = UINT64_C(1) << 40;
static const double NEVER = 1e30, UNKNOWN = -1, BARRIER_LATENCY = 20, REQUEST_LATENCY = 30;

static inline double larger(double a, double b)
{
	return a > b ? a : b;
}

static inline double smaller(double a, double b)
{
	return a < b ? a : b;
}

/* --- blocks come and go --- */

static int fits(const struct tcb_simulation *s, const struct tcb_sim_program *program)
{
	const unsigned warps = tcb_sim_warps(program->launch);
	return s->resident < s->setup->machine->blocks && s->resident < TCB_SIM_BLOCKS_MAX &&
	       (s->warps + warps) * TCB_SIM_WARP <= s->setup->machine->threads &&
	       s->warps + warps <= TCB_SIM_WARPS_MAX &&
	       s->registers + tcb_sim_registers(program) <= s->setup->machine->registers &&
	       s->shared + tcb_sim_shared(s->setup->machine, program) <= s->setup->machine->shared_bytes;
}

static void start_block(struct tcb_simulation *s, unsigned launch, double now)
{
	struct tcb_sim_running *running = &s->running[launch];
	const struct tcb_sim_program *program = running->program;
	const unsigned warps = tcb_sim_warps(program->launch);
	unsigned place = 0, started = 0;
	uint32_t index[3];
	while (s->block[place].is_there)
		place++;
	struct tcb_sim_block *block = &s->block[place];
	memset(block, 0, sizeof *block);
	block->is_there = 1;
	block->launch = launch;
	block->warps = block->live = warps;
	tcb_sim_block_index(s->setup->machine, program->launch, running->started++, index);
	s->resident++;
	s->warps += warps;
	s->registers += tcb_sim_registers(program);
	s->shared += tcb_sim_shared(s->setup->machine, program);
	s->last_start = larger(now, s->last_start + s->setup->block_start);
	for (unsigned i = 0; i < TCB_SIM_WARPS_MAX && started < warps; i++) {
		struct tcb_sim_warp *warp = &s->warp[i];
		if (warp->is_there)
			continue;
		warp->is_there = 1;
		warp->block = (int)place;
		warp->pc = 0;
		warp->ready = s->last_start;
		s->go[i % TCB_SIM_QUARTERS][i / TCB_SIM_QUARTERS] = UNKNOWN;
		warp->group_open = 0;
		warp->groups = 0;
		warp->watched = 0;
		memset(warp->round, 0, sizeof warp->round);
		warp->reg = s->reg_room + (size_t)i * s->setup->reg_most;
		memset(warp->reg, 0, program->reg_count * sizeof *warp->reg);
		warp->lane.value = s->value_room + (size_t)i * s->setup->value_most;
		warp->lane.known = s->known_room + (size_t)i * s->setup->value_most;
		memset(warp->lane.known, 0, program->value_count);
		memcpy(warp->lane.block, index, sizeof index);
		warp->lane.tid = started++ * TCB_SIM_WARP;
		s->quarter_best[i % TCB_SIM_QUARTERS] = -1;
	}
}

/* Starts what may start: blocks in order; those of a launch only after the one before it allows. */
static void start_blocks(struct tcb_simulation *s, double now)
{
	while (s->next < s->launch_count) {
		struct tcb_sim_running *running = &s->running[s->next];
		const struct tcb_sim_running *before = s->next ? running - 1 : NULL;
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

static void end_block(struct tcb_simulation *s, struct tcb_sim_block *block, double now)
{
	struct tcb_sim_running *running = &s->running[block->launch];
	const struct tcb_sim_program *program = running->program;
	block->is_there = 0;
	s->resident--;
	s->warps -= block->warps;
	s->registers -= tcb_sim_registers(program);
	s->shared -= tcb_sim_shared(s->setup->machine, program);
	if (!block->is_triggered) {
		running->triggered++;
		running->trigger_time = larger(running->trigger_time, now);
	}
	running->ended++;
	running->end_time = larger(running->end_time, now);
	running->skipped = s->sampling.skipped;
	tcb_sim_block_ended(s, running, now);
	start_blocks(s, now);
	if (running->ended < running->share)
		return;
	for (unsigned i = 0; i < TCB_SIM_WARPS_MAX; i++) /* those that waited for this launch find out */
		if (s->warp[i].is_there && s->go[i % TCB_SIM_QUARTERS][i / TCB_SIM_QUARTERS] >= NEVER)
			s->go[i % TCB_SIM_QUARTERS][i / TCB_SIM_QUARTERS] = UNKNOWN;
	for (unsigned q = 0; q < TCB_SIM_QUARTERS; q++)
		s->quarter_best[q] = -1;
}

/* --- memory --- */

static void forget_oldest(struct tcb_sim_channel *c)
{
	c->in_flight -= c->bytes[c->first];
	c->first = (c->first + 1) % TCB_SIM_REQUESTS;
	c->count--;
}

/*
 * How long BYTES that are asked for at NOW take.  A memory that is used to the share u of its bandwidth answers after
 * latency + spread * u / (1 - u), and what is in flight is that time at the rate u * rate: the time for what is in
 * flight is a root of a quadratic equation.  Bursts wait for each other, besides.
 */
static double through(struct tcb_sim_channel *c, double now, uint32_t bytes)
{
	while (c->count && (c->done[c->first] <= now || c->count == TCB_SIM_REQUESTS))
		forget_oldest(c);
	c->in_flight += bytes;
	const double linear = c->rate * c->latency + c->in_flight;
	const double square = 4 * c->rate * (c->latency - c->spread) * c->in_flight;
	const double loaded = now + (linear + sqrt(larger(0, linear * linear - square))) / (2 * c->rate);
	c->free = larger(now, c->free) + bytes / c->rate;
	const double done = larger(loaded, c->free + c->latency);
	const unsigned at = (c->first + c->count++) % TCB_SIM_REQUESTS;
	c->done[at] = done;
	c->bytes[at] = bytes;
	return done;
}

static double request(struct tcb_simulation *s, double now, uint32_t bytes, int is_streamed, double more)
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

static int is_streamed(const struct tcb_simulation *s, const struct tcb_sim_program *program,
		       const struct tcb_sim_op *op, const struct tcb_sim_lane *lane)
{
	uint64_t address;
	if (!tcb_sim_address(program, op, op->address, lane, &address) || address >> 48 == 0)
		return 0;
	const uint64_t array = (address >> 48) - 1;
	return array < TCB_PTX_ARRAYS_MAX && (s->streamed >> array & 1);
}

/* --- issuing --- */

static double sources_ready(const struct tcb_sim_warp *warp, const struct tcb_sim_op *op)
{
	double ready = 0;
	for (unsigned i = 0; i < op->source_count; i++)
		ready = larger(ready, warp->reg[op->source[i]]);
	return ready;
}

static void set_results(struct tcb_sim_warp *warp, const struct tcb_sim_op *op, double when)
{
	for (unsigned i = 0; i < op->result_count; i++)
		warp->reg[op->result[i]] = when;
}

static double *mbarrier_of(const struct tcb_simulation *s, struct tcb_sim_block *block, const struct tcb_sim_op *op,
			   unsigned index, const struct tcb_sim_warp *warp)
{
	uint64_t address = 0;
	(void)tcb_sim_address(s->running[block->launch].program, op, index, &warp->lane, &address);
	return &block->mbarrier[address / 8 % TCB_SIM_MBARRIERS];
}

/* Warps that a barrier waits for: those that its second operand says, or all. */
static unsigned warps_at_barrier(const struct tcb_simulation *s, const struct tcb_sim_warp *warp,
				 const struct tcb_sim_op *op)
{
	const struct tcb_sim_block *block = &s->block[warp->block];
	const struct tcb_sim_program *program = s->running[block->launch].program;
	const unsigned index = op->address + 1u;
	if (op->ins->operand_count <= index || op->ins->operands[index].kind != TCB_PTX_O_INT)
		return block->live;
	return (unsigned)tcb_sim_number(program, op, index, &warp->lane, 0) / TCB_SIM_WARP;
}

static void arrive_at_barrier(struct tcb_simulation *s, struct tcb_sim_warp *warp, const struct tcb_sim_op *op,
			      double now)
{
	struct tcb_sim_block *block = &s->block[warp->block];
	const struct tcb_sim_program *program = s->running[block->launch].program;
	const uint64_t which = tcb_sim_number(program, op, op->address, &warp->lane, 0) % TCB_SIM_BARRIERS;
	block->barrier[which].time = larger(block->barrier[which].time, now);
	block->barrier[which].arrived++;
	if (op->kind == TCB_SIM_BARRIER) {
		warp->ready = NEVER;
		warp->waits = which;
	}
	if (block->barrier[which].arrived < warps_at_barrier(s, warp, op))
		return;
	for (unsigned i = 0; i < TCB_SIM_WARPS_MAX; i++) {
		if (!s->warp[i].is_there || s->warp[i].block != warp->block || s->warp[i].ready < NEVER ||
		    s->warp[i].waits != which)
			continue;
		s->warp[i].ready = block->barrier[which].time + BARRIER_LATENCY;
		s->go[i % TCB_SIM_QUARTERS][i / TCB_SIM_QUARTERS] = UNKNOWN;
		s->quarter_best[i % TCB_SIM_QUARTERS] = -1;
	}
	block->barrier[which].arrived = 0;
	block->barrier[which].time = 0;
}

static void end_warp(struct tcb_simulation *s, struct tcb_sim_warp *warp, double now)
{
	struct tcb_sim_block *block = &s->block[warp->block];
	const size_t index = (size_t)(warp - s->warp);
	warp->is_there = 0;
	tcb_sim_unwatch(s, warp);
	s->go[index % TCB_SIM_QUARTERS][index / TCB_SIM_QUARTERS] = NEVER;
	block->live--;
	if (!block->live)
		end_block(s, block, now);
}

/* The groups but the newest KEEP. */
static double groups_done(const struct tcb_sim_warp *warp, unsigned keep)
{
	double done = 0;
	for (unsigned i = keep; i < warp->groups && i < TCB_SIM_GROUPS; i++)
		done = larger(done, warp->group[(warp->groups - 1 - i) % TCB_SIM_GROUPS]);
	return done;
}

/* What OP does besides taking a slot; returns when its results are there. */
static double effect(struct tcb_simulation *s, struct tcb_sim_warp *warp, const struct tcb_sim_op *op, double now)
{
	struct tcb_sim_block *block = &s->block[warp->block];
	struct tcb_sim_running *running = &s->running[block->launch];
	const struct tcb_sim_program *program = running->program;
	double done = now + op->latency, start;
	switch ((enum tcb_sim_kind)op->kind) {
	case TCB_SIM_SHARED:
		start = larger(now, s->shared_free);
		s->shared_free = start + op->wavefronts;
		if (s->is_counting) {
			s->out->shared_cycles += op->wavefronts;
			s->out->counts.wavefronts += op->wavefronts;
			s->out->counts.wavefronts_ideal += op->wavefronts_ideal;
		}
		return s->shared_free + op->latency;
	case TCB_SIM_GLOBAL:
	case TCB_SIM_ASYNC:
		start = larger(now, s->shared_free);
		s->shared_free = start + (op->wavefronts + 3) / 4;
		if (s->is_counting) {
			s->out->shared_cycles += (op->wavefronts + 3) / 4;
			s->out->counts.sectors += op->wavefronts;
			s->out->counts.sectors_ideal += op->wavefronts_ideal;
		}
		if (!op->is_load && op->kind == TCB_SIM_GLOBAL)
			return now;
		done = request(s, start + REQUEST_LATENCY, op->bytes, is_streamed(s, program, op, &warp->lane), 0);
		if (op->kind == TCB_SIM_ASYNC)
			warp->group_open = larger(warp->group_open, done);
		return done;
	case TCB_SIM_COMMIT:
		warp->group[warp->groups++ % TCB_SIM_GROUPS] = warp->group_open;
		warp->group_open = 0;
		return now;
	case TCB_SIM_WAIT_GROUP:
		warp->ready = larger(warp->ready, groups_done(warp, (unsigned)op->ins->operands[0].bits));
		return now;
	case TCB_SIM_WAIT_ALL:
		warp->ready = larger(warp->ready, larger(groups_done(warp, 0), warp->group_open));
		return now;
	case TCB_SIM_BULK:
		start = larger(now, s->bulk_free);
		s->bulk_free = start + s->setup->bulk_issue;
		done = request(s, start + REQUEST_LATENCY, op->bytes, is_streamed(s, program, op, &warp->lane),
			       s->setup->bulk_latency);
		double *mbarrier = mbarrier_of(s, block, op, op->ins->operand_count - 1u, warp);
		*mbarrier = larger(*mbarrier, done);
		return now;
	case TCB_SIM_MBARRIER_WAIT:
		warp->ready = larger(warp->ready, *mbarrier_of(s, block, op, op->address, warp) + op->latency);
		return now;
	case TCB_SIM_LAUNCH_DEPENDENTS:
		if (!block->is_triggered) {
			block->is_triggered = 1;
			running->triggered++;
			running->trigger_time = larger(running->trigger_time, now);
			start_blocks(s, now);
		}
		return now;
	case TCB_SIM_DEPENDENT_WAIT:
		if (block->launch)
			warp->ready =
				larger(warp->ready, s->running[block->launch - 1].end_time + s->setup->dependent_wait);
		return now;
	default:
		return done;
	}
}

/* When TCB_SIM_WARP's next instruction can go; runs those that cost nothing on the way. */
static double can_go(struct tcb_simulation *s, struct tcb_sim_warp *warp)
{
	const struct tcb_sim_running *running = &s->running[s->block[warp->block].launch];
	const struct tcb_sim_program *program = running->program;
	if (warp->ready >= NEVER)
		return NEVER;
	for (;;) {
		const struct tcb_sim_op *op = &program->ops[warp->pc];
		if (warp->pc >= program->op_count)
			return warp->ready;
		if (op->issues == 0) {
			if (op->is_valued && tcb_sim_guarded(program, op, &warp->lane, 1))
				tcb_sim_compute(program, op, &warp->lane);
			set_results(warp, op, sources_ready(warp, op));
			warp->pc++;
			continue;
		}
		if (op->kind == TCB_SIM_DEPENDENT_WAIT) {
			const unsigned launch = s->block[warp->block].launch;
			if (launch && s->running[launch - 1].ended < s->running[launch - 1].share)
				return NEVER;
		}
		return larger(warp->ready, sources_ready(warp, op));
	}
}

static void count_issue(struct tcb_simulation *s, const struct tcb_sim_op *op)
{
	if (!s->is_counting)
		return;
	s->out->counts.instructions += op->issues;
	s->out->issue_cycles += (double)op->issues / TCB_SIM_QUARTERS;
}

/* When the pipe that OP goes to is free. */
static double *unit_of(struct tcb_simulation *s, unsigned quarter, const struct tcb_sim_op *op)
{
	double *free = s->unit_free[quarter];
	if (op->unit != TCB_SIM_FMA)
		return &free[op->unit];
	return &free[free[TCB_SIM_LIGHT] <= free[TCB_SIM_HEAVY] ? TCB_SIM_LIGHT : TCB_SIM_HEAVY];
}

/* Issues TCB_SIM_WARP's next instruction at NOW. */
static void issue(struct tcb_simulation *s, unsigned quarter, struct tcb_sim_warp *warp, double now)
{
	const struct tcb_sim_running *running = &s->running[s->block[warp->block].launch];
	const struct tcb_sim_program *program = running->program;
	if (warp->pc >= program->op_count) {
		end_warp(s, warp, now);
		return;
	}
	const struct tcb_sim_op *op = &program->ops[warp->pc];
	const int is_back = op->kind == TCB_SIM_BRANCH && op->target <= warp->pc;
	const int runs = tcb_sim_guarded(program, op, &warp->lane, op->kind == TCB_SIM_BRANCH ? 0 : 1);
	if (op->unit != TCB_SIM_NO_UNIT) {
		double *unit = unit_of(s, quarter, op);
		now = larger(now, *unit);
		*unit = now + op->busy;
	}
	s->quarter_free[quarter] = now + op->issues;
	warp->ready = now + op->issues;
	count_issue(s, op);
	if (!runs) {
		warp->pc++;
		if (op->loop)
			tcb_sim_left(s, warp, op->loop);
		return;
	}
	if (op->is_valued)
		tcb_sim_compute(program, op, &warp->lane);
	if (op->kind == TCB_SIM_EXIT) {
		end_warp(s, warp, now);
		return;
	}
	if (op->kind == TCB_SIM_BRANCH) {
		warp->pc = op->target;
		warp->ready += is_back ? 10 : 5;
		if (op->loop)
			tcb_sim_turned(s, warp, op->loop, now);
		return;
	}
	warp->pc++;
	if (op->kind == TCB_SIM_BARRIER || op->kind == TCB_SIM_BARRIER_ARRIVE) {
		arrive_at_barrier(s, warp, op, now);
		return;
	}
	set_results(warp, op, effect(s, warp, op, now));
}

/* A matrix unit is taken for so long that a warp that waits for it lets others go: when it is free for WARP, or 0. */
static double matrix_free(const struct tcb_simulation *s, unsigned quarter, const struct tcb_sim_warp *warp)
{
	const struct tcb_sim_program *program = s->running[s->block[warp->block].launch].program;
	const int waits = warp->pc < program->op_count && program->ops[warp->pc].unit == TCB_SIM_MATRIX;
	return waits ? s->unit_free[quarter][TCB_SIM_MATRIX] : 0;
}

/* The warp of QUARTER that can go first, and when. */
static int first_of(struct tcb_simulation *s, unsigned quarter, double *when)
{
	double *go = s->go[quarter];
	const double free = s->quarter_free[quarter];
	int best = -2;
	*when = NEVER;
	for (unsigned i = 0; i < TCB_SIM_WARPS_MAX / TCB_SIM_QUARTERS; i++) {
		struct tcb_sim_warp *warp = &s->warp[i * TCB_SIM_QUARTERS + quarter];
		if (go[i] < 0)
			go[i] = can_go(s, warp);
		if (larger(go[i], free) >= *when)
			continue;
		const double at = larger(larger(go[i], free), matrix_free(s, quarter, warp));
		if (at >= *when)
			continue;
		*when = at;
		best = (int)(i * TCB_SIM_QUARTERS + quarter);
		if (at <= free) /* nothing goes earlier */
			break;
	}
	return best;
}

static enum tcb_status run(struct tcb_simulation *s, unsigned first_counted, struct tcb_error *err)
{
	double when[TCB_SIM_QUARTERS] = { 0 };
	for (unsigned q = 0; q < TCB_SIM_QUARTERS; q++)
		s->quarter_best[q] = -1;
	while (s->running[s->launch_count - 1].ended < s->running[s->launch_count - 1].share) {
		unsigned pick = 0;
		for (unsigned q = 0; q < TCB_SIM_QUARTERS; q++) {
			if (s->quarter_best[q] == -1)
				s->quarter_best[q] = first_of(s, q, &when[q]);
			if (when[q] < when[pick])
				pick = q;
		}
		if (when[pick] >= NEVER)
			return tcb_fail(err, TCB_E_UNSUPPORTED, "the simulated kernel waits for ever");
		if (++s->steps > (s->setup->machine->whole ? STEPS_WHOLE : STEPS_MAX))
			return tcb_fail(err, TCB_E_UNSUPPORTED,
					"the simulated kernel runs too long, and its loops do not become steady");
		if (s->setup->machine->until_ns && s->steps % STEPS_BETWEEN_LOOKS == 0 &&
		    tcb_clock_ns() >= s->setup->machine->until_ns)
			return tcb_fail(err, TCB_E_UNSUPPORTED, "no time is left to simulate the kernel");
		const unsigned index = (unsigned)s->quarter_best[pick];
		struct tcb_sim_warp *warp = &s->warp[index];
		s->is_counting = s->block[warp->block].launch >= first_counted;
		s->quarter_best[pick] = -1;
		s->go[pick][index / TCB_SIM_QUARTERS] = UNKNOWN;
		issue(s, pick, warp, when[pick]);
	}
	return TCB_OK;
}

static enum tcb_status prepare(struct tcb_simulation *s, unsigned calls, struct tcb_error *err)
{
	const struct tcb_sim_setup *setup = s->setup;
	for (unsigned i = 0; i < TCB_SIM_WARPS_MAX; i++)
		s->go[i % TCB_SIM_QUARTERS][i / TCB_SIM_QUARTERS] = NEVER;
	s->launch_count = setup->count * calls;
	s->last_start = -setup->block_start;
	s->memory = (struct tcb_sim_channel){ .rate = setup->memory_rate,
					      .latency = setup->memory_latency,
					      .spread = setup->memory_spread };
	s->cache = (struct tcb_sim_channel){ .rate = setup->cache_rate,
					     .latency = setup->cache_latency,
					     .spread = setup->cache_spread };
	s->running = calloc(s->launch_count, sizeof *s->running);
	s->reg_room = malloc(TCB_SIM_WARPS_MAX * (setup->reg_most + 1) * sizeof *s->reg_room);
	s->value_room = malloc(TCB_SIM_WARPS_MAX * (setup->value_most + 1) * sizeof *s->value_room);
	s->known_room = malloc(TCB_SIM_WARPS_MAX * (setup->value_most + 1));
	s->value_copy = malloc(TCB_SIM_WARPS_MAX * (setup->value_most + 1) * sizeof *s->value_copy);
	s->known_copy = malloc(TCB_SIM_WARPS_MAX * (setup->value_most + 1));
	if (!s->running || !s->reg_room || !s->value_room || !s->known_room || !s->value_copy || !s->known_copy)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a simulation");
	for (unsigned i = 0; i < s->launch_count; i++) {
		const struct tcb_sim_program *program = &setup->program[i % setup->count];
		s->running[i].program = program;
		s->running[i].share = tcb_sim_share(setup->machine, program->launch);
	}
	return TCB_OK;
}

enum tcb_status tcb_sim_run(const struct tcb_sim_setup *setup, uint32_t streamed, unsigned calls,
			    struct tcb_sim_result *out, struct tcb_error *err)
{
	struct tcb_simulation *s = calloc(1, sizeof *s);
	memset(out, 0, sizeof *out);
	if (!s)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a simulation");
	s->setup = setup;
	s->streamed = streamed;
	tcb_sim_sampling_init(&s->sampling);
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
		const struct tcb_sim_running *first = &s->running[setup->count - 1];
		const struct tcb_sim_running *last = &s->running[s->launch_count - 1];
		out->first_end = first->end_time + first->skipped;
		out->last_end = last->end_time + last->skipped;
		out->skipped = s->sampling.skipped;
	}
	free(s->running);
	free(s->reg_room);
	free(s->value_room);
	free(s->known_room);
	free(s->value_copy);
	free(s->known_copy);
	free(s);
	return status;
}
