/* SPDX-License-Identifier: MIT
 *
 * Rotating copies and timing without a worker.
 */
#include <stddef.h>
#include <stdint.h>

#include "cmocka_all.h"

#include <string.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/util.h"
#include "planted.h"
#include "worker/measure.h"

enum { THREADS = 2, ROTATION = 5 << 20 };

struct fixture {
	struct tcb_pool *pool;
	struct tcb_instance *instance;
};

static int set_up(void **state)
{
	static struct fixture fixture;
	struct tcb_problem problem;
	planted_problem(&problem);
	if (tcb_pool_create(THREADS, NULL, &fixture.pool, NULL) != TCB_OK ||
	    tcb_instance_create(&planted_op, &problem, 1, NULL, &fixture.instance, NULL) != TCB_OK)
		return -1;
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	tcb_instance_destroy(fixture->instance);
	tcb_pool_destroy(fixture->pool);
	return 0;
}

static struct tcb_rotation *rotation_of(struct fixture *fixture, size_t bytes, size_t cap)
{
	struct tcb_rotation *rotation = NULL;
	assert_int_equal(tcb_rotation_create(fixture->instance, fixture->pool, bytes, &(struct tcb_rotation_size){ 0 },
					     cap, &rotation, NULL),
			 TCB_OK);
	return rotation;
}

static unsigned calls;

static void plan_of(struct fixture *fixture, enum planted behaviour, int is_packed, struct tcb_plan *plan)
{
	struct tcb_geometry geometry;
	int has_packed;
	planted_geometry(behaviour, is_packed, THREADS, &geometry);
	assert_int_equal(tcb_op_cpu(&planted_op)->plan(&fixture->instance->problem, &geometry, plan, NULL), TCB_OK);
	assert_int_equal(tcb_instance_pack_prepare(fixture->instance, plan->variant->layout, plan->packed_bytes,
						   &has_packed, NULL),
			 TCB_OK);
	if (!has_packed)
		assert_int_equal(tcb_instance_pack(fixture->instance, plan->variant->layout, NULL), TCB_OK);
	assert_int_equal(tcb_instance_pack_prepare(fixture->instance, plan->variant->layout, plan->packed_bytes,
						   &has_packed, NULL),
			 TCB_OK);
	assert_true(has_packed);
}

static void copies_rotate(void **state)
{
	struct fixture *fixture = *state;
	struct tcb_rotation *rotation = rotation_of(fixture, ROTATION, 1 << 30);
	assert_int_equal(tcb_rotation_bytes(rotation), ROTATION);
	for (int is_packed = 0; is_packed < 2; is_packed++) {
		struct tcb_plan plan;
		struct tcb_copies *copies;
		plan_of(fixture, PLANTED_GOOD, is_packed, &plan);
		assert_int_equal(tcb_rotation_get(rotation, &plan, 1, &copies, NULL), TCB_OK);
		size_t weights = tcb_instance_buffer(fixture->instance, &plan, 1)->bytes;
		size_t count = tcb_copies_count(copies);
		assert_int_equal(count, ROTATION / weights);
		const char *last = NULL;
		for (size_t c = 0; c < count; c++) {
			void *operand[TCB_OPERANDS_MAX], *first[TCB_OPERANDS_MAX];
			assert_int_equal(tcb_copies_next(copies), c);
			tcb_copies_operands(copies, c, operand);
			tcb_copies_operands(copies, 0, first);
			/* Weights stream: a copy each, apart, aligned, equal.  x and y do not. */
			assert_true(!last || (const char *)operand[1] >= last + weights);
			assert_int_equal((uintptr_t)operand[1] % 64, 0);
			assert_memory_equal(operand[1], tcb_instance_buffer(fixture->instance, &plan, 1)->data,
					    weights);
			assert_ptr_equal(operand[0], first[0]);
			assert_ptr_equal(operand[2], first[2]);
			assert_memory_equal(operand[0], fixture->instance->data[0].data,
					    fixture->instance->data[0].bytes);
			last = operand[1];
		}
		assert_int_equal(tcb_copies_next(copies), 0);
	}
	tcb_rotation_destroy(rotation);
	tcb_rotation_destroy(NULL);
}

