/* SPDX-License-Identifier: MIT
 *
 * Another objective than time.  The search goes by time, since energy takes half a second and more to measure;
 * then the finalists, the default, what cannot be told from the winner and its neighbours in the space are run beside a
 * meter, in turns, a few times each, and the least of what was asked for wins.
 *
 * In: a decision by time.  Out: one by the objective, in which ratios and the speed-up are of the objective, and what
 * the meter said of each candidate to the sink.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "base/util.h"
#include "kernels/signature.h"
#include "search/sweep_state.h"

enum { RUNS = 3, TIES_MOST = 4, NEIGHBOURS_MOST = 4 };
static const double RUN_S = 0.5; /* some steps of the slowest meter */

/* A candidate that is metered. */
struct metered {
	size_t index; /* of the space */
	struct tcb_finalist finalist;
	double joules[RUNS], ns[RUNS], watts, step_s;
	int failed;
	double cost; /* of the objective, by the medians; infinite where it failed */
};
struct metering {
	struct tcb_sweep *sweep;
	enum tcb_state state;
	struct metered *list; /* owned */
	size_t count, capacity;
	char source[TCB_METER_SOURCE_MAX];
};

static double now_s(void)
{
	return 1e-9 * (double)tcb_clock_ns();
}

static size_t find_index(const struct tcb_sweep *sweep, const struct tcb_geometry *geometry)
{
	for (size_t i = 0; i < sweep->space->count; i++)
		if (tcb_geometry_equal(&sweep->space->geometries[i], geometry))
			return i;
	return SIZE_MAX;
}

/* Adds candidate INDEX, which FINALIST (nullable) tells more of, unless it is there. */
static enum tcb_status add(struct metering *m, size_t index, const struct tcb_finalist *finalist, struct tcb_error *err)
{
	const struct tcb_sweep *sweep = m->sweep;
	struct tcb_packings packings = { .is_known = { 0 } };

	for (size_t i = 0; i < m->count; i++)
		if (m->list[i].index == index)
			return TCB_OK;
	if (index == SIZE_MAX || m->count == m->capacity || sweep->entries[index].outcome != TCB_OUTCOME_OK)
		return TCB_OK;
	struct metered *to = &m->list[m->count++];
	*to = (struct metered){ .index = index };
	if (finalist) {
		to->finalist = *finalist;
		return TCB_OK;
	}
	to->finalist.geometry = sweep->space->geometries[index];
	to->finalist.ns = sweep->entries[index].ns[m->state];
	return tcb_candidate_identify(sweep->problem, sweep->target, &to->finalist.geometry, &packings,
				      to->finalist.variant, to->finalist.signature, err);
}

/* What differs from candidate INDEX by one step of one parameter, and was measured. */
static enum tcb_status add_neighbours(struct metering *m, size_t index, struct tcb_error *err)
{
	const struct tcb_lattice *lattice = &m->sweep->lattice;
	struct tcb_walk walk;
	size_t next, added = 0;

	if (index >= lattice->count)
		return TCB_OK;
	tcb_walk_init(&walk, lattice, lattice->coordinate + index * lattice->fields, TCB_REACH_ONE_BY_ONE, 1);
	while (added < NEIGHBOURS_MOST && (next = tcb_walk_next(&walk)) != TCB_ASK_NONE) {
		const struct tcb_sweep_entry *entry = &m->sweep->entries[next];
		const size_t before = m->count;
		if (entry->decided && entry->ns[m->state].median > 0)
			TCB_TRY(add(m, next, NULL, err));
		added += m->count - before;
	}
	return TCB_OK;
}

static enum tcb_status choose(struct metering *m, const struct tcb_decision *decision, struct tcb_error *err)
{
	const struct tcb_sweep *sweep = m->sweep;

	for (size_t i = 0; i < decision->finalist_count; i++)
		TCB_TRY(add(m, find_index(sweep, &decision->finalists[i].geometry), &decision->finalists[i], err));
	TCB_TRY(add(m, sweep->anchor, &decision->fallback, err));
	for (size_t i = 0; i < decision->tie_count && i < TIES_MOST; i++)
		TCB_TRY(add(m, find_index(sweep, &decision->tie_set[i]), NULL, err));
	return add_neighbours(m, m->list[0].index, err);
}

