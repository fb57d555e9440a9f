/* SPDX-License-Identifier: MIT
 *
 * Figures of rows that are worked out by hand: a share of the limit and when it
 * is not one; what programs get.
 */
#include <math.h>
#include <string.h>

#include "cli/core/figures.h"
#include "cmocka_all.h"
#include "device/cpu_device.h"
#include "device/device.h"
#include "kernels/default_rules.h"

/* 100 µs against a limit of 90, twice the default. */
static struct tcb_best row(void)
{
	struct tcb_best best = { .ns = { 100e3, 98e3, 102e3 },
				 .limit_ns = { 90e3, 88e3, 92e3 },
				 .limit_method = "read_4096",
				 .speedup = { 2, 1.9, 2.1 },
				 .tried = 100,
				 .space_count = 100 };

	strcpy(best.geometry, "isa=avx2");
	return best;
}

static void expect(const struct tcb_best *best, const char *text, enum tcb_limit_use use, const char *note)
{
	const struct cli_limit limit = cli_limit_of(best);
	char out[CLI_NUMBER_MAX];

	cli_limit_text(&limit, out);
	assert_string_equal(out, text);
	assert_int_equal(limit.use, use);
	if (note)
		assert_non_null(strstr(limit.note, note));
	else
		assert_null(limit.note);
}

static void test_limit(void **state)
{
	struct tcb_best best = row();

	(void)state;
	expect(&best, "90.0", TCB_LIMIT_HOLDS, NULL);
	assert_string_equal(cli_limit_of(&best).name, "read limit");
	strcpy(best.limit_method, "copy_4096");
	assert_string_equal(cli_limit_of(&best).name, "copy limit");
	assert_true(fabs(cli_limit_of(&best).of_limit.lo - 88.0 / 102) < 1e-12);
	assert_true(fabs(cli_limit_of(&best).of_limit.hi - 92.0 / 98) < 1e-12);
}

/* Slightly above is another access pattern; clearly above is no limit. */
static void test_beyond(void **state)
{
	struct tcb_best best = row();

	(void)state;
	best.limit_ns = (struct tcb_interval){ 109e3, 108e3, 110e3 };
	expect(&best, "109.0", TCB_LIMIT_HOLDS, NULL);
	best.limit_ns = (struct tcb_interval){ 360e3, 350e3, 370e3 };
	expect(&best, ">100", TCB_LIMIT_BEYOND, "starting the loop's threads");
	strcpy(best.geometry, "isa=mma,pdl=1");
	expect(&best, ">100", TCB_LIMIT_BEYOND, "its calls overlap");
}

static void test_noisy(void **state)
{
	struct tcb_best best = row();

	(void)state;
	best.limit_ns = (struct tcb_interval){ 90e3, 60e3, 91e3 };
	expect(&best, "?", TCB_LIMIT_NOISY, "when the machine is quiet");
	best.limit_ns = (struct tcb_interval){ 360e3, 200e3, 400e3 };
	expect(&best, "?", TCB_LIMIT_NOISY, "varied by half");
}

static void test_unknown(void **state)
{
	struct tcb_best best = row();

	(void)state;
	best.limit_ns = (struct tcb_interval){ 0 };
	expect(&best, "-", TCB_LIMIT_HOLDS, NULL);
	assert_false(cli_limit_is_known(&(struct cli_limit){ .name = "" }));
	best.limit_ns = (struct tcb_interval){ NAN, NAN, NAN };
	expect(&best, "-", TCB_LIMIT_HOLDS, NULL);
}

/* A product of many tokens on a GPU of 132 multiprocessors: reading takes 5 of 100 µs. */
static struct tcb_best product(enum tcb_contract contract)
{
	struct tcb_best best = row();

	best.limit_ns = (struct tcb_interval){ 5e3, 4.9e3, 5.1e3 };
	best.target = (struct tcb_target){ .kind = TCB_TARGET_CUDA, .cuda.capability = 90, .cuda.sm_count = 132 };
	tcb_target_complete_gpu(&best.target);
	best.problem = (struct tcb_problem){ .op = tcb_op_find("q4k_matmul"),
					     .op_name = "q4k_matmul",
					     .contract = contract,
					     .shape = { 512, 8192, 4096 } };
	strcpy(best.geometry, "isa=mma");
	return best;
}