/* Of a mixture each time round the copies has ids of its own, which touch other experts. */
static void what_varies_takes_turns(void **state)
{
	struct fixture *fixture = *state;
	struct fixture mixture = { .pool = fixture->pool };
	struct tcb_shape shape;
	struct tcb_problem problem;
	struct tcb_geometry geometry;
	struct tcb_plan plan;
	struct tcb_copies *copies;
	enum { IDS = 3, TURNS = 8 }; /* 16 experts, of which 2 are touched */
	assert_int_equal(tcb_shape_parse("1x64x256,e16/2", &shape, NULL), TCB_OK);
	assert_int_equal(tcb_problem_init(tcb_op_find("q4k_experts_matmul"), TCB_CONTRACT_Q8, &shape, &problem, NULL),
			 TCB_OK);
	assert_int_equal(tcb_instance_create(problem.op, &problem, 1, NULL, &mixture.instance, NULL), TCB_OK);
	struct tcb_target target = { .kind = TCB_TARGET_CPU, .isa_mask = 1u << TCB_ISA_SCALAR, .threads = 1 };
	tcb_op_standard(&problem, &target, &geometry);
	assert_int_equal(tcb_op_cpu(problem.op)->plan(&problem, &geometry, &plan, NULL), TCB_OK);
	struct tcb_rotation *rotation = rotation_of(&mixture, 1 << 20, 1 << 30);
	assert_int_equal(tcb_rotation_get(rotation, &plan, 1, &copies, NULL), TCB_OK);
	const size_t count = tcb_copies_count(copies);
	int touched[16] = { 0 };
	for (size_t c = 0; c < TURNS * count; c++) {
		void *operand[TCB_OPERANDS_MAX], *same[TCB_OPERANDS_MAX];
		assert_int_equal(tcb_copies_next(copies), c);
		tcb_copies_operands(copies, c, operand);
		tcb_copies_operands(copies, c % count, same);
		assert_ptr_equal(operand[0], same[0]);
		assert_memory_equal(operand[0], mixture.instance->data[0].data, mixture.instance->data[0].bytes);
		if (c < count)
			assert_memory_equal(operand[IDS], mixture.instance->data[IDS].data, 2 * sizeof(int32_t));
		for (int i = 0; c % count == 0 && i < 2; i++)
			touched[((const int32_t *)operand[IDS])[i]]++;
	}
	for (int e = 0; e < 16; e++)
		assert_int_equal(touched[e], 1);
	assert_int_equal(tcb_copies_next(copies), 0);
	tcb_rotation_destroy(rotation);
	tcb_instance_destroy(mixture.instance);
}

/* No time at all: four times the last-level cache, also for the sets that follow; and the read limit may look at it. */
static void late_sets_are_small(void **state)
{
	struct fixture *fixture = *state;
	const size_t llc = 2 << 20;
	struct tcb_rotation *rotation = NULL;
	assert_int_equal(tcb_rotation_create(fixture->instance, fixture->pool, 0,
					     &(struct tcb_rotation_size){ 512 << 20, 4 * llc }, 0, &rotation, NULL),
			 TCB_OK);
	tcb_rotation_hurry(rotation, 1e-9);
	for (int is_packed = 0; is_packed < 2; is_packed++) {
		struct tcb_plan plan;
		struct tcb_copies *copies, *again;
		plan_of(fixture, PLANTED_GOOD, is_packed, &plan);
		const struct tcb_buffer *weights = tcb_instance_buffer(fixture->instance, &plan, 1);
		assert_int_equal(tcb_rotation_get(rotation, &plan, 1, &copies, NULL), TCB_OK);
		const size_t count = tcb_copies_count(copies), bytes = count * weights->bytes;
		assert_in_range(bytes, 4 * llc, 4 * llc + weights->bytes);
		assert_int_equal(tcb_rotation_bytes(rotation), bytes);
		for (size_t c = 0; c < count; c++) {
			void *operand[TCB_OPERANDS_MAX];
			tcb_copies_operands(copies, c, operand);
			assert_memory_equal(operand[1], weights->data, weights->bytes);
		}
		assert_int_equal(tcb_rotation_get(rotation, &plan, 1, &again, NULL), TCB_OK);
		assert_int_equal(tcb_copies_count(again), count);
		struct tcb_copies *lent = tcb_rotation_lend(rotation, weights->bytes, bytes);
		size_t lent_bytes;
		assert_non_null(lent);
		assert_non_null(tcb_copies_stream(lent, 1, &lent_bytes));
		assert_int_equal(lent_bytes, (tcb_copies_count(lent) - 1) * weights->bytes);
		assert_null(tcb_rotation_lend(rotation, weights->bytes, 2 * bytes));
		assert_null(tcb_rotation_lend(rotation, weights->bytes / 2, bytes));
	}
	tcb_rotation_destroy(rotation);
}

