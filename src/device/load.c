/* SPDX-License-Identifier: MIT
 *
 * In: /proc/stat, which counts for each processor what its time went to, and
 * /proc/PID/stat of this process and its descendants, with those that have
 * ended and were waited for.  Out: the counts of load.h.
 */
#include "device/load.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TICKS_LEAST = 20 }; /* a fifth of a second: less is told too roughly by its ticks */

static int is_allowed(const cpu_set_t *allowed, unsigned processor)
{
	return processor < CPU_SETSIZE && CPU_ISSET(processor, allowed);
}

/* "cpu3 user nice system idle iowait irq softirq steal ...": guests are in user and nice already. */
static void add_processor(const char *line, const cpu_set_t *allowed, struct tcb_load *out)
{
	unsigned long long user, nice, system, idle, wait, irq, softirq, steal;
	unsigned processor;

	if (sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &processor, &user, &nice, &system, &idle,
		   &wait, &irq, &softirq, &steal) != 9 ||
	    !is_allowed(allowed, processor))
		return;
	out->busy += user + nice + system + irq + softirq + steal;
	out->total += user + nice + system + irq + softirq + steal + idle + wait;
}

static void add_processors(struct tcb_load *out)
{
	FILE *file = fopen("/proc/stat", "re");
	cpu_set_t allowed;
	char line[512];

	if (!file)
		return;
	if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
		while (fgets(line, sizeof line, file) && strncmp(line, "cpu", 3) == 0)
			add_processor(line, &allowed, out);
	fclose(file);
}

struct process {
	long id, parent;
	uint64_t ticks; /* with children that have ended */
	int is_own;
};

struct processes {
	struct process *list;
	size_t count, capacity;
};

/* The name of a program stands in parentheses and may hold any. */
static int read_process(const char *id, struct process *out)
{
	unsigned long long user, system;
	long long children_user, children_system;
	char path[64], text[1024];
	size_t bytes;
	FILE *file;
	char *rest;

	snprintf(path, sizeof path, "/proc/%.20s/stat", id);
	file = fopen(path, "re");
	if (!file)
		return 0;
	bytes = fread(text, 1, sizeof text - 1, file);
	fclose(file);
	text[bytes] = '\0';
	rest = strrchr(text, ')');
	*out = (struct process){ .id = strtol(id, NULL, 10) };
	if (!rest || sscanf(rest + 1, " %*c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld", &out->parent,
			    &user, &system, &children_user, &children_system) != 5)
		return 0;
	out->ticks = user + system + (uint64_t)children_user + (uint64_t)children_system;
	return 1;
}

static void add_process(struct processes *all, const char *id)
{
	struct process *grown;

	if (all->count == all->capacity) {
		grown = realloc(all->list, (2 * all->capacity + 64) * sizeof *grown);
		if (!grown)
			return;
		all->list = grown;
		all->capacity = 2 * all->capacity + 64;
	}
	all->count += (size_t)read_process(id, &all->list[all->count]);
}

static int has_own_parent(const struct processes *all, long parent)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].id == parent)
			return all->list[i].is_own;
	return 0;
}

/* Descendants of descendants, until there are no more. */
static uint64_t own_ticks(struct processes *all)
{
	const long self = (long)getpid();
	uint64_t ticks = 0;
	int found = 1;

	while (found) {
		found = 0;
		for (size_t i = 0; i < all->count; i++) {
			struct process *p = &all->list[i];

			if (p->is_own || (p->id != self && !has_own_parent(all, p->parent)))
				continue;
			p->is_own = found = 1;
			ticks += p->ticks;
		}
	}
	return ticks;
}

int tcb_others_are_ignored(void)
{
	const char *given = getenv("TCBTUNE_OTHERS");

	return given && strcmp(given, "ignore") == 0;
}

void tcb_load_look(struct tcb_load *out)
{
	struct processes all = { 0 };
	DIR *folder = tcb_others_are_ignored() ? NULL : opendir("/proc");

	*out = (struct tcb_load){ 0 };
	if (!folder)
		return;
	for (const struct dirent *entry; (entry = readdir(folder));)
		if (isdigit((unsigned char)entry->d_name[0]))
			add_process(&all, entry->d_name);
	closedir(folder);
	out->own = own_ticks(&all);
	free(all.list);
	add_processors(out);
}

double tcb_load_others(const struct tcb_load *before, const struct tcb_load *after)
{
	double total, others;

	if (before->total == 0 || after->total < before->total + TICKS_LEAST || after->busy < before->busy)
		return NAN;
	total = (double)(after->total - before->total);
	others = (double)(after->busy - before->busy) -
		 (after->own > before->own ? (double)(after->own - before->own) : 0);
	return fmin(fmax(others / total, 0), 1);
}
