/* SPDX-License-Identifier: MIT
 *
 * tcbtune ptx run FILE: one kernel is executed in the emulator on the data that
 * --arg describes; what it wrote goes to files and is compared with others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "cli/core/demangle.h"
#include "cli/core/stop.h"
#include "cli/ptx/cmd_ptx_run.h"
#include "ptx/text/text.h"

#define TELL_NS 2000000000ull

enum { THREADS_MAX = 1024 };

/* --- which kernel --- */

/* Whether WORD is what FUNCTION's author calls it, with or without its parameters and template arguments. */
static int is_called(const struct tcb_ptx_function *function, const char *word)
{
	const size_t length = strlen(word);
	struct tcb_str shown = { 0 };
	int is_it = 0;

	if (strcmp(function->symbol->name, word) == 0)
		return 1;
	cli_add_demangled(&shown, function->symbol->name);
	for (const char *at = shown.failed ? NULL : shown.data; at && !is_it; at = strstr(at + 1, word))
		is_it = strncmp(at, word, length) == 0 && (at == shown.data || strchr(" :", at[-1])) &&
			(!at[length] || strchr("(<", at[length]));
	tcb_str_fini(&shown);
	return is_it;
}

static enum tcb_status list_kernels(const struct ptx_run_job *job, const char *what, struct tcb_error *err)
{
	struct tcb_str names = { 0 };
	enum tcb_status status;

	for (const struct tcb_ptx_function *f = job->module->functions; f; f = f->next)
		if (f->is_entry && !f->is_declaration) {
			tcb_str_add(&names, names.length ? ", " : "");
			cli_add_demangled(&names, f->symbol->name);
		}
	status = tcb_fail(err, TCB_E_USAGE, "%s has %s; it has %.300s", job->name, what,
			  names.length && !names.failed ? names.data : "no kernel that could be read");
	tcb_str_fini(&names);
	return status;
}

static enum tcb_status find_kernel(struct ptx_run_job *job, struct tcb_error *err)
{
	const char *wanted = job->args->kernels.count ? job->args->kernels.items[0] : NULL;
	char what[160];
	unsigned found = 0;

	for (struct tcb_ptx_function *f = job->module->functions; f; f = f->next) {
		if (!f->is_entry || f->is_declaration || (wanted && !is_called(f, wanted)))
			continue;
		job->kernel = f;
		if (wanted && strcmp(f->symbol->name, wanted) == 0)
			return TCB_OK;
		found++;
	}
	if (found == 1)
		return TCB_OK;
	for (const struct tcb_ptx_unread *u = job->module->unread; u && !found; u = u->next)
		if (u->function && wanted && strcmp(u->function->symbol->name, wanted) == 0)
			return tcb_fail(err, TCB_E_UNSUPPORTED, "%s:%u: '%.80s' could not be read: %.300s", job->name,
					u->line, wanted, u->why);
	if (!found)
		snprintf(what, sizeof what, wanted ? "no kernel '%.100s'" : "no kernel", wanted);
	else
		snprintf(what, sizeof what,
			 wanted ? "several kernels '%.90s': give one whole name" : "several kernels: give --kernel",
			 wanted);
	return list_kernels(job, what, err);
}

/* --- the launch --- */

static enum tcb_status parse_grid(const char *option, const char *text, uint32_t out[3], struct tcb_error *err)
{
	const char *at = text;
	int count = 0;

	out[0] = out[1] = out[2] = 1;
	while (count < 3 && *at >= '1' && *at <= '9') {
		char *end;
		const unsigned long value = strtoul(at, &end, 10);

		if (value > INT32_MAX)
			break;
		out[count++] = (uint32_t)value;
		at = end;
		if (*at != 'x')
			break;
		at++;
	}
	if (!count || *at || at[-1] == 'x')
		return tcb_fail(err, TCB_E_USAGE, "--%s wants numbers of blocks, as 16 or 8x8x2, not '%.80s'", option,
				text);
	return TCB_OK;
}

static enum tcb_status prepare_launch(struct ptx_run_job *job, struct tcb_error *err)
{
	const struct ptx_args *args = job->args;
	const struct tcb_ptx_directives *d = &job->kernel->directives;
	struct tcb_ptx_launch *launch = &job->launch;

