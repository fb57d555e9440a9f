/* SPDX-License-Identifier: MIT
 *
 * In: PTX text, where something is declared: variables with their initial
 * values, signatures, launch bounds, pragmas.  Out: symbols and functions of the
 * module being read.  Modules (parser.c) and function bodies (parse_body.c)
 * declare in the same words.
 */
#include "ptx/text/parser.h"

#include <stdio.h>
#include <string.h>

enum { INIT_MAX = 1 << 24, PRAGMAS_MAX = 256, RANGE_MAX = 1 << 10 };

/* --- variables --- */

static unsigned read_align(struct tcb_ptx_parser *p)
{
	uint64_t align = tcb_ptx_expect_int(p, "an alignment", 1 << 20);

	if (!align || (align & (align - 1)))
		tcb_ptx_parse_fail(p, p->line, "alignment %u is not a power of two", (unsigned)align);
	return (unsigned)align;
}

static void read_pointer(struct tcb_ptx_parser *p, struct tcb_ptx_symbol *symbol)
{
	enum tcb_ptx_word space;

	symbol->is_pointer = 1;
	while (p->token.kind == TCB_PTX_T_DIRECTIVE) {
		space = tcb_ptx_word_find(p->token.text, p->token.length);
		if (tcb_ptx_is_word(p, TCB_PTX_T_DIRECTIVE, "align")) {
			tcb_ptx_next(p);
			symbol->pointer_align = read_align(p);
		} else if (space == TCB_PTX_GLOBAL || space == TCB_PTX_CONST || space == TCB_PTX_SHARED ||
			   space == TCB_PTX_LOCAL) {
			symbol->pointer_space = space;
			tcb_ptx_next(p);
		} else {
			return;
		}
	}
}

/* .align 16 .v4 .f32 .ptr ...: everything between the space and the name. */
static void read_qualifiers(struct tcb_ptx_parser *p, struct tcb_ptx_symbol *symbol)
{
	while (p->token.kind == TCB_PTX_T_DIRECTIVE) {
		struct tcb_ptx_token token = p->token;
		enum tcb_ptx_word word = tcb_ptx_word_find(token.text, token.length);

		tcb_ptx_next(p);
		if (token.length == 5 && memcmp(token.text, "align", 5) == 0) {
			symbol->align = read_align(p);
		} else if (token.length == 9 && memcmp(token.text, "attribute", 9) == 0) {
			tcb_ptx_expect(p, '(');
			if (!tcb_ptx_is_word(p, TCB_PTX_T_DIRECTIVE, "managed"))
				tcb_ptx_parse_fail(p, token.line,
						   "the only attribute of variables known here is .managed");
			symbol->is_managed = 1;
			tcb_ptx_next(p);
			tcb_ptx_expect(p, ')');
		} else if (token.length == 3 && memcmp(token.text, "ptr", 3) == 0) {
			read_pointer(p, symbol);
		} else if (word == TCB_PTX_V2 || word == TCB_PTX_V4) {
			symbol->vector = word;
		} else if (tcb_ptx_is_type(word)) {
			symbol->type = word;
		} else {
			tcb_ptx_parse_unknown(p, &token, " in a declaration");
		}
	}
	if (!symbol->type)
		tcb_ptx_parse_fail(p, p->token.line, "a declaration without a type");
}

static void read_dimensions(struct tcb_ptx_parser *p, struct tcb_ptx_symbol *symbol)
{
	while (tcb_ptx_accept(p, '[')) {
		uint64_t extent = 0;

		if (symbol->dimension_count == TCB_PTX_DIMENSIONS_MAX)
			tcb_ptx_parse_fail(p, p->line, "more than %d dimensions", TCB_PTX_DIMENSIONS_MAX);
		if (!tcb_ptx_is_punct(p, ']'))
			extent = tcb_ptx_expect_int(p, "an extent", INT64_MAX);
		symbol->dimension[symbol->dimension_count++] = extent;
		tcb_ptx_expect(p, ']');
	}
	if (tcb_ptx_symbol_bytes(symbol) == UINT64_MAX)
		tcb_ptx_parse_fail(p, p->line, "'%.80s' is too large", symbol->name);
}

struct inits {
	struct tcb_ptx_init *items;
	size_t count, capacity;
};

