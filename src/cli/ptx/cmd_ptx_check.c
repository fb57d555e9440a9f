/* SPDX-License-Identifier: MIT
 *
 * tcbtune ptx check FILE...: each file is read, judged and printed before the
 * next; what cannot be read is told, and the others are judged all the same.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/ptx/cmd_ptx.h"
#include "cli/ptx/ptx_paths.h"

/* What one call of the command works on. */
struct report {
	const struct ptx_args *args;
	enum ptx_format format;
	struct ptx_judge_options options;
	struct ptx_launches launches;
	struct tcb_assemble_build build;
	struct ptx_policy policy;
	int is_set;
	size_t printed; /* documents, of a set as JSON */
	json_t *log;    /* SARIF */
	json_t *known;  /* rows of the baseline to be written */
	json_t *unread; /* {name, message} of each */
	unsigned count[3], state[4];
	size_t files, kernels, failing_files;
	int failed; /* out of memory for JSON */
};

static enum tcb_status prepare(struct report *r, struct tcb_error *err)
{
	const struct ptx_args *args = r->args;

	r->format = args->json ? PTX_FORMAT_JSON : (enum ptx_format)args->format;
	if (args->json && args->format != PTX_FORMAT_TEXT && args->format != PTX_FORMAT_JSON)
		return tcb_fail(err, TCB_E_USAGE, "--json is --format json; give one of them");
	if (args->write_baseline && !args->baseline)
		return tcb_fail(err, TCB_E_USAGE, "--write-baseline needs --baseline FILE: what it writes");
	if (args->target)
		TCB_TRY(ptx_parse_target(args->target, &r->options.target, err));
	if (args->dynamic_shared > UINT32_MAX)
		return tcb_fail(err, TCB_E_USAGE, "--dynamic-shared is more than any SM has");
	TCB_TRY(ptx_launches_init(&r->launches, &args->kernels, &args->blocks, args->launches, args->dynamic_shared,
				  err));
	TCB_TRY(tcb_assemble_build(args->ptxas_options, &r->build, err));
	TCB_TRY(ptx_policy_init(&r->policy, &args->rules, &args->no_rules, &args->suppress, err));
	if (args->baseline && !args->write_baseline)
		TCB_TRY(ptx_policy_read_baseline(&r->policy, args->baseline, err));
	r->options.named = &r->launches;
	r->options.build = &r->build;
	r->options.policy = &r->policy;
	r->known = json_array();
	r->unread = json_array();
	if (r->format == PTX_FORMAT_SARIF)
		r->log = ptx_sarif_start(&r->failed);
	return TCB_OK;
}

/* --- one file --- */

/* A document of its own; of a set, one of the list that finish() ends. */
static enum tcb_status print_document(struct report *r, const struct ptx_judgement *j, struct tcb_error *err)
{
	json_t *root = cli_json_start("tcbtune.ptx-check.1", &r->failed);
	struct tcb_str text = { 0 };
	char *dump;

	ptx_judgement_json(j, root, &r->failed);
	if (!r->is_set)
		return cli_emit_json(cli_json_end(root, r->failed), err);
	dump = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17) | JSON_ENSURE_ASCII);
	json_decref(root);
	if (!dump || r->failed) {
		free(dump);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the output");
	}
	tcb_str_add(&text, r->printed++ ? ",\n" : "{\"schema\": \"tcbtune.ptx-check-files.1\", \"files\": [\n");
	tcb_str_add(&text, dump);
	free(dump);
	return cli_emit(&text, err);
}

static enum tcb_status print_one(struct report *r, const struct ptx_judgement *j, struct tcb_error *err)
{
	struct tcb_str out = { 0 };

