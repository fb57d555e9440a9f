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

#include "base/util.h"
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
	problem.op = &op;
	assert_int_equal(tcb_instance_create(&op, &problem, 1, NULL, &instance, NULL), TCB_OK);
	instance->shared = shared;
	assert_int_equal(tcb_instance_reference(instance, pool, NULL), TCB_OK);
	return instance;
}

static struct tcb_check judge(struct tcb_instance *instance, double chain, const float *got)
{
	const struct tcb_plan plan = { .chain = chain };
	struct tcb_check check = { .outcome = TCB_OUTCOME_OK };
	void *const operand[] = { NULL, NULL, (void *)(uintptr_t)got };
	assert_int_equal(tcb_judge_bound(instance, &plan, operand, pool, "", &check, NULL), TCB_OK);
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
		got[i] = (float)instance->reference[0].y[i];
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
		got[i] = (float)instance->reference[0].y[i];
	got[700] += (float)(0.9 * tcb_gamma(3000) * instance->reference[0].magnitude[700]);
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
	problem.op = &op;
	planted_geometry(PLANTED_EXACT, 0, 1, &geometry);
	assert_int_equal(tcb_op_cpu(&planted_op)->plan(&problem, &geometry, &plan, NULL), TCB_OK);
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
	problem.op = &op;
	struct tcb_shared_reference *shared = tcb_shared_reference_create(&op, &problem, NULL);
	assert_non_null(shared);
	struct tcb_instance *own = instance_of(NULL), *first = instance_of(shared), *second = instance_of(shared);
	assert_int_equal(references, 2);
	assert_memory_equal(second->reference[0].y, own->reference[0].y, OUTPUTS * sizeof(double));
	assert_memory_equal(second->reference[0].magnitude, own->reference[0].magnitude, OUTPUTS * sizeof(double));
	assert_memory_equal(second->reference[0].extra, own->reference[0].extra, OUTPUTS * sizeof(double));
	tcb_instance_destroy(first);
	tcb_instance_destroy(second);
	tcb_instance_destroy(own);
	tcb_shared_reference_destroy(shared);
	tcb_shared_reference_destroy(NULL);
}

/* --- several outputs --- */

/* Three outputs of other sizes and types among the operands, each some numbers times one of X. */
enum { SUM, X, PRODUCT, HALF, SCALES, COUNT };
static const size_t sizes[COUNT] = { 70000, 40, 40, 300, 1 }; /* the first has two chunks */

static size_t many_operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	(void)problem;
	out[SUM] = (struct tcb_operand){ "sum", TCB_ROLE_OUTPUT, TCB_TYPE_F32, 700, 100, 4 * sizes[SUM], 0 };
	out[X] = (struct tcb_operand){ "x", TCB_ROLE_INPUT, TCB_TYPE_F32, 1, sizes[X], 4 * sizes[X], 0 };
	out[PRODUCT] = (struct tcb_operand){ "product", TCB_ROLE_OUTPUT, TCB_TYPE_F32, 4, 10, 4 * sizes[PRODUCT], 0 };
	out[HALF] = (struct tcb_operand){ "half", TCB_ROLE_OUTPUT, TCB_TYPE_F16, 3, 100, 2 * sizes[HALF], 0 };
	out[SCALES] = (struct tcb_operand){ "scales", TCB_ROLE_INPUT, TCB_TYPE_F32, 1, 1, 4, 0 };
	return COUNT;
}

static void many_fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	struct tcb_rng rng;
	(void)problem;
	tcb_rng_init(&rng, seed);
	for (size_t i = 0; i < sizes[X]; i++)
		((float *)operand[X])[i] = tcb_rng_normal(&rng);
	*(float *)operand[SCALES] = 2;
}

static void many_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	static const size_t outputs[] = { SUM, PRODUCT, HALF };
	const float *x = operand[X];
	(void)problem;
	references++;
	assert_ptr_equal(out->pool, pool);
	for (size_t o = 0; o < 3; o++)
		for (size_t i = 0; i < sizes[outputs[o]]; i++) {
			out[o].y[i] = (double)x[i % sizes[X]] * (double)(o + 1);
			out[o].magnitude[i] = fabs(out[o].y[i]);
			out[o].extra[i] = outputs[o] == HALF ? 0x1p-10 * fabs(out[o].y[i]) : 0;
		}
}

static struct tcb_instance *many_instance(struct tcb_shared_reference *shared)
{
	struct tcb_instance *instance;
	struct tcb_problem problem;
	op.operands = many_operands;
	op.fill = many_fill;
	op.reference = many_reference;
	planted_problem(&problem);
	problem.op = &op;
	assert_int_equal(tcb_instance_create(&op, &problem, 1, NULL, &instance, NULL), TCB_OK);
	instance->shared = shared;
	assert_int_equal(tcb_instance_reference(instance, pool, NULL), TCB_OK);
	return instance;
}

