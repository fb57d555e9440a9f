/* SPDX-License-Identifier: MIT
 *
 * What softmax must do beside agreeing with its reference: the stated bound of
 * exp, special values, algebraic properties, and shapes and geometries that its
 * plan refuses.
 */
#include "kernels/softmax/softmax.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cpu_identity.h"
#include "base/util.h"
#include "cmocka_all.h"
#include "kernels/space.h"

enum { THREADS = 2, COLUMNS = 1008, ROWS = 3 }; /* columns: whole cache lines, no power of two */

static const struct tcb_op *const op = &tcb_op_softmax;
static struct tcb_target target;
static struct tcb_pool *pool;

static void run(const struct tcb_problem *problem, const struct tcb_geometry *geometry, const float *x, float *y)
{
	struct tcb_plan plan;
	struct tcb_error err;
	struct tcb_buffer workspace;
	if (tcb_op_cpu(op)->plan(problem, geometry, &plan, &err) != TCB_OK ||
	    tcb_buffer_alloc(TCB_BUFFER_PLAIN, plan.workspace_bytes, &workspace, &err) != TCB_OK)
		fail_msg("%s", err.message);
	memset(y, TCB_POISON, problem->shape.m * problem->shape.n * sizeof(float));
	tcb_op_cpu(op)->run(&plan, (void *const[]){ (void *)(uintptr_t)x, y }, workspace.data, pool);
	tcb_buffer_free(&workspace);
}

/* Calls CHECK for about 200 geometries spread over the space of ROWS x COLUMNS and what policies leave out of it, every
 * ISA of this machine among them. */
static void for_geometries(void (*check)(const struct tcb_problem *problem, const struct tcb_geometry *geometry))
{
	struct tcb_problem problem;
	struct tcb_space *space;
	struct tcb_error err;
	const struct tcb_shape shapes[] = { { ROWS, COLUMNS, 0 }, { 1, ROWS * COLUMNS, 0 } };
	for (size_t s = 0; s < 2; s++) {
		if (tcb_problem_init(op, TCB_CONTRACT_F32, &shapes[s], &problem, &err) != TCB_OK ||
		    tcb_space_create(op, &problem, &target, 1, &space, &err) != TCB_OK)
			fail_msg("%s", err.message);
		size_t step = space->count / 200 + 1, checked = 0;
		unsigned isas = 0;
		for (size_t i = 0; i < space->count; i += step, checked++) {
			isas |= 1u << space->geometries[i].knob[TCB_KNOB_ISA];
			check(&problem, &space->geometries[i]);
		}
		assert_true(checked > 50);
		assert_true(isas & 1u << TCB_ISA_SCALAR);
		for (int isa = 0; isa < TCB_ISA_COUNT; isa++)
			if (tcb_float_lanes(isa))
				assert_int_equal((isas >> isa) & 1u, tcb_target_has(&target, (enum tcb_isa)isa));
		tcb_space_destroy(space);
	}
}

/* With a maximum of 0 in the block the exponentials are exp(x) itself. */
static double worst_exp_error(const struct tcb_variant *variant, uint32_t stride, size_t *count_out)
{
	enum { BATCH = 1024 };
	float x[BATCH], e[BATCH];
	double worst = 0;
	size_t filled = 0, count = 0;
	uint32_t last;
	float lowest = -110;
	memcpy(&last, &lowest, sizeof(last));
	x[filled++] = 0;
	for (uint32_t bits = 0x80000000u; bits < last; bits += stride) {
		memcpy(&x[filled++], &bits, sizeof(bits));
		if (filled < BATCH && last - bits > stride)
			continue;
		struct rows_call call = {
			.stage = ROWS_REDUCE, .form = TCB_FORM_TWOPASS, .count = filled, .x = x, .e = e
		};
		((rows_micro_fn *)variant->entry)(&call);
		assert_true(call.stat[SOFTMAX_MAX] == 0 && e[0] == 1);
		for (size_t i = 0; i < filled; i++) {
			double exact = exp((double)x[i]), error = fabs((double)e[i] - exact);
			/* In ulps of 2^-23 |exact|, after what the depth and flushing below 2^-126 explain. */
			error -= (exact < 0x1p-126 ? exact : 0) + SOFTMAX_EXP_DEPTH * fabs((double)x[i]) * exact;
			double ulps = error / (0x1p-23 * exact);
			worst = ulps > worst ? ulps : worst;
		}
		count += filled;
		filled = 1;
	}
	*count_out = count;
	return worst;
}

