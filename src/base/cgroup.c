/* SPDX-License-Identifier: MIT
 *
 * In: /proc/self/cgroup, which names the groups of this process, and
 * /proc/self/mountinfo, which says where their trees are mounted.  Out: the
 * strictest quota of processors and the memory that is left, of all groups from
 * the process's own up to the root of what it sees.  A container with a quota of
 * two processors on a machine of 64 sees all 64, and one with 900 MiB all the
 * memory: threads beyond the quota are only throttled, and whoever goes beyond
 * the memory is killed.
 *
 * Version 1 has a tree per controller, version 2 one for all; a machine may have
 * both (Documentation/admin-guide/cgroup-v1/memory.rst, cgroup-v2.rst and
 * Documentation/scheduler/sched-bwc.rst of the Linux kernel; proc(5)).
 */
#include "base/cgroup.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PROCESSORS_MAX = 1 << 20, /* more is no quota */
	FOLDER_MAX = 4096,
};
static const size_t NO_LIMIT_FROM = SIZE_MAX / 4;   /* version 1 writes LONG_MAX rounded to a page for none */
static const size_t UNTOLD_BYTES = (size_t)2 << 30; /* available, where the system does not tell */

/* ---- numbers in small files ---- */

/* The number after "NAME " at the beginning of a line of FOLDER/FILE, or the first number of it for NAME NULL; -1 if
 * there is none ("max") or it is negative. */
static long long read_number(const char *folder, const char *file, const char *name)
{
	char path[FOLDER_MAX + 64], line[256];
	const size_t length = name ? strlen(name) : 0;
	long long value, found = -1;
	FILE *stream;

	snprintf(path, sizeof path, "%s/%s", folder, file);
	stream = fopen(path, "re");
	if (!stream)
		return -1;
	while (found < 0 && fgets(line, sizeof line, stream))
		if ((!name || strncmp(line, name, length) == 0) && sscanf(line + length, "%lld", &value) == 1)
			found = value;
	fclose(stream);
	return found;
}

static void take_quota(long long quota, long long period, const char *group, struct tcb_cgroup *out)
{
	unsigned processors;

	if (quota <= 0 || period <= 0 || quota / period >= PROCESSORS_MAX)
		return;
	processors = (unsigned)(quota / period + (quota % period != 0));
	if (out->processors && out->processors <= processors)
		return;
	out->processors = processors;
	snprintf(out->processors_group, sizeof out->processors_group, "%s", group);
}

/* USED is all that the group is charged for; of it the kernel takes back CACHED, copies of files, before it kills. */
static void take_memory(long long limit, long long used, long long cached, const char *group, struct tcb_cgroup *out)
{
	size_t left;

	if (limit < 0 || (size_t)limit >= NO_LIMIT_FROM)
		return;
	used = used > 0 ? used : 0;
	used -= cached < used ? cached : used;
	left = limit > used ? (size_t)(limit - used) : 0;
	if (left >= out->memory_left)
		return;
	out->memory_left = left;
	out->memory_bytes = (size_t)limit;
	snprintf(out->memory_group, sizeof out->memory_group, "%s", group);
}

static long long sum(long long a, long long b)
{
	return (a > 0 ? a : 0) + (b > 0 ? b : 0);
}

/* ---- one group ---- */

static void read_v1_processors(const char *folder, const char *group, struct tcb_cgroup *out)
{
	take_quota(read_number(folder, "cpu.cfs_quota_us", NULL), read_number(folder, "cpu.cfs_period_us", NULL), group,
		   out);
}

static void read_v1_memory(const char *folder, const char *group, struct tcb_cgroup *out)
{
	take_memory(read_number(folder, "memory.limit_in_bytes", NULL),
		    read_number(folder, "memory.usage_in_bytes", NULL),
		    sum(read_number(folder, "memory.stat", "total_inactive_file "),
			read_number(folder, "memory.stat", "total_active_file ")),
		    group, out);
}

static void read_v2(const char *folder, const char *group, struct tcb_cgroup *out)
{
	/* Beyond memory.high a group is not killed but slowed down until it is of no use to measure in. */
	static const char *const limits[] = { "memory.max", "memory.high" };
	char path[FOLDER_MAX + 64];
	long long quota, period;
	FILE *file;

	snprintf(path, sizeof path, "%s/cpu.max", folder);
	file = fopen(path, "re");
	if (file && fscanf(file, "%lld %lld", &quota, &period) == 2)
		take_quota(quota, period, group, out);
	if (file)
		fclose(file);
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		take_memory(read_number(folder, limits[i], NULL), read_number(folder, "memory.current", NULL),
			    sum(read_number(folder, "memory.stat", "inactive_file "),
				read_number(folder, "memory.stat", "active_file ")),
			    group, out);
}

/* ---- where the groups are ---- */

/* A tree of groups: version 1's of CONTROLLER, or version 2's, whose controller is "". */
struct tree {
	const char *filesystem, *controller;
	void (*read)(const char *folder, const char *group, struct tcb_cgroup *out);
};

static const struct tree trees[] = {
	{ "cgroup", "cpu", read_v1_processors },
	{ "cgroup", "memory", read_v1_memory },
	{ "cgroup2", "", read_v2 },
};

/* Is WORD one of the words of LIST, which are separated by commas? */
static int has_word(const char *list, const char *word)
{
	const size_t length = strlen(word);

	for (const char *at = list;; at += strcspn(at, ",") + 1) {
		const size_t here = strcspn(at, ",");

		if (here == length && strncmp(at, word, length) == 0)
			return 1;
		if (!at[here])
			return 0;
	}
}

