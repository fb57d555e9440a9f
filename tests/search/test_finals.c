/* SPDX-License-Identifier: MIT
 *
 * The finals alone, from screening scores that the test makes up.
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "fake_evaluator.h"
#include "search/finals.h"

static struct tcb_problem problem;
static struct tcb_space *space;
static struct tcb_interval *score;
static struct tcb_evaluator *evaluator;
static struct tcb_finals_setup setup;

/* What finals_report saw. */
static struct {
	size_t finalists, failures, samples, winner, others, disturbed;
} seen;

static enum tcb_status report(void *ctx, size_t index, size_t rank, const struct tcb_measurement *measurement,
			      struct tcb_error *err)
{
	(void)ctx, (void)err;
	if (!measurement) {
		assert_true(rank == SIZE_MAX);
		seen.failures++;
		return TCB_OK;
	}
	if (!measurement->sample_count) { /* it was no finalist, and comes after them */
		assert_int_equal(rank, seen.finalists + seen.others);
		seen.others++;
		return TCB_OK;
	}
	assert_int_equal(rank, seen.finalists);
	assert_int_equal(seen.others, 0);
	assert_int_equal(measurement->stage, TCB_STAGE_FINAL);
	for (size_t i = 0; i < measurement->sample_count; i++)
		assert_true(measurement->samples[i] > 0);
	for (size_t i = 0; measurement->lost && i < measurement->sample_count; i++)
		seen.disturbed += measurement->lost[i] > 0.03;
	if (rank == 0)
		seen.winner = index;
	seen.samples = measurement->sample_count;
	seen.finalists++;
	return TCB_OK;
}

/* A score of TRUTH with an interval of +- WIDTH. */
static struct tcb_interval scored(double truth, double width)
{
	return (struct tcb_interval){ truth, truth * (1 - width), truth * (1 + width) };
}

static int set_up(void **state)
{
	(void)state;
	fake_world_reset(1, &problem);
	memset(&seen, 0, sizeof seen);
	struct tcb_evaluate_options options = { .states = 1u << TCB_COLD };
	if (tcb_space_create(&fake_op, &problem, &fake_cpu.device.target, 0, &space, NULL) != TCB_OK ||
	    tcb_evaluator_create(&fake_op, &problem, &fake_cpu, &options, &evaluator, NULL) != TCB_OK)
		return -1;
	score = malloc(space->count * sizeof *score);
	double anchor_ns = fake_landscape(&space->geometries[space->default_index], TCB_COLD);
	for (size_t i = 0; i < space->count; i++)
		score[i] = scored(fake_landscape(&space->geometries[i], TCB_COLD) / anchor_ns, 0.03);
	setup = (struct tcb_finals_setup){ .evaluator = evaluator,
					   .op = &fake_op,
					   .problem = &problem,
					   .space = space,
					   .state = TCB_COLD,
					   .score = score,
					   .anchor = space->default_index,
					   .anchor_ns = anchor_ns,
					   .finalists = 12,
					   .seconds = 100,
					   .seed = 1,
					   .report = report };
	return score ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	tcb_evaluator_destroy(evaluator);
	tcb_space_destroy(space);
	free(score);
	return 0;
}

static size_t best_index(void)
{
	size_t best = 0;
	for (size_t i = 1; i < space->count; i++)
		if (fake_world.true_ns(&space->geometries[i], TCB_COLD) <
		    fake_world.true_ns(&space->geometries[best], TCB_COLD))
			best = i;
	return best;
}

static int is_tied(const struct tcb_decision *decision, size_t index)
{
	for (size_t i = 0; i < decision->tie_count; i++)
		if (tcb_geometry_equal(&decision->tie_set[i], &space->geometries[index]))
			return 1;
	return 0;
}

static void test_best_wins(void **state)
{
	(void)state;
	struct tcb_decision decision;
	assert_int_equal(tcb_finals_run(&setup, &decision, NULL), TCB_OK);
	assert_true(decision.valid);
	assert_int_equal(seen.finalists, decision.finalist_count);
	assert_true(decision.finalist_count >= 2 && decision.finalist_count <= 13);
	assert_true(seen.samples >= 30);
	assert_true(tcb_geometry_equal(&space->geometries[seen.winner], &decision.finalists[0].geometry));
	assert_true(is_tied(&decision, best_index()));
	for (size_t f = 2; f < decision.finalist_count; f++)
		assert_true(decision.finalists[f].ratio.median >= decision.finalists[f - 1].ratio.median);
	tcb_decision_fini(&decision);
}

