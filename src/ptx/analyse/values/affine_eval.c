/* SPDX-License-Identifier: MIT
 *
 * In: an instruction and what its operands hold.  Out: what it computes for one
 * of its registers.
 *
 * Sums, products, bits, shifts, conversions and choices have rules of their own
 * in affine_ops.c.  Every other integer instruction is computed for each thread
 * when its operands are numbers, becomes a symbol when they are the same in all
 * threads, and is unknown otherwise.  Floating point is unknown.
 */
#include "ptx/analyse/values/affine_eval.h"
#include "ptx/analyse/values/affine_intern.h"
#include "ptx/analyse/values/affine_loops.h"
#include "ptx/analyse/values/affine_ops.h"
#include "ptx/analyse/values/affine_state.h"
#include "ptx/ir/integers.h"

enum { OPERANDS_MAX = 4 };

static int is_signed_type(enum tcb_ptx_word type)
{
	return tcb_ptx_type_class(type) == TCB_PTX_CLASS_SINT;
}

static int is_integer(enum tcb_ptx_word type)
{
	enum tcb_ptx_class class = tcb_ptx_type_class(type);

	return (class == TCB_PTX_CLASS_BITS || class == TCB_PTX_CLASS_UINT || class == TCB_PTX_CLASS_SINT ||
		class == TCB_PTX_CLASS_PRED) &&
	       tcb_ptx_type_bits(type) <= 64;
}

/* --- numbers --- */

static uint64_t divide(uint64_t x, uint64_t y, unsigned bits, int is_signed, int remainder)
{
	int64_t sx = tcb_ptx_bits_extend(x, bits), sy = tcb_ptx_bits_extend(y, bits);

	if (y == 0) /* what the hardware gives is not specified */
		return remainder ? x : tcb_ptx_bits_mask(bits);
	if (!is_signed)
		return remainder ? x % y : x / y;
	if (sy == -1)
		return remainder ? 0 : 0 - x;
	return (uint64_t)(remainder ? sx % sy : sx / sy);
}

static uint64_t field(uint64_t x, uint64_t start, uint64_t count, unsigned bits, int is_signed)
{
	uint64_t sign_at, out;

	start &= 255;
	count &= 255;
	if (count == 0)
		return 0;
	sign_at = start + count - 1 < bits - 1 ? start + count - 1 : bits - 1;
	out = start < bits ? x >> start : 0;
	if (count < 64)
		out &= tcb_ptx_bits_mask((unsigned)count);
	if (is_signed && (x >> sign_at & 1) && count < 64)
		out |= ~tcb_ptx_bits_mask((unsigned)count);
	if (is_signed && start >= bits)
		out = x >> (bits - 1) & 1 ? UINT64_MAX : 0;
	return out;
}

static uint64_t reverse(uint64_t x, unsigned bits)
{
	uint64_t out = 0;

	for (unsigned i = 0; i < bits; i++)
		out |= (x >> i & 1) << (bits - 1 - i);
	return out;
}

static uint64_t multiply_high(uint64_t x, uint64_t y, unsigned bits, int is_signed)
{
	if (is_signed)
		return (uint64_t)((__int128)tcb_ptx_bits_extend(x, bits) * tcb_ptx_bits_extend(y, bits) >> bits);
	return (uint64_t)((unsigned __int128)x * y >> bits);
}

static uint64_t funnel(const struct tcb_ptx_ins *ins, uint64_t low, uint64_t high, uint64_t by)
{
	unsigned shift = tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE) == TCB_PTX_WRAP ? by & 31 : by > 32 ? 32 : (unsigned)by;
	uint64_t both = high << 32 | low;

	if (tcb_ptx_mod(ins, TCB_PTX_SLOT_DIRECTION) == TCB_PTX_R)
		return both >> shift;
	return shift == 32 ? low : both << shift >> 32;
}

