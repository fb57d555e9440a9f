/* SPDX-License-Identifier: MIT
 *
 * A winner as a record: the table of columns says which make it, and both
 * statements that read it and those that write it are made from that.  Who
 * reads a record from a file need not check it, since STRICT tables, their
 * CHECKs and tcb_db_check do.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "db/db_private.h"
#include "db/travel.h"

static const char reading[] = "reading winners", storing[] = "storing a winner";

/* --- out of a database --- */

/*
 * The trial is the winner's own; its measurement is the newest of that state among the trials of its geometry and
 * kernel, of the finals if there is one: a candidate's finals may be in another row.
 */
static const char rows_sql[] =
	" FROM best JOIN device ON device.id = best.device_id JOIN problem ON problem.id = best.problem_id"
	" JOIN sweep ON sweep.id = best.sweep_id JOIN build ON build.id = sweep.build_id JOIN op ON op.id ="
	" sweep.op_id JOIN trial ON trial.id = best.trial_id JOIN measurement ON measurement.id = (SELECT id"
	" FROM (SELECT m.id, m.stage, t.id = best.trial_id AS is_own FROM sweep s JOIN trial t ON t.sweep_id = s.id "
	"JOIN measurement m ON m.trial_id = t.id"
	" WHERE s.device_id = best.device_id AND s.problem_id = best.problem_id AND t.geometry = best.geometry"
	" AND t.signature = best.signature AND t.outcome = 'ok' AND m.state ="
	" best.state) ORDER BY is_own DESC, stage = 'final' DESC, id DESC LIMIT 1)"
	" WHERE NOT best.modelled AND NOT best.provisional" SELECTED(
		"best.state") " ORDER BY problem.op, problem.contract, problem.m, problem.n, problem.k, problem.words, "
			      "device.name, "
			      "device.key,"
			      " device.threads, best.state";

/* A value that is of another type than its column's was tampered with: as it reads, the check of who takes it says. */
static void read_values(sqlite3_stmt *stmt, struct tcb_winner *winner)
{
	for (size_t i = 0; i < tcb_column_travelling(); i++) {
		struct tcb_value *value = &winner->values[i];
		const int column = (int)i + 2;

		*value = (struct tcb_value){ .is_null = sqlite3_column_type(stmt, column) == SQLITE_NULL };
		if (value->is_null)
			continue;
		if (tcb_columns[i].type == TCB_COLUMN_INTEGER)
			value->integer = sqlite3_column_int64(stmt, column);
		else if (tcb_columns[i].type == TCB_COLUMN_REAL)
			value->real = sqlite3_column_double(stmt, column);
		else
			value->text = (const char *)sqlite3_column_text(stmt, column);
	}
}

struct texts {
	char **items;
	size_t count;
};

static void texts_fini(struct texts *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		free(texts->items[i]);
	free(texts->items);
	*texts = (struct texts){ 0 };
}

static enum tcb_status read_texts(struct tcb_db *db, const char *sql, int64_t id, struct texts *out,
				  struct tcb_error *err)
{
	sqlite3_stmt *stmt;
	enum tcb_status status;
	int row;

	TCB_TRY(tcb_db_query(db, &stmt, reading, err, sql, "i", id));
	while ((status = tcb_db_step(db, stmt, &row, reading, err)) == TCB_OK && row) {
		const char *text = (const char *)sqlite3_column_text(stmt, 0);
		char **items = realloc(out->items, (out->count + 1) * sizeof *items), *copy = strdup(text ? text : "");

		if (items)
			out->items = items;
		if (!items || !copy) {
			free(copy);
			status = tcb_db_fail(db, SQLITE_NOMEM, reading, err);
			break;
		}
		out->items[out->count++] = copy;
	}
	sqlite3_finalize(stmt);
	return status;
}

