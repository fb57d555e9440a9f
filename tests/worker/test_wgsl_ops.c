/* SPDX-License-Identifier: MIT
 *
 * Every op that has kernels in WGSL, on a WebGPU device: at shapes of odd sizes,
 * the default of each, and every value of every axis of the space that the device has, at one shape or another,
 * verified as a sweep does.  Of ops that one function writes, the first has all of it, the others their defaults at
 * every third shape.  Defaults are parted (instrumented.h), what is no default is of the second part: a device in
 * software compiles for a second.
 */
#include "wgpu_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "instrumented.h"
#include "kernels/kv_cache.h"
#include "kernels/space.h"
#include "worker/evaluate.h"

/* An op takes those that its check_shape does. */
static const struct tcb_shape shapes[] = {
	{ 1, 1, 0 },
	{ 3, 5, 0 },
	{ 37, 1009, 0 },
	{ 130, 260, 0 },
	{ 2, 4100, 0 },
	{ 1, 37, 512 },
	{ 37, 130, 768 },
	{ 37, 29, 41 },
	{ 150, 132, 36 },
	{ 128, 128, 64 },
	{ 2, 5000, 40 },
	/* of norms: halves, and what is added */
	{ 37, 1010, 0, { .x_type = 2, .y_type = 2 } },
	{ 5, 2052, 0, { .x_type = 3, .y_type = 2, .add = 1 } },
	{ 130, 260, 0, { .y_type = 3, .eps = 6 } },
	/* of KV caches */
	{ 1, 200, 64, { .query = 6, .kv = 2, .sequences = 1 } },
	{ 3, 37, 96, { .query = 5, .kv = 1, .sequences = 4, .ragged = 1, .page = 16, .causal = 1 } },
	{ 19, 70, 128, { .query = 2, .kv = 2, .sequences = 2, .window = 50, .cap = 3, .causal = 1 } },
	{ 3, 37, 96, { .query = 5, .kv = 1, .sequences = 4, .ragged = 1, .page = 16, .pairs = 1 } },
};

enum { VALUES_MAX = TCB_AXES_MAX * TCB_AXIS_VALUES_MAX, DRAWN = 64 };

struct coverage {
	size_t count;
	struct value {
		enum tcb_axis_kind kind;
		int which;
		size_t value;
	} seen[VALUES_MAX];
};

static size_t value_of(const struct tcb_axis *axis, const struct tcb_geometry *geometry)
{
	const struct tcb_tile *tile = &geometry->tile[axis->kind == TCB_AXIS_KNOB ? 0 : axis->which];

	return axis->kind == TCB_AXIS_KNOB     ? (size_t)geometry->knob[axis->which]
	       : axis->kind == TCB_AXIS_TILE_M ? tile->m
	       : axis->kind == TCB_AXIS_TILE_N ? tile->n
					       : tile->k;
}

static int has_seen(const struct coverage *coverage, const struct value *value)
{
	for (size_t i = 0; i < coverage->count; i++)
		if (coverage->seen[i].kind == value->kind && coverage->seen[i].which == value->which &&
		    coverage->seen[i].value == value->value)
			return 1;
	return 0;
}

/* How many of GEOMETRY's values are new; they are marked if MARK. */
static size_t new_values(struct coverage *coverage, const struct tcb_space *space, const struct tcb_geometry *geometry,
			 int mark)
{
	size_t count = 0;

	for (size_t a = 0; a < space->axis_count; a++) {
		const struct value value = { space->axes[a].kind, space->axes[a].which,
					     value_of(&space->axes[a], geometry) };

		if (has_seen(coverage, &value) || coverage->count == VALUES_MAX)
			continue;
		if (mark)
			coverage->seen[coverage->count++] = value;
		count++;
	}
	return count;
}

/* Of the first of GEOMETRIES in a random order the one with the most new values; of all of them where those have none.
 * COUNT: none has. */
static size_t next_to_try(struct coverage *coverage, const struct tcb_space *space, struct tcb_rng *rng)
{
	size_t best = space->count, most = 0;

	for (size_t i = 0; i < space->count && (i < DRAWN || most == 0); i++) {
		const size_t at = i < DRAWN ? (size_t)tcb_rng_below(rng, space->count) : i - DRAWN;
		const size_t count = new_values(coverage, space, &space->geometries[at], 0);

		best = count > most ? at : best;
		most = count > most ? count : most;
	}
	return best;
}

static size_t tried, failed;

