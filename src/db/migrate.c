/* SPDX-License-Identifier: MIT
 *
 * Whose file it is, and bringing it to this build's schema.  The numbered
 * scripts of schemas/ are applied in order, all in one transaction that is
 * checked before it is committed; user_version counts them.  A reader changes
 * no file: it reads one of an older version through a copy in memory, which is
 * migrated.
 */
#include <stdio.h>

#include "db/db_private.h"

/* *VERSION_OUT is 0 for an empty file. */
static enum tcb_status identify(struct tcb_db *db, int newest, int64_t *version_out, struct tcb_error *err)
{
	int64_t application, objects = 0;
	sqlite3_stmt *stmt;
	int rc = tcb_db_pragma(db, "application_id", &application);

	if (rc == SQLITE_OK)
		rc = tcb_db_pragma(db, "user_version", version_out);
	if (rc != SQLITE_OK)
		return tcb_db_fail(db, rc, "reading its header", err);
	TCB_TRY(tcb_db_query(db, &stmt, "reading its schema", err, "SELECT count(*) FROM sqlite_schema", ""));
	TCB_TRY(tcb_db_finish(db, stmt, &objects, "reading its schema", err));

	if (application == 0 && objects == 0 && *version_out == 0)
		return TCB_OK;
	if (application != TCB_DB_APPLICATION_ID)
		return tcb_fail(
			err, TCB_E_FORMAT,
			"%s: is the database of another application (application_id %lld): use --db with another "
			"file",
			db->path, (long long)application);
	if (*version_out > newest)
		return tcb_fail(err, TCB_E_VERSION,
				"%s: has schema version %lld, this build knows up to %d: upgrade tcbtune, or use --db "
				"with another file",
				db->path, (long long)*version_out, newest);
	if (*version_out < 1)
		return tcb_fail(err, TCB_E_FORMAT, "%s: is damaged (schema version %lld): restore a copy", db->path,
				(long long)*version_out);
	return TCB_OK;
}

/* Also its tables: a migration, and whoever reads, runs over them. */
static enum tcb_status recognise(struct tcb_db *db, const struct tcb_migration *list, int newest, int64_t *version_out,
				 struct tcb_error *err)
{
	TCB_TRY(identify(db, newest, version_out, err));
	return *version_out ? tcb_schema_check(db, list, (int)*version_out, err) : TCB_OK;
}

static enum tcb_status apply(struct tcb_db *db, const struct tcb_migration *migration, struct tcb_error *err)
{
	int64_t version;
	int rc;
	char doing[64];

	snprintf(doing, sizeof(doing), "migrating it to schema version %d", migration->version);
	TCB_TRY(tcb_db_exec(db, migration->sql, doing, err));
	rc = tcb_db_pragma(db, "user_version", &version);
	if (rc != SQLITE_OK)
		return tcb_db_fail(db, rc, doing, err);
	if (version != migration->version)
		return tcb_fail(err, TCB_E_FAILED, "%s: migration %d set user_version %lld", db->path,
				migration->version, (long long)version);
	return TCB_OK;
}

/* Inside the transaction: another process may have migrated the file while this one waited for the lock. */
static enum tcb_status apply_missing(struct tcb_db *db, const struct tcb_migration *list, int count,
				     struct tcb_error *err)
{
	int64_t version;
	sqlite3_stmt *stmt;
	int row;

	TCB_TRY(recognise(db, list, count, &version, err));
	if (version == count)
		return TCB_OK;
	for (int i = (int)version; i < count; i++)
		TCB_TRY(apply(db, &list[i], err));
	if (db->file)
		return TCB_OK; /* nothing is kept, and `tcbtune db check` names what refers to nothing */
	/* Enforcement is off while tables are rebuilt (it cannot change inside a transaction), so look once. */
	TCB_TRY(tcb_db_query(db, &stmt, "migrating it", err, "PRAGMA foreign_key_check", ""));
	TCB_TRY(tcb_db_step(db, stmt, &row, "migrating it", err));
	sqlite3_finalize(stmt);
	if (row)
		return tcb_fail(
			err, TCB_E_FORMAT,
			"%s: cannot be migrated, it holds rows that refer to missing rows: see `tcbtune db check`",
			db->path);
	return TCB_OK;
}

int tcb_db_copy_to_memory(sqlite3 *source, sqlite3 **copy_out)
{
	sqlite3_backup *backup;
	sqlite3 *copy;
	int rc = sqlite3_open_v2(":memory:", &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

	if (rc == SQLITE_OK)
		rc = tcb_db_distrust(copy);
	backup = rc == SQLITE_OK ? sqlite3_backup_init(copy, "main", source, "main") : NULL;
	if (backup) {
		rc = sqlite3_backup_step(backup, -1);
		rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
		sqlite3_backup_finish(backup);
	} else if (rc == SQLITE_OK) {
		rc = sqlite3_errcode(copy);
	}
	if (rc != SQLITE_OK)
		sqlite3_close(copy);
	else
		*copy_out = copy;
	return rc;
}

/* From now on DB is a copy of its file in memory, to which the file's connection stays open. */
static enum tcb_status copy_to_memory(struct tcb_db *db, struct tcb_error *err)
{
	sqlite3 *copy;
	const int rc = tcb_db_copy_to_memory(db->sql, &copy);

	if (rc != SQLITE_OK)
		return tcb_db_fail(db, rc, "copying it into memory", err);
	db->file = db->sql;
	db->sql = copy;
	return TCB_OK;
}

static enum tcb_status migrate_now(struct tcb_db *db, const struct tcb_migration *list, int count,
				   struct tcb_error *err)
{
	TCB_TRY(tcb_db_begin(db, "migrating it", err));
	return tcb_db_end(db, apply_missing(db, list, count, err), "migrating it", err);
}

enum tcb_status tcb_db_migrate(struct tcb_db *db, const struct tcb_migration *list, int count, struct tcb_error *err)
{
	int64_t version;

	/* One snapshot: another process may be creating the schema between two questions. */
	TCB_TRY(tcb_db_exec(db, "BEGIN", "reading its header", err));
	TCB_TRY(tcb_db_end(db, recognise(db, list, count, &version, err), "reading its header", err));
	if (version == count)
		return TCB_OK;
	if (db->mode == TCB_DB_WRITE)
		return migrate_now(db, list, count, err);
	if (version == 0)
		return tcb_fail(err, TCB_E_NOT_FOUND, "%s is empty: `tcbtune sweep` fills it", db->path);
	TCB_TRY(copy_to_memory(db, err));
	TCB_TRY(migrate_now(db, list, count, err));
	return tcb_db_exec(db, "PRAGMA query_only = ON", "migrating it", err);
}
