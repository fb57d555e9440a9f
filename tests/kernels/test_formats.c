/* SPDX-License-Identifier: MIT
 *
 * Dequantisation against a bit-by-bit formulation in double, and the tensors that
 * ggml wrote against the products that ggml's own values gave.
 */
#include "kernels/formats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "gguf/gguf.h"
#include "kernels/decode/formats_grids.h"
#include "small_floats.h"

/* Bits COUNT from bit FIRST of BYTES, least significant first. */
static unsigned bits_of(const uint8_t *bytes, unsigned first, unsigned count)
{
	unsigned value = 0;
	for (unsigned i = 0; i < count; i++)
		value |= ((unsigned)(bytes[(first + i) / 8] >> ((first + i) % 8)) & 1u) << i;
	return value;
}

static double half_at(const uint8_t *bytes)
{
	return half_value(bits_of(bytes, 0, 16));
}

/* Scale or min (WHICH = 1) SUB of 12 bytes of 6-bit fields. */
static unsigned k_field(const uint8_t *s, unsigned sub, unsigned which)
{
	if (sub < 4)
		return bits_of(s, 8 * (sub + 4 * which), 6);
	return bits_of(s, 8 * (sub + 4) + 4 * which, 4) + 16 * bits_of(s, 8 * (sub - 4 + 4 * which) + 6, 2);
}

/* Value I of a block, from the format's description alone and exact in double. */
static float q4_0_value(const uint8_t *block, unsigned i)
{
	return (float)(half_at(block) * ((double)bits_of(block + 2, 8 * (i % 16) + 4 * (i / 16), 4) - 8));
}

static float q8_0_value(const uint8_t *block, unsigned i)
{
	const unsigned code = block[2 + i];
	return (float)(half_at(block) * ((double)code - (code >= 128 ? 256 : 0)));
}

static float q4_k_value(const uint8_t *block, unsigned i)
{
	const unsigned sub = i / 32, code = bits_of(block + 16, 8 * (32 * (sub / 2) + i % 32) + 4 * (sub % 2), 4);
	return (float)(half_at(block) * k_field(block + 4, sub, 0) * code -
		       half_at(block + 2) * k_field(block + 4, sub, 1));
}

static float q5_k_value(const uint8_t *block, unsigned i)
{
	const unsigned sub = i / 32, low = bits_of(block + 48, 8 * (32 * (sub / 2) + i % 32) + 4 * (sub % 2), 4);
	const unsigned code = low + 16 * bits_of(block + 16, 8 * (i % 32) + sub, 1);
	return (float)(half_at(block) * k_field(block + 4, sub, 0) * code -
		       half_at(block + 2) * k_field(block + 4, sub, 1));
}

static float q6_k_value(const uint8_t *block, unsigned i)
{
	const unsigned half = i / 128, part = i / 32 % 4, l = i % 32, sc = block[192 + i / 16];
	const unsigned low = bits_of(block + 64 * half, 8 * (l + 32 * (part % 2)) + 4 * (part / 2), 4);
	const unsigned high = bits_of(block + 128 + 32 * half, 8 * l + 2 * part, 2);
	return (float)(half_at(block + 208) * ((double)sc - (sc >= 128 ? 256 : 0)) * ((double)(low + 16 * high) - 32));
}

static float mxfp4_value(const uint8_t *block, unsigned i)
{
	static const int table[16] = { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 };
	return (float)ldexp(table[bits_of(block + 1, 8 * (i % 16) + 4 * (i / 16), 4)], block[0] - 128);
}

static float iq4_xs_value(const uint8_t *block, unsigned i)
{
	static const double table[16] = { -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113 };
	const unsigned run = i / 32, code = bits_of(block + 8, 8 * (16 * run + i % 16) + 4 * (i / 16 % 2), 4);
	const unsigned ls = bits_of(block + 4, 4 * run, 4) + 16 * bits_of(block + 2, 2 * run, 2);
	return (float)(half_at(block) * ((double)ls - 32) * table[code]);
}

static float iq4_nl_value(const uint8_t *block, unsigned i)
{
	static const double table[16] = { -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113 };
	return (float)(half_at(block) * table[bits_of(block + 2, 8 * (i % 16) + 4 * (i / 16), 4)]);
}