static struct tcb_ptx_init *add_init(struct tcb_ptx_parser *p, struct inits *inits, enum tcb_ptx_init_kind kind)
{
	if (inits->count == inits->capacity) {
		size_t capacity = inits->capacity ? inits->capacity * 2 : 16;
		struct tcb_ptx_init *items = tcb_ptx_parse_alloc(p, &p->scratch, capacity, sizeof *items);

		if (inits->count)
			memcpy(items, inits->items, inits->count * sizeof *items);
		inits->items = items;
		inits->capacity = capacity;
	}
	if (inits->count == INIT_MAX)
		tcb_ptx_parse_fail(p, p->line, "more than %d initial values", INIT_MAX);
	inits->items[inits->count] = (struct tcb_ptx_init){ .kind = kind };
	return &inits->items[inits->count++];
}

/* symbol+4 or generic(symbol)+4 */
static void read_init_symbol(struct tcb_ptx_parser *p, struct tcb_ptx_init *init)
{
	struct tcb_ptx_token token = tcb_ptx_expect_ident(p, "a symbol");

	init->kind = TCB_PTX_INIT_SYMBOL;
	if (token.length == 7 && memcmp(token.text, "generic", 7) == 0 && tcb_ptx_accept(p, '(')) {
		token = tcb_ptx_expect_ident(p, "a symbol");
		tcb_ptx_expect(p, ')');
		init->kind = TCB_PTX_INIT_GENERIC;
	}
	init->symbol = tcb_ptx_parse_text(p, token.text, token.length);
	while (tcb_ptx_is_punct(p, '+') || tcb_ptx_is_punct(p, '-')) {
		int negate = 0;

		while (tcb_ptx_is_punct(p, '+') || tcb_ptx_is_punct(p, '-')) {
			negate ^= tcb_ptx_is_punct(p, '-');
			tcb_ptx_next(p);
		}
		uint64_t bits = tcb_ptx_expect_int(p, "an offset", UINT64_MAX);
		init->bits += negate ? 0 - bits : bits;
	}
}

static void read_init_value(struct tcb_ptx_parser *p, struct inits *inits)
{
	struct tcb_ptx_init *init = add_init(p, inits, TCB_PTX_INIT_INT);
	struct tcb_ptx_token token;
	int negate = 0;

	if (p->token.kind == TCB_PTX_T_IDENT) {
		read_init_symbol(p, init);
		return;
	}
	while (tcb_ptx_is_punct(p, '-') || tcb_ptx_is_punct(p, '+')) {
		negate ^= tcb_ptx_is_punct(p, '-');
		tcb_ptx_next(p);
	}
	token = p->token;
	if (token.kind == TCB_PTX_T_F32 || token.kind == TCB_PTX_T_F64) {
		init->kind = token.kind == TCB_PTX_T_F32 ? TCB_PTX_INIT_F32 : TCB_PTX_INIT_F64;
		init->bits = token.bits;
		if (negate)
			init->bits ^= token.kind == TCB_PTX_T_F32 ? 1ull << 31 : 1ull << 63;
		tcb_ptx_next(p);
		return;
	}
	init->bits = tcb_ptx_expect_int(p, "an initial value", UINT64_MAX);
	if (negate)
		init->bits = 0 - init->bits;
	if (tcb_ptx_accept(p, '(')) { /* 0xFF00(symbol): one byte of an address */
		init->mask = tcb_ptx_parse_text(p, token.text, token.length);
		init->bits = 0;
		read_init_symbol(p, init);
		tcb_ptx_expect(p, ')');
	}
}

/* After '='.  Braces are kept as marks, so nesting needs no recursion. */
static void read_init(struct tcb_ptx_parser *p, struct tcb_ptx_symbol *symbol)
{
	struct inits inits = { 0 };
	unsigned depth = 0;

	do {
		while (tcb_ptx_accept(p, '{')) {
			add_init(p, &inits, TCB_PTX_INIT_OPEN);
			depth++;
		}
		if (!tcb_ptx_is_punct(p, '}'))
			read_init_value(p, &inits);
		while (depth && tcb_ptx_accept(p, '}')) {
			add_init(p, &inits, TCB_PTX_INIT_CLOSE);
			depth--;
		}
	} while (depth && tcb_ptx_accept(p, ','));
	if (depth)
		tcb_ptx_expect(p, '}');
	symbol->init = tcb_ptx_parse_alloc(p, &p->module->arena, inits.count, sizeof *inits.items);
	memcpy(symbol->init, inits.items, inits.count * sizeof *inits.items);
	symbol->init_count = inits.count;
}

