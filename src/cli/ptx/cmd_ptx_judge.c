/* SPDX-License-Identifier: MIT
 *
 * In: PTX text.  Out: all that can be said of it on this machine: findings of
 * the parser, the verifier, the analyses and the assembler, and each kernel's
 * figures.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ptx/cmd_ptx.h"
#include "ptx/analyse/legality.h"
#include "ptx/model/occupancy.h"
#include "ptx/run/certain.h"
#include "ptx/text/text.h"

enum {
	ASSEMBLE_SECONDS = 120,
	PARSER_NAME_MAX = 80,  /* of a file's name in the parser's errors */
	MANY_THREADS = 1 << 20 /* more than any block has */
};

/* "FILE:LINE: what" of the parser as a finding. */
static void add_syntax(struct ptx_judgement *j, const struct tcb_error *error)
{
	const int is_accepted = j->has_assembly && j->assembly.status == TCB_OK;
	struct tcb_ptx_finding finding = { .rule = TCB_PTX_RULE_SYNTAX,
					   .severity = is_accepted ? TCB_PTX_WARNING : TCB_PTX_ERROR };
	const char *what = error->message;
	char *end;

	size_t name = strnlen(j->name, PARSER_NAME_MAX);

	if (strncmp(what, j->name, name) == 0 && what[name] == ':') {
		finding.line = (uint32_t)strtoul(what + name + 1, &end, 10);
		if (*end == ':')
			what = end + 1 + (end[1] == ' ');
	}
	snprintf(finding.message, sizeof finding.message, "%s%s", what,
		 is_accepted ? " (the assembler takes it: here tcbtune's parser falls short)" : "");
	ptx_findings_add(&j->findings, &finding);
}

/* Looked for once, although there may be many files: an assembler is asked for its version and targets then.  FIRST,
 * or, where IS_OTHER, what is there instead of it. */
static enum tcb_status find_assembler(enum tcb_assembler first, int is_other, struct tcb_assembler_info *out,
				      struct tcb_error *err)
{
	static struct {
		int is_known;
		enum tcb_status status;
		struct tcb_assembler_info info;
		struct tcb_error error;
	} all[TCB_ASSEMBLER_NVJITLINK + 1][2], *found;
	const enum tcb_assembler second = first == TCB_ASSEMBLER_PTXAS ? TCB_ASSEMBLER_NVJITLINK : TCB_ASSEMBLER_PTXAS;

	found = &all[first][is_other];
	if (!found->is_known)
		found->status = is_other ? tcb_assembler_find_kind(second, &found->info, &found->error)
					 : tcb_assembler_find_first(first, &found->info, &found->error);
	found->is_known = 1;
	*out = found->info;
	if (found->status != TCB_OK)
		*err = found->error;
	return found->status;
}

static const char old[] = "Unsupported .version";

/* Assembles with j->assembler, which has to know the target and the text's version; else 0, and the note says so. */
static int try_assembler(struct ptx_judgement *j, const char *text, size_t length,
			 const struct tcb_assemble_build *build)
{
	const struct tcb_assembler_info *info = &j->assembler;
	const char *at;

	if (!tcb_assembler_knows(info, j->target.sm)) {
		snprintf(j->assembler_note, sizeof j->assembler_note, "%s %u.%u does not know sm_%u",
			 tcb_assembler_text(info->kind), info->version / 10, info->version % 10, j->target.sm);
		return 0;
	}
	tcb_assemble_as(info, text, length, &j->target, build, ASSEMBLE_SECONDS, &j->assembly);
	if (j->assembly.status == TCB_OK || !j->assembly.log || !(at = strstr(j->assembly.log, old)))
		return 1;
	snprintf(j->assembler_note, sizeof j->assembler_note, "%s %u.%u is too old for the text: %.100s",
		 tcb_assembler_text(info->kind), info->version / 10, info->version % 10, at);
	j->assembler_note[strcspn(j->assembler_note, "\n")] = '\0';
	tcb_assembly_fini(&j->assembly);
	return 0;
}

/* An older .version in TEXT's place, of as many bytes: VERSION, which is what the note ends with in quotes.  NULL
 * without one, and when memory runs out. */
static char *as_older(const struct ptx_judgement *j, const char *text, size_t length, char version[16])
{
	const char *newest = strstr(j->assembler_note, "current version is '"), *at = NULL;
	size_t digits, room = 0;
	char *copy;

	for (size_t i = 0; newest && !at && i + 9 < length; i++)
		if ((!i || text[i - 1] == '\n') && memcmp(text + i, ".version", 8) == 0)
			at = text + i + 8;
	if (!at)
		return NULL;
	at += strspn(at, " \t");
	newest = strchr(newest, '\'') + 1;
	digits = strcspn(newest, "'");
	while (at + room < text + length && (isdigit((unsigned char)at[room]) || at[room] == '.'))
		room++;
	if (!digits || digits > room || digits >= 16 || !(copy = malloc(length + 1)))
		return NULL;
	snprintf(version, 16, "%.*s", (int)digits, newest);
	memcpy(copy, text, length);
	copy[length] = '\0';
	memset(copy + (at - text), ' ', room);
	memcpy(copy + (at - text), newest, digits);
	return copy;
}

