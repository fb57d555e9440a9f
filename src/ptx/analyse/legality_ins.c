/* SPDX-License-Identifier: MIT
 *
 * In: one resolved instruction.  Out: the first rule that it breaks.
 *
 * Types follow section 9.4 of the PTX ISA: an operand has the instruction's
 * size and a class that fits (bits fit all, the two integer classes fit each
 * other, floats only themselves); ld, st and cvt also take registers wider than
 * the instruction's type, unless both are floats.
 */
#include "ptx/analyse/legality_parts.h"

#include <stdio.h>

/* --- types --- */

/* Small floats and pairs of them stand for bits: they have no wider registers. */
static int is_alternate(enum tcb_ptx_word type)
{
	return tcb_ptx_type_class(type) == TCB_PTX_CLASS_ALT;
}

/* Whether the register at INDEX may be wider than the type of INS. */
static int is_relaxed(const struct tcb_ptx_ins *ins, unsigned index, unsigned reg_bits)
{
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_LD:
	case TCB_PTX_OP_LDU:
	case TCB_PTX_OP_ST:
		return index < 2; /* not the cache policy */
	case TCB_PTX_OP_CVT:
		return reg_bits <= 64 && !is_alternate(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE)) &&
		       !is_alternate(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE2));
	default:
		return 0;
	}
}

/* Whether bits at INDEX may not be floats. */
static int is_strict(const struct tcb_ptx_ins *ins, unsigned index)
{
	unsigned last = ins->operand_count - 1u;

	if (ins->op >= TCB_PTX_OP_MBARRIER_INIT && ins->op <= TCB_PTX_OP_MBARRIER_PENDING_COUNT)
		return 1;
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_BMSK:
	case TCB_PTX_OP_REDUX:
	case TCB_PTX_OP_CVT_PACK:
	case TCB_PTX_OP_WGMMA:
	case TCB_PTX_OP_BAR_WARP_SYNC:
	case TCB_PTX_OP_CREATEPOLICY_FRACTIONAL:
		return 1;
	case TCB_PTX_OP_MATCH_ANY:
	case TCB_PTX_OP_MATCH_ALL:
		return index != 1;
	case TCB_PTX_OP_SHFL:
	case TCB_PTX_OP_ELECT:
	case TCB_PTX_OP_VOTE:
		return index == last;
	default:
		return ins->mod[TCB_PTX_SLOT_HINT] && index == last;
	}
}

/* Small floats in pairs: cvt wants them in registers of bits of just that size. */
static int is_small_pair(const struct tcb_ptx_ins *ins, enum tcb_ptx_word type)
{
	return ins->op == TCB_PTX_OP_CVT && (type == TCB_PTX_B8 || type == TCB_PTX_B16);
}

static int type_fits(enum tcb_ptx_word wanted, enum tcb_ptx_word reg, int relaxed)
{
	enum tcb_ptx_class want = tcb_ptx_type_class(wanted), have = tcb_ptx_type_class(reg);
	unsigned want_bits = tcb_ptx_type_bits(wanted), have_bits = tcb_ptx_type_bits(reg);

	if (want == TCB_PTX_CLASS_PRED || have == TCB_PTX_CLASS_PRED)
		return want == have;
	if (relaxed ? have_bits < want_bits : have_bits != want_bits)
		return 0;
	if (want == TCB_PTX_CLASS_BITS || have == TCB_PTX_CLASS_BITS)
		return 1;
	if (want == TCB_PTX_CLASS_ALT)
		return 0;
	if (want == TCB_PTX_CLASS_FLOAT || have == TCB_PTX_CLASS_FLOAT)
		return wanted == reg;
	return 1;
}

