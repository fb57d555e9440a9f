/* SPDX-License-Identifier: MIT
 *
 * Learned defaults: whatever the shape, legal and emitted; the same every time, and the tables say of trials that are
 * stored what was measured.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpu_table.h"
#include "base/stats.h"
#include "base/util.h"
#include "cmocka_all.h"
#include "kernels/constraint.h"
#include "kernels/default_rules.h"
#include "kernels/defaults/learned.h"
#include "kernels/defaults/learned_features.h"
#include "kernels/space.h"

enum { SHAPES = 1500, EMITTED_OF = 30, PROBLEMS_MOST = 32 };
/* Of trials that the table was made of, among others; at shapes that it was not, results/defaults has what it loses. */
static const double MEDIAN_MOST = 1.04, WORST_MOST = 1.15;

static struct tcb_target target_of(const struct tcb_learned *table)
{
	struct tcb_gpu gpu;
	unsigned capability;
	assert_int_equal(sscanf(table->arch, "sm_%u", &capability), 1);
	assert_int_equal(tcb_gpu_table(capability, &gpu, NULL), TCB_OK);
	return gpu.device.target;
}

static size_t draw_size(struct tcb_rng *rng, size_t least, size_t most, size_t multiple)
{
	size_t size = least;
	while (2 * size <= most && tcb_rng_below(rng, 4))
		size *= 2;
	size += tcb_rng_below(rng, 2) ? tcb_rng_below(rng, size) : 0;
	size = size < most ? size : most;
	return size < multiple ? multiple : size / multiple * multiple;
}

/* A problem of TABLE's family within its sizes; of a family with words TABLE's own op's, with those of its first shape.
 */
static struct tcb_problem draw_problem(struct tcb_rng *rng, const struct tcb_learned *table)
{
	const struct tcb_target target = target_of(table);
	size_t count;
	const struct tcb_op *const *ops = tcb_ops(&count);
	for (;;) {
		const struct tcb_op *op = ops[tcb_rng_below(rng, count)];
		const enum tcb_contract contract = (enum tcb_contract)tcb_rng_below(rng, TCB_CONTRACT_COUNT);
		struct tcb_shape shape = { draw_size(rng, table->least.m, table->most.m, 1),
					   draw_size(rng, table->least.n, table->most.n, 1),
					   draw_size(rng, table->least.k, table->most.k, 256),
					   op->default_shapes[0].words };
		struct tcb_problem problem;
		shape.words.bits = op->words >> TCB_WORD_BITS & 1u && tcb_rng_below(rng, 4) == 0;
		if (tcb_op_side(op, &target) && op->contracts >> contract & 1u &&
		    tcb_problem_init(op, contract, &shape, &problem, NULL) == TCB_OK &&
		    tcb_learned_has(&problem, &target) &&
		    !strcmp(tcb_space_of(&problem, &target, NULL)->family, table->family))
			return problem;
	}
}

static void check_emits(const struct tcb_problem *problem, const struct tcb_target *target,
			const struct tcb_geometry *geometry)
{
	struct tcb_kernel kernel;
	struct tcb_error err = { .message = "" };
	if (tcb_kernel_emit(problem, target, geometry, &kernel, &err) != TCB_OK)
		fail_msg("%s", err.message);
	tcb_kernel_fini(&kernel);
}

static void they_are_legal_whatever_the_shape(void **state)
{
	const struct tcb_learned *table;
	(void)state;
	for (size_t t = 0; (table = tcb_learned_at(t)); t++) {
		const struct tcb_target target = target_of(table);
		struct tcb_rng rng;
		size_t learned = 0;
		tcb_rng_init(&rng, t);
		for (size_t i = 0; i < SHAPES; i++) {
			const struct tcb_problem problem = draw_problem(&rng, table);
			struct tcb_geometry geometry, again;
			char why[TCB_WHY_MAX], text[TCB_SHAPE_TEXT_MAX];
			learned += tcb_default_geometry(&problem, &target, &geometry).learned != NULL;
			if (tcb_constraint_violated(problem.op, &problem, &target, &geometry, 0, why)) {
				tcb_shape_print(&problem.shape, text);
				fail_msg("%s %s: %s", problem.op_name, text, why);
			}
			(void)tcb_default_geometry(&problem, &target, &again);
			assert_true(tcb_geometry_equal(&geometry, &again));
			if (i % EMITTED_OF == 0)
				check_emits(&problem, &target, &geometry);
		}
		print_message("%s, %s: %zu of %d learned\n", table->family, table->arch, learned, SHAPES);
		assert_true(learned > SHAPES / 2);
	}
}

