/* SPDX-License-Identifier: MIT
 *
 * What happens in an execution beside the kernel: no allocation, counted; no
 * system call, forbidden by seccomp, which kills the process at the first one.
 * A process that does make one is the test's control.
 */
#include "cmocka_all.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "count_malloc.h"
#include "rt/rt_plan.h"
#include "tcbrt.h"

enum { THREADS = 2, CALLS = 50, LOOKUPS = 1000, FINE = 7, WRONG = 8 };

static const struct tcbrt_query queries[] = {
	{ .op = "q4k_matvec", .m = 1, .n = 512, .k = 1024 },
	{ .op = "q6k_matmul", .m = 9, .n = 128, .k = 512 },
	{ .op = "softmax", .m = 16, .n = 999 },
	{ .op = "rmsnorm", .m = 16, .n = 1024 },
	{ .op = "reduce2d_sum", .m = 64, .n = 300 },
	{ .op = "matmul_f32", .m = 64, .n = 64, .k = 64 },
};

struct job {
	struct tcbrt *rt;
	struct tcbrt_plan *plan;
	void *operand[TCBRT_OPERANDS_MAX], *workspace;
};

static void *room(size_t bytes)
{
	const size_t whole = (bytes + TCBRT_ALIGNMENT) / TCBRT_ALIGNMENT * TCBRT_ALIGNMENT;
	void *at = aligned_alloc(TCBRT_ALIGNMENT, whole);

	memset(at, 0, whole); /* no page is touched for the first time in an execution */
	return at;
}

static void job_init(struct job *job, const struct tcbrt_query *query, unsigned threads)
{
	struct tcbrt_query asked = *query;
	struct tcbrt_plan_info info;
	struct tcbrt_error err;
	void *stored[TCBRT_OPERANDS_MAX];

	asked.threads = threads;
	assert_int_equal(tcbrt_open_empty(&job->rt, NULL), TCBRT_OK);
	if (tcbrt_plan_create(job->rt, &asked, &job->plan, &err) != TCBRT_OK)
		fail_msg("%s: %s", query->op, err.message);
	assert_int_equal(tcbrt_plan_info(job->plan, &info), TCBRT_OK);
	for (size_t i = 0; i < info.operand_count; i++)
		job->operand[i] = stored[i] = room(info.operand[i].bytes);
	job->plan->problem.op->fill(&job->plan->problem, 1, stored);
	if (info.packed_bytes) {
		job->operand[info.weights] = room(info.packed_bytes);
		assert_int_equal(tcbrt_pack(job->plan, stored[info.weights], job->operand[info.weights]), TCBRT_OK);
		free(stored[info.weights]);
	}
	job->workspace = room(info.workspace_bytes);
	assert_int_equal(tcbrt_workspace_init(job->plan, job->workspace), TCBRT_OK);
}

static void job_fini(struct job *job)
{
	struct tcbrt_plan_info info;

	tcbrt_plan_info(job->plan, &info);
	for (size_t i = 0; i < info.operand_count; i++)
		free(job->operand[i]);
	free(job->workspace);
	tcbrt_plan_destroy(job->plan);
	tcbrt_close(job->rt);
}

/* ---- allocations ---- */

static void nothing_is_allocated(void **state)
{
	struct tcbrt_pool *pool;

	(void)state;
	if (!COUNTS_MALLOC)
		skip_because("a sanitizer stands in front of malloc");
	assert_int_equal(tcbrt_pool_create(THREADS, &pool, NULL), TCBRT_OK);
	for (size_t q = 0; q < sizeof(queries) / sizeof(*queries); q++) {
		struct tcbrt_tuning tuning;
		struct job job;
		size_t before;

		job_init(&job, &queries[q], THREADS);
		before = malloc_calls;
		for (int call = 0; call < CALLS; call++) {
			assert_int_equal(tcbrt_execute(job.plan, job.operand, job.workspace, NULL), TCBRT_OK);
			assert_int_equal(tcbrt_execute(job.plan, job.operand, job.workspace, pool), TCBRT_OK);
			assert_int_equal(tcbrt_lookup(job.rt, &queries[q], &tuning), TCBRT_OK);
		}
		assert_int_equal(malloc_calls, before);
		job_fini(&job);
	}
	tcbrt_pool_destroy(pool);
}

/* ---- system calls ---- */

/* From now on any system call of any thread of this process kills it, but those by which a test ends and, of a thread
 * that the others keep waiting on a loaded machine, sched_yield. */
static int forbid_system_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_yield, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

static atomic_int started, may_begin, code;

struct seat {
	const struct job *job;
	unsigned thread;
};

static void *take_seat(void *arg)
{
	const struct seat *seat = arg;

	atomic_fetch_add(&started, 1);
	while (!atomic_load(&may_begin))
		;
	for (int call = 0; call < CALLS; call++)
		atomic_fetch_or(&code, tcbrt_execute_thread(seat->job->plan, seat->job->operand, seat->job->workspace,
							    seat->thread, THREADS));
	while (atomic_load(&may_begin)) /* to end would be a system call */
		;
	return NULL;
}

/* In a process of its own: it ends with FINE, or by the signal of a forbidden call. */
static void be_quiet(const struct tcbrt_query *query, unsigned threads, int breaks_it)
{
	struct seat seat[THREADS];
	struct tcbrt_tuning tuning;
	struct job job;
	pthread_t thread;

	job_init(&job, query, threads);
	atomic_store(&may_begin, 0);
	for (unsigned t = 1; t < threads; t++) {
		seat[t] = (struct seat){ &job, t };
		if (pthread_create(&thread, NULL, take_seat, &seat[t]) != 0)
			_exit(WRONG);
	}
	while (atomic_load(&started) + 1u < threads) /* a thread's beginning has system calls */
		;
	if (!forbid_system_calls())
		_exit(WRONG);
	atomic_store(&may_begin, 1);
	for (int call = 0; call < CALLS; call++)
		atomic_fetch_or(&code, threads > 1
					       ? tcbrt_execute_thread(job.plan, job.operand, job.workspace, 0, threads)
					       : tcbrt_execute(job.plan, job.operand, job.workspace, NULL));
	for (int lookup = 0; lookup < LOOKUPS; lookup++)
		atomic_fetch_or(&code, tcbrt_lookup(job.rt, query, &tuning));
	if (breaks_it)
		(void)getppid();
	_exit(atomic_load(&code) == TCBRT_OK ? FINE : WRONG);
}

static int run_quietly(const struct tcbrt_query *query, unsigned threads, int breaks_it)
{
	int state;
	const pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		be_quiet(query, threads, breaks_it);
	assert_int_equal(waitpid(child, &state, 0), child);
	return state;
}

static void nothing_is_asked_of_the_kernel(void **state)
{
	(void)state;
	if (!COUNTS_MALLOC)
		skip_because("sanitizers make system calls");
	const int broken = run_quietly(&queries[0], 1, 1);
	if (WIFEXITED(broken) && WEXITSTATUS(broken) == WRONG)
		skip_because("seccomp filters are not allowed here");
	assert_true(WIFSIGNALED(broken) && WTERMSIG(broken) == SIGSYS);
	for (size_t q = 0; q < sizeof(queries) / sizeof(*queries); q++)
		for (unsigned threads = 1; threads <= THREADS; threads++) {
			const int ended = run_quietly(&queries[q], threads, 0);

			if (!WIFEXITED(ended) || WEXITSTATUS(ended) != FINE)
				fail_msg("%s on %u threads ended with status 0x%x", queries[q].op, threads, ended);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_allocated),
		cmocka_unit_test(nothing_is_asked_of_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
