/* SPDX-License-Identifier: MIT
 *
 * The plug-in in a host of our own: this program has the functions of ggml that
 * it looks for, hands it tensors made by hand, and looks at what comes back.
 * One program for each interface version; that of version 3 has an OpenMP
 * runtime too, as far as the plug-in uses it.
 */
#include "cmocka_all.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "integrations/ggml/interface.h"
#include "kernels/op.h"

enum { NODES_MAX = 4, TYPE_CALLS = 8, OP_OTHER = 1, OP_NONE = 0, OP_VIEW = 3, OP_PRODUCT = 6, SEED = 3, K = 256 };

/* ---- the host's side ---- */

#define EXPORTED __attribute__((visibility("default")))

struct ggml_graph {
	int count;
	struct ggml_tensor *node[NODES_MAX];
};

static const char *version = "9.9.9";

EXPORTED const char *ggml_version(void);
EXPORTED const char *ggml_op_name(int op);
EXPORTED size_t ggml_nbytes(const struct ggml_tensor *tensor);
EXPORTED struct ggml_buffer *ggml_backend_buffer_init(struct ggml_buffer_type *type, struct ggml_buffer_calls calls,
						      void *context, size_t size);
EXPORTED bool ggml_backend_buft_is_host(struct ggml_buffer_type *type);
EXPORTED struct ggml_buffer_type *ggml_backend_cpu_buffer_type(void);
EXPORTED int ggml_graph_n_nodes(struct ggml_graph *graph);
EXPORTED struct ggml_tensor *ggml_graph_node(struct ggml_graph *graph, int i);

const char *ggml_version(void)
{
	return version;
}

const char *ggml_op_name(int op)
{
	static const char *const names[] = { "NONE", "ADD", "RESHAPE", "VIEW", "PERMUTE", "TRANSPOSE", "MUL_MAT" };

	assert_in_range(op, 0, 6);
	return names[op];
}

size_t ggml_nbytes(const struct ggml_tensor *tensor)
{
	return (size_t)tensor->ne[3] * tensor->nb[3];
}

struct ggml_buffer *ggml_backend_buffer_init(struct ggml_buffer_type *type, struct ggml_buffer_calls calls,
					     void *context, size_t size)
{
	struct ggml_buffer *buffer = calloc(1, sizeof(*buffer));

	*buffer = (struct ggml_buffer){ calls, type, context, size, 0 };
	return buffer;
}

static char cpu_type[256];

bool ggml_backend_buft_is_host(struct ggml_buffer_type *type)
{
	return (char *)type == cpu_type;
}

struct ggml_buffer_type *ggml_backend_cpu_buffer_type(void)
{
	return (struct ggml_buffer_type *)cpu_type;
}

int ggml_graph_n_nodes(struct ggml_graph *graph)
{
	return graph->count;
}

struct ggml_tensor *ggml_graph_node(struct ggml_graph *graph, int i)
{
	return graph->node[i];
}

#if INTERFACE_VERSION == 3
enum { REGION_THREADS_MAX = 3 };

EXPORTED void GOMP_parallel(void (*fn)(void *), void *data, unsigned threads, unsigned flags);
EXPORTED int omp_get_thread_num(void);
EXPORTED int omp_get_num_threads(void);

struct seat {
	void (*fn)(void *);
	void *data;
	int thread, threads;
};

static _Thread_local const struct seat *own_seat;
static unsigned regions;

static void *run_seat(void *arg)
{
	own_seat = arg;
	own_seat->fn(own_seat->data);
	return NULL;
}

void GOMP_parallel(void (*fn)(void *), void *data, unsigned threads, unsigned flags)
{
	struct seat seats[REGION_THREADS_MAX];
	pthread_t started[REGION_THREADS_MAX];

	assert_in_range(threads, 2, REGION_THREADS_MAX);
	assert_int_equal(flags, 0);
	regions++;
	for (unsigned t = 0; t < threads; t++)
		seats[t] = (struct seat){ fn, data, (int)t, (int)threads };
	for (unsigned t = 1; t < threads; t++)
		assert_int_equal(pthread_create(&started[t], NULL, run_seat, &seats[t]), 0);
	run_seat(&seats[0]);
	for (unsigned t = 1; t < threads; t++)
		pthread_join(started[t], NULL);
}

int omp_get_thread_num(void)
{
	return own_seat->thread;
}

int omp_get_num_threads(void)
{
	return own_seat->threads;
}
#endif

