/* SPDX-License-Identifier: MIT
 *
 * Opening: what is accepted, and that each refusal names the file and says
 * what to do.  Rights are tested as an ordinary user, in a child process when
 * the test runs as root.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "cmocka_all.h"
#include "db_fixture.h"

static int setup(void **state)
{
	static struct fixture fixture;

	fixture_init(&fixture);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	fixture_fini(*state);
	return 0;
}

static void assert_refused(const char *path, enum tcb_db_mode mode, enum tcb_status want, const char *what,
			   const char *advice)
{
	struct tcb_error err = { 0 };
	struct tcb_db *db;

	assert_int_equal(tcb_db_open(path, mode, &db, &err), want);
	assert_null(db);
	assert_int_equal(err.status, want);
	assert_non_null(strstr(err.message, path));
	if (!strstr(err.message, what) || !strstr(err.message, advice))
		fail_msg("message: %s", err.message);
	assert_null(strchr(err.message, '\n'));
}

static void write_file(const char *path, const void *bytes, size_t count)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, count, file), count);
	assert_int_equal(fclose(file), 0);
}

static void make_database(const char *path)
{
	struct tcb_device device;
	struct tcb_problem problem = fixture_problem(4096, 4096);
	struct tcb_error err;
	struct tcb_db *db;
	int64_t sweep;

	assert_int_equal(tcb_db_open(path, TCB_DB_WRITE, &db, &err), TCB_OK);
	fixture_device(&device);
	sweep = fixture_sweep(db, &device, &problem, &err);
	assert_true(sweep > 0);
	assert_int_equal(fixture_put(db, sweep, 0, 1000, &err), TCB_OK);
	tcb_db_close(db);
}

static void test_create_and_reopen(void **state)
{
	struct fixture *fixture = *state;
	struct tcb_db_info info;
	struct tcb_error err;
	struct tcb_db *db;

	make_database(fixture->path);
	for (int mode = TCB_DB_READ; mode <= TCB_DB_WRITE; mode++) {
		assert_int_equal(tcb_db_open(fixture->path, (enum tcb_db_mode)mode, &db, &err), TCB_OK);
		assert_int_equal(tcb_db_info(db, &info, &err), TCB_OK);
		assert_string_equal(info.journal_mode, "wal");
		assert_string_equal(info.path, fixture->path);
		assert_int_equal(info.schema_version, 15);
		assert_int_equal(info.trials, 1);
		tcb_db_close(db);
	}
	tcb_db_close(NULL);
}

static void test_reader_cannot_write(void **state)
{
	struct fixture *fixture = *state;
	struct tcb_error err;
	struct tcb_db *db;

	make_database(fixture->path);
	assert_int_equal(tcb_db_open(fixture->path, TCB_DB_READ, &db, &err), TCB_OK);
	assert_int_not_equal(tcb_db_sweep_end(db, 1, "complete", &err), TCB_OK);
	tcb_db_close(db);
}

static void test_refused_paths(void **state)
{
	struct fixture *fixture = *state;
	char path[700];

	assert_refused(fixture->path, TCB_DB_READ, TCB_E_NOT_FOUND, "does not exist", "sweep");
	assert_refused(fixture->folder, TCB_DB_READ, TCB_E_IO, "is a folder", "--db");
	assert_refused(fixture->folder, TCB_DB_WRITE, TCB_E_IO, "is a folder", "--db");
	assert_refused("/dev/null", TCB_DB_WRITE, TCB_E_IO, "not a regular file", "--db");
	snprintf(path, sizeof(path), "%s/none/tuning.db", fixture->folder);
	assert_refused(path, TCB_DB_WRITE, TCB_E_IO, "none", "create it");
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	{
		struct tcb_error err;
		struct tcb_db *db;

		assert_int_equal(tcb_db_open(path, TCB_DB_WRITE, &db, &err), TCB_E_USAGE);
		assert_non_null(strstr(err.message, "too long"));
	}
}

static void test_refused_files(void **state)
{
	struct fixture *fixture = *state;
	static const char text[] =
		"This is a letter and no database.  It is long enough to fill the hundred bytes that "
		"SQLite's header takes.\n";
	sqlite3 *sql;

	write_file(fixture->path, text, sizeof(text));
	assert_refused(fixture->path, TCB_DB_READ, TCB_E_FORMAT, "not an SQLite database", "--db");
	assert_refused(fixture->path, TCB_DB_WRITE, TCB_E_FORMAT, "not an SQLite database", "--db");

	write_file(fixture->path, "", 0);
	assert_refused(fixture->path, TCB_DB_READ, TCB_E_NOT_FOUND, "is empty", "sweep");

	assert_int_equal(sqlite3_open(fixture->path, &sql), SQLITE_OK);
	assert_int_equal(sqlite3_exec(sql, "CREATE TABLE bookmarks (url)", NULL, NULL, NULL), SQLITE_OK);
	assert_refused(fixture->path, TCB_DB_READ, TCB_E_FORMAT, "another application", "--db");
	assert_refused(fixture->path, TCB_DB_WRITE, TCB_E_FORMAT, "another application", "--db");
	/* Nothing of it was changed. */
	assert_int_equal(sqlite3_exec(sql, "INSERT INTO bookmarks VALUES ('x')", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(sql), SQLITE_OK);
}

