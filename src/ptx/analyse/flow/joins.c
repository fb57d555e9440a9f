/* SPDX-License-Identifier: MIT
 *
 * In: a branch about which threads disagree.  Out: the blocks that only some
 * of them run at a time, the blocks where they meet, and the loops that they
 * leave in different rounds.
 *
 * Each way gets a label that is carried along edges; a block that two labels
 * reach is a join and becomes a label itself; when one label is left, all are
 * together again.  (The idea is that of Rosemann, Moll, Hack, "An abstract
 * interpretation for SPMD divergence on reducible control flow graphs", POPL
 * 2021.)  Unlike post-dominators this is not disturbed by threads that end on
 * the way: their labels vanish.  Blocks are visited in an order in which loops
 * are contiguous, so a loop is over before its exits are looked at.
 */
#include "ptx/analyse/flow/joins.h"
#include "ptx/ir/opcodes.h"

#include <stdlib.h>
#include <string.h>

int tcb_ptx_ends_thread(const struct tcb_ptx_function *function, const struct tcb_ptx_ins *end)
{
	return end && (end->op == TCB_PTX_OP_EXIT || (end->op == TCB_PTX_OP_RET && function->is_entry));
}

int tcb_ptx_joins_in_loop(const struct tcb_ptx_joins *joins, const struct tcb_ptx_block *header,
			  const struct tcb_ptx_block *block)
{
	uint32_t place = joins->place[block->number];

	return joins->place[header->number] <= place && place < joins->loop_end[header->number];
}

/* --- the order --- */

/* Kahn's algorithm with one list of ready blocks for each loop; a loop is emptied before the one around it goes on. */
struct ordering {
	struct tcb_ptx_joins *joins;
	uint32_t *waits; /* by number: forward predecessors that are not placed yet */
	/* 1 + first of a list, by number of a loop's header, or block_count for no loop; [1] for quiet blocks, which go
	 * first, so that a side that just ends is over before the one that goes on */
	uint32_t *ready[2];
	uint32_t *next;       /* by number: 1 + next of that list */
	const uint8_t *quiet; /* by number */
	uint32_t count;       /* placed so far */
	const uint32_t none;  /* block_count */
};

static uint32_t list_of(const struct ordering *o, const struct tcb_ptx_loop *loop)
{
	return loop ? loop->header->number : o->none;
}

static void make_ready(struct ordering *o, const struct tcb_ptx_block *block)
{
	const struct tcb_ptx_loop *loop = block->loop;
	uint32_t *list =
		&o->ready[o->quiet[block->number]][list_of(o, loop && loop->header == block ? loop->parent : loop)];

	o->next[block->number] = *list;
	*list = block->number + 1;
}

static int is_in_loop_of(const struct tcb_ptx_block *block, const struct tcb_ptx_block *header)
{
	const struct tcb_ptx_loop *loop = block->loop;

	while (loop && loop->header != header)
		loop = loop->parent;
	return loop != NULL;
}

static void order_blocks(struct ordering *o, struct tcb_ptx_block **by_number)
{
	struct tcb_ptx_function *function = o->joins->function;
	const struct tcb_ptx_loop *loop = NULL; /* the one that is being emptied */

	for (uint32_t i = 0; i < function->reachable_count; i++)
		for (uint32_t k = 0; k < function->order[i]->succ_count; k++)
			if (function->order[i]->succ[k]->order > i)
				o->waits[function->order[i]->succ[k]->number]++;
			else if (!is_in_loop_of(function->order[i], function->order[i]->succ[k]))
				o->joins->is_irreducible = 1;
	make_ready(o, function->first);
	for (;;) {
		uint32_t *list = &o->ready[1][list_of(o, loop)];
		struct tcb_ptx_block *block;

		if (!*list)
			list = &o->ready[0][list_of(o, loop)];

		if (!*list) {
			if (!loop)
				break;
			o->joins->loop_end[loop->header->number] = o->count;
			loop = loop->parent;
			continue;
		}
		block = by_number[*list - 1];
		*list = o->next[block->number];
		o->joins->place[block->number] = o->count;
		o->joins->order[o->count++] = block;
		for (uint32_t k = 0; k < block->succ_count; k++)
			if (block->succ[k]->order > block->order && --o->waits[block->succ[k]->number] == 0)
				make_ready(o, block->succ[k]);
		if (block->loop && block->loop->header == block)
			loop = block->loop;
	}
}

