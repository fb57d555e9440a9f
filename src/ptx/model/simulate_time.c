/* SPDX-License-Identifier: MIT
 *
 * In: launches and a machine.  Out: the time of a call in a stream of calls:
 * decodes the kernels, has one multiprocessor simulated and makes a time of it.
 */
#include "ptx/model/simulate.h"

#include <string.h>

#include "ptx/model/simulate_decode.h"
#include "ptx/model/simulate_run.h"

enum { CALLS_DEPENDENT = 3 /* calls that are simulated where they overlap; the first one is not counted */ };
static const double CACHE_PORT = 64; /* bytes per cycle that a multiprocessor takes from the L2 */

static void otherwise(double *value, double is)
{
	if (*value == 0)
		*value = is;
}

void tcb_ptx_machine_defaults(struct tcb_ptx_machine *m)
{
	otherwise(&m->memory_latency, 360e-9);
	otherwise(&m->cache_latency, 160e-9);
	otherwise(&m->memory_spread, 115e-9);
	otherwise(&m->cache_spread, 50e-9);
	otherwise(&m->launch_gap, 1.0e-6);
	otherwise(&m->dependent_wait, 630e-9);
	otherwise(&m->dependent_start, 380e-9);
	otherwise(&m->block_start, 16e-9);
	otherwise(&m->bulk_latency, 14e-9);
	otherwise(&m->bulk_issue, 7e-9);
	otherwise(&m->behind, 0.86);
}

/* --- the whole --- */

static enum tcb_status decode(struct tcb_sim_setup *setup, const struct tcb_ptx_timed *what, struct tcb_error *err)
{
	if (what->count < 1 || what->count > TCB_SIM_LAUNCHES)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "%zu launches", what->count);
	setup->count = (unsigned)what->count;
	for (unsigned i = 0; i < setup->count; i++) {
		struct tcb_sim_program *program = &setup->program[i];
		TCB_TRY(tcb_sim_decode(setup->machine, &what->launches[i], program, err));
		if (!tcb_sim_most_resident(setup->machine, program))
			return tcb_fail(err, TCB_E_UNSUPPORTED, "a block of %s does not fit on a multiprocessor",
					program->function->symbol->name);
		setup->reg_most = program->reg_count > setup->reg_most ? program->reg_count : setup->reg_most;
		setup->value_most = program->value_count > setup->value_most ? program->value_count : setup->value_most;
		if (tcb_sim_blocks(program->launch) >= tcb_sim_blocks(setup->program[setup->largest].launch))
			setup->largest = i;
	}
	return TCB_OK;
}

static void set_rates(struct tcb_sim_setup *setup)
{
	const struct tcb_ptx_machine *m = setup->machine;
	const struct tcb_ptx_timed_launch *largest = setup->program[setup->largest].launch;
	const double clock = m->clock_hz;
	/* All others wait for the one with the most blocks, which gets more of the bandwidth when it is alone. */
	const double part = (double)tcb_sim_share(m, largest) / (double)tcb_sim_blocks(largest);
	const double cache = m->cache_bytes_s / clock * part;
	setup->memory_rate = m->memory_bytes_s / clock * part;
	setup->cache_rate = cache < CACHE_PORT ? cache : CACHE_PORT;
	setup->behind = m->behind;
	setup->memory_latency = m->memory_latency * clock;
	setup->cache_latency = m->cache_latency * clock;
	setup->memory_spread = m->memory_spread * clock;
	setup->cache_spread = m->cache_spread * clock;
	setup->launch_gap = m->launch_gap * clock;
	setup->dependent_wait = m->dependent_wait * clock;
	setup->dependent_start = m->dependent_start * clock;
	setup->block_start = m->block_start * clock;
	setup->bulk_latency = m->bulk_latency * clock;
	setup->bulk_issue = m->bulk_issue * clock;
}

/*
 * Blocks of a launch that starts while others run go where there is room.  As long as each multiprocessor holds the
 * blocks of a whole number of launches of one kernel, each gets its share.  Else a launch finds some room everywhere
 * and the rest of it where blocks end first: blocks pile up there, and the launch takes as long as they do.  The
 * factors are those of an H200 (docs/model.md).
 */
static double piling(const struct tcb_sim_setup *setup)
{
	const struct tcb_sim_program *program = &setup->program[setup->largest];
	const struct tcb_ptx_timed_launch *launch = program->launch;
	const unsigned share = tcb_sim_share(setup->machine, launch),
		       room = tcb_sim_most_resident(setup->machine, program);
	const double launches = (double)room / (double)share;
	if (!launch->is_dependent || launches == 1)
		return 1;
	if (launches < 1)
		return share % room ? 1.08 : 1;
	if (setup->count > 1)
		return launches < 1 / 0.6 ? 1 : launches < 2 / 0.6 ? 0.6 * launches : 2;
	if (room % share == 0 && tcb_sim_blocks(launch) % setup->machine->sm_count == 0)
		return 1;
	return 0.57 * launches < 1.1 ? 1.1 : 0.57 * launches;
}

static void summarise(const struct tcb_sim_setup *setup, unsigned calls, const struct tcb_sim_result *result,
		      struct tcb_ptx_timing *out)
{
	const double clock = setup->machine->clock_hz;
	const struct tcb_sim_program *largest = &setup->program[setup->largest];
	*out = result->counts;
	out->extrapolated = result->skipped / result->last_end;
	if (calls == 1)
		out->seconds = (result->last_end + setup->launch_gap) / clock;
	else
		out->seconds = (result->last_end - result->first_end) / (calls - 1) / clock * piling(setup);
	out->issue_seconds = result->issue_cycles / clock;
	out->shared_seconds = result->shared_cycles / clock;
	out->memory_seconds = result->memory_cycles / clock;
	out->registers = largest->registers;
	out->pressure = largest->pressure;
	out->register_limit = largest->register_limit;
	out->resident_blocks = tcb_sim_most_resident(setup->machine, largest);
}

enum tcb_status tcb_ptx_time(const struct tcb_ptx_machine *machine, const struct tcb_ptx_timed *what,
			     const uint32_t *streamed, size_t count, struct tcb_ptx_timing *out, struct tcb_error *err)
{
	struct tcb_ptx_machine filled = *machine;
	struct tcb_sim_setup setup = { .machine = &filled };
	struct tcb_sim_result result;
	unsigned calls = 1;
	tcb_ptx_machine_defaults(&filled);
	TCB_TRY(decode(&setup, what, err));
	set_rates(&setup);
	for (size_t i = 0; i < what->count; i++)
		calls = what->launches[i].is_dependent ? CALLS_DEPENDENT : calls;
	for (size_t i = 0; i < count; i++) {
		size_t same = 0;
		while (streamed[same] != streamed[i])
			same++;
		if (same < i) {
			out[i] = out[same];
			continue;
		}
		TCB_TRY(tcb_sim_run(&setup, streamed[i], calls, &result, err));
		summarise(&setup, calls, &result, &out[i]);
	}
	return TCB_OK;
}
