/* SPDX-License-Identifier: MIT
 *
 * The quantised matmuls on a CPU.  All vector variants of contract q8 round in
 * the same order, whatever their tiles, blocks, layout and where they unpack:
 * so all must agree bit by bit, and the first one with the reference; contract
 * f32 is held to its order-matched chain.  Tiles on AMX run with the tile
 * instructions taken from plain C (quant_matmul_amx.h).
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
#include "kernels/amx_in_c.h"
#include "kernels/quant.h"
#include "kernels/quant_matmul/quant_matmul_pack.h"
#include "kernels/quant_matmul_bench.h"
#include "kernels/space.h"

/* ---- one problem ---- */

static struct tcb_target target;
static struct tcb_pool *pool;

#define NAME(id, name, op, ...) #op "_matmul",
static const char *const op_names[] = { TCB_FORMAT_CODE_LIST(NAME) };
enum { OPS = sizeof(op_names) / sizeof(op_names[0]), THREADS = 2 };

/* VARIANT's geometry: blocks of as few register tiles as there can be, or (LARGE) all in one. */
static struct tcb_geometry geometry_of(const struct bench *b, const struct tcb_variant *variant, int decode, int large)
{
	const struct tcb_shape *s = &b->problem.shape;
	const size_t n = variant->micro.n < 16 ? 16 : variant->micro.n, m = variant->micro.m;
	struct tcb_geometry g;
	tcb_geometry_init(&g);
	g.tile[TCB_MICRO] = variant->micro;
	g.tile[TCB_MACRO] = (struct tcb_tile){ round_up(s->m, m), round_up(s->n, n), s->k };
	g.tile[TCB_MIDI] = large ? g.tile[TCB_MACRO] : (struct tcb_tile){ m, n, s->k % 256 ? s->k : 256 };
	g.knob[TCB_KNOB_ISA] = (int32_t)variant->isa;
	g.knob[TCB_KNOB_LAYOUT] = (int32_t)variant->layout;
	g.knob[TCB_KNOB_DECODE] = decode;
	g.knob[TCB_KNOB_SCHED] = large ? TCB_SCHED_STATIC : TCB_SCHED_DYNAMIC;
	g.knob[TCB_KNOB_PREFETCH] = large || variant->isa == TCB_ISA_SCALAR ? 0 : 512;
	g.knob[TCB_KNOB_HINT] = TCB_HINT_T0;
	g.knob[TCB_KNOB_THREADS] = 1;
	if (!large && (s->m > m || s->n > n)) {
		g.knob[TCB_KNOB_THREADS] = THREADS;
		g.tile[TCB_MACRO].m = m;
		g.tile[TCB_MACRO].n = n;
	}
	return g;
}

static void judge(struct bench *b, const struct tcb_plan *plan)
{
	const float *got = b->y.data;
	size_t bad = 0;
	if (tcb_error_ratio(plan, &b->reference, got, b->outputs, &bad) > 1)
		fail_msg("%s: output %zu is %g, not %g", plan->variant->name, bad, (double)got[bad],
			 b->reference.y[bad]);
}

/* All variants of B's contract that this machine has; FIRST gets what the first one with vectors computed. */
static void try_variants(struct bench *b, float *first)
{
	const struct tcb_variant *variant;
	char shape[TCB_SHAPE_TEXT_MAX];
	int have_first = 0;
	tcb_shape_print(&b->problem.shape, shape);
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(b->op), i)); i++) {
		if (variant->contract != b->problem.contract || !tcb_target_has(&target, variant->isa))
			continue;
		for (int way = 0; way < 4; way++) {
			const struct tcb_geometry g = geometry_of(b, variant, way / 2, way % 2);
			struct tcb_plan plan;
			if (way / 2 == TCB_DECODE_REGS &&
			    (variant->layout != TCB_LAYOUT_R16 || variant->isa == TCB_ISA_SCALAR ||
			     variant->isa == TCB_ISA_AMX || variant->contract != TCB_CONTRACT_Q8))
				continue;
			struct tcb_error err;
			if (tcb_op_cpu(b->op)->plan(&b->problem, &g, &plan, &err) != TCB_OK)
				fail_msg("%s: %s", variant->name, err.message);
			run_plan(b, &plan, pool);
			if (variant->isa == TCB_ISA_SCALAR || !have_first)
				judge(b, &plan);
			if (variant->isa == TCB_ISA_SCALAR)
				continue;
			if (!have_first)
				memcpy(first, b->y.data, b->outputs * sizeof(float));
			have_first = 1;
			if (memcmp(first, b->y.data, b->outputs * sizeof(float)) != 0)
				fail_msg("%s at %s, decode %d, large %d: other bits than the first variant",
					 variant->name, shape, way / 2, way % 2);
		}
	}
}

