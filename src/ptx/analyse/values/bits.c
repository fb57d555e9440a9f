/* SPDX-License-Identifier: MIT
 *
 * In: a function.  Out: for each register the bits that have one value in all
 * threads at all times.
 *
 * The least solution from below: a register starts without a value, each
 * definition adds what it can produce, and bits are only ever forgotten.  A
 * register that keeps changing (a loop's counter) forgets all bits above the
 * first that changed, since that is where a carry ends up; so a few rounds
 * over the text suffice.
 */
#include "ptx/analyse/values/bits.h"
#include "ptx/ir/opcodes.h"

#include <stdlib.h>
#include <string.h>

enum {
	WINDOW_LOG = 16, /* generic windows of shared and local memory lie on multiples of far more */
	PATIENCE = 3,    /* changes of a register before it is widened */
	DEPTH_MAX = 64   /* of asking for one thread's values */
};

static const struct tcb_ptx_bits unknown = { 0, 0 };

static struct tcb_ptx_bits join(struct tcb_ptx_bits a, struct tcb_ptx_bits b)
{
	return (struct tcb_ptx_bits){ a.zeros & b.zeros, a.ones & b.ones };
}

static int is_unseen(struct tcb_ptx_bits bits)
{
	return (bits.zeros & bits.ones) != 0;
}

static struct tcb_ptx_bits sign_extend(struct tcb_ptx_bits bits, unsigned width)
{
	uint64_t high = ~tcb_ptx_low_bits(width), sign = (uint64_t)1 << (width - 1);

	if (width >= 64)
		return bits;
	return (struct tcb_ptx_bits){ (bits.zeros & ~high) | (bits.zeros & sign ? high : 0),
				      (bits.ones & ~high) | (bits.ones & sign ? high : 0) };
}

/* --- arithmetic --- */

/* A + B + CARRY.  A sum's bit is known where both summands' are and the carry into it is: the sums of the least and of
 * the greatest values that the operands can have agree with the operands about it. */
struct tcb_ptx_bits tcb_ptx_bits_add(struct tcb_ptx_bits a, struct tcb_ptx_bits b, int carry)
{
	uint64_t most = ~a.zeros + ~b.zeros + (carry != 0), least = a.ones + b.ones + (carry != 0);
	uint64_t carry_zero = ~(most ^ ~a.zeros ^ ~b.zeros), carry_one = least ^ a.ones ^ b.ones;
	uint64_t known = (a.zeros | a.ones) & (b.zeros | b.ones) & (carry_zero | carry_one);

	return (struct tcb_ptx_bits){ known & ~least, known & least };
}

static struct tcb_ptx_bits complement(struct tcb_ptx_bits a)
{
	return (struct tcb_ptx_bits){ a.ones, a.zeros };
}

static unsigned known_low(struct tcb_ptx_bits a)
{
	uint64_t open = ~(a.zeros | a.ones);

	return open ? (unsigned)__builtin_ctzll(open) : 64;
}

