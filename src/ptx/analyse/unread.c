/* SPDX-License-Identifier: MIT
 *
 * In: a module of foreign text.  Out: what of it nobody judged, and why.
 */
#include "ptx/analyse/unread.h"

#include <stdio.h>
#include <string.h>

#include "ptx/ir/opcodes.h"

enum { KINDS_SHOWN = 8 };

static void report_parts(const struct tcb_ptx_module *module, int is_accepted, const struct tcb_ptx_sink *sink)
{
	for (const struct tcb_ptx_unread *part = module->unread; part; part = part->next) {
		struct tcb_ptx_finding finding = {
			.rule = TCB_PTX_RULE_SYNTAX,
			.severity = is_accepted || part->is_unknown ? TCB_PTX_WARNING : TCB_PTX_ERROR,
			.function = part->function,
			.line = part->line,
		};

		snprintf(finding.message, sizeof finding.message, "%s: %.250s%s%s", tcb_ptx_rule_name(finding.rule),
			 part->why, part->function ? "; the rest of this function is not judged" : "",
			 is_accepted ? " (the assembler takes it: here tcbtune's parser falls short)" : "");
		sink->see(sink->ctx, &finding);
	}
}

static void report_misfit(const struct tcb_ptx_function *function, const struct tcb_ptx_ins *ins, int is_accepted,
			  const struct tcb_ptx_sink *sink)
{
	if (!is_accepted && ins->opaque->why)
		tcb_ptx_report(sink, TCB_PTX_RULE_SYNTAX, ins->opaque->is_wrong ? TCB_PTX_ERROR : TCB_PTX_WARNING,
			       function, ins, "%.300s", ins->opaque->why);
}

/* "tex.2d.v4.f32.f32, ...": each mnemonic once, the first few of them. */
static void list_mnemonics(const struct tcb_ptx_function *function, char *out, size_t size)
{
	const char *shown[KINDS_SHOWN];
	unsigned count = 0;
	size_t used = 0;

	out[0] = 0;
	for (const struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
			unsigned i = 0;

			if (!ins->opaque)
				continue;
			while (i < count && strcmp(shown[i], ins->opaque->mnemonic) != 0)
				i++;
			if (i < count)
				continue;
			if (count == KINDS_SHOWN || used + strlen(ins->opaque->mnemonic) + 8 > size) {
				snprintf(out + used, size - used, ", ...");
				return;
			}
			used += (size_t)snprintf(out + used, size - used, "%s%s", count ? ", " : "",
						 ins->opaque->mnemonic);
			shown[count++] = ins->opaque->mnemonic;
		}
}

static void report_opaque(const struct tcb_ptx_function *function, int is_accepted, const struct tcb_ptx_sink *sink)
{
	const struct tcb_ptx_ins *first = NULL;
	unsigned count = 0;
	char kinds[240];

	for (const struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
			if (!ins->opaque)
				continue;
			count++;
			first = first ? first : ins;
			report_misfit(function, ins, is_accepted, sink);
		}
	if (!count)
		return;
	list_mnemonics(function, kinds, sizeof kinds);
	tcb_ptx_report(sink, TCB_PTX_RULE_OPAQUE, TCB_PTX_ADVICE, function, first,
		       "%u opaque instruction%s: %s; the kernel is judged around them", count, count == 1 ? "" : "s",
		       kinds);
}

void tcb_ptx_report_unread(const struct tcb_ptx_module *module, int is_accepted, const struct tcb_ptx_sink *sink)
{
	report_parts(module, is_accepted, sink);
	for (const struct tcb_ptx_function *function = module->functions; function; function = function->next)
		if (!function->is_declaration)
			report_opaque(function, is_accepted, sink);
}
