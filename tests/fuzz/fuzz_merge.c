/* SPDX-License-Identifier: MIT
 *
 * Merging what others wrote: a file of any bytes, or a sound database of which
 * the input says what is overwritten (edits of four bytes: column, row, value,
 * kind).  It is refused with a reason that names the file, and the database is
 * as it was; or it is merged, the database is sound, and a second merge adds
 * nothing.
 */
#include "db/db_private.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "db/db_fixture.h"
#include "fuzz.h"

enum { EDITS_MAX = 6, EDIT_BYTES = 4, COLUMNS_MAX = 256, HUGE_BYTES = 200000 };

/* SQL expressions that take the place of a value. */
static const char *const values[] = {
	"NULL",
	"0",
	"-1",
	"1",
	"2",
	"3",
	"9223372036854775807",
	"-9223372036854775807 - 1",
	"4294967296",
	"1e308 * 10",
	"-1e308 * 10",
	"1e-320",
	"0.5",
	"''",
	"'x'",
	"'complete'",
	"'running'",
	"'hot'",
	"'final'",
	"'wrong'",
	"'[]'",
	"'[1,2,3]'",
	"'{\"shard\":\"1/2\"}'",
	"'{\"shard\":[[[]]]}'",
	"char(10) || 'two' || char(10) || 'lines'",
	"char(0) || 'x'",
	"x'ff00ff'",
	"zeroblob(200000)",
	"printf('%.200000c', 'x')",
	"'[' || printf('%.100000c', '[') || ']'",
	"'2999-01-01T00:00:00.000Z'",
	"'macro=1x4096x4096,midi=1x8x4096,micro=1x1x256,isa=avx2'",
};
enum { VALUE_COUNT = sizeof values / sizeof *values };

static struct {
	char table[32], column[64];
} columns[COLUMNS_MAX];
static size_t column_count;

static struct fixture target, source;
static unsigned char *target_bytes, *source_bytes; /* as made, without edits */
static size_t target_size, source_size;

static void must(enum tcb_status status, const struct tcb_error *err)
{
	if (status == TCB_OK)
		return;
	fprintf(stderr, "%s\n", err->message);
	abort();
}

/* Two problems, each with trials from FIRST on, and winners of the last WINNERS of them. */
static void fill(struct tcb_db *db, size_t first, size_t winners)
{
	struct tcb_error err = { .message = "" };
	struct tcb_device device;

	fixture_device(&device);
	for (size_t p = 0; p < 2; p++) {
		const struct tcb_problem problem = fixture_problem(4096, 4096 << p);
		const int64_t sweep = fixture_sweep(db, &device, &problem, &err);

		FUZZ_CHECK(sweep > 0);
		for (size_t i = first; i < first + 3; i++)
			must(fixture_put(db, sweep, i, 1000 + (double)i, &err), &err);
		if (p + winners >= 2)
			must(fixture_put_best(db, sweep, first, 1000 + (double)first, 0, &err), &err);
		must(tcb_db_sweep_end(db, sweep, p ? "complete" : "budget", &err), &err);
	}
}

static unsigned char *read_file(const char *path, size_t *size_out)
{
	FILE *file = fopen(path, "rb");
	long size;

	FUZZ_CHECK(file && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) > 0);
	rewind(file);
	unsigned char *bytes = malloc((size_t)size);
	FUZZ_CHECK(bytes && fread(bytes, 1, (size_t)size, file) == (size_t)size);
	fclose(file);
	*size_out = (size_t)size;
	return bytes;
}

