/* SPDX-License-Identifier: MIT
 *
 * Best rows, and as CSV and JSON for programs: plain numbers in columns and
 * members of their own.
 */
#include "cli/report/best_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	const struct tcb_op *op = tcb_op_find(best->problem.op_name);
	struct tcb_packings packings = { .is_known = { 0 } };
	struct tcb_geometry geometry;
	struct tcb_problem problem;

	return !op || tcb_geometry_parse(best->geometry, &geometry, NULL) != TCB_OK ||
	       tcb_problem_init(op, best->problem.contract, &best->problem.shape, &problem, NULL) != TCB_OK ||
	       !tcb_candidate_is_current(&problem, &best->target, &geometry, best->signature, &packings);
}

int cli_best_row_has_hardware_counters(const struct cli_best_row *row)
{
	for (size_t i = 0; i < row->counter_count; i++)
		if (strcmp(row->counters[i].source, "papi") == 0 || strcmp(row->counters[i].source, "cupti") == 0)
			return 1;
	return 0;
}

static void add_data_row(struct cli_table *table, const struct cli_best_row *row)
{
	const struct tcb_best *best = &row->best;
	const struct cli_limit limit = cli_limit_of(best);
	char words[TCB_WORDS_TEXT_MAX];
	const double numbers[] = {
		best->ns.median,         best->ns.lo,          best->ns.hi,
		cli_best_gbs(best),      limit.ns.median,      limit.of_limit.median,
		best->default_ns.median, best->speedup.median, best->speedup.lo,
		best->speedup.hi,        best->regret,         best->flip_probability,
		best->expected_gain,     best->others_busy,    best->held_back,
	};

	cli_table_cell(table, "%s", best->problem.op_name);
	cli_table_cell(table, "%s", tcb_contract_text(best->problem.contract));
	cli_table_cell(table, "%zu", best->problem.shape.m);
	cli_table_cell(table, "%zu", best->problem.shape.n);
	cli_table_cell(table, "%zu", best->problem.shape.k);
	cli_table_cell(table, "%s", best->device_name);
	cli_table_cell(table, "%s", best->device_key);
	cli_table_cell(table, "%s", best->model);
	cli_table_cell(table, "%u", best->threads);
	cli_table_cell(table, "%s", tcb_state_text(best->state));
	cli_table_cell(table, "%s", best->modelled ? "modelled" : best->provisional ? "provisional" : "measured");
	cli_table_cell(table, "%d", row->is_stale);
	cli_table_cell(table, "%s", tcb_verdict_text(row->verdict));
	cli_table_cell(table, "%s", best->geometry);
	cli_table_cell(table, "%s", best->variant);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		if (isfinite(numbers[i]))
			cli_table_cell(table, "%.9g", numbers[i]);
		else /* unknown */
			cli_table_cell(table, "%s", "");
	}
	cli_table_cell(table, "%zu", best->tie_count);
	cli_table_cell(table, "%zu", best->tried);
	cli_table_cell(table, "%zu", best->space_count);
	cli_table_cell(table, "%s", best->measured_at);
	cli_table_cell(table, "%s", best->git_commit);
	tcb_heads_print(&best->problem.shape.heads, words);
	cli_table_cell(table, "%s", words);
	cli_table_cell(table, "%s", cli_limit_is_known(&limit) ? cli_limit_use_text(&limit) : "");
	cli_table_cell(table, "%s", cli_served_text(row->served));
}

enum tcb_status cli_best_rows_csv(const struct cli_best_rows *rows, struct tcb_str *out, struct tcb_error *err)
{
	static const struct cli_column data[] = {
		{ "op", 0 },
		{ "contract", 0 },
		{ "m", 1 },
		{ "n", 1 },
		{ "k", 1 },
		{ "device", 0 },
		{ "device_key", 0 },
		{ "model", 0 },
		{ "threads", 1 },
		{ "state", 0 },
		{ "origin", 0 },
		{ "stale", 1 },
		{ "verdict", 0 },
		{ "geometry", 0 },
		{ "variant", 0 },
		{ "ns", 1 },
		{ "ns_lo", 1 },
		{ "ns_hi", 1 },
		{ "gb_per_s", 1 },
		{ "limit_ns", 1 },
		{ "of_limit", 1 },
		{ "default_ns", 1 },
		{ "speedup", 1 },
		{ "speedup_lo", 1 },
		{ "speedup_hi", 1 },
		{ "regret", 1 },
		{ "flip_probability", 1 },
		{ "expected_gain", 1 },
		{ "others_busy", 1 },
		{ "held_back", 1 },
		{ "ties", 1 },
		{ "tried", 1 },
		{ "space", 1 },
		{ "measured_at", 0 },
		{ "git_commit", 0 },
		{ "words", 0 },
		{ "limit_use", 0 },
		{ "served", 0 },
	};
	struct cli_table table;
	enum tcb_status status;

