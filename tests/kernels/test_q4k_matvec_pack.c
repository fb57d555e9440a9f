/* SPDX-License-Identifier: MIT
 *
 * The layouts that q4k_matvec has alone: every byte where the header says it lies,
 * zero blocks as padding, nothing written outside, and unpacking gives the
 * stored bytes back.
 */
#include "kernels/quant_matvec/q4k_matvec.h"
#include "kernels/quant_matvec/quant_matvec_pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/util.h"
#include "cmocka_all.h"
#include "kernels/formats.h"

static const struct {
	enum tcb_layout layout;
	size_t rows, scale_words;
} layouts[] = {
	{ TCB_LAYOUT_R4, 4, 3 },
	{ TCB_LAYOUT_R8, 8, 3 },
	{ TCB_LAYOUT_R8W, 8, 4 },
	{ TCB_LAYOUT_R16W, 16, 4 },
};
enum { LAYOUTS = sizeof(layouts) / sizeof(layouts[0]) };

struct matrix {
	size_t n, k, bytes;
	struct tcb_buffer stored, packed, back;
};

/* Any bytes are valid Q4_K blocks for packing, all 96 scale bits included. */
static struct matrix make(enum tcb_layout layout, size_t n, size_t k)
{
	struct matrix m = { .n = n, .k = k, .bytes = n * (k / 256) * Q4K_BLOCK_BYTES };
	struct tcb_rng rng;
	assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, m.bytes, &m.stored, NULL), TCB_OK);
	assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, q4k_packed_bytes(layout, n, k), &m.packed, NULL), TCB_OK);
	assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, m.bytes, &m.back, NULL), TCB_OK);
	tcb_rng_init(&rng, 1000 * n + k);
	uint8_t *bytes = m.stored.data;
	for (size_t i = 0; i < m.bytes; i++)
		bytes[i] = (uint8_t)tcb_rng_next(&rng);
	assert_int_equal(tcb_buffer_protect(&m.stored, 1, NULL), TCB_OK);
	q4k_pack(layout, n, k, m.stored.data, m.packed.data);
	return m;
}

static void drop(struct matrix *m)
{
	tcb_buffer_free(&m->stored);
	tcb_buffer_free(&m->packed);
	tcb_buffer_free(&m->back);
}

static void test_round_trip(void **state)
{
	static const size_t shapes[][2] = { { 1, 256 }, { 3, 512 }, { 16, 256 }, { 17, 768 }, { 40, 1024 } };
	(void)state;
	for (size_t l = 0; l < LAYOUTS; l++)
		for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
			struct matrix m = make(layouts[l].layout, shapes[s][0], shapes[s][1]);
			q4k_unpack(layouts[l].layout, m.n, m.k, m.packed.data, m.back.data);
			assert_memory_equal(m.stored.data, m.back.data, m.bytes);
			assert_int_equal(tcb_buffer_check(&m.packed), 0);
			assert_int_equal(tcb_buffer_check(&m.back), 0);
			drop(&m);
		}
}

/* The place of everything in a group block, from the description in the header alone. */
static void test_places(void **state)
{
	(void)state;
	for (size_t l = 0; l < LAYOUTS; l++) {
		const size_t rows = layouts[l].rows, words = layouts[l].scale_words, piece = 64 / rows;
		const size_t n = 2 * rows - 1, blocks = 3, group_block = rows * (4 + 4 * words + 128);
		struct matrix m = make(layouts[l].layout, n, blocks * 256);
		assert_int_equal(qmv_layout_rows(layouts[l].layout), rows);
		assert_int_equal(q4k_layout_block_bytes(layouts[l].layout), group_block);
		assert_int_equal(m.packed.bytes, 2 * blocks * group_block);
		for (size_t row = 0; row < 2 * rows; row++)
			for (size_t b = 0; b < blocks; b++) {
				static const uint8_t zeros[Q4K_BLOCK_BYTES];
				const uint8_t *in = (const uint8_t *)m.stored.data + (row * blocks + b) * 144;
				const uint8_t *out = (const uint8_t *)m.packed.data;
				const size_t r = row % rows;
				uint8_t scales[16];
				in = row < n ? in : zeros;
				out += (row / rows * blocks + b) * group_block;
				memcpy(scales, in + 4, 12);
				if (words == 4)
					tcb_k_scales(in + 4, scales, scales + 8);
				assert_memory_equal(out + 4 * r, in, 4);
				for (size_t w = 0; w < words; w++)
					assert_memory_equal(out + 4 * rows + 4 * (w * rows + r), scales + 4 * w, 4);
				for (size_t i = 0; i < 128; i++) {
					const uint8_t *nibbles = out + 4 * rows + 4 * words * rows;
					size_t at = i / piece * 64 + r * piece + i % piece;
					assert_int_equal(nibbles[at], in[16 + i]);
				}
			}
		drop(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_places),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
