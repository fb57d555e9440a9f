/* SPDX-License-Identifier: MIT
 *
 * Measuring on request: `tcbtune sweep` in a process of its own.  A candidate
 * that faults costs the tuner a worker and the program nothing; what the sweep
 * says on stderr is kept for the error.  The query is checked here, as a lookup's
 * is, so that such an error is about the machine and not about a word that the
 * caller never wrote; and afterwards the database must have the result.
 */
#include <assert.h>
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
#include "db/db.h"
#include "kernels/defaults/contracts.h"
#include "rt/rt_plan.h"

enum { ARGUMENTS_MAX = 12, PATH_BYTES = 4096, LINE_BYTES = 400 };
/* What --budget takes: a millisecond to a century. */
#define SECONDS_LEAST 0.001
#define SECONDS_MOST 3e9

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
	char *argv[ARGUMENTS_MAX]; /* owned, but for the first two */
	char program[PATH_BYTES];
};

/* NAME=VALUE as one word, so that no value is read as an option, whatever it is; NULL: nothing. */
static enum tcb_status add(struct arguments *a, const char *name, const char *value, struct tcb_error *err)
{
	size_t count = 0;

	if (!value)
		return TCB_OK;
	while (a->argv[count])
		count++;
	assert(count + 1 < ARGUMENTS_MAX);
	if (asprintf(&a->argv[count], "--%s=%s", name, value) >= 0)
		return TCB_OK;
	a->argv[count] = NULL;
	return tcb_fail(err, TCB_E_NOMEM, "out of memory");
}

static void arguments_fini(struct arguments *a)
{
	for (size_t i = 2; a->argv[i]; i++)
		free(a->argv[i]);
}

static enum tcb_status arguments_init(struct arguments *a, const char *path, const struct tcbrt_query *query,
				      const struct tcb_problem *problem, unsigned contracts, double seconds,
				      struct tcb_error *err)
{
	static char sweep[] = "sweep";
	const char *named = tcb_contract_text(problem->contract);
	char shape[TCB_SHAPE_TEXT_MAX], threads[16], budget[32], contract[16];
	const int count = __builtin_popcount(contracts); /* that share the time */

	memset(a, 0, sizeof(*a));
	find_program(a->program);
	a->argv[0] = a->program;
	a->argv[1] = sweep;
	tcb_shape_print(&problem->shape, shape);
	snprintf(threads, sizeof(threads), "%u", query->threads);
	seconds /= count;
	snprintf(budget, sizeof(budget), "%.3fs", seconds > SECONDS_LEAST ? seconds : SECONDS_LEAST);
	snprintf(contract, sizeof(contract), "%s%s", count > 1 ? "auto:" : "", named);
	TCB_TRY(add(a, "op", problem->op_name, err));
	TCB_TRY(add(a, "shape", shape, err));
	TCB_TRY(add(a, "contract", contract, err));
	TCB_TRY(add(a, "budget", budget, err));
	TCB_TRY(add(a, "device", query->device, err));
	TCB_TRY(add(a, "threads", query->threads ? threads : NULL, err));
	return add(a, "db", path, err);
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
		error = posix_spawnp(child, a->program, &actions, NULL, a->argv, environ);
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

/* What QUERY is about, and which contracts may answer it, as far as it can be said without asking a device. */
static enum tcb_status make_problem(const struct tcbrt_query *query, struct tcb_problem *out, unsigned *contracts,
				    struct tcb_error *err)
{
	const struct tcb_op *op = tcb_op_find(query->op);
	struct tcb_shape shape = { query->m, query->n, query->k };
	enum tcb_contract least;
	int is_auto;

