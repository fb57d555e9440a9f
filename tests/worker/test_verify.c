/* SPDX-License-Identifier: MIT
 *
 * Verification without a worker: which shapes are tried, and that each way of
 * being wrong is found on the smallest shape that shows it.
 */
#include <stddef.h>
#include <stdint.h>

#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "planted.h"
#include "worker/verify.h"

enum { THREADS = 2 };

struct fixture {
	struct tcb_pool *pool;
	struct tcb_instance *instance;
	struct tcb_verifier *verifier;
};

static int set_up(void **state)
{
	static struct fixture fixture;
	struct tcb_problem problem;
	planted_problem(&problem);
	if (tcb_pool_create(THREADS, NULL, &fixture.pool, NULL) != TCB_OK ||
	    tcb_instance_create(&planted_op, &problem, 1, NULL, &fixture.instance, NULL) != TCB_OK ||
	    tcb_verifier_create(fixture.instance, 1, fixture.pool, fixture.pool, NULL, &fixture.verifier, NULL) !=
		    TCB_OK)
		return -1;
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	tcb_verifier_destroy(fixture->verifier);
	tcb_instance_destroy(fixture->instance);
	tcb_pool_destroy(fixture->pool);
	return 0;
}

static void right_ones_pass(void **state)
{
	struct fixture *fixture = *state;
	static const enum planted right[] = { PLANTED_GOOD, PLANTED_EXACT };
	for (size_t i = 0; i < 2; i++) {
		for (int is_packed = 0; is_packed < 2; is_packed++) {
			for (unsigned threads = 1; threads <= THREADS; threads++) {
				struct tcb_geometry geometry;
				struct tcb_check check;
				planted_geometry(right[i], is_packed, threads, &geometry);
				assert_int_equal(tcb_verifier_check(fixture->verifier, &geometry, 0, &check, NULL),
						 TCB_OK);
				assert_string_equal(check.message, "");
				assert_int_equal(check.outcome, TCB_OUTCOME_OK);
				assert_int_equal(check.class_checked, i == 0 ? TCB_CLASS_BOUNDED : TCB_CLASS_EXACT);
				assert_true(i == 0 ? check.error_ratio > 0 && check.error_ratio < 1
						   : check.error_ratio == 0);
				assert_false(check.damaged);
			}
		}
	}
}

/* Tiles far larger than the small shapes are cut, not refused. */
static void large_tiles_pass(void **state)
{
	struct fixture *fixture = *state;
	struct tcb_geometry geometry;
	struct tcb_check check;
	planted_geometry(PLANTED_GOOD, 1, THREADS, &geometry);
	geometry.tile[TCB_MIDI] = (struct tcb_tile){ PLANTED_M, PLANTED_N, PLANTED_K };
	assert_int_equal(tcb_verifier_check(fixture->verifier, &geometry, 0, &check, NULL), TCB_OK);
	assert_string_equal(check.message, "");
}

static void too_many_threads(void **state)
{
	struct fixture *fixture = *state;
	struct tcb_geometry geometry;
	struct tcb_check check;
	planted_geometry(PLANTED_GOOD, 0, THREADS + 1, &geometry);
	assert_int_equal(tcb_verifier_check(fixture->verifier, &geometry, 0, &check, NULL), TCB_OK);
	assert_int_equal(check.outcome, TCB_OUTCOME_LAUNCH_FAILED);
	assert_string_equal(check.message, "needs 3 threads, the device gives 2");
}

static void assert_wrong(struct fixture *fixture, enum planted behaviour, int damaged)
{
	struct tcb_geometry geometry;
	struct tcb_check check;
	planted_geometry(behaviour, 0, THREADS, &geometry);
	assert_int_equal(tcb_verifier_check(fixture->verifier, &geometry, 0, &check, NULL), TCB_OK);
	assert_int_equal(check.outcome, TCB_OUTCOME_WRONG);
	assert_int_equal(check.damaged, damaged);
	assert_true(strncmp(check.message, "at ", 3) == 0);
}

