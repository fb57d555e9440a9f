/* SPDX-License-Identifier: MIT
 *
 * Every op of this build through the worker: under every contract that a CPU
 * has kernels for, the default geometry and a few of the space, as unlike each
 * other as can be, must be right at every small shape and at full size, and give
 * plausible times.
 */
#include <string.h>

#include <stddef.h>
#include <stdint.h>

#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"
#include "device/cpu_device.h"
#include "kernels/space.h"
#include "shape_for.h"
#include "worker/evaluate.h"

enum { SAMPLE = 12, DRAWS = 600, ROTATION = 4 << 20, ROUNDS = 3 };

/* Small, but with room for tiles of every kind: blocks of k, a share for each thread. */
static const struct tcb_shape whole = { 5, 130, 1024 };

static void try_one(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry)
{
	const struct tcb_screen_rule rule = { .samples_min = 2, .samples_max = 2, .width = 0.1 };
	const struct tcb_trial *trial;
	struct tcb_error err;
	if (tcb_evaluator_try(evaluator, geometry, &rule, &trial, &err) != TCB_OK)
		fail_msg("%s", err.message);
	if (trial->outcome != TCB_OUTCOME_OK) {
		char text[TCB_GEOMETRY_TEXT_MAX];
		tcb_geometry_print(geometry, text);
		fail_msg("%s, %s: %s: %s", trial->variant, text, tcb_outcome_text(trial->outcome), trial->message);
	}
	assert_int_equal(trial->measurement_count, 2);
	assert_true(trial->measurements[TCB_COLD].ns.median > 0 && trial->measurements[TCB_HOT].ns.median > 0);
	assert_true(trial->error_ratio <= 1);
}

/* What there are different kernels and paths for. */
static void kind_of(const struct tcb_problem *problem, const struct tcb_geometry *geometry, int32_t kind[7])
{
	const int32_t *knob = geometry->knob;
	kind[0] = knob[TCB_KNOB_ISA];
	kind[1] = knob[TCB_KNOB_LAYOUT];
	kind[2] = knob[TCB_KNOB_DECODE];
	kind[3] = knob[TCB_KNOB_FORM];
	kind[4] = knob[TCB_KNOB_SCHED];
	kind[5] = knob[TCB_KNOB_THREADS] > 1;
	kind[6] = geometry->tile[TCB_MIDI].k < problem->shape.k;
}

/* In how many respects A is like B. */
static int likeness(const int32_t a[7], const int32_t b[7])
{
	int same = 0;
	for (int i = 0; i < 7; i++)
		same += a[i] == b[i];
	return same;
}

/* COUNT of SPACE, the default geometry first, each of those drawn that is least like its nearest predecessor. */
static void spread(const struct tcb_space *space, const struct tcb_problem *problem, size_t count,
		   const struct tcb_geometry *out[SAMPLE])
{
	static int32_t kinds[DRAWS][7];
	static size_t drawn[DRAWS];
	static int nearest[DRAWS];
	struct tcb_rng rng;
	tcb_rng_init(&rng, 11);
	for (size_t i = 0; i < DRAWS; i++) {
		drawn[i] = i ? tcb_rng_below(&rng, space->count) : space->default_index;
		kind_of(problem, &space->geometries[drawn[i]], kinds[i]);
		nearest[i] = 0;
	}
	for (size_t taken = 0, next = 0; taken < count; taken++) {
		out[taken] = &space->geometries[drawn[next]];
		const size_t last = next;
		for (size_t i = 0; i < DRAWS; i++) {
			const int like = likeness(kinds[i], kinds[last]);
			nearest[i] = like > nearest[i] ? like : nearest[i];
			next = nearest[i] < nearest[next] ? i : next;
		}
	}
}

static void try_finals(const struct tcb_op *op, struct tcb_evaluator *evaluator, const struct tcb_geometry *first,
		       const struct tcb_geometry *second)
{
	struct tcb_error err;
	const struct tcb_geometry finals[2] = { *first, *second };
	double ns[2 * ROUNDS], limit[ROUNDS];
	for (int state = 0; state < TCB_STATE_COUNT; state++) {
		if (tcb_evaluator_interleave(evaluator, finals, 2, (enum tcb_state)state, ROUNDS, 1, ns, limit, NULL,
					     &err) != TCB_OK)
			fail_msg("%s: %s", op->name, err.message);
		for (size_t i = 0; i < 2 * ROUNDS; i++)
			assert_true(ns[i] > 0);
	}
}

static void try_space(const struct tcb_op *op, enum tcb_contract contract, const struct tcb_place *cpu, size_t count,
		      int with_finals)
{
	struct tcb_problem problem;
	struct tcb_space *space;
	struct tcb_evaluator *evaluator;
	struct tcb_error err;
	const struct tcb_shape shape = shape_for(op, whole);
	const struct tcb_evaluate_options options = {
		.seed = 7, .states = 3, .rotation_bytes = ROTATION, .timeout_s = 60
	};
	if (tcb_problem_init(op, contract, &shape, &problem, &err) != TCB_OK ||
	    tcb_space_create(op, &problem, &cpu->device.target, 0, &space, &err) != TCB_OK ||
	    tcb_evaluator_create(op, &problem, cpu, &options, &evaluator, &err) != TCB_OK)
		fail_msg("%s: %s", op->name, err.message);
	const struct tcb_geometry *sample[SAMPLE];
	spread(space, &problem, count, sample);
	for (size_t i = 0; i < count; i++)
		try_one(evaluator, sample[i]);
	if (with_finals)
		try_finals(op, evaluator, sample[0], sample[1]);
	tcb_evaluator_destroy(evaluator);
	tcb_space_destroy(space);
}

/* Some contracts are for GPUs only, or for processors with AMX. */
static int has_kernels(const struct tcb_op *op, enum tcb_contract contract, const struct tcb_target *target)
{
	const struct tcb_variant *variant;
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(op), i)) != NULL; i++)
		if (variant->contract == contract && tcb_target_has(target, variant->isa))
			return 1;
	return 0;
}

static void every_op(void **state)
{
	(void)state;
	static struct tcb_place cpu;
	struct tcb_error err;
	if (tcb_cpu_open("cpu", 0, &cpu, &err) != TCB_OK)
		fail_msg("%s", err.message);
	size_t count;
	const struct tcb_op *const *ops = tcb_ops(&count);
	assert_true(count > 0);
	for (size_t i = 0; i < count; i++) {
		size_t contracts = 0;
		for (int c = 0; c < TCB_CONTRACT_COUNT; c++)
			contracts += has_kernels(ops[i], (enum tcb_contract)c, &cpu.device.target) != 0;
		assert_true(contracts > 0);
		for (int c = 0; c < TCB_CONTRACT_COUNT; c++)
			if (has_kernels(ops[i], (enum tcb_contract)c, &cpu.device.target))
				try_space(ops[i], (enum tcb_contract)c, &cpu, SAMPLE / contracts, i % 4 == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_op) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
