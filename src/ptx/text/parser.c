/* SPDX-License-Identifier: MIT
 *
 * In: PTX text.  Out: a module.  This file reads what stands outside function
 * bodies: the header, and which declarations and functions there are.  Recursive
 * descent with one token of look-ahead; nothing recurses on the input's nesting.
 */
#include "ptx/text/parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- functions --- */

static void read_function(struct tcb_ptx_parser *p, int is_entry, enum tcb_ptx_linkage linkage)
{
	struct tcb_ptx_function *function = tcb_ptx_function_add(p->module, "");
	struct tcb_ptx_token token;
	struct tcb_error err;

	if (!function)
		tcb_ptx_parse_fail(p, p->line, "out of memory");
	function->is_entry = is_entry;
	function->symbol->linkage = linkage;
	p->taken = (struct tcb_ptx_names){ 0 };
	tcb_ptx_scope_open(p);
	tcb_ptx_parse_signature(p, function, 0);
	/* known outside from here on, so that it may call itself */
	token = (struct tcb_ptx_token){ .text = function->symbol->name,
					.length = strlen(function->symbol->name),
					.line = function->symbol->line };
	{
		struct tcb_ptx_scope *inner = p->scope;

		p->scope = NULL;
		p->depth = 0;
		tcb_ptx_name_add(p, &token, TCB_PTX_N_SYMBOL)->symbol = function->symbol;
		p->scope = inner;
		p->depth = 1;
	}
	if (tcb_ptx_accept(p, '{')) {
		tcb_ptx_parse_body(p, function);
		tcb_ptx_scope_close(p);
		tcb_ptx_next(p);
		if (tcb_ptx_cfg(function, &err) != TCB_OK)
			tcb_ptx_parse_fail(p, function->line, "%s", err.message);
		tcb_ptx_number(function);
	} else {
		function->is_declaration = 1;
		tcb_ptx_scope_close(p);
		tcb_ptx_expect(p, ';');
	}
	p->function = NULL;
}

/* --- the module --- */

/* "9.0" */
static void read_version(struct tcb_ptx_parser *p)
{
	unsigned major = 0, minor = 0;
	char text[16] = "";

	if (p->token.kind == TCB_PTX_T_F64 && p->token.length < sizeof text)
		memcpy(text, p->token.text, p->token.length);
	if (sscanf(text, "%2u.%1u", &major, &minor) != 2)
		tcb_ptx_parse_fail(p, p->token.line, "expected a version such as 9.0");
	p->module->version = major * 10 + minor;
	tcb_ptx_next(p);
}

static void read_target(struct tcb_ptx_parser *p)
{
	do {
		struct tcb_ptx_token token = tcb_ptx_expect_ident(p, "a target");

		if (token.length == 5 && memcmp(token.text, "debug", 5) == 0)
			p->module->has_debug = 1;
		else if (token.length > 7 && memcmp(token.text, "texmode", 7) == 0)
			continue;
		else if (!tcb_ptx_target_parse(token.text, token.length, &p->module->target))
			tcb_ptx_parse_fail(p, token.line, "unknown target '%.*s'",
					   token.length > 40 ? 40 : (int)token.length, token.text);
	} while (tcb_ptx_accept(p, ','));
}

static void read_alias(struct tcb_ptx_parser *p)
{
	struct tcb_ptx_alias *alias = tcb_ptx_parse_alloc(p, &p->module->arena, 1, sizeof *alias);
	struct tcb_ptx_token name = tcb_ptx_expect_ident(p, "an alias"), of;

	tcb_ptx_expect(p, ',');
	of = tcb_ptx_expect_ident(p, "a function");
	tcb_ptx_expect(p, ';');
	alias->name = tcb_ptx_parse_text(p, name.text, name.length);
	alias->of = tcb_ptx_parse_text(p, of.text, of.length);
	*p->aliases_end = alias;
	p->aliases_end = &alias->next;
}

