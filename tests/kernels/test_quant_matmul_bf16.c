/* SPDX-License-Identifier: MIT
 *
 * The quantised matmuls on a CPU, contract f16 on tiles of bf16.  All tiles,
 * blocks, layouts and threads add up in the same order, so all must agree bit by
 * bit, and the first with the reference.  The same loops run with the tile
 * instructions taken from plain C, on weights and activations that plain C
 * rounded; where there are tiles these must give the same bits.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cpu_identity.h"
#include "base/tiles.h"
#include "base/util.h"
#include "cmocka_all.h"
#include "instrumented.h"
#include "kernels/bf16_matmul_in_c.h"
#include "kernels/quant.h"
#include "kernels/quant_matmul/quant_matmul_block.h"
#include "kernels/quant_matmul_bench.h"
#include "kernels/space.h"

static struct tcb_target target;
static struct tcb_pool *pool;

#define NAME(id, name, op, ...) #op "_matmul",
static const char *const op_names[] = { TCB_FORMAT_CODE_LIST(NAME) TCB_FORMAT_SCALED_ROWS(NAME) };
enum { OPS = sizeof(op_names) / sizeof(op_names[0]), THREADS = 2, GROUP = 16, SPAN = 256, LINE = 64 };

/* Blocks of as few register tiles as there can be, or (LARGE) all in one; k is cut, or in one (LARGE). */
static struct tcb_geometry geometry_of(const struct bench *b, struct tcb_tile micro, enum tcb_layout layout, int large)
{
	const struct tcb_shape *s = &b->problem.shape;
	struct tcb_geometry g;
	tcb_geometry_init(&g);
	g.tile[TCB_MICRO] = micro;
	g.tile[TCB_MACRO] = (struct tcb_tile){ round_up(s->m, micro.m), round_up(s->n, micro.n), s->k };
	g.tile[TCB_MIDI] = large ? g.tile[TCB_MACRO]
				 : (struct tcb_tile){ micro.m, micro.n, s->k % SPAN || s->k == SPAN ? s->k : SPAN };
	g.knob[TCB_KNOB_ISA] = TCB_ISA_AMX;
	g.knob[TCB_KNOB_LAYOUT] = (int32_t)layout;
	g.knob[TCB_KNOB_DECODE] = TCB_DECODE_PANEL;
	g.knob[TCB_KNOB_SCHED] = large ? TCB_SCHED_STATIC : TCB_SCHED_DYNAMIC;
	g.knob[TCB_KNOB_PREFETCH] = large ? 0 : 512;
	g.knob[TCB_KNOB_HINT] = TCB_HINT_T0;
	g.knob[TCB_KNOB_THREADS] = 1;
	if (!large && (s->m > micro.m || s->n > micro.n)) {
		g.knob[TCB_KNOB_THREADS] = THREADS;
		g.tile[TCB_MACRO].m = micro.m;
		g.tile[TCB_MACRO].n = micro.n;
	}
	return g;
}

/* ---- plain C ---- */

/* To nearest, halves away from zero; a NaN stays one. */
static uint16_t half_of(float value)
{
	uint32_t bits;
	if (isnan(value))
		return 0x7fc0;
	memcpy(&bits, &value, sizeof(bits));
	return (uint16_t)((bits + 0x8000) >> 16);
}

/* The weights of B as struct qmm_halves: [group of rows][superblock]; rows past N repeat the last one. */
static struct qmm_halves *halves_of_weights(const struct bench *b, size_t groups, size_t superblocks)
{
	const struct tcb_format *format = b->op->format;
	const struct tcb_shape *s = &b->problem.shape;
	struct qmm_halves *panels = aligned_alloc(LINE, groups * superblocks * sizeof(*panels));
	float *row = calloc(superblocks * SPAN, sizeof(float));
	assert_true(panels && row);
	for (size_t n = 0; n < groups * GROUP; n++) {
		const size_t from = n < s->n ? n : s->n - 1;
		tcb_dequantize(format, (const uint8_t *)b->weights.data + from * tcb_quant_row_bytes(format, s->k),
			       s->k / format->block_values, row);
		for (size_t k = 0; k < superblocks * SPAN; k++)
			panels[n / GROUP * superblocks + k / SPAN].w[k % SPAN / 2][n % GROUP * 2 + k % 2] =
				half_of(row[k]);
	}
	free(row);
	return panels;
}

