/* SPDX-License-Identifier: MIT
 *
 * Taking a selection out of a database, and which of its kernels have changed:
 * the caller, who knows today's, judges every kernel that has trials, and what
 * he says is kept in a temporary table of the connection until it is used.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "db/db_private.h"
#include "db/travel.h"

static const char judging[] = "looking for kernels that have changed", doing[] = "forgetting";

enum tcb_status tcb_db_stale_table(struct tcb_db *db, struct tcb_error *err)
{
	return tcb_db_exec(
		db,
		"CREATE TEMP TABLE IF NOT EXISTS stale (device_id INTEGER, problem_id INTEGER, geometry TEXT,"
		" signature TEXT, PRIMARY KEY (device_id, problem_id, geometry, signature)) WITHOUT ROWID",
		judging, err);
}

/* The columns of pairs_sql.  -1, or the first that cannot be read. */
static int read_pair(sqlite3_stmt *stmt, struct tcb_tried *pair)
{
	char contract[16];
	const struct tcb_db_room texts[] = { { pair->device.key, sizeof pair->device.key },
					     { pair->device.name, sizeof pair->device.name },
					     { pair->device.arch, sizeof pair->device.arch },
					     { pair->device.model, sizeof pair->device.model },
					     { pair->problem.op_name, sizeof pair->problem.op_name },
					     { contract, sizeof contract } };
	size_t *const sizes[] = { &pair->problem.shape.m, &pair->problem.shape.n, &pair->problem.shape.k };

	*pair = (struct tcb_tried){ 0 };

	const int bad = tcb_db_texts(stmt, 2, texts, sizeof texts / sizeof *texts);
	if (bad >= 0)
		return bad;
	if (tcb_contract_parse(contract, &pair->problem.contract, NULL) != TCB_OK)
		return 7;
	for (int i = 0; i < 3; i++) {
		if (sqlite3_column_int64(stmt, 8 + i) < 0)
			return 8 + i;
		*sizes[i] = (size_t)sqlite3_column_int64(stmt, 8 + i);
	}
	if (tcb_db_words(stmt, 14, &pair->problem.shape.words))
		return 14;
	const int64_t threads = sqlite3_column_int64(stmt, 11);
	if (threads < 0 || threads > UINT_MAX)
		return 11;
	return tcb_db_target(stmt, 12, (unsigned)threads, &pair->device.target);
}

static enum tcb_status note_stale(struct tcb_db *db, int64_t device, int64_t problem, const struct tcb_trial *trials,
				  size_t count, struct tcb_error *err)
{
	for (size_t i = 0; i < count; i++) {
		char geometry[TCB_GEOMETRY_TEXT_MAX];
		sqlite3_stmt *stmt;

		tcb_geometry_print(&trials[i].geometry, geometry);
		TCB_TRY(tcb_db_query(db, &stmt, judging, err,
				     "INSERT OR IGNORE INTO temp.stale VALUES (?1, ?2, ?3, ?4)", "iitt", device,
				     problem, geometry, trials[i].signature));
		TCB_TRY(tcb_db_finish(db, stmt, NULL, judging, err));
	}
	return TCB_OK;
}

/* Geometry, variant and signature of each kernel of one device and problem; what cannot be read stays as it is. */
static enum tcb_status read_kernels(struct tcb_db *db, int64_t device, int64_t problem, const char *op,
				    struct tcb_trial **out, size_t *count_out, struct tcb_error *err)
{
	const struct tcb_parameter *parameters = tcb_db_parameters(db, op, NULL);
	sqlite3_stmt *stmt;
	enum tcb_status status;
	size_t count = 0, capacity = 0;
	int row;

	*out = NULL;
	TCB_TRY(tcb_db_query(db, &stmt, judging, err,
			     "SELECT DISTINCT t.geometry, t.variant, t.signature FROM sweep s JOIN trial t"
			     " ON t.sweep_id = s.id WHERE s.device_id = ?1 AND s.problem_id = ?2 ORDER BY 1, 2, 3",
			     "ii", device, problem));
	while ((status = tcb_db_step(db, stmt, &row, judging, err)) == TCB_OK && row) {
		struct tcb_trial *trial;
		char geometry[TCB_GEOMETRY_TEXT_MAX];

		if (count == capacity) {
			struct tcb_trial *grown = realloc(*out, (2 * capacity + 64) * sizeof *grown);
			if (!grown) {
				status = tcb_db_fail(db, SQLITE_NOMEM, judging, err);
				break;
			}
			*out = grown;
			capacity = 2 * capacity + 64;
		}
		trial = &(*out)[count];
		memset(trial, 0, sizeof *trial);
		count += tcb_db_text(stmt, 0, geometry, sizeof geometry) == 0 &&
			 tcb_db_text(stmt, 1, trial->variant, sizeof trial->variant) == 0 &&
			 tcb_db_text(stmt, 2, trial->signature, sizeof trial->signature) == 0 &&
			 tcb_geometry_parse_of(geometry, parameters, &trial->geometry, NULL) == TCB_OK;
	}
	sqlite3_finalize(stmt);
	*count_out = count;
	return status;
}

