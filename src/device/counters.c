/* SPDX-License-Identifier: MIT
 *
 * In: a kernel call.  Out: what it did: hardware events where libpapi offers
 * them (counters_papi.c), and the kernel's software events or getrusage
 * (counters_software.c).  Here it is decided which, and which threads count.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cpu_identity.h"
#include "device/counters_private.h"

struct tcb_counters {
	struct tcb_papi *papi; /* NULL: no hardware events */
	enum tcb_software_kind software;
	char note[2 * TCB_COUNTER_NOTE_MAX];
};

enum tcb_status tcb_counters_open(struct tcb_counters **out, struct tcb_error *err)
{
	struct tcb_counters *counters = calloc(1, sizeof *counters);
	char papi_note[TCB_COUNTER_NOTE_MAX], perf_note[TCB_COUNTER_NOTE_MAX];

	*out = counters;
	if (!counters)
		return tcb_fail(err, TCB_E_NOMEM, "no memory for counters");
	counters->software = tcb_software_probe();
	counters->papi = tcb_papi_open(papi_note);
	if (counters->papi) {
		strcpy(counters->note, papi_note);
		return TCB_OK;
	}
	/* The kernel's reason comes first: with no counters in the machine, PAPI would not help. */
	struct tcb_device host;
	int is_virtual = tcb_cpu_identify("cpu", 1, &host, NULL) == TCB_OK && host.is_virtual;
	tcb_perf_explain(tcb_perf_probe(), tcb_perf_paranoid(), is_virtual, perf_note);
	snprintf(counters->note, sizeof counters->note, "%s%s", perf_note[0] ? perf_note : papi_note,
		 counters->software == TCB_SOFTWARE_RUSAGE ? "; software events are forbidden too" : "");
	return TCB_OK;
}

void tcb_counters_close(struct tcb_counters *counters)
{
	if (!counters)
		return;
	tcb_papi_close(counters->papi);
	free(counters);
}

const char *tcb_counters_source(const struct tcb_counters *counters)
{
	if (counters->papi)
		return "papi";
	return counters->software == TCB_SOFTWARE_PERF ? "perf-software" : "rusage";
}

const char *tcb_counters_note(const struct tcb_counters *counters)
{
	return counters->note;
}

/* The threads of this process, the calling one first; at least that one.  NULL: no memory. */
static pid_t *list_threads(size_t *count_out)
{
	size_t capacity = 64, count = 1;
	pid_t *tids = malloc(capacity * sizeof *tids);
	DIR *folder = opendir("/proc/self/task");

	if (tids)
		tids[0] = (pid_t)syscall(SYS_gettid);
	for (struct dirent *entry; tids && folder && (entry = readdir(folder));) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (tid <= 0 || tid == tids[0])
			continue;
		if (count == capacity) {
			pid_t *more = realloc(tids, (capacity *= 2) * sizeof *tids);
			if (!more) {
				free(tids);
				tids = NULL;
				break;
			}
			tids = more;
		}
		tids[count++] = tid;
	}
	if (folder)
		closedir(folder);
	*count_out = count;
	return tids;
}

size_t tcb_counters_measure(struct tcb_counters *counters, void (*run)(void *ctx), void *ctx, unsigned calls,
			    struct tcb_counter *out, size_t capacity)
{
	struct tcb_counted counted = { run, ctx, calls, NULL, 0 };
	size_t filled = 0;
	pid_t *tids = list_threads(&counted.tid_count);

	if (!tids || calls == 0) {
		free(tids);
		return 0;
	}
	counted.tids = tids;
	if (counters->papi)
		filled = tcb_papi_measure(counters->papi, &counted, out, capacity);
	if (filled < capacity)
		filled += tcb_software_measure(counters->software, &counted, out + filled, capacity - filled);
	free(tids);
	return filled;
}