static const struct {
	size_t m, n, blocks; /* of the format along k; with blocks of 32 ones of 256 end in a part */
} shapes[] = { { 1, 1, 1 },   { 2, 17, 2 },  { 3, 33, 1 },  { 5, 16, 3 },  { 7, 31, 1 },  { 8, 48, 2 },  { 9, 15, 9 },
	       { 13, 65, 1 }, { 16, 32, 8 }, { 17, 47, 2 }, { 31, 19, 1 }, { 32, 64, 1 }, { 33, 100, 2 } };
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static void test_odd_shapes_q8(void **state)
{
	(void)state;
	for (size_t o = 0; o < OPS; o++)
		for (size_t i = TEST_IS_INSTRUMENTED * o % 3; i < SHAPES; i += TEST_IS_INSTRUMENTED ? 3 : 1) {
			struct bench b;
			const size_t unit = tcb_op_find(op_names[o])->format->block_values;
			bench_init(&b, op_names[o], TCB_CONTRACT_Q8,
				   (struct tcb_shape){ shapes[i].m, shapes[i].n, shapes[i].blocks * unit });
			float *first = calloc(b.outputs, sizeof(float));
			assert_non_null(first);
			take_reference(&b);
			try_variants(&b, first);
			free(first);
			bench_fini(&b);
		}
}

static void test_odd_shapes_f32(void **state)
{
	(void)state;
	for (size_t o = 0; o < OPS; o++)
		for (size_t i = o % 3; i < SHAPES; i += 3) {
			struct bench b;
			const size_t unit = tcb_op_find(op_names[o])->format->block_values;
			bench_init(&b, op_names[o], TCB_CONTRACT_F32,
				   (struct tcb_shape){ shapes[i].m, shapes[i].n, shapes[i].blocks * unit });
			float *first = calloc(b.outputs, sizeof(float));
			assert_non_null(first);
			take_reference(&b);
			try_variants(&b, first);
			free(first);
			bench_fini(&b);
		}
}

/* ---- tiles on AMX, in plain C ---- */

/* All of B with tiles of MICRO_M x MICRO_N, from panels that portable code unpacks. */
static void run_amx(struct bench *b, const struct amx_in_c *amx, size_t micro_m, size_t micro_n,
		    size_t midi_superblocks)
{
	const struct tcb_shape *s = &b->problem.shape;
	const enum tcb_format_id id = b->format->id;
	const size_t superblocks = (s->k + 255) / 256, groups = round_up(s->n, micro_n) / 16;
	const size_t stride = superblocks * qmm_panel_bytes(id), lines = tcb_lines(id) * QMM_LINE;
	uint8_t *panels = aligned_alloc(64, groups * stride);
	struct qmm_x8 *x = aligned_alloc(64, superblocks * micro_m * sizeof(*x));
	float *y = b->y.data;
	assert_true(panels && x);
	memset(panels, TCB_POISON, groups * stride);
	for (size_t g = 0; g < (s->n + 15) / 16; g++)
		for (size_t i = 0; i < superblocks; i++) {
			uint8_t *panel = panels + g * stride + i * qmm_panel_bytes(id);
			qmm_unpackers_scalar[id].panel((uint8_t *)b->packed.data + (g * superblocks + i) * lines,
						       panel);
			if (!qmm_starts_from_zero(id))
				amx->settle(id, panel);
		}
	memset(y, TCB_POISON, b->outputs * sizeof(*y));
	for (size_t m = 0; m < s->m; m += micro_m) {
		const size_t tokens = s->m - m < micro_m ? s->m - m : micro_m;
		qmm_quantize_scalar(id, (const float *)b->x.data + m * s->k, s->k, tokens, micro_m, s->k, x);
		for (size_t n = 0; n < s->n; n += micro_n)
			for (size_t k = 0; k < superblocks; k += midi_superblocks) {
				const size_t rows = s->n - n < micro_n ? s->n - n : micro_n, left = superblocks - k;
				const struct qmm_call call = {
					.weights = panels + n / 16 * stride + k * qmm_panel_bytes(id),
					.group_bytes = rows > 16 ? stride : 0,
					.x = x + k * micro_m,
					.superblocks = left < midi_superblocks ? left : midi_superblocks,
					.y = y + m * s->n + n,
					.y_stride = s->n,
					.tokens = tokens,
					.rows = rows,
					.accumulate = k > 0,
				};
				amx->run(id, micro_m, micro_n, &call);
			}
	}
	assert_int_equal(tcb_buffer_check(&b->y), 0);
	free(panels);
	free(x);
}

