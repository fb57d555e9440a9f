/* SPDX-License-Identifier: MIT
 *
 * Barrier safety: kernels with the findings marked in the text, right ones
 * beside wrong ones (seed 002, items 101 to 106 and 112 to 115); what nvcc
 * wrote, without a finding; and mutants of it, all caught.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ir/opcodes.h"

#include "ptx/findings.h"
#include "ptx/random_cfg.h"

/* BODY in a kernel: %r1 is tid.x, %r0 the parameter n, %p1 tid.x < n, %p2 tid.x < 32, %p3 a condition about the block.
 */
static void check(const char *directives, const char *body)
{
	struct tcb_str text = { 0 };

	tcb_str_addf(&text,
		     ".version 8.0\n.target sm_90a\n.address_size 64\n"
		     ".visible .entry k(.param .u64 out, .param .u32 n)\n%s\n{\n"
		     "\t.reg .b32 %%r<30>;\n\t.reg .b64 %%rd<9>;\n\t.reg .f32 %%f<9>;\n\t.reg .pred %%p<9>;\n"
		     "\t.shared .align 16 .b8 s[2048];\n\tld.param.u64 %%rd0, [out];\n\tld.param.u32 %%r0, [n];\n"
		     "\tmov.u32 %%r1, %%tid.x;\n\tmov.u32 %%r2, %%ctaid.x;\n\tsetp.lt.u32 %%p1, %%r1, %%r0;\n"
		     "\tsetp.lt.u32 %%p2, %%r1, 32;\n\tsetp.lt.u32 %%p3, %%r2, %%r0;\n%s}\n",
		     directives, body);
	check_marks(text.data);
	tcb_str_fini(&text);
}

#define TAIL "\tst.global.u32 [%rd0], %r1;\n\tret;\n"

static void barriers_in_branches(void **state)
{
	(void)state;
	check("", "\tbar.sync 0;\n" TAIL);
	check("", "\t@%p1 bra A;\n\tbar.sync 0; // ! barrier-divergent\nA:\n" TAIL);
	check("", "\t@%p3 bra A;\n\tbar.sync 0;\nA:\n" TAIL);
	check("", "\t@%p1 bra A;\n\tst.shared.u32 [s], %r1;\nA:\n\tbar.sync 0;\n" TAIL);
	/* both ways have one: of two warps that is one barrier, within a warp it is not */
	check("", "\t@%p1 bra A;\n\tbar.sync 0; // ! barrier-divergent\n\tbra B;\nA:\n"
		  "\tbar.sync 0; // ! barrier-divergent\nB:\n" TAIL);
	check("", "\t@%p2 bra A;\n\tbar.sync 0;\n\tbra B;\nA:\n\tbar.sync 0;\nB:\n" TAIL);
	check("", "\t@%p2 bra A;\n\tbar.sync 0; // ! barrier-divergent\nA:\n" TAIL);
	check("", "\t@%p2 bra A;\n\tbar.sync 0; // ! barrier-divergent\n\tbra B;\nA:\n"
		  "\tbar.sync 1; // ! barrier-divergent\nB:\n" TAIL);
	check("", "\t@%p2 bra A;\n\tbar.sync 0; // ! barrier-divergent\n\tbar.sync 0;\n\tbra B;\nA:\n"
		  "\tbar.sync 0; // ! barrier-divergent\nB:\n" TAIL);
	/* an inner condition of the block on one way only */
	check("", "\t@%p2 bra A;\n\t@%p3 bra B;\n\tbar.sync 0; // ! barrier-divergent\n\tbra B;\nA:\n"
		  "\tst.shared.u32 [s], %r1;\nB:\n" TAIL);
	/* barriers that need not be aligned may stand on both ways also within a warp */
	check("", "\t@%p1 bra A;\n\tbarrier.sync 0;\n\tbra B;\nA:\n\tbarrier.sync 0;\nB:\n" TAIL);
	check("", "\t@%p1 bra A;\n\tbarrier.sync 0; // ! barrier-divergent\nA:\n" TAIL);
	check("", "\t@%p1 bra A;\n\tbarrier.sync.aligned 0; // ! barrier-divergent\n\tbra B;\nA:\n"
		  "\tbarrier.sync.aligned 0; // ! barrier-divergent\nB:\n" TAIL);
	check("", "\t@%p1 bra A;\n\tbarrier.cluster.arrive.aligned; // ! barrier-divergent\nA:\n"
		  "\tbarrier.cluster.wait.aligned;\n" TAIL);
	/* a join behind the barrier that threads who have ended do not reach */
	check("", "\t@%p1 bra A;\n\t@%p3 bra OUT;\n\tbar.sync 0; // ! barrier-divergent\nA:\n"
		  "\tst.global.u32 [%rd0], %r1;\nOUT:\n\tret;\n");
}

