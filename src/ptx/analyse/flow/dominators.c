/* SPDX-License-Identifier: MIT
 *
 * In: the control-flow graph.  Out: immediate dominators and post-dominators,
 * both trees as intervals, and the natural loops.
 *
 * Lengauer and Tarjan, "A fast algorithm for finding dominators in a
 * flowgraph" (1979), with simple path compression: O(edges log blocks) for
 * every graph, which the simpler iteration of Cooper, Harvey and Kennedy does
 * not promise (a long row of early exits makes it quadratic).
 *
 * Post-dominators are the same on the reversed graph from a node that stands
 * for the end of the function.  Blocks from which no end can be reached hang
 * on that node too, by the last of them in reverse post-order.  A trap is no
 * end where another can be reached: nobody goes on after it, so those who did
 * not trap meet where they would have met without it.
 */
#include "ptx/analyse/analyses.h"
#include "ptx/ir/opcodes.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX };

/* Edges as one array of targets, by node; nodes are block numbers and, for the end, the number of blocks. */
struct graph {
	uint32_t nodes, root;
	uint32_t *succ_at, *succ; /* succ[succ_at[n]] ... succ[succ_at[n + 1] - 1] */
	uint32_t *pred_at, *pred;
};

/* All arrays but the last two by depth-first number, so that "earlier" is "less". */
struct search {
	uint32_t *parent, *semi, *best, *ancestor, *bucket, *next, *idom, *path;
	uint32_t *number; /* by node; NONE when not reached */
	uint32_t *node;   /* back */
	uint32_t count;
};

static void depth_first(const struct graph *graph, struct search *s)
{
	uint32_t *stack = s->path, *at = s->next; /* borrowed until they are needed */
	uint32_t depth = 0;

	memset(s->number, 0xff, graph->nodes * sizeof *s->number);
	s->number[graph->root] = 0;
	s->node[0] = graph->root;
	s->parent[0] = NONE;
	s->count = 1;
	at[depth] = graph->succ_at[graph->root];
	stack[depth++] = graph->root;
	while (depth) {
		uint32_t node = stack[depth - 1];

		if (at[depth - 1] == graph->succ_at[node + 1]) {
			depth--;
			continue;
		}
		uint32_t succ = graph->succ[at[depth - 1]++];

		if (s->number[succ] != NONE)
			continue;
		s->number[succ] = s->count;
		s->node[s->count] = succ;
		s->parent[s->count++] = s->number[node];
		at[depth] = graph->succ_at[succ];
		stack[depth++] = succ;
	}
}

/* The node of least semidominator on V's path in the forest, the root left out; shortens the path. */
static uint32_t eval(struct search *s, uint32_t v)
{
	uint32_t depth = 0;

	if (s->ancestor[v] == NONE)
		return v;
	for (uint32_t at = v; s->ancestor[s->ancestor[at]] != NONE; at = s->ancestor[at])
		s->path[depth++] = at;
	while (depth) {
		uint32_t at = s->path[--depth], above = s->ancestor[at];

		if (s->semi[s->best[above]] < s->semi[s->best[at]])
			s->best[at] = s->best[above];
		s->ancestor[at] = s->ancestor[above];
	}
	return s->best[v];
}

static void find_idoms(const struct graph *graph, struct search *s)
{
	depth_first(graph, s);
	for (uint32_t i = 0; i < s->count; i++) {
		s->semi[i] = s->best[i] = i;
		s->ancestor[i] = s->bucket[i] = NONE;
	}
	for (uint32_t w = s->count; w-- > 1;) {
		uint32_t node = s->node[w], parent = s->parent[w];

		for (uint32_t i = graph->pred_at[node]; i < graph->pred_at[node + 1]; i++) {
			uint32_t pred = s->number[graph->pred[i]];

			if (pred != NONE) {
				uint32_t best = s->semi[eval(s, pred)];

				s->semi[w] = best < s->semi[w] ? best : s->semi[w];
			}
		}
		s->next[w] = s->bucket[s->semi[w]];
		s->bucket[s->semi[w]] = w;
		s->ancestor[w] = parent;
		for (uint32_t v = s->bucket[parent]; v != NONE; v = s->next[v]) {
			uint32_t u = eval(s, v);

			s->idom[v] = s->semi[u] < s->semi[v] ? u : parent;
		}
		s->bucket[parent] = NONE;
	}
	s->idom[0] = NONE;
	for (uint32_t w = 1; w < s->count; w++)
		if (s->idom[w] != s->semi[w])
			s->idom[w] = s->idom[s->idom[w]];
}

