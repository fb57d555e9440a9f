/* SPDX-License-Identifier: MIT
 *
 * Merging databases: sweeps of other machines, with all that belongs to them,
 * into one, and which winner stands then.
 *
 * Every input is held to tcb_db_check first, all are brought together in
 * memory, and what came of it is added to the file in one transaction: all of
 * it, or nothing.  A sweep is known by its uid, a trial by its sweep, geometry,
 * time and outcome, so what is there already is not added again.
 *
 * What results is the same for any order of the inputs, since it depends on
 * which sweeps there are and nothing else: of two winners of one problem, device
 * and state the one that RANK puts first stays, and a winner is provisional if
 * there is a sweep that its finals did not know.  Columns that later versions
 * of the schema add are merged as they are.
 *
 * An imported sweep brings no more than its winners: it makes no other provisional, and of two winners that are proven
 * alike the one stays that was swept or merged.
 */
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "db/db_private.h"

static const char doing[] = "merging";

/* Whether sweep W held finals over the whole space that it knew: it was no shard and came to its end. */
#define IS_WHOLE                                                                         \
	"(w.status IN ('complete', 'budget') AND CASE WHEN json_valid(w.settings) THEN " \
	"json_extract(w.settings, '$.shard') END IS NULL)"

/*
 * Of two winners the one whose list is greater stays: measured before modelled; of a sweep that ended before one of a
 * sweep that was killed; of the whole space before a shard's; one that is not noisy before one that is; swept or merged
 * before imported; then the latest of the whole space, or the shard's that gained most over the default geometry, which
 * all shards measure.  The rest decides between equals.
 */
static const char rank[] = "1 - b.modelled AS r1, w.status <> 'running' AS r2, " IS_WHOLE " AS r3, NOT " IS_NOISY(
	"b") " AS clear, w.imported_at IS NULL AS local, iif(" IS_WHOLE ", b.measured_at, '') AS r4, iif(" IS_WHOLE
	     ", 0, ifnull(b.speedup, 0)) AS r5, b.measured_at AS r6, b.geometry AS r7, w.uid AS r8";

/* The rows of source that are new, with the numbers that they get here: OLD in the source, NEW here. */
static const char maps_sql[] =
	"CREATE TEMP TABLE device_map AS SELECT s.id AS old, m.id AS new FROM source.device s JOIN main.device m"
	" USING (key, name, threads);"
	"CREATE TEMP TABLE build_map AS SELECT s.id AS old, m.id AS new FROM source.build s JOIN main.build m"
	" USING (version, git_commit, compiler);"
	"CREATE TEMP TABLE op_map AS SELECT s.id AS old, m.id AS new FROM source.op s JOIN main.op m"
	" USING (name, signature);"
	"CREATE TEMP TABLE problem_map AS SELECT s.id AS old, m.id AS new FROM source.problem s JOIN main.problem m"
	" USING (op, contract, m, n, k, words);";

static const char sweep_map_sql[] = "CREATE TEMP TABLE sweep_map AS SELECT s.id AS old, m.id AS new"
				    " FROM source.sweep s JOIN main.sweep m USING (uid);";

/* A trial is known by its sweep, geometry, time and outcome, and by how many such its sweep had before. */
#define NUMBERED(schema, sweep, side)                                                                        \
	"SELECT t.id, " sweep " AS sweep, t.geometry, t.finished_at, t.outcome, row_number() OVER"           \
	" (PARTITION BY t.sweep_id, t.geometry, t.finished_at, t.outcome ORDER BY t.id) AS nth FROM " schema \
	".trial t JOIN temp.sweep_map w ON w." side " = t.sweep_id"
static const char trial_map_sql[] = "CREATE TEMP TABLE here AS " NUMBERED(
	"main", "t.sweep_id",
	"new") ";"
	       "CREATE INDEX temp.here_by_sweep ON here (sweep, geometry);"
	       "CREATE TEMP TABLE trial_map (old INTEGER PRIMARY KEY, new INTEGER NOT NULL, is_new INTEGER NOT NULL);"
	       "INSERT INTO temp.trial_map SELECT s.id, ifnull(h.id, (SELECT ifnull(max(id), 0) FROM main.trial)"
	       " + row_number() OVER (PARTITION BY h.id IS NULL ORDER BY s.id)), h.id IS NULL"
	       " FROM (" NUMBERED("source", "w.new", "old") ") s LEFT JOIN temp.here h"
							    " USING (sweep, geometry, finished_at, outcome, nth);";

