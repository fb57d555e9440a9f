/* SPDX-License-Identifier: MIT
 *
 * The matrix units as functions.  Fragments are laid out here by the formulas
 * that the PTX manual prints for each shape, one by one; the product is a plain
 * one.  Matrix descriptors are held against a copy of the layouts by hand.
 */
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "ptx/emulate/emu_float.h"
#include "ptx/emulate/tensor/emu_matrix.h"
#include "ptx/emulate/tensor/emu_tensor_sums_loop.h"

#define G (lane / 4)
#define T (lane % 4)

struct place {
	unsigned row, column;
};

/* One shape of the manual: where element I of A, B and C in LANE lies. */
struct shape {
	unsigned m, n, k, a_elements, b_elements, c_elements;
	struct place (*a)(unsigned lane, unsigned i);
	struct place (*b)(unsigned lane, unsigned i);
	struct place (*c)(unsigned lane, unsigned i);
};

#define PLACE(name, r, c)                                       \
	static struct place name(unsigned lane, unsigned i)     \
	{                                                       \
		(void)i;                                        \
		return (struct place){ .row = r, .column = c }; \
	}

PLACE(c_8x8, G, T * 2 + i)
PLACE(c_16x8, i < 2 ? G : G + 8, T * 2 + (i & 1))
/* 16 bits */
PLACE(a16_k8, i < 2 ? G : G + 8, T * 2 + (i & 1))
PLACE(b16_k8, T * 2 + i, G)
PLACE(a16_k16, (i < 2 || (i >= 4 && i < 6)) ? G : G + 8, i < 4 ? T * 2 + (i & 1) : T * 2 + (i & 1) + 8)
PLACE(b16_k16, i < 2 ? T * 2 + (i & 1) : T * 2 + (i & 1) + 8, G)
/* tf32 */
PLACE(a32_k4, i == 0 ? G : G + 8, T)
PLACE(b32_k4, T, G)
PLACE(a32_k8, i == 0 || i == 2 ? G : G + 8, i < 2 ? T : T + 4)
PLACE(b32_k8, i == 0 ? T : T + 4, G)
/* 8 bits */
PLACE(a8_8x16, G, T * 4 + i)
PLACE(b8_k16, T * 4 + i, G)
PLACE(a8_16x16, i < 4 ? G : G + 8, T * 4 + (i & 3))
PLACE(a8_16x32, (i < 4 || (i >= 8 && i < 12)) ? G : G + 8, i < 8 ? T * 4 + (i & 3) : T * 4 + (i & 3) + 16)
PLACE(b8_k32, i < 4 ? T * 4 + (i & 3) : T * 4 + (i & 3) + 16, G)
/* 4 bits */
PLACE(a4_8x32, G, T * 8 + i)
PLACE(b4_k32, T * 8 + i, G)
PLACE(a4_16x32, i < 8 ? G : G + 8, T * 8 + (i & 7))
PLACE(a4_16x64, (i < 8 || (i >= 16 && i < 24)) ? G : G + 8, i < 16 ? T * 8 + (i & 7) : T * 8 + (i & 7) + 32)
PLACE(b4_k64, i < 8 ? T * 8 + (i & 7) : T * 8 + (i & 7) + 32, G)
/* 1 bit */
PLACE(a1_8x128, G, T * 32 + i)
PLACE(b1_k128, T * 32 + i, G)
PLACE(a1_16x128, i < 32 ? G : G + 8, T * 32 + (i & 31))
PLACE(a1_16x256, (i < 32 || (i >= 64 && i < 96)) ? G : G + 8, i < 64 ? T * 32 + (i & 31) : T * 32 + (i & 31) + 128)
PLACE(b1_k256, i < 32 ? T * 32 + (i & 31) : T * 32 + (i & 31) + 128, G)
/* 64 bits */
PLACE(a64_8x4, G, T)
PLACE(b64_k4, T, G)
PLACE(a64_16x4, i == 0 ? G : G + 8, T)
PLACE(a64_16x8, i == 0 || i == 2 ? G : G + 8, i < 2 ? T : T + 4)
PLACE(b64_k8, i == 0 ? T : T + 4, G)
PLACE(a64_16x16, i % 2 == 0 ? G : G + 8, i * 2 - i % 2 * 2 + T)
PLACE(b64_k16, T + i * 4, G)