static struct tcb_ptx_symbol *new_symbol(struct tcb_ptx_parser *p, enum tcb_ptx_word space)
{
	struct tcb_ptx_symbol *symbol = tcb_ptx_parse_alloc(p, &p->module->arena, 1, sizeof *symbol);

	symbol->space = space;
	symbol->line = p->token.line;
	symbol->item = p->module->item_count++;
	return symbol;
}

/* A variable as DECLARED of the name TOKEN, in front of its dimensions. */
static struct tcb_ptx_symbol *add_variable(struct tcb_ptx_parser *p, const struct tcb_ptx_symbol *declared,
					   const struct tcb_ptx_token *token)
{
	struct tcb_ptx_symbol *symbol = new_symbol(p, declared->space);
	uint32_t item = symbol->item;

	*symbol = *declared;
	symbol->item = item;
	symbol->line = token->line;
	symbol->name = p->depth ? tcb_ptx_printed_name(p, token, 0) : tcb_ptx_parse_text(p, token->text, token->length);
	tcb_ptx_name_add(p, token, TCB_PTX_N_SYMBOL)->symbol = symbol;
	return symbol;
}

static void append(struct tcb_ptx_symbol ***list_end, struct tcb_ptx_symbol *symbol)
{
	**list_end = symbol;
	*list_end = &symbol->next;
}

/* After "name<": the variables name0, name1, ... */
static void add_range(struct tcb_ptx_parser *p, const struct tcb_ptx_symbol *declared,
		      const struct tcb_ptx_token *token, struct tcb_ptx_symbol ***list_end)
{
	uint32_t count = (uint32_t)tcb_ptx_expect_int(p, "the number of variables", RANGE_MAX);

	tcb_ptx_expect(p, '>');
	for (uint32_t i = 0; i < count; i++) {
		struct tcb_ptx_token each = *token;
		char *text = tcb_ptx_parse_alloc(p, &p->module->arena, token->length + 12, 1);

		each.length += (size_t)snprintf(text + token->length, 12, "%u", i);
		memcpy(text, token->text, token->length);
		each.text = text;
		append(list_end, add_variable(p, declared, &each));
	}
}

void tcb_ptx_parse_variables(struct tcb_ptx_parser *p, enum tcb_ptx_word space, enum tcb_ptx_linkage linkage,
			     struct tcb_ptx_symbol ***list_end)
{
	struct tcb_ptx_symbol declared = { .space = space, .linkage = linkage };

	read_qualifiers(p, &declared);
	do {
		struct tcb_ptx_token token = tcb_ptx_expect_ident(p, "a variable's name");
		struct tcb_ptx_symbol *symbol;

		if (tcb_ptx_accept(p, '<')) {
			add_range(p, &declared, &token, list_end);
			continue;
		}
		symbol = add_variable(p, &declared, &token);
		read_dimensions(p, symbol);
		if (tcb_ptx_accept(p, '='))
			read_init(p, symbol);
		append(list_end, symbol);
	} while (tcb_ptx_accept(p, ','));
	tcb_ptx_expect(p, ';');
}

/* --- functions --- */

/* (.param .u64 a, ...).  Of a prototype the names are _. */
static struct tcb_ptx_symbol *read_params(struct tcb_ptx_parser *p, int is_prototype)
{
	struct tcb_ptx_symbol *first = NULL, **end = &first;

	while (!tcb_ptx_accept(p, ')')) {
		struct tcb_ptx_symbol *param;
		struct tcb_ptx_token token;
		enum tcb_ptx_word space;

		if (first)
			tcb_ptx_expect(p, ',');
		space = p->token.kind == TCB_PTX_T_DIRECTIVE ? tcb_ptx_word_find(p->token.text, p->token.length)
							     : TCB_PTX_NO_WORD;
		if (space != TCB_PTX_PARAM)
			tcb_ptx_parse_fail(p, p->token.line, "a parameter begins with .param");
		tcb_ptx_next(p);
		param = new_symbol(p, space);
		read_qualifiers(p, param);
		token = tcb_ptx_expect_ident(p, "a parameter's name");
		if (is_prototype) {
			param->name = tcb_ptx_parse_text(p, token.text, token.length);
		} else {
			param->name = tcb_ptx_printed_name(p, &token, 0);
			tcb_ptx_name_add(p, &token, TCB_PTX_N_SYMBOL)->symbol = param;
		}
		read_dimensions(p, param);
		*end = param;
		end = &param->next;
	}
	return first;
}

