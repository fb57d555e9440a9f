/* SPDX-License-Identifier: MIT
 *
 * Writes what the commands have made.  Output is built in memory and written
 * in one go, so that a full disk is one error and a file that is replaced is
 * never half written: a new file beside it is filled, synced and renamed.
 */
#include "cli/emit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* Opens a new file beside PATH; NAME gets its name. */
static int open_beside(const char *path, char *name, size_t capacity)
{
	int length = snprintf(name, capacity, "%s.%ld.tmp", path, (long)getpid());

	if (length < 0 || (size_t)length >= capacity) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
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

enum tcb_status cli_write_file(const char *path, const void *data, size_t bytes, struct tcb_error *err)
{
	char name[4096], target[PATH_MAX];
	struct stat info;
	int fd, saved;

	/* Through a symbolic link the file behind it is replaced, not the link. */
	if (realpath(path, target))
		path = target;
	if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
		return tcb_fail(err, TCB_E_IO, "cannot write %s: it is a directory; name a file", path);
	if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
		return write_into(path, data, bytes, err);
	fd = open_beside(path, name, sizeof name);
	if (fd < 0)
		return tcb_fail(err, TCB_E_IO, "cannot create %s: %s; choose a folder that exists and is writable",
				path, strerror(errno));
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
	tcb_heads_print(&shape->heads, words);
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
