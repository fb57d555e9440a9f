/* SPDX-License-Identifier: MIT
 *
 * In: the instructions of a basic block as the text has them.  Out: in an order
 * that an assembler would prefer: list scheduling by the longest way to the end
 * (Gibbons and Muchnick, "Efficient instruction scheduling for a pipelined
 * architecture", 1986).  Loads, shuffles and arithmetic move; what stores,
 * waits, copies or branches stays where it is, and nothing moves across it.
 */
#include "ptx/model/simulate_order.h"

#include <stdlib.h>
#include <string.h>

#include "ptx/ir/opcodes.h"

enum { FAR = 300 /* cycles that a load of global memory counts */, NONE = -1 };

/* One dependence; lists by node. */
struct edge {
	int to, next;
	int latency;
};

struct node {
	int first_edge; /* to those that wait for it */
	int waits_for;  /* how many it waits for still */
	int height;     /* longest way to the end */
	int earliest;
};

struct ordering {
	struct tcb_sim_program *program;
	struct tcb_sim_op *ops;
	int count;
	struct node *nodes;
	struct edge *edges;
	int edge_count, edge_room;
	int *writer; /* by register: the last op that wrote it, 1 + index; 0: none */
	/* readers since then: lists */
	int *reader_first, *reader_next, *reader_op;
	int reader_count;
	struct tcb_sim_op *sorted;
	int *ready;
};

static int is_movable(const struct tcb_sim_op *op)
{
	if (op->kind == TCB_SIM_PLAIN)
		return !tcb_ptx_has(op->ins, TCB_PTX_F_EFFECT);
	return (op->kind == TCB_SIM_SHARED || op->kind == TCB_SIM_GLOBAL) && op->is_load &&
	       !tcb_ptx_has(op->ins, TCB_PTX_F_WRITE);
}

static int add_edge(struct ordering *o, int from, int to, int latency)
{
	if (from == to)
		return 1;
	if (o->edge_count == o->edge_room) {
		const int room = o->edge_room ? 2 * o->edge_room : 1024;
		struct edge *more = realloc(o->edges, (size_t)room * sizeof *more);
		if (!more)
			return 0;
		o->edges = more;
		o->edge_room = room;
	}
	o->edges[o->edge_count] = (struct edge){ to, o->nodes[from].first_edge, latency };
	o->nodes[from].first_edge = o->edge_count++;
	o->nodes[to].waits_for++;
	return 1;
}

static int latency_of(const struct tcb_sim_op *op)
{
	if (op->kind == TCB_SIM_GLOBAL)
		return FAR;
	return op->latency + (op->kind == TCB_SIM_SHARED ? op->wavefronts : 0);
}

static int read_register(struct ordering *o, int index, uint32_t reg)
{
	const int writer = o->writer[reg];
	if (writer && !add_edge(o, writer - 1, index, latency_of(&o->ops[writer - 1])))
		return 0;
	o->reader_op[o->reader_count] = index;
	o->reader_next[o->reader_count] = o->reader_first[reg];
	o->reader_first[reg] = ++o->reader_count;
	return 1;
}

static int write_register(struct ordering *o, int index, uint32_t reg)
{
	const int writer = o->writer[reg];
	if (writer && !add_edge(o, writer - 1, index, 1))
		return 0;
	for (int r = o->reader_first[reg]; r; r = o->reader_next[r - 1])
		if (o->reader_op[r - 1] != index && !add_edge(o, o->reader_op[r - 1], index, 0))
			return 0;
	o->reader_first[reg] = 0;
	o->writer[reg] = index + 1;
	return 1;
}

static int make_edges(struct ordering *o)
{
	for (int i = 0; i < o->count; i++) {
		const struct tcb_sim_op *op = &o->ops[i];
		for (unsigned s = 0; s < op->source_count; s++)
			if (!read_register(o, i, op->source[s]))
				return 0;
		for (unsigned r = 0; r < op->result_count; r++)
			if (!write_register(o, i, op->result[r]))
				return 0;
	}
	for (int i = o->count; i-- > 0;) {
		struct node *node = &o->nodes[i];
		for (int e = node->first_edge; e != NONE; e = o->edges[e].next) {
			const int through = o->nodes[o->edges[e].to].height + o->edges[e].latency;
			node->height = through > node->height ? through : node->height;
		}
	}
	return 1;
}

