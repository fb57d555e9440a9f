/* SPDX-License-Identifier: MIT
 *
 * Source lines of PTX text: which file, line and column each instruction comes
 * from, which calls it was inlined through, and that odd debug sections cost
 * names but not the text.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "ptx/text/text.h"

#define HEAD ".version 7.2\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n\t.reg .b32 %r<4>;\n"

static struct tcb_ptx_module *parse(const char *text)
{
	struct tcb_ptx_module *module;
	struct tcb_error err;

	if (tcb_ptx_parse("loc.ptx", text, strlen(text), &module, &err) != TCB_OK)
		fail_msg("%s", err.message);
	return module;
}

/* "file:line:column function; file:line:column" from the inside out. */
static const char *place(const struct tcb_ptx_source *source)
{
	static char out[512];
	size_t used = 0;

	out[0] = '\0';
	for (; source; source = source->inlined_at)
		used += (size_t)snprintf(out + used, sizeof out - used, "%s%s:%u:%u%s%s", used ? "; " : "",
					 source->file ? source->file : "?", source->line, source->column,
					 source->function ? " " : "", source->function ? source->function : "");
	return out;
}

static const struct tcb_ptx_ins *instruction(const struct tcb_ptx_module *module, unsigned number)
{
	for (struct tcb_ptx_block *block = module->functions->first; block; block = block->next)
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			if (ins->number == number)
				return ins;
	fail_msg("there is no instruction %u", number);
	return NULL;
}

static void calls_that_were_inlined_make_a_chain(void **state)
{
	static const char text[] =
		HEAD "\tmov.u32 %r1, 0;\n"
		     "\t.loc 1 17 0\n\tmov.u32 %r1, 1;\n"
		     "\t.loc 1 22 2\n"
		     "\t.loc 2 11 4, function_name $L__info_string0, inlined_at 1 22 2\n"
		     "\t.loc 2 6 8, function_name $L__info_string1, inlined_at 2 11 4\n"
		     "\tmov.u32 %r2, 2;\n"
		     "\t.loc 2 11 4, function_name $L__info_string1+2, inlined_at 1 22 2\n"
		     "\tmov.u32 %r2, 3;\n"
		     "\t.loc 1 23 1\n\tret;\n}\n"
		     "\t.file 1 \"/src/a.cu\"\n\t.file 2 \"/src/b.cuh\", 17, 4\n"
		     "\t.section .debug_str\n\t{\n"
		     "$L__info_string0:\n.b8 95,90,49,0\n"
		     "$L__info_string1:\n.b8 104 // string offset=4\n.b8 0x65\n.b8 108,112\n.b8 0\n\t}\n";
	struct tcb_ptx_module *module = parse(text);

	(void)state;
	assert_null(instruction(module, 0)->source);
	assert_string_equal(place(instruction(module, 1)->source), "/src/a.cu:17:0");
	assert_string_equal(place(instruction(module, 2)->source),
			    "/src/b.cuh:6:8 help; /src/b.cuh:11:4 _Z1; /src/a.cu:22:2");
	assert_string_equal(place(instruction(module, 3)->source), "/src/b.cuh:11:4 lp; /src/a.cu:22:2");
	assert_string_equal(place(instruction(module, 4)->source), "/src/a.cu:23:1");
	assert_string_equal(place(module->functions->source), "/src/a.cu:17:0");
	tcb_ptx_module_destroy(module);
}

static void what_is_missing_is_left_out(void **state)
{
	static const struct {
		const char *loc, *sections, *place;
	} cases[] = {
		{ "1 5 6", "", "?:5:6" },
		{ "1 5 6, function_name $L, inlined_at 3 7 8", ".file 1 \"a\"", "a:5:6; ?:7:8" },
		{ "1 5 6, function_name $L", ".file 1 \"a\"\n.section .debug_str { $M: .b8 97,0 }", "a:5:6" },
		{ "1 5 6, function_name $L", ".file 1 \"a\"\n.section .debug_str { $L: .b8 97,98 }", "a:5:6" },
		{ "1 5 6, function_name $L", ".file 1 \"a\"\n.section .debug_str { $L: }", "a:5:6" },
		{ "1 5 6, function_name $L+9", ".file 1 \"a\"\n.section .debug_str { $L: .b8 97,0 }", "a:5:6" },
		{ "1 5 6, function_name $L", ".section .debug_abbrev { $L: .b8 97,0 }\n.file 1 \"a\"", "a:5:6" },
		{ "1 5 6, function_name $L", ".file 1 \"a\"\n.section .debug_str { $L:.b8 0 }", "a:5:6 " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[1024];
		struct tcb_ptx_module *module;

		snprintf(text, sizeof text, "%s\t.loc %s\n\tret;\n}\n%s\n", HEAD, cases[i].loc, cases[i].sections);
		module = parse(text);
		assert_string_equal(place(instruction(module, 0)->source), cases[i].place);
		tcb_ptx_module_destroy(module);
	}
}

static void chains_end(void **state)
{
	struct tcb_str text = { 0 };
	struct tcb_ptx_module *module;
	unsigned length = 0;

	(void)state;
	tcb_str_add(&text, HEAD "\t.loc 1 1 1\n");
	for (int i = 0; i < 5000; i++)
		tcb_str_add(&text, "\t.loc 1 1 1, inlined_at 1 1 1\n");
	tcb_str_add(&text, "\tret;\n}\n");
	module = parse(text.data);
	for (const struct tcb_ptx_source *at = instruction(module, 0)->source; at; at = at->inlined_at)
		length++;
	assert_in_range(length, 1, TCB_PTX_INLINED_MAX + 1);
	tcb_ptx_module_destroy(module);
	tcb_str_fini(&text);
}

static void many_places_and_names(void **state)
{
	enum { MANY = 20000 };
	struct tcb_str text = { 0 };
	struct tcb_ptx_module *module;
	char last[64];

	(void)state;
	tcb_str_add(&text, HEAD);
	for (int i = 0; i < MANY; i++)
		tcb_str_addf(&text, "\t.loc 1 %d 1\n\t.loc 1 %d 2, function_name $L%d, inlined_at 1 %d 1\n", i, i, i,
			     i);
	tcb_str_add(&text, "\tret;\n}\n.file 1 \"a\"\n.section .debug_str {\n");
	for (int i = 0; i < MANY; i++)
		tcb_str_addf(&text, "$L%d: .b8 %d,%d,0\n", i, 'a' + i % 26, 'a' + i % 25);
	tcb_str_add(&text, "}\n");
	module = parse(text.data);
	snprintf(last, sizeof last, "a:%d:2 %c%c; a:%d:1", MANY - 1, 'a' + (MANY - 1) % 26, 'a' + (MANY - 1) % 25,
		 MANY - 1);
	assert_string_equal(place(instruction(module, 0)->source), last);
	tcb_ptx_module_destroy(module);
	tcb_str_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_were_inlined_make_a_chain),
		cmocka_unit_test(what_is_missing_is_left_out),
		cmocka_unit_test(chains_end),
		cmocka_unit_test(many_places_and_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
