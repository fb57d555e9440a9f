/* SPDX-License-Identifier: MIT
 *
 * Lookups that hit, what they hand out, and queries that cannot be served.
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

/* Under whichever contract N's entries, or the nearest ones, are the faster. */
static struct tcbrt_tuning ask_auto(enum tcbrt_contract contract, size_t n)
{
	struct tcbrt_query query = {
		.op = "fake_matvec", .threads = 1, .contract = contract, .m = 1, .n = n, .k = 4096
	};
	struct tcbrt *rt = fixture_open(&fixture);
	struct tcbrt_tuning tuning;

	assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_OK);
	tcbrt_close(rt);
	return tuning;
}

static void test_contract_auto(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	tuning = ask_auto(TCBRT_CONTRACT_AUTO, 4096); /* nothing is known */
	assert_int_equal(tuning.contract, TCBRT_CONTRACT_Q8);
	fixture_put(&fixture, &(struct winner){ .n = 4096, .k = 4096, .ns = 900 });
	assert_int_equal(ask_auto(TCBRT_CONTRACT_AUTO, 4096).contract, TCBRT_CONTRACT_Q8);
	fixture_put(&fixture, &(struct winner){ .n = 4096, .k = 4096, .ns = 800, .use_contract = 1 });
	tuning = ask_auto(TCBRT_CONTRACT_AUTO, 4096);
	assert_int_equal(tuning.contract, TCBRT_CONTRACT_F32);
	assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
	assert_true(tuning.expected_ns == 800);
	assert_int_equal(ask_auto(TCBRT_CONTRACT_AUTO_Q8, 4096).contract, TCBRT_CONTRACT_F32);
	assert_int_equal(ask_auto(TCBRT_CONTRACT_DEFAULT, 4096).contract, TCBRT_CONTRACT_Q8);
	/* The nearest shape where both were measured tells of this one. */
	assert_int_equal(ask_auto(TCBRT_CONTRACT_AUTO, 5120).contract, TCBRT_CONTRACT_F32);
	fixture_put(&fixture, &(struct winner){ .n = 6144, .k = 4096, .ns = 900 });
	fixture_put(&fixture, &(struct winner){ .n = 6144, .k = 4096, .ns = 1000, .use_contract = 1 });
	assert_int_equal(ask_auto(TCBRT_CONTRACT_AUTO, 5632).contract, TCBRT_CONTRACT_Q8);
	assert_int_equal(ask_auto(TCBRT_CONTRACT_AUTO, 4352).contract, TCBRT_CONTRACT_F32);
}

static void test_exact(void **state)
{
	struct tcbrt_query query = { .op = "fake_matvec", .threads = 1, .m = 1, .n = 4096, .k = 4096 };
	struct tcbrt_tuning tuning;
	struct tcbrt *rt;

	(void)state;
	fixture_put(&fixture, &(struct winner){ .n = 4096, .k = 4096, .rows4 = 1, .ns = 777, .speedup_lo = 1.25 });
	fixture_put(&fixture, &(struct winner){ .n = 4096, .k = 4096, .midi_n = 16, .state = TCB_HOT });
	fixture_put(&fixture, &(struct winner){ .n = 4096, .k = 4096, .midi_n = 32, .use_contract = 1 });
	rt = fixture_open(&fixture);
	assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_OK);
	assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
	assert_string_equal(tuning.geometry,
			    "macro=1x4096x4096,midi=1x8x4096,micro=1x4x256,isa=scalar,threads=1,prefetch=512");
	assert_string_equal(tuning.variant, "fake_q8_r4");
	assert_int_equal(tuning.macro.n, 4096);
	assert_int_equal(tuning.midi.n, 8);
	assert_int_equal(tuning.micro.k, 256);
	assert_int_equal(tuning.threads, 1);
	assert_int_equal(tuning.modelled, 0);
	assert_true(tuning.expected_ns == 777 && tuning.speedup_lo == 1.25);
	assert_int_equal(tuning.tuned_n, 4096);
	assert_non_null(strstr(tuning.reason, "measured"));

	assert_int_equal(tcbrt_knob(&tuning, "prefetch"), 512);
	assert_int_equal(tcbrt_knob(&tuning, "threads"), 1);
	assert_int_equal(tcbrt_knob(&tuning, "layout"), -1);
	assert_int_equal(tcbrt_knob(&tuning, "no such knob"), -1);
	assert_string_equal(tcbrt_knob_word(&tuning, "isa"), "scalar");
	assert_null(tcbrt_knob_word(&tuning, "prefetch"));
	assert_null(tcbrt_knob_word(&tuning, "layout"));
	assert_null(tcbrt_knob_word(&tuning, "no such knob"));

	query.state = TCBRT_HOT;
	assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_OK);
	assert_int_equal(tuning.midi.n, 16);
	query.state = TCBRT_COLD;
	query.contract = TCBRT_CONTRACT_F32;
	assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_OK);
	assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
	assert_int_equal(tuning.midi.n, 32);
	query.contract = TCBRT_CONTRACT_Q8;
	query.device = "cpu";
	assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_OK);
	assert_int_equal(tuning.midi.n, 8);
	assert_int_equal(tuning.contract, TCBRT_CONTRACT_Q8);
	/* The same processor under another name was not tuned. */
	query.device = "cpu:scalar";
	assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_OK);
	assert_int_equal(tuning.source, TCBRT_SOURCE_DEFAULT);
	tcbrt_close(rt);
	tcbrt_close(NULL);
}

