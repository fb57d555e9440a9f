/* SPDX-License-Identifier: MIT
 *
 * Writes what the commands have made.  Output is built in memory and written
 * in one go, so that a full disk is one error and a file that is replaced is
 * never half written: a new file beside it is filled, synced and renamed.
 */
#include "cli/core/emit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

void cli_say(const char *format, ...)
{
	struct tcb_str line = { 0 };
	char *text;
	va_list list;

	va_start(list, format);
	if (vasprintf(&text, format, list) >= 0) {
		cli_add_line(&line, "tcbtune: %s", text);
		free(text);
	}
	va_end(list);
	cli_fold(&line, STDERR_FILENO);
	fputs(line.data && !line.failed ? line.data : "tcbtune: out of memory\n", stderr);
	tcb_str_fini(&line);
}

static int write_all(int fd, const char *data, size_t bytes)
{
	while (bytes > 0) {
		ssize_t written = write(fd, data, bytes);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -1;
		data += written;
		bytes -= (size_t)written;
	}
	return 0;
}

enum tcb_status cli_emit(struct tcb_str *text, struct tcb_error *err)
{
	enum tcb_status status = TCB_OK;

	cli_seal(text);
	if (text->failed) {
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for the output");
	} else if (write_all(STDOUT_FILENO, text->data, text->length) != 0) {
		status = TCB_E_IO;
		/* A reader that has gone, as in `| head`, has what it wanted: nothing to say. */
		if (errno != EPIPE)
			tcb_fail(err, status, "cannot write to standard output: %s", strerror(errno));
	}
	tcb_str_fini(text);
	return status;
}

enum { TEMPORARY_MAX = 4096 };

/* Is NAME what a writer of BASE names its file, "BASE.PID.tmp"? */
static int is_temporary(const char *name, const char *base)
{
	const size_t length = strlen(base);
	const char *at = name + length + 1;

	if (strncmp(name, base, length) != 0 || name[length] != '.')
		return 0;
	at += strspn(at, "0123456789");
	return at > name + length + 1 && strcmp(at, ".tmp") == 0;
}

/* Removes the file of that NAME in FOLDER, of a writer that was killed: who lives has it locked. */
static void remove_abandoned(int folder, const char *name)
{
	const int fd = openat(folder, name, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	struct stat info;

	if (fd < 0)
		return;
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0)
		unlinkat(folder, name, 0);
	close(fd);
}

static void remove_all_abandoned(const char *path)
{
	char where[TEMPORARY_MAX];
	char *slash;
	DIR *folder;

	snprintf(where, sizeof where, "%s", path);
	slash = strrchr(where, '/');
	if (slash)
		*slash = '\0';
	folder = opendir(!slash ? "." : slash == where ? "/" : where);
	for (const struct dirent *entry; folder && (entry = readdir(folder));)
		if (is_temporary(entry->d_name, slash ? slash + 1 : where))
			remove_abandoned(dirfd(folder), entry->d_name);
	if (folder)
		closedir(folder);
}

/* Opens a new file beside PATH, locked as long as it is open; NAME gets its name. */
static int open_beside(const char *path, char name[TEMPORARY_MAX])
{
	const int length = snprintf(name, TEMPORARY_MAX, "%s.%ld.tmp", path, (long)getpid());
	struct stat info;

	if (length < 0 || length >= TEMPORARY_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	remove_all_abandoned(path);
	for (;;) {
		const int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

		if (fd < 0)
			return -1;
		/* Where the file system has no locks, nobody removes what others left.  Between the two calls above
		 * another writer may have taken this file for abandoned. */
		(void)flock(fd, LOCK_EX | LOCK_NB);
		if (fstat(fd, &info) != 0 || info.st_nlink > 0)
			return fd;
		close(fd);
	}
}

enum tcb_status cli_check_out(const char *out, const char *input, const char *what, struct tcb_error *err)
{
	struct stat a, b;

	if (stat(out, &a) != 0 || stat(input, &b) != 0 || a.st_dev != b.st_dev || a.st_ino != b.st_ino)
		return TCB_OK;
	return tcb_fail(err, TCB_E_USAGE, "--out %s is the file of %s, which would be lost; name another file", out,
			what);
}

/* To what is there and cannot be replaced: a device, or a pipe that somebody reads. */
static enum tcb_status write_into(const char *path, const void *data, size_t bytes, struct tcb_error *err)
{
	/* Waits for no reader: there may never be one. */
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK), saved;

	if (fd < 0)
		return tcb_fail(err, TCB_E_IO, "cannot write %s: %s", path,
				errno == ENXIO ? "nobody reads this pipe" : strerror(errno));
	saved = fcntl(fd, F_SETFL, 0) == 0 && write_all(fd, data, bytes) == 0 ? 0 : errno;
	if (close(fd) != 0 && !saved)
		saved = errno;
	return saved ? tcb_fail(err, TCB_E_IO, "cannot write %s: %s", path, strerror(saved)) : TCB_OK;
}

/*
 * Through a symbolic link the file behind it is replaced, not the link, also where none is there yet: then its folder
 * is.  OUT gets the path without links; -1 where there is no such folder, or a link leads around in a circle.
 */