static unsigned bit_length(uint64_t value)
{
	return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* (A0 + 2^i x)(B0 + 2^j y) = A0 B0 + multiples of 2^(i + trailing zeros of B) and 2^(j + those of A). */
static struct tcb_ptx_bits multiply(struct tcb_ptx_bits a, struct tcb_ptx_bits b)
{
	unsigned i = known_low(a), j = known_low(b);
	unsigned p = i + tcb_ptx_bits_trailing(b), q = j + tcb_ptx_bits_trailing(a);
	unsigned low = p < q ? p : q, length = bit_length(~a.zeros) + bit_length(~b.zeros);
	uint64_t product, mask;

	low = low < 64 ? low : 64;
	product = (a.ones & tcb_ptx_low_bits(i)) * (b.ones & tcb_ptx_low_bits(j));
	mask = tcb_ptx_low_bits(low);
	return (struct tcb_ptx_bits){ (~product & mask) | (length < 64 ? ~tcb_ptx_low_bits(length) : 0),
				      product & mask };
}

static struct tcb_ptx_bits shift_left(struct tcb_ptx_bits a, unsigned by, unsigned width)
{
	if (by >= width)
		return tcb_ptx_bits_constant(0);
	return tcb_ptx_bits_cut((struct tcb_ptx_bits){ a.zeros << by | tcb_ptx_low_bits(by), a.ones << by }, width);
}

static struct tcb_ptx_bits shift_right(struct tcb_ptx_bits a, unsigned by, unsigned width, int is_signed)
{
	if (is_signed) {
		a = sign_extend(a, width);
		by = by < width ? by : width - 1;
		return tcb_ptx_bits_cut(
			(struct tcb_ptx_bits){ (uint64_t)((int64_t)a.zeros >> by), (uint64_t)((int64_t)a.ones >> by) },
			width);
	}
	if (by >= width)
		return tcb_ptx_bits_constant(0);
	return (struct tcb_ptx_bits){ a.zeros >> by | ~(~(uint64_t)0 >> by), a.ones >> by };
}

/* The bits where the truth table TABLE gives one answer for all that the inputs may be. */
static struct tcb_ptx_bits lookup(struct tcb_ptx_bits a, struct tcb_ptx_bits b, struct tcb_ptx_bits c, unsigned table)
{
	struct tcb_ptx_bits out = { ~(uint64_t)0, ~(uint64_t)0 };

	for (unsigned row = 0; row < 8; row++) {
		uint64_t possible =
			~(row & 4 ? a.zeros : a.ones) & ~(row & 2 ? b.zeros : b.ones) & ~(row & 1 ? c.zeros : c.ones);

		if (table >> row & 1)
			out.zeros &= ~possible;
		else
			out.ones &= ~possible;
	}
	return out;
}

static struct tcb_ptx_bits permute(struct tcb_ptx_bits a, struct tcb_ptx_bits b, uint64_t selector)
{
	uint64_t zeros = (a.zeros & UINT32_MAX) | b.zeros << 32, ones = (a.ones & UINT32_MAX) | b.ones << 32;
	struct tcb_ptx_bits out = unknown;

	for (unsigned i = 0; i < 4; i++) {
		unsigned nibble = selector >> 4 * i & 15, from = 8 * (nibble & 7);
		uint64_t z = zeros >> from & 255, o = ones >> from & 255;

		if (nibble & 8) { /* the sign, eight times */
			z = z & 128 ? 255 : 0;
			o = o & 128 ? 255 : 0;
		}
		out.zeros |= z << 8 * i;
		out.ones |= o << 8 * i;
	}
	return tcb_ptx_bits_cut(out, 32);
}

static int64_t as_signed(uint64_t value, unsigned width)
{
	return (int64_t)(value << (64 - width)) >> (64 - width);
}

/* What HOW says when the first is strictly less (LESS), or strictly greater; -1: neither. */
static int decides_less(enum tcb_ptx_word how, int less)
{
	switch ((int)how) {
	case TCB_PTX_LT:
	case TCB_PTX_LO:
	case TCB_PTX_LE:
	case TCB_PTX_LS:
		return less;
	case TCB_PTX_GT:
	case TCB_PTX_HI:
	case TCB_PTX_GE:
	case TCB_PTX_HS:
		return !less;
	case TCB_PTX_EQ:
		return 0;
	case TCB_PTX_NE:
		return 1;
	}
	return -1;
}

/* What follows from ranges, from different bits, or from constants; else unknown. */
static struct tcb_ptx_bits compare(enum tcb_ptx_word how, struct tcb_ptx_bits a, struct tcb_ptx_bits b, unsigned width,
				   int is_signed)
{
	uint64_t x = a.ones, y = b.ones;
	int less, equal;

	if ((how == TCB_PTX_EQ || how == TCB_PTX_NE) && ((a.ones & b.zeros) | (a.zeros & b.ones)))
		return tcb_ptx_bits_constant(how == TCB_PTX_NE);
	if (!is_signed || (a.zeros & b.zeros) >> (width - 1) & 1) { /* by the least and the greatest that they can be */
		if (~a.zeros < b.ones && decides_less(how, 1) >= 0)
			return tcb_ptx_bits_constant((uint64_t)decides_less(how, 1));
		if (a.ones > ~b.zeros && decides_less(how, 0) >= 0)
			return tcb_ptx_bits_constant((uint64_t)decides_less(how, 0));
	}
	if (!tcb_ptx_bits_is_constant(a) || !tcb_ptx_bits_is_constant(b))
		return tcb_ptx_bits_cut(unknown, 1);
	less = is_signed ? as_signed(x, width) < as_signed(y, width) : x < y;
	equal = x == y;
	switch ((int)how) {
	case TCB_PTX_EQ:
		return tcb_ptx_bits_constant((uint64_t)equal);
	case TCB_PTX_NE:
		return tcb_ptx_bits_constant((uint64_t)!equal);
	case TCB_PTX_LT:
	case TCB_PTX_LO:
		return tcb_ptx_bits_constant((uint64_t)less);
	case TCB_PTX_LE:
	case TCB_PTX_LS:
		return tcb_ptx_bits_constant((uint64_t)(less | equal));
	case TCB_PTX_GT:
	case TCB_PTX_HI:
		return tcb_ptx_bits_constant((uint64_t) !(less | equal));
	case TCB_PTX_GE:
	case TCB_PTX_HS:
		return tcb_ptx_bits_constant((uint64_t)!less);
	}
	return tcb_ptx_bits_cut(unknown, 1);
}

static struct tcb_ptx_bits divide(struct tcb_ptx_bits a, struct tcb_ptx_bits b, unsigned width, int is_signed,
				  int remainder)
{
	uint64_t y = b.ones;

	/* signed ones only where they are the same as unsigned ones */
	if (!tcb_ptx_bits_is_constant(b) || y == 0 ||
	    (is_signed && (!(a.zeros >> (width - 1) & 1) || y >> (width - 1) & 1)))
		return tcb_ptx_bits_cut(unknown, width);
	if (tcb_ptx_bits_is_constant(a))
		return tcb_ptx_bits_constant(remainder ? a.ones % y : a.ones / y);
	if ((y & (y - 1)) == 0)
		return remainder ? lookup(a, tcb_ptx_bits_constant(y - 1), unknown, 0xc0)
				 : shift_right(a, (unsigned)__builtin_ctzll(y), width, 0);
	return tcb_ptx_bits_below(remainder ? y - 1 : ~a.zeros / y);
}

/* --- instructions --- */

static struct tcb_ptx_bits symbol_bits(const struct tcb_ptx_symbol *symbol)
{
	return (struct tcb_ptx_bits){ tcb_ptx_low_bits((unsigned)__builtin_ctz(tcb_ptx_symbol_align(symbol))), 0 };
}

struct tcb_ptx_bits tcb_ptx_bits_read(struct tcb_ptx_bit_env *env, const struct tcb_ptx_operand *operand,
				      unsigned width)
{
	struct tcb_ptx_bits bits = unknown;

	switch ((enum tcb_ptx_operand_kind)operand->kind) {
	case TCB_PTX_O_REG:
		bits = env->tid ? tcb_ptx_bits_eval(env, operand->reg) : env->reg[operand->reg];
		if (operand->negated)
			bits = (struct tcb_ptx_bits){ (bits.ones & 1) | (bits.zeros & ~(uint64_t)1),
						      (bits.zeros & 1) | (bits.ones & ~(uint64_t)1) };
		break;
	case TCB_PTX_O_INT:
	case TCB_PTX_O_F32:
		bits = tcb_ptx_bits_constant(operand->bits);
		break;
	case TCB_PTX_O_F64:
		bits = width == 64 ? tcb_ptx_bits_constant(operand->bits) : unknown;
		break;
	case TCB_PTX_O_SPECIAL:
		bits = tcb_ptx_bits_special(env->function, &env->shape, env->tid,
					    (enum tcb_ptx_special)operand->special);
		break;
	case TCB_PTX_O_SYMBOL:
		if (!operand->symbol->function)
			bits = tcb_ptx_bits_add(symbol_bits(operand->symbol), tcb_ptx_bits_constant(operand->bits), 0);
		break;
	default:
		break;
	}
	return tcb_ptx_bits_cut(bits, width);
}

static unsigned type_bits(const struct tcb_ptx_ins *ins, enum tcb_ptx_slot slot)
{
	unsigned bits = tcb_ptx_type_bits(tcb_ptx_mod(ins, slot));

	return bits && bits <= 64 ? bits : 64;
}

static struct tcb_ptx_bits move(struct tcb_ptx_bit_env *env, const struct tcb_ptx_ins *ins, unsigned item)
{
	const struct tcb_ptx_operand *to = &ins->operands[0], *from = &ins->operands[1];
	unsigned width = tcb_ptx_type_bits(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE));
	struct tcb_ptx_bits out = unknown;

	if (width > 64)
		return unknown;
	if (to->kind == TCB_PTX_O_VECTOR && from->kind != TCB_PTX_O_VECTOR) {
		unsigned part = width / to->count;

		return tcb_ptx_bits_cut(shift_right(tcb_ptx_bits_read(env, from, width), part * item, width, 0), part);
	}
	if (from->kind != TCB_PTX_O_VECTOR)
		return tcb_ptx_bits_read(env, from, width);
	if (to->kind == TCB_PTX_O_VECTOR)
		return unknown;
	for (unsigned i = 0; i < from->count; i++) {
		unsigned part = width / from->count;
		struct tcb_ptx_bits bits = tcb_ptx_bits_read(env, &from->items[i], part);

		out.zeros |= (bits.zeros & tcb_ptx_low_bits(part)) << part * i;
		out.ones |= bits.ones << part * i;
	}
	return tcb_ptx_bits_cut(out, width);
}

