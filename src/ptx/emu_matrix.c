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

#include "ptx/emu_float.h"
#include "ptx/emu_matrix.h"
#include "ptx/opcodes.h"

int tcb_ptx_product_of(const struct tcb_ptx_ins *ins, struct tcb_ptx_product *out)
{
	*out = (struct tcb_ptx_product){ .d = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE),
					 .a = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE2),
					 .b = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE3),
					 .c = tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE4),
					 .padded = tcb_ptx_mod(ins, TCB_PTX_SLOT_KIND) == TCB_PTX_KIND_F8F6F4,
					 .satfinite = tcb_ptx_mod(ins, TCB_PTX_SLOT_SAT) == TCB_PTX_SATFINITE,
					 .bit_and = tcb_ptx_mod(ins, TCB_PTX_SLOT_BOOL) == TCB_PTX_AND };
	if (out->c == TCB_PTX_NO_WORD)
		out->c = out->d;
	tcb_ptx_shape(tcb_ptx_mod(ins, TCB_PTX_SLOT_SHAPE), &out->m, &out->n, &out->k);
	return ins->op == TCB_PTX_OP_MMA || ins->op == TCB_PTX_OP_WGMMA;
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

	for (unsigned i = 0; i < count; i++)
		out[i] = element(type, padded, bits < 64 ? word >> (bits * i) & mask : word);
}

void tcb_ptx_product_sums(const struct tcb_ptx_product *p, const double *restrict a, const double *restrict b,
			  double *restrict sums)
{
	int differ = p->a == TCB_PTX_B1 && !p->bit_and;

	for (unsigned i = 0; i < p->m; i++) {
		double *restrict row = sums + (size_t)i * p->n;

		for (unsigned j = 0; j < p->n; j++)
			row[j] = 0;
		for (unsigned l = 0; l < p->k; l++) {
			double left = a[(size_t)i * p->k + l];
			const double *restrict right = b + (size_t)l * p->n;

			if (differ) /* of 0 and 1: x xor y = x + y - 2 x y */
				for (unsigned j = 0; j < p->n; j++)
					row[j] += left + right[j] - 2 * left * right[j];
			else
				for (unsigned j = 0; j < p->n; j++)
					row[j] += left * right[j];
		}
	}
}

uint32_t tcb_ptx_product_finish(const struct tcb_ptx_product *p, double sum, uint32_t c)
{
	if (p->d == TCB_PTX_S32) {
		double value = sum + (double)(int32_t)c; /* exact: below 2^53 */

		if (p->satfinite)
			value = fmin(fmax(value, -0x1p31), 0x1p31 - 1);
		return (uint32_t)(int64_t)value;
	}
	sum += p->c == TCB_PTX_F16 ? (double)tcb_ptx_f16_to_f32(c) : (double)tcb_ptx_float_of_bits(c);
	return (uint32_t)tcb_ptx_float_narrow(p->d, sum, TCB_PTX_RN, 0);
}

/* A or B, whose rows and columns along k are COLUMNS long, from lanes. */
static void gather(const struct tcb_ptx_product *p, int is_b, uint64_t lanes[][TCB_PTX_LANES], double *out)
{
	enum tcb_ptx_word type = is_b ? p->b : p->a;
	unsigned bits = tcb_ptx_element_bits(type, p->padded), each = bits < 64 ? 32 / bits : 1;
	unsigned halves = is_b ? 1 : p->m / 8, regs = halves * p->k / (4 * each);
	double value[32];

	for (unsigned r = 0; r < regs; r++)
		for (unsigned lane = 0; lane < TCB_PTX_LANES; lane++) {
			unsigned row = lane / 4 + 8 * (r % halves), k = lane % 4 * each + r / halves * 4 * each;

			tcb_ptx_elements(type, p->padded, lanes[r][lane], each, value);
			for (unsigned i = 0; i < each; i++)
				out[is_b ? (k + i) * p->n + row : row * p->k + k + i] = value[i];
		}
}

static void mma_f64(const struct tcb_ptx_product *p, const double *a, const double *b, uint64_t c[][TCB_PTX_LANES],
		    uint64_t d[][TCB_PTX_LANES])
{
	for (unsigned r = 0; r < p->m / 4; r++)
		for (unsigned lane = 0; lane < TCB_PTX_LANES; lane++) {
			unsigned row = lane / 4 + 8 * (r / 2), column = lane % 4 * 2 + r % 2;
			double sum = tcb_ptx_float_widen(TCB_PTX_F64, c[r][lane]);

			for (unsigned l = 0; l < p->k; l++)
				sum = fma(a[row * p->k + l], b[l * p->n + column], sum);
			d[r][lane] = tcb_ptx_float_narrow(TCB_PTX_F64, sum, TCB_PTX_RN, 0);
		}
}

void tcb_ptx_mma(const struct tcb_ptx_product *p, uint64_t a[][TCB_PTX_LANES], uint64_t b[][TCB_PTX_LANES],
		 uint64_t c[][TCB_PTX_LANES], uint64_t d[][TCB_PTX_LANES])
{
	double left[16 * TCB_PTX_PRODUCT_MAX_K], right[TCB_PTX_PRODUCT_MAX_K * 8], sums[16 * 8];
	unsigned elements = p->m / 4; /* of D in a lane */

	assert(p->m <= 16 && p->n == 8 && p->k <= TCB_PTX_PRODUCT_MAX_K);
	gather(p, 0, a, left);
	gather(p, 1, b, right);
	if (p->d == TCB_PTX_F64) {
		mma_f64(p, left, right, c, d);
		return;
	}
	tcb_ptx_product_sums(p, left, right, sums);
	for (unsigned lane = 0; lane < TCB_PTX_LANES; lane++) {
		uint64_t result[4] = { 0 };

		for (unsigned e = 0; e < elements; e++) {
			double sum = sums[(lane / 4 + 8 * (e / 2)) * p->n + lane % 4 * 2 + e % 2];
			uint32_t old =
				p->c == TCB_PTX_F16 ? c[e / 2][lane] >> (16 * (e % 2)) & 0xffff : (uint32_t)c[e][lane];
			uint64_t value = tcb_ptx_product_finish(p, sum, old);

			if (p->d == TCB_PTX_F16)
				result[e / 2] |= value << (16 * (e % 2));
			else
				result[e] = value;
		}
		for (unsigned r = 0; r < (p->d == TCB_PTX_F16 ? elements / 2 : elements); r++)
			d[r][lane] = result[r];
	}
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
	return tcb_ptx_swizzle(address, descriptor->swizzle);
}