static float q4_1_value(const uint8_t *block, unsigned i)
{
	return (float)(half_at(block) * bits_of(block + 4, 8 * (i % 16) + 4 * (i / 16), 4) + half_at(block + 2));
}

static unsigned five_bits(const uint8_t *high, unsigned i)
{
	return bits_of(high + 4, 8 * (i % 16) + 4 * (i / 16), 4) + 16 * bits_of(high, i, 1);
}

static float q5_0_value(const uint8_t *block, unsigned i)
{
	return (float)(half_at(block) * ((double)five_bits(block + 2, i) - 16));
}

static float q5_1_value(const uint8_t *block, unsigned i)
{
	return (float)(half_at(block) * five_bits(block + 4, i) + half_at(block + 2));
}

/* Two bits of value I. */
static unsigned two_bits(const uint8_t *codes, unsigned i)
{
	return bits_of(codes + i / 128 * 32 + i % 32, i / 32 % 4 * 2, 2);
}

static float q2_k_value(const uint8_t *block, unsigned i)
{
	const unsigned run = i / 16;
	return (float)(half_at(block + 80) * bits_of(block, 8 * run, 4) * two_bits(block + 16, i) -
		       half_at(block + 82) * bits_of(block, 8 * run + 4, 4));
}

static float q3_k_value(const uint8_t *block, unsigned i)
{
	const unsigned run = i / 16, code = two_bits(block + 32, i) + 4 * bits_of(block + i % 32, i / 32, 1);
	const unsigned sc =
		bits_of(block + 96 + run % 8, run / 8 * 4, 4) + 16 * bits_of(block + 104 + run % 4, run / 4 * 2, 2);
	return (float)(half_at(block + 108) * ((double)sc - 32) * ((double)code - 4));
}

/* The sign that bit I of seven says, or that makes their number even; value I of a grid's entry. */
static double seven_signs(unsigned bits, unsigned i)
{
	return (i < 7 ? bits >> i & 1 : (unsigned)__builtin_parity(bits)) ? -1 : 1;
}

static double of_grid(uint64_t entry, unsigned i)
{
	return (double)(int8_t)(entry >> 8 * i);
}

static float iq2_xxs_value(const uint8_t *block, unsigned i)
{
	const unsigned run = i / 32, group = i / 8 % 4;
	const uint8_t *at = block + 2 + 8 * run;
	return (float)(half_at(block) * (0.5 + bits_of(at, 60, 4)) / 4 * of_grid(tcb_grid_iq2_xxs[at[group]], i % 8) *
		       seven_signs(bits_of(at, 32 + 7 * group, 7), i % 8));
}

static float iq2_xs_value(const uint8_t *block, unsigned i)
{
	const uint8_t *word = block + 2 + 2 * (i / 8);
	return (float)(half_at(block) * (0.5 + bits_of(block + 66, 4 * (i / 16), 4)) / 4 *
		       of_grid(tcb_grid_iq2_xs[bits_of(word, 0, 9)], i % 8) * seven_signs(bits_of(word, 9, 7), i % 8));
}

static float iq2_s_value(const uint8_t *block, unsigned i)
{
	const unsigned place = block[2 + i / 8] + 256 * bits_of(block + 66, 2 * (i / 8), 2);
	return (float)(half_at(block) * (0.5 + bits_of(block + 74, 4 * (i / 16), 4)) / 4 *
		       of_grid(tcb_grid_iq2_s[place], i % 8) * (bits_of(block + 34, i, 1) ? -1 : 1));
}

static float iq3_xxs_value(const uint8_t *block, unsigned i)
{
	const uint8_t *word = block + 66 + 4 * (i / 32);
	return (float)(half_at(block) * (0.5 + bits_of(word, 28, 4)) / 2 *
		       of_grid(tcb_grid_iq3_xxs[block[2 + i / 4]], i % 4) *
		       seven_signs(bits_of(word, i / 8 % 4 * 7, 7), i % 8));
}

static float iq3_s_value(const uint8_t *block, unsigned i)
{
	const unsigned place = block[2 + i / 4] + 256 * bits_of(block + 66, i / 4, 1);
	return (float)(half_at(block) * (1 + 2 * bits_of(block + 106, i / 32 * 4, 4)) *
		       of_grid(tcb_grid_iq3_s[place], i % 4) * (bits_of(block + 74, i, 1) ? -1 : 1));
}

