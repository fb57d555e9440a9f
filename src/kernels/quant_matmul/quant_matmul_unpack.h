/* SPDX-License-Identifier: MIT
 *
 * Weights as stored -> lines -> panels, generic over format and vector width;
 * quant_matmul_unpack_<isa>.c make tables of it.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_UNPACK_H
#define TCB_KERNELS_QUANT_MATMUL_UNPACK_H

#include <assert.h>

#include "kernels/quant_matmul/quant_matmul_lines.h"

#ifdef QMM_HAS_VECTORS

enum { PARTS = QMM_ROWS / LANES };

/* COUNT words of each row, from OFFSET of its bytes, to the lines at OUT; COUNT is a multiple of four. */
QMM_INLINE void gather_words(const uint8_t *const row[QMM_ROWS], size_t offset, int count, uint8_t *out)
{
	vint v[4];
	for (int w = 0; w < count; w += 4, offset += 16)
		for (int part = 0; part < PARTS; part++) {
			four_words(row + part * LANES, offset, v);
			QMM_UNROLL
			for (int i = 0; i < 4; i++)
				store(out + (w + i) * QMM_LINE + part * 4 * LANES, v[i]);
		}
}

/* The f16 at OFFSET of each row to half HALF of the words of a line. */
QMM_INLINE void gather_half(const uint8_t *const row[QMM_ROWS], size_t offset, int half, uint8_t *line)
{
	for (int r = 0; r < QMM_ROWS; r++)
		memcpy(line + 4 * r + 2 * half, row[r] + offset, 2);
}

/* Where the rows of a group are; rows past the last one repeat it, their results are dropped. */
QMM_INLINE void list_rows(const uint8_t *rows, size_t row_bytes, size_t row_count, const uint8_t *out[QMM_ROWS])
{
	assert(row_count >= 1 && row_count <= QMM_ROWS);
	for (size_t r = 0; r < QMM_ROWS; r++)
		out[r] = rows + (r < row_count ? r : row_count - 1) * row_bytes;
}

/* Blocks of 32 values: d, then CODE_WORDS words of codes.  Blocks past the end become zeros. */
QMM_INLINE void gather_small(const uint8_t *const row[QMM_ROWS], size_t values, int code_words, uint8_t *lines)
{
	const size_t blocks = values / 32, block_bytes = 2 + 4 * (size_t)code_words;
	for (size_t b = 0; b < blocks; b++) {
		gather_half(row, b * block_bytes, (int)(b % 2), lines + b / 2 * QMM_LINE);
		gather_words(row, b * block_bytes + 2, code_words, lines + (4 + b * (size_t)code_words) * QMM_LINE);
	}
	for (size_t b = blocks; b < 8; b++) {
		for (int r = 0; r < QMM_ROWS; r++)
			memset(lines + b / 2 * QMM_LINE + 4 * r + 2 * (b % 2), 0, 2);
		memset(lines + (4 + b * (size_t)code_words) * QMM_LINE, 0, (size_t)code_words * QMM_LINE);
	}
}

QMM_INLINE void gather(const uint8_t *rows, size_t row_bytes, size_t row_count, size_t values,
		       enum tcb_format_id format, uint8_t *lines)
{
	const uint8_t *row[QMM_ROWS];
	list_rows(rows, row_bytes, row_count, row);
	if (format == TCB_FORMAT_Q4_0) {
		gather_small(row, values, 4, lines);
	} else if (format == TCB_FORMAT_Q8_0) {
		gather_small(row, values, 8, lines);
	} else if (format == TCB_FORMAT_Q6_K) {
		gather_words(row, 0, 52, lines);
		memset(lines + 52 * QMM_LINE, 0, QMM_LINE);
		gather_half(row, 208, 0, lines + 52 * QMM_LINE);
	} else {
		gather_words(row, 0, format == TCB_FORMAT_Q4_K ? 36 : 44, lines);
	}
}

