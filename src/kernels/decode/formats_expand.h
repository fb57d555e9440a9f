/* SPDX-License-Identifier: MIT
 *
 * Blocks of formats whose codes are no plain fields of bits (TCB_CODES_EXPANDED
 * of formats.h) to bytes, scales and offsets, a function each: the only place
 * that says how such a block is laid out (ggml's layouts, as gguf-py and
 * llama.cpp describe them).  In: a block as stored.  Out: CODE, above what it is by the row's centre, and SCALE and
 * OFFSET of each run; formats without offsets leave these alone.  It is compiled
 * for each instruction family; what few functions do with 32 bytes is written
 * for vectors too.
 *
 * All scales are exact: a half times an integer of a few bits.
 */
#ifndef TCB_KERNELS_FORMATS_EXPAND_H
#define TCB_KERNELS_FORMATS_EXPAND_H

#include <string.h>
#if defined(__F16C__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#include "kernels/decode/formats_grids.h"
#include "kernels/formats.h"
#include "kernels/simd/simd_inline.h"

SIMD_INLINE float expand_half(const uint8_t *at)
{
#if defined(__F16C__)
	uint16_t half;
	memcpy(&half, at, sizeof(half));
	return _cvtsh_ss(half);
#elif defined(__ARM_NEON)
	__fp16 half;
	memcpy(&half, at, sizeof(half));
	return half;
#else
	return tcb_f16_load(at);
#endif
}

SIMD_INLINE uint64_t expand_eight(const uint8_t *at)
{
	uint64_t eight;
	memcpy(&eight, at, sizeof(eight));
	return eight;
}

SIMD_INLINE uint32_t expand_four(const uint8_t *at)
{
	uint32_t four;
	memcpy(&four, at, sizeof(four));
	return four;
}

SIMD_INLINE unsigned expand_two(const uint8_t *at)
{
	uint16_t two;
	memcpy(&two, at, sizeof(two));
	return two;
}

SIMD_INLINE void expand_put(int8_t *to, uint64_t eight)
{
	memcpy(to, &eight, sizeof(eight));
}

/* BYTE in all eight. */
SIMD_INLINE uint64_t expand_each(uint8_t byte)
{
	return UINT64_C(0x0101010101010101) * byte;
}

/* --- 32 bytes at a time --- */

#if defined(__AVX2__)

/* Bit I as byte I, 0xff or 0. */
SIMD_INLINE __m256i expand_masks(uint32_t bits)
{
#if defined(__AVX512BW__)
	return _mm256_movm_epi8(bits);
#else
	const __m256i order = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
	const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201);
	const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32((int)bits), order);
	return _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
#endif
}

/* The low nibbles of 16 bytes, then the high ones. */
SIMD_INLINE __m256i expand_nibbles(const uint8_t *at)
{
	const __m128i both = _mm_loadu_si128((const __m128i *)at);
	const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(both), _mm_srli_epi16(both, 4), 1);
	return _mm256_and_si256(high, _mm256_set1_epi8(15));
}

SIMD_INLINE void expand_put_nibbles(int8_t *code, const uint8_t *at)
{
	_mm256_storeu_si256((__m256i *)code, expand_nibbles(at));
}

/* Nibbles with a fifth bit each. */
SIMD_INLINE void expand_put_fives(int8_t *code, const uint8_t *at, uint32_t fifths)
{
	const __m256i more = _mm256_and_si256(expand_masks(fifths), _mm256_set1_epi8(16));
	_mm256_storeu_si256((__m256i *)code, _mm256_or_si256(expand_nibbles(at), more));
}

/* Four times eight values, none of them 0, negated where SIGNS have a bit. */
SIMD_INLINE void expand_put_signed(int8_t *code, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint32_t signs)
{
	const __m256i all = _mm256_setr_epi64x((long long)a, (long long)b, (long long)c, (long long)d);
#if defined(__AVX512BW__)
	const __m256i result = _mm256_mask_sub_epi8(all, signs, _mm256_setzero_si256(), all);
#else
	const __m256i result = _mm256_sign_epi8(all, _mm256_or_si256(expand_masks(signs), _mm256_set1_epi8(1)));
#endif
	_mm256_storeu_si256((__m256i *)code, result);
}