/* Where only a GPU's maker says how fast it multiplies the share is of that, and marked. */
static void test_specified(void **state)
{
	struct tcb_best best = product(TCB_CONTRACT_F16);
	struct cli_limit limit;

	(void)state;
	/* 2 * 512 * 8192 * 4096 at 4096 of a cycle and multiprocessor, 132 of them, 1.98 GHz */
	const double share = 2.0 * 512 * 8192 * 4096 / (4096 * 132 * 1.98) / 100e3;
	expect(&best, "~32.1", TCB_LIMIT_HOLDS, "was not measured");
	limit = cli_limit_of(&best);
	assert_true(fabs(limit.of_limit.median - share) < 1e-6);
	assert_string_equal(limit.name, "compute limit by specification");
	assert_string_equal(cli_limit_use_text(&limit), "specified");
	/* What reads for longer is held against that, which was measured. */
	best.limit_ns = (struct tcb_interval){ 90e3, 88e3, 92e3 };
	expect(&best, "90.0", TCB_LIMIT_HOLDS, NULL);
	/* A measured rate is no specification, and all of a modelled row is one. */
	best = product(TCB_CONTRACT_F16);
	best.compute_rate[TCB_COMPUTE_F16] = 800e3;
	expect(&best, "42.9", TCB_LIMIT_HOLDS, NULL);
	limit = cli_limit_of(&best);
	assert_string_equal(limit.name, "compute limit");
	assert_string_equal(cli_limit_use_text(&limit), "holds");
	best = product(TCB_CONTRACT_F16);
	best.modelled = 1;
	expect(&best, "32.1", TCB_LIMIT_HOLDS, NULL);
	/* With another card's figures nothing is concluded. */
	best = product(TCB_CONTRACT_F16);
	best.ns = (struct tcb_interval){ 10e3, 9.9e3, 10.1e3 };
	expect(&best, ">100", TCB_LIMIT_BEYOND, "most common GPU of its kind");
	/* A CPU has no maker's word. */
	best = product(TCB_CONTRACT_F16);
	best.target = (struct tcb_target){ .kind = TCB_TARGET_CPU, .threads = 1 };
	expect(&best, "5.0", TCB_LIMIT_HOLDS, NULL);
}

/* Bytes on Hopper are held against what kernels multiply them with, not against wgmma. */
static void test_bytes(void **state)
{
	struct tcb_best best = product(TCB_CONTRACT_Q8);

	(void)state;
	best.compute_rate[TCB_COMPUTE_INT8] = 1973e3;
	expect(&best, "~16.0", TCB_LIMIT_HOLDS, "was not measured");
	best.compute_rate[TCB_COMPUTE_INT8_SYNC] = 1000e3;
	expect(&best, "34.4", TCB_LIMIT_HOLDS, NULL);
	assert_string_equal(cli_limit_of(&best).method, "int8 by mma.sync");
}

/* The median is the table's; the ends are the pairs', and hold it. */
static void test_paired(void **state)
{
	const struct tcb_interval share = { 0.9, 0.8, 1.0 }, near = { 0.91, 0.89, 0.92 }, far = { 0.95, 0.93, 0.97 };
	const struct tcb_interval none = { 0 };

	(void)state;
	const struct tcb_interval paired = cli_limit_paired(&share, &near);
	assert_true(paired.median == 0.9 && paired.lo == 0.89 && paired.hi == 0.92);
	assert_true(cli_limit_paired(&share, &far).lo == 0.9 && cli_limit_paired(&share, &far).hi == 0.97);
	assert_true(cli_limit_paired(&share, &none).lo == 0.8);
}

static void test_served(void **state)
{
	struct tcb_best best = row();

	(void)state;
	assert_int_equal(cli_served_of(&best, 0), CLI_SERVED_WINNER);
	assert_int_equal(cli_served_of(&best, 1), CLI_SERVED_REFUSED);
	best.speedup = (struct tcb_interval){ 1.05, 0.97, 1.2 };
	assert_int_equal(cli_served_of(&best, 0), CLI_SERVED_DEFAULT);
	/* where the default is the winner programs get the winner */
	strcpy(best.default_geometry, best.geometry);
	assert_int_equal(cli_served_of(&best, 0), CLI_SERVED_WINNER);
	best.default_geometry[0] = '\0';
	/* of a provisional one the median decides */
	best.provisional = 1;
	assert_int_equal(cli_served_of(&best, 0), CLI_SERVED_WINNER);
	best.speedup.median = 0.99;
	assert_int_equal(cli_served_of(&best, 0), CLI_SERVED_DEFAULT);
	/* what is unknown is not slower */
	best.provisional = 0;
	best.speedup = (struct tcb_interval){ NAN, NAN, NAN };
	assert_int_equal(cli_served_of(&best, 0), CLI_SERVED_WINNER);
}

/* A winner of another version of its kernel, on another machine's CPU, whose default nobody knows here. */
static struct tcb_best earlier(const char *op_name)
{
	struct tcb_best best = row();
	const struct tcb_op *op = tcb_op_find(op_name);
	const struct tcb_target target = {
		.kind = TCB_TARGET_CPU, .isa_mask = 1u << TCB_ISA_SCALAR, .threads = 1, .line_bytes = 64
	};
	struct tcb_geometry geometry;

