/* SPDX-License-Identifier: MIT
 *
 * The matrix units as functions of lanes.  A fragment becomes a matrix of
 * doubles, the product is a plain one, and the result goes back to lanes.
 *
 * All layouts of mma.sync are one: a register holds 32 bits / element elements E
 * of a row (A) or column (B), four lanes make 4 E of them, eight groups of four
 * lanes make eight rows; the registers of A go down the rows first, then along
 * k.  (PTX ISA 9.0, section 9.7.14.5, draws each shape by itself.)
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "ptx/emulate/emu_float.h"
#include "ptx/emulate/tensor/emu_matrix.h"
#include "ptx/ir/opcodes.h"

int tcb_ptx_product_of(const struct tcb_ptx_ins *ins, struct tcb_ptx_product *out)
{
	*out = (struct tcb_ptx_product){ .d = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE),
					 .a = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE2),
					 .b = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE3),
					 .c = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE4),
					 .scale_type = tcb_ptx_mod(ins, TCB_PTX_SLOT_SCALE_TYPE),
					 .satfinite = tcb_ptx_mod(ins, TCB_PTX_SLOT_SAT) == TCB_PTX_SATFINITE,
					 .bit_and = tcb_ptx_mod(ins, TCB_PTX_SLOT_BOOL) == TCB_PTX_AND };
	switch (tcb_ptx_mod(ins, TCB_PTX_SLOT_KIND)) {
	case TCB_PTX_KIND_F8F6F4:
	case TCB_PTX_KIND_MXF8F6F4:
		out->padded = 1;
		break;
	case TCB_PTX_KIND_MXF4:
	case TCB_PTX_KIND_MXF4NVF4:
		out->packed = 1;
		break;
	default:
		break;
	}
	if (ins->mod[TCB_PTX_SLOT_SCALED])
		out->scales = tcb_ptx_mod(ins, TCB_PTX_SLOT_SCALES) == TCB_PTX_SCALE_VEC_4 ? 4 : out->packed ? 2 : 1;
	if (out->c == TCB_PTX_NO_WORD)
		out->c = out->d;
	tcb_ptx_shape(tcb_ptx_mod(ins, TCB_PTX_SLOT_SHAPE), &out->m, &out->n, &out->k);
	tcb_ptx_product_sums(out, ins);
	return ins->op == TCB_PTX_OP_MMA || ins->op == TCB_PTX_OP_WGMMA;
}

void tcb_ptx_product_sums(struct tcb_ptx_product *out, const struct tcb_ptx_ins *ins)
{
	if (out->a == TCB_PTX_F16 || out->a == TCB_PTX_BF16 || out->a == TCB_PTX_TF32) {
		int is_hopper = ins->block && ins->block->function->module->target.sm >= 90;

		out->fraction = is_hopper ? 25 : 24;
		out->group = (is_hopper ? 256 : 128) / tcb_ptx_type_bits(out->a);
		out->mantissa = 23;
	} else if (ins->op == TCB_PTX_OP_WGMMA && out->d != TCB_PTX_S32) {
		out->fraction = out->mantissa = 13;
		out->group = 32;
	}
}

unsigned tcb_ptx_element_bits(enum tcb_ptx_word type, int padded)
{
	switch (type) {
	case TCB_PTX_E2M1:
	case TCB_PTX_E3M2:
	case TCB_PTX_E2M3:
		return 8;
	default:
		return padded ? 8 : tcb_ptx_type_bits(type);
	}
}

static double element(enum tcb_ptx_word type, int padded, uint64_t bits)
{
	switch (type) {
	case TCB_PTX_F16:
		return (double)tcb_ptx_f16_to_f32((uint32_t)bits);
	case TCB_PTX_BF16:
		return (double)tcb_ptx_bf16_to_f32((uint32_t)bits);
	case TCB_PTX_S8:
		return (double)(int8_t)bits;
	case TCB_PTX_S4:
		return (double)((int)(bits ^ 8) - 8);
	case TCB_PTX_U8:
	case TCB_PTX_U4:
	case TCB_PTX_B1:
		return (double)bits;
	case TCB_PTX_E2M1: /* in the middle of its byte */
		return tcb_ptx_float_widen(type, padded ? bits >> 2 & 15 : bits & 15);
	case TCB_PTX_E3M2:
	case TCB_PTX_E2M3:
		return tcb_ptx_float_widen(type, bits & 63);
	default:
		return tcb_ptx_float_widen(type, bits);
	}
}

