/* SPDX-License-Identifier: MIT
 *
 * topk against a sort, on every CPU variant: scores that rise, fall, are all equal, zeros of
 * both signs, infinities and NaNs; fewer scores than are asked for; parts of rows; GPU kernels
 * drawn from the whole product in the emulator, right and without findings; what it refuses.
 */
#include "gpu_bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cpu_identity.h"
#include "base/sizes.h"
#include "base/util.h"
#include "instrumented.h"
#include "kernels/topk/topk.h"

enum { THREADS = 2, ROWS = 9, COLUMNS_MOST = 3000 };

static struct tcb_target target;
static struct tcb_pool *pool;

static const float *sorted_by;

/* A column before another: of a larger score, of a number before a NaN, else the lower one. */
static int compare(const void *a, const void *b)
{
	const int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
	const float x = sorted_by[i], y = sorted_by[j];
	if (isnan(x) != isnan(y))
		return isnan(x) ? 1 : -1;
	if (x > y || x < y)
		return x > y ? -1 : 1;
	return i < j ? -1 : 1;
}

/* Row R of scores, each row of its own kind. */
static void fill_row(size_t r, size_t n, float *x)
{
	static const float odd[] = { 0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1, -1, 0x1p-149f };
	struct tcb_rng rng;
	tcb_rng_init(&rng, 11 + r + n);
	for (size_t i = 0; i < n; i++) {
		const float any = tcb_rng_normal(&rng);
		const float kinds[ROWS] = { any,
					    (float)i,
					    -(float)i,
					    3,
					    odd[tcb_rng_below(&rng, 8)],
					    NAN,
					    i % 7 ? NAN : -INFINITY,
					    roundf(2 * any),
					    i + 1 == n ? 1
					    : i % 2    ? -0.0f
						       : 0.0f };
		x[i] = kinds[r];
	}
}

static void check(const struct tcb_problem *p, const float *x, const float *values, const int32_t *columns,
		  const char *text)
{
	const size_t n = p->shape.n, k = p->shape.k;
	int32_t order[COLUMNS_MOST];
	for (size_t r = 0; r < ROWS; r++) {
		sorted_by = x + r * n;
		for (size_t i = 0; i < n; i++)
			order[i] = (int32_t)i;
		qsort(order, n, sizeof *order, compare);
		for (size_t i = 0; i < k; i++) {
			const int32_t want = i < n ? order[i] : -1, got = columns[r * k + i];
			if (got != want)
				fail_msg("%s: row %zu, place %zu has column %d, not %d", text, r, i, (int)got,
					 (int)want);
			const int is_value = i < n ? memcmp(&values[r * k + i], &sorted_by[want], sizeof(float)) == 0
						   : isnan(values[r * k + i]);
			if (!is_value)
				fail_msg("%s: row %zu, place %zu has another value", text, r, i);
		}
	}
}

static void try_geometry(const struct tcb_problem *p, const struct tcb_variant *variant, size_t midi)
{
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	struct tcb_buffer held[TOPK_OPERANDS] = { 0 }, workspace = { 0 };
	void *data[TOPK_OPERANDS];
	struct tcb_geometry geometry;
	struct tcb_plan plan;
	struct tcb_error err;
	char text[128];
	snprintf(text, sizeof text, "%s %zux%zux%zu, midi.n %zu", variant->name, p->shape.m, p->shape.n, p->shape.k,
		 midi);
	tcb_op_standard(p, &target, &geometry);
	geometry.knob[TCB_KNOB_ISA] = (int32_t)variant->isa;
	geometry.knob[TCB_KNOB_THREADS] = THREADS;
	geometry.tile[TCB_MICRO].n = variant->micro.n;
	geometry.tile[TCB_MIDI].n = midi;
	if (tcb_plan_make(p, &geometry, &plan, &err) != TCB_OK)
		fail_msg("%s: %s", text, err.message);
	p->op->operands(p, operands);
	for (size_t i = 0; i < TOPK_OPERANDS; i++) {
		assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, operands[i].bytes, &held[i], NULL), TCB_OK);
		data[i] = held[i].data;
		memset(data[i], TCB_POISON, operands[i].bytes);
	}
	assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, plan.workspace_bytes, &workspace, NULL), TCB_OK);
	for (size_t r = 0; r < ROWS; r++)
		fill_row(r, p->shape.n, (float *)data[TOPK_X] + r * p->shape.n);
	tcb_op_cpu(p->op)->run(&plan, data, workspace.data, pool);
	check(p, data[TOPK_X], data[TOPK_VALUES], data[TOPK_COLUMNS], text);
	for (size_t i = 0; i < TOPK_OPERANDS; i++) {
		assert_int_equal(tcb_buffer_check(&held[i]), 0);
		tcb_buffer_free(&held[i]);
	}
	assert_int_equal(tcb_buffer_check(&workspace), 0);
	tcb_buffer_free(&workspace);
}

static void the_best_are_those_of_a_sort(void **state)
{
	static const size_t columns[] = { 1, 2, 63, 129, 1000, COLUMNS_MOST }, best[] = { 1, 2, 7, 64, 256, 2048 };
	const struct tcb_op *op = tcb_op_find("topk");
	const struct tcb_variant *variant;
	(void)state;
	for (size_t v = 0; (variant = tcb_variant_at(tcb_op_cpu(op), v)) != NULL; v++)
		for (size_t i = 0; tcb_target_has(&target, variant->isa) && i < 36; i++) {
			const struct tcb_shape shape = { ROWS, columns[i % 6], best[i / 6], { 0 } };
			struct tcb_problem p;
			assert_int_equal(tcb_problem_init(op, TCB_CONTRACT_F32, &shape, &p, NULL), TCB_OK);
			try_geometry(&p, variant, tcb_most(tcb_power_of_two_up(shape.n), variant->micro.n));
			try_geometry(&p, variant, variant->micro.n);
		}
}