static void try_amx_in_c(const struct amx_in_c *amx)
{
	for (size_t o = 0; o < OPS; o++)
		for (size_t i = o % 2; i < SHAPES; i += TEST_IS_INSTRUMENTED ? 6 : 2) {
			struct bench b;
			const size_t unit = tcb_op_find(op_names[o])->format->block_values;
			bench_init(&b, op_names[o], TCB_CONTRACT_Q8,
				   (struct tcb_shape){ shapes[i].m, shapes[i].n, shapes[i].blocks * unit });
			take_reference(&b);
			const struct tcb_variant *variant = tcb_variant_at(tcb_op_cpu(b.op), 0), *best = NULL;
			for (size_t v = 0; (variant = tcb_variant_at(tcb_op_cpu(b.op), v)); v++)
				if (variant->contract == TCB_CONTRACT_Q8 && variant->isa != TCB_ISA_SCALAR &&
				    variant->isa != TCB_ISA_AMX && tcb_target_has(&target, variant->isa))
					best = variant;
			float *expected = calloc(b.outputs, sizeof(float));
			assert_non_null(expected);
			struct tcb_plan plan;
			struct tcb_geometry g =
				geometry_of(&b, best ? best : tcb_variant_at(tcb_op_cpu(b.op), 0), 0, 1);
			assert_int_equal(tcb_op_cpu(b.op)->plan(&b.problem, &g, &plan, NULL), TCB_OK);
			run_plan(&b, &plan, pool);
			memcpy(expected, b.y.data, b.outputs * sizeof(float));
			for (int size = 0; size < 4; size++) {
				run_amx(&b, amx, size / 2 ? 32 : 16, size % 2 ? 32 : 16, size < 2 ? 1 : 100);
				judge(&b, &plan);
				if (best && memcmp(expected, b.y.data, b.outputs * sizeof(float)) != 0)
					fail_msg("%s: tiles on AMX, %s, give other bits than %s", op_names[o],
						 amx->name, best->name);
			}
			free(expected);
			bench_fini(&b);
		}
}

static void test_amx_in_plain_c(void **state)
{
	(void)state;
	try_amx_in_c(&amx_in_c_any);
}

#ifdef __x86_64__
static void test_amx_in_c_scaled_by_vectors(void **state)
{
	(void)state;
	if (!tcb_target_has(&target, TCB_ISA_AVX512VNNI))
		skip_because("this machine has no AVX-512 VNNI: AMX's scaling in vectors was not run");
	try_amx_in_c(&amx_in_c_vnni);
}
#endif

/* The processor's own tiles are among the variants that test_odd_shapes_q8() tries, where there are any. */
static void test_amx_of_the_processor(void **state)
{
	(void)state;
	if (!tcb_target_has(&target, TCB_ISA_AMX))
		skip_because("this machine has no AMX: its instructions were not run, only their logic in plain C");
}

/* ---- parts ---- */

static const struct {
	enum tcb_isa isa;
	const struct qmm_unpacker *unpackers;
	qmm_quantize_fn *quantize;
} families[] = {
	{ TCB_ISA_SCALAR, qmm_unpackers_scalar, qmm_quantize_scalar },
#if defined(__x86_64__)
	{ TCB_ISA_AVX2, qmm_unpackers_avx2, qmm_quantize_avx2 },
	{ TCB_ISA_AVX512, qmm_unpackers_avx512, qmm_quantize_avx512 },
#elif defined(__aarch64__)
	{ TCB_ISA_NEON, qmm_unpackers_neon, qmm_quantize_neon },
#endif
};
enum { FAMILIES = sizeof(families) / sizeof(families[0]) };

