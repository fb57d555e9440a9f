/* SPDX-License-Identifier: MIT
 *
 * How vectors (simd.h) of codes and scales come out of lines (quant_lines.h says
 * which words these are).  FORMAT is a constant after inlining.  Superblocks are walked in
 * spans, so that a span's shifts are constants: of TCB_CODES_PAIRS 4 spans of
 * two runs, of TCB_CODES_QUARTERS 2 of eight, of planes 4 of 64 values, of others 8 of one run.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_LINES_H
#define TCB_KERNELS_QUANT_MATMUL_LINES_H

#include "kernels/decode/planes_vectors.h"
#include "kernels/quant_matmul/quant_matmul_layout.h"
#include "kernels/simd/simd.h"

#ifdef SIMD_HAS_BYTES

SIMD_INLINE int runs_of(enum tcb_format_id format)
{
	return QMM_VALUES / qmm_run_values(format);
}

SIMD_INLINE int spans_of(enum tcb_format_id format)
{
	if (tcb_is_expanded(format))
		return TCB_PLANES_GROUPS;
	return codes_kind(format) == TCB_CODES_QUARTERS ? 2 : codes_kind(format) == TCB_CODES_PAIRS ? 4 : 8;
}

SIMD_INLINE int has_mins(enum tcb_format_id format)
{
	return qmm_has_mins(format);
}

SIMD_INLINE vint nibbles(const uint8_t *line, int high)
{
	const vint v = vi_load(line);
	return vi_and(high ? vi_shift_right(v, 4) : v, vi_bytes(15));
}

/* The scales of a superblock are two lines, not four. */
SIMD_INLINE int has_short_headers(enum tcb_format_id format)
{
	return scales_kind(format) == TCB_SCALES_POWER || scales_kind(format) == TCB_SCALES_SIX;
}

/* Codes + centre of step I (four values) of run RUN of a span, whose lines begin at LINES (of its superblock). */
SIMD_INLINE vint code_step(const uint8_t *lines, enum tcb_format_id format, int span, int run, int i)
{
	if (tcb_is_expanded(format)) {
		const vint code = planes_codes(lines, format, span * (runs_of(format) / TCB_PLANES_GROUPS), run, i);
		return tcb_has_signed_codes(format) ? vi_xor(code, vi_bytes(-128)) : code;
	}
	if (codes_kind(format) == TCB_CODES_BYTES)
		return vi_xor(vi_load(lines + (4 + 8 * span + i) * QMM_LINE), vi_bytes(-128));
	if (codes_kind(format) == TCB_CODES_RUNS) {
		const int head = has_short_headers(format) ? 2 : 4;
		const vint stored = nibbles(lines + (head + 4 * span + i % 4) * QMM_LINE, i / 4);
		return tcb_has_table(format) ? vi_xor(quant_nibble_codes(stored, format), vi_bytes(-128)) : stored;
	}
	if (codes_kind(format) == TCB_CODES_PAIRS && !has_high_bits(format))
		return nibbles(lines + (4 + 8 * span + i) * QMM_LINE, run);
	if (codes_kind(format) == TCB_CODES_PAIRS) {
		const vint code = nibbles(lines + (12 + 8 * span + i) * QMM_LINE, run);
		return vi_add_where(code, 16, vi_load(lines + (4 + i) * QMM_LINE), 1 << (2 * span + run));
	}
	/* Runs of 16 values: QUARTER of the half that the span is, four steps each. */
	const int quarter = run / 2, at = 4 * (run % 2) + i;
	const vint high = vi_load(lines + (5 + 24 * span + at) * QMM_LINE);
	return vi_merge(nibbles(lines + (13 + 24 * span + 8 * (quarter % 2) + at) * QMM_LINE, quarter / 2),
			quarter < 2   ? vi_shift_left(high, 4 - 2 * quarter)
			: quarter > 2 ? vi_shift_right(high, 2)
				      : high,
			vi_bytes(0x30));
}

/* The scales of all runs; with mins: the mins as bytes, runs 0 to 3 and 4 to 7, and their scale. */
struct headers {
	vfloat scale[QMM_RUNS_MAX];
	vint min[2];
	vfloat offset;
	vfloat less[QMM_RUNS_MAX]; /* of formats whose runs have offsets of their own */
};

SIMD_INLINE void read_planes_headers(const uint8_t *lines, enum tcb_format_id format, struct headers *out)
{
	const int is_super = tcb_format_row(format)->block_values == QMM_VALUES;
	const vfloat d = is_super ? planes_d(lines, format) : v_set(1);
	SIMD_FOR (int g = 0; g < runs_of(format); g++) {
		const vfloat scale = planes_scale(lines, format, 0, g);
		out->scale[g] = is_super ? v_mul(d, scale) : scale;
		if (qmm_has_offsets(format))
			out->less[g] = is_super
					       ? v_mul(planes_dmin(lines),
						       v_from_words(vi_unsigned_byte(planes_mins(lines, g / 4), g % 4)))
					       : v_mul(planes_added(lines, g), v_set(-1));
	}
}

SIMD_INLINE void read_k_headers(const uint8_t *lines, struct headers *out)
{
	const vint six = vi_bytes(0x3f), two = vi_bytes(0x30), low = vi_bytes(15);
	const vint halves = vi_load(lines), a = vi_load(lines + QMM_LINE), b = vi_load(lines + 2 * QMM_LINE);
	const vint c = vi_load(lines + 3 * QMM_LINE);
	const vfloat d = v_from_halves(halves, 0);
	const vint scales[2] = { vi_and(a, six), vi_merge(vi_and(c, low), vi_shift_right(a, 2), two) };
	out->offset = v_from_halves(halves, 1);
	out->min[0] = vi_and(b, six);
	out->min[1] = vi_merge(vi_and(vi_shift_right(c, 4), low), vi_shift_right(b, 2), two);
	SIMD_FOR (int g = 0; g < 8; g++)
		out->scale[g] = v_mul(d, v_from_words(vi_unsigned_byte(scales[g / 4], g % 4)));
}

SIMD_INLINE void read_short_headers(const uint8_t *lines, enum tcb_format_id format, struct headers *out)
{
	const vint first = vi_load(lines), second = vi_load(lines + QMM_LINE);
	const vfloat d = v_from_halves(first, 0);
	SIMD_FOR (int g = 0; g < 8; g++)
		out->scale[g] = scales_kind(format) == TCB_SCALES_POWER
					? quant_power_scale(vi_unsigned_byte(g < 4 ? first : second, g % 4))
					: v_mul(d, v_from_words(quant_six_scale(first, second, g)));
}

SIMD_INLINE void read_headers(const uint8_t *lines, enum tcb_format_id format, struct headers *out)
{
	if (tcb_is_expanded(format)) {
		read_planes_headers(lines, format, out);
	} else if (has_mins(format)) {
		read_k_headers(lines, out);
	} else if (has_short_headers(format)) {
		read_short_headers(lines, format, out);
	} else if (scales_kind(format) == TCB_SCALES_BYTES) {
		const vfloat d = v_from_halves(vi_load(lines), 0);
		SIMD_FOR (int g = 0; g < 16; g++)
			out->scale[g] =
				v_mul(d, v_from_words(vi_signed_byte(vi_load(lines + (1 + g / 4) * QMM_LINE), g % 4)));
	} else {
		SIMD_FOR (int g = 0; g < 8; g++)
			out->scale[g] = v_from_halves(vi_load(lines + g / 2 * QMM_LINE), g % 2);
	}
}

#endif
#endif
