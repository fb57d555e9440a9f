/* SPDX-License-Identifier: MIT
 *
 * Layout r16: rows of weights in groups of 16, each superblock as lines
 * (quant_matmul_lines.h).  Packing loses nothing; unpacking gives the stored
 * bytes back.  Here also the portable unpacking of lines into panels and values.
 */
#include <assert.h>
#include <string.h>

#include "kernels/quant.h"
#include "kernels/quant_matmul/quant_matmul_pack.h"

enum { WORD = 4, SMALL_VALUES = 32, HEADS = 8 };

/* The words of one row's superblock; blocks of 32 values past VALUES are zeros. */
static void row_to_words(const struct tcb_format *format, const uint8_t *blocks, size_t values,
			 uint8_t words[QMM_LINES_MAX * WORD])
{
	memset(words, 0, QMM_LINES_MAX * WORD);
	if (format->block_values == QMM_VALUES) {
		memcpy(words, blocks, format->block_bytes);
		return;
	}
	const size_t head = format->codes_at, codes = format->block_bytes - head;
	for (size_t b = 0; b < values / SMALL_VALUES; b++, blocks += format->block_bytes) {
		memcpy(words + head * b, blocks, head);
		memcpy(words + HEADS * head + b * codes, blocks + head, codes);
	}
}

static void words_to_row(const struct tcb_format *format, const uint8_t words[QMM_LINES_MAX * WORD], size_t values,
			 uint8_t *blocks)
{
	if (format->block_values == QMM_VALUES) {
		memcpy(blocks, words, format->block_bytes);
		return;
	}
	const size_t head = format->codes_at, codes = format->block_bytes - head;
	for (size_t b = 0; b < values / SMALL_VALUES; b++, blocks += format->block_bytes) {
		memcpy(blocks, words + head * b, head);
		memcpy(blocks + head, words + HEADS * head + b * codes, codes);
	}
}

static void get_words(const struct tcb_format *format, const uint8_t *lines, size_t row,
		      uint8_t words[QMM_LINES_MAX * WORD])
{
	for (size_t w = 0; w < qmm_lines(format->id); w++)
		memcpy(words + w * WORD, lines + w * QMM_LINE + row * WORD, WORD);
}

/* Rows past the last one are zeros. */
static void gather(const struct tcb_format *format, const uint8_t *rows, size_t row_bytes, size_t row_count,
		   size_t values, uint8_t *lines)
{
	uint8_t words[QMM_LINES_MAX * WORD];
	for (size_t r = 0; r < QMM_ROWS; r++) {
		memset(words, 0, sizeof(words));
		if (r < row_count)
			row_to_words(format, rows + r * row_bytes, values, words);
		for (size_t w = 0; w < qmm_lines(format->id); w++)
			memcpy(lines + w * QMM_LINE + r * WORD, words + w * WORD, WORD);
	}
}

static size_t superblocks(size_t k)
{
	return (k + QMM_VALUES - 1) / QMM_VALUES;
}

size_t qmm_packed_bytes(enum tcb_format_id format, size_t n, size_t k)
{
	return (n + QMM_ROWS - 1) / QMM_ROWS * superblocks(k) * qmm_lines(format) * QMM_LINE;
}

static size_t superblock_bytes(const struct tcb_format *format)
{
	return QMM_VALUES / format->block_values * format->block_bytes;
}

void qmm_pack(const struct tcb_problem *problem, enum tcb_layout layout, const void *weights, void *packed)
{
	const struct tcb_format *format = problem->op->format;
	const size_t n = problem->shape.n, k = problem->shape.k, row_bytes = tcb_quant_row_bytes(format, k);
	const uint8_t *in = weights;
	uint8_t *out = packed;
	assert(layout == TCB_LAYOUT_R16);
	(void)layout;
	for (size_t first = 0; first < n; first += QMM_ROWS)
		for (size_t b = 0; b < superblocks(k); b++, out += qmm_lines(format->id) * QMM_LINE) {
			const size_t left = k - b * QMM_VALUES;
			gather(format, in + first * row_bytes + b * superblock_bytes(format), row_bytes,
			       n - first < QMM_ROWS ? n - first : QMM_ROWS, left < QMM_VALUES ? left : QMM_VALUES, out);
		}
}

