/* SPDX-License-Identifier: MIT
 *
 * Variables in local memory as registers.  Code that was not optimised keeps the
 * counters of its loops there, and the pointers that it works with; analyses
 * follow values in registers alone.
 */
#ifndef TCB_PTX_SLOTS_H
#define TCB_PTX_SLOTS_H

#include "ptx/analyse/analyses.h"

/* Makes loads and stores of each place of local memory whose address goes nowhere else moves of a register of its own.
 * Computes the same, and is only to be analysed afterwards, not to be printed.  Needs tcb_ptx_cfg and tcb_ptx_number
 * (which it repeats).  Supposed is that an address that goes elsewhere leads to nothing below it. */
enum tcb_status tcb_ptx_local_slots(struct tcb_ptx_function *function, struct tcb_error *err);

#endif