static int follow_links(const char *path, char out[PATH_MAX])
{
	enum { LINKS_MOST = 40 }; /* as the kernel has it */
	char at[PATH_MAX], link[PATH_MAX], folder[PATH_MAX];

	if (realpath(path, out))
		return 0;
	if (snprintf(at, sizeof at, "%s", path) >= PATH_MAX)
		return -1;
	for (int links = 0; links < LINKS_MOST; links++) {
		char *slash = strrchr(at, '/');
		const ssize_t length = readlink(at, link, sizeof link - 1);

		if (length < 0) { /* the file itself, in a folder that is there */
			const char *name = slash ? slash + 1 : at;

			snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - at) + 1 : 1, slash ? at : ".");
			if (!realpath(folder, link) || snprintf(out, PATH_MAX, "%s/%s", link, name) >= PATH_MAX)
				return -1;
			return 0;
		}
		link[length] = '\0';
		if (slash && link[0] != '/')
			slash[1] = '\0';
		else
			at[0] = '\0';
		if (strlen(at) + (size_t)length >= sizeof at)
			return -1;
		strcat(at, link);
	}
	return -1;
}

enum tcb_status cli_write_file(const char *path, const void *data, size_t bytes, struct tcb_error *err)
{
	char name[TEMPORARY_MAX], target[PATH_MAX];
	struct stat info;
	int fd, saved, is_there;

	if (follow_links(path, target) == 0)
		path = target;
	else if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode))
		return tcb_fail(err, TCB_E_IO, "cannot write %s: it is a link into a folder that is not there", path);
	is_there = stat(path, &info) == 0;
	if (is_there && S_ISDIR(info.st_mode))
		return tcb_fail(err, TCB_E_IO, "cannot write %s: it is a directory; name a file", path);
	if (is_there && !S_ISREG(info.st_mode))
		return write_into(path, data, bytes, err);
	fd = open_beside(path, name);
	if (fd < 0)
		return tcb_fail(err, TCB_E_IO, "cannot create %s: %s; choose a folder that exists and is writable",
				path, strerror(errno));
	/* Who may read the file that is there may read the new one, too, and nobody else. */
	saved = is_there && fchmod(fd, info.st_mode & 0777) != 0 ? errno : 0;
	if (!saved)
		saved = write_all(fd, data, bytes) == 0 && fsync(fd) == 0 ? 0 : errno;
	if (close(fd) != 0 && !saved)
		saved = errno;
	if (!saved && rename(name, path) != 0)
		saved = errno;
	if (saved) {
		unlink(name);
		return tcb_fail(err, TCB_E_IO, "cannot write %s: %s; nothing was changed", path, strerror(saved));
	}
	return TCB_OK;
}

enum tcb_status cli_emit_to(const char *path, struct tcb_str *text, struct tcb_error *err)
{
	enum tcb_status status;

	if (!path)
		return cli_emit(text, err);
	cli_seal(text);
	if (text->failed)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for the output");
	else
		status = cli_write_file(path, text->data ? text->data : "", text->length, err);
	tcb_str_fini(text);
	return status;
}

enum tcb_status cli_emit_text_to(const char *path, struct tcb_str *text, struct tcb_error *err)
{
	if (!path)
		cli_fold(text, STDOUT_FILENO);
	return cli_emit_to(path, text, err);
}

enum tcb_status cli_emit_text(struct tcb_str *text, struct tcb_error *err)
{
	return cli_emit_text_to(NULL, text, err);
}

enum tcb_status cli_emit_made(enum tcb_status status, struct tcb_str *text, struct tcb_error *err)
{
	if (status == TCB_OK)
		return cli_emit_text(text, err);
	tcb_str_fini(text);
	return status;
}

enum tcb_status cli_emit_json_to(const char *path, json_t *root, struct tcb_error *err)
{
	struct tcb_str text = { 0 };
	/* 17 digits: a double comes back as it was.  In ASCII no character reaches a terminal that it would obey. */
	char *dump = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17) | JSON_ENSURE_ASCII) : NULL;

	json_decref(root);
	if (!dump)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the output");
	tcb_str_add(&text, dump);
	tcb_str_add(&text, "\n");
	free(dump);
	return cli_emit_to(path, &text, err);
}

enum tcb_status cli_emit_json(json_t *root, struct tcb_error *err)
{
	return cli_emit_json_to(NULL, root, err);
}

json_t *cli_json_text(const char *text)
{
	json_t *string = json_string(text);
	struct tcb_str shown = { 0 };

	if (string)
		return string;
	cli_add_shown(&shown, text);
	string = shown.failed ? NULL : json_string(shown.data);
	tcb_str_fini(&shown);
	return string;
}

json_t *cli_json_real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *cli_json_size(uint64_t value)
{
	return json_integer((json_int_t)value);
}

json_t *cli_json_interval(const struct tcb_interval *interval)
{
	if (!(interval->median > 0))
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "median", cli_json_real(interval->median), "lo",
			 cli_json_real(interval->lo), "hi", cli_json_real(interval->hi));
}

json_t *cli_json_shape(const struct tcb_shape *shape)
{
	char text[TCB_SHAPE_TEXT_MAX], words[TCB_WORDS_TEXT_MAX];

	tcb_shape_print(shape, text);
	tcb_words_print(&shape->words, words);
	return json_pack("{s:s, s:I, s:I, s:I, s:s}", "text", text, "m", (json_int_t)shape->m, "n",
			 (json_int_t)shape->n, "k", (json_int_t)shape->k, "words", words);
}

void cli_json_set(json_t *object, const char *key, json_t *value, int *failed)
{
	if (json_object_set_new(object, key, value) != 0)
		*failed = 1;
}

void cli_json_add(json_t *array, json_t *value, int *failed)
{
	if (json_array_append_new(array, value) != 0)
		*failed = 1;
}

json_t *cli_json_start(const char *name, int *failed)
{
	json_t *root = json_object();

	cli_json_set(root, "schema", json_string(name), failed);
	return root;
}

json_t *cli_json_end(json_t *root, int failed)
{
	if (!failed)
		return root;
	json_decref(root);
	return NULL;
}