/* A sweep that was running when the file was copied may have ended since; one that was imported may come whole now. */
static const char sweep_ends_sql[] =
	"UPDATE main.sweep SET (imported_from, imported_at) = (NULL, NULL) WHERE imported_at IS NOT NULL AND uid IN"
	" (SELECT uid FROM source.sweep WHERE imported_at IS NULL);"
	"UPDATE main.sweep SET (status, ended_at) = (SELECT s.status, s.ended_at FROM source.sweep s WHERE s.uid ="
	" sweep.uid) WHERE status = 'running' AND uid IN (SELECT uid FROM source.sweep WHERE status <> 'running');";

static const char drop_maps_sql[] = "DROP TABLE temp.device_map; DROP TABLE temp.build_map; DROP TABLE temp.op_map;"
				    "DROP TABLE temp.problem_map; DROP TABLE temp.sweep_map; DROP TABLE temp.here;"
				    "DROP TABLE temp.trial_map; DROP TABLE temp.rival;";

/* A model stands for a kind of device: a measured winner of any device of that name takes its place. */
static const char settle_sql[] =
	"DELETE FROM main.best WHERE modelled = 1 AND EXISTS (SELECT 1 FROM main.best o JOIN main.device d"
	" ON d.id = o.device_id JOIN main.device mine ON mine.id = best.device_id WHERE o.modelled = 0"
	" AND o.problem_id = best.problem_id AND o.state = best.state AND d.name = mine.name);"
	"UPDATE main.best SET provisional = 1 WHERE modelled = 0 AND provisional = 0 AND EXISTS (SELECT 1"
	" FROM main.sweep w JOIN main.sweep o ON o.device_id = w.device_id AND o.problem_id = w.problem_id"
	" AND o.rotation_bytes = w.rotation_bytes AND o.id <> w.id AND o.imported_at IS NULL WHERE w.id ="
	" best.sweep_id"
	" AND NOT EXISTS (SELECT 1 FROM main.sweep_known k WHERE k.sweep_id = w.id AND k.known_uid = o.uid)"
	" AND EXISTS (SELECT 1 FROM main.trial t WHERE t.sweep_id = o.id AND t.outcome = 'ok'));";

/*
 * Inserts rows of source.TABLE, which is s in FROM, into main.TABLE: of the COLUMNS named the VALUES, all others as
 * they are.  *COUNT_OUT (nullable) is raised by how many.
 */
static enum tcb_status insert_rows(struct tcb_db *db, const char *table, const char *columns, const char *values,
				   const char *from, size_t *count_out, struct tcb_error *err)
{
	struct tcb_str list = { 0 }, sql = { 0 };
	sqlite3_stmt *stmt;
	enum tcb_status status;
	int row;

	TCB_TRY(tcb_db_query(db, &stmt, doing, err,
			     "SELECT name FROM pragma_table_info(?1) WHERE ', ' || ?2 || ',' NOT LIKE"
			     " '%, ' || name || ',%' ORDER BY cid",
			     "tt", table, columns));
	tcb_str_addf(&sql, "INSERT INTO main.%s (%s", table, columns);
	while ((status = tcb_db_step(db, stmt, &row, doing, err)) == TCB_OK && row) {
		tcb_str_addf(&sql, ", %s", (const char *)sqlite3_column_text(stmt, 0));
		tcb_str_addf(&list, ", s.%s", (const char *)sqlite3_column_text(stmt, 0));
	}
	sqlite3_finalize(stmt);
	tcb_str_addf(&sql, ") SELECT %s%s FROM source.%s s %s", values, list.data ? list.data : "", table, from);
	if (status == TCB_OK && (sql.failed || list.failed))
		status = tcb_fail(err, TCB_E_NOMEM, "%s: out of memory while %s", db->path, doing);
	if (status == TCB_OK)
		status = tcb_db_exec(db, sql.data, doing, err);
	if (status == TCB_OK && count_out)
		*count_out += (size_t)sqlite3_changes(db->sql);
	tcb_str_fini(&list);
	tcb_str_fini(&sql);
	return status;
}

