/* SPDX-License-Identifier: MIT
 *
 * rmsnorm and layernorm, and the loops that all row ops share: every length
 * of rows, special values, numbers beyond what f32 can square, and means that
 * a sum of squares alone would cancel.
 */
#include "kernels/rows/rows.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cpu_identity.h"
#include "base/sizes.h"
#include "base/util.h"
#include "cmocka_all.h"
#include "kernels/layernorm/layernorm.h"
#include "kernels/rmsnorm/rmsnorm.h"
#include "kernels/space.h"

enum { THREADS = 2, SAMPLE = 40, ROWS_MAX = 4, COLUMNS_MAX = 4100 };

static const struct tcb_op *const norms[] = { &tcb_op_rmsnorm, &tcb_op_layernorm };
static struct tcb_target target;
static struct tcb_pool *pool;

/* One problem on guarded buffers; inputs are filled by the op and may be changed. */
struct bench {
	const struct tcb_op *op;
	struct tcb_problem problem;
	size_t operands, count;
	int output;
	struct tcb_buffer buffer[TCB_OPERANDS_MAX];
	void *data[TCB_OPERANDS_MAX];
};

static void bench_init(struct bench *b, const struct tcb_op *op, size_t m, size_t n)
{
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	struct tcb_error err;
	memset(b, 0, sizeof(*b));
	b->op = op;
	b->count = m * n;
	if (tcb_problem_init(op, TCB_CONTRACT_F32, &(struct tcb_shape){ m, n, 0 }, &b->problem, &err) != TCB_OK)
		fail_msg("%s", err.message);
	b->operands = op->operands(&b->problem, operands);
	b->output = tcb_operand_output(operands, b->operands);
	for (size_t i = 0; i < b->operands; i++) {
		assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, operands[i].bytes, &b->buffer[i], NULL), TCB_OK);
		b->data[i] = b->buffer[i].data;
	}
	op->fill(&b->problem, 7 + n, b->data);
}

static void bench_fini(struct bench *b)
{
	for (size_t i = 0; i < b->operands; i++)
		tcb_buffer_free(&b->buffer[i]);
}

static float *x_of(struct bench *b)
{
	return b->data[0];
}

static float *run(struct bench *b, const struct tcb_geometry *geometry, struct tcb_plan *plan)
{
	struct tcb_buffer workspace;
	struct tcb_error err;
	if (tcb_op_cpu(b->op)->plan(&b->problem, geometry, plan, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, plan->workspace_bytes, &workspace, NULL), TCB_OK);
	memset(b->data[b->output], TCB_POISON, b->count * sizeof(float));
	tcb_op_cpu(b->op)->run(plan, b->data, workspace.data, pool);
	assert_int_equal(tcb_buffer_check(&b->buffer[b->output]), 0);
	assert_int_equal(tcb_buffer_check(&workspace), 0);
	tcb_buffer_free(&workspace);
	return b->data[b->output];
}

static double ratio_of(struct bench *b, const struct tcb_plan *plan, const float *got)
{
	struct tcb_reference reference = { malloc(b->count * sizeof(double)), malloc(b->count * sizeof(double)),
					   malloc(b->count * sizeof(double)), NULL };
	assert_true(reference.y && reference.magnitude && reference.extra);
	b->op->reference(&b->problem, b->data, &reference);
	double ratio = tcb_error_ratio(plan, &reference, got, b->count, NULL);
	free(reference.y);
	free(reference.magnitude);
	free(reference.extra);
	return ratio;
}

static void check(struct bench *b, const struct tcb_geometry *geometry)
{
	char text[TCB_GEOMETRY_TEXT_MAX];
	struct tcb_plan plan;
	const float *got = run(b, geometry, &plan);
	double ratio = ratio_of(b, &plan, got);
	tcb_geometry_print(geometry, text);
	if (!(ratio <= 1))
		fail_msg("%s %zux%zu %s: error ratio %g", b->op->name, b->problem.shape.m, b->problem.shape.n, text,
			 ratio);
}

/* CHANGE x of a bench, then CHECK each of about SAMPLE geometries of the space, and of what policies leave out of it.
 */