/* Something that declares, after its linkage. */
static void read_declaration(struct tcb_ptx_parser *p, enum tcb_ptx_linkage linkage)
{
	struct tcb_ptx_token token = p->token;
	enum tcb_ptx_word space = tcb_ptx_word_find(token.text, token.length);

	if (token.kind != TCB_PTX_T_DIRECTIVE)
		tcb_ptx_parse_fail(p, token.line, "expected a declaration");
	tcb_ptx_next(p);
	if (space == TCB_PTX_GLOBAL || space == TCB_PTX_CONST || space == TCB_PTX_SHARED)
		tcb_ptx_parse_variables(p, space, linkage, &p->symbols_end);
	else if (token.length == 5 && memcmp(token.text, "entry", 5) == 0)
		read_function(p, 1, linkage);
	else if (token.length == 4 && memcmp(token.text, "func", 4) == 0)
		read_function(p, 0, linkage);
	else
		tcb_ptx_parse_fail(p, token.line, "unknown directive '.%.*s'",
				   token.length > 40 ? 40 : (int)token.length, token.text);
}

static void read_item(struct tcb_ptx_parser *p)
{
	static const struct {
		const char *word;
		enum tcb_ptx_linkage linkage;
	} linkages[] = { { "visible", TCB_PTX_VISIBLE },
			 { "extern", TCB_PTX_EXTERN },
			 { "weak", TCB_PTX_WEAK_LINK },
			 { "common", TCB_PTX_COMMON } };
	static const struct {
		const char *word;
		void (*read)(struct tcb_ptx_parser *p);
	} simple[] = { { "version", read_version },
		       { "target", read_target },
		       { "alias", read_alias },
		       { "section", tcb_ptx_read_section },
		       { "file", tcb_ptx_read_file } };
	struct tcb_ptx_module *module = p->module;

	for (size_t i = 0; i < sizeof linkages / sizeof *linkages; i++)
		if (tcb_ptx_is_word(p, TCB_PTX_T_DIRECTIVE, linkages[i].word)) {
			tcb_ptx_next(p);
			read_declaration(p, linkages[i].linkage);
			return;
		}
	for (size_t i = 0; i < sizeof simple / sizeof *simple; i++)
		if (tcb_ptx_is_word(p, TCB_PTX_T_DIRECTIVE, simple[i].word)) {
			tcb_ptx_next(p);
			simple[i].read(p);
			return;
		}
	if (tcb_ptx_is_word(p, TCB_PTX_T_DIRECTIVE, "address_size")) {
		tcb_ptx_next(p);
		module->address_size = (unsigned)tcb_ptx_expect_int(p, "32 or 64", 64);
	} else if (tcb_ptx_is_word(p, TCB_PTX_T_DIRECTIVE, "pragma")) {
		tcb_ptx_next(p);
		module->pragmas = tcb_ptx_parse_pragmas(p, module->pragmas, &module->pragma_count);
	} else if (!tcb_ptx_accept(p, ';')) {
		read_declaration(p, TCB_PTX_STATIC);
	}
}

enum tcb_status tcb_ptx_parse(const char *name, const char *text, size_t length, struct tcb_ptx_module **module_out,
			      struct tcb_error *err)
{
	struct tcb_ptx_parser *p = calloc(1, sizeof *p); /* on the heap: longjmp leaves it defined */
	enum tcb_status status;

	*module_out = NULL;
	if (!p || !(p->module = tcb_ptx_module_create())) {
		free(p);
		return tcb_fail(err, TCB_E_NOMEM, "%.80s: out of memory", name);
	}
	p->file = name;
	p->at = text;
	p->end = text + length;
	p->line = 1;
	p->err = err;
	p->symbols_end = &p->module->symbols;
	p->aliases_end = &p->module->aliases;
	if (setjmp(p->failed) == 0) {
		tcb_ptx_next(p);
		if (!tcb_ptx_is_word(p, TCB_PTX_T_DIRECTIVE, "version"))
			tcb_ptx_parse_fail(p, p->token.line, "PTX begins with .version");
		while (p->token.kind != TCB_PTX_T_END)
			read_item(p);
		tcb_ptx_name_sources(p);
	}
	status = p->status;
	if (status == TCB_OK)
		*module_out = p->module;
	else
		tcb_ptx_module_destroy(p->module);
	tcb_arena_fini(&p->scratch);
	free(p);
	return status;
}
