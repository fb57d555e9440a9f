/* SPDX-License-Identifier: MIT
 *
 * Blocks of expanded formats to words of planes and back (planes.h), a row of
 * 256 values at a time.  Each format says how its numbers and its scales lie in
 * a block (struct form); how they lie in words is the same for all.
 */
#include "kernels/decode/planes.h"

#include <string.h>

#include "kernels/decode/formats_expand.h"

enum { SUPER = 256, HEAD_BYTES_MAX = 32, RUN = 32, EIGHT = 8 };

/* A block's values as numbers and back; its scales, block B of the row's, and back. */
struct form {
	void (*numbers)(const struct tcb_format *f, const uint8_t *block, uint8_t *number);
	void (*codes)(const struct tcb_format *f, const uint8_t *number, uint8_t *block);
	void (*head)(const uint8_t *block, size_t b, uint8_t *head);
	void (*scales)(const uint8_t *head, size_t b, uint8_t *block);
};

static unsigned nibble_at(const uint8_t *bytes, size_t i)
{
	return bytes[i / 2] >> i % 2 * 4 & 15u;
}

/* Bits of VALUE into bytes that were 0. */
static void put_bits(uint8_t *bytes, size_t bit, unsigned value)
{
	bytes[bit / 8] = (uint8_t)(bytes[bit / 8] | value << bit % 8);
}

static void put_two(uint8_t *at, unsigned word)
{
	at[0] = (uint8_t)word;
	at[1] = (uint8_t)(word >> 8);
}

/* --- numbers --- */

/* Of most formats: codes, or where there is a table their places in it, the first of equal ones. */
static void numbers_of_codes(const struct tcb_format *f, const uint8_t *block, uint8_t *number)
{
	struct tcb_codes codes;
	uint8_t place[256] = { 0 };
	tcb_expand_block(f->id, block, codes.code, codes.scale, codes.offset);
	for (int i = 16; tcb_has_table(f->id) && i-- > 0;)
		place[(uint8_t)f->table[i]] = (uint8_t)i;
	for (size_t i = 0; i < f->block_values; i++)
		number[i] = tcb_has_table(f->id) ? place[(uint8_t)codes.code[i]] : (uint8_t)codes.code[i];
}

/* Of Q5_0 and Q5_1, whose fifth bits are the four bytes before the nibbles; of Q4_1. */
static void put_nibbles(const uint8_t *number, uint8_t *nibbles)
{
	for (size_t i = 0; i < RUN / 2; i++)
		nibbles[i] = (uint8_t)((number[i] & 15) | number[i + RUN / 2] << 4);
}

static void put_fives(const uint8_t *number, uint8_t *fifths)
{
	put_nibbles(number, fifths + 4);
	memset(fifths, 0, 4);
	for (size_t i = 0; i < RUN; i++)
		put_bits(fifths, i, number[i] >> 4 & 1);
}

static void codes_q5_0(const struct tcb_format *f, const uint8_t *number, uint8_t *block)
{
	(void)f;
	put_fives(number, block + 2);
}

static void codes_q5_1(const struct tcb_format *f, const uint8_t *number, uint8_t *block)
{
	(void)f;
	put_fives(number, block + 4);
}

static void codes_q4_1(const struct tcb_format *f, const uint8_t *number, uint8_t *block)
{
	(void)f;
	put_nibbles(number, block + 4);
}

/* Two bits of 128 values in 32 bytes. */
static void put_twos(const uint8_t *number, uint8_t *low)
{
	memset(low, 0, SUPER / 4);
	for (size_t i = 0; i < SUPER; i++)
		put_bits(low, 8 * (i / 128 * RUN + i % RUN) + i / RUN % 4 * 2, number[i] & 3);
}

static void codes_q3_k(const struct tcb_format *f, const uint8_t *number, uint8_t *block)
{
	(void)f;
	put_twos(number, block + 32);
	memset(block, 0, RUN);
	for (size_t i = 0; i < SUPER; i++)
		put_bits(block, 8 * (i % RUN) + i / RUN, number[i] >> 2 & 1);
}

static void codes_q2_k(const struct tcb_format *f, const uint8_t *number, uint8_t *block)
{
	(void)f;
	put_twos(number, block + 16);
}

