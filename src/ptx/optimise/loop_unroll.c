/* SPDX-License-Identifier: MIT
 *
 * In: a function.  Out: innermost counted loops (counted.h) unrolled, as far as
 * options->unroll_limit instructions go.
 *
 * Where begin, step and bound are constants and all rounds fit, nothing of the
 * loop remains.  Else, with a constant step, U rounds become one, for the
 * largest power of two U up to UNROLL_MAX that fits:
 *
 *     enter:  if (fewer than U rounds are left) goto header
 *     main:   U bodies
 *             if (!(iv COMPARE bound)) goto after
 *             if (U or more are left) goto main
 *     header: the loop as it was, for the rest
 *     after:
 *
 * U rounds are left when iv COMPARE bound holds and the distance |bound - iv|,
 * exact as an unsigned number then, exceeds (U-1)*|step| (reaches it, for le
 * and ge); so nothing is computed that could overflow, and rounds that the
 * original would do after its counter wrapped are done by the original.  ne is
 * taken with a step of 1 or -1.  Of loops with barriers, shuffles or matrix work
 * counter and bound must be uniform, or threads would meet at different copies.
 *
 * Both loops get .pragma "nounroll", which this pass and ptxas obey.
 */
#include "ptx/ir/integers.h"
#include "ptx/optimise/counted.h"
#include "ptx/optimise/passes.h"

#include <stdlib.h>
#include <string.h>

enum {
	UNROLL_MAX = 8,
	ROUNDS_MAX = 8,   /* of the pass: a nest of loops unrolls from inside, one level a round */
	SEARCH_BLOCKS = 4 /* above the loop, for where its counter begins */
};

static const char nounroll[] = "nounroll";

static int is_kept(const struct tcb_ptx_block *header)
{
	for (const struct tcb_ptx_ins *ins = header->first; ins && ins->op == TCB_PTX_OP_PRAGMA; ins = ins->next)
		if (strcmp(ins->operands[0].text, nounroll) == 0)
			return 1;
	return 0;
}

static enum tcb_status keep(struct tcb_ptx_loop_pass *loops, struct tcb_ptx_block *header)
{
	struct tcb_ptx_operand text = { .kind = TCB_PTX_O_TEXT, .reg = TCB_PTX_NO_REG, .text = nounroll };
	struct tcb_ptx_ins *pragma = tcb_ptx_ins_like(loops->function, NULL, ".pragma", 1, &text, loops->err);

	if (!pragma)
		return TCB_E_NOMEM;
	if (header->first)
		tcb_ptx_ins_before(header->first, pragma);
	else
		tcb_ptx_ins_append(header, pragma);
	return TCB_OK;
}

/* --- constant bounds --- */

static int writes(struct tcb_ptx_ins *ins, uint32_t reg)
{
	return tcb_ptx_result_reg(ins) == reg;
}

/* The constant that the counter holds whenever the loop is entered: a mov right above, in the same surrounding loop,
 * that is its only write but for the increment. */
static int find_begin(const struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_counted *c, uint64_t *begin)
{
	struct tcb_ptx_block *block = loops->scope.dominators.idom[c->header->number];

	if (loops->function->regs[c->iv].defs != 2)
		return 0;
	for (unsigned i = 0; block && i < SEARCH_BLOCKS; i++) {
		if (block->loop != c->loop->parent)
			return 0;
		for (struct tcb_ptx_ins *ins = block->last; ins; ins = ins->prev)
			if (writes(ins, c->iv)) {
				*begin = ins->operands[1].bits;
				return ins->op == TCB_PTX_OP_MOV && ins->guard == TCB_PTX_NO_REG &&
				       ins->operands[1].kind == TCB_PTX_O_INT;
			}
		block = loops->scope.dominators.idom[block->number];
	}
	return 0;
}

static uint64_t extended(uint64_t value, unsigned bits, int is_signed)
{
	uint64_t high = value << (64 - bits);

	return is_signed ? (uint64_t)((int64_t)high >> (64 - bits)) : high >> (64 - bits);
}