/* What INS makes of the numbers X; 0 when it is none of those that are known here. */
static int compute(const struct tcb_ptx_ins *ins, const uint64_t *x, uint64_t *out)
{
	enum tcb_ptx_word type = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE);
	unsigned bits = tcb_ptx_type_bits(type);
	int is_signed = is_signed_type(type), high = tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE) == TCB_PTX_HI;

	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_SHL:
		*out = x[1] >= bits ? 0 : x[0] << x[1];
		return 1;
	case TCB_PTX_OP_SHR:
		if (is_signed)
			*out = (uint64_t)(tcb_ptx_bits_extend(x[0], bits) >> (x[1] >= bits ? bits - 1 : x[1]));
		else
			*out = x[1] >= bits ? 0 : x[0] >> x[1];
		return 1;
	case TCB_PTX_OP_DIV:
	case TCB_PTX_OP_REM:
		*out = divide(x[0], x[1], bits, is_signed, ins->op == TCB_PTX_OP_REM);
		return 1;
	case TCB_PTX_OP_MIN:
	case TCB_PTX_OP_MAX:
		if (tcb_ptx_mod(ins, TCB_PTX_SLOT_RELU))
			return 0;
		*out = tcb_ptx_compare(TCB_PTX_LT, x[0], x[1], bits, is_signed) == (ins->op == TCB_PTX_OP_MIN) ? x[0]
													       : x[1];
		return 1;
	case TCB_PTX_OP_ABS:
		*out = tcb_ptx_bits_extend(x[0], bits) < 0 ? 0 - x[0] : x[0];
		return 1;
	case TCB_PTX_OP_SAD:
		*out = x[2] + (tcb_ptx_compare(TCB_PTX_LT, x[0], x[1], bits, is_signed) ? x[1] - x[0] : x[0] - x[1]);
		return 1;
	case TCB_PTX_OP_MUL:
	case TCB_PTX_OP_MAD:
		*out = multiply_high(x[0], x[1], bits, is_signed) + (ins->op == TCB_PTX_OP_MAD ? x[2] : 0);
		return high && !tcb_ptx_mod(ins, TCB_PTX_SLOT_SAT);
	case TCB_PTX_OP_POPC:
		*out = (uint64_t)__builtin_popcountll(x[0]);
		return 1;
	case TCB_PTX_OP_CLZ:
		*out = x[0] ? (uint64_t)__builtin_clzll(x[0]) - (64 - bits) : bits;
		return 1;
	case TCB_PTX_OP_BREV:
		*out = reverse(x[0], bits);
		return 1;
	case TCB_PTX_OP_BFE:
		*out = field(x[0], x[1], x[2], bits, is_signed);
		return 1;
	case TCB_PTX_OP_BFI: {
		uint64_t start = x[2] & 255, count = x[3] & 255;
		uint64_t hole = start < bits ? tcb_ptx_bits_mask(count > 64 ? 64 : (unsigned)count) << start : 0;

		*out = count ? (x[1] & ~hole) | (start < bits ? x[0] << start & hole : 0) : x[1];
		return 1;
	}
	case TCB_PTX_OP_LOP3:
		*out = tcb_ptx_lop3(x[0], x[1], x[2], x[3]);
		return !tcb_ptx_mod(ins, TCB_PTX_SLOT_BOOL);
	case TCB_PTX_OP_SHF:
		*out = funnel(ins, x[0], x[1], x[2]);
		return 1;
	case TCB_PTX_OP_CNOT:
		*out = x[0] == 0;
		return 1;
	case TCB_PTX_OP_SETP:
		*out = tcb_ptx_compare(tcb_ptx_mod(ins, TCB_PTX_SLOT_COMPARE), x[0], x[1], bits, is_signed);
		if (tcb_ptx_mod(ins, TCB_PTX_SLOT_BOOL) == TCB_PTX_AND)
			*out &= x[2];
		else if (tcb_ptx_mod(ins, TCB_PTX_SLOT_BOOL) == TCB_PTX_OR)
			*out |= x[2];
		else if (tcb_ptx_mod(ins, TCB_PTX_SLOT_BOOL) == TCB_PTX_XOR)
			*out ^= x[2];
		return 1;
	default:
		return 0;
	}
}

/* --- values --- */

/* Source I of INS as a value of BITS bits. */
static struct tcb_ptx_value source(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, unsigned i, unsigned bits)
{
	struct tcb_ptx_value v;

	if (ins->result_count + i >= ins->operand_count)
		return tcb_ptx_value_unknown(bits);
	v = a->read_operand(a, ins, &ins->operands[ins->result_count + i]);
	return v.bits == bits ? v : tcb_ptx_value_convert(a, &v, v.bits < bits ? v.bits : bits, bits, 0);
}

