/* SPDX-License-Identifier: MIT
 *
 * In: the values that branches depend on.  Out: how often loops go round at most,
 * and which threads can be in which block.
 *
 * A branch whose condition is known for each thread sends each its way; one
 * whose condition is the same in all threads sends all, or none; after any
 * other, both sides hold at most the threads that came.
 */
#include "ptx/analyse/values/affine_control.h"
#include "ptx/analyse/values/affine_loops.h"
#include "ptx/analyse/values/affine_ops.h"
#include "ptx/analyse/values/affine_read.h"
#include "ptx/analyse/values/affine_state.h"
#include "ptx/ir/integers.h"

#include <string.h>

enum { ROUNDS_MAX = 1 << 16, REGION_FUEL = 1 << 22 };

/* --- rounds of loops --- */

/* X as number + factor * COUNTER; 0 when it is something else. */
static int in_rounds(const struct tcb_ptx_value *x, uint32_t counter, uint64_t *factor)
{
	*factor = 0;
	if (!x->known || x->assumes || x->term_count > 1)
		return 0;
	if (x->term_count == 0)
		return 1;
	*factor = x->terms[0].factor;
	return x->terms[0].symbol == counter && !x->terms[0].lanes;
}

/* The first round in which the branch END, whose guard SETP computes, goes the way STAY_IF does not; UINT64_MAX when
 * that is unknown.  EACH, or NULL, receives it for each thread. */
static uint64_t rounds_until(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *setp, int stay_if, uint32_t counter,
			     uint64_t *each)
{
	enum tcb_ptx_word type = tcb_ptx_mod(setp, TCB_PTX_SLOT_TYPE), how = tcb_ptx_mod(setp, TCB_PTX_SLOT_COMPARE);
	unsigned bits = tcb_ptx_type_bits(type);
	int is_signed = tcb_ptx_type_class(type) == TCB_PTX_CLASS_SINT;
	struct tcb_ptx_value x, y;
	uint64_t fx, fy, most = 0, budget = ROUNDS_MAX;

	if (setp->operands[0].kind != TCB_PTX_O_REG || tcb_ptx_mod(setp, TCB_PTX_SLOT_BOOL) ||
	    tcb_ptx_type_class(type) == TCB_PTX_CLASS_FLOAT || bits > 64 || bits < 16)
		return UINT64_MAX;
	x = tcb_ptx_affine_operand(a, setp, &setp->operands[1]);
	y = tcb_ptx_affine_operand(a, setp, &setp->operands[2]);
	x = tcb_ptx_value_convert(a, &x, x.bits < bits ? x.bits : bits, bits, 0);
	y = tcb_ptx_value_convert(a, &y, y.bits < bits ? y.bits : bits, bits, 0);
	if (!in_rounds(&x, counter, &fx) || !in_rounds(&y, counter, &fy))
		return UINT64_MAX;
	for (uint32_t t = 0; t < (each || x.lanes || y.lanes ? a->threads : 1); t++) {
		uint64_t at_x = tcb_ptx_value_lane(&x, t), at_y = tcb_ptx_value_lane(&y, t), round = 0;
		uint64_t mask = tcb_ptx_value_mask(&x);

		while (tcb_ptx_compare(how, at_x, at_y, bits, is_signed) == stay_if) {
			if (budget-- == 0)
				return UINT64_MAX;
			at_x = (at_x + fx) & mask;
			at_y = (at_y + fy) & mask;
			round++;
		}
		if (each)
			each[t] = round;
		most = round > most ? round : most;
	}
	return most;
}

/* The comparison that decides whether LOOP is left at the end of BLOCK, which each round passes, and what it is when it
 * is not; NULL when there is none such. */