static void test_exp_bound(void **state)
{
	(void)state;
	const struct tcb_variant *variant;
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(op), i)) != NULL; i++) {
		size_t count;
		if (!rows_has_loops(variant->micro.n / tcb_float_lanes((int32_t)variant->isa)))
			continue;
		if (!tcb_target_has(&target, variant->isa)) {
			print_message("%s: not run, this machine has no %s\n", variant->name,
				      tcb_isa_text(variant->isa));
			continue;
		}
		double worst = worst_exp_error(variant, 4093, &count);
		print_message("%s: %.3f ulp over %zu values\n", variant->name, worst, count);
		assert_true(count > 200000);
		assert_true(worst <= SOFTMAX_EXP_ULPS);
		assert_true(worst > 0.4); /* a correctly rounded exp has 0.5: below that, nothing was measured */
	}
}

/* Aligned, so that streaming stores are among what is tested. */
static _Alignas(64) float data[ROWS * COLUMNS], shifted[ROWS * COLUMNS], y[ROWS * COLUMNS], y_shifted[ROWS * COLUMNS];

static void check_sum_and_shift(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	struct tcb_rng rng;
	tcb_rng_init(&rng, 3);
	/* Multiples of 2^-8 below 64: adding 512 is exact, so the results must be the same bits. */
	for (size_t i = 0; i < ROWS * COLUMNS; i++) {
		data[i] = (float)((int)tcb_rng_below(&rng, 1 << 14) - (1 << 13)) / 256;
		shifted[i] = data[i] + 512;
	}
	run(problem, geometry, data, y);
	run(problem, geometry, shifted, y_shifted);
	assert_memory_equal(y, y_shifted, sizeof(y));
	for (size_t r = 0; r < problem->shape.m; r++) {
		double sum = 0;
		for (size_t c = 0; c < problem->shape.n; c++) {
			double value = (double)y[r * problem->shape.n + c];
			assert_true(value >= 0 && value <= 1);
			sum += value;
		}
		assert_true(fabs(sum - 1) < 1e-4);
	}
}

static void test_sum_and_shift(void **state)
{
	(void)state;
	for_geometries(check_sum_and_shift);
}

/* Arrays that are aligned to a float and no more give the same results. */
static void check_misaligned(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	static _Alignas(64) float x_apart[ROWS * COLUMNS + 1], y_apart[ROWS * COLUMNS + 1];
	struct tcb_rng rng;
	tcb_rng_init(&rng, 4);
	for (size_t i = 0; i < ROWS * COLUMNS; i++)
		x_apart[i + 1] = data[i] = tcb_rng_normal(&rng);
	run(problem, geometry, data, y);
	run(problem, geometry, x_apart + 1, y_apart + 1);
	assert_memory_equal(y, y_apart + 1, sizeof(y));
}

static void test_misaligned(void **state)
{
	(void)state;
	for_geometries(check_misaligned);
}

static void check_special_rows(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	size_t m = problem->shape.m, n = problem->shape.n;
	/* All equal: exactly 1/N, whatever the value. */
	for (size_t i = 0; i < m * n; i++)
		data[i] = -7e30f;
	run(problem, geometry, data, y);
	for (size_t i = 0; i < m * n; i++)
		assert_true(y[i] == (float)(1.0 / (double)n));
	/* -inf but for one value in the last column: whole blocks of -inf count nothing. */
	for (size_t i = 0; i < m * n; i++)
		data[i] = i % n == n - 1 ? -3 : -INFINITY;
	run(problem, geometry, data, y);
	for (size_t i = 0; i < m * n; i++)
		assert_true(y[i] == (i % n == n - 1 ? 1 : 0) && !signbit(y[i]));
	/* Values that overflow when subtracted. */
	for (size_t i = 0; i < m * n; i++)
		data[i] = i % n == 5 ? FLT_MAX : -FLT_MAX;
	run(problem, geometry, data, y);
	for (size_t i = 0; i < m * n; i++)
		assert_true(y[i] == (i % n == 5 ? 1 : 0));
}

