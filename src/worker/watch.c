/* SPDX-License-Identifier: MIT
 *
 * The worker's side of the shared page.
 */
#include "worker/watch.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

static void note(struct tcb_watch *watch, int candidate)
{
	atomic_store(&watch->candidate, candidate != 0);
	if (candidate)
		atomic_store(&watch->ran, 1);
	atomic_fetch_add(&watch->beat, 1);
}

void tcb_watch_phase(struct tcb_watch *watch, int candidate, const char *format, ...)
{
	if (!watch)
		return;
	va_list args;
	va_start(args, format);
	vsnprintf(watch->phase, sizeof(watch->phase), format, args);
	va_end(args);
	note(watch, candidate);
}

void tcb_watch_subject(struct tcb_watch *watch, int candidate, unsigned subject)
{
	if (!watch)
		return;
	atomic_store(&watch->subject, subject);
	note(watch, candidate);
}
