/* SPDX-License-Identifier: MIT
 *
 * In: one resolved instruction.  Out: the first rule that it breaks.
 *
 * Types follow section 9.4 of the PTX ISA: an operand has the instruction's
 * size and a class that fits (bits fit all, the two integer classes fit each
 * other, floats only themselves); ld, st and cvt also take registers wider than
 * the instruction's type, unless both are floats.
 */
#include "ptx/legality.h"
#include "ptx/opcodes.h"

#include <stdarg.h>
#include <stdio.h>

struct check {
	const struct tcb_ptx_function *function;
	const struct tcb_ptx_ins *ins;
	struct tcb_ptx_finding *finding;
};

static int fail(const struct check *check, enum tcb_ptx_rule rule, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns 0, so that a rule can end with it. */
static int fail(const struct check *check, enum tcb_ptx_rule rule, const char *format, ...)
{
	struct tcb_ptx_finding *finding = check->finding;
	va_list args;
	int used;

	finding->rule = rule;
	finding->severity = TCB_PTX_ERROR;
	finding->function = check->function;
	finding->ins = check->ins;
	finding->line = check->ins->line;
	used = snprintf(finding->message, sizeof finding->message, "%s: ", tcb_ptx_rule_name(rule));
	va_start(args, format);
	vsnprintf(finding->message + used, sizeof finding->message - (size_t)used, format, args);
	va_end(args);
	return 0;
}

static const char *op_text(const struct check *check)
{
	return tcb_ptx_op_text((enum tcb_ptx_op)check->ins->op);
}

/* --- types --- */

/* Instructions whose registers may be wider than their types. */
static int is_relaxed(const struct tcb_ptx_ins *ins)
{
	return ins->op == TCB_PTX_OP_LD || ins->op == TCB_PTX_OP_LDU || ins->op == TCB_PTX_OP_ST ||
	       ins->op == TCB_PTX_OP_CVT;
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

static int check_reg(const struct check *check, unsigned index, uint32_t reg, enum tcb_ptx_word type)
{
	enum tcb_ptx_word have = check->function->regs[reg].type;
	char name[64];

	if (type == TCB_PTX_NO_WORD || type_fits(type, have, is_relaxed(check->ins)))
		return 1;
	return fail(check, TCB_PTX_RULE_OPERAND_TYPE, "operand %u of %s must be .%s; register %s is .%s", index + 1,
		    op_text(check), tcb_ptx_word_text(type), tcb_ptx_reg_name(check->function, reg, name, sizeof name),
		    tcb_ptx_word_text(have));
}

static int check_immediate(const struct check *check, unsigned index, const struct tcb_ptx_operand *operand,
			   enum tcb_ptx_word type)
{
	enum tcb_ptx_class class = tcb_ptx_type_class(type);
	int fits;

	if (operand->kind == TCB_PTX_O_INT)
		fits = class != TCB_PTX_CLASS_FLOAT && class != TCB_PTX_CLASS_ALT;
	else
		fits = type == TCB_PTX_F32 || type == TCB_PTX_F64 ||
		       type == (operand->kind == TCB_PTX_O_F32 ? TCB_PTX_B32 : TCB_PTX_B64);
	if (fits || type == TCB_PTX_NO_WORD)
		return 1;
	return fail(check, TCB_PTX_RULE_IMMEDIATE_TYPE, "operand %u of %s is .%s and cannot be %s constant", index + 1,
		    op_text(check), tcb_ptx_word_text(type),
		    operand->kind == TCB_PTX_O_INT ? "an integer" : "this floating-point");
}

/* mov of a special register: its own size, but for the old 16-bit view of indices. */
static int check_special(const struct check *check, const struct tcb_ptx_operand *operand, enum tcb_ptx_word type)
{
	enum tcb_ptx_special special = (enum tcb_ptx_special)operand->special;
	enum tcb_ptx_word have = tcb_ptx_special_type(special);

	if (type_fits(type, have, 0) || (type == TCB_PTX_U16 && special <= TCB_PTX_SR_NCTAID_Z))
		return 1;
	return fail(check, TCB_PTX_RULE_SPECIAL_TYPE, "%s is .%s, not .%s", tcb_ptx_special_text(special),
		    tcb_ptx_word_text(have), tcb_ptx_word_text(type));
}

/* The address of a variable: 64 bits, 32 only in windows that are that small. */
static int check_symbol(const struct check *check, const struct tcb_ptx_operand *operand, enum tcb_ptx_word type)
{
	enum tcb_ptx_word space = operand->symbol->space;
	unsigned bits = tcb_ptx_type_bits(type);

	if (bits == 64 || bits == 0 ||
	    (bits == 32 &&
	     (space == TCB_PTX_SHARED || space == TCB_PTX_LOCAL || space == TCB_PTX_CONST || space == TCB_PTX_PARAM)))
		return 1;
	return fail(check, TCB_PTX_RULE_ADDRESS_TYPE, "the address of '%.60s' does not fit .%s; use .u64",
		    operand->symbol->name, tcb_ptx_word_text(type));
}

static int check_scalar(const struct check *check, unsigned index, const struct tcb_ptx_operand *operand,
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
static int check_packing(const struct check *check)
{
	const struct tcb_ptx_operand *to = &check->ins->operands[0], *from = &check->ins->operands[1];
	const struct tcb_ptx_operand *vector = to->kind == TCB_PTX_O_VECTOR ? to : from;
	enum tcb_ptx_word type = tcb_ptx_mod(check->ins, TCB_PTX_SLOT_TYPE);
	unsigned bits = tcb_ptx_type_bits(type), each = bits / (vector->count ? vector->count : 1);

	if (vector->kind != TCB_PTX_O_VECTOR)
		return 1;
	if (to->kind == from->kind)
		return fail(check, TCB_PTX_RULE_PACKING,
			    "mov packs or unpacks: one side is a vector, the other a register");
	if (vector->count != 2 && vector->count != 4)
		return fail(check, TCB_PTX_RULE_PACKING, "mov packs 2 or 4 elements, not %u", vector->count);
	for (uint32_t i = 0; i < vector->count; i++)
		if (vector->items[i].kind == TCB_PTX_O_REG &&
		    tcb_ptx_type_bits(check->function->regs[vector->items[i].reg].type) != each)
			return fail(check, TCB_PTX_RULE_PACKING, "mov.b%u of %u elements needs %u-bit registers", bits,
				    vector->count, each);
	return to == vector ? check_scalar(check, 1, from, type) : check_scalar(check, 0, to, type);
}

static int check_operand_types(const struct check *check)
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

		if (operand->kind == TCB_PTX_O_PAIR) {
			if (!check_scalar(check, i, &operand->items[0], type) ||
			    !check_scalar(check, i, &operand->items[1], TCB_PTX_PRED))
				return 0;
		} else if (operand->kind == TCB_PTX_O_VECTOR) {
			for (uint32_t k = 0; k < operand->count; k++)
				if (!check_scalar(check, i, &operand->items[k], type))
					return 0;
		} else if (!check_scalar(check, i, operand, type)) {
			return 0;
		}
		if (operand->kind == TCB_PTX_O_REG && operand->negated && type != TCB_PTX_PRED)
			return fail(check, TCB_PTX_RULE_OPERAND_TYPE, "'!' stands before predicates only");
	}
	return 1;
}

/* --- addresses --- */

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

static int is_shared(enum tcb_ptx_word space)
{
	return space == TCB_PTX_SHARED || space == TCB_PTX_SHARED_CTA || space == TCB_PTX_SHARED_CLUSTER;
}

static int check_base_reg(const struct check *check, uint32_t reg, enum tcb_ptx_word space)
{
	enum tcb_ptx_word type = check->function->regs[reg].type;
	enum tcb_ptx_class class = tcb_ptx_type_class(type);
	unsigned bits = tcb_ptx_type_bits(type);
	char name[64];

	tcb_ptx_reg_name(check->function, reg, name, sizeof name);
	if (class != TCB_PTX_CLASS_BITS && class != TCB_PTX_CLASS_UINT && class != TCB_PTX_CLASS_SINT)
		return fail(check, TCB_PTX_RULE_ADDRESS_TYPE, "an address is an integer; register %s is .%s", name,
			    tcb_ptx_word_text(type));
	if (bits == 64 || (bits == 32 && space != TCB_PTX_NO_WORD && space != TCB_PTX_GLOBAL))
		return 1;
	return fail(check, TCB_PTX_RULE_ADDRESS_TYPE, "a %s address is 64 bits wide; register %s is .%s",
		    space ? tcb_ptx_word_text(space) : "generic", name, tcb_ptx_word_text(type));
}

/* Shared memory that a register reaches by a number that nobody derived from a symbol. */
static int is_raw_number(const struct check *check, uint32_t reg)
{
	const struct tcb_ptx_reg *known = &check->function->regs[reg];

	return known->defs == 1 && known->def && known->def->op == TCB_PTX_OP_MOV &&
	       known->def->guard == TCB_PTX_NO_REG && known->def->operands[1].kind == TCB_PTX_O_INT;
}

/* Of addresses in variables; for registers see build_align.c and the alignment analysis. */
static int check_alignment(const struct check *check, const struct tcb_ptx_operand *operand,
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
	return fail(
		check, TCB_PTX_RULE_ALIGNMENT,
		"%s here needs an address that is a multiple of %u; this one is a multiple of %u only: use narrower "
		"vectors, or declare a larger alignment",
		op_text(check), access->align, (unsigned)align);
}

static int check_address(const struct check *check, unsigned index, const struct tcb_ptx_operand *operand)
{
	struct tcb_ptx_access access = { tcb_ptx_mod(check->ins, TCB_PTX_SLOT_SPACE), 0, 0, 0, 0 };
	int touches = tcb_ptx_access(check->ins, index, &access);

	if (check->ins->op == TCB_PTX_OP_PREFETCHU || check->ins->op == TCB_PTX_OP_FENCE_PROXY)
		return 1;
	if (operand->reg != TCB_PTX_NO_REG) {
		if (!check_base_reg(check, operand->reg, access.space))
			return 0;
		if (is_shared(access.space) && is_raw_number(check, operand->reg))
			return fail(check, TCB_PTX_RULE_SHARED_SYMBOL,
				    "shared memory is addressed through its symbol, not by a number");
	} else if (!operand->symbol) {
		if (is_shared(access.space))
			return fail(check, TCB_PTX_RULE_SHARED_SYMBOL,
				    "shared memory is addressed through its symbol, not by a number");
		if (access.space != TCB_PTX_LOCAL)
			return fail(check, TCB_PTX_RULE_ADDRESS_SPACE,
				    "only local memory may be addressed by a number");
	} else if (operand->symbol->function || !same_space(access.space, operand->symbol->space)) {
		return fail(check, TCB_PTX_RULE_ADDRESS_SPACE, "'%.60s' is not in the space that %s addresses (%s)",
			    operand->symbol->name, op_text(check),
			    access.space ? tcb_ptx_word_text(access.space) : "generic");
	}
	return !touches || check_alignment(check, operand, &access);
}

/* Parameters of an entry are read-only; a function writes its results and the arguments of its calls. */
static int check_param_write(const struct check *check)
{
	const struct tcb_ptx_symbol *param;

	if (check->ins->op != TCB_PTX_OP_ST || tcb_ptx_mod(check->ins, TCB_PTX_SLOT_SPACE) != TCB_PTX_PARAM)
		return 1;
	for (param = check->function->params; param; param = param->next)
		if (param == check->ins->operands[0].symbol)
			return fail(check, TCB_PTX_RULE_PARAM_WRITE, "parameter '%.60s' cannot be written",
				    param->name);
	return 1;
}

static int check_vector_size(const struct check *check)
{
	const struct tcb_ptx_ins *ins = check->ins;
	unsigned bits = tcb_ptx_type_bits(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE)), count = tcb_ptx_vector_count(ins);
	enum tcb_ptx_word space = tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE);

	if ((ins->op != TCB_PTX_OP_LD && ins->op != TCB_PTX_OP_LDU && ins->op != TCB_PTX_OP_ST) ||
	    (bits * count <= 128 && count < 8))
		return 1;
	if (bits * count != 256)
		return fail(check, TCB_PTX_RULE_VECTOR_SIZE, "%u elements of %u bits: a vector holds 128 bits, or 256",
			    count, bits);
	if (check->function->module->target.sm < 100 || check->function->module->version < 88)
		return fail(check, TCB_PTX_RULE_TARGET, "vectors of 256 bits need sm_100 and PTX 8.8");
	if (space != TCB_PTX_GLOBAL)
		return fail(check, TCB_PTX_RULE_VECTOR_SIZE, "vectors of 256 bits are for global memory only");
	return 1;
}

