/* SPDX-License-Identifier: MIT
 *
 * In: a T4 file or a cache of Kernel Tuner.  Out: results in the form of T4, one object per configuration, from which
 * either file is made again.  T4 is kept as it is, with whatever it spells its own way; of a
 * cache's record all members are kept: those that T4 has no place for are measurements.
 */
#include "search/replay/recorded_results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "search/replay/recorded.h"

/* Times that a cache's record and T4's have under other names. */
static const struct {
	const char *cache, *t4;
} TIMES[] = {
	{ "compile_time", "compilation_time" }, { "verification_time", "validation" },
	{ "benchmark_time", "benchmark_time" }, { "strategy_time", "search_algorithm" },
	{ "framework_time", "framework" },      { "times", "runtimes" },
};
enum { TIME_COUNT = sizeof TIMES / sizeof *TIMES };

/* What a cache has for the time of a configuration that failed, and T4's word for it. */
static const struct {
	const char *cache, *t4;
} FAILURES[] = {
	{ "InvalidConfig", "constraints" },   { "CompilationFailedConfig", "compile" },
	{ "RuntimeFailedConfig", "runtime" }, { "CorrectnessFailedConfig", "correctness" },
	{ "TimeoutConfig", "timeout" },
};
enum { FAILURE_COUNT = sizeof FAILURES / sizeof *FAILURES };

static const char RIGHT[] = "correct", TIME[] = "time", STAMP[] = "timestamp";

/* --- a cache's record to a result --- */

static const char *failure_of(const json_t *time)
{
	const char *word = json_string_value(time);

	for (size_t i = 0; word && i < FAILURE_COUNT; i++)
		if (!strcmp(FAILURES[i].cache, word))
			return FAILURES[i].t4;
	return isfinite(tcb_recorded_time(time, NULL)) ? RIGHT : "runtime";
}

static int is_time(const char *key)
{
	for (size_t i = 0; i < TIME_COUNT; i++)
		if (!strcmp(TIMES[i].cache, key))
			return 1;
	return 0;
}

static int is_listed(const json_t *names, const char *key)
{
	for (size_t i = 0; i < json_array_size(names); i++)
		if (!strcmp(json_string_value(json_array_get(names, i)), key))
			return 1;
	return 0;
}

static json_t *times_of(const json_t *record)
{
	json_t *times = json_object();

	for (size_t i = 0; i < TIME_COUNT; i++) {
		json_t *value = json_object_get(record, TIMES[i].cache);
		if (value)
			(void)json_object_set(times, TIMES[i].t4, value);
	}
	return times;
}

/* The time first, then whatever else was measured. */
static json_t *measurements_of(json_t *record, const json_t *names)
{
	json_t *list = json_array(), *time = json_object_get(record, TIME);
	const char *key;
	json_t *value;

	(void)json_array_append_new(list, json_pack("{s:s, s:O, s:s}", "name", TIME, "value", time ? time : json_null(),
						    "unit", json_is_number(time) ? "ms" : ""));
	json_object_foreach(record, key, value) if (strcmp(key, TIME) != 0 && strcmp(key, STAMP) != 0 &&
						    !is_time(key) && !is_listed(names, key))(void)
		json_array_append_new(list, json_pack("{s:s, s:O, s:s}", "name", key, "value", value, "unit", ""));
	return list;
}

/* What RECORD, under KEY, has for the parameters NAMES; NULL: it lacks one. */
static json_t *configuration_of(const json_t *record, const char *key, const json_t *names)
{
	json_t *configuration = json_object(), *name;
	size_t i;

	if (!json_object_get(record, json_string_value(json_array_get(names, 0)))) {
		json_decref(configuration);
		return tcb_recorded_from_key(names, key);
	}
	json_array_foreach(names, i, name)
	{
		json_t *value = json_object_get(record, json_string_value(name));
		if (value)
			(void)json_object_set(configuration, json_string_value(name), value);
	}
	return configuration;
}

static enum tcb_status add_record(json_t *list, json_t *record, const char *key, const json_t *names, const char *name,
				  struct tcb_error *err)
{
	if (!json_is_object(record))
		return tcb_fail(err, TCB_E_FORMAT, "%s: its record %.60s is not an object", name, key);
	json_t *configuration = configuration_of(record, key, names);
	if (json_object_size(configuration) != json_array_size(names)) {
		json_decref(configuration);
		return tcb_fail(err, TCB_E_FORMAT, "%s: its record %.60s does not have all parameters", name, key);
	}
	const char *failure = failure_of(json_object_get(record, TIME));
	json_t *result = json_object(), *stamp = json_object_get(record, STAMP);
	if (stamp)
		(void)json_object_set(result, STAMP, stamp);
	(void)json_object_set_new(result, "configuration", configuration);
	(void)json_object_set_new(result, "times", times_of(record));
	(void)json_object_set_new(result, "invalidity", json_string(failure));
	(void)json_object_set_new(result, "correctness", json_integer(!strcmp(failure, RIGHT)));
	(void)json_object_set_new(result, "measurements", measurements_of(record, names));
	(void)json_object_set_new(result, "objectives", json_pack("[s]", TIME));
	return json_array_append_new(list, result) == 0 ? TCB_OK
							: tcb_fail(err, TCB_E_NOMEM, "out of memory for %s", name);
}

