/* SPDX-License-Identifier: MIT
 *
 * In: an instruction that reads a register.  Out: the value that it finds there.
 *
 * Values are computed on demand, once for each write of a register and each
 * meeting point.  At the header of a loop a variable is first taken to be a
 * symbol of its own; what the loop makes of it then tells what it is: the same
 * plus a step that does not change (start + step * rounds), or anything else
 * that is the same in all threads (the symbol stays), or unknown.  Values that
 * rest on such an assumption are withdrawn when it is settled (`open` is the
 * outermost one that a value rests on), and computed again.
 *
 * Reads ask for writes and writes for what they read, so both are here; only
 * what one instruction computes is affine_eval.c's.
 */
#include "ptx/analyse/values/affine_read.h"
#include "ptx/analyse/values/affine_eval.h"
#include "ptx/analyse/values/affine_intern.h"
#include "ptx/analyse/values/affine_leaf.h"
#include "ptx/analyse/values/affine_loops.h"
#include "ptx/analyse/values/affine_ops.h"
#include "ptx/analyse/values/affine_state.h"

#include <string.h>

enum { DEPTH_MAX = 500, PATH_BLOCKS_MAX = 256, PARTS_DEPTH = 4 };

/* Kinds of keys of symbols; others are in affine_ops.c, affine_eval.c, affine_leaf.c and affine_loops.c. */
#define KEY_CARRIED (UINT64_C(7) << 32)
#define KEY_JOINED (UINT64_C(8) << 32)

/* --- memo --- */

