/* SPDX-License-Identifier: MIT
 *
 * In: a function.  Out: the same with constants and copies propagated and what
 * they make constant computed.
 *
 *   - A source that is known to hold a constant becomes that constant where the
 *     instruction takes one; one that is a copy of a register becomes that.
 *   - An instruction of constants becomes a mov (fold_value.c says of which);
 *     so do x+0, x*1, x&0, x-x and their like.  Of floating point only whole
 *     constants: x*1.0 is not x when x is a NaN or, with .ftz, subnormal.
 *   - A guard that is always true is dropped; under one that is always false
 *     the instruction goes.
 *
 * Facts about a register that is written once, unguarded, hold where its
 * definition dominates; all others to the end of the block or the next write.
 * One walk over the dominator tree finds everything unless a branch becomes
 * constant; then the walk is repeated, at most ROUNDS_MAX times.
 */
#include "ptx/analyse/flow/rewrite.h"
#include "ptx/analyse/legality.h"
#include "ptx/emulate/fold_value.h"
#include "ptx/optimise/passes.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MAX = 8 };

enum fact_kind { UNKNOWN, CONSTANT, COPY };

struct fact {
	uint8_t kind;      /* enum fact_kind */
	uint8_t is_global; /* holds where BLOCK dominates, else only in it */
	uint32_t reg;      /* COPY: of this one */
	uint32_t version;  /* of REG when it was copied */
	struct tcb_ptx_block *block;
	uint64_t bits;
};

struct folding {
	struct tcb_ptx_function *function;
	struct tcb_ptx_scope scope;
	struct fact *fact; /* by register */
	uint32_t *version; /* by register: writes seen */
	struct tcb_ptx_block *block;
	unsigned changed;
	int again; /* control or definitions changed: walk once more */
	struct tcb_error *err;
};

/* --- facts --- */

static const struct fact *fact_of(const struct folding *f, uint32_t reg)
{
	const struct fact *fact = &f->fact[reg];

	if (fact->kind == UNKNOWN)
		return NULL;
	if (fact->is_global)
		return tcb_ptx_dominates(&f->scope.dominators, fact->block, f->block) ? fact : NULL;
	if (fact->block != f->block || (fact->kind == COPY && f->version[fact->reg] != fact->version))
		return NULL;
	return fact;
}

static uint64_t cut_to(uint64_t value, enum tcb_ptx_word type)
{
	unsigned bits = tcb_ptx_type_bits(type);

	return bits >= 64 || !bits ? value : value & ((1ull << bits) - 1);
}

/* The bits of OPERAND, read as TYPE, when they are known. */
static int constant_of(const struct folding *f, const struct tcb_ptx_operand *operand, enum tcb_ptx_word type,
		       uint64_t *bits)
{
	const struct fact *fact;
	double value;
	float single;

	switch ((enum tcb_ptx_operand_kind)operand->kind) {
	case TCB_PTX_O_INT:
	case TCB_PTX_O_F32:
		*bits = cut_to(operand->bits, type);
		return 1;
	case TCB_PTX_O_F64: /* also a decimal literal where f32 is wanted */
		*bits = operand->bits;
		if (type != TCB_PTX_F32)
			return 1;
		memcpy(&value, &operand->bits, sizeof value);
		single = (float)value;
		if ((double)single != value)
			return 0;
		*bits = 0;
		memcpy(bits, &single, sizeof single);
		return 1;
	case TCB_PTX_O_REG:
		fact = fact_of(f, operand->reg);
		if (!fact || fact->kind != CONSTANT)
			return 0;
		*bits = cut_to(operand->negated ? ~fact->bits : fact->bits, type);
		return 1;
	default:
		return 0;
	}
}

static void forget(void *ctx, uint32_t *reg, int is_def)
{
	struct folding *f = ctx;

	if (!is_def)
		return;
	f->version[*reg]++;
	f->fact[*reg].kind = UNKNOWN;
}