static void read_dims(struct tcb_ptx_parser *p, uint32_t dims[3])
{
	dims[1] = dims[2] = 1;
	for (unsigned i = 0; i < 3; i++) {
		if (i && !tcb_ptx_accept(p, ','))
			break;
		dims[i] = (uint32_t)tcb_ptx_expect_int(p, "a launch bound", UINT32_MAX);
	}
}

const char *tcb_ptx_parse_pragma(struct tcb_ptx_parser *p)
{
	const char *text;

	if (p->token.kind != TCB_PTX_T_STRING)
		tcb_ptx_parse_fail(p, p->token.line, "expected a string after .pragma");
	text = tcb_ptx_parse_text(p, p->token.text, p->token.length);
	tcb_ptx_next(p);
	tcb_ptx_expect(p, ';');
	return text;
}

const char **tcb_ptx_parse_pragmas(struct tcb_ptx_parser *p, const char **pragmas, size_t *count)
{
	if (!pragmas)
		pragmas = tcb_ptx_parse_alloc(p, &p->module->arena, PRAGMAS_MAX, sizeof *pragmas);
	if (*count == PRAGMAS_MAX)
		tcb_ptx_parse_fail(p, p->line, "more than %d pragmas", PRAGMAS_MAX);
	pragmas[(*count)++] = tcb_ptx_parse_pragma(p);
	return pragmas;
}

static void read_directives(struct tcb_ptx_parser *p, struct tcb_ptx_function *function)
{
	struct tcb_ptx_directives *d = &function->directives;
	const struct {
		const char *name;
		uint32_t *dims, *number;
		uint8_t *flag;
	} known[] = {
		{ "maxntid", d->maxntid, NULL, NULL },
		{ "reqntid", d->reqntid, NULL, NULL },
		{ "reqnctapercluster", d->reqnctapercluster, NULL, NULL },
		{ "minnctapersm", NULL, &d->minnctapersm, NULL },
		{ "maxnctapersm", NULL, &d->maxnctapersm, NULL },
		{ "maxnreg", NULL, &d->maxnreg, NULL },
		{ "maxclusterrank", NULL, &d->maxclusterrank, NULL },
		{ "explicitcluster", NULL, NULL, &d->explicitcluster },
		{ "blocksareclusters", NULL, NULL, &d->blocksareclusters },
		{ "noreturn", NULL, NULL, &d->noreturn },
	};

	while (p->token.kind == TCB_PTX_T_DIRECTIVE) {
		struct tcb_ptx_token token = p->token;
		size_t i = 0;

		tcb_ptx_next(p);
		if (token.length == 6 && memcmp(token.text, "pragma", 6) == 0) {
			function->pragmas = tcb_ptx_parse_pragmas(p, function->pragmas, &function->pragma_count);
			continue;
		}
		while (i < sizeof known / sizeof *known &&
		       !(strlen(known[i].name) == token.length && memcmp(known[i].name, token.text, token.length) == 0))
			i++;
		if (i == sizeof known / sizeof *known)
			tcb_ptx_parse_unknown(p, &token, " of a function");
		if (known[i].dims)
			read_dims(p, known[i].dims);
		else if (known[i].number)
			*known[i].number = (uint32_t)tcb_ptx_expect_int(p, "a launch bound", UINT32_MAX);
		else
			*known[i].flag = 1;
	}
}

/* [(results)] name [(parameters)] directives.  A prototype has _ for its name and belongs to no module list. */
struct tcb_ptx_function *tcb_ptx_parse_signature(struct tcb_ptx_parser *p, struct tcb_ptx_function *function,
						 int is_prototype)
{
	struct tcb_ptx_token token;

	if (!function) {
		function = tcb_ptx_parse_alloc(p, &p->module->arena, 1, sizeof *function);
		function->symbol = new_symbol(p, TCB_PTX_NO_WORD);
		function->symbol->function = function;
		function->module = p->module;
		function->is_declaration = 1;
	}
	function->line = p->token.line;
	if (tcb_ptx_accept(p, '('))
		function->results = read_params(p, is_prototype);
	token = tcb_ptx_expect_ident(p, "a function's name");
	function->symbol->name = tcb_ptx_parse_text(p, token.text, token.length);
	function->symbol->line = token.line;
	if (tcb_ptx_accept(p, '('))
		function->params = read_params(p, is_prototype);
	read_directives(p, function);
	return function;
}
