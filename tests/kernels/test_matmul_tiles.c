/* SPDX-License-Identifier: MIT
 *
 * The dense products on tiles (matmul_amx.h), with tile instructions in plain C:
 * odd shapes and blocks against the reference, bits that no geometry changes,
 * what is left of special values; and the processor's tiles, where it has them.
 */
#include "cmocka_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_identity.h"
#include "base/pool.h"
#include "base/sizes.h"
#include "base/tiles.h"
#include "base/util.h"
#include "kernels/formats.h"
#include "kernels/judged.h"
#include "kernels/matmul_tiles.h"

enum { GUARD = 64 }; /* values before and after C */
static const uint16_t guard = 0x5a5a;
static struct tcb_target target;

struct job {
	struct tcb_problem problem;
	enum tcb_type type;
	size_t outputs;
	uint16_t *a, *b, *c, *first; /* FIRST: what C's first run gave */
	void *stored;                /* C and its guards begin here, or a value later */
	struct tcb_reference reference;
};

static void open_job(struct job *job, const struct tcb_op *op, size_t m, size_t n, size_t k)
{
	const struct tcb_shape shape = { .m = m, .n = n, .k = k };
	assert_int_equal(tcb_problem_init(op, op->default_contract, &shape, &job->problem, NULL), TCB_OK);
	job->type = op->type;
	job->outputs = m * n;
	job->a = test_malloc(m * k * sizeof(*job->a));
	job->b = test_malloc(k * n * sizeof(*job->b));
	job->stored = aligned_alloc(64, tcb_round_up((m * n + 2 * GUARD + 1) * sizeof(*job->c), 64));
	assert_non_null(job->stored);
	job->c = job->stored;
	job->first = test_malloc(m * n * sizeof(*job->first));
	job->reference = (struct tcb_reference){ NULL };
	job->reference.y = test_malloc(m * n * sizeof(double));
	job->reference.magnitude = test_malloc(m * n * sizeof(double));
	job->reference.extra = test_malloc(m * n * sizeof(double));
	op->fill(&job->problem, m + n + k, (void *[]){ job->a, job->b, job->c + GUARD });
}

static void close_job(struct job *job)
{
	void *const all[] = {
		job->a, job->b, job->first, job->reference.y, job->reference.magnitude, job->reference.extra
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		test_free(all[i]);
	free(job->stored);
}

static float value_of(const struct job *job, size_t at)
{
	float value;
	tcb_type_to_f32(job->type, job->c + GUARD + at, 1, &value);
	return value;
}

static void poison(struct job *job)
{
	for (size_t i = 0; i < job->outputs + 2 * GUARD; i++)
		job->c[i] = guard;
	memset(job->c + GUARD, 0xff, job->outputs * sizeof(*job->c)); /* NaNs */
}

static void look_at_guards(const struct job *job)
{
	for (size_t i = 0; i < GUARD; i++)
		assert_true(job->c[i] == guard && job->c[GUARD + job->outputs + i] == guard);
}

static struct tcb_plan plan_of(const struct job *job, size_t midi_m, size_t midi_n, size_t midi_k, size_t micro_m,
			       size_t micro_n, int prefetch)
{
	const struct tcb_shape *s = &job->problem.shape;
	struct tcb_plan plan;
	memset(&plan, 0, sizeof(plan));
	plan.problem = job->problem;
	plan.threads = 1;
	tcb_geometry_init(&plan.geometry);
	plan.geometry.tile[TCB_MICRO] = (struct tcb_tile){ micro_m, micro_n, 1 };
	plan.geometry.tile[TCB_MIDI] = (struct tcb_tile){ midi_m, midi_n, midi_k };
	plan.geometry.tile[TCB_MACRO] =
		(struct tcb_tile){ tcb_round_up(s->m, midi_m), tcb_round_up(s->n, midi_n), s->k };
	plan.geometry.knob[TCB_KNOB_ISA] = TCB_ISA_AMX;
	plan.geometry.knob[TCB_KNOB_PREFETCH] = prefetch;
	plan.chain = matmul_chain(&plan.problem, &plan.geometry);
	return plan;
}

/* C in two tasks, one beside the other, where N is large enough. */
static void run(struct job *job, const struct tcb_plan *plan, const struct matmul_tiles *tiles)
{
	const struct tcb_shape *s = &job->problem.shape;
	struct matmul_room room;
	assert_int_equal(matmul_tiles_room(&job->problem, &plan->geometry, &room), 0);
	char *workspace = aligned_alloc(64, room.all);
	assert_non_null(workspace);
	memset(workspace, 0xff, room.all);
	poison(job);
	const size_t half = s->n > 64 ? 64 : s->n;
	struct matmul_task task = { plan, &room, (char *)job->a, (char *)job->b, (char *)(job->c + GUARD), 0,
				    s->m, 0,     half,           workspace };
	tiles->run(job->type, &task);
	task.n = half;
	task.columns = s->n - half;
	if (task.columns)
		tiles->run(job->type, &task);
	look_at_guards(job);
	free(workspace);
}

static void judge(struct job *job, const struct tcb_plan *plan, const char *what)
{
	float *got = test_malloc(job->outputs * sizeof(*got));
	size_t bad = 0;
	tcb_type_to_f32(job->type, job->c + GUARD, job->outputs, got);
	const double ratio = tcb_error_ratio(plan, &job->reference, got, job->outputs, &bad);
	if (!(ratio <= 1))
		fail_msg("%s of %zux%zux%zu, %s: output %zu is %g, not %g: error ratio %g", job->problem.op_name,
			 job->problem.shape.m, job->problem.shape.n, job->problem.shape.k, what, bad, (double)got[bad],
			 job->reference.y[bad], ratio);
	test_free(got);
}

static const struct tcb_op *const ops[] = { &tcb_op_matmul_f16, &tcb_op_matmul_bf16 };
static const size_t shapes[][3] = { { 1, 1, 1 },    { 1, 40, 33 },    { 16, 16, 32 },  { 17, 31, 70 },
				    { 33, 65, 97 }, { 40, 100, 300 }, { 70, 130, 64 }, { 3, 129, 257 } };

/* All geometries give the same bits; the first one's are within the bound. */
static void try_shapes(const struct matmul_tiles *tiles)
{
	static const size_t blocks[][3] = { { 32, 32, 32 }, { 64, 96, 64 }, { 32, 64, 128 }, { 96, 32, 512 } };
	for (size_t o = 0; o < 2; o++)
		for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
			struct job job;
			int is_first = 1;
			open_job(&job, ops[o], shapes[s][0], shapes[s][1], shapes[s][2]);
			ops[o]->reference(&job.problem, (void *[]){ job.a, job.b, job.c + GUARD }, &job.reference);
			for (size_t way = 0; way < 16; way++) {
				const size_t *midi = blocks[way / 4];
				const struct tcb_plan plan = plan_of(&job, midi[0], midi[1], midi[2], way & 2 ? 32 : 16,
								     way & 1 ? 32 : 16, way % 3 ? 512 : 0);
				run(&job, &plan, tiles);
				if (is_first) {
					judge(&job, &plan, tiles->name);
					memcpy(job.first, job.c + GUARD, job.outputs * sizeof(*job.first));
				}
				is_first = 0;
				assert_memory_equal(job.first, job.c + GUARD, job.outputs * sizeof(*job.first));
			}
			close_job(&job);
		}
}

