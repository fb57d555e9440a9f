/* SPDX-License-Identifier: MIT
 *
 * The words of a shape as text and back, from their rows.
 */
#include "base/shape_words.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"

const struct tcb_word_row tcb_word_rows[TCB_WORD_COUNT] = {
#define ROW(ID, field, type, kind, text, with, least, most, unsaid, example, help) \
	[TCB_WORD_##ID] = { TCB_WORD_##kind, text, TCB_WORD_##with, least, most, unsaid, example, help },
	TCB_SHAPE_WORDS(ROW)
#undef ROW
};

const char *const tcb_word_types[TCB_WORD_TYPES] = { "f32", "f16", "bf16" };

const struct tcb_word_row *tcb_word_second(enum tcb_word word)
{
	const unsigned next = word + 1;
	return next < TCB_WORD_COUNT && tcb_word_is_second(&tcb_word_rows[next]) ? &tcb_word_rows[next] : NULL;
}

static uint32_t word_of(const struct tcb_words *words, enum tcb_word word)
{
	switch (word) {
#define GET(ID, field, ...) \
	case TCB_WORD_##ID: \
		return words->field;
		TCB_SHAPE_WORDS(GET)
#undef GET
	default:
		return 0;
	}
}

static void set(struct tcb_words *words, enum tcb_word word, uint32_t value)
{
	switch (word) {
#define SET(ID, field, type, ...)           \
	case TCB_WORD_##ID:                 \
		words->field = (type)value; \
		break;
		TCB_SHAPE_WORDS(SET)
#undef SET
	default:
		break;
	}
}

/* A number from LEAST to MOST at *TEXT, which is moved past it; 0 for none. */
static uint32_t read_number(const char **text, uint32_t least, uint32_t most)
{
	uint64_t value = 0;
	if (**text < '1' || **text > '9')
		return 0;
	for (; isdigit((unsigned char)**text) && value <= most; (*text)++)
		value = 10 * value + (uint64_t)(**text - '0');
	return value >= least && value <= most ? (uint32_t)value : 0;
}

/* The same with a decimal, "1.5", ten times as much. */
static uint32_t read_tenths(const char **text, uint32_t least, uint32_t most)
{
	const char *at = *text;
	if (!isdigit((unsigned char)at[0]) || at[1] != '.' || !isdigit((unsigned char)at[2]))
		return 0;
	*text += 3;
	const uint32_t value = 10 * (uint32_t)(at[0] - '0') + (uint32_t)(at[2] - '0');
	return value >= least && value <= most ? value : 0;
}

/* The number of the type that *TEXT begins with, which is moved past it; 0 for none. */
static uint32_t read_type(const char **text)
{
	for (uint32_t i = 0; i < TCB_WORD_TYPES; i++)
		if (strncmp(*text, tcb_word_types[i], strlen(tcb_word_types[i])) == 0) {
			*text += strlen(tcb_word_types[i]);
			return i + 1;
		}
	return 0;
}

static uint32_t read_of(const char **text, const struct tcb_word_row *row)
{
	return row->kind == TCB_WORD_FLAG     ? 1
	       : row->kind == TCB_WORD_TYPE   ? read_type(text)
	       : row->kind == TCB_WORD_TENTHS ? read_tenths(text, row->least, row->most)
					      : read_number(text, row->least, row->most);
}

/* Does TEXT begin with WORD?  A letter of a number may be that of other words, too. */
static int begins(const char *text, const struct tcb_word_row *word)
{
	const size_t length = strlen(word->text);
	if (strncmp(text, word->text, length) != 0)
		return 0;
	if (word->kind == TCB_WORD_TYPE) {
		text += length;
		return read_type(&text) != 0;
	}
	return word->kind == TCB_WORD_FLAG ? text[length] == ',' || !text[length]
					   : isdigit((unsigned char)text[length]);
}

/* WORD, with which *TEXT begins and which is moved past it, and its second number. */
static int read_value(const char **text, unsigned word, struct tcb_words *out)
{
	const struct tcb_word_row *row = &tcb_word_rows[word], *second = tcb_word_second(word);
	*text += strlen(row->text);
	const uint32_t value = read_of(text, row);
	if (!value || word_of(out, word))
		return -1;
	set(out, word, value);
	if (!second)
		return 0;
	if (!begins(*text, second) || read_value(text, word + 1, out))
		return -1;
	const uint32_t other = word_of(out, word + 1);
	return (second->kind == TCB_WORD_DIVISOR ? value % other != 0 : other > value) ? -1 : 0;
}

static int read_word(const char **text, struct tcb_words *out)
{
	for (unsigned i = 0; i < TCB_WORD_COUNT; i++)
		if (!tcb_word_is_second(&tcb_word_rows[i]) && begins(*text, &tcb_word_rows[i]))
			return read_value(text, i, out);
	return -1;
}

/* What was not said becomes what it then is; -1 where a word that another needs is missing. */
static int complete(struct tcb_words *out)
{
	for (unsigned i = 0; i < TCB_WORD_COUNT; i++) {
		const int is_given = word_of(out, i) != 0, has_other = word_of(out, tcb_word_rows[i].with) != 0;
		if (is_given && !has_other)
			return -1;
		if (!is_given && has_other)
			set(out, i, tcb_word_rows[i].unsaid);
	}
	if (out->window) /* it ends at the query's own token */
		out->causal = 1;
	return 0;
}

enum tcb_status tcb_words_parse(const char *text, struct tcb_words *out, struct tcb_error *err)
{
	const char *at = text;
	char known[TCB_WORDS_LIST_MAX];
	*out = (struct tcb_words){ 0 };
	if (!*text)
		return TCB_OK;
	int is_bad = read_word(&at, out);
	while (!is_bad && *at == ',') {
		at++;
		is_bad = read_word(&at, out);
	}
	if (!is_bad && !*at && !complete(out))
		return TCB_OK;
	tcb_words_list(UINT64_MAX, known);
	return tcb_fail(err, TCB_E_USAGE,
			"invalid words of a shape '%.80s': give words such as %s, each once; the first number of h is "
			"a multiple of the second, that of e not below it (tcbtune help shapes)",
			text, known);
}

void tcb_words_print(const struct tcb_words *words, char out[TCB_WORDS_TEXT_MAX])
{
	int length = 0;
	*out = '\0';
	for (unsigned i = 0; i < TCB_WORD_COUNT; i++) {
		const struct tcb_word_row *row = &tcb_word_rows[i];
		const uint32_t value = word_of(words, i);
		if (!value || value == row->unsaid || !word_of(words, row->with))
			continue;
		char number[16] = "";
		if (row->kind == TCB_WORD_TENTHS)
			snprintf(number, sizeof number, "%u.%u", value / 10, value % 10);
		else if (row->kind == TCB_WORD_TYPE)
			snprintf(number, sizeof number, "%s", tcb_word_types[value - 1]);
		else if (row->kind != TCB_WORD_FLAG)
			snprintf(number, sizeof number, "%u", value);
		length += snprintf(out + length, (size_t)(TCB_WORDS_TEXT_MAX - length), "%s%s%s",
				   length && !tcb_word_is_second(row) ? "," : "", row->text, number);
	}
}

uint64_t tcb_words_given(const struct tcb_words *words)
{
	uint64_t given = 0;
	for (unsigned i = 0; i < TCB_WORD_COUNT; i++) {
		const uint32_t value = word_of(words, i);
		given |= value && value != tcb_word_rows[i].unsaid ? UINT64_C(1) << i : 0;
	}
	return given;
}

double tcb_words_power(uint32_t exponent)
{
	static const double powers[] = { 1,     1e-1,  1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7,  1e-8,  1e-9, 1e-10,
					 1e-11, 1e-12, 1e-13, 1e-14, 1e-15, 1e-16, 1e-17, 1e-18, 1e-19, 1e-20 };
	assert(exponent < sizeof powers / sizeof *powers);
	return powers[exponent];
}

void tcb_words_list(uint64_t mask, char out[TCB_WORDS_LIST_MAX])
{
	int length = 0;
	*out = '\0';
	for (unsigned i = 0; i < TCB_WORD_COUNT; i++)
		if (mask >> i & 1u && tcb_word_rows[i].example && length < TCB_WORDS_LIST_MAX)
			length += snprintf(out + length, (size_t)(TCB_WORDS_LIST_MAX - length), "%s%s",
					   length ? ", " : "", tcb_word_rows[i].example);
}
