/* SPDX-License-Identifier: MIT
 *
 * ggml's functions that the plug-in looks for: each does what its name says with
 * the least code.
 */
#include "fake_ggml.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/formats.h"

enum { TENSORS_MAX = 16, ALIGNMENT = 256, OBJECT_BYTES = 32 };

struct ggml_context {
	size_t count;
	struct ggml_tensor tensor[TENSORS_MAX];
	struct ggml_cgraph graph;
};

enum fake_fault fake_fault;
long fake_cpu_token_ns = -1;
int fake_node_flags;

__attribute__((visibility("default"))) const char *ggml_version(void);

const char *ggml_version(void)
{
	return "9.9.9";
}

const char *fake_op_name(int op)
{
	static const char *const names[FAKE_OPS] = {
		"NONE",      "ADD",      "RESHAPE", "VIEW",       "PERMUTE",
		"TRANSPOSE", "GET_ROWS", "MUL_MAT", "MUL_MAT_ID", "FLASH_ATTN_EXT"
	};

	assert(op >= 0 && op < FAKE_OPS);
	return names[op];
}

/* ---- formats, by the numbers of GGUF files ---- */

#define FORMAT(id, name, op, values, bytes, ...) { #id, values, bytes },
static const struct {
	const char *name;
	int64_t values;
	size_t bytes;
} formats[] = { TCB_FORMAT_LIST(FORMAT) };
#undef FORMAT

static const struct {
	int type;
	enum tcb_format_id format;
} numbers[] = {
	{ 0, TCB_FORMAT_F32 },      { 1, TCB_FORMAT_F16 },     { 2, TCB_FORMAT_Q4_0 },     { 3, TCB_FORMAT_Q4_1 },
	{ 6, TCB_FORMAT_Q5_0 },     { 7, TCB_FORMAT_Q5_1 },    { 8, TCB_FORMAT_Q8_0 },     { 10, TCB_FORMAT_Q2_K },
	{ 11, TCB_FORMAT_Q3_K },    { 12, TCB_FORMAT_Q4_K },   { 13, TCB_FORMAT_Q5_K },    { 14, TCB_FORMAT_Q6_K },
	{ 16, TCB_FORMAT_IQ2_XXS }, { 17, TCB_FORMAT_IQ2_XS }, { 18, TCB_FORMAT_IQ3_XXS }, { 19, TCB_FORMAT_IQ1_S },
	{ 20, TCB_FORMAT_IQ4_NL },  { 21, TCB_FORMAT_IQ3_S },  { 22, TCB_FORMAT_IQ2_S },   { 23, TCB_FORMAT_IQ4_XS },
	{ 29, TCB_FORMAT_IQ1_M },   { 30, TCB_FORMAT_BF16 },   { 39, TCB_FORMAT_MXFP4 },   { 40, TCB_FORMAT_NVFP4 },
};

/* TCB_FORMAT_COUNT: none. */
static size_t format_of(int type)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].type == type)
			return numbers[i].format;
	return TCB_FORMAT_COUNT;
}

const char *fake_type_name(int type)
{
	return format_of(type) < TCB_FORMAT_COUNT ? formats[format_of(type)].name : "";
}

int64_t fake_blck_size(int type)
{
	return format_of(type) < TCB_FORMAT_COUNT ? formats[format_of(type)].values : 0;
}

size_t fake_type_size(int type)
{
	return format_of(type) < TCB_FORMAT_COUNT ? formats[format_of(type)].bytes : 0;
}

/* ---- tensors ---- */

size_t fake_tensor_overhead(void)
{
	return OBJECT_BYTES + sizeof(struct ggml_tensor);
}

size_t fake_nbytes(const struct ggml_tensor *tensor)
{
	return (size_t)tensor->ne[3] * tensor->nb[3];
}

void *fake_get_data(const struct ggml_tensor *tensor)
{
	return tensor->data;
}

const char *fake_get_name(const struct ggml_tensor *tensor)
{
	return tensor->name;
}

struct ggml_context *fake_init(struct ggml_host_context parameters)
{
	assert(parameters.no_alloc);
	return calloc(1, sizeof(struct ggml_context));
}

void fake_free(struct ggml_context *context)
{
	free(context);
}

