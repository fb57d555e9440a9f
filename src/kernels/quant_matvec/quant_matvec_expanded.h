/* SPDX-License-Identifier: MIT
 *
 * Micro-kernels of formats whose blocks are expanded first
 * (kernels/decode/formats_expand.h), one for all of them, generic over vector width.
 * FORMAT is a constant after inlining.  A superblock of a few rows becomes
 * bytes in the first cache, then these are multiplied: sums as in
 * quant_matvec_native.h.  Rows are expanded together, so that bytes are long
 * written when they are read.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_EXPANDED_H
#define TCB_KERNELS_QUANT_MATVEC_EXPANDED_H

#include "kernels/decode/formats_expand.h"
#include "kernels/quant_matvec/quant_matvec_native.h"

#ifdef SIMD_HAS_BYTES

enum { EXPANDED_ROWS_MAX = 4 };

/* Sixteen floats as the scales of runs. */
SIMD_INLINE struct heads expanded_heads(const float *from)
{
	struct heads out;
#if defined(__AVX512BW__)
	out.all = v_load(from);
#elif defined(__AVX2__)
	out.low = v_load(from);
	out.high = v_load(from + 8);
#else
	SIMD_FOR (int i = 0; i < 4; i++)
		out.four[i] = v_load(from + 4 * i);
#endif
	return out;
}

/* The exact sums of vector V of CODE, and of the others of its run. */
SIMD_INLINE vint expanded_sums(const int8_t *code, enum tcb_format_id format, const struct qmv_x8 *x, int v)
{
	const int each = joined(format), is_signed = tcb_has_signed_codes(format);
	vint sum = vi_zero();
	if (each == 1 && VECTOR_BYTES >= 32)
		sum = is_signed ? vi_signed_start(vi_load(x->start + LANES * v)) : vi_load(x->start + LANES * v);
	else if (!is_signed && !has_mins(format))
		sum = vi_first_word(x->run_start[v / each]);
	SIMD_FOR (int i = v; i < v + each; i++) {
		const vint w = vi_load(code + VECTOR_BYTES * i), q = vi_load(x->q + VECTOR_BYTES * i);
		sum = is_signed ? vi_dot_signed(sum, w, q) : vi_dot(sum, w, q);
	}
	return sum;
}

SIMD_INLINE vfloat expanded_q8(const struct tcb_codes *w, enum tcb_format_id format, const struct qmv_x8 *x, vfloat acc)
{
	const struct heads h = scaled(expanded_heads(w->scale), x->d);
	vfloat sum[2] = { acc, v_set(0) };
	if (has_mins(format))
		sum[CHAINS - 1] = take_off(expanded_heads(w->offset), x->sums, sum[CHAINS - 1]);
	SIMD_FOR (int v = 0; v < VECTORS; v += joined(format)) {
		const int c = v / joined(format) % CHAINS;
		sum[c] = v_fma(v_from_words(expanded_sums(w->code, format, x, v)), scales_of(h, format, v), sum[c]);
	}
	return CHAINS > 1 ? v_add(sum[0], sum[1]) : sum[0];
}

SIMD_INLINE vfloat expanded_f32(const struct tcb_codes *w, enum tcb_format_id format, const struct qmv_x32 *x,
				vfloat acc)
{
	const struct heads h = expanded_heads(w->scale);
	vfloat total[2] = { acc, v_set(0) };
	if (has_mins(format))
		total[CHAINS - 1] = take_off(expanded_heads(w->offset), x->sums, total[CHAINS - 1]);
	else if (tcb_format_row(format)->centre)
		total[CHAINS - 1] = take_off(h, x->sums, total[CHAINS - 1]);
	SIMD_FOR (int v = 0; v < VECTORS; v++) {
		const vint codes = vi_load(w->code + VECTOR_BYTES * v);
		vfloat sum = v_set(0);
		SIMD_FOR (int b = 0; b < 4; b++) {
			const vfloat q = v_from_words(tcb_has_signed_codes(format) ? vi_signed_byte(codes, b)
										   : vi_unsigned_byte(codes, b));
			const vfloat xs = v_load(x->x + VECTOR_BYTES * v + LANES * b);
			sum = b ? v_fma(q, xs, sum) : v_mul(q, xs);
		}
		total[v % CHAINS] = v_fma(sum, scales_of(h, format, v), total[v % CHAINS]);
	}
	return CHAINS > 1 ? v_add(total[0], total[1]) : total[0];
}

/* Superblock B of ROWS rows at ROW, added to ACC. */
SIMD_INLINE void expanded_super(const uint8_t *const row[EXPANDED_ROWS_MAX], enum tcb_format_id format, int q8,
				int rows, const void *x, size_t b, struct tcb_codes codes[EXPANDED_ROWS_MAX],
				vfloat *acc)
{
	for (int r = 0; r < rows; r++)
		tcb_expand_super(format, row[r], &codes[r]);
	SIMD_FOR (int r = 0; r < rows; r++)
		acc[r] = q8 ? expanded_q8(&codes[r], format, (const struct qmv_x8 *)x + b, acc[r])
			    : expanded_f32(&codes[r], format, (const struct qmv_x32 *)x + b, acc[r]);
}

/* ROWS rows as stored. */
SIMD_BODY void expanded_rows(const struct qmv_call *call, enum tcb_format_id format, int q8, int rows, int hint)
{
	const size_t bytes = qmv_super_bytes(format), whole = call->values / QMV_SUPER;
	const struct qmv_stages stages = qmv_stages(call, bytes);
	struct tcb_codes codes[EXPANDED_ROWS_MAX];
	const uint8_t *row[EXPANDED_ROWS_MAX];
	vfloat acc[EXPANDED_ROWS_MAX];
	assert(call->rows <= (size_t)rows && rows <= EXPANDED_ROWS_MAX);
	SIMD_FOR (int r = 0; r < rows; r++) {
		/* Rows past the edge compute the last one again; nothing outside the weights is read. */
		const size_t at = (size_t)r < call->rows ? (size_t)r : call->rows - 1;
		row[r] = call->weights + at * call->row_bytes;
		acc[r] = v_set(0);
	}
	memset(codes, 0, sizeof(codes)); /* scales and offsets that no run has */
	for (size_t b = 0; b < whole; b++) {
		const struct qmv_offsets ahead = qmv_offsets(&stages, b);
		for (int r = 0; r < rows; r++)
			qmv_prefetch_lines(row[r], (bytes + QMV_LINE - 1) / QMV_LINE, ahead, hint);
		expanded_super(row, format, q8, rows, call->x, b, codes, acc);
		SIMD_FOR (int r = 0; r < rows; r++)
			row[r] += bytes;
	}
	if (has_small_blocks(format) && whole < call->blocks) { /* what is left of the rows, filled up with zeros */
		const size_t left = bytes * (call->values % QMV_SUPER) / QMV_SUPER;
		uint8_t filled[EXPANDED_ROWS_MAX][SUPER_BYTES_MAX] = { { 0 } };
		for (int r = 0; r < rows; r++) {
			memcpy(filled[r], row[r], left);
			row[r] = filled[r];
		}
		expanded_super(row, format, q8, rows, call->x, whole, codes, acc);
	}
	SIMD_FOR (int r = 0; r < rows; r++) {
		if ((size_t)r >= call->rows)
			break;
		const float value = v_reduce_add(acc[r]);
		call->y[r] = call->accumulate ? call->y[r] + value : value;
	}
}

#endif
#endif
