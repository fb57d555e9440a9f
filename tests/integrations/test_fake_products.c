/* SPDX-License-Identifier: MIT
 *
 * What the plug-in computes for a host of our own, and what it has of the weights
 * that it was given.  One program for each generation of the interface; that of the
 * third has an OpenMP runtime too.
 */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "fake_bench.h"
#include "kernels/quant.h"

/* Every format that the library has kernels for, by the number that GGUF files have for it. */
static const struct {
	const char *op;
	int type;
} formats[] = { { "f32", 0 },     { "f16", 1 },    { "q40", 2 },     { "q41", 3 },   { "q50", 6 },    { "q51", 7 },
		{ "q80", 8 },     { "q2k", 10 },   { "q3k", 11 },    { "q4k", 12 },  { "q5k", 13 },   { "q6k", 14 },
		{ "iq2xxs", 16 }, { "iq2xs", 17 }, { "iq3xxs", 18 }, { "iq1s", 19 }, { "iq4nl", 20 }, { "iq3s", 21 },
		{ "iq2s", 22 },   { "iq4xs", 23 }, { "iq1m", 29 },   { "bf16", 30 }, { "mxfp4", 39 }, { "nvfp4", 40 } };
enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

static void test_computes_every_format(void **state)
{
	static const size_t tokens[] = { 1, 2, 3, 17 };
	const unsigned long long before = plugin.counter("products");
	char op[32];

	(void)state;
	for (size_t f = 0; f < FORMATS; f++)
		for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
			struct bench b;

			snprintf(op, sizeof(op), "%s_matmul", formats[f].op);
			bench_init(&b, op, formats[f].type, tokens[i], 48);
			bench_set(&b, 0, b.operands[b.w].bytes);
			assert_true(plugin_device()->iface.supports_op(plugin_device(), &b.y));
			for (int threads = 1; threads <= 3; threads++) {
				assert_int_equal(bench_compute(&b, threads), GGML_STATUS_SUCCESS);
				bench_check(&b);
			}
			bench_fini(&b);
		}
	assert_int_equal(plugin.counter("products") - before, FORMATS * 4 * 3);
	assert_int_equal(plugin.counter("refused"), 0);
#if TCB_GGML_GENERATION == 3
	assert_int_equal(fake_omp_regions, FORMATS * 4 * 2); /* one thread needs none */
#endif
}

/* Of a table that is packed, for whatever rows; of one that is not there yet the host keeps it. */
static void test_reads_rows(void **state)
{
	enum { ROWS = 70, COUNT = 5 };
	static int32_t wanted[COUNT] = { 69, 0, 17, 17, 32 };
	const unsigned long long before = plugin.counter("unpacked");
	char op[32];

	(void)state;
	for (size_t f = 0; f < FORMATS; f++) {
		struct ggml_tensor ids = tensor_of(GGML_TYPE_I32, sizeof(int32_t), COUNT, 1);
		struct ggml_tensor out = tensor_of(GGML_TYPE_F32, sizeof(float), K, COUNT);
		float values[COUNT][K], expected[K];
		const struct tcb_format *format;
		struct bench b;

		snprintf(op, sizeof(op), "%s_matmul", formats[f].op);
		bench_init(&b, op, formats[f].type, 1, ROWS);
		format = b.problem.op->format;
		bench_set(&b, 0, b.operands[b.w].bytes);
		ids.data = wanted;
		out.data = values;
		out.op = (enum ggml_op)FAKE_GET_ROWS;
		out.src[0] = &b.weights;
		out.src[1] = &ids;
		assert_true(plugin_device()->iface.supports_op(plugin_device(), &out));
		assert_int_equal(plugin_compute(&out, 1), GGML_STATUS_SUCCESS);
		for (size_t i = 0; i < COUNT; i++) {
			tcb_dequantize(format, (char *)b.stored[b.w] + (size_t)wanted[i] * b.weights.nb[1],
				       K / format->block_values, expected);
			assert_memory_equal(values[i], expected, sizeof(expected));
		}
		b.weights.extra = NULL;
		assert_false(plugin_device()->iface.supports_op(plugin_device(), &out));
		bench_fini(&b);
	}
	assert_int_equal(plugin.counter("unpacked"), before);
}