/* ---- the plug-in ---- */

static struct {
	int (*score)(void);
	struct ggml_registry *(*init)(void);
	unsigned long long (*counter)(const char *name);
} plugin;

static void take(void *library, const char *name, void *function)
{
	void *found = dlsym(library, name);

	assert_non_null(found);
	memcpy(function, &found, sizeof(found));
}

static int load(void **state)
{
	void *library = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);

	(void)state;
	if (!library)
		fail_msg("%s", dlerror());
	take(library, "ggml_backend_score", &plugin.score);
	take(library, "ggml_backend_init", &plugin.init);
	take(library, "tcbtune_ggml_counter", &plugin.counter);
	return 0;
}

/* The calls of a buffer type, by their place in each version. */
enum type_call { TYPE_ALLOC, TYPE_ALIGNMENT, TYPE_ALLOC_SIZE, TYPE_IS_HOST };
static void type_call(struct ggml_buffer_type *type, enum type_call call, void *function)
{
	static const int place[2][4] = { { 1, 2, 4, 5 }, { 1, 3, 5, 7 } };

	memcpy(function, (void **)type + place[INTERFACE_VERSION - 2][call], sizeof(void *));
}

static struct ggml_device *device(void)
{
	struct ggml_registry *registry = plugin.init();

	assert_non_null(registry);
	return registry->calls.get_device(registry, 0);
}

/* ---- tensors ---- */

static struct ggml_tensor tensor(int type, size_t element, size_t columns, size_t rows)
{
	struct ggml_tensor out = { .type = type, .ne = { (int64_t)columns, (int64_t)rows, 1, 1 } };

	out.nb[0] = element;
	out.nb[1] = out.nb[2] = out.nb[3] = element * columns;
	out.nb[2] = out.nb[3] = out.nb[1] * rows;
	return out;
}

/* A product of M x N x K in a format, its operands as they are stored, and the reference's result. */
struct bench {
	struct tcb_problem problem;
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	int w, out; /* which operand is which */
	void *stored[TCB_OPERANDS_MAX];
	struct ggml_tensor weights, x, y;
	struct ggml_buffer *buffer;
	double *reference;
};

static void bench_init(struct bench *b, const char *op, int type, size_t m, size_t n)
{
	const struct tcb_shape shape = { m, n, K };
	size_t (*alloc_size)(struct ggml_buffer_type *, const struct ggml_tensor *);
	struct ggml_buffer *(*alloc)(struct ggml_buffer_type *, size_t);
	struct ggml_buffer_type *of = device()->calls.get_buffer_type(device());
	size_t count, bytes;

	memset(b, 0, sizeof(*b));
	assert_int_equal(tcb_problem_init(tcb_op_find(op), TCB_CONTRACT_Q8, &shape, &b->problem, NULL), TCB_OK);
	count = b->problem.op->operands(&b->problem, b->operands);
	assert_int_equal(count, 3);
	b->w = tcb_operand_weights(b->operands, count);
	b->out = tcb_operand_output(b->operands, count);
	for (size_t i = 0; i < count; i++)
		b->stored[i] = calloc(1, b->operands[i].bytes);
	b->problem.op->fill(&b->problem, SEED, b->stored);
	b->reference = malloc(3 * m * n * sizeof(double));
	b->problem.op->reference(
		&b->problem, b->stored,
		&(struct tcb_reference){ b->reference, b->reference + m * n, b->reference + 2 * m * n, NULL });
	b->weights = tensor(type, 0, K, n);
	b->weights.nb[1] = b->operands[b->w].bytes / n;
	b->weights.nb[2] = b->weights.nb[3] = b->operands[b->w].bytes;
	b->x = tensor(GGML_TYPE_F32, sizeof(float), K, m);
	b->x.data = b->stored[3 - b->w - b->out];
	b->y = tensor(GGML_TYPE_F32, sizeof(float), n, m);
	b->y.data = b->stored[b->out];
	b->y.op = OP_PRODUCT;
	b->y.src[0] = &b->weights;
	b->y.src[1] = &b->x;
	type_call(of, TYPE_ALLOC_SIZE, &alloc_size);
	type_call(of, TYPE_ALLOC, &alloc);
	bytes = alloc_size(of, &b->weights);
	assert_true(bytes >= b->operands[b->w].bytes);
	b->buffer = alloc(of, bytes);
	assert_ptr_equal(b->buffer->type, of);
	b->weights.buffer = b->buffer;
	b->weights.data = b->buffer->calls.get_base(b->buffer);
	assert_int_equal(b->buffer->calls.init_tensor(b->buffer, &b->weights), GGML_STATUS_SUCCESS);
}

