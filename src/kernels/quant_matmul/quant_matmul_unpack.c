/* SPDX-License-Identifier: MIT
 *
 * Weights as stored -> lines -> panels, generic over format and vector width;
 * quant_matmul_unpack_<isa>.c make tables of it.
 */
#include <assert.h>

#include "kernels/decode/formats_expand.h"
#include "kernels/quant_matmul/quant_matmul_lines.h"
#include "kernels/quant_matmul/quant_matmul_pack.h"

enum { PARTS = QMM_ROWS / LANES };

/* COUNT words of each row, from OFFSET of its bytes, to the lines at OUT; COUNT is a multiple of four. */
SIMD_INLINE void gather_words(const uint8_t *const row[QMM_ROWS], size_t offset, int count, uint8_t *out)
{
	vint v[4];
	for (int w = 0; w < count; w += 4, offset += 16)
		for (int part = 0; part < PARTS; part++) {
			vi_four_words(row + part * LANES, offset, v);
			SIMD_FOR (int i = 0; i < 4; i++)
				vi_store(out + (w + i) * QMM_LINE + part * 4 * LANES, v[i]);
		}
}

/* BYTES (1 or 2) at OFFSET of each row as number PLACE of a row's words from LINES on. */
SIMD_INLINE void gather_scale(const uint8_t *const row[QMM_ROWS], size_t offset, size_t bytes, size_t place,
			      uint8_t *lines)
{
	uint8_t *at = lines + place * bytes / 4 * QMM_LINE + place * bytes % 4;
	for (int r = 0; r < QMM_ROWS; r++)
		memcpy(at + 4 * r, row[r] + offset, bytes);
}

/* The two bytes at OFFSET, 14 or more, of each row as the low half of a word, to the line at OUT. */
SIMD_INLINE void gather_last_half(const uint8_t *const row[QMM_ROWS], size_t offset, uint8_t *out)
{
	vint v[4];
	for (int part = 0; part < PARTS; part++) {
		vi_four_words(row + part * LANES, offset - 14, v);
		vi_store(out + part * 4 * LANES, vi_shift_right(v[3], 16));
	}
}

/* Where the rows of a group are; rows past the last one repeat it, their results are dropped. */
SIMD_INLINE void list_rows(const uint8_t *rows, size_t row_bytes, size_t row_count, const uint8_t *out[QMM_ROWS])
{
	assert(row_count >= 1 && row_count <= QMM_ROWS);
	for (size_t r = 0; r < QMM_ROWS; r++)
		out[r] = rows + (r < row_count ? r : row_count - 1) * row_bytes;
}

/* Blocks of 32 values: HEAD bytes of scale, then CODE_WORDS words of codes.  Blocks past the end become zeros. */
SIMD_INLINE void gather_small(const uint8_t *const row[QMM_ROWS], size_t values, size_t head, int code_words,
			      uint8_t *lines)
{
	const size_t blocks = values / 32, words = (size_t)code_words, block_bytes = head + 4 * words;
	uint8_t *codes = lines + 2 * head * QMM_LINE;
	if (blocks < 8)
		memset(lines, 0, (2 * head + 8 * words) * QMM_LINE);
	for (size_t b = 0; b < blocks; b++) {
		gather_scale(row, b * block_bytes, head, b, lines);
		gather_words(row, b * block_bytes + head, code_words, codes + b * words * QMM_LINE);
	}
}

SIMD_BODY void gather(const uint8_t *rows, size_t row_bytes, size_t row_count, size_t values, enum tcb_format_id format,
		      uint8_t *lines)
{
	const uint8_t *row[QMM_ROWS];
	if (tcb_is_expanded(format) || tcb_is_float(format)) {
		tcb_rows_gather(tcb_format(format), rows, row_bytes, row_count, values, lines);
		return;
	}
	list_rows(rows, row_bytes, row_count, row);
	const struct tcb_format *f = tcb_format_row(format);
	const int words = (int)(f->block_bytes / 4);
	if (f->block_values < QMM_VALUES) {
		gather_small(row, values, f->codes_at, f->code_bits == 8 ? 8 : 4, lines);
	} else if (tcb_has_quarters(format)) {
		struct tcb_lines_piece piece[TCB_LINES_PIECES_MAX];
		const size_t pieces = tcb_lines_pieces(format, values, piece);
		for (size_t i = 0; i + 1 < pieces; i++)
			gather_words(row, piece[i].at, (int)(piece[i].bytes / 4), lines + piece[i].to * QMM_ROWS);
		gather_last_half(row, piece[pieces - 1].at, lines + piece[pieces - 1].to * QMM_ROWS);
	} else {
		gather_words(row, 0, words / 4 * 4, lines);
		if (words % 4) /* the last four again */
			gather_words(row, 4 * ((size_t)words - 4), 4, lines + (words - 4) * QMM_LINE);
	}
}

