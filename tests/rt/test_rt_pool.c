/* SPDX-License-Identifier: MIT
 *
 * Where a pool's threads are: one per core of the creating thread's mask, never
 * outside of it, never on the caller's core, whose affinity stays as it is; the
 * order of processors by recorded machines; the caller's own work on a pool; and
 * which operand an execution refuses.
 */
#include "cmocka_all.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rt/rt_plan.h"
#include "rt/rt_pool.h"
#include "tcbrt.h"

enum { TASKS = 100, CPUS_MAX = 8 };

/* ---- the order of processors ---- */

/* "CPU PACKAGE CAPACITY SIBLINGS" for each processor, capacity 0: the kernel does not tell. */
struct machine {
	const char *name;
	const char *cpus[CPUS_MAX + 1];
	const char *allowed, *order; /* lists of digits */
};

static const struct machine machines[] = {
	{ "one processor", { "0 0 0 0" }, "0", "0" },
	{ "two cores", { "0 0 0 0", "1 0 0 1" }, "01", "01" },
	{ "siblings beside each other", { "0 0 0 0-1", "1 0 0 0-1", "2 0 0 2-3", "3 0 0 2-3" }, "0123", "0213" },
	{ "siblings far apart", { "0 0 0 0,2", "1 0 0 1,3", "2 0 0 0,2", "3 0 0 1,3" }, "0123", "0123" },
	{ "a mask of second threads", { "0 0 0 0,2", "1 0 0 1,3", "2 0 0 0,2", "3 0 0 1,3" }, "23", "23" },
	{ "a mask of one core and a half", { "0 0 0 0,2", "1 0 0 1,3", "2 0 0 0,2", "3 0 0 1,3" }, "023", "032" },
	{ "packages numbered in turn", { "0 0 0 0", "1 1 0 1", "2 0 0 2", "3 1 0 3" }, "0123", "0213" },
	{ "powerful cores last", { "0 0 400 0", "1 0 400 1", "2 0 1024 2", "3 0 1024 3" }, "0123", "2301" },
	{ "processors 1 and 2 offline", { "0 0 0 0", "3 0 0 3" }, "03", "03" },
	{ "a kernel that tells nothing", { NULL }, "012", "012" },
};

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_non_null(file = fopen(path, "w"));
	fprintf(file, "%s\n", text);
	fclose(file);
}

static void make_machine(const struct machine *machine, const char *root)
{
	for (size_t i = 0; machine->cpus[i]; i++) {
		char folder[256], below[280], cpu[4], package[4], capacity[8], siblings[16];

		assert_int_equal(sscanf(machine->cpus[i], "%3s %3s %7s %15s", cpu, package, capacity, siblings), 4);
		snprintf(folder, sizeof(folder), "%s/cpu%s", root, cpu);
		snprintf(below, sizeof(below), "%s/topology", folder);
		assert_int_equal(mkdir(folder, 0700), 0);
		assert_int_equal(mkdir(below, 0700), 0);
		write_file(below, "physical_package_id", package);
		write_file(below, "thread_siblings_list", siblings);
		if (strcmp(capacity, "0") != 0)
			write_file(folder, "cpu_capacity", capacity);
	}
}

static void processors_are_in_order(void **state)
{
	(void)state;
	for (size_t m = 0; m < sizeof(machines) / sizeof(*machines); m++) {
		char root[] = "/tmp/test_rt_pool.XXXXXX", command[64], order[CPUS_MAX + 1] = "";
		struct rt_processor all[RT_PROCESSORS_MAX];
		cpu_set_t allowed;
		unsigned count;

		assert_non_null(mkdtemp(root));
		make_machine(&machines[m], root);
		CPU_ZERO(&allowed);
		for (const char *cpu = machines[m].allowed; *cpu; cpu++)
			CPU_SET(*cpu - '0', &allowed);
		count = rt_processors(root, &allowed, all);
		rt_processors_order(root, all, count);
		for (unsigned i = 0; i < count; i++)
			order[i] = (char)('0' + all[i].cpu);
		snprintf(command, sizeof(command), "rm -r %s", root);
		assert_int_equal(system(command), 0);
		if (strcmp(order, machines[m].order) != 0)
			fail_msg("%s: %s and not %s", machines[m].name, order, machines[m].order);
	}
}

/* ---- pinning ---- */

struct places {
	cpu_set_t of[TASKS];
	atomic_uint missing; /* threads that have not come yet */
};

static cpu_set_t affinity(void)
{
	cpu_set_t set;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	return set;
}

static void bind_to(const cpu_set_t *set)
{
	assert_int_equal(sched_setaffinity(0, sizeof(*set), set), 0);
}

