/* SPDX-License-Identifier: MIT
 *
 * In: blocks in text order and their terminators.  Out: successors,
 * predecessors, the reverse post-order of what can be reached, and counts of
 * the definitions and uses of each register.  Linear in blocks, edges and
 * operands; the depth-first search keeps its own stack, so deep nests are safe.
 */
#include "ptx/ir/opcodes.h"

#include <string.h>

struct tcb_ptx_ins *tcb_ptx_terminator(const struct tcb_ptx_block *block)
{
	return block->last && tcb_ptx_has(block->last, TCB_PTX_F_TERMINATOR) ? block->last : NULL;
}

int tcb_ptx_falls_through(const struct tcb_ptx_block *block)
{
	const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);

	return !end || end->guard != TCB_PTX_NO_REG;
}

/* Adds TO once. */
static void add_succ(struct tcb_ptx_block *from, struct tcb_ptx_block *to)
{
	for (uint32_t i = 0; i < from->succ_count; i++)
		if (from->succ[i] == to)
			return;
	from->succ[from->succ_count++] = to;
	to->pred_count++;
}

static int set_succ(struct tcb_arena *arena, struct tcb_ptx_block *block)
{
	const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);
	const struct tcb_ptx_table *table = NULL;
	uint32_t most = 2;

	if (end && end->op == TCB_PTX_OP_BRX) {
		table = end->operands[1].table;
		most = table->count + 1;
	}
	block->succ = tcb_arena_array(arena, most, sizeof *block->succ);
	if (!block->succ)
		return 0;
	if (table) {
		for (uint32_t i = 0; i < table->count; i++)
			add_succ(block, table->blocks[i]);
	} else if (end && end->op == TCB_PTX_OP_BRA) {
		add_succ(block, end->operands[0].block);
	}
	if (tcb_ptx_falls_through(block) && block->next)
		add_succ(block, block->next);
	return 1;
}

static int set_preds(struct tcb_arena *arena, struct tcb_ptx_function *function)
{
	for (struct tcb_ptx_block *block = function->first; block; block = block->next) {
		block->pred = tcb_arena_array(arena, block->pred_count, sizeof *block->pred);
		if (!block->pred)
			return 0;
		block->pred_count = 0;
	}
	for (struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (uint32_t i = 0; i < block->succ_count; i++)
			block->succ[i]->pred[block->succ[i]->pred_count++] = block;
	return 1;
}

/* Post-order by an explicit stack of (block, next successor), then turned round. */
static int set_order(struct tcb_arena *arena, struct tcb_ptx_function *function)
{
	uint32_t count = function->block_count, depth = 0, done = 0;
	struct tcb_ptx_block **stack = tcb_arena_array(arena, count, sizeof *stack);
	uint32_t *next = tcb_arena_array(arena, count, sizeof *next);

	function->order = tcb_arena_array(arena, count, sizeof *function->order);
	if (!stack || !next || !function->order)
		return 0;
	if (function->first) {
		stack[depth++] = function->first;
		function->first->order = 0; /* seen */
	}
	while (depth) {
		struct tcb_ptx_block *block = stack[depth - 1];

		if (next[depth - 1] < block->succ_count) {
			struct tcb_ptx_block *succ = block->succ[next[depth - 1]++];

			if (succ->order == UINT32_MAX) {
				succ->order = 0;
				next[depth] = 0;
				stack[depth++] = succ;
			}
		} else {
			function->order[done++] = block;
			depth--;
		}
	}
	function->reachable_count = done;
	for (uint32_t i = 0; i < done / 2; i++) {
		struct tcb_ptx_block *block = function->order[i];

		function->order[i] = function->order[done - 1 - i];
		function->order[done - 1 - i] = block;
	}
	for (uint32_t i = 0; i < done; i++)
		function->order[i]->order = i;
	return 1;
}

enum tcb_status tcb_ptx_cfg(struct tcb_ptx_function *function, struct tcb_error *err)
{
	struct tcb_arena *arena = &function->module->arena;
	uint32_t number = 0;
	int ok = 1;

	for (struct tcb_ptx_block *block = function->first; block; block = block->next) {
		block->number = number++;
		block->order = UINT32_MAX;
		block->succ_count = block->pred_count = 0;
	}
	for (struct tcb_ptx_block *block = function->first; block && ok; block = block->next)
		ok = set_succ(arena, block);
	if (!ok || !set_preds(arena, function) || !set_order(arena, function))
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the control-flow graph of '%s'",
				function->symbol->name);
	return TCB_OK;
}

static void see_operand(struct tcb_ptx_operand *operand, void (*see)(void *ctx, uint32_t *reg, int is_def), void *ctx,
			int is_def)
{
	switch ((enum tcb_ptx_operand_kind)operand->kind) {
	case TCB_PTX_O_REG:
		see(ctx, &operand->reg, is_def);
		break;
	case TCB_PTX_O_ADDRESS:
		if (operand->reg != TCB_PTX_NO_REG)
			see(ctx, &operand->reg, 0);
		is_def = 0; /* and the coordinates are read */
			    /* fall through */
	case TCB_PTX_O_VECTOR:
	case TCB_PTX_O_PAIR:
	case TCB_PTX_O_LIST:
		for (uint32_t i = 0; i < operand->count; i++)
			if (operand->items[i].kind == TCB_PTX_O_REG)
				see(ctx, &operand->items[i].reg, is_def);
		break;
	default:
		break;
	}
}

/* Whether INS, a wgmma, begins a sum: with 0 as scale-d it does not read its accumulators (PTX ISA 9.7.15.5.2). */
static int has_no_addend(const struct tcb_ptx_ins *ins)
{
	enum { SCALE_D = 3 };

	return ins->operand_count > SCALE_D && ins->operands[SCALE_D].kind == TCB_PTX_O_INT &&
	       !ins->operands[SCALE_D].bits;
}

void tcb_ptx_each_reg(struct tcb_ptx_ins *ins, void (*see)(void *ctx, uint32_t *reg, int is_def), void *ctx)
{
	if (ins->guard != TCB_PTX_NO_REG)
		see(ctx, &ins->guard, 0);
	for (unsigned i = ins->result_count; i < ins->operand_count; i++)
		see_operand(&ins->operands[i], see, ctx, 0);
	for (unsigned i = 0; i < ins->result_count; i++) {
		struct tcb_ptx_operand *result = &ins->operands[i];

		if (ins->op != TCB_PTX_OP_WGMMA)
			see_operand(result, see, ctx, 1);
		for (uint32_t k = 0; ins->op == TCB_PTX_OP_WGMMA && k < result->count; k++) { /* accumulates into it */
			if (!has_no_addend(ins))
				see_operand(&result->items[k], see, ctx, 0);
			see_operand(&result->items[k], see, ctx, 1);
		}
	}
}

struct counting {
	struct tcb_ptx_function *function;
	struct tcb_ptx_ins *ins;
};

static void count_reg(void *ctx, uint32_t *reg, int is_def)
{
	struct counting *counting = ctx;
	struct tcb_ptx_reg *known = &counting->function->regs[*reg];

	if (is_def)
		known->def = known->defs++ ? NULL : counting->ins;
	else
		known->uses++;
}

void tcb_ptx_number(struct tcb_ptx_function *function)
{
	uint32_t number = 0;

	for (uint32_t i = 0; i < function->reg_count; i++) {
		function->regs[i].defs = function->regs[i].uses = 0;
		function->regs[i].def = NULL;
	}
	for (struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
			struct counting counting = { function, ins };

			ins->number = number++;
			tcb_ptx_each_reg(ins, count_reg, &counting);
		}
}