	switch (r->format) {
	case PTX_FORMAT_TEXT:
		if (r->files > 1)
			tcb_str_add(&out, "\n");
		ptx_judgement_text(j, ptx_terminal_width(), &out);
		return cli_emit_text(&out, err);
	case PTX_FORMAT_GCC:
		ptx_findings_gcc(&j->findings, &out);
		return out.length ? cli_emit(&out, err) : TCB_OK;
	case PTX_FORMAT_SARIF:
		ptx_sarif_add(r->log, &j->findings, &r->failed);
		return TCB_OK;
	case PTX_FORMAT_JSON:
		return print_document(r, j, err);
	}
	return TCB_OK;
}

/* Findings that decide the exit status. */
static unsigned failing(const struct ptx_args *args, const unsigned count[3])
{
	unsigned sum = 0;

	for (int severity = 0; severity < 3 && severity <= args->fail_on && args->fail_on < 3; severity++)
		sum += count[severity];
	return args->write_baseline ? 0 : sum;
}

static void count_one(struct report *r, const struct ptx_judgement *j)
{
	r->kernels += j->kernel_count;
	for (int i = 0; i < 3; i++)
		r->count[i] += j->findings.count[i];
	for (int i = 0; i < 4; i++)
		r->state[i] += j->findings.state[i];
	r->failing_files += failing(r->args, j->findings.count) > 0;
	if (r->args->write_baseline)
		ptx_baseline_add(r->known, &j->findings, &r->failed);
}

static enum tcb_status judge_text(struct report *r, const char *name, const char *text, size_t length,
				  struct tcb_error *err)
{
	struct ptx_judgement judgement;
	enum tcb_status status = ptx_judge(name, text, length, &r->options, &judgement, err);

	judgement.findings.in_source = r->args->locate;
	if (status == TCB_OK)
		status = ptx_findings_settle(&judgement.findings, err);
	if (status == TCB_OK) {
		r->files++;
		count_one(r, &judgement);
		status = print_one(r, &judgement, err);
	}
	ptx_judgement_fini(&judgement);
	return status;
}

/* One of several that cannot be read costs only itself. */
static void tell_unread(struct report *r, const char *name, const struct tcb_error *problem)
{
	json_t *row = json_object();

	cli_say("%s", problem->message);
	cli_json_set(row, "name", cli_json_text(name), &r->failed);
	cli_json_set(row, "message", cli_json_text(problem->message), &r->failed);
	cli_json_add(r->unread, row, &r->failed);
	if (r->log)
		ptx_sarif_add_problem(r->log, name, problem->message, &r->failed);
}

static enum tcb_status check_one(struct report *r, const struct ptx_path *path, struct tcb_error *err)
{
	struct tcb_error problem;
	enum tcb_status status;
	size_t length = 0;
	char *text = NULL;

	if (path->matches_nothing)
		status = tcb_fail(&problem, TCB_E_IO, "cannot read %s: no file matches it", path->path);
	else
		status = ptx_read_file(path->path, &text, &length, &problem);
	if (status == TCB_OK)
		status = judge_text(r, strcmp(path->path, "-") == 0 ? "<stdin>" : path->path, text, length, err);
	else if ((r->is_set || r->log) && status != TCB_E_NOMEM)
		tell_unread(r, path->path, &problem), status = TCB_OK;
	else
		status = tcb_fail(err, status, "%s", problem.message);
	free(text);
	return status;
}

/* --- all of them --- */

static void add_total(const struct report *r, struct tcb_str *out)
{
	tcb_str_addf(out, "\n%zu files, %zu kernels: ", r->files, r->kernels);
	ptx_findings_total(r->count, r->state, out);
	if (json_array_size(r->unread))
		tcb_str_addf(out, "; %zu could not be read", json_array_size(r->unread));
	tcb_str_add(out, "\n");
}