static void try_one(struct tcb_evaluator *evaluator, const struct tcb_problem *problem,
		    const struct tcb_geometry *geometry)
{
	static const struct tcb_screen_rule once = { .samples_min = 1, .samples_max = 1 };
	char text[TCB_GEOMETRY_TEXT_MAX], shape[TCB_SHAPE_TEXT_MAX];
	const struct tcb_trial *trial;
	struct tcb_error err;

	if (tcb_evaluator_try(evaluator, geometry, &once, &trial, &err) != TCB_OK)
		fail_msg("%s", err.message);
	tried++;
	if (trial->outcome == TCB_OUTCOME_OK)
		return;
	failed++;
	tcb_geometry_print(geometry, text);
	tcb_shape_print(&problem->shape, shape);
	print_error("%s %s %s: %s: %s\n", problem->op_name, shape, text, tcb_outcome_text(trial->outcome),
		    trial->message);
}

/* The default, unless LEFT_OUT, then, unless ONLY that, others until COVERAGE has each value. */
static void try_space(const struct tcb_problem *problem, const struct tcb_place *place, int only, int left_out,
		      struct coverage *coverage)
{
	const struct tcb_evaluate_options options = {
		.seed = 3, .states = 1u << TCB_HOT, .rotation_bytes = 1 << 16, .timeout_s = 120
	};
	struct tcb_evaluator *evaluator;
	struct tcb_space *space;
	struct tcb_error err;
	struct tcb_rng rng;

	if (tcb_space_create(problem->op, problem, &place->device.target, 0, &space, &err) != TCB_OK ||
	    tcb_evaluator_create(problem->op, problem, place, &options, &evaluator, &err) != TCB_OK)
		fail_msg("%s", err.message);
	tcb_rng_init(&rng, space->count);
	for (size_t at = space->default_index; at < space->count;
	     at = only ? space->count : next_to_try(coverage, space, &rng)) {
		(void)new_values(coverage, space, &space->geometries[at], 1);
		if (at == space->default_index ? !left_out : test_part() != 1)
			try_one(evaluator, problem, &space->geometries[at]);
	}
	tcb_evaluator_destroy(evaluator);
	tcb_space_destroy(space);
}

static int has_kernels(const struct tcb_op *op, enum tcb_contract contract, const struct tcb_target *target)
{
	const struct tcb_variant *variant;

	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_side(op, target), i)); i++)
		if (variant->contract == contract)
			return 1;
	return 0;
}

static int is_of_kv_cache(const struct tcb_op *op)
{
	return (op->words & TCB_KV_WORDS) != 0;
}

/* Of KV caches: do both have blocks, or none? */
static int is_alike(const struct tcb_problem *problem, const struct tcb_op *other)
{
	struct tcb_operand own[TCB_OPERANDS_MAX], others[TCB_OPERANDS_MAX];
	struct tcb_problem of_other = *problem;

	if (!is_of_kv_cache(other))
		return other->type == problem->op->type;
	of_other.op = other;
	for (size_t i = problem->op->operands(problem, own), end = other->operands(&of_other, others); i > 0; i--)
		if (i > end || own[i - 1].bytes != others[i - 1].bytes)
			return 0;
	return 1;
}

/* Was the function that writes its op's kernels met before, with an op of the same type? */
static int is_written_as_one_before(const struct tcb_op *const *ops, size_t i, const struct tcb_problem *problem,
				    const struct tcb_target *target)
{
	for (size_t before = 0; before < i; before++)
		if (tcb_op_side(ops[before], target) &&
		    tcb_op_side(ops[before], target)->emit == tcb_op_side(ops[i], target)->emit &&
		    is_alike(problem, ops[before]))
			return 1;
	return 0;
}

static void every_value_of_every_axis(void **state)
{
	struct tcb_place place;
	static struct coverage coverage;
	struct tcb_problem problem;
	size_t op_count, ops_tried = 0;
	const struct tcb_op *const *ops = tcb_ops(&op_count);

	(void)state;
	wgpu_place(&place);
	for (size_t i = 0; i < op_count; i++) {
		if (!tcb_op_side(ops[i], &place.device.target))
			continue;
		ops_tried++;
		coverage.count = 0;
		for (int contract = 0; contract < TCB_CONTRACT_COUNT; contract++)
			for (size_t s = 0, alike = 0; s < sizeof shapes / sizeof *shapes; s++) {
				if (!has_kernels(ops[i], (enum tcb_contract)contract, &place.device.target) ||
				    tcb_problem_init(ops[i], (enum tcb_contract)contract, &shapes[s], &problem, NULL) !=
					    TCB_OK)
					continue;
				const int only = is_written_as_one_before(ops, i, &problem, &place.device.target);
				const int left_out = test_leaves_out(i * sizeof shapes / sizeof *shapes + s);
				if (only ? alike++ % 3 == 0 && !left_out : !left_out || test_part() != 1)
					try_space(&problem, &place, only, left_out, &coverage);
			}
	}
	print_message("%zu ops, %zu candidates\n", ops_tried, tried);
	assert_true(ops_tried > 0 && tried > (test_takes_all() ? ops_tried : ops_tried / TEST_EIGHTHS));
	assert_int_equal(failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_value_of_every_axis) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