static enum tcb_status judge_pair(struct tcb_db *db, sqlite3_stmt *stmt, tcb_db_judge judge, void *ctx,
				  struct tcb_error *err)
{
	const int64_t device = sqlite3_column_int64(stmt, 0), problem = sqlite3_column_int64(stmt, 1);
	struct tcb_tried pair;
	struct tcb_trial *trials;
	size_t count, stale;
	const int column = read_pair(stmt, &pair);

	tcb_db_name_op(db, &pair.problem);
	if (column >= 0) {
		tcb_db_note_unreadable(db, "problem", problem, stmt, column);
		return TCB_OK;
	}
	enum tcb_status status = read_kernels(db, device, problem, pair.problem.op_name, &trials, &count, err);
	if (status == TCB_OK && count) {
		status = judge(ctx, &pair, trials, count, &stale, err);
		if (status == TCB_OK)
			status = note_stale(db, device, problem, trials + stale, count - stale, err);
	}
	free(trials);
	return status;
}

enum tcb_status tcb_db_judge_kernels(struct tcb_db *db, const struct tcb_db_selection *selection, tcb_db_judge judge,
				     void *ctx, struct tcb_error *err)
{
	static const char pairs_sql[] =
		"SELECT device.id, problem.id, device.key, device.name, device.arch, device.model, problem.op,"
		" problem.contract, problem.m, problem.n, problem.k, device.threads, device.kind, device.limits, "
		"problem.words"
		" FROM device JOIN problem WHERE EXISTS (SELECT 1 FROM sweep WHERE device_id = device.id"
		" AND problem_id = problem.id)" SELECTED("?6") " ORDER BY device.id, problem.id";
	struct tcb_db_selection of = *selection;
	sqlite3_stmt *stmt;
	enum tcb_status status;
	int row;

	of.state = NULL;
	TCB_TRY(tcb_db_stale_table(db, err));
	TCB_TRY(tcb_db_query_selected(db, &stmt, judging, err, pairs_sql, &of));
	while ((status = tcb_db_step(db, stmt, &row, judging, err)) == TCB_OK && row)
		if ((status = judge_pair(db, stmt, judge, ctx, err)) != TCB_OK)
			break;
	sqlite3_finalize(stmt);
	return status;
}

#define EXEC(sql) TCB_TRY(tcb_db_exec(db, sql, why, err))

static enum tcb_status run_counted(struct tcb_db *db, const char *why, const char *sql, size_t *count_out,
				   struct tcb_error *err)
{
	EXEC(sql);
	*count_out += (size_t)sqlite3_changes(db->sql);
	return TCB_OK;
}

enum tcb_status tcb_db_drop_doomed(struct tcb_db *db, const char *why, struct tcb_db_removed *out,
				   struct tcb_error *err)
{
	sqlite3_stmt *stmt;
	int64_t samples = 0;

	TCB_TRY(tcb_db_query(db, &stmt, why, err,
			     "SELECT ifnull(sum(sample_count), 0) FROM measurement WHERE trial_id IN (SELECT id FROM"
			     " temp.doomed)",
			     ""));
	TCB_TRY(tcb_db_finish(db, stmt, &samples, why, err));
	out->samples += (size_t)samples;
	EXEC("DELETE FROM counter WHERE trial_id IN (SELECT id FROM temp.doomed);"
	     "DELETE FROM measurement WHERE trial_id IN (SELECT id FROM temp.doomed)");
	TCB_TRY(run_counted(db, why, "DELETE FROM trial WHERE id IN (SELECT id FROM temp.doomed)", &out->trials, err));
	EXEC("DROP TABLE temp.doomed");
	EXEC("CREATE TEMP TABLE empty AS SELECT id FROM sweep WHERE NOT " IS_LIVE "AND id NOT IN (SELECT sweep_id FROM"
	     " trial) AND id NOT IN (SELECT sweep_id FROM best);"
	     "DELETE FROM sweep_known WHERE sweep_id IN (SELECT id FROM temp.empty)");
	TCB_TRY(run_counted(db, why, "DELETE FROM sweep WHERE id IN (SELECT id FROM temp.empty)", &out->sweeps, err));
	EXEC("DROP TABLE temp.empty;"
	     "DELETE FROM build WHERE id NOT IN (SELECT build_id FROM sweep);"
	     "DELETE FROM op WHERE id NOT IN (SELECT op_id FROM sweep)");
	TCB_TRY(run_counted(db, why, "DELETE FROM device WHERE id NOT IN (SELECT device_id FROM sweep)", &out->devices,
			    err));
	return run_counted(db, why, "DELETE FROM problem WHERE id NOT IN (SELECT problem_id FROM sweep)",
			   &out->problems, err);
}

