/* SPDX-License-Identifier: MIT
 *
 * The dense products beside what test_variants.c asks of every op: the
 * reference against the plainest one, special values, C's own rounding, the
 * conversions of bfloat16, and geometries that no plan takes.
 */
#include "cmocka_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "base/util.h"
#include "kernels/formats.h"
#include "kernels/matmul/matmul.h"

static const struct tcb_op *const ops[] = { &tcb_op_matmul_f32, &tcb_op_matmul_f16, &tcb_op_matmul_bf16 };

struct job {
	struct tcb_problem problem;
	void *operand[MATMUL_OPERANDS];
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	struct tcb_reference reference;
	size_t outputs;
};

static void open_job(struct job *job, const struct tcb_op *op, struct tcb_shape shape)
{
	assert_int_equal(tcb_problem_init(op, op->default_contract, &shape, &job->problem, NULL), TCB_OK);
	assert_int_equal(op->operands(&job->problem, job->operands), MATMUL_OPERANDS);
	for (int i = 0; i < MATMUL_OPERANDS; i++)
		job->operand[i] = test_malloc(job->operands[i].bytes);
	job->outputs = shape.m * shape.n;
	job->reference = (struct tcb_reference){ NULL };
	job->reference.y = test_malloc(job->outputs * sizeof(double));
	job->reference.magnitude = test_malloc(job->outputs * sizeof(double));
	job->reference.extra = test_malloc(job->outputs * sizeof(double));
	op->fill(&job->problem, 7, job->operand);
}

static void close_job(struct job *job)
{
	for (int i = 0; i < MATMUL_OPERANDS; i++)
		test_free(job->operand[i]);
	test_free(job->reference.y);
	test_free(job->reference.magnitude);
	test_free(job->reference.extra);
}

static double value_of(const struct job *job, int operand, size_t at)
{
	float value;
	const char *type = job->operands[operand].type;
	tcb_elements_to_f32(type, (const char *)job->operand[operand] + at * tcb_element_bytes(type), 1, &value);
	return (double)value;
}

static void reference_is_the_plain_sum(void **state)
{
	static const struct tcb_shape shapes[] = { { 1, 1, 1 }, { 9, 17, 129 }, { 3, 300, 5 }, { 33, 16, 260 } };
	(void)state;
	for (size_t o = 0; o < 3; o++)
		for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
			struct job job;
			open_job(&job, ops[o], shapes[s]);
			ops[o]->reference(&job.problem, job.operand, &job.reference);
			for (size_t i = 0; i < job.outputs; i++) {
				const size_t row = i / shapes[s].n, column = i % shapes[s].n;
				double sum = 0, size = 0;
				for (size_t k = 0; k < shapes[s].k; k++) {
					const double a = value_of(&job, MATMUL_A, row * shapes[s].k + k);
					const double b = value_of(&job, MATMUL_B, k * shapes[s].n + column);
					sum += a * b;
					size += fabs(a * b);
				}
				assert_true(fabs(job.reference.y[i] - sum) <= 1e-14 * size);
				assert_true(job.reference.magnitude[i] >= size);
				assert_true(job.reference.magnitude[i] <= size * 1.001);
				assert_true(o == 0 ? job.reference.extra[i] == 0 : job.reference.extra[i] > 0);
			}
			close_job(&job);
		}
}

