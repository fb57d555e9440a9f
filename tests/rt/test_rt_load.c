/* SPDX-License-Identifier: MIT
 *
 * test_rt_load LIBRARY: a program that does not link libtcbrt opens, uses and
 * closes it again and again: no thread is left, and it can be unloaded.
 */
#include "cmocka_all.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <tcbrt.h>

enum { ROUNDS = 8 };

static const char *library;

static size_t count_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	size_t count = 0;

	assert_non_null(tasks);
	for (const struct dirent *entry; (entry = readdir(tasks));)
		count += entry->d_name[0] != '.';
	closedir(tasks);
	return count;
}

static void *find(void *handle, const char *name)
{
	void *symbol = dlsym(handle, name);

	if (!symbol)
		fail_msg("%s", dlerror());
	return symbol;
}

static void use(void *handle)
{
	int (*open_empty)(struct tcbrt **, struct tcbrt_error *) = find(handle, "tcbrt_open_empty");
	int (*lookup)(const struct tcbrt *, const struct tcbrt_query *, struct tcbrt_tuning *) =
		find(handle, "tcbrt_lookup");
	int (*create)(const struct tcbrt *, const struct tcbrt_query *, struct tcbrt_plan **, struct tcbrt_error *) =
		find(handle, "tcbrt_plan_create");
	int (*pool_create)(unsigned, struct tcbrt_pool **, struct tcbrt_error *) = find(handle, "tcbrt_pool_create");
	void (*pool_destroy)(struct tcbrt_pool *) = find(handle, "tcbrt_pool_destroy");
	void (*destroy)(struct tcbrt_plan *) = find(handle, "tcbrt_plan_destroy");
	void (*close)(struct tcbrt *) = find(handle, "tcbrt_close");
	const struct tcbrt_query query = { .op = "softmax", .threads = 2, .m = 4, .n = 100 };
	struct tcbrt_tuning tuning;
	struct tcbrt_plan *plan;
	struct tcbrt_pool *pool;
	struct tcbrt *rt;

	assert_int_equal(open_empty(&rt, NULL), TCBRT_OK);
	assert_int_equal(lookup(rt, &query, &tuning), TCBRT_OK);
	assert_int_equal(create(rt, &query, &plan, NULL), TCBRT_OK);
	assert_int_equal(pool_create(3, &pool, NULL), TCBRT_OK);
	pool_destroy(pool);
	destroy(plan);
	close(rt);
}

static void loaded_and_unloaded(void **state)
{
	const size_t threads = count_threads();

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

		if (!handle)
			fail_msg("%s", dlerror());
		use(handle);
		assert_int_equal(dlclose(handle), 0);
		assert_int_equal(count_threads(), threads);
		assert_null(dlopen(library, RTLD_NOW | RTLD_NOLOAD));
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(loaded_and_unloaded) };

	library = argc > 1 ? argv[1] : "libtcbrt.so.0";
	return cmocka_run_group_tests_name("rt.rt_load", tests, NULL, NULL);
}
