/* SPDX-License-Identifier: MIT
 *
 * What noisy values tell of each of them.
 */
#include <math.h>

#include "cmocka_all.h"
#include "search/mixture.h"

enum { MANY = 300, DRAWS = 300 };

/* Of value INDEX, over many draws: their mean and standard deviation. */
static void draw_many(const struct tcb_mixture *mixture, size_t index, double *mean_out, double *deviation_out)
{
	struct tcb_rng rng;
	double sum = 0, squares = 0;
	tcb_rng_init(&rng, 9);
	for (int i = 0; i < DRAWS; i++) {
		const double drawn = tcb_mixture_draw(mixture, index, &rng);
		sum += drawn / DRAWS;
		squares += drawn * drawn / DRAWS;
	}
	*mean_out = sum;
	*deviation_out = sqrt(fmax(0, squares - sum * sum));
}

static struct tcb_mixture *mixture_of(const struct tcb_noisy *values, size_t count)
{
	struct tcb_mixture *mixture;
	assert_int_equal(tcb_mixture_create(values, count, &mixture, NULL), TCB_OK);
	return mixture;
}

/* The lowest of many equal ones is not believed to be low. */
static void test_equal(void **state)
{
	struct tcb_noisy values[MANY];
	struct tcb_rng rng;
	double mean, deviation;
	size_t lowest = 0;
	(void)state;
	tcb_rng_init(&rng, 1);
	for (size_t i = 0; i < MANY; i++) {
		values[i] = (struct tcb_noisy){ 5 + 0.1 * tcb_rng_normal(&rng), 0.1 };
		lowest = values[i].value < values[lowest].value ? i : lowest;
	}
	struct tcb_mixture *mixture = mixture_of(values, MANY);
	draw_many(mixture, lowest, &mean, &deviation);
	assert_true(values[lowest].value < 4.8 && mean > 4.9);
	tcb_mixture_destroy(mixture);
}

/* One that lies far from all others is. */
static void test_apart(void **state)
{
	struct tcb_noisy values[MANY];
	struct tcb_rng rng;
	double mean, deviation;
	(void)state;
	tcb_rng_init(&rng, 2);
	for (size_t i = 0; i < MANY; i++)
		values[i] = (struct tcb_noisy){ (i ? 5 : 3) + 0.1 * tcb_rng_normal(&rng), 0.1 };
	struct tcb_mixture *mixture = mixture_of(values, MANY);
	draw_many(mixture, 0, &mean, &deviation);
	assert_true(fabs(mean - 3) < 0.3 && deviation < 0.3);
	tcb_mixture_destroy(mixture);
}

/* Who is known better is drawn towards the rest by less. */
static void test_noise_decides(void **state)
{
	struct tcb_noisy values[MANY];
	struct tcb_rng rng;
	double exact, rough, deviation;
	(void)state;
	tcb_rng_init(&rng, 3);
	for (size_t i = 0; i < MANY; i++)
		values[i] = (struct tcb_noisy){ 5 + 0.5 * tcb_rng_normal(&rng), 0.1 };
	values[0] = (struct tcb_noisy){ 4, 0.01 };
	values[1] = (struct tcb_noisy){ 4, 1 };
	struct tcb_mixture *mixture = mixture_of(values, MANY);
	draw_many(mixture, 0, &exact, &deviation);
	draw_many(mixture, 1, &rough, &deviation);
	assert_true(fabs(exact - 4) < 0.05 && rough > 4.4 && deviation > 0.2);
	tcb_mixture_destroy(mixture);
}

/* One alone, equal ones, and one whose noise has no bound. */
static void test_edges(void **state)
{
	double mean, deviation;
	(void)state;
	struct tcb_mixture *mixture = mixture_of((struct tcb_noisy[]){ { 7, 0.1 } }, 1);
	draw_many(mixture, 0, &mean, &deviation);
	assert_true(fabs(mean - 7) < 0.1);
	tcb_mixture_destroy(mixture);
	mixture = mixture_of((struct tcb_noisy[]){ { 7, 0.1 }, { 7, 0.2 }, { 7, INFINITY } }, 3);
	for (size_t i = 0; i < 3; i++) {
		draw_many(mixture, i, &mean, &deviation);
		assert_true(fabs(mean - 7) < 0.1);
	}
	tcb_mixture_destroy(mixture);
	tcb_mixture_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal),
		cmocka_unit_test(test_apart),
		cmocka_unit_test(test_noise_decides),
		cmocka_unit_test(test_edges),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
