/* SPDX-License-Identifier: MIT
 *
 * Each thread has its own begin, bound, step and limit, so that one kernel tries
 * many loops.  A loop's result is a hash of its counter and of its answers, in
 * their order; how often the answer was yes; the rounds; and the last counter.
 */
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "ptx/ir/opcodes.h"
#include "verify/measure_split.h"

struct result {
	uint64_t hash, held, rounds, last;
};

/* --- the loop in C --- */

static uint64_t narrow(uint64_t value, unsigned bits)
{
	return bits == 64 ? value : value & ((1ULL << bits) - 1);
}

static int compare(const char *word, char type, unsigned bits, uint64_t a, uint64_t b)
{
	/* In the order of unsigned numbers once the sign is turned round. */
	const uint64_t sign = type == 's' ? 1ULL << (bits - 1) : 0;
	const uint64_t x = narrow(a, bits) ^ sign, y = narrow(b, bits) ^ sign;
	if (!strcmp(word, "eq") || !strcmp(word, "ne"))
		return (x == y) == (word[0] == 'e');
	const int is_less = word[0] == 'l', has_equal = word[1] == 'e';
	return (is_less ? x < y : x > y) || (has_equal && x == y);
}

static struct result run_in_c(const struct tcb_split_loop *loop, const struct tcb_split_case *one)
{
	struct result r = { .hash = 1 };
	uint64_t iv = narrow(one->begin, loop->bits);
	do {
		const int holds = loop->is_swapped ? compare(loop->question, loop->type, loop->bits, one->limit, iv)
						   : compare(loop->question, loop->type, loop->bits, iv, one->limit);
		r.hash = r.hash * (holds ? 5 : 3) + iv;
		r.held += (unsigned)holds;
		r.last = iv;
		if (++r.rounds >= TCB_SPLIT_ROUNDS)
			break;
		iv = narrow(iv + one->step, loop->bits);
	} while (compare(loop->again, loop->type, loop->bits, iv, one->bound));
	return r;
}

/* --- the loop in PTX --- */

static const char *registers_of(unsigned bits)
{
	return bits == 16 ? "rs" : bits == 32 ? "r" : "rd";
}

/* Counter, bound, step and limit are registers 20 to 23 of the loop's size. */
static void add_head(const struct tcb_split_loop *loop, enum tcb_split_defect defect, struct tcb_str *text)
{
	const char *reg = registers_of(loop->bits);
	tcb_str_add(text, "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 32;\nld.param.u64 %rd1, [cases];\n"
			  "ld.param.u64 %rd2, [out];\nadd.s64 %rd1, %rd1, %rd3;\nadd.s64 %rd2, %rd2, %rd3;\n");
	for (unsigned i = 0; i < 4; i++) {
		tcb_str_addf(text, "ld.global.u64 %%rd%u, [%%rd1+%u];\n", 4 + i, 8 * i);
		if (loop->bits == 64)
			tcb_str_addf(text, "mov.u64 %%rd%u, %%rd%u;\n", 20 + i, 4 + i);
		else
			tcb_str_addf(text, "cvt.u%u.u64 %%%s%u, %%rd%u;\n", loop->bits, reg, 20 + i, 4 + i);
	}
	if (defect == TCB_SPLIT_LIMIT_OFF_BY_ONE)
		tcb_str_addf(text, "add.u%u %%%s23, %%%s23, 1;\n", loop->bits, reg, reg);
	if (defect == TCB_SPLIT_LIMIT_WRAPS)
		tcb_str_addf(text, "sub.u%u %%%s23, %%%s23, %%%s22;\n", loop->bits, reg, reg, reg);
	tcb_str_add(text, "mov.u64 %rd8, 1;\nmov.u64 %rd9, 0;\nmov.u64 %rd10, 0;\n");
}