/* What INS, which has just been passed, makes known. */
static void learn(struct folding *f, const struct tcb_ptx_ins *ins)
{
	const struct tcb_ptx_operand *source = &ins->operands[1];
	uint32_t reg = tcb_ptx_result_reg(ins);
	struct fact fact = { .block = f->block };

	if (ins->op != TCB_PTX_OP_MOV || reg == TCB_PTX_NO_REG || ins->guard != TCB_PTX_NO_REG)
		return;
	fact.is_global = (uint8_t)tcb_ptx_is_value(f->function, reg);
	if (source->kind == TCB_PTX_O_REG) {
		if (source->reg == reg || source->negated)
			return;
		fact.kind = COPY;
		fact.reg = source->reg;
		fact.version = f->version[source->reg];
		fact.is_global &= (uint8_t)tcb_ptx_is_settled(f->function, &f->scope, source->reg, ins);
	} else if (constant_of(f, source, f->function->regs[reg].type, &fact.bits)) {
		fact.kind = CONSTANT;
	}
	f->fact[reg] = fact;
}

/* --- sources --- */

static int is_legal(const struct folding *f, const struct tcb_ptx_ins *ins)
{
	struct tcb_ptx_finding finding;

	return tcb_ptx_verify_ins(f->function, ins, &finding);
}

/* A constant of TYPE as an operand; 0 when the language has none. */
static int immediate(enum tcb_ptx_word type, uint64_t bits, struct tcb_ptx_operand *out)
{
	enum tcb_ptx_class class = tcb_ptx_type_class(type);

	*out = tcb_ptx_operand_int(tcb_ptx_extend(type, bits));
	if (type == TCB_PTX_F32 || type == TCB_PTX_F64)
		out->kind = type == TCB_PTX_F32 ? TCB_PTX_O_F32 : TCB_PTX_O_F64;
	else if (class == TCB_PTX_CLASS_BITS && tcb_ptx_type_bits(type) < 64 && bits >> (tcb_ptx_type_bits(type) - 1))
		out->bits = bits - (1ull << tcb_ptx_type_bits(type)); /* masks read better as negative numbers */
	return class != TCB_PTX_CLASS_NONE && class != TCB_PTX_CLASS_PRED && class != TCB_PTX_CLASS_ALT &&
	       (class != TCB_PTX_CLASS_FLOAT || out->kind != TCB_PTX_O_INT);
}

/* A copy in place of the register that it was copied to. */
static int follow_copy(struct folding *f, struct tcb_ptx_ins *ins, uint32_t *reg, int is_address)
{
	const struct fact *fact = fact_of(f, *reg);
	const struct tcb_ptx_reg *regs = f->function->regs;
	uint32_t before = *reg;

	if (!fact || fact->kind != COPY || (is_address && regs[before].align > regs[fact->reg].align))
		return 0; /* an address keeps the register that is known to be aligned */
	*reg = fact->reg;
	if (regs[before].type == regs[fact->reg].type || is_legal(f, ins)) {
		f->changed++;
		return 1;
	}
	*reg = before;
	return 0;
}

static void replace_source(struct folding *f, struct tcb_ptx_ins *ins, unsigned index)
{
	struct tcb_ptx_operand *operand = &ins->operands[index], before = *operand, constant;
	enum tcb_ptx_word type;
	uint16_t form = ins->form;
	unsigned count;
	uint64_t bits;

	type = tcb_ptx_operand_type(ins, index, &count);
	if (!operand->negated && type && constant_of(f, operand, type, &bits) && immediate(type, bits, &constant)) {
		*operand = constant;
		if (tcb_ptx_resolve_again(ins, NULL) == TCB_OK && is_legal(f, ins)) {
			f->changed++;
			return;
		}
		*operand = before;
		ins->form = form;
	}
	follow_copy(f, ins, &operand->reg, 0);
}

/* wgmma reads its registers later; a call's lists name parameters. */
static void replace_sources(struct folding *f, struct tcb_ptx_ins *ins)
{
	if (ins->op == TCB_PTX_OP_WGMMA || ins->op == TCB_PTX_OP_CALL)
		return;
	for (unsigned i = ins->result_count; i < ins->operand_count; i++) {
		struct tcb_ptx_operand *operand = &ins->operands[i];

		switch ((enum tcb_ptx_operand_kind)operand->kind) {
		case TCB_PTX_O_REG:
			replace_source(f, ins, i);
			break;
		case TCB_PTX_O_ADDRESS:
			if (operand->reg != TCB_PTX_NO_REG)
				follow_copy(f, ins, &operand->reg, 1);
			break;
		case TCB_PTX_O_VECTOR:
			for (uint32_t k = 0; k < operand->count; k++)
				if (operand->items[k].kind == TCB_PTX_O_REG)
					follow_copy(f, ins, &operand->items[k].reg, 0);
			break;
		default:
			break;
		}
	}
}