/* The default is hit harder by others than the rest: it is longer.  What they disturbed does not count, so the gain is
 * what it is without them. */
static void test_others_do_not_count(void **state)
{
	(void)state;
	struct tcb_decision decision;
	assert_int_equal(tcb_finals_run(&setup, &decision, NULL), TCB_OK);
	const double gain = decision.speedup.median;
	assert_true(decision.rounds > 0 && decision.quiet_rounds == decision.rounds);
	tcb_decision_fini(&decision);
	memset(&seen, 0, sizeof seen);
	fake_world.others = 0.6;
	fake_world.slice_s = 0.1;
	fake_world.again_most = 0;
	assert_int_equal(tcb_finals_run(&setup, &decision, NULL), TCB_OK);
	assert_true(decision.quiet_rounds < decision.rounds && decision.quiet_rounds >= 9);
	assert_int_equal(seen.samples, decision.rounds); /* all are reported, and what others took */
	assert_true(seen.disturbed > 0);
	assert_true(fabs(decision.speedup.median / gain - 1) < 0.03);
	assert_true(decision.finalists[0].ns.hi < 1.2e6); /* no wait is in it */
	tcb_decision_fini(&decision);
	/* Taken again, nearly all are undisturbed. */
	memset(&seen, 0, sizeof seen);
	fake_world.again_most = 5;
	assert_int_equal(tcb_finals_run(&setup, &decision, NULL), TCB_OK);
	assert_true(10 * decision.quiet_rounds >= 9 * decision.rounds);
	tcb_decision_fini(&decision);
}

/* Calls that are longer than what others leave are never undisturbed: that is told, and all rounds count. */
static void test_others_disturb_all(void **state)
{
	(void)state;
	struct tcb_decision decision;
	fake_world.others = 0.5;
	fake_world.slice_s = 0.0005;
	assert_int_equal(tcb_finals_run(&setup, &decision, NULL), TCB_OK);
	assert_true(decision.valid);
	assert_int_equal(decision.quiet_rounds, 0);
	assert_true(decision.rounds >= 3);
	assert_true(decision.speedup.lo > 0);
	tcb_decision_fini(&decision);
	memset(&seen, 0, sizeof seen);
	fake_world.others_unseen = 1; /* where nobody can know, nothing is said of it */
	assert_int_equal(tcb_finals_run(&setup, &decision, NULL), TCB_OK);
	assert_true(decision.valid);
	assert_int_equal(decision.rounds, 0);
	tcb_decision_fini(&decision);
}

/* As many as are wanted are reported, however few the finals leave; and no more than there are. */
static void test_others_are_reported(void **state)
{
	(void)state;
	struct tcb_decision decision;
	setup.finalists = 2;
	setup.reported = 9;
	assert_int_equal(tcb_finals_run(&setup, &decision, NULL), TCB_OK);
	assert_int_equal(seen.finalists, decision.finalist_count);
	assert_int_equal(seen.finalists + seen.others, 9);
	tcb_decision_fini(&decision);
	seen.finalists = seen.others = 0;
	setup.reported = space->count + 100;
	assert_int_equal(tcb_finals_run(&setup, &decision, NULL), TCB_OK);
	assert_int_equal(seen.finalists + seen.others, space->count);
	tcb_decision_fini(&decision);
}

/* Scores that mislead: the best has one of the worst scores that still may win. */
static void test_interval_decides_not_the_score(void **state)
{
	(void)state;
	struct tcb_decision decision;
	size_t best = best_index();
	fake_world.true_ns = fake_landscape;
	score[best] = (struct tcb_interval){ 1.2 * score[best].median, score[best].lo, 1.5 * score[best].hi };
	assert_int_equal(tcb_finals_run(&setup, &decision, NULL), TCB_OK);
	assert_true(is_tied(&decision, best));
	tcb_decision_fini(&decision);
}

static double flat(const struct tcb_geometry *geometry, enum tcb_state state)
{
	(void)geometry, (void)state;
	return 1e6;
}

