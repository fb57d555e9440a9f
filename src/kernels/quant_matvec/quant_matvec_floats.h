/* SPDX-License-Identifier: MIT
 *
 * Micro-kernels of weights that are values (TCB_CODES_F16 and on), contract f32,
 * generic over vector width.  FORMAT is a constant after inlining.  A row has as
 * many sums as make 16 additions a superblock in each, whatever the vectors; of
 * values with a scale those of a block, which are added up and multiplied with it.
 *
 * E4M3 becomes halves, which are widened; where there is VBMI, the two bytes of a bf16
 * are looked up by seven bits of a value, 64 at a time: 1.3 times as fast in the first
 * cache (Xeon with AMX).
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_FLOATS_H
#define TCB_KERNELS_QUANT_MATVEC_FLOATS_H

#include "kernels/quant_matvec/quant_matvec_native.h"

#ifdef SIMD_HAS_BYTES

enum { FLOAT_ROWS_MAX = 4, FLOAT_SUMS = 16 / LANES };

SIMD_INLINE vfloat float_values(const uint8_t *p, enum tcb_format_id format, int v)
{
	if (codes_kind(format) == TCB_CODES_F16)
		return v_from_f16(p + 2 * LANES * v);
	if (codes_kind(format) == TCB_CODES_BF16)
		return v_from_bf16((const void *)(p + 2 * LANES * v));
	return v_from_bits(vi_load(p + 4 * LANES * v));
}

SIMD_INLINE void float_super(const uint8_t *const *row, enum tcb_format_id format, int rows, const struct qmv_x32 *x,
			     vfloat *acc)
{
	SIMD_FOR (int v = 0; v < QMV_SUPER / LANES; v++) {
		const vfloat xs = v_load(x->x + LANES * v);
		SIMD_FOR (int r = 0; r < rows; r++) {
			vfloat *sum = &acc[r * FLOAT_SUMS + v % FLOAT_SUMS];
			*sum = v_fma(float_values(row[r], format, v), xs, *sum);
		}
	}
}

/* The first of a row's sums is all that is kept from block to block. */
SIMD_INLINE void scaled_super(const uint8_t *const *row, enum tcb_format_id format, int rows, const struct qmv_x32 *x,
			      vfloat *acc)
{
	const int values = (int)tcb_format_row(format)->block_values, bytes = (int)tcb_format_row(format)->block_bytes;
	SIMD_FOR (int block = 0; block < QMV_SUPER / values; block++) {
		vfloat sum[FLOAT_ROWS_MAX * FLOAT_SUMS];
		SIMD_FOR (int v = 0; v < values / LANES; v++) {
			const vfloat xs = v_load(x->x + values * block + LANES * v);
			SIMD_FOR (int r = 0; r < rows; r++) {
				const vfloat w = v_from_e4m3(row[r] + bytes * block + codes_at(format) + LANES * v);
				vfloat *to = &sum[r * FLOAT_SUMS + v % FLOAT_SUMS];
				*to = v < FLOAT_SUMS ? v_mul(w, xs) : v_fma(w, xs, *to);
			}
		}
		SIMD_FOR (int r = 0; r < rows; r++) {
			float scale;
			memcpy(&scale, row[r] + bytes * block + tcb_format_row(format)->d_at, sizeof(scale));
			SIMD_FOR (int i = 1; i < FLOAT_SUMS; i++)
				sum[r * FLOAT_SUMS] = v_add(sum[r * FLOAT_SUMS], sum[r * FLOAT_SUMS + i]);
			acc[r * FLOAT_SUMS] = v_fma(sum[r * FLOAT_SUMS], v_set(256 * scale), acc[r * FLOAT_SUMS]);
		}
	}
}

#if LANES == 16

/* The lower bytes of bf16, then the upper ones, of all sizes: exponents E, eight mantissas each. */
#define E4M3_LOW(e)                                                                                              \
	128 * ((e) % 2), 128 * ((e) % 2) + 16, 128 * ((e) % 2) + 32, 128 * ((e) % 2) + 48, 128 * ((e) % 2) + 64, \
		128 * ((e) % 2) + 80, 128 * ((e) % 2) + 96, 128 * ((e) % 2) + 112
#define E4M3_HIGH(e) \
	60 + (e) / 2, 60 + (e) / 2, 60 + (e) / 2, 60 + (e) / 2, 60 + (e) / 2, 60 + (e) / 2, 60 + (e) / 2, 60 + (e) / 2
#define E4M3_EXPONENTS(X) X(1), X(2), X(3), X(4), X(5), X(6), X(7), X(8), X(9), X(10), X(11), X(12), X(13), X(14), X(15)
static const uint8_t e4m3_bytes[2][128] = {
	{ 0, 0, 0x80, 0xc0, 0, 0x20, 0x40, 0x60, E4M3_EXPONENTS(E4M3_LOW) },
	{ 0, 0x3b, 0x3b, 0x3b, 0x3c, 0x3c, 0x3c, 0x3c, E4M3_EXPONENTS(E4M3_HIGH) },
};

/* What SIZES have for each byte of V, of which the upper bit does not count.  The family's flags lack VBMI. */
SIMD_INLINE vint e4m3_lookup(const vint sizes[2], vint v)
{
	vint out = v;
	__asm__("vpermi2b %2, %1, %0" : "+v"(out) : "v"(sizes[0]), "v"(sizes[1]));
	return out;
}

