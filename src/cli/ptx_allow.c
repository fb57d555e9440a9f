/* SPDX-License-Identifier: MIT
 *
 * In: PTX text.  Out: which findings its comments allow.
 *
 * "// tcbtune: allow RULE" holds for its line; alone on a line, for the next
 * instruction.  What inline assembly says in CUDA code comes through the
 * compiler with lines of its own around it, which are passed over.
 */
#include <string.h>

#include "cli/ptx_policy.h"

enum { LINES_AHEAD = 64 /* more than a compiler puts between a comment and its instruction */ };

static const char mark[] = "// tcbtune: allow";

/* Whether the line at AT, which ends at END, holds an instruction or a declaration. */
static int is_code(const char *at, const char *end)
{
	static const char *const others[] = { "//", ".loc", "{", "}" };

	while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
		at++;
	while (end > at && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	if (at == end || end[-1] == ':')
		return 0;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if ((size_t)(end - at) >= strlen(others[i]) && memcmp(at, others[i], strlen(others[i])) == 0)
			return 0;
	return 1;
}

static const char *line_end(const char *at, const char *end)
{
	const char *newline = memchr(at, '\n', (size_t)(end - at));

	return newline ? newline : end;
}

/* The line that a comment in LINE holds for; AT is the line's first character. */
static uint32_t held_line(const char *at, const char *comment, const char *end, uint32_t line)
{
	if (is_code(at, comment))
		return line;
	for (uint32_t next = line; at < end && next < line + LINES_AHEAD; next++) {
		const char *stop = line_end(at, end);

		if (next > line && is_code(at, stop))
			return next;
		at = stop + (stop < end);
	}
	return line;
}

static int add(struct tcb_arena *arena, struct ptx_allowance **list, size_t *count, const struct ptx_allowance *one)
{
	if ((*count & (*count - 1)) == 0) { /* room for the next power of two */
		struct ptx_allowance *grown =
			tcb_arena_regrow(arena, *list, *count, *count ? 2 * *count : 1, sizeof *grown);

		if (!grown)
			return 0;
		*list = grown;
	}
	(*list)[(*count)++] = *one;
	return 1;
}

static size_t word_length(const char *at, const char *end)
{
	size_t length = 0;

	while (at + length < end && ((at[length] >= 'a' && at[length] <= 'z') || at[length] == '-' ||
				     (at[length] >= '0' && at[length] <= '9')))
		length++;
	return length;
}

int ptx_allowances(const char *text, size_t length, struct tcb_arena *arena, struct ptx_allowance **out,
		   size_t *count_out)
{
	const char *end = text + length, *at = text, *line_start = text, *found;
	uint32_t line = 1;

	*out = NULL;
	*count_out = 0;
	while (at < end && (found = memmem(at, (size_t)(end - at), mark, sizeof mark - 1))) {
		const char *stop = line_end(found, end), *newline;
		struct ptx_allowance one;

		while ((newline = memchr(line_start, '\n', (size_t)(found - line_start)))) {
			line_start = newline + 1;
			line++;
		}
		one = (struct ptx_allowance){ held_line(line_start, found, end, line), line, TCB_PTX_RULE_COUNT, NULL };
		at = found + sizeof mark - 1;
		do {
			size_t used;

			at += *at == ',';
			while (at < stop && (*at == ' ' || *at == '\t'))
				at++;
			used = word_length(at, stop);
			one.rule = tcb_ptx_rule_find(at, used);
			one.word = tcb_arena_text(arena, at, used);
			if (!one.word || !add(arena, out, count_out, &one))
				return 0;
			at += used;
		} while (at < stop && *at == ',');
		at = stop;
	}
	return 1;
}