/* Fallback: by number, by symbol, or unknown. */
static struct tcb_ptx_value generic(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, unsigned bits)
{
	unsigned count = ins->operand_count - ins->result_count, uniform = 0, numbers = 0, registers;
	enum tcb_ptx_word type = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE);
	struct tcb_ptx_value x[OPERANDS_MAX], v = tcb_ptx_value_unknown(bits);
	uint64_t in[OPERANDS_MAX], out = 0, tag;
	int ok = 1;

	if (count > OPERANDS_MAX || count == 0)
		return v;
	for (unsigned i = 0; i < count; i++) {
		enum tcb_ptx_word own = tcb_ptx_operand_type(ins, ins->result_count + i, &registers);

		x[i] = source(a, ins, i, own && is_integer(own) ? tcb_ptx_type_bits(own) : 32);
		v.open = x[i].open < v.open ? x[i].open : v.open;
		v.assumes |= x[i].assumes;
		uniform += (unsigned)tcb_ptx_value_is_uniform(&x[i]);
		numbers += x[i].known && !x[i].term_count;
	}
	if (numbers == count) {
		uint64_t *lanes = a->scratch;

		for (uint32_t t = 0; t < a->threads && ok; t++) {
			for (unsigned i = 0; i < count; i++)
				in[i] = tcb_ptx_value_lane(&x[i], t);
			ok = compute(ins, in, &out);
			lanes[t] = out;
		}
		if (ok) {
			struct tcb_ptx_value known = tcb_ptx_value_of_lanes(a, bits, lanes);

			known.open = v.open;
			known.assumes = v.assumes;
			return known;
		}
	}
	if (uniform != count || count > 3 ||
	    tcb_ptx_has(ins, TCB_PTX_F_READ | TCB_PTX_F_UNSTABLE | TCB_PTX_F_CONVERGENT))
		return v;
	tag = (uint64_t)ins->form << 10 | type;
	tag = tag << 10 | tcb_ptx_mod(ins, TCB_PTX_SLOT_COMPARE);
	tag = tag << 10 | tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE);
	tag = tag << 10 | tcb_ptx_mod(ins, TCB_PTX_SLOT_BOOL);
	return tcb_ptx_value_computed(a, bits, tag | UINT64_C(1) << 63, count, x, 1, bits == 1 ? 1 : UINT64_MAX);
}

/* The number that V is in all threads; 0 when it is none. */
static int as_number(const struct tcb_ptx_value *v, uint64_t *out)
{
	if (!v->known || v->term_count || v->lanes)
		return 0;
	*out = v->constant;
	return 1;
}

static struct tcb_ptx_value multiply(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, unsigned bits,
				     int is_signed)
{
	enum tcb_ptx_word mode = tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE);
	struct tcb_ptx_value x = source(a, ins, 0, bits), y = source(a, ins, 1, bits), z;

	if (mode == TCB_PTX_WIDE) {
		x = tcb_ptx_value_convert(a, &x, bits, 2 * bits, is_signed);
		y = tcb_ptx_value_convert(a, &y, bits, 2 * bits, is_signed);
		bits *= 2;
	}
	x = tcb_ptx_value_mul(a, &x, &y);
	if (ins->op == TCB_PTX_OP_MUL)
		return x;
	z = source(a, ins, 2, bits);
	return tcb_ptx_value_add(a, &x, &z);
}

static struct tcb_ptx_value shift_left(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, unsigned bits)
{
	struct tcb_ptx_value x = source(a, ins, 0, bits), by = source(a, ins, 1, 32), power;
	uint64_t number;

	if (!by.known || by.term_count)
		return generic(a, ins, bits);
	if (as_number(&by, &number)) {
		power = tcb_ptx_value_number(bits, number >= bits ? 0 : UINT64_C(1) << number);
	} else {
		for (uint32_t t = 0; t < a->threads; t++) {
			number = tcb_ptx_value_lane(&by, t);
			a->scratch[t] = number >= bits ? 0 : UINT64_C(1) << number;
		}
		power = tcb_ptx_value_of_lanes(a, bits, a->scratch);
	}
	return tcb_ptx_value_mul(a, &x, &power);
}