void tcb_ptx_elements(enum tcb_ptx_word type, int padded, uint64_t word, unsigned count, double *out)
{
	unsigned bits = tcb_ptx_element_bits(type, padded);
	uint64_t mask = bits < 64 ? (1ull << bits) - 1 : ~0ull;

	if (type == TCB_PTX_F16 || type == TCB_PTX_BF16) {
		for (unsigned i = 0; i < count; i++) {
			const uint32_t half = (uint32_t)(word >> 16 * i) & 0xffff;

			out[i] = (double)(type == TCB_PTX_F16 ? tcb_ptx_f16_to_f32(half) : tcb_ptx_bf16_to_f32(half));
		}
		return;
	}
	for (unsigned i = 0; i < count; i++)
		out[i] = element(type, padded, bits < 64 ? word >> (bits * i) & mask : word);
}

uint64_t tcb_ptx_product_bits(const struct tcb_ptx_product *p, double value)
{
	if (p->d == TCB_PTX_S32)
		return (uint32_t)(int64_t)value;
	if (p->d == TCB_PTX_F32 && !isnan(value))
		return tcb_ptx_float_bits((float)value);
	return tcb_ptx_float_narrow(p->d, value, TCB_PTX_RN, 0);
}

double tcb_ptx_product_value(const struct tcb_ptx_product *p, uint64_t bits)
{
	switch (p->c) {
	case TCB_PTX_S32:
		return (double)(int32_t)bits;
	case TCB_PTX_F32:
		return (double)tcb_ptx_float_of_bits((uint32_t)bits);
	default:
		return tcb_ptx_float_widen(p->c, bits);
	}
}

/* --- one row of D --- */

/* One row: A's row, all of B. */
static void row_f64(const struct tcb_ptx_product *p, const double *a, const double *b, double *row)
{
	for (unsigned l = 0; l < p->k; l++)
		for (unsigned j = 0; j < p->n; j++)
			row[j] = fma(a[l], b[(size_t)l * p->n + j], row[j]);
}

/* Bits: x xor y = x + y - 2 x y. */
static void row_bits(const struct tcb_ptx_product *p, const double *restrict a, const double *restrict b,
		     double *restrict row)
{
	double both = p->bit_and ? 1 : -2, one = p->bit_and ? 0 : 1;

	for (unsigned l = 0; l < p->k; l++)
		for (unsigned j = 0; j < p->n; j++) {
			double right = b[(size_t)l * p->n + j];

			row[j] += one * (a[l] + right) + both * a[l] * right;
		}
}

/* Integers are exact in double; other sums are rounded once. */
static void row_sums(const struct tcb_ptx_product *p, const double *restrict a, const double *restrict b,
		     double *restrict row)
{
	double sums[TCB_PTX_PRODUCT_MAX_N] = { 0 };

	for (unsigned l = 0; l < p->k; l++) {
		const double *restrict right = b + (size_t)l * p->n;
		double left = a[l];

		for (unsigned j = 0; j < p->n; j++)
			sums[j] += left * right[j];
	}
	for (unsigned j = 0; j < p->n; j++) {
		row[j] += sums[j];
		if (p->d == TCB_PTX_S32 && p->satfinite)
			row[j] = fmin(fmax(row[j], -0x1p31), 0x1p31 - 1);
		else if (p->d == TCB_PTX_S32)
			row[j] = (double)(int32_t)(uint32_t)(int64_t)row[j];
		else
			row[j] = tcb_ptx_float_widen(p->d, tcb_ptx_float_narrow(p->d, row[j], TCB_PTX_RN, 0));
	}
}

