/* SPDX-License-Identifier: MIT
 *
 * Reader of the auto-tuning community's recorded spaces, JSON of two kinds:
 *
 *   T4     {"results": [{"configuration": {...}, "times": {...}, "invalidity": "correct", "measurements": [...]}, ...]}
 *   cache  {"tune_params_keys": [...], "cache": {"16,1,...": {"time": 3.9, "compile_time": ..., ...}, ...}}
 *
 * What real files do beside the schema: end without their closing braces (Kernel
 * Tuner writes them when it is done); say with a word in place of the time that a
 * configuration failed, or with 1e20; spell the names of times in several ways;
 * hold NaN and Infinity, which are no JSON; and leave the runs out of what a
 * configuration took.  The unit of the times found is read where it is written,
 * and matters only where one file has several; all that configurations took is in the
 * file's own unit, since scores are of ratios.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "base/util.h"
#include "search/replay/recorded.h"

static const double FAILED_FROM = 1e20; /* old caches write it, or more, for a configuration that failed */
enum { RECORD_DEPTH = 2 };              /* brackets open around a configuration, in both kinds of file */

/* --- from bytes to JSON --- */

struct scan {
	struct tcb_str text; /* what JSON there is, repaired */
	char open[RECORD_DEPTH];
	size_t depth;
	size_t whole;               /* length of text up to the end of the last whole configuration */
	size_t configurations;      /* that are whole */
	char closing[RECORD_DEPTH]; /* what was open there */
	int in_string, escaped;
	int ended; /* the outermost bracket was closed: what follows, and whatever is open in it, is damage */
};

static void scan_char(struct scan *scan, char c)
{
	if (scan->in_string) {
		scan->in_string = scan->escaped || c != '"';
		scan->escaped = !scan->escaped && c == '\\';
	} else if (c == '"') {
		scan->in_string = 1;
	} else if (c == '{' || c == '[') {
		if (scan->depth < RECORD_DEPTH)
			scan->open[scan->depth] = c == '{' ? '}' : ']';
		scan->depth++;
	} else if ((c == '}' || c == ']') && scan->depth) {
		scan->ended |= --scan->depth == 0;
		if (c == '}' && scan->depth == RECORD_DEPTH) {
			scan->whole = scan->text.length + 1;
			scan->configurations++;
			memcpy(scan->closing, scan->open, sizeof scan->open);
		}
	}
}

/* The length of a word that Python writes and JSON does not know; 0 for anything else. */
static size_t foreign_word(const char *text, size_t bytes)
{
	static const char *const WORDS[] = { "NaN", "-Infinity", "Infinity" };
	for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
		if (bytes >= strlen(WORDS[i]) && !memcmp(text, WORDS[i], strlen(WORDS[i])))
			return strlen(WORDS[i]);
	return 0;
}

/* TEXT with null for foreign words. */
static enum tcb_status repair(const char *text, size_t bytes, struct scan *scan, struct tcb_error *err)
{
	char *out = malloc(bytes + bytes / 2 + RECORD_DEPTH + 1); /* "null" for "NaN" */
	if (!out)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a file of %zu bytes", bytes);
	scan->text.data = out;
	for (size_t at = 0; at < bytes;) {
		const size_t foreign = scan->in_string ? 0 : foreign_word(text + at, bytes - at);
		if (foreign) {
			memcpy(out + scan->text.length, "null", 4);
			scan->text.length += 4;
			at += foreign;
			continue;
		}
		scan_char(scan, text[at]);
		out[scan->text.length++] = text[at++];
	}
	return TCB_OK;
}

/* Is there nothing behind the last whole configuration but what may stand between two, or closes? */
static int ends_whole(const struct scan *scan)
{
	size_t at = scan->whole;
	while (at < scan->text.length && scan->text.data[at] && strchr(" \t\r\n,]}", scan->text.data[at]))
		at++;
	return scan->configurations > 0 && at == scan->text.length;
}

/* Closes the brackets that are open at the end, if the text ends behind a whole configuration. */
static enum tcb_status close_end(struct scan *scan, const char *name, int *is_open, struct tcb_error *err)
{
	*is_open = (scan->depth || scan->in_string) && !scan->ended;
	if (!*is_open)
		return TCB_OK;
	if (!ends_whole(scan))
		return tcb_fail(err, TCB_E_FORMAT,
				"%s: is cut off or damaged after %zu whole configuration%s: fetch or write the whole "
				"file again",
				name, scan->configurations, scan->configurations == 1 ? "" : "s");
	scan->text.length = scan->whole;
	for (size_t i = RECORD_DEPTH; i-- > 0;)
		scan->text.data[scan->text.length++] = scan->closing[i];
	return TCB_OK;
}

