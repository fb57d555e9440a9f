/* SPDX-License-Identifier: MIT
 *
 * In: a function.  Out: the same with a register for each web.
 *
 * A web is a connected part of the graph of writes, reads and meeting points
 * (reaching.h) of one register, found by union and find.  Reads before any
 * write make one web with each other, and a guarded write belongs to the web
 * of what shows through it.
 *
 * A web in which writes meet still has reads that see one of them alone, as the
 * index of a thread is read before it becomes the counter of a loop.  That
 * write then goes to a register of its own, which these read, and is copied to
 * the web's right behind it.
 */
#include "ptx/analyse/flow/webs.h"

#include <stdio.h>
#include <stdlib.h>

#include "ptx/analyse/flow/reaching.h"
#include "ptx/analyse/flow/rewrite.h"

enum { EMPTY = 0 };

/* A write, a meeting point, or "nothing written yet", of one register. */
struct node {
	uint64_t key;
	uint32_t parent;
	uint32_t reg;            /* of the root: the web's register, once it has one */
	uint32_t members;        /* of the root: nodes of the web */
	uint32_t own;            /* of a write: the register for those who see it alone, once it has one */
	int is_joined;           /* of a write: by one operand with another one, so both keep the web's register */
	struct tcb_ptx_ins *ins; /* of a write */
};

/* Where a register is named, and by which write it is to be named. */
struct place {
	uint32_t *reg;
	uint32_t node;
	int is_read; /* and not written, too */
};

struct webs {
	struct tcb_ptx_function *function;
	struct tcb_ptx_reaching *reaching;
	struct tcb_ptx_ins *ins; /* being looked at */
	struct node *nodes;      /* from 1 */
	uint32_t node_count, node_capacity;
	uint32_t *table, table_size; /* node by key */
	struct place *places;
	uint32_t place_count, place_capacity;
	struct tcb_ptx_block **pending; /* meeting points whose predecessors are to be looked at */
	uint32_t *pending_nodes;
	uint32_t pending_count, pending_capacity;
	int failed;
};

static void *grown(struct webs *w, void *array, uint32_t capacity, size_t size)
{
	void *more = realloc(array, (size_t)capacity * size);

	w->failed |= !more;
	return more ? more : array;
}

static uint32_t find(struct webs *w, uint32_t node)
{
	while (w->nodes[node].parent != node) {
		w->nodes[node].parent = w->nodes[w->nodes[node].parent].parent;
		node = w->nodes[node].parent;
	}
	return node;
}

/* The older node stays the root: it is the first of the text. */
static void join(struct webs *w, uint32_t a, uint32_t b)
{
	a = find(w, a);
	b = find(w, b);
	if (a < b)
		w->nodes[b].parent = a;
	else
		w->nodes[a].parent = b;
}

static void rehash(struct webs *w)
{
	uint32_t size = w->table_size ? 2 * w->table_size : 1024;
	uint32_t *table = calloc(size, sizeof *table);

	if (!table) {
		w->failed = 1;
		return;
	}
	for (uint32_t i = 1; i <= w->node_count; i++) {
		uint64_t at = w->nodes[i].key * UINT64_C(0x9e3779b97f4a7c15) >> 32;
		while (table[at & (size - 1)] != EMPTY)
			at++;
		table[at & (size - 1)] = i;
	}
	free(w->table);
	w->table = table;
	w->table_size = size;
}

/* The node of a key, and whether it is new. */
static uint32_t node_of(struct webs *w, uint64_t key, int *is_new)
{
	uint64_t at = key * UINT64_C(0x9e3779b97f4a7c15) >> 32;

	*is_new = 0;
	if (2 * (w->node_count + 1) >= w->table_size)
		rehash(w);
	if (w->node_count + 2 > w->node_capacity) {
		w->node_capacity = w->node_capacity ? 2 * w->node_capacity : 512;
		w->nodes = grown(w, w->nodes, w->node_capacity, sizeof *w->nodes);
	}
	if (w->failed)
		return 0;
	while (w->table[at & (w->table_size - 1)] != EMPTY) {
		uint32_t node = w->table[at & (w->table_size - 1)];
		if (w->nodes[node].key == key)
			return node;
		at++;
	}
	*is_new = 1;
	w->nodes[++w->node_count] =
		(struct node){ .key = key, .parent = w->node_count, .reg = TCB_PTX_NO_REG, .own = TCB_PTX_NO_REG };
	w->table[at & (w->table_size - 1)] = w->node_count;
	return w->node_count;
}

/* The node of what REACHING says of REG; a meeting point that is new waits for its predecessors. */
static uint32_t node_of_write(struct webs *w, struct tcb_ptx_write write, uint32_t reg)
{
	uint64_t key = (uint64_t)write.kind << 62 | reg;
	uint32_t node;
	int is_new;

	if (write.kind == TCB_PTX_WRITE_INS)
		key |= (uint64_t)write.ins->number << 32;
	else if (write.kind == TCB_PTX_WRITE_PHI)
		key |= (uint64_t)write.block->number << 32;
	node = node_of(w, key, &is_new);
	if (is_new && !w->failed && write.kind == TCB_PTX_WRITE_INS)
		w->nodes[node].ins = write.ins;
	if (!is_new || w->failed || write.kind != TCB_PTX_WRITE_PHI)
		return node;
	if (w->pending_count == w->pending_capacity) {
		w->pending_capacity = w->pending_capacity ? 2 * w->pending_capacity : 64;
		w->pending = grown(w, w->pending, w->pending_capacity, sizeof(struct tcb_ptx_block *));
		w->pending_nodes = grown(w, w->pending_nodes, w->pending_capacity, sizeof *w->pending_nodes);
	}
	if (w->failed)
		return 0;
	w->pending[w->pending_count] = write.block;
	w->pending_nodes[w->pending_count++] = node;
	return node;
}

