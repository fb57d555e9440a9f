/* SPDX-License-Identifier: MIT
 *
 * Layout r16 of all formats but Q4_K (quant_matvec.h).  In: rows of blocks as
 * stored.  Out: groups of 16 rows as lines.  Packing loses nothing; unpacking
 * gives the stored bytes back.
 */
#include <string.h>

#include "kernels/quant_matvec/quant_matvec_pack.h"

enum { WORD = 4, LINES_MAX = 68, SMALL = 32, HEADS = 8 };

/*
 * Pieces of a block of q6_k in the order in which kernels need them, so that they read line after line: what belongs to
 * all of it, then for each half the high bits and the low.
 */
static const struct piece {
	size_t at, bytes, word;
} q6k_pieces[] = { { 208, 2, 0 }, { 192, 16, 1 }, { 128, 32, 5 }, { 0, 64, 13 }, { 160, 32, 29 }, { 64, 64, 37 } };
enum { Q6K_PIECES = sizeof(q6k_pieces) / sizeof(q6k_pieces[0]) };

/* The words of one row's superblock of VALUES values. */
static void row_to_words(const struct tcb_format *format, const uint8_t *blocks, size_t values,
			 uint8_t words[LINES_MAX * WORD])
{
	const size_t head = format->codes_at, codes = format->block_bytes - head;
	memset(words, 0, LINES_MAX * WORD);
	if (format->block_values == QMV_SUPER && format->id != TCB_FORMAT_Q6_K)
		memcpy(words, blocks, format->block_bytes);
	for (const struct piece *p = q6k_pieces; format->id == TCB_FORMAT_Q6_K && p < q6k_pieces + Q6K_PIECES; p++)
		memcpy(words + p->word * WORD, blocks + p->at, p->bytes);
	for (size_t b = 0; format->block_values == SMALL && b < values / SMALL; b++, blocks += format->block_bytes) {
		memcpy(words + head * b, blocks, head);
		memcpy(words + HEADS * head + b * codes, blocks + head, codes);
	}
}

static void words_to_row(const struct tcb_format *format, const uint8_t words[LINES_MAX * WORD], size_t values,
			 uint8_t *blocks)
{
	const size_t head = format->codes_at, codes = format->block_bytes - head;
	if (format->block_values == QMV_SUPER && format->id != TCB_FORMAT_Q6_K)
		memcpy(blocks, words, format->block_bytes);
	for (const struct piece *p = q6k_pieces; format->id == TCB_FORMAT_Q6_K && p < q6k_pieces + Q6K_PIECES; p++)
		memcpy(blocks + p->at, words + p->word * WORD, p->bytes);
	for (size_t b = 0; format->block_values == SMALL && b < values / SMALL; b++, blocks += format->block_bytes) {
		memcpy(blocks, words + head * b, head);
		memcpy(blocks + head, words + HEADS * head + b * codes, codes);
	}
}

void qmv_lines_pack(const struct tcb_problem *problem, const void *weights, void *packed)
{
	const struct tcb_format *format = problem->op->format;
	const size_t n = problem->shape.n, k = problem->shape.k, row_bytes = tcb_quant_row_bytes(format, k);
	const size_t lines = qmv_lines(format->id);
	const uint8_t *in = weights;
	uint8_t words[LINES_MAX * WORD], *out = packed;
	for (size_t first = 0; first < n; first += QMV_ROWS)
		for (size_t at = 0; at < k; at += QMV_SUPER, out += lines * QMV_LINE)
			for (size_t r = 0; r < QMV_ROWS; r++) {
				const size_t values = k - at < QMV_SUPER ? k - at : QMV_SUPER;
				memset(words, 0, sizeof(words));
				if (first + r < n)
					row_to_words(format,
						     in + (first + r) * row_bytes + tcb_quant_row_bytes(format, at),
						     values, words);
				for (size_t w = 0; w < lines; w++)
					memcpy(out + w * QMV_LINE + r * WORD, words + w * WORD, WORD);
			}
}

void qmv_lines_unpack(const struct tcb_problem *problem, const void *packed, void *weights)
{
	const struct tcb_format *format = problem->op->format;
	const size_t n = problem->shape.n, k = problem->shape.k, row_bytes = tcb_quant_row_bytes(format, k);
	const size_t lines = qmv_lines(format->id), supers = (k + QMV_SUPER - 1) / QMV_SUPER;
	const uint8_t *in = packed;
	uint8_t words[LINES_MAX * WORD], *out = weights;
	for (size_t row = 0; row < n; row++)
		for (size_t b = 0; b < supers; b++) {
			const size_t left = k - b * QMV_SUPER, values = left < QMV_SUPER ? left : QMV_SUPER;
			const uint8_t *from = in + (row / QMV_ROWS * supers + b) * lines * QMV_LINE;
			for (size_t w = 0; w < lines; w++)
				memcpy(words + w * WORD, from + w * QMV_LINE + row % QMV_ROWS * WORD, WORD);
			words_to_row(format, words, values,
				     out + row * row_bytes + tcb_quant_row_bytes(format, b * QMV_SUPER));
		}
}