static uint32_t memo_slot(const struct tcb_ptx_memo *memo, uint32_t capacity, uint64_t key)
{
	uint32_t slot = (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (capacity - 1);

	while (memo[slot].key && memo[slot].key != key)
		slot = (slot + 1) & (capacity - 1);
	return slot;
}

static struct tcb_ptx_memo *memo_at(struct tcb_ptx_affine *a, uint64_t key)
{
	if (a->memo_count * 2 >= a->memo_capacity) {
		uint32_t capacity = a->memo_capacity ? a->memo_capacity * 2 : 256;
		struct tcb_ptx_memo *memo = tcb_arena_array(&a->arena, capacity, sizeof *memo);

		if (!memo) {
			a->failed = 1;
			return NULL;
		}
		for (uint32_t i = 0; i < a->memo_capacity; i++)
			if (a->memo[i].key)
				memo[memo_slot(memo, capacity, a->memo[i].key)] = a->memo[i];
		a->memo = memo;
		a->memo_capacity = capacity;
	}
	return &a->memo[memo_slot(a->memo, a->memo_capacity, key)];
}

static void memo_set(struct tcb_ptx_affine *a, uint64_t key, const struct tcb_ptx_value *value, uint8_t state)
{
	struct tcb_ptx_memo *memo = memo_at(a, key);

	if (!memo)
		return;
	if (state == 1 || memo->state == 3) { /* begun again: this attempt may be withdrawn by itself */
		if (a->trail_count == a->trail_capacity) {
			uint32_t capacity = a->trail_capacity ? a->trail_capacity * 2 : 256;
			uint64_t *trail =
				tcb_arena_regrow(&a->arena, a->trail, a->trail_count, capacity, sizeof *trail);

			if (!trail) {
				a->failed = 1;
				return;
			}
			a->trail = trail;
			a->trail_capacity = capacity;
		}
		a->trail[a->trail_count++] = key;
	}
	a->memo_count += !memo->key;
	memo->key = key;
	memo->value = *value;
	memo->state = state;
}

/* Withdraws what was computed after MARK and rests on assumption OPEN. */
static void withdraw(struct tcb_ptx_affine *a, uint32_t mark, uint32_t open)
{
	uint32_t kept = mark;

	for (uint32_t i = mark; i < a->trail_count; i++) {
		struct tcb_ptx_memo *memo = memo_at(a, a->trail[i]);

		if (memo && memo->state == 2 && memo->value.open != TCB_PTX_NOT_OPEN && memo->value.open >= open)
			memo->state = 3;
		else
			a->trail[kept++] = a->trail[i];
	}
	a->trail_count = kept;
}

/* --- loops --- */

/* --- reads --- */

static struct tcb_ptx_value value_written(struct tcb_ptx_affine *a, struct tcb_ptx_write write, uint32_t reg);

/* Whether all threads of a block leave LOOP in the same round: no branch in it differs between threads, unless both
 * ways meet again inside. */
static int find_leaves_together(struct tcb_ptx_affine *a, const struct tcb_ptx_loop *loop)
{
	uint32_t header = loop->header->number;
	const struct tcb_ptx_block *end_at = a->loop_last[header] ? a->loop_last[header]->next : NULL;

	for (const struct tcb_ptx_block *block = a->loop_first[header]; block != end_at; block = block->next) {
		const struct tcb_ptx_ins *end;
		const struct tcb_ptx_block *meet = a->dominators.ipdom[block->number];
		struct tcb_ptx_value guard;

		if (block->succ_count < 2 || !tcb_ptx_affine_is_inside(block, loop) || block->order == UINT32_MAX ||
		    !(end = tcb_ptx_terminator(block)))
			continue;
		if (!a->fuel)
			return 0;
		a->fuel--;
		if (meet && tcb_ptx_affine_is_inside(meet, loop) && meet != loop->header)
			continue;
		guard = tcb_ptx_affine_guard(a, end);
		if (end->op == TCB_PTX_OP_BRX || !tcb_ptx_value_is_uniform(&guard))
			return 0;
	}
	return 1;
}

/* The answer for a loop asks for those that its branches read from, so each is kept, or a row of loops would take
 * exponential time.  What rests on an assumption that is not settled is not kept: there the fuel is the bound. */
static int leaves_together(struct tcb_ptx_affine *a, const struct tcb_ptx_loop *loop)
{
	uint8_t *memo = &a->together[loop->header->number];
	int together;

	if (*memo)
		return *memo == TCB_PTX_TOGETHER;
	if (a->open_count)
		return find_leaves_together(a, loop);
	*memo = TCB_PTX_NOT_TOGETHER; /* while it is asked for */
	together = find_leaves_together(a, loop);
	*memo = together ? TCB_PTX_TOGETHER : TCB_PTX_NOT_TOGETHER;
	return together;
}

/* V as it is seen in BLOCK: unknown when it comes out of a loop that threads leave in different rounds. */
static struct tcb_ptx_value seen_in(struct tcb_ptx_affine *a, struct tcb_ptx_value v, const struct tcb_ptx_block *block)
{
	uint64_t left = v.known ? tcb_ptx_value_loops(a, &v) & ~tcb_ptx_affine_loops_of(a, block) : 0;

	if (!left)
		return v;
	if (a->open_count) /* what the branches depend on may rest on any assumption */
		v.open = 0;
	for (const struct tcb_ptx_loop *loop = a->function->loops; loop && v.known; loop = loop->next)
		if (left & tcb_ptx_affine_loop_bit(a, loop->header) && !leaves_together(a, loop))
			v.known = 0;
	return v;
}

static struct tcb_ptx_value read_reg(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, uint32_t reg, int negated)
{
	struct tcb_ptx_value v = value_written(a, tcb_ptx_reaching_at(a->reaching, ins, reg), reg), one;

	if (!negated || !v.known)
		return v;
	one = tcb_ptx_value_number(v.bits, 1);
	return tcb_ptx_value_bitwise(a, TCB_PTX_OP_XOR, &v, &one);
}

struct tcb_ptx_value tcb_ptx_affine_operand(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins,
					    const struct tcb_ptx_operand *operand)
{
	struct tcb_ptx_value v, offset;

	switch ((enum tcb_ptx_operand_kind)operand->kind) {
	case TCB_PTX_O_REG:
		return read_reg(a, ins, operand->reg, operand->negated);
	case TCB_PTX_O_INT:
		return tcb_ptx_value_number(64, operand->bits);
	case TCB_PTX_O_SYMBOL:
		v = tcb_ptx_affine_symbol_address(a, operand->symbol);
		offset = tcb_ptx_value_number(64, operand->bits);
		return tcb_ptx_value_add(a, &v, &offset);
	case TCB_PTX_O_SPECIAL:
		return tcb_ptx_affine_special(a, (enum tcb_ptx_special)operand->special);
	default:
		return tcb_ptx_value_unknown(64);
	}
}

struct tcb_ptx_value tcb_ptx_affine_guard(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins)
{
	if (ins->guard == TCB_PTX_NO_REG)
		return tcb_ptx_value_number(1, 1);
	return seen_in(a, read_reg(a, ins, ins->guard, ins->guard_negated), ins->block);
}

/* --- who may run --- */

/* Threads that may still have what is asked for. */
struct narrowing {
	struct tcb_ptx_affine *affine;
	uint64_t *may;
	int is_narrower;
};

static void keep(struct narrowing *n, uint32_t thread, int stays)
{
	if (!stays)
		n->may[thread / 64] &= ~(UINT64_C(1) << (thread % 64));
}

static void narrow(struct narrowing *n, const struct tcb_ptx_ins *ins, uint32_t reg, int wanted, unsigned depth);

static void narrow_operand(struct narrowing *n, const struct tcb_ptx_ins *ins, const struct tcb_ptx_operand *operand,
			   int wanted, unsigned depth)
{
	if (operand->kind == TCB_PTX_O_REG && n->affine->function->regs[operand->reg].type == TCB_PTX_PRED)
		narrow(n, ins, operand->reg, wanted != operand->negated, depth);
}

/* INS makes a predicate of others: if it is WANTED, each of a conjunction is true, or each of a disjunction false. */
static void narrow_parts(struct narrowing *n, const struct tcb_ptx_ins *ins, int wanted, unsigned depth)
{
	enum tcb_ptx_word joins = tcb_ptx_mod(ins, TCB_PTX_SLOT_BOOL);
	uint8_t holds[TCB_PTX_BLOCK_THREADS_MAX];

	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_NOT:
		narrow_operand(n, ins, &ins->operands[1], !wanted, depth);
		return;
	case TCB_PTX_OP_MOV:
		narrow_operand(n, ins, &ins->operands[1], wanted, depth);
		return;
	case TCB_PTX_OP_AND:
	case TCB_PTX_OP_OR:
		for (unsigned i = 1; i < 3 && wanted == (ins->op == TCB_PTX_OP_AND); i++)
			narrow_operand(n, ins, &ins->operands[i], wanted, depth);
		return;
	case TCB_PTX_OP_SETP:
		if (wanted != (joins == TCB_PTX_AND) || (joins != TCB_PTX_AND && joins != TCB_PTX_OR))
			return;
		narrow_operand(n, ins, &ins->operands[3], wanted, depth);
		if (!tcb_ptx_affine_compared(n->affine, ins, holds))
			return;
		n->is_narrower = 1;
		for (uint32_t t = 0; t < n->affine->threads; t++)
			keep(n, t, holds[t] == wanted);
		return;
	default:
		return;
	}
}

