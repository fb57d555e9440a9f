/* SPDX-License-Identifier: MIT
 *
 * Winners of other problems as starts: which are nearest, and what they become
 * in another shape's space.
 */
#include <math.h>
#include <stdint.h>

#include "cmocka_all.h"
#include "kernels/space.h"
#include "search/starts.h"

static const struct tcb_target cpu = { .kind = TCB_TARGET_CPU,
				       .isa_mask = 1u << TCB_ISA_SCALAR | 1u << TCB_ISA_AVX2,
				       .threads = 2,
				       .line_bytes = 64,
				       .l1d_bytes = 32 << 10,
				       .l2_bytes = 1 << 20,
				       .llc_bytes = 32 << 20 };

static struct tcb_problem problem_of(const char *op, enum tcb_contract contract, size_t n, size_t k)
{
	struct tcb_problem problem;
	const struct tcb_shape shape = { 1, n, k };
	assert_int_equal(tcb_problem_init(tcb_op_find(op), contract, &shape, &problem, NULL), TCB_OK);
	return problem;
}

/* The default geometry of a problem, as if it had won there. */
static struct tcb_start_winner winner_of(const char *op, enum tcb_contract contract, size_t n, size_t k)
{
	struct tcb_start_winner winner = { .problem = problem_of(op, contract, n, k), .threads = 2, .tried = 1000 };
	tcb_geometry_init(&winner.geometry);
	tcb_op_standard(&winner.problem, &cpu, &winner.geometry);
	return winner;
}

static void test_distance(void **state)
{
	(void)state;
	const struct tcb_problem to = problem_of("q4k_matvec", TCB_CONTRACT_Q8, 4096, 4096);
	const struct tcb_start_winner same = winner_of("q4k_matvec", TCB_CONTRACT_Q8, 4096, 4096);
	assert_true(tcb_start_distance(&same, &to, 2) == 0);
	const struct tcb_start_winner twice = winner_of("q4k_matvec", TCB_CONTRACT_Q8, 8192, 4096);
	assert_true(tcb_start_distance(&twice, &to, 2) == 1);
	const struct tcb_start_winner format = winner_of("q5k_matvec", TCB_CONTRACT_Q8, 4096, 4096);
	const double other_format = tcb_start_distance(&format, &to, 2);
	assert_true(other_format > 0 && other_format < 1);
	const struct tcb_start_winner contract = winner_of("q4k_matvec", TCB_CONTRACT_F32, 4096, 4096);
	assert_true(tcb_start_distance(&contract, &to, 2) > other_format);
	struct tcb_start_winner less = same;
	less.threads = 1;
	assert_true(tcb_start_distance(&less, &to, 2) > 0);
	less = same;
	less.rank = 1;
	assert_true(tcb_start_distance(&less, &to, 2) > 0);
	less = same;
	less.tried = 2;
	assert_true(tcb_start_distance(&less, &to, 2) > other_format);
	less = same;
	less.device = TCB_START_OTHER_ARCH;
	assert_true(tcb_start_distance(&less, &to, 2) > 0);
	/* Another kind of space, and a GPU's. */
	const struct tcb_start_winner rows = winner_of("softmax", TCB_CONTRACT_F32, 4096, 0);
	assert_true(isinf(tcb_start_distance(&rows, &to, 2)));
	less = same;
	less.threads = 0;
	assert_true(isinf(tcb_start_distance(&less, &to, 2)));
}

static void test_choose(void **state)
{
	(void)state;
	const struct tcb_problem problem = problem_of("q4k_matvec", TCB_CONTRACT_Q8, 2048, 1024);
	struct tcb_space *space;
	assert_int_equal(tcb_space_create(problem.op, &problem, &cpu, 0, &space, NULL), TCB_OK);
	struct tcb_start_winner winners[] = {
		winner_of("q4k_matvec", TCB_CONTRACT_Q8, 8192, 1024),
		winner_of("q4k_matvec", TCB_CONTRACT_Q8, 2048, 2048),
		winner_of("softmax", TCB_CONTRACT_F32, 4096, 0),
		winner_of("q5k_matvec", TCB_CONTRACT_Q8, 2048, 1024),
	};
	/* Of the nearest: a tile as long as the shape. */
	winners[1].geometry.tile[TCB_MIDI].k = 2048;
	winners[1].geometry.knob[TCB_KNOB_THREADS] = 1;
	winners[1].geometry.knob[TCB_KNOB_SCHED] = TCB_SCHED_DYNAMIC;
	winners[1].threads = 1;
	const struct tcb_start_space to = { &problem, 2, space->geometries, space->count, SIZE_MAX };
	struct tcb_start starts[TCB_STARTS_MAX];
	const size_t count = tcb_starts_choose(&to, winners, 4, TCB_STARTS_MAX, starts);
	assert_in_range(count, 1, 3);
	assert_int_equal(starts[0].winner, 3);
	for (size_t i = 0; i < count; i++) {
		const struct tcb_geometry *geometry = &space->geometries[starts[i].index];
		assert_true(starts[i].index < space->count && starts[i].winner != 2);
		assert_int_equal(geometry->knob[TCB_KNOB_THREADS], 2);
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(starts[i].index, starts[j].index);
		if (starts[i].winner == 1)
			assert_int_equal(geometry->knob[TCB_KNOB_SCHED], TCB_SCHED_DYNAMIC);
	}
	/* The default is tried anyway; the fewer are wanted, the nearer they are. */
	const struct tcb_start_space rest = { &problem, 2, space->geometries, space->count, starts[0].index };
	struct tcb_start others[TCB_STARTS_MAX];
	const size_t left = tcb_starts_choose(&rest, winners, 4, TCB_STARTS_MAX, others);
	for (size_t i = 0; i < left; i++)
		assert_int_not_equal(others[i].index, starts[0].index);
	assert_int_equal(tcb_starts_choose(&to, winners, 4, 1, others), 1);
	assert_int_equal(others[0].index, starts[0].index);
	assert_int_equal(tcb_starts_choose(&to, winners, 0, 8, others), 0);
	tcb_space_destroy(space);
}

/* A geometry of the space itself is found, whatever passes it had. */
static void test_as_it_is(void **state)
{
	(void)state;
	const struct tcb_problem problem = problem_of("q4k_matvec", TCB_CONTRACT_Q8, 2048, 1024);
	struct tcb_space *space;
	assert_int_equal(tcb_space_create(problem.op, &problem, &cpu, 0, &space, NULL), TCB_OK);
	const struct tcb_start_space to = { &problem, 2, space->geometries, space->count, SIZE_MAX };
	for (size_t i = 0; i < space->count; i += 1 + space->count / 50) {
		struct tcb_start_winner winner = winner_of("q4k_matvec", TCB_CONTRACT_Q8, 4096, 4096);
		struct tcb_start start[TCB_STARTS_MAX];
		winner.geometry = space->geometries[i];
		winner.geometry.knob[TCB_KNOB_PASSES] = TCB_PASSES_ALL;
		assert_int_equal(tcb_starts_choose(&to, &winner, 1, 1, start), 1);
		assert_true(start->is_carried && start->index == i);
	}
	tcb_space_destroy(space);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distance),
		cmocka_unit_test(test_choose),
		cmocka_unit_test(test_as_it_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