static void numbers_nvfp4(const struct tcb_format *f, const uint8_t *block, uint8_t *number)
{
	for (size_t i = 0; i < f->block_values; i++) {
		const uint8_t byte = block[4 + i / 16 * EIGHT + i % EIGHT];
		number[i] = i / EIGHT % 2 ? byte >> 4 : byte & 15;
	}
}

static void codes_nvfp4(const struct tcb_format *f, const uint8_t *number, uint8_t *block)
{
	for (size_t i = 0; i < f->block_values / 2; i++) {
		const uint8_t *from = number + i / EIGHT * 16 + i % EIGHT;
		block[4 + i] = (uint8_t)(from[0] | from[EIGHT] << 4);
	}
}

/* --- places in grids: entries are in ascending order of their values, the last value counting most --- */

/* The values that NUMBER say, as an entry has them; signs are left out. */
static uint64_t entry_of(const struct tcb_format *f, const uint8_t *number, size_t count)
{
	uint64_t entry = 0;
	for (size_t i = 0; i < count; i++)
		entry |= (uint64_t)(uint8_t)f->table[number[i] & (count == EIGHT ? 3 : 7)] << 8 * i;
	return entry;
}

static unsigned place_of_eight(const uint64_t *grid, unsigned entries, uint64_t entry)
{
	unsigned first = 0;
	for (unsigned half = entries / 2; half > 0; half /= 2)
		if (grid[first + half] <= entry)
			first += half;
	return first;
}

static unsigned place_of_four(const uint32_t *grid, unsigned entries, uint64_t entry)
{
	unsigned first = 0;
	for (unsigned half = entries / 2; half > 0; half /= 2)
		if (grid[first + half] <= entry)
			first += half;
	return first;
}

/* The same of -8, 0 and 8, all of them 8 more. */
static unsigned place_of_signed(const uint8_t *number)
{
	uint64_t entry = 0;
	unsigned first = 0;
	for (size_t i = 0; i < EIGHT; i++)
		entry |= (uint64_t)(number[i] & 3) << (8 * i + 3);
	for (unsigned half = 1024; half > 0; half /= 2) {
		const uint64_t stored = tcb_grid_iq1[first + half], low = expand_each(0x7f);
		const uint64_t more = ((stored & low) + expand_each(8)) ^ (stored & ~low); /* byte by byte */
		if (more <= entry)
			first += half;
	}
	return first;
}

/* Signs of eight values: bit SIGN of their numbers. */
static unsigned signs_of(const uint8_t *number, unsigned sign)
{
	unsigned signs = 0;
	for (unsigned i = 0; i < EIGHT; i++)
		signs |= (number[i] >> sign & 1u) << i;
	return signs;
}

/* The first seven signs of each eight of 32 values. */
static uint32_t sevens_of(const uint8_t *number, unsigned sign)
{
	uint32_t word = 0;
	for (unsigned i = 0; i < 4; i++)
		word |= (uint32_t)(signs_of(number + EIGHT * i, sign) & 127) << 7 * i;
	return word;
}

/* Words of sevens, whose upper four bits are scales. */
static void put_sevens(uint8_t *at, uint32_t sevens)
{
	uint32_t word;
	memcpy(&word, at, sizeof(word));
	word = (word & 0xf0000000) | sevens;
	memcpy(at, &word, sizeof(word));
}

static void codes_iq3_xxs(const struct tcb_format *f, const uint8_t *number, uint8_t *block)
{
	for (size_t i = 0; i < SUPER / 4; i++)
		block[2 + i] = (uint8_t)place_of_four(tcb_grid_iq3_xxs, 256, entry_of(f, number + 4 * i, 4));
	for (size_t run = 0; run < 8; run++)
		put_sevens(block + 66 + 4 * run, sevens_of(number + RUN * run, 3));
}

static void codes_iq3_s(const struct tcb_format *f, const uint8_t *number, uint8_t *block)
{
	memset(block + 66, 0, 8);
	for (size_t i = 0; i < SUPER / 4; i++) {
		const unsigned place = place_of_four(tcb_grid_iq3_s, 512, entry_of(f, number + 4 * i, 4));
		block[2 + i] = (uint8_t)place;
		put_bits(block + 66, i, place >> 8);
	}
	for (size_t i = 0; i < SUPER / EIGHT; i++)
		block[74 + i] = (uint8_t)signs_of(number + EIGHT * i, 3);
}

