/* SPDX-License-Identifier: MIT
 *
 * The plug-in in a host of our own (fake_ggml.h): this program hands it tensors
 * made by hand, and looks at what comes back.  One program for each generation of
 * the interface; that of the third has an OpenMP runtime too, as far as the plug-in
 * uses it.
 */
#include "cmocka_all.h"
#include "instrumented.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_ggml.h"
#include "kernels/op.h"
#include "kernels/quant.h"

enum { SEED = 3, K = 256 };

#define EXPORTED __attribute__((visibility("default")))

#if TCB_GGML_GENERATION == 3
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
	struct ggml_backend_reg *(*init)(void);
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

static struct ggml_backend_device *device(void)
{
	struct ggml_backend_reg *registry = plugin.init();

	assert_non_null(registry);
	return registry->iface.get_device(registry, 0);
}

/* ---- tensors ---- */

static struct ggml_tensor tensor(int type, size_t element, size_t columns, size_t rows)
{
	struct ggml_tensor out = { .type = (enum ggml_type)type, .ne = { (int64_t)columns, (int64_t)rows, 1, 1 } };

	out.nb[0] = element;
	out.nb[1] = out.nb[2] = out.nb[3] = element * columns;
	out.nb[2] = out.nb[3] = out.nb[1] * rows;
	return out;
}

/* A product of M x N x K in a format, its operands as they are stored, and the reference's result. */
struct bench {
	struct tcb_problem problem;
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	size_t count;
	int w, out; /* which operand is which */
	void *stored[TCB_OPERANDS_MAX];
	struct ggml_tensor weights, x, y;
	struct ggml_backend_buffer *buffer;
	size_t results;
	double *reference;
};

static void bench_init_words(struct bench *b, const char *op, int type, const struct tcb_shape *shape)
{
	const size_t matrices = shape->words.experts ? shape->words.experts : 1;
	struct ggml_backend_buffer_type *of = device()->iface.get_buffer_type(device());
	size_t count, bytes;

	memset(b, 0, sizeof(*b));
	assert_int_equal(tcb_problem_init(tcb_op_find(op), tcb_op_find(op)->default_contract, shape, &b->problem, NULL),
			 TCB_OK);
	b->count = b->problem.op->operands(&b->problem, b->operands);
	count = b->count;
	b->w = tcb_operand_weights(b->operands, count);
	b->out = tcb_operand_output(b->operands, count);
	for (size_t i = 0; i < count; i++)
		b->stored[i] = calloc(1, b->operands[i].bytes);
	b->problem.op->fill(&b->problem, SEED, b->stored);
	const size_t results = b->operands[b->out].bytes / sizeof(float), n = shape->n;
	const size_t x = TCB_QUANT_X, x_rows = b->operands[x].rows, row = b->operands[b->w].bytes / (matrices * n);

	b->results = results;
	b->reference = malloc(3 * results * sizeof(double));
	b->problem.op->reference(
		&b->problem, b->stored,
		&(struct tcb_reference){ b->reference, b->reference + results, b->reference + 2 * results, NULL });
	b->weights = tensor(type, 0, K, n);
	b->weights.nb[1] = row;
	b->weights.nb[2] = row * n;
	b->weights.ne[2] = (int64_t)matrices;
	b->weights.nb[3] = row * n * matrices;
	b->x = tensor(GGML_TYPE_F32, sizeof(float), K, x_rows);
	b->x.data = b->stored[x];
	b->y = tensor(GGML_TYPE_F32, sizeof(float), n, results / n);
	b->y.data = b->stored[b->out];
	b->y.op = (enum ggml_op)(matrices > 1 ? FAKE_MUL_MAT_ID : FAKE_MUL_MAT);
	b->y.src[0] = &b->weights;
	b->y.src[1] = &b->x;
	bytes = of->iface.get_alloc_size(of, &b->weights);
	assert_true(bytes >= b->operands[b->w].bytes);
	b->buffer = of->iface.alloc_buffer(of, bytes);
	assert_ptr_equal(b->buffer->buft, of);
	b->weights.buffer = b->buffer;
	b->weights.data = b->buffer->iface.get_base(b->buffer);
	assert_int_equal(b->buffer->iface.init_tensor(b->buffer, &b->weights), GGML_STATUS_SUCCESS);
}

static void bench_init(struct bench *b, const char *op, int type, size_t m, size_t n)
{
	bench_init_words(b, op, type, &(struct tcb_shape){ m, n, K });
}

