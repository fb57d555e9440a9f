/* SPDX-License-Identifier: MIT
 *
 * In: an address.  Out: the power of two that divides it.
 *
 * The address is multiplied out into numbers times what no sum, product with a
 * number or shift makes: registers of other kinds and special registers.  All of
 * it is modulo 2^32, so widening of either sign changes nothing.
 */
#include "ptx/analyse/values/linear.h"

#include "ptx/ir/opcodes.h"

enum { TERMS_MAX = 24, FUEL = 512, DEPTH_MAX = 64, BITS_MAX = 31 };

struct term {
	int is_special;
	uint32_t what; /* a register, or enum tcb_ptx_special */
	uint32_t factor;
};

struct sum {
	const struct tcb_ptx_function *function;
	struct term terms[TERMS_MAX];
	uint32_t count, number;
	unsigned symbols; /* trailing zeros of those that were added */
	const struct tcb_ptx_symbol *variable;
	unsigned variable_count; /* once each; more if with another factor */
	int fuel, failed;
};

static void add_term(struct sum *sum, int is_special, uint32_t what, uint32_t factor)
{
	for (uint32_t i = 0; i < sum->count; i++)
		if (sum->terms[i].is_special == is_special && sum->terms[i].what == what) {
			sum->terms[i].factor += factor;
			return;
		}
	if (sum->count == TERMS_MAX)
		sum->failed = 1;
	else
		sum->terms[sum->count++] = (struct term){ is_special, what, factor };
}

static unsigned trailing(uint64_t x)
{
	return x & ((UINT64_C(1) << BITS_MAX) - 1) ? (unsigned)__builtin_ctzll(x) : BITS_MAX;
}

static unsigned log_of_align(const struct tcb_ptx_symbol *symbol)
{
	return trailing(tcb_ptx_symbol_align(symbol));
}

static int is_wide(const struct sum *sum, uint32_t reg)
{
	return tcb_ptx_type_bits(sum->function->regs[reg].type) >= 32;
}

static void add_reg(struct sum *sum, uint32_t reg, uint32_t factor, unsigned depth);

static void add_operand(struct sum *sum, const struct tcb_ptx_operand *operand, uint32_t factor, unsigned depth)
{
	unsigned log;

	switch ((enum tcb_ptx_operand_kind)operand->kind) {
	case TCB_PTX_O_REG:
		add_reg(sum, operand->reg, factor, depth);
		break;
	case TCB_PTX_O_INT:
		sum->number += (uint32_t)operand->bits * factor;
		break;
	case TCB_PTX_O_SPECIAL:
		add_term(sum, 1, operand->special, factor);
		break;
	case TCB_PTX_O_SYMBOL:
		sum->number += (uint32_t)operand->bits * factor;
		log = log_of_align(operand->symbol) + trailing(factor);
		sum->symbols = log < sum->symbols ? log : sum->symbols;
		sum->variable = operand->symbol;
		sum->variable_count += factor == 1 ? 1 : 2;
		break;
	default:
		sum->failed = 1;
		break;
	}
}

/* The number that OPERAND is; 0 when it is none. */
static int is_number(const struct tcb_ptx_operand *operand, uint32_t *out)
{
	*out = (uint32_t)operand->bits;
	return operand->kind == TCB_PTX_O_INT;
}

/* Whether INS works on whole numbers of at least 32 bits. */
static int is_integer(const struct tcb_ptx_ins *ins)
{
	enum tcb_ptx_word type = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE);
	enum tcb_ptx_class class = tcb_ptx_type_class(type);

	return (class == TCB_PTX_CLASS_UINT || class == TCB_PTX_CLASS_SINT || class == TCB_PTX_CLASS_BITS) &&
	       tcb_ptx_type_bits(type) >= 32 && !tcb_ptx_mod(ins, TCB_PTX_SLOT_SAT);
}

