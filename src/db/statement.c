/* SPDX-License-Identifier: MIT
 *
 * What every connection and statement goes through: SQL and its parameters come
 * in, a status goes out, and where SQLite fails one line that says what to do.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/kind.h"
#include "db/db_private.h"
#include "db/travel.h"
#include "db/verdict.h"

/* IS_NOISY's arguments in their order. */
static void is_noisy(sqlite3_context *context, int count, sqlite3_value **values)
{
	double real[6];

	(void)count;
	for (int i = 0; i < 6; i++)
		real[i] = sqlite3_value_type(values[i]) == SQLITE_NULL ? NAN : sqlite3_value_double(values[i]);
	const struct tcb_best best = { .ns = { NAN, real[0], real[1] },
				       .speedup = { NAN, real[2], real[3] },
				       .others_busy = real[4],
				       .held_back = real[5],
				       .final_rounds = (size_t)sqlite3_value_int64(values[6]),
				       .quiet_rounds = (size_t)sqlite3_value_int64(values[7]) };
	sqlite3_result_int(context, tcb_best_is_noisy(&best));
}

/* A kind's name: does this build know it? */
static void is_kind(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *name = (const char *)sqlite3_value_text(values[0]);
	enum tcb_target_kind kind;

	(void)count;
	sqlite3_result_int(context, name && tcb_kind_find(name, &kind) == 0);
}

int tcb_db_add_functions(sqlite3 *sql)
{
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
	const int rc = sqlite3_create_function(sql, "tcb_is_noisy", 8, flags, NULL, is_noisy, NULL, NULL);

	return rc != SQLITE_OK ? rc : sqlite3_create_function(sql, "tcb_is_kind", 1, flags, NULL, is_kind, NULL, NULL);
}

