/* SPDX-License-Identifier: MIT
 *
 * tcbrt_tune: what the query says are values, whatever they look like; what is
 * not one problem of one op is an error before anything is started; and what was
 * not tuned is never TCBRT_OK.  Programs that stand for tcbtune are scripts; the
 * real one is that of the environment variable REAL_TCBTUNE.
 */
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tcbrt.h"

static char folder[] = "/tmp/tcbrt-tune-XXXXXX";
static const struct tcbrt_query good = { .op = "softmax", .m = 4, .n = 64 };

static int enter_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
	char command[sizeof(folder) + 16];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return chdir("/") == 0 ? system(command) : -1;
}

/* A program in place of tcbtune that writes its words to the file "words", a line each, and then does what BODY says.
 */
static void stand_in(const char *body)
{
	FILE *script = fopen("stand-in", "w");

	assert_non_null(script);
	assert_true(fprintf(script, "#!/bin/sh\nprintf '%%s\\n' \"$@\" > words\n%s\n", body) > 0);
	assert_int_equal(fclose(script), 0);
	assert_int_equal(chmod("stand-in", 0700), 0);
	assert_int_equal(setenv("TCBTUNE", "./stand-in", 1), 0);
	(void)unlink("words");
}

static int was_started(void)
{
	return access("words", F_OK) == 0;
}

/* Nothing is started for what no sweep could tune, and the message has the word at fault, if there is one. */
static void what_is_not_a_problem_is_refused(void **state)
{
	static const struct {
		struct tcbrt_query query;
		int code;
		const char *said;
	} bad[] = {
		{ { .op = "--help", .m = 4, .n = 64 }, TCBRT_E_NOT_FOUND, "--help" },
		{ { .op = "", .m = 4, .n = 64 }, TCBRT_E_NOT_FOUND, "" },
		{ { .op = "all", .m = 4, .n = 64 }, TCBRT_E_NOT_FOUND, "all" },
		{ { .op = "reduce2d", .m = 4, .n = 64 }, TCBRT_E_NOT_FOUND, "reduce2d" },
		{ { .op = "attention_decode", .m = 1, .n = 64, .k = 64, .words = "h4/1" },
		  TCBRT_E_NOT_FOUND,
		  "attention_decode" },
		{ { .op = "softmax", .m = 4, .n = 64, .words = "h4/1" }, TCBRT_E_USAGE, "words" },
		{ { .op = "softmax", .m = 4, .n = 64, .words = "--help" }, TCBRT_E_USAGE, "--help" },
		{ { .op = "attention_decode_f16", .m = 1, .n = 64, .k = 64, .words = "--help" },
		  TCBRT_E_USAGE,
		  "--help" },
		{ { .op = "attention_decode_f16", .m = 1, .n = 64, .k = 64, .words = "h4/1,--help" },
		  TCBRT_E_USAGE,
		  "--help" },
		{ { .op = "attention_decode_f16", .m = 1, .n = 64, .k = 64 }, TCBRT_E_USAGE, "h32/8" },
		{ { .op = "softmax", .m = 0, .n = 64 }, TCBRT_E_USAGE, "softmax" },
		{ { .op = "softmax", .m = 4, .n = 64, .device = "" }, TCBRT_E_USAGE, "device" },
		{ { .op = "softmax", .m = 4, .n = 64, .threads = 4096 }, TCBRT_E_USAGE, "threads" },
		{ { .op = "softmax", .m = 4, .n = 64, .contract = TCBRT_CONTRACT_Q8 }, TCBRT_E_USAGE, "contract" },
		{ { .op = "softmax", .m = 4, .n = 64, .contract = (enum tcbrt_contract)9 }, TCBRT_E_USAGE, "contract" },
	};
	static const double no_times[] = { 0, -1, INFINITY, NAN, 1e300 };
	struct tcbrt_error err;

	(void)state;
	stand_in("exit 0");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const int code = tcbrt_tune("a.db", &bad[i].query, 1, &err);

		if (code != bad[i].code || !strstr(err.message, bad[i].said))
			fail_msg("row %zu: code %d: %s", i, code, err.message);
	}
	for (size_t i = 0; i < sizeof(no_times) / sizeof(no_times[0]); i++) {
		assert_int_equal(tcbrt_tune("a.db", &good, no_times[i], &err), TCBRT_E_USAGE);
		assert_non_null(strstr(err.message, "SECONDS"));
	}
	assert_int_equal(tcbrt_tune("", &good, 1, &err), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_tune("a.db", NULL, 1, &err), TCBRT_E_USAGE);
	assert_false(was_started());
}