/* Who knows the card itself (a sweep, `bench`) and who knows its architecture alone (libtcbrt without a database) have
 * the same default: 512x5120x5120 of q4k_matmul had one on an H200 and another of sm_90. */
static void cards_of_an_architecture_have_the_same(void **state)
{
	const struct tcb_learned *table;
	(void)state;
	for (size_t t = 0; (table = tcb_learned_at(t)); t++) {
		const struct tcb_target recorded = target_of(table);
		struct tcb_rng rng;
		tcb_rng_init(&rng, t + 7);
		for (size_t i = 0; i < SHAPES; i++) {
			const struct tcb_problem problem = draw_problem(&rng, table);
			struct tcb_target card = recorded;
			struct tcb_geometry of_recorded, of_card;
			card.l2_bytes = card.llc_bytes = (size_t)(i % 2 ? 60 : 1) << 20;
			(void)tcb_default_geometry(&problem, &recorded, &of_recorded);
			(void)tcb_default_geometry(&problem, &card, &of_card);
			assert_true(tcb_geometry_equal(&of_recorded, &of_card));
		}
	}
}

/* Of whole spaces the fastest come in order, and the default is predicted to be hardly slower. */
static void defaults_are_near_the_least_of_spaces(void **state)
{
	static const struct tcb_shape shapes[] = { { 20, 4096, 3072 }, { 64, 5120, 5120 }, { 500, 2048, 4096 } };
	const struct tcb_learned *table = &tcb_learned_sm_90_quant_matmul;
	const struct tcb_target target = target_of(table);
	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		int16_t features[TCB_LEARNED_FEATURE_COUNT];
		size_t fastest[4];
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_space *space;
		int32_t before = INT32_MIN, least = 0;
		assert_int_equal(
			tcb_problem_init(tcb_op_find("q4k_matmul"), TCB_CONTRACT_F16, &shapes[i], &problem, NULL),
			TCB_OK);
		assert_int_equal(tcb_space_create(problem.op, &problem, &target, 0, &space, NULL), TCB_OK);
		assert_int_equal(tcb_learned_fastest(&problem, &target, space->geometries, space->count, 4, fastest),
				 4);
		for (size_t f = 0; f < 4; f++) {
			tcb_learned_features(&problem, &target, &space->geometries[fastest[f]], features);
			const int32_t predicted = tcb_learned_predict(table, features);
			assert_true(predicted >= before);
			before = predicted;
			least = f ? least : predicted;
		}
		assert_non_null(tcb_default_geometry(&problem, &target, &geometry).learned);
		tcb_learned_features(&problem, &target, &geometry, features);
		const double slower = (double)(tcb_learned_predict(table, features) - least) / TCB_LEARNED_ONE;
		print_message("%zux%zux%zu: %.3f\n", shapes[i].m, shapes[i].n, shapes[i].k, slower);
		assert_true(slower < 0.05);
		tcb_space_destroy(space);
	}
}

/* Other architectures and far sizes have what they had. */
static void others_have_none(void **state)
{
	const struct tcb_learned *table;
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 3);
	for (size_t t = 0; (table = tcb_learned_at(t)); t++) {
		struct tcb_target target = target_of(table);
		const struct tcb_problem some = draw_problem(&rng, table);
		struct tcb_shape far = some.shape;
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		far.n = 2 * table->most.n;
		assert_non_null(tcb_default_geometry(&some, &target, &geometry).learned);
		assert_int_equal(tcb_problem_init(some.op, some.contract, &far, &problem, NULL), TCB_OK);
		assert_null(tcb_default_geometry(&problem, &target, &geometry).learned);
		target.cuda.capability = 80;
		assert_null(tcb_default_geometry(&some, &target, &geometry).learned);
	}
}

/* --- stored trials --- */

/* A problem of the fixture: what was predicted to be the least and the most of what was measured there. */
struct judged {
	char name[TCB_OP_NAME_MAX + TCB_SHAPE_TEXT_MAX + 8];
	int32_t least, most;
	double loss_of_least, loss_of_most;
};

