/* SPDX-License-Identifier: MIT
 *
 * In: a finished kernel.  Out: nothing, when each access that must be aligned
 * is proved to be, and each address in shared memory comes from a symbol; else
 * the builder's error.
 *
 * What is known of a register is "rest modulo 2^log", for all its definitions
 * together: the greatest fixed point over the instructions, so a pointer that a
 * loop moves on by its stride keeps what both have in common.  log never grows,
 * so a register changes 32 times at most, and two or three rounds are usual.
 * All arithmetic wraps at a power of two and is therefore exact modulo 2^log.
 */
#include "ptx/build_parts.h"
#include "ptx/opcodes.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	LOG_MAX = 31,    /* nothing needs more; products of residues fit 64 bits */
	WINDOW_LOG = 16, /* of the windows that cvta maps; they are larger */
	UNSEEN = 0xff
};

struct residue {
	uint32_t rest;
	uint8_t log;       /* UNSEEN: no definition met yet */
	uint8_t is_shared; /* comes from the address of something in shared memory */
};

struct proof {
	struct tcb_ptx_build *b;
	struct tcb_ptx_function *function;
	struct residue *regs;
	int changed;
};

/* --- arithmetic --- */

static struct residue residue(uint64_t rest, unsigned log)
{
	log = log < LOG_MAX ? log : LOG_MAX;
	return (struct residue){ (uint32_t)(rest & ((1ull << log) - 1)), (uint8_t)log, 0 };
}

static const struct residue nothing = { 0, 0, 0 };

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* How many low bits are known to be 0. */
static unsigned zeros(struct residue x)
{
	return x.rest ? (unsigned)__builtin_ctz(x.rest) : x.log;
}

static struct residue cut(struct residue x, unsigned bits)
{
	return residue(x.rest, least(x.log, bits));
}

static struct residue join(struct residue a, struct residue b)
{
	unsigned log = least(a.log, b.log);

	if (a.log == UNSEEN)
		return b;
	if (b.log == UNSEEN)
		return a;
	if (a.rest != b.rest)
		log = least(log, (unsigned)__builtin_ctz(a.rest ^ b.rest));
	return residue(a.rest, log);
}

static struct residue add(struct residue a, struct residue b)
{
	return residue((uint64_t)a.rest + b.rest, least(a.log, b.log));
}

static struct residue negative(struct residue a)
{
	return residue(-(uint64_t)a.rest, a.log);
}

/* (ra + 2^la x)(rb + 2^lb y) = ra rb + 2^lb ra y + 2^la rb x + 2^(la+lb) x y */
static struct residue product(struct residue a, struct residue b)
{
	unsigned log = (unsigned)a.log + b.log;

	if (a.rest)
		log = least(log, b.log + zeros(a));
	if (b.rest)
		log = least(log, a.log + zeros(b));
	return residue((uint64_t)a.rest * b.rest, log);
}

static struct residue shifted_left(struct residue a, const struct tcb_ptx_operand *by, unsigned bits)
{
	if (by->kind != TCB_PTX_O_INT)
		return residue(0, zeros(a));
	if ((uint32_t)by->bits >= bits)
		return residue(0, LOG_MAX);
	return residue(by->bits > LOG_MAX ? 0 : (uint64_t)a.rest << by->bits, a.log + (unsigned)by->bits);
}

static struct residue shifted_right(struct residue a, uint64_t by)
{
	return by >= a.log ? nothing : residue(a.rest >> by, a.log - (unsigned)by);
}

/* lop3: a bit of the result is known where no unknown bit of a source can change it. */
static struct residue lookup(struct residue a, struct residue b, struct residue c, unsigned table)
{
	const struct residue x[3] = { a, b, c };
	uint32_t may[2] = { 0, 0 };

