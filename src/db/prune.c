/* SPDX-License-Identifier: MIT
 *
 * Taking out what nobody can use.  What stays is what the readers ask for:
 *
 *   a sweep that goes on   of each device, problem and rotation the newest trial per geometry, and the trials that hold
 *                          the newest measurements and counters of its kernel and outcome (trials.c), unless the kernel
 *                          has changed; and in every sweep that keeps a trial those of default geometries, to which
 *                          times of several machines are compared
 *   a lookup, a report     winners, also those whose kernel has changed: their geometries are starts of sweeps; the
 *                          trial of each, the newest with a time of its state, and the newest that was counted
 *   a sweep that runs now  all of its own
 *
 * A row that this takes out is no longer there for db merge either: merging an older copy brings it back.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/util.h"
#include "db/db_private.h"
#include "db/travel.h"

static const char doing[] = "pruning";

/* AGE grows with time: numbers do so only among trials that were put here. */
static const char trials_sql[] =
	"CREATE TEMP TABLE mine AS SELECT t.id, s.id AS sweep_id, s.device_id, s.problem_id, s.rotation_bytes,"
	" t.geometry, t.signature, t.outcome, t.finished_at || format('%020d', t.id) AS age, EXISTS (SELECT 1 FROM"
	" temp.stale x WHERE x.device_id = s.device_id AND x.problem_id = s.problem_id AND x.geometry = t.geometry"
	" AND x.signature = t.signature) AS is_stale FROM trial t JOIN sweep s ON s.id = t.sweep_id;"
	"CREATE INDEX temp.mine_by_geometry ON mine (device_id, problem_id, geometry);"
	"CREATE TEMP TABLE keep (id INTEGER PRIMARY KEY);"
	"INSERT INTO temp.keep SELECT id FROM trial WHERE sweep_id IN (SELECT id FROM sweep WHERE " IS_LIVE ");";

/* With max(), SQLite takes the other columns from the row that holds the maximum. */
static const char resumed_sql[] =
	"CREATE TEMP TABLE newest AS SELECT * FROM (SELECT *, max(age) FROM temp.mine GROUP BY device_id, problem_id,"
	" rotation_bytes, geometry) WHERE NOT is_stale;"
	"INSERT OR IGNORE INTO temp.keep SELECT id FROM temp.newest;"
#define OF_THE_NEWEST                                                                           \
	" FROM temp.newest n JOIN temp.mine o ON o.device_id = n.device_id AND o.problem_id = " \
	"n.problem_id AND o.rotation_bytes = n.rotation_bytes AND o.geometry = n.geometry AND " \
	"o.signature = n.signature AND o.outcome = n.outcome"
	"INSERT OR IGNORE INTO temp.keep SELECT id FROM (SELECT o.id, max(o.age)" OF_THE_NEWEST
	" JOIN measurement m ON m.trial_id = o.id GROUP BY n.id, m.state, m.stage);"
	"INSERT OR IGNORE INTO temp.keep SELECT id FROM (SELECT o.id, max(o.age)" OF_THE_NEWEST
	" JOIN counter c ON c.trial_id = o.id GROUP BY n.id, c.state, c.source, c.name);";

static const char winners_sql[] =
	"INSERT OR IGNORE INTO temp.keep SELECT trial_id FROM best WHERE trial_id IS NOT NULL;"
#define OF_A_WINNER                                                                                                 \
	" FROM best b JOIN temp.mine o ON o.device_id = b.device_id AND o.problem_id = b.problem_id AND o.geometry" \
	" = b.geometry AND o.signature = b.signature AND o.outcome = 'ok'"
	"INSERT OR IGNORE INTO temp.keep SELECT id FROM (SELECT o.id, max(o.age)" OF_A_WINNER
	" JOIN measurement m ON m.trial_id = o.id AND m.state = b.state GROUP BY b.id, m.stage);"
	"INSERT OR IGNORE INTO temp.keep SELECT id FROM (SELECT o.id, max(o.id)" OF_A_WINNER
	" JOIN counter c ON c.trial_id = o.id AND c.state = b.state GROUP BY b.id);";

