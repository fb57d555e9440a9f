/* SPDX-License-Identifier: MIT
 *
 * Exchange of results with other tuners: T4 files and caches of Kernel Tuner into a database, where they are kept
 * apart from what was measured, and out of it again; what was measured here goes out as the same.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/emit.h"
#include "cli/db/db_actions.h"
#include "cli/tune/replay_input.h"
#include "db/recordings.h"
#include "search/replay/recorded.h"
#include "search/replay/recorded_results.h"

/* --- import --- */

/* "gemm__A100" of "spaces/gemm__A100_T4.json.gz". */
static void stem_of(const char *path, char *out, size_t capacity)
{
	static const char *const ENDS[] = { ".gz", ".json", "_T4", "_cache" };
	const char *slash = strrchr(path, '/');

	(void)snprintf(out, capacity, "%s", slash ? slash + 1 : path);
	for (size_t i = 0; i < sizeof ENDS / sizeof *ENDS; i++) {
		const size_t length = strlen(out), end = strlen(ENDS[i]);
		if (length > end && strcmp(out + length - end, ENDS[i]) == 0)
			out[length - end] = '\0';
	}
}

static enum tcb_status put_results(const struct tcb_recording *recording, const json_t *list, struct tcb_db *db,
				   struct tcb_error *err)
{
	const size_t count = json_array_size(list);
	char **texts = calloc(count + 1, sizeof *texts);
	enum tcb_status status = TCB_OK;

	for (size_t i = 0; texts && i < count; i++)
		if (!(texts[i] = json_dumps(json_array_get(list, i), JSON_COMPACT)))
			status = TCB_E_NOMEM;
	if (!texts || status != TCB_OK)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu results", count);
	else
		status = tcb_db_recording_put(db, recording, (const char *const *)texts, count, err);
	for (size_t i = 0; texts && i < count; i++)
		free(texts[i]);
	free(texts);
	return status;
}

static enum tcb_status put_file(const struct cli_db_args *args, const char *path, const struct tcb_results *results,
				struct tcb_db *db, struct tcb_error *err)
{
	char stem[CLI_PATH_MAX];
	const char *op = args->op ? args->op : tcb_results_kernel(results), *slash = strrchr(path, '/');
	const char *device = args->device ? args->device : tcb_results_device(results);
	char *head = json_dumps(results->head, JSON_COMPACT);

	if (!head)
		return tcb_fail(err, TCB_E_NOMEM, "%.300s: out of memory", path);
	stem_of(path, stem, sizeof stem);
	struct tcb_recording recording = { .op = op ? op : stem,
					   .device = device ? device : "unknown",
					   .source = slash ? slash + 1 : path,
					   .head = head,
					   .best_ms = NAN };
	for (size_t i = 0; i < json_array_size(results->list); i++) {
		const double ms = tcb_result_ms(json_array_get(results->list, i));
		recording.valid += isfinite(ms);
		recording.best_ms = isfinite(ms) ? fmin(recording.best_ms, ms) : recording.best_ms;
	}
	const enum tcb_status status = put_results(&recording, results->list, db, err);
	free(head);
	if (status == TCB_OK)
		cli_say("%s: %zu result%s of %s on %s%s", path, json_array_size(results->list),
			json_array_size(results->list) == 1 ? "" : "s", recording.op, recording.device,
			results->is_open ? "; it ends without its closing brackets, so it may be a part of them" : "");
	return status;
}

/* Is there a key of its form?  What lacks them is left to who reads winners. */
static int has_results(const struct cli_bytes *bytes)
{
	static const char OURS[] = "\"tcbtune.db-export";

	return bytes->count > 0 && !memmem(bytes->data, bytes->count, OURS, sizeof OURS - 1) &&
	       (memmem(bytes->data, bytes->count, "\"results\"", 9) ||
		memmem(bytes->data, bytes->count, "\"cache\"", 7)) &&
	       memcmp(bytes->data, "SQLite", bytes->count < 6 ? bytes->count : 6) != 0;
}

