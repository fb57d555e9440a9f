/* SPDX-License-Identifier: MIT
 *
 * A few given geometries against each other and against the read limit: each
 * is verified first, then all are measured in paired rounds, so that ratios
 * hold on a machine whose speed drifts, on a CPU in legs, each in a worker
 * process of its own, since ratios move with the pages that its memory lies in
 * (search/legs.h).  One whose calls are so long that the
 * others would get few rounds has a few of its own, beside the first; where
 * there is no time for them either, it is left out.
 */
#include <math.h>
#include <string.h>

#include "base/kind.h"
#include "base/stats.h"
#include "base/util.h"
#include "search/legs.h"
#include "search/rounds.h"
#include "search/search.h"
#include "worker/evaluate.h"

enum { STEP = 10, LEAST = 3, ROUNDS_LEAST = 30, ROUNDS_MOST = 400, CHECK_SAMPLES = 3 };
static const double TIGHT_WIDTH = 0.005; /* of the ratio intervals */
static const double SECONDS = 20;        /* in each state, unless the budget says otherwise */
/* Of what is left: verifying one that may be left out, the rounds of one that is slow, and all that the rounds take
 * before the other limits are measured. */
static const double VERIFY_SHARE = 0.2, SLOW_SHARE = 0.2, ROUNDS_SHARE = 0.8;
static const double FIRST_LEAST_S = 5;  /* for what is needed, however much time was spent before, on another state */
static const double OBVIOUSLY_SLOW = 3; /* times the first: two samples of it tell nothing more */
static const double COUNT_LEAST_S = 0.5, COUNTED_NS = 0.2e9; /* seconds for it; of the calls that are counted */
enum { COUNTED_MOST = 20 };
enum { SLOW_LEAST = 2, SLOW_MOST = 5 }; /* rounds */
enum { LEGS = 6, LEG_MOST = 60 };       /* rounds */
static const double RENEW_SHARE = 0.25; /* of what is left: the first rounds of a leg, its start included */

/* A run, and what is known of each geometry. */
struct bench {
	struct tcb_evaluator *evaluator;
	const struct tcb_geometry *geometries;
	size_t count;
	const struct tcb_sweep_options *options;
	struct tcb_deadline deadline;                    /* of all; none: the geometries have all the time they take */
	struct tcb_deadline first;                       /* of what is needed for any result */
	struct tcb_deadline state_end;                   /* of the state that is measured; none as above */
	double call_ns[TCB_BENCH_MOST][TCB_STATE_COUNT]; /* of one call, as verified; NaN: left out */
	int has_legs;                                    /* worker processes differ: on a CPU */
	struct tcb_legs legs;                            /* of the rounds of the state that is measured */
	struct tcb_bench_result *out;
};

static double now_s(void)
{
	return 1e-9 * (double)tcb_clock_ns();
}

static struct tcb_deadline later_by(struct tcb_deadline deadline, double seconds)
{
	return deadline.ns ? (struct tcb_deadline){ deadline.ns + (uint64_t)(1e9 * seconds) } : deadline;
}

/* Lets the caller wait for a quiet machine: what there was time for there is time for after it.  Returns for how long.
 */
static double await_quiet(struct bench *bench)
{
	const struct tcb_sweep_options *options = bench->options;
	const double waited_s = options->await_quiet ? options->await_quiet(options->await_ctx) : 0;
	bench->deadline = later_by(bench->deadline, waited_s);
	bench->first = later_by(bench->first, waited_s);
	bench->state_end = later_by(bench->state_end, waited_s);
	return waited_s;
}

/* The first, and those that the caller cannot do without. */
static int is_needed(const struct bench *bench, size_t g)
{
	return g == 0 || g < bench->options->bench_needed;
}

static enum tcb_status refuse(const struct bench *bench, size_t g, const struct tcb_trial *trial, struct tcb_error *err)
{
	char text[TCB_GEOMETRY_TEXT_MAX];
	tcb_geometry_print(&bench->geometries[g], text);
	return tcb_fail(err, trial->outcome == TCB_OUTCOME_WRONG ? TCB_E_VERIFY : TCB_E_FAILED,
			"geometry %s cannot be measured: %s: %s", text, tcb_outcome_text(trial->outcome),
			trial->message);
}

