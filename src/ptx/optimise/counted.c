/* SPDX-License-Identifier: MIT
 *
 * Counted loops: see counted.h.  Recognising one is a walk over its
 * instructions that counts, for each register, definitions and uses inside;
 * what is asked of the rest of the function comes from the dominator tree and
 * the registers' counts.  Copies give a register of their own to each value
 * that is written once, unguarded, before all its uses, which are all inside:
 * such a value does not leave its iteration.
 */
#include "ptx/optimise/counted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ir/integers.h"

static enum tcb_status nomem(struct tcb_ptx_loop_pass *loops)
{
	return tcb_fail(loops->err, TCB_E_NOMEM, "out of memory for the loops of '%s'", loops->function->symbol->name);
}

/* --- the pass --- */

static const char label_prefix[] = "$loop_";

/* Labels of an earlier run are not used again. */
static unsigned free_label(const struct tcb_ptx_function *function)
{
	unsigned next = 0, number;

	for (const struct tcb_ptx_block *block = function->first; block; block = block->next)
		if (block->label && strncmp(block->label, label_prefix, sizeof label_prefix - 1) == 0 &&
		    sscanf(block->label + sizeof label_prefix - 1, "%u", &number) == 1 && number >= next)
			next = number + 1;
	return next;
}

static int has_convergent_loop(const struct tcb_ptx_function *function)
{
	for (const struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (const struct tcb_ptx_ins *ins = block->first; ins && block->loop; ins = ins->next)
			if (tcb_ptx_has(ins, TCB_PTX_F_CONVERGENT | TCB_PTX_F_BARRIER))
				return 1;
	return 0;
}

enum tcb_status tcb_ptx_loops_begin(struct tcb_ptx_function *function, struct tcb_ptx_loop_pass *out,
				    struct tcb_error *err)
{
	uint32_t count = 0;

	memset(out, 0, sizeof *out);
	out->function = function;
	out->err = err;
	TCB_TRY(tcb_ptx_scope(function, &out->scope, err));
	TCB_TRY(tcb_ptx_loops(function, &out->scope.dominators, err));
	if (has_convergent_loop(function))
		TCB_TRY(tcb_ptx_uniformity(function, &out->scope.dominators, &out->uniformity, err));
	for (struct tcb_ptx_loop *loop = function->loops; loop; loop = loop->next)
		out->loop_count++;
	out->reg_count = function->reg_count;
	out->next_label = free_label(function);
	out->inner_first = calloc(out->loop_count + 1u, sizeof(*out->inner_first));
	out->is_stale = calloc(function->block_count + 1u, 1);
	out->regs = calloc(function->reg_count + 1u, sizeof *out->regs);
	if (!out->inner_first || !out->is_stale || !out->regs)
		return nomem(out);
	for (struct tcb_ptx_loop *loop = function->loops; loop; loop = loop->next)
		out->inner_first[out->loop_count - ++count] = loop;
	return TCB_OK;
}

void tcb_ptx_loops_end(struct tcb_ptx_loop_pass *loops)
{
	free(loops->inner_first);
	free(loops->is_stale);
	free(loops->regs);
}

void tcb_ptx_loops_touch(struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_counted *counted)
{
	for (const struct tcb_ptx_loop *loop = counted->loop; loop; loop = loop->parent)
		loops->is_stale[loop->header->number] = 1;
	/* loops that it leads to have new branches to their headers, which tcb_ptx_loop_enter_at would not know */
	for (const struct tcb_ptx_block *block = counted->header;; block = block->next) {
		for (uint32_t i = 0; i < block->succ_count; i++)
			loops->is_stale[block->succ[i]->number] = 1;
		if (block == counted->latch)
			break;
	}
}

/* --- comparisons --- */

enum tcb_ptx_word tcb_ptx_unsigned_of(enum tcb_ptx_word type)
{
	switch (tcb_ptx_type_bits(type)) {
	case 16:
		return TCB_PTX_U16;
	case 32:
		return TCB_PTX_U32;
	}
	return TCB_PTX_U64;
}

/* --- recognising --- */

struct counting {
	struct tcb_ptx_loop_pass *loops;
	struct tcb_ptx_ins *ins;
	uint32_t mark;
};

static void count_reg(void *ctx, uint32_t *reg, int is_def)
{
	struct counting *c = ctx;
	struct tcb_ptx_range_reg *known = &c->loops->regs[*reg];

	if (known->loop != c->mark)
		*known = (struct tcb_ptx_range_reg){ .loop = c->mark };
	if (is_def) {
		known->defs++;
		return;
	}
	known->uses++;
	known->unsettled += !tcb_ptx_is_settled(c->loops->function, &c->loops->scope, *reg, c->ins);
}

static uint32_t defs_inside(const struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_loop *loop, uint32_t reg)
{
	const struct tcb_ptx_range_reg *known = &loops->regs[reg];

	return known->loop == loop->header->number + 1 ? known->defs : 0;
}

/* Blocks from header to latch, entered at the header from outside and at the header from the latch. */
static int is_one_piece(const struct tcb_ptx_loop *loop)
{
	const struct tcb_ptx_block *header = loop->header, *latch = loop->latch;

	for (const struct tcb_ptx_block *block = header;; block = block->next) {
		const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);

		if (block->order == UINT32_MAX || (end && end->op == TCB_PTX_OP_BRX))
			return 0;
		for (uint32_t i = 0; i < block->pred_count; i++) {
			uint32_t from = block->pred[i]->number;
			int is_inside = from >= header->number && from <= latch->number;

			if (is_inside != (block != header) && block->pred[i] != latch)
				return 0;
		}
		if (block == latch)
			return 1;
	}
}

