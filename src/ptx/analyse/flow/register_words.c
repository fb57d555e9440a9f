/* SPDX-License-Identifier: MIT
 *
 * In: a function.  Out: the 32-bit words that its registers need.
 *
 * PTX has a register for each step that the machine does not take.  Parameters,
 * constants and sizes of the grid are operands from the constant bank; halves
 * of a pair, what is put together of them, a copy, a pointer in another space
 * and an integer cut or filled with zeros are the words that were there; a
 * constant added to an address stands in the access.  From sm_100 on a value
 * that is the same in all threads stays in the uniform registers; before, those
 * take so few that counting none of them comes closer (fitted, as the numbers
 * of register_estimate.c are).
 */
#include "ptx/analyse/flow/register_words.h"
#include "ptx/ir/opcodes.h"

#include <stdlib.h>
#include <string.h>

enum {
	UNIFORM_SM = 100,
	ROUNDS_MAX = 8 /* over the text, for loops whose values are uniform: what comes later is left as it is */
};

struct words {
	const struct tcb_ptx_function *function;
	struct tcb_ptx_reg_words *out;
	uint8_t *is_known;   /* by register: its words are chosen */
	uint8_t *is_uniform; /* by register */
	int varies, changed;
};

unsigned tcb_ptx_reg_width(const struct tcb_ptx_function *function, uint32_t reg)
{
	const enum tcb_ptx_word type = function->regs[reg].type;

	return type == TCB_PTX_PRED ? 0 : (tcb_ptx_type_bits(type) + 31) / 32;
}

/* --- values that are the same in all threads --- */

static int is_grid_size(unsigned special)
{
	return (special >= TCB_PTX_SR_NTID_X && special <= TCB_PTX_SR_NTID_Z) ||
	       (special >= TCB_PTX_SR_NCTAID_X && special <= TCB_PTX_SR_NCTAID_Z);
}

static int is_parameter(const struct words *w, const struct tcb_ptx_ins *ins)
{
	return ins->op == TCB_PTX_OP_LD && w->function->is_entry &&
	       tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE) == TCB_PTX_PARAM;
}

/* Uniform if what it reads is. */
static int keeps_uniform(const struct words *w, const struct tcb_ptx_ins *ins)
{
	switch (ins->op) {
	case TCB_PTX_OP_MOV:
		for (unsigned i = 1; i < ins->operand_count; i++)
			if (ins->operands[i].kind == TCB_PTX_O_SPECIAL && !is_grid_size(ins->operands[i].special) &&
			    (ins->operands[i].special < TCB_PTX_SR_CTAID_X ||
			     ins->operands[i].special > TCB_PTX_SR_CTAID_Z))
				return 0;
		return 1;
	case TCB_PTX_OP_LD:
		return is_parameter(w, ins) || tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE) == TCB_PTX_CONST;
	case TCB_PTX_OP_ADD:
	case TCB_PTX_OP_SUB:
	case TCB_PTX_OP_MUL:
	case TCB_PTX_OP_MAD:
	case TCB_PTX_OP_MIN:
	case TCB_PTX_OP_MAX:
	case TCB_PTX_OP_NEG:
	case TCB_PTX_OP_SETP:
	case TCB_PTX_OP_SELP:
	case TCB_PTX_OP_AND:
	case TCB_PTX_OP_OR:
	case TCB_PTX_OP_XOR:
	case TCB_PTX_OP_NOT:
	case TCB_PTX_OP_SHL:
	case TCB_PTX_OP_SHR:
	case TCB_PTX_OP_SHF:
	case TCB_PTX_OP_LOP3:
	case TCB_PTX_OP_PRMT:
	case TCB_PTX_OP_BFE:
	case TCB_PTX_OP_BFI:
	case TCB_PTX_OP_CVT:
	case TCB_PTX_OP_CVTA:
		return 1;
	default:
		return 0;
	}
}

static void see_source(void *ctx, uint32_t *reg, int is_def)
{
	struct words *w = ctx;

	w->varies |= !is_def && !w->is_uniform[*reg];
}