QMM_INLINE void unpack_panel(const uint8_t *lines, enum tcb_format_id format, struct qmm_panel *out)
{
	const int spans = spans_of(format), runs = runs_of(format), steps = QMM_STEPS / runs;
	for (int part = 0; part < PARTS; part++, lines += 4 * LANES) {
		uint8_t *code = out->code[0] + part * 4 * LANES;
		struct headers h;
		read_headers(lines, format, &h);
		QMM_UNROLL
		for (int g = 0; g < runs; g++)
			fstore(out->scale[g] + part * LANES, h.scale[g]);
		if (has_mins(format)) {
			store(out->min[0] + part * 4 * LANES, h.min[0]);
			store(out->min[1] + part * 4 * LANES, h.min[1]);
			fstore(out->offset + part * LANES, h.offset);
		}
		for (int span = 0; span < spans; span++) {
			QMM_UNROLL
			for (int run = 0; run < runs / spans; run++) {
				QMM_UNROLL
				for (int i = 0; i < steps; i++, code += QMM_LINE)
					store(code, code_step(lines, format, span, run, i));
			}
		}
	}
}

/* Each value is rounded once, as tcb_dequantize() does it: scale * code and offset * min are exact. */
QMM_INLINE void unpack_values(const uint8_t *lines, enum tcb_format_id format, struct qmm_values *out)
{
	const int spans = spans_of(format), runs = runs_of(format), steps = QMM_STEPS / runs;
	for (int part = 0; part < PARTS; part++, lines += 4 * LANES) {
		float *w = out->w[0] + part * LANES;
		struct headers h;
		vfloat less[8] = { fzero() };
		read_headers(lines, format, &h);
		if (has_mins(format)) {
			QMM_UNROLL
			for (int g = 0; g < 8; g++)
				less[g] = mul(h.offset, to_float(unsigned_byte(h.min[g / 4], g % 4)));
		}
		for (int span = 0; span < spans; span++) {
			QMM_UNROLL
			for (int run = 0; run < runs / spans; run++) {
				const int g = span * (runs / spans) + run;
				for (int i = 0; i < steps; i++) {
					const vint codes = code_step(lines, format, span, run, i);
					QMM_UNROLL
					for (int k = 0; k < 4; k++, w += QMM_ROWS) {
						const vint code =
							add(unsigned_byte(codes, k), words_of(-qmm_centre(format)));
						fstore(w, has_mins(format)
								  ? fma_less(h.scale[g], to_float(code), less[g % 8])
								  : mul(h.scale[g], to_float(code)));
					}
				}
			}
		}
	}
}

/* The three functions of one format, and its row of the table. */
#define QMM_UNPACK_FUNCTIONS(id, name)                                                                    \
	static void gather_##name(const uint8_t *rows, size_t row_bytes, size_t row_count, size_t values, \
				  uint8_t *lines)                                                         \
	{                                                                                                 \
		gather(rows, row_bytes, row_count, values, TCB_FORMAT_##id, lines);                       \
	}                                                                                                 \
	static void panel_##name(const uint8_t *lines, void *panel)                                       \
	{                                                                                                 \
		unpack_panel(lines, TCB_FORMAT_##id, panel);                                              \
	}                                                                                                 \
	static void values_##name(const uint8_t *lines, void *values)                                     \
	{                                                                                                 \
		unpack_values(lines, TCB_FORMAT_##id, values);                                            \
	}

#define QMM_UNPACKERS                                                         \
	{                                                                     \
		[TCB_FORMAT_Q4_0] = { gather_q4_0, panel_q4_0, values_q4_0 }, \
		[TCB_FORMAT_Q8_0] = { gather_q8_0, panel_q8_0, values_q8_0 }, \
		[TCB_FORMAT_Q4_K] = { gather_q4_k, panel_q4_k, values_q4_k }, \
		[TCB_FORMAT_Q5_K] = { gather_q5_k, panel_q5_k, values_q5_k }, \
		[TCB_FORMAT_Q6_K] = { gather_q6_k, panel_q6_k, values_q6_k }, \
	}

QMM_UNPACK_FUNCTIONS(Q4_0, q4_0)
QMM_UNPACK_FUNCTIONS(Q8_0, q8_0)
QMM_UNPACK_FUNCTIONS(Q4_K, q4_k)
QMM_UNPACK_FUNCTIONS(Q5_K, q5_k)
QMM_UNPACK_FUNCTIONS(Q6_K, q6_k)

#endif
#endif