/* --- results --- */

static enum tcb_status become_constant(struct folding *f, struct tcb_ptx_ins *ins, uint64_t bits)
{
	enum tcb_ptx_word type = f->function->regs[ins->operands[0].reg].type;
	struct tcb_ptx_operand constant;

	bits = cut_to(bits, type);
	if (!immediate(type, bits, &constant)) /* predicates and halves: as their bits */
		constant = tcb_ptx_operand_int(bits);
	f->changed++;
	return tcb_ptx_ins_become_mov(f->function, ins, constant, f->err);
}

static enum tcb_status become_source(struct folding *f, struct tcb_ptx_ins *ins, unsigned index)
{
	f->changed++;
	return tcb_ptx_ins_become_mov(f->function, ins, ins->operands[index], f->err);
}

static int fold_whole(struct folding *f, const struct tcb_ptx_ins *ins, uint64_t *out)
{
	uint64_t source[TCB_PTX_SPECS_MAX] = { 0 };
	unsigned count;

	for (unsigned i = 1; i < ins->operand_count; i++)
		if (!constant_of(f, &ins->operands[i], tcb_ptx_operand_type(ins, i, &count), &source[i]))
			return 0;
	if (!tcb_ptx_fold_value(ins, source, out))
		return 0;
	*out = tcb_ptx_extend(tcb_ptx_operand_type(ins, 0, &count), *out);
	return 1;
}

static int same_register(const struct tcb_ptx_ins *ins)
{
	const struct tcb_ptx_operand *a = &ins->operands[1], *b = &ins->operands[2];

	return a->kind == TCB_PTX_O_REG && b->kind == TCB_PTX_O_REG && a->reg == b->reg && a->negated == b->negated;
}

/* What an integer instruction of X and the constant C (on the right; on the left too where it commutes) comes to:
 * X itself (SOURCE), a constant (VALUE), or neither. */
enum outcome { NEITHER, SOURCE, VALUE };

static enum outcome with_constant(const struct tcb_ptx_ins *ins, uint64_t c, uint64_t all, int is_left, uint64_t *value)
{
	*value = 0;
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_ADD:
	case TCB_PTX_OP_XOR:
		return c == 0 ? SOURCE : NEITHER;
	case TCB_PTX_OP_SUB:
	case TCB_PTX_OP_SHL:
	case TCB_PTX_OP_SHR:
		return c == 0 && !is_left ? SOURCE : NEITHER;
	case TCB_PTX_OP_OR:
		*value = all;
		return c == 0 ? SOURCE : c == all ? VALUE : NEITHER;
	case TCB_PTX_OP_AND:
		return c == all ? SOURCE : c == 0 ? VALUE : NEITHER;
	case TCB_PTX_OP_MUL:
		if (c == 1 && ins->mod[TCB_PTX_SLOT_MODE] == TCB_PTX_LO)
			return SOURCE;
		return c == 0 ? VALUE : NEITHER;
	case TCB_PTX_OP_DIV:
		return c == 1 && !is_left ? SOURCE : NEITHER;
	case TCB_PTX_OP_REM:
		return c == 1 && !is_left ? VALUE : NEITHER;
	default:
		return NEITHER;
	}
}

static enum outcome with_itself(const struct tcb_ptx_ins *ins, uint64_t all, uint64_t *value)
{
	*value = 0;
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_SUB:
	case TCB_PTX_OP_XOR:
		return VALUE;
	case TCB_PTX_OP_AND:
	case TCB_PTX_OP_OR:
	case TCB_PTX_OP_MIN:
	case TCB_PTX_OP_MAX:
		return SOURCE;
	case TCB_PTX_OP_SETP:
		switch ((int)tcb_ptx_mod(ins, TCB_PTX_SLOT_COMPARE)) {
		case TCB_PTX_EQ:
		case TCB_PTX_LE:
		case TCB_PTX_GE:
		case TCB_PTX_LS:
		case TCB_PTX_HS:
			*value = all;
		}
		return ins->mod[TCB_PTX_SLOT_BOOL] ? NEITHER : VALUE;
	default:
		return NEITHER;
	}
}

static int is_integer_type(enum tcb_ptx_word type)
{
	enum tcb_ptx_class class = tcb_ptx_type_class(type);

	return class == TCB_PTX_CLASS_PRED || class == TCB_PTX_CLASS_BITS || class == TCB_PTX_CLASS_UINT ||
	       class == TCB_PTX_CLASS_SINT;
}

