/* SPDX-License-Identifier: MIT
 *
 * In: control-flow graph and registers.  Out: which registers live at the
 * borders of each block, and the most that live at once.
 *
 * Backwards from each use that a block exposes, along predecessors until the
 * register is written (Boissinot, Hack, Grund, Dupont de Dinechin, Rastello,
 * "Fast liveness checking for SSA-form programs", section on path
 * exploration): the time is that of reading the text and writing the answer,
 * whatever the product of blocks and registers is.
 */
#include "base/grow.h"
#include "ptx/analyse/analyses.h"
#include "ptx/ir/opcodes.h"

#include <stdlib.h>
#include <string.h>

/* (register, block) pairs, gathered block by block, sorted by register before they are used. */
struct pairs {
	struct pair {
		uint32_t reg, block;
	} * list;
	size_t count, capacity;
	int failed;
};

static void add_pair(struct pairs *pairs, uint32_t reg, uint32_t block)
{
	struct pair *list = tcb_grow(pairs->list, pairs->count, &pairs->capacity, 1024, sizeof *list);

	pairs->failed |= !list;
	if (!list)
		return;
	pairs->list = list;
	pairs->list[pairs->count++] = (struct pair){ reg, block };
}

struct scan {
	struct tcb_ptx_ins *ins;
	uint32_t block;
	uint32_t *written; /* by register: 1 + the last block seen that surely writes it */
	uint32_t *exposed; /* likewise, reads it first */
	struct pairs writes, reads;
};

static void see_scan(void *ctx, uint32_t *reg, int is_def)
{
	struct scan *scan = ctx;
	uint32_t mark = scan->block + 1;

	if (scan->written[*reg] == mark)
		return;
	if (is_def && scan->ins->guard == TCB_PTX_NO_REG) {
		scan->written[*reg] = mark;
		add_pair(&scan->writes, *reg, scan->block);
	} else if (!is_def && scan->exposed[*reg] != mark) {
		scan->exposed[*reg] = mark;
		add_pair(&scan->reads, *reg, scan->block);
	}
}

/* Counting sort; the blocks of a register stay in order. */
static int sort_pairs(struct pairs *pairs, size_t keys, int by_block, size_t **first_out)
{
	size_t *first = calloc(keys + 2, sizeof *first);
	struct pair *sorted = malloc((pairs->count + 1) * sizeof *sorted);

	*first_out = first;
	if (!first || !sorted) {
		free(sorted);
		return 0;
	}
	for (size_t i = 0; i < pairs->count; i++)
		first[(by_block ? pairs->list[i].block : pairs->list[i].reg) + 2]++;
	for (size_t k = 2; k < keys + 2; k++)
		first[k] += first[k - 1];
	for (size_t i = 0; i < pairs->count; i++)
		sorted[first[(by_block ? pairs->list[i].block : pairs->list[i].reg) + 1]++] = pairs->list[i];
	free(pairs->list);
	pairs->list = sorted;
	pairs->capacity = pairs->count + 1;
	return 1;
}

struct flow {
	const struct tcb_ptx_function *function;
	struct tcb_ptx_block **blocks, **stack; /* by number */
	uint32_t *writes, *in, *out;            /* by block: 1 + the register that was marked last */
	struct pairs live_in, live_out;
};

/* Marks where REG lives because BLOCK reads it first. */
static void flow_back(struct flow *flow, uint32_t reg, uint32_t block)
{
	uint32_t depth = 0, mark = reg + 1;

	if (flow->in[block] == mark)
		return;
	flow->in[block] = mark;
	add_pair(&flow->live_in, reg, block);
	flow->stack[depth++] = flow->blocks[block];
	while (depth) {
		const struct tcb_ptx_block *at = flow->stack[--depth];

		for (uint32_t i = 0; i < at->pred_count; i++) {
			struct tcb_ptx_block *pred = at->pred[i];
			uint32_t number = pred->number;

			if (pred->order == UINT32_MAX || flow->out[number] == mark)
				continue;
			flow->out[number] = mark;
			add_pair(&flow->live_out, reg, number);
			if (flow->writes[number] == mark || flow->in[number] == mark)
				continue;
			flow->in[number] = mark;
			add_pair(&flow->live_in, reg, number);
			flow->stack[depth++] = pred;
		}
	}
}

