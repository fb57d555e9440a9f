/* SPDX-License-Identifier: MIT
 *
 * In: a command and lines for it.  Out: its lines.  One socket is its standard input and output, so that a
 * program that does not read cannot raise a signal here; it has a process group of its own, which is killed with it.
 */
#include "search/strategies/line_process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum {
	LINE_MOST = 1 << 20,
	READ_BYTES = 1 << 16,
	END_TRIES = 100, /* of END_STEP_NS: a second */
	END_STEP_NS = 10000000
};

static double now_s(void)
{
	return 1e-9 * (double)tcb_clock_ns();
}

static int spawn(pid_t *pid, int fd, const char *command)
{
	const char *const argv[] = { "sh", "-c", command, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	if (posix_spawn_file_actions_init(&files) != 0)
		return ENOMEM;
	if (posix_spawnattr_init(&attributes) != 0) {
		posix_spawn_file_actions_destroy(&files);
		return ENOMEM;
	}
	int error = posix_spawn_file_actions_adddup2(&files, fd, STDIN_FILENO);
	error = error ? error : posix_spawn_file_actions_adddup2(&files, fd, STDOUT_FILENO);
	error = error ? error : posix_spawnattr_setsigmask(&attributes, &none);
	error = error ? error : posix_spawnattr_setsigdefault(&attributes, &all);
	error = error ? error : posix_spawnattr_setpgroup(&attributes, 0);
	error = error ? error
		      : posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
								      POSIX_SPAWN_SETPGROUP);
	error = error ? error : posix_spawn(pid, "/bin/sh", &files, &attributes, (char *const *)argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return error;
}

enum tcb_status tcb_line_process_start(struct tcb_line_process *process, const char *command, double limit_s,
				       struct tcb_error *err)
{
	int fd[2];

	*process = (struct tcb_line_process){ .fd = -1, .limit_s = limit_s };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0)
		return tcb_fail(err, TCB_E_FAILED, "'%s' cannot be started: %s", command, strerror(errno));
	const int error = spawn(&process->pid, fd[1], command);
	close(fd[1]);
	process->fd = fd[0];
	if (error == 0)
		return TCB_OK;
	process->pid = 0;
	return tcb_fail(err, TCB_E_FAILED, "'%s' cannot be started: %s", command, strerror(error));
}

/* Has it ended?  Then it is reaped, and STATUS as of waitpid. */
static int has_ended(struct tcb_line_process *process, int *status)
{
	pid_t got;

	for (int i = 0; i < END_TRIES; i++) {
		do
			got = waitpid(process->pid, status, WNOHANG);
		while (got < 0 && errno == EINTR);
		if (got != 0) {
			process->pid = 0;
			return got > 0;
		}
		nanosleep(&(struct timespec){ .tv_nsec = END_STEP_NS }, NULL);
	}
	return 0;
}

/* It has hung up. */
static enum tcb_status say_ended(struct tcb_line_process *process, struct tcb_error *err)
{
	const pid_t group = process->pid;
	int status = 0;

	if (!process->pid || !has_ended(process, &status))
		return tcb_fail(err, TCB_E_FAILED, "it closed its standard output");
	(void)kill(-group, SIGKILL);
	/* A shell's status of a program that a signal ended is 128 more. */
	const int number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - 128;
	if (number > 0 && number < NSIG)
		return tcb_fail(err, TCB_E_FAILED, "it was ended by signal %d", number);
	return tcb_fail(err, TCB_E_FAILED, "it ended with exit status %d", WEXITSTATUS(status));
}

/* Waits for EVENTS until UNTIL_S. */
static enum tcb_status await(const struct tcb_line_process *process, short events, double until_s,
			     struct tcb_error *err)
{
	struct pollfd poller = { .fd = process->fd, .events = events };

	for (;;) {
		const double left_s = until_s - now_s();
		const int ready = left_s > 0 ? poll(&poller, 1, (int)(1000 * left_s) + 1) : 0;

		if (ready > 0)
			return TCB_OK;
		if (ready == 0)
			return tcb_fail(err, TCB_E_FAILED, "it did not %s within %g s (--timeout)",
					events == POLLIN ? "answer" : "read what it was told", process->limit_s);
		if (errno != EINTR)
			return tcb_fail(err, TCB_E_FAILED, "its streams cannot be waited for: %s", strerror(errno));
	}
}

enum tcb_status tcb_line_process_send(struct tcb_line_process *process, const char *line, size_t bytes,
				      struct tcb_error *err)
{
	const double until_s = now_s() + process->limit_s;

	for (size_t sent = 0; sent < bytes;) {
		TCB_TRY(await(process, POLLOUT, until_s, err));
		const ssize_t now = send(process->fd, line + sent, bytes - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (now >= 0)
			sent += (size_t)now;
		else if (errno != EAGAIN && errno != EINTR)
			return say_ended(process, err);
	}
	return TCB_OK;
}

/* What there is to read; 0 bytes: it has hung up. */
static enum tcb_status read_more(struct tcb_line_process *process, double until_s, struct tcb_error *err)
{
	char block[READ_BYTES];

	TCB_TRY(await(process, POLLIN, until_s, err));
	const ssize_t got = recv(process->fd, block, sizeof block, MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return TCB_OK;
	if (got <= 0)
		return say_ended(process, err);
	tcb_str_add_bytes(&process->read, block, (size_t)got);
	return process->read.failed ? tcb_fail(err, TCB_E_NOMEM, "out of memory for its answer") : TCB_OK;
}

enum tcb_status tcb_line_process_take(struct tcb_line_process *process, char **line_out, size_t *bytes_out,
				      struct tcb_error *err)
{
	const double until_s = now_s() + process->limit_s;
	struct tcb_str *read = &process->read;

	if (process->taken) {
		memmove(read->data, read->data + process->taken, read->length - process->taken);
		read->length -= process->taken;
		process->taken = 0;
	}
	for (;;) {
		char *end = read->length ? memchr(read->data, '\n', read->length) : NULL;

		if (end) {
			*end = '\0';
			*line_out = read->data;
			*bytes_out = (size_t)(end - read->data);
			process->taken = *bytes_out + 1;
			return TCB_OK;
		}
		if (read->length > LINE_MOST)
			return tcb_fail(err, TCB_E_FORMAT, "its answer is longer than %d bytes", LINE_MOST);
		TCB_TRY(read_more(process, until_s, err));
	}
}

void tcb_line_process_fini(struct tcb_line_process *process)
{
	const pid_t group = process->pid;
	int status;

	if (process->pid) {
		(void)shutdown(process->fd, SHUT_WR);
		const int ended = has_ended(process, &status);
		(void)kill(-group, SIGKILL);
		if (!ended && process->pid)
			(void)waitpid(process->pid, &status, 0);
	}
	if (process->fd >= 0)
		close(process->fd);
	tcb_str_fini(&process->read);
	process->pid = 0;
	process->fd = -1;
}