static void codes_iq2_s(const struct tcb_format *f, const uint8_t *number, uint8_t *block)
{
	memset(block + 66, 0, 8);
	for (size_t i = 0; i < SUPER / EIGHT; i++, number += EIGHT) {
		const unsigned place = place_of_eight(tcb_grid_iq2_s, 1024, entry_of(f, number, EIGHT));
		block[2 + i] = (uint8_t)place;
		block[34 + i] = (uint8_t)signs_of(number, 2);
		put_bits(block + 66, 2 * i, place >> 8);
	}
}

static void codes_iq2_xs(const struct tcb_format *f, const uint8_t *number, uint8_t *block)
{
	for (size_t i = 0; i < SUPER / EIGHT; i++, number += EIGHT)
		put_two(block + 2 + 2 * i, place_of_eight(tcb_grid_iq2_xs, 512, entry_of(f, number, EIGHT)) |
						   (signs_of(number, 2) & 127) << 9);
}

static void codes_iq2_xxs(const struct tcb_format *f, const uint8_t *number, uint8_t *block)
{
	for (size_t i = 0; i < SUPER / EIGHT; i++)
		block[2 + i / 4 * 8 + i % 4] =
			(uint8_t)place_of_eight(tcb_grid_iq2_xxs, 256, entry_of(f, number + EIGHT * i, EIGHT));
	for (size_t run = 0; run < 8; run++)
		put_sevens(block + 6 + 8 * run, sevens_of(number + RUN * run, 2));
}

/* Four places of three bits more in a word, whose upper four bits are scale and mark. */
static void codes_iq1_s(const struct tcb_format *f, const uint8_t *number, uint8_t *block)
{
	(void)f;
	for (size_t run = 0; run < 8; run++) {
		uint8_t *word = block + 34 + 2 * run;
		unsigned high = (unsigned)(word[1] & 0xf0) << 8;
		for (size_t i = 0; i < 4; i++, number += EIGHT) {
			const unsigned place = place_of_signed(number);
			block[2 + 4 * run + i] = (uint8_t)place;
			high |= place >> 8 << 3 * i;
		}
		put_two(word, high);
	}
}

/* A nibble of three bits more, and the mark. */
static void codes_iq1_m(const struct tcb_format *f, const uint8_t *number, uint8_t *block)
{
	(void)f;
	for (size_t i = 0; i < SUPER / EIGHT; i++, number += EIGHT) {
		const unsigned place = place_of_signed(number);
		block[i] = (uint8_t)place;
		block[32 + i / 2] = (uint8_t)((block[32 + i / 2] & ~(7u << i % 2 * 4)) | place >> 8 << i % 2 * 4);
	}
}

/* --- scales --- */

static void head_half(const uint8_t *block, size_t b, uint8_t *head)
{
	memcpy(head + 2 * b, block, 2);
}

static void scales_half(const uint8_t *head, size_t b, uint8_t *block)
{
	memcpy(block, head + 2 * b, 2);
}

static void head_four(const uint8_t *block, size_t b, uint8_t *head)
{
	memcpy(head + 4 * b, block, 4);
}

static void scales_four(const uint8_t *head, size_t b, uint8_t *block)
{
	memcpy(block, head + 4 * b, 4);
}

/* Of Q3_K's 12 bytes run r has a nibble of the first eight, low ones first, and two bits of the last four. */
static void head_q3_k(const uint8_t *block, size_t b, uint8_t *head)
{
	const uint8_t *packed = block + 96;
	(void)b;
	memcpy(head, block + 108, 2);
	for (size_t r = 0; r < 16; r++) {
		put_bits(head + 4, 4 * r, packed[r % 8] >> r / 8 * 4 & 15u);
		put_bits(head + 12, 2 * r, packed[8 + r % 4] >> r / 4 * 2 & 3u);
	}
}

static void scales_q3_k(const uint8_t *head, size_t b, uint8_t *block)
{
	uint8_t *packed = block + 96;
	(void)b;
	memcpy(block + 108, head, 2);
	memset(packed, 0, 12);
	for (size_t r = 0; r < 16; r++) {
		put_bits(packed, 8 * (r % 8) + r / 8 * 4, nibble_at(head + 4, r));
		put_bits(packed + 8, 8 * (r % 4) + r / 4 * 2, head[12 + r / 4] >> r % 4 * 2 & 3u);
	}
}

static void head_q2_k(const uint8_t *block, size_t b, uint8_t *head)
{
	(void)b;
	memcpy(head, block + 80, 4);
	memcpy(head + 4, block, 16);
}

