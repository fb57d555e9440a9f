/* SPDX-License-Identifier: MIT
 *
 * Private to the pipeline: a kernel as the simulation reads it.
 * pipeline_decode.c makes it, pipeline_order.c puts its blocks in order,
 * pipeline_scout.c finds what its accesses touch, pipeline_value.c computes the
 * values that control depends on, pipeline_run.c runs it, pipeline.c has the
 * rest.
 */
#ifndef TCB_PTX_PIPELINE_PRIVATE_H
#define TCB_PTX_PIPELINE_PRIVATE_H

#include "ptx/pipeline.h"

enum {
	TCB_PIPE_SOURCES = 12, /* registers that an instruction waits for; more are ignored */
	TCB_PIPE_RESULTS = 8,
	TCB_PIPE_TYPES = 6, /* operands of an instruction whose value is computed */
	TCB_PIPE_NO_VALUE = UINT16_MAX
};

enum tcb_pipe_kind {
	TCB_PIPE_PLAIN,
	TCB_PIPE_SHARED, /* load, store, atomic of shared memory */
	TCB_PIPE_GLOBAL, /* load, store, atomic of global memory */
	TCB_PIPE_ASYNC,
	TCB_PIPE_COMMIT,
	TCB_PIPE_WAIT_GROUP,
	TCB_PIPE_WAIT_ALL,
	TCB_PIPE_BULK,
	TCB_PIPE_ARRIVE,
	TCB_PIPE_MBARRIER_WAIT,
	TCB_PIPE_BARRIER,
	TCB_PIPE_LAUNCH_DEPENDENTS,
	TCB_PIPE_DEPENDENT_WAIT,
	TCB_PIPE_BRANCH,
	TCB_PIPE_EXIT
};

/*
 * Pipes of a quarter.  FMA: whichever of the heavy and the light one is free first; integer products, dp4a and halves
 * need the heavy one.  A machine whose f32 rate is half a warp a cycle has no light one.
 */
enum tcb_pipe_unit {
	TCB_PIPE_NO_UNIT,
	TCB_PIPE_ALU,
	TCB_PIPE_HEAVY,
	TCB_PIPE_LIGHT,
	TCB_PIPE_FMA,
	TCB_PIPE_XU,
	TCB_PIPE_MATRIX,
	TCB_PIPE_UNITS
};

struct tcb_pipe_op {
	struct tcb_ptx_ins *ins;
	uint8_t kind, unit;
	uint8_t issues;  /* instructions that the assembler will make of it; 0: none */
	uint8_t busy;    /* cycles that the unit takes for a warp's */
	uint8_t is_load; /* results come from memory */
	uint8_t guard_negated;
	uint8_t is_valued;  /* control depends on its result: it is computed */
	uint8_t is_scouted; /* control or an address does */
	uint8_t is_access;  /* of shared or global memory at addresses of the lanes */
	uint8_t source_count, result_count;
	uint16_t latency;
	uint16_t wavefronts; /* of a warp; global: sectors */
	uint16_t wavefronts_ideal;
	uint32_t bytes;  /* different ones that a warp asks for */
	uint32_t guard;  /* register, or TCB_PTX_NO_REG */
	uint32_t target; /* of a branch: index of an op */
	uint8_t address; /* operand that holds the address of what is read; of a barrier: that of the mbarrier */
	uint8_t type[TCB_PIPE_TYPES]; /* enum tcb_ptx_word of each operand; of scouted ones */
	uint32_t source[TCB_PIPE_SOURCES], result[TCB_PIPE_RESULTS];
};

struct tcb_pipe_program {
	const struct tcb_ptx_timed_launch *launch;
	struct tcb_ptx_function *function;
	struct tcb_pipe_op *ops; /* in the module's arena */
	uint32_t op_count, reg_count;
	uint16_t *value_of; /* by register: its place among the values, or NO_VALUE */
	uint32_t value_count;
	size_t static_shared;
	unsigned registers, pressure, register_limit; /* the latter two: 0 where the launch tells registers */
};

enum { TCB_PIPE_LAUNCHES = 4 };

/* A call of launches on a machine; times in cycles. */
struct tcb_pipe_setup {
	const struct tcb_ptx_machine *machine;
	struct tcb_pipe_program program[TCB_PIPE_LAUNCHES];
	unsigned count, largest; /* largest: the one with the most blocks */
	uint32_t reg_most, value_most;
	double memory_rate, cache_rate; /* bytes a cycle of this multiprocessor */
	double memory_latency, cache_latency, memory_spread, cache_spread, launch_gap, dependent_wait, dependent_start,
		block_start, bulk_latency, bulk_issue, behind;
};
struct tcb_pipe_result {
	double first_end, last_end;                        /* of the first and the last call */
	double issue_cycles, shared_cycles, memory_cycles; /* of the last call */
	struct tcb_ptx_timing counts;                      /* of it; the rest of it is not set */
};

/* pipeline.c: what a block of a kernel takes of a multiprocessor, and the most that one has of a launch. */
unsigned tcb_pipe_warps(const struct tcb_ptx_timed_launch *launch);
unsigned tcb_pipe_registers(const struct tcb_pipe_program *program);
size_t tcb_pipe_shared(const struct tcb_ptx_machine *machine, const struct tcb_pipe_program *program);
unsigned tcb_pipe_share(const struct tcb_ptx_machine *machine, const struct tcb_ptx_timed_launch *launch);
/* pipeline_run.c: CALLS one after another; bits of STREAMED as for tcb_ptx_time. */
enum tcb_status tcb_pipe_run(const struct tcb_pipe_setup *setup, uint32_t streamed, unsigned calls,
			     struct tcb_pipe_result *out, struct tcb_error *err);
/* pipeline_decode.c */
enum tcb_status tcb_pipe_decode(const struct tcb_ptx_machine *machine, const struct tcb_ptx_timed_launch *launch,
				struct tcb_pipe_program *out, struct tcb_error *err);
/* pipeline_order.c: within basic blocks, from FIRST for COUNT ops. */
enum tcb_status tcb_pipe_order(struct tcb_pipe_program *program, uint32_t first, uint32_t count, struct tcb_error *err);

/* pipeline_scout.c: the wavefronts, sectors and bytes of accesses, by the addresses of the first warp. */
enum tcb_status tcb_pipe_scout(struct tcb_pipe_program *program, struct tcb_error *err);

/* pipeline_value.c: lane 0 of a warp. */
struct tcb_pipe_lane {
	uint64_t *value;
	uint8_t *known;
	uint32_t block[3]; /* ctaid */
	uint32_t tid;
};
void tcb_pipe_compute(const struct tcb_pipe_program *program, const struct tcb_pipe_op *op, struct tcb_pipe_lane *lane);
/* 1 when the guard lets it run; UNKNOWN for a guard that is not known. */
int tcb_pipe_guarded(const struct tcb_pipe_program *program, const struct tcb_pipe_op *op,
		     const struct tcb_pipe_lane *lane, int unknown);
/* The address in OP's operand INDEX; 0 if it is not known. */
int tcb_pipe_address(const struct tcb_pipe_program *program, const struct tcb_pipe_op *op, unsigned index,
		     const struct tcb_pipe_lane *lane, uint64_t *out);

#endif
