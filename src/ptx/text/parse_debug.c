/* SPDX-License-Identifier: MIT
 *
 * In: the sections .debug_info and .debug_abbrev of PTX text (DWARF 2 to 4, as
 * nvcc -G writes them: .b8, .b32 and .b64 with numbers and symbols).  Out: the
 * names that variables and parameters have in the source, for those whose place
 * is a symbol of the text.  What is odd ends the reading, not the text's.
 */
#include "ptx/text/parser.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { CODES_MAX = 4096 /* kinds of entries: nvcc has 25 */, ATTRIBUTES_MAX = 64, HEADER_BYTES = 11, PLACE_BYTES = 9 };
enum { TAG_PARAMETER = 0x05, TAG_VARIABLE = 0x34, AT_LOCATION = 0x02, AT_NAME = 0x03, OP_ADDRESS = 0x03 };

/* Where a symbol stands for eight bytes of a section. */
struct debug_symbol {
	size_t at;
	const char *text;
	size_t length;
};

struct debug_bytes {
	uint8_t *bytes; /* NULL: they are only counted */
	struct debug_symbol *symbols;
	size_t length, symbol_count;
};

/* --- the bytes of a section --- */

static int is_in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.';
}

static void emit(struct debug_bytes *out, uint64_t value, unsigned width)
{
	for (unsigned i = 0; i < width; i++, out->length++)
		if (out->bytes)
			out->bytes[out->length] = (uint8_t)(value >> 8 * i);
}

/* A number, or a name that stands for one. */
static void emit_word(struct debug_bytes *out, const char *from, const char *to, unsigned width)
{
	char digits[24];
	size_t length = (size_t)(to - from);

	if (isdigit((unsigned char)*from) && length < sizeof digits) {
		memcpy(digits, from, length);
		digits[length] = '\0';
		emit(out, strtoull(digits, NULL, 0), width);
		return;
	}
	if (width == 8) {
		if (out->bytes)
			out->symbols[out->symbol_count] = (struct debug_symbol){ out->length, from, length };
		out->symbol_count++;
	}
	emit(out, 0, width);
}

static void scan(const char *at, const char *end, struct debug_bytes *out)
{
	unsigned width = 0;

	out->length = out->symbol_count = 0;
	while (at < end && *at != '}') {
		const char *from = at;

		if (*at == '/' && end - at > 1 && at[1] == '/') {
			while (at < end && *at != '\n')
				at++;
			continue;
		}
		if (*at == '+') /* an offset behind a name */
			at++;
		while (at < end && is_in_name(*at))
			at++;
		if (at == from)
			at++;
		else if (at - from > 2 && from[0] == '.' && from[1] == 'b' && isdigit((unsigned char)from[2]))
			width = from[2] == '8' ? 1 : from[2] == '1' ? 2 : from[2] == '3' ? 4 : 8;
		else if (*from != '+' && width && !(at < end && *at == ':'))
			emit_word(out, from, at, width);
	}
}

static struct debug_bytes read_bytes(struct tcb_ptx_parser *p, const struct tcb_ptx_span *span)
{
	struct debug_bytes out = { .bytes = NULL };

	if (!span->from)
		return out;
	scan(span->from, span->to, &out);
	out.symbols = tcb_ptx_parse_alloc(p, &p->scratch, out.symbol_count + 1, sizeof *out.symbols);
	out.bytes = tcb_ptx_parse_alloc(p, &p->scratch, out.length + 1, 1);
	scan(span->from, span->to, &out);
	return out;
}

/* --- DWARF --- */

struct cursor {
	const uint8_t *bytes;
	size_t at, end;
	int is_bad; /* it went past the end */
};

static uint64_t take(struct cursor *c, unsigned width)
{
	uint64_t value = 0;

	if (c->end - c->at < width) {
		c->is_bad = 1;
		c->at = c->end;
		return 0;
	}
	for (unsigned i = 0; i < width; i++)
		value |= (uint64_t)c->bytes[c->at++] << 8 * i;
	return value;
}

