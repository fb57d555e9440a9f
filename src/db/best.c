/* SPDX-License-Identifier: MIT
 *
 * The winners: storing one with its tie set in one transaction, and reading
 * them with their ties and counters; columns.c says of which columns they are.
 * A winner must be backed by a stored ok trial of the same device, problem,
 * geometry and kernel signature.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/kind.h"
#include "base/util.h"
#include "db/columns.h"
#include "db/db_private.h"
#include "db/verdict.h"

static const char storing[] = "storing a winner";

static enum tcb_status find_trial(struct tcb_db *db, int64_t sweep, const struct tcb_best *best, int64_t *trial_out,
				  struct tcb_error *err)
{
	static const char doing[] = "looking for the winner's trial";
	sqlite3_stmt *stmt;

	*trial_out = 0;
	TCB_TRY(tcb_db_query(db, &stmt, doing, err,
			     "SELECT max(t.id) FROM sweep mine JOIN sweep s ON s.device_id = mine.device_id"
			     " AND s.problem_id = mine.problem_id JOIN trial t ON t.sweep_id = s.id"
			     " WHERE mine.id = ?1 AND t.geometry = ?2 AND t.signature = ?3 AND t.outcome = 'ok'",
			     "itt", sweep, best->geometry, best->signature));
	TCB_TRY(tcb_db_finish(db, stmt, trial_out, doing, err));
	if (*trial_out == 0 && !best->modelled)
		return tcb_fail(err, TCB_E_NOT_FOUND, "%s: the winner %s has no ok trial in sweep %lld or before it",
				db->path, best->geometry, (long long)sweep);
	return TCB_OK;
}

/* Of sweep ?1: its problem, on all devices of its device's name. */
#define SAME_NAME                                                                                                    \
	" AND problem_id = (SELECT problem_id FROM sweep WHERE id = ?1) AND device_id IN (SELECT d.id FROM device d" \
	" JOIN device mine ON mine.name = d.name JOIN sweep s ON s.device_id = mine.id WHERE s.id = ?1)"

/* What a row is worth: modelled, provisional, proven.  A row replaces those that are worth no more. */
#define WORTH "((1 - modelled) * (2 - provisional))"

/* Of another shard than sweep ?1's: parts of one space are swept into one file. */
#define OTHER_SHARD                                                                                                \
	"ifnull((SELECT CASE WHEN json_valid(o.settings) AND json_valid(w.settings) THEN json_extract(o.settings," \
	" '$.shard') <> json_extract(w.settings, '$.shard') END FROM sweep o JOIN sweep w WHERE o.id ="            \
	" best.sweep_id AND w.id = ?1), 0)"

static int64_t worth(const struct tcb_best *best)
{
	return best->modelled ? 0 : best->provisional ? 1 : 2;
}

static int is_stored(const struct tcb_column *column)
{
	return column->member && strcmp(column->group, "best") == 0;
}

static int bind_column(sqlite3_stmt *stmt, int at, const struct tcb_column *column, const struct tcb_best *best)
{
	double number;

	if (column->type == TCB_COLUMN_TEXT)
		return sqlite3_bind_text(stmt, at, tcb_column_text(column, best), -1, SQLITE_STATIC);
	number = tcb_column_number(column, best);
	return column->type == TCB_COLUMN_REAL || isnan(number) ? sqlite3_bind_double(stmt, at, number)
								: sqlite3_bind_int64(stmt, at, (int64_t)number);
}

enum { FIRST_STORED = 5 }; /* the number of the first column's parameter */

static void add_insert(struct tcb_str *sql)
{
	struct tcb_str values = { 0 };
	int at = FIRST_STORED;

	tcb_str_add(sql, "INSERT INTO best (device_id, problem_id, state, sweep_id, trial_id");
	for (size_t i = 0; i < tcb_column_count; i++) {
		if (!is_stored(&tcb_columns[i]))
			continue;
		tcb_str_addf(sql, ", %s", tcb_columns[i].name);
		tcb_str_addf(&values,
			     tcb_columns[i].member == TCB_MEMBER_TIME
				     ? ", ifnull(nullif(?%d, ''), strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ', 'now'))"
				     : ", ?%d",
			     at++);
	}
	tcb_str_add(sql, ") SELECT device_id, problem_id, ?2, id, nullif(?3, 0)");
	tcb_str_add(sql, values.data);
	tcb_str_add(sql, " FROM sweep WHERE id = ?1 AND NOT (?4 AND EXISTS (SELECT 1 FROM best WHERE modelled = 0 AND"
			 " state = ?2" SAME_NAME "))"
			 " ON CONFLICT (device_id, problem_id, state) DO NOTHING RETURNING id");
	sql->failed |= values.failed;
	tcb_str_fini(&values);
}