static int is_whole(enum tcb_ptx_word type)
{
	enum tcb_ptx_class class = tcb_ptx_type_class(type);

	return class == TCB_PTX_CLASS_BITS || class == TCB_PTX_CLASS_UINT || class == TCB_PTX_CLASS_SINT;
}

struct writing {
	uint32_t reg;
	int is_written;
};

static void ask_written(void *ctx, uint32_t *reg, int is_def)
{
	struct writing *w = ctx;

	w->is_written |= is_def && *reg == w->reg;
}

/* The last instruction before INS, in its block, that writes REG. */
static struct tcb_ptx_ins *last_write(struct tcb_ptx_ins *ins, uint32_t reg)
{
	struct writing w = { reg, 0 };

	for (ins = ins->prev; ins; ins = ins->prev) {
		tcb_ptx_each_reg(ins, ask_written, &w);
		if (w.is_written)
			return ins;
	}
	return NULL;
}

int tcb_ptx_is_invariant(const struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_operand *operand)
{
	return operand->kind == TCB_PTX_O_INT || (operand->kind == TCB_PTX_O_REG && !loops->regs[operand->reg].defs);
}

/* add or sub of IV and what does not change, the only write of IV. */
static int find_increment(struct tcb_ptx_loop_pass *loops, struct tcb_ptx_counted *out, uint32_t iv)
{
	struct tcb_ptx_ins *ins = last_write(out->test, iv);
	unsigned bits = tcb_ptx_type_bits(out->type), other = 2;

	if (!ins || defs_inside(loops, out->loop, iv) != 1 ||
	    (ins->op != TCB_PTX_OP_ADD && ins->op != TCB_PTX_OP_SUB) || ins->guard != TCB_PTX_NO_REG ||
	    ins->mod[TCB_PTX_SLOT_SAT] || ins->mod[TCB_PTX_SLOT_CARRY] ||
	    !is_whole(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE)) || ins->operands[0].kind != TCB_PTX_O_REG)
		return 0;
	if (ins->op == TCB_PTX_OP_ADD && ins->operands[2].kind == TCB_PTX_O_REG && ins->operands[2].reg == iv)
		other = 1;
	if (ins->operands[3 - other].kind != TCB_PTX_O_REG || ins->operands[3 - other].reg != iv ||
	    !tcb_ptx_is_invariant(loops, &ins->operands[other]))
		return 0;
	out->iv = iv;
	out->increment = ins;
	out->has_step = ins->operands[other].kind == TCB_PTX_O_INT;
	if (out->has_step) {
		uint64_t step = ins->operands[other].bits;

		step = ins->op == TCB_PTX_OP_SUB ? 0 - step : step;
		out->step = (int64_t)(step << (64 - bits)) >> (64 - bits);
	}
	return 1;
}

