/* SPDX-License-Identifier: MIT
 *
 * A kernel as the simulation reads it: its instructions in the order in which
 * they are issued, with what each costs and waits for; and what a block of it
 * takes of a multiprocessor.  simulate_decode.h makes it.
 */
#ifndef TCB_PTX_SIMULATE_PROGRAM_H
#define TCB_PTX_SIMULATE_PROGRAM_H

#include "ptx/model/simulate.h"

enum {
	TCB_SIM_WARP = 32,
	TCB_SIM_BLOCKS_MAX = 32, /* of a multiprocessor */
	TCB_SIM_LOOPS_MAX = 32   /* that are followed, and one more */
};

enum {
	TCB_SIM_SOURCES = 12, /* registers that an instruction waits for; more are ignored */
	TCB_SIM_RESULTS = 8,
	TCB_SIM_TYPES = 6, /* operands of an instruction whose value is computed */
	TCB_SIM_NO_VALUE = UINT16_MAX
};

enum tcb_sim_kind {
	TCB_SIM_PLAIN,
	TCB_SIM_SHARED, /* load, store, atomic of shared memory */
	TCB_SIM_GLOBAL, /* load, store, atomic of global memory */
	TCB_SIM_ASYNC,
	TCB_SIM_COMMIT,
	TCB_SIM_WAIT_GROUP,
	TCB_SIM_WAIT_ALL,
	TCB_SIM_BULK,
	TCB_SIM_ARRIVE,
	TCB_SIM_MBARRIER_WAIT,
	TCB_SIM_BARRIER,
	TCB_SIM_BARRIER_ARRIVE, /* and goes on */
	TCB_SIM_LAUNCH_DEPENDENTS,
	TCB_SIM_DEPENDENT_WAIT,
	TCB_SIM_BRANCH,
	TCB_SIM_EXIT
};

/*
 * Pipes of a quarter.  FMA: whichever of the heavy and the light one is free first; integer products, dp4a and halves
 * need the heavy one.  A machine whose f32 rate is half a warp per cycle has no light one.
 */
enum tcb_sim_unit {
	TCB_SIM_NO_UNIT,
	TCB_SIM_ALU,
	TCB_SIM_HEAVY,
	TCB_SIM_LIGHT,
	TCB_SIM_FMA,
	TCB_SIM_XU,
	TCB_SIM_MATRIX,
	TCB_SIM_UNITS
};

struct tcb_sim_op {
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
	uint16_t loop;   /* of a branch backwards: which one, from 1; 0: none, or one too many */
	uint8_t address; /* operand that holds the address of what is read, or an mbarrier's; of a barrier: its number
			  */
	uint8_t type[TCB_SIM_TYPES]; /* enum tcb_ptx_word of each operand; of scouted ones */
	uint32_t source[TCB_SIM_SOURCES], result[TCB_SIM_RESULTS];
};

struct tcb_sim_program {
	const struct tcb_ptx_timed_launch *launch;
	struct tcb_ptx_function *function;
	struct tcb_sim_op *ops; /* in the module's arena */
	uint32_t op_count, reg_count;
	uint32_t *next_followed; /* by op: the first from there on whose values or branch decide where control goes */
	uint16_t *value_of;      /* by register: its place among the values, or NO_VALUE */
	uint32_t value_count;
	size_t static_shared;
	unsigned registers, pressure, register_limit; /* the latter two: 0 where the launch tells registers */
};

/* What a block takes of a multiprocessor. */
unsigned tcb_sim_warps(const struct tcb_ptx_timed_launch *launch);
unsigned tcb_sim_registers(const struct tcb_sim_program *program);
size_t tcb_sim_shared(const struct tcb_ptx_machine *machine, const struct tcb_sim_program *program);
/* Blocks that a multiprocessor holds when there are no others. */
unsigned tcb_sim_most_resident(const struct tcb_ptx_machine *machine, const struct tcb_sim_program *program);
/* Blocks of a launch: all, and the most that one multiprocessor has of them. */
uint64_t tcb_sim_blocks(const struct tcb_ptx_timed_launch *launch);
unsigned tcb_sim_share(const struct tcb_ptx_machine *machine, const struct tcb_ptx_timed_launch *launch);
/* Where in the grid the block with number NUMBER among those of one multiprocessor is. */
void tcb_sim_block_index(const struct tcb_ptx_machine *machine, const struct tcb_ptx_timed_launch *launch,
			 unsigned number, uint32_t out[3]);

#endif
