/* SPDX-License-Identifier: MIT
 *
 * What leaves the program: data to stdout or a file, talk to stderr, tables,
 * JSON, and numbers as people read them.
 */
#ifndef TCB_CLI_EMIT_H
#define TCB_CLI_EMIT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/problem.h"
#include "base/status.h"
#include "base/trial.h"
#include "base/util.h"

/* emit.c */
/* One line on stderr, after "tcbtune: ". */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What a person reads, to stdout, in lines that the terminal has room for.  Frees TEXT. */
enum tcb_status cli_emit_text(struct tcb_str *text, struct tcb_error *err);
/* The same of a TEXT that was made with STATUS, which is returned where it is a failure: then nothing is printed. */
enum tcb_status cli_emit_made(enum tcb_status status, struct tcb_str *text, struct tcb_error *err);
/* All of TEXT as it is to stdout; a full disk or a closed pipe is an error.  Frees TEXT. */
enum tcb_status cli_emit(struct tcb_str *text, struct tcb_error *err);
/* The same to PATH, or to stdout when PATH is NULL.  The file is complete or as it was before. */
enum tcb_status cli_emit_to(const char *path, struct tcb_str *text, struct tcb_error *err);
/* The same as cli_emit_text where PATH is NULL. */
enum tcb_status cli_emit_text_to(const char *path, struct tcb_str *text, struct tcb_error *err);
enum tcb_status cli_write_file(const char *path, const void *data, size_t bytes, struct tcb_error *err);
/* TCB_E_USAGE if OUT (--out) and INPUT are one file: WHAT ("the weights") would be lost. */
enum tcb_status cli_check_out(const char *out, const char *input, const char *what, struct tcb_error *err);
/* Takes ROOT (NULL: out of memory) and prints it, indented. */
enum tcb_status cli_emit_json(json_t *root, struct tcb_error *err);
enum tcb_status cli_emit_json_to(const char *path, json_t *root, struct tcb_error *err);

/* JSON values: null where a number is not finite; of a text that is no UTF-8 what cli_add_shown makes of it. */
json_t *cli_json_text(const char *text);
json_t *cli_json_real(double value);
json_t *cli_json_size(uint64_t value);
json_t *cli_json_interval(const struct tcb_interval *interval); /* {median, lo, hi}; null if its median is 0 */
json_t *cli_json_shape(const struct tcb_shape *shape);          /* {m, n, k} and its text */
/* Sets KEY and takes VALUE; a failure (also VALUE NULL) makes *FAILED 1, so that one check at the end will do. */
void cli_json_set(json_t *object, const char *key, json_t *value, int *failed);
void cli_json_add(json_t *array, json_t *value, int *failed);
/* {"schema": NAME}, the start of everything that is printed. */
json_t *cli_json_start(const char *name, int *failed);
/* ROOT, or NULL (and ROOT freed) if FAILED. */
json_t *cli_json_end(json_t *root, int failed);

/* text.c: text for people: TEXT with control characters and bytes that are no UTF-8 as \x1b, so that stored text
 * cannot drive a terminal or forge a line. */
