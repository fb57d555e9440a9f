/* SPDX-License-Identifier: MIT
 *
 * What all ops share: problems, variant look-up, signatures, and the judgement
 * of an output against its reference.
 */
#include "kernels/op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cmocka_all.h"
#include "shape_for.h"
#include "toy_op.h"

static void test_problem(void **state)
{
	(void)state;
	struct tcb_problem problem;
	struct tcb_error err;
	assert_int_equal(tcb_problem_init(&toy_op, TCB_CONTRACT_Q8, &(struct tcb_shape){ 1, 2, 64 }, &problem, &err),
			 TCB_OK);
	assert_string_equal(problem.op_name, "toy");
	assert_int_equal(problem.contract, TCB_CONTRACT_Q8);
	assert_int_equal(problem.shape.k, 64);
	assert_int_equal(tcb_problem_init(&toy_op, TCB_CONTRACT_F16, &(struct tcb_shape){ 1, 2, 64 }, &problem, &err),
			 TCB_E_USAGE);
	assert_string_equal(err.message, "op toy has no contract f16; it has: f32, q8");
	assert_int_equal(tcb_problem_init(&toy_op, TCB_CONTRACT_F32, &(struct tcb_shape){ 1, 2, 65 }, &problem, NULL),
			 TCB_E_USAGE);
}

static void test_operand_roles(void **state)
{
	(void)state;
	const struct tcb_operand operands[] = { { .role = TCB_ROLE_INPUT },
						{ .role = TCB_ROLE_OUTPUT },
						{ .role = TCB_ROLE_WEIGHTS } };
	assert_int_equal(tcb_operand_output(operands, 3), 1);
	assert_int_equal(tcb_operand_weights(operands, 3), 2);
	assert_int_equal(tcb_operand_weights(operands, 2), -1);
}

static void test_variants(void **state)
{
	(void)state;
	struct tcb_geometry geometry;
	assert_ptr_equal(tcb_variant_at(tcb_op_cpu(&toy_op), 0), &toy_scalar[0]);
	assert_ptr_equal(tcb_variant_at(tcb_op_cpu(&toy_op), 2), &toy_avx2[0]);
	assert_ptr_equal(tcb_variant_at(tcb_op_cpu(&toy_op), 4), &toy_avx2[2]);
	assert_null(tcb_variant_at(tcb_op_cpu(&toy_op), 5));
	toy_default(&toy_problem, &toy_target, &geometry);
	assert_ptr_equal(tcb_variant_find(&toy_op, TCB_CONTRACT_F32, &geometry), &toy_scalar[1]);
	assert_null(tcb_variant_find(&toy_op, TCB_CONTRACT_Q8, &geometry));
	geometry.knob[TCB_KNOB_LAYOUT] = geometry.knob[TCB_KNOB_UNROLL] = TCB_KNOB_UNSET;
	assert_ptr_equal(tcb_variant_find(&toy_op, TCB_CONTRACT_F32, &geometry), &toy_scalar[1]);
	geometry.knob[TCB_KNOB_LAYOUT] = TCB_LAYOUT_R4;
	assert_null(tcb_variant_find(&toy_op, TCB_CONTRACT_F32, &geometry));
}

/* Any variant's source changes the op's signature; so does their order. */
static void test_signature(void **state)
{
	(void)state;
	struct tcb_variant one[] = { toy_scalar[0], toy_scalar[1], { 0 } };
	struct tcb_variant two[] = { toy_avx2[0], { 0 } };
	const struct tcb_variant *const lists[] = { one, two, NULL }, *const turned[] = { two, one, NULL };
	struct tcb_side side = { .variants = lists };
	const struct tcb_op op = { .side = TCB_SIDES(&side, NULL) };
	char first[TCB_SIGNATURE_MAX], other[TCB_SIGNATURE_MAX];
	tcb_op_signature(&op, first);
	assert_int_equal(strlen(first), TCB_SIGNATURE_MAX - 1);
	tcb_op_signature(&op, other);
	assert_string_equal(first, other);
	side.variants = turned;
	tcb_op_signature(&op, other);
	assert_string_not_equal(first, other);
	side.variants = lists;
	two[0].signature = "cc";
	tcb_op_signature(&op, other);
	assert_string_not_equal(first, other);
}

