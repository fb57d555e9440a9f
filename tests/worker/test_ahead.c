/* SPDX-License-Identifier: MIT
 *
 * Candidates compiled ahead: each once, in the order in which they were named; beside a measurement only on other
 * processors; what does not compile, what takes too long, what is stopped.
 */
#include "cmocka_all.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/util.h"
#include "device/cpus.h"
#include "worker/ahead.h"

enum { GOOD, BAD, ENDLESS, KINDS };

static atomic_int builds, running, stopped, wrong_place;
static int measured = -1; /* a processor that is measured on, or -1 */
static atomic_int is_measuring;

static enum tcb_status build(const struct tcb_problem *problem, const struct tcb_geometry *geometry, double limit_s,
			     const atomic_int *stop, struct tcb_error *err)
{
	const struct timespec step = { 0, 5000000 };
	const uint64_t start = tcb_clock_ns();
	const int kind = geometry->knob[TCB_KNOB_UNROLL] % KINDS;
	cpu_set_t may;

	(void)problem;
	atomic_fetch_add(&builds, 1);
	atomic_fetch_add(&running, 1);
	(void)sched_getaffinity(0, sizeof may, &may);
	if (atomic_load(&is_measuring) && measured >= 0 && CPU_ISSET((size_t)measured, &may))
		atomic_store(&wrong_place, 1);
	nanosleep(&step, NULL);
	while (kind == ENDLESS && !atomic_load(stop) && tcb_clock_ns() - start < (uint64_t)(1e9 * limit_s))
		nanosleep(&step, NULL);
	if (atomic_load(stop))
		atomic_fetch_add(&stopped, 1);
	atomic_fetch_sub(&running, 1);
	return kind == GOOD ? TCB_OK
			    : tcb_fail(err, kind == BAD ? TCB_E_FORMAT : TCB_E_FAILED, "it is %s",
				       kind == BAD ? "bad" : "endless");
}

static const struct tcb_side side = { .build = build };
static const struct tcb_side plain = { .build = NULL };
static struct tcb_op op = { .name = "built", .is_of_its_shape = 1 };

static struct tcb_ahead *ahead_with(const struct tcb_side *of, const int *list, unsigned count, double limit_s)
{
	struct tcb_place place = { .device.target = { .kind = TCB_TARGET_CPU, .threads = count } };
	const struct tcb_problem problem = { .op = &op, .shape = { 1, 1, 1 } };
	struct tcb_ahead *ahead;

	op.side[TCB_TARGET_CPU] = of;
	tcb_place_cpus(&place)->count = count;
	memcpy(tcb_place_cpus(&place)->list, list, count * sizeof *list);
	atomic_store(&builds, 0);
	atomic_store(&stopped, 0);
	assert_int_equal(tcb_ahead_create(&problem, &place, limit_s, &ahead, NULL), TCB_OK);
	return ahead;
}

static struct tcb_geometry candidate(int kind, int number)
{
	struct tcb_geometry geometry;

	tcb_geometry_init(&geometry);
	geometry.knob[TCB_KNOB_UNROLL] = KINDS * number + kind;
	return geometry;
}

static int take(struct tcb_ahead *ahead, int kind, int number, struct tcb_ahead_end *end)
{
	const struct tcb_geometry geometry = candidate(kind, number);
	int is_known;

	assert_int_equal(tcb_ahead_take(ahead, &geometry, (struct tcb_deadline){ 0 }, NULL, &is_known, end, NULL),
			 TCB_OK);
	return is_known;
}

/* The processors of this process, the first of which is measured on. */
static unsigned processors(int list[TCB_CPUS_MAX])
{
	cpu_set_t may;
	unsigned count = 0;

	assert_int_equal(sched_getaffinity(0, sizeof may, &may), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE && count < TCB_CPUS_MAX; cpu++)
		if (CPU_ISSET((size_t)cpu, &may))
			list[count++] = cpu;
	return count;
}