/* Intervals of the tree that idom makes: children's intervals lie within their parent's.  A node's idom has a lesser
 * number, so sizes add up from the back and places are handed out from the front. */
static void set_intervals(struct search *s, uint32_t *enter, uint32_t *leave)
{
	uint32_t *size = s->bucket, *place = s->next;

	for (uint32_t i = 0; i < s->count; i++)
		size[i] = 1;
	for (uint32_t i = s->count; i-- > 1;)
		size[s->idom[i]] += size[i];
	place[0] = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t start = i ? place[s->idom[i]] : 0;

		if (i)
			place[s->idom[i]] += size[i];
		enter[s->node[i]] = start;
		leave[s->node[i]] = start + size[i];
		place[i] = start + 1;
	}
}

/* --- the two graphs --- */

static int ends_here(const struct tcb_ptx_block *block)
{
	const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);

	return (block->succ_count == 0 && !(end && end->op == TCB_PTX_OP_TRAP)) ||
	       (end && (end->op == TCB_PTX_OP_RET || end->op == TCB_PTX_OP_EXIT));
}

static int traps_here(const struct tcb_ptx_block *block)
{
	const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);

	return end && end->op == TCB_PTX_OP_TRAP;
}

/* Fills succ from the blocks, and pred from them. */
static void forward_graph(const struct tcb_ptx_function *function, struct graph *graph)
{
	uint32_t at = 0, back = 0;

	graph->root = function->first->number;
	for (const struct tcb_ptx_block *block = function->first; block; block = block->next) {
		graph->succ_at[block->number] = at;
		graph->pred_at[block->number] = back;
		for (uint32_t i = 0; i < block->succ_count; i++)
			graph->succ[at++] = block->succ[i]->number;
		for (uint32_t i = 0; i < block->pred_count; i++)
			graph->pred[back++] = block->pred[i]->number;
	}
	graph->succ_at[function->block_count] = at;
	graph->pred_at[function->block_count] = back;
}

/* Marks BLOCK as seen and all from which it can be reached. */
static void see_backwards(struct tcb_ptx_block *block, uint8_t *seen, struct tcb_ptx_block **stack)
{
	uint32_t depth = 0;

	if (seen[block->number])
		return;
	seen[block->number] = 1;
	stack[depth++] = block;
	while (depth) {
		block = stack[--depth];
		for (uint32_t p = 0; p < block->pred_count; p++)
			if (!seen[block->pred[p]->number]) {
				seen[block->pred[p]->number] = 1;
				stack[depth++] = block->pred[p];
			}
	}
}

/* Which blocks hang on the end: those that end, and one for each part of the graph that no other reaches backwards.
 * What leads to a trap only is left out, unless that is all. */
static void find_roots(const struct tcb_ptx_function *function, uint8_t *hangs, uint8_t *seen,
		       struct tcb_ptx_block **stack)
{
	struct tcb_ptx_block *const *order = function->order;

	for (uint32_t i = function->reachable_count; i--;)
		if (ends_here(order[i])) {
			hangs[order[i]->number] = 1;
			see_backwards(order[i], seen, stack);
		}
	const int has_end = seen[function->first->number];

	for (uint32_t i = function->reachable_count; i--;)
		if (traps_here(order[i])) {
			hangs[order[i]->number] = !has_end;
			see_backwards(order[i], seen, stack);
		}
	for (uint32_t i = function->reachable_count; i--;)
		if (!seen[order[i]->number]) {
			hangs[order[i]->number] = 1;
			see_backwards(order[i], seen, stack);
		}
}

static void reversed_graph(const struct tcb_ptx_function *function, const uint8_t *hangs, struct graph *graph)
{
	uint32_t end = function->block_count, at = 0, back = 0;

	graph->root = end;
	for (const struct tcb_ptx_block *block = function->first; block; block = block->next) {
		graph->succ_at[block->number] = at;
		graph->pred_at[block->number] = back;
		for (uint32_t i = 0; i < block->pred_count; i++)
			if (block->pred[i]->order != UINT32_MAX)
				graph->succ[at++] = block->pred[i]->number;
		for (uint32_t i = 0; i < block->succ_count; i++)
			graph->pred[back++] = block->succ[i]->number;
		if (hangs[block->number])
			graph->pred[back++] = end;
	}
	graph->succ_at[end] = at;
	graph->pred_at[end] = graph->pred_at[end + 1] = back;
	for (const struct tcb_ptx_block *block = function->first; block; block = block->next)
		if (hangs[block->number])
			graph->succ[at++] = block->number;
	graph->succ_at[end + 1] = at;
}

