/* SPDX-License-Identifier: MIT
 *
 * Winners as JSON and back: an object of objects, one per table, whose members
 * are the columns that make a winner (src/db/winners.c), with the geometries
 * that cannot be told from it.  A file may come from anyone: every member must
 * be there and of its type; what it says is checked where it is stored.
 */
#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "cli/core/emit.h"
#include "cli/db/db_actions.h"

static json_t *value_json(const struct tcb_column *column, const struct tcb_value *value)
{
	json_t *parsed;

	if (value->is_null)
		return json_null();
	switch (column->type) {
	case TCB_COLUMN_INTEGER:
		return json_integer(value->integer);
	case TCB_COLUMN_REAL:
		return cli_json_real(value->real);
	case TCB_COLUMN_JSON:
		parsed = json_loads(value->text, JSON_DECODE_ANY, NULL);
		return parsed ? parsed : cli_json_text(value->text);
	case TCB_COLUMN_TEXT:
		break;
	}
	return cli_json_text(value->text);
}

static json_t *texts_json(const char *const *items, size_t count, int *failed)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		cli_json_add(list, cli_json_text(items[i]), failed);
	return list;
}

json_t *cli_winner_json(const struct tcb_winner *winner, int *failed)
{
	json_t *root = json_object(), *group = NULL;

	for (size_t i = 0; i < tcb_column_travelling(); i++) {
		const struct tcb_column *column = &tcb_columns[i];

		if (i == 0 || strcmp(column->group, column[-1].group) != 0) {
			group = json_object();
			cli_json_set(root, column->group, group, failed);
		}
		cli_json_set(group, column->name, value_json(column, &winner->values[i]), failed);
	}
	cli_json_set(root, "ties", texts_json(winner->ties, winner->tie_count, failed), failed);
	cli_json_set(root, "known_sweeps", texts_json(winner->known, winner->known_count, failed), failed);
	return root;
}

/* One winner that is read; its texts are lent by the JSON, or are in DUMPS. */
struct parsing {
	struct tcb_winner winner;
	char *dumps[TCB_COLUMNS_MAX];
	const char **lists[2];
};

static void parsing_fini(struct parsing *parsing)
{
	for (size_t i = 0; i < TCB_COLUMNS_MAX; i++)
		free(parsing->dumps[i]);
	free(parsing->lists[0]);
	free(parsing->lists[1]);
}

/* 0, or -1: NODE is of another type than FIELD. */
static int read_value(const struct tcb_column *column, const json_t *node, struct tcb_value *value, char **dump)
{
	*value = (struct tcb_value){ .is_null = json_is_null(node) };
	if (value->is_null)
		return column->is_nullable ? 0 : -1;
	value->integer = json_integer_value(node);
	value->real = json_number_value(node);
	value->text = json_string_value(node);
	switch (column->type) {
	case TCB_COLUMN_INTEGER:
		return json_is_integer(node) ? 0 : -1;
	case TCB_COLUMN_REAL:
		return json_is_number(node) ? 0 : -1;
	case TCB_COLUMN_JSON:
		*dump = json_dumps(node, JSON_COMPACT | JSON_REAL_PRECISION(17) | JSON_ENCODE_ANY);
		value->text = *dump;
		return *dump ? 0 : -1;
	case TCB_COLUMN_TEXT:
		break;
	}
	return json_is_string(node) ? 0 : -1;
}

static int read_list(const json_t *node, const char ***items_out, size_t *count_out)
{
	const size_t count = json_array_size(node);

	*items_out = calloc(count + 1, sizeof **items_out);
	*count_out = count;
	if (!*items_out || !json_is_array(node))
		return -1;
	for (size_t i = 0; i < count; i++)
		if (!((*items_out)[i] = json_string_value(json_array_get(node, i))))
			return -1;
	return 0;
}

