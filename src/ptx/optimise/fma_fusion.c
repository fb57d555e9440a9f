/* SPDX-License-Identifier: MIT
 *
 * In: a function.  Out: mul followed by add or sub of the same block made one
 * fma, where the PTX ISA (9.7.3.3, mul) lets ptxas do so too:
 *
 *     a*b + c  ->  fma(a, b, c)        a*b - c  ->  fma(a, b, -c)
 *     c + a*b  ->  fma(a, b, c)        c - a*b  ->  fma(-a, b, c)
 *
 * Neither instruction carries a rounding: an explicit .rn asks for two
 * roundings.  Both have the same type and .ftz, the mul no .sat; the product is
 * used once; a, b and the guard still have their values at the sum.  When both
 * operands of the sum are such products, the first one is fused.  What changes
 * sign is a constant at no cost, else a neg, which ptxas folds into the fma.
 *
 * The one pass that changes bits: there is one rounding where there were two.
 *
 */
#include "ptx/analyse/flow/rewrite.h"
#include "ptx/analyse/legality.h"
#include "ptx/optimise/passes.h"

#include <stdlib.h>
#include <string.h>

struct fusion {
	struct tcb_ptx_function *function;
	uint32_t *last_write; /* by register: 1 + number of the last instruction seen that wrote it */
	uint32_t number;      /* of the one being looked at */
};

static void note_write(void *ctx, uint32_t *reg, int is_def)
{
	struct fusion *f = ctx;

	if (is_def)
		f->last_write[*reg] = f->number + 1;
}

static int is_float(enum tcb_ptx_word type)
{
	return tcb_ptx_type_class(type) == TCB_PTX_CLASS_FLOAT || type == TCB_PTX_BF16 || type == TCB_PTX_BF16X2 ||
	       type == TCB_PTX_F32X2;
}

/* Of one type throughout; add.f32.f16 is of two. */
static int is_contractible(const struct tcb_ptx_ins *ins)
{
	return is_float(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE)) && !ins->mod[TCB_PTX_SLOT_TYPE2] &&
	       !ins->mod[TCB_PTX_SLOT_ROUND];
}

/* Whether OPERAND still has the value that it had at the instruction numbered SINCE. */
static int is_unchanged(const struct fusion *f, const struct tcb_ptx_operand *operand, uint32_t since)
{
	return operand->kind != TCB_PTX_O_REG || f->last_write[operand->reg] <= since + 1;
}

/* The mul behind OPERAND of SUM, when it may be fused. */
static struct tcb_ptx_ins *product_of(const struct fusion *f, const struct tcb_ptx_ins *sum,
				      const struct tcb_ptx_operand *operand)
{
	const struct tcb_ptx_reg *known;
	struct tcb_ptx_ins *mul;

	if (operand->kind != TCB_PTX_O_REG)
		return NULL;
	known = &f->function->regs[operand->reg];
	mul = known->def;
	if (known->defs != 1 || known->uses != 1 || !mul || mul->op != TCB_PTX_OP_MUL || mul->block != sum->block ||
	    mul->number >= sum->number || !is_contractible(mul) || mul->mod[TCB_PTX_SLOT_SAT] ||
	    mul->mod[TCB_PTX_SLOT_TYPE] != sum->mod[TCB_PTX_SLOT_TYPE] ||
	    mul->mod[TCB_PTX_SLOT_FTZ] != sum->mod[TCB_PTX_SLOT_FTZ])
		return NULL;
	if (mul->guard != TCB_PTX_NO_REG && (mul->guard != sum->guard || mul->guard_negated != sum->guard_negated ||
					     f->last_write[mul->guard] > mul->number))
		return NULL;
	if (!is_unchanged(f, &mul->operands[1], mul->number) || !is_unchanged(f, &mul->operands[2], mul->number))
		return NULL;
	return mul;
}

/* OPERAND with its sign changed, by a neg before SUM unless it is a constant. */
static enum tcb_status negate(struct fusion *f, struct tcb_ptx_ins *sum, struct tcb_ptx_operand *operand,
			      struct tcb_error *err)
{
	enum tcb_ptx_word type = tcb_ptx_mod(sum, TCB_PTX_SLOT_TYPE);
	struct tcb_ptx_operand operands[2];
	struct tcb_ptx_ins *neg;
	char mnemonic[32];
	uint32_t reg;

