/* SPDX-License-Identifier: MIT
 *
 * In: a function whose registers may be written more than once.  Out: for each
 * read the write that it sees, or the block where several meet.
 *
 * A register with one write that dominates the read is the common case and
 * costs nothing.  For others a forward pass over the blocks, repeated until
 * nothing changes, finds what holds at the start of each block; it runs once a
 * register, when that register is first asked for.  A block becomes a meeting
 * point when its predecessors disagree, and stays one.
 */
#include "ptx/analyse/flow/reaching.h"

#include <stdlib.h>

#include "ptx/ir/opcodes.h"

struct writes {
	struct tcb_ptx_ins **ins; /* in text order */
	uint32_t count;
	struct tcb_ptx_write *at_start; /* by block->number; NULL until asked for */
};

struct tcb_ptx_reaching {
	struct tcb_ptx_function *function;
	const struct tcb_ptx_dominators *dominators;
	struct tcb_arena arena;
	struct writes *regs;
};

struct collecting {
	struct tcb_ptx_reaching *reaching;
	struct tcb_ptx_ins *ins;
};

static void collect(void *ctx, uint32_t *reg, int is_def)
{
	struct collecting *c = ctx;
	struct writes *writes = &c->reaching->regs[*reg];

	if (is_def && !(writes->count && writes->ins[writes->count - 1] == c->ins))
		writes->ins[writes->count++] = c->ins;
}

enum tcb_status tcb_ptx_reaching_create(struct tcb_ptx_function *function, const struct tcb_ptx_dominators *d,
					struct tcb_ptx_reaching **out, struct tcb_error *err)
{
	struct tcb_ptx_reaching *r = calloc(1, sizeof *r);
	struct tcb_ptx_ins **pool;
	size_t total = 0;

	*out = NULL;
	if (!r)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the definitions of '%s'", function->symbol->name);
	r->function = function;
	r->dominators = d;
	for (uint32_t i = 0; i < function->reg_count; i++)
		total += function->regs[i].defs;
	r->regs = tcb_arena_array(&r->arena, function->reg_count, sizeof *r->regs);
	pool = tcb_arena_array(&r->arena, total, sizeof *pool);
	if (!r->regs || !pool) {
		tcb_ptx_reaching_destroy(r);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the definitions of '%s'", function->symbol->name);
	}
	for (uint32_t i = 0; i < function->reg_count; i++) {
		r->regs[i].ins = pool;
		pool += function->regs[i].defs;
	}
	for (struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			tcb_ptx_each_reg(ins, collect, &(struct collecting){ r, ins });
	*out = r;
	return TCB_OK;
}

void tcb_ptx_reaching_destroy(struct tcb_ptx_reaching *reaching)
{
	if (!reaching)
		return;
	tcb_arena_fini(&reaching->arena);
	free(reaching);
}

/* The last write of BLOCK that stands before instruction number BEFORE. */
static struct tcb_ptx_ins *last_before(const struct writes *writes, const struct tcb_ptx_block *block, uint32_t before)
{
	uint32_t low = 0, high = writes->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (writes->ins[middle]->number < before)
			low = middle + 1;
		else
			high = middle;
	}
	return low && writes->ins[low - 1]->block == block ? writes->ins[low - 1] : NULL;
}

static struct tcb_ptx_write of_ins(struct tcb_ptx_ins *ins)
{
	return (struct tcb_ptx_write){ TCB_PTX_WRITE_INS, ins, NULL };
}

static int same(const struct tcb_ptx_write *a, const struct tcb_ptx_write *b)
{
	return a->kind == b->kind && a->ins == b->ins && a->block == b->block;
}

/* What holds at the end of BLOCK, given what holds at its start. */
static struct tcb_ptx_write through(const struct writes *writes, const struct tcb_ptx_block *block)
{
	struct tcb_ptx_ins *last = last_before(writes, block, block->last ? block->last->number + 1 : 0);

	return last ? of_ins(last) : writes->at_start[block->number];
}

/* What the predecessors of BLOCK that were seen already agree on; a phi when they do not. */
static struct tcb_ptx_write meet(const struct writes *writes, const uint8_t *seen, struct tcb_ptx_block *block)
{
	struct tcb_ptx_write all = { 0 };
	int any = 0;

	for (uint32_t i = 0; i < block->pred_count; i++) {
		const struct tcb_ptx_block *pred = block->pred[i];
		struct tcb_ptx_write one;

		if (pred->order == UINT32_MAX || !seen[pred->number])
			continue;
		one = through(writes, pred);
		if (!any)
			all = one;
		else if (!same(&all, &one))
			return (struct tcb_ptx_write){ TCB_PTX_WRITE_PHI, NULL, block };
		any = 1;
	}
	return all;
}

