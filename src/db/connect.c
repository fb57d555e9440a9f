/* SPDX-License-Identifier: MIT
 *
 * Opening and closing the database: what the file system says, then SQLite,
 * then whose file it is (migrate.c).
 *
 * WAL lets readers and one writer work at once.  synchronous=FULL syncs the log
 * at every commit; trials alone are committed with NORMAL but for one a second
 * (record.c): a process may be killed at any time and loses none, a power cut
 * costs the trials of the last second.  A sync takes 0.3 ms on ext4 on a quiet
 * virtual disk and 3 ms while others write there, and a trial of a short call
 * takes 1 ms without it.  Writers begin with BEGIN IMMEDIATE and wait with
 * randomised back-off.
 *
 * A reader that may not write (a read-only folder or disk), or whose file system
 * has no locks (NFS without lockd), cannot keep WAL's shared index.  It opens the
 * file as immutable if no log is left beside it, and else alone, with the index in
 * its own memory: frames of the log have checksums, so it reads whole transactions,
 * those that were there when it came.  The system's database is opened as immutable
 * at once: nobody is to find files of ours there.  Writers need locks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "db/db_private.h"

enum {
	SQLITE_OLDEST = 3038000, /* STRICT tables (3.37), format() */
	BUSY_STEP_MIN_US = 500,  /* about one commit */
	BUSY_STEP_MAX_US = 50000,
	BUSY_DOUBLINGS = 6
};

static void sleep_us(uint64_t us)
{
	struct timespec pause = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };

	nanosleep(&pause, NULL);
}

/* SQLite calls this when a lock is refused for the ATTEMPT-th time; 0 gives up. */
static int wait_for_lock(void *ctx, int attempt)
{
	struct tcb_db *db = ctx;
	/* To SQLite a file system without locks is busy, and what it saw of it is left in errno only: seen twice, since
	 * the first may be of some other call. */
	if (errno == ENOLCK) {
		errno = 0;
		return db->lockless++ == 0;
	}
	uint64_t now = tcb_clock_ns();
	uint64_t step = (uint64_t)BUSY_STEP_MIN_US << (attempt < BUSY_DOUBLINGS ? attempt : BUSY_DOUBLINGS);

	if (attempt == 0)
		db->busy_since_ns = now;
	if (now - db->busy_since_ns > (uint64_t)TCB_DB_BUSY_LIMIT_MS * 1000000)
		return 0;
	if (step > BUSY_STEP_MAX_US)
		step = BUSY_STEP_MAX_US;
	sleep_us(step / 2 + tcb_rng_below(db->jitter, step));
	return 1;
}

/* What SQLite opens beside PATH must be files: it would wait for a FIFO without end. */
static enum tcb_status check_companions(const char *path, struct tcb_error *err)
{
	static const char *const suffixes[] = { "-journal", "-wal", "-shm" };
	char name[512 + 16];
	struct stat info;

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
		if (stat(name, &info) == 0 && !S_ISREG(info.st_mode))
			return tcb_fail(err, TCB_E_IO,
					"%s: is not a regular file, as SQLite needs it beside its database: remove it, "
					"or use --db with another file",
					name);
	}
	return TCB_OK;
}

/* What the file system says about PATH before SQLite, whose messages are vaguer, is asked. */
static enum tcb_status check_path(const char *path, enum tcb_db_mode mode, struct tcb_error *err)
{
	struct stat info;
	char folder[512];
	char *slash;

	if (stat(path, &info) == 0) {
		if (S_ISDIR(info.st_mode))
			return tcb_fail(err, TCB_E_IO, "%s: is a folder: give --db the name of a file in it", path);
		if (!S_ISREG(info.st_mode))
			return tcb_fail(err, TCB_E_IO, "%s: is not a regular file: use --db with another file", path);
		return check_companions(path, err);
	}
	if (errno != ENOENT)
		return tcb_fail(err, TCB_E_IO, "%s: %s: use --db with another file", path, strerror(errno));
	if (mode != TCB_DB_WRITE)
		return tcb_fail(err, TCB_E_NOT_FOUND,
				"%s does not exist: `tcbtune sweep` makes a database, and --db names one", path);
	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (!slash)
		return check_companions(path, err);
	slash[slash == folder] = '\0';
	if (stat(folder, &info) != 0)
		return tcb_fail(err, TCB_E_IO, "%s: folder %s: %s: create it, or use --db with another file", path,
				folder, strerror(errno));
	if (access(folder, W_OK | X_OK) != 0)
		return tcb_fail(err, TCB_E_IO,
				"%s: folder %s cannot be written (%s): make it writable, or use --db with another file",
				path, folder, strerror(errno));
	return check_companions(path, err);
}