/* As the host has a mixture's: tokens are the third dimension. */
static void bench_init_experts(struct bench *b, const char *op, int type, size_t m, size_t n, unsigned experts,
			       unsigned used, int has_rows_each)
{
	const struct tcb_shape shape = {
		m, n, K, .words = { .experts = experts, .used = used, .skew = 10, .each = has_rows_each != 0 }
	};

	bench_init_words(b, op, type, &shape);
	b->x.ne[1] = has_rows_each ? used : 1;
	b->y.ne[1] = used;
	b->x.ne[2] = b->y.ne[2] = (int64_t)m;
	b->x.nb[2] = (size_t)b->x.ne[1] * b->x.nb[1];
	b->y.nb[2] = used * b->y.nb[1];
	b->x.nb[3] = m * b->x.nb[2];
	b->y.nb[3] = m * b->y.nb[2];
}

static void bench_fini(struct bench *b)
{
	b->buffer->iface.free_buffer(b->buffer);
	free(b->buffer);
	free(b->reference);
	for (size_t i = 0; i < b->count; i++)
		free(b->stored[i]);
}

static void set(struct bench *b, size_t offset, size_t size)
{
	b->buffer->iface.set_tensor(b->buffer, &b->weights, (char *)b->stored[b->w] + offset, offset, size);
}

static void set_threads(struct ggml_backend *stream, int threads)
{
	struct ggml_backend_reg *registry = stream->device->reg;
	void *found = registry->iface.get_proc_address(registry, "ggml_backend_set_n_threads");
	void (*call)(struct ggml_backend *, int);

	assert_non_null(found);
	memcpy(&call, &found, sizeof(found));
	call(stream, threads);
	assert_null(registry->iface.get_proc_address(registry, "ggml_backend_something_else"));
}

static int compute_node(struct ggml_tensor *node, int threads)
{
	struct ggml_tensor view = { .op = (enum ggml_op)FAKE_VIEW };
	struct ggml_cgraph graph = { 2, { &view, node } };
	struct ggml_backend *stream = device()->iface.init_backend(device(), NULL);
	int status;

	set_threads(stream, threads);
	status = stream->iface.graph_compute(stream, &graph);
	stream->iface.free(stream);
	return status;
}

static int compute(struct bench *b, int threads)
{
	memset(b->y.data, 0xff, b->operands[b->out].bytes);
	return compute_node(&b->y, threads);
}

static void check(struct bench *b)
{
	const size_t count = b->results;
	const float *y = b->y.data;

	for (size_t i = 0; i < count; i++) {
		const double off = (double)y[i] - b->reference[i], allowed = 0.01 * b->reference[count + i];

		if (!(off <= allowed && off >= -allowed))
			fail_msg("%s m=%zu: output %zu is %g, not %g", b->problem.op->name, b->problem.shape.m, i,
				 (double)y[i], b->reference[i]);
	}
}

static void expect_given_back(struct bench *b, const struct ggml_tensor *of, size_t offset, size_t size,
			      const char *stored)
{
	char *out = malloc(size + 1);

	out[size] = 0x55;
	b->buffer->iface.get_tensor(b->buffer, of, out, offset, size);
	assert_memory_equal(out, stored, size);
	assert_int_equal(out[size], 0x55);
	free(out);
}

/* ---- tests ---- */

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

/* Formats that are taken of two: one token's products of the host take FAKE_CPU_PRODUCT_NS. */
static int count_taken(void)
{
	struct ggml_backend_buffer_type *type = device()->iface.get_buffer_type(device());
	struct ggml_tensor weights[] = { tensor(12, 144, K, 64), tensor(11, 110, K, 64) };
	int count = 0;

	for (size_t i = 0; i < 2; i++) {
		struct ggml_tensor x = tensor(GGML_TYPE_F32, sizeof(float), K, 1), y = x;
		struct ggml_backend_buffer none = { .buft = type };

		weights[i].buffer = &none;
		y.ne[0] = 64;
		y.op = (enum ggml_op)FAKE_MUL_MAT;
		y.src[0] = &weights[i];
		y.src[1] = &x;
		count += device()->iface.supports_op(device(), &y);
	}
	return count;
}

