/* SPDX-License-Identifier: MIT
 *
 * Micro-kernels on layout r16 (quant_matvec.h), one for all formats, generic
 * over vector width.  FORMAT is a constant after inlining.  A lane is a row: a
 * line of weights is four codes of each of 16 rows, and meets the same four
 * activations everywhere.  Sums are as in quant_matvec_native.h, but need no
 * adding up of lanes.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_LINES_H
#define TCB_KERNELS_QUANT_MATVEC_LINES_H

#include "kernels/quant_matvec/quant_matvec_native.h"

#ifdef __AVX2__

enum { PARTS = QMV_ROWS / LANES }; /* vectors a line */

QMV_INLINE vint line_at(const uint8_t *p, int line)
{
	return load(p + line * QMV_LINE);
}

QMV_INLINE vint nibbles(const uint8_t *p, int line, int high)
{
	const vint v = line_at(p, line);
	return and_bits(high ? shift_right(v, 4) : v, bytes_of(15));
}

/* Codes of step I (four values) of run G: + centre, but those of q8_0. */
QMV_INLINE vint line_codes(const uint8_t *p, enum tcb_format_id format, int g, int i)
{
	if (format == TCB_FORMAT_Q8_0)
		return line_at(p, 4 + 8 * g + i);
	if (format == TCB_FORMAT_Q4_0)
		return nibbles(p, 4 + 4 * g + i % 4, i / 4);
	if (format == TCB_FORMAT_Q5_K) {
		const vint fifth = line_at(p, 4 + i);
		return merge(nibbles(p, 12 + 8 * (g / 2) + i, g % 2),
			     g > 4 ? shift_right(fifth, g - 4) : shift_left(fifth, 4 - g), bytes_of(16));
	}
	const int half = g / 8, part = g / 2 % 4, at = 4 * (g % 2) + i;
	const vint high = line_at(p, 32 + 8 * half + at);
	return merge(nibbles(p, 16 * half + 8 * (part % 2) + at, part / 2),
		     part > 2 ? shift_right(high, 2) : shift_left(high, 4 - 2 * part), bytes_of(0x30));
}

/* The scale of run G, and its offset where the format has mins. */
QMV_INLINE vfloat line_scale(const uint8_t *p, enum tcb_format_id format, int g)
{
	if (format == TCB_FORMAT_Q4_0 || format == TCB_FORMAT_Q8_0)
		return half_of(line_at(p, g / 2), g % 2);
	if (format == TCB_FORMAT_Q6_K)
		return mul(to_float(signed_byte(line_at(p, 48 + g / 4), g % 4)), half_of(line_at(p, 52), 0));
	const vint a = line_at(p, 1), c = line_at(p, 3);
	const vint sc =
		g < 4 ? and_bits(a, bytes_of(63)) : merge(and_bits(c, bytes_of(15)), shift_right(a, 2), bytes_of(0x30));
	return mul(to_float(unsigned_byte(sc, g % 4)), half_of(line_at(p, 0), 0));
}

QMV_INLINE vfloat line_offset(const uint8_t *p, int g)
{
	const vint b = line_at(p, 2), c = line_at(p, 3);
	const vint m = g < 4 ? and_bits(b, bytes_of(63))
			     : merge(and_bits(shift_right(c, 4), bytes_of(15)), shift_right(b, 2), bytes_of(0x30));
	return mul(to_float(unsigned_byte(m, g % 4)), half_of(line_at(p, 0), 1));
}

QMV_INLINE vint four_codes(const int8_t *p)
{
	int32_t four;
	memcpy(&four, p, sizeof(four));
	return words_of(four);
}

QMV_INLINE int runs_of(enum tcb_format_id format)
{
	return format == TCB_FORMAT_Q6_K ? 16 : 8;
}