static int check_reg(const struct tcb_ptx_check *check, unsigned index, uint32_t reg, enum tcb_ptx_word type)
{
	enum tcb_ptx_word have = check->function->regs[reg].type;
	char name[64];

	int fits = type == TCB_PTX_NO_WORD ||
		   type_fits(type, have, is_relaxed(check->ins, index, tcb_ptx_type_bits(have)));

	if (type && type != have && tcb_ptx_type_class(have) == TCB_PTX_CLASS_FLOAT && is_strict(check->ins, index))
		fits = 0;
	if (type != have && is_small_pair(check->ins, type))
		fits = 0;
	if (fits)
		return 1;
	return tcb_ptx_check_fail(check, TCB_PTX_RULE_OPERAND_TYPE, "operand %u of %s must be .%s; register %s is .%s",
				  index + 1, tcb_ptx_check_op(check), tcb_ptx_word_text(type),
				  tcb_ptx_reg_name(check->function, reg, name, sizeof name), tcb_ptx_word_text(have));
}

static int check_immediate(const struct tcb_ptx_check *check, unsigned index, const struct tcb_ptx_operand *operand,
			   enum tcb_ptx_word type)
{
	enum tcb_ptx_class class = tcb_ptx_type_class(type);
	enum tcb_ptx_word to = tcb_ptx_mod(check->ins, TCB_PTX_SLOT_TYPE);
	int fits;

	if (check->ins->op == TCB_PTX_OP_MOVMATRIX || is_small_pair(check->ins, type) || type == TCB_PTX_B128 ||
	    (check->ins->op == TCB_PTX_OP_SETP && class == TCB_PTX_CLASS_PRED && is_alternate(to)))
		fits = 0;
	else if (operand->kind == TCB_PTX_O_INT)
		fits = class != TCB_PTX_CLASS_FLOAT && class != TCB_PTX_CLASS_ALT;
	else
		fits = (type == TCB_PTX_F32 && (operand->kind == TCB_PTX_O_F32 || !is_alternate(to))) ||
		       type == TCB_PTX_F64 ||
		       (type == (operand->kind == TCB_PTX_O_F32 ? TCB_PTX_B32 : TCB_PTX_B64) &&
			!is_strict(check->ins, index));
	if (fits || type == TCB_PTX_NO_WORD)
		return 1;
	return tcb_ptx_check_fail(check, TCB_PTX_RULE_IMMEDIATE_TYPE,
				  "operand %u of %s is .%s and cannot be %s constant", index + 1,
				  tcb_ptx_check_op(check), tcb_ptx_word_text(type),
				  operand->kind == TCB_PTX_O_INT ? "an integer" : "this floating-point");
}

/* mov of a special register: its own size, but for the old 16-bit view of indices. */
static int check_special(const struct tcb_ptx_check *check, const struct tcb_ptx_operand *operand,
			 enum tcb_ptx_word type)
{
	enum tcb_ptx_special special = (enum tcb_ptx_special)operand->special;
	enum tcb_ptx_word have = tcb_ptx_special_type(special);

	if (check->ins->op == TCB_PTX_OP_MOV &&
	    (type_fits(type, have, 0) || (tcb_ptx_type_bits(type) == 16 && special <= TCB_PTX_SR_NCTAID_Z)))
		return 1;
	if (check->ins->op != TCB_PTX_OP_MOV)
		return tcb_ptx_check_fail(check, TCB_PTX_RULE_SPECIAL_TYPE, "only mov reads %s",
					  tcb_ptx_special_text(special));
	return tcb_ptx_check_fail(check, TCB_PTX_RULE_SPECIAL_TYPE, "%s is .%s, not .%s", tcb_ptx_special_text(special),
				  tcb_ptx_word_text(have), tcb_ptx_word_text(type));
}

/* Whether an instruction for the space INS may address a symbol in SYMBOL. */
static int same_space(enum tcb_ptx_word ins, enum tcb_ptx_word symbol)
{
	switch ((int)ins) {
	case TCB_PTX_NO_WORD: /* generic: ptxas knows these spaces by the symbol */
		return symbol == TCB_PTX_GLOBAL || symbol == TCB_PTX_SHARED || symbol == TCB_PTX_LOCAL;
	case TCB_PTX_SHARED_CTA:
	case TCB_PTX_SHARED_CLUSTER:
		return symbol == TCB_PTX_SHARED;
	case TCB_PTX_PARAM_ENTRY:
	case TCB_PTX_PARAM_FUNC:
		return symbol == TCB_PTX_PARAM;
	}
	return ins == symbol;
}

