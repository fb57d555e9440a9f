/* SPDX-License-Identifier: MIT
 *
 * The emulator's number formats against definitions made another way: widening
 * against the textbook formula, narrowing against a search among all values of
 * the format, f32 arithmetic against the host's under each rounding mode.
 */
#include "cmocka_all.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>

#include "base/util.h"
#include "ptx/emulate/emu_float.h"

struct small {
	enum tcb_ptx_word type;
	int exponent_bits, mantissa_bits, step; /* step: 1 << bits of the container below the mantissa */
	int ieee;                               /* has infinity, and NaN above it */
	unsigned nan;                           /* the only NaN where not ieee; 0: none */
};

static const struct small smalls[] = {
	{ TCB_PTX_F16, 5, 10, 1, 1, 0 }, { TCB_PTX_BF16, 8, 7, 1, 1, 0 },    { TCB_PTX_TF32, 8, 10, 1 << 13, 1, 0 },
	{ TCB_PTX_E5M2, 5, 2, 1, 1, 0 }, { TCB_PTX_E4M3, 4, 3, 1, 0, 0x7f }, { TCB_PTX_E3M2, 3, 2, 1, 0, 0 },
	{ TCB_PTX_E2M3, 2, 3, 1, 0, 0 }, { TCB_PTX_E2M1, 2, 1, 1, 0, 0 },
};

static unsigned count_of(const struct small *s)
{
	return 1u << (s->exponent_bits + s->mantissa_bits);
}

/* (-1)^s 2^(e - bias) 1.m as the books have it. */
static double by_formula(const struct small *s, unsigned code)
{
	unsigned magnitude = code & (count_of(s) - 1);
	int bias = (1 << (s->exponent_bits - 1)) - 1, e = (int)(magnitude >> s->mantissa_bits);
	int m = (int)(magnitude & ((1u << s->mantissa_bits) - 1)), top = (1 << s->exponent_bits) - 1;
	double value;

	if (s->ieee && e == top)
		value = m ? (double)NAN : (double)INFINITY;
	else if (s->nan && magnitude == s->nan)
		value = (double)NAN;
	else if (e)
		value = ldexp(1.0 + ldexp(m, -s->mantissa_bits), e - bias);
	else
		value = ldexp(ldexp(m, -s->mantissa_bits), 1 - bias);
	return code & count_of(s) ? -value : value;
}

static void widening(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof smalls / sizeof *smalls; i++) {
		const struct small *s = &smalls[i];

		for (unsigned code = 0; code < 2 * count_of(s); code++) {
			double want = by_formula(s, code);
			double got = tcb_ptx_float_widen(s->type, (uint64_t)code * (unsigned)s->step);

			if (isnan(want))
				assert_true(isnan(got));
			else
				assert_memory_equal(&want, &got, sizeof got);
		}
	}
	/* packed types are their element; of tf32 the low bits do not count */
	assert_true(tcb_ptx_float_widen(TCB_PTX_E4M3X2, 0x7e) == 448);
	assert_true(tcb_ptx_float_widen(TCB_PTX_TF32, 0x3f801fff) == 1);
}

