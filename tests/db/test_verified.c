/* SPDX-License-Identifier: MIT
 *
 * What was verified, in and out: the newest result of each claim and device.
 */
#include "cmocka_all.h"

#include "base/util.h"
#include "db/verified.h"
#include "db_fixture.h"

static struct tcb_verified_run run_of(const char *device)
{
	struct tcb_verified_run run = { .device_key = "0123456789abcdef", .measured_at = "2026-01-01T00:00:00.000Z" };
	snprintf(run.device, sizeof run.device, "%s", device);
	return run;
}

static int collect(void *ctx, const struct tcb_verified_run *run, const struct tcb_verified *row)
{
	tcb_str_addf(ctx, "%s %s %s %s;", run->device, row->id, row->result, row->evidence);
	return 0;
}

static void expect(struct tcb_db *db, const char *text)
{
	struct tcb_str out = { 0 };
	assert_int_equal(tcb_db_verified_each(db, collect, &out, NULL), TCB_OK);
	assert_string_equal(out.data ? out.data : "", text);
	tcb_str_fini(&out);
}

static void newest_of_each(void **state)
{
	struct fixture fixture;
	struct tcb_db *db;
	const struct tcb_verified_run cpu = run_of("cpu"), gpu = run_of("cuda:0");
	const struct tcb_verified first[] = { { "F302", "PASS", "1", "c", 0.5 }, { "F301", "FAIL", "2", "c", 0 } };
	const struct tcb_verified second = { "F301", "REFUTED CLAIM", "3", "c", 1 };
	const struct tcb_verified bad[] = { { "F310", "PASS", "4", "", 0 }, { "F311", "MAYBE", "5", "", 0 } };
	(void)state;
	fixture_init(&fixture);
	assert_int_equal(tcb_db_open(fixture.path, TCB_DB_WRITE, &db, NULL), TCB_OK);
	expect(db, "");
	assert_int_equal(tcb_db_verified_put(db, &cpu, first, 2, NULL), TCB_OK);
	assert_int_equal(tcb_db_verified_put(db, &gpu, &second, 1, NULL), TCB_OK);
	expect(db, "cpu F301 FAIL 2;cpu F302 PASS 1;cuda:0 F301 REFUTED CLAIM 3;");
	assert_int_equal(tcb_db_verified_put(db, &cpu, &second, 1, NULL), TCB_OK);
	expect(db, "cpu F301 REFUTED CLAIM 3;cpu F302 PASS 1;cuda:0 F301 REFUTED CLAIM 3;");
	/* all or nothing */
	assert_int_not_equal(tcb_db_verified_put(db, &cpu, bad, 2, NULL), TCB_OK);
	expect(db, "cpu F301 REFUTED CLAIM 3;cpu F302 PASS 1;cuda:0 F301 REFUTED CLAIM 3;");
	tcb_db_close(db);
	fixture_fini(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(newest_of_each) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
