/* SPDX-License-Identifier: MIT
 *
 * One plan and many that execute it: sixteen threads each for itself, a gang of
 * sixteen, and the children of a process with threads and a pool.  All get what
 * one thread alone gets.
 */
#include "cmocka_all.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/op.h"
#include "rt/rt_plan.h"
#include "tcbrt.h"

enum { THREADS = 16, CALLS = 8, SECONDS = 60 };

static struct tcbrt *rt;
static struct tcbrt_plan *plan;
static struct tcbrt_plan_info info;
static void *inputs[TCBRT_OPERANDS_MAX], *expected;

static void *room(size_t bytes)
{
	const size_t whole = (bytes + TCBRT_ALIGNMENT) / TCBRT_ALIGNMENT * TCBRT_ALIGNMENT;
	void *at = aligned_alloc(TCBRT_ALIGNMENT, whole);

	assert_non_null(at);
	memset(at, 0, whole);
	return at;
}

static size_t output_bytes(void)
{
	return info.operand[info.output].bytes;
}

/* What one execution writes to. */
struct own {
	void *operand[TCBRT_OPERANDS_MAX], *workspace;
};

static struct own own_init(void)
{
	struct own own;

	memcpy(own.operand, inputs, sizeof(inputs));
	own.operand[info.output] = room(output_bytes());
	own.workspace = room(info.workspace_bytes);
	assert_int_equal(tcbrt_workspace_init(plan, own.workspace), TCBRT_OK);
	return own;
}

static void own_fini(struct own *own)
{
	free(own->operand[info.output]);
	free(own->workspace);
}

static int is_expected(const struct own *own)
{
	return memcmp(own->operand[info.output], expected, output_bytes()) == 0;
}

static int setup(void **state)
{
	const struct tcbrt_query query = { .op = "q4k_matvec", .threads = 2, .m = 1, .n = 96, .k = 512 };
	void *stored[TCBRT_OPERANDS_MAX];
	struct own own;

	(void)state;
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	assert_int_equal(tcbrt_plan_create(rt, &query, &plan, NULL), TCBRT_OK);
	assert_int_equal(tcbrt_plan_info(plan, &info), TCBRT_OK);
	for (size_t i = 0; i < info.operand_count; i++)
		stored[i] = inputs[i] = room(info.operand[i].bytes);
	plan->problem.op->fill(&plan->problem, 1, stored);
	if (info.packed_bytes) {
		inputs[info.weights] = room(info.packed_bytes);
		assert_int_equal(tcbrt_pack(plan, stored[info.weights], inputs[info.weights]), TCBRT_OK);
		free(stored[info.weights]);
	}
	expected = inputs[info.output];
	own = own_init();
	assert_int_equal(tcbrt_execute(plan, own.operand, own.workspace, NULL), TCBRT_OK);
	memcpy(expected, own.operand[info.output], output_bytes());
	own_fini(&own);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < info.operand_count; i++)
		free(inputs[i]);
	tcbrt_plan_destroy(plan);
	tcbrt_close(rt);
	return 0;
}

static atomic_int wrong;
static struct own shared;

static void *execute_alone(void *unused)
{
	struct own own = own_init();

	for (int call = 0; call < CALLS; call++) {
		memset(own.operand[info.output], 0xff, output_bytes());
		wrong += tcbrt_execute(plan, own.operand, own.workspace, NULL) != TCBRT_OK || !is_expected(&own);
	}
	own_fini(&own);
	return unused;
}

static void *take_seat(void *number)
{
	for (int call = 0; call < CALLS; call++)
		wrong += tcbrt_execute_thread(plan, shared.operand, shared.workspace, *(const unsigned *)number,
					      THREADS) != TCBRT_OK;
	return NULL;
}

static void run_threads(void *(*run)(void *number))
{
	pthread_t threads[THREADS];
	unsigned numbers[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		numbers[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, run, &numbers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(wrong, 0);
}

static void each_for_itself(void **state)
{
	(void)state;
	run_threads(execute_alone);
}

static void a_gang(void **state)
{
	(void)state;
	shared = own_init();
	run_threads(take_seat);
	assert_true(is_expected(&shared));
	own_fini(&shared);
}

/* ---- after fork ---- */

static int look_up_and_execute(struct tcbrt_pool *pool)
{
	const struct tcbrt_query query = { .op = "softmax", .m = 4, .n = 100 };
	struct tcbrt_tuning tuning;
	struct tcbrt_plan *other;
	struct own own = own_init();
	int fine = tcbrt_lookup(rt, &query, &tuning) == TCBRT_OK &&
		   tcbrt_plan_create(rt, &query, &other, NULL) == TCBRT_OK;

	if (fine)
		tcbrt_plan_destroy(other);
	fine &= tcbrt_execute(plan, own.operand, own.workspace, pool) == TCBRT_OK && is_expected(&own);
	memset(own.operand[info.output], 0, output_bytes());
	fine &= tcbrt_execute_thread(plan, own.operand, own.workspace, 0, 1) == TCBRT_OK && is_expected(&own);
	own_fini(&own);
	return fine;
}

/* The child may use all that its parent made; its parent's pool is then one thread. */
static void expect_child(struct tcbrt_pool *pool)
{
	int status;
	const pid_t child = fork();

	if (child == 0) {
		alarm(SECONDS);
		int fine = look_up_and_execute(pool);
		tcbrt_pool_destroy(pool);
		_exit(fine ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void children_of_a_pool(void **state)
{
	struct tcbrt_pool *pool;

	(void)state;
	assert_int_equal(tcbrt_pool_create(3, &pool, NULL), TCBRT_OK);
	expect_child(pool); /* its threads sleep or spin */
	assert_true(look_up_and_execute(pool));
	expect_child(pool);
	assert_true(look_up_and_execute(pool));
	tcbrt_pool_destroy(pool);
}

static atomic_int must_stop;

static void *keep_on(void *unused)
{
	struct tcbrt_pool *pool;

	wrong += tcbrt_pool_create(2, &pool, NULL) != TCBRT_OK;
	while (!must_stop)
		wrong += !look_up_and_execute(pool);
	tcbrt_pool_destroy(pool);
	return unused;
}

static void children_of_threads(void **state)
{
	struct tcbrt_pool *pool;
	pthread_t threads[2];

	(void)state;
	assert_int_equal(tcbrt_pool_create(2, &pool, NULL), TCBRT_OK);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, keep_on, NULL), 0);
	for (int i = 0; i < CALLS; i++)
		expect_child(pool);
	must_stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	tcbrt_pool_destroy(pool);
	assert_int_equal(wrong, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(each_for_itself), cmocka_unit_test(a_gang),
					    cmocka_unit_test(children_of_a_pool),
					    cmocka_unit_test(children_of_threads) };

	if (argc > 1)
		cmocka_set_skip_filter(argv[1]);
	return cmocka_run_group_tests_name("rt.rt_share", tests, setup, teardown);
}
