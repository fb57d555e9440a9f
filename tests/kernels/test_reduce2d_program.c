/* SPDX-License-Identifier: MIT
 *
 * Reductions of one's own: what is an expression and what is not, text and back, programs in
 * double, which combines are refused; ops made of them on every CPU variant and on GPUs in
 * the emulator, against plain loops; NaNs, zeros and what rounds.
 */
#include "gpu_bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cpu_identity.h"
#include "kernels/reduce2d/reduce2d.h"
#include "kernels/reduce2d/reduce2d_made.h"

enum { CASES = 8, SAMPLE = 24 };
static const struct {
	const char *identity, *combine, *printed;
	int roundings, multiplies;
	double x, y, result;
} cases[CASES] = {
	{ "0", "max(abs(a), abs(b))", "0: max(abs(a), abs(b))", 0, 0, -3, 2, 3 },
	{ "-inf", "max(a,b)", "-inf: max(a, b)", 0, 0, -3, 2, 2 },
	{ "0", "a+b", "0: (a + b)", 1, 0, -3, 2, -1 },
	{ "1", "a*b", "1: (a * b)", 1, 1, -3, 2, -6 },
	{ "0", "a + b + a*b", "0: ((a + b) + (a * b))", 2, 1, -3, 2, -7 },
	{ "inf", "min(max(a, 0.5), max(b, 0.5))", "inf: min(max(a, 0.5), max(b, 0.5))", 0, 0, -3, 2, 0.5 },
	{ "0", "min(a, -abs(b))", "0: min(a, -abs(b))", 0, 0, -3, 2, -3 },
	{ "-0.5", "(a - -0.5) + b", "-0.5: ((a - -0.5) + b)", 2, 0, -3, 2, -0.5 },
};

static struct tcb_target target;
static struct tcb_pool *pool;

static void programs_are_what_they_say(void **state)
{
	(void)state;
	for (int i = 0; i < CASES; i++) {
		struct reduce2d_program program, again;
		char text[REDUCE2D_TEXT_MAX];
		struct tcb_error err;
		if (reduce2d_program_parse(cases[i].identity, cases[i].combine, &program, &err) != TCB_OK)
			fail_msg("%s: %s", cases[i].combine, err.message);
		reduce2d_program_print(&program, text);
		assert_string_equal(text, cases[i].printed);
		char *colon = strchr(text, ':');
		*colon = '\0';
		assert_int_equal(reduce2d_program_parse(text, colon + 2, &again, &err), TCB_OK);
		assert_int_equal(again.count, program.count);
		assert_memory_equal(again.step, program.step, program.count * sizeof *program.step);
		assert_int_equal(reduce2d_program_roundings(&program), cases[i].roundings);
		assert_int_equal(reduce2d_program_multiplies(&program), cases[i].multiplies);
		assert_true(reduce2d_program_run(&program, cases[i].x, cases[i].y) == cases[i].result);
	}
}

