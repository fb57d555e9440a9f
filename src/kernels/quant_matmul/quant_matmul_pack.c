/* SPDX-License-Identifier: MIT
 *
 * The portable unpacking of lines (quant_lines.h) into panels and values.
 */
#include "kernels/quant_matmul/quant_matmul_pack.h"

enum { WORD = 4, SMALL_VALUES = 32 };

/* Blocks of row ROW of packed lines; of what has been gathered. */
typedef const uint8_t *row_fn(const struct tcb_format *format, const uint8_t *from, size_t row,
			      uint8_t space[QMM_LINES_MAX * WORD]);

static const uint8_t *row_of_lines(const struct tcb_format *format, const uint8_t *lines, size_t row,
				   uint8_t space[QMM_LINES_MAX * WORD])
{
	tcb_lines_row(format, lines, row, QMM_VALUES, space);
	return space;
}

static const uint8_t *row_of_rows(const struct tcb_format *format, const uint8_t *rows, size_t row,
				  uint8_t space[QMM_LINES_MAX * WORD])
{
	(void)space;
	return rows + row * tcb_lines_row_bytes(format->id);
}

/* The codes of a row's blocks, one struct each. */
static void decode_row(const struct tcb_format *format, const uint8_t *blocks,
		       struct tcb_codes out[QMM_VALUES / SMALL_VALUES])
{
	for (size_t b = 0; b < QMM_VALUES / format->block_values; b++)
		tcb_block_decode(format, blocks + b * format->block_bytes, &out[b]);
}

static void panel_of(const uint8_t *from, row_fn *row_at, enum tcb_format_id id, struct qmm_panel *out)
{
	const struct tcb_format *format = tcb_format(id);
	const size_t runs = QMM_VALUES / format->run_values, runs_a_block = format->block_values / format->run_values;
	struct tcb_codes codes[QMM_VALUES / SMALL_VALUES];
	uint8_t space[QMM_LINES_MAX * WORD];
	for (size_t r = 0; r < QMM_ROWS; r++) {
		const uint8_t *row = row_at(format, from, r, space);
		decode_row(format, row, codes);
		for (size_t i = 0; i < QMM_VALUES; i++)
			out->code[i / 4][4 * r + i % 4] =
				(uint8_t)(codes[i / format->block_values].code[i % format->block_values] +
					  qmm_centre(format->id));
		for (size_t g = 0; g < runs; g++)
			out->scale[g][r] = codes[g / runs_a_block].scale[g % runs_a_block];
		for (size_t g = 0; qmm_has_offsets(id) && g < runs; g++)
			out->scale[runs + g][r] = codes[g / runs_a_block].offset[g % runs_a_block];
		if (qmm_has_mins(id)) {
			uint8_t scale[8], min[8];
			tcb_k_scales(row + WORD, scale, min);
			out->offset[r] = tcb_f16_load(row + 2);
			for (size_t g = 0; g < 8; g++)
				out->min[g / 4][4 * r + g % 4] = min[g];
		}
	}
}

static void values_of(const uint8_t *from, row_fn *row_at, enum tcb_format_id id, struct qmm_values *out)
{
	const struct tcb_format *format = tcb_format(id);
	uint8_t space[QMM_LINES_MAX * WORD];
	float w[QMM_VALUES];
	for (size_t r = 0; r < QMM_ROWS; r++) {
		tcb_dequantize(format, row_at(format, from, r, space), QMM_VALUES / format->block_values, w);
		for (size_t i = 0; i < QMM_VALUES; i++)
			out->w[i][r] = w[i];
	}
}

static void unpack_panel(const uint8_t *lines, enum tcb_format_id id, struct qmm_panel *out)
{
	panel_of(lines, row_of_lines, id, out);
}

static void unpack_values(const uint8_t *lines, enum tcb_format_id id, struct qmm_values *out)
{
	values_of(lines, row_of_lines, id, out);
}

static void expand_panel(const uint8_t *rows, enum tcb_format_id id, struct qmm_panel *out)
{
	panel_of(rows, row_of_rows, id, out);
}

static void expand_values(const uint8_t *rows, enum tcb_format_id id, struct qmm_values *out)
{
	values_of(rows, row_of_rows, id, out);
}

static void gather(const uint8_t *rows, size_t row_bytes, size_t row_count, size_t value_count, enum tcb_format_id id,
		   uint8_t *out)
{
	(tcb_is_expanded(id) ? tcb_rows_gather : tcb_lines_gather)(tcb_format(id), rows, row_bytes, row_count,
								   value_count, out);
}

TCB_FORMAT_LIST(QMM_UNPACKER_FUNCTIONS)
TCB_FORMAT_CODE_LIST(QMM_PANEL_FUNCTION)
TCB_FORMAT_EXPANDED_ROWS(QMM_EXPANDED_FUNCTIONS)
const struct qmm_unpacker qmm_unpackers_scalar[TCB_FORMAT_COUNT] = QMM_UNPACKER_TABLE;