/* How often the body runs, up to MOST; 0 when that is unknown or more. */
static unsigned known_rounds(const struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_counted *c, unsigned most)
{
	unsigned bits = tcb_ptx_type_bits(c->type);
	int is_signed = tcb_ptx_type_class(c->type) == TCB_PTX_CLASS_SINT;
	uint64_t iv, bound = extended(c->bound.bits, bits, is_signed);

	if (!c->has_step || c->bound.kind != TCB_PTX_O_INT || !find_begin(loops, c, &iv))
		return 0;
	for (unsigned rounds = 1; rounds <= most; rounds++) {
		iv = extended(iv + (uint64_t)c->step, bits, is_signed);
		if (!tcb_ptx_compare(c->compare, iv, bound, 64, is_signed))
			return rounds;
	}
	return 0;
}

/* ROUNDS - 1 copies before the loop, none of which goes back. */
static enum tcb_status unroll_whole(struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_counted *c, unsigned rounds)
{
	struct tcb_ptx_loop_copy copy;

	for (unsigned i = 1; i < rounds; i++) {
		TCB_TRY(tcb_ptx_loop_copy(loops, c, c->header->prev, &copy));
		tcb_ptx_ins_remove(copy.branch);
		if (i == 1)
			TCB_TRY(tcb_ptx_loop_enter_at(loops, c, copy.first));
	}
	tcb_ptx_ins_remove(c->branch);
	return TCB_OK;
}

/* --- others --- */

/* Counts towards the bound by a known step: then |bound - iv| says how many rounds are left. */
static int is_measurable(const struct tcb_ptx_counted *c)
{
	if (!c->has_step)
		return 0;
	switch ((int)c->compare) {
	case TCB_PTX_LT:
	case TCB_PTX_LE:
		return c->step > 0;
	case TCB_PTX_GT:
	case TCB_PTX_GE:
		return c->step < 0;
	case TCB_PTX_NE:
		return c->step == 1 || c->step == -1;
	}
	return 0;
}

/* Appends the test whether UNROLL rounds or more are left; SURE when iv COMPARE bound is known to hold. */
static enum tcb_status ask_rounds(struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_counted *c, unsigned unroll,
				  int sure, struct tcb_ptx_block *block, uint32_t *answer)
{
	enum tcb_ptx_word wide = tcb_ptx_unsigned_of(c->type);
	uint64_t stride = c->step < 0 ? 0 - (uint64_t)c->step : (uint64_t)c->step;
	int strict = c->compare != TCB_PTX_LE && c->compare != TCB_PTX_GE;
	struct tcb_ptx_operand iv = tcb_ptx_operand_reg(c->iv), distance[3] = { iv, c->bound, iv };
	struct tcb_ptx_operand enough[4], more[3];
	char mnemonic[32] = "setp.";
	uint32_t reg;

	TCB_TRY(tcb_ptx_loops_reg(loops, loops->function->regs[c->iv].type, &reg));
	TCB_TRY(tcb_ptx_loops_reg(loops, TCB_PTX_PRED, answer));
	distance[0] = tcb_ptx_operand_reg(reg);
	if (c->step < 0) {
		distance[1] = iv;
		distance[2] = c->bound;
	}
	TCB_TRY(tcb_ptx_loops_emit(loops, block, TCB_PTX_NO_REG, 0, "sub", wide, 3, distance));
	enough[0] = tcb_ptx_operand_reg(*answer);
	enough[1] = distance[0];
	enough[2] = tcb_ptx_operand_int((unroll - 1) * stride);
	if (sure || c->compare == TCB_PTX_NE) /* the distance 0 is not enough */
		return tcb_ptx_loops_emit(loops, block, TCB_PTX_NO_REG, 0, strict ? "setp.gt" : "setp.ge", wide, 3,
					  enough);
	TCB_TRY(tcb_ptx_loops_reg(loops, TCB_PTX_PRED, &reg));
	more[0] = enough[3] = tcb_ptx_operand_reg(reg);
	more[1] = iv;
	more[2] = c->bound;
	strcat(mnemonic, tcb_ptx_word_text(c->compare));
	TCB_TRY(tcb_ptx_loops_emit(loops, block, TCB_PTX_NO_REG, 0, mnemonic, c->type, 3, more));
	return tcb_ptx_loops_emit(loops, block, TCB_PTX_NO_REG, 0, strict ? "setp.gt.and" : "setp.ge.and", wide, 4,
				  enough);
}

