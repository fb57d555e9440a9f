/* SPDX-License-Identifier: MIT
 *
 * The plug-in's backend as the host's own functions see it, for one generation of
 * the interface: whatever stands elsewhere in a struct than the host thinks, one of
 * these calls finds something else than was put there, or crashes.  It runs in a
 * sandbox, where there is one thread.
 */
#include "interface.h"

#include <string.h>

#include "host.h"
#include "shim.h"

enum { ROWS = 32, COLUMNS = 64, TOKENS = 3, BLOCK = 32, BLOCK_BYTES = 2 + BLOCK };
enum { ROW_BYTES = COLUMNS / BLOCK * BLOCK_BYTES, WEIGHTS_BYTES = ROWS * ROW_BYTES, PIECE = 5 * ROW_BYTES + 7 };
enum { GRAPH_NODES = 64 };
enum { TYPE_Q8_0 = 8 }; /* as numbered in GGUF files */

struct bench {
	struct ggml_backend_reg *reg;
	struct ggml_backend_device *device;
	struct ggml_backend_buffer_type *type;
	struct ggml_backend *backend;
	struct ggml_context *weights_context;
	struct ggml_backend_buffer *buffer;
	struct ggml_tensor *weights, *copy;
	unsigned char stored[WEIGHTS_BYTES];
	float x[TOKENS][COLUMNS], expected[TOKENS][ROWS];
};

/* Small whole numbers, so that sums are exact; the largest of each block of activations is 127, so that their codes of
 * 8 bits are the activations. */
static int weight(int row, int column)
{
	return (7 * row + 5 * column) % 23 - 11;
}

static int activation(int token, int column)
{
	return column % BLOCK == token ? 127 : (11 * token + 3 * column) % 19 - 9;
}

static void fill(struct bench *b)
{
	for (int n = 0; n < ROWS; n++)
		for (int k = 0; k < COLUMNS; k++) {
			unsigned char *block = b->stored + n * ROW_BYTES + k / BLOCK * BLOCK_BYTES;

			block[0] = 0x00, block[1] = 0x3C; /* a scale of 1 in binary16 */
			block[2 + k % BLOCK] = (unsigned char)weight(n, k);
		}
	for (int m = 0; m < TOKENS; m++)
		for (int k = 0; k < COLUMNS; k++)
			b->x[m][k] = (float)activation(m, k);
	for (int m = 0; m < TOKENS; m++)
		for (int n = 0; n < ROWS; n++)
			for (int k = 0; k < COLUMNS; k++)
				b->expected[m][n] += (float)(weight(n, k) * activation(m, k));
}

static int test_registry(struct bench *b)
{
	b->device = ggml_host.reg_dev_get(b->reg, 0);
	return strcmp(ggml_host.reg_name(b->reg), "tcbtune") == 0 && ggml_host.reg_dev_count(b->reg) == 1 &&
	       b->device && ggml_host.reg_get_proc_address(b->reg, "ggml_backend_set_n_threads") &&
	       !ggml_host.reg_get_proc_address(b->reg, "something else");
}

static int test_device(struct bench *b)
{
	size_t available = 1, total = 1;

	ggml_host.dev_memory(b->device, &available, &total);
	b->type = ggml_host.dev_buffer_type(b->device);
	return strcmp(ggml_host.dev_name(b->device), "tcbtune") == 0 && *ggml_host.dev_description(b->device) &&
	       available == 0 && total == 0 && ggml_host.dev_type(b->device) == (int)GGML_BACKEND_DEVICE_TYPE_ACCEL &&
	       ggml_host.dev_backend_reg(b->device) == b->reg && !ggml_host.dev_host_buffer_type(b->device) &&
	       ggml_host.dev_supports_buft(b->device, b->type) &&
	       ggml_host.dev_supports_buft(b->device, ggml_host.cpu_buffer_type());
}

