/* SPDX-License-Identifier: MIT
 *
 * Blocks of formats with grids to words of places and back (places.h).  Places
 * and signs are bytes on the way: eight values' signs, the last one what makes
 * the others even.
 */
#include "kernels/decode/places.h"

#include <string.h>

enum { RUNS = 8, EIGHTS = 32, HEAD_BYTES = 12, WORD = 4 };

/* A block taken apart: scales as words have them, places of entries in the order of values, signs of each eight. */
struct parts {
	uint8_t head[HEAD_BYTES];
	uint16_t place[2 * EIGHTS];
	uint8_t sign[EIGHTS];
};

static uint8_t made_even(unsigned seven)
{
	return (uint8_t)(seven | (unsigned)__builtin_parity(seven) << 7);
}

/* The seven signs of each of the four eights in a word, whose upper four bits are run R's scale. */
static void take_sevens(uint32_t word, size_t r, struct parts *out)
{
	for (size_t g = 0; g < 4; g++)
		out->sign[4 * r + g] = made_even(word >> 7 * g & 127);
	out->head[4 + r / 2] = (uint8_t)(out->head[4 + r / 2] | word >> 28 << r % 2 * 4);
}

static uint32_t sevens_of(const struct parts *parts, size_t r)
{
	uint32_t word = (uint32_t)(parts->head[4 + r / 2] >> r % 2 * 4 & 15) << 28;
	for (size_t g = 0; g < 4; g++)
		word |= (uint32_t)(parts->sign[4 * r + g] & 127) << 7 * g;
	return word;
}

static void take_block(enum tcb_format_id id, const uint8_t *block, struct parts *out)
{
	uint32_t word;
	memset(out, 0, sizeof(*out));
	memcpy(out->head, block, 2);
	if (id == TCB_FORMAT_IQ2_XS) {
		memcpy(out->head + 4, block + 66, 8);
		for (size_t e = 0; e < EIGHTS; e++) {
			const unsigned both = block[2 + 2 * e] | (unsigned)block[3 + 2 * e] << 8;
			out->place[e] = both & 511;
			out->sign[e] = made_even(both >> 9);
		}
		return;
	}
	const size_t at = id == TCB_FORMAT_IQ3_XXS ? 66 : 6, step = id == TCB_FORMAT_IQ3_XXS ? 4 : 8;
	for (size_t r = 0; r < RUNS; r++) {
		memcpy(&word, block + at + step * r, sizeof(word));
		take_sevens(word, r, out);
		for (size_t i = 0; i < 12 - step; i++)
			out->place[(12 - step) * r + i] = block[2 + 8 * r + i];
	}
}

static void put_block(enum tcb_format_id id, const struct parts *parts, uint8_t *block)
{
	memcpy(block, parts->head, 2);
	if (id == TCB_FORMAT_IQ2_XS) {
		memcpy(block + 66, parts->head + 4, 8);
		for (size_t e = 0; e < EIGHTS; e++) {
			const unsigned both = parts->place[e] | (parts->sign[e] & 127u) << 9;
			block[2 + 2 * e] = (uint8_t)both;
			block[3 + 2 * e] = (uint8_t)(both >> 8);
		}
		return;
	}
	const size_t at = id == TCB_FORMAT_IQ3_XXS ? 66 : 6, step = id == TCB_FORMAT_IQ3_XXS ? 4 : 8;
	for (size_t r = 0; r < RUNS; r++) {
		const uint32_t word = sevens_of(parts, r);
		memcpy(block + at + step * r, &word, sizeof(word));
		for (size_t i = 0; i < 12 - step; i++)
			block[2 + 8 * r + i] = (uint8_t)parts->place[(12 - step) * r + i];
	}
}

/* Byte B of place word H of run R is entry: */
static size_t entry_of(int values, size_t r, size_t h, size_t b)
{
	return values == 8 ? 4 * r + b : 8 * r + 4 * h + (b % 2 * 2 + b / 2);
}

/* The signs of a run: that of the value whose place in order is I is this bit of its word. */
static size_t sign_bit(int values, size_t i)
{
	const size_t h = i / 16, v = i % 16 / 4, b = i % 4;
	return 8 * b + (values == 8 ? 2 - 2 * h + 2 * (v & 2) + (v & 1) : 3 - 2 * h - v / 2 + 4 * (v & 1));
}

void tcb_places_pack(const struct tcb_format *format, const uint8_t *block, uint32_t words[TCB_PLANES_WORDS_MAX])
{
	const int values = tcb_places_values(format->id);
	const size_t head = tcb_places_head(format->id), run_words = tcb_places_run_words(format->id);
	const size_t scale_words = (size_t)tcb_planes_of(format->id)->head_words;
	struct parts parts;
	take_block(format->id, block, &parts);
	memset(words, 0, tcb_places_words(format->id) * sizeof(*words));
	memcpy(words, parts.head, scale_words * WORD);
	for (size_t r = 0; r < RUNS; r++) {
		uint32_t *run = words + head + r * run_words;
		for (size_t b = 0; b < WORD; b++) {
			for (size_t h = 0; h + 1 < run_words; h++) {
				const unsigned place = parts.place[entry_of(values, r, h, b)];
				run[h] |= (uint32_t)(place & 255) << 8 * b;
				if (tcb_places_bits(format->id) > 8)
					words[scale_words] |= (uint32_t)(place >> 8) << (8 * b + r);
			}
		}
		for (size_t i = 0; i < 32; i++) {
			const size_t v = 32 * r + tcb_places_order(i);
			run[run_words - 1] |= (uint32_t)(parts.sign[v / 8] >> v % 8 & 1) << sign_bit(values, i);
		}
	}
}

void tcb_places_unpack(const struct tcb_format *format, const uint32_t words[TCB_PLANES_WORDS_MAX], uint8_t *block)
{
	const int values = tcb_places_values(format->id);
	const size_t head = tcb_places_head(format->id), run_words = tcb_places_run_words(format->id);
	const size_t scale_words = (size_t)tcb_planes_of(format->id)->head_words;
	struct parts parts = { .place = { 0 } };
	memcpy(parts.head, words, scale_words * WORD);
	for (size_t r = 0; r < RUNS; r++) {
		const uint32_t *run = words + head + r * run_words;
		for (size_t b = 0; b < WORD; b++) {
			for (size_t h = 0; h + 1 < run_words; h++) {
				uint16_t *place = &parts.place[entry_of(values, r, h, b)];
				*place = run[h] >> 8 * b & 255;
				if (tcb_places_bits(format->id) > 8)
					*place = (uint16_t)(*place | (words[scale_words] >> (8 * b + r) & 1) << 8);
			}
		}
		for (size_t i = 0; i < 32; i++) {
			const size_t v = 32 * r + tcb_places_order(i);
			const uint32_t sign = run[run_words - 1] >> sign_bit(values, i) & 1;
			parts.sign[v / 8] = (uint8_t)(parts.sign[v / 8] | sign << v % 8);
		}
	}
	put_block(format->id, &parts, block);
}