/* A text that is too new for j->assembler, as the newest that it takes: most use nothing newer. */
static int try_older(struct ptx_judgement *j, const char *text, size_t length, const struct tcb_assemble_build *build)
{
	char version[16], *copy = as_older(j, text, length, version);

	if (!copy)
		return 0;
	tcb_assemble_as(&j->assembler, copy, length, &j->target, build, ASSEMBLE_SECONDS, &j->assembly);
	free(copy);
	if (j->assembly.status == TCB_OK) {
		snprintf(j->assembler_note, sizeof j->assembler_note, "as .version %s, the newest that it takes",
			 version);
		return 1;
	}
	tcb_assembly_fini(&j->assembly);
	return 0;
}

/* What the assembler said, where the text is not what it takes. */
static void add_complaints(struct ptx_judgement *j)
{
	const struct tcb_ptx_sink sink = ptx_findings_sink(&j->findings);
	struct tcb_ptx_finding finding = { .rule = TCB_PTX_RULE_ASSEMBLER, .severity = TCB_PTX_WARNING };

	if (j->assembly.log && tcb_assemble_log_findings(j->assembly.log, &sink))
		return;
	if (j->assembly.status == TCB_OK)
		return;
	/* No line to point at: its last words, as an error if it refuses and a warning if it broke. */
	if (j->assembly.status == TCB_E_FORMAT)
		finding.severity = TCB_PTX_ERROR;
	const char *log = j->assembly.log ? j->assembly.log : "it said nothing\n", *last = log;
	for (const char *at = log; *at; at += strcspn(at, "\n") + (at[strcspn(at, "\n")] == '\n'))
		last = at;
	snprintf(finding.message, sizeof finding.message, "%.*s", (int)strcspn(last, "\n"), last);
	ptx_findings_add(&j->findings, &finding);
}

/* The text goes to the assembler as it is, so that its lines are the file's.  One that is too old for it gives way to
 * the other, unless the environment chose it; where none is new enough, it gets the text as of an older version. */
static void assemble(struct ptx_judgement *j, const char *text, size_t length, const struct tcb_assemble_build *build)
{
	const enum tcb_assembler first = build ? TCB_ASSEMBLER_PTXAS : TCB_ASSEMBLER_NVJITLINK;
	const char *chosen = getenv("TCBTUNE_ASSEMBLER");
	struct tcb_assembler_info other;
	struct tcb_error error;

	if (build)
		j->build = *build;
	if (find_assembler(first, 0, &j->assembler, &error) != TCB_OK) {
		snprintf(j->assembler_note, sizeof j->assembler_note, "%.190s", error.message);
		return;
	}
	j->has_assembly = try_assembler(j, text, length, build);
	if (!j->has_assembly && j->assembler.kind == first && !(chosen && chosen[0]) &&
	    find_assembler(first, 1, &other, &error) == TCB_OK) {
		j->assembler = other;
		j->has_assembly = try_assembler(j, text, length, build);
	}
	if (j->has_assembly)
		j->assembler_note[0] = '\0';
	else
		j->has_assembly = try_older(j, text, length, build);
	if (j->has_assembly)
		add_complaints(j);
}

/* What no assembler is needed for: no estimate is part of it. */
static void judge_dynamic_shared(struct ptx_judgement *j, const struct ptx_judged_kernel *kernel)
{
	const struct tcb_ptx_sink sink = ptx_findings_sink(&j->findings);
	const struct tcb_sm_limits *sm = tcb_sm_limits_find(j->target.sm);
	const uint64_t fixed = kernel->facts.shared_static, dynamic = kernel->facts.dynamic_shared;

	if (sm && fixed <= TCB_PTX_SHARED_STATIC_MAX && fixed + dynamic > sm->shared_block)
		tcb_ptx_report(&sink, TCB_PTX_RULE_LAUNCH_BOUNDS, TCB_PTX_ERROR, kernel->facts.function, NULL,
			       "a block needs %llu bytes of shared memory, but sm_%u has %u",
			       (unsigned long long)(fixed + dynamic), j->target.sm, sm->shared_block);
}