static int test_properties(struct bench *b)
{
	struct ggml_backend_dev_props out;

	memset(&out, 0x7f, sizeof(out));
	ggml_host.dev_get_props(b->device, &out);
	return strcmp(out.name, "tcbtune") == 0 && *out.description && out.memory_free == 0 && out.memory_total == 0 &&
	       out.type == GGML_BACKEND_DEVICE_TYPE_ACCEL && !out.device_id && !out.caps.async &&
	       !out.caps.host_buffer && !out.caps.buffer_from_host_ptr && !out.caps.events;
}

static int test_buffer_type(struct bench *b)
{
	const size_t alignment = ggml_host.buft_get_alignment(b->type);

	return strcmp(ggml_host.buft_name(b->type), "tcbtune") == 0 && alignment >= 64 && alignment <= 4096 &&
	       ggml_host.buft_get_max_size(b->type) == SIZE_MAX && !ggml_host.buft_is_host(b->type) &&
	       ggml_host.buft_get_device(b->type) == b->device;
}

static int is_given_back(const struct ggml_tensor *tensor, const void *expected, size_t offset, size_t bytes)
{
	unsigned char out[WEIGHTS_BYTES] = { 0 };

	ggml_host.tensor_get(tensor, out, offset, bytes);
	return memcmp(out, expected, bytes) == 0;
}