static void named_and_taken(void **state)
{
	int list[TCB_CPUS_MAX];
	struct tcb_ahead_end end;
	(void)state;
	assert_null(ahead_with(&plain, (int[]){ 0 }, 1, 1)); /* nothing is compiled */
	processors(list);
	struct tcb_ahead *ahead = ahead_with(&side, list, 1, 1);

	assert_true(tcb_ahead_count(ahead) >= 2);
	for (int i = 0; i < 6; i++) {
		const struct tcb_geometry geometry = candidate(i % 2 ? BAD : GOOD, i);

		assert_int_equal(tcb_ahead_want(ahead, &geometry, NULL), TCB_OK);
		assert_int_equal(tcb_ahead_want(ahead, &geometry, NULL), TCB_OK); /* is known */
	}
	for (int i = 5; i >= 0; i--) {
		assert_true(take(ahead, i % 2 ? BAD : GOOD, i, &end));
		assert_int_equal(end.status, i % 2 ? TCB_E_FORMAT : TCB_OK);
		assert_string_equal(end.why, i % 2 ? "it is bad" : "");
	}
	assert_int_equal(atomic_load(&builds), 6);
	assert_true(take(ahead, GOOD, 77, &end)); /* that nobody named */
	assert_int_equal(end.status, TCB_OK);
	tcb_ahead_destroy(ahead);
	tcb_ahead_destroy(NULL);
}

/* Between two takes nothing is compiled on a processor that is measured on; on others it is. */
static void beside_measurements(void **state)
{
	int list[TCB_CPUS_MAX];
	struct tcb_ahead_end end;
	const unsigned count = processors(list);
	(void)state;
	measured = list[0];
	for (unsigned measuring = 1; measuring <= count; measuring += count > 1 ? count - 1 : 1) {
		struct tcb_ahead *ahead = ahead_with(&side, list, measuring, 1);

		for (int i = 0; i < 12; i++) {
			const struct tcb_geometry geometry = candidate(GOOD, i);

			assert_int_equal(tcb_ahead_want(ahead, &geometry, NULL), TCB_OK);
		}
		for (int i = 0; i < 12; i++) {
			assert_true(take(ahead, GOOD, i, &end));
			atomic_store(&is_measuring, 1);
			if (measuring == count)
				assert_int_equal(atomic_load(&running), 0);
			usleep(3000);
			atomic_store(&is_measuring, 0);
		}
		assert_false(atomic_load(&wrong_place));
		assert_int_equal(atomic_load(&builds), 12);
		tcb_ahead_destroy(ahead);
	}
	measured = -1;
}

/* A limit of its own, a deadline of the caller's, a rest and an end: none waits for what is endless. */
static void endless(void **state)
{
	int list[TCB_CPUS_MAX], is_known;
	struct tcb_ahead_end end;
	const unsigned count = processors(list);
	const struct tcb_geometry geometry = candidate(ENDLESS, 0);
	volatile sig_atomic_t stop = 1;
	(void)state;
	struct tcb_ahead *ahead = ahead_with(&side, list, count, 0.1);

	assert_true(take(ahead, ENDLESS, 0, &end));
	assert_int_equal(end.status, TCB_E_FAILED);
	assert_string_equal(end.why, "it is endless");
	tcb_ahead_destroy(ahead);

	ahead = ahead_with(&side, list, count, 600);
	const uint64_t start = tcb_clock_ns();
	assert_int_equal(tcb_ahead_take(ahead, &geometry, tcb_deadline_in(0.1), NULL, &is_known, &end, NULL), TCB_OK);
	assert_false(is_known);
	assert_int_equal(tcb_ahead_take(ahead, &geometry, (struct tcb_deadline){ 0 }, &stop, &is_known, &end, NULL),
			 TCB_OK);
	assert_false(is_known);
	tcb_ahead_rest(ahead);
	assert_int_equal(atomic_load(&running), 0);
	assert_int_equal(atomic_load(&stopped), 1);
	assert_true(take(ahead, GOOD, 1, &end)); /* it goes on */
	assert_int_equal(end.status, TCB_OK);
	assert_int_equal(tcb_ahead_take(ahead, &geometry, tcb_deadline_in(0.05), NULL, &is_known, &end, NULL), TCB_OK);
	tcb_ahead_destroy(ahead);
	assert_int_equal(atomic_load(&running), 0);
	assert_true(tcb_clock_ns() - start < 60000000000u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(named_and_taken),
		cmocka_unit_test(beside_measurements),
		cmocka_unit_test(endless),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
