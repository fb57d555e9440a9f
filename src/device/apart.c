/* SPDX-License-Identifier: MIT
 *
 * Asking in a child process: its answer comes through a pipe.
 */
#include "device/apart.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child sends: this, then COUNT items. */
struct reply {
	struct tcb_error error; /* status TCB_OK: the items follow */
	size_t count;
};

static int write_all(int fd, const void *data, size_t bytes)
{
	for (const char *at = data; bytes > 0;) {
		ssize_t done = write(fd, at, bytes);
		if (done <= 0)
			return -1;
		at += done;
		bytes -= (size_t)done;
	}
	return 0;
}

static int read_all(int fd, void *data, size_t bytes)
{
	for (char *at = data; bytes > 0;) {
		ssize_t done = read(fd, at, bytes);
		if (done <= 0)
			return -1;
		at += done;
		bytes -= (size_t)done;
	}
	return 0;
}

_Noreturn static void answer(int fd, tcb_ask_fn *ask, void *items, size_t item_bytes, size_t capacity)
{
	struct reply reply;
	memset(&reply, 0, sizeof reply);
	reply.error.status = ask(items, capacity, &reply.count, &reply.error);
	int failed = write_all(fd, &reply, sizeof reply) != 0;
	if (reply.error.status == TCB_OK && !failed)
		failed = write_all(fd, items, reply.count * item_bytes) != 0;
	_exit(failed);
}

static enum tcb_status take_answer(int fd, void *items, size_t item_bytes, size_t capacity, size_t *count_out,
				   const char *died, struct tcb_error *err)
{
	struct reply reply;
	if (read_all(fd, &reply, sizeof reply) != 0 ||
	    (reply.error.status == TCB_OK &&
	     (reply.count > capacity || read_all(fd, items, reply.count * item_bytes) != 0)))
		return tcb_fail(err, TCB_E_FAILED, "%s", died);
	if (reply.error.status != TCB_OK)
		return tcb_fail(err, reply.error.status, "%s", reply.error.message);
	*count_out = reply.count;
	return TCB_OK;
}

enum tcb_status tcb_ask_apart(tcb_ask_fn *ask, void *items, size_t item_bytes, size_t capacity, size_t *count_out,
			      const char *died, struct tcb_error *err)
{
	int ends[2];
	*count_out = 0;
	if (pipe(ends) != 0)
		return tcb_fail(err, TCB_E_IO, "no pipe for asking a driver");
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		close(ends[0]);
		answer(ends[1], ask, items, item_bytes, capacity);
	}
	close(ends[1]);
	enum tcb_status status = child < 0 ? tcb_fail(err, TCB_E_NOMEM, "no process for asking a driver")
					   : take_answer(ends[0], items, item_bytes, capacity, count_out, died, err);
	close(ends[0]);
	if (child > 0)
		waitpid(child, NULL, 0);
	return status;
}
