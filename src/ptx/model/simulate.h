/* SPDX-License-Identifier: MIT
 *
 * How long launches of kernels take on a GPU that is not there: one
 * multiprocessor is simulated, cycle by cycle where something happens, with all
 * blocks that it holds at a time.
 *
 * Each warp issues in order, an instruction when its sources are ready (the
 * instructions of a basic block were put in the order an assembler would prefer
 * before), to four schedulers with pipes of limited rate; shared memory takes
 * the predicted wavefronts; global memory is a queue at this multiprocessor's
 * share of the bandwidth, behind a latency that grows with what is in flight.  Branches, trip counts and the
 * barriers and arrays that instructions name follow from the values of lane 0,
 * which are computed where control depends on them; loaded data is unknown but for
 * arrays whose contents the caller tells.  A dependent launch starts as soon as the one before it allows and there is
 * room, so that its start overlaps with the other's end.
 *
 * Long loops and long rows of blocks are sampled: once their turns take the same
 * time, turns are left out and their time is added (simulate_sample.h).
 *
 * What is left out: instruction caches, unequal multiprocessors, the lanes
 * besides lane 0, TLBs, refresh.  Scores order candidates; they are no promise.
 */
#ifndef TCB_PTX_SIMULATE_H
#define TCB_PTX_SIMULATE_H

#include "ptx/ir/ir.h"

/* The GPU.  Rates are of the whole device unless a name says otherwise. */
struct tcb_ptx_machine {
	unsigned capability, sm_count;
	double clock_hz, memory_bytes_s, cache_bytes_s; /* device memory, L2 */
	size_t cache_bytes;
	/* what a multiprocessor holds */
	unsigned threads, blocks, registers;
	size_t shared_bytes, shared_reserved; /* the latter of each block */
	/* Seconds that no program can do anything about. */
	double memory_latency, cache_latency; /* of an idle one */
	/* What a load SHARE of its bandwidth adds to its latency, over SHARE / (1 - SHARE). */
	double memory_spread, cache_spread;
	double launch_gap;      /* from a kernel's last instruction to the first of the next that waits for it */
	double dependent_wait;  /* the same for a waiting griddepcontrol.wait */
	double dependent_start; /* from the last griddepcontrol.launch_dependents to the first block that it lets start
				 */
	double block_start;     /* from one block's start on a multiprocessor to the next one's */
	double bulk_latency, bulk_issue; /* of a bulk copy: beyond the memory's latency; from one to the next */
	/* Registers of a thread where a launch does not say: base + scale * pressure; scale 0:
	 * tcb_ptx_register_estimate. */
	double register_base, register_scale;
	int whole; /* simulate every turn of every loop, however long that takes: what sampling is held against */
	uint64_t until_ns; /* by tcb_clock_ns(): a simulation that is not at its end then gives up; 0: none does */
	double behind;     /* share of the queue of device memory that what hits the L2 waits for too, 0 to 1 */
};

/* The constants of a machine that are no specification, as measured on an H200; FILL leaves what is set. */
void tcb_ptx_machine_defaults(struct tcb_ptx_machine *machine);

/* Where an address points to, by its top bits: the caller passes TCB_PTX_ARRAY(i) for array i. */
enum { TCB_PTX_ARRAYS_MAX = 16 };
#define TCB_PTX_ARRAY(i) ((uint64_t)((i) + 1) << 48)

/* What an array holds; DATA NULL: unknown. */
struct tcb_ptx_contents {
	const void *data;
	size_t bytes;
};

struct tcb_ptx_timed_launch {
	struct tcb_ptx_function *function;
	uint32_t grid[3], block[3], dynamic_shared;
	unsigned registers; /* a thread; 0: estimated */
	int is_dependent;
	const void *params; /* laid out as the entry's parameters */
	size_t param_bytes;
	const struct tcb_ptx_contents *contents; /* of all TCB_PTX_ARRAYS_MAX arrays; NULL: unknown */
};

/* Launches that are called again and again in this order; arrays by TCB_PTX_ARRAY. */
struct tcb_ptx_timed {
	const struct tcb_ptx_timed_launch *launches;
	size_t count;
};

struct tcb_ptx_timing {
	double seconds; /* of a call among others */
	/* Of the largest launch: registers of a thread, those live at once and those that its directives allow (0 where
	 * the launch told the first); blocks on a multiprocessor. */
	unsigned registers, pressure, register_limit, resident_blocks;
	double extrapolated;   /* share of all calls' time that was not simulated but taken to go on as what was */
	uint64_t instructions; /* issued by warps of the multiprocessor in a call */
	uint64_t wavefronts, wavefronts_ideal, sectors, sectors_ideal;
	uint64_t memory_bytes; /* this multiprocessor's share of what came from device memory */
	/* Where the time of a call goes at least: the largest is the bound. */
	double issue_seconds, shared_seconds, memory_seconds;
};

/* OUT[i]: the time where the arrays of STREAMED[i] (bit j: array j) come from device memory, and the others from the
 * L2. TCB_E_UNSUPPORTED with the reason for kernels that are not understood: control that depends on loaded data in a
 * loop, or blocks that do not fit on a multiprocessor. */
enum tcb_status tcb_ptx_time(const struct tcb_ptx_machine *machine, const struct tcb_ptx_timed *what,
			     const uint32_t *streamed, size_t count, struct tcb_ptx_timing *out, struct tcb_error *err);

#endif
