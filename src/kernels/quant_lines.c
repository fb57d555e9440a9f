/* SPDX-License-Identifier: MIT
 *
 * Rows of blocks as stored to lines and back (quant_lines.h): four words of
 * four rows at a time are transposed in registers; only what is less than 16
 * bytes moves by itself.
 */
#include "kernels/quant_lines.h"

#include <string.h>

#include "base/sizes.h"

enum { SUPER = 256, WORD = 4, WORDS_BYTES = TCB_LINES_MAX * WORD, QUAD = 4, QUAD_BYTES = QUAD * WORD };

/* A register of any machine that has some of 16 bytes. */
typedef uint32_t quad __attribute__((vector_size(QUAD_BYTES)));

static inline quad quad_load(const uint8_t *at)
{
	quad out;
	memcpy(&out, at, sizeof(out));
	return out;
}

static inline void quad_store(uint8_t *at, quad v)
{
	memcpy(at, &v, sizeof(v));
}

static inline void transpose(quad v[QUAD])
{
	const quad a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5),
		   b = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7);
	const quad c = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5),
		   d = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
	v[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
	v[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
	v[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
	v[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

/* The 16 bytes at AT of each row to the four lines at LINES. */
static inline void gather_quads(const uint8_t *const row[TCB_LINE_ROWS], size_t at, uint8_t *lines)
{
	for (size_t r = 0; r < TCB_LINE_ROWS; r += QUAD) {
		quad v[QUAD];
		for (size_t i = 0; i < QUAD; i++)
			v[i] = quad_load(row[r + i] + at);
		transpose(v);
		for (size_t i = 0; i < QUAD; i++)
			quad_store(lines + i * TCB_LINE_BYTES + r * WORD, v[i]);
	}
}

static inline void scatter_quads(uint8_t *const row[TCB_LINE_ROWS], size_t at, const uint8_t *lines)
{
	for (size_t r = 0; r < TCB_LINE_ROWS; r += QUAD) {
		quad v[QUAD];
		for (size_t i = 0; i < QUAD; i++)
			v[i] = quad_load(lines + i * TCB_LINE_BYTES + r * WORD);
		transpose(v);
		for (size_t i = 0; i < QUAD; i++)
			quad_store(row[r + i] + at, v[i]);
	}
}

/* Byte TO of a row's words is at LINES plus this, for row 0. */
static inline size_t line_at(size_t to)
{
	return to / WORD * TCB_LINE_BYTES + to % WORD;
}

/* A piece is a byte, two, or so many words that the last four are four. */
static void gather_piece(const uint8_t *const row[TCB_LINE_ROWS], const struct tcb_lines_piece *piece, uint8_t *lines)
{
	uint8_t *to = lines + line_at(piece->to);
	size_t at = piece->at;
	const size_t end = at + piece->bytes;
	if (piece->bytes == 1)
		for (size_t r = 0; r < TCB_LINE_ROWS; r++)
			to[r * WORD] = row[r][at];
	else if (piece->bytes == 2)
		for (size_t r = 0; r < TCB_LINE_ROWS; r++)
			memcpy(to + r * WORD, row[r] + at, 2);
	else {
		for (; at + QUAD_BYTES <= end; at += QUAD_BYTES, to += QUAD * TCB_LINE_BYTES)
			gather_quads(row, at, to);
		if (at < end)
			gather_quads(row, end - QUAD_BYTES, to - (at + QUAD_BYTES - end) / WORD * TCB_LINE_BYTES);
	}
}

static void scatter_piece(uint8_t *const row[TCB_LINE_ROWS], const struct tcb_lines_piece *piece, const uint8_t *lines)
{
	const uint8_t *from = lines + line_at(piece->to);
	size_t at = piece->at;
	const size_t end = at + piece->bytes;
	if (piece->bytes == 1)
		for (size_t r = 0; r < TCB_LINE_ROWS; r++)
			row[r][at] = from[r * WORD];
	else if (piece->bytes == 2)
		for (size_t r = 0; r < TCB_LINE_ROWS; r++)
			memcpy(row[r] + at, from + r * WORD, 2);
	else {
		for (; at + QUAD_BYTES <= end; at += QUAD_BYTES, from += QUAD * TCB_LINE_BYTES)
			scatter_quads(row, at, from);
		if (at < end)
			scatter_quads(row, end - QUAD_BYTES, from - (at + QUAD_BYTES - end) / WORD * TCB_LINE_BYTES);
	}
}

void tcb_rows_gather(const struct tcb_format *format, const uint8_t *rows, size_t row_bytes, size_t row_count,
		     size_t values, uint8_t *out)
{
	const size_t bytes = tcb_quant_row_bytes(format, values), step = tcb_lines_row_bytes(format->id);
	for (size_t r = 0; r < TCB_LINE_ROWS; r++) {
		const size_t held = r < row_count ? bytes : 0;
		memcpy(out + r * step, rows + (held ? r * row_bytes : 0), held);
		memset(out + r * step + held, 0, step - held);
	}
}

static void gather_planes(const struct tcb_format *format, const uint8_t *rows, size_t row_bytes, size_t row_count,
			  size_t values, uint8_t *lines)
{
	uint32_t words[TCB_PLANES_WORDS_MAX] = { 0 };
	for (size_t r = 0; r < TCB_LINE_ROWS; r++) {
		if (r < row_count)
			tcb_planes_pack(format, rows + r * row_bytes, values / format->block_values, words);
		else
			memset(words, 0, sizeof(words));
		for (size_t w = 0; w < tcb_lines(format->id); w++)
			memcpy(lines + w * TCB_LINE_BYTES + r * WORD, &words[w], WORD);
	}
}

void tcb_lines_gather(const struct tcb_format *format, const uint8_t *rows, size_t row_bytes, size_t row_count,
		      size_t values, uint8_t *lines)
{
	static const uint8_t zeros[WORDS_BYTES];
	const uint8_t *row[TCB_LINE_ROWS];
	struct tcb_lines_piece list[TCB_LINES_PIECES_MAX];
	if (tcb_lines_are_rows(format->id)) {
		tcb_rows_gather(format, rows, row_bytes, row_count, values, lines);
		return;
	}
	if (tcb_is_expanded(format->id)) {
		gather_planes(format, rows, row_bytes, row_count, values, lines);
		return;
	}
	const size_t count = tcb_lines_pieces(format->id, values, list);
	for (size_t r = 0; r < TCB_LINE_ROWS; r++)
		row[r] = r < row_count ? rows + r * row_bytes : zeros;
	/* What no piece fills: all behind the last block, and half of the line of d alone. */
	memset(lines, 0, (values < SUPER ? tcb_lines(format->id) : 1) * TCB_LINE_BYTES);
	for (size_t i = 0; i < count; i++)
		gather_piece(row, &list[i], lines);
}

/* The inverse; rows from ROW_COUNT on go nowhere. */
static void scatter(const struct tcb_format *format, const uint8_t *lines, size_t row_bytes, size_t row_count,
		    size_t values, uint8_t *rows)
{
	uint8_t nowhere[WORDS_BYTES], *row[TCB_LINE_ROWS];
	struct tcb_lines_piece list[TCB_LINES_PIECES_MAX];
	const int row_by_row = tcb_lines_are_rows(format->id) || tcb_is_expanded(format->id);
	for (size_t r = 0; row_by_row && r < row_count; r++)
		tcb_lines_row(format, lines, r, values, rows + r * row_bytes);
	if (row_by_row)
		return;
	const size_t count = tcb_lines_pieces(format->id, values, list);
	for (size_t r = 0; r < TCB_LINE_ROWS; r++)
		row[r] = r < row_count ? rows + r * row_bytes : nowhere;
	for (size_t i = 0; i < count; i++)
		scatter_piece(row, &list[i], lines);
}

void tcb_lines_row(const struct tcb_format *format, const uint8_t *lines, size_t row, size_t values, uint8_t *blocks)
{
	struct tcb_lines_piece list[TCB_LINES_PIECES_MAX];
	_Alignas(uint32_t) uint8_t words[WORDS_BYTES];
	if (tcb_lines_are_rows(format->id)) {
		memcpy(blocks, lines + row * tcb_lines_row_bytes(format->id), tcb_quant_row_bytes(format, values));
		return;
	}
	for (size_t w = 0; w < tcb_lines(format->id); w++)
		memcpy(words + w * WORD, lines + w * TCB_LINE_BYTES + row * WORD, WORD);
	if (tcb_is_expanded(format->id)) {
		tcb_planes_unpack(format, (const uint32_t *)(const void *)words, values / format->block_values, blocks);
		return;
	}
	for (size_t i = tcb_lines_pieces(format->id, values, list); i-- > 0;)
		memcpy(blocks + list[i].at, words + list[i].to, list[i].bytes);
}

size_t tcb_lines_at(const struct tcb_problem *problem, size_t row, size_t column)
{
	return (row / TCB_LINE_ROWS * tcb_div_up(problem->shape.k, SUPER) + column / SUPER) *
	       tcb_lines(problem->op->format->id) * TCB_LINE_BYTES;
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
	for (size_t first = 0; first < n; first += TCB_LINE_ROWS, in += TCB_LINE_ROWS * row_bytes)
		for (size_t at = 0; at < k; at += SUPER, out += tcb_lines(format->id) * TCB_LINE_BYTES)
			tcb_lines_gather(format, in + tcb_quant_row_bytes(format, at), row_bytes,
					 tcb_least(n - first, TCB_LINE_ROWS), tcb_least(k - at, SUPER), out);
}

void tcb_lines_unpack(const struct tcb_problem *problem, const void *packed, void *weights)
{
	const struct tcb_format *format = problem->op->format;
	const size_t n = problem->shape.n, k = problem->shape.k, row_bytes = tcb_quant_row_bytes(format, k);
	const uint8_t *lines = packed;
	uint8_t *out = weights;
	for (size_t first = 0; first < n; first += TCB_LINE_ROWS, out += TCB_LINE_ROWS * row_bytes)
		for (size_t at = 0; at < k; at += SUPER, lines += tcb_lines(format->id) * TCB_LINE_BYTES)
			scatter(format, lines, row_bytes, tcb_least(n - first, TCB_LINE_ROWS), tcb_least(k - at, SUPER),
				out + tcb_quant_row_bytes(format, at));
}

/* --- layout r16g: superblocks are blocks --- */

void tcb_places_lines_pack(const struct tcb_problem *problem, const void *weights, void *packed)
{
	const struct tcb_format *format = problem->op->format;
	const size_t n = problem->shape.n, blocks = problem->shape.k / SUPER, lines = tcb_places_words(format->id);
	uint32_t words[TCB_PLANES_WORDS_MAX];
	uint8_t *out = packed;
	for (size_t row = 0; row < tcb_round_up(n, TCB_LINE_ROWS); row++)
		for (size_t b = 0; b < blocks; b++) {
			uint8_t *to = out + (row / TCB_LINE_ROWS * blocks + b) * lines * TCB_LINE_BYTES;
			if (row < n)
				tcb_places_pack(format,
						(const uint8_t *)weights + (row * blocks + b) * format->block_bytes,
						words);
			else
				memset(words, 0, sizeof(words));
			for (size_t w = 0; w < lines; w++)
				memcpy(to + w * TCB_LINE_BYTES + row % TCB_LINE_ROWS * WORD, &words[w], WORD);
		}
}

void tcb_places_lines_unpack(const struct tcb_problem *problem, const void *packed, void *weights)
{
	const struct tcb_format *format = problem->op->format;
	const size_t n = problem->shape.n, blocks = problem->shape.k / SUPER, lines = tcb_places_words(format->id);
	uint32_t words[TCB_PLANES_WORDS_MAX];
	for (size_t row = 0; row < n; row++)
		for (size_t b = 0; b < blocks; b++) {
			const uint8_t *from =
				(const uint8_t *)packed + (row / TCB_LINE_ROWS * blocks + b) * lines * TCB_LINE_BYTES;
			for (size_t w = 0; w < lines; w++)
				memcpy(&words[w], from + w * TCB_LINE_BYTES + row % TCB_LINE_ROWS * WORD, WORD);
			tcb_places_unpack(format, words, (uint8_t *)weights + (row * blocks + b) * format->block_bytes);
		}
}
