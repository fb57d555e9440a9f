/* SPDX-License-Identifier: MIT
 *
 * Memory faults explained.  The handler runs on the faulting thread and uses
 * async-signal-safe calls only; after it the default action kills the process,
 * so the exit status still names the signal.
 */
#include "worker/fault.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct {
	char name[48];
	int read_only;
	uintptr_t start, bytes;         /* the data */
	uintptr_t map_start, map_bytes; /* with guard pages */
} table[TCB_FAULT_REGIONS_MAX];
static size_t table_count;

/* A line built without stdio. */
struct line {
	char text[192];
	size_t length;
};

static void add(struct line *line, const char *text)
{
	while (*text && line->length < sizeof(line->text) - 1)
		line->text[line->length++] = *text++;
}

static void add_number(struct line *line, uintptr_t value, unsigned base)
{
	char digits[24];
	size_t at = sizeof(digits);
	digits[--at] = '\0';
	do {
		digits[--at] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	add(line, &digits[at]);
}

static void explain(struct line *line, uintptr_t address)
{
	for (size_t i = 0; i < table_count; i++) {
		if (address - table[i].map_start >= table[i].map_bytes)
			continue;
		if (address < table[i].start) {
			add(line, "touched memory ");
			add_number(line, table[i].start - address, 10);
			add(line, " bytes before the start of ");
		} else if (address - table[i].start >= table[i].bytes) {
			add(line, "touched memory ");
			add_number(line, address - (table[i].start + table[i].bytes), 10);
			add(line, " bytes past the end of ");
		} else {
			add(line, table[i].read_only ? "wrote to the read-only " : "could not touch ");
		}
		add(line, table[i].name);
		return;
	}
	add(line, address < 4096 ? "null pointer, address 0x" : "touched unmapped memory at 0x");
	add_number(line, address, 16);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)context;
	struct line line = { .length = 0 };
	/* Sent by a program, not by the hardware: there is no address to explain. */
	if (info->si_code > 0) {
		explain(&line, (uintptr_t)info->si_addr);
		add(&line, "\n");
		(void)!write(STDERR_FILENO, line.text, line.length);
	}
	signal(number, SIG_DFL);
	raise(number);
}

void tcb_fault_install(void)
{
	struct sigaction action;
	memset(&action, 0, sizeof(action));
	action.sa_sigaction = on_fault;
	action.sa_flags = SA_SIGINFO;
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
}

void tcb_fault_regions(const struct tcb_fault_region *regions, size_t count)
{
	table_count = 0;
	for (size_t i = 0; i < count && i < TCB_FAULT_REGIONS_MAX; i++) {
		const struct tcb_buffer *buffer = regions[i].buffer;
		if (!buffer->map)
			continue;
		snprintf(table[table_count].name, sizeof(table[0].name), "%s", regions[i].name);
		table[table_count].read_only = regions[i].read_only;
		table[table_count].start = (uintptr_t)buffer->data;
		table[table_count].bytes = buffer->bytes;
		table[table_count].map_start = (uintptr_t)buffer->map;
		table[table_count].map_bytes = buffer->map_bytes;
		table_count++;
	}
}
