/* SPDX-License-Identifier: MIT
 *
 * In: a function.  Out: the same without what has no effect.
 *
 * Blocks that cannot be reached go, with branch tables that nobody uses;
 * branches to where control goes anyway; empty blocks; blocks that only the one
 * before them leads to are joined with it.  Then instructions: those whose
 * results are written again in the same block before anybody reads them, and
 * those that no instruction with an effect depends on, whether directly or
 * through others (a definition counts as reaching all uses of its register, so
 * this is the safe side).  Weak loads may go; volatile, ordered and mmio ones
 * stay.
 *
 * Both halves are linear; they alternate until nothing changes, at most
 * ROUNDS_MAX times, which only contrived code exceeds.
 */
#include "ptx/analyse/flow/rewrite.h"
#include "ptx/optimise/passes.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MAX = 8, NOBODY = UINT32_MAX };

/* --- blocks --- */

static unsigned remove_unreachable(struct tcb_ptx_function *function)
{
	struct tcb_ptx_table **table = &function->tables;
	unsigned removed = 0;

	for (struct tcb_ptx_block *block = function->first, *next; block; block = next) {
		next = block->next;
		if (block->order != UINT32_MAX)
			continue;
		for (struct tcb_ptx_ins *ins = block->first, *after; ins; ins = after) {
			after = ins->next;
			tcb_ptx_ins_remove(ins);
			removed++;
		}
		tcb_ptx_block_remove(block);
		removed++;
	}
	while (removed && *table) { /* few functions have any */
		int is_used = 0;

		for (struct tcb_ptx_block *block = function->first; block && !is_used; block = block->next)
			is_used = block->last && block->last->op == TCB_PTX_OP_BRX &&
				  block->last->operands[1].table == *table;
		if (is_used)
			table = &(*table)->next;
		else
			*table = (*table)->next;
	}
	return removed;
}

/* Where control goes on from an empty block. */
static struct tcb_ptx_block *landing(struct tcb_ptx_block *block, struct tcb_ptx_block **onward)
{
	return onward[block->number];
}

static void retarget(struct tcb_ptx_block **target, struct tcb_ptx_block **onward)
{
	struct tcb_ptx_block *to = landing(*target, onward);

	if (to != *target && !to->label)
		to->label = (*target)->label;
	*target = to;
}

/* Needs block numbers.  ONWARD has room for all. */
static unsigned remove_empty(struct tcb_ptx_function *function, struct tcb_ptx_block **onward)
{
	unsigned removed = 0;

	for (struct tcb_ptx_block *block = function->last; block; block = block->prev)
		onward[block->number] = block->first || !block->next ? block : onward[block->next->number];
	for (struct tcb_ptx_block *block = function->first; block; block = block->next)
		if (block->last && block->last->op == TCB_PTX_OP_BRA)
			retarget(&block->last->operands[0].block, onward);
	for (struct tcb_ptx_table *table = function->tables; table; table = table->next)
		for (uint32_t i = 0; i < table->count; i++)
			retarget(&table->blocks[i], onward);
	for (struct tcb_ptx_block *block = function->first, *next; block; block = next) {
		next = block->next;
		if (onward[block->number] != block) {
			tcb_ptx_block_remove(block);
			removed++;
		}
	}
	return removed;
}

static unsigned remove_branches_to_next(struct tcb_ptx_function *function)
{
	unsigned removed = 0;

	for (struct tcb_ptx_block *block = function->first; block; block = block->next)
		if (block->last && block->last->op == TCB_PTX_OP_BRA && block->last->operands[0].block == block->next) {
			tcb_ptx_ins_remove(block->last);
			removed++;
		}
	return removed;
}

