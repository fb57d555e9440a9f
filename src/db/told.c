/* SPDX-License-Identifier: MIT
 *
 * Rows of trials come in, one by one, and go out with the problem and the device
 * that they are of.
 */
#include "db/told.h"

#include "db/db_private.h"

#define MEDIAN(state)                                                                          \
	"(SELECT m.median_ns FROM measurement m WHERE m.trial_id = t.id AND m.state = '" state \
	"' ORDER BY m.id DESC LIMIT 1)"
enum { TEXTS = 10, SHAPE = 11, REALS = 15 };

/* -1, or the column that cannot be read. */
static int read_told(sqlite3_stmt *stmt, struct tcb_told *told)
{
	const struct tcb_db_room texts[TEXTS] = {
		{ told->op, sizeof told->op },
		{ told->contract, sizeof told->contract },
		{ told->device, sizeof told->device },
		{ told->key, sizeof told->key },
		{ told->geometry, sizeof told->geometry },
		{ told->variant, sizeof told->variant },
		{ told->signature, sizeof told->signature },
		{ told->outcome, sizeof told->outcome },
		{ told->message, sizeof told->message },
		{ told->finished_at, sizeof told->finished_at },
	};
	const int bad = tcb_db_texts(stmt, 1, texts, TEXTS);

	if (bad >= 0)
		return bad;
	told->id = sqlite3_column_int64(stmt, 0);
	told->shape = (struct tcb_shape){ .m = (size_t)sqlite3_column_int64(stmt, SHAPE),
					  .n = (size_t)sqlite3_column_int64(stmt, SHAPE + 1),
					  .k = (size_t)sqlite3_column_int64(stmt, SHAPE + 2) };
	if (tcb_db_words(stmt, SHAPE + 3, &told->shape.words) != 0)
		return SHAPE + 3;
	told->error_ratio = tcb_db_double(stmt, REALS);
	for (int state = 0; state < TCB_STATE_COUNT; state++)
		told->ns[state] = tcb_db_double(stmt, REALS + 1 + state);
	told->threads = (unsigned)sqlite3_column_int64(stmt, REALS + 1 + TCB_STATE_COUNT);
	return -1;
}

enum tcb_status tcb_db_told_each(struct tcb_db *db, int64_t id, const char *op,
				 int (*each)(void *ctx, const struct tcb_told *told), void *ctx, struct tcb_error *err)
{
	static const char doing[] = "reading single trials";
	sqlite3_stmt *stmt;
	enum tcb_status status;
	int row;

	TCB_TRY(tcb_db_query(
		db, &stmt, doing, err,
		"SELECT t.id, p.op, p.contract, d.name, d.key, t.geometry, t.variant, t.signature, t.outcome,"
		" t.message, t.finished_at, p.m, p.n, p.k, p.words, t.error_ratio, " MEDIAN("cold") ", " MEDIAN(
			"hot") ", d.threads FROM trial t JOIN sweep s ON s.id = t.sweep_id JOIN problem p"
			       " ON p.id = s.problem_id JOIN device d ON d.id = s.device_id"
			       " WHERE CASE WHEN ?1 THEN t.id = ?1 ELSE t.outcome <> 'ok' END"
			       " AND (?2 IS NULL OR p.op = ?2) ORDER BY t.id",
		"it", id, op));
	while ((status = tcb_db_step(db, stmt, &row, doing, err)) == TCB_OK && row) {
		struct tcb_told told = { .id = 0 };
		const int column = read_told(stmt, &told);

		if (column >= 0)
			tcb_db_note_unreadable(db, "trial", sqlite3_column_int64(stmt, 0), stmt, column);
		else if (each(ctx, &told))
			break;
	}
	sqlite3_finalize(stmt);
	return status;
}
