/* SPDX-License-Identifier: MIT
 *
 * In: a function and its liveness.  Out: how many registers ptxas will
 * probably give a thread.
 *
 * Pressure in the order of the text is a start.  ptxas differs in both
 * directions: parameters and constants cost it nothing (they are operands from
 * the constant bank); it moves global loads up and unrolls short loops to have
 * more of them in flight, as long as that takes no more than some 36
 * registers; and large kernels get about three tenths more than lives at once.
 * The numbers below were fitted to ptxas 13.0 for sm_80 on some fifty kernels
 * that nvcc wrote; test_register_estimate.c measures the error.
 */
#include "ptx/analyse/analyses.h"
#include "ptx/ir/opcodes.h"

#include <stdlib.h>
#include <string.h>

enum {
	FILE_REGISTERS = 65536, /* of an SM */
	THREAD_MAX = 255,
	GRANULE = 8,      /* registers per thread are allocated in */
	OVERHEAD = 1,     /* above the pressure of the text */
	EAGER_EXTRA = 4,  /* addresses beside what loads in flight hold */
	EAGER_LIMIT = 36, /* up to here loads are moved up */
	UNROLL_LIMIT = 32,
	UNROLL_MORE = 3, /* rounds of a loop whose loads are in flight beside the first */
	CALL_LEAST = 24, /* the calling convention's */
	LARGE = 64       /* words alive at once where reordering costs a share, not a constant */
};
static const double LARGE_SHARE = 1.3;

struct work {
	const struct tcb_ptx_function *function;
	const struct tcb_ptx_liveness *liveness;
	uint8_t *weight;    /* by register: words that it costs */
	uint32_t *alive;    /* by register: the walk in which it lives now */
	uint8_t *is_needed; /* by register: an address of a load that moves up is made of it */
	uint32_t walk;
	long words, dead;
	const struct tcb_ptx_ins *at;
	int found;
};

/* --- what registers cost --- */

/* Written once, by something that ptxas takes from the instruction or the constant bank wherever it is read. */
static int is_free(const struct work *w, const struct tcb_ptx_reg *reg)
{
	const struct tcb_ptx_ins *def = reg->defs == 1 ? reg->def : NULL;

	if (!def || def->guard != TCB_PTX_NO_REG)
		return 0;
	if (def->op == TCB_PTX_OP_LD)
		return w->function->is_entry && tcb_ptx_mod(def, TCB_PTX_SLOT_SPACE) == TCB_PTX_PARAM;
	if (def->op == TCB_PTX_OP_CVTA)
		return def->operands[1].kind == TCB_PTX_O_REG && !w->weight[def->operands[1].reg];
	return def->op == TCB_PTX_OP_MOV &&
	       (def->operands[1].kind == TCB_PTX_O_INT || def->operands[1].kind == TCB_PTX_O_F32 ||
		def->operands[1].kind == TCB_PTX_O_F64 || def->operands[1].kind == TCB_PTX_O_SYMBOL);
}

static void set_weights(struct work *w)
{
	const struct tcb_ptx_function *function = w->function;

	for (uint32_t r = 0; r < function->reg_count; r++)
		if (function->regs[r].type != TCB_PTX_PRED)
			w->weight[r] = (uint8_t)((tcb_ptx_type_bits(function->regs[r].type) + 31) / 32);
	for (unsigned round = 0; round < 2; round++) /* cvta of what is free is free */
		for (uint32_t r = 0; r < function->reg_count; r++)
			if (w->weight[r] && is_free(w, &function->regs[r]))
				w->weight[r] = 0;
}

/* --- pressure of a block in some order --- */

static void set_alive(struct work *w, uint32_t reg, int alive)
{
	if ((w->alive[reg] == w->walk) == alive)
		return;
	w->alive[reg] = alive ? w->walk : 0;
	w->words += alive ? w->weight[reg] : -(long)w->weight[reg];
}

static void see_dead(void *ctx, uint32_t *reg, int is_def)
{
	struct work *w = ctx;

	if (is_def && w->alive[*reg] != w->walk)
		w->dead += w->weight[*reg];
}

static void see_kill(void *ctx, uint32_t *reg, int is_def)
{
	struct work *w = ctx;

	if (is_def && w->at->guard == TCB_PTX_NO_REG)
		set_alive(w, *reg, 0);
}

