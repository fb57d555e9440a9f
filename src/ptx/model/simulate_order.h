/* SPDX-License-Identifier: MIT
 *
 * Instructions of a basic block in the order that an assembler would prefer.
 */
#ifndef TCB_PTX_SIMULATE_ORDER_H
#define TCB_PTX_SIMULATE_ORDER_H

#include "ptx/model/simulate_program.h"

/* Within a basic block, from FIRST for COUNT ops. */
enum tcb_status tcb_sim_order(struct tcb_sim_program *program, uint32_t first, uint32_t count, struct tcb_error *err);

#endif
