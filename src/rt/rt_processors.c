/* SPDX-License-Identifier: MIT
 *
 * In: an affinity mask and what the kernel tells of each processor in it
 * (sysfs).  Out: the processors in the order in which threads should take them,
 * which is that of src/device without hwloc.
 */
#include <stdio.h>
#include <stdlib.h>

#include "rt/runtime.h"

/* FILE of CPU below SYSFS to LINE; "" where it cannot be read. */
static void read_line(const char *sysfs, int cpu, const char *file, char line[256])
{
	char path[512];
	FILE *from;

	line[0] = '\0';
	snprintf(path, sizeof(path), "%s/cpu%d/%s", sysfs, cpu, file);
	if (!(from = fopen(path, "r")))
		return;
	if (!fgets(line, 256, from))
		line[0] = '\0';
	fclose(from);
}

static long read_number(const char *sysfs, int cpu, const char *file)
{
	char line[256];

	read_line(sysfs, cpu, file, line);
	return strtol(line, NULL, 10);
}

/* Which core CPU is of, by the number of its first hardware thread, and how many of them before CPU are ALLOWED.  The
 * list is like "0,64" or "0-1"; where it cannot be read, CPU counts as a core. */
static void read_core(const char *sysfs, const cpu_set_t *allowed, struct rt_processor *out)
{
	char line[256], *cursor = line;

	out->core = -1;
	read_line(sysfs, out->cpu, "topology/thread_siblings_list", line);
	while (*cursor >= '0' && *cursor <= '9') {
		long first = strtol(cursor, &cursor, 10), last = first;

		if (*cursor == '-')
			last = strtol(cursor + 1, &cursor, 10);
		if (out->core < 0)
			out->core = (int)first;
		for (long sibling = first; sibling <= last && sibling < out->cpu; sibling++)
			out->place += CPU_ISSET((size_t)sibling, allowed) != 0;
		if (*cursor == ',')
			cursor++;
	}
	if (out->core < 0)
		out->core = out->cpu;
}

static int compare(const void *a, const void *b)
{
	const struct rt_processor *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	if (x->capacity != y->capacity)
		return x->capacity > y->capacity ? -1 : 1;
	if (x->package != y->package)
		return x->package < y->package ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

unsigned rt_processors(const char *sysfs, const cpu_set_t *allowed, struct rt_processor out[RT_PROCESSORS_MAX])
{
	unsigned count = 0;

	for (int cpu = 0; cpu < RT_PROCESSORS_MAX; cpu++) {
		if (!CPU_ISSET((size_t)cpu, allowed))
			continue;
		out[count] = (struct rt_processor){ .cpu = cpu };
		read_core(sysfs, allowed, &out[count]);
		count++;
	}
	return count;
}

void rt_processors_order(const char *sysfs, struct rt_processor *all, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		all[i].package = read_number(sysfs, all[i].cpu, "topology/physical_package_id");
		all[i].capacity = read_number(sysfs, all[i].cpu, "cpu_capacity");
	}
	qsort(all, count, sizeof(*all), compare);
}