static void see_use(void *ctx, uint32_t *reg, int is_def)
{
	if (!is_def)
		set_alive(ctx, *reg, 1);
}

static long pressure_of(struct work *w, const struct tcb_ptx_block *block, struct tcb_ptx_ins *const *order,
			uint32_t count)
{
	long most;

	w->walk++;
	w->words = 0;
	for (uint32_t i = 0; i < w->liveness->live_out_count[block->number]; i++)
		set_alive(w, w->liveness->live_out[block->number][i], 1);
	most = w->words;
	while (count--) {
		w->at = order[count];
		w->dead = 0;
		tcb_ptx_each_reg(order[count], see_dead, w);
		most = w->words + w->dead > most ? w->words + w->dead : most;
		tcb_ptx_each_reg(order[count], see_kill, w);
		tcb_ptx_each_reg(order[count], see_use, w);
		most = w->words > most ? w->words : most;
	}
	return most;
}

/* --- loads moved up --- */

static void see_needed(void *ctx, uint32_t *reg, int is_def)
{
	struct work *w = ctx;

	w->found |= is_def && w->is_needed[*reg];
}

static void see_provided(void *ctx, uint32_t *reg, int is_def)
{
	if (is_def)
		((struct work *)ctx)->is_needed[*reg] = 0;
}

static void see_wanted(void *ctx, uint32_t *reg, int is_def)
{
	if (!is_def)
		((struct work *)ctx)->is_needed[*reg] = 1;
}

static void see_forget(void *ctx, uint32_t *reg, int is_def)
{
	(void)is_def;
	((struct work *)ctx)->is_needed[*reg] = 0;
}

/* Nothing moves across it. */
static int is_fixed(const struct tcb_ptx_ins *ins)
{
	return tcb_ptx_has(ins, TCB_PTX_F_BARRIER | TCB_PTX_F_FENCE | TCB_PTX_F_TERMINATOR | TCB_PTX_F_WRITE);
}

static int is_global_load(const struct tcb_ptx_ins *ins)
{
	return ins->op == TCB_PTX_OP_LD && tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE) == TCB_PTX_GLOBAL;
}

/* ORDER, with the global loads of each stretch and what their addresses need first, in OUT. */
static void move_loads(struct work *w, struct tcb_ptx_ins *const *order, uint32_t count, struct tcb_ptx_ins **out,
		       uint8_t *is_early)
{
	uint32_t put = 0;

	for (uint32_t start = 0, end; start < count; start = end + 1) {
		for (end = start; end < count && !is_fixed(order[end]);)
			end++;
		for (uint32_t i = end; i-- > start;) {
			w->found = 0;
			tcb_ptx_each_reg(order[i], see_needed, w);
			is_early[i] = (uint8_t)(w->found || is_global_load(order[i]));
			if (is_early[i]) {
				tcb_ptx_each_reg(order[i], see_provided, w);
				tcb_ptx_each_reg(order[i], see_wanted, w);
			}
		}
		for (unsigned early = 2; early--;)
			for (uint32_t i = start; i < end; i++)
				if (is_early[i] == early)
					out[put++] = order[i];
		for (uint32_t i = start; i < end; i++)
			tcb_ptx_each_reg(order[i], see_forget, w);
		if (end < count)
			out[put++] = order[end];
	}
}

/* --- loops that ptxas unrolls --- */

static unsigned load_words(const struct tcb_ptx_ins *ins)
{
	if (ins->op != TCB_PTX_OP_LD || tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE) == TCB_PTX_PARAM)
		return 0;
	return (tcb_ptx_vector_count(ins) * tcb_ptx_type_bits(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE)) + 31) / 32;
}

/* Words that the loads of one round hold, if BLOCK is a loop of its own that counts by a constant; else 0. */
static unsigned unrolled_words(const struct work *w, const struct tcb_ptx_block *block)
{
	unsigned words = 0;
	int loops = 0, counts = 0;

	for (uint32_t i = 0; i < block->succ_count; i++)
		loops |= block->succ[i] == block;
	for (const struct tcb_ptx_ins *ins = block->first; ins && loops; ins = ins->next) {
		if (tcb_ptx_has(ins, TCB_PTX_F_WRITE | TCB_PTX_F_BARRIER) || ins->op == TCB_PTX_OP_PRAGMA)
			return 0; /* the pragma is "nounroll" */
		counts |= ins->op == TCB_PTX_OP_ADD && ins->operands[2].kind == TCB_PTX_O_INT &&
			  ins->operands[0].kind == TCB_PTX_O_REG && w->function->regs[ins->operands[0].reg].defs > 1;
		words += load_words(ins);
	}
	return loops && counts ? words : 0;
}

