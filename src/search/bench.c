/* SPDX-License-Identifier: MIT
 *
 * A few given geometries against each other and against the read limit: each
 * is verified first, then all are measured in paired rounds, so that ratios
 * hold on a machine whose speed drifts.
 */
#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "base/util.h"
#include "search/rounds.h"
#include "search/search.h"
#include "worker/evaluate.h"

enum { STEP = 10, ROUNDS_LEAST = 30, ROUNDS_MOST = 400, CHECK_SAMPLES = 3 };
static const double TIGHT_WIDTH = 0.005; /* of the ratio intervals */
static const double SECONDS = 20;        /* in each state, unless the budget says otherwise */

static double now_s(void)
{
	return 1e-9 * (double)tcb_clock_ns();
}

static enum tcb_status verify(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometries, size_t count,
			      struct tcb_error *err)
{
	struct tcb_screen_rule rule = { .samples_min = CHECK_SAMPLES, .samples_max = CHECK_SAMPLES };
	for (size_t g = 0; g < count; g++) {
		const struct tcb_trial *trial;
		TCB_TRY(tcb_evaluator_try(evaluator, &geometries[g], &rule, &trial, err));
		if (trial->outcome == TCB_OUTCOME_OK)
			continue;
		char text[TCB_GEOMETRY_TEXT_MAX];
		tcb_geometry_print(&geometries[g], text);
		enum tcb_status status = trial->outcome == TCB_OUTCOME_WRONG ? TCB_E_VERIFY : TCB_E_FAILED;
		return tcb_fail(err, status, "geometry %s cannot be measured: %s: %s", text,
				tcb_outcome_text(trial->outcome), trial->message);
	}
	return TCB_OK;
}

static int is_tight(const struct tcb_rounds *rounds)
{
	size_t n = rounds->rounds;
	for (size_t g = 1; g < rounds->rows; g++) {
		struct tcb_interval ratio =
			tcb_ratio_interval(tcb_rounds_row(rounds, g, 0), tcb_rounds_row(rounds, 0, 0), n);
		if (ratio.hi - ratio.lo > TIGHT_WIDTH * ratio.median)
			return 0;
	}
	struct tcb_interval limit = tcb_ratio_interval(tcb_rounds_row(rounds, 0, 0), rounds->limit, n);
	return limit.hi - limit.lo <= TIGHT_WIDTH * limit.median;
}

static void tell(const struct tcb_sweep_options *options, enum tcb_state state, size_t rounds, double end_s)
{
	const struct tcb_progress progress = { .done = rounds,
					       .total = ROUNDS_MOST,
					       .left_s = fmax(end_s - now_s(), 0),
					       .expected_gain = NAN,
					       .phase = state == TCB_COLD ? "cold rounds" : "hot rounds" };

	if (options->progress)
		options->progress(options->progress_ctx, &progress);
}

static enum tcb_status measure(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometries, size_t count,
			       enum tcb_state state, const struct tcb_sweep_options *options, double end_s,
			       struct tcb_bench_result *out, struct tcb_error *err)
{
	static const size_t ALL[TCB_BENCH_MOST] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	struct tcb_rounds rounds;
	TCB_TRY(tcb_rounds_init(&rounds, geometries, count, err));
	enum tcb_status status = TCB_OK;
	do {
		if (options->stop && *options->stop)
			status = tcb_fail(err, TCB_E_INTERRUPTED, "interrupted");
		else
			status = tcb_rounds_add(&rounds, evaluator, state, ALL, count, STEP, 1,
						options->seed + rounds.rounds, err);
		tell(options, state, rounds.rounds, end_s);
	} while (status == TCB_OK && (rounds.rounds < ROUNDS_LEAST ||
				      (rounds.rounds < ROUNDS_MOST && now_s() < end_s && !is_tight(&rounds))));
	const double *first = tcb_rounds_row(&rounds, 0, 0);
	for (size_t g = 0; status == TCB_OK && g < count; g++) {
		const double *ns = tcb_rounds_row(&rounds, g, 0);
		out->ns[state][g] = tcb_median_interval(ns, rounds.rounds);
		out->ratio[state][g] = tcb_ratio_interval(ns, first, rounds.rounds);
		if (isnan(out->ns[state][g].median))
			status = tcb_fail(err, TCB_E_FAILED, "geometry %zu of %zu failed while it was measured", g + 1,
					  count);
	}
	if (status == TCB_OK) {
		out->limit_ns[state] = tcb_median_interval(rounds.limit, rounds.rounds);
		out->limit_ratio[state] = tcb_ratio_interval(first, rounds.limit, rounds.rounds);
		strncpy(out->limit_method[state], tcb_evaluator_limit_method(evaluator, state),
			sizeof out->limit_method[state] - 1);
	}
	tcb_rounds_fini(&rounds);
	return status;
}