/* Gathered rows of an expanded format. */
SIMD_INLINE void expand_rows(const uint8_t *rows, enum tcb_format_id format, struct tcb_codes out[QMM_ROWS])
{
	for (size_t r = 0; r < QMM_ROWS; r++)
		tcb_expand_super(format, rows + r * tcb_lines_row_bytes(format), &out[r]);
}

SIMD_BODY void expand_panel(const uint8_t *rows, enum tcb_format_id format, struct qmm_panel *out)
{
	const int runs = runs_of(format);
	struct tcb_codes codes[QMM_ROWS];
	const uint8_t *row[QMM_ROWS];
	vint v[4];
	expand_rows(rows, format, codes);
	for (int r = 0; r < QMM_ROWS; r++)
		row[r] = (const uint8_t *)codes[r].code;
	for (int w = 0; w < QMM_STEPS; w += 4)
		for (int part = 0; part < PARTS; part++) {
			vi_four_words(row + part * LANES, (size_t)w * 4, v);
			SIMD_FOR (int i = 0; i < 4; i++)
				vi_store(out->code[w + i] + part * 4 * LANES,
					 tcb_has_signed_codes(format) ? vi_xor(v[i], vi_bytes(-128)) : v[i]);
		}
	for (int r = 0; r < QMM_ROWS; r++)
		row[r] = (const uint8_t *)codes[r].scale;
	gather_words(row, 0, runs, (uint8_t *)out->scale[0]);
	for (int r = 0; r < QMM_ROWS; r++)
		row[r] = (const uint8_t *)codes[r].offset;
	if (qmm_has_offsets(format))
		gather_words(row, 0, runs, (uint8_t *)out->scale[runs]);
}

SIMD_BODY void expand_values(const uint8_t *rows, enum tcb_format_id format, struct qmm_values *out)
{
	const int run = qmm_run_values(format);
	const vfloat centre = v_set((float)tcb_format_row(format)->centre);
	struct tcb_codes codes[QMM_ROWS];
	float values[QMM_ROWS][QMM_VALUES];
	const uint8_t *row[QMM_ROWS];
	expand_rows(rows, format, codes);
	for (int r = 0; r < QMM_ROWS; r++) {
		for (int i = 0; i < QMM_VALUES; i += LANES) {
			const vfloat code = v_sub(v_from_bytes(codes[r].code + i), centre);
			const vfloat scale = v_set(codes[r].scale[i / run]);
			v_store(values[r] + i, qmm_has_offsets(format)
						       ? v_fms(scale, code, v_set(codes[r].offset[i / run]))
						       : v_mul(scale, code));
		}
		row[r] = (const uint8_t *)values[r];
	}
	gather_words(row, 0, QMM_VALUES, (uint8_t *)out->w[0]);
}

/* Weights that are values; each product with a scale is rounded once, as tcb_dequantize() does it. */
SIMD_BODY void scale_values(const uint8_t *lines, enum tcb_format_id format, struct qmm_values *out)
{
	const struct tcb_format *f = tcb_format_row(format);
	float values[QMM_ROWS][QMM_VALUES];
	const uint8_t *row[QMM_ROWS];
	for (size_t r = 0; r < QMM_ROWS; r++) {
		const uint8_t *block = lines + r * tcb_lines_row_bytes(format);
		row[r] = (const uint8_t *)values[r];
		for (size_t i = 0; i < QMM_VALUES; i += f->block_values, block += f->block_bytes) {
			float scale;
			memcpy(&scale, block + f->d_at, sizeof(scale));
			for (size_t j = 0; j < f->block_values; j += LANES)
				v_store(values[r] + i + j,
					v_mul(v_from_e4m3(block + f->codes_at + j), v_set(256 * scale)));
		}
	}
	gather_words(row, 0, QMM_VALUES, (uint8_t *)out->w[0]);
}

