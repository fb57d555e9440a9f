/* SPDX-License-Identifier: MIT
 *
 * Conversions over all 65,536 halves and around every rounding boundary; all bytes
 * of E4M3 with scales of all sizes, and files' arrays of bytes and scales to blocks
 * of FP8.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "kernels/formats.h"
#include "small_floats.h"

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

/* All bytes, with scales of 24 bits from the smallest to the largest that floats hold. */
static void test_e4m3(void **state)
{
	static const float scales[] = {
		1, 2.3841858e-4f, -0x1.fffffep-12f, 0x1.234568p-140f, 0x1p-149f, 0x1.fffffep118f
	};
	(void)state;
	for (unsigned bits = 0; bits < 256; bits++) {
		const float value = tcb_e4m3_to_f32((uint8_t)bits);
		uint8_t block[132];
		float out[128];
		assert_int_equal(tcb_e4m3_is_nan((uint8_t)bits), bits == 0x7f || bits == 0xff);
		if (tcb_e4m3_is_nan((uint8_t)bits)) {
			assert_true(isnan(value));
			continue;
		}
		assert_true((double)value == e4m3_value(bits) && !signbit(value) == (bits < 128));
		memset(block, (int)bits, sizeof(block));
		for (size_t s = 0; s < sizeof(scales) / sizeof(scales[0]); s++) {
			memcpy(block, &scales[s], sizeof(float));
			tcb_dequantize(tcb_format(TCB_FORMAT_FP8), block, 1, out);
			for (int i = 0; i < 128; i++)
				assert_true(out[i] == fp8_value(block, (unsigned)i));
		}
	}
}

/* Arrays of files to blocks: a scale a row, and one for 128 x 128 values, whole and cut, of odd matrices. */
static void test_fp8_blocks(void **state)
{
	static const size_t shapes[][4] = { { 3, 256, 1, 256 },    { 5, 300, 1, 300 },     { 130, 384, 128, 128 },
					    { 129, 70, 128, 128 }, { 257, 320, 128, 128 }, { 2, 260, 1, 1000 },
					    { 4, 513, 4, 256 } };
	struct tcb_rng rng;
	struct tcb_error err;
	(void)state;
	tcb_rng_init(&rng, 8);
	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
		const size_t rows = shapes[s][0], k = shapes[s][1], of_rows = shapes[s][2], of_columns = shapes[s][3];
		const size_t across = (k + of_columns - 1) / of_columns, padded = (k + 127) / 128 * 128;
		const size_t scales = (rows + of_rows - 1) / of_rows * across, bytes = tcb_fp8_bytes(rows, k);
		uint8_t *values = malloc(rows * k), *blocks = malloc(bytes + 1);
		float *scale = malloc(scales * sizeof(float)), *w = malloc(rows * padded * sizeof(float));
		assert_true(values && blocks && scale && w);
		assert_int_equal(bytes, rows * padded / 128 * 132);
		for (size_t i = 0; i < rows * k; i++)
			values[i] = (uint8_t)(tcb_rng_below(&rng, 127) | tcb_rng_below(&rng, 2) << 7);
		for (size_t i = 0; i < scales; i++)
			scale[i] = 1e-3f * tcb_rng_normal(&rng);
		blocks[bytes] = 0xa5;
		assert_int_equal(tcb_fp8_blocks(rows, k, values, scale, of_rows, of_columns, blocks, &err), TCB_OK);
		assert_int_equal(blocks[bytes], 0xa5);
		tcb_dequantize(tcb_format(TCB_FORMAT_FP8), blocks, rows * padded / 128, w);
		for (size_t r = 0; r < rows; r++)
			for (size_t c = 0; c < padded; c++) {
				const double by = c < k ? (double)scale[r / of_rows * across + c / of_columns] : 0;
				const double value = c < k ? e4m3_value(values[r * k + c]) : 0;
				assert_true(w[r * padded + c] == (float)(by * value));
			}
		values[rows * k - 1] |= 0x7f;
		assert_int_equal(tcb_fp8_blocks(rows, k, values, scale, of_rows, of_columns, blocks, &err),
				 TCB_E_FORMAT);
		assert_int_equal(tcb_fp8_blocks(rows, k, values, scale, of_rows, 64, blocks, &err), TCB_E_USAGE);
		free(values), free(blocks), free(scale), free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_half),
		cmocka_unit_test(test_every_rounding_boundary),
		cmocka_unit_test(test_e4m3),
		cmocka_unit_test(test_fp8_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