#define EXEC(sql) TCB_TRY(tcb_db_exec(db, sql, doing, err))
/* Names of a row's device, problem and sweep here. */
#define OF_DEVICE_AND_PROBLEM \
	" JOIN temp.device_map d ON d.old = s.device_id JOIN temp.problem_map p ON p.old = s.problem_id "

/* Devices, builds, ops, problems and sweeps that are not here yet. */
static enum tcb_status merge_sweeps(struct tcb_db *db, struct tcb_db_merged *out, struct tcb_error *err)
{
	static const char *const named[] = { "device", "build", "op", "problem" };
	sqlite3_stmt *stmt;
	int64_t strangers = 0;

	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		TCB_TRY(insert_rows(db, named[i], "id", "NULL", "WHERE true ON CONFLICT DO NOTHING", NULL, err));
	EXEC(maps_sql);
	TCB_TRY(insert_rows(db, "sweep", "id, device_id, problem_id, op_id, build_id",
			    "NULL, d.new, p.new, o.new, u.new",
			    OF_DEVICE_AND_PROBLEM "JOIN temp.op_map o ON o.old = s.op_id JOIN temp.build_map u"
						  " ON u.old = s.build_id WHERE s.uid NOT IN (SELECT uid FROM"
						  " main.sweep) ORDER BY s.id",
			    &out->sweeps, err));
	EXEC(sweep_map_sql);
	TCB_TRY(tcb_db_query(db, &stmt, doing, err,
			     "SELECT count(*) FROM source.sweep s" OF_DEVICE_AND_PROBLEM
			     "JOIN main.sweep m USING (uid) WHERE m.device_id <> d.new OR m.problem_id <> p.new",
			     ""));
	TCB_TRY(tcb_db_finish(db, stmt, &strangers, doing, err));
	if (strangers)
		return tcb_fail(err, TCB_E_FORMAT,
				"%s: %lld sweeps have the names of others in what is to be merged: nothing was merged",
				db->path, (long long)strangers);
	return tcb_db_exec(db,
			   "INSERT OR IGNORE INTO main.sweep_known SELECT a.new, k.known_uid FROM source.sweep_known k"
			   " JOIN temp.sweep_map a ON a.old = k.sweep_id",
			   doing, err);
}

static enum tcb_status merge_trials(struct tcb_db *db, struct tcb_db_merged *out, struct tcb_error *err)
{
	EXEC(trial_map_sql);
	TCB_TRY(insert_rows(db, "trial", "id, sweep_id", "t.new, w.new",
			    "JOIN temp.trial_map t ON t.old = s.id AND t.is_new JOIN temp.sweep_map w"
			    " ON w.old = s.sweep_id ORDER BY t.new",
			    &out->trials, err));
	/* Trials that were imported, or pruned, lack samples. */
	EXEC("DELETE FROM main.measurement WHERE trial_id IN (SELECT t.new FROM temp.trial_map t JOIN "
	     "source.measurement"
	     " s ON s.trial_id = t.old WHERE NOT t.is_new AND s.sample_count > 0) AND trial_id NOT IN (SELECT trial_id"
	     " FROM main.measurement WHERE sample_count > 0)");
	TCB_TRY(insert_rows(
		db, "measurement", "id, trial_id", "NULL, t.new",
		"JOIN temp.trial_map t ON t.old = s.trial_id WHERE t.is_new OR t.new NOT IN (SELECT trial_id"
		" FROM main.measurement) ORDER BY s.id",
		NULL, err));
	return insert_rows(db, "counter", "trial_id", "t.new",
			   "JOIN temp.trial_map t ON t.old = s.trial_id AND t.is_new", NULL, err);
}

/* Winners of both sides, each with its rank; those of main that lose are deleted. */
static enum tcb_status drop_losers(struct tcb_db *db, struct tcb_error *err)
{
	struct tcb_str sql = { 0 };
	enum tcb_status status;