/* --- dominators --- */

struct work {
	uint32_t *memory;
	struct graph graph;
	struct search search;
	uint8_t *hangs, *seen;
	struct tcb_ptx_block **stack, **by_number;
};

static int make_work(const struct tcb_ptx_function *function, struct work *work)
{
	size_t blocks = function->block_count, nodes = blocks + 1, edges = blocks;
	uint32_t *at;

	for (const struct tcb_ptx_block *block = function->first; block; block = block->next)
		edges += block->succ_count;
	/* the blocks' pointers first, for their alignment */
	work->memory = calloc(1, 2 * blocks * sizeof(void *) + (14 * nodes + 2 * edges) * sizeof(uint32_t));
	if (!work->memory)
		return 0;
	work->stack = (struct tcb_ptx_block **)work->memory;
	work->by_number = work->stack + blocks;
	at = (uint32_t *)(work->by_number + blocks);
	uint32_t **arrays[] = { &work->search.parent, &work->search.semi, &work->search.best, &work->search.ancestor,
				&work->search.bucket, &work->search.next, &work->search.idom, &work->search.path,
				&work->search.number, &work->search.node };
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++, at += nodes)
		*arrays[i] = at;
	work->graph.nodes = (uint32_t)nodes;
	work->graph.succ_at = at;
	work->graph.pred_at = at + nodes + 1;
	work->graph.succ = at + 2 * (nodes + 1);
	work->graph.pred = work->graph.succ + edges;
	work->hangs = (uint8_t *)(work->graph.pred + edges); /* two bytes per block fit in the words left */
	work->seen = work->hangs + blocks;
	return 1;
}

enum tcb_status tcb_ptx_dominators(struct tcb_ptx_function *function, struct tcb_ptx_dominators *out,
				   struct tcb_error *err)
{
	struct tcb_arena *arena = &function->module->arena;
	size_t nodes = (size_t)function->block_count + 1;
	struct work work;
	struct search *s = &work.search;

	out->idom = tcb_arena_array(arena, nodes, sizeof(struct tcb_ptx_block *));
	out->ipdom = tcb_arena_array(arena, nodes, sizeof(struct tcb_ptx_block *));
	out->enter = tcb_arena_array(arena, nodes, sizeof *out->enter);
	out->leave = tcb_arena_array(arena, nodes, sizeof *out->leave);
	out->post_enter = tcb_arena_array(arena, nodes, sizeof *out->post_enter);
	out->post_leave = tcb_arena_array(arena, nodes, sizeof *out->post_leave);
	if (!out->idom || !out->ipdom || !out->enter || !out->leave || !out->post_enter || !out->post_leave ||
	    !make_work(function, &work))
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the dominators of '%s'", function->symbol->name);
	for (struct tcb_ptx_block *block = function->first; block; block = block->next)
		work.by_number[block->number] = block;
	if (function->first) {
		forward_graph(function, &work.graph);
		find_idoms(&work.graph, s);
		for (uint32_t i = 1; i < s->count; i++)
			out->idom[s->node[i]] = work.by_number[s->node[s->idom[i]]];
		set_intervals(s, out->enter, out->leave);
		find_roots(function, work.hangs, work.seen, work.stack);
		reversed_graph(function, work.hangs, &work.graph);
		find_idoms(&work.graph, s);
		for (uint32_t i = 1; i < s->count; i++)
			if (s->idom[i])
				out->ipdom[s->node[i]] = work.by_number[s->node[s->idom[i]]];
		set_intervals(s, out->post_enter, out->post_leave);
	}
	free(work.memory);
	return TCB_OK;
}

int tcb_ptx_dominates(const struct tcb_ptx_dominators *d, const struct tcb_ptx_block *a, const struct tcb_ptx_block *b)
{
	return d->enter[a->number] <= d->enter[b->number] && d->leave[b->number] <= d->leave[a->number] &&
	       d->leave[b->number];
}

int tcb_ptx_post_dominates(const struct tcb_ptx_dominators *d, const struct tcb_ptx_block *a,
			   const struct tcb_ptx_block *b)
{
	return d->post_enter[a->number] <= d->post_enter[b->number] &&
	       d->post_leave[b->number] <= d->post_leave[a->number] && d->post_leave[b->number];
}

