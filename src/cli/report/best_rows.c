/* SPDX-License-Identifier: MIT
 *
 * Best rows, and as CSV and JSON for programs: plain numbers in columns and
 * members of their own.
 */
#include "cli/report/best_rows.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "db/columns.h"
#include "kernels/signature.h"

struct cli_best_row *cli_best_rows_add(struct cli_best_rows *rows, const struct tcb_best *best)
{
	if (rows->count == rows->capacity) {
		size_t capacity = rows->capacity ? 2 * rows->capacity : 16;
		struct cli_best_row *grown = realloc(rows->rows, capacity * sizeof *grown);
		if (!grown)
			return NULL;
		rows->rows = grown;
		rows->capacity = capacity;
	}
	struct cli_best_row *row = &rows->rows[rows->count++];
	memset(row, 0, sizeof *row);
	row->best = *best;
	snprintf(row->device_label, sizeof row->device_label, "%s", best->device_name);
	row->is_stale = cli_best_is_stale(best);
	row->verdict = tcb_best_verdict(best, row->is_stale);
	row->served = cli_served_of(best, row->is_stale);
	return row;
}

void cli_best_rows_label(struct cli_best_rows *rows)
{
	const struct tcb_best **devices = calloc(rows->count + 1, sizeof *devices);
	size_t count = 0;

	for (size_t i = 0; devices && i < rows->count; i++) {
		size_t known = 0;

		while (known < count && !cli_is_one_device(devices[known], &rows->rows[i].best))
			known++;
		if (known == count)
			devices[count++] = &rows->rows[i].best;
	}
	for (size_t i = 0; devices && i < rows->count; i++)
		cli_device_label(&rows->rows[i].best, devices, count, rows->rows[i].device_label);
	free(devices);
}

int cli_best_row_add_tie(struct cli_best_row *row, const char *geometry)
{
	char **ties = realloc(row->ties, (row->tie_count + 1) * sizeof *ties);

	if (!ties)
		return -1;
	row->ties = ties;
	ties[row->tie_count] = strdup(geometry);
	if (!ties[row->tie_count])
		return -1;
	row->tie_count++;
	return 0;
}

int cli_best_row_add_counter(struct cli_best_row *row, const struct tcb_counter *counter)
{
	struct tcb_counter *counters = realloc(row->counters, (row->counter_count + 1) * sizeof *counters);

	if (!counters)
		return -1;
	row->counters = counters;
	counters[row->counter_count++] = *counter;
	return 0;
}

void cli_best_rows_fini(struct cli_best_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		for (size_t t = 0; t < rows->rows[i].tie_count; t++)
			free(rows->rows[i].ties[t]);
		free(rows->rows[i].ties);
		free(rows->rows[i].counters);
	}
	free(rows->rows);
	memset(rows, 0, sizeof *rows);
}

double cli_best_gbs(const struct tcb_best *best)
{
	return best->ns.median > 0 ? best->bytes / best->ns.median : 0;
}

struct finding {
	const struct tcb_device *device;
	const struct tcb_problem *problem;
	enum tcb_state state;
	struct tcb_best *best;
	int is_found;
};

static int match_best(void *ctx, const struct tcb_best *best)
{
	struct finding *finding = ctx;
	if (best->state != finding->state || strcmp(best->device_key, finding->device->key) != 0 ||
	    best->threads != finding->device->target.threads || best->problem.contract != finding->problem->contract ||
	    !tcb_shape_equal(&best->problem.shape, &finding->problem->shape))
		return 0;
	*finding->best = *best;
	finding->is_found = 1;
	return 1;
}

enum tcb_status cli_best_find(struct tcb_db *db, const struct tcb_device *device, const struct tcb_problem *problem,
			      enum tcb_state state, struct tcb_best *out, int *found_out, struct tcb_error *err)
{
	struct finding finding = { device, problem, state, out, 0 };
	const struct tcb_best_filter filter = { problem->op->name, device->name };
	enum tcb_status status = tcb_db_best_each(db, &filter, match_best, &finding, err);

	*found_out = finding.is_found;
	return status;
}

int cli_best_is_stale(const struct tcb_best *best)
{
	const struct tcb_op *op = best->problem.op;
	struct tcb_packings packings = { .is_known = { 0 } };
	struct tcb_geometry geometry;
	struct tcb_problem problem;

	return !op || tcb_geometry_parse_of(best->geometry, op->parameters, &geometry, NULL) != TCB_OK ||
	       tcb_problem_init(op, best->problem.contract, &best->problem.shape, &problem, NULL) != TCB_OK ||
	       !tcb_candidate_is_current(&problem, &best->target, &geometry, best->signature, &packings);
}