enum tcb_status tcb_recorded_load(const char *text, size_t bytes, const char *name, json_t **out, int *is_open,
				  struct tcb_error *err)
{
	struct scan scan = { 0 };
	json_error_t why;
	size_t blank = 0;
	while (blank < bytes && strchr(" \t\r\n", text[blank]) && text[blank])
		blank++;
	if (blank == bytes || text[blank] != '{')
		return tcb_fail(err, TCB_E_NOT_FOUND, "%s: not a recorded space: it is not a JSON object", name);
	TCB_TRY(repair(text, bytes, &scan, err));
	enum tcb_status status = close_end(&scan, name, is_open, err);
	if (status == TCB_OK)
		*out = json_loadb(scan.text.data, scan.text.length, 0, &why);
	free(scan.text.data);
	TCB_TRY(status);
	if (!*out)
		return tcb_fail(err, TCB_E_FORMAT, "%s: is damaged: line %d: %.120s", name, why.line, why.text);
	return TCB_OK;
}

/* --- parameters --- */

/* What is known of all configurations while they are read. */
struct reading {
	const char *name;
	size_t count, fields;
	const char **parameters;          /* [field]: lent from the JSON */
	struct tcb_recorded_names *names; /* OUT's */
	unsigned char *named;             /* [field]: some value is a word */
	json_t *words;                    /* word -> its number: words are different values, in no order */
	struct tcb_recorded *out;
};

static int add_word(struct tcb_recorded_names *names, const char *word)
{
	char **grown = realloc(names->word, (names->word_count + 1) * sizeof *grown);
	if (!grown)
		return -1;
	names->word = grown;
	names->word[names->word_count] = strdup(word);
	return names->word[names->word_count] ? (int)(names->word_count++, 0) : -1;
}

/* A number for VALUE; words of all parameters share their numbers. */
static enum tcb_status number_of(struct reading *r, size_t index, size_t field, const json_t *value,
				 struct tcb_error *err)
{
	double *to = &r->names->value[index * r->fields + field];
	if (json_is_number(value) || json_is_boolean(value)) {
		*to = json_is_number(value) ? json_number_value(value) : json_is_true(value);
		return TCB_OK;
	}
	if (!json_is_string(value))
		return tcb_fail(err, TCB_E_FORMAT, "%s: configuration %zu has no value for %.60s", r->name, index + 1,
				r->parameters[field]);
	const char *word = json_string_value(value);
	json_t *known = json_object_get(r->words, word);
	if (!known) {
		known = json_integer((json_int_t)json_object_size(r->words));
		if (json_object_set_new(r->words, word, known) != 0 || add_word(r->names, word) != 0)
			return tcb_fail(err, TCB_E_NOMEM, "out of memory for the words of %s", r->name);
	}
	*to = (double)json_integer_value(known);
	r->names->is_word[index * r->fields + field] = 1;
	r->named[field] = 1;
	return TCB_OK;
}

static double parameter_value(const void *ctx, size_t index, size_t field)
{
	const struct reading *r = ctx;
	return r->names->value[index * r->fields + field];
}

static int parameter_is_named(const void *ctx, size_t field)
{
	return ((const struct reading *)ctx)->named[field];
}

/* --- times --- */

/* The first of NAMES (ends with NULL) that OBJECT has as a number; 0 if it has none. */
static double number_named(const json_t *object, const char *const *names)
{
	for (; *names; names++) {
		const json_t *value = json_object_get(object, *names);
		if (json_is_number(value) && json_number_value(value) > 0)
			return json_number_value(value);
	}
	return 0;
}

static double sum_of(const json_t *array)
{
	double sum = 0;
	for (size_t i = 0; i < json_array_size(array); i++)
		sum += fmax(0, json_number_value(json_array_get(array, i)));
	return sum;
}

/* What trying took.  OBJECT has the parts by name, RUNS the single runs, which count where their sum is missing. */
static double price_of(const json_t *object, const json_t *runs)
{
	static const char *const PARTS[][5] = {
		{ "compilation_time", "compilation", "compile_time", NULL },
		{ "framework_time", "framework", NULL },
		{ "search_algorithm_time", "search_algorithm", "strategy_time", NULL },
		{ "validation_time", "validation", "verification_time", NULL },
	};
	static const char *const BENCHMARK[] = { "benchmark_time", "benchmark", NULL };
	double price = number_named(object, BENCHMARK);
	if (price == 0)
		price = sum_of(runs);
	for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
		price += number_named(object, PARTS[i]);
	return isfinite(price) ? price : 0;
}

