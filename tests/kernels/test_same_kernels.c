/* SPDX-License-Identifier: MIT
 *
 * Holds src/kernels/same_kernels.c to its word: candidates of the results whose
 * old signatures it lists (some of each, in tests/fixtures/proven_kernels.txt
 * with the signatures that they have since) are still written as they were
 * measured.  Where this fails a kernel changed: was it meant to, then the rows
 * of its variant go from same_kernels.c, and its lines from that file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "kernels/signature.h"

/* What the candidates were measured on: one H200. */
static struct tcb_target h200(void)
{
	struct tcb_target target = {
		.cuda.capability = 90, .cuda.sm_count = 132, .cuda.shared_optin_bytes = 232448, .l2_bytes = 60 << 20
	};
	tcb_target_complete_gpu(&target);
	return target;
}

static void check_line(char *line, const struct tcb_target *target)
{
	char *rest = line, *field[6];
	for (int i = 0; i < 6; i++)
		assert_non_null(field[i] = strsep(&rest, " \n"));
	const struct tcb_op *op = tcb_op_find(field[0]);
	struct tcb_packings packings = { .is_known = { 0 } };
	char variant[TCB_VARIANT_NAME_MAX], signature[TCB_SIGNATURE_MAX];
	enum tcb_contract contract;
	struct tcb_geometry geometry;
	struct tcb_problem problem;
	struct tcb_shape shape;
	struct tcb_error err = { .message = "" };
	assert_non_null(op);
	assert_int_equal(tcb_contract_parse(field[1], &contract, &err), TCB_OK);
	assert_int_equal(tcb_shape_parse(field[3], &shape, &err), TCB_OK);
	assert_int_equal(tcb_geometry_parse(field[4], &geometry, &err), TCB_OK);
	assert_int_equal(tcb_problem_init(op, contract, &shape, &problem, &err), TCB_OK);
	if (tcb_candidate_identify(&problem, target, &geometry, &packings, variant, signature, &err) != TCB_OK)
		fail_msg("%s %s: %s", field[0], field[4], err.message);
	if (strcmp(signature, field[5]) != 0)
		fail_msg("%s %s %s is another kernel now: %s", field[0], field[3], field[4], signature);
	/* The old signature counts for it, and for no other variant. */
	assert_true(tcb_candidate_is_current(&problem, target, &geometry, field[2], &packings));
	assert_true(tcb_signature_is_proven(op, tcb_variant_find(op, contract, &geometry), field[2]));
	assert_false(tcb_signature_is_proven(tcb_op_find("reduce2d_min"), tcb_variant_at(tcb_op_gpu(op), 0), field[2]));
	field[2][0] = field[2][0] == '0' ? '1' : '0';
	assert_false(tcb_candidate_is_current(&problem, target, &geometry, field[2], &packings));
}

static void proven_kernels_are_the_same(void **state)
{
	const struct tcb_target target = h200();
	FILE *file = fopen(TCB_FIXTURES "/proven_kernels.txt", "r");
	char line[1024];
	size_t lines = 0;
	(void)state;
	assert_non_null(file);
	for (; fgets(line, sizeof line, file); lines++)
		check_line(line, &target);
	fclose(file);
	assert_true(lines > 150);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(proven_kernels_are_the_same) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
