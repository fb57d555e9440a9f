/* SPDX-License-Identifier: MIT
 *
 * Counters with known answers: hardware events from a libpapi of our own
 * (fake_papi.c), software events from work whose faults and switches are known,
 * and a sandbox (seccomp) in which perf_event_open is forbidden.
 */
#include "device/counters_private.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/pool.h"
#include "base/util.h"
#include "cmocka_all.h"

enum { CALLS = 5 };

static void (*tick)(void);
static int (*sets_in_use)(void), (*is_shut_down)(void);
static unsigned runs;

static void run_tick(void *ctx)
{
	(void)ctx;
	runs++;
	tick();
}

static struct tcb_counters *open_fake(const char *machine)
{
	struct tcb_counters *counters;
	setenv("TCBTUNE_PAPI", FAKE_PAPI_PATH, 1);
	setenv("FAKE_PAPI", machine, 1);
	assert_int_equal(tcb_counters_open(&counters, NULL), TCB_OK);
	void *library = dlopen(FAKE_PAPI_PATH, RTLD_NOW | RTLD_NOLOAD);
	assert_non_null(library);
	*(void **)&tick = dlsym(library, "fake_papi_tick");
	*(void **)&sets_in_use = dlsym(library, "fake_papi_sets_in_use");
	*(void **)&is_shut_down = dlsym(library, "fake_papi_is_shut_down");
	runs = 0;
	return counters;
}

static void close_fake(struct tcb_counters *counters)
{
	assert_int_equal(sets_in_use(), 0);
	tcb_counters_close(counters);
	assert_int_equal(is_shut_down(), 1);
}

static const struct tcb_counter *find(const struct tcb_counter *list, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i].name, name) == 0)
			return &list[i];
	return NULL;
}

static void expect_papi(const struct tcb_counter *list, size_t count, const char *name, double value)
{
	const struct tcb_counter *counter = find(list, count, name);
	if (!counter)
		fail_msg("no counter %s", name);
	assert_string_equal(counter->source, "papi");
	if (counter->value != value)
		fail_msg("%s is %g, expected %g", name, counter->value, value);
}

/* Threads of this process: sanitizers add some of their own. */
static double count_threads(void)
{
	double count = 0;
	DIR *folder = opendir("/proc/self/task");
	assert_non_null(folder);
	for (struct dirent *entry; (entry = readdir(folder));)
		count += entry->d_name[0] != '.';
	closedir(folder);
	return count;
}

/* All events, per call; then with two pool threads more, each of which counts a hundred times as much. */
static void test_papi_full(void **state)
{
	(void)state;
	struct tcb_counters *counters = open_fake("full");
	struct tcb_counter out[16];
	struct tcb_pool *pool;
	assert_string_equal(tcb_counters_source(counters), "papi");
	assert_string_equal(tcb_counters_note(counters), "");
	size_t count = tcb_counters_measure(counters, run_tick, NULL, CALLS, out, 16);
	double threads = count_threads(), times = 1 + 100 * (threads - 1);
	assert_int_equal(runs, 2 * CALLS); /* one group, and the software events */
	expect_papi(out, count, "cycles", 1000 * times);
	expect_papi(out, count, "instructions", 2000 * times);
	expect_papi(out, count, "l1d_misses", 30 * times);
	expect_papi(out, count, "l2_misses", 20 * times); /* its second name */
	expect_papi(out, count, "l3_misses", 11 * times); /* its first name, though both exist */
	expect_papi(out, count, "dtlb_misses", 5 * times);
	expect_papi(out, count, "split_loads", 7 * times);
	assert_non_null(find(out, count, "page_faults"));

	assert_int_equal(tcb_pool_create(3, NULL, &pool, NULL), TCB_OK);
	count = tcb_counters_measure(counters, run_tick, NULL, CALLS, out, 16);
	assert_true(count_threads() >= threads + 2);
	times = 1 + 100 * (count_threads() - 1);
	expect_papi(out, count, "cycles", 1000 * times);
	expect_papi(out, count, "split_loads", 7 * times);
	tcb_pool_destroy(pool);

	assert_int_equal(tcb_counters_measure(counters, run_tick, NULL, CALLS, out, 3), 3);
	assert_int_equal(tcb_counters_measure(counters, run_tick, NULL, 0, out, 16), 0);
	close_fake(counters);
}