static float iq1_s_value(const uint8_t *block, unsigned i)
{
	const uint8_t *word = block + 34 + i / 32 * 2;
	const unsigned place = block[2 + i / 8] + 256 * bits_of(word, i / 8 % 4 * 3, 3);
	return (float)(half_at(block) * (1 + 2 * bits_of(word, 12, 3)) *
		       (of_grid(tcb_grid_iq1[place], i % 8) / 8 + (bits_of(word, 15, 1) ? -0.125 : 0.125)));
}

static float iq1_m_value(const uint8_t *block, unsigned i)
{
	const uint8_t *words = block + 48, *word = words + i / 64 * 2;
	const unsigned place = block[i / 8] + 256 * bits_of(block + 32, i / 8 * 4, 3);
	const unsigned half = bits_of(words, 12, 4) + 16 * bits_of(words, 28, 4) + 256 * bits_of(words, 44, 4) +
			      4096 * bits_of(words, 60, 4);
	return (float)(half_value(half) * (1 + 2 * bits_of(word, i / 16 % 4 * 3, 3)) *
		       (of_grid(tcb_grid_iq1[place], i % 8) / 8 +
			(bits_of(block + 32, i / 8 * 4 + 3, 1) ? -0.125 : 0.125)));
}

static float nvfp4_value(const uint8_t *block, unsigned i)
{
	static const double table[16] = { 0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6 };
	const unsigned run = i / 16, exponent = bits_of(block + run, 3, 4), mantissa = bits_of(block + run, 0, 3);
	const double scale = block[run] == 0x7f ? 0
			     : exponent         ? ldexp(8 + mantissa, (int)exponent - 10)
						: ldexp(mantissa, -9);
	return (float)(scale * table[bits_of(block + 4 + 8 * run, 8 * (i % 8) + i / 8 % 2 * 4, 4)]);
}

static float f16_value(const uint8_t *block, unsigned i)
{
	(void)i;
	return (float)half_at(block);
}

