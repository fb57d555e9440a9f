/* SPDX-License-Identifier: MIT
 *
 * In: settled findings of several texts.  Out: one log in SARIF 2.1.0 (OASIS
 * standard), as GitHub's code scanning and editors read it: every rule with its
 * help, places in the PTX and in the source, fingerprints that stay when lines
 * move.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/build_info.h"
#include "cli/core/demangle.h"
#include "cli/ptx/ptx_findings.h"
#include "cli/ptx/ptx_policy.h"

enum { LINES_MAX = 100 /* GitHub reads a thousand places of a result; the count tells of the others */ };

static const char *const levels[] = { "error", "warning", "note" };

static json_t *text_message(const char *text, int *failed)
{
	json_t *message = json_object();

	cli_json_set(message, "text", cli_json_text(text), failed);
	return message;
}

static json_t *demangled_message(const char *text, int *failed)
{
	struct tcb_str shown = { 0 };
	json_t *message;

	cli_add_demangled(&shown, text);
	message = text_message(shown.failed ? "" : shown.data, failed);
	*failed |= shown.failed;
	tcb_str_fini(&shown);
	return message;
}

/* --- places --- */

/* PATH with what a URI may not hold escaped. */
static void add_uri(struct tcb_str *out, const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/+@,";

	for (; *path; path++)
		if (strchr(plain, *path))
			tcb_str_add_bytes(out, path, 1);
		else
			tcb_str_addf(out, "%%%02X", (unsigned char)*path);
}

/* Relative to the folder that we are in, where it lies below it: so a path is one of the repository. */
static json_t *artifact(const char *path, int *failed)
{
	char *folder = getcwd(NULL, 0);
	size_t length = folder ? strlen(folder) : 0;
	json_t *row = json_object();
	struct tcb_str uri = { 0 };

	if (length > 1 && strncmp(path, folder, length) == 0 && path[length] == '/')
		path += length + 1;
	while (path[0] == '.' && path[1] == '/')
		path += 2;
	if (path[0] == '/')
		tcb_str_add(&uri, "file://");
	else
		cli_json_set(row, "uriBaseId", json_string("%SRCROOT%"), failed);
	add_uri(&uri, path);
	cli_json_set(row, "uri", uri.data ? json_string(uri.data) : json_string(""), failed);
	*failed |= uri.failed;
	tcb_str_fini(&uri);
	free(folder);
	return row;
}

static json_t *location(const char *file, uint32_t line, uint32_t column, int *failed)
{
	json_t *row = json_object(), *place = json_object(), *region = json_object();

	cli_json_set(region, "startLine", cli_json_size(line ? line : 1), failed);
	if (column)
		cli_json_set(region, "startColumn", cli_json_size(column), failed);
	cli_json_set(place, "artifactLocation", artifact(file, failed), failed);
	cli_json_set(place, "region", region, failed);
	cli_json_set(row, "physicalLocation", place, failed);
	return row;
}

static void add_logical(json_t *list, const char *symbol, const char *kind, int *failed)
{
	json_t *logical = json_object();
	struct tcb_str shown = { 0 };

	cli_add_demangled(&shown, symbol);
	cli_json_set(logical, "fullyQualifiedName", shown.failed ? NULL : cli_json_text(shown.data), failed);
	cli_json_set(logical, "decoratedName", cli_json_text(symbol), failed);
	cli_json_set(logical, "kind", json_string(kind), failed);
	cli_json_add(list, logical, failed);
	tcb_str_fini(&shown);
}

static void add_related(json_t *list, json_t *row, const char *message, int *failed)
{
	cli_json_set(row, "id", cli_json_size(json_array_size(list) + 1), failed);
	cli_json_set(row, "message", text_message(message, failed), failed);
	cli_json_add(list, row, failed);
}

static void add_frames(json_t *list, const struct ptx_frame *frames, size_t count, const char *what, int *failed)
{
	for (size_t i = 0; i < count; i++)
		if (frames[i].file && frames[i].line)
			add_related(list, location(frames[i].file, frames[i].line, frames[i].column, failed),
				    i ? "inlined from here" : what, failed);
}

/* The further places of ONE: the source, the calls around it, the lines that it speaks of, and the other lines. */
static json_t *related(const struct ptx_findings *f, const struct ptx_finding *one, const struct ptx_frame *author,
		       int *failed)
{
	json_t *list = json_array();

	if (author)
		add_related(list, location(f->file, one->line_count ? one->lines[0] : 1, one->column, failed),
			    "the PTX", failed);
	add_frames(list, one->frames, one->frame_count, "the source", failed);
	for (size_t i = 0; i < one->mention_count; i++) {
		char what[32];

		snprintf(what, sizeof what, "line %u", one->mentions[i].line);
		add_related(list, location(f->file, one->mentions[i].line, 0, failed), what, failed);
		add_frames(list, one->mentions[i].frames, one->mentions[i].frame_count, what, failed);
	}
	for (size_t i = 1; i < one->line_count && i < LINES_MAX; i++)
		add_related(list, location(f->file, one->lines[i], 0, failed), "the same again", failed);
	return list;
}

/* --- the log --- */

