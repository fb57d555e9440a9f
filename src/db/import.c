/* SPDX-License-Identifier: MIT
 *
 * Databases in memory: winners that are on their way from one database to
 * another.  What came from a file is checked as a whole there, marked, and then
 * merged like any other database, so that nobody has to say twice which of two
 * winners stays.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "db/db_private.h"
#include "db/recordings.h"
#include "db/travel.h"

static const char doing[] = "importing";

static enum tcb_status make(const char *name, struct tcb_db **out, struct tcb_error *err)
{
	struct tcb_db *db = calloc(1, sizeof *db);

	*out = db;
	if (!db)
		return tcb_fail(err, TCB_E_NOMEM, "%.200s: out of memory", name);
	db->mode = TCB_DB_WRITE;
	snprintf(db->path, sizeof db->path, "%s", name);
	return TCB_OK;
}

/* *OUT, made by STATUS, ready for use; or closed. */
static enum tcb_status finish(struct tcb_db **out, enum tcb_status status, struct tcb_error *err)
{
	if (status == TCB_OK)
		status = tcb_db_exec(*out, "PRAGMA foreign_keys = ON", doing, err);
	if (status == TCB_OK)
		return status;
	tcb_db_close(*out);
	*out = NULL;
	return status;
}

enum tcb_status tcb_db_memory(const char *name, struct tcb_db **out, struct tcb_error *err)
{
	TCB_TRY(make(name, out, err));
	return finish(out, tcb_schema_fresh(tcb_migrations, tcb_migration_count, *out, err), err);
}

enum tcb_status tcb_db_copy(struct tcb_db *db, struct tcb_db **out, struct tcb_error *err)
{
	TCB_TRY(make(db->path, out, err));
	(*out)->names = db->names;
	const int rc = tcb_db_copy_to_memory(db->sql, &(*out)->sql);
	return finish(out, rc == SQLITE_OK ? TCB_OK : tcb_db_fail(db, rc, "copying it into memory", err), err);
}

enum tcb_status tcb_db_bytes(struct tcb_db *memory, void **out, size_t *count_out, struct tcb_error *err)
{
	sqlite3_int64 count = 0;

	TCB_TRY(tcb_db_exec(memory, "VACUUM", "exporting", err));
	unsigned char *bytes = sqlite3_serialize(memory->sql, "main", &count, 0);
	*out = bytes ? malloc((size_t)count) : NULL;
	if (*out)
		memcpy(*out, bytes, (size_t)count);
	sqlite3_free(bytes);
	*count_out = (size_t)count;
	return *out ? TCB_OK : tcb_db_fail(memory, SQLITE_NOMEM, "exporting", err);
}

enum tcb_status tcb_db_mark_imported(struct tcb_db *winners, const char *from, struct tcb_error *err)
{
	sqlite3_stmt *stmt;
	struct tcb_error why;
	const enum tcb_status status = tcb_db_check(winners, NULL, NULL, &why);

	if (status != TCB_OK)
		return tcb_fail(err, status, "%.440s: nothing was imported", why.message);
	TCB_TRY(tcb_db_query(winners, &stmt, doing, err,
			     "UPDATE sweep SET imported_from = ?1, imported_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
			     "t", from));
	return tcb_db_finish(winners, stmt, NULL, doing, err);
}

enum tcb_status tcb_db_import(struct tcb_db *db, struct tcb_db *winners, struct tcb_db_merged *out,
			      struct tcb_error *err)
{
	sqlite3_stmt *stmt;
	int64_t provisional = 0;

	*out = (struct tcb_db_merged){ 0 };
	TCB_TRY(tcb_db_recordings_agree(db, winners, err));
	TCB_TRY(tcb_db_merge_from(db, winners, out, err));
	TCB_TRY(tcb_db_query(db, &stmt, doing, err, "SELECT count(*) FROM best WHERE provisional", ""));
	TCB_TRY(tcb_db_finish(db, stmt, &provisional, doing, err));
	out->provisional = (size_t)provisional;
	return TCB_OK;
}
