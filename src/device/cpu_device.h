/* SPDX-License-Identifier: MIT
 *
 * This host's processors through hwloc: topology, caches, which processors to
 * pin to.
 */
#ifndef TCB_DEVICE_CPU_DEVICE_H
#define TCB_DEVICE_CPU_DEVICE_H

#include "device/device.h"

/* What a place has that is processors. */
struct tcb_cpus {
	unsigned count;         /* == device.target.threads */
	int list[TCB_CPUS_MAX]; /* OS processor numbers, one per physical core first, powerful cores first */
};
_Static_assert(sizeof(struct tcb_cpus) <= TCB_PLACE_OWN_MAX, "a place has room for it");

static inline struct tcb_cpus *tcb_place_cpus(struct tcb_place *place)
{
	return (void *)place->own;
}

/* Of a place that was opened here; lent. */
static inline const struct tcb_cpus *tcb_cpus_of(const struct tcb_place *place)
{
	return (const void *)place->own;
}

/*
 * NAME: "cpu" or "cpu:FAMILY".  THREADS 0: the physical cores that control groups and the calling thread's affinity
 * allow, or as many as the control groups' quota grants; so call it before a pool pins the calling thread.
 * TCB_E_USAGE if more threads are asked for than there are processors.
 */
enum tcb_status tcb_cpu_open(const char *name, unsigned threads, struct tcb_place *out, struct tcb_error *err);

#endif
