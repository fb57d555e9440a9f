/* SPDX-License-Identifier: MIT
 *
 * The kernels that all MatVecs but q4k_matvec share:
 * every variant at shapes that cut rows, row groups and superblocks, with one
 * k-step and with small ones, on guarded buffers; weights at the ends of their
 * ranges; activations at the end of theirs, and not finite; the packed layout there and back, and
 * where it puts what; prepared activations equal on all instruction families.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cpu_identity.h"
#include "cmocka_all.h"
#include "kernels/places_both_ways.h"
#include "kernels/quant_matvec/quant_matvec.h"
#include "kernels/quant_matvec/quant_matvec_prepare.h"

static struct tcb_target host;
static struct tcb_pool *pool;
static const char *const names[] = {
#define NAME(id, name, op, ...) #op "_matvec",
	TCB_FORMAT_SHARED_ROWS(NAME) TCB_FORMAT_EXPANDED_ROWS(NAME)
#if defined(__aarch64__)
		"q4k_matvec", /* its own kernels are for others */
#endif
};
enum {
	OPS = sizeof(names) / sizeof(names[0]),
	OPS_IN_LINES = TCB_FORMAT_CODE_COUNT - 1 /* whose packed layout is theirs */
};

static void alloc(size_t bytes, struct tcb_buffer *out)
{
	struct tcb_error err;
	if (tcb_buffer_alloc(TCB_BUFFER_GUARD, bytes, out, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

/* One problem's operands between guards, and what its results are judged by. */
struct bench {
	const struct tcb_op *op;
	struct tcb_problem problem;
	struct tcb_buffer buffer[TCB_QUANT_OPERANDS];
	void *data[TCB_QUANT_OPERANDS];
	struct tcb_reference reference;
	size_t outputs;
};

static void bench_init(struct bench *b, const char *name, enum tcb_contract contract, struct tcb_shape shape)
{
	struct tcb_operand described[TCB_OPERANDS_MAX];
	struct tcb_error err;
	b->op = tcb_op_find(name);
	assert_non_null(b->op);
	if (tcb_problem_init(b->op, contract, &shape, &b->problem, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(b->op->operands(&b->problem, described), TCB_QUANT_OPERANDS);
	for (int i = 0; i < TCB_QUANT_OPERANDS; i++) {
		alloc(described[i].bytes, &b->buffer[i]);
		b->data[i] = b->buffer[i].data;
	}
	b->outputs = shape.m * shape.n;
	b->reference = (struct tcb_reference){ .y = malloc(b->outputs * sizeof(double)),
					       .magnitude = malloc(b->outputs * sizeof(double)),
					       .extra = malloc(b->outputs * sizeof(double)),
					       NULL };
	assert_true(b->reference.y && b->reference.magnitude && b->reference.extra);
	b->op->fill(&b->problem, 7 + shape.n, b->data);
}

static void bench_fini(struct bench *b)
{
	for (int i = 0; i < TCB_QUANT_OPERANDS; i++)
		tcb_buffer_free(&b->buffer[i]);
	free(b->reference.y);
	free(b->reference.magnitude);
	free(b->reference.extra);
}

/* VARIANT with k-steps of STEP: its largest error as a share of what is allowed. */
static double run(const struct bench *b, const struct tcb_variant *v, size_t step)
{
	struct tcb_geometry g;
	struct tcb_plan plan;
	struct tcb_error err;
	struct tcb_buffer packed = { 0 }, workspace = { 0 };
	void *data[TCB_QUANT_OPERANDS];
	size_t rows = v->micro.n;
	while (rows < b->problem.shape.n)
		rows *= 2;
	tcb_geometry_init(&g);
	const size_t tokens = qmv_tile_tokens(v->micro.m, b->problem.shape.m);
	g.tile[TCB_MACRO] = (struct tcb_tile){ tokens, rows, b->problem.shape.k };
	g.tile[TCB_MIDI] = (struct tcb_tile){ tokens, rows > v->micro.n ? rows / 2 : rows,
					      tokens > 1 ? b->problem.shape.k : step };
	g.tile[TCB_MICRO] = v->micro;
	g.knob[TCB_KNOB_ISA] = (int32_t)v->isa;
	g.knob[TCB_KNOB_LAYOUT] = (int32_t)v->layout;
	g.knob[TCB_KNOB_THREADS] = 1;
	if (b->op->format->id == TCB_FORMAT_Q4_K)
		g.knob[TCB_KNOB_UNROLL] = v->unroll;
	g.knob[TCB_KNOB_PREFETCH] = v->isa == TCB_ISA_SCALAR ? 0 : 1024;
	g.knob[TCB_KNOB_HINT] = (int32_t)(rows % 3);
	if (tcb_op_cpu(b->op)->plan(&b->problem, &g, &plan, &err) != TCB_OK)
		fail_msg("%s: %s", v->name, err.message);
	assert_ptr_equal(plan.variant, v);
	/* Of values nothing is summed apart. */
	assert_true(plan.chain <= tcb_quant_chain_max(b->problem.shape.k) || tcb_is_float(b->op->format->id));
	memcpy(data, b->data, sizeof(data));
	if (plan.packed_bytes[TCB_QUANT_WEIGHTS]) {
		alloc(plan.packed_bytes[TCB_QUANT_WEIGHTS], &packed);
		b->op->pack(&b->problem, TCB_QUANT_WEIGHTS, v->layout, b->data[TCB_QUANT_WEIGHTS], packed.data);
		data[TCB_QUANT_WEIGHTS] = packed.data;
	}
	alloc(plan.workspace_bytes, &workspace);
	memset(data[TCB_QUANT_Y], TCB_POISON, b->outputs * sizeof(float));
	tcb_op_cpu(b->op)->run(&plan, data, workspace.data, pool);
	assert_int_equal(tcb_buffer_check(&workspace) | tcb_buffer_check(&b->buffer[TCB_QUANT_Y]), 0);
	tcb_buffer_free(&packed);
	tcb_buffer_free(&workspace);
	return tcb_error_ratio(&plan, &b->reference, data[TCB_QUANT_Y], b->outputs, NULL);
}

/* All variants of this machine under the problem's contract; the largest share. */
static double try_variants(struct bench *b)
{
	const struct tcb_variant *v;
	double largest = 0;
	b->op->reference(&b->problem, b->data, &b->reference);
	for (size_t i = 0; (v = tcb_variant_at(tcb_op_cpu(b->op), i)); i++) {
		if (v->contract != b->problem.contract || !tcb_target_has(&host, v->isa))
			continue;
		for (int steps = 0; steps < 2; steps++) {
			const size_t k = b->problem.shape.k;
			const double share = run(b, v, steps && k % QMV_SUPER == 0 ? QMV_SUPER : k);
			if (!(share <= 1))
				fail_msg("%s: %g of what is allowed", v->name, share);
			largest = share > largest ? share : largest;
		}
	}
	return largest;
}

/* K in blocks of the format, so that superblocks of eight blocks are cut at each place. */
static void test_shapes(void **state)
{
	static const struct tcb_shape shapes[] = { { 1, 1, 1 },  { 1, 5, 7 },   { 1, 17, 8 },
						   { 2, 33, 9 }, { 1, 16, 16 }, { 3, 3, 23 } };
	(void)state;
	for (size_t o = 0; o < OPS; o++)
		for (int c = 0; c < 2; c++) {
			double largest = 0;
			for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
				struct tcb_shape shape = shapes[s];
				struct bench b;
				shape.k *= tcb_op_find(names[o])->format->block_values;
				bench_init(&b, names[o], c ? TCB_CONTRACT_Q8 : TCB_CONTRACT_F32, shape);
				largest = fmax(largest, try_variants(&b));
				bench_fini(&b);
			}
			print_message("%s %s: %.3g of what is allowed\n", names[o], c ? "q8" : "f32", largest);
			assert_true(largest > 1e-4); /* the bound means something */
		}
}

/* What D is, of ordinary size. */
static void put_scales(const struct tcb_format *format, uint8_t *block)
{
	uint8_t *d = block + format->d_at;
	uint8_t half[2];
	tcb_f16_store(0.01f, half);
	for (size_t i = 0; format->scales == TCB_SCALES_SPREAD && i < 4; i++)
		d[2 * i + 1] = (uint8_t)((d[2 * i + 1] & 15) | (half[i / 2] >> i % 2 * 4 & 15) << 4);
	if (format->scales != TCB_SCALES_SPREAD && format->scales != TCB_SCALES_E4M3)
		memcpy(d, half, sizeof(half));
	if (format->has_offsets)
		tcb_f16_store(0.02f, d + 2);
}

/* Largest codes against largest activations of either sign: integer sums must not wrap, nor floats overflow. */
static void test_extremes(void **state)
{
	static const uint8_t bytes[] = { 0x00, 0x7f, 0x80, 0xff };
	(void)state;
	for (size_t o = 0; o < OPS; o++)
		for (int c = 0; c < 2; c++)
			for (size_t i = 0; i < 4 * sizeof(bytes); i++) {
				const struct tcb_shape shape = { 1, 17, 512 };
				struct bench b;
				bench_init(&b, names[o], c ? TCB_CONTRACT_Q8 : TCB_CONTRACT_F32, shape);
				const struct tcb_format *format = b.problem.op->format;
				uint8_t *block = b.data[TCB_QUANT_WEIGHTS];
				float *x = b.data[TCB_QUANT_X];
				for (size_t n = 0; n < shape.n * (shape.k / format->block_values); n++) {
					memset(block, bytes[i % 4], format->block_bytes);
					put_scales(format, block);
					block += format->block_bytes;
				}
				const float most = c ? 3 : QMV_X_MOST;
				for (size_t k = 0; k < shape.k; k++)
					x[k] = i / 4 == 1 || (i / 4 == 2 && k % 2) ? -most : most;
				assert_true(try_variants(&b) <= 1);
				bench_fini(&b);
			}
}

/* As large as the contract takes them, and weights that are all zeros: results that are right and finite, then 0. */
static void test_range(void **state)
{
	static const char *const all[] = { TCB_FORMAT_LIST(NAME) };
	(void)state;
	for (size_t i = 0; i < 4 * sizeof(all) / sizeof(all[0]); i++) {
		const struct tcb_shape shape = { 1, 17, 1536 };
		const int has_zeros = i % 4 == 3;
		struct bench b;
		bench_init(&b, all[i / 4], TCB_CONTRACT_F32, shape);
		float *x = b.data[TCB_QUANT_X];
		for (size_t k = 0; k < shape.k; k++)
			x[k] = i % 4 == 0 || k % 3 ? QMV_X_MOST : i % 4 == 1 ? -QMV_X_MOST : 1;
		if (has_zeros)
			memset(b.data[TCB_QUANT_WEIGHTS], 0, b.buffer[TCB_QUANT_WEIGHTS].bytes);
		assert_true(try_variants(&b) <= 1);
		for (size_t n = 0; n < shape.n; n++)
			assert_true(isfinite(b.reference.y[n]) && (!has_zeros || b.reference.y[n] == 0));
		bench_fini(&b);
	}
}

static void test_not_finite(void **state)
{
	(void)state;
	for (size_t o = 0; o < OPS; o++)
		for (int c = 0; c < 2; c++)
			for (int kind = 0; kind < 3; kind++) {
				struct bench b;
				bench_init(&b, names[o], c ? TCB_CONTRACT_Q8 : TCB_CONTRACT_F32,
					   (struct tcb_shape){ 2, 19, 512 });
				float *x = b.data[TCB_QUANT_X];
				if (kind == 0)
					x[300] = NAN;
				for (size_t k = 0; kind == 1 && k < 512; k++)
					x[k] *= 0x1p-135f;
				for (size_t k = 0; kind == 2 && k < 512; k++)
					x[k] = 0;
				assert_true(try_variants(&b) <= 1);
				assert_true(isnan(b.reference.y[0]) == (kind == 0));
				bench_fini(&b);
			}
}

/* Codes, scales and sums are the same bits on every family; codes are those of tcb_quant_codes(). */
static void test_prepare(void **state)
{
	static float x[288];
	static const struct {
		enum tcb_isa isa;
		void (*q8)(const struct tcb_format *format, const float *x, size_t k, struct qmv_x8 *out);
	} prepare[] = {
#if defined(__x86_64__)
		{ TCB_ISA_AVX2, qmv_prepare_q8_avx2 },
		{ TCB_ISA_AVX512, qmv_prepare_q8_avx512 },
#elif defined(__aarch64__)
		{ TCB_ISA_NEON, qmv_prepare_q8_neon },
#endif
	};
	static struct qmv_x8 scalar[2], other[2];
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 4);
	for (size_t round = 0; round < 40; round++) {
		const struct tcb_format *format = tcb_format((enum tcb_format_id)(round % TCB_FORMAT_CODE_COUNT));
		const size_t k = format->block_values == 32 ? 288 : 256;
		for (size_t i = 0; i < k; i++)
			x[i] = ldexpf(tcb_rng_normal(&rng), (int)round * 5 - 120);
		if (round > 30)
			x[round] = NAN;
		memset(scalar, 1, sizeof(scalar));
		memset(other, 2, sizeof(other));
		qmv_prepare_q8_scalar(format, x, k, scalar);
		int8_t code[256];
		float d;
		tcb_quant_codes(x, tcb_quant_group(format), code, &d);
		assert_memory_equal(code, scalar[0].q, tcb_quant_group(format));
		assert_memory_equal(&d, &scalar[0].d[0], sizeof(d));
		for (size_t i = 0; i < 64; i++)
			assert_int_equal(scalar[0].start[i],
					 -qmv_centre(format->id) * (scalar[0].q[4 * i] + scalar[0].q[4 * i + 1] +
								    scalar[0].q[4 * i + 2] + scalar[0].q[4 * i + 3]));
		const size_t used = offsetof(struct qmv_x8, sums_low) + QMV_RUNS; /* what follows is padding */
		for (size_t p = 0; p < sizeof(prepare) / sizeof(prepare[0]); p++) {
			if (!tcb_target_has(&host, prepare[p].isa))
				continue;
			prepare[p].q8(format, x, k, other);
			for (size_t b = 0; b < k; b += QMV_SUPER)
				assert_memory_equal(&scalar[b / QMV_SUPER], &other[b / QMV_SUPER], used);
		}
	}
}

#if defined(__x86_64__)
/* FP8, all bytes that are numbers and a row that ends in half a superblock: right with VBMI and without it. */
static void test_fp8_both_ways(void **state)
{
	enum { K = 640, ROWS = 3, BLOCKS = K / 128 };
	const struct tcb_format *format = tcb_format(TCB_FORMAT_FP8);
	static float x[K];
	static struct qmv_x32 prepared[3];
	struct tcb_buffer stored;
	struct tcb_rng rng;
	(void)state;
	if (!tcb_target_has(&host, TCB_ISA_AVX512VNNI)) {
		print_message("not run, this processor has no VNNI\n");
		return;
	}
	tcb_rng_init(&rng, 10);
	for (size_t i = 0; i < K; i++)
		x[i] = tcb_rng_normal(&rng);
	alloc(ROWS * BLOCKS * format->block_bytes, &stored);
	uint8_t *block = stored.data;
	for (size_t i = 0, code = 0; i < ROWS * BLOCKS; i++, block += format->block_bytes) {
		tcb_block_random(format, &rng, block);
		for (size_t j = 0; j < format->block_values; j++, code++)
			block[format->codes_at + j] = (uint8_t)(code % 127 | (code / 127 & 1) << 7);
	}
	for (int way = 0; way < (__builtin_cpu_supports("avx512vbmi") ? 2 : 1); way++) {
		float y[ROWS], w[K];
		const struct qmv_call call = { .weights = stored.data,
					       .row_bytes = BLOCKS * format->block_bytes,
					       .x = prepared,
					       .blocks = 3,
					       .values = K,
					       .rows = ROWS,
					       .y = y };
		qmv_prepare_f32_avx512(format, way ? QMV_BY_PAIRS : QMV_AS_THEY_ARE, x, K, prepared);
		memset(y, TCB_POISON, sizeof(y));
		fp8_rows_as(&call, way);
		for (size_t r = 0; r < ROWS; r++) {
			double sum = 0, size = 0;
			tcb_dequantize(format, (uint8_t *)stored.data + r * call.row_bytes, BLOCKS, w);
			for (size_t i = 0; i < K; i++) {
				sum += (double)w[i] * (double)x[i];
				size += fabs((double)w[i] * (double)x[i]);
			}
			assert_true(fabs((double)y[r] - sum) <= 0x1p-22 * size && size > 0);
		}
	}
	tcb_buffer_free(&stored);
}

/* The rows of PACKED, blocks of FORMAT, with VBMI and without it: the same bits.  TAKE returns 0 where there is no such
 * kernel. */
enum { WAYS_K = 512, WAYS_ROWS = 16 };
static int compare_ways(const struct tcb_format *format, enum tcb_layout layout, size_t bytes, struct tcb_rng *rng,
			int (*take)(const struct qmv_call *call, enum tcb_format_id format, int has_vbmi))
{
	static float x[WAYS_K];
	static struct qmv_x8 prepared[WAYS_K / QMV_SUPER];
	const size_t blocks = WAYS_ROWS * WAYS_K / format->block_values;
	struct tcb_buffer stored, packed;
	float y[2][WAYS_ROWS];
	int is_taken = 1;
	for (size_t i = 0; i < WAYS_K; i++)
		x[i] = tcb_rng_normal(rng);
	alloc(blocks * format->block_bytes, &stored);
	alloc(bytes, &packed);
	for (size_t i = 0; i < blocks; i++)
		tcb_block_random(format, rng, (uint8_t *)stored.data + i * format->block_bytes);
	for (size_t i = 0; i < OPS; i++) {
		const struct tcb_op *op = tcb_op_find(names[i]);
		const struct tcb_problem problem = { .op = op, .shape = { 1, WAYS_ROWS, WAYS_K } };
		if (op->format == format)
			op->pack(&problem, TCB_QUANT_WEIGHTS, layout, stored.data, packed.data);
	}
	qmv_prepare_q8_avx512(format, x, WAYS_K, prepared);
	memset(y, TCB_POISON, sizeof(y));
	for (int way = 0; way < 2 && is_taken; way++) {
		const struct qmv_call call = { .weights = packed.data,
					       .x = prepared,
					       .blocks = WAYS_K / QMV_SUPER,
					       .values = WAYS_K,
					       .rows = WAYS_ROWS,
					       .y = y[way] };
		is_taken = take(&call, format->id, way);
	}
	if (is_taken) {
		assert_memory_equal(y[0], y[1], sizeof(y[0]));
		assert_true(y[0][0] != 0 && isfinite(y[0][0]));
	}
	tcb_buffer_free(&stored);
	tcb_buffer_free(&packed);
	return is_taken;
}

static int take_places(const struct qmv_call *call, enum tcb_format_id format, int has_vbmi)
{
	places_rows_as(call, format, has_vbmi);
	return 1;
}

/* Layout r16g, and r16 of nibbles with a table. */
static void test_places_both_ways(void **state)
{
	struct tcb_rng rng;
	int of_places = 0, of_nibbles = 0;
	(void)state;
	if (!tcb_target_has(&host, TCB_ISA_AVX512VNNI) || !__builtin_cpu_supports("avx512vbmi")) {
		print_message("not run, this processor has no VBMI\n");
		return;
	}
	tcb_rng_init(&rng, 9);
	for (int id = 0; id < TCB_FORMAT_CODE_COUNT; id++) {
		const struct tcb_format *format = tcb_format((enum tcb_format_id)id);
		const size_t supers = WAYS_K / QMV_SUPER;
		if (tcb_places_bits(format->id))
			of_places += compare_ways(format, TCB_LAYOUT_R16G,
						  supers * tcb_places_words(format->id) * QMV_LINE, &rng, take_places);
		if (format->codes == TCB_CODES_RUNS)
			of_nibbles += compare_ways(format, TCB_LAYOUT_R16, supers * tcb_lines(format->id) * QMV_LINE,
						   &rng, nibble_rows_as);
	}
	assert_int_equal(of_places, 3);
	assert_int_equal(of_nibbles, 3); /* MXFP4, IQ4_XS, IQ4_NL */
}
#endif

/* Where nobody measured: 16 rows side by side where the family has such a kernel and the problem so many rows; but as
 * stored with floats of AVX2 where codes are fields of bits, beside which Q4_0 and Q8_0 are as fast. */
static void test_default_layout(void **state)
{
	(void)state;
#if defined(__x86_64__) /* the kernels of other processors are not in the program */
	static const enum tcb_isa isas[] = { TCB_ISA_SCALAR, TCB_ISA_AVX2, TCB_ISA_AVX512, TCB_ISA_AVX512VNNI };
#else
	static const enum tcb_isa isas[] = { TCB_ISA_SCALAR, TCB_ISA_NEON };
#endif
	static const char *const all[] = { TCB_FORMAT_CODE_LIST(NAME) };
	for (size_t f = 0; f < TCB_FORMAT_CODE_COUNT; f++)
		for (size_t i = 0; i < sizeof(isas) / sizeof(isas[0]); i++)
			for (size_t n = 1; n <= 64; n += 15)
				for (int q8 = 0; q8 < 2; q8++) {
					const int of_arm = isas[i] == TCB_ISA_NEON;
					const struct tcb_target target = {
						.isa_mask = of_arm ? 1u << isas[i] | 1u : (2u << isas[i]) - 1,
						.threads = 1,
						.line_bytes = 64,
					};
					const struct tcb_shape shape = { 1, n, 512 };
					struct tcb_problem problem;
					struct tcb_geometry geometry;
					const struct tcb_op *op = tcb_op_find(all[f]);
					assert_int_equal(tcb_problem_init(op, q8 ? TCB_CONTRACT_Q8 : TCB_CONTRACT_F32,
									  &shape, &problem, NULL),
							 TCB_OK);
					tcb_op_standard(&problem, &target, &geometry);
					const enum tcb_format_id id = op->format->id;
					const int single = isas[i] == TCB_ISA_AVX2 && !q8 && !tcb_is_expanded(id) &&
							   id != TCB_FORMAT_Q4_0 && id != TCB_FORMAT_Q8_0;
					const int packed = isas[i] != TCB_ISA_SCALAR && !of_arm && n >= 16 && !single;
					assert_int_equal(geometry.knob[TCB_KNOB_LAYOUT],
							 packed ? TCB_LAYOUT_R16 : TCB_LAYOUT_NATIVE);
				}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_not_finite),
		cmocka_unit_test(test_prepare),
		cmocka_unit_test(test_default_layout),
#if defined(__x86_64__)
		cmocka_unit_test(test_places_both_ways),
		cmocka_unit_test(test_fp8_both_ways),
#endif
	};
	static struct tcb_device device;
	if (tcb_cpu_identify("cpu", 1, &device, NULL) != TCB_OK || tcb_pool_create(1, NULL, &pool, NULL) != TCB_OK)
		return 1;
	host = device.target;
	for (int isa = TCB_ISA_SCALAR; isa <= TCB_ISA_AVX512VNNI; isa++)
		if (!tcb_target_has(&host, (enum tcb_isa)isa))
			printf("not run, this processor has no %s\n", tcb_isa_text((enum tcb_isa)isa));
	const int failures = cmocka_run_group_tests(tests, NULL, NULL);
	tcb_pool_destroy(pool);
	return failures;
}