static enum tcb_status no_time(struct tcb_error *err, const char *done)
{
	return tcb_fail(err, TCB_E_FAILED,
			"the time was over before the best and the default geometry were %s: give it more --budget, or "
			"wait until the machine is less busy",
			done);
}

/* Verifies geometry G. */
static enum tcb_status verify(struct bench *bench, size_t g, struct tcb_error *err)
{
	struct tcb_screen_rule rule = { .samples_min = CHECK_SAMPLES, .samples_max = CHECK_SAMPLES };
	const struct tcb_trial *trial;
	struct tcb_deadline until = is_needed(bench, g) ? bench->first : bench->deadline;
	if (until.ns && !is_needed(bench, g))
		until = tcb_deadline_in(VERIFY_SHARE * tcb_deadline_left_s(until));
	for (int s = 0; s < TCB_STATE_COUNT && g > 0; s++)
		rule.lose_ns[s] = is_needed(bench, g) ? 0 : OBVIOUSLY_SLOW * bench->call_ns[0][s];
	tcb_evaluator_until(bench->evaluator, until);
	TCB_TRY(tcb_evaluator_try(bench->evaluator, &bench->geometries[g], &rule, &trial, err));
	if (tcb_evaluator_was_late(bench->evaluator) && is_needed(bench, g))
		return no_time(err, "verified");
	if (trial->outcome != TCB_OUTCOME_OK && !tcb_evaluator_was_late(bench->evaluator))
		return refuse(bench, g, trial, err);
	for (size_t m = 0; m < trial->measurement_count; m++)
		bench->call_ns[g][trial->measurements[m].state] = trial->measurements[m].ns.median;
	return TCB_OK;
}

static int is_tight(const struct tcb_rounds *rounds, const size_t *rows, size_t count)
{
	size_t n = rounds->rounds;
	for (size_t i = 1; i < count; i++) {
		struct tcb_interval ratio =
			tcb_ratio_interval(tcb_rounds_row(rounds, rows[i], 0), tcb_rounds_row(rounds, 0, 0), n);
		if (ratio.hi - ratio.lo > TIGHT_WIDTH * ratio.median)
			return 0;
	}
	struct tcb_interval limit = tcb_ratio_interval(tcb_rounds_row(rounds, 0, 0), rounds->limit, n);
	return limit.hi - limit.lo <= TIGHT_WIDTH * limit.median;
}

static void tell(const struct tcb_sweep_options *options, enum tcb_state state, size_t rounds, struct tcb_deadline end)
{
	const struct tcb_progress progress = { .done = rounds,
					       .total = ROUNDS_MOST,
					       .left_s = tcb_deadline_left_s(end),
					       .expected_gain = NAN,
					       .phase = state == TCB_COLD ? "cold rounds" : "hot rounds" };

	if (options->progress)
		options->progress(options->progress_ctx, &progress);
}

/* What a call of geometry G takes in STATE, with those before it that keep the caches hot. */
static double call_s(const struct bench *bench, size_t g, enum tcb_state state)
{
	return 1e-9 * bench->call_ns[g][state] * (state == TCB_HOT ? 2 : 1);
}

/* The geometries that are measured in all rounds: without the slow ones, so that there are enough rounds. */
static size_t choose_rows(const struct bench *bench, enum tcb_state state, double seconds, size_t rows[TCB_BENCH_MOST])
{
	size_t count = 0;
	for (size_t g = 0; g < bench->count; g++) {
		const double needed_s = ROUNDS_LEAST * call_s(bench, g, state);
		if (is_needed(bench, g) || needed_s <= SLOW_SHARE * seconds)
			rows[count++] = g;
	}
	return count;
}

static void fill_row(const struct tcb_rounds *rounds, const struct tcb_legs *legs, size_t g, enum tcb_state state,
		     struct tcb_bench_result *out)
{
	const double *ns = tcb_rounds_row(rounds, g, 0);
	out->ns[state][g] = tcb_legs_interval(legs, ns, NULL, rounds->rounds);
	out->ratio[state][g] = tcb_legs_interval(legs, ns, tcb_rounds_row(rounds, 0, 0), rounds->rounds);
}

/* Begins another leg where it is time for one: those before have had their part of the time until END, or rounds
 * enough, and its first rounds, which took LEAD_S in the last one, leave time for others. */
