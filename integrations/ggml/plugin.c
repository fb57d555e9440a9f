/* SPDX-License-Identifier: MIT
 *
 * The backend as ggml sees it: one device of type ACCEL whose buffer type takes
 * weights.  A graph's own tensors belong into the host's buffers, but ggml puts
 * outputs into the default buffer type of the backend's device; so backends
 * that compute say they are of a second device, which is not listed and whose
 * buffer type is the CPU's.
 */
#include "plugin.h"

#include <stdlib.h>
#include <string.h>

#include "activations.h"
#include "host.h"
#include "packed.h"
#include "products.h"

static struct ggml_buffer_type *weights_type;
static struct ggml_device listed, computing;
static struct ggml_registry registry;

/* ---- buffers ---- */

struct store {
	void *base;
	struct weights *first;
};

static void free_buffer(struct ggml_buffer *buffer)
{
	struct store *store = buffer->context;

	while (store->first) {
		struct weights *weights = store->first;

		store->first = weights->next;
		free(weights);
	}
	tcbrt_weights_free(store->base);
	free(store);
}

static void *get_base(struct ggml_buffer *buffer)
{
	return ((struct store *)buffer->context)->base;
}

static struct weights_kind *kind_of(const struct ggml_tensor *tensor)
{
	if (tensor->ne[2] != 1 || tensor->ne[3] != 1 || tensor->ne[0] < 1 || tensor->ne[1] < 1 || tensor->view_src)
		return NULL;
	return weights_kind(tensor->type, (size_t)tensor->ne[1], (size_t)tensor->ne[0]);
}

static int init_tensor(struct ggml_buffer *buffer, struct ggml_tensor *tensor)
{
	struct store *store = buffer->context;
	struct weights_kind *kind = kind_of(tensor);
	struct weights *weights;

	if (!kind)
		return GGML_STATUS_SUCCESS; /* a view, or a tensor that no product of ours reads */
	if (!(weights = calloc(1, sizeof(*weights))))
		return GGML_STATUS_FAILED;
	*weights = (struct weights){ .kind = kind, .packed = tensor->data, .next = store->first };
	tensor->extra = store->first = weights;
	return GGML_STATUS_SUCCESS;
}

static void refuse(const struct ggml_tensor *tensor, const char *what)
{
	counter_add(COUNTER_REFUSED, 1);
	ggml_host_warn("%s: %s", tensor->name, what);
}

/* The weights that TENSOR is or is a view of, and where it begins in them; NULL: its bytes are as they are. */
static struct weights *weights_of(const struct ggml_tensor *tensor, size_t *offset)
{
	*offset += tensor->view_src ? tensor->view_offset : 0;
	return tensor->view_src ? tensor->view_src->extra : tensor->extra;
}

static void set_tensor(struct ggml_buffer *buffer, struct ggml_tensor *tensor, const void *data, size_t offset,
		       size_t size)
{
	size_t begin = offset;
	struct weights *weights = weights_of(tensor, &begin);
	const unsigned long long began = counter_now_ns();

	(void)buffer;
	if (!weights) {
		memcpy((char *)tensor->data + offset, data, size);
		return;
	}
	weights_set(weights, data, begin, size);
	if (weights->refusal)
		refuse(tensor, weights->refusal);
	counter_add(COUNTER_PACKED, 1);
	counter_add(COUNTER_PACK_NS, counter_now_ns() - began);
}

static void memset_tensor(struct ggml_buffer *buffer, struct ggml_tensor *tensor, uint8_t value, size_t offset,
			  size_t size)
{
	uint8_t part[4096];

	memset(part, value, sizeof(part));
	for (size_t done = 0, step; done < size; done += step) {
		step = size - done < sizeof(part) ? size - done : sizeof(part);
		set_tensor(buffer, tensor, part, offset + done, step);
	}
}