static void never_fewer_than_two(void **state)
{
	struct fixture *fixture = *state;
	struct tcb_rotation *rotation = rotation_of(fixture, 1, 1 << 30);
	struct tcb_plan plan;
	struct tcb_copies *copies;
	plan_of(fixture, PLANTED_GOOD, 0, &plan);
	assert_int_equal(tcb_rotation_get(rotation, &plan, 0, &copies, NULL), TCB_OK);
	assert_int_equal(tcb_copies_count(copies), 1);
	assert_int_equal(tcb_rotation_get(rotation, &plan, 1, &copies, NULL), TCB_OK);
	assert_int_equal(tcb_copies_count(copies), 2);
	tcb_rotation_destroy(rotation);
}

static void cap_holds(void **state)
{
	struct fixture *fixture = *state;
	/* Room for one set only: each goes when the other comes. */
	struct tcb_rotation *rotation = rotation_of(fixture, ROTATION, ROTATION + (2 << 20));
	struct tcb_plan native, packed;
	struct tcb_copies *first, *second;
	plan_of(fixture, PLANTED_GOOD, 0, &native);
	plan_of(fixture, PLANTED_GOOD, 1, &packed);
	assert_int_equal(tcb_rotation_get(rotation, &native, 1, &first, NULL), TCB_OK);
	tcb_copies_next(first);
	assert_int_equal(tcb_rotation_get(rotation, &packed, 1, &second, NULL), TCB_OK);
	assert_int_equal(tcb_copies_count(first), 0);
	/* Reserved for both: both stay, each with its part. */
	const struct tcb_plan both[] = { native, packed };
	tcb_rotation_reserve(rotation, both, 2, 0);
	assert_int_equal(tcb_rotation_get(rotation, &native, 1, &first, NULL), TCB_OK);
	assert_int_equal(tcb_rotation_get(rotation, &packed, 1, &second, NULL), TCB_OK);
	assert_in_range(tcb_copies_count(first), 2, ROTATION / (512 << 10) / 2 + 2);
	assert_in_range(tcb_copies_count(second), 2, ROTATION / (512 << 10) / 2 + 2);
	assert_int_equal(tcb_rotation_get(rotation, &native, 1, &first, NULL), TCB_OK);
	assert_true(tcb_copies_count(first) >= 2 && tcb_copies_count(second) >= 2);
	tcb_rotation_destroy(rotation);
}

/* All copies of SET hold what the weights of PLAN are, and the output's is poison. */
static void expect_contents(struct fixture *fixture, const struct tcb_plan *plan, const struct tcb_copies *copies)
{
	const struct tcb_buffer *weights = tcb_instance_buffer(fixture->instance, plan, 1);
	for (size_t c = 0; c < tcb_copies_count(copies); c++) {
		void *operand[TCB_OPERANDS_MAX];
		tcb_copies_operands(copies, c, operand);
		assert_memory_equal(operand[1], weights->data, weights->bytes);
		assert_int_equal(*(const unsigned char *)operand[2], TCB_POISON);
	}
}

/* A set that must go leaves its pages to the one that comes: no page is got again, and nothing of it is left. */
static void memory_is_shared(void **state)
{
	struct fixture *fixture = *state;
	struct tcb_rotation *rotation = rotation_of(fixture, ROTATION, ROTATION + (2 << 20));
	struct tcb_plan plan[2];
	void *first[TCB_OPERANDS_MAX], *second[TCB_OPERANDS_MAX];
	struct tcb_copies *copies;
	for (int is_packed = 0; is_packed < 2; is_packed++)
		plan_of(fixture, PLANTED_GOOD, is_packed, &plan[is_packed]);
	assert_int_equal(tcb_rotation_get(rotation, &plan[0], 1, &copies, NULL), TCB_OK);
	tcb_copies_operands(copies, 0, first);
	for (int turn = 1; turn < 4; turn++) {
		assert_int_equal(tcb_rotation_get(rotation, &plan[turn % 2], 1, &copies, NULL), TCB_OK);
		tcb_copies_operands(copies, 0, second);
		assert_ptr_equal(first[1], second[1]);
		expect_contents(fixture, &plan[turn % 2], copies);
	}
	tcb_rotation_destroy(rotation);
}