/* The row of STMT with its lists, handed to EACH; *STOP_OUT is what that returns. */
static enum tcb_status hand_out(struct tcb_db *db, sqlite3_stmt *stmt, struct tcb_winner *winner,
				int (*each)(void *ctx, const struct tcb_winner *winner), void *ctx, int *stop_out,
				struct tcb_error *err)
{
	struct texts ties = { 0 }, known = { 0 };
	enum tcb_status status;

	read_values(stmt, winner);
	status = read_texts(db, "SELECT geometry FROM tie_set WHERE best_id = ?1 ORDER BY position",
			    sqlite3_column_int64(stmt, 0), &ties, err);
	if (status == TCB_OK)
		status = read_texts(db, "SELECT known_uid FROM sweep_known WHERE sweep_id = ?1 ORDER BY known_uid",
				    sqlite3_column_int64(stmt, 1), &known, err);
	winner->ties = (const char *const *)ties.items;
	winner->tie_count = ties.count;
	winner->known = (const char *const *)known.items;
	winner->known_count = known.count;
	if (status == TCB_OK)
		*stop_out = each(ctx, winner);
	texts_fini(&ties);
	texts_fini(&known);
	return status;
}

static enum tcb_status query_winners(struct tcb_db *db, const struct tcb_db_selection *selection, sqlite3_stmt **out,
				     struct tcb_error *err)
{
	struct tcb_str sql = { 0 };
	enum tcb_status status;

	tcb_str_add(&sql, "SELECT best.id, sweep.id");
	for (size_t i = 0; i < tcb_column_travelling(); i++)
		tcb_str_addf(&sql, ", %s.%s", tcb_columns[i].group, tcb_columns[i].name);
	tcb_str_add(&sql, rows_sql);
	status = sql.failed ? tcb_db_fail(db, SQLITE_NOMEM, reading, err)
			    : tcb_db_query_selected(db, out, reading, err, sql.data, selection);
	tcb_str_fini(&sql);
	return status;
}

static enum tcb_status count_others(struct tcb_db *db, const struct tcb_db_selection *selection, size_t *out,
				    struct tcb_error *err)
{
	sqlite3_stmt *stmt;
	int64_t others = 0;

	TCB_TRY(tcb_db_query_selected(db, &stmt, reading, err,
				      "SELECT count(*) FROM best JOIN device ON device.id = best.device_id"
				      " JOIN problem ON problem.id = best.problem_id"
				      " WHERE (best.modelled OR best.provisional)" SELECTED("best.state"),
				      selection));
	TCB_TRY(tcb_db_finish(db, stmt, &others, reading, err));
	*out = (size_t)others;
	return TCB_OK;
}

static enum tcb_status each_winner(struct tcb_db *db, const struct tcb_db_selection *selection,
				   int (*each)(void *ctx, const struct tcb_winner *winner), void *ctx,
				   size_t *others_out, struct tcb_error *err)
{
	struct tcb_winner winner;
	sqlite3_stmt *stmt;
	enum tcb_status status;
	int row, stop = 0;

	TCB_TRY(count_others(db, selection, others_out, err));
	TCB_TRY(query_winners(db, selection, &stmt, err));
	while ((status = tcb_db_step(db, stmt, &row, reading, err)) == TCB_OK && row && !stop)
		if ((status = hand_out(db, stmt, &winner, each, ctx, &stop, err)) != TCB_OK)
			break;
	sqlite3_finalize(stmt);
	return status;
}

enum tcb_status tcb_db_winner_each(struct tcb_db *db, const struct tcb_db_selection *selection,
				   int (*each)(void *ctx, const struct tcb_winner *winner), void *ctx,
				   size_t *others_out, struct tcb_error *err)
{
	/* One snapshot, without keeping writers out. */
	TCB_TRY(tcb_db_exec(db, "BEGIN", reading, err));
	return tcb_db_end(db, each_winner(db, selection, each, ctx, others_out, err), reading, err);
}

/* --- into a database --- */

