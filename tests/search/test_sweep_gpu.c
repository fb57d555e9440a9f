/* SPDX-License-Identifier: MIT
 *
 * Whole sweeps on the fake GPU: 20 bad candidates among 200 good ones cost no
 * good result, the sweep ends by itself, what failed is not tried again, the
 * best are tried once more with passes=all, and a model says where to begin.
 */
#include "fake_gpu.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/util.h"
#include "instrumented.h"
#include "kernels/gpu/ptx_code.h"
#include "kernels/signature.h"
#include "ptx/optimise/passes.h"
#include "search/search.h"
#include "worker/planted_gpu.h"

/* Seconds that a candidate may take: what hangs takes them all. */
static const double timeout_s = TEST_IS_INSTRUMENTED ? 2.5 : 1;

enum { GOOD = 200, BAD = 20, PASSES = 6, TRIALS_MAX = 512, CARDS = 3, SHARED_TRIALS = 90, DYING_TRIALS = 40 };

/* What the sink was sent: the first trial of each geometry, and how often it came. */
struct store {
	struct tcb_trial trials[TRIALS_MAX];
	struct tcb_measurement measurements[TRIALS_MAX][TCB_STATE_COUNT];
	size_t count, finals;
};

static enum tcb_status put(void *ctx, const struct tcb_trial *trial, struct tcb_error *err)
{
	struct store *store = ctx;
	(void)err;
	if (trial->measurement_count == 1 && trial->measurements[0].stage == TCB_STAGE_FINAL) {
		store->finals++;
		return TCB_OK;
	}
	assert_true(store->count < TRIALS_MAX);
	struct tcb_trial *copy = &store->trials[store->count];
	*copy = *trial;
	for (size_t i = 0; i < trial->measurement_count; i++)
		store->measurements[store->count][i] = trial->measurements[i];
	copy->measurements = store->measurements[store->count++];
	return TCB_OK;
}

/* On the first CARDS cards. */
static enum tcb_status sweep_of(const struct tcb_problem *problem, size_t cards, struct store *store,
				const struct store *known, size_t max_trials, struct tcb_sweep_result *result,
				struct tcb_error *err)
{
	static struct tcb_place gpu, others[CARDS - 1];
	struct tcb_sink sink = { .ctx = store, .trial = put };
	struct tcb_sweep_options options = { .seed = 3,
					     .states = 1u << TCB_COLD,
					     .rotation_bytes = 5 << 10,
					     .timeout_s = timeout_s,
					     .max_trials = max_trials,
					     .finalists = 4 };
	fake_gpu_place("cuda:0", &gpu);
	for (size_t i = 1; i < cards; i++) {
		char name[16];
		snprintf(name, sizeof name, "cuda:%zu", i);
		fake_gpu_place(name, &others[i - 1]);
	}
	options.others = others;
	options.other_count = cards - 1;
	return tcb_sweep_run(problem->op, problem, &gpu, &options, known ? known->trials : NULL,
			     known ? known->count : 0, &sink, result, err);
}

static enum tcb_status sweep(size_t cards, struct store *store, const struct store *known, size_t max_trials,
			     struct tcb_sweep_result *result, struct tcb_error *err)
{
	struct tcb_problem problem;
	planted_gpu_problem(&problem);
	return sweep_of(&problem, cards, store, known, max_trials, result, err);
}

static size_t count(const struct store *store, enum tcb_outcome outcome)
{
	size_t found = 0;
	for (size_t i = 0; i < store->count; i++)
		found += store->trials[i].outcome == outcome;
	return found;
}

static enum planted_gpu behaviour(const struct tcb_geometry *geometry)
{
	return (enum planted_gpu)(geometry->knob[TCB_KNOB_UNROLL] - 1);
}