static void test_special_rows(void **state)
{
	(void)state;
	for_geometries(check_special_rows);
}

/* Rows that rise and rows that fall: what a block is taken against changes with every one of them, or never again. */
static void check_slopes(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	const size_t m = problem->shape.m, n = problem->shape.n;
	for (size_t i = 0; i < m * n; i++)
		data[i] = (float)(i / n % 2 ? n - i % n : i % n) / 64;
	run(problem, geometry, data, y);
	for (size_t r = 0; r < m; r++) {
		double sum = 0;
		for (size_t c = 0; c < n; c++)
			sum += exp((double)data[r * n + c]);
		for (size_t c = 0; c < n; c++) {
			const double want = exp((double)data[r * n + c]) / sum;
			assert_true(fabs((double)y[r * n + c] - want) <= 1e-5 * want);
		}
	}
}

static void test_slopes(void **state)
{
	(void)state;
	for_geometries(check_slopes);
}

/* One bad value in the last row: that row is NaN, the others are not touched. */
static void check_bad_values(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	static const float bad[] = { NAN, INFINITY };
	static const size_t where[] = { 0, 17, COLUMNS / 2, COLUMNS - 1 };
	size_t m = problem->shape.m, n = problem->shape.n;
	for (size_t k = 0; k < 2 * 4; k++) {
		for (size_t i = 0; i < m * n; i++)
			data[i] = (float)(i % 13);
		data[(m - 1) * n + where[k / 2]] = bad[k % 2];
		run(problem, geometry, data, y);
		for (size_t i = 0; i < m * n; i++)
			assert_int_equal(isnan(y[i]) != 0, i / n == m - 1);
	}
	for (size_t i = 0; i < m * n; i++)
		data[i] = i / n == m - 1 ? -INFINITY : 1;
	run(problem, geometry, data, y);
	for (size_t i = 0; i < m * n; i++)
		assert_int_equal(isnan(y[i]) != 0, i / n == m - 1);
}

static void test_bad_values(void **state)
{
	(void)state;
	for_geometries(check_bad_values);
}

/* The reference propagates the same way: no distance could tell otherwise. */
static void test_reference_specials(void **state)
{
	(void)state;
	float x[4] = { 1, NAN, 0, 0 };
	double out_y[4], magnitude[4], extra[4];
	struct tcb_reference reference = { out_y, magnitude, extra, NULL };
	struct tcb_problem problem = { op, "softmax", TCB_CONTRACT_F32, { 1, 4, 0 } };
	op->reference(&problem, (void *const[]){ x, NULL }, &reference);
	assert_true(isnan(out_y[0]) && isnan(out_y[1]) && isnan(out_y[3]));
	x[1] = -INFINITY;
	op->reference(&problem, (void *const[]){ x, NULL }, &reference);
	assert_true(out_y[1] == 0 && extra[1] > 0 && extra[1] < 0x1p-120);
	assert_float_equal(out_y[0], exp(1) / (exp(1) + 2), 1e-15);
}

