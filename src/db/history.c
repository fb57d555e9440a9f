/* SPDX-License-Identifier: MIT
 *
 * Sweeps of one problem in the order of their beginnings.  A sweep's finals
 * are told with the winner first, so that the first measurement of that stage
 * is the winner's.
 */
#include "db/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "db/db_private.h"

#define ORIGIN                                                                                                         \
	"s.uid, s.started_at, s.status, u.version, u.git_commit, u.compiler, s.os, s.driver, o.signature, s.strategy," \
	" s.rotation_bytes"
enum { ORIGIN_COLUMNS = 11 };
#define SWEEPS " JOIN build u ON u.id = s.build_id JOIN op o ON o.id = s.op_id"
/* ?1 to ?9: a device and a problem. */
#define OF_PROBLEM " FROM device d JOIN problem p JOIN sweep s ON s.device_id = d.id AND s.problem_id = p.id" SWEEPS
#define WHERE_PROBLEM                                                                                         \
	" WHERE d.key = ?1 AND d.name = ?2 AND d.threads = ?3 AND p.op = ?4 AND p.contract = ?5 AND p.m = ?6" \
	" AND p.n = ?7 AND p.k = ?8 AND p.words = ?9"

static enum tcb_status query(struct tcb_db *db, sqlite3_stmt **out, const char *sql, const struct tcb_best *best,
			     const char *text, const char *fallback, const char *doing, struct tcb_error *err)
{
	const struct tcb_problem *problem = &best->problem;

	return tcb_db_query(db, out, doing, err, sql, fallback ? "ttittiiiwtt" : "ttittiiiwt", best->device_key,
			    best->device_name, (int64_t)best->threads, problem->op_name,
			    tcb_contract_text(problem->contract), (int64_t)problem->shape.m, (int64_t)problem->shape.n,
			    (int64_t)problem->shape.k, &problem->shape.words, text, fallback);
}

/* The first columns.  -1, or the one that cannot be read. */
static int read_origin(sqlite3_stmt *stmt, struct tcb_origin *origin)
{
	const struct tcb_db_room texts[] = {
		{ origin->uid, sizeof origin->uid },
		{ origin->started_at, sizeof origin->started_at },
		{ origin->status, sizeof origin->status },
		{ origin->version, sizeof origin->version },
		{ origin->git_commit, sizeof origin->git_commit },
		{ origin->compiler, sizeof origin->compiler },
		{ origin->os, sizeof origin->os },
		{ origin->driver, sizeof origin->driver },
		{ origin->op_signature, sizeof origin->op_signature },
		{ origin->strategy, sizeof origin->strategy },
	};

	const int bad = tcb_db_texts(stmt, 0, texts, sizeof texts / sizeof *texts);
	if (bad >= 0)
		return bad;
	origin->rotation_bytes = (uint64_t)sqlite3_column_int64(stmt, ORIGIN_COLUMNS - 1);
	return -1;
}

enum tcb_status tcb_db_origin(struct tcb_db *db, const struct tcb_best *best, struct tcb_origin *out,
			      struct tcb_error *err)
{
	static const char doing[] = "reading a winner's sweep";
	sqlite3_stmt *stmt;
	int row;

	memset(out, 0, sizeof *out);
	TCB_TRY(query(db, &stmt,
		      "SELECT " ORIGIN OF_PROBLEM " JOIN best b ON b.sweep_id = s.id AND b.state = ?10" WHERE_PROBLEM,
		      best, tcb_state_text(best->state), NULL, doing, err));
	enum tcb_status status = tcb_db_step(db, stmt, &row, doing, err);
	if (status == TCB_OK && row) {
		const int column = read_origin(stmt, out);
		if (column >= 0)
			tcb_db_note_unreadable(db, "sweep of best", 0, stmt, column);
	}
	sqlite3_finalize(stmt);
	return status;
}

/* The samples in COLUMN, of which there are COUNT; free them.  NULL: they are gone, or no such array. */
static double *read_samples(sqlite3_stmt *stmt, int column, int64_t count)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);
	double *samples;

	/* A sample takes two characters at least, which bounds a count that was tampered with. */
	if (!text || count < 1 || count > sqlite3_column_bytes(stmt, column))
		return NULL;
	samples = malloc((size_t)count * sizeof *samples);
	if (samples && tcb_db_samples_parse(text, samples, (size_t)count) == count)
		return samples;
	free(samples);
	return NULL;
}

/* From COLUMN on: the winner's count and samples, the default's. */
static void read_rounds(sqlite3_stmt *stmt, int column, struct tcb_held *held)
{
	const int64_t count = sqlite3_column_int64(stmt, column);
	double *winner = read_samples(stmt, column + 1, count);
	double *fallback =
		sqlite3_column_int64(stmt, column + 2) == count ? read_samples(stmt, column + 3, count) : NULL;

	held->speedup = (struct tcb_interval){ NAN, NAN, NAN };
	if (winner && fallback)
		held->speedup = tcb_ratio_interval(fallback, winner, (size_t)count);
	held->low_ns = winner ? tcb_low_decile(winner, (size_t)count) : NAN;
	free(winner);
	free(fallback);
}