static enum tcb_status insert_row(struct tcb_db *db, int64_t sweep, const struct tcb_best *best, int64_t trial,
				  int64_t *best_out, struct tcb_error *err)
{
	struct tcb_str sql = { 0 };
	sqlite3_stmt *stmt = NULL;
	enum tcb_status status;
	int at = FIRST_STORED, rc = SQLITE_OK;

	*best_out = 0;
	add_insert(&sql);
	status = sql.failed ? tcb_db_fail(db, SQLITE_NOMEM, storing, err)
			    : tcb_db_query(db, &stmt, storing, err, sql.data, "itii", sweep,
					   tcb_state_text(best->state), trial, (int64_t)(best->modelled != 0));
	tcb_str_fini(&sql);
	TCB_TRY(status);
	for (size_t i = 0; i < tcb_column_count && rc == SQLITE_OK; i++)
		if (is_stored(&tcb_columns[i]))
			rc = bind_column(stmt, at++, &tcb_columns[i], best);
	if (rc == SQLITE_OK)
		return tcb_db_finish(db, stmt, best_out, storing, err);
	sqlite3_finalize(stmt);
	return tcb_db_fail(db, rc, storing, err);
}

static enum tcb_status put_row(struct tcb_db *db, int64_t sweep, const struct tcb_best *best, int64_t trial,
			       int64_t *best_out, struct tcb_error *err)
{
	const char *state = tcb_state_text(best->state);
	sqlite3_stmt *stmt;

	/* Where the row that is there is worth more, or known better, the insertion below conflicts and does nothing.
	 * Of two shards' the one stays that gained more over the default, which both measured. */
	TCB_TRY(tcb_db_query(
		db, &stmt, storing, err,
		"DELETE FROM best WHERE (device_id, problem_id) = (SELECT device_id, problem_id FROM sweep"
		" WHERE id = ?1) AND state = ?2 AND ((" WORTH " <= ?3 AND NOT (" WORTH
		" = 2 AND ?6 AND NOT " IS_NOISY("best") "))"
							" OR signature = ?5)"
							" AND NOT (provisional AND ?3 = 1 AND ifnull(speedup, 0) > "
							"ifnull(?4, 0) AND " OTHER_SHARD ")",
		"itidti", sweep, state, worth(best), best->speedup.median, best->replaces,
		(int64_t)tcb_best_is_noisy(best)));
	TCB_TRY(tcb_db_finish(db, stmt, NULL, storing, err));
	/* A model stands for a kind of device: a proven winner of any device of that name takes its place. */
	if (worth(best) == 2) {
		TCB_TRY(tcb_db_query(db, &stmt, storing, err,
				     "DELETE FROM best WHERE modelled = 1 AND state = ?2" SAME_NAME, "it", sweep,
				     state));
		TCB_TRY(tcb_db_finish(db, stmt, NULL, storing, err));
	}
	return insert_row(db, sweep, best, trial, best_out, err);
}

static enum tcb_status put_best(struct tcb_db *db, int64_t sweep, const struct tcb_best *best,
				const char *const *tie_set, size_t tie_count, struct tcb_error *err)
{
	struct tcb_best stored = *best;
	int64_t trial, id;

	stored.tie_count = tie_count;
	TCB_TRY(find_trial(db, sweep, best, &trial, err));
	TCB_TRY(put_row(db, sweep, &stored, trial, &id, err));
	for (size_t i = 0; id && i < tie_count; i++) {
		sqlite3_stmt *stmt;

		TCB_TRY(tcb_db_query(db, &stmt, "storing a tie set", err,
				     "INSERT INTO tie_set (best_id, position, geometry) VALUES (?1, ?2, ?3)", "iit", id,
				     (int64_t)i, tie_set[i]));
		TCB_TRY(tcb_db_finish(db, stmt, NULL, "storing a tie set", err));
	}
	return TCB_OK;
}