/* The pairs as one sorted list of registers for each block, in the arena. */
static int hand_out(struct tcb_arena *arena, struct pairs *pairs, size_t blocks, uint32_t ***lists_out,
		    uint32_t **counts_out)
{
	size_t *first = NULL;
	uint32_t *regs = tcb_arena_array(arena, pairs->count + 1, sizeof *regs);
	int ok;

	*lists_out = tcb_arena_array(arena, blocks + 1, sizeof **lists_out);
	*counts_out = tcb_arena_array(arena, blocks + 1, sizeof **counts_out);
	ok = !pairs->failed && sort_pairs(pairs, blocks, 1, &first) && regs && *lists_out && *counts_out;
	for (size_t b = 0; ok && b < blocks; b++) {
		(*lists_out)[b] = regs + first[b];
		(*counts_out)[b] = (uint32_t)(first[b + 1] - first[b]);
	}
	for (size_t i = 0; ok && i < pairs->count; i++)
		regs[i] = pairs->list[i].reg;
	free(first);
	return ok;
}

/* --- pressure --- */

struct pressure {
	const struct tcb_ptx_function *function;
	const struct tcb_ptx_ins *ins;
	uint32_t *live; /* by register: 1 + the block in which it is known to live now */
	uint32_t mark;
	unsigned words, predicates;
	unsigned dead_words, dead_predicates; /* results of this instruction that nobody reads */
};

static unsigned words_of(const struct tcb_ptx_function *function, uint32_t reg)
{
	return (tcb_ptx_type_bits(function->regs[reg].type) + 31) / 32;
}

static void change(struct pressure *p, uint32_t reg, int live)
{
	if ((p->live[reg] == p->mark) == live)
		return;
	p->live[reg] = live ? p->mark : 0;
	if (p->function->regs[reg].type == TCB_PTX_PRED)
		p->predicates += live ? 1u : -1u;
	else
		p->words += (live ? 1u : -1u) * words_of(p->function, reg);
}

/* Results need room beside what lives on, also those that nobody reads. */
static void see_result(void *ctx, uint32_t *reg, int is_def)
{
	struct pressure *p = ctx;

	if (!is_def || p->live[*reg] == p->mark)
		return;
	if (p->function->regs[*reg].type == TCB_PTX_PRED)
		p->dead_predicates++;
	else
		p->dead_words += words_of(p->function, *reg);
}

static void see_kill(void *ctx, uint32_t *reg, int is_def)
{
	struct pressure *p = ctx;

	if (is_def && p->ins->guard == TCB_PTX_NO_REG)
		change(p, *reg, 0);
}

static void see_use(void *ctx, uint32_t *reg, int is_def)
{
	if (!is_def)
		change(ctx, *reg, 1);
}

static void note_peak(const struct pressure *p, struct tcb_ptx_liveness *out)
{
	unsigned words = p->words + p->dead_words, predicates = p->predicates + p->dead_predicates;

	if (words > out->pressure || !out->peak) {
		out->pressure = words;
		out->peak = p->ins;
	}
	if (predicates > out->predicate_pressure)
		out->predicate_pressure = predicates;
}

static void find_pressure(struct pressure *p, struct tcb_ptx_liveness *out)
{
	out->pressure = out->predicate_pressure = 0;
	out->peak = NULL;
	for (uint32_t i = 0; i < p->function->reachable_count; i++) {
		const struct tcb_ptx_block *block = p->function->order[i];

		p->mark = block->number + 1;
		p->words = p->predicates = 0;
		for (uint32_t k = 0; k < out->live_out_count[block->number]; k++)
			change(p, out->live_out[block->number][k], 1);
		for (struct tcb_ptx_ins *ins = block->last; ins; ins = ins->prev) {
			p->ins = ins;
			tcb_ptx_each_reg(ins, see_result, p);
			note_peak(p, out);
			p->dead_words = p->dead_predicates = 0;
			tcb_ptx_each_reg(ins, see_kill, p);
			tcb_ptx_each_reg(ins, see_use, p);
			note_peak(p, out);
		}
	}
}

