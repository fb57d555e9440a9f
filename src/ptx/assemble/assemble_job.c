/* SPDX-License-Identifier: MIT
 *
 * What both ways of assembling need when a job ends: the target's name, the
 * last line of the log.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/assemble/assemble_private.h"

void tcb_assemble_target_text(const struct tcb_ptx_target *target, char out[16])
{
	char feature[2] = { target->feature, '\0' };

	snprintf(out, 16, "sm_%u%s", target->sm, feature);
}

void tcb_assembly_end(struct tcb_assembly *assembly, enum tcb_status status, const char *format, ...)
{
	struct tcb_str log = { 0 };
	char line[600];
	va_list args;

	assembly->status = status;
	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	if (assembly->log)
		tcb_str_addf(&log, "%s%s", assembly->log,
			     assembly->log[0] && assembly->log[strlen(assembly->log) - 1] != '\n' ? "\n" : "");
	tcb_str_addf(&log, "%s\n", line);
	if (log.failed) {
		tcb_str_fini(&log);
		return;
	}
	free(assembly->log);
	assembly->log = log.data;
}
