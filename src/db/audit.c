/* SPDX-License-Identifier: MIT
 *
 * What is in a database, and whether it is sound.  The check runs SQLite's own
 * (pages, indices, foreign keys), compares the schema with the one that this
 * build would create, and then holds every row to the rules that SQL cannot
 * state: a table of queries, each listing the rows that break one rule, and
 * walks that parse every text and read every row as others do.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/util.h"
#include "db/db_private.h"
#include "db/verified.h"

struct audit {
	struct tcb_db *db;
	void (*each)(void *ctx, const char *finding);
	void *ctx;
	size_t count;
	char first[400];
};

static void found(struct audit *audit, const char *finding)
{
	if (audit->count++ == 0)
		snprintf(audit->first, sizeof(audit->first), "%.399s", finding);
	if (audit->each)
		audit->each(audit->ctx, finding);
}

/* DB, or where that is the migrated copy of a file, the file. */
static struct tcb_db file_of(const struct tcb_db *db)
{
	struct tcb_db file = *db;

	if (db->file)
		file.sql = db->file;
	return file;
}

/* Every row that SQL finds in DB breaks a rule; its first column says which row and how. */
static enum tcb_status list_findings(struct audit *audit, struct tcb_db *db, const char *sql, struct tcb_error *err)
{
	sqlite3_stmt *stmt;
	enum tcb_status status;
	int row;

	TCB_TRY(tcb_db_query(db, &stmt, "checking it", err, sql, ""));
	while ((status = tcb_db_step(db, stmt, &row, "checking it", err)) == TCB_OK && row) {
		const char *text = (const char *)sqlite3_column_text(stmt, 0);

		if (text && strcmp(text, "ok") != 0)
			found(audit, text);
	}
	sqlite3_finalize(stmt);
	return status;
}

static const char *const rules[] = {
	"SELECT format('%s row %s: refers to a missing %s', \"table\", ifnull(rowid, '?'), parent)"
	" FROM pragma_foreign_key_check",
	/* No CHECK in the schema: with an untrusted schema SQLite refuses JSON functions there. */
	"SELECT format('device %d: isa is not JSON', id) FROM device WHERE NOT json_valid(isa)",
	"SELECT format('device %d: limits are not JSON', id) FROM device WHERE NOT json_valid(limits)",
	"SELECT format('device %d: unknown kind %s', id, kind) FROM device WHERE NOT tcb_is_kind(kind)",
	"SELECT format('sweep %d: settings are not JSON', id) FROM sweep WHERE NOT json_valid(settings)",
	"SELECT format('recording %d: its head is not JSON', id) FROM recording WHERE NOT json_valid(head)",
	"SELECT format('recording %d: result %d is not a JSON object', recording_id, position) FROM recorded"
	" WHERE NOT json_valid(result) OR json_type(result) <> 'object'",
	"SELECT format('measurement %d: samples are not JSON', id) FROM measurement WHERE NOT json_valid(samples)",
	"SELECT format('sweep %d: its op is %s, its problem''s is %s', s.id, o.name, p.op) FROM sweep s"
	" JOIN op o ON o.id = s.op_id JOIN problem p ON p.id = s.problem_id WHERE o.name <> p.op",
	"SELECT format('sweep %d: ''%s'' and ended at %s', id, status, ifnull(ended_at, 'no time')) FROM sweep"
	" WHERE (status = 'running') <> (ended_at IS NULL)",
	"SELECT format('measurement %d: says %d samples and has %d', id, sample_count, json_array_length(samples))"
	" FROM measurement WHERE json_valid(samples) AND sample_count <> json_array_length(samples)",
	"SELECT format('measurement %d: has %d samples and says of %d what others took', id, sample_count,"
	" json_array_length(lost)) FROM measurement WHERE json_valid(lost) AND sample_count > 0"
	" AND sample_count <> json_array_length(lost)",
	"SELECT format('measurement %d: what others took is not JSON', id) FROM measurement WHERE lost IS NOT NULL"
	" AND NOT json_valid(lost)",
	"SELECT format('measurement %d: its median is outside its interval', id) FROM measurement"
	" WHERE NOT (lo_ns <= median_ns AND median_ns <= hi_ns)",
	"SELECT format('best %d: its winner''s time, default, speed-up or limit is outside its interval', id) FROM best"
	" WHERE NOT (lo_ns <= median_ns AND median_ns <= hi_ns)"
	" OR NOT (default_lo_ns <= default_median_ns AND default_median_ns <= default_hi_ns)"
	" OR NOT (speedup_lo <= speedup AND speedup <= speedup_hi)"
	" OR NOT (limit_lo_ns <= limit_median_ns AND limit_median_ns <= limit_hi_ns)",
	"SELECT format('best %d: belongs to another device or problem than its sweep %d', b.id, s.id) FROM best b"
	" JOIN sweep s ON s.id = b.sweep_id WHERE s.device_id <> b.device_id OR s.problem_id <> b.problem_id",
	"SELECT format('best %d: trial %d is not an ok trial of its problem, device, geometry and kernel', b.id, t.id)"
	" FROM best b JOIN trial t ON t.id = b.trial_id JOIN sweep s ON s.id = t.sweep_id WHERE t.outcome <> 'ok'"
	" OR s.problem_id <> b.problem_id OR s.device_id <> b.device_id OR t.geometry <> b.geometry"
	" OR t.signature <> b.signature",
	"SELECT format('best %d: is measured and its trial %d has no measurement in state %s', id, trial_id, state)"
	" FROM best b WHERE modelled = 0 AND NOT EXISTS (SELECT 1 FROM trial w JOIN sweep s ON s.id = w.sweep_id"
	" JOIN sweep o ON o.device_id = s.device_id AND o.problem_id = s.problem_id JOIN trial t ON t.sweep_id = o.id"
	" AND t.geometry = w.geometry JOIN measurement m ON m.trial_id = t.id WHERE w.id = b.trial_id"
	" AND m.state = b.state)",
	"SELECT format('best %d: says %d ties and has %d', b.id, b.tie_count, count(t.position)) FROM best b"
	" LEFT JOIN tie_set t ON t.best_id = b.id GROUP BY b.id HAVING b.tie_count <> count(t.position)",
	"SELECT format('best %d: its tie set begins with another geometry', b.id) FROM best b JOIN tie_set t"
	" ON t.best_id = b.id AND t.position = 0 WHERE t.geometry <> b.geometry",
	"SELECT format('best %d: is modelled and provisional', id) FROM best WHERE modelled AND provisional",
	"SELECT format('best %d: its flip probability is outside 0 and 1', id) FROM best"
	" WHERE NOT flip_probability BETWEEN 0 AND 1",
	"SELECT format('best %d: the share of others in the processors is outside 0 and 1', id) FROM best"
	" WHERE NOT others_busy BETWEEN 0 AND 1",
	"SELECT format('best %d: the share of time with clocks held back is outside 0 and 1', id) FROM best"
	" WHERE NOT held_back BETWEEN 0 AND 1",
	/* A damaged page may break what STRICT and CHECK promised when the row was written. */
	"SELECT format('device %d: bad key', id) FROM device WHERE length(key) <> 16 OR key GLOB '*[^0-9a-f]*'",
};

