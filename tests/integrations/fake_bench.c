/* SPDX-License-Identifier: MIT
 *
 * A product's operands are laid out as the host lays its tensors out.
 */
#include "fake_bench.h"

#include "cmocka_all.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/quant.h"

enum { SEED = 3 };

/* ---- the plug-in ---- */

struct plugin plugin;

static void take(void *library, const char *name, void *function)
{
	void *found = dlsym(library, name);

	assert_non_null(found);
	memcpy(function, &found, sizeof(found));
}

int plugin_load(void **state)
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

struct ggml_backend_device *plugin_device(void)
{
	struct ggml_backend_reg *registry = plugin.init();

	assert_non_null(registry);
	return registry->iface.get_device(registry, 0);
}

/* ---- tensors ---- */

struct ggml_tensor tensor_of(int type, size_t element, size_t columns, size_t rows)
{
	struct ggml_tensor out = { .type = (enum ggml_type)type, .ne = { (int64_t)columns, (int64_t)rows, 1, 1 } };

	out.nb[0] = element;
	out.nb[1] = out.nb[2] = out.nb[3] = element * columns;
	out.nb[2] = out.nb[3] = out.nb[1] * rows;
	return out;
}

static void bench_init_words(struct bench *b, const char *op, int type, const struct tcb_shape *shape)
{
	const size_t matrices = shape->words.experts ? shape->words.experts : 1;
	struct ggml_backend_buffer_type *of = plugin_device()->iface.get_buffer_type(plugin_device());
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
	b->weights = tensor_of(type, 0, K, n);
	b->weights.nb[1] = row;
	b->weights.nb[2] = row * n;
	b->weights.ne[2] = (int64_t)matrices;
	b->weights.nb[3] = row * n * matrices;
	b->x = tensor_of(GGML_TYPE_F32, sizeof(float), K, x_rows);
	b->x.data = b->stored[x];
	b->y = tensor_of(GGML_TYPE_F32, sizeof(float), n, results / n);
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

void bench_init(struct bench *b, const char *op, int type, size_t m, size_t n)
{
	bench_init_words(b, op, type, &(struct tcb_shape){ m, n, K });
}

void bench_init_experts(struct bench *b, const char *op, int type, size_t m, size_t n, unsigned experts, unsigned used,
			int has_rows_each)
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

void bench_fini(struct bench *b)
{
	b->buffer->iface.free_buffer(b->buffer);
	free(b->buffer);
	free(b->reference);
	for (size_t i = 0; i < b->count; i++)
		free(b->stored[i]);
}

void bench_set(struct bench *b, size_t offset, size_t size)
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

int plugin_compute(struct ggml_tensor *node, int threads)
{
	struct ggml_tensor view = { .op = (enum ggml_op)FAKE_VIEW };
	struct ggml_cgraph graph = { 2, { &view, node } };
	struct ggml_backend *stream = plugin_device()->iface.init_backend(plugin_device(), NULL);
	int status;

	set_threads(stream, threads);
	status = stream->iface.graph_compute(stream, &graph);
	stream->iface.free(stream);
	return status;
}

int bench_compute(struct bench *b, int threads)
{
	memset(b->y.data, 0xff, b->operands[b->out].bytes);
	return plugin_compute(&b->y, threads);
}

void bench_check(struct bench *b)
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

void bench_expect_given_back(struct bench *b, const struct ggml_tensor *of, size_t offset, size_t size,
			     const char *stored)
{
	char *out = malloc(size + 1);

	out[size] = 0x55;
	b->buffer->iface.get_tensor(b->buffer, of, out, offset, size);
	assert_memory_equal(out, stored, size);
	assert_int_equal(out[size], 0x55);
	free(out);
}
