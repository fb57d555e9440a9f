/* SPDX-License-Identifier: MIT
 *
 * Moving values of the dense products, in the vector operations of rows_vec.h:
 * operands as stored to panels of f32, and sums to 16 bits.
 */
#ifndef TCB_KERNELS_MATMUL_MOVE_H
#define TCB_KERNELS_MATMUL_MOVE_H

#include "kernels/formats.h"
#include "kernels/matmul/matmul_cpu.h"
#include "kernels/rows/rows_vec.h"

enum {
	MOVE_ROWS_MAX = 32, /* the tallest register tile */
	MOVE_STEPS = 16,    /* rows of B that are packed together: as many streams as prefetchers follow */
	MOVE_VECTORS_MAX = MOVE_ROWS_MAX / LANES,
};

/* LANES values of TYPE. */
SIMD_INLINE vfloat load_as(const enum tcb_type type, const void *from)
{
	return type == TCB_TYPE_F32 ? v_load(from) : type == TCB_TYPE_F16 ? v_from_f16(from) : v_from_bf16(from);
}

/* COUNT < LANES values of TYPE, then zeros. */
SIMD_INLINE vfloat load_part_as(const enum tcb_type type, const void *from, size_t count)
{
	uint16_t half[LANES] = { 0 };
	if (type == TCB_TYPE_F32)
		return v_load_part(from, count, 0);
	memcpy(half, from, count * sizeof(*half));
	return load_as(type, half);
}

/* At most LANES of the LEFT values at FROM, then zeros. */
SIMD_INLINE vfloat load_left_as(const enum tcb_type type, const void *from, size_t left)
{
	return left >= LANES ? load_as(type, from) : left ? load_part_as(type, from, left) : v_set(0);
}

SIMD_INLINE void store_half(const enum tcb_type type, uint16_t *to, vfloat value)
{
	if (type == TCB_TYPE_F16)
		v_to_f16(to, value);
	else
		v_to_bf16(to, value);
}

SIMD_INLINE const char *part_row(const struct matmul_part *part, const enum tcb_type type, size_t row)
{
	return (const char *)part->first + row * part->stride * tcb_type_bytes(type);
}

/*
 * One panel of A: ROWS of its WIDE rows, the rest zeros.  LANES steps at a time are transposed in registers.  Whole
 * vectors are stored in the order of their addresses: what one has too many, the next one overwrites.
 */
SIMD_INLINE void pack_panel_a(const struct matmul_part *part, const enum tcb_type type, size_t first, size_t wide,
			      float *out)
{
	const size_t each = tcb_type_bytes(type), rows = part->rows - first;
	const size_t groups = (wide + LANES - 1) / LANES;
	for (size_t k = 0; k < part->count; k += LANES) {
		const size_t left = part->count - k, steps = left < LANES ? left : LANES;
		vfloat r[MOVE_VECTORS_MAX][LANES];
		for (size_t g = 0; g < groups; g++) {
			for (size_t i = 0; i < LANES; i++)
				r[g][i] = g * LANES + i < wide && g * LANES + i < rows
						  ? load_left_as(type,
								 part_row(part, type, first + g * LANES + i) + k * each,
								 left)
						  : v_set(0);
			v_transpose(r[g]);
		}
		for (size_t s = 0; s < steps; s++)
			for (size_t g = 0; g < groups; g++)
				v_store(out + (k + s) * wide + g * LANES, r[g][s]);
	}
}

SIMD_INLINE void pack_a_as(const struct matmul_part *part, const enum tcb_type type, size_t wide, float *out)
{
	for (size_t first = 0; first < part->rows; first += wide, out += wide * part->count)
		pack_panel_a(part, type, first, wide, out);
}

/* MOVE_STEPS rows go through all panels before the next ones: B is read along its rows, panels are written in runs. */
SIMD_INLINE void pack_b_as(const struct matmul_part *part, const enum tcb_type type, size_t wide, size_t prefetch,
			   float *out)
{
	const size_t each = tcb_type_bytes(type), vectors = wide / LANES;
	for (size_t k = 0; k < part->rows; k += MOVE_STEPS) {
		const size_t end = k + MOVE_STEPS < part->rows ? k + MOVE_STEPS : part->rows;
		for (size_t j = 0; j < part->count; j += wide)
			for (size_t s = k; s < end; s++) {
				const char *from = part_row(part, type, s) + j * each;
				float *to = out + j * part->rows + s * wide;
				for (size_t at = 0; prefetch && at < wide * each; at += MATMUL_LINE)
					__builtin_prefetch((const void *)((uintptr_t)from + at + prefetch), 0, 3);
				for (size_t v = 0; v < vectors; v++)
					v_store(to + v * LANES, load_left_as(type, from + v * LANES * each,
									     left_of(part->count, j + v * LANES)));
			}
	}
}

SIMD_INLINE void narrow_as(const enum tcb_type type, const float *sums, size_t count, uint16_t *out)
{
	size_t i = 0;
	for (; i + LANES <= count; i += LANES)
		store_half(type, out + i, v_load(sums + i));
	if (i < count) {
		uint16_t half[LANES];
		store_half(type, half, v_load_part(sums + i, count - i, 0));
		memcpy(out + i, half, (count - i) * sizeof(*half));
	}
}

#endif