/* --- values of immediates --- */

static int check_shfl(const struct check *check)
{
	const struct tcb_ptx_operand *c = &check->ins->operands[3];
	int is_up = tcb_ptx_mod(check->ins, TCB_PTX_SLOT_MODE) == TCB_PTX_UP;
	unsigned clamp = (unsigned)(c->bits & 31), segments = (unsigned)(c->bits >> 8 & 31);

	if (c->kind != TCB_PTX_O_INT)
		return 1;
	if ((c->bits & ~0x1f1full) || (is_up ? clamp & ~segments : (clamp | segments) != 31))
		return fail(check, TCB_PTX_RULE_SHFL_CLAMP,
			    "the last but one operand of shfl for a width W is (32-W)<<8%s, not %lld%s",
			    is_up ? "" : "|31", (long long)c->bits, is_up ? "" : " (31 for a whole warp)");
	return 1;
}

/* An immediate at INDEX must lie in [LEAST, MOST] and be a multiple of STEP. */
static int in_range(const struct check *check, unsigned index, uint64_t least, uint64_t most, uint64_t step)
{
	const struct tcb_ptx_operand *operand = &check->ins->operands[index];

	if (operand->kind != TCB_PTX_O_INT ||
	    (operand->bits >= least && operand->bits <= most && operand->bits % step == 0))
		return 1;
	return fail(check, TCB_PTX_RULE_IMMEDIATE_RANGE, "operand %u of %s is %lld; it must be %llu to %llu%s",
		    index + 1, op_text(check), (long long)operand->bits, (unsigned long long)least,
		    (unsigned long long)most,
		    step == 32   ? ", a multiple of 32"
		    : step == 16 ? ", a multiple of 16"
		    : step == 8  ? ", a multiple of 8"
				 : "");
}