static void settle(struct webs *w, uint32_t reg)
{
	while (w->pending_count && !w->failed) {
		struct tcb_ptx_block *block = w->pending[--w->pending_count];
		uint32_t node = w->pending_nodes[w->pending_count];
		for (uint32_t i = 0; i < block->pred_count && !w->failed; i++) {
			uint32_t other;
			if (block->pred[i]->order == UINT32_MAX)
				continue;
			other = node_of_write(w, tcb_ptx_reaching_end(w->reaching, block->pred[i], reg), reg);
			if (!w->failed)
				join(w, node, other);
		}
	}
}

static void see(void *ctx, uint32_t *reg, int is_def)
{
	struct webs *w = ctx;
	uint32_t node, before;
	int is_both = w->place_count && w->places[w->place_count - 1].reg == reg;

	/* One write is one web, and what cannot be reached is left alone. */
	if (w->failed || w->function->regs[*reg].defs < 2 || w->ins->block->order == UINT32_MAX)
		return;
	node = is_def ? node_of_write(w, (struct tcb_ptx_write){ .kind = TCB_PTX_WRITE_INS, .ins = w->ins }, *reg)
		      : node_of_write(w, tcb_ptx_reaching_at(w->reaching, w->ins, *reg), *reg);
	settle(w, *reg);
	if (!w->failed && is_def && w->ins->guard != TCB_PTX_NO_REG) {
		before = node_of_write(w, tcb_ptx_reaching_at(w->reaching, w->ins, *reg), *reg);
		settle(w, *reg);
		if (!w->failed)
			join(w, node, before);
	}
	if (!w->failed && is_both) { /* a wgmma accumulates */
		join(w, node, w->places[w->place_count - 1].node);
		w->places[w->place_count - 1].is_read = 0;
		w->nodes[node].is_joined = w->nodes[w->places[w->place_count - 1].node].is_joined = 1;
	}
	if (w->place_count == w->place_capacity) {
		w->place_capacity = w->place_capacity ? 2 * w->place_capacity : 512;
		w->places = grown(w, w->places, w->place_capacity, sizeof *w->places);
	}
	if (!w->failed)
		w->places[w->place_count++] = (struct place){ reg, node, !is_def };
}

/* The first web of a register keeps it. */
static void name_webs(struct webs *w)
{
	uint8_t *taken = calloc(w->function->reg_count + 1, 1);

	w->failed |= !taken;
	for (uint32_t i = 1; i <= w->node_count && !w->failed; i++) {
		struct node *root = &w->nodes[find(w, i)];
		uint32_t old = (uint32_t)root->key;
		root->members++;
		if (root->reg != TCB_PTX_NO_REG)
			continue;
		root->reg = taken[old] ? tcb_ptx_reg_twin(w->function, old) : old;
		taken[old] = 1;
		w->failed |= root->reg == TCB_PTX_NO_REG;
	}
	free(taken);
}

/* Gives NODE's write a register of its own, unless that cannot be copied to the web's. */
static void give_own(struct webs *w, struct node *node, uint32_t web_reg)
{
	enum tcb_ptx_word type = w->function->regs[web_reg].type;
	struct tcb_ptx_operand operands[2];
	struct tcb_ptx_ins *copy;
	uint32_t reg = tcb_ptx_reg_twin(w->function, web_reg);
	char mnemonic[16] = "mov.pred";

	if (reg == TCB_PTX_NO_REG) {
		w->failed = 1;
		return;
	}
	if (tcb_ptx_type_class(type) != TCB_PTX_CLASS_PRED)
		snprintf(mnemonic, sizeof mnemonic, "mov.b%u", tcb_ptx_type_bits(type));
	operands[0] = tcb_ptx_operand_reg(web_reg);
	operands[1] = tcb_ptx_operand_reg(reg);
	copy = tcb_ptx_ins_like(w->function, node->ins, mnemonic, 2, operands, NULL);
	if (!copy)
		return;
	tcb_ptx_ins_after(node->ins, copy);
	node->own = reg;
}

static void rename_places(struct webs *w)
{
	for (uint32_t i = 0; i < w->place_count && !w->failed; i++) {
		struct node *node = &w->nodes[w->places[i].node], *root = &w->nodes[find(w, w->places[i].node)];
		if (w->places[i].is_read && root->members > 1 && node->ins && !node->is_joined &&
		    node->ins->guard == TCB_PTX_NO_REG && node->own == TCB_PTX_NO_REG)
			give_own(w, node, root->reg);
	}
	for (uint32_t i = 0; i < w->place_count && !w->failed; i++) {
		struct node *node = &w->nodes[w->places[i].node];
		*w->places[i].reg = node->own != TCB_PTX_NO_REG ? node->own : w->nodes[find(w, w->places[i].node)].reg;
	}
}

enum tcb_status tcb_ptx_split_webs(struct tcb_ptx_function *function, const struct tcb_ptx_dominators *d,
				   struct tcb_error *err)
{
	struct webs w = { .function = function };

	TCB_TRY(tcb_ptx_reaching_create(function, d, &w.reaching, err));
	for (struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
			w.ins = ins;
			tcb_ptx_each_reg(ins, see, &w);
		}
	tcb_ptx_reaching_destroy(w.reaching);
	if (!w.failed)
		name_webs(&w);
	if (!w.failed)
		rename_places(&w);
	free(w.nodes);
	free(w.table);
	free(w.places);
	free(w.pending);
	free(w.pending_nodes);
	if (w.failed)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the registers of '%s'", function->symbol->name);
	tcb_ptx_number(function);
	return TCB_OK;
}
