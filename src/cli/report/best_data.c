/* SPDX-License-Identifier: MIT
 *
 * Best rows as CSV and JSON for programs: plain numbers in columns and members
 * of their own.
 */
#include "cli/report/best_data.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/report/best_columns.h"

/* The row of the table of columns that has NAME in JSON; where those that do not travel begin, for NULL. */
static const struct tcb_column *find_column(const char *name)
{
	size_t i = 0;

	while (name ? !tcb_columns[i].json || strcmp(tcb_columns[i].json, name) != 0 : !tcb_columns[i].is_local)
		i++;
	return &tcb_columns[i];
}

/* --- as CSV --- */

/* The columns, said by the first row; then the cells of all. */
struct data {
	struct cli_column columns[64];
	size_t count;
	struct cli_table *table; /* NULL: columns are said */
};

__attribute__((format(printf, 4, 5))) static void add_data(struct data *data, const char *name, int is_number,
							   const char *format, ...)
{
	char text[TCB_GEOMETRY_TEXT_MAX];
	va_list list;

	if (!data->table) {
		data->columns[data->count++] = (struct cli_column){ name, is_number };
		return;
	}
	va_start(list, format);
	(void)vsnprintf(text, sizeof text, format, list);
	va_end(list);
	cli_table_cell(data->table, "%s", text);
}

static void add_number(struct data *data, const char *name, double number)
{
	if (isfinite(number))
		add_data(data, name, 1, "%.9g", number);
	else /* unknown */
		add_data(data, name, 1, "%s", "");
}

/* The stored columns from FIRST on up to before END. */
static void add_stored(struct data *data, const struct tcb_best *best, const char *first, const char *end)
{
	for (const struct tcb_column *column = find_column(first); column != find_column(end); column++) {
		if (!column->csv)
			continue;
		if (column->type == TCB_COLUMN_TEXT)
			add_data(data, column->csv, 0, "%s", tcb_column_text(column, best));
		else if (column->type == TCB_COLUMN_REAL)
			add_number(data, column->csv, tcb_column_number(column, best));
		else
			add_data(data, column->csv, 1, "%.0f", tcb_column_number(column, best));
	}
}

static void add_derived(struct data *data, const struct cli_best_row *row, const struct cli_derived *derived)
{
	char buffer[CLI_CELL_MAX];
	const char *text = cli_derived_text(derived, row, buffer);

	if (text)
		add_data(data, derived->csv, 0, "%s", text);
	else if (derived->member == CLI_MEMBER_INT || derived->member == CLI_MEMBER_SIZE)
		add_data(data, derived->csv, 1, "%.0f", cli_derived_number(derived, row));
	else
		add_number(data, derived->csv, cli_derived_number(derived, row));
}

static void add_data_row(struct data *data, const struct cli_best_row *row)
{
	for (const struct cli_derived *at = cli_derived; at < cli_derived + cli_derived_count; at++) {
		if (at->from)
			add_stored(data, &row->best, at->from, at->end);
		else if (at->csv)
			add_derived(data, row, at);
	}
}

enum tcb_status cli_best_rows_csv(const struct cli_best_rows *rows, struct tcb_str *out, struct tcb_error *err)
{
	static const struct cli_best_row none;
	struct data data = { .count = 0 };
	struct cli_table table;

	add_data_row(&data, &none);
	cli_table_init(&table, data.columns, data.count);
	data.table = &table;
	for (size_t i = 0; i < rows->count; i++)
		add_data_row(&data, &rows->rows[i]);
	return cli_table_finish(&table, CLI_TABLE_CSV, out, err);
}

/* --- as JSON --- */

static void set_stored(json_t *object, const struct tcb_column *column, const struct tcb_best *best, int *failed)
{
	const double number = tcb_column_number(column, best);
	json_t *value;

	if (column->is_interval)
		value = cli_json_interval(tcb_column_interval(column, best));
	else if (column->type == TCB_COLUMN_TEXT)
		value = cli_json_text(tcb_column_text(column, best));
	else if (column->member == TCB_MEMBER_FLAG)
		value = json_boolean(number);
	else if (column->type == TCB_COLUMN_REAL)
		value = cli_json_real(number);
	else
		value = isnan(number) ? json_null() : cli_json_size((size_t)number);
	cli_json_set(object, column->json, value, failed);
}

