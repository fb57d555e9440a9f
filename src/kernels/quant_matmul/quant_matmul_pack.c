/* SPDX-License-Identifier: MIT
 *
 * The portable unpacking of lines (quant_lines.h) into panels and values.
 */
#include "kernels/quant_matmul/quant_matmul_pack.h"

enum { WORD = 4, SMALL_VALUES = 32 };

/* The codes of one row of LINES: of a superblock's blocks, one struct each. */
static void decode_row(const struct tcb_format *format, const uint8_t *lines, size_t row,
		       struct tcb_codes out[QMM_VALUES / SMALL_VALUES])
{
	uint8_t blocks[QMM_LINES_MAX * WORD];
	tcb_lines_row(format, lines, row, QMM_VALUES, blocks);
	for (size_t b = 0; b < QMM_VALUES / format->block_values; b++)
		tcb_block_decode(format, blocks + b * format->block_bytes, &out[b]);
}

static void unpack_panel(const uint8_t *lines, enum tcb_format_id id, struct qmm_panel *out)
{
	const struct tcb_format *format = tcb_format(id);
	const size_t runs = QMM_VALUES / format->run_values, runs_a_block = format->block_values / format->run_values;
	struct tcb_codes codes[QMM_VALUES / SMALL_VALUES];
	for (size_t r = 0; r < QMM_ROWS; r++) {
		decode_row(format, lines, r, codes);
		for (size_t i = 0; i < QMM_VALUES; i++)
			out->code[i / 4][4 * r + i % 4] =
				(uint8_t)(codes[i / format->block_values].code[i % format->block_values] +
					  qmm_centre(format->id));
		for (size_t g = 0; g < runs; g++)
			out->scale[g][r] = codes[g / runs_a_block].scale[g % runs_a_block];
		for (size_t g = 0; qmm_has_offsets(id) && g < runs; g++)
			out->scale[runs + g][r] = codes[g / runs_a_block].offset[g % runs_a_block];
		if (qmm_has_mins(id)) {
			uint8_t block[TCB_BLOCK_BYTES_MAX], scale[8], min[8];
			tcb_lines_row(format, lines, r, QMM_VALUES, block);
			tcb_k_scales(block + WORD, scale, min);
			out->offset[r] = tcb_f16_load(block + 2);
			for (size_t g = 0; g < 8; g++)
				out->min[g / 4][4 * r + g % 4] = min[g];
		}
	}
}

static void unpack_values(const uint8_t *lines, enum tcb_format_id id, struct qmm_values *out)
{
	const struct tcb_format *format = tcb_format(id);
	uint8_t blocks[QMM_LINES_MAX * WORD];
	float w[QMM_VALUES];
	for (size_t r = 0; r < QMM_ROWS; r++) {
		tcb_lines_row(format, lines, r, QMM_VALUES, blocks);
		tcb_dequantize(format, blocks, QMM_VALUES / format->block_values, w);
		for (size_t i = 0; i < QMM_VALUES; i++)
			out->w[i][r] = w[i];
	}
}

static void gather(const uint8_t *rows, size_t row_bytes, size_t row_count, size_t value_count, enum tcb_format_id id,
		   uint8_t *lines)
{
	tcb_lines_gather(tcb_format(id), rows, row_bytes, row_count, value_count, lines);
}

TCB_FORMAT_LIST(QMM_UNPACKER_FUNCTIONS)
TCB_FORMAT_CODE_LIST(QMM_PANEL_FUNCTION)
const struct qmm_unpacker qmm_unpackers_scalar[TCB_FORMAT_COUNT] = { TCB_FORMAT_CODE_LIST(
	QMM_UNPACKER) TCB_FORMAT_FLOAT_ROWS(QMM_FLOAT_UNPACKER) };