/* Runs the default geometry of a CPU with scalar code only. */
static void run_scalar(struct job *job, const struct tcb_op *op)
{
	struct tcb_target target = { .kind = TCB_TARGET_CPU, .isa_mask = 1u << TCB_ISA_SCALAR, .threads = 1 };
	struct tcb_geometry geometry;
	struct tcb_plan plan;
	struct tcb_pool *pool;
	struct tcb_error err;
	op->default_geometry(&job->problem, &target, &geometry);
	if (op->plan(&job->problem, &geometry, &plan, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(tcb_pool_create(1, NULL, &pool, NULL), TCB_OK);
	void *workspace = aligned_alloc(64, (plan.workspace_bytes + 63) / 64 * 64);
	assert_non_null(workspace);
	op->run(&plan, job->operand, workspace, pool);
	op->reference(&job->problem, job->operand, &job->reference);
	float *got = test_malloc(job->outputs * sizeof *got);
	tcb_elements_to_f32(job->operands[MATMUL_C].type, job->operand[MATMUL_C], job->outputs, got);
	assert_true(tcb_error_ratio(&plan, &job->reference, got, job->outputs, NULL) <= 1);
	test_free(got);
	free(workspace);
	tcb_pool_destroy(pool);
}

static void set(struct job *job, int operand, size_t at, float value)
{
	uint16_t half =
		strcmp(job->operands[operand].type, "f16") == 0 ? tcb_f32_to_f16(value) : tcb_f32_to_bf16(value);
	if (strcmp(job->operands[operand].type, "f32") == 0)
		memcpy((float *)job->operand[operand] + at, &value, sizeof value);
	else
		memcpy((uint16_t *)job->operand[operand] + at, &half, sizeof half);
}

/* NaN stays in its row, infinity gives infinity or NaN, subnormal factors count, f16 overflows to infinity. */
static void special_values(void **state)
{
	(void)state;
	for (size_t o = 0; o < 3; o++) {
		struct job job;
		open_job(&job, ops[o], (struct tcb_shape){ 5, 7, 9 });
		set(&job, MATMUL_A, 0, NAN);
		set(&job, MATMUL_A, 9, INFINITY);
		for (size_t k = 0; k < 9; k++) {
			set(&job, MATMUL_A, 2 * 9 + k, o == 1 ? 0x1p-20f : 0x1p-130f);
			set(&job, MATMUL_A, 3 * 9 + k, o == 1 ? 60000.0f : 1e30f);
		}
		run_scalar(&job, ops[o]);
		int tiny = 0;
		for (size_t n = 0; n < 7; n++) {
			assert_true(isnan(value_of(&job, MATMUL_C, n)));
			assert_false(isfinite(value_of(&job, MATMUL_C, 7 + n)));
			tiny += value_of(&job, MATMUL_C, 2 * 7 + n) != 0;
			assert_true(isfinite(value_of(&job, MATMUL_C, 4 * 7 + n)));
		}
		assert_true(tiny >= 5); /* some sums may round to 0 */
		if (o == 1)
			assert_true(isinf(job.reference.y[3 * 7]));
		close_job(&job);
	}
}

static void bf16_rounds_to_nearest_even(void **state)
{
	static const struct {
		float value;
		uint16_t bits;
	} cases[] = { { 1, 0x3f80 },           { 1 + 0x1p-8f, 0x3f80 }, { 1 + 0x1p-8f + 0x1p-20f, 0x3f81 },
		      { 1 + 0x3p-8f, 0x3f82 }, { -INFINITY, 0xff80 },   { 3.4e38f, 0x7f80 },
		      { 0x1p-133f, 0x0001 },   { 0x1p-134f, 0x0000 } };
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(tcb_f32_to_bf16(cases[i].value), cases[i].bits);
	assert_true(isnan(tcb_bf16_to_f32(tcb_f32_to_bf16(NAN))));
	for (uint32_t bits = 0; bits < 0x10000; bits++) {
		const float value = tcb_bf16_to_f32((uint16_t)bits);
		if (!isnan(value))
			assert_int_equal(tcb_f32_to_bf16(value), bits);
	}
}

static void plans_refuse(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "macro=64x64x256,midi=64x64x256,micro=3x4x1,isa=scalar,threads=1,sched=static", "no CPU kernel" },
		{ "macro=64x64x128,midi=64x64x128,micro=4x4x1,isa=scalar,threads=1,sched=static", "macro.k" },
		{ "macro=64x64x256,midi=64x64x256,micro=4x4x1,isa=scalar,threads=9,sched=static", "tasks" },
		{ "macro=64x64x256,midi=66x64x256,micro=4x4x1,isa=scalar,threads=1,sched=static", "must divide" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_plan plan;
		struct tcb_error err;
		assert_int_equal(tcb_problem_init(ops[0], TCB_CONTRACT_F32, &(struct tcb_shape){ 128, 256, 256 },
						  &problem, NULL),
				 TCB_OK);
		assert_int_equal(tcb_geometry_parse(cases[i].text, &geometry, NULL), TCB_OK);
		assert_int_equal(ops[0]->plan(&problem, &geometry, &plan, &err), TCB_E_ILLEGAL);
		if (!strstr(err.message, cases[i].says))
			fail_msg("'%s' does not say '%s'", err.message, cases[i].says);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reference_is_the_plain_sum),
		cmocka_unit_test(special_values),
		cmocka_unit_test(bf16_rounds_to_nearest_even),
		cmocka_unit_test(plans_refuse),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