static const struct shape m16n8k8_16 = { 16, 8, 8, 4, 2, 4, a16_k8, b16_k8, c_16x8 };
static const struct shape m16n8k16_16 = { 16, 8, 16, 8, 4, 4, a16_k16, b16_k16, c_16x8 };
static const struct shape m16n8k4_32 = { 16, 8, 4, 2, 1, 4, a32_k4, b32_k4, c_16x8 };
static const struct shape m16n8k8_32 = { 16, 8, 8, 4, 2, 4, a32_k8, b32_k8, c_16x8 };
static const struct shape m8n8k16_8 = { 8, 8, 16, 4, 4, 2, a8_8x16, b8_k16, c_8x8 };
static const struct shape m16n8k16_8 = { 16, 8, 16, 8, 4, 4, a8_16x16, b8_k16, c_16x8 };
static const struct shape m16n8k32_8 = { 16, 8, 32, 16, 8, 4, a8_16x32, b8_k32, c_16x8 };
static const struct shape m8n8k32_4 = { 8, 8, 32, 8, 8, 2, a4_8x32, b4_k32, c_8x8 };
static const struct shape m16n8k32_4 = { 16, 8, 32, 16, 8, 4, a4_16x32, b4_k32, c_16x8 };
static const struct shape m16n8k64_4 = { 16, 8, 64, 32, 16, 4, a4_16x64, b4_k64, c_16x8 };
static const struct shape m8n8k128_1 = { 8, 8, 128, 32, 32, 2, a1_8x128, b1_k128, c_8x8 };
static const struct shape m16n8k128_1 = { 16, 8, 128, 64, 32, 4, a1_16x128, b1_k128, c_16x8 };
static const struct shape m16n8k256_1 = { 16, 8, 256, 128, 64, 4, a1_16x256, b1_k256, c_16x8 };
static const struct shape m8n8k4_64 = { 8, 8, 4, 1, 1, 2, a64_8x4, b64_k4, c_8x8 };
static const struct shape m16n8k4_64 = { 16, 8, 4, 2, 1, 4, a64_16x4, b64_k4, c_16x8 };
static const struct shape m16n8k8_64 = { 16, 8, 8, 4, 2, 4, a64_16x8, b64_k8, c_16x8 };
static const struct shape m16n8k16_64 = { 16, 8, 16, 8, 4, 4, a64_16x16, b64_k16, c_16x8 };

struct kind {
	const struct shape *shape;
	enum tcb_ptx_word d, a, b;
	int padded, satfinite, bit_and;
};

#define P(id) TCB_PTX_##id
static const struct kind kinds[] = {
	{ &m16n8k8_16, P(F32), P(F16), P(F16), 0, 0, 0 },   { &m16n8k8_16, P(F16), P(F16), P(F16), 0, 0, 0 },
	{ &m16n8k16_16, P(F32), P(F16), P(F16), 0, 0, 0 },  { &m16n8k16_16, P(F16), P(F16), P(F16), 0, 0, 0 },
	{ &m16n8k8_16, P(F32), P(BF16), P(BF16), 0, 0, 0 }, { &m16n8k16_16, P(F32), P(BF16), P(BF16), 0, 0, 0 },
	{ &m16n8k4_32, P(F32), P(TF32), P(TF32), 0, 0, 0 }, { &m16n8k8_32, P(F32), P(TF32), P(TF32), 0, 0, 0 },
	{ &m16n8k16_8, P(F32), P(E4M3), P(E5M2), 0, 0, 0 }, { &m16n8k32_8, P(F32), P(E4M3), P(E4M3), 0, 0, 0 },
	{ &m16n8k32_8, P(F16), P(E5M2), P(E4M3), 0, 0, 0 }, { &m16n8k32_8, P(F32), P(E2M1), P(E3M2), 1, 0, 0 },
	{ &m16n8k32_8, P(F32), P(E2M3), P(E4M3), 1, 0, 0 }, { &m8n8k16_8, P(S32), P(S8), P(U8), 0, 0, 0 },
	{ &m16n8k16_8, P(S32), P(U8), P(S8), 0, 0, 0 },     { &m16n8k32_8, P(S32), P(S8), P(S8), 0, 0, 0 },
	{ &m16n8k32_8, P(S32), P(U8), P(S8), 0, 0, 0 },     { &m16n8k16_8, P(S32), P(S8), P(S8), 0, 0, 0 },
	{ &m16n8k32_8, P(S32), P(U8), P(U8), 0, 1, 0 },     { &m8n8k32_4, P(S32), P(S4), P(U4), 0, 0, 0 },
	{ &m16n8k32_4, P(S32), P(U4), P(S4), 0, 0, 0 },     { &m16n8k64_4, P(S32), P(S4), P(S4), 0, 1, 0 },
	{ &m8n8k128_1, P(S32), P(B1), P(B1), 0, 0, 0 },     { &m16n8k128_1, P(S32), P(B1), P(B1), 0, 0, 1 },
	{ &m16n8k256_1, P(S32), P(B1), P(B1), 0, 0, 0 },    { &m8n8k4_64, P(F64), P(F64), P(F64), 0, 0, 0 },
	{ &m16n8k4_64, P(F64), P(F64), P(F64), 0, 0, 0 },   { &m16n8k8_64, P(F64), P(F64), P(F64), 0, 0, 0 },
	{ &m16n8k16_64, P(F64), P(F64), P(F64), 0, 0, 0 },
};
#undef P