/* Takes away the threads in which REG, as INS reads it, is surely not WANTED. */
static void narrow(struct narrowing *n, const struct tcb_ptx_ins *ins, uint32_t reg, int wanted, unsigned depth)
{
	struct tcb_ptx_value v = read_reg(n->affine, ins, reg, 0);
	struct tcb_ptx_write write;

	if (v.known && !v.term_count) {
		n->is_narrower = 1;
		for (uint32_t t = 0; t < n->affine->threads; t++)
			keep(n, t, (int)(tcb_ptx_value_lane(&v, t) & 1) == wanted);
		return;
	}
	write = tcb_ptx_reaching_at(n->affine->reaching, ins, reg);
	if (depth && write.kind == TCB_PTX_WRITE_INS && write.ins->guard == TCB_PTX_NO_REG &&
	    write.ins->result_count == 1 && write.ins->operands[0].kind == TCB_PTX_O_REG)
		narrow_parts(n, write.ins, wanted, depth - 1);
}

int tcb_ptx_affine_may_run(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, int runs, uint64_t *may)
{
	struct narrowing n = { a, may, 0 };

	memset(may, 0xff, ((size_t)a->threads + 63) / 64 * sizeof *may);
	if (ins->guard != TCB_PTX_NO_REG)
		narrow(&n, ins, ins->guard, runs != ins->guard_negated, PARTS_DEPTH);
	return n.is_narrower;
}