static void test_in_plain_c(void **state)
{
	(void)state;
	try_shapes(&matmul_tiles_any);
}

static void test_rows_alone(void **state)
{
	(void)state;
	for (size_t o = 0; o < 2; o++) {
		struct job all, one;
		open_job(&all, ops[o], 37, 50, 100);
		open_job(&one, ops[o], 1, 50, 100);
		const struct tcb_plan many = plan_of(&all, 64, 64, 32, 32, 32, 0);
		const struct tcb_plan alone = plan_of(&one, 32, 64, 128, 16, 32, 0);
		run(&all, &many, &matmul_tiles_any);
		memcpy(one.b, all.b, 50 * 100 * sizeof(*one.b));
		for (size_t m = 0; m < 37; m++) {
			memcpy(one.a, all.a + m * 100, 100 * sizeof(*one.a));
			run(&one, &alone, &matmul_tiles_any);
			assert_memory_equal(one.c + GUARD, all.c + GUARD + m * 50, 50 * sizeof(*one.c));
		}
		close_job(&all);
		close_job(&one);
	}
}

/* A large C whose rows are whole lines is stored past the caches, one whose rows are none is not: the same values. */
static void test_large_results(void **state)
{
	(void)state;
	for (size_t o = 0; o < 2; o++) {
		struct job job;
		open_job(&job, ops[o], 1040, 1024, 7);
		const struct tcb_plan plan = plan_of(&job, 512, 256, 32, 32, 32, 0);
		assert_true(job.outputs * sizeof(*job.c) >= 2 << 20);
		run(&job, &plan, &matmul_tiles_any);
		memcpy(job.first, job.c + GUARD, job.outputs * sizeof(*job.first));
		ops[o]->reference(&job.problem, (void *[]){ job.a, job.b, job.c + GUARD }, &job.reference);
		judge(&job, &plan, "whole lines");
		job.c++;
		run(&job, &plan, &matmul_tiles_any);
		assert_memory_equal(job.first, job.c + GUARD, job.outputs * sizeof(*job.first));
		close_job(&job);
	}
}

