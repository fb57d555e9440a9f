/* SPDX-License-Identifier: MIT
 *
 * The pipeline: its debugging aids, and what nvcc wrote (corpus/) through every
 * pass and all of them, verified after each; idempotent; accepted by ptxas.
 */
#include "pass_tools.h"
#include "ptx_tools.h"

static const struct {
	const char *name, *target;
} corpus[] = {
	{ "atomics", "sm_80" }, { "calls", "sm_80" },   { "cp_async", "sm_80" },
	{ "half", "sm_80" },    { "hopper", "sm_90a" }, { "mma", "sm_80" },
	{ "reduce", "sm_80" },  { "switch", "sm_80" },  { "transpose", "sm_80" },
};
enum { CORPUS_COUNT = sizeof corpus / sizeof *corpus };

static struct tcb_ptx_module *read_corpus(size_t index)
{
	char path[512], *text;
	struct tcb_ptx_module *module = NULL;
	struct tcb_error err;

	snprintf(path, sizeof path, "%s/tests/ptx/corpus/%s.ptx", TCB_SOURCE_DIR, corpus[index].name);
	text = ptx_read(path);
	assert_non_null(text);
	if (tcb_ptx_parse(corpus[index].name, text, strlen(text), &module, &err) != TCB_OK)
		fail_msg("%s", err.message);
	free(text);
	return module;
}

static char *printed(const struct tcb_ptx_module *module)
{
	struct tcb_str text = { 0 };

	tcb_ptx_print(module, &text);
	assert_false(text.failed);
	return text.data;
}

static void every_pass_keeps_the_corpus_legal(void **state)
{
	unsigned count;
	const struct tcb_ptx_pass *passes = tcb_ptx_passes(&count);
	struct tcb_ptx_pass_options options;

	(void)state;
	tcb_ptx_pass_defaults(&options);
	for (size_t i = 0; i < CORPUS_COUNT; i++)
		for (unsigned k = 0; k < count; k++) {
			struct tcb_ptx_module *module = read_corpus(i);
			char *once, *twice;
			struct tcb_error err;
			unsigned changed;

			for (unsigned round = 0; round < 2; round++) {
				for (struct tcb_ptx_function *f = module->functions; f; f = f->next) {
					if (f->is_declaration)
						continue;
					if (passes[k].run(f, &options, &changed, &err) != TCB_OK)
						fail_msg("%s, %s: %s", passes[k].name, corpus[i].name, err.message);
					if (round && changed)
						fail_msg("%s, %s: a second run changes %u", passes[k].name,
							 corpus[i].name, changed);
					assert_int_equal(tcb_ptx_cfg(f, &err), TCB_OK);
				}
				if (tcb_ptx_verify(module, &err) != TCB_OK)
					fail_msg("%s, %s: %s", passes[k].name, corpus[i].name, err.message);
				*(round ? &twice : &once) = printed(module);
			}
			assert_string_equal(once, twice);
			free(once);
			free(twice);
			tcb_ptx_module_destroy(module);
		}
}

static void the_optimised_corpus_assembles(void **state)
{
	const char *ptxas = ptx_tool("ptxas");

	(void)state;
	if (!ptxas)
		skip_because("no ptxas here");
	for (size_t i = 0; i < CORPUS_COUNT; i++) {
		struct tcb_ptx_module *module = read_corpus(i);
		struct tcb_ptx_pipeline_debug debug = { .verify = 1 };
		struct tcb_str said = { 0 };
		struct tcb_error err;
		char *text;

		if (tcb_ptx_optimise(module, NULL, &debug, &err) != TCB_OK)
			fail_msg("%s: %s", corpus[i].name, err.message);
		text = printed(module);
		if (ptx_assemble(ptxas, corpus[i].target, text, &said) != 0)
			fail_msg("ptxas refuses the optimised %s: %s\n%s", corpus[i].name, said.data, text);
		free(text);
		tcb_str_fini(&said);
		tcb_ptx_module_destroy(module);
	}
}

static size_t count_of(const char *text, const char *what)
{
	size_t count = 0;

	for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
		count++;
	return count;
}

