/* SPDX-License-Identifier: MIT
 *
 * Counted loops, as the builder's tcb_ptx_for and nvcc make them: recognised,
 * and copied.  For the passes that change loops.
 *
 *     header:  ...                      blocks that stand together in the text,
 *     latch:   ...                      entered at the header only
 *              add  iv, iv, step        the only write of iv in the loop
 *              setp q, iv, bound
 *              @q bra header            else control falls out of the loop
 */
#ifndef TCB_PTX_COUNTED_H
#define TCB_PTX_COUNTED_H

#include "ptx/analyse/flow/rewrite.h"

/* One pass over the loops of one function: facts that hold until the next tcb_ptx_loops_begin. */
struct tcb_ptx_loop_pass {
	struct tcb_ptx_function *function;
	struct tcb_ptx_scope scope;
	struct tcb_ptx_loop **inner_first;
	uint32_t loop_count;
	uint8_t *is_stale; /* by number of the header: something inside was changed */
	struct tcb_ptx_range_reg {
		uint32_t loop;       /* 1 + number of the header of the loop that the next two are about */
		uint32_t defs, uses; /* inside it */
		uint32_t unsettled;  /* uses that another definition might reach */
		uint32_t copy;       /* while copying: 1 + the register that takes its place; 0: itself */
	} * regs;
	uint32_t reg_count;
	unsigned next_label;
	struct tcb_ptx_uniformity uniformity; /* where a loop has convergent instructions, else NULLs */
	int again;                            /* some loop was passed over because of a change nearby */
	struct tcb_error *err;
};

struct tcb_ptx_counted {
	struct tcb_ptx_loop *loop;
	struct tcb_ptx_block *header, *latch;
	uint32_t ins_count;
	int is_innermost;
	int is_convergent;            /* has barriers, shuffles, matrix work or calls: */
	enum tcb_ptx_variance agreed; /* its threads must all agree which copy they run; VARYING when they need not */
	uint32_t iv;
	struct tcb_ptx_ins *increment, *test, *branch;
	int has_step; /* the step is a constant */
	int64_t step;
	struct tcb_ptx_operand bound; /* constant, or a register that the loop does not write */
	enum tcb_ptx_word type;       /* of the comparison: u or s */
	enum tcb_ptx_word compare;    /* eq ne lt le gt ge: iv COMPARE bound means once more */
};

/* A copy of a loop's blocks, standing together; its branches inside lead inside, the last one to the original header.
 */
struct tcb_ptx_loop_copy {
	struct tcb_ptx_block *first, *last;
	struct tcb_ptx_ins *test, *branch; /* those of the loop */
};

/* Computes everything again; call end whatever the status. */
enum tcb_status tcb_ptx_loops_begin(struct tcb_ptx_function *function, struct tcb_ptx_loop_pass *out,
				    struct tcb_error *err);
void tcb_ptx_loops_end(struct tcb_ptx_loop_pass *loops);
/* 1 when LOOP is one, and nothing inside or leading to it was changed yet. */
int tcb_ptx_counted(struct tcb_ptx_loop_pass *loops, struct tcb_ptx_loop *loop, struct tcb_ptx_counted *out);
/* OPERAND, read in the loop that was recognised last, is a constant or a register that it does not write. */
int tcb_ptx_is_invariant(const struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_operand *operand);
/* Whether threads that must run a copy of the loop together do so when what they run depends on counter, bound and
 * LIMIT (NULL: nothing more). */
int tcb_ptx_is_agreed(const struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_counted *counted,
		      const struct tcb_ptx_operand *limit);
enum tcb_ptx_word tcb_ptx_unsigned_of(enum tcb_ptx_word type);

/* --- changing (call tcb_ptx_loops_touch with each loop that is) --- */

void tcb_ptx_loops_touch(struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_counted *counted);
/* Copies the loop behind AFTER (the front when NULL).  Registers that live within one iteration get new ones. */
enum tcb_status tcb_ptx_loop_copy(struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_counted *counted,
				  struct tcb_ptx_block *after, struct tcb_ptx_loop_copy *out);
/* All branches from outside the loop to its header lead to ENTRY. */
enum tcb_status tcb_ptx_loop_enter_at(struct tcb_ptx_loop_pass *loops, const struct tcb_ptx_counted *counted,
				      struct tcb_ptx_block *entry);
/* A block behind AFTER (at the front when NULL). */
struct tcb_ptx_block *tcb_ptx_loops_block(struct tcb_ptx_loop_pass *loops, struct tcb_ptx_block *after);
/* Appends MNEMONIC.TYPE to BLOCK (TYPE may be NO_WORD), with COUNT operands; the guard is NO_REG for none. */
enum tcb_status tcb_ptx_loops_emit(struct tcb_ptx_loop_pass *loops, struct tcb_ptx_block *block, uint32_t guard,
				   int guard_negated, const char *mnemonic, enum tcb_ptx_word type, unsigned count,
				   const struct tcb_ptx_operand *operands);
/* A branch to TO, which gets a label if it has none. */
enum tcb_status tcb_ptx_loops_branch(struct tcb_ptx_loop_pass *loops, struct tcb_ptx_block *block, uint32_t guard,
				     int guard_negated, struct tcb_ptx_block *to);
/* BRANCH leads to TO now. */
enum tcb_status tcb_ptx_loops_lead(struct tcb_ptx_loop_pass *loops, struct tcb_ptx_ins *branch,
				   struct tcb_ptx_block *to);
enum tcb_status tcb_ptx_loops_reg(struct tcb_ptx_loop_pass *loops, enum tcb_ptx_word type, uint32_t *out);

#endif
