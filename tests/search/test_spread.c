/* SPDX-License-Identifier: MIT
 *
 * Racing on a modelled machine: the best is hardly ever dropped, losers are
 * after fewer samples than by the rule that knows nothing of the noise.
 */
#include <math.h>

#include "base/util.h"
#include "cmocka_all.h"
#include "search/spread.h"
#include "worker/measure.h"

enum { LOOKS = 40, ROUNDS = 5, CANDIDATES = 20000, SAMPLES = 8 };
static const double MARGIN = 1.2; /* of the sweep */

/* A machine: each call's own noise, outliers, and bursts that hit all calls of a candidate or look. */
struct machine {
	double noise, outliers, bursts, burst_most;
};

static double burst(const struct machine *machine, struct tcb_rng *rng)
{
	return tcb_rng_unit(rng) < machine->bursts ? 1 + machine->burst_most * tcb_rng_unit(rng) : 1;
}

static double call(const struct machine *machine, struct tcb_rng *rng, double ns)
{
	const double u = tcb_rng_unit(rng) - 0.5;
	ns *= exp(machine->noise * (u < 0 ? 1 : -1) * log(1 - 2 * fabs(u)) / sqrt(2));
	return tcb_rng_unit(rng) < machine->outliers ? ns * (1 + tcb_rng_unit(rng)) : ns;
}

static void learn(const struct machine *machine, struct tcb_rng *rng, size_t looks, struct tcb_spread *spread)
{
	for (size_t i = 0; i < looks; i++) {
		double ns[ROUNDS];
		const double hit = burst(machine, rng);
		for (size_t r = 0; r < ROUNDS; r++)
			ns[r] = call(machine, rng, 1000 * hit);
		tcb_spread_add(spread, ns, ROUNDS, 1000);
	}
}

/* Screens candidates that take TIMES the best's 1000; the share that was dropped, and samples of each. */
static double screen(const struct machine *machine, struct tcb_rng *rng, const double *over, double times,
		     double *samples_out)
{
	size_t dropped = 0, taken = 0;
	for (size_t i = 0; i < CANDIDATES; i++) {
		double samples[SAMPLES];
		const double hit = burst(machine, rng), warm = call(machine, rng, 1000 * times * hit);
		int lost = 0;
		for (size_t count = 0; count < SAMPLES && !lost; taken++) {
			samples[count++] = call(machine, rng, 1000 * times * hit);
			lost = tcb_measure_has_lost(samples, count, warm, MARGIN * 1000, over);
		}
		dropped += (size_t)lost;
	}
	*samples_out = (double)taken / CANDIDATES;
	return (double)dropped / CANDIDATES;
}

static void test_racing(void **state)
{
	(void)state;
	static const struct machine machines[] = {
		{ 0.005, 0, 0, 0 },
		{ 0.02, 0.02, 0.05, 0.3 },
		{ 0.1, 0.05, 0.1, 0.4 },
	};
	for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
		struct tcb_rng rng;
		struct tcb_spread spread = { 0 };
		double over[TCB_SCREEN_CALLS], samples, before;
		tcb_rng_init(&rng, 17 + m);
		learn(&machines[m], &rng, LOOKS, &spread);
		tcb_spread_bounds(&spread, over);
		/* The best, and what is 5 % slower. */
		const double lost = screen(&machines[m], &rng, over, 1, &samples);
		print_message("machine %zu: bounds %.2f %.2f %.2f, %.4f of the best lost\n", m, over[0], over[1],
			      over[2], lost);
		assert_true(lost < 0.01);
		assert_true(screen(&machines[m], &rng, over, 1.05, &samples) < 0.02);
		/* Losers: all of them, and sooner. */
		static const double times[] = { 1.4, 2, 4 };
		for (size_t t = 0; t < 3; t++) {
			const double known = screen(&machines[m], &rng, over, times[t], &samples);
			const double unknown = screen(&machines[m], &rng, NULL, times[t], &before);
			print_message("machine %zu, %.1f times: %.4f dropped after %.2f samples, %.4f after %.2f\n", m,
				      times[t], known, samples, unknown, before);
			assert_true(known >= unknown - 0.01);
			assert_true(samples <= before + 0.05);
			if (m < 2)
				assert_true(known > 0.95 && samples < 0.7 * before);
		}
	}
}

/* Nothing is concluded from a few looks, short ones, or before the level is known. */
static void test_too_little(void **state)
{
	(void)state;
	const struct machine machine = { 0.02, 0, 0, 0 };
	struct tcb_spread spread = { 0 };
	struct tcb_rng rng;
	double over[TCB_SCREEN_CALLS];
	const double ns[ROUNDS] = { 1, 1, 1, 1, 1 };
	tcb_rng_init(&rng, 5);
	learn(&machine, &rng, 7, &spread);
	for (size_t i = 0; i < 20; i++) {
		tcb_spread_add(&spread, ns, TCB_SCREEN_CALLS, 1);
		tcb_spread_add(&spread, ns, ROUNDS, NAN);
	}
	tcb_spread_bounds(&spread, over);
	for (size_t i = 0; i < TCB_SCREEN_CALLS; i++)
		assert_true(over[i] == 0);
	learn(&machine, &rng, 1, &spread);
	tcb_spread_bounds(&spread, over);
	for (size_t i = 0; i < TCB_SCREEN_CALLS; i++)
		assert_true(over[i] >= 1.05 && over[i] < 1.6);
	/* The fewer calls, the more may be by chance. */
	assert_true(over[0] >= over[1] && over[1] >= over[2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_racing),
		cmocka_unit_test(test_too_little),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
