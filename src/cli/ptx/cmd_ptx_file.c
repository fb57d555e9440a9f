/* SPDX-License-Identifier: MIT
 *
 * In: a path, or the words of --target and --block.  Out: text that may be
 * PTX, a target, a block; or one line that says what is wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ptx/cmd_ptx.h"

enum {
	FILE_MIB_MAX = 64, /* hundred times the largest kernel library's text */
	FILE_BYTES_MAX = FILE_MIB_MAX << 20,
	STEP = 1 << 16,
	SM_FIRST = 10, /* of any capability that there ever was */
	SM_LAST = 999
};

static enum tcb_status read_whole(int fd, const char *path, struct tcb_str *text, struct tcb_error *err)
{
	char *buffer = NULL;
	size_t capacity = 0;

	for (;;) {
		if (text->length + STEP + 1 > capacity) {
			capacity = capacity ? 2 * capacity : 4 * STEP;
			buffer = realloc(text->data, capacity);
			if (!buffer)
				return tcb_fail(err, TCB_E_NOMEM, "out of memory for %s", path);
			text->data = buffer;
			text->capacity = capacity;
		}
		ssize_t got = read(fd, text->data + text->length, STEP);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return tcb_fail(err, TCB_E_IO, "cannot read %s: %s", path, strerror(errno));
		text->length += (size_t)got;
		text->data[text->length] = '\0';
		if (text->length > FILE_BYTES_MAX)
			return tcb_fail(err, TCB_E_FORMAT, "%s is longer than %d MiB; no PTX is", path, FILE_MIB_MAX);
		if (got == 0)
			return TCB_OK;
	}
}

/* What can be said without a parser. */
static enum tcb_status looks_like_ptx(const char *path, const char *text, size_t length, struct tcb_error *err)
{
	const char *nul = memchr(text, '\0', length);

	if (!length)
		return tcb_fail(err, TCB_E_FORMAT, "%s is empty", path);
	if (length >= 4 && memcmp(text, "\177ELF", 4) == 0)
		return tcb_fail(err, TCB_E_FORMAT,
				"%s is an ELF file (a cubin or an object), not PTX; 'nvcc -ptx' writes PTX", path);
	/* A last NUL is what drivers want and some tools write. */
	if (nul && nul != text + length - 1)
		return tcb_fail(err, TCB_E_FORMAT, "%s is binary (a NUL at byte %zu), not PTX", path,
				(size_t)(nul - text));
	if (!memmem(text, length, ".version", strlen(".version")))
		return tcb_fail(err, TCB_E_FORMAT, "%s is not PTX: it has no .version directive", path);
	return TCB_OK;
}

enum tcb_status ptx_read_file(const char *path, char **text_out, size_t *length_out, struct tcb_error *err)
{
	int is_stdin = strcmp(path, "-") == 0;
	const char *name = is_stdin ? "standard input" : path;
	/* A pipe that nobody has open for writing is empty, not waited for. */
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct tcb_str text = { 0 };
	struct stat info;
	enum tcb_status status = TCB_OK;

	*text_out = NULL;
	*length_out = 0;
	if (fd < 0)
		return tcb_fail(err, TCB_E_IO, "cannot read %s: %s", path, strerror(errno));
	if (!is_stdin)
		fcntl(fd, F_SETFL, 0);
	if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode))
		status = tcb_fail(err, TCB_E_IO, "cannot read %s: it is a directory; name a PTX file", name);
	else if (S_ISREG(info.st_mode) && info.st_size > FILE_BYTES_MAX)
		status = tcb_fail(err, TCB_E_FORMAT, "%s is longer than %d MiB; no PTX is", name, FILE_MIB_MAX);
	if (status == TCB_OK)
		status = read_whole(fd, name, &text, err);
	if (status == TCB_OK)
		status = looks_like_ptx(name, text.data, text.length, err);
	if (!is_stdin)
		close(fd);
	if (status != TCB_OK) {
		free(text.data);
		return status;
	}
	if (!text.data[text.length - 1])
		text.length--;
	*text_out = text.data;
	*length_out = text.length;
	return TCB_OK;
}

enum tcb_status ptx_parse_target(const char *text, struct tcb_ptx_target *out, struct tcb_error *err)
{
	char *end = NULL;
	unsigned long sm = 0;

	if (strncmp(text, "sm_", 3) == 0 && text[3] >= '1' && text[3] <= '9')
		sm = strtoul(text + 3, &end, 10);
	if (sm < SM_FIRST || sm > SM_LAST || (*end && (strchr("af", *end) == NULL || end[1])))
		return tcb_fail(err, TCB_E_USAGE, "--target wants a capability such as sm_89 or sm_90a, not '%s'",
				text);
	*out = (struct tcb_ptx_target){ (unsigned)sm, *end };
	return TCB_OK;
}
