/* SPDX-License-Identifier: MIT
 *
 * Layout r16: the same bytes for the MatVec and the matmul of a format, every
 * byte where quant_lines.h says, zeros as padding, nothing written outside, and
 * what one op packed the other unpacks.
 */
#include "kernels/quant_lines.h"

#include <string.h>

#include "base/buffer.h"
#include "base/util.h"
#include "cmocka_all.h"
#include "kernels/decode/formats_grids.h"
#include "kernels/formats.h"

#define NAMES(id, name, op, ...) { #op "_matvec", #op "_matmul" },
static const char *const names[][2] = { TCB_FORMAT_LIST(NAMES) };
enum { FORMATS = sizeof(names) / sizeof(names[0]), OPS = 2 };

/* Weights of N x K, any bytes, and what each op makes of them. */
struct matrix {
	struct tcb_problem problem[OPS];
	const struct tcb_format *format;
	size_t n, k, row_bytes;
	struct tcb_buffer stored, packed[OPS], back;
};

static void alloc(size_t bytes, struct tcb_buffer *out)
{
	assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, bytes, out, NULL), TCB_OK);
}

static void make(struct matrix *m, size_t format, size_t n, size_t k)
{
	struct tcb_rng rng;
	for (size_t o = 0; o < OPS; o++) {
		const struct tcb_op *op = tcb_op_find(names[format][o]);
		const struct tcb_shape shape = { 1, n, k };
		assert_non_null(op);
		assert_int_equal(tcb_problem_init(op, op->default_contract, &shape, &m->problem[o], NULL), TCB_OK);
	}
	m->format = m->problem[0].op->format;
	m->n = n;
	m->k = k;
	m->row_bytes = tcb_quant_row_bytes(m->format, k);
	alloc(n * m->row_bytes, &m->stored);
	alloc(n * m->row_bytes, &m->back);
	tcb_rng_init(&rng, 1000 * n + k);
	uint8_t *bytes = m->stored.data;
	for (size_t i = 0; i < n * m->row_bytes; i++)
		bytes[i] = (uint8_t)tcb_rng_next(&rng);
	assert_int_equal(tcb_buffer_protect(&m->stored, 1, NULL), TCB_OK);
	for (size_t o = 0; o < OPS; o++) {
		alloc(tcb_lines_bytes(&m->problem[o]), &m->packed[o]);
		memset(m->packed[o].data, o ? 0x55 : 0xaa, tcb_lines_bytes(&m->problem[o]));
		m->problem[o].op->pack(&m->problem[o], TCB_QUANT_WEIGHTS, TCB_LAYOUT_R16, bytes, m->packed[o].data);
		assert_int_equal(tcb_buffer_check(&m->packed[o]), 0);
	}
}

static void drop(struct matrix *m)
{
	tcb_buffer_free(&m->stored);
	tcb_buffer_free(&m->back);
	for (size_t o = 0; o < OPS; o++)
		tcb_buffer_free(&m->packed[o]);
}

/* Each shape of each format, once for whole superblocks and once, for blocks of 32, with a part of one at the end. */
static void for_each(void (*check)(struct matrix *m))
{
	static const size_t rows[] = { 1, 3, 16, 17, 40 };
	for (size_t f = 0; f < FORMATS; f++)
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			for (int part = 0; part < 2; part++) {
				struct matrix m;
				const size_t block = tcb_op_find(names[f][0])->format->block_values;
				make(&m, f, rows[i], part ? 256 * i + 256 + block * 3 : 512);
				check(&m);
				drop(&m);
			}
}

static void check_same(struct matrix *m)
{
	const size_t bytes = tcb_lines_bytes(&m->problem[0]);
	assert_int_equal(bytes, tcb_lines_bytes(&m->problem[1]));
	assert_memory_equal(m->packed[0].data, m->packed[1].data, bytes);
	for (size_t o = 0; o < OPS; o++) {
		memset(m->back.data, 0x33, m->n * m->row_bytes);
		m->problem[!o].op->unpack(&m->problem[!o], TCB_QUANT_WEIGHTS, TCB_LAYOUT_R16, m->packed[o].data,
					  m->back.data);
		assert_memory_equal(m->back.data, m->stored.data, m->n * m->row_bytes);
		assert_int_equal(tcb_buffer_check(&m->back), 0);
	}
}

static void test_same_for_both_ops(void **state)
{
	(void)state;
	for_each(check_same);
}