static void see_varying(void *ctx, uint32_t *reg, int is_def)
{
	struct words *w = ctx;

	if (is_def && w->is_uniform[*reg]) {
		w->is_uniform[*reg] = 0;
		w->changed = 1;
	}
}

static void find_uniform(struct words *w)
{
	memset(w->is_uniform, 1, w->function->reg_count + 1);
	w->changed = 1;
	for (unsigned round = 0; round < ROUNDS_MAX && w->changed; round++) {
		w->changed = 0;
		for (const struct tcb_ptx_block *block = w->function->first; block; block = block->next)
			for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
				w->varies = !keeps_uniform(w, ins);
				if (!w->varies)
					tcb_ptx_each_reg(ins, see_source, w);
				if (w->varies)
					tcb_ptx_each_reg(ins, see_varying, w);
			}
	}
}

/* --- words --- */

static uint32_t *words_of(const struct words *w, uint32_t reg)
{
	return &w->out->word[(size_t)TCB_PTX_REG_WORDS * reg];
}

static uint32_t new_word(struct words *w, uint32_t reg)
{
	w->out->weight[w->out->count] = !w->is_uniform[reg];
	return w->out->count++;
}

/* Words of its own, if REG has none yet. */
static void choose(struct words *w, uint32_t reg)
{
	if (w->is_known[reg])
		return;
	for (unsigned i = 0; i < tcb_ptx_reg_width(w->function, reg); i++)
		words_of(w, reg)[i] = new_word(w, reg);
	w->is_known[reg] = 1;
}

static void see_chosen(void *ctx, uint32_t *reg, int is_def)
{
	(void)is_def;
	choose(ctx, *reg);
}

/* Written once and always, and not seen before. */
static int is_open(const struct words *w, const struct tcb_ptx_operand *result)
{
	return result->kind == TCB_PTX_O_REG && !w->is_known[result->reg] && w->function->regs[result->reg].defs == 1;
}

static int is_value(const struct words *w, const struct tcb_ptx_operand *source)
{
	return source->kind == TCB_PTX_O_REG && w->function->regs[source->reg].defs == 1;
}

/* REG has the words of FROM from the AT-th on. */
static void share(struct words *w, uint32_t reg, uint32_t from, unsigned at)
{
	unsigned width = tcb_ptx_reg_width(w->function, from);

	choose(w, from);
	for (unsigned i = 0; i < tcb_ptx_reg_width(w->function, reg); i++)
		words_of(w, reg)[i] = at + i < width ? words_of(w, from)[at + i] : 0;
	w->is_known[reg] = 1;
}

/* {a, b} = c */
static void unpack(struct words *w, const struct tcb_ptx_operand *results, const struct tcb_ptx_operand *source)
{
	unsigned bits = 0;

	for (uint32_t i = 0; i < results->count; i++) {
		const struct tcb_ptx_operand *item = &results->items[i];
		if (is_open(w, item))
			share(w, item->reg, source->reg, bits / 32);
		bits += item->kind == TCB_PTX_O_REG ? tcb_ptx_type_bits(w->function->regs[item->reg].type) : 32;
	}
}

/* c = {a, b}, of whole words: halves have to be put together. */
static void pack(struct words *w, uint32_t reg, const struct tcb_ptx_operand *sources)
{
	uint32_t *words = words_of(w, reg);
	unsigned at = 0, width = tcb_ptx_reg_width(w->function, reg);

	for (uint32_t i = 0; i < sources->count; i++)
		if (!is_value(w, &sources->items[i]) ||
		    tcb_ptx_type_bits(w->function->regs[sources->items[i].reg].type) < 32)
			return;
	for (uint32_t i = 0; i < sources->count; i++) {
		const uint32_t from = sources->items[i].reg;
		choose(w, from);
		for (unsigned k = 0; k < tcb_ptx_reg_width(w->function, from) && at < width; k++)
			words[at++] = words_of(w, from)[k];
	}
	w->is_known[reg] = 1;
}