/* Those of tokens M to M + MICRO_M - 1: [32 values of k][token]. */
static void halves_of_tokens(const struct bench *b, size_t m, size_t micro_m, size_t superblocks, uint16_t *out)
{
	const struct tcb_shape *s = &b->problem.shape;
	const float *x = b->x.data;
	for (size_t k = 0; k < superblocks * SPAN; k++)
		for (size_t t = 0; t < micro_m; t++)
			out[(k / 32 * micro_m + t) * 32 + k % 32] =
				m + t < s->m && k < s->k ? half_of(x[(m + t) * s->k + k]) : 0;
}

/* All of B with tiles SIZE of bf16_matmul_in_c, k in spans of SPANS superblocks. */
static void run_in_c(struct bench *b, int size, size_t spans)
{
	const struct qmm_kernels *kernels = &bf16_matmul_in_c[size];
	const struct tcb_shape *s = &b->problem.shape;
	const size_t micro_m = size / 2 ? 32 : 16, micro_n = size % 2 ? 32 : 16;
	const size_t superblocks = (s->k + SPAN - 1) / SPAN, groups = (s->n + GROUP - 1) / GROUP;
	struct qmm_halves *panels = halves_of_weights(b, groups, superblocks);
	uint16_t *x = aligned_alloc(LINE, superblocks * SPAN * micro_m * sizeof(*x));
	static _Alignas(LINE) float sums[32 * 32];
	struct qmm_before before;
	float *y = b->y.data;
	assert_non_null(x);
	memset(y, TCB_POISON, b->outputs * sizeof(*y));
	kernels->enter(&before);
	for (size_t m = 0; m < s->m; m += micro_m) {
		halves_of_tokens(b, m, micro_m, superblocks, x);
		for (size_t n = 0; n < s->n; n += micro_n)
			for (size_t k = 0; k < superblocks; k += spans) {
				const size_t left = superblocks - k, rows = s->n - n < micro_n ? s->n - n : micro_n;
				const int is_part = left > spans;
				const struct qmm_call call = {
					.weights = (const uint8_t *)&panels[n / GROUP * superblocks + k],
					.group_bytes = rows > GROUP ? superblocks * sizeof(*panels) : 0,
					.x = x + k * SPAN * micro_m,
					.superblocks = is_part ? spans : left,
					.values = is_part ? spans * SPAN : s->k - k * SPAN,
					.y = is_part ? sums : y + m * s->n + n,
					.y_stride = is_part ? micro_n : s->n,
					.tokens = is_part || s->m - m > micro_m ? micro_m : s->m - m,
					.rows = is_part ? micro_n : rows,
					.accumulate = k > 0,
					.sums = sums,
					.sums_stride = micro_n,
				};
				kernels->panel(&call);
			}
	}
	kernels->leave(&before);
	assert_int_equal(tcb_buffer_check(&b->y), 0);
	free(panels);
	free(x);
}

/* ---- tiles ---- */

static const struct {
	size_t m, n, blocks; /* of the format along k; with blocks of 32 ones of 256 end in a part */
} shapes[] = { { 1, 1, 1 },   { 2, 17, 2 },  { 3, 33, 1 },  { 5, 16, 3 },  { 7, 31, 1 },  { 8, 48, 2 },  { 9, 15, 9 },
	       { 13, 65, 1 }, { 16, 32, 8 }, { 17, 47, 2 }, { 31, 19, 1 }, { 32, 64, 1 }, { 33, 100, 2 } };
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static void judge(struct bench *b, double chain, const char *what)
{
	const struct tcb_plan plan = { .problem = b->problem, .chain = chain };
	const float *got = b->y.data;
	size_t bad = 0;
	if (tcb_error_ratio(&plan, &b->reference, got, b->outputs, &bad) > 1)
		fail_msg("%s, %s: output %zu is %g, not %g", b->op->name, what, bad, (double)got[bad],
			 b->reference.y[bad]);
}