struct ggml_tensor *fake_new_tensor_2d(struct ggml_context *context, int type, int64_t columns, int64_t rows)
{
	struct ggml_tensor *tensor = &context->tensor[context->count++];

	assert(context->count <= TENSORS_MAX);
	*tensor = (struct ggml_tensor){ .type = (enum ggml_type)type, .ne = { columns, rows, 1, 1 } };
	tensor->nb[0] = fake_type_size(type);
	tensor->nb[1] = tensor->nb[0] * (size_t)(columns / fake_blck_size(type));
	tensor->nb[2] = tensor->nb[3] = tensor->nb[1] * (size_t)rows;
	return tensor;
}

struct ggml_tensor *fake_mul_mat(struct ggml_context *context, struct ggml_tensor *weights, struct ggml_tensor *x)
{
	struct ggml_tensor *y = fake_new_tensor_2d(context, GGML_TYPE_F32, weights->ne[1], x->ne[1]);

	y->op = (enum ggml_op)FAKE_MUL_MAT;
	y->src[0] = weights;
	y->src[1] = x;
	return y;
}

struct ggml_cgraph *fake_new_graph(struct ggml_context *context)
{
	return &context->graph;
}

void fake_build_forward_expand(struct ggml_cgraph *graph, struct ggml_tensor *tensor)
{
	assert(graph->count < FAKE_NODES_MAX);
	tensor->flags |= fake_node_flags;
	graph->node[graph->count++] = tensor;
}

int fake_graph_n_nodes(struct ggml_cgraph *graph)
{
	return graph->count;
}

struct ggml_tensor *fake_graph_node(struct ggml_cgraph *graph, int i)
{
	return graph->node[i];
}

/* ---- buffers ---- */

__attribute__((visibility("default"))) struct ggml_backend_buffer *ggml_backend_buffer_init(
	struct ggml_backend_buffer_type *type, struct ggml_backend_buffer_i calls, void *context, size_t size);

/* FAKE_COPIES_LESS: one that was compiled before a function was added. */
struct ggml_backend_buffer *ggml_backend_buffer_init(struct ggml_backend_buffer_type *type,
						     struct ggml_backend_buffer_i calls, void *context, size_t size)
{
	struct ggml_backend_buffer *buffer = calloc(1, sizeof(*buffer));

	*buffer = (struct ggml_backend_buffer){ .iface = calls, .buft = type, .context = context, .size = size };
	if (fake_fault == FAKE_COPIES_LESS)
		memmove((char *)buffer + sizeof(calls) - sizeof(void *), (char *)buffer + sizeof(calls),
			sizeof(*buffer) - sizeof(calls));
	return buffer;
}

void fake_buffer_free(struct ggml_backend_buffer *buffer)
{
	buffer->iface.free_buffer(buffer);
	free(buffer);
}

size_t fake_buffer_get_size(struct ggml_backend_buffer *buffer)
{
	return buffer->size;
}

void fake_buffer_clear(struct ggml_backend_buffer *buffer, uint8_t value)
{
	buffer->iface.clear(buffer, value);
}

void fake_buffer_reset(struct ggml_backend_buffer *buffer)
{
	if (buffer->iface.reset)
		buffer->iface.reset(buffer);
}

void fake_buffer_set_usage(struct ggml_backend_buffer *buffer, int usage)
{
	buffer->usage = (enum ggml_backend_buffer_usage)usage;
}

struct ggml_backend_buffer *fake_alloc_ctx_tensors(struct ggml_context *context, struct ggml_backend_buffer_type *type)
{
	struct ggml_backend_buffer *buffer;
	size_t bytes[TENSORS_MAX], all = 0;
	char *at;