static void go_on(struct bench *bench, const struct tcb_rounds *rounds, double begin_s, double lead_s,
		  struct tcb_deadline end)
{
	struct tcb_legs *legs = &bench->legs;
	const double left_s = end.ns ? tcb_deadline_left_s(end) : INFINITY, spent_s = now_s() - begin_s;
	const size_t held = rounds->rounds - legs->first[legs->count - 1];
	if (!bench->has_legs || legs->count == LEGS || lead_s > RENEW_SHARE * left_s ||
	    (held < LEG_MOST && spent_s * LEGS < (double)legs->count * (spent_s + left_s)))
		return;
	tcb_evaluator_renew(bench->evaluator);
	legs->first[legs->count++] = rounds->rounds;
}

static int has_all_legs(const struct bench *bench)
{
	return !bench->has_legs || bench->legs.count == LEGS;
}

/* Rounds of the rows until they tell enough, or until END. */
static enum tcb_status hold_rounds(struct bench *bench, struct tcb_rounds *rounds, enum tcb_state state,
				   const size_t *rows, size_t count, struct tcb_deadline end, struct tcb_error *err)
{
	const struct tcb_sweep_options *options = bench->options;
	double begin_s = now_s(), lead_s = 0;
	size_t before = 0;
	bench->legs = (struct tcb_legs){ .count = 1 };
	do {
		const double step_s = now_s();
		if (2 * tcb_rounds_quiet(rounds, rows, count, before) < rounds->rounds - before) /* of the last ones */
			end = later_by(end, await_quiet(bench));
		tcb_evaluator_until(bench->evaluator, bench->deadline.ns ? end : bench->deadline);
		if (rounds->rounds > 0)
			go_on(bench, rounds, begin_s, lead_s, bench->deadline.ns ? end : bench->deadline);
		before = rounds->rounds;
		if (options->stop && *options->stop)
			return tcb_fail(err, TCB_E_INTERRUPTED, "interrupted");
		TCB_TRY(tcb_rounds_add(rounds, bench->evaluator, state, rows, count, STEP, 1,
				       options->seed + rounds->rounds, err));
		if (bench->legs.first[bench->legs.count - 1] == before)
			lead_s = now_s() - step_s;
		tell(options, state, rounds->rounds, end);
	} while (rounds->rounds == before + STEP &&
		 (rounds->rounds < ROUNDS_LEAST || (rounds->rounds < ROUNDS_MOST && !tcb_deadline_is_over(end) &&
						    !(has_all_legs(bench) && is_tight(rounds, rows, count)))));
	/* Where the time was over before its first round. */
	bench->legs.count -= bench->legs.count > 1 && bench->legs.first[bench->legs.count - 1] == rounds->rounds;
	return TCB_OK;
}

/* However little time there is, a few rounds of the rows that are needed. */
static enum tcb_status hold_least(struct bench *bench, struct tcb_rounds *rounds, enum tcb_state state,
				  const size_t *rows, size_t count, struct tcb_error *err)
{
	while (count > 1 && !is_needed(bench, rows[count - 1]))
		count--;
	tcb_evaluator_until(bench->evaluator, bench->first);
	TCB_TRY(tcb_rounds_add(rounds, bench->evaluator, state, rows, count, LEAST, 0, bench->options->seed, err));
	return rounds->rounds > 0 ? TCB_OK : no_time(err, "measured");
}

/* A few rounds of each geometry that is not among ROWS, beside the first. */
static enum tcb_status hold_slow_rounds(struct bench *bench, enum tcb_state state, const size_t *rows, size_t row_count,
					struct tcb_error *err)
{
	for (size_t g = 1, next = 1; g < bench->count; g++) {
		if (next < row_count && rows[next] == g) {
			next++;
			continue;
		}
		const double left_s = SLOW_SHARE * tcb_deadline_left_s(bench->deadline);
		const double fit = left_s / (call_s(bench, 0, state) + call_s(bench, g, state));
		if (!(fit >= SLOW_LEAST)) /* NaN: it was not even verified */
			continue;
		struct tcb_rounds rounds;
		TCB_TRY(tcb_rounds_init(&rounds, bench->geometries, bench->count, err));
		tcb_evaluator_until(bench->evaluator, tcb_deadline_in(2 * left_s));
		enum tcb_status status = tcb_rounds_add(&rounds, bench->evaluator, state, (size_t[]){ 0, g }, 2,
							(size_t)fmin(fit, SLOW_MOST), 0, bench->options->seed, err);
		(void)tcb_rounds_settle(&rounds, (size_t[]){ 0, g }, 2, 0);
		if (status == TCB_OK && rounds.rounds >= SLOW_LEAST)
			fill_row(&rounds, &(struct tcb_legs){ .count = 1 }, g, state, bench->out);
		tcb_rounds_fini(&rounds);
		TCB_TRY(status);
	}
	return TCB_OK;
}