	TCB_TRY(parse_grid("grid", args->grid ? args->grid : "1", launch->grid, err));
	if (args->cluster)
		TCB_TRY(parse_grid("cluster", args->cluster, launch->cluster, err));
	if (args->blocks.count)
		TCB_TRY(ptx_parse_block(args->blocks.items[0], launch->block, err));
	else if (d->reqntid[0])
		memcpy(launch->block, d->reqntid, sizeof launch->block);
	else
		return tcb_fail(err, TCB_E_USAGE, "'ptx run' needs --block: the threads of a block, as 256 or 32x8");
	for (unsigned i = 0; i < 3; i++)
		launch->block[i] += !launch->block[i];
	if (args->dynamic_shared > UINT32_MAX)
		return tcb_fail(err, TCB_E_USAGE, "--dynamic-shared is more than any SM has");
	launch->dynamic_shared = (uint32_t)args->dynamic_shared;
	if (args->threads > THREADS_MAX)
		return tcb_fail(err, TCB_E_USAGE, "--threads is at most %d", THREADS_MAX);
	launch->threads = args->threads ? (unsigned)args->threads : tcb_granted_processors();
	launch->step_limit = args->step_limit;
	launch->is_cooperative = args->cooperative;
	launch->seed = args->order ? 0 : args->seed + !args->seed;
	for (size_t i = 0; i < args->arguments.count; i++)
		TCB_TRY(tcb_ptx_run_argument(job->run, args->arguments.items[i], args->seed, err));
	return TCB_OK;
}

/* "IDX<SEPARATOR>FILE": the argument, which must be memory, and the file. */
static enum tcb_status find_result(const struct ptx_run_job *job, const char *option, char separator, const char *text,
				   struct tcb_ptx_argument **out, const char **path_out, struct tcb_error *err)
{
	const char *at = strchr(text, separator);

	*out = at ? tcb_ptx_run_find(job->run, text, (size_t)(at - text)) : NULL;
	if (!*out || !at[1])
		return tcb_fail(err, TCB_E_USAGE,
				"--%s wants an argument's number (from 0) or its parameter's name, '%c' and a file, "
				"not '%.120s'",
				option, separator, text);
	if (!(*out)->address)
		return tcb_fail(err, TCB_E_USAGE, "--%s '%.120s': argument %.*s is not a buffer", option, text,
				(int)(at - text), text);
	*path_out = at + 1;
	return TCB_OK;
}

static enum tcb_status read_expected(const struct tcb_ptx_argument *a, struct ptx_expectation *e, struct tcb_error *err)
{
	e->data = malloc(a->bytes);
	if (!e->data)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %s", e->path);
	return tcb_ptx_elements_read(e->path, a->type, a->count, e->data, err);
}

/* Nothing runs for an hour and then has nowhere to go, or no file to be compared with. */
static enum tcb_status check_results(struct ptx_run_job *job, struct tcb_error *err)
{
	const struct ptx_args *args = job->args;
	struct tcb_ptx_argument *a;
	const char *path;

	job->expected = calloc(args->expect.count + 1, sizeof *job->expected);
	if (!job->expected)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	for (size_t i = 0; i < args->out.count; i++)
		TCB_TRY(find_result(job, "out", '=', args->out.items[i], &a, &path, err));
	for (size_t i = 0; i < args->expect.count; i++) {
		TCB_TRY(find_result(job, "expect", '@', args->expect.items[i], &a, &path, err));
		job->expected[i].argument = (unsigned)(a - job->run->arguments);
		job->expected[i].path = path;
		job->expected_count = i + 1;
		TCB_TRY(read_expected(a, &job->expected[i], err));
	}
	return TCB_OK;
}

/* --- afterwards --- */

static void compare(const struct ptx_run_job *job, struct ptx_expectation *e)
{
	const struct tcb_ptx_argument *a = &job->run->arguments[e->argument];

	e->differing = tcb_ptx_compare(a->type, a->count, a->data, e->data, job->args->tolerance, &e->first);
	if (e->differing) {
		const size_t at = e->first * (a->bytes / a->count);

		tcb_ptx_element_text(a->type, a->data + at, e->got_text);
		tcb_ptx_element_text(a->type, e->data + at, e->wanted_text);
		e->got = tcb_ptx_element_get(a->type, a->data + at);
		e->wanted = tcb_ptx_element_get(a->type, e->data + at);
	}
}

static enum tcb_status save(const struct ptx_run_job *job, const char *text, struct tcb_error *err)
{
	struct tcb_ptx_argument *a;
	struct tcb_str file = { 0 };
	enum tcb_status status;
	const char *path, *dot;
	char head[TCB_PTX_NPY_MAX];
	size_t length;

