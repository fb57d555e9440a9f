/* SPDX-License-Identifier: MIT
 *
 * Liveness and pressure of random functions against the equations solved the
 * slow way, by sets after each instruction; known small functions; and the
 * time on functions of 100,000 instructions.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "ptx/analyse/analyses.h"
#include "ptx/ir/opcodes.h"

#include "ptx/random_cfg.h"

/* One bit a register: the random functions have few. */
struct sets {
	uint64_t use, def;
};

static void see(void *ctx, uint32_t *reg, int is_def)
{
	struct sets *sets = ctx;

	assert_true(*reg < 64);
	if (is_def)
		sets->def |= (uint64_t)1 << *reg;
	else
		sets->use |= (uint64_t)1 << *reg;
}

static struct sets sets_of(struct tcb_ptx_ins *ins)
{
	struct sets sets = { 0, 0 };

	tcb_ptx_each_reg(ins, see, &sets);
	return sets;
}

static uint64_t before(struct tcb_ptx_ins *ins, uint64_t after)
{
	struct sets sets = sets_of(ins);

	return (ins->guard == TCB_PTX_NO_REG ? after & ~sets.def : after) | sets.use;
}

static unsigned weight(const struct tcb_ptx_function *function, uint64_t live, int predicates)
{
	unsigned sum = 0;

	for (uint32_t r = 0; r < function->reg_count; r++)
		if (live >> r & 1 && (function->regs[r].type == TCB_PTX_PRED) == predicates)
			sum += (tcb_ptx_type_bits(function->regs[r].type) + 31) / 32;
	return sum;
}

struct brute {
	uint64_t in[64], out[64];
	unsigned pressure, predicates;
};

static void solve(struct tcb_ptx_function *function, struct brute *brute)
{
	int changed = 1;

	memset(brute, 0, sizeof *brute);
	while (changed) {
		changed = 0;
		for (struct tcb_ptx_block *block = function->first; block; block = block->next) {
			uint64_t live = 0;

			if (block->order == UINT32_MAX)
				continue;
			for (uint32_t i = 0; i < block->succ_count; i++)
				live |= brute->in[block->succ[i]->number];
			brute->out[block->number] = live;
			for (struct tcb_ptx_ins *ins = block->last; ins; ins = ins->prev)
				live = before(ins, live);
			changed |= live != brute->in[block->number];
			brute->in[block->number] = live;
		}
	}
	for (struct tcb_ptx_block *block = function->first; block; block = block->next) {
		uint64_t live = brute->out[block->number];

		for (struct tcb_ptx_ins *ins = block->order == UINT32_MAX ? NULL : block->last; ins; ins = ins->prev) {
			uint64_t at[2] = { live | sets_of(ins).def, before(ins, live) };

			for (unsigned k = 0; k < 2; k++) {
				unsigned words = weight(function, at[k], 0), predicates = weight(function, at[k], 1);

				brute->pressure = words > brute->pressure ? words : brute->pressure;
				brute->predicates = predicates > brute->predicates ? predicates : brute->predicates;
			}
			live = at[1];
		}
	}
}

static void random_functions_agree_with_the_equations(void **state)
{
	struct tcb_rng rng;
	unsigned live = 0, dead = 0;

	(void)state;
	tcb_rng_init(&rng, 2);
	for (unsigned round = 0; round < 600; round++) {
		struct tcb_str text = { 0 };
		struct tcb_ptx_liveness l;
		struct tcb_ptx_function *function;
		struct tcb_ptx_module *module;
		struct brute brute;

		random_function(&rng, 1 + (unsigned)tcb_rng_below(&rng, 14), &text);
		module = random_parse(&text);
		function = module->functions;
		solve(function, &brute);
		assert_int_equal(tcb_ptx_liveness(function, &l, NULL), TCB_OK);
		for (const struct tcb_ptx_block *b = function->first; b; b = b->next)
			for (uint32_t r = 0; r < function->reg_count; r++) {
				int in = (int)(brute.in[b->number] >> r & 1),
				    out = (int)(brute.out[b->number] >> r & 1);

				if (tcb_ptx_is_live_in(&l, b, r) != in || tcb_ptx_is_live_out(&l, b, r) != out)
					fail_msg("round %u, block %u, register %u\n%s", round, b->number, r, text.data);
				live += (unsigned)in;
				dead += !in;
			}
		assert_int_equal(l.pressure, brute.pressure);
		assert_int_equal(l.predicate_pressure, brute.predicates);
		tcb_ptx_module_destroy(module);
		tcb_str_fini(&text);
	}
	assert_true(live > 1000 && dead > 1000);
}