static void move(struct words *w, uint32_t reg, const struct tcb_ptx_operand *source)
{
	switch (source->kind) {
	case TCB_PTX_O_SPECIAL:
		w->is_known[reg] = (uint8_t)is_grid_size(source->special);
		break;
	case TCB_PTX_O_INT:
	case TCB_PTX_O_F32:
	case TCB_PTX_O_F64:
	case TCB_PTX_O_SYMBOL:
		w->is_known[reg] = 1;
		break;
	case TCB_PTX_O_VECTOR:
		pack(w, reg, source);
		break;
	case TCB_PTX_O_REG:
		if (is_value(w, source))
			share(w, reg, source->reg, 0);
		break;
	default:
		break;
	}
}

static int is_integer(enum tcb_ptx_word type)
{
	const enum tcb_ptx_class class = tcb_ptx_type_class(type);

	return class == TCB_PTX_CLASS_UINT || class == TCB_PTX_CLASS_SINT || class == TCB_PTX_CLASS_BITS;
}

/* An integer cut, or filled with zeros. */
static int is_cut(const struct tcb_ptx_ins *ins)
{
	const enum tcb_ptx_word to = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE), from = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE2);

	return is_integer(to) && is_integer(from) && tcb_ptx_type_bits(from) >= 32;
}

/* The words of what INS writes, where they are not new. */
static void define(struct words *w, const struct tcb_ptx_ins *ins)
{
	const struct tcb_ptx_operand *result = ins->operands, *source = ins->operands + 1;

	if (ins->guard != TCB_PTX_NO_REG || ins->operand_count < 2)
		return;
	if (ins->op == TCB_PTX_OP_MOV && result->kind == TCB_PTX_O_VECTOR && source->kind == TCB_PTX_O_REG)
		unpack(w, result, source);
	if (!is_open(w, result))
		return;
	const uint32_t reg = result->reg;
	const unsigned width = tcb_ptx_reg_width(w->function, reg);
	if (is_parameter(w, ins)) {
		w->is_known[reg] = 1;
	} else if (ins->op == TCB_PTX_OP_MOV) {
		move(w, reg, source);
	} else if (!is_value(w, source)) {
		return;
	} else if (ins->op == TCB_PTX_OP_CVTA || (ins->op == TCB_PTX_OP_ADD && width == 2 && ins->operand_count > 2 &&
						  ins->operands[2].kind == TCB_PTX_O_INT)) {
		share(w, reg, source->reg, 0);
	} else if (ins->op == TCB_PTX_OP_CVT && is_cut(ins)) {
		share(w, reg, source->reg, 0);
		if (width == 2 && tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE2) == TCB_PTX_S32)
			words_of(w, reg)[1] = new_word(w, reg);
	}
}

int tcb_ptx_reg_words_init(const struct tcb_ptx_function *function, unsigned sm, struct tcb_ptx_reg_words *out)
{
	const size_t regs = (size_t)function->reg_count + 1;
	struct words w = { .function = function, .out = out };
	int ok;

	*out = (struct tcb_ptx_reg_words){ .count = 1 };
	out->word = calloc(regs * TCB_PTX_REG_WORDS, sizeof *out->word);
	out->weight = calloc(regs * 2 * TCB_PTX_REG_WORDS, 1);
	w.is_known = calloc(regs, 1);
	w.is_uniform = calloc(regs, 1);
	ok = out->word && out->weight && w.is_known && w.is_uniform;
	if (ok && sm >= UNIFORM_SM)
		find_uniform(&w);
	for (const struct tcb_ptx_block *block = function->first; ok && block; block = block->next)
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
			define(&w, ins);
			tcb_ptx_each_reg(ins, see_chosen, &w);
		}
	free(w.is_known);
	free(w.is_uniform);
	if (!ok)
		tcb_ptx_reg_words_fini(out);
	return ok;
}

void tcb_ptx_reg_words_fini(struct tcb_ptx_reg_words *words)
{
	free(words->word);
	free(words->weight);
	*words = (struct tcb_ptx_reg_words){ 0 };
}