/* What PANEL and OUT have of ROWS rows of BLOCKS blocks at WEIGHTS, against the format's own decoding. */
static void check_unpacked(const struct tcb_format *format, const uint8_t *weights, size_t rows, size_t blocks,
			   const struct qmm_panel *panel, const struct qmm_values *out, const char *of)
{
	for (size_t r = 0; r < rows; r++) {
		float expected[QMM_VALUES] = { 0 };
		tcb_dequantize(format, weights + r * blocks * format->block_bytes, blocks, expected);
		for (size_t i = 0; i < QMM_VALUES; i++) {
			const size_t run = i / format->run_values;
			float w = panel->scale[run][r] *
				  (float)(panel->code[i / 4][4 * r + i % 4] - qmm_centre(format->id));
			if (qmm_has_mins(format->id))
				w -= panel->offset[r] * (float)panel->min[run / 4][4 * r + run % 4];
			if (qmm_has_offsets(format->id))
				w -= panel->scale[QMM_VALUES / format->run_values + run][r];
			if (w != expected[i] || out->w[i][r] != expected[i])
				fail_msg("%s, %s, %zu rows of %zu blocks: value %zu of row %zu is %g in the panel, %g "
					 "as a value, not %g",
					 format->name, of, rows, blocks, i, r, (double)w, (double)out->w[i][r],
					 (double)expected[i]);
		}
	}
}

/* Panels and values of ROWS rows that hold VALUES values, from what is gathered and from packed lines. */
static void check_unpacker(const struct tcb_format *format, const struct qmm_unpacker *unpacker, size_t rows,
			   size_t values, struct tcb_rng *rng)
{
	static _Alignas(64) uint8_t lines[QMM_LINES_MAX * QMM_LINE];
	static struct qmm_panel panel;
	static struct qmm_values out;
	const size_t blocks = values / format->block_values, row_bytes = blocks * format->block_bytes;
	struct tcb_buffer weights;
	guarded(rows * row_bytes, &weights);
	for (size_t i = 0; i < rows * blocks; i++)
		tcb_block_random(format, rng, (uint8_t *)weights.data + i * format->block_bytes);
	for (int packed = 0; packed < 2; packed++) {
		memset(lines, TCB_POISON, sizeof(lines));
		memset(&panel, TCB_POISON, sizeof(panel));
		if (packed)
			tcb_lines_gather(format, weights.data, row_bytes, rows, values, lines);
		else
			unpacker->gather(weights.data, row_bytes, rows, values, lines);
		(packed ? unpacker->panel : unpacker->gathered_panel)(lines, &panel);
		(packed ? unpacker->values : unpacker->gathered_values)(lines, &out);
		check_unpacked(format, weights.data, rows, blocks, &panel, &out, packed ? "packed" : "gathered");
	}
	tcb_buffer_free(&weights);
}

static void test_unpacking(void **state)
{
	(void)state;
	struct tcb_rng rng;
	tcb_rng_init(&rng, 5);
	for (size_t f = 0; f < FAMILIES; f++) {
		if (!tcb_target_has(&target, families[f].isa)) {
			print_message("this machine has no %s\n", tcb_isa_text(families[f].isa));
			continue;
		}
		for (int id = 0; id < TCB_FORMAT_CODE_COUNT; id++) {
			const struct tcb_format *format = tcb_format((enum tcb_format_id)id);
			for (size_t rows = 1; rows <= QMM_ROWS; rows++) {
				const size_t values = format->block_values == 32 ? 32 * (1 + rows % 8) : QMM_VALUES;
				check_unpacker(format, &families[f].unpackers[id], rows, values, &rng);
			}
		}
	}
}

static void check_codes(const struct qmm_x8 *got, enum tcb_format_id id, const float *x, size_t values)
{
	const size_t group = (size_t)qmm_group_values(id), run = (size_t)qmm_run_values(id);
	int8_t q[QMM_VALUES] = { 0 };
	for (size_t at = 0; at < values; at += group) {
		float d;
		tcb_quant_codes(x + at, group, q + at, &d);
		assert_true(d == got->d[at / group] || (isnan(d) && isnan(got->d[at / group])));
	}
	assert_memory_equal(q, got->q, sizeof(q));
	for (size_t g = 0; g < QMM_VALUES / run; g++) {
		int sum = 0;
		for (size_t i = 0; i < run; i++)
			sum += q[g * run + i];
		assert_int_equal(got->start[g], -qmm_start_factor(id) * sum);
		if (run == 32)
			assert_int_equal(64 * got->sums_high[g] + got->sums_low[g], sum);
	}
}

