/* SPDX-License-Identifier: MIT
 *
 * The canonical text of geometries: lossless both ways, and precise about what
 * is wrong.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "base/cpu_identity.h"
#include "base/geometry.h"
#include "base/util.h"

static void canonical_text_round_trips(void **state)
{
	static const char text[] = "macro=1x2048x4096,midi=1x64x4096,micro=1x4x256,isa=avx2,layout=native,threads=2,"
				   "sched=dynamic,prefetch=0";
	struct tcb_geometry geometry;
	char out[TCB_GEOMETRY_TEXT_MAX];

	(void)state;
	assert_int_equal(tcb_geometry_parse(text, &geometry, NULL), TCB_OK);
	assert_int_equal(geometry.tile[TCB_MIDI].n, 64);
	assert_int_equal(geometry.knob[TCB_KNOB_ISA], TCB_ISA_AVX2);
	assert_int_equal(geometry.knob[TCB_KNOB_PREFETCH], 0);
	assert_int_equal(geometry.knob[TCB_KNOB_UNROLL], TCB_KNOB_UNSET);
	tcb_geometry_print(&geometry, out);
	assert_string_equal(out, text);
}

static void families_and_scopes(void **state)
{
	char families[TCB_FAMILIES_TEXT_MAX];
	enum tcb_isa isa;
	struct tcb_error err;

	(void)state;
	tcb_cpu_families("cpu:", families);
	assert_string_equal(families, "cpu:scalar, cpu:avx2, cpu:avx512, cpu:avx512vnni, cpu:amx, cpu:neon, "
				      "cpu:avx512bf16");
	assert_int_equal(tcb_isa_parse("sse", &isa, &err), TCB_E_USAGE);
	assert_string_equal(err.message,
			    "unknown instruction family 'sse': there are scalar, avx2, avx512, avx512vnni, "
			    "amx, neon, avx512bf16");
	assert_int_equal(tcb_knob_scope(TCB_KNOB_THREADS), TCB_SCOPE_CPU);
	assert_int_equal(tcb_knob_scope(TCB_KNOB_WARPS), TCB_SCOPE_GPU);
	assert_int_equal(tcb_knob_scope(TCB_KNOB_ISA), TCB_SCOPE_COMMON);
}

/* What was stored before there was the knob is found by its text. */
static void no_passes_are_no_knob(void **state)
{
	static const char text[] = "macro=1x8x256,midi=1x8x256,micro=1x1x256,isa=fma,warps=4";
	struct tcb_geometry plain, none, all;
	char given[TCB_GEOMETRY_TEXT_MAX], out[TCB_GEOMETRY_TEXT_MAX];

	(void)state;
	assert_int_equal(tcb_geometry_parse(text, &plain, NULL), TCB_OK);
	assert_int_equal(plain.knob[TCB_KNOB_PASSES], TCB_KNOB_UNSET);
	snprintf(given, sizeof given, "%s,passes=none", text);
	assert_int_equal(tcb_geometry_parse(given, &none, NULL), TCB_OK);
	assert_true(tcb_geometry_equal(&plain, &none));
	tcb_geometry_print(&none, out);
	assert_string_equal(out, text);
	snprintf(given, sizeof given, "%s,passes=all", text);
	assert_int_equal(tcb_geometry_parse(given, &all, NULL), TCB_OK);
	assert_int_equal(all.knob[TCB_KNOB_PASSES], TCB_PASSES_ALL);
	assert_false(tcb_geometry_equal(&plain, &all));
	tcb_geometry_print(&all, out);
	assert_string_equal(out, given);
	assert_int_equal(tcb_knob_scope(TCB_KNOB_PASSES), TCB_SCOPE_GPU);
}