static struct tcb_ptx_value shift_right(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, unsigned bits,
					int is_signed)
{
	struct tcb_ptx_value x = source(a, ins, 0, bits), by = source(a, ins, 1, 32);
	uint64_t number;

	if (as_number(&by, &number))
		return tcb_ptx_value_shr(a, &x, number > 64 ? 64 : (unsigned)number, is_signed);
	return generic(a, ins, bits);
}

/* By a power of two, unsigned: bits. */
static struct tcb_ptx_value division(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, unsigned bits,
				     int is_signed)
{
	struct tcb_ptx_value x = source(a, ins, 0, bits), y = source(a, ins, 1, bits);
	uint64_t number;

	if (!is_signed && as_number(&y, &number) && number && !(number & (number - 1)) && x.term_count) {
		if (ins->op == TCB_PTX_OP_DIV)
			return tcb_ptx_value_shr(a, &x, (unsigned)__builtin_ctzll(number), 0);
		y = tcb_ptx_value_number(bits, number - 1);
		return tcb_ptx_value_bitwise(a, TCB_PTX_OP_AND, &x, &y);
	}
	return generic(a, ins, bits);
}

static struct tcb_ptx_value bit_field(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, unsigned bits,
				      int is_signed)
{
	struct tcb_ptx_value x = source(a, ins, 0, bits), start = source(a, ins, 1, 32), count = source(a, ins, 2, 32);
	struct tcb_ptx_value mask;
	uint64_t from, number;

	if (is_signed || !as_number(&start, &from) || !as_number(&count, &number) || from >= bits || number >= bits)
		return generic(a, ins, bits);
	x = tcb_ptx_value_shr(a, &x, (unsigned)from, 0);
	mask = tcb_ptx_value_number(bits, tcb_ptx_bits_mask((unsigned)number));
	return tcb_ptx_value_bitwise(a, TCB_PTX_OP_AND, &x, &mask);
}

/* mov: a copy, {low, high} into one, or one into {low, high}. */
static struct tcb_ptx_value move(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, uint32_t reg, unsigned bits)
{
	const struct tcb_ptx_operand *to = &ins->operands[0], *from = &ins->operands[1];

	if (to->kind == TCB_PTX_O_VECTOR && from->kind == TCB_PTX_O_REG) {
		unsigned part = to->count ? bits / to->count : bits;
		struct tcb_ptx_value x = a->read_operand(a, ins, from);

		for (uint32_t i = 0; i < to->count; i++)
			if (to->items[i].kind == TCB_PTX_O_REG && to->items[i].reg == reg) {
				x = tcb_ptx_value_shr(a, &x, i * part, 0);
				return tcb_ptx_value_convert(a, &x, part, part, 0);
			}
	}
	if (from->kind == TCB_PTX_O_VECTOR && to->kind == TCB_PTX_O_REG) {
		struct tcb_ptx_value sum = tcb_ptx_value_number(bits, 0);
		unsigned part = from->count ? bits / from->count : bits;

		for (uint32_t i = 0; i < from->count; i++) {
			struct tcb_ptx_value x = a->read_operand(a, ins, &from->items[i]);
			struct tcb_ptx_value power = tcb_ptx_value_number(bits, UINT64_C(1) << (i * part));

			x = tcb_ptx_value_convert(a, &x, part, bits, 0);
			x = tcb_ptx_value_mul(a, &x, &power);
			sum = tcb_ptx_value_add(a, &sum, &x);
		}
		return sum;
	}
	if (to->kind == TCB_PTX_O_REG && from->kind != TCB_PTX_O_VECTOR)
		return source(a, ins, 0, bits);
	return tcb_ptx_value_unknown(bits);
}

/* A generic address is one of a window plus where that begins. */
static struct tcb_ptx_value to_generic(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins)
{
	enum tcb_ptx_word space = tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE);
	struct tcb_ptx_symbolic like = { .kind = TCB_PTX_Y_WINDOW, .align = 1 << 24, .max = UINT64_MAX };
	struct tcb_ptx_value x = source(a, ins, 0, 64), window;
	uint64_t key[2] = { UINT64_C(3) << 32, space };

	if (space == TCB_PTX_GLOBAL || space == TCB_PTX_CONST || space == TCB_PTX_PARAM)
		return x; /* global addresses are generic ones; the others are not followed */
	if (space == TCB_PTX_SHARED_CTA)
		key[1] = TCB_PTX_SHARED;
	like.open = TCB_PTX_NOT_OPEN;
	window = tcb_ptx_value_symbol(a, 64, tcb_ptx_affine_symbol_for(a, key, 2, &like));
	if (tcb_ptx_mod(ins, TCB_PTX_SLOT_DIRECTION) == TCB_PTX_TO)
		return tcb_ptx_value_sub(a, &x, &window);
	return tcb_ptx_value_add(a, &x, &window);
}