static int check_cp_async(const struct check *check)
{
	uint64_t bytes = check->ins->operands[2].bits;
	const struct tcb_ptx_operand *rest = &check->ins->operands[3];

	/* the bytes to copy before zeros, or a predicate that says to copy none */
	if (check->ins->operand_count > 3u + (tcb_ptx_mod(check->ins, TCB_PTX_SLOT_HINT) != 0) &&
	    rest->kind == TCB_PTX_O_REG && check->function->regs[rest->reg].type != TCB_PTX_PRED &&
	    !check_reg(check, 3, rest->reg, TCB_PTX_U32))
		return 0;

	if (tcb_ptx_mod(check->ins, TCB_PTX_SLOT_CACHE) == TCB_PTX_CG)
		return in_range(check, 2, 16, 16, 1);
	if (bytes == 4 || bytes == 8 || bytes == 16)
		return 1;
	return fail(check, TCB_PTX_RULE_IMMEDIATE_RANGE, "cp.async copies 4, 8 or 16 bytes, not %lld",
		    (long long)bytes);
}

/* bar and barrier: id, then the number of threads if there is one. */
static int check_barrier(const struct check *check)
{
	const struct tcb_ptx_ins *ins = check->ins;
	unsigned id = ins->result_count, threads = id + 1;
	int is_red = ins->op == TCB_PTX_OP_BAR_RED || ins->op == TCB_PTX_OP_BARRIER_RED;

	if (!in_range(check, id, 0, 15, 1))
		return 0;
	return ins->operand_count <= threads + (unsigned)is_red || in_range(check, threads, 32, 1024, 32);
}

