/* SPDX-License-Identifier: MIT
 *
 * In: a function.  Out: counted loops (counted.h) whose body asks whether the
 * counter has passed some invariant s are made two, one for each answer, in
 * which the question is a constant:
 *
 *     which:  if (!(iv CMP s)) goto false          CMP: eq ne lt le gt ge,
 *     true:   body where iv CMP s                   signed or unsigned,
 *             iv += step                            iv on either side
 *             if (iv COMPARE bound && iv CMP s) goto true
 *             if (iv COMPARE bound) goto which
 *             goto after
 *     false:  body where not iv CMP s
 *             iv += step
 *             if (iv COMPARE bound && !(iv CMP s)) goto false
 *             if (iv COMPARE bound) goto which
 *     after:
 *
 * Nothing is assumed of the step, its sign, or overflow: each loop goes on
 * while its answer stays, and else asks again.  For iv < s with a step upwards
 * the second loop therefore begins at the split point aligned up,
 * lower + ceil((s - lower) / step) * step, without computing it.  Where CMP and
 * COMPARE are the same order, both conditions are one: iv < min(s, bound).
 *
 * It is done when a predicate of the question guards something and the body
 * touches memory, does matrix work, or has options->split_min_body
 * instructions.  Barriers, shuffles and matrix work must be met by all threads at
 * one place: with those in the body, counter, bound and s must be uniform.  A counter that is set at more
 * places than one before its loop is left alone; so is what this pass made.
 *
 */
#include "ptx/ir/integers.h"
#include "ptx/optimise/counted.h"
#include "ptx/optimise/passes.h"

#include <string.h>

enum {
	BODY_MAX = 2048, /* instructions: more would be copied than a compare saves */
	ROUNDS_MAX = 8   /* of the pass: a nest of loops is split from inside, one level a round */
};

/* iv CMP limit, as TYPE. */
struct question {
	enum tcb_ptx_word compare, type;
	struct tcb_ptx_operand limit;
};

/* Whether INS asks something of the counter before it is incremented. */
static int read_question(const struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_counted *c,
			 const struct tcb_ptx_ins *ins, struct question *out)
{
	enum tcb_ptx_class class = tcb_ptx_type_class(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE));

	if (ins->op != TCB_PTX_OP_SETP || ins->mod[TCB_PTX_SLOT_BOOL] || ins->operands[0].kind != TCB_PTX_O_REG ||
	    (class != TCB_PTX_CLASS_BITS && class != TCB_PTX_CLASS_UINT && class != TCB_PTX_CLASS_SINT) ||
	    (ins->block == c->latch && ins->number > c->increment->number) ||
	    !tcb_ptx_is_value(loops->function, ins->operands[0].reg))
		return 0;
	out->type = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE);
	if (class == TCB_PTX_CLASS_BITS)
		out->type = tcb_ptx_unsigned_of(out->type);
	out->compare = tcb_ptx_compare_plain(tcb_ptx_mod(ins, TCB_PTX_SLOT_COMPARE));
	for (unsigned i = 1; i <= 2; i++)
		if (ins->operands[i].kind == TCB_PTX_O_REG && ins->operands[i].reg == c->iv &&
		    tcb_ptx_is_invariant(loops, &ins->operands[3 - i])) {
			out->limit = ins->operands[3 - i];
			if (i == 2)
				out->compare = tcb_ptx_compare_swapped(out->compare);
			return 1;
		}
	return 0;
}

/* 1: A and B ask the same; -1: the opposite; 0: something else. */
static int relation(const struct question *a, const struct question *b)
{
	int is_order = a->compare != TCB_PTX_EQ && a->compare != TCB_PTX_NE;

	if (a->limit.kind != b->limit.kind || a->limit.reg != b->limit.reg || a->limit.bits != b->limit.bits ||
	    (is_order && a->type != b->type))
		return 0;
	return a->compare == b->compare ? 1 : a->compare == tcb_ptx_compare_inverse(b->compare) ? -1 : 0;
}

static int is_heavy(const struct tcb_ptx_ins *ins)
{
	return tcb_ptx_has(ins, TCB_PTX_F_READ | TCB_PTX_F_WRITE | TCB_PTX_F_CONVERGENT);
}

