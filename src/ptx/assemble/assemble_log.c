/* SPDX-License-Identifier: MIT
 *
 * In: what ptxas -v or nvJitLink -verbose said.  Out: the figures of an entry,
 * and the errors and warnings with their lines.
 *
 * The lines that matter, the same from both (nvJitLink adds lines of its
 * linker, which do not begin with "ptxas"):
 *
 *     ptxas info    : Compiling entry function 'k' for 'sm_89'
 *     ptxas info    : Function properties for k
 *         0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
 *     ptxas info    : Used 8 registers, used 1 barriers, 1024 bytes smem, 364 bytes cmem[0]
 *     ptxas kernel.ptx, line 13; error   : Not a name of any known instruction: 'addd'
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/assemble/assemble_private.h"

/* One line of the log, not terminated. */
struct line {
	const char *text;
	size_t length;
};

static int next_line(const char **at, struct line *out)
{
	if (!**at)
		return 0;
	out->text = *at;
	out->length = strcspn(*at, "\n");
	*at += out->length + (out->text[out->length] == '\n');
	return 1;
}

/* What follows WORD in LINE; NULL when it does not occur. */
static const char *after(const struct line *line, const char *word)
{
	const char *at = memmem(line->text, line->length, word, strlen(word));

	return at ? at + strlen(word) : NULL;
}

static int name_is(const struct line *line, const char *at, const char *name)
{
	size_t length = strlen(name), left = (size_t)(line->text + line->length - at);

	return left >= length && memcmp(at, name, length) == 0 &&
	       (left == length || at[length] == '\'' || at[length] == ' ' || at[length] == '\r');
}

/* The sum of the numbers before each UNIT ("bytes cmem["), 0 when there is none. */
static unsigned sum_of(const struct line *line, const char *unit)
{
	unsigned sum = 0;

	for (struct line rest = *line; rest.length;) {
		const char *at = memmem(rest.text, rest.length, unit, strlen(unit)), *digits = at;
		if (!at)
			break;
		while (digits > rest.text && digits[-1] == ' ')
			digits--;
		while (digits > rest.text && digits[-1] >= '0' && digits[-1] <= '9')
			digits--;
		sum += (unsigned)strtoul(digits, NULL, 10);
		rest.length -= (size_t)(at + strlen(unit) - rest.text);
		rest.text = at + strlen(unit);
	}
	return sum;
}

/* The name after "Compiling entry function '" ends at the quote. */
static size_t name_length(const struct line *line, const char *at)
{
	const char *end = memchr(at, '\'', (size_t)(line->text + line->length - at));

	return end ? (size_t)(end - at) : (size_t)(line->text + line->length - at);
}

int tcb_assemble_log_resources(const char *log, const char *entry, struct tcb_ptx_resources *out, char *name_out,
			       size_t name_bytes)
{
	struct line line;
	const char *at;
	int in_entry = 0, in_properties = 0;

	*out = (struct tcb_ptx_resources){ 0 };
	while (next_line(&log, &line)) {
		int is_ptxas = line.length >= 5 && memcmp(line.text, "ptxas", 5) == 0;
		if (is_ptxas && (at = after(&line, "Compiling entry function '"))) {
			in_entry = !entry || name_is(&line, at, entry);
			in_properties = 0;
			if (in_entry) {
				snprintf(name_out, name_bytes, "%.*s", (int)name_length(&line, at), at);
				entry = name_out; /* from here on it is this one */
			}
		} else if (in_entry && is_ptxas && (at = after(&line, "Function properties for "))) {
			in_properties = name_is(&line, at, entry);
		} else if (in_properties && after(&line, "bytes stack frame")) {
			out->stack_bytes = sum_of(&line, "bytes stack frame");
			out->spill_store_bytes = sum_of(&line, "bytes spill stores");
			out->spill_load_bytes = sum_of(&line, "bytes spill loads");
			in_properties = 0;
		} else if (in_entry && is_ptxas && after(&line, ": Used ")) {
			out->registers = sum_of(&line, "registers");
			out->call_stack_bytes = sum_of(&line, "bytes cumulative stack size");
			out->barriers = sum_of(&line, "barriers");
			out->shared_bytes = sum_of(&line, "bytes smem");
			out->constant_bytes = sum_of(&line, "bytes cmem[");
			return 1;
		}
	}
	return 0;
}