/* Adds FACTOR times what INS computes, if that is multiplied out. */
static int add_result(struct sum *sum, const struct tcb_ptx_ins *ins, uint32_t factor, unsigned depth)
{
	const struct tcb_ptx_operand *o = ins->operands;
	enum tcb_ptx_word mode = tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE);
	uint32_t number;

	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_MOV:
	case TCB_PTX_OP_CVTA:
		if (o[1].kind == TCB_PTX_O_VECTOR || o[0].kind == TCB_PTX_O_VECTOR)
			return 0;
		add_operand(sum, &o[1], factor, depth);
		return 1;
	case TCB_PTX_OP_ADD:
	case TCB_PTX_OP_SUB:
		add_operand(sum, &o[1], factor, depth);
		add_operand(sum, &o[2], ins->op == TCB_PTX_OP_SUB ? 0 - factor : factor, depth);
		return 1;
	case TCB_PTX_OP_SHL:
		if (!is_number(&o[2], &number) || number > BITS_MAX)
			return 0;
		add_operand(sum, &o[1], factor << number, depth);
		return 1;
	case TCB_PTX_OP_MUL:
	case TCB_PTX_OP_MAD:
		if (mode == TCB_PTX_HI || (!is_number(&o[2], &number) && !is_number(&o[1], &number)))
			return 0;
		add_operand(sum, o[2].kind == TCB_PTX_O_INT ? &o[1] : &o[2], factor * number, depth);
		if (ins->op == TCB_PTX_OP_MAD)
			add_operand(sum, &o[3], factor, depth);
		return 1;
	case TCB_PTX_OP_CVT:
		if (tcb_ptx_type_bits(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE2)) < 32 ||
		    tcb_ptx_type_class(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE2)) == TCB_PTX_CLASS_FLOAT)
			return 0;
		add_operand(sum, &o[1], factor, depth);
		return 1;
	default:
		return 0;
	}
}

static void add_reg(struct sum *sum, uint32_t reg, uint32_t factor, unsigned depth)
{
	const struct tcb_ptx_reg *known = &sum->function->regs[reg];
	const struct tcb_ptx_ins *def = known->defs == 1 ? known->def : NULL;

	if (!def || depth == DEPTH_MAX || sum->fuel-- <= 0 || def->guard != TCB_PTX_NO_REG || !is_wide(sum, reg) ||
	    !is_integer(def) || !add_result(sum, def, factor, depth + 1))
		add_term(sum, 0, reg, factor);
}

static void add_address(struct sum *sum, const struct tcb_ptx_operand *operand)
{
	sum->number = (uint32_t)operand->bits;
	if (operand->reg != TCB_PTX_NO_REG) {
		add_reg(sum, operand->reg, 1, 0);
	} else if (operand->symbol) {
		sum->symbols = log_of_align(operand->symbol);
		sum->variable = operand->symbol;
		sum->variable_count = 1;
	}
}

unsigned tcb_ptx_linear_trailing(const struct tcb_ptx_function *function, struct tcb_ptx_bit_env *env,
				 const struct tcb_ptx_operand *operand)
{
	struct sum sum = { .function = function, .symbols = BITS_MAX, .fuel = FUEL };
	unsigned log, least;

	add_address(&sum, operand);
	least = trailing(sum.number);
	least = sum.symbols < least ? sum.symbols : least;
	for (uint32_t i = 0; i < sum.count; i++) {
		log = trailing(sum.terms[i].factor);
		if (!sum.terms[i].is_special)
			log += tcb_ptx_bits_trailing(env->reg[sum.terms[i].what]);
		least = log < least ? log : least;
	}
	return sum.failed ? 0 : least;
}

int tcb_ptx_linear_of(const struct tcb_ptx_function *function, const struct tcb_ptx_operand *operand,
		      struct tcb_ptx_linear *out)
{
	struct sum sum = { .function = function, .symbols = BITS_MAX, .fuel = FUEL };
	const struct term *found = NULL;

	add_address(&sum, operand);
	if (sum.failed || sum.variable_count != 1)
		return 0;
	for (uint32_t i = 0; i < sum.count; i++) {
		if (!sum.terms[i].factor)
			continue;
		if (found || sum.terms[i].is_special)
			return 0;
		found = &sum.terms[i];
	}
	*out = (struct tcb_ptx_linear){ sum.variable, sum.number, found ? found->what : TCB_PTX_NO_REG,
					found ? found->factor : 0 };
	return 1;
}
