/* SPDX-License-Identifier: MIT
 *
 * In: .file, .loc and the section .debug_str of PTX text.  Out: which place of
 * the source an instruction comes from, and through which calls it was inlined.
 *
 * What is inlined names the place of the call; the .loc of that place stands
 * before it in the text and may itself be inlined, which makes the chain.
 * Compilers write names of files and functions behind the code that refers to
 * them, so they are filled in at the end.
 */
#include "ptx/text/parser.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS_FIRST = 256 };

/* .file 1 "name" [, time, size] */
void tcb_ptx_read_file(struct tcb_ptx_parser *p)
{
	struct tcb_ptx_source_file *file = tcb_ptx_parse_alloc(p, &p->module->arena, 1, sizeof *file);

	file->number = (uint32_t)tcb_ptx_expect_int(p, "a file's number", UINT32_MAX);
	if (p->token.kind != TCB_PTX_T_STRING)
		tcb_ptx_parse_fail(p, p->token.line, "expected a file's name");
	file->name = tcb_ptx_parse_text(p, p->token.text, p->token.length);
	file->next = p->module->files;
	p->module->files = file;
	tcb_ptx_next(p);
	while (tcb_ptx_accept(p, ','))
		tcb_ptx_expect_int(p, "a time or size", UINT64_MAX);
}

/* --- places --- */

static uint32_t hash_of(uint32_t file, uint32_t line, uint32_t column)
{
	/* odd constants of Knuth's multiplicative hashing and its neighbours */
	return file * 2246822519u ^ line * 2654435761u ^ column * 3266489917u;
}

static int is_at(const struct tcb_ptx_loc *loc, const struct tcb_ptx_loc *other)
{
	return loc->file == other->file && loc->source.line == other->source.line &&
	       loc->source.column == other->source.column;
}

static struct tcb_ptx_loc **find_place(struct tcb_ptx_locs *locs, const struct tcb_ptx_loc *wanted)
{
	uint32_t hash = hash_of(wanted->file, wanted->source.line, wanted->source.column);
	struct tcb_ptx_loc **at = &locs->buckets[(hash >> 8) & (locs->bucket_count - 1)];

	while (*at && !is_at(*at, wanted))
		at = &(*at)->same_bucket;
	return at;
}

static void grow_buckets(struct tcb_ptx_parser *p)
{
	struct tcb_ptx_locs old = p->locs;

	p->locs.bucket_count = old.bucket_count ? old.bucket_count * 2 : BUCKETS_FIRST;
	p->locs.buckets = tcb_ptx_parse_alloc(p, &p->scratch, p->locs.bucket_count, sizeof *p->locs.buckets);
	for (uint32_t i = 0; i < old.bucket_count; i++)
		for (struct tcb_ptx_loc *loc = old.buckets[i], *next; loc; loc = next) {
			struct tcb_ptx_loc **at = find_place(&p->locs, loc);

			next = loc->same_bucket;
			loc->same_bucket = NULL;
			*at = loc;
		}
}

static int same_label(const struct tcb_ptx_loc *a, const struct tcb_ptx_loc *b)
{
	return a->label_length == b->label_length && a->label_offset == b->label_offset &&
	       (!a->label_length || memcmp(a->label, b->label, a->label_length) == 0);
}

/* What is known of WANTED's place, newest first: itself if nothing changed, else a new one. */
static struct tcb_ptx_loc *remember(struct tcb_ptx_parser *p, const struct tcb_ptx_loc *wanted)
{
	struct tcb_ptx_loc **at, *loc;

	if (p->locs.count >= p->locs.bucket_count)
		grow_buckets(p);
	at = find_place(&p->locs, wanted);
	if (*at && (*at)->source.inlined_at == wanted->source.inlined_at && same_label(*at, wanted))
		return *at;
	loc = tcb_ptx_parse_alloc(p, &p->module->arena, 1, sizeof *loc);
	*loc = *wanted;
	loc->older = p->locs.newest;
	p->locs.newest = loc;
	if (*at)
		loc->same_bucket = (*at)->same_bucket;
	else
		p->locs.count++;
	*at = loc;
	return loc;
}