static float bf16_value(const uint8_t *block, unsigned i)
{
	const uint32_t bits = bits_of(block, 0, 16) << 16;
	float value;
	(void)i;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static float f32_value(const uint8_t *block, unsigned i)
{
	float value;
	(void)i;
	memcpy(&value, block, sizeof(value));
	return value;
}

/* Offset of the halves in a block; -1: there is no second, or none where they are not halves. */
static const struct described {
	enum tcb_format_id id;
	const char *name, *gguf_name, *tensor;
	size_t values, bytes, run;
	int d_at, dmin_at;
	float (*value)(const uint8_t *block, unsigned i);
} described[] = {
	{ TCB_FORMAT_Q4_0, "q4_0", "Q4_0", "blk.0.attn_output.weight", 32, 18, 32, 0, -1, q4_0_value },
	{ TCB_FORMAT_Q8_0, "q8_0", "Q8_0", "blk.0.attn_k.weight", 32, 34, 32, 0, -1, q8_0_value },
	{ TCB_FORMAT_Q4_K, "q4_k", "Q4_K", "blk.0.ffn_down.weight", 256, 144, 32, 0, 2, q4_k_value },
	{ TCB_FORMAT_Q5_K, "q5_k", "Q5_K", "blk.0.attn_q.weight", 256, 176, 32, 0, 2, q5_k_value },
	{ TCB_FORMAT_Q6_K, "q6_k", "Q6_K", "blk.0.attn_v.weight", 256, 210, 16, 208, -1, q6_k_value },
	{ TCB_FORMAT_MXFP4, "mxfp4", "MXFP4", "blk.0.mxfp4", 32, 17, 32, 0, -1, mxfp4_value },
	{ TCB_FORMAT_IQ4_XS, "iq4_xs", "IQ4_XS", "blk.0.iq4xs", 256, 136, 32, 0, -1, iq4_xs_value },
	{ TCB_FORMAT_IQ4_NL, "iq4_nl", "IQ4_NL", "blk.0.iq4_nl", 32, 18, 32, 0, -1, iq4_nl_value },
	{ TCB_FORMAT_Q5_0, "q5_0", "Q5_0", "blk.0.q5_0", 32, 22, 32, 0, -1, q5_0_value },
	{ TCB_FORMAT_Q5_1, "q5_1", "Q5_1", "blk.0.q5_1", 32, 24, 32, 0, 2, q5_1_value },
	{ TCB_FORMAT_Q4_1, "q4_1", "Q4_1", "blk.0.q4_1", 32, 20, 32, 0, 2, q4_1_value },
	{ TCB_FORMAT_Q3_K, "q3_k", "Q3_K", "blk.0.q3_k", 256, 110, 16, 108, -1, q3_k_value },
	{ TCB_FORMAT_Q2_K, "q2_k", "Q2_K", "blk.0.q2_k", 256, 84, 16, 80, 82, q2_k_value },
	{ TCB_FORMAT_IQ3_S, "iq3_s", "IQ3_S", "blk.0.iq3_s", 256, 110, 32, 0, -1, iq3_s_value },
	{ TCB_FORMAT_IQ3_XXS, "iq3_xxs", "IQ3_XXS", "blk.0.iq3_xxs", 256, 98, 32, 0, -1, iq3_xxs_value },
	{ TCB_FORMAT_IQ2_S, "iq2_s", "IQ2_S", "blk.0.iq2_s", 256, 82, 16, 0, -1, iq2_s_value },
	{ TCB_FORMAT_IQ2_XS, "iq2_xs", "IQ2_XS", "blk.0.iq2_xs", 256, 74, 16, 0, -1, iq2_xs_value },
	{ TCB_FORMAT_IQ2_XXS, "iq2_xxs", "IQ2_XXS", "blk.0.iq2_xxs", 256, 66, 32, 0, -1, iq2_xxs_value },
	{ TCB_FORMAT_IQ1_S, "iq1_s", "IQ1_S", "blk.0.iq1_s", 256, 50, 32, 0, -1, iq1_s_value },
	{ TCB_FORMAT_IQ1_M, "iq1_m", "IQ1_M", "blk.0.iq1_m", 256, 56, 16, -1, -1, iq1_m_value },
	{ TCB_FORMAT_NVFP4, "nvfp4", "NVFP4", "blk.0.nvfp4", 64, 36, 16, -1, -1, nvfp4_value },
	{ TCB_FORMAT_F16, "f16", "F16", "blk.0.f16", 1, 2, 1, -1, -1, f16_value },
	{ TCB_FORMAT_BF16, "bf16", "BF16", "blk.0.bf16", 1, 2, 1, -1, -1, bf16_value },
	{ TCB_FORMAT_F32, "f32", "F32", "blk.0.f32", 1, 4, 1, -1, -1, f32_value },
	{ TCB_FORMAT_FP8, "fp8", "FP8", NULL, 128, 132, 128, -1, -1, fp8_value },
};
/* Of those tensors the first files hold these; the last has the rest, but for FP8, which ggml does not have. */
enum { IN_FIRST_SAMPLE = 5, IN_SECOND_SAMPLE = 7 };
enum { DESCRIBED = sizeof(described) / sizeof(described[0]), IN_SAMPLES = DESCRIBED - 1 };

static void test_table(void **state)
{
	(void)state;
	assert_int_equal(DESCRIBED, TCB_FORMAT_COUNT);
	for (int f = 0; f < DESCRIBED; f++) {
		const struct described *d = &described[f];
		const struct tcb_format *format = tcb_format(d->id);
		assert_ptr_equal(format, tcb_format_find(d->gguf_name));
		assert_int_equal(format->id, d->id);
		assert_string_equal(format->name, d->name);
		assert_int_equal(format->block_values, d->values);
		assert_int_equal(format->block_bytes, d->bytes);
		assert_int_equal(format->run_values, d->run);
		assert_int_equal(format->has_offsets, d->dmin_at >= 0);
		assert_true(d->values <= TCB_BLOCK_VALUES_MAX && d->bytes <= TCB_BLOCK_BYTES_MAX &&
			    d->values / d->run <= TCB_BLOCK_RUNS_MAX);
	}
	assert_null(tcb_format_find("Q9_K"));
}

static void test_values(void **state)
{
	enum { BLOCKS = 3 };
	static uint8_t blocks[BLOCKS * TCB_BLOCK_BYTES_MAX];
	static float values[BLOCKS * TCB_BLOCK_VALUES_MAX];
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 1);
	for (int f = 0; f < DESCRIBED; f++)
		for (size_t round = 0; round < 80000 / described[f].values; round++) {
			const struct described *d = &described[f];
			for (size_t b = 0; b < BLOCKS; b++)
				tcb_block_random(tcb_format(d->id), &rng, blocks + d->bytes * b);
			/* Any finite half is a legal scale, not only those that random_block makes. */
			if (round % 2 && d->d_at >= 0) {
				uint64_t random = tcb_rng_next(&rng) & 0xbbffbbffu;
				memcpy(blocks + d->bytes + d->d_at, &random, d->dmin_at >= 0 ? 4 : 2);
			}
			tcb_dequantize(tcb_format(d->id), blocks, BLOCKS, values);
			for (size_t i = 0; i < BLOCKS * d->values; i++) {
				float expected =
					d->value(blocks + d->bytes * (i / d->values), (unsigned)(i % d->values));
				assert_memory_equal(&values[i], &expected, sizeof(expected));
			}
		}
}

