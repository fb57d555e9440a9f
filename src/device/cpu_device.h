/* SPDX-License-Identifier: MIT
 *
 * This host's processors through hwloc: topology, caches, which processors to
 * pin to.
 */
#ifndef TCB_DEVICE_CPU_DEVICE_H
#define TCB_DEVICE_CPU_DEVICE_H

#include "device/cpus.h"

/*
 * NAME: "cpu" or "cpu:FAMILY".  THREADS 0: the physical cores that control groups and the calling thread's affinity
 * allow, or as many as the control groups' quota grants; so call it before a pool pins the calling thread.
 * TCB_E_USAGE if more threads are asked for than there are processors.
 */
enum tcb_status tcb_cpu_open(const char *name, unsigned threads, struct tcb_place *out, struct tcb_error *err);

#endif