static struct tcb_ptx_bits convert(struct tcb_ptx_bit_env *env, const struct tcb_ptx_ins *ins)
{
	enum tcb_ptx_class to = tcb_ptx_type_class(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE)),
			   from = tcb_ptx_type_class(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE2));
	unsigned width = type_bits(ins, TCB_PTX_SLOT_TYPE), source = type_bits(ins, TCB_PTX_SLOT_TYPE2);
	struct tcb_ptx_bits bits;

	if ((to != TCB_PTX_CLASS_UINT && to != TCB_PTX_CLASS_SINT) ||
	    (from != TCB_PTX_CLASS_UINT && from != TCB_PTX_CLASS_SINT) || ins->mod[TCB_PTX_SLOT_SAT])
		return unknown;
	bits = tcb_ptx_bits_read(env, &ins->operands[1], source);
	if (from == TCB_PTX_CLASS_SINT)
		bits = sign_extend(bits, source);
	bits = tcb_ptx_bits_cut(bits, width);
	return to == TCB_PTX_CLASS_SINT ? sign_extend(bits, width) : bits; /* a register may be wider */
}

static struct tcb_ptx_bits funnel(struct tcb_ptx_bit_env *env, const struct tcb_ptx_ins *ins)
{
	struct tcb_ptx_bits low = tcb_ptx_bits_read(env, &ins->operands[1], 32),
			    high = tcb_ptx_bits_read(env, &ins->operands[2], 32),
			    by = tcb_ptx_bits_read(env, &ins->operands[3], 32);
	struct tcb_ptx_bits both = { (low.zeros & UINT32_MAX) | high.zeros << 32, low.ones | high.ones << 32 };
	unsigned amount = (unsigned)by.ones;