/* Scales and offsets are what a value of code 0 and its neighbours show; codes lie in the range of their bits. */
static void test_codes(void **state)
{
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 5);
	for (int f = 0; f < DESCRIBED; f++)
		for (int round = 0; round < 100; round++) {
			const struct tcb_format *format = tcb_format(described[f].id);
			uint8_t block[TCB_BLOCK_BYTES_MAX];
			struct tcb_codes codes;
			if (format->codes == TCB_CODES_E4M3) /* has none */
				continue;
			tcb_block_random(format, &rng, block);
			tcb_block_decode(format, block, &codes);
			for (size_t i = 0; i < format->block_values; i++) {
				const size_t r = i / format->run_values;
				const int stored = codes.code[i] + tcb_code_bias(format->id);
				const int bits = tcb_has_signed_codes(format->id) ? 8 : format->code_bits;
				const int size = abs(codes.code[i]);
				const float value = codes.scale[r] * (float)codes.code[i] - codes.offset[r];
				const float expected = described[f].value(block, (unsigned)i);
				assert_true(tcb_is_float(format->id) || (stored >= 0 && stored < 1 << bits));
				if (tcb_is_expanded(format->id)) /* Q5_0 has -16, Q3_K -4: as vectors take them apart */
					assert_true(size < 1 << format->code_bits);
				assert_true(format->has_offsets || codes.offset[r] == 0);
				assert_memory_equal(&value, &expected, sizeof(expected));
			}
		}
}

static void test_k_scales_round_trip(void **state)
{
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 6);
	for (int round = 0; round < 1000; round++) {
		uint8_t packed[12], again[12], scale[8], min[8];
		for (int i = 0; i < 12; i++)
			packed[i] = (uint8_t)tcb_rng_next(&rng);
		tcb_k_scales(packed, scale, min);
		for (unsigned j = 0; j < 8; j++) {
			assert_int_equal(scale[j], k_field(packed, j, 0));
			assert_int_equal(min[j], k_field(packed, j, 1));
		}
		tcb_k_scales_pack(scale, min, again);
		assert_memory_equal(packed, again, 12);
	}
}

/* How many codes FORMAT has. */
static size_t distinct_codes(const struct tcb_format *format)
{
	switch (format->id) {
	case TCB_FORMAT_MXFP4: /* two codes are 0 */
	case TCB_FORMAT_NVFP4:
		return 15;
	case TCB_FORMAT_IQ3_XXS: /* eight sizes */
	case TCB_FORMAT_IQ3_S:
		return 16;
	case TCB_FORMAT_IQ2_XXS: /* three */
	case TCB_FORMAT_IQ2_XS:
	case TCB_FORMAT_IQ2_S:
	case TCB_FORMAT_IQ1_S: /* three values, more or less */
	case TCB_FORMAT_IQ1_M:
		return 6;
	case TCB_FORMAT_FP8: /* but for NaNs */
		return 254;
	default:
		return tcb_is_float(format->id) ? 1 : (size_t)1 << format->code_bits;
	}
}