static void get_tensor(struct ggml_buffer *buffer, const struct ggml_tensor *tensor, void *data, size_t offset,
		       size_t size)
{
	size_t begin = offset;
	const struct weights *weights = weights_of(tensor, &begin);

	(void)buffer;
	if (!weights)
		memcpy(data, (const char *)tensor->data + offset, size);
	else if (!weights_get(weights, data, begin, size))
		refuse(tensor, "there is no memory to unpack them: what is read is wrong");
	else
		counter_add(COUNTER_UNPACKED, 1);
}

static bool copy_tensor(struct ggml_buffer *buffer, const struct ggml_tensor *src, struct ggml_tensor *dst)
{
	(void)buffer, (void)src, (void)dst;
	return false; /* ggml sets it instead */
}

static void clear(struct ggml_buffer *buffer, uint8_t value)
{
	memset(get_base(buffer), value, buffer->size);
}

/* ---- the buffer type ---- */

static const char *type_name(struct ggml_buffer_type *type)
{
	(void)type;
	return "tcbtune";
}

static struct ggml_buffer *alloc_buffer(struct ggml_buffer_type *type, size_t size)
{
	static const struct ggml_buffer_calls calls = {
		.free_buffer = free_buffer,
		.get_base = get_base,
		.init_tensor = init_tensor,
		.memset_tensor = memset_tensor,
		.set_tensor = set_tensor,
		.get_tensor = get_tensor,
		.cpy_tensor = copy_tensor,
		.clear = clear,
	};
	struct store *store = calloc(1, sizeof(*store));
	struct ggml_buffer *buffer;

	/* In pages of 2 MiB: the README says how much of the gain they are. */
	if (!store || tcbrt_weights_alloc(size ? size : 1, &store->base, NULL, NULL) != TCBRT_OK) {
		free(store);
		return NULL;
	}
	if (!(buffer = ggml_host.buffer_init(type, calls, store, size))) {
		tcbrt_weights_free(store->base);
		free(store);
	}
	return buffer;
}

static size_t get_alignment(struct ggml_buffer_type *type)
{
	(void)type;
	return TCBRT_ALIGNMENT;
}

static size_t get_alloc_size(struct ggml_buffer_type *type, const struct ggml_tensor *tensor)
{
	const struct weights_kind *kind = kind_of(tensor);

	(void)type;
	return kind ? weights_bytes(kind) : ggml_host.nbytes(tensor);
}

static bool is_host(struct ggml_buffer_type *type)
{
	(void)type;
	return false;
}

/* ---- computing ---- */

static bool is_product_of_ours(const struct ggml_tensor *op)
{
	const struct ggml_tensor *weights = op->src[0], *x = op->src[1];

	return weights && x && weights->buffer && weights->buffer->type == weights_type && kind_of(weights) &&
	       activations_have_rows(x) && activations_are_dense(op) && x->ne[0] == weights->ne[0] &&
	       op->ne[0] == weights->ne[1] && activations_rows(x) > 0;
}

static bool supports_op(struct ggml_device *device, const struct ggml_tensor *op)
{
	(void)device;
	switch (ggml_host_op(op->op)) {
	case HOST_OP_NOTHING:
		return true;
	case HOST_OP_PRODUCT:
		return is_product_of_ours(op);
	default:
		return false;
	}
}

static int graph_compute(struct ggml_stream *stream, struct ggml_graph *graph)
{
	struct computer *computer = stream->context;
	const int nodes = ggml_host.graph_nodes(graph);
	int is_sound = 1;

	for (int i = 0; i < nodes && is_sound; i++) {
		struct ggml_tensor *node = ggml_host.graph_node(graph, i);

		if (ggml_host_op(node->op) == HOST_OP_NOTHING)
			continue;
		is_sound = supports_op(&computing, node) && node->src[0]->extra &&
			   computer_add(computer, node->src[0]->extra, node->src[1], node->data);
	}
	if (!is_sound) {
		computer->count = 0;
		return GGML_STATUS_FAILED;
	}
	return computer_run(computer) ? GGML_STATUS_SUCCESS : GGML_STATUS_FAILED;
}

static const char *stream_name(struct ggml_stream *stream)
{
	(void)stream;
	return "tcbtune";
}

static void free_stream(struct ggml_stream *stream)
{
	computer_destroy(stream->context);
	free(stream);
}

