/* SPDX-License-Identifier: MIT
 *
 * Parses a command's words into its argument struct, row by row of its option
 * table.  In: argv.  Out: the struct, or one line that names the word and says
 * what would do.  Both `--name value` and `--name=value` are taken; `--` ends
 * the options.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/core/aliases.h"
#include "cli/core/cli.h"
#include "cli/core/emit.h"

enum { OPTIONS_MAX = 64, WORD_MAX = 64, NAMES_MAX = 64 };

int cli_option_is_end(const struct cli_option *option)
{
	return !option->name && !option->argument;
}

static const struct cli_option *find_option(const struct cli_command *command, const char *name, size_t length)
{
	for (const struct cli_option *option = command->options; !cli_option_is_end(option); option++)
		if (option->name && strlen(option->name) == length && strncmp(option->name, name, length) == 0)
			return option;
	return NULL;
}

static enum tcb_status unknown_option(const struct cli_command *command, const char *word, struct tcb_error *err)
{
	const char *names[NAMES_MAX];
	char given[WORD_MAX], suggestion[WORD_MAX + 32];
	size_t count = 0, length = strcspn(word, "=");

	for (const struct cli_option *option = command->options; !cli_option_is_end(option) && count < NAMES_MAX;
	     option++)
		if (option->name)
			names[count++] = option->name;
	if (length >= sizeof given)
		length = sizeof given - 1;
	memcpy(given, word, length);
	given[length] = '\0';
	const char *nearest = cli_nearest(given + strspn(given, "-"), names, count);
	suggestion[0] = '\0';
	if (nearest) {
		strcpy(suggestion, "; did you mean --");
		strncat(suggestion, nearest, WORD_MAX);
		strcat(suggestion, "?");
	}
	return tcb_fail(err, TCB_E_USAGE, "unknown option %s of '%s'%s See 'tcbtune help %s'", given, command->name,
			nearest ? suggestion : ".", command->name);
}

/* A decimal number without sign; *END points behind it. */
static int read_count(const char *text, uint64_t *out, const char **end)
{
	char *stop;

	if (text[0] < '0' || text[0] > '9')
		return -1;
	errno = 0;
	unsigned long long value = strtoull(text, &stop, 10);
	if (errno)
		return -1;
	*out = value;
	*end = stop;
	return 0;
}

static enum tcb_status set_count(const struct cli_option *option, const char *text, uint64_t *out,
				 struct tcb_error *err)
{
	const char *end;
	uint64_t value;

	if (read_count(text, &value, &end) != 0 || *end)
		return tcb_fail(err, TCB_E_USAGE, "%s%s wants a whole number, not '%s'", option->name ? "--" : "",
				option->name ? option->name : option->argument, text);
	if (option->most && (value < option->least || value > option->most))
		return tcb_fail(err, TCB_E_USAGE, "--%s %s is not between %llu and %llu", option->name, text,
				(unsigned long long)option->least, (unsigned long long)option->most);
	*out = value;
	return TCB_OK;
}

static enum tcb_status set_bytes(const struct cli_option *option, const char *text, uint64_t *out,
				 struct tcb_error *err)
{
	static const char units[] = "KMG";
	const char *end, *unit;
	uint64_t value;
	unsigned shift = 0;

	if (read_count(text, &value, &end) != 0)
		goto bad;
	if (*end) {
		unit = strchr(units, *end >= 'a' && *end <= 'z' ? *end - 'a' + 'A' : *end);
		if (!unit || end[1])
			goto bad;
		shift = 10u * (unsigned)(unit - units + 1);
	}
	/* The database's integers are signed. */
	if (value > ((uint64_t)INT64_MAX >> shift))
		goto bad;
	*out = value << shift;
	return TCB_OK;
bad:
	return tcb_fail(err, TCB_E_USAGE, "--%s wants a size such as 600M or 2G, not '%s'", option->name, text);
}

static enum tcb_status set_seconds(const struct cli_option *option, const char *text, double *out,
				   struct tcb_error *err)
{
	char *end;
	double value, scale = 1;