static unsigned bits_in_register(enum tcb_ptx_word type, int padded)
{
	return padded ? 8 : tcb_ptx_type_bits(type);
}

/* A random code of TYPE and what it is worth; small integers of both signs where the range is wide. */
static uint64_t random_code(struct tcb_rng *rng, enum tcb_ptx_word type, int padded, double *value)
{
	uint64_t code;

	switch (type) {
	case TCB_PTX_S8:
		code = tcb_rng_below(rng, 256);
		*value = (double)(int8_t)code;
		return code;
	case TCB_PTX_S4:
		code = tcb_rng_below(rng, 16);
		*value = code < 8 ? (double)code : (double)code - 16;
		return code;
	case TCB_PTX_U8:
	case TCB_PTX_U4:
	case TCB_PTX_B1:
		code = tcb_rng_below(rng, 1u << tcb_ptx_type_bits(type));
		*value = (double)code;
		return code;
	case TCB_PTX_E2M1:
		code = tcb_rng_below(rng, 16);
		*value = tcb_ptx_float_widen(type, code);
		return padded ? code << 2 : code;
	case TCB_PTX_E3M2:
	case TCB_PTX_E2M3:
		code = tcb_rng_below(rng, 64);
		*value = tcb_ptx_float_widen(type, code);
		return code;
	default:
		*value = (double)tcb_rng_normal(rng);
		code = tcb_ptx_float_narrow(type, *value, TCB_PTX_RN, 0);
		*value = tcb_ptx_float_widen(type, code);
		return code;
	}
}

/* A matrix of ROWS by COLUMNS, and its fragment by the manual's formula. */
static void fill(struct tcb_rng *rng, enum tcb_ptx_word type, int padded, unsigned rows, unsigned columns,
		 struct place (*at)(unsigned, unsigned), unsigned elements, double *matrix, uint64_t lanes[][32])
{
	unsigned bits = bits_in_register(type, padded), each = bits < 64 ? 32 / bits : 1;
	uint64_t *codes = calloc((size_t)rows * columns, sizeof *codes);

	assert_non_null(codes);
	for (unsigned i = 0; i < rows * columns; i++)
		codes[i] = random_code(rng, type, padded, &matrix[i]);
	memset(lanes, 0, (elements / each) * sizeof *lanes);
	for (unsigned lane = 0; lane < 32; lane++)
		for (unsigned i = 0; i < elements; i++) {
			struct place p = at(lane, i);

			assert_true(p.row < rows && p.column < columns);
			lanes[i / each][lane] |= codes[p.row * columns + p.column] << (bits < 64 ? i % each * bits : 0);
		}
	free(codes);
}