void qmm_unpack(const struct tcb_problem *problem, enum tcb_layout layout, const void *packed, void *weights)
{
	const struct tcb_format *format = problem->op->format;
	const size_t n = problem->shape.n, k = problem->shape.k, row_bytes = tcb_quant_row_bytes(format, k);
	const uint8_t *in = packed;
	uint8_t words[QMM_LINES_MAX * WORD], *out = weights;
	assert(layout == TCB_LAYOUT_R16);
	(void)layout;
	for (size_t row = 0; row < n; row++)
		for (size_t b = 0; b < superblocks(k); b++) {
			const size_t left = k - b * QMM_VALUES, at = row / QMM_ROWS * superblocks(k) + b;
			get_words(format, in + at * qmm_lines(format->id) * QMM_LINE, row % QMM_ROWS, words);
			words_to_row(format, words, left < QMM_VALUES ? left : QMM_VALUES,
				     out + row * row_bytes + b * superblock_bytes(format));
		}
}

/* The codes of one row of LINES: of a superblock's blocks, one struct each. */
static void decode_row(const struct tcb_format *format, const uint8_t *lines, size_t row,
		       struct tcb_codes out[QMM_VALUES / SMALL_VALUES])
{
	uint8_t words[QMM_LINES_MAX * WORD], blocks[QMM_LINES_MAX * WORD];
	get_words(format, lines, row, words);
	words_to_row(format, words, QMM_VALUES, blocks);
	for (size_t b = 0; b < QMM_VALUES / format->block_values; b++)
		tcb_block_decode(format, blocks + b * format->block_bytes, &out[b]);
}

static void panel(const struct tcb_format *format, const uint8_t *lines, struct qmm_panel *out)
{
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
		if (format->has_offsets) {
			uint8_t words[QMM_LINES_MAX * WORD], scale[8], min[8];
			get_words(format, lines, r, words);
			tcb_k_scales(words + WORD, scale, min);
			out->offset[r] = tcb_f16_load(words + 2);
			for (size_t g = 0; g < 8; g++)
				out->min[g / 4][4 * r + g % 4] = min[g];
		}
	}
}

static void values(const struct tcb_format *format, const uint8_t *lines, struct qmm_values *out)
{
	uint8_t words[QMM_LINES_MAX * WORD], blocks[QMM_LINES_MAX * WORD];
	float w[QMM_VALUES];
	for (size_t r = 0; r < QMM_ROWS; r++) {
		get_words(format, lines, r, words);
		words_to_row(format, words, QMM_VALUES, blocks);
		tcb_dequantize(format, blocks, QMM_VALUES / format->block_values, w);
		for (size_t i = 0; i < QMM_VALUES; i++)
			out->w[i][r] = w[i];
	}
}

/* The three functions of one format. */
#define FUNCTIONS(id, name, ...)                                                                               \
	static void gather_##name(const uint8_t *rows, size_t row_bytes, size_t row_count, size_t value_count, \
				  uint8_t *lines)                                                              \
	{                                                                                                      \
		gather(tcb_format(TCB_FORMAT_##id), rows, row_bytes, row_count, value_count, lines);           \
	}                                                                                                      \
	static void panel_##name(const uint8_t *lines, void *out)                                              \
	{                                                                                                      \
		panel(tcb_format(TCB_FORMAT_##id), lines, out);                                                \
	}                                                                                                      \
	static void values_##name(const uint8_t *lines, void *out)                                             \
	{                                                                                                      \
		values(tcb_format(TCB_FORMAT_##id), lines, out);                                               \
	}
TCB_FORMAT_LIST(FUNCTIONS)

#define UNPACKER(id, name, ...) { gather_##name, panel_##name, values_##name },
const struct qmm_unpacker qmm_unpackers_scalar[TCB_FORMAT_COUNT] = { TCB_FORMAT_LIST(UNPACKER) };