/* What a kernel would leave: in the instance's own outputs. */
static void compute_right(struct tcb_instance *instance, void *operand[])
{
	for (size_t o = 0; o < instance->output_count; o++) {
		const struct tcb_output *output = &instance->output[o];
		operand[output->operand] = instance->data[output->operand].data;
		for (size_t i = 0; i < output->count; i++) {
			const float y = (float)instance->reference[o].y[i];
			const enum tcb_type type = instance->operands[output->operand].type;
			tcb_type_from_f32(type, &y, 1, (char *)operand[output->operand] + i * tcb_type_bytes(type));
		}
	}
}

static struct tcb_check judge_many(struct tcb_instance *instance, void *const operand[])
{
	const struct tcb_plan plan = { .chain = 1000 };
	struct tcb_check check = { .outcome = TCB_OUTCOME_OK };
	assert_int_equal(tcb_judge_bound(instance, &plan, operand, pool, "", &check, NULL), TCB_OK);
	return check;
}

static void a_wrong_value_in_each_output_is_found_and_named(void **state)
{
	static const struct {
		size_t output, at;
		const char *where;
	} cases[] = { { SUM, 0, "output 'sum' [0][0]" },         { SUM, 69999, "output 'sum' [699][99]" },
		      { PRODUCT, 0, "output 'product' [0][0]" }, { PRODUCT, 39, "output 'product' [3][9]" },
		      { HALF, 0, "output 'half' [0][0]" },       { HALF, 299, "output 'half' [2][99]" },
		      { SUM, 65536, "output 'sum' [655][36]" } };
	struct tcb_instance *instance = many_instance(NULL);
	void *operand[TCB_OPERANDS_MAX] = { NULL };
	(void)state;
	assert_int_equal(instance->output_count, 3);
	compute_right(instance, operand);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const size_t bytes = cases[i].output == HALF ? 2 : 4;
		unsigned char kept[4], *at = (unsigned char *)operand[cases[i].output] + bytes * cases[i].at;
		assert_int_equal(judge_many(instance, operand).outcome, TCB_OUTCOME_OK);
		memcpy(kept, at, bytes);
		at[bytes - 1] ^= 4; /* of the exponent */
		struct tcb_check check = judge_many(instance, operand);
		assert_int_equal(check.outcome, TCB_OUTCOME_WRONG);
		assert_true(check.error_ratio > 1);
		assert_non_null(strstr(check.message, cases[i].where));
		memset(at, TCB_POISON, bytes);
		check = judge_many(instance, operand);
		assert_non_null(strstr(check.message, cases[i].where));
		assert_non_null(strstr(check.message, "never written"));
		memcpy(at, kept, bytes);
	}
	tcb_instance_destroy(instance);
}

/* Each has a ratio of its own; the largest is told, with its name, also where the bits are known. */
static void the_worst_output_is_named(void **state)
{
	struct tcb_instance *instance = many_instance(NULL);
	void *operand[TCB_OPERANDS_MAX] = { NULL };
	(void)state;
	compute_right(instance, operand);
	((float *)operand[PRODUCT])[7] *= 1 + 0.9f * (float)tcb_gamma(1000);
	((float *)operand[SUM])[7] *= 1 + 0.5f * (float)tcb_gamma(1000);
	for (int again = 0; again < 2; again++) {
		const struct tcb_check check = judge_many(instance, operand);
		assert_int_equal(check.outcome, TCB_OUTCOME_OK);
		assert_true(check.error_ratio > 0.85 && check.error_ratio < 0.95);
		assert_string_equal(check.message, "largest error in output 'product'");
	}
	tcb_instance_destroy(instance);
}

static void references_of_all_outputs_are_shared(void **state)
{
	struct tcb_problem problem;
	(void)state;
	tcb_instance_destroy(many_instance(NULL)); /* sets the op up */
	planted_problem(&problem);
	problem.op = &op;
	struct tcb_shared_reference *shared = tcb_shared_reference_create(&op, &problem, NULL);
	struct tcb_instance *first = many_instance(shared), *second = many_instance(shared);
	assert_int_equal(references, 2);
	for (size_t o = 0; o < 3; o++)
		assert_ptr_equal(first->reference[o].extra, second->reference[o].extra);
	tcb_instance_destroy(first);
	tcb_instance_destroy(second);
	tcb_shared_reference_destroy(shared);
}

