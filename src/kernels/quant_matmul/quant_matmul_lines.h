/* SPDX-License-Identifier: MIT
 *
 * Lines: a superblock of a group of 16 rows as words (4 bytes) of each row side
 * by side, 64 bytes a line.  Which words a row's superblock has:
 *
 *     q4_0   4 words of two d each (eight blocks), 32 words of nibbles, four a block
 *     q8_0   4 words of two d each, 64 words of codes
 *     q4_k   36 words as stored: d and dmin, three of 6-bit scales and mins, 32 of nibbles
 *     q5_k   44 words as stored: the same with eight words of fifth bits before the nibbles
 *     q6_k   32 words of low nibbles, 16 of high bits, four of scales, d (its upper half is zero)
 *
 * Here: how vectors (quant_matmul_vector.h) of codes and scales come out of
 * lines.  FORMAT is a constant after inlining.  Superblocks are walked in
 * spans, so that a span's shifts are constants: 8 spans of one run (q4_0,
 * q8_0), 4 of two (q4_k, q5_k), 2 of eight (q6_k).
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_LINES_H
#define TCB_KERNELS_QUANT_MATMUL_LINES_H

#include "kernels/quant_matmul/quant_matmul_cpu.h"
#include "kernels/quant_matmul/quant_matmul_vector.h"

#ifdef QMM_HAS_VECTORS

QMM_INLINE int runs_of(enum tcb_format_id format)
{
	return QMM_VALUES / qmm_run_values(format);
}

QMM_INLINE int spans_of(enum tcb_format_id format)
{
	return format == TCB_FORMAT_Q6_K ? 2 : format == TCB_FORMAT_Q4_K || format == TCB_FORMAT_Q5_K ? 4 : 8;
}

QMM_INLINE int has_mins(enum tcb_format_id format)
{
	return format == TCB_FORMAT_Q4_K || format == TCB_FORMAT_Q5_K;
}

QMM_INLINE vint nibbles(const uint8_t *line, int high)
{
	const vint v = load(line);
	return and_bits(high ? shift_right(v, 4) : v, bytes_of(15));
}

/* Codes + centre of step I (four values) of run RUN of a span, whose lines begin at LINES (of its superblock). */
QMM_INLINE vint code_step(const uint8_t *lines, enum tcb_format_id format, int span, int run, int i)
{
	if (format == TCB_FORMAT_Q8_0)
		return xor_bits(load(lines + (4 + 8 * span + i) * QMM_LINE), bytes_of(-128));
	if (format == TCB_FORMAT_Q4_0)
		return nibbles(lines + (4 + 4 * span + i % 4) * QMM_LINE, i / 4);
	if (format == TCB_FORMAT_Q4_K)
		return nibbles(lines + (4 + 8 * span + i) * QMM_LINE, run);
	if (format == TCB_FORMAT_Q5_K) {
		const vint code = nibbles(lines + (12 + 8 * span + i) * QMM_LINE, run);
		return add_where(code, 16, load(lines + (4 + i) * QMM_LINE), 1 << (2 * span + run));
	}
	/* Runs of 16 values: QUARTER of the half that the span is, four steps each. */
	const int quarter = run / 2, at = 4 * (run % 2) + i;
	const vint high = load(lines + (32 + 8 * span + at) * QMM_LINE);
	return merge(nibbles(lines + (16 * span + 8 * (quarter % 2) + at) * QMM_LINE, quarter / 2),
		     quarter < 2   ? shift_left(high, 4 - 2 * quarter)
		     : quarter > 2 ? shift_right(high, 2)
				   : high,
		     bytes_of(0x30));
}

/* The scales of all runs; with mins: the mins as bytes, runs 0 to 3 and 4 to 7, and their scale. */
struct headers {
	vfloat scale[QMM_RUNS_MAX];
	vint min[2];
	vfloat offset;
};

QMM_INLINE void read_k_headers(const uint8_t *lines, struct headers *out)
{
	const vint six = bytes_of(0x3f), two = bytes_of(0x30), low = bytes_of(15);
	const vint halves = load(lines), a = load(lines + QMM_LINE), b = load(lines + 2 * QMM_LINE);
	const vint c = load(lines + 3 * QMM_LINE);
	const vfloat d = half_of(halves, 0);
	const vint scales[2] = { and_bits(a, six), merge(and_bits(c, low), shift_right(a, 2), two) };
	out->offset = half_of(halves, 1);
	out->min[0] = and_bits(b, six);
	out->min[1] = merge(and_bits(shift_right(c, 4), low), shift_right(b, 2), two);
	QMM_UNROLL
	for (int g = 0; g < 8; g++)
		out->scale[g] = mul(d, to_float(unsigned_byte(scales[g / 4], g % 4)));
}

QMM_INLINE void read_headers(const uint8_t *lines, enum tcb_format_id format, struct headers *out)
{
	if (has_mins(format)) {
		read_k_headers(lines, out);
	} else if (format == TCB_FORMAT_Q6_K) {
		const vfloat d = half_of(load(lines + 52 * QMM_LINE), 0);
		QMM_UNROLL
		for (int g = 0; g < 16; g++)
			out->scale[g] = mul(d, to_float(signed_byte(load(lines + (48 + g / 4) * QMM_LINE), g % 4)));
	} else {
		QMM_UNROLL
		for (int g = 0; g < 8; g++)
			out->scale[g] = half_of(load(lines + g / 2 * QMM_LINE), g % 2);
	}
}

#endif
#endif