/* A few copies become more where they lie. */
static void sets_grow(void **state)
{
	struct fixture *fixture = *state;
	struct tcb_rotation *rotation = rotation_of(fixture, ROTATION, 1 << 30);
	struct tcb_plan plan;
	struct tcb_copies *copies;
	void *before[TCB_OPERANDS_MAX], *after[TCB_OPERANDS_MAX];
	plan_of(fixture, PLANTED_GOOD, 1, &plan);
	const size_t weights = tcb_instance_buffer(fixture->instance, &plan, 1)->bytes;
	tcb_rotation_cut(rotation, ROTATION);
	assert_int_equal(tcb_rotation_get(rotation, &plan, 0, &copies, NULL), TCB_OK);
	assert_true(tcb_copies_count(copies) < ROTATION / weights);
	assert_int_equal(tcb_rotation_get(rotation, &plan, 1, &copies, NULL), TCB_OK);
	assert_int_equal(tcb_copies_count(copies), ROTATION / weights);
	expect_contents(fixture, &plan, copies);
	tcb_copies_operands(copies, 0, before);
	assert_int_equal(tcb_rotation_get(rotation, &plan, 0, &copies, NULL), TCB_OK);
	tcb_copies_operands(copies, 0, after);
	assert_ptr_equal(before[1], after[1]);
	assert_int_equal(tcb_copies_count(copies), ROTATION / weights);
	tcb_rotation_destroy(rotation);
}

/*
 * Rounds of several layouts: each has so many copies only that a rotation's bytes of all of them lie between two uses
 * of one, in whatever order a round calls them.
 */
static void rounds_share_a_rotation(void **state)
{
	enum { ROWS = 5, TURNS = 40 };
	static const size_t bytes = 96 << 20;
	const struct tcb_problem problem = { .op = &planted_op, .op_name = "planted", .shape = { 1, 2048, 1024 } };
	struct fixture large = *(const struct fixture *)*state;
	struct tcb_plan plans[ROWS];
	struct tcb_copies *copies[ROWS];
	const void *last_at[2][64] = { { NULL } };
	size_t last_used[2][64], used = 0, total = 0, counts[2];
	struct tcb_rng rng;
	tcb_rng_init(&rng, 1);
	assert_int_equal(tcb_instance_create(&planted_op, &problem, 1, NULL, &large.instance, NULL), TCB_OK);
	for (int i = 0; i < ROWS; i++)
		plan_of(&large, PLANTED_GOOD, i >= 2, &plans[i]);
	const size_t stride = tcb_instance_buffer(large.instance, &plans[0], 1)->bytes;
	assert_true(stride >= 4 << 20);
	struct tcb_rotation *rotation = rotation_of(&large, bytes, 1 << 30);
	tcb_rotation_reserve(rotation, plans, ROWS, 1);
	for (int i = 0; i < ROWS; i++)
		assert_int_equal(tcb_rotation_get(rotation, &plans[i], 1, &copies[i], NULL), TCB_OK);
	assert_ptr_equal(copies[0], copies[1]);
	for (int l = 0; l < 2; l++) {
		counts[l] = tcb_copies_count(copies[l ? ROWS - 1 : 0]);
		total += counts[l] * stride;
	}
	/* One rotation and a round, not one for each layout. */
	assert_in_range(total, bytes, bytes + 2 * ROWS * stride);
	for (int turn = 0; turn < TURNS; turn++) {
		size_t order[ROWS] = { 0, 1, 2, 3, 4 };
		for (size_t i = ROWS; i > 1; i--) {
			const size_t j = (size_t)tcb_rng_below(&rng, i), swap = order[i - 1];
			order[i - 1] = order[j];
			order[j] = swap;
		}
		for (size_t i = 0; i < ROWS; i++) {
			const int l = order[i] >= 2;
			const size_t at = tcb_copies_next(copies[order[i]]);
			assert_true(at < counts[l]);
			if (last_at[l][at])
				assert_true(used - last_used[l][at] >= bytes);
			last_at[l][at] = copies;
			used += stride;
			last_used[l][at] = used;
		}
	}
	/* One at a time again: a whole rotation of one layout. */
	tcb_rotation_reserve(rotation, NULL, 0, 0);
	assert_int_equal(tcb_rotation_get(rotation, &plans[0], 1, &copies[0], NULL), TCB_OK);
	assert_true(tcb_copies_count(copies[0]) * stride >= bytes);
	expect_contents(&large, &plans[0], copies[0]);
	tcb_rotation_destroy(rotation);
	tcb_instance_destroy(large.instance);
}