struct tcb_ptx_value tcb_ptx_affine_address(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, unsigned index)
{
	const struct tcb_ptx_operand *operand = &ins->operands[index];
	struct tcb_ptx_value v, offset;

	if (operand->kind != TCB_PTX_O_ADDRESS)
		return tcb_ptx_value_unknown(64);
	if (operand->reg != TCB_PTX_NO_REG)
		v = read_reg(a, ins, operand->reg, 0);
	else if (operand->symbol)
		v = tcb_ptx_affine_symbol_address(a, operand->symbol);
	else
		v = tcb_ptx_value_number(64, 0);
	offset = tcb_ptx_value_number(v.bits, operand->bits);
	v = tcb_ptx_value_add(a, &v, &offset);
	return seen_in(a, v, ins->block);
}

struct tcb_ptx_value tcb_ptx_affine_result(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, uint32_t reg)
{
	struct tcb_ptx_write write = { TCB_PTX_WRITE_INS, (struct tcb_ptx_ins *)(uintptr_t)ins, NULL };

	return seen_in(a, value_written(a, write, reg), ins->block);
}

/* --- meeting points --- */

/* Whether threads that are together in FROM are together, or all absent, in the blocks between it and TO. */
static int is_uniform_path(struct tcb_ptx_affine *a, const struct tcb_ptx_block *from, const struct tcb_ptx_block *to)
{
	const struct tcb_ptx_block *stack[PATH_BLOCKS_MAX];
	uint32_t count = 0, done = 0;

	stack[count++] = to;
	while (done < count) {
		const struct tcb_ptx_block *block = stack[done++];

		if (block != to || done > 1) {
			const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);
			struct tcb_ptx_value guard;

			if (end && block->succ_count > 1) {
				guard = tcb_ptx_affine_guard(a, end);
				if (end->op == TCB_PTX_OP_BRX || !tcb_ptx_value_is_uniform(&guard))
					return 0;
			}
		}
		if (block == from)
			continue;
		for (uint32_t i = 0; i < block->pred_count; i++) {
			const struct tcb_ptx_block *pred = block->pred[i];
			uint32_t known = 0;

			while (known < count && stack[known] != pred)
				known++;
			if (known < count || pred->order == UINT32_MAX)
				continue;
			if (count == PATH_BLOCKS_MAX)
				return 0;
			stack[count++] = pred;
		}
	}
	return 1;
}

/* Whether the branch at the end of FROM never goes to TO. */
static int is_dead_edge(struct tcb_ptx_affine *a, const struct tcb_ptx_block *from, const struct tcb_ptx_block *to)
{
	const struct tcb_ptx_ins *end = tcb_ptx_terminator(from);
	struct tcb_ptx_value guard;

	if (!end || end->op != TCB_PTX_OP_BRA || end->guard == TCB_PTX_NO_REG || from->succ_count < 2)
		return 0;
	guard = tcb_ptx_affine_guard(a, end);
	return guard.known && guard.open == TCB_PTX_NOT_OPEN && !guard.term_count && !guard.lanes &&
	       (guard.constant != 0) != (end->operands[0].block == to);
}

/* What the predecessors of BLOCK for which DOMINATED says whether BLOCK dominates them agree on. */
static int agree(struct tcb_ptx_affine *a, struct tcb_ptx_block *block, uint32_t reg, int want_back_edges,
		 struct tcb_ptx_value *out)
{
	int any = 0, same = 1, uniform = 1;
	uint32_t open = TCB_PTX_NOT_OPEN;