static void test_newer_schema(void **state)
{
	struct fixture *fixture = *state;
	sqlite3 *sql;

	make_database(fixture->path);
	assert_int_equal(sqlite3_open(fixture->path, &sql), SQLITE_OK);
	assert_int_equal(sqlite3_exec(sql, "PRAGMA user_version = 99", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(sql);
	assert_refused(fixture->path, TCB_DB_READ, TCB_E_VERSION, "version 99", "upgrade tcbtune");
	assert_refused(fixture->path, TCB_DB_WRITE, TCB_E_VERSION, "up to 15", "--db");
}

static void test_truncated(void **state)
{
	struct fixture *fixture = *state;
	struct stat info;

	make_database(fixture->path);
	assert_int_equal(stat(fixture->path, &info), 0);
	for (off_t size = info.st_size - 1; size > 0; size -= 1733) {
		struct tcb_error err = { 0 };
		struct tcb_db *db;

		assert_int_equal(truncate(fixture->path, size), 0);
		/* Any page may still be whole; what matters is that damage is seen at the latest by the check. */
		if (tcb_db_open(fixture->path, TCB_DB_READ, &db, &err) == TCB_OK) {
			assert_int_not_equal(tcb_db_check(db, NULL, NULL, &err), TCB_OK);
			tcb_db_close(db);
		}
		assert_non_null(strstr(err.message, fixture->path));
	}
}

/* Runs CHECK as user 65534 if we are root; its exit status is the verdict. */
static void as_ordinary_user(void (*check)(struct fixture *), struct fixture *fixture)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
			_exit(2);
		check(fixture);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* In the child: leaves with 1 unless opening ends with WANT and a line that holds ADVICE. */
static void expect_open(struct fixture *fixture, enum tcb_db_mode mode, enum tcb_status want, const char *advice)
{
	struct tcb_error err = { .message = "" };
	struct tcb_db *db;
	struct tcb_db_info info;
	enum tcb_status status = tcb_db_open(fixture->path, mode, &db, &err);

	if (status == TCB_OK && want == TCB_OK) {
		if (tcb_db_info(db, &info, &err) == TCB_OK && info.trials == 1) {
			tcb_db_close(db);
			return;
		}
	} else if (status == want && strstr(err.message, fixture->path) && strstr(err.message, advice)) {
		return;
	}
	fprintf(stderr, "status %d: %s\n", status, err.message);
	_exit(1);
}

static void check_read_only_folder(struct fixture *fixture)
{
	expect_open(fixture, TCB_DB_READ, TCB_OK, "");
	expect_open(fixture, TCB_DB_WRITE, TCB_E_IO, "--db");
}

static void test_read_only_folder(void **state)
{
	struct fixture *fixture = *state;

	make_database(fixture->path);
	assert_int_equal(chmod(fixture->path, 0444), 0);
	assert_int_equal(chmod(fixture->folder, 0555), 0);
	as_ordinary_user(check_read_only_folder, fixture);
	assert_int_equal(chmod(fixture->path, 0666), 0);
	as_ordinary_user(check_read_only_folder, fixture);
	assert_int_equal(chmod(fixture->folder, 0755), 0);
}

static void check_new_in_read_only_folder(struct fixture *fixture)
{
	expect_open(fixture, TCB_DB_WRITE, TCB_E_IO, "make it writable");
}

static void test_new_in_read_only_folder(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(chmod(fixture->folder, 0555), 0);
	as_ordinary_user(check_new_in_read_only_folder, fixture);
	assert_int_equal(chmod(fixture->folder, 0755), 0);
}

/* The database with one trial in its file and another in a log that a killed writer left. */
static void make_database_with_log(struct fixture *fixture)
{
	char shm[160];
	int status;
	pid_t child;

	make_database(fixture->path);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct tcb_error err;
		struct tcb_db *db;

		if (tcb_db_open(fixture->path, TCB_DB_WRITE, &db, &err) != TCB_OK ||
		    fixture_put(db, 1, 1, 900, &err) != TCB_OK)
			_exit(1);
		_exit(0); /* without closing */
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	snprintf(shm, sizeof(shm), "%s-shm", fixture->path);
	assert_int_equal(unlink(shm), 0);
}

/* A reader finds TRIALS, and leaves file and log as they were. */
static void expect_trials(struct fixture *fixture, uint64_t trials)
{
	char log[160];
	struct stat before[2] = { 0 }, after[2] = { 0 };
	struct tcb_db_info info;
	struct tcb_error err = { 0 };
	struct tcb_db *db;

	snprintf(log, sizeof(log), "%s-wal", fixture->path);
	(void)stat(fixture->path, &before[0]);
	(void)stat(log, &before[1]);
	if (tcb_db_open(fixture->path, TCB_DB_READ, &db, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(tcb_db_info(db, &info, &err), TCB_OK);
	assert_int_equal(info.trials, trials);
	tcb_db_close(db);
	(void)stat(fixture->path, &after[0]);
	(void)stat(log, &after[1]);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(before[i].st_size, after[i].st_size);
		assert_int_equal(before[i].st_mtim.tv_nsec, after[i].st_mtim.tv_nsec);
	}
}

static void check_unmerged_log(struct fixture *fixture)
{
	expect_trials(fixture, 2);
}

/* A log that a killed writer left holds results that the file alone lacks: they must not be ignored silently. */
static void test_unmerged_log_in_read_only_folder(void **state)
{
	struct fixture *fixture = *state;

	make_database_with_log(fixture);
	assert_int_equal(chmod(fixture->folder, 0555), 0);
	as_ordinary_user(check_unmerged_log, fixture);
	assert_int_equal(chmod(fixture->folder, 0755), 0);
}

/* The error of every lock, as of a file system that has none. */
static int lock_error;

static int refuse_locks(int fd, int command, ...)
{
	va_list arguments;
	void *value;

	va_start(arguments, command);
	value = va_arg(arguments, void *);
	va_end(arguments);
	if (command != F_SETLK && command != F_SETLKW && command != F_GETLK)
		return fcntl(fd, command, value);
	errno = lock_error;
	return -1;
}

/* NFS without lockd says ENOLCK, Lustre without flock ENOSYS: readers answer, writers say so, and nobody waits. */
static void test_no_locks(void **state)
{
	static const int errors[] = { ENOLCK, ENOSYS, EOPNOTSUPP };
	struct fixture *fixture = *state;
	sqlite3_vfs *vfs;

	make_database_with_log(fixture);
	vfs = sqlite3_vfs_find(NULL);
	assert_int_equal(vfs->xSetSystemCall(vfs, "fcntl", (sqlite3_syscall_ptr)refuse_locks), SQLITE_OK);
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		lock_error = errors[i];
		expect_trials(fixture, 2);
		assert_refused(fixture->path, TCB_DB_WRITE, TCB_E_IO, "no locks", "--db");
	}
	vfs->xSetSystemCall(vfs, "fcntl", NULL);
	{ /* with locks again, the log goes into the file, and a reader needs none */
		struct tcb_error err;
		struct tcb_db *db;

		assert_int_equal(tcb_db_open(fixture->path, TCB_DB_WRITE, &db, &err), TCB_OK);
		tcb_db_close(db);
	}
	vfs->xSetSystemCall(vfs, "fcntl", (sqlite3_syscall_ptr)refuse_locks);
	lock_error = ENOLCK;
	expect_trials(fixture, 2);
	vfs->xSetSystemCall(vfs, "fcntl", NULL);
}

/* FIFOs, sockets and devices where SQLite would look beside the file: refused at once, not waited for. */
static void test_companions(void **state)
{
	static const char *const suffixes[] = { "-journal", "-wal", "-shm" };
	static const mode_t kinds[] = { S_IFIFO, S_IFSOCK, S_IFCHR };
	struct fixture *fixture = *state;
	char name[160];

	make_database(fixture->path);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		snprintf(name, sizeof(name), "%s%s", fixture->path, suffixes[i]);
		unlink(name);
		for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
			if (mknod(name, kinds[k] | 0600, makedev(1, 5)) != 0) { /* only root makes devices */
				assert_int_equal(kinds[k], S_IFCHR);
				continue;
			}
			assert_refused(fixture->path, TCB_DB_READ, TCB_E_IO, suffixes[i], "remove it");
			assert_refused(fixture->path, TCB_DB_WRITE, TCB_E_IO, suffixes[i], "remove it");
			assert_int_equal(unlink(name), 0);
		}
		assert_int_equal(symlink("/dev/zero", name), 0);
		assert_refused(fixture->path, TCB_DB_READ_SYSTEM, TCB_E_IO, suffixes[i], "remove it");
		assert_int_equal(unlink(name), 0);
	}
	expect_open(fixture, TCB_DB_WRITE, TCB_OK, "");
}