/* Formats whose products the host computes faster stay with it, and it is said. */
static void test_leaves_to_the_host_what_it_does_faster(void **state)
{
	char of_fast[2048], of_slow[2048];
	int with_fast, with_slow;

	(void)state;
	fake_cpu_product_ns = 0;
	with_fast = in_child(count_taken, of_fast, sizeof(of_fast));
	fake_cpu_product_ns = TEST_IS_INSTRUMENTED ? 200000000 : 10000000;
	with_slow = in_child(count_taken, of_slow, sizeof(of_slow));
	fake_cpu_product_ns = -1;
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
	struct ggml_tensor ids = tensor(GGML_TYPE_I32, sizeof(int32_t), 1, 1);
	struct ggml_tensor rows = tensor(GGML_TYPE_F32, sizeof(float), K, 1);
	struct ggml_cgraph graph = { 2, { &rows, NULL } };
	struct ggml_backend *stream = device()->iface.init_backend(device(), NULL);
	float values[K] = { 7 };
	struct bench b;
	int status;

	bench_init(&b, "q4k_matmul", 12, 2, 32);
	set(&b, 0, b.operands[b.w].bytes);
	ids.data = &nowhere;
	rows.data = values;
	rows.op = (enum ggml_op)FAKE_GET_ROWS;
	rows.src[0] = &b.weights;
	rows.src[1] = &ids;
	b.y.flags = fake_node_flags;
	graph.node[1] = &b.y;
	status = (int)stream->iface.graph_compute(stream, &graph);
	check(&b);
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
	struct ggml_backend_device *listed = device();
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
			set(&b, 0, b.operands[b.w].bytes);
			assert_true(device()->iface.supports_op(device(), &b.y));
			for (int threads = 1; threads <= 3; threads++) {
				assert_int_equal(compute(&b, threads), GGML_STATUS_SUCCESS);
				check(&b);
			}
			bench_fini(&b);
		}
	assert_int_equal(plugin.counter("products") - before, FORMATS * 4 * 3);
	assert_int_equal(plugin.counter("refused"), 0);