	cli_table_init(&table, data, sizeof data / sizeof *data);
	for (size_t i = 0; i < rows->count; i++)
		add_data_row(&table, &rows->rows[i]);
	status = cli_table_render(&table, CLI_TABLE_CSV, out, err);
	cli_table_fini(&table);
	return status;
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
	const struct tcb_best *best = &row->best;
	const struct cli_limit limit = cli_limit_of(best);
	json_t *object = json_object(), *device = json_object(), *ties = json_array();
	char reason[TCB_VERDICT_REASON_MAX];

	tcb_verdict_reason(best, row->verdict, reason);
	cli_json_set(object, "op", cli_json_text(best->problem.op_name), failed);
	cli_json_set(object, "contract", json_string(tcb_contract_text(best->problem.contract)), failed);
	cli_json_set(object, "shape", cli_json_shape(&best->problem.shape), failed);
	cli_json_set(device, "name", cli_json_text(best->device_name), failed);
	cli_json_set(device, "key", cli_json_text(best->device_key), failed);
	cli_json_set(device, "arch", cli_json_text(best->arch), failed);
	cli_json_set(device, "model", cli_json_text(best->model), failed);
	cli_json_set(device, "threads", cli_json_size(best->threads), failed);
	cli_json_set(object, "device", device, failed);
	cli_json_set(object, "state", json_string(tcb_state_text(best->state)), failed);
	cli_json_set(object, "modelled", json_boolean(best->modelled), failed);
	cli_json_set(object, "provisional", json_boolean(best->provisional), failed);
	cli_json_set(object, "stale", json_boolean(row->is_stale), failed);
	cli_json_set(object, "verdict", json_string(tcb_verdict_text(row->verdict)), failed);
	cli_json_set(object, "verdict_reason", cli_json_text(reason), failed);
	cli_json_set(object, "served", json_string(cli_served_text(row->served)), failed);
	cli_json_set(object, "geometry", cli_json_text(best->geometry), failed);
	cli_json_set(object, "variant", cli_json_text(best->variant), failed);
	cli_json_set(object, "signature", cli_json_text(best->signature), failed);
	cli_json_set(object, "ns", cli_json_interval(&best->ns), failed);
	cli_json_set(object, "bytes", cli_json_real(best->bytes), failed);
	cli_json_set(object, "flops", cli_json_real(best->flops), failed);
	cli_json_set(object, "gb_per_s", cli_json_real(cli_best_gbs(best)), failed);
	cli_json_set(object, "limit_ns", cli_json_interval(&limit.ns), failed);
	cli_json_set(object, "limit_method", cli_limit_is_known(&limit) ? cli_json_text(limit.method) : json_null(),
		     failed);
	cli_json_set(object, "of_limit",
		     cli_limit_is_known(&limit) ? cli_json_real(limit.of_limit.median) : json_null(), failed);
	cli_json_set(object, "limit_use",
		     cli_limit_is_known(&limit) ? json_string(cli_limit_use_text(&limit)) : json_null(), failed);
	cli_json_set(object, "default_geometry", cli_json_text(best->default_geometry), failed);
	cli_json_set(object, "default_ns", cli_json_interval(&best->default_ns), failed);
	cli_json_set(object, "speedup", cli_json_interval(&best->speedup), failed);
	cli_json_set(object, "regret", cli_json_real(best->regret), failed);
	cli_json_set(object, "flip_probability", cli_json_real(best->flip_probability), failed);
	cli_json_set(object, "expected_gain", cli_json_real(best->expected_gain), failed);
	cli_json_set(object, "others_busy", cli_json_real(best->others_busy), failed);
	cli_json_set(object, "held_back", cli_json_real(best->held_back), failed);
	cli_json_set(object, "final_rounds", best->final_rounds ? cli_json_size(best->final_rounds) : json_null(),
		     failed);
	cli_json_set(object, "quiet_rounds", best->final_rounds ? cli_json_size(best->quiet_rounds) : json_null(),
		     failed);
	for (size_t i = 0; i < row->tie_count; i++)
		cli_json_add(ties, cli_json_text(row->ties[i]), failed);
	cli_json_set(object, "tie_count", cli_json_size(best->tie_count), failed);
	cli_json_set(object, "ties", ties, failed);
	cli_json_set(object, "tried", cli_json_size(best->tried), failed);
	cli_json_set(object, "space_count", cli_json_size(best->space_count), failed);
	cli_json_set(object, "measured_at", cli_json_text(best->measured_at), failed);
	cli_json_set(object, "git_commit", cli_json_text(best->git_commit), failed);
	cli_json_set(object, "counters", counters_json(row, failed), failed);
	return object;
}
