/* SPDX-License-Identifier: MIT
 *
 * reduce2d: every size, special values, the sign of zero, that threads do not
 * matter, what each form of summation is good for, and operations of one's own.
 */
#include "kernels/reduce2d/reduce2d.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cpu_identity.h"
#include "base/util.h"
#include "cmocka_all.h"
#include "kernels/simd/isas.h"
#include "kernels/space.h"

enum { THREADS = 2, SAMPLE = 60, ELEMENTS_MAX = 1 << 16 };

static const struct tcb_op *const ops[] = { &tcb_op_reduce2d_sum, &tcb_op_reduce2d_max, &tcb_op_reduce2d_min };
enum { SUM, MAX, MIN };
static struct tcb_target target;
static struct tcb_pool *pool;
static float data[ELEMENTS_MAX];

/* On guarded copies of data. */
static float run(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	struct tcb_buffer x, y, workspace;
	struct tcb_plan plan;
	struct tcb_error err;
	const struct tcb_op *op = problem->op;
	size_t bytes = problem->shape.m * problem->shape.n * sizeof(float);
	if (tcb_op_cpu(op)->plan(problem, geometry, &plan, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, bytes, &x, NULL), TCB_OK);
	assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, sizeof(float), &y, NULL), TCB_OK);
	assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, plan.workspace_bytes, &workspace, NULL), TCB_OK);
	memcpy(x.data, data, bytes);
	memset(y.data, TCB_POISON, sizeof(float));
	memset(workspace.data, TCB_POISON, plan.workspace_bytes);
	tcb_op_cpu(op)->run(&plan, (void *const[]){ x.data, y.data }, workspace.data, pool);
	assert_int_equal(tcb_buffer_check(&y), 0);
	assert_int_equal(tcb_buffer_check(&workspace), 0);
	float result = *(const float *)y.data;
	tcb_buffer_free(&x);
	tcb_buffer_free(&y);
	tcb_buffer_free(&workspace);
	return result;
}