/* Blocks from which no barrier and nothing that lanes do together can be reached: 1 in QUIET. */
static void find_quiet(const struct tcb_ptx_function *function, uint8_t *quiet, struct tcb_ptx_block **stack)
{
	uint32_t depth = 0;

	memset(quiet, 1, function->block_count);
	for (struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (const struct tcb_ptx_ins *ins = block->first; ins && quiet[block->number]; ins = ins->next)
			if (tcb_ptx_has(ins, TCB_PTX_F_BARRIER | TCB_PTX_F_CONVERGENT)) {
				quiet[block->number] = 0;
				stack[depth++] = block;
			}
	while (depth) {
		const struct tcb_ptx_block *block = stack[--depth];

		for (uint32_t i = 0; i < block->pred_count; i++)
			if (quiet[block->pred[i]->number]) {
				quiet[block->pred[i]->number] = 0;
				stack[depth++] = block->pred[i];
			}
	}
}

/* Holds nothing that another thread could notice, and ends the thread. */
static int only_ends(const struct tcb_ptx_function *function, const struct tcb_ptx_block *block)
{
	if (!tcb_ptx_ends_thread(function, tcb_ptx_terminator(block)) || block->last->guard != TCB_PTX_NO_REG)
		return 0;
	for (const struct tcb_ptx_ins *ins = block->first; ins != block->last; ins = ins->next)
		if (tcb_ptx_has(ins, TCB_PTX_F_EFFECT | TCB_PTX_F_BARRIER | TCB_PTX_F_CONVERGENT))
			return 0;
	return 1;
}

/* Blocks from which every way leads to a trap: whoever goes there never comes back, and nobody waits for him. */
static void find_doomed(struct tcb_ptx_joins *joins)
{
	const struct tcb_ptx_function *function = joins->function;

	for (uint32_t i = function->reachable_count; i--;) {
		const struct tcb_ptx_block *block = function->order[i];
		const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);
		int is_doomed = block->succ_count || (end && end->op == TCB_PTX_OP_TRAP);

		for (uint32_t k = 0; k < block->succ_count && is_doomed; k++)
			is_doomed = joins->doomed[block->succ[k]->number];
		joins->doomed[block->number] = is_doomed;
	}
}

enum tcb_status tcb_ptx_joins_init(struct tcb_ptx_joins *joins, struct tcb_ptx_function *function,
				   struct tcb_error *err)
{
	struct tcb_arena *arena = &function->module->arena;
	size_t blocks = function->block_count;
	struct tcb_ptx_block **by_number = calloc(blocks + 1, sizeof *by_number);
	uint32_t *scratch = calloc(5 * (blocks + 1), sizeof *scratch); /* the last for bytes */

	memset(joins, 0, sizeof *joins);
	joins->function = function;
	uint32_t **words[] = {
		&joins->place, &joins->loop_end, &joins->seen, &joins->inside, &joins->met, &joins->heap
	};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		*words[i] = tcb_arena_array(arena, blocks + 1, sizeof **words[i]);
	struct tcb_ptx_block ***lists[] = { &joins->order,       &joins->label,      &joins->pending,
					    &joins->region.list, &joins->joins.list, &joins->loops.list };
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		*lists[i] = tcb_arena_array(arena, blocks + 1, sizeof **lists[i]);
	joins->ends = tcb_arena_array(arena, blocks + 1, sizeof *joins->ends);
	joins->doomed = tcb_arena_array(arena, blocks + 1, sizeof *joins->doomed);
	if (!by_number || !scratch || arena->failed) {
		free(by_number);
		free(scratch);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the joins of '%s'", function->symbol->name);
	}
	for (struct tcb_ptx_block *block = function->first; block; block = block->next) {
		by_number[block->number] = block;
		joins->ends[block->number] = only_ends(function, block);
	}
	find_doomed(joins);
	if (function->first) {
		struct ordering o = { .joins = joins,
				      .waits = scratch,
				      .ready = { scratch + blocks + 1, scratch + 2 * (blocks + 1) },
				      .next = scratch + 3 * (blocks + 1),
				      .quiet = (uint8_t *)(scratch + 4 * (blocks + 1)),
				      .none = function->block_count };

		find_quiet(function, (uint8_t *)(scratch + 4 * (blocks + 1)), joins->pending);

		order_blocks(&o, by_number);
	}
	free(by_number);
	free(scratch);
	return TCB_OK;
}

/* --- one search --- */