/* Loads of what no thread can change: parameters of the kernel, constants and read-only data at one address. */
static struct tcb_ptx_value load(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, uint32_t reg, unsigned bits)
{
	enum tcb_ptx_word space = tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE), type = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE);
	const struct tcb_ptx_operand *address = &ins->operands[1];
	struct tcb_ptx_symbolic like = { .align = 1, .max = UINT64_MAX, .open = TCB_PTX_NOT_OPEN };
	unsigned width = tcb_ptx_type_bits(type);
	struct tcb_ptx_value v, x;

	if (!is_integer(type) || address->kind != TCB_PTX_O_ADDRESS)
		return tcb_ptx_value_unknown(bits);
	if (tcb_ptx_type_class(type) == TCB_PTX_CLASS_UINT && width < 64)
		like.max = tcb_ptx_bits_mask(width);
	if ((space == TCB_PTX_PARAM || space == TCB_PTX_PARAM_ENTRY) && address->symbol &&
	    address->reg == TCB_PTX_NO_REG && a->function->is_entry && ins->operands[0].kind == TCB_PTX_O_REG) {
		const struct tcb_ptx_symbol *symbol = address->symbol;
		uint64_t key[4] = { UINT64_C(4) << 32, (uintptr_t)symbol, address->bits, (uint64_t)width << 8 | type };

		like.kind = TCB_PTX_Y_PARAM;
		like.variable = symbol;
		if (symbol->is_pointer && symbol->pointer_align && !address->bits)
			like.align = symbol->pointer_align;
		if (tcb_ptx_symbol_find(a->function->params, symbol->name) == symbol)
			return tcb_ptx_value_symbol(a, bits, tcb_ptx_affine_symbol_for(a, key, 4, &like));
	}
	if (space == TCB_PTX_CONST || (space == TCB_PTX_GLOBAL && tcb_ptx_mod(ins, TCB_PTX_SLOT_NONCOHERENT))) {
		uint64_t key[3] = { UINT64_C(5) << 32, ins->number, reg };

		v = a->read_address(a, ins, 1);
		if (!tcb_ptx_value_is_uniform(&v))
			return tcb_ptx_value_unknown(bits);
		like.kind = TCB_PTX_Y_COMPUTED;
		like.loops = tcb_ptx_affine_loops_of(a, ins->block);
		x = tcb_ptx_value_symbol(a, bits, tcb_ptx_affine_symbol_for(a, key, 3, &like));
		x.open = v.open;
		return x;
	}
	return tcb_ptx_value_unknown(bits);
}

static struct tcb_ptx_value conversion(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, unsigned bits)
{
	enum tcb_ptx_word to = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE), from = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE2);
	unsigned width = tcb_ptx_type_bits(from), out = tcb_ptx_type_bits(to);
	struct tcb_ptx_value x;

	if (!is_integer(from) || !is_integer(to) || tcb_ptx_mod(ins, TCB_PTX_SLOT_SAT))
		return tcb_ptx_value_unknown(bits);
	x = a->read_operand(a, ins, &ins->operands[1]);
	if (out < bits) { /* cvt.u8 into a wider register extends again */
		x = tcb_ptx_value_convert(a, &x, width < out ? width : out, bits,
					  is_signed_type(width < out ? from : to));
		return x;
	}
	return tcb_ptx_value_convert(a, &x, width, bits, is_signed_type(from));
}

