/* SPDX-License-Identifier: MIT
 *
 * A list as Python writes one comes in, its values go out.  Lists are
 * "[a, b]", "(a, b)", "[f(i) for i in range(...)]", "range(...)" and "list(range(...))",
 * one or several that are added.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "kernelfile/kernel_file.h"

enum { VALUES_MAX = 4096 };

struct values {
	struct tcb_value *list;
	size_t count, capacity;
	const char *text; /* of all, for messages */
	struct tcb_error *err;
};

static enum tcb_status refuse(const struct values *values, const char *what)
{
	return tcb_fail(values->err, TCB_E_USAGE, "values '%.120s': %s", values->text, what);
}

void tcb_kernel_file_values_free(struct tcb_value *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (values[i].type == TCB_VALUE_TEXT)
			free((char *)(uintptr_t)values[i].text);
	free(values);
}

static enum tcb_status add(struct values *values, const struct tcb_value *value)
{
	struct tcb_value kept = *value, *list;

	if (values->count == VALUES_MAX)
		return refuse(values, "more than 4096 of them");
	if (kept.type == TCB_VALUE_TEXT)
		kept.text = strdup(kept.text);
	list = tcb_grow(values->list, values->count, &values->capacity, 16, sizeof *list);
	if (!list || (kept.type == TCB_VALUE_TEXT && !kept.text))
		return tcb_fail(values->err, TCB_E_NOMEM, "out of memory for a parameter's values");
	values->list = list;
	list[values->count++] = kept;
	return TCB_OK;
}

/* The value of the LENGTH characters at TEXT, where NAME is WHOLE (NULL: nothing is named), added. */
static enum tcb_status add_value(struct values *values, const char *text, size_t length, const char *name,
				 int64_t whole)
{
	char *copy = strndup(text, length);
	struct tcb_expression *expression = NULL;
	const struct tcb_value bound = { .type = TCB_VALUE_WHOLE, .whole = whole };
	struct tcb_value value;
	enum tcb_status status;

	if (!copy)
		return tcb_fail(values->err, TCB_E_NOMEM, "out of memory for a parameter's values");
	status = tcb_expression_create(copy, &name, name ? 1 : 0, &expression, values->err);
	if (status == TCB_OK)
		status = tcb_expression_value(expression, &bound, &value, values->err);
	if (status == TCB_OK)
		status = add(values, &value);
	tcb_expression_destroy(expression);
	free(copy);
	return status;
}

/* How far it is from AT to one of the characters of ENDS that is not within brackets or quotes, or to the end. */
static size_t span(const char *at, const char *ends)
{
	size_t length = 0;
	int depth = 0;

	for (char quote = '\0'; at[length]; length++) {
		const char c = at[length];

		if (quote) {
			quote = c == quote ? '\0' : quote;
			continue;
		}
		if (depth == 0 && strchr(ends, c))
			break;
		if (c == '\'' || c == '"')
			quote = c;
		depth += (c == '(' || c == '[') - (c == ')' || c == ']');
	}
	return length;
}

static const char *past_space(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return at;
}

/* --- ranges --- */

struct range {
	int64_t from, to, step;
};

/* What stands within the brackets at AT, "(1, 9, 2)"; NULL after a failure, else what is behind. */
static const char *read_range(struct values *values, const char *at, struct range *out)
{
	struct values numbers = { .text = values->text, .err = values->err };
	int64_t number[3] = { 0 };
	int is_fine = *at == '(';

	for (at++; is_fine && *(at = past_space(at)) && *at != ')';) {
		const size_t length = span(at, ",)");

		is_fine = add_value(&numbers, at, length, NULL, 0) == TCB_OK && numbers.count <= 3 &&
			  numbers.list[numbers.count - 1].type == TCB_VALUE_WHOLE;
		at += length + (at[length] == ',');
	}
	for (size_t i = 0; is_fine && i < numbers.count; i++)
		number[i] = numbers.list[i].whole;
	*out = (struct range){ numbers.count > 1 ? number[0] : 0, numbers.count > 1 ? number[1] : number[0],
			       numbers.count > 2 ? number[2] : 1 };
	is_fine = is_fine && numbers.count && *at == ')' && out->step != 0;
	tcb_kernel_file_values_free(numbers.list, numbers.count);
	if (!is_fine)
		(void)refuse(values, "an invalid range");
	return is_fine ? at + 1 : NULL;
}