/* file line column */
static struct tcb_ptx_loc read_place(struct tcb_ptx_parser *p)
{
	struct tcb_ptx_loc loc = { .file = (uint32_t)tcb_ptx_expect_int(p, "a file's number", UINT32_MAX) };

	loc.source.line = (uint32_t)tcb_ptx_expect_int(p, "a line", UINT32_MAX);
	loc.source.column = (uint32_t)tcb_ptx_expect_int(p, "a column", UINT32_MAX);
	return loc;
}

static const struct tcb_ptx_source *read_caller(struct tcb_ptx_parser *p)
{
	struct tcb_ptx_loc caller = read_place(p), **known = p->locs.count ? find_place(&p->locs, &caller) : NULL;
	const struct tcb_ptx_source *source = known && *known ? &(*known)->source : &remember(p, &caller)->source;

	return source->depth < TCB_PTX_INLINED_MAX ? source : NULL;
}

/* .loc file line column [, function_name label [+ offset], inlined_at file line column] */
void tcb_ptx_read_loc(struct tcb_ptx_parser *p)
{
	struct tcb_ptx_loc loc = read_place(p);

	while (tcb_ptx_accept(p, ',')) {
		if (tcb_ptx_is_word(p, TCB_PTX_T_IDENT, "function_name")) {
			struct tcb_ptx_token label;

			tcb_ptx_next(p);
			label = tcb_ptx_expect_ident(p, "a debug label");
			loc.label = label.text;
			loc.label_length = label.length;
			while (tcb_ptx_accept(p, '+'))
				loc.label_offset += tcb_ptx_expect_int(p, "an offset", UINT32_MAX);
		} else if (tcb_ptx_is_word(p, TCB_PTX_T_IDENT, "inlined_at")) {
			tcb_ptx_next(p);
			loc.source.inlined_at = read_caller(p);
		} else {
			tcb_ptx_parse_fail(p, p->token.line, "expected function_name or inlined_at");
		}
	}
	loc.source.depth = loc.source.inlined_at ? loc.source.inlined_at->depth + 1 : 0;
	p->source = &remember(p, &loc)->source;
	if (p->function && !p->function->source)
		p->function->source = p->source;
}

/* --- names --- */

void tcb_ptx_read_section(struct tcb_ptx_parser *p)
{
	const struct {
		const char *name;
		struct tcb_ptx_span *span;
	} kept[] = { { "debug_str", &p->debug_str },
		     { "debug_info", &p->debug_info },
		     { "debug_abbrev", &p->debug_abbrev } };
	struct tcb_ptx_span *span = NULL;

	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		if (tcb_ptx_is_word(p, TCB_PTX_T_DIRECTIVE, kept[i].name))
			span = kept[i].span;
	if (p->token.kind != TCB_PTX_T_DIRECTIVE && p->token.kind != TCB_PTX_T_IDENT)
		tcb_ptx_parse_fail(p, p->token.line, "expected a section's name");
	tcb_ptx_next(p);
	if (!tcb_ptx_is_punct(p, '{'))
		tcb_ptx_expect(p, '{');
	if (span)
		span->from = p->at;
	tcb_ptx_skip_braces(p);
	if (span)
		span->to = p->token.text;
}

/* A label of a string section and the text after its colon. */
struct string_label {
	struct string_label *same_bucket;
	const char *text, *at;
	size_t length;
	/* the string that was last asked for */
	int is_read;
	uint64_t offset;
	const char *name;
};

struct string_labels {
	struct string_label **buckets;
	size_t bucket_count;
};

static struct string_label **find_label(const struct string_labels *labels, const char *text, size_t length)
{
	struct string_label **at = &labels->buckets[tcb_hash64(text, length, 0) & (labels->bucket_count - 1)];