static void bench_fini(struct bench *b)
{
	b->buffer->calls.free_buffer(b->buffer);
	free(b->buffer);
	free(b->reference);
	for (size_t i = 0; i < 3; i++)
		free(b->stored[i]);
}

static void set(struct bench *b, size_t offset, size_t size)
{
	b->buffer->calls.set_tensor(b->buffer, &b->weights, (char *)b->stored[b->w] + offset, offset, size);
}

static void set_threads(struct ggml_stream *stream, int threads)
{
	struct ggml_registry *registry = stream->device->registry;
	void *found = registry->calls.get_proc_address(registry, "ggml_backend_set_n_threads");
	void (*call)(struct ggml_stream *, int);

	assert_non_null(found);
	memcpy(&call, &found, sizeof(found));
	call(stream, threads);
	assert_null(registry->calls.get_proc_address(registry, "ggml_backend_something_else"));
}

static int compute(struct bench *b, int threads)
{
	struct ggml_tensor view = { .op = OP_VIEW };
	struct ggml_graph graph = { 2, { &view, &b->y } };
	struct ggml_stream *stream = device()->calls.init_backend(device(), NULL);
	int status;

	set_threads(stream, threads);
	memset(b->y.data, 0xff, b->operands[b->out].bytes);
	status = stream->calls.graph_compute(stream, &graph);
	stream->calls.free(stream);
	return status;
}

static void check(struct bench *b)
{
	const size_t count = b->problem.shape.m * b->problem.shape.n;
	const float *y = b->y.data;

	for (size_t i = 0; i < count; i++) {
		const double off = (double)y[i] - b->reference[i], allowed = 0.01 * b->reference[count + i];

		if (!(off <= allowed && off >= -allowed))
			fail_msg("%s m=%zu: output %zu is %g, not %g", b->problem.op->name, b->problem.shape.m, i,
				 (double)y[i], b->reference[i]);
	}
}

/* ---- tests ---- */

static void test_refuses_unknown_versions(void **state)
{
	(void)state;
	assert_int_equal(plugin.score(), 0);
	assert_null(plugin.init());
	version = INTERFACE_VERSION == 2 ? "0.13.1" : "0.26.0";
	assert_int_not_equal(plugin.score(), 0);
}

static void test_presents_itself(void **state)
{
	struct ggml_registry *registry = plugin.init();
	struct ggml_device *listed = device();
	struct ggml_stream *stream = listed->calls.init_backend(listed, NULL);
	struct ggml_buffer_type *type = listed->calls.get_buffer_type(listed);
	bool (*is_host)(struct ggml_buffer_type *);
	size_t (*alignment)(struct ggml_buffer_type *);
	size_t available = 1, total = 1;
	char properties[128];

	(void)state;
	assert_int_equal(registry->interface_version, INTERFACE_VERSION);
	assert_ptr_equal(registry, plugin.init());
	assert_string_equal(registry->calls.get_name(registry), "tcbtune");
	assert_int_equal(registry->calls.get_device_count(registry), 1);
	assert_null(registry->calls.get_device(registry, 1));
	assert_int_equal(listed->calls.get_type(listed), GGML_DEVICE_ACCELERATOR);
	listed->calls.get_memory(listed, &available, &total);
	assert_int_equal(available | total, 0);
	memset(properties, 0x7f, sizeof(properties));
	listed->calls.get_properties(listed, properties);
	assert_string_equal(*(char **)properties, "tcbtune");
	if (INTERFACE_VERSION >= 3) /* its last flag: files may be mapped */
		assert_int_equal(properties[52], 1);
	assert_int_equal(properties[56], 0x7f);
	type_call(type, TYPE_IS_HOST, &is_host);
	type_call(type, TYPE_ALIGNMENT, &alignment);
	assert_false(is_host(type));
	assert_int_equal(alignment(type), 256);
	/* Outputs of a graph are the host's. */
	assert_ptr_not_equal(stream->device, listed);
	assert_ptr_equal(stream->device->calls.get_buffer_type(stream->device), cpu_type);
	assert_true(stream->device->calls.supports_buffer_type(stream->device, type));
	assert_true(stream->device->calls.supports_buffer_type(stream->device, ggml_backend_cpu_buffer_type()));
	assert_false(stream->device->calls.supports_buffer_type(stream->device, (void *)properties));
	stream->calls.free(stream);
}