static void others_are_refused(void **state)
{
	static const struct {
		const char *identity, *combine, *says;
	} refused[] = {
		{ "0", "", "column 1" },
		{ "0", "a +", "column 4" },
		{ "0", "a + b)", "the end is expected" },
		{ "0", "max(a b)", "',' is expected" },
		{ "0", "max a, b", "'(' is expected" },
		{ "0", "(a + b", "')' is expected" },
		{ "0", "a + c", "a number or a function" },
		{ "0", "ab + a", "a number or a function" },
		{ "0", "a + 1e", "a number or a function" },
		{ "0", "a + b + nan", "a number or a function" },
		{ "0", "a + b + 1e999", "a number or a function" },
		{ "0", "a + 1", "of a and of b" },
		{ "zero", "a + b", "invalid identity" },
		{ "nan", "a + b", "invalid identity" },
		{ "", "a + b", "invalid identity" },
		{ "1", "a + b", "is not the identity" },
		{ "0", "a - b", "order matters" },
		{ "0", "a + b * b", "order matters" },
		{ "0", "(a + b) * 0.5", "is not the identity" },
		{ "0", "((((((((((((((((((((((((((((((((((((((((((((a + b", "too deeply" },
		{ "0", "a+b+a+b+a+b+a+b+a+b+a+b+a+b+a+b+a+b+a+b+a+b", "too long" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		struct reduce2d_program program;
		struct tcb_error err = { .message = "" };
		assert_int_equal(reduce2d_program_parse(refused[i].identity, refused[i].combine, &program, &err),
				 TCB_E_USAGE);
		if (!strstr(err.message, refused[i].says))
			fail_msg("%s, %s: '%s' does not say '%s'", refused[i].identity, refused[i].combine, err.message,
				 refused[i].says);
	}
}

/* --- the ops --- */

static struct reduce2d_made *make(int index)
{
	struct reduce2d_made *made;
	struct tcb_error err;
	if (reduce2d_make("own", cases[index].identity, cases[index].combine, &made, &err) != TCB_OK)
		fail_msg("%s", err.message);
	return made;
}

/* Where errors add up the values are near 1, so that a product stays within f32. */
static void fill(struct gpu_bench *b, const struct reduce2d_program *program)
{
	float *x = b->data[0];
	struct tcb_rng rng;
	tcb_rng_init(&rng, 3);
	for (size_t i = 0; i < b->operand[0].rows * b->operand[0].cols; i++)
		x[i] = reduce2d_program_multiplies(program) ? program->identity + 0.01f * tcb_rng_normal(&rng)
							    : 4 * tcb_rng_normal(&rng);
	gpu_bench_refer(b);
}

static double run_cpu(const struct gpu_bench *b, const struct tcb_geometry *g, float *out)
{
	struct tcb_buffer x, workspace;
	struct tcb_plan plan;
	struct tcb_error err;
	float y;
	memset(&y, 0xff, sizeof y);
	if (tcb_op_cpu(b->op)->plan(&b->problem, g, &plan, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, b->operand[0].bytes, &x, NULL), TCB_OK);
	assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, plan.workspace_bytes, &workspace, NULL), TCB_OK);
	memcpy(x.data, b->data[0], b->operand[0].bytes);
	tcb_op_cpu(b->op)->run(&plan, (void *const[]){ x.data, &y }, workspace.data, pool);
	assert_int_equal(tcb_buffer_check(&workspace), 0);
	tcb_buffer_free(&x);
	tcb_buffer_free(&workspace);
	*out = y;
	return tcb_error_ratio(&plan, b->reference, &y, 1, NULL);
}

static void made_ops_on_cpus(void **state)
{
	static const size_t shapes[][2] = { { 1, 1 }, { 3, 5 }, { 17, 131 }, { 64, 257 }, { 2, 1030 } };
	double worst = 0;
	(void)state;
	for (int c = 0; c < CASES; c++) {
		struct reduce2d_made *made = make(c);
		const struct tcb_op *op = reduce2d_made_op(made);
		const struct reduce2d_program *program = reduce2d_program(op->member);
		assert_string_equal(op->name, "reduce2d_own");
		for (size_t s = 0; s < 5; s++) {
			const struct tcb_problem p =
				gpu_problem(op, TCB_CONTRACT_F32, (struct tcb_shape){ shapes[s][0], shapes[s][1], 0 });
			struct tcb_space *space;
			struct gpu_bench b;
			gpu_bench_open(&b, &p, 3);
			fill(&b, program);
			assert_int_equal(tcb_space_create(op, &p, &target, 1, &space, NULL), TCB_OK);
			for (size_t i = 0; i < SAMPLE; i++) {
				const struct tcb_geometry *g = &space->geometries[i * 7919 % space->count];
				float y;
				const double ratio = run_cpu(&b, g, &y);
				if (!(ratio <= 1))
					fail_msg("%s: %g, not %g: %g", cases[c].combine, (double)y, b.reference[0].y[0],
						 ratio);
				worst = fmax(worst, ratio);
			}
			/* one NaN, anywhere */
			((float *)b.data[0])[s * 31 % (p.shape.m * p.shape.n)] = NAN;
			float y;
			run_cpu(&b, &space->geometries[s % space->count], &y);
			assert_true(isnan(y));
			tcb_space_destroy(space);
			gpu_bench_close(&b);
		}
		reduce2d_made_destroy(made);
	}
	print_message("largest error %.3f of what is allowed\n", worst);
}

