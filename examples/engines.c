/* SPDX-License-Identifier: MIT
 *
 * Engines that share a machine: PROCESSES processes, each with a pool of THREADS
 * threads, multiply by the same quantised weights of their own for SECONDS.
 * Prints how many products per second they come to together.
 *
 *     engines PROCESSES THREADS SECONDS [unpinned]
 *
 * THREADS 1: no pools.
 */
#define _GNU_SOURCE /* clock_gettime */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tcbrt.h>

enum { N = 4096, K = 4096, PROCESSES_MAX = 64 };

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *room(size_t bytes)
{
	const size_t whole = (bytes + TCBRT_ALIGNMENT) / TCBRT_ALIGNMENT * TCBRT_ALIGNMENT;
	void *at = aligned_alloc(TCBRT_ALIGNMENT, whole);

	if (!at)
		exit(1);
	memset(at, 0, whole);
	return at;
}

/* Products in SECONDS from START on, when all processes are ready. */
static unsigned long work(unsigned threads, unsigned flags, double start, double seconds)
{
	struct tcbrt_query query = {
		.op = "q4k_matvec", .threads = threads, .state = TCBRT_HOT, .m = 1, .n = N, .k = K
	};
	struct tcbrt_pool *pool = NULL;
	struct tcbrt_plan_info info;
	struct tcbrt_plan *plan;
	struct tcbrt_error err;
	struct tcbrt *rt;
	unsigned long done = 0;
	void *operand[TCBRT_OPERANDS_MAX], *workspace;

	if (tcbrt_open_empty(&rt, &err) != TCBRT_OK || tcbrt_plan_create(rt, &query, &plan, &err) != TCBRT_OK ||
	    (threads > 1 && tcbrt_pool_create_flags(threads, flags, &pool, &err) != TCBRT_OK)) {
		fprintf(stderr, "%s\n", err.message);
		exit(1);
	}
	tcbrt_plan_info(plan, &info);
	for (size_t i = 0; i < info.operand_count; i++)
		operand[i] =
			room((int)i == info.weights && info.packed_bytes ? info.packed_bytes : info.operand[i].bytes);
	workspace = room(info.workspace_bytes);
	tcbrt_workspace_init(plan, workspace);
	while (now_s() < start)
		usleep(1000);
	for (; now_s() < start + seconds; done++)
		tcbrt_execute(plan, operand, workspace, pool);
	tcbrt_pool_destroy(pool);
	tcbrt_plan_destroy(plan);
	tcbrt_close(rt);
	return done;
}

int main(int argc, char **argv)
{
	unsigned long *counts =
		mmap(NULL, PROCESSES_MAX * sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const unsigned processes = argc > 3 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	const double seconds = argc > 3 ? strtod(argv[3], NULL) : 0, start = now_s() + 1;
	unsigned long all = 0;

	if (processes < 1 || processes > PROCESSES_MAX || counts == MAP_FAILED) {
		fprintf(stderr, "usage: engines PROCESSES THREADS SECONDS [unpinned]\n");
		return 2;
	}
	for (unsigned i = 0; i < processes; i++)
		if (fork() == 0) {
			counts[i] = work((unsigned)strtoul(argv[2], NULL, 10), argc > 4 ? TCBRT_POOL_UNPINNED : 0,
					 start, seconds);
			return 0;
		}
	while (wait(NULL) > 0)
		;
	for (unsigned i = 0; i < processes; i++)
		all += counts[i];
	printf("%.0f products per second\n", (double)all / seconds);
	return 0;
}
