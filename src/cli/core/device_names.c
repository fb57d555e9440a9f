/* SPDX-License-Identifier: MIT
 *
 * In: what a user wrote, and stored winners.  Out: which of them are meant; and
 * labels: of a model's words those that its maker writes on everything are left
 * out, and of the rest as few are taken as tell it from the others.
 */
#include "cli/core/device_names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/kind.h"
#include "cli/core/cli.h"
#include "cli/core/emit.h"
#include "cli/core/setup.h"

enum { WORDS_MAX = 8, KEY_SHOWN = 4, KEY_LEAST = 4 };

int cli_is_one_device(const struct tcb_best *a, const struct tcb_best *b)
{
	return strcmp(a->device_key, b->device_key) == 0 && strcmp(a->device_name, b->device_name) == 0;
}

/* --- what --device means --- */

static int has_part(const char *text, const char *part)
{
	const size_t length = strlen(part);

	for (; *text; text++)
		if (strncasecmp(text, part, length) == 0)
			return 1;
	return 0;
}

int cli_device_filter_has(const struct cli_device_filter *filter, const struct tcb_best *best)
{
	return (!filter->name[0] || strcmp(filter->name, best->device_name) == 0) &&
	       strncmp(filter->key, best->device_key, strlen(filter->key)) == 0 &&
	       (!filter->model[0] || has_part(best->model, filter->model));
}

static size_t count_of(const struct cli_device_filter *filter, const struct tcb_best *list, size_t count)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		found += (size_t)cli_device_filter_has(filter, &list[i]);
	return found;
}

/* This machine's device of that NAME; of a GPU that is not there nothing is stored. */
static void find_here(const char *name, struct cli_device_filter *out)
{
	const char *key = NULL;
	struct tcb_place place;

	if (tcb_kind_split(name, out->name, &key)) {
		snprintf(out->key, sizeof out->key, "%s", key ? key : "");
		return;
	}
	snprintf(out->name, sizeof out->name, "%s", name);
	if (tcb_place_open(name, 0, 1, &place, NULL) == TCB_OK) {
		snprintf(out->name, sizeof out->name, "%s", place.device.name);
		snprintf(out->key, sizeof out->key, "%s", place.device.key);
	}
}

/* Where there is nothing of this machine's CPU: those of others, which are looked at as often. */
static void widen(struct cli_device_filter *filter, const struct tcb_best *list, size_t count)
{
	const struct tcb_kind *kind = tcb_kind_asked(filter->name);
	struct cli_device_filter any = *filter;

	any.key[0] = '\0';
	if (!kind || !kind->has_threads || count_of(filter, list, count) || !count_of(&any, list, count))
		return;
	cli_say("no result is of this machine's %s (key %s); these are other machines'", filter->name, filter->key);
	*filter = any;
}

enum tcb_status cli_device_filter_make(const char *text, const struct tcb_best *list, size_t count,
				       struct cli_device_filter *out, struct tcb_error *err)
{
	*out = (struct cli_device_filter){ .is_named = 1 };
	if (cli_check_device(text, NULL) == TCB_OK) {
		find_here(text, out);
		widen(out, list, count);
		return TCB_OK;
	}
	out->is_named = 0;
	if (strlen(text) >= KEY_LEAST && strlen(text) < sizeof out->key &&
	    strspn(text, "0123456789abcdef") == strlen(text)) {
		snprintf(out->key, sizeof out->key, "%s", text);
		if (count_of(out, list, count))
			return TCB_OK;
		out->key[0] = '\0';
	}
	snprintf(out->model, sizeof out->model, "%s", text);
	return *text && count_of(out, list, count) ? TCB_OK : cli_check_device(text, err);
}

/* --- labels --- */

/* Words that are on every model of a maker, and marks. */
static int is_idle(const char *word, size_t length)
{
	static const char *const idle[] = { "NVIDIA", "AMD", "Intel", "CPU", "Processor", "GPU", "@" };

	for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
		if (strlen(idle[i]) == length && strncmp(idle[i], word, length) == 0)
			return 1;
	return length == 0;
}

/* The first WORDS telling words of MODEL. */
static void shorten(const char *model, size_t words, char out[CLI_DEVICE_LABEL_MAX])
{
	char plain[TCB_DEVICE_TEXT_MAX];
	size_t length = 0, used = 0;

	for (const char *at = model; *at && length + 1 < sizeof plain; at++) {
		if (strncmp(at, "(R)", 3) == 0 || strncmp(at, "(r)", 3) == 0)
			at += 2;
		else if (strncmp(at, "(TM)", 4) == 0 || strncmp(at, "(tm)", 4) == 0)
			at += 3;
		else
			plain[length++] = *at;
	}
	plain[length] = '\0';
	out[0] = '\0';
	for (const char *at = plain; *at && words; at += strspn(at, " ")) {
		const size_t word = strcspn(at, " ");
		if (!is_idle(at, word) && used + word + 2 < CLI_DEVICE_LABEL_MAX / 2) {
			used += (size_t)snprintf(out + used, CLI_DEVICE_LABEL_MAX - used, "%s%.*s", used ? " " : "",
						 (int)word, at);
			words--;
		}
		at += word;
	}
}

static int is_other_machine(const struct tcb_best *a, const struct tcb_best *b)
{
	return strcmp(a->device_key, b->device_key) != 0;
}

/* Whether another machine's model begins with the same WORDS words. */
static int is_shared(const struct tcb_best *best, const struct tcb_best *const *others, size_t count, size_t words)
{
	char own[CLI_DEVICE_LABEL_MAX], other[CLI_DEVICE_LABEL_MAX];

	shorten(best->model, words, own);
	for (size_t i = 0; i < count; i++) {
		shorten(others[i]->model, words, other);
		if (is_other_machine(best, others[i]) && strcmp(own, other) == 0)
			return 1;
	}
	return !own[0];
}

void cli_device_label(const struct tcb_best *best, const struct tcb_best *const *others, size_t count,
		      char out[CLI_DEVICE_LABEL_MAX])
{
	const char *family = strchr(best->device_name, ':');
	int is_ambiguous = 0;
	size_t words = 1;

	for (size_t i = 0; i < count; i++)
		is_ambiguous |=
			is_other_machine(best, others[i]) && strcmp(best->device_name, others[i]->device_name) == 0;
	if (!is_ambiguous) {
		snprintf(out, CLI_DEVICE_LABEL_MAX, "%s", best->device_name);
		return;
	}
	while (words < WORDS_MAX && is_shared(best, others, count, words))
		words++;
	shorten(best->model, words, out);
	if (is_shared(best, others, count, words)) {
		shorten(best->model, 2, out);
		snprintf(out + strlen(out), CLI_DEVICE_LABEL_MAX - strlen(out), "%s%.*s", out[0] ? " " : "", KEY_SHOWN,
			 best->device_key);
	}
	snprintf(out + strlen(out), CLI_DEVICE_LABEL_MAX - strlen(out), "%.12s", family ? family : "");
}
