/* SPDX-License-Identifier: MIT
 *
 * In: the control group of this process.  Out: how many processors' worth of
 * time it may use.  A container with a quota of two processors on a machine
 * of 64 sees all 64; threads beyond the quota are only throttled.  The
 * smallest cpu.max from the process's group up to the root counts (cgroup v2,
 * Documentation/admin-guide/cgroup-v2.rst of the Linux kernel).
 */
#include "base/cgroup.h"

#include <stdio.h>
#include <string.h>

enum { PROCESSORS_MAX = 1 << 20 }; /* more is no quota */

/* Quota of one group in processors, rounded up; 0 for "max", or where there is no such file (the root). */
static unsigned group_limit(const char *path)
{
	unsigned long quota, period;
	FILE *file = fopen(path, "r");
	int count;

	if (!file)
		return 0;
	count = fscanf(file, "%lu %lu", &quota, &period);
	fclose(file);
	if (count != 2 || quota == 0 || period == 0 || quota / period >= PROCESSORS_MAX)
		return 0;
	return (unsigned)((quota + period - 1) / period);
}

unsigned tcb_cgroup_cpu_limit(const char *membership, const char *mount)
{
	char line[2048], path[4096];
	unsigned limit = 0;
	FILE *file = fopen(membership, "r");
	int found = 0;

	if (!file)
		return 0;
	while (!found && fgets(line, sizeof line, file))
		found = strncmp(line, "0::/", 4) == 0;
	fclose(file);
	if (!found)
		return 0;
	line[strcspn(line, "\n")] = '\0';
	for (char *group = line + 3;;) {
		char *slash = strrchr(group, '/');
		snprintf(path, sizeof path, "%s%s/cpu.max", mount, group);
		unsigned here = group_limit(path);
		if (here && (!limit || here < limit))
			limit = here;
		if (!slash)
			return limit;
		*slash = '\0';
	}
}