static enum tcb_status check_names(const json_t *names, const char *name, struct tcb_error *err)
{
	if (json_array_size(names) == 0)
		return tcb_fail(err, TCB_E_FORMAT, "%s: is a cache file without tune_params_keys", name);
	for (size_t i = 0; i < json_array_size(names); i++)
		if (!json_is_string(json_array_get(names, i)))
			return tcb_fail(err, TCB_E_FORMAT, "%s: tune_params_keys[%zu] is not a name", name, i);
	return TCB_OK;
}

static enum tcb_status read_cache(json_t *root, const char *name, struct tcb_results *out, struct tcb_error *err)
{
	json_t *cache = json_object_get(root, "cache"), *names = json_object_get(root, "tune_params_keys"), *record;
	const char *key;

	TCB_TRY(check_names(names, name, err));
	out->list = json_array();
	json_object_foreach(cache, key, record) TCB_TRY(add_record(out->list, record, key, names, name, err));
	(void)json_object_del(root, "cache");
	out->head = json_pack("{s:{s:O}, s:s}", "metadata", "kernel_tuner", root, "schema_version", "1.0.0");
	return out->head ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "out of memory for %s", name);
}

/* --- reading --- */

static enum tcb_status read_t4(json_t *root, const char *name, struct tcb_results *out, struct tcb_error *err)
{
	json_t *result;
	size_t i;

	out->list = json_incref(json_object_get(root, "results"));
	json_array_foreach(out->list, i, result) if (!json_is_object(json_object_get(
							     result, "configuratio"
								     "n"))) return tcb_fail(err, TCB_E_FORMAT,
											    "%s: its result %zu has no "
											    "configuration",
											    name, i + 1);
	(void)json_object_del(root, "results");
	out->head = json_incref(root);
	return TCB_OK;
}

enum tcb_status tcb_results_read(const char *text, size_t bytes, const char *name, struct tcb_results *out,
				 struct tcb_error *err)
{
	json_t *root;

	*out = (struct tcb_results){ 0 };
	TCB_TRY(tcb_recorded_load(text, bytes, name, &root, &out->is_open, err));
	enum tcb_status status;
	if (json_is_array(json_object_get(root, "results")))
		status = read_t4(root, name, out, err);
	else if (json_is_object(json_object_get(root, "cache")))
		status = read_cache(root, name, out, err);
	else
		status = tcb_fail(err, TCB_E_NOT_FOUND,
				  "%s: not recorded results: it has neither \"results\" (T4) nor \"cache\"", name);
	json_decref(root);
	if (status == TCB_OK && json_array_size(out->list) == 0)
		status = tcb_fail(err, TCB_E_FORMAT, "%s: has no configurations", name);
	if (status != TCB_OK)
		tcb_results_fini(out);
	return status;
}

void tcb_results_fini(struct tcb_results *results)
{
	json_decref(results->head);
	json_decref(results->list);
	*results = (struct tcb_results){ 0 };
}

static const char *said(const struct tcb_results *results, const char *key, const char *our_key)
{
	const json_t *metadata = json_object_get(results->head, "metadata");
	const char *text = json_string_value(json_object_get(json_object_get(metadata, "kernel_tuner"), key));

	text = text ? text : json_string_value(json_object_get(json_object_get(metadata, "tcbtune"), our_key));
	return text && text[0] ? text : NULL;
}

const char *tcb_results_kernel(const struct tcb_results *results)
{
	return said(results, "kernel_name", "op");
}

const char *tcb_results_device(const struct tcb_results *results)
{
	return said(results, "device_name", "device");
}

static const json_t *measurement(const json_t *result, const char *name)
{
	const json_t *list = json_object_get(result, "measurements");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		const char *its = json_string_value(json_object_get(one, "name"));
		if (its && !strcmp(its, name))
			return one;
	}
	return NULL;
}

double tcb_result_ms(const json_t *result)
{
	const char *invalidity = json_string_value(json_object_get(result, "invalidity"));
	const json_t *time = measurement(result, TIME);

	return invalidity && strcmp(invalidity, RIGHT) != 0
		       ? INFINITY
		       : tcb_recorded_time(json_object_get(time, "value"),
					   json_string_value(json_object_get(time, "unit")));
}

/* --- writing --- */

json_t *tcb_results_t4(const struct tcb_results *results)
{
	json_t *root = json_copy(results->head);

	if (root && json_object_set(root, "results", results->list) != 0) {
		json_decref(root);
		return NULL;
	}
	return root;
}