/* --- the estimate --- */

static long estimate_block(struct work *w, const struct tcb_ptx_block *block, struct tcb_ptx_ins **order,
			   struct tcb_ptx_ins **moved, uint8_t *is_early)
{
	uint32_t count = 0;
	long in_order, eager, words, estimate;

	for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
		order[count++] = ins;
	in_order = pressure_of(w, block, order, count);
	move_loads(w, order, count, moved, is_early);
	eager = pressure_of(w, block, moved, count) + EAGER_EXTRA;
	estimate = eager < EAGER_LIMIT ? eager : EAGER_LIMIT;
	words = unrolled_words(w, block);
	if (words) {
		long unrolled = in_order + UNROLL_MORE * words + EAGER_EXTRA;

		unrolled = unrolled < UNROLL_LIMIT ? unrolled : UNROLL_LIMIT;
		estimate = unrolled > estimate ? unrolled : estimate;
	}
	if (in_order > LARGE && (double)in_order * LARGE_SHARE > (double)estimate)
		estimate = (long)((double)in_order * LARGE_SHARE);
	return estimate;
}

/* What the directives leave a thread; with setmaxnreg it is what a thread begins with. */
static unsigned limit_of(const struct tcb_ptx_function *function)
{
	const struct tcb_ptx_directives *d = &function->directives;
	const uint32_t *threads = d->reqntid[0] ? d->reqntid : d->maxntid;
	uint64_t resident = (uint64_t)threads[0] * threads[1] * threads[2] * (d->minnctapersm ? d->minnctapersm : 1);
	uint64_t limit = THREAD_MAX;

	if (resident && FILE_REGISTERS / resident / GRANULE * GRANULE < limit)
		limit = FILE_REGISTERS / resident / GRANULE * GRANULE;
	if (d->maxnreg && d->maxnreg < limit)
		limit = d->maxnreg;
	return (unsigned)limit;
}

static int uses(const struct tcb_ptx_function *function, enum tcb_ptx_op op)
{
	for (uint32_t i = 0; i < function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = function->order[i]->first; ins; ins = ins->next)
			if (ins->op == op)
				return 1;
	return 0;
}

unsigned tcb_ptx_register_estimate(const struct tcb_ptx_function *function, const struct tcb_ptx_liveness *liveness)
{
	size_t regs = function->reg_count + 1, longest = 1;
	struct work w = { .function = function, .liveness = liveness };
	struct tcb_ptx_ins **order, **moved;
	uint8_t *is_early;
	long estimate = (long)liveness->pressure + OVERHEAD;
	unsigned limit = limit_of(function);

	if (uses(function, TCB_PTX_OP_SETMAXNREG))
		return limit;
	for (uint32_t i = 0; i < function->reachable_count; i++) {
		size_t count = 0;

		for (const struct tcb_ptx_ins *ins = function->order[i]->first; ins; ins = ins->next)
			count++;
		longest = count > longest ? count : longest;
	}
	w.weight = calloc(regs, 1);
	w.is_needed = calloc(regs, 1);
	w.alive = calloc(regs, sizeof *w.alive);
	order = calloc(longest, sizeof *order);
	moved = calloc(longest, sizeof *moved);
	is_early = calloc(longest, 1);
	if (w.weight && w.is_needed && w.alive && order && moved && is_early) {
		set_weights(&w);
		for (uint32_t i = 0; i < function->reachable_count; i++) {
			long of_block = estimate_block(&w, function->order[i], order, moved, is_early);

			estimate = of_block > estimate ? of_block : estimate;
		}
	}
	free(w.weight);
	free(w.is_needed);
	free(w.alive);
	free(order);
	free(moved);
	free(is_early);
	if (estimate < CALL_LEAST && uses(function, TCB_PTX_OP_CALL))
		estimate = CALL_LEAST;
	return estimate < (long)limit ? (unsigned)estimate : limit;
}