static size_t too_many_operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	(void)problem;
	for (size_t i = 0; i <= TCB_OUTPUTS_MAX; i++)
		out[i] = (struct tcb_operand){ "y", TCB_ROLE_OUTPUT, TCB_TYPE_F32, 1, 1, 4, 0 };
	return TCB_OUTPUTS_MAX + 1;
}

static size_t formless(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	(void)problem;
	out[0] = (struct tcb_operand){ "ids", TCB_ROLE_OUTPUT, TCB_TYPE_BLOCKS, 1, 1, 4, 0 };
	return 1;
}

static size_t no_output(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	(void)problem;
	out[0] = (struct tcb_operand){ "x", TCB_ROLE_INPUT, TCB_TYPE_F32, 1, 1, 4, 0 };
	return 1;
}

static void what_cannot_be_judged_is_refused(void **state)
{
	struct tcb_instance *instance = NULL;
	struct tcb_problem problem;
	(void)state;
	planted_problem(&problem);
	problem.op = &op;
	size_t (*const refused[])(const struct tcb_problem *,
				  struct tcb_operand[TCB_OPERANDS_MAX]) = { too_many_operands, formless, no_output };
	static const char *const why[] = { "more than 4 outputs", "'ids'", "no output" };
	for (size_t i = 0; i < 3; i++) {
		struct tcb_error err;
		op.operands = refused[i];
		assert_int_equal(tcb_instance_create(&op, &problem, 1, NULL, &instance, &err), TCB_E_UNSUPPORTED);
		assert_non_null(strstr(err.message, why[i]));
	}
}

/* --- values that floats do not hold, and outputs that are read --- */

enum { IDS, MARKS, SUMS, STATE, WIDE };

static size_t wide_operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	(void)problem;
	out[IDS] = (struct tcb_operand){ "ids", TCB_ROLE_OUTPUT, TCB_TYPE_I32, 1, 3, 12, 0 };
	out[MARKS] = (struct tcb_operand){ "marks", TCB_ROLE_OUTPUT, TCB_TYPE_U32, 1, 3, 12, 0 };
	out[SUMS] = (struct tcb_operand){ "sums", TCB_ROLE_OUTPUT, TCB_TYPE_F64, 1, 3, 24, 0 };
	out[STATE] = (struct tcb_operand){ .name = "state",
					   .role = TCB_ROLE_OUTPUT,
					   .type = TCB_TYPE_F32,
					   .rows = 1,
					   .cols = 2,
					   .bytes = 8,
					   .is_updated = 1 };
	return WIDE;
}

static void wide_fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	(void)problem, (void)seed;
	((float *)operand[STATE])[0] = 3;
	((float *)operand[STATE])[1] = 4;
}

static void wide_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	static const double right[WIDE][3] = { { -1, 2147483647, 7 }, { 4294967295, 0, 1 }, { 1, 1e300, -0.1 }, { 0 } };
	(void)problem;
	for (size_t o = 0; o < WIDE; o++)
		for (size_t i = 0; i < (o == STATE ? 2 : 3); i++) {
			out[o].y[i] = o == STATE ? 2 * (double)((const float *)operand[STATE])[i] : right[o][i];
			out[o].magnitude[i] = 0;
			out[o].extra[i] = o == SUMS ? 1e-12 * fabs(right[o][i]) : 0;
		}
}

static void wide_values_are_judged_as_they_are(void **state)
{
	int32_t ids[3] = { -1, 2147483647, 7 };
	uint32_t marks[3] = { 4294967295u, 0, 1 };
	double sums[3] = { 1, 1e300, -0.1 };
	float updated[2] = { 6, 8 };
	void *const operand[] = { ids, marks, sums, updated };
	struct tcb_problem problem;
	struct tcb_instance *instance;
	struct tcb_check check;
	(void)state;
	op.operands = wide_operands;
	op.fill = wide_fill;
	op.reference = wide_reference;
	planted_problem(&problem);
	problem.op = &op;
	assert_int_equal(tcb_instance_create(&op, &problem, 1, NULL, &instance, NULL), TCB_OK);
	assert_true(tcb_instance_is_updated(instance));
	assert_float_equal(((const float *)tcb_instance_start(instance, STATE))[1], 4, 0);
	assert_null(tcb_instance_start(instance, SUMS));
	assert_int_equal(tcb_instance_reference(instance, pool, NULL), TCB_OK);
	assert_int_equal(judge_many(instance, operand).outcome, TCB_OUTCOME_OK);
	sums[2] *= 1 + 1e-11; /* the same float */
	check = judge_many(instance, operand);
	assert_int_equal(check.outcome, TCB_OUTCOME_WRONG);
	assert_non_null(strstr(check.message, "output 'sums' [0][2] is -0.1000000000"));
	sums[2] = -0.1;
	marks[0]--; /* the same float */
	check = judge_many(instance, operand);
	assert_non_null(strstr(check.message, "output 'marks' [0][0] is 4294967294, not 4294967295"));
	marks[0]++;
	memcpy(&ids[0], tcb_instance_start(instance, IDS), sizeof ids[0]); /* poison of floats would be right */
	check = judge_many(instance, operand);
	assert_non_null(strstr(check.message, "output 'ids' [0][0] was never written"));
	ids[0] = -1;
	updated[0] = 3;
	check = judge_many(instance, operand);
	assert_non_null(strstr(check.message, "output 'state' [0][0] is 3, not 6"));
	tcb_instance_destroy(instance);
}

