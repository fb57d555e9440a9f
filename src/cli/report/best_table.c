/* SPDX-License-Identifier: MIT
 *
 * In: best rows.  Out: a table.  One list says which columns there are and how
 * a cell of each reads; layouts of it, from rich to poor, are tried until one
 * fits the terminal.  What is the same in all rows (contract, device, threads)
 * is said once above.
 */
#include "cli/report/best_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/cli.h"
#include "cli/core/figures.h"
#include "db/columns.h"

/* --- columns --- */

/* Those that are derived, or of a type of their own; the stored ones (db/columns.h) that have a title come after. */
#define COLUMN_LIST(X)                                 \
	X(OP, "op", "OP", 0)                           \
	X(CONTRACT, "contract", "CONTRACT", 0)         \
	X(SHAPE, "shape", "SHAPE", 0)                  \
	X(DEVICE, "device", "DEVICE", 0)               \
	X(THREADS, "threads", "THREADS", 1)            \
	X(STATE, "state", "STATE", 0)                  \
	X(TIME, "time", "µs", 1)                       \
	X(INTERVAL, "interval", "µs [95 %]", 1)        \
	X(RATE, "rate", "GB/s", 1)                     \
	X(LIMIT, "limit", "% LIMIT", 1)                \
	X(SPEEDUP, "speedup", "x DEFAULT", 1)          \
	X(SPEEDUPS, "speedups", "x DEFAULT [95 %]", 1) \
	X(TRIED, "tried", "TRIED", 1)                  \
	X(VERDICT, "verdict", "VERDICT", 0)            \
	X(SERVED, "served", "SERVED", 0)               \
	X(BOUND, "bound", "BOUND BY", 0)               \
	X(GEOMETRY, "geometry", "GEOMETRY", 0)

enum {
#define COLUMN_ENUM(id, name, title, right) COLUMN_##id,
	COLUMN_LIST(COLUMN_ENUM)
#undef COLUMN_ENUM
		COLUMN_DERIVED, /* from here on rows of tcb_columns */
	CHOSEN_MAX = 64
};

struct column {
	int id;
	const char *name;
	struct cli_column shown;
	const struct tcb_column *stored; /* NULL: derived */
};

static const struct column derived[COLUMN_DERIVED] = {
#define COLUMN_ROW(id, name, title, right) { COLUMN_##id, name, { title, right }, NULL },
	COLUMN_LIST(COLUMN_ROW)
#undef COLUMN_ROW
};

/* Column number NUMBER of all; 0: there are not so many. */
static int column_at(size_t number, struct column *out)
{
	if (number < COLUMN_DERIVED) {
		*out = derived[number];
		return 1;
	}
	number -= COLUMN_DERIVED;
	for (size_t i = 0; i < tcb_column_count; i++) {
		const struct tcb_column *stored = &tcb_columns[i];

		if (!stored->title || number--)
			continue;
		*out = (struct column){
			COLUMN_DERIVED, stored->asked, { stored->title, stored->type != TCB_COLUMN_TEXT }, stored
		};
		return 1;
	}
	return 0;
}

/* From rich to poor; contract, device and threads only where they are not the same in all rows. */
static const char *const layouts[] = {
	"op,contract,shape,device,threads,state,interval,rate,limit,speedups,ties,tried,regret,verdict,measured",
	"op,contract,shape,device,threads,state,interval,limit,speedups,tried,verdict",
	"op,contract,shape,device,threads,state,time,limit,speedups,verdict",
	"op,contract,shape,device,threads,state,time,limit,speedup,verdict",
};
static const char everything[] = "op,contract,shape,device,threads,state,interval,rate,limit,speedups,ties,tried,"
				 "regret,flip,verdict,served,measured,geometry";

static void print_share(double share, int digits, char out[CLI_NUMBER_MAX])
{
	if (isfinite(share))
		(void)snprintf(out, CLI_NUMBER_MAX, "%.*f %%", digits, 100 * share);
	else
		strcpy(out, "-");
}

static const char *color_of(enum tcb_verdict verdict)
{
	static const char *const colors[TCB_VERDICT_COUNT] = {
		[TCB_VERDICT_STALE] = "31", [TCB_VERDICT_MODELLED] = "36", [TCB_VERDICT_PROVISIONAL] = "33",
		[TCB_VERDICT_THIN] = "33",  [TCB_VERDICT_NOISY] = "33",    [TCB_VERDICT_TUNED] = "32",
	};

	return colors[verdict];
}