	if (operand->kind == TCB_PTX_O_F32 || operand->kind == TCB_PTX_O_F64) {
		operand->bits ^= operand->kind == TCB_PTX_O_F32 ? 1ull << 31 : 1ull << 63;
		return TCB_OK;
	}
	strcpy(mnemonic, "neg.");
	strcat(mnemonic, tcb_ptx_word_text(type));
	reg = tcb_ptx_reg_new(f->function, f->function->regs[operand->reg].type);
	if (reg == TCB_PTX_NO_REG)
		return tcb_fail(err, TCB_E_NOMEM, "no more registers in '%s'", f->function->symbol->name);
	operands[0] = tcb_ptx_operand_reg(reg);
	operands[1] = *operand;
	neg = tcb_ptx_ins_like(f->function, sum, mnemonic, 2, operands, err);
	if (!neg)
		return err ? err->status : TCB_E_NOMEM;
	tcb_ptx_ins_before(sum, neg);
	*operand = operands[0];
	return TCB_OK;
}

/* There is no neg of two singles in one register, and none for the widest of constants but the floats'. */
static int can_negate(const struct tcb_ptx_ins *sum, const struct tcb_ptx_operand *operand)
{
	return sum->mod[TCB_PTX_SLOT_TYPE] != TCB_PTX_F32X2 && operand->kind != TCB_PTX_O_INT;
}

/* Whether fma exists for what SUM does (its .sat and target). */
static int fma_exists(struct fusion *f, const struct tcb_ptx_ins *fma)
{
	struct tcb_ptx_finding finding;

	return tcb_ptx_verify_ins(f->function, fma, &finding);
}

static enum tcb_status fuse(struct fusion *f, struct tcb_ptx_ins *sum, struct tcb_ptx_ins *mul, unsigned which,
			    unsigned *changed, struct tcb_error *err)
{
	struct tcb_ptx_operand operands[4] = { sum->operands[0], mul->operands[1], mul->operands[2],
					       sum->operands[3 - which] };
	struct tcb_ptx_operand *turned = sum->op != TCB_PTX_OP_SUB ? NULL : which == 1 ? &operands[3] : &operands[1];
	struct tcb_ptx_ins trial = *sum;

	if (turned && turned == &operands[1] && operands[1].kind == TCB_PTX_O_REG && operands[2].kind != TCB_PTX_O_REG)
		turned = &operands[2]; /* the constant costs nothing */
	if (turned && !can_negate(sum, turned))
		return TCB_OK;
	trial.op = TCB_PTX_OP_FMA;
	trial.mod[TCB_PTX_SLOT_ROUND] = TCB_PTX_RN;
	trial.operands = operands;
	trial.operand_count = 4;
	if (tcb_ptx_resolve_again(&trial, NULL) != TCB_OK || !fma_exists(f, &trial))
		return TCB_OK;
	if (turned)
		TCB_TRY(negate(f, sum, turned, err));
	sum->operands = tcb_arena_regrow(&f->function->module->arena, operands, 4, 4, sizeof *operands);
	if (!sum->operands)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory in FMA fusion of '%s'", f->function->symbol->name);
	sum->operand_count = 4;
	sum->op = TCB_PTX_OP_FMA;
	sum->mod[TCB_PTX_SLOT_ROUND] = TCB_PTX_RN;
	tcb_ptx_ins_remove(mul);
	*changed += 2;
	return tcb_ptx_resolve_again(sum, err);
}

enum tcb_status tcb_ptx_fma_fusion(struct tcb_ptx_function *function, const struct tcb_ptx_pass_options *options,
				   unsigned *changed_out, struct tcb_error *err)
{
	struct fusion f = { .function = function };
	enum tcb_status status = TCB_OK;

	(void)options;
	*changed_out = 0;
	tcb_ptx_number(function);
	f.last_write = calloc(function->reg_count + 1u, sizeof *f.last_write);
	if (!f.last_write)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory in FMA fusion of '%s'", function->symbol->name);
	for (struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (struct tcb_ptx_ins *ins = block->first; ins && status == TCB_OK; ins = ins->next) {
			f.number = ins->number;
			if ((ins->op == TCB_PTX_OP_ADD || ins->op == TCB_PTX_OP_SUB) && is_contractible(ins)) {
				struct tcb_ptx_ins *first = product_of(&f, ins, &ins->operands[1]);
				struct tcb_ptx_ins *mul = first ? first : product_of(&f, ins, &ins->operands[2]);

				if (mul)
					status = fuse(&f, ins, mul, first ? 1 : 2, changed_out, err);
			}
			tcb_ptx_each_reg(ins, note_write, &f);
		}
	free(f.last_write);
	return status;
}