/* Seven events on two counters take four passes, and each is exact. */
static void test_papi_groups(void **state)
{
	(void)state;
	static const char *const machines[] = { "two_counters", "late_conflict" };
	for (size_t m = 0; m < 2; m++) {
		struct tcb_counters *counters = open_fake(machines[m]);
		struct tcb_counter out[16];
		size_t count = tcb_counters_measure(counters, run_tick, NULL, CALLS, out, 16);
		double times = 1 + 100 * (count_threads() - 1);
		assert_int_equal(runs, (4 + 1) * CALLS);
		expect_papi(out, count, "cycles", 1000 * times);
		expect_papi(out, count, "instructions", 2000 * times);
		expect_papi(out, count, "l1d_misses", 30 * times);
		expect_papi(out, count, "l2_misses", 20 * times);
		expect_papi(out, count, "l3_misses", 11 * times);
		expect_papi(out, count, "dtlb_misses", 5 * times);
		expect_papi(out, count, "split_loads", 7 * times);
		close_fake(counters);
	}
}

static void test_papi_few_events(void **state)
{
	(void)state;
	struct tcb_counters *counters = open_fake("few_events");
	struct tcb_counter out[16];
	assert_string_equal(tcb_counters_note(counters), "not counted on this processor: instructions, l1d_misses, "
							 "l2_misses, dtlb_misses, split_loads");
	size_t count = tcb_counters_measure(counters, run_tick, NULL, CALLS, out, 16);
	double times = 1 + 100 * (count_threads() - 1);
	expect_papi(out, count, "cycles", 1000 * times);
	expect_papi(out, count, "l3_misses", 10 * times);
	assert_null(find(out, count, "instructions"));
	close_fake(counters);
}

/* A sum over some of the threads would be a wrong number: there is none. */
static void test_papi_cannot_attach(void **state)
{
	(void)state;
	struct tcb_counters *counters = open_fake("no_attach");
	struct tcb_counter out[16];
	struct tcb_pool *pool;
	size_t count = tcb_counters_measure(counters, run_tick, NULL, CALLS, out, 16);
	if (count_threads() == 1)
		expect_papi(out, count, "cycles", 1000);
	assert_int_equal(tcb_pool_create(2, NULL, &pool, NULL), TCB_OK);
	count = tcb_counters_measure(counters, run_tick, NULL, CALLS, out, 16);
	assert_null(find(out, count, "cycles"));
	assert_non_null(find(out, count, "page_faults"));
	tcb_pool_destroy(pool);
	close_fake(counters);
}

static void expect_no_papi(struct tcb_counters *counters, const char *reason_if_hardware)
{
	assert_string_equal(tcb_counters_source(counters), "perf-software");
	const char *note = tcb_counters_note(counters);
	/* With no counters in the machine that is the reason, otherwise PAPI's. */
	if (!strstr(note, "hardware counters") && !strstr(note, "perf_event_open") && !strstr(note, reason_if_hardware))
		fail_msg("unexpected note: %s", note);
	tcb_counters_close(counters);
}

static void test_papi_unusable(void **state)
{
	(void)state;
	char version[16], path[128], why[TCB_COUNTER_NOTE_MAX];
	struct tcb_counters *counters;

	if (tcb_software_probe() != TCB_SOFTWARE_PERF)
		skip_because("perf_event_open is forbidden here");
	expect_no_papi(open_fake("no_hardware"), "PAPI 7.1 offers no hardware event: Component containing");
	assert_int_equal(tcb_papi_probe(version, path, why), 0);
	assert_string_equal(version, "7.1");
	assert_string_equal(path, FAKE_PAPI_PATH);

	expect_no_papi(open_fake("version_8"), "none of the versions");
	assert_int_equal(tcb_papi_probe(version, path, why), -1);
	assert_string_equal(why, "libpapi did not start: it is not one of the versions 5.0 to 7.9, or broken");

	setenv("TCBTUNE_PAPI", "/nonexistent/libpapi.so", 1);
	assert_int_equal(tcb_counters_open(&counters, NULL), TCB_OK);
	expect_no_papi(counters, "TCBTUNE_PAPI: ");
	assert_int_equal(tcb_papi_probe(version, path, why), -1);
	assert_non_null(strstr(why, "TCBTUNE_PAPI: /nonexistent/libpapi.so: cannot open"));

	setenv("TCBTUNE_PAPI", "libm.so.6", 1); /* a library, but not that one */
	assert_int_equal(tcb_papi_probe(version, path, why), -1);
	assert_string_equal(why, "libpapi has no PAPI_library_init: PAPI 5.7 to 7 is needed");
	unsetenv("TCBTUNE_PAPI");
}

