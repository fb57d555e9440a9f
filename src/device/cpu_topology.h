/* SPDX-License-Identifier: MIT
 *
 * Private to src/device: the parts of cpu_device.c that work on any topology
 * and any control group, so that they can be tested on machines that are not
 * this one.
 */
#ifndef TCB_DEVICE_CPU_TOPOLOGY_H
#define TCB_DEVICE_CPU_TOPOLOGY_H

#include <hwloc.h>

#include "device/device.h"

struct tcb_cpu_order {
	unsigned core_count;         /* physical cores of the machine */
	unsigned allowed_core_count; /* of which at least one processor is allowed */
	unsigned cpu_count;          /* allowed processors, at most as many as cpus holds */
	int cpus[TCB_CPUS_MAX];
	size_t line_bytes, l1d_bytes, l2_bytes, llc_bytes; /* of the first core in the order; 0 where unknown */
	unsigned clock_khz;                                /* base clock of the first core, 0 where unknown */
};

/*
 * The processors of TOPOLOGY that are in ALLOWED, in the order in which threads
 * should take them: one per core before any second hardware thread; the more
 * powerful kind of core first on hybrid processors; within a kind in hwloc's
 * logical order, which keeps a package, NUMA node and shared cache together.
 */
void tcb_cpu_order(hwloc_topology_t topology, hwloc_const_cpuset_t allowed, struct tcb_cpu_order *out);

#endif
