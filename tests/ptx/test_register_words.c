/* SPDX-License-Identifier: MIT
 *
 * Which registers of PTX are one word of the machine, which are none, and
 * which the uniform registers take.
 */
#include "cmocka_all.h"

#include <string.h>

#include "ptx/analyse/flow/register_words.h"
#include "ptx/random_cfg.h"

static const char body[] = "	ld.param.u64 %rd0, [p];\n" /* none */
			   "	ld.param.u32 %r0, [n];\n"
			   "	mov.u32 %r1, %ntid.x;\n"
			   "	mov.u32 %r2, 7;\n"
			   "	mov.u32 %r3, %tid.x;\n"
			   "	mov.u32 %r4, %ctaid.x;\n"
			   "	cvta.to.global.u64 %rd1, %rd0;\n" /* none */
			   "	mul.wide.u32 %rd2, %r3, 4;\n"
			   "	add.s64 %rd3, %rd1, %rd2;\n"
			   "	add.s64 %rd4, %rd3, 16;\n" /* rd3 */
			   "	ld.global.v2.u32 {%r5, %r6}, [%rd4];\n"
			   "	mov.b64 %rd5, {%r5, %r6};\n"  /* r5, r6 */
			   "	mov.b64 {%r7, %r8}, %rd5;\n"  /* the same */
			   "	mov.u32 %r9, %r5;\n"          /* r5 */
			   "	cvt.u64.u32 %rd6, %r3;\n"     /* r3, 0 */
			   "	cvt.s64.s32 %rd7, %r3;\n"     /* r3, new */
			   "	cvt.u32.u64 %r10, %rd3;\n"    /* rd3's first */
			   "	mov.b32 {%h0, %h1}, %r5;\n"   /* r5, r5 */
			   "	mov.b32 %r11, {%h1, %h0};\n"  /* new */
			   "	mul.lo.s32 %r12, %r4, %r0;\n" /* uniform */
			   "	add.s32 %r13, %r12, %r3;\n"   /* not */
			   "	mov.u32 %r14, 0;\n"
			   "again:\n"
			   "	add.s32 %r15, %r14, %r2;\n" /* uniform, by a loop */
			   "	mov.u32 %r14, %r15;\n"      /* written twice: a word of its own */
			   "	setp.lt.s32 %p0, %r15, %r0;\n"
			   "	@%p0 bra again;\n"
			   "	ret;\n";

struct fixture {
	struct tcb_ptx_module *module;
	struct tcb_ptx_reg_words words;
};

static void make(struct fixture *f, unsigned sm)
{
	struct tcb_str text = { 0 };

	tcb_str_addf(&text,
		     ".version 8.0\n.target sm_80\n.address_size 64\n"
		     ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n"
		     "	.reg .b32 %%r<16>;\n	.reg .b64 %%rd<8>;\n	.reg .b16 %%h<2>;\n"
		     "	.reg .pred %%p<1>;\n%s}\n",
		     body);
	f->module = random_parse(&text);
	tcb_str_fini(&text);
	assert_true(tcb_ptx_reg_words_init(f->module->functions, sm, &f->words));
}

static void fini(struct fixture *f)
{
	tcb_ptx_reg_words_fini(&f->words);
	tcb_ptx_module_destroy(f->module);
}

/* The AT-th word of the register called NAME. */
static uint32_t word(const struct fixture *f, const char *name, unsigned at)
{
	const struct tcb_ptx_function *function = f->module->functions;
	char found[32];

	for (uint32_t r = 0; r < function->reg_count; r++)
		if (strcmp(tcb_ptx_reg_name(function, r, found, sizeof found), name) == 0)
			return f->words.word[TCB_PTX_REG_WORDS * r + at];
	fail_msg("no register %s", name);
	return 0;
}

static void what_is_known_needs_no_word(void **state)
{
	static const char *const names[] = { "%r0", "%r1", "%r2", "%rd0", "%rd1", "%p0" };
	struct fixture f;

	(void)state;
	make(&f, 80);
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		assert_int_equal(word(&f, names[i], 0), 0);
	assert_true(word(&f, "%r3", 0) && word(&f, "%r4", 0) && word(&f, "%r14", 0));
	fini(&f);
}

static void what_is_the_same_is_one_word(void **state)
{
	static const struct {
		const char *name;
		unsigned at;
		const char *as;
		unsigned as_at;
	} rows[] = {
		{ "%rd4", 0, "%rd3", 0 }, { "%rd4", 1, "%rd3", 1 }, { "%rd5", 0, "%r5", 0 },  { "%rd5", 1, "%r6", 0 },
		{ "%r7", 0, "%r5", 0 },   { "%r8", 0, "%r6", 0 },   { "%r9", 0, "%r5", 0 },   { "%rd6", 0, "%r3", 0 },
		{ "%rd6", 1, "%rd0", 0 }, { "%rd7", 0, "%r3", 0 },  { "%r10", 0, "%rd3", 0 }, { "%h0", 0, "%r5", 0 },
		{ "%h1", 0, "%r5", 0 },
	};
	struct fixture f;

	(void)state;
	make(&f, 80);
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
		if (word(&f, rows[i].name, rows[i].at) != word(&f, rows[i].as, rows[i].as_at))
			fail_msg("%s is not %s", rows[i].name, rows[i].as);
	assert_int_not_equal(word(&f, "%r5", 0), word(&f, "%r6", 0));
	assert_int_not_equal(word(&f, "%rd7", 1), 0);
	assert_int_not_equal(word(&f, "%r11", 0), word(&f, "%r5", 0));
	assert_int_not_equal(word(&f, "%r14", 0), word(&f, "%r15", 0));
	fini(&f);
}

static void uniform_words_weigh_nothing_from_sm_100_on(void **state)
{
	static const struct {
		const char *name;
		int is_uniform;
	} rows[] = { { "%r4", 1 }, { "%r12", 1 }, { "%r14", 1 }, { "%r15", 1 },
		     { "%r3", 0 }, { "%r13", 0 }, { "%r5", 0 },  { "%rd3", 0 } };
	struct fixture f;

	(void)state;
	for (unsigned sm = 90; sm <= 100; sm += 10) {
		make(&f, sm);
		for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
			assert_int_equal(f.words.weight[word(&f, rows[i].name, 0)], sm < 100 || !rows[i].is_uniform);
		fini(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_known_needs_no_word),
		cmocka_unit_test(what_is_the_same_is_one_word),
		cmocka_unit_test(uniform_words_weigh_nothing_from_sm_100_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
