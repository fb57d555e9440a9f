/* SPDX-License-Identifier: MIT
 *
 * What the control groups of this process grant: processors' time and memory,
 * of version 1 and 2 alike.
 */
#ifndef TCB_BASE_CGROUP_H
#define TCB_BASE_CGROUP_H

#include <stddef.h>

enum { TCB_CGROUP_PATH_MAX = 256 };

struct tcb_cgroup {
	unsigned processors; /* worth of time, rounded up; 0: no quota */
	size_t memory_bytes; /* the limit that leaves least; SIZE_MAX: none */
	size_t memory_left; /* until it is reached, what the kernel can take back counted as free; SIZE_MAX: no limit */
	/* Whose limit it is, as far as this process sees the tree ("/a/b", "/"); cut if longer; "": no limit. */
	char processors_group[TCB_CGROUP_PATH_MAX], memory_group[TCB_CGROUP_PATH_MAX];
};

/* cgroup.c: the strictest limits of all groups from the process's own up to the root.  ROOT goes before every path that
 * is read, proc/self/cgroup and proc/self/mountinfo among them: "" for this machine. */
void tcb_cgroup_read(const char *root, struct tcb_cgroup *out);

/* Processors that this process may keep busy: those of its affinity, or what the control groups' quota grants; at least
 * one. */
unsigned tcb_granted_processors(void);

/* Bytes of memory that may be allocated now: what the system has or what the control groups leave, whichever is less.
 */
size_t tcb_available_bytes(const char *root);

#endif
