/* SPDX-License-Identifier: MIT
 *
 * In: a rule, where it is broken, and why.  Out: a finding in the sink.
 */
#include "ptx/ir/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *tcb_ptx_rule_name(enum tcb_ptx_rule rule)
{
	static const char *const names[] = {
#define RULE_NAME(id, name) name,
		TCB_PTX_RULE_LIST(RULE_NAME)
#undef RULE_NAME
	};

	return names[rule];
}

enum tcb_ptx_rule tcb_ptx_rule_find(const char *name, size_t length)
{
	int rule = 0;

	while (rule < TCB_PTX_RULE_COUNT && (strlen(tcb_ptx_rule_name((enum tcb_ptx_rule)rule)) != length ||
					     memcmp(tcb_ptx_rule_name((enum tcb_ptx_rule)rule), name, length) != 0))
		rule++;
	return (enum tcb_ptx_rule)rule;
}

const char *tcb_ptx_severity_text(enum tcb_ptx_severity severity)
{
	static const char *const names[] = { "error", "warning", "advice" };

	return names[severity];
}

void tcb_ptx_report(const struct tcb_ptx_sink *sink, enum tcb_ptx_rule rule, enum tcb_ptx_severity severity,
		    const struct tcb_ptx_function *function, const struct tcb_ptx_ins *ins, const char *format, ...)
{
	struct tcb_ptx_finding finding = { .rule = rule, .severity = severity, .function = function, .ins = ins };
	va_list args;
	int used = snprintf(finding.message, sizeof finding.message, "%s: ", tcb_ptx_rule_name(rule));

	finding.line = ins ? ins->line : function ? function->line : 0;
	va_start(args, format);
	vsnprintf(finding.message + used, sizeof finding.message - (size_t)used, format, args);
	va_end(args);
	sink->see(sink->ctx, &finding);
}
