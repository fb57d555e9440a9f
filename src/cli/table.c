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

#include "cli/emit.h"

void cli_table_init(struct cli_table *table, const struct cli_column *columns, size_t column_count)
{
	memset(table, 0, sizeof *table);
	table->columns = columns;
	table->column_count = column_count;
}

void cli_table_fini(struct cli_table *table)
{
	for (size_t i = 0; i < table->cell_count; i++)
		free(table->cells[i]);
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
		char **cells = realloc(table->cells, capacity * sizeof *cells);
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
		table->cells[table->cell_count++] = shown.data;
	}
	va_end(list);
}

static size_t width_of(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += (*text & 0xc0) != 0x80; /* UTF-8 continuation bytes take no room */
	return width;
}

static void add_padded(struct tcb_str *out, const char *text, size_t width, int right, int last)
{
	size_t own = width_of(text), fill = own < width ? width - own : 0;

	if (right)
		tcb_str_addf(out, "%*s", (int)fill, "");
	tcb_str_add(out, text);
	if (!right && !last)
		tcb_str_addf(out, "%*s", (int)fill, "");
	tcb_str_add(out, last ? "\n" : "  ");
}

static void render_text(const struct cli_table *table, const size_t *width, struct tcb_str *out)
{
	size_t columns = table->column_count;

	for (size_t c = 0; c < columns; c++)
		add_padded(out, table->columns[c].title, width[c], table->columns[c].right, c + 1 == columns);
	for (size_t i = 0; i < table->cell_count; i++)
		add_padded(out, table->cells[i], width[i % columns], table->columns[i % columns].right,
			   i % columns + 1 == columns);
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
		add_csv(out, table->cells[i], i % columns + 1 == columns);
}

static void add_md(struct tcb_str *out, const char *text, int first, int last)
{
	tcb_str_add(out, first ? "| " : " ");
	for (; *text; text++)
		tcb_str_addf(out, *text == '|' ? "\\%c" : "%c", *text);
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
		add_md(out, table->cells[i], i % columns == 0, i % columns + 1 == columns);
}

enum tcb_status cli_table_render(const struct cli_table *table, enum cli_table_style style, struct tcb_str *out,
				 struct tcb_error *err)
{
	size_t *width = calloc(table->column_count, sizeof *width);

	if (!width || table->failed) {
		free(width);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the table");
	}
	for (size_t c = 0; c < table->column_count; c++)
		width[c] = width_of(table->columns[c].title);
	for (size_t i = 0; i < table->cell_count; i++) {
		size_t own = width_of(table->cells[i]);
		if (own > width[i % table->column_count])
			width[i % table->column_count] = own;
	}
	if (style == CLI_TABLE_TEXT)
		render_text(table, width, out);
	else if (style == CLI_TABLE_CSV)
		render_csv(table, out);
	else
		render_md(table, out);
	free(width);
	return TCB_OK;
}