	*out = tcb_ptx_value_unknown(tcb_ptx_type_bits(a->function->regs[reg].type));
	for (uint32_t i = 0; i < block->pred_count; i++) {
		struct tcb_ptx_block *pred = block->pred[i];
		struct tcb_ptx_write write;
		struct tcb_ptx_value v;

		if (pred->order == UINT32_MAX || tcb_ptx_dominates(&a->dominators, block, pred) != want_back_edges)
			continue;
		write = tcb_ptx_reaching_end(a->reaching, pred, reg);
		if (write.kind == TCB_PTX_WRITE_NONE || (!want_back_edges && is_dead_edge(a, pred, block)))
			continue; /* undefined there, so whoever reads it came another way */
		v = value_written(a, write, reg);
		open = v.open < open ? v.open : open;
		same &= !any || tcb_ptx_value_same(out, &v);
		uniform &= tcb_ptx_value_is_uniform(&v);
		if (!any)
			*out = v;
		any = 1;
	}
	out->open = open;
	return any && same && out->known ? 2 : any && uniform;
}

/* A symbol for what BLOCK receives in REG when it differs by the way that all threads came. */
static struct tcb_ptx_value joined(struct tcb_ptx_affine *a, struct tcb_ptx_block *block, uint32_t reg, uint32_t open)
{
	struct tcb_ptx_symbolic like = { .kind = TCB_PTX_Y_COMPUTED, .align = 1, .max = UINT64_MAX };
	uint64_t key[3] = { KEY_JOINED, block->number, reg };
	unsigned bits = tcb_ptx_type_bits(a->function->regs[reg].type);
	struct tcb_ptx_value v = tcb_ptx_value_unknown(bits);

	if (a->dominators.idom[block->number] && is_uniform_path(a, a->dominators.idom[block->number], block)) {
		like.loops = tcb_ptx_affine_loops_of(a, block);
		v = tcb_ptx_value_symbol(a, bits, tcb_ptx_affine_symbol_for(a, key, 3, &like));
	}
	v.open = a->open_count ? 0 : open; /* it rests on the branches, too */
	return v;
}

static struct tcb_ptx_value meet(struct tcb_ptx_affine *a, struct tcb_ptx_block *block, uint32_t reg)
{
	struct tcb_ptx_value v;
	int how = agree(a, block, reg, 0, &v);

	if (how == 2)
		return v;
	if (how == 1)
		return joined(a, block, reg, v.open);
	v.known = 0;
	return v;
}

static int has_back_edge(const struct tcb_ptx_affine *a, const struct tcb_ptx_block *block)
{
	for (uint32_t i = 0; i < block->pred_count; i++)
		if (block->pred[i]->order != UINT32_MAX && tcb_ptx_dominates(&a->dominators, block, block->pred[i]))
			return 1;
	return 0;
}

/* What a variable is that begins as INIT and, being CARRIED at a round's begin, is NEXT at its end. */
static struct tcb_ptx_value settle(struct tcb_ptx_affine *a, const struct tcb_ptx_block *header, uint32_t carried,
				   const struct tcb_ptx_value *init, const struct tcb_ptx_value *next)
{
	struct tcb_ptx_value self = tcb_ptx_value_symbol(a, init->bits, carried), step, counter;
	struct tcb_ptx_value none = tcb_ptx_value_unknown(init->bits);
	int is_step;

	if (!init->known || !next->known || !self.known)
		return none;
	step = tcb_ptx_value_sub(a, next, &self);
	is_step = step.known && !(tcb_ptx_value_loops(a, &step) & tcb_ptx_affine_loop_bit(a, header));
	if (is_step) {
		counter = tcb_ptx_value_symbol(a, init->bits, tcb_ptx_affine_counter(a, header));
		step = tcb_ptx_value_mul(a, &step, &counter);
		return step.known ? tcb_ptx_value_add(a, init, &step) : none;
	}
	if (tcb_ptx_value_is_uniform(init) && tcb_ptx_value_is_uniform(next)) {
		self.assumes = init->assumes | next->assumes;
		return self;
	}
	return none;
}