static int find_test(struct tcb_ptx_loop_pass *loops, struct tcb_ptx_counted *out)
{
	struct tcb_ptx_ins *test = last_write(out->branch, out->branch->guard);

	if (!test || test->op != TCB_PTX_OP_SETP || test->operands[0].kind != TCB_PTX_O_REG ||
	    test->guard != TCB_PTX_NO_REG || test->mod[TCB_PTX_SLOT_BOOL] ||
	    !is_whole(tcb_ptx_mod(test, TCB_PTX_SLOT_TYPE)))
		return 0;
	out->test = test;
	out->type = tcb_ptx_mod(test, TCB_PTX_SLOT_TYPE);
	if (tcb_ptx_type_class(out->type) == TCB_PTX_CLASS_BITS)
		out->type = tcb_ptx_unsigned_of(out->type);
	for (unsigned i = 1; i <= 2; i++) {
		if (test->operands[i].kind != TCB_PTX_O_REG || !tcb_ptx_is_invariant(loops, &test->operands[3 - i]) ||
		    !find_increment(loops, out, test->operands[i].reg))
			continue;
		out->bound = test->operands[3 - i];
		out->compare = tcb_ptx_compare_plain(tcb_ptx_mod(test, TCB_PTX_SLOT_COMPARE));
		if (i == 2)
			out->compare = tcb_ptx_compare_swapped(out->compare);
		if (out->branch->guard_negated)
			out->compare = tcb_ptx_compare_inverse(out->compare);
		return 1;
	}
	return 0;
}

/* What the widest of the instructions that threads run together asks for. */
static void note_convergence(const struct tcb_ptx_ins *ins, struct tcb_ptx_counted *out)
{
	enum tcb_ptx_variance wanted = TCB_PTX_UNIFORM_WARP;

	if (!tcb_ptx_has(ins, TCB_PTX_F_CONVERGENT | TCB_PTX_F_BARRIER))
		return;
	if (ins->op == TCB_PTX_OP_BARRIER_CLUSTER_ARRIVE || ins->op == TCB_PTX_OP_BARRIER_CLUSTER_WAIT ||
	    ins->op == TCB_PTX_OP_CALL)
		wanted = TCB_PTX_UNIFORM_GRID;
	else if (tcb_ptx_has(ins, TCB_PTX_F_BARRIER | TCB_PTX_F_ASYNC) || ins->op == TCB_PTX_OP_SETMAXNREG)
		wanted = TCB_PTX_UNIFORM_BLOCK; /* wgmma is of four warps */
	out->is_convergent = 1;
	if (wanted < out->agreed)
		out->agreed = wanted;
}

static int is_uniform(const struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_operand *operand,
		      enum tcb_ptx_variance wanted)
{
	return operand->kind == TCB_PTX_O_INT ||
	       (operand->kind == TCB_PTX_O_REG && loops->uniformity.reg[operand->reg] <= wanted);
}

int tcb_ptx_is_agreed(const struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_counted *counted,
		      const struct tcb_ptx_operand *limit)
{
	struct tcb_ptx_operand iv = tcb_ptx_operand_reg(counted->iv);

	if (!counted->is_convergent)
		return 1;
	return loops->uniformity.reg && loops->uniformity.control[counted->header->number] <= counted->agreed &&
	       is_uniform(loops, &iv, counted->agreed) && is_uniform(loops, &counted->bound, counted->agreed) &&
	       (!limit || is_uniform(loops, limit, counted->agreed));
}

int tcb_ptx_counted(struct tcb_ptx_loop_pass *loops, struct tcb_ptx_loop *loop, struct tcb_ptx_counted *out)
{
	struct counting counting = { .loops = loops, .mark = loop->header->number + 1 };
	struct tcb_ptx_ins *branch;

	memset(out, 0, sizeof *out);
	if (loops->is_stale[loop->header->number]) {
		loops->again = 1;
		return 0;
	}
	if (!loop->latch || loop->latch->number < loop->header->number || !loop->latch->next)
		return 0;
	branch = tcb_ptx_terminator(loop->latch);
	if (!branch || branch->op != TCB_PTX_OP_BRA || branch->guard == TCB_PTX_NO_REG ||
	    branch->operands[0].block != loop->header || !is_one_piece(loop))
		return 0;
	out->loop = loop;
	out->header = loop->header;
	out->latch = loop->latch;
	out->branch = branch;
	out->is_innermost = 1;
	out->agreed = TCB_PTX_VARYING;
	for (struct tcb_ptx_block *block = loop->header;; block = block->next) {
		if (block->loop && block->loop->header == block && block != loop->header)
			out->is_innermost = 0;
		for (counting.ins = block->first; counting.ins; counting.ins = counting.ins->next) {
			out->ins_count++;
			note_convergence(counting.ins, out);
			tcb_ptx_each_reg(counting.ins, count_reg, &counting);
		}
		if (block == loop->latch)
			break;
	}
	return find_test(loops, out);
}