static int read_held(sqlite3_stmt *stmt, struct tcb_held *held)
{
	const struct tcb_db_room texts[] = { { held->geometry, sizeof held->geometry },
					     { held->variant, sizeof held->variant },
					     { held->signature, sizeof held->signature } };
	const int first = ORIGIN_COLUMNS;
	int column = read_origin(stmt, &held->origin);

	if (column >= 0)
		return column;
	column = tcb_db_texts(stmt, first, texts, sizeof texts / sizeof *texts);
	if (column >= 0)
		return column;
	held->ns = tcb_db_interval(stmt, first + 3);
	held->default_ns = tcb_db_interval(stmt, first + 6);
	held->tried = (size_t)sqlite3_column_int64(stmt, first + 9);
	read_rounds(stmt, first + 10, held);
	return -1;
}

/* The first measurement of the finals of sweep s in state ?10, of GEOMETRY where it is said. */
#define FIRST_FINAL(geometry)                                                                                 \
	"(SELECT min(x.id) FROM trial y JOIN measurement x ON x.trial_id = y.id WHERE y.sweep_id = s.id AND " \
	"y.outcome = 'ok' AND x.stage = 'final' AND x.state = ?10" geometry ")"

enum tcb_status tcb_db_held_each(struct tcb_db *db, const struct tcb_best *best,
				 int (*each)(void *ctx, const struct tcb_held *held), void *ctx, struct tcb_error *err)
{
	static const char doing[] = "reading finals";
	sqlite3_stmt *stmt;
	enum tcb_status status;
	int row;

	TCB_TRY(query(db, &stmt,
		      "SELECT " ORIGIN
		      ", t.geometry, t.variant, t.signature, m.median_ns, m.lo_ns, m.hi_ns, f.median_ns,"
		      " f.lo_ns, f.hi_ns, (SELECT count(DISTINCT y.geometry) FROM trial y WHERE y.sweep_id = s.id),"
		      " m.sample_count, m.samples, f.sample_count, f.samples, m.id" OF_PROBLEM
		      " JOIN measurement m ON m.id = " FIRST_FINAL(
			      "") " JOIN trial t ON t.id = m.trial_id"
				  " LEFT JOIN measurement f ON f.id = " FIRST_FINAL(" AND y.geometry = ?11")
					  WHERE_PROBLEM " ORDER BY s.started_at, s.uid",
		      best, tcb_state_text(best->state), best->default_geometry, doing, err));
	while ((status = tcb_db_step(db, stmt, &row, doing, err)) == TCB_OK && row) {
		struct tcb_held held = { .tried = 0 };
		const int column = read_held(stmt, &held);

		if (column >= 0)
			tcb_db_note_unreadable(db, "measurement", sqlite3_column_int64(stmt, ORIGIN_COLUMNS + 14), stmt,
					       column);
		else if (held.ns.median > 0 && each(ctx, &held))
			break;
	}
	sqlite3_finalize(stmt);
	return status;
}

enum tcb_status tcb_db_tries_each(struct tcb_db *db, const struct tcb_best *best, const char *geometry,
				  int (*each)(void *ctx, const struct tcb_try *one), void *ctx, struct tcb_error *err)
{
	static const char doing[] = "reading trials of a geometry";
	sqlite3_stmt *stmt;
	enum tcb_status status;
	int row;

	TCB_TRY(query(db, &stmt,
		      "SELECT " ORIGIN ", t.outcome, t.message, t.id" OF_PROBLEM
		      " JOIN trial t ON t.sweep_id = s.id" WHERE_PROBLEM
		      " AND t.geometry = ?10 ORDER BY s.started_at, s.uid, t.id",
		      best, geometry, NULL, doing, err));
	while ((status = tcb_db_step(db, stmt, &row, doing, err)) == TCB_OK && row) {
		struct tcb_try one = { .outcome = TCB_OUTCOME_OK };
		char outcome[32];
		int column = read_origin(stmt, &one.origin);

		if (column < 0 && (tcb_db_text(stmt, ORIGIN_COLUMNS, outcome, sizeof outcome) ||
				   tcb_outcome_parse(outcome, &one.outcome, NULL) != TCB_OK))
			column = ORIGIN_COLUMNS;
		if (column < 0 && tcb_db_text(stmt, ORIGIN_COLUMNS + 1, one.message, sizeof one.message))
			column = ORIGIN_COLUMNS + 1;
		if (column >= 0)
			tcb_db_note_unreadable(db, "trial", sqlite3_column_int64(stmt, ORIGIN_COLUMNS + 2), stmt,
					       column);
		else if (each(ctx, &one))
			break;
	}
	sqlite3_finalize(stmt);
	return status;
}
