/* SPDX-License-Identifier: MIT
 *
 * What the accesses of a kernel touch.
 */
#ifndef TCB_PTX_SIMULATE_SCOUT_H
#define TCB_PTX_SIMULATE_SCOUT_H

#include "ptx/model/simulate_program.h"

/* The wavefronts, sectors and bytes of accesses, by the addresses of the first warp. */
enum tcb_status tcb_sim_scout(struct tcb_sim_program *program, struct tcb_error *err);

#endif
