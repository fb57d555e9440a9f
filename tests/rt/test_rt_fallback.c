/* SPDX-License-Identifier: MIT
 *
 * The chain exact, nearest, architecture, default: what qualifies, how a
 * geometry is carried over, and that the reason says what happened.
 */
#include <math.h>

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
	fixture_put(&fixture, &winner);
}

/* The answer for 1xNxK with WORDS on one thread, cold, contract q8. */
static struct tcbrt_tuning ask_words(size_t n, size_t k, const char *words)
{
	struct tcbrt_query query = { .op = "fake_matvec", .threads = 1, .m = 1, .n = n, .k = k, .words = words };
	struct tcbrt *rt = fixture_open(&fixture);
	struct tcbrt_tuning tuning;

	assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_OK);
	tcbrt_close(rt);
	assert_true(strlen(tuning.reason) > 0);
	return tuning;
}

static struct tcbrt_tuning ask(size_t n, size_t k)
{
	return ask_words(n, k, NULL);
}

static void assert_says(const struct tcbrt_tuning *tuning, const char *what)
{
	if (!strstr(tuning->reason, what))
		fail_msg("reason: %s", tuning->reason);
}

static void assert_default(const struct tcbrt_tuning *tuning, size_t n, size_t k, const char *why)
{
	char want[128];

	assert_int_equal(tuning->source, TCBRT_SOURCE_DEFAULT);
	snprintf(want, sizeof(want), "macro=1x%zux%zu,midi=1x1x%zu,micro=1x1x256,isa=scalar,threads=1", n, k, k);
	assert_string_equal(tuning->geometry, want);
	assert_string_equal(tuning->variant, "fake_q8_r1");
	assert_int_equal(tuning->tuned_n, 0);
	assert_true(tuning->expected_ns == 0 && tuning->speedup == 0);
	assert_says(tuning, why);
}

static void test_default_of_an_empty_database(void **state)
{
	struct tcbrt_query query = { .op = "fake_matvec", .m = 1, .n = 512, .k = 256 };
	struct tcbrt_tuning tuning = ask(4096, 4096);
	struct tcbrt *rt;

	(void)state;
	assert_default(&tuning, 4096, 4096, "nothing else is stored");
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_OK);
	assert_says(&tuning, "no database is loaded: this is the op's default");
	assert_int_equal(tuning.source, TCBRT_SOURCE_DEFAULT);
	assert_true(tuning.threads >= 1 && tuning.threads <= (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
	tcbrt_close(rt);
}

static void test_nearest(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .n = 4096, .k = 4096, .midi_n = 64 });
	put((struct winner){ .n = 8192, .k = 4096, .midi_n = 32 });
	tuning = ask(5120, 4096); /* log2: 0.32 and 0.68 away */
	assert_int_equal(tuning.source, TCBRT_SOURCE_NEAREST);
	assert_int_equal(tuning.tuned_n, 4096);
	assert_string_equal(tuning.geometry,
			    "macro=1x5120x4096,midi=1x64x4096,micro=1x1x256,isa=scalar,threads=1,prefetch=512");
	assert_string_equal(tuning.variant, "fake_q8_r1");
	assert_true(tuning.expected_ns == 0); /* unknown at this shape */
	assert_says(&tuning, "1x5120x4096 was not tuned");
	assert_says(&tuning, "1x4096x4096, where it is 1.60 x the default (at least 1.50)");
	tuning = ask(6144, 4096); /* 0.58 and 0.42 */
	assert_int_equal(tuning.tuned_n, 8192);
	tuning = ask(4096, 8192); /* k is carried over too */
	assert_int_equal(tuning.source, TCBRT_SOURCE_NEAREST);
	assert_int_equal(tuning.macro.k, 8192);
	assert_int_equal(tuning.midi.k, 8192);
	assert_int_equal(tuning.micro.k, 256);
}

/* What a product adds and a norm's eps make no other shape, but another problem. */
static void test_words_that_change_nothing(void **state)
{
	static const char *const near[] = { "add", "eps6", "add,eps6" };
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .n = 4096, .k = 4096, .midi_n = 64 });
	for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++) {
		tuning = ask_words(4096, 4096, near[i]);
		assert_int_equal(tuning.source, TCBRT_SOURCE_NEAREST);
		assert_int_equal(tuning.midi.n, 64);
	}
}