/* Labels that nobody names go, and with them the border to a block that falls through. */
static unsigned join_blocks(struct tcb_ptx_function *function, uint8_t *is_named)
{
	unsigned joined = 0;

	for (struct tcb_ptx_block *block = function->first; block; block = block->next)
		if (block->last && block->last->op == TCB_PTX_OP_BRA)
			is_named[block->last->operands[0].block->number] = 1;
	for (struct tcb_ptx_table *table = function->tables; table; table = table->next)
		for (uint32_t i = 0; i < table->count; i++)
			is_named[table->blocks[i]->number] = 1;
	for (struct tcb_ptx_block *block = function->first, *next; block; block = next) {
		next = block->next;
		if (is_named[block->number])
			continue;
		block->label = NULL;
		if (!block->prev || tcb_ptx_terminator(block->prev))
			continue;
		for (struct tcb_ptx_ins *ins = block->first, *after; ins; ins = after) {
			struct tcb_ptx_block *into = block->prev;

			after = ins->next;
			tcb_ptx_ins_remove(ins);
			tcb_ptx_ins_append(into, ins);
		}
		tcb_ptx_block_remove(block);
		joined++;
	}
	return joined;
}

static enum tcb_status clean_blocks(struct tcb_ptx_function *function, unsigned *changed, struct tcb_error *err)
{
	struct tcb_ptx_block **onward;
	uint8_t *is_named;

	TCB_TRY(tcb_ptx_cfg(function, err));
	onward = calloc(function->block_count + 1u, sizeof(*onward));
	is_named = calloc(function->block_count + 1u, 1);
	if (onward && is_named) {
		*changed += remove_unreachable(function);
		*changed += remove_empty(function, onward);
		*changed += remove_branches_to_next(function);
		*changed += join_blocks(function, is_named);
	}
	free(is_named);
	free(onward);
	if (!onward || !is_named)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory in dead code of '%s'", function->symbol->name);
	return TCB_OK;
}

/* --- instructions --- */

struct marking {         /* of each register: the instructions that write it */
	uint32_t *first; /* by register; NOBODY ends a list */
	struct definition {
		struct tcb_ptx_ins *ins;
		uint32_t next;
	} * definition;
	uint32_t definition_count;
	uint8_t *is_live; /* by instruction number */
	struct tcb_ptx_ins **work;
	uint32_t work_count;
	struct tcb_ptx_ins *ins; /* being looked at */
};

static void add_definition(void *ctx, uint32_t *reg, int is_def)
{
	struct marking *lists = ctx;

	if (!is_def)
		return;
	lists->definition[lists->definition_count] = (struct definition){ lists->ins, lists->first[*reg] };
	lists->first[*reg] = lists->definition_count++;
}

static void make_live(struct marking *lists, struct tcb_ptx_ins *ins)
{
	if (lists->is_live[ins->number])
		return;
	lists->is_live[ins->number] = 1;
	lists->work[lists->work_count++] = ins;
}

static void follow_use(void *ctx, uint32_t *reg, int is_def)
{
	struct marking *lists = ctx;

	if (is_def)
		return;
	for (uint32_t i = lists->first[*reg]; i != NOBODY; i = lists->definition[i].next)
		make_live(lists, lists->definition[i].ins);
	lists->first[*reg] = NOBODY; /* all are live now: each list is walked once */
}

static int is_self_move(const struct tcb_ptx_ins *ins)
{
	return ins->op == TCB_PTX_OP_MOV && ins->operands[0].kind == TCB_PTX_O_REG &&
	       ins->operands[1].kind == TCB_PTX_O_REG && ins->operands[0].reg == ins->operands[1].reg;
}