static size_t judge(const struct tcb_learned *table, const char *path, struct judged judged[PROBLEMS_MOST])
{
	const struct tcb_target target = target_of(table);
	char line[TCB_GEOMETRY_TEXT_MAX], op[TCB_OP_NAME_MAX], contract[8], shape[TCB_SHAPE_TEXT_MAX];
	char text[TCB_GEOMETRY_TEXT_MAX];
	size_t count = 0;
	double loss;
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof line, file)) {
		struct judged found = { .least = 0 }, *at = count ? &judged[count - 1] : NULL;
		struct tcb_geometry geometry;
		struct tcb_problem problem;
		struct tcb_shape sizes;
		enum tcb_contract of;
		int16_t features[TCB_LEARNED_FEATURE_COUNT];
		assert_int_equal(sscanf(line, "%31s %7s %63s %lf %1023s", op, contract, shape, &loss, text), 5);
		assert_int_equal(tcb_contract_parse(contract, &of, NULL), TCB_OK);
		assert_int_equal(tcb_shape_parse(shape, &sizes, NULL), TCB_OK);
		assert_int_equal(tcb_problem_init(tcb_op_find(op), of, &sizes, &problem, NULL), TCB_OK);
		assert_int_equal(tcb_geometry_parse_of(text, problem.op->parameters, &geometry, NULL), TCB_OK);
		tcb_learned_features(&problem, &target, &geometry, features);
		found.least = found.most = tcb_learned_predict(table, features);
		found.loss_of_least = found.loss_of_most = loss;
		(void)snprintf(found.name, sizeof found.name, "%s %s %s", op, contract, shape);
		if (!at || strcmp(at->name, found.name) != 0) {
			assert_true(count < PROBLEMS_MOST);
			judged[count++] = found;
			continue;
		}
		if (found.least < at->least) {
			at->least = found.least;
			at->loss_of_least = loss;
		}
		if (found.most > at->most) {
			at->most = found.most;
			at->loss_of_most = loss;
		}
	}
	fclose(file);
	return count;
}

static void check_sample(const struct tcb_learned *table, const char *path)
{
	struct judged judged[PROBLEMS_MOST];
	double least[PROBLEMS_MOST], most[PROBLEMS_MOST];
	const size_t count = judge(table, path, judged);
	assert_true(count >= 8);
	for (size_t i = 0; i < count; i++) {
		print_message("%-40s %.3f, the slowest %.3f\n", judged[i].name, judged[i].loss_of_least,
			      judged[i].loss_of_most);
		least[i] = judged[i].loss_of_least;
		most[i] = judged[i].loss_of_most;
	}
	qsort(least, count, sizeof *least, tcb_ascending);
	qsort(most, count, sizeof *most, tcb_ascending);
	assert_true(least[count / 2] <= MEDIAN_MOST);
	assert_true(least[count - 1] <= WORST_MOST);
	assert_true(most[count / 2] > 1.5);
}

/* A table of other features, or a feature that is computed in another way than the trials' were, would not tell. */
static void stored_trials_are_told_apart(void **state)
{
	static const struct {
		const struct tcb_learned *table;
		const char *path;
	} samples[] = {
		{ &tcb_learned_sm_90_quant_matmul, TCB_FIXTURES "/learned_sm_90_quant_matmul.txt" },
		{ &tcb_learned_sm_90_quant_matvec, TCB_FIXTURES "/learned_sm_90_quant_matvec.txt" },
		{ &tcb_learned_sm_90_matmul, TCB_FIXTURES "/learned_sm_90_matmul.txt" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
		check_sample(samples[i].table, samples[i].path);
}
/* Numbers that trees, forms and the parts of a batch index arrays with. */
static void tables_keep_within_their_arrays(void **state)
{
	const struct tcb_learned *table;
	(void)state;
	for (size_t t = 0; (table = tcb_learned_at(t)); t++) {
		assert_in_range(table->form_count, 1, UINT16_MAX);
		assert_in_range(table->field_count, 1, TCB_LEARNED_FIELDS_MAX);
		assert_in_range(table->loss_count, 1, 8);
		assert_int_equal(table->losses[table->loss_count - 1].m, 0);
		for (size_t i = 0; i < table->tree_count; i++)
			for (size_t d = 0; d < TCB_LEARNED_DEPTH; d++)
				assert_in_range(table->trees[i].feature[d], 0, TCB_LEARNED_FEATURE_COUNT - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_keep_within_their_arrays),
		cmocka_unit_test(stored_trials_are_told_apart),
		cmocka_unit_test(they_are_legal_whatever_the_shape),
		cmocka_unit_test(cards_of_an_architecture_have_the_same),
		cmocka_unit_test(defaults_are_near_the_least_of_spaces),
		cmocka_unit_test(others_have_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