/* NaN stays in its row, infinity gives infinity or NaN, f16 overflows to infinity; subnormal f16 count, bf16 are 0. */
static void test_special_values(void **state)
{
	enum { ROWS = 5, COLUMNS = 71, STEPS = 39 };
	(void)state;
	for (size_t o = 0; o < 2; o++) {
		struct job job;
		const int is_f16 = ops[o]->type == TCB_TYPE_F16;
		const float rows[] = { NAN, INFINITY, is_f16 ? 0x1p-20f : 0x1p-130f, is_f16 ? 60000.0f : 1e30f };
		open_job(&job, ops[o], ROWS, COLUMNS, STEPS);
		for (size_t r = 0; r < 4; r++)
			for (size_t k = 0; k < (r < 2 ? 1 : STEPS); k++)
				job.a[r * STEPS + k] = is_f16 ? tcb_f32_to_f16(rows[r]) : tcb_f32_to_bf16(rows[r]);
		const struct tcb_plan plan = plan_of(&job, 32, 32, 32, 16, 32, 0);
		run(&job, &plan, &matmul_tiles_any);
		size_t tiny = 0, infinite = 0;
		for (size_t n = 0; n < COLUMNS; n++) {
			assert_true(isnan(value_of(&job, n)));
			assert_false(isfinite(value_of(&job, COLUMNS + n)));
			tiny += value_of(&job, 2 * COLUMNS + n) != 0;
			infinite += isinf(value_of(&job, 3 * COLUMNS + n)) != 0;
			assert_true(isfinite(value_of(&job, 4 * COLUMNS + n)));
		}
		assert_true(is_f16 ? tiny > COLUMNS / 2 : tiny == 0);
		assert_true(is_f16 ? infinite > COLUMNS / 2 : infinite == 0);
		close_job(&job);
	}
}

/* An f16 is its two parts: the product with 1 is itself, whatever it is but infinite. */
static void test_halves_are_exact(void **state)
{
	enum { COUNT = 1 << 16, COLUMNS = 16 };
	struct job job;
	(void)state;
	open_job(&job, ops[0], COUNT / COLUMNS, COLUMNS, COLUMNS);
	for (size_t i = 0; i < COUNT; i++)
		job.a[i] = (i & 0x7c00) == 0x7c00 ? 0 : (uint16_t)i;
	for (size_t i = 0; i < (size_t)COLUMNS * COLUMNS; i++)
		job.b[i] = i / COLUMNS == i % COLUMNS ? 0x3c00 : 0;
	const struct tcb_plan plan = plan_of(&job, 512, 16, 32, 32, 16, 0);
	run(&job, &plan, &matmul_tiles_any);
	for (size_t i = 0; i < COUNT; i++)
		if (job.c[GUARD + i] != job.a[i] && (job.a[i] & 0x7fff))
			fail_msg("%04x times 1 is %04x", job.a[i], job.c[GUARD + i]);
	close_job(&job);
}

#if defined(__x86_64__)
static void test_packed_by_vectors(void **state)
{
	(void)state;
	if (!tcb_target_has(&target, TCB_ISA_AVX512))
		skip_because("this machine has no AVX-512: packing by its vectors was not run");
	try_shapes(&matmul_tiles_avx512);
}

/* The processor's tiles give plain C's bits, by the op's own plan and by two threads. */
static void test_of_processor(void **state)
{
	struct tcb_pool *pool;
	(void)state;
	if (!tcb_target_has(&target, TCB_ISA_AMX) || tcb_tiles_ask(NULL) != TCB_OK)
		skip_because("this machine has no AMX: its instructions were not run, only their logic in plain C");
	assert_int_equal(tcb_pool_create(2, NULL, &pool, NULL), TCB_OK);
	for (size_t o = 0; o < 2; o++)
		for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
			for (unsigned threads = 1; threads <= 2; threads++) {
				struct tcb_target only = target;
				struct job job;
				struct tcb_plan plan;
				open_job(&job, ops[o], shapes[s][0], shapes[s][1], shapes[s][2]);
				const struct tcb_plan plain = plan_of(&job, 32, 32, 32, 16, 32, 0);
				run(&job, &plain, &matmul_tiles_any);
				memcpy(job.first, job.c + GUARD, job.outputs * sizeof(*job.first));
				only.isa_mask = 1u << TCB_ISA_AMX;
				only.threads = threads;
				tcb_op_standard(&job.problem, &only, &plan.geometry);
				const struct tcb_geometry geometry = plan.geometry;
				assert_int_equal(tcb_op_cpu(ops[o])->plan(&job.problem, &geometry, &plan, NULL),
						 TCB_OK);
				assert_int_equal(plan.variant->isa, TCB_ISA_AMX);
				void *workspace = aligned_alloc(64, plan.workspace_bytes);
				memset(workspace, 0xff, plan.workspace_bytes);
				poison(&job);
				tcb_op_cpu(ops[o])->run(&plan, (void *[]){ job.a, job.b, job.c + GUARD }, workspace,
							pool);
				look_at_guards(&job);
				assert_memory_equal(job.first, job.c + GUARD, job.outputs * sizeof(*job.first));
				free(workspace);
				close_job(&job);
			}
	tcb_pool_destroy(pool);
}
#endif

int main(void)
{
	struct tcb_device device;
	if (tcb_cpu_identify("cpu", 1, &device, NULL) != TCB_OK)
		return 1;
	target = device.target;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_plain_c),
		cmocka_unit_test(test_rows_alone),
		cmocka_unit_test(test_large_results),
		cmocka_unit_test(test_special_values),
		cmocka_unit_test(test_halves_are_exact),
#if defined(__x86_64__)
		cmocka_unit_test(test_packed_by_vectors),
		cmocka_unit_test(test_of_processor),
#endif
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
