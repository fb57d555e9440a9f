/* SPDX-License-Identifier: MIT
 *
 * Geometries to text and back.  The two tables below are made from the lists
 * in geometry.h, and an op's parameters stand behind them; the parser and the
 * printer know no key by name, but that passes=none is read as no such knob.
 */
#include "base/geometry.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define WORD(K, id, word) word,
#define WORD_TABLE(K, name) static const char *const words_##K[] = { TCB_##K##_LIST(WORD, K) NULL };
TCB_WORD_LIST(WORD_TABLE)
static const char *const words_NUMBER[] = { NULL };
#undef WORD_TABLE
#undef WORD

static const struct {
	const char *key;
	enum tcb_knob_scope scope;
	const char *const *words; /* words_NUMBER: a decimal integer */
	int32_t word_count;       /* the end left out */
} knobs[TCB_KNOB_COUNT] = {
#define TCB_KNOB_ROW(id, key, scope, kind, help) \
	{ key, TCB_SCOPE_##scope, words_##kind, (int32_t)(sizeof words_##kind / sizeof *words_##kind) - 1 },
	TCB_KNOB_LIST(TCB_KNOB_ROW)
#undef TCB_KNOB_ROW
};
static const char *const level_texts[TCB_LEVEL_COUNT] = { "macro", "midi", "micro" };

void tcb_geometry_init(struct tcb_geometry *geometry)
{
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		geometry->tile[level] = (struct tcb_tile){ 1, 1, 1 };
	for (int knob = 0; knob < TCB_KNOBS_MAX; knob++)
		geometry->knob[knob] = TCB_KNOB_UNSET;
	geometry->parameters = NULL;
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

enum tcb_knob_scope tcb_knob_scope(enum tcb_knob knob)
{
	return knobs[knob].scope;
}

const char *tcb_knob_word(enum tcb_knob knob, int32_t value)
{
	return value >= 0 && value < knobs[knob].word_count ? knobs[knob].words[value] : NULL;
}

/* --- parameters --- */

const struct tcb_parameter tcb_parameters_any[] = { { NULL, NULL, NULL } };

static const struct tcb_parameter *parameter_at(const struct tcb_parameter *parameters, int index)
{
	for (int i = 0; parameters && parameters[i].key; i++)
		if (i == index)
			return &parameters[i];
	return NULL;
}

static int32_t count_words(const char *const *words)
{
	int32_t count = 0;

	while (words[count])
		count++;
	return count;
}

int tcb_geometry_knobs(const struct tcb_geometry *geometry)
{
	int count = TCB_KNOB_COUNT;

	while (parameter_at(geometry->parameters, count - TCB_KNOB_COUNT))
		count++;
	return count;
}

const char *tcb_geometry_key(const struct tcb_geometry *geometry, int knob)
{
	if (knob < TCB_KNOB_COUNT)
		return knobs[knob].key;
	const struct tcb_parameter *parameter = parameter_at(geometry->parameters, knob - TCB_KNOB_COUNT);
	return parameter ? parameter->key : NULL;
}

const char *tcb_geometry_word(const struct tcb_geometry *geometry, int knob, int32_t value)
{
	if (knob < TCB_KNOB_COUNT)
		return tcb_knob_word((enum tcb_knob)knob, value);
	const struct tcb_parameter *parameter = parameter_at(geometry->parameters, knob - TCB_KNOB_COUNT);
	return parameter && parameter->words && value >= 0 && value < count_words(parameter->words)
		       ? parameter->words[value]
		       : NULL;
}

/* The length of the name at AT: a letter, then letters, digits and underscores; 0: there is none. */
static size_t name_length(const char *at)
{
	return strspn(at, "abcdefghijklmnopqrstuvwxyz") ? strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_") : 0;
}

static int is_name(const char *text, size_t capacity)
{
	const size_t length = name_length(text);

	return length && length < capacity && !text[length];
}

/* The length of the word of a parameter at AT. */
static size_t parameter_word_length(const char *at)
{
	return strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-");
}

/* By a tile, a knob or an earlier one. */
static int is_taken(const struct tcb_parameter *parameters, int index)
{
	const char *key = parameters[index].key;

	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		if (strcmp(level_texts[level], key) == 0)
			return 1;
	for (int knob = 0; knob < TCB_KNOB_COUNT; knob++)
		if (strcmp(knobs[knob].key, key) == 0)
			return 1;
	for (int i = 0; i < index; i++)
		if (strcmp(parameters[i].key, key) == 0)
			return 1;
	return 0;
}

enum { FEW_KNOBS_TEXT = 160 }; /* of the text of an op that has parameters */

/* What a geometry's text has for PARAMETER at most: ",key=value". */
static size_t longest_text(const struct tcb_parameter *parameter)
{
	size_t longest = parameter->words ? 1 : sizeof("2147483647") - 1;

	for (const char *const *word = parameter->words; word && *word; word++)
		longest = strlen(*word) > longest ? strlen(*word) : longest;
	return strlen(parameter->key) + 2 + longest;
}

const char *tcb_parameters_refused(const struct tcb_parameter *parameters)
{
	size_t length = 0;

	for (int i = 0; parameters && parameters[i].key; i++) {
		const char *const *words = parameters[i].words;

		if (i == TCB_OP_PARAMETERS_MAX)
			return "more parameters than there is room for";
		if (!is_name(parameters[i].key, TCB_PARAMETER_KEY_MAX))
			return "a parameter whose name is too long, or not of a-z, 0-9 and underscores";
		if (is_taken(parameters, i))
			return "a parameter of a name that is taken";
		for (int32_t word = 0; words && words[word]; word++)
			if (!*words[word] || strlen(words[word]) >= TCB_PARAMETER_WORD_MAX ||
			    words[word][parameter_word_length(words[word])])
				return "a parameter with a word that is too long, or not of letters, digits and _.+-";
		length += longest_text(&parameters[i]);
	}
	return length > TCB_PARAMETERS_TEXT_MAX ? "parameters whose names and words are too long together" : NULL;
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

/* A whole number, where WORDS is NULL, or one of WORDS. */
static enum tcb_status parse_value(struct cursor *cursor, const char *const *words, int32_t *out)
{
	size_t length = word_length(cursor->at), number;

	if (!words) {
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

static int is_key(const char *key, const char *at, size_t length)
{
	return strlen(key) == length && strncmp(key, at, length) == 0;
}

/* Which level, knob or parameter the LENGTH characters at AT name, knobs after levels; -1: none. */
static int find_item(const char *at, size_t length, const struct tcb_parameter *parameters)
{
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		if (is_key(level_texts[level], at, length))
			return level;
	for (int knob = 0; knob < TCB_KNOB_COUNT; knob++)
		if (is_key(knobs[knob].key, at, length))
			return TCB_LEVEL_COUNT + knob;
	for (int i = 0; parameters && parameters[i].key; i++)
		if (is_key(parameters[i].key, at, length))
			return TCB_LEVEL_COUNT + TCB_KNOB_COUNT + i;
	return -1;
}

/* "key=value" that a parameter may look like. */
static int pass_over(struct cursor *cursor)
{
	const char *at = cursor->at;
	const size_t key = name_length(at), word = key && at[key] == '=' ? word_length(at + key + 1) : 0;

	if (!word || key >= TCB_PARAMETER_KEY_MAX || word >= TCB_PARAMETER_WORD_MAX ||
	    parameter_word_length(at + key + 1) != word)
		return 0;
	cursor->at += key + 1 + word;
	return 1;
}

/* One "key=value"; SEEN tells for each item of find_item whether it was given. */
static enum tcb_status parse_item(struct cursor *cursor, const struct tcb_parameter *parameters,
				  struct tcb_geometry *geometry, unsigned char *seen)
{
	const char *key = cursor->at;
	const size_t length = word_length(key);
	const int item = find_item(key, length, parameters), knob = item - TCB_LEVEL_COUNT;

	if (item < 0 && parameters == tcb_parameters_any && pass_over(cursor))
		return TCB_OK;
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
	if (knob >= TCB_KNOB_COUNT)
		return parse_value(cursor, parameters[knob - TCB_KNOB_COUNT].words, &geometry->knob[knob]);
	return parse_value(cursor, knobs[knob].words == words_NUMBER ? NULL : knobs[knob].words, &geometry->knob[knob]);
}

enum tcb_status tcb_geometry_parse(const char *text, struct tcb_geometry *out, struct tcb_error *err)
{
	return tcb_geometry_parse_of(text, NULL, out, err);
}

enum tcb_status tcb_geometry_parse_of(const char *text, const struct tcb_parameter *parameters,
				      struct tcb_geometry *out, struct tcb_error *err)
{
	struct cursor cursor = { text, text, err };
	struct tcb_geometry geometry;
	unsigned char seen[TCB_LEVEL_COUNT + TCB_KNOBS_MAX] = { 0 };

	if (strlen(text) >= TCB_GEOMETRY_TEXT_MAX)
		return tcb_fail(err, TCB_E_USAGE, "a geometry of %zu characters is longer than any", strlen(text));
	tcb_geometry_init(&geometry);
	geometry.parameters = parameters == tcb_parameters_any ? NULL : parameters;
	for (;;) {
		TCB_TRY(parse_item(&cursor, parameters, &geometry, seen));
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
	const int knob_count = tcb_geometry_knobs(geometry);
	size_t used = 0;

	/* A knob's key, the two separators and its number or word. */
#define KNOB_LENGTH(id, key, scope, kind, help) +sizeof(key) + 1 + sizeof("4294967295") - 1
	_Static_assert(1 + TCB_LEVEL_COUNT * 70 TCB_KNOB_LIST(KNOB_LENGTH) <= TCB_GEOMETRY_TEXT_MAX,
		       "the longest key, number and separators of every item fit");
	_Static_assert(1 + TCB_LEVEL_COUNT * 70 + FEW_KNOBS_TEXT + TCB_PARAMETERS_TEXT_MAX <= TCB_GEOMETRY_TEXT_MAX,
		       "and those of an op with parameters, which has few knobs");
#undef KNOB_LENGTH
	for (int level = 0; level < TCB_LEVEL_COUNT; level++) {
		const struct tcb_tile *tile = &geometry->tile[level];

		used += (size_t)snprintf(out + used, TCB_GEOMETRY_TEXT_MAX - used, "%s%s=%zux%zux%zu", level ? "," : "",
					 level_texts[level], tile->m, tile->n, tile->k);
	}
	for (int knob = 0; knob < knob_count; knob++) {
		int32_t value = geometry->knob[knob];
		const char *key = tcb_geometry_key(geometry, knob), *word = tcb_geometry_word(geometry, knob, value);

		if (value == TCB_KNOB_UNSET)
			continue;
		if (word)
			used += (size_t)snprintf(out + used, TCB_GEOMETRY_TEXT_MAX - used, ",%s=%s", key, word);
		else
			used += (size_t)snprintf(out + used, TCB_GEOMETRY_TEXT_MAX - used, ",%s=%u", key,
						 (uint32_t)value);
		assert(used < TCB_GEOMETRY_TEXT_MAX);
	}
}