	tcb_str_addf(&sql,
		     "CREATE TEMP TABLE rival AS SELECT 0 AS is_source, b.id, b.device_id, b.problem_id, b.state, %s"
		     " FROM main.best b JOIN main.sweep w ON w.id = b.sweep_id UNION ALL SELECT 1, b.id, d.new, p.new,"
		     " b.state, %s FROM source.best b JOIN source.sweep w ON w.id = b.sweep_id"
		     " JOIN temp.device_map d ON d.old = b.device_id JOIN temp.problem_map p ON p.old = b.problem_id;"
		     "DELETE FROM main.best WHERE id IN (SELECT m.id FROM temp.rival m JOIN temp.rival s USING"
		     " (device_id, problem_id, state) WHERE m.is_source = 0 AND s.is_source = 1 AND (s.r1, s.r2, s.r3, "
		     "s.clear, s.local, s.r4, s.r5, s.r6, s.r7, s.r8) > (m.r1, m.r2, m.r3, m.clear, m.local, m.r4, "
		     "m.r5, m.r6, m.r7, m.r8));",
		     rank, rank);
	status = sql.failed ? tcb_fail(err, TCB_E_NOMEM, "%s: out of memory while %s", db->path, doing)
			    : tcb_db_exec(db, sql.data, doing, err);
	tcb_str_fini(&sql);
	return status;
}

static enum tcb_status merge_winners(struct tcb_db *db, struct tcb_db_merged *out, struct tcb_error *err)
{
	static const char rows[] = OF_DEVICE_AND_PROBLEM
		"JOIN temp.sweep_map w ON w.old = s.sweep_id LEFT JOIN temp.trial_map t ON t.old = s.trial_id"
		" WHERE true ON CONFLICT (device_id, problem_id, state) DO NOTHING";

	TCB_TRY(insert_rows(db, "best", "id, device_id, problem_id, sweep_id, trial_id",
			    "NULL, d.new, p.new, w.new, t.new", rows, &out->best, err));
	/* Of winners that are new here: what another file says of one that is not stays out. */
	EXEC("INSERT OR IGNORE INTO main.tie_set (best_id, position, geometry) SELECT b.id, t.position, t.geometry"
	     " FROM source.tie_set t JOIN source.best s ON s.id = t.best_id" OF_DEVICE_AND_PROBLEM
	     "JOIN temp.sweep_map w ON w.old = s.sweep_id JOIN main.best b ON b.device_id = d.new AND b.problem_id ="
	     " p.new AND b.state = s.state AND b.sweep_id = w.new AND b.geometry = s.geometry AND b.measured_at ="
	     " s.measured_at AND b.tie_count = s.tie_count WHERE NOT EXISTS (SELECT 1 FROM main.tie_set h WHERE "
	     "h.best_id"
	     " = b.id)");
	return tcb_db_exec(db, settle_sql, doing, err);
}

/* Of each claim and device the newer result. */
static enum tcb_status merge_claims(struct tcb_db *db, struct tcb_db_merged *out, struct tcb_error *err)
{
	EXEC("INSERT OR REPLACE INTO main.verify_result SELECT s.* FROM source.verify_result s LEFT JOIN"
	     " main.verify_result m USING (device_key, device, id) WHERE m.id IS NULL OR s.measured_at > "
	     "m.measured_at");
	out->claims += (size_t)sqlite3_changes(db->sql);
	return TCB_OK;
}

/* Of each device and kind of arithmetic the faster rate, as where it is put. */
static enum tcb_status merge_rates(struct tcb_db *db, struct tcb_error *err)
{
	EXEC("INSERT OR REPLACE INTO main.compute_rate SELECT s.* FROM source.compute_rate s LEFT JOIN"
	     " main.compute_rate m USING (device_key, device, threads, kind) WHERE m.kind IS NULL OR s.rate > m.rate");
	return TCB_OK;
}

/* Of each device's cache what is surer, or more. */
static enum tcb_status merge_caches(struct tcb_db *db, struct tcb_error *err)
{
	EXEC("INSERT OR REPLACE INTO main.cache SELECT s.* FROM source.cache s LEFT JOIN main.cache m"
	     " USING (device_key, threads) WHERE m.bytes IS NULL OR (s.is_sure, s.bytes) > (m.is_sure, m.bytes)");
	return TCB_OK;
}

/* Of each op and device what was imported last. */
static enum tcb_status merge_recordings(struct tcb_db *db, struct tcb_error *err)
{
	EXEC("CREATE TEMP TABLE taken AS SELECT s.id, s.op, s.device FROM source.recording s LEFT JOIN main.recording m"
	     " USING (op, device) WHERE m.id IS NULL OR (m.digest <> s.digest AND (s.imported_at, s.digest) >"
	     " (m.imported_at, m.digest));"
	     "DELETE FROM main.recording WHERE (op, device) IN (SELECT op, device FROM temp.taken)");
	TCB_TRY(insert_rows(db, "recording", "id", "NULL", "JOIN temp.taken t ON t.id = s.id ORDER BY s.id", NULL,
			    err));
	EXEC("INSERT INTO main.recorded SELECT m.id, r.position, r.result FROM temp.taken t JOIN main.recording m"
	     " USING (op, device) JOIN source.recorded r ON r.recording_id = t.id;"
	     "DROP TABLE temp.taken");
	return TCB_OK;
}