/* SQLite reports the way to open a file whose WAL index cannot be kept only when it is first read. */
static int connect_to(struct tcb_db *db, const char *name, int flags)
{
	int64_t version;
	int rc;

	sqlite3_close(db->sql);
	db->sql = NULL;
	rc = sqlite3_open_v2(name, &db->sql, flags | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_busy_handler(db->sql, wait_for_lock, db);
	tcb_db_distrust(db->sql);
	if (flags & SQLITE_OPEN_URI) { /* before WAL is looked at: an index that nobody shares */
		sqlite3_db_config(db->sql, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
		sqlite3_exec(db->sql, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL);
	}
	return tcb_db_pragma(db, "schema_version", &version);
}

/* "file:PATH?OPTION" with the characters that have a meaning in URIs escaped. */
static void write_uri(const char *path, const char *option, char out[2048])
{
	char *end = out + sprintf(out, "file:");

	for (; *path; path++) {
		if (strchr("%?#", *path))
			end += sprintf(end, "%%%02X", (unsigned char)*path);
		else
			*end++ = *path;
	}
	sprintf(end, "?%s", option);
}

static int log_is_empty(const char *path)
{
	struct stat info;
	char log[512 + 8];

	snprintf(log, sizeof(log), "%s-wal", path);
	return stat(log, &info) != 0 || info.st_size == 0;
}

static int connect_immutable(struct tcb_db *db)
{
	char uri[2048];

	write_uri(db->path, "immutable=1", uri);
	return connect_to(db, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

/* Without locks, and with WAL's index in this process's memory; the log is left as it is. */
static int connect_alone(struct tcb_db *db)
{
	char uri[2048];

	write_uri(db->path, "vfs=unix-none", uri); /* with nolock=1 SQLite reads no log */
	return connect_to(db, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

/* Does RC, from opening DB as usual, mean that WAL's index or its locks cannot be had? */
static int is_out_of_reach(const struct tcb_db *db, int rc)
{
	return (rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_READONLY || rc == SQLITE_IOERR_SHMOPEN ||
	       tcb_db_is_lockless(db, rc);
}

static enum tcb_status open_for_reading(struct tcb_db *db, struct tcb_error *err)
{
	const int is_immutable = db->mode == TCB_DB_READ_SYSTEM && log_is_empty(db->path);
	int rc = is_immutable ? connect_immutable(db) : connect_to(db, db->path, SQLITE_OPEN_READWRITE);

	/* Without write access SQLite has opened it read-only, and the WAL index may be out of reach. */
	if (is_out_of_reach(db, rc)) {
		if (access(db->path, R_OK) != 0)
			return tcb_fail(err, TCB_E_IO, "%s: cannot be read (%s): check the rights of the file",
					db->path, strerror(errno));
		rc = log_is_empty(db->path) ? connect_immutable(db) : connect_alone(db);
	}
	if (rc != SQLITE_OK)
		return tcb_db_fail(db, rc, "opening it", err);
	return tcb_db_exec(db, "PRAGMA query_only = ON", "opening it", err);
}

/* Switching a new file to WAL needs it alone, and SQLite may refuse without asking the busy handler. */
static enum tcb_status use_wal(struct tcb_db *db, struct tcb_error *err)
{
	int rc, attempt = 0;

	do {
		rc = sqlite3_exec(db->sql, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
	} while ((rc & 0xff) == SQLITE_BUSY && wait_for_lock(db, attempt++));
	return rc == SQLITE_OK ? TCB_OK : tcb_db_fail(db, rc, "switching on its write-ahead log", err);
}

static enum tcb_status open_for_writing(struct tcb_db *db, struct tcb_error *err)
{
	int rc = connect_to(db, db->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);

	if (rc != SQLITE_OK)
		return tcb_db_fail(db, rc, "opening it", err);
	if (sqlite3_db_readonly(db->sql, "main") == 1)
		return tcb_db_fail(db, SQLITE_READONLY, "opening it", err);
	/* Refuse a file that is not ours before anything of it is changed. */
	TCB_TRY(tcb_db_migrate(db, tcb_migrations, tcb_migration_count, err));
	TCB_TRY(use_wal(db, err));
	return tcb_db_exec(db, "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON", "opening it", err);
}

enum tcb_status tcb_db_open(const char *path, enum tcb_db_mode mode, struct tcb_db **out, struct tcb_error *err)
{
	struct tcb_db *db;
	enum tcb_status status;

	*out = NULL;
	if (sqlite3_libversion_number() < SQLITE_OLDEST)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "SQLite %s is too old: 3.38 or newer is needed",
				sqlite3_libversion());
	if (strlen(path) >= sizeof(db->path))
		return tcb_fail(err, TCB_E_USAGE, "%.60s...: the path of the database is too long: at most %zu bytes",
				path, sizeof(db->path) - 1);
	/* SQLite would keep it in memory, and drop it in the end. */
	if (strcmp(path, ":memory:") == 0)
		return tcb_fail(err, TCB_E_USAGE, ":memory: is not a file, so nothing would be kept: give --db a file");
	TCB_TRY(check_path(path, mode, err));
	db = calloc(1, sizeof(*db) + sizeof(*db->jitter));
	if (!db)
		return tcb_fail(err, TCB_E_NOMEM, "%s: out of memory", path);
	db->jitter = (struct tcb_rng *)(db + 1);
	tcb_rng_init(db->jitter, tcb_clock_ns() ^ (uint64_t)getpid() << 32);
	db->mode = mode;
	strcpy(db->path, path);
	if (mode == TCB_DB_WRITE) {
		status = open_for_writing(db, err);
	} else {
		status = open_for_reading(db, err);
		if (status == TCB_OK)
			status = tcb_db_migrate(db, tcb_migrations, tcb_migration_count, err);
	}
	if (status != TCB_OK) {
		tcb_db_close(db);
		return status;
	}
	*out = db;
	return TCB_OK;
}

void tcb_db_know_ops(struct tcb_db *db, const struct tcb_op_names *names)
{
	db->names = *names;
}

void tcb_db_name_op(const struct tcb_db *db, struct tcb_problem *problem)
{
	if (db->names.find)
		problem->op = db->names.find(db->names.ctx, problem->op_name);
}

const struct tcb_parameter *tcb_db_parameters(const struct tcb_db *db, const char *name,
					      const struct tcb_parameter *unknown)
{
	const struct tcb_op *op = db->names.find ? db->names.find(db->names.ctx, name) : NULL;

	return op ? db->names.parameters(op) : unknown;
}

int tcb_db_is_copy(const struct tcb_db *db)
{
	return db->file != NULL;
}

void tcb_db_close(struct tcb_db *db)
{
	if (!db)
		return;
	sqlite3_close(db->sql);
	sqlite3_close(db->file);
	free(db);
}