static void predicated_barriers(void **state)
{
	(void)state;
	check("", "\t@%p1 bar.sync 0; // ! barrier-predicated\n" TAIL);
	check("", "\t@!%p2 bar.sync 0; // ! barrier-predicated\n" TAIL);
	check("", "\t@%p3 bar.sync 0;\n" TAIL);
	check("", "\t@%p2 bar.sync 1, 32;\n" TAIL);
	check("", "\t@%p1 bar.sync 1, 32; // ! barrier-predicated\n" TAIL);
	check("", "\t@%p1 barrier.sync 0; // ! barrier-predicated\n" TAIL);
}

static void loops_around_barriers(void **state)
{
	(void)state;
	/* as often for all threads; by each thread's own count; left by some */
	check("", "\tmov.b32 %r3, 0;\nL:\n\tbar.sync 0;\n\tadd.s32 %r3, %r3, 1;\n\tsetp.lt.u32 %p4, %r3, %r0;\n"
		  "\t@%p4 bra L;\n" TAIL);
	check("", "\tmov.b32 %r3, %r1;\nL:\n\tbar.sync 0; // ! barrier-divergent\n\tadd.s32 %r3, %r3, 32;\n"
		  "\tsetp.lt.u32 %p4, %r3, %r0;\n\t@%p4 bra L;\n" TAIL);
	check("", "\tand.b32 %r3, %r1, -32;\nL:\n\tbar.sync 0; // ! barrier-divergent\n\tadd.s32 %r3, %r3, 32;\n"
		  "\tsetp.lt.u32 %p4, %r3, %r0;\n\t@%p4 bra L;\n" TAIL);
	check("", "\tmov.b32 %r3, 0;\nL:\n\t@%p1 bra OUT;\n\tbar.sync 0; // ! barrier-divergent\n"
		  "\tadd.s32 %r3, %r3, 1;\n\tsetp.lt.u32 %p4, %r3, %r0;\n\t@%p4 bra L;\nOUT:\n" TAIL);
	check("", "\tmov.b32 %r3, 0;\nL:\n\t@%p3 bra OUT;\n\tbar.sync 0;\n"
		  "\tadd.s32 %r3, %r3, 1;\n\tsetp.lt.u32 %p4, %r3, %r0;\n\t@%p4 bra L;\nOUT:\n" TAIL);
	/* "barrier in the loop, exit behind it" is no proof: a kernel without loops is not always safe either */
	check("", "\tmov.b32 %r3, 0;\nL:\n\t@%p1 bra M;\n\tbar.sync 0; // ! barrier-divergent\nM:\n"
		  "\tadd.s32 %r3, %r3, 1;\n\tsetp.lt.u32 %p4, %r3, %r0;\n\t@%p4 bra L;\n" TAIL);
	/* a loop of one warp's own, without barriers, next to a barrier */
	check("", "\tmov.b32 %r3, %r1;\nL:\n\tadd.s32 %r3, %r3, 32;\n\tsetp.lt.u32 %p4, %r3, %r0;\n\t@%p4 bra L;\n"
		  "\tbar.sync 0;\n" TAIL);
}

