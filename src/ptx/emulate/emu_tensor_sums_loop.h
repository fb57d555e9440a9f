/* SPDX-License-Identifier: MIT
 *
 * The sums of emu_tensor_sums.c in the compiler's vectors, for each instruction
 * family that they are compiled for.
 */
#ifndef TCB_PTX_EMU_TENSOR_SUMS_LOOP_H
#define TCB_PTX_EMU_TENSOR_SUMS_LOOP_H

#include <string.h>

#include "ptx/emulate/emu_float.h"
#include "ptx/emulate/emu_matrix.h"

enum {
#ifdef __AVX2__
	COLUMNS = 8,
#else
	COLUMNS = 4,
#endif
	HALF_GROUP = 8, /* products of 27 bits whose sum is below 2^31 */
	NO_EXPONENT = -8192,
	LOW_BITS = 8, /* of a sum in two parts */
	/* exponents of A and B, and of C, with which every scale and every sum is a normal float */
	LEAST = -30,
	MOST = 40,
	LEAST_SUM = -60,
	MOST_SUM = 90
};

typedef float floats __attribute__((vector_size(4 * COLUMNS)));
typedef int32_t ints __attribute__((vector_size(4 * COLUMNS)));

static inline floats load_floats(const float *from)
{
	floats value;

	memcpy(&value, from, sizeof value);
	return value;
}

static inline ints load_ints(const int32_t *from)
{
	ints value;

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
static int all_exponents(const float *value, unsigned count, int least_normal, int from, int to, int32_t *out)
{
	ints bad = { 0 };

	for (unsigned i = 0; i < count; i += COLUMNS) {
		const ints exponent = exponents(load_floats(value + i), least_normal, from, to, &bad);

		memcpy(out + i, &exponent, sizeof exponent);
	}
	return !any(bad);
}

/* One row of A. */
struct row {
	const float *a;
	const int32_t *exponent;
};

/* The sum of products FIRST to END of k, each scaled and cut to an integer. */
static inline ints add_products(const struct row *row, const float *b, unsigned n, floats scale, unsigned first,
				unsigned end)
{
	ints sum = { 0 };

	for (unsigned l = first; l < end; l++)
		sum += __builtin_convertvector(load_floats(b + (size_t)l * n) * row->a[l] * scale, ints);
	return sum;
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

/* SUM and products FIRST to END of k of the columns at B, exact but for what cores cut. */
static inline floats add_group(const struct tcb_ptx_product *p, const struct row *row, const float *b,
			       const int32_t *b_exponent, unsigned first, unsigned end, int least_normal, floats sum,
			       ints *is_cut)
{
	ints unused = { 0 }, top = exponents(sum, least_normal, -127, 127, &unused), high, low, part;

	for (unsigned l = first; l < end; l++) {
		const ints both = load_ints(b_exponent + (size_t)l * p->n) + row->exponent[l];

		top = choose(both > top, both, top);
	}
	top = choose(top > NO_EXPONENT / 2, top, top * 0 + (int)p->fraction);
	part = __builtin_convertvector(sum * powers_of_two((int)p->fraction - top), ints);
	high = part >> LOW_BITS;
	low = part & ((1 << LOW_BITS) - 1);
	for (unsigned l = first; l < end; l += HALF_GROUP) {
		part = add_products(row, b, p->n, powers_of_two((int)p->fraction - top), l,
				    l + HALF_GROUP < end ? l + HALF_GROUP : end);
		high += part >> LOW_BITS;
		low += part & ((1 << LOW_BITS) - 1);
	}
	return cut_sum(high, low, is_cut) * powers_of_two(top - (int)p->fraction);
}

/* The columns at D of one row. */
static void row_of(const struct tcb_ptx_product *p, const struct row *row, const float *b, const int32_t *b_exponent,
		   float *d)
{
	const int least_normal = tcb_ptx_least_exponent(p->c);
	const ints kept = { 0 };
	floats sum = load_floats(d);
	ints is_cut = { 0 };

	for (unsigned l = 0, end; l < p->k; l = end) {
		end = l + p->group < p->k ? l + p->group : p->k;
		sum = add_group(p, row, b, b_exponent, l, end, least_normal, sum, &is_cut);
		if (p->d != TCB_PTX_F16 || end < p->k)
			sum = of_bits(bits_of(sum) & ((kept - 1) << (23 - p->mantissa)));
	}
	if (p->d == TCB_PTX_F16) { /* odd where it was cut, so that one rounding is left */
		sum = of_bits(bits_of(sum) | (is_cut & 1));
		for (unsigned c = 0; c < COLUMNS; c++)
			sum[c] = tcb_ptx_f16_to_f32(tcb_ptx_f32_to_f16(sum[c]));
	}
	memcpy(d, &sum, sizeof sum);
}

static int tensor_sums(const struct tcb_ptx_product *p, const float *a, const float *b, float *d)
{
	int32_t a_exponent[TCB_PTX_TENSOR_M * TCB_PTX_TENSOR_K], b_exponent[TCB_PTX_PRODUCT_MAX_N * TCB_PTX_TENSOR_K];
	ints is_far = { 0 };

	if (!p->group || p->m > TCB_PTX_TENSOR_M || p->k > TCB_PTX_TENSOR_K || p->k % COLUMNS || p->n % COLUMNS)
		return 0;
	if (!all_exponents(a, p->m * p->k, tcb_ptx_least_exponent(p->a), LEAST, MOST, a_exponent) ||
	    !all_exponents(b, p->n * p->k, tcb_ptx_least_exponent(p->b), LEAST, MOST, b_exponent))
		return 0;
	for (unsigned i = 0; i < p->m * p->n; i += COLUMNS)
		exponents(load_floats(d + i), -127, LEAST_SUM, MOST_SUM, &is_far);
	if (any(is_far))
		return 0;
	for (unsigned i = 0; i < p->m; i++) {
		const struct row row = { a + (size_t)i * p->k, a_exponent + (size_t)i * p->k };

		for (unsigned j = 0; j < p->n; j += COLUMNS)
			row_of(p, &row, b + j, b_exponent + j, d + (size_t)i * p->n + j);
	}
	return 1;
}

#endif
