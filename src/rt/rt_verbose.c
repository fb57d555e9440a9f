/* SPDX-License-Identifier: MIT
 *
 * A line per plan for whoever runs a program with TCBRT_VERBOSE=1: what runs,
 * where it comes from and why.  A plan comes in, one write to standard error
 * goes out, so that lines of several threads do not mix.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rt/rt_plan.h"

enum { LINE_BYTES = 4096 }; /* what a pipe takes at once (PIPE_BUF) */
_Static_assert(TCBRT_GEOMETRY_MAX + TCBRT_REASON_MAX + TCBRT_VARIANT_MAX + 1024 < LINE_BYTES, "a line is never cut");

int rt_is_verbose(void)
{
	const char *value = secure_getenv("TCBRT_VERBOSE");

	return value && *value && strcmp(value, "0") != 0;
}

/* "expected_ns=1042331 speedup=1.31", as far as they are known. */
static void print_times(const struct tcbrt_tuning *tuning, char *out, size_t room)
{
	size_t length = 0;

	if (!(tuning->expected_ns > 0)) {
		(void)snprintf(out, room, "expected_ns=unknown");
		return;
	}
	length += (size_t)snprintf(out, room, "expected_ns=%.0f", tuning->expected_ns);
	if (tuning->speedup > 0)
		length += (size_t)snprintf(out + length, room - length, " speedup=%.3g", tuning->speedup);
	if (tuning->plain_ns > 0)
		(void)snprintf(out + length, room - length, " plain_ns=%.0f", tuning->plain_ns);
}

void rt_say_plan(const struct tcbrt *rt, const struct tcbrt_plan *plan)
{
	char line[LINE_BYTES], shape[TCB_SHAPE_TEXT_MAX], times[128];
	const struct tcbrt_tuning *tuning;
	ssize_t written;
	int length;

	if (!rt || !plan || !rt->is_verbose)
		return;
	tuning = &plan->info.tuning;
	tcb_shape_print(&plan->problem.shape, shape);
	print_times(tuning, times, sizeof(times));
	length = snprintf(line, sizeof(line),
			  "tcbrt: plan %s %s contract=%s device=%s threads=%u source=%s %s geometry=%s variant=%s "
			  "reason=\"%s\"\n",
			  plan->problem.op->name, shape, tcb_contract_text(plan->problem.contract), plan->device,
			  plan->info.threads, tcbrt_source_text(tuning->source), times, tuning->geometry,
			  tuning->variant, tuning->reason);
	do /* standard error that nobody can write to is not the plan's concern */
		written = write(STDERR_FILENO, line, (size_t)length);
	while (written < 0 && errno == EINTR);
}