int cli_best_row_has_hardware_counters(const struct cli_best_row *row)
{
	const char *source = tcb_kind_of(&row->best.target)->counters;

	for (size_t i = 0; source && i < row->counter_count; i++)
		if (strcmp(row->counters[i].source, source) == 0)
			return 1;
	return 0;
}

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

static void add_data_row(struct data *data, const struct cli_best_row *row)
{
	const struct tcb_best *best = &row->best;
	const struct cli_limit limit = cli_limit_of(best);
	char words[TCB_WORDS_TEXT_MAX];

	add_data(data, "op", 0, "%s", best->problem.op_name);
	add_data(data, "contract", 0, "%s", tcb_contract_text(best->problem.contract));
	add_data(data, "m", 1, "%zu", best->problem.shape.m);
	add_data(data, "n", 1, "%zu", best->problem.shape.n);
	add_data(data, "k", 1, "%zu", best->problem.shape.k);
	add_data(data, "device", 0, "%s", best->device_name);
	add_data(data, "device_key", 0, "%s", best->device_key);
	add_data(data, "model", 0, "%s", best->model);
	add_data(data, "threads", 1, "%u", best->threads);
	add_data(data, "state", 0, "%s", tcb_state_text(best->state));
	add_data(data, "origin", 0, "%s", best->modelled ? "modelled" : best->provisional ? "provisional" : "measured");
	add_data(data, "stale", 1, "%d", row->is_stale);
	add_data(data, "verdict", 0, "%s", tcb_verdict_text(row->verdict));
	add_stored(data, best, "geometry", "default_geometry");
	add_number(data, "gb_per_s", cli_best_gbs(best));
	add_number(data, "limit_ns", limit.ns.median);
	add_number(data, "of_limit", limit.of_limit.median);
	add_stored(data, best, "default_geometry", "tried");
	add_data(data, "ties", 1, "%zu", best->tie_count);
	add_stored(data, best, "tried", NULL);
	add_data(data, "git_commit", 0, "%s", best->git_commit);
	tcb_words_print(&best->problem.shape.words, words);
	add_data(data, "words", 0, "%s", words);
	add_data(data, "limit_use", 0, "%s", cli_limit_is_known(&limit) ? cli_limit_use_text(&limit) : "");
	add_data(data, "served", 0, "%s", cli_served_text(row->served));
}

enum tcb_status cli_best_rows_csv(const struct cli_best_rows *rows, struct tcb_str *out, struct tcb_error *err)
{
	static const struct cli_best_row none;
	struct data data = { .count = 0 };
	struct cli_table table;
	enum tcb_status status;

	add_data_row(&data, &none);
	cli_table_init(&table, data.columns, data.count);
	data.table = &table;
	for (size_t i = 0; i < rows->count; i++)
		add_data_row(&data, &rows->rows[i]);
	status = cli_table_render(&table, CLI_TABLE_CSV, out, err);
	cli_table_fini(&table);
	return status;
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

void cli_best_json_stored(json_t *object, const struct tcb_best *best, const char *first, const char *end, int *failed)
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
	cli_json_set(object, "stale", json_boolean(row->is_stale), failed);
	cli_json_set(object, "verdict", json_string(tcb_verdict_text(row->verdict)), failed);
	cli_json_set(object, "verdict_reason", cli_json_text(reason), failed);
	cli_json_set(object, "served", json_string(cli_served_text(row->served)), failed);
	cli_best_json_stored(object, best, "geometry", "default_geometry", failed);
	cli_json_set(object, "bytes", cli_json_real(best->bytes), failed);
	cli_json_set(object, "flops", cli_json_real(best->flops), failed);
	cli_json_set(object, "gb_per_s", cli_json_real(cli_best_gbs(best)), failed);
	cli_json_set(object, "limit_ns", cli_json_interval(&limit.ns), failed);
	cli_json_set(object, "limit_method", is_limited ? cli_json_text(limit.method) : json_null(), failed);
	cli_json_set(object, "of_limit", is_limited ? cli_json_real(limit.of_limit.median) : json_null(), failed);
	cli_json_set(object, "limit_use", is_limited ? json_string(cli_limit_use_text(&limit)) : json_null(), failed);
	cli_best_json_stored(object, best, "default_geometry", "tried", failed);
	for (size_t i = 0; i < row->tie_count; i++)
		cli_json_add(ties, cli_json_text(row->ties[i]), failed);
	cli_json_set(object, "tie_count", cli_json_size(best->tie_count), failed);
	cli_json_set(object, "ties", ties, failed);
	cli_best_json_stored(object, best, "tried", NULL, failed);
	cli_json_set(object, "git_commit", cli_json_text(best->git_commit), failed);
	cli_json_set(object, "counters", counters_json(row, failed), failed);
	return object;
}
