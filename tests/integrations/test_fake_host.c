/* SPDX-License-Identifier: MIT
 *
 * What the plug-in says to a host of our own: of itself, of what it takes and what
 * it leaves, and of a host that it cannot serve.  One program for each generation of
 * the interface.
 */
#include "cmocka_all.h"
#include "instrumented.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_bench.h"

/* FN in a child: its standard error is put into SAID, and what it returns is returned. */
static int in_child(int (*fn)(void), char *said, size_t bytes)
{
	int ends[2], status;
	size_t at = 0;
	ssize_t got;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		_exit(fn());
	}
	close(ends[1]);
	while (at + 1 < bytes && (got = read(ends[0], said + at, bytes - at - 1)) > 0)
		at += (size_t)got;
	said[at] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!WIFEXITED(status))
		fail_msg("the host went down after: %s", said);
	return WEXITSTATUS(status);
}

static int is_taken(void)
{
	return plugin.score() != 0 || plugin.init() != NULL;
}

/* What the host does to the test does not end the host; the line says what it was and what to do. */
static void test_refuses_what_it_cannot_serve(void **state)
{
	static const struct {
		enum fake_fault fault;
		const char *why;
	} faults[] = {
		{ FAKE_LAYS_OUT_OTHERWISE, "place of a buffer type's device: 160" },
		{ FAKE_COPIES_LESS, "place of a buffer's type" },
		{ FAKE_SETS_ELSEWHERE, "gave something else than was expected (a buffer of weights" },
		{ FAKE_CRASHES, "crashed (a product" },
	};
	char said[2048];

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		fake_fault = faults[i].fault;
		assert_int_equal(in_child(is_taken, said, sizeof(said)), 0);
		if (!strstr(said, "not used: ") || !strstr(said, faults[i].why) || !strstr(said, "ggml 9.9.9") ||
		    !strstr(said, "-DTCB_GGML_INCLUDE="))
			fail_msg("of fault %d it was said: %s", (int)faults[i].fault, said);
		assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1); /* once, in one line */
	}
	fake_fault = FAKE_FINE;
	assert_int_not_equal(plugin.score(), 0);
}

/* Attention whose parameters are others stays with the host, and all else is taken. */
static void test_leaves_attention_that_it_does_not_know(void **state)
{
	static const struct {
		enum fake_fault fault;
		int is_left;
	} faults[] = { { FAKE_FINE, 0 }, { FAKE_SCALES_OTHERWISE, 1 } };
	char said[2048];

	(void)state;
	fake_cpu_token_ns = 0;
	setenv("TCBTUNE_ALL_FORMATS", "1", 1); /* not tried beside products that take no time */
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		fake_fault = faults[i].fault;
		assert_int_equal(in_child(is_taken, said, sizeof(said)), 1);
		if ((strstr(said, "attention stays with the host: ") != NULL) != faults[i].is_left)
			fail_msg("of fault %d it was said: %s", (int)faults[i].fault, said);
	}
	unsetenv("TCBTUNE_ALL_FORMATS");
	fake_cpu_token_ns = -1;
	fake_fault = FAKE_FINE;
}

/* Formats that are taken of two: for each token a product of the host takes FAKE_CPU_TOKEN_NS. */
static int count_taken(void)
{
	struct ggml_backend_buffer_type *type = plugin_device()->iface.get_buffer_type(plugin_device());
	struct ggml_tensor weights[] = { tensor_of(12, 144, K, 64), tensor_of(11, 110, K, 64) };
	int count = 0;

	for (size_t i = 0; i < 2; i++) {
		struct ggml_tensor x = tensor_of(GGML_TYPE_F32, sizeof(float), K, 1), y = x;
		struct ggml_backend_buffer none = { .buft = type };

		weights[i].buffer = &none;
		y.ne[0] = 64;
		y.op = (enum ggml_op)FAKE_MUL_MAT;
		y.src[0] = &weights[i];
		y.src[1] = &x;
		count += plugin_device()->iface.supports_op(plugin_device(), &y);
	}
	return count;
}

/* Formats whose products the host computes faster stay with it, and it is said. */
static void test_leaves_to_the_host_what_it_does_faster(void **state)
{
	char of_fast[2048], of_slow[2048];
	int with_fast, with_slow;

	(void)state;
	fake_cpu_token_ns = 0;
	with_fast = in_child(count_taken, of_fast, sizeof(of_fast));
	fake_cpu_token_ns = TEST_IS_INSTRUMENTED ? 60000000 : 3000000;
	with_slow = in_child(count_taken, of_slow, sizeof(of_slow));
	fake_cpu_token_ns = -1;
	assert_int_equal(with_fast, 0);
	assert_non_null(strstr(of_fast, "weights of Q4_K stay with the host"));
	assert_non_null(strstr(of_fast, "weights of Q3_K stay with the host"));
	assert_int_equal(with_slow, 2);
	assert_null(strstr(of_slow, "stay with"));
}