/* Pages are written whole; SQLite reads what is missing at the end as zeros, which may look like an empty page. */
static enum tcb_status check_size(struct audit *audit, struct tcb_error *err)
{
	int64_t page_bytes;
	struct stat file;
	char line[96];
	int rc = tcb_db_pragma(audit->db, "page_size", &page_bytes);

	if (rc != SQLITE_OK)
		return tcb_db_fail(audit->db, rc, "checking it", err);
	if (stat(audit->db->path, &file) == 0 && file.st_size % page_bytes != 0) {
		snprintf(line, sizeof(line), "file: %lld bytes are not a whole number of pages, it was cut",
			 (long long)file.st_size);
		found(audit, line);
	}
	return TCB_OK;
}

/* The schema of the file against that of an empty database that this build migrates. */
static enum tcb_status compare_schema(struct audit *audit, struct tcb_error *err)
{
	static const char list_sql[] = "SELECT type || ' ' || name || ': ' || ifnull(sql, '') FROM sqlite_schema"
				       " WHERE name NOT LIKE 'sqlite_stat%' ORDER BY 1";
	struct tcb_db fresh = { .path = ":memory:" };
	struct tcb_str want = { 0 }, have = { 0 };
	struct {
		struct tcb_db *db;
		struct tcb_str *text;
	} sides[] = { { &fresh, &want }, { audit->db, &have } };
	enum tcb_status status = tcb_schema_fresh(tcb_migrations, tcb_migration_count, &fresh, err);

	for (size_t i = 0; i < 2 && status == TCB_OK; i++) {
		sqlite3_stmt *stmt;
		int row;

		status = tcb_db_query(sides[i].db, &stmt, "comparing schemas", err, list_sql, "");
		if (status != TCB_OK)
			break;
		while ((status = tcb_db_step(sides[i].db, stmt, &row, "comparing schemas", err)) == TCB_OK && row)
			tcb_str_addf(sides[i].text, "%s\n", (const char *)sqlite3_column_text(stmt, 0));
		sqlite3_finalize(stmt);
	}
	if (status == TCB_OK && (want.failed || have.failed))
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory while comparing schemas");
	if (status == TCB_OK && strcmp(want.data, have.data ? have.data : "") != 0)
		found(audit, "schema: tables or indices differ from those of its schema version");
	tcb_str_fini(&want);
	tcb_str_fini(&have);
	sqlite3_close(fresh.sql);
	return status;
}

