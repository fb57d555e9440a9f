/* SPDX-License-Identifier: MIT
 *
 * Reports of `tcbtune verify` in memory and as JSON, out and in.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/emit.h"
#include "cli/tune/verify_report.h"

enum tcb_status cli_verify_reports_add(struct cli_verify_reports *reports, const struct tcb_verified_run *run,
				       struct cli_verify_report **out, struct tcb_error *err)
{
	size_t claims = 0;
	if (reports->count == CLI_VERIFY_REPORTS_MAX)
		return tcb_fail(err, TCB_E_USAGE, "more than %d reports", CLI_VERIFY_REPORTS_MAX);
	while (tcb_claim_at(claims))
		claims++;
	*out = &reports->items[reports->count];
	(*out)->rows = calloc(claims, sizeof *(*out)->rows);
	if (!(*out)->rows)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu results", claims);
	(*out)->run = *run;
	(*out)->count = 0;
	reports->count++;
	return TCB_OK;
}

void cli_verify_reports_fini(struct cli_verify_reports *reports)
{
	for (size_t i = 0; i < reports->count; i++)
		free(reports->items[i].rows);
	reports->count = 0;
}

const struct tcb_verified *cli_verify_row(const struct cli_verify_report *report, const char *id)
{
	for (size_t i = 0; i < report->count; i++)
		if (!strcmp(report->rows[i].id, id))
			return &report->rows[i];
	return NULL;
}

size_t cli_verify_count(const struct cli_verify_report *report, enum tcb_claim_result result)
{
	size_t count = 0;
	for (size_t i = 0; i < report->count; i++)
		count += tcb_claim_result_find(report->rows[i].result) == result;
	return count;
}

/* --- out --- */

static json_t *row_json(const struct tcb_verified *row, int *failed)
{
	json_t *object = json_object();
	const struct tcb_claim *claim = tcb_claim_find(row->id);
	cli_json_set(object, "id", cli_json_text(row->id), failed);
	cli_json_set(object, "claim", cli_json_text(claim ? claim->claim : ""), failed);
	cli_json_set(object, "threshold", cli_json_text(claim ? claim->threshold : ""), failed);
	cli_json_set(object, "method", cli_json_text(claim ? claim->method : ""), failed);
	cli_json_set(object, "result", cli_json_text(row->result), failed);
	cli_json_set(object, "evidence", cli_json_text(row->evidence), failed);
	cli_json_set(object, "control", cli_json_text(row->control), failed);
	cli_json_set(object, "seconds", cli_json_real(row->seconds), failed);
	return object;
}

static json_t *report_json(const struct cli_verify_report *report, int *failed)
{
	json_t *object = json_object(), *counts = json_object(), *results = json_array();
	const struct tcb_verified_run *run = &report->run;
	cli_json_set(object, "device", cli_json_text(run->device), failed);
	cli_json_set(object, "device_key", cli_json_text(run->device_key), failed);
	cli_json_set(object, "model", cli_json_text(run->model), failed);
	cli_json_set(object, "assembler", cli_json_text(run->assembler), failed);
	cli_json_set(object, "git_commit", cli_json_text(run->git_commit), failed);
	cli_json_set(object, "measured_at", cli_json_text(run->measured_at), failed);
	for (unsigned r = 0; r < TCB_CLAIM_RESULT_COUNT; r++)
		cli_json_set(counts, tcb_claim_result_text((enum tcb_claim_result)r),
			     cli_json_size(cli_verify_count(report, (enum tcb_claim_result)r)), failed);
	cli_json_set(object, "counts", counts, failed);
	for (size_t i = 0; i < report->count; i++)
		cli_json_add(results, row_json(&report->rows[i], failed), failed);
	cli_json_set(object, "results", results, failed);
	return object;
}

enum tcb_status cli_verify_print_json(const struct cli_verify_reports *reports, const char *out_path,
				      struct tcb_error *err)
{
	int failed = 0;
	json_t *root = cli_json_start("tcbtune.verify.1", &failed), *list = json_array();
	for (size_t i = 0; i < reports->count; i++)
		cli_json_add(list, report_json(&reports->items[i], &failed), &failed);
	cli_json_set(root, "reports", list, &failed);
	return cli_emit_json_to(out_path, cli_json_end(root, failed), err);
}

/* --- in --- */

static int get_text(const json_t *object, const char *key, char *out, size_t capacity)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text && strlen(text) < capacity && snprintf(out, capacity, "%s", text) >= 0;
}

static int read_rows(const json_t *results, struct cli_verify_report *report)
{
	const json_t *value;
	size_t i;
	json_array_foreach(results, i, value)
	{
		struct tcb_verified row;
		if (!get_text(value, "id", row.id, sizeof row.id) ||
		    !get_text(value, "result", row.result, sizeof row.result) ||
		    !get_text(value, "evidence", row.evidence, sizeof row.evidence) ||
		    !get_text(value, "control", row.control, sizeof row.control) ||
		    tcb_claim_result_find(row.result) == TCB_CLAIM_RESULT_COUNT)
			return 0;
		row.seconds = json_number_value(json_object_get(value, "seconds"));
		if (tcb_claim_find(row.id) && !cli_verify_row(report, row.id))
			report->rows[report->count++] = row;
	}
	return json_is_array(results);
}

static enum tcb_status read_reports(const char *path, const json_t *root, struct cli_verify_reports *reports,
				    struct tcb_error *err)
{
	const json_t *value, *list = json_object_get(root, "reports");
	const char *schema = json_string_value(json_object_get(root, "schema"));
	size_t i;
	if (!schema || strcmp(schema, "tcbtune.verify.1") != 0 || !json_is_array(list))
		return tcb_fail(err, TCB_E_FORMAT, "%s: is not what tcbtune verify --json prints", path);
	json_array_foreach(list, i, value)
	{
		struct tcb_verified_run run;
		struct cli_verify_report *report;
		if (!get_text(value, "device", run.device, sizeof run.device) ||
		    !get_text(value, "device_key", run.device_key, sizeof run.device_key) ||
		    !get_text(value, "model", run.model, sizeof run.model) ||
		    !get_text(value, "assembler", run.assembler, sizeof run.assembler) ||
		    !get_text(value, "git_commit", run.git_commit, sizeof run.git_commit) ||
		    !get_text(value, "measured_at", run.measured_at, sizeof run.measured_at))
			return tcb_fail(err, TCB_E_FORMAT, "%s: report %zu does not say what it is of", path, i + 1);
		TCB_TRY(cli_verify_reports_add(reports, &run, &report, err));
		if (!read_rows(json_object_get(value, "results"), report))
			return tcb_fail(err, TCB_E_FORMAT, "%s: report %zu: result %zu cannot be read", path, i + 1,
					report->count + 1);
	}
	return TCB_OK;
}

enum tcb_status cli_verify_read(const char *path, struct cli_verify_reports *reports, struct tcb_error *err)
{
	json_error_t where;
	json_t *root = json_load_file(path, 0, &where);
	if (!root)
		return tcb_fail(err, TCB_E_FORMAT, "%s:%d: %s", path, where.line, where.text);
	const enum tcb_status status = read_reports(path, root, reports, err);
	json_decref(root);
	return status;
}
