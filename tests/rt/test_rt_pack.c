/* SPDX-License-Identifier: MIT
 *
 * One packed layout for any number of tokens, of every weight format, and reading
 * rows of packed weights.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/formats.h"
#include "kernels/quant.h"
#include "tcbrt_fp8.h"

enum { ROWS = 37, COLUMNS = 512 + 64, HALF_COLUMNS = 256 + 128, WHOLE_COLUMNS = 512, SEED = 11 };

#define OP(id, name, op, ...) [TCB_FORMAT_##id] = #op,
static const char *const prefixes[TCB_FORMAT_COUNT] = { TCB_FORMAT_LIST(OP) };
#undef OP

/* A format's matrix of random blocks, a plan of it, and what the plan reads. */
struct bench {
	const struct tcb_format *format;
	size_t columns, row_bytes;
	unsigned char *stored;
	struct tcbrt_plan *plan;
	struct tcbrt_plan_info info;
	void *packed; /* NULL: it reads what is stored */
};

static struct tcbrt_plan *plan_with(const struct tcbrt *rt, enum tcbrt_contract contract, const char *prefix,
				    const char *kind, size_t m, size_t columns, const char *layout, const char *words)
{
	char op[32];
	const struct tcbrt_query query = { .op = op,
					   .m = m,
					   .n = ROWS,
					   .k = columns,
					   .threads = 1,
					   .contract = contract,
					   .layout = layout,
					   .words = words };
	struct tcbrt_plan *plan;
	struct tcbrt_error err;

	snprintf(op, sizeof(op), "%s_%s", prefix, kind);
	if (tcbrt_plan_create(rt, &query, &plan, &err) != TCBRT_OK)
		fail_msg("%s, m=%zu: %s", op, m, err.message);
	return plan;
}

static struct tcbrt_plan *plan_of(const struct tcbrt *rt, const char *prefix, const char *kind, size_t m,
				  size_t columns, const char *layout, const char *words)
{
	return plan_with(rt, TCBRT_CONTRACT_DEFAULT, prefix, kind, m, columns, layout, words);
}

static void bench_init(struct bench *b, const struct tcbrt *rt, enum tcb_format_id id, const char *layout)
{
	struct tcb_rng rng;

	memset(b, 0, sizeof(*b));
	b->format = tcb_format(id);
	/* Of smaller blocks the last superblock is not whole. */
	b->columns = b->format->block_values == 256   ? WHOLE_COLUMNS
		     : b->format->block_values == 128 ? HALF_COLUMNS
						      : COLUMNS;
	b->row_bytes = tcb_quant_row_bytes(b->format, b->columns);
	b->stored = malloc(ROWS * b->row_bytes);
	tcb_rng_init(&rng, SEED);
	for (size_t at = 0; at < ROWS * b->row_bytes; at += b->format->block_bytes)
		tcb_block_random(b->format, &rng, b->stored + at);
	b->plan = plan_of(rt, prefixes[id], "matvec", 1, b->columns, layout, NULL);
	assert_int_equal(tcbrt_plan_info(b->plan, &b->info), TCBRT_OK);
	if (!b->info.packed_bytes)
		return;
	b->packed = aligned_alloc(TCBRT_ALIGNMENT,
				  (b->info.packed_bytes + TCBRT_ALIGNMENT - 1) / TCBRT_ALIGNMENT * TCBRT_ALIGNMENT);
	assert_int_equal(tcbrt_pack(b->plan, b->stored, b->packed), TCBRT_OK);
}

static void bench_fini(struct bench *b)
{
	tcbrt_plan_destroy(b->plan);
	free(b->stored);
	free(b->packed);
}

static const void *weights_of(const struct bench *b)
{
	return b->packed ? b->packed : b->stored;
}

static void expect_layout(struct tcbrt_plan *plan, const struct tcbrt_plan_info *first, size_t matrices)
{
	struct tcbrt_plan_info info;

	assert_int_equal(tcbrt_plan_info(plan, &info), TCBRT_OK);
	assert_string_equal(info.layout, first->layout);
	assert_int_equal(info.packed_bytes, matrices * first->packed_bytes);
	tcbrt_plan_destroy(plan);
}

/* MatVec and matmul at few tokens and many, and products of experts, where the format has them: each expert's matrix is
 * as one by itself. */
static void one_layout_serves_any_number_of_tokens(void **state)
{
	static const size_t tokens[] = { 1, 2, 8, 9, 100 };
	struct tcbrt *rt;

	(void)state;
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	for (size_t id = 0; id < TCB_FORMAT_COUNT; id++) {
		struct bench b;

		bench_init(&b, rt, (enum tcb_format_id)id, TCBRT_LAYOUT_ANY_M);
		assert_string_not_equal(b.info.layout, TCBRT_LAYOUT_ANY_M);
		for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
			expect_layout(
				plan_of(rt, prefixes[id], "matmul", tokens[i], b.columns, TCBRT_LAYOUT_ANY_M, NULL),
				&b.info, 1);
			/* The contract of many tokens may be one that MatVecs have no kernels for. */
			expect_layout(plan_with(rt, TCBRT_CONTRACT_AUTO, prefixes[id], "matmul", tokens[i], b.columns,
						TCBRT_LAYOUT_ANY_M, NULL),
				      &b.info, 1);
			if (id < TCB_FORMAT_FIELD_COUNT)
				expect_layout(plan_of(rt, prefixes[id], "experts_matmul", tokens[i], b.columns,
						      TCBRT_LAYOUT_ANY_M, "e4/2"),
					      &b.info, 4);
		}
		expect_layout(plan_of(rt, prefixes[id], "matvec", 4, b.columns, TCBRT_LAYOUT_ANY_M, NULL), &b.info, 1);
		bench_fini(&b);
	}
	tcbrt_close(rt);
}

