/* SPDX-License-Identifier: MIT
 *
 * Ranking by the model: what is ranked, what comes out and that it is the same
 * each time; the space of an op with GPU kernels on GPUs that are recorded.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"

#include "device/gpu.h"
#include "kernels/constraint.h"
#include "search/model.h"
#include "search/strategy.h"

static struct tcb_error err;

static void place_of(unsigned capability, struct tcb_place *out)
{
	struct tcb_gpu gpu;
	assert_int_equal(tcb_gpu_table(capability, &gpu, &err), TCB_OK);
	tcb_gpu_place(&gpu, out);
}

static struct tcb_problem problem_of(enum tcb_contract contract, size_t n, size_t k)
{
	const struct tcb_shape shape = { 1, n, k };
	struct tcb_problem problem;
	assert_int_equal(tcb_problem_init(tcb_op_find("q4k_matvec"), contract, &shape, &problem, &err), TCB_OK);
	return problem;
}

static struct tcb_sweep_options options_of(size_t trials)
{
	return (struct tcb_sweep_options){ .max_trials = trials, .seed = 1, .states = 1u << TCB_COLD | 1u << TCB_HOT };
}

static void check_decision(const struct tcb_problem *problem, const struct tcb_target *target,
			   const struct tcb_decision *v)
{
	const struct tcb_op *op = problem->op;
	assert_true(v->valid && v->finalist_count > 1 && v->tie_count >= 1);
	for (size_t i = 0; i < v->finalist_count; i++) {
		const struct tcb_finalist *f = &v->finalists[i];
		assert_false(tcb_constraint_violated(op, problem, target, &f->geometry, 0, NULL));
		assert_true(f->ns.median > 0 && f->ns.lo == f->ns.median && f->ns.hi == f->ns.median);
		assert_true(i == 0 || f->ns.median >= v->finalists[i - 1].ns.median);
		assert_true(f->variant[0] && f->signature[0]);
	}
	assert_true(tcb_geometry_equal(&v->tie_set[0], &v->finalists[0].geometry));
	assert_true(v->speedup.median >= 1 && isnan(v->regret));
	assert_true(v->limit_ns.median > 0 && v->limit_method[0]);
}

static void test_all_recorded(void **state)
{
	static const unsigned capabilities[] = { 75, 80, 86, 89, 90, 100, 120 };
	(void)state;
	for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++) {
		const struct tcb_problem problem = problem_of(i % 2 ? TCB_CONTRACT_F32 : TCB_CONTRACT_Q8, 512, 1024);
		const struct tcb_sweep_options options = options_of(10);
		struct tcb_sweep_result result;
		struct tcb_place place;
		place_of(capabilities[i], &place);
		assert_int_equal(tcb_model_sweep(tcb_op_find("q4k_matvec"), &problem, &place, &options, &result, &err),
				 TCB_OK);
		assert_int_equal(result.tried, 10);
		assert_false(result.complete);
		for (int s = 0; s < TCB_STATE_COUNT; s++)
			check_decision(&problem, &place.device.target, &result.decision[s]);
		tcb_sweep_result_fini(&result);
	}
}

static void test_repeats(void **state)
{
	const struct tcb_problem problem = problem_of(TCB_CONTRACT_Q8, 512, 1024);
	const struct tcb_sweep_options options = options_of(30);
	struct tcb_sweep_result first, second;
	struct tcb_place place;
	(void)state;
	place_of(89, &place);
	const struct tcb_op *op = tcb_op_find("q4k_matvec");
	assert_int_equal(tcb_model_sweep(op, &problem, &place, &options, &first, &err), TCB_OK);
	assert_int_equal(tcb_model_sweep(op, &problem, &place, &options, &second, &err), TCB_OK);
	assert_true(first.decision[TCB_COLD].finalists[0].ns.median ==
		    second.decision[TCB_COLD].finalists[0].ns.median);
	assert_true(tcb_geometry_equal(&first.decision[TCB_HOT].finalists[0].geometry,
				       &second.decision[TCB_HOT].finalists[0].geometry));
	tcb_sweep_result_fini(&first);
	tcb_sweep_result_fini(&second);
}

static void test_without_assembler(void **state)
{
	const struct tcb_problem problem = problem_of(TCB_CONTRACT_Q8, 512, 1024);
	const struct tcb_sweep_options options = options_of(6);
	struct tcb_sweep_result result;
	struct tcb_place place;
	(void)state;
	place_of(86, &place);
	setenv("TCBTUNE_ASSEMBLER", "none", 1);
	assert_int_equal(tcb_model_sweep(tcb_op_find("q4k_matvec"), &problem, &place, &options, &result, &err), TCB_OK);
	unsetenv("TCBTUNE_ASSEMBLER");
	assert_non_null(strstr(result.decision[TCB_COLD].limit_method, "estimated registers"));
	tcb_sweep_result_fini(&result);
}

static void test_no_gpu_kernels(void **state)
{
	struct tcb_op op = *tcb_op_find("softmax");
	const struct tcb_sweep_options options = options_of(1);
	struct tcb_problem problem;
	struct tcb_sweep_result result;
	struct tcb_place place;
	(void)state;
	op.side[TCB_TARGET_CUDA] = NULL;
	place_of(89, &place);
	assert_int_equal(tcb_problem_init(&op, TCB_CONTRACT_F32, &op.default_shapes[0], &problem, &err), TCB_OK);
	assert_int_equal(tcb_model_sweep(&op, &problem, &place, &options, &result, &err), TCB_E_UNSUPPORTED);
	tcb_sweep_result_fini(&result);
}

/* Cold is not faster than the bandwidth allows; hot, from the L2, is faster than cold; less bandwidth is slower. */
static void test_bounds(void **state)
{
	const struct tcb_op *op = tcb_op_find("q4k_matvec");
	const struct tcb_problem problem = problem_of(TCB_CONTRACT_Q8, 4096, 4096);
	struct tcb_model model, slow;
	struct tcb_geometry geometry;
	struct tcb_place place;
	(void)state;
	place_of(89, &place);
	assert_int_equal(tcb_model_init(&model, op, &problem, &place, &err), TCB_OK);
	slow = model;
	slow.machine.memory_bytes_s /= 2;
	tcb_op_standard(&problem, &place.device.target, &geometry);
	double at_speed[TCB_STATE_COUNT], at_half[TCB_STATE_COUNT];
	assert_int_equal(tcb_model_time(&model, &geometry, 0, at_speed, &err), TCB_OK);
	assert_int_equal(tcb_model_time(&slow, &geometry, 0, at_half, &err), TCB_OK);
	const double cold = at_speed[TCB_COLD], hot = at_speed[TCB_HOT], slower = at_half[TCB_COLD];
	assert_true(cold >= 1e9 * op->traffic(&problem) / tcb_gpu_of(&place)->read_bytes_s);
	assert_true(hot < cold);
	assert_true(slower > 1.5 * cold);
}