static void over_space(const struct tcb_op *op, size_t m, size_t n, void (*change)(struct bench *b),
		       void (*look)(struct bench *b, const struct tcb_geometry *geometry))
{
	struct bench b;
	struct tcb_space *space;
	struct tcb_error err;
	bench_init(&b, op, m, n);
	change(&b);
	if (tcb_space_create(op, &b.problem, &target, 1, &space, &err) != TCB_OK)
		fail_msg("%s", err.message);
	size_t step = space->count / SAMPLE + 1;
	assert_true(space->count > 0);
	/* A step that shares no factor with the axes, or some values would never be met. */
	for (size_t i = 0, at = 0; i < SAMPLE; i++, at = (at + step + 7) % space->count)
		look(&b, &space->geometries[at]);
	tcb_space_destroy(space);
	bench_fini(&b);
}

static void over_shapes(void (*change)(struct bench *b),
			void (*look)(struct bench *b, const struct tcb_geometry *geometry))
{
	static const struct tcb_shape shapes[] = { { 3, 1008, 0 }, { 1, 4099, 0 }, { 4, 100, 0 }, { 2, 1, 0 } };
	for (size_t o = 0; o < 2; o++)
		for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
			over_space(norms[o], shapes[s].m, shapes[s].n, change, look);
}

/* Rows of 1 to 130 columns, and around the powers of two and primes beyond: every instruction family's standard
 * geometry, with both forms and streaming where they are legal. */
static void test_every_length(void **state)
{
	(void)state;
	static const size_t lengths[] = { 251, 255, 256, 257, 509, 511, 512, 513, 1021, 1023, 1024, 1025 };
	size_t checked = 0;
	for (size_t l = 1; l <= 130 + sizeof(lengths) / sizeof(lengths[0]); l++) {
		for (size_t o = 0; o < 2; o++) {
			struct bench b;
			bench_init(&b, norms[o], 3, l <= 130 ? l : lengths[l - 131]);
			for (int isa = 0; isa <= TCB_ISA_NEON; isa++) {
				struct tcb_target only = target;
				struct tcb_geometry geometry;
				only.isa_mask = 1u << TCB_ISA_SCALAR | 1u << isa;
				if (!tcb_target_has(&target, (enum tcb_isa)isa) || !tcb_float_lanes(isa))
					continue;
				tcb_op_standard(&b.problem, &only, &geometry);
				check(&b, &geometry);
				checked++;
				for (int32_t stages = 1; stages <= 3; stages++) {
					struct tcb_geometry other = geometry;
					other.tile[TCB_MIDI].m = stages == 3 ? 4 : 1;
					other.knob[TCB_KNOB_THREADS] = 1;
					other.knob[TCB_KNOB_STREAM] = b.problem.shape.n % 16 == 0;
					other.knob[TCB_KNOB_STAGES] = stages;
					other.knob[TCB_KNOB_PREFETCH] = stages == 1 ? 0 : 8192;
					other.knob[TCB_KNOB_HINT] = stages == 1 ? TCB_HINT_T0 : TCB_HINT_T1;
					other.knob[TCB_KNOB_ASKS] = stages == 3 ? 4 : stages;
					if (tcb_constraint_violated(b.op, &b.problem, &only, &other, 0, NULL))
						continue;
					check(&b, &other);
					checked++;
				}
			}
			bench_fini(&b);
		}
	}
	print_message("%zu runs\n", checked);
	assert_true(checked >= 2 * 130);
}

/* Rows in registers of which not all are aligned: streaming stores are asked for, and only some may be ones. */
static void test_short_rows_are_streamed(void **state)
{
	(void)state;
	static const size_t lengths[] = { 5, 16, 17, 32, 37, 48, 63 };
	for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
		for (size_t o = 0; o < 2; o++) {
			struct bench b;
			bench_init(&b, norms[o], 3, lengths[l]);
			for (int isa = 0; isa <= TCB_ISA_NEON; isa++) {
				static const char *const texts[] = {
					"macro=4x64x1,midi=4x64x1,micro=1x64x1,isa=avx512,threads=1,sched=static,"
					"prefetch=0,hint=t0,stream=1,stages=1,form=onepass,asks=1",
					"macro=4x64x1,midi=4x64x1,micro=1x64x1,isa=avx512,threads=1,sched=static,"
					"prefetch=0,hint=t0,stream=1,stages=1,form=twopass,asks=1",
				};
				struct tcb_geometry geometry;
				struct tcb_plan plan;
				if (!tcb_target_has(&target, (enum tcb_isa)isa) || !tcb_float_lanes(isa))
					continue;
				assert_int_equal(tcb_geometry_parse(texts[o], &geometry, NULL), TCB_OK);
				geometry.knob[TCB_KNOB_ISA] = isa;
				if (tcb_op_cpu(b.op)->plan(&b.problem, &geometry, &plan, NULL) == TCB_OK)
					check(&b, &geometry);
			}
			bench_fini(&b);
		}
}

