/* SPDX-License-Identifier: MIT
 *
 * Activations of contract q8: the scalar code against the definition in
 * double, every other instruction set bit for bit against the scalar code, on
 * ordinary values and on zeros, tiny and huge values, NaN and infinity.
 */
#include "kernels/quant_matvec/q4k_matvec.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cpu_identity.h"
#include "base/util.h"
#include "cmocka_all.h"

typedef void quantize_fn(const float *x, size_t blocks, struct q4k_x8 *out);

enum { CASES = 12, RANDOM_BLOCKS = 200 };

/* Block CASE of the edge cases. */
static void edge_block(int number, struct tcb_rng *rng, float x[256])
{
	static const float scale[CASES] = { 0,      1,   1e-30f, 1e30f, FLT_MAX,           FLT_MIN,
					    1e-44f, 127, 1e-38f, 1,     127 * FLT_MIN * 2, 1 };
	for (int i = 0; i < 256; i++)
		x[i] = (float)(2 * tcb_rng_unit(rng) - 1) * scale[number];
	if (number == 1)
		x[200] = NAN;
	if (number == 9)
		x[0] = -INFINITY;
	if (number == 11) /* all ties: x / d is an integer and a half */
		for (int i = 0; i < 256; i++)
			x[i] = i == 7 ? -127 : (float)(i % 127) + 0.5f;
	if (number == 7)
		for (int i = 0; i < 256; i++)
			x[i] = i % 2 ? 127 : -127;
	if (number == 0)
		x[3] = -0.0f;
}

static void check_block(const float *x, const struct q4k_x8 *got)
{
	double max = 0;
	int finite = 1;
	for (int i = 0; i < 256; i++) {
		finite &= isfinite(x[i]) != 0;
		max = fabs((double)x[i]) > max ? fabs((double)x[i]) : max;
	}
	if (!finite)
		assert_true(isnan(got->d));
	else if (max < 127 * (double)FLT_MIN)
		assert_true(got->d == 0);
	else
		assert_true(got->d == (float)(max / 127) || got->d == (float)max / 127);
	for (unsigned j = 0; j < 8; j++) {
		int sum = 0;
		for (unsigned i = 0; i < 32; i++) {
			const int code = got->q[32 * q4k_x8_run(j) + i];
			const double value = (double)x[32 * j + i];
			sum += code;
			if (!finite || got->d == 0)
				assert_int_equal(code, 0);
			else /* half a step, and the roundings of max / 127 and 127 / max */
				assert_true(fabs(value - (double)got->d * code) <=
					    (double)got->d * (0.5 + 127 * 4 * 0x1p-24));
		}
		assert_int_equal(got->sums[j], sum);
		assert_int_equal(64 * got->sums_high[j] + got->sums_low[j], sum);
		assert_in_range(got->sums_low[j] + 32, 0, 63);
	}
}

static void test_definition(void **state)
{
	struct tcb_rng rng;
	float x[256];
	_Alignas(64) struct q4k_x8 out;
	(void)state;
	tcb_rng_init(&rng, 1);
	for (int c = 0; c < CASES; c++) {
		edge_block(c, &rng, x);
		q4k_quantize_scalar(x, 1, &out);
		check_block(x, &out);
	}
	for (int c = 0; c < RANDOM_BLOCKS; c++) {
		for (int i = 0; i < 256; i++)
			x[i] = tcb_rng_normal(&rng);
		q4k_quantize_scalar(x, 1, &out);
		check_block(x, &out);
	}
}

static void same_bits(enum tcb_isa isa, quantize_fn *quantize)
{
	static float x[(CASES + RANDOM_BLOCKS) * 256];
	static _Alignas(64) struct q4k_x8 expected[CASES + RANDOM_BLOCKS], got[CASES + RANDOM_BLOCKS];
	struct tcb_device host;
	struct tcb_rng rng;
	assert_int_equal(tcb_cpu_identify("cpu", 1, &host, NULL), TCB_OK);
	if (!tcb_target_has(&host.target, isa))
		skip_because("this machine has no %s", tcb_isa_text(isa));
	tcb_rng_init(&rng, 2);
	for (size_t i = 0; i < sizeof(x) / sizeof(x[0]); i++)
		x[i] = tcb_rng_normal(&rng);
	for (int c = 0; c < CASES; c++)
		edge_block(c, &rng, x + 256 * (17 * c + 5));
	memset(got, TCB_POISON, sizeof(got));
	q4k_quantize_scalar(x, CASES + RANDOM_BLOCKS, expected);
	quantize(x, CASES + RANDOM_BLOCKS, got);
	assert_memory_equal(expected, got, sizeof(got));
}

static void test_avx2(void **state)
{
	(void)state;
	same_bits(TCB_ISA_AVX2, q4k_quantize_avx2);
}

static void test_avx512(void **state)
{
	(void)state;
	same_bits(TCB_ISA_AVX512, q4k_quantize_avx512);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_definition),
		cmocka_unit_test(test_avx2),
		cmocka_unit_test(test_avx512),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
