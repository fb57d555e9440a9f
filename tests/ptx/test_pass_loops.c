/* SPDX-License-Identifier: MIT
 *
 * Split and unrolled loops compute the same bits (items 53-55, 59-61, 64): all
 * comparisons of the body and of the loop, both signs, both orders of the
 * operands, steps up and down, small and overflowing, constant and not; each
 * kernel for 64 triples (begin, bound, split point), among them the edges of
 * the number range, empty parts, and loops that wrap round.  Control: results
 * that are changed in one place are all found out.
 */
#include "pass_bits.h"

static const char *const orders[] = { "lt", "le", "gt", "ge", "eq", "ne" };
static const char *const loops[] = { "lt", "le", "gt", "ge", "ne" };
static const char *const steps[] = { "1", "2", "7", "-1", "-3", "1073741825", "-2147483648", "%x2" };

enum { ORDERS = 6, LOOPS = 5, STEPS = 8, ROUNDS_MAX = 20 };

/* What the body does where the question holds: under a guard, or in a branch of its own. */
static char *make_body(const char *order, const char *loop, const char *step, char type, int swapped, int branches)
{
	struct tcb_str body = { 0 };
	char question[80];

	snprintf(question, sizeof question, swapped ? "setp.%s.%c32 %%q2, %%x7, %%x5" : "setp.%s.%c32 %%q2, %%x5, %%x7",
		 order, type);
	tcb_str_add(&body,
		    BITS_HEAD "ld.global.u32 %x5, [%z5];\nld.global.u32 %x6, [%z5+4];\nld.global.u32 %x7, [%z5+8];\n"
			      "mov.u32 %x8, 1;\nmov.u32 %x9, 0;\nloop:\n");
	tcb_str_addf(&body, "%s;\n", question);
	if (branches)
		tcb_str_add(&body, "@%q2 bra then;\nmad.lo.u32 %x8, %x8, 3, %x5;\nbra join;\nthen:\n"
				   "mad.lo.u32 %x8, %x8, 5, %x5;\nst.global.u32 [%z4+16], %x5;\njoin:\n");
	else
		tcb_str_add(&body,
			    "mad.lo.u32 %x10, %x8, 3, %x5;\n@%q2 mad.lo.u32 %x10, %x8, 5, %x5;\nmov.u32 %x8, %x10;\n"
			    "@!%q2 st.global.u32 [%z4+16], %x5;\n");
	tcb_str_addf(
		&body,
		"add.u32 %%x9, %%x9, 1;\nsetp.ge.u32 %%q4, %%x9, %d;\n@%%q4 bra done;\n"
		"add.%c32 %%x5, %%x5, %s;\nsetp.%s.%c32 %%q3, %%x5, %%x6;\n@%%q3 bra loop;\n"
		"done:\nst.global.u32 [%%z4], %%x8;\nst.global.u32 [%%z4+4], %%x9;\nst.global.u32 [%%z4+8], %%x5;\n",
		ROUNDS_MAX, type, step, loop, type);
	return body.data;
}

/* Triples near each other, and at the ends of the range. */
static void fill(struct tcb_rng *rng, struct bits_inputs *inputs)
{
	bits_fill(rng, inputs);
	for (unsigned t = 0; t < BITS_THREADS; t++) {
		uint32_t *word = &inputs->word[t * BITS_INPUTS];
		static const uint32_t ends[] = { 0, 0x7fffffff, 0x80000000, 0xffffffff };
		uint32_t centre = t % 8 == 7 ? (uint32_t)tcb_rng_next(rng) : ends[t % 4];

		for (unsigned i = 0; i < 3; i++)
			word[i] = centre + (uint32_t)tcb_rng_below(rng, 33) - 16;
		if (t % 16 == 5)
			word[2] = word[0]; /* splits at the beginning */
		if (t % 16 == 6)
			word[2] = word[1]; /* and at the end */
	}
}

static const struct tcb_ptx_pass_options options = { .unroll_limit = 160, .split_min_body = 1 };