/* The model has only such operands filled (timing.c): they hold what they hold beside the others.  Returns how many
 * there are. */
static size_t check_numbers_alone(const struct tcb_problem *problem)
{
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	void *all[TCB_OPERANDS_MAX] = { NULL }, *numbers[TCB_OPERANDS_MAX] = { NULL };
	const size_t count = problem->op->operands(problem, operands);
	size_t of_numbers = 0;
	for (size_t i = 0; i < count; i++)
		of_numbers += operands[i].type == TCB_TYPE_I32;
	if (!of_numbers)
		return 0;
	for (size_t i = 0; i < count; i++) {
		all[i] = calloc(1, operands[i].bytes);
		numbers[i] = operands[i].type == TCB_TYPE_I32 ? calloc(1, operands[i].bytes) : NULL;
	}
	problem->op->fill(problem, 7, all);
	problem->op->fill(problem, 7, numbers);
	for (size_t i = 0; i < count; i++) {
		/* Pages lie in an order of their own; that there are entries is enough. */
		if (numbers[i] && strcmp(operands[i].name, "pages") != 0)
			assert_memory_equal(numbers[i], all[i], operands[i].bytes);
		free(numbers[i]);
		free(all[i]);
	}
	return of_numbers;
}

static void test_numbers_alone(void **state)
{
	size_t op_count, checked = 0;
	const struct tcb_op *const *ops = tcb_ops(&op_count);
	(void)state;
	for (size_t i = 0; i < op_count; i++) {
		/* With pages and without. */
		for (size_t n = 36; n <= 37; n++) {
			const struct tcb_shape shape = shape_for(ops[i], (struct tcb_shape){ 3, n, 64 });
			struct tcb_problem problem;
			if (!ops[i]->words ||
			    tcb_problem_init(ops[i], ops[i]->default_contract, &shape, &problem, NULL) != TCB_OK)
				continue;
			checked += check_numbers_alone(&problem);
		}
	}
	assert_true(checked > 0);
}

static void test_gamma(void **state)
{
	(void)state;
	assert_float_equal(tcb_gamma(0), 0, 0);
	assert_float_equal(tcb_gamma(100) * 0x1p24, 100, 1e-3);
	assert_true(tcb_gamma(1000) > 1000 * 0x1p-24);
}

static void test_error_ratio(void **state)
{
	(void)state;
	double y[4] = { 1, -2, 0, 8 }, magnitude[4] = { 1, 2, 4, 8 }, extra[4] = { 0, 0.5, 0, 0 };
	const struct tcb_reference reference = { y, magnitude, extra, NULL };
	struct tcb_plan plan = { .chain = 2, .ulps = 1 };
	size_t bad = 99;
	float got[4] = { 1, -2, 0, 8 };
	assert_float_equal(tcb_error_ratio(&plan, &reference, got, 4, &bad), 0, 0);
	assert_int_equal(bad, 99);
	/* Allowed: gamma(2) = 2^-23 times magnitude, one ulp, extra. */
	got[0] = 1 + 0x1p-22f;
	assert_float_equal(tcb_error_ratio(&plan, &reference, got, 4, &bad), 1, 1e-6);
	got[1] = -2.25f;
	assert_float_equal(tcb_error_ratio(&plan, &reference, got, 4, &bad), 1, 1e-6);
	got[2] = 0x1p-20f; /* magnitude 4: allowed 2^-21 */
	assert_float_equal(tcb_error_ratio(&plan, &reference, got, 4, &bad), 2, 1e-6);
	assert_int_equal(bad, 2);
	got[2] = 0;

	/* What no distance can judge must agree in kind. */
	bad = 99;
	got[3] = NAN;
	assert_true(isinf(tcb_error_ratio(&plan, &reference, got, 4, &bad)));
	assert_int_equal(bad, 3);
	got[3] = INFINITY;
	assert_true(isinf(tcb_error_ratio(&plan, &reference, got, 4, NULL)));
	y[3] = INFINITY;
	assert_true(tcb_error_ratio(&plan, &reference, got, 4, NULL) <= 1.001);
	got[3] = -INFINITY;
	assert_true(isinf(tcb_error_ratio(&plan, &reference, got, 4, NULL)));
	y[3] = NAN;
	assert_true(isinf(tcb_error_ratio(&plan, &reference, got, 4, NULL)));
	got[3] = NAN;
	assert_true(tcb_error_ratio(&plan, &reference, got, 4, NULL) <= 1.001);

	/* EXACT: any error is infinite. */
	plan = (struct tcb_plan){ 0 };
	y[1] = 1;
	got[1] = nextafterf(1, 2);
	extra[1] = 0;
	assert_true(isinf(tcb_error_ratio(&plan, &reference, got + 0, 2, NULL)));
}