	for (size_t i = 0; i < context->count; i++) {
		bytes[i] =
			(type->iface.get_alloc_size(type, &context->tensor[i]) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
		all += bytes[i];
	}
	buffer = type->iface.alloc_buffer(type, all);
	at = buffer->iface.get_base(buffer);
	for (size_t i = 0; i < context->count; at += bytes[i++]) {
		struct ggml_tensor *tensor = &context->tensor[i];

		tensor->buffer = buffer;
		tensor->data = at;
		if (buffer->iface.init_tensor)
			buffer->iface.init_tensor(buffer, tensor);
	}
	return buffer;
}

void fake_tensor_set(struct ggml_tensor *tensor, const void *data, size_t offset, size_t size)
{
	const size_t off = fake_fault == FAKE_SETS_ELSEWHERE && offset + size < fake_nbytes(tensor);

	tensor->buffer->iface.set_tensor(tensor->buffer, tensor, data, offset + off, size);
}

void fake_tensor_get(const struct ggml_tensor *tensor, void *data, size_t offset, size_t size)
{
	tensor->buffer->iface.get_tensor(tensor->buffer, tensor, data, offset, size);
}

void fake_tensor_memset(struct ggml_tensor *tensor, uint8_t value, size_t offset, size_t size)
{
	tensor->buffer->iface.memset_tensor(tensor->buffer, tensor, value, offset, size);
}

void fake_tensor_copy(struct ggml_tensor *from, struct ggml_tensor *to)
{
	char *bytes;

	if (to->buffer->iface.cpy_tensor(to->buffer, from, to))
		return;
	bytes = malloc(fake_nbytes(from));
	fake_tensor_get(from, bytes, 0, fake_nbytes(from));
	fake_tensor_set(to, bytes, 0, fake_nbytes(from));
	free(bytes);
}

/* ---- the CPU's buffer type ---- */

static void cpu_free_buffer(struct ggml_backend_buffer *buffer)
{
	free(buffer->context);
}

static void *cpu_get_base(struct ggml_backend_buffer *buffer)
{
	return buffer->context;
}

static void cpu_set_tensor(struct ggml_backend_buffer *buffer, struct ggml_tensor *tensor, const void *data,
			   size_t offset, size_t size)
{
	(void)buffer;
	memcpy((char *)tensor->data + offset, data, size);
}

static struct ggml_backend_buffer *cpu_alloc_buffer(struct ggml_backend_buffer_type *type, size_t size)
{
	return ggml_backend_buffer_init(type,
					(struct ggml_backend_buffer_i){ .free_buffer = cpu_free_buffer,
									.get_base = cpu_get_base,
									.set_tensor = cpu_set_tensor },
					aligned_alloc(ALIGNMENT, size), size);
}

static size_t cpu_get_alloc_size(struct ggml_backend_buffer_type *type, const struct ggml_tensor *tensor)
{
	(void)type;
	return fake_nbytes(tensor);
}

struct ggml_backend_buffer_type *fake_cpu_buffer_type(void)
{
	static struct ggml_backend_buffer_type type = { .iface = { .alloc_buffer = cpu_alloc_buffer,
								   .get_alloc_size = cpu_get_alloc_size } };

