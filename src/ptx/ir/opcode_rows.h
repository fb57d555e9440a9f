/* SPDX-License-Identifier: MIT
 *
 * Between opcodes_core.c and opcodes_tensor.c, which hold the rows as text, opcode_forms.c, which decodes
 * them, and opcode_resolve.c, which matches.  Nobody else includes this.
 */
#ifndef TCB_PTX_OPCODE_ROWS_H
#define TCB_PTX_OPCODE_ROWS_H

#include "ptx/ir/opcodes.h"

struct tcb_ptx_row {
	enum tcb_ptx_op op;
	const char *modifiers, *operands;
	unsigned version;
	const char *targets;
};

extern const struct tcb_ptx_row tcb_ptx_rows[], tcb_ptx_tensor_rows[];
extern const unsigned tcb_ptx_row_count, tcb_ptx_tensor_row_count;

/* The forms of OP are first_form(OP) to first_form(OP + 1) - 1. */
unsigned tcb_ptx_first_form(unsigned op);
/* The opcode whose name is the longest prefix of TEXT, or -1; *USED is its length. */
int tcb_ptx_op_find(const char *text, size_t length, size_t *used);

#endif