/* --- several weights --- */

static size_t weights_operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	(void)problem;
	out[0] = (struct tcb_operand){ "gate", TCB_ROLE_WEIGHTS, TCB_TYPE_F32, 1, 5, 20, 1 };
	out[1] = (struct tcb_operand){ "y", TCB_ROLE_OUTPUT, TCB_TYPE_F32, 1, 1, 4, 0 };
	out[2] = (struct tcb_operand){ "router", TCB_ROLE_WEIGHTS, TCB_TYPE_F32, 1, 3, 12, 1 };
	out[3] = (struct tcb_operand){ "down", TCB_ROLE_WEIGHTS, TCB_TYPE_F32, 1, 2, 8, 1 };
	return 4;
}

static void weights_fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	static const size_t values[] = { 5, 0, 3, 2 };
	(void)problem, (void)seed;
	for (size_t w = 0; w < 4; w++)
		for (size_t i = 0; i < values[w]; i++)
			((float *)operand[w])[i] = (float)(10 * w + i);
}

static unsigned packings;

/* One value before them, which says whose they are. */
static void weights_pack(const struct tcb_problem *problem, size_t which, enum tcb_layout layout, const void *weights,
			 void *packed)
{
	(void)problem, (void)layout;
	packings++;
	((float *)packed)[0] = (float)which;
	memcpy((float *)packed + 1, weights, which == 0 ? 20 : 8);
}

static void each_weights_are_packed_by_themselves(void **state)
{
	const size_t bytes[TCB_OPERANDS_MAX] = { [0] = 24, [3] = 12 }; /* the router is read as it is stored */
	const size_t other[TCB_OPERANDS_MAX] = { [0] = 24, [3] = 16 };
	const struct tcb_variant variant = { .layout = TCB_LAYOUT_R4 };
	struct tcb_plan plan = { .variant = &variant };
	const struct tcb_packed *packed, *again;
	struct tcb_instance *instance;
	struct tcb_problem problem;
	(void)state;
	op.operands = weights_operands;
	op.fill = weights_fill;
	op.pack = weights_pack;
	packings = 0;
	planted_problem(&problem);
	problem.op = &op;
	assert_int_equal(tcb_instance_create(&op, &problem, 1, NULL, &instance, NULL), TCB_OK);
	assert_int_equal(tcb_instance_packed(instance, TCB_LAYOUT_R4, bytes, &packed, NULL), TCB_OK);
	assert_int_equal(packings, 2);
	const float gate[] = { 0, 0, 1, 2, 3, 4 }, down[] = { 3, 30, 31 };
	assert_memory_equal(packed->buffer[0].data, gate, sizeof gate);
	assert_memory_equal(packed->buffer[3].data, down, sizeof down);
	memcpy(plan.packed_bytes, bytes, sizeof bytes);
	for (size_t i = 0; i < 4; i++)
		assert_ptr_equal(tcb_instance_buffer(instance, &plan, i),
				 bytes[i] ? &packed->buffer[i] : &instance->data[i]);
	assert_int_equal(tcb_instance_packed(instance, TCB_LAYOUT_R4, bytes, &again, NULL), TCB_OK);
	assert_int_equal(packings, 2);
	assert_int_equal(tcb_instance_packed(instance, TCB_LAYOUT_R4, other, &again, NULL), TCB_OK);
	assert_int_equal(packings, 4);
	tcb_instance_destroy(instance);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_wrong_output_is_found_anywhere),
		TEST(known_outputs_keep_to_their_bound),
		TEST(exact_results_are_of_their_instance),
		TEST(reference_is_shared),
		TEST(a_wrong_value_in_each_output_is_found_and_named),
		TEST(the_worst_output_is_named),
		TEST(references_of_all_outputs_are_shared),
		TEST(what_cannot_be_judged_is_refused),
		TEST(wide_values_are_judged_as_they_are),
		TEST(each_weights_are_packed_by_themselves),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