static double expected(const struct kind *kind, const double *a, const double *b, double c, struct place at)
{
	const struct shape *s = kind->shape;
	double sum = kind->d == TCB_PTX_F64 ? c : 0;

	for (unsigned l = 0; l < s->k; l++) {
		double x = a[at.row * s->k + l], y = b[l * s->n + at.column];

		if (kind->d == TCB_PTX_F64)
			sum = fma(x, y, sum);
		else if (kind->a == TCB_PTX_B1)
			sum += kind->bit_and ? x != 0 && y != 0 : x != y;
		else
			sum += x * y;
	}
	if (kind->d == TCB_PTX_F64)
		return sum;
	sum += c;
	if (kind->d == TCB_PTX_S32 && kind->satfinite)
		return sum > 2147483647.0 ? 2147483647.0 : sum < -2147483648.0 ? -2147483648.0 : sum;
	if (kind->d == TCB_PTX_S32)
		return (double)(int32_t)(uint32_t)(int64_t)sum;
	return tcb_ptx_float_widen(kind->d, tcb_ptx_float_narrow(kind->d, sum, TCB_PTX_RN, 0));
}

static void check_kind(struct tcb_rng *rng, const struct kind *kind)
{
	const struct shape *s = kind->shape;
	struct tcb_ptx_product product = { .m = s->m,
					   .n = s->n,
					   .k = s->k,
					   .d = kind->d,
					   .a = kind->a,
					   .b = kind->b,
					   .c = kind->d,
					   .padded = kind->padded,
					   .satfinite = kind->satfinite,
					   .bit_and = kind->bit_and };
	double a[16 * 256], b[256 * 8], c[16 * 8];
	uint64_t la[8][32], lb[4][32], lc[4][32], ld[4][32];
	unsigned each = kind->d == TCB_PTX_F16 ? 2 : 1;

	fill(rng, kind->a, kind->padded, s->m, s->k, s->a, s->a_elements, a, la);
	fill(rng, kind->b, kind->padded, s->k, s->n, s->b, s->b_elements, b, lb);
	if (kind->d == TCB_PTX_S32) { /* near the ends, so that wrapping and clamping differ */
		for (unsigned lane = 0; lane < 32; lane++)
			for (unsigned i = 0; i < s->c_elements; i++) {
				struct place p = s->c(lane, i);
				int32_t value = (int32_t)tcb_rng_next(rng);

				value = tcb_rng_below(rng, 2) ? value : value < 0 ? INT32_MIN + 5 : INT32_MAX - 5;
				lc[i][lane] = (uint32_t)value;
				c[p.row * s->n + p.column] = (double)value;
			}
	} else {
		fill(rng, kind->d, 0, s->m, s->n, s->c, s->c_elements, c, lc);
	}
	tcb_ptx_mma(&product, la, lb, lc, ld);
	for (unsigned lane = 0; lane < 32; lane++)
		for (unsigned i = 0; i < s->c_elements; i++) {
			struct place p = s->c(lane, i);
			uint64_t bits = each == 2 ? ld[i / 2][lane] >> (i % 2 * 16) & 0xffff : ld[i][lane];
			double got =
				kind->d == TCB_PTX_S32 ? (double)(int32_t)bits : tcb_ptx_float_widen(kind->d, bits);
			double want = expected(kind, a, b, c[p.row * s->n + p.column], p);

			if (got != want)
				fail_msg("m%un%uk%u lane %u element %u: %.9g, not %.9g", s->m, s->n, s->k, lane, i, got,
					 want);
		}
	/* control: elements of A in other lanes are another product */
	la[0][5] ^= la[0][9] ^ 1;
	tcb_ptx_mma(&product, la, lb, lc, lc);
	assert_memory_not_equal(lc, ld, (s->c_elements / each) * sizeof *ld);
}

static void fragments(void **state)
{
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 21);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		for (int round = 0; round < 5; round++)
			check_kind(&rng, &kinds[i]);
}

/* --- what hardware computed --- */

static enum tcb_ptx_word word(const char *text)
{
	return tcb_ptx_word_find(text, strlen(text));
}

/* The product that a line "mma m16n8k16 f32 f16 f16 f32" of the fixture names, as a target of sm_90 has it. */
static struct tcb_ptx_product product_of_line(char *line)
{
	struct tcb_ptx_product p = { 0 };
	char *texts[8] = { NULL }, *save = NULL;
	unsigned count = 0;