/* Sums of bytes, four times eight. */
SIMD_INLINE void expand_put_sums(int8_t *code, const uint64_t eights[4], const uint64_t more[4])
{
	const __m256i all = _mm256_setr_epi64x((long long)eights[0], (long long)eights[1], (long long)eights[2],
					       (long long)eights[3]);
	const __m256i with =
		_mm256_setr_epi64x((long long)more[0], (long long)more[1], (long long)more[2], (long long)more[3]);
	_mm256_storeu_si256((__m256i *)code, _mm256_add_epi8(all, with));
}

#else

/* Eight bytes are one number where none carries into the next. */
SIMD_INLINE void expand_put_nibbles(int8_t *code, const uint8_t *at)
{
	SIMD_FOR (int i = 0; i < 4; i++)
		expand_put(code + 8 * i, expand_eight(at + i % 2 * 8) >> i / 2 * 4 & expand_each(15));
}

SIMD_INLINE void expand_put_fives(int8_t *code, const uint8_t *at, uint32_t fifths)
{
	SIMD_FOR (int i = 0; i < 4; i++) {
		const uint64_t nibbles = expand_eight(at + i % 2 * 8) >> i / 2 * 4 & expand_each(15);
		expand_put(code + 8 * i, nibbles | (tcb_bit_masks[fifths >> 8 * i & 255] & expand_each(16)));
	}
}

SIMD_INLINE void expand_put_signed(int8_t *code, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint32_t signs)
{
	const uint64_t eights[4] = { a, b, c, d };
	SIMD_FOR (int i = 0; i < 4; i++) {
		const uint64_t minus = tcb_bit_masks[signs >> 8 * i & 255];
		expand_put(code + 8 * i, (eights[i] ^ minus) + (minus & expand_each(1)));
	}
}

SIMD_INLINE void expand_put_sums(int8_t *code, const uint64_t eights[4], const uint64_t more[4])
{
	const uint64_t low = expand_each(0x7f);
	SIMD_FOR (int i = 0; i < 4; i++)
		expand_put(code + 8 * i, ((eights[i] & low) + (more[i] & low)) ^ ((eights[i] ^ more[i]) & ~low));
}

#endif

/* --- blocks of 32: d, perhaps what is added, perhaps fifth bits, a bit a value; nibbles as TCB_CODES_RUNS --- */

SIMD_INLINE void expand_q5_0(const uint8_t *block, int8_t *code, float *scale, float *offset)
{
	(void)offset;
	scale[0] = expand_half(block);
	expand_put_fives(code, block + 6, expand_four(block + 2));
}

SIMD_INLINE void expand_q5_1(const uint8_t *block, int8_t *code, float *scale, float *offset)
{
	scale[0] = expand_half(block);
	offset[0] = -expand_half(block + 2);
	expand_put_fives(code, block + 8, expand_four(block + 4));
}

SIMD_INLINE void expand_q4_1(const uint8_t *block, int8_t *code, float *scale, float *offset)
{
	scale[0] = expand_half(block);
	offset[0] = -expand_half(block + 2);
	expand_put_nibbles(code, block + 4);
}

/* --- K-quants with runs of 16: two bits of 128 values in 32 bytes --- */

/* Bits of 32 values from BIT on. */
SIMD_INLINE void expand_twos(const uint8_t *low, int bit, int8_t *code)
{
	for (int i = 0; i < 32; i++)
		code[i] = (int8_t)(low[i] >> bit & 3);
}

/* A third bit is in one of 32 bytes, a bit for each 32 values.  16 scales of six bits, less 32:
 * the lower four as nibbles, those of the first eight runs in the low ones; the upper two of four scales in a byte. */
SIMD_INLINE void expand_q3_k(const uint8_t *block, int8_t *code, float *scale, float *offset)
{
	const uint8_t *high = block, *low = block + 32, *packed = block + 96;
	const float d = expand_half(block + 108);
	int8_t six[16];
	(void)offset;
	SIMD_FOR (int j = 0; j < 4; j++) {
		const uint32_t four = expand_four(packed + j % 2 * 4) >> j / 2 * 4 & 0x0f0f0f0f;
		const uint32_t two = expand_four(packed + 8) >> 2 * j & 0x03030303;
		const uint32_t both = four | two << 4;
		memcpy(six + 4 * j, &both, sizeof(both));
	}
	for (int j = 0; j < 16; j++)
		scale[j] = d * (float)(six[j] - 32);
	SIMD_FOR (int part = 0; part < 8; part++)
		for (int i = 0; i < 32; i++)
			code[32 * part + i] =
				(int8_t)((low[part / 4 * 32 + i] >> part % 4 * 2 & 3) + (high[i] >> part & 1) * 4);
}