static int check_wgmma(const struct check *check)
{
	const struct tcb_ptx_ins *ins = check->ins;

	for (unsigned i = 4; i < ins->operand_count; i++) {
		int64_t value = (int64_t)ins->operands[i].bits;

		if (i < 6 ? value != 1 && value != -1 : value != 0 && value != 1)
			return fail(check, TCB_PTX_RULE_IMMEDIATE_RANGE, "operand %u of wgmma is %s, not %lld", i + 1,
				    i < 6 ? "1 or -1" : "0 or 1", (long long)value);
	}
	return 1;
}

/* .sat between integers is for destinations that do not hold every value of the source. */
static int check_saturation(const struct check *check)
{
	enum tcb_ptx_word to = tcb_ptx_mod(check->ins, TCB_PTX_SLOT_TYPE),
			  from = tcb_ptx_mod(check->ins, TCB_PTX_SLOT_TYPE2);
	int to_signed = tcb_ptx_type_class(to) == TCB_PTX_CLASS_SINT,
	    from_signed = tcb_ptx_type_class(from) == TCB_PTX_CLASS_SINT;
	unsigned to_bits = tcb_ptx_type_bits(to), from_bits = tcb_ptx_type_bits(from);

	if (tcb_ptx_mod(check->ins, TCB_PTX_SLOT_SAT) != TCB_PTX_SAT ||
	    (!to_signed && tcb_ptx_type_class(to) != TCB_PTX_CLASS_UINT) ||
	    (!from_signed && tcb_ptx_type_class(from) != TCB_PTX_CLASS_UINT))
		return 1;
	if (to_signed == from_signed ? to_bits < from_bits : from_signed || to_bits <= from_bits)
		return 1;
	return fail(check, TCB_PTX_RULE_CVT_SATURATION, ".%s holds every .%s: leave .sat out", tcb_ptx_word_text(to),
		    tcb_ptx_word_text(from));
}

