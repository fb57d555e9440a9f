/* SPDX-License-Identifier: MIT
 *
 * Geometries to text and back.  The two tables below are made from the lists
 * in geometry.h; the parser and the printer know no key by name, but that
 * passes=none is read as no such knob.
 */
#include "base/geometry.h"

#include <stdio.h>
#include <string.h>

#define WORD(K, id, word) word,
#define WORD_TABLE(K, name) static const char *const words_##K[] = { TCB_##K##_LIST(WORD, K) NULL };
TCB_WORD_LIST(WORD_TABLE)
static const char *const words_NUMBER[] = { NULL };
#undef WORD_TABLE
#undef WORD

static const struct {
	const char *key, *help;
	enum tcb_knob_scope scope;
	const char *const *words; /* words_NUMBER: a decimal integer */
	int32_t word_count;       /* the end left out */
} knobs[TCB_KNOB_COUNT] = {
#define TCB_KNOB_ROW(id, key, scope, kind, help) \
	{ key, help, TCB_SCOPE_##scope, words_##kind, (int32_t)(sizeof words_##kind / sizeof *words_##kind) - 1 },
	TCB_KNOB_LIST(TCB_KNOB_ROW)
#undef TCB_KNOB_ROW
};
static const char *const level_texts[TCB_LEVEL_COUNT] = { "macro", "midi", "micro" };

void tcb_geometry_init(struct tcb_geometry *geometry)
{
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		geometry->tile[level] = (struct tcb_tile){ 1, 1, 1 };
	for (int knob = 0; knob < TCB_KNOB_COUNT; knob++)
		geometry->knob[knob] = TCB_KNOB_UNSET;
}

void tcb_geometry_carry_over(struct tcb_geometry *geometry, const struct tcb_shape *from, const struct tcb_shape *to)
{
	for (int level = 0; level < TCB_LEVEL_COUNT; level++) {
		struct tcb_tile *tile = &geometry->tile[level];

		if (tile->m == from->m)
			tile->m = to->m;
		if (tile->n == from->n)
			tile->n = to->n;
		if (to->k && tile->k == from->k)
			tile->k = to->k;
	}
}

int tcb_geometry_equal(const struct tcb_geometry *a, const struct tcb_geometry *b)
{
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		if (a->tile[level].m != b->tile[level].m || a->tile[level].n != b->tile[level].n ||
		    a->tile[level].k != b->tile[level].k)
			return 0;
	return memcmp(a->knob, b->knob, sizeof a->knob) == 0;
}

const char *tcb_level_text(enum tcb_level level)
{
	return level_texts[level];
}

const char *tcb_knob_key(enum tcb_knob knob)
{
	return knobs[knob].key;
}

const char *tcb_knob_help(enum tcb_knob knob)
{
	return knobs[knob].help;
}

enum tcb_knob_scope tcb_knob_scope(enum tcb_knob knob)
{
	return knobs[knob].scope;
}

const char *tcb_knob_word(enum tcb_knob knob, int32_t value)
{
	return value >= 0 && value < knobs[knob].word_count ? knobs[knob].words[value] : NULL;
}

const char *tcb_isa_text(enum tcb_isa isa)
{
	return tcb_knob_word(TCB_KNOB_ISA, (int32_t)isa);
}

/* Where the parser stands: TEXT for messages, AT inside it. */
struct cursor {
	const char *text, *at;
	struct tcb_error *err;
};

static enum tcb_status fail_at(const struct cursor *cursor, const char *what)
{
	return tcb_fail(cursor->err, TCB_E_USAGE,
			"geometry, column %zu: %s; the form is macro=MxNxK,midi=MxNxK,micro=MxNxK,knob=value,...",
			(size_t)(cursor->at - cursor->text) + 1, what);
}

/* A canonical decimal: digits only, no leading zero, at most LIMIT. */
static enum tcb_status parse_number(struct cursor *cursor, size_t least, size_t limit, size_t *out)
{
	const char *start = cursor->at;
	size_t value = 0;

	for (; *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++) {
		if (tcb_mul_size(value, 10, &value) || tcb_add_size(value, (size_t)(*cursor->at - '0'), &value) ||
		    value > limit) {
			cursor->at = start;
			return fail_at(cursor, "the number is too large");
		}
	}
	if (cursor->at == start)
		return fail_at(cursor, "a whole number is expected");
	if (*start == '0' && cursor->at - start > 1) {
		cursor->at = start;
		return fail_at(cursor, "a number has no leading zeros");
	}
	if (value < least) {
		cursor->at = start;
		return fail_at(cursor, "a tile dimension is at least 1");
	}
	*out = value;
	return TCB_OK;
}

static enum tcb_status parse_tile(struct cursor *cursor, struct tcb_tile *out)
{
	size_t *dims[3] = { &out->m, &out->n, &out->k };

	for (int i = 0; i < 3; i++) {
		if (i && *cursor->at++ != 'x') {
			cursor->at--;
			return fail_at(cursor, "a tile has the form MxNxK");
		}
		TCB_TRY(parse_number(cursor, 1, SIZE_MAX, dims[i]));
	}
	return TCB_OK;
}

static size_t word_length(const char *at)
{
	return strcspn(at, ",=");
}

static enum tcb_status parse_knob(struct cursor *cursor, int knob, int32_t *out)
{
	const char *const *words = knobs[knob].words;
	size_t length = word_length(cursor->at), number;

	if (words == words_NUMBER) {
		TCB_TRY(parse_number(cursor, 0, INT32_MAX, &number));
		*out = (int32_t)number;
		return TCB_OK;
	}
	for (int32_t i = 0; words[i]; i++)
		if (strlen(words[i]) == length && strncmp(words[i], cursor->at, length) == 0) {
			cursor->at += length;
			*out = i;
			return TCB_OK;
		}
	return fail_at(cursor, "unknown value of this knob");
}

/* One "key=value"; SEEN tells for each level, then for each knob, whether it was given. */
static enum tcb_status parse_item(struct cursor *cursor, struct tcb_geometry *geometry, unsigned char *seen)
{
	const char *key = cursor->at;
	size_t length = word_length(key);
	int item = -1;

	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		if (strlen(level_texts[level]) == length && strncmp(level_texts[level], key, length) == 0)
			item = level;
	for (int knob = 0; knob < TCB_KNOB_COUNT; knob++)
		if (strlen(knobs[knob].key) == length && strncmp(knobs[knob].key, key, length) == 0)
			item = TCB_LEVEL_COUNT + knob;
	if (item < 0)
		return fail_at(cursor, "unknown key");
	if (seen[item])
		return fail_at(cursor, "this key is given twice");
	seen[item] = 1;
	cursor->at += length;
	if (*cursor->at != '=')
		return fail_at(cursor, "'=' is expected");
	cursor->at++;
	if (item < TCB_LEVEL_COUNT)
		return parse_tile(cursor, &geometry->tile[item]);
	return parse_knob(cursor, item - TCB_LEVEL_COUNT, &geometry->knob[item - TCB_LEVEL_COUNT]);
}

enum tcb_status tcb_geometry_parse(const char *text, struct tcb_geometry *out, struct tcb_error *err)
{
	struct cursor cursor = { text, text, err };
	struct tcb_geometry geometry;
	unsigned char seen[TCB_LEVEL_COUNT + TCB_KNOB_COUNT] = { 0 };

	tcb_geometry_init(&geometry);
	for (;;) {
		TCB_TRY(parse_item(&cursor, &geometry, seen));
		if (*cursor.at == '\0')
			break;
		if (*cursor.at != ',')
			return fail_at(&cursor, "',' or the end is expected");
		cursor.at++;
	}
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		if (!seen[level])
			return fail_at(&cursor, "macro, midi and micro must all be given");
	if (geometry.knob[TCB_KNOB_PASSES] == TCB_PASSES_NONE)
		geometry.knob[TCB_KNOB_PASSES] = TCB_KNOB_UNSET;
	*out = geometry;
	return TCB_OK;
}

void tcb_geometry_print(const struct tcb_geometry *geometry, char out[TCB_GEOMETRY_TEXT_MAX])
{
	size_t used = 0;

	/* A knob's key, the two separators and its number or word. */
#define KNOB_LENGTH(id, key, scope, kind, help) +sizeof(key) + 1 + sizeof("-2147483648")
	_Static_assert(TCB_LEVEL_COUNT * 70 TCB_KNOB_LIST(KNOB_LENGTH) <= TCB_GEOMETRY_TEXT_MAX,
		       "the longest key, number and separators of every item fit");
#undef KNOB_LENGTH
	for (int level = 0; level < TCB_LEVEL_COUNT; level++) {
		const struct tcb_tile *tile = &geometry->tile[level];

		used += (size_t)snprintf(out + used, TCB_GEOMETRY_TEXT_MAX - used, "%s%s=%zux%zux%zu", level ? "," : "",
					 level_texts[level], tile->m, tile->n, tile->k);
	}
	for (int knob = 0; knob < TCB_KNOB_COUNT; knob++) {
		int32_t value = geometry->knob[knob];
		const char *word = tcb_knob_word((enum tcb_knob)knob, value);

		if (value == TCB_KNOB_UNSET)
			continue;
		if (word)
			used += (size_t)snprintf(out + used, TCB_GEOMETRY_TEXT_MAX - used, ",%s=%s", knobs[knob].key,
						 word);
		else
			used += (size_t)snprintf(out + used, TCB_GEOMETRY_TEXT_MAX - used, ",%s=%d", knobs[knob].key,
						 value);
	}
}