/* Items 101 to 105: exits in and behind the loop of a tiled product. */
static void exits_before_barriers(void **state)
{
	(void)state;
	check("",
	      "\t@%p1 bra exit;\n\tbar.sync 0; // ! barrier-skipped\n\tst.global.u32 [%rd0], %r1;\nexit:\n\tret;\n");
	check("", "\t@!%p1 ret;\n\tbar.sync 0; // ! barrier-skipped\n" TAIL);
	check("", "\t@%p3 bra exit;\n\tbar.sync 0;\n\tst.global.u32 [%rd0], %r1;\nexit:\n\tret;\n");
	check("", "\tmov.b32 %r3, 0;\nk_tile_loop:\n\tsetp.ge.u32 %p4, %r3, %r0;\n\t@%p4 bra k_tile_end;\n"
		  "\t@!%p1 bra exit;\n\tbar.sync 0; // ! barrier-skipped\n\tadd.s32 %r3, %r3, 1;\n\tbra k_tile_loop;\n"
		  "k_tile_end:\n\tst.global.u32 [%rd0], %r1;\nexit:\n\tret;\n");
	/* unconditional within the loop: nobody comes to the barrier, nobody waits */
	check("", "\tmov.b32 %r3, 0;\nkv_loop:\n\tbra exit;\n\tbar.sync 0;\n\tbra kv_loop;\nexit:\n\tret;\n");
	/* behind the loop */
	check("", "\tmov.b32 %r3, 0;\nk_tile_loop:\n\tsetp.ge.u32 %p4, %r3, %r0;\n\t@%p4 bra k_tile_end;\n"
		  "\t@!%p1 bra SKIP;\n\tst.shared.u32 [s], %r1;\nSKIP:\n\tbar.sync 0;\n\tadd.s32 %r3, %r3, 1;\n"
		  "\tbra k_tile_loop;\nk_tile_end:\n\t@!%p1 bra exit;\n\tst.global.u32 [%rd0], %r1;\nexit:\n\tret;\n");
	/* the side that ends does something first, wherever it stands in the text */
	check("", "\t@%p1 bra MAIN;\n\tst.global.u32 [%rd0], %r0;\n\tret;\nMAIN:\n\tbar.sync 0; // ! "
		  "barrier-skipped\n" TAIL);
	check("", "\t@%p1 bra EARLY;\n\tbar.sync 0; // ! barrier-skipped\n\tst.global.u32 [%rd0], %r1;\n\tret;\n"
		  "EARLY:\n\tst.global.u32 [%rd0], %r0;\n\tret;\n");
	/* whole warps that end: barriers without a count lose them, those with one count on others */
	check("", "\t@%p2 bra exit;\n\tbar.sync 0; // ! barrier-skipped\n\tbar.sync 1, 64;\n"
		  "\tst.global.u32 [%rd0], %r1;\nexit:\n\tret;\n");
}