/* Heads and sequences are near or not, as sizes are; the other words are the same. */
static void test_near_words(void **state)
{
	static const char *const far[] = { "h32/8,b2",         "h32/8,b2,p32",        "h32/8,b2,p16,c50",
					   "h32/8,b2,p16,w64", "h32/8,b2,p16,causal", "h32/8,b2,p16,ragged",
					   "h28/4,b2,p16" };
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .n = 4096, .k = 4096, .midi_n = 64, .words = "h32/8,p16" });
	put((struct winner){ .n = 4096, .k = 4096, .midi_n = 32, .words = "h32/8,b4,p16" });
	tuning = ask_words(4096, 4096, "h32/8,b4,p16");
	assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
	assert_int_equal(tuning.tuned_sequences, 4);
	tuning = ask_words(4096, 4096, "h32/8,b3,p16"); /* of 24 heads of KV, 8 and 32 were tuned */
	assert_int_equal(tuning.source, TCBRT_SOURCE_NEAREST);
	assert_int_equal(tuning.midi.n, 32);
	assert_int_equal(tuning.tuned_query_heads, 32);
	assert_int_equal(tuning.tuned_kv_heads, 8);
	assert_int_equal(tuning.tuned_sequences, 4);
	assert_says(&tuning, "1x4096x4096,h32/8,b3,p16 was not tuned on this device; the nearest winner is that of "
			     "1x4096x4096,h32/8,b4,p16, where");
	tuning = ask_words(4096, 4096, "h16/4,p16"); /* half of the heads */
	assert_int_equal(tuning.source, TCBRT_SOURCE_NEAREST);
	assert_int_equal(tuning.midi.n, 64);
	for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
		tuning = ask_words(4096, 4096, far[i]);
		assert_int_equal(tuning.source, TCBRT_SOURCE_DEFAULT);
		assert_int_equal(tuning.tuned_query_heads, 0);
		assert_says(&tuning, "nothing else with the same size of a head, query heads for each KV head, pages, "
				     "window, cap and mask");
	}
	tuning = ask_words(4096, 4096, "h68/17,b8,p16"); /* 136 KV heads are more than four times 32 */
	assert_default(&tuning, 4096, 4096, "within a factor of 4");
	tuning = ask_words(4096, 2048, "h32/8,b2,p16"); /* k is the size of a head */
	assert_default(&tuning, 4096, 2048, "nothing else with the same size of a head");
	tuning = ask(4096, 4096);
	assert_default(&tuning, 4096, 4096, "nothing else is stored");
}

/* Hot, what comes from memory and what comes from a cache are not near each other. */
static void test_other_caches(void **state)
{
	struct tcbrt_query query = { .op = "fake_matvec", .threads = 1, .m = 1, .k = 4096 };
	struct tcb_device device;
	struct tcb_error err;

	(void)state;
	assert_int_equal(tcb_cpu_identify("cpu", 1, &device, &err), TCB_OK);
	const size_t fits = device.target.llc_bytes / 4096 / 2 * 3 / 4;
	if (!fits)
		skip_because("the size of this processor's last cache is unknown");
	put((struct winner){ .n = fits, .k = 4096, .state = TCB_HOT });
	put((struct winner){ .n = fits, .k = 4096, .state = TCB_COLD });
	struct tcbrt *rt = fixture_open(&fixture);
	for (int hot = 0; hot <= 1; hot++)
		for (size_t n = fits; n <= 2 * fits; n += fits - 1) {
			const int is_near = !hot || n < fits + 2;
			struct tcbrt_tuning tuning;

			query.state = hot ? TCBRT_HOT : TCBRT_COLD;
			query.n = n + 1;
			assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_OK);
			assert_int_equal(tuning.source, is_near ? TCBRT_SOURCE_NEAREST : TCBRT_SOURCE_DEFAULT);
			if (!is_near)
				assert_says(&tuning, "do not fit this one or its caches");
		}
	tcbrt_close(rt);
}

static void test_far_is_not_near(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .n = 4096, .k = 4096 });
	tuning = ask(16384, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_NEAREST);
	tuning = ask(16640, 4096);
	assert_default(&tuning, 16640, 4096, "within a factor of 4");
	tuning = ask(4096, 768);
	assert_default(&tuning, 4096, 768, "within a factor of 4");
}

