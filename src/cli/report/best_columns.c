/* SPDX-License-Identifier: MIT
 *
 * The table of what the CLI derives from a result, and cells of it.
 */
#include "cli/report/best_columns.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* --- words --- */

static const char *contract_of(const struct cli_best_row *row)
{
	return tcb_contract_text(row->best.problem.contract);
}

static const char *state_of(const struct cli_best_row *row)
{
	return tcb_state_text(row->best.state);
}

static const char *origin_of(const struct cli_best_row *row)
{
	return row->best.modelled ? "modelled" : row->best.provisional ? "provisional" : "measured";
}

static const char *verdict_of(const struct cli_best_row *row)
{
	return tcb_verdict_text(row->verdict);
}

static const char *served_of(const struct cli_best_row *row)
{
	return cli_served_text(row->served);
}

static const char *bound_of(const struct cli_best_row *row)
{
	return tcb_bottleneck_text(row->bound);
}

static const char *limit_use_of(const struct cli_best_row *row)
{
	const struct cli_limit limit = cli_limit_of(&row->best);

	return cli_limit_is_known(&limit) ? cli_limit_use_text(&limit) : NULL;
}

static const char *color_of(const struct cli_best_row *row)
{
	static const char *const colors[TCB_VERDICT_COUNT] = {
		[TCB_VERDICT_STALE] = "31", [TCB_VERDICT_MODELLED] = "36", [TCB_VERDICT_PROVISIONAL] = "33",
		[TCB_VERDICT_THIN] = "33",  [TCB_VERDICT_NOISY] = "33",    [TCB_VERDICT_TUNED] = "32",
	};

	return colors[row->verdict];
}

/* --- numbers --- */

static double work_of(const struct cli_best_row *row)
{
	const struct tcb_shape *shape = &row->best.problem.shape;

	return (double)shape->m * (double)shape->n * (double)(shape->k ? shape->k : 1);
}

static double gbs_of(const struct cli_best_row *row)
{
	return cli_best_gbs(&row->best);
}

static double limit_ns_of(const struct cli_best_row *row)
{
	return cli_limit_of(&row->best).ns.median;
}

static double share_of(const struct cli_best_row *row)
{
	return cli_limit_of(&row->best).of_limit.median;
}

/* --- how they are said --- */

static void print_words(const struct cli_best_row *row, char out[CLI_CELL_MAX])
{
	tcb_words_print(&row->best.problem.shape.words, out);
}

static void print_shape(const struct cli_best_row *row, char out[CLI_CELL_MAX])
{
	tcb_shape_print(&row->best.problem.shape, out);
}

static void print_time(const struct cli_best_row *row, char out[CLI_CELL_MAX])
{
	cli_text_us(row->best.ns.median, out);
}

static void print_interval(const struct cli_best_row *row, char out[CLI_CELL_MAX])
{
	if (row->best.modelled)
		cli_text_us(row->best.ns.median, out);
	else
		cli_text_us_interval(&row->best.ns, out);
}

static void print_rate(const struct cli_best_row *row, char out[CLI_CELL_MAX])
{
	(void)snprintf(out, CLI_CELL_MAX, "%.4g", gbs_of(row));
}

static void print_limit(const struct cli_best_row *row, char out[CLI_CELL_MAX])
{
	const struct cli_limit limit = cli_limit_of(&row->best);

	cli_limit_text(&limit, out);
}

static void print_speedup(const struct cli_best_row *row, char out[CLI_CELL_MAX])
{
	cli_speedup_text(&row->best, out);
}

static void print_speedups(const struct cli_best_row *row, char out[CLI_CELL_MAX])
{
	cli_speedup_interval_text(&row->best, out);
}

static void print_tried(const struct cli_best_row *row, char out[CLI_CELL_MAX])
{
	(void)snprintf(out, CLI_CELL_MAX, "%zu/%zu", row->best.tried, row->best.space_count);
}

/* --- what may be said once for all rows --- */

static int same_contract(const struct tcb_best *a, const struct tcb_best *b)
{
	return a->problem.contract == b->problem.contract;
}

static int same_threads(const struct tcb_best *a, const struct tcb_best *b)
{
	return a->threads == b->threads;
}

/* --- the table --- */

#define AT(kind, what) .member = CLI_MEMBER_##kind, .offset = offsetof(struct cli_best_row, what)