static void expect_same(struct bench *b, const float *first, const char *what, int large)
{
	char shape[TCB_SHAPE_TEXT_MAX];
	tcb_shape_print(&b->problem.shape, shape);
	if (memcmp(first, b->y.data, b->outputs * sizeof(float)) != 0)
		fail_msg("%s %s, %s, large %d: other bits than tiles in plain C", b->op->name, shape, what, large);
}

/* All variants with tiles that this machine has. */
static void try_variants(struct bench *b, const float *first)
{
	const struct tcb_variant *variant;
	int tried = 0;
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(b->op), i)); i++)
		for (int large = 0; large < 2; large++) {
			struct tcb_plan plan;
			struct tcb_error err;
			if (variant->contract != TCB_CONTRACT_F16 || variant->isa != TCB_ISA_AMX)
				continue;
			const struct tcb_geometry g = geometry_of(b, variant->micro, variant->layout, large);
			if (tcb_op_cpu(b->op)->plan(&b->problem, &g, &plan, &err) != TCB_OK)
				fail_msg("%s: %s", variant->name, err.message);
			run_plan(b, &plan, pool);
			judge(b, plan.chain, variant->name);
			expect_same(b, first, variant->name, large);
			tried++;
		}
	assert_int_equal(tried, 4 * 2 * 2);
}

static double chain_of(const struct bench *b)
{
	const struct tcb_geometry g = geometry_of(b, (struct tcb_tile){ 16, 16, 1 }, TCB_LAYOUT_R16, 1);
	return qmm_chain(&b->problem, &g);
}

static void test_odd_shapes(void **state)
{
	const int has_tiles = tcb_target_has(&target, TCB_ISA_AMX);
	(void)state;
	for (size_t o = 0; o < OPS; o++)
		for (size_t i = o % 2; i < SHAPES; i += TEST_IS_INSTRUMENTED ? 6 : 2) {
			struct bench b;
			const size_t unit = tcb_op_find(op_names[o])->format->block_values;
			bench_init(&b, op_names[o], TCB_CONTRACT_F16,
				   (struct tcb_shape){ shapes[i].m, shapes[i].n, shapes[i].blocks * unit });
			float *first = calloc(b.outputs, sizeof(float));
			assert_non_null(first);
			take_reference(&b);
			for (int size = 0; size < 4; size++) {
				run_in_c(&b, size, size % 3 ? 1 : 100);
				judge(&b, chain_of(&b), "plain C");
				if (size == 0)
					memcpy(first, b.y.data, b.outputs * sizeof(float));
				expect_same(&b, first, "plain C", size);
			}
			if (has_tiles)
				try_variants(&b, first);
			free(first);
			bench_fini(&b);
		}
	if (!has_tiles)
		skip_because("this machine has no AMX: its instructions were not run, only their logic in plain C");
}

/* The bound is not a wide one: with half of what rounding the factors may do, some result must break it. */
static void test_bound_is_near(void **state)
{
	struct bench b;
	double worst = 0;
	(void)state;
	bench_init(&b, "q80_matmul", TCB_CONTRACT_F16, (struct tcb_shape){ 16, 16, 32 });
	float *x = b.x.data;
	uint8_t *block = b.weights.data;
	/* Factors just above and below what is halfway between two numbers, one of them alone in its sum. */
	for (size_t i = 0; i < 16; i++)
		for (size_t k = 0; k < 32; k++)
			x[i * 32 + k] = k == i ? 1 + 0x1p-8f - 0x1p-16f : 0;
	for (size_t n = 0; n < 16; n++, block += 34) {
		const uint16_t d = tcb_f32_to_f16(1.0f / 128 + 1.0f / 128 * 0x1p-8f - 0x1p-17f);
		memcpy(block, &d, sizeof(d));
		memset(block + 2, 64, 32);
	}
	b.op->pack(&b.problem, TCB_QUANT_WEIGHTS, TCB_LAYOUT_R16, b.weights.data, b.packed.data);
	take_reference(&b);
	run_in_c(&b, 0, 100);
	judge(&b, chain_of(&b), "plain C");
	const float *y = b.y.data;
	for (size_t i = 0; i < b.outputs; i++)
		worst = fmax(worst, fabs((double)y[i] - b.reference.y[i]) / b.reference.magnitude[i]);
	assert_true(worst > 0x1p-8);
	bench_fini(&b);
}

