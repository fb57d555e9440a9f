/* SPDX-License-Identifier: MIT
 *
 * In: PTX text, not necessarily terminated.  Out: one token at a time.
 *
 * Lexical rules: PTX ISA section 4.  Comments and white space separate tokens;
 * preprocessor lines (#line) are skipped.
 */
#include "ptx/text/parser.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES_MAX = 64 };

_Noreturn void tcb_ptx_parse_fail(struct tcb_ptx_parser *p, uint32_t line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(p->failed_what, sizeof p->failed_what, format, args);
	va_end(args);
	p->failed_line = line;
	p->status = tcb_fail(p->err, TCB_E_FORMAT, "%.80s:%u: %s", p->file, line, p->failed_what);
	longjmp(p->failed, 1);
}

_Noreturn void tcb_ptx_parse_unknown(struct tcb_ptx_parser *p, const struct tcb_ptx_token *token, const char *where)
{
	p->is_unknown = 1;
	tcb_ptx_parse_fail(p, token->line, "unknown directive '.%.*s'%s", token->length > 40 ? 40 : (int)token->length,
			   token->text, where);
}

void *tcb_ptx_parse_alloc(struct tcb_ptx_parser *p, struct tcb_arena *arena, size_t count, size_t size)
{
	void *block = tcb_arena_array(arena, count, size);

	if (!block) {
		p->status = tcb_fail(p->err, TCB_E_NOMEM, "%.80s:%u: out of memory", p->file, p->line);
		longjmp(p->failed, 1);
	}
	return block;
}

const char *tcb_ptx_parse_text(struct tcb_ptx_parser *p, const char *text, size_t length)
{
	char *copy = tcb_ptx_parse_alloc(p, &p->module->arena, length + 1, 1);

	memcpy(copy, text, length);
	return copy;
}

