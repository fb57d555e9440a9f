/* SPDX-License-Identifier: MIT
 *
 * Which sweeps there were of a problem on a device: the shards of its space
 * that were swept, with what else a command line needs to sweep one again.
 */

#include "db/db_private.h"

static const char doing[] = "reading sweeps";

/* Settings that are no JSON, which the check names, say nothing. */
static const char swept_sql[] =
	"SELECT s.id, ifnull(json_extract(x, '$.shard'), ''), s.status, s.strategy, s.seed,"
	" ifnull(json_extract(x, '$.budget_s'), 0), ifnull(json_extract(x, '$.max_trials'), 0),"
	" ifnull(json_extract(x, '$.any_size'), 0)"
	" FROM (SELECT s.*, iif(json_valid(s.settings), s.settings, '{}') AS x FROM sweep s JOIN device d ON d.id ="
	" s.device_id JOIN problem p ON p.id = s.problem_id WHERE d.key = ?1 AND d.name = ?2 AND d.threads = ?3"
	" AND p.op = ?4 AND p.contract = ?5 AND p.m = ?6 AND p.n = ?7 AND p.k = ?8 AND s.rotation_bytes = ?9 AND "
	"p.words = ?10) s"
	" ORDER BY s.started_at, s.uid";

/* -1, or the first column that cannot be read. */
static int read_swept(sqlite3_stmt *stmt, struct tcb_swept *swept)
{
	*swept = (struct tcb_swept){ .budget_s = sqlite3_column_double(stmt, 5),
				     .max_trials = (uint64_t)sqlite3_column_int64(stmt, 6),
				     .any_size = sqlite3_column_int(stmt, 7) };
	const struct tcb_db_room texts[] = { { swept->shard, sizeof swept->shard },
					     { swept->status, sizeof swept->status },
					     { swept->strategy, sizeof swept->strategy },
					     { swept->seed, sizeof swept->seed } };

	return tcb_db_texts(stmt, 1, texts, sizeof texts / sizeof *texts);
}

enum tcb_status tcb_db_swept_each(struct tcb_db *db, const struct tcb_device *device, const struct tcb_problem *problem,
				  uint64_t rotation_bytes, int (*each)(void *ctx, const struct tcb_swept *swept),
				  void *ctx, struct tcb_error *err)
{
	sqlite3_stmt *stmt;
	enum tcb_status status;
	struct tcb_swept swept;
	int row;

	TCB_TRY(tcb_db_query(db, &stmt, doing, err, swept_sql, "ttittiiiiw", device->key, device->name,
			     (int64_t)device->target.threads, problem->op_name, tcb_contract_text(problem->contract),
			     (int64_t)problem->shape.m, (int64_t)problem->shape.n, (int64_t)problem->shape.k,
			     (int64_t)rotation_bytes, &problem->shape.words));
	while ((status = tcb_db_step(db, stmt, &row, doing, err)) == TCB_OK && row) {
		const int column = read_swept(stmt, &swept);

		if (column >= 0)
			tcb_db_note_unreadable(db, "sweep", sqlite3_column_int64(stmt, 0), stmt, column);
		else if (each(ctx, &swept))
			break;
	}
	sqlite3_finalize(stmt);
	return status;
}
