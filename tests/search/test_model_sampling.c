/* SPDX-License-Identifier: MIT
 *
 * The simulation with long loops sampled against the simulation of every turn:
 * kernels of all ops that have them, of the default geometry and of others
 * drawn from the whole space, on several GPUs.  Prints each, and what the
 * differences come to (docs/model.md quotes it).  With arguments
 *
 *     test_search_model_sampling OP CONTRACT SHAPE CAPABILITY COUNT
 *
 * it does the same for the default geometry of one problem and COUNT others.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmocka_all.h"

#include "base/util.h"
#include "device/gpu.h"
#include "instrumented.h"
#include "kernels/constraint.h"
#include "search/model.h"

enum { DRAWN = 3, SEED = 7, TIMES_MAX = 1024 };
/* Most that one kernel may be off, and half of them. */
static const double OFF_MOST = 0.04, OFF_HALF = 0.01;
static const double SAMPLED_LEAST = 0.4; /* share of the kernels that must have been sampled at all */

static struct tcb_error err;

struct sampled_problem {
	const char *op, *shape;
	enum tcb_contract contract;
	unsigned capability;
};

static const struct sampled_problem problems[] = {
	{ "matmul_f32", "1024x1024x1024", TCB_CONTRACT_F32, 89 },
	{ "matmul_f32", "2048x2048x2048", TCB_CONTRACT_F32, 89 },
	{ "matmul_f32", "1000x700x1024", TCB_CONTRACT_F32, 75 },
	{ "matmul_f16", "2048x2048x2048", TCB_CONTRACT_F16, 90 },
	{ "matmul_bf16", "2048x1024x1024", TCB_CONTRACT_F16, 80 },
	{ "q4k_matvec", "1x14336x4096", TCB_CONTRACT_Q8, 90 },
	{ "q4k_matvec", "1x4096x14336", TCB_CONTRACT_F32, 89 },
	{ "q80_matvec", "1x32000x4096", TCB_CONTRACT_Q8, 89 },
	{ "q4k_matmul", "512x4096x4096", TCB_CONTRACT_F16, 90 },
	{ "q6k_matmul", "32x4096x4096", TCB_CONTRACT_Q8, 89 },
	{ "softmax", "4096x32000", TCB_CONTRACT_F32, 90 },
	{ "rmsnorm", "8192x4096", TCB_CONTRACT_F32, 89 },
	{ "layernorm", "512x65536", TCB_CONTRACT_F32, 90 },
	{ "reduce2d_sum", "8192x8192", TCB_CONTRACT_F32, 90 },
	{ "attention_decode_f16", "1x16384x128,h32/8", TCB_CONTRACT_F16, 90 },
	{ "attention_prefill_f16", "8192x8192x128,h32/8,causal", TCB_CONTRACT_F16, 90 },
	{ "attention_prefill_f16", "8192x8192x96,h32/8,causal", TCB_CONTRACT_F16, 89 },
	{ "attention_decode_bf16", "1x16384x128,h28/4,b4,p16,ragged", TCB_CONTRACT_F16, 89 },
	{ "attention_prefill_bf16", "2048x2048x128,h32/8,causal", TCB_CONTRACT_F32, 89 },
};

struct tally {
	double off[TIMES_MAX], seconds[2];
	size_t count, sampled;
};