/* The address of a variable: 64 bits, 32 only in windows that are that small. */
static int check_symbol(const struct tcb_ptx_check *check, const struct tcb_ptx_operand *operand,
			enum tcb_ptx_word type)
{
	enum tcb_ptx_word space = operand->symbol->space;
	enum tcb_ptx_word wanted = tcb_ptx_mod(check->ins, TCB_PTX_SLOT_SPACE);
	unsigned bits = tcb_ptx_type_bits(type);

	if (check->ins->op == TCB_PTX_OP_MAPA || check->ins->op == TCB_PTX_OP_GETCTARANK)
		wanted = TCB_PTX_SHARED;
	if (check->ins->op != TCB_PTX_OP_MOV && !same_space(wanted, space))
		return tcb_ptx_check_fail(check, TCB_PTX_RULE_ADDRESS_SPACE, "'%.60s' is not in %s memory",
					  operand->symbol->name, tcb_ptx_word_text(wanted));
	if ((bits == 64 && tcb_ptx_type_class(type) != TCB_PTX_CLASS_FLOAT) || bits == 0 ||
	    (bits == 32 &&
	     (space == TCB_PTX_SHARED || space == TCB_PTX_LOCAL || space == TCB_PTX_CONST || space == TCB_PTX_PARAM)))
		return 1;
	return tcb_ptx_check_fail(check, TCB_PTX_RULE_ADDRESS_TYPE, "the address of '%.60s' does not fit .%s; use .u64",
				  operand->symbol->name, tcb_ptx_word_text(type));
}

static int check_scalar(const struct tcb_ptx_check *check, unsigned index, const struct tcb_ptx_operand *operand,
			enum tcb_ptx_word type)
{
	switch ((enum tcb_ptx_operand_kind)operand->kind) {
	case TCB_PTX_O_REG:
		return check_reg(check, index, operand->reg, type);
	case TCB_PTX_O_INT:
	case TCB_PTX_O_F32:
	case TCB_PTX_O_F64:
		return check_immediate(check, index, operand, type);
	case TCB_PTX_O_SPECIAL:
		return check_special(check, operand, type);
	case TCB_PTX_O_SYMBOL:
		return check_symbol(check, operand, type);
	default:
		return 1;
	}
}

/* mov between a register and a vector that together have its bits. */
static int check_packing(const struct tcb_ptx_check *check)
{
	const struct tcb_ptx_operand *to = &check->ins->operands[0], *from = &check->ins->operands[1];
	const struct tcb_ptx_operand *vector = to->kind == TCB_PTX_O_VECTOR ? to : from;
	enum tcb_ptx_word type = tcb_ptx_mod(check->ins, TCB_PTX_SLOT_TYPE);
	unsigned bits = tcb_ptx_type_bits(type), each = bits / (vector->count ? vector->count : 1);

	if (vector->kind != TCB_PTX_O_VECTOR)
		return 1;
	if (to->kind == from->kind)
		return tcb_ptx_check_fail(check, TCB_PTX_RULE_PACKING,
					  "mov packs or unpacks: one side is a vector, the other a register");
	if (to->kind == TCB_PTX_O_SINK)
		return tcb_ptx_check_fail(check, TCB_PTX_RULE_PACKING, "mov cannot pack into _");
	if (vector->count != 2 && vector->count != 4)
		return tcb_ptx_check_fail(check, TCB_PTX_RULE_PACKING, "mov packs 2 or 4 elements, not %u",
					  vector->count);
	for (uint32_t i = 0; i < vector->count; i++)
		if (vector->items[i].kind == TCB_PTX_O_REG &&
		    tcb_ptx_type_bits(check->function->regs[vector->items[i].reg].type) != each)
			return tcb_ptx_check_fail(check, TCB_PTX_RULE_PACKING,
						  "mov.b%u of %u elements needs %u-bit registers", bits, vector->count,
						  each);
	return to == vector ? check_scalar(check, 1, from, type) : check_scalar(check, 0, to, type);
}