/* The assembler's registers of a sample, told to all: nearer to what it says of others than the estimate is. */
static void test_calibration(void **state)
{
	const struct tcb_op *op = tcb_op_find("q4k_matvec");
	const struct tcb_problem problem = problem_of(TCB_CONTRACT_F32, 256, 1024);
	struct tcb_space *space;
	struct tcb_model model;
	struct tcb_codes *codes;
	struct tcb_place place;
	(void)state;
	place_of(86, &place);
	assert_int_equal(tcb_model_init(&model, op, &problem, &place, &err), TCB_OK);
	assert_int_equal(tcb_model_codes(&model, &codes, &err), TCB_OK);
	if (strstr(tcb_codes_assembler(codes), "driver")) {
		tcb_codes_destroy(codes);
		skip_because("no assembler for PTX");
	}
	assert_int_equal(tcb_space_create(op, &problem, &place.device.target, 0, &space, &err), TCB_OK);
	assert_int_equal(tcb_model_calibrate(&model, &codes, space, 1000, 1, 0, &err), TCB_OK);
	assert_true(model.line[TCB_COPY_LDG].scale > 0 && model.line[TCB_COPY_ASYNC].scale > 0);
	assert_true(model.line[TCB_COPY_BULK].scale == 0); /* none on this device */
	tcb_space_destroy(space);
	tcb_codes_destroy(codes);
}