static void change_nothing(struct bench *b)
{
	(void)b;
}

/* One bad value in the last row: the others come out as they did. */
static void look_at_bad_values(struct bench *b, const struct tcb_geometry *geometry)
{
	static const float bad[] = { NAN, INFINITY, -INFINITY };
	struct tcb_plan plan;
	size_t m = b->problem.shape.m, n = b->problem.shape.n, last = (m - 1) * n;
	float *kept = malloc(b->count * sizeof(float)), *x = x_of(b);
	assert_non_null(kept);
	memcpy(kept, run(b, geometry, &plan), b->count * sizeof(float));
	for (size_t k = 0; k < 6; k++) {
		size_t where = last + (k % 2 ? n - 1 : n / 2);
		float before = x[where];
		x[where] = bad[k / 2];
		const float *y = run(b, geometry, &plan);
		assert_memory_equal(y, kept, last * sizeof(float));
		/* rmsnorm leaves the finite values beside an infinite one as 0. */
		int is_zero = k >= 2 && b->op == &tcb_op_rmsnorm;
		for (size_t i = last; i < b->count; i++) {
			if (is_zero && i != where)
				assert_true(y[i] == 0);
			else
				assert_true(isnan(y[i]));
		}
		assert_true(ratio_of(b, &plan, y) <= 1); /* and so does the reference */
		x[where] = before;
	}
	free(kept);
}

static void test_bad_values(void **state)
{
	(void)state;
	over_shapes(change_nothing, look_at_bad_values);
}

/* Squares, sums and differences that f32 cannot hold. */
static void change_to_huge(struct bench *b)
{
	for (size_t i = 0; i < b->count; i++)
		x_of(b)[i] = (i % 3 ? 1.0f : -1.0f) * (i % 2 ? 3e38f : 1e25f) * (1 - (float)(i % 5) / 16);
}

static void change_to_tiny(struct bench *b)
{
	for (size_t i = 0; i < b->count; i++)
		x_of(b)[i] = (float)(i % 7) * (i % 2 ? 0x1p-149f : -0x1p-130f);
}

static void change_to_equal(struct bench *b)
{
	for (size_t i = 0; i < b->count; i++)
		x_of(b)[i] = 12345.678f;
}

/* A mean of ten thousand deviations. */
static void change_to_far_mean(struct bench *b)
{
	struct tcb_rng rng;
	tcb_rng_init(&rng, 9);
	for (size_t i = 0; i < b->count; i++)
		x_of(b)[i] = 1e4f + tcb_rng_normal(&rng);
}

/* The first blocks are nowhere near the mean of the row. */
static void change_to_steps(struct bench *b)
{
	size_t n = b->problem.shape.n;
	struct tcb_rng rng;
	tcb_rng_init(&rng, 10);
	for (size_t i = 0; i < b->count; i++)
		x_of(b)[i] = (i % n < n / 3 ? -3e4f : i % n < n / 2 ? 0 : 2e4f) + tcb_rng_normal(&rng);
}

static void test_ranges(void **state)
{
	(void)state;
	over_shapes(change_to_huge, check);
	over_shapes(change_to_tiny, check);
	over_shapes(change_to_equal, check);
	over_shapes(change_to_far_mean, check);
	over_shapes(change_to_steps, check);
}