	for (unsigned row = 0; row < 8; row++) {
		uint32_t here = UINT32_MAX;

		for (unsigned i = 0; i < 3; i++) {
			uint32_t unknown = UINT32_MAX << x[i].log, rest = x[i].rest;

			here &= unknown | (row >> (2 - i) & 1 ? rest : ~rest);
		}
		may[table >> row & 1] |= here;
	}
	return residue(may[1], (unsigned)__builtin_ctz((may[0] & may[1]) | 1u << LOG_MAX));
}

/* The exponent of a constant that is a power of two, else -1. */
static int power(const struct tcb_ptx_operand *operand)
{
	uint32_t value = (uint32_t)operand->bits;

	return operand->kind == TCB_PTX_O_INT && value && operand->bits == value && !(value & (value - 1))
		       ? __builtin_ctz(value)
		       : -1;
}

/* --- what instructions make of it --- */

static struct residue value_of(const struct proof *proof, const struct tcb_ptx_operand *operand)
{
	struct residue x = nothing;

	switch ((enum tcb_ptx_operand_kind)operand->kind) {
	case TCB_PTX_O_REG:
		return proof->regs[operand->reg];
	case TCB_PTX_O_INT:
		return residue(operand->bits, LOG_MAX);
	case TCB_PTX_O_SYMBOL:
		x = residue(operand->bits, (unsigned)__builtin_ctz(tcb_ptx_symbol_align(operand->symbol)));
		x.is_shared = operand->symbol->space == TCB_PTX_SHARED;
		return x;
	case TCB_PTX_O_VECTOR: /* packed: the first is the lowest */
		if (operand->items[0].kind == TCB_PTX_O_REG) {
			uint32_t reg = operand->items[0].reg;

			return cut(proof->regs[reg], tcb_ptx_type_bits(proof->function->regs[reg].type));
		}
		return x;
	default:
		return x;
	}
}

static struct residue converted(const struct tcb_ptx_ins *ins, struct residue x)
{
	enum tcb_ptx_word from = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE2);

	if (tcb_ptx_mod(ins, TCB_PTX_SLOT_SAT) || tcb_ptx_type_class(from) >= TCB_PTX_CLASS_FLOAT)
		return nothing;
	return cut(x, tcb_ptx_type_bits(from));
}

/* Of integers and bits; X are the sources. */
static struct residue computed(const struct tcb_ptx_ins *ins, const struct residue *x, unsigned bits)
{
	const struct tcb_ptx_operand *second = &ins->operands[least(2, ins->operand_count - 1u)];
	int is_low = tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE) != TCB_PTX_HI, log;

	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_MOV:
	case TCB_PTX_OP_SHFL:
		return x[0];
	case TCB_PTX_OP_CVTA:
	case TCB_PTX_OP_MAPA:
		return cut(x[0], WINDOW_LOG);
	case TCB_PTX_OP_CVT:
		return converted(ins, x[0]);
	case TCB_PTX_OP_ADD:
		return add(x[0], x[1]);
	case TCB_PTX_OP_SUB:
		return add(x[0], negative(x[1]));
	case TCB_PTX_OP_NEG:
		return negative(x[0]);
	case TCB_PTX_OP_NOT:
		return residue(~x[0].rest, x[0].log);
	case TCB_PTX_OP_MUL:
		return is_low ? product(x[0], x[1]) : nothing;
	case TCB_PTX_OP_MAD:
		return is_low ? add(product(x[0], x[1]), x[2]) : nothing;
	case TCB_PTX_OP_MUL24:
		return is_low ? product(cut(x[0], 24), cut(x[1], 24)) : nothing;
	case TCB_PTX_OP_MAD24:
		return is_low ? add(product(cut(x[0], 24), cut(x[1], 24)), x[2]) : nothing;
	case TCB_PTX_OP_SHL:
		return shifted_left(x[0], second, bits);
	case TCB_PTX_OP_SHR:
		return second->kind == TCB_PTX_O_INT ? shifted_right(x[0], second->bits) : nothing;
	case TCB_PTX_OP_DIV:
		log = power(second);
		return log >= 0 && tcb_ptx_type_class(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE)) == TCB_PTX_CLASS_UINT
			       ? shifted_right(x[0], (unsigned)log)
			       : nothing;
	case TCB_PTX_OP_REM: /* x - y trunc(x / y) */
		return second->kind == TCB_PTX_O_INT ? cut(x[0], zeros(x[1])) : nothing;
	case TCB_PTX_OP_AND:
		return lookup(x[0], x[1], nothing, 0xc0);
	case TCB_PTX_OP_OR:
		return lookup(x[0], x[1], nothing, 0xfc);
	case TCB_PTX_OP_XOR:
		return lookup(x[0], x[1], nothing, 0x3c);
	case TCB_PTX_OP_LOP3:
		return lookup(x[0], x[1], x[2], (unsigned)ins->operands[4].bits);
	case TCB_PTX_OP_MIN:
	case TCB_PTX_OP_MAX:
	case TCB_PTX_OP_SELP:
	case TCB_PTX_OP_SLCT:
		return join(x[0], x[1]);
	default:
		return nothing;
	}
}

