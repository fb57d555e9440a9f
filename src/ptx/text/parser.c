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

enum { UNREAD_MAX = 1000 };

/* --- what cannot be read --- */

/* Runs READ; 0 if it failed, which only foreign text may. */
static int attempt(struct tcb_ptx_parser *p, void (*read)(struct tcb_ptx_parser *p))
{
	jmp_buf outer;

	if (!p->is_foreign) {
		read(p);
		return 1;
	}
	memcpy(&outer, &p->failed, sizeof outer);
	if (setjmp(p->failed) == 0) {
		read(p);
		memcpy(&p->failed, &outer, sizeof outer);
		return 1;
	}
	memcpy(&p->failed, &outer, sizeof outer);
	if (p->status == TCB_E_NOMEM)
		longjmp(p->failed, 1);
	return 0;
}

/* Notes the failure and goes back to AT, where skipping begins. */
static void leave_unread(struct tcb_ptx_parser *p, struct tcb_ptx_function *function, const char *at, uint32_t line)
{
	struct tcb_ptx_unread *unread;

	if (++p->unread_count > UNREAD_MAX)
		longjmp(p->failed, 1);
	unread = tcb_ptx_parse_alloc(p, &p->module->arena, 1, sizeof *unread);
	unread->function = function;
	unread->why = tcb_ptx_parse_text(p, p->failed_what, strlen(p->failed_what));
	unread->line = p->failed_line;
	unread->is_unknown = p->is_unknown;
	*p->unread_end = unread;
	p->unread_end = &unread->next;
	tcb_ptx_scopes_drop(p, 0);
	p->is_unknown = 0;
	p->status = TCB_OK;
	p->function = NULL;
	p->at = at;
	p->line = line;
}

/* --- functions --- */

static void read_body(struct tcb_ptx_parser *p)
{
	struct tcb_ptx_function *function = p->function;
	struct tcb_error err;

	tcb_ptx_next(p);
	tcb_ptx_parse_body(p, function);
	tcb_ptx_scope_close(p);
	if (tcb_ptx_cfg(function, &err) != TCB_OK)
		tcb_ptx_parse_fail(p, function->line, "%s", err.message);
	tcb_ptx_number(function);
}

/* A function whose body cannot be read is left as if it were declared only. */
static void forget_body(struct tcb_ptx_function *function)
{
	function->first = function->last = NULL;
	function->locals = NULL;
	function->tables = NULL;
	function->prototypes = NULL;
	function->group_count = function->reg_count = function->block_count = function->ins_count = 0;
	function->is_declaration = 1;
}

static void read_function(struct tcb_ptx_parser *p, int is_entry, enum tcb_ptx_linkage linkage)
{
	struct tcb_ptx_function *function = tcb_ptx_function_add(p->module, "");
	struct tcb_ptx_token token;

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
	if (tcb_ptx_is_punct(p, '{')) {
		const char *at = p->at;
		uint32_t line = p->line;

		p->function = function;
		if (attempt(p, read_body)) {
			tcb_ptx_next(p);
		} else {
			leave_unread(p, function, at, line);
			forget_body(function);
			tcb_ptx_skip_braces(p);
		}
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
		tcb_ptx_parse_unknown(p, &token, "");
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

/* What the rest of the text stands on: without it there is no going on. */
static int is_header(const struct tcb_ptx_parser *p)
{
	return tcb_ptx_is_word(p, TCB_PTX_T_DIRECTIVE, "version") ||
	       tcb_ptx_is_word(p, TCB_PTX_T_DIRECTIVE, "target") ||
	       tcb_ptx_is_word(p, TCB_PTX_T_DIRECTIVE, "address_size");
}

static void read_module(struct tcb_ptx_parser *p)
{
	struct tcb_ptx_module *module = p->module;

	while (p->token.kind != TCB_PTX_T_END) {
		struct tcb_ptx_function *last = module->last_function;
		const char *at = p->token.text;
		uint32_t line = p->token.line;

		if (is_header(p)) {
			read_item(p);
		} else if (!attempt(p, read_item)) {
			leave_unread(p, NULL, at, line);
			*(last ? &last->next : &module->functions) = NULL;
			module->last_function = last;
			tcb_ptx_skip_declaration(p);
		}
	}
}

static enum tcb_status parse(const char *name, const char *text, size_t length, int is_foreign,
			     struct tcb_ptx_module **module_out, struct tcb_error *err)
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
	p->is_foreign = is_foreign;
	p->symbols_end = &p->module->symbols;
	p->aliases_end = &p->module->aliases;
	p->unread_end = &p->module->unread;
	if (setjmp(p->failed) == 0) {
		tcb_ptx_next(p);
		if (!tcb_ptx_is_word(p, TCB_PTX_T_DIRECTIVE, "version"))
			tcb_ptx_parse_fail(p, p->token.line, "PTX begins with .version");
		read_module(p);
		tcb_ptx_name_sources(p);
		tcb_ptx_name_variables(p);
	}
	status = p->status;
	if (status == TCB_OK) {
		*module_out = p->module;
		if (err && p->module->unread) /* what was told of them is in the list */
			*err = (struct tcb_error){ TCB_OK, "" };
	} else {
		tcb_ptx_module_destroy(p->module);
	}
	tcb_arena_fini(&p->scratch);
	free(p);
	return status;
}

enum tcb_status tcb_ptx_parse(const char *name, const char *text, size_t length, struct tcb_ptx_module **module_out,
			      struct tcb_error *err)
{
	return parse(name, text, length, 0, module_out, err);
}

enum tcb_status tcb_ptx_parse_foreign(const char *name, const char *text, size_t length,
				      struct tcb_ptx_module **module_out, struct tcb_error *err)
{
	return parse(name, text, length, 1, module_out, err);
}
