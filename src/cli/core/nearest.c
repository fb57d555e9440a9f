/* SPDX-License-Identifier: MIT
 *
 * Which of some words is nearly the one that was typed: edit distance.
 */
#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "cli/core/cli.h"

enum { WORD_MAX = 64 };

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;
	return least < c ? least : c;
}

/* Levenshtein distance, whatever their case, of words up to WORD_MAX characters; longer ones are far from everything.
 */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[WORD_MAX + 1];
	size_t a_length = strlen(a), b_length = strlen(b);

	if (a_length > WORD_MAX || b_length > WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= b_length; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			size_t above = row[j];
			row[j] =
				min3(above + 1, row[j - 1] + 1,
				     diagonal + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1])));
			diagonal = above;
		}
	}
	return row[b_length];
}

const char *cli_nearest(const char *word, const char *const *candidates, size_t count)
{
	const char *nearest = NULL;
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < count; i++) {
		size_t distance = edit_distance(word, candidates[i]);
		if (distance < least) {
			least = distance;
			nearest = candidates[i];
		}
	}
	/* A third of the word may be wrong: more is another word. */
	return nearest && least <= 1 + strlen(word) / 3 ? nearest : NULL;
}

size_t cli_nearest_few(const char *word, const char *const *candidates, size_t count, const char **out, size_t few)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		size_t distance = edit_distance(word, candidates[i]), at = found < few ? found : few;
		while (at > 0 && edit_distance(word, out[at - 1]) > distance)
			at--;
		if (at == few)
			continue;
		if (found < few)
			found++;
		memmove(out + at + 1, out + at, (found - at - 1) * sizeof *out);
		out[at] = candidates[i];
	}
	return found;
}

void cli_suggestion(const char *word, const char *const *candidates, size_t count, char *out, size_t capacity)
{
	const char *nearest = cli_nearest(word, candidates, count);

	out[0] = '\0';
	if (nearest && strlen(nearest) + 20 < capacity) {
		strcpy(out, " (did you mean ");
		strcat(out, nearest);
		strcat(out, "?)");
	}
}
