/* SPDX-License-Identifier: MIT
 *
 * Rows of blocks as stored to lines and back (quant_lines.h).
 */
#include "kernels/quant_lines.h"

#include <string.h>

#include "base/sizes.h"

enum { SUPER = 256, WORD = 4, WORDS_BYTES = TCB_LINES_MAX * WORD };

void tcb_lines_gather(const struct tcb_format *format, const uint8_t *rows, size_t row_bytes, size_t row_count,
		      size_t values, uint8_t *lines)
{
	struct tcb_lines_piece list[TCB_LINES_PIECES_MAX];
	const size_t count = tcb_lines_pieces(format->id, values, list);
	for (size_t r = 0; r < TCB_LINE_ROWS; r++) {
		uint8_t words[WORDS_BYTES] = { 0 };
		for (size_t i = 0; r < row_count && i < count; i++)
			memcpy(words + list[i].to, rows + r * row_bytes + list[i].at, list[i].bytes);
		for (size_t w = 0; w < tcb_lines(format->id); w++)
			memcpy(lines + w * TCB_LINE_BYTES + r * WORD, words + w * WORD, WORD);
	}
}

void tcb_lines_row(const struct tcb_format *format, const uint8_t *lines, size_t row, size_t values, uint8_t *blocks)
{
	struct tcb_lines_piece list[TCB_LINES_PIECES_MAX];
	uint8_t words[WORDS_BYTES];
	for (size_t w = 0; w < tcb_lines(format->id); w++)
		memcpy(words + w * WORD, lines + w * TCB_LINE_BYTES + row * WORD, WORD);
	for (size_t i = tcb_lines_pieces(format->id, values, list); i-- > 0;)
		memcpy(blocks + list[i].at, words + list[i].to, list[i].bytes);
}

size_t tcb_lines_bytes(const struct tcb_problem *problem)
{
	return tcb_div_up(problem->shape.n, TCB_LINE_ROWS) * tcb_div_up(problem->shape.k, SUPER) *
	       tcb_lines(problem->op->format->id) * TCB_LINE_BYTES;
}

void tcb_lines_pack(const struct tcb_problem *problem, const void *weights, void *packed)
{
	const struct tcb_format *format = problem->op->format;
	const size_t n = problem->shape.n, k = problem->shape.k, row_bytes = tcb_quant_row_bytes(format, k);
	const uint8_t *in = weights;
	uint8_t *out = packed;
	for (size_t first = 0; first < n; first += TCB_LINE_ROWS)
		for (size_t at = 0; at < k; at += SUPER, out += tcb_lines(format->id) * TCB_LINE_BYTES)
			tcb_lines_gather(format, in + first * row_bytes + tcb_quant_row_bytes(format, at), row_bytes,
					 tcb_least(n - first, TCB_LINE_ROWS), tcb_least(k - at, SUPER), out);
}

void tcb_lines_unpack(const struct tcb_problem *problem, const void *packed, void *weights)
{
	const struct tcb_format *format = problem->op->format;
	const size_t k = problem->shape.k, group = tcb_div_up(k, SUPER) * tcb_lines(format->id) * TCB_LINE_BYTES;
	uint8_t *out = weights;
	for (size_t row = 0; row < problem->shape.n; row++) {
		const uint8_t *lines = (const uint8_t *)packed + row / TCB_LINE_ROWS * group;
		for (size_t at = 0; at < k; at += SUPER, lines += tcb_lines(format->id) * TCB_LINE_BYTES) {
			const size_t values = tcb_least(k - at, SUPER);
			tcb_lines_row(format, lines, row % TCB_LINE_ROWS, values, out);
			out += tcb_quant_row_bytes(format, values);
		}
	}
}