static enum tcb_status measure(struct bench *bench, enum tcb_state state, double seconds, struct tcb_error *err)
{
	struct tcb_bench_result *out = bench->out;
	size_t rows[TCB_BENCH_MOST];
	struct tcb_rounds rounds;
	const size_t count = choose_rows(bench, state, bench->deadline.ns ? seconds : INFINITY, rows);
	TCB_TRY(tcb_rounds_init(&rounds, bench->geometries, bench->count, err));
	const double share = bench->deadline.ns ? ROUNDS_SHARE : 1;
	enum tcb_status status = hold_rounds(bench, &rounds, state, rows, count, tcb_deadline_in(share * seconds), err);
	if (status == TCB_OK && rounds.rounds == 0)
		status = hold_least(bench, &rounds, state, rows, count, err);
	const size_t quiet = tcb_rounds_settle(&rounds, rows, count, 0);
	out->rounds[state] = rounds.knows_lost ? rounds.rounds : 0;
	out->quiet_rounds[state] = rounds.knows_lost ? quiet : 0;
	for (size_t i = 0; status == TCB_OK && i < count; i++) {
		fill_row(&rounds, &bench->legs, rows[i], state, out);
		if (isnan(out->ns[state][rows[i]].median) && is_needed(bench, rows[i]))
			status = tcb_fail(err, TCB_E_FAILED, "geometry %zu of %zu failed while it was measured",
					  rows[i] + 1, bench->count);
	}
	if (status == TCB_OK) {
		out->limit_ns[state] = tcb_median_interval(rounds.limit, rounds.rounds);
		out->limit_ratio[state] =
			tcb_ratio_interval(tcb_rounds_row(&rounds, 0, 0), rounds.limit, rounds.rounds);
		strncpy(out->limit_method[state], tcb_evaluator_limit_method(bench->evaluator, state),
			sizeof out->limit_method[state] - 1);
	}
	tcb_rounds_fini(&rounds);
	return status == TCB_OK ? hold_slow_rounds(bench, state, rows, count, err) : status;
}

/* The first geometry against another limit, where the device has it and there is time. */
static enum tcb_status measure_limit(struct bench *bench, enum tcb_state state, enum tcb_limit limit,
				     struct tcb_interval *ns_out, struct tcb_interval *ratio_out, struct tcb_error *err)
{
	static const size_t FIRST[] = { 0 };
	struct tcb_rounds rounds;
	if (tcb_evaluator_use_limit(bench->evaluator, limit) != 0)
		return TCB_OK;
	TCB_TRY(tcb_rounds_init(&rounds, bench->geometries, 1, err));
	enum tcb_status status =
		tcb_rounds_add(&rounds, bench->evaluator, state, FIRST, 1, ROUNDS_LEAST, 1, bench->options->seed, err);
	if (status == TCB_OK && rounds.rounds > 0) {
		*ns_out = tcb_median_interval(rounds.limit, rounds.rounds);
		*ratio_out = tcb_ratio_interval(tcb_rounds_row(&rounds, 0, 0), rounds.limit, rounds.rounds);
	}
	tcb_rounds_fini(&rounds);
	(void)tcb_evaluator_use_limit(bench->evaluator, TCB_LIMIT_READ);
	return status;
}