/* Makes the limits of DEVICE, of an older export, of members of its own; those that lack one stay without. */
static void gather_limits(json_t *device)
{
	const char *name = json_string_value(json_object_get(device, "kind"));
	json_t *limits = json_object();
	enum tcb_target_kind kind;
	int failed = !limits || !name || tcb_kind_find(name, &kind) != 0 || json_object_get(device, "limits") != NULL;

	for (const struct tcb_kind_limit *limit = failed ? NULL : tcb_kinds[kind]->limits; limit && limit->name;
	     limit++) {
		json_t *value = json_object_get(device, limit->name);

		failed |= !json_is_integer(value) || json_object_set(limits, limit->name, value) != 0;
	}
	if (failed)
		json_decref(limits);
	else
		json_object_set_new(device, "limits", limits);
}

/* Winner number NUMBER of NAME into MEMORY. */
static enum tcb_status read_winner(const char *name, size_t number, const json_t *node, struct parsing *parsing,
				   struct tcb_db *memory, struct tcb_error *err)
{
	struct tcb_winner *winner = &parsing->winner;
	struct tcb_error why;

	gather_limits(json_object_get(node, "device"));
	for (size_t i = 0; i < tcb_column_travelling(); i++) {
		const struct tcb_column *column = &tcb_columns[i];
		const json_t *value = json_object_get(json_object_get(node, column->group), column->name);

		/* what an older export does not have is unknown */
		if (!value && column->is_nullable)
			winner->values[i] = (struct tcb_value){ .is_null = 1 };
		else if (!value && column->is_newer)
			winner->values[i] = (struct tcb_value){ .text = "" };
		else if (!value || read_value(column, value, &winner->values[i], &parsing->dumps[i]) != 0)
			return tcb_fail(err, TCB_E_FORMAT, "%.300s: winner %zu: %s.%s is %s: nothing was imported",
					name, number, column->group, column->name,
					value ? "of another type than an export has" : "missing");
	}
	if (read_list(json_object_get(node, "ties"), &parsing->lists[0], &winner->tie_count) != 0 ||
	    read_list(json_object_get(node, "known_sweeps"), &parsing->lists[1], &winner->known_count) != 0)
		return tcb_fail(err, TCB_E_FORMAT,
				"%.300s: winner %zu: ties or known_sweeps are not lists of texts: nothing was imported",
				name, number);
	winner->ties = parsing->lists[0];
	winner->known = parsing->lists[1];
	if (tcb_db_winner_put(memory, winner, &why) == TCB_OK)
		return TCB_OK;
	return tcb_fail(err, TCB_E_FORMAT, "%.400s (winner %zu): nothing was imported", why.message, number);
}

static enum tcb_status read_document(const char *name, const json_t *root, struct tcb_db *memory, size_t *count_out,
				     struct tcb_error *err)
{
	const char *schema = json_string_value(json_object_get(root, "schema"));
	const json_t *winners = json_object_get(root, "winners");

	if (!schema || (strcmp(schema, CLI_DB_EXPORT_SCHEMA) != 0 && strcmp(schema, CLI_DB_EXPORT_SCHEMA_1) != 0))
		return tcb_fail(
			err, TCB_E_FORMAT,
			"%.300s: not an export that this build reads (\"schema\" is %s%.40s, not " CLI_DB_EXPORT_SCHEMA
			"): 'tcbtune db export --format json' makes one",
			name, schema ? "" : "missing", schema ? schema : "");
	if (!json_is_array(winners))
		return tcb_fail(err, TCB_E_FORMAT, "%.300s: has no list of winners: nothing was imported", name);
	*count_out = json_array_size(winners);
	for (size_t i = 0; i < *count_out; i++) {
		struct parsing parsing = { .dumps = { 0 } };
		const enum tcb_status status =
			read_winner(name, i + 1, json_array_get(winners, i), &parsing, memory, err);

		parsing_fini(&parsing);
		TCB_TRY(status);
	}
	return TCB_OK;
}

enum tcb_status cli_winners_parse(const char *name, const char *text, size_t bytes, struct tcb_db *memory,
				  size_t *count_out, struct tcb_error *err)
{
	json_error_t where;
	json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &where);

	*count_out = 0;
	if (!root)
		return tcb_fail(err, TCB_E_FORMAT, "%.300s: is neither JSON (line %d: %.80s) nor a database", name,
				where.line, where.text);
	const enum tcb_status status = read_document(name, root, memory, count_out, err);
	json_decref(root);
	return status;
}
