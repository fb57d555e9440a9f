/* SPDX-License-Identifier: MIT
 *
 * In: requests to start a worker, with the descriptors that it will have, or to
 * wait for one; out: its process id, its status.  The nursery and its workers
 * keep the sockets that they serve and nothing else: standard input is empty,
 * all other descriptors (database, terminal, PAPI of the parent) are closed.
 */
#include "worker/nursery.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SOCKET_FD = 3, /* after the standard three */
	LOG_BYTES_MAX = 1 << 20,
	START = -1, /* as the worker of a request: a new one */
};

struct request {
	pid_t worker;
	int options;
};

struct reply {
	pid_t worker; /* what fork or waitpid returned */
	int status, error;
};

/* A request's descriptors: one or two with START. */
union passed {
	struct cmsghdr align;
	char space[CMSG_SPACE(2 * sizeof(int))];
};

static pid_t wait_for(pid_t pid, int *status, int options)
{
	pid_t got;
	do
		got = waitpid(pid, status, options);
	while (got < 0 && errno == EINTR);
	return got;
}

/* ---- the children's side ---- */

static void close_from(int first)
{
	if (close_range((unsigned)first, ~0u, 0) == 0)
		return;
	/* Kernels before 5.9. */
	struct rlimit limit;
	int end = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536 ? (int)limit.rlim_cur : 65536;
	for (int fd = first; fd < end; fd++)
		close(fd);
}

/* FD becomes SOCKET_FD. */
static void isolate_files(int fd, int log_fd)
{
	/* The tuner may run with closed standard descriptors: nothing of ours may sit where they belong. */
	fd = fcntl(fd, F_DUPFD, SOCKET_FD + 1);
	if (log_fd >= 0)
		log_fd = fcntl(log_fd, F_DUPFD, SOCKET_FD + 1);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int words = log_fd >= 0 ? log_fd : null;
	dup2(words, STDOUT_FILENO);
	dup2(words, STDERR_FILENO);
	dup2(null, STDIN_FILENO);
	dup2(fd, SOCKET_FD);
	close_from(SOCKET_FD + 1);
}

static void isolate_signals(void)
{
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	/* These reach the whole process group; the tuner decides, and when it dies its children are killed. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a babbling candidate gets an error from write */
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The start of a child of PARENT. */
static void isolate(const char *name, pid_t parent, int fd, int log_fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	prctl(PR_SET_NAME, name);
	isolate_signals();
	isolate_files(fd, log_fd);
}

_Noreturn static void worker(pid_t parent, const int fd[2], const struct tcb_worker_config *config)
{
	isolate("tcb-worker", parent, fd[0], fd[1]);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ LOG_BYTES_MAX, LOG_BYTES_MAX });
	/* 1 byte: no core file, and no core to a pipe either, which 0 would allow (core(5)). */
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 1, 1 });
	tcb_worker_main(SOCKET_FD, config);
}

/* ---- the nursery's side ---- */

/* 0, or -1: the tuner is gone.  FD: what came with it, -1 for what did not. */
static int receive(struct request *request, int fd[2])
{
	union passed passed;
	struct iovec part = { request, sizeof *request };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = passed.space, .msg_controllen = sizeof passed.space
	};
	ssize_t got;
	do
		got = recvmsg(SOCKET_FD, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	fd[0] = fd[1] = -1;
	const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	if (got == (ssize_t)sizeof *request && head && head->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(head), head->cmsg_len - CMSG_LEN(0));
	return got == (ssize_t)sizeof *request ? 0 : -1;
}

