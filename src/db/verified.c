/* SPDX-License-Identifier: MIT
 *
 * The table of verified claims, in and out.
 */
#include "db/verified.h"

#include "base/util.h"
#include "db/db_private.h"

static const char storing[] = "storing what was verified", reading[] = "reading what was verified";

static enum tcb_status put_rows(struct tcb_db *db, const struct tcb_verified_run *run, const struct tcb_verified *rows,
				size_t count, struct tcb_error *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct tcb_verified *row = &rows[i];
		sqlite3_stmt *stmt;
		TCB_TRY(tcb_db_query(db, &stmt, storing, err,
				     "INSERT OR REPLACE INTO verify_result (device, device_key, model, assembler,"
				     " git_commit, measured_at, id, result, evidence, control, seconds)"
				     " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
				     "ttttttttttd", run->device, run->device_key, run->model, run->assembler,
				     run->git_commit, run->measured_at, row->id, row->result, row->evidence,
				     row->control, row->seconds));
		TCB_TRY(tcb_db_finish(db, stmt, NULL, storing, err));
	}
	return TCB_OK;
}

enum tcb_status tcb_db_verified_put(struct tcb_db *db, const struct tcb_verified_run *run,
				    const struct tcb_verified *rows, size_t count, struct tcb_error *err)
{
	TCB_TRY(tcb_db_begin(db, storing, err));
	return tcb_db_end(db, put_rows(db, run, rows, count, err), storing, err);
}

/* -1, or the first column that cannot be read. */
static int read_row(sqlite3_stmt *stmt, struct tcb_verified_run *run, struct tcb_verified *row)
{
	const struct tcb_db_room texts[] = { { run->device, sizeof run->device },
					     { run->device_key, sizeof run->device_key },
					     { run->model, sizeof run->model },
					     { run->assembler, sizeof run->assembler },
					     { run->git_commit, sizeof run->git_commit },
					     { run->measured_at, sizeof run->measured_at },
					     { row->id, sizeof row->id },
					     { row->result, sizeof row->result },
					     { row->evidence, sizeof row->evidence },
					     { row->control, sizeof row->control } };

	const int bad = tcb_db_texts(stmt, 1, texts, sizeof texts / sizeof *texts);
	if (bad >= 0)
		return bad;
	row->seconds = tcb_db_double(stmt, 11);
	return -1;
}

enum tcb_status tcb_db_verified_each(struct tcb_db *db,
				     int (*each)(void *ctx, const struct tcb_verified_run *run,
						 const struct tcb_verified *row),
				     void *ctx, struct tcb_error *err)
{
	sqlite3_stmt *stmt;
	enum tcb_status status;
	struct tcb_verified_run run;
	struct tcb_verified row;
	int is_row;

	TCB_TRY(tcb_db_query(db, &stmt, reading, err,
			     "SELECT rowid, device, device_key, model, assembler, git_commit, measured_at, id, result,"
			     " evidence, control, seconds FROM verify_result ORDER BY device, device_key, id",
			     ""));
	while ((status = tcb_db_step(db, stmt, &is_row, reading, err)) == TCB_OK && is_row) {
		const int column = read_row(stmt, &run, &row);
		if (column >= 0)
			tcb_db_note_unreadable(db, "verify_result", sqlite3_column_int64(stmt, 0), stmt, column);
		else if (each(ctx, &run, &row))
			break;
	}
	sqlite3_finalize(stmt);
	return status;
}