static void check_unreadable(struct fixture *fixture)
{
	expect_open(fixture, TCB_DB_READ, TCB_E_IO, "rights");
	expect_open(fixture, TCB_DB_WRITE, TCB_E_IO, "rights");
}

static void test_unreadable(void **state)
{
	struct fixture *fixture = *state;

	make_database(fixture->path);
	assert_int_equal(chmod(fixture->path, 0), 0);
	assert_int_equal(chmod(fixture->folder, 0777), 0);
	as_ordinary_user(check_unreadable, fixture);
}

/* In a child: puts trials until it fails; 0 if the line is as it should be. */
static int fill_up(struct fixture *fixture, const char *want)
{
	struct tcb_error err = { .message = "" };
	struct tcb_db *db;
	enum tcb_status put = TCB_OK;

	if (tcb_db_open(fixture->path, TCB_DB_WRITE, &db, &err) != TCB_OK) {
		fprintf(stderr, "%s\n", err.message);
		return 2;
	}
	for (size_t i = 1; i < 10000 && put == TCB_OK; i++)
		put = fixture_put(db, 1, i, 1000, &err);
	if (put == TCB_E_IO && strstr(err.message, fixture->path) && strstr(err.message, want))
		return 0;
	fprintf(stderr, "%s\n", err.message);
	return 1;
}