int tcb_db_distrust(sqlite3 *sql)
{
	sqlite3_extended_result_codes(sql, 1);
	sqlite3_db_config(sql, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(sql, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	const int rc = tcb_db_add_functions(sql);
	if (rc != SQLITE_OK)
		return rc;
	return sqlite3_exec(sql, "PRAGMA cell_size_check = ON; PRAGMA foreign_keys = OFF", NULL, NULL, NULL);
}

int tcb_db_is_lockless(const struct tcb_db *db, int rc)
{
	switch (rc) {
	case SQLITE_IOERR_LOCK: /* locks are refused with another error than ENOLCK, ENOSYS for example */
	case SQLITE_IOERR_RDLOCK:
	case SQLITE_IOERR_CHECKRESERVEDLOCK:
	case SQLITE_IOERR_SHMLOCK:
		return 1;
	default:
		return (rc & 0xff) == SQLITE_BUSY && db->lockless > 1;
	}
}

enum tcb_status tcb_db_fail(struct tcb_db *db, int rc, const char *doing, struct tcb_error *err)
{
	const char *path = db->path;
	int system_error = sqlite3_system_errno(db->sql);

	if (tcb_db_is_lockless(db, rc))
		return tcb_fail(err, TCB_E_IO,
				"%s: its file system has no locks (NFS without lockd?), so nothing can be written "
				"safely: use --db on another file system",
				path);
	switch (rc & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return tcb_fail(err, TCB_E_BUSY,
				"%s: another process kept the database locked for %d s while %s: try again when it has "
				"finished",
				path, TCB_DB_BUSY_LIMIT_MS / 1000, doing);
	case SQLITE_FULL:
		return tcb_fail(err, TCB_E_IO,
				"%s: disk full while %s: free some space, or use --db on another disk (what was stored "
				"before is safe)",
				path, doing);
	case SQLITE_READONLY:
		return tcb_fail(err, TCB_E_IO,
				"%s: cannot write while %s: make the file and its folder writable, or use --db with "
				"another file",
				path, doing);
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return tcb_fail(err, TCB_E_IO,
				"%s: cannot be opened (%s): check the rights of the file and its folder, or use --db "
				"with another file",
				path, system_error ? strerror(system_error) : sqlite3_errstr(rc));
	case SQLITE_NOTADB:
		return tcb_fail(err, TCB_E_FORMAT, "%s: is not an SQLite database: use --db with another file", path);
	case SQLITE_CORRUPT:
		return tcb_fail(err, TCB_E_FORMAT,
				"%s: is damaged (%s while %s): restore a copy, or save what is readable with the "
				"sqlite3 shell's .recover",
				path, sqlite3_errmsg(db->sql), doing);
	case SQLITE_IOERR:
		if (rc == SQLITE_IOERR_WRITE || rc == SQLITE_IOERR_FSYNC || rc == SQLITE_IOERR_SHMSIZE)
			return tcb_fail(
				err, TCB_E_IO,
				"%s: writing failed (%s) while %s: check free space, quota and the disk (what was "
				"stored before is safe)",
				path, system_error ? strerror(system_error) : sqlite3_errstr(rc), doing);
		return tcb_fail(err, TCB_E_IO, "%s: %s while %s: check the disk", path,
				system_error ? strerror(system_error) : sqlite3_errstr(rc), doing);
	case SQLITE_NOMEM:
		return tcb_fail(err, TCB_E_NOMEM, "%s: out of memory while %s", path, doing);
	default:
		return tcb_fail(err, TCB_E_FAILED, "%s: %s while %s", path, sqlite3_errmsg(db->sql), doing);
	}
}

enum tcb_status tcb_db_exec(struct tcb_db *db, const char *sql, const char *doing, struct tcb_error *err)
{
	int rc = sqlite3_exec(db->sql, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? TCB_OK : tcb_db_fail(db, rc, doing, err);
}

enum tcb_status tcb_db_begin(struct tcb_db *db, const char *doing, struct tcb_error *err)
{
	return tcb_db_exec(db, db->mode == TCB_DB_WRITE ? "BEGIN IMMEDIATE" : "BEGIN", doing, err);
}

enum tcb_status tcb_db_end(struct tcb_db *db, enum tcb_status status, const char *doing, struct tcb_error *err)
{
	if (status == TCB_OK)
		status = tcb_db_exec(db, "COMMIT", doing, err);
	if (status != TCB_OK && !sqlite3_get_autocommit(db->sql))
		sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL);
	return status;
}

enum tcb_status tcb_db_query(struct tcb_db *db, sqlite3_stmt **out, const char *doing, struct tcb_error *err,
			     const char *sql, const char *format, ...)
{
	va_list args;
	int index = 1;
	int rc = sqlite3_prepare_v2(db->sql, sql, -1, out, NULL);

	va_start(args, format);
	for (; rc == SQLITE_OK && *format; format++, index++) {
		if (*format == 'i') {
			rc = sqlite3_bind_int64(*out, index, va_arg(args, int64_t));
		} else if (*format == 'd') {
			rc = sqlite3_bind_double(*out, index, va_arg(args, double));
		} else if (*format == 'w') {
			char words[TCB_WORDS_TEXT_MAX];
			tcb_words_print(va_arg(args, const struct tcb_words *), words);
			rc = sqlite3_bind_text(*out, index, words, -1, SQLITE_TRANSIENT);
		} else {
			rc = sqlite3_bind_text(*out, index, va_arg(args, const char *), -1, SQLITE_STATIC);
		}
	}
	va_end(args);
	if (rc != SQLITE_OK) {
		enum tcb_status status = tcb_db_fail(db, rc, doing, err);

		sqlite3_finalize(*out);
		*out = NULL;
		return status;
	}
	return TCB_OK;
}

enum tcb_status tcb_db_query_selected(struct tcb_db *db, sqlite3_stmt **out, const char *doing, struct tcb_error *err,
				      const char *sql, const struct tcb_db_selection *selection)
{
	const struct tcb_shape shape = selection->shape ? *selection->shape : (struct tcb_shape){ 0 };

	return tcb_db_query(db, out, doing, err, sql, "ttiiitw", selection->op, selection->device, (int64_t)shape.m,
			    (int64_t)shape.n, (int64_t)shape.k, selection->state, &shape.words);
}

enum tcb_status tcb_db_step(struct tcb_db *db, sqlite3_stmt *stmt, int *row_out, const char *doing,
			    struct tcb_error *err)
{
	int rc = sqlite3_step(stmt);

	*row_out = rc == SQLITE_ROW;
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? TCB_OK : tcb_db_fail(db, rc, doing, err);
}

enum tcb_status tcb_db_finish(struct tcb_db *db, sqlite3_stmt *stmt, int64_t *id_out, const char *doing,
			      struct tcb_error *err)
{
	enum tcb_status status;
	int row, first = 1;

	do {
		status = tcb_db_step(db, stmt, &row, doing, err);
		if (status == TCB_OK && row && first && id_out)
			*id_out = sqlite3_column_int64(stmt, 0);
		first = 0;
	} while (status == TCB_OK && row);
	sqlite3_finalize(stmt);
	return status;
}

size_t tcb_db_unreadable(const struct tcb_db *db, const char **first_out)
{
	if (first_out)
		*first_out = db->unreadable.first;
	return db->unreadable.count;
}

void tcb_db_note_unreadable(struct tcb_db *db, const char *table, int64_t id, sqlite3_stmt *stmt, int column)
{
	char line[sizeof(db->unreadable.first)];

	snprintf(line, sizeof(line), "%s %lld: its %s cannot be read", table, (long long)id,
		 sqlite3_column_name(stmt, column));
	if (db->unreadable.count++ == 0)
		memcpy(db->unreadable.first, line, sizeof(line));
	if (db->unreadable.each)
		db->unreadable.each(db->unreadable.ctx, line);
}

int tcb_db_text(sqlite3_stmt *stmt, int column, char *out, size_t capacity)
{
	const unsigned char *text = sqlite3_column_text(stmt, column);
	size_t length = (size_t)sqlite3_column_bytes(stmt, column);

	out[0] = '\0';
	if (!text)
		return 0;
	if (length >= capacity || memchr(text, '\0', length))
		return -1;
	memcpy(out, text, length + 1);
	return 0;
}

int tcb_db_texts(sqlite3_stmt *stmt, int first, const struct tcb_db_room *texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (tcb_db_text(stmt, first + (int)i, texts[i].out, texts[i].capacity))
			return first + (int)i;
	return -1;
}

int tcb_db_words(sqlite3_stmt *stmt, int column, struct tcb_words *out)
{
	char text[TCB_WORDS_TEXT_MAX], canonical[TCB_WORDS_TEXT_MAX];

	if (tcb_db_text(stmt, column, text, sizeof text) || tcb_words_parse(text, out, NULL) != TCB_OK)
		return -1;
	tcb_words_print(out, canonical); /* by which a lookup finds them */
	return strcmp(text, canonical) ? -1 : 0;
}

double tcb_db_double(sqlite3_stmt *stmt, int column)
{
	return sqlite3_column_type(stmt, column) == SQLITE_NULL ? (double)__builtin_nan("")
								: sqlite3_column_double(stmt, column);
}

struct tcb_interval tcb_db_interval(sqlite3_stmt *stmt, int first_column)
{
	return (struct tcb_interval){ tcb_db_double(stmt, first_column), tcb_db_double(stmt, first_column + 1),
				      tcb_db_double(stmt, first_column + 2) };
}

int tcb_db_pragma(struct tcb_db *db, const char *name, int64_t *out)
{
	char sql[64];
	sqlite3_stmt *stmt = NULL;
	int rc;

	*out = 0;
	snprintf(sql, sizeof(sql), "PRAGMA %s", name);
	rc = sqlite3_prepare_v2(db->sql, sql, -1, &stmt, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW) {
		*out = sqlite3_column_int64(stmt, 0);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(stmt);
	return rc;
}
