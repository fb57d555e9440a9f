/* SPDX-License-Identifier: MIT
 *
 * Ops on rows in WGSL on values that random data does not have.  Large finite
 * ones are promised everywhere (rows_wgsl.h); what NaNs and infinities come to is not,
 * and is held to the formula on a device in software alone, where it is known.  topk and route_f32 look at
 * bits, so that all is promised of them.
 */
#include "wgpu_place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "kernels/space.h"
#include "worker/evaluate.h"

enum { TRIED = 6 };

/* What is in a row then, in one place or everywhere; of which op (NULL: all).  All of an op's are in rows of one
 * problem, with one as it was drawn before and after each: a kernel is compiled once for all of them. */
static const struct planted {
	float value;
	int is_everywhere, is_promised;
	const char *op;
} plants[] = {
	{ 3e38f, 0, 1, "softmax" }, { -3e38f, 1, 1, "softmax" }, { 1e15f, 1, 1, NULL },     { NAN, 0, 0, NULL },
	{ INFINITY, 0, 0, NULL },   { -INFINITY, 0, 0, NULL },   { -INFINITY, 1, 0, NULL }, { -0.0f, 1, 1, NULL },
};

static const struct {
	const char *name;
	size_t k;
	int is_of_bits;
} ops[] = { { "softmax", 0, 0 }, { "rmsnorm", 0, 0 }, { "layernorm", 0, 0 }, { "topk", 40, 1 }, { "route_f32", 8, 1 } };

enum { PLANTS = sizeof plants / sizeof *plants };

static int is_planted[PLANTS];
static const struct tcb_op *real;

static void fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	const size_t n = problem->shape.n;
	struct tcb_problem same = *problem;

	same.op = real;
	real->fill(&same, seed, operand);
	for (size_t i = 0; i < PLANTS && 2 * i + 1 < problem->shape.m; i++) /* smaller shapes are verified, too */
		for (size_t c = 0; is_planted[i] && c < n; c++)
			if (plants[i].is_everywhere || c == n / 3)
				((float *)operand[0])[(2 * i + 1) * n + c] = plants[i].value;
}

static size_t failed, tried;

static void try_some(const struct tcb_problem *problem, const struct tcb_place *place)
{
	static const struct tcb_screen_rule once = { .samples_min = 1, .samples_max = 1 };
	const struct tcb_evaluate_options options = {
		.seed = 3, .states = 1u << TCB_HOT, .rotation_bytes = 1 << 16, .timeout_s = 120
	};
	struct tcb_evaluator *evaluator;
	struct tcb_space *space;
	struct tcb_error err;

	if (tcb_space_create(problem->op, problem, &place->device.target, 0, &space, &err) != TCB_OK ||
	    tcb_evaluator_create(problem->op, problem, place, &options, &evaluator, &err) != TCB_OK)
		fail_msg("%s", err.message);
	for (size_t g = 0; g < space->count; g += 1 + space->count / TRIED, tried++) {
		char text[TCB_GEOMETRY_TEXT_MAX];
		const struct tcb_trial *trial;

		if (tcb_evaluator_try(evaluator, &space->geometries[g], &once, &trial, &err) != TCB_OK)
			fail_msg("%s", err.message);
		if (trial->outcome == TCB_OUTCOME_OK)
			continue;
		failed++;
		tcb_geometry_print(&space->geometries[g], text);
		print_error("%s %s: %s: %s\n", problem->op_name, text, tcb_outcome_text(trial->outcome),
			    trial->message);
	}
	tcb_evaluator_destroy(evaluator);
	tcb_space_destroy(space);
}

static void planted_values(void **state)
{
	struct tcb_place place;

	(void)state;
	wgpu_place(&place);
	for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
		struct tcb_problem problem;
		struct tcb_op op;

		real = tcb_op_find(ops[o].name);
		for (size_t i = 0; i < PLANTS; i++)
			is_planted[i] =
				(!plants[i].op || strcmp(plants[i].op, ops[o].name) == 0 || ops[o].is_of_bits) &&
				(plants[i].is_promised || ops[o].is_of_bits ||
				 place.device.target.wgpu.vendor == TCB_WGPU_SOFTWARE);
		op = *real;
		op.fill = fill;
		op.fill_parts = NULL;
		op.fill_part = NULL;
		assert_int_equal(tcb_problem_init(&op, TCB_CONTRACT_F32,
						  &(struct tcb_shape){ 2 * PLANTS + 1, 1028, ops[o].k }, &problem,
						  NULL),
				 TCB_OK);
		try_some(&problem, &place);
	}
	assert_true(tried > 0);
	assert_int_equal(failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(planted_values) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