/* What could not be replayed is not let in: a configuration without a value, say. */
static enum tcb_status check_replay(const struct cli_bytes *bytes, const char *path, struct tcb_results *results,
				    struct tcb_error *err)
{
	struct tcb_recorded space;
	const enum tcb_status status = tcb_recorded_parse(bytes->data, bytes->count, path, &space, err);

	if (status == TCB_OK)
		tcb_recorded_fini(&space);
	else
		tcb_results_fini(results);
	return status;
}

enum tcb_status cli_recording_import(const struct cli_db_args *args, const char *path, struct tcb_db *db,
				     size_t *count_out, struct tcb_error *err)
{
	struct cli_bytes bytes = { 0 };
	struct tcb_results results;

	*count_out = 0;
	enum tcb_status status = cli_read_inflated(path, &bytes, err);
	/* Whoever reads winners says what is wrong with another file that cannot be read. */
	if (status != TCB_E_FORMAT && (status != TCB_OK || !has_results(&bytes))) {
		free(bytes.data);
		return TCB_OK;
	}
	if (status == TCB_OK)
		status = tcb_results_read(bytes.data, bytes.count, path, &results, err);
	if (status == TCB_OK)
		status = check_replay(&bytes, path, &results, err);
	free(bytes.data);
	TCB_TRY(status);
	*count_out = json_array_size(results.list);
	status = put_file(args, path, &results, db, err);
	tcb_results_fini(&results);
	return status;
}

/* --- what was measured here, as results --- */

static const char *invalidity_of(enum tcb_outcome outcome)
{
	switch (outcome) {
	case TCB_OUTCOME_OK:
		return "correct";
	case TCB_OUTCOME_WRONG:
		return "correctness";
	case TCB_OUTCOME_COMPILE_FAILED:
	case TCB_OUTCOME_SPILLED:
		return "compile";
	case TCB_OUTCOME_TIMEOUT:
	case TCB_OUTCOME_TOO_SLOW:
		return "timeout";
	default:
		return "runtime";
	}
}

static json_t *json_ms(double ns)
{
	return isfinite(ns) && ns >= 0 ? json_real(1e-6 * ns) : json_integer(0);
}

/* The single calls of TRIAL in the screening, else in the finals. */
static const struct tcb_measurement *measurement_in(const struct tcb_trial *trial, enum tcb_state state)
{
	const struct tcb_measurement *found = NULL;

	for (size_t i = 0; i < trial->measurement_count; i++) {
		const struct tcb_measurement *m = &trial->measurements[i];
		if (m->state == state && m->ns.median > 0 && (!found || m->stage == TCB_STAGE_SCREEN))
			found = m;
	}
	return found;
}

static json_t *result_of(const struct tcb_trial *trial, enum tcb_state state, json_t *configuration)
{
	const struct tcb_measurement *m = measurement_in(trial, state);
	const char *invalidity = invalidity_of(trial->outcome);
	json_t *runtimes = json_array();

	if (!m && trial->outcome == TCB_OUTCOME_OK)
		invalidity = "runtime"; /* it works, and has no time in this state */
	for (size_t i = 0; m && i < m->sample_count; i++)
		if (isfinite(m->samples[i]))
			(void)json_array_append_new(runtimes, json_ms(m->samples[i]));
	return json_pack("{s:o, s:{s:o, s:i, s:i, s:o, s:o}, s:s, s:i, s:[{s:s, s:o, s:s}], s:[s]}", "configuration",
			 configuration, "times", "compilation_time", json_ms(trial->prepare_ns), "framework", 0,
			 "search_algorithm", 0, "validation", json_ms(trial->verify_ns), "runtimes", runtimes,
			 "invalidity", invalidity, "correctness", trial->outcome == TCB_OUTCOME_OK, "measurements",
			 "name", "time", "value",
			 m && trial->outcome == TCB_OUTCOME_OK ? json_ms(m->ns.median)
							       : json_string(tcb_outcome_text(trial->outcome)),
			 "unit", m && trial->outcome == TCB_OUTCOME_OK ? "ms" : "", "objectives", "time");
}