/* Milliseconds per UNIT; 1 for one that is unknown or not given. */
static double unit_ms(const char *unit)
{
	static const struct {
		const char *begins;
		double ms;
	} UNITS[] = { { "mil", 1 }, { "ms", 1 }, { "s", 1e3 }, { "mic", 1e-3 }, { "us", 1e-3 }, { "n", 1e-6 } };
	for (size_t i = 0; unit && i < sizeof UNITS / sizeof *UNITS; i++)
		if (!strncasecmp(unit, UNITS[i].begins, strlen(UNITS[i].begins)))
			return UNITS[i].ms;
	return 1;
}

/* VALUE as a time in milliseconds: infinite for a word, for nothing, and for what stands for a failure. */
double tcb_recorded_time(const json_t *value, const char *unit)
{
	const double time = json_is_number(value) ? json_number_value(value) : INFINITY;
	return time > 0 && time < FAILED_FROM ? time * unit_ms(unit) : INFINITY;
}

/* --- the two kinds --- */

static void read_t4_times(const json_t *result, double *value_out, double *price_out)
{
	const json_t *times = json_object_get(result, "times"), *measurements = json_object_get(result, "measurements");
	const char *invalidity = json_string_value(json_object_get(result, "invalidity"));
	*price_out = price_of(times, json_object_get(times, "runtimes"));
	*value_out = INFINITY;
	for (size_t i = 0; i < json_array_size(measurements); i++) {
		const json_t *m = json_array_get(measurements, i);
		const char *name = json_string_value(json_object_get(m, "name"));
		if (name && !strcmp(name, "time"))
			*value_out = tcb_recorded_time(json_object_get(m, "value"),
						       json_string_value(json_object_get(m, "unit")));
	}
	if (invalidity && strcmp(invalidity, "correct") != 0)
		*value_out = INFINITY;
}

/* Room for COUNT configurations of the parameters that CONFIGURATION has (T4), or that KEYS lists (cache). */
static enum tcb_status begin(struct reading *r, size_t count, const json_t *configuration, const json_t *keys,
			     struct tcb_error *err)
{
	r->fields = keys ? json_array_size(keys) : json_object_size(configuration);
	if (count == 0 || r->fields == 0)
		return tcb_fail(err, TCB_E_FORMAT, "%s: has no %s", r->name, count ? "parameters" : "configurations");
	r->count = count;
	r->parameters = calloc(r->fields, sizeof *r->parameters);
	TCB_TRY(tcb_recorded_alloc(r->out, count, r->name, err));
	r->names = &r->out->names;
	r->names->fields = r->fields;
	r->names->parameter = calloc(r->fields, sizeof *r->names->parameter);
	r->names->value = calloc(count * r->fields, sizeof *r->names->value);
	r->names->is_word = calloc(count, r->fields);
	r->named = calloc(r->fields, 1);
	r->words = json_object();
	if (!r->parameters || !r->names->parameter || !r->names->value || !r->names->is_word || !r->named || !r->words)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the %zu configurations of %s", count, r->name);
	size_t field = 0;
	for (void *at = json_object_iter((json_t *)configuration); at && !keys;
	     at = json_object_iter_next((json_t *)configuration, at))
		r->parameters[field++] = json_object_iter_key(at);
	for (; keys && field < r->fields; field++)
		if (!(r->parameters[field] = json_string_value(json_array_get(keys, field))))
			return tcb_fail(err, TCB_E_FORMAT, "%s: tune_params_keys[%zu] is not a name", r->name, field);
	for (field = 0; field < r->fields; field++)
		if (!(r->names->parameter[field] = strdup(r->parameters[field])))
			return tcb_fail(err, TCB_E_NOMEM, "out of memory for the parameters of %s", r->name);
	return TCB_OK;
}

static enum tcb_status read_parameters(struct reading *r, size_t index, const json_t *configuration,
				       struct tcb_error *err)
{
	for (size_t field = 0; field < r->fields; field++)
		TCB_TRY(number_of(r, index, field, json_object_get(configuration, r->parameters[field]), err));
	return TCB_OK;
}