static void forget(struct ordering *o)
{
	for (int i = 0; i < o->count; i++) {
		const struct tcb_sim_op *op = &o->ops[i];
		for (unsigned s = 0; s < op->source_count; s++)
			o->writer[op->source[s]] = o->reader_first[op->source[s]] = 0;
		for (unsigned r = 0; r < op->result_count; r++)
			o->writer[op->result[r]] = o->reader_first[op->result[r]] = 0;
	}
}

/* Of those that may go: the highest of those that need not wait, else the one that waits least. */
static int pick(const struct ordering *o, int ready_count, int now)
{
	int best = 0;
	for (int i = 1; i < ready_count; i++) {
		const struct node *a = &o->nodes[o->ready[i]], *b = &o->nodes[o->ready[best]];
		const int wait_a = a->earliest > now ? a->earliest - now : 0;
		const int wait_b = b->earliest > now ? b->earliest - now : 0;
		if (wait_a != wait_b         ? wait_a < wait_b
		    : a->height != b->height ? a->height > b->height
					     : o->ready[i] < o->ready[best])
			best = i;
	}
	return best;
}

static void sort(struct ordering *o)
{
	int ready_count = 0, done = 0, now = 0;
	for (int i = 0; i < o->count; i++)
		if (!o->nodes[i].waits_for)
			o->ready[ready_count++] = i;
	while (ready_count) {
		const int at = pick(o, ready_count, now), index = o->ready[at];
		struct node *node = &o->nodes[index];
		o->ready[at] = o->ready[--ready_count];
		now = (node->earliest > now ? node->earliest : now) + o->ops[index].issues;
		o->sorted[done++] = o->ops[index];
		for (int e = node->first_edge; e != NONE; e = o->edges[e].next) {
			struct node *to = &o->nodes[o->edges[e].to];
			const int earliest = now + o->edges[e].latency;
			to->earliest = earliest > to->earliest ? earliest : to->earliest;
			if (!--to->waits_for)
				o->ready[ready_count++] = o->edges[e].to;
		}
	}
	memcpy(o->ops, o->sorted, (size_t)o->count * sizeof *o->ops);
}

static enum tcb_status order_run(struct ordering *o, struct tcb_sim_op *ops, int count, struct tcb_error *err)
{
	if (count < 3)
		return TCB_OK;
	o->ops = ops;
	o->count = count;
	o->edge_count = o->reader_count = 0;
	for (int i = 0; i < count; i++)
		o->nodes[i] = (struct node){ .first_edge = NONE };
	const int fine = make_edges(o);
	if (fine)
		sort(o);
	forget(o);
	return fine ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "out of memory for a basic block");
}

enum tcb_status tcb_sim_order(struct tcb_sim_program *program, uint32_t first, uint32_t count, struct tcb_error *err)
{
	struct ordering o = { .program = program };
	const size_t regs = program->reg_count + 1, reads = (size_t)count * TCB_SIM_SOURCES + 1;
	enum tcb_status status = TCB_OK;
	if (count < 3)
		return TCB_OK;
	o.nodes = malloc(count * sizeof *o.nodes);
	o.sorted = malloc(count * sizeof *o.sorted);
	o.ready = malloc(count * sizeof *o.ready);
	o.writer = calloc(regs, sizeof *o.writer);
	o.reader_first = calloc(regs, sizeof *o.reader_first);
	o.reader_next = malloc(reads * sizeof *o.reader_next);
	o.reader_op = malloc(reads * sizeof *o.reader_op);
	if (!o.nodes || !o.sorted || !o.ready || !o.writer || !o.reader_first || !o.reader_next || !o.reader_op)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for a basic block of %u instructions", count);
	for (uint32_t at = 0; at < count && status == TCB_OK;) {
		uint32_t end = at;
		while (end < count && is_movable(&program->ops[first + end]))
			end++;
		status = order_run(&o, &program->ops[first + at], (int)(end - at), err);
		at = end + 1;
	}
	free(o.nodes);
	free(o.sorted);
	free(o.ready);
	free(o.writer);
	free(o.reader_first);
	free(o.reader_next);
	free(o.reader_op);
	free(o.edges);
	return status;
}