/* Whether the value is an address in shared memory, or nobody can know. */
static int is_shared_address(const struct tcb_ptx_ins *ins, const struct residue *x, unsigned count)
{
	enum tcb_ptx_word space = tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE);

	if (tcb_ptx_has(ins, TCB_PTX_F_READ))
		return space != TCB_PTX_PARAM && space != TCB_PTX_PARAM_ENTRY;
	if (ins->op == TCB_PTX_OP_CVTA || ins->op == TCB_PTX_OP_MAPA)
		return 1;
	for (unsigned i = 0; i < count; i++)
		if (x[i].is_shared)
			return 1;
	return 0;
}

static void define(struct proof *proof, const struct tcb_ptx_operand *result, struct residue x)
{
	const struct tcb_ptx_reg *reg;
	struct residue *known, more;
	unsigned log;

	if (result->kind != TCB_PTX_O_REG)
		return;
	reg = &proof->function->regs[result->reg];
	known = &proof->regs[result->reg];
	log = reg->align ? (unsigned)__builtin_ctz(reg->align) : 0;
	more = cut(x, tcb_ptx_type_bits(reg->type));
	if (zeros(more) < log) /* assumed */
		more = residue(0, log);
	more = join(*known, more);
	more.is_shared = (uint8_t)(known->is_shared | x.is_shared);
	if (more.log != known->log || more.rest != known->rest || more.is_shared != known->is_shared)
		proof->changed = 1;
	*known = more;
}

static void pass_over(struct proof *proof, const struct tcb_ptx_ins *ins)
{
	const struct tcb_ptx_operand *result = &ins->operands[0];
	enum tcb_ptx_class class = tcb_ptx_type_class(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE));
	struct residue x[3] = { nothing, nothing, nothing }, y = nothing;
	unsigned count = least(3, (unsigned)ins->operand_count - ins->result_count);

	for (unsigned i = 0; i < count; i++) {
		x[i] = value_of(proof, &ins->operands[ins->result_count + i]);
		if (x[i].log == UNSEEN)
			return; /* when it is seen */
	}
	if (result->kind == TCB_PTX_O_REG || result->kind == TCB_PTX_O_PAIR) {
		const struct tcb_ptx_operand *first = result->kind == TCB_PTX_O_PAIR ? result->items : result;

		if (class >= TCB_PTX_CLASS_BITS && class <= TCB_PTX_CLASS_SINT && first->kind == TCB_PTX_O_REG)
			y = computed(ins, x, tcb_ptx_type_bits(proof->function->regs[first->reg].type));
		y.is_shared = (uint8_t)is_shared_address(ins, x, count);
		define(proof, first, y);
	}
	y = nothing;
	y.is_shared = 1;
	for (uint32_t i = result->kind == TCB_PTX_O_PAIR; result->items && i < result->count; i++)
		define(proof, &result->items[i], y);
}