/* The one of each sweep and state that times are compared to: as trials.c chooses it. */
static const char anchors_sql[] =
	"INSERT OR IGNORE INTO temp.keep SELECT id FROM (SELECT o.id, max((m.stage <> 'final') || format('%020d', "
	"m.id))"
	" FROM best b JOIN temp.mine o ON o.device_id = b.device_id AND o.problem_id = b.problem_id AND o.geometry"
	" = b.default_geometry JOIN measurement m ON m.trial_id = o.id WHERE o.sweep_id IN (SELECT t.sweep_id"
	" FROM temp.keep JOIN trial t USING (id)) GROUP BY o.sweep_id, o.geometry, m.state);"
	"CREATE TEMP TABLE doomed (id INTEGER PRIMARY KEY);"
	"INSERT INTO temp.doomed SELECT id FROM trial WHERE id NOT IN (SELECT id FROM temp.keep);"
	"DROP TABLE temp.mine; DROP TABLE temp.newest; DROP TABLE temp.keep;";

/* Samples of the finals that decided stay: by them a decision can be judged again. */
static const char old_samples[] =
	" FROM measurement WHERE sample_count > 0 AND trial_id IN (SELECT t.id FROM trial t"
	" JOIN sweep s ON s.id = t.sweep_id WHERE NOT " IS_LIVE " AND s.id NOT IN (SELECT sweep_id FROM best))";

static enum tcb_status drop_samples(struct tcb_db *db, struct tcb_db_removed *out, struct tcb_error *err)
{
	struct tcb_str sql = { 0 };
	sqlite3_stmt *stmt = NULL;
	int64_t samples = 0;
	enum tcb_status status;

	tcb_str_addf(&sql, "SELECT ifnull(sum(sample_count), 0)%s", old_samples);
	status = sql.failed ? tcb_db_fail(db, SQLITE_NOMEM, doing, err)
			    : tcb_db_query(db, &stmt, doing, err, sql.data, "");
	tcb_str_fini(&sql);
	TCB_TRY(status);
	TCB_TRY(tcb_db_finish(db, stmt, &samples, doing, err));
	out->samples += (size_t)samples;
	tcb_str_addf(&sql,
		     "UPDATE measurement SET sample_count = 0, samples = '[]', lost = NULL WHERE id IN (SELECT id%s)",
		     old_samples);
	status = sql.failed ? tcb_db_fail(db, SQLITE_NOMEM, doing, err) : tcb_db_exec(db, sql.data, doing, err);
	tcb_str_fini(&sql);
	return status;
}

static enum tcb_status prune(struct tcb_db *db, int keep_samples, struct tcb_db_removed *out, struct tcb_error *err)
{
	TCB_TRY(tcb_db_exec(db, trials_sql, doing, err));
	TCB_TRY(tcb_db_exec(db, resumed_sql, doing, err));
	TCB_TRY(tcb_db_exec(db, winners_sql, doing, err));
	TCB_TRY(tcb_db_exec(db, anchors_sql, doing, err));
	TCB_TRY(tcb_db_drop_doomed(db, doing, out, err));
	return keep_samples ? TCB_OK : drop_samples(db, out, err);
}

enum tcb_status tcb_db_prune(struct tcb_db *db, int keep_samples, struct tcb_db_removed *out, struct tcb_error *err)
{
	*out = (struct tcb_db_removed){ 0 };
	TCB_TRY(tcb_db_stale_table(db, err));
	TCB_TRY(tcb_db_begin(db, doing, err));
	return tcb_db_end(db, prune(db, keep_samples, out, err), doing, err);
}

uint64_t tcb_db_size(struct tcb_db *db)
{
	int64_t pages = 0, page_bytes = 0;

	struct tcb_db file = *db;

	if (db->file) /* of which DB is the migrated copy */
		file.sql = db->file;
	if (tcb_db_pragma(&file, "page_count", &pages) != SQLITE_OK ||
	    tcb_db_pragma(&file, "page_size", &page_bytes) != SQLITE_OK)
		return 0;
	return (uint64_t)pages * (uint64_t)page_bytes;
}

enum tcb_status tcb_db_shrink(struct tcb_db *db, uint64_t *bytes_out, struct tcb_error *err)
{
	enum tcb_status status = tcb_db_exec(db, "VACUUM", "making the file smaller", err);

	/* What readers still see of the log keeps the file as large; whoever closes it last cuts it. */
	if (status == TCB_OK)
		sqlite3_exec(db->sql, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
	*bytes_out = tcb_db_size(db);
	return status;
}