/* The first geometry against another limit, where the device has it. */
static enum tcb_status measure_limit(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry,
				     enum tcb_state state, const struct tcb_sweep_options *options,
				     enum tcb_limit limit, struct tcb_interval *ns_out, struct tcb_interval *ratio_out,
				     struct tcb_error *err)
{
	static const size_t FIRST[] = { 0 };
	struct tcb_rounds rounds;
	if (tcb_evaluator_use_limit(evaluator, limit) != 0)
		return TCB_OK;
	TCB_TRY(tcb_rounds_init(&rounds, geometry, 1, err));
	enum tcb_status status =
		tcb_rounds_add(&rounds, evaluator, state, FIRST, 1, ROUNDS_LEAST, 1, options->seed, err);
	if (status == TCB_OK) {
		*ns_out = tcb_median_interval(rounds.limit, rounds.rounds);
		*ratio_out = tcb_ratio_interval(tcb_rounds_row(&rounds, 0, 0), rounds.limit, rounds.rounds);
	}
	tcb_rounds_fini(&rounds);
	(void)tcb_evaluator_use_limit(evaluator, TCB_LIMIT_READ);
	return status;
}

static enum tcb_status measure_limits(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry,
				      enum tcb_state state, const struct tcb_sweep_options *options,
				      struct tcb_bench_result *out, struct tcb_error *err)
{
	TCB_TRY(measure_limit(evaluator, geometry, state, options, TCB_LIMIT_OVERLAP, &out->overlap_ns[state],
			      &out->overlap_ratio[state], err));
	TCB_TRY(measure_limit(evaluator, geometry, state, options, TCB_LIMIT_COMPUTE, &out->compute_ns[state],
			      &out->compute_ratio[state], err));
	if (out->compute_ns[state].median > 0)
		strncpy(out->compute_method[state], tcb_evaluator_limit_method(evaluator, state),
			sizeof out->compute_method[state] - 1);
	return TCB_OK;
}

enum tcb_status tcb_bench_run(const struct tcb_op *op, const struct tcb_problem *problem, const struct tcb_place *place,
			      const struct tcb_sweep_options *options, const struct tcb_geometry *geometries,
			      size_t count, struct tcb_bench_result *out, struct tcb_error *err)
{
	*out = (struct tcb_bench_result){ 0 };
	if (count == 0 || count > TCB_BENCH_MOST)
		return tcb_fail(err, TCB_E_USAGE, "%zu geometries to compare; give 1 to %d", count, TCB_BENCH_MOST);
	struct tcb_evaluator *evaluator = NULL;
	const struct tcb_evaluate_options evaluation = tcb_sweep_evaluation(options);
	TCB_TRY(tcb_evaluator_create(op, problem, place, &evaluation, &evaluator, err));
	enum tcb_status status = verify(evaluator, geometries, count, err);
	int states = 0;
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		states += options->states >> s & 1u;
	double seconds = options->budget_s > 0 && states > 0 ? options->budget_s / states : SECONDS;
	for (int s = 0; status == TCB_OK && s < TCB_STATE_COUNT; s++)
		if (options->states >> s & 1u) {
			status = measure(evaluator, geometries, count, (enum tcb_state)s, options, now_s() + seconds,
					 out, err);
			if (status == TCB_OK)
				status = measure_limits(evaluator, geometries, (enum tcb_state)s, options, out, err);
		}
	tcb_evaluator_destroy(evaluator);
	return status;
}