/* A mixture's products: activations of a token or of each that it uses, ids beside each other or apart as the host has
 * them, which takes the best of all experts' numbers. */
static void test_computes_mixtures(void **state)
{
	enum { EXPERTS = 5, USED = 2, TOKENS = 4, N = 48, IDS_APART = EXPERTS };
	static const char *const ops[] = { "q4k", "q6k", "q80", "mxfp4" };
	static const int types_of[] = { 12, 14, 8, 39 };

	(void)state;
	for (size_t f = 0; f < sizeof(ops) / sizeof(ops[0]); f++)
		for (int has_rows_each = 0; has_rows_each <= 1; has_rows_each++)
			for (int is_apart = 0; is_apart <= 1; is_apart++) {
				int32_t routed[TOKENS * IDS_APART];
				struct ggml_tensor ids = tensor_of(GGML_TYPE_I32, sizeof(int32_t), USED, TOKENS);
				struct bench b;
				char op[32];

				snprintf(op, sizeof(op), "%s_experts_matmul", ops[f]);
				bench_init_experts(&b, op, types_of[f], TOKENS, N, EXPERTS, USED, has_rows_each);
				for (size_t at = 0, step = 1000; at < b.operands[b.w].bytes; at += step)
					bench_set(&b, at,
						  b.operands[b.w].bytes - at < step ? b.operands[b.w].bytes - at
										    : step);
				ids.nb[1] = ids.nb[2] = ids.nb[3] = (is_apart ? IDS_APART : USED) * sizeof(int32_t);
				for (size_t t = 0; t < TOKENS; t++)
					memcpy((char *)routed + t * ids.nb[1], (int32_t *)b.stored[3] + t * USED,
					       USED * sizeof(int32_t));
				ids.data = routed;
				b.y.src[2] = &ids;
				assert_true(plugin_device()->iface.supports_op(plugin_device(), &b.y));
				for (int threads = 1; threads <= 2; threads++) {
					memset(b.y.data, 0xff, b.operands[b.out].bytes);
					assert_int_equal(bench_compute(&b, threads), GGML_STATUS_SUCCESS);
					bench_check(&b);
				}
				bench_expect_given_back(&b, &b.weights, 0, b.operands[b.w].bytes, b.stored[b.w]);
				bench_expect_given_back(&b, &b.weights, b.weights.nb[2] - 7, 23,
							(char *)b.stored[b.w] + b.weights.nb[2] - 7);
				bench_fini(&b);
			}
	assert_int_equal(plugin.counter("experts"), 4 * 2 * 2 * 2);
	assert_int_equal(plugin.counter("refused"), 0);
}

static void test_activations_of_more_dimensions(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b, "q4k_matmul", 12, 6, 32);
	bench_set(&b, 0, b.operands[b.w].bytes);
	for (struct ggml_tensor *t = &b.x;; t = &b.y) {
		t->ne[1] = 3;
		t->ne[2] = 2;
		t->nb[2] = 3 * t->nb[1];
		if (t == &b.y)
			break;
	}
	assert_true(plugin_device()->iface.supports_op(plugin_device(), &b.y));
	assert_int_equal(bench_compute(&b, 1), GGML_STATUS_SUCCESS);
	bench_check(&b);
	bench_fini(&b);
}

