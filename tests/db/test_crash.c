/* SPDX-License-Identifier: MIT
 *
 * Many writers, and writers that are killed.  Each writer reports a trial on a
 * pipe once tcb_db_trial_put has returned; whatever was reported must be there
 * afterwards, and the file must pass the check.
 */
#include <signal.h>
#include <sys/wait.h>

#include "base/util.h"
#include "cmocka_all.h"
#include "db_fixture.h"

static struct fixture fixture;
static struct tcb_error err;

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

/* In a child: puts trials FIRST, FIRST + 1, ... and writes each number to FD when it is stored. */
static void write_trials(size_t first, size_t count, int fd)
{
	struct tcb_device device;
	struct tcb_problem problem = fixture_problem(4096, 4096);
	struct tcb_error error;
	struct tcb_db *db;
	int64_t sweep;

	fixture_device(&device);
	if (tcb_db_open(fixture.path, TCB_DB_WRITE, &db, &error) != TCB_OK)
		goto failed;
	sweep = fixture_sweep(db, &device, &problem, &error);
	if (!sweep)
		goto failed;
	for (size_t i = first; i < first + count; i++) {
		if (fixture_put(db, sweep, i, 1000 + (double)i, &error) != TCB_OK)
			goto failed;
		if (write(fd, &i, sizeof(i)) != (ssize_t)sizeof(i))
			_exit(3);
	}
	if (tcb_db_sweep_end(db, sweep, "complete", &error) != TCB_OK)
		goto failed;
	tcb_db_close(db);
	_exit(0);
failed:
	fprintf(stderr, "writer: %s\n", error.message);
	_exit(1);
}

/* Every trial whose number came through FD is stored with its measurement; the file is sound. */
static size_t assert_all_stored(int fd, unsigned char *reported, size_t capacity)
{
	struct tcb_device device;
	struct tcb_problem problem = fixture_problem(4096, 4096);
	struct tcb_trial *trials;
	struct tcb_db *db;
	size_t number, count, stored = 0;

	while (read(fd, &number, sizeof(number)) == (ssize_t)sizeof(number)) {
		assert_true(number < capacity);
		reported[number] = 1;
	}
	assert_int_equal(tcb_db_open(fixture.path, TCB_DB_WRITE, &db, &err), TCB_OK);
	if (tcb_db_check(db, NULL, NULL, &err) != TCB_OK)
		fail_msg("%s", err.message);
	fixture_device(&device);
	assert_int_equal(tcb_db_trials(db, &device, &problem, FIXTURE_ROTATION, &trials, &count, &err), TCB_OK);
	for (size_t i = 0; i < count; i++) {
		number = trials[i].geometry.tile[TCB_MIDI].n - 1;
		assert_int_equal(trials[i].measurement_count, 1);
		assert_int_equal(trials[i].measurements->sample_count, 3);
		assert_true(trials[i].measurements->ns.median == 1000 + (double)number);
		stored += reported[number];
	}
	tcb_db_trials_free(trials, count);
	tcb_db_close(db);
	number = 0;
	for (size_t i = 0; i < capacity; i++)
		number += reported[i];
	assert_int_equal(stored, number);
	return number;
}

static void test_concurrent_writers(void **state)
{
	enum { WRITERS = 6, EACH = 100 };
	static unsigned char reported[WRITERS * EACH];
	pid_t children[WRITERS];
	int ends[2];

	(void)state;
	memset(reported, 0, sizeof(reported));
	assert_int_equal(pipe(ends), 0);
	for (size_t i = 0; i < WRITERS; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] == 0)
			write_trials(i * EACH, EACH, ends[1]);
	}
	close(ends[1]);
	for (size_t i = 0; i < WRITERS; i++) {
		int status;

		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(assert_all_stored(ends[0], reported, sizeof(reported)), WRITERS * EACH);
	close(ends[0]);
}

static void test_kill(void **state)
{
	enum { KILLS = 40, EACH = 2000 };
	static unsigned char reported[KILLS * EACH];
	struct tcb_rng rng;
	size_t before = 0;

	(void)state;
	memset(reported, 0, sizeof(reported));
	tcb_rng_init(&rng, tcb_clock_ns());
	for (size_t i = 0; i < KILLS; i++) {
		pid_t pair[2];
		int ends[2], status;

		assert_int_equal(pipe(ends), 0);
		/* Two at once, so that one is also killed while the other holds or waits for the lock. */
		for (size_t w = 0; w < 2; w++) {
			pair[w] = fork();
			assert_true(pair[w] >= 0);
			if (pair[w] == 0)
				write_trials(i * EACH + w * (EACH / 2), EACH / 2, ends[1]);
		}
		close(ends[1]);
		/* Every fourth time at any moment, perhaps before the file exists; else after some trials. */
		if (i % 4 == 0)
			usleep((useconds_t)tcb_rng_below(&rng, 40000));
		else
			for (size_t n = tcb_rng_below(&rng, 40), number; n > 0; n--) {
				assert_int_equal(read(ends[0], &number, sizeof(number)), sizeof(number));
				reported[number] = 1;
			}
		usleep((useconds_t)tcb_rng_below(&rng, 1500));
		for (size_t w = 0; w < 2; w++)
			kill(pair[w], SIGKILL);
		for (size_t w = 0; w < 2; w++) {
			assert_int_equal(waitpid(pair[w], &status, 0), pair[w]);
			if (WIFEXITED(status))
				assert_int_equal(WEXITSTATUS(status), 0);
		}
		assert_all_stored(ends[0], reported, sizeof(reported));
		close(ends[0]);
	}
	for (size_t i = 0; i < sizeof(reported); i++)
		before += reported[i];
	print_message("%zu trials stored across %d kills\n", before, 2 * KILLS);
	assert_true(before > KILLS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_concurrent_writers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kill, setup, teardown),
	};
	return cmocka_run_group_tests_name("db.crash", tests, NULL, NULL);
}