/* Every key at once: as many as there are. */
static void all_knobs_round_trip(void **state)
{
	struct tcb_geometry geometry, again;
	char text[TCB_GEOMETRY_TEXT_MAX];

	(void)state;
	tcb_geometry_init(&geometry);
	for (int knob = 0; knob < TCB_KNOB_COUNT; knob++)
		geometry.knob[knob] = 1;
	tcb_geometry_print(&geometry, text);
	assert_int_equal(tcb_geometry_parse(text, &again, NULL), TCB_OK);
	assert_true(tcb_geometry_equal(&geometry, &again));
	strcat(text, ",asks=1");
	assert_int_equal(tcb_geometry_parse(text, &again, NULL), TCB_E_USAGE);
}

static void keys_may_come_in_any_order(void **state)
{
	struct tcb_geometry a, b;

	(void)state;
	assert_int_equal(tcb_geometry_parse("threads=2,micro=1x4x256,isa=avx2,midi=1x8x256,macro=1x8x256", &a, NULL),
			 TCB_OK);
	assert_int_equal(tcb_geometry_parse("macro=1x8x256,midi=1x8x256,micro=1x4x256,isa=avx2,threads=2", &b, NULL),
			 TCB_OK);
	assert_true(tcb_geometry_equal(&a, &b));
	b.knob[TCB_KNOB_THREADS] = 1;
	assert_false(tcb_geometry_equal(&a, &b));
	b = a;
	b.tile[TCB_MICRO].k = 512;
	assert_false(tcb_geometry_equal(&a, &b));
}

/* Any geometry at all, also ones that no op would accept. */
static void random_geometry(struct tcb_rng *rng, struct tcb_geometry *out)
{
	tcb_geometry_init(out);
	for (int level = 0; level < TCB_LEVEL_COUNT; level++) {
		out->tile[level].m = (size_t)(tcb_rng_next(rng) >> tcb_rng_below(rng, 64)) | 1;
		out->tile[level].n = (size_t)(tcb_rng_next(rng) >> tcb_rng_below(rng, 64)) | 1;
		out->tile[level].k = (size_t)(tcb_rng_next(rng) >> tcb_rng_below(rng, 64)) | 1;
	}
	for (int knob = 0; knob < TCB_KNOB_COUNT; knob++) {
		int32_t words = 0;

		while (tcb_knob_word((enum tcb_knob)knob, words))
			words++;
		if (tcb_rng_below(rng, 3) == 0)
			continue;
		out->knob[knob] = words ? (int32_t)tcb_rng_below(rng, (uint64_t)words)
					: (int32_t)(tcb_rng_next(rng) >> 33 >> tcb_rng_below(rng, 31));
	}
	if (out->knob[TCB_KNOB_PASSES] == TCB_PASSES_NONE)
		out->knob[TCB_KNOB_PASSES] = TCB_KNOB_UNSET; /* as the parser has it */
}

static void random_geometries_round_trip(void **state)
{
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 1);
	for (int i = 0; i < 20000; i++) {
		struct tcb_geometry geometry, again;
		char text[TCB_GEOMETRY_TEXT_MAX], text_again[TCB_GEOMETRY_TEXT_MAX];
		struct tcb_error err;

		random_geometry(&rng, &geometry);
		tcb_geometry_print(&geometry, text);
		if (tcb_geometry_parse(text, &again, &err) != TCB_OK)
			fail_msg("%s: %s", text, err.message);
		assert_true(tcb_geometry_equal(&geometry, &again));
		tcb_geometry_print(&again, text_again);
		assert_string_equal(text, text_again);
	}
}