static const struct tcb_ptx_ins *exit_condition(struct tcb_ptx_affine *a, const struct tcb_ptx_loop *loop,
						const struct tcb_ptx_block *block, int *stay_if)
{
	const struct tcb_ptx_ins *end;
	struct tcb_ptx_write write;
	int always = block->order != UINT32_MAX && tcb_ptx_affine_is_inside(block, loop), to_inside;

	end = always ? tcb_ptx_terminator(block) : NULL;
	if (!end || end->op != TCB_PTX_OP_BRA || end->guard == TCB_PTX_NO_REG || !block->next)
		return NULL;
	to_inside = tcb_ptx_affine_is_inside(end->operands[0].block, loop);
	if (to_inside == tcb_ptx_affine_is_inside(block->next, loop))
		return NULL;
	for (uint32_t i = 0; i < loop->header->pred_count; i++)
		if (tcb_ptx_affine_is_inside(loop->header->pred[i], loop))
			always &= tcb_ptx_dominates(&a->dominators, block, loop->header->pred[i]);
	write = tcb_ptx_reaching_at(a->reaching, end, end->guard);
	if (!always || block->loop != loop || write.kind != TCB_PTX_WRITE_INS || write.ins->op != TCB_PTX_OP_SETP ||
	    write.ins->guard != TCB_PTX_NO_REG)
		return NULL;
	*stay_if = to_inside != end->guard_negated;
	return write.ins;
}

/* The most times that LOOP goes back, from exits that each round passes. */
static uint64_t count_rounds(struct tcb_ptx_affine *a, const struct tcb_ptx_loop *loop, uint32_t counter)
{
	uint32_t header = loop->header->number;
	const struct tcb_ptx_block *end_at = a->loop_last[header] ? a->loop_last[header]->next : NULL;
	uint64_t least = UINT64_MAX;

	for (const struct tcb_ptx_block *block = a->loop_first[header]; block != end_at; block = block->next) {
		int stay_if;
		const struct tcb_ptx_ins *setp = exit_condition(a, loop, block, &stay_if);
		uint64_t rounds = setp ? rounds_until(a, setp, stay_if, counter, NULL) : UINT64_MAX;

		least = rounds < least ? rounds : least;
	}
	return least;
}

/* Whether threads leave LOOP at the end of BLOCK, or end there. */
static int is_exit_of(const struct tcb_ptx_loop *loop, const struct tcb_ptx_block *block)
{
	const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);

	if (!block->succ_count || (end && end->op != TCB_PTX_OP_BRA && end->guard != TCB_PTX_NO_REG))
		return 1;
	for (uint32_t i = 0; i < block->succ_count; i++)
		if (!tcb_ptx_affine_is_inside(block->succ[i], loop))
			return 1;
	return 0;
}

const struct tcb_ptx_block *tcb_ptx_affine_rounds(struct tcb_ptx_affine *a, const struct tcb_ptx_loop *loop,
						  uint64_t *rounds)
{
	uint32_t header = loop->header->number;
	const struct tcb_ptx_block *end_at = a->loop_last[header] ? a->loop_last[header]->next : NULL, *exit = NULL;
	const struct tcb_ptx_ins *setp;
	int stay_if;

	for (const struct tcb_ptx_block *block = a->loop_first[header]; block != end_at; block = block->next) {
		if (block->order == UINT32_MAX || !tcb_ptx_affine_is_inside(block, loop) || !is_exit_of(loop, block))
			continue;
		if (exit)
			return NULL;
		exit = block;
	}
	setp = exit ? exit_condition(a, loop, exit, &stay_if) : NULL;
	if (!setp || rounds_until(a, setp, stay_if, tcb_ptx_affine_counter(a, loop->header), rounds) == UINT64_MAX)
		return NULL;
	return exit;
}

void tcb_ptx_affine_bound_counters(struct tcb_ptx_affine *a)
{
	for (const struct tcb_ptx_loop *loop = a->function->loops; loop && !a->failed; loop = loop->next) {
		uint32_t counter = tcb_ptx_affine_counter(a, loop->header);
		uint64_t rounds = a->failed ? UINT64_MAX : count_rounds(a, loop, counter);

		if (!a->failed)
			a->symbols[counter].max = rounds;
	}
}

/* --- who is there --- */

enum how { ALIKE, KNOWN, UNKNOWN };

/* What the branch at the end of BLOCK does with the threads that come: TAKEN receives the bits of those that take it.
 */