static int check_values(const struct check *check)
{
	switch ((enum tcb_ptx_op)check->ins->op) {
	case TCB_PTX_OP_CVT:
		return check_saturation(check);
	case TCB_PTX_OP_SHFL:
		return check_shfl(check);
	case TCB_PTX_OP_LOP3:
		return in_range(check, 4, 0, 255, 1);
	case TCB_PTX_OP_CP_ASYNC:
		return check_cp_async(check);
	case TCB_PTX_OP_CP_ASYNC_BULK:
	case TCB_PTX_OP_CP_REDUCE_ASYNC_BULK:
		return in_range(check, 2, 0, UINT32_MAX, 16);
	case TCB_PTX_OP_CP_ASYNC_BULK_PREFETCH:
		return in_range(check, 1, 0, UINT32_MAX, 16);
	case TCB_PTX_OP_BAR_SYNC:
	case TCB_PTX_OP_BAR_ARRIVE:
	case TCB_PTX_OP_BAR_RED:
	case TCB_PTX_OP_BARRIER_SYNC:
	case TCB_PTX_OP_BARRIER_ARRIVE:
	case TCB_PTX_OP_BARRIER_RED:
		return check_barrier(check);
	case TCB_PTX_OP_SETMAXNREG:
		return in_range(check, 0, 24, 256, 8);
	case TCB_PTX_OP_MBARRIER_INIT:
		return in_range(check, 1, 1, (1 << 20) - 1, 1);
	case TCB_PTX_OP_CP_ASYNC_WAIT_GROUP:
	case TCB_PTX_OP_CP_ASYNC_BULK_WAIT_GROUP:
		return in_range(check, 0, 0, INT32_MAX, 1);
	case TCB_PTX_OP_WGMMA_WAIT_GROUP:
		return in_range(check, 0, 0, 7, 1);
	case TCB_PTX_OP_FENCE_PROXY:
		return check->ins->operand_count < 2 || in_range(check, 1, 128, 128, 1);
	case TCB_PTX_OP_WGMMA:
		return check_wgmma(check);
	default:
		return 1;
	}
}