	if (!op)
		return tcb_fail(err, TCB_E_NOT_FOUND,
				"unknown op '%.60s'; ops are tuned one at a time, by names as 'tcbtune ops' has them",
				query->op);
	if (!rt_contract_read(op, query->contract, &least, &is_auto))
		return tcb_fail(err, TCB_E_USAGE, "the query's contract is outside enum tcbrt_contract");
	if (query->words)
		TCB_TRY(tcb_words_parse(query->words, &shape.words, err));
	TCB_TRY(tcb_problem_init(op, least, &shape, out, err));
	*contracts = is_auto ? tcb_contracts_from(op, &shape, NULL, least) : 1u << least;
	return TCB_OK;
}

static enum tcb_status check(const char *path, const struct tcbrt_query *query, double seconds,
			     struct tcb_problem *problem, unsigned *contracts, struct tcb_error *err)
{
	if (!query || !query->op)
		return tcb_fail(err, TCB_E_USAGE, "QUERY or its op is NULL");
	if (!(seconds > 0 && seconds <= SECONDS_MOST))
		return tcb_fail(err, TCB_E_USAGE, "SECONDS is %g: give a number above 0, up to %g", seconds,
				(double)SECONDS_MOST);
	if ((path && !*path) || (query->device && !*query->device))
		return tcb_fail(err, TCB_E_USAGE, "%s is empty: NULL means the usual one",
				path && !*path ? "PATH" : "the query's device");
	if (query->wgpu && !query->device)
		return tcb_fail(err, TCB_E_USAGE, "query.wgpu names no device to measure on: set query.device");
	if (query->threads > RT_THREADS_MAX)
		return tcb_fail(err, TCB_E_USAGE, "the query's threads are more than %d", RT_THREADS_MAX);
	return make_problem(query, problem, contracts, err);
}

/* --- was it tuned? --- */

struct looking {
	const struct tcb_problem *problem;
	unsigned contracts; /* bits; any of them */
	const char *device; /* the query's, or "cpu" */
	unsigned threads;   /* 0: any */
	struct rt_device host[RT_KNOWN_DEVICES_MAX];
	uint32_t host_count;
	int is_found;
};

/* A name that only tcbtune knows, "cuda:0", may be any. */
static int is_device(const struct looking *looking, const struct tcb_best *best)
{
	char name[TCB_DEVICE_NAME_MAX];
	const char *key;

	for (uint32_t i = 0; i < looking->host_count; i++)
		if (strcmp(looking->host[i].name, looking->device) == 0)
			return strcmp(best->device_name, looking->device) == 0 &&
			       strcmp(best->device_key, looking->host[i].key) == 0;
	if (!tcb_kind_split(looking->device, name, &key))
		return 1;
	return strcmp(best->device_name, name) == 0 && (!key || strcmp(best->device_key, key) == 0);
}

static int look(void *ctx, const struct tcb_best *best)
{
	struct looking *looking = ctx;

	looking->is_found = (looking->contracts >> best->problem.contract & 1u) &&
			    tcb_shape_equal(&best->problem.shape, &looking->problem->shape) &&
			    (!looking->threads || best->threads == looking->threads) && is_device(looking, best);
	return looking->is_found;
}

/* Whether the database has a result of PROBLEM now: whatever the sweep returned, it is for that that it was run. */
static enum tcb_status check_result(const char *path, const struct tcbrt_query *query,
				    const struct tcb_problem *problem, unsigned contracts, struct tcb_error *err)
{
	struct looking looking = { .problem = problem,
				   .contracts = contracts,
				   .device = query->device ? query->device : "cpu",
				   .threads = query->threads };
	char file[PATH_BYTES];
	struct tcb_db *db;

	const struct tcb_kind *kind = tcb_kind_stored(looking.device, NULL);

	if (kind && !kind->has_threads)
		looking.threads = 0;
	(void)rt_known_devices(looking.host, RT_KNOWN_DEVICES_MAX, &looking.host_count, NULL);
	TCB_TRY(tcb_db_path(path, TCB_DB_READ, file, sizeof(file), err));
	TCB_TRY(tcb_db_open(file, TCB_DB_READ, &db, err));
	const enum tcb_status status =
		tcb_db_best_each(db, &(struct tcb_best_filter){ .op = problem->op_name }, look, &looking, err);
	tcb_db_close(db);
	TCB_TRY(status);
	if (!looking.is_found)
		return tcb_fail(err, TCB_E_FAILED,
				"tcbtune sweep ended and stored no result of %s in %.300s: give it more seconds",
				problem->op_name, file);
	return TCB_OK;
}

static enum tcb_status sweep(const struct arguments *arguments, struct tcb_error *err)
{
	char line[LINE_BYTES];
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return tcb_fail(err, TCB_E_IO, "making a pipe for tcbtune sweep: %s", strerror(errno));
	const int error = spawn(arguments, ends[1], &child);
	close(ends[1]);
	if (!error)
		last_line(ends[0], line);
	close(ends[0]);
	if (error == ENOENT)
		return tcb_fail(err, TCB_E_NOT_FOUND,
				"the program '%.300s' is not there: install tcbtune, or name it in the environment "
				"variable TCBTUNE",
				arguments->program);
	if (error)
		return tcb_fail(err, TCB_E_FAILED, "starting '%.300s': %s", arguments->program, strerror(error));
	return wait_for(child, line, err);
}

static enum tcb_status tune(const char *path, const struct tcbrt_query *query, double seconds, struct tcb_error *err)
{
	struct tcb_problem problem;
	struct arguments arguments;
	unsigned contracts = 1;
	enum tcb_status status;

	TCB_TRY(check(path, query, seconds, &problem, &contracts, err));
	status = arguments_init(&arguments, path, query, &problem, contracts, seconds, err);
	if (status == TCB_OK)
		status = sweep(&arguments, err);
	arguments_fini(&arguments);
	return status == TCB_OK ? check_result(path, query, &problem, contracts, err) : status;
}

int tcbrt_tune(const char *path, const struct tcbrt_query *query, double seconds, struct tcbrt_error *err)
{
	struct tcb_error error = { .message = "" };
	const enum tcb_status status = tune(path, query, seconds, &error);

	return rt_report(status, &error, err);
}
