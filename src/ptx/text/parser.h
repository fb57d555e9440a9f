/* SPDX-License-Identifier: MIT
 *
 * What the files of the parser share, each of which uses those before it:
 * tokens (lexer.c), names and scopes (parse_names.c), source lines
 * (parse_source.c), names in the source (parse_debug.c), declarations (parse_declare.c), operands
 * (parse_operand.c), function bodies (parse_body.c), the module (parser.c).
 *
 * The first error leaves the parser by longjmp to tcb_ptx_parse; in foreign text
 * it leaves what is being read, and goes on behind it.  Nothing is lost that way:
 * the module's arena and the scratch arena own all memory.
 */
#ifndef TCB_PTX_PARSER_H
#define TCB_PTX_PARSER_H

#include <setjmp.h>

#include "ptx/ir/opcodes.h"
#include "ptx/text/text.h"

enum tcb_ptx_token_kind {
	TCB_PTX_T_END,
	TCB_PTX_T_IDENT,     /* also %tid.x */
	TCB_PTX_T_DIRECTIVE, /* .word, .L1::evict_last; text without the dot */
	TCB_PTX_T_INT,
	TCB_PTX_T_F32,
	TCB_PTX_T_F64, /* text keeps "9.0" for .version */
	TCB_PTX_T_STRING,
	TCB_PTX_T_PUNCT /* one character, text[0] */
};

struct tcb_ptx_token {
	enum tcb_ptx_token_kind kind;
	const char *text;
	size_t length;
	uint64_t bits;
	uint32_t line;
};

enum tcb_ptx_name_kind {
	TCB_PTX_N_REG,    /* one register */
	TCB_PTX_N_RANGE,  /* prefix of COUNT registers */
	TCB_PTX_N_VECTOR, /* COUNT registers, each of which is a name, too */
	TCB_PTX_N_SYMBOL,
	TCB_PTX_N_LABEL,
	TCB_PTX_N_TABLE,
	TCB_PTX_N_PROTOTYPE,
	TCB_PTX_N_TAKEN /* in the table of printed names */
};

struct tcb_ptx_name {
	struct tcb_ptx_name *chain, *scope_next;
	const char *text;
	uint32_t length, hash;
	enum tcb_ptx_name_kind kind;
	uint32_t reg, count; /* REG, RANGE, VECTOR */
	union {
		struct tcb_ptx_symbol *symbol;
		struct tcb_ptx_block *block;
		struct tcb_ptx_table *table;
		struct tcb_ptx_function *prototype;
	};
	unsigned depth;
};

struct tcb_ptx_names {
	struct tcb_ptx_name **buckets;
	uint32_t bucket_count, count;
};

/* A jump to a label that may come later. */
struct tcb_ptx_fixup {
	struct tcb_ptx_fixup *next;
	const char *text;
	uint32_t length, line;
	struct tcb_ptx_block **where;
};

struct tcb_ptx_scope {
	struct tcb_ptx_scope *outer;
	struct tcb_ptx_name *names;
	struct tcb_ptx_fixup *fixups;
};

/* A .loc of the module; the file and the function are named when the whole text has been read. */
struct tcb_ptx_loc {
	struct tcb_ptx_source source;
	struct tcb_ptx_loc *same_bucket, *older;
	uint32_t file;
	const char *label; /* of the function's name in .debug_str; lent from the text, NULL: none */
	size_t label_length;
	uint64_t label_offset;
};

struct tcb_ptx_locs {
	struct tcb_ptx_loc *newest;
	struct tcb_ptx_loc **buckets; /* by file, line and column: the newest one of each */
	uint32_t bucket_count, count;
};

/* The text of a section; NULL: there is none. */
struct tcb_ptx_span {
	const char *from, *to;
};

struct tcb_ptx_parser {
	const char *file;
	const char *at, *end; /* what is left of the text, after TOKEN */
	uint32_t line;
	struct tcb_ptx_token token; /* the one being looked at */

	struct tcb_ptx_module *module;
	struct tcb_arena scratch;
	struct tcb_ptx_names names; /* source names, with scopes */
	struct tcb_ptx_names taken; /* names as printed, of the current function */
	struct tcb_ptx_scope *scope;
	unsigned depth; /* 0: module */

	/* the function being read */
	struct tcb_ptx_function *function;
	struct tcb_ptx_block *block; /* NULL: the next instruction begins one */
	struct tcb_ptx_symbol **locals_end;
	struct tcb_ptx_table **tables_end;
	struct tcb_ptx_function **prototypes_end;
	struct tcb_ptx_symbol **symbols_end; /* of the module */
	struct tcb_ptx_alias **aliases_end;
	const struct tcb_ptx_source *source; /* where the next instruction comes from */

	int is_foreign;       /* text that others wrote: see tcb_ptx_parse_foreign */
	int is_unknown;       /* the failure is of a word that is unknown */
	uint32_t failed_line; /* and its line */
	char failed_what[400];
	struct tcb_ptx_unread **unread_end;
	unsigned unread_count;

	struct tcb_ptx_locs locs;
	struct tcb_ptx_span debug_str, debug_info, debug_abbrev;

