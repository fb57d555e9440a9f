/* SPDX-License-Identifier: MIT
 *
 * The sums of emu_tensor_sums.c in the compiler's vectors, for each instruction
 * family that they are compiled for.  What is added at once is WIDE sums: of as
 * many columns of a row, or of half as many of two rows.  Exponents have 16
 * bits, so that one vector holds all that is needed of them.
 */
#ifndef TCB_PTX_EMU_TENSOR_SUMS_LOOP_H
#define TCB_PTX_EMU_TENSOR_SUMS_LOOP_H

#ifdef __SSE2__
#include <immintrin.h>
#endif
#include <string.h>

#include "ptx/emulate/emu_float.h"
#include "ptx/emulate/tensor/emu_matrix.h"

enum {
#ifdef __AVX2__
	COLUMNS = 8, /* in a vector of floats */
#else
	COLUMNS = 4,
#endif
	PARTS = 2, /* vectors that are WIDE */
	WIDE = COLUMNS * PARTS,
	HALF_GROUP = 8, /* products of 27 bits whose sum is below 2^31 */
	NO_EXPONENT = -8192,
	LOW_BITS = 8, /* of a sum in two parts */
	/* exponents of A and B, and of C, with which every scale and every sum is a normal float */
	LEAST = -30,
	MOST = 40,
	LEAST_SUM = -60,
	MOST_SUM = 90
};

/* With sanitizers, which take long to compile copies for constants, there is one function for all. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FOR_CONSTANTS static __attribute__((noinline))
#else
#define FOR_CONSTANTS static inline __attribute__((always_inline))
#endif

typedef float floats __attribute__((vector_size(4 * COLUMNS)));
typedef int32_t ints __attribute__((vector_size(4 * COLUMNS)));
typedef int16_t halves __attribute__((vector_size(2 * COLUMNS))); /* exponents of a vector of floats */
typedef int16_t shorts __attribute__((vector_size(2 * WIDE)));    /* and of WIDE */

static inline floats load_floats(const float *from)
{
	floats value;

	memcpy(&value, from, sizeof value);
	return value;
}

static inline halves load_halves(const int16_t *from)
{
	halves value;

	memcpy(&value, from, sizeof value);
	return value;
}

static inline shorts load_shorts(const int16_t *from)
{
	shorts value;

	memcpy(&value, from, sizeof value);
	return value;
}

static inline ints bits_of(floats value)
{
	ints bits;

	memcpy(&bits, &value, sizeof bits);
	return bits;
}

