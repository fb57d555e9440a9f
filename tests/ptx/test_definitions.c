/* SPDX-License-Identifier: MIT
 *
 * Registers that are read and written on no path before (legality.h): random flow
 * graphs held against the plain search, and the time that verifying takes, which
 * grows as the kernel does.
 */
#include "ptx_tools.h"

#include "ptx/analyse/legality.h"
#include "ptx/ir/finding.h"
#include "ptx/text/text.h"

enum { RANDOM_BLOCKS = 12, RANDOM_REGS = 80, RANDOM_FUNCTIONS = 300 };

/* Block B writes the registers of writes[B] after it read those of reads[B], and goes on to next[B]. */
struct random_function {
	uint8_t writes[RANDOM_BLOCKS][RANDOM_REGS], reads[RANDOM_BLOCKS][RANDOM_REGS];
	int next[RANDOM_BLOCKS][2]; /* -1: none */
};

static void make_function(struct random_function *f, struct tcb_rng *rng)
{
	memset(f, 0, sizeof *f);
	for (int b = 0; b < RANDOM_BLOCKS; b++) {
		f->next[b][0] = b + 1 < RANDOM_BLOCKS ? b + 1 : -1;
		f->next[b][1] =
			b + 1 < RANDOM_BLOCKS && tcb_rng_below(rng, 3) ? (int)tcb_rng_below(rng, RANDOM_BLOCKS) : -1;
		for (int r = 0; r < RANDOM_REGS; r++) {
			f->writes[b][r] = tcb_rng_below(rng, 6) == 0 || (b == 0 && r % 4 == 0);
			f->reads[b][r] = b > 3 && tcb_rng_below(rng, 6) == 0;
		}
	}
}

static void print_function(const struct random_function *f, struct tcb_str *out)
{
	tcb_str_add(out, ".version 9.0\n.target sm_80\n.address_size 64\n");
	tcb_str_addf(out, ".entry k() {\n.reg .u32 %%u<%d>;\n.reg .u32 %%sum;\n.reg .pred %%p;\n", RANDOM_REGS);
	tcb_str_add(out, "setp.eq.u32 %p, 1, 2;\n");
	for (int b = 0; b < RANDOM_BLOCKS; b++) {
		tcb_str_addf(out, "B%d:\n", b);
		for (int r = 0; r < RANDOM_REGS; r++)
			if (f->reads[b][r])
				tcb_str_addf(out, "add.u32 %%sum, %%u%d, 1;\n", r);
		for (int r = 0; r < RANDOM_REGS; r++)
			if (f->writes[b][r])
				tcb_str_addf(out, "mov.u32 %%u%d, %d;\n", r, b);
		if (f->next[b][1] >= 0)
			tcb_str_addf(out, "@%%p bra B%d;\n", f->next[b][1]);
	}
	tcb_str_add(out, "ret;\n}\n");
}

/* Whether a path from the entry reaches a read of REG without a write. */
static int is_undefined(const struct random_function *f, int reg)
{
	int seen[RANDOM_BLOCKS] = { 1 }, stack[RANDOM_BLOCKS] = { 0 }, depth = 1;

	while (depth) {
		int b = stack[--depth];

		if (f->reads[b][reg])
			return 1;
		for (int k = 0; k < 2 && !f->writes[b][reg]; k++)
			if (f->next[b][k] >= 0 && !seen[f->next[b][k]]) {
				seen[f->next[b][k]] = 1;
				stack[depth++] = f->next[b][k];
			}
	}
	return 0;
}

/* Marks in SEEN the blocks that ways from the entry reach without going through AVOIDED. */
static void walk_around(const struct random_function *f, int avoided, int seen[RANDOM_BLOCKS])
{
	int stack[RANDOM_BLOCKS] = { 0 }, depth = avoided != 0;

	memset(seen, 0, RANDOM_BLOCKS * sizeof *seen);
	seen[0] = depth;
	while (depth) {
		int b = stack[--depth];

		for (int k = 0; k < 2; k++) {
			int next = f->next[b][k];

			if (next >= 0 && next != avoided && !seen[next]) {
				seen[next] = 1;
				stack[depth++] = next;
			}
		}
	}
}

/* Whether some block that can be reached reads REG and can be reached through no writer of it. */
static int is_never_written(const struct random_function *f, int reg)
{
	int reached[RANDOM_BLOCKS], before[RANDOM_BLOCKS];

	walk_around(f, -1, reached);
	for (int b = 0; b < RANDOM_BLOCKS; b++) {
		int is_written = 0;

		walk_around(f, b, before);
		for (int w = 0; w < RANDOM_BLOCKS; w++)
			is_written |= before[w] && f->writes[w][reg];
		if (reached[b] && f->reads[b][reg] && !is_written)
			return 1;
	}
	return 0;
}

