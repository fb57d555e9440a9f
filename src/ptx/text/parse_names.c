/* SPDX-License-Identifier: MIT
 *
 * Names and scopes of the parser: a hash of chains in which an inner name
 * stands before the outer one that it hides, undone scope by scope.
 *
 * Labels may be used before they are declared, and an inner declaration that
 * comes later wins over an outer one; so uses wait in their scope until it
 * closes, and what is not found there moves out by one scope.
 */
#include "ptx/text/parser.h"

#include <string.h>

enum { BUCKETS_FIRST = 256 };

static uint32_t hash_of(const char *text, size_t length)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 16777619u;
	return hash ^ hash >> 16;
}

/* Twice the buckets, each chain in its old order. */
static void grow(struct tcb_ptx_parser *p, struct tcb_ptx_names *names)
{
	uint32_t count = names->bucket_count ? names->bucket_count * 2 : BUCKETS_FIRST;
	struct tcb_ptx_name **buckets = tcb_ptx_parse_alloc(p, &p->scratch, count, sizeof *buckets);

	for (uint32_t i = 0; i < names->bucket_count; i++) {
		struct tcb_ptx_name **low = &buckets[i], **high = &buckets[i + names->bucket_count];

		for (struct tcb_ptx_name *name = names->buckets[i], *next; name; name = next) {
			struct tcb_ptx_name ***end = (name->hash & names->bucket_count) ? &high : &low;

			next = name->chain;
			name->chain = NULL;
			**end = name;
			*end = &name->chain;
		}
	}
	names->buckets = buckets;
	names->bucket_count = count;
}

static struct tcb_ptx_name *insert(struct tcb_ptx_parser *p, struct tcb_ptx_names *names, const char *text,
				   size_t length, enum tcb_ptx_name_kind kind)
{
	struct tcb_ptx_name *name = tcb_ptx_parse_alloc(p, &p->scratch, 1, sizeof *name), **bucket;

	if (names->count >= names->bucket_count)
		grow(p, names);
	name->text = text;
	name->length = (uint32_t)length;
	name->hash = hash_of(text, length);
	name->kind = kind;
	name->depth = p->depth;
	bucket = &names->buckets[name->hash & (names->bucket_count - 1)];
	name->chain = *bucket;
	*bucket = name;
	names->count++;
	return name;
}

/* Ranges live apart from the rest: "%r" may be a prefix and a name at once. */
static struct tcb_ptx_name *find(const struct tcb_ptx_names *names, const char *text, size_t length, int is_range)
{
	uint32_t hash = hash_of(text, length);
	struct tcb_ptx_name *name;

	if (!names->bucket_count)
		return NULL;
	name = names->buckets[hash & (names->bucket_count - 1)];
	while (name && !(name->hash == hash && name->length == length && (name->kind == TCB_PTX_N_RANGE) == is_range &&
			 memcmp(name->text, text, length) == 0))
		name = name->chain;
	return name;
}

void tcb_ptx_scope_open(struct tcb_ptx_parser *p)
{
	struct tcb_ptx_scope *scope = tcb_ptx_parse_alloc(p, &p->scratch, 1, sizeof *scope);

	scope->outer = p->scope;
	p->scope = scope;
	p->depth++;
}

/* Leaves the innermost scope. */
static void forget_names(struct tcb_ptx_parser *p)
{
	for (struct tcb_ptx_name *name = p->scope->names; name; name = name->scope_next) {
		struct tcb_ptx_name **at = &p->names.buckets[name->hash & (p->names.bucket_count - 1)];

		while (*at != name)
			at = &(*at)->chain;
		*at = name->chain;
		p->names.count--;
	}
	p->scope = p->scope->outer;
	p->depth--;
}

void tcb_ptx_scope_close(struct tcb_ptx_parser *p)
{
	struct tcb_ptx_scope *scope = p->scope, *outer = scope->outer;

	for (struct tcb_ptx_fixup *fixup = scope->fixups, *next; fixup; fixup = next) {
		struct tcb_ptx_name *name = find(&p->names, fixup->text, fixup->length, 0);

		next = fixup->next;
		if (name && name->kind == TCB_PTX_N_LABEL && name->depth == p->depth) {
			*fixup->where = name->block;
		} else if (p->depth > 1) {
			fixup->next = outer->fixups;
			outer->fixups = fixup;
		} else {
			tcb_ptx_parse_fail(p, fixup->line, "there is no label '%.*s' in this function",
					   fixup->length > 80 ? 80 : (int)fixup->length, fixup->text);
		}
	}
	forget_names(p);
}

void tcb_ptx_scopes_drop(struct tcb_ptx_parser *p, unsigned depth)
{
	while (p->depth > depth)
		forget_names(p);
}