	for (char *t = strtok_r(line, " \n", &save); t && count < 8; t = strtok_r(NULL, " \n", &save))
		texts[count++] = t;
	assert_true(count >= 6);
	tcb_ptx_shape(word(texts[1]), &p.m, &p.n, &p.k);
	p.satfinite = strcmp(texts[2], "satfinite") == 0;
	p.d = word(texts[count - 4]);
	p.a = word(texts[count - 3]);
	p.b = word(texts[count - 2]);
	p.c = word(texts[count - 1]);
	if (p.a == TCB_PTX_F16 || p.a == TCB_PTX_BF16 || p.a == TCB_PTX_TF32) {
		p.fraction = 25;
		p.mantissa = 23;
		p.group = 256 / tcb_ptx_type_bits(p.a);
	}
	return p;
}

static unsigned differences(const struct tcb_ptx_product *p, uint64_t words[16][32])
{
	uint64_t d[4][32] = { { 0 } };
	unsigned count = 0;

	tcb_ptx_mma(p, words, words + 4, words + 6, d);
	for (unsigned r = 0; r < (p->d == TCB_PTX_F16 ? 2u : 4u); r++)
		for (unsigned lane = 0; lane < 32; lane++)
			count += d[r][lane] != words[10 + r][lane];
	return count;
}

static void hardware(void **state)
{
	FILE *file = fopen(TCB_FIXTURES "/ptx_h200_mma.txt", "r");
	unsigned tiles = 0, told_apart = 0;
	char line[400];

	(void)state;
	assert_non_null(file);
	while (fgets(line, sizeof line, file)) {
		struct tcb_ptx_product p;
		uint64_t words[16][32];

		if (line[0] == '#')
			continue;
		p = product_of_line(line);
		for (unsigned lane = 0; lane < 32; lane++) {
			char *at = line;

			assert_non_null(fgets(line, sizeof line, file));
			for (unsigned i = 0; i < 14; i++)
				words[i][lane] = strtoul(at, &at, 16);
		}
		assert_int_equal(differences(&p, words), 0);
		tiles++;
		/* controls: one bit less or more, or groups of half the size, is not what it computed */
		if (p.group && p.d == TCB_PTX_F32) {
			struct tcb_ptx_product other = p;

			other.fraction--;
			told_apart += differences(&other, words) != 0;
			other.fraction += 2;
			told_apart += differences(&other, words) != 0;
			other = p;
			other.group /= 2;
			told_apart += differences(&other, words) != 0;
		}
	}
	fclose(file);
	assert_int_equal(tiles, 12);
	assert_true(told_apart >= 3 * 5);
}

static void eight_by_eight(void **state)
{
	uint16_t rows[8][8], back[8][8];
	uint32_t lanes[32], turned[32];

	(void)state;
	for (unsigned i = 0; i < 64; i++)
		rows[i / 8][i % 8] = (uint16_t)(i * 257);
	tcb_ptx_matrix_load(rows, 0, lanes);
	tcb_ptx_matrix_load(rows, 1, turned);
	for (unsigned lane = 0; lane < 32; lane++) {
		assert_int_equal(lanes[lane] & 0xffff, rows[lane / 4][lane % 4 * 2]);
		assert_int_equal(lanes[lane] >> 16, rows[lane / 4][lane % 4 * 2 + 1]);
		assert_int_equal(turned[lane] & 0xffff, rows[lane % 4 * 2][lane / 4]);
		assert_int_equal(turned[lane] >> 16, rows[lane % 4 * 2 + 1][lane / 4]);
	}
	tcb_ptx_matrix_store(back, 0, lanes);
	assert_memory_equal(back, rows, sizeof rows);
	tcb_ptx_matrix_store(back, 1, turned);
	assert_memory_equal(back, rows, sizeof rows);
	tcb_ptx_matrix_store(back, 0, turned); /* control: a transpose is not the identity */
	assert_memory_not_equal(back, rows, sizeof rows);
}

