/* SPDX-License-Identifier: MIT
 *
 * From a launch of a PTX kernel to a kernel as the simulation reads it.
 */
#ifndef TCB_PTX_SIMULATE_DECODE_H
#define TCB_PTX_SIMULATE_DECODE_H

#include "ptx/model/simulate_program.h"

enum tcb_status tcb_sim_decode(const struct tcb_ptx_machine *machine, const struct tcb_ptx_timed_launch *launch,
			       struct tcb_sim_program *out, struct tcb_error *err);

#endif
