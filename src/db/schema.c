/* SPDX-License-Identifier: MIT
 *
 * The schema that a file should have: an empty database in memory, made by the
 * migrations, is held against the file's.  A name in our statements may only
 * mean our table: a view of that name can be endless, a generated column
 * expensive, and a trigger runs when we write.
 */
#include "db/db_private.h"

static const char doing[] = "comparing schemas";

enum tcb_status tcb_schema_fresh(const struct tcb_migration *list, int count, struct tcb_db *out, struct tcb_error *err)
{
	int rc = sqlite3_open_v2(":memory:", &out->sql, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);

	if (rc == SQLITE_OK)
		rc = tcb_db_add_functions(out->sql);
	if (rc != SQLITE_OK)
		return tcb_db_fail(out, rc, doing, err);
	for (int i = 0; i < count; i++)
		TCB_TRY(tcb_db_exec(out, list[i].sql, doing, err));
	return TCB_OK;
}

/* The table of FRESH's row STMT, which has name and text: is it in DB just so? */
static enum tcb_status check_table(struct tcb_db *db, sqlite3_stmt *fresh, int version, struct tcb_error *err)
{
	const char *name = (const char *)sqlite3_column_text(fresh, 0);
	sqlite3_stmt *stmt;
	int64_t count = 0;

	TCB_TRY(tcb_db_query(db, &stmt, doing, err,
			     "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1 AND sql = ?2", "tt",
			     name, (const char *)sqlite3_column_text(fresh, 1)));
	TCB_TRY(tcb_db_finish(db, stmt, &count, doing, err));
	if (count == 1)
		return TCB_OK;
	return tcb_fail(err, TCB_E_FORMAT,
			"%s: its %s is not the table that schema version %d has: restore a copy, or use --db with "
			"another file",
			db->path, name, version);
}

static enum tcb_status check_tables(struct tcb_db *db, struct tcb_db *fresh, int version, struct tcb_error *err)
{
	sqlite3_stmt *stmt;
	enum tcb_status status;
	int row;

	TCB_TRY(tcb_db_query(fresh, &stmt, doing, err,
			     "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
			     ""));
	while ((status = tcb_db_step(fresh, stmt, &row, doing, err)) == TCB_OK && row)
		if ((status = check_table(db, stmt, version, err)) != TCB_OK)
			break;
	sqlite3_finalize(stmt);
	return status;
}

static enum tcb_status check_triggers(struct tcb_db *db, struct tcb_error *err)
{
	sqlite3_stmt *stmt;
	int64_t count = 0;

	TCB_TRY(tcb_db_query(db, &stmt, doing, err, "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'", ""));
	TCB_TRY(tcb_db_finish(db, stmt, &count, doing, err));
	return count == 0 ? TCB_OK
			  : tcb_fail(err, TCB_E_FORMAT,
				     "%s: holds triggers, which tcbtune does not run: drop them, or use --db with "
				     "another file",
				     db->path);
}

enum tcb_status tcb_schema_check(struct tcb_db *db, const struct tcb_migration *list, int count, struct tcb_error *err)
{
	struct tcb_db fresh = { .path = ":memory:" };
	enum tcb_status status = check_triggers(db, err);

	if (status == TCB_OK)
		status = tcb_schema_fresh(list, count, &fresh, err);
	if (status == TCB_OK)
		status = check_tables(db, &fresh, count, err);
	sqlite3_close(fresh.sql);
	return status;
}