static void add_verdict(struct cli_table *table, const struct cli_best_row *row)
{
	cli_table_cell(table, "%s", tcb_verdict_text(row->verdict));
	cli_table_color(table, color_of(row->verdict));
}

static void add_stored(struct cli_table *table, const struct tcb_best *best, const struct tcb_column *stored)
{
	char number[CLI_NUMBER_MAX];

	if (stored->member == TCB_MEMBER_TIME) {
		const char *time = tcb_column_text(stored, best);

		cli_table_cell(table, "%.10s %.5s", time, strlen(time) > 11 ? time + 11 : "");
	} else if (stored->type == TCB_COLUMN_TEXT) {
		cli_table_cell(table, "%s", tcb_column_text(stored, best));
	} else if (stored->type == TCB_COLUMN_REAL) {
		print_share(tcb_column_number(stored, best), stored->digits, number);
		cli_table_cell(table, "%s", number);
	} else {
		cli_table_cell(table, "%.0f", tcb_column_number(stored, best));
	}
}

static void add_cell(struct cli_table *table, const struct cli_best_row *row, const struct column *column)
{
	const struct tcb_best *best = &row->best;
	struct cli_limit limit;
	char number[CLI_NUMBER_MAX] = "", shape[TCB_SHAPE_TEXT_MAX];

	switch (column->id) {
	case COLUMN_OP:
		cli_table_cell(table, "%s", best->problem.op_name);
		return;
	case COLUMN_CONTRACT:
		cli_table_cell(table, "%s", tcb_contract_text(best->problem.contract));
		return;
	case COLUMN_SHAPE:
		tcb_shape_print(&best->problem.shape, shape);
		cli_table_cell(table, "%s", shape);
		return;
	case COLUMN_DEVICE:
		cli_table_cell(table, "%s", row->device_label);
		return;
	case COLUMN_THREADS:
		cli_table_cell(table, "%u", best->threads);
		return;
	case COLUMN_STATE:
		cli_table_cell(table, "%s", tcb_state_text(best->state));
		return;
	case COLUMN_TIME:
		cli_text_us(best->ns.median, number);
		break;
	case COLUMN_INTERVAL:
		if (best->modelled)
			cli_text_us(best->ns.median, number);
		else
			cli_text_us_interval(&best->ns, number);
		break;
	case COLUMN_RATE:
		(void)snprintf(number, sizeof number, "%.4g", cli_best_gbs(best));
		break;
	case COLUMN_LIMIT:
		limit = cli_limit_of(best);
		cli_limit_text(&limit, number);
		break;
	case COLUMN_SPEEDUP:
		cli_speedup_text(best, number);
		break;
	case COLUMN_SPEEDUPS:
		cli_speedup_interval_text(best, number);
		break;
	case COLUMN_TRIED:
		(void)snprintf(number, sizeof number, "%zu/%zu", best->tried, best->space_count);
		break;
	case COLUMN_VERDICT:
		add_verdict(table, row);
		return;
	case COLUMN_SERVED:
		cli_table_cell(table, "%s", cli_served_text(row->served));
		return;
	case COLUMN_BOUND:
		cli_table_cell(table, "%s", tcb_bottleneck_text(row->bound));
		return;
	case COLUMN_GEOMETRY:
		cli_table_cell(table, "%s", best->geometry);
		return;
	default:
		add_stored(table, best, column->stored);
		return;
	}
	cli_table_cell(table, "%s", number);
}

/* Whether all rows have the same there. */
static int is_common(const struct cli_best_rows *rows, int column)
{
	for (size_t i = 1; i < rows->count; i++) {
		const struct tcb_best *a = &rows->rows[0].best, *b = &rows->rows[i].best;

		if ((column == COLUMN_CONTRACT && a->problem.contract != b->problem.contract) ||
		    (column == COLUMN_DEVICE && !cli_is_one_device(a, b)) ||
		    (column == COLUMN_THREADS && a->threads != b->threads))
			return 0;
	}
	return column == COLUMN_CONTRACT || column == COLUMN_DEVICE || column == COLUMN_THREADS;
}

/* --- asking for columns --- */

void cli_best_columns(struct tcb_str *out)
{
	struct column column;

	for (size_t i = 0; column_at(i, &column); i++)
		tcb_str_addf(out, "%s%s", i ? ", " : "", column.name);
}

/* 0: there is none of that name. */
static int find_column(const char *name, size_t length, struct column *out)
{
	for (size_t i = 0; column_at(i, out); i++)
		if (strlen(out->name) == length && strncmp(out->name, name, length) == 0)
			return 1;
	return 0;
}