/* --- making --- */

enum tcb_status tcb_ptx_loops_reg(struct tcb_ptx_loop_pass *loops, enum tcb_ptx_word type, uint32_t *out)
{
	*out = tcb_ptx_reg_new(loops->function, type);
	if (*out == TCB_PTX_NO_REG)
		return tcb_fail(loops->err, TCB_E_NOMEM, "no more registers in '%s'", loops->function->symbol->name);
	return TCB_OK;
}

struct tcb_ptx_block *tcb_ptx_loops_block(struct tcb_ptx_loop_pass *loops, struct tcb_ptx_block *after)
{
	struct tcb_ptx_block *block = tcb_ptx_block_new(loops->function, after, NULL);

	if (!block)
		nomem(loops);
	return block;
}

static enum tcb_status give_label(struct tcb_ptx_loop_pass *loops, struct tcb_ptx_block *block)
{
	if (!block->label)
		block->label =
			tcb_arena_textf(&loops->function->module->arena, "%s%u", label_prefix, loops->next_label++);
	return block->label ? TCB_OK : nomem(loops);
}

enum tcb_status tcb_ptx_loops_emit(struct tcb_ptx_loop_pass *loops, struct tcb_ptx_block *block, uint32_t guard,
				   int guard_negated, const char *mnemonic, enum tcb_ptx_word type, unsigned count,
				   const struct tcb_ptx_operand *operands)
{
	struct tcb_error why;
	struct tcb_ptx_ins *ins;
	char text[64];

	snprintf(text, sizeof text, type ? "%s.%s" : "%s", mnemonic, type ? tcb_ptx_word_text(type) : "");
	ins = tcb_ptx_ins_like(loops->function, NULL, text, count, operands, &why);
	if (!ins)
		return tcb_fail(loops->err, why.status, "%s", why.message);
	ins->guard = guard;
	ins->guard_negated = (uint8_t)guard_negated;
	tcb_ptx_ins_append(block, ins);
	return TCB_OK;
}

enum tcb_status tcb_ptx_loops_branch(struct tcb_ptx_loop_pass *loops, struct tcb_ptx_block *block, uint32_t guard,
				     int guard_negated, struct tcb_ptx_block *to)
{
	struct tcb_ptx_operand target = { .kind = TCB_PTX_O_BLOCK, .reg = TCB_PTX_NO_REG, .block = to };

	TCB_TRY(give_label(loops, to));
	return tcb_ptx_loops_emit(loops, block, guard, guard_negated, "bra", TCB_PTX_NO_WORD, 1, &target);
}

enum tcb_status tcb_ptx_loops_lead(struct tcb_ptx_loop_pass *loops, struct tcb_ptx_ins *branch,
				   struct tcb_ptx_block *to)
{
	branch->operands[0].block = to;
	return give_label(loops, to);
}

enum tcb_status tcb_ptx_loop_enter_at(struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_counted *counted,
				      struct tcb_ptx_block *entry)
{
	const struct tcb_ptx_block *header = counted->header;

	for (uint32_t i = 0; i < header->pred_count; i++) {
		struct tcb_ptx_ins *end = tcb_ptx_terminator(header->pred[i]);

		if (header->pred[i] == counted->latch || !end)
			continue;
		if (end->op == TCB_PTX_OP_BRA && end->operands[0].block == header)
			TCB_TRY(tcb_ptx_loops_lead(loops, end, entry));
		for (uint32_t k = 0; end->op == TCB_PTX_OP_BRX && k < end->operands[1].table->count; k++)
			if (end->operands[1].table->blocks[k] == header) {
				end->operands[1].table->blocks[k] = entry;
				TCB_TRY(give_label(loops, entry));
			}
	}
	return TCB_OK;
}

