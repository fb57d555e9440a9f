/* SPDX-License-Identifier: MIT
 *
 * The dense products beside what test_variants.c asks of every op: the
 * reference against the plainest one, special values, C's own rounding, the
 * conversions of bfloat16, and geometries that no plan takes.
 */
#include "cmocka_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_identity.h"
#include "base/pool.h"
#include "base/util.h"
#include "kernels/constraint.h"
#include "kernels/formats.h"
#include "kernels/matmul/matmul_cpu.h"

static struct tcb_target target;
static const enum tcb_isa families[] = { TCB_ISA_SCALAR, TCB_ISA_AVX2, TCB_ISA_AVX512, TCB_ISA_NEON };
static const struct tcb_op *const ops[] = { &tcb_op_matmul_f32, &tcb_op_matmul_f16, &tcb_op_matmul_bf16 };

struct job {
	struct tcb_problem problem;
	void *operand[MATMUL_OPERANDS];
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	struct tcb_reference reference;
	size_t outputs;
};

static void open_job(struct job *job, const struct tcb_op *op, struct tcb_shape shape)
{
	assert_int_equal(tcb_problem_init(op, op->default_contract, &shape, &job->problem, NULL), TCB_OK);
	assert_int_equal(op->operands(&job->problem, job->operands), MATMUL_OPERANDS);
	for (int i = 0; i < MATMUL_OPERANDS; i++)
		job->operand[i] = test_malloc(job->operands[i].bytes);
	job->outputs = shape.m * shape.n;
	job->reference = (struct tcb_reference){ NULL };
	job->reference.y = test_malloc(job->outputs * sizeof(double));
	job->reference.magnitude = test_malloc(job->outputs * sizeof(double));
	job->reference.extra = test_malloc(job->outputs * sizeof(double));
	op->fill(&job->problem, 7, job->operand);
}

static void close_job(struct job *job)
{
	for (int i = 0; i < MATMUL_OPERANDS; i++)
		test_free(job->operand[i]);
	test_free(job->reference.y);
	test_free(job->reference.magnitude);
	test_free(job->reference.extra);
}

static double value_of(const struct job *job, int operand, size_t at)
{
	float value;
	const enum tcb_type type = job->operands[operand].type;
	tcb_type_to_f32(type, (const char *)job->operand[operand] + at * tcb_type_bytes(type), 1, &value);
	return (double)value;
}

static void reference_is_the_plain_sum(void **state)
{
	static const struct tcb_shape shapes[] = { { 1, 1, 1 }, { 9, 17, 129 }, { 3, 300, 5 }, { 33, 16, 260 } };
	(void)state;
	for (size_t o = 0; o < 3; o++)
		for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
			struct job job;
			open_job(&job, ops[o], shapes[s]);
			ops[o]->reference(&job.problem, job.operand, &job.reference);
			for (size_t i = 0; i < job.outputs; i++) {
				const size_t row = i / shapes[s].n, column = i % shapes[s].n;
				double sum = 0, size = 0;
				for (size_t k = 0; k < shapes[s].k; k++) {
					const double a = value_of(&job, MATMUL_A, row * shapes[s].k + k);
					const double b = value_of(&job, MATMUL_B, k * shapes[s].n + column);
					sum += a * b;
					size += fabs(a * b);
				}
				assert_true(fabs(job.reference.y[i] - sum) <= 1e-14 * size);
				assert_true(job.reference.magnitude[i] >= size);
				assert_true(job.reference.magnitude[i] <= size * 1.001);
				assert_true(job.reference.extra[i] > 0 && (o > 0 || job.reference.extra[i] < 1e-40));
			}
			close_job(&job);
		}
}