struct tcb_ptx_value tcb_ptx_affine_eval(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, uint32_t reg)
{
	enum tcb_ptx_word type = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE);
	unsigned bits = tcb_ptx_type_bits(a->function->regs[reg].type), width = tcb_ptx_type_bits(type);
	struct tcb_ptx_value x, y, p;
	int is_signed = is_signed_type(type);

	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_MOV:
		return width && width <= 64 ? move(a, ins, reg, width) : tcb_ptx_value_unknown(bits);
	case TCB_PTX_OP_CVTA:
		return to_generic(a, ins);
	case TCB_PTX_OP_LD:
		return load(a, ins, reg, bits);
	case TCB_PTX_OP_CVT:
		return conversion(a, ins, bits);
	case TCB_PTX_OP_SELP:
		x = source(a, ins, 0, bits);
		y = source(a, ins, 1, bits);
		p = source(a, ins, 2, 1);
		return tcb_ptx_value_select(a, &p, &x, &y);
	default:
		break;
	}
	if (!is_integer(type) || tcb_ptx_mod(ins, TCB_PTX_SLOT_CARRY))
		return tcb_ptx_value_unknown(bits);
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_ADD:
	case TCB_PTX_OP_SUB:
		if (tcb_ptx_mod(ins, TCB_PTX_SLOT_SAT))
			return tcb_ptx_value_unknown(bits);
		x = source(a, ins, 0, width);
		y = source(a, ins, 1, width);
		return ins->op == TCB_PTX_OP_ADD ? tcb_ptx_value_add(a, &x, &y) : tcb_ptx_value_sub(a, &x, &y);
	case TCB_PTX_OP_NEG:
		x = tcb_ptx_value_number(width, 0);
		y = source(a, ins, 0, width);
		return tcb_ptx_value_sub(a, &x, &y);
	case TCB_PTX_OP_MUL:
	case TCB_PTX_OP_MAD:
		if (tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE) == TCB_PTX_HI)
			return generic(a, ins, width);
		return multiply(a, ins, width, is_signed);
	case TCB_PTX_OP_AND:
	case TCB_PTX_OP_OR:
	case TCB_PTX_OP_XOR:
		x = source(a, ins, 0, width);
		y = source(a, ins, 1, width);
		return tcb_ptx_value_bitwise(a, ins->op, &x, &y);
	case TCB_PTX_OP_NOT:
		x = source(a, ins, 0, width);
		y = tcb_ptx_value_number(width, UINT64_MAX);
		return tcb_ptx_value_bitwise(a, TCB_PTX_OP_XOR, &x, &y);
	case TCB_PTX_OP_SHL:
		return shift_left(a, ins, width);
	case TCB_PTX_OP_SHR:
		return shift_right(a, ins, width, is_signed);
	case TCB_PTX_OP_DIV:
	case TCB_PTX_OP_REM:
		return division(a, ins, width, is_signed);
	case TCB_PTX_OP_BFE:
		return bit_field(a, ins, width, is_signed);
	case TCB_PTX_OP_SETP:
		if (ins->operands[0].kind != TCB_PTX_O_REG)
			return tcb_ptx_value_unknown(1);
		return generic(a, ins, 1);
	case TCB_PTX_OP_MIN:
	case TCB_PTX_OP_MAX:
	case TCB_PTX_OP_ABS:
	case TCB_PTX_OP_SAD:
	case TCB_PTX_OP_BREV:
	case TCB_PTX_OP_BFI:
	case TCB_PTX_OP_LOP3:
	case TCB_PTX_OP_SHF:
	case TCB_PTX_OP_CNOT:
		return generic(a, ins, width);
	case TCB_PTX_OP_POPC:
	case TCB_PTX_OP_CLZ:
		return generic(a, ins, 32);
	default:
		return tcb_ptx_value_unknown(bits);
	}
}

int tcb_ptx_affine_compared(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, uint8_t *out)
{
	enum tcb_ptx_word type = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE);
	unsigned bits = tcb_ptx_type_bits(type);
	int is_signed = tcb_ptx_type_class(type) == TCB_PTX_CLASS_SINT;
	struct tcb_ptx_value x, y;

	if (ins->operands[0].kind != TCB_PTX_O_REG || tcb_ptx_type_class(type) == TCB_PTX_CLASS_FLOAT || bits > 64)
		return 0;
	x = source(a, ins, 0, bits);
	y = source(a, ins, 1, bits);
	if (!x.known || !y.known || x.assumes || y.assumes || x.term_count || y.term_count)
		return 0;
	for (uint32_t t = 0; t < a->threads; t++)
		out[t] = tcb_ptx_compare(tcb_ptx_mod(ins, TCB_PTX_SLOT_COMPARE), tcb_ptx_value_lane(&x, t),
					 tcb_ptx_value_lane(&y, t), bits, is_signed);
	return 1;
}