/* A product that the host marked, behind rows that it did not, whose numbers are not there: 1, it is computed alone. */
static int computes_what_is_marked(void)
{
	static int32_t nowhere = -1;
	struct ggml_tensor ids = tensor_of(GGML_TYPE_I32, sizeof(int32_t), 1, 1);
	struct ggml_tensor rows = tensor_of(GGML_TYPE_F32, sizeof(float), K, 1);
	struct ggml_cgraph graph = { 2, { &rows, NULL } };
	struct ggml_backend *stream = plugin_device()->iface.init_backend(plugin_device(), NULL);
	float values[K] = { 7 };
	struct bench b;
	int status;

	bench_init(&b, "q4k_matmul", 12, 2, 32);
	bench_set(&b, 0, b.operands[b.w].bytes);
	ids.data = &nowhere;
	rows.data = values;
	rows.op = (enum ggml_op)FAKE_GET_ROWS;
	rows.src[0] = &b.weights;
	rows.src[1] = &ids;
	b.y.flags = fake_node_flags;
	graph.node[1] = &b.y;
	status = (int)stream->iface.graph_compute(stream, &graph);
	bench_check(&b);
	return status == GGML_STATUS_SUCCESS && values[0] == 7;
}

static void test_leaves_out_what_is_not_marked(void **state)
{
	char said[2048];
	int with_marks;

	(void)state;
	fake_node_flags = 16;
	with_marks = in_child(computes_what_is_marked, said, sizeof(said));
	fake_node_flags = 0;
	assert_int_equal(with_marks, 1);
}

static void test_presents_itself(void **state)
{
	struct ggml_backend_reg *registry = plugin.init();
	struct ggml_backend_device *listed = plugin_device();
	struct ggml_backend *stream = listed->iface.init_backend(listed, NULL);
	struct ggml_backend_buffer_type *type = listed->iface.get_buffer_type(listed);
	size_t available = 1, total = 1;
	struct ggml_backend_dev_props properties;
	struct ggml_backend_buffer_type unknown = { .device = NULL };

	(void)state;
	assert_int_equal(registry->api_version, GGML_BACKEND_API_VERSION);
	assert_ptr_equal(registry, plugin.init());
	assert_string_equal(registry->iface.get_name(registry), "tcbtune");
	assert_int_equal(registry->iface.get_device_count(registry), 1);
	assert_null(registry->iface.get_device(registry, 1));
	assert_int_equal(listed->iface.get_type(listed), GGML_BACKEND_DEVICE_TYPE_ACCEL);
	listed->iface.get_memory(listed, &available, &total);
	assert_int_equal(available | total, 0);
	memset(&properties, 0x7f, sizeof(properties));
	listed->iface.get_props(listed, &properties);
	assert_string_equal(properties.name, "tcbtune");
	assert_true(properties.caps.mmap_support);
	assert_false(properties.caps.async);
	assert_false(type->iface.is_host(type));
	assert_int_equal(type->iface.get_alignment(type), 256);
	/* Outputs of a graph are the host's. */
	assert_ptr_not_equal(stream->device, listed);
	assert_ptr_equal(stream->device->iface.get_buffer_type(stream->device), fake_cpu_buffer_type());
	assert_true(stream->device->iface.supports_buft(stream->device, type));
	assert_true(stream->device->iface.supports_buft(stream->device, fake_cpu_buffer_type()));
	assert_false(stream->device->iface.supports_buft(stream->device, &unknown));
	stream->iface.free(stream);
}

static void test_declines(void **state)
{
	struct ggml_backend_device *of = plugin_device();
	struct ggml_backend_buffer elsewhere = { .buft = fake_cpu_buffer_type() };
	struct bench b;

	(void)state;
	bench_init(&b, "q4k_matmul", 12, 4, 16);
	assert_true(of->iface.supports_op(of, &b.y));
	b.y.op = (enum ggml_op)FAKE_ADD;
	assert_false(of->iface.supports_op(of, &b.y));
	b.y.op = (enum ggml_op)FAKE_NONE;
	assert_true(of->iface.supports_op(of, &b.y));
	b.y.op = (enum ggml_op)FAKE_MUL_MAT;
	b.weights.buffer = &elsewhere;
	assert_false(of->iface.supports_op(of, &b.y));
	b.weights.buffer = b.buffer;
	b.weights.type = (enum ggml_type)15; /* Q8_K */
	assert_false(of->iface.supports_op(of, &b.y));
	b.weights.type = (enum ggml_type)12;
	b.weights.ne[2] = 2;
	assert_false(of->iface.supports_op(of, &b.y));
	b.weights.ne[2] = 1;
	b.x.type = (enum ggml_type)1; /* F16 */
	assert_false(of->iface.supports_op(of, &b.y));
	b.x.type = GGML_TYPE_F32;
	b.x.nb[0] *= 2; /* values apart */
	assert_false(of->iface.supports_op(of, &b.y));
	assert_int_equal(bench_compute(&b, 1), GGML_STATUS_FAILED);
	bench_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leaves_attention_that_it_does_not_know),
		cmocka_unit_test(test_refuses_what_it_cannot_serve),
		cmocka_unit_test(test_leaves_to_the_host_what_it_does_faster),
		cmocka_unit_test(test_leaves_out_what_is_not_marked),
		cmocka_unit_test(test_presents_itself),
		cmocka_unit_test(test_declines),
	};

	return cmocka_run_group_tests(tests, plugin_load, NULL);
}