static enum tcb_status measure_limits(struct bench *bench, enum tcb_state state, struct tcb_error *err)
{
	struct tcb_bench_result *out = bench->out;
	tcb_evaluator_until(bench->evaluator, bench->state_end);
	TCB_TRY(measure_limit(bench, state, TCB_LIMIT_OVERLAP, &out->overlap_ns[state], &out->overlap_ratio[state],
			      err));
	TCB_TRY(measure_limit(bench, state, TCB_LIMIT_INDEPENDENT, &out->independent_ns[state],
			      &out->independent_ratio[state], err));
	TCB_TRY(measure_limit(bench, state, TCB_LIMIT_COMPUTE, &out->compute_ns[state], &out->compute_ratio[state],
			      err));
	if (out->compute_ns[state].median > 0)
		strncpy(out->compute_method[state], tcb_evaluator_limit_method(bench->evaluator, state),
			sizeof out->compute_method[state] - 1);
	return TCB_OK;
}

/* Counts calls of the first geometry.  One that dies of it, or there being no time, leaves the times as they are. */
static enum tcb_status count_first(struct bench *bench, enum tcb_state state, struct tcb_error *err)
{
	const struct tcb_sweep_options *options = bench->options;
	const struct tcb_counter *counters;
	size_t count;
	const double fit = COUNTED_NS / bench->out->ns[state][0].median;
	if (!options->count || tcb_deadline_left_s(bench->deadline) < COUNT_LEAST_S)
		return TCB_OK;
	tcb_evaluator_until(bench->evaluator, bench->deadline);
	const enum tcb_status status =
		tcb_evaluator_counters(bench->evaluator, &bench->geometries[0], state,
				       (unsigned)fmin(fmax(fit, 1), COUNTED_MOST), &counters, &count, err);
	if (status != TCB_OK)
		return status == TCB_E_FAILED ? TCB_OK : status;
	for (size_t i = 0; i < count; i++)
		if (options->count(options->count_ctx, &counters[i]) != 0)
			return tcb_fail(err, TCB_E_NOMEM, "out of memory for counters");
	return TCB_OK;
}

/* The states after each other, each with its part of what is left. */
static enum tcb_status measure_states(struct bench *bench, struct tcb_error *err)
{
	int states = 0;
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		states += bench->options->states >> s & 1u;
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		if (!(bench->options->states >> s & 1u))
			continue;
		const double seconds = bench->deadline.ns ? tcb_deadline_left_s(bench->deadline) / states : SECONDS;
		bench->state_end = bench->deadline.ns ? tcb_deadline_in(seconds) : bench->deadline;
		TCB_TRY(measure(bench, (enum tcb_state)s, seconds, err));
		TCB_TRY(measure_limits(bench, (enum tcb_state)s, err));
		states--;
	}
	return TCB_OK;
}

enum tcb_status tcb_bench_run(const struct tcb_op *op, const struct tcb_problem *problem, const struct tcb_place *place,
			      const struct tcb_sweep_options *options, const struct tcb_geometry *geometries,
			      size_t count, struct tcb_bench_result *out, struct tcb_error *err)
{
	*out = (struct tcb_bench_result){ 0 };
	if (count == 0 || count > TCB_BENCH_MOST)
		return tcb_fail(err, TCB_E_USAGE, "%zu geometries to compare; give 1 to %d", count, TCB_BENCH_MOST);
	const struct tcb_evaluate_options evaluation = tcb_sweep_evaluation(options);
	struct bench bench = { .geometries = geometries,
			       .count = count,
			       .options = options,
			       .deadline = evaluation.deadline,
			       .first =
				       evaluation.deadline.ns
					       ? tcb_deadline_later(evaluation.deadline,
								    tcb_deadline_in(fmax(TCB_FIRST_S - options->spent_s,
											 FIRST_LEAST_S)))
					       : evaluation.deadline,
			       .has_legs = tcb_kind_of(&place->device.target)->has_threads,
			       .legs = { .count = 1 },
			       .out = out };
	for (size_t g = 0; g < count; g++)
		for (int s = 0; s < TCB_STATE_COUNT; s++)
			bench.call_ns[g][s] = NAN;
	TCB_TRY(tcb_evaluator_create(op, problem, place, &evaluation, &bench.evaluator, err));
	enum tcb_status status = TCB_OK;
	for (size_t g = 0; g < count && status == TCB_OK; g++)
		status = verify(&bench, g, err);
	if (status == TCB_OK)
		status = measure_states(&bench, err);
	for (int s = 0; s < TCB_STATE_COUNT && status == TCB_OK; s++)
		if (options->states >> s & 1u)
			status = count_first(&bench, (enum tcb_state)s, err);
	tcb_evaluator_destroy(bench.evaluator);
	return status;
}
