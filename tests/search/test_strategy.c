/* SPDX-License-Identifier: MIT
 *
 * Every strategy of the table against its contract, and each against what it
 * is there for.  No evaluator: costs come from a landscape.
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "fake_evaluator.h"
#include "instrumented.h"
#include "search/strategies/learner.h"
#include "search/strategy.h"

enum { STRATEGIES = 16, THIN = 8, BOTH = 1u << TCB_COLD | 1u << TCB_HOT };

static struct tcb_problem problem;
static struct tcb_space *space;
static struct tcb_lattice lattice; /* of the space */
static struct tcb_lattice thinned; /* of every THIN-th candidate: for who thinks long about each */

static int set_up(void **state)
{
	(void)state;
	fake_world_reset(1, &problem);
	TCB_TRY(tcb_space_create(&fake_op, &problem, &fake_cpu.device.target, 0, &space, NULL));
	struct tcb_geometry *few = malloc((space->count / THIN + 1) * sizeof *few);
	size_t count = 0;
	if (!few)
		return 1;
	for (size_t i = 0; i < space->count; i += THIN)
		few[count++] = space->geometries[i];
	enum tcb_status status = tcb_lattice_of_geometries(&thinned, few, count, NULL);
	free(few);
	return status == TCB_OK ? tcb_lattice_of_geometries(&lattice, space->geometries, space->count, NULL) : status;
}

static int tear_down(void **state)
{
	(void)state;
	tcb_lattice_fini(&lattice);
	tcb_lattice_fini(&thinned);
	tcb_space_destroy(space);
	return 0;
}

static void *create_on(const struct tcb_lattice *some, size_t start, const struct tcb_strategy *strategy,
		       unsigned states, uint64_t seed)
{
	struct tcb_strategy_setup setup = {
		.lattice = some,
		.start = start,
		.states = states,
		.seed = seed,
		.problem = &problem,
		.space = space,
	};
	void *self = NULL;
	assert_int_equal(strategy->create(&setup, &self, NULL), TCB_OK);
	return self;
}

static void *create(const struct tcb_strategy *strategy, unsigned states, uint64_t seed)
{
	return create_on(&lattice, space->default_index, strategy, states, seed);
}

static struct tcb_told result_of(size_t index, unsigned states)
{
	struct tcb_told told = { .outcome = TCB_OUTCOME_OK };
	for (unsigned s = 0; s < TCB_STATE_COUNT; s++)
		told.cost[s] = states >> s & 1u ? fake_landscape(&space->geometries[index], (enum tcb_state)s) /
							  fake_landscape(&space->geometries[space->default_index],
									 (enum tcb_state)s)
						: NAN;
	return told;
}

/* Of candidate INDEX of the strategy's lattice what became of candidate RESULT of the space. */
static void tell_as(const struct tcb_strategy *strategy, void *self, size_t index, size_t result, unsigned states)
{
	struct tcb_told told = result_of(result, states);
	strategy->tell(self, index, &told);
}

static void tell(const struct tcb_strategy *strategy, void *self, size_t index, unsigned states)
{
	tell_as(strategy, self, index, index, states);
}

/* Adds the best cost in each state after TRIALS candidates to SUM. */
static void add_best_after(const struct tcb_strategy *strategy, size_t trials, uint64_t seed,
			   double sum[TCB_STATE_COUNT])
{
	void *self = create(strategy, BOTH, seed);
	double best[TCB_STATE_COUNT] = { INFINITY, INFINITY };
	tell(strategy, self, space->default_index, BOTH);
	for (size_t t = 1; t < trials; t++) {
		size_t index = strategy->ask(self, (double)t / (double)trials);
		if (index == TCB_ASK_NONE)
			break;
		for (int s = 0; s < TCB_STATE_COUNT; s++)
			best[s] = fmin(best[s], result_of(index, BOTH).cost[s]);
		tell(strategy, self, index, BOTH);
	}
	strategy->destroy(self);
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		sum[s] += best[s];
}