/* Each word that is passed on is "sweep" or --NAME=VALUE. */
static void values_are_no_options(void **state)
{
	static const char *const expected[] = { "sweep",           "--op=softmax",    "--shape=4x64", "--contract=f32",
						"--budget=0.001s", "--device=--help", "--threads=3",  "--db=-h" };
	struct tcbrt_query query = good;
	struct tcbrt_error err;
	char line[256];
	size_t count = 0;

	(void)state;
	stand_in("exit 0");
	query.device = "--help";
	query.threads = 3;
	assert_int_not_equal(tcbrt_tune("-h", &query, 1e-9, &err), TCBRT_OK);
	FILE *words = fopen("words", "r");
	assert_non_null(words);
	for (; fgets(line, sizeof(line), words); count++) {
		line[strcspn(line, "\n")] = '\0';
		assert_true(count < sizeof(expected) / sizeof(expected[0]));
		assert_string_equal(line, expected[count]);
	}
	assert_int_equal(count, sizeof(expected) / sizeof(expected[0]));
	assert_int_equal(fclose(words), 0);
}

/* A program that says it is done, but left no result, and one that fails. */
static void what_was_not_tuned_is_an_error(void **state)
{
	struct tcbrt_error err;

	(void)state;
	stand_in("exit 0");
	assert_int_equal(tcbrt_tune("none.db", &good, 1, &err), TCBRT_E_NOT_FOUND); /* no such database */
	stand_in("echo first >&2; echo 'the last line' >&2; exit 1");
	assert_int_equal(tcbrt_tune("none.db", &good, 1, &err), TCBRT_E_FAILED);
	assert_string_equal(err.message, "the last line");
	stand_in("kill -9 $$");
	assert_int_equal(tcbrt_tune("none.db", &good, 1, &err), TCBRT_E_FAILED);
	assert_non_null(strstr(err.message, "signal 9"));
}

/* The real program: a result is there afterwards; a result of another problem is not one of this. */
static void the_real_program_tunes(void **state)
{
	const char *real = getenv("REAL_TCBTUNE");
	struct tcbrt_query other = good;
	struct tcbrt_error err;
	struct tcbrt *rt;

	(void)state;
	if (!real)
		skip_because("REAL_TCBTUNE names no program");
	assert_int_equal(setenv("TCBTUNE", real, 1), 0);
	if (tcbrt_tune("--help", &good, 0.1, &err) != TCBRT_OK)
		fail_msg("%s", err.message);
	assert_int_equal(tcbrt_open("--help", &rt, &err), TCBRT_OK);
	assert_true(tcbrt_count(rt, NULL) > 0);
	tcbrt_close(rt);
	other.device = "--help";
	assert_int_equal(tcbrt_tune("--help", &other, 0.1, &err), TCBRT_E_USAGE);
	assert_non_null(strstr(err.message, "unknown device '--help'"));
	/* Nothing of these is stored there, whatever a program says. */
	stand_in("exit 0");
	for (int i = 0; i < 4; i++) {
		other = good;
		other.m += i == 0;
		other.threads = i == 1 ? 1000 : 0;
		other.device = i == 2 ? "cpu:scalar" : NULL;
		other.op = i == 3 ? "rmsnorm" : good.op;
		assert_int_equal(tcbrt_tune("--help", &other, 0.1, &err), TCBRT_E_FAILED);
		assert_non_null(strstr(err.message, "stored no result"));
	}
	assert_int_equal(tcbrt_tune("--help", &good, 0.1, &err), TCBRT_OK); /* there already */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_a_problem_is_refused),
		cmocka_unit_test(values_are_no_options),
		cmocka_unit_test(what_was_not_tuned_is_an_error),
		cmocka_unit_test(the_real_program_tunes),
	};
	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
