/* SPDX-License-Identifier: MIT
 *
 * The word bits on this processor: for each op and contract families of shapes (measure_bits.h), whose rows must have
 * the same bits whatever M, the batch, the threads and the geometry are.
 *
 *     test_verify_bits [SHAPES [M [PROBLEMS GEOMETRIES [SEED [OP]]]]]
 *
 * takes so many families of each op, of up to M rows, and prints a line for each op and contract.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_identity.h"
#include "base/tiles.h"
#include "cmocka_all.h"
#include "instrumented.h"
#include "verify/measure_bits.h"
#include "verify/measure_op.h"

static struct tcb_bits_draw draw = { .shapes = 1, .problems = 4, .geometries = 4, .m_most = 24 };
static struct tcb_place place;
static struct tcb_claim_lab lab = { .place = &place, .seed = 1 };
static int prints;

static void measure(const struct tcb_op *op, enum tcb_contract contract, const struct tcb_bits_draw *of,
		    struct tcb_bits_sum *all)
{
	struct tcb_bits_sum sum = { 0 };
	struct tcb_finding found = { 0 };
	if (!tcb_bits_measure(&lab, op, contract, of, &sum, &found))
		fail_msg("%s", found.text);
	if (prints && !of->is_free)
		printf("%s %s: %llu of %llu results differ, %u geometries, %u families\n", op->name,
		       tcb_contract_text(contract), (unsigned long long)sum.differing, (unsigned long long)sum.values,
		       sum.runs, sum.shapes);
	if (sum.differing && !of->is_free)
		print_message("%s\n", sum.first);
	all->ops += sum.ops;
	all->shapes += sum.shapes;
	all->runs += sum.runs;
	all->values += sum.values;
	all->differing += sum.differing;
}

static void measure_all(const struct tcb_bits_draw *of, struct tcb_bits_sum *all)
{
	size_t count;
	const struct tcb_op *const *ops = tcb_ops(&count);
	for (size_t i = 0; i < count; i++)
		for (int c = 0; c < TCB_CONTRACT_COUNT; c++)
			if ((!lab.op || lab.op == ops[i]) && !test_leaves_out(i) &&
			    tcb_bits_are_promised(&lab, ops[i], (enum tcb_contract)c))
				measure(ops[i], (enum tcb_contract)c, of, all);
	print_message("%llu of %llu results differ, of %u geometries, %u families, %u ops and contracts%s\n",
		      (unsigned long long)all->differing, (unsigned long long)all->values, all->runs, all->shapes,
		      all->ops, of->is_free ? " (without the word)" : "");
}

static void same_bits(void **state)
{
	struct tcb_bits_sum all = { 0 };
	(void)state;
	measure_all(&draw, &all);
	assert_true(all.runs > 0);
	assert_int_equal(all.differing, 0);
}

/* Without the word there are other orders, and the comparison sees them. */
static void other_bits_without(void **state)
{
	struct tcb_bits_draw of = draw;
	struct tcb_bits_sum all = { 0 };
	(void)state;
	if (TEST_IS_INSTRUMENTED)
		return; /* of a sixteenth of the ops all may keep their order */
	of.is_free = 1;
	measure_all(&of, &all);
	assert_true(all.differing > 0);
}

/* Of contract q8: a token has the same bits from the matmul, the MatVec and the one expert of a mixture. */
static void products_agree(void **state)
{
	static const char *const formats[] = { "q4k", "q6k", "q80", "q2k", "iq4xs", "mxfp4" };
	static const char *const ops[] = { "matmul", "matvec", "experts_matmul" };
	static const char *const words[] = { "bits", "bits", "e1/1,bits" };
	enum { OPS = 3, TOKENS = 5, ROWS = 67 };

	(void)state;
	for (size_t f = 0; f < sizeof(formats) / sizeof(formats[0]); f++) {
		struct tcb_op_run runs[OPS];
		struct tcb_finding found = { 0 };
		for (size_t i = 0; i < OPS; i++) {
			struct tcb_shape shape = { .m = TOKENS, .n = ROWS, .k = 512 };
			char name[32];
			snprintf(name, sizeof name, "%s_%s", formats[f], ops[i]);
			assert_int_equal(tcb_words_parse(words[i], &shape.words, NULL), TCB_OK);
			if (!tcb_op_run_open(&runs[i], &lab, name, &shape, &found))
				fail_msg("%s", found.text);
			for (size_t o = 0; o < 2; o++) /* weights, x */
				memcpy(runs[i].data[o], runs[0].data[o], runs[0].operands[o].bytes);
			if (!tcb_op_run_go(&runs[i], NULL, &found))
				fail_msg("%s", found.text);
			assert_memory_equal(runs[i].got, runs[0].got, TOKENS * ROWS * sizeof(float));
		}
		for (size_t i = 0; i < OPS; i++)
			tcb_op_run_close(&runs[i]);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(same_bits), cmocka_unit_test(other_bits_without),
					    cmocka_unit_test(products_agree) };
	struct tcb_error err;
	if (TEST_IS_INSTRUMENTED)
		draw.problems = draw.geometries = 2;
	prints = argc > 1;
	draw.shapes = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : draw.shapes;
	draw.m_most = argc > 2 ? strtoul(argv[2], NULL, 10) : draw.m_most;
	if (argc > 4) {
		draw.problems = (unsigned)strtoul(argv[3], NULL, 10);
		draw.geometries = (unsigned)strtoul(argv[4], NULL, 10);
	}
	lab.seed = argc > 5 ? strtoul(argv[5], NULL, 10) : lab.seed;
	lab.op = argc > 6 ? tcb_op_find(argv[6]) : NULL;
	if (tcb_cpu_identify("cpu", 2, &place.device, &err) != TCB_OK) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	(void)tcb_tiles_ask(NULL); /* where there are any */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