/* The function called NAME among the COUNT of LIST, which has room for one more. */
static struct tcb_ptx_called *find_called(struct tcb_ptx_called *list, size_t *count, const struct line *name)
{
	for (size_t i = 0; i < *count; i++)
		if (list[i].name_length == name->length && memcmp(list[i].name, name->text, name->length) == 0)
			return &list[i];
	list[*count] = (struct tcb_ptx_called){ .name = name->text, .name_length = name->length };
	return &list[(*count)++];
}

static unsigned larger(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

static void see_called(struct tcb_ptx_called *f, const struct line *line)
{
	f->stack_bytes = larger(f->stack_bytes, sum_of(line, "bytes stack frame"));
	f->spill_store_bytes = larger(f->spill_store_bytes, sum_of(line, "bytes spill stores"));
	f->spill_load_bytes = larger(f->spill_load_bytes, sum_of(line, "bytes spill loads"));
}

enum tcb_status tcb_assembly_functions(const struct tcb_assembly *assembly, struct tcb_ptx_called **out,
				       size_t *count_out, struct tcb_error *err)
{
	const char *log = assembly->log ? assembly->log : "", *at;
	struct line line, name = { 0 }, entry = { 0 };
	size_t most = 1;

	for (at = log; (at = strstr(at, "Function properties for ")); at++)
		most++;
	*count_out = 0;
	*out = calloc(most, sizeof **out);
	if (!*out)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	for (const char *rest = log; next_line(&rest, &line);) {
		int is_ptxas = line.length >= 5 && memcmp(line.text, "ptxas", 5) == 0;
		if (is_ptxas && (at = after(&line, "Compiling entry function '"))) {
			entry = (struct line){ at, name_length(&line, at) };
		} else if (is_ptxas && (at = after(&line, "Function properties for "))) {
			name = (struct line){ at, (size_t)(line.text + line.length - at) };
			if (name.length == entry.length && memcmp(at, entry.text, name.length) == 0)
				name = (struct line){ 0 };
		} else if (name.text && after(&line, "bytes stack frame")) {
			see_called(find_called(*out, count_out, &name), &line);
			name = (struct line){ 0 };
		}
	}
	for (size_t i = 0; i < *count_out && assembly->cubin; i++)
		(*out)[i].registers = tcb_assemble_cubin_registers(assembly->cubin, assembly->cubin_bytes,
								   (*out)[i].name, (*out)[i].name_length);
	return TCB_OK;
}

/* "error   : text" or "fatal   : text" in LINE: what follows, and how bad it is. */
static const char *complaint(const struct line *line, enum tcb_ptx_severity *severity)
{
	static const struct {
		const char *word;
		enum tcb_ptx_severity severity;
	} words[] = {
		{ "error   : ", TCB_PTX_ERROR },
		{ "error : ", TCB_PTX_ERROR },
		{ "fatal   : ", TCB_PTX_ERROR },
		{ "warning : ", TCB_PTX_WARNING },
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		const char *at = after(line, words[i].word);
		if (at) {
			*severity = words[i].severity;
			return at;
		}
	}
	return NULL;
}

unsigned tcb_assemble_log_findings(const char *log, const struct tcb_ptx_sink *sink)
{
	struct line line;
	unsigned errors = 0;

	while (next_line(&log, &line)) {
		struct tcb_ptx_finding finding = { .rule = TCB_PTX_RULE_ASSEMBLER };
		const char *text, *number;
		if (line.length < 5 || memcmp(line.text, "ptxas", 5) != 0 ||
		    !(text = complaint(&line, &finding.severity)))
			continue;
		/* It only repeats that there were errors. */
		if (errors && after(&line, "Ptx assembly aborted"))
			continue;
		number = after(&line, ", line ");
		if (number && number < text)
			finding.line = (uint32_t)strtoul(number, NULL, 10);
		snprintf(finding.message, sizeof finding.message, "%s: %.*s", tcb_ptx_rule_name(TCB_PTX_RULE_ASSEMBLER),
			 (int)(line.text + line.length - text), text);
		errors += finding.severity == TCB_PTX_ERROR;
		sink->see(sink->ctx, &finding);
	}
	return errors;
}