static void test_quantising(void **state)
{
	(void)state;
	enum { TOKENS = 9, TILE = 16, K = 512 + 96 };
	static float x[TOKENS * K];
	static struct qmm_x8 out[3 * TILE];
	struct tcb_rng rng;
	tcb_rng_init(&rng, 11);
	for (int i = 0; i < TOKENS * K; i++)
		x[i] = tcb_rng_normal(&rng) * (i / K == 2 ? 1e-38f : i / K == 3 ? 1e36f : 1);
	for (int i = 0; i < K; i++) {
		x[K + i] = i % 2 ? 3 : -3; /* the largest codes */
		x[4 * K + i] = i == 300 ? NAN : 1;
		x[5 * K + i] = i == 7 ? -INFINITY : 1;
		x[6 * K + i] = 0;
		x[7 * K + i] = (float)(i % 255 - 127) + 0.5f; /* halves between codes */
	}
	x[7 * K] = 127;
	for (size_t f = 0; f < FAMILIES; f++)
		for (int id = 0; id < TCB_FORMAT_CODE_COUNT && tcb_target_has(&target, families[f].isa); id++) {
			const size_t k = qmm_group_values((enum tcb_format_id)id) == 32 ? K : 512;
			memset(out, TCB_POISON, sizeof(out));
			families[f].quantize((enum tcb_format_id)id, x, K, TOKENS, TILE, k, out);
			for (size_t b = 0; b < (k + 255) / 256; b++)
				for (size_t t = 0; t < TILE; t++) {
					static const float none[QMM_VALUES];
					const size_t left = k - b * 256;
					check_codes(&out[b * TILE + t], (enum tcb_format_id)id,
						    t < TOKENS ? x + t * K + b * 256 : none, left < 256 ? left : 256);
				}
		}
}

/* ---- what the contract promises ---- */

/* A NaN or an infinity makes all outputs of its token NaN and changes no other; denormal tokens count as zeros. */
static void test_values_that_are_no_numbers(void **state)
{
	(void)state;
	enum { M = 9, N = 33, K = 512 };
	for (size_t o = 0; o < OPS; o++) {
		struct bench b;
		bench_init(&b, op_names[o], TCB_CONTRACT_Q8, (struct tcb_shape){ M, N, K });
		float *x = b.x.data, clean[M * N];
		const struct tcb_variant *variant;
		for (int i = 0; i < K; i++)
			x[4 * K + i] = 1e-40f;
		for (size_t v = 0; (variant = tcb_variant_at(tcb_op_cpu(b.op), v)); v++) {
			if (variant->contract != TCB_CONTRACT_Q8 || !tcb_target_has(&target, variant->isa))
				continue;
			struct tcb_plan plan;
			const struct tcb_geometry g = geometry_of(&b, variant, 0, v % 2);
			assert_int_equal(tcb_op_cpu(b.op)->plan(&b.problem, &g, &plan, NULL), TCB_OK);
			run_plan(&b, &plan, pool);
			memcpy(clean, b.y.data, sizeof(clean));
			const float kept[2] = { x[1 * K + 300], x[7 * K + 5] };
			x[1 * K + 300] = NAN;
			x[7 * K + 5] = INFINITY;
			run_plan(&b, &plan, pool);
			const float *y = b.y.data;
			for (int m = 0; m < M; m++)
				for (int n = 0; n < N; n++) {
					if (m == 1 || m == 7)
						assert_true(isnan(y[m * N + n]));
					else
						assert_memory_equal(&y[m * N + n], &clean[m * N + n], sizeof(float));
					if (m == 4)
						assert_true(y[m * N + n] == 0);
				}
			x[1 * K + 300] = kept[0];
			x[7 * K + 5] = kept[1];
		}
		bench_fini(&b);
	}
}