static void assert_sound(const char *path)
{
	struct tcb_error err;
	struct tcb_db *db;
	struct tcb_db_info info;

	assert_int_equal(tcb_db_open(path, TCB_DB_WRITE, &db, &err), TCB_OK);
	assert_int_equal(tcb_db_check(db, NULL, NULL, &err), TCB_OK);
	assert_int_equal(tcb_db_info(db, &info, &err), TCB_OK);
	assert_true(info.trials > 10);
	tcb_db_close(db);
}

/* A limit on file sizes, as a quota would be: the log cannot grow, and what was stored stays. */
static void test_file_limit(void **state)
{
	struct fixture *fixture = *state;
	int status;
	pid_t child;

	make_database(fixture->path);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct rlimit limit = { 256 * 1024, 256 * 1024 };

		signal(SIGXFSZ, SIG_IGN);
		_exit(setrlimit(RLIMIT_FSIZE, &limit) ? 2 : fill_up(fixture, "space"));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_sound(fixture->path);
}

/* A disk of 512 KiB; mounting it needs rights. */
static void test_full_disk(void **state)
{
	struct fixture *fixture = *state;
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		    mount("none", fixture->folder, "tmpfs", 0, "size=512k") != 0)
			_exit(77);
		make_database(fixture->path);
		status = fill_up(fixture, "disk full");
		if (status == 0)
			assert_sound(fixture->path);
		_exit(status);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip_because("mounting a small disk is not allowed here");
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_create_and_reopen, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reader_cannot_write, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_paths, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_newer_schema, setup, teardown),
		cmocka_unit_test_setup_teardown(test_truncated, setup, teardown),
		cmocka_unit_test_setup_teardown(test_read_only_folder, setup, teardown),
		cmocka_unit_test_setup_teardown(test_new_in_read_only_folder, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unmerged_log_in_read_only_folder, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_locks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_companions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unreadable, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_disk, setup, teardown),
	};
	return cmocka_run_group_tests_name("db.connect", tests, NULL, NULL);
}
