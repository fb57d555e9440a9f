/* SPDX-License-Identifier: MIT
 *
 * Who had the processors: the arithmetic, and that the time of descendants,
 * also of those that have ended, is this process's own.
 */
#include "cmocka_all.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "device/load.h"

static void test_share(void **state)
{
	const struct tcb_load before = { 1000, 100, 50 };

	(void)state;
	assert_true(tcb_load_others(&before, &(struct tcb_load){ 1200, 300, 250 }) == 0);
	assert_true(tcb_load_others(&before, &(struct tcb_load){ 1200, 200, 100 }) == 0.25);
	assert_true(tcb_load_others(&before, &(struct tcb_load){ 1200, 300, 50 }) == 1);
	/* what ended meanwhile may be missing in the second look: never below 0, never above 1 */
	assert_true(tcb_load_others(&before, &(struct tcb_load){ 1200, 120, 100 }) == 0);
	assert_true(tcb_load_others(&before, &(struct tcb_load){ 1200, 320, 0 }) == 1);
	assert_true(isnan(tcb_load_others(&before, &(struct tcb_load){ 1010, 105, 55 })));
	assert_true(isnan(tcb_load_others(&before, &before)));
	assert_true(isnan(tcb_load_others(&(struct tcb_load){ 0, 0, 0 }, &before)));
}

static double spent_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void burn(double seconds)
{
	while (spent_s() < seconds)
		;
}

/* A child burns, and its own child has burnt and ended. */
static pid_t start_family(int told)
{
	const pid_t child = fork();

	if (child == 0) {
		pid_t grandchild = fork();

		if (grandchild == 0) {
			burn(0.3);
			_exit(0);
		}
		waitpid(grandchild, NULL, 0);
		burn(0.3);
		if (write(told, "", 1) != 1)
			_exit(1);
		pause();
	}
	return child;
}

static void test_descendants(void **state)
{
	const double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
	struct tcb_load before, alive, after;
	int told[2];
	char byte;
	pid_t child;

	(void)state;
	unsetenv("TCBTUNE_OTHERS");
	assert_int_equal(pipe(told), 0);
	tcb_load_look(&before);
	assert_true(before.total > 0 && before.busy <= before.total);
	child = start_family(told[1]);
	assert_true(child > 0);
	assert_int_equal(read(told[0], &byte, 1), 1);
	tcb_load_look(&alive);
	assert_true((double)(alive.own - before.own) * tick_s > 0.5);
	assert_true(alive.total > before.total);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	tcb_load_look(&after);
	assert_true((double)(after.own - before.own) * tick_s > 0.5);
	close(told[0]);
	close(told[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_share), cmocka_unit_test(test_descendants) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