	if (!tcb_ptx_bits_is_constant(by))
		return unknown;
	if (tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE) == TCB_PTX_WRAP)
		amount &= 31;
	amount = amount < 32 ? amount : 32;
	if (tcb_ptx_mod(ins, TCB_PTX_SLOT_DIRECTION) == TCB_PTX_L)
		amount = 32 - amount;
	return tcb_ptx_bits_cut(shift_right(both, amount, 64, 0), 32);
}

/* Multiplications and what adds to them. */
static struct tcb_ptx_bits products(struct tcb_ptx_bit_env *env, const struct tcb_ptx_ins *ins, unsigned width,
				    int is_signed)
{
	struct tcb_ptx_bits a = tcb_ptx_bits_read(env, &ins->operands[1], width),
			    b = tcb_ptx_bits_read(env, &ins->operands[2], width);
	unsigned result = width;

	switch ((int)tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE)) {
	case TCB_PTX_WIDE:
		result = 2 * width;
		if (is_signed) {
			a = sign_extend(a, width);
			b = sign_extend(b, width);
		}
		break;
	case TCB_PTX_LO:
		break;
	default:
		return tcb_ptx_bits_cut(unknown, width);
	}
	a = tcb_ptx_bits_cut(multiply(a, b), result);
	if (ins->op == TCB_PTX_OP_MAD)
		a = tcb_ptx_bits_cut(tcb_ptx_bits_add(a, tcb_ptx_bits_read(env, &ins->operands[3], result), 0), result);
	return a;
}