static void wrong_ones_fail(void **state)
{
	static const enum planted wrong[] = {
		PLANTED_WRONG,   PLANTED_WRONG_LAST,    PLANTED_WRONG_ODD,    PLANTED_WRONG_FULL, PLANTED_WRONG_SHARE,
		PLANTED_ONE_ULP, PLANTED_STALE_SCRATCH, PLANTED_NOT_A_NUMBER, PLANTED_NOTHING,
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_wrong(*state, wrong[i], 0);
}

/* The damage stays in the process, which is why the worker is replaced: one a test. */
static void past_the_output(void **state)
{
	assert_wrong(*state, PLANTED_PAST_OUTPUT, 1);
}

static void past_the_workspace(void **state)
{
	assert_wrong(*state, PLANTED_PAST_SCRATCH, 1);
}

/* What a candidate has left in the output or the workspace cannot help the next: NOTHING after GOOD. */
static void leftovers_do_not_help(void **state)
{
	struct fixture *fixture = *state;
	struct tcb_geometry geometry;
	struct tcb_check check;
	planted_geometry(PLANTED_GOOD, 0, THREADS, &geometry);
	assert_int_equal(tcb_verifier_check(fixture->verifier, &geometry, 0, &check, NULL), TCB_OK);
	planted_geometry(PLANTED_NOTHING, 0, THREADS, &geometry);
	assert_int_equal(tcb_verifier_check(fixture->verifier, &geometry, 0, &check, NULL), TCB_OK);
	assert_int_equal(check.outcome, TCB_OUTCOME_WRONG);
	assert_non_null(strstr(check.message, "never written"));
}

static int has_shape(const struct tcb_shape *shapes, size_t count, size_t m, size_t n, size_t k)
{
	for (size_t i = 0; i < count; i++) {
		if (shapes[i].m == m && shapes[i].n == n && shapes[i].k == k)
			return 1;
	}
	return 0;
}

static void small_shapes(void **state)
{
	(void)state;
	struct tcb_shape shapes[TCB_VERIFY_SHAPES_MAX];
	struct tcb_shape problem = { 1, 4096, 4096 };
	struct tcb_geometry geometry;
	planted_geometry(PLANTED_GOOD, 0, 2, &geometry);
	geometry.tile[TCB_MACRO] = (struct tcb_tile){ 1, 2048, 4096 };
	geometry.tile[TCB_MIDI] = (struct tcb_tile){ 1, 64, 4096 };
	size_t count = tcb_verify_shapes(&planted_op, &problem, &geometry, shapes);
	assert_int_equal(count, 4);
	assert_true(has_shape(shapes, count, 1, 1, 16));
	assert_true(has_shape(shapes, count, 1, 37, 48));
	assert_true(has_shape(shapes, count, 1, 67, 80));   /* past the midi tile */
	assert_true(has_shape(shapes, count, 1, 2085, 16)); /* past the macro tile */
	/* k in blocks of 1024: two whole ones. */
	geometry.tile[TCB_MIDI].k = 1024;
	count = tcb_verify_shapes(&planted_op, &problem, &geometry, shapes);
	assert_true(has_shape(shapes, count, 1, 67, 2048));
	/* More than one row. */
	problem = (struct tcb_shape){ 512, 1024, 1024 };
	geometry.tile[TCB_MACRO] = (struct tcb_tile){ 128, 512, 1024 };
	geometry.tile[TCB_MIDI] = (struct tcb_tile){ 16, 128, 1024 };
	count = tcb_verify_shapes(&planted_op, &problem, &geometry, shapes);
	assert_true(has_shape(shapes, count, 3, 37, 48));
	assert_true(has_shape(shapes, count, 17, 131, 80));
	/* Tiles that cover the problem cover the small shapes. */
	problem = (struct tcb_shape){ 2, 20, 32 };
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		geometry.tile[level] = (struct tcb_tile){ 2, 32, 32 };
	count = tcb_verify_shapes(&planted_op, &problem, &geometry, shapes);
	assert_true(has_shape(shapes, count, 2, 20, 32));
	assert_true(has_shape(shapes, count, 1, 19, 32));
	assert_true(has_shape(shapes, count, 1, 1, 16));
	/* Never large, whatever the tiles are. */
	problem = (struct tcb_shape){ 65536, 65536, 65536 };
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		geometry.tile[level] = (struct tcb_tile){ 65536, 65536, 32768 };
	count = tcb_verify_shapes(&planted_op, &problem, &geometry, shapes);
	assert_true(count >= 3);
	for (size_t i = 0; i < count; i++)
		assert_true(shapes[i].m * shapes[i].n * shapes[i].k <= 3u << 20);
}

/* More shapes than are kept: the oldest instances go, results stay right. */
static void many_shapes(void **state)
{
	struct fixture *fixture = *state;
	for (size_t midi = 1; midi <= 120; midi++) {
		struct tcb_geometry geometry;
		struct tcb_check check;
		planted_geometry(PLANTED_EXACT, midi % 2, THREADS, &geometry);
		geometry.tile[TCB_MIDI].n = 4 * midi;
		assert_int_equal(tcb_verifier_check(fixture->verifier, &geometry, 0, &check, NULL), TCB_OK);
		assert_string_equal(check.message, "");
	}
}

static double many_flops(const struct tcb_problem *problem)
{
	return problem->shape.n == PLANTED_N && problem->shape.k == PLANTED_K ? 1e17 : 1e7;
}

/* A candidate that its small shapes say will take 10^10 times as long is not run at full size, where there is not the
 * time; it is where there is, and where the small shapes are too small to tell. */
static void hopeless_ones_stop_early(void **state)
{
	struct fixture *fixture = *state;
	const struct tcb_op *op = fixture->instance->op;
	struct tcb_op large = *op;
	struct tcb_geometry geometry;
	struct tcb_check check;
	/* Far below what the quickest small call says, 1e10 times itself, and far above the slowest call at full size.
	 */
	const double limit_ns = 2e10;
	planted_geometry(PLANTED_GOOD, 0, THREADS, &geometry);
	assert_int_equal(tcb_verifier_check(fixture->verifier, &geometry, 1e6, &check, NULL), TCB_OK);
	assert_int_equal(check.outcome, TCB_OUTCOME_OK);
	large.flops = many_flops;
	fixture->instance->op = &large;
	assert_int_equal(tcb_verifier_check(fixture->verifier, &geometry, limit_ns, &check, NULL), TCB_OK);
	assert_int_equal(check.outcome, TCB_OUTCOME_TOO_SLOW);
	assert_non_null(strstr(check.message, "not run on the problem itself"));
	assert_int_equal(tcb_verifier_check(fixture->verifier, &geometry, 0, &check, NULL), TCB_OK);
	assert_int_equal(check.outcome, TCB_OUTCOME_OK);
	/* Now it is known how much faster calls at full size may be than that. */
	assert_int_equal(tcb_verifier_check(fixture->verifier, &geometry, limit_ns, &check, NULL), TCB_OK);
	assert_int_equal(check.outcome, TCB_OUTCOME_OK);
	/* A wrong one is wrong all the same. */
	planted_geometry(PLANTED_WRONG, 0, THREADS, &geometry);
	assert_int_equal(tcb_verifier_check(fixture->verifier, &geometry, 1, &check, NULL), TCB_OK);
	assert_int_equal(check.outcome, TCB_OUTCOME_WRONG);
	fixture->instance->op = op;
}

/* The reference is out of a candidate's reach. */
static void reference_is_read_only(void **state)
{
	struct fixture *fixture = *state;
	assert_int_equal(tcb_instance_reference(fixture->instance, NULL, NULL), TCB_OK);
	const struct tcb_buffer *data = &fixture->instance->reference_data;
	assert_true(data->map_bytes > 0);
	char map[256], found[8] = "";
	FILE *maps = fopen("/proc/self/maps", "r");
	assert_non_null(maps);
	while (fgets(map, sizeof(map), maps)) {
		unsigned long start, end;
		char flags[8];
		if (sscanf(map, "%lx-%lx %7s", &start, &end, flags) == 3 && (uintptr_t)data->data >= start &&
		    (uintptr_t)data->data < end)
			memcpy(found, flags, sizeof(found));
	}
	fclose(maps);
	assert_true(strncmp(found, "r--", 3) == 0);
}

/* --- several outputs --- */

static struct tcb_op rope; /* of the registry, that misbehaves after its work */
static enum { RIGHT, WRONG_VALUE, NOT_WRITTEN, BEFORE_THE_START } how;
static size_t spoilt;

static void spoil(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	struct tcb_operand described[TCB_OPERANDS_MAX];
	plan->problem.op->operands(&plan->problem, described);
	tcb_op_cpu(tcb_op_find(rope.name))->run(plan, operand, workspace, pool);
	unsigned char *at = operand[spoilt];
	if (how == WRONG_VALUE) /* what is new is at the end of all outputs; the exponent */
		at[described[spoilt].bytes - 1] ^= 8;
	else if (how == NOT_WRITTEN)
		memset(at + described[spoilt].bytes - 2, TCB_POISON, 2);
	else if (how == BEFORE_THE_START)
		((volatile unsigned char *)at)[-1] = 1;
}

static void each_output_has_guards_and_is_named(void **state)
{
	const struct tcb_shape shape = { 3, 8, 32, { .query = 2, .kv = 1, .sequences = 1 } };
	const struct tcb_target target = { .kind = TCB_TARGET_CPU, .isa_mask = 1u << TCB_ISA_SCALAR, .threads = 1 };
	static const char *const faults[] = { "", "is ", "was never written", "(guard zone)" };
	struct fixture *fixture = *state;
	struct tcb_verifier *verifier;
	struct tcb_instance *instance;
	struct tcb_geometry geometry;
	struct tcb_problem problem;
	rope = *tcb_op_find("rope_append_f16");
	struct tcb_side side = *tcb_op_cpu(&rope);
	side.run = spoil;
	rope.side[TCB_TARGET_CPU] = &side;
	assert_int_equal(tcb_problem_init(&rope, TCB_CONTRACT_F16, &shape, &problem, NULL), TCB_OK);
	assert_int_equal(tcb_instance_create(&rope, &problem, 1, NULL, &instance, NULL), TCB_OK);
	assert_int_equal(instance->output_count, 3);
	side.space->default_geometry(&problem, &target, &geometry);
	for (how = RIGHT; how <= BEFORE_THE_START; how++)
		for (size_t o = 0; o < instance->output_count; o++) {
			struct tcb_check check;
			char name[32];
			spoilt = instance->output[o].operand;
			snprintf(name, sizeof(name), "output '%s'", instance->operands[spoilt].name);
			assert_int_equal(
				tcb_verifier_create(instance, 1, fixture->pool, fixture->pool, NULL, &verifier, NULL),
				TCB_OK);
			assert_int_equal(tcb_verifier_check(verifier, &geometry, 0, &check, NULL), TCB_OK);
			tcb_verifier_destroy(verifier);
			assert_int_equal(check.damaged, how == BEFORE_THE_START);
			if (how == RIGHT) {
				assert_int_equal(check.outcome, TCB_OUTCOME_OK);
				assert_true(check.error_ratio > 0 && check.error_ratio < 1);
				assert_int_equal(strncmp(check.message, "largest error in output '", 25), 0);
				continue;
			}
			assert_int_equal(check.outcome, TCB_OUTCOME_WRONG);
			assert_non_null(strstr(check.message, name));
			assert_non_null(strstr(check.message, faults[how]));
		}
	tcb_instance_destroy(instance);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(right_ones_pass),        TEST(large_tiles_pass),         TEST(too_many_threads),
		TEST(wrong_ones_fail),        TEST(past_the_output),          TEST(past_the_workspace),
		TEST(leftovers_do_not_help),  cmocka_unit_test(small_shapes), TEST(many_shapes),
		TEST(reference_is_read_only), TEST(hopeless_ones_stop_early), TEST(each_output_has_guards_and_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
