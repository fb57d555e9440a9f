/* SPDX-License-Identifier: MIT
 *
 * A table of text cells, rendered as aligned columns, as RFC 4180 CSV or as
 * Markdown.  Widths count characters, not bytes (UTF-8), so that signs such as
 * the micro sign line up.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include "cli/core/emit.h"

enum { INDENT = 4, GAP = 2 };

void cli_table_init(struct cli_table *table, const struct cli_column *columns, size_t column_count)
{
	memset(table, 0, sizeof *table);
	table->columns = columns;
	table->column_count = column_count;
}

void cli_table_fini(struct cli_table *table)
{
	for (size_t i = 0; i < table->cell_count; i++) {
		free(table->cells[i].text);
		free(table->cells[i].note);
	}
	free(table->cells);
	memset(table, 0, sizeof *table);
}

void cli_table_cell(struct cli_table *table, const char *format, ...)
{
	struct tcb_str shown = { 0 };
	va_list list;
	char *text;

	if (table->cell_count == table->capacity) {
		size_t capacity = table->capacity ? 2 * table->capacity : 64;
		struct cli_cell *cells = realloc(table->cells, capacity * sizeof *cells);
		if (!cells) {
			table->failed = 1;
			return;
		}
		table->cells = cells;
		table->capacity = capacity;
	}
	va_start(list, format);
	if (vasprintf(&text, format, list) < 0) {
		table->failed = 1;
	} else {
		tcb_str_add(&shown, ""); /* a cell that is empty is text too */
		cli_add_shown(&shown, text);
		free(text);
		table->failed |= shown.failed;
		table->cells[table->cell_count++] = (struct cli_cell){ .text = shown.data };
	}
	va_end(list);
}

void cli_table_color(struct cli_table *table, const char *color)
{
	if (!table->failed && table->cell_count)
		table->cells[table->cell_count - 1].color = color;
}

void cli_table_note(struct cli_table *table, const char *text)
{
	struct tcb_str shown = { 0 };

	if (table->failed || !table->cell_count)
		return;
	tcb_str_add(&shown, "");
	cli_add_shown(&shown, text);
	table->failed |= shown.failed;
	free(table->cells[table->cell_count - 1].note);
	table->cells[table->cell_count - 1].note = shown.data;
}

int cli_wants_color(const char *path)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	return !path && isatty(STDOUT_FILENO) && !(no_color && no_color[0]) && !(term && strcmp(term, "dumb") == 0);
}

static size_t width_of(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += (*text & 0xc0) != 0x80; /* UTF-8 continuation bytes take no room */
	return width;
}

static void add_padded(struct tcb_str *out, const char *text, const char *color, size_t width, int right, int last)
{
	size_t own = width_of(text), fill = own < width ? width - own : 0;

	if (right)
		tcb_str_addf(out, "%*s", (int)fill, "");
	if (color)
		tcb_str_addf(out, "\x1b[%sm%s\x1b[0m", color, text);
	else
		tcb_str_add(out, text);
	if (!right && !last)
		tcb_str_addf(out, "%*s", (int)fill, "");
	tcb_str_add(out, last ? "\n" : "  ");
}

static size_t sum_of(const struct cli_table *table, const size_t *width)
{
	size_t sum = 0;

	for (size_t c = 0; c < table->column_count; c++)
		sum += width[c] ? width[c] + (sum ? GAP : 0) : 0;
	return sum;
}

/* Optional columns that do not fit become 0 wide. */
static void drop_optional(const struct cli_table *table, size_t *width)
{
	const size_t room = cli_fold_width(STDOUT_FILENO);

	for (size_t c = table->column_count; room && c-- > 0 && sum_of(table, width) > room;)
		if (table->columns[c].optional)
			width[c] = 0;
}

/* Whether the first column stands above the others, because beside them it does not fit the terminal, and above does.
 */
static int is_stacked(const struct cli_table *table, const size_t *width)
{
	const size_t room = cli_fold_width(STDOUT_FILENO), sum = sum_of(table, width);

	return room && sum > room && sum - width[0] <= room; /* GAP is the indent */
}

/* Columns of width 0 are left out; the first of them that is not is FIRST. */
static void render_row(const struct cli_table *table, const size_t *width, size_t first, const struct cli_cell *cells,
		       struct tcb_str *out)
{
	size_t last = table->column_count - 1;