static void descriptors(void **state)
{
	struct tcb_ptx_matrix_descriptor d = { 0x1400, 128, 1024, 0, 128 }, back;

	(void)state;
	back = tcb_ptx_matrix_descriptor(tcb_ptx_matrix_descriptor_bits(&d));
	assert_memory_equal(&back, &d, sizeof d);
	assert_int_equal(tcb_ptx_matrix_descriptor_bits(&d), 1ull << 62 | 64ull << 32 | 8ull << 16 | 0x140);
	/* k runs fastest, 128 bytes: row 9 is the second row of the second group; chunk 1 of 8 is exchanged with 0 */
	d.start = 0;
	assert_int_equal(tcb_ptx_matrix_address(&d, 1, 2, 0, 0), 0);
	assert_int_equal(tcb_ptx_matrix_address(&d, 1, 2, 9, 0), 1024 + 128 + 16);
	assert_int_equal(tcb_ptx_matrix_address(&d, 1, 2, 9, 8), 1024 + 128);
	assert_int_equal(tcb_ptx_matrix_address(&d, 1, 2, 7, 15), 7 * 128 + ((1 ^ 7) << 4) + 14);
	/* the second k-step of 32 bytes: the start moves on, the pattern does not */
	d.start = 32;
	assert_int_equal(tcb_ptx_matrix_address(&d, 1, 2, 1, 0), 128 + ((2 ^ 1) << 4));
	/* none: 8 x 16 bytes side by side, LEADING along k, STRIDE along the rows */
	d = (struct tcb_ptx_matrix_descriptor){ 0, 256, 512, 0, 0 };
	assert_int_equal(tcb_ptx_matrix_address(&d, 1, 2, 10, 9), 512 + 2 * 16 + 256 + 2);
	/* rows run fastest, no swizzling: the two change places */
	assert_int_equal(tcb_ptx_matrix_address(&d, 0, 2, 10, 9), 512 + 4 + 256 + 16);
	/* 128 bytes are 64 rows; the next 64 are LEADING away, the next 8 of k STRIDE */
	d = (struct tcb_ptx_matrix_descriptor){ 0, 4096, 1024, 0, 128 };
	assert_int_equal(tcb_ptx_matrix_address(&d, 0, 2, 65, 0), 4096 + 2);
	assert_int_equal(tcb_ptx_matrix_address(&d, 0, 2, 0, 9), 1024 + 128 + 16);
	/* the pattern begins two rows of 128 bytes into its own size */
	d = (struct tcb_ptx_matrix_descriptor){ 256, 512, 2048, 2, 128 };
	assert_int_equal(tcb_ptx_matrix_address(&d, 1, 2, 0, 0), 256);
	assert_int_equal(tcb_ptx_matrix_address(&d, 1, 2, 1, 0), 384 + 16);
	/* 64 and 32 bytes exchange with fewer bits */
	assert_int_equal(tcb_ptx_swizzle(0x380, 128), 0x380 ^ 0x70);
	assert_int_equal(tcb_ptx_swizzle(0x380, 64), 0x380 ^ 0x30);
	assert_int_equal(tcb_ptx_swizzle(0x380, 32), 0x380 ^ 0x10);
	assert_int_equal(tcb_ptx_swizzle(0x380, 0), 0x380);
}