static enum how condition(struct tcb_ptx_affine *a, const struct tcb_ptx_block *block, uint64_t *taken, int *constant)
{
	const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);
	struct tcb_ptx_value guard;
	uint32_t yes = 0;

	*constant = -1;
	memset(taken, 0xff, a->words * sizeof *taken);
	if (!end || (end->guard == TCB_PTX_NO_REG && end->op != TCB_PTX_OP_BRX))
		return ALIKE;
	if (end->op == TCB_PTX_OP_BRX) {
		guard = tcb_ptx_affine_operand(a, end, &end->operands[0]);
		return tcb_ptx_value_is_uniform(&guard) ? ALIKE : UNKNOWN;
	}
	guard = tcb_ptx_affine_guard(a, end);
	if (!guard.known)
		return UNKNOWN;
	if (guard.term_count)
		return tcb_ptx_value_is_uniform(&guard) ? ALIKE : UNKNOWN;
	memset(taken, 0, a->words * sizeof *taken);
	for (uint32_t t = 0; t < a->threads; t++)
		if (tcb_ptx_value_lane(&guard, t)) {
			taken[t / 64] |= UINT64_C(1) << (t % 64);
			yes++;
		}
	if (yes == 0 || yes == a->threads)
		*constant = yes != 0;
	return *constant < 0 ? KNOWN : ALIKE;
}

/* Adds the threads in FROM that TAKEN names (or, when INVERT, does not) to TO; says whether that changed it. */
static int add_threads(const struct tcb_ptx_affine *a, uint64_t *to, const uint64_t *from, const uint64_t *taken,
		       int invert)
{
	int changed = 0;

	for (uint32_t w = 0; w < a->words; w++) {
		uint64_t now = to[w] | (from[w] & (invert ? ~taken[w] : taken[w]));

		changed |= now != to[w];
		to[w] = now;
	}
	return changed;
}

/* One pass over the blocks; says whether any gained a thread.  Where TAKEN is NULL those go each way that MAY tells. */
static int spread(struct tcb_ptx_affine *a, uint64_t *const *taken, uint64_t *const *may)
{
	static const uint64_t nobody[TCB_PTX_BLOCK_THREADS_MAX / 64];
	const struct tcb_ptx_function *f = a->function;
	int changed = 0;

	for (uint32_t i = 0; i < f->reachable_count; i++) {
		const struct tcb_ptx_block *block = f->order[i];
		const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);
		const struct tcb_ptx_block *target = end && end->op == TCB_PTX_OP_BRA ? end->operands[0].block : NULL;
		const uint64_t *from = tcb_ptx_affine_active(a, block), *yes = taken[block->number];

		for (uint32_t s = 0; s < block->succ_count; s++) {
			const struct tcb_ptx_block *succ = block->succ[s];
			uint64_t *to = a->active + (size_t)succ->number * a->words;

			if (!yes && may[block->number] && succ == target && succ != block->next) {
				changed |= add_threads(a, to, from, may[block->number], 0);
				continue;
			}
			if (!yes && may[block->number] && succ == block->next && succ != target) {
				changed |= add_threads(a, to, from, may[block->number] + a->words, 0);
				continue;
			}
			if (!yes) {
				changed |= add_threads(a, to, from, nobody, 1);
				continue;
			}
			if (succ == target)
				changed |= add_threads(a, to, from, yes, 0);
			if (succ == block->next && tcb_ptx_falls_through(block))
				changed |= add_threads(a, to, from, yes, 1);
		}
	}
	return changed;
}

/* Marks what lies between BLOCK and where its ways meet again. */
static void mark_region(struct tcb_ptx_affine *a, const struct tcb_ptx_block *block, uint8_t *marks, uint8_t mark,
			const struct tcb_ptx_block **stack, uint32_t *stamps, uint32_t stamp, uint64_t *fuel)
{
	const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);
	const struct tcb_ptx_block *meet = a->dominators.ipdom[block->number];
	uint32_t count = 0;

	if (end->op != TCB_PTX_OP_BRA && end->op != TCB_PTX_OP_BRX)
		meet = NULL; /* who left does not come back */
	stack[count++] = block;
	while (count && *fuel) {
		const struct tcb_ptx_block *at = stack[--count];

		--*fuel;
		for (uint32_t s = 0; s < at->succ_count; s++) {
			const struct tcb_ptx_block *succ = at->succ[s];

			if (succ == meet || stamps[succ->number] == stamp)
				continue;
			stamps[succ->number] = stamp;
			if (marks[succ->number] < mark)
				marks[succ->number] = mark;
			stack[count++] = succ;
		}
	}
}