/* A sample: spread over the space, the best first; all of a small space; none without time, or when stopped. */
static void test_sample(void **state)
{
	const struct tcb_op *op = tcb_op_find("q4k_matvec");
	const struct tcb_problem problem = problem_of(TCB_CONTRACT_Q8, 512, 1024);
	const volatile sig_atomic_t stop = 1;
	struct tcb_space *space;
	struct tcb_model model;
	struct tcb_place place;
	size_t best[TCB_MODEL_SAMPLE], found, modelled;
	(void)state;
	place_of(89, &place);
	assert_int_equal(tcb_model_init(&model, op, &problem, &place, &err), TCB_OK);
	assert_int_equal(tcb_space_create(op, &problem, &place.device.target, 0, &space, &err), TCB_OK);
	struct tcb_model_sampling setup = { .space = space, .states = 1u << TCB_HOT, .seed = 3, .seconds = INFINITY };
	const size_t all = space->count;
	assert_true(all > 2 * TCB_MODEL_SAMPLE);
	assert_int_equal(tcb_model_sample(&model, &setup, best, &found, &modelled, &err), TCB_OK);
	assert_int_equal(modelled, TCB_MODEL_SAMPLE);
	assert_true(found > 4 && found <= modelled);
	double last = 0;
	unsigned char seen[TCB_MODEL_SAMPLE] = { 0 };
	for (size_t i = 0; i < found; i++) {
		double ns[TCB_STATE_COUNT];
		assert_int_equal(tcb_model_time(&model, &space->geometries[best[i]], 0, ns, &err), TCB_OK);
		assert_true(ns[TCB_HOT] >= last);
		last = ns[TCB_HOT];
		size_t stretch = 0; /* of which each has one */
		while ((stretch + 1) * all / TCB_MODEL_SAMPLE <= best[i])
			stretch++;
		assert_int_equal(seen[stretch]++, 0);
	}
	setup.stop = &stop;
	assert_int_equal(tcb_model_sample(&model, &setup, best, &found, &modelled, &err), TCB_OK);
	assert_int_equal(modelled + found, 0);
	setup.stop = NULL;
	setup.seconds = 0;
	assert_int_equal(tcb_model_sample(&model, &setup, best, &found, &modelled, &err), TCB_OK);
	assert_int_equal(modelled + found, 0);
	setup.seconds = INFINITY;
	setup.states = 1u << TCB_COLD | 1u << TCB_HOT;
	space->count = 10;
	assert_int_equal(tcb_model_sample(&model, &setup, best, &found, &modelled, &err), TCB_OK);
	assert_true(modelled == 10 && found <= 10);
	for (size_t i = 0; i < found; i++)
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(best[i], best[j]);
	space->count = all;
	tcb_space_destroy(space);
}

/* The strategy deals everything, once, and in the order of the model's times. */
static void test_strategy(void **state)
{
	const struct tcb_op *op = tcb_op_find("q4k_matvec");
	const struct tcb_problem problem = problem_of(TCB_CONTRACT_Q8, 256, 512);
	const struct tcb_strategy *strategy = tcb_strategy_find("model");
	struct tcb_space *space;
	struct tcb_model model;
	struct tcb_place place;
	void *self;
	(void)state;
	place_of(75, &place);
	assert_int_equal(tcb_model_init(&model, op, &problem, &place, &err), TCB_OK);
	assert_int_equal(tcb_space_create(op, &problem, &place.device.target, 0, &space, &err), TCB_OK);
	const size_t all = space->count;
	space->count = all < 40 ? all : 40; /* enough to tell an order */
	struct tcb_lattice lattice;
	assert_int_equal(tcb_lattice_of_geometries(&lattice, space->geometries, space->count, &err), TCB_OK);
	const struct tcb_strategy_setup setup = { .lattice = &lattice,
						  .start = space->default_index,
						  .problem = &problem,
						  .space = space,
						  .states = 1u << TCB_COLD,
						  .seed = 3,
						  .op = op,
						  .modelled = &place };
	assert_int_equal(strategy->create(&setup, &self, &err), TCB_OK);
	tcb_strategy_model_wait(self);
	double last = 0;
	size_t dealt = 0;
	for (size_t index; (index = strategy->ask(self, 0)) != TCB_ASK_NONE; dealt++) {
		double ns[TCB_STATE_COUNT];
		(void)tcb_model_time(&model, &space->geometries[index], 0, ns, NULL);
		assert_false(ns[TCB_COLD] < last);
		last = isnan(ns[TCB_COLD]) ? INFINITY : ns[TCB_COLD];
	}
	assert_int_equal(dealt, space->count);
	strategy->destroy(self);
	tcb_lattice_fini(&lattice);
	space->count = all;
	tcb_space_destroy(space);
}

