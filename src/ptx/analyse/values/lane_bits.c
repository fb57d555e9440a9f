/* SPDX-License-Identifier: MIT
 *
 * In: how an instruction's operands differ between threads.  Out: how its
 * results do.
 *
 * Between the threads of a warp this is followed bit by bit, because the
 * questions that matter are about bits: tid / 32 is one value in a warp, and
 * so is tid < 64, if warps lie along x; ctaid * 256 + tid differs in its five
 * low bits only, since nothing is carried out of them.
 */
#include "ptx/analyse/values/lane_bits.h"
#include "ptx/ir/opcodes.h"

#include <string.h>

#define ALL (~(uint64_t)0)

static const struct tcb_ptx_spread alike = { 0, TCB_PTX_UNIFORM_GRID };
static const struct tcb_ptx_spread anything = { ALL, TCB_PTX_UNIFORM_WARP };

static struct tcb_ptx_spread both(struct tcb_ptx_spread a, struct tcb_ptx_spread b)
{
	return (struct tcb_ptx_spread){ a.lanes | b.lanes, a.between > b.between ? a.between : b.between };
}

/* Every bit, if any. */
static struct tcb_ptx_spread smear(struct tcb_ptx_spread a)
{
	a.lanes = a.lanes ? ALL : 0;
	return a;
}

/* --- special registers --- */

/* Bits of a coordinate whose neighbours in a warp differ when STRIDE threads come before its next value. */
static uint64_t coordinate_lanes(const struct tcb_ptx_shape *shape, unsigned axis)
{
	uint32_t stride = 1;
	uint64_t range = tcb_ptx_low_bits(
		shape->ntid_max[axis] > 1 ? 32 - (unsigned)__builtin_clz(shape->ntid_max[axis] - 1) : 0);

	if (shape->whole_warps)
		return axis ? 0 : range & 31;
	for (unsigned i = 0; i < axis; i++)
		stride *= shape->ntid[i];
	if (!shape->ntid[0] || stride & (stride - 1)) /* unknown, or rows begin anywhere in a warp */
		return range;
	if (stride >= 32)
		return 0;
	if (shape->ntid[axis] & (shape->ntid[axis] - 1))
		return range;
	return range & (32 / stride - 1);
}

static struct tcb_ptx_spread special_spread(const struct tcb_ptx_lane_env *env, enum tcb_ptx_special special)
{
	switch (special) {
	case TCB_PTX_SR_TID_X:
	case TCB_PTX_SR_TID_Y:
	case TCB_PTX_SR_TID_Z:
		if (env->bits.shape.ntid[special - TCB_PTX_SR_TID_X] == 1)
			return alike;
		return (struct tcb_ptx_spread){ coordinate_lanes(&env->bits.shape, special - TCB_PTX_SR_TID_X),
						TCB_PTX_UNIFORM_WARP };
	case TCB_PTX_SR_LANEID:
		return (struct tcb_ptx_spread){ 31, TCB_PTX_UNIFORM_GRID };
	case TCB_PTX_SR_LANEMASK_EQ:
	case TCB_PTX_SR_LANEMASK_LE:
	case TCB_PTX_SR_LANEMASK_LT:
	case TCB_PTX_SR_LANEMASK_GE:
	case TCB_PTX_SR_LANEMASK_GT:
		return (struct tcb_ptx_spread){ UINT32_MAX, TCB_PTX_UNIFORM_GRID };
	case TCB_PTX_SR_WARPID:
		return (struct tcb_ptx_spread){ 0, TCB_PTX_UNIFORM_WARP };
	case TCB_PTX_SR_CTAID_X:
	case TCB_PTX_SR_CTAID_Y:
	case TCB_PTX_SR_CTAID_Z:
	case TCB_PTX_SR_CLUSTERID_X:
	case TCB_PTX_SR_CLUSTERID_Y:
	case TCB_PTX_SR_CLUSTERID_Z:
	case TCB_PTX_SR_CLUSTER_CTAID_X:
	case TCB_PTX_SR_CLUSTER_CTAID_Y:
	case TCB_PTX_SR_CLUSTER_CTAID_Z:
	case TCB_PTX_SR_CLUSTER_CTARANK:
	case TCB_PTX_SR_SMID:
	case TCB_PTX_SR_NWARPID:
		return (struct tcb_ptx_spread){ 0, TCB_PTX_UNIFORM_BLOCK };
	default: /* clocks, or sizes of the launch */
		return tcb_ptx_special_varies(special) ? anything : alike;
	}
}

