/* SPDX-License-Identifier: MIT
 *
 * The table of a result's columns against what must agree with it: the tables
 * of a database, a row that is stored and read back, and the JSON Schemas.
 */
#include <jansson.h>
#include <sqlite3.h>

#include "cmocka_all.h"
#include "db/columns.h"
#include "db_fixture.h"

/* Columns of the table of best rows that say to what a row belongs. */
static int is_reference(const char *name)
{
	return strcmp(name, "id") == 0 || (strlen(name) > 3 && strcmp(name + strlen(name) - 3, "_id") == 0);
}

static const struct tcb_column *find(const char *group, const char *name)
{
	for (size_t i = 0; i < tcb_column_count; i++)
		if (strcmp(tcb_columns[i].group, group) == 0 && strcmp(tcb_columns[i].name, name) == 0)
			return &tcb_columns[i];
	return NULL;
}

static void test_database(void **state)
{
	struct fixture fixture;
	struct tcb_db *db;
	sqlite3 *sql;
	sqlite3_stmt *stmt;

	(void)state;
	fixture_init(&fixture);
	assert_int_equal(tcb_db_open(fixture.path, TCB_DB_WRITE, &db, NULL), TCB_OK);
	tcb_db_close(db);
	assert_int_equal(sqlite3_open(fixture.path, &sql), SQLITE_OK);
	for (size_t i = 0; i < tcb_column_count; i++) {
		const struct tcb_column *column = &tcb_columns[i];

		if (column->expression)
			continue;
		assert_int_equal(sqlite3_prepare_v2(sql,
						    "SELECT \"notnull\", type FROM pragma_table_info(?1)"
						    " WHERE name = ?2",
						    -1, &stmt, NULL),
				 SQLITE_OK);
		sqlite3_bind_text(stmt, 1, column->group, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 2, column->name, -1, SQLITE_STATIC);
		assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
		assert_int_equal(sqlite3_column_int(stmt, 0), !column->is_nullable);
		assert_string_equal(sqlite3_column_text(stmt, 1), column->type == TCB_COLUMN_INTEGER ? "INTEGER"
								  : column->type == TCB_COLUMN_REAL  ? "REAL"
												     : "TEXT");
		sqlite3_finalize(stmt);
	}
	assert_int_equal(sqlite3_prepare_v2(sql, "SELECT name FROM pragma_table_info('best')", -1, &stmt, NULL),
			 SQLITE_OK);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);

		if (!is_reference(name) && !find("best", name))
			fail_msg("no row for best.%s", name);
	}
	sqlite3_finalize(stmt);
	sqlite3_close(sql);
	fixture_fini(&fixture);
}

/* Every member of a best row gets a value of its own. */
static void fill(struct tcb_best *best)
{
	for (size_t i = 0; i < tcb_column_count; i++) {
		const struct tcb_column *column = &tcb_columns[i];
		void *member = (char *)best + column->offset;

		if (strcmp(column->group, "best") != 0)
			continue;
		if (column->member == TCB_MEMBER_TEXT || column->member == TCB_MEMBER_TIME)
			(void)snprintf(member, column->capacity, "text %zu", i);
		else if (column->member == TCB_MEMBER_SIZE || column->member == TCB_MEMBER_ROUNDS)
			*(size_t *)member = 1000 - i;
		else if (column->member == TCB_MEMBER_REAL)
			*(double *)member = 1 / (1.0 + (double)i);
	}
	best->modelled = 1; /* needs no trial */
	best->tie_count = 0;
}

static int keep(void *ctx, const struct tcb_best *best)
{
	memcpy(ctx, best, sizeof *best);
	return 1;
}