static enum tcb_status merge_all(struct tcb_db *db, struct tcb_db_merged *out, struct tcb_error *err)
{
	TCB_TRY(merge_sweeps(db, out, err));
	TCB_TRY(drop_losers(db, err)); /* by how their sweeps had ended when they were copied */
	EXEC(sweep_ends_sql);
	TCB_TRY(merge_trials(db, out, err));
	TCB_TRY(merge_winners(db, out, err));
	TCB_TRY(merge_claims(db, out, err));
	TCB_TRY(merge_rates(db, err));
	TCB_TRY(merge_caches(db, err));
	TCB_TRY(merge_recordings(db, err));
	return tcb_db_exec(db, drop_maps_sql, doing, err);
}

/* A copy of SOURCE as the schema "source" of DB's connection. */
static enum tcb_status attach_copy(struct tcb_db *db, struct tcb_db *source, struct tcb_error *err)
{
	sqlite3_backup *backup;
	int rc;

	EXEC("ATTACH '' AS source");
	backup = sqlite3_backup_init(db->sql, "source", source->sql, "main");
	if (!backup)
		return tcb_db_fail(db, sqlite3_errcode(db->sql), doing, err);
	rc = sqlite3_backup_step(backup, -1);
	sqlite3_backup_finish(backup);
	return rc == SQLITE_DONE ? TCB_OK : tcb_db_fail(db, rc, doing, err);
}

enum tcb_status tcb_db_merge_from(struct tcb_db *db, struct tcb_db *source, struct tcb_db_merged *out,
				  struct tcb_error *err)
{
	enum tcb_status status = attach_copy(db, source, err);

	if (status == TCB_OK)
		status = tcb_db_begin(db, doing, err);
	if (status == TCB_OK)
		status = tcb_db_end(db, merge_all(db, out, err), doing, err);
	sqlite3_exec(db->sql, "DETACH source", NULL, NULL, NULL);
	return status;
}

static enum tcb_status add_file(struct tcb_db *together, const char *path, struct tcb_error *err)
{
	struct tcb_db_merged ignored = { 0 };
	struct tcb_db *source;
	struct tcb_error why;
	enum tcb_status status;

	TCB_TRY(tcb_db_open(path, TCB_DB_READ, &source, err));
	source->names = together->names;
	status = tcb_db_check(source, NULL, NULL, &why);
	if (status != TCB_OK)
		tcb_fail(err, status, "%.400s: nothing was merged; 'tcbtune db check' lists what is wrong",
			 why.message);
	else
		status = tcb_db_merge_from(together, source, &ignored, err);
	tcb_db_close(source);
	return status;
}

enum tcb_status tcb_db_merge(struct tcb_db *db, const char *const *paths, size_t count, struct tcb_db_merged *out,
			     struct tcb_error *err)
{
	struct tcb_db together = { .mode = TCB_DB_WRITE, .names = db->names, .path = "what is to be merged" };
	enum tcb_status status = tcb_schema_fresh(tcb_migrations, tcb_migration_count, &together, err);
	sqlite3_stmt *stmt;
	int64_t provisional = 0;

	*out = (struct tcb_db_merged){ 0 };
	if (status == TCB_OK)
		status = tcb_db_exec(&together, "PRAGMA foreign_keys = ON", doing, err);
	for (size_t i = 0; i < count && status == TCB_OK; i++)
		status = add_file(&together, paths[i], err);
	if (status == TCB_OK)
		status = tcb_db_merge_from(db, &together, out, err);
	sqlite3_close(together.sql);
	TCB_TRY(status);
	TCB_TRY(tcb_db_query(db, &stmt, doing, err, "SELECT count(*) FROM best WHERE provisional", ""));
	TCB_TRY(tcb_db_finish(db, stmt, &provisional, doing, err));
	out->provisional = (size_t)provisional;
	return TCB_OK;
}