static void add_loop(const struct tcb_split_loop *loop, struct tcb_str *text)
{
	const char *reg = registers_of(loop->bits);
	tcb_str_addf(text, "loop:\nsetp.%s.%c%u %%p1, %%%s%u, %%%s%u;\n", loop->question, loop->type, loop->bits, reg,
		     loop->is_swapped ? 23 : 20, reg, loop->is_swapped ? 20 : 23);
	if (loop->bits == 64)
		tcb_str_add(text, "mov.u64 %rd11, %rd20;\n");
	else
		tcb_str_addf(text, "cvt.u64.u%u %%rd11, %%%s20;\n", loop->bits, reg);
	tcb_str_add(text, loop->has_branches
				  ? "@%p1 bra then;\nmad.lo.u64 %rd8, %rd8, 3, %rd11;\nbra join;\n"
				    "then:\nmad.lo.u64 %rd8, %rd8, 5, %rd11;\nadd.u64 %rd10, %rd10, 1;\njoin:\n"
				  : "mad.lo.u64 %rd12, %rd8, 3, %rd11;\n@%p1 mad.lo.u64 %rd12, %rd8, 5, %rd11;\n"
				    "mov.u64 %rd8, %rd12;\n@%p1 add.u64 %rd10, %rd10, 1;\n");
	tcb_str_addf(text,
		     "st.global.u64 [%%rd2+24], %%rd11;\nadd.u64 %%rd9, %%rd9, 1;\nsetp.ge.u64 %%p2, %%rd9, %d;\n"
		     "@%%p2 bra done;\nadd.%c%u %%%s20, %%%s20, %%%s22;\nsetp.%s.%c%u %%p3, %%%s20, %%%s21;\n"
		     "@%%p3 bra loop;\ndone:\n",
		     TCB_SPLIT_ROUNDS, loop->type, loop->bits, reg, reg, reg, loop->again, loop->type, loop->bits, reg,
		     reg);
	tcb_str_add(text, "st.global.u64 [%rd2], %rd8;\nst.global.u64 [%rd2+8], %rd10;\nst.global.u64 [%rd2+16], "
			  "%rd9;\n");
}

static struct tcb_ptx_ins *next_answer(struct tcb_ptx_function *kernel, unsigned *skip)
{
	for (struct tcb_ptx_block *block = kernel->first; block; block = block->next)
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			if (ins->op == TCB_PTX_OP_MOV && ins->operands[0].kind == TCB_PTX_O_REG &&
			    kernel->regs[ins->operands[0].reg].type == TCB_PTX_PRED && (*skip)-- == 0)
				return ins;
	return NULL;
}

unsigned tcb_split_answers(const struct tcb_specimen *specimen)
{
	unsigned count = 0, skip = 0;
	while (next_answer(specimen->kernel, &skip))
		skip = ++count;
	return count;
}

/* RESULTS of the loop after the pass, or as it is. */
static int run_in_emulator(const struct tcb_split_loop *loop, const struct tcb_split_case *cases, int is_split,
			   enum tcb_split_defect defect, struct result results[TCB_SPLIT_CASES], unsigned *changed,
			   struct tcb_finding *out)
{
	struct tcb_specimen specimen;
	struct tcb_specimen_run run = {
		.arguments = { "buf:u64[512]=zero", "buf:u64[512]=zero" },
		.data = { cases },
		.grid = 1,
		.block = TCB_SPLIT_CASES,
	};
	struct tcb_str text = { 0 };
	unsigned first = 0;
	_Static_assert(TCB_SPLIT_CASES * sizeof *cases == 512 * 8, "as the arguments say");
	_Static_assert(sizeof *cases == sizeof *results, "four numbers each");
	add_head(loop, defect, &text);
	add_loop(loop, &text);
	int is_run = !text.failed && tcb_specimen_open(&specimen, ".param .u64 cases, .param .u64 out", text.data, out);
	if (text.failed)
		tcb_found_nothing(out, "out of memory");
	tcb_str_fini(&text);
	if (!is_run)
		return 0;
	is_run = !is_split || tcb_specimen_pass(&specimen, "loop_split", changed, out);
	if (is_run && defect == TCB_SPLIT_ANSWER_TURNED) {
		struct tcb_ptx_ins *answer = next_answer(specimen.kernel, &first);
		if (answer)
			answer->operands[1].bits ^= 1;
	}
	is_run = is_run && tcb_specimen_run(&specimen, &run, out);
	if (is_run)
		memcpy(results, tcb_specimen_buffer(&specimen, 1), TCB_SPLIT_CASES * sizeof *results);
	tcb_specimen_close(&specimen);
	return is_run;
}

int tcb_split_measure(const struct tcb_split_loop *loop, const struct tcb_split_case cases[TCB_SPLIT_CASES],
		      enum tcb_split_against against, enum tcb_split_defect defect, struct tcb_split_sum *sum,
		      struct tcb_finding *out)
{
	static struct result want[TCB_SPLIT_CASES], got[TCB_SPLIT_CASES];
	unsigned changed = 0;
	if (against == TCB_SPLIT_AGAINST_C)
		for (unsigned t = 0; t < TCB_SPLIT_CASES; t++)
			want[t] = run_in_c(loop, &cases[t]);
	else if (!run_in_emulator(loop, cases, 0, TCB_SPLIT_SOUND, want, &changed, out))
		return 0;
	if (!run_in_emulator(loop, cases, 1, defect, got, &changed, out))
		return 0;
	sum->kernels++;
	sum->unsplit += changed == 0;
	for (unsigned t = 0; t < TCB_SPLIT_CASES; t++, sum->loops++)
		sum->wrong += memcmp(&want[t], &got[t], sizeof want[t]) != 0;
	return 1;
}