static void default_rotation(void **state)
{
	struct fixture *fixture = *state;
	struct tcb_rotation *rotation = NULL;
	size_t quarter = tcb_available_bytes("") / 4;
	assert_true(quarter > 0);
	assert_int_equal(tcb_rotation_create(fixture->instance, fixture->pool, 0,
					     &(struct tcb_rotation_size){ 800 << 20, 0 }, 0, &rotation, NULL),
			 TCB_OK);
	/* Others allocate meanwhile: a quarter of what was available, give or take. */
	size_t bytes = tcb_rotation_bytes(rotation);
	assert_true(bytes == 800u << 20 || (bytes < 800u << 20 && bytes > quarter / 2));
	tcb_rotation_destroy(rotation);
}

/* Are small pages asked for at ADDRESS ("nh" among the flags of its mapping, proc(5))?  -1: the kernel does not tell.
 */
static int asks_for_small_pages(const void *address)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	unsigned long start, end;
	char line[512];
	int inside = 0, found = -1;

	while (file && fgets(line, sizeof line, file)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			inside = (uintptr_t)address >= start && (uintptr_t)address < end;
		else if (inside && strncmp(line, "VmFlags:", 8) == 0)
			found = strstr(line, " nh ") != NULL;
	}
	if (file)
		fclose(file);
	return found;
}

/* A set that takes too long to write for its budget goes on in small pages, and is whole. */
static void hurried_copies_are_small_pages(void **state)
{
	struct fixture *fixture = *state;
	size_t streamed = 0;
	if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0)
		skip_because("this kernel has no transparent huge pages");
	while (!fixture->instance->operands[streamed].streams)
		streamed++;
	for (int hurried = 0; hurried < 2; hurried++) {
		struct tcb_rotation *rotation = rotation_of(fixture, ROTATION, 1 << 30);
		void *first[TCB_OPERANDS_MAX], *last[TCB_OPERANDS_MAX];
		struct tcb_copies *copies;
		struct tcb_plan plan;
		plan_of(fixture, PLANTED_GOOD, 0, &plan);
		tcb_rotation_hurry(rotation, hurried ? 1e-9 : 1e6);
		assert_int_equal(tcb_rotation_get(rotation, &plan, 1, &copies, NULL), TCB_OK);
		assert_true(tcb_copies_count(copies) >= ROTATION / (512 << 10));
		tcb_copies_operands(copies, 0, first);
		tcb_copies_operands(copies, tcb_copies_count(copies) - 1, last);
		assert_memory_equal(first[streamed], last[streamed], 64);
		assert_int_equal(asks_for_small_pages(last[streamed]), hurried);
		tcb_rotation_destroy(rotation);
	}
}

static void samples_are_calls(void **state)
{
	struct fixture *fixture = *state;
	struct tcb_rotation *rotation = rotation_of(fixture, ROTATION, 1 << 30);
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		struct tcb_plan plan;
		struct tcb_runner runner;
		plan_of(fixture, PLANTED_SLOW, 0, &plan);
		assert_int_equal(
			tcb_runner_init(&runner, &planted_op, &plan, fixture->pool, rotation, (enum tcb_state)s, NULL),
			TCB_OK);
		const struct tcb_screen_rule rule = { .samples_min = 7, .samples_max = 7 };
		double samples[7];
		int dropped = 1;
		void *operand[TCB_OPERANDS_MAX];
		assert_int_equal(tcb_measure(&runner, &rule, samples, &dropped, operand), 7);
		assert_false(dropped);
		assert_int_equal(runner.batch, 1);
		for (size_t i = 0; i < 7; i++)
			assert_true(samples[i] >= 1e6);
		assert_false(isnan(((const float *)operand[2])[0])); /* written over the poison, which is a NaN */
		tcb_runner_fini(&runner);
	}
	tcb_rotation_destroy(rotation);
}