/* --- operands --- */

struct tcb_ptx_spread tcb_ptx_operand_spread(const struct tcb_ptx_lane_env *env, const struct tcb_ptx_operand *operand)
{
	struct tcb_ptx_spread spread = alike;

	switch ((enum tcb_ptx_operand_kind)operand->kind) {
	case TCB_PTX_O_REG:
		return env->reg[operand->reg];
	case TCB_PTX_O_SPECIAL:
		return special_spread(env, (enum tcb_ptx_special)operand->special);
	case TCB_PTX_O_ADDRESS:
		if (operand->reg != TCB_PTX_NO_REG)
			spread = env->reg[operand->reg];
		/* fall through */
	case TCB_PTX_O_VECTOR:
	case TCB_PTX_O_PAIR:
	case TCB_PTX_O_LIST:
		for (uint32_t i = 0; i < operand->count; i++)
			spread = both(spread, tcb_ptx_operand_spread(env, &operand->items[i]));
		return spread;
	default:
		return alike;
	}
}

static struct tcb_ptx_spread sources(const struct tcb_ptx_lane_env *env, const struct tcb_ptx_ins *ins)
{
	struct tcb_ptx_spread spread = alike;

	for (unsigned i = ins->result_count; i < ins->operand_count; i++)
		spread = both(spread, tcb_ptx_operand_spread(env, &ins->operands[i]));
	return spread;
}

static struct tcb_ptx_bits read_bits(struct tcb_ptx_lane_env *env, const struct tcb_ptx_operand *operand,
				     unsigned width)
{
	return tcb_ptx_bits_read(&env->bits, operand, width);
}

static int is_full_mask(struct tcb_ptx_lane_env *env, const struct tcb_ptx_operand *operand)
{
	return (read_bits(env, operand, 32).ones & UINT32_MAX) == UINT32_MAX;
}

static uint64_t sign_fill(uint64_t lanes, unsigned width)
{
	return width < 64 && lanes >> (width - 1) & 1 ? lanes | ~tcb_ptx_low_bits(width) : lanes;
}

/* --- arithmetic --- */

/* The bits of A + B + CARRY that differ when those of LA and LB do: a carry differs where one of the three inputs does
 * and the other two are not known to be equal. */
static uint64_t sum_lanes(struct tcb_ptx_bits a, uint64_t la, struct tcb_ptx_bits b, uint64_t lb, int carry)
{
	uint64_t most = ~a.zeros + ~b.zeros + (carry != 0), least = a.ones + b.ones + (carry != 0);
	uint64_t zero = ~(most ^ ~a.zeros ^ ~b.zeros), one = least ^ a.ones ^ b.ones; /* known carries into bits */
	uint64_t fixed = (a.zeros & b.zeros) | (a.ones & b.ones); /* carries out, whatever comes in */
	uint64_t out = la | lb, differs = 0;

	fixed |= ((a.zeros | b.zeros) & zero) | ((a.ones | b.ones) & one);
	for (unsigned i = out ? (unsigned)__builtin_ctzll(out) : 64; i < 64; i++) {
		uint64_t here = (out >> i & 1) | differs;

		out |= differs << i;
		differs = here && !(fixed >> i & 1);
	}
	return out;
}

static struct tcb_ptx_bits complement(struct tcb_ptx_bits a)
{
	return (struct tcb_ptx_bits){ a.ones, a.zeros };
}

/* A product differs from the least bit where a factor does, moved up by the other's trailing zeros; by a power of two
 * all bits just move. */
static uint64_t product_lanes(struct tcb_ptx_bits a, uint64_t la, struct tcb_ptx_bits b, uint64_t lb)
{
	unsigned low = 64, up;

	if (la && !lb && tcb_ptx_bits_is_constant(b) && (b.ones & (b.ones - 1)) == 0)
		return b.ones ? la << __builtin_ctzll(b.ones) : 0;
	if (lb && !la && tcb_ptx_bits_is_constant(a) && (a.ones & (a.ones - 1)) == 0)
		return a.ones ? lb << __builtin_ctzll(a.ones) : 0;
	if (la) {
		up = (unsigned)__builtin_ctzll(la) + tcb_ptx_bits_trailing(b);
		low = up < low ? up : low;
	}
	if (lb) {
		up = (unsigned)__builtin_ctzll(lb) + tcb_ptx_bits_trailing(a);
		low = up < low ? up : low;
	}
	return ~tcb_ptx_low_bits(low);
}