static void test_round_trip(void **state)
{
	static struct tcb_best stored, read;
	struct tcb_problem problem = fixture_problem(64, 256);
	struct tcb_device device;
	struct fixture fixture;
	struct tcb_db *db;

	(void)state;
	fixture_init(&fixture);
	fixture_device(&device);
	fill(&stored);
	assert_int_equal(tcb_db_open(fixture.path, TCB_DB_WRITE, &db, NULL), TCB_OK);
	const int64_t sweep = fixture_sweep(db, &device, &problem, NULL);
	assert_int_equal(tcb_db_best_put(db, sweep, &stored, NULL, 0, NULL), TCB_OK);
	assert_int_equal(tcb_db_best_each(db, NULL, keep, &read, NULL), TCB_OK);
	for (size_t i = 0; i < tcb_column_count; i++) {
		const struct tcb_column *column = &tcb_columns[i];

		if (!column->member || strcmp(column->group, "best") != 0)
			continue;
		if (column->type == TCB_COLUMN_TEXT)
			assert_string_equal(tcb_column_text(column, &read), tcb_column_text(column, &stored));
		else
			assert_true(tcb_column_number(column, &read) == tcb_column_number(column, &stored));
	}
	tcb_db_close(db);
	fixture_fini(&fixture);
}

/* --- schemas --- */

static json_t *load(const char *name)
{
	char path[512];
	json_t *root;

	(void)snprintf(path, sizeof path, "%s/schemas/%s.schema.json", TCB_SOURCE_DIR, name);
	root = json_load_file(path, 0, NULL);
	assert_non_null(root);
	return root;
}

static const json_t *below(const json_t *node, const char *const *path)
{
	for (; *path; path++)
		node = json_object_get(node, *path);
	return node;
}

/* Whether LIST, a text or texts, has TEXT. */
static int has(const json_t *list, const char *text)
{
	if (json_is_string(list))
		return strcmp(json_string_value(list), text) == 0;
	for (size_t i = 0; i < json_array_size(list); i++)
		if (strcmp(json_string_value(json_array_get(list, i)), text) == 0)
			return 1;
	return 0;
}

/* That OBJECT, a schema, demands NAME, which is of TYPE where it is not of a definition. */
static void expect(const char *schema, const json_t *object, const char *name, const char *type, int is_nullable)
{
	const json_t *property = json_object_get(json_object_get(object, "properties"), name);
	const json_t *types = json_object_get(property, "type");

	if (!property || !has(json_object_get(object, "required"), name))
		fail_msg("%s.schema.json: no %s, or not required", schema, name);
	if (types && (!has(types, type) || (is_nullable && !has(types, "null"))))
		fail_msg("%s.schema.json: %s is not of type %s", schema, name, type);
}

static const char *type_of(const struct tcb_column *column)
{
	return column->member == TCB_MEMBER_FLAG    ? "boolean"
	       : column->type == TCB_COLUMN_INTEGER ? "integer"
	       : column->type == TCB_COLUMN_REAL    ? "number"
						    : "string";
}

static void test_report_and_sweep(void **state)
{
	static const struct {
		const char *schema, *path[6];
	} places[] = { { "report", { "properties", "best", "items" } }, { "sweep", { "$defs", "best" } } };

	(void)state;
	for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
		json_t *root = load(places[p].schema);
		const json_t *object = below(root, places[p].path);

		for (size_t i = 0; i < tcb_column_count; i++)
			if (tcb_columns[i].json)
				expect(places[p].schema, object, tcb_columns[i].json, type_of(&tcb_columns[i]),
				       tcb_columns[i].is_nullable);
		json_decref(root);
	}
}

static void test_export(void **state)
{
	json_t *root = load("db-export");
	const json_t *winner = below(root, (const char *const[]){ "properties", "winners", "items", NULL });

	(void)state;
	for (size_t i = 0; i < tcb_column_travelling(); i++) {
		const struct tcb_column *column = &tcb_columns[i];
		const json_t *group = below(winner, (const char *const[]){ "properties", column->group, NULL });

		if (!json_object_get(json_object_get(group, "properties"), column->name))
			fail_msg("db-export.schema.json: no %s.%s", column->group, column->name);
	}
	json_decref(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_database),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_report_and_sweep),
		cmocka_unit_test(test_export),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