/* In the order of CSV. */
const struct cli_derived cli_derived[] = {
	{ "op", "OP", "op", NULL, AT(TEXT, best.problem.op_name) },
	{ "contract", "CONTRACT", "contract", NULL, AT(INT, best.problem.contract), contract_of,
	  .is_same = same_contract },
	{ "shape", "SHAPE", NULL, NULL, .number = work_of, .print = print_shape, .is_left = 1 },
	{ NULL, NULL, "m", NULL, AT(SIZE, best.problem.shape.m) },
	{ NULL, NULL, "n", NULL, AT(SIZE, best.problem.shape.n) },
	{ NULL, NULL, "k", NULL, AT(SIZE, best.problem.shape.k) },
	{ "device", "DEVICE", NULL, NULL, AT(TEXT, device_label), .is_same = cli_is_one_device },
	{ NULL, NULL, "device", NULL, AT(TEXT, best.device_name) },
	{ NULL, NULL, "device_key", NULL, AT(TEXT, best.device_key) },
	{ NULL, NULL, "model", NULL, AT(TEXT, best.model) },
	{ "threads", "THREADS", "threads", NULL, AT(INT, best.threads), .is_same = same_threads },
	{ "state", "STATE", "state", NULL, AT(INT, best.state), state_of },
	{ NULL, NULL, "origin", NULL, .word = origin_of },
	{ NULL, NULL, "stale", NULL, AT(INT, is_stale) },
	{ "verdict", "VERDICT", "verdict", "verdict", AT(INT, verdict), verdict_of, .color = color_of },
	{ "geometry", "GEOMETRY", NULL, NULL, AT(TEXT, best.geometry) },
	{ .from = "geometry", .end = "default_geometry" },
	{ NULL, NULL, NULL, "bytes", AT(REAL, best.bytes) },
	{ NULL, NULL, NULL, "flops", AT(REAL, best.flops) },
	{ "time", "µs", NULL, NULL, AT(REAL, best.ns.median), .print = print_time },
	{ "interval", "µs [95 %]", NULL, NULL, AT(REAL, best.ns.median), .print = print_interval },
	{ "rate", "GB/s", "gb_per_s", "gb_per_s", .number = gbs_of, .print = print_rate },
	{ NULL, NULL, "limit_ns", NULL, .number = limit_ns_of },
	{ "limit", "% LIMIT", "of_limit", NULL, .number = share_of, .print = print_limit },
	{ .from = "default_geometry", .end = "tried" },
	{ "speedup", "x DEFAULT", NULL, NULL, AT(REAL, best.speedup.median), .print = print_speedup },
	{ "speedups", "x DEFAULT [95 %]", NULL, NULL, AT(REAL, best.speedup.median), .print = print_speedups },
	{ NULL, NULL, "ties", "tie_count", AT(SIZE, best.tie_count) },
	{ "tried", "TRIED", NULL, NULL, AT(SIZE, best.tried), .print = print_tried },
	{ .from = "tried" },
	{ NULL, NULL, "git_commit", "git_commit", AT(TEXT, best.git_commit) },
	{ NULL, NULL, "words", NULL, .print = print_words },
	{ NULL, NULL, "limit_use", "limit_use", .word = limit_use_of },
	{ "served", "SERVED", "served", "served", AT(INT, served), served_of },
	{ "bound", "BOUND BY", NULL, NULL, AT(INT, bound), bound_of },
};
const size_t cli_derived_count = sizeof cli_derived / sizeof *cli_derived;

/* --- what a row of it says --- */

static int is_text(const struct cli_derived *derived)
{
	return derived->word || derived->member == CLI_MEMBER_TEXT || (!derived->member && !derived->number);
}

const char *cli_derived_text(const struct cli_derived *derived, const struct cli_best_row *row, char text[CLI_CELL_MAX])
{
	const char *word;

	if (!is_text(derived))
		return NULL;
	if (derived->print) {
		derived->print(row, text);
		return text;
	}
	word = derived->word ? derived->word(row) : (const char *)row + derived->offset;
	return word ? word : "";
}