static struct ggml_stream *init_backend(struct ggml_device *device, const char *parameters)
{
	static char guid[16] = "tcbtune for ggml";
	struct ggml_stream *stream = calloc(1, sizeof(*stream));

	(void)device, (void)parameters;
	if (!stream)
		return NULL;
	*stream = (struct ggml_stream){
		.guid = guid,
		.calls = { .get_name = stream_name, .free = free_stream, .graph_compute = graph_compute },
		.device = &computing,
		.context = computer_create(),
	};
	if (!stream->context) {
		free(stream);
		return NULL;
	}
	return stream;
}

static void set_threads(struct ggml_stream *stream, int threads)
{
	struct computer *computer = stream->context;

	computer->threads = threads > 1 ? (unsigned)threads : 1;
}

/* ---- devices ---- */

static const char *device_name(struct ggml_device *device)
{
	(void)device;
	return "tcbtune";
}

static const char *device_description(struct ggml_device *device)
{
	(void)device;
	return "CPU kernels that tcbtune tunes";
}

static void get_memory(struct ggml_device *device, size_t *available, size_t *total)
{
	(void)device;
	*available = *total = 0; /* the host's own */
}

static int device_type(struct ggml_device *device)
{
	(void)device;
	return GGML_DEVICE_ACCELERATOR;
}

static struct ggml_buffer_type *get_buffer_type(struct ggml_device *device)
{
	return device == &listed ? weights_type : ggml_host.cpu_buffer_type();
}

static bool supports_buffer_type(struct ggml_device *device, struct ggml_buffer_type *type)
{
	(void)device;
	return type == weights_type || ggml_host.type_is_host(type);
}

/* ---- the registry ---- */

static const char *registry_name(struct ggml_registry *self)
{
	(void)self;
	return "tcbtune";
}

static size_t device_count(struct ggml_registry *self)
{
	(void)self;
	return 1;
}

static struct ggml_device *get_device(struct ggml_registry *self, size_t index)
{
	(void)self;
	return index == 0 ? &listed : NULL;
}

static void *get_proc_address(struct ggml_registry *self, const char *name)
{
	void (*function)(struct ggml_stream *, int) = set_threads;
	void *address = NULL;

	(void)self;
	if (strcmp(name, "ggml_backend_set_n_threads") == 0)
		memcpy(&address, &function, sizeof(address));
	return address;
}

static void fill(void)
{
	static const struct ggml_type_calls type_calls = { .get_name = type_name,
							   .alloc_buffer = alloc_buffer,
							   .get_alignment = get_alignment,
							   .get_alloc_size = get_alloc_size,
							   .is_host = is_host };

	registry = (struct ggml_registry){
		.interface_version = ggml_host.shim->interface_version,
		.calls = { registry_name, device_count, get_device, get_proc_address },
	};
	listed = (struct ggml_device){
		.calls = { .get_name = device_name,
			   .get_description = device_description,
			   .get_memory = get_memory,
			   .get_type = device_type,
			   .get_properties = ggml_host.shim->get_properties,
			   .init_backend = init_backend,
			   .get_buffer_type = get_buffer_type,
			   .supports_op = supports_op,
			   .supports_buffer_type = supports_buffer_type },
		.registry = &registry,
	};
	computing = listed;
	weights_type = ggml_host.shim->make_buffer_type(&type_calls, &listed);
}

int ggml_backend_score(void)
{
	return ggml_host_find(__builtin_return_address(0));
}

struct ggml_registry *ggml_backend_init(void)
{
	if (!ggml_host_find(__builtin_return_address(0)))
		return NULL;
	if (weights_type)
		return &registry;
	if (!weights_open()) {
		ggml_host_warn("not used: out of memory");
		return NULL;
	}
	fill();
	ggml_host_say("in ggml %s, for weights of %s; threads: %s; %s", ggml_host.version, weights_formats(),
		      ggml_host.parallel ? "the host's, of its OpenMP runtime" : "as many as the host's, its own",
		      weights_has_database() ? "tuned by a database" : "no tuning database, default geometries");
	return &registry;
}
