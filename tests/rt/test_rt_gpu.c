/* SPDX-License-Identifier: MIT
 *
 * A GPU is asked for by its kind and key, and answers fall back as on a CPU:
 * exact, nearest, another model's of the kind, default, with and without a
 * database.
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

#define H100 "00000000000100aa"
#define H200 "00000000000200aa"

static void put_on(const char *key, const char *model, const char *geometry)
{
	put((struct winner){ .n = 4096, .k = 4096, .other_key = key, .model = model, .geometry = geometry });
}

static void test_chain(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .n = 4096, .k = 4096, .ns = 70, .geometry = WINNER("4096", "64") });
	tuning = ask(FIXTURE_GPU, 4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
	assert_true(tuning.expected_ns == 70);
	assert_int_equal(tcbrt_knob(&tuning, "warps"), 8);
	tuning = ask(FIXTURE_GPU, 8192, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_NEAREST);
	assert_string_equal(tuning.geometry, "macro=1x8192x4096,midi=1x64x4096,micro=1x1x256,isa=fma,warps=8");
	assert_says(&tuning, "1x8192x4096 was not tuned on this GPU; the nearest winner is that of 1x4096x4096, where");
	tuning = ask(FIXTURE_GPU, 65536, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_DEFAULT);
	assert_string_equal(tuning.geometry, "macro=1x65536x4096,midi=1x1x4096,micro=1x1x256,isa=fma,warps=4");
	assert_says(&tuning, "within a factor of 4");
	/* Another kind has none of it. */
	tuning = ask("sm_89", 4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_DEFAULT);
	assert_says(&tuning, "sm_89 is an architecture, not a GPU; nothing is stored");
	tuning = ask("sm_89:" FIXTURE_GPU_KEY, 4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_DEFAULT);
	assert_says(&tuning, "1x4096x4096 was not tuned on this GPU; nothing else is stored");
}

/* Two models of one kind in one database: each has its own, a third model and the kind are told whose they get. */
static void test_two_models(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put_on(H100, "NVIDIA H100 PCIe", WINNER("4096", "64"));
	put_on(H200, "NVIDIA H200", WINNER("4096", "32"));
	tuning = ask("sm_90:" H100, 4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
	assert_int_equal(tuning.midi.n, 64);
	tuning = ask("sm_90:" H200, 4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
	assert_int_equal(tuning.midi.n, 32);
	/* Of the same shape the faster. */
	put((struct winner){ .n = 2048,
			     .k = 4096,
			     .ns = 70,
			     .other_key = H200,
			     .model = "NVIDIA H200",
			     .geometry = WINNER("2048", "32") });
	tuning = ask("sm_90:00000000000300aa", 2048, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_ARCHITECTURE);
	assert_int_equal(tuning.midi.n, 32);
	assert_true(tuning.expected_ns == 0); /* its time says nothing here */
	assert_says(&tuning,
		    "1x2048x4096 was not tuned on this GPU; the nearest winner of this architecture is that of "
		    "1x2048x4096, measured on NVIDIA H200 (key " H200 "), where");
	tuning = ask("sm_90", 2048, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_ARCHITECTURE);
	assert_says(&tuning, "sm_90 is an architecture, not a GPU; the nearest winner of this architecture is that of "
			     "1x2048x4096, measured on NVIDIA H200 (key " H200 "), where");
}

/* A near shape on the GPU goes before the very shape on another. */
static void test_own_goes_first(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put_on(H100, "NVIDIA H100 PCIe", WINNER("4096", "64"));
	tuning = ask(FIXTURE_GPU, 4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_ARCHITECTURE);
	assert_says(&tuning, "measured on NVIDIA H100 PCIe");
	put((struct winner){ .n = 8192, .k = 4096, .geometry = WINNER("8192", "16") });
	tuning = ask(FIXTURE_GPU, 4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_NEAREST);
	assert_int_equal(tuning.midi.n, 16);
	put((struct winner){ .n = 4096, .k = 4096, .geometry = WINNER("4096", "8") });
	tuning = ask(FIXTURE_GPU, 4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
	assert_int_equal(tuning.midi.n, 8);
}

/* The system's database, which has only the other model. */
static void test_layers(void **state)
{
	const struct tcbrt_query query = { .op = "fake_matvec", .device = FIXTURE_GPU, .m = 1, .n = 4096, .k = 4096 };
	struct fixture system_one;
	struct tcbrt_tuning tuning;
	struct tcbrt *rt;

	(void)state;
	fixture_init(&system_one);
	fixture_put(&system_one, &(struct winner){ .n = 4096,
						   .k = 4096,
						   .gpu = "sm_90",
						   .other_key = H200,
						   .model = "NVIDIA H200",
						   .geometry = WINNER("4096", "32") });
	setenv("TCBTUNE_DB", fixture.path, 1);
	setenv("TCBTUNE_SYSTEM_DB", system_one.path, 1);
	put((struct winner){ .n = 2048,
			     .k = 256,
			     .geometry = "macro=1x2048x256,midi=1x64x256,micro=1x1x256,isa=fma,"
					 "warps=8" });
	assert_int_equal(tcbrt_open(NULL, &rt, NULL), TCBRT_OK);
	assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_OK);
	assert_int_equal(tuning.source, TCBRT_SOURCE_ARCHITECTURE);
	assert_says(&tuning, "(system database), measured on NVIDIA H200 (key " H200 ")");
	tcbrt_close(rt);
	unsetenv("TCBTUNE_DB");
	unsetenv("TCBTUNE_SYSTEM_DB");
	fixture_fini(&system_one);
}

/* Another model's must be legal and today's too. */
static void test_other_models_are_judged(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put_on(H100, "NVIDIA H100 PCIe", "macro=1x18446744073709551615x1,midi=1x1x1,micro=1x1x256,isa=fma,warps=4");
	tuning = ask(FIXTURE_GPU, 4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_DEFAULT);
	put((struct winner){
		.n = 4096, .k = 4096, .other_key = H200, .signature = "old", .geometry = WINNER("4096", "64") });
	tuning = ask(FIXTURE_GPU, 4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_DEFAULT);
}

/* Ranked for a recorded model of the kind, and no GPU is there: the reason names it. */
static void test_modelled(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .n = 4096,
			     .k = 4096,
			     .modelled = 1,
			     .other_key = H100,
			     .model = "NVIDIA H100 PCIe",
			     .geometry = WINNER("4096", "64") });
	for (int is_kind = 0; is_kind <= 1; is_kind++) {
		tuning = ask(is_kind ? "sm_90" : FIXTURE_GPU, 4096, 4096);
		assert_int_equal(tuning.source, TCBRT_SOURCE_MODELLED);
		assert_says(&tuning, "ranked by a model at this shape for NVIDIA H100 PCIe (key " H100 "), never");
	}
	tuning = ask("sm_90:" H100, 4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_MODELLED);
	assert_says(&tuning, "ranked by a model at this shape for this GPU, never measured");
}

