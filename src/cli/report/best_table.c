/* SPDX-License-Identifier: MIT
 *
 * In: best rows.  Out: a table.  best_columns.c says which columns there are;
 * layouts of them, from rich to poor, are tried until one fits the terminal.  What is the same in all rows (contract,
 * device, threads) is said once above.
 */
#include "cli/report/best_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/cli.h"
#include "cli/core/figures.h"
#include "cli/core/problems.h"
#include "cli/report/best_columns.h"

enum { CHOSEN_MAX = 64 };

/* From rich to poor; contract, device and threads only where they are not the same in all rows. */
static const char *const layouts[] = {
	"op,contract,shape,device,threads,state,interval,rate,limit,speedups,ties,tried,regret,verdict,measured",
	"op,contract,shape,device,threads,state,interval,limit,speedups,tried,verdict",
	"op,contract,shape,device,threads,state,time,limit,speedups,verdict",
	"op,contract,shape,device,threads,state,time,limit,speedup,verdict",
};
static const char everything[] = "op,contract,shape,device,threads,state,interval,rate,limit,speedups,ties,tried,"
				 "regret,flip,verdict,served,measured,geometry";

/* Whether all rows have the same there, which is then said once. */
static int is_common(const struct cli_best_rows *rows, const struct cli_derived *derived)
{
	for (size_t i = 1; i < rows->count && derived->is_same; i++)
		if (!derived->is_same(&rows->rows[0].best, &rows->rows[i].best))
			return 0;
	return derived->is_same != NULL;
}

/* --- asking for columns --- */

void cli_best_columns(struct tcb_str *out)
{
	struct cli_best_column column;

	for (size_t i = 0; cli_best_column_at(i, &column); i++)
		tcb_str_addf(out, "%s%s", i ? ", " : "", cli_best_column_name(&column));
}

/* Names, divided by commas, into CHOSEN; a name that is none, or NULL. */
static const char *read_columns(const char *text, struct cli_best_column chosen[CHOSEN_MAX], size_t *count)
{
	for (*count = 0;; text++) {
		const size_t length = strcspn(text, ",");

		if (*count == CHOSEN_MAX || !cli_best_column_find(text, length, &chosen[*count]))
			return text;
		++*count;
		text += length;
		if (!*text)
			return NULL;
	}
}

static enum tcb_status refuse(const char *option, const char *name, struct tcb_error *err)
{
	struct tcb_str names = { 0 };
	enum tcb_status status;

	cli_best_columns(&names);
	status = tcb_fail(err, TCB_E_USAGE, "--%s: unknown column '%.*s', or one too many; the columns are %s", option,
			  (int)strcspn(name, ","), name, names.data ? names.data : "none");
	tcb_str_fini(&names);
	return status;
}

enum tcb_status cli_best_view_check(const struct cli_best_view *view, struct tcb_error *err)
{
	struct cli_best_column chosen[CHOSEN_MAX];
	size_t count;
	const char *bad = view->columns ? read_columns(view->columns, chosen, &count) : NULL;
	const char *key = view->sort ? view->sort + (view->sort[0] == '-') : NULL;

	if (bad)
		return refuse("columns", bad, err);
	if (key && !cli_best_column_find(key, strlen(key), chosen))
		return refuse("sort", key, err);
	return TCB_OK;
}

/* --- order --- */

struct key {
	const struct cli_best_row *row;
	size_t place;
	const struct cli_best_column *column;
	int sign;
};

static int by_key(const void *left, const void *right)
{
	const struct key *a = left, *b = right;
	const int order = cli_best_column_order(a->column, a->row, b->row, a->sign);

	return order ? order : a->place < b->place ? -1 : a->place > b->place;
}

void cli_best_sort(struct cli_best_rows *rows, const struct cli_best_view *view)
{
	const int is_down = view->sort && view->sort[0] == '-';
	const char *name = view->sort ? view->sort + is_down : "";
	struct cli_best_column column;
	const int has_order = cli_best_column_find(name, strlen(name), &column);
	struct cli_best_row *sorted = malloc((rows->count + 1) * sizeof *sorted);
	struct key *keys = malloc((rows->count + 1) * sizeof *keys);

	for (size_t i = 0; has_order && sorted && keys && i < rows->count; i++)
		keys[i] = (struct key){ &rows->rows[i], i, &column, is_down ? -1 : 1 };
	if (has_order && sorted && keys) {
		qsort(keys, rows->count, sizeof *keys, by_key);
		for (size_t i = 0; i < rows->count; i++)
			sorted[i] = *keys[i].row;
		memcpy(rows->rows, sorted, rows->count * sizeof *sorted);
	}
	free(sorted);
	free(keys);
}

