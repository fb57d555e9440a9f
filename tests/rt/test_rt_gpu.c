/* SPDX-License-Identifier: MIT
 *
 * A GPU is asked for by its kind, and answers fall back as on a CPU: exact,
 * nearest, default, with and without a database.
 */
#include "cmocka_all.h"
#include "rt_fixture.h"

static struct fixture fixture;

static int setup(void **state)
{
	(void)state;
	fixture_init(&fixture);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_fini(&fixture);
	return 0;
}

static void put(struct winner winner)
{
	winner.gpu = winner.gpu ? winner.gpu : "sm_90";
	fixture_put(&fixture, &winner);
}

static struct tcbrt_tuning ask(const char *device, size_t n, size_t k)
{
	struct tcbrt_query query = { .op = "fake_matvec", .device = device, .m = 1, .n = n, .k = k };
	struct tcbrt *rt = fixture_open(&fixture);
	struct tcbrt_tuning tuning;

	if (tcbrt_lookup(rt, &query, &tuning) != TCBRT_OK)
		fail_msg("%s", tuning.reason);
	tcbrt_close(rt);
	assert_int_equal(tuning.threads, 0);
	assert_string_equal(tuning.variant, "fake_q8_ptx");
	return tuning;
}

static void assert_says(const struct tcbrt_tuning *tuning, const char *what)
{
	if (!strstr(tuning->reason, what))
		fail_msg("reason: %s", tuning->reason);
}

#define WINNER(n, midi) "macro=1x" n "x4096,midi=1x" midi "x4096,micro=1x1x256,isa=fma,warps=8"

static void test_chain(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .n = 4096, .k = 4096, .ns = 70, .geometry = WINNER("4096", "64") });
	tuning = ask("sm_90", 4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
	assert_true(tuning.expected_ns == 70);
	assert_int_equal(tcbrt_knob(&tuning, "warps"), 8);
	tuning = ask("sm_90", 8192, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_NEAREST);
	assert_string_equal(tuning.geometry, "macro=1x8192x4096,midi=1x64x4096,micro=1x1x256,isa=fma,warps=8");
	assert_says(&tuning, "1x8192x4096 was not tuned on sm_90; the nearest winner is that of 1x4096x4096");
	tuning = ask("sm_90", 65536, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_DEFAULT);
	assert_string_equal(tuning.geometry, "macro=1x65536x4096,midi=1x1x4096,micro=1x1x256,isa=fma,warps=4");
	assert_says(&tuning, "within a factor of 4");
	/* Another kind has none of it. */
	tuning = ask("sm_89", 4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_DEFAULT);
	assert_says(&tuning, "nothing else is stored");
}

static void test_stale(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .n = 4096, .k = 4096, .signature = "old", .geometry = WINNER("4096", "64") });
	tuning = ask("sm_90", 4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_DEFAULT);
	assert_says(&tuning, "stale");
	/* Another card of the kind has a good one. */
	put((struct winner){ .n = 4096, .k = 4096, .other_key = "00000000000000aa", .geometry = WINNER("4096", "32") });
	tuning = ask("sm_90", 4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
	assert_int_equal(tuning.midi.n, 32);
}

/* No op declares it, and every GPU kernel has it; what is carried over keeps it. */
static void test_passes(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .n = 4096, .k = 4096, .geometry = WINNER("4096", "64") ",passes=all" });
	tuning = ask("sm_90", 4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
	assert_string_equal(tuning.geometry, WINNER("4096", "64") ",passes=all");
	assert_string_equal(tcbrt_knob_word(&tuning, "passes"), "all");
	tuning = ask("sm_90", 8192, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_NEAREST);
	assert_string_equal(tcbrt_knob_word(&tuning, "passes"), "all");
	tuning = ask("sm_90", 65536, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_DEFAULT);
	assert_null(tcbrt_knob_word(&tuning, "passes"));
}

/* Measured on a kind that is not recorded. */
static void test_unrecorded_kind(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .n = 4096, .k = 4096, .gpu = "sm_103", .geometry = WINNER("4096", "64") });
	tuning = ask("sm_103", 4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
	tuning = ask("sm_103", 65536, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_DEFAULT);
}

static void test_without_a_database(void **state)
{
	struct tcbrt_query query = { .op = "fake_matvec", .device = "sm_75", .m = 1, .n = 512, .k = 256 };
	struct tcbrt_tuning tuning;
	struct tcbrt *rt;

	(void)state;
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_OK);
	assert_int_equal(tuning.source, TCBRT_SOURCE_DEFAULT);
	assert_string_equal(tcbrt_knob_word(&tuning, "isa"), "fma");
	tcbrt_close(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_chain, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stale, setup, teardown),
		cmocka_unit_test_setup_teardown(test_passes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unrecorded_kind, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_a_database, setup, teardown),
	};
	return cmocka_run_group_tests_name("rt.rt_gpu", tests, NULL, NULL);
}