static void slow_run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	const uint64_t start = tcb_clock_ns();
	tcb_op_cpu(&planted_op)->run(plan, operand, workspace, pool);
	while (tcb_clock_ns() - start < 1.2 * TCB_LONG_CALL_NS)
		;
	calls++;
}

/* A long call is a sample of its own, on a poisoned output; short ones that were taken for long are not. */
static void long_calls(void **state)
{
	struct fixture *fixture = *state;
	struct tcb_rotation *rotation = rotation_of(fixture, ROTATION, 1 << 30);
	struct tcb_side side = *tcb_op_cpu(&planted_op);
	struct tcb_op slow = planted_op;
	side.run = slow_run;
	slow.side[TCB_TARGET_CPU] = &side;
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		struct tcb_plan plan;
		struct tcb_runner runner;
		struct tcb_screen_rule rule = { .samples_min = 6, .samples_max = 8 };
		void *operand[TCB_OPERANDS_MAX];
		double samples[8];
		int dropped;
		plan_of(fixture, PLANTED_GOOD, 0, &plan);
		assert_int_equal(
			tcb_runner_init(&runner, &slow, &plan, fixture->pool, rotation, (enum tcb_state)s, NULL),
			TCB_OK);
		runner.warm_ns = 10 * TCB_LONG_CALL_NS; /* what was seen before differs: one more */
		calls = 0;
		assert_int_equal(tcb_measure(&runner, &rule, samples, &dropped, operand), 2);
		assert_int_equal(calls, 2);
		assert_true(samples[0] >= TCB_LONG_CALL_NS && !isnan(((const float *)operand[2])[0]) && !dropped);
		rule.lose_ns[s] = TCB_LONG_CALL_NS; /* not among the best, and not certainly lost */
		assert_int_equal(tcb_measure(&runner, &rule, samples, &dropped, operand), 1);
		assert_non_null(operand[2]);
		assert_false(dropped);
		tcb_runner_fini(&runner);
		assert_int_equal(
			tcb_runner_init(&runner, &planted_op, &plan, fixture->pool, rotation, (enum tcb_state)s, NULL),
			TCB_OK);
		size_t taken = 0; /* a busy machine can make any call a long one, but not each of many */
		for (int attempt = 0; attempt < 50 && taken < 3; attempt++) {
			runner.warm_ns = 10 * TCB_LONG_CALL_NS;
			taken = tcb_measure(&runner, &rule, samples, &dropped, operand);
		}
		assert_true(taken >= 3);
		tcb_runner_fini(&runner);
	}
	tcb_rotation_destroy(rotation);
}

/* Others have the processors at so many looks more. */
static double disturbed_ns(void *ctx, size_t thread)
{
	static double waited_ns;
	int *looks = ctx;
	(void)thread;
	waited_ns += (*looks)-- > 0 ? 1e12 : 0;
	return waited_ns;
}

/* Others make the first calls long. */
static void stretched_run(const struct tcb_plan *plan, void *const operand[], void *workspace, struct tcb_pool *pool)
{
	const uint64_t start = tcb_clock_ns();
	tcb_op_cpu(&planted_op)->run(plan, operand, workspace, pool);
	while (calls < 2 && tcb_clock_ns() - start < 1.2 * TCB_LONG_CALL_NS)
		;
	calls++;
}

