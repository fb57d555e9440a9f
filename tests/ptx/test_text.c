/* SPDX-License-Identifier: MIT
 *
 * PTX as text: what nvcc made of corpus/NAME.cu (corpus/NAME.ptx) is read,
 * printed, read again and printed to the same bytes; ptxas, where it is found,
 * accepts what is printed; damaged text ends in one error with a line number.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ptx/text/text.h"
#include "ptx_tools.h"

static const struct {
	const char *name, *target;
} corpus[] = {
	{ "atomics", "sm_80" },      { "calls", "sm_80" },           { "cp_async", "sm_80" },
	{ "half", "sm_80" },         { "hopper", "sm_90a" },         { "integer", "sm_80" },
	{ "locals", "sm_80" },       { "shuffles", "sm_80" },        { "mma", "sm_80" },
	{ "reduce", "sm_80" },       { "switch", "sm_80" },          { "transpose", "sm_80" },
	{ "block_reduce", "sm_80" }, { "histogram", "sm_80" },       { "softmax_row", "sm_80" },
	{ "tiled_gemm", "sm_80" },   { "tiled_transpose", "sm_80" }, { "warp_specialised", "sm_90a" },
};
enum { CORPUS_COUNT = sizeof corpus / sizeof *corpus };

static char *read_corpus(const char *name, size_t *length_out)
{
	char path[512];
	FILE *file;
	char *text = calloc(1, 1 << 20);

	assert_non_null(text);
	snprintf(path, sizeof path, "%s/tests/ptx/corpus/%s.ptx", TCB_SOURCE_DIR, name);
	file = fopen(path, "r");
	assert_non_null(file);
	*length_out = fread(text, 1, (1 << 20) - 1, file);
	fclose(file);
	assert_true(*length_out > 0);
	return text;
}

/* Parses TEXT, which must be right, and prints it. */
static void reprint(const char *name, const char *text, size_t length, struct tcb_str *out)
{
	struct tcb_ptx_module *module;
	struct tcb_error err;

	if (tcb_ptx_parse(name, text, length, &module, &err) != TCB_OK)
		fail_msg("%s", err.message);
	tcb_ptx_print(module, out);
	assert_false(out->failed);
	tcb_ptx_module_destroy(module);
}

static void print_parse_print_is_the_identity(void **state)
{
	(void)state;
	for (size_t i = 0; i < CORPUS_COUNT; i++) {
		struct tcb_str once = { 0 }, twice = { 0 };
		size_t length;
		char *text = read_corpus(corpus[i].name, &length);

		reprint(corpus[i].name, text, length, &once);
		reprint(corpus[i].name, once.data, once.length, &twice);
		assert_string_equal(once.data, twice.data);
		tcb_str_fini(&once);
		tcb_str_fini(&twice);
		free(text);
	}
}

static void what_is_printed_assembles(void **state)
{
	const char *ptxas = ptx_tool("ptxas");

	(void)state;
	if (!ptxas)
		skip_because("no ptxas here");
	for (size_t i = 0; i < CORPUS_COUNT; i++) {
		struct tcb_str out = { 0 }, said = { 0 };
		size_t length;
		char *text = read_corpus(corpus[i].name, &length);

		reprint(corpus[i].name, text, length, &out);
		if (ptx_assemble(ptxas, corpus[i].target, out.data, &said) != 0)
			fail_msg("ptxas refuses what was printed of %s: %s", corpus[i].name, said.data);
		tcb_str_fini(&said);
		tcb_str_fini(&out);
		free(text);
	}
}

/* Every prefix and many single-byte changes: parsed or refused with a line number, never more. */
static void damaged_text_is_refused_with_a_line(void **state)
{
	struct tcb_rng rng;
	size_t refused = 0;

	(void)state;
	tcb_rng_init(&rng, 3);
	for (size_t i = 0; i < CORPUS_COUNT; i++) {
		size_t length;
		char *text = read_corpus(corpus[i].name, &length);

		for (size_t round = 0; round < 600; round++) {
			size_t cut = round % 2 ? length : tcb_rng_below(&rng, length);
			size_t at = tcb_rng_below(&rng, length);
			char before = text[at];
			struct tcb_ptx_module *module;
			struct tcb_error err;

			if (round % 2)
				text[at] = (char)tcb_rng_next(&rng);
			if (tcb_ptx_parse("damaged", text, cut, &module, &err) == TCB_OK) {
				tcb_ptx_module_destroy(module);
			} else {
				unsigned line;

				refused++;
				if (sscanf(err.message, "damaged:%u: ", &line) != 1 || line == 0)
					fail_msg("no line number: %s", err.message);
			}
			text[at] = before;
		}
		free(text);
	}
	assert_true(refused > CORPUS_COUNT * 300);
}

static void mistakes_are_named_with_their_line(void **state)
{
	static const struct {
		const char *text;
		unsigned line;
	} cases[] = {
		{ ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n\tfrob.u32 %r1, %r2;\n}\n", 6 },
		{ ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n\tmov.u32 %r1, 1;\n\tret;\n}\n", 6 },
		{ ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n\t.reg .b32 %r<4>;\n\tbra "
		  "nowhere;\n}\n",
		  7 },
		{ ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(\n", 5 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tcb_ptx_module *module;
		struct tcb_error err;
		unsigned line;

		if (tcb_ptx_parse("case", cases[i].text, strlen(cases[i].text), &module, &err) == TCB_OK)
			fail_msg("case %zu was accepted", i);
		assert_int_equal(sscanf(err.message, "case:%u: ", &line), 1);
		if (line != cases[i].line)
			fail_msg("case %zu: expected line %u: %s", i, cases[i].line, err.message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(print_parse_print_is_the_identity),
		cmocka_unit_test(what_is_printed_assembles),
		cmocka_unit_test(damaged_text_is_refused_with_a_line),
		cmocka_unit_test(mistakes_are_named_with_their_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
