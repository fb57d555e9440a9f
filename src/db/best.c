/* SPDX-License-Identifier: MIT
 *
 * The winners: storing one with its tie set in one transaction, and reading
 * them with their ties and counters.  A winner must be backed by a stored ok
 * trial of the same device, problem, geometry and kernel signature.
 */
#include <limits.h>
#include <string.h>

#include "db/db_private.h"
#include "db/verdict.h"

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

static enum tcb_status put_row(struct tcb_db *db, int64_t sweep, const struct tcb_best *best, int64_t trial,
			       size_t tie_count, int64_t *best_out, struct tcb_error *err)
{
	static const char doing[] = "storing a winner";
	const char *state = tcb_state_text(best->state);
	sqlite3_stmt *stmt;

	/* Where the row that is there is worth more, or known better, the insertion below conflicts and does nothing.
	 * Of two shards' the one stays that gained more over the default, which both measured. */
	TCB_TRY(tcb_db_query(
		db, &stmt, doing, err,
		"DELETE FROM best WHERE (device_id, problem_id) = (SELECT device_id, problem_id FROM sweep"
		" WHERE id = ?1) AND state = ?2 AND ((" WORTH " <= ?3 AND NOT (" WORTH
		" = 2 AND ?6 AND NOT " IS_NOISY("best") "))"
							" OR signature = ?5)"
							" AND NOT (provisional AND ?3 = 1 AND ifnull(speedup, 0) > "
							"ifnull(?4, 0) AND " OTHER_SHARD ")",
		"itidti", sweep, state, worth(best), best->speedup.median, best->replaces,
		(int64_t)tcb_best_is_noisy(best)));
	TCB_TRY(tcb_db_finish(db, stmt, NULL, doing, err));
	/* A model stands for a kind of device: a proven winner of any device of that name takes its place. */
	if (worth(best) == 2) {
		TCB_TRY(tcb_db_query(db, &stmt, doing, err,
				     "DELETE FROM best WHERE modelled = 1 AND state = ?2" SAME_NAME, "it", sweep,
				     state));
		TCB_TRY(tcb_db_finish(db, stmt, NULL, doing, err));
	}
	TCB_TRY(tcb_db_query(
		db, &stmt, doing, err,
		"INSERT INTO best (device_id, problem_id, state, sweep_id, trial_id, geometry, variant, signature,"
		" modelled, median_ns, lo_ns, hi_ns, default_geometry, default_median_ns, default_lo_ns, default_hi_ns,"
		" speedup, speedup_lo, speedup_hi, limit_median_ns, limit_lo_ns, limit_hi_ns, limit_method, bytes, "
		"flops,"
		" regret, tie_count, tried, space_count, measured_at, provisional, flip_probability, expected_gain,"
		" others_busy, held_back, final_rounds, quiet_rounds)"
		" SELECT device_id, problem_id, ?2, id, nullif(?3, 0), ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,"
		" ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27,"
		" ifnull(nullif(?28, ''), strftime('%Y-%m-%dT%H:%M:%fZ', 'now')), ?29, ?30, ?31, ?32, ?33,"
		" nullif(?34, 0), iif(?34, ?35, NULL)"
		" FROM sweep WHERE id = ?1 AND NOT (?7 AND EXISTS (SELECT 1 FROM best WHERE modelled = 0 AND state = "
		"?2" SAME_NAME "))"
		" ON CONFLICT (device_id, problem_id, state) DO NOTHING RETURNING id",
		"ititttidddtdddddddddtdddiiitiddddii", sweep, state, trial, best->geometry, best->variant,
		best->signature, (int64_t)(best->modelled != 0), best->ns.median, best->ns.lo, best->ns.hi,
		best->default_geometry, best->default_ns.median, best->default_ns.lo, best->default_ns.hi,
		best->speedup.median, best->speedup.lo, best->speedup.hi, best->limit_ns.median, best->limit_ns.lo,
		best->limit_ns.hi, best->limit_method, best->bytes, best->flops, best->regret, (int64_t)tie_count,
		(int64_t)best->tried, (int64_t)best->space_count, best->measured_at, (int64_t)(best->provisional != 0),
		best->flip_probability, best->expected_gain, best->others_busy, best->held_back,
		(int64_t)best->final_rounds, (int64_t)best->quiet_rounds));
	*best_out = 0;
	return tcb_db_finish(db, stmt, best_out, doing, err);
}

