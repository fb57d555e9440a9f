/* SPDX-License-Identifier: MIT
 *
 * In: control-flow graph, dominators and loops.  Out: for each register which
 * threads have the same value in it, for each block which threads run it
 * together.
 *
 * Data: the least solution from "all alike" over the instructions (lane_bits.c
 * has their rules).  Control: where threads disagree about a branch, what is
 * written on some of the ways and lives where they meet differs as the branch
 * does.  Threads that leave a loop in different rounds meet behind its exits,
 * and the loop is one of the ways.  Both rounds repeat until nothing changes; a
 * branch is looked at once for each level that it reaches.
 */
#include "ptx/analyse/flow/joins.h"
#include "ptx/analyse/values/affine.h"
#include "ptx/analyse/values/butterfly.h"
#include "ptx/analyse/values/lane_bits.h"
#include "ptx/ir/opcodes.h"

#include <stdlib.h>
#include <string.h>

/* The first search, at its level, whose region a block is in: what it found holds for branches in there that go to the
 * same rejoining on one side, so a row of tests that all lead to one block is searched once. */
struct cover {
	const struct tcb_ptx_block *rejoin;
	struct tcb_ptx_spread by;
};

struct work {
	struct tcb_ptx_function *function;
	struct tcb_ptx_lane_env env;
	struct tcb_ptx_liveness liveness;
	struct tcb_ptx_joins joins;
	struct tcb_ptx_uniformity *out;
	struct tcb_ptx_affine *affine; /* or NULL */
	uint8_t *agreed;               /* by number of the instruction: enum agreed */
	uint8_t *is_butterfly;         /* by register: all lanes have one value */
	uint8_t *done;                 /* by block: level at which its branch was looked at */
	struct cover *cover;           /* by block */
	uint32_t *written, stamp;      /* by register: the search in whose region it is written */
	const struct tcb_ptx_ins *at;
	int changed;
};

static uint64_t open_bits(const struct work *w, uint32_t reg)
{
	const struct tcb_ptx_bits *bits = &w->env.bits.reg[reg];

	return ~(bits->zeros | bits->ones) & tcb_ptx_low_bits(tcb_ptx_type_bits(w->function->regs[reg].type));
}

static void raise_reg(struct work *w, uint32_t reg, struct tcb_ptx_spread by)
{
	struct tcb_ptx_spread *known = &w->env.reg[reg];

	by.lanes &= open_bits(w, reg);
	if (!open_bits(w, reg)) /* a constant, wherever it comes from */
		by.between = TCB_PTX_UNIFORM_GRID;
	if ((by.lanes & ~known->lanes) == 0 && by.between <= known->between)
		return;
	known->lanes |= by.lanes;
	known->between = by.between > known->between ? by.between : known->between;
	w->changed = 1;
}

/* --- data --- */

static struct tcb_ptx_spread guard_spread(const struct work *w, const struct tcb_ptx_ins *ins)
{
	struct tcb_ptx_spread spread = { 0, TCB_PTX_UNIFORM_GRID };

	if (ins->guard != TCB_PTX_NO_REG) {
		spread = w->env.reg[ins->guard];
		spread.lanes = spread.lanes ? ~(uint64_t)0 : 0;
	}
	return spread;
}

enum agreed { NOT_ASKED, IN_WARPS, NOWHERE };

/* Whether the predicate that INS computes, evaluated for each thread of the block, is the same in each warp, as
 * (tid + 31) > 62 is though its operands are not. */
static enum agreed find_agreed(struct work *w, const struct tcb_ptx_ins *ins, uint32_t reg)
{
	struct tcb_ptx_value value = tcb_ptx_affine_result(w->affine, ins, reg);

	if (!value.known)
		return NOWHERE;
	for (uint32_t i = 0; i < value.term_count; i++)
		if (value.terms[i].lanes)
			return NOWHERE;
	for (uint32_t t = 0; t < tcb_ptx_affine_threads(w->affine); t++)
		if (tcb_ptx_value_lane(&value, t) != tcb_ptx_value_lane(&value, t & ~31u))
			return NOWHERE;
	return IN_WARPS;
}