static void shuffles_name_live_lanes(void **state)
{
	(void)state;
	check("", "\tshfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\n" TAIL);
	check("", "\t@%p1 bra A;\n\tshfl.sync.bfly.b32 %r3, %r1, 1, 31, -1; // ! shuffle-divergent\nA:\n" TAIL);
	check("", "\t@%p2 bra A;\n\tshfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\nA:\n" TAIL);
	check("", "\t@%p1 shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1; // ! shuffle-divergent\n" TAIL);
	check("",
	      "\tmov.b32 %r9, -1;\n\t@%p1 bra A;\n\tshfl.sync.bfly.b32 %r3, %r1, 1, 31, %r9; // ! shuffle-divergent\n"
	      "A:\n" TAIL);
	check("", "\tsetp.gt.u32 %p4, %r1, 7;\n\t@%p4 bra A;\n\tshfl.sync.bfly.b32 %r3, %r1, 1, 31, 255;\nA:\n" TAIL);
	check("", "\tactivemask.b32 %r9;\n\t@%p1 bra A;\n\tshfl.sync.bfly.b32 %r3, %r1, 1, 31, %r9;\nA:\n" TAIL);
	check("", "\t@!%p1 ret;\n\tshfl.sync.bfly.b32 %r3, %r1, 1, 31, -1; // ! shuffle-exited\n" TAIL);
	check("", "\t@!%p2 ret;\n\tshfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\n" TAIL);
	check("", "\tmov.u32 %r4, %ntid.x;\n\tmad.lo.s32 %r5, %r2, %r4, %r1;\n\tshr.u32 %r6, %r5, 5;\n"
		  "\tsetp.ge.u32 %p4, %r6, %r0;\n\t@%p4 bra OUT;\n\tshfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\n"
		  "\tst.global.u32 [%rd0], %r3;\nOUT:\n\tret;\n");
	check("", "\t@%p1 bra A;\n\tvote.sync.any.pred %p5, %p2, -1; // ! shuffle-divergent\n"
		  "\tredux.sync.add.s32 %r4, %r1, -1; // ! shuffle-divergent\n"
		  "\tbar.warp.sync -1; // ! barrier-divergent\nA:\n\tbar.warp.sync -1;\n" TAIL);
	check("", "\t@!%p1 exit;\n\tvote.sync.any.pred %p5, %p2, -1; // ! shuffle-exited\n\tbar.warp.sync -1;\n"
		  "\tldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [s]; // ! shuffle-exited\n" TAIL);
	check("", "\t@%p1 bra A;\n"
		  "\tmma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%rd1, %rd2}, {%rd3}, {%rd4}, {%rd5, %rd6};"
		  " // ! shuffle-divergent\nA:\n" TAIL);
	/* a loop that lanes leave one by one */
	check("", "\tmov.b32 %r3, %r1;\nL:\n\tshfl.sync.bfly.b32 %r4, %r3, 1, 31, -1; // ! shuffle-divergent\n"
		  "\tadd.s32 %r3, %r3, 32;\n\tsetp.lt.u32 %p4, %r3, %r0;\n\t@%p4 bra L;\n" TAIL);
	/* ...and one that they leave together, each with its own data */
	check("", "\tmov.b32 %r3, 16;\nL:\n\tshfl.sync.bfly.b32 %r4, %r1, %r3, 31, -1;\n\tadd.s32 %r1, %r1, %r4;\n"
		  "\tshr.u32 %r3, %r3, 1;\n\tsetp.ne.u32 %p4, %r3, 0;\n\t@%p4 bra L;\n" TAIL);
}

/* The index of the warp by a shuffle, as CUTLASS has it; counts that are reached and counts that are not. */
#define BY_WARP "\tshr.u32 %r3, %r1, 5;\n\tshfl.sync.idx.b32 %r4, %r3, 0, 31, -1;\n\tsetp.eq.s32 %p4, %r4, 0;\n"