/* Geometry texts are canonical: they parse, and print back to themselves; of an op that is unknown but for its
 * parameters, which come last. */
static enum tcb_status check_geometries(struct audit *audit, struct tcb_error *err)
{
	sqlite3_stmt *stmt;
	enum tcb_status status;
	int row;

	TCB_TRY(tcb_db_query(
		audit->db, &stmt, "checking it", err,
		"SELECT 'trial', t.id, t.geometry, p.op FROM trial t LEFT JOIN sweep s ON s.id = t.sweep_id"
		" LEFT JOIN problem p ON p.id = s.problem_id"
		" UNION ALL SELECT 'best', b.id, b.geometry, p.op FROM best b LEFT JOIN problem p ON p.id = "
		"b.problem_id"
		" UNION ALL SELECT 'best (default)', b.id, b.default_geometry, p.op FROM best b"
		" LEFT JOIN problem p ON p.id = b.problem_id WHERE b.default_geometry <> ''"
		" UNION ALL SELECT 'tie set of best', t.best_id, t.geometry, p.op FROM tie_set t"
		" LEFT JOIN best b ON b.id = t.best_id LEFT JOIN problem p ON p.id = b.problem_id",
		""));
	while ((status = tcb_db_step(audit->db, stmt, &row, "checking it", err)) == TCB_OK && row) {
		const char *table = (const char *)sqlite3_column_text(stmt, 0);
		const char *text = (const char *)sqlite3_column_text(stmt, 2);
		const char *op = (const char *)sqlite3_column_text(stmt, 3);
		const struct tcb_parameter *parameters = tcb_db_parameters(audit->db, op ? op : "", tcb_parameters_any);
		struct tcb_geometry geometry;
		struct tcb_error parse_error = { .message = "is not text" };
		char canonical[TCB_GEOMETRY_TEXT_MAX], line[TCB_GEOMETRY_TEXT_MAX + 256];

		if (!text || tcb_geometry_parse_of(text, parameters, &geometry, &parse_error) != TCB_OK) {
			snprintf(line, sizeof(line), "%s %lld: geometry: %s", table,
				 (long long)sqlite3_column_int64(stmt, 1), parse_error.message);
			found(audit, line);
			continue;
		}
		tcb_geometry_print(&geometry, canonical);
		if (parameters == tcb_parameters_any ? strncmp(canonical, text, strlen(canonical)) != 0
						     : strcmp(canonical, text) != 0) {
			snprintf(line, sizeof(line), "%s %lld: geometry is not in canonical form, which is %s", table,
				 (long long)sqlite3_column_int64(stmt, 1), canonical);
			found(audit, line);
		}
	}
	sqlite3_finalize(stmt);
	return status;
}

static enum tcb_status check_samples(struct audit *audit, struct tcb_error *err)
{
	sqlite3_stmt *stmt;
	enum tcb_status status;
	int row;

	TCB_TRY(tcb_db_query(audit->db, &stmt, "checking it", err,
			     "SELECT m.id, json_type(m.samples), (SELECT count(*) FROM json_each(m.samples) s"
			     " WHERE s.type NOT IN ('integer', 'null') OR typeof(s.value) = 'real' OR s.value < 0)"
			     " FROM measurement m WHERE json_valid(m.samples)",
			     ""));
	while ((status = tcb_db_step(audit->db, stmt, &row, "checking it", err)) == TCB_OK && row) {
		const char *type = (const char *)sqlite3_column_text(stmt, 1);
		char line[160];

		if (type && strcmp(type, "array") == 0 && sqlite3_column_int64(stmt, 2) == 0)
			continue;
		snprintf(line, sizeof(line), "measurement %lld: samples are not an array of times",
			 (long long)sqlite3_column_int64(stmt, 0));
		found(audit, line);
	}
	sqlite3_finalize(stmt);
	return status;
}

static int skip_best(void *ctx, const struct tcb_best *best)
{
	(void)ctx;
	(void)best;
	return 0;
}

static int skip_claim(void *ctx, const struct tcb_verified_run *run, const struct tcb_verified *row)
{
	(void)ctx, (void)run, (void)row;
	return 0;
}

static void found_unreadable(void *ctx, const char *line)
{
	found(ctx, line);
}