/* Those from FIRST on up to before END, which is NULL for all. */
static void add_json_stored(json_t *object, const struct tcb_best *best, const char *first, const char *end,
			    int *failed)
{
	for (const struct tcb_column *column = find_column(first); column != find_column(end); column++)
		if (column->json)
			set_stored(object, column, best, failed);
}

void cli_best_json_named(json_t *object, const struct tcb_best *best, const char *const *names, int *failed)
{
	for (; *names; names++)
		set_stored(object, find_column(*names), best, failed);
}

json_t *cli_best_json_head(const struct tcb_best *best, int has_arch, int *failed)
{
	json_t *object = json_object(), *device = json_object();

	cli_json_set(object, "op", cli_json_text(best->problem.op_name), failed);
	cli_json_set(object, "contract", json_string(tcb_contract_text(best->problem.contract)), failed);
	cli_json_set(object, "shape", cli_json_shape(&best->problem.shape), failed);
	cli_json_set(device, "name", cli_json_text(best->device_name), failed);
	cli_json_set(device, "key", cli_json_text(best->device_key), failed);
	if (has_arch)
		cli_json_set(device, "arch", cli_json_text(best->arch), failed);
	cli_json_set(device, "model", cli_json_text(best->model), failed);
	cli_json_set(device, "threads", cli_json_size(best->threads), failed);
	cli_json_set(object, "device", device, failed);
	cli_json_set(object, "state", json_string(tcb_state_text(best->state)), failed);
	return object;
}

static json_t *counters_json(const struct cli_best_row *row, int *failed)
{
	json_t *list = json_array();

	for (size_t i = 0; i < row->counter_count; i++) {
		const struct tcb_counter *counter = &row->counters[i];
		cli_json_add(list,
			     json_pack("{s:o, s:o, s:s, s:o}", "name", cli_json_text(counter->name), "source",
				       cli_json_text(counter->source), "state", tcb_state_text(counter->state),
				       "per_call", cli_json_real(counter->value)),
			     failed);
	}
	return list;
}

static json_t *derived_json(const struct cli_best_row *row, const struct cli_derived *derived)
{
	const double number = cli_derived_number(derived, row);
	char buffer[CLI_CELL_MAX];
	const char *text = cli_derived_text(derived, row, buffer);

	if (text)
		return *text || derived->member == CLI_MEMBER_TEXT ? cli_json_text(text) : json_null();
	return derived->member == CLI_MEMBER_SIZE ? cli_json_size((size_t)number) : cli_json_real(number);
}

json_t *cli_best_row_json(const struct cli_best_row *row, int *failed)
{
	static const char *const origin[] = { "modelled", "provisional", NULL };
	const struct tcb_best *best = &row->best;
	const struct cli_limit limit = cli_limit_of(best);
	const int is_limited = cli_limit_is_known(&limit);
	json_t *object = cli_best_json_head(best, 1, failed), *ties = json_array();
	char reason[TCB_VERDICT_REASON_MAX];

	tcb_verdict_reason(best, row->verdict, reason);
	cli_best_json_named(object, best, origin, failed);
	cli_json_set(object, "stale", row->best.problem.op ? json_boolean(row->is_stale) : json_null(), failed);
	cli_json_set(object, "verdict_reason", cli_json_text(reason), failed);
	cli_json_set(object, "limit_ns", cli_json_interval(&limit.ns), failed);
	cli_json_set(object, "limit_method", is_limited ? cli_json_text(limit.method) : json_null(), failed);
	cli_json_set(object, "of_limit", is_limited ? cli_json_real(limit.of_limit.median) : json_null(), failed);
	for (const struct cli_derived *at = cli_derived; at < cli_derived + cli_derived_count; at++) {
		if (at->from)
			add_json_stored(object, best, at->from, at->end, failed);
		else if (at->json)
			cli_json_set(object, at->json, derived_json(row, at), failed);
	}
	for (size_t i = 0; i < row->tie_count; i++)
		cli_json_add(ties, cli_json_text(row->ties[i]), failed);
	cli_json_set(object, "ties", ties, failed);
	cli_json_set(object, "counters", counters_json(row, failed), failed);
	return object;
}
