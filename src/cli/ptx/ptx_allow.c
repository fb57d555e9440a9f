/* SPDX-License-Identifier: MIT
 *
 * In: PTX text.  Out: which findings its comments allow.
 *
 * "// tcbtune: allow RULE" holds for its line; alone on a line, up to the next
 * instruction that touches memory or other threads.  What inline assembly says
 * in CUDA code comes through the compiler that way, with lines around it and
 * the arithmetic of the address behind it.
 */
#include <string.h>

#include "cli/ptx/ptx_policy.h"

static const char mark[] = "// tcbtune: allow";

/* What a line of PTX is to a comment above it. */
enum line_kind { NOTHING, ARITHMETIC, ACCESS, END };

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
		at++;
	return at;
}

static int starts_with(const char *at, const char *end, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((size_t)(end - at) >= strlen(words[i]) && memcmp(at, words[i], strlen(words[i])) == 0)
			return 1;
	return 0;
}

/* Of the line at AT, which ends at END. */
static enum line_kind kind_of(const char *at, const char *end)
{
	static const char *const nothing[] = { "//", ".loc", "{", "}" };
	static const char *const accesses[] = { "ld",       "st",     "atom",    "red",        "cp",     "bar",
						"shfl",     "vote",   "match",   "mma",        "wgmma",  "wmma",
						"mbarrier", "tex",    "tcgen05", "surf",       "sust",   "suld",
						"fence",    "membar", "elect",   "activemask", "griddep" };
	static const char *const ends[] = { "bra", "brx", "ret", "exit", "call", "trap" };

	at = skip_blanks(at, end);
	while (end > at && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	if (at == end || starts_with(at, end, nothing, sizeof nothing / sizeof *nothing))
		return NOTHING;
	if (end[-1] == ':')
		return END;
	if (*at == '@') { /* a guard */
		while (at < end && *at != ' ' && *at != '\t')
			at++;
		at = skip_blanks(at, end);
	}
	if (starts_with(at, end, ends, sizeof ends / sizeof *ends))
		return END;
	return starts_with(at, end, accesses, sizeof accesses / sizeof *accesses) ? ACCESS : ARITHMETIC;
}

static const char *line_end(const char *at, const char *end)
{
	const char *newline = memchr(at, '\n', (size_t)(end - at));

	return newline ? newline : end;
}

/* The last line that a comment in LINE holds for; AT is the line's first character. */
static uint32_t last_line(const char *at, const char *comment, const char *end, uint32_t line)
{
	uint32_t last = line;

	if (kind_of(at, comment) != NOTHING)
		return line;
	for (uint32_t next = line; at < end && next < line + PTX_ALLOWED_LINES; next++) {
		const char *stop = line_end(at, end);
		enum line_kind kind = next > line ? kind_of(at, stop) : NOTHING;

		if (kind == ACCESS || (kind == END && last == line))
			return next;
		if (kind == END)
			return last;
		if (kind == ARITHMETIC)
			last = next;
		at = stop + (stop < end);
	}
	return last;
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
		one = (struct ptx_allowance){ line, last_line(line_start, found, end, line), TCB_PTX_RULE_COUNT, NULL };
		at = found + sizeof mark - 1;
		do {
			size_t used;

			at += at < stop && *at == ',';
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