/* Rows that whoever reads would leave out. */
static enum tcb_status check_readable(struct audit *audit, struct tcb_error *err)
{
	struct tcb_db *db = audit->db;
	const size_t before = db->unreadable.count;
	enum tcb_status status;

	db->unreadable.each = found_unreadable;
	db->unreadable.ctx = audit;
	status = tcb_db_best_each(db, NULL, skip_best, NULL, err);
	if (status == TCB_OK)
		status = tcb_db_trials_audit(db, err);
	if (status == TCB_OK)
		status = tcb_db_verified_each(db, skip_claim, NULL, err);
	db->unreadable.each = NULL;
	db->unreadable.count = before;
	return status;
}

static enum tcb_status run_checks(struct audit *audit, struct tcb_error *err)
{
	struct tcb_db file = file_of(audit->db);

	TCB_TRY(check_size(audit, err));
	/* A copy has sound pages, whatever the file's are. */
	TCB_TRY(list_findings(audit, &file, "PRAGMA integrity_check", err));
	/* Over damaged pages the rules would only say the same again, less clearly. */
	if (audit->count)
		return TCB_OK;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		TCB_TRY(list_findings(audit, audit->db, rules[i], err));
	TCB_TRY(compare_schema(audit, err));
	TCB_TRY(check_geometries(audit, err));
	TCB_TRY(check_readable(audit, err));
	return check_samples(audit, err);
}

enum tcb_status tcb_db_check(struct tcb_db *db, void (*each)(void *ctx, const char *finding), void *ctx,
			     struct tcb_error *err)
{
	struct audit audit = { .db = db, .each = each, .ctx = ctx };

	TCB_TRY(tcb_db_exec(db, "BEGIN", "checking it", err));
	TCB_TRY(tcb_db_end(db, run_checks(&audit, err), "checking it", err));
	if (audit.count)
		return tcb_fail(err, TCB_E_FORMAT,
				"%s: %zu finding%s, the first: %.300s; take it from where it came again, or a backup "
				"('tcbtune db check' lists all that is wrong with a database)",
				db->path, audit.count, audit.count == 1 ? "" : "s", audit.first);
	return TCB_OK;
}

enum tcb_status tcb_db_info(struct tcb_db *db, struct tcb_db_info *out, struct tcb_error *err)
{
	static const char doing[] = "counting what is in it";
	sqlite3_stmt *stmt;
	struct stat on_disk;
	uint64_t *counts[] = {
		&out->devices,       &out->problems, &out->sweeps, &out->sweeps_running, &out->trials,
		&out->trials_failed, &out->samples,  &out->best,   &out->claims,         &out->recordings
	};
	struct tcb_db file = file_of(db);
	enum tcb_status status;
	int row;

	memset(out, 0, sizeof(*out));
	snprintf(out->path, sizeof(out->path), "%s", db->path);
	snprintf(out->sqlite_version, sizeof(out->sqlite_version), "%s", sqlite3_libversion());
	if (stat(db->path, &on_disk) == 0)
		out->file_bytes = (uint64_t)on_disk.st_size;
	TCB_TRY(tcb_db_query(&file, &stmt, doing, err,
			     "SELECT journal_mode, (SELECT user_version FROM pragma_user_version)"
			     " FROM pragma_journal_mode",
			     ""));
	status = tcb_db_step(&file, stmt, &row, doing, err);
	if (status == TCB_OK && row) {
		tcb_db_text(stmt, 0, out->journal_mode, sizeof(out->journal_mode));
		out->schema_version = sqlite3_column_int(stmt, 1);
	}
	sqlite3_finalize(stmt);
	TCB_TRY(status);
	TCB_TRY(tcb_db_query(db, &stmt, doing, err,
			     "SELECT (SELECT count(*) FROM device), (SELECT count(*) FROM problem),"
			     " (SELECT count(*) FROM sweep), (SELECT count(*) FROM sweep WHERE status = 'running'),"
			     " (SELECT count(*) FROM trial), (SELECT count(*) FROM trial"
			     " WHERE outcome NOT IN ('ok', 'too_slow')),"
			     " (SELECT total(sample_count) FROM measurement), (SELECT count(*) FROM best),"
			     " (SELECT count(*) FROM verify_result), (SELECT count(*) FROM recording)",
			     ""));
	status = tcb_db_step(db, stmt, &row, doing, err);
	for (size_t i = 0; status == TCB_OK && row && i < sizeof counts / sizeof *counts; i++)
		*counts[i] = (uint64_t)sqlite3_column_int64(stmt, (int)i);
	sqlite3_finalize(stmt);
	return status;
}