/* What the registers in braces are. */
struct elements {
	unsigned bits; /* of each; 0: there is no register */
	int has_bits, has_floats, has_integers, has_sink, has_value, is_mixed;
};

static struct elements elements_of(const struct tcb_ptx_check *check, const struct tcb_ptx_operand *vector)
{
	struct elements e = { 0 };

	for (uint32_t k = 0; k < vector->count; k++) {
		const struct tcb_ptx_operand *item = &vector->items[k];
		enum tcb_ptx_word type;

		*(item->kind == TCB_PTX_O_SINK ? &e.has_sink : &e.has_value) = 1;
		if (item->kind != TCB_PTX_O_REG)
			continue;
		type = check->function->regs[item->reg].type;
		e.is_mixed |= e.bits && e.bits != tcb_ptx_type_bits(type);
		e.bits = tcb_ptx_type_bits(type);
		e.has_bits |= tcb_ptx_type_class(type) == TCB_PTX_CLASS_BITS;
		e.has_floats |= tcb_ptx_type_class(type) == TCB_PTX_CLASS_FLOAT;
		e.has_integers |= tcb_ptx_type_class(type) == TCB_PTX_CLASS_UINT ||
				  tcb_ptx_type_class(type) == TCB_PTX_CLASS_SINT;
	}
	e.is_mixed |= e.has_floats && e.has_integers;
	return e;
}

/* The elements of a vector are of one size, and one of bits makes them all bits to ld and st; an element that stands
 * alone in mma and stmatrix is a register of bits. */
static int check_vector(const struct tcb_ptx_check *check, unsigned index, const struct tcb_ptx_operand *vector,
			enum tcb_ptx_word type)
{
	struct elements e = elements_of(check, vector);
	enum tcb_ptx_op op = (enum tcb_ptx_op)check->ins->op;
	const struct tcb_ptx_operand *items = vector->items;

	if (e.is_mixed)
		return tcb_ptx_check_fail(check, TCB_PTX_RULE_OPERAND_TYPE,
					  "the registers in braces of operand %u of %s are of different sizes or kinds",
					  index + 1, tcb_ptx_check_op(check));
	if (!e.has_value || (e.has_sink && (op == TCB_PTX_OP_WGMMA || tcb_ptx_mod(check->ins, TCB_PTX_SLOT_KIND))))
		return tcb_ptx_check_fail(check, TCB_PTX_RULE_OPERAND_TYPE, "operand %u of %s cannot be _", index + 1,
					  tcb_ptx_check_op(check));
	if (e.has_bits && (op == TCB_PTX_OP_LD || op == TCB_PTX_OP_LDU || op == TCB_PTX_OP_ST) &&
	    e.bits >= tcb_ptx_type_bits(type))
		return 1;
	for (uint32_t k = 0; k < vector->count; k++)
		if (!check_scalar(check, index, &items[k], type))
			return 0;
	if (vector->count > 1 || (op != TCB_PTX_OP_MMA && op != TCB_PTX_OP_STMATRIX))
		return 1;
	if (items->kind == TCB_PTX_O_REG && (op != TCB_PTX_OP_MMA || type != TCB_PTX_B32 || e.has_bits))
		return 1;
	return tcb_ptx_check_fail(check, TCB_PTX_RULE_OPERAND_TYPE,
				  "the one element in braces of operand %u of %s must be a register of type .b32",
				  index + 1, tcb_ptx_check_op(check));
}

