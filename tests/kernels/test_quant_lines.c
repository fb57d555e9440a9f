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

static void check_places(struct matrix *m)
{
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_for_both_ops),
		cmocka_unit_test(test_places),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