enum tcb_status tcb_ptx_liveness(struct tcb_ptx_function *function, struct tcb_ptx_liveness *out, struct tcb_error *err)
{
	struct tcb_arena *arena = &function->module->arena;
	size_t blocks = function->block_count, regs = function->reg_count;
	uint32_t *marks = calloc(2 * (regs + 1) + 3 * (blocks + 1), sizeof *marks);
	struct tcb_ptx_block **lists = calloc(2 * (blocks + 1), sizeof *lists);
	struct scan scan = { .written = marks, .exposed = marks ? marks + regs + 1 : NULL };
	struct flow flow = { .function = function, .blocks = lists, .stack = lists ? lists + blocks + 1 : NULL };
	size_t *write_at = NULL, *read_at = NULL;
	int ok = marks && lists;

	memset(out, 0, sizeof *out);
	for (uint32_t i = 0; ok && i < function->reachable_count; i++) {
		struct tcb_ptx_block *block = function->order[i];

		flow.blocks[block->number] = block;
		scan.block = block->number;
		for (scan.ins = block->first; scan.ins; scan.ins = scan.ins->next)
			tcb_ptx_each_reg(scan.ins, see_scan, &scan);
	}
	ok = ok && !scan.writes.failed && !scan.reads.failed && sort_pairs(&scan.writes, regs, 0, &write_at) &&
	     sort_pairs(&scan.reads, regs, 0, &read_at);
	if (ok) {
		flow.writes = marks + 2 * (regs + 1);
		flow.in = flow.writes + blocks + 1;
		flow.out = flow.in + blocks + 1;
	}
	for (uint32_t reg = 0; ok && reg < regs; reg++) {
		for (size_t i = write_at[reg]; i < write_at[reg + 1]; i++)
			flow.writes[scan.writes.list[i].block] = reg + 1;
		for (size_t i = read_at[reg]; i < read_at[reg + 1]; i++)
			flow_back(&flow, reg, scan.reads.list[i].block);
	}
	ok = ok && hand_out(arena, &flow.live_in, blocks, &out->live_in, &out->live_in_count) &&
	     hand_out(arena, &flow.live_out, blocks, &out->live_out, &out->live_out_count);
	if (ok) {
		struct pressure p = { .function = function, .live = marks };

		memset(marks, 0, (regs + 1) * sizeof *marks);
		find_pressure(&p, out);
	}
	free(marks);
	free(lists);
	free(scan.writes.list);
	free(scan.reads.list);
	free(flow.live_in.list);
	free(flow.live_out.list);
	free(write_at);
	free(read_at);
	return ok ? TCB_OK
		  : tcb_fail(err, TCB_E_NOMEM, "out of memory for the liveness of '%s'", function->symbol->name);
}

static int has(const uint32_t *list, uint32_t count, uint32_t reg)
{
	uint32_t low = 0;

	while (low < count) {
		uint32_t mid = low + (count - low) / 2;

		if (list[mid] == reg)
			return 1;
		if (list[mid] < reg)
			low = mid + 1;
		else
			count = mid;
	}
	return 0;
}

int tcb_ptx_is_live_in(const struct tcb_ptx_liveness *liveness, const struct tcb_ptx_block *block, uint32_t reg)
{
	return has(liveness->live_in[block->number], liveness->live_in_count[block->number], reg);
}

int tcb_ptx_is_live_out(const struct tcb_ptx_liveness *liveness, const struct tcb_ptx_block *block, uint32_t reg)
{
	return has(liveness->live_out[block->number], liveness->live_out_count[block->number], reg);
}