/* Where byte I of the words of a superblock lies in the row as stored, or -1 for zeros. */
static int place(const struct tcb_format *format, size_t i)
{
	static const struct {
		size_t end;
		int at;
	} q6k[] = { { 2, 208 }, { 4, -1 }, { 20, 192 }, { 52, 128 }, { 116, 0 }, { 148, 160 }, { 212, 64 } };
	const size_t head = format->codes_at, codes = format->block_bytes - head;
	if (format->id == TCB_FORMAT_Q6_K)
		for (size_t p = 0, from = 0; p < sizeof(q6k) / sizeof(q6k[0]); from = q6k[p++].end)
			if (i < q6k[p].end)
				return q6k[p].at < 0 ? -1 : q6k[p].at + (int)(i - from);
	if (format->block_values == 256)
		return (int)i;
	if (i < 8 * head)
		return (int)(i / head * format->block_bytes + i % head);
	i -= 8 * head;
	return (int)(i / codes * format->block_bytes + head + i % codes);
}

/* Rows of a superblock one after another. */
static void check_rows(struct matrix *m)
{
	const size_t step = 4 * tcb_lines(m->format->id), superblocks = (m->k + 255) / 256;
	const size_t super_bytes = 256 / m->format->block_values * m->format->block_bytes;
	const uint8_t *stored = m->stored.data, *packed = m->packed[0].data;
	assert_int_equal(step, (super_bytes + 3) / 4 * 4);
	for (size_t row = 0; row < (m->n + 15) / 16 * 16; row++)
		for (size_t b = 0; b < superblocks; b++)
			for (size_t i = 0; i < step; i++) {
				const size_t from = b * super_bytes + i;
				const int is_held = row < m->n && i < super_bytes && from < m->row_bytes;
				const size_t at = ((row / 16 * superblocks + b) * 16 + row % 16) * step + i;
				assert_int_equal(packed[at], is_held ? stored[row * m->row_bytes + from] : 0);
			}
}

/* The words of a row's superblock, which follow each other in lines. */
static uint32_t word_of(const uint8_t *lines, size_t row, size_t word)
{
	uint32_t out;
	memcpy(&out, lines + word * TCB_LINE_BYTES + row * 4, sizeof(out));
	return out;
}

/* The number of value I: of two planes, as planes.h says where they are. */
static int number_of(const struct tcb_planes *p, const uint8_t *lines, size_t row, size_t i)
{
	const size_t low_words = 2 * (size_t)p->low_bits, high_words = 2 * (size_t)p->high_bits;
	const size_t first = (size_t)p->head_words + i / 64 * (low_words + high_words), s = i % 64 / 4,
		     byte = 8 * (i % 4);
	uint32_t low, number;
	if (p->low_bits == 4)
		low = word_of(lines, row, first + s / 8 * 4 + s % 4) >> (s / 4 % 2 * 4);
	else
		low = word_of(lines, row, first + s % 4) >> (s / 4 * 2);
	number = low >> byte & ((1u << p->low_bits) - 1);
	if (p->high_bits)
		number |= (word_of(lines, row, first + low_words + s / 8) >> (byte + s % 8) & 1) << p->low_bits;
	return (int)number;
}

/* The scale of run R, and what is taken off its values. */
static float scale_of(const struct tcb_format *f, const uint8_t *lines, size_t row, size_t r, float *offset)
{
	const struct tcb_planes *p = tcb_planes_of(f->id);
	const uint32_t first = word_of(lines, row, 0);
	const float d = tcb_f16_to_f32((uint16_t)first);
	uint32_t word, bits;
	*offset = 0;
	switch (p->scales) {
	case TCB_PLANES_HALVES:
		return tcb_f16_to_f32((uint16_t)(word_of(lines, row, r / 2) >> r % 2 * 16));
	case TCB_PLANES_PAIRS:
		word = word_of(lines, row, r);
		*offset = -tcb_f16_to_f32((uint16_t)(word >> 16));
		return tcb_f16_to_f32((uint16_t)word);
	case TCB_PLANES_SIXES:
		bits = word_of(lines, row, 1 + r / 8) >> r % 8 * 4 & 15;
		return d * (float)((int)(bits | (word_of(lines, row, 3) >> 2 * r & 3) << 4) - 32);
	case TCB_PLANES_BYTES:
		bits = word_of(lines, row, 1 + r / 4) >> r % 4 * 8 & 255;
		*offset = tcb_f16_to_f32((uint16_t)(first >> 16)) * (float)(bits >> 4);
		return d * (float)(bits & 15);
	case TCB_PLANES_ODDS:
		return d * p->factor * (float)(2 * (word_of(lines, row, 1 + r / 8) >> r % 8 * 4 & 15) + 1);
	case TCB_PLANES_MARKED:
		return d * p->factor * (float)(2 * (word_of(lines, row, 1 + r / 8) >> r % 8 * 4 & 7) + 1);
	case TCB_PLANES_E4M3S:
		bits = word_of(lines, row, r / 4) >> r % 4 * 8 & 255;
		return bits == 0x7f ? 0 : tcb_f16_to_f32((uint16_t)((bits & 0x7f) << 7)) * 128;
	}
	return 0;
}