static struct tcb_ptx_bits field(struct tcb_ptx_bit_env *env, const struct tcb_ptx_ins *ins, unsigned width,
				 int is_signed)
{
	unsigned at = ins->op == TCB_PTX_OP_BFI ? 3 : 2;
	struct tcb_ptx_bits start = tcb_ptx_bits_read(env, &ins->operands[at], 8),
			    length = tcb_ptx_bits_read(env, &ins->operands[at + 1], 8);
	struct tcb_ptx_bits a = tcb_ptx_bits_read(env, &ins->operands[1], width), b;
	uint64_t mask;

	if (!tcb_ptx_bits_is_constant(start) || !tcb_ptx_bits_is_constant(length) || start.ones >= width)
		return tcb_ptx_bits_cut(unknown, width);
	if (ins->op == TCB_PTX_OP_BFE)
		return is_signed ? tcb_ptx_bits_cut(unknown, width)
				 : tcb_ptx_bits_cut(shift_right(a, (unsigned)start.ones, width, 0),
						    (unsigned)(length.ones < width ? length.ones : width));
	b = tcb_ptx_bits_read(env, &ins->operands[2], width);
	mask = tcb_ptx_low_bits((unsigned)length.ones) << start.ones;
	a = shift_left(a, (unsigned)start.ones, width);
	return tcb_ptx_bits_cut(
		(struct tcb_ptx_bits){ (a.zeros & mask) | (b.zeros & ~mask), (a.ones & mask) | (b.ones & ~mask) },
		width);
}

static struct tcb_ptx_bits load(struct tcb_ptx_bit_env *env, const struct tcb_ptx_ins *ins, uint32_t reg)
{
	enum tcb_ptx_word type = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE);
	struct tcb_ptx_bits bits = unknown;

	if (tcb_ptx_type_class(type) == TCB_PTX_CLASS_UINT || tcb_ptx_type_class(type) == TCB_PTX_CLASS_BITS)
		bits = tcb_ptx_bits_cut(unknown, tcb_ptx_type_bits(type));
	if (env->assumed)
		bits.zeros |= tcb_ptx_low_bits(env->assumed[reg]);
	return bits;
}

static struct tcb_ptx_bits logic(struct tcb_ptx_bit_env *env, const struct tcb_ptx_ins *ins, unsigned width,
				 unsigned table)
{
	struct tcb_ptx_bits a = tcb_ptx_bits_read(env, &ins->operands[1], width),
			    b = tcb_ptx_bits_read(env, &ins->operands[2], width), c = unknown;

	if (ins->op == TCB_PTX_OP_LOP3) {
		if (ins->operands[0].kind != TCB_PTX_O_REG)
			return tcb_ptx_bits_cut(unknown, width);
		c = tcb_ptx_bits_read(env, &ins->operands[3], width);
	}
	return tcb_ptx_bits_cut(lookup(a, b, c, table), width);
}

