/* SPDX-License-Identifier: MIT
 *
 * Conversions over all 65,536 halves and around every rounding boundary;
 * dequantisation against a bit-by-bit formulation in double, and a Q4_K tensor
 * that ggml wrote against the products that ggml's own values gave.
 */
#include "kernels/formats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The value of a half from its definition. */
static double half_value(unsigned half)
{
	int exponent = (half >> 10) & 31;
	double mantissa = half & 1023, sign = half & 0x8000 ? -1 : 1;
	if (exponent == 31)
		return mantissa != 0 ? NAN : sign * INFINITY;
	return sign * (exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24));
}

static void test_every_half(void **state)
{
	(void)state;
	for (unsigned half = 0; half <= 0xffff; half++) {
		double expected = half_value(half);
		float got = tcb_f16_to_f32((uint16_t)half);
		if (isnan(expected)) {
			assert_true(isnan(got));
			assert_int_equal(tcb_f32_to_f16(got), half | 0x0200); /* quiet, payload kept */
			continue;
		}
		assert_true((double)got == expected && !signbit(got) == !(half & 0x8000));
		assert_int_equal(tcb_f32_to_f16(got), half);
	}
}

/* Between two neighbouring halves: the middle goes to the even one, one float step aside decides. */
static void test_every_rounding_boundary(void **state)
{
	(void)state;
	for (unsigned half = 0; half < 0x7c00; half++) {
		double low = half_value(half), high = half + 1 == 0x7c00 ? 65536 : half_value(half + 1);
		float middle = (float)((low + high) / 2);
		assert_true((double)middle == (low + high) / 2);
		unsigned even = half & 1 ? half + 1 : half;
		assert_int_equal(tcb_f32_to_f16(middle), even);
		assert_int_equal(tcb_f32_to_f16(nextafterf(middle, 0)), half);
		assert_int_equal(tcb_f32_to_f16(nextafterf(middle, INFINITY)), half + 1);
		assert_int_equal(tcb_f32_to_f16(-middle), even | 0x8000);
		assert_int_equal(tcb_f32_to_f16(nextafterf((float)low, INFINITY)), half);
	}
	assert_int_equal(tcb_f32_to_f16(0x1p127f), 0x7c00);
	assert_int_equal(tcb_f32_to_f16(-INFINITY), 0xfc00);
	assert_int_equal(tcb_f32_to_f16(0x1p-149f), 0);
	assert_int_equal(tcb_f32_to_f16(-0x1p-149f), 0x8000);
}

/* Bits COUNT from bit FIRST of BYTES, least significant first. */
static unsigned bits_of(const uint8_t *bytes, unsigned first, unsigned count)
{
	unsigned value = 0;
	for (unsigned i = 0; i < count; i++)
		value |= ((unsigned)(bytes[(first + i) / 8] >> ((first + i) % 8)) & 1u) << i;
	return value;
}

/* Value I of a Q4_K block, from the format's description alone and exact in double. */
static float q4_k_value(const uint8_t *block, unsigned i)
{
	unsigned sub = i / 32, in_sub = i % 32, scale, min;
	const uint8_t *s = block + 4;
	if (sub < 4) {
		scale = bits_of(s, 8 * sub, 6);
		min = bits_of(s, 8 * (sub + 4), 6);
	} else {
		scale = bits_of(s, 8 * (sub + 4), 4) + 16 * bits_of(s, 8 * (sub - 4) + 6, 2);
		min = bits_of(s, 8 * (sub + 4) + 4, 4) + 16 * bits_of(s, 8 * sub + 6, 2);
	}
	unsigned code = bits_of(block + 16, 8 * (32 * (sub / 2) + in_sub) + 4 * (sub % 2), 4);
	double d = half_value(bits_of(block, 0, 16)), dmin = half_value(bits_of(block, 16, 16));
	return (float)(d * scale * code - dmin * min);
}

