/* SPDX-License-Identifier: MIT
 *
 * The passes' common tools: see rewrite.h.
 */
#include "ptx/analyse/flow/rewrite.h"

#include <string.h>

/* --- instructions --- */

struct tcb_ptx_operand tcb_ptx_operand_reg(uint32_t reg)
{
	return (struct tcb_ptx_operand){ .kind = TCB_PTX_O_REG, .reg = reg };
}

struct tcb_ptx_operand tcb_ptx_operand_int(uint64_t bits)
{
	return (struct tcb_ptx_operand){ .kind = TCB_PTX_O_INT, .reg = TCB_PTX_NO_REG, .bits = bits };
}

/* Weak or without an order; volatile, relaxed, acquire and mmio must happen as often as they are written. */
static int is_unordered(const struct tcb_ptx_ins *ins)
{
	enum tcb_ptx_word order = tcb_ptx_mod(ins, TCB_PTX_SLOT_ORDER);

	return (order == TCB_PTX_NO_WORD || order == TCB_PTX_WEAK) && !tcb_ptx_mod(ins, TCB_PTX_SLOT_MMIO) &&
	       tcb_ptx_mod(ins, TCB_PTX_SLOT_CACHE) != TCB_PTX_CV;
}

int tcb_ptx_has_effect(const struct tcb_ptx_ins *ins)
{
	const unsigned effects = TCB_PTX_F_EFFECT | TCB_PTX_F_WRITE | TCB_PTX_F_BARRIER | TCB_PTX_F_FENCE |
				 TCB_PTX_F_ASYNC | TCB_PTX_F_TERMINATOR;

	return tcb_ptx_has(ins, effects) || !ins->result_count || ins->mod[TCB_PTX_SLOT_CARRY] ||
	       (tcb_ptx_has(ins, TCB_PTX_F_READ) && !is_unordered(ins));
}

/* What differs from one read to the next. */
static int is_stable(const struct tcb_ptx_operand *operand)
{
	return operand->kind != TCB_PTX_O_SPECIAL || !tcb_ptx_special_varies((enum tcb_ptx_special)operand->special);
}

int tcb_ptx_is_weak_load(const struct tcb_ptx_ins *ins)
{
	return ins->op == TCB_PTX_OP_LD && is_unordered(ins);
}

/* Constants and what was loaded through the read-only path stay as they are; so do an entry's parameters, but not those
 * that a call writes. */
static int reads_constant(const struct tcb_ptx_ins *ins)
{
	const struct tcb_ptx_symbol *symbol = ins->operands[1].symbol;

	switch ((int)tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE)) {
	case TCB_PTX_CONST:
	case TCB_PTX_PARAM_ENTRY:
		return 1;
	case TCB_PTX_GLOBAL:
		return ins->mod[TCB_PTX_SLOT_NONCOHERENT] != 0;
	case TCB_PTX_PARAM:
		for (const struct tcb_ptx_symbol *p = ins->block->function->params; symbol && p; p = p->next)
			if (p == symbol)
				return 1;
	}
	return 0;
}

int tcb_ptx_is_pure(const struct tcb_ptx_ins *ins)
{
	if (tcb_ptx_has_effect(ins) || tcb_ptx_has(ins, TCB_PTX_F_CONVERGENT | TCB_PTX_F_UNSTABLE))
		return 0;
	if (tcb_ptx_has(ins, TCB_PTX_F_READ) && !(tcb_ptx_is_weak_load(ins) && reads_constant(ins)))
		return 0;
	for (unsigned i = ins->result_count; i < ins->operand_count; i++)
		if (!is_stable(&ins->operands[i]))
			return 0;
	return 1;
}

uint32_t tcb_ptx_result_reg(const struct tcb_ptx_ins *ins)
{
	if (ins->result_count != 1 || ins->operands[0].kind != TCB_PTX_O_REG || ins->op == TCB_PTX_OP_WGMMA)
		return TCB_PTX_NO_REG;
	return ins->operands[0].reg;
}