/* A call is not long because others had its processor while it was warmed up. */
static void disturbed_warming(void **state)
{
	struct fixture *fixture = *state;
	struct tcb_rotation *rotation = rotation_of(fixture, ROTATION, 1 << 30);
	struct tcb_side side = *tcb_op_cpu(&planted_op);
	struct tcb_op stretched = planted_op;
	struct tcb_plan plan;
	struct tcb_runner runner;
	int left = 0;
	struct tcb_waits waits = { .threads = 1, .waited_ns = disturbed_ns, .ctx = &left };
	side.run = stretched_run;
	stretched.side[TCB_TARGET_CPU] = &side;
	plan_of(fixture, PLANTED_GOOD, 0, &plan);
	assert_int_equal(tcb_runner_init(&runner, &stretched, &plan, fixture->pool, rotation, TCB_HOT, NULL), TCB_OK);
	runner.waits = &waits;
	for (int attempt = 0; attempt < 10; attempt++) { /* a busy machine can make any call a long one */
		left = 6;
		calls = 0;
		runner.warm_ns = 0;
		tcb_runner_warm(&runner);
		if (runner.warm_ns < TCB_LONG_CALL_NS)
			break;
	}
	assert_true(runner.warm_ns < TCB_LONG_CALL_NS);
	assert_true(calls > 2);
	tcb_runner_fini(&runner);
	tcb_rotation_destroy(rotation);
}

/* What others disturbed is taken again, as often as there are samples; what is disturbed then stays, and is marked. */
static void disturbed_samples(void **state)
{
	enum { SAMPLES = 7, WARM_LOOKS = 7 /* the beginnings of warming up and of measuring, and five more calls */ };
	static const int looks[] = { 0, WARM_LOOKS + 3, WARM_LOOKS + SAMPLES + 6, 1000 };
	static const size_t marked[] = { 0, 0, 6, SAMPLES };
	struct fixture *fixture = *state;
	struct tcb_rotation *rotation = rotation_of(fixture, ROTATION, 1 << 30);
	for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
		const struct tcb_screen_rule rule = { .samples_min = SAMPLES, .samples_max = SAMPLES };
		struct tcb_plan plan;
		struct tcb_runner runner;
		int left = looks[i], dropped;
		struct tcb_waits waits = { .threads = 1, .waited_ns = disturbed_ns, .ctx = &left };
		double samples[SAMPLES], lost[SAMPLES];
		size_t found = 0;
		void *operand[TCB_OPERANDS_MAX];
		plan_of(fixture, PLANTED_GOOD, 0, &plan);
		assert_int_equal(tcb_runner_init(&runner, &planted_op, &plan, fixture->pool, rotation, TCB_COLD, NULL),
				 TCB_OK);
		runner.waits = &waits;
		runner.lost = lost;
		assert_int_equal(tcb_measure(&runner, &rule, samples, &dropped, operand), SAMPLES);
		for (size_t s = 0; s < SAMPLES; s++)
			found += lost[s] > 0.5;
		assert_int_equal(found, marked[i]);
		tcb_runner_fini(&runner);
	}
	tcb_rotation_destroy(rotation);
}

static void losing(void **state)
{
	(void)state;
	const double samples[] = { 400, 380, 390, 130 };
	assert_false(tcb_measure_has_lost(samples, 3, 500, 0, NULL));
	assert_false(tcb_measure_has_lost(samples, 1, 500, 10, NULL)); /* one sample is none, */
	assert_false(tcb_measure_has_lost((double[]){ 140e6 }, 1, 140e6, 97e6, NULL));
	assert_true(
		tcb_measure_has_lost((double[]){ 140e6 }, 1, 140e6, 95e6, NULL)); /* unless no time slice explains it */
	assert_true(tcb_measure_has_lost(samples, 2, 500, 100, NULL));
	assert_false(tcb_measure_has_lost(samples, 2, 299, 100, NULL)); /* the warm-up was faster */
	assert_false(tcb_measure_has_lost(samples, 2, 500, 134, NULL));
	assert_true(tcb_measure_has_lost(samples, 3, 500, 134, NULL));
	assert_true(tcb_measure_has_lost(samples, 4, 500, 103, NULL));
	assert_false(tcb_measure_has_lost(samples, 4, 500, 105, NULL));
	assert_false(tcb_measure_has_lost(samples, 0, 500, 1, NULL));
	/* What is known of the noise decides sooner, never later. */
	const double over[TCB_SCREEN_CALLS] = { 2, 1.5, 9 };
	assert_true(tcb_measure_has_lost(samples, 1, 500, 199, over));
	assert_false(tcb_measure_has_lost(samples, 1, 500, 201, over));
	assert_false(tcb_measure_has_lost(samples, 1, 300, 199, over));
	assert_true(tcb_measure_has_lost(samples, 2, 500, 253, over));
	assert_false(tcb_measure_has_lost(samples, 2, 500, 254, over));
	assert_true(tcb_measure_has_lost(samples, 3, 500, 303, over));
	assert_false(tcb_measure_has_lost(samples, 3, 500, 305, over));
	assert_false(tcb_measure_has_lost(samples, 3, 500, 0, over));
}