enum tcb_status tcb_db_best_put(struct tcb_db *db, int64_t sweep, const struct tcb_best *best,
				const char *const *tie_set, size_t tie_count, struct tcb_error *err)
{
	TCB_TRY(tcb_db_begin(db, storing, err));
	return tcb_db_end(db, put_best(db, sweep, best, tie_set, tie_count, err), storing, err);
}

static int size_column(sqlite3_stmt *stmt, int column, size_t *out)
{
	int64_t value = sqlite3_column_int64(stmt, column);

	*out = (size_t)value;
	return value < 0 ? -1 : 0;
}

int tcb_db_target(sqlite3_stmt *stmt, int column, unsigned threads, struct tcb_target *out)
{
	const char *kind = (const char *)sqlite3_column_text(stmt, column);
	const char *limits = (const char *)sqlite3_column_text(stmt, column + 1);

	*out = (struct tcb_target){ .threads = threads };
	if (!kind || tcb_kind_find(kind, &out->kind) != 0)
		return column;
	if (tcb_kind_of(out)->has_threads) /* what else it has is known on its host alone */
		return -1;
	return limits && tcb_kind_read_limits(limits, out) == 0 ? -1 : column + 1;
}

/* What best_each selects: columns that are read by hand, then those of the table that have a member. */
#define BY_HAND "best.id, problem.contract, best.state, problem.words, device.threads, device.kind, device.limits"
enum { BEST_ID, CONTRACT, STATE, WORDS, THREADS, TARGET, FIRST_READ = TARGET + 2 };

/* 0, or -1: it cannot be read. */
static int read_column(sqlite3_stmt *stmt, int at, const struct tcb_column *column, struct tcb_best *best)
{
	void *member = (char *)best + column->offset;

	switch (column->member) {
	case TCB_MEMBER_TEXT:
	case TCB_MEMBER_TIME:
		return tcb_db_text(stmt, at, member, column->capacity);
	case TCB_MEMBER_SIZE:
	case TCB_MEMBER_ROUNDS:
		return size_column(stmt, at, member);
	case TCB_MEMBER_FLAG:
		*(int *)member = sqlite3_column_int(stmt, at);
		break;
	case TCB_MEMBER_REAL:
		*(double *)member = tcb_db_double(stmt, at);
		break;
	case TCB_MEMBER_NONE:
		break;
	}
	return 0;
}

/* -1, or the first column that cannot be read. */
static int read_best(sqlite3_stmt *stmt, struct tcb_best *best)
{
	char contract[16], state[16];
	size_t threads;
	int at = FIRST_READ;

	for (size_t i = 0; i < tcb_column_count; i++)
		if (tcb_columns[i].member && read_column(stmt, at++, &tcb_columns[i], best))
			return at - 1;
	if (size_column(stmt, THREADS, &threads) || threads > UINT_MAX)
		return THREADS;
	best->threads = (unsigned)threads;
	if (tcb_db_text(stmt, CONTRACT, contract, sizeof contract) ||
	    tcb_contract_parse(contract, &best->problem.contract, NULL) != TCB_OK)
		return CONTRACT;
	if (tcb_db_text(stmt, STATE, state, sizeof state) || tcb_state_parse(state, &best->state, NULL) != TCB_OK)
		return STATE;
	if (tcb_db_words(stmt, WORDS, &best->problem.shape.words))
		return WORDS;
	return tcb_db_target(stmt, TARGET, best->threads, &best->target);
}

