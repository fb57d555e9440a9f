/* SPDX-License-Identifier: MIT
 *
 * In: the threads to count.  Out: task clock, page faults, context switches and
 * migrations, from the kernel's software events (perf_event_open) or, where
 * those are forbidden, what getrusage tells of the process.
 *
 * One event is opened per thread and kind; threads that start meanwhile are
 * inherited.  Context switches and migrations happen in the kernel and are
 * counted only by who may look there (kernel.perf_event_paranoid 1 or less);
 * others get the switches from getrusage and no migrations.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device/counters_private.h"

static const struct {
	const char *name;
	uint64_t config;
	int in_kernel; /* happens in the kernel only */
} events[] = {
	{ "task_clock_ns", PERF_COUNT_SW_TASK_CLOCK, 0 },
	{ "page_faults", PERF_COUNT_SW_PAGE_FAULTS, 0 },
	{ "context_switches", PERF_COUNT_SW_CONTEXT_SWITCHES, 1 },
	{ "cpu_migrations", PERF_COUNT_SW_CPU_MIGRATIONS, 1 },
};
enum { EVENT_COUNT = sizeof events / sizeof *events };

static int perf_open(uint32_t type, uint64_t config, int user_only, pid_t tid)
{
	struct perf_event_attr attr;
	memset(&attr, 0, sizeof attr);
	attr.size = sizeof attr;
	attr.type = type;
	attr.config = config;
	attr.inherit = 1;
	attr.exclude_kernel = user_only != 0;
	attr.exclude_hv = 1;
	return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int tcb_perf_probe(void)
{
	int fd = perf_open(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1, 0);
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

int tcb_perf_paranoid(void)
{
	int level = -100;
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
	if (!file)
		return level;
	if (fscanf(file, "%d", &level) != 1)
		level = -100;
	fclose(file);
	return level;
}

void tcb_perf_explain(int probe, int paranoid, int is_virtual, char out[TCB_COUNTER_NOTE_MAX])
{
	int is_forbidden = probe == EACCES || probe == EPERM;
	if (probe == 0)
		out[0] = '\0';
	else if (probe == ENOSYS)
		snprintf(out, TCB_COUNTER_NOTE_MAX, "this kernel has no perf events");
	else if (is_forbidden && paranoid > 2)
		snprintf(out, TCB_COUNTER_NOTE_MAX,
			 "hardware counters are forbidden: kernel.perf_event_paranoid is %d; run `sysctl "
			 "kernel.perf_event_paranoid=2` as root",
			 paranoid);
	else if (is_forbidden)
		snprintf(out, TCB_COUNTER_NOTE_MAX,
			 "perf_event_open is forbidden here (container or sandbox); allow it, or run outside");
	else if (is_virtual)
		snprintf(out, TCB_COUNTER_NOTE_MAX, "this machine exposes no hardware counters (virtual machine)");
	else
		snprintf(out, TCB_COUNTER_NOTE_MAX, "this kernel offers no hardware counters for this processor (%s)",
			 strerror(probe));
}

enum tcb_software_kind tcb_software_probe(void)
{
	int fd = perf_open(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1, 0);
	if (fd < 0)
		return TCB_SOFTWARE_RUSAGE;
	close(fd);
	return TCB_SOFTWARE_PERF;
}

static size_t add(struct tcb_counter *out, size_t filled, size_t capacity, const char *name, const char *source,
		  double value)
{
	if (filled >= capacity)
		return filled;
	out[filled] = (struct tcb_counter){ .value = value };
	snprintf(out[filled].name, sizeof out[filled].name, "%s", name);
	snprintf(out[filled].source, sizeof out[filled].source, "%s", source);
	return filled + 1;
}

static double seconds(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec * 1e-6;
}

static void close_all(const int *fds, size_t count)
{
	for (size_t t = 0; t < count; t++)
		if (fds[t] >= 0)
			close(fds[t]);
}

/* Opens event E in all threads; FDS gets -1 for threads that have ended.  0, or -1 if it cannot be counted in all. */
static int open_all(size_t e, const struct tcb_counted *counted, int *fds)
{
	/* First as who may look into the kernel. */
	int user_only = 0, first = perf_open(PERF_TYPE_SOFTWARE, events[e].config, 0, counted->tids[0]);
	if (first < 0 && !events[e].in_kernel) {
		user_only = 1;
		first = perf_open(PERF_TYPE_SOFTWARE, events[e].config, 1, counted->tids[0]);
	}
	if (first < 0)
		return -1;
	fds[0] = first;
	for (size_t t = 1; t < counted->tid_count; t++) {
		fds[t] = perf_open(PERF_TYPE_SOFTWARE, events[e].config, user_only, counted->tids[t]);
		if (fds[t] < 0 && errno != ESRCH) { /* too many files open, say */
			close_all(fds, t);
			return -1;
		}
	}
	return 0;
}

/* Sum over the threads. */
static double read_all(const int *fds, size_t count)
{
	double sum = 0;
	for (size_t t = 0; t < count; t++) {
		uint64_t value;
		if (fds[t] >= 0 && read(fds[t], &value, sizeof value) == (ssize_t)sizeof value)
			sum += (double)value;
	}
	return sum;
}

size_t tcb_software_measure(enum tcb_software_kind kind, const struct tcb_counted *counted, struct tcb_counter *out,
			    size_t capacity)
{
	size_t filled = 0, threads = counted->tid_count;
	double before[EVENT_COUNT] = { 0 }, after[EVENT_COUNT] = { 0 };
	int is_open[EVENT_COUNT] = { 0 };
	int *fds = kind == TCB_SOFTWARE_PERF ? malloc(EVENT_COUNT * threads * sizeof *fds) : NULL;
	struct rusage start, end;

	for (size_t e = 0; fds && e < EVENT_COUNT; e++)
		is_open[e] = open_all(e, counted, fds + e * threads) == 0;
	getrusage(RUSAGE_SELF, &start);
	for (size_t e = 0; e < EVENT_COUNT; e++)
		if (is_open[e])
			before[e] = read_all(fds + e * threads, threads);
	for (unsigned i = 0; i < counted->calls; i++)
		counted->run(counted->ctx);
	for (size_t e = 0; e < EVENT_COUNT; e++)
		if (is_open[e])
			after[e] = read_all(fds + e * threads, threads);
	getrusage(RUSAGE_SELF, &end);

	double usage[EVENT_COUNT] = {
		(seconds(&end.ru_utime) + seconds(&end.ru_stime) - seconds(&start.ru_utime) -
		 seconds(&start.ru_stime)) *
			1e9,
		(double)(end.ru_minflt + end.ru_majflt - start.ru_minflt - start.ru_majflt),
		(double)(end.ru_nvcsw + end.ru_nivcsw - start.ru_nvcsw - start.ru_nivcsw),
	};
	for (size_t e = 0; e < EVENT_COUNT; e++) {
		if (is_open[e])
			filled = add(out, filled, capacity, events[e].name, "perf-software",
				     (after[e] - before[e]) / counted->calls);
		else if (events[e].config != PERF_COUNT_SW_CPU_MIGRATIONS)
			filled = add(out, filled, capacity, events[e].name, "rusage", usage[e] / counted->calls);
		if (is_open[e])
			close_all(fds + e * threads, threads);
	}
	free(fds);
	return filled;
}