	while (last > first && !width[last])
		last--;
	for (size_t c = first; c <= last; c++)
		if (width[c])
			add_padded(out, cells ? cells[c].text : table->columns[c].title,
				   cells && table->is_colored ? cells[c].color : NULL, width[c],
				   table->columns[c].right, c == last);
	for (size_t c = 0; cells && c < table->column_count; c++)
		if (cells[c].note)
			cli_add_folded(out, cells[c].note, INDENT, INDENT);
}

static void render_text(const struct cli_table *table, const size_t *width, struct tcb_str *out)
{
	const int stacked = is_stacked(table, width);

	for (size_t i = 0; i <= table->cell_count; i += table->column_count) { /* the titles, then the cells */
		const struct cli_cell *cells = i ? &table->cells[i - table->column_count] : NULL;
		const char *head = cells ? cells->text : table->columns->title;

		if (stacked && *head)
			tcb_str_addf(out, "%s\n", head);
		if (stacked)
			tcb_str_addf(out, "%*s", GAP, "");
		render_row(table, width, stacked ? 1 : 0, cells, out);
	}
}

static void add_csv(struct tcb_str *out, const char *text, int last)
{
	if (strpbrk(text, ",\"")) {
		tcb_str_add(out, "\"");
		for (; *text; text++)
			tcb_str_addf(out, *text == '"' ? "\"%c" : "%c", *text);
		tcb_str_add(out, "\"");
	} else {
		tcb_str_add(out, text);
	}
	tcb_str_add(out, last ? "\r\n" : ",");
}

static void render_csv(const struct cli_table *table, struct tcb_str *out)
{
	size_t columns = table->column_count;

	for (size_t c = 0; c < columns; c++)
		add_csv(out, table->columns[c].title, c + 1 == columns);
	for (size_t i = 0; i < table->cell_count; i++)
		add_csv(out, table->cells[i].text, i % columns + 1 == columns);
}

static void add_md(struct tcb_str *out, const char *text, int first, int last)
{
	tcb_str_add(out, first ? "| " : " ");
	cli_add_markdown(out, text);
	tcb_str_add(out, last ? " |\n" : " |");
}

static void render_md(const struct cli_table *table, struct tcb_str *out)
{
	size_t columns = table->column_count;

	for (size_t c = 0; c < columns; c++)
		add_md(out, table->columns[c].title, c == 0, c + 1 == columns);
	for (size_t c = 0; c < columns; c++)
		tcb_str_addf(out, "|%s%s", table->columns[c].right ? "--:" : "---", c + 1 == columns ? "|\n" : "");
	for (size_t i = 0; i < table->cell_count; i++)
		add_md(out, table->cells[i].text, i % columns == 0, i % columns + 1 == columns);
}

/* Of each column, into WIDTH. */
static void measure(const struct cli_table *table, size_t *width)
{
	for (size_t c = 0; c < table->column_count; c++)
		width[c] = width_of(table->columns[c].title);
	for (size_t i = 0; i < table->cell_count; i++) {
		size_t own = width_of(table->cells[i].text);
		if (own > width[i % table->column_count])
			width[i % table->column_count] = own;
	}
}

size_t cli_table_width(const struct cli_table *table)
{
	size_t *width = calloc(table->column_count, sizeof *width), sum = 0;

	if (width && !table->failed) {
		measure(table, width);
		sum = sum_of(table, width);
	}
	free(width);
	return sum;
}

enum tcb_status cli_table_render(const struct cli_table *table, enum cli_table_style style, struct tcb_str *out,
				 struct tcb_error *err)
{
	size_t *width = calloc(table->column_count, sizeof *width);

	if (!width || table->failed) {
		free(width);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the table");
	}
	measure(table, width);
	if (style == CLI_TABLE_TEXT) {
		drop_optional(table, width);
		render_text(table, width, out);
	} else if (style == CLI_TABLE_CSV) {
		render_csv(table, out);
	} else {
		render_md(table, out);
	}
	free(width);
	return TCB_OK;
}

enum tcb_status cli_table_finish(struct cli_table *table, enum cli_table_style style, struct tcb_str *out,
				 struct tcb_error *err)
{
	const enum tcb_status status = cli_table_render(table, style, out, err);

	cli_table_fini(table);
	return status;
}