	if (option->words && strcmp(text, option->words) == 0) {
		*out = INFINITY;
		return TCB_OK;
	}
	value = strtod(text, &end);
	/* strtod takes more than we do: signs, spaces, hexadecimal, exponents, infinity. */
	if (text + strspn(text, "0123456789.") != end)
		goto bad;
	if (strcmp(end, "ms") == 0)
		scale = 1e-3;
	else if (strcmp(end, "m") == 0)
		scale = 60;
	else if (strcmp(end, "h") == 0)
		scale = 3600;
	else if (end == text || (*end && strcmp(end, "s") != 0))
		goto bad;
	/* A century is beyond any use and keeps nanoseconds within 64 bits. */
	if (!isfinite(value) || value <= 0 || value * scale > 3e9)
		goto bad;
	*out = value * scale;
	return TCB_OK;
bad:
	return tcb_fail(err, TCB_E_USAGE, "--%s wants a time above zero such as 500ms, 60s, 2m, 1h%s, not '%s'",
			option->name, option->words ? " or none" : "", text);
}

static enum tcb_status set_number(const struct cli_option *option, const char *text, double *out, struct tcb_error *err)
{
	char *end;
	double value;

	if (option->words && strcmp(text, option->words) == 0) {
		*out = INFINITY;
		return TCB_OK;
	}
	value = strtod(text, &end);
	if (end == text || *end || !strchr("0123456789.", *text) || text + strspn(text, "0123456789.eE+-") != end ||
	    !(value > 0) || !isfinite(value))
		return tcb_fail(err, TCB_E_USAGE, "--%s wants a number above zero%s, not '%s'", option->name,
				option->words ? " or none" : "", text);
	*out = value;
	return TCB_OK;
}

static enum tcb_status set_word(const struct cli_option *option, const char *text, int *out, struct tcb_error *err)
{
	const char *names[NAMES_MAX];
	char copy[256], suggestion[WORD_MAX + 32];
	size_t count = 0;
	char *rest = copy;

	strncpy(copy, option->words, sizeof copy - 1);
	copy[sizeof copy - 1] = '\0';
	for (char *word; (word = strsep(&rest, "|")) && count < NAMES_MAX; count++) {
		names[count] = word;
		if (strcasecmp(word, text) == 0) {
			*out = (int)count;
			return TCB_OK;
		}
	}
	cli_suggestion(text, names, count, suggestion, sizeof suggestion);
	return tcb_fail(err, TCB_E_USAGE, "%s%s wants one of %s, not '%s'%s", option->name ? "--" : "",
			option->name ? option->name : option->argument, option->words, text, suggestion);
}

static enum tcb_status add_item(struct cli_list *list, const char *text, struct tcb_error *err)
{
	const char **items = realloc(list->items, (list->count + 1) * sizeof *items);

	if (!items)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	list->items = items;
	items[list->count++] = text;
	return TCB_OK;
}

/* What TEXT certainly means, if that is another name: kept, and said. */
static enum tcb_status understand(const struct tcb_registry *ops, const struct cli_option *option, const char **text,
				  struct cli_kept *kept, struct tcb_error *err)
{
	char name[CLI_NAME_MAX];
	char **texts;

	if (!text || !*text || !cli_alias_understand(ops, option->names, *text, name))
		return TCB_OK;
	texts = realloc(kept->texts, (kept->count + 1) * sizeof *texts);
	if (!texts)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	kept->texts = texts;
	texts[kept->count] = strdup(name);
	if (!texts[kept->count])
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	cli_say("--%s %s is taken as %s", option->name, *text, name);
	*text = texts[kept->count++];
	return TCB_OK;
}

static enum tcb_status set_value(const struct cli_option *option, const char *text, void *args, struct cli_kept *kept,
				 struct tcb_error *err)
{
	void *member = (char *)args + option->offset;

	TCB_TRY(understand(*(const struct tcb_registry *const *)args, option, &text, kept, err));

	switch (option->kind) {
	case CLI_FLAG:
		*(int *)member = 1;
		return TCB_OK;
	case CLI_TEXT:
		*(const char **)member = text;
		return TCB_OK;
	case CLI_LIST:
		return add_item(member, text, err);
	case CLI_COUNT:
		return set_count(option, text, member, err);
	case CLI_BYTES:
		return set_bytes(option, text, member, err);
	case CLI_SECONDS:
		return set_seconds(option, text, member, err);
	case CLI_NUMBER:
		return set_number(option, text, member, err);
	case CLI_WORD:
		return set_word(option, text, member, err);
	}
	return TCB_OK;
}