/* Everything that DEBUG makes tcb_ptx_optimise write. */
static char *dumped(const char *body, struct tcb_ptx_pipeline_debug debug, char **lines_out)
{
	struct tcb_ptx_module *module = pass_kernel(body);
	struct tcb_error err;
	char *text = NULL;
	size_t size;

	debug.dump = open_memstream(&text, &size);
	assert_non_null(debug.dump);
	if (tcb_ptx_optimise(module, NULL, &debug, &err) != TCB_OK)
		fail_msg("%s", err.message);
	fclose(debug.dump);
	if (lines_out)
		*lines_out = pass_lines(module->functions);
	tcb_ptx_module_destroy(module);
	return text;
}

static void dumps_and_stops_where_it_is_told(void **state)
{
	const char *body = "mov.u32 %x4, 2;\nmul.lo.u32 %x5, %x0, %x4;\nst.global.u32 [%z0], %x5;\n";
	char *text, *lines;

	(void)state;
	text = dumped(body, (struct tcb_ptx_pipeline_debug){ .dump_after = "const_fold", .stop_after = "strength" },
		      &lines);
	assert_int_equal(count_of(text, "// kernel after const_fold:"), 3);
	assert_int_equal(count_of(text, "// "), 3);
	assert_string_equal(lines, "shl.b32 %x5, %x0, 1;\nst.global.u32 [%z0], %x5;\n");
	free(text);
	free(lines);
	text = dumped(body, (struct tcb_ptx_pipeline_debug){ .dump_after = "all", .verify = 1 }, &lines);
	for (unsigned i = 0, count; i < (tcb_ptx_passes(&count), count); i++) {
		char line[64];

		snprintf(line, sizeof line, "after %s:", tcb_ptx_passes(&count)[i].name);
		assert_true(count_of(text, line) >= 1);
	}
	assert_string_equal(lines, "shl.b32 %x5, %x0, 1;\nst.global.u32 [%z0], %x5;\n");
	free(text);
	free(lines);
}

static void unknown_names_are_refused(void **state)
{
	struct tcb_ptx_module *module = pass_kernel("");
	struct tcb_ptx_pipeline_debug debug = { .stop_after = "no_such_pass" };
	struct tcb_error err;

	(void)state;
	assert_int_equal(tcb_ptx_optimise(module, NULL, &debug, &err), TCB_E_USAGE);
	assert_non_null(strstr(err.message, "no_such_pass"));
	debug = (struct tcb_ptx_pipeline_debug){ .dump_after = "no_such_pass" };
	assert_int_equal(tcb_ptx_optimise(module, NULL, &debug, &err), TCB_E_USAGE);
	assert_null(tcb_ptx_pass_find("no_such_pass"));
	assert_non_null(tcb_ptx_pass_find("cse"));
	tcb_ptx_module_destroy(module);
}

/* Control: what is illegal is found after the first pass and names it. */
static void the_verifier_runs_between_passes(void **state)
{
	struct tcb_ptx_module *module = pass_kernel("add.f32 %y4, %y0, %y1;\nst.global.f32 [%z0], %y4;\n");
	struct tcb_ptx_pipeline_debug debug = { .verify = 1 };
	struct tcb_error err;

	(void)state;
	for (struct tcb_ptx_ins *ins = module->functions->first->first; ins; ins = ins->next)
		if (ins->op == TCB_PTX_OP_ADD)
			ins->operands[1].reg = ins->next->operands[0].reg; /* a 64-bit register */
	assert_int_equal(tcb_ptx_optimise(module, NULL, NULL, &err), TCB_OK);
	assert_int_equal(tcb_ptx_optimise(module, NULL, &debug, &err), TCB_E_FAILED);
	assert_non_null(strstr(err.message, "after the pass const_fold: kernel:"));
	tcb_ptx_module_destroy(module);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_pass_keeps_the_corpus_legal), cmocka_unit_test(the_optimised_corpus_assembles),
		cmocka_unit_test(dumps_and_stops_where_it_is_told),  cmocka_unit_test(unknown_names_are_refused),
		cmocka_unit_test(the_verifier_runs_between_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