	TCB_TRY(find_result(job, "out", '=', text, &a, &path, err));
	dot = strrchr(path, '.');
	if (dot && strcmp(dot, ".npy") == 0) {
		tcb_ptx_npy_head(a, head, &length);
		tcb_str_add_bytes(&file, head, length);
	}
	tcb_str_add_bytes(&file, a->data, a->bytes);
	status = file.failed ? tcb_fail(err, TCB_E_NOMEM, "out of memory for %s", path)
			     : cli_write_file(path, file.data, file.length, err);
	tcb_str_fini(&file);
	return status;
}

static void tell(void *ctx, uint64_t blocks_done)
{
	struct ptx_run_job *job = ctx;
	const uint32_t *grid = job->launch.grid;
	const uint64_t now = tcb_clock_ns();
	const double blocks = (double)grid[0] * grid[1] * grid[2], spent = (double)(now - job->begin_ns) / 1e9;

	if (now - job->told_ns < TELL_NS)
		return;
	job->told_ns = now;
	cli_say("%llu of %.0f blocks in %.0f s, %.0f s to go", (unsigned long long)blocks_done, blocks, spent,
		blocks_done ? spent * (blocks / (double)blocks_done - 1) : 0);
}

static int is_stopped(void *ctx)
{
	(void)ctx;
	return cli_stop_asked;
}

static enum tcb_status execute(struct ptx_run_job *job, struct tcb_error *err)
{
	const struct tcb_ptx_sink sink = ptx_findings_sink(&job->findings);

	job->begin_ns = job->told_ns = tcb_clock_ns();
	if (job->args->progress || isatty(STDERR_FILENO))
		job->launch.progress = tell;
	job->launch.is_stopped = is_stopped;
	cli_stop_catch();
	job->launch.progress_ctx = job;
	TCB_TRY(tcb_ptx_run_launch(job->run, &job->launch, &sink, &job->counts, err));
	job->seconds = (double)(tcb_clock_ns() - job->begin_ns) / 1e9;
	TCB_TRY(ptx_findings_settle(&job->findings, err));
	for (size_t i = 0; i < job->args->out.count; i++)
		TCB_TRY(save(job, job->args->out.items[i], err));
	for (size_t i = 0; i < job->expected_count; i++)
		compare(job, &job->expected[i]);
	return TCB_OK;
}

static enum tcb_status verdict(const struct ptx_run_job *job, struct tcb_error *err)
{
	const unsigned errors = job->findings.count[TCB_PTX_ERROR];

	for (size_t i = 0; i < job->expected_count; i++)
		if (job->expected[i].differing)
			return tcb_fail(err, TCB_E_VERIFY, "%.200s: argument %u is not as %.200s", job->name,
					job->expected[i].argument, job->expected[i].path);
	if (errors)
		return tcb_fail(err, TCB_E_VERIFY, "%.300s: %u error%s", job->name, errors, errors == 1 ? "" : "s");
	return TCB_OK;
}

static enum tcb_status run_text(struct ptx_run_job *job, const char *text, size_t length, struct tcb_error *err)
{
	struct tcb_str out = { 0 };

	TCB_TRY(tcb_ptx_parse_foreign(job->name, text, length, &job->module, err));
	job->findings.module = job->module;
	TCB_TRY(find_kernel(job, err));
	TCB_TRY(tcb_ptx_run_open(job->kernel, &job->run, err));
	TCB_TRY(prepare_launch(job, err));
	TCB_TRY(check_results(job, err));
	TCB_TRY(execute(job, err));
	if (job->args->json)
		return ptx_run_json(job, err);
	ptx_run_text(job, ptx_terminal_width(), &out);
	return cli_emit_text(&out, err);
}

enum tcb_status ptx_run_file(const struct ptx_args *args, struct tcb_error *err)
{
	const char *path = args->words.items[1];
	struct ptx_run_job job = { .args = args, .name = strcmp(path, "-") == 0 ? "<stdin>" : path };
	enum tcb_status status;
	size_t length = 0;
	char *text = NULL;

	if (args->words.count > 2)
		return tcb_fail(err, TCB_E_USAGE, "'ptx run' takes one file, and '%.100s' is another",
				args->words.items[2]);
	TCB_TRY(ptx_read_file(path, &text, &length, err));
	ptx_findings_init(&job.findings, job.name, text, length, NULL);
	status = run_text(&job, text, length, err);
	if (status == TCB_OK)
		status = verdict(&job, err);
	ptx_findings_fini(&job.findings);
	tcb_ptx_run_close(job.run);
	tcb_ptx_module_destroy(job.module);
	for (size_t i = 0; i < job.expected_count; i++)
		free(job.expected[i].data);
	free(job.expected);
	free(text);
	return status;
}