static enum tcb_status put_best(struct tcb_db *db, int64_t sweep, const struct tcb_best *best,
				const char *const *tie_set, size_t tie_count, struct tcb_error *err)
{
	int64_t trial, id;

	TCB_TRY(find_trial(db, sweep, best, &trial, err));
	TCB_TRY(put_row(db, sweep, best, trial, tie_count, &id, err));
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
	TCB_TRY(tcb_db_begin(db, "storing a winner", err));
	return tcb_db_end(db, put_best(db, sweep, best, tie_set, tie_count, err), "storing a winner", err);
}

static int size_column(sqlite3_stmt *stmt, int column, size_t *out)
{
	int64_t value = sqlite3_column_int64(stmt, column);

	*out = (size_t)value;
	return value < 0 ? -1 : 0;
}

int tcb_db_target(sqlite3_stmt *stmt, int column, unsigned threads, struct tcb_target *out)
{
	size_t value[4];

	*out = (struct tcb_target){ .kind = TCB_TARGET_CPU, .threads = threads };
	if (!sqlite3_column_int(stmt, column))
		return -1;
	for (int i = 0; i < 4; i++)
		if (size_column(stmt, column + 1 + i, &value[i]) || (i < 2 && value[i] > UINT16_MAX))
			return column + 1 + i;
	out->capability = (unsigned)value[0];
	out->sm_count = (unsigned)value[1];
	out->shared_optin_bytes = value[2];
	out->l2_bytes = value[3];
	tcb_target_complete_gpu(out);
	return -1;
}