/* Whether all of a warp agree how VARIES (which differs in its K low bits) compares with OTHER: yes for < and >= when
 * OTHER's K low bits are 0, for <= and > when they are 1, so that only the bits above decide. */
static int agree(enum tcb_ptx_word how, unsigned k, struct tcb_ptx_bits other)
{
	uint64_t low = tcb_ptx_low_bits(k);

	switch ((int)how) {
	case TCB_PTX_LT:
	case TCB_PTX_LO:
	case TCB_PTX_GE:
	case TCB_PTX_HS:
		return (other.zeros & low) == low;
	case TCB_PTX_LE:
	case TCB_PTX_LS:
	case TCB_PTX_GT:
	case TCB_PTX_HI:
		return (other.ones & low) == low;
	}
	return 0;
}

static enum tcb_ptx_word mirrored(enum tcb_ptx_word how)
{
	switch ((int)how) {
	case TCB_PTX_LT:
	case TCB_PTX_LO:
		return TCB_PTX_GT;
	case TCB_PTX_GE:
	case TCB_PTX_HS:
		return TCB_PTX_LE;
	case TCB_PTX_LE:
	case TCB_PTX_LS:
		return TCB_PTX_GE;
	case TCB_PTX_GT:
	case TCB_PTX_HI:
		return TCB_PTX_LT;
	}
	return how;
}

static struct tcb_ptx_spread compare_spread(struct tcb_ptx_lane_env *env, const struct tcb_ptx_ins *ins)
{
	enum tcb_ptx_word type = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE), how = tcb_ptx_mod(ins, TCB_PTX_SLOT_COMPARE);
	unsigned width = tcb_ptx_type_bits(type);
	struct tcb_ptx_spread all = smear(sources(env, ins)), a = tcb_ptx_operand_spread(env, &ins->operands[1]),
			      b = tcb_ptx_operand_spread(env, &ins->operands[2]);
	uint64_t lanes = (a.lanes | b.lanes) & tcb_ptx_low_bits(width);
	unsigned k = lanes ? 64 - (unsigned)__builtin_clzll(lanes) : 0;

	if (tcb_ptx_type_class(type) == TCB_PTX_CLASS_FLOAT || ins->mod[TCB_PTX_SLOT_BOOL] || !lanes || k >= width)
		return all;
	if ((!b.lanes && agree(how, k, read_bits(env, &ins->operands[2], width))) ||
	    (!a.lanes && agree(mirrored(how), k, read_bits(env, &ins->operands[1], width))))
		all.lanes = 0;
	return all;
}

static uint64_t arithmetic_lanes(struct tcb_ptx_lane_env *env, const struct tcb_ptx_ins *ins, unsigned width)
{
	const struct tcb_ptx_operand *o = ins->operands;
	uint64_t la = tcb_ptx_operand_spread(env, &o[1]).lanes, lb = tcb_ptx_operand_spread(env, &o[2]).lanes, product;
	struct tcb_ptx_bits a = read_bits(env, &o[1], width), b = read_bits(env, &o[2], width);
	unsigned wide = tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE) == TCB_PTX_WIDE ? 2 * width : width;
	int is_signed = tcb_ptx_type_class(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE)) == TCB_PTX_CLASS_SINT;

	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_ADD:
		return sum_lanes(a, la, b, lb, 0);
	case TCB_PTX_OP_SUB:
		return sum_lanes(a, la, complement(b), lb, 1);
	case TCB_PTX_OP_NEG:
		return sum_lanes(tcb_ptx_bits_constant(0), 0, complement(a), la, 1);
	default:
		break;
	}
	if (tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE) == TCB_PTX_HI)
		return ALL;
	if (wide > width && is_signed) {
		la = sign_fill(la, width);
		lb = sign_fill(lb, width);
	}
	product = product_lanes(a, la, b, lb) & tcb_ptx_low_bits(wide);
	if (ins->op == TCB_PTX_OP_MUL)
		return product;
	/* of the product's known bits only the trailing zeros matter for the carry */
	return sum_lanes(
		(struct tcb_ptx_bits){ tcb_ptx_low_bits(tcb_ptx_bits_trailing(a) + tcb_ptx_bits_trailing(b)), 0 },
		product, read_bits(env, &o[3], wide), tcb_ptx_operand_spread(env, &o[3]).lanes, 0);
}