/* Which option a word without dashes is for: the first that can take it, a list any number. */
static const struct cli_option *positional(const struct cli_command *command, const unsigned char *seen)
{
	for (const struct cli_option *option = command->options; !cli_option_is_end(option); option++)
		if (!option->name && (option->kind == CLI_LIST || !seen[option - command->options]))
			return option;
	return NULL;
}

static enum tcb_status no_argument(const struct cli_option *option, struct tcb_error *err)
{
	struct tcb_str help = { 0 };

	cli_add_text(&help, option->help);
	tcb_fail(err, TCB_E_USAGE, "--%s needs an argument: --%s %s (%s)", option->name, option->name, option->argument,
		 help.data ? help.data : "");
	tcb_str_fini(&help);
	return TCB_E_USAGE;
}

static enum tcb_status not_given(const struct cli_command *command, const struct cli_option *option,
				 struct tcb_error *err)
{
	struct tcb_str help = { 0 };

	cli_add_text(&help, option->help);
	tcb_fail(err, TCB_E_USAGE, "'%s' needs %s%s%s: %s", command->name, option->name ? "--" : "",
		 option->name ? option->name : "", option->name ? "" : option->argument, help.data ? help.data : "");
	tcb_str_fini(&help);
	return TCB_E_USAGE;
}

/* One word that starts with "--" (or its value too); *INDEX is moved past what was used. */
static enum tcb_status take_option(const struct cli_command *command, int argc, char **argv, int *index,
				   unsigned char *seen, void *args, struct cli_kept *kept, struct tcb_error *err)
{
	const char *word = argv[*index], *name = word + 2, *value = strchr(name, '=');
	const struct cli_option *option = find_option(command, name, value ? (size_t)(value - name) : strlen(name));

	if (strncmp(word, "--", 2) != 0 || !option)
		return unknown_option(command, word, err);
	if (seen[option - command->options]++ && option->kind != CLI_LIST)
		return tcb_fail(err, TCB_E_USAGE, "--%s is given twice; give it once", option->name);
	if (option->kind == CLI_FLAG) {
		if (value)
			return tcb_fail(err, TCB_E_USAGE, "--%s takes no argument", option->name);
		return set_value(option, NULL, args, kept, err);
	}
	if (value) {
		value++;
	} else if (*index + 1 < argc && strncmp(argv[*index + 1], "--", 2) != 0) {
		value = argv[++*index];
	} else {
		value = option->bare;
	}
	if (!value || !*value)
		return no_argument(option, err);
	return set_value(option, value, args, kept, err);
}

enum tcb_status cli_parse(const struct cli_command *command, int argc, char **argv, void *args, struct cli_kept *kept,
			  int *help_out, struct tcb_error *err)
{
	unsigned char seen[OPTIONS_MAX] = { 0 };
	int only_words = 0;

	*help_out = 0;
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			*help_out = 1;
			return TCB_OK;
		}
	}
	for (int i = 0; i < argc; i++) {
		const struct cli_option *word = positional(command, seen);
		if (!only_words && strcmp(argv[i], "--") == 0) {
			only_words = 1;
		} else if (!only_words && argv[i][0] == '-' && argv[i][1]) {
			TCB_TRY(take_option(command, argc, argv, &i, seen, args, kept, err));
		} else if (!word) {
			return tcb_fail(err, TCB_E_USAGE,
					"'%s' takes no further argument, but got '%s'; see 'tcbtune help %s'",
					command->name, argv[i], command->name);
		} else {
			seen[word - command->options] = 1;
			TCB_TRY(set_value(word, argv[i], args, kept, err));
		}
	}
	for (const struct cli_option *option = command->options; !cli_option_is_end(option); option++) {
		if (seen[option - command->options])
			continue;
		if (option->required)
			return not_given(command, option, err);
		if (option->fallback)
			TCB_TRY(set_value(option, option->fallback, args, kept, err));
	}
	return TCB_OK;
}

void cli_args_fini(const struct cli_command *command, void *args, struct cli_kept *kept)
{
	for (size_t i = 0; i < kept->count; i++)
		free(kept->texts[i]);
	free(kept->texts);
	for (const struct cli_option *option = command->options; !cli_option_is_end(option); option++)
		if (option->kind == CLI_LIST)
			free(((struct cli_list *)(void *)((char *)args + option->offset))->items);
}