/* Everything but fusion, which may change bits, to the end. */
static void run_pipeline(struct tcb_ptx_module *module)
{
	struct tcb_ptx_pipeline_debug debug = { .verify = 1 };
	struct tcb_error err;

	if (tcb_ptx_optimise(module, &options, &debug, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

static void same_bits(const char *body, const struct bits *want, const struct bits_inputs *inputs, const char *pass,
		      int must_change)
{
	struct tcb_ptx_module *module = pass_kernel(body);
	struct bits got;
	unsigned changed = 1;

	if (pass) {
		changed = pass_run(pass, module, &options);
		if (changed && pass_run(pass, module, &options))
			fail_msg("%s changes its own result of\n%s", pass, body);
	} else {
		run_pipeline(module);
	}
	if (must_change && !changed)
		fail_msg("%s leaves\n%s", pass, body);
	bits_run(module, inputs, &got);
	for (unsigned i = 0; i < BITS_THREADS * BITS_WORDS; i++)
		if (got.out[i] != want->out[i])
			fail_msg("%s: thread %u (%x, %x, %x), word %u: %x, not %x\n%s\n%s", pass ? pass : "pipeline",
				 i / BITS_WORDS, inputs->word[i / BITS_WORDS * BITS_INPUTS],
				 inputs->word[i / BITS_WORDS * BITS_INPUTS + 1],
				 inputs->word[i / BITS_WORDS * BITS_INPUTS + 2], i % BITS_WORDS, got.out[i],
				 want->out[i], body, pass_lines(module->functions));
	tcb_ptx_module_destroy(module);
}

static void every_loop_computes_the_same(void **state)
{
	struct tcb_rng rng;
	unsigned count = 0;

	(void)state;
	tcb_rng_init(&rng, 11);
	for (unsigned k = 0; k < ORDERS * LOOPS * STEPS * 8; k++) {
		const char *order = orders[k % ORDERS], *loop = loops[k / ORDERS % LOOPS];
		const char *step = steps[k / (ORDERS * LOOPS) % STEPS];
		unsigned rest = k / (ORDERS * LOOPS * STEPS);
		char *body = make_body(order, loop, step, rest & 1 ? 's' : 'u', rest >> 1 & 1, rest >> 2 & 1);
		struct tcb_ptx_module *module = pass_kernel(body);
		struct bits_inputs inputs;
		struct bits want;

		fill(&rng, &inputs);
		bits_run(module, &inputs, &want);
		tcb_ptx_module_destroy(module);
		same_bits(body, &want, &inputs, "loop_split", 1);
		same_bits(body, &want, &inputs, "loop_unroll", 0);
		same_bits(body, &want, &inputs, NULL, 0);
		free(body);
		count++;
	}
	assert_int_equal(count, 1920);
}

/* Changes the Nth instruction that can be made wrong; 0 when there are fewer. */
static int spoil(struct tcb_ptx_module *module, unsigned n)
{
	struct tcb_error err;

	for (struct tcb_ptx_block *b = module->functions->first; b; b = b->next)
		for (struct tcb_ptx_ins *ins = b->first; ins; ins = ins->next) {
			int is_answer = ins->op == TCB_PTX_OP_MOV && ins->operands[0].kind == TCB_PTX_O_REG &&
					module->functions->regs[ins->operands[0].reg].type == TCB_PTX_PRED;
			int is_enough = ins->op == TCB_PTX_OP_SETP && ins->mod[TCB_PTX_SLOT_COMPARE] == TCB_PTX_GT &&
					ins->operands[2].kind == TCB_PTX_O_INT;
			int is_stay = ins->op == TCB_PTX_OP_SETP && ins->next && ins->next->op == TCB_PTX_OP_BRA &&
				      ins->mod[TCB_PTX_SLOT_COMPARE] == TCB_PTX_LT && !ins->next->guard_negated;

			if (!is_answer && !is_stay && !is_enough && ins->op != TCB_PTX_OP_MIN)
				continue;
			if (n--)
				continue;
			if (is_answer)
				ins->operands[1].bits ^= 1;
			else if (is_enough)
				ins->operands[2].bits /= 2;
			else if (is_stay)
				ins->mod[TCB_PTX_SLOT_COMPARE] = TCB_PTX_LE;
			else
				ins->op = TCB_PTX_OP_MAX;
			assert_int_equal(tcb_ptx_resolve_again(ins, &err), TCB_OK);
			return 1;
		}
	return 0;
}

static void spoil_each(const char *pass, const char *body, unsigned least)
{
	struct tcb_ptx_module *module = pass_kernel(body);
	struct bits_inputs inputs;
	struct bits want, got;
	struct tcb_rng rng;
	unsigned spoilt = 0;

	tcb_rng_init(&rng, 5);
	fill(&rng, &inputs);
	bits_run(module, &inputs, &want);
	tcb_ptx_module_destroy(module);
	for (unsigned n = 0;; n++, spoilt++) {
		module = pass_kernel(body);
		pass_run(pass, module, &options);
		if (!spoil(module, n)) {
			tcb_ptx_module_destroy(module);
			break;
		}
		bits_run(module, &inputs, &got);
		if (memcmp(got.out, want.out, sizeof got.out) == 0)
			fail_msg("%s: defect %u is not seen:\n%s", pass, n, pass_lines(module->functions));
		tcb_ptx_module_destroy(module);
	}
	assert_true(spoilt >= least);
}

static void every_spoilt_result_is_found_out(void **state)
{
	char *body = make_body("lt", "lt", "2", 'u', 0, 1);

	(void)state;
	spoil_each("loop_split", body, 4);
	free(body);
	body = make_body("eq", "lt", "1", 'u', 0, 1);
	spoil_each("loop_unroll", body, 3);
	free(body);
}

/* The point where the second loop begins is the split point aligned up: lower + ceil((s - lower) / step) * step. */
static void the_split_point_is_aligned_up(void **state)
{
	const char *body = BITS_HEAD
		"ld.global.u32 %x5, [%z5];\nld.global.u32 %x6, [%z5+4];\nld.global.u32 %x7, [%z5+8];\n"
		"mov.u32 %x9, -1;\nloop:\nsetp.ge.u32 %q2, %x5, %x7;\nsetp.eq.u32 %q4, %x9, -1;\n"
		"and.pred %q5, %q2, %q4;\n@%q5 mov.u32 %x9, %x5;\n@%q2 st.global.u32 [%z4+4], %x5;\n"
		"add.u32 %x5, %x5, 7;\nsetp.lt.u32 %q3, %x5, %x6;\n@%q3 bra loop;\nst.global.u32 [%z4], %x9;\n";
	struct tcb_ptx_module *module = pass_kernel(body);
	struct bits_inputs inputs;
	struct bits got;
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 3);
	bits_fill(&rng, &inputs);
	for (unsigned t = 0; t < BITS_THREADS; t++) {
		uint32_t *word = &inputs.word[t * BITS_INPUTS];

		word[0] = t;
		word[2] = t + t % 13;
		word[1] = word[2] + 20;
	}
	assert_true(pass_run("loop_split", module, &options) > 0);
	bits_run(module, &inputs, &got);
	for (unsigned t = 0; t < BITS_THREADS; t++) {
		const uint32_t *word = &inputs.word[t * BITS_INPUTS];

		assert_int_equal(got.out[t * BITS_WORDS], word[0] + (word[2] - word[0] + 6) / 7 * 7);
	}
	tcb_ptx_module_destroy(module);
}

/* Item 56: a question of the outer counter in the inner loop, and one of the inner counter: both levels are split. */
static void nests_are_split_at_both_levels(void **state)
{
	const char *body = BITS_HEAD
		"ld.global.u32 %x7, [%z5];\nand.b32 %x7, %x7, 7;\nmov.u32 %x8, 0;\nmov.u32 %x5, 0;\nouter:\n"
		"setp.lt.u32 %q2, %x5, %x7;\nmov.u32 %x6, 0;\ninner:\nsetp.gt.u32 %q3, %x6, %x7;\n"
		"mad.lo.u32 %x8, %x8, 3, %x6;\n@%q2 add.u32 %x8, %x8, 11;\n@%q3 xor.b32 %x8, %x8, %x5;\n"
		"st.global.u32 [%z4+4], %x8;\nadd.u32 %x6, %x6, 2;\nsetp.lt.u32 %q4, %x6, 11;\n@%q4 bra inner;\n"
		"add.u32 %x5, %x5, 1;\nsetp.lt.u32 %q5, %x5, 9;\n@%q5 bra outer;\nst.global.u32 [%z4], %x8;\n";
	struct tcb_ptx_module *module = pass_kernel(body);
	struct bits_inputs inputs;
	struct bits want, got;
	struct tcb_rng rng;
	unsigned answers = 0;

	(void)state;
	tcb_rng_init(&rng, 9);
	bits_fill(&rng, &inputs);
	bits_run(module, &inputs, &want);
	assert_true(pass_run("loop_split", module, &options) > 0);
	for (struct tcb_ptx_block *b = module->functions->first; b; b = b->next)
		for (struct tcb_ptx_ins *ins = b->first; ins; ins = ins->next)
			answers += ins->op == TCB_PTX_OP_MOV && ins->operands[0].kind == TCB_PTX_O_REG &&
				   module->functions->regs[ins->operands[0].reg].type == TCB_PTX_PRED;
	assert_int_equal(answers, 6); /* two of the outer question, four of the inner one */
	bits_run(module, &inputs, &got);
	assert_memory_equal(got.out, want.out, sizeof got.out);
	assert_int_equal(pass_run("loop_split", module, &options), 0);
	tcb_ptx_module_destroy(module);
}

/* Threads exchange values in shared memory in each round.  LIMIT and BOUND: uniform, or of the thread. */
static char *exchange(const char *limit, const char *bound)
{
	struct tcb_str body = { 0 };

	tcb_str_add(&body,
		    BITS_HEAD "and.b32 %x12, %x0, 7;\nadd.u32 %x13, %x12, 5;\nmov.u32 %x14, tile;\n"
			      "shl.b32 %x15, %x4, 2;\nadd.u32 %x14, %x14, %x15;\nmov.u32 %x8, %x4;\nmov.u32 %x5, 0;\n"
			      "xor.b32 %x16, %x15, 4;\nmov.u32 %x17, tile;\nadd.u32 %x16, %x16, %x17;\n"
			      "and.b32 %x18, %x4, 3;\nloop:\n");
	tcb_str_addf(&body, "setp.lt.u32 %%q2, %%x5, %s;\n", limit);
	tcb_str_add(&body, "st.shared.u32 [%x14], %x8;\nbar.sync 0;\nld.shared.u32 %x9, [%x16];\nbar.sync 0;\n"
			   "@%q2 mad.lo.u32 %x8, %x8, 3, %x9;\n@!%q2 sub.u32 %x8, %x8, %x9;\nadd.u32 %x5, %x5, 2;\n");
	tcb_str_addf(&body, "setp.lt.u32 %%q3, %%x5, %s;\n@%%q3 bra loop;\nst.global.u32 [%%z4], %%x8;\n", bound);
	return body.data;
}

/* Barriers in the body: only where all threads agree about the way. */
static void barriers_stay_together(void **state)
{
	static const struct {
		const char *limit, *bound;
		int splits;
	} cases[] = { { "%x12", "%x13", 1 }, { "3", "%x13", 1 }, { "%x18", "%x13", 0 }, { "%x12", "11", 1 } };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *body = exchange(cases[i].limit, cases[i].bound);
		struct tcb_ptx_module *module = pass_kernel(body);
		struct bits_inputs inputs;
		struct bits want;
		struct tcb_rng rng;

		tcb_rng_init(&rng, i + 1);
		bits_fill(&rng, &inputs);
		bits_run(module, &inputs, &want);
		assert_int_equal(pass_run("loop_split", module, &options) != 0, cases[i].splits);
		tcb_ptx_module_destroy(module);
		same_bits(body, &want, &inputs, "loop_split", cases[i].splits);
		same_bits(body, &want, &inputs, "loop_unroll", 1);
		same_bits(body, &want, &inputs, NULL, 0);
		free(body);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_loop_computes_the_same),  cmocka_unit_test(every_spoilt_result_is_found_out),
		cmocka_unit_test(the_split_point_is_aligned_up), cmocka_unit_test(nests_are_split_at_both_levels),
		cmocka_unit_test(barriers_stay_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