static double cpu_s(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

/* Both times of one kernel; nothing where the simulation does not understand it. */
static void compare(const struct tcb_model *model, const struct tcb_geometry *geometry, struct tally *tally)
{
	struct tcb_ptx_timing timing[2][TCB_STATE_COUNT];
	char text[TCB_GEOMETRY_TEXT_MAX];
	double seconds[2];
	for (int whole = 0; whole < 2; whole++) {
		struct tcb_ptx_machine machine = model->machine;
		struct tcb_kernel kernel = { .code = NULL };
		machine.whole = whole;
		if (tcb_kernel_emit(model->problem, model->target, geometry, &kernel, &err) != TCB_OK)
			return;
		const double start = cpu_s();
		const enum tcb_status status = tcb_kernel_time(model->op, &kernel, &machine, 0, timing[whole], &err);
		seconds[whole] = cpu_s() - start;
		tcb_kernel_fini(&kernel);
		tcb_geometry_print(geometry, text);
		if (status != TCB_OK)
			print_message("%s %s: %s\n", whole ? "whole" : "sampled", text, err.message);
		if (status != TCB_OK)
			return;
	}
	for (int s = 0; s < TCB_STATE_COUNT && tally->count < TIMES_MAX; s++) {
		const double off = timing[0][s].seconds / timing[1][s].seconds - 1;
		print_message("%+6.2f %%, %2.0f %% extrapolated, %6.1f us, %.2f s for %.2f s, %s: %s\n", 100 * off,
			      100 * timing[0][s].extrapolated, 1e6 * timing[1][s].seconds, seconds[0], seconds[1],
			      tcb_state_text((enum tcb_state)s), text);
		tally->off[tally->count++] = fabs(off);
		tally->sampled += timing[0][s].extrapolated > 0;
	}
	tally->seconds[0] += seconds[0];
	tally->seconds[1] += seconds[1];
}

static void compare_problem(const struct sampled_problem *of, unsigned drawn, struct tally *tally)
{
	const struct tcb_op *op = tcb_op_find(of->op);
	struct tcb_rng rng;
	struct tcb_shape shape;
	struct tcb_problem problem;
	struct tcb_gpu gpu;
	struct tcb_place place;
	struct tcb_model model;
	struct tcb_space *space;
	struct tcb_geometry geometry;
	assert_int_equal(tcb_shape_parse(of->shape, &shape, &err), TCB_OK);
	assert_int_equal(tcb_problem_init(op, of->contract, &shape, &problem, &err), TCB_OK);
	assert_int_equal(tcb_gpu_table(of->capability, &gpu, &err), TCB_OK);
	tcb_gpu_place(&gpu, &place);
	assert_int_equal(tcb_model_init(&model, op, &problem, &place, &err), TCB_OK);
	print_message("%s %s on %s\n", op->name, of->shape, gpu.device.model);
	tcb_op_standard(&problem, &gpu.device.target, &geometry);
	compare(&model, &geometry, tally);
	assert_int_equal(tcb_space_create(op, &problem, &gpu.device.target, 0, &space, &err), TCB_OK);
	tcb_rng_init(&rng, SEED);
	for (unsigned i = 0; i < drawn; i++)
		compare(&model, &space->geometries[tcb_rng_below(&rng, space->count)], tally);
	tcb_space_destroy(space);
}

static void judge(const struct tally *tally)
{
	size_t beyond = 0;
	double most = 0;
	for (size_t i = 0; i < tally->count; i++) {
		beyond += tally->off[i] > OFF_HALF;
		most = fmax(most, tally->off[i]);
	}
	print_message("%zu times, %zu of them sampled: off by at most %.2f %%, %zu by more than %.0f %%; %.1f s of the "
		      "processor for %.1f s\n",
		      tally->count, tally->sampled, 100 * most, beyond, 100 * OFF_HALF, tally->seconds[0],
		      tally->seconds[1]);
	assert_true(tally->count > 0 && most <= OFF_MOST && 2 * beyond <= tally->count);
	assert_true((double)tally->sampled >= SAMPLED_LEAST * (double)tally->count);
}

static void test_sampled_against_whole(void **state)
{
	static struct tally tally;
	(void)state;
	/* All but those of a slow test: every other problem, and one drawn geometry of it. */
	for (size_t i = 0; i < sizeof problems / sizeof *problems; i += test_takes_all() ? 1 : 2)
		compare_problem(&problems[i], test_takes_all() ? DRAWN : 1, &tally);
	judge(&tally);
}

static char **given; /* the program's arguments */

static void test_given(void **state)
{
	static struct tally tally;
	struct sampled_problem of = { .op = given[1], .shape = given[3] };
	(void)state;
	assert_int_equal(tcb_contract_parse(given[2], &of.contract, &err), TCB_OK);
	of.capability = (unsigned)strtoul(given[4], NULL, 10);
	compare_problem(&of, (unsigned)strtoul(given[5], NULL, 10), &tally);
	judge(&tally);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest only[] = { cmocka_unit_test(test_given) };
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sampled_against_whole) };
	given = argv;
	if (argc == 6)
		return cmocka_run_group_tests(only, NULL, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