static void made_ops_on_gpus(void **state)
{
	static const size_t shapes[][2] = { { 1, 1 }, { 3, 31 }, { 9, 1024 }, { 3, 1025 } };
	struct gpu_tally tally = { 0 };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 8);
	for (int i = 0; i < 5 * CASES; i++) {
		struct reduce2d_made *made = make(i % CASES);
		const struct tcb_op *op = reduce2d_made_op(made);
		const size_t *shape = shapes[i / CASES % 4];
		const struct tcb_problem p =
			gpu_problem(op, TCB_CONTRACT_F32, (struct tcb_shape){ shape[0], shape[1], 0 });
		const struct tcb_target gpu = gpu_target(gpu_capabilities[i % GPU_CAPABILITIES], 2);
		const struct tcb_geometry g = gpu_geometry_drawn(&p, &gpu, &rng);
		struct gpu_bench b;
		gpu_bench_open(&b, &p, 3);
		fill(&b, reduce2d_program(op->member));
		gpu_check_emitted(&p, &gpu, &g);
		snprintf(b.what, sizeof b.what, "%s", cases[i % CASES].combine);
		gpu_bench_check(&b, &gpu, &g, (uint64_t)i, &tally);
		((float *)b.data[0])[(size_t)i * 31 % (shape[0] * shape[1])] = NAN;
		gpu_bench_refer(&b);
		gpu_bench_check(&b, &gpu, &g, (uint64_t)i, NULL);
		assert_true(isnan(b.first));
		gpu_bench_close(&b);
		reduce2d_made_destroy(made);
	}
	gpu_tally_print(&tally);
}

/* A result is of what combines: another expression is another signature. */
static void signatures_are_of_the_program(void **state)
{
	struct reduce2d_made *a = make(0), *b = make(1), *same = make(0);
	char text[3][TCB_SIGNATURE_MAX];
	(void)state;
	tcb_op_signature(reduce2d_made_op(a), text[0]);
	tcb_op_signature(reduce2d_made_op(b), text[1]);
	tcb_op_signature(reduce2d_made_op(same), text[2]);
	assert_string_not_equal(text[0], text[1]);
	assert_string_equal(text[0], text[2]);
	reduce2d_made_destroy(a);
	reduce2d_made_destroy(b);
	reduce2d_made_destroy(same);
}

static void products_have_an_end(void **state)
{
	struct reduce2d_made *made = make(3);
	const struct tcb_op *op = reduce2d_made_op(made);
	struct tcb_error err;
	(void)state;
	assert_int_equal(op->check_shape(op, &(struct tcb_shape){ 1024, 1024, 0 }, &err), TCB_OK);
	assert_int_equal(op->check_shape(op, &(struct tcb_shape){ 1024, 1025, 0 }, &err), TCB_E_USAGE);
	assert_non_null(strstr(err.message, "factors"));
	reduce2d_made_destroy(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_are_what_they_say),
		cmocka_unit_test(others_are_refused),
		cmocka_unit_test(made_ops_on_cpus),
		cmocka_unit_test(made_ops_on_gpus),
		cmocka_unit_test(signatures_are_of_the_program),
		cmocka_unit_test(products_have_an_end),
	};
	static struct tcb_device device;
	struct tcb_error err;
	if (tcb_cpu_identify("cpu", 2, &device, &err) != TCB_OK || tcb_pool_create(2, NULL, &pool, &err) != TCB_OK)
		return 1;
	target = device.target;
	target.threads = 2;
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);
	tcb_pool_destroy(pool);
	return failed;
}