/* Shifts, and division by a power of two, which is one for values that are never negative. */
static uint64_t shift_lanes(struct tcb_ptx_lane_env *env, const struct tcb_ptx_ins *ins, unsigned width)
{
	const struct tcb_ptx_operand *o = ins->operands;
	uint64_t la = tcb_ptx_operand_spread(env, &o[1]).lanes & tcb_ptx_low_bits(width),
		 lb = tcb_ptx_operand_spread(env, &o[2]).lanes;
	struct tcb_ptx_bits a = read_bits(env, &o[1], width), b = read_bits(env, &o[2], width);
	int is_signed = tcb_ptx_type_class(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE)) == TCB_PTX_CLASS_SINT;
	unsigned by = b.ones < width ? (unsigned)b.ones : width - 1;

	if (!(la | lb))
		return 0;
	if (lb || !tcb_ptx_bits_is_constant(b))
		return ALL;
	if (ins->op == TCB_PTX_OP_SHL)
		return la << by;
	if (ins->op == TCB_PTX_OP_SHR)
		return (is_signed ? (uint64_t)((int64_t)sign_fill(la, width) >> by) : la >> by);
	if (b.ones == 0 || b.ones & (b.ones - 1) || (is_signed && !(a.zeros >> (width - 1) & 1)))
		return ALL;
	return ins->op == TCB_PTX_OP_DIV ? la >> __builtin_ctzll(b.ones) : la & (b.ones - 1);
}

static uint64_t field_lanes(struct tcb_ptx_lane_env *env, const struct tcb_ptx_ins *ins, uint64_t lanes)
{
	struct tcb_ptx_bits start = read_bits(env, &ins->operands[2], 8), length = read_bits(env, &ins->operands[3], 8);

	if (!tcb_ptx_bits_is_constant(start) || !tcb_ptx_bits_is_constant(length) || start.ones > 63 ||
	    tcb_ptx_type_class(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE)) == TCB_PTX_CLASS_SINT)
		return ALL;
	return lanes >> start.ones & tcb_ptx_low_bits((unsigned)length.ones);
}

static struct tcb_ptx_spread move_spread(struct tcb_ptx_lane_env *env, const struct tcb_ptx_ins *ins, unsigned item)
{
	const struct tcb_ptx_operand *to = &ins->operands[0], *from = &ins->operands[1];
	unsigned width = tcb_ptx_type_bits(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE));
	struct tcb_ptx_spread spread = tcb_ptx_operand_spread(env, from);

	if (width > 64 || (to->kind == TCB_PTX_O_VECTOR && from->kind == TCB_PTX_O_VECTOR))
		return smear(spread);
	if (to->kind == TCB_PTX_O_VECTOR)
		spread.lanes = spread.lanes >> width / to->count * item & tcb_ptx_low_bits(width / to->count);
	if (from->kind == TCB_PTX_O_VECTOR) {
		spread.lanes = 0;
		for (unsigned i = 0; i < from->count; i++)
			spread.lanes |= (tcb_ptx_operand_spread(env, &from->items[i]).lanes &
					 tcb_ptx_low_bits(width / from->count))
					<< width / from->count * i;
	}
	return spread;
}