static void test_q4_k_values(void **state)
{
	(void)state;
	const struct tcb_format *format = tcb_format(TCB_FORMAT_Q4_K);
	assert_ptr_equal(format, tcb_format_find("Q4_K"));
	assert_null(tcb_format_find("Q9_K"));
	assert_int_equal(format->block_bytes, 144);
	assert_int_equal(format->block_values, 256);

	enum { BLOCKS = 3 };
	static uint8_t blocks[BLOCKS * 144];
	static float values[BLOCKS * 256];
	struct tcb_rng rng;
	tcb_rng_init(&rng, 1);
	for (int round = 0; round < 2000; round++) {
		for (int b = 0; b < BLOCKS; b++)
			format->random_block(&rng, blocks + 144 * b);
		/* Any finite half is a legal scale, not only those that random_block makes. */
		if (round % 2) {
			uint64_t random = tcb_rng_next(&rng) & 0xbbffbbffu;
			memcpy(blocks + 144, &random, 4);
		}
		format->dequantize(blocks, BLOCKS, values);
		for (unsigned i = 0; i < BLOCKS * 256; i++) {
			float expected = q4_k_value(blocks + 144 * (i / 256), i % 256);
			assert_memory_equal(&values[i], &expected, sizeof(expected));
		}
	}
}

/* Random blocks reach every code, scale and min, and their values centre on zero at the size of real weights. */
static void test_random_blocks_cover(void **state)
{
	(void)state;
	int code_seen[16] = { 0 }, scale_seen[64] = { 0 }, min_seen[64] = { 0 };
	double sum = 0, squares = 0;
	struct tcb_rng rng;
	tcb_rng_init(&rng, 2);
	enum { ROUNDS = 2000 };
	for (int round = 0; round < ROUNDS; round++) {
		uint8_t block[144], scale[8], min[8];
		float values[256];
		tcb_format(TCB_FORMAT_Q4_K)->random_block(&rng, block);
		tcb_k_scales(block + 4, scale, min);
		for (int j = 0; j < 8; j++) {
			scale_seen[scale[j]]++;
			min_seen[min[j]]++;
		}
		for (int i = 16; i < 144; i++) {
			code_seen[block[i] & 15]++;
			code_seen[block[i] >> 4]++;
		}
		tcb_format(TCB_FORMAT_Q4_K)->dequantize(block, 1, values);
		for (int i = 0; i < 256; i++) {
			assert_true(isfinite(values[i]));
			sum += (double)values[i];
			squares += (double)values[i] * (double)values[i];
		}
	}
	for (int i = 0; i < 64; i++)
		assert_true(scale_seen[i] && min_seen[i] && code_seen[i % 16]);
	double rms = sqrt(squares / (ROUNDS * 256.0));
	assert_true(rms > 0.005 && rms < 0.1);
	assert_true(fabs(sum / (ROUNDS * 256.0)) < 0.5 * rms);
}

static void *read_fixture(const char *name, size_t bytes)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", TCB_FIXTURES, name);
	FILE *file = fopen(path, "rb");
	void *data = malloc(bytes);
	assert_non_null(file);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, bytes, file), bytes);
	fclose(file);
	return data;
}

/* blk.0.ffn_down.weight lies at TENSOR_OFFSET of the sample: 256 rows of 1024. */
static void test_ggml_sample(void **state)
{
	(void)state;
	enum { ROWS = 256, COLUMNS = 1024, TENSOR_OFFSET = 512, TENSOR_BYTES = ROWS * COLUMNS / 256 * 144 };
	uint8_t *file = read_fixture("ggml_sample.gguf", TENSOR_OFFSET + TENSOR_BYTES);
	float *x = read_fixture("ffn_down.weight_m1.x.f32", COLUMNS * sizeof(float));
	double *y = read_fixture("ffn_down.weight_m1.y.f64", ROWS * sizeof(double));
	double *magnitude = read_fixture("ffn_down.weight_m1.abs.f64", ROWS * sizeof(double));
	float row[COLUMNS];
	for (int n = 0; n < ROWS; n++) {
		tcb_format(TCB_FORMAT_Q4_K)
			->dequantize(file + TENSOR_OFFSET + n * (COLUMNS / 256 * 144), COLUMNS / 256, row);
		double sum = 0, absolute = 0;
		for (int k = 0; k < COLUMNS; k++) {
			sum += (double)row[k] * (double)x[k];
			absolute += fabs((double)row[k] * (double)x[k]);
		}
		/* Both sums are in double: only the order of addition may differ. */
		assert_true(fabs(sum - y[n]) <= 1e-12 * magnitude[n]);
		assert_true(fabs(absolute - magnitude[n]) <= 1e-12 * magnitude[n]);
	}
	free(file);
	free(x);
	free(y);
	free(magnitude);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_half),  cmocka_unit_test(test_every_rounding_boundary),
		cmocka_unit_test(test_q4_k_values), cmocka_unit_test(test_random_blocks_cover),
		cmocka_unit_test(test_ggml_sample),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