static void test_computes_every_format(void **state)
{
	static const struct {
		const char *op;
		int type;
	} formats[] = { { "q40_matmul", 2 },  { "q80_matmul", 8 },    { "q4k_matmul", 12 },  { "q5k_matmul", 13 },
			{ "q6k_matmul", 14 }, { "iq4xs_matmul", 23 }, { "mxfp4_matmul", 39 } };
	static const size_t tokens[] = { 1, 2, 3, 17 };
	const unsigned long long before = plugin.counter("products");

	(void)state;
	for (size_t f = 0; f < sizeof(formats) / sizeof(formats[0]); f++)
		for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
			struct bench b;

			bench_init(&b, formats[f].op, formats[f].type, tokens[i], 48);
			set(&b, 0, b.operands[b.w].bytes);
			assert_true(device()->calls.supports_op(device(), &b.y));
			for (int threads = 1; threads <= 3; threads++) {
				assert_int_equal(compute(&b, threads), GGML_STATUS_SUCCESS);
				check(&b);
			}
			bench_fini(&b);
		}
	assert_int_equal(plugin.counter("products") - before, 7 * 4 * 3);
	assert_int_equal(plugin.counter("refused"), 0);
#if INTERFACE_VERSION == 3
	assert_int_equal(regions, 7 * 4 * 2); /* one thread needs none */
#endif
}

static void test_activations_of_more_dimensions(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b, "q4k_matmul", 12, 6, 32);
	set(&b, 0, b.operands[b.w].bytes);
	for (struct ggml_tensor *t = &b.x;; t = &b.y) {
		t->ne[1] = 3;
		t->ne[2] = 2;
		t->nb[2] = 3 * t->nb[1];
		if (t == &b.y)
			break;
	}
	assert_true(device()->calls.supports_op(device(), &b.y));
	assert_int_equal(compute(&b, 1), GGML_STATUS_SUCCESS);
	check(&b);
	bench_fini(&b);
}

static void expect_given_back(struct bench *b, const struct ggml_tensor *of, size_t offset, size_t size,
			      const char *stored)
{
	char *out = malloc(size + 1);

	out[size] = 0x55;
	b->buffer->calls.get_tensor(b->buffer, of, out, offset, size);
	assert_memory_equal(out, stored, size);
	assert_int_equal(out[size], 0x55);
	free(out);
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
			set(&b, p * pieces[i], p + 1 < count ? pieces[i] : bytes - p * pieces[i]);
		assert_int_equal(compute(&b, 1), GGML_STATUS_SUCCESS);
		check(&b);
		expect_given_back(&b, &b.weights, 0, bytes, b.stored[b.w]);
		bench_fini(&b);
	}
	assert_int_equal(plugin.counter("refused"), 0);
}

static void test_weights_are_given_back(void **state)
{
	static const struct {
		const char *op;
		int type;
	} formats[] = { { "q40_matmul", 2 }, { "q4k_matmul", 12 }, { "mxfp4_matmul", 39 } };
	static const size_t ranges[][2] = { { 0, 8 }, { 1, 1 }, { 143, 16 * 144 }, { 2303, 2 }, { 2304, 2304 } };

	(void)state;
	for (size_t f = 0; f < sizeof(formats) / sizeof(formats[0]); f++) {
		struct bench b;

		bench_init(&b, formats[f].op, formats[f].type, 1, 70);
		const size_t row = b.weights.nb[1], bytes = b.operands[b.w].bytes;
		char *stored = b.stored[b.w];
		struct ggml_tensor view = tensor(formats[f].type, 0, K, 3);

		set(&b, 0, bytes);
		for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
			expect_given_back(&b, &b.weights, ranges[i][0], ranges[i][1], stored + ranges[i][0]);
		expect_given_back(&b, &b.weights, 0, bytes, stored);
		expect_given_back(&b, &b.weights, bytes - 5, 5, stored + bytes - 5);
		/* Rows 18 to 20, as a host has a part of a tensor that it computes with itself. */
		view.view_src = &b.weights;
		view.view_offset = 18 * row;
		view.data = (char *)b.weights.data + view.view_offset;
		view.buffer = b.buffer;
		assert_int_equal(b.buffer->calls.init_tensor(b.buffer, &view), GGML_STATUS_SUCCESS);
		expect_given_back(&b, &view, 0, 3 * row, stored + 18 * row);
		expect_given_back(&b, &view, row + 1, row, stored + 19 * row + 1);
		memset(stored + 19 * row, 0x21, row);
		b.buffer->calls.set_tensor(b.buffer, &view, stored + 19 * row, row, row);
		memset(stored + 40 * row, 0x42, 20 * row);
		b.buffer->calls.memset_tensor(b.buffer, &b.weights, 0x42, 40 * row, 20 * row);
		expect_given_back(&b, &b.weights, 0, bytes, stored);
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
			set(&b, 0, b.operands[b.w].bytes);
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
			assert_true(device()->calls.supports_op(device(), &b.y));
			assert_int_equal(compute(&b, threads), GGML_STATUS_SUCCESS);
			check(&b);
			assert_int_equal(plugin.counter("gathered"), before + 1);
			bench_fini(&b);
		}
	free(apart);
}