static void looking(void **state)
{
	(void)state;
	const unsigned both = 1u << TCB_COLD | 1u << TCB_HOT;
	struct tcb_screen_rule rule = { .samples_max = 8, .lose_ns = { [TCB_COLD] = 200, [TCB_HOT] = 100 } };
	const double slow[] = { 500, 400, 380, 390 }, fair[] = { 500, 400, 380, 240 };
	/* By the rules that samples are dropped by: three and more beyond a quarter over the bar, two beyond thrice. */
	assert_int_equal(tcb_measure_look(slow, 1, both, &rule), TCB_LOOK_ON);
	assert_int_equal(tcb_measure_look(slow, 3, both, &rule), TCB_LOOK_ON);
	assert_int_equal(tcb_measure_look(slow, 4, both, &rule), TCB_LOOK_LOST);
	assert_int_equal(tcb_measure_look(slow, 3, 1u << TCB_HOT, &rule), TCB_LOOK_LOST);
	assert_int_equal(tcb_measure_look(fair, 4, both, &rule), TCB_LOOK_OVER);
	/* One call as fast as the bar is enough to be measured. */
	assert_int_equal(tcb_measure_look((double[]){ 500, 199 }, 2, both, &rule), TCB_LOOK_OVER);
	/* What is known of the noise tells sooner. */
	rule.over[TCB_COLD][0] = 1.5;
	rule.over[TCB_HOT][0] = 1.5;
	assert_int_equal(tcb_measure_look(slow, 2, both, &rule), TCB_LOOK_LOST);
	/* Few samples, few calls; nothing to lose against. */
	rule = (struct tcb_screen_rule){ .samples_max = 1, .lose_ns = { 200, 100 } };
	assert_int_equal(tcb_measure_look(slow, 2, both, &rule), TCB_LOOK_OVER);
	rule = (struct tcb_screen_rule){ .samples_max = 8, .lose_ns = { 0, 100 } };
	assert_int_equal(tcb_measure_look(slow, 1, both, &rule), TCB_LOOK_OVER);
}

static void enough(void **state)
{
	(void)state;
	const struct tcb_screen_rule rule = { .samples_min = 6, .samples_max = 8, .width = 0.02 };
	const struct tcb_interval wide = { .lo = 100, .median = 101, .hi = 101.9 },
				  narrow = { .lo = 100, .median = 100.1, .hi = 100.4 };
	assert_true(tcb_measure_is_enough(&wide, 6, &rule));
	assert_false(tcb_measure_is_enough(&wide, 5, &rule));
	assert_true(tcb_measure_is_enough(&narrow, 3, &rule));
	assert_false(tcb_measure_is_enough(&narrow, 2, &rule));
	assert_false(tcb_measure_is_enough(&(struct tcb_interval){ .lo = 90, .median = 100, .hi = 101 }, 8, &rule));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_rotate),
		cmocka_unit_test(what_varies_takes_turns),
		cmocka_unit_test(late_sets_are_small),
		cmocka_unit_test(never_fewer_than_two),
		cmocka_unit_test(cap_holds),
		cmocka_unit_test(memory_is_shared),
		cmocka_unit_test(sets_grow),
		cmocka_unit_test(rounds_share_a_rotation),
		cmocka_unit_test(default_rotation),
		cmocka_unit_test(hurried_copies_are_small_pages),
		cmocka_unit_test(samples_are_calls),
		cmocka_unit_test(disturbed_samples),
		cmocka_unit_test(disturbed_warming),
		cmocka_unit_test(long_calls),
		cmocka_unit_test(losing),
		cmocka_unit_test(looking),
		cmocka_unit_test(enough),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