/* LEB128; signed ones are as long, and nobody asks for their value. */
static uint64_t take_leb(struct cursor *c)
{
	uint64_t value = 0, byte = 0x80;

	for (unsigned shift = 0; (byte & 0x80) && !c->is_bad; shift += 7) {
		byte = take(c, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
	}
	return value;
}

static void skip(struct cursor *c, uint64_t bytes)
{
	if (bytes > c->end - c->at)
		c->is_bad = 1;
	c->at = c->is_bad ? c->end : c->at + (size_t)bytes;
}

static void skip_string(struct cursor *c)
{
	while (!c->is_bad && take(c, 1))
		;
}

/* Past a value of FORM; *FROM is where its contents begin. */
static void skip_value(struct cursor *c, uint64_t form, unsigned address_bytes, size_t *from)
{
	/* by form: its bytes; 0: see below */
	static const uint8_t sizes[0x20] = { [0x05] = 2, [0x06] = 4, [0x07] = 8, [0x0b] = 1, [0x0c] = 1, [0x0e] = 4,
					     [0x10] = 4, [0x11] = 1, [0x12] = 2, [0x13] = 4, [0x14] = 8, [0x17] = 4 };

	*from = c->at;
	if (form == 0x01) { /* an address */
		skip(c, address_bytes);
	} else if (form == 0x08) {
		skip_string(c);
	} else if (form == 0x03 || form == 0x04 || form == 0x09 || form == 0x0a || form == 0x18) { /* blocks */
		uint64_t length = form == 0x03   ? take(c, 2)
				  : form == 0x04 ? take(c, 4)
				  : form == 0x0a ? take(c, 1)
						 : take_leb(c);
		*from = c->at;
		skip(c, length);
	} else if (form == 0x0d || form == 0x0f || form == 0x15) {
		take_leb(c);
	} else if (form < sizeof sizes && sizes[form]) {
		skip(c, sizes[form]);
	} else if (form != 0x19) { /* a flag that is there */
		c->is_bad = 1;
	}
}

/* Kinds of entries: where the attributes of each begin, in the bytes of .debug_abbrev; 0: there is none. */
struct kinds {
	const struct debug_bytes *bytes;
	size_t *attributes;
	uint64_t *tags;
};

static struct kinds read_kinds(struct tcb_ptx_parser *p, const struct debug_bytes *bytes)
{
	struct kinds kinds = { bytes, tcb_ptx_parse_alloc(p, &p->scratch, CODES_MAX, sizeof *kinds.attributes),
			       tcb_ptx_parse_alloc(p, &p->scratch, CODES_MAX, sizeof *kinds.tags) };
	struct cursor c = { bytes->bytes, 0, bytes->length, 0 };
	uint64_t code;

	while (!c.is_bad && c.at < c.end && (code = take_leb(&c)) != 0 && code < CODES_MAX) {
		uint64_t name, form;

		kinds.tags[code] = take_leb(&c);
		take(&c, 1); /* whether it has children */
		kinds.attributes[code] = c.at;
		do {
			name = take_leb(&c);
			form = take_leb(&c);
		} while (!c.is_bad && (name || form));
	}
	return kinds;
}

/* What an entry says of a variable. */
struct entry {
	uint64_t tag;
	size_t name, location, location_end; /* offsets; 0: none */
};

static struct entry read_entry(struct cursor *c, const struct kinds *kinds, uint64_t code, unsigned address_bytes)
{
	struct cursor shape = { kinds->bytes->bytes, 0, kinds->bytes->length, 0 };
	struct entry entry = { 0 };

	if (code >= CODES_MAX || !kinds->attributes[code]) {
		c->is_bad = 1;
		return entry;
	}
	entry.tag = kinds->tags[code];
	shape.at = kinds->attributes[code];
	for (unsigned i = 0; !c->is_bad && i < ATTRIBUTES_MAX; i++) {
		uint64_t attribute = take_leb(&shape), form = take_leb(&shape);
		size_t from;

		if (shape.is_bad || (!attribute && !form))
			break;
		skip_value(c, form, address_bytes, &from);
		if (attribute == AT_NAME && form == 0x08)
			entry.name = from;
		/* the symbol's own address: with an offset it is one of several in a block of local memory */
		if (attribute == AT_LOCATION && c->at - from == PLACE_BYTES && c->bytes[from] == OP_ADDRESS) {
			entry.location = from;
			entry.location_end = c->at;
		}
	}
	return entry;
}

/* --- names --- */

struct named_symbol {
	const struct debug_symbol *symbol;
	const char *name;
};

struct named_symbols {
	struct named_symbol *items;
	size_t count;
};

static int by_text(const void *a, const void *b)
{
	const struct debug_symbol *x = ((const struct named_symbol *)a)->symbol,
				  *y = ((const struct named_symbol *)b)->symbol;
	int order = memcmp(x->text, y->text, x->length < y->length ? x->length : y->length);

	return order ? order : (x->length > y->length) - (x->length < y->length);
}

/* The entries of one unit, from C on; SYMBOL is the next one that no entry has had. */
static void read_unit(struct tcb_ptx_parser *p, struct cursor *c, const struct kinds *kinds, unsigned address_bytes,
		      const struct debug_bytes *info, size_t *symbol, struct named_symbols *out)
{
	while (!c->is_bad && c->at < c->end) {
		uint64_t code = take_leb(c);
		struct entry entry;

		if (!code)
			continue;
		entry = read_entry(c, kinds, code, address_bytes);
		if (c->is_bad)
			return;
		while (*symbol < info->symbol_count && info->symbols[*symbol].at < entry.location)
			++*symbol;
		if ((entry.tag == TAG_PARAMETER || entry.tag == TAG_VARIABLE) && entry.name && entry.location &&
		    *symbol < info->symbol_count && info->symbols[*symbol].at < entry.location_end) {
			const char *name = (const char *)info->bytes + entry.name;

			out->items[out->count++] = (struct named_symbol){ &info->symbols[(*symbol)++],
									  tcb_ptx_parse_text(p, name, strlen(name)) };
		}
	}
}

static void name_list(struct tcb_ptx_symbol *list, const struct named_symbols *names)
{
	for (; list; list = list->next) {
		const struct debug_symbol wanted = { 0, list->name, strlen(list->name) };
		const struct named_symbol key = { &wanted, NULL };
		const struct named_symbol *found =
			bsearch(&key, names->items, names->count, sizeof *names->items, by_text);

		if (found)
			list->source_name = found->name;
	}
}

void tcb_ptx_name_variables(struct tcb_ptx_parser *p)
{
	const struct debug_bytes info = read_bytes(p, &p->debug_info), shapes = read_bytes(p, &p->debug_abbrev);
	struct cursor all = { info.bytes, 0, info.length, 0 };
	struct named_symbols names = { NULL, 0 };
	struct kinds kinds;
	size_t symbol = 0;

	if (!info.symbol_count || !shapes.length)
		return;
	kinds = read_kinds(p, &shapes);
	names.items = tcb_ptx_parse_alloc(p, &p->scratch, info.symbol_count, sizeof *names.items);
	while (all.end - all.at >= HEADER_BYTES) {
		uint64_t length = take(&all, 4);
		struct cursor unit = { info.bytes, all.at, all.end, 0 };
		uint64_t version, address_bytes;

		if (length && length < all.end - all.at)
			unit.end = all.at + (size_t)length;
		version = take(&unit, 2);
		take(&unit, 4);
		address_bytes = take(&unit, 1);
		if (version < 2 || version > 4 || address_bytes != 8)
			break;
		read_unit(p, &unit, &kinds, 8, &info, &symbol, &names);
		all.at = unit.end;
	}
	if (!names.count)
		return;
	qsort(names.items, names.count, sizeof *names.items, by_text);
	name_list(p->module->symbols, &names);
	for (struct tcb_ptx_function *function = p->module->functions; function; function = function->next) {
		name_list(function->params, &names);
		name_list(function->locals, &names);
	}
}