static enum tcb_status run_one(struct metering *m, struct metered *one, size_t run, struct tcb_error *err)
{
	struct tcb_energy energy;

	TCB_TRY(tcb_evaluator_meter(tcb_sweep_lead(m->sweep), &one->finalist.geometry, m->state, RUN_S, &energy, err));
	if (!(energy.metered.joules > 0) || !(energy.metered.calls > 0)) {
		one->failed = 1;
		return TCB_OK;
	}
	one->joules[run] = energy.metered.joules / energy.metered.calls;
	one->ns[run] = 1e9 * energy.metered.seconds / energy.metered.calls;
	one->watts += energy.metered.joules / energy.metered.seconds / RUNS;
	one->step_s = fmax(one->step_s, energy.metered.step_s);
	memcpy(m->source, energy.source, sizeof m->source);
	return TCB_OK;
}

static double cost_of(const struct metered *one, enum tcb_objective objective)
{
	const double joules = tcb_median(one->joules, RUNS);

	return one->failed ? INFINITY : objective == TCB_OBJECTIVE_EDP ? joules * tcb_median(one->ns, RUNS) : joules;
}

/* In turns, so that what changes with time is shared by all. */
static enum tcb_status run_all(struct metering *m, struct tcb_error *err)
{
	for (size_t run = 0; run < RUNS; run++)
		for (size_t i = 0; i < m->count; i++) {
			if (tcb_sweep_is_stopped(m->sweep))
				return tcb_fail(err, TCB_E_INTERRUPTED, "interrupted; what is finished is kept");
			tcb_sweep_progress(m->sweep, "energy", RUN_S * (double)(RUNS * m->count - run * m->count - i),
					   0);
			if (!m->list[i].failed)
				TCB_TRY(run_one(m, &m->list[i], run, err));
		}
	for (size_t i = 0; i < m->count; i++)
		m->list[i].cost = cost_of(&m->list[i], m->sweep->options->objective);
	return TCB_OK;
}

static int by_cost(const void *a, const void *b)
{
	const double x = ((const struct metered *)a)->cost, y = ((const struct metered *)b)->cost;

	return (x > y) - (x < y);
}

/* The objective of ONE over that of OTHER: by the medians, and between the extremes of both. */
static struct tcb_interval ratio_of(const struct metered *one, const struct metered *other,
				    enum tcb_objective objective)
{
	double low[2] = { INFINITY, INFINITY }, high[2] = { 0, 0 };
	const struct metered *both[2] = { one, other };

	for (int b = 0; b < 2; b++)
		for (size_t run = 0; run < RUNS; run++) {
			const double cost =
				both[b]->joules[run] * (objective == TCB_OBJECTIVE_EDP ? both[b]->ns[run] : 1);
			low[b] = fmin(low[b], cost);
			high[b] = fmax(high[b], cost);
		}
	return (struct tcb_interval){ one->cost / other->cost, low[0] / high[1], high[0] / low[1] };
}

static enum tcb_status send(struct metering *m, const struct metered *one, struct tcb_error *err)
{
	const struct tcb_sweep_entry *entry = &m->sweep->entries[one->index];
	double least = INFINITY, most = 0;