static int warps_agree(struct work *w, const struct tcb_ptx_ins *ins, uint32_t reg)
{
	uint8_t *agreed = &w->agreed[ins->number];

	if (!w->affine || ins->op != TCB_PTX_OP_SETP || ins->operands[0].kind != TCB_PTX_O_REG)
		return 0;
	if (*agreed == NOT_ASKED)
		*agreed = (uint8_t)find_agreed(w, ins, reg);
	return *agreed == IN_WARPS;
}

static void set_result(struct work *w, const struct tcb_ptx_ins *ins, uint32_t reg, unsigned item)
{
	struct tcb_ptx_spread spread = tcb_ptx_result_spread(&w->env, ins, item), guard = guard_spread(w, ins);

	if (spread.lanes && (w->is_butterfly[reg] || warps_agree(w, ins, reg)))
		spread.lanes = 0;
	spread.lanes |= guard.lanes;
	spread.between = guard.between > spread.between ? guard.between : spread.between;
	raise_reg(w, reg, spread);
	if (ins->mod[TCB_PTX_SLOT_CARRY]) {
		w->env.carry.lanes |= spread.lanes;
		w->env.carry.between = spread.between > w->env.carry.between ? spread.between : w->env.carry.between;
	}
}

static void solve_ins(struct work *w, const struct tcb_ptx_ins *ins)
{
	for (unsigned i = 0; i < ins->result_count; i++) {
		const struct tcb_ptx_operand *result = &ins->operands[i];

		if (result->kind == TCB_PTX_O_REG)
			set_result(w, ins, result->reg, 0);
		for (uint32_t k = 0; k < result->count; k++)
			if (result->items[k].kind == TCB_PTX_O_REG)
				set_result(w, ins, result->items[k].reg, k);
	}
}

static void solve_data(struct work *w)
{
	do {
		w->changed = 0;
		for (uint32_t i = 0; i < w->function->reachable_count; i++)
			for (const struct tcb_ptx_ins *ins = w->function->order[i]->first; ins; ins = ins->next)
				solve_ins(w, ins);
	} while (w->changed);
}

/* --- control --- */

/* How the threads differ about where to go at the end of BLOCK. */
static struct tcb_ptx_spread branch_spread(const struct work *w, const struct tcb_ptx_block *block)
{
	const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);
	struct tcb_ptx_spread spread = { 0, TCB_PTX_UNIFORM_GRID }, index;

	if (!end)
		return spread;
	spread = guard_spread(w, end);
	if (end->op == TCB_PTX_OP_BRX) {
		index = tcb_ptx_operand_spread(&w->env, &end->operands[0]);
		spread.lanes |= index.lanes;
		spread.between = index.between > spread.between ? index.between : spread.between;
	}
	spread.lanes = spread.lanes && !w->out->alike[block->number] ? ~(uint64_t)0 : 0;
	if (w->out->alike[block->number] == TCB_PTX_ALIKE_IN_BLOCK)
		spread.between = TCB_PTX_UNIFORM_GRID;
	return spread;
}

/* Exits of loops that threads leave after known times: they may agree though their counters differ. */
static void find_alike(struct work *w, uint64_t *rounds)
{
	for (const struct tcb_ptx_loop *loop = w->function->loops; loop; loop = loop->next) {
		const struct tcb_ptx_block *exit = tcb_ptx_affine_rounds(w->affine, loop, rounds);
		uint8_t alike = TCB_PTX_ALIKE_IN_BLOCK;

		if (!exit)
			continue;
		for (uint32_t t = 0; t < tcb_ptx_affine_threads(w->affine); t++)
			if (rounds[t] != rounds[t & ~31u])
				alike = TCB_PTX_NOT_ALIKE;
			else if (rounds[t] != rounds[0] && alike == TCB_PTX_ALIKE_IN_BLOCK)
				alike = TCB_PTX_ALIKE_IN_WARPS;
		w->out->alike[exit->number] = alike;
	}
}

static void see_written(void *ctx, uint32_t *reg, int is_def)
{
	struct work *w = ctx;

	if (is_def)
		w->written[*reg] = w->stamp;
}

static void stamp_block(struct work *w, const struct tcb_ptx_block *block)
{
	for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
		tcb_ptx_each_reg(ins, see_written, w);
}

/* What was stamped and lives into BLOCK differs as BY does. */
static void raise_live(struct work *w, const struct tcb_ptx_block *block, struct tcb_ptx_spread by)
{
	const uint32_t *live = w->liveness.live_in[block->number];

	for (uint32_t i = 0; i < w->liveness.live_in_count[block->number]; i++)
		if (w->written[live[i]] == w->stamp)
			raise_reg(w, live[i], by);
}