/* Whether the values of I's eight are marked. */
static int is_marked(const struct tcb_format *f, const uint8_t *lines, size_t row, size_t i)
{
	const size_t r = i / f->run_values;
	if (f->run_values == 16 && i % 16 >= 8)
		return word_of(lines, row, 0) >> (16 + r) & 1;
	return word_of(lines, row, 1 + r / 8) >> (r % 8 * 4 + 3) & 1;
}

/* Values by the planes' description are those of the blocks. */
static void check_planes(struct matrix *m)
{
	const struct tcb_format *f = m->format;
	const struct tcb_planes *p = tcb_planes_of(f->id);
	const size_t lines = tcb_lines(f->id), superblocks = (m->k + 255) / 256;
	assert_int_equal(lines, tcb_planes_words(f->id));
	for (size_t row = 0; row < (m->n + 15) / 16 * 16; row++)
		for (size_t b = 0; b < superblocks; b++) {
			const uint8_t *at = (const uint8_t *)m->packed[0].data +
					    (row / 16 * superblocks + b) * lines * TCB_LINE_BYTES;
			for (size_t i = 0; i < 256; i++) {
				const size_t k = 256 * b + i, r = i / f->run_values;
				float offset = 0, expected_scale = 0, expected_offset = 0;
				const float scale = scale_of(f, at, row % 16, r, &offset);
				int number = number_of(p, at, row % 16, i), expected = -f->centre;
				if (p->scales == TCB_PLANES_MARKED)
					number += 4 * is_marked(f, at, row % 16, i);
				if (row < m->n && k < m->k) {
					const uint8_t *stored = m->stored.data;
					struct tcb_codes codes;
					tcb_block_decode(
						f, stored + row * m->row_bytes + k / f->block_values * f->block_bytes,
						&codes);
					const size_t within = k % f->block_values;
					expected = codes.code[within];
					expected_scale = codes.scale[within / f->run_values];
					expected_offset = codes.offset[within / f->run_values];
				} else {
					expected = tcb_has_table(f->id) ? f->table[0] : -f->centre;
				}
				assert_int_equal(tcb_has_table(f->id) ? f->table[number] : number - f->centre,
						 expected);
				assert_true(scale == expected_scale ||
					    (scale != scale && expected_scale != expected_scale));
				assert_true(offset == expected_offset ||
					    (offset != offset && expected_offset != expected_offset));
			}
		}
}

static void check_places(struct matrix *m)
{
	if (tcb_is_expanded(m->format->id)) {
		check_planes(m);
		return;
	}
	if (tcb_lines_are_rows(m->format->id)) {
		check_rows(m);
		return;
	}
	const size_t lines = tcb_lines(m->format->id), superblocks = (m->k + 255) / 256;
	const size_t super_bytes = 256 / m->format->block_values * m->format->block_bytes;
	const uint8_t *stored = m->stored.data, *packed = m->packed[0].data;
	for (size_t row = 0; row < (m->n + 15) / 16 * 16; row++)
		for (size_t b = 0; b < superblocks; b++)
			for (size_t i = 0; i < 4 * lines; i++) {
				const int at = place(m->format, i);
				const size_t from = b * super_bytes + (size_t)at;
				const int expected = at < 0 || row >= m->n || from >= m->row_bytes
							     ? 0
							     : stored[row * m->row_bytes + from];
				const uint8_t *line =
					packed + ((row / 16 * superblocks + b) * lines + i / 4) * TCB_LINE_BYTES;
				assert_int_equal(line[row % 16 * 4 + i % 4], expected);
			}
}

static void test_places(void **state)
{
	(void)state;
	for_each(check_places);
}

