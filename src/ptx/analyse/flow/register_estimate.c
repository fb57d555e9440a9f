/* SPDX-License-Identifier: MIT
 *
 * In: a function and its liveness.  Out: how many registers ptxas will
 * probably give a thread.
 *
 * The most words that live at once (register_words.c says what a word is, and
 * what needs none), in the order of the text, with what divisions and roots
 * need inside; and above that what ptxas takes for going faster: a few
 * registers in any kernel, more in a longer one, more for the fragments of
 * tensor cores, and a part of what it would hold if all global loads of a
 * stretch were under way at once, as far as that is little.  A short loop
 * that counts it unrolls, to have the loads of four rounds under way, as long as
 * that takes no more than 32.
 *
 * The numbers were fitted to ptxas 13.0 on half of a corpus that nvcc compiled
 * of public code (sm_75 to sm_120a; scripts/ptx-registers.py makes the
 * comparison, results/ptx-registers has it): least median of the error's share.
 */
#include "ptx/analyse/flow/register_words.h"
#include "ptx/ir/opcodes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	FILE_REGISTERS = 65536, /* of an SM */
	THREAD_MAX = 255,
	THREAD_LEAST = 4,
	GRANULE = 8,      /* registers per thread are allocated in */
	EAGER_LIMIT = 36, /* words alive at once up to which loads are moved up */
	UNROLL_LIMIT = 32,
	UNROLL_MORE = 3,  /* rounds of a loop whose loads are under way beside the first */
	UNROLL_EXTRA = 4, /* their addresses */
	CALL_LEAST = 24   /* the calling convention's */
};
static const double ANY = 3.4, LONGER = 0.9, EAGER_SHARE = 0.76;
static const double MMA_SHARE = 0.29; /* more, where fragments have to be ready for the tensor cores */
/* ptxas' number as a share of the estimate: of nine in ten kernels of three corpora (results/ptx-registers). */
static const double RANGE_LEAST = 0.73, RANGE_MOST = 1.47;

struct work {
	const struct tcb_ptx_function *function;
	const struct tcb_ptx_liveness *liveness;
	struct tcb_ptx_reg_words of;
	uint32_t *alive;    /* by register: the walk in which it lives now */
	uint32_t *seen;     /* by word: the walk that counted its holders last */
	uint32_t *holders;  /* by word: registers that live in that walk and hold it */
	uint8_t *is_needed; /* by register: an address of a load that moves up is made of it */
	uint32_t walk;
	long words, dead;
	const struct tcb_ptx_ins *at;
	int found;
};

/* --- pressure of a block in some order --- */

static uint32_t *holders_of(struct work *w, uint32_t word)
{
	if (w->seen[word] != w->walk)
		w->holders[word] = 0;
	w->seen[word] = w->walk;
	return &w->holders[word];
}

static void set_alive(struct work *w, uint32_t reg, int alive)
{
	if ((w->alive[reg] == w->walk) == alive)
		return;
	w->alive[reg] = alive ? w->walk : 0;
	for (unsigned i = 0; i < tcb_ptx_reg_width(w->function, reg); i++) {
		const uint32_t word = w->of.word[(size_t)TCB_PTX_REG_WORDS * reg + i];
		if (word && alive && !(*holders_of(w, word))++)
			w->words += w->of.weight[word];
		else if (word && !alive && !--*holders_of(w, word))
			w->words -= w->of.weight[word];
	}
}

static void see_dead(void *ctx, uint32_t *reg, int is_def)
{
	struct work *w = ctx;

	if (!is_def || w->alive[*reg] == w->walk)
		return;
	for (unsigned i = 0; i < tcb_ptx_reg_width(w->function, *reg); i++) {
		const uint32_t word = w->of.word[(size_t)TCB_PTX_REG_WORDS * *reg + i];
		if (word && !*holders_of(w, word))
			w->dead += w->of.weight[word];
	}
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

/* Registers that INS needs inside: it becomes many instructions. */
static long inside(const struct tcb_ptx_ins *ins)
{
	const enum tcb_ptx_word type = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE);
	const int is_wide = tcb_ptx_is_type(type) && tcb_ptx_type_bits(type) == 64;
	const int is_float = tcb_ptx_is_type(type) && tcb_ptx_type_class(type) == TCB_PTX_CLASS_FLOAT;
	const int is_approximate = tcb_ptx_mod(ins, TCB_PTX_SLOT_APPROX) != TCB_PTX_NO_WORD;

	switch (ins->op) {
	case TCB_PTX_OP_DIV:
	case TCB_PTX_OP_REM:
		if (is_approximate)
			return 1;
		if (is_float)
			return is_wide ? 10 : 5;
		if (ins->operands[2].kind == TCB_PTX_O_INT)
			return 2;
		return is_wide ? 12 : 5;
	case TCB_PTX_OP_SQRT:
	case TCB_PTX_OP_RCP:
	case TCB_PTX_OP_RSQRT:
		if (is_approximate)
			return 0;
		return is_wide ? 8 : 3;
	default:
		return 0;
	}
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
		long now;
		w->at = order[count];
		w->dead = 0;
		tcb_ptx_each_reg(order[count], see_dead, w);
		now = w->words + w->dead + inside(order[count]);
		most = now > most ? now : most;
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
	const enum tcb_ptx_word space = tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE);

	return ins->op == TCB_PTX_OP_LD && (space == TCB_PTX_GLOBAL || space == TCB_PTX_NO_WORD);
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
	const enum tcb_ptx_word space = tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE);

	if (ins->op != TCB_PTX_OP_LD || space == TCB_PTX_PARAM || space == TCB_PTX_CONST)
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