static struct tcb_ptx_value loop_variable(struct tcb_ptx_affine *a, struct tcb_ptx_block *header, uint32_t reg,
					  uint64_t memo_key)
{
	struct tcb_ptx_symbolic like = { .kind = TCB_PTX_Y_CARRIED, .align = 1, .max = UINT64_MAX, .header = header };
	uint64_t key[3] = { KEY_CARRIED, header->number, reg };
	unsigned bits = tcb_ptx_type_bits(a->function->regs[reg].type);
	uint32_t open = a->open_count, mark = a->trail_count, carried, outer;
	struct tcb_ptx_value init, next, v;

	if (agree(a, header, reg, 0, &init) != 2) {
		/* several ways in: all threads came the same one, or nothing is known */
		init.known = 0;
	}
	if (!init.known)
		return init;
	like.loops = tcb_ptx_affine_loops_of(a, header);
	like.open = TCB_PTX_NOT_OPEN;
	carried = tcb_ptx_affine_symbol_for(a, key, 3, &like);
	if (a->failed)
		return tcb_ptx_value_unknown(bits);
	a->symbols[carried].open = open;
	a->open_count++;
	v = tcb_ptx_value_symbol(a, bits, carried);
	memo_set(a, memo_key, &v, 2);
	if (agree(a, header, reg, 1, &next) != 2)
		next.known = 0;
	a->open_count--;
	outer = next.open < open ? next.open : TCB_PTX_NOT_OPEN;
	if (outer == TCB_PTX_NOT_OPEN || init.open < outer)
		outer = init.open;
	a->symbols[carried].open = outer;
	withdraw(a, mark, open);
	v = settle(a, header, carried, &init, &next);
	v.open = outer;
	return v;
}

/* --- writes --- */

static struct tcb_ptx_value of_ins(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, uint32_t reg)
{
	unsigned bits = tcb_ptx_type_bits(a->function->regs[reg].type);
	struct tcb_ptx_value v = tcb_ptx_affine_eval(a, ins, reg), guard, before;
	struct tcb_ptx_write write;

	if (v.bits != bits)
		v = tcb_ptx_value_convert(a, &v, v.bits < bits ? v.bits : bits, bits, 0);
	if (ins->guard == TCB_PTX_NO_REG)
		return v;
	write = tcb_ptx_reaching_at(a->reaching, ins, reg);
	if (write.kind == TCB_PTX_WRITE_NONE)
		return v;
	guard = tcb_ptx_affine_guard(a, ins);
	before = value_written(a, write, reg);
	return tcb_ptx_value_select(a, &guard, &v, &before);
}

static struct tcb_ptx_value value_written(struct tcb_ptx_affine *a, struct tcb_ptx_write write, uint32_t reg)
{
	struct tcb_ptx_value v = tcb_ptx_value_unknown(tcb_ptx_type_bits(a->function->regs[reg].type));
	struct tcb_ptx_memo *memo;
	uint32_t depth;
	uint64_t key;

	if (write.kind == TCB_PTX_WRITE_NONE || a->failed || a->depth >= DEPTH_MAX || a->fuel == 0)
		return v;
	a->fuel--;
	key = write.kind == TCB_PTX_WRITE_INS ? (uint64_t)(write.ins->number + 1) << 32 | reg
					      : UINT64_C(1) << 63 | (uint64_t)(write.block->number + 1) << 32 | reg;
	memo = memo_at(a, key);
	if (!memo)
		return v;
	if (memo->state == 2)
		return memo->value;
	if (memo->state == 1 && memo->value.open == a->open_count) { /* a cycle that no loop variable closes */
		a->cut_at = memo->depth < a->cut_at ? memo->depth : a->cut_at;
		return v;
	}
	/* else begun already, before the variable that closes the cycle was taken for a symbol */
	depth = ++a->depth;
	v.open = a->open_count;
	memo_set(a, key, &v, 1);
	memo = memo_at(a, key);
	if (memo)
		memo->depth = depth;
	v.open = TCB_PTX_NOT_OPEN;
	if (write.kind == TCB_PTX_WRITE_INS)
		v = of_ins(a, write.ins, reg);
	else if (has_back_edge(a, write.block))
		v = loop_variable(a, write.block, reg, key);
	else
		v = meet(a, write.block, reg);
	a->depth--;
	memo_set(a, key, &v, a->cut_at < depth ? 3 : 2);
	if (a->cut_at >= depth)
		a->cut_at = UINT32_MAX;
	return v;
}