static void raise_block(uint8_t *levels, struct tcb_ptx_block **branches, const struct tcb_ptx_block *block,
			enum tcb_ptx_variance level, struct tcb_ptx_block *branch)
{
	if (levels[block->number] >= level)
		return;
	levels[block->number] = (uint8_t)level;
	branches[block->number] = branch;
}

static int is_covered(const struct work *w, const struct tcb_ptx_block *block, struct tcb_ptx_spread by)
{
	const struct cover *cover = &w->cover[block->number];

	if (!cover->rejoin || cover->rejoin->loop != block->loop || by.between > cover->by.between ||
	    (by.lanes && !cover->by.lanes))
		return 0;
	for (uint32_t i = 0; i < block->succ_count; i++)
		if (block->succ[i] == cover->rejoin)
			return block->succ_count == 2;
	return 0;
}

/* The search that was just made, of a branch that differs as BY does, covers its region. */
static void set_cover(struct work *w, struct tcb_ptx_spread by)
{
	const struct tcb_ptx_joins *j = &w->joins;

	if (!j->rejoin || j->is_irreducible || j->met[j->rejoin->number] != j->mark)
		return;
	for (uint32_t i = 0; i < j->region.count; i++) {
		struct cover *cover = &w->cover[j->region.list[i]->number];

		if (!cover->rejoin || tcb_ptx_spread_level(cover->by) < tcb_ptx_spread_level(by))
			*cover = (struct cover){ j->rejoin, by };
	}
}

static void look_at_branch(struct work *w, struct tcb_ptx_block *block, struct tcb_ptx_spread by)
{
	struct tcb_ptx_joins *j = &w->joins;
	struct tcb_ptx_uniformity *out = w->out;
	enum tcb_ptx_variance level = tcb_ptx_spread_level(by);

	tcb_ptx_joins_find(j, block);
	set_cover(w, by);
	w->stamp++;
	for (uint32_t i = 0; i < j->region.count; i++) {
		stamp_block(w, j->region.list[i]);
		raise_block(out->control, out->splits, j->region.list[i], level, block);
		if (j->exits && j->is_irreducible)
			raise_block(out->exited, out->leavers, j->region.list[i], level, block);
	}
	for (uint32_t i = 0; i < j->joins.count; i++)
		raise_live(w, j->joins.list[i], by);
	if (j->exits && j->rejoin)
		raise_block(out->exited, out->leavers, j->rejoin, level, block);
}

static void look_at_control(struct work *w)
{
	for (uint32_t i = 0; i < w->function->reachable_count; i++) {
		struct tcb_ptx_block *block = w->function->order[i];
		struct tcb_ptx_spread by = branch_spread(w, block);
		enum tcb_ptx_variance level = tcb_ptx_spread_level(by);

		if (level <= w->done[block->number])
			continue;
		w->done[block->number] = (uint8_t)level;
		if (block->succ_count > 1 && !is_covered(w, block, by))
			look_at_branch(w, block, by);
		else if (tcb_ptx_ends_thread(w->function, tcb_ptx_terminator(block)) && block->succ_count)
			raise_block(w->out->exited, w->out->leavers, block->succ[0], level, block); /* @p exit */
	}
}

/* Threads that have ended stay ended. */
static int spread_exits(struct work *w)
{
	struct tcb_ptx_block **stack = w->joins.pending;
	uint8_t *waits = calloc(w->function->block_count + 1, 1);
	uint32_t depth = 0;

	for (uint32_t i = 0; waits && i < w->function->reachable_count; i++) {
		struct tcb_ptx_block *block = w->function->order[i];

		if (w->out->exited[block->number]) {
			waits[block->number] = 1;
			stack[depth++] = block;
		}
	}
	while (waits && depth) {
		struct tcb_ptx_block *block = stack[--depth];

		waits[block->number] = 0;
		for (uint32_t i = 0; i < block->succ_count; i++) {
			struct tcb_ptx_block *succ = block->succ[i];

			if (w->out->exited[succ->number] >= w->out->exited[block->number])
				continue;
			w->out->exited[succ->number] = w->out->exited[block->number];
			w->out->leavers[succ->number] = w->out->leavers[block->number];
			if (!waits[succ->number]) {
				waits[succ->number] = 1;
				stack[depth++] = succ;
			}
		}
	}
	free(waits);
	return waits != NULL;
}