	while (*at && ((*at)->length != length || memcmp((*at)->text, text, length) != 0))
		at = &(*at)->same_bucket;
	return at;
}

static int is_in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* The labels between AT and END: words with a colon behind them. */
static struct string_labels read_labels(struct tcb_ptx_parser *p, const char *at, const char *end)
{
	struct string_labels labels = { .bucket_count = BUCKETS_FIRST };

	while (labels.bucket_count < (size_t)(end - at) / 64) /* a label and its bytes are longer */
		labels.bucket_count *= 2;
	labels.buckets = tcb_ptx_parse_alloc(p, &p->scratch, labels.bucket_count, sizeof *labels.buckets);
	while (at < end) {
		const char *from = at;
		struct string_label **where;

		while (at < end && is_in_name(*at))
			at++;
		if (at == from || at == end || *at != ':') {
			at += at == from;
			continue;
		}
		where = find_label(&labels, from, (size_t)(at - from));
		if (*where)
			continue;
		*where = tcb_ptx_parse_alloc(p, &p->scratch, 1, sizeof **where);
		(*where)->text = from;
		(*where)->length = (size_t)(at - from);
		(*where)->at = at + 1;
	}
	return labels;
}

/* The next value of ".b8 95, 90, 0"; -1 when there is none before END. */
static int next_byte(const char **at, const char *end)
{
	char digits[8];
	size_t count = 0;

	while (*at < end && (!isdigit((unsigned char)**at) || is_in_name((*at)[-1]))) {
		if (**at == '}')
			return -1;
		if (**at == '/' && end - *at > 1 && (*at)[1] == '/')
			while (*at < end && **at != '\n')
				++*at;
		else
			++*at;
	}
	while (*at < end && is_in_name(**at) && count < sizeof digits - 1)
		digits[count++] = *(*at)++;
	digits[count] = '\0';
	return count ? (int)(strtoul(digits, NULL, 0) & 0xff) : -1;
}

/* The string at AT, OFFSET bytes on; NULL if it does not end. */
static const char *read_string(struct tcb_ptx_parser *p, const char *at, const char *end, uint64_t offset)
{
	const char *from;
	size_t length = 0;
	char *text;
	int byte;

	for (; offset; offset--)
		if (next_byte(&at, end) < 0) /* behind all strings */
			return NULL;
	from = at;
	while ((byte = next_byte(&at, end)) > 0)
		length++;
	if (byte < 0)
		return NULL;
	text = tcb_ptx_parse_alloc(p, &p->module->arena, length + 1, 1);
	for (size_t i = 0; i < length; i++)
		text[i] = (char)next_byte(&from, end);
	return text;
}

static const char *file_name(const struct tcb_ptx_module *module, uint32_t number)
{
	for (const struct tcb_ptx_source_file *file = module->files; file; file = file->next)
		if (file->number == number)
			return file->name;
	return NULL;
}

/* The function that LOC's label names; many have the same. */
static const char *function_name(struct tcb_ptx_parser *p, const struct string_labels *labels,
				 const struct tcb_ptx_loc *loc)
{
	struct string_label *label = *find_label(labels, loc->label, loc->label_length);

	if (!label)
		return NULL;
	if (!label->is_read || label->offset != loc->label_offset) {
		label->is_read = 1;
		label->offset = loc->label_offset;
		label->name = read_string(p, label->at, p->debug_str.to, label->offset);
	}
	return label->name;
}

void tcb_ptx_name_sources(struct tcb_ptx_parser *p)
{
	struct string_labels labels = { 0 };

	if (p->debug_str.from)
		labels = read_labels(p, p->debug_str.from, p->debug_str.to);
	for (struct tcb_ptx_loc *loc = p->locs.newest; loc; loc = loc->older) {
		loc->source.file = file_name(p->module, loc->file);
		if (loc->label && p->debug_str.from)
			loc->source.function = function_name(p, &labels, loc);
	}
}
