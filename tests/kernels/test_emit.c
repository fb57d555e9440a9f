/* SPDX-License-Identifier: MIT
 *
 * Kernels are written for what is legal and refused for the rest, whoever asks:
 * products whose K no step divides, with the kernels that they are verified by, and
 * cases of all ops drawn from a fixed seed.  passes=all makes nothing illegal.
 *
 *     TCB_EMIT_CASES=200000 [TCB_EMIT_SEED=2] test_kernels_emit      more of them, and others
 */
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"

#include "base/util.h"
#include "device/gpu.h"
#include "emit_case.h"
#include "instrumented.h"
#include "kernels/constraint.h"

enum { CASES = 1200, CASES_SANITIZED = 300, GEOMETRIES = 24, SECONDS_MAX = 15, SECONDS_ASKED = 3600 };

static void print_tally(const struct emit_tally *tally)
{
	print_message("%zu cases: %zu kernels, %zu more that they are verified by, %zu refused, %zu of no problem\n",
		      tally->cases, tally->kernels, tally->small_kernels, tally->refused, tally->no_problem);
}

/* Shapes whose verification divided by zero, or wrote past arrays, in a sweep. */
static void steps_that_do_not_divide_k(void **state)
{
	static const struct {
		const char *op;
		enum tcb_contract contract;
		struct tcb_shape shape;
	} rows[] = {
		{ "matmul_f32", TCB_CONTRACT_F32, { 3000, 3000, 3000 } },
		{ "matmul_f16", TCB_CONTRACT_F16, { 4096, 4096, 4095 } },
		{ "matmul_f16", TCB_CONTRACT_F16, { 1000, 1000, 1001 } },
		{ "matmul_f16", TCB_CONTRACT_F16, { 33, 16, 2697 } },
		{ "matmul_bf16", TCB_CONTRACT_F16, { 1, 4096, 4097 } },
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct emit_tally tally = { 0 };
		struct tcb_problem problem;
		char what[EMIT_WHAT_MAX];
		assert_int_equal(
			tcb_problem_init(tcb_op_find(rows[i].op), rows[i].contract, &rows[i].shape, &problem, NULL),
			TCB_OK);
		if (emit_problem(&problem, 90, GEOMETRIES, &tally, what) != 0)
			fail_msg("%s", what);
		assert_int_equal(tally.kernels, GEOMETRIES);
		assert_true(tally.small_kernels >= GEOMETRIES);
	}
}

static size_t number_of(const char *name, size_t usual)
{
	const char *text = getenv(name);
	return text ? (size_t)strtoull(text, NULL, 10) : usual;
}

static void drawn_cases(void **state)
{
	const size_t asked = number_of("TCB_EMIT_CASES", 0), seed = number_of("TCB_EMIT_SEED", 1);
	const size_t cases = asked ? asked : TEST_IS_INSTRUMENTED ? CASES_SANITIZED : CASES;
	const uint64_t end = tcb_clock_ns() + 1000000000ull * (asked ? SECONDS_ASKED : SECONDS_MAX);
	struct emit_tally tally = { 0 };
	(void)state;
	for (uint64_t i = 0; i < cases && (i < 100 || tcb_clock_ns() < end); i++) {
		const uint64_t number[2] = { seed, i };
		struct emit_draw draw;
		char what[EMIT_WHAT_MAX];
		/* The bytes only seed what follows. */
		emit_draw_init(&draw, (const uint8_t *)number, sizeof number);
		draw.at = draw.bytes;
		if (emit_case(&draw, &tally, what) != 0)
			fail_msg("case %llu of seed %zu: %s", (unsigned long long)i, seed, what);
	}
	print_tally(&tally);
	/* The cases are about all of it. */
	assert_true(tally.kernels > tally.cases / 8 && tally.small_kernels > tally.kernels / 2);
	assert_true(tally.refused > tally.cases / 8 && tally.no_problem > 0);
}

/* As legal as the geometry without; on a GPU alone. */
static void passes_are_all_gpu_kernels_knob(void **state)
{
	size_t count;
	const struct tcb_op *const *ops = tcb_ops(&count);
	(void)state;
	for (size_t i = 0; i < count; i++) {
		const struct tcb_op *op = ops[i];
		const struct tcb_target cpu = { .kind = TCB_TARGET_CPU,
						.isa_mask = 1u << TCB_ISA_SCALAR,
						.threads = 1 };
		struct tcb_geometry geometry;
		struct tcb_problem problem;
		struct tcb_gpu gpu;
		char why[TCB_WHY_MAX];
		assert_int_equal(tcb_problem_init(op, op->default_contract, &op->default_shapes[0], &problem, NULL),
				 TCB_OK);
		tcb_op_standard(&problem, &cpu, &geometry);
		geometry.knob[TCB_KNOB_PASSES] = TCB_PASSES_ALL;
		assert_non_null(tcb_constraint_violated(op, &problem, &cpu, &geometry, 0, why));
		assert_non_null(strstr(why, "passes is a knob of GPUs only"));
		if (!tcb_op_gpu(op))
			continue;
		assert_int_equal(tcb_gpu_table(90, &gpu, NULL), TCB_OK);
		tcb_op_standard(&problem, &gpu.device.target, &geometry);
		geometry.knob[TCB_KNOB_PASSES] = TCB_PASSES_ALL;
		if (tcb_constraint_violated(op, &problem, &gpu.device.target, &geometry, 0, why))
			fail_msg("%s: %s", op->name, why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(steps_that_do_not_divide_k), cmocka_unit_test(drawn_cases),
					    cmocka_unit_test(passes_are_all_gpu_kernels_knob) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