static inline floats of_bits(ints bits)
{
	floats value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

static inline ints choose(ints where, ints yes, ints no)
{
	return (yes & where) | (no & ~where);
}

static inline shorts greater_of(shorts x, shorts y)
{
#if defined __AVX2__
	return (shorts)_mm256_max_epi16((__m256i)x, (__m256i)y);
#elif defined __SSE2__
	return (shorts)_mm_max_epi16((__m128i)x, (__m128i)y);
#else
	const shorts is_x = x > y;

	return (x & is_x) | (y & ~is_x);
#endif
}

static inline int any(ints where)
{
	int32_t all = 0;

	for (unsigned i = 0; i < COLUMNS; i++)
		all |= where[i];
	return all != 0;
}

/* 2^EXPONENT */
static inline floats powers_of_two(ints exponent)
{
	return of_bits((exponent + 127) << 23);
}

/* The exponents of VALUE in a format whose least is LEAST_NORMAL; *BAD: where they are not from FROM to TO. */
static inline ints exponents(floats value, int least_normal, int from, int to, ints *bad)
{
	const ints bits = bits_of(value) & INT32_MAX, is_zero = bits == 0;
	ints exponent = (bits >> 23) - 127;

	*bad |= ~is_zero & ((exponent < from) | (exponent > to));
	exponent = choose(exponent < least_normal, exponent * 0 + least_normal, exponent);
	return choose(is_zero, exponent * 0 + NO_EXPONENT, exponent);
}

/* The same of COUNT values; 0: some are out of range. */
static int all_exponents(const float *value, unsigned count, int least_normal, int from, int to, int16_t *out)
{
	ints bad = { 0 };

	for (unsigned i = 0; i < count; i += COLUMNS) {
		const halves exponent = __builtin_convertvector(
			exponents(load_floats(value + i), least_normal, from, to, &bad), halves);

		memcpy(out + i, &exponent, sizeof exponent);
	}
	return !any(bad);
}

/* WIDE sums: for each vector of floats its row of A and its columns of B and of D. */
struct wide {
	const float *a[PARTS], *b[PARTS];
	const int16_t *a_exponent[PARTS], *b_exponent[PARTS];
	float *d[PARTS];
};

/* The exponents of the products number L, whose columns are N apart. */
static inline shorts product_exponents(const struct wide *w, unsigned n, unsigned l, int is_one_row)
{
	const shorts zero = { 0 };

#ifdef __AVX2__
	if (!is_one_row) {
		const halves b = load_halves(w->b_exponent[0] + (size_t)l * n);
		const halves low = b + w->a_exponent[0][l], high = b + w->a_exponent[1][l];

		return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	}
#endif
	(void)is_one_row;
	return load_shorts(w->b_exponent[0] + (size_t)l * n) + (zero + w->a_exponent[0][l]);
}

/* The exponents of part I of WIDE. */
static inline ints part_of(shorts all, unsigned i)
{
	halves part;

	memcpy(&part, (const char *)&all + i * sizeof part, sizeof part);
	return __builtin_convertvector(part, ints);
}

/* HIGH * 2^LOW_BITS + LOW, cut to the bits of a float; *IS_CUT: where that changed it. */
static inline floats cut_sum(ints high, ints low, ints *is_cut)
{
	const floats top = __builtin_convertvector(high + (low >> LOW_BITS), floats) * (1 << LOW_BITS);
	const floats rest = __builtin_convertvector(low & ((1 << LOW_BITS) - 1), floats), sum = top + rest;
	const floats error = rest - (sum - top), zero = { 0 };
	const ints goes_down = ((error < zero) & (sum > zero)) | ((error > zero) & (sum < zero));

	*is_cut = error != zero;
	return of_bits(bits_of(sum) + goes_down); /* true is -1 */
}

/* SUM and products FIRST to END of k, exact but for what cores cut. */
FOR_CONSTANTS void add_group(const struct tcb_ptx_product *p, const struct wide *w, int is_one_row, unsigned first,
			     unsigned end, floats *sum, ints *is_cut)
{
	const int least_normal = tcb_ptx_least_exponent(p->c), fraction = (int)p->fraction;
	floats scale[PARTS], back[PARTS];
	ints high[PARTS], low[PARTS], part[PARTS], unused = { 0 };
	shorts tops = { 0 };

	tops += NO_EXPONENT * 2;
	for (unsigned l = first; l < end; l++)
		tops = greater_of(tops, product_exponents(w, p->n, l, is_one_row));
	for (unsigned i = 0; i < PARTS; i++) {
		const ints own = exponents(sum[i], least_normal, -127, 127, &unused), of_products = part_of(tops, i);
		ints top = choose(of_products > own, of_products, own);

		top = choose(top > NO_EXPONENT / 2, top, top * 0 + fraction);
		scale[i] = powers_of_two(fraction - top);
		back[i] = powers_of_two(top - fraction);
		part[i] = __builtin_convertvector(sum[i] * scale[i], ints);
		high[i] = part[i] >> LOW_BITS;
		low[i] = part[i] & ((1 << LOW_BITS) - 1);
	}
	for (unsigned l = first; l < end; l += HALF_GROUP) {
		for (unsigned i = 0; i < PARTS; i++)
			part[i] = unused * 0;
		for (unsigned m = l; m < l + HALF_GROUP && m < end; m++)
			for (unsigned i = 0; i < PARTS; i++)
				part[i] += __builtin_convertvector(load_floats(w->b[i] + (size_t)m * p->n) *
									   w->a[is_one_row ? 0 : i][m] * scale[i],
								   ints);
		for (unsigned i = 0; i < PARTS; i++) {
			high[i] += part[i] >> LOW_BITS;
			low[i] += part[i] & ((1 << LOW_BITS) - 1);
		}
	}
	for (unsigned i = 0; i < PARTS; i++)
		sum[i] = cut_sum(high[i], low[i], &is_cut[i]) * back[i];
}

/* The columns at D, of K products that are added in groups of GROUP. */
FOR_CONSTANTS void add_wide(const struct tcb_ptx_product *p, const struct wide *w, int is_one_row, unsigned k,
			    unsigned group)
{
	const ints kept = { 0 };
	floats sum[PARTS];
	ints is_cut[PARTS];

	for (unsigned i = 0; i < PARTS; i++) {
		sum[i] = load_floats(w->d[i]);
		is_cut[i] = kept;
	}
	for (unsigned l = 0, end; l < k; l = end) {
		end = l + group < k ? l + group : k;
		add_group(p, w, is_one_row, l, end, sum, is_cut);
		for (unsigned i = 0; i < PARTS && (p->d != TCB_PTX_F16 || end < k); i++)
			sum[i] = of_bits(bits_of(sum[i]) & ((kept - 1) << (23 - p->mantissa)));
	}
	for (unsigned i = 0; i < PARTS; i++) {
		if (p->d == TCB_PTX_F16) { /* odd where it was cut, so that one rounding is left */
			sum[i] = of_bits(bits_of(sum[i]) | (is_cut[i] & 1));
			for (unsigned c = 0; c < COLUMNS; c++)
				sum[i][c] = tcb_ptx_f16_to_f32(tcb_ptx_f32_to_f16(sum[i][c]));
		}
		memcpy(w->d[i], &sum[i], sizeof sum[i]);
	}
}

/* One row's columns from J on, or those of it and the next. */
static inline struct wide wide_at(const struct tcb_ptx_product *p, const float *a, const int16_t *a_exponent,
				  const float *b, const int16_t *b_exponent, float *d, unsigned row, unsigned j,
				  int is_one_row)
{
	struct wide w;

	for (unsigned i = 0; i < PARTS; i++) {
		const unsigned at = row + (is_one_row ? 0 : i), column = j + (is_one_row ? i * COLUMNS : 0);

		w.a[i] = a + (size_t)at * p->k;
		w.a_exponent[i] = a_exponent + (size_t)at * p->k;
		w.b[i] = b + column;
		w.b_exponent[i] = b_exponent + column;
		w.d[i] = d + (size_t)at * p->n + column;
	}
	return w;
}

FOR_CONSTANTS void add_rows(const struct tcb_ptx_product *p, const float *a, const int16_t *a_exponent, const float *b,
			    const int16_t *b_exponent, float *d, unsigned k, unsigned group)
{
	const unsigned whole = p->n / WIDE * WIDE;

	for (unsigned i = 0; i < p->m; i++)
		for (unsigned j = 0; j < whole; j += WIDE) {
			const struct wide w = wide_at(p, a, a_exponent, b, b_exponent, d, i, j, 1);

			add_wide(p, &w, 1, k, group);
		}
	for (unsigned i = 0; i < p->m && whole < p->n; i += 2) {
		const struct wide w = wide_at(p, a, a_exponent, b, b_exponent, d, i, whole, 0);

		add_wide(p, &w, 0, k, group);
	}
}

static int tensor_sums(const struct tcb_ptx_product *p, const float *a, const float *b, float *d)
{
	int16_t a_exponent[TCB_PTX_TENSOR_M * TCB_PTX_TENSOR_K], b_exponent[TCB_PTX_PRODUCT_MAX_N * TCB_PTX_TENSOR_K];
	ints is_far = { 0 };

	if (!p->group || p->m > TCB_PTX_TENSOR_M || p->m % 2 || p->k > TCB_PTX_TENSOR_K || p->k % 8 || p->n % 8 ||
	    p->m * p->k % COLUMNS || p->n % COLUMNS)
		return 0;
	if (!all_exponents(a, p->m * p->k, tcb_ptx_least_exponent(p->a), LEAST, MOST, a_exponent) ||
	    !all_exponents(b, p->n * p->k, tcb_ptx_least_exponent(p->b), LEAST, MOST, b_exponent))
		return 0;
	for (unsigned i = 0; i < p->m * p->n; i += COLUMNS)
		exponents(load_floats(d + i), -127, LEAST_SUM, MOST_SUM, &is_far);
	if (any(is_far))
		return 0;
	if (p->k == 16 && p->group == 16)
		add_rows(p, a, a_exponent, b, b_exponent, d, 16, 16);
	else if (p->k == 16 && p->group == 8)
		add_rows(p, a, a_exponent, b, b_exponent, d, 16, 8);
	else
		add_rows(p, a, a_exponent, b, b_exponent, d, p->k, p->group);
	return 1;
}

#endif
