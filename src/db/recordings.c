/* SPDX-License-Identifier: MIT
 *
 * The tables of recordings, in and out.
 */
#include "db/recordings.h"

#include <string.h>

#include "base/util.h"
#include "db/db_private.h"

static const char storing[] = "storing imported results", reading[] = "reading imported results";

static enum tcb_status put_results(struct tcb_db *db, int64_t id, const char *const *results, size_t count,
				   struct tcb_error *err)
{
	sqlite3_stmt *stmt;
	enum tcb_status status = TCB_OK;
	int row;

	TCB_TRY(tcb_db_query(db, &stmt, storing, err, "INSERT INTO recorded VALUES (?1, ?2, ?3)", ""));
	for (size_t i = 0; i < count && status == TCB_OK; i++) {
		sqlite3_bind_int64(stmt, 1, id);
		sqlite3_bind_int64(stmt, 2, (sqlite3_int64)i);
		sqlite3_bind_text(stmt, 3, results[i], -1, SQLITE_STATIC);
		status = tcb_db_step(db, stmt, &row, storing, err);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	return status;
}

/* The digest of the recording of OP on DEVICE; empty: there is none. */
static enum tcb_status find_digest(struct tcb_db *db, const struct tcb_recording *of, char out[17],
				   struct tcb_error *err)
{
	sqlite3_stmt *stmt;
	int row;

	out[0] = '\0';
	TCB_TRY(tcb_db_query(db, &stmt, storing, err, "SELECT digest FROM recording WHERE op = ?1 AND device = ?2",
			     "tt", of->op, of->device));
	enum tcb_status status = tcb_db_step(db, stmt, &row, storing, err);
	if (status == TCB_OK && row && tcb_db_text(stmt, 0, out, 17) != 0)
		strcpy(out, "?");
	sqlite3_finalize(stmt);
	return status;
}

static enum tcb_status refuse(const struct tcb_recording *recording, struct tcb_error *err)
{
	return tcb_fail(
		err, TCB_E_USAGE,
		"%.100s: other results of %.60s on %.60s were imported before: take them out ('tcbtune db forget "
		"--op ... --device ...'), or give these another --op or --device",
		recording->source, recording->op, recording->device);
}

static enum tcb_status put(struct tcb_db *db, const struct tcb_recording *recording, const char *const *results,
			   size_t count, const char *digest, struct tcb_error *err)
{
	char there[17];
	sqlite3_stmt *stmt;

	TCB_TRY(find_digest(db, recording, there, err));
	if (strcmp(there, digest) == 0)
		return TCB_OK;
	if (there[0])
		return refuse(recording, err);
	TCB_TRY(tcb_db_query(
		db, &stmt, storing, err,
		"INSERT INTO recording (op, device, source, head, digest, valid, best_ms) VALUES (?1, ?2, ?3,"
		" ?4, ?5, ?6, ?7)",
		"tttttid", recording->op, recording->device, recording->source, recording->head, digest,
		(int64_t)recording->valid, recording->best_ms));
	TCB_TRY(tcb_db_finish(db, stmt, NULL, storing, err));
	return put_results(db, sqlite3_last_insert_rowid(db->sql), results, count, err);
}

enum tcb_status tcb_db_recording_put(struct tcb_db *db, const struct tcb_recording *recording,
				     const char *const *results, size_t count, struct tcb_error *err)
{
	struct tcb_str all = { 0 };
	char digest[17];

	tcb_str_add(&all, recording->head);
	for (size_t i = 0; i < count; i++)
		tcb_str_addf(&all, "\n%s", results[i]);
	if (all.failed) {
		tcb_str_fini(&all);
		return tcb_fail(err, TCB_E_NOMEM, "%.200s: out of memory for %zu results", recording->source, count);
	}
	tcb_hash_hex(all.data, all.length, digest);
	tcb_str_fini(&all);
	TCB_TRY(tcb_db_begin(db, storing, err));
	return tcb_db_end(db, put(db, recording, results, count, digest, err), storing, err);
}

enum tcb_status tcb_db_recording_each(struct tcb_db *db, const char *op, const char *device,
				      int (*each)(void *ctx, const struct tcb_recording *recording), void *ctx,
				      struct tcb_error *err)
{
	sqlite3_stmt *stmt;
	enum tcb_status status;
	int row;

	TCB_TRY(tcb_db_query(db, &stmt, reading, err,
			     "SELECT id, op, device, source, head, imported_at, digest, valid, best_ms, (SELECT "
			     "count(*) FROM recorded WHERE"
			     " recording_id = id) FROM recording WHERE (?1 IS NULL OR op = ?1) AND (?2 IS NULL OR"
			     " device = ?2) ORDER BY op, device",
			     "tt", op, device));
	while ((status = tcb_db_step(db, stmt, &row, reading, err)) == TCB_OK && row) {
		const struct tcb_recording recording = { .id = sqlite3_column_int64(stmt, 0),
							 .op = (const char *)sqlite3_column_text(stmt, 1),
							 .device = (const char *)sqlite3_column_text(stmt, 2),
							 .source = (const char *)sqlite3_column_text(stmt, 3),
							 .head = (const char *)sqlite3_column_text(stmt, 4),
							 .imported_at = (const char *)sqlite3_column_text(stmt, 5),
							 .digest = (const char *)sqlite3_column_text(stmt, 6),
							 .valid = (size_t)sqlite3_column_int64(stmt, 7),
							 .best_ms = tcb_db_double(stmt, 8),
							 .count = (size_t)sqlite3_column_int64(stmt, 9) };
		if (!recording.op || !recording.device || !recording.source || !recording.head ||
		    !recording.imported_at || !recording.digest)
			tcb_db_note_unreadable(db, "recording", recording.id, stmt, 1);
		else if (each(ctx, &recording))
			break;
	}
	sqlite3_finalize(stmt);
	return status;
}

enum tcb_status tcb_db_recorded_each(struct tcb_db *db, int64_t id, int (*each)(void *ctx, const char *result),
				     void *ctx, struct tcb_error *err)
{
	sqlite3_stmt *stmt;
	enum tcb_status status;
	int row;

	TCB_TRY(tcb_db_query(db, &stmt, reading, err,
			     "SELECT result FROM recorded WHERE recording_id = ?1 ORDER BY position", "i", id));
	while ((status = tcb_db_step(db, stmt, &row, reading, err)) == TCB_OK && row) {
		const char *result = (const char *)sqlite3_column_text(stmt, 0);
		if (result && each(ctx, result))
			break;
	}
	sqlite3_finalize(stmt);
	return status;
}

struct agreeing {
	struct tcb_db *db;
	enum tcb_status status;
	struct tcb_error *err;
};

static int agree(void *ctx, const struct tcb_recording *recording)
{
	struct agreeing *agreeing = ctx;
	char there[17];

	agreeing->status = find_digest(agreeing->db, recording, there, agreeing->err);
	if (agreeing->status == TCB_OK && there[0] && strcmp(there, recording->digest) != 0)
		agreeing->status = refuse(recording, agreeing->err);
	return agreeing->status != TCB_OK;
}

enum tcb_status tcb_db_recordings_agree(struct tcb_db *db, struct tcb_db *other, struct tcb_error *err)
{
	struct agreeing agreeing = { .db = db, .err = err };

	TCB_TRY(tcb_db_recording_each(other, NULL, NULL, agree, &agreeing, err));
	return agreeing.status;
}