static void test_explanations(void **state)
{
	(void)state;
	char note[TCB_COUNTER_NOTE_MAX];
	tcb_perf_explain(0, 2, 1, note);
	assert_string_equal(note, "");
	tcb_perf_explain(ENOENT, 2, 1, note);
	assert_string_equal(note, "this machine exposes no hardware counters (virtual machine)");
	tcb_perf_explain(ENOENT, 2, 0, note);
	assert_non_null(strstr(note, "no hardware counters for this processor"));
	tcb_perf_explain(EACCES, 4, 0, note);
	assert_string_equal(note, "hardware counters are forbidden: kernel.perf_event_paranoid is 4; run `sysctl "
				  "kernel.perf_event_paranoid=2` as root");
	tcb_perf_explain(EPERM, 1, 0, note);
	assert_non_null(strstr(note, "container or sandbox"));
	tcb_perf_explain(ENOSYS, -100, 0, note);
	assert_string_equal(note, "this kernel has no perf events");
}

enum { PAGES = 64, WORK_NS = 2000000 };

/* On each of two threads: touches fresh pages, computes for a while, and sleeps once. */
static void work_task(void *ctx, size_t task, unsigned thread)
{
	(void)ctx, (void)task, (void)thread;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *map = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(map, PAGES * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < PAGES; i++)
		((volatile char *)map)[i * page] = 1;
	munmap(map, PAGES * page);
	struct timespec start, now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec - start.tv_nsec < WORK_NS);
	usleep(100);
}

static void run_work(void *ctx)
{
	tcb_pool_run(ctx, 2, TCB_SCHED_STATIC, 2, work_task, NULL);
}

/* What two threads of known work must at least have done, per call; returns 0 if it is so. */
static int check_work(struct tcb_counters *counters, const char *source)
{
	struct tcb_counter out[16];
	struct tcb_pool *pool;
	if (tcb_pool_create(2, NULL, &pool, NULL) != TCB_OK)
		return 1;
	size_t count = tcb_counters_measure(counters, run_work, pool, CALLS, out, 16);
	tcb_pool_destroy(pool);
	const struct tcb_counter *clock = find(out, count, "task_clock_ns");
	const struct tcb_counter *faults = find(out, count, "page_faults");
	const struct tcb_counter *switches = find(out, count, "context_switches");
	if (!clock || !faults || !switches)
		return 2;
	if (strcmp(clock->source, source) != 0 || strcmp(faults->source, source) != 0)
		return 3;
	if (clock->value < 2.0 * WORK_NS * 0.9 || clock->value > 100.0 * WORK_NS)
		return 4;
	if (faults->value < 2 * PAGES || faults->value > 100 * PAGES)
		return 5;
	if (switches->value < 2)
		return 6;
	return 0;
}

static void test_software(void **state)
{
	(void)state;
	struct tcb_counters *counters;
	if (tcb_software_probe() != TCB_SOFTWARE_PERF)
		skip_because("perf_event_open is forbidden here");
	setenv("TCBTUNE_PAPI", "/nonexistent", 1);
	assert_int_equal(tcb_counters_open(&counters, NULL), TCB_OK);
	unsetenv("TCBTUNE_PAPI");
	assert_int_equal(check_work(counters, "perf-software"), 0);
	tcb_counters_close(counters);
	tcb_counters_close(NULL);
}

/* From here on perf_event_open fails with EPERM in this process. */
static int forbid_perf(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void test_everything_forbidden(void **state)
{
	(void)state;
	fflush(NULL);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct tcb_counters *counters;
		setenv("TCBTUNE_PAPI", "/nonexistent", 1);
		if (forbid_perf() != 0)
			_exit(77);
		if (tcb_counters_open(&counters, NULL) != TCB_OK)
			_exit(10);
		if (strcmp(tcb_counters_source(counters), "rusage") != 0)
			_exit(11);
		if (!strstr(tcb_counters_note(counters), "software events are forbidden too"))
			_exit(12);
		int failed = check_work(counters, "rusage");
		tcb_counters_close(counters);
		_exit(failed);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip_because("no seccomp filters here");
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* first: sanitizers do not let a process fork that has had threads */
		cmocka_unit_test(test_everything_forbidden), cmocka_unit_test(test_papi_full),
		cmocka_unit_test(test_papi_groups),          cmocka_unit_test(test_papi_few_events),
		cmocka_unit_test(test_papi_cannot_attach),   cmocka_unit_test(test_papi_unusable),
		cmocka_unit_test(test_explanations),         cmocka_unit_test(test_software),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