/* --- what accesses need --- */

/* A scalar is accepted where nothing speaks against it: its address is often a number that no one can follow. */
static int needs_proof(const struct tcb_ptx_ins *ins, const struct tcb_ptx_access *access)
{
	int is_plain = ins->op == TCB_PTX_OP_LD || ins->op == TCB_PTX_OP_LDU || ins->op == TCB_PTX_OP_ST ||
		       ins->op == TCB_PTX_OP_ATOM || ins->op == TCB_PTX_OP_RED;

	return !is_plain || tcb_ptx_vector_count(ins) > 1 || access->bytes > 8;
}

static int check_shared(struct proof *proof, const struct tcb_ptx_ins *ins, const struct residue *base,
			const struct tcb_ptx_access *access)
{
	if (base->is_shared || (access->space != TCB_PTX_SHARED && access->space != TCB_PTX_SHARED_CTA &&
				access->space != TCB_PTX_SHARED_CLUSTER))
		return 1;
	tcb_ptx_build_fail_ins(proof->b, ins,
			       "shared-symbol: shared memory is addressed through its symbol, not by a number");
	return 0;
}

static int check_access(struct proof *proof, const struct tcb_ptx_ins *ins, unsigned index)
{
	const struct tcb_ptx_operand *address = &ins->operands[index];
	struct tcb_ptx_access access;
	struct residue base;
	char known[64];
	unsigned log;

	if (address->kind != TCB_PTX_O_ADDRESS || address->reg == TCB_PTX_NO_REG ||
	    !tcb_ptx_access(ins, index, &access))
		return 1;
	base = proof->regs[address->reg];
	if (base.log == UNSEEN)
		return 1; /* never defined: the verifier says so */
	if (!check_shared(proof, ins, &base, &access))
		return 0;
	base = add(base, residue(address->bits, LOG_MAX));
	log = access.align > 1 && !(access.align & (access.align - 1)) ? (unsigned)__builtin_ctz(access.align) : 0;
	if (zeros(base) >= log || (!base.rest && !needs_proof(ins, &access)))
		return 1;
	if (base.rest)
		snprintf(known, sizeof known, "a multiple of %u plus %u", 1u << base.log, base.rest);
	else
		snprintf(known, sizeof known, "a multiple of %u", 1u << base.log);
	tcb_ptx_build_fail_ins(
		proof->b, ins,
		"alignment: the address must be a multiple of %u; all that is known is that it is %s: use "
		"narrower vectors, declare a larger alignment, or state what the builder cannot see",
		access.align, known);
	return 0;
}

static int check_all(struct proof *proof)
{
	for (struct tcb_ptx_block *block = proof->function->first; block; block = block->next)
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			for (unsigned i = 0; i < ins->operand_count; i++)
				if (!check_access(proof, ins, i))
					return 0;
	return 1;
}

void tcb_ptx_build_prove(struct tcb_ptx_build *b)
{
	struct tcb_ptx_function *function = b->function;
	struct proof proof = { .b = b, .function = function };

	proof.regs = malloc((function->reg_count + 1u) * sizeof *proof.regs);
	if (!proof.regs) {
		tcb_ptx_build_nomem(b);
		return;
	}
	for (uint32_t i = 0; i < function->reg_count; i++)
		proof.regs[i] = (struct residue){ 0, UNSEEN, 0 };
	do {
		proof.changed = 0;
		for (struct tcb_ptx_block *block = function->first; block; block = block->next)
			for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
				if (ins->result_count)
					pass_over(&proof, ins);
	} while (proof.changed);
	if (check_all(&proof))
		for (uint32_t i = 0; i < function->reg_count; i++)
			if (proof.regs[i].log != UNSEEN && zeros(proof.regs[i]))
				function->regs[i].align = 1u << zeros(proof.regs[i]);
	free(proof.regs);
}
