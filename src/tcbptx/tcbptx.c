/* SPDX-License-Identifier: MIT
 *
 * libtcbptx: the public names of what `tcbtune ptx run` does.
 */
#include "tcbptx.h"

#include <stdlib.h>
#include <string.h>

#include "base/cgroup.h"
#include "base/util.h"
#include "ptx/run/run.h"
#include "ptx/text/text.h"

struct tcbptx {
	struct tcb_ptx_module *module;
};

struct tcbptx_run {
	struct tcb_ptx_run *run;
	struct tcb_ptx_emulation counts; /* of the last launch; by_ins is the program's */
};

/* Tells the caller what came of a call. */
static int answer(enum tcb_status status, const struct tcb_error *error, struct tcbptx_error *err)
{
	const int exit_status = tcb_status_exit(status);
	const int code = exit_status <= TCBPTX_E_NOT_FOUND ? exit_status : TCBPTX_E_FAILED;

	if (!err)
		return code;
	err->code = code;
	err->message[0] = '\0';
	if (code != TCBPTX_OK)
		memcpy(err->message, error->message, sizeof err->message);
	return code;
}

const char *tcbptx_version(void)
{
	return TCBPTX_VERSION;
}

int tcbptx_load(const char *name, const char *text, size_t length, struct tcbptx **out, struct tcbptx_error *err)
{
	struct tcb_error error = { TCB_OK, "" };
	struct tcbptx *module = calloc(1, sizeof *module);
	enum tcb_status status;

	*out = NULL;
	if (!module)
		return answer(tcb_fail(&error, TCB_E_NOMEM, "out of memory"), &error, err);
	status = tcb_ptx_parse_foreign(name, text, length, &module->module, &error);
	if (status == TCB_OK)
		*out = module;
	else
		free(module);
	return answer(status, &error, err);
}

void tcbptx_unload(struct tcbptx *module)
{
	if (module)
		tcb_ptx_module_destroy(module->module);
	free(module);
}

/* Kernel INDEX of those that could be read, or the one called NAME. */
static struct tcb_ptx_function *find(const struct tcbptx *module, const char *name, unsigned index)
{
	for (struct tcb_ptx_function *f = module->module->functions; f; f = f->next)
		if (f->is_entry && !f->is_declaration && (name ? strcmp(f->symbol->name, name) == 0 : index-- == 0))
			return f;
	return NULL;
}

const char *tcbptx_kernel(const struct tcbptx *module, unsigned index)
{
	const struct tcb_ptx_function *kernel = find(module, NULL, index);

	return kernel ? kernel->symbol->name : NULL;
}

int tcbptx_prepare(struct tcbptx *module, const char *kernel, struct tcbptx_run **out, struct tcbptx_error *err)
{
	struct tcb_error error = { TCB_OK, "" };
	struct tcb_ptx_function *function = find(module, kernel, 0);
	struct tcbptx_run *run;
	enum tcb_status status;

	*out = NULL;
	if (!function)
		return answer(tcb_fail(&error, TCB_E_NOT_FOUND, "no kernel '%.100s'", kernel ? kernel : ""), &error,
			      err);
	if (!kernel && find(module, NULL, 1))
		return answer(tcb_fail(&error, TCB_E_USAGE, "there are several kernels: name one"), &error, err);
	run = calloc(1, sizeof *run);
	if (!run)
		return answer(tcb_fail(&error, TCB_E_NOMEM, "out of memory"), &error, err);
	status = tcb_ptx_run_open(function, &run->run, &error);
	if (status == TCB_OK)
		*out = run;
	else
		free(run);
	return answer(status, &error, err);
}

void tcbptx_close(struct tcbptx_run *run)
{
	if (run)
		tcb_ptx_run_close(run->run);
	free(run);
}

int tcbptx_argument(struct tcbptx_run *run, const char *text, uint64_t seed, struct tcbptx_error *err)
{
	struct tcb_error error = { TCB_OK, "" };

	return answer(tcb_ptx_run_argument(run->run, text, seed, &error), &error, err);
}

void *tcbptx_memory(struct tcbptx_run *run, unsigned index, size_t *bytes_out)
{
	const struct tcb_ptx_argument *a = index < run->run->argument_count ? &run->run->arguments[index] : NULL;

	if (!a || !a->address)
		return NULL;
	if (bytes_out)
		*bytes_out = a->bytes;
	return a->data;
}

/* --- a launch --- */

struct listener {
	tcbptx_see_fn *see;
	void *ctx;
};

/* "sum.cuh:7, from kernel.cu:22" */
static void say_where(const struct tcb_ptx_source *source, struct tcb_str *out)
{
	for (const struct tcb_ptx_source *at = source; at; at = at->inlined_at)
		tcb_str_addf(out, "%s%s:%u", at == source ? "" : ", from ", at->file ? at->file : "?", at->line);
}

static void pass_on(void *ctx, const struct tcb_ptx_finding *finding)
{
	const struct listener *listener = ctx;
	const struct tcb_ptx_source *source = finding->ins ? finding->ins->source : NULL;
	struct tcb_str where = { 0 };

	if (!listener->see)
		return;
	if (source && source->file)
		say_where(source, &where);
	const struct tcbptx_finding one = { .severity = (int)finding->severity,
					    .rule = tcb_ptx_rule_name(finding->rule),
					    .message = finding->message,
					    .line = finding->line,
					    .file = source ? source->file : NULL,
					    .source_line = source ? source->line : 0,
					    .where = where.failed ? NULL : where.data };

	listener->see(listener->ctx, &one);
	tcb_str_fini(&where);
}

int tcbptx_launch(struct tcbptx_run *run, const struct tcbptx_launch *launch, tcbptx_see_fn *see, void *ctx,
		  struct tcbptx_error *err)
{
	struct tcb_error error = { TCB_OK, "" };
	struct listener listener = { see, ctx };
	const struct tcb_ptx_sink sink = { pass_on, &listener };
	struct tcb_ptx_launch inner = { .dynamic_shared = launch->dynamic_shared,
					.is_cooperative = launch->cooperative != 0,
					.threads = launch->threads ? launch->threads : tcb_granted_processors(),
					.seed = launch->order,
					.step_limit = launch->step_limit };

	memcpy(inner.grid, launch->grid, sizeof inner.grid);
	memcpy(inner.block, launch->block, sizeof inner.block);
	memcpy(inner.cluster, launch->cluster, sizeof inner.cluster);
	return answer(tcb_ptx_run_launch(run->run, &inner, &sink, &run->counts, &error), &error, err);
}

static struct tcbptx_counts counts_of(uint32_t line, const struct tcb_ptx_counts *c)
{
	return (struct tcbptx_counts){ .line = line,
				       .warps = c->warps,
				       .threads = c->threads,
				       .requests = c->requests,
				       .wavefronts = c->wavefronts,
				       .wavefronts_least = c->wavefronts_ideal,
				       .sectors = c->sectors,
				       .sectors_least = c->sectors_ideal,
				       .divergent = c->divergent };
}

size_t tcbptx_count(const struct tcbptx_run *run, struct tcbptx_counts *out, size_t capacity)
{
	size_t count = 1;

	if (!run->counts.by_ins)
		return 0;
	if (capacity)
		out[0] = counts_of(0, &run->counts.total);
	for (const struct tcb_ptx_block *b = run->run->kernel->first; b; b = b->next)
		for (const struct tcb_ptx_ins *ins = b->first; ins; ins = ins->next) {
			if (count < capacity)
				out[count] = counts_of(ins->line, &run->counts.by_ins[ins->number]);
			count++;
		}
	return count;
}