/* Random blocks reach every byte value, and their values centre on zero at the size of real weights. */
static void test_random_blocks_cover(void **state)
{
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 2);
	for (int f = 0; f < DESCRIBED; f++) {
		const struct tcb_format *format = tcb_format(described[f].id);
		const size_t values = format->block_values, rounds = 256000 / values;
		int byte_seen[TCB_BLOCK_BYTES_MAX][2] = { { 0 } }, code_seen[256] = { 0 };
		double sum = 0, squares = 0;
		for (size_t round = 0; round < rounds; round++) {
			uint8_t block[TCB_BLOCK_BYTES_MAX];
			float value[TCB_BLOCK_VALUES_MAX];
			struct tcb_codes codes;
			tcb_block_random(format, &rng, block);
			for (size_t i = 0; i < format->block_bytes; i++) {
				byte_seen[i][0] |= block[i];
				byte_seen[i][1] |= (uint8_t)~block[i];
			}
			if (format->codes != TCB_CODES_E4M3)
				tcb_block_decode(format, block, &codes);
			tcb_dequantize(format, block, 1, value);
			for (size_t i = 0; i < values; i++) {
				code_seen[format->codes == TCB_CODES_E4M3 ? block[4 + i] : codes.code[i] + 128]++;
				assert_true(isfinite(value[i]));
				sum += (double)value[i];
				squares += (double)value[i] * (double)value[i];
			}
		}
		for (size_t i = 0; !tcb_is_float(format->id) && i < format->block_bytes; i++) {
			const int at = (int)i;
			if (at / 2 * 2 == described[f].d_at || at / 2 * 2 == described[f].dmin_at)
				continue;
			if (described[f].id == TCB_FORMAT_NVFP4 && at < 4) /* scales of random blocks are small */
				continue;
			if (described[f].id == TCB_FORMAT_IQ1_M && at >= 48) /* parts of d are there */
				continue;
			assert_true(byte_seen[i][0] == 255 && byte_seen[i][1] == 255);
		}
		size_t distinct = 0;
		for (int i = 0; i < 256; i++)
			distinct += code_seen[i] > 0;
		assert_int_equal(distinct, distinct_codes(format));
		const double rms = sqrt(squares / (double)(rounds * values));
		assert_true(rms > 0.005 && rms < 0.1);
		assert_true(fabs(sum / (double)(rounds * values)) < 0.5 * rms);
	}
}

/* Normal data come back with the error that as many bits leave; zeros, constants and one outlier come back too. */
static void test_quantize(void **state)
{
	static const double worst[TCB_FORMAT_COUNT] = {
		[TCB_FORMAT_Q4_0] = 0.11,   [TCB_FORMAT_Q8_0] = 0.008, [TCB_FORMAT_Q4_K] = 0.09,
		[TCB_FORMAT_Q5_K] = 0.045,  [TCB_FORMAT_Q6_K] = 0.03,  [TCB_FORMAT_MXFP4] = 0.16,
		[TCB_FORMAT_IQ4_XS] = 0.11, [TCB_FORMAT_IQ4_NL] = 0.11
	};
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 3);
	for (int f = 0; f < DESCRIBED; f++) {
		const struct tcb_format *format = tcb_format(described[f].id);
		uint8_t block[TCB_BLOCK_BYTES_MAX];
		float x[TCB_BLOCK_VALUES_MAX], y[TCB_BLOCK_VALUES_MAX];
		double error = 0, norm = 0;
		if (f >= TCB_FORMAT_FIELD_COUNT) /* blocks of others are not made of values here */
			continue;
		for (int round = 0; round < 200; round++) {
			for (size_t i = 0; i < format->block_values; i++)
				x[i] = 0.02f * tcb_rng_normal(&rng);
			tcb_block_quantize(format, x, block);
			tcb_dequantize(format, block, 1, y);
			for (size_t i = 0; i < format->block_values; i++) {
				const double difference = (double)x[i] - (double)y[i];
				error += difference * difference;
				norm += (double)x[i] * (double)x[i];
			}
		}
		assert_true(sqrt(error / norm) < worst[described[f].id]);
		assert_true(sqrt(error / norm) > worst[described[f].id] / 4);
		/* IQ4_XS and IQ4_NL have no code 0, but 1 beside 127. */
		const float rest =
			format->id == TCB_FORMAT_IQ4_XS || format->id == TCB_FORMAT_IQ4_NL ? 3.0f / 126 : 0.01f;
		memset(x, 0, sizeof(x));
		tcb_block_quantize(format, x, block);
		tcb_dequantize(format, block, 1, y);
		for (size_t i = 0; i < format->block_values; i++)
			assert_true(y[i] == 0);
		for (size_t outlier = 0; outlier < format->block_values; outlier += 7) {
			memset(x, 0, sizeof(x));
			x[outlier] = outlier % 2 ? -3.0f : 3.0f;
			tcb_block_quantize(format, x, block);
			tcb_dequantize(format, block, 1, y);
			for (size_t i = 0; i < format->block_values; i++)
				assert_true(fabsf(x[i] - y[i]) <= (i == outlier ? 0.05f : rest));
		}
	}
}