/* All chunks of a tile are where each of them is, and a chunk's floats are its elements. */
static void chunks_of_tiles(void **state)
{
	static const unsigned swizzles[] = { 0, 32, 64, 128 };
	static const enum tcb_ptx_word types[] = { TCB_PTX_F16, TCB_PTX_BF16, TCB_PTX_TF32, TCB_PTX_E4M3,
						   TCB_PTX_E5M2 };
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 31);
	for (unsigned round = 0; round < 400; round++) {
		const struct tcb_ptx_matrix_descriptor d = { .start = (uint32_t)tcb_rng_below(&rng, 256) * 16,
							     .leading = (uint32_t)tcb_rng_below(&rng, 64) * 128,
							     .stride = (uint32_t)tcb_rng_below(&rng, 64) * 128,
							     .base_offset = (unsigned)tcb_rng_below(&rng, 8),
							     .swizzle = swizzles[round % 4] };
		const enum tcb_ptx_word type = types[round % 5];
		const unsigned bytes = tcb_ptx_type_bits(type) / 8, each = 16 / bytes, k = 2 * each, rows = 32;
		const unsigned first = 16 * (unsigned)tcb_rng_below(&rng, 4);
		const int k_major = (int)(round / 4 % 2);
		uint32_t chunk[64];
		unsigned count = 0;

		assert_int_equal(tcb_ptx_matrix_chunks(&d, k_major, bytes, first, rows, k, chunk), rows * k / each);
		for (unsigned i = 0; i < (k_major ? rows : k); i++)
			for (unsigned j = 0; j < (k_major ? k : rows); j += each)
				assert_int_equal(chunk[count++],
						 tcb_ptx_matrix_address(&d, k_major, bytes, first + (k_major ? i : j),
									k_major ? j : i));
	}
	for (unsigned round = 0; round < 2000; round++) {
		const enum tcb_ptx_word type = types[round % 5];
		const unsigned each = 128 / tcb_ptx_type_bits(type);
		uint64_t word[2] = { tcb_rng_next(&rng), tcb_rng_next(&rng) };
		double wide[16];
		float near[16];

		tcb_ptx_near_chunk(type, (const uint8_t *)word, near);
		for (unsigned half = 0; half < 2; half++)
			tcb_ptx_elements(type, 0, word[half], each / 2, wide + half * (each / 2));
		for (unsigned i = 0; i < each; i++)
			if (!((double)near[i] == wide[i] || (isnan(near[i]) && isnan(wide[i]))))
				fail_msg("element %u: %a, not %a", i, near[i], wide[i]);
	}
}

/* --- sums in float --- */

/* A number of TYPE whose exponent is within SPREAD of 0, zero now and then, or one with all bits of its mantissa. */
static float number(struct tcb_rng *rng, enum tcb_ptx_word type, unsigned spread)
{
	static const unsigned dropped[] = { 13, 16, 13, 20, 21 };
	const unsigned kind = type == TCB_PTX_F16    ? 0
			      : type == TCB_PTX_BF16 ? 1
			      : type == TCB_PTX_TF32 ? 2
			      : type == TCB_PTX_E4M3 ? 3
						     : 4;
	uint32_t bits = (uint32_t)tcb_rng_next(rng), exponent = 127 - spread + bits % (2 * spread + 1);

	if (tcb_rng_below(rng, 9) == 0)
		return 0;
	bits = tcb_rng_below(rng, 3) ? bits : bits | 0x7fffff;
	return tcb_ptx_float_of_bits(((bits & 0x807fffff) | exponent << 23) & UINT32_MAX << dropped[kind]);
}

/* One product as it is, and again with a row of C so large that it takes the way of all numbers: the other rows are the
 * same bits. */