/* What the bound is for: the textbook's mean of squares less the square of the mean fails it. */
static void test_cancelling_variance_fails(void **state)
{
	(void)state;
	struct bench b;
	struct tcb_geometry geometry;
	struct tcb_plan plan;
	bench_init(&b, &tcb_op_layernorm, 1, 4096);
	change_to_far_mean(&b);
	tcb_op_standard(&b.problem, &target, &geometry);
	geometry.knob[TCB_KNOB_FORM] = TCB_FORM_TWOPASS; /* the other one is allowed more */
	float *y = run(&b, &geometry, &plan), sum = 0, squares = 0;
	assert_true(ratio_of(&b, &plan, y) <= 1);
	for (size_t i = 0; i < b.count; i++) {
		sum += x_of(&b)[i];
		squares += x_of(&b)[i] * x_of(&b)[i];
	}
	float mean = sum / (float)b.count, variance = squares / (float)b.count - mean * mean;
	for (size_t i = 0; i < b.count; i++)
		y[i] = (x_of(&b)[i] - mean) / sqrtf(fabsf(variance) + 1e-5f) * ((float *)b.data[LAYERNORM_W])[i] +
		       ((float *)b.data[LAYERNORM_B])[i];
	assert_true(ratio_of(&b, &plan, y) > 2); /* 14 with 16 lanes; the longer sums of fewer are allowed more */
	bench_fini(&b);
}

/* Threads, strips and schedules of the same blocks give the same bits. */
static void test_threads_do_not_matter(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"macro=1x4096x1,midi=1x1024x1,micro=1x4x1,isa=scalar,threads=1,sched=static,prefetch=0,hint=t0,"
		"stream=0,stages=1,form=onepass,asks=1",
		"macro=1x2048x1,midi=1x1024x1,micro=1x4x1,isa=scalar,threads=2,sched=static,prefetch=0,hint=t0,"
		"stream=0,stages=1,form=onepass,asks=1",
		"macro=1x1024x1,midi=1x1024x1,micro=1x4x1,isa=scalar,threads=2,sched=dynamic,prefetch=1024,hint=t1,"
		"stream=0,stages=1,form=onepass,asks=1",
	};
	static float first[4096];
	struct bench b;
	bench_init(&b, &tcb_op_rmsnorm, 1, 4096);
	for (size_t i = 0; i < 3; i++) {
		struct tcb_geometry geometry;
		struct tcb_plan plan;
		struct tcb_error err;
		if (tcb_geometry_parse(texts[i], &geometry, &err) != TCB_OK)
			fail_msg("%s", err.message);
		const float *y = run(&b, &geometry, &plan);
		if (i == 0)
			memcpy(first, y, sizeof(first));
		assert_memory_equal(y, first, sizeof(first));
	}
	bench_fini(&b);
}

/* stages=4 of VARIANT: right, and the same bits for each number of threads and kind of store. */
static void check_groups(struct bench *b, const struct tcb_variant *variant, size_t group, size_t part)
{
	const int is_vector = variant->isa != TCB_ISA_SCALAR && variant->isa != TCB_ISA_NEON;
	const size_t rows = tcb_power_of_two_up(b->problem.shape.m);
	float *first = malloc(b->count * sizeof(*first));
	assert_non_null(first);
	for (int k = 0; k < 8; k++) {
		char text[TCB_GEOMETRY_TEXT_MAX];
		struct tcb_geometry geometry;
		struct tcb_plan plan;
		snprintf(text, sizeof(text),
			 "macro=%zux2048x1,midi=%zux%zux1,micro=1x%zux1,isa=%s,threads=%d,sched=static,prefetch=%d,"
			 "hint=%s,stages=4,stream=%d,form=onepass,asks=%d",
			 rows, group, part, variant->micro.n, tcb_isa_text(variant->isa), 1 + k % 2, k / 4 ? 4096 : 0,
			 k / 4 ? "t1" : "t0", is_vector ? k / 2 % 2 : 0, k / 4 ? 1 + k % 2 : 1);
		assert_int_equal(tcb_geometry_parse(text, &geometry, NULL), TCB_OK);
		check(b, &geometry);
		const float *y = run(b, &geometry, &plan);
		if (k == 0)
			memcpy(first, y, b->count * sizeof(*first));
		assert_memory_equal(first, y, b->count * sizeof(*first));
	}
	free(first);
}