static int starts_ident(char c)
{
	return isalpha((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

static int continues_ident(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Past white space, comments and preprocessor lines. */
static void skip_blank(struct tcb_ptx_parser *p)
{
	while (p->at < p->end) {
		char c = *p->at, d = p->at + 1 < p->end ? p->at[1] : 0;

		if (c == '\n') {
			p->line++;
			p->at++;
		} else if (isspace((unsigned char)c)) {
			p->at++;
		} else if (c == '#' || (c == '/' && d == '/')) {
			while (p->at < p->end && *p->at != '\n')
				p->at++;
		} else if (c == '/' && d == '*') {
			uint32_t line = p->line;

			for (p->at += 2; p->at < p->end && !(*p->at == '*' && p->at + 1 < p->end && p->at[1] == '/');
			     p->at++)
				p->line += *p->at == '\n';
			if (p->at == p->end)
				tcb_ptx_parse_fail(p, line, "comment without end");
			p->at += 2;
		} else {
			return;
		}
	}
}

static void read_ident(struct tcb_ptx_parser *p, struct tcb_ptx_token *token)
{
	token->kind = TCB_PTX_T_IDENT;
	p->at++;
	while (p->at < p->end && continues_ident(*p->at))
		p->at++;
	/* %tid.x is one token, and so is an element of a vector; no modifier is called so */
	if (p->end - p->at >= 2 && p->at[0] == '.' && p->at[1] >= 'w' && p->at[1] <= 'z' &&
	    (p->end - p->at == 2 || !continues_ident(p->at[2])))
		p->at += 2;
	token->length = (size_t)(p->at - token->text);
}

static void read_directive(struct tcb_ptx_parser *p, struct tcb_ptx_token *token)
{
	token->kind = TCB_PTX_T_DIRECTIVE;
	token->text = ++p->at;
	while (p->at < p->end) {
		if (continues_ident(*p->at))
			p->at++;
		else if (p->end - p->at >= 3 && p->at[0] == ':' && p->at[1] == ':' && continues_ident(p->at[2]))
			p->at += 3;
		else
			break;
	}
	token->length = (size_t)(p->at - token->text);
	if (!token->length)
		tcb_ptx_parse_fail(p, p->line, "a dot without a word");
}

/* 0fHHHHHHHH and 0dHHHHHHHHHHHHHHHH */
static int read_exact_float(struct tcb_ptx_parser *p, struct tcb_ptx_token *token, const char *text, size_t length)
{
	int is_single = tolower((unsigned char)text[1]) == 'f', is_double = tolower((unsigned char)text[1]) == 'd';
	size_t digits = is_single ? 8 : 16;

	if (text[0] != '0' || length < 2 || (!is_single && !is_double))
		return 0;
	if (length != digits + 2 || strspn(text + 2, "0123456789abcdefABCDEF") != digits)
		tcb_ptx_parse_fail(p, p->line, "'%s' needs %zu hexadecimal digits", text, digits);
	token->kind = is_single ? TCB_PTX_T_F32 : TCB_PTX_T_F64;
	token->bits = strtoull(text + 2, NULL, 16);
	return 1;
}

static void read_number(struct tcb_ptx_parser *p, struct tcb_ptx_token *token)
{
	char text[NUMBER_BYTES_MAX + 1], *end;
	int is_hex, is_float = 0;

	while (p->at < p->end) {
		char c = *p->at;
		int is_exponent = is_float && (c == '+' || c == '-') && (p->at[-1] == 'e' || p->at[-1] == 'E');

		is_hex = token->text[0] == '0' && p->at - token->text >= 2 &&
			 (token->text[1] == 'x' || token->text[1] == 'X');
		if (c == '.' || ((c == 'e' || c == 'E') && !is_hex && token->text[p->at - token->text > 1] != 'd' &&
				 token->text[p->at - token->text > 1] != 'f'))
			is_float |= !(p->at - token->text >= 2 && strchr("xXfFdD", token->text[1]));
		else if (!isalnum((unsigned char)c) && !is_exponent)
			break;
		p->at++;
	}
	token->length = (size_t)(p->at - token->text);
	if (token->length > NUMBER_BYTES_MAX)
		tcb_ptx_parse_fail(p, p->line, "number of %zu characters", token->length);
	memcpy(text, token->text, token->length);
	text[token->length] = 0;
	if (read_exact_float(p, token, text, token->length))
		return;
	if (is_float) {
		double value = strtod(text, &end);

		token->kind = TCB_PTX_T_F64;
		memcpy(&token->bits, &value, sizeof value);
	} else {
		int is_binary = text[0] == '0' && (text[1] == 'b' || text[1] == 'B');

		token->kind = TCB_PTX_T_INT;
		errno = 0;
		token->bits = is_binary ? strtoull(text + 2, &end, 2) : strtoull(text, &end, 0);
		if (errno == ERANGE)
			tcb_ptx_parse_fail(p, p->line, "'%s' does not fit 64 bits", text);
		end += *end == 'U' || *end == 'u';
	}
	if (*end || end == text)
		tcb_ptx_parse_fail(p, p->line, "'%s' is not a number", text);
}

static void read_string(struct tcb_ptx_parser *p, struct tcb_ptx_token *token)
{
	token->kind = TCB_PTX_T_STRING;
	token->text = ++p->at;
	while (p->at < p->end && *p->at != '"' && *p->at != '\n')
		p->at++;
	if (p->at == p->end || *p->at == '\n')
		tcb_ptx_parse_fail(p, p->line, "string without end");
	token->length = (size_t)(p->at++ - token->text);
}

void tcb_ptx_next(struct tcb_ptx_parser *p)
{
	struct tcb_ptx_token *token = &p->token;
	char c;

	skip_blank(p);
	*token = (struct tcb_ptx_token){ .kind = TCB_PTX_T_END, .text = p->at, .line = p->line };
	if (p->at == p->end)
		return;
	c = *p->at;
	if (starts_ident(c)) {
		read_ident(p, token);
	} else if (isdigit((unsigned char)c)) {
		read_number(p, token);
	} else if (c == '.') {
		read_directive(p, token);
	} else if (c == '"') {
		read_string(p, token);
	} else if (strchr("{}[]()<>,;:@!|+-~=*/&^", c) && c) {
		token->kind = TCB_PTX_T_PUNCT;
		token->length = 1;
		p->at++;
	} else {
		tcb_ptx_parse_fail(p, p->line, "unexpected byte 0x%02x", (unsigned char)c);
	}
}

int tcb_ptx_is_punct(const struct tcb_ptx_parser *p, char c)
{
	return p->token.kind == TCB_PTX_T_PUNCT && *p->token.text == c;
}

int tcb_ptx_is_word(const struct tcb_ptx_parser *p, enum tcb_ptx_token_kind kind, const char *text)
{
	return p->token.kind == kind && p->token.length == strlen(text) &&
	       memcmp(p->token.text, text, p->token.length) == 0;
}

int tcb_ptx_accept(struct tcb_ptx_parser *p, char c)
{
	if (!tcb_ptx_is_punct(p, c))
		return 0;
	tcb_ptx_next(p);
	return 1;
}

/* The token as an error message shows it. */
static const char *shown(const struct tcb_ptx_token *token, char out[48])
{
	if (token->kind == TCB_PTX_T_END)
		return "the end of the text";
	snprintf(out, 48, "'%s%.*s'", token->kind == TCB_PTX_T_DIRECTIVE ? "." : "",
		 token->length > 40 ? 40 : (int)token->length, token->text);
	return out;
}

void tcb_ptx_expect(struct tcb_ptx_parser *p, char c)
{
	char text[48];

	if (!tcb_ptx_accept(p, c))
		tcb_ptx_parse_fail(p, p->token.line, "expected '%c' before %s", c, shown(&p->token, text));
}

struct tcb_ptx_token tcb_ptx_expect_ident(struct tcb_ptx_parser *p, const char *what)
{
	struct tcb_ptx_token token = p->token;
	char text[48];

	if (token.kind != TCB_PTX_T_IDENT)
		tcb_ptx_parse_fail(p, token.line, "expected %s, found %s", what, shown(&token, text));
	tcb_ptx_next(p);
	return token;
}

uint64_t tcb_ptx_expect_int(struct tcb_ptx_parser *p, const char *what, uint64_t most)
{
	struct tcb_ptx_token token = p->token;
	char text[48];

	if (token.kind != TCB_PTX_T_INT)
		tcb_ptx_parse_fail(p, token.line, "expected %s, found %s", what, shown(&token, text));
	if (token.bits > most)
		tcb_ptx_parse_fail(p, token.line, "%s is larger than %llu", what, (unsigned long long)most);
	tcb_ptx_next(p);
	return token.bits;
}

/* Comments and strings, which may have braces in them: where the one at AT ends, or AT. */
static const char *skip_quoted(const struct tcb_ptx_parser *p, const char *at)
{
	size_t left = (size_t)(p->end - at);
	const char *end;

	if (left >= 2 && at[0] == '/' && at[1] == '/') {
		end = memchr(at, '\n', left);
		return end ? end : p->end;
	}
	if (left >= 2 && at[0] == '/' && at[1] == '*') {
		for (end = at + 2; p->end - end >= 2; end++)
			if (end[0] == '*' && end[1] == '/')
				return end + 2;
		return p->end;
	}
	if (*at == '"') {
		for (end = at + 1; end < p->end && *end != '"' && *end != '\n'; end++)
			;
		return end < p->end && *end == '"' ? end + 1 : at;
	}
	return at;
}

/* By characters, since what is skipped need not be tokens, up to where DEPTH is 0; STOP ends it there, too. */
static void skip_to(struct tcb_ptx_parser *p, unsigned depth, char stop, const char *what)
{
	uint32_t line = p->line;

	while (p->at < p->end) {
		const char *quoted = skip_quoted(p, p->at);
		char c = *p->at;

		if (quoted > p->at) {
			for (; p->at < quoted; p->at++)
				p->line += *p->at == '\n';
			continue;
		}
		p->line += c == '\n';
		p->at++;
		depth += c == '{';
		if (c == '}' ? !depth || !--depth : !depth && c == stop) {
			tcb_ptx_next(p);
			return;
		}
	}
	tcb_ptx_parse_fail(p, line, "%s", what);
}

void tcb_ptx_skip_braces(struct tcb_ptx_parser *p)
{
	skip_to(p, 1, 0, "'{' without '}'");
}

void tcb_ptx_skip_declaration(struct tcb_ptx_parser *p)
{
	skip_to(p, 0, ';', "a declaration without end");
}