/* The process's group in TREE into OUT, from its line "ID:CONTROLLERS:PATH"; 0 if it has none. */
static int find_group(FILE *membership, const struct tree *tree, char out[FOLDER_MAX])
{
	char *line = NULL;
	size_t room = 0;
	int is_found = 0;

	while (!is_found && getline(&line, &room, membership) > 0) {
		char *controllers = strchr(line, ':'), *path = controllers ? strchr(++controllers, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		is_found = path[0] == '/' && strlen(path) < FOLDER_MAX && has_word(controllers, tree->controller);
		if (is_found)
			strcpy(out, path);
	}
	free(line);
	return is_found;
}

/* mountinfo writes a blank, a tab, a line feed and a backslash as \ and three octal digits. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		unsigned code;

		if (*from == '\\' && sscanf(from + 1, "%3o", &code) == 1) {
			*to++ = (char)code;
			from += 3;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
}

/* What of GROUP comes after PREFIX ("" if they are the same); NULL if PREFIX is not above it. */
static const char *below(const char *group, const char *prefix)
{
	const size_t length = strcmp(prefix, "/") == 0 ? 0 : strlen(prefix);

	if (strncmp(group, prefix, length) != 0 || (group[length] != '/' && group[length] != '\0'))
		return NULL;
	return strcmp(group + length, "/") == 0 ? "" : group + length;
}

/* A mount as its line of mountinfo has it: "ID PARENT DEVICE ROOT POINT OPTIONS ... - FILESYSTEM SOURCE OPTIONS". */
struct mount {
	char root[FOLDER_MAX], point[FOLDER_MAX];
};

/* 0 if LINE is not a mount of TREE. */
static int parse_mount(const char *line, const struct tree *tree, struct mount *out)
{
	char filesystem[32], options[1024];
	const char *end = strstr(line, " - ");

	_Static_assert(FOLDER_MAX == 4096, "the widths below");
	if (!end || sscanf(end, " - %31s %*s %1023s", filesystem, options) != 2 ||
	    strcmp(filesystem, tree->filesystem) != 0 || (*tree->controller && !has_word(options, tree->controller)))
		return 0;
	if (sscanf(line, "%*s %*s %*s %4095s %4095s", out->root, out->point) != 2)
		return 0;
	unescape(out->root);
	unescape(out->point);
	return 1;
}

/*
 * Where the process's groups of TREE are, into FOLDER, and the rest of the way from there to its own, into REST.  A
 * container's mount shows a part of the tree, whose top is the mount's root.  Of several mounts, the one that shows
 * most levels above GROUP.  Where none shows GROUP itself (a process that was moved into the container, and begins
 * with "/.."), the container's own limits are what it can see.
 */
static int find_folder(FILE *mounts, const struct tree *tree, const char *group, char folder[FOLDER_MAX],
		       char rest[FOLDER_MAX])
{
	struct mount mount;
	size_t best = SIZE_MAX, room = 0;
	char *line = NULL;
	int is_found = 0;

	while (getline(&line, &room, mounts) > 0) {
		if (!parse_mount(line, tree, &mount))
			continue;
		const char *way = strncmp(group, "/..", 3) == 0 ? NULL : below(group, mount.root);
		const size_t rank = way ? strlen(mount.root) : SIZE_MAX;

		if (rank > best || (is_found && rank == SIZE_MAX))
			continue;
		is_found = 1;
		best = rank;
		strcpy(folder, mount.point);
		strcpy(rest, way ? way : "");
	}
	free(line);
	return is_found;
}

static FILE *open_below(const char *root, const char *path)
{
	char full[FOLDER_MAX];

	snprintf(full, sizeof full, "%s/%s", root, path);
	return fopen(full, "re");
}

/* From the process's own group up to the top of what is mounted. */
static void read_tree(const char *root, const struct tree *tree, struct tcb_cgroup *out)
{
	char group[FOLDER_MAX], top[FOLDER_MAX], rest[FOLDER_MAX], folder[3 * FOLDER_MAX];
	FILE *membership = open_below(root, "proc/self/cgroup"), *mounts = open_below(root, "proc/self/mountinfo");
	const int is_found = membership && mounts && find_group(membership, tree, group) &&
			     find_folder(mounts, tree, group, top, rest);

	if (membership)
		fclose(membership);
	if (mounts)
		fclose(mounts);
	while (is_found) {
		char *slash = strrchr(rest, '/');

		if (snprintf(folder, sizeof folder, "%s%s%s", root, top, rest) < FOLDER_MAX)
			tree->read(folder, *rest ? rest : "/", out);
		if (!slash)
			return;
		*slash = '\0';
	}
}

void tcb_cgroup_read(const char *root, struct tcb_cgroup *out)
{
	*out = (struct tcb_cgroup){ .memory_bytes = SIZE_MAX, .memory_left = SIZE_MAX };
	for (size_t i = 0; i < sizeof trees / sizeof *trees; i++)
		read_tree(root, &trees[i], out);
}

unsigned tcb_granted_processors(void)
{
	struct tcb_cgroup granted;
	cpu_set_t allowed;
	unsigned count = 1;

	if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
		count = (unsigned)CPU_COUNT(&allowed);
	tcb_cgroup_read("", &granted);
	if (granted.processors && granted.processors < count)
		count = granted.processors;
	return count ? count : 1;
}

size_t tcb_available_bytes(const char *root)
{
	struct tcb_cgroup granted;
	char folder[FOLDER_MAX];
	long long kib;
	size_t available;

	snprintf(folder, sizeof folder, "%s/proc", root);
	kib = read_number(folder, "meminfo", "MemAvailable:");
	available = kib < 0 ? UNTOLD_BYTES : (size_t)kib << 10;
	tcb_cgroup_read(root, &granted);
	return granted.memory_left < available ? granted.memory_left : available;
}