/* Of any size and in any order, the last first. */
static void test_weights_in_pieces(void **state)
{
	static const size_t pieces[] = { 1, 100, 4096, 16 * 210, 16 * 210 + 1, 40 * 210 };
	struct bench b;

	(void)state;
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		bench_init(&b, "q6k_matmul", 14, 2, 67);
		const size_t bytes = b.operands[b.w].bytes, count = (bytes + pieces[i] - 1) / pieces[i];

		memset(b.weights.data, 0x7f, b.buffer->size);
		for (size_t p = count; p-- > 0;)
			bench_set(&b, p * pieces[i], p + 1 < count ? pieces[i] : bytes - p * pieces[i]);
		assert_int_equal(bench_compute(&b, 1), GGML_STATUS_SUCCESS);
		bench_check(&b);
		bench_expect_given_back(&b, &b.weights, 0, bytes, b.stored[b.w]);
		bench_fini(&b);
	}
	assert_int_equal(plugin.counter("refused"), 0);
}

static void test_weights_are_given_back(void **state)
{
	static const struct {
		const char *op;
		int type;
	} some[] = { { "q40_matmul", 2 }, { "q4k_matmul", 12 }, { "mxfp4_matmul", 39 } };
	static const size_t ranges[][2] = { { 0, 8 }, { 1, 1 }, { 143, 16 * 144 }, { 2303, 2 }, { 2304, 2304 } };

	(void)state;
	for (size_t f = 0; f < sizeof(some) / sizeof(some[0]); f++) {
		struct bench b;

		bench_init(&b, some[f].op, some[f].type, 1, 70);
		const size_t row = b.weights.nb[1], bytes = b.operands[b.w].bytes;
		char *stored = b.stored[b.w];
		struct ggml_tensor view = tensor_of(some[f].type, 0, K, 3);

		bench_set(&b, 0, bytes);
		for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
			bench_expect_given_back(&b, &b.weights, ranges[i][0], ranges[i][1], stored + ranges[i][0]);
		bench_expect_given_back(&b, &b.weights, 0, bytes, stored);
		bench_expect_given_back(&b, &b.weights, bytes - 5, 5, stored + bytes - 5);
		/* Rows 18 to 20, as a host has a part of a tensor that it computes with itself. */
		view.view_src = &b.weights;
		view.view_offs = 18 * row;
		view.data = (char *)b.weights.data + view.view_offs;
		view.buffer = b.buffer;
		assert_int_equal(b.buffer->iface.init_tensor(b.buffer, &view), GGML_STATUS_SUCCESS);
		bench_expect_given_back(&b, &view, 0, 3 * row, stored + 18 * row);
		bench_expect_given_back(&b, &view, row + 1, row, stored + 19 * row + 1);
		memset(stored + 19 * row, 0x21, row);
		b.buffer->iface.set_tensor(b.buffer, &view, stored + 19 * row, row, row);
		memset(stored + 40 * row, 0x42, 20 * row);
		b.buffer->iface.memset_tensor(b.buffer, &b.weights, 0x42, 40 * row, 20 * row);
		bench_expect_given_back(&b, &b.weights, 0, bytes, stored);
		bench_fini(&b);
	}
	assert_int_equal(plugin.counter("refused"), 0);
}

/* Rows that are not beside each other, in two orders of dimensions; and a product of what a product gave. */
static void test_activations_that_are_not_dense(void **state)
{
	enum { ROWS = 6, APART = K + 8 };
	float *apart = calloc(ROWS, APART * sizeof(float));

	(void)state;
	for (int threads = 1; threads <= 2; threads++)
		for (int is_turned = 0; is_turned <= 1; is_turned++) {
			const unsigned long long before = plugin.counter("gathered");
			struct bench b;

			bench_init(&b, "q4k_matmul", 12, ROWS, 32);
			bench_set(&b, 0, b.operands[b.w].bytes);
			/* Turned: token t = 2 i + j is stored as row 3 j + i. */
			for (size_t t = 0; t < ROWS; t++)
				memcpy(apart + (is_turned ? t % 2 * 3 + t / 2 : t) * APART, (float *)b.x.data + t * K,
				       K * sizeof(float));
			b.x.data = apart;
			b.x.ne[1] = b.y.ne[1] = 2;
			b.x.ne[2] = b.y.ne[2] = 3;
			b.x.nb[1] = (is_turned ? 3 : 1) * APART * sizeof(float);
			b.x.nb[2] = (is_turned ? 1 : 2) * APART * sizeof(float);
			b.x.nb[3] = ROWS * APART * sizeof(float);
			b.y.nb[2] = 2 * b.y.nb[1];
			assert_true(plugin_device()->iface.supports_op(plugin_device(), &b.y));
			assert_int_equal(bench_compute(&b, threads), GGML_STATUS_SUCCESS);
			bench_check(&b);
			assert_int_equal(plugin.counter("gathered"), before + 1);
			bench_fini(&b);
		}
	free(apart);
}

