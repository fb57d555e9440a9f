/* SPDX-License-Identifier: MIT
 *
 * The words of a shape (struct tcb_heads) as text and back.
 */
#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/problem.h"
#include "base/util.h"

/* The words that are a letter and a number, in the order of the canonical text. */
static const struct {
	char letter;
	size_t at;
	uint32_t least, most, unsaid;
} words[] = {
	{ 'b', offsetof(struct tcb_heads, sequences), 1, 65535, 1 },
	{ 'p', offsetof(struct tcb_heads, page), 1, 65536, 0 },
	{ 'w', offsetof(struct tcb_heads, window), 1, 1u << 30, 0 },
	{ 'c', offsetof(struct tcb_heads, cap), 1, 65535, 0 },
};
enum { WORDS = sizeof words / sizeof *words, HEADS_MAX = 4096 };

static uint32_t *member(struct tcb_heads *heads, size_t word)
{
	return (uint32_t *)(void *)((char *)heads + words[word].at);
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

static int read_heads(const char **text, struct tcb_heads *out)
{
	if (out->query || !(out->query = read_number(text, 1, HEADS_MAX)) || *(*text)++ != '/' ||
	    !(out->kv = read_number(text, 1, HEADS_MAX)))
		return -1;
	return out->query % out->kv ? -1 : 0;
}

/* WORD at *TEXT, which is moved past it. */
static int has_word(const char **text, const char *word)
{
	const int is_here = !strncmp(*text, word, strlen(word));
	*text += is_here ? strlen(word) : 0;
	return is_here;
}

static int read_word(const char **text, struct tcb_heads *out)
{
	if (has_word(text, "causal"))
		return out->causal++;
	if (has_word(text, "ragged"))
		return out->ragged++;
	if (has_word(text, "pairs"))
		return out->pairs++;
	const char letter = **text;
	if (!letter)
		return -1;
	++*text;
	if (letter == 'h')
		return read_heads(text, out);
	for (size_t i = 0; i < WORDS; i++)
		if (letter == words[i].letter)
			return *member(out, i) || !(*member(out, i) = read_number(text, words[i].least, words[i].most));
	return -1;
}

enum tcb_status tcb_heads_parse(const char *text, struct tcb_heads *out, struct tcb_error *err)
{
	const char *at = text;
	*out = (struct tcb_heads){ 0 };
	if (!*text)
		return TCB_OK;
	int is_bad = read_word(&at, out);
	while (!is_bad && *at == ',') {
		at++;
		is_bad = read_word(&at, out);
	}
	if (is_bad || *at || !out->query)
		return tcb_fail(
			err, TCB_E_USAGE,
			"invalid words of a shape '%.80s': give h32/8 (query heads / KV heads, a multiple of each "
			"other), and where wanted b4 (sequences), p16 (page size), w1024 (window), c50 (cap), "
			"causal, ragged (lengths differ), pairs (of rope: neighbours are rotated together)",
			text);
	for (size_t i = 0; i < WORDS; i++)
		if (!*member(out, i))
			*member(out, i) = words[i].unsaid;
	if (out->window) /* it ends at the query's own token */
		out->causal = 1;
	return TCB_OK;
}

void tcb_heads_print(const struct tcb_heads *heads, char out[TCB_WORDS_TEXT_MAX])
{
	struct tcb_heads copy = *heads;
	int length = 0;
	*out = '\0';
	if (!heads->query)
		return;
	length = snprintf(out, TCB_WORDS_TEXT_MAX, "h%u/%u", heads->query, heads->kv);
	for (size_t i = 0; i < WORDS; i++)
		if (*member(&copy, i) != words[i].unsaid)
			length += snprintf(out + length, (size_t)(TCB_WORDS_TEXT_MAX - length), ",%c%u",
					   words[i].letter, *member(&copy, i));
	(void)snprintf(out + length, (size_t)(TCB_WORDS_TEXT_MAX - length), "%s%s%s", heads->causal ? ",causal" : "",
		       heads->ragged ? ",ragged" : "", heads->pairs ? ",pairs" : "");
}