static void sums_in_float_are_the_same(void **state)
{
	static const struct tcb_ptx_product products[] = {
		{ 16, 8, 16, TCB_PTX_F32, TCB_PTX_F16, TCB_PTX_F16, TCB_PTX_F32, .group = 8, .fraction = 24,
		  .mantissa = 23 },
		{ 16, 8, 16, TCB_PTX_F32, TCB_PTX_F16, TCB_PTX_F16, TCB_PTX_F32, .group = 16, .fraction = 25,
		  .mantissa = 23 },
		{ 16, 8, 8, TCB_PTX_F16, TCB_PTX_F16, TCB_PTX_F16, TCB_PTX_F16, .group = 8, .fraction = 24,
		  .mantissa = 23 },
		{ 16, 8, 16, TCB_PTX_F16, TCB_PTX_F16, TCB_PTX_F16, TCB_PTX_F16, .group = 8, .fraction = 24,
		  .mantissa = 23 },
		{ 16, 8, 16, TCB_PTX_F32, TCB_PTX_BF16, TCB_PTX_BF16, TCB_PTX_F32, .group = 16, .fraction = 25,
		  .mantissa = 23 },
		{ 16, 8, 8, TCB_PTX_F32, TCB_PTX_TF32, TCB_PTX_TF32, TCB_PTX_F32, .group = 4, .fraction = 24,
		  .mantissa = 23 },
		{ 16, 32, 16, TCB_PTX_F32, TCB_PTX_BF16, TCB_PTX_BF16, TCB_PTX_F32, .group = 16, .fraction = 25,
		  .mantissa = 23 },
		{ 16, 16, 16, TCB_PTX_F32, TCB_PTX_F16, TCB_PTX_F16, TCB_PTX_F32, .group = 16, .fraction = 25,
		  .mantissa = 23 },
		{ 16, 32, 16, TCB_PTX_F16, TCB_PTX_F16, TCB_PTX_F16, TCB_PTX_F16, .group = 16, .fraction = 25,
		  .mantissa = 23 },
		{ 16, 24, 8, TCB_PTX_F32, TCB_PTX_TF32, TCB_PTX_TF32, TCB_PTX_F32, .group = 8, .fraction = 25,
		  .mantissa = 23 },
		{ 16, 24, 32, TCB_PTX_F32, TCB_PTX_E4M3, TCB_PTX_E4M3, TCB_PTX_F32, .group = 32, .fraction = 13,
		  .mantissa = 13 },
	};
	enum { ELEMENTS = 16 * 32 };
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 29);
	for (unsigned round = 0; round < 4000; round++) {
		const struct tcb_ptx_product *p = &products[round % (sizeof products / sizeof *products)];
		const unsigned spread = p->a == TCB_PTX_E4M3 ? 5 : 1 + round / 8 % 13;
		float a[ELEMENTS], b[32 * 32], sums[ELEMENTS], any[ELEMENTS];
		double wide_a[ELEMENTS], wide_b[32 * 32], wide_c[ELEMENTS], near[ELEMENTS], far[ELEMENTS];

		for (unsigned i = 0; i < p->m * p->k; i++)
			wide_a[i] = a[i] = number(&rng, p->a, spread);
		for (unsigned i = 0; i < p->n * p->k; i++)
			wide_b[i] = b[i] = number(&rng, p->b, spread);
		for (unsigned i = 0; i < p->m * p->n; i++)
			wide_c[i] = sums[i] = number(&rng, p->d == TCB_PTX_F16 ? TCB_PTX_F16 : TCB_PTX_TF32, spread);
		memcpy(any, sums, sizeof any);
		assert_int_equal(tcb_ptx_tensor_sums(p, a, b, sums), 1);
		assert_int_equal(tensor_sums(p, a, b, any), 1); /* of any processor */
		assert_memory_equal(any, sums, p->m * p->n * sizeof *any);
		tcb_ptx_product_run(p, wide_a, wide_b, wide_c, near);
		wide_c[0] = INFINITY;
		tcb_ptx_product_run(p, wide_a, wide_b, wide_c, far);
		for (unsigned i = p->n; i < p->m * p->n; i++)
			if (near[i] != far[i] || (double)sums[i] != far[i])
				fail_msg("round %u, element %u: %a in float, %a", round, i, near[i], far[i]);
	}
}

/* What float cannot hold is refused, and comes out as before. */
static void far_numbers_are_refused(void **state)
{
	static const struct tcb_ptx_product p = {
		16,           8,           8,           TCB_PTX_F32,    TCB_PTX_BF16,
		TCB_PTX_BF16, TCB_PTX_F32, .group = 16, .fraction = 25, .mantissa = 23
	};
	static const float far[] = { 0x1p60f, 0x1p-60f, INFINITY, NAN, 0x1p-140f };

	(void)state;
	for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
		float a[16 * 8] = { 0 }, b[8 * 8] = { 0 }, sums[16 * 8] = { 0 };

		a[5] = far[i];
		assert_int_equal(tcb_ptx_tensor_sums(&p, a, b, sums), 0);
		a[5] = 0;
		b[63] = far[i];
		assert_int_equal(tcb_ptx_tensor_sums(&p, a, b, sums), 0);
		b[63] = 0;
		assert_int_equal(tcb_ptx_tensor_sums(&p, a, b, sums), 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fragments),
		cmocka_unit_test(hardware),
		cmocka_unit_test(sums_in_float_are_the_same),
		cmocka_unit_test(far_numbers_are_refused),
		cmocka_unit_test(eight_by_eight),
		cmocka_unit_test(descriptors),
		cmocka_unit_test(chunks_of_tiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
