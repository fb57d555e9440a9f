/* SPDX-License-Identifier: MIT
 *
 * The reader of recorded spaces on small files of both kinds, each with one of
 * the things that real files do beside their schema; and our own trials.
 */
#include <math.h>
#include <string.h>

#include "cmocka_all.h"
#include "search/replay/recorded.h"

static struct tcb_recorded space;
static struct tcb_error err;

static enum tcb_status parse(const char *text)
{
	return tcb_recorded_parse(text, strlen(text), "here", &space, &err);
}

static void assert_value(size_t index, double value)
{
	assert_true(fabs(space.value[index] - value) < 1e-9 || (isinf(value) && isinf(space.value[index])));
}

#define CONFIGURATION(x, word) "{\"configuration\":{\"x\":" x ",\"same\":7,\"word\":\"" word "\"},"
#define T4_OK(x, word, time, unit)                                                                                   \
	CONFIGURATION(x, word)                                                                                       \
	"\"times\":{\"compilation\":10,\"framework\":2,\"search_algorithm\":0,\"validation\":3,\"runtimes\":[1,1.5," \
	"2]},\"invalidity\":\"correct\",\"measurements\":[{\"name\":\"time\",\"value\":" time ",\"unit\":\"" unit    \
	"\"}]}"

static void test_t4(void **state)
{
	(void)state;
	assert_int_equal(
		parse("{\"metadata\":{\"timeunit\":\"miliseconds\"},\"results\":[" T4_OK(
			"16", "a", "4.5",
			"") "," T4_OK("2", "b", "0.004",
				      "seconds") "," CONFIGURATION("4",
								   "a") "\"times\":{\"compilation_time\":5},"
									"\"invalidity\":\"compile\",\"measurements\":"
									"[{\"name\":\"time\",\"value\":"
									"\"CompilationFailedConfig\"}]}],"
									"\"schema_version\":\"1.0.0\"}"),
		TCB_OK);
	assert_int_equal(space.lattice.count, 3);
	assert_int_equal(space.lattice.fields, 2); /* x and word; same never varies */
	assert_int_equal(space.valid, 2);
	assert_value(0, 4.5);
	assert_value(1, 4);
	assert_value(2, INFINITY);
	assert_true(space.price[0] == 19.5); /* with the runs, which times leave out */
	assert_true(space.price[2] == 5);
	assert_int_equal(space.lattice.coordinate[0], 2); /* 2 < 4 < 16 */
	assert_int_equal(tcb_lattice_distance(&space.lattice, 0, 1), 3);
	assert_int_equal(space.lattice.named[0], 0);
	assert_int_equal(space.lattice.named[1], 1);
	tcb_recorded_fini(&space);
}

#define CACHE_HEAD                                                                                              \
	"{\"device_name\":\"\",\"tune_params_keys\":[\"x\",\"y\"],\"tune_params\":{\"x\":[1,2],\"y\":[5,6,7]}," \
	"\"cache\":{"
#define CACHE_ROW(x, time)                                                                                \
	"\"" x ",5\":{\"x\":" x ",\"y\":5,\"time\":" time ",\"times\":[3,4],\"compile_time\":20,"         \
	"\"verification_time\":0,\"benchmark_time\":9,\"strategy_time\":0,\"framework_time\":1,\"note\":" \
	"\"}]\\\"}\"}"

static void test_cache(void **state)
{
	(void)state;
	assert_int_equal(
		parse(CACHE_HEAD CACHE_ROW("1", "3.5") "," CACHE_ROW("2", "\"RuntimeFailedConfig\"") "," CACHE_ROW(
			"4", "1e20") "," CACHE_ROW("8", "NaN") "," CACHE_ROW("9", "-Infinity") "}}"),
		TCB_OK);
	assert_int_equal(space.lattice.count, 5);
	assert_int_equal(space.valid, 1);
	assert_value(0, 3.5);
	for (size_t i = 1; i < 5; i++)
		assert_value(i, INFINITY);
	assert_true(space.price[0] == 30); /* benchmark_time has the runs */
	tcb_recorded_fini(&space);
}

/* Without closing brackets, all that there is counts, and it is said that they are missing. */
static void test_open_files(void **state)
{
	static const char *const ENDS[] = { "}}", "}", "", ",", ",\n" };
	(void)state;
	for (size_t i = 0; i < sizeof ENDS / sizeof *ENDS; i++) {
		char text[1024];
		(void)snprintf(text, sizeof text, "%s%s,%s%s", CACHE_HEAD, CACHE_ROW("1", "3.5"), CACHE_ROW("2", "4"),
			       ENDS[i]);
		assert_int_equal(parse(text), TCB_OK);
		assert_int_equal(space.valid, 2);
		assert_int_equal(space.lattice.count, 2);
		assert_int_equal(space.legal, 2 * 3); /* of tune_params */
		assert_int_equal(space.is_open, i > 0);
		tcb_recorded_fini(&space);
	}
	assert_int_equal(parse("{\"results\":[" T4_OK("1", "a", "4", "ms") ",\n"), TCB_OK);
	assert_true(space.is_open && space.lattice.count == 1 && space.legal == 0);
	tcb_recorded_fini(&space);
}

/* Parameters in the key only, words among them. */
static void test_keys(void **state)
{
	(void)state;
	assert_int_equal(parse("{\"tune_params_keys\":[\"x\",\"y\"],\"cache\":{\"32,fast\":{\"time\":2},"
			       "\"4,slow\":{\"time\":3}}}"),
			 TCB_OK);
	assert_int_equal(space.lattice.fields, 2);
	assert_int_equal(space.lattice.coordinate[0], 1);
	assert_int_equal(space.lattice.coordinate[2], 0);
	assert_int_equal(space.lattice.named[1], 1);
	tcb_recorded_fini(&space);
}