static void test_modelled(void **state)
{
	struct tcbrt_query query = { .op = "fake_matvec", .threads = 1, .m = 1, .n = 4096, .k = 4096 };
	struct tcbrt_tuning tuning;
	struct tcbrt *rt;

	(void)state;
	fixture_put(&fixture, &(struct winner){ .n = 4096, .k = 4096, .modelled = 1 });
	rt = fixture_open(&fixture);
	assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_OK);
	assert_int_equal(tuning.source, TCBRT_SOURCE_MODELLED);
	assert_int_equal(tuning.modelled, 1);
	assert_non_null(strstr(tuning.reason, "never measured"));
	tcbrt_close(rt);
}

/* The best so far of a sweep answers for its own shape, marked. */
static void test_provisional(void **state)
{
	struct tcbrt_query query = { .op = "fake_matvec", .threads = 1, .m = 1, .n = 4096, .k = 4096 };
	struct tcbrt_tuning tuning;
	struct tcbrt *rt;

	(void)state;
	fixture_put(&fixture, &(struct winner){ .n = 4096, .k = 4096, .ns = 500, .provisional = 1 });
	rt = fixture_open(&fixture);
	assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_OK);
	assert_int_equal(tuning.source, TCBRT_SOURCE_PROVISIONAL);
	assert_true(tuning.provisional == 1 && tuning.modelled == 0 && tuning.expected_ns == 500);
	assert_non_null(strstr(tuning.reason, "provisional"));
	assert_string_equal(tcbrt_source_text(tuning.source), "provisional");
	tcbrt_close(rt);
}

static void assert_refused(const struct tcbrt *rt, const struct tcbrt_query *query, int code, const char *what)
{
	struct tcbrt_tuning tuning;

	memset(&tuning, 0x55, sizeof(tuning));
	assert_int_equal(tcbrt_lookup(rt, query, &tuning), code);
	assert_int_equal(tuning.source, TCBRT_SOURCE_NONE);
	assert_int_equal(tcbrt_knob(&tuning, "isa"), -1);
	if (!strstr(tuning.reason, what))
		fail_msg("reason: %s", tuning.reason);
}

static void test_refused_queries(void **state)
{
	const struct tcbrt_query good = { .op = "fake_matvec", .m = 1, .n = 4096, .k = 4096 };
	struct tcbrt_query query = good;
	char name[1000];
	struct tcbrt *rt;

	(void)state;
	fixture_put(&fixture, &(struct winner){ .op = "from_the_future", .n = 4096, .k = 4096 });
	rt = fixture_open(&fixture);
	query.op = "no_such_op";
	assert_refused(rt, &query, TCBRT_E_NOT_FOUND, "no_such_op");
	query.op = "from_the_future";
	assert_refused(rt, &query, TCBRT_E_NOT_FOUND, "upgrade");
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	query.op = name;
	assert_refused(rt, &query, TCBRT_E_NOT_FOUND, "xxx");
	query = good;
	query.k = 4095;
	assert_refused(rt, &query, TCBRT_E_USAGE, "multiple of 256");
	query.k = 0;
	assert_refused(rt, &query, TCBRT_E_USAGE, "multiple of 256");
	query = good;
	query.n = 0;
	assert_refused(rt, &query, TCBRT_E_USAGE, "multiple of 256");
	query = good;
	query.contract = TCBRT_CONTRACT_F16;
	assert_refused(rt, &query, TCBRT_E_USAGE, "no contract f16");
	query.contract = (enum tcbrt_contract)8;
	assert_refused(rt, &query, TCBRT_E_USAGE, "contract");
	query = good;
	query.state = (enum tcbrt_state)2;
	assert_refused(rt, &query, TCBRT_E_USAGE, "state");
	query = good;
	query.device = "cuda:0";
	assert_refused(rt, &query, TCBRT_E_UNSUPPORTED, "cuda:0");
	query.device = "sm_3";
	assert_refused(rt, &query, TCBRT_E_NOT_FOUND, "sm_3");
	tcbrt_close(rt);
}