static void test_refusals(void **state)
{
	(void)state;
	struct tcb_error err;
	struct tcb_problem problem;
	struct tcb_geometry geometry;
	struct tcb_plan plan;
	assert_int_equal(op->check_shape(op, &(struct tcb_shape){ 4, 4, 4 }, &err), TCB_E_USAGE);
	assert_non_null(strstr(err.message, "MxN"));
	assert_int_equal(op->check_shape(op, &(struct tcb_shape){ 0, 4, 0 }, &err), TCB_E_USAGE);
	assert_int_equal(op->check_shape(op, &(struct tcb_shape){ SIZE_MAX / 4, 4, 0 }, &err), TCB_E_OVERFLOW);
	assert_int_equal(tcb_problem_init(op, TCB_CONTRACT_Q8, &(struct tcb_shape){ 1, 8, 0 }, &problem, &err),
			 TCB_E_USAGE);

	assert_int_equal(tcb_problem_init(op, TCB_CONTRACT_F32, &(struct tcb_shape){ 1, 4096, 0 }, &problem, &err),
			 TCB_OK);
#define REFUSES(change, part)                                                                            \
	do {                                                                                             \
		tcb_op_standard(&problem, &target, &geometry);                                           \
		assert_int_equal(tcb_op_cpu(op)->plan(&problem, &geometry, &plan, &err), TCB_OK);        \
		change;                                                                                  \
		assert_int_equal(tcb_op_cpu(op)->plan(&problem, &geometry, &plan, &err), TCB_E_ILLEGAL); \
		assert_non_null(strstr(err.message, part));                                              \
	} while (0)
	REFUSES(geometry.knob[TCB_KNOB_THREADS] = 2, "only 1 tasks");
	REFUSES(geometry.tile[TCB_MACRO].n = geometry.tile[TCB_MIDI].n = 2048, "threads=1");
	REFUSES(geometry.knob[TCB_KNOB_STREAM] = 2, "stream");
	REFUSES(geometry.knob[TCB_KNOB_SCHED] = TCB_KNOB_UNSET, "sched");
	REFUSES(geometry.tile[TCB_MICRO].n = 2, "no kernel for this isa, layout and micro=");
	REFUSES(geometry.knob[TCB_KNOB_FORM] = TCB_FORM_RUNNING; geometry.tile[TCB_MIDI].n = 520, "multiple of 16");
	REFUSES(geometry.knob[TCB_KNOB_FORM] = TCB_FORM_RUNNING; geometry.tile[TCB_MACRO].n = 2048;
		geometry.tile[TCB_MIDI].n = 512; geometry.knob[TCB_KNOB_STREAM] = 1;
		geometry.knob[TCB_KNOB_THREADS] = 2, "whole rows");
#undef REFUSES
	/* Streaming stores where rows are not aligned: H13. */
	problem.shape.n = 4097;
	tcb_op_standard(&problem, &target, &geometry);
	if (geometry.knob[TCB_KNOB_ISA] != TCB_ISA_SCALAR) {
		char why[TCB_WHY_MAX];
		geometry.knob[TCB_KNOB_STREAM] = 1;
		const struct tcb_constraint *row = tcb_constraint_violated(op, &problem, &target, &geometry, 0, why);
		assert_non_null(row);
		assert_string_equal(row->id, "H13");
		assert_non_null(strstr(why, "nearest legal: stream=0"));
	}
}

/* Small enough to be searched in seconds, for a thread. */
static void test_space_sizes(void **state)
{
	(void)state;
	struct tcb_error err;
	for (size_t s = 0; s < op->default_shape_count; s++) {
		struct tcb_problem problem;
		struct tcb_space *space;
		assert_int_equal(tcb_problem_init(op, TCB_CONTRACT_F32, &op->default_shapes[s], &problem, &err),
				 TCB_OK);
		assert_int_equal(tcb_space_create(op, &problem, &target, 0, &space, &err), TCB_OK);
		print_message("%zux%zu: %zu legal of %zu\n", problem.shape.m, problem.shape.n, space->count,
			      space->raw_count);
		assert_in_range(space->count, 20, 3000);
		tcb_space_destroy(space);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exp_bound),
		cmocka_unit_test(test_sum_and_shift),
		cmocka_unit_test(test_misaligned),
		cmocka_unit_test(test_special_rows),
		cmocka_unit_test(test_slopes),
		cmocka_unit_test(test_bad_values),
		cmocka_unit_test(test_reference_specials),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_space_sizes),
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