/* The same bits, or both no number. */
static void same_numbers(const float *expected, const float *got, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (memcmp(&expected[i], &got[i], sizeof(float)) != 0 && !(isnan(expected[i]) && isnan(got[i])))
			fail_msg("%s: output %zu is %g, not %g", name, i, (double)got[i], (double)expected[i]);
}

/* Scales of which AMX's vectors may not ask what they ask of others (amx_scale_d), beside others of the same rows. */
static void test_scales_that_are_no_numbers(void **state)
{
	(void)state;
	static const char *const ops[] = { "q40_matmul", "q80_matmul", "mxfp4_matmul" };
	static const uint8_t halves[4][2] = { { 0, 0x7c }, { 0, 0xfc }, { 0, 0x7e }, { 0xff, 0x7b } };
	static const uint8_t powers[4][2] = { { 255 }, { 254 }, { 232 }, { 231 } };
	enum { M = 17, N = 33, BLOCKS = 16 };
	for (size_t o = 0; o < 3; o++) {
		struct bench b;
		float expected[M * N];
		const struct tcb_variant *variant;
		struct tcb_plan plan;
		int tried = 0;
		bench_init(&b, ops[o], TCB_CONTRACT_Q8, (struct tcb_shape){ M, N, BLOCKS * 32 });
		for (size_t i = 0; i < 4; i++)
			memcpy((uint8_t *)b.weights.data + (7 * i * BLOCKS + 3 * i) * b.format->block_bytes,
			       o < 2 ? halves[i] : powers[i], b.format->codes_at);
		b.op->pack(&b.problem, TCB_QUANT_WEIGHTS, TCB_LAYOUT_R16, b.weights.data, b.packed.data);
		for (size_t v = 0; (variant = tcb_variant_at(tcb_op_cpu(b.op), v)); v++) {
			if (variant->contract != TCB_CONTRACT_Q8 || variant->isa == TCB_ISA_SCALAR ||
			    !tcb_target_has(&target, variant->isa))
				continue;
			const struct tcb_geometry g = geometry_of(&b, variant, 0, v % 2);
			assert_int_equal(tcb_op_cpu(b.op)->plan(&b.problem, &g, &plan, NULL), TCB_OK);
			run_plan(&b, &plan, pool);
			if (!tried++)
				memcpy(expected, b.y.data, sizeof(expected));
			same_numbers(expected, b.y.data, M * N, variant->name);
		}
		assert_true(tried > 0 && !isfinite(expected[0]) && isfinite(expected[1]));
		run_amx(&b, &amx_in_c_any, 32, 16, 100);
		same_numbers(expected, b.y.data, M * N, amx_in_c_any.name);
		bench_fini(&b);
	}
}

/* Relative L2 error against the reference, as what peers are compared by; half a step more and it must show. */
static void test_relative_error(void **state)
{
	(void)state;
	for (size_t o = 0; o < OPS; o++)
		for (int uniform = 0; uniform < 2; uniform++) {
			struct bench b;
			bench_init(&b, op_names[o], TCB_CONTRACT_Q8, (struct tcb_shape){ 8, 32, 4096 });
			struct tcb_rng rng;
			float *x = b.x.data;
			tcb_rng_init(&rng, 3);
			for (size_t i = 0; uniform && i < 8 * 4096; i++)
				x[i] = (float)tcb_rng_below(&rng, 2001) / 1000 - 1;
			take_reference(&b);
			struct tcb_geometry g;
			struct tcb_plan plan;
			tcb_op_standard(&b.problem, &target, &g);
			g.knob[TCB_KNOB_THREADS] = 1;
			g.tile[TCB_MACRO] = (struct tcb_tile){ 8, 32, 4096 };
			assert_int_equal(tcb_op_cpu(b.op)->plan(&b.problem, &g, &plan, NULL), TCB_OK);
			run_plan(&b, &plan, pool);
			const float *y = b.y.data;
			double error = 0, norm = 0;
			for (size_t i = 0; i < b.outputs; i++) {
				error += pow((double)y[i] - b.reference.y[i], 2);
				norm += pow(b.reference.y[i], 2);
			}
			error = sqrt(error / norm);
			print_message("%s, %s activations: relative L2 error %.2e\n", op_names[o],
				      uniform ? "uniform" : "normal", error);
			/* A step is max / 127: of 256 normal values 2.95 / 127 sigma, of 32 2.2 / 127; its error is
			 * that over the root of 12. */
			assert_true(error < (uniform ? 5e-3 : qmm_group_values(b.format->id) == 32 ? 6e-3 : 8e-3));
			assert_true(error > 1e-3);
			bench_fini(&b);
		}
}