/* The columns of best_each in their order.  -1, or the first column that cannot be read. */
static int read_best(sqlite3_stmt *stmt, struct tcb_best *best)
{
	char contract[16], state[16];
	size_t threads;
	const struct {
		int column;
		char *out;
		size_t capacity;
	} texts[] = {
		{ 1, best->device_name, sizeof(best->device_name) },
		{ 2, best->device_key, sizeof(best->device_key) },
		{ 3, best->arch, sizeof(best->arch) },
		{ 4, best->model, sizeof(best->model) },
		{ 6, best->problem.op_name, sizeof(best->problem.op_name) },
		{ 7, contract, sizeof(contract) },
		{ 11, state, sizeof(state) },
		{ 12, best->geometry, sizeof(best->geometry) },
		{ 13, best->variant, sizeof(best->variant) },
		{ 14, best->signature, sizeof(best->signature) },
		{ 19, best->default_geometry, sizeof(best->default_geometry) },
		{ 29, best->limit_method, sizeof(best->limit_method) },
		{ 36, best->measured_at, sizeof(best->measured_at) },
		{ 37, best->git_commit, sizeof(best->git_commit) },
	};
	const struct {
		int column;
		size_t *out;
	} sizes[] = {
		{ 5, &threads },
		{ 8, &best->problem.shape.m },
		{ 9, &best->problem.shape.n },
		{ 10, &best->problem.shape.k },
		{ 33, &best->tie_count },
		{ 34, &best->tried },
		{ 35, &best->space_count },
		{ 50 + TCB_COMPUTE_COUNT, &best->final_rounds },
		{ 51 + TCB_COMPUTE_COUNT, &best->quiet_rounds },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (tcb_db_text(stmt, texts[i].column, texts[i].out, texts[i].capacity))
			return texts[i].column;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (size_column(stmt, sizes[i].column, sizes[i].out))
			return sizes[i].column;
	best->threads = (unsigned)threads;
	best->modelled = sqlite3_column_int(stmt, 15);
	best->ns = tcb_db_interval(stmt, 16);
	best->default_ns = tcb_db_interval(stmt, 20);
	best->speedup = tcb_db_interval(stmt, 23);
	best->limit_ns = tcb_db_interval(stmt, 26);
	best->bytes = tcb_db_double(stmt, 30);
	best->flops = tcb_db_double(stmt, 31);
	best->regret = tcb_db_double(stmt, 32);
	best->provisional = sqlite3_column_int(stmt, 43);
	best->flip_probability = tcb_db_double(stmt, 44);
	best->expected_gain = tcb_db_double(stmt, 45);
	best->others_busy = tcb_db_double(stmt, 46);
	best->held_back = tcb_db_double(stmt, 47);
	best->plain_ns = tcb_db_double(stmt, 49);
	for (int kind = 0; kind < TCB_COMPUTE_COUNT; kind++)
		best->compute_rate[kind] = sqlite3_column_double(stmt, 50 + kind);
	if (threads > UINT_MAX)
		return 5;
	if (tcb_contract_parse(contract, &best->problem.contract, NULL) != TCB_OK)
		return 7;
	if (tcb_state_parse(state, &best->state, NULL) != TCB_OK)
		return 11;
	if (tcb_db_words(stmt, 48, &best->problem.shape.heads))
		return 48;
	return tcb_db_target(stmt, 38, best->threads, &best->target);
}

/* A column for each kind of arithmetic, in the order of the list. */
#define RATE(id, text)                                                                                           \
	", (SELECT r.rate FROM compute_rate r WHERE r.device_key = d.key AND r.device = d.name AND r.threads = " \
	"d.threads AND r.kind = '" text "')"
#define RATES TCB_COMPUTE_LIST(RATE)

/* What the same geometry took without dependent launch, of the finals where it was in them, else as it was screened. */
#define PLAIN_NS                                                                                                  \
	"CASE WHEN instr(b.geometry, 'pdl=1') THEN (SELECT m.median_ns FROM sweep q JOIN trial t ON t.sweep_id =" \
	" q.id JOIN measurement m ON m.trial_id = t.id WHERE q.device_id = b.device_id AND q.problem_id ="        \
	" b.problem_id AND t.geometry = replace(b.geometry, 'pdl=1', 'pdl=0') AND t.outcome = 'ok' AND m.state =" \
	" b.state ORDER BY m.stage = 'final' DESC, m.id DESC LIMIT 1) END"

enum tcb_status tcb_db_best_each(struct tcb_db *db, const struct tcb_best_filter *filter,
				 int (*each)(void *ctx, const struct tcb_best *best), void *ctx, struct tcb_error *err)
{
	static const char doing[] = "reading winners";
	sqlite3_stmt *stmt;
	enum tcb_status status;
	int row;

	TCB_TRY(tcb_db_query(
		db, &stmt, doing, err,
		"SELECT b.id, d.name, d.key, d.arch, d.model, d.threads, p.op, p.contract, p.m, p.n, p.k, b.state,"
		" b.geometry, b.variant, b.signature, b.modelled, b.median_ns, b.lo_ns, b.hi_ns, b.default_geometry,"
		" b.default_median_ns, b.default_lo_ns, b.default_hi_ns, b.speedup, b.speedup_lo, b.speedup_hi,"
		" b.limit_median_ns, b.limit_lo_ns, b.limit_hi_ns, b.limit_method, b.bytes, b.flops, b.regret, "
		"b.tie_count,"
		" b.tried, b.space_count, b.measured_at, u.git_commit, d.kind = 'cuda', d.capability, d.sm_count,"
		" d.shared_bytes, d.l2_bytes, b.provisional, b.flip_probability, b.expected_gain, b.others_busy,"
		" b.held_back, p.words, " PLAIN_NS RATES ", b.final_rounds, b.quiet_rounds"
		" FROM best b JOIN device d ON d.id = b.device_id JOIN problem p ON p.id = b.problem_id"
		" JOIN sweep s ON s.id = b.sweep_id JOIN build u ON u.id = s.build_id"
		" WHERE (?1 IS NULL OR p.op = ?1) AND (?2 IS NULL OR d.name = ?2)"
		" ORDER BY p.op, d.name, d.key, d.threads, p.contract, p.m, p.n, p.k, p.words, b.state",
		"tt", filter ? filter->op : NULL, filter ? filter->device_name : NULL));
	while ((status = tcb_db_step(db, stmt, &row, doing, err)) == TCB_OK && row) {
		struct tcb_best best = { 0 };

		int column = read_best(stmt, &best);

		if (column >= 0)
			tcb_db_note_unreadable(db, "best", sqlite3_column_int64(stmt, 0), stmt, column);
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
			    tcb_state_text(best->state), &problem->shape.heads);
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
		" JOIN counter c ON c.trial_id = t.id AND c.state = b.state)"
		" SELECT name, source, value, trial_id FROM counter WHERE trial_id = (SELECT id FROM counted) AND "
		"state = ?9"
		" ORDER BY source, name",
		best, doing, err));
	while ((status = tcb_db_step(db, stmt, &row, doing, err)) == TCB_OK && row) {
		struct tcb_counter counter = { .state = best->state, .value = tcb_db_double(stmt, 2) };

		int bad = tcb_db_text(stmt, 0, counter.name, sizeof(counter.name))       ? 0
			  : tcb_db_text(stmt, 1, counter.source, sizeof(counter.source)) ? 1
											 : -1;

		if (bad >= 0)
			tcb_db_note_unreadable(db, "counter of trial", sqlite3_column_int64(stmt, 3), stmt, bad);
		else if (each(ctx, &counter))
			break;
	}
	sqlite3_finalize(stmt);
	return status;
}
