/* SPDX-License-Identifier: MIT
 *
 * What CUPTI counts of a kernel, counted by the emulator: the same call, at
 * full size, in the profiler's own terms.
 */
#ifndef TCB_TESTS_EMULATED_COUNTERS_H
#define TCB_TESTS_EMULATED_COUNTERS_H

#include "kernels/op.h"
#include "worker/instance.h"

/* Of one call, all launches. */
struct emulated_counters {
	double shared_wavefronts; /* loads, stores and atomics of shared memory */
	double shared_loads, shared_stores;
	double shared_conflicts;    /* wavefronts beyond the least for the lanes that took part */
	double load_requests;       /* loads of global memory into registers */
	double load_sectors;        /* 32-byte sectors that they touch */
	double warps, active;       /* instructions of the PTX; threads that took part, guards aside */
	double launched;            /* warps */
	double branches, divergent; /* of warps; and where a warp split */
	uint64_t findings;          /* errors that the emulator reported */
	double seconds;
};

/*
 * KERNEL on INSTANCE's operands, which must be packed in its layout before (tcb_instance_packed) and are only read:
 * several threads may share an instance.
 */
enum tcb_status emulated_counters(const struct tcb_kernel *kernel, const struct tcb_instance *instance,
				  struct emulated_counters *out, struct tcb_error *err);

#endif