/* Groups that are whole and cut, one of them with a row that is done in double and one with a row of NaN. */
static void test_groups(void **state)
{
	(void)state;
	static const size_t columns[] = { 272, 1037 };
	for (size_t o = 0; o < 2; o++) {
		const struct tcb_variant *variant;
		for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(norms[o]), i)) != NULL; i++) {
			if (!tcb_float_lanes((int32_t)variant->isa) || !tcb_target_has(&target, variant->isa) ||
			    !rows_has_loops(variant->micro.n / tcb_float_lanes((int32_t)variant->isa)))
				continue;
			for (size_t c = 0; c < 2; c++) {
				struct bench b;
				bench_init(&b, norms[o], 19, columns[c]);
				for (size_t k = 0; k < columns[c]; k++)
					x_of(&b)[5 * columns[c] + k] *= 1e25f;
				x_of(&b)[13 * columns[c] + 200] = NAN;
				check_groups(&b, variant, 4, 512);
				check_groups(&b, variant, 8, 16);
				bench_fini(&b);
			}
		}
	}
}

/* Rows in parts whose strips threads share, with parts of -inf, a NaN, and maxima that rise from strip to strip and
 * fall: right, and the same bits whoever has a strip. */
static void test_shared_parts(void **state)
{
	(void)state;
	static const size_t columns[] = { 1030, 4096 };
	const struct tcb_op *op = tcb_op_find("softmax");
	const struct tcb_variant *variant;
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(op), i)) != NULL; i++) {
		if (!tcb_float_lanes((int32_t)variant->isa) || !tcb_target_has(&target, variant->isa) ||
		    !rows_has_loops(variant->micro.n / tcb_float_lanes((int32_t)variant->isa)))
			continue;
		for (size_t c = 0; c < 4; c++) {
			const size_t n = columns[c % 2], strip = c < 2 ? 512 : 1024;
			static float first[5 * 4096];
			struct bench b;
			bench_init(&b, op, 5, n);
			for (size_t k = 0; k < n; k++) {
				if (k % 512 < 128)
					x_of(&b)[k] = -INFINITY;
				x_of(&b)[n + k] += 10.0f * (float)(k / 100);
				x_of(&b)[2 * n + k] -= 10.0f * (float)(k / 100);
			}
			x_of(&b)[3 * n + n - 1] = NAN;
			for (int k = 0; k < 4; k++) {
				char text[TCB_GEOMETRY_TEXT_MAX];
				struct tcb_geometry geometry;
				struct tcb_plan plan;
				snprintf(text, sizeof text,
					 "macro=8x%zux1,midi=%dx64x1,micro=1x%zux1,isa=%s,threads=%d,sched=%s,"
					 "prefetch=%d,hint=t0,stages=1,stream=0,form=running,asks=1",
					 strip, 1 << k % 3, variant->micro.n, tcb_isa_text(variant->isa), k < 2 ? 2 : 3,
					 k % 2 ? "dynamic" : "static", 1024 * (k % 2));
				assert_int_equal(tcb_geometry_parse(text, &geometry, NULL), TCB_OK);
				check(&b, &geometry);
				const float *y = run(&b, &geometry, &plan);
				if (k == 0)
					memcpy(first, y, b.count * sizeof *first);
				assert_memory_equal(first, y, b.count * sizeof *first);
			}
			bench_fini(&b);
		}
	}
}