/* ---- parts ---- */

#ifdef __x86_64__
/* ROWS rows that hold VALUES values, from what is gathered and from packed lines. */
static void check_unpacker(const struct tcb_format *format, size_t rows, size_t values, struct tcb_rng *rng, int is_nan)
{
	static _Alignas(LINE) uint8_t lines[QMM_LINES_MAX * QMM_LINE];
	static struct qmm_halves out;
	const struct qmm_halves_unpacker *unpacker = &qmm_halves_unpackers[format->id];
	const size_t blocks = values / format->block_values, row_bytes = blocks * format->block_bytes;
	struct tcb_buffer weights;
	guarded(rows * row_bytes, &weights);
	for (size_t i = 0; i < rows * blocks; i++) {
		uint8_t *block = (uint8_t *)weights.data + i * format->block_bytes;
		tcb_block_random(format, rng, block);
		if (is_nan) /* any bits whatever: scales that are no numbers among them */
			for (size_t j = 0; j < (tcb_is_float(format->id) ? format->codes_at : format->block_bytes); j++)
				block[j] = j % 2 ? 0xff : (uint8_t)tcb_rng_below(rng, 256);
	}
	for (int packed = 0; packed < 2; packed++) {
		memset(&out, TCB_POISON, sizeof(out));
		if (packed)
			tcb_lines_gather(format, weights.data, row_bytes, rows, values, lines);
		else
			qmm_unpackers_avx512[format->id].gather(weights.data, row_bytes, rows, values, lines);
		(packed ? unpacker->packed : unpacker->gathered)(lines, &out);
		for (size_t r = 0; r < rows; r++) {
			float expected[QMM_VALUES] = { 0 };
			tcb_dequantize(format, (uint8_t *)weights.data + r * row_bytes, blocks, expected);
			for (size_t i = 0; i < values; i++) {
				const uint16_t got = out.w[i / 2][2 * r + i % 2];
				const uint16_t wanted = half_of(expected[i]);
				/* A zero's sign is no part of a sum that begins with +0. */
				if (isnan(expected[i]) ? !isnan(tcb_bf16_to_f32(got))
						       : got != wanted && (got | wanted) != 0x8000)
					fail_msg("%s, %s, %zu rows of %zu blocks: value %zu of row %zu is %04x, not %g",
						 format->name, packed ? "packed" : "gathered", rows, blocks, i, r, got,
						 (double)expected[i]);
			}
		}
	}
	tcb_buffer_free(&weights);
}

static void test_unpacking(void **state)
{
	struct tcb_rng rng;
	(void)state;
	if (!tcb_target_has(&target, TCB_ISA_AVX512))
		skip_because("this machine has no AVX-512, which unpacks for tiles");
	tcb_rng_init(&rng, 5);
	for (int id = 0; id < TCB_FORMAT_COUNT; id++) {
		const struct tcb_format *format = tcb_format((enum tcb_format_id)id);
		if (!qmm_halves_unpackers[id].packed)
			continue;
		for (size_t rows = 1; rows <= QMM_ROWS; rows++) {
			const size_t values = format->block_values == 32 ? 32 * (1 + rows % 8) : QMM_VALUES;
			check_unpacker(format, rows, values, &rng, 0);
			check_unpacker(format, rows, values, &rng, 1);
		}
	}
}