static void write_file(const struct fixture *fixture, const void *bytes, size_t size)
{
	static const char *const endings[] = { "-wal", "-shm" };

	for (size_t i = 0; i < 2; i++) {
		char path[160];
		snprintf(path, sizeof path, "%s%s", fixture->path, endings[i]);
		unlink(path);
	}
	const int fd = open(fixture->path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	FUZZ_CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

static void run_sql(sqlite3 *sql, const char *text)
{
	FUZZ_CHECK(sqlite3_exec(sql, text, NULL, NULL, NULL) == SQLITE_OK);
}

static void list_columns(void)
{
	sqlite3_stmt *stmt;
	sqlite3 *sql;

	FUZZ_CHECK(sqlite3_open(source.path, &sql) == SQLITE_OK);
	FUZZ_CHECK(sqlite3_prepare_v2(sql,
				      "SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c"
				      " WHERE t.type = 'table' ORDER BY t.name, c.cid",
				      -1, &stmt, NULL) == SQLITE_OK);
	while (sqlite3_step(stmt) == SQLITE_ROW && column_count < COLUMNS_MAX) {
		snprintf(columns[column_count].table, sizeof columns->table, "%s", sqlite3_column_text(stmt, 0));
		snprintf(columns[column_count++].column, sizeof columns->column, "%s", sqlite3_column_text(stmt, 1));
	}
	sqlite3_finalize(stmt);
	sqlite3_close(sql);
}

static void remove_files(void)
{
	fixture_fini(&target);
	fixture_fini(&source);
	free(target_bytes);
	free(source_bytes);
}

/* The target has sweeps of its own, and the source is a copy of it that went on: one winner is both's. */
static void make_databases(void)
{
	struct tcb_error err = { .message = "" };
	struct tcb_db *db;

	fixture_init(&target);
	fixture_init(&source);
	must(tcb_db_open(target.path, TCB_DB_WRITE, &db, &err), &err);
	fill(db, 0, 2);
	tcb_db_close(db);
	target_bytes = read_file(target.path, &target_size);
	write_file(&source, target_bytes, target_size);
	must(tcb_db_open(source.path, TCB_DB_WRITE, &db, &err), &err);
	fill(db, 2, 1);
	tcb_db_close(db);
	source_bytes = read_file(source.path, &source_size);
	list_columns();
	atexit(remove_files);
}

/* What does not fit (another type in a STRICT table, a second row of one key) stays as it was. */
static void edit(const uint8_t *data, size_t bytes)
{
	sqlite3 *sql;

	FUZZ_CHECK(sqlite3_open(source.path, &sql) == SQLITE_OK);
	run_sql(sql, "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF");
	for (size_t i = 0; i < EDITS_MAX && (i + 1) * EDIT_BYTES <= bytes; i++) {
		const uint8_t *e = data + i * EDIT_BYTES;
		const size_t column = e[0] % column_count;
		struct tcb_str text = { 0 };

		if (e[3] == 254)
			tcb_str_addf(&text,
				     "INSERT INTO tie_set SELECT best_id, max(position) + 1, geometry FROM tie_set"
				     " GROUP BY best_id; UPDATE best SET tie_count = tie_count + 1; --");
		else if (e[3] == 255)
			tcb_str_addf(&text, "DELETE FROM %s", columns[column].table);
		else
			tcb_str_addf(&text, "UPDATE OR IGNORE %s SET %s = %s", columns[column].table,
				     columns[column].column, values[e[2] % VALUE_COUNT]);
		if (e[1] != 255) /* else all rows */
			tcb_str_addf(&text, " WHERE %s = (SELECT %s FROM %s ORDER BY 1 LIMIT 1 OFFSET %d)",
				     columns[column].column, columns[column].column, columns[column].table, e[1] % 8);
		FUZZ_CHECK(!text.failed);
		(void)sqlite3_exec(sql, text.data, NULL, NULL, NULL);
		tcb_str_fini(&text);
	}
	sqlite3_close(sql);
}

/* A hash of all rows. */
static uint64_t digest(struct tcb_db *db)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < column_count; i++) {
		char text[256];
		sqlite3_stmt *stmt;

		snprintf(text, sizeof text, "SELECT %s FROM %s ORDER BY rowid", columns[i].column, columns[i].table);
		if (sqlite3_prepare_v2(db->sql, text, -1, &stmt, NULL) != SQLITE_OK) { /* WITHOUT ROWID */
			snprintf(text, sizeof text, "SELECT %s FROM %s ORDER BY 1", columns[i].column,
				 columns[i].table);
			FUZZ_CHECK(sqlite3_prepare_v2(db->sql, text, -1, &stmt, NULL) == SQLITE_OK);
		}
		while (sqlite3_step(stmt) == SQLITE_ROW) {
			const void *value = sqlite3_column_blob(stmt, 0);
			const size_t size = (size_t)sqlite3_column_bytes(stmt, 0);

			hash = tcb_hash64(value ? value : "", value ? size : 0, hash + 1);
		}
		sqlite3_finalize(stmt);
	}
	return hash;
}

static void check_sound(struct tcb_db *db)
{
	struct tcb_error err = { .message = "" };

	must(tcb_db_check(db, NULL, NULL, &err), &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const char *paths[] = { source.path };
	struct tcb_error err = { TCB_OK, "" };
	struct tcb_db_merged merged;
	struct tcb_db *db;

	if (!target_bytes)
		make_databases();
	if (bytes >= 16 && memcmp(data, "SQLite format 3", 16) == 0) {
		write_file(&source, data, bytes);
	} else {
		write_file(&source, source_bytes, source_size);
		edit(data, bytes);
	}
	write_file(&target, target_bytes, target_size);
	must(tcb_db_open(target.path, TCB_DB_WRITE, &db, &err), &err);
	run_sql(db->sql, "PRAGMA synchronous = OFF"); /* no power is cut here */
	const uint64_t before = digest(db);
	if (tcb_db_merge(db, paths, 1, &merged, &err) != TCB_OK) {
		FUZZ_CHECK(strstr(err.message, source.path) || strstr(err.message, "nothing was merged"));
		FUZZ_CHECK(digest(db) == before);
	} else {
		check_sound(db);
		const uint64_t after = digest(db);
		must(tcb_db_merge(db, paths, 1, &merged, &err), &err);
		FUZZ_CHECK(merged.sweeps + merged.trials == 0 && digest(db) == after);
	}
	check_sound(db);
	tcb_db_close(db);
	return 0;
}