static void assert_refused(const char *text, enum tcb_status status, const char *why)
{
	memset(&err, 0, sizeof err);
	assert_int_equal(parse(text), status);
	if (!strstr(err.message, why))
		fail_msg("'%s' does not say '%s'", err.message, why);
	assert_non_null(strstr(err.message, "here"));
	tcb_recorded_fini(&space); /* nothing is left */
}

static void test_refused(void **state)
{
	(void)state;
	assert_refused("", TCB_E_NOT_FOUND, "not a JSON object");
	assert_refused("MIT License", TCB_E_NOT_FOUND, "not a JSON object");
	assert_refused("{\"ConfigurationSpace\":{}}", TCB_E_NOT_FOUND, "neither");
	assert_refused("{\"results\":[}]}", TCB_E_FORMAT, "is damaged: line 1");
	assert_refused("{\"results\":[]}", TCB_E_FORMAT, "no configurations");
	assert_refused("{\"results\":[{\"times\":{}}]}", TCB_E_FORMAT, "no parameters");
	assert_refused("{\"cache\":{\"1\":{}}}", TCB_E_FORMAT, "without tune_params_keys");
	assert_refused("{\"cache\":{\"1\":{}},\"tune_params_keys\":[1]}", TCB_E_FORMAT, "is not a name");
	assert_refused("{\"cache\":{\"1\":{}},\"tune_params_keys\":[\"x\",\"y\"]}", TCB_E_FORMAT,
		       "configuration 1 has no value for y");
	assert_refused("{\"results\":[" T4_OK("1", "a", "4", "ms") ",{\"configuration\":{\"x\":[1]}}]}", TCB_E_FORMAT,
		       "configuration 2 has no value for x");
}

/* What ends in the middle of anything is refused, whatever there is before it. */
static void test_cut_files(void **state)
{
	static const char *const CUT[] = { ",\"3,5\":{\"x\":3,\"y\":",
					   ",\"3,5\":{\"x\":3,\"y\":5,\"time\":\"Runt",
					   ",\"3,",
					   ",\"3,5\":{",
					   "},\"note",
					   "},\"notes\":[" };
	(void)state;
	for (size_t i = 0; i < sizeof CUT / sizeof *CUT; i++) {
		char text[1024];
		(void)snprintf(text, sizeof text, "%s%s,%s%s", CACHE_HEAD, CACHE_ROW("1", "3.5"), CACHE_ROW("2", "4"),
			       CUT[i]);
		assert_refused(text, TCB_E_FORMAT,
			       "is cut off or damaged after 2 whole configurations: fetch or write");
	}
	assert_refused("{\"results\":[" T4_OK("1", "a", "4", "ms") ",\n" CONFIGURATION("2", "a"), TCB_E_FORMAT,
		       "after 1 whole configuration: fetch");
	assert_refused("{\"results\":[", TCB_E_FORMAT, "cut off or damaged after 0 whole configurations");
	assert_refused("{\"results\":[}", TCB_E_FORMAT, "cut off or damaged after 0 whole configurations");
}

/* Values are those of screening, the finals' where there is no other; of one state at a time. */
static void test_trials(void **state)
{
	const double samples[] = { 1e6, NAN, 3e6 };
	const struct tcb_measurement screen = { .state = TCB_COLD,
						.stage = TCB_STAGE_SCREEN,
						.ns = { 2e6, 1e6, 3e6 },
						.sample_count = 3,
						.samples = samples };
	struct tcb_measurement both[2] = { screen, screen }, final = screen;
	struct tcb_trial trials[4] = { 0 };
	(void)state;
	both[1].stage = final.stage = TCB_STAGE_FINAL;
	both[1].ns.median = 5e6;
	final.ns.median = 7e6;
	for (size_t i = 0; i < 4; i++) {
		tcb_geometry_init(&trials[i].geometry);
		trials[i].geometry.tile[TCB_MIDI] = (struct tcb_tile){ 1, i + 1, 8 };
		trials[i].measurements = i == 1 ? &final : both;
		trials[i].measurement_count = i == 1 ? 1 : 2;
	}
	trials[2].outcome = TCB_OUTCOME_WRONG;
	trials[2].prepare_ns = 7e6; /* it did not come to an end, so what verifying took is unknown */
	trials[2].verify_ns = NAN;
	trials[1].prepare_ns = 1e6;
	trials[1].verify_ns = 2e6;
	trials[3].measurement_count = 0;
	trials[3].prepare_ns = trials[3].verify_ns = NAN;
	assert_int_equal(tcb_recorded_trials(trials, 4, TCB_COLD, "ours", &space, &err), TCB_OK);
	assert_string_equal(space.name, "ours");
	assert_int_equal(space.valid, 2);
	assert_int_equal(space.lattice.fields, 1);
	assert_value(0, 2e6);
	assert_value(1, 7e6);
	assert_value(2, INFINITY);
	assert_value(3, INFINITY);
	assert_true(space.price[0] == space.price[3] + 4e6);
	assert_true(space.price[1] == 3e6 && space.price[2] == 7e6 + 4e6 && space.price[3] > 1e6);
	tcb_recorded_fini(&space);
	assert_int_equal(tcb_recorded_trials(trials, 4, TCB_HOT, "ours", &space, &err), TCB_OK);
	assert_int_equal(space.valid, 0);
	tcb_recorded_fini(&space);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_t4),        cmocka_unit_test(test_cache), cmocka_unit_test(test_open_files),
		cmocka_unit_test(test_cut_files), cmocka_unit_test(test_keys),  cmocka_unit_test(test_refused),
		cmocka_unit_test(test_trials),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