	struct tcb_error *err;
	enum tcb_status status;
	jmp_buf failed;
};

/* lexer.c */
_Noreturn void tcb_ptx_parse_fail(struct tcb_ptx_parser *p, uint32_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same for a word that need not be wrong. */
_Noreturn void tcb_ptx_parse_unknown(struct tcb_ptx_parser *p, const struct tcb_ptx_token *token, const char *where);
/* What the scratch and the module's arena give, never NULL. */
void *tcb_ptx_parse_alloc(struct tcb_ptx_parser *p, struct tcb_arena *arena, size_t count, size_t size);
const char *tcb_ptx_parse_text(struct tcb_ptx_parser *p, const char *text, size_t length);
void tcb_ptx_next(struct tcb_ptx_parser *p);
int tcb_ptx_is_punct(const struct tcb_ptx_parser *p, char c);
int tcb_ptx_is_word(const struct tcb_ptx_parser *p, enum tcb_ptx_token_kind kind, const char *text);
int tcb_ptx_accept(struct tcb_ptx_parser *p, char c);
void tcb_ptx_expect(struct tcb_ptx_parser *p, char c);
/* An identifier, copied to the module's arena; WHAT names it in the error. */
struct tcb_ptx_token tcb_ptx_expect_ident(struct tcb_ptx_parser *p, const char *what);
uint64_t tcb_ptx_expect_int(struct tcb_ptx_parser *p, const char *what, uint64_t most);
/* Skips to the brace that closes the one just read. */
void tcb_ptx_skip_braces(struct tcb_ptx_parser *p);
/* Skips to behind the semicolon or the braces that end the declaration being read. */
void tcb_ptx_skip_declaration(struct tcb_ptx_parser *p);

/* parse_names.c */
void tcb_ptx_scope_open(struct tcb_ptx_parser *p);
void tcb_ptx_scope_close(struct tcb_ptx_parser *p);
/* Closes all scopes down to DEPTH, with no regard to labels. */
void tcb_ptx_scopes_drop(struct tcb_ptx_parser *p, unsigned depth);
/* Enters a name in the innermost scope; fails when that scope has it. */
struct tcb_ptx_name *tcb_ptx_name_add(struct tcb_ptx_parser *p, const struct tcb_ptx_token *token,
				      enum tcb_ptx_name_kind kind);
/* NULL when there is none. */
struct tcb_ptx_name *tcb_ptx_name_find(struct tcb_ptx_parser *p, const char *text, size_t length);
/* The register called so, or TCB_PTX_NO_REG. */
uint32_t tcb_ptx_reg_find(struct tcb_ptx_parser *p, const char *text, size_t length);
/* The name under which something of this function is printed: the token's text, numbered when it is taken. */
const char *tcb_ptx_printed_name(struct tcb_ptx_parser *p, const struct tcb_ptx_token *token, int is_range);
void tcb_ptx_label_use(struct tcb_ptx_parser *p, const struct tcb_ptx_token *token, struct tcb_ptx_block **where);

/* parse_declare.c */
struct tcb_ptx_function *tcb_ptx_parse_signature(struct tcb_ptx_parser *p, struct tcb_ptx_function *function,
						 int is_prototype);
/* After the space's directive; LIST_END is moved on. */
void tcb_ptx_parse_variables(struct tcb_ptx_parser *p, enum tcb_ptx_word space, enum tcb_ptx_linkage linkage,
			     struct tcb_ptx_symbol ***list_end);
/* "a string" after .pragma, with its semicolon. */
const char *tcb_ptx_parse_pragma(struct tcb_ptx_parser *p);
/* The same, added to PRAGMAS (NULL: none yet), which are returned. */
const char **tcb_ptx_parse_pragmas(struct tcb_ptx_parser *p, const char **pragmas, size_t *count);

/* parse_source.c */
void tcb_ptx_read_file(struct tcb_ptx_parser *p);
void tcb_ptx_read_loc(struct tcb_ptx_parser *p);
/* .section .debug_str { ... }: kept for those below, or skipped. */
void tcb_ptx_read_section(struct tcb_ptx_parser *p);
/* At the end of the text: files and functions get their names. */
void tcb_ptx_name_sources(struct tcb_ptx_parser *p);

/* parse_debug.c: at the end of the text, variables and parameters get the names that they have in the source. */
void tcb_ptx_name_variables(struct tcb_ptx_parser *p);

/* parse_operand.c: an operand; call [(results),] target [, (arguments)] [, prototype] as operands, of which it returns
 * the number; the name of a branch table. */
void tcb_ptx_parse_operand(struct tcb_ptx_parser *p, struct tcb_ptx_operand *operand);
unsigned tcb_ptx_parse_call(struct tcb_ptx_parser *p, struct tcb_ptx_operand *operands);
void tcb_ptx_parse_table(struct tcb_ptx_parser *p, struct tcb_ptx_operand *operand);

/* parse_body.c */
void tcb_ptx_parse_body(struct tcb_ptx_parser *p, struct tcb_ptx_function *function);

#endif