static int check_coordinates(const struct check *check)
{
	enum tcb_ptx_word dimension = tcb_ptx_mod(check->ins, TCB_PTX_SLOT_DIMENSION);
	uint32_t wanted = (uint32_t)(dimension - TCB_PTX_DIM1) + 1;

	for (unsigned i = 0; dimension && i < check->ins->operand_count; i++)
		if (check->ins->operands[i].kind == TCB_PTX_O_ADDRESS && check->ins->operands[i].items &&
		    check->ins->operands[i].count != wanted)
			return fail(check, TCB_PTX_RULE_COORDINATES, "%s.%s takes %u coordinates, not %u",
				    op_text(check), tcb_ptx_word_text(dimension), wanted,
				    check->ins->operands[i].count);
	return 1;
}

/* --- versions and targets --- */

static int check_needs(const struct check *check, const char *what, unsigned version, unsigned sm)
{
	const struct tcb_ptx_module *module = check->function->module;
	char have[16];

	if (module->version < version)
		return fail(check, TCB_PTX_RULE_VERSION, "%s needs PTX %u.%u; the module says %u.%u", what,
			    version / 10, version % 10, module->version / 10, module->version % 10);
	if (module->target.sm < sm)
		return fail(check, TCB_PTX_RULE_TARGET, "%s needs sm_%u or later; the target is %s", what, sm,
			    tcb_ptx_target_text(&module->target, have));
	return 1;
}

static int check_form_target(const struct check *check, const struct tcb_ptx_form *form)
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
	return !form->target_count || fail(check, TCB_PTX_RULE_TARGET, "this form of %s needs %s; the target is %s",
					   op_text(check), wanted, tcb_ptx_target_text(target, have));
}

static int check_special_needs(const struct check *check)
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

static int check_target(const struct check *check)
{
	const struct tcb_ptx_form *form = tcb_ptx_form(check->ins->form);

	if (!check_needs(check, op_text(check), form->version, 0) || !check_form_target(check, form))
		return 0;
	for (unsigned i = 0; i < form->slot_count; i++) {
		enum tcb_ptx_word word = tcb_ptx_mod(check->ins, (enum tcb_ptx_slot)form->slot[i].slot);
		struct tcb_ptx_target target;
		unsigned version;

		tcb_ptx_word_needs(word, &version, &target);
		if (word && !check_needs(check, tcb_ptx_word_text(word), version, target.sm))
			return 0;
	}
	return check_special_needs(check);
}

int tcb_ptx_verify_ins(const struct tcb_ptx_function *function, const struct tcb_ptx_ins *ins,
		       struct tcb_ptx_finding *finding)
{
	struct check check = { function, ins, finding };

	if (ins->guard != TCB_PTX_NO_REG && function->regs[ins->guard].type != TCB_PTX_PRED)
		return fail(&check, TCB_PTX_RULE_OPERAND_TYPE, "the guard of an instruction is a predicate");
	if (!check_target(&check) || !check_operand_types(&check) || !check_param_write(&check) ||
	    !check_vector_size(&check) || !check_values(&check) || !check_coordinates(&check))
		return 0;
	for (unsigned i = 0; i < ins->operand_count; i++)
		if (ins->operands[i].kind == TCB_PTX_O_ADDRESS && !check_address(&check, i, &ins->operands[i]))
			return 0;
	return 1;
}