static void scales_q2_k(const uint8_t *head, size_t b, uint8_t *block)
{
	(void)b;
	memcpy(block + 80, head, 4);
	memcpy(block, head + 4, 16);
}

/* d, and nibbles as they are from byte AT of the block on. */
#define NIBBLES(name, at, bytes)                                                 \
	static void head_##name(const uint8_t *block, size_t b, uint8_t *head)   \
	{                                                                        \
		(void)b;                                                         \
		memcpy(head, block, 2);                                          \
		memcpy(head + 4, block + (at), bytes);                           \
	}                                                                        \
	static void scales_##name(const uint8_t *head, size_t b, uint8_t *block) \
	{                                                                        \
		(void)b;                                                         \
		memcpy(block, head, 2);                                          \
		memcpy(block + (at), head + 4, bytes);                           \
	}
NIBBLES(iq3_s, 106, 4)
NIBBLES(iq2_s, 74, 8)
NIBBLES(iq2_xs, 66, 8)

/* d, and a nibble on top of words: the last of STEP bytes, from byte AT on. */
#define TOPS(name, at, step)                                                                         \
	static void head_##name(const uint8_t *block, size_t b, uint8_t *head)                       \
	{                                                                                            \
		(void)b;                                                                             \
		memcpy(head, block, 2);                                                              \
		for (size_t r = 0; r < 8; r++)                                                       \
			put_bits(head + 4, 4 * r, block[(at) + (step) * (r + 1) - 1] >> 4);          \
	}                                                                                            \
	static void scales_##name(const uint8_t *head, size_t b, uint8_t *block)                     \
	{                                                                                            \
		(void)b;                                                                             \
		memcpy(block, head, 2);                                                              \
		for (size_t r = 0; r < 8; r++)                                                       \
			block[(at) + (step) * (r + 1) - 1] = (uint8_t)(nibble_at(head + 4, r) << 4); \
	}
TOPS(iq3_xxs, 66, 4)
TOPS(iq2_xxs, 2, 8)
TOPS(iq1_s, 34, 2)

/* Three bits a run in words of four and of a nibble of d. */
static void head_iq1_m(const uint8_t *block, size_t b, uint8_t *head)
{
	(void)b;
	for (size_t i = 0; i < 4; i++)
		put_bits(head, 4 * i, block[49 + 2 * i] >> 4);
	for (size_t r = 0; r < 16; r++) {
		const unsigned word = block[48 + r / 4 * 2] | (unsigned)block[49 + r / 4 * 2] << 8;
		const unsigned marks = block[32 + r];
		put_bits(head + 4, 4 * r, (word >> r % 4 * 3 & 7) | (marks >> 3 & 1) << 3);
		put_bits(head + 2, r, marks >> 7 & 1);
	}
}

static void scales_iq1_m(const uint8_t *head, size_t b, uint8_t *block)
{
	(void)b;
	for (size_t i = 0; i < 4; i++) {
		unsigned word = nibble_at(head, i) << 12;
		for (size_t r = 4 * i; r < 4 * (i + 1); r++)
			word |= (nibble_at(head + 4, r) & 7) << r % 4 * 3;
		put_two(block + 48 + 2 * i, word);
	}
	for (size_t r = 0; r < 16; r++)
		block[32 + r] = (uint8_t)((nibble_at(head + 4, r) & 8) | (head[2 + r / 8] >> r % 8 & 1u) << 7);
}