/* VALUE as Python's str() has it, which is what a cache's keys are made of. */
static void add_python(struct tcb_str *out, const json_t *value)
{
	char text[40];

	if (json_is_string(value))
		tcb_str_add(out, json_string_value(value));
	else if (json_is_integer(value))
		tcb_str_addf(out, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value)) {
		for (int digits = 1; digits <= 17; digits++) {
			(void)snprintf(text, sizeof text, "%.*g", digits, json_real_value(value));
			if (strtod(text, NULL) == json_real_value(value))
				break;
		}
		tcb_str_addf(out, "%s%s", text, strpbrk(text, ".en") ? "" : ".0");
	} else
		tcb_str_add(out, json_is_true(value) ? "True" : json_is_false(value) ? "False" : "None");
}

/* What failed without a word for it gets the one of its kind. */
static json_t *cache_time(const json_t *result)
{
	const char *invalidity = json_string_value(json_object_get(result, "invalidity"));
	json_t *value = json_object_get(measurement(result, TIME), "value");

	if (!invalidity || !strcmp(invalidity, RIGHT) || json_is_string(value))
		return value ? json_incref(value) : json_null();
	for (size_t i = 0; i < FAILURE_COUNT; i++)
		if (!strcmp(FAILURES[i].t4, invalidity) && !json_is_number(value))
			return json_string(FAILURES[i].cache);
	return value && !json_is_null(value) ? json_incref(value) : json_string("RuntimeFailedConfig");
}

/* The first of the two names under which T4 files have a part of what a trial took. */
static json_t *time_named(const json_t *times, size_t i)
{
	static const char *const OTHERS[TIME_COUNT] = { "compilation",           "validation_time", "benchmark",
							"search_algorithm_time", "framework_time",  NULL };
	json_t *value = json_object_get(times, TIMES[i].t4);

	return value || !OTHERS[i] ? value : json_object_get(times, OTHERS[i]);
}

static json_t *record_of(const json_t *result, const json_t *names)
{
	const json_t *configuration = json_object_get(result, "configuration"),
		     *times = json_object_get(result, "times"), *list = json_object_get(result, "measurements");
	json_t *record = json_object(), *stamp = json_object_get(result, STAMP), *value;

	for (size_t i = 0; i < json_array_size(names); i++) {
		const char *name = json_string_value(json_array_get(names, i));
		(void)json_object_set(record, name, json_object_get(configuration, name));
	}
	(void)json_object_set_new(record, TIME, cache_time(result));
	for (size_t i = 0; i < TIME_COUNT; i++)
		if ((value = time_named(times, i)) != NULL)
			(void)json_object_set(record, TIMES[i].cache, value);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		const char *name = json_string_value(json_object_get(one, "name"));
		if (name && !json_object_get(record, name))
			(void)json_object_set(record, name, json_object_get(one, "value"));
	}
	if (stamp)
		(void)json_object_set(record, STAMP, stamp);
	return record;
}

/* The header of a cache where the file had none: names and values as they occur. */
static json_t *make_header(const struct tcb_results *results)
{
	json_t *names = json_array(), *values = json_object(), *result, *value;
	const char *device = tcb_results_device(results), *kernel = tcb_results_kernel(results), *name;
	size_t i, at;

	json_object_foreach(json_object_get(json_array_get(results->list, 0), "configuration"), name, value)(void)
		json_array_append_new(names, json_string(name));
	json_array_foreach(results->list, i, result) for (at = 0; at < json_array_size(names); at++)
	{
		name = json_string_value(json_array_get(names, at));
		value = json_object_get(json_object_get(result, "configuration"), name);
		if (!json_object_get(values, name))
			(void)json_object_set_new(values, name, json_array());
		json_t *list = json_object_get(values, name);
		size_t seen = 0;
		while (seen < json_array_size(list) && !json_equal(json_array_get(list, seen), value))
			seen++;
		if (value && seen == json_array_size(list))
			(void)json_array_append(list, value);
	}
	return json_pack("{s:s, s:s, s:o, s:o, s:s}", "device_name", device ? device : "", "kernel_name",
			 kernel ? kernel : "", "tune_params_keys", names, "tune_params", values, "objective", TIME);
}

json_t *tcb_results_cache(const struct tcb_results *results)
{
	json_t *header = json_object_get(json_object_get(results->head, "metadata"), "kernel_tuner");
	json_t *root =
		json_is_array(json_object_get(header, "tune_params_keys")) ? json_copy(header) : make_header(results);
	json_t *cache = json_object(), *names = json_object_get(root, "tune_params_keys"), *result;
	size_t i;

	json_array_foreach(results->list, i, result)
	{
		struct tcb_str key = { 0 };

		for (size_t n = 0; n < json_array_size(names); n++) {
			tcb_str_add(&key, n ? "," : "");
			add_python(&key, json_object_get(json_object_get(result, "configuration"),
							 json_string_value(json_array_get(names, n))));
		}
		(void)json_object_set_new(cache, key.data ? key.data : "", record_of(result, names));
		tcb_str_fini(&key);
	}
	if (root && json_object_set_new(root, "cache", cache) == 0)
		return root;
	json_decref(root);
	return NULL;
}