/* All are equal: the simplest of the finalists wins, nobody is thrown out without evidence, the regret is small. */
static void test_all_equal(void **state)
{
	(void)state;
	struct tcb_decision decision;
	fake_world.true_ns = flat;
	for (size_t i = 0; i < space->count; i++)
		score[i] = scored(1, 0.03);
	setup.anchor_ns = 1e6;
	assert_int_equal(tcb_finals_run(&setup, &decision, NULL), TCB_OK);
	assert_true(decision.tie_count > 0.97 * (double)space->count);
	assert_true(decision.regret < 0.015);
	assert_true(fabs(decision.speedup.median - 1) < 0.01);
	const struct tcb_geometry *winner = &decision.finalists[0].geometry;
	for (size_t f = 1; f < decision.finalist_count; f++) {
		const struct tcb_finalist *other = &decision.finalists[f];
		int is_simpler = other->geometry.knob[TCB_KNOB_ISA] < winner->knob[TCB_KNOB_ISA];
		assert_true(!is_simpler || other->ratio.lo > 1 || other->ratio.median > 1);
	}
	tcb_decision_fini(&decision);
}

/* A simple one that is 2 % slower does not win by being simple. */
static double simple_is_slower(const struct tcb_geometry *geometry, enum tcb_state state)
{
	(void)state;
	return geometry->knob[TCB_KNOB_ISA] == TCB_ISA_AVX512 ? 1e6 : 1.02e6;
}

static void test_simpler_but_slower_loses(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 5; seed++) {
		struct tcb_decision decision;
		fake_world.true_ns = simple_is_slower;
		for (size_t i = 0; i < space->count; i++)
			score[i] = i % 200 == 3 ? scored(1, 0.03) : (struct tcb_interval){ NAN, NAN, NAN };
		score[setup.anchor] = scored(1, 0.03);
		setup.anchor_ns = 1e6;
		setup.seed = seed;
		seen.finalists = 0;
		assert_int_equal(tcb_finals_run(&setup, &decision, NULL), TCB_OK);
		assert_int_equal(decision.finalists[0].geometry.knob[TCB_KNOB_ISA], TCB_ISA_AVX512);
		tcb_decision_fini(&decision);
	}
}

/* No time: the finals proper are held nevertheless, and who had no chance to race is decided by its score. */
static void test_without_time(void **state)
{
	(void)state;
	struct tcb_decision decision;
	setup.seconds = 0;
	assert_int_equal(tcb_finals_run(&setup, &decision, NULL), TCB_OK);
	assert_true(decision.valid);
	assert_int_equal(seen.samples, 30);
	assert_true(fake_world.now_s < 5);
	assert_true(is_tied(&decision, best_index()));
	for (size_t i = 0; i < decision.tie_count; i++)
		assert_true(fake_landscape(&decision.tie_set[i], TCB_COLD) < 1.35e6);
	tcb_decision_fini(&decision);
}

static double scalar_is_hopeless(const struct tcb_geometry *geometry, enum tcb_state state)
{
	return fake_landscape(geometry, state) * (geometry->knob[TCB_KNOB_ISA] == TCB_ISA_SCALAR ? 100 : 1);
}

/* Few were tried, and some of them take hundreds of times as long: those are not called again, nor is time kept back
 * for their calls. */
static void test_hopeless_few(void **state)
{
	(void)state;
	static const double seconds[] = { 0, 2, 100 };
	fake_world.true_ns = scalar_is_hopeless;
	setup.round_s = 1e-9 * setup.anchor_ns;
	for (size_t i = 0; i < space->count; i++) {
		const int is_scalar = space->geometries[i].knob[TCB_KNOB_ISA] == TCB_ISA_SCALAR;
		if (is_scalar && i % 500 == 0)
			score[i] = scored(scalar_is_hopeless(&space->geometries[i], TCB_COLD) / setup.anchor_ns, 0.03);
		else if (i != setup.anchor && (is_scalar || i % 500 != 0))
			score[i] = (struct tcb_interval){ NAN, NAN, NAN };
	}
	for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
		struct tcb_decision decision;
		const double start = fake_world.now_s;
		setup.seconds = seconds[i];
		seen.finalists = 0;
		assert_int_equal(tcb_finals_run(&setup, &decision, NULL), TCB_OK);
		assert_true(decision.finalist_count >= 2 && seen.samples >= 30);
		for (size_t f = 0; f < decision.finalist_count; f++)
			assert_int_not_equal(decision.finalists[f].geometry.knob[TCB_KNOB_ISA], TCB_ISA_SCALAR);
		assert_true(fake_world.now_s - start < 5);
		tcb_decision_fini(&decision);
	}
}

static double long_calls(const struct tcb_geometry *geometry, enum tcb_state state)
{
	return 50 * fake_landscape(geometry, state);
}