#define A tcb_ptx_bits_read(env, &o[1], width)
#define B tcb_ptx_bits_read(env, &o[2], width)

/* Arithmetic and logic on integers of WIDTH bits. */
static struct tcb_ptx_bits integer_bits(struct tcb_ptx_bit_env *env, const struct tcb_ptx_ins *ins, unsigned width,
					int is_signed)
{
	const struct tcb_ptx_operand *o = ins->operands;
	struct tcb_ptx_bits b;

	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_ADD:
		return tcb_ptx_bits_cut(tcb_ptx_bits_add(A, B, 0), width);
	case TCB_PTX_OP_SUB:
		return tcb_ptx_bits_cut(tcb_ptx_bits_add(A, complement(B), 1), width);
	case TCB_PTX_OP_NEG:
		return tcb_ptx_bits_cut(tcb_ptx_bits_add(tcb_ptx_bits_constant(0), complement(A), 1), width);
	case TCB_PTX_OP_ABS: /* trailing zeros stay */
		return (struct tcb_ptx_bits){ tcb_ptx_low_bits(tcb_ptx_bits_trailing(A)), 0 };
	case TCB_PTX_OP_MUL:
	case TCB_PTX_OP_MAD:
		return products(env, ins, width, is_signed);
	case TCB_PTX_OP_DIV:
	case TCB_PTX_OP_REM:
		return divide(A, B, width, is_signed, ins->op == TCB_PTX_OP_REM);
	case TCB_PTX_OP_MIN:
	case TCB_PTX_OP_MAX:
		return join(A, B);
	case TCB_PTX_OP_AND:
		return logic(env, ins, width, 0xc0);
	case TCB_PTX_OP_OR:
		return logic(env, ins, width, 0xfc);
	case TCB_PTX_OP_XOR:
		return logic(env, ins, width, 0x3c);
	case TCB_PTX_OP_LOP3:
		return o[0].kind == TCB_PTX_O_REG ? logic(env, ins, width, (unsigned)o[4].bits)
						  : tcb_ptx_bits_cut(unknown, width);
	case TCB_PTX_OP_NOT:
		return tcb_ptx_bits_cut(complement(A), width);
	case TCB_PTX_OP_SHL:
	case TCB_PTX_OP_SHR:
		b = tcb_ptx_bits_read(env, &o[2], 32);
		if (!tcb_ptx_bits_is_constant(b))
			return ins->op == TCB_PTX_OP_SHL
				       ? tcb_ptx_bits_cut(
						 (struct tcb_ptx_bits){ tcb_ptx_low_bits(tcb_ptx_bits_trailing(A)), 0 },
						 width)
				       : tcb_ptx_bits_cut(unknown, width);
		return ins->op == TCB_PTX_OP_SHL ? shift_left(A, (unsigned)b.ones, width)
						 : shift_right(A, (unsigned)b.ones, width, is_signed);
	case TCB_PTX_OP_SHF:
		return funnel(env, ins);
	case TCB_PTX_OP_BFE:
	case TCB_PTX_OP_BFI:
		return field(env, ins, width, is_signed);
	case TCB_PTX_OP_PRMT:
		b = tcb_ptx_bits_read(env, &o[3], 32);
		return tcb_ptx_bits_is_constant(b) && !ins->mod[TCB_PTX_SLOT_MODE] ? permute(A, B, b.ones)
										   : tcb_ptx_bits_cut(unknown, 32);
	default:
		return unknown;
	}
}

