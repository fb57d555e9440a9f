/* SPDX-License-Identifier: MIT
 *
 * In: findings, one by one.  Out: the same in the order of the lines, equal
 * ones together, with what a user allowed marked, and those that hang on an
 * assumed block summed up in one.
 *
 * Equal are findings of one rule in one kernel whose messages differ in numbers
 * only, on one line of the source; without source lines, those whose messages
 * differ in lines and registers only.  An unrolled loop makes such.
 */
#include "cli/ptx/ptx_findings.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ptx/ptx_policy.h"
#include "ptx/text/text.h"

enum { BUCKETS_FIRST = 256 };

void ptx_findings_init(struct ptx_findings *f, const char *file, const char *text, size_t length,
		       const struct ptx_policy *policy)
{
	*f = (struct ptx_findings){ .file = file, .text = text, .length = length, .policy = policy };
	if (text && !ptx_allowances(text, length, &f->arena, &f->allowances, &f->allowance_count))
		f->failed = 1;
}

void ptx_findings_fini(struct ptx_findings *f)
{
	free(f->items);
	free(f->buckets);
	tcb_arena_fini(&f->arena);
	*f = (struct ptx_findings){ 0 };
}

/* --- what equal findings have in common --- */

/* Whether the digits at AT, in TEXT, are those of a line or a register. */
static int is_line_or_register(const char *text, const char *at)
{
	const char *word = at;

	if (at - text >= 5 && memcmp(at - 5, "line ", 5) == 0)
		return 1;
	while (word > text && isalpha((unsigned char)word[-1]))
		word--;
	return word > text && word[-1] == '%';
}

/* TEXT with its numbers as '#': all, or only lines and registers. */
static void add_without_numbers(struct tcb_str *out, const char *text, int all)
{
	for (const char *at = text; *at;) {
		size_t digits = strspn(at, "0123456789");

		if (digits && (all || is_line_or_register(text, at)))
			tcb_str_add(out, "#");
		else
			tcb_str_add_bytes(out, at, digits ? digits : 1);
		at += digits ? digits : 1;
	}
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static uint64_t hash_text(struct ptx_findings *f, struct tcb_str *text)
{
	uint64_t hash = text->data ? tcb_hash64(text->data, text->length, 0) : 0;

	if (text->failed)
		f->failed = 1;
	tcb_str_fini(text);
	return hash;
}

static void name_finding(struct ptx_findings *f, struct ptx_finding *one)
{
	struct tcb_str key = { 0 }, identity = { 0 };

	tcb_str_addf(&key, "%d %d %d %d %s\n", one->rule, one->severity, one->state, one->assumes_block,
		     one->function ? one->function : "");
	tcb_str_addf(&identity, "%s %s %s %s\n", base_name(f->file), tcb_ptx_rule_name(one->rule),
		     tcb_ptx_severity_text(one->severity), one->function ? one->function : "");
	for (size_t i = 0; i < one->frame_count; i++) {
		const struct ptx_frame *frame = &one->frames[i];

		tcb_str_addf(&key, "%s:%u\n", frame->file ? frame->file : "", frame->line);
		tcb_str_addf(&identity, "%s %s\n", frame->file ? base_name(frame->file) : "",
			     frame->function ? frame->function : "");
	}
	add_without_numbers(&key, one->message, one->frame_count > 0);
	add_without_numbers(&identity, one->message, 1);
	if (one->instruction)
		add_without_numbers(&identity, one->instruction, 1);
	one->key = hash_text(f, &key);
	one->identity = hash_text(f, &identity);
}

/* --- one more --- */

static int is_allowed(const struct ptx_findings *f, uint32_t line, enum tcb_ptx_rule rule)
{
	size_t low = 0, high = f->allowance_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->allowances[middle].line + PTX_ALLOWED_LINES < line)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < f->allowance_count && f->allowances[low].line <= line; low++)
		if (f->allowances[low].rule == rule && line <= f->allowances[low].last)
			return 1;
	return 0;
}