static void add_select(struct tcb_str *sql)
{
	tcb_str_add(sql, "SELECT " BY_HAND);
	for (size_t i = 0; i < tcb_column_count; i++) {
		const struct tcb_column *column = &tcb_columns[i];

		if (column->expression)
			tcb_str_addf(sql, ", %s", column->expression);
		else if (column->member)
			tcb_str_addf(sql, ", %s.%s", column->group, column->name);
	}
	tcb_str_add(sql, " FROM best JOIN device ON device.id = best.device_id JOIN problem ON problem.id ="
			 " best.problem_id JOIN sweep ON sweep.id = best.sweep_id JOIN build ON build.id ="
			 " sweep.build_id WHERE (?1 IS NULL OR problem.op = ?1) AND (?2 IS NULL OR device.name = ?2)"
			 " ORDER BY problem.op, device.name, device.key, device.threads, problem.contract, problem.m,"
			 " problem.n, problem.k, problem.words, best.state");
}

enum tcb_status tcb_db_best_each(struct tcb_db *db, const struct tcb_best_filter *filter,
				 int (*each)(void *ctx, const struct tcb_best *best), void *ctx, struct tcb_error *err)
{
	static const char doing[] = "reading winners";
	struct tcb_str sql = { 0 };
	sqlite3_stmt *stmt;
	enum tcb_status status;
	int row;

	add_select(&sql);
	status = sql.failed ? tcb_db_fail(db, SQLITE_NOMEM, doing, err)
			    : tcb_db_query(db, &stmt, doing, err, sql.data, "tt", filter ? filter->op : NULL,
					   filter ? filter->device_name : NULL);
	tcb_str_fini(&sql);
	TCB_TRY(status);
	while ((status = tcb_db_step(db, stmt, &row, doing, err)) == TCB_OK && row) {
		struct tcb_best best = { 0 };

		int column = read_best(stmt, &best);

		tcb_db_name_op(db, &best.problem);
		if (column >= 0)
			tcb_db_note_unreadable(db, "best", sqlite3_column_int64(stmt, BEST_ID), stmt, column);
		else if (each(ctx, &best))
			break;
	}
	sqlite3_finalize(stmt);
	return status;
}

/* Which best row is meant, by its key. */
#define BEST_ROW                                                                                                   \
	" FROM device d JOIN problem p JOIN best b ON b.device_id = d.id AND b.problem_id = p.id WHERE d.key = ?1" \
	" AND d.name = ?2 AND d.threads = ?3 AND p.op = ?4 AND p.contract = ?5 AND p.m = ?6 AND p.n = ?7"          \
	" AND p.k = ?8 AND p.words = ?10 AND b.state = ?9"

static enum tcb_status query_best(struct tcb_db *db, sqlite3_stmt **out, const char *sql, const struct tcb_best *best,
				  const char *doing, struct tcb_error *err)
{
	const struct tcb_problem *problem = &best->problem;

	return tcb_db_query(db, out, doing, err, sql, "ttittiiitw", best->device_key, best->device_name,
			    (int64_t)best->threads, problem->op_name, tcb_contract_text(problem->contract),
			    (int64_t)problem->shape.m, (int64_t)problem->shape.n, (int64_t)problem->shape.k,
			    tcb_state_text(best->state), &problem->shape.words);
}

enum tcb_status tcb_db_ties_each(struct tcb_db *db, const struct tcb_best *best,
				 int (*each)(void *ctx, const char *geometry), void *ctx, struct tcb_error *err)
{
	static const char doing[] = "reading a tie set";
	sqlite3_stmt *stmt;
	enum tcb_status status;
	int row, count = 0;

	TCB_TRY(query_best(db, &stmt,
			   "SELECT geometry FROM tie_set WHERE best_id = (SELECT b.id" BEST_ROW ") ORDER BY position",
			   best, doing, err));
	while ((status = tcb_db_step(db, stmt, &row, doing, err)) == TCB_OK && row && count++ < TCB_DB_TIES_MAX) {
		const char *geometry = (const char *)sqlite3_column_text(stmt, 0);

		if (each(ctx, geometry ? geometry : ""))
			break;
	}
	sqlite3_finalize(stmt);
	return status;
}

/* Counters of energy are stored by themselves (search/sweep_energy.c). */
#define METERS "'rapl', 'nvml-energy', 'nvml-power'"
#define METERED(name)                                                                                 \
	" (SELECT value FROM counter c WHERE c.trial_id = n.id AND c.state = n.state AND c.source = " \
	"n.source AND c.name = '" name "')"