/* --- geometries --- */

/* Whether LIST has the item at ITEM, of LENGTH bytes, between its commas. */
static int has_item(const char *list, const char *item, size_t length)
{
	for (;;) {
		const size_t own = strcspn(list, ",");

		if (own == length && strncmp(list, item, length) == 0)
			return 1;
		if (!list[own])
			return 0;
		list += own + 1;
	}
}

/* The items of GEOMETRY that are not in STANDARD, divided by blanks. */
static void add_difference(struct tcb_str *out, const char *geometry, const char *standard)
{
	const size_t before = out->length;

	for (const char *item = geometry; *item;) {
		const size_t length = strcspn(item, ",");

		if (!has_item(standard, item, length))
			tcb_str_addf(out, "%s%.*s", out->length > before ? " " : "the default, but ", (int)length,
				     item);
		item += length + (item[length] == ',');
	}
	if (out->length == before)
		tcb_str_add(out, "the default");
}

static void add_geometry(struct tcb_str *out, const struct cli_best_row *row, enum cli_geometry_view view)
{
	const struct tcb_best *best = &row->best;

	if (row->served == CLI_SERVED_DEFAULT && view != CLI_GEOMETRY_NONE)
		tcb_str_add(out, "programs get the default; the best: ");
	if (view == CLI_GEOMETRY_FULL || !best->default_geometry[0])
		tcb_str_add(out, best->geometry);
	else if (view != CLI_GEOMETRY_NONE)
		add_difference(out, best->geometry, best->default_geometry);
}

/* What may be said once for all rows: that which IS_COMMON to all of them ("contract q8, device sm_90, 8 threads"), or
 * that which is not, to tell ROW from others ("q8, sm_90, 8 threads"). */
static void add_names(struct tcb_str *out, const struct cli_best_rows *rows, const struct cli_best_row *row,
		      int of_common)
{
	const size_t before = out->length;
	char buffer[CLI_CELL_MAX];

	for (const struct cli_derived *at = cli_derived; at < cli_derived + cli_derived_count; at++) {
		const char *text = at->is_same ? cli_derived_text(at, row, buffer) : NULL;
		const double number = at->is_same && !text ? cli_derived_number(at, row) : 0;

		if ((!text && number == 0) || is_common(rows, at) != of_common)
			continue;
		tcb_str_add(out, out->length > before ? ", " : "");
		if (text) {
			tcb_str_addf(out, "%s%s", of_common ? at->asked : "", of_common ? " " : "");
			cli_add_shown(out, text);
		} else { /* "1 thread" of "threads" */
			tcb_str_addf(out, "%.0f %.*s", number, (int)strlen(at->asked) - (number == 1), at->asked);
		}
	}
}

static void add_note(struct cli_table *table, const struct cli_best_rows *rows, const struct cli_best_row *row,
		     enum cli_geometry_view view, int has_names)
{
	struct tcb_str text = { 0 };

	struct tcb_str geometry = { 0 };

	if (has_names)
		add_names(&text, rows, row, 0);
	add_geometry(&geometry, row, view);
	if (geometry.length)
		tcb_str_addf(&text, "%s%s", text.length ? ": " : "", geometry.data);
	text.failed |= geometry.failed;
	tcb_str_fini(&geometry);
	if (text.length && !text.failed)
		cli_table_note(table, text.data);
	table->failed |= text.failed;
	tcb_str_fini(&text);
}

/* --- the table --- */

/* Columns that are not rendered: none; those that are the same in all rows; these and all that is told in notes. */
enum left_out { LEFT_OUT_NONE, LEFT_OUT_COMMON, LEFT_OUT_NAMES };

static int is_left_out(const struct cli_best_rows *rows, const struct cli_derived *derived, enum left_out left_out)
{
	return left_out != LEFT_OUT_NONE && derived && derived->is_same &&
	       (left_out == LEFT_OUT_NAMES || is_common(rows, derived));
}

/* Renders the COUNT columns CHOSEN; the width of the widest line of the table proper, or 0 after a failure. */
static size_t render(const struct cli_best_rows *rows, const struct cli_best_view *view,
		     const struct cli_best_column *chosen, size_t chosen_count, enum left_out left_out,
		     struct tcb_str *out, struct tcb_error *err)
{
	struct cli_column shown[CHOSEN_MAX];
	struct cli_best_column kept[CHOSEN_MAX];
	struct cli_table table;
	size_t count = 0, width = 0;
	int has_geometry = 0;