static enum tcb_status read_t4(struct reading *r, const json_t *results, struct tcb_error *err)
{
	const size_t count = json_array_size(results);
	TCB_TRY(begin(r, count, json_object_get(json_array_get(results, 0), "configuration"), NULL, err));
	for (size_t i = 0; i < count; i++) {
		const json_t *result = json_array_get(results, i);
		TCB_TRY(read_parameters(r, i, json_object_get(result, "configuration"), err));
		read_t4_times(result, &r->out->value[i], &r->out->price[i]);
	}
	return TCB_OK;
}

/* A configuration that does not repeat its parameters has them in its KEY, between commas. */
json_t *tcb_recorded_from_key(const json_t *names, const char *key)
{
	json_t *configuration = json_object();
	for (size_t field = 0; configuration && field < json_array_size(names); field++) {
		const size_t length = strcspn(key, ",");
		char *end;
		const double number = strtod(key, &end);
		const int is_number = length && end == key + length && isfinite(number);
		const int is_whole =
			is_number && number == rint(number) && fabs(number) < 1e15 && strcspn(key, ".eExX,") == length;
		json_t *value = is_whole    ? json_integer((json_int_t)number)
				: is_number ? json_real(number)
					    : json_stringn(key, length);
		if (length) /* else it is missing, and said to be */
			(void)json_object_set_new(configuration, json_string_value(json_array_get(names, field)),
						  value);
		else
			json_decref(value);
		key += length + (key[length] == ',');
	}
	return configuration;
}

/* Configurations that the values in TUNE_PARAMS allow where no condition excludes any; 0 where it does not say. */
static size_t combinations(const json_t *tune_params)
{
	size_t product = json_object_size(tune_params) > 0;
	for (void *at = json_object_iter((json_t *)tune_params); at;
	     at = json_object_iter_next((json_t *)tune_params, at))
		if (__builtin_mul_overflow(product, json_array_size(json_object_iter_value(at)), &product))
			return 0;
	return product;
}

static enum tcb_status read_cache(struct reading *r, json_t *root, struct tcb_error *err)
{
	json_t *cache = json_object_get(root, "cache"), *keys = json_object_get(root, "tune_params_keys");
	size_t index = 0;
	if (!json_is_array(keys))
		return tcb_fail(err, TCB_E_FORMAT, "%s: is a cache file without tune_params_keys", r->name);
	TCB_TRY(begin(r, json_object_size(cache), NULL, keys, err));
	r->out->legal = combinations(json_object_get(root, "tune_params"));
	for (void *at = json_object_iter(cache); at; at = json_object_iter_next(cache, at), index++) {
		const json_t *record = json_object_iter_value(at);
		json_t *split = NULL;
		if (!json_object_get(record, r->parameters[0]))
			split = tcb_recorded_from_key(keys, json_object_iter_key(at));
		enum tcb_status status = read_parameters(r, index, split ? split : record, err);
		json_decref(split);
		TCB_TRY(status);
		r->out->value[index] = tcb_recorded_time(json_object_get(record, "time"), NULL);
		r->out->price[index] = price_of(record, json_object_get(record, "times"));
	}
	return TCB_OK;
}

static enum tcb_status read_root(struct reading *r, json_t *root, struct tcb_error *err)
{
	const json_t *results = json_object_get(root, "results");
	if (json_is_array(results))
		TCB_TRY(read_t4(r, results, err));
	else if (json_is_object(json_object_get(root, "cache")))
		TCB_TRY(read_cache(r, root, err));
	else
		return tcb_fail(err, TCB_E_NOT_FOUND,
				"%s: not a recorded space: it has neither \"results\" (T4) nor \"cache\"", r->name);
	for (size_t i = 0; i < r->count; i++)
		r->out->valid += r->out->value[i] < INFINITY;
	const struct tcb_lattice_source source = { r->count, r->fields, parameter_value, parameter_is_named, r };
	return tcb_lattice_init(&r->out->lattice, &source, err);
}

enum tcb_status tcb_recorded_parse(const char *text, size_t bytes, const char *name, struct tcb_recorded *out,
				   struct tcb_error *err)
{
	struct reading reading = { .name = name, .out = out };
	json_t *root;
	int is_open = 0;
	*out = (struct tcb_recorded){ 0 };
	TCB_TRY(tcb_recorded_load(text, bytes, name, &root, &is_open, err));
	enum tcb_status status = read_root(&reading, root, err);
	out->is_open = status == TCB_OK && is_open;
	if (status != TCB_OK)
		tcb_recorded_fini(out);
	free(reading.parameters);
	free(reading.named);
	json_decref(reading.words);
	json_decref(root);
	return status;
}
