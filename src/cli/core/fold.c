/* SPDX-License-Identifier: MIT
 *
 * Lines that the terminal has room for.  What a person reads is folded between
 * words; what goes into a pipe or a file keeps its lines whole, unless COLUMNS
 * is set.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/core/emit.h"

enum { WIDTH = 80, INDENT = 4, LEAST = 20 };

size_t cli_fold_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	const long wanted = columns ? strtol(columns, NULL, 10) : 0;
	struct winsize size = { .ws_col = 0 };

	if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	return wanted > 0 && wanted < 10000 ? (size_t)wanted : 0;
}

size_t cli_terminal_width(void)
{
	const size_t width = cli_fold_width(STDOUT_FILENO);

	return width ? width : WIDTH;
}

/* Bytes of a color's escape sequence at TEXT, which take no room; 0: there is none. */
static size_t escape_bytes(const char *text)
{
	return text[0] == '\x1b' && text[1] == '[' ? strcspn(text, "m") + 1 : 0;
}

/* Where the first of TEXT's LENGTH bytes that fill at most ROOM columns end: behind a blank or one of SIGNS, if there
 * is one. */
static size_t line_bytes(const char *text, size_t length, size_t room, const char *signs)
{
	size_t bytes = 0, width = 0, good = 0;

	while (bytes < length && width <= room) {
		const size_t escape = escape_bytes(text + bytes);

		if (escape) {
			bytes += escape;
			continue;
		}
		width += (text[bytes] & 0xc0) != 0x80;
		/* A blank at the end is not shown. */
		if ((text[bytes] == ' ' && width <= room + 1) || (width <= room && strchr(signs, text[bytes])))
			good = bytes + 1;
		bytes++;
	}
	if (bytes >= length && width <= room)
		return length;
	if (good)
		return good;
	while (bytes > 1 && (text[bytes - 1] & 0xc0) == 0x80)
		bytes--;
	return bytes > 1 ? bytes - 1 : bytes;
}

/* TEXT in lines: FIRST blanks before the first, REST before the others. */
void cli_add_folded(struct tcb_str *out, const char *text, size_t first, size_t rest)
{
	const size_t width = cli_terminal_width();

	for (size_t indent = first; *text; indent = rest) {
		const size_t bytes = line_bytes(text, strlen(text), width > 2 * indent ? width - indent : indent, ",");
		const size_t shown = bytes && text[bytes - 1] == ' ' && text[bytes] ? bytes - 1 : bytes;

		tcb_str_addf(out, "%*s%.*s\n", (int)indent, "", (int)shown, text);
		text += bytes;
	}
}

void cli_add_wrapped(struct tcb_str *out, size_t indent, const char *format, ...)
{
	struct tcb_str shown = { 0 };
	va_list list;

	va_start(list, format);
	cli_add_shownv(&shown, format, list);
	va_end(list);
	cli_add_folded(out, shown.data ? shown.data : "", 0, indent);
	out->failed |= shown.failed;
	tcb_str_fini(&shown);
}

/* Columns of LINE's first LENGTH bytes. */
static size_t columns_of(const char *line, size_t length)
{
	size_t columns = 0;

	for (size_t i = 0; i < length; i++) {
		const size_t escape = escape_bytes(line + i);

		if (escape)
			i += escape - 1;
		else
			columns += (line[i] & 0xc0) != 0x80;
	}
	return columns;
}

/* Where the parts of LINE after the first begin: below its last column of a table that leaves room for text, or
 * INDENT behind its own beginning. */
static size_t hanging(const char *line, size_t length, size_t width)
{
	const size_t own = strspn(line, " ");
	size_t found = own + INDENT;

	for (size_t i = own; i + 2 < length; i++)
		if (line[i] == ' ' && line[i + 1] == ' ' && line[i + 2] != ' ' &&
		    5 * columns_of(line, i + 2) < 3 * width)
			found = columns_of(line, i + 2);
	return found + LEAST < width ? found : width > LEAST + INDENT ? INDENT : 0;
}

/* Whether LINE has a command that a person would paste into a shell. */
static int is_command(const char *line, size_t length)
{
	const char *own = line + strspn(line, " "), *told = memmem(line, length, ": tcbtune ", strlen(": tcbtune "));

	return told || (*line == ' ' && strncmp(own, "tcbtune ", strlen("tcbtune ")) == 0);
}

static void fold_line(struct tcb_str *out, const char *line, size_t length, size_t width)
{
	const int pasted = is_command(line, length);
	const size_t rest = hanging(line, length, width);

	for (size_t indent = 0; length;) {
		const size_t room = width > indent ? width - indent : 1;
		const int is_last = columns_of(line, length) <= room;
		const size_t bytes =
			is_last ? length
				: line_bytes(line, length, pasted && room > 2 ? room - 2 : room, pasted ? "" : ",");
		const size_t shown = !is_last && line[bytes - 1] == ' ' ? bytes - 1 : bytes;

		tcb_str_addf(out, "%*s", (int)indent, "");
		tcb_str_add_bytes(out, line, shown);
		tcb_str_add(out, pasted && !is_last ? " \\\n" : "\n");
		line += bytes;
		length -= bytes;
		indent = rest;
	}
}

void cli_fold(struct tcb_str *text, int fd)
{
	const size_t width = cli_fold_width(fd);
	struct tcb_str out = { 0 };

	if (!width || text->failed || !text->data)
		return;
	for (const char *line = text->data; *line;) {
		const size_t length = strcspn(line, "\n");

		if (columns_of(line, length) <= width)
			tcb_str_add_bytes(&out, line, length + (line[length] == '\n'));
		else
			fold_line(&out, line, length, width);
		line += length + (line[length] == '\n');
	}
	out.failed |= text->failed;
	tcb_str_fini(text);
	*text = out;
}
