/* SPDX-License-Identifier: MIT
 *
 * Shared by the files of src/db/: the handle, the migrations that were
 * embedded from schemas/, and thin helpers over SQLite that turn its results
 * into a status with one line that says what to do.
 */
#ifndef TCB_DB_PRIVATE_H
#define TCB_DB_PRIVATE_H

#include <sqlite3.h>

#include "db/db.h"

/* "TCBT" as SQLite's application_id; the same number is in schemas/001_initial.sql. */
enum { TCB_DB_APPLICATION_ID = 0x54434254 };

/* How long a lock is waited for: a transaction of ours takes milliseconds, a minute means something is stuck. */
enum { TCB_DB_BUSY_LIMIT_MS = 60000 };

struct tcb_db {
	sqlite3 *sql;  /* what is read and written */
	sqlite3 *file; /* NULL, or the file of an older version, of which SQL is a migrated copy in memory */
	enum tcb_db_mode mode;
	struct tcb_op_names names; /* tcb_db_know_ops */
	uint64_t busy_since_ns;    /* when the lock that is being waited for was first refused */
	unsigned lockless;         /* times that a lock was refused because the file system has none */
	uint64_t next_sync_ns;     /* from then on a trial is synced to the disk again */
	struct tcb_rng *jitter;    /* own state, so that waiting processes do not march in step */
	char path[512];
	struct {
		size_t count;
		char first[160];
		void (*each)(void *ctx, const char *line); /* NULL but while the database is checked */
		void *ctx;
	} unreadable;
};

/* schemas.c, generated */
struct tcb_migration {
	int version; /* 1, 2, ... without gaps */
	const char *sql;
};
extern const struct tcb_migration tcb_migrations[];
extern const int tcb_migration_count;

/* A copy of SOURCE in memory; close it with sqlite3_close.  SQLite's result. */
int tcb_db_copy_to_memory(sqlite3 *source, sqlite3 **copy_out);
/* migrate.c: brings the file to version LIST[COUNT - 1] in one transaction; a failure leaves it as it was.  A reader
 * brings a copy in memory there, which takes the file's place in DB. */
enum tcb_status tcb_db_migrate(struct tcb_db *db, const struct tcb_migration *list, int count, struct tcb_error *err);

/* schema.c */
/* OUT->sql becomes an empty database that LIST[0] to LIST[COUNT - 1] have made in memory; close it with sqlite3_close,
 * also after a failure. */
enum tcb_status tcb_schema_fresh(const struct tcb_migration *list, int count, struct tcb_db *out,
				 struct tcb_error *err);
/* TCB_E_FORMAT unless every table that these make is in DB with the same text, and there is no trigger.  Other tables
 * and views are none of our business. */
enum tcb_status tcb_schema_check(struct tcb_db *db, const struct tcb_migration *list, int count, struct tcb_error *err);

/* merge.c: all of SOURCE, which is sound, into DB, in one transaction. */
enum tcb_status tcb_db_merge_from(struct tcb_db *db, struct tcb_db *source, struct tcb_db_merged *out,
				  struct tcb_error *err);

/* connect.c: PROBLEM's op by its name, where it is known. */
void tcb_db_name_op(const struct tcb_db *db, struct tcb_problem *problem);
/* The parameters of the op of that NAME; UNKNOWN where nobody knows it. */
const struct tcb_parameter *tcb_db_parameters(const struct tcb_db *db, const char *name,
					      const struct tcb_parameter *unknown);
/* SQLite's result RC means that the file system has no locks. */
int tcb_db_is_lockless(const struct tcb_db *db, int rc);

/* statement.c */
/* Settings of every connection, since a file may come from anyone.  SQLite's result. */
int tcb_db_distrust(sqlite3 *sql);
/* Those of our statements; tcb_db_distrust has added them.  SQLite's result. */
int tcb_db_add_functions(sqlite3 *sql);
/* tcb_best_is_noisy of a row of best, in SQL (statement.c). */
#define IS_NOISY(best)                                                                                 \
	"tcb_is_noisy(" best ".lo_ns, " best ".hi_ns, " best ".speedup_lo, " best ".speedup_hi, " best \
	".others_busy, " best ".held_back, " best ".final_rounds, " best ".quiet_rounds)"