static void test_rounding(void **state)
{
	enum { COUNT = 200, LINES = 8, APART = 192 };
	static _Alignas(LINE) uint8_t out[LINES * APART];
	float x[COUNT];
	struct tcb_rng rng;
	(void)state;
	if (!tcb_target_has(&target, TCB_ISA_AVX512))
		skip_because("this machine has no AVX-512, which rounds for tiles");
	tcb_rng_init(&rng, 8);
	for (int i = 0; i < COUNT; i++) {
		const uint32_t bits = (uint32_t)tcb_rng_below(&rng, UINT64_C(1) << 32);
		memcpy(&x[i], &bits, sizeof(bits)); /* infinities, NaNs and subnormal numbers, too */
	}
	x[3] = -NAN;
	x[5] = INFINITY;
	for (size_t count = 0; count <= COUNT; count++) {
		memset(out, TCB_POISON, sizeof(out));
		qmm_round(x, count, LINES, APART, out);
		for (size_t i = 0; i < LINES * QMM_LINE_HALVES; i++) {
			uint16_t got;
			memcpy(&got, out + i / QMM_LINE_HALVES * APART + i % QMM_LINE_HALVES * 2, sizeof(got));
			assert_int_equal(got, i < count ? half_of(x[i]) : 0);
		}
		for (size_t i = 0; i < sizeof(out); i++)
			assert_true(i % APART < QMM_LINE || out[i] == TCB_POISON);
	}
}
#endif

/* ---- what the contract promises ---- */

static const struct tcb_variant *with_tiles(const struct tcb_op *op)
{
	const struct tcb_variant *variant;
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(op), i)); i++)
		if (variant->contract == TCB_CONTRACT_F16 && variant->isa == TCB_ISA_AMX)
			return variant;
	return NULL;
}

/* Relative L2 error against the reference: half of what 8 bits leave or less (test_quant_matmul.c). */
static void test_relative_error(void **state)
{
	(void)state;
	for (size_t o = 0; o < OPS; o++) {
		struct bench b;
		bench_init(&b, op_names[o], TCB_CONTRACT_F16, (struct tcb_shape){ 8, 32, 4096 });
		take_reference(&b);
		run_in_c(&b, 1, 100);
		const float *y = b.y.data;
		double error = 0, norm = 0;
		for (size_t i = 0; i < b.outputs; i++) {
			error += pow((double)y[i] - b.reference.y[i], 2);
			norm += pow(b.reference.y[i], 2);
		}
		error = sqrt(error / norm);
		print_message("%s: relative L2 error %.2e\n", op_names[o], error);
		/* Rounding is off by up to 2^-8 of a power of two, evenly, which is 2^-8 over the root of 3; numbers
		 * are some 1.5 times theirs, and both factors are rounded.  Few codes are exact: those of MXFP4. */
		assert_true(error < 3e-3 && error > 1e-3);
		bench_fini(&b);
	}
}

/* A NaN or an infinity makes all outputs of its token no numbers and changes no other. */
static void test_values_that_are_no_numbers(void **state)
{
	enum { M = 19, N = 33, K = 512 };
	(void)state;
	if (!tcb_target_has(&target, TCB_ISA_AMX))
		skip_because("this machine has no AMX");
	for (size_t o = 0; o < OPS; o++)
		for (int large = 0; large < 2; large++) {
			struct bench b;
			struct tcb_plan plan;
			float clean[M * N];
			bench_init(&b, op_names[o], TCB_CONTRACT_F16, (struct tcb_shape){ M, N, K });
			float *x = b.x.data;
			const struct tcb_variant *variant = with_tiles(b.op);
			const struct tcb_geometry g = geometry_of(&b, variant->micro, variant->layout, large);
			assert_int_equal(tcb_op_cpu(b.op)->plan(&b.problem, &g, &plan, NULL), TCB_OK);
			run_plan(&b, &plan, pool);
			memcpy(clean, b.y.data, sizeof(clean));
			x[1 * K + 300] = NAN;
			x[17 * K + 5] = INFINITY;
			run_plan(&b, &plan, pool);
			const float *y = b.y.data;
			for (int m = 0; m < M; m++)
				for (int n = 0; n < N; n++) {
					if (m == 1)
						assert_true(isnan(y[m * N + n]));
					else if (m == 17) /* of a weight that is 0 NaN, else infinite */
						assert_false(isfinite(y[m * N + n]));
					else
						assert_memory_equal(&y[m * N + n], &clean[m * N + n], sizeof(float));
				}
			bench_fini(&b);
		}
}

/* Where there are tiles they are the default, and all of the space's geometries can be planned; where not the op says
 * so. */
