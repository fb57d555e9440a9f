/* SPDX-License-Identifier: MIT
 *
 * The measured cache of a device, in and out, and into another file.
 */
#include "cmocka_all.h"

#include "db/known_cache.h"
#include "db_fixture.h"

static const char KEY[] = "0123456789abcdef";

static void expect(struct tcb_db *db, const char *key, unsigned threads, size_t bytes, int is_sure)
{
	struct tcb_known_cache cache;
	assert_int_equal(tcb_db_cache_get(db, key, threads, &cache, NULL), TCB_OK);
	assert_int_equal(cache.bytes, bytes);
	assert_int_equal(cache.is_sure, is_sure);
}

static void newest_of_each(void **state)
{
	struct fixture fixture;
	struct tcb_db *db;
	const struct tcb_known_cache one = { 48 << 20, 0 }, two = { 96 << 20, 1 }, none = { 0, 1 };
	(void)state;
	fixture_init(&fixture);
	assert_int_equal(tcb_db_open(fixture.path, TCB_DB_WRITE, &db, NULL), TCB_OK);
	expect(db, KEY, 1, 0, 0);
	assert_int_equal(tcb_db_cache_put(db, KEY, 1, &one, NULL), TCB_OK);
	assert_int_equal(tcb_db_cache_put(db, KEY, 2, &two, NULL), TCB_OK);
	expect(db, KEY, 1, 48 << 20, 0);
	expect(db, KEY, 2, 96 << 20, 1);
	expect(db, "fedcba9876543210", 1, 0, 0);
	assert_int_equal(tcb_db_cache_put(db, KEY, 1, &two, NULL), TCB_OK);
	expect(db, KEY, 1, 96 << 20, 1);
	assert_int_not_equal(tcb_db_cache_put(db, KEY, 1, &none, NULL), TCB_OK);
	expect(db, KEY, 1, 96 << 20, 1);
	tcb_db_close(db);
	/* It is kept. */
	assert_int_equal(tcb_db_open(fixture.path, TCB_DB_READ, &db, NULL), TCB_OK);
	expect(db, KEY, 1, 96 << 20, 1);
	tcb_db_close(db);
	fixture_fini(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(newest_of_each) };

	return cmocka_run_group_tests_name("db.known_cache", tests, NULL, NULL);
}
