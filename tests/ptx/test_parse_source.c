/* SPDX-License-Identifier: MIT
 *
 * Source lines and names of PTX text: which file, line and column each instruction comes
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

/* Two kinds of entries, and what nvcc -G says of a parameter and a shared variable; "local" is at an offset. */
#define ABBREV                                                                                    \
	"\t.section .debug_abbrev\n\t{\n.b8 1,17,1,37,8,0,0\n.b8 2\n.b8 5,0,2,10,51,11,3,8,0,0\n" \
	".b8 3,52,0,3,8,73,19,2,10,135,64,8,0,0\n.b8 0\n\t}\n"
#define UNIT "\t.section .debug_info\n\t{\n.b32 80\n.b8 2,0\n.b32 .debug_abbrev\n.b8 8\n.b8 1,108,0\n"
#define PARAMETER ".b8 2\n.b8 9\n.b8 3 // an address\n.b64 k_param_0\n.b8 7\n.b8 111,117,116,0\n"
#define SHARED ".b8 3\n.b8 116,105,108,101,0\n.b32 143\n.b8 9,3\n.b64 _Ztile\n.b8 0x5f,0\n"
#define LOCAL ".b8 3\n.b8 97,0\n.b32 143\n.b8 11,3\n.b64 depot\n.b8 35,8\n.b8 0\n"

static void names_of_variables_come_from_debug_sections(void **state)
{
	static const struct {
		const char *sections, *parameter, *shared;
	} cases[] = {
		{ ABBREV UNIT PARAMETER SHARED LOCAL "\t}\n", "out", "tile" },
		{ UNIT SHARED PARAMETER LOCAL "\t}\n" ABBREV, "out", "tile" },
		{ ABBREV UNIT LOCAL SHARED "\t}\n", NULL, "tile" },
		{ ABBREV UNIT PARAMETER ".b8 99\n" SHARED "\t}\n", "out", NULL }, /* an unknown kind */
		{ ABBREV UNIT PARAMETER ".b8 3,116\n\t}\n", "out", NULL },        /* cut */
		{ UNIT PARAMETER SHARED "\t}\n", NULL, NULL },
		{ ABBREV, NULL, NULL },
		{ ABBREV UNIT "\t}\n", NULL, NULL },
		{ "\t.section .debug_abbrev { .b8 1 }\n" UNIT PARAMETER "\t}\n", NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tcb_str text = { 0 };
		struct tcb_ptx_module *module;
		const struct tcb_ptx_function *function;
		const char *names[2];

		tcb_str_add(&text, ".version 7.2\n.target sm_80\n.address_size 64\n"
				   ".visible .entry k(.param .u64 k_param_0)\n{\n"
				   "\t.shared .align 4 .b8 _Ztile[4];\n\t.local .align 4 .b8 depot[16];\n\tret;\n}\n");
		tcb_str_add(&text, cases[i].sections);
		module = parse(text.data);
		function = module->functions;
		names[0] = function->params->source_name;
		names[1] = function->locals->source_name;
		assert_null(function->locals->next->source_name);
		for (int k = 0; k < 2; k++) {
			const char *wanted = k ? cases[i].shared : cases[i].parameter;

			if (wanted ? !names[k] || strcmp(names[k], wanted) != 0 : names[k] != NULL)
				fail_msg("case %zu: %s, not %s", i, names[k] ? names[k] : "none",
					 wanted ? wanted : "none");
		}
		tcb_ptx_module_destroy(module);
		tcb_str_fini(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_were_inlined_make_a_chain),
		cmocka_unit_test(what_is_missing_is_left_out),
		cmocka_unit_test(chains_end),
		cmocka_unit_test(many_places_and_names),
		cmocka_unit_test(names_of_variables_come_from_debug_sections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
