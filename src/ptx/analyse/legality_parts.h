/* SPDX-License-Identifier: MIT
 *
 * Between the files of the rules of one instruction.  Nobody else includes this.
 */
#ifndef TCB_PTX_LEGALITY_PARTS_H
#define TCB_PTX_LEGALITY_PARTS_H

#include "ptx/analyse/legality.h"
#include "ptx/ir/opcodes.h"

struct tcb_ptx_check {
	const struct tcb_ptx_function *function;
	const struct tcb_ptx_ins *ins;
	struct tcb_ptx_finding *finding;
};

/* legality_parts.c: fills the finding.  Returns 0, so that a rule can end with it. */
int tcb_ptx_check_fail(const struct tcb_ptx_check *check, enum tcb_ptx_rule rule, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* legality_values.c: vectors, immediates and coordinates; 1 when they are legal. */
int tcb_ptx_check_values(const struct tcb_ptx_check *check);

static inline const char *tcb_ptx_check_op(const struct tcb_ptx_check *check)
{
	return tcb_ptx_op_text((enum tcb_ptx_op)check->ins->op);
}

#endif
