/* SPDX-License-Identifier: MIT
 *
 * In: a function.  Out: multiplication, division and remainder by constants as
 * cheaper instructions that give the same bits for every operand:
 *
 *     mul.lo x, 2^k      shl                  mul.lo x, -1      neg
 *     mad.lo x, 2^k, c   shl, add (one LEA)
 *     div.u x, 2^k       shr                  rem.u x, 2^k      and
 *     div.s x, +-2^k     shr with a bias so that it rounds to zero
 *     rem.s x, +-2^k     x - that quotient, which a mask makes
 *     div, rem x, c      the high half of a product with a rounded reciprocal,
 *                        32 and 64 bits
 *     div.rnd.f x, 2^k   mul.rnd.f x, 2^-k, when both are normal numbers
 *
 * The reciprocals are those of Granlund and Montgomery, "Division by invariant
 * integers using multiplication", PLDI 1994.  mul.wide stays: it is one
 * instruction.  New instructions carry the guard of the one they replace; all
 * but the last write new registers, so a result that is also a source is safe.
 */
#include "ptx/analyse/flow/rewrite.h"
#include "ptx/optimise/passes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct reduction {
	struct tcb_ptx_function *function;
	struct tcb_ptx_ins *ins; /* being replaced */
	unsigned bits;
	struct tcb_error *err;
	enum tcb_status status;
};

static uint64_t low_bits(uint64_t value, unsigned bits)
{
	return bits == 64 ? value : value & ((1ull << bits) - 1);
}

/* k when VALUE is 2^k, else -1. */
static int log2_of(uint64_t value)
{
	return value && !(value & (value - 1)) ? __builtin_ctzll(value) : -1;
}

