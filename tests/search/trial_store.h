/* SPDX-License-Identifier: MIT
 *
 * Where sweeps of the simulated machine put their trials, and sweeps that know those.
 */
#ifndef TCB_TESTS_TRIAL_STORE_H
#define TCB_TESTS_TRIAL_STORE_H

#include <stdlib.h>

#include "cmocka_all.h"
#include "fake_evaluator.h"

/* A sink that keeps copies of all trials. */
struct store {
	struct tcb_trial *trials;
	size_t count, capacity, fail_after; /* trials after which writing fails; 0 never */
};

static inline enum tcb_status store_trial(void *ctx, const struct tcb_trial *trial, struct tcb_error *err)
{
	struct store *store = ctx;
	if (store->fail_after && store->count >= store->fail_after)
		return tcb_fail(err, TCB_E_IO, "the disk is full");
	if (store->count == store->capacity) {
		store->capacity = store->capacity ? 2 * store->capacity : 256;
		store->trials = realloc(store->trials, store->capacity * sizeof *store->trials);
		assert_non_null(store->trials);
	}
	struct tcb_trial *copy = &store->trials[store->count++];
	*copy = *trial;
	struct tcb_measurement *measurements = calloc(trial->measurement_count + 1, sizeof *measurements);
	assert_non_null(measurements);
	for (size_t m = 0; m < trial->measurement_count; m++) {
		measurements[m] = trial->measurements[m];
		assert_true(measurements[m].sample_count > 0 && measurements[m].ns.median > 0);
		measurements[m].samples = NULL;
	}
	copy->measurements = measurements;
	copy->counters = NULL;
	return TCB_OK;
}

static inline void store_fini(struct store *store)
{
	for (size_t i = 0; i < store->count; i++)
		free((void *)(uintptr_t)store->trials[i].measurements);
	free(store->trials);
	*store = (struct store){ 0 };
}

static inline size_t count_stage(const struct store *store, enum tcb_stage stage)
{
	size_t count = 0;
	for (size_t i = 0; i < store->count; i++)
		for (size_t m = 0; m < store->trials[i].measurement_count; m++)
			count += store->trials[i].measurements[m].stage == stage;
	return count;
}

static inline enum tcb_status sweep_known(const struct tcb_problem *problem, const struct tcb_sweep_options *options,
					  const struct store *known, struct store *store, struct tcb_sweep_result *out,
					  struct tcb_error *err)
{
	struct tcb_sink sink = { .ctx = store, .trial = store_trial };
	return tcb_sweep_run(&fake_op, problem, &fake_cpu, options, known ? known->trials : NULL,
			     known ? known->count : 0, &sink, out, err);
}

static inline int tie_set_has(const struct tcb_decision *decision, const struct tcb_geometry *geometry)
{
	for (size_t i = 0; i < decision->tie_count; i++)
		if (tcb_geometry_equal(&decision->tie_set[i], geometry))
			return 1;
	return 0;
}

#endif