static void *read_fixture(const char *name, size_t bytes)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", TCB_FIXTURES, name);
	FILE *file = fopen(path, "rb");
	void *data = malloc(bytes);
	assert_non_null(file);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, bytes, file), bytes);
	fclose(file);
	return data;
}

/* Every tensor of the sample against the products that ggml's own values gave, for one token and five. */
static void try_sample(const struct tcb_gguf *gguf, const struct described *d, size_t tokens)
{
	const struct tcb_gguf_tensor *tensor = tcb_gguf_find(gguf, d->tensor);
	const char *stem = strchr(d->tensor + 4, '.') + 1,
		   *folder = d >= described + IN_SECOND_SAMPLE ? "formats/" : "";
	char name[128];
	assert_non_null(tensor);
	assert_string_equal(tensor->type_name, d->gguf_name);
	const size_t rows = tensor->dims[1], columns = tensor->dims[0], row_blocks = columns / d->values;
	assert_int_equal(tensor->bytes, rows * row_blocks * d->bytes);
	snprintf(name, sizeof(name), "%s%s_m%zu.x.f32", folder, stem, tokens);
	float *x = read_fixture(name, tokens * columns * sizeof(float));
	snprintf(name, sizeof(name), "%s%s_m%zu.y.f64", folder, stem, tokens);
	double *y = read_fixture(name, tokens * rows * sizeof(double));
	snprintf(name, sizeof(name), "%s%s_m%zu.abs.f64", folder, stem, tokens);
	double *magnitude = read_fixture(name, tokens * rows * sizeof(double));
	float *row = malloc(columns * sizeof(float));
	assert_non_null(row);
	for (size_t n = 0; n < rows; n++) {
		tcb_dequantize(tcb_format(d->id), (const uint8_t *)tensor->data + n * row_blocks * d->bytes, row_blocks,
			       row);
		for (size_t m = 0; m < tokens; m++) {
			double sum = 0, absolute = 0;
			for (size_t k = 0; k < columns; k++) {
				const double product = (double)row[k] * (double)x[m * columns + k];
				sum += product;
				absolute += fabs(product);
			}
			/* Both sums are in double: only the order of addition may differ. */
			assert_true(fabs(sum - y[m * rows + n]) <= 1e-12 * magnitude[m * rows + n]);
			assert_true(fabs(absolute - magnitude[m * rows + n]) <= 1e-12 * magnitude[m * rows + n]);
		}
	}
	free(x);
	free(y);
	free(magnitude);
	free(row);
}

static void try_samples(const char *path, int first, int end)
{
	struct tcb_gguf *gguf = NULL;
	struct tcb_error err;
	if (tcb_gguf_open(path, &gguf, &err) != TCB_OK)
		fail_msg("%s", err.message);
	for (int f = first; f < end; f++) {
		try_sample(gguf, &described[f], 1);
		try_sample(gguf, &described[f], 5);
	}
	tcb_gguf_close(gguf);
}

static void test_ggml_sample(void **state)
{
	(void)state;
	try_samples(TCB_FIXTURES "/ggml_sample.gguf", 0, IN_FIRST_SAMPLE);
	try_samples(TCB_FIXTURES "/sample_mxfp4_iq4xs.gguf", IN_FIRST_SAMPLE, IN_SECOND_SAMPLE);
	try_samples(TCB_FIXTURES "/formats/formats.gguf", IN_SECOND_SAMPLE, IN_SAMPLES);
}

/* All powers: subnormal for 0 and 1, and 2^127 for 255, as ggml has it; a product beyond floats is infinite. */
static void test_power_scales(void **state)
{
	(void)state;
	for (int e = 0; e < 256; e++) {
		uint8_t block[17] = { (uint8_t)e, 0x71, 0x0f };
		float value[32];
		assert_true((double)tcb_power_scale((uint8_t)e) == ldexp(1, e - 128));
		tcb_dequantize(tcb_format(TCB_FORMAT_MXFP4), block, 1, value);
		assert_true(value[0] == (float)ldexp(1, e - 128));
		assert_true(value[16] == (float)ldexp(12, e - 128));
		assert_true(value[1] == (float)ldexp(-12, e - 128));
		assert_true(isinf(value[16]) == (e >= 253) && value[17] == 0);
	}
}