static int64_t sign_extended(uint64_t value, unsigned bits)
{
	return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

/* A constant as the manual writes it for the type: signed where it is negative. */
static struct tcb_ptx_operand constant(const struct reduction *r, uint64_t value)
{
	return tcb_ptx_operand_int((uint64_t)sign_extended(value, r->bits));
}

/* One instruction that is not made yet: OP.TYPE<bits> of one or two sources. */
struct step {
	const char *op;
	char type;
	struct tcb_ptx_operand x, y;
};

static struct step step2(const char *op, char type, struct tcb_ptx_operand x, struct tcb_ptx_operand y)
{
	return (struct step){ op, type, x, y };
}

static struct step step1(const char *op, char type, struct tcb_ptx_operand x)
{
	return (struct step){ op, type, x, { .kind = TCB_PTX_O_NONE } };
}

static unsigned spell(const struct reduction *r, const struct step *step, char mnemonic[32])
{
	snprintf(mnemonic, 32, "%s.%c%u", step->op, step->type, r->bits);
	return step->y.kind == TCB_PTX_O_NONE ? 2 : 3;
}

/* Into a new register, before the instruction that is replaced. */
static struct tcb_ptx_operand emit_step(struct reduction *r, struct step step)
{
	struct tcb_ptx_operand operands[3] = { { .kind = TCB_PTX_O_NONE }, step.x, step.y };
	struct tcb_ptx_ins *made;
	char mnemonic[32];
	uint32_t reg;

	if (r->status != TCB_OK)
		return operands[0];
	reg = tcb_ptx_reg_new(r->function, r->bits == 64 ? TCB_PTX_B64 : r->bits == 32 ? TCB_PTX_B32 : TCB_PTX_B16);
	if (reg == TCB_PTX_NO_REG) {
		r->status = tcb_fail(r->err, TCB_E_NOMEM, "no more registers in '%s'", r->function->symbol->name);
		return operands[0];
	}
	operands[0] = tcb_ptx_operand_reg(reg);
	made = tcb_ptx_ins_like(r->function, r->ins, mnemonic, spell(r, &step, mnemonic), operands, r->err);
	if (made)
		tcb_ptx_ins_before(r->ins, made);
	else
		r->status = TCB_E_NOMEM;
	return operands[0];
}

static struct tcb_ptx_operand emit(struct reduction *r, const char *op, char type, struct tcb_ptx_operand x,
				   struct tcb_ptx_operand y)
{
	return emit_step(r, step2(op, type, x, y));
}

/* The instruction itself becomes STEP. */
static int finish(struct reduction *r, struct step step)
{
	struct tcb_ptx_operand operands[3] = { r->ins->operands[0], step.x, step.y };
	char mnemonic[32];

	if (r->status == TCB_OK)
		r->status =
			tcb_ptx_ins_become(r->function, r->ins, mnemonic, spell(r, &step, mnemonic), operands, r->err);
	return 1;
}

static struct tcb_ptx_operand amount(unsigned value)
{
	return tcb_ptx_operand_int(value);
}

/* --- products --- */

static int reduce_product(struct reduction *r)
{
	struct tcb_ptx_operand x = r->ins->operands[1], y = r->ins->operands[2];
	int is_mad = r->ins->op == TCB_PTX_OP_MAD, k;
	struct step shift;

	if (r->ins->mod[TCB_PTX_SLOT_MODE] != TCB_PTX_LO)
		return 0;
	if (x.kind == TCB_PTX_O_INT) {
		struct tcb_ptx_operand swap = x;

		x = y;
		y = swap;
	}
	if (x.kind != TCB_PTX_O_REG || y.kind != TCB_PTX_O_INT)
		return 0;
	if (!is_mad && low_bits(~y.bits, r->bits) == 0)
		return finish(r, step1("neg", 's', x));
	k = log2_of(low_bits(y.bits, r->bits));
	if (k < 1) /* by 0 and 1: const_fold */
		return 0;
	shift = step2("shl", 'b', x, amount((unsigned)k));
	if (!is_mad)
		return finish(r, shift);
	return finish(r, step2("add", 's', emit_step(r, shift), r->ins->operands[3]));
}

/* --- quotients --- */

/* floor(2^EXPONENT / DIVISOR), where the power may have 129 bits; the remainder in *REST. */
static unsigned __int128 divide_power(unsigned exponent, uint64_t divisor, uint64_t *rest)
{
	unsigned __int128 quotient = 0, left = 0;

	for (int bit = (int)exponent; bit >= 0; bit--) {
		left = left << 1 | (bit == (int)exponent);
		quotient <<= 1;
		if (left >= divisor) {
			left -= divisor;
			quotient |= 1;
		}
	}
	*rest = (uint64_t)left;
	return quotient;
}

/* x * M >> (bits + SHIFT) */
static struct step high_product(struct reduction *r, struct tcb_ptx_operand x, uint64_t m, unsigned shift)
{
	struct step high = step2("mul.hi", 'u', x, constant(r, m));

	return shift ? step2("shr", 'u', emit_step(r, high), amount(shift)) : high;
}

/* For x below 2^PRECISION: the least shift and the multiplier m = floor(2^(bits+shift) / d) + 1, of BITS bits, so that
 * x / d is x * m >> (bits + shift), which holds when m * d - 2^(bits+shift) <= 2^(bits+shift-precision).  0: none. */
static int find_multiplier(unsigned bits, unsigned precision, uint64_t d, uint64_t *multiplier, unsigned *shift)
{
	for (unsigned s = 0; s < bits; s++) {
		unsigned slack = bits + s - precision;
		uint64_t rest;
		unsigned __int128 m = divide_power(bits + s, d, &rest) + 1;

		if (m >> bits)
			return 0;
		if (slack >= 64 || d - rest <= 1ull << slack) {
			*multiplier = (uint64_t)m;
			*shift = s;
			return 1;
		}
	}
	return 0;
}

/* x / d without sign; d is not a power of two. */
static struct step unsigned_quotient(struct reduction *r, struct tcb_ptx_operand x, uint64_t d)
{
	unsigned n = r->bits, twos = (unsigned)__builtin_ctzll(d), shift, s = 0;
	struct tcb_ptx_operand high, half;
	uint64_t m, rest;

	if (find_multiplier(n, n, d, &m, &shift))
		return high_product(r, x, m, shift);
	/* what is even loses its twos first: then x has fewer bits and a multiplier is found */
	if (twos && find_multiplier(n, n - twos, d >> twos, &m, &shift))
		return high_product(r, emit(r, "shr", 'u', x, amount(twos)), m, shift);
	/* n+1 bits, the top one being x itself; the sum that could overflow is halved on the way */
	while ((d - 1) >> s)
		if (++s == 64)
			break;
	m = (uint64_t)low_bits((uint64_t)(divide_power(n + s, d, &rest) + 1), n);
	high = emit(r, "mul.hi", 'u', x, constant(r, m));
	half = emit(r, "shr", 'u', emit(r, "sub", 'u', x, high), amount(1));
	return step2("shr", 'u', emit(r, "add", 'u', half, high), amount(s - 1));
}

/* x / d rounded to zero, |d| no power of two: m = floor(2^(n+s) / |d|) + 1 with the least s that is exact for
 * |x| <= 2^(n-1).  The high half is the quotient's floor; one is added when x is negative. */
static struct step signed_quotient(struct reduction *r, struct tcb_ptx_operand x, int64_t d)
{
	unsigned n = r->bits, s = 0;
	uint64_t magnitude = d < 0 ? 0 - (uint64_t)d : (uint64_t)d, rest;
	struct tcb_ptx_operand high, sign;
	unsigned __int128 m;

	for (;; s++) {
		m = divide_power(n + s, magnitude, &rest) + 1;
		if (magnitude - rest <= 1ull << (s + 1))
			break;
	}
	high = emit(r, "mul.hi", 's', x, constant(r, (uint64_t)m));
	if (m >> (n - 1)) /* the instruction reads it as m - 2^n */
		high = emit(r, "add", 's', high, x);
	if (s)
		high = emit(r, "shr", 's', high, amount(s));
	sign = emit(r, "shr", 's', x, amount(n - 1));
	return d < 0 ? step2("sub", 's', sign, high) : step2("sub", 's', high, sign);
}

/* x plus 2^k - 1 when it is negative, so that shifting it right rounds to zero. */
static struct tcb_ptx_operand biased(struct reduction *r, struct tcb_ptx_operand x, unsigned k)
{
	struct tcb_ptx_operand sign = k == 1 ? x : emit(r, "shr", 's', x, amount(r->bits - 1));

	return emit(r, "add", 's', x, emit(r, "shr", 'u', sign, amount(r->bits - k)));
}

/* x - QUOTIENT * d, or the quotient itself. */
static int finish_quotient(struct reduction *r, char type, struct tcb_ptx_operand x, struct step quotient, uint64_t d)
{
	struct tcb_ptx_operand product;

	if (r->ins->op == TCB_PTX_OP_DIV)
		return finish(r, quotient);
	product = emit(r, "mul.lo", type, emit_step(r, quotient), constant(r, d));
	return finish(r, step2("sub", type, x, product));
}

static int reduce_unsigned(struct reduction *r, struct tcb_ptx_operand x, uint64_t d)
{
	int k = log2_of(d);

	if (k == 0 || (k < 0 && r->bits == 16)) /* by one: const_fold */
		return 0;
	if (k < 0)
		return finish_quotient(r, 'u', x, unsigned_quotient(r, x, d), d);
	if (r->ins->op == TCB_PTX_OP_REM)
		return finish(r, step2("and", 'b', x, constant(r, d - 1)));
	return finish(r, step2("shr", 'u', x, amount((unsigned)k)));
}

static int reduce_signed(struct reduction *r, struct tcb_ptx_operand x, int64_t d)
{
	uint64_t magnitude = d < 0 ? 0 - (uint64_t)d : (uint64_t)d;
	int k = log2_of(magnitude);
	struct tcb_ptx_operand sum;
	struct step shift;

	/* by 1 and -1: const_fold, and -1 overflows; by the least number: rare */
	if (k == 0 || (unsigned)(k + 1) == r->bits || (k < 0 && r->bits == 16))
		return 0;
	if (k < 0)
		return finish_quotient(r, 's', x, signed_quotient(r, x, d), (uint64_t)d);
	sum = biased(r, x, (unsigned)k);
	if (r->ins->op == TCB_PTX_OP_REM)
		return finish(r, step2("sub", 's', x, emit(r, "and", 'b', sum, constant(r, 0 - magnitude))));
	shift = step2("shr", 's', sum, amount((unsigned)k));
	return finish(r, d < 0 ? step1("neg", 's', emit_step(r, shift)) : shift);
}

static int reduce_quotient(struct reduction *r)
{
	struct tcb_ptx_operand x = r->ins->operands[1], y = r->ins->operands[2];
	enum tcb_ptx_word type = tcb_ptx_mod(r->ins, TCB_PTX_SLOT_TYPE);

	if (x.kind != TCB_PTX_O_REG || y.kind != TCB_PTX_O_INT || !low_bits(y.bits, r->bits))
		return 0;
	if (tcb_ptx_type_class(type) == TCB_PTX_CLASS_UINT)
		return reduce_unsigned(r, x, low_bits(y.bits, r->bits));
	return reduce_signed(r, x, sign_extended(y.bits, r->bits));
}

/* The reciprocal of a power of two is exact, so both round the same number. */
static int reduce_float_quotient(struct reduction *r)
{
	enum tcb_ptx_word type = tcb_ptx_mod(r->ins, TCB_PTX_SLOT_TYPE);
	struct tcb_ptx_operand *y = &r->ins->operands[2];
	unsigned exponent_at = type == TCB_PTX_F32 ? 23 : 52, bias = type == TCB_PTX_F32 ? 127 : 1023;
	uint64_t exponent = y->bits >> exponent_at & (2 * bias + 1), sign = y->bits & 1ull << (r->bits - 1);

	if (!r->ins->mod[TCB_PTX_SLOT_ROUND] || y->kind != (type == TCB_PTX_F32 ? TCB_PTX_O_F32 : TCB_PTX_O_F64) ||
	    low_bits(y->bits, exponent_at) || exponent == 0 || exponent >= 2 * bias)
		return 0;
	y->bits = sign | (2 * bias - exponent) << exponent_at;
	r->ins->op = TCB_PTX_OP_MUL;
	r->status = tcb_ptx_resolve_again(r->ins, r->err);
	return 1;
}

static int reduce(struct reduction *r)
{
	enum tcb_ptx_word type = tcb_ptx_mod(r->ins, TCB_PTX_SLOT_TYPE);
	enum tcb_ptx_class class = tcb_ptx_type_class(type);

	r->bits = tcb_ptx_type_bits(type);
	if (r->ins->op == TCB_PTX_OP_DIV && (type == TCB_PTX_F32 || type == TCB_PTX_F64))
		return reduce_float_quotient(r);
	if ((class != TCB_PTX_CLASS_UINT && class != TCB_PTX_CLASS_SINT) || r->ins->mod[TCB_PTX_SLOT_CARRY])
		return 0;
	switch ((enum tcb_ptx_op)r->ins->op) {
	case TCB_PTX_OP_MUL:
	case TCB_PTX_OP_MAD:
		return reduce_product(r);
	case TCB_PTX_OP_DIV:
	case TCB_PTX_OP_REM:
		return reduce_quotient(r);
	default:
		return 0;
	}
}

enum tcb_status tcb_ptx_strength(struct tcb_ptx_function *function, const struct tcb_ptx_pass_options *options,
				 unsigned *changed_out, struct tcb_error *err)
{
	struct reduction r = { .function = function, .err = err };

	(void)options;
	*changed_out = 0;
	for (struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
			r.ins = ins;
			*changed_out += (unsigned)reduce(&r);
			if (r.status != TCB_OK)
				return r.status;
		}
	return TCB_OK;
}
