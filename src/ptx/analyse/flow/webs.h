/* SPDX-License-Identifier: MIT
 *
 * Registers that hold unrelated values, split.  A register of PTX may be
 * written many times; analyses that keep one fact for each register then mix
 * what is never mixed, as the index of a thread and the counter of a loop that
 * an assembler put into the same register.
 */
#ifndef TCB_PTX_WEBS_H
#define TCB_PTX_WEBS_H

#include "ptx/analyse/analyses.h"

/* Gives each set of writes of a register that meet in some read a register of its own, and reads that see one write
 * alone a copy of it.  Computes the same, under the same names: the new registers print as the old ones, so FUNCTION
 * is only to be analysed afterwards, not to be printed.
 * Needs tcb_ptx_cfg, tcb_ptx_number (which it repeats) and dominators; no two operands may share their items. */
enum tcb_status tcb_ptx_split_webs(struct tcb_ptx_function *function, const struct tcb_ptx_dominators *d,
				   struct tcb_error *err);

#endif
