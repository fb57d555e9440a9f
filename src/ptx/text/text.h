/* SPDX-License-Identifier: MIT
 *
 * PTX as text: in and out.  Printing is canonical, so print, parse, print gives
 * the same bytes again.
 *
 * The parser reads what nvcc writes.  Nested scopes are flattened: a register,
 * variable or label of an inner scope gets a number after its name when the
 * name is taken.  Debug sections are skipped; .loc is kept with the
 * instructions but not printed.
 */
#ifndef TCB_PTX_TEXT_H
#define TCB_PTX_TEXT_H

#include "base/util.h"
#include "ptx/ir/ir.h"

/* parser.c.  Errors read "NAME:LINE: what".  Control-flow graphs are computed and instructions numbered. */
enum tcb_status tcb_ptx_parse(const char *name, const char *text, size_t length, struct tcb_ptx_module **module_out,
			      struct tcb_error *err);

/* The same for text that others wrote, which may be newer than the parser.  An instruction that the opcode table does
 * not know is kept as opaque (see opcodes.h); what cannot be read costs only its function or declaration, which is then
 * in the module's list of unread parts.  Fails where no more can be read at all: no header, braces without end. */
enum tcb_status tcb_ptx_parse_foreign(const char *name, const char *text, size_t length,
				      struct tcb_ptx_module **module_out, struct tcb_error *err);

/* printer.c.  Check OUT->failed after the last one. */
void tcb_ptx_print(const struct tcb_ptx_module *module, struct tcb_str *out);
void tcb_ptx_print_function(const struct tcb_ptx_function *function, struct tcb_str *out);
/* The variables of the module in global and constant memory, with their initial values. */
void tcb_ptx_print_variables(const struct tcb_ptx_module *module, struct tcb_str *out);
/* One instruction without indentation and newline. */
void tcb_ptx_print_ins(const struct tcb_ptx_function *function, const struct tcb_ptx_ins *ins, struct tcb_str *out);
/* Only its mnemonic: "ld.global.v4.f32". */
void tcb_ptx_print_mnemonic(const struct tcb_ptx_ins *ins, struct tcb_str *out);

#endif
