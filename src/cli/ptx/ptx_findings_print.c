/* SPDX-License-Identifier: MIT
 *
 * In: settled findings.  Out: text for people, lines in the form of gcc's, rows
 * of JSON.  People get the kernel's name and the source below each finding, and
 * the first lines of many; programs get everything.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/core/demangle.h"
#include "cli/ptx/ptx_findings.h"

enum {
	LINES_SHOWN = 4,
	NAME_SHOWN = 120, /* characters of a name with its template arguments */
	WIDTH_LEAST = 40
};

unsigned ptx_terminal_width(void)
{
	return (unsigned)cli_fold_width(STDOUT_FILENO);
}

/* NAME, demangled and not too long for a line. */
static void add_name(struct tcb_str *out, const char *name)
{
	struct tcb_str shown = { 0 };

	cli_add_demangled(&shown, name);
	if (shown.failed)
		out->failed = 1;
	else if (shown.length > NAME_SHOWN)
		tcb_str_addf(out, "%.*s...", NAME_SHOWN - 3, shown.data);
	else
		tcb_str_add(out, shown.data);
	tcb_str_fini(&shown);
}

/* What ONE accesses: of a long name the end, where the variable's own is; the kernel's parameters by their number. */
static void add_variable(struct tcb_str *out, const struct ptx_finding *one)
{
	size_t own = one->function ? strlen(one->function) : 0;
	struct tcb_str shown = { 0 };

	if (own && strncmp(one->variable, one->function, own) == 0 && strncmp(one->variable + own, "_param_", 7) == 0) {
		tcb_str_addf(out, "the memory of parameter %s", one->variable + own + 7);
		return;
	}
	cli_add_demangled(&shown, one->variable);
	if (shown.failed)
		out->failed = 1;
	else if (shown.length > NAME_SHOWN)
		tcb_str_addf(out, "...%s", shown.data + shown.length - (NAME_SHOWN - 3));
	else
		tcb_str_add(out, shown.data);
	tcb_str_fini(&shown);
}

static void add_place(struct tcb_str *out, const struct ptx_frame *frame)
{
	cli_add_shownf(out, "%s:%u", frame->file ? frame->file : "?", frame->line);
	if (frame->column)
		tcb_str_addf(out, ":%u", frame->column);
}

/* The function of a frame: the inlined one, or at last the kernel; NULL: unknown. */
static const char *function_of(const struct ptx_finding *one, size_t frame)
{
	return frame + 1 < one->frame_count ? one->frames[frame].function : one->function;
}

/* TEXT in lines of at most WIDTH columns, the further ones behind INDENT blanks. */
static void add_wrapped(struct tcb_str *out, const char *text, unsigned width, unsigned indent)
{
	size_t column = 0;

	if (width && width < WIDTH_LEAST)
		width = WIDTH_LEAST;
	while (*text) {
		size_t blanks = strspn(text, " "), word = strcspn(text + blanks, " ");

		if (width && column > indent && column + blanks + word > width) {
			tcb_str_addf(out, "\n%*s", (int)indent, "");
			column = indent;
			text += blanks;
			blanks = 0;
		}
		tcb_str_add_bytes(out, text, blanks + word);
		column += blanks + word;
		text += blanks + word;
	}
	tcb_str_add(out, "\n");
}

/* "    kernel.cu:6:2 in helper, from kernel.cu:22:2 in race(float*)" */
static void add_where(const struct ptx_finding *one, unsigned width, struct tcb_str *out)
{
	struct tcb_str line = { 0 };

	for (size_t i = 0; i < one->frame_count; i++) {
		tcb_str_add(&line, i ? ", from " : "    ");
		add_place(&line, &one->frames[i]);
		if (function_of(one, i)) {
			tcb_str_add(&line, " in ");
			add_name(&line, function_of(one, i));
		}
	}
	if (!one->frame_count && one->function) {
		tcb_str_add(&line, "    in ");
		add_name(&line, one->function);
	}
	if (one->variable) {
		tcb_str_add(&line, line.length ? "; it accesses " : "    it accesses ");
		add_variable(&line, one);
		if (one->variable_name)
			cli_add_shownf(&line, " (%s)", one->variable_name);
	}
	if (line.length)
		add_wrapped(out, line.data, width, 6);
	out->failed |= line.failed;
	tcb_str_fini(&line);
}

/* "    line 24 is reduce.cu:16:3" */
static void add_mentions(const struct ptx_finding *one, unsigned width, struct tcb_str *out)
{
	for (size_t i = 0; i < one->mention_count; i++) {
		const struct ptx_mention *mention = &one->mentions[i];
		struct tcb_str line = { 0 };

		if (!mention->frame_count)
			continue;
		tcb_str_addf(&line, "    line %u: ", mention->line);
		for (size_t k = 0; k < mention->frame_count; k++) {
			tcb_str_add(&line, k ? ", from " : "");
			add_place(&line, &mention->frames[k]);
		}
		if (!line.failed)
			add_wrapped(out, line.data, width, 6);
		out->failed |= line.failed;
		tcb_str_fini(&line);
	}
}

