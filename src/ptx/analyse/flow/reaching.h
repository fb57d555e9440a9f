/* SPDX-License-Identifier: MIT
 *
 * Which write of a register a read sees: one instruction, or a meeting point
 * of several (a phi at the start of a block), as static single assignment
 * would have it, without changing the function.
 */
#ifndef TCB_PTX_REACHING_H
#define TCB_PTX_REACHING_H

#include "ptx/analyse/analyses.h"

enum tcb_ptx_write_kind { TCB_PTX_WRITE_NONE, TCB_PTX_WRITE_INS, TCB_PTX_WRITE_PHI };

struct tcb_ptx_write {
	enum tcb_ptx_write_kind kind;
	struct tcb_ptx_ins *ins;     /* INS.  When it is guarded, what was there before shows through. */
	struct tcb_ptx_block *block; /* PHI: the writes at the ends of its predecessors meet here */
};

struct tcb_ptx_reaching;

/* Needs tcb_ptx_cfg, tcb_ptx_number and dominators, all of which must outlive it. */
enum tcb_status tcb_ptx_reaching_create(struct tcb_ptx_function *function, const struct tcb_ptx_dominators *d,
					struct tcb_ptx_reaching **out, struct tcb_error *err);
void tcb_ptx_reaching_destroy(struct tcb_ptx_reaching *reaching);
/* What a read of REG in INS sees. */
struct tcb_ptx_write tcb_ptx_reaching_at(struct tcb_ptx_reaching *reaching, const struct tcb_ptx_ins *ins,
					 uint32_t reg);
/* What REG holds at the end of BLOCK. */
struct tcb_ptx_write tcb_ptx_reaching_end(struct tcb_ptx_reaching *reaching, struct tcb_ptx_block *block, uint32_t reg);

#endif