/* --- copying --- */

struct copying {
	struct tcb_ptx_loop_pass *loops;
	const struct tcb_ptx_counted *counted;
	int forget; /* take the registers' copies back */
	enum tcb_status status;
};

/* A register for each value of the copy that is its iteration's own. */
static void make_local(void *ctx, uint32_t *reg, int is_def)
{
	struct copying *c = ctx;
	struct tcb_ptx_function *function = c->loops->function;
	struct tcb_ptx_range_reg *known;
	uint32_t made;

	if (!is_def || *reg >= c->loops->reg_count)
		return;
	known = &c->loops->regs[*reg];
	if (c->forget) {
		known->copy = 0;
		return;
	}
	if (c->status != TCB_OK || known->copy || !tcb_ptx_is_value(function, *reg) ||
	    known->uses != function->regs[*reg].uses || known->unsettled)
		return;
	c->status = tcb_ptx_loops_reg(c->loops, function->regs[*reg].type, &made);
	if (c->status != TCB_OK)
		return;
	function->regs[made].align = function->regs[*reg].align;
	known->copy = made + 1;
}

static void rename_reg(void *ctx, uint32_t *reg, int is_def)
{
	struct copying *c = ctx;

	(void)is_def;
	if (*reg < c->loops->reg_count && c->loops->regs[*reg].copy)
		*reg = c->loops->regs[*reg].copy - 1;
}

static void for_each_reg(struct copying *c, void (*see)(void *ctx, uint32_t *reg, int is_def))
{
	for (struct tcb_ptx_block *block = c->counted->header;; block = block->next) {
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			tcb_ptx_each_reg(ins, see, c);
		if (block == c->counted->latch)
			break;
	}
}

/* Branches of the copy to where the original's blocks are copied to: both stand in the same order. */
static enum tcb_status lead_inside(struct copying *c, struct tcb_ptx_block **copies)
{
	uint32_t first = c->counted->header->number, count = c->counted->latch->number - first + 1;

	for (uint32_t i = 0; i < count; i++) {
		struct tcb_ptx_ins *end = tcb_ptx_terminator(copies[i]);
		uint32_t to;

		if (!end || end->op != TCB_PTX_OP_BRA)
			continue;
		to = end->operands[0].block->number - first;
		if (end->operands[0].block->number > first && to < count)
			TCB_TRY(tcb_ptx_loops_lead(c->loops, end, copies[to]));
	}
	return TCB_OK;
}

static enum tcb_status copy_blocks(struct copying *c, struct tcb_ptx_block *after, struct tcb_ptx_block **copies,
				   struct tcb_ptx_loop_copy *out)
{
	struct tcb_ptx_module *module = c->loops->function->module;
	uint32_t count = 0;

	for (struct tcb_ptx_block *block = c->counted->header;; block = block->next) {
		after = copies[count++] = tcb_ptx_loops_block(c->loops, after);
		if (!after)
			return TCB_E_NOMEM;
		after->number = UINT32_MAX; /* no block of the original */
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
			struct tcb_ptx_ins *copy = tcb_ptx_ins_copy(module, ins);

			if (!copy)
				return nomem(c->loops);
			tcb_ptx_each_reg(copy, rename_reg, c);
			tcb_ptx_ins_append(after, copy);
			if (ins == c->counted->test)
				out->test = copy;
			if (ins == c->counted->branch)
				out->branch = copy;
		}
		if (block == c->counted->latch)
			break;
	}
	out->first = copies[0];
	out->last = after;
	return lead_inside(c, copies);
}

enum tcb_status tcb_ptx_loop_copy(struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_counted *counted,
				  struct tcb_ptx_block *after, struct tcb_ptx_loop_copy *out)
{
	struct copying c = { .loops = loops, .counted = counted };
	uint32_t count = counted->latch->number - counted->header->number + 1;
	struct tcb_ptx_block **copies = calloc(count, sizeof(*copies));

	memset(out, 0, sizeof *out);
	if (!copies)
		return nomem(loops);
	for_each_reg(&c, make_local);
	if (c.status == TCB_OK)
		c.status = copy_blocks(&c, after, copies, out);
	c.forget = 1;
	for_each_reg(&c, make_local);
	free(copies);
	return c.status;
}