struct noted {
	uint8_t errors[RANDOM_REGS], warnings[RANDOM_REGS];
};

static void note_undefined(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct noted *noted = ctx;
	const char *name = strstr(finding->message, "%u");

	assert_int_equal(finding->rule, TCB_PTX_RULE_UNDEFINED);
	assert_non_null(name);
	(finding->severity == TCB_PTX_ERROR ? noted->errors : noted->warnings)[atoi(name + 2)]++;
}

/* An error: on no way to the read is it written; a warning: not on every way; and what we build ourselves has neither.
 */
static void definitions_are_found_on_all_paths(void **state)
{
	unsigned proved = 0, undefined = 0, warned = 0, defined = 0;
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 5);
	for (int i = 0; i < RANDOM_FUNCTIONS; i++) {
		struct noted noted = { 0 };
		struct tcb_ptx_sink sink = { note_undefined, &noted };
		struct random_function f;
		struct tcb_ptx_module *module;
		struct tcb_str text = { 0 };
		struct tcb_error err;
		int any = 0;

		make_function(&f, &rng);
		print_function(&f, &text);
		if (tcb_ptx_parse("random", text.data, text.length, &module, &err) != TCB_OK)
			fail_msg("%s", err.message);
		tcb_ptx_verify_each(module, &sink);
		for (int r = 0; r < RANDOM_REGS; r++) {
			int wanted = is_never_written(&f, r), may_be = is_undefined(&f, r);

			if (noted.errors[r] != wanted || noted.errors[r] + noted.warnings[r] > may_be)
				fail_msg("function %d: %%u%d is %sundefined on %s, %u errors, %u warnings\n%s", i, r,
					 may_be ? "" : "not ", wanted ? "all paths" : "a path", noted.errors[r],
					 noted.warnings[r], text.data);
			any |= may_be;
			warned += noted.warnings[r];
			*(wanted ? &proved : may_be ? &undefined : &defined) += 1;
		}
		assert_int_equal(tcb_ptx_verify(module, &err), any ? TCB_E_FORMAT : TCB_OK);
		tcb_ptx_module_destroy(module);
		tcb_str_fini(&text);
	}
	print_message("%u undefined on all paths, %u on some, of which %u are likely\n", proved, undefined, warned);
	assert_true(proved > 300 && undefined > 300 && warned > 10 && defined > 1000);
}

/* Registers written on both sides of an if and read and written in thousands of blocks: nothing dominates. */
static double verify_long(unsigned count)
{
	unsigned live = count / 20;
	struct tcb_ptx_module *module;
	struct tcb_str text = { 0 };
	struct tcb_error err;
	uint64_t start;

	tcb_str_add(&text, ".version 9.0\n.target sm_80\n.address_size 64\n");
	tcb_str_addf(&text, ".entry k() {\n.reg .u32 %%u<%u>;\n.reg .pred %%p;\nsetp.eq.u32 %%p, 1, 2;\n@%%p bra A;\n",
		     live);
	for (unsigned r = 0; r < live; r++)
		tcb_str_addf(&text, "mov.u32 %%u%u, 1;\n", r);
	tcb_str_add(&text, "bra B;\nA:\n");
	for (unsigned r = 0; r < live; r++)
		tcb_str_addf(&text, "mov.u32 %%u%u, 2;\n", r);
	tcb_str_add(&text, "B:\n");
	for (unsigned i = 0; i < (count - 2 * live) / 3; i++)
		tcb_str_addf(&text, "setp.eq.u32 %%p, %%u%u, 2;\n@%%p bra L%u;\nadd.u32 %%u%u, %%u%u, 1;\nL%u:\n",
			     i * 7 % live, i, i * 5 % live, i * 11 % live, i);
	tcb_str_add(&text, "ret;\n}\n");
	if (tcb_ptx_parse("long", text.data, text.length, &module, &err) != TCB_OK)
		fail_msg("%s", err.message);
	start = tcb_clock_ns();
	if (tcb_ptx_verify(module, &err) != TCB_OK)
		fail_msg("%s", err.message);
	start = tcb_clock_ns() - start;
	tcb_ptx_module_destroy(module);
	tcb_str_fini(&text);
	return (double)start / count;
}

static void verifying_is_linear(void **state)
{
	double small, middle, large;

	(void)state;
	small = verify_long(1000);
	middle = verify_long(10000);
	large = verify_long(100000);
	print_message("verifying: %.0f, %.0f, %.0f ns an instruction of 1 k, 10 k, 100 k\n", small, middle, large);
	assert_true(large < 100 * small + 20000); /* quadratic would be far above */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(definitions_are_found_on_all_paths),
		cmocka_unit_test(verifying_is_linear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