/* The second product's activations are every other row of what the first one gives. */
static void test_gathers_what_a_product_gave(void **state)
{
	struct bench first, second;
	struct ggml_graph graph = { 2, { &first.y, &second.y } };
	struct ggml_stream *stream = device()->calls.init_backend(device(), NULL);

	(void)state;
	bench_init(&first, "q4k_matmul", 12, 4, K);
	bench_init(&second, "q4k_matmul", 12, 2, 32);
	set(&first, 0, first.operands[first.w].bytes);
	set(&second, 0, second.operands[second.w].bytes);
	memset(first.y.data, 0xff, first.operands[first.out].bytes);
	second.x.data = first.y.data;
	second.x.nb[1] = 2 * first.y.nb[1];
	second.x.nb[2] = second.x.nb[3] = 2 * second.x.nb[1];
	assert_int_equal(stream->calls.graph_compute(stream, &graph), GGML_STATUS_SUCCESS);
	stream->calls.free(stream);
	check(&first);
	/* Against the reference of what was really given. */
	for (size_t t = 0; t < 2; t++)
		memcpy((float *)second.stored[3 - second.w - second.out] + t * K, (float *)first.y.data + 2 * t * K,
		       K * sizeof(float));
	second.problem.op->reference(
		&second.problem, second.stored,
		&(struct tcb_reference){ second.reference, second.reference + 64, second.reference + 128, NULL });
	check(&second);
	bench_fini(&first);
	bench_fini(&second);
}

static void test_declines(void **state)
{
	struct ggml_device *of = device();
	struct ggml_buffer elsewhere = { .type = ggml_backend_cpu_buffer_type() };
	struct bench b;

	(void)state;
	bench_init(&b, "q4k_matmul", 12, 4, 16);
	assert_true(of->calls.supports_op(of, &b.y));
	b.y.op = OP_OTHER;
	assert_false(of->calls.supports_op(of, &b.y));
	b.y.op = OP_NONE;
	assert_true(of->calls.supports_op(of, &b.y));
	b.y.op = OP_PRODUCT;
	b.weights.buffer = &elsewhere;
	assert_false(of->calls.supports_op(of, &b.y));
	b.weights.buffer = b.buffer;
	b.weights.type = 10; /* Q2_K */
	assert_false(of->calls.supports_op(of, &b.y));
	b.weights.type = 12;
	b.weights.ne[2] = 2;
	assert_false(of->calls.supports_op(of, &b.y));
	b.weights.ne[2] = 1;
	b.x.type = 1; /* F16 */
	assert_false(of->calls.supports_op(of, &b.y));
	b.x.type = GGML_TYPE_F32;
	b.x.nb[0] *= 2; /* values apart */
	assert_false(of->calls.supports_op(of, &b.y));
	assert_int_equal(compute(&b, 1), GGML_STATUS_FAILED);
	bench_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refuses_unknown_versions),
		cmocka_unit_test(test_presents_itself),
		cmocka_unit_test(test_computes_every_format),
		cmocka_unit_test(test_activations_of_more_dimensions),
		cmocka_unit_test(test_weights_in_pieces),
		cmocka_unit_test(test_weights_are_given_back),
		cmocka_unit_test(test_activations_that_are_not_dense),
		cmocka_unit_test(test_gathers_what_a_product_gave),
		cmocka_unit_test(test_declines),
	};

	return cmocka_run_group_tests(tests, load, NULL);
}