static void test_refusals(void **state)
{
	(void)state;
	struct tcb_problem problem;
	struct tcb_geometry geometry;
	struct tcb_plan plan;
	struct tcb_error err;
	const struct tcb_op *op = &tcb_op_layernorm;
	assert_int_equal(op->check_shape(op, &(struct tcb_shape){ 4, 4, 4 }, &err), TCB_E_USAGE);
	assert_int_equal(op->check_shape(op, &(struct tcb_shape){ 4, 0, 0 }, &err), TCB_E_USAGE);
	assert_int_equal(op->check_shape(op, &(struct tcb_shape){ 4, SIZE_MAX / 8, 0 }, &err), TCB_E_OVERFLOW);
	assert_int_equal(tcb_problem_init(op, TCB_CONTRACT_F32, &(struct tcb_shape){ 2, 4096, 0 }, &problem, &err),
			 TCB_OK);
#define REFUSES(change, part)                                                                            \
	do {                                                                                             \
		tcb_op_standard(&problem, &target, &geometry);                                           \
		assert_int_equal(tcb_op_cpu(op)->plan(&problem, &geometry, &plan, &err), TCB_OK);        \
		change;                                                                                  \
		assert_int_equal(tcb_op_cpu(op)->plan(&problem, &geometry, &plan, &err), TCB_E_ILLEGAL); \
		assert_non_null(strstr(err.message, part));                                              \
	} while (0)
	REFUSES(geometry.knob[TCB_KNOB_FORM] = TCB_FORM_KAHAN, "no form=kahan");
	REFUSES(geometry.knob[TCB_KNOB_STAGES] = 2, "prefetch of a row");
	REFUSES((geometry.knob[TCB_KNOB_STAGES] = 3, geometry.tile[TCB_MIDI].m = 1), "midi.m above 1");
	REFUSES(geometry.knob[TCB_KNOB_HINT] = TCB_HINT_NTA, "hint=t0");
	REFUSES((geometry.knob[TCB_KNOB_THREADS] = 1, geometry.knob[TCB_KNOB_STAGES] = 4,
		 geometry.tile[TCB_MIDI].m = 2),
		"stages=4 stores the rows of a task");
	REFUSES(geometry.knob[TCB_KNOB_STAGES] = 5, "stages (1 to 4)");
	REFUSES(geometry.knob[TCB_KNOB_ASKS] = 3, "1, 2 or 4");
	REFUSES(geometry.knob[TCB_KNOB_ASKS] = 2, "hint=t1");
	REFUSES(geometry.knob[TCB_KNOB_HINT] = TCB_HINT_T1, "hint=t0");
	REFUSES(geometry.knob[TCB_KNOB_THREADS] = 3, "tasks");
#undef REFUSES
}

/* The results of B as GEOMETRY has them. */
static void run_geometry(const struct tcb_problem *p, const struct tcb_geometry *geometry, void *const data[])
{
	struct tcb_buffer workspace = { 0 };
	struct tcb_plan plan;
	struct tcb_error err;
	if (tcb_plan_make(p, geometry, &plan, &err) != TCB_OK)
		fail_msg("%s", err.message);
	if (plan.workspace_bytes)
		assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, plan.workspace_bytes, &workspace, NULL), TCB_OK);
	tcb_op_cpu(p->op)->run(&plan, data, workspace.data, pool);
	tcb_buffer_free(&workspace);
}

/* With the word add a norm is that of the sum, bit for bit, also where the sum takes the place of x. */
static void test_sum_in_place(void **state)
{
	static const size_t columns[] = { 5, 61, 1000, 4096 };
	(void)state;
	for (size_t i = 0; i < 8; i++) {
		const struct tcb_op *op = norms[i % 2];
		const struct rows_op *rows = op->member;
		const size_t m = 7, n = columns[i / 2], count = m * n;
		struct tcb_problem added;
		struct tcb_shape shape = { m, n, 0 };
		struct tcb_space *space;
		struct bench b;
		void *data[TCB_OPERANDS_MAX];
		float *x = malloc(count * sizeof *x), *r = malloc(count * sizeof *r);
		float *sum = malloc(count * sizeof *sum), *y = malloc(count * sizeof *y);
		struct tcb_rng rng;
		assert_true(x && r && sum && y);
		bench_init(&b, op, m, n);
		shape.words.add = 1;
		assert_int_equal(tcb_problem_init(op, TCB_CONTRACT_F32, &shape, &added, NULL), TCB_OK);
		tcb_rng_init(&rng, n);
		for (size_t j = 0; j < count; j++) {
			x[j] = tcb_rng_normal(&rng);
			r[j] = tcb_rng_normal(&rng);
			((float *)b.data[rows->x])[j] = x[j] + r[j];
		}
		memcpy(data, b.data, sizeof data);
		data[rows->x] = data[rows_sum(rows)] = sum;
		data[rows_added(rows)] = r;
		data[rows->y] = y;
		assert_int_equal(tcb_space_create(op, &added, &target, 1, &space, NULL), TCB_OK);
		tcb_rng_init(&rng, 3);
		for (size_t g = 0; g < SAMPLE; g++) {
			const struct tcb_geometry *geometry = &space->geometries[tcb_rng_below(&rng, space->count)];
			memcpy(sum, x, count * sizeof *sum);
			memset(y, TCB_POISON, count * sizeof *y);
			run_geometry(&b.problem, geometry, b.data);
			run_geometry(&added, geometry, data);
			assert_memory_equal(sum, b.data[rows->x], count * sizeof *sum);
			/* Alignment decides who streams, and nothing else. */
			assert_memory_equal(y, b.data[rows->y], count * sizeof *y);
		}
		tcb_space_destroy(space);
		bench_fini(&b);
		free(x);
		free(r);
		free(sum);
		free(y);
	}
}