/* Names that begin like a GPU's. */
static void test_names(void **state)
{
	static const char *const names[] = { "sm_",      "sm_9x",      "sm_90:",
					     "sm_90:12", "sm_90a",     "sm_90:00000000000000FF",
					     "sm_99999", "sm_90:cpu0", "sm_90:00000000000000ff0" };
	struct tcbrt *rt;
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .n = 4096, .k = 4096, .geometry = WINNER("4096", "64") });
	rt = fixture_open(&fixture);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct tcbrt_query query = {
			.op = "fake_matvec", .device = names[i], .m = 1, .n = 4096, .k = 4096
		};

		if (tcbrt_lookup(rt, &query, &tuning) != TCBRT_E_UNSUPPORTED)
			fail_msg("%s: %s", names[i], tuning.reason);
	}
	tcbrt_close(rt);
}

static void test_stale(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	struct winner old = { .n = 4096, .k = 4096, .signature = "old", .geometry = WINNER("4096", "64") };

	put(old);
	tuning = ask(FIXTURE_GPU, 4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_EARLIER);
	assert_says(&tuning, "measured on this GPU with another version of its kernel");
	old.speedup_lo = 1.1;
	put(old);
	tuning = ask(FIXTURE_GPU, 4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_DEFAULT);
	assert_says(&tuning, "stale");
	/* Another model of the kind has a good one. */
	put_on(H200, "NVIDIA H200", WINNER("4096", "32"));
	tuning = ask(FIXTURE_GPU, 4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_ARCHITECTURE);
	assert_int_equal(tuning.midi.n, 32);
	assert_says(&tuning, "the entry for 1x4096x4096 is stale");
}

/* No op declares it, and every GPU kernel has it; what is carried over keeps it. */
static void test_passes(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .n = 4096, .k = 4096, .geometry = WINNER("4096", "64") ",passes=all" });
	tuning = ask(FIXTURE_GPU, 4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
	assert_string_equal(tuning.geometry, WINNER("4096", "64") ",passes=all");
	assert_string_equal(tcbrt_knob_word(&tuning, "passes"), "all");
	tuning = ask(FIXTURE_GPU, 8192, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_NEAREST);
	assert_string_equal(tcbrt_knob_word(&tuning, "passes"), "all");
	tuning = ask(FIXTURE_GPU, 65536, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_DEFAULT);
	assert_null(tcbrt_knob_word(&tuning, "passes"));
}

/* Measured on a kind that is not recorded. */
static void test_unrecorded_kind(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .n = 4096, .k = 4096, .gpu = "sm_103", .geometry = WINNER("4096", "64") });
	tuning = ask("sm_103:" FIXTURE_GPU_KEY, 4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
	tuning = ask("sm_103:" H200, 4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_ARCHITECTURE);
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

/* What overlap is worth: known where the same geometry was tried without. */
static void test_plain_time(void **state)
{
	static const char pdl[] = WINNER("4096", "8") ",pdl=1";
	struct winner winner = { .n = 4096, .k = 4096, .ns = 1000, .geometry = pdl };

	(void)state;
	put(winner);
	assert_true(ask(FIXTURE_GPU, 4096, 4096).plain_ns == 0);
	winner.n = 8192;
	winner.geometry = WINNER("8192", "8") ",pdl=1";
	winner.plain_ns = 1300;
	put(winner);
	const struct tcbrt_tuning tuning = ask(FIXTURE_GPU, 8192, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
	assert_true(tuning.expected_ns == 1000 && tuning.plain_ns == 1300);
	/* One that does not overlap has nothing to lose. */
	winner.n = 2048;
	winner.geometry = WINNER("2048", "8") ",pdl=0";
	put(winner);
	assert_true(ask(FIXTURE_GPU, 2048, 4096).plain_ns == 0);
	/* Carried over to another shape, no time is known. */
	assert_true(ask(FIXTURE_GPU, 8000, 4096).plain_ns == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_chain, setup, teardown),
		cmocka_unit_test_setup_teardown(test_plain_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_models, setup, teardown),
		cmocka_unit_test_setup_teardown(test_own_goes_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_layers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_models_are_judged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_modelled, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stale, setup, teardown),
		cmocka_unit_test_setup_teardown(test_passes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unrecorded_kind, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_a_database, setup, teardown),
	};
	return cmocka_run_group_tests_name("rt.rt_gpu", tests, NULL, NULL);
}