static void test_default(void **state)
{
	static const size_t tokens[] = { 1, 16, 32, 128, 512, 4096 };
	(void)state;
	for (size_t o = 0; o < OPS; o++)
		for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++)
			for (int bits = 0; bits < 2; bits++) {
				const struct tcb_op *op = tcb_op_find(op_names[o]);
				struct tcb_shape shape = { tokens[i], 4096, 4096 };
				struct tcb_geometry g;
				struct tcb_problem problem;
				struct tcb_plan plan;
				struct tcb_error err;
				shape.words.bits = bits;
				assert_int_equal(tcb_problem_init(op, TCB_CONTRACT_F16, &shape, &problem, &err),
						 TCB_OK);
				tcb_op_standard(&problem, &target, &g);
				const int has_tiles = tcb_target_has(&target, TCB_ISA_AMX);
				const int is_scaled = tcb_is_float(op->format->id);
				if (tcb_op_cpu(op)->plan(&problem, &g, &plan, &err) != TCB_OK) {
					assert_false(has_tiles || is_scaled);
					continue;
				}
				assert_int_equal(plan.variant->isa == TCB_ISA_AMX, has_tiles && !(bits && is_scaled));
				if (bits)
					assert_null(tcb_op_cpu(op)->space->reorders(&problem, &target, &g));
			}
}

static void test_refusals(void **state)
{
	struct bench b;
	struct tcb_plan plan;
	struct tcb_error err;
	(void)state;
	bench_init(&b, "q4k_matmul", TCB_CONTRACT_F16, (struct tcb_shape){ 8, 64, 1024 });
	const struct tcb_geometry good = geometry_of(&b, (struct tcb_tile){ 16, 16, 256 }, TCB_LAYOUT_R16, 1);
	if (tcb_op_cpu(b.op)->plan(&b.problem, &good, &plan, &err) != TCB_OK)
		skip_because("no tiles are built for this architecture");
	struct tcb_geometry bad = good;
	bad.knob[TCB_KNOB_DECODE] = TCB_DECODE_REGS;
	assert_int_equal(tcb_op_cpu(b.op)->plan(&b.problem, &bad, &plan, &err), TCB_E_ILLEGAL);
	bad = good;
	bad.tile[TCB_MACRO].m = bad.tile[TCB_MIDI].m = 1 << 20;
	assert_int_equal(tcb_op_cpu(b.op)->plan(&b.problem, &bad, &plan, &err), TCB_OK);
	bad.tile[TCB_MIDI].k = 256; /* now sums stay in the scratch */
	assert_int_equal(tcb_op_cpu(b.op)->plan(&b.problem, &bad, &plan, &err), TCB_E_ILLEGAL);
	assert_non_null(strstr(err.message, "sums"));
	bench_fini(&b);
	/* FP8 has vectors that add in another order. */
	struct tcb_shape shape = { 32, 64, 1024 };
	struct tcb_problem problem;
	shape.words.bits = 1;
	assert_int_equal(tcb_problem_init(tcb_op_find("fp8_matmul"), TCB_CONTRACT_F16, &shape, &problem, &err), TCB_OK);
	assert_non_null(tcb_op_cpu(problem.op)->space->reorders(&problem, &target, &good));
}

int main(void)
{
	static struct tcb_device device;
	struct tcb_error err;
	const struct CMUnitTest tests[] = {
#ifdef __x86_64__
		cmocka_unit_test(test_unpacking),      cmocka_unit_test(test_rounding),
#endif
		cmocka_unit_test(test_odd_shapes),     cmocka_unit_test(test_bound_is_near),
		cmocka_unit_test(test_relative_error), cmocka_unit_test(test_values_that_are_no_numbers),
		cmocka_unit_test(test_default),        cmocka_unit_test(test_refusals),
	};
	if (tcb_cpu_identify("cpu", THREADS, &device, &err) != TCB_OK ||
	    tcb_pool_create(THREADS, NULL, &pool, &err) != TCB_OK) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	(void)tcb_tiles_ask(NULL); /* where there are any */
	target = device.target;
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);
	tcb_pool_destroy(pool);
	return failed;
}