_Noreturn static void nursery_main(pid_t parent, int socket, const struct tcb_worker_config *config)
{
	struct request request;
	int fd[2];
	isolate("tcb-nursery", parent, socket, -1);
	const pid_t self = getpid();
	while (receive(&request, fd) == 0) {
		struct reply reply = { .status = 0 };
		if (request.worker == START) {
			reply.worker = fork();
			if (reply.worker == 0)
				worker(self, fd, config);
		} else {
			reply.worker = wait_for(request.worker, &reply.status, request.options);
		}
		reply.error = errno;
		for (int i = 0; i < 2; i++)
			if (fd[i] >= 0)
				close(fd[i]);
		if (send(SOCKET_FD, &reply, sizeof reply, MSG_NOSIGNAL) != (ssize_t)sizeof reply)
			break;
	}
	_exit(0);
}

/* ---- the tuner's side ---- */

enum tcb_status tcb_nursery_create(const struct tcb_worker_config *config, struct tcb_nursery *out,
				   struct tcb_error *err)
{
	int fd[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) != 0)
		return tcb_fail(err, TCB_E_FAILED, "cannot start a worker process: no socket (%s)", strerror(errno));
	const pid_t parent = getpid(), pid = fork();
	if (pid == 0)
		nursery_main(parent, fd[1], config);
	const int fork_errno = errno;
	close(fd[1]);
	if (pid < 0) {
		close(fd[0]);
		return tcb_fail(err, TCB_E_FAILED, "cannot start a worker process (%s): close other programs",
				strerror(fork_errno));
	}
	*out = (struct tcb_nursery){ .pid = pid, .fd = fd[0], .config = config };
	return TCB_OK;
}

/* -1: the nursery is gone. */
static int ask(const struct tcb_nursery *nursery, struct request request, const int *fd, size_t fd_count,
	       struct reply *reply)
{
	union passed passed = { .space = { 0 } };
	struct iovec part = { &request, sizeof request };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	if (fd_count > 0) {
		message.msg_control = passed.space;
		message.msg_controllen = CMSG_SPACE(fd_count * sizeof *fd);
		struct cmsghdr *head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(fd_count * sizeof *fd);
		memcpy(CMSG_DATA(head), fd, fd_count * sizeof *fd);
	}
	ssize_t got;
	do
		got = sendmsg(nursery->fd, &message, MSG_NOSIGNAL);
	while (got < 0 && errno == EINTR);
	do
		got = got < 0 ? -2 : recv(nursery->fd, reply, sizeof *reply, 0);
	while (got == -1 && errno == EINTR);
	if (got == (ssize_t)sizeof *reply)
		return 0;
	*reply = (struct reply){ .worker = -1, .error = ECHILD };
	return -1;
}

pid_t tcb_nursery_start(struct tcb_nursery *nursery, int fd, int log_fd)
{
	const struct tcb_worker_config *config = nursery->config;
	const int passed[2] = { fd, log_fd };
	const size_t count = log_fd >= 0 ? 2 : 1;
	const struct request start = { .worker = START };
	struct reply reply;
	if (ask(nursery, start, passed, count, &reply) != 0) {
		tcb_nursery_destroy(nursery);
		if (tcb_nursery_create(config, nursery, NULL) == TCB_OK)
			(void)ask(nursery, start, passed, count, &reply);
		else
			nursery->config = config; /* for the next try */
	}
	errno = reply.error;
	return reply.worker;
}

int tcb_nursery_is_gone(const struct tcb_nursery *nursery)
{
	/* Its end of the socket closes before its workers are killed. */
	struct pollfd end = { .fd = nursery->fd };
	return nursery->pid == 0 || poll(&end, 1, 0) > 0;
}

pid_t tcb_nursery_wait(const struct tcb_nursery *nursery, pid_t worker, int *status, int options)
{
	struct reply reply;
	(void)ask(nursery, (struct request){ worker, options }, NULL, 0, &reply);
	*status = reply.status;
	errno = reply.error;
	return reply.worker;
}

void tcb_nursery_destroy(struct tcb_nursery *nursery)
{
	int status;
	if (nursery->pid == 0)
		return;
	close(nursery->fd);
	kill(nursery->pid, SIGKILL);
	wait_for(nursery->pid, &status, 0);
	memset(nursery, 0, sizeof *nursery);
}