/* Each thread has one of as many tasks as there are threads: none ends before all have begun. */
static void tell_place(void *ctx, size_t task, unsigned thread)
{
	struct places *places = ctx;

	(void)task;
	atomic_fetch_sub(&places->missing, 1);
	while (atomic_load(&places->missing))
		sched_yield();
	sched_getaffinity(0, sizeof(places->of[thread]), &places->of[thread]);
}

static void find_places(struct tcbrt_pool *pool, unsigned threads, struct places *places)
{
	assert_int_equal(tcbrt_pool_threads(pool), threads);
	atomic_store(&places->missing, threads);
	assert_int_equal(tcbrt_pool_run(pool, threads, tell_place, places), TCBRT_OK);
}

static int only(const cpu_set_t *set)
{
	if (CPU_COUNT(set) != 1)
		return -1;
	for (int cpu = 0;; cpu++)
		if (CPU_ISSET((size_t)cpu, set))
			return cpu;
}

/* Every worker of POOL has a processor of ALLOWED for itself. */
static void check_places(struct tcbrt_pool *pool, unsigned threads, const cpu_set_t *allowed)
{
	struct places places;
	cpu_set_t taken;

	find_places(pool, threads, &places);
	assert_true(CPU_EQUAL(&places.of[0], allowed));
	CPU_ZERO(&taken);
	for (unsigned t = 1; t < threads; t++) {
		const int cpu = only(&places.of[t]);

		assert_true(cpu >= 0 && CPU_ISSET((size_t)cpu, allowed));
		assert_false(CPU_ISSET((size_t)cpu, &taken));
		CPU_SET((size_t)cpu, &taken);
	}
}

/* Masks of the first processor, the first two and all that there are. */
static void workers_have_processors_of_their_own(void **state)
{
	const cpu_set_t before = affinity();
	const unsigned all = (unsigned)CPU_COUNT(&before);

	(void)state;
	for (unsigned size = 1; size <= all; size = size < 2 ? 2 : size < all ? all : all + 1) {
		struct tcbrt_pool *pool;
		struct places places;
		cpu_set_t mask;

		CPU_ZERO(&mask);
		for (size_t cpu = 0; (unsigned)CPU_COUNT(&mask) < size; cpu++)
			if (CPU_ISSET(cpu, &before))
				CPU_SET(cpu, &mask);
		bind_to(&mask);
		const unsigned threads = size < TASKS ? size : TASKS;
		assert_int_equal(tcbrt_pool_create(threads, &pool, NULL), TCBRT_OK);
		check_places(pool, threads, &mask);
		tcbrt_pool_destroy(pool);
		/* One thread more than processors: none is pinned. */
		assert_int_equal(tcbrt_pool_create(size + 1, &pool, NULL), TCBRT_OK);
		if (size < TASKS) {
			find_places(pool, size + 1, &places);
			for (unsigned t = 0; t <= size; t++)
				assert_true(CPU_EQUAL(&places.of[t], &mask));
		}
		tcbrt_pool_destroy(pool);
		cpu_set_t after = affinity();
		assert_true(CPU_EQUAL(&after, &mask));
		bind_to(&before);
	}
}

static void unpinned_is_unpinned(void **state)
{
	const cpu_set_t before = affinity();
	struct places places;
	struct tcbrt_pool *pool;

	(void)state;
	assert_int_equal(tcbrt_pool_create_flags(2, TCBRT_POOL_UNPINNED, &pool, NULL), TCBRT_OK);
	find_places(pool, 2, &places);
	assert_true(CPU_EQUAL(&places.of[1], &before));
	tcbrt_pool_destroy(pool);
}

/* The caller goes from one processor to the other; the worker is on the one that it left. */
static void workers_make_way_for_the_caller(void **state)
{
	const cpu_set_t before = affinity();
	struct rt_processor all[RT_PROCESSORS_MAX];
	const unsigned count = rt_processors(RT_SYSFS_CPUS, &before, all);
	struct places places;
	struct tcbrt_pool *pool;

	(void)state;
	if (count < 2)
		skip_because("one processor: there is nowhere to go");
	rt_processors_order(RT_SYSFS_CPUS, all, count);
	assert_int_equal(tcbrt_pool_create(2, &pool, NULL), TCBRT_OK);
	for (int round = 0; round < 6; round++) {
		const int here = all[round % 2].cpu, there = all[(round + 1) % 2].cpu;
		cpu_set_t mask;

		CPU_ZERO(&mask);
		CPU_SET((size_t)here, &mask);
		bind_to(&mask);
		find_places(pool, 2, &places);
		assert_int_equal(only(&places.of[1]), there);
		assert_int_equal(only(&places.of[0]), here);
	}
	bind_to(&before);
	tcbrt_pool_destroy(pool);
}