static void test_table(void **state)
{
	(void)state;
	const char *names[STRATEGIES], *summaries[STRATEGIES];
	size_t count = tcb_strategy_list(names, summaries, STRATEGIES);
	assert_true(count >= 3);
	assert_ptr_equal(tcb_strategy_find(NULL), tcb_strategy_find("auto"));
	assert_null(tcb_strategy_find("none"));
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(tcb_strategy_find(names[i])->name, names[i]);
		assert_true(strlen(summaries[i]) > 10);
	}
	assert_int_equal(tcb_strategy_list(names, summaries, 1), count);
	for (size_t i = 0; i < count; i++)
		tcb_strategy_find(names[i])->destroy(NULL);
}

/* No index twice, none of the known ones, inside the space, with any number of answers outstanding. */
static void test_contract(void **state)
{
	(void)state;
	const char *names[STRATEGIES], *summaries[STRATEGIES];
	size_t count = tcb_strategy_list(names, summaries, STRATEGIES);
	static const unsigned STATES[] = { 1u << TCB_COLD, 1u << TCB_HOT, BOTH };
	for (size_t i = 0; i < count * 3; i++) {
		if (!test_takes_all() && i % 3 != i / 3 % 3)
			continue; /* one of the three by turns */
		const struct tcb_strategy *strategy = tcb_strategy_find(names[i / 3]);
		const int is_slow = !strcmp(strategy->name, "gaussian");
		const struct tcb_lattice *some = is_slow ? &thinned : &lattice;
		const size_t scale = is_slow ? THIN : 1; /* index in the space over that in the lattice */
		const size_t start = is_slow ? TCB_ASK_NONE : space->default_index;
		unsigned states = STATES[i % 3];
		unsigned char *seen = calloc(some->count, 1);
		assert_non_null(seen);
		void *self = create_on(some, start, strategy, states, i);
		for (size_t k = 0; k < some->count; k += 7) {
			seen[k] = 1;
			tell_as(strategy, self, k, k * scale, states);
		}
		size_t pending[5], pending_count = 0, asked = 0, index;
		while ((index = strategy->ask(self, (double)asked / (double)some->count)) != TCB_ASK_NONE) {
			assert_true(index < some->count && !seen[index]);
			seen[index] = 1;
			asked++;
			pending[pending_count++] = index;
			while (pending_count == 5 || (pending_count && asked % 11 == 0)) {
				index = pending[--pending_count];
				tell_as(strategy, self, index, index * scale, states);
			}
		}
		assert_true(asked > 50);
		if (strcmp(strategy->name, "hillclimb") != 0)
			for (size_t k = 0; k < some->count; k++)
				assert_true(seen[k] || k == start);
		strategy->destroy(self);
		free(seen);
	}
}

static void test_seed_decides_the_order(void **state)
{
	(void)state;
	const char *names[STRATEGIES], *summaries[STRATEGIES];
	size_t count = tcb_strategy_list(names, summaries, STRATEGIES);
	for (size_t i = 0; i < count; i++) {
		const struct tcb_strategy *strategy = tcb_strategy_find(names[i]);
		void *a = create(strategy, BOTH, 1), *b = create(strategy, BOTH, 1), *c = create(strategy, BOTH, 2);
		size_t differ = 0;
		for (int n = 0; n < 100; n++) {
			size_t x = strategy->ask(a, 0), y = strategy->ask(b, 0), z = strategy->ask(c, 0);
			assert_int_equal(x, y);
			differ += x != z;
			tell(strategy, a, x, BOTH);
			tell(strategy, b, y, BOTH);
			tell(strategy, c, z, BOTH);
		}
		assert_true(differ > 50);
		strategy->destroy(a);
		strategy->destroy(b);
		strategy->destroy(c);
	}
}

/* A failed candidate is never a centre to search around, whatever its cost field says. */
static void test_failures_are_no_centres(void **state)
{
	(void)state;
	const char *names[STRATEGIES], *summaries[STRATEGIES];
	size_t count = tcb_strategy_list(names, summaries, STRATEGIES);
	for (size_t i = 0; i < count; i++) {
		const struct tcb_strategy *strategy = tcb_strategy_find(names[i]);
		void *self = create(strategy, BOTH, 3);
		struct tcb_told failed = { .outcome = TCB_OUTCOME_CRASHED, .cost = { INFINITY, INFINITY } };
		size_t index, asked = 0;
		while ((index = strategy->ask(self, (double)asked / (double)space->count)) != TCB_ASK_NONE) {
			strategy->tell(self, index, &failed);
			asked++;
		}
		assert_true(asked > 10);
		strategy->destroy(self);
	}
}

