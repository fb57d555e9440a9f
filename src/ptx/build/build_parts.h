/* SPDX-License-Identifier: MIT
 *
 * Between the files of the builder.  Nobody else includes this.
 */
#ifndef TCB_PTX_BUILD_PARTS_H
#define TCB_PTX_BUILD_PARTS_H

#include "ptx/build/build.h"

/* build_state.c.  The first error of a builder sticks: "KERNEL: what". */
void tcb_ptx_build_fail(struct tcb_ptx_build *b, enum tcb_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same about INS, which is shown; FORMAT begins with the rule. */
void tcb_ptx_build_fail_ins(struct tcb_ptx_build *b, const struct tcb_ptx_ins *ins, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void tcb_ptx_build_nomem(struct tcb_ptx_build *b);
/* Whether instructions may be appended: no error yet and a kernel is open (else that is the error). */
int tcb_ptx_build_ready(struct tcb_ptx_build *b);
void tcb_ptx_build_need(struct tcb_ptx_build *b, unsigned version);
/* Whether ALIGN may be the alignment of what is called NAME; if not, that is the error. */
int tcb_ptx_build_check_align(struct tcb_ptx_build *b, const char *name, unsigned align);
/* A block after the current one, in the innermost loop; NULL after an error. */
struct tcb_ptx_block *tcb_ptx_build_block(struct tcb_ptx_build *b, const char *label);

/* build_operand.c: a new register. */
struct tcb_ptx_operand tcb_ptx_build_reg(struct tcb_ptx_build *b, enum tcb_ptx_word type);

/* build_ins.c: appends MNEMONIC with all its operands, guarded as the builder says; NULL after an error. */
struct tcb_ptx_ins *tcb_ptx_build_append(struct tcb_ptx_build *b, const char *mnemonic, unsigned count,
					 const struct tcb_ptx_operand *operands);

/* build_control.c: removes empty blocks, and labels that nobody jumps to. */
void tcb_ptx_build_tidy(struct tcb_ptx_build *b);

/* build_align.c: proves the alignment of each access of the kernel that needs it, or fails. */
void tcb_ptx_build_prove(struct tcb_ptx_build *b);

#endif
