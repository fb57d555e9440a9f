/* SPDX-License-Identifier: MIT
 *
 * How a rule of one instruction says that it is broken.
 */
#include "ptx/analyse/legality_parts.h"

#include <stdarg.h>
#include <stdio.h>

int tcb_ptx_check_fail(const struct tcb_ptx_check *check, enum tcb_ptx_rule rule, const char *format, ...)
{
	struct tcb_ptx_finding *finding = check->finding;
	va_list args;
	int used;

	finding->rule = rule;
	finding->severity = TCB_PTX_ERROR;
	finding->function = check->function;
	finding->ins = check->ins;
	finding->line = check->ins->line;
	finding->assumes_block = 0;
	used = snprintf(finding->message, sizeof finding->message, "%s: ", tcb_ptx_rule_name(rule));
	va_start(args, format);
	vsnprintf(finding->message + used, sizeof finding->message - (size_t)used, format, args);
	va_end(args);
	return 0;
}
