/* SPDX-License-Identifier: MIT
 *
 * In: a job.  Out: what the ptxas program makes of it.
 *
 * The text and the cubin are memory files that ptxas opens through
 * /proc/self/fd, so nothing is written to a disk; both of its streams come
 * through a pipe.  It runs in a process group of its own: Ctrl-C is for the
 * tuner, which stops it in order.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ptx/assemble/assemble_private.h"

extern char **environ;

/* A duplicate of FD behind the standard streams, which the child's will take; FD is closed. */
static int above_standard(int fd)
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
	if (said->length < TCB_ASSEMBLE_LOG_MAX)
		tcb_str_add(said, block);
	return 1;
}

enum tcb_status tcb_assemble_run_program(const char *path, const char *const argv[], const int *keep_fds,
					 size_t keep_count, double seconds_limit, const atomic_int *stop,
					 struct tcb_str *said, int *wait_status, int *timed_out, struct tcb_error *err)
{
	uint64_t deadline = tcb_assemble_deadline(seconds_limit);
	int pipe_fds[2], open = 1, bad, wait_ms;
	pid_t pid = 0, gone = 0;

	*timed_out = 0;
	*wait_status = 0;
	if (pipe2(pipe_fds, O_CLOEXEC) != 0)
		return tcb_fail(err, TCB_E_FAILED, "cannot run %s: no pipe (%s)", path, strerror(errno));
	pipe_fds[1] = above_standard(pipe_fds[1]);
	bad = pipe_fds[1] < 0 ? errno : start(path, argv, pipe_fds[1], keep_fds, keep_count, &pid);
	if (pipe_fds[1] >= 0)
		close(pipe_fds[1]);
	if (bad) {
		close(pipe_fds[0]);
		return tcb_fail(err, TCB_E_FAILED, "cannot run %s (%s)", path, strerror(bad));
	}
	/* It is over when the stream has ended and the process is gone; what it left running is not waited for. */
	while (!gone && (wait_ms = tcb_assemble_wait_ms(deadline)) && !(stop && atomic_load(stop))) {
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

/* A memory file with TEXT. */
static int memory_file(const char *name, const char *text, size_t length)
{
	int fd = above_standard(memfd_create(name, MFD_CLOEXEC));

	for (size_t done = 0; fd >= 0 && done < length;) {
		ssize_t wrote = write(fd, text + done, length - done);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0) {
			close(fd);
			return -1;
		}
		done += (size_t)wrote;
	}
	return fd;
}

static unsigned char *read_whole(int fd, size_t *bytes_out)
{
	struct stat info;
	unsigned char *data;
	size_t done = 0;

	if (fstat(fd, &info) != 0 || info.st_size <= 0 || !(data = malloc((size_t)info.st_size)))
		return NULL;
	while (done < (size_t)info.st_size) {
		ssize_t got = pread(fd, data + done, (size_t)info.st_size - done, (off_t)done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			free(data);
			return NULL;
		}
		done += (size_t)got;
	}
	*bytes_out = done;
	return data;
}

/* Its messages name the file by its path: "ptxas /proc/self/fd/5, line 3" becomes "ptxas kernel.ptx, line 3". */
static char *without_path(const char *said, const char *path)
{
	struct tcb_str out = { 0 };
	const char *at;

	tcb_str_add(&out, "");
	while ((at = strstr(said, path))) {
		tcb_str_addf(&out, "%.*skernel.ptx", (int)(at - said), said);
		said = at + strlen(path);
	}
	tcb_str_add(&out, said);
	if (out.failed) {
		tcb_str_fini(&out);
		return NULL;
	}
	return out.data;
}

static void judge(const struct tcb_assemble_job *job, int wait_status, int output_fd, struct tcb_assembly *out)
{
	char target[16], how[64];

	if (WIFSIGNALED(wait_status)) {
		tcb_assemble_describe_exit(wait_status, how);
		tcb_assembly_end(out, TCB_E_FAILED, "ptxas %s", how);
		return;
	}
	if (WEXITSTATUS(wait_status) != 0) {
		tcb_assemble_target_text(&job->target, target);
		tcb_assembly_end(out, TCB_E_FORMAT, "ptxas rejects this for %s (exit status %d)", target,
				 WEXITSTATUS(wait_status));
		return;
	}
	out->cubin = read_whole(output_fd, &out->cubin_bytes);
	if (!out->cubin)
		tcb_assembly_end(out, TCB_E_FAILED, "ptxas reports success, but wrote nothing");
}

void tcb_ptxas_run(const char *path, const struct tcb_assemble_job *job, struct tcb_assembly *out)
{
	char arch[32], target[16], input[32], output[32];
	const char *argv[TCB_ASSEMBLE_FLAGS_MAX / 2 + 8] = { "ptxas", arch, "-v" };
	size_t argc = 3;
	int fds[] = { memory_file("kernel.ptx", job->ptx, job->length), memory_file("kernel.cubin", "", 0) };
	struct tcb_str said = { 0 };
	struct tcb_error error;
	int wait_status;
	enum tcb_status status;

	if (fds[0] < 0 || fds[1] < 0) {
		tcb_assembly_end(out, TCB_E_FAILED, "no memory file for ptxas (%s)", strerror(errno));
		goto done;
	}
	tcb_assemble_target_text(&job->target, target);
	snprintf(arch, sizeof arch, "-arch=%s", target);
	snprintf(input, sizeof input, "/proc/self/fd/%d", fds[0]);
	snprintf(output, sizeof output, "/proc/self/fd/%d", fds[1]);
	const char *flag = job->build ? job->build->flags : "";
	for (; *flag; flag += strlen(flag) + 1)
		argv[argc++] = flag;
	argv[argc++] = input;
	argv[argc++] = "-o";
	argv[argc++] = output;
	out->is_whole = !job->build || job->build->is_whole;
	status = tcb_assemble_run_program(path, argv, fds, 2, job->seconds_limit, job->stop, &said, &wait_status,
					  &out->timed_out, &error);
	if (said.data)
		out->log = without_path(said.data, input);
	if (status != TCB_OK)
		tcb_assembly_end(out, status, "%s", error.message);
	else
		judge(job, wait_status, fds[1], out);
done:
	tcb_str_fini(&said);
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}