static struct tcb_ptx_spread convert_spread(struct tcb_ptx_lane_env *env, const struct tcb_ptx_ins *ins)
{
	enum tcb_ptx_word to = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE), from = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE2);
	struct tcb_ptx_spread spread = sources(env, ins);

	if ((tcb_ptx_type_class(to) != TCB_PTX_CLASS_UINT && tcb_ptx_type_class(to) != TCB_PTX_CLASS_SINT) ||
	    (tcb_ptx_type_class(from) != TCB_PTX_CLASS_UINT && tcb_ptx_type_class(from) != TCB_PTX_CLASS_SINT) ||
	    ins->mod[TCB_PTX_SLOT_SAT])
		return smear(spread);
	spread.lanes &= tcb_ptx_low_bits(tcb_ptx_type_bits(from));
	if (tcb_ptx_type_class(from) == TCB_PTX_CLASS_SINT)
		spread.lanes = sign_fill(spread.lanes, tcb_ptx_type_bits(from));
	spread.lanes &= tcb_ptx_low_bits(tcb_ptx_type_bits(to));
	if (tcb_ptx_type_class(to) == TCB_PTX_CLASS_SINT)
		spread.lanes = sign_fill(spread.lanes, tcb_ptx_type_bits(to));
	return spread;
}

/* --- memory and the lanes of a warp --- */

/* Whether ADDRESS is of the kernel's own parameters: named, or in a register, which can only have been taken from their
 * names.  What a call returns is in .param too. */
static int is_own_param(const struct tcb_ptx_lane_env *env, const struct tcb_ptx_operand *address)
{
	const struct tcb_ptx_symbol *symbol = address->symbol;

	if (!env->function->is_entry || !symbol)
		return env->function->is_entry;
	return symbol->space == TCB_PTX_PARAM && tcb_ptx_symbol_find(env->function->params, symbol->name) == symbol;
}

/* Weak loads from one address give one value: for another one a store would have to race.  Not more than a block's
 * threads agree on, unless nobody writes there. */
static struct tcb_ptx_spread load_spread(struct tcb_ptx_lane_env *env, const struct tcb_ptx_ins *ins)
{
	enum tcb_ptx_word order = tcb_ptx_mod(ins, TCB_PTX_SLOT_ORDER), space = tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE);
	struct tcb_ptx_spread spread = smear(sources(env, ins));

	if (order != TCB_PTX_NO_WORD && order != TCB_PTX_WEAK)
		return anything;
	switch ((int)space) {
	case TCB_PTX_CONST:
	case TCB_PTX_PARAM_ENTRY:
		return spread;
	case TCB_PTX_PARAM:
		return is_own_param(env, &ins->operands[1]) ? spread : anything;
	case TCB_PTX_GLOBAL:
		if (ins->mod[TCB_PTX_SLOT_NONCOHERENT] || !env->writes_global)
			return spread;
		break;
	case TCB_PTX_SHARED:
	case TCB_PTX_SHARED_CTA:
		break;
	case TCB_PTX_NO_WORD:
		if (!env->has_local)
			break;
		/* fall through */
	default:
		return anything;
	}
	return both(spread, (struct tcb_ptx_spread){ 0, TCB_PTX_UNIFORM_BLOCK });
}

/* Instructions that combine the lanes of a warp. */
static struct tcb_ptx_spread lanes_spread(struct tcb_ptx_lane_env *env, const struct tcb_ptx_ins *ins, unsigned item)
{
	const struct tcb_ptx_operand *o = ins->operands;
	struct tcb_ptx_spread value = tcb_ptx_operand_spread(env, &o[1]), one = { 0, TCB_PTX_UNIFORM_WARP };
	struct tcb_ptx_bits clamp;

	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_SHFL:
		if (item)
			return anything;
		clamp = read_bits(env, &o[3], 32);
		if (!value.lanes && !tcb_ptx_operand_spread(env, &o[2]).lanes)
			return value; /* everybody's is the same, also that of a lane out of range: its own */
		/* segments of 32 only: no bits of the segment mask */
		if (tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE) == TCB_PTX_IDX && is_full_mask(env, &o[4]) &&
		    !tcb_ptx_operand_spread(env, &o[2]).lanes && tcb_ptx_bits_is_constant(clamp) &&
		    !(clamp.ones >> 8 & 31))
			return one;
		return (struct tcb_ptx_spread){ value.lanes ? ALL : 0, TCB_PTX_UNIFORM_WARP };
	case TCB_PTX_OP_VOTE:
	case TCB_PTX_OP_REDUX:
	case TCB_PTX_OP_MATCH_ALL:
		return is_full_mask(env, &o[2]) ? one : anything;
	case TCB_PTX_OP_ELECT:
		return item == 0 && is_full_mask(env, &o[1]) ? one : anything;
	case TCB_PTX_OP_BAR_RED:
	case TCB_PTX_OP_BARRIER_RED: /* of the whole block, unless a count says otherwise */
		return ins->operand_count == 3 ? (struct tcb_ptx_spread){ 0, TCB_PTX_UNIFORM_BLOCK } : one;
	default: /* match.any: lanes with equal values get equal masks, others others */
		return anything;
	}
}