	best.target = (struct tcb_target){ .kind = TCB_TARGET_CPU, .threads = 1 };
	best.threads = 1;
	strcpy(best.device_name, "cpu");
	strcpy(best.device_key, "elsewhere");
	assert_int_equal(tcb_problem_init(op, TCB_CONTRACT_F32, &op->default_shapes[0], &best.problem, NULL), TCB_OK);
	tcb_default_geometry(&best.problem, &target, &geometry);
	tcb_geometry_print(&geometry, best.geometry);
	strcpy(best.default_geometry, best.geometry);
	strcpy(best.variant, tcb_variant_find(op, TCB_CONTRACT_F32, &geometry)->name);
	best.speedup = (struct tcb_interval){ 1.3, 1.2, 1.4 };
	return best;
}

static void expect_stale(const struct tcb_best *best, enum cli_served served)
{
	assert_int_equal(cli_served_of(best, 1), served);
}

/* As rt_exact.c has it (test_rt_exact.c, test_earlier). */
static void test_served_earlier(void **state)
{
	const struct tcb_best good = earlier("softmax");
	struct tcb_best best = good;

	(void)state;
	expect_stale(&best, CLI_SERVED_EARLIER);
	assert_string_equal(cli_served_text(CLI_SERVED_EARLIER), "earlier");
	best.speedup.lo = 1.19;
	expect_stale(&best, CLI_SERVED_REFUSED);
	best.speedup.lo = NAN;
	expect_stale(&best, CLI_SERVED_REFUSED);
	best = good;
	best.provisional = 1;
	expect_stale(&best, CLI_SERVED_REFUSED);
	best = good;
	best.modelled = 1;
	expect_stale(&best, CLI_SERVED_REFUSED);
	best = good;
	best.tried = TCB_THIN_TRIED - 1;
	expect_stale(&best, CLI_SERVED_REFUSED);
	best = good;
	best.default_geometry[0] = '\0';
	expect_stale(&best, CLI_SERVED_REFUSED);
	best = good;
	strcpy(best.variant, "softmax_of_old");
	expect_stale(&best, CLI_SERVED_REFUSED);
	best = good;
	best.problem.op = NULL; /* the database's op is not known here */
	expect_stale(&best, CLI_SERVED_REFUSED);
}

/* Here it is known what the default is today. */
static void test_served_earlier_here(void **state)
{
	struct tcb_best best = earlier("softmax");
	struct tcb_geometry geometry, other;
	struct tcb_place here;

	(void)state;
	assert_int_equal(tcb_cpu_open("cpu:scalar", 1, &here, NULL), TCB_OK);
	strcpy(best.device_name, "cpu:scalar");
	strcpy(best.device_key, here.device.key);
	tcb_default_geometry(&best.problem, &here.device.target, &geometry);
	tcb_geometry_print(&geometry, best.default_geometry);
	expect_stale(&best, CLI_SERVED_EARLIER);
	other = geometry;
	other.knob[TCB_KNOB_PREFETCH] += 64;
	tcb_geometry_print(&other, best.default_geometry);
	expect_stale(&best, CLI_SERVED_REFUSED);
	tcb_geometry_print(&geometry, best.default_geometry);
	other = geometry;
	other.tile[TCB_MACRO].n = 3;
	tcb_geometry_print(&other, best.geometry);
	expect_stale(&best, CLI_SERVED_REFUSED);
}

static void test_modelled(void **state)
{
	struct tcb_best best = row();
	char text[CLI_NUMBER_MAX];

	(void)state;
	best.speedup = (struct tcb_interval){ 1.5, 1.4, 1.6 };
	cli_speedup_interval_text(&best, text);
	assert_string_equal(text, "1.500 [1.400, 1.600]");
	best.modelled = 1;
	cli_speedup_interval_text(&best, text);
	assert_string_equal(text, "1.500");
}

static void test_time(void **state)
{
	const struct tcb_interval slow = { 4.38e7, 2.789e7, 6.12e7 };
	char text[CLI_NUMBER_MAX];

	(void)state;
	cli_text_time_interval(&slow, text);
	assert_string_equal(text, "43.80 [27.89, 61.20] ms");
	cli_text_time(871.2, text);
	assert_string_equal(text, "871.2 ns");
	cli_text_time(12345, text);
	assert_string_equal(text, "12.35 µs");
	cli_text_time(2.5e9, text);
	assert_string_equal(text, "2.500 s");
	cli_text_time(0, text);
	assert_string_equal(text, "-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limit),          cmocka_unit_test(test_beyond),
		cmocka_unit_test(test_noisy),          cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_specified),      cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_paired),         cmocka_unit_test(test_served),
		cmocka_unit_test(test_served_earlier), cmocka_unit_test(test_served_earlier_here),
		cmocka_unit_test(test_modelled),       cmocka_unit_test(test_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