/* Layout r16g of ROWS rows of BLOCKS blocks: the words of a row, at which entries and signs lie. */
static void check_places_of(const struct tcb_format *f, size_t rows, size_t blocks)
{
	const size_t lines = tcb_places_words(f->id), row_bytes = blocks * f->block_bytes;
	const size_t packed_bytes = (rows + 15) / 16 * blocks * lines * TCB_LINE_BYTES;
	const struct tcb_problem problem = { .op = tcb_op_find(f->id == TCB_FORMAT_IQ3_XXS  ? "iq3xxs_matvec"
							       : f->id == TCB_FORMAT_IQ2_XS ? "iq2xs_matvec"
											    : "iq2xxs_matvec"),
					     .shape = { 1, rows, 256 * blocks } };
	struct tcb_buffer stored, packed, back;
	struct tcb_rng rng;
	alloc(rows * row_bytes, &stored);
	alloc(rows * row_bytes, &back);
	alloc(packed_bytes, &packed);
	tcb_rng_init(&rng, rows);
	for (size_t i = 0; i < rows * row_bytes; i++)
		((uint8_t *)stored.data)[i] = (uint8_t)tcb_rng_next(&rng);
	memset(packed.data, 0xaa, packed_bytes);
	problem.op->pack(&problem, TCB_QUANT_WEIGHTS, TCB_LAYOUT_R16G, stored.data, packed.data);
	problem.op->unpack(&problem, TCB_QUANT_WEIGHTS, TCB_LAYOUT_R16G, packed.data, back.data);
	assert_memory_equal(stored.data, back.data, rows * row_bytes);
	assert_int_equal(tcb_buffer_check(&packed) | tcb_buffer_check(&back), 0);
	for (size_t row = 0; row < (rows + 15) / 16 * 16; row++)
		for (size_t i = 0; i < 256 * blocks; i++) {
			const uint8_t *at =
				(const uint8_t *)packed.data + (row / 16 * blocks + i / 256) * lines * TCB_LINE_BYTES;
			const size_t in = i % 256, r = in / 32, h = in % 32 / 16, o = in % 16 / 4;
			const size_t first = tcb_places_head(f->id) + r * tcb_places_run_words(f->id);
			const size_t byte = o % 2 * 2 + o / 2, sign_word = first + tcb_places_run_words(f->id) - 1;
			const size_t v = in % 4, bit = tcb_places_values(f->id) == 8 ? 2 - 2 * h + 2 * (v & 2) + (v & 1)
										     : 3 - 2 * h - v / 2 + 4 * (v & 1);
			const unsigned sign = word_of(at, row % 16, sign_word) >> (8 * byte + bit) & 1;
			int value;
			if (tcb_places_values(f->id) == 4) {
				const unsigned place = word_of(at, row % 16, first + h) >> 8 * byte & 255;
				value = (int)(tcb_grid_iq3_xxs[place] >> 8 * (in % 4) & 255);
			} else {
				const size_t g = in % 32 / 8;
				unsigned place = word_of(at, row % 16, first) >> 8 * g & 255;
				if (tcb_places_bits(f->id) > 8)
					place |= (word_of(at, row % 16, first - r * 2 - 1) >> (8 * g + r) & 1) << 8;
				const uint64_t entry =
					tcb_places_bits(f->id) > 8 ? tcb_grid_iq2_xs[place] : tcb_grid_iq2_xxs[place];
				value = (int)(entry >> 8 * (in % 8) & 255);
			}
			float offset;
			const float scale = scale_of(f, at, row % 16, in / f->run_values, &offset);
			struct tcb_codes codes;
			if (row >= rows) {
				assert_true(scale == 0 && !sign);
				continue;
			}
			tcb_block_decode(f, (const uint8_t *)stored.data + row * row_bytes + i / 256 * f->block_bytes,
					 &codes);
			assert_int_equal(sign ? -value : value, codes.code[in]);
			const float expected = codes.scale[in / f->run_values];
			assert_true(scale == expected || (scale != scale && expected != expected));
		}
	tcb_buffer_free(&stored);
	tcb_buffer_free(&back);
	tcb_buffer_free(&packed);
}

static void test_places_of_entries(void **state)
{
	(void)state;
	for (int id = 0; id < TCB_FORMAT_CODE_COUNT; id++)
		for (size_t rows = 1; tcb_places_bits((enum tcb_format_id)id) && rows < 40; rows += 15)
			check_places_of(tcb_format((enum tcb_format_id)id), rows, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_for_both_ops),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_places_of_entries),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