/* A winner that may be slower than the default at its own shape proves nothing. */
static void test_needs_proof(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .n = 4096, .k = 4096, .speedup_lo = 0.99 });
	tuning = ask(4608, 4096);
	assert_default(&tuning, 4608, 4096, "surely better");
	/* Nor is it sure to be faster at its own shape. */
	tuning = ask(4096, 4096);
	assert_default(&tuning, 4096, 4096, "not surely faster");
	put((struct winner){ .n = 8192, .k = 4096, .speedup_lo = NAN });
	put((struct winner){ .n = 6144, .k = 4096, .modelled = 1 });
	put((struct winner){ .n = 4352, .k = 4096, .provisional = 1 });
	tuning = ask(5120, 4096);
	assert_default(&tuning, 5120, 4096, "surely better");
	/* Nor does a gain over what is no longer the default, nor the best of few. */
	put((struct winner){ .n = 5376, .k = 4096, .other_default = 1 });
	put((struct winner){ .n = 4864, .k = 4096, .tried = 19 });
	tuning = ask(5120, 4096);
	assert_default(&tuning, 5120, 4096, "surely better");
	/* 1.3 doublings away a gain of 2 % and 6.6 % more is wanted, nearby 2 % will do. */
	put((struct winner){ .n = 2048, .k = 4096, .speedup_lo = 1.08 });
	tuning = ask(5120, 4096);
	assert_default(&tuning, 5120, 4096, "gain too little");
	tuning = ask(2080, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_NEAREST);
	put((struct winner){ .n = 2048, .k = 4096, .speedup_lo = 1.09 });
	tuning = ask(5120, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_NEAREST);
	assert_int_equal(tuning.tuned_n, 2048);
}

/* Other contracts, states, thread counts and devices prove nothing either. */
static void test_unrelated(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .n = 4096, .k = 4096, .state = TCB_HOT });
	put((struct winner){ .n = 4096, .k = 4096, .threads = 2 });
	put((struct winner){ .n = 4096, .k = 4096, .use_contract = 1, .contract = TCB_CONTRACT_F32 });
	put((struct winner){ .n = 4096, .k = 4096, .other_key = "ffffffffffffffff", .arch = "riscv64-v" });
	tuning = ask(4096, 4096);
	assert_default(&tuning, 4096, 4096, "nothing else is stored");
}

/* midi.n = 64 does not divide macro.n = N unless N is a multiple: the next nearest is taken. */
static void test_illegal_is_passed_over(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .n = 4096, .k = 4096, .midi_n = 64 });
	tuning = ask(4100, 4096);
	/* Not carried over it is legal: macro tiles of 4096, the last one cut. */
	assert_int_equal(tuning.source, TCBRT_SOURCE_NEAREST);
	assert_int_equal(tuning.macro.n, 4096);
	/* A smaller problem cannot take the larger macro tile, and 64 does not divide 2000. */
	tuning = ask(2000, 4096);
	assert_default(&tuning, 2000, 4096, "do not fit");
	put((struct winner){ .n = 1024, .k = 4096, .midi_n = 4 });
	tuning = ask(2000, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_NEAREST);
	assert_int_equal(tuning.tuned_n, 1024);
	assert_int_equal(tuning.macro.n, 2000);
}

/*
 * Winners of kernels that this processor cannot run, in a database of the same key and architecture: another machine's,
 * or this one's before a hypervisor hid a family.  Each processor lacks one of the two families; of the one that it has
 * winners are used.
 */
static void test_families_that_are_not_here(void **state)
{
	static const enum tcb_isa families[] = { TCB_ISA_AVX512BF16, TCB_ISA_NEON };
	struct tcb_device device;
	struct tcbrt_tuning tuning;
	unsigned lacking = 0;

	assert_int_equal(tcb_cpu_identify("cpu", 1, &device, NULL), TCB_OK);
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		const enum tcb_isa isa = families[i];

		teardown(state);
		setup(state);
		put((struct winner){ .n = 4096, .k = 4096, .isa = isa });
		put((struct winner){ .n = 5120, .k = 4096, .isa = isa, .other_key = "ffffffffffffffff" });
		tuning = ask(4096, 4096);
		if (tcb_target_has(&device.target, isa)) {
			assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
			tuning = ask(4352, 4096);
			assert_int_equal(tuning.source, TCBRT_SOURCE_NEAREST);
			continue;
		}
		lacking++;
		assert_default(&tuning, 4096, 4096,
			       "the entry for 1x4096x4096 is not used (its geometry is not legal for its shape here)");
		tuning = ask(4352, 4096);
		assert_default(&tuning, 4352, 4096, "do not fit this one");
		tuning = ask(5120, 4096);
		assert_default(&tuning, 5120, 4096, "do not fit this one");
		/* Nor does it hide what there is: of another machine, then of this one, farther away or at the shape.
		 */
		put((struct winner){ .n = 8192, .k = 4096, .midi_n = 16, .other_key = "fffffffffffffffe" });
		tuning = ask(4096, 4096);
		assert_int_equal(tuning.source, TCBRT_SOURCE_ARCHITECTURE);
		assert_int_equal(tuning.midi.n, 16);
		put((struct winner){ .n = 8192, .k = 4096, .midi_n = 32 });
		for (size_t n = 4096; n <= 5120; n += 1024) {
			tuning = ask(n, 4096);
			assert_int_equal(tuning.source, TCBRT_SOURCE_NEAREST);
			assert_int_equal(tuning.tuned_n, 8192);
			assert_int_equal(tuning.midi.n, 32);
			assert_string_equal(tuning.variant, "fake_q8_r1");
		}
	}
	assert_true(lacking > 0);
}