/* mad with a constant: by 1 an add, by 0 its addend, plus 0 a mul. */
static enum tcb_status simplify_mad(struct folding *f, struct tcb_ptx_ins *ins, enum tcb_ptx_word type)
{
	struct tcb_ptx_operand operands[3] = { ins->operands[0], ins->operands[1], ins->operands[3] };
	enum tcb_ptx_word mode = tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE);
	char mnemonic[32];
	uint64_t c;

	for (unsigned i = 1; i <= 2; i++) {
		if (!constant_of(f, &ins->operands[i], type, &c) || c > 1 || (c == 1 && mode != TCB_PTX_LO))
			continue;
		if (!c)
			return become_source(f, ins, 3);
		operands[1] = ins->operands[3 - i];
		strcpy(mnemonic, "add.");
		strcat(mnemonic, tcb_ptx_word_text(type));
		f->changed++;
		return tcb_ptx_ins_become(f->function, ins, mnemonic, 3, operands, f->err);
	}
	if (ins->operands[3].kind == TCB_PTX_O_INT && !ins->operands[3].bits) {
		ins->op = TCB_PTX_OP_MUL;
		ins->operand_count = 3;
		f->changed++;
		return tcb_ptx_resolve_again(ins, f->err);
	}
	return TCB_OK;
}

/* selp of a known predicate or of twice the same. */
static enum tcb_status simplify_selp(struct folding *f, struct tcb_ptx_ins *ins)
{
	uint64_t chosen;

	if (constant_of(f, &ins->operands[3], TCB_PTX_PRED, &chosen))
		return become_source(f, ins, chosen ? 1 : 2);
	return same_register(ins) ? become_source(f, ins, 1) : TCB_OK;
}

/* setp.and with true, setp.or and setp.xor with false: the plain setp.  Of the others and with false is false, or with
 * true is true. */
static enum tcb_status simplify_setp(struct folding *f, struct tcb_ptx_ins *ins)
{
	enum tcb_ptx_word bool_op = tcb_ptx_mod(ins, TCB_PTX_SLOT_BOOL);
	uint64_t c;

	if (!bool_op || !constant_of(f, &ins->operands[3], TCB_PTX_PRED, &c))
		return TCB_OK;
	if (c == (bool_op == TCB_PTX_AND)) {
		ins->mod[TCB_PTX_SLOT_BOOL] = 0;
		ins->operand_count = 3;
		f->changed++;
		return tcb_ptx_resolve_again(ins, f->err);
	}
	return bool_op == TCB_PTX_XOR ? TCB_OK : become_constant(f, ins, c);
}

/* Between integers of one size, into a register of that size, nothing happens. */
static int is_copying_cvt(const struct folding *f, const struct tcb_ptx_ins *ins)
{
	enum tcb_ptx_word to = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE), from = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE2);
	unsigned bits = tcb_ptx_type_bits(to);

	return ins->op == TCB_PTX_OP_CVT && is_integer_type(to) && is_integer_type(from) &&
	       tcb_ptx_type_bits(from) == bits && !ins->mod[TCB_PTX_SLOT_SAT] && ins->operand_count == 2 &&
	       ins->operands[1].kind == TCB_PTX_O_REG &&
	       tcb_ptx_type_bits(f->function->regs[ins->operands[0].reg].type) == bits &&
	       tcb_ptx_type_bits(f->function->regs[ins->operands[1].reg].type) == bits;
}