/* What INS can write to REG, its result number ITEM. */
static struct tcb_ptx_bits result_bits(struct tcb_ptx_bit_env *env, const struct tcb_ptx_ins *ins, uint32_t reg,
				       unsigned item)
{
	enum tcb_ptx_word type = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE);
	const struct tcb_ptx_operand *o = ins->operands;
	unsigned width = type_bits(ins, TCB_PTX_SLOT_TYPE);
	int is_signed = tcb_ptx_type_class(type) == TCB_PTX_CLASS_SINT,
	    is_int = is_signed || tcb_ptx_type_class(type) == TCB_PTX_CLASS_UINT ||
		     tcb_ptx_type_class(type) == TCB_PTX_CLASS_BITS || type == TCB_PTX_PRED;
	struct tcb_ptx_bits a;

	switch ((enum tcb_ptx_op)ins->op) { /* those whose type is not the first, or any */
	case TCB_PTX_OP_MOV:
		return move(env, ins, item);
	case TCB_PTX_OP_CVT:
		return convert(env, ins);
	case TCB_PTX_OP_CVTA:
		a = tcb_ptx_bits_read(env, &o[1], 64);
		return tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE) == TCB_PTX_GLOBAL
			       ? a
			       : (struct tcb_ptx_bits){ a.zeros & tcb_ptx_low_bits(WINDOW_LOG),
							a.ones & tcb_ptx_low_bits(WINDOW_LOG) };
	case TCB_PTX_OP_MAPA: /* the same place in another block's window */
		a = tcb_ptx_bits_read(env, &o[1], 64);
		return (struct tcb_ptx_bits){ a.zeros & tcb_ptx_low_bits(WINDOW_LOG),
					      a.ones & tcb_ptx_low_bits(WINDOW_LOG) };
	case TCB_PTX_OP_LD:
	case TCB_PTX_OP_LDU:
		return load(env, ins, reg);
	case TCB_PTX_OP_POPC:
	case TCB_PTX_OP_CLZ:
		return tcb_ptx_bits_below(64);
	case TCB_PTX_OP_SELP:
		a = tcb_ptx_bits_read(env, &o[3], 1);
		return a.ones & 1 ? A : a.zeros & 1 ? B : join(A, B);
	case TCB_PTX_OP_SETP:
		if (item || !is_int || ins->mod[TCB_PTX_SLOT_BOOL])
			return tcb_ptx_bits_cut(unknown, 1);
		return compare(tcb_ptx_mod(ins, TCB_PTX_SLOT_COMPARE), A, B, width, is_signed);
	case TCB_PTX_OP_SHFL: /* some thread's value; one thread's own only from the first lane, where tid is */
		if (item || (env->tid && (tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE) != TCB_PTX_IDX ||
					  !tcb_ptx_bits_is_constant(tcb_ptx_bits_read(env, &o[2], 32)) ||
					  tcb_ptx_bits_read(env, &o[2], 32).ones)))
			return unknown;
		return tcb_ptx_bits_read(env, &o[1], 32);
	default:
		break;
	}
	return is_int && !ins->mod[TCB_PTX_SLOT_SAT] ? integer_bits(env, ins, width, is_signed) : unknown;
}
#undef A
#undef B

/* --- all threads --- */

struct solving {
	struct tcb_ptx_bit_env *env;
	uint8_t *changes;
	int changed;
};

static void set_result(struct solving *s, const struct tcb_ptx_ins *ins, uint32_t reg, unsigned item)
{
	struct tcb_ptx_bits *known = &s->env->reg[reg], now;
	uint64_t stated = s->env->function->regs[reg].align; /* by the builder, or by an earlier proof */

	now = tcb_ptx_bits_cut(result_bits(s->env, ins, reg, item),
			       tcb_ptx_type_bits(s->env->function->regs[reg].type));
	if (is_unseen(now)) /* of operands that have no value yet */
		return;
	if (stated && !(now.ones & (stated - 1)))
		now.zeros |= stated - 1;
	now = join(*known, now);
	if (now.zeros == known->zeros && now.ones == known->ones)
		return;
	if (!is_unseen(*known) && s->changes[reg]++ >= PATIENCE) {
		uint64_t lost = (known->zeros & ~now.zeros) | (known->ones & ~now.ones);
		uint64_t keep = tcb_ptx_low_bits((unsigned)__builtin_ctzll(lost)) |
				~tcb_ptx_low_bits(tcb_ptx_type_bits(s->env->function->regs[reg].type));

		now = (struct tcb_ptx_bits){ now.zeros & keep, now.ones & keep };
	}
	*known = now;
	s->changed = 1;
}