static void add_line(struct ptx_findings *f, struct ptx_finding *one, uint32_t line)
{
	one->count++;
	if (!line || (one->line_count && one->lines[one->line_count - 1] == line))
		return;
	if (one->line_count == one->line_capacity) {
		size_t capacity = one->line_capacity ? 4 * one->line_capacity : 1;
		uint32_t *grown =
			tcb_arena_regrow(&f->arena, one->lines, one->line_count, capacity, sizeof *one->lines);

		if (!grown) {
			f->failed = 1;
			return;
		}
		one->lines = grown;
		one->line_capacity = capacity;
	}
	one->lines[one->line_count++] = line;
}

/* Room for one more, and for finding it by its key. */
static int grow(struct ptx_findings *f)
{
	struct ptx_finding *items;
	uint32_t *buckets;

	if (f->item_count < f->capacity)
		return 1;
	f->capacity = f->capacity ? 2 * f->capacity : BUCKETS_FIRST / 2;
	items = realloc(f->items, f->capacity * sizeof *items);
	if (items)
		f->items = items;
	buckets = items ? calloc(2 * f->capacity, sizeof *buckets) : NULL;
	if (!buckets) {
		f->capacity = f->item_count;
		f->failed = 1;
		return 0;
	}
	free(f->buckets);
	f->buckets = buckets;
	f->bucket_count = 2 * f->capacity;
	for (size_t i = 0; i < f->item_count; i++) {
		size_t at = f->items[i].key & (f->bucket_count - 1);

		while (buckets[at])
			at = (at + 1) & (f->bucket_count - 1);
		buckets[at] = (uint32_t)i + 1;
	}
	return 1;
}

static struct ptx_finding *find_or_add(struct ptx_findings *f, const struct ptx_finding *one)
{
	size_t at;

	if (!grow(f))
		return NULL;
	at = one->key & (f->bucket_count - 1);
	while (f->buckets[at] && f->items[f->buckets[at] - 1].key != one->key)
		at = (at + 1) & (f->bucket_count - 1);
	if (f->buckets[at])
		return &f->items[f->buckets[at] - 1];
	f->items[f->item_count] = *one;
	f->buckets[at] = (uint32_t)++f->item_count;
	return &f->items[f->item_count - 1];
}

void ptx_findings_add(struct ptx_findings *f, const struct tcb_ptx_finding *finding)
{
	const char *rule = tcb_ptx_rule_name(finding->rule), *message = finding->message;
	struct tcb_str text = { 0 };
	struct ptx_finding one = { .rule = finding->rule,
				   .severity = finding->severity,
				   .assumes_block = finding->assumes_block },
			   *kept;

	if (f->policy && f->policy->left_out[finding->rule])
		return;
	if (strncmp(message, rule, strlen(rule)) == 0 && strncmp(message + strlen(rule), ": ", 2) == 0)
		message += strlen(rule) + 2;
	if (finding->line && is_allowed(f, finding->line, finding->rule))
		one.state = PTX_ALLOWED;
	if (finding->ins)
		tcb_ptx_print_ins(finding->function, finding->ins, &text);
	one.instruction = ptx_keep_text(f, text.data);
	one.function = ptx_keep_text(f, finding->function ? finding->function->symbol->name : NULL);
	one.message = ptx_keep_text(f, message);
	ptx_take_places(f, finding, &one);
	if (text.failed || f->failed) {
		f->failed = 1;
	} else {
		name_finding(f, &one);
		kept = find_or_add(f, &one);
		if (kept)
			add_line(f, kept, finding->line);
	}
	tcb_str_fini(&text);
}

static void see(void *ctx, const struct tcb_ptx_finding *finding)
{
	ptx_findings_add(ctx, finding);
}

struct tcb_ptx_sink ptx_findings_sink(struct ptx_findings *f)
{
	return (struct tcb_ptx_sink){ see, f };
}

/* --- all of them --- */

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void order_lines(struct ptx_finding *one)
{
	size_t kept = 0;

	if (one->line_count < 2)
		return;
	qsort(one->lines, one->line_count, sizeof *one->lines, by_number);
	for (size_t i = 0; i < one->line_count; i++)
		if (!kept || one->lines[kept - 1] != one->lines[i])
			one->lines[kept++] = one->lines[i];
	one->line_count = kept;
}