const struct tcb_value *tcb_winner_value(const struct tcb_winner *winner, const char *group, const char *name)
{
	static const struct tcb_value none = { .is_null = 1 };

	for (size_t i = 0; i < tcb_column_travelling(); i++)
		if (strcmp(tcb_columns[i].group, group) == 0 && strcmp(tcb_columns[i].name, name) == 0)
			return &winner->values[i];
	return &none;
}

/* Whether WORD is one of WORDS ("a,b"). */
static int has_word(const char *words, const char *word)
{
	const size_t length = strlen(word);

	for (const char *at = words; (at = strstr(at, word)); at += length)
		if ((at == words || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
			return 1;
	return 0;
}

enum { COLUMNS_MAX = 48 };
struct column {
	const char *name;
	const struct tcb_value *value;
	int is_key, type;
};
struct row {
	const char *table;
	struct column columns[COLUMNS_MAX];
	size_t count;
};

static struct row row_of(const struct tcb_winner *winner, const char *table)
{
	struct row row = { .table = table };

	for (size_t i = 0; i < tcb_column_travelling(); i++)
		if (strcmp(tcb_columns[i].group, table) == 0)
			row.columns[row.count++] =
				(struct column){ tcb_columns[i].name, &winner->values[i], 0, tcb_columns[i].type };
	return row;
}

static void add_column(struct row *row, const char *name, enum tcb_column_type type, const struct tcb_value *value)
{
	row->columns[row->count++] = (struct column){ name, value, 0, type };
}

static int bind_value(sqlite3_stmt *stmt, int at, const struct column *column)
{
	const struct tcb_value *value = column->value;

	if (value->is_null)
		return sqlite3_bind_null(stmt, at);
	if (column->type == TCB_COLUMN_INTEGER)
		return sqlite3_bind_int64(stmt, at, value->integer);
	if (column->type == TCB_COLUMN_REAL)
		return sqlite3_bind_double(stmt, at, value->real);
	return sqlite3_bind_text(stmt, at, value->text, -1, SQLITE_STATIC);
}

/* Prepares SQL, binds the columns of ROW (only its keys if KEYS) in their order and runs it. */
static enum tcb_status run_with(struct tcb_db *db, const struct tcb_str *sql, const struct row *row, int keys,
				int64_t *id_out, struct tcb_error *err)
{
	sqlite3_stmt *stmt;
	int at = 0, rc = SQLITE_OK;

	if (sql->failed)
		return tcb_db_fail(db, SQLITE_NOMEM, storing, err);
	TCB_TRY(tcb_db_query(db, &stmt, storing, err, sql->data, ""));
	for (size_t i = 0; i < row->count && rc == SQLITE_OK; i++)
		if (!keys || row->columns[i].is_key)
			rc = bind_value(stmt, ++at, &row->columns[i]);
	if (rc == SQLITE_OK)
		return tcb_db_finish(db, stmt, id_out, storing, err);
	sqlite3_finalize(stmt);
	return tcb_db_fail(db, rc, storing, err);
}

/* The row of ROW's table that has the same KEYS ("a,b"), or a new one; its number. */
static enum tcb_status put_row(struct tcb_db *db, struct row *row, const char *keys, int64_t *id_out,
			       struct tcb_error *err)
{
	struct tcb_str find = { 0 }, insert = { 0 };
	enum tcb_status status = TCB_OK;

	*id_out = 0;
	tcb_str_addf(&find, "SELECT id FROM %s WHERE true", row->table);
	tcb_str_addf(&insert, "INSERT INTO %s (", row->table);
	for (size_t i = 0; i < row->count; i++) {
		struct column *column = &row->columns[i];

		column->is_key = has_word(keys, column->name);
		if (column->is_key)
			tcb_str_addf(&find, " AND %s IS ?", column->name);
		tcb_str_addf(&insert, "%s%s", i ? ", " : "", column->name);
	}
	tcb_str_add(&insert, ") VALUES (?");
	for (size_t i = 1; i < row->count; i++)
		tcb_str_add(&insert, ", ?");
	tcb_str_add(&insert, ") RETURNING id");
	if (*keys)
		status = run_with(db, &find, row, 1, id_out, err);
	if (status == TCB_OK && *id_out == 0)
		status = run_with(db, &insert, row, 0, id_out, err);
	tcb_str_fini(&find);
	tcb_str_fini(&insert);
	return status;
}

static enum tcb_status put_list(struct tcb_db *db, const char *sql, int64_t id, const char *const *items, size_t count,
				struct tcb_error *err)
{
	for (size_t i = 0; i < count; i++) {
		sqlite3_stmt *stmt;

		TCB_TRY(tcb_db_query(db, &stmt, storing, err, sql, "iit", id, (int64_t)i, items[i]));
		TCB_TRY(tcb_db_finish(db, stmt, NULL, storing, err));
	}
	return TCB_OK;
}

enum tcb_status tcb_db_winner_put(struct tcb_db *db, const struct tcb_winner *winner, struct tcb_error *err)
{
	static const struct {
		const char *table, *keys, *named;
	} plain[] = { { "device", "key,name,threads", "device_id" },
		      { "build", "version,git_commit,compiler", "build_id" },
		      { "op", "name,signature", "op_id" },
		      { "problem", "op,contract,m,n,k,words", "problem_id" } };
	const struct tcb_value no = { .integer = 0 }, no_samples = { .text = "[]" };
	const struct tcb_value ties = { .integer = (int64_t)winner->tie_count };
	struct tcb_value ids[4] = { 0 }, sweep_id = { 0 }, trial_id = { 0 };
	struct row sweep = row_of(winner, "sweep"), trial = row_of(winner, "trial");
	struct row measurement = row_of(winner, "measurement"), best = row_of(winner, "best");
	int64_t id;

	for (size_t i = 0; i < 4; i++) {
		struct row row = row_of(winner, plain[i].table);

		TCB_TRY(put_row(db, &row, plain[i].keys, &ids[i].integer, err));
		add_column(&sweep, plain[i].named, TCB_COLUMN_INTEGER, &ids[i]);
	}
	TCB_TRY(put_row(db, &sweep, "uid", &sweep_id.integer, err));
	add_column(&trial, "sweep_id", TCB_COLUMN_INTEGER, &sweep_id);
	TCB_TRY(put_row(db, &trial, "sweep_id,geometry,finished_at", &trial_id.integer, err));
	add_column(&measurement, "trial_id", TCB_COLUMN_INTEGER, &trial_id);
	add_column(&measurement, "sample_count", TCB_COLUMN_INTEGER, &no);
	add_column(&measurement, "samples", TCB_COLUMN_TEXT, &no_samples);
	TCB_TRY(put_row(db, &measurement, "trial_id,state,stage", &id, err));
	add_column(&best, "device_id", TCB_COLUMN_INTEGER, &ids[0]);
	add_column(&best, "problem_id", TCB_COLUMN_INTEGER, &ids[3]);
	add_column(&best, "sweep_id", TCB_COLUMN_INTEGER, &sweep_id);
	add_column(&best, "trial_id", TCB_COLUMN_INTEGER, &trial_id);
	add_column(&best, "modelled", TCB_COLUMN_INTEGER, &no);
	add_column(&best, "provisional", TCB_COLUMN_INTEGER, &no);
	add_column(&best, "tie_count", TCB_COLUMN_INTEGER, &ties);
	TCB_TRY(put_row(db, &best, "", &id, err));
	TCB_TRY(put_list(db, "INSERT INTO tie_set (best_id, position, geometry) VALUES (?1, ?2, ?3)", id, winner->ties,
			 winner->tie_count, err));
	return put_list(db, "INSERT OR IGNORE INTO sweep_known (sweep_id, known_uid) SELECT ?1, ?3 WHERE ?2 >= 0",
			sweep_id.integer, winner->known, winner->known_count, err);
}