static void mark_regions(struct tcb_ptx_affine *a, const uint8_t *how, uint64_t *const *taken,
			 const struct tcb_ptx_block **stack, uint32_t *stamps)
{
	static const uint8_t presence[] = { [KNOWN] = TCB_PTX_SPLIT, [UNKNOWN] = TCB_PTX_AT_MOST };
	uint64_t fuel = REGION_FUEL;

	for (uint32_t i = 0; i < a->function->reachable_count; i++) {
		const struct tcb_ptx_block *block = a->function->order[i];
		const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);
		uint8_t kind = how[block->number];

		if (kind != ALIKE)
			mark_region(a, block, a->presence, presence[kind], stack, stamps, i + 1, &fuel);
		else if (end && (end->guard != TCB_PTX_NO_REG || end->op == TCB_PTX_OP_BRX) && !taken[block->number])
			mark_region(a, block, a->optional, 1, stack, stamps, i + 1, &fuel);
	}
	if (!fuel) {
		memset(a->presence, TCB_PTX_AT_MOST, a->function->block_count);
		memset(a->optional, 1, a->function->block_count);
	}
}

/* The threads that may take the branch of BLOCK, and behind them those that may not; NULL where nothing is known. */
static uint64_t *may_go(struct tcb_ptx_affine *a, const struct tcb_ptx_block *block)
{
	const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);
	uint64_t *may;
	int is_narrower;

	if (!end || end->op != TCB_PTX_OP_BRA || end->guard == TCB_PTX_NO_REG)
		return NULL;
	may = tcb_arena_array(&a->arena, (size_t)a->words * 2, sizeof *may);
	if (!may)
		return NULL;
	is_narrower = tcb_ptx_affine_may_run(a, end, 1, may);
	is_narrower |= tcb_ptx_affine_may_run(a, end, 0, may + a->words);
	return is_narrower ? may : NULL;
}

enum tcb_status tcb_ptx_affine_control(struct tcb_ptx_affine *a, struct tcb_error *err)
{
	uint32_t blocks = a->function->block_count;
	uint64_t **taken = tcb_arena_array(&a->arena, blocks, sizeof *taken), *bits;
	uint64_t **may = tcb_arena_array(&a->arena, blocks, sizeof *may);
	uint8_t *how = tcb_arena_array(&a->arena, blocks, 1);
	const struct tcb_ptx_block **stack = tcb_arena_array(&a->arena, blocks, sizeof *stack);
	uint32_t *stamps = tcb_arena_array(&a->arena, blocks, sizeof *stamps);

	a->words = (a->threads + 63) / 64;
	a->active = tcb_arena_array(&a->arena, (size_t)blocks * a->words, sizeof *a->active);
	a->presence = tcb_arena_array(&a->arena, blocks, 1);
	a->optional = tcb_arena_array(&a->arena, blocks, 1);
	bits = tcb_arena_array(&a->arena, (size_t)blocks * a->words, sizeof *bits);
	if (!taken || !may || !how || !stack || !stamps || !a->active || !a->presence || !a->optional || !bits)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the values of '%s'", a->function->symbol->name);
	for (uint32_t i = 0; i < a->function->reachable_count; i++) {
		const struct tcb_ptx_block *block = a->function->order[i];
		uint64_t *mine = bits + (size_t)block->number * a->words;
		int constant;

		how[block->number] = (uint8_t)condition(a, block, mine, &constant);
		if (how[block->number] == KNOWN || constant >= 0)
			taken[block->number] = mine;
		else
			may[block->number] = may_go(a, block);
	}
	if (a->function->reachable_count)
		for (uint32_t t = 0; t < a->threads; t++)
			a->active[(size_t)a->function->order[0]->number * a->words + t / 64] |= UINT64_C(1) << (t % 64);
	a->taken = taken;
	while (spread(a, taken, may))
		;
	mark_regions(a, how, taken, stack, stamps);
	return TCB_OK;
}

const uint64_t *tcb_ptx_affine_active(const struct tcb_ptx_affine *affine, const struct tcb_ptx_block *block)
{
	return affine->active + (size_t)block->number * affine->words;
}

const uint64_t *tcb_ptx_affine_taken(const struct tcb_ptx_affine *affine, const struct tcb_ptx_block *block)
{
	return affine->taken[block->number];
}

enum tcb_ptx_presence tcb_ptx_affine_presence(const struct tcb_ptx_affine *affine, const struct tcb_ptx_block *block)
{
	return (enum tcb_ptx_presence)affine->presence[block->number];
}

int tcb_ptx_affine_is_optional(const struct tcb_ptx_affine *affine, const struct tcb_ptx_block *block)
{
	return affine->optional[block->number];
}
