/* SPDX-License-Identifier: MIT
 *
 * A program and its words come in; what it said and how it ended go out.  Both of
 * its streams come through a pipe.  It runs in a process group of its own: Ctrl-C
 * is for the tuner, which stops it in order.
 */
#include "base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS_LIMIT_MAX = 1 << 24 }; /* half a year: keeps nanoseconds far from overflow */

uint64_t tcb_program_deadline(double seconds)
{
	if (!(seconds > 0))
		seconds = 0;
	if (seconds > SECONDS_LIMIT_MAX)
		seconds = SECONDS_LIMIT_MAX;
	return tcb_clock_ns() + (uint64_t)(seconds * 1e9);
}

int tcb_program_wait_ms(uint64_t deadline_ns)
{
	uint64_t now = tcb_clock_ns();

	if (now >= deadline_ns)
		return 0;
	uint64_t left = (deadline_ns - now) / 1000000 + 1;
	return left > TCB_PROGRAM_STEP_MS ? TCB_PROGRAM_STEP_MS : (int)left;
}

void tcb_program_complaint(const char *said, char *out, size_t capacity)
{
	const char *at = said ? said + strspn(said, "\n") : "", *error = strstr(at, "error");
	const char *line = error ? error : at;

	while (line > at && line[-1] != '\n')
		line--;
	if (!*line)
		line = "the compiler does not say why";
	snprintf(out, capacity, "%.*s", (int)strcspn(line, "\n"), line);
}

void tcb_program_describe_exit(int wait_status, char out[64])
{
	if (WIFSIGNALED(wait_status)) {
		snprintf(out, 64, "was killed by signal %d (%.32s)", WTERMSIG(wait_status),
			 strsignal(WTERMSIG(wait_status)));
	} else {
		snprintf(out, 64, "ended with exit status %d", WEXITSTATUS(wait_status));
	}
}