enum tcb_status tcb_db_energy_each(struct tcb_db *db, const struct tcb_best *best,
				   int (*each)(void *ctx, const struct tcb_energy_row *row), void *ctx,
				   struct tcb_error *err)
{
	static const char doing[] = "reading energies";
	sqlite3_stmt *stmt;
	enum tcb_status status;
	int row;

	TCB_TRY(query_best(
		db, &stmt,
		"WITH chosen AS (SELECT b.*" BEST_ROW "), n AS (SELECT max(t.id) AS id, t.geometry, c.state,"
		" c.source, c.value FROM chosen b JOIN sweep s ON s.device_id = b.device_id AND s.problem_id"
		" = b.problem_id JOIN trial t ON t.sweep_id = s.id JOIN counter c ON c.trial_id = t.id"
		" AND c.state = b.state AND c.name = '" TCB_ENERGY_JOULES "' AND c.source IN (" METERS ")"
		" GROUP BY t.geometry) SELECT n.id, n.geometry, n.source, n.value," METERED(TCB_ENERGY_LEAST) "," METERED(
			TCB_ENERGY_MOST) "," METERED(TCB_ENERGY_NS) "," METERED(TCB_ENERGY_STEP) " FROM n ORDER BY "
												 "n.geometry",
		best, doing, err));
	while ((status = tcb_db_step(db, stmt, &row, doing, err)) == TCB_OK && row) {
		struct tcb_energy_row energy = { .joules = tcb_db_double(stmt, 3),
						 .least = tcb_db_double(stmt, 4),
						 .most = tcb_db_double(stmt, 5),
						 .ns = tcb_db_double(stmt, 6),
						 .step_s = tcb_db_double(stmt, 7) };
		const struct tcb_db_room texts[] = { { energy.geometry, sizeof energy.geometry },
						     { energy.source, sizeof energy.source } };
		const int bad = tcb_db_texts(stmt, 1, texts, 2);

		if (bad >= 0)
			tcb_db_note_unreadable(db, "counter of trial", sqlite3_column_int64(stmt, 0), stmt, bad);
		else if (each(ctx, &energy))
			break;
	}
	sqlite3_finalize(stmt);
	return status;
}

enum tcb_status tcb_db_counters_each(struct tcb_db *db, const struct tcb_best *best,
				     int (*each)(void *ctx, const struct tcb_counter *counter), void *ctx,
				     struct tcb_error *err)
{
	static const char doing[] = "reading counters";
	sqlite3_stmt *stmt;
	enum tcb_status status;
	int row;

	/* Counters may have been taken when the winner was known, in a later row for the same candidate: the newest. */
	TCB_TRY(query_best(
		db, &stmt,
		"WITH chosen AS (SELECT b.*" BEST_ROW "), counted AS (SELECT max(c.trial_id) AS id FROM chosen b"
		" JOIN sweep s ON s.device_id = b.device_id AND s.problem_id = b.problem_id JOIN trial t"
		" ON t.sweep_id = s.id AND t.geometry = b.geometry AND t.signature = b.signature AND t.outcome = 'ok'"
		" JOIN counter c ON c.trial_id = t.id AND c.state = b.state GROUP BY c.source IN (" METERS "))"
		" SELECT name, source, value, trial_id FROM counter WHERE trial_id IN (SELECT id FROM counted) AND "
		"state = ?9"
		" ORDER BY source, name",
		best, doing, err));
	while ((status = tcb_db_step(db, stmt, &row, doing, err)) == TCB_OK && row) {
		struct tcb_counter counter = { .state = best->state, .value = tcb_db_double(stmt, 2) };

		const struct tcb_db_room texts[] = { { counter.name, sizeof counter.name },
						     { counter.source, sizeof counter.source } };
		const int bad = tcb_db_texts(stmt, 0, texts, 2);

		if (bad >= 0)
			tcb_db_note_unreadable(db, "counter of trial", sqlite3_column_int64(stmt, 3), stmt, bad);
		else if (each(ctx, &counter))
			break;
	}
	sqlite3_finalize(stmt);
	return status;
}