static void make_problem(const struct tcb_op *op, size_t m, size_t n, struct tcb_problem *out)
{
	struct tcb_error err;
	assert_true(m * n <= ELEMENTS_MAX);
	if (tcb_problem_init(op, TCB_CONTRACT_F32, &(struct tcb_shape){ m, n, 0 }, out, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

static int is_same(float a, float b)
{
	return memcmp(&a, &b, sizeof(a)) == 0;
}

/* Every one of about SAMPLE geometries of OP on M x N, policies or not, must give WANT, to the bit. */
static void all_give(const struct tcb_op *op, size_t m, size_t n, float want)
{
	struct tcb_problem problem;
	struct tcb_space *space;
	struct tcb_error err;
	make_problem(op, m, n, &problem);
	if (tcb_space_create(op, &problem, &target, 1, &space, &err) != TCB_OK)
		fail_msg("%s", err.message);
	size_t step = space->count / SAMPLE + 1;
	for (size_t i = 0, at = 0; i < SAMPLE; i++, at = (at + step + 7) % space->count) {
		float got = run(&problem, &space->geometries[at]);
		char text[TCB_GEOMETRY_TEXT_MAX];
		tcb_geometry_print(&space->geometries[at], text);
		if (!is_same(got, want) && !(isnan(got) && isnan(want) && op == ops[SUM]))
			fail_msg("%s %zux%zu %s: %a, not %a", op->name, m, n, text, (double)got, (double)want);
	}
	tcb_space_destroy(space);
}

/* 1 to 130 and around the powers of two, as rows, as columns, and between: integers, so that sums are exact. */
static void test_every_size(void **state)
{
	(void)state;
	static const size_t sizes[] = { 251, 255, 256, 257, 509, 512, 1021, 1023, 1024, 1025 };
	for (size_t s = 1; s <= 130 + sizeof(sizes) / sizeof(sizes[0]); s++) {
		size_t size = s <= 130 ? s : sizes[s - 131];
		const struct tcb_shape shapes[] = { { 1, size, 0 }, { size, 1, 0 }, { 17, size, 0 }, { size, 19, 0 } };
		for (size_t k = 0; k < 4; k++) {
			size_t count = shapes[k].m * shapes[k].n;
			float want[3] = { 0, -INFINITY, INFINITY };
			for (size_t i = 0; i < count; i++) {
				data[i] = (float)((i * 7919 + s) % 257) - 100;
				want[SUM] += data[i];
				want[MAX] = data[i] > want[MAX] ? data[i] : want[MAX];
				want[MIN] = data[i] < want[MIN] ? data[i] : want[MIN];
			}
			for (int isa = 0; isa <= TCB_ISA_NEON; isa++) {
				struct tcb_target only = target;
				if (!tcb_target_has(&target, (enum tcb_isa)isa) || !tcb_float_lanes(isa))
					continue;
				only.isa_mask = 1u << TCB_ISA_SCALAR | 1u << isa;
				for (size_t o = 0; o < 3; o++) {
					struct tcb_problem problem;
					struct tcb_geometry geometry;
					make_problem(ops[o], shapes[k].m, shapes[k].n, &problem);
					tcb_op_standard(&problem, &only, &geometry);
					assert_true(run(&problem, &geometry) == want[o]);
				}
			}
		}
	}
}

static void test_integers_over_space(void **state)
{
	(void)state;
	float want[3] = { 0, -INFINITY, INFINITY };
	for (size_t i = 0; i < 101 * 523; i++) {
		data[i] = (float)(i * 31 % 1009) - 300;
		want[SUM] += data[i]; /* below 2^24 */
		want[MAX] = data[i] > want[MAX] ? data[i] : want[MAX];
		want[MIN] = data[i] < want[MIN] ? data[i] : want[MIN];
	}
	for (size_t o = 0; o < 3; o++)
		all_give(ops[o], 101, 523, want[o]);
}

static void fill(float value, size_t count)
{
	for (size_t i = 0; i < count; i++)
		data[i] = value;
}

static void test_zeros(void **state)
{
	(void)state;
	enum { M = 5, N = 133, COUNT = M * N };
	static const size_t where[] = { 0, 15, 16, COUNT / 2, COUNT - 1 };
	fill(-0.0f, COUNT);
	for (size_t o = 0; o < 3; o++)
		all_give(ops[o], M, N, -0.0f);
	for (size_t w = 0; w < 5; w++) {
		fill(-0.0f, COUNT);
		data[where[w]] = 0;
		all_give(ops[SUM], M, N, 0);
		all_give(ops[MAX], M, N, 0);
		all_give(ops[MIN], M, N, -0.0f);
		fill(0, COUNT);
		data[where[w]] = -0.0f;
		all_give(ops[MAX], M, N, 0);
		all_give(ops[MIN], M, N, -0.0f);
	}
}

static void test_special_values(void **state)
{
	(void)state;
	enum { M = 7, N = 150, COUNT = M * N };
	static const size_t where[] = { 0, 17, COUNT / 2, COUNT - 1 };
	const uint32_t quiet = 0x7fc00000;
	float nan;
	memcpy(&nan, &quiet, sizeof(nan));
	for (size_t w = 0; w < 4; w++) {
		fill(1, COUNT);
		data[where[w]] = -NAN;
		for (size_t o = 0; o < 3; o++)
			all_give(ops[o], M, N, nan);
		data[where[w]] = INFINITY;
		all_give(ops[SUM], M, N, INFINITY);
		all_give(ops[MAX], M, N, INFINITY);
		all_give(ops[MIN], M, N, 1);
		data[COUNT / 3] = -INFINITY;
		all_give(ops[SUM], M, N, nan);
		all_give(ops[MIN], M, N, -INFINITY);
		/* Only what is on the way is too large, not the sum. */
		fill(0, COUNT);
		data[where[w]] = data[40] = FLT_MAX;
		data[99] = -FLT_MAX;
		all_give(ops[SUM], M, N, FLT_MAX);
		data[99] = 0;
		all_give(ops[SUM], M, N, INFINITY);
	}
	fill(-INFINITY, COUNT);
	all_give(ops[MAX], M, N, -INFINITY);
	all_give(ops[SUM], M, N, -INFINITY);
	fill(0x1p-149f, COUNT);
	all_give(ops[SUM], M, N, COUNT * 0x1p-149f);
	all_give(ops[MIN], M, N, 0x1p-149f);
}

/* The same midi and micro tiles, family and form: the same bits, whoever computes them. */
static void test_threads_do_not_matter(void **state)
{
	(void)state;
	static const char *const forms[] = { "lanes", "pairwise", "kahan" };
	static const char *const others[] = { "macro=64x1024x1,threads=1,sched=static,prefetch=0,hint=t0",
					      "macro=64x512x1,threads=2,sched=static,prefetch=0,hint=t0",
					      "macro=16x256x1,threads=2,sched=dynamic,prefetch=1024,hint=nta" };
	struct tcb_problem problem;
	struct tcb_rng rng;
	tcb_rng_init(&rng, 5);
	for (size_t i = 0; i < 61 * 1000; i++)
		data[i] = tcb_rng_normal(&rng);
	make_problem(ops[SUM], 61, 1000, &problem);
	for (size_t f = 0; f < 3; f++) {
		float first = 0;
		for (size_t o = 0; o < 3; o++) {
			char text[TCB_GEOMETRY_TEXT_MAX];
			struct tcb_geometry geometry;
			struct tcb_error err;
			snprintf(text, sizeof(text), "%s,midi=16x256x1,micro=1x8x1,isa=scalar,form=%s", others[o],
				 forms[f]);
			if (tcb_geometry_parse(text, &geometry, &err) != TCB_OK)
				fail_msg("%s", err.message);
			float got = run(&problem, &geometry);
			first = o == 0 ? got : first;
			assert_true(is_same(got, first));
		}
	}
}

/* A large value, then many that each round away against it: what a running sum loses, the others keep. */
static void test_forms_differ(void **state)
{
	(void)state;
	enum { N = 4096 };
	static const char *const forms[] = { "lanes", "pairwise", "kahan" };
	double error[3];
	struct tcb_problem problem;
	fill(1, N);
	data[0] = 0x1p25f;
	const double want = 0x1p25 + N - 1;
	make_problem(ops[SUM], 1, N, &problem);
	for (size_t f = 0; f < 3; f++) {
		char text[TCB_GEOMETRY_TEXT_MAX];
		struct tcb_geometry geometry;
		struct tcb_error err;
		snprintf(text, sizeof(text),
			 "macro=1x4096x1,midi=1x4096x1,micro=1x1x1,isa=scalar,threads=1,sched=static,prefetch=0,"
			 "hint=t0,form=%s",
			 forms[f]);
		if (tcb_geometry_parse(text, &geometry, &err) != TCB_OK)
			fail_msg("%s", err.message);
		error[f] = fabs((double)run(&problem, &geometry) - want);
	}
	print_message("errors: lanes %g, pairwise %g, kahan %g\n", error[0], error[1], error[2]);
	assert_true(error[0] == N - 1); /* every one was lost */
	assert_true(error[1] < 64);
	assert_true(error[2] <= 4); /* what rounding the result to f32 costs */
}

static double largest_size(double a, double b)
{
	return fabs(a) > fabs(b) ? fabs(a) : fabs(b);
}

static double multiply(double a, double b)
{
	return a * b;
}

/* Any associative operation, over the tiles that a partition cuts, edges included. */
static void test_own_operation(void **state)
{
	(void)state;
	static const struct reduce2d_operation size = { "size", 0, largest_size }, product = { "product", 1, multiply };
	struct tcb_view matrix;
	struct tcb_partition tiles;
	fill(1, 100 * 101);
	data[57 * 101 + 100] = -9; /* in an edge tile */
	data[3] = 4;
	assert_int_equal(tcb_view_init(&matrix, 2, (const size_t[]){ 100, 101 }, NULL), TCB_OK);
	assert_int_equal(tcb_partition_init(&tiles, &matrix, (const size_t[]){ 16, 16 }, NULL), TCB_OK);
	assert_int_equal(tiles.total, 7 * 7);
	assert_true(reduce2d_tiles(&size, &tiles, data) == 9);
	assert_true(reduce2d_tiles(&product, &tiles, data) == -36); /* each element once */
	assert_true(reduce2d_tiles(&reduce2d_sum, &tiles, data) == 100 * 101 - 10 + 3);
	assert_true(reduce2d_tiles(&reduce2d_max, &tiles, data) == 4);
	assert_true(reduce2d_tiles(&reduce2d_min, &tiles, data) == -9);
}

static void test_refusals(void **state)
{
	(void)state;
	struct tcb_problem problem;
	struct tcb_geometry geometry;
	struct tcb_plan plan;
	struct tcb_error err;
	for (size_t o = 0; o < 3; o++) {
		assert_int_equal(ops[o]->check_shape(ops[o], &(struct tcb_shape){ 4, 4, 4 }, &err), TCB_E_USAGE);
		assert_non_null(strstr(err.message, ops[o]->name));
		assert_int_equal(ops[o]->check_shape(ops[o], &(struct tcb_shape){ 0, 4, 0 }, &err), TCB_E_USAGE);
		make_problem(ops[o], 32, 32, &problem);
		tcb_op_standard(&problem, &target, &geometry);
		assert_int_equal(tcb_op_cpu(ops[o])->plan(&problem, &geometry, &plan, &err), TCB_OK);
		geometry.knob[TCB_KNOB_FORM] = o == SUM ? TCB_FORM_ONEPASS : TCB_FORM_LANES;
		assert_int_equal(tcb_op_cpu(ops[o])->plan(&problem, &geometry, &plan, &err), TCB_E_ILLEGAL);
		assert_non_null(strstr(err.message, "form"));
		tcb_op_standard(&problem, &target, &geometry);
		geometry.knob[TCB_KNOB_THREADS] = 99;
		assert_int_equal(tcb_op_cpu(ops[o])->plan(&problem, &geometry, &plan, &err), TCB_E_ILLEGAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_size),
		cmocka_unit_test(test_integers_over_space),
		cmocka_unit_test(test_zeros),
		cmocka_unit_test(test_special_values),
		cmocka_unit_test(test_threads_do_not_matter),
		cmocka_unit_test(test_forms_differ),
		cmocka_unit_test(test_own_operation),
		cmocka_unit_test(test_refusals),
	};
	static struct tcb_device device;
	struct tcb_error err;
	if (tcb_cpu_identify("cpu", THREADS, &device, &err) != TCB_OK ||
	    tcb_pool_create(THREADS, NULL, &pool, &err) != TCB_OK)
		return 1;
	target = device.target;
	target.threads = THREADS;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	tcb_pool_destroy(pool);
	return failed;
}
