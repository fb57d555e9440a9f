/* SPDX-License-Identifier: MIT
 *
 * Routing: what is chosen and its shares, of all instruction families, against plain loops; equal scores, infinite ones
 * and NaNs; guard zones; GPU kernels in the emulator, right and without findings; what is refused.
 */
#include "gpu_bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_identity.h"
#include "instrumented.h"
#include "kernels/axes.h"
#include "kernels/route/route.h"

static const char *const shapes[] = { "1x128x8", "512x128x8",  "3x1x1",    "7x5x5",
				      "33x17x2", "4x4096x256", "2x300x40", "9x64x1" };
enum { SHAPES = sizeof shapes / sizeof *shapes };

static struct tcb_problem problem_of(const char *text)
{
	struct tcb_shape shape;
	assert_int_equal(tcb_shape_parse(text, &shape, NULL), TCB_OK);
	return gpu_problem(tcb_op_find("route_f32"), TCB_CONTRACT_F32, shape);
}

/* The default geometry with THREADS threads, in instructions of ISA. */
static void run_on_cpu(const struct tcb_problem *p, enum tcb_isa isa, unsigned threads, void *const operand[])
{
	struct tcb_target target = { .threads = threads };
	struct tcb_geometry g;
	struct tcb_pool *pool;
	struct tcb_plan plan;
	struct tcb_error err;
	tcb_op_cpu(p->op)->space->default_geometry(p, &target, &g);
	g.knob[TCB_KNOB_ISA] = (int32_t)isa;
	if (tcb_op_cpu(p->op)->plan(p, &g, &plan, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(tcb_pool_create(plan.threads, NULL, &pool, NULL), TCB_OK);
	tcb_op_cpu(p->op)->run(&plan, operand, NULL, pool);
	tcb_pool_destroy(pool);
}

/* Token TOKEN's experts are the largest scores, in order, and their shares of 1 as exp has them. */
static void check_token(const struct tcb_shape *s, const float *scores, const int32_t *ids, const float *factors)
{
	char *is_taken = test_calloc(s->n, 1);
	double sum = 0;
	for (size_t u = 0; u < s->k; u++) {
		size_t best = s->n;
		for (size_t i = 0; i < s->n; i++)
			if (!is_taken[i] && (best == s->n || scores[i] > scores[best]))
				best = i;
		assert_int_equal(ids[u], best);
		is_taken[best] = 1;
		sum += exp((double)scores[best] - (double)scores[ids[0]]);
	}
	for (size_t u = 0; u < s->k; u++)
		if (!(fabs((double)factors[u] - exp((double)scores[ids[u]] - (double)scores[ids[0]]) / sum) <= 1e-5))
			fail_msg("%zux%zux%zu: factor %zu is %g", s->m, s->n, s->k, u, (double)factors[u]);
	test_free(is_taken);
}

static void check_on(const struct tcb_problem *p, enum tcb_isa isa, unsigned threads)
{
	struct gpu_bench b;
	gpu_bench_open(&b, p, 7 + (uint64_t)isa);
	float *scores = b.data[ROUTE_SCORES];
	for (size_t e = 0; e < p->shape.m * p->shape.n; e += 3)
		scores[e] = 1; /* of equal ones the first */
	run_on_cpu(p, isa, threads, b.data);
	for (size_t t = 0; t < p->shape.m; t++)
		check_token(&p->shape, scores + t * p->shape.n, (const int32_t *)b.data[ROUTE_IDS] + t * p->shape.k,
			    (const float *)b.data[ROUTE_FACTORS] + t * p->shape.k);
	gpu_bench_close(&b);
}

static void experts_are_the_largest(void **state)
{
	struct tcb_device device;
	(void)state;
	assert_int_equal(tcb_cpu_identify("cpu", 1, &device, NULL), TCB_OK);
	for (size_t i = 0; i < SHAPES; i++) {
		const struct tcb_problem p = problem_of(shapes[i]);
		const struct tcb_variant *variant;
		for (size_t v = 0; (variant = tcb_variant_at(tcb_op_cpu(p.op), v)) != NULL; v++)
			if (tcb_target_has(&device.target, variant->isa))
				check_on(&p, variant->isa, 1 + i % 2);
	}
}

/* Infinite scores count as the largest floats, NaNs as the lowest: ids are different experts in any case. */
static void any_scores_have_experts(void **state)
{
	static const float infinite = INFINITY;
	const struct tcb_problem p = problem_of("1x6x6");
	float scores[6] = { NAN, -infinite, 2, infinite, NAN, infinite }, factors[6];
	static const int32_t want[6] = { 3, 5, 2, 0, 1, 4 };
	int32_t ids[6];
	void *const operand[] = { scores, ids, factors };
	(void)state;
	run_on_cpu(&p, TCB_ISA_SCALAR, 1, operand);
	assert_memory_equal(ids, want, sizeof ids);
	assert_true(factors[0] == 0.5f && factors[1] == 0.5f && factors[2] == 0 && factors[5] == 0);
	for (size_t i = 0; i < 6; i++)
		scores[i] = NAN;
	run_on_cpu(&p, TCB_ISA_SCALAR, 1, operand);
	for (int32_t i = 0; i < 6; i++)
		assert_int_equal(ids[i], i);
	assert_true(fabsf(factors[0] - 1.0f / 6) < 1e-6f);
}

/* Scores that are equal, infinite and no numbers among others; default geometries and drawn ones. */
static void gpu_kernels_are_right(void **state)
{
	static const float odd[] = { 1, 1, -1, INFINITY, -INFINITY, NAN, 0.0f, -0.0f };
	struct gpu_tally tally = { 0 };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 5);
	for (size_t i = 0; i < gpu_sample_size(4 * SHAPES); i++) {
		if (test_leaves_out(i))
			continue;
		struct tcb_problem p = problem_of(shapes[i % SHAPES]);
		const struct tcb_target gpu = gpu_target(gpu_capabilities[tcb_rng_below(&rng, GPU_CAPABILITIES)], 0);
		struct tcb_geometry g;
		struct gpu_bench b;
		p.shape.m = p.shape.m > 40 ? 40 : p.shape.m;
		tcb_op_standard(&p, &gpu, &g);
		if (i >= SHAPES)
			g = gpu_geometry_drawn(&p, &gpu, &rng);
		gpu_check_emitted(&p, &gpu, &g);
		gpu_bench_open(&b, &p, i);
		for (size_t e = i % 3; i % 2 && e < p.shape.m * p.shape.n; e += 1 + i % 5)
			((float *)b.data[ROUTE_SCORES])[e] = odd[tcb_rng_below(&rng, 8)];
		gpu_bench_refer(&b);
		gpu_bench_check(&b, &gpu, &g, i, &tally);
		gpu_bench_close(&b);
	}
	gpu_tally_print(&tally);
}

static void shapes_that_it_does_not_take(void **state)
{
	static const char *const wrong[] = { "1x128", "1x8x9", "1x4097x8", "1x512x257" };
	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		const struct tcb_op *op = tcb_op_find("route_f32");
		struct tcb_shape shape;
		struct tcb_error err;
		assert_int_equal(tcb_shape_parse(wrong[i], &shape, NULL), TCB_OK);
		assert_int_equal(op->check_shape(op, &shape, &err), TCB_E_USAGE);
		assert_non_null(strstr(err.message, "route_f32"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(experts_are_the_largest),
		cmocka_unit_test(any_scores_have_experts),
		cmocka_unit_test(gpu_kernels_are_right),
		cmocka_unit_test(shapes_that_it_does_not_take),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