#if TCB_GGML_GENERATION == 3
	assert_int_equal(regions, FORMATS * 4 * 2); /* one thread needs none */
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
		struct ggml_tensor ids = tensor(GGML_TYPE_I32, sizeof(int32_t), COUNT, 1);
		struct ggml_tensor out = tensor(GGML_TYPE_F32, sizeof(float), K, COUNT);
		float values[COUNT][K], expected[K];
		const struct tcb_format *format;
		struct bench b;

		snprintf(op, sizeof(op), "%s_matmul", formats[f].op);
		bench_init(&b, op, formats[f].type, 1, ROWS);
		format = b.problem.op->format;
		set(&b, 0, b.operands[b.w].bytes);
		ids.data = wanted;
		out.data = values;
		out.op = (enum ggml_op)FAKE_GET_ROWS;
		out.src[0] = &b.weights;
		out.src[1] = &ids;
		assert_true(device()->iface.supports_op(device(), &out));
		assert_int_equal(compute_node(&out, 1), GGML_STATUS_SUCCESS);
		for (size_t i = 0; i < COUNT; i++) {
			tcb_dequantize(format, (char *)b.stored[b.w] + (size_t)wanted[i] * b.weights.nb[1],
				       K / format->block_values, expected);
			assert_memory_equal(values[i], expected, sizeof(expected));
		}
		b.weights.extra = NULL;
		assert_false(device()->iface.supports_op(device(), &out));
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
				struct ggml_tensor ids = tensor(GGML_TYPE_I32, sizeof(int32_t), USED, TOKENS);
				struct bench b;
				char op[32];

				snprintf(op, sizeof(op), "%s_experts_matmul", ops[f]);
				bench_init_experts(&b, op, types_of[f], TOKENS, N, EXPERTS, USED, has_rows_each);
				for (size_t at = 0, step = 1000; at < b.operands[b.w].bytes; at += step)
					set(&b, at,
					    b.operands[b.w].bytes - at < step ? b.operands[b.w].bytes - at : step);
				ids.nb[1] = ids.nb[2] = ids.nb[3] = (is_apart ? IDS_APART : USED) * sizeof(int32_t);
				for (size_t t = 0; t < TOKENS; t++)
					memcpy((char *)routed + t * ids.nb[1], (int32_t *)b.stored[3] + t * USED,
					       USED * sizeof(int32_t));
				ids.data = routed;
				b.y.src[2] = &ids;
				assert_true(device()->iface.supports_op(device(), &b.y));
				for (int threads = 1; threads <= 2; threads++) {
					memset(b.y.data, 0xff, b.operands[b.out].bytes);
					assert_int_equal(compute(&b, threads), GGML_STATUS_SUCCESS);
					check(&b);
				}
				expect_given_back(&b, &b.weights, 0, b.operands[b.w].bytes, b.stored[b.w]);
				expect_given_back(&b, &b.weights, b.weights.nb[2] - 7, 23,
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
	set(&b, 0, b.operands[b.w].bytes);
	for (struct ggml_tensor *t = &b.x;; t = &b.y) {
		t->ne[1] = 3;
		t->ne[2] = 2;
		t->nb[2] = 3 * t->nb[1];
		if (t == &b.y)
			break;
	}
	assert_true(device()->iface.supports_op(device(), &b.y));
	assert_int_equal(compute(&b, 1), GGML_STATUS_SUCCESS);
	check(&b);
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
	} some[] = { { "q40_matmul", 2 }, { "q4k_matmul", 12 }, { "mxfp4_matmul", 39 } };
	static const size_t ranges[][2] = { { 0, 8 }, { 1, 1 }, { 143, 16 * 144 }, { 2303, 2 }, { 2304, 2304 } };

	(void)state;
	for (size_t f = 0; f < sizeof(some) / sizeof(some[0]); f++) {
		struct bench b;

		bench_init(&b, some[f].op, some[f].type, 1, 70);
		const size_t row = b.weights.nb[1], bytes = b.operands[b.w].bytes;
		char *stored = b.stored[b.w];
		struct ggml_tensor view = tensor(some[f].type, 0, K, 3);

		set(&b, 0, bytes);
		for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
			expect_given_back(&b, &b.weights, ranges[i][0], ranges[i][1], stored + ranges[i][0]);
		expect_given_back(&b, &b.weights, 0, bytes, stored);
		expect_given_back(&b, &b.weights, bytes - 5, 5, stored + bytes - 5);
		/* Rows 18 to 20, as a host has a part of a tensor that it computes with itself. */
		view.view_src = &b.weights;
		view.view_offs = 18 * row;
		view.data = (char *)b.weights.data + view.view_offs;
		view.buffer = b.buffer;
		assert_int_equal(b.buffer->iface.init_tensor(b.buffer, &view), GGML_STATUS_SUCCESS);
		expect_given_back(&b, &view, 0, 3 * row, stored + 18 * row);
		expect_given_back(&b, &view, row + 1, row, stored + 19 * row + 1);
		memset(stored + 19 * row, 0x21, row);
		b.buffer->iface.set_tensor(b.buffer, &view, stored + 19 * row, row, row);
		memset(stored + 40 * row, 0x42, 20 * row);
		b.buffer->iface.memset_tensor(b.buffer, &b.weights, 0x42, 40 * row, 20 * row);
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
			assert_true(device()->iface.supports_op(device(), &b.y));
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
	struct ggml_cgraph graph = { 2, { &first.y, &second.y } };
	struct ggml_backend *stream = device()->iface.init_backend(device(), NULL);

	(void)state;
	bench_init(&first, "q4k_matmul", 12, 4, K);
	bench_init(&second, "q4k_matmul", 12, 2, 32);
	set(&first, 0, first.operands[first.w].bytes);
	set(&second, 0, second.operands[second.w].bytes);
	memset(first.y.data, 0xff, first.operands[first.out].bytes);
	second.x.data = first.y.data;
	second.x.nb[1] = 2 * first.y.nb[1];
	second.x.nb[2] = second.x.nb[3] = 2 * second.x.nb[1];
	assert_int_equal(stream->iface.graph_compute(stream, &graph), GGML_STATUS_SUCCESS);
	stream->iface.free(stream);
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
	struct ggml_backend_device *of = device();
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
	assert_int_equal(compute(&b, 1), GGML_STATUS_FAILED);
	bench_fini(&b);
}

static void test_refuses_rows_that_are_not_there(void **state)
{
	static const int32_t beyond[] = { 70, -1 };
	struct ggml_tensor ids = tensor(GGML_TYPE_I32, sizeof(int32_t), 1, 1);
	struct ggml_tensor out = tensor(GGML_TYPE_F32, sizeof(float), K, 1);
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
		assert_int_equal(compute_node(&out, 1), GGML_STATUS_FAILED);
		assert_int_equal(plugin.counter("refused"), i + 1);
	}
	bench_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refuses_what_it_cannot_serve),
		cmocka_unit_test(test_leaves_to_the_host_what_it_does_faster),
		cmocka_unit_test(test_leaves_out_what_is_not_marked),
		cmocka_unit_test(test_presents_itself),
		cmocka_unit_test(test_computes_every_format),
		cmocka_unit_test(test_reads_rows),
		cmocka_unit_test(test_computes_mixtures),
		cmocka_unit_test(test_activations_of_more_dimensions),
		cmocka_unit_test(test_weights_in_pieces),
		cmocka_unit_test(test_weights_are_given_back),
		cmocka_unit_test(test_activations_that_are_not_dense),
		cmocka_unit_test(test_gathers_what_a_product_gave),
		cmocka_unit_test(test_declines),
		cmocka_unit_test(test_refuses_rows_that_are_not_there),
	};

	return cmocka_run_group_tests(tests, load, NULL);
}