/* How far from the optimum, as a ratio - 1, in each state after a tenth of the space; the mean of so many seeds. */
static void mean_gap(const char *name, uint64_t seeds, double gap[TCB_STATE_COUNT])
{
	double sum[TCB_STATE_COUNT] = { 0 };
	for (uint64_t seed = 0; seed < seeds; seed++)
		add_best_after(tcb_strategy_find(name), 250, seed, sum);
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		double best = INFINITY;
		for (size_t i = 0; i < space->count; i++)
			best = fmin(best, result_of(i, BOTH).cost[s]);
		gap[s] = sum[s] / (double)seeds / best - 1;
	}
	print_message("%s: %.1f %% over the best cold, %.1f %% hot\n", name, 100 * gap[TCB_COLD], 100 * gap[TCB_HOT]);
}

/* With a tenth of the space, what looks at results is nearer to the best than what does not, in both states. */
static void test_results_are_used(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		double most; /* of random's gap */
	} USE[] = { { "exhaustive", 0.7 },    { "hillclimb", 0.5 }, { "forest", 0.5 },
		    { "gaussian", 0.5 },      { "evolution", 0.5 }, { "genetic", 0.5 },
		    { "neighbourhood", 0.5 }, { "line", 0.5 },      { "auto", 0.5 } };
	const uint64_t seeds = test_takes_all() ? 10 : 3;
	double random[TCB_STATE_COUNT], gap[TCB_STATE_COUNT];
	mean_gap("random", seeds, random);
	for (size_t i = 0; i < sizeof USE / sizeof *USE; i++) {
		mean_gap(USE[i].name, seeds, gap);
		for (int s = 0; s < TCB_STATE_COUNT; s++)
			assert_true(gap[s] < USE[i].most * random[s]);
	}
}

/* The unit of prices does not matter, nor do prices that are all alike; others change who has the next trial. */
static void test_prices(void **state)
{
	(void)state;
	enum { TRIALS = 150, KINDS = 6 };
	static const double UNIT[KINDS] = { 0, NAN, 1, 1e-9, 1, 1e9 };
	static const int IS_UNEVEN[KINDS] = { 0, 0, 0, 0, 1, 1 };
	const struct tcb_strategy *strategy = tcb_strategy_find("auto");
	size_t asked[KINDS][TRIALS], differ = 0;
	for (size_t k = 0; k < KINDS; k++) {
		void *self = create_on(&thinned, TCB_ASK_NONE, strategy, 1u << TCB_COLD, 4);
		for (size_t t = 0; t < TRIALS; t++) {
			asked[k][t] = strategy->ask(self, 0);
			struct tcb_told told = result_of(asked[k][t] * THIN, 1u << TCB_COLD);
			told.seconds = UNIT[k] * (IS_UNEVEN[k] && asked[k][t] % 3 == 0 ? 100 : 1);
			strategy->tell(self, asked[k][t], &told);
		}
		strategy->destroy(self);
	}
	for (size_t t = 0; t < TRIALS; t++) {
		for (size_t k = 1; k < 4; k++)
			assert_int_equal(asked[k][t], asked[0][t]);
		assert_int_equal(asked[5][t], asked[4][t]);
		differ += asked[4][t] != asked[0][t];
	}
	assert_true(differ > 0);
}

/* However well the others do, the portfolio knows what random search would have after a 20th of the trials. */
static void test_auto_deals(void **state)
{
	enum { TRIALS = 300, SHARE = 20 };
	const struct tcb_strategy *strategy = tcb_strategy_find("auto"), *random = tcb_strategy_find("random");
	void *self = create(strategy, BOTH, 4), *baseline = create(random, BOTH, 4);
	unsigned char *known = calloc(space->count, 1);
	(void)state;
	assert_non_null(known);
	assert_true(space->count > 3 * TRIALS / 2); /* less than two thirds: the rest is dealt anyway */
	for (size_t n = 1; n <= TRIALS; n++) {
		const size_t index = strategy->ask(self, 0);
		assert_true(index < space->count);
		known[index] = 1;
		tell(strategy, self, index, BOTH);
		if (n % SHARE == 0)
			assert_true(known[random->ask(baseline, 0)]);
	}
	free(known);
	strategy->destroy(self);
	random->destroy(baseline);
}