static int test_buffer(struct bench *b)
{
	unsigned char part[ROW_BYTES];

	b->weights_context = ggml_host_new_context();
	b->weights = ggml_host.new_tensor_2d(b->weights_context, TYPE_Q8_0, COLUMNS, ROWS);
	b->copy = ggml_host.new_tensor_2d(b->weights_context, TYPE_Q8_0, COLUMNS, ROWS);
	b->buffer = ggml_host.alloc_ctx_tensors(b->weights_context, b->type);
	if (!b->buffer || b->weights->buffer != b->buffer || !b->weights->data || !b->weights->extra ||
	    ggml_host.buffer_get_size(b->buffer) < 2 * ggml_host.nbytes(b->weights))
		return 0;
	ggml_host.buffer_set_usage(b->buffer, (int)GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
	ggml_host.buffer_clear(b->buffer, 0);
	ggml_host.tensor_set(b->copy, b->stored + PIECE, PIECE, WEIGHTS_BYTES - PIECE);
	ggml_host.tensor_set(b->copy, b->stored, 0, PIECE);
	ggml_host.tensor_copy(b->copy, b->weights);
	memset(part, 0x21, sizeof(part));
	ggml_host.tensor_memset(b->copy, 0x21, 5 * ROW_BYTES, ROW_BYTES);
	ggml_host.buffer_reset(b->buffer);
	return is_given_back(b->weights, b->stored, 0, WEIGHTS_BYTES) &&
	       is_given_back(b->weights, b->stored + ROW_BYTES + 3, ROW_BYTES + 3, 17) &&
	       is_given_back(b->copy, b->stored, 0, 5 * ROW_BYTES) &&
	       is_given_back(b->copy, part, 5 * ROW_BYTES, ROW_BYTES);
}

static int test_stream(struct bench *b)
{
	b->backend = ggml_host.dev_init(b->device, NULL);
	if (!b->backend)
		return 0;
	ggml_host.synchronize(b->backend);
	return strcmp(ggml_host.backend_name(b->backend), "tcbtune") == 0 &&
	       ggml_host.default_buffer_type(b->backend) == ggml_host.cpu_buffer_type() &&
	       ggml_host.get_device(b->backend) != b->device;
}

static int test_product(struct bench *b)
{
	struct ggml_context *own = ggml_host_new_context();
	struct ggml_tensor *x = ggml_host.new_tensor_2d(own, (int)GGML_TYPE_F32, COLUMNS, TOKENS);
	struct ggml_tensor *y = ggml_host.mul_mat(own, b->weights, x);
	struct ggml_cgraph *graph = ggml_host.new_graph(own);
	struct ggml_backend_buffer *buffer = ggml_host.alloc_ctx_tensors(own, ggml_host.cpu_buffer_type());
	int is_fine;

	if (!buffer)
		return 0;
	ggml_host.build_forward_expand(graph, y);
	ggml_host.tensor_set(x, b->x, 0, sizeof(b->x));
	is_fine = ggml_host.dev_supports_op(b->device, y) && !ggml_host.dev_offload_op(b->device, y) &&
		  ggml_host.graph_compute(b->backend, graph) == 0 &&
		  memcmp(y->data, b->expected, sizeof(b->expected)) == 0;
	ggml_host.buffer_free(buffer);
	ggml_host.free(own);
	return is_fine;
}

/* A product of ours, twice which is computed by the host, in one graph of the host's scheduler. */
static int test_schedule(struct bench *b, struct ggml_backend *cpu)
{
	struct ggml_context *own = ggml_host_new_context();
	struct ggml_tensor *x = ggml_host.new_tensor_2d(own, (int)GGML_TYPE_F32, COLUMNS, TOKENS);
	struct ggml_tensor *y = ggml_host.mul_mat(own, b->weights, x), *twice = ggml_host.add(own, y, y);
	struct ggml_cgraph *graph = ggml_host.new_graph(own);
	struct ggml_backend *backends[] = { b->backend, cpu };
	void *schedule = ggml_host.sched_new(backends, NULL, 2, GRAPH_NODES, false, false);
	float out[TOKENS][ROWS];
	int is_fine;

	ggml_host.set_input(x);
	ggml_host.build_forward_expand(graph, twice);
	if (!schedule || !ggml_host.sched_alloc_graph(schedule, graph))
		return 0;
	ggml_host.tensor_set(x, b->x, 0, sizeof(b->x));
	is_fine = ggml_host.sched_graph_compute(schedule, graph) == 0;
	ggml_host.tensor_get(twice, out, 0, sizeof(out));
	for (int m = 0; m < TOKENS; m++)
		for (int n = 0; n < ROWS; n++)
			is_fine &= out[m][n] == 2 * b->expected[m][n];
	ggml_host.sched_free(schedule);
	ggml_host.free(own);
	return is_fine;
}

static int test_scheduler(struct bench *b)
{
	struct ggml_backend *cpu;
	int is_fine;

	if (!ggml_host.sched_new || !ggml_host.sched_free || !ggml_host.sched_alloc_graph ||
	    !ggml_host.sched_graph_compute || !ggml_host.add || !ggml_host.set_input || !(cpu = ggml_host_cpu()))
		return 1;
	is_fine = test_schedule(b, cpu);
	ggml_host.backend_free(cpu);
	return is_fine;
}

static int test_end(struct bench *b)
{
	ggml_host.backend_free(b->backend);
	ggml_host.buffer_free(b->buffer);
	ggml_host.free(b->weights_context);
	return 1;
}

static const struct {
	const char *what;
	int (*test)(struct bench *b);
} tests[] = {
	{ "its registry", test_registry },
	{ "its device", test_device },
	{ "its device's properties", test_properties },
	{ "its buffer type", test_buffer_type },
	{ "a buffer of weights", test_buffer },
	{ "its backend", test_stream },
	{ "a product", test_product },
	{ "a product in a scheduled graph", test_scheduler },
	{ "their end", test_end },
};
enum { TESTS = sizeof(tests) / sizeof(tests[0]) };

void GGML_SHIM_OF(ggml_self_test)(struct ggml_backend_reg *reg, struct ggml_test *test);
void GGML_SHIM_OF(ggml_self_test)(struct ggml_backend_reg *reg, struct ggml_test *test)
{
	static struct bench b;

	memset(&b, 0, sizeof(b));
	b.reg = reg;
	fill(&b);
	for (size_t i = 0; i < TESTS; i++) {
		test->what = tests[i].what;
		if (!tests[i].test(&b))
			return;
	}
	test->has_passed = 1;
}