/* The code of the greatest finite magnitude that is not above MAGNITUDE. */
static unsigned below(const struct small *s, double magnitude)
{
	unsigned low = 0, high = count_of(s) - 1;

	while (!isfinite(by_formula(s, high)))
		high--;
	while (low < high) {
		unsigned middle = (low + high + 1) / 2;

		if (by_formula(s, middle) <= magnitude)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* Code that VALUE rounds to, by definition; the value after the largest is what it would be with a wider exponent. */
static unsigned by_search(const struct small *s, double value, enum tcb_ptx_word round, unsigned flags)
{
	double magnitude = fabs(value), floor_value, next, low, high;
	unsigned code = below(s, magnitude), largest = below(s, (double)INFINITY), negative = signbit(value) != 0, up;

	if (isinf(value))
		return (negative ? count_of(s) : 0) |
		       (s->ieee && !(flags & TCB_PTX_FLOAT_SATFINITE) ? largest + 1 : largest);
	floor_value = by_formula(s, code);
	next = code < largest ? by_formula(s, code + 1) : 2 * floor_value - by_formula(s, code - 1);
	low = magnitude - floor_value; /* exact: Sterbenz, or both on a coarse grid */
	high = next - magnitude;
	if (low == 0)
		up = 0;
	else if (round == TCB_PTX_RZ)
		up = 0;
	else if (round == TCB_PTX_RM)
		up = negative;
	else if (round == TCB_PTX_RP)
		up = !negative;
	else if (low == high)
		up = round == TCB_PTX_RNA ? 1 : code & 1;
	else
		up = low > high;
	/* far above the largest, nearest is infinity */
	if (code == largest && up && (!s->ieee || (flags & TCB_PTX_FLOAT_SATFINITE)))
		up = 0;
	return (negative ? count_of(s) : 0) | (code + up);
}

static double random_near(struct tcb_rng *rng, const struct small *s)
{
	unsigned code = (unsigned)tcb_rng_below(rng, 2 * count_of(s));
	double a = by_formula(s, code), b = by_formula(s, code ^ 1), t;

	switch (tcb_rng_below(rng, 6)) {
	case 0:
		return a;
	case 1:
		t = (a + b) / 2; /* a tie */
		return t;
	case 2:
		return nextafter((a + b) / 2, tcb_rng_below(rng, 2) ? (double)INFINITY : -(double)INFINITY);
	case 3:
		return nextafter(a, tcb_rng_below(rng, 2) ? (double)INFINITY : -(double)INFINITY);
	case 4:
		return a * (1 + tcb_rng_unit(rng));
	default:
		return ldexp(tcb_rng_unit(rng) - 0.5, (int)tcb_rng_below(rng, 300) - 150);
	}
}

static void narrowing(void **state)
{
	static const enum tcb_ptx_word rounds[] = { TCB_PTX_RN, TCB_PTX_RZ, TCB_PTX_RM, TCB_PTX_RP, TCB_PTX_RNA };
	struct tcb_rng rng;
	unsigned differ = 0;

	(void)state;
	tcb_rng_init(&rng, 7);
	for (size_t i = 0; i < sizeof smalls / sizeof *smalls; i++) {
		const struct small *s = &smalls[i];

		for (int n = 0; n < 30000; n++) {
			double value = random_near(&rng, s);
			enum tcb_ptx_word round = rounds[tcb_rng_below(&rng, 5)];
			unsigned flags = tcb_rng_below(&rng, 2) ? TCB_PTX_FLOAT_SATFINITE : 0, want;
			uint64_t got;

			if (isnan(value))
				continue;
			got = tcb_ptx_float_narrow(s->type, value, round, flags);
			want = by_search(s, value, round, flags);
			if (got != (uint64_t)want * (unsigned)s->step)
				fail_msg("format %zu: %a, round %d: %llx, not %x", i, value, (int)round,
					 (unsigned long long)got, want);
			differ += want != by_search(s, value, TCB_PTX_RZ, flags);
		}
	}
	assert_true(differ > 20000); /* else the modes were not told apart */
}

static void modifiers(void **state)
{
	double nan = (double)NAN, inf = (double)INFINITY;

	(void)state;
	assert_int_equal(tcb_ptx_float_narrow(TCB_PTX_F16, nan, TCB_PTX_RN, 0), 0x7fff);
	assert_int_equal(tcb_ptx_float_narrow(TCB_PTX_BF16, -nan, TCB_PTX_RN, TCB_PTX_FLOAT_RELU), 0x7fff);
	assert_int_equal(tcb_ptx_float_narrow(TCB_PTX_TF32, nan, TCB_PTX_RN, 0), 0x7fffe000);
	assert_int_equal(tcb_ptx_float_narrow(TCB_PTX_E4M3, nan, TCB_PTX_RN, TCB_PTX_FLOAT_SATFINITE), 0x7f);
	assert_int_equal(tcb_ptx_float_narrow(TCB_PTX_E5M2, nan, TCB_PTX_RN, TCB_PTX_FLOAT_SATFINITE), 0x7f);
	assert_int_equal(tcb_ptx_float_narrow(TCB_PTX_E2M1, nan, TCB_PTX_RN, TCB_PTX_FLOAT_SATFINITE), 0x7);
	assert_int_equal(tcb_ptx_float_narrow(TCB_PTX_F16, nan, TCB_PTX_RN, TCB_PTX_FLOAT_SAT), 0);
	assert_int_equal(tcb_ptx_float_narrow(TCB_PTX_F16, 3, TCB_PTX_RN, TCB_PTX_FLOAT_SAT), 0x3c00);
	assert_int_equal(tcb_ptx_float_narrow(TCB_PTX_F16, -3, TCB_PTX_RN, TCB_PTX_FLOAT_RELU), 0);
	assert_int_equal(tcb_ptx_float_narrow(TCB_PTX_F16, -3, TCB_PTX_RN, 0), 0xc200);
	assert_int_equal(tcb_ptx_float_narrow(TCB_PTX_F16, 70000, TCB_PTX_RN, 0), 0x7c00);
	assert_int_equal(tcb_ptx_float_narrow(TCB_PTX_F16, 70000, TCB_PTX_RZ, 0), 0x7bff);
	assert_int_equal(tcb_ptx_float_narrow(TCB_PTX_F16, -inf, TCB_PTX_RN, TCB_PTX_FLOAT_SATFINITE), 0xfbff);
	assert_int_equal(tcb_ptx_float_narrow(TCB_PTX_F32, 0x1p-130, TCB_PTX_RN, 0), 0x00080000);
	assert_int_equal(tcb_ptx_float_narrow(TCB_PTX_F32, -0x1p-130, TCB_PTX_RN, TCB_PTX_FLOAT_FTZ), 0x80000000);
	assert_true(tcb_ptx_float_flush(TCB_PTX_F16, 0x1p-15) == 0);
	assert_true(tcb_ptx_float_flush(TCB_PTX_F16, 0x1p-14) == 0x1p-14);
}

static void fast_halves(void **state)
{
	struct tcb_rng rng;

	(void)state;
	for (unsigned code = 0; code < 65536; code++) {
		double want = by_formula(&smalls[0], code);
		float got = tcb_ptx_f16_to_f32(code);

		assert_true(isnan(want) ? isnan(got) : (double)got == want && !signbit(got) == !signbit(want));
		assert_int_equal(tcb_ptx_f32_to_f16(got), isnan(want) ? 0x7fff : code);
		assert_int_equal(tcb_ptx_float_narrow(TCB_PTX_F16, want, TCB_PTX_RN, 0), isnan(want) ? 0x7fff : code);
	}
	tcb_rng_init(&rng, 3);
	for (int n = 0; n < 1000000; n++) {
		float value = tcb_ptx_float_of_bits((uint32_t)tcb_rng_next(&rng));
		uint32_t half = tcb_ptx_f32_to_f16(value), brain = tcb_ptx_f32_to_bf16(value);

		if (n & 1) /* within the range of halves */
			value = tcb_ptx_float_of_bits((uint32_t)(0x33000000 + tcb_rng_below(&rng, 0x15000000)));
		half = tcb_ptx_f32_to_f16(value);
		brain = tcb_ptx_f32_to_bf16(value);
		assert_int_equal(half, tcb_ptx_float_narrow(TCB_PTX_F16, (double)value, TCB_PTX_RN, 0));
		assert_int_equal(brain, tcb_ptx_float_narrow(TCB_PTX_BF16, (double)value, TCB_PTX_RN, 0));
#ifdef __FLT16_MAX__
		if (!isnan(value)) {
			_Float16 host = (_Float16)value;
			uint16_t bits;

			memcpy(&bits, &host, sizeof bits);
			assert_int_equal(half, bits);
		}
#endif
	}
}

struct mode {
	enum tcb_ptx_word word;
	int host;
};

static const struct mode modes[] = { { TCB_PTX_RN, FE_TONEAREST },
				     { TCB_PTX_RZ, FE_TOWARDZERO },
				     { TCB_PTX_RM, FE_DOWNWARD },
				     { TCB_PTX_RP, FE_UPWARD } };

static float random_float(struct tcb_rng *rng, int near)
{
	uint32_t bits = (uint32_t)tcb_rng_next(rng);

	if (near) /* like exponents, so that sums cancel and round in the middle */
		bits = (bits & 0x83ffffff) + 0x3e000000;
	if (tcb_rng_below(rng, 16) == 0)
		bits &= 0x80000000 | (uint32_t)tcb_rng_below(rng, 0x1000000); /* subnormal, zero */
	return tcb_ptx_float_of_bits(bits);
}

static void same(float want, uint64_t got, const char *what, int mode)
{
	if (isnan(want) ? got != 0x7fffffff : tcb_ptx_float_bits(want) != got)
		fail_msg("%s, mode %d: %a, not %a", what, mode, (double)tcb_ptx_float_of_bits((uint32_t)got),
			 (double)want);
}

static void arithmetic(void **state)
{
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 11);
	for (int n = 0; n < 200000; n++) {
		volatile float a = random_float(&rng, n & 1), b = random_float(&rng, n & 1),
			       c = random_float(&rng, n & 1);
		const struct mode *m = &modes[n / 2 % 4];
		volatile float sum, product, fused, quotient, root, narrow;
		volatile double wide = (double)a * (double)b + (double)c;

		fesetround(m->host);
		sum = a + b;
		product = a * b;
		fused = fmaf(a, b, c);
		quotient = a / b;
		root = sqrtf(a);
		narrow = (float)wide;
		fesetround(FE_TONEAREST);
		same(sum, tcb_ptx_float_add(TCB_PTX_F32, (double)a, (double)b, m->word, 0), "add", n / 2 % 4);
		same(product, tcb_ptx_float_mul(TCB_PTX_F32, (double)a, (double)b, m->word, 0), "mul", n / 2 % 4);
		same(fused, tcb_ptx_float_fma(TCB_PTX_F32, (double)a, (double)b, (double)c, m->word, 0), "fma",
		     n / 2 % 4);
		same(quotient, tcb_ptx_float_div(TCB_PTX_F32, (double)a, (double)b, m->word, 0), "div", n / 2 % 4);
		same(root, tcb_ptx_float_sqrt(TCB_PTX_F32, (double)a, m->word, 0), "sqrt", n / 2 % 4);
		same(narrow, tcb_ptx_float_narrow(TCB_PTX_F32, wide, m->word, 0), "cvt", n / 2 % 4);
	}
	/* -0 where the sum is exactly 0 and rounds down */
	assert_int_equal(tcb_ptx_float_add(TCB_PTX_F32, 1, -1, TCB_PTX_RM, 0), 0x80000000);
	assert_int_equal(tcb_ptx_float_add(TCB_PTX_F32, 1, -1, TCB_PTX_RN, 0), 0);
	/* what double rounding would get wrong: 1 + 2^-11 + 2^-60 is above the tie of half */
	assert_int_equal(tcb_ptx_float_add(TCB_PTX_F16, 1 + 0x1p-11, 0x1p-60, TCB_PTX_RN, 0), 0x3c01);
	assert_int_equal(tcb_ptx_float_narrow(TCB_PTX_F16, 1 + 0x1p-11 + 0x1p-60, TCB_PTX_RN, 0), 0x3c00);
}

static void integers(void **state)
{
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 5);
	for (int n = 0; n < 100000; n++) {
		uint64_t bits = tcb_rng_next(&rng) >> tcb_rng_below(&rng, 64);
		const struct mode *m = &modes[n % 4];
		volatile uint64_t u = bits;
		volatile int64_t s = (int64_t)bits;
		volatile float from_u, from_s;
		volatile double wide;
		uint64_t magnitude = s < 0 ? 0 - bits : bits, wide_bits;

		fesetround(m->host);
		from_u = (float)u;
		from_s = (float)s;
		wide = (double)u;
		fesetround(FE_TONEAREST);
		same(from_u, tcb_ptx_float_from_integer(TCB_PTX_F32, 0, u, m->word, 0), "u64", n % 4);
		same(from_s, tcb_ptx_float_from_integer(TCB_PTX_F32, s < 0, magnitude, m->word, 0), "s64", n % 4);
		memcpy(&wide_bits, (const void *)&wide, sizeof wide_bits);
		assert_int_equal(tcb_ptx_float_from_integer(TCB_PTX_F64, 0, u, m->word, 0), wide_bits);
	}
	assert_int_equal(tcb_ptx_float_from_integer(TCB_PTX_F16, 0, 65520, TCB_PTX_RN, 0), 0x7c00);
	assert_int_equal(tcb_ptx_float_from_integer(TCB_PTX_F16, 1, 65519, TCB_PTX_RN, 0), 0xfbff);
	assert_int_equal(tcb_ptx_float_to_integer(TCB_PTX_S32, TCB_PTX_F32, 2.5, TCB_PTX_RNI), 2);
	assert_int_equal(tcb_ptx_float_to_integer(TCB_PTX_S32, TCB_PTX_F32, -2.5, TCB_PTX_RMI), (uint64_t)-3);
	assert_int_equal(tcb_ptx_float_to_integer(TCB_PTX_S32, TCB_PTX_F32, 3e9, TCB_PTX_RZI), INT32_MAX);
	assert_int_equal(tcb_ptx_float_to_integer(TCB_PTX_S32, TCB_PTX_F32, -3e9, TCB_PTX_RZI), (uint64_t)INT32_MIN);
	assert_int_equal(tcb_ptx_float_to_integer(TCB_PTX_S8, TCB_PTX_F32, -129, TCB_PTX_RZI), (uint64_t)-128);
	assert_int_equal(tcb_ptx_float_to_integer(TCB_PTX_U32, TCB_PTX_F32, -1, TCB_PTX_RZI), 0);
	assert_int_equal(tcb_ptx_float_to_integer(TCB_PTX_U64, TCB_PTX_F64, 0x1p64, TCB_PTX_RZI), UINT64_MAX);
	assert_int_equal(tcb_ptx_float_to_integer(TCB_PTX_S64, TCB_PTX_F64, -0x1p63, TCB_PTX_RZI), 1ull << 63);
	assert_int_equal(tcb_ptx_float_to_integer(TCB_PTX_S32, TCB_PTX_F32, (double)NAN, TCB_PTX_RZI), 0);
	assert_int_equal(tcb_ptx_float_to_integer(TCB_PTX_S64, TCB_PTX_F32, (double)NAN, TCB_PTX_RZI), 1ull << 63);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(widening),    cmocka_unit_test(narrowing),  cmocka_unit_test(modifiers),
		cmocka_unit_test(fast_halves), cmocka_unit_test(arithmetic), cmocka_unit_test(integers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