/* Values as they are. */
SIMD_BODY void widen_values(const uint8_t *lines, enum tcb_format_id format, struct qmm_values *out)
{
	const size_t bytes = tcb_format_row(format)->block_bytes;
	float values[QMM_ROWS][QMM_VALUES];
	const uint8_t *row[QMM_ROWS];
	for (size_t r = 0; r < QMM_ROWS; r++) {
		const uint8_t *from = lines + r * tcb_lines_row_bytes(format);
		row[r] = codes_kind(format) == TCB_CODES_F32 ? from : (const uint8_t *)values[r];
		for (size_t i = 0; codes_kind(format) != TCB_CODES_F32 && i < QMM_VALUES; i += LANES)
			v_store(values[r] + i, codes_kind(format) == TCB_CODES_F16
						       ? v_from_f16(from + bytes * i)
						       : v_from_bf16((const void *)(from + bytes * i)));
	}
	gather_words(row, 0, QMM_VALUES, (uint8_t *)out->w[0]);
}

SIMD_BODY void unpack_panel(const uint8_t *lines, enum tcb_format_id format, struct qmm_panel *out)
{
	const int spans = spans_of(format), runs = runs_of(format), steps = QMM_STEPS / runs;
	for (int part = 0; part < PARTS; part++, lines += 4 * LANES) {
		uint8_t *code = out->code[0] + part * 4 * LANES;
		struct headers h;
		read_headers(lines, format, &h);
		SIMD_FOR (int g = 0; g < runs; g++)
			v_store(out->scale[g] + part * LANES, h.scale[g]);
		if (qmm_has_offsets(format)) {
			SIMD_FOR (int g = 0; g < runs; g++)
				v_store(out->scale[runs + g] + part * LANES, h.less[g]);
		}
		if (has_mins(format)) {
			vi_store(out->min[0] + part * 4 * LANES, h.min[0]);
			vi_store(out->min[1] + part * 4 * LANES, h.min[1]);
			v_store(out->offset + part * LANES, h.offset);
		}
		for (int span = 0; span < spans; span++) {
			SIMD_FOR (int run = 0; run < runs / spans; run++) {
				SIMD_FOR (int i = 0; i < steps; i++, code += QMM_LINE)
					vi_store(code, code_step(lines, format, span, run, i));
			}
		}
	}
}

/* Each value is rounded once, as tcb_dequantize() does it: scale * code and offset * min are exact. */
SIMD_BODY void unpack_values(const uint8_t *lines, enum tcb_format_id format, struct qmm_values *out)
{
	const int spans = spans_of(format), runs = tcb_is_float(format) ? 8 : runs_of(format), steps = QMM_STEPS / runs;
	if (tcb_is_float(format)) {
		(codes_kind(format) == TCB_CODES_E4M3 ? scale_values : widen_values)(lines, format, out);
		return;
	}
	for (int part = 0; part < PARTS; part++, lines += 4 * LANES) {
		float *w = out->w[0] + part * LANES;
		struct headers h;
		read_headers(lines, format, &h);
		if (has_mins(format)) {
			SIMD_FOR (int g = 0; g < 8; g++)
				h.less[g] = v_mul(h.offset, v_from_words(vi_unsigned_byte(h.min[g / 4], g % 4)));
		}
		for (int span = 0; span < spans; span++) {
			SIMD_FOR (int run = 0; run < runs / spans; run++) {
				const int g = span * (runs / spans) + run;
				for (int i = 0; i < steps; i++) {
					const vint codes = code_step(lines, format, span, run, i);
					SIMD_FOR (int k = 0; k < 4; k++, w += QMM_ROWS) {
						const vint code = vi_add(vi_unsigned_byte(codes, k),
									 vi_words(-qmm_centre(format)));
						v_store(w, tcb_format_row(format)->has_offsets
								   ? v_fms(h.scale[g], v_from_words(code), h.less[g])
								   : v_mul(h.scale[g], v_from_words(code)));
					}
				}
			}
		}
	}
}

TCB_FORMAT_LIST(QMM_UNPACKER_FUNCTIONS)
TCB_FORMAT_CODE_LIST(QMM_PANEL_FUNCTION)
TCB_FORMAT_EXPANDED_ROWS(QMM_EXPANDED_FUNCTIONS)
const struct qmm_unpacker SIMD_NAME(qmm_unpackers)[TCB_FORMAT_COUNT] = QMM_UNPACKER_TABLE;