enum tcb_status tcb_ptx_uniformity(struct tcb_ptx_function *function, const struct tcb_ptx_dominators *d,
				   struct tcb_ptx_uniformity *out, struct tcb_error *err)
{
	return tcb_ptx_uniformity_in(function, d, NULL, out, err);
}

enum tcb_status tcb_ptx_uniformity_in(struct tcb_ptx_function *function, const struct tcb_ptx_dominators *d,
				      struct tcb_ptx_affine *affine, struct tcb_ptx_uniformity *out,
				      struct tcb_error *err)
{
	struct tcb_arena *arena = &function->module->arena;
	size_t blocks = function->block_count + 1, regs = function->reg_count + 1;
	struct work w = { .function = function, .out = out };
	uint64_t *rounds;
	int ok;

	TCB_TRY(tcb_ptx_loops(function, d, err));
	TCB_TRY(tcb_ptx_liveness(function, &w.liveness, err));
	TCB_TRY(tcb_ptx_joins_init(&w.joins, function, err));
	TCB_TRY(tcb_ptx_bits_all(function, NULL, &w.env.bits, err));
	w.env.function = function;
	/* a block of another shape than was supposed has other warps */
	if (affine && tcb_ptx_affine_threads(affine) && (w.env.bits.shape.ntid[0] || w.env.bits.shape.whole_warps))
		w.affine = affine;
	rounds = tcb_arena_array(arena, TCB_PTX_BLOCK_THREADS_MAX, sizeof *rounds);
	out->alike = tcb_arena_array(arena, blocks, 1);
	w.agreed = tcb_arena_array(arena, function->ins_count + 1u, 1);
	tcb_ptx_lane_env_scan(&w.env);
	w.is_butterfly = tcb_ptx_butterflies(&w.env);
	w.env.reg = calloc(regs, sizeof *w.env.reg);
	w.done = calloc(blocks, 1);
	w.cover = calloc(blocks, sizeof *w.cover);
	w.written = calloc(regs, sizeof *w.written);
	out->reg = tcb_arena_array(arena, regs, 1);
	out->lane_bits = tcb_arena_array(arena, regs, sizeof *out->lane_bits);
	out->control = tcb_arena_array(arena, blocks, 1);
	out->exited = tcb_arena_array(arena, blocks, 1);
	out->splits = tcb_arena_array(arena, blocks, sizeof *out->splits);
	out->leavers = tcb_arena_array(arena, blocks, sizeof *out->leavers);
	ok = w.env.reg && w.done && w.cover && w.written && !arena->failed;
	if (ok && w.affine)
		find_alike(&w, rounds);
	for (w.changed = 1; ok && w.changed;) {
		solve_data(&w);
		w.changed = 0;
		look_at_control(&w);
	}
	ok = ok && spread_exits(&w);
	for (uint32_t r = 0; ok && r < function->reg_count; r++) {
		out->reg[r] = (uint8_t)tcb_ptx_spread_level(w.env.reg[r]);
		out->lane_bits[r] = w.env.reg[r].lanes;
	}
	free(w.env.reg);
	free(w.done);
	free(w.cover);
	free(w.written);
	return ok ? TCB_OK
		  : tcb_fail(err, TCB_E_NOMEM, "out of memory for the uniformity of '%s'", function->symbol->name);
}

enum tcb_ptx_variance tcb_ptx_branch_variance(const struct tcb_ptx_uniformity *u, const struct tcb_ptx_block *block)
{
	const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);
	enum tcb_ptx_variance variance = TCB_PTX_UNIFORM_GRID;

	if (u->alike[block->number] == TCB_PTX_ALIKE_IN_BLOCK)
		return variance;
	if (end && end->guard != TCB_PTX_NO_REG)
		variance = (enum tcb_ptx_variance)u->reg[end->guard];
	if (end && end->op == TCB_PTX_OP_BRX && end->operands[0].kind == TCB_PTX_O_REG &&
	    u->reg[end->operands[0].reg] > variance)
		variance = (enum tcb_ptx_variance)u->reg[end->operands[0].reg];
	if (variance == TCB_PTX_VARYING && u->alike[block->number])
		variance = TCB_PTX_UNIFORM_WARP;
	return variance;
}