	return &type;
}

bool fake_buft_is_host(struct ggml_backend_buffer_type *type)
{
	return type == fake_cpu_buffer_type() || (type->iface.is_host && type->iface.is_host(type));
}

const char *fake_buft_name(struct ggml_backend_buffer_type *type)
{
	return type->iface.get_name(type);
}

size_t fake_buft_get_alignment(struct ggml_backend_buffer_type *type)
{
	return type->iface.get_alignment(type);
}

size_t fake_buft_get_max_size(struct ggml_backend_buffer_type *type)
{
	return type->iface.get_max_size ? type->iface.get_max_size(type) : SIZE_MAX;
}

struct ggml_backend_device *fake_buft_get_device(struct ggml_backend_buffer_type *type)
{
	return fake_fault == FAKE_LAYS_OUT_OTHERWISE ? ((struct ggml_backend_device **)type)[20] : type->device;
}

/* ---- registries, devices, backends ---- */

const char *fake_reg_name(struct ggml_backend_reg *reg)
{
	return reg->iface.get_name(reg);
}

size_t fake_reg_dev_count(struct ggml_backend_reg *reg)
{
	return reg->iface.get_device_count(reg);
}

struct ggml_backend_device *fake_reg_dev_get(struct ggml_backend_reg *reg, size_t index)
{
	return reg->iface.get_device(reg, index);
}

void *fake_reg_get_proc_address(struct ggml_backend_reg *reg, const char *name)
{
	return reg->iface.get_proc_address(reg, name);
}

const char *fake_dev_name(struct ggml_backend_device *device)
{
	return device->iface.get_name(device);
}

const char *fake_dev_description(struct ggml_backend_device *device)
{
	return device->iface.get_description(device);
}

void fake_dev_memory(struct ggml_backend_device *device, size_t *available, size_t *total)
{
	device->iface.get_memory(device, available, total);
}

int fake_dev_type(struct ggml_backend_device *device)
{
	return (int)device->iface.get_type(device);
}

void fake_dev_get_props(struct ggml_backend_device *device, void *properties)
{
	memset(properties, 0, sizeof(struct ggml_backend_dev_props));
	device->iface.get_props(device, properties);
}

struct ggml_backend_reg *fake_dev_backend_reg(struct ggml_backend_device *device)
{
	return device->reg;
}

struct ggml_backend *fake_dev_init(struct ggml_backend_device *device, const char *parameters)
{
	return device->iface.init_backend(device, parameters);
}

struct ggml_backend_buffer_type *fake_dev_buffer_type(struct ggml_backend_device *device)
{
	return device->iface.get_buffer_type(device);
}

struct ggml_backend_buffer_type *fake_dev_host_buffer_type(struct ggml_backend_device *device)
{
	return device->iface.get_host_buffer_type ? device->iface.get_host_buffer_type(device) : NULL;
}

bool fake_dev_supports_op(struct ggml_backend_device *device, const struct ggml_tensor *op)
{
	return device->iface.supports_op(device, op);
}

bool fake_dev_supports_buft(struct ggml_backend_device *device, struct ggml_backend_buffer_type *type)
{
	return device->iface.supports_buft(device, type);
}

bool fake_dev_offload_op(struct ggml_backend_device *device, const struct ggml_tensor *op)
{
	return device->iface.offload_op && device->iface.offload_op(device, op);
}

struct ggml_backend_device *fake_get_device(struct ggml_backend *backend)
{
	return backend->device;
}

const char *fake_backend_name(struct ggml_backend *backend)
{
	return backend->iface.get_name(backend);
}

void fake_backend_free(struct ggml_backend *backend)
{
	backend->iface.free(backend);
}

struct ggml_backend_buffer_type *fake_default_buffer_type(struct ggml_backend *backend)
{
	return fake_dev_buffer_type(backend->device);
}

void fake_synchronize(struct ggml_backend *backend)
{
	if (backend->iface.synchronize)
		backend->iface.synchronize(backend);
}

int fake_graph_compute(struct ggml_backend *backend, struct ggml_cgraph *graph)
{
	if (fake_fault == FAKE_CRASHES)
		abort();
	return (int)backend->iface.graph_compute(backend, graph);
}

/* ---- a CPU backend that computes attention, and nothing else, in its own time ---- */

__attribute__((visibility("default"))) struct ggml_backend *ggml_backend_init_by_type(int type, const char *parameters);

static void *cpu_get_proc_address(struct ggml_backend_reg *reg, const char *name)
{
	(void)reg, (void)name;
	return NULL;
}

static bool cpu_supports_op(struct ggml_backend_device *device, const struct ggml_tensor *op)
{
	(void)device, (void)op;
	return true;
}

static long spent_ns(void)
{
	struct timespec spent;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
	return spent.tv_sec * 1000000000L + spent.tv_nsec;
}

static enum ggml_status cpu_graph_compute(struct ggml_backend *backend, struct ggml_cgraph *graph)
{
	long end = spent_ns();

	(void)backend;
	for (int i = 0; i < graph->count; i++)
		end += fake_cpu_token_ns * (long)graph->node[i]->ne[1];
	for (int i = 0; i < graph->count; i++)
		if ((int)graph->node[i]->op == FAKE_FLASH_ATTN_EXT)
			fake_compute_attention(graph->node[i]);
	while (spent_ns() < end)
		;
	return GGML_STATUS_SUCCESS;
}

static void cpu_free(struct ggml_backend *backend)
{
	(void)backend;
}

struct ggml_backend *ggml_backend_init_by_type(int type, const char *parameters)
{
	static struct ggml_backend_reg reg = { .iface = { .get_proc_address = cpu_get_proc_address } };
	static struct ggml_backend_device device = { .iface = { .supports_op = cpu_supports_op }, .reg = &reg };
	static struct ggml_backend backend = { .iface = { .graph_compute = cpu_graph_compute, .free = cpu_free },
					       .device = &device };

	(void)parameters;
	return type == GGML_BACKEND_DEVICE_TYPE_CPU && fake_cpu_token_ns >= 0 ? &backend : NULL;
}