static void judge_kernel(struct ptx_judgement *j, struct ptx_judged_kernel *kernel)
{
	const struct tcb_ptx_sink sink = ptx_findings_sink(&j->findings);
	const struct tcb_ptx_function *function = kernel->facts.function;
	const struct tcb_ptx_resources *r = &kernel->resources;
	uint64_t product = (uint64_t)kernel->facts.block[0] * kernel->facts.block[1];
	unsigned threads = product > MANY_THREADS || product * kernel->facts.block[2] > MANY_THREADS
				   ? MANY_THREADS
				   : (unsigned)product * kernel->facts.block[2];
	struct tcb_error error;

	if (j->has_assembly && j->assembly.status == TCB_OK)
		kernel->has_resources =
			tcb_assembly_resources(&j->assembly, function->symbol->name, &kernel->resources);
	if (!kernel->has_resources) {
		kernel->resources.registers = kernel->facts.register_estimate;
		kernel->resources.shared_bytes =
			kernel->facts.shared_static < UINT32_MAX ? (unsigned)kernel->facts.shared_static : UINT32_MAX;
	} else if (r->spill_store_bytes || r->spill_load_bytes) {
		tcb_ptx_report(&sink, TCB_PTX_RULE_REGISTERS, TCB_PTX_ADVICE, function, NULL,
			       "spills %u bytes to local memory and loads %u: fewer live values, or a larger .maxnreg, "
			       "keep them in registers",
			       r->spill_store_bytes, r->spill_load_bytes);
	}
	kernel->occupancy.known = tcb_occupancy(j->target.sm, &kernel->resources, threads, kernel->facts.dynamic_shared,
						&kernel->occupancy.occupancy, &error) == TCB_OK;
	if (!kernel->occupancy.known)
		snprintf(kernel->occupancy.why, sizeof kernel->occupancy.why, "%.150s", error.message);
	else if (!kernel->has_resources)
		judge_dynamic_shared(j, kernel);
	else if (!kernel->occupancy.occupancy.blocks)
		tcb_ptx_report(&sink, TCB_PTX_RULE_LAUNCH_BOUNDS,
			       kernel->facts.block_source == TCB_PTX_BLOCK_ASSUMED || kernel->facts.is_for_all
				       ? TCB_PTX_WARNING
				       : TCB_PTX_ERROR,
			       function, NULL, "a block of %u threads does not fit on sm_%u: %s", threads, j->target.sm,
			       kernel->occupancy.occupancy.limiter);
}

static enum tcb_status analyse(struct ptx_judgement *j, const struct ptx_judge_options *how, struct tcb_error *err)
{
	const struct tcb_ptx_sink sink = ptx_findings_sink(&j->findings);
	struct tcb_ptx_check_options options = { .target = j->target,
						 .launches = how->launches,
						 .launch_count = how->launch_count,
						 .is_accepted = j->has_assembly && j->assembly.status == TCB_OK };
	struct tcb_ptx_check_report report;

	if (how->named)
		TCB_TRY(ptx_launches_of(how->named, j->module, &options.launches, &options.launch_count, err));
	TCB_TRY(tcb_ptx_check(j->module, &options, &sink, &report, err));
	TCB_TRY(tcb_ptx_certain(&report, &sink, err));
	j->kernels = calloc(report.kernel_count + 1, sizeof *j->kernels);
	if (!j->kernels)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	for (size_t i = 0; i < report.kernel_count; i++) {
		j->kernels[i].facts = report.kernels[i];
		if (report.kernels[i].block_source == TCB_PTX_BLOCK_ASSUMED)
			memcpy(j->findings.block, report.kernels[i].block, sizeof j->findings.block);
	}
	j->kernel_count = report.kernel_count;
	return TCB_OK;
}

/* The .target of a text that could not be parsed. */
static void find_target(const char *text, struct tcb_ptx_target *out)
{
	const char *at = strstr(text, ".target");
	unsigned sm;
	char feature = '\0';

	if (at && sscanf(at, ".target sm_%u%c", &sm, &feature) >= 1)
		*out = (struct tcb_ptx_target){ sm, strchr("af", feature) ? feature : '\0' };
}

enum tcb_status ptx_judge(const char *name, const char *text, size_t length, const struct ptx_judge_options *options,
			  struct ptx_judgement *out, struct tcb_error *err)
{
	struct tcb_error syntax = { TCB_OK, "" };
	enum tcb_status status = TCB_OK;

	*out = (struct ptx_judgement){ .name = name, .target = options->target };
	ptx_findings_init(&out->findings, name, text, length, options->policy);
	if (tcb_ptx_parse_foreign(name, text, length, &out->module, &syntax) != TCB_OK) {
		out->module = NULL;
		if (syntax.status == TCB_E_NOMEM)
			return tcb_fail(err, TCB_E_NOMEM, "%s", syntax.message);
	}
	out->findings.module = out->module;
	if (!out->target.sm && out->module)
		out->target = out->module->target;
	else if (!out->target.sm)
		find_target(text, &out->target);
	if (out->target.sm)
		assemble(out, text, length, options->build);
	if (out->module)
		status = analyse(out, options, err);
	if (syntax.status != TCB_OK)
		add_syntax(out, &syntax);
	if (status == TCB_OK && out->has_assembly && out->assembly.status == TCB_OK)
		status = tcb_assembly_functions(&out->assembly, &out->functions, &out->function_count, err);
	for (size_t i = 0; status == TCB_OK && i < out->kernel_count; i++)
		judge_kernel(out, &out->kernels[i]);
	return status;
}

void ptx_judgement_fini(struct ptx_judgement *j)
{
	ptx_findings_fini(&j->findings);
	free(j->kernels);
	free(j->functions);
	if (j->has_assembly)
		tcb_assembly_fini(&j->assembly);
	tcb_ptx_module_destroy(j->module);
	*j = (struct ptx_judgement){ 0 };
}