static int check_operand_types(const struct tcb_ptx_check *check)
{
	const struct tcb_ptx_ins *ins = check->ins;

	if (ins->op == TCB_PTX_OP_CALL)
		return 1;
	if (ins->op == TCB_PTX_OP_MOV &&
	    (ins->operands[0].kind == TCB_PTX_O_VECTOR || ins->operands[1].kind == TCB_PTX_O_VECTOR))
		return check_packing(check);
	for (unsigned i = 0; i < ins->operand_count; i++) {
		const struct tcb_ptx_operand *operand = &ins->operands[i];
		unsigned count;
		enum tcb_ptx_word type = tcb_ptx_operand_type(ins, i, &count);

		if (ins->op == TCB_PTX_OP_CP_ASYNC && !type && operand->kind != TCB_PTX_O_ADDRESS &&
		    (operand->kind != TCB_PTX_O_REG || check->function->regs[operand->reg].type != TCB_PTX_PRED))
			type = TCB_PTX_U32; /* bytes to copy before zeros; a predicate says to copy none */
		if (operand->kind == TCB_PTX_O_PAIR) {
			if (ins->op == TCB_PTX_OP_LOP3 && operand->items[1].kind == TCB_PTX_O_SINK)
				return tcb_ptx_check_fail(check, TCB_PTX_RULE_OPERAND_TYPE,
							  "lop3 with a predicate cannot discard it");
			if (!check_scalar(check, i, &operand->items[0], type) ||
			    !check_scalar(check, i, &operand->items[1], TCB_PTX_PRED))
				return 0;
		} else if (operand->kind == TCB_PTX_O_VECTOR) {
			if (!check_vector(check, i, operand, type))
				return 0;
		} else if (!check_scalar(check, i, operand, type)) {
			return 0;
		}
		if (operand->kind == TCB_PTX_O_REG && operand->negated && type != TCB_PTX_PRED)
			return tcb_ptx_check_fail(check, TCB_PTX_RULE_OPERAND_TYPE,
						  "'!' stands before predicates only");
	}
	return 1;
}

/* --- addresses --- */

static int is_shared(enum tcb_ptx_word space)
{
	return space == TCB_PTX_SHARED || space == TCB_PTX_SHARED_CTA || space == TCB_PTX_SHARED_CLUSTER;
}

static int check_base_reg(const struct tcb_ptx_check *check, uint32_t reg, enum tcb_ptx_word space)
{
	enum tcb_ptx_word type = check->function->regs[reg].type;
	enum tcb_ptx_class class = tcb_ptx_type_class(type);
	unsigned bits = tcb_ptx_type_bits(type);
	char name[64];

	tcb_ptx_reg_name(check->function, reg, name, sizeof name);
	if (class != TCB_PTX_CLASS_BITS && class != TCB_PTX_CLASS_UINT && class != TCB_PTX_CLASS_SINT)
		return tcb_ptx_check_fail(check, TCB_PTX_RULE_ADDRESS_TYPE,
					  "an address is an integer; register %s is .%s", name,
					  tcb_ptx_word_text(type));
	if (bits == 64 || (bits == 32 && space != TCB_PTX_NO_WORD && space != TCB_PTX_GLOBAL))
		return 1;
	return tcb_ptx_check_fail(check, TCB_PTX_RULE_ADDRESS_TYPE, "a %s address is 64 bits wide; register %s is .%s",
				  space ? tcb_ptx_word_text(space) : "generic", name, tcb_ptx_word_text(type));
}

/* Shared memory that a register reaches by a number that nobody derived from a symbol. */
static int is_raw_number(const struct tcb_ptx_check *check, uint32_t reg)
{
	const struct tcb_ptx_reg *known = &check->function->regs[reg];

	return known->defs == 1 && known->def && known->def->op == TCB_PTX_OP_MOV &&
	       known->def->guard == TCB_PTX_NO_REG && known->def->operands[1].kind == TCB_PTX_O_INT;
}

/* Of addresses in variables; for registers see build_align.c and the alignment analysis. */
static int check_alignment(const struct tcb_ptx_check *check, const struct tcb_ptx_operand *operand,
			   const struct tcb_ptx_access *access)
{
	uint64_t align;

	if (!operand->symbol || operand->symbol->space == TCB_PTX_PARAM || /* ptxas splits those of parameters */
	    access->align < 2 || (access->align & (access->align - 1)))
		return 1;
	align = tcb_ptx_symbol_align(operand->symbol) | operand->bits;
	align &= -align;
	if (align >= access->align)
		return 1;
	return tcb_ptx_check_fail(
		check, TCB_PTX_RULE_ALIGNMENT,
		"%s here needs an address that is a multiple of %u; this one is a multiple of %u only: use narrower "
		"vectors, or declare a larger alignment",
		tcb_ptx_check_op(check), access->align, (unsigned)align);
}