/* "    64 times, in lines 27, 31, 35, 39 and 60 more" */
static void add_lines(const struct ptx_finding *one, struct tcb_str *out)
{
	if (one->count < 2 || one->line_count < 2)
		return;
	tcb_str_addf(out, "    %llu times, in lines", (unsigned long long)one->count);
	for (size_t i = 0; i < one->line_count && i < LINES_SHOWN; i++)
		tcb_str_addf(out, "%s%u", !i ? " " : i + 1 == one->line_count ? " and " : ", ", one->lines[i]);
	if (one->line_count > LINES_SHOWN)
		tcb_str_addf(out, " and %zu more", one->line_count - LINES_SHOWN);
	tcb_str_add(out, "\n");
}

void ptx_findings_text(const struct ptx_findings *f, unsigned width, struct tcb_str *out)
{
	for (size_t i = 0; i < f->item_count; i++) {
		const struct ptx_finding *one = &f->items[i];
		struct tcb_str line = { 0 };

		if (one->state != PTX_COUNTED)
			continue;
		cli_add_shownf(&line, "%s:", f->file);
		if (one->line_count)
			tcb_str_addf(&line, "%u:", one->lines[0]);
		tcb_str_addf(&line, " %s: %s: ", tcb_ptx_severity_text(one->severity), tcb_ptx_rule_name(one->rule));
		cli_add_demangled(&line, one->message);
		if (!line.failed)
			add_wrapped(out, line.data, width, 4);
		out->failed |= line.failed;
		tcb_str_fini(&line);
		add_where(one, width, out);
		add_mentions(one, width, out);
		add_lines(one, out);
	}
}

static void add_gcc_mention(const struct ptx_findings *f, const struct ptx_mention *mention, struct tcb_str *out)
{
	cli_add_shownf(out, "%s:%u:1: note: line %u", f->file, mention->line, mention->line);
	for (size_t i = 0; i < mention->frame_count; i++) {
		tcb_str_add(out, i ? ", from " : " is ");
		add_place(out, &mention->frames[i]);
	}
	tcb_str_add(out, "\n");
}

const struct ptx_frame *ptx_author_frame(const struct ptx_finding *one)
{
	char *folder = getcwd(NULL, 0);
	size_t length = folder ? strlen(folder) : 0;
	const struct ptx_frame *found = NULL;

	for (size_t i = 0; i < one->frame_count && !found; i++) {
		const char *file = one->frames[i].file;

		if (file && (file[0] != '/' || (length && strncmp(file, folder, length) == 0 && file[length] == '/')))
			found = &one->frames[i];
	}
	for (size_t i = one->frame_count; i > 0 && !found; i--)
		if (one->frames[i - 1].file)
			found = &one->frames[i - 1];
	free(folder);
	return found;
}

static void add_gcc_place(const char *file, uint32_t line, uint32_t column, const char *word, struct tcb_str *out)
{
	cli_add_shownf(out, "%s:%u:%u: %s: ", file ? file : "?", line ? line : 1, column ? column : 1, word);
}

static void add_gcc_frame(const struct ptx_finding *one, size_t i, struct tcb_str *out)
{
	add_gcc_place(one->frames[i].file, one->frames[i].line, one->frames[i].column, "note", out);
	tcb_str_add(out, i ? "inlined from here" : "the source");
	if (function_of(one, i)) {
		tcb_str_add(out, ", in ");
		add_name(out, function_of(one, i));
	}
	tcb_str_add(out, "\n");
}

static void add_gcc_finding(const struct ptx_findings *f, const struct ptx_finding *one, struct tcb_str *out)
{
	static const char *const words[] = { "error", "warning", "note" };
	const struct ptx_frame *author = f->in_source ? ptx_author_frame(one) : NULL;
	uint32_t line = one->line_count ? one->lines[0] : 0;

	if (author)
		add_gcc_place(author->file, author->line, author->column, words[one->severity], out);
	else
		add_gcc_place(f->file, line, one->column, words[one->severity], out);
	cli_add_demangled(out, one->message);
	tcb_str_addf(out, " [%s]\n", tcb_ptx_rule_name(one->rule));
	if (author) {
		add_gcc_place(f->file, line, one->column, "note", out);
		tcb_str_add(out, "the PTX\n");
	}
	for (size_t i = 0; i < one->frame_count; i++)
		if (&one->frames[i] != author)
			add_gcc_frame(one, i, out);
	for (size_t i = 0; i < one->mention_count; i++)
		add_gcc_mention(f, &one->mentions[i], out);
	if (one->line_count > 1)
		cli_add_line(out, "%s:%u:1: note: and here; %llu times in all [%s]", f->file, one->lines[1],
			     (unsigned long long)one->count, tcb_ptx_rule_name(one->rule));
}

void ptx_findings_gcc(const struct ptx_findings *f, struct tcb_str *out)
{
	for (size_t i = 0; i < f->item_count; i++)
		if (f->items[i].state == PTX_COUNTED)
			add_gcc_finding(f, &f->items[i], out);
}

