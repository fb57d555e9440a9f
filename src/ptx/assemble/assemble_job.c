/* SPDX-License-Identifier: MIT
 *
 * What both ways of assembling need while a job runs and when it ends: its
 * deadline, the target's name, how a process ended, the last line of the log.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "ptx/assemble/assemble_private.h"

enum { SECONDS_LIMIT_MAX = 1 << 24 }; /* half a year: keeps nanoseconds far from overflow */

uint64_t tcb_assemble_deadline(double seconds)
{
	if (!(seconds > 0))
		seconds = 0;
	if (seconds > SECONDS_LIMIT_MAX)
		seconds = SECONDS_LIMIT_MAX;
	return tcb_clock_ns() + (uint64_t)(seconds * 1e9);
}

int tcb_assemble_wait_ms(uint64_t deadline_ns)
{
	uint64_t now = tcb_clock_ns();

	if (now >= deadline_ns)
		return 0;
	uint64_t left = (deadline_ns - now) / 1000000 + 1;
	return left > TCB_ASSEMBLE_STEP_MS ? TCB_ASSEMBLE_STEP_MS : (int)left;
}

void tcb_assemble_target_text(const struct tcb_ptx_target *target, char out[16])
{
	char feature[2] = { target->feature, '\0' };

	snprintf(out, 16, "sm_%u%s", target->sm, feature);
}

void tcb_assemble_describe_exit(int wait_status, char out[64])
{
	if (WIFSIGNALED(wait_status)) {
		snprintf(out, 64, "was killed by signal %d (%.32s)", WTERMSIG(wait_status),
			 strsignal(WTERMSIG(wait_status)));
	} else {
		snprintf(out, 64, "ended with exit status %d", WEXITSTATUS(wait_status));
	}
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