static void flags_are_checked(void **state)
{
	struct tcbrt_pool *pool;
	struct tcbrt_error err;

	(void)state;
	assert_int_equal(tcbrt_pool_create_flags(2, 2, &pool, &err), TCBRT_E_USAGE);
	assert_null(pool);
	assert_non_null(strstr(err.message, "unknown flags 0x2"));
	assert_int_equal(tcbrt_pool_create_flags(0, 0, &pool, &err), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_pool_create_flags(2, 0, NULL, &err), TCBRT_E_USAGE);
}

/* ---- the caller's own work ---- */

static void count_task(void *ctx, size_t task, unsigned thread)
{
	unsigned *counts = ctx;

	(void)thread;
	counts[task]++;
}

static void own_work_runs_once(void **state)
{
	struct tcbrt_pool *pools[3] = { NULL };

	(void)state;
	assert_int_equal(tcbrt_pool_threads(NULL), 1);
	for (unsigned threads = 1; threads < 3; threads++)
		assert_int_equal(tcbrt_pool_create(threads, &pools[threads], NULL), TCBRT_OK);
	for (unsigned p = 0; p < 3; p++)
		for (size_t tasks = 0; tasks <= TASKS; tasks += tasks < 3 ? 1 : 97) {
			unsigned counts[TASKS + 1] = { 0 };

			assert_int_equal(tcbrt_pool_run(pools[p], tasks, count_task, counts), TCBRT_OK);
			for (size_t task = 0; task <= TASKS; task++)
				assert_int_equal(counts[task], task < tasks);
		}
	assert_int_equal(tcbrt_pool_run(pools[2], 1, NULL, NULL), TCBRT_E_USAGE);
	for (unsigned threads = 1; threads < 3; threads++)
		tcbrt_pool_destroy(pools[threads]);
}

/* ---- what an execution refuses ---- */

static void bad_operands_are_named(void **state)
{
	const struct tcbrt_query query = { .op = "softmax", .threads = 1, .m = 4, .n = 100 };
	static _Alignas(256) float x[400], y[400];
	static _Alignas(256) char workspace[1 << 16];
	void *operand[] = { x, y };
	struct tcbrt_plan_info info;
	struct tcbrt_plan *plan;
	struct tcbrt_error err;
	struct tcbrt *rt;

	(void)state;
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	assert_int_equal(tcbrt_plan_create(rt, &query, &plan, NULL), TCBRT_OK);
	assert_int_equal(tcbrt_plan_info(plan, &info), TCBRT_OK);
	assert_true(info.workspace_bytes <= sizeof(workspace));
	assert_int_equal(tcbrt_workspace_init(plan, workspace), TCBRT_OK);
	assert_int_equal(tcbrt_execute_check(plan, operand, workspace, &err), TCBRT_OK);
	assert_string_equal(err.message, "");
	operand[1] = NULL;
	assert_int_equal(tcbrt_execute_check(plan, operand, workspace, &err), TCBRT_E_USAGE);
	assert_string_equal(err.message, "operand 1, y, is NULL");
	assert_int_equal(tcbrt_execute(plan, operand, workspace, NULL), TCBRT_E_USAGE);
	operand[1] = y;
	operand[0] = (char *)x + 1;
	assert_int_equal(tcbrt_execute_check(plan, operand, workspace, &err), TCBRT_E_USAGE);
	assert_non_null(strstr(err.message, "operand 0, x, at 0x"));
	assert_non_null(strstr(err.message, "multiple of 4 bytes"));
	operand[0] = x;
	assert_int_equal(tcbrt_execute_check(plan, operand, workspace + 1, &err), TCBRT_E_USAGE);
	assert_non_null(strstr(err.message, "workspace"));
	assert_int_equal(tcbrt_execute_check(plan, operand, NULL, &err), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_execute_check(plan, NULL, workspace, &err), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_execute_check(NULL, operand, workspace, &err), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_execute_check(plan, NULL, workspace, NULL), TCBRT_E_USAGE);
	tcbrt_plan_destroy(plan);
	tcbrt_close(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processors_are_in_order), cmocka_unit_test(workers_have_processors_of_their_own),
		cmocka_unit_test(unpinned_is_unpinned),    cmocka_unit_test(workers_make_way_for_the_caller),
		cmocka_unit_test(flags_are_checked),       cmocka_unit_test(own_work_runs_once),
		cmocka_unit_test(bad_operands_are_named),
	};

	return cmocka_run_group_tests_name("rt.rt_pool", tests, NULL, NULL);
}
