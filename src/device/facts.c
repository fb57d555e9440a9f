/* SPDX-License-Identifier: MIT
 *
 * How facts of devices are written.
 */
#include "device/facts.h"

#include <stdarg.h>
#include <stdio.h>

enum { TEXT_MAX = 512 };

void tcb_fact_line(struct tcb_facts *facts, const char *label, const char *format, ...)
{
	char text[TEXT_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	tcb_str_addf(&facts->lines, "  %-12s %s\n", label, text);
}

void tcb_fact_member(struct tcb_facts *facts, const char *name, const char *format, ...)
{
	char text[TEXT_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	tcb_str_addf(&facts->members, ",\"%s\":%s", name, text);
}

void tcb_fact_size(struct tcb_facts *facts, const char *label, const char *name, size_t bytes)
{
	char text[TCB_SIZE_TEXT_MAX];

	tcb_size_text(bytes, text);
	tcb_fact_line(facts, label, "%s", bytes ? text : "unknown");
	tcb_fact_member(facts, name, "%zu", bytes);
}

void tcb_facts_fini(struct tcb_facts *facts)
{
	tcb_str_fini(&facts->lines);
	tcb_str_fini(&facts->members);
}