static int is_program(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

int tcb_program_find(const char *name, char *out, size_t capacity)
{
	const char *list = getenv("PATH");

	if (strchr(name, '/'))
		return (size_t)snprintf(out, capacity, "%s", name) < capacity && is_program(out) ? 0 : -1;
	while (list && *list) {
		const size_t length = strcspn(list, ":");

		if (length && (size_t)snprintf(out, capacity, "%.*s/%s", (int)length, list, name) < capacity &&
		    is_program(out))
			return 0;
		list += length + (list[length] == ':');
	}
	return -1;
}

extern char **environ;

int tcb_fd_above_standard(int fd)
{
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (fd >= 0)
		close(fd);
	return high;
}

static int prepare(posix_spawn_file_actions_t *files, posix_spawnattr_t *attributes, int said_fd, const int *keep_fds,
		   size_t keep_count)
{
	sigset_t none, all;
	int bad = 0;

	sigemptyset(&none);
	sigfillset(&all);
	bad |= posix_spawnattr_setsigmask(attributes, &none);
	bad |= posix_spawnattr_setsigdefault(attributes, &all);
	bad |= posix_spawnattr_setpgroup(attributes, 0);
	bad |= posix_spawnattr_setflags(attributes,
					POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	bad |= posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	bad |= posix_spawn_file_actions_adddup2(files, said_fd, STDOUT_FILENO);
	bad |= posix_spawn_file_actions_adddup2(files, said_fd, STDERR_FILENO);
	/* A duplicate onto itself is inherited (glibc 2.29). */
	for (size_t i = 0; i < keep_count; i++)
		bad |= posix_spawn_file_actions_adddup2(files, keep_fds[i], keep_fds[i]);
	return bad;
}

static int start(const char *path, const char *const argv[], int said_fd, const int *keep_fds, size_t keep_count,
		 pid_t *pid_out)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int bad;

	if (posix_spawn_file_actions_init(&files) != 0)
		return ENOMEM;
	if (posix_spawnattr_init(&attributes) != 0) {
		posix_spawn_file_actions_destroy(&files);
		return ENOMEM;
	}
	bad = prepare(&files, &attributes, said_fd, keep_fds, keep_count);
	if (!bad)
		bad = posix_spawn(pid_out, path, &files, &attributes, (char **)(uintptr_t)argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return bad;
}

/* Reads what there is; 0 at the end of the stream. */
static int listen_to(int fd, struct tcb_str *said)
{
	char block[4096];
	ssize_t got = read(fd, block, sizeof block - 1);

	if (got <= 0)
		return got < 0 && errno == EINTR;
	/* NUL bytes would hide what follows. */
	for (ssize_t i = 0; i < got; i++)
		if (!block[i])
			block[i] = '?';
	block[got] = '\0';
	if (said->length < TCB_PROGRAM_SAID_MAX)
		tcb_str_add(said, block);
	return 1;
}

enum tcb_status tcb_program_run(const char *path, const char *const argv[], const int *keep_fds, size_t keep_count,
				double seconds_limit, const atomic_int *stop, struct tcb_str *said, int *wait_status,
				int *timed_out, struct tcb_error *err)
{
	uint64_t deadline = tcb_program_deadline(seconds_limit);
	int pipe_fds[2], open = 1, bad, wait_ms;
	pid_t pid = 0, gone = 0;

	*timed_out = 0;
	*wait_status = 0;
	if (pipe2(pipe_fds, O_CLOEXEC) != 0)
		return tcb_fail(err, TCB_E_FAILED, "cannot run %s: no pipe (%s)", path, strerror(errno));
	pipe_fds[1] = tcb_fd_above_standard(pipe_fds[1]);
	bad = pipe_fds[1] < 0 ? errno : start(path, argv, pipe_fds[1], keep_fds, keep_count, &pid);
	if (pipe_fds[1] >= 0)
		close(pipe_fds[1]);
	if (bad) {
		close(pipe_fds[0]);
		return tcb_fail(err, TCB_E_FAILED, "cannot run %s (%s)", path, strerror(bad));
	}
	/* It is over when the stream has ended and the process is gone; what it left running is not waited for. */
	while (!gone && (wait_ms = tcb_program_wait_ms(deadline)) && !(stop && atomic_load(stop))) {
		struct pollfd events = { .fd = pipe_fds[0], .events = POLLIN };
		if (open && poll(&events, 1, wait_ms) > 0)
			open = listen_to(pipe_fds[0], said);
		else
			gone = waitpid(pid, wait_status, WNOHANG);
		if (!open && !gone) {
			gone = waitpid(pid, wait_status, WNOHANG);
			if (!gone)
				nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
		}
	}
	if (gone) {
		/* It may have spoken between the last look and its end. */
		fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
		while (open && listen_to(pipe_fds[0], said))
			;
	} else {
		*timed_out = !(stop && atomic_load(stop));
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
		while (waitpid(pid, wait_status, 0) < 0 && errno == EINTR)
			;
	}
	close(pipe_fds[0]);
	if (!gone)
		return tcb_fail(err, TCB_E_FAILED,
				*timed_out ? "%s ran longer than %g s and was killed" : "%s was stopped", path,
				seconds_limit);
	return TCB_OK;
}

/* ---- processes of our own ---- */

/* Keeps FD and nothing else.  Another thread may have been starting a process at this moment: if this one held that
 * one's socket, its death would not be seen. */
static void isolate(int fd)
{
	int null;

	fd = fcntl(fd, F_DUPFD, TCB_PROGRAM_FD + 1);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	dup2(fd, TCB_PROGRAM_FD);
	if (close_range(TCB_PROGRAM_FD + 1, ~0u, 0) == 0)
		return;
	/* Kernels before 5.9. */
	struct rlimit limit;
	int end = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536 ? (int)limit.rlim_cur : 65536;
	for (int other = TCB_PROGRAM_FD + 1; other < end; other++)
		close(other);
}

pid_t tcb_program_fork(const char *name, int fd)
{
	const pid_t parent = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	isolate(fd);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	prctl(PR_SET_NAME, name);
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	/* 1 byte: no core file, and no core to a pipe either, which 0 would allow (core(5)). */
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 1, 1 });
	return 0;
}
