/* SPDX-License-Identifier: MIT
 *
 * In: a finished kernel.  Out: nothing, when each access that must be aligned
 * is proved to be, and each address in shared memory comes from a symbol; else
 * the builder's error.
 *
 * What is known of a register are the bits that all its definitions agree on
 * (bits.c), so a pointer that a loop moves on by its stride keeps what both
 * have in common.
 */
#include "ptx/analyse/values/bits.h"
#include "ptx/build/build_parts.h"
#include "ptx/ir/opcodes.h"

#include <stdio.h>
#include <stdlib.h>

struct proof {
	struct tcb_ptx_build *b;
	struct tcb_ptx_function *function;
	struct tcb_ptx_bit_env bits;
	uint8_t *
		is_shared; /* by register: derived from the address of something in shared memory, or nobody can know */
	int changed;
};

/* --- where addresses in shared memory come from --- */

static int is_from_shared(const struct proof *proof, const struct tcb_ptx_operand *operand)
{
	if (operand->kind == TCB_PTX_O_REG)
		return proof->is_shared[operand->reg];
	if (operand->kind == TCB_PTX_O_SYMBOL)
		return operand->symbol->space == TCB_PTX_SHARED;
	for (uint32_t i = 0; operand->kind == TCB_PTX_O_VECTOR && i < operand->count; i++)
		if (is_from_shared(proof, &operand->items[i]))
			return 1;
	return 0;
}

/* A parameter is a number that the caller made up; what is loaded from memory may have been stored there. */
static int gives_shared(const struct proof *proof, const struct tcb_ptx_ins *ins)
{
	enum tcb_ptx_word space = tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE);

	if (tcb_ptx_has(ins, TCB_PTX_F_READ))
		return space != TCB_PTX_PARAM && space != TCB_PTX_PARAM_ENTRY;
	if (ins->op == TCB_PTX_OP_CVTA || ins->op == TCB_PTX_OP_MAPA)
		return 1;
	for (unsigned i = ins->result_count; i < ins->operand_count; i++)
		if (is_from_shared(proof, &ins->operands[i]))
			return 1;
	return 0;
}

static void mark(void *ctx, uint32_t *reg, int is_def)
{
	struct proof *proof = ctx;

	if (!is_def || proof->is_shared[*reg])
		return;
	proof->is_shared[*reg] = 1;
	proof->changed = 1;
}

static void follow_shared(struct proof *proof)
{
	do {
		proof->changed = 0;
		for (struct tcb_ptx_block *block = proof->function->first; block; block = block->next)
			for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
				if (ins->result_count && gives_shared(proof, ins))
					tcb_ptx_each_reg(ins, mark, proof);
	} while (proof->changed);
}

/* --- what accesses need --- */

/* A scalar is accepted where nothing speaks against it: its address is often a number that no one can follow. */
static int needs_proof(const struct tcb_ptx_ins *ins, const struct tcb_ptx_access *access)
{
	int is_plain = ins->op == TCB_PTX_OP_LD || ins->op == TCB_PTX_OP_LDU || ins->op == TCB_PTX_OP_ST ||
		       ins->op == TCB_PTX_OP_ATOM || ins->op == TCB_PTX_OP_RED;

	return !is_plain || tcb_ptx_vector_count(ins) > 1 || access->bytes > 8;
}

static int check_shared(struct proof *proof, const struct tcb_ptx_ins *ins, uint32_t base, enum tcb_ptx_word space)
{
	if (proof->is_shared[base] ||
	    (space != TCB_PTX_SHARED && space != TCB_PTX_SHARED_CTA && space != TCB_PTX_SHARED_CLUSTER))
		return 1;
	tcb_ptx_build_fail_ins(proof->b, ins,
			       "shared-symbol: shared memory is addressed through its symbol, not by a number");
	return 0;
}

static int check_access(struct proof *proof, const struct tcb_ptx_ins *ins, unsigned index)
{
	const struct tcb_ptx_operand *address = &ins->operands[index];
	struct tcb_ptx_access access;
	struct tcb_ptx_bits bits;
	uint64_t low, known;
	char text[64];

	if (address->kind != TCB_PTX_O_ADDRESS || address->reg == TCB_PTX_NO_REG ||
	    !tcb_ptx_access(ins, index, &access))
		return 1;
	if (!check_shared(proof, ins, address->reg, access.space))
		return 0;
	bits = tcb_ptx_bits_add(proof->bits.reg[address->reg], tcb_ptx_bits_constant(address->bits), 0);
	low = access.align > 1 && !(access.align & (access.align - 1)) ? access.align - 1u : 0;
	if ((bits.zeros & low) == low || (!(bits.ones & low) && !needs_proof(ins, &access)))
		return 1;
	known = ~(bits.zeros | bits.ones) | (low + 1);
	known &= -known; /* all bits below are known */
	snprintf(text, sizeof text, bits.ones & (known - 1) ? "a multiple of %u plus %u" : "a multiple of %u",
		 (unsigned)known, (unsigned)(bits.ones & (known - 1)));
	tcb_ptx_build_fail_ins(
		proof->b, ins,
		"alignment: the address must be a multiple of %u; all that is known is that it is %s: use "
		"narrower vectors, declare a larger alignment, or state what the builder cannot see",
		access.align, text);
	return 0;
}

static int check_all(struct proof *proof)
{
	for (struct tcb_ptx_block *block = proof->function->first; block; block = block->next)
		for (struct tcb_ptx_ins *ins = block->first; ins && block->order != UINT32_MAX; ins = ins->next)
			for (unsigned i = 0; i < ins->operand_count; i++)
				if (!check_access(proof, ins, i))
					return 0;
	return 1;
}

void tcb_ptx_build_prove(struct tcb_ptx_build *b)
{
	struct tcb_ptx_function *function = b->function;
	struct proof proof = { .b = b, .function = function, .is_shared = calloc(function->reg_count + 1u, 1) };

	if (!proof.is_shared) {
		tcb_ptx_build_nomem(b);
		return;
	}
	b->status = tcb_ptx_bits_all(function, NULL, &proof.bits, &b->error);
	if (b->status == TCB_OK) {
		follow_shared(&proof);
		check_all(&proof);
	}
	for (uint32_t i = 0; i < function->reg_count && b->status == TCB_OK; i++) {
		uint64_t unknown = ~proof.bits.reg[i].zeros | (uint64_t)1 << 31;

		if (!(proof.bits.reg[i].zeros & 1))
			continue;
		function->regs[i].align = (uint32_t)(unknown & -unknown);
	}
	free(proof.is_shared);
}