/* Calls of 50 ms and more: fewer finalists and rounds, the best among them, and the time is kept. */
static void test_long_calls(void **state)
{
	(void)state;
	static const double seconds[] = { 4, 10, 30 };
	double least = 0;
	fake_world.true_ns = long_calls;
	setup.anchor_ns *= 50;
	for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
		struct tcb_decision decision;
		const double start = fake_world.now_s;
		setup.seconds = seconds[i];
		setup.round_s = 1e-9 * setup.anchor_ns;
		seen.finalists = 0;
		assert_int_equal(tcb_finals_run(&setup, &decision, NULL), TCB_OK);
		if (fake_world.now_s - start > 1.25 * seconds[i]) /* of a quarter of a sweep's budget */
			fail_msg("%g s instead of %g, %zu finalists, %zu rounds", fake_world.now_s - start, seconds[i],
				 seen.finalists, seen.samples);
		assert_true(decision.valid && decision.finalist_count >= 2 && seen.samples >= 3);
		assert_true((double)(seen.finalists * seen.samples) >= least);
		least = (double)(seen.finalists * seen.samples);
		assert_true(is_tied(&decision, best_index()));
		assert_true(decision.speedup.median > 1.2);
		tcb_decision_fini(&decision);
	}
}

static int stop_now(void *ctx, double left_s)
{
	(void)ctx;
	assert_true(left_s >= 0);
	return 1;
}

static void test_interrupt_and_nothing(void **state)
{
	(void)state;
	struct tcb_decision decision;
	setup.tick = stop_now;
	assert_int_equal(tcb_finals_run(&setup, &decision, NULL), TCB_E_INTERRUPTED);
	assert_false(decision.valid);
	tcb_decision_fini(&decision);
	setup.tick = NULL;
	for (size_t i = 0; i < space->count; i++)
		score[i].median = NAN;
	assert_int_equal(tcb_finals_run(&setup, &decision, NULL), TCB_OK);
	assert_false(decision.valid);
	tcb_decision_fini(&decision);
	/* One candidate, the anchor itself. */
	score[setup.anchor] = scored(1, 0.03);
	assert_int_equal(tcb_finals_run(&setup, &decision, NULL), TCB_OK);
	assert_true(decision.valid && decision.tie_count == 1 && decision.finalist_count == 1);
	assert_true(decision.speedup.median == 1 && isnan(decision.regret));
	tcb_decision_fini(&decision);
}

static int all_break(const struct tcb_geometry *geometry)
{
	(void)geometry;
	return 1;
}

static void test_everything_breaks(void **state)
{
	(void)state;
	struct tcb_decision decision;
	fake_world.broken = all_break;
	fake_world.break_rounds_after = 12; /* after the probe */
	assert_int_equal(tcb_finals_run(&setup, &decision, NULL), TCB_OK);
	assert_false(decision.valid);
	assert_true(seen.failures > 12);
	tcb_decision_fini(&decision);
	fake_world.break_rounds_after = 1; /* in the probe */
	assert_int_equal(tcb_finals_run(&setup, &decision, NULL), TCB_OK);
	assert_false(decision.valid);
	tcb_decision_fini(&decision);
}

/* Candidates that are equally fast in the mean, but not within a process. */
static double alike(const struct tcb_geometry *geometry, enum tcb_state state)
{
	(void)state;
	return fake_hash(geometry, 11) < 0.5 ? 1e6 : 1.2e6;
}

/* The ratio of two finalists moves by several per cent from process to process: with one worker it is called certain
 * where it is not, with legs the intervals hold, and the time is kept. */
static void test_legs(void **state)
{
	(void)state;
	size_t wrong[2] = { 0, 0 }, said[2] = { 0, 0 };
	fake_world.true_ns = alike;
	fake_world.placement = 0.03;
	for (size_t i = 0; i < space->count; i++)
		score[i] = i % 100 == 3 || i == setup.anchor
				   ? scored(alike(&space->geometries[i], TCB_COLD) / 1e6, 0.03)
				   : (struct tcb_interval){ NAN, NAN, NAN };
	setup.anchor_ns = alike(&space->geometries[setup.anchor], TCB_COLD);
	setup.report = NULL;
	setup.seconds = 10;
	for (int repeat = 0; repeat < 40; repeat++) {
		struct tcb_decision decision;
		const double start = fake_world.now_s;
		const int legs = repeat % 2;
		setup.renew_s = fake_world.renew_s = legs ? 0.05 : 0;
		setup.seed = (uint64_t)repeat;
		tcb_evaluator_renew(evaluator);
		assert_int_equal(tcb_finals_run(&setup, &decision, NULL), TCB_OK);
		assert_true(fake_world.now_s - start < 1.1 * setup.seconds);
		for (size_t f = 1; f < decision.finalist_count; f++) {
			const struct tcb_finalist *finalist = &decision.finalists[f];
			const double truth =
				alike(&finalist->geometry, TCB_COLD) / alike(&decision.finalists[0].geometry, TCB_COLD);
			said[legs]++;
			wrong[legs] += !(finalist->ratio.lo <= truth && truth <= finalist->ratio.hi);
		}
		tcb_decision_fini(&decision);
	}
	print_message("intervals that miss: %zu of %zu in one process, %zu of %zu with legs\n", wrong[0], said[0],
		      wrong[1], said[1]);
	assert_true((double)wrong[0] > 0.4 * (double)said[0]);
	/* The winner is the luckiest of many, so that a few more miss than one in twenty. */
	assert_true((double)wrong[1] < 0.15 * (double)said[1]);
}