/* --- loops --- */

static struct tcb_ptx_loop *outermost(struct tcb_ptx_loop *loop)
{
	while (loop->parent)
		loop = loop->parent;
	return loop;
}

/* Gives LOOP the blocks that reach its latches; loops already found inside become its children, entered again at their
 * headers' predecessors. */
static void fill_loop(const struct tcb_ptx_dominators *d, struct tcb_ptx_loop *loop, struct tcb_ptx_block **stack)
{
	struct tcb_ptx_block *header = loop->header;
	uint32_t depth = 0;

	header->loop = loop;
	for (uint32_t i = 0; i < header->pred_count; i++)
		if (tcb_ptx_dominates(d, header, header->pred[i]))
			stack[depth++] = header->pred[i];
	while (depth) {
		struct tcb_ptx_block *block = stack[--depth];

		if (block->loop) {
			struct tcb_ptx_loop *inner = outermost(block->loop);

			if (inner == loop)
				continue;
			inner->parent = loop;
			block = inner->header;
		} else {
			block->loop = loop;
		}
		for (uint32_t i = 0; i < block->pred_count; i++) {
			struct tcb_ptx_block *pred = block->pred[i];

			if (pred->order != UINT32_MAX && (!pred->loop || outermost(pred->loop) != loop))
				stack[depth++] = pred;
		}
	}
}

/* The latch if there is one only, and the block outside that the loop leaves to if there is one only. */
static void set_ends(struct tcb_ptx_function *function, const struct tcb_ptx_dominators *d, uint8_t *exits)
{
	for (struct tcb_ptx_loop *loop = function->loops; loop; loop = loop->next) {
		struct tcb_ptx_block *header = loop->header;
		unsigned latches = 0;

		for (uint32_t i = 0; i < header->pred_count; i++)
			if (tcb_ptx_dominates(d, header, header->pred[i])) {
				loop->latch = header->pred[i];
				latches++;
			}
		if (latches > 1)
			loop->latch = NULL;
		loop->depth = loop->parent ? loop->parent->depth + 1 : 1;
	}
	for (uint32_t i = 0; i < function->reachable_count; i++) {
		struct tcb_ptx_block *block = function->order[i];

		for (uint32_t k = 0; k < block->succ_count; k++) {
			struct tcb_ptx_block *to = block->succ[k];

			/* the loops of BLOCK that TO is not in: those deeper than the innermost that dominate both */
			for (struct tcb_ptx_loop *loop = block->loop; loop; loop = loop->parent) {
				struct tcb_ptx_loop *around = to->loop;

				while (around && around->depth > loop->depth)
					around = around->parent;
				if (around == loop)
					break;
				if (loop->exit != to)
					exits[loop->header->number] += exits[loop->header->number] < 2;
				loop->exit = to;
			}
		}
	}
	for (struct tcb_ptx_loop *loop = function->loops; loop; loop = loop->next)
		if (exits[loop->header->number] > 1)
			loop->exit = NULL;
}

enum tcb_status tcb_ptx_loops(struct tcb_ptx_function *function, const struct tcb_ptx_dominators *d,
			      struct tcb_error *err)
{
	struct tcb_arena *arena = &function->module->arena;
	size_t edges = function->block_count + 1;
	struct tcb_ptx_block **stack;
	uint8_t *exits;

	function->loops = NULL;
	for (struct tcb_ptx_block *block = function->first; block; block = block->next) {
		block->loop = NULL;
		edges += block->pred_count;
	}
	stack = malloc(2 * edges * sizeof(struct tcb_ptx_block *));
	exits = calloc(function->block_count + 1, 1);
	/* inner headers come later in reverse post-order than those of the loops around them */
	for (uint32_t i = function->reachable_count; stack && exits && i--;) {
		struct tcb_ptx_block *header = function->order[i];
		struct tcb_ptx_loop *loop = NULL;

		for (uint32_t k = 0; k < header->pred_count && !loop; k++)
			if (tcb_ptx_dominates(d, header, header->pred[k])) {
				loop = tcb_arena_alloc(arena, sizeof *loop);
				if (!loop)
					break;
				loop->header = header;
				loop->next = function->loops;
				function->loops = loop;
				fill_loop(d, loop, stack);
			}
	}
	if (stack && exits && !arena->failed)
		set_ends(function, d, exits);
	free(stack);
	free(exits);
	if (!stack || !exits || arena->failed)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the loops of '%s'", function->symbol->name);
	return TCB_OK;
}
