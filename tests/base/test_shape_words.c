/* SPDX-License-Identifier: MIT
 *
 * The words of a shape: reading, printing, and that what is written by hand beside
 * their list agrees with it.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "base/shape_words.h"
#include "base/util.h"

static void words_are_read(void **state)
{
	static const char *const bad[] = { "h32",
					   "h0/1",
					   "h32/5",
					   "h32/8,",
					   "b4",
					   "h32/8,b0",
					   "h32/8,b1x",
					   "h32/8,h8/8",
					   ",h1/1",
					   "h1/1 b2",
					   "h1/1,p65537",
					   "h1/1,causal,causal",
					   "h99999/1",
					   "h1/1,b2,b2",
					   "x",
					   "h1/1,z3",
					   "h1/1,/1",
					   "h/1",
					   "h1/1,causal1",
					   "h1/1,p",
					   "e8",
					   "e8/9",
					   "e8/0",
					   "even",
					   "e8/2,zipf1",
					   "e8/2,zipf0.0",
					   "e8/2,zipf10.0",
					   "e8/2,zipf1.",
					   "e8/2,even,even",
					   "each",
					   "xf8",
					   "xf16x",
					   "xf16,xbf16" };
	struct tcb_words words;
	struct tcb_error err;
	char text[TCB_WORDS_TEXT_MAX];

	(void)state;
	assert_int_equal(tcb_words_parse("causal,w7,b1,h8/2", &words, NULL), TCB_OK);
	assert_int_equal(words.query, 8);
	assert_int_equal(words.kv, 2);
	assert_int_equal(words.sequences, 1);
	assert_int_equal(words.window, 7);
	assert_int_equal(words.page, 0);
	tcb_words_print(&words, text);
	assert_string_equal(text, "h8/2,w7,causal");
	assert_int_equal(tcb_words_parse("h8/2,w7", &words, NULL), TCB_OK); /* the same, said shorter */
	tcb_words_print(&words, text);
	assert_string_equal(text, "h8/2,w7,causal");
	assert_int_equal(tcb_words_parse("zipf0.7,e64/6,each", &words, NULL), TCB_OK);
	assert_int_equal(words.experts, 64);
	assert_int_equal(words.used, 6);
	assert_int_equal(words.skew, 7);
	tcb_words_print(&words, text);
	assert_string_equal(text, "e64/6,each,zipf0.7");
	assert_int_equal(tcb_words_parse("e64/6,zipf1.0", &words, NULL), TCB_OK); /* what is meant unsaid */
	tcb_words_print(&words, text);
	assert_string_equal(text, "e64/6");
	assert_int_equal(tcb_words_parse("yf16,xbf16,bias", &words, NULL), TCB_OK);
	assert_int_equal(words.x_type, 3);
	assert_int_equal(words.y_type, 2);
	tcb_words_print(&words, text);
	assert_string_equal(text, "bias,xbf16,yf16");
	assert_int_equal(tcb_words_parse("", &words, NULL), TCB_OK);
	assert_int_equal(words.query, 0);
	assert_int_equal(words.sequences, 0);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		if (tcb_words_parse(bad[i], &words, &err) != TCB_E_USAGE)
			fail_msg("'%s' is read", bad[i]);
		assert_non_null(strstr(err.message, "h32/8"));
	}
}

/* Each example goes with the one that its word needs, and says what its row does. */
static void examples_are_words(void **state)
{
	uint64_t all = 0;
	char text[TCB_WORDS_TEXT_MAX], again[TCB_WORDS_TEXT_MAX];
	struct tcb_words words;

	(void)state;
	for (unsigned i = 0; i < TCB_WORD_COUNT; i++) {
		const struct tcb_word_row *row = &tcb_word_rows[i];

		if (tcb_word_is_second(row))
			continue;
		snprintf(text, sizeof text, "%s%s%s", row->with == i ? "" : tcb_word_rows[row->with].example,
			 row->with == i ? "" : ",", row->example);
		assert_int_equal(tcb_words_parse(text, &words, NULL), TCB_OK);
		assert_true(tcb_words_given(&words) >> i & 1u);
		all |= tcb_words_given(&words);
		tcb_words_print(&words, again);
		assert_memory_equal(again, text, strlen(text));
		assert_true(strlen(row->help) > 0);
	}
	assert_true(all == UINT64_MAX >> (64 - TCB_WORD_COUNT));
}

/* The largest numbers of all words have room. */
static void all_words_fit(void **state)
{
	struct tcb_str all = { 0 };
	char text[TCB_WORDS_TEXT_MAX];
	struct tcb_words words;

	(void)state;
	for (unsigned i = 0; i < TCB_WORD_COUNT; i++) {
		const struct tcb_word_row *row = &tcb_word_rows[i];

		tcb_str_addf(&all, "%s%s", i && !tcb_word_is_second(row) ? "," : "", row->text);
		if (row->kind == TCB_WORD_TENTHS)
			tcb_str_addf(&all, "%u.%u", row->most / 10, row->most % 10);
		else if (row->kind == TCB_WORD_TYPE)
			tcb_str_addf(&all, "%s", tcb_word_types[row->most - 1]);
		else if (row->kind != TCB_WORD_FLAG)
			tcb_str_addf(&all, "%u", row->most);
	}
	assert_int_equal(tcb_words_parse(all.data, &words, NULL), TCB_OK);
	tcb_words_print(&words, text);
	assert_string_equal(text, all.data);
	tcb_str_fini(&all);
}

#define NUMBER "[1-9][0-9]*"
#define TENTHS "[0-9][.][0-9]"

/* Of one word, whether or not another must be given with it: in the order of the text. */
static void add_pattern(struct tcb_str *out, unsigned word)
{
	static const char *const numbers[] = { [TCB_WORD_NUMBER] = NUMBER,
					       [TCB_WORD_TENTHS] = TENTHS,
					       [TCB_WORD_TYPE] = "(f32|f16|bf16)",
					       [TCB_WORD_FLAG] = "" };
	tcb_str_addf(out, "(,%s%s%s)?", tcb_word_rows[word].text, numbers[tcb_word_rows[word].kind],
		     tcb_word_second(word) ? "/" NUMBER : "");
}

/* schemas/shape.schema.json has the pattern of the texts. */
static void schema_has_the_words(void **state)
{
	struct tcb_str pattern = { 0 };
	char schema[4096];
	FILE *file = fopen(TCB_SOURCE_DIR "/schemas/shape.schema.json", "r");

	(void)state;
	assert_non_null(file);
	schema[fread(schema, 1, sizeof schema - 1, file)] = '\0';
	fclose(file);
	tcb_str_add(&pattern, "\"pattern\": \"^" NUMBER "x" NUMBER "(x" NUMBER ")?");
	for (unsigned i = 0; i < TCB_WORD_COUNT; i++)
		if (!tcb_word_is_second(&tcb_word_rows[i]))
			add_pattern(&pattern, i);
	tcb_str_add(&pattern, "$\"");
	if (!strstr(schema, pattern.data))
		fail_msg("schemas/shape.schema.json must have %s", pattern.data);
	tcb_str_fini(&pattern);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_read),
		cmocka_unit_test(examples_are_words),
		cmocka_unit_test(all_words_fit),
		cmocka_unit_test(schema_has_the_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