/* One word of the packed weights: it changes its row's outputs and no others. */
static void test_every_row_counts(void **state)
{
	(void)state;
	enum { M = 4, N = 20, K = 256 };
	for (size_t o = 0; o < OPS; o++) {
		struct bench b;
		float before[M * N];
		struct tcb_plan plan;
		bench_init(&b, op_names[o], TCB_CONTRACT_Q8, (struct tcb_shape){ M, N, K });
		struct tcb_geometry g = geometry_of(&b, tcb_variant_at(tcb_op_cpu(b.op), 0), 0, 1);
		g.knob[TCB_KNOB_LAYOUT] = TCB_LAYOUT_R16;
		assert_int_equal(tcb_op_cpu(b.op)->plan(&b.problem, &g, &plan, NULL), TCB_OK);
		run_plan(&b, &plan, pool);
		memcpy(before, b.y.data, sizeof(before));
		/* The last line of row 17: codes; of values as they are the middle of the row. */
		const size_t lines = tcb_lines(b.format->id), step = tcb_lines_row_bytes(b.format->id);
		uint8_t *packed = (uint8_t *)b.packed.data + lines * QMM_LINE;
		packed += tcb_is_float(b.format->id) ? step + step / 2 : (lines - 1) * QMM_LINE + 4;
		for (int i = 0; i < 4; i++)
			packed[i] ^= 4;
		run_plan(&b, &plan, pool);
		const float *y = b.y.data;
		for (int m = 0; m < M; m++)
			for (int n = 0; n < N; n++)
				assert_int_equal(memcmp(&y[m * N + n], &before[m * N + n], sizeof(float)) != 0,
						 n == 17);
		bench_fini(&b);
	}
}

/* Geometries that the loops could not run are refused with a reason. */
static void test_refusals(void **state)
{
	(void)state;
	struct bench b;
	struct tcb_plan plan;
	struct tcb_error err;
	bench_init(&b, "q4k_matmul", TCB_CONTRACT_Q8, (struct tcb_shape){ 8, 64, 1024 });
	const struct tcb_geometry good = geometry_of(&b, tcb_variant_at(tcb_op_cpu(b.op), 0), 0, 1);
	assert_int_equal(tcb_op_cpu(b.op)->plan(&b.problem, &good, &plan, &err), TCB_OK);
	struct tcb_geometry bad[9];
	for (size_t i = 0; i < 9; i++)
		bad[i] = good;
	bad[0].tile[TCB_MIDI].k = 128;
	bad[1].tile[TCB_MIDI].n = 24;
	bad[2].tile[TCB_MIDI].m = 0;
	bad[3].tile[TCB_MACRO].k = 512;
	bad[4].knob[TCB_KNOB_DECODE] = TCB_DECODE_REGS;
	bad[5].knob[TCB_KNOB_THREADS] = 2;
	bad[6].knob[TCB_KNOB_PREFETCH] = 64;
	bad[7].tile[TCB_MACRO].n = 32;
	bad[8].tile[TCB_MICRO].m = 3;
	for (size_t i = 0; i < 9; i++)
		if (tcb_op_cpu(b.op)->plan(&b.problem, &bad[i], &plan, &err) != TCB_E_ILLEGAL || !err.message[0])
			fail_msg("bad geometry %zu is not refused", i);
	bench_fini(&b);
}

int main(void)
{
	static struct tcb_device device;
	struct tcb_error err;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unpacking),
		cmocka_unit_test(test_quantising),
		cmocka_unit_test(test_odd_shapes_q8),
		cmocka_unit_test(test_odd_shapes_f32),
		cmocka_unit_test(test_amx_in_plain_c),
#ifdef __x86_64__
		cmocka_unit_test(test_amx_in_c_scaled_by_vectors),
#endif
		cmocka_unit_test(test_amx_of_the_processor),
		cmocka_unit_test(test_values_that_are_no_numbers),
		cmocka_unit_test(test_scales_that_are_no_numbers),
		cmocka_unit_test(test_relative_error),
		cmocka_unit_test(test_every_row_counts),
		cmocka_unit_test(test_refusals),
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