static void test_lattice(void **state)
{
	(void)state;
	assert_int_equal(lattice.count, space->count);
	assert_int_equal(lattice.fields, 7); /* the axes of fake_op, and nothing that never varies */
	struct tcb_geometry geometry = space->geometries[space->default_index];
	size_t from = space->default_index;
	assert_int_equal(tcb_lattice_distance(&lattice, from, from), 0);
	geometry.tile[TCB_MIDI].n = 256; /* 64 -> 128 -> 256 */
	assert_int_equal(tcb_lattice_distance(&lattice, from, tcb_space_find(space, &geometry)), 2);
	geometry.knob[TCB_KNOB_UNROLL] = 4; /* 1 -> 2 -> 4 */
	assert_int_equal(tcb_lattice_distance(&lattice, from, tcb_space_find(space, &geometry)), 4);
	geometry.knob[TCB_KNOB_LAYOUT] = TCB_LAYOUT_R8; /* words are one step apart */
	geometry.knob[TCB_KNOB_SCHED] = TCB_SCHED_DYNAMIC;
	size_t to = tcb_space_find(space, &geometry);
	assert_int_equal(tcb_lattice_distance(&lattice, from, to), 6);
	assert_int_equal(tcb_lattice_distance(&lattice, to, from), 6);

	/* A point beside one that exists is nearest to that. */
	uint16_t point[8];
	memcpy(point, lattice.coordinate + to * lattice.fields, lattice.fields * sizeof *point);
	assert_int_equal(tcb_lattice_nearest(&lattice, point, NULL), to);
	point[0] = UINT16_MAX;
	size_t nearest = tcb_lattice_nearest(&lattice, point, NULL);
	assert_true(lattice.coordinate[nearest * lattice.fields] == lattice.top[0]);

	struct tcb_deck deck;
	assert_int_equal(tcb_deck_init(&deck, space->count, 5, NULL), TCB_OK);
	tcb_deck_take(&deck, from);
	size_t last = 0, near = 0, index;
	while ((index = tcb_deck_deal_near(&deck, &lattice, from, 3)) != TCB_ASK_NONE) {
		size_t distance = tcb_lattice_distance(&lattice, from, index);
		assert_true(distance >= last && distance >= 1 && distance <= 3);
		last = distance;
		near++;
	}
	size_t expected = 0;
	for (size_t i = 0; i < space->count; i++)
		expected += i != from && tcb_lattice_distance(&lattice, from, i) <= 3;
	assert_int_equal(near, expected);
	tcb_deck_fini(&deck);
}

static int is_within(const uint16_t *x, const uint16_t *y, enum tcb_reach reach, size_t limit)
{
	size_t steps = 0, differ = 0, farthest = 0;
	for (size_t f = 0; f < lattice.fields; f++) {
		const size_t apart = lattice.named[f] ? x[f] != y[f] : (size_t)abs((int)x[f] - (int)y[f]);
		steps += apart;
		differ += apart != 0;
		farthest = apart > farthest ? apart : farthest;
	}
	switch (reach) {
	case TCB_REACH_STEPS:
		return steps <= limit;
	case TCB_REACH_ADJACENT:
		return farthest <= 1;
	case TCB_REACH_ONE:
		return differ <= limit;
	case TCB_REACH_ONE_BY_ONE:
		return differ <= limit && farthest <= 1;
	}
	return 0;
}