/* The end of the list of documents, and the sums. */
static void end_documents(struct report *r, struct tcb_str *out)
{
	char *unread = json_dumps(r->unread, JSON_INDENT(2) | JSON_ENSURE_ASCII);

	if (!r->printed)
		tcb_str_add(out, "{\"schema\": \"tcbtune.ptx-check-files.1\", \"files\": [");
	tcb_str_addf(out, "],\n\"unread\": %s,\n\"kernels\": %zu, \"errors\": %u, \"warnings\": %u, \"advice\": %u}\n",
		     unread ? unread : "", r->kernels, r->count[TCB_PTX_ERROR], r->count[TCB_PTX_WARNING],
		     r->count[TCB_PTX_ADVICE]);
	out->failed |= !unread;
	free(unread);
}

static enum tcb_status write_baseline(struct report *r, struct tcb_error *err)
{
	json_t *root = cli_json_start("tcbtune.ptx-baseline.1", &r->failed);
	size_t count = json_array_size(r->known);

	cli_json_set(root, "findings", json_incref(r->known), &r->failed);
	TCB_TRY(cli_emit_json_to(r->args->baseline, cli_json_end(root, r->failed), err));
	cli_say("%s: %zu finding%s written", r->args->baseline, count, count == 1 ? "" : "s");
	return TCB_OK;
}

static enum tcb_status finish(struct report *r, struct tcb_error *err)
{
	struct tcb_str out = { 0 };

	if (r->args->write_baseline)
		TCB_TRY(write_baseline(r, err));
	if (r->log) {
		json_t *log = r->log;

		r->log = NULL;
		return cli_emit_json(cli_json_end(log, r->failed), err);
	}
	if (r->is_set && r->format == PTX_FORMAT_TEXT)
		add_total(r, &out);
	else if (r->is_set && r->format == PTX_FORMAT_JSON)
		end_documents(r, &out);
	return out.length || out.failed ? cli_emit_text(&out, err) : TCB_OK;
}

/* What the exit status says: findings first, since they are what was asked for. */
static enum tcb_status verdict(const struct report *r, const char *name, struct tcb_error *err)
{
	static const char *const words[][2] = { { "error", "errors" },
						{ "warning", "warnings" },
						{ "advice", "advice" } };
	struct tcb_str line = { 0 };
	enum tcb_status status = TCB_OK;

	if (r->failing_files) {
		int any = 0;

		if (r->is_set)
			tcb_str_addf(&line, "%zu of %zu files: ", r->failing_files, r->files);
		else
			tcb_str_addf(&line, "%.300s: ", name);
		for (int i = 0; i <= r->args->fail_on; i++)
			if (r->count[i])
				tcb_str_addf(&line, "%s%u %s", any++ ? ", " : "", r->count[i],
					     words[i][r->count[i] != 1]);
		status = tcb_fail(err, TCB_E_VERIFY, "%s", line.failed ? "" : line.data);
	} else if (json_array_size(r->unread)) {
		status = tcb_fail(err, TCB_E_IO, "%zu of %zu files could not be read", json_array_size(r->unread),
				  json_array_size(r->unread) + r->files);
	}
	tcb_str_fini(&line);
	return status;
}

enum tcb_status ptx_check_files(const struct ptx_args *args, struct tcb_error *err)
{
	struct report r = { .args = args };
	struct ptx_paths paths = { 0 };
	enum tcb_status status = ptx_paths_expand(&args->words, 1, &paths, err);

	r.is_set = paths.is_set;
	if (status == TCB_OK)
		status = prepare(&r, err);
	for (size_t i = 0; status == TCB_OK && i < paths.count; i++)
		status = check_one(&r, &paths.items[i], err);
	if (status == TCB_OK)
		status = finish(&r, err);
	if (status == TCB_OK)
		status = ptx_launches_verify(&r.launches, err);
	if (status == TCB_OK)
		status = verdict(&r, strcmp(paths.items[0].path, "-") == 0 ? "<stdin>" : paths.items[0].path, err);
	json_decref(r.log);
	json_decref(r.known);
	json_decref(r.unread);
	ptx_policy_fini(&r.policy);
	ptx_launches_fini(&r.launches);
	ptx_paths_fini(&paths);
	return status;
}