double cli_derived_number(const struct cli_derived *derived, const struct cli_best_row *row)
{
	const void *member = (const char *)row + derived->offset;

	switch (derived->member) {
	case CLI_MEMBER_INT:
		return *(const int *)member;
	case CLI_MEMBER_SIZE:
		return (double)*(const size_t *)member;
	case CLI_MEMBER_REAL:
		return *(const double *)member;
	default:
		return derived->number ? derived->number(row) : 0;
	}
}

/* --- columns of tables --- */

int cli_best_column_at(size_t number, struct cli_best_column *out)
{
	*out = (struct cli_best_column){ NULL, NULL };
	for (size_t i = 0; i < cli_derived_count && !out->derived; i++)
		if (cli_derived[i].asked && !number--)
			out->derived = &cli_derived[i];
	for (size_t i = 0; i < tcb_column_count && !out->derived && !out->stored; i++)
		if (tcb_columns[i].title && !number--)
			out->stored = &tcb_columns[i];
	return out->derived || out->stored;
}

const char *cli_best_column_name(const struct cli_best_column *column)
{
	return column->derived ? column->derived->asked : column->stored->asked;
}

int cli_best_column_find(const char *name, size_t length, struct cli_best_column *out)
{
	for (size_t i = 0; cli_best_column_at(i, out); i++)
		if (strlen(cli_best_column_name(out)) == length &&
		    strncmp(cli_best_column_name(out), name, length) == 0)
			return 1;
	return 0;
}

struct cli_column cli_best_column_head(const struct cli_best_column *column)
{
	const struct cli_derived *derived = column->derived;

	if (derived)
		return (struct cli_column){ derived->title, !is_text(derived) && !derived->is_left };
	return (struct cli_column){ column->stored->title, column->stored->type != TCB_COLUMN_TEXT };
}

static void add_derived(struct cli_table *table, const struct cli_best_row *row, const struct cli_derived *derived)
{
	char buffer[CLI_CELL_MAX];
	const char *text = cli_derived_text(derived, row, buffer);

	if (!text && derived->print) {
		derived->print(row, buffer);
		text = buffer;
	}
	if (text)
		cli_table_cell(table, "%s", text);
	else
		cli_table_cell(table, "%.0f", cli_derived_number(derived, row));
	if (derived->color)
		cli_table_color(table, derived->color(row));
}

static void add_stored(struct cli_table *table, const struct tcb_best *best, const struct tcb_column *stored)
{
	const double number = tcb_column_number(stored, best);

	if (stored->member == TCB_MEMBER_TIME) {
		const char *time = tcb_column_text(stored, best);

		cli_table_cell(table, "%.10s %.5s", time, strlen(time) > 11 ? time + 11 : "");
	} else if (stored->type == TCB_COLUMN_TEXT) {
		cli_table_cell(table, "%s", tcb_column_text(stored, best));
	} else if (stored->type != TCB_COLUMN_REAL) {
		cli_table_cell(table, "%.0f", number);
	} else if (isfinite(number)) {
		cli_table_cell(table, "%.*f %%", stored->digits, 100 * number);
	} else {
		cli_table_cell(table, "-");
	}
}

void cli_best_column_cell(const struct cli_best_column *column, const struct cli_best_row *row, struct cli_table *table)
{
	if (column->derived)
		add_derived(table, row, column->derived);
	else
		add_stored(table, &row->best, column->stored);
}

/* --- order --- */

/* NULL: the column orders rows by its number. */
static const char *order_text(const struct cli_best_column *column, const struct cli_best_row *row)
{
	const struct cli_derived *derived = column->derived;

	if (derived)
		return derived->member == CLI_MEMBER_TEXT ? (const char *)row + derived->offset : NULL;
	return column->stored->type == TCB_COLUMN_TEXT ? tcb_column_text(column->stored, &row->best) : NULL;
}

static double order_number(const struct cli_best_column *column, const struct cli_best_row *row)
{
	return column->derived ? cli_derived_number(column->derived, row)
			       : tcb_column_number(column->stored, &row->best);
}

int cli_best_column_order(const struct cli_best_column *column, const struct cli_best_row *a,
			  const struct cli_best_row *b, int sign)
{
	const char *text = order_text(column, a);

	if (text)
		return sign * strcmp(text, order_text(column, b));

	const double left = order_number(column, a), right = order_number(column, b);

	if (isnan(left) || isnan(right))
		return isnan(left) - isnan(right);
	return left < right ? -sign : left > right ? sign : 0;
}