/* A walk comes by those, each once, that a look at all candidates finds. */
static void test_walk(void **state)
{
	(void)state;
	static const struct {
		enum tcb_reach reach;
		size_t limit;
	} WALKS[] = { { TCB_REACH_STEPS, 0 },     { TCB_REACH_STEPS, 4 }, { TCB_REACH_STEPS, 1000 },
		      { TCB_REACH_ADJACENT, 0 },  { TCB_REACH_ONE, 1 },   { TCB_REACH_ONE, 2 },
		      { TCB_REACH_ONE_BY_ONE, 1 } };
	unsigned char *seen = malloc(space->count);
	assert_non_null(seen);
	for (size_t i = 0; i < 20 * sizeof WALKS / sizeof *WALKS; i++) {
		const enum tcb_reach reach = WALKS[i / 20].reach;
		const size_t limit = WALKS[i / 20].limit;
		uint16_t point[TCB_LATTICE_FIELDS];
		memcpy(point, lattice.coordinate + i * 17 % space->count * lattice.fields,
		       lattice.fields * sizeof *point);
		point[i % lattice.fields] = (uint16_t)(i % 3); /* often none that exists */
		struct tcb_walk walk;
		size_t index;
		memset(seen, 0, space->count);
		tcb_walk_init(&walk, &lattice, point, reach, limit);
		while ((index = tcb_walk_next(&walk)) != TCB_ASK_NONE) {
			assert_true(index < space->count && !seen[index]);
			seen[index] = 1;
		}
		for (size_t k = 0; k < space->count; k++)
			assert_int_equal(seen[k],
					 is_within(point, lattice.coordinate + k * lattice.fields, reach, limit));
	}
	free(seen);
}

static size_t steps_to(size_t index, const uint16_t *point)
{
	size_t limit = 0;
	while (!is_within(lattice.coordinate + index * lattice.fields, point, TCB_REACH_STEPS, limit))
		limit++;
	return limit;
}

/* The nearest that is left, until nobody is. */
static void test_nearest(void **state)
{
	(void)state;
	unsigned char *taken = calloc(space->count, 1);
	assert_non_null(taken);
	const uint16_t *point = lattice.coordinate + space->default_index * lattice.fields;
	size_t last = 0, index, count = 0;
	while ((index = tcb_lattice_nearest(&lattice, point, taken)) != TCB_ASK_NONE) {
		assert_false(taken[index]);
		const size_t distance = steps_to(index, point);
		assert_true(distance >= last);
		last = distance;
		taken[index] = 1;
		count++;
	}
	assert_int_equal(count, space->count);
	free(taken);
}

static void test_learner(void **state)
{
	(void)state;
	const struct tcb_strategy_setup setup = { .lattice = &lattice, .states = BOTH, .seed = 1 };
	void *self = NULL;
	assert_int_equal(tcb_learner_create(&setup, sizeof(struct tcb_learner), &self, NULL), TCB_OK);
	struct tcb_learner *learner = self;
	const size_t told = 2 * TCB_LEARNER_BEST, *best;
	for (size_t i = 0; i < told; i++) { /* every 8th fails; cold: the later the better; hot: all the same */
		struct tcb_told result = { .outcome = i % 8 ? TCB_OUTCOME_OK : TCB_OUTCOME_WRONG,
					   .cost = { (double)(told - i), 7 } };
		tcb_learner_tell(learner, i, &result);
	}
	assert_int_equal(tcb_learner_best(learner, TCB_COLD, 3, &best), 3);
	assert_int_equal(best[0], told - 1);
	assert_int_equal(best[2], told - 3);
	assert_int_equal(tcb_learner_best(learner, TCB_COLD, 1000, &best), TCB_LEARNER_BEST);
	for (size_t i = 1; i < TCB_LEARNER_BEST; i++)
		assert_true(best[i] < best[i - 1] && best[i] % 8 != 0);
	assert_int_equal(tcb_learner_rank(learner, 1, TCB_COLD), 0);
	assert_int_equal(tcb_learner_rank(learner, 3, TCB_COLD), 2);
	assert_int_equal(tcb_learner_rank(learner, 1e9, TCB_COLD), TCB_LEARNER_BEST);
	tcb_learner_best(learner, TCB_HOT, 1000, &best); /* the first among equals comes first */
	assert_int_equal(best[0], 1);
	assert_true(learner->worst[TCB_HOT] == 7 && learner->worst[TCB_COLD] == (double)told - 1);
	tcb_learner_destroy(learner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_contract),
		cmocka_unit_test(test_seed_decides_the_order),
		cmocka_unit_test(test_failures_are_no_centres),
		cmocka_unit_test(test_results_are_used),
		cmocka_unit_test(test_prices),
		cmocka_unit_test(test_auto_deals),
		cmocka_unit_test(test_lattice),
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_learner),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
