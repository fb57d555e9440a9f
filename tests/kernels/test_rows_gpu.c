/* SPDX-License-Identifier: MIT
 *
 * The GPU kernels of row ops: rules and spaces; kernels drawn from them in the
 * emulator at odd shapes, right and without findings; rows with NaN, infinities
 * and denormals; mutants, caught.
 */
#include "gpu_bench.h"

#include <float.h>

#include "base/util.h"
#include "kernels/constraint.h"
#include "ptx/check.h"
#include "ptx/opcodes.h"

static const unsigned capabilities[] = { 75, 80, 86, 89, 90, 100, 120 };
enum { CAPABILITIES = sizeof capabilities / sizeof *capabilities };

static const char *const op_names[] = { "softmax", "rmsnorm", "layernorm" };
enum { OPS = sizeof op_names / sizeof *op_names };

static const struct tcb_op *op_at(size_t i)
{
	const struct tcb_op *op = tcb_op_find(op_names[i]);
	assert_non_null(op);
	return op;
}

static struct tcb_problem problem_of(const struct tcb_op *op, size_t m, size_t n)
{
	struct tcb_problem problem;
	assert_int_equal(tcb_problem_init(op, TCB_CONTRACT_F32, &(struct tcb_shape){ m, n, 0 }, &problem, NULL),
			 TCB_OK);
	return problem;
}

/* --- spaces and rules --- */

static void defaults_are_legal_and_in_the_space(void **state)
{
	static const size_t rows[] = { 1, 2, 3, 33, 4096 };
	static const size_t columns[] = { 1, 2, 3, 4, 31, 32, 33, 127, 128, 1025, 4096, 6007, 32000, 1000003 };
	(void)state;
	for (size_t o = 0; o < OPS; o++)
		for (size_t c = 0; c < CAPABILITIES; c++)
			for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
				for (size_t n = 0; n < sizeof columns / sizeof *columns; n++) {
					const struct tcb_problem p = problem_of(op_at(o), rows[r], columns[n]);
					const struct tcb_target target = gpu_target(capabilities[c], 0);
					struct tcb_geometry g;
					char why[TCB_WHY_MAX] = "";
					op_at(o)->default_geometry(&p, &target, &g);
					if (tcb_constraint_violated(op_at(o), &p, &target, &g, 0, why))
						fail_msg("%s sm_%u, %zux%zu: %s", op_names[o], capabilities[c], rows[r],
							 columns[n], why);
				}
}

static void spaces_are_of_a_size_to_search(void **state)
{
	static const size_t shapes[][2] = { { 1, 32000 }, { 512, 4096 }, { 4096, 4096 }, { 1, 4096 }, { 77, 6007 } };
	(void)state;
	for (size_t o = 0; o < OPS; o++)
		for (size_t c = 0; c < CAPABILITIES; c++)
			for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
				const struct tcb_problem p = problem_of(op_at(o), shapes[s][0], shapes[s][1]);
				const struct tcb_target target = gpu_target(capabilities[c], 0);
				struct tcb_space *space;
				struct tcb_error err;
				if (tcb_space_create(op_at(o), &p, &target, 0, &space, &err) != TCB_OK)
					fail_msg("%s", err.message);
				assert_in_range(space->count, 20, 6000);
				tcb_space_destroy(space);
			}
}

/* --- kernels --- */

static void emit(const struct tcb_op *op, const struct tcb_problem *p, const struct tcb_target *target,
		 const struct tcb_geometry *g, struct tcb_kernel *out)
{
	struct tcb_error err;
	char text[TCB_GEOMETRY_TEXT_MAX];
	if (op->emit(p, target, g, out, &err) == TCB_OK)
		return;
	tcb_geometry_print(g, text);
	fail_msg("%s: %s", text, err.message);
}

static const struct tcb_shape odd_shapes[] = { { 1, 1, 0 },    { 2, 2, 0 },    { 3, 31, 0 },   { 5, 32, 0 },
					       { 7, 33, 0 },   { 3, 509, 0 },  { 2, 514, 0 },  { 9, 1024, 0 },
					       { 3, 1025, 0 }, { 2, 4100, 0 }, { 17, 260, 0 }, { 1, 3000, 0 },
					       { 1, 8192, 0 }, { 33, 68, 0 } };
enum { ODD_SHAPES = sizeof odd_shapes / sizeof *odd_shapes };

/* How many geometries: a few, or as many as the environment says (the slow test). */
static size_t sample_size(void)
{
	const char *text = getenv("TCB_GPU_SAMPLE");
	return text ? strtoul(text, NULL, 10) : 140;
}

/* A geometry of the whole product, policies lifted, as many kinds as there are: the knobs that make kernels differ are
 * drawn first, so that rare kinds come as often as others. */
static struct tcb_geometry draw(const struct tcb_op *op, const struct tcb_problem *p, const struct tcb_target *target,
				struct tcb_rng *rng)
{
	struct tcb_space *space;
	struct tcb_error err;
	if (tcb_space_create(op, p, target, 1, &space, &err) != TCB_OK)
		fail_msg("%s", err.message);
	const int32_t join = (int32_t)tcb_rng_below(rng, 4), copy = (int32_t)tcb_rng_below(rng, 3);
	const int32_t keep = (int32_t)tcb_rng_below(rng, 3);
	struct tcb_geometry best = space->geometries[tcb_rng_below(rng, space->count)];
	int best_match = -1;
	for (int i = 0; i < 400; i++) {
		const struct tcb_geometry *g = &space->geometries[tcb_rng_below(rng, space->count)];
		const int match = 2 * (g->knob[TCB_KNOB_JOIN] == join) + (g->knob[TCB_KNOB_COPY] == copy) +
				  (g->knob[TCB_KNOB_XIN] == keep);
		if (match > best_match) {
			best_match = match;
			best = *g;
		}
	}
	tcb_space_destroy(space);
	return best;
}

/* With two SMs, so that blocks that stay have several rounds. */
static void samples_are_right(void **state)
{
	struct tcb_rng rng;
	uint64_t threads = 0;
	double worst = 0;
	(void)state;
	tcb_rng_init(&rng, 20);
	for (size_t i = 0; i < sample_size(); i++) {
		const struct tcb_op *op = op_at(i % OPS);
		const struct tcb_shape shape = odd_shapes[i / OPS % ODD_SHAPES];
		const struct tcb_target target = gpu_target(capabilities[tcb_rng_below(&rng, CAPABILITIES)], 2);
		char text[TCB_GEOMETRY_TEXT_MAX];
		struct tcb_kernel kernel;
		struct gpu_bench bench;
		gpu_bench_open(&bench, op, TCB_CONTRACT_F32, shape, i);
		bench.output_align = 16;
		const struct tcb_geometry g = draw(op, &bench.problem, &target, &rng);
		emit(op, &bench.problem, &target, &g, &kernel);
		const double ratio = gpu_bench_run(&bench, &kernel, i);
		tcb_geometry_print(&g, text);
		if (!(ratio <= 1))
			fail_msg("%s sm_%u %zux%zu %s: ratio %g %s", op->name, target.capability, shape.m, shape.n,
				 text, ratio, bench.message);
		worst = ratio > worst ? ratio : worst;
		threads += bench.threads;
		gpu_bench_close(&bench);
		tcb_kernel_fini(&kernel);
	}
	print_message("%zu kernels, %.1f million instructions of threads, largest error %.3f of what is allowed\n",
		      sample_size(), (double)threads * 1e-6, worst);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_legal_and_in_the_space),
		cmocka_unit_test(spaces_are_of_a_size_to_search),
		cmocka_unit_test(samples_are_right),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