static void named_barriers_with_counts(void **state)
{
	(void)state;
	check(".reqntid 128, 1, 1", BY_WARP "\t@%p4 bra A;\n\tbar.sync 1, 96;\n\tbra B;\nA:\n"
					    "\tst.shared.u32 [s], %r1;\nB:\n" TAIL);
	check(".reqntid 128, 1, 1", BY_WARP "\t@%p4 bra A;\n\tbar.sync 1, 128; // ! barrier-divergent\n\tbra B;\nA:\n"
					    "\tst.shared.u32 [s], %r1;\nB:\n" TAIL);
	/* producer arrives, consumers wait: 32 + 96 */
	check(".reqntid 128, 1, 1",
	      BY_WARP "\t@%p4 bra A;\n\tbar.sync 1, 128;\n\tbra B;\nA:\n\tbar.arrive 1, 128;\nB:\n" TAIL);
	check(".reqntid 160, 1, 1", BY_WARP "\t@%p4 bra A;\n\tbar.sync 1, 128;\n\tbra B;\nA:\n\tbar.arrive 2, 128; // "
					    "! barrier-divergent\nB:\n" TAIL);
	/* a size that is not stated, an id that is unknown: nothing can be said */
	check("", BY_WARP "\t@%p4 bra A;\n\tbar.sync 1, 128;\nA:\n" TAIL);
	check(".reqntid 128, 1, 1", BY_WARP "\t@%p4 bra A;\n\tadd.s32 %r5, %r4, 1;\n\tbar.sync %r5, 32;\nA:\n" TAIL);
	check("", "\tbar.sync 1, 48; // ! barrier-divergent\n" TAIL);
	check(".reqntid 64, 1, 1", "\tbar.sync 1, 96; // ! barrier-divergent\n" TAIL);
	check(".reqntid 96, 1, 1", "\tbar.sync 1, 96;\n" TAIL);
	/* setmaxnreg and counted barriers among the warps of one role */
	check(".maxntid 256, 1, 1", "\tsetp.lt.u32 %p4, %r1, 128;\n\t@%p4 bra A;\n\tsetmaxnreg.inc.sync.aligned.u32 "
				    "200;\n\tbar.sync 1, 128;\n\tret;\n"
				    "A:\n\tsetmaxnreg.dec.sync.aligned.u32 40;\n\tbar.sync 2, 128;\n\tret;\n");
	check(".maxntid 256, 1, 1",
	      "\t@%p1 bra A;\n\tsetmaxnreg.inc.sync.aligned.u32 200; // ! shuffle-divergent\nA:\n" TAIL);
}

