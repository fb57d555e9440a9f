/* SPDX-License-Identifier: MIT
 *
 * The child of guarded.h.  The host's handlers for signals are not for it: they
 * would write traces, or go on.  A host may reap children itself, so that the
 * child ended is also read from memory that both have.
 */
#include "guarded.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS_MAX = 10 };

void *guarded_alloc(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void guarded_free(void *memory, size_t bytes)
{
	if (memory)
		munmap(memory, bytes);
}

/* Signals kill, quietly; nothing that the host's code prints on its way is seen. */
static void enter(void)
{
	static const int deadly[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS, SIGALRM };
	const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t all;

	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
		signal(deadly[i], SIG_DFL);
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	alarm(SECONDS_MAX);
	/* ggml's traces ask a debugger in a child of their own. */
	setenv("GGML_NO_BACKTRACE", "1", 1);
	if (nowhere >= 0) {
		dup2(nowhere, STDOUT_FILENO);
		dup2(nowhere, STDERR_FILENO);
	}
}

enum guarded_end guarded_run(void (*fn)(void *ctx), void *ctx)
{
	atomic_int *has_returned = guarded_alloc(sizeof(*has_returned));
	enum guarded_end end = GUARDED_NOT_STARTED;
	int status = 0;
	pid_t child;

	if (!has_returned)
		return end;
	child = fork();
	if (child == 0) {
		enter();
		fn(ctx);
		atomic_store(has_returned, 1);
		_exit(0);
	}
	if (child > 0) {
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		end = GUARDED_CRASHED;
		if (atomic_load(has_returned))
			end = GUARDED_RETURNED;
		else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
			end = GUARDED_HUNG;
	}
	guarded_free(has_returned, sizeof(*has_returned));
	return end;
}