static void any_layout_is_for_blocks_on_cpus(void **state)
{
	struct tcbrt_query query = { .op = "softmax", .m = 4, .n = 64, .layout = TCBRT_LAYOUT_ANY_M };
	struct tcbrt_plan *plan;
	struct tcbrt_error err;
	struct tcbrt *rt;

	(void)state;
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	assert_int_equal(tcbrt_plan_create(rt, &query, &plan, &err), TCBRT_E_USAGE);
	assert_non_null(strstr(err.message, "any-m"));
	query = (struct tcbrt_query){
		.op = "q4k_matvec", .m = 1, .n = 64, .k = 256, .layout = TCBRT_LAYOUT_ANY_M, .device = "sm_90"
	};
	assert_int_equal(tcbrt_plan_create(rt, &query, &plan, &err), TCBRT_E_USAGE);
	tcbrt_close(rt);
}

/* Bit for bit what dequantising the stored row gives, and nothing behind it is written. */
static void rows_are_read(void **state)
{
	static const char *const layouts[] = { "native", TCBRT_LAYOUT_ANY_M };
	float out[COLUMNS + 1], expected[COLUMNS];
	struct tcbrt *rt;

	(void)state;
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	for (size_t id = 0; id < TCB_FORMAT_COUNT; id++)
		for (size_t l = 0; l < sizeof(layouts) / sizeof(layouts[0]); l++) {
			struct bench b;

			bench_init(&b, rt, (enum tcb_format_id)id, layouts[l]);
			for (size_t row = 0; row < ROWS; row++) {
				tcb_dequantize(b.format, b.stored + row * b.row_bytes,
					       b.columns / b.format->block_values, expected);
				memset(out, 0x7f, sizeof(out));
				assert_int_equal(tcbrt_read_row(b.plan, row, weights_of(&b), out), TCBRT_OK);
				if (memcmp(out, expected, b.columns * sizeof(float)) != 0)
					fail_msg("%s, layout %s: row %zu is not what is stored", b.format->name,
						 b.info.layout, row);
				for (size_t i = 0; i < sizeof(float); i++)
					assert_int_equal(((unsigned char *)&out[b.columns])[i], 0x7f);
			}
			assert_int_equal(tcbrt_read_row(b.plan, ROWS, weights_of(&b), out), TCBRT_E_USAGE);
			assert_int_equal(tcbrt_read_row(b.plan, 0, NULL, out), TCBRT_E_USAGE);
			assert_int_equal(tcbrt_read_row(b.plan, 0, weights_of(&b), NULL), TCBRT_E_USAGE);
			bench_fini(&b);
		}
	assert_int_equal(tcbrt_read_row(NULL, 0, expected, out), TCBRT_E_USAGE);
	tcbrt_close(rt);
}

/* FP8 of a model, a scale for 128 x 128 values, K no multiple of 128: what is read back is byte times scale. */
static void fp8_of_a_model_becomes_blocks(void **state)
{
	enum { K = 200, PADDED = 256 };
	static const float scale[] = { 2e-4f, 3e-4f };
	struct tcbrt_query query = {
		.op = "fp8_matvec", .m = 1, .n = ROWS, .k = PADDED, .threads = 1, .layout = "native"
	};
	unsigned char values[ROWS * K];
	float out[PADDED];
	struct tcbrt_plan *plan;
	struct tcbrt_plan_info info;
	struct tcbrt_error err;
	struct tcbrt *rt;

	(void)state;
	for (size_t i = 0; i < sizeof(values); i++)
		values[i] = (unsigned char)(i % 127 | (i & 1) << 7);
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	if (tcbrt_plan_create(rt, &query, &plan, &err) != TCBRT_OK)
		fail_msg("%s", err.message);
	assert_int_equal(tcbrt_plan_info(plan, &info), TCBRT_OK);
	assert_int_equal(info.operand[info.weights].bytes, tcbrt_fp8_bytes(ROWS, K));
	unsigned char *blocks = malloc(tcbrt_fp8_bytes(ROWS, K));
	assert_non_null(blocks);
	assert_int_equal(tcbrt_fp8_blocks(ROWS, K, values, scale, 128, 128, blocks, NULL), TCBRT_OK);
	for (size_t row = 0; row < ROWS; row++) {
		assert_int_equal(tcbrt_read_row(plan, row, blocks, out), TCBRT_OK);
		for (size_t i = 0; i < PADDED; i++)
			assert_true(out[i] == (i < K ? scale[i / 128] * tcb_e4m3_to_f32(values[row * K + i]) : 0));
	}
	assert_int_equal(tcbrt_fp8_blocks(ROWS, K, values, scale, 1, 64, blocks, &err), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_fp8_blocks(ROWS, K, NULL, scale, 1, 128, blocks, &err), TCBRT_E_USAGE);
	values[5] = 0x7f;
	assert_int_equal(tcbrt_fp8_blocks(ROWS, K, values, scale, 128, 128, blocks, &err), TCBRT_E_FORMAT);
	assert_non_null(strstr(err.message, "(0, 5)"));
	free(blocks);
	tcbrt_plan_destroy(plan);
	tcbrt_close(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_layout_serves_any_number_of_tokens),
		cmocka_unit_test(any_layout_is_for_blocks_on_cpus),
		cmocka_unit_test(rows_are_read),
		cmocka_unit_test(fp8_of_a_model_becomes_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
