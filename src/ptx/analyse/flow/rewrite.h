/* SPDX-License-Identifier: MIT
 *
 * What the passes share: which instructions may go or be merged, values of
 * registers that are written once, instructions made and changed in place, and
 * the dominator tree as an order.
 *
 * Registers are no SSA names.  A register with one unguarded definition that
 * dominates a use behaves like one: between the last execution of a definition
 * D and a use that D dominates, no other definition that dominates D can run
 * again without D running again too.  Everything that the passes carry from one
 * block to another rests on that; all else stays within a block.
 */
#ifndef TCB_PTX_REWRITE_H
#define TCB_PTX_REWRITE_H

#include "ptx/analyse/analyses.h"
#include "ptx/ir/opcodes.h"

/* --- rewrite.c: instructions --- */

struct tcb_ptx_operand tcb_ptx_operand_reg(uint32_t reg);
struct tcb_ptx_operand tcb_ptx_operand_int(uint64_t bits);

/* Does something besides writing its results: stays even when nobody reads those. */
int tcb_ptx_has_effect(const struct tcb_ptx_ins *ins);
/* Its results depend on its operands alone; true also of loads from memory that nobody writes while the kernel runs. */
int tcb_ptx_is_pure(const struct tcb_ptx_ins *ins);
/* A weak load: pure as long as no memory is written. */
int tcb_ptx_is_weak_load(const struct tcb_ptx_ins *ins);
/* The one register that INS writes, or TCB_PTX_NO_REG when it writes none, several, or one that it also reads. */
uint32_t tcb_ptx_result_reg(const struct tcb_ptx_ins *ins);
/* REG is written by one instruction, without a guard. */
static inline int tcb_ptx_is_value(const struct tcb_ptx_function *function, uint32_t reg)
{
	const struct tcb_ptx_reg *known = &function->regs[reg];

	return known->defs == 1 && known->def && known->def->guard == TCB_PTX_NO_REG;
}

/* MNEMONIC with OPERANDS, results first, under MODEL's guard and at its place in the source; unlinked.  NULL with ERR
 * set when there is no such instruction or no memory. */
struct tcb_ptx_ins *tcb_ptx_ins_like(struct tcb_ptx_function *function, const struct tcb_ptx_ins *model,
				     const char *mnemonic, unsigned count, const struct tcb_ptx_operand *operands,
				     struct tcb_error *err);
/* INS becomes that, where it stands. */
enum tcb_status tcb_ptx_ins_become(struct tcb_ptx_function *function, struct tcb_ptx_ins *ins, const char *mnemonic,
				   unsigned count, const struct tcb_ptx_operand *operands, struct tcb_error *err);
/* INS becomes "mov.TYPE its result, SOURCE"; TYPE is the type of its result. */
enum tcb_status tcb_ptx_ins_become_mov(struct tcb_ptx_function *function, struct tcb_ptx_ins *ins,
				       struct tcb_ptx_operand source, struct tcb_error *err);

/* --- rewrite.c: dominance --- */

struct tcb_ptx_scope {
	struct tcb_ptx_dominators dominators;
	struct tcb_ptx_block **walk; /* reachable blocks: each after its dominator, subtrees of the tree together */
	uint32_t count;
};
/* Computes the control-flow graph, the registers' counts, dominators and the order. */
enum tcb_status tcb_ptx_scope(struct tcb_ptx_function *function, struct tcb_ptx_scope *out, struct tcb_error *err);
/* REG is written once, by an instruction, guarded or not, that comes before INS on every path to it. */
int tcb_ptx_is_settled(const struct tcb_ptx_function *function, const struct tcb_ptx_scope *scope, uint32_t reg,
		       const struct tcb_ptx_ins *ins);

#endif
