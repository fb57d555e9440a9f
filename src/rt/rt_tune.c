/* SPDX-License-Identifier: MIT
 *
 * Measuring on request: `tcbtune sweep` in a process of its own.  A candidate
 * that faults costs the tuner a worker and the program nothing; what the sweep
 * says on stderr is kept for the error.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/problem.h"
#include "rt/rt_plan.h"

enum { ARGUMENTS_MAX = 24, PATH_BYTES = 4096, LINE_BYTES = 400 };

extern char **environ;

/* The program beside this library (<prefix>/lib/libtcbrt.so, <prefix>/bin/tcbtune), else by name. */
static void find_program(char out[PATH_BYTES])
{
	const char *named = getenv("TCBTUNE");
	Dl_info here;
	const char *slash;
	void *self;
	int (*const function)(const char *, const struct tcbrt_query *, double, struct tcbrt_error *) = tcbrt_tune;

	if (named && *named) {
		snprintf(out, PATH_BYTES, "%s", named);
		return;
	}
	memcpy(&self, &function, sizeof(self));
	if (dladdr(self, &here) && here.dli_fname && (slash = strrchr(here.dli_fname, '/'))) {
		/* lib/ or lib/x86_64-linux-gnu/ */
		static const char *const ups[] = { "../bin/tcbtune", "../../bin/tcbtune" };

		for (size_t i = 0; i < sizeof(ups) / sizeof(ups[0]); i++) {
			snprintf(out, PATH_BYTES, "%.*s/%s", (int)(slash - here.dli_fname), here.dli_fname, ups[i]);
			if (access(out, X_OK) == 0)
				return;
		}
	}
	snprintf(out, PATH_BYTES, "tcbtune");
}

struct arguments {
	const char *argv[ARGUMENTS_MAX];
	char program[PATH_BYTES], shape[TCB_SHAPE_TEXT_MAX], threads[16], budget[32];
};

static void add(struct arguments *a, const char *option, const char *value)
{
	size_t count = 0;

	while (a->argv[count])
		count++;
	a->argv[count] = option;
	a->argv[count + 1] = value;
}

static void fill(struct arguments *a, const char *path, const struct tcbrt_query *query, double seconds)
{
	struct tcb_shape shape = { query->m, query->n, query->k };

	memset(a, 0, sizeof(*a));
	find_program(a->program);
	if (query->words)
		(void)tcb_heads_parse(query->words, &shape.heads, NULL);
	tcb_shape_print(&shape, a->shape);
	snprintf(a->threads, sizeof(a->threads), "%u", query->threads);
	snprintf(a->budget, sizeof(a->budget), "%.3fs", seconds);
	add(a, a->program, "sweep");
	add(a, "--op", query->op);
	add(a, "--shape", a->shape);
	add(a, "--budget", a->budget);
	if (query->device)
		add(a, "--device", query->device);
	if (query->threads)
		add(a, "--threads", a->threads);
	if (query->contract != TCBRT_CONTRACT_DEFAULT)
		add(a, "--contract", tcb_contract_text((enum tcb_contract)(query->contract - 1)));
	if (path)
		add(a, "--db", path);
}

/* The last line that the sweep said, from the pipe FROM until it is closed. */
static void last_line(int from, char out[LINE_BYTES])
{
	char text[2 * LINE_BYTES];
	size_t used = 0;
	ssize_t got;

	while ((got = read(from, text + used, sizeof(text) - 1 - used)) > 0 || (got < 0 && errno == EINTR)) {
		if (got < 0)
			continue;
		used += (size_t)got;
		if (used > LINE_BYTES) { /* the end is what counts */
			memmove(text, text + used - LINE_BYTES, LINE_BYTES);
			used = LINE_BYTES;
		}
	}
	while (used && (text[used - 1] == '\n' || text[used - 1] == '\r'))
		used--;
	text[used] = '\0';
	const char *line = strrchr(text, '\n');
	snprintf(out, LINE_BYTES, "%.*s", LINE_BYTES - 1, line ? line + 1 : text);
}

static int spawn(const struct arguments *a, int to, pid_t *child)
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!error)
		error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, to, STDERR_FILENO);
	if (!error)
		error = posix_spawnp(child, a->program, &actions, NULL, (char *const *)(uintptr_t)a->argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

static enum tcb_status wait_for(pid_t child, const char *line, struct tcb_error *err)
{
	int state;

	while (waitpid(child, &state, 0) < 0)
		if (errno != EINTR)
			return tcb_fail(err, TCB_E_FAILED, "waiting for tcbtune sweep: %s", strerror(errno));
	if (WIFSIGNALED(state))
		return tcb_fail(err, TCB_E_FAILED, "tcbtune sweep was ended by signal %d (%s)", WTERMSIG(state),
				strsignal(WTERMSIG(state)));
	if (WEXITSTATUS(state) == 0)
		return TCB_OK;
	return tcb_fail(err, WEXITSTATUS(state) == 2 ? TCB_E_USAGE : TCB_E_FAILED, "%s",
			line[0] ? line : "tcbtune sweep failed and said nothing");
}

static enum tcb_status tune(const char *path, const struct tcbrt_query *query, double seconds, struct tcb_error *err)
{
	struct arguments arguments;
	char line[LINE_BYTES];
	int ends[2];
	pid_t child;

	if (!query || !query->op || !(seconds > 0) || (unsigned)query->contract > TCB_CONTRACT_COUNT)
		return tcb_fail(err, TCB_E_USAGE, "tuning wants an op, a shape and a number of seconds above 0");
	fill(&arguments, path, query, seconds);
	if (pipe2(ends, O_CLOEXEC) != 0)
		return tcb_fail(err, TCB_E_IO, "making a pipe for tcbtune sweep: %s", strerror(errno));
	const int error = spawn(&arguments, ends[1], &child);
	close(ends[1]);
	if (!error)
		last_line(ends[0], line);
	close(ends[0]);
	if (error == ENOENT)
		return tcb_fail(err, TCB_E_NOT_FOUND,
				"the program '%.300s' is not there: install tcbtune, or name it in the environment "
				"variable TCBTUNE",
				arguments.program);
	if (error)
		return tcb_fail(err, TCB_E_FAILED, "starting '%.300s': %s", arguments.program, strerror(error));
	return wait_for(child, line, err);
}

int tcbrt_tune(const char *path, const struct tcbrt_query *query, double seconds, struct tcbrt_error *err)
{
	struct tcb_error error = { .message = "" };
	const enum tcb_status status = tune(path, query, seconds, &error);

	return rt_report(status, &error, err);
}