	for (size_t run = 0; run < RUNS; run++) {
		least = fmin(least, one->joules[run]);
		most = fmax(most, one->joules[run]);
	}
	const struct {
		const char *name;
		double value;
	} rows[] = { { TCB_ENERGY_JOULES, tcb_median(one->joules, RUNS) },
		     { TCB_ENERGY_LEAST, least },
		     { TCB_ENERGY_MOST, most },
		     { TCB_ENERGY_NS, tcb_median(one->ns, RUNS) },
		     { TCB_ENERGY_WATTS, one->watts },
		     { TCB_ENERGY_STEP, one->step_s } };
	enum { ROWS = sizeof rows / sizeof *rows };
	struct tcb_counter counters[ROWS];
	for (size_t i = 0; i < ROWS; i++) {
		counters[i] = (struct tcb_counter){ .state = m->state, .value = rows[i].value };
		strcpy(counters[i].name, rows[i].name);
		memcpy(counters[i].source, m->source, sizeof counters[i].source);
	}
	struct tcb_trial trial = { .geometry = one->finalist.geometry,
				   .outcome = TCB_OUTCOME_OK,
				   .class_checked = entry->class_checked,
				   .error_ratio = entry->error_ratio,
				   .pack_ns = entry->pack_ns,
				   .prepare_ns = entry->prepare_ns,
				   .verify_ns = entry->verify_ns,
				   .counter_count = ROWS,
				   .counters = counters };
	memcpy(trial.variant, one->finalist.variant, sizeof trial.variant);
	memcpy(trial.signature, one->finalist.signature, sizeof trial.signature);
	return tcb_sweep_send(m->sweep, &trial, err);
}

/* DECISION by the objective: M's list has the least first, COUNT of them without a failure. */
static enum tcb_status decide(const struct metering *m, size_t count, struct tcb_decision *decision,
			      struct tcb_error *err)
{
	const enum tcb_objective objective = m->sweep->options->objective;
	struct tcb_finalist *finalists = calloc(count, sizeof *finalists);
	struct tcb_geometry *ties = calloc(count, sizeof *ties);

	if (!finalists || !ties) {
		free(finalists);
		free(ties);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu finalists", count);
	}
	free(decision->finalists);
	free(decision->tie_set);
	decision->finalists = finalists;
	decision->finalist_count = count;
	decision->tie_set = ties;
	decision->tie_count = 0;
	decision->objective = objective;
	decision->joules = tcb_median(m->list[0].joules, RUNS);
	decision->regret = decision->flip_probability = NAN; /* of times */
	for (size_t i = 0; i < count; i++) {
		finalists[i] = m->list[i].finalist;
		finalists[i].ratio = ratio_of(&m->list[i], &m->list[0], objective);
		finalists[i].tied = i == 0 || finalists[i].ratio.lo <= 1;
		if (finalists[i].tied)
			ties[decision->tie_count++] = finalists[i].geometry;
		if (m->list[i].index == m->sweep->anchor) {
			decision->speedup = finalists[i].ratio;
			decision->default_joules = tcb_median(m->list[i].joules, RUNS);
		}
	}
	return TCB_OK;
}

static enum tcb_status judge(struct metering *m, struct tcb_decision *decision, struct tcb_error *err)
{
	size_t count = 0;

	TCB_TRY(choose(m, decision, err));
	TCB_TRY(run_all(m, err));
	qsort(m->list, m->count, sizeof *m->list, by_cost);
	for (; count < m->count && m->list[count].cost < INFINITY; count++)
		TCB_TRY(send(m, &m->list[count], err));
	if (count == 0)
		return tcb_fail(err, TCB_E_FAILED, "every finalist failed while its energy was measured");
	return decide(m, count, decision, err);
}

static enum tcb_status judge_state(struct tcb_sweep *sweep, enum tcb_state state, struct tcb_error *err)
{
	struct tcb_decision *decision = &sweep->out->decision[state];
	struct metering m = { .sweep = sweep, .state = state };

	if (!decision->valid)
		return TCB_OK;
	m.capacity = decision->finalist_count + 1 + TIES_MOST + NEIGHBOURS_MOST;
	m.list = calloc(m.capacity, sizeof *m.list);
	if (!m.list)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu finalists", m.capacity);
	const enum tcb_status status = judge(&m, decision, err);
	free(m.list);
	return status;
}

enum tcb_status tcb_sweep_judge_energy(struct tcb_sweep *sweep, struct tcb_error *err)
{
	if (sweep->options->objective == TCB_OBJECTIVE_TIME)
		return TCB_OK;
	const double begun_s = now_s();
	tcb_team_until(sweep->team, (struct tcb_deadline){ 0 });
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		TCB_TRY(judge_state(sweep, (enum tcb_state)s, err));
	sweep->waited_s += now_s() - begun_s;
	return TCB_OK;
}