struct tcb_ptx_name *tcb_ptx_name_add(struct tcb_ptx_parser *p, const struct tcb_ptx_token *token,
				      enum tcb_ptx_name_kind kind)
{
	struct tcb_ptx_name *name = find(&p->names, token->text, token->length, kind == TCB_PTX_N_RANGE);

	/* a function may be declared again and then defined */
	if (name && name->depth == p->depth && p->depth)
		tcb_ptx_parse_fail(p, token->line, "'%.*s' is declared twice",
				   token->length > 80 ? 80 : (int)token->length, token->text);
	name = insert(p, &p->names, token->text, token->length, kind);
	if (p->scope) {
		name->scope_next = p->scope->names;
		p->scope->names = name;
	}
	return name;
}

struct tcb_ptx_name *tcb_ptx_name_find(struct tcb_ptx_parser *p, const char *text, size_t length)
{
	return find(&p->names, text, length, 0);
}

/* The next range outwards that is called as RANGE is; NULL if there is none. */
static struct tcb_ptx_name *outer_range(const struct tcb_ptx_name *range)
{
	struct tcb_ptx_name *name = range->chain;

	while (name && !(name->kind == TCB_PTX_N_RANGE && name->hash == range->hash && name->length == range->length &&
			 memcmp(name->text, range->text, range->length) == 0))
		name = name->chain;
	return name;
}

/* The number that the digits of TEXT are, as a range writes it: no leading zeros, below 10^8. */
static int range_number(const char *text, size_t length, uint32_t *number)
{
	if (length > 8 || (*text == '0' && length > 1))
		return 0;
	*number = 0;
	for (size_t i = 0; i < length; i++)
		*number = *number * 10 + (uint32_t)(text[i] - '0');
	return 1;
}

/* Where the last digits of TEXT begin. */
static size_t digits_at(const char *text, size_t length)
{
	while (length && text[length - 1] >= '0' && text[length - 1] <= '9')
		length--;
	return length;
}

uint32_t tcb_ptx_reg_find(struct tcb_ptx_parser *p, const char *text, size_t length)
{
	struct tcb_ptx_name *name = find(&p->names, text, length, 0);
	uint32_t number;

	if (name)
		return name->kind == TCB_PTX_N_REG ? name->reg : TCB_PTX_NO_REG;
	/* a prefix may itself end in digits: %r1<4> declares %r10 ... %r13 */
	for (size_t prefix = digits_at(text, length); prefix && prefix < length; prefix++) {
		if (!range_number(text + prefix, length - prefix, &number))
			continue;
		/* an inner range hides as many of an outer one as it has itself */
		for (name = find(&p->names, text, prefix, 1); name; name = outer_range(name))
			if (number < name->count)
				return name->reg + number;
	}
	return TCB_PTX_NO_REG;
}

/* Whether something printed as TEXT could be taken for another thing of this function. */
static int is_taken(const struct tcb_ptx_parser *p, const char *text, size_t length)
{
	size_t prefix = digits_at(text, length);

	/* names of the outermost scope came from one scope: "x7" beside "x<4>" is no clash there */
	return find(&p->taken, text, length, 0) || find(&p->taken, text, length, 1) ||
	       (prefix < length && p->depth > 1 && find(&p->taken, text, prefix, 1));
}

const char *tcb_ptx_printed_name(struct tcb_ptx_parser *p, const struct tcb_ptx_token *token, int is_range)
{
	enum tcb_ptx_name_kind kind = is_range ? TCB_PTX_N_RANGE : TCB_PTX_N_TAKEN;
	const char *text = tcb_ptx_parse_text(p, token->text, token->length);
	struct tcb_ptx_name *first = find(&p->taken, text, token->length, 0);

	if (!first)
		first = find(&p->taken, text, token->length, 1);
	while (is_taken(p, text, strlen(text))) {
		/* the first of the name counts its followers, so that a thousand of them stay cheap */
		unsigned n = first ? ++first->count : 1;

		text = tcb_arena_textf(&p->module->arena, "%.*s_%u%s", (int)token->length, token->text, n,
				       is_range ? "_" : ""); /* ptxas wants no digit before a range's numbers */
		if (!text)
			tcb_ptx_parse_fail(p, token->line, "out of memory");
		if (!first)
			first = insert(p, &p->taken, tcb_ptx_parse_text(p, token->text, token->length), token->length,
				       TCB_PTX_N_TAKEN);
	}
	insert(p, &p->taken, text, strlen(text), kind);
	return text;
}

void tcb_ptx_label_use(struct tcb_ptx_parser *p, const struct tcb_ptx_token *token, struct tcb_ptx_block **where)
{
	struct tcb_ptx_fixup *fixup = tcb_ptx_parse_alloc(p, &p->scratch, 1, sizeof *fixup);

	fixup->text = token->text;
	fixup->length = (uint32_t)token->length;
	fixup->line = token->line;
	fixup->where = where;
	fixup->next = p->scope->fixups;
	p->scope->fixups = fixup;
}