/* P's rows, each of its kind, by G's kernel. */
static void check_on_gpu(const struct tcb_problem *p, const struct tcb_target *gpu, const struct tcb_geometry *g,
			 struct gpu_tally *tally)
{
	struct gpu_bench b;
	gpu_check_emitted(p, gpu, g);
	gpu_bench_open(&b, p, 1);
	for (size_t r = 0; r < p->shape.m; r++)
		fill_row(r, p->shape.n, (float *)b.data[TOPK_X] + r * p->shape.n);
	gpu_bench_refer(&b);
	gpu_bench_check(&b, gpu, g, 1, tally);
	gpu_bench_close(&b);
}

/* Rows in one slice and in many, more threads than scores, fewer than K, all defaults. */
static void gpu_kernels_are_right(void **state)
{
	static const struct tcb_shape shapes[] = { { ROWS, 1, 1, { 0 } },     { ROWS, 37, 5, { 0 } },
						   { ROWS, 130, 40, { 0 } },  { ROWS, 129, 2000, { 0 } },
						   { ROWS, 1000, 7, { 0 } },  { ROWS, 2600, 64, { 0 } },
						   { ROWS, 700, 300, { 0 } }, { ROWS, 1500, 512, { 0 } } };
	enum { SHAPES = sizeof shapes / sizeof *shapes };
	const struct tcb_op *op = tcb_op_find("topk");
	struct gpu_tally tally = { 0 };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 41);
	for (size_t i = 0; i < gpu_sample_size(4 * SHAPES); i++) {
		if (test_leaves_out(i))
			continue;
		const struct tcb_problem p = gpu_problem(op, TCB_CONTRACT_F32, shapes[i % SHAPES]);
		const struct tcb_target gpu = gpu_target(gpu_capabilities[tcb_rng_below(&rng, GPU_CAPABILITIES)], 0);
		struct tcb_geometry geometry;
		tcb_op_standard(&p, &gpu, &geometry);
		if (i >= SHAPES)
			geometry = gpu_geometry_drawn(&p, &gpu, &rng);
		check_on_gpu(&p, &gpu, &geometry, &tally);
	}
	gpu_tally_print(&tally);
}

/* Defaults of the shapes that people have, and rules that say what they are about. */
static void gpu_geometries(void **state)
{
	static const struct tcb_shape shapes[] = { { 1, 151936, 40, { 0 } },  { 64, 128256, 40, { 0 } },
						   { 1, 262144, 256, { 0 } }, { 1, 50257, 50, { 0 } },
						   { 4096, 128, 8, { 0 } },   { 1, 1 << 27, 1024, { 0 } },
						   { 3, 93, 18432, { 0 } } }; /* more are wanted than there are */
	const struct tcb_op *op = tcb_op_find("topk");
	struct tcb_geometry g;
	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		const struct tcb_problem p = gpu_problem(op, TCB_CONTRACT_F32, shapes[i]);
		for (size_t c = 0; c < GPU_CAPABILITIES; c++)
			gpu_check_default(&p, gpu_capabilities[c]);
	}
	const struct tcb_problem odd = gpu_problem(op, TCB_CONTRACT_F32, shapes[3]);
	const struct tcb_problem many = gpu_problem(op, TCB_CONTRACT_F32, (struct tcb_shape){ 1, 4096, 1025, { 0 } });
	const struct tcb_target gpu = gpu_target(90, 0);
	tcb_op_standard(&odd, &gpu, &g);
	g.knob[TCB_KNOB_VEC] = 16;
	gpu_check_rule(&odd, 90, &g, 1, "multiples of vec");
	tcb_op_standard(&many, &gpu, &g);
	gpu_check_rule(&many, 90, &g, 1, "1024 largest");
}

static void refusals_say_why(void **state)
{
	const struct tcb_op *op = tcb_op_find("topk");
	struct tcb_error err;
	(void)state;
	assert_int_equal(tcb_op_check_shape(op, &(struct tcb_shape){ 1, 100, 0, { 0 } }, &err), TCB_E_USAGE);
	assert_non_null(strstr(err.message, "1x128256x40"));
	assert_int_equal(tcb_op_check_shape(op, &(struct tcb_shape){ 1, 9000, ((size_t)1 << 20) + 1, { 0 } }, &err),
			 TCB_E_USAGE);
	assert_non_null(strstr(err.message, "1048576 largest"));
	assert_int_equal(tcb_op_check_shape(op, &(struct tcb_shape){ 1, (size_t)1 << 31, 4, { 0 } }, &err),
			 TCB_E_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_best_are_those_of_a_sort),
		cmocka_unit_test(gpu_kernels_are_right),
		cmocka_unit_test(gpu_geometries),
		cmocka_unit_test(refusals_say_why),
	};
	static struct tcb_device device;
	struct tcb_error err;
	if (tcb_cpu_identify("cpu", THREADS, &device, &err) != TCB_OK ||
	    tcb_pool_create(THREADS, NULL, &pool, &err) != TCB_OK) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	target = device.target;
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);
	tcb_pool_destroy(pool);
	return failed;
}