static void check_pressure(const char *body, unsigned words, unsigned predicates, const char *peak)
{
	struct tcb_str text = { 0 }, shown = { 0 };
	struct tcb_ptx_liveness l;
	struct tcb_ptx_module *module;

	random_head(&text);
	tcb_str_addf(&text,
		     "\t.reg .b32 %%r<9>;\n\t.reg .b64 %%rd<9>;\n\t.reg .b16 %%h<9>;\n\t.reg .pred %%p<9>;\n%s}\n",
		     body);
	module = random_parse(&text);
	assert_int_equal(tcb_ptx_liveness(module->functions, &l, NULL), TCB_OK);
	assert_int_equal(l.pressure, words);
	assert_int_equal(l.predicate_pressure, predicates);
	tcb_ptx_print_ins(module->functions, l.peak, &shown);
	assert_string_equal(shown.data, peak);
	tcb_ptx_module_destroy(module);
	tcb_str_fini(&text);
	tcb_str_fini(&shown);
}

static void pressure_counts_words_and_predicates(void **state)
{
	(void)state;
	/* a 64-bit register is two, a 16-bit one is one; an operand that dies makes room for the result */
	check_pressure("\tmov.b32 %r0, 1;\n\tmov.b16 %h0, 2;\n\tmov.b64 %rd0, 3;\n\tst.global.b32 [%rd0], %r0;\n"
		       "\tst.global.b16 [%rd0], %h0;\n\tret;\n",
		       4, 0, "st.global.b32 [%rd0], %r0;");
	check_pressure("\tmov.b32 %r0, 1;\n\tadd.s32 %r1, %r0, %r0;\n\tadd.s32 %r2, %r1, %r1;\n\tret;\n", 1, 0,
		       "add.s32 %r2, %r1, %r1;");
	check_pressure("\tmov.b32 %r0, 1;\n\tsetp.eq.s32 %p0, %r0, 1;\n\tsetp.eq.s32 %p1, %r0, 2;\n"
		       "\tselp.b32 %r1, 1, 2, %p0;\n\tselp.b32 %r2, 1, %r1, %p1;\n\tret;\n",
		       1, 2, "selp.b32 %r2, 1, %r1, %p1;");
	/* a guarded write keeps the old value, an unguarded one does not */
	check_pressure("\tmov.b32 %r0, 1;\n\tmov.b32 %r1, 2;\n\tsetp.eq.s32 %p0, %r1, 1;\n\t@%p0 mov.b32 %r0, 5;\n"
		       "\tadd.s32 %r2, %r0, 1;\n\tret;\n",
		       2, 1, "setp.eq.s32 %p0, %r1, 1;");
	check_pressure("\tmov.b32 %r0, 1;\n\tmov.b32 %r1, 2;\n\tsetp.eq.s32 %p0, %r1, 1;\n\tmov.b32 %r0, 5;\n"
		       "\tadd.s32 %r2, %r0, 1;\n\tret;\n",
		       1, 1, "add.s32 %r2, %r0, 1;");
}

static void time_grows_with_the_text(void **state)
{
	(void)state;
	for (unsigned shape = 0; shape < BIG_SHAPES; shape++) {
		struct tcb_str text = { 0 };
		struct tcb_ptx_module *module;
		struct tcb_ptx_liveness l;
		double seconds;

		big_function((enum big_shape)shape, 100000, &text);
		module = random_parse(&text);
		seconds = cpu_seconds();
		assert_int_equal(tcb_ptx_liveness(module->functions, &l, NULL), TCB_OK);
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
		cmocka_unit_test(random_functions_agree_with_the_equations),
		cmocka_unit_test(pressure_counts_words_and_predicates),
		cmocka_unit_test(time_grows_with_the_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