/* The most words that live at once: in the order of the text, with loads moved up, and in loops that are unrolled. */
struct pressures {
	long in_order, eager, unrolled;
};

static void find_pressures(struct work *w, struct tcb_ptx_ins **order, struct tcb_ptx_ins **moved, uint8_t *is_early,
			   struct pressures *out)
{
	*out = (struct pressures){ 0 };
	for (uint32_t i = 0; i < w->function->reachable_count; i++) {
		const struct tcb_ptx_block *block = w->function->order[i];
		uint32_t count = 0;
		long now;

		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			order[count++] = ins;
		now = pressure_of(w, block, order, count);
		out->in_order = now > out->in_order ? now : out->in_order;
		const long rounds = unrolled_words(w, block);
		now += rounds * UNROLL_MORE + UNROLL_EXTRA;
		out->unrolled = rounds && now > out->unrolled ? now : out->unrolled;
		move_loads(w, order, count, moved, is_early);
		now = pressure_of(w, block, moved, count);
		out->eager = now > out->eager ? now : out->eager;
	}
}

static long estimate_of(const struct tcb_ptx_function *function, const struct pressures *p)
{
	const double in_order = (double)p->in_order, eager = fmin(EAGER_LIMIT, (double)p->eager);
	const double fragments = uses(function, TCB_PTX_OP_MMA) ? MMA_SHARE * in_order : 0;
	const double all = in_order + fragments + ANY + LONGER * log(function->ins_count + 1.0) +
			   EAGER_SHARE * fmax(0, eager - in_order);

	return lround(fmax(all, fmin(UNROLL_LIMIT, (double)p->unrolled + ANY)));
}

void tcb_ptx_register_range(const struct tcb_ptx_function *function, unsigned estimate, unsigned *least, unsigned *most)
{
	const unsigned limit = limit_of(function), high = (unsigned)lround(RANGE_MOST * estimate);

	*least = (unsigned)lround(RANGE_LEAST * estimate);
	*least = *least < THREAD_LEAST ? THREAD_LEAST : *least;
	*most = high < limit ? high : limit;
}

unsigned tcb_ptx_register_estimate(const struct tcb_ptx_function *function, const struct tcb_ptx_liveness *liveness,
				   unsigned sm)
{
	size_t regs = (size_t)function->reg_count + 1, longest = 1;
	struct work w = { .function = function, .liveness = liveness };
	struct tcb_ptx_ins **order, **moved;
	uint8_t *is_early;
	struct pressures pressures = { .in_order = liveness->pressure };
	long estimate;
	unsigned limit = limit_of(function);

	if (uses(function, TCB_PTX_OP_SETMAXNREG))
		return limit;
	for (uint32_t i = 0; i < function->reachable_count; i++) {
		size_t count = 0;

		for (const struct tcb_ptx_ins *ins = function->order[i]->first; ins; ins = ins->next)
			count++;
		longest = count > longest ? count : longest;
	}
	w.is_needed = calloc(regs, 1);
	w.alive = calloc(regs, sizeof *w.alive);
	order = calloc(longest, sizeof *order);
	moved = calloc(longest, sizeof *moved);
	is_early = calloc(longest, 1);
	if (w.is_needed && w.alive && order && moved && is_early && tcb_ptx_reg_words_init(function, sm, &w.of)) {
		w.seen = calloc(w.of.count, sizeof *w.seen);
		w.holders = calloc(w.of.count, sizeof *w.holders);
		if (w.seen && w.holders)
			find_pressures(&w, order, moved, is_early, &pressures);
		free(w.seen);
		free(w.holders);
		tcb_ptx_reg_words_fini(&w.of);
	}
	free(w.is_needed);
	free(w.alive);
	free(order);
	free(moved);
	free(is_early);
	estimate = estimate_of(function, &pressures);
	if (estimate < CALL_LEAST && uses(function, TCB_PTX_OP_CALL))
		estimate = CALL_LEAST;
	if (estimate < THREAD_LEAST)
		estimate = THREAD_LEAST;
	return estimate < (long)limit ? (unsigned)estimate : limit;
}