static const struct form forms[TCB_FORMAT_CODE_COUNT] = {
	[TCB_FORMAT_Q5_0] = { numbers_of_codes, codes_q5_0, head_half, scales_half },
	[TCB_FORMAT_Q5_1] = { numbers_of_codes, codes_q5_1, head_four, scales_four },
	[TCB_FORMAT_Q4_1] = { numbers_of_codes, codes_q4_1, head_four, scales_four },
	[TCB_FORMAT_Q3_K] = { numbers_of_codes, codes_q3_k, head_q3_k, scales_q3_k },
	[TCB_FORMAT_Q2_K] = { numbers_of_codes, codes_q2_k, head_q2_k, scales_q2_k },
	[TCB_FORMAT_IQ3_S] = { numbers_of_codes, codes_iq3_s, head_iq3_s, scales_iq3_s },
	[TCB_FORMAT_IQ3_XXS] = { numbers_of_codes, codes_iq3_xxs, head_iq3_xxs, scales_iq3_xxs },
	[TCB_FORMAT_IQ2_S] = { numbers_of_codes, codes_iq2_s, head_iq2_s, scales_iq2_s },
	[TCB_FORMAT_IQ2_XS] = { numbers_of_codes, codes_iq2_xs, head_iq2_xs, scales_iq2_xs },
	[TCB_FORMAT_IQ2_XXS] = { numbers_of_codes, codes_iq2_xxs, head_iq2_xxs, scales_iq2_xxs },
	[TCB_FORMAT_IQ1_S] = { numbers_of_codes, codes_iq1_s, head_iq1_s, scales_iq1_s },
	[TCB_FORMAT_IQ1_M] = { numbers_of_codes, codes_iq1_m, head_iq1_m, scales_iq1_m },
	[TCB_FORMAT_NVFP4] = { numbers_nvfp4, codes_nvfp4, head_four, scales_four },
};

/* --- words --- */

/* Where the parts of step S of all 64 are: word of the low bits and the first of theirs, word of the high bit. */
struct place {
	size_t low, high;
	unsigned shift, bit;
};

static struct place place_of(const struct tcb_format *format, size_t s)
{
	const struct tcb_planes *planes = tcb_planes_of(format->id);
	const size_t group = s / TCB_PLANES_STEPS, step = s % TCB_PLANES_STEPS;
	const size_t first = (size_t)planes->head_words + group * tcb_planes_group_words(format->id);
	struct place place = { .low = first + step % 4, .shift = (unsigned)(step / 4) * 2 };
	if (planes->low_bits == 4) {
		place.low += step / 8 * 4;
		place.shift = (unsigned)(step / 4 % 2) * 4;
	}
	place.high = first + 2 * (size_t)planes->low_bits + step / 8;
	place.bit = (unsigned)(step % 8);
	return place;
}

void tcb_planes_pack(const struct tcb_format *format, const uint8_t *blocks, size_t block_count,
		     uint32_t words[TCB_PLANES_WORDS_MAX])
{
	const struct tcb_planes *planes = tcb_planes_of(format->id);
	const uint32_t low_mask = (planes->low_bits == 4 ? 15u : 3u) * 0x01010101u;
	const struct form *form = &forms[format->id];
	uint8_t number[SUPER] = { 0 }, head[HEAD_BYTES_MAX] = { 0 };
	for (size_t b = 0; b < block_count; b++) {
		form->numbers(format, blocks + b * format->block_bytes, number + b * format->block_values);
		form->head(blocks + b * format->block_bytes, b, head);
	}
	memset(words, 0, tcb_planes_words(format->id) * sizeof(*words));
	memcpy(words, head, (size_t)planes->head_words * sizeof(*words));
	for (size_t s = 0; s < SUPER / 4; s++) {
		const struct place place = place_of(format, s);
		uint32_t four;
		memcpy(&four, number + 4 * s, sizeof(four));
		words[place.low] |= (four & low_mask) << place.shift;
		if (planes->high_bits)
			words[place.high] |= (four >> planes->low_bits & 0x01010101u) << place.bit;
	}
}

void tcb_planes_unpack(const struct tcb_format *format, const uint32_t words[TCB_PLANES_WORDS_MAX], size_t block_count,
		       uint8_t *blocks)
{
	const struct tcb_planes *planes = tcb_planes_of(format->id);
	const uint32_t low_mask = (planes->low_bits == 4 ? 15u : 3u) * 0x01010101u;
	const struct form *form = &forms[format->id];
	uint8_t number[SUPER], head[HEAD_BYTES_MAX];
	memcpy(head, words, (size_t)planes->head_words * sizeof(*words));
	for (size_t s = 0; s < SUPER / 4; s++) {
		const struct place place = place_of(format, s);
		uint32_t four = words[place.low] >> place.shift & low_mask;
		if (planes->high_bits)
			four |= (words[place.high] >> place.bit & 0x01010101u) << planes->low_bits;
		memcpy(number + 4 * s, &four, sizeof(four));
	}
	/* Scales first: of some formats codes share bytes with them. */
	for (size_t b = 0; b < block_count; b++) {
		form->scales(head, b, blocks + b * format->block_bytes);
		form->codes(format, number + b * format->block_values, blocks + b * format->block_bytes);
	}
}