static int is_barrier(const struct tcb_ptx_ins *ins)
{
	return (ins->op >= TCB_PTX_OP_MBARRIER_INIT && ins->op <= TCB_PTX_OP_MBARRIER_TRY_WAIT) ||
	       ins->op == TCB_PTX_OP_CP_ASYNC_MBARRIER_ARRIVE;
}

/* An address in Tensor Memory, of 32 bits in any register. */
static int is_in_tensor_memory(const struct tcb_ptx_ins *ins)
{
	return ins->op >= TCB_PTX_OP_TCGEN05_LD && ins->op <= TCB_PTX_OP_TCGEN05_SHIFT;
}

static int check_address(const struct tcb_ptx_check *check, unsigned index, const struct tcb_ptx_operand *operand)
{
	struct tcb_ptx_access access = { tcb_ptx_mod(check->ins, TCB_PTX_SLOT_SPACE), 0, 0, 0, 0 };
	int touches = tcb_ptx_access(check->ins, index, &access);

	if (operand->reg != TCB_PTX_NO_REG && is_in_tensor_memory(check->ins))
		return check_base_reg(check, operand->reg, TCB_PTX_SHARED);
	if (operand->reg != TCB_PTX_NO_REG) {
		if (!check_base_reg(check, operand->reg, access.space))
			return 0;
		if (is_shared(access.space) && is_raw_number(check, operand->reg))
			return tcb_ptx_check_fail(check, TCB_PTX_RULE_SHARED_SYMBOL,
						  "shared memory is addressed through its symbol, not by a number");
	} else if (!operand->symbol) {
		if (is_shared(access.space))
			return tcb_ptx_check_fail(check, TCB_PTX_RULE_SHARED_SYMBOL,
						  "shared memory is addressed through its symbol, not by a number");
		if (access.space != TCB_PTX_LOCAL)
			return tcb_ptx_check_fail(check, TCB_PTX_RULE_ADDRESS_SPACE,
						  "only local memory may be addressed by a number");
	} else if (is_barrier(check->ins) && operand->symbol->space == TCB_PTX_GLOBAL) {
		return tcb_ptx_check_fail(check, TCB_PTX_RULE_ADDRESS_SPACE,
					  "a barrier object lies in shared memory; '%.60s' does not",
					  operand->symbol->name);
	} else if (operand->symbol->function || !same_space(access.space, operand->symbol->space)) {
		return tcb_ptx_check_fail(check, TCB_PTX_RULE_ADDRESS_SPACE,
					  "'%.60s' is not in the space that %s addresses (%s)", operand->symbol->name,
					  tcb_ptx_check_op(check),
					  access.space ? tcb_ptx_word_text(access.space) : "generic");
	}
	return !touches || check_alignment(check, operand, &access);
}

/* Parameters of an entry are read-only; a function writes its results and the arguments of its calls. */
static int check_param_write(const struct tcb_ptx_check *check)
{
	const struct tcb_ptx_symbol *param;

	if (check->ins->op != TCB_PTX_OP_ST || tcb_ptx_mod(check->ins, TCB_PTX_SLOT_SPACE) != TCB_PTX_PARAM)
		return 1;
	for (param = check->function->params; param; param = param->next)
		if (param == check->ins->operands[0].symbol)
			return tcb_ptx_check_fail(check, TCB_PTX_RULE_PARAM_WRITE,
						  "parameter '%.60s' cannot be written", param->name);
	return 1;
}

/* --- versions and targets --- */