/* Runs the default geometry of ISA, B taken as DECODE says, and judges it. */
static void run_isa(struct job *job, const struct tcb_op *op, enum tcb_isa isa, enum tcb_decode decode)
{
	struct tcb_target only = target;
	struct tcb_geometry geometry;
	struct tcb_plan plan;
	struct tcb_pool *pool;
	struct tcb_error err;
	only.isa_mask = 1u << isa;
	only.threads = 1;
	tcb_op_standard(&job->problem, &only, &geometry);
	assert_int_equal(geometry.knob[TCB_KNOB_ISA], isa);
	geometry.knob[TCB_KNOB_DECODE] = (int32_t)decode;
	if (tcb_op_cpu(op)->plan(&job->problem, &geometry, &plan, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(tcb_pool_create(1, NULL, &pool, NULL), TCB_OK);
	void *workspace = aligned_alloc(64, (plan.workspace_bytes + 63) / 64 * 64);
	assert_non_null(workspace);
	tcb_op_cpu(op)->run(&plan, job->operand, workspace, pool);
	op->reference(&job->problem, job->operand, &job->reference);
	float *got = test_malloc(job->outputs * sizeof *got);
	tcb_type_to_f32(job->operands[MATMUL_C].type, job->operand[MATMUL_C], job->outputs, got);
	size_t bad = 0;
	const double ratio = tcb_error_ratio(&plan, &job->reference, got, job->outputs, &bad);
	if (!(ratio <= 1))
		fail_msg("%s: output %zu is %g, not %g: error ratio %g", plan.variant->name, bad, (double)got[bad],
			 job->reference.y[bad], ratio);
	test_free(got);
	free(workspace);
	tcb_pool_destroy(pool);
}

static void set(struct job *job, int operand, size_t at, float value)
{
	uint16_t half = job->operands[operand].type == TCB_TYPE_F16 ? tcb_f32_to_f16(value) : tcb_f32_to_bf16(value);
	if (job->operands[operand].type == TCB_TYPE_F32)
		memcpy((float *)job->operand[operand] + at, &value, sizeof value);
	else
		memcpy((uint16_t *)job->operand[operand] + at, &half, sizeof half);
}

/*
 * NaN stays in its row, infinity gives infinity or NaN, subnormal factors count, f16 overflows to infinity.  COLUMNS:
 * as many that some of them are a whole register tile.
 */
static void try_special_values(const struct tcb_op *op, enum tcb_isa isa, enum tcb_decode decode)
{
	enum { ROWS = 5, COLUMNS = 71, STEPS = 9 };
	const int is_f16 = op == &tcb_op_matmul_f16;
	struct job job;
	open_job(&job, op, (struct tcb_shape){ ROWS, COLUMNS, STEPS });
	set(&job, MATMUL_A, 0, NAN);
	set(&job, MATMUL_A, STEPS, INFINITY);
	for (size_t k = 0; k < STEPS; k++) {
		set(&job, MATMUL_A, 2 * STEPS + k, is_f16 ? 0x1p-20f : 0x1p-130f);
		set(&job, MATMUL_A, 3 * STEPS + k, is_f16 ? 60000.0f : 1e30f);
	}
	run_isa(&job, op, isa, decode);
	int tiny = 0;
	for (size_t n = 0; n < COLUMNS; n++) {
		assert_true(isnan(value_of(&job, MATMUL_C, n)));
		assert_false(isfinite(value_of(&job, MATMUL_C, COLUMNS + n)));
		tiny += value_of(&job, MATMUL_C, 2 * COLUMNS + n) != 0;
		assert_true(isfinite(value_of(&job, MATMUL_C, 4 * COLUMNS + n)));
	}
	assert_true(tiny >= COLUMNS * 2 / 3); /* some sums may round to 0 */
	if (is_f16)
		assert_true(isinf(job.reference.y[3 * COLUMNS]));
	close_job(&job);
}

static void special_values(void **state)
{
	(void)state;
	for (size_t o = 0; o < 3; o++)
		for (size_t i = 0; i < sizeof families / sizeof *families; i++)
			for (int decode = TCB_DECODE_PANEL; decode <= TCB_DECODE_REGS; decode++)
				if (tcb_target_has(&target, families[i]))
					try_special_values(ops[o], families[i], (enum tcb_decode)decode);
}

static int same(float a, float b)
{
	return a == b || (isnan(a) && isnan(b));
}

static const struct matmul_movers *movers_of(enum tcb_isa isa)
{
	const struct tcb_variant *variant;
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(ops[0]), i)); i++)
		if (variant->isa == isa)
			return ((matmul_kernels_fn *)variant->entry)()->movers;
	return NULL;
}