static int guards_something(const struct tcb_ptx_counted *c, uint32_t predicate)
{
	for (const struct tcb_ptx_block *block = c->header;; block = block->next) {
		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			if (ins->guard == predicate)
				return 1;
		if (block == c->latch)
			return 0;
	}
}

/* The first question that is worth it. */
static int find_question(const struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_counted *c, unsigned min_body,
			 struct question *out)
{
	int is_found = 0, heavy = c->ins_count >= min_body;

	for (const struct tcb_ptx_block *block = c->header;; block = block->next) {
		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
			struct question question;

			heavy |= is_heavy(ins);
			if (!is_found && read_question(loops, c, ins, &question) &&
			    guards_something(c, ins->operands[0].reg)) {
				*out = question;
				is_found = 1;
			}
		}
		if (block == c->latch)
			return is_found && heavy;
	}
}

/* --- making --- */

/* Each such question from FIRST to LAST gets its ANSWER (1 or 0); the originals stand beside in ORIGINAL. */
static enum tcb_status answer(struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_counted *c,
			      const struct question *asked, struct tcb_ptx_block *first, int is_true)
{
	struct tcb_ptx_block *original = c->header;

	for (struct tcb_ptx_block *block = first;; block = block->next, original = original->next) {
		struct tcb_ptx_ins *twin = original->first, *next, *next_twin;

		for (struct tcb_ptx_ins *ins = block->first; ins; ins = next, twin = next_twin) {
			struct question question;
			int same = read_question(loops, c, twin, &question) ? relation(&question, asked) : 0;

			next = ins->next;
			next_twin = twin->next;
			if (same)
				TCB_TRY(tcb_ptx_ins_become_mov(loops->function, ins,
							       tcb_ptx_operand_int((same > 0) == is_true), loops->err));
		}
		if (original == c->latch)
			return TCB_OK;
	}
}

static enum tcb_status compare_into(struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_counted *c,
				    struct tcb_ptx_block *block, enum tcb_ptx_word compare, enum tcb_ptx_word type,
				    struct tcb_ptx_operand limit, const struct tcb_ptx_operand *also, uint32_t *out)
{
	struct tcb_ptx_operand operands[4] = { { .kind = TCB_PTX_O_NONE }, tcb_ptx_operand_reg(c->iv), limit };
	char mnemonic[32] = "setp.";

	TCB_TRY(tcb_ptx_loops_reg(loops, TCB_PTX_PRED, out));
	operands[0] = tcb_ptx_operand_reg(*out);
	strcat(mnemonic, tcb_ptx_word_text(compare));
	if (also) {
		operands[3] = *also;
		strcat(mnemonic, ".and");
	}
	return tcb_ptx_loops_emit(loops, block, TCB_PTX_NO_REG, 0, mnemonic, type, also ? 4 : 3, operands);
}

/* The end of one of the two loops, whose blocks are FIRST to the block of BRANCH: back while the answer stays STAY, to
 * WHICH while there are rounds left, else to what comes behind the block that is made, which is returned. */
static enum tcb_status close_loop(struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_counted *c,
				  const struct question *asked, enum tcb_ptx_word stay,
				  const struct tcb_ptx_operand *merged, struct tcb_ptx_block *first,
				  struct tcb_ptx_ins *test, struct tcb_ptx_ins *branch, struct tcb_ptx_block *which,
				  struct tcb_ptx_block **out)
{
	struct tcb_ptx_block *latch = branch->block;
	struct tcb_ptx_operand more = tcb_ptx_operand_reg(branch->guard);
	int negated = branch->guard_negated;
	uint32_t again;

	*out = tcb_ptx_loops_block(loops, latch);
	if (!*out)
		return TCB_E_NOMEM;
	more.negated = (uint8_t)negated;
	tcb_ptx_ins_remove(branch);
	if (merged) { /* iv < min(s, bound): the loop's own test is asked on leaving only */
		tcb_ptx_ins_remove(test);
		tcb_ptx_ins_append(*out, test);
		TCB_TRY(compare_into(loops, c, latch, stay, c->type, *merged, NULL, &again));
	} else {
		TCB_TRY(compare_into(loops, c, latch, stay, asked->type, asked->limit, &more, &again));
	}
	TCB_TRY(tcb_ptx_loops_branch(loops, latch, again, 0, first));
	return tcb_ptx_loops_branch(loops, *out, more.reg, negated, which);
}