struct tcb_ptx_spread tcb_ptx_result_spread(struct tcb_ptx_lane_env *env, const struct tcb_ptx_ins *ins, unsigned item)
{
	enum tcb_ptx_word type = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE);
	enum tcb_ptx_class class = tcb_ptx_type_class(type);
	unsigned width = tcb_ptx_type_bits(type);
	int is_int = (class == TCB_PTX_CLASS_SINT || class == TCB_PTX_CLASS_UINT || class == TCB_PTX_CLASS_BITS) &&
		     !ins->mod[TCB_PTX_SLOT_SAT];
	struct tcb_ptx_spread spread;

	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_MOV:
		return move_spread(env, ins, item);
	case TCB_PTX_OP_CVT:
		return convert_spread(env, ins);
	case TCB_PTX_OP_SETP:
		return compare_spread(env, ins);
	case TCB_PTX_OP_LD:
	case TCB_PTX_OP_LDU:
		return load_spread(env, ins);
	case TCB_PTX_OP_CVTA: /* adds the base of a window */
		return sources(env, ins);
	case TCB_PTX_OP_SHFL:
	case TCB_PTX_OP_VOTE:
	case TCB_PTX_OP_REDUX:
	case TCB_PTX_OP_MATCH_ALL:
	case TCB_PTX_OP_ELECT:
	case TCB_PTX_OP_BAR_RED:
	case TCB_PTX_OP_BARRIER_RED:
		return lanes_spread(env, ins, item);
	case TCB_PTX_OP_ADDC:
	case TCB_PTX_OP_SUBC:
	case TCB_PTX_OP_MADC:
		return smear(both(sources(env, ins), env->carry));
	case TCB_PTX_OP_AND:
	case TCB_PTX_OP_OR:
	case TCB_PTX_OP_XOR:
	case TCB_PTX_OP_NOT:
	case TCB_PTX_OP_LOP3:
		return ins->operands[0].kind == TCB_PTX_O_REG ? sources(env, ins) : smear(sources(env, ins));
	default:
		break;
	}
	if (tcb_ptx_has(ins, TCB_PTX_F_READ | TCB_PTX_F_UNSTABLE | TCB_PTX_F_CONVERGENT | TCB_PTX_F_ASYNC))
		return anything;
	spread = sources(env, ins);
	if (!is_int || !spread.lanes)
		return smear(spread);
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_ADD:
	case TCB_PTX_OP_SUB:
	case TCB_PTX_OP_NEG:
	case TCB_PTX_OP_MUL:
	case TCB_PTX_OP_MAD:
		spread.lanes = arithmetic_lanes(env, ins, width);
		return spread;
	case TCB_PTX_OP_SHL:
	case TCB_PTX_OP_SHR:
	case TCB_PTX_OP_DIV:
	case TCB_PTX_OP_REM:
		spread.lanes = shift_lanes(env, ins, width);
		return spread;
	case TCB_PTX_OP_SELP:
		return tcb_ptx_operand_spread(env, &ins->operands[3]).lanes ? smear(spread) : spread;
	case TCB_PTX_OP_BFE:
		spread.lanes = field_lanes(env, ins, spread.lanes);
		return spread;
	default:
		return smear(spread);
	}
}

void tcb_ptx_lane_env_scan(struct tcb_ptx_lane_env *env)
{
	env->has_local = !env->function->is_entry;
	for (const struct tcb_ptx_symbol *symbol = env->function->locals; symbol; symbol = symbol->next)
		env->has_local |= symbol->space == TCB_PTX_LOCAL;
	for (const struct tcb_ptx_block *block = env->function->first; block; block = block->next)
		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
			enum tcb_ptx_word space = tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE);

			if (tcb_ptx_has(ins, TCB_PTX_F_WRITE) && space != TCB_PTX_SHARED &&
			    space != TCB_PTX_SHARED_CTA && space != TCB_PTX_LOCAL && space != TCB_PTX_PARAM)
				env->writes_global = 1;
		}
}