/* All outputs of P by geometries of all kinds, with guards around them. */
static void check_outputs(const struct tcb_problem *p, uint64_t seed)
{
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	struct tcb_buffer buffers[TCB_OPERANDS_MAX];
	struct tcb_reference reference[TCB_OUTPUTS_MAX];
	void *data[TCB_OPERANDS_MAX];
	struct tcb_space *space;
	struct tcb_rng rng;
	const size_t count = p->op->operands(p, operands);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, operands[i].bytes, &buffers[i], NULL), TCB_OK);
		data[i] = buffers[i].data;
	}
	double *doubles = malloc(sizeof(double) * tcb_references_lay_out(operands, count, NULL, NULL));
	assert_non_null(doubles);
	tcb_references_lay_out(operands, count, doubles, reference);
	p->op->fill(p, seed, data);
	p->op->reference(p, data, reference);
	assert_int_equal(tcb_space_create(p->op, p, &target, 1, &space, NULL), TCB_OK);
	tcb_rng_init(&rng, seed);
	for (size_t g = 0; g < SAMPLE / 4; g++) {
		const struct tcb_geometry *geometry = &space->geometries[tcb_rng_below(&rng, space->count)];
		char text[TCB_GEOMETRY_TEXT_MAX], shape[TCB_SHAPE_TEXT_MAX];
		struct tcb_plan plan;
		size_t output = 0, bad = 0;
		for (size_t i = 0; i < count; i++)
			if (operands[i].role == TCB_ROLE_OUTPUT)
				memset(data[i], TCB_POISON, operands[i].bytes);
		run_geometry(p, geometry, data);
		assert_int_equal(tcb_plan_make(p, geometry, &plan, NULL), TCB_OK);
		const double ratio = tcb_outputs_error_ratio(&plan, operands, count, reference, data, &output, &bad);
		tcb_geometry_print(geometry, text);
		tcb_shape_print(&p->shape, shape);
		if (!(ratio <= 1))
			fail_msg("%s %s %s: %s %zu is off by %g times what it may be", p->op_name, shape, text,
				 operands[output].name, bad, ratio);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(tcb_buffer_check(&buffers[i]), 0);
	}
	tcb_space_destroy(space);
	free(doubles);
	for (size_t i = 0; i < count; i++)
		tcb_buffer_free(&buffers[i]);
}

/* Rows of f16 and bf16 in, and out, with and without the word add. */
static void test_halves(void **state)
{
	static const size_t columns[] = { 5, 61, 1000, 4099, 1 };
	(void)state;
	for (size_t i = 0; i < 90; i++) {
		struct tcb_shape shape = { 1 + i % 7, columns[i % 5], 0, { 0 } };
		struct tcb_problem p;
		shape.words.x_type = (uint32_t)(1 + i / 2 % 3);
		shape.words.y_type = (uint16_t)(1 + i / 6 % 3);
		shape.words.add = i / 18 % 2;
		assert_int_equal(tcb_problem_init(norms[i % 2], TCB_CONTRACT_F32, &shape, &p, NULL), TCB_OK);
		check_outputs(&p, i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_short_rows_are_streamed),
		cmocka_unit_test(test_bad_values),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_cancelling_variance_fails),
		cmocka_unit_test(test_threads_do_not_matter),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_shared_parts),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_sum_in_place),
		cmocka_unit_test(test_halves),
	};
	static struct tcb_device device;
	struct tcb_error err;
	if (tcb_cpu_identify("cpu", THREADS, &device, &err) != TCB_OK ||
	    tcb_pool_create(THREADS, NULL, &pool, &err) != TCB_OK)
		return 1;
	target = device.target;
	target.threads = THREADS;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	tcb_pool_destroy(pool);
	return failed;
}