static enum tcb_status unroll_part(struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_counted *c, unsigned unroll)
{
	struct tcb_ptx_block *enter = tcb_ptx_loops_block(loops, c->header->prev), *main = NULL, *again;
	struct tcb_ptx_loop_copy copy;
	uint32_t enough;

	if (!enter)
		return TCB_E_NOMEM;
	TCB_TRY(tcb_ptx_loop_enter_at(loops, c, enter));
	TCB_TRY(ask_rounds(loops, c, unroll, 0, enter, &enough));
	TCB_TRY(tcb_ptx_loops_branch(loops, enter, enough, 1, c->header));
	for (unsigned i = 0; i < unroll; i++) {
		TCB_TRY(tcb_ptx_loop_copy(loops, c, c->header->prev, &copy));
		if (!main)
			main = copy.first;
		if (i + 1 < unroll)
			tcb_ptx_ins_remove(copy.branch);
	}
	copy.branch->guard_negated = !copy.branch->guard_negated;
	TCB_TRY(tcb_ptx_loops_lead(loops, copy.branch, c->latch->next));
	again = tcb_ptx_loops_block(loops, copy.last);
	if (!again)
		return TCB_E_NOMEM;
	TCB_TRY(ask_rounds(loops, c, unroll, 1, again, &enough));
	TCB_TRY(tcb_ptx_loops_branch(loops, again, enough, 0, main));
	TCB_TRY(keep(loops, main));
	return keep(loops, c->header);
}

/* The largest power of two that fits; 0 or 1: none. */
static unsigned part_of(const struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_counted *c, unsigned limit)
{
	uint64_t stride = c->step < 0 ? 0 - (uint64_t)c->step : (uint64_t)c->step;
	unsigned unroll = UNROLL_MAX;

	if (!is_measurable(c) || !tcb_ptx_is_agreed(loops, c, NULL) || stride >> (tcb_ptx_type_bits(c->type) - 4))
		return 0;
	while (unroll > 1 && (uint64_t)unroll * c->ins_count > limit)
		unroll /= 2;
	return unroll;
}

static enum tcb_status unroll(struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_counted *c, unsigned limit,
			      unsigned *changed)
{
	unsigned rounds = known_rounds(loops, c, limit / (c->ins_count ? c->ins_count : 1)), part;

	if (rounds) {
		tcb_ptx_loops_touch(loops, c);
		*changed += rounds * c->ins_count;
		loops->again |= c->loop->parent != NULL; /* which may be an innermost one now */
		return unroll_whole(loops, c, rounds);
	}
	part = part_of(loops, c, limit);
	if (part < 2)
		return TCB_OK;
	tcb_ptx_loops_touch(loops, c);
	*changed += part * c->ins_count;
	return unroll_part(loops, c, part);
}

enum tcb_status tcb_ptx_loop_unroll(struct tcb_ptx_function *function, const struct tcb_ptx_pass_options *options,
				    unsigned *changed_out, struct tcb_error *err)
{
	enum tcb_status status = TCB_OK;
	int again = 1;

	*changed_out = 0;
	for (unsigned round = 0; round < ROUNDS_MAX && again && options->unroll_limit && status == TCB_OK; round++) {
		struct tcb_ptx_loop_pass loops;
		struct tcb_ptx_counted counted;

		status = tcb_ptx_loops_begin(function, &loops, err);
		for (uint32_t i = 0; i < loops.loop_count && status == TCB_OK; i++)
			if (!is_kept(loops.inner_first[i]->header) &&
			    tcb_ptx_counted(&loops, loops.inner_first[i], &counted) && counted.is_innermost)
				status = unroll(&loops, &counted, options->unroll_limit, changed_out);
		again = loops.again;
		tcb_ptx_loops_end(&loops);
	}
	return status;
}
