/* SPDX-License-Identifier: MIT
 *
 * Starting and ending the worker, which its nursery forks and waits for.  Its
 * output and error go to a memory file of at most a mebibyte from which the
 * tuner quotes the last line.
 */
#include "worker/process.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	REAP_TRIES = 200, /* of REAP_STEP_NS: a process that hung up dies within two seconds, or is killed */
	REAP_STEP_NS = 10000000,
};

enum tcb_status tcb_process_start(struct tcb_process *process, struct tcb_nursery *nursery, struct tcb_error *err)
{
	int fd[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0)
		return tcb_fail(err, TCB_E_FAILED, "cannot start a worker process: no socket (%s)", strerror(errno));
	int log_fd = memfd_create("tcb-worker-log", MFD_CLOEXEC);
	if (log_fd >= 0)
		fcntl(log_fd, F_SETFL, O_APPEND);
	pid_t pid = tcb_nursery_start(nursery, fd[1], log_fd);
	int start_errno = errno;
	close(fd[1]);
	if (pid < 0) {
		close(fd[0]);
		if (log_fd >= 0)
			close(log_fd);
		return tcb_fail(err, TCB_E_FAILED, "cannot start a worker process (%s): close other programs",
				strerror(start_errno));
	}
	*process = (struct tcb_process){ .nursery = nursery, .pid = pid, .fd = fd[0], .log_fd = log_fd };
	return TCB_OK;
}

static const char *signal_name(int number)
{
	static const struct {
		int number;
		const char *name;
	} names[] = {
		{ SIGSEGV, "SIGSEGV" },
		{ SIGBUS, "SIGBUS" },
		{ SIGILL, "SIGILL" },
		{ SIGFPE, "SIGFPE" },
		{ SIGABRT, "SIGABRT" },
		{ SIGTRAP, "SIGTRAP" },
		{ SIGSYS, "SIGSYS" },
		{ SIGTERM, "SIGTERM" },
		{ SIGKILL, "SIGKILL (by another process; out of memory?)" },
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].number == number)
			return names[i].name;
	}
	return NULL;
}

static void describe(int status, char *what, size_t bytes)
{
	if (!what)
		return;
	if (WIFSIGNALED(status)) {
		const char *name = signal_name(WTERMSIG(status));
		if (name)
			snprintf(what, bytes, "%s", name);
		else
			snprintf(what, bytes, "signal %d", WTERMSIG(status));
	} else {
		snprintf(what, bytes, "exit status %d", WEXITSTATUS(status));
	}
}

static void close_all(struct tcb_process *process)
{
	close(process->fd);
	if (process->log_fd >= 0)
		close(process->log_fd);
	memset(process, 0, sizeof(*process));
}

void tcb_process_retire(struct tcb_process *process, char *what, size_t bytes)
{
	if (what && bytes)
		what[0] = '\0';
	if (process->pid == 0)
		return;
	int status = 0;
	if (tcb_nursery_wait(process->nursery, process->pid, &status, WNOHANG) == process->pid) {
		describe(status, what, bytes);
	} else {
		kill(process->pid, SIGKILL);
		tcb_nursery_wait(process->nursery, process->pid, &status, 0);
	}
	close_all(process);
}

void tcb_process_reap(struct tcb_process *process, char *what, size_t bytes)
{
	int status = 0;
	for (int i = 0; i < REAP_TRIES; i++) {
		pid_t got = tcb_nursery_wait(process->nursery, process->pid, &status, WNOHANG);
		if (got == process->pid) {
			describe(status, what, bytes);
			close_all(process);
			return;
		}
		if (got < 0)
			break;
		nanosleep(&(struct timespec){ .tv_nsec = REAP_STEP_NS }, NULL);
	}
	tcb_process_retire(process, what, bytes);
	if (what && bytes && !what[0])
		snprintf(what, bytes, "closed connection");
}

void tcb_process_last_words(const struct tcb_process *process, char *line, size_t bytes)
{
	char tail[1024];
	line[0] = '\0';
	off_t end = process->log_fd >= 0 ? lseek(process->log_fd, 0, SEEK_END) : -1;
	if (end <= 0)
		return;
	off_t start = end > (off_t)sizeof(tail) ? end - (off_t)sizeof(tail) : 0;
	ssize_t length = pread(process->log_fd, tail, sizeof(tail), start);
	while (length > 0 && isspace((unsigned char)tail[length - 1]))
		length--;
	ssize_t first = length > 0 ? length : 0;
	while (first > 0 && tail[first - 1] != '\n')
		first--;
	size_t used = 0;
	for (ssize_t i = first; i < length && used + 1 < bytes; i++)
		line[used++] = isprint((unsigned char)tail[i]) ? tail[i] : '?';
	line[used] = '\0';
}

void tcb_process_clear_words(const struct tcb_process *process)
{
	if (process->log_fd >= 0)
		(void)!ftruncate(process->log_fd, 0);
}
