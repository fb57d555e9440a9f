/* SPDX-License-Identifier: MIT
 *
 * Findings come in, one after the other; the first that is against the kernel is the
 * verdict.
 */
#include "judge/ruling.h"

#include <stdarg.h>
#include <stdio.h>

void tcb_ruling_find(struct tcb_ruling *verdict, enum tcb_ruling_kind kind, const char *rule, const char *format, ...)
{
	va_list args;

	if (verdict->rule)
		return;
	verdict->kind = kind;
	verdict->rule = rule;
	va_start(args, format);
	vsnprintf(verdict->reason, sizeof verdict->reason, format, args);
	va_end(args);
}

void tcb_ruling_note(struct tcb_ruling *verdict, const char *format, ...)
{
	va_list args;

	if (verdict->note_count == TCB_RULING_NOTES_MAX)
		return;
	va_start(args, format);
	vsnprintf(verdict->notes[verdict->note_count++], sizeof verdict->notes[0], format, args);
	va_end(args);
}

static void add_tried(struct tcb_ruling *verdict, const char *name, enum tcb_tried_how how, const char *format,
		      va_list args)
{
	struct tcb_attempted *tried = &verdict->tried[verdict->tried_count];

	if (verdict->tried_count == TCB_RULING_TRIED_MAX)
		return;
	verdict->tried_count++;
	tried->name = name;
	tried->how = how;
	vsnprintf(tried->text, sizeof tried->text, format, args);
}

void tcb_ruling_tried(struct tcb_ruling *verdict, const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_tried(verdict, name, tcb_ruling_stands(verdict) ? TCB_TRIED_HELD : TCB_TRIED_FAILED, format, args);
	va_end(args);
}

void tcb_ruling_not_tried(struct tcb_ruling *verdict, const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_tried(verdict, name, TCB_TRIED_NOT, format, args);
	va_end(args);
}

const char *tcb_ruling_text(enum tcb_ruling_kind kind)
{
	static const char *const texts[] = { "right", "wrong", "cheats", "undecided" };

	return texts[kind];
}