static json_t *rule_json(enum tcb_ptx_rule rule, int *failed)
{
	const char *help = tcb_ptx_rule_help(rule);
	json_t *row = json_object();

	cli_json_set(row, "id", json_string(tcb_ptx_rule_name(rule)), failed);
	cli_json_set(row, "shortDescription", text_message(help ? help : tcb_ptx_rule_name(rule), failed), failed);
	cli_json_set(row, "help", text_message(help ? help : tcb_ptx_rule_name(rule), failed), failed);
	return row;
}

static json_t *tool_json(int *failed)
{
	json_t *tool = json_object(), *driver = json_object(), *rules = json_array();

	for (int rule = 0; rule < TCB_PTX_RULE_COUNT; rule++)
		cli_json_add(rules, rule_json((enum tcb_ptx_rule)rule, failed), failed);
	cli_json_set(driver, "name", json_string("tcbtune"), failed);
	cli_json_set(driver, "version", json_string(tcb_build_info()->version), failed);
	cli_json_set(driver, "rules", rules, failed);
	cli_json_set(tool, "driver", driver, failed);
	return tool;
}

json_t *ptx_sarif_start(int *failed)
{
	json_t *log = json_object(), *runs = json_array(), *run = json_object(), *invocations = json_array(),
	       *invocation = json_object();

	cli_json_set(invocation, "executionSuccessful", json_true(), failed);
	cli_json_set(invocation, "toolExecutionNotifications", json_array(), failed);
	cli_json_add(invocations, invocation, failed);
	cli_json_set(run, "tool", tool_json(failed), failed);
	cli_json_set(run, "invocations", invocations, failed);
	cli_json_set(run, "columnKind", json_string("unicodeCodePoints"), failed);
	cli_json_set(run, "results", json_array(), failed);
	cli_json_add(runs, run, failed);
	cli_json_set(log, "$schema", json_string("https://json.schemastore.org/sarif-2.1.0.json"), failed);
	cli_json_set(log, "version", json_string("2.1.0"), failed);
	cli_json_set(log, "runs", runs, failed);
	return log;
}

/* Results that do not count are told as such, and no alert is made of them. */
static void add_state(json_t *row, const struct ptx_findings *f, const struct ptx_finding *one, int *failed)
{
	if (one->state == PTX_ALLOWED || one->state == PTX_SUPPRESSED) {
		json_t *list = json_array(), *suppression = json_object();

		cli_json_set(suppression, "kind", json_string(one->state == PTX_ALLOWED ? "inSource" : "external"),
			     failed);
		cli_json_add(list, suppression, failed);
		cli_json_set(row, "suppressions", list, failed);
	}
	if (f->policy && f->policy->has_baseline)
		cli_json_set(row, "baselineState", json_string(one->state == PTX_KNOWN ? "unchanged" : "new"), failed);
}

static json_t *result_json(const struct ptx_findings *f, const struct ptx_finding *one, int *failed)
{
	json_t *row = json_object(), *locations = json_array(), *fingerprints = json_object(), *others;
	const struct ptx_frame *author = f->in_source ? ptx_author_frame(one) : NULL;
	json_t *place = author ? location(author->file, author->line, author->column, failed)
			       : location(f->file, one->line_count ? one->lines[0] : 1, one->column, failed);

	if (one->function) {
		json_t *names = json_array();

		add_logical(names, one->function, "function", failed);
		if (one->variable)
			add_logical(names, one->variable, "variable", failed);
		cli_json_set(place, "logicalLocations", names, failed);
	}
	cli_json_add(locations, place, failed);
	cli_json_set(fingerprints, "tcbtunePtx/v1", json_string(one->fingerprint), failed);
	cli_json_set(row, "ruleId", json_string(tcb_ptx_rule_name(one->rule)), failed);
	cli_json_set(row, "ruleIndex", cli_json_size(one->rule), failed);
	cli_json_set(row, "level", json_string(levels[one->severity]), failed);
	cli_json_set(row, "message", demangled_message(one->message, failed), failed);
	cli_json_set(row, "locations", locations, failed);
	others = related(f, one, author, failed);
	if (json_array_size(others))
		cli_json_set(row, "relatedLocations", others, failed);
	else
		json_decref(others);
	cli_json_set(row, "occurrenceCount", cli_json_size(one->count), failed);
	cli_json_set(row, "partialFingerprints", fingerprints, failed);
	add_state(row, f, one, failed);
	return row;
}

static json_t *run_of(json_t *log)
{
	return json_array_get(json_object_get(log, "runs"), 0);
}

void ptx_sarif_add(json_t *log, const struct ptx_findings *f, int *failed)
{
	json_t *results = json_object_get(run_of(log), "results");

	for (size_t i = 0; i < f->item_count; i++)
		cli_json_add(results, result_json(f, &f->items[i], failed), failed);
}

void ptx_sarif_add_problem(json_t *log, const char *file, const char *message, int *failed)
{
	json_t *invocation = json_array_get(json_object_get(run_of(log), "invocations"), 0), *row = json_object(),
	       *locations = json_array();

	cli_json_add(locations, location(file, 0, 0, failed), failed);
	cli_json_set(row, "level", json_string("error"), failed);
	cli_json_set(row, "message", text_message(message, failed), failed);
	cli_json_set(row, "locations", locations, failed);
	cli_json_add(json_object_get(invocation, "toolExecutionNotifications"), row, failed);
	cli_json_set(invocation, "executionSuccessful", json_false(), failed);
}