void ptx_findings_total(const unsigned count[3], const unsigned state[4], struct tcb_str *out)
{
	static const char *const words[] = { NULL, "allowed by comments", "suppressed", "in the baseline" };
	int any = 0;

	tcb_str_addf(out, "%u error%s, %u warning%s, %u advice", count[TCB_PTX_ERROR],
		     count[TCB_PTX_ERROR] == 1 ? "" : "s", count[TCB_PTX_WARNING],
		     count[TCB_PTX_WARNING] == 1 ? "" : "s", count[TCB_PTX_ADVICE]);
	for (int i = PTX_ALLOWED; i <= PTX_KNOWN; i++)
		if (state[i])
			tcb_str_addf(out, "%s%u %s", any++ ? ", " : " (not counted: ", state[i], words[i]);
	if (any)
		tcb_str_add(out, ")");
}

/* --- JSON --- */

static json_t *text_or_null(const char *text)
{
	return text ? cli_json_text(text) : json_null();
}

static json_t *number_or_null(uint64_t number)
{
	return number ? cli_json_size(number) : json_null();
}

static json_t *demangled_json(const char *text, int *failed)
{
	struct tcb_str shown = { 0 };
	json_t *value;

	if (!text)
		return json_null();
	cli_add_demangled(&shown, text);
	value = shown.failed ? NULL : cli_json_text(shown.data);
	*failed |= !value;
	tcb_str_fini(&shown);
	return value;
}

/* KERNEL: the function of the last one. */
static json_t *frames_json(const struct ptx_frame *frames, size_t count, const char *kernel, int *failed)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *row = json_object();

		cli_json_set(row, "file", text_or_null(frames[i].file), failed);
		cli_json_set(row, "line", cli_json_size(frames[i].line), failed);
		cli_json_set(row, "column", number_or_null(frames[i].column), failed);
		cli_json_set(row, "function", demangled_json(i + 1 < count ? frames[i].function : kernel, failed),
			     failed);
		cli_json_add(rows, row, failed);
	}
	return rows;
}

static json_t *mentions_json(const struct ptx_finding *one, int *failed)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < one->mention_count; i++) {
		const struct ptx_mention *mention = &one->mentions[i];
		json_t *row = json_object();

		cli_json_set(row, "line", cli_json_size(mention->line), failed);
		cli_json_set(row, "source", frames_json(mention->frames, mention->frame_count, one->function, failed),
			     failed);
		cli_json_add(rows, row, failed);
	}
	return rows;
}

static json_t *finding_json(const struct ptx_finding *one, int *failed)
{
	static const char *const states[] = { "counted", "allowed", "suppressed", "baseline" };
	json_t *row = json_object(), *lines = json_array();

	for (size_t i = 0; i < one->line_count; i++)
		cli_json_add(lines, cli_json_size(one->lines[i]), failed);
	cli_json_set(row, "severity", json_string(tcb_ptx_severity_text(one->severity)), failed);
	cli_json_set(row, "rule", json_string(tcb_ptx_rule_name(one->rule)), failed);
	cli_json_set(row, "state", json_string(states[one->state]), failed);
	cli_json_set(row, "line", number_or_null(one->line_count ? one->lines[0] : 0), failed);
	cli_json_set(row, "column", number_or_null(one->column), failed);
	cli_json_set(row, "lines", lines, failed);
	cli_json_set(row, "count", cli_json_size(one->count), failed);
	cli_json_set(row, "function", text_or_null(one->function), failed);
	cli_json_set(row, "kernel", demangled_json(one->function, failed), failed);
	cli_json_set(row, "instruction", text_or_null(one->instruction), failed);
	cli_json_set(row, "variable", demangled_json(one->variable, failed), failed);
	cli_json_set(row, "variable_name", text_or_null(one->variable_name), failed);
	cli_json_set(row, "message", demangled_json(one->message, failed), failed);
	cli_json_set(row, "source", frames_json(one->frames, one->frame_count, one->function, failed), failed);
	cli_json_set(row, "mentions", mentions_json(one, failed), failed);
	cli_json_set(row, "fingerprint", json_string(one->fingerprint), failed);
	return row;
}

void ptx_findings_json(const struct ptx_findings *f, json_t *root, int *failed)
{
	json_t *findings = json_array(), *assumed = json_array();

	for (size_t i = 0; i < f->item_count + f->assumed_count; i++)
		cli_json_add(i < f->item_count ? findings : assumed, finding_json(&f->items[i], failed), failed);
	cli_json_set(root, "errors", cli_json_size(f->count[TCB_PTX_ERROR]), failed);
	cli_json_set(root, "warnings", cli_json_size(f->count[TCB_PTX_WARNING]), failed);
	cli_json_set(root, "advice", cli_json_size(f->count[TCB_PTX_ADVICE]), failed);
	cli_json_set(root, "findings", findings, failed);
	cli_json_set(root, "assumed", assumed, failed);
}