/* 16 bytes of a scale and a min each, then codes, d and dmin. */
SIMD_INLINE void expand_q2_k(const uint8_t *block, int8_t *code, float *scale, float *offset)
{
	const float d = expand_half(block + 80), dmin = expand_half(block + 82);
	for (int j = 0; j < 16; j++) {
		scale[j] = d * (float)(block[j] & 15);
		offset[j] = dmin * (float)(block[j] >> 4);
	}
	SIMD_FOR (int part = 0; part < 8; part++)
		expand_twos(block + 16 + part / 4 * 32, part % 4 * 2, code + 32 * part);
}

/* --- grids of four and of eight values with signs --- */

/* Four times seven bits and what makes each seven even, as bytes. */
SIMD_INLINE uint32_t expand_sevens(uint32_t word)
{
	uint32_t bits = (word & 0x3fff) | (word & 0xfffc000) << 2;
	bits = (bits & 0x007f007f) | (bits & 0x3f803f80) << 1;
	uint32_t odd = bits ^ bits >> 4;
	odd ^= odd >> 2;
	odd ^= odd >> 1;
	return bits | (odd & 0x01010101) << 7;
}

/* Signs of eight values are seven bits and what makes them even, four of these in a word; its upper four bits are the
 * scale of the 32 values. */
SIMD_INLINE void expand_iq3_xxs(const uint8_t *block, int8_t *code, float *scale, float *offset)
{
	const float d = expand_half(block);
	const uint8_t *places = block + 2;
	(void)offset;
	for (int run = 0; run < 8; run++, places += 8, code += 32) {
		const uint32_t word = expand_four(block + 66 + 4 * run);
		uint64_t eight[4];
		SIMD_FOR (int i = 0; i < 4; i++)
			eight[i] = tcb_grid_iq3_xxs[places[2 * i]] | (uint64_t)tcb_grid_iq3_xxs[places[2 * i + 1]]
									     << 32;
		scale[run] = d * (0.5f + (float)(word >> 28)) * 0.5f;
		expand_put_signed(code, eight[0], eight[1], eight[2], eight[3], expand_sevens(word));
	}
}

/* A ninth bit of eight places of a run is in a byte; a bit of sign a value; nibbles of scales. */
SIMD_INLINE void expand_iq3_s(const uint8_t *block, int8_t *code, float *scale, float *offset)
{
	const float d = expand_half(block);
	const uint8_t *places = block + 2;
	(void)offset;
	for (int run = 0; run < 8; run++, places += 8, code += 32) {
		const unsigned ninth = block[66 + run];
		uint64_t eight[4];
		SIMD_FOR (int i = 0; i < 4; i++)
			eight[i] = tcb_grid_iq3_s[places[2 * i] | (ninth << (8 - 2 * i) & 256)] |
				   (uint64_t)tcb_grid_iq3_s[places[2 * i + 1] | (ninth << (7 - 2 * i) & 256)] << 32;
		scale[run] = d * (float)(1 + 2 * (block[106 + run / 2] >> run % 2 * 4 & 15));
		expand_put_signed(code, eight[0], eight[1], eight[2], eight[3], expand_four(block + 74 + 4 * run));
	}
}

/* The scale that four bits of grids of eight values stand for, a quarter of d times them and a half. */
SIMD_INLINE float expand_quarter(float d, unsigned four)
{
	return d * (0.5f + (float)four) * 0.25f;
}

/* Two bits more of four places of 32 values are in a byte; a bit of sign a value; a nibble of scale a run. */
SIMD_INLINE void expand_iq2_s(const uint8_t *block, int8_t *code, float *scale, float *offset)
{
	const float d = expand_half(block);
	const uint8_t *places = block + 2;
	(void)offset;
	for (int pair = 0; pair < 8; pair++, places += 4, code += 32) {
		const unsigned high = block[66 + pair], scales = block[74 + pair];
		uint64_t eight[4];
		SIMD_FOR (int i = 0; i < 4; i++)
			eight[i] = tcb_grid_iq2_s[places[i] | (high << (8 - 2 * i) & 0x300)];
		scale[2 * pair] = expand_quarter(d, scales & 15);
		scale[2 * pair + 1] = expand_quarter(d, scales >> 4);
		expand_put_signed(code, eight[0], eight[1], eight[2], eight[3], expand_four(block + 34 + 4 * pair));
	}
}