/* Panels hold what was stored, zeros past its edges, whatever the width: every half there is, read and written. */
static void movers_move_every_value(void **state)
{
	enum { ROWS = 37, COUNT = 1772, WIDE_A = 14, WIDE_B = 48 };
	uint16_t *half = test_malloc(ROWS * COUNT * sizeof *half), *back = test_malloc(COUNT * sizeof *back);
	float *whole = test_malloc(ROWS * COUNT * sizeof *whole);
	float *panel = aligned_alloc(64, (size_t)(ROWS + WIDE_A) * (COUNT + WIDE_B) / 64 * 64 * sizeof *panel);
	(void)state;
	assert_non_null(panel);
	for (size_t i = 0; i < ROWS * COUNT; i++)
		half[i] = (uint16_t)i;
	for (size_t f = 0; f < sizeof families / sizeof *families; f++)
		for (int type = TCB_TYPE_F32; tcb_target_has(&target, families[f]) && type <= TCB_TYPE_BF16; type++) {
			const struct matmul_movers *movers = movers_of(families[f]);
			matmul_widen(type == TCB_TYPE_F32 ? TCB_TYPE_F16 : (enum tcb_type)type, half, 0, ROWS * COUNT,
				     whole);
			const struct matmul_part part = { (enum tcb_type)type,
							  type == TCB_TYPE_F32 ? (void *)whole : (void *)half, COUNT,
							  ROWS, COUNT };
			movers->pack_a(&part, WIDE_A, panel);
			for (size_t i = 0; i < (ROWS + WIDE_A - 1) / WIDE_A * WIDE_A; i++)
				for (size_t k = 0; k < COUNT; k++) {
					const float at = panel[(i / WIDE_A * COUNT + k) * WIDE_A + i % WIDE_A];
					assert_true(same(at, i < ROWS ? whole[i * COUNT + k] : 0));
				}
			movers->pack_b(&part, WIDE_B, type == TCB_TYPE_F32 ? 0 : 512, panel);
			for (size_t k = 0; k < ROWS; k++)
				for (size_t j = 0; j < (COUNT + WIDE_B - 1) / WIDE_B * WIDE_B; j++) {
					const float at = panel[(j / WIDE_B * ROWS + k) * WIDE_B + j % WIDE_B];
					assert_true(same(at, j < COUNT ? whole[k * COUNT + j] : 0));
				}
			for (size_t i = 0; type != TCB_TYPE_F32 && i < ROWS * COUNT; i += COUNT) {
				movers->narrow((enum tcb_type)type, whole + i, COUNT, back);
				for (size_t j = 0; j < COUNT; j++)
					assert_true(back[j] == half[i + j] || isnan(whole[i + j]));
			}
		}
	test_free(half);
	test_free(back);
	test_free(whole);
	free(panel);
}

/* Vectors round to 16 bits as tcb_f32_to_f16() and tcb_f32_to_bf16() do: ties, carries, subnormal and infinite results.
 */
static void movers_round_alike(void **state)
{
	enum { COUNT = 4099 };
	static float values[COUNT];
	uint16_t got[COUNT], want[COUNT];
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 3);
	for (size_t i = 0; i < COUNT; i++) {
		uint32_t bits = (uint32_t)tcb_rng_next(&rng);
		if (i % 2) /* a tie, or next to one, of f16 or bf16 */
			bits = (bits & ~(i % 4 == 1 ? 0x1fffu : 0xffffu)) + (i % 4 == 1 ? 0x1000u : 0x8000u) +
			       i / 4 % 3 - 1;
		if (i % 8 >= 4) /* where f16 is subnormal, or no longer finite */
			bits = (bits & 0x807fffffu) | (i % 16 >= 8 ? 142u : 103u + i / 16 % 12) << 23;
		memcpy(&values[i], &bits, sizeof bits);
	}
	for (size_t f = 0; f < sizeof families / sizeof *families; f++)
		for (int type = TCB_TYPE_F16; tcb_target_has(&target, families[f]) && type <= TCB_TYPE_BF16; type++) {
			movers_of(families[f])->narrow((enum tcb_type)type, values, COUNT, got);
			matmul_narrow((enum tcb_type)type, values, COUNT, want, 0);
			for (size_t i = 0; i < COUNT; i++)
				if (got[i] != want[i] && !isnan(values[i]))
					fail_msg("%a becomes %04x, not %04x", (double)values[i], got[i], want[i]);
				else if (isnan(values[i]))
					assert_true(isnan(type == TCB_TYPE_F16 ? tcb_f16_to_f32(got[i])
									       : tcb_bf16_to_f32(got[i])));
		}
}

static void bf16_rounds_to_nearest_even(void **state)
{
	static const struct {
		float value;
		uint16_t bits;
	} cases[] = { { 1, 0x3f80 },           { 1 + 0x1p-8f, 0x3f80 }, { 1 + 0x1p-8f + 0x1p-20f, 0x3f81 },
		      { 1 + 0x3p-8f, 0x3f82 }, { -INFINITY, 0xff80 },   { 3.4e38f, 0x7f80 },
		      { 0x1p-133f, 0x0001 },   { 0x1p-134f, 0x0000 } };
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(tcb_f32_to_bf16(cases[i].value), cases[i].bits);
	assert_true(isnan(tcb_bf16_to_f32(tcb_f32_to_bf16(NAN))));
	for (uint32_t bits = 0; bits < 0x10000; bits++) {
		const float value = tcb_bf16_to_f32((uint16_t)bits);
		if (!isnan(value))
			assert_int_equal(tcb_f32_to_bf16(value), bits);
	}
}