static int check_needs(const struct tcb_ptx_check *check, const char *what, unsigned version, unsigned sm)
{
	const struct tcb_ptx_module *module = check->function->module;
	char have[16];

	if (module->version < version)
		return tcb_ptx_check_fail(check, TCB_PTX_RULE_VERSION, "%s needs PTX %u.%u; the module says %u.%u",
					  what, version / 10, version % 10, module->version / 10, module->version % 10);
	if (module->target.sm < sm)
		return tcb_ptx_check_fail(check, TCB_PTX_RULE_TARGET, "%s needs sm_%u or later; the target is %s", what,
					  sm, tcb_ptx_target_text(&module->target, have));
	return 1;
}

static int check_form_target(const struct tcb_ptx_check *check, const struct tcb_ptx_form *form)
{
	const struct tcb_ptx_target *target = &check->function->module->target;
	char wanted[80] = "", have[16], one[16];
	int used = 0;

	for (unsigned i = 0; i < form->target_count; i++)
		if (tcb_ptx_target_allows(target, &form->target[i]))
			return 1;
	for (unsigned i = 0; i < form->target_count; i++)
		used += snprintf(wanted + used, sizeof wanted - (size_t)used, "%s%s%s", i ? ", " : "",
				 tcb_ptx_target_text(&form->target[i], one),
				 form->target[i].feature ? "" : " or later");
	return !form->target_count ||
	       tcb_ptx_check_fail(check, TCB_PTX_RULE_TARGET, "this form of %s needs %s; the target is %s",
				  tcb_ptx_check_op(check), wanted, tcb_ptx_target_text(target, have));
}

static int check_special_needs(const struct tcb_ptx_check *check)
{
	static const struct {
		unsigned version, sm;
	} needs[] = {
#define SPECIAL_NEEDS(id, text, type, version, sm) { version, sm },
		TCB_PTX_SPECIAL_LIST(SPECIAL_NEEDS)
#undef SPECIAL_NEEDS
	};

	for (unsigned i = 0; i < check->ins->operand_count; i++) {
		unsigned special = check->ins->operands[i].special;

		if (check->ins->operands[i].kind == TCB_PTX_O_SPECIAL &&
		    !check_needs(check, tcb_ptx_special_text((enum tcb_ptx_special)special), needs[special].version,
				 needs[special].sm))
			return 0;
	}
	return 1;
}

static int check_target(const struct tcb_ptx_check *check)
{
	const struct tcb_ptx_form *form = tcb_ptx_form(check->ins->form);

	if (!check_needs(check, tcb_ptx_check_op(check), form->version, 0) || !check_form_target(check, form))
		return 0;
	for (unsigned i = 0; i < form->slot_count; i++) {
		enum tcb_ptx_word word = tcb_ptx_mod(check->ins, (enum tcb_ptx_slot)form->slot[i].slot);
		struct tcb_ptx_target target;
		unsigned version;

		if (!word)
			continue;
		tcb_ptx_word_needs(word, &version, &target);
		if (!check_needs(check, tcb_ptx_word_text(word), version, target.sm))
			return 0;
	}
	return check_special_needs(check);
}

int tcb_ptx_verify_ins(const struct tcb_ptx_function *function, const struct tcb_ptx_ins *ins,
		       struct tcb_ptx_finding *finding)
{
	struct tcb_ptx_check check = { function, ins, finding };

	if (ins->guard != TCB_PTX_NO_REG && function->regs[ins->guard].type != TCB_PTX_PRED)
		return tcb_ptx_check_fail(&check, TCB_PTX_RULE_OPERAND_TYPE,
					  "the guard of an instruction is a predicate");
	if (ins->opaque) /* the assembler's to judge */
		return 1;
	if (!check_target(&check) || !check_operand_types(&check) || !check_param_write(&check) ||
	    !tcb_ptx_check_values(&check))
		return 0;
	for (unsigned i = 0; i < ins->operand_count; i++)
		if (ins->operands[i].kind == TCB_PTX_O_ADDRESS && !check_address(&check, i, &ins->operands[i]))
			return 0;
	return 1;
}