static void functions_that_are_called(void **state)
{
	static const char callee[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
				     ".func sync(.param .b32 n)\n{\n\t.reg .b32 %r<3>;\n\t.reg .pred %p<2>;\n"
				     "\tld.param.u32 %r0, [n];\n\tsetp.eq.u32 %p0, %r0, 0;\n\tbar.sync 0;\n\tret;\n}\n"
				     ".visible .entry k(.param .u32 n)\n{\n\t.reg .b32 %r<3>;\n\t.reg .pred %p<2>;\n"
				     "\tmov.u32 %r0, %tid.x;\n\tsetp.lt.u32 %p0, %r0, 5;\n";
	char text[1500];

	(void)state;
	snprintf(text, sizeof text, "%s%s", callee,
		 "\t.param .b32 a;\n\tst.param.b32 [a], %r0;\n\tcall.uni sync, (a);\n\tret;\n}\n");
	check_marks(text);
	snprintf(text, sizeof text, "%s%s", callee,
		 "\t@%p0 bra A;\n\t.param .b32 a;\n\tst.param.b32 [a], %r0;\n\tcall sync, (a); // ! barrier-divergent\n"
		 "A:\n\tst.shared.u32 [0], %r0;\n\tret;\n}\n");
	check_marks(text);
}

/* Item 106. */
static void barriers_are_counted(void **state)
{
	unsigned sum = 0;

	(void)state;
	for (unsigned i = 0; i < CORPUS_NAMES; i++) {
		struct tcb_ptx_module *module = read_corpus(corpus_names[i]);
		struct tcb_str text = { 0 };
		unsigned in_text = 0, counted = 0;

		tcb_ptx_print(module, &text);
		for (const char *at = strstr(text.data, "bar.sync"); at; at = strstr(at + 1, "bar.sync"))
			in_text++;
		for (struct tcb_ptx_function *f = module->functions; f; f = f->next)
			counted += tcb_ptx_barrier_count(f);
		assert_int_equal(counted, in_text);
		sum += counted;
		tcb_str_fini(&text);
		tcb_ptx_module_destroy(module);
	}
	assert_true(sum > 20);
}

static void what_nvcc_wrote_is_safe(void **state)
{
	static struct findings found;

	(void)state;
	for (unsigned i = 0; i < CORPUS_NAMES; i++) {
		struct tcb_ptx_module *module = read_corpus(corpus_names[i]);

		found.count = 0;
		for (struct tcb_ptx_function *f = module->functions; f; f = f->next)
			if (!f->is_declaration)
				find_all(f, &found);
		if (found.count)
			fail_msg("%s: line %u: %s", corpus_names[i], found.list[0].line, found.list[0].message);
		tcb_ptx_module_destroy(module);
	}
}

/* --- mutants of what nvcc wrote --- */

static struct tcb_ptx_ins *make(struct tcb_ptx_function *function, const char *mnemonic, unsigned count,
				const struct tcb_ptx_operand *operands)
{
	struct tcb_ptx_ins *ins = tcb_ptx_ins_new(function->module, count);
	struct tcb_error err;

	assert_non_null(ins);
	memcpy(ins->operands, operands, count * sizeof *operands);
	if (tcb_ptx_resolve(ins, mnemonic, strlen(mnemonic), &err) != TCB_OK)
		fail_msg("%s", err.message);
	return ins;
}

/* A predicate that differs within each warp, made at the entry. */
static uint32_t varying_predicate(struct tcb_ptx_function *function)
{
	uint32_t lane = tcb_ptx_reg_new(function, TCB_PTX_B32), predicate = tcb_ptx_reg_new(function, TCB_PTX_PRED);
	struct tcb_ptx_operand move[2] = { { .kind = TCB_PTX_O_REG, .reg = lane },
					   { .kind = TCB_PTX_O_SPECIAL, .special = TCB_PTX_SR_LANEID } };
	struct tcb_ptx_operand compare[3] = { { .kind = TCB_PTX_O_REG, .reg = predicate },
					      { .kind = TCB_PTX_O_REG, .reg = lane },
					      { .kind = TCB_PTX_O_INT, .bits = 7 } };
	struct tcb_ptx_ins *first = make(function, "mov.u32", 2, move),
			   *second = make(function, "setp.lt.u32", 3, compare);

	tcb_ptx_ins_before(function->first->first, first);
	tcb_ptx_ins_after(first, second);
	return predicate;
}

enum mutation {
	PREDICATE_BARRIER, /* @varying bar.sync */
	EXIT_BEFORE,       /* @varying exit before a barrier or a full shuffle */
	BARRIER_IN_BRANCH, /* one more barrier at the front of a block that threads of a warp run apart */
	VARYING_ROUNDS,    /* the loop around a barrier ends by a varying predicate */
	SHIFT_VECTOR,      /* half a vector more on its address */
	MUTATIONS
};
static const char *const mutation_names[] = { "predicated barrier", "exit before", "barrier in branch",
					      "varying rounds", "misaligned vector" };

static int is_barrier(const struct tcb_ptx_ins *ins)
{
	return ins->op == TCB_PTX_OP_BAR_SYNC;
}

static int in_loop(const struct tcb_ptx_block *block, const struct tcb_ptx_loop *loop)
{
	const struct tcb_ptx_loop *at = block->loop;

	while (at && at != loop)
		at = at->parent;
	return at != NULL;
}

/* The branch that closes or leaves the innermost loop around INS and does not lie in an inner one. */
static struct tcb_ptx_ins *loop_branch(const struct tcb_ptx_function *function, const struct tcb_ptx_ins *ins)
{
	const struct tcb_ptx_loop *loop = ins->block->loop;

	for (struct tcb_ptx_block *block = function->first; loop && block; block = block->next) {
		struct tcb_ptx_ins *end = tcb_ptx_terminator(block);

		if (block->loop != loop || !end || end->op != TCB_PTX_OP_BRA || block->succ_count != 2)
			continue;
		if (!in_loop(block->succ[0], loop) != !in_loop(block->succ[1], loop))
			return end;
	}
	return NULL;
}

/* Applies MUTATION at INS; the rules of which one must be reported are in WANTED.  0: it does not apply there. */
static int mutate(struct tcb_ptx_function *function, struct tcb_ptx_ins *ins, enum mutation mutation,
		  const uint8_t *control, enum tcb_ptx_rule wanted[2])
{
	static const struct tcb_ptx_operand zero = { .kind = TCB_PTX_O_INT };
	struct tcb_ptx_ins *added;

	switch (mutation) {
	case PREDICATE_BARRIER:
		if (!is_barrier(ins) || ins->guard != TCB_PTX_NO_REG)
			return 0;
		ins->guard = varying_predicate(function);
		wanted[0] = wanted[1] = TCB_PTX_RULE_BARRIER_PREDICATED;
		return 1;
	case EXIT_BEFORE:
		if (!is_barrier(ins) && ins->op != TCB_PTX_OP_SHFL)
			return 0;
		if (ins->op == TCB_PTX_OP_SHFL && ins->operands[4].kind == TCB_PTX_O_REG &&
		    ins->operands[4].reg != TCB_PTX_NO_REG && function->regs[ins->operands[4].reg].def &&
		    function->regs[ins->operands[4].reg].def->operands[1].bits != UINT64_MAX)
			return 0; /* names some lanes only */
		added = make(function, "exit", 0, &zero);
		added->guard = varying_predicate(function);
		/* a terminator ends its block */
		tcb_ptx_ins_before(ins, added);
		{
			struct tcb_ptx_block *rest = tcb_ptx_block_new(function, ins->block, NULL);

			for (struct tcb_ptx_ins *next, *at = ins; at; at = next) {
				next = at->next;
				tcb_ptx_ins_remove(at);
				tcb_ptx_ins_append(rest, at);
			}
		}
		wanted[0] = is_barrier(ins) ? TCB_PTX_RULE_BARRIER_SKIPPED : TCB_PTX_RULE_SHUFFLE_EXITED;
		wanted[1] = wanted[0];
		return 1;
	case BARRIER_IN_BRANCH:
		if (control[ins->block->number] != TCB_PTX_VARYING || ins != ins->block->first)
			return 0;
		tcb_ptx_ins_before(ins, make(function, "bar.sync", 1, &zero));
		wanted[0] = wanted[1] = TCB_PTX_RULE_BARRIER_DIVERGENT;
		return 1;
	case VARYING_ROUNDS:
		added = is_barrier(ins) ? loop_branch(function, ins) : NULL;
		if (!added)
			return 0;
		added->guard = varying_predicate(function);
		wanted[0] = TCB_PTX_RULE_BARRIER_DIVERGENT;
		wanted[1] = TCB_PTX_RULE_BARRIER_SKIPPED; /* when those that leave just end */
		return 1;
	case SHIFT_VECTOR:
	default:
		if (tcb_ptx_vector_count(ins) == 1)
			return 0;
		for (unsigned i = 0; i < ins->operand_count; i++) {
			struct tcb_ptx_access access;

			if (tcb_ptx_access(ins, i, &access))
				ins->operands[i].bits += access.align / 2;
		}
		wanted[0] = wanted[1] = TCB_PTX_RULE_MISALIGNED;
		return 1;
	}
}

/* The levels before the mutation, which applies at instruction NUMBER of FUNCTION; 0 when it does not apply. */
static int check_mutant(const char *name, struct tcb_ptx_function *function, uint32_t number, enum mutation mutation)
{
	static struct findings found;
	struct tcb_ptx_dominators d;
	struct tcb_ptx_uniformity u;
	enum tcb_ptx_rule wanted[2];
	struct tcb_ptx_ins *at = NULL;

	assert_int_equal(tcb_ptx_dominators(function, &d, NULL), TCB_OK);
	assert_int_equal(tcb_ptx_uniformity(function, &d, &u, NULL), TCB_OK);
	for (struct tcb_ptx_block *block = function->first; block && !at; block = block->next)
		for (struct tcb_ptx_ins *ins = block->first; ins && !at; ins = ins->next)
			at = ins->number == number && block->order != UINT32_MAX ? ins : NULL;
	if (!at || !mutate(function, at, mutation, u.control, wanted))
		return 0;
	found.count = 0;
	find_all(function, &found);
	if (!has_finding(&found, wanted[0]) && !has_finding(&found, wanted[1]))
		fail_msg("%s, %s: %s at line %u is not found", name, function->symbol->name, mutation_names[mutation],
			 at->line);
	return 1;
}

/* Function number WHICH, or NULL. */
static struct tcb_ptx_function *function_at(struct tcb_ptx_module *module, unsigned which)
{
	struct tcb_ptx_function *f = module->functions;

	while (f && which--)
		f = f->next;
	return f;
}

/* A mutation may apply to INS: the rest need not be tried. */
static int is_candidate(const struct tcb_ptx_ins *ins)
{
	return ins == ins->block->first || is_barrier(ins) || ins->op == TCB_PTX_OP_SHFL ||
	       tcb_ptx_vector_count(ins) > 1;
}

static void mutants_are_caught(void **state)
{
	unsigned caught[MUTATIONS] = { 0 };

	(void)state;
	for (unsigned i = 0; i < CORPUS_NAMES; i++) {
		struct tcb_ptx_module *whole = read_corpus(corpus_names[i]);
		unsigned which = 0;

		for (struct tcb_ptx_function *f = whole->functions; f; f = f->next, which++)
			for (struct tcb_ptx_block *block = f->is_entry ? f->first : NULL; block; block = block->next)
				for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
					for (unsigned mutation = 0; is_candidate(ins) && mutation < MUTATIONS;
					     mutation++) {
						struct tcb_ptx_module *module = read_corpus(corpus_names[i]);

						caught[mutation] += (unsigned)check_mutant(
							corpus_names[i], function_at(module, which), ins->number,
							(enum mutation)mutation);
						tcb_ptx_module_destroy(module);
					}
		tcb_ptx_module_destroy(whole);
	}
	for (unsigned mutation = 0; mutation < MUTATIONS; mutation++) {
		print_message("%s: %u mutants, all caught\n", mutation_names[mutation], caught[mutation]);
		assert_true(caught[mutation] > 3);
	}
}

static void time_grows_with_the_text(void **state)
{
	(void)state;
	for (unsigned shape = 0; shape < BIG_SHAPES; shape++) {
		static struct findings found;
		const struct tcb_ptx_sink sink = { see_finding, &found };
		struct tcb_str text = { 0 };
		struct tcb_ptx_module *module;
		struct tcb_ptx_dominators d;
		struct tcb_ptx_uniformity u;
		double seconds;

		big_function((enum big_shape)shape, 100000, &text);
		module = random_parse(&text);
		assert_int_equal(tcb_ptx_dominators(module->functions, &d, NULL), TCB_OK);
		assert_int_equal(tcb_ptx_uniformity(module->functions, &d, &u, NULL), TCB_OK);
		seconds = cpu_seconds();
		assert_int_equal(tcb_ptx_barrier_safety(module->functions, &d, &u, NULL, &sink, NULL), TCB_OK);
		seconds = cpu_seconds() - seconds;
		print_message("shape %u: %.3f s\n", shape, seconds);
		assert_true(seconds < 1);
		tcb_ptx_module_destroy(module);
		tcb_str_fini(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(barriers_in_branches),      cmocka_unit_test(predicated_barriers),
		cmocka_unit_test(loops_around_barriers),     cmocka_unit_test(exits_before_barriers),
		cmocka_unit_test(shuffles_name_live_lanes),  cmocka_unit_test(named_barriers_with_counts),
		cmocka_unit_test(functions_that_are_called), cmocka_unit_test(barriers_are_counted),
		cmocka_unit_test(what_nvcc_wrote_is_safe),   cmocka_unit_test(mutants_are_caught),
		cmocka_unit_test(time_grows_with_the_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