/* Tiles that were no larger than the shape by chance only stay what they are. */
static void test_fixed_tiles_stay(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .n = 4096, .k = 4096, .macro_fixed = 1 });
	tuning = ask(8192, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_NEAREST);
	assert_int_equal(tuning.macro.n, 1024);
}

/* N = 1 makes micro.n = 1 look as large as the shape; carrying that over would name a kernel that nobody measured. */
static void test_kernel_stays(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){ .n = 1, .k = 4096, .midi_n = 1 });
	tuning = ask(4, 4096);
	assert_string_equal(tuning.variant, "fake_q8_r1");
	assert_int_equal(tuning.micro.n, 1);
}

static void test_stale(void **state)
{
	struct tcbrt_tuning tuning;
	struct tcbrt *rt;
	size_t refused;

	(void)state;
	put((struct winner){ .n = 4096, .k = 4096, .signature = "before the change", .speedup_lo = 1.1 });
	tuning = ask(4096, 4096);
	assert_default(&tuning, 4096, 4096, "stale (its kernel changed");
	/* Nor does it serve neighbours. */
	tuning = ask(4352, 4096);
	assert_default(&tuning, 4352, 4096, "surely better");
	put((struct winner){ .n = 8192, .k = 4096 });
	tuning = ask(4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_NEAREST);
	assert_says(&tuning, "stale");
	rt = fixture_open(&fixture);
	assert_int_equal(tcbrt_count(rt, &refused), 2);
	assert_int_equal(refused, 1);
	assert_int_equal(tcbrt_count(rt, NULL), 2);
	tcbrt_close(rt);
}

static void test_architecture(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put((struct winner){
		.n = 4096, .k = 4096, .midi_n = 16, .other_key = "ffffffffffffffff", .model = "Another CPU" });
	tuning = ask(4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_ARCHITECTURE);
	assert_int_equal(tuning.midi.n, 16);
	assert_true(tuning.expected_ns == 0); /* its time says nothing here */
	assert_says(&tuning,
		    "1x4096x4096 was not tuned on this device; the nearest winner of this architecture is that of "
		    "1x4096x4096, measured on Another CPU (key ffffffffffffffff), where it is 1.60 x");
	tuning = ask(5120, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_ARCHITECTURE);
	/* A near shape measured here comes first. */
	put((struct winner){ .n = 8192, .k = 4096, .midi_n = 32 });
	tuning = ask(4096, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_NEAREST);
	assert_int_equal(tuning.midi.n, 32);
}

static int count_entries(void *ctx, const struct tcbrt_entry *entry)
{
	size_t *count = ctx;

	(*count)++;
	assert_string_equal(entry->op, "fake_matvec");
	assert_string_equal(entry->contract, "q8");
	assert_string_equal(entry->state, "cold");
	assert_int_equal(entry->n, 1024 * *count);
	assert_true(entry->is_this_host == (entry->n != 3072));
	assert_true((entry->refused != NULL) == (entry->n == 2048));
	assert_true(strlen(entry->measured_at) > 0 && strlen(entry->signature) > 0);
	assert_true(entry->ns == 1000 && entry->speedup_lo == 1.5);
	return *count == 3 ? 42 : 0;
}

static void test_each(void **state)
{
	struct tcbrt *rt;
	size_t count = 0;

	(void)state;
	put((struct winner){ .n = 1024, .k = 256 });
	put((struct winner){ .n = 2048, .k = 256, .signature = "old" });
	put((struct winner){ .n = 3072, .k = 256, .other_key = "ffffffffffffffff" });
	put((struct winner){ .n = 4096, .k = 256, .other_key = "ffffffffffffffff" });
	rt = fixture_open(&fixture);
	assert_int_equal(tcbrt_each(rt, count_entries, &count), 42);
	assert_int_equal(count, 3);
	tcbrt_close(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_default_of_an_empty_database, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nearest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_words_that_change_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_near_words, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_caches, setup, teardown),
		cmocka_unit_test_setup_teardown(test_far_is_not_near, setup, teardown),
		cmocka_unit_test_setup_teardown(test_needs_proof, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unrelated, setup, teardown),
		cmocka_unit_test_setup_teardown(test_illegal_is_passed_over, setup, teardown),
		cmocka_unit_test_setup_teardown(test_families_that_are_not_here, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fixed_tiles_stay, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kernel_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stale, setup, teardown),
		cmocka_unit_test_setup_teardown(test_architecture, setup, teardown),
		cmocka_unit_test_setup_teardown(test_each, setup, teardown),
	};
	return cmocka_run_group_tests_name("rt.rt_fallback", tests, NULL, NULL);
}