/* min(s, bound) or max, where both loops' conditions are of one order; NULL else.  Nobody else may read the test. */
static enum tcb_status merge_limits(struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_counted *c,
				    const struct question *asked, enum tcb_ptx_word stay, struct tcb_ptx_block *which,
				    struct tcb_ptx_operand *merged, int *is_merged)
{
	int is_less = stay == TCB_PTX_LT || stay == TCB_PTX_LE;
	struct tcb_ptx_operand operands[3] = { { .kind = TCB_PTX_O_NONE }, asked->limit, c->bound };
	const struct tcb_ptx_reg *tested = &loops->function->regs[c->test->operands[0].reg];
	uint32_t reg;

	*is_merged = stay == c->compare && asked->type == c->type && stay != TCB_PTX_EQ && stay != TCB_PTX_NE &&
		     tested->uses == 1 && tested->defs == 1;
	if (!*is_merged)
		return TCB_OK;
	TCB_TRY(tcb_ptx_loops_reg(loops, loops->function->regs[c->iv].type, &reg));
	*merged = operands[0] = tcb_ptx_operand_reg(reg);
	return tcb_ptx_loops_emit(loops, which, TCB_PTX_NO_REG, 0, is_less ? "min" : "max", c->type, 3, operands);
}

static enum tcb_status split(struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_counted *c,
			     const struct question *asked)
{
	enum tcb_ptx_word opposite = tcb_ptx_compare_inverse(asked->compare);
	struct tcb_ptx_block *which = tcb_ptx_loops_block(loops, c->header->prev), *left, *after = c->latch->next;
	struct tcb_ptx_operand merged_true, merged_false;
	int has_true, has_false;
	struct tcb_ptx_loop_copy copy;
	uint32_t holds;

	if (!which)
		return TCB_E_NOMEM;
	TCB_TRY(tcb_ptx_loop_enter_at(loops, c, which));
	TCB_TRY(merge_limits(loops, c, asked, asked->compare, which, &merged_true, &has_true));
	TCB_TRY(merge_limits(loops, c, asked, opposite, which, &merged_false, &has_false));
	TCB_TRY(compare_into(loops, c, which, asked->compare, asked->type, asked->limit, NULL, &holds));
	TCB_TRY(tcb_ptx_loops_branch(loops, which, holds, 1, c->header));
	TCB_TRY(tcb_ptx_loop_copy(loops, c, which, &copy));
	TCB_TRY(answer(loops, c, asked, copy.first, 1));
	TCB_TRY(answer(loops, c, asked, c->header, 0));
	TCB_TRY(close_loop(loops, c, asked, asked->compare, has_true ? &merged_true : NULL, copy.first, copy.test,
			   copy.branch, which, &left));
	left = tcb_ptx_loops_block(loops, left);
	if (!left)
		return TCB_E_NOMEM;
	TCB_TRY(tcb_ptx_loops_branch(loops, left, TCB_PTX_NO_REG, 0, after));
	return close_loop(loops, c, asked, opposite, has_false ? &merged_false : NULL, c->header, c->test, c->branch,
			  which, &left);
}

enum tcb_status tcb_ptx_loop_split(struct tcb_ptx_function *function, const struct tcb_ptx_pass_options *options,
				   unsigned *changed_out, struct tcb_error *err)
{
	enum tcb_status status = TCB_OK;
	int again = 1;

	*changed_out = 0;
	for (unsigned round = 0; round < ROUNDS_MAX && again && status == TCB_OK; round++) {
		struct tcb_ptx_loop_pass loops;
		struct tcb_ptx_counted counted;
		struct question question;

		status = tcb_ptx_loops_begin(function, &loops, err);
		for (uint32_t i = 0; i < loops.loop_count && status == TCB_OK; i++) {
			if (!tcb_ptx_counted(&loops, loops.inner_first[i], &counted) || counted.ins_count > BODY_MAX ||
			    function->regs[counted.iv].defs != 2 ||
			    !find_question(&loops, &counted, options->split_min_body, &question) ||
			    !tcb_ptx_is_agreed(&loops, &counted, &question.limit))
				continue;
			tcb_ptx_loops_touch(&loops, &counted);
			*changed_out += counted.ins_count;
			status = split(&loops, &counted, &question);
		}
		again = loops.again;
		tcb_ptx_loops_end(&loops);
	}
	return status;
}
