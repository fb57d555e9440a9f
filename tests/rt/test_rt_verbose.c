/* SPDX-License-Identifier: MIT
 *
 * TCBRT_VERBOSE: a line per plan on standard error, whole whoever else writes,
 * and nothing from lookups, executions and without the variable.
 */
#include "cmocka_all.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tcbrt.h"

enum { THREADS = 4, PLANS = 20, SAID_MAX = 1 << 18 };

static const struct tcbrt_query softmax = { .op = "softmax", .threads = 1, .m = 3, .n = 100 };
static char said[SAID_MAX];

/* Calls DO with standard error in a file, whose text is SAID afterwards. */
static void listen(void (*what)(struct tcbrt *rt), const char *verbose)
{
	FILE *file = tmpfile();
	const int kept = dup(STDERR_FILENO);
	struct tcbrt *rt;

	assert_non_null(file);
	if (verbose)
		setenv("TCBRT_VERBOSE", verbose, 1);
	else
		unsetenv("TCBRT_VERBOSE");
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	unsetenv("TCBRT_VERBOSE"); /* it was read */
	fflush(stderr);
	dup2(fileno(file), STDERR_FILENO);
	what(rt);
	dup2(kept, STDERR_FILENO);
	close(kept);
	tcbrt_close(rt);
	rewind(file);
	said[fread(said, 1, SAID_MAX - 1, file)] = '\0';
	fclose(file);
}

static size_t count_lines(void)
{
	size_t count = 0;

	for (const char *at = said; (at = strchr(at, '\n')); at++)
		count++;
	return count;
}

static void plan_one(struct tcbrt *rt)
{
	struct tcbrt_plan *plan, *loaded;
	struct tcbrt_tuning tuning;
	char blob[8192], workspace_room[2 * 65536];
	size_t bytes;
	static float x[3][100], y[3][100];
	void *const operand[] = { x, y };
	void *workspace = workspace_room + TCBRT_ALIGNMENT - (size_t)workspace_room % TCBRT_ALIGNMENT;

	assert_int_equal(tcbrt_lookup(rt, &softmax, &tuning), TCBRT_OK);
	assert_int_equal(tcbrt_plan_create(rt, &softmax, &plan, NULL), TCBRT_OK);
	assert_int_equal(tcbrt_workspace_init(plan, workspace), TCBRT_OK);
	assert_int_equal(tcbrt_execute(plan, operand, workspace, NULL), TCBRT_OK);
	assert_int_equal(tcbrt_plan_save(plan, blob, sizeof(blob), &bytes), TCBRT_OK);
	assert_int_equal(tcbrt_plan_load(rt, blob, bytes, &loaded, NULL), TCBRT_OK);
	tcbrt_plan_destroy(loaded);
	tcbrt_plan_destroy(plan);
}

static void says_a_line_per_plan(void **state)
{
	static const char *const words[] = { "tcbrt: plan softmax 3x100 contract=f32 device=cpu threads=1 ",
					     " source=default expected_ns=unknown geometry=macro=", " variant=softmax_",
					     " reason=\"3x100 was not tuned on this device; no database is loaded" };

	(void)state;
	listen(plan_one, "1");
	assert_int_equal(count_lines(), 2); /* one made, one loaded */
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strstr(said, words[i]))
			fail_msg("no '%s' in: %s", words[i], said);
	assert_string_equal(said + strlen(said) - 2, "\"\n");
}

static void is_silent_otherwise(void **state)
{
	(void)state;
	listen(plan_one, NULL);
	assert_string_equal(said, "");
	listen(plan_one, "0");
	assert_string_equal(said, "");
	listen(plan_one, "");
	assert_string_equal(said, "");
}

static void *plan_many(void *rt)
{
	for (int i = 0; i < PLANS; i++) {
		struct tcbrt_plan *plan = NULL;

		tcbrt_plan_create(rt, &softmax, &plan, NULL);
		tcbrt_plan_destroy(plan);
	}
	return NULL;
}

static void plan_at_once(struct tcbrt *rt)
{
	pthread_t started[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&started[i], NULL, plan_many, rt);
	for (int i = 0; i < THREADS; i++)
		pthread_join(started[i], NULL);
}

static void keeps_lines_whole(void **state)
{
	char *line, *rest = said;
	size_t length = 0;

	(void)state;
	listen(plan_at_once, "1");
	assert_int_equal(count_lines(), THREADS * PLANS);
	while ((line = strtok_r(rest, "\n", &rest))) {
		if (!length)
			length = strlen(line);
		assert_int_equal(strlen(line), length);
		assert_memory_equal(line, "tcbrt: plan softmax", 19);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_a_line_per_plan),
		cmocka_unit_test(is_silent_otherwise),
		cmocka_unit_test(keeps_lines_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