/* Words of nine bits of place and seven of signs. */
SIMD_INLINE void expand_iq2_xs(const uint8_t *block, int8_t *code, float *scale, float *offset)
{
	const float d = expand_half(block);
	(void)offset;
	for (int pair = 0; pair < 8; pair++, code += 32) {
		const uint64_t words = expand_eight(block + 2 + 8 * pair);
		const unsigned scales = block[66 + pair];
		uint64_t eight[4], signs = words >> 9 & UINT64_C(0x007f007f007f007f), odd = signs ^ signs >> 4;
		SIMD_FOR (int i = 0; i < 4; i++)
			eight[i] = tcb_grid_iq2_xs[words >> 16 * i & 511];
		odd ^= odd >> 2;
		odd ^= odd >> 1;
		signs |= (odd & UINT64_C(0x0001000100010001)) << 7;
		signs = (signs | signs >> 8) & UINT64_C(0x0000ffff0000ffff);
		scale[2 * pair] = expand_quarter(d, scales & 15);
		scale[2 * pair + 1] = expand_quarter(d, scales >> 4);
		expand_put_signed(code, eight[0], eight[1], eight[2], eight[3], (uint32_t)(signs | signs >> 16));
	}
}

/* Four places, then a word of signs and scale as of IQ3_XXS. */
SIMD_INLINE void expand_iq2_xxs(const uint8_t *block, int8_t *code, float *scale, float *offset)
{
	const float d = expand_half(block);
	const uint8_t *at = block + 2;
	(void)offset;
	for (int run = 0; run < 8; run++, at += 8, code += 32) {
		const uint32_t word = expand_four(at + 4);
		scale[run] = expand_quarter(d, word >> 28);
		expand_put_signed(code, tcb_grid_iq2_xxs[at[0]], tcb_grid_iq2_xxs[at[1]], tcb_grid_iq2_xxs[at[2]],
				  tcb_grid_iq2_xxs[at[3]], expand_sevens(word));
	}
}

/* --- grids of -1, 0 and 1, all of them an eighth more or less: codes are eighths --- */

/* An eighth, IS_LESS: less one, in eight bytes. */
SIMD_INLINE uint64_t expand_eighth(unsigned is_less)
{
	return is_less ? ~UINT64_C(0) : expand_each(1);
}

/* A word for a run: three bits more of each place, three of scale, and whether it is less. */
SIMD_INLINE void expand_iq1_s(const uint8_t *block, int8_t *code, float *scale, float *offset)
{
	const float d = expand_half(block);
	const uint8_t *places = block + 2;
	(void)offset;
	for (int run = 0; run < 8; run++, places += 4, code += 32) {
		const unsigned word = expand_two(block + 34 + 2 * run);
		uint64_t eight[4], more[4];
		SIMD_FOR (int i = 0; i < 4; i++) {
			eight[i] = tcb_grid_iq1[places[i] | (word >> 3 * i & 7) << 8];
			more[i] = expand_eighth(word >> 15);
		}
		scale[run] = d * (float)(2 * (word >> 12 & 7) + 1) * 0.125f;
		expand_put_sums(code, eight, more);
	}
}

/* A nibble for a place: three bits more, and whether it is less.  Words of four scales of three bits, and of d. */
SIMD_INLINE void expand_iq1_m(const uint8_t *block, int8_t *code, float *scale, float *offset)
{
	const uint8_t *places = block, *words = block + 48;
	const unsigned half = expand_two(words) >> 12 | (expand_two(words + 2) >> 8 & 0xf0) |
			      (expand_two(words + 4) >> 4 & 0xf00) | (expand_two(words + 6) & 0xf000);
	const uint8_t bytes[2] = { (uint8_t)half, (uint8_t)(half >> 8) };
	const float d = expand_half(bytes);
	(void)offset;
	for (int pair = 0; pair < 8; pair++, places += 4, code += 32) {
		const unsigned high = expand_two(block + 32 + 2 * pair);
		const unsigned scales = expand_two(words + pair / 2 * 2) >> pair % 2 * 6;
		uint64_t eight[4], more[4];
		SIMD_FOR (int i = 0; i < 4; i++) {
			eight[i] = tcb_grid_iq1[places[i] | (high >> 4 * i & 7) << 8];
			more[i] = expand_eighth(high >> (4 * i + 3) & 1);
		}
		scale[2 * pair] = d * (float)(2 * (scales & 7) + 1) * 0.125f;
		scale[2 * pair + 1] = d * (float)(2 * (scales >> 3 & 7) + 1) * 0.125f;
		expand_put_sums(code, eight, more);
	}
}