/* What WRITE stands for when meeting points that turned out to be none are left out. */
static struct tcb_ptx_write behind(const struct tcb_ptx_write *instead, struct tcb_ptx_write write)
{
	while (write.kind == TCB_PTX_WRITE_PHI && instead[write.block->number].kind != TCB_PTX_WRITE_NONE)
		write = instead[write.block->number];
	return write;
}

/* A meeting point where all ways bring the same write, or none but what it has already, is none.  Such arise while a
 * loop's end still has what was found before its header met it. */
static void drop_false_meetings(struct tcb_ptx_function *function, struct writes *writes, struct tcb_ptx_write *instead)
{
	int changed = 1;

	while (changed) {
		changed = 0;
		for (uint32_t i = 1; i < function->reachable_count; i++) {
			struct tcb_ptx_block *block = function->order[i];
			struct tcb_ptx_write self = { TCB_PTX_WRITE_PHI, NULL, block }, only = { 0 };
			int inputs = 0;

			if (!same(&writes->at_start[block->number], &self) ||
			    instead[block->number].kind != TCB_PTX_WRITE_NONE)
				continue;
			for (uint32_t p = 0; p < block->pred_count && inputs < 2; p++) {
				struct tcb_ptx_write one;

				if (block->pred[p]->order == UINT32_MAX)
					continue;
				one = behind(instead, through(writes, block->pred[p]));
				if (same(&one, &self))
					continue;
				if (!inputs || !same(&one, &only))
					inputs++;
				only = one;
			}
			if (inputs == 1 && only.kind != TCB_PTX_WRITE_NONE) {
				instead[block->number] = only;
				changed = 1;
			}
		}
	}
	for (uint32_t i = 0; i < function->reachable_count; i++) {
		struct tcb_ptx_write *at = &writes->at_start[function->order[i]->number];

		*at = behind(instead, *at);
	}
}

static int find_starts(struct tcb_ptx_reaching *r, struct writes *writes)
{
	struct tcb_ptx_function *function = r->function;
	uint32_t blocks = function->block_count ? function->block_count : 1;
	uint8_t *seen = calloc(blocks, 1);
	struct tcb_ptx_write *instead = calloc(blocks, sizeof *instead);
	int changed = 1;

	writes->at_start = tcb_arena_array(&r->arena, function->block_count, sizeof *writes->at_start);
	if (!writes->at_start || !seen || !instead) {
		free(seen);
		free(instead);
		writes->at_start = NULL;
		return 0;
	}
	while (changed) {
		changed = 0;
		for (uint32_t i = 0; i < function->reachable_count; i++) {
			struct tcb_ptx_block *block = function->order[i];
			struct tcb_ptx_write *now = &writes->at_start[block->number], next;

			if (now->kind == TCB_PTX_WRITE_PHI && now->block == block)
				continue;
			/* the entry may be a loop's header: what was there before the function is one more input */
			next = i == 0 && block->pred_count ? (struct tcb_ptx_write){ TCB_PTX_WRITE_PHI, NULL, block }
							   : meet(writes, seen, block);
			if (!seen[block->number] || !same(now, &next)) {
				seen[block->number] = 1;
				*now = next;
				changed = 1;
			}
		}
	}
	drop_false_meetings(function, writes, instead);
	free(seen);
	free(instead);
	return 1;
}

static struct tcb_ptx_write at_start(struct tcb_ptx_reaching *r, struct tcb_ptx_block *block, uint32_t reg)
{
	struct writes *writes = &r->regs[reg];

	if (!writes->count || block->order == UINT32_MAX)
		return (struct tcb_ptx_write){ 0 };
	if (writes->count == 1 && writes->ins[0]->block != block &&
	    tcb_ptx_dominates(r->dominators, writes->ins[0]->block, block))
		return of_ins(writes->ins[0]);
	if (!writes->at_start && !find_starts(r, writes)) /* no memory: as if it were never written */
		return (struct tcb_ptx_write){ 0 };
	return writes->at_start[block->number];
}

struct tcb_ptx_write tcb_ptx_reaching_at(struct tcb_ptx_reaching *r, const struct tcb_ptx_ins *ins, uint32_t reg)
{
	struct tcb_ptx_ins *last = last_before(&r->regs[reg], ins->block, ins->number);

	return last ? of_ins(last) : at_start(r, ins->block, reg);
}

struct tcb_ptx_write tcb_ptx_reaching_end(struct tcb_ptx_reaching *r, struct tcb_ptx_block *block, uint32_t reg)
{
	struct tcb_ptx_ins *last = block->last ? last_before(&r->regs[reg], block, block->last->number + 1) : NULL;

	return last ? of_ins(last) : at_start(r, block, reg);
}