static uint32_t first_line(const struct ptx_finding *one)
{
	return one->line_count ? one->lines[0] : 0;
}

static int by_line(const void *a, const void *b)
{
	const struct ptx_finding *x = a, *y = b;
	uint32_t x_line = first_line(x), y_line = first_line(y);

	if (x_line != y_line)
		return x_line < y_line ? -1 : 1;
	if (x->severity != y->severity)
		return x->severity < y->severity ? -1 : 1;
	if (x->rule != y->rule)
		return x->rule < y->rule ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

static int by_identity(const void *a, const void *b)
{
	const struct ptx_finding *const *x = a, *const *y = b;

	if ((*x)->identity != (*y)->identity)
		return (*x)->identity < (*y)->identity ? -1 : 1;
	return (*x > *y) - (*x < *y); /* in the order of the lines */
}

/* Those with one identity are numbered, so that one more than before is seen to be new. */
static void set_fingerprints(struct ptx_findings *f)
{
	const struct ptx_finding **order = tcb_arena_array(&f->arena, f->item_count + 1, sizeof *order);
	unsigned number = 0;

	if (!order) {
		f->failed = 1;
		return;
	}
	for (size_t i = 0; i < f->item_count; i++)
		order[i] = &f->items[i];
	qsort(order, f->item_count, sizeof *order, by_identity);
	for (size_t i = 0; i < f->item_count; i++) {
		struct ptx_finding *one = &f->items[order[i] - f->items];

		number = i && order[i - 1]->identity == one->identity ? number + 1 : 1;
		snprintf(one->fingerprint, sizeof one->fingerprint, "%016llx:%u", (unsigned long long)one->identity,
			 number);
	}
}

/* Where the instruction of each first line begins. */
static void set_columns(struct ptx_findings *f)
{
	const char *at = f->text, *end = f->text + f->length, *newline;
	uint32_t line = 1;

	for (size_t i = 0; i < f->item_count; i++) {
		struct ptx_finding *one = &f->items[i];
		size_t blanks = 0;

		while (line < first_line(one) && (newline = memchr(at, '\n', (size_t)(end - at)))) {
			at = newline + 1;
			line++;
		}
		while (at + blanks < end && (at[blanks] == ' ' || at[blanks] == '\t'))
			blanks++;
		if (line == first_line(one))
			one->column = (uint32_t)blanks + 1;
	}
}

/* Those that stand for themselves to the front, in their order. */
static void put_assumed_last(struct ptx_findings *f)
{
	struct ptx_finding *rest = malloc((f->item_count + 1) * sizeof *rest);
	size_t kept = 0, moved = 0;

	if (!rest) {
		f->failed = 1;
		return;
	}
	for (size_t i = 0; i < f->item_count; i++)
		if (f->items[i].assumes_block)
			rest[moved++] = f->items[i];
		else
			f->items[kept++] = f->items[i];
	if (moved)
		memcpy(f->items + kept, rest, moved * sizeof *rest);
	free(rest);
	f->item_count = kept;
	f->assumed_count = moved;
}

struct tally {
	uint64_t of_rule[TCB_PTX_RULE_COUNT], count, kernels;
	const char *kernel; /* the last one; they come kernel by kernel */
};

static void tally_assumed(const struct ptx_findings *f, struct tally *tally)
{
	for (size_t i = f->item_count; i < f->item_count + f->assumed_count; i++) {
		const struct ptx_finding *one = &f->items[i];

		if (one->state != PTX_COUNTED)
			continue;
		tally->count++;
		tally->of_rule[one->rule]++;
		if (one->function && (!tally->kernel || strcmp(tally->kernel, one->function) != 0)) {
			tally->kernel = one->function;
			tally->kernels++;
		}
	}
}

static void say_assumed(const struct ptx_findings *f, const struct tally *tally, struct tcb_str *out)
{
	int any = 0;

	tcb_str_addf(out, "what follows only for blocks of %ux%ux%u, which are assumed, is not shown (say --block):",
		     f->block[0], f->block[1], f->block[2]);
	for (int rule = 0; rule < TCB_PTX_RULE_COUNT; rule++)
		if (tally->of_rule[rule])
			tcb_str_addf(out, "%s %llu %s", any++ ? "," : "", (unsigned long long)tally->of_rule[rule],
				     tcb_ptx_rule_name((enum tcb_ptx_rule)rule));
	tcb_str_addf(out, " in %llu kernel%s", (unsigned long long)tally->kernels, tally->kernels == 1 ? "" : "s");
}

/* One finding in front of all others stands for all that hang on the assumed block. */
static void sum_up_assumed(struct ptx_findings *f)
{
	struct ptx_finding one = { .rule = TCB_PTX_RULE_BLOCK_ASSUMED, .severity = TCB_PTX_WARNING };
	struct tally tally = { .count = 0 };
	struct tcb_str message = { 0 };

	put_assumed_last(f);
	tally_assumed(f, &tally);
	if (!tally.count || (f->policy && f->policy->left_out[TCB_PTX_RULE_BLOCK_ASSUMED]))
		return;
	if (f->item_count + f->assumed_count == f->capacity) {
		struct ptx_finding *grown = realloc(f->items, (f->capacity + 1) * sizeof *grown);

		if (!grown) {
			f->failed = 1;
			return;
		}
		f->items = grown;
		f->capacity++;
	}
	say_assumed(f, &tally, &message);
	one.count = tally.count;
	one.function = tally.kernels == 1 ? tally.kernel : NULL;
	one.message = ptx_keep_text(f, message.data);
	if (message.failed)
		f->failed = 1;
	tcb_str_fini(&message);
	memmove(f->items + 1, f->items, (f->item_count + f->assumed_count) * sizeof *f->items);
	f->items[0] = one;
	f->item_count++;
	if (!f->failed)
		name_finding(f, &f->items[0]);
	snprintf(f->items[0].fingerprint, sizeof f->items[0].fingerprint, "%016llx:1",
		 (unsigned long long)f->items[0].identity);
}

/* Comments that name no rule allow nothing; their author should know. */
static void report_unknown(struct ptx_findings *f)
{
	struct tcb_ptx_finding finding = { .rule = TCB_PTX_RULE_UNKNOWN_RULE, .severity = TCB_PTX_WARNING };

	for (size_t i = 0; i < f->allowance_count; i++) {
		char suggestion[PTX_SUGGESTION_MAX];

		if (f->allowances[i].rule != TCB_PTX_RULE_COUNT)
			continue;
		ptx_rule_suggestion(f->allowances[i].word, suggestion);
		finding.line = f->allowances[i].line;
		snprintf(finding.message, sizeof finding.message, "'tcbtune: allow' names no rule: '%.80s'%s",
			 f->allowances[i].word, suggestion);
		ptx_findings_add(f, &finding);
	}
}

enum tcb_status ptx_findings_settle(struct ptx_findings *f, struct tcb_error *err)
{
	report_unknown(f);
	if (f->failed)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the findings");
	for (size_t i = 0; i < f->item_count; i++)
		order_lines(&f->items[i]);
	if (f->item_count)
		qsort(f->items, f->item_count, sizeof *f->items, by_line);
	set_fingerprints(f);
	if (f->text)
		set_columns(f);
	f->text = NULL;
	f->module = NULL;
	f->lines = NULL;
	for (size_t i = 0; i < f->item_count; i++)
		if (f->policy && f->items[i].state == PTX_COUNTED)
			f->items[i].state = ptx_policy_state(f->policy, f->file, &f->items[i]);
	sum_up_assumed(f);
	for (size_t i = 0; i < f->item_count + f->assumed_count; i++)
		if (i < f->item_count || f->items[i].state != PTX_COUNTED)
			f->state[f->items[i].state]++;
	for (size_t i = 0; i < f->item_count; i++)
		if (f->items[i].state == PTX_COUNTED)
			f->count[f->items[i].severity]++;
	return f->failed ? tcb_fail(err, TCB_E_NOMEM, "out of memory for the findings") : TCB_OK;
}