/* Does any candidate have in FIELD what a geometry does not have by itself? */
static int is_used(const struct tcb_named_space *named, const struct tcb_named_space *plain, size_t field)
{
	for (size_t i = 0; i < named->count; i++) {
		const struct tcb_named_value value = named->value(named->ctx, i, field),
					     by_itself = plain->value(plain->ctx, 0, field);
		if (!value.is_missing && (by_itself.is_missing || value.word || value.number != by_itself.number))
			return 1;
	}
	return 0;
}

static json_t *configuration_of(const struct tcb_named_space *named, const unsigned char *used, size_t index)
{
	json_t *object = json_object();
	char room[TCB_NAMED_ROOM], *end;

	for (size_t f = 0; f < named->fields; f++) {
		const struct tcb_named_value value = named->value(named->ctx, index, f);
		if (!used[f] || value.is_missing)
			continue;
		const double number = value.word ? strtod(value.word, &end) : value.number;
		const int is_word = value.word && (*end || !value.word[0]);
		(void)json_object_set_new(object, named->name(named->ctx, f, room),
					  is_word                  ? json_string(value.word)
					  : number == rint(number) ? json_integer((json_int_t)number)
								   : json_real(number));
	}
	return object;
}

static enum tcb_status make_results(const struct tcb_tried *tried, const struct tcb_trial *trials, size_t count,
				    enum tcb_state state, struct tcb_results *out, struct tcb_error *err)
{
	struct tcb_geometry *geometries = malloc(count * sizeof *geometries + 1), plain;
	unsigned char *used;
	char shape[TCB_SHAPE_TEXT_MAX];

	if (!geometries)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu trials", count);
	for (size_t i = 0; i < count; i++)
		geometries[i] = trials[i].geometry;
	tcb_geometry_init(&plain);
	plain.parameters = geometries[0].parameters;
	const struct tcb_named_space named = tcb_named_geometries(geometries, count),
				     by_itself = tcb_named_geometries(&plain, 1);
	used = calloc(named.fields + 1, 1);
	for (size_t f = 0; used && f < named.fields; f++)
		used[f] = (unsigned char)is_used(&named, &by_itself, f);
	tcb_shape_print(&tried->problem.shape, shape);
	out->head = json_pack("{s:{s:s, s:{s:s, s:s, s:s, s:s, s:s}}, s:s}", "metadata", "timeunit", "milliseconds",
			      "tcbtune", "op", tried->problem.op_name, "contract",
			      tcb_contract_text(tried->problem.contract), "shape", shape, "device",
			      tried->device.model[0] ? tried->device.model : tried->device.name, "state",
			      tcb_state_text(state), "schema_version", "1.0.0");
	out->list = json_array();
	for (size_t i = 0; used && i < count; i++)
		(void)json_array_append_new(out->list, result_of(&trials[i], state, configuration_of(&named, used, i)));
	free(used);
	free(geometries);
	return used && json_array_size(out->list) == count
		       ? TCB_OK
		       : tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu results", count);
}

/* --- export --- */

struct exporting {
	const struct cli_db_args *args;
	const struct tcb_shape *shape; /* NULL: any */
	struct tcb_db *db;
	struct tcb_results results; /* the last of those found */
	size_t count;               /* how many there are */
	struct tcb_str list;        /* what they are */
	enum tcb_status status;
	struct tcb_error *err;
};

static int add_result(void *ctx, const char *text)
{
	struct exporting *exporting = ctx;
	json_t *result = json_loads(text, 0, NULL);

	return json_array_append_new(exporting->results.list, result) != 0;
}

static int export_recording(void *ctx, const struct tcb_recording *recording)
{
	struct exporting *exporting = ctx;

	tcb_str_addf(&exporting->list, "%s%s on %s, imported", exporting->count ? "; " : "", recording->op,
		     recording->device);
	exporting->count++;
	tcb_results_fini(&exporting->results);
	exporting->results.head = json_loads(recording->head, 0, NULL);
	exporting->results.list = json_array();
	exporting->status = tcb_db_recorded_each(exporting->db, recording->id, add_result, exporting, exporting->err);
	if (exporting->status == TCB_OK && (!exporting->results.head || !exporting->results.list ||
					    json_array_size(exporting->results.list) != recording->count))
		exporting->status = tcb_fail(exporting->err, TCB_E_FORMAT,
					     "what was imported of %.60s on %.60s is damaged: 'tcbtune db check'",
					     recording->op, recording->device);
	return exporting->status != TCB_OK;
}