/* --- as tensor cores add --- */

enum { NO_EXPONENT = -16000 }; /* of zero: twice it still fits in 16 bits */

static double power_of_two(int exponent)
{
	uint64_t bits = (uint64_t)(exponent + 1023) << 52;
	double value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

/* The exponent that VALUE has in a format whose least one is LEAST. */
static int16_t exponent_of(double value, int least)
{
	uint64_t bits;
	int exponent;

	memcpy(&bits, &value, sizeof bits);
	exponent = (int)(bits >> 52 & 0x7ff) - 1023;
	if (value == 0)
		return NO_EXPONENT;
	return (int16_t)(exponent < least ? least : exponent);
}

/* VALUE cut to MANTISSA bits of f32; beyond its range it is infinite. */
static double cut_to_f32(double value, unsigned mantissa)
{
	uint64_t bits;

	if (fabs(value) >= 0x1p128)
		return copysign((double)INFINITY, value);
	if (fabs(value) < 0x1p-126)
		return tcb_ptx_float_widen(TCB_PTX_F32, tcb_ptx_float_narrow(TCB_PTX_F32, value, TCB_PTX_RZ, 0));
	memcpy(&bits, &value, sizeof bits);
	bits &= ~0ull << (52 - mantissa);
	memcpy(&value, &bits, sizeof value);
	return value;
}

/* Adds products FIRST to END of k to ROW. */
static void row_group(const struct tcb_ptx_product *p, const double *restrict a, const double *restrict b,
		      const int16_t *restrict a_exponent, const int16_t *restrict b_exponent, unsigned first,
		      unsigned end, double *restrict row)
{
	int16_t top[TCB_PTX_PRODUCT_MAX_N];
	double scale[TCB_PTX_PRODUCT_MAX_N], sums[TCB_PTX_PRODUCT_MAX_N];

	for (unsigned j = 0; j < p->n; j++)
		top[j] = exponent_of(row[j], tcb_ptx_least_exponent(p->c));
	for (unsigned l = first; l < end; l++) {
		const int16_t *restrict right = b_exponent + (size_t)l * p->n;

		for (unsigned j = 0; j < p->n; j++) {
			int16_t both = (int16_t)(a_exponent[l] + right[j]);

			top[j] = both > top[j] ? both : top[j];
		}
	}
	for (unsigned j = 0; j < p->n; j++) {
		scale[j] = top[j] > NO_EXPONENT / 2 ? power_of_two((int)p->fraction - top[j]) : 1;
		sums[j] = (double)(int32_t)(row[j] * scale[j]);
	}
	for (unsigned l = first; l < end; l++) {
		const double *restrict right = b + (size_t)l * p->n;
		double left = a[l];

		for (unsigned j = 0; j < p->n; j++) /* below 2^(fraction + 2) */
			sums[j] += (double)(int32_t)(left * right[j] * scale[j]);
	}
	for (unsigned j = 0; j < p->n; j++)
		row[j] = sums[j] / scale[j];
}

static int is_finite_row(const double *values, unsigned count)
{
	double sum = 0;

	for (unsigned i = 0; i < count; i++)
		sum += values[i] * 0;
	return sum == 0;
}

static void row_tensor(const struct tcb_ptx_product *p, const double *a, const double *b, const int16_t *b_exponent,
		       int b_is_finite, double *row)
{
	int16_t a_exponent[TCB_PTX_PRODUCT_MAX_K];

	if (!b_is_finite || !is_finite_row(a, p->k) || !is_finite_row(row, p->n)) {
		double plain[TCB_PTX_PRODUCT_MAX_N];

		/* elements that are not finite come out of a plain sum; the others of zeros in place of those */
		memcpy(plain, row, p->n * sizeof *plain);
		row_sums(p, a, b, plain);
		for (unsigned j = 0; j < p->n; j++) {
			struct tcb_ptx_product one = *p;
			double column[TCB_PTX_PRODUCT_MAX_K];
			int16_t exponent[TCB_PTX_PRODUCT_MAX_K];
			int is_bad = !isfinite(row[j]);

			for (unsigned l = 0; l < p->k; l++) {
				column[l] = b[(size_t)l * p->n + j];
				exponent[l] = exponent_of(column[l], tcb_ptx_least_exponent(p->b));
				is_bad |= !isfinite(column[l]) || !isfinite(a[l]);
			}
			one.n = 1;
			if (is_bad)
				row[j] = plain[j];
			else
				row_tensor(&one, a, column, exponent, 1, &row[j]);
		}
		return;
	}
	for (unsigned l = 0; l < p->k; l++)
		a_exponent[l] = exponent_of(a[l], tcb_ptx_least_exponent(p->a));
	for (unsigned l = 0; l < p->k; l += p->group) {
		unsigned end = l + p->group < p->k ? l + p->group : p->k;

		row_group(p, a, b, a_exponent, b_exponent, l, end, row);
		if (p->d != TCB_PTX_F16 || end < p->k)
			for (unsigned j = 0; j < p->n; j++)
				row[j] = cut_to_f32(row[j], p->mantissa);
	}
	for (unsigned j = 0; p->d == TCB_PTX_F16 && j < p->n; j++)
		row[j] = tcb_ptx_float_widen(p->d, tcb_ptx_float_narrow(p->d, row[j], TCB_PTX_RN, 0));
}

/* The product in float if that will do; 0: D is untouched. */
static int run_near(const struct tcb_ptx_product *p, const double *a, const double *b, const double *c, double *d)
{
	float left[TCB_PTX_TENSOR_M * TCB_PTX_TENSOR_K], right[TCB_PTX_PRODUCT_MAX_N * TCB_PTX_TENSOR_K];
	float sums[TCB_PTX_TENSOR_M * TCB_PTX_PRODUCT_MAX_N];

	if (!p->group || p->m > TCB_PTX_TENSOR_M || p->k > TCB_PTX_TENSOR_K)
		return 0;
	for (unsigned i = 0; i < p->m * p->k; i++)
		left[i] = (float)a[i];
	for (unsigned i = 0; i < p->n * p->k; i++)
		right[i] = (float)b[i];
	for (unsigned i = 0; i < p->m * p->n; i++)
		sums[i] = (float)c[i];
	if (!tcb_ptx_tensor_sums(p, left, right, sums))
		return 0;
	for (unsigned i = 0; i < p->m * p->n; i++)
		d[i] = (double)sums[i];
	return 1;
}

/* The same for all numbers. */
static void run_far(const struct tcb_ptx_product *p, const double *a, const double *b, double *d)
{
	int16_t b_exponent[TCB_PTX_PRODUCT_MAX_N * TCB_PTX_TENSOR_K];
	const int b_is_finite = is_finite_row(b, p->k * p->n);

	for (unsigned i = 0; i < p->k * p->n; i++)
		b_exponent[i] = exponent_of(b[i], tcb_ptx_least_exponent(p->b));
	for (unsigned i = 0; i < p->m; i++)
		row_tensor(p, a + (size_t)i * p->k, b, b_exponent, b_is_finite, d + (size_t)i * p->n);
}

void tcb_ptx_product_run(const struct tcb_ptx_product *p, const double *a, const double *b, const double *c, double *d)
{
	int is_tensor = p->group && p->k <= TCB_PTX_TENSOR_K;

	if (is_tensor && run_near(p, a, b, c, d))
		return;
	if (d != c)
		memcpy(d, c, (size_t)p->m * p->n * sizeof *d);
	if (is_tensor) {
		run_far(p, a, b, d);
		return;
	}
	for (unsigned i = 0; i < p->m; i++) {
		const double *left = a + (size_t)i * p->k;
		double *row = d + (size_t)i * p->n;

		if (p->d == TCB_PTX_F64)
			row_f64(p, left, b, row);
		else if (p->a == TCB_PTX_B1)
			row_bits(p, left, b, row);
		else
			row_sums(p, left, b, row);
	}
}

/* A or B, whose rows and columns along k are COLUMNS long, from lanes. */
static void gather(const struct tcb_ptx_product *p, int is_b, uint64_t lanes[][TCB_PTX_LANES], double *out)
{
	enum tcb_ptx_word type = is_b ? p->b : p->a;
	unsigned bits = p->packed ? 4 : tcb_ptx_element_bits(type, p->padded), each = bits < 64 ? 32 / bits : 1;
	unsigned halves = is_b ? 1 : p->m / 8, regs = halves * p->k / (4 * each);
	double value[32];

	for (unsigned r = 0; r < regs; r++)
		for (unsigned lane = 0; lane < TCB_PTX_LANES; lane++) {
			unsigned row = lane / 4 + 8 * (r % halves), k = lane % 4 * each + r / halves * 4 * each;

			for (unsigned i = 0; i < each && p->packed; i++)
				value[i] = tcb_ptx_float_widen(type, lanes[r][lane] >> 4 * i & 15);
			if (!p->packed)
				tcb_ptx_elements(type, p->padded, lanes[r][lane], each, value);
			for (unsigned i = 0; i < each; i++)
				out[is_b ? (k + i) * p->n + row : row * p->k + k + i] = value[i];
		}
}

/* C from lanes, or D to them. */
static double *accumulator(const struct tcb_ptx_product *p, double *matrix, unsigned lane, unsigned e)
{
	return &matrix[(lane / 4 + 8 * (e / 2)) * p->n + lane % 4 * 2 + e % 2];
}

/* --- in float, for what tensor cores add: see emu_tensor_sums.c --- */

/* Exact; what is not finite stays so. */
static inline float near_half(uint32_t bits)
{
	const uint32_t magnitude = bits & 0x7fff, far = magnitude > 0x7bff ? 0x7f800000 : 0;
	const float value = tcb_ptx_float_of_bits(magnitude << 13) * 0x1p112f;

	return tcb_ptx_float_of_bits(tcb_ptx_float_bits(value) | far | (bits & 0x8000) << 16);
}

/* The elements of one register: the first and, of 16 bits, the second of each lane. */
static void near_elements(enum tcb_ptx_word type, const uint32_t *lanes, float *restrict low, float *restrict high)
{
	for (unsigned i = 0; i < TCB_PTX_LANES && type == TCB_PTX_F16; i++) {
		low[i] = near_half(lanes[i] & 0xffff);
		high[i] = near_half(lanes[i] >> 16);
	}
	for (unsigned i = 0; i < TCB_PTX_LANES && type == TCB_PTX_BF16; i++) {
		low[i] = tcb_ptx_float_of_bits(lanes[i] << 16);
		high[i] = tcb_ptx_float_of_bits(lanes[i] & 0xffff0000);
	}
	for (unsigned i = 0; i < TCB_PTX_LANES && type == TCB_PTX_TF32; i++)
		low[i] = tcb_ptx_float_of_bits(lanes[i] & ~0x1fffu);
}

void tcb_ptx_near_chunk(enum tcb_ptx_word type, const uint8_t *bytes, float *out)
{
	uint32_t word[4];
	uint16_t half[8];
	double wide[8];

	memcpy(word, bytes, sizeof word);
	memcpy(half, bytes, sizeof half);
	for (unsigned i = 0; i < 8 && type == TCB_PTX_F16; i++)
		out[i] = near_half(half[i]);
	for (unsigned i = 0; i < 8 && type == TCB_PTX_BF16; i++)
		out[i] = tcb_ptx_float_of_bits((uint32_t)half[i] << 16);
	for (unsigned i = 0; i < 4 && type == TCB_PTX_TF32; i++)
		out[i] = tcb_ptx_float_of_bits(word[i] & ~0x1fffu);
	for (unsigned h = 0; h < 2 && tcb_ptx_type_bits(type) <= 8; h++) {
		tcb_ptx_elements(type, 0, word[2 * h] | (uint64_t)word[2 * h + 1] << 32, 8, wide);
		for (unsigned i = 0; i < 8; i++)
			out[8 * h + i] = (float)wide[i];
	}
}

/* As gather. */
static void gather_near(const struct tcb_ptx_product *p, int is_b, const uint32_t *const *lanes, float *restrict out)
{
	const enum tcb_ptx_word type = is_b ? p->b : p->a;
	const unsigned each = type == TCB_PTX_TF32 ? 1 : 2, halves = is_b ? 1 : p->m / 8;
	const unsigned regs = halves * p->k / (4 * each), to_row = is_b ? 1 : p->k, to_next = is_b ? p->n : 1;

	for (unsigned r = 0; r < regs; r++) {
		float low[TCB_PTX_LANES], high[TCB_PTX_LANES], *at;

		near_elements(type, lanes[r], low, high);
		for (unsigned row = 0; row < 8; row++)
			for (unsigned t = 0; t < 4; t++) {
				at = out + (row + 8 * (r % halves)) * to_row + (t + r / halves * 4) * each * to_next;
				at[0] = low[4 * row + t];
				if (each == 2)
					at[to_next] = high[4 * row + t];
			}
	}
}

int tcb_ptx_mma_near(const struct tcb_ptx_product *p, const uint32_t *const *a, const uint32_t *const *b,
		     const uint32_t *const *c, uint32_t d[][TCB_PTX_LANES])
{
	float left[TCB_PTX_TENSOR_M * TCB_PTX_TENSOR_K], right[TCB_PTX_TENSOR_K * 8], sums[TCB_PTX_TENSOR_M * 8];
	const int c_is_half = p->c == TCB_PTX_F16, d_is_half = p->d == TCB_PTX_F16;

	if (!p->group || p->m > TCB_PTX_TENSOR_M || p->n != 8 || p->k > TCB_PTX_TENSOR_K)
		return 0;
	gather_near(p, 0, a, left);
	gather_near(p, 1, b, right);
	for (unsigned half = 0; half < p->m / 8; half++)
		for (unsigned lane = 0; lane < TCB_PTX_LANES; lane++) {
			float *at = sums + (lane / 4 + 8 * half) * 8 + lane % 4 * 2;
			const uint32_t both = c_is_half ? c[half][lane] : 0;

			at[0] = c_is_half ? near_half(both & 0xffff) : tcb_ptx_float_of_bits(c[2 * half][lane]);
			at[1] = c_is_half ? near_half(both >> 16) : tcb_ptx_float_of_bits(c[2 * half + 1][lane]);
		}
	if (!tcb_ptx_tensor_sums(p, left, right, sums))
		return 0;
	for (unsigned half = 0; half < p->m / 8; half++)
		for (unsigned lane = 0; lane < TCB_PTX_LANES; lane++) {
			const float *at = sums + (lane / 4 + 8 * half) * 8 + lane % 4 * 2;

			if (d_is_half) {
				d[half][lane] = tcb_ptx_f32_to_f16(at[0]) | tcb_ptx_f32_to_f16(at[1]) << 16;
				continue;
			}
			d[2 * half][lane] = tcb_ptx_float_bits(at[0]);
			d[2 * half + 1][lane] = tcb_ptx_float_bits(at[1]);
		}
	return 1;
}

/* LEFT and RIGHT are A and B. */
static void mma_of(const struct tcb_ptx_product *p, const double *left, const double *right,
		   uint64_t c[][TCB_PTX_LANES], uint64_t d[][TCB_PTX_LANES])
{
	double values[16 * 8] = { 0 };
	unsigned elements = p->m / 4; /* of D in a lane */
	unsigned in_c = p->c == TCB_PTX_F16 ? 2 : 1, in_d = p->d == TCB_PTX_F16 ? 2 : 1;

	assert(p->m <= 16 && p->n == 8 && p->k <= TCB_PTX_PRODUCT_MAX_K);
	for (unsigned lane = 0; lane < TCB_PTX_LANES; lane++)
		for (unsigned e = 0; e < elements; e++) {
			uint64_t bits = in_c == 2 ? c[e / 2][lane] >> (16 * (e % 2)) & 0xffff : c[e][lane];

			*accumulator(p, values, lane, e) = tcb_ptx_product_value(p, bits);
		}
	tcb_ptx_product_run(p, left, right, values, values);
	for (unsigned lane = 0; lane < TCB_PTX_LANES; lane++)
		for (unsigned e = 0; e < elements; e += in_d) {
			uint64_t bits = tcb_ptx_product_bits(p, *accumulator(p, values, lane, e));

			if (in_d == 2)
				bits |= tcb_ptx_product_bits(p, *accumulator(p, values, lane, e + 1)) << 16;
			d[e / in_d][lane] = bits;
		}
}

void tcb_ptx_mma(const struct tcb_ptx_product *p, uint64_t a[][TCB_PTX_LANES], uint64_t b[][TCB_PTX_LANES],
		 uint64_t c[][TCB_PTX_LANES], uint64_t d[][TCB_PTX_LANES])
{
	double left[16 * TCB_PTX_PRODUCT_MAX_K], right[TCB_PTX_PRODUCT_MAX_K * 8];

	gather(p, 0, a, left);
	gather(p, 1, b, right);
	mma_of(p, left, right, c, d);
}

/* --- block scaling (PTX ISA 9.0, 9.7.14.3) --- */

/* A power of two, or a positive e4m3 whose sign is not looked at. */
static double scale_of(enum tcb_ptx_word type, uint32_t byte)
{
	if (type == TCB_PTX_UE4M3)
		return tcb_ptx_float_widen(TCB_PTX_E4M3, byte & 0x7f);
	return byte == 0xff ? (double)NAN : power_of_two((int)byte - 127);
}

void tcb_ptx_mma_scaled(const struct tcb_ptx_product *p, uint64_t a[][TCB_PTX_LANES], uint64_t b[][TCB_PTX_LANES],
			const struct tcb_ptx_scales *scales_a, const struct tcb_ptx_scales *scales_b,
			uint64_t c[][TCB_PTX_LANES], uint64_t d[][TCB_PTX_LANES])
{
	double left[16 * TCB_PTX_PRODUCT_MAX_K], right[TCB_PTX_PRODUCT_MAX_K * 8];
	const unsigned each = p->k / p->scales;

	gather(p, 0, a, left);
	gather(p, 1, b, right);
	/* of a quad one pair of lanes has the scales of rows G and G + 8, and one lane those of column G */
	for (unsigned l = 0; l < p->k; l++) {
		const unsigned shift_a = 8 * (scales_a->byte + l / each), shift_b = 8 * (scales_b->byte + l / each);

		for (unsigned row = 0; row < p->m; row++)
			left[row * p->k + l] *= scale_of(
				p->scale_type,
				scales_a->lanes[row % 8 * 4 + scales_a->thread * 2 + row / 8] >> shift_a & 0xff);
		for (unsigned column = 0; column < p->n; column++)
			right[l * p->n + column] *= scale_of(
				p->scale_type, scales_b->lanes[column * 4 + scales_b->thread] >> shift_b & 0xff);
	}
	mma_of(p, left, right, c, d);
}

void tcb_ptx_matrix_load(uint16_t rows[8][8], int transposed, uint32_t lanes[TCB_PTX_LANES])
{
	for (unsigned lane = 0; lane < TCB_PTX_LANES; lane++) {
		unsigned i = lane / 4, j = lane % 4 * 2;

		lanes[lane] = transposed ? rows[j][i] | (uint32_t)rows[j + 1][i] << 16
					 : rows[i][j] | (uint32_t)rows[i][j + 1] << 16;
	}
}

void tcb_ptx_matrix_store(uint16_t rows[8][8], int transposed, const uint32_t lanes[TCB_PTX_LANES])
{
	for (unsigned lane = 0; lane < TCB_PTX_LANES; lane++)
		for (unsigned h = 0; h < 2; h++) {
			unsigned i = lane / 4, j = lane % 4 * 2 + h;

			rows[transposed ? j : i][transposed ? i : j] = (uint16_t)(lanes[lane] >> (16 * h));
		}
}

struct tcb_ptx_matrix_descriptor tcb_ptx_matrix_descriptor(uint64_t bits)
{
	static const unsigned swizzles[] = { 0, 128, 64, 32 };

	return (struct tcb_ptx_matrix_descriptor){ .start = (uint32_t)(bits & 0x3fff) << 4,
						   .leading = (uint32_t)(bits >> 16 & 0x3fff) << 4,
						   .stride = (uint32_t)(bits >> 32 & 0x3fff) << 4,
						   .base_offset = (unsigned)(bits >> 49 & 7),
						   .swizzle = swizzles[bits >> 62] };
}

uint64_t tcb_ptx_matrix_descriptor_bits(const struct tcb_ptx_matrix_descriptor *descriptor)
{
	uint64_t mode = descriptor->swizzle == 128  ? 1
			: descriptor->swizzle == 64 ? 2
			: descriptor->swizzle == 32 ? 3
						    : 0;

	return (uint64_t)(descriptor->start >> 4 & 0x3fff) | (uint64_t)(descriptor->leading >> 4 & 0x3fff) << 16 |
	       (uint64_t)(descriptor->stride >> 4 & 0x3fff) << 32 | (uint64_t)(descriptor->base_offset & 7) << 49 |
	       mode << 62;
}

uint32_t tcb_ptx_matrix_address(const struct tcb_ptx_matrix_descriptor *descriptor, int k_major, unsigned bytes,
				unsigned row, unsigned k)
{
	unsigned width = descriptor->swizzle ? descriptor->swizzle : 16; /* of a row of the 8-row pattern */
	unsigned fast = (k_major ? k : row) * bytes, slow = k_major ? row : k;
	uint32_t address = descriptor->start + slow % 8 * width + fast % width;

	/* LEADING and STRIDE change places when there is no swizzling and k does not run fastest */
	if (k_major || descriptor->swizzle)
		address += slow / 8 * descriptor->stride + fast / width * descriptor->leading;
	else
		address += slow / 8 * descriptor->leading + fast / width * descriptor->stride;
	if (!descriptor->swizzle)
		return address;
	return address ^ (((address >> 7) - descriptor->base_offset) & (descriptor->swizzle / 16 - 1)) << 4;
}

unsigned tcb_ptx_matrix_chunks(const struct tcb_ptx_matrix_descriptor *d, int k_major, unsigned bytes, unsigned first,
			       unsigned rows, unsigned k, uint32_t *out)
{
	const unsigned width = d->swizzle ? d->swizzle : 16, shift = (unsigned)__builtin_ctz(width);
	const unsigned slow = k_major ? first : 0, slow_end = k_major ? first + rows : k;
	const unsigned fast = k_major ? 0 : first * bytes, fast_end = (k_major ? k : first + rows) * bytes;
	const int are_exchanged = !k_major && !d->swizzle;
	const uint32_t per_slow = are_exchanged ? d->leading : d->stride, mask = d->swizzle ? d->swizzle / 16 - 1 : 0;
	const uint32_t per_fast = are_exchanged ? d->stride : d->leading;
	unsigned count = 0;

	for (unsigned i = slow; i < slow_end; i++) {
		const uint32_t row = d->start + i % 8 * width + i / 8 * per_slow;

		for (unsigned j = fast; j < fast_end; j += 16) {
			const uint32_t address = row + (j & (width - 1)) + (j >> shift) * per_fast;

			out[count++] = address ^ (((address >> 7) - d->base_offset) & mask) << 4;
		}
	}
	return count;
}
