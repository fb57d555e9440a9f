/* SPDX-License-Identifier: MIT
 *
 * The values of a lane that control and addresses depend on.
 */
#ifndef TCB_PTX_SIMULATE_VALUE_H
#define TCB_PTX_SIMULATE_VALUE_H

#include "ptx/model/simulate_program.h"

/* Lane 0 of a warp, or the lane that TID names. */
struct tcb_sim_lane {
	uint64_t *value;
	uint8_t *known;
	uint32_t block[3]; /* ctaid */
	uint32_t tid;
};
/* A shuffle that gives every lane lane 0's value.  What kernels spread so is the number of the warp, told to the
 * assembler: each lane's own value is taken for it. */
int tcb_sim_is_spread(const struct tcb_ptx_ins *ins);
void tcb_sim_compute(const struct tcb_sim_program *program, const struct tcb_sim_op *op, struct tcb_sim_lane *lane);
/* 1 when the guard lets it run; UNKNOWN for a guard that is unknown. */
int tcb_sim_guarded(const struct tcb_sim_program *program, const struct tcb_sim_op *op, const struct tcb_sim_lane *lane,
		    int unknown);
/* The whole number in OP's operand INDEX; UNKNOWN if it is unknown. */
uint64_t tcb_sim_number(const struct tcb_sim_program *program, const struct tcb_sim_op *op, unsigned index,
			const struct tcb_sim_lane *lane, uint64_t unknown);
/* The address in OP's operand INDEX; 0 if it is unknown. */
int tcb_sim_address(const struct tcb_sim_program *program, const struct tcb_sim_op *op, unsigned index,
		    const struct tcb_sim_lane *lane, uint64_t *out);

#endif