/* What was imported of the op on the device: it has neither a shape nor a state, and no kernel that could be stale. */
static enum tcb_status forget_recordings(struct tcb_db *db, const struct tcb_db_selection *selection, size_t *count_out,
					 struct tcb_error *err)
{
	sqlite3_stmt *stmt;

	if (selection->shape || selection->state)
		return TCB_OK;
	TCB_TRY(tcb_db_query(db, &stmt, doing, err,
			     "DELETE FROM recording WHERE (?1 IS NULL OR op = ?1) AND (?2 IS NULL OR device = ?2)",
			     "tt", selection->op, selection->device));
	TCB_TRY(tcb_db_finish(db, stmt, NULL, doing, err));
	*count_out = (size_t)sqlite3_changes(db->sql);
	return TCB_OK;
}

static enum tcb_status forget(struct tcb_db *db, const struct tcb_db_selection *selection, int is_stale,
			      struct tcb_db_removed *out, struct tcb_error *err)
{
	/* A row whose kernel has changed, if only those are meant. */
	static const char winners_sql[] =
		"DELETE FROM best WHERE id IN (SELECT best.id FROM best JOIN device ON device.id = best.device_id"
		" JOIN problem ON problem.id = best.problem_id WHERE true" SELECTED("best.state") ")";
	static const char stale_winners_sql[] =
		"DELETE FROM best WHERE id IN (SELECT best.id FROM best JOIN device ON device.id = best.device_id"
		" JOIN problem ON problem.id = best.problem_id JOIN temp.stale USING (device_id, problem_id, geometry,"
		" signature) WHERE true" SELECTED("best.state") ")";
	static const char trials_sql[] =
		"INSERT INTO temp.doomed SELECT trial.id FROM trial JOIN sweep ON sweep.id = trial.sweep_id JOIN device"
		" ON device.id = sweep.device_id JOIN problem ON problem.id = sweep.problem_id WHERE true" SELECTED(
			"?6");
	static const char stale_trials_sql[] =
		"INSERT INTO temp.doomed SELECT trial.id FROM trial JOIN sweep ON sweep.id = trial.sweep_id JOIN device"
		" ON device.id = sweep.device_id JOIN problem ON problem.id = sweep.problem_id JOIN temp.stale s"
		" ON s.device_id = device.id AND s.problem_id = problem.id AND s.geometry = trial.geometry"
		" AND s.signature = trial.signature WHERE true" SELECTED("?6");
	sqlite3_stmt *stmt;

	TCB_TRY(tcb_db_query_selected(db, &stmt, doing, err, is_stale ? stale_winners_sql : winners_sql, selection));
	TCB_TRY(tcb_db_finish(db, stmt, NULL, doing, err));
	out->winners = (size_t)sqlite3_changes(db->sql);
	TCB_TRY(tcb_db_exec(db, "CREATE TEMP TABLE doomed (id INTEGER PRIMARY KEY)", doing, err));
	if (!selection->state) {
		TCB_TRY(tcb_db_query_selected(db, &stmt, doing, err, is_stale ? stale_trials_sql : trials_sql,
					      selection));
		TCB_TRY(tcb_db_finish(db, stmt, NULL, doing, err));
	}
	if (!is_stale)
		TCB_TRY(forget_recordings(db, selection, &out->recordings, err));
	return tcb_db_drop_doomed(db, doing, out, err);
}

enum tcb_status tcb_db_forget(struct tcb_db *db, const struct tcb_db_selection *selection, int is_stale,
			      struct tcb_db_removed *out, struct tcb_error *err)
{
	*out = (struct tcb_db_removed){ 0 };
	TCB_TRY(tcb_db_stale_table(db, err));
	TCB_TRY(tcb_db_begin(db, doing, err));
	return tcb_db_end(db, forget(db, selection, is_stale, out, err), doing, err);
}
