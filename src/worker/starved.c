/* SPDX-License-Identifier: MIT
 *
 * In: /proc/PID/task/TID/schedstat, whose second number is how long a thread was
 * ready and waited.  A thread that waits for another one in a loop has the
 * processor all the time: the one that it waits for counts.
 */
#include "worker/starved.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -1 where it is not told. */
static double read_waited(pid_t pid, const char *thread)
{
	char path[300];
	double waited = -1;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%ld/task/%.200s/schedstat", (long)pid, thread);
	file = fopen(path, "re");
	if (file && fscanf(file, "%*u %lf", &waited) != 1)
		waited = -1;
	if (file)
		fclose(file);
	return waited;
}

static double waited_before(const struct tcb_starved *starved, pid_t thread, double unseen)
{
	for (unsigned i = 0; i < starved->count; i++)
		if (starved->seen[i].thread == thread)
			return starved->seen[i].waited_ns;
	return unseen;
}

double tcb_starved_look(struct tcb_starved *starved, pid_t pid)
{
	struct tcb_starved now = { .count = 0 };
	const int is_first = starved->count == 0;
	double most = 0;
	char path[64];
	DIR *folder;

	snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
	folder = opendir(path);
	for (const struct dirent *entry; folder && (entry = readdir(folder)) && now.count < TCB_STARVED_THREADS_MAX;) {
		const pid_t thread = (pid_t)atol(entry->d_name);
		const double waited = thread > 0 ? read_waited(pid, entry->d_name) : -1;

		if (waited < 0)
			continue;
		/* A new thread has waited since it is there. */
		const double since = waited - waited_before(starved, thread, is_first ? waited : 0);
		most = since > most ? since : most;
		now.seen[now.count].thread = thread;
		now.seen[now.count++].waited_ns = waited;
	}
	if (folder)
		closedir(folder);
	*starved = now;
	return most;
}