/* The same of activations by pairs (struct qmv_x32). */
SIMD_INLINE void looked_up_super(const uint8_t *const *row, enum tcb_format_id format, int rows,
				 const struct qmv_x32 *x, vfloat *acc)
{
	const int values = (int)tcb_format_row(format)->block_values, bytes = (int)tcb_format_row(format)->block_bytes;
	const vint upper = vi_words((int)0xffff0000);
	vint sizes[2][2];
	SIMD_FOR (int i = 0; i < 4; i++)
		sizes[i / 2][i % 2] = vi_load(e4m3_bytes[i / 2] + i % 2 * 64);
	SIMD_FOR (int block = 0; block < QMV_SUPER / values; block++) {
		vfloat sum[FLOAT_ROWS_MAX];
		SIMD_FOR (int v = 0; v < values / 64; v++) {
			const float *xs = x->x + values * block + 64 * v;
			SIMD_FOR (int r = 0; r < rows; r++) {
				const vint all = vi_load(row[r] + bytes * block + codes_at(format) + 64 * v);
				const vint low = e4m3_lookup(sizes[0], all);
				const vint high = vi_merge(e4m3_lookup(sizes[1], all), all, vi_bytes(-128));
				const vint two[2] = { _mm512_unpacklo_epi8(low, high),
						      _mm512_unpackhi_epi8(low, high) };
				SIMD_FOR (int i = 0; i < 4; i++) {
					const vint w =
						i % 2 ? vi_and(two[i / 2], upper) : vi_shift_left(two[i / 2], 16);
					const vfloat by = v_load(xs + LANES * i);
					sum[r] = v + i == 0 ? v_mul(v_from_bits(w), by)
							    : v_fma(v_from_bits(w), by, sum[r]);
				}
			}
		}
		SIMD_FOR (int r = 0; r < rows; r++) {
			float scale;
			memcpy(&scale, row[r] + bytes * block + tcb_format_row(format)->d_at, sizeof(scale));
			acc[r * FLOAT_SUMS] = v_fma(sum[r], v_set(scale), acc[r * FLOAT_SUMS]);
		}
	}
}

#else

SIMD_INLINE void looked_up_super(const uint8_t *const *row, enum tcb_format_id format, int rows,
				 const struct qmv_x32 *x, vfloat *acc)
{
	scaled_super(row, format, rows, x, acc);
}

#endif

SIMD_INLINE void any_super(const uint8_t *const *row, enum tcb_format_id format, int rows, int looks_up,
			   const struct qmv_x32 *x, vfloat *acc)
{
	if (looks_up)
		looked_up_super(row, format, rows, x, acc);
	else if (codes_kind(format) == TCB_CODES_E4M3)
		scaled_super(row, format, rows, x, acc);
	else
		float_super(row, format, rows, x, acc);
}

/* ROWS rows as stored. */
SIMD_BODY void rows_of_values(const struct qmv_call *call, enum tcb_format_id format, int rows, int looks_up, int hint)
{
	const size_t bytes = qmv_super_bytes(format), whole = call->values / QMV_SUPER;
	const struct qmv_stages stages = qmv_stages(call, bytes);
	const struct qmv_x32 *x = call->x;
	const uint8_t *row[FLOAT_ROWS_MAX];
	vfloat acc[FLOAT_ROWS_MAX * FLOAT_SUMS];
	assert(call->rows <= (size_t)rows && rows <= FLOAT_ROWS_MAX);
	SIMD_FOR (int r = 0; r < rows; r++) {
		/* Rows past the edge compute the last one again; nothing outside the weights is read. */
		const size_t at = (size_t)r < call->rows ? (size_t)r : call->rows - 1;
		row[r] = call->weights + at * call->row_bytes;
	}
	SIMD_FOR (int i = 0; i < rows * FLOAT_SUMS; i++)
		acc[i] = v_set(0);
	for (size_t b = 0; b < whole; b++) {
		const struct qmv_offsets ahead = qmv_offsets(&stages, b);
		SIMD_FOR (int r = 0; r < rows; r++)
			qmv_prefetch_lines(row[r], (bytes + QMV_LINE - 1) / QMV_LINE, ahead, hint);
		any_super(row, format, rows, looks_up, x + b, acc);
		SIMD_FOR (int r = 0; r < rows; r++)
			row[r] += bytes;
	}
	if (whole < call->blocks) { /* what is left of the rows, filled up with zeros */
		const size_t left = bytes * (call->values % QMV_SUPER) / QMV_SUPER;
		uint8_t filled[FLOAT_ROWS_MAX][SUPER_BYTES_MAX] = { { 0 } };
		SIMD_FOR (int r = 0; r < rows; r++) {
			memcpy(filled[r], row[r], left);
			row[r] = filled[r];
		}
		any_super(row, format, rows, looks_up, x + whole, acc);
	}
	SIMD_FOR (int r = 0; r < rows; r++) {
		if ((size_t)r >= call->rows)
			break;
		SIMD_FOR (int i = 1; i < FLOAT_SUMS; i++)
			acc[r * FLOAT_SUMS] = v_add(acc[r * FLOAT_SUMS], acc[r * FLOAT_SUMS + i]);
		const float value = v_reduce_add(acc[r * FLOAT_SUMS]);
		call->y[r] = call->accumulate ? call->y[r] + value : value;
	}
}

/* The same, whatever the processor has beyond its family. */
SIMD_BODY void float_rows(const struct qmv_call *call, enum tcb_format_id format, int rows, int hint)
{
	if (LANES == 16 && qmv_looks_up(format, SIMD_ISA_ID))
		rows_of_values(call, format, rows, 1, hint);
	else
		rows_of_values(call, format, rows, 0, hint);
}

#endif
#endif