/* Asked at once, it deals what is there, each candidate once, and stops its threads when it is not wanted any more. */
static void test_strategy_at_once(void **state)
{
	const struct tcb_op *op = tcb_op_find("q4k_matvec");
	const struct tcb_problem problem = problem_of(TCB_CONTRACT_Q8, 256, 512);
	const struct tcb_strategy *strategy = tcb_strategy_find("model");
	struct tcb_space *space;
	struct tcb_place place;
	void *self;
	(void)state;
	place_of(75, &place);
	assert_int_equal(tcb_space_create(op, &problem, &place.device.target, 0, &space, &err), TCB_OK);
	unsigned char *seen = calloc(space->count, 1);
	assert_non_null(seen);
	struct tcb_lattice lattice;
	assert_int_equal(tcb_lattice_of_geometries(&lattice, space->geometries, space->count, &err), TCB_OK);
	const struct tcb_strategy_setup setup = { .lattice = &lattice,
						  .start = space->default_index,
						  .problem = &problem,
						  .space = space,
						  .states = 1u << TCB_COLD | 1u << TCB_HOT,
						  .seed = 3,
						  .op = op,
						  .modelled = &place };
	assert_int_equal(strategy->create(&setup, &self, &err), TCB_OK);
	strategy->tell(self, 0, &(struct tcb_told){ .outcome = TCB_OUTCOME_OK });
	for (size_t i = 1; i < space->count; i++) {
		const size_t index = strategy->ask(self, 0);
		assert_true(index > 0 && index < space->count && !seen[index]);
		seen[index] = 1;
	}
	assert_true(strategy->ask(self, 0) == TCB_ASK_NONE);
	strategy->destroy(self);
	assert_int_equal(strategy->create(&setup, &self, &err), TCB_OK);
	strategy->destroy(self);
	tcb_lattice_fini(&lattice);
	free(seen);
	tcb_space_destroy(space);
}

/* A GPU whose multiprocessors hold no block of anything: the sweep says so. */
/* Three quarters of a round of tiles after a full one: dealt by steps along k it takes less than a whole one. */
static void test_partial_round(void **state)
{
	static const char *const geometries[] = {
		"macro=2048x8192x1024,midi=128x256x64,micro=64x256x64,isa=wgmma,vec=16,stages=4,splitk=1,copy=bulk,"
		"blocks=1,pdl=0,occ=1,cluster=1",
		"macro=2048x8192x1024,midi=128x256x64,micro=64x256x64,isa=wgmma,sched=streamk,vec=16,stages=4,splitk=1,"
		"copy=bulk,blocks=1,pdl=0,occ=1,cluster=1",
	};
	const struct tcb_op *op = tcb_op_find("matmul_f16");
	const struct tcb_shape shape = { 1536, 6144, 1024 };
	double ns[2][TCB_STATE_COUNT];
	struct tcb_problem problem;
	struct tcb_model model;
	struct tcb_place place;
	(void)state;
	place_of(90, &place);
	assert_int_equal(tcb_problem_init(op, TCB_CONTRACT_F16, &shape, &problem, &err), TCB_OK);
	assert_int_equal(tcb_model_init(&model, op, &problem, &place, &err), TCB_OK);
	for (int i = 0; i < 2; i++) {
		struct tcb_geometry geometry;
		assert_int_equal(tcb_geometry_parse(geometries[i], &geometry, &err), TCB_OK);
		assert_int_equal(tcb_model_time(&model, &geometry, 0, ns[i], &err), TCB_OK);
	}
	assert_true(ns[1][TCB_COLD] < 0.85 * ns[0][TCB_COLD]);
}

static void test_all_fail(void **state)
{
	const struct tcb_problem problem = problem_of(TCB_CONTRACT_Q8, 512, 1024);
	const struct tcb_sweep_options options = options_of(20);
	struct tcb_sweep_result result;
	struct tcb_place place;
	(void)state;
	place_of(89, &place);
	struct tcb_gpu gpu = *tcb_gpu_of(&place);
	gpu.blocks_max = 0;
	tcb_gpu_place(&gpu, &place);
	assert_int_equal(tcb_model_sweep(tcb_op_find("q4k_matvec"), &problem, &place, &options, &result, &err), TCB_OK);
	assert_true(result.tried == 20 && result.failed == 20 && result.failure_count >= 10);
	assert_non_null(strstr(result.failure, "does not fit on a multiprocessor"));
	assert_false(result.decision[TCB_COLD].valid || result.decision[TCB_HOT].valid);
	tcb_sweep_result_fini(&result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_recorded),   cmocka_unit_test(test_all_fail),
		cmocka_unit_test(test_repeats),        cmocka_unit_test(test_without_assembler),
		cmocka_unit_test(test_no_gpu_kernels), cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_strategy),       cmocka_unit_test(test_strategy_at_once),
		cmocka_unit_test(test_calibration),    cmocka_unit_test(test_sample),
		cmocka_unit_test(test_partial_round),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