static enum tcb_status simplify(struct folding *f, struct tcb_ptx_ins *ins)
{
	enum tcb_ptx_word type = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE);
	uint64_t all = cut_to(~0ull, type), value, c;
	enum outcome outcome = NEITHER;
	unsigned kept = 1, count;

	if (ins->op == TCB_PTX_OP_SELP)
		return simplify_selp(f, ins);
	if (is_copying_cvt(f, ins))
		return become_source(f, ins, 1);
	if (ins->mod[TCB_PTX_SLOT_SAT] || ins->operand_count < 3)
		return TCB_OK;
	if (ins->op == TCB_PTX_OP_SETP && ins->mod[TCB_PTX_SLOT_BOOL])
		return simplify_setp(f, ins);
	if (!is_integer_type(type) || ins->mod[TCB_PTX_SLOT_RELU])
		return TCB_OK;
	if (ins->op == TCB_PTX_OP_MAD)
		return simplify_mad(f, ins, type);
	if (same_register(ins))
		outcome = with_itself(ins, ins->op == TCB_PTX_OP_SETP ? 1 : all, &value);
	else if (ins->op != TCB_PTX_OP_SETP &&
		 constant_of(f, &ins->operands[2], tcb_ptx_operand_type(ins, 2, &count), &c))
		outcome = with_constant(ins, c, all, 0, &value);
	else if (ins->op != TCB_PTX_OP_SETP && constant_of(f, &ins->operands[1], type, &c)) {
		outcome = with_constant(ins, c, all, 1, &value);
		kept = 2;
	}
	if (outcome == VALUE)
		return become_constant(f, ins, value);
	if (outcome == SOURCE && !ins->operands[kept].negated)
		return become_source(f, ins, kept);
	return TCB_OK;
}

/* --- one instruction --- */

/* 1 when INS is gone. */
static int settle_guard(struct folding *f, struct tcb_ptx_ins *ins)
{
	struct tcb_ptx_operand guard = tcb_ptx_operand_reg(ins->guard);
	uint64_t holds;

	if (ins->guard == TCB_PTX_NO_REG)
		return 0;
	guard.negated = ins->guard_negated;
	if (!constant_of(f, &guard, TCB_PTX_PRED, &holds)) {
		follow_copy(f, ins, &ins->guard, 0);
		return 0;
	}
	f->changed++;
	f->again = 1;
	if (holds) {
		ins->guard = TCB_PTX_NO_REG;
		ins->guard_negated = 0;
		return 0;
	}
	tcb_ptx_each_reg(ins, forget, f); /* what was known locally may have come from a later definition */
	tcb_ptx_ins_remove(ins);
	return 1;
}

/* Until it is a mov or stays as it is: mad may become add, and that a mov. */
static enum tcb_status fold_ins(struct folding *f, struct tcb_ptx_ins *ins)
{
	unsigned before;
	uint64_t bits;

	replace_sources(f, ins);
	if (tcb_ptx_result_reg(ins) == TCB_PTX_NO_REG || tcb_ptx_has_effect(ins) ||
	    tcb_ptx_has(ins, TCB_PTX_F_READ | TCB_PTX_F_CONVERGENT | TCB_PTX_F_UNSTABLE))
		return TCB_OK;
	do {
		before = f->changed;
		if (ins->op == TCB_PTX_OP_MOV)
			return TCB_OK;
		if (fold_whole(f, ins, &bits))
			return become_constant(f, ins, bits);
		TCB_TRY(simplify(f, ins));
	} while (f->changed != before);
	return TCB_OK;
}

static enum tcb_status walk(struct folding *f)
{
	for (uint32_t i = 0; i < f->scope.count; i++) {
		f->block = f->scope.walk[i];
		for (struct tcb_ptx_ins *ins = f->block->first, *next; ins; ins = next) {
			next = ins->next;
			if (settle_guard(f, ins))
				continue;
			TCB_TRY(fold_ins(f, ins));
			tcb_ptx_each_reg(ins, forget, f);
			learn(f, ins);
		}
	}
	return TCB_OK;
}

enum tcb_status tcb_ptx_const_fold(struct tcb_ptx_function *function, const struct tcb_ptx_pass_options *options,
				   unsigned *changed_out, struct tcb_error *err)
{
	struct folding f = { .function = function, .again = 1, .err = err };
	size_t regs = function->reg_count + 1u;
	enum tcb_status status = TCB_OK;

	(void)options;
	f.fact = malloc(regs * sizeof *f.fact);
	f.version = malloc(regs * sizeof *f.version);
	if (!f.fact || !f.version)
		status =
			tcb_fail(err, TCB_E_NOMEM, "out of memory in constant folding of '%s'", function->symbol->name);
	for (unsigned round = 0; round < ROUNDS_MAX && f.again && status == TCB_OK; round++) {
		f.again = 0;
		memset(f.fact, 0, regs * sizeof *f.fact);
		memset(f.version, 0, regs * sizeof *f.version);
		status = tcb_ptx_scope(function, &f.scope, err);
		if (status == TCB_OK)
			status = walk(&f);
	}
	free(f.fact);
	free(f.version);
	*changed_out = f.changed;
	return status;
}
