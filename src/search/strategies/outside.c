/* SPDX-License-Identifier: MIT
 *
 * In: a space whose candidates have names, and lines of JSON.  Out: JSON that
 * describes it, and the candidates that the lines name.
 */
#include "search/strategies/outside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { QUOTED = 60 }; /* characters of what was said, in errors */

/* --- values --- */

static int compare(const void *a, const void *b)
{
	const struct tcb_named_value *x = a, *y = b;

	if (x->is_missing || y->is_missing)
		return x->is_missing - y->is_missing;
	if (x->word && y->word)
		return strcmp(x->word, y->word);
	if (x->word || y->word)
		return (x->word != NULL) - (y->word != NULL);
	return (x->number > y->number) - (x->number < y->number);
}

static json_t *json_of(const struct tcb_named_value *value)
{
	static const double WHOLE_MOST = 9007199254740992; /* 2^53 */

	if (value->is_missing)
		return json_null();
	if (value->word)
		return json_string(value->word);
	if (value->number == rint(value->number) && fabs(value->number) <= WHOLE_MOST)
		return json_integer((json_int_t)value->number);
	return json_real(value->number);
}

/* A word that is a number is one to those outside. */
static struct tcb_named_value value_of(const struct tcb_named_space *space, size_t index, size_t field)
{
	struct tcb_named_value value = space->value(space->ctx, index, field);
	char *end;

	if (!value.word || value.is_missing || !value.word[0])
		return value;
	const double number = strtod(value.word, &end);
	if (*end == '\0' && isfinite(number))
		value = (struct tcb_named_value){ .number = number };
	return value;
}

/* Is GIVEN, as a program wrote it, VALUE?  True and false are 1 and 0. */
static int is_same(const json_t *given, const json_t *value)
{
	if (!json_is_number(value))
		return json_equal((json_t *)given, (json_t *)value);
	if (json_is_boolean(given))
		return json_number_value(value) == (double)json_is_true(given);
	return json_is_number(given) && json_number_value(given) == json_number_value(value);
}

/* --- making it --- */

/* Adds FIELD of SPACE, whose values by index are VALUES, with room for them SORTED, unless it never varies. */
static int add_field(struct tcb_outside *out, const struct tcb_named_space *space, size_t field,
		     struct tcb_named_value *values, struct tcb_named_value *sorted)
{
	struct tcb_outside_parameter *to = &out->parameters[out->fields];
	char room[TCB_NAMED_ROOM];
	size_t distinct = 0;

	for (size_t i = 0; i < space->count; i++)
		sorted[i] = values[i] = value_of(space, i, field);
	qsort(sorted, space->count, sizeof *sorted, compare);
	for (size_t i = 0; i < space->count; i++)
		if (i == 0 || compare(&sorted[i], &sorted[distinct - 1]) != 0)
			sorted[distinct++] = sorted[i];
	if (distinct < 2)
		return 0;
	to->name = strdup(space->name(space->ctx, field, room));
	to->values = json_array();
	for (size_t i = 0; i < distinct; i++)
		if (json_array_append_new(to->values, json_of(&sorted[i])) != 0)
			return -1;
	for (size_t i = 0; i < space->count; i++) {
		const struct tcb_named_value *at = bsearch(&values[i], sorted, distinct, sizeof *sorted, compare);

		out->rank[i * space->fields + out->fields] = (uint32_t)(at - sorted);
	}
	out->fields++;
	return to->name ? 0 : -1;
}

enum tcb_status tcb_outside_init(struct tcb_outside *outside, const struct tcb_named_space *space,
				 struct tcb_error *err)
{
	struct tcb_named_value *values = malloc(space->count * sizeof *values + 1),
			       *sorted = malloc(space->count * sizeof *sorted + 1);
	int failed;

	*outside = (struct tcb_outside){ .count = space->count };
	outside->parameters = calloc(space->fields + 1, sizeof *outside->parameters);
	outside->rank = calloc(space->count * space->fields + 1, sizeof *outside->rank);
	failed = !values || !sorted || !outside->parameters || !outside->rank;
	for (size_t field = 0; field < space->fields && !failed; field++)
		failed = add_field(outside, space, field, values, sorted) != 0;
	for (size_t i = 1; i < space->count && !failed; i++) /* rows of all fields become rows of those that vary */
		memmove(outside->rank + i * outside->fields, outside->rank + i * space->fields,
			outside->fields * sizeof *outside->rank);
	free(values);
	free(sorted);
	if (!failed)
		return TCB_OK;
	outside->fields = space->fields;
	tcb_outside_fini(outside);
	return tcb_fail(err, TCB_E_NOMEM, "out of memory for the description of %zu candidates", space->count);
}

void tcb_outside_fini(struct tcb_outside *outside)
{
	for (size_t i = 0; outside->parameters && i < outside->fields; i++) {
		free(outside->parameters[i].name);
		json_decref(outside->parameters[i].values);
	}
	free(outside->parameters);
	free(outside->rank);
	*outside = (struct tcb_outside){ 0 };
}

/* --- as JSON --- */

