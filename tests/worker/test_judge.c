/* SPDX-License-Identifier: MIT
 *
 * Judging without running anything: outputs that the test makes up, with one
 * wrong number wherever a shortcut could miss it.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmocka_all.h"
#include "planted.h"
#include "worker/judge.h"

enum { OUTPUTS = PLANTED_M * PLANTED_N };

static struct tcb_pool *pool;
static struct tcb_op op; /* planted, but for what counts */
static unsigned references;

static void counted_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	references++;
	planted_op.reference(problem, operand, out);
}

static struct tcb_instance *instance_of(struct tcb_shared_reference *shared)
{
	struct tcb_problem problem;
	struct tcb_instance *instance;
	planted_problem(&problem);
	assert_int_equal(tcb_instance_create(&op, &problem, 1, NULL, &instance, NULL), TCB_OK);
	instance->shared = shared;
	assert_int_equal(tcb_instance_reference(instance, pool, NULL), TCB_OK);
	return instance;
}

static struct tcb_check judge(struct tcb_instance *instance, double chain, const float *got)
{
	const struct tcb_plan plan = { .chain = chain };
	struct tcb_check check = { .outcome = TCB_OUTCOME_OK };
	assert_int_equal(tcb_judge_bound(instance, &plan, got, pool, "", &check, NULL), TCB_OK);
	assert_int_equal(check.outcome == TCB_OUTCOME_WRONG, check.error_ratio > 1);
	return check;
}

static int set_up(void **state)
{
	(void)state;
	op = planted_op;
	op.reference = counted_reference;
	references = 0;
	return tcb_pool_create(2, NULL, &pool, NULL) == TCB_OK ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	tcb_pool_destroy(pool);
	return 0;
}

static void one_wrong_output_is_found_anywhere(void **state)
{
	(void)state;
	struct tcb_instance *instance = instance_of(NULL);
	static float got[OUTPUTS];
	for (size_t i = 0; i < OUTPUTS; i++)
		got[i] = (float)instance->reference.y[i];
	assert_int_equal(judge(instance, 300, got).outcome, TCB_OUTCOME_OK);
	for (size_t at = 0; at < OUTPUTS; at += at < 16 || at > OUTPUTS - 16 ? 1 : 37) {
		const float right = got[at];
		char where[32];
		snprintf(where, sizeof where, "[%zu][%zu]", at / PLANTED_N, at % PLANTED_N);
		const float wrong[] = { right + 0.1f * (1 + fabsf(right)), NAN, INFINITY, -INFINITY };
		for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
			got[at] = wrong[w];
			const struct tcb_check check = judge(instance, 300, got);
			assert_int_equal(check.outcome, TCB_OUTCOME_WRONG);
			assert_non_null(strstr(check.message, where));
		}
		memset(&got[at], TCB_POISON, sizeof got[at]);
		assert_non_null(strstr(judge(instance, 300, got).message, "never written"));
		got[at] = right;
		/* What was wrong in between is not what is known to be right. */
		assert_int_equal(judge(instance, 300, got).outcome, TCB_OUTCOME_OK);
	}
	tcb_instance_destroy(instance);
}

/* The same bits are judged again where the bound is narrower. */
static void known_outputs_keep_to_their_bound(void **state)
{
	(void)state;
	struct tcb_instance *instance = instance_of(NULL);
	static float got[OUTPUTS];
	for (size_t i = 0; i < OUTPUTS; i++)
		got[i] = (float)instance->reference.y[i];
	got[700] += (float)(0.9 * tcb_gamma(3000) * instance->reference.magnitude[700]);
	const double ratio = judge(instance, 3000, got).error_ratio;
	assert_true(ratio > 0.8 && ratio <= 1);
	assert_true(judge(instance, 3000, got).error_ratio == ratio);
	assert_int_equal(judge(instance, 4000, got).outcome, TCB_OUTCOME_OK);
	assert_int_equal(judge(instance, 2000, got).outcome, TCB_OUTCOME_WRONG);
	tcb_instance_destroy(instance);
}

/* Two instances of one shape, as where the problem is as small as a small shape: each has operands of its own. */
static void exact_results_are_of_their_instance(void **state)
{
	struct tcb_instance *instances[2];
	struct tcb_exact_cache *cache;
	struct tcb_problem problem;
	struct tcb_geometry geometry;
	struct tcb_plan plan;
	(void)state;
	planted_problem(&problem);
	planted_geometry(PLANTED_EXACT, 0, 1, &geometry);
	assert_int_equal(planted_op.plan(&problem, &geometry, &plan, NULL), TCB_OK);
	assert_int_equal(tcb_exact_cache_create(&cache, NULL), TCB_OK);
	for (size_t i = 0; i < 4; i++) {
		static float got[OUTPUTS];
		struct tcb_instance *instance = instances[i % 2];
		void *operand[TCB_OPERANDS_MAX];
		struct tcb_check check = { .outcome = TCB_OUTCOME_OK };
		if (i < 2)
			assert_int_equal(tcb_instance_create(&op, &problem, i + 1, NULL, &instance, NULL), TCB_OK);
		instances[i % 2] = instance;
		for (size_t o = 0; o < instance->operand_count; o++)
			operand[o] = instance->data[o].data;
		planted_op.exact(&plan, operand, got);
		assert_int_equal(tcb_judge_exact(cache, instance, &plan, got, &check, NULL), TCB_OK);
		assert_int_equal(check.outcome, TCB_OUTCOME_OK);
		got[OUTPUTS / 2] = nextafterf(got[OUTPUTS / 2], INFINITY);
		assert_int_equal(tcb_judge_exact(cache, instance, &plan, got, &check, NULL), TCB_OK);
		assert_int_equal(check.outcome, TCB_OUTCOME_WRONG);
	}
	tcb_exact_cache_destroy(cache);
	tcb_instance_destroy(instances[0]);
	tcb_instance_destroy(instances[1]);
}

/* Workers that follow each other compute it once, and it is out of their reach. */
static void reference_is_shared(void **state)
{
	(void)state;
	struct tcb_problem problem;
	planted_problem(&problem);
	struct tcb_shared_reference *shared = tcb_shared_reference_create(&op, &problem, NULL);
	assert_non_null(shared);
	struct tcb_instance *own = instance_of(NULL), *first = instance_of(shared), *second = instance_of(shared);
	assert_int_equal(references, 2);
	assert_memory_equal(second->reference.y, own->reference.y, OUTPUTS * sizeof(double));
	assert_memory_equal(second->reference.magnitude, own->reference.magnitude, OUTPUTS * sizeof(double));
	assert_memory_equal(second->reference.extra, own->reference.extra, OUTPUTS * sizeof(double));
	tcb_instance_destroy(first);
	tcb_instance_destroy(second);
	tcb_instance_destroy(own);
	tcb_shared_reference_destroy(shared);
	tcb_shared_reference_destroy(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_wrong_output_is_found_anywhere),
		TEST(known_outputs_keep_to_their_bound),
		TEST(exact_results_are_of_their_instance),
		TEST(reference_is_shared),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
