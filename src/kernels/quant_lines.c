/* SPDX-License-Identifier: MIT
 *
 * Rows of blocks as stored to lines and back (quant_lines.h).
 */
#include "kernels/quant_lines.h"

#include <string.h>

#include "base/sizes.h"

enum { SUPER = 256, WORD = 4, SMALL_VALUES = 32, HEADS = 8, WORDS_BYTES = TCB_LINES_MAX * WORD, PIECES_MAX = 16 };

/* What there is of a superblock of VALUES values; returns how many pieces. */
static size_t list_pieces(const struct tcb_format *format, const struct tcb_lines_piece *pieces, size_t values,
			  struct tcb_lines_piece out[PIECES_MAX])
{
	const size_t head = format->codes_at, codes = format->block_bytes - head;
	size_t count = 0;
	for (; format->block_values == SUPER && pieces && pieces[count].bytes; count++)
		out[count] = pieces[count];
	if (format->block_values == SUPER && !pieces)
		out[count++] = (struct tcb_lines_piece){ 0, format->block_bytes, 0 };
	for (size_t b = 0; format->block_values == SMALL_VALUES && b < values / SMALL_VALUES; b++) {
		out[count++] = (struct tcb_lines_piece){ b * format->block_bytes, head, b * head };
		out[count++] =
			(struct tcb_lines_piece){ b * format->block_bytes + head, codes, HEADS * head + b * codes };
	}
	return count;
}

void tcb_lines_gather(const struct tcb_format *format, const struct tcb_lines_piece *pieces, const uint8_t *rows,
		      size_t row_bytes, size_t row_count, size_t values, uint8_t *lines)
{
	struct tcb_lines_piece list[PIECES_MAX];
	const size_t count = list_pieces(format, pieces, values, list);
	for (size_t r = 0; r < TCB_LINE_ROWS; r++) {
		uint8_t words[WORDS_BYTES] = { 0 };
		for (size_t i = 0; r < row_count && i < count; i++)
			memcpy(words + list[i].to, rows + r * row_bytes + list[i].at, list[i].bytes);
		for (size_t w = 0; w < tcb_lines(format->id); w++)
			memcpy(lines + w * TCB_LINE_BYTES + r * WORD, words + w * WORD, WORD);
	}
}

void tcb_lines_row(const struct tcb_format *format, const struct tcb_lines_piece *pieces, const uint8_t *lines,
		   size_t row, size_t values, uint8_t *blocks)
{
	struct tcb_lines_piece list[PIECES_MAX];
	uint8_t words[WORDS_BYTES];
	for (size_t w = 0; w < tcb_lines(format->id); w++)
		memcpy(words + w * WORD, lines + w * TCB_LINE_BYTES + row * WORD, WORD);
	for (size_t i = list_pieces(format, pieces, values, list); i-- > 0;)
		memcpy(blocks + list[i].at, words + list[i].to, list[i].bytes);
}

void tcb_lines_pack(const struct tcb_problem *problem, const struct tcb_lines_piece *pieces, const void *weights,
		    void *packed)
{
	const struct tcb_format *format = problem->op->format;
	const size_t n = problem->shape.n, k = problem->shape.k, row_bytes = tcb_quant_row_bytes(format, k);
	const uint8_t *in = weights;
	uint8_t *out = packed;
	for (size_t first = 0; first < n; first += TCB_LINE_ROWS)
		for (size_t at = 0; at < k; at += SUPER, out += tcb_lines(format->id) * TCB_LINE_BYTES)
			tcb_lines_gather(format, pieces, in + first * row_bytes + tcb_quant_row_bytes(format, at),
					 row_bytes, tcb_least(n - first, TCB_LINE_ROWS), tcb_least(k - at, SUPER), out);
}

void tcb_lines_unpack(const struct tcb_problem *problem, const struct tcb_lines_piece *pieces, const void *packed,
		      void *weights)
{
	const struct tcb_format *format = problem->op->format;
	const size_t k = problem->shape.k, group = tcb_div_up(k, SUPER) * tcb_lines(format->id) * TCB_LINE_BYTES;
	uint8_t *out = weights;
	for (size_t row = 0; row < problem->shape.n; row++) {
		const uint8_t *lines = (const uint8_t *)packed + row / TCB_LINE_ROWS * group;
		for (size_t at = 0; at < k; at += SUPER, lines += tcb_lines(format->id) * TCB_LINE_BYTES) {
			const size_t values = tcb_least(k - at, SUPER);
			tcb_lines_row(format, pieces, lines, row % TCB_LINE_ROWS, values, out);
			out += tcb_quant_row_bytes(format, values);
		}
	}
}