/* SQLite's result RC while DOING something ("storing a trial") as a status and a line that says what to do. */
enum tcb_status tcb_db_fail(struct tcb_db *db, int rc, const char *doing, struct tcb_error *err);
enum tcb_status tcb_db_exec(struct tcb_db *db, const char *sql, const char *doing, struct tcb_error *err);
/* BEGIN IMMEDIATE: waits for other writers here, never in the middle of a transaction. */
enum tcb_status tcb_db_begin(struct tcb_db *db, const char *doing, struct tcb_error *err);
/* Commits if STATUS is TCB_OK, else rolls back; returns STATUS or the commit's failure. */
enum tcb_status tcb_db_end(struct tcb_db *db, enum tcb_status status, const char *doing, struct tcb_error *err);
/*
 * Compiles SQL and binds its parameters ?1, ?2 ... from FORMAT, one letter each: i int64_t, d double (NaN becomes
 * NULL), t const char * (NULL stays NULL), w struct tcb_words *.  A t's text must live as long as the statement.
 */
enum tcb_status tcb_db_query(struct tcb_db *db, sqlite3_stmt **out, const char *doing, struct tcb_error *err,
			     const char *sql, const char *format, ...);
/* ?1 to ?7 of a statement are SELECTION; STATE is the column that holds one, or "?6" where none does. */
#define SELECTED(state)                                                                                                \
	" AND (?1 IS NULL OR problem.op = ?1) AND (?2 IS NULL OR device.name = ?2 OR device.key = ?2) AND (?3 = 0"     \
	" OR (problem.m = ?3 AND problem.n = ?4 AND problem.k = ?5 AND problem.words = ?7)) AND (?6 IS NULL OR " state \
	" = ?6)"
struct tcb_db_selection;
enum tcb_status tcb_db_query_selected(struct tcb_db *db, sqlite3_stmt **out, const char *doing, struct tcb_error *err,
				      const char *sql, const struct tcb_db_selection *selection);
/* One step: TCB_OK with *ROW_OUT 1 for a row and 0 at the end. */
enum tcb_status tcb_db_step(struct tcb_db *db, sqlite3_stmt *stmt, int *row_out, const char *doing,
			    struct tcb_error *err);
/* Steps to the end and finalizes; *ID_OUT (nullable) gets column 0 of the first row. */
enum tcb_status tcb_db_finish(struct tcb_db *db, sqlite3_stmt *stmt, int64_t *id_out, const char *doing,
			      struct tcb_error *err);
/* Row ID of TABLE cannot be read because of column COLUMN of STMT: notes it for tcb_db_unreadable. */
void tcb_db_note_unreadable(struct tcb_db *db, const char *table, int64_t id, sqlite3_stmt *stmt, int column);
/* Column COLUMN into a buffer of CAPACITY bytes; -1 if it does not fit.  NULL reads as "". */
int tcb_db_text(sqlite3_stmt *stmt, int column, char *out, size_t capacity);
/* The same of adjacent columns, from FIRST on, into TEXTS; -1, or the first column that does not fit. */
struct tcb_db_room {
	char *out;
	size_t capacity;
};
int tcb_db_texts(sqlite3_stmt *stmt, int first, const struct tcb_db_room *texts, size_t count);
/* The words of a problem's shape; -1 if they are none, or not as tcb_words_print writes them. */
int tcb_db_words(sqlite3_stmt *stmt, int column, struct tcb_words *out);
double tcb_db_double(sqlite3_stmt *stmt, int column); /* NULL reads as NaN */
struct tcb_interval tcb_db_interval(sqlite3_stmt *stmt, int first_column);
/* 0, and *OUT, for a PRAGMA whose value is an integer; else the SQLite result. */
int tcb_db_pragma(struct tcb_db *db, const char *name, int64_t *out);

/* best.c: from two columns, kind and limits; of a device of a host the kind alone.  -1, or the first column that cannot
 * be read. */
int tcb_db_target(sqlite3_stmt *stmt, int column, unsigned threads, struct tcb_target *out);

/* forget.c */
/* A sweep that may go on: one that was killed looks the same, so it counts for a day. */
#define IS_LIVE "(status = 'running' AND started_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 day'))"
struct tcb_db_removed;
/* What tcb_db_judge_kernels has found; made where nobody has looked. */
enum tcb_status tcb_db_stale_table(struct tcb_db *db, struct tcb_error *err);
/* In a transaction: deletes the trials whose ids are in temp.doomed (and that table), then all that nothing belongs to;
 * adds to OUT.  WHY is for messages. */
enum tcb_status tcb_db_drop_doomed(struct tcb_db *db, const char *why, struct tcb_db_removed *out,
				   struct tcb_error *err);

/* trials.c: notes every trial and counter that cannot be read; of a trial's geometry it says nothing. */
enum tcb_status tcb_db_trials_audit(struct tcb_db *db, struct tcb_error *err);
/* "[1200,null,1187]" into OUT (room for CAPACITY); the count, or -1 if TEXT is no such array. */
int64_t tcb_db_samples_parse(const char *text, double *out, size_t capacity);

#endif
