/* SPDX-License-Identifier: MIT
 *
 * What is stored for the very shape: the full count of threads, what was
 * measured to be faster with others, what a model ranked, and what its own
 * measurements call slower than the default.
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
	winner.n = winner.n ? winner.n : 4096;
	winner.k = 4096;
	fixture_put(&fixture, &winner);
}

/* With the threads left open, on a host of CORES with two hardware threads each. */
static struct tcbrt_tuning ask(unsigned cores, size_t n)
{
	struct tcbrt_query query = { .op = "fake_matvec", .m = 1, .n = n, .k = 4096 };
	struct tcbrt *rt = fixture_open(&fixture);
	struct tcbrt_tuning tuning;

	rt->cores = cores;
	rt->processors = 2 * cores;
	assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_OK);
	tcbrt_close(rt);
	assert_true(strlen(tuning.reason) > 0);
	return tuning;
}

static void assert_answer(const struct tcbrt_tuning *tuning, enum tcbrt_source source, unsigned threads,
			  const char *reason)
{
	if (tuning->source != source || tuning->threads != threads || !strstr(tuning->reason, reason))
		fail_msg("%s, %u threads: %s", tcbrt_source_text(tuning->source), tuning->threads, tuning->reason);
}

static void test_fewer_threads_say_nothing_of_all(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .threads = 1, .ns = 10 });
	tuning = ask(2, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_DEFAULT, 2, "1x4096x4096 was measured with 1 thread only; this is for 2");
	assert_non_null(strstr(tuning.geometry, "threads=2"));
	/* Nor of near shapes. */
	tuning = ask(2, 5120);
	assert_answer(&tuning, TCBRT_SOURCE_DEFAULT, 2, "1x5120x4096 was not tuned on this device");
	tuning = ask(1, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_EXACT, 1, "measured at this shape on this device");
	/* The chain goes on at the full count. */
	put((struct winner){ .n = 8192, .threads = 2 });
	tuning = ask(2, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_NEAREST, 2,
		      "with 1 thread only; this is for 2; the nearest winner is that of");
	put((struct winner){ .threads = 3 });
	tuning = ask(8, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_DEFAULT, 8, "measured with 3 threads only; this is for 8");
}

static void test_the_full_count_answers(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .threads = 1, .ns = 2000 });
	put((struct winner){ .threads = 2, .ns = 1500 });
	tuning = ask(2, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_EXACT, 2, "measured at this shape on this device");
	assert_true(tuning.expected_ns == 1500);
	assert_null(strstr(tuning.reason, "faster"));
}

static void test_others_that_are_faster(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .threads = 4, .ns = 1500 });
	put((struct winner){ .threads = 1, .ns = 1400 });
	tuning = ask(4, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_EXACT, 1, "; 1 thread was measured to be faster than 4");
	put((struct winner){ .threads = 8, .ns = 1300 });
	tuning = ask(4, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_EXACT, 8, "; 8 threads were measured to be faster than 4");
	/* More than there are processors. */
	put((struct winner){ .threads = 9, .ns = 100 });
	tuning = ask(4, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_EXACT, 8, "faster");
	/* What is less proven is not believed to be faster, nor is what is stale or slower than its default. */
	put((struct winner){ .threads = 2, .ns = 50, .provisional = 1 });
	put((struct winner){ .threads = 3, .ns = 50, .signature = "old" });
	put((struct winner){ .threads = 5, .ns = 50, .speedup_lo = 0.5 });
	put((struct winner){ .threads = 6, .ns = 50, .modelled = 1 });
	tuning = ask(4, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_EXACT, 8, "faster");
}

/* A stale entry at the full count leaves nothing for it, whatever is stored for fewer. */
static void test_stale_at_the_full_count(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .threads = 2, .ns = 100, .signature = "old", .speedup_lo = 1.19 });
	put((struct winner){ .threads = 1, .ns = 900 });
	tuning = ask(2, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_DEFAULT, 2, "the entry for 1x4096x4096 is stale");
}

/* Of another version of its kernel: where it surely gained a fifth over today's default, which is asked as of the very
 * shape only. */
static void test_earlier(void **state)
{
	static const struct winner unsure[] = { { .speedup_lo = 1.19 },
						{ .provisional = 1 },
						{ .modelled = 1 },
						{ .tried = TCB_THIN_TRIED - 1 },
						{ .other_default = 1 } };
	struct tcbrt_tuning tuning;

	(void)state;
	for (size_t i = 0; i < sizeof(unsure) / sizeof(unsure[0]); i++) {
		struct winner winner = unsure[i];

		winner.n = 8192 * (i + 1);
		winner.threads = 2;
		winner.signature = "old";
		put(winner);
		tuning = ask(2, winner.n);
		if (tuning.source == TCBRT_SOURCE_EARLIER || tuning.source == TCBRT_SOURCE_EXACT)
			fail_msg("%zu: %s", i, tuning.reason);
	}
	put((struct winner){ .threads = 2, .signature = "old", .speedup_lo = 1.2 });
	tuning = ask(2, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_EARLIER, 2,
		      "1x4096x4096 was measured on this device with another version of its kernel or another compiler, "
		      "where it was 1.30 x "
		      "the default (at least 1.20): sweep again");
	assert_true(tuning.expected_ns == 1000 && tuning.speedup_lo == 1.2 && tuning.tuned_n == 4096);
	assert_int_equal(tuning.verdict, TCBRT_VERDICT_TUNED);
	assert_string_equal(tcbrt_source_text(tuning.source), "earlier");
	tuning = ask(2, 4352);
	assert_answer(&tuning, TCBRT_SOURCE_DEFAULT, 2, "1x4352x4096 was not tuned");
	/* What is current comes first, even where it is less. */
	put((struct winner){ .threads = 2, .speedup_lo = 1.01 });
	tuning = ask(2, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_EXACT, 2, "measured at this shape");
}