static int export_tried(void *ctx, const struct tcb_tried *tried)
{
	struct exporting *exporting = ctx;
	const struct cli_db_args *args = exporting->args;
	const enum tcb_state state = args->state ? (enum tcb_state)(args->state - 1) : TCB_COLD;
	char shape[TCB_SHAPE_TEXT_MAX];
	struct tcb_trial *trials;
	size_t count;

	if (strcmp(tried->problem.op_name, args->op) != 0 ||
	    (args->device && strcmp(args->device, tried->device.name) != 0 &&
	     strcmp(args->device, tried->device.key) != 0) ||
	    (exporting->shape && !tcb_shape_equal(exporting->shape, &tried->problem.shape)))
		return 0;
	tcb_shape_print(&tried->problem.shape, shape);
	tcb_str_addf(&exporting->list, "%s%s %s on %s, key %s", exporting->count ? "; " : "", tried->problem.op_name,
		     shape, tried->device.name, tried->device.key);
	if (exporting->count++)
		return 0;
	exporting->status = tcb_db_trials(exporting->db, &tried->device, &tried->problem, tried->rotation_bytes,
					  &trials, &count, exporting->err);
	if (exporting->status == TCB_OK && count)
		exporting->status = make_results(tried, trials, count, state, &exporting->results, exporting->err);
	tcb_db_trials_free(trials, count);
	return exporting->status != TCB_OK;
}

static enum tcb_status find_results(struct exporting *exporting, struct tcb_error *err)
{
	const struct cli_db_args *args = exporting->args;
	enum tcb_status status = tcb_db_tried_each(exporting->db, export_tried, exporting, err);

	if (status == TCB_OK && exporting->status == TCB_OK && !args->shape && !args->state)
		status = tcb_db_recording_each(exporting->db, args->op, args->device, export_recording, exporting, err);
	TCB_TRY(status == TCB_OK ? exporting->status : status);
	if (exporting->count == 0)
		return tcb_fail(err, TCB_E_NOT_FOUND,
				"no results of %.60s%s%.60s: 'tcbtune report' lists what there is", args->op,
				args->device ? " on " : "", args->device ? args->device : "");
	if (exporting->count > 1)
		return tcb_fail(
			err, TCB_E_USAGE,
			"a file has the results of one problem on one device, and there are %zu (%.300s): choose "
			"with --shape and --device",
			exporting->count, exporting->list.data ? exporting->list.data : "");
	return TCB_OK;
}

enum tcb_status cli_recording_export(const struct cli_db_args *args, struct tcb_db *db, struct tcb_error *err)
{
	struct exporting exporting = { .args = args, .db = db, .err = err };
	struct tcb_db_selection selection;
	struct tcb_shape shape;

	if (!args->op)
		return tcb_fail(err, TCB_E_USAGE, "--format t4 and kernel-tuner need --op: a file has results of one");
	TCB_TRY(cli_db_select(args, &shape, &selection, err));
	exporting.shape = selection.shape;
	enum tcb_status status = find_results(&exporting, err);
	if (status == TCB_OK) {
		const size_t count = json_array_size(exporting.results.list);
		json_t *file = args->format == CLI_DB_T4 ? tcb_results_t4(&exporting.results)
							 : tcb_results_cache(&exporting.results);
		const size_t kept = json_object_size(json_object_get(file, "cache"));
		if (args->format == CLI_DB_CACHE && file && kept < count)
			cli_say("%zu of %zu results are of configurations that are there twice: a cache has one of "
				"each",
				count - kept, count);
		status = file ? cli_emit_json_to(args->out, file, err)
			      : tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu results", count);
		if (status == TCB_OK)
			cli_say("%zu result%s exported", count, count == 1 ? "" : "s");
	}
	tcb_results_fini(&exporting.results);
	tcb_str_fini(&exporting.list);
	return status;
}
