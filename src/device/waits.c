/* SPDX-License-Identifier: MIT
 *
 * In: /proc/self/task/TID/schedstat, whose second number is how long a thread
 * was ready and waited; where there is none (gVisor, kernels without scheduler
 * statistics, hardened containers), the involuntary switches of the process,
 * each taken for a millisecond; where these are not counted either, nothing.
 * A processor that the host of a virtual machine takes away is no wait of a
 * thread: /proc/stat tells it, in ticks, so that is asked ten times a second.
 */
#include "device/waits.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/util.h"
#include "device/load.h"

enum { COST_LOOKS = 5 };
static const double COST_SHARE = 0.01;      /* of the time between two looks */
static const double SWITCH_NS = 1e6;        /* a time slice at least, about */
static const uint64_t STEAL_NS = 100000000; /* ten ticks: less is told too roughly by them */
static const double STEAL_LEAST = 0.15;     /* a single tick in that time may have begun before */

struct source {
	int files[TCB_WAITS_THREADS_MAX]; /* schedstat of each */
	size_t file_count;
	int stat; /* /proc/stat; -1: none */
	int cpus[TCB_WAITS_THREADS_MAX];
	size_t cpu_count;
	uint64_t stolen_ticks, stat_ns;
	double tick_ns, stolen;
};

static double read_schedstat(int file, unsigned long long *slices_out)
{
	char text[96];
	unsigned long long ran, waited, slices;
	const ssize_t bytes = pread(file, text, sizeof text - 1, 0);

	if (bytes <= 0)
		return NAN;
	text[bytes] = '\0';
	if (sscanf(text, "%llu %llu %llu", &ran, &waited, &slices) != 3)
		return NAN;
	if (slices_out)
		*slices_out = slices;
	return (double)waited;
}

static double by_schedstat(void *ctx, size_t thread)
{
	const struct source *source = ctx;

	return read_schedstat(source->files[thread], NULL);
}

static double by_switches(void *ctx, size_t thread)
{
	struct rusage usage;

	(void)ctx, (void)thread;
	return getrusage(RUSAGE_SELF, &usage) == 0 ? SWITCH_NS * (double)usage.ru_nivcsw : NAN;
}

/* Of the process's processors, in ticks, the most of one. */
static uint64_t read_stolen(const struct source *source)
{
	char text[16384];
	uint64_t most = 0;
	const ssize_t bytes = pread(source->stat, text, sizeof text - 1, 0);

	text[bytes > 0 ? bytes : 0] = '\0';
	for (const char *line = text; line && strncmp(line, "cpu", 3) == 0; line = strchr(line, '\n') + 1) {
		unsigned long long steal;
		int cpu;

		if (!strchr(line, '\n'))
			break;
		if (sscanf(line, "cpu%d %*u %*u %*u %*u %*u %*u %*u %llu", &cpu, &steal) != 2)
			continue;
		for (size_t i = 0; i < source->cpu_count; i++)
			if (source->cpus[i] == cpu && steal > most)
				most = steal;
	}
	return most;
}

static double stolen(void *ctx)
{
	struct source *source = ctx;
	const uint64_t now = tcb_clock_ns();

	if (source->stat < 0 || now - source->stat_ns < STEAL_NS)
		return source->stolen;
	const uint64_t ticks = read_stolen(source);
	const double share = source->tick_ns * (double)(ticks - source->stolen_ticks) / (double)(now - source->stat_ns);
	source->stolen = ticks >= source->stolen_ticks && share > STEAL_LEAST ? fmin(share, 1) : 0;
	source->stolen_ticks = ticks;
	source->stat_ns = now;
	return source->stolen;
}

/* All threads' files; 0 threads where one is missing or nothing is counted in it. */
static void open_files(struct source *source)
{
	DIR *folder = opendir("/proc/self/task");
	unsigned long long slices, all = 0;
	int is_whole = folder != NULL;

	for (const struct dirent *entry; folder && (entry = readdir(folder)) && is_whole;) {
		char path[300];

		if (!isdigit((unsigned char)entry->d_name[0]) || source->file_count == TCB_WAITS_THREADS_MAX)
			continue;
		snprintf(path, sizeof path, "/proc/self/task/%.200s/schedstat", entry->d_name);
		const int file = open(path, O_RDONLY | O_CLOEXEC);
		is_whole = file >= 0 && !isnan(read_schedstat(file, &slices));
		if (file >= 0)
			source->files[source->file_count++] = file;
		all += is_whole ? slices : 0;
	}
	if (folder)
		closedir(folder);
	if (is_whole && all > 0)
		return;
	while (source->file_count > 0)
		close(source->files[--source->file_count]);
}

static int are_switches_counted(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) == 0 && usage.ru_nvcsw + usage.ru_nivcsw > 0;
}

void tcb_waits_open(const int *cpus, unsigned cpu_count, struct tcb_waits *out)
{
	struct source *source = calloc(1, sizeof *source);
	double fastest = INFINITY;

	*out = (struct tcb_waits){ .ctx = source };
	if (!source)
		return;
	source->stat = -1;
	if (tcb_others_are_ignored())
		return;
	open_files(source);
	out->threads = source->file_count ? source->file_count : (size_t)are_switches_counted();
	out->waited_ns = source->file_count ? by_schedstat : by_switches;
	out->source = source->file_count ? "schedstat" : out->threads ? "switches" : NULL;
	source->cpu_count = cpu_count < TCB_WAITS_THREADS_MAX ? cpu_count : TCB_WAITS_THREADS_MAX;
	memcpy(source->cpus, cpus, source->cpu_count * sizeof *cpus);
	source->tick_ns = 1e9 / (double)sysconf(_SC_CLK_TCK);
	source->stat = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	source->stolen_ticks = source->stat < 0 ? 0 : read_stolen(source);
	source->stat_ns = tcb_clock_ns();
	out->stolen = stolen;
	for (int i = 0; i < COST_LOOKS; i++) {
		const uint64_t start = tcb_clock_ns();

		tcb_waits_begin(out);
		fastest = fmin(fastest, (double)(tcb_clock_ns() - start));
	}
	out->cost_ns = fastest;
}

void tcb_waits_close(struct tcb_waits *waits)
{
	struct source *source = waits->ctx;

	for (size_t i = 0; source && i < source->file_count; i++)
		close(source->files[i]);
	if (source && source->stat >= 0)
		close(source->stat);
	free(source);
	*waits = (struct tcb_waits){ 0 };
}

void tcb_waits_begin(struct tcb_waits *waits)
{
	for (size_t i = 0; i < waits->threads; i++)
		waits->before[i] = waits->waited_ns(waits->ctx, i);
	waits->looked_ns = tcb_clock_ns();
}

double tcb_waits_look(struct tcb_waits *waits, int must)
{
	const double since = (double)(tcb_clock_ns() - waits->looked_ns);
	double longest = 0;

	if (waits->threads == 0)
		return NAN;
	if (!must && since * COST_SHARE < waits->cost_ns)
		return -1;
	for (size_t i = 0; i < waits->threads; i++) {
		const double waited = waits->waited_ns(waits->ctx, i);

		longest = fmax(longest, waited - waits->before[i]); /* a NaN is not larger */
		waits->before[i] = waited;
	}
	waits->looked_ns = tcb_clock_ns();
	const double share = since > 0 ? fmin(longest / since, 1) : 0;
	return waits->stolen ? fmax(share, waits->stolen(waits->ctx)) : share;
}
