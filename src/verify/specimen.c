/* SPDX-License-Identifier: MIT
 *
 * In: the lines of a kernel's body.  Out: what the parser, the passes, the
 * checks and the emulator make of it.
 */
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "ptx/analyse/check.h"
#include "ptx/optimise/passes.h"
#include "ptx/text/text.h"
#include "verify/specimen.h"

static const char head[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry specimen(";
static const char registers[] = ")\n{\n.reg .b32 %r<64>;\n.reg .b64 %rd<64>;\n.reg .b16 %rs<64>;\n.reg .f32 %f<64>;\n"
				".reg .f64 %fd<64>;\n.reg .pred %p<64>;\n";

int tcb_specimen_open(struct tcb_specimen *specimen, const char *parameters, const char *body, struct tcb_finding *out)
{
	struct tcb_str text = { 0 };
	struct tcb_error err;
	*specimen = (struct tcb_specimen){ 0 };
	tcb_str_addf(&text, "%s%s%s%sret;\n}\n", head, parameters, registers, body);
	const enum tcb_status status =
		text.failed ? tcb_fail(&err, TCB_E_NOMEM, "out of memory")
			    : tcb_ptx_parse("specimen", text.data, text.length, &specimen->module, &err);
	tcb_str_fini(&text);
	if (status != TCB_OK) {
		tcb_found_nothing(out, "the specimen cannot be read: %.200s", err.message);
		return 0;
	}
	specimen->kernel = specimen->module->functions;
	return 1;
}

struct counting {
	unsigned *found, *errors;
};

static void count_error(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct counting *counting = ctx;
	if (finding->severity != TCB_PTX_ERROR)
		return;
	counting->found[finding->rule]++;
	++*counting->errors;
}

int tcb_specimen_run(struct tcb_specimen *specimen, struct tcb_specimen_run *run, struct tcb_finding *out)
{
	struct tcb_error err;
	struct counting counting = { run->found, &run->errors };
	const struct tcb_ptx_sink sink = { count_error, &counting };
	struct tcb_ptx_launch launch = { .grid = { run->grid, 1, 1 },
					 .block = { run->block, 1, 1 },
					 .seed = run->seed };
	tcb_ptx_run_close(specimen->run);
	specimen->run = NULL;
	run->errors = 0;
	memset(run->found, 0, sizeof run->found);
	enum tcb_status status = tcb_ptx_run_open(specimen->kernel, &specimen->run, &err);
	for (unsigned i = 0; status == TCB_OK && i < TCB_SPECIMEN_ARGUMENTS && run->arguments[i]; i++)
		status = tcb_ptx_run_argument(specimen->run, run->arguments[i], 1, &err);
	for (unsigned i = 0; status == TCB_OK && i < specimen->run->argument_count; i++)
		if (run->data[i])
			memcpy(specimen->run->arguments[i].data, run->data[i], specimen->run->arguments[i].bytes);
	if (status == TCB_OK)
		status = tcb_ptx_run_launch(specimen->run, &launch, &sink, &run->counts, &err);
	if (status != TCB_OK)
		tcb_found_nothing(out, "the specimen cannot be run: %.200s", err.message);
	return status == TCB_OK;
}

int tcb_specimen_pass(struct tcb_specimen *specimen, const char *name, unsigned *changed_out, struct tcb_finding *out)
{
	struct tcb_error err;
	struct tcb_ptx_pass_options options;
	const struct tcb_ptx_pass *pass = tcb_ptx_pass_find(name);
	tcb_ptx_pass_defaults(&options);
	enum tcb_status status = pass ? TCB_OK : tcb_fail(&err, TCB_E_NOT_FOUND, "no pass %s", name);
	if (status == TCB_OK)
		status = tcb_ptx_cfg(specimen->kernel, &err);
	if (status == TCB_OK) {
		tcb_ptx_number(specimen->kernel);
		status = pass->run(specimen->kernel, &options, changed_out, &err);
	}
	if (status == TCB_OK)
		status = tcb_ptx_cfg(specimen->kernel, &err);
	if (status == TCB_OK)
		tcb_ptx_number(specimen->kernel);
	else
		tcb_found_nothing(out, "pass %s: %.200s", name, err.message);
	return status == TCB_OK;
}

static void count_any(void *ctx, const struct tcb_ptx_finding *finding)
{
	unsigned *found = ctx;
	found[finding->rule] += finding->severity != TCB_PTX_ADVICE;
}

int tcb_specimen_check(struct tcb_specimen *specimen, unsigned block, unsigned found[TCB_PTX_RULE_COUNT],
		       struct tcb_finding *out)
{
	struct tcb_error err;
	struct tcb_ptx_check_report report;
	const struct tcb_ptx_check_launch launch = { .block = { block, 1, 1 } };
	const struct tcb_ptx_check_options options = { .launches = &launch, .launch_count = 1 };
	memset(found, 0, TCB_PTX_RULE_COUNT * sizeof *found);
	if (tcb_ptx_check(specimen->module, &options, &(struct tcb_ptx_sink){ count_any, found }, &report, &err) ==
	    TCB_OK)
		return 1;
	tcb_found_nothing(out, "the specimen cannot be checked: %.200s", err.message);
	return 0;
}

void tcb_specimen_close(struct tcb_specimen *specimen)
{
	tcb_ptx_run_close(specimen->run);
	tcb_ptx_module_destroy(specimen->module);
	*specimen = (struct tcb_specimen){ 0 };
}

const uint8_t *tcb_specimen_buffer(const struct tcb_specimen *specimen, unsigned index)
{
	return specimen->run->arguments[index].data;
}

unsigned tcb_specimen_count(const struct tcb_specimen *specimen, const char *prefix)
{
	unsigned count = 0;
	for (const struct tcb_ptx_block *block = specimen->kernel->first; block; block = block->next) {
		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
			struct tcb_str text = { 0 };
			tcb_ptx_print_mnemonic(ins, &text);
			count += !text.failed && !strncmp(text.data, prefix, strlen(prefix));
			tcb_str_fini(&text);
		}
	}
	return count;
}

void tcb_specimen_text(const struct tcb_specimen *specimen, struct tcb_str *out)
{
	tcb_ptx_print_function(specimen->kernel, out);
}