static int has_unseen(const struct tcb_ptx_bit_env *env, const struct tcb_ptx_operand *operand)
{
	if (operand->kind == TCB_PTX_O_REG)
		return is_unseen(env->reg[operand->reg]);
	for (uint32_t i = 0; operand->kind == TCB_PTX_O_VECTOR && i < operand->count; i++)
		if (has_unseen(env, &operand->items[i]))
			return 1;
	return 0;
}

static void solve_ins(struct solving *s, const struct tcb_ptx_ins *ins)
{
	for (unsigned i = ins->result_count; i < ins->operand_count; i++)
		if (has_unseen(s->env, &ins->operands[i]))
			return;
	for (unsigned i = 0; i < ins->result_count; i++) {
		const struct tcb_ptx_operand *result = &ins->operands[i];

		if (result->kind == TCB_PTX_O_REG)
			set_result(s, ins, result->reg, 0);
		for (uint32_t k = 0; k < result->count; k++)
			if (result->items[k].kind == TCB_PTX_O_REG)
				set_result(s, ins, result->items[k].reg, k);
	}
}

enum tcb_status tcb_ptx_bits_all(const struct tcb_ptx_function *function, const uint8_t *assumed,
				 struct tcb_ptx_bit_env *out, struct tcb_error *err)
{
	struct tcb_arena *arena = &function->module->arena;
	uint8_t *changes = calloc(function->reg_count + 1, 1);
	struct solving s = { out, changes, 1 };

	memset(out, 0, sizeof *out);
	out->function = function;
	out->assumed = assumed;
	out->reg = tcb_arena_array(arena, function->reg_count + 1, sizeof *out->reg);
	if (!changes || !out->reg) {
		free(changes);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the bits of '%s'", function->symbol->name);
	}
	tcb_ptx_shape_of(function, &out->shape);
	memset(out->reg, 0xff, (function->reg_count + 1) * sizeof *out->reg);
	while (s.changed) {
		s.changed = 0;
		for (uint32_t i = 0; i < function->reachable_count; i++)
			for (const struct tcb_ptx_ins *ins = function->order[i]->first; ins; ins = ins->next)
				solve_ins(&s, ins);
	}
	for (uint32_t r = 0; r < function->reg_count; r++) /* read before any write: anything */
		if (is_unseen(out->reg[r]))
			out->reg[r] = tcb_ptx_bits_cut(unknown, tcb_ptx_type_bits(function->regs[r].type));
	free(changes);
	return TCB_OK;
}

/* --- one thread --- */

struct tcb_ptx_bits tcb_ptx_bits_eval(struct tcb_ptx_bit_env *env, uint32_t reg)
{
	const struct tcb_ptx_reg *known = &env->function->regs[reg];
	const struct tcb_ptx_ins *def = known->def;
	unsigned item = 0;

	if (env->state[reg])
		return env->reg[reg];
	env->state[reg] = 1;
	env->reg[reg] = tcb_ptx_bits_cut(unknown, tcb_ptx_type_bits(known->type));
	if (known->defs != 1 || !def || def->guard != TCB_PTX_NO_REG || env->depth >= DEPTH_MAX)
		return env->reg[reg];
	env->depth++;
	for (unsigned i = 0; i < def->result_count; i++)
		for (uint32_t k = 0; k < def->operands[i].count; k++)
			if (def->operands[i].items[k].kind == TCB_PTX_O_REG && def->operands[i].items[k].reg == reg)
				item = k;
	env->reg[reg] = tcb_ptx_bits_cut(result_bits(env, def, reg, item), tcb_ptx_type_bits(known->type));
	env->depth--;
	return env->reg[reg];
}