/* Scores by the luck of the process that took them. */
static void score_as_now(void)
{
	const double anchor_ns = alike(&space->geometries[setup.anchor], TCB_COLD);
	const uint64_t process = fake_world.seed * 1000 + fake_world.created;
	for (size_t i = 0; i < space->count; i++) {
		const struct tcb_geometry *geometry = &space->geometries[i];
		const double luck = fake_world.placement * 2 * (fake_hash(geometry, process + TCB_COLD) - 0.5);
		score[i] = i % 100 == 3 || i == setup.anchor
				   ? scored(alike(geometry, TCB_COLD) / anchor_ns * exp(luck), 0.03)
				   : (struct tcb_interval){ NAN, NAN, NAN };
	}
}

/* Of 40 finals, how many said a gain, and how many of these were wrong. */
static void count_gains(int scores_are_as_now, size_t *wrong, size_t *said)
{
	*wrong = *said = 0;
	for (int repeat = 0; repeat < 40; repeat++) {
		struct tcb_decision decision;
		setup.seed = (uint64_t)repeat;
		if (scores_are_as_now)
			score_as_now();
		tcb_evaluator_renew(evaluator);
		if (!scores_are_as_now)
			score_as_now();
		assert_int_equal(tcb_finals_run(&setup, &decision, NULL), TCB_OK);
		const double truth = alike(&space->geometries[setup.anchor], TCB_COLD) /
				     alike(&decision.finalists[0].geometry, TCB_COLD);
		if (decision.speedup.median != 1) { /* else it is the anchor */
			++*said;
			*wrong += !(decision.speedup.lo <= truth && truth <= decision.speedup.hi);
		}
		tcb_decision_fini(&decision);
	}
}

/* There is no time for legs: what the scores say of the finalists tells how far one process may be off, and the gain is
 * no surer than that.  It takes another process than the scores': where they are of the one that is there, the finals
 * begin a new one. */
static void test_luck_of_one_process(void **state)
{
	(void)state;
	size_t wrong, said;
	fake_world.true_ns = alike;
	fake_world.placement = 0.08;
	setup.anchor_ns = alike(&space->geometries[setup.anchor], TCB_COLD);
	setup.report = NULL;
	setup.seconds = 1;
	setup.renew_s = 5;
	count_gains(1, &wrong, &said);
	print_message("gains that miss: %zu of %zu in another process than the scores'\n", wrong, said);
	assert_true(said >= 20 && (double)wrong < 0.2 * (double)said);
	setup.seconds = 0.4;
	setup.renew_s = fake_world.renew_s = 0.1;
	count_gains(0, &wrong, &said);
	print_message("gains that miss: %zu of %zu where the scores' process was there\n", wrong, said);
	assert_true(said >= 20 && (double)wrong < 0.2 * (double)said);
}

/* No further worker can be had: what was measured until then is judged. */
static void test_worker_is_lost(void **state)
{
	(void)state;
	struct tcb_decision decision;
	setup.renew_s = fake_world.renew_s = 0.05;
	setup.finalists = space->count; /* no rungs */
	fake_world.renewals_most = 2;
	assert_int_equal(tcb_finals_run(&setup, &decision, NULL), TCB_OK);
	assert_true(decision.valid && fake_world.renewals == 3);
	assert_true(seen.samples >= 16 && seen.samples < 300);
	assert_true(is_tied(&decision, best_index()));
	tcb_decision_fini(&decision);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_best_wins, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_others_do_not_count, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_others_disturb_all, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_others_are_reported, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_interval_decides_not_the_score, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_all_equal, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_simpler_but_slower_loses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_without_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_hopeless_few, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_long_calls, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_interrupt_and_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_everything_breaks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_legs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_luck_of_one_process, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_worker_is_lost, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