static void bad_ones_cost_no_good_result(void **state)
{
	(void)state;
#ifdef __SANITIZE_THREAD__
	skip_because("a minute under ThreadSanitizer; several cards have all threads that one has");
#endif
	struct store *first = calloc(1, sizeof *first), *second = calloc(1, sizeof *second);
	struct tcb_sweep_result result;
	struct tcb_error err = { .message = "" };
	assert_true(first && second);
	if (sweep(1, first, NULL, 0, &result, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_true(result.complete);
	assert_int_equal(result.space_count, GOOD + BAD);
	assert_int_equal(result.tried, GOOD + BAD);
	assert_int_equal(result.failed, BAD);
	/* The best once more, with passes=all. */
	assert_int_equal(result.with_passes, PASSES);
	assert_int_equal(first->count, GOOD + BAD + PASSES);
	assert_int_equal(count(first, TCB_OUTCOME_OK), GOOD + PASSES);
	assert_int_equal(count(first, TCB_OUTCOME_WRONG), 8);
	assert_int_equal(count(first, TCB_OUTCOME_CRASHED), 8);
	assert_int_equal(count(first, TCB_OUTCOME_TIMEOUT), 2);
	assert_int_equal(count(first, TCB_OUTCOME_LAUNCH_FAILED), 2);
	for (size_t i = 0; i < first->count; i++) {
		const struct tcb_trial *trial = &first->trials[i];
		assert_int_equal(trial->outcome == TCB_OUTCOME_OK, behaviour(&trial->geometry) == PLANTED_GPU_GOOD);
		assert_int_equal(trial->measurement_count, trial->outcome == TCB_OUTCOME_OK);
	}
	const struct tcb_decision *decision = &result.decision[TCB_COLD];
	assert_true(decision->valid && !result.decision[TCB_HOT].valid);
	/* The fewest stages. */
	assert_int_equal(decision->finalists[0].geometry.knob[TCB_KNOB_STAGES], 1);
	assert_true(decision->speedup.median > 1.001);
	assert_true(decision->limit_ns.median > 0 && strncmp(decision->limit_method, "read_", 5) == 0);
	assert_int_equal(first->finals, decision->finalist_count);
	tcb_sweep_result_fini(&result);

	/* The same again: nothing is tried, the failed ones neither. */
	if (sweep(1, second, first, 0, &result, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(result.known, GOOD + BAD);
	assert_int_equal(result.tried, 0);
	assert_int_equal(result.with_passes, 0);
	assert_int_equal(second->count, 0);
	assert_true(result.decision[TCB_COLD].valid);
	tcb_sweep_result_fini(&result);
	free(first);
	free(second);
}

static int has_passes(const struct tcb_geometry *geometry)
{
	return geometry->knob[TCB_KNOB_PASSES] == TCB_PASSES_ALL;
}

/* SIGNATURE is of what GEOMETRY is emitted as, and of nothing else. */
static void assert_reproduced(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			      const char *signature)
{
	struct tcb_packings packings = { .is_known = { 0 } };
	struct tcb_geometry read, other = *geometry;
	char text[TCB_GEOMETRY_TEXT_MAX];
	struct tcb_place gpu;
	fake_gpu_place("cuda:0", &gpu);
	tcb_geometry_print(geometry, text);
	assert_int_equal(tcb_geometry_parse(text, &read, NULL), TCB_OK);
	assert_true(tcb_candidate_is_current(problem, &gpu.device.target, &read, signature, &packings));
	other.knob[TCB_KNOB_PASSES] = has_passes(geometry) ? TCB_KNOB_UNSET : TCB_PASSES_ALL;
	assert_false(tcb_candidate_is_current(problem, &gpu.device.target, &other, signature, &packings));
}

/* An op of ours: all of its space, then its best with the passes, which the finals choose among, too. */
static void the_best_are_tried_with_passes(void **state)
{
	const struct tcb_shape shape = { 1, 64, 0 };
	struct store *first = calloc(1, sizeof *first), *second = calloc(1, sizeof *second);
	struct tcb_sweep_result result;
	struct tcb_problem problem;
	struct tcb_error err = { .message = "" };
	size_t finalists = 0;
	(void)state;
	assert_true(first && second);
	assert_int_equal(tcb_problem_init(tcb_op_find("softmax"), TCB_CONTRACT_F32, &shape, &problem, &err), TCB_OK);
	if (sweep_of(&problem, 1, first, NULL, 0, &result, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_true(result.complete);
	assert_int_equal(result.tried, result.space_count);
	assert_int_equal(result.failed, 0);
	assert_int_equal(result.with_passes, PASSES);
	assert_int_equal(first->count, result.space_count + PASSES);
	for (size_t i = 0; i < first->count; i++) {
		const struct tcb_trial *trial = &first->trials[i];
		assert_int_equal(has_passes(&trial->geometry), i >= result.space_count);
		assert_int_equal(trial->outcome, TCB_OUTCOME_OK);
		if (i >= result.space_count)
			assert_reproduced(&problem, &trial->geometry, trial->signature);
	}
	for (size_t i = 0; i < result.decision[TCB_COLD].finalist_count; i++) {
		const struct tcb_finalist *finalist = &result.decision[TCB_COLD].finalists[i];
		finalists += (size_t)has_passes(&finalist->geometry);
		assert_reproduced(&problem, &finalist->geometry, finalist->signature);
	}
	assert_true(finalists > 0);
	/* The fake card is faster with fewer instructions. */
	assert_true(has_passes(&result.decision[TCB_COLD].finalists[0].geometry));
	const struct tcb_geometry winner = result.decision[TCB_COLD].finalists[0].geometry;
	tcb_sweep_result_fini(&result);

	/* Known ones are not tried again, and win again. */
	if (sweep_of(&problem, 1, second, first, 0, &result, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(result.known, result.space_count);
	assert_int_equal(result.tried + result.with_passes + second->count, 0);
	assert_true(tcb_geometry_equal(&result.decision[TCB_COLD].finalists[0].geometry, &winner));
	tcb_sweep_result_fini(&result);
	free(first);
	free(second);
}

/* What a sweep of PROBLEM that tries a few begins with, given WINNERS of other problems. */
static void begin(const struct tcb_problem *problem, const struct tcb_start_winner *winners, size_t winner_count,
		  struct store *store, struct tcb_sweep_result *result)
{
	static struct tcb_place gpu;
	struct tcb_sink sink = { .ctx = store, .trial = put };
	struct tcb_error err = { .message = "" };
	const struct tcb_sweep_options options = { .seed = 3,
						   .states = 1u << TCB_COLD,
						   .rotation_bytes = 5 << 10,
						   .timeout_s = timeout_s,
						   .max_trials = 6,
						   .finalists = 1,
						   .winners = winners,
						   .winner_count = winner_count,
						   .model_starts = 1 };
	memset(store, 0, sizeof *store);
	fake_gpu_place("cuda:0", &gpu);
	if (tcb_sweep_run(problem->op, problem, &gpu, &options, NULL, 0, &sink, result, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

static void a_model_says_where_to_begin(void **state)
{
	const struct tcb_shape shape = { 1, 64, 0 }, other = { 1, 128, 0 };
	struct store *store = calloc(1, sizeof *store);
	struct tcb_sweep_result result;
	struct tcb_problem problem;
	struct tcb_start_winner winners[4];
	(void)state;
	assert_non_null(store);
	assert_int_equal(tcb_problem_init(tcb_op_find("softmax"), TCB_CONTRACT_F32, &shape, &problem, NULL), TCB_OK);
	begin(&problem, NULL, 0, store, &result);
	assert_true(result.modelled > 0 && result.modelled_s > 0);
	if (result.modelled >= 24 || result.modelled == result.space_count) /* a busy machine has no time for them */
		assert_int_equal(result.start_count, TCB_STARTS_MODELLED);
	for (size_t i = 0; i < result.start_count; i++) {
		assert_true(result.starts[i].is_modelled);
		assert_true(tcb_geometry_equal(&store->trials[1 + i].geometry, &result.starts[i].geometry));
	}

	/* Two winners near by come before it, four instead of it. */
	for (size_t i = 0; i < 4; i++) {
		winners[i] = (struct tcb_start_winner){ .geometry = store->trials[2 + i].geometry, .tried = 1000 };
		assert_int_equal(
			tcb_problem_init(tcb_op_find("softmax"), TCB_CONTRACT_F32, &other, &winners[i].problem, NULL),
			TCB_OK);
	}
	tcb_sweep_result_fini(&result);
	begin(&problem, winners, 2, store, &result);
	assert_true(result.modelled > 0 && result.start_count >= 2);
	for (size_t i = 0; i < result.start_count; i++)
		assert_int_equal(result.starts[i].is_modelled, i >= 2);
	tcb_sweep_result_fini(&result);
	begin(&problem, winners, 4, store, &result);
	assert_int_equal(result.modelled, 0);
	assert_int_equal(result.start_count, 4);
	tcb_sweep_result_fini(&result);

	/* Far ones do not count. */
	for (size_t i = 0; i < 4; i++)
		winners[i].problem.shape.m = 1024;
	begin(&problem, winners, 4, store, &result);
	assert_true(result.modelled > 0);
	tcb_sweep_result_fini(&result);
	free(store);
}

static const struct tcb_op *inner;

static enum tcb_status emit_optimised(const struct tcb_problem *problem, const struct tcb_target *target,
				      const struct tcb_geometry *geometry, struct tcb_kernel *out,
				      struct tcb_error *err)
{
	struct tcb_problem of_inner = *problem;
	of_inner.op = inner;
	TCB_TRY(tcb_op_side(inner, target)->emit(&of_inner, target, geometry, out, err));
	return tcb_ptx_optimise(tcb_kernel_ptx(out)->module, NULL, NULL, err);
}

/* Trials with passes are trials: the limit counts them.  What the passes leave as it was is none. */
static void passes_cost_no_more_than_they_may(void **state)
{
	const struct tcb_shape shape = { 1, 64, 0 };
	struct store *store = calloc(1, sizeof *store);
	struct tcb_sweep_result result;
	struct tcb_problem problem;
	struct tcb_error err = { .message = "" };
	(void)state;
	assert_non_null(store);
	inner = tcb_op_find("softmax");
	assert_int_equal(tcb_problem_init(inner, TCB_CONTRACT_F32, &shape, &problem, &err), TCB_OK);
	if (sweep_of(&problem, 1, store, NULL, 20, &result, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(result.tried, 20);
	assert_int_equal(result.tried + result.with_passes, 20);
	assert_int_equal(result.with_passes, 0);
	const size_t space_count = result.space_count;
	tcb_sweep_result_fini(&result);
	memset(store, 0, sizeof *store);
	if (sweep_of(&problem, 1, store, NULL, space_count + 2, &result, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(result.tried, space_count);
	assert_int_equal(result.with_passes, 2);
	assert_int_equal(store->count, space_count + 2);
	tcb_sweep_result_fini(&result);

	struct tcb_op optimised = *inner;
	struct tcb_side side = *tcb_op_gpu(inner);
	side.emit = emit_optimised;
	optimised.side[TCB_TARGET_CUDA] = &side;
	problem.op = &optimised;
	memset(store, 0, sizeof *store);
	if (sweep_of(&problem, 1, store, NULL, 0, &result, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(result.tried, space_count);
	assert_int_equal(result.with_passes, 0);
	tcb_sweep_result_fini(&result);
	free(store);
}

static void a_gpu_that_dies_ends_the_sweep_with_what_it_has(void **state)
{
	(void)state;
	char mark[] = "/tmp/fake_cuda_XXXXXX", path[64];
	int fd = mkstemp(mark);
	struct store *store = calloc(1, sizeof *store);
	struct tcb_sweep_result result;
	struct tcb_error err;
	assert_true(fd >= 0 && store);
	close(fd);
	setenv("FAKE_CUDA_DEAD", mark, 1);
	fake_gpu_load("90:dies=1200");
	assert_int_equal(sweep(1, store, NULL, 60, &result, &err), TCB_E_FAILED);
	assert_non_null(strstr(err.message, "cuda:0"));
	assert_true(store->count > 2);
	assert_int_equal(count(store, TCB_OUTCOME_OK), store->count);
	tcb_sweep_result_fini(&result);
	snprintf(path, sizeof path, "%s.0", mark);
	assert_int_equal(unlink(path), 0);
	unlink(mark);
	unsetenv("FAKE_CUDA_DEAD");
	fake_gpu_load("90");
	free(store);
}

/* Once each, all of them right. */
static void assert_all_good(const struct store *store, size_t tried)
{
	assert_int_equal(store->count, tried);
	for (size_t i = 0; i < store->count; i++) {
		if (behaviour(&store->trials[i].geometry) == PLANTED_GPU_GOOD)
			assert_int_equal(store->trials[i].outcome, TCB_OUTCOME_OK);
		else
			assert_int_not_equal(store->trials[i].outcome, TCB_OUTCOME_OK);
		for (size_t j = 0; j < i; j++)
			assert_false(tcb_geometry_equal(&store->trials[i].geometry, &store->trials[j].geometry));
	}
}

static void several_gpus_share_the_candidates(void **state)
{
	(void)state;
	struct store *store = calloc(1, sizeof *store);
	struct tcb_sweep_result result;
	struct tcb_error err = { .message = "" };
	double time, speedup;
	assert_non_null(store);
	fake_gpu_load("90,90:slow=3,90");
	if (sweep(CARDS, store, NULL, SHARED_TRIALS, &result, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_all_good(store, SHARED_TRIALS);
	const struct tcb_decision *decision = &result.decision[TCB_COLD];
	assert_int_equal(result.card_count, CARDS);
	size_t tried = 0;
	for (size_t i = 0; i < CARDS; i++) {
		const struct tcb_card *card = &result.cards[i];
		char address[16];
		snprintf(address, sizeof address, "cuda:%zu", i);
		assert_string_equal(card->address, address);
		assert_string_equal(card->lost, "");
		assert_true(card->tried > SHARED_TRIALS / 10); /* each had its share */
		tried += card->tried;
		assert_true(fabs(card->speedup[TCB_COLD].median / decision->speedup.median - 1) < 1e-4);
		double slow = i == 1 ? 1.03 : 1;
		assert_true(fabs(card->winner_ns[TCB_COLD].median / decision->finalists[0].ns.median / slow - 1) <
			    1e-4);
	}
	assert_int_equal(tried, SHARED_TRIALS);
	tcb_cards_differ(&result, TCB_COLD, &time, &speedup);
	assert_true(fabs(time - 0.03) < 1e-4 && speedup < 1e-4);
	tcb_cards_differ(&result, TCB_HOT, &time, &speedup);
	assert_true(isnan(time) && isnan(speedup));
	tcb_sweep_result_fini(&result);
	assert_null(result.cards);
	free(store);
}

/* Kills cards in the middle; what was on them goes to the others. */
static void dying(const char *cards, const unsigned char lost[CARDS], enum tcb_status expected)
{
	char mark[] = "/tmp/fake_cuda_XXXXXX", path[64];
	int fd = mkstemp(mark);
	struct store *store = calloc(1, sizeof *store);
	struct tcb_sweep_result result;
	struct tcb_error err = { .message = "" };
	assert_true(fd >= 0 && store);
	close(fd);
	setenv("FAKE_CUDA_DEAD", mark, 1);
	fake_gpu_load(cards);
	enum tcb_status status = sweep(CARDS, store, NULL, DYING_TRIALS, &result, &err);
	if (status != expected)
		fail_msg("%s: %s", cards, err.message);
	assert_all_good(store, status == TCB_OK ? DYING_TRIALS : store->count);
	for (size_t i = 0; i < CARDS; i++) {
		assert_int_equal(result.cards[i].lost[0] != 0, lost[i]);
		if (lost[i])
			assert_non_null(strstr(result.cards[i].lost, "cuda:"));
		if (status == TCB_OK)
			assert_int_equal(isnan(result.cards[i].winner_ns[TCB_COLD].median), lost[i]);
		snprintf(path, sizeof path, "%s.%zu", mark, i);
		assert_int_equal(unlink(path) == 0, lost[i]);
	}
	if (status == TCB_OK)
		assert_true(result.decision[TCB_COLD].valid);
	else
		assert_non_null(strstr(err.message, "all 3 GPUs are lost"));
	tcb_sweep_result_fini(&result);
	unlink(mark);
	unsetenv("FAKE_CUDA_DEAD");
	fake_gpu_load("90");
	free(store);
}

static void cards_that_die_cost_no_candidate(void **state)
{
	(void)state;
	dying("90,90:dies=1200,90", (const unsigned char[]){ 0, 1, 0 }, TCB_OK);
	/* The lead: in the screening, and in the finals, where alone the limit is measured. */
	dying("90:dies=1200,90,90", (const unsigned char[]){ 1, 0, 0 }, TCB_OK);
	dying("90:dies_at=read_,90,90", (const unsigned char[]){ 1, 0, 0 }, TCB_OK);
	dying("90:dies=1200,90:dies=700,90:dies=1000", (const unsigned char[]){ 1, 1, 1 }, TCB_E_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_ones_cost_no_good_result),
		cmocka_unit_test(the_best_are_tried_with_passes),
		cmocka_unit_test(a_model_says_where_to_begin),
		cmocka_unit_test(passes_cost_no_more_than_they_may),
		cmocka_unit_test(a_gpu_that_dies_ends_the_sweep_with_what_it_has),
		cmocka_unit_test(several_gpus_share_the_candidates),
		cmocka_unit_test(cards_that_die_cost_no_candidate),
	};
	fake_gpu_load("90");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