/* Names, divided by commas, into CHOSEN; a name that is none, or NULL. */
static const char *read_columns(const char *text, struct column chosen[CHOSEN_MAX], size_t *count)
{
	for (*count = 0;; text++) {
		const size_t length = strcspn(text, ",");

		if (*count == CHOSEN_MAX || !find_column(text, length, &chosen[*count]))
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
	struct column chosen[CHOSEN_MAX];
	size_t count;
	const char *bad = view->columns ? read_columns(view->columns, chosen, &count) : NULL;
	const char *key = view->sort ? view->sort + (view->sort[0] == '-') : NULL;

	if (bad)
		return refuse("columns", bad, err);
	if (key && !find_column(key, strlen(key), chosen))
		return refuse("sort", key, err);
	return TCB_OK;
}

/* --- order --- */

static double number_of(const struct cli_best_row *row, const struct column *column)
{
	const struct tcb_best *best = &row->best;

	switch (column->id) {
	case COLUMN_THREADS:
		return best->threads;
	case COLUMN_TIME:
	case COLUMN_INTERVAL:
		return best->ns.median;
	case COLUMN_RATE:
		return cli_best_gbs(best);
	case COLUMN_LIMIT:
		return cli_limit_of(best).of_limit.median;
	case COLUMN_SPEEDUP:
	case COLUMN_SPEEDUPS:
		return best->speedup.median;
	case COLUMN_TRIED:
		return (double)best->tried;
	case COLUMN_VERDICT:
		return row->verdict;
	case COLUMN_SERVED:
		return row->served;
	case COLUMN_BOUND:
		return row->bound;
	case COLUMN_SHAPE:
		return (double)best->problem.shape.m * (double)best->problem.shape.n *
		       (double)(best->problem.shape.k ? best->problem.shape.k : 1);
	default:
		return column->stored ? tcb_column_number(column->stored, best) : 0;
	}
}

static int by_text(const struct cli_best_row *left, const struct cli_best_row *right, const struct column *column)
{
	const struct tcb_best *a = &left->best, *b = &right->best;

	if (column->stored && column->stored->type == TCB_COLUMN_TEXT)
		return strcmp(tcb_column_text(column->stored, a), tcb_column_text(column->stored, b));
	switch (column->id) {
	case COLUMN_OP:
		return strcmp(a->problem.op_name, b->problem.op_name);
	case COLUMN_DEVICE:
		return strcmp(left->device_label, right->device_label);
	case COLUMN_CONTRACT:
		return (int)a->problem.contract - (int)b->problem.contract;
	case COLUMN_STATE:
		return (int)a->state - (int)b->state;
	case COLUMN_GEOMETRY:
		return strcmp(a->geometry, b->geometry);
	default:
		return 0;
	}
}

struct key {
	const struct cli_best_row *row;
	double number; /* NaN: unknown, which comes last */
	size_t place;
	const struct column *column;
	int sign;
};

static int by_key(const void *left, const void *right)
{
	const struct key *a = left, *b = right;
	const int order = by_text(a->row, b->row, a->column);

	if (order)
		return a->sign * order;
	if (isnan(a->number) != isnan(b->number))
		return isnan(a->number) - isnan(b->number);
	if (a->number < b->number || a->number > b->number)
		return a->sign * (a->number < b->number ? -1 : 1);
	return a->place < b->place ? -1 : a->place > b->place;
}

void cli_best_sort(struct cli_best_rows *rows, const struct cli_best_view *view)
{
	const int is_down = view->sort && view->sort[0] == '-';
	const char *name = view->sort ? view->sort + is_down : "";
	struct column column;
	const int has_order = find_column(name, strlen(name), &column);
	struct cli_best_row *sorted = malloc((rows->count + 1) * sizeof *sorted);
	struct key *keys = malloc((rows->count + 1) * sizeof *keys);

	for (size_t i = 0; has_order && sorted && keys && i < rows->count; i++)
		keys[i] = (struct key){ &rows->rows[i], number_of(&rows->rows[i], &column), i, &column,
					is_down ? -1 : 1 };
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

/* What tells the row from others, where it has no columns: "q8, sm_90, 8 threads: ". */
static void add_names(struct tcb_str *out, const struct cli_best_rows *rows, const struct cli_best_row *row)
{
	const struct tcb_best *best = &row->best;

	if (!is_common(rows, COLUMN_CONTRACT))
		tcb_str_addf(out, "%s, ", tcb_contract_text(best->problem.contract));
	if (!is_common(rows, COLUMN_DEVICE))
		tcb_str_addf(out, "%s, ", row->device_label);
	if (!is_common(rows, COLUMN_THREADS) && best->threads)
		tcb_str_addf(out, "%u thread%s, ", best->threads, best->threads == 1 ? "" : "s");
	if (out->length && !out->failed) /* without the last comma */
		out->data[out->length -= 2] = '\0';
}

static void add_note(struct cli_table *table, const struct cli_best_rows *rows, const struct cli_best_row *row,
		     enum cli_geometry_view view, int has_names)
{
	struct tcb_str text = { 0 };

	struct tcb_str geometry = { 0 };

	if (has_names)
		add_names(&text, rows, row);
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

static int is_left_out(const struct cli_best_rows *rows, int column, enum left_out left_out)
{
	const int is_name = column == COLUMN_CONTRACT || column == COLUMN_DEVICE || column == COLUMN_THREADS;

	return left_out != LEFT_OUT_NONE && (is_common(rows, column) || (left_out == LEFT_OUT_NAMES && is_name));
}

/* Renders the COUNT columns CHOSEN; the width of the widest line of the table proper, or 0 after a failure. */
static size_t render(const struct cli_best_rows *rows, const struct cli_best_view *view, const struct column *chosen,
		     size_t chosen_count, enum left_out left_out, struct tcb_str *out, struct tcb_error *err)
{
	struct cli_column shown[CHOSEN_MAX];
	struct column kept[CHOSEN_MAX];
	struct cli_table table;
	size_t count = 0, width = 0;
	int has_geometry = 0;

	for (size_t i = 0; i < chosen_count; i++) {
		if (is_left_out(rows, chosen[i].id, left_out))
			continue;
		has_geometry |= chosen[i].id == COLUMN_GEOMETRY;
		shown[count] = chosen[i].shown;
		kept[count++] = chosen[i];
	}
	cli_table_init(&table, shown, count);
	table.is_colored = view->is_colored;
	for (size_t i = 0; i < rows->count; i++) {
		for (size_t c = 0; c < count; c++)
			add_cell(&table, &rows->rows[i], &kept[c]);
		if (!has_geometry)
			add_note(&table, rows, &rows->rows[i], view->geometry, left_out == LEFT_OUT_NAMES);
	}
	if (cli_table_render(&table, view->is_markdown ? CLI_TABLE_MD : CLI_TABLE_TEXT, out, err) == TCB_OK)
		width = cli_table_width(&table);
	cli_table_fini(&table);
	return width;
}

static void add_common(struct tcb_str *out, const struct cli_best_rows *rows)
{
	const struct tcb_best *best = &rows->rows[0].best;
	const size_t before = out->length;

	if (is_common(rows, COLUMN_CONTRACT))
		tcb_str_addf(out, "contract %s", tcb_contract_text(best->problem.contract));
	if (is_common(rows, COLUMN_DEVICE)) {
		tcb_str_add(out, out->length > before ? ", device " : "device ");
		cli_add_shown(out, best->device_name);
	}
	if (is_common(rows, COLUMN_THREADS) && best->threads)
		tcb_str_addf(out, "%s%u thread%s", out->length > before ? ", " : "", best->threads,
			     best->threads == 1 ? "" : "s");
	if (out->length > before)
		tcb_str_add(out, "\n");
}

static enum tcb_status add_fitting(const struct cli_best_rows *rows, const struct cli_best_view *view,
				   struct tcb_str *out, struct tcb_error *err)
{
	const size_t room = cli_terminal_width(), most = sizeof layouts / sizeof *layouts;

	add_common(out, rows);
	for (size_t i = 0; i <= most; i++) { /* the poorest once more, with names in notes */
		struct tcb_str table = { 0 };
		struct column chosen[CHOSEN_MAX];
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

enum tcb_status cli_best_table(const struct cli_best_rows *rows, const struct cli_best_view *view, struct tcb_str *out,
			       struct tcb_error *err)
{
	struct column chosen[CHOSEN_MAX];
	size_t count;

	if (rows->count == 0)
		return TCB_OK;
	if (!view->columns && !view->is_markdown) {
		TCB_TRY(add_fitting(rows, view, out, err));
		add_limit_notes(rows, out);
		return TCB_OK;
	}
	if (read_columns(view->columns ? view->columns : everything, chosen, &count))
		return tcb_fail(err, TCB_E_USAGE, "--columns: no such columns");
	return render(rows, view, chosen, count, LEFT_OUT_NONE, out, err) ? TCB_OK : TCB_E_NOMEM;
}
