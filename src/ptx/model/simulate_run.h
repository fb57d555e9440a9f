/* SPDX-License-Identifier: MIT
 *
 * Launches on one multiprocessor, from the first block's start to the last
 * one's end.
 */
#ifndef TCB_PTX_SIMULATE_RUN_H
#define TCB_PTX_SIMULATE_RUN_H

#include "ptx/model/simulate_program.h"

enum { TCB_SIM_LAUNCHES = 4 };

/* A call of launches on a machine; times in cycles. */
struct tcb_sim_setup {
	const struct tcb_ptx_machine *machine;
	struct tcb_sim_program program[TCB_SIM_LAUNCHES];
	unsigned count, largest; /* largest: the one with the most blocks */
	uint32_t reg_most, value_most;
	double memory_rate, cache_rate; /* bytes per cycle of this multiprocessor */
	double memory_latency, cache_latency, memory_spread, cache_spread, launch_gap, dependent_wait, dependent_start,
		block_start, bulk_latency, bulk_issue, behind;
};
struct tcb_sim_result {
	double first_end, last_end;                        /* of the first and the last call */
	double skipped;                                    /* of all calls: cycles that were not simulated */
	double issue_cycles, shared_cycles, memory_cycles; /* of the last call */
	struct tcb_ptx_timing counts;                      /* of it; the rest of it is not set */
};

/* CALLS one after another; bits of STREAMED as for tcb_ptx_time. */
enum tcb_status tcb_sim_run(const struct tcb_sim_setup *setup, uint32_t streamed, unsigned calls,
			    struct tcb_sim_result *out, struct tcb_error *err);

#endif