static void mistakes_are_named_with_their_column(void **state)
{
	static const struct {
		const char *text, *what;
		int column;
	} cases[] = {
		{ "", "unknown key", 1 },
		{ "macro=1x8x256,midi=1x8x256", "must all be given", 27 },
		{ "macro=1x8,midi=1x8x256,micro=1x1x1", "MxNxK", 10 },
		{ "macro=1x0x1,midi=1x8x256,micro=1x1x1", "at least 1", 9 },
		{ "macro=1x1x1,midi=1x1x1,micro=1x1x1,warp=4", "unknown key", 36 },
		{ "macro=1x1x1,midi=1x1x1,micro=1x1x1,isa=sse", "unknown value", 40 },
		{ "macro=1x1x1,macro=1x1x1", "twice", 13 },
		{ "macro=1x1x1,midi=1x1x1,micro=1x1x1,", "unknown key", 36 },
		{ "macro=1x1x1;midi=1x1x1", "',' or the end", 12 },
		{ "macro=1x1x99999999999999999999", "too large", 11 },
		{ "macro=1x1x01", "leading zeros", 11 },
		{ "macro=1x1x1,threads=4294967296", "too large", 21 },
		{ "macro", "'=' is expected", 6 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tcb_geometry geometry;
		struct tcb_error err;
		char column[32];

		assert_int_equal(tcb_geometry_parse(cases[i].text, &geometry, &err), TCB_E_USAGE);
		snprintf(column, sizeof column, "column %d:", cases[i].column);
		if (!strstr(err.message, cases[i].what) || !strstr(err.message, column))
			fail_msg("'%s': expected '%s' at %s, got: %s", cases[i].text, cases[i].what, column,
				 err.message);
	}
}

/* --- parameters of an op --- */

static const char *const orders[] = { "up", "down", NULL };
static const struct tcb_parameter own[] = { { "chunk", "rows at a time", NULL },
					    { "order", "which way", orders },
					    { NULL, NULL, NULL } };
#define TILES "macro=1x8x256,midi=1x8x256,micro=1x4x256"

static void parameters_come_last_and_round_trip(void **state)
{
	static const char text[] = TILES ",isa=avx2,threads=2,chunk=64,order=down";
	struct tcb_geometry geometry, other;
	char out[TCB_GEOMETRY_TEXT_MAX];

	(void)state;
	assert_int_equal(
		tcb_geometry_parse_of("order=down," TILES ",chunk=64,threads=2,isa=avx2", own, &geometry, NULL),
		TCB_OK);
	assert_int_equal(tcb_geometry_knobs(&geometry), TCB_KNOB_COUNT + 2);
	assert_string_equal(tcb_geometry_key(&geometry, TCB_KNOB_COUNT + 1), "order");
	assert_null(tcb_geometry_key(&geometry, TCB_KNOB_COUNT + 2));
	assert_int_equal(geometry.knob[TCB_KNOB_COUNT], 64);
	assert_int_equal(geometry.knob[TCB_KNOB_COUNT + 1], 1);
	tcb_geometry_print(&geometry, out);
	assert_string_equal(out, text);
	assert_int_equal(tcb_geometry_parse_of(text, own, &other, NULL), TCB_OK);
	assert_true(tcb_geometry_equal(&geometry, &other));
	other.knob[TCB_KNOB_COUNT] = 32;
	assert_false(tcb_geometry_equal(&geometry, &other));
	/* One that is not set is not printed, and a knob's text is as it was. */
	assert_int_equal(tcb_geometry_parse_of(TILES ",isa=avx2", own, &other, NULL), TCB_OK);
	tcb_geometry_print(&other, out);
	assert_string_equal(out, TILES ",isa=avx2");
	assert_int_equal(other.knob[TCB_KNOB_COUNT], TCB_KNOB_UNSET);
}

static void parameters_are_their_ops_alone(void **state)
{
	static const struct {
		const char *text;
		const struct tcb_parameter *parameters;
		const char *what; /* NULL: it is read */
	} cases[] = {
		{ TILES ",chunk=64", NULL, "unknown key" },
		{ TILES ",chunks=64", own, "unknown key" },
		{ TILES ",chunk=64,chunk=64", own, "twice" },
		{ TILES ",chunk=up", own, "whole number" },
		{ TILES ",order=sideways", own, "unknown value" },
		{ TILES ",order=1", own, "unknown value" },
		{ TILES ",chunk=64,order=sideways,what=7", tcb_parameters_any, NULL },
		{ TILES ",chunk=64,Order=1", tcb_parameters_any, "unknown key" },
		{ TILES ",chunk=", tcb_parameters_any, "unknown key" },
		{ TILES ",chunk=6 4", tcb_parameters_any, "unknown key" },
		{ TILES ",threads=many", tcb_parameters_any, "whole number" },
		{ TILES ",chunk", tcb_parameters_any, "unknown key" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tcb_geometry geometry;
		struct tcb_error err = { .message = "" };
		char out[TCB_GEOMETRY_TEXT_MAX];
		const enum tcb_status status =
			tcb_geometry_parse_of(cases[i].text, cases[i].parameters, &geometry, &err);

		if (status != (cases[i].what ? TCB_E_USAGE : TCB_OK) ||
		    (cases[i].what && !strstr(err.message, cases[i].what)))
			fail_msg("'%s': %s", cases[i].text, err.message);
		if (cases[i].what)
			continue;
		tcb_geometry_print(&geometry, out);
		assert_string_equal(out, TILES);
	}
}

static void unfit_parameters_are_refused(void **state)
{
	static const char *const words[] = { "fine", "Fine-2.5+", "not fine", NULL };
	static const struct tcb_parameter taken[] = { { "chunk" }, { "unroll" }, { NULL } };
	static const struct tcb_parameter level[] = { { "midi" }, { NULL } };
	static const struct tcb_parameter twice[] = { { "chunk" }, { "order" }, { "chunk" }, { NULL } };
	static const struct tcb_parameter form[] = { { "9" }, { NULL } };
	static const struct tcb_parameter long_key[] = { { "twenty_four_letters_long" }, { NULL } };
	static const struct tcb_parameter word[] = { { "order", "", words }, { NULL } };
	static const struct tcb_parameter many[] = { { "a" }, { "b" }, { "c" }, { "d" }, { "e" }, { "f" }, { "g" },
						     { "h" }, { "i" }, { "j" }, { "l" }, { "o" }, { "p" }, { "q" },
						     { "r" }, { "s" }, { "t" }, { "u" }, { "v" }, { NULL } };
	static const struct tcb_parameter *const bad[] = { taken, level, twice, form, long_key, word, many };

	(void)state;
	assert_null(tcb_parameters_refused(NULL));
	assert_null(tcb_parameters_refused(own));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (!tcb_parameters_refused(bad[i]))
			fail_msg("list %zu was taken", i);
}

/* The longest that there can be has room. */
static void longest_text_fits(void **state)
{
	static const struct tcb_parameter six[] = { { "fifteen_letters" },
						    { "fifteen_lettert" },
						    { "fifteen_letteru" },
						    { "fifteen_letterv" },
						    { "fifteen_letterw" },
						    { "fifteen_letterx" },
						    { NULL } };
	struct tcb_geometry geometry, again;
	char out[TCB_GEOMETRY_TEXT_MAX];

	(void)state;
	tcb_geometry_init(&geometry);
	geometry.parameters = six;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		geometry.tile[level] = (struct tcb_tile){ SIZE_MAX, SIZE_MAX, SIZE_MAX };
	for (int knob = 0; knob < tcb_geometry_knobs(&geometry); knob++)
		geometry.knob[knob] = tcb_geometry_word(&geometry, knob, 0) ? 0 : INT32_MAX;
	geometry.knob[TCB_KNOB_PASSES] = TCB_PASSES_ALL;
	assert_null(tcb_parameters_refused(six));
	tcb_geometry_print(&geometry, out);
	assert_true(strlen(out) < TCB_GEOMETRY_TEXT_MAX - 1);
	assert_int_equal(tcb_geometry_parse_of(out, six, &again, NULL), TCB_OK);
	assert_true(tcb_geometry_equal(&geometry, &again));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(canonical_text_round_trips),
		cmocka_unit_test(families_and_scopes),
		cmocka_unit_test(no_passes_are_no_knob),
		cmocka_unit_test(all_knobs_round_trip),
		cmocka_unit_test(keys_may_come_in_any_order),
		cmocka_unit_test(random_geometries_round_trip),
		cmocka_unit_test(mistakes_are_named_with_their_column),
		cmocka_unit_test(parameters_come_last_and_round_trip),
		cmocka_unit_test(parameters_are_their_ops_alone),
		cmocka_unit_test(unfit_parameters_are_refused),
		cmocka_unit_test(longest_text_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