/* Forgotten arguments are answered, not followed. */
static void test_null(void **state)
{
	const struct tcbrt_query good = { .op = "fake_matvec", .m = 1, .n = 4096, .k = 4096 }, zeros = { 0 };
	struct tcbrt_error err;
	struct tcbrt_tuning tuning;
	struct tcbrt *rt = fixture_open(&fixture);
	size_t refused = 1;

	(void)state;
	assert_refused(rt, &zeros, TCBRT_E_USAGE, "query.op");
	assert_refused(rt, NULL, TCBRT_E_USAGE, "query");
	assert_refused(NULL, &good, TCBRT_E_USAGE, "rt");
	assert_int_equal(tcbrt_lookup(rt, &good, NULL), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_open(fixture.path, NULL, &err), TCBRT_E_USAGE);
	assert_non_null(strstr(err.message, "OUT"));
	assert_int_equal(tcbrt_open_empty(NULL, NULL), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_lookup(rt, &good, &tuning), TCBRT_OK);
	assert_int_equal(tcbrt_knob(NULL, "isa"), -1);
	assert_int_equal(tcbrt_knob(&tuning, NULL), -1);
	assert_null(tcbrt_knob_word(NULL, "isa"));
	assert_null(tcbrt_knob_word(&tuning, NULL));
	assert_int_equal(tcbrt_each(NULL, NULL, NULL), 0);
	assert_int_equal(tcbrt_each(rt, NULL, NULL), 0);
	assert_int_equal(tcbrt_count(NULL, &refused), 0);
	assert_int_equal(refused, 0);
	tcbrt_close(rt);
}

/* An op's own parameters, which an answer has behind the knobs: by name, set or not, words and numbers. */
static void test_parameters(void **state)
{
	static const char *const words[] = { "fast", "slow", NULL };
	static const struct tcb_parameter parameters[] = {
		{ .key = "depth" }, { .key = "way", .words = words }, { .key = "lanes" }, { .key = NULL }
	};
	struct tcb_geometry geometry;
	struct tcbrt_tuning tuning;

	(void)state;
	memset(&tuning, 0, sizeof(tuning));
	tcb_geometry_init(&geometry);
	geometry.parameters = parameters;
	geometry.knob[TCB_KNOB_THREADS] = 2;
	geometry.knob[TCB_KNOB_COUNT + 1] = 1;
	geometry.knob[TCB_KNOB_COUNT + 2] = 48;
	rt_tuning_fill(&tuning, TCBRT_SOURCE_ASKED, &geometry, NULL, 2);
	assert_int_equal(tcbrt_knob(&tuning, "threads"), 2);
	assert_int_equal(tcbrt_knob(&tuning, "depth"), -1);
	assert_int_equal(tcbrt_knob(&tuning, "way"), 1);
	assert_int_equal(tcbrt_knob(&tuning, "lanes"), 48);
	assert_int_equal(tcbrt_knob(&tuning, "lane"), -1);
	assert_int_equal(tcbrt_knob(&tuning, "macro"), -1);
	assert_null(tcbrt_knob_word(&tuning, "way"));
	geometry.knob[TCB_KNOB_COUNT] = 0;
	rt_tuning_fill(&tuning, TCBRT_SOURCE_ASKED, &geometry, NULL, 2);
	assert_int_equal(tcbrt_knob(&tuning, "depth"), 0);
	assert_int_equal(tcbrt_knob(&tuning, "lanes"), 48);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_contract_auto, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exact, setup, teardown),
		cmocka_unit_test_setup_teardown(test_modelled, setup, teardown),
		cmocka_unit_test_setup_teardown(test_provisional, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_queries, setup, teardown),
		cmocka_unit_test_setup_teardown(test_null, setup, teardown),
		cmocka_unit_test(test_parameters),
	};
	return cmocka_run_group_tests_name("rt.rt_lookup", tests, NULL, NULL);
}