/* WHAT (LENGTH characters) for each I of RANGE. */
static enum tcb_status add_range(struct values *values, const struct range *range, const char *what, size_t length,
				 const char *name)
{
	for (int64_t i = range->from; range->step > 0 ? i < range->to : i > range->to;) {
		TCB_TRY(add_value(values, what, length, name, i));
		if (__builtin_add_overflow(i, range->step, &i))
			break;
	}
	return TCB_OK;
}

/* --- lists --- */

/* Where "for" stands in the LENGTH characters at AT, as a word of its own; LENGTH: nowhere. */
static size_t find_for(const char *at, size_t length)
{
	for (size_t i = 1; i + 4 < length; i++)
		if (strncmp(at + i, "for", 3) == 0 && isspace((unsigned char)at[i + 3]) &&
		    !isalnum((unsigned char)at[i - 1]) && at[i - 1] != '_')
			return i;
	return length;
}

/* "i in range(...)", behind "WHAT for". */
static enum tcb_status add_comprehension(struct values *values, const char *what, size_t length, const char *at,
					 const char *end)
{
	char name[32];
	struct range range;
	size_t letters = 0;

	at = past_space(at);
	while (isalnum((unsigned char)at[letters]) || at[letters] == '_')
		letters++;
	if (!letters || letters >= sizeof name)
		return refuse(values, "'for' without a name");
	memcpy(name, at, letters);
	name[letters] = '\0';
	at = past_space(at + letters);
	if (strncmp(at, "in", 2) != 0 || strncmp(past_space(at + 2), "range", 5) != 0)
		return refuse(values, "'for' is understood over a range only");
	at = read_range(values, past_space(past_space(at + 2) + 5), &range);
	if (!at)
		return TCB_E_USAGE;
	if (past_space(at) != end)
		return refuse(values, "more behind a range than is understood");
	return add_range(values, &range, what, length, name);
}

/* What stands between brackets, up to END. */
static enum tcb_status add_items(struct values *values, const char *at, const char *end)
{
	const size_t whole = (size_t)(end - at), what = find_for(at, whole);

	if (what < whole)
		return add_comprehension(values, at, what, at + what + 3, end);
	while ((at = past_space(at)) < end) {
		const size_t length = span(at, ",])");

		TCB_TRY(add_value(values, at, length, NULL, 0));
		at += length;
		if (at < end && *at++ != ',')
			return refuse(values, "brackets that do not match");
	}
	return TCB_OK;
}

/* One list at AT; NULL after a failure, else what is behind it. */
static const char *read_list(struct values *values, const char *at)
{
	const int is_range = strncmp(at, "range", 5) == 0, is_list = strncmp(at, "list(", 5) == 0;
	struct range range;

	if (is_range) {
		at = read_range(values, past_space(at + 5), &range);
		return at && add_range(values, &range, "i", 1, "i") == TCB_OK ? at : NULL;
	}
	if (is_list) {
		at = read_list(values, past_space(at + 5));
		return at && *past_space(at) == ')' ? past_space(at) + 1 : NULL;
	}
	if (*at != '[' && *at != '(') {
		(void)refuse(values, "neither a list in brackets nor a range");
		return NULL;
	}
	const char *end = at + 1 + span(at + 1, *at == '[' ? "]" : ")");

	if (!*end) {
		(void)refuse(values, "a bracket without its end");
		return NULL;
	}
	return add_items(values, at + 1, end) == TCB_OK ? end + 1 : NULL;
}

enum tcb_status tcb_kernel_file_values(const char *text, struct tcb_value **out, size_t *count_out,
				       struct tcb_error *err)
{
	struct tcb_error reason = { TCB_E_USAGE, "" };
	struct values values = { .text = text, .err = &reason };
	const char *at = read_list(&values, past_space(text));

	while (at && *(at = past_space(at)) == '+')
		at = read_list(&values, past_space(at + 1));
	if (at && *at)
		(void)refuse(&values, "more behind a list than is understood");
	else if (at && !values.count)
		(void)refuse(&values, "there are none");
	if (!at || *at || !values.count) {
		tcb_kernel_file_values_free(values.list, values.count);
		if (!reason.message[0])
			(void)refuse(&values, "an invalid list");
		return tcb_fail(err, reason.status, "%s", reason.message);
	}
	*out = values.list;
	*count_out = values.count;
	return TCB_OK;
}