static void plans_refuse(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "macro=128x256x256,midi=64x64x256,micro=3x4x1,isa=scalar,threads=1,sched=static,prefetch=0,decode="
		  "panel",
		  "no CPU kernel" },
		{ "macro=128x256x128,midi=64x64x128,micro=4x4x1,isa=scalar,threads=1,sched=static,prefetch=0,decode="
		  "panel",
		  "macro.k" },
		{ "macro=64x64x256,midi=64x64x256,micro=4x4x1,isa=scalar,threads=9,sched=static,prefetch=0,decode="
		  "panel",
		  "tasks" },
		{ "macro=64x64x256,midi=64x64x256,micro=4x4x1,isa=scalar,threads=1,sched=static,prefetch=0,decode="
		  "panel",
		  "must cover C" },
		{ "macro=132x256x256,midi=66x64x256,micro=4x4x1,isa=scalar,threads=1,sched=static,prefetch=0,decode="
		  "panel",
		  "must divide" },
		{ "macro=128x256x256,midi=64x64x256,micro=4x4x2,isa=scalar,threads=1,sched=static,prefetch=0,decode="
		  "panel",
		  "micro.k" },
		{ "macro=128x256x256,midi=64x64x256,micro=4x4x1,isa=scalar,threads=1,sched=static,decode=panel",
		  "knobs" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_plan plan;
		struct tcb_error err;
		assert_int_equal(tcb_problem_init(ops[0], TCB_CONTRACT_F32, &(struct tcb_shape){ 128, 256, 256 },
						  &problem, NULL),
				 TCB_OK);
		assert_int_equal(tcb_geometry_parse(cases[i].text, &geometry, NULL), TCB_OK);
		assert_int_equal(tcb_op_cpu(ops[0])->plan(&problem, &geometry, &plan, &err), TCB_E_ILLEGAL);
		if (!strstr(err.message, cases[i].says))
			fail_msg("'%s' does not say '%s'", err.message, cases[i].says);
	}
}

/* Legal for any number of threads, uses nearly all of them, and the widest instructions. */
static void defaults_are_sensible(void **state)
{
	static const struct tcb_shape shapes[] = { { 1, 1, 1 },         { 8, 4096, 4096 },    { 4096, 8, 4096 },
						   { 997, 1009, 1013 }, { 2048, 2048, 2048 }, { 3, 70000, 5 } };
#if defined(__aarch64__)
	const int widest = TCB_ISA_NEON;
#else
	const int widest = TCB_ISA_AVX512;
#endif
	(void)state;
	for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
		for (unsigned threads = 1; threads <= 48; threads = threads * 3 + 3) {
			struct tcb_target many = { .kind = TCB_TARGET_CPU,
						   .isa_mask = 1u << TCB_ISA_SCALAR | 1u << TCB_ISA_AVX2 | 1u << widest,
						   .threads = threads };
			struct tcb_problem problem;
			struct tcb_geometry g;
			char why[TCB_WHY_MAX];
			assert_int_equal(tcb_problem_init(ops[0], TCB_CONTRACT_F32, &shapes[s], &problem, NULL),
					 TCB_OK);
			tcb_op_standard(&problem, &many, &g);
			if (tcb_constraint_violated(ops[0], &problem, &many, &g, 0, why))
				fail_msg("%s", why);
			assert_int_equal(g.knob[TCB_KNOB_ISA], widest);
			if (shapes[s].m * shapes[s].n > 32000)
				assert_true(4 * g.knob[TCB_KNOB_THREADS] >= 3 * (int)threads);
		}
}

int main(void)
{
	struct tcb_device device;
	if (tcb_cpu_identify("cpu", 1, &device, NULL) != TCB_OK)
		return 1;
	target = device.target;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reference_is_the_plain_sum),
		cmocka_unit_test(special_values),
		cmocka_unit_test(movers_move_every_value),
		cmocka_unit_test(movers_round_alike),
		cmocka_unit_test(defaults_are_sensible),
		cmocka_unit_test(bf16_rounds_to_nearest_even),
		cmocka_unit_test(plans_refuse),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