/* speedup_lo + 0.1 is the median. */
static void test_slower_than_the_default(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .threads = 2, .ns = 100, .speedup_lo = 0.85 });
	put((struct winner){ .n = 8192, .threads = 2 });
	tuning = ask(2, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_DEFAULT, 2, "the best entry for 1x4096x4096 is 0.95 x the default");
	/* The default took 95 ns: 97 with one thread are no gain, 94 are. */
	put((struct winner){ .threads = 1, .ns = 97 });
	tuning = ask(2, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_DEFAULT, 2, "0.95 x the default");
	put((struct winner){ .threads = 1, .ns = 94 });
	tuning = ask(2, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_EXACT, 1, "faster than 2");
	/* The same of a sweep that has not finished. */
	put((struct winner){ .n = 2048, .threads = 2, .speedup_lo = 0.85, .provisional = 1 });
	tuning = ask(2, 2048);
	assert_answer(&tuning, TCBRT_SOURCE_DEFAULT, 2, "the best entry for 1x2048x4096 is 0.95 x the default");
}

/* A gain over what is no longer the default: believed of a winner of many candidates, not of few. */
static void test_beside_another_default(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .threads = 2, .ns = 100, .other_default = 1, .tried = 19 });
	tuning = ask(2, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_DEFAULT, 2,
		      "the best of 19 tried, is not used: it is the best of few candidates, beside a default");
	put((struct winner){ .threads = 2, .ns = 100, .other_default = 1, .tried = 20 });
	tuning = ask(2, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
	put((struct winner){ .threads = 2, .ns = 100, .tried = 1 });
	tuning = ask(2, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
}

/* The seen case: 4 candidates of 3,132 tried while others had nine tenths of the processors, the winner on one thread.
 */
static void test_what_samples_do_not_carry(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .threads = 2, .ns = 100, .speedup_lo = 0.2, .others_busy = 0.9 });
	tuning = ask(2, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_DEFAULT, 2, "not surely faster");
	put((struct winner){ .n = 2048, .threads = 2, .rounds = 30, .quiet = 4 });
	tuning = ask(2, 2048);
	assert_answer(&tuning, TCBRT_SOURCE_DEFAULT, 2, "others disturbed its measurement");
	put((struct winner){ .n = 2048, .threads = 2, .rounds = 30, .quiet = 29 });
	tuning = ask(2, 2048);
	assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
	/* What was tuned for one thread says more than the full count only if enough was tried. */
	put((struct winner){ .n = 2048, .threads = 1, .ns = 10, .tried = 4, .space = 3132 });
	tuning = ask(2, 2048);
	assert_answer(&tuning, TCBRT_SOURCE_EXACT, 2, "measured at this shape on this device");
	put((struct winner){ .n = 2048, .threads = 1, .ns = 10, .tried = 400, .space = 3132 });
	tuning = ask(2, 2048);
	assert_answer(&tuning, TCBRT_SOURCE_EXACT, 1, "faster than 2");
}

static void test_modelled_is_the_last_resort(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .threads = 2, .modelled = 1 });
	tuning = ask(2, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_MODELLED, 2, "never measured");
	assert_true(tuning.modelled);
	put((struct winner){ .n = 8192, .threads = 2 });
	tuning = ask(2, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_NEAREST, 2, "was only ranked by a model");
	/* A model that expects a loss is not followed. */
	put((struct winner){ .n = 65536, .threads = 2, .modelled = 1, .speedup_lo = 0.5 });
	tuning = ask(2, 65536);
	assert_answer(&tuning, TCBRT_SOURCE_DEFAULT, 2, "was only ranked by a model");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_fewer_threads_say_nothing_of_all, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_full_count_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_others_that_are_faster, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stale_at_the_full_count, setup, teardown),
		cmocka_unit_test_setup_teardown(test_earlier, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slower_than_the_default, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_samples_do_not_carry, setup, teardown),
		cmocka_unit_test_setup_teardown(test_beside_another_default, setup, teardown),
		cmocka_unit_test_setup_teardown(test_modelled_is_the_last_resort, setup, teardown),
	};
	return cmocka_run_group_tests_name("rt.rt_exact", tests, NULL, NULL);
}