/* The second product's activations are every other row of what the first one gives. */
static void test_gathers_what_a_product_gave(void **state)
{
	struct bench first, second;
	struct ggml_cgraph graph = { 2, { &first.y, &second.y } };
	struct ggml_backend *stream = plugin_device()->iface.init_backend(plugin_device(), NULL);

	(void)state;
	bench_init(&first, "q4k_matmul", 12, 4, K);
	bench_init(&second, "q4k_matmul", 12, 2, 32);
	bench_set(&first, 0, first.operands[first.w].bytes);
	bench_set(&second, 0, second.operands[second.w].bytes);
	memset(first.y.data, 0xff, first.operands[first.out].bytes);
	second.x.data = first.y.data;
	second.x.nb[1] = 2 * first.y.nb[1];
	second.x.nb[2] = second.x.nb[3] = 2 * second.x.nb[1];
	assert_int_equal(stream->iface.graph_compute(stream, &graph), GGML_STATUS_SUCCESS);
	stream->iface.free(stream);
	bench_check(&first);
	/* Against the reference of what was really given. */
	for (size_t t = 0; t < 2; t++)
		memcpy((float *)second.stored[3 - second.w - second.out] + t * K, (float *)first.y.data + 2 * t * K,
		       K * sizeof(float));
	second.problem.op->reference(
		&second.problem, second.stored,
		&(struct tcb_reference){ second.reference, second.reference + 64, second.reference + 128, NULL });
	bench_check(&second);
	bench_fini(&first);
	bench_fini(&second);
}

static void test_refuses_rows_that_are_not_there(void **state)
{
	static const int32_t beyond[] = { 70, -1 };
	struct ggml_tensor ids = tensor_of(GGML_TYPE_I32, sizeof(int32_t), 1, 1);
	struct ggml_tensor out = tensor_of(GGML_TYPE_F32, sizeof(float), K, 1);
	float values[K];
	struct bench b;

	(void)state;
	bench_init(&b, "q4k_matmul", 12, 1, 70);
	out.data = values;
	out.op = (enum ggml_op)FAKE_GET_ROWS;
	out.src[0] = &b.weights;
	out.src[1] = &ids;
	for (size_t i = 0; i < 2; i++) {
		int32_t row = beyond[i];

		ids.data = &row;
		assert_int_equal(plugin_compute(&out, 1), GGML_STATUS_FAILED);
		assert_int_equal(plugin.counter("refused"), i + 1);
	}
	bench_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_computes_every_format),
		cmocka_unit_test(test_reads_rows),
		cmocka_unit_test(test_computes_mixtures),
		cmocka_unit_test(test_activations_of_more_dimensions),
		cmocka_unit_test(test_weights_in_pieces),
		cmocka_unit_test(test_weights_are_given_back),
		cmocka_unit_test(test_activations_that_are_not_dense),
		cmocka_unit_test(test_gathers_what_a_product_gave),
		cmocka_unit_test(test_refuses_rows_that_are_not_there),
	};

	return cmocka_run_group_tests(tests, plugin_load, NULL);
}