static void push(struct tcb_ptx_joins *j, uint32_t place)
{
	uint32_t at = j->heap_count++;

	while (at && j->heap[(at - 1) / 2] > place) {
		j->heap[at] = j->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	j->heap[at] = place;
}

static struct tcb_ptx_block *pop(struct tcb_ptx_joins *j)
{
	uint32_t least = j->heap[0], last = j->heap[--j->heap_count], at = 0;

	for (uint32_t child = 1; child < j->heap_count; child = 2 * at + 1) {
		child += child + 1 < j->heap_count && j->heap[child + 1] < j->heap[child];
		if (j->heap[child] >= last)
			break;
		j->heap[at] = j->heap[child];
		at = child;
	}
	j->heap[at] = last;
	return j->order[least];
}

static void add(struct tcb_ptx_join_list *list, struct tcb_ptx_block *block, uint32_t *marks, uint32_t mark)
{
	if (marks[block->number] == mark)
		return;
	marks[block->number] = mark;
	list->list[list->count++] = block;
}

/* Threads labelled LABEL go from FROM to TO. */
static void arrive(struct tcb_ptx_joins *j, struct tcb_ptx_block *from, struct tcb_ptx_block *to,
		   struct tcb_ptx_block *label)
{
	uint32_t n = to->number;
	int goes_back = j->place[n] <= j->place[from->number];

	if (j->doomed[n])
		return;
	if (j->ends[n]) {
		j->exits = 1;
		return;
	}
	if (j->seen[n] != j->mark) {
		j->seen[n] = j->mark;
		j->label[n] = label;
		if (goes_back)
			j->pending[j->pending_count++] = to;
		else
			push(j, j->place[n]);
	} else if (j->label[n] != label) {
		j->label[n] = to;
		add(&j->joins, to, j->met, j->mark);
	}
}

static void leave(struct tcb_ptx_joins *j, struct tcb_ptx_block *block, struct tcb_ptx_block *label)
{
	const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);

	if (tcb_ptx_ends_thread(j->function, end))
		j->exits = 1;
	for (uint32_t i = 0; i < block->succ_count; i++)
		arrive(j, block, block->succ[i], label);
}

/* Some threads have gone back to HEADER while others have left its loop: all leave it sooner or later, by any exit. */
static void finish_loop(struct tcb_ptx_joins *j, struct tcb_ptx_block *header)
{
	uint32_t end = j->loop_end[header->number];

	j->loops.list[j->loops.count++] = header;
	for (uint32_t i = j->place[header->number]; i < end; i++) {
		struct tcb_ptx_block *block = j->order[i];

		add(&j->region, block, j->inside, j->mark);
		if (tcb_ptx_ends_thread(j->function, tcb_ptx_terminator(block)))
			j->exits = 1;
		for (uint32_t k = 0; k < block->succ_count; k++)
			if (!tcb_ptx_joins_in_loop(j, header, block->succ[k]))
				arrive(j, block, block->succ[k], header);
	}
}

/* The innermost loop among those gone back to, taken off the list. */
static struct tcb_ptx_block *innermost_pending(struct tcb_ptx_joins *j)
{
	uint32_t best = 0;
	struct tcb_ptx_block *header;

	for (uint32_t i = 1; i < j->pending_count; i++)
		if (j->place[j->pending[i]->number] > j->place[j->pending[best]->number])
			best = i;
	header = j->pending[best];
	j->pending[best] = j->pending[--j->pending_count];
	return header;
}

/* The innermost loop gone back to whose blocks have all been visited. */
static int a_loop_is_over(const struct tcb_ptx_joins *j)
{
	uint32_t end = UINT32_MAX;

	for (uint32_t i = 0; i < j->pending_count; i++) {
		uint32_t e = j->loop_end[j->pending[i]->number];

		end = e < end ? e : end;
	}
	return j->pending_count && (!j->heap_count || j->heap[0] >= end);
}

/* Without structure: whatever can be reached runs apart, and meets anywhere. */
static void give_up(struct tcb_ptx_joins *j, struct tcb_ptx_block *block)
{
	struct tcb_ptx_block **stack = j->pending;
	uint32_t depth = 0;

	stack[depth++] = block;
	while (depth) {
		block = stack[--depth];
		if (tcb_ptx_ends_thread(j->function, tcb_ptx_terminator(block)))
			j->exits = 1;
		for (uint32_t i = 0; i < block->succ_count; i++) {
			struct tcb_ptx_block *succ = block->succ[i];

			if (j->inside[succ->number] == j->mark)
				continue;
			add(&j->region, succ, j->inside, j->mark);
			add(&j->joins, succ, j->met, j->mark);
			if (succ->loop && succ->loop->header == succ)
				j->loops.list[j->loops.count++] = succ;
			stack[depth++] = succ;
		}
	}
}

void tcb_ptx_joins_find(struct tcb_ptx_joins *j, struct tcb_ptx_block *branch)
{
	j->mark++;
	j->region.count = j->joins.count = j->loops.count = 0;
	j->heap_count = j->pending_count = 0;
	j->rejoin = NULL;
	j->exits = 0;
	if (j->is_irreducible) {
		give_up(j, branch);
		return;
	}
	for (uint32_t i = 0; i < branch->succ_count; i++)
		arrive(j, branch, branch->succ[i], branch->succ[i]);
	while (j->heap_count || j->pending_count) {
		struct tcb_ptx_block *block;

		if (a_loop_is_over(j)) {
			struct tcb_ptx_block *header = innermost_pending(j);

			if (!j->heap_count && !j->pending_count) {
				j->rejoin = header; /* all go into the next round */
				break;
			}
			if (j->heap_count || j->pending_count)
				finish_loop(j, header);
			continue;
		}
		block = pop(j);
		if (!j->heap_count && !j->pending_count) {
			j->rejoin = block;
			break;
		}
		add(&j->region, block, j->inside, j->mark);
		leave(j, block, j->label[block->number]);
	}
}