/* All scales of NVFP4, of which one counts as none. */
static void test_e4m3_scales(void **state)
{
	(void)state;
	for (int e = 0; e < 256; e++) {
		const uint8_t block[36] = { 0x38, (uint8_t)e, 0, 0, 0x22, [12] = 0x97 };
		float value[64];
		tcb_dequantize(tcb_format(TCB_FORMAT_NVFP4), block, 1, value);
		assert_true(value[0] == 1 && value[8] == 1 && value[1] == 0);
		assert_true(value[16] == nvfp4_value(block, 16) && value[24] == nvfp4_value(block, 24));
		assert_true((value[16] == 0) == (e == 0x7f || (e & 0x7f) == 0));
	}
}

/* Each value becomes itself, what is between two the nearer, the even one from the middle. */
static void test_to_e4m3(void **state)
{
	enum { MOST = 0x7e };
	(void)state;
	for (int i = 0; i < MOST; i++) {
		const float low = tcb_e4m3_to_f32((uint8_t)i), high = tcb_e4m3_to_f32((uint8_t)(i + 1));
		const float middle = (low + high) / 2;
		assert_int_equal(tcb_f32_to_e4m3(low), i);
		assert_int_equal(tcb_f32_to_e4m3(middle), i + i % 2);
		assert_int_equal(tcb_f32_to_e4m3(-nextafterf(middle, 0)), 0x80 + i);
		assert_int_equal(tcb_f32_to_e4m3(-nextafterf(middle, high)), 0x80 + i + 1);
	}
	assert_int_equal(tcb_f32_to_e4m3(448), MOST);
	assert_int_equal(tcb_f32_to_e4m3(INFINITY), MOST);
	assert_int_equal(tcb_f32_to_e4m3(-1000), 0x80 + MOST);
	assert_true(tcb_e4m3_is_nan(tcb_f32_to_e4m3(NAN)));
}

static void test_six_scales_round_trip(void **state)
{
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 7);
	for (int round = 0; round < 1000; round++) {
		uint8_t packed[6], again[6];
		int8_t scale[8];
		for (int i = 0; i < 6; i++)
			packed[i] = (uint8_t)tcb_rng_next(&rng);
		tcb_six_scales(packed, scale);
		tcb_six_scales_pack(scale, again);
		assert_memory_equal(packed, again, 6);
	}
}

/* Places are those that decoding reads: one code at a time, in a block of zeros. */
static void test_code_places(void **state)
{
	(void)state;
	for (int f = 0; f < DESCRIBED; f++) {
		const struct tcb_format *format = tcb_format(described[f].id);
		struct tcb_codes zeros, codes;
		uint8_t block[TCB_BLOCK_BYTES_MAX] = { 0 };
		if (f >= TCB_FORMAT_FIELD_COUNT)
			continue;
		tcb_block_decode(format, block, &zeros);
		for (unsigned i = 0; i < format->block_values; i++) {
			const struct tcb_code_place p = tcb_code_place(format, i);
			assert_int_equal(p.low_bits + p.high_bits, format->code_bits);
			block[p.low] = (uint8_t)(((1u << p.low_bits) - 1) << p.low_shift);
			if (p.high_bits)
				block[p.high] = (uint8_t)(((1u << p.high_bits) - 1) << p.high_shift);
			tcb_block_decode(format, block, &codes);
			for (unsigned j = 0; j < format->block_values; j++)
				assert_int_equal(codes.code[j] != zeros.code[j], i == j);
			block[p.low] = block[p.high] = 0;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_codes),
		cmocka_unit_test(test_k_scales_round_trip),
		cmocka_unit_test(test_random_blocks_cover),
		cmocka_unit_test(test_quantize),
		cmocka_unit_test(test_ggml_sample),
		cmocka_unit_test(test_power_scales),
		cmocka_unit_test(test_e4m3_scales),
		cmocka_unit_test(test_to_e4m3),
		cmocka_unit_test(test_six_scales_round_trip),
		cmocka_unit_test(test_code_places),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
