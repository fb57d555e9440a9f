/* SPDX-License-Identifier: MIT
 *
 * The state of a simulated multiprocessor.  Times are cycles.
 */
#ifndef TCB_PTX_SIMULATE_STATE_H
#define TCB_PTX_SIMULATE_STATE_H

#include "ptx/model/simulate_run.h"
#include "ptx/model/simulate_value.h"

enum {
	TCB_SIM_QUARTERS = 4,
	TCB_SIM_WARPS_MAX = 64,
	TCB_SIM_BARRIERS = 16,
	TCB_SIM_MBARRIERS = 1024, /* by address / 8 */
	TCB_SIM_GROUPS = 16,      /* of asynchronous copies of a warp */
	TCB_SIM_REQUESTS = 4096   /* in flight; the oldest are forgotten */
};

/* What was done by a time. */
struct tcb_sim_mark {
	double time;
	double backlog[2]; /* how far ahead device memory and L2 are asked for */
	struct tcb_sim_result done;
	uint32_t turns[TCB_SIM_WARPS_MAX];
};

/* Sampling: simulate_sample.h. */
struct tcb_sim_sampling {
	int leader; /* the warp whose turns set marks; -1: none */
	struct tcb_sim_mark mark[3];
	unsigned mark_count, every, unsteady; /* EVERY turns a mark; how often they were not steady */
	double skipped;
	uint64_t followed; /* instructions that were only computed */
};

struct tcb_sim_warp {
	int is_there, block; /* its block's place */
	uint32_t pc;
	double ready;   /* NEVER while it waits at a barrier */
	uint64_t waits; /* the number of that barrier */
	double group[TCB_SIM_GROUPS], group_open;
	unsigned groups;
	struct tcb_sim_lane lane;
	double *reg; /* when each register is there */
	/* Turns of each loop since it was entered; the loop whose turns are being watched, 0: none, and turns of it. */
	uint32_t round[TCB_SIM_LOOPS_MAX], turns;
	unsigned watched;
};

struct tcb_sim_block {
	int is_there, is_triggered;
	unsigned launch; /* number in the sequence */
	unsigned warps, live;
	struct {
		unsigned arrived; /* warps */
		double time;      /* of the last that arrived */
	} barrier[TCB_SIM_BARRIERS];
	double mbarrier[TCB_SIM_MBARRIERS];
};

/* A way to memory, and what is on it. */
struct tcb_sim_channel {
	double rate, latency, spread, free;
	double in_flight; /* bytes */
	double done[TCB_SIM_REQUESTS];
	uint32_t bytes[TCB_SIM_REQUESTS];
	unsigned first, count;
};

/* One launch of the sequence. */
struct tcb_sim_running {
	const struct tcb_sim_program *program;
	unsigned share, started, triggered, ended; /* blocks of this multiprocessor */
	double trigger_time, end_time;
	double skipped;              /* of the whole simulation, when its last block ended */
	struct tcb_sim_mark mark[3]; /* each time that as many blocks have ended as run at once */
	unsigned mark_count;
};

struct tcb_simulation {
	const struct tcb_sim_setup *setup;
	uint32_t streamed;
	struct tcb_sim_running *running;
	unsigned launch_count, next; /* the next launch with blocks to start */
	struct tcb_sim_warp warp[TCB_SIM_WARPS_MAX];
	struct tcb_sim_block block[TCB_SIM_BLOCKS_MAX];
	unsigned resident, registers, warps; /* in use */
	size_t shared;
	double quarter_free[TCB_SIM_QUARTERS], unit_free[TCB_SIM_QUARTERS][TCB_SIM_UNITS];
	/* When each warp's next instruction can go, by quarter: warp i is [i % TCB_SIM_QUARTERS][i / TCB_SIM_QUARTERS].
	 * NEVER where there is none; UNKNOWN: to be found out. */
	double go[TCB_SIM_QUARTERS][TCB_SIM_WARPS_MAX / TCB_SIM_QUARTERS];
	int quarter_best[TCB_SIM_QUARTERS]; /* its warp that can go first; -1: to be found again, -2: none */
	double shared_free, bulk_free, last_start;
	struct tcb_sim_channel memory, cache;
	struct tcb_sim_sampling sampling;
	uint64_t steps;
	int is_counting; /* the last call */
	struct tcb_sim_result *out;
	double *reg_room;
	uint64_t *value_room;
	uint8_t *known_room;
	uint64_t *value_copy; /* as large as VALUE_ROOM and KNOWN_ROOM */
	uint8_t *known_copy;
};

#endif
