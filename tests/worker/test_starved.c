/* SPDX-License-Identifier: MIT
 *
 * What others take from a process: two that spin on one processor keep each
 * other waiting, however busy the machine is beside them.
 */
#include "worker/starved.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmocka_all.h"

/* A process that spins on the first processor of MASK's, or sleeps for MASK NULL. */
static pid_t start(const cpu_set_t *mask)
{
	const pid_t child = fork();
	cpu_set_t one;

	assert_true(child >= 0);
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CPU_ZERO(&one);
	for (int cpu = 0; mask && cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET(cpu, mask))
			CPU_SET(cpu, &one);
	if (mask && sched_setaffinity(0, sizeof one, &one) != 0)
		_exit(1);
	for (volatile unsigned spin = 0; mask; spin++)
		;
	for (;;)
		pause();
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void test_waits(void **state)
{
	const struct timespec pause_time = { .tv_nsec = 20000000 };
	struct tcb_starved starved = { .count = 0 };
	cpu_set_t allowed;
	double waited = 0;
	pid_t spinners[2];

	(void)state;
	if (access("/proc/self/schedstat", R_OK) != 0)
		skip_because("this kernel keeps no scheduler statistics: that waits are seen was not tried");
	assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
	for (int i = 0; i < 2; i++)
		spinners[i] = start(&allowed);
	assert_true(tcb_starved_look(&starved, spinners[0]) == 0); /* the first look has nothing to compare with */
	assert_int_equal(starved.count, 1);
	while (waited < 100e6) {
		nanosleep(&pause_time, NULL);
		const double now = tcb_starved_look(&starved, spinners[0]);
		assert_true(now >= 0);
		waited += now;
	}
	end(spinners[0]);
	end(spinners[1]);
	assert_true(tcb_starved_look(&starved, spinners[0]) == 0); /* it is gone */
}

/* Who sleeps is not kept from anything. */
static void test_sleeps(void **state)
{
	struct tcb_starved starved = { .count = 0 };
	const pid_t child = start(NULL);
	double waited = 0;

	(void)state;
	usleep(50000); /* until it sleeps */
	for (int i = 0; i < 5; i++) {
		waited = tcb_starved_look(&starved, child);
		usleep(20000);
	}
	end(child);
	assert_true(waited == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_waits), cmocka_unit_test(test_sleeps) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