static void mark(struct tcb_ptx_function *function, struct marking *lists)
{
	for (struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (lists->ins = block->first; lists->ins; lists->ins = lists->ins->next)
			if (!is_self_move(lists->ins))
				tcb_ptx_each_reg(lists->ins, add_definition, lists);
	for (struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			if (tcb_ptx_has_effect(ins))
				make_live(lists, ins);
	while (lists->work_count)
		tcb_ptx_each_reg(lists->work[--lists->work_count], follow_use, lists);
}

static unsigned sweep(struct tcb_ptx_function *function, const uint8_t *is_live)
{
	unsigned removed = 0;

	for (struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (struct tcb_ptx_ins *ins = block->first, *next; ins; ins = next) {
			next = ins->next;
			if (!is_live[ins->number]) {
				tcb_ptx_ins_remove(ins);
				removed++;
			}
		}
	return removed;
}

struct overwrite {
	uint32_t *stamp; /* by register: number + 1 of the block in which what it holds here is overwritten unread */
	uint32_t mark;
	int is_guarded, all_dead;
};

static void ask_dead(void *ctx, uint32_t *reg, int is_def)
{
	struct overwrite *o = ctx;

	if (is_def && o->stamp[*reg] != o->mark)
		o->all_dead = 0;
}

static void set_written(void *ctx, uint32_t *reg, int is_def)
{
	struct overwrite *o = ctx;

	if (is_def && !o->is_guarded) /* a guarded write may leave the old value */
		o->stamp[*reg] = o->mark;
}

static void set_read(void *ctx, uint32_t *reg, int is_def)
{
	struct overwrite *o = ctx;

	if (!is_def)
		o->stamp[*reg] = 0;
}

/* Backwards through each block. */
static unsigned remove_overwritten(struct tcb_ptx_function *function, uint32_t *stamp)
{
	struct overwrite o = { .stamp = stamp };
	unsigned removed = 0;

	for (struct tcb_ptx_block *block = function->first; block; block = block->next) {
		o.mark++;
		for (struct tcb_ptx_ins *ins = block->last, *prev; ins; ins = prev) {
			prev = ins->prev;
			o.is_guarded = ins->guard != TCB_PTX_NO_REG;
			o.all_dead = 1;
			tcb_ptx_each_reg(ins, ask_dead, &o);
			if (o.all_dead && !tcb_ptx_has_effect(ins)) {
				tcb_ptx_ins_remove(ins);
				removed++;
				continue;
			}
			tcb_ptx_each_reg(ins, set_written, &o);
			tcb_ptx_each_reg(ins, set_read, &o);
		}
	}
	return removed;
}

static int has_empty_block(const struct tcb_ptx_function *function)
{
	const struct tcb_ptx_block *block = function->first;

	while (block && block->first)
		block = block->next;
	return block != NULL;
}

/* AGAIN: what went gives other instructions or blocks no reason to stay any more. */
static enum tcb_status clean_instructions(struct tcb_ptx_function *function, unsigned *changed, int *again,
					  struct tcb_error *err)
{
	size_t regs = function->reg_count + 1u, count = function->ins_count + 1u, definitions = 0;
	uint32_t *stamp = calloc(regs, sizeof *stamp);
	struct marking lists = { 0 };
	unsigned overwritten;
	int ok;

	tcb_ptx_number(function);
	for (uint32_t i = 0; i < function->reg_count; i++)
		definitions += function->regs[i].defs;
	lists.first = malloc(regs * sizeof *lists.first);
	lists.definition = calloc(definitions + 1, sizeof *lists.definition);
	lists.is_live = calloc(count, 1);
	lists.work = calloc(count, sizeof(*lists.work));
	ok = stamp && lists.first && lists.definition && lists.is_live && lists.work;
	if (ok) {
		memset(lists.first, 0xff, regs * sizeof *lists.first);
		mark(function, &lists);
		*changed += sweep(function, lists.is_live);
		overwritten = remove_overwritten(function, stamp);
		*changed += overwritten;
		*again = overwritten || has_empty_block(function);
	}
	free(stamp);
	free(lists.first);
	free(lists.definition);
	free(lists.is_live);
	free(lists.work);
	return ok ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "out of memory in dead code of '%s'", function->symbol->name);
}

enum tcb_status tcb_ptx_dead_code(struct tcb_ptx_function *function, const struct tcb_ptx_pass_options *options,
				  unsigned *changed_out, struct tcb_error *err)
{
	int again = 1;

	(void)options;
	*changed_out = 0;
	for (unsigned round = 0; round < ROUNDS_MAX && again; round++) {
		TCB_TRY(clean_blocks(function, changed_out, err));
		TCB_TRY(clean_instructions(function, changed_out, &again, err));
	}
	return TCB_OK;
}