/* Run G of a superblock, added to ACC. */
QMV_INLINE vfloat q8_run(const uint8_t *p, enum tcb_format_id format, const struct qmv_x8 *x, int g, vfloat acc)
{
	const int steps = 64 / runs_of(format), by_run = format == TCB_FORMAT_Q4_0 || format == TCB_FORMAT_Q8_0;
	const int is_signed = format == TCB_FORMAT_Q8_0;
	const vint start = words_of(x->run_start[g]);
	vint sum = is_signed ? signed_start(start) : has_mins(format) ? zero() : start;
	QMV_UNROLL
	for (int i = 0; i < steps; i++) {
		const vint w = line_codes(p, format, g, i), q = four_codes(x->q + 4 * (steps * g + i));
		sum = is_signed ? dot_add_signed(sum, w, q) : dot_add(sum, w, q);
	}
	const vfloat d = fspread(x->d + (by_run ? g : 0));
	if (has_mins(format))
		acc = fma_from(mul(line_offset(p, g), d), fspread(x->sums + 8 + g), acc);
	return fma_add(to_float(sum), mul(line_scale(p, format, g), d), acc);
}

QMV_INLINE vfloat f32_run(const uint8_t *p, enum tcb_format_id format, const struct qmv_x32 *x, int g, vfloat acc)
{
	const int steps = 64 / runs_of(format);
	vfloat part[2] = { fzero(), fzero() };
	QMV_UNROLL
	for (int i = 0; i < steps; i++) {
		const vint w = line_codes(p, format, g, i);
		QMV_UNROLL
		for (int b = 0; b < 4; b++) {
			const vfloat q = to_float(format == TCB_FORMAT_Q8_0 ? signed_byte(w, b) : unsigned_byte(w, b));
			part[b % 2] = fma_add(q, fspread(x->x + 4 * (steps * g + i) + b), part[b % 2]);
		}
	}
	const vfloat scale = line_scale(p, format, g);
	if (has_mins(format))
		acc = fma_from(line_offset(p, g), fspread(x->sums + 8 + g), acc);
	else if (format != TCB_FORMAT_Q8_0)
		acc = fma_from(scale, fspread(x->sums + g), acc);
	return fma_add(add(part[0], part[1]), scale, acc);
}

/* One group of 16 interleaved rows. */
QMV_INLINE void line_rows(const struct qmv_call *call, enum tcb_format_id format, int q8, int hint)
{
	const int lines = (int)qmv_lines(format);
	const size_t bytes = qmv_lines(format) * QMV_LINE;
	const struct qmv_stages stages = qmv_stages(call, bytes);
	const int runs = runs_of(format);
	const uint8_t *p = call->weights;
	vfloat acc[PARTS];
	assert(call->rows <= QMV_ROWS);
	for (int part = 0; part < PARTS; part++)
		acc[part] = fzero();
	for (size_t b = 0; b < call->blocks; b++, p += bytes) {
		const struct qmv_offsets ahead = qmv_offsets(&stages, b);
		QMV_UNROLL
		for (int g = 0; g < 16; g++) {
			if (g == runs)
				break;
			for (int line = lines * g / runs; line < lines * (g + 1) / runs; line++)
				qmv_prefetch(p + line * QMV_LINE, ahead, hint);
			QMV_UNROLL
			for (int part = 0; part < PARTS; part++) {
				const uint8_t *at = p + part * VECTOR_BYTES;
				acc[part] = q8 ? q8_run(at, format, (const struct qmv_x8 *)call->x + b, g, acc[part])
					       : f32_run(at, format, (const struct qmv_x32 *)call->x + b, g, acc[part]);
			}
		}
	}
	for (int part = 0; part < PARTS; part++) {
		const size_t first = (size_t)part * LANES, rows = call->rows > first ? call->rows - first : 0;
		if (rows && call->accumulate)
			acc[part] = add(acc[part], fload_part(call->y + first, rows));
		if (rows)
			fstore_part(call->y + first, rows, acc[part]);
	}
}

#endif
#endif