json_t *tcb_outside_configuration(const struct tcb_outside *outside, size_t index)
{
	json_t *object = json_object();

	for (size_t f = 0; f < outside->fields; f++)
		(void)json_object_set(
			object, outside->parameters[f].name,
			json_array_get(outside->parameters[f].values, outside->rank[index * outside->fields + f]));
	return object;
}

json_t *tcb_outside_parameters(const struct tcb_outside *outside)
{
	json_t *list = json_array();

	for (size_t f = 0; f < outside->fields; f++)
		(void)json_array_append_new(list, json_pack("{s:s, s:O}", "name", outside->parameters[f].name, "values",
							    outside->parameters[f].values));
	return list;
}

json_t *tcb_outside_candidates(const struct tcb_outside *outside)
{
	json_t *list = json_array();

	for (size_t i = 0; i < outside->count; i++) {
		json_t *row = json_array();

		for (size_t f = 0; f < outside->fields; f++)
			(void)json_array_append_new(row, json_integer(outside->rank[i * outside->fields + f]));
		(void)json_array_append_new(list, row);
	}
	return list;
}

/* --- answers --- */

static enum tcb_status find_index(const struct tcb_outside *outside, const json_t *index, size_t *out,
				  struct tcb_error *err)
{
	const json_int_t value = json_integer_value(index);

	if (!json_is_integer(index))
		return tcb_fail(err, TCB_E_FORMAT, "its \"index\" is not a whole number");
	if (value < 0 || (uint64_t)value >= outside->count)
		return tcb_fail(err, TCB_E_USAGE, "it asked for index %lld of a space of %zu candidates",
				(long long)value, outside->count);
	*out = (size_t)value;
	return TCB_OK;
}

/* The ranks of what GIVEN has, all of them. */
static enum tcb_status find_ranks(const struct tcb_outside *outside, const json_t *given, uint32_t *ranks,
				  struct tcb_error *err)
{
	for (size_t f = 0; f < outside->fields; f++) {
		const struct tcb_outside_parameter *parameter = &outside->parameters[f];
		const json_t *value = json_object_get(given, parameter->name);
		const size_t count = json_array_size(parameter->values);
		size_t rank = 0;

		if (!value)
			return tcb_fail(err, TCB_E_FORMAT, "its \"parameters\" lack %.60s", parameter->name);
		while (rank < count && !is_same(value, json_array_get(parameter->values, rank)))
			rank++;
		if (rank == count)
			return tcb_fail(err, TCB_E_USAGE,
					"it asked for a %.60s that is outside the space: there are %zu values",
					parameter->name, count);
		ranks[f] = (uint32_t)rank;
	}
	if (json_object_size(given) != outside->fields)
		return tcb_fail(err, TCB_E_FORMAT, "its \"parameters\" are %zu, and the space has %zu",
				json_object_size(given), outside->fields);
	return TCB_OK;
}

static enum tcb_status find_parameters(const struct tcb_outside *outside, const json_t *given, size_t *out,
				       struct tcb_error *err)
{
	if (!json_is_object(given))
		return tcb_fail(err, TCB_E_FORMAT, "its \"parameters\" are not an object");
	uint32_t *ranks = calloc(outside->fields + 1, sizeof *ranks);
	enum tcb_status status = ranks ? find_ranks(outside, given, ranks, err)
				       : tcb_fail(err, TCB_E_NOMEM, "out of memory for its answer");
	size_t index = 0;

	while (status == TCB_OK && index < outside->count &&
	       memcmp(outside->rank + index * outside->fields, ranks, outside->fields * sizeof *ranks) != 0)
		index++;
	free(ranks);
	if (status == TCB_OK && index == outside->count)
		return tcb_fail(err, TCB_E_USAGE,
				"it asked for a configuration that is outside the space: its values break a condition");
	*out = index;
	return status;
}

/* The first of LINE, as far as it can be shown. */
static void quote(const char *line, size_t bytes, char out[QUOTED + 1])
{
	size_t i = 0;

	for (; i < bytes && i < QUOTED; i++)
		out[i] = (char)(line[i] >= ' ' && line[i] <= '~' ? line[i] : '?');
	out[i] = '\0';
}

enum tcb_status tcb_outside_answer(const struct tcb_outside *outside, const char *line, size_t bytes, size_t *index_out,
				   struct tcb_error *err)
{
	char quoted[QUOTED + 1];
	json_t *answer = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, NULL);
	const json_t *index = json_object_get(answer, "index"), *parameters = json_object_get(answer, "parameters");
	enum tcb_status status = TCB_OK;

	*index_out = TCB_ASK_NONE;
	if (index && !parameters)
		status = find_index(outside, index, index_out, err);
	else if (parameters && !index)
		status = find_parameters(outside, parameters, index_out, err);
	else if (!json_is_true(json_object_get(answer, "end"))) {
		quote(line, bytes, quoted);
		status = tcb_fail(err, TCB_E_FORMAT,
				  "it answered '%s' instead of {\"index\": ...}, {\"parameters\": {...}} or {\"end\": "
				  "true}",
				  quoted);
	}
	json_decref(answer);
	return status;
}