void cli_add_shown(struct tcb_str *out, const char *text);
/* The same of what FORMAT makes. */
void cli_add_shownf(struct tcb_str *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cli_add_shownv(struct tcb_str *out, const char *format, va_list list) __attribute__((format(printf, 2, 0)));
/* TEXT, all that is about to be printed: whatever of it a terminal would obey as \x1b, but for ends of lines, tabs and
 * colors.  Nothing is printed without it; what could forge a line must have been shown before. */
void cli_seal(struct tcb_str *text);
/* TEXT as one word of a shell's command. */
void cli_add_word(struct tcb_str *out, const char *text);
/* TEXT, shown already, as Markdown that says just this: no element, link, code or end of a cell. */
void cli_add_markdown(struct tcb_str *out, const char *text);
void cli_add_markdown_line(struct tcb_str *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line, shown so. */
void cli_add_line(struct tcb_str *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Numbers for people. */
enum { CLI_NUMBER_MAX = 48 };
void cli_text_us(double ns, char out[CLI_NUMBER_MAX]);                              /* "12.3" */
void cli_text_us_interval(const struct tcb_interval *ns, char out[CLI_NUMBER_MAX]); /* "12.3 [12.1, 12.6]" */
/* In the unit that fits the median: "43.80 ms", "43.80 [27.89, 61.20] ms". */
void cli_text_time(double ns, char out[CLI_NUMBER_MAX]);
void cli_text_time_interval(const struct tcb_interval *ns, char out[CLI_NUMBER_MAX]);
void cli_text_ratio(double ratio, char out[CLI_NUMBER_MAX]);                              /* "1.53" */
void cli_text_ratio_interval(const struct tcb_interval *ratio, char out[CLI_NUMBER_MAX]); /* "1.53 [1.50, 1.55]" */
void cli_text_percent(double ratio, char out[CLI_NUMBER_MAX]);                            /* "87.4" */
/* The time now, in UTC with milliseconds, as the database writes its dates. */
enum { CLI_DATE_MAX = 32 };
void cli_text_now(char out[CLI_DATE_MAX]);
void cli_text_duration(double seconds, char out[CLI_NUMBER_MAX]); /* "1m 05s" */

/* fold.c: lines that the terminal has room for. */
/* Columns of the terminal that FD is; else $COLUMNS, or 0: lines may be as long as they like. */
size_t cli_fold_width(int fd);
/* The same of stdout, where something must be chosen: 80 for 0. */
size_t cli_terminal_width(void);
/* TEXT in lines: FIRST blanks before the first, REST before the others. */
void cli_add_folded(struct tcb_str *out, const char *text, size_t first, size_t rest);
/* A line, shown as by cli_add_line, in lines that there is room for: those after the first begin with INDENT blanks. */
void cli_add_wrapped(struct tcb_str *out, size_t indent, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Breaks the lines of TEXT that are longer than cli_fold_width(FD); in a command to paste, behind a backslash. */
void cli_fold(struct tcb_str *text, int fd);

/* table.c: rows of cells, rendered in one of three ways.  As text, where the table is wider than the terminal, optional
 * columns are left out; then the first column stands above the others. */
enum cli_table_style { CLI_TABLE_TEXT, CLI_TABLE_CSV, CLI_TABLE_MD };
struct cli_column {
	const char *title;
	int right;    /* numbers are set flush right */
	int optional; /* as text: left out where the table is wider than the terminal, the last one first */
};
struct cli_table {
	const struct cli_column *columns;
	size_t column_count, cell_count, capacity;
	struct cli_cell {
		char *text, *note; /* note: a line below the row that this cell ends, or NULL */
		const char *color;
	} * cells;      /* row by row */
	int is_colored; /* as the caller wants it */
	int failed;
};
void cli_table_init(struct cli_table *table, const struct cli_column *columns, size_t column_count);
void cli_table_fini(struct cli_table *table);
/* The next cell, left to right, then the next row. */
void cli_table_cell(struct cli_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The last cell's color, an SGR number as text (lent): only as text, and where the table is colored. */
void cli_table_color(struct cli_table *table, const char *color);
/* A line below the row that the last cell ends, wrapped to the terminal: only as text. */
void cli_table_note(struct cli_table *table, const char *text);
/* Of the widest row as text, without notes. */
size_t cli_table_width(const struct cli_table *table);
/* Whether what goes to PATH (NULL: stdout) may be colored: a terminal, and neither NO_COLOR nor TERM=dumb. */
int cli_wants_color(const char *path);
/* Renders TABLE at the end of OUT and finishes it. */
enum tcb_status cli_table_finish(struct cli_table *table, enum cli_table_style style, struct tcb_str *out,
				 struct tcb_error *err);
enum tcb_status cli_table_render(const struct cli_table *table, enum cli_table_style style, struct tcb_str *out,
				 struct tcb_error *err);

#endif