	for (size_t i = 0; i < chosen_count; i++) {
		if (is_left_out(rows, chosen[i].derived, left_out))
			continue;
		has_geometry |= strcmp(cli_best_column_name(&chosen[i]), "geometry") == 0;
		shown[count] = cli_best_column_head(&chosen[i]);
		kept[count++] = chosen[i];
	}
	cli_table_init(&table, shown, count);
	table.is_colored = view->is_colored;
	for (size_t i = 0; i < rows->count; i++) {
		for (size_t c = 0; c < count; c++)
			cli_best_column_cell(&kept[c], &rows->rows[i], &table);
		if (!has_geometry)
			add_note(&table, rows, &rows->rows[i], view->geometry, left_out == LEFT_OUT_NAMES);
	}
	if (cli_table_render(&table, view->is_markdown ? CLI_TABLE_MD : CLI_TABLE_TEXT, out, err) == TCB_OK)
		width = cli_table_width(&table);
	cli_table_fini(&table);
	return width;
}

static enum tcb_status add_fitting(const struct cli_best_rows *rows, const struct cli_best_view *view,
				   struct tcb_str *out, struct tcb_error *err)
{
	const size_t room = cli_terminal_width(), most = sizeof layouts / sizeof *layouts, before = out->length;

	add_names(out, rows, &rows->rows[0], 1);
	if (out->length > before)
		tcb_str_add(out, "\n");
	for (size_t i = 0; i <= most; i++) { /* the poorest once more, with names in notes */
		struct tcb_str table = { 0 };
		struct cli_best_column chosen[CHOSEN_MAX];
		size_t count, width;

		(void)read_columns(layouts[i < most ? i : most - 1], chosen, &count);
		width = render(rows, view, chosen, count, i < most ? LEFT_OUT_COMMON : LEFT_OUT_NAMES, &table, err);

		if (width && (width <= room || i == most))
			tcb_str_add(out, table.data);
		tcb_str_fini(&table);
		if (!width)
			return TCB_E_NOMEM;
		if (width <= room)
			break;
	}
	return TCB_OK;
}

/* Each note once. */
static void add_limit_notes(const struct cli_best_rows *rows, struct tcb_str *out)
{
	for (size_t i = 0; i < rows->count; i++) {
		const char *note = cli_limit_of(&rows->rows[i].best).note;
		size_t earlier = 0;

		while (note && earlier < i && cli_limit_of(&rows->rows[earlier].best).note != note)
			earlier++;
		if (note && earlier == i) {
			tcb_str_add(out, "\n");
			cli_add_wrapped(out, 4, "%s", note);
		}
	}
}

/* The row of ROW's problem without the word bits; NULL: there is none, or ROW has no such word. */
static const struct cli_best_row *free_row(const struct cli_best_rows *rows, const struct cli_best_row *row)
{
	struct tcb_best wanted = row->best;

	wanted.problem.shape.words.bits = 0;
	for (size_t i = 0; row->best.problem.shape.words.bits && i < rows->count; i++)
		if (rows->rows[i].best.state == wanted.state && !rows->rows[i].best.modelled && !wanted.modelled &&
		    cli_best_order_problem(&rows->rows[i].best, &wanted) == 0 &&
		    cli_best_order_device(&rows->rows[i].best, &wanted) == 0)
			return &rows->rows[i];
	return NULL;
}

/* What the word bits costs: its rows over those without it. */
static void add_prices(const struct cli_best_rows *rows, struct tcb_str *out)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct cli_best_row *row = &rows->rows[i], *other = free_row(rows, row);
		char label[CLI_LABEL_MAX];

		if (!other)
			continue;
		cli_problem_label(&row->best.problem, label);
		tcb_str_add(out, "\n");
		cli_add_wrapped(out, 4,
				"%s %s takes %.2f x the time of the best without bits (of another sweep; "
				"'tcbtune bench' measures both in turns)",
				label, tcb_state_text(row->best.state), row->best.ns.median / other->best.ns.median);
	}
}

enum tcb_status cli_best_table(const struct cli_best_rows *rows, const struct cli_best_view *view, struct tcb_str *out,
			       struct tcb_error *err)
{
	struct cli_best_column chosen[CHOSEN_MAX];
	size_t count;

	if (rows->count == 0)
		return TCB_OK;
	if (!view->columns && !view->is_markdown) {
		TCB_TRY(add_fitting(rows, view, out, err));
		add_limit_notes(rows, out);
		add_prices(rows, out);
		return TCB_OK;
	}
	if (read_columns(view->columns ? view->columns : everything, chosen, &count))
		return tcb_fail(err, TCB_E_USAGE, "--columns: no such columns");
	return render(rows, view, chosen, count, LEFT_OUT_NONE, out, err) ? TCB_OK : TCB_E_NOMEM;
}