/* Many outputs go through vectors: the same as one by one. */
static void test_error_ratio_of_many(void **state)
{
	enum { COUNT = 1200 };
	static double y[COUNT], magnitude[COUNT], extra[COUNT];
	static float got[COUNT];
	const struct tcb_reference reference = { y, magnitude, extra, NULL };
	const struct tcb_plan plan = { .chain = 20, .ulps = 2 };
	static const size_t places[] = { 0, 7, 8, 511, 512, 1023, 1024, COUNT - 1 };
	static const float values[] = { 100, INFINITY, -INFINITY, NAN };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 4);
	for (size_t i = 0; i < COUNT; i++) {
		y[i] = (double)tcb_rng_normal(&rng);
		magnitude[i] = 3 * fabs(y[i]);
		extra[i] = 1e-9;
		got[i] = (float)(y[i] + 0.5e-6 * magnitude[i] * (tcb_rng_unit(&rng) - 0.5));
	}
	double largest = 0;
	for (size_t i = 0; i < COUNT; i++) {
		const struct tcb_reference one = { y + i, magnitude + i, extra + i, NULL };
		largest = fmax(largest, tcb_error_ratio(&plan, &one, got + i, 1, NULL));
	}
	size_t bad = 9999;
	assert_true(largest > 0.05 && largest < 1);
	assert_float_equal(tcb_error_ratio(&plan, &reference, got, COUNT, &bad), largest, 1e-12);
	assert_int_equal(bad, 9999);
	for (size_t p = 0; p < sizeof places / sizeof *places; p++)
		for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
			const float right = got[places[p]];
			got[places[p]] = values[v];
			assert_true(tcb_error_ratio(&plan, &reference, got, COUNT, &bad) > 1);
			assert_int_equal(bad, places[p]);
			got[places[p]] = right;
		}
	/* Where the result is none, none is right; where nothing is allowed, the very number. */
	y[600] = got[600] = INFINITY;
	y[601] = got[601] = NAN;
	y[602] = got[602] = 0;
	magnitude[602] = extra[602] = 0;
	assert_true(tcb_error_ratio(&plan, &reference, got, COUNT, NULL) < 1);
	got[602] = 1e-30f;
	assert_true(isinf(tcb_error_ratio(&plan, &reference, got, COUNT, &bad)));
	assert_int_equal(bad, 602);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_problem),       cmocka_unit_test(test_operand_roles),
		cmocka_unit_test(test_variants),      cmocka_unit_test(test_signature),
		cmocka_unit_test(test_numbers_alone), cmocka_unit_test(test_gamma),
		cmocka_unit_test(test_error_ratio),   cmocka_unit_test(test_error_ratio_of_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
