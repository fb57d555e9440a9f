/* SPDX-License-Identifier: MIT
 *
 * The table of claims, and how one is judged: by its own measurement and by
 * that of its control, which must come out the other way.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "verify/claim.h"

/* What the measurement of a claim, of its defect and of its truth says: 1, 0, or -1 for not run. */
static int say[3];

static void measure(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	(void)lab;
	if (say[plant] < 0)
		tcb_found_nothing(out, "no device %d", plant);
	else
		tcb_found(out, say[plant], "figure %d", plant);
}

static void judged(void **state)
{
	static const struct {
		enum tcb_claim_kind kind;
		int itself, defect, truth;
		enum tcb_claim_result result;
		const char *evidence, *control;
	} cases[] = {
		{ TCB_CLAIM_OURS, 1, 0, 0, TCB_CLAIM_PASS, "figure 0", "failed as it must: figure 1" },
		{ TCB_CLAIM_OURS, 1, 1, 0, TCB_CLAIM_FAIL, "figure 0", "the check cannot fail: figure 1" },
		{ TCB_CLAIM_OURS, 0, 0, 1, TCB_CLAIM_FAIL, "figure 0", "failed as it must: figure 1" },
		{ TCB_CLAIM_OURS, -1, 0, 0, TCB_CLAIM_NOT_RUN, "no device 0", "" },
		{ TCB_CLAIM_OURS, 1, -1, 0, TCB_CLAIM_NOT_RUN,
		  "no control, so nothing is proved: no device 1; measured: figure 0", "" },
		{ TCB_CLAIM_SOURCE, 1, 0, 0, TCB_CLAIM_PASS, "figure 0", "failed as it must: figure 1" },
		{ TCB_CLAIM_SOURCE, 0, 0, 1, TCB_CLAIM_REFUTED, "figure 0", "held as it must: figure 2" },
		{ TCB_CLAIM_SOURCE, 0, 0, 0, TCB_CLAIM_FAIL, "figure 0", "the check cannot hold: figure 2" },
		{ TCB_CLAIM_SOURCE, 1, 1, 1, TCB_CLAIM_FAIL, "figure 0", "the check cannot fail: figure 1" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tcb_claim_lab lab = { 0 };
		struct tcb_claim_outcome outcome;
		const struct tcb_claim claim = { "X", "x", "x", "A", cases[i].kind, measure, NULL };
		memcpy(say, (int[]){ cases[i].itself, cases[i].defect, cases[i].truth }, sizeof say);
		tcb_claim_check(&claim, &lab, &outcome);
		assert_int_equal(outcome.result, cases[i].result);
		assert_string_equal(outcome.evidence, cases[i].evidence);
		assert_string_equal(outcome.control, cases[i].control);
	}
}

static void never_run(void **state)
{
	const struct tcb_claim claim = { "X", "x", "x", "D", TCB_CLAIM_OURS, NULL, "not applicable: no such thing" };
	struct tcb_claim_lab lab = { 0 };
	struct tcb_claim_outcome outcome;
	(void)state;
	tcb_claim_check(&claim, &lab, &outcome);
	assert_int_equal(outcome.result, TCB_CLAIM_NOT_RUN);
	assert_string_equal(outcome.evidence, claim.not_run);
}

static void results_have_names(void **state)
{
	(void)state;
	for (unsigned i = 0; i < TCB_CLAIM_RESULT_COUNT; i++)
		assert_int_equal(tcb_claim_result_find(tcb_claim_result_text((enum tcb_claim_result)i)), i);
	assert_int_equal(tcb_claim_result_find("PASSED"), TCB_CLAIM_RESULT_COUNT);
}

/* Each row has what a report needs, once, and either a function or a reason. */
static void rows_are_whole(void **state)
{
	const struct tcb_claim *claim;
	(void)state;
	for (size_t i = 0; (claim = tcb_claim_at(i)); i++) {
		assert_ptr_equal(tcb_claim_find(claim->id), claim);
		assert_true(strlen(claim->id) < TCB_CLAIM_ID_MAX);
		assert_true(claim->claim[0] && claim->threshold[0] && claim->method[0]);
		assert_true(!claim->measure == !!claim->not_run);
	}
	assert_null(tcb_claim_find("F399"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(judged),
		cmocka_unit_test(never_run),
		cmocka_unit_test(results_have_names),
		cmocka_unit_test(rows_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