static enum tcb_status set_operands(struct tcb_ptx_function *function, struct tcb_ptx_ins *ins, const char *mnemonic,
				    unsigned count, const struct tcb_ptx_operand *operands, struct tcb_error *err)
{
	struct tcb_ptx_operand *copy =
		tcb_arena_regrow(&function->module->arena, operands, count, count, sizeof *operands);

	if (!copy)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for an instruction of '%s'", function->symbol->name);
	ins->operands = copy;
	ins->operand_count = (uint8_t)count;
	return tcb_ptx_resolve(ins, mnemonic, strlen(mnemonic), err);
}

struct tcb_ptx_ins *tcb_ptx_ins_like(struct tcb_ptx_function *function, const struct tcb_ptx_ins *model,
				     const char *mnemonic, unsigned count, const struct tcb_ptx_operand *operands,
				     struct tcb_error *err)
{
	struct tcb_ptx_ins *ins = tcb_ptx_ins_new(function->module, 0);

	if (!ins) {
		tcb_fail(err, TCB_E_NOMEM, "out of memory for an instruction of '%s'", function->symbol->name);
		return NULL;
	}
	if (set_operands(function, ins, mnemonic, count, operands, err) != TCB_OK)
		return NULL;
	if (model) {
		ins->guard = model->guard;
		ins->guard_negated = model->guard_negated;
		ins->line = model->line;
		ins->source = model->source;
	}
	return ins;
}

enum tcb_status tcb_ptx_ins_become(struct tcb_ptx_function *function, struct tcb_ptx_ins *ins, const char *mnemonic,
				   unsigned count, const struct tcb_ptx_operand *operands, struct tcb_error *err)
{
	return set_operands(function, ins, mnemonic, count, operands, err);
}

/* mov moves bits: the register's own type, of floats only .f32 and .f64. */
static const char *mov_of(enum tcb_ptx_word type)
{
	switch ((int)type) {
	case TCB_PTX_PRED:
		return "mov.pred";
	case TCB_PTX_F32:
		return "mov.f32";
	case TCB_PTX_F64:
		return "mov.f64";
	}
	switch (tcb_ptx_type_bits(type)) {
	case 16:
		return "mov.b16";
	case 32:
		return "mov.b32";
	case 128:
		return "mov.b128";
	}
	return "mov.b64";
}

enum tcb_status tcb_ptx_ins_become_mov(struct tcb_ptx_function *function, struct tcb_ptx_ins *ins,
				       struct tcb_ptx_operand source, struct tcb_error *err)
{
	struct tcb_ptx_operand operands[2] = { ins->operands[0], source };

	return set_operands(function, ins, mov_of(function->regs[operands[0].reg].type), 2, operands, err);
}

/* --- dominance --- */

enum tcb_status tcb_ptx_scope(struct tcb_ptx_function *function, struct tcb_ptx_scope *out, struct tcb_error *err)
{
	struct tcb_arena *arena = &function->module->arena;
	struct tcb_ptx_block **at;
	uint32_t places;

	memset(out, 0, sizeof *out);
	TCB_TRY(tcb_ptx_cfg(function, err));
	tcb_ptx_number(function);
	TCB_TRY(tcb_ptx_dominators(function, &out->dominators, err));
	places = 2 * function->block_count + 2; /* the tree's clock ticks when a block is entered and, maybe, left */
	at = tcb_arena_array(arena, places, sizeof(*at));
	out->walk = tcb_arena_array(arena, function->block_count, sizeof(*out->walk));
	if (!at || !out->walk)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the dominator tree of '%s'",
				function->symbol->name);
	for (uint32_t i = 0; i < function->reachable_count; i++)
		at[out->dominators.enter[function->order[i]->number]] = function->order[i];
	for (uint32_t i = 0; i < places; i++)
		if (at[i])
			out->walk[out->count++] = at[i];
	return TCB_OK;
}

int tcb_ptx_is_settled(const struct tcb_ptx_function *function, const struct tcb_ptx_scope *scope, uint32_t reg,
		       const struct tcb_ptx_ins *ins)
{
	const struct tcb_ptx_reg *known = &function->regs[reg];

	if (known->defs != 1 || !known->def || !known->def->block)
		return 0;
	if (known->def->block == ins->block)
		return known->def->number < ins->number;
	return tcb_ptx_dominates(&scope->dominators, known->def->block, ins->block);
}
