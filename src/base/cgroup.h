/* SPDX-License-Identifier: MIT
 *
 * What the control groups of this process grant (cgroup v2).
 */
#ifndef TCB_BASE_CGROUP_H
#define TCB_BASE_CGROUP_H

/* cgroup.c: processors' worth of time that the control groups of this process grant (cpu.max), rounded up; 0 if they
 * set no limit.  MEMBERSHIP is /proc/self/cgroup, MOUNT /sys/fs/cgroup. */
unsigned tcb_cgroup_cpu_limit(const char *membership, const char *mount);

#endif