/* --- NVFP4: four scales, then for each 16 values 8 bytes, low nibbles first --- */

/* Half of four unsigned E4M3, since codes are twice E2M1; the largest is no number, and counts as 0.  Seven bits up
 * they are halves, 2^-8 of what they are. */
SIMD_INLINE void expand_e4m3(const uint8_t *at, float out[4])
{
#if defined(__AVX2__)
	const __m128i bytes = _mm_cvtepu8_epi32(_mm_cvtsi32_si128((int)expand_four(at)));
	const __m128i halves = _mm_slli_epi32(_mm_and_si128(bytes, _mm_set1_epi32(0x7f)), 7);
	const __m128 value = _mm_mul_ps(_mm_cvtph_ps(_mm_packus_epi32(halves, halves)), _mm_set1_ps(0x1p7f));
	const __m128i is_none = _mm_cmpeq_epi32(bytes, _mm_set1_epi32(0x7f));
	_mm_storeu_ps(out, _mm_andnot_ps(_mm_castsi128_ps(is_none), value));
#else
	for (int i = 0; i < 4; i++) {
		const unsigned half = (at[i] & 0x7fu) << 7;
		const uint8_t bytes[2] = { (uint8_t)half, (uint8_t)(half >> 8) };
		out[i] = at[i] == 0x7f ? 0 : expand_half(bytes) * 0x1p7f;
	}
#endif
}

/* Nibbles of EIGHT bytes, low ones first, as codes of TABLE. */
SIMD_INLINE void expand_table(const uint8_t *eight, const int8_t *table, int8_t *code)
{
	const uint64_t bytes = expand_eight(eight), low = bytes & expand_each(15), high = bytes >> 4 & expand_each(15);
#if defined(__AVX2__)
	const __m128i codes = _mm_loadu_si128((const __m128i *)table);
	_mm_storeu_si128((__m128i *)code, _mm_shuffle_epi8(codes, _mm_set_epi64x((long long)high, (long long)low)));
#elif defined(__ARM_NEON)
	const uint8x16_t nibbles = vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(low), vcreate_u64(high)));
	vst1q_s8(code, vqtbl1q_s8(vld1q_s8(table), nibbles));
#else
	for (int i = 0; i < 8; i++) {
		code[i] = table[low >> 8 * i & 15];
		code[8 + i] = table[high >> 8 * i & 15];
	}
#endif
}

SIMD_INLINE void expand_nvfp4(const uint8_t *block, int8_t *code, float *scale, float *offset)
{
	(void)offset;
	expand_e4m3(block, scale);
	SIMD_FOR (int run = 0; run < 4; run++)
		expand_table(block + 4 + 8 * run, tcb_format_row(TCB_FORMAT_NVFP4)->table, code + 16 * run);
}

/* The function of format ID, which is a constant after inlining. */
SIMD_INLINE void tcb_expand_block(enum tcb_format_id id, const uint8_t *block, int8_t *code, float *scale,
				  float *offset)
{
	switch (id) {
#define TCB_EXPAND_CASE(id_, name, ...)                    \
	case TCB_FORMAT_##id_:                             \
		expand_##name(block, code, scale, offset); \
		break;
		TCB_FORMAT_EXPANDED_ROWS(TCB_EXPAND_CASE)
#undef TCB_EXPAND_CASE
	default:
		break;
	}
}

/* 256 values. */
SIMD_INLINE void tcb_expand_super(enum tcb_format_id id, const uint8_t *blocks, struct tcb_codes *out)
{
	const struct tcb_format *f = tcb_format_row(id);
	const size_t runs = f->block_values / f->run_values;
	for (size_t b = 0; b < TCB_BLOCK_VALUES_MAX / f->block_values; b++)
		tcb_expand_block(id, blocks + b * f->block_bytes, out->code + b * f->block_values,
				 out->scale + b * runs, out->offset + b * runs);
}

#endif
