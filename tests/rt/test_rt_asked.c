/* SPDX-License-Identifier: MIT
 *
 * A geometry in the query: planned and run as it is asked for, or refused by
 * the name of what it breaks; and queries of programs that were compiled before
 * there was such a field.
 */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "rt/rt_plan.h"
#include "tcbrt.h"

enum { N = 96, K = 512 };

static struct tcbrt *rt;

static int open_nothing(void **state)
{
	(void)state;
	return tcbrt_open_empty(&rt, NULL);
}

static int close_it(void **state)
{
	(void)state;
	tcbrt_close(rt);
	return 0;
}

static struct tcbrt_query ask(unsigned threads, const char *geometry)
{
	return (struct tcbrt_query){
		.op = "q4k_matvec", .threads = threads, .m = 1, .n = N, .k = K, .geometry = geometry
	};
}

static struct tcbrt_tuning lookup(const struct tcbrt_query *query)
{
	struct tcbrt_tuning tuning;

	if (tcbrt_lookup(rt, query, &tuning) != TCBRT_OK)
		fail_msg("%s", tuning.reason);
	return tuning;
}

/* TEXT with FROM become TO. */
static void change(const char *text, const char *from, const char *to, char out[TCBRT_GEOMETRY_MAX])
{
	const char *at = strstr(text, from);

	if (!at)
		fail_msg("no %s in %s", from, text);
	snprintf(out, TCBRT_GEOMETRY_MAX, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static void *room(size_t bytes)
{
	void *at = aligned_alloc(TCBRT_ALIGNMENT, (bytes + TCBRT_ALIGNMENT) / TCBRT_ALIGNMENT * TCBRT_ALIGNMENT);

	memset(at, 0, bytes);
	return at;
}

static void run(const struct tcbrt_plan *plan, float y[N])
{
	struct tcbrt_plan_info info;
	void *stored[TCBRT_OPERANDS_MAX], *operand[TCBRT_OPERANDS_MAX];

	tcbrt_plan_info(plan, &info);
	for (size_t i = 0; i < info.operand_count; i++)
		operand[i] = stored[i] = room(info.operand[i].bytes);
	plan->problem.op->fill(&plan->problem, 3, stored);
	if (info.packed_bytes) {
		operand[info.weights] = room(info.packed_bytes);
		assert_int_equal(tcbrt_pack(plan, stored[info.weights], operand[info.weights]), TCBRT_OK);
		free(stored[info.weights]);
	}
	void *workspace = room(info.workspace_bytes);
	assert_int_equal(tcbrt_workspace_init(plan, workspace), TCBRT_OK);
	assert_int_equal(tcbrt_execute(plan, operand, workspace, NULL), TCBRT_OK);
	memcpy(y, operand[info.output], N * sizeof(*y));
	for (size_t i = 0; i < info.operand_count; i++)
		free(operand[i]);
	free(workspace);
}

static void runs_what_is_asked_for(void **state)
{
	const struct tcbrt_query standard = ask(1, NULL);
	const struct tcbrt_tuning tuned = lookup(&standard);
	char geometry[TCBRT_GEOMETRY_MAX];
	struct tcbrt_plan *plan, *other;
	struct tcbrt_plan_info info;
	struct tcbrt_error err;
	float y[N], expected[N];

	(void)state;
	assert_int_not_equal(tuned.source, TCBRT_SOURCE_ASKED);
	/* Another instruction family: a kernel that the default would not be. */
	const char *isa = tcbrt_knob_word(&tuned, "isa");
	if (strcmp(isa, "scalar") == 0)
		skip_because("this host has scalar kernels only");
	struct tcbrt_query scalar = standard;
	scalar.device = "cpu:scalar";
	struct tcbrt_tuning known;
	if (tcbrt_lookup(rt, &scalar, &known) != TCBRT_OK) {
		scalar.device = "cpu:avx2";
		known = lookup(&scalar);
	}
	snprintf(geometry, sizeof(geometry), "%s", known.geometry);
	struct tcbrt_query query = ask(1, geometry);
	if (tcbrt_plan_create(rt, &query, &plan, &err) != TCBRT_OK)
		fail_msg("%s", err.message);
	tcbrt_plan_info(plan, &info);
	assert_int_equal(info.tuning.source, TCBRT_SOURCE_ASKED);
	assert_string_equal(tcbrt_source_text(info.tuning.source), "asked");
	assert_string_equal(info.tuning.geometry, geometry);
	assert_string_equal(info.tuning.variant, known.variant);
	assert_string_equal(info.tuning.reason, "asked for by query.geometry");
	assert_true(info.tuning.expected_ns == 0 && info.tuning.speedup == 0 && info.tuning.tuned_n == 0);
	assert_int_equal(tcbrt_plan_create(rt, &standard, &other, &err), TCBRT_OK);
	run(plan, y);
	run(other, expected);
	for (size_t i = 0; i < N; i++)
		if (!(y[i] >= expected[i] - 1e-2f - 1e-2f * (expected[i] < 0 ? -expected[i] : expected[i])) ||
		    !(y[i] <= expected[i] + 1e-2f + 1e-2f * (expected[i] < 0 ? -expected[i] : expected[i])))
			fail_msg("y[%zu] is %g, not %g", i, (double)y[i], (double)expected[i]);
	tcbrt_plan_destroy(other);
	tcbrt_plan_destroy(plan);
}

static void takes_the_threads_of_the_geometry(void **state)
{
	const struct tcbrt_query two = ask(2, NULL);
	const struct tcbrt_tuning tuned = lookup(&two);
	char geometry[TCBRT_GEOMETRY_MAX];

	(void)state;
	assert_int_equal(tuned.threads, 2);
	const struct tcbrt_query open = ask(0, tuned.geometry), one = ask(1, tuned.geometry);
	assert_int_equal(lookup(&open).threads, 2);
	/* A number of its own must do. */
	struct tcbrt_tuning answer;
	assert_int_equal(tcbrt_lookup(rt, &one, &answer), TCBRT_E_USAGE);
	assert_non_null(strstr(answer.reason, "threads=2, but the device gives 1"));
	change(tuned.geometry, "threads=2", "threads=2000", geometry);
	const struct tcbrt_query many = ask(0, geometry);
	assert_int_equal(tcbrt_lookup(rt, &many, &answer), TCBRT_E_USAGE);
	assert_non_null(strstr(answer.reason, "more than 1024 threads"));
}

static void refuses_by_name(void **state)
{
	const struct tcbrt_query standard = ask(1, NULL);
	const struct tcbrt_tuning tuned = lookup(&standard);
	char nesting[TCBRT_GEOMETRY_MAX], foreign[TCBRT_GEOMETRY_MAX], midi[64], other[64];
	const struct {
		const char *geometry, *says;
	} cases[] = {
		{ "", "query.geometry: " }, { "macro=1x1x1", "query.geometry: " },  { "fast", "query.geometry: " },
		{ nesting, "H2 nesting" },  { foreign, "warps is a knob of GPUs" },
	};

	(void)state;
	snprintf(midi, sizeof(midi), "midi=%zux%zux%zu", tuned.midi.m, tuned.midi.n, tuned.midi.k);
	snprintf(other, sizeof(other), "midi=%zux%zux%zu", tuned.midi.m, tuned.midi.n + 1, tuned.midi.k);
	change(tuned.geometry, midi, other, nesting);
	change(tuned.geometry, ",isa=", ",warps=4,isa=", foreign);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct tcbrt_query query = ask(1, cases[i].geometry);
		struct tcbrt_error err;
		struct tcbrt_plan *plan;

		assert_int_equal(tcbrt_plan_create(rt, &query, &plan, &err), TCBRT_E_USAGE);
		assert_null(plan);
		if (!strstr(err.message, cases[i].says))
			fail_msg("'%s': %s", cases[i].geometry, err.message);
	}
	struct tcbrt_query query = ask(1, tuned.geometry);
	query.k = 100;
	struct tcbrt_tuning answer;
	assert_int_not_equal(tcbrt_lookup(rt, &query, &answer), TCBRT_OK);
	assert_non_null(strstr(answer.reason, "256"));
}

static void is_not_changed_for_a_layout(void **state)
{
	const struct tcbrt_query standard = ask(1, NULL);
	const struct tcbrt_tuning tuned = lookup(&standard);
	const char *layout = tcbrt_knob_word(&tuned, "layout");
	struct tcbrt_query query = ask(1, tuned.geometry);
	struct tcbrt_plan *plan;
	struct tcbrt_error err;

	(void)state;
	query.layout = layout ? layout : "native";
	assert_int_equal(tcbrt_plan_create(rt, &query, &plan, &err), TCBRT_OK);
	tcbrt_plan_destroy(plan);
	query.layout = layout && strcmp(layout, "native") != 0 ? "native" : "r16";
	assert_int_equal(tcbrt_plan_create(rt, &query, &plan, &err), TCBRT_E_USAGE);
	assert_non_null(strstr(err.message, "query.geometry reads weights in layout"));
}

static void is_saved(void **state)
{
	const struct tcbrt_query standard = ask(1, NULL);
	const struct tcbrt_tuning tuned = lookup(&standard);
	const struct tcbrt_query query = ask(1, tuned.geometry);
	struct tcbrt_plan *plan, *loaded;
	struct tcbrt_plan_info info;
	struct tcbrt_error err;
	size_t bytes;

	(void)state;
	assert_int_equal(tcbrt_plan_create(rt, &query, &plan, &err), TCBRT_OK);
	assert_int_equal(tcbrt_plan_save(plan, NULL, 0, &bytes), TCBRT_OK);
	void *blob = malloc(bytes);
	assert_int_equal(tcbrt_plan_save(plan, blob, bytes, &bytes), TCBRT_OK);
	if (tcbrt_plan_load(rt, blob, bytes, &loaded, &err) != TCBRT_OK)
		fail_msg("%s", err.message);
	tcbrt_plan_info(loaded, &info);
	assert_int_equal(info.tuning.source, TCBRT_SOURCE_ASKED);
	free(blob);
	tcbrt_plan_destroy(loaded);
	tcbrt_plan_destroy(plan);
}

/* struct tcbrt_query as tcbrt.h of 0.2.0 had it. */
struct query_of_02 {
	const char *op, *device;
	unsigned threads;
	enum tcbrt_contract contract;
	enum tcbrt_state state;
	size_t m, n, k;
	const char *layout, *words;
	size_t reserved[3];
};
_Static_assert(sizeof(struct query_of_02) == sizeof(struct tcbrt_query), "structs grow into reserved words only");

static void older_programs_get_what_they_got(void **state)
{
	const struct query_of_02 old = { .op = "q4k_matvec", .threads = 1, .m = 1, .n = N, .k = K };
	const struct tcbrt_query today = ask(1, NULL);
	const struct tcbrt_tuning tuned = lookup(&today);
	struct tcbrt_tuning answer;
	struct tcbrt_query copy;

	(void)state;
	memcpy(&copy, &old, sizeof(copy)); /* the same bytes, and no access by another type */
	assert_int_equal(tcbrt_lookup(rt, &copy, &answer), TCBRT_OK);
	assert_int_equal(answer.source, tuned.source);
	assert_string_equal(answer.geometry, tuned.geometry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_what_is_asked_for),
		cmocka_unit_test(takes_the_threads_of_the_geometry),
		cmocka_unit_test(refuses_by_name),
		cmocka_unit_test(is_not_changed_for_a_layout),
		cmocka_unit_test(is_saved),
		cmocka_unit_test(older_programs_get_what_they_got),
	};

	return cmocka_run_group_tests(tests, open_nothing, close_it);
}
