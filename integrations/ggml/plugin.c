/* SPDX-License-Identifier: MIT
 *
 * The backend as ggml sees it, for one generation of its interface: one device of
 * type ACCEL whose buffer type takes weights.  A graph's own tensors belong into the
 * host's buffers, but ggml puts outputs into the default buffer type of the backend's
 * device; so backends that compute say they are of a second device, which is not
 * listed and whose buffer type is the CPU's.
 */
#include "interface.h"

#include <stdlib.h>
#include <string.h>

#include "activations.h"
#include "host.h"
#include "host_attention.h"
#include "packed.h"
#include "products.h"
#include "shim.h"

/* Of a node's flags, since 0.9.6: it is to be computed.  Of the branches of a graph the host marks the one that it
 * wants; what the others read may not be there. */
enum { FLAG_COMPUTE = 16 };
static int are_nodes_marked;

static struct ggml_backend_buffer_type weights_type;
static struct ggml_backend_device listed, computing;
static struct ggml_backend_reg registry;

/* ---- buffers ---- */

struct store {
	void *base;
	struct weights *first;
};

static void free_buffer(struct ggml_backend_buffer *buffer)
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

static void *get_base(struct ggml_backend_buffer *buffer)
{
	return ((struct store *)buffer->context)->base;
}

static struct weights_kind *kind_of(const struct ggml_tensor *tensor)
{
	if (tensor->ne[3] != 1 || tensor->ne[2] < 1 || tensor->ne[1] < 1 || tensor->ne[0] < 1 || tensor->view_src)
		return NULL;
	return weights_kind((int)tensor->type, (size_t)tensor->ne[2], (size_t)tensor->ne[1], (size_t)tensor->ne[0]);
}

static enum ggml_status init_tensor(struct ggml_backend_buffer *buffer, struct ggml_tensor *tensor)
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
	*offset += tensor->view_src ? tensor->view_offs : 0;
	return tensor->view_src ? tensor->view_src->extra : tensor->extra;
}

static void set_tensor(struct ggml_backend_buffer *buffer, struct ggml_tensor *tensor, const void *data, size_t offset,
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

static void memset_tensor(struct ggml_backend_buffer *buffer, struct ggml_tensor *tensor, uint8_t value, size_t offset,
			  size_t size)
{
	uint8_t part[4096];

	memset(part, value, sizeof(part));
	for (size_t done = 0, step; done < size; done += step) {
		step = size - done < sizeof(part) ? size - done : sizeof(part);
		set_tensor(buffer, tensor, part, offset + done, step);
	}
}

static void get_tensor(struct ggml_backend_buffer *buffer, const struct ggml_tensor *tensor, void *data, size_t offset,
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

static bool copy_tensor(struct ggml_backend_buffer *buffer, const struct ggml_tensor *src, struct ggml_tensor *dst)
{
	(void)buffer, (void)src, (void)dst;
	return false; /* ggml sets it instead */
}

static void clear(struct ggml_backend_buffer *buffer, uint8_t value)
{
	memset(get_base(buffer), value, buffer->size);
}

/* ---- the buffer type ---- */

static const char *type_name(struct ggml_backend_buffer_type *type)
{
	(void)type;
	return "tcbtune";
}

static struct ggml_backend_buffer *alloc_buffer(struct ggml_backend_buffer_type *type, size_t size)
{
	typedef struct ggml_backend_buffer *buffer_init_fn(struct ggml_backend_buffer_type *,
							   struct ggml_backend_buffer_i, void *, size_t);
	static const struct ggml_backend_buffer_i calls = {
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
	struct ggml_backend_buffer *buffer;

	/* In pages of 2 MiB: the README says how much of the gain they are. */
	if (!store || tcbrt_weights_alloc(size ? size : 1, &store->base, NULL, NULL) != TCBRT_OK) {
		free(store);
		return NULL;
	}
	if (!(buffer = ((buffer_init_fn *)ggml_host.buffer_init)(type, calls, store, size))) {
		tcbrt_weights_free(store->base);
		free(store);
	}
	return buffer;
}

static size_t get_alignment(struct ggml_backend_buffer_type *type)
{
	(void)type;
	return TCBRT_ALIGNMENT;
}

static size_t get_alloc_size(struct ggml_backend_buffer_type *type, const struct ggml_tensor *tensor)
{
	const struct weights_kind *kind = kind_of(tensor);

	(void)type;
	return kind ? weights_bytes(kind) : ggml_host.nbytes(tensor);
}

static bool is_host(struct ggml_backend_buffer_type *type)
{
	(void)type;
	return false;
}

/* ---- computing ---- */

static struct activations activations_of(const struct ggml_tensor *tensor)
{
	struct activations out = { .is_f32 = tensor->type == GGML_TYPE_F32, .data = tensor->data };

	for (int i = 0; i < GGML_MAX_DIMS; i++) {
		out.count[i] = (size_t)tensor->ne[i];
		out.stride[i] = tensor->nb[i];
	}
	return out;
}

/* Weights in our buffer, packed or to be. */
static bool is_ours(const struct ggml_tensor *weights)
{
	return weights && weights->buffer && weights->buffer->buft == &weights_type && kind_of(weights);
}

static bool takes_product(const struct ggml_tensor *op)
{
	const struct ggml_tensor *weights = op->src[0];
	struct activations x, y;

	if (!is_ours(weights) || !op->src[1])
		return false;
	x = activations_of(op->src[1]);
	y = activations_of(op);
	return weights->ne[2] == 1 && activations_have_rows(&x) && activations_are_dense(&y) &&
	       op->src[1]->ne[0] == weights->ne[0] && op->ne[0] == weights->ne[1] && activations_rows(&x) > 0;
}

static bool takes_experts(const struct ggml_tensor *op)
{
	const struct ggml_tensor *weights = op->src[0], *rows = op->src[1], *ids = op->src[2];
	struct activations x, y;

	if (!is_ours(weights) || !rows || !ids)
		return false;
	x = activations_of(rows);
	y = activations_of(op);
	return weights->ne[2] > 1 && activations_have_rows(&x) && activations_are_dense(&y) &&
	       rows->ne[0] == weights->ne[0] && op->ne[0] == weights->ne[1] && rows->ne[3] == 1 &&
	       ids->type == GGML_TYPE_I32 && ids->nb[0] == sizeof(int32_t) && ids->ne[0] >= 1 && ids->ne[1] >= 1 &&
	       ids->ne[2] == 1 && ids->ne[3] == 1 && rows->ne[2] == ids->ne[1] &&
	       (rows->ne[1] == 1 || rows->ne[1] == ids->ne[0]);
}

/* Of a table that is packed already: where it is not decided yet where to put one, the host's own buffer is as good. */
static bool takes_rows(const struct ggml_tensor *op)
{
	const struct ggml_tensor *table = op->src[0], *ids = op->src[1];
	struct activations out;

	if (!table || !table->extra || !ids || !is_ours(table))
		return false;
	out = activations_of(op);
	return table->ne[2] == 1 && activations_are_dense(&out) && op->ne[0] == table->ne[0] &&
	       ids->type == GGML_TYPE_I32 && ids->nb[0] == sizeof(int32_t) && ids->ne[1] == 1 && ids->ne[2] == 1 &&
	       ids->ne[3] == 1;
}

/* The bytes of HEAD values of K and V; 0: they are not beside each other. */
static size_t row_of(const struct ggml_tensor *tensor)
{
	const size_t block = ggml_host.type_size((int)tensor->type);
	const int64_t values = ggml_host.blck_size((int)tensor->type);

	return tensor->nb[0] == block && tensor->ne[0] % values == 0 ? (size_t)(tensor->ne[0] / values) * block : 0;
}

/* K or V: rows of all heads, side by side, in memory of the host. */
static bool is_cache(const struct ggml_tensor *tensor, const struct attention *of)
{
	const struct ggml_tensor *at = tensor->view_src ? tensor->view_src : tensor;

	return tensor->ne[0] == (int64_t)of->head && tensor->ne[1] == (int64_t)of->cells &&
	       tensor->ne[2] == (int64_t)of->kv_heads && tensor->ne[3] == (int64_t)of->sequences &&
	       row_of(tensor) * of->kv_heads == of->row && tensor->nb[1] == of->row &&
	       (of->kv_heads == 1 || tensor->nb[2] == row_of(tensor)) &&
	       (!at->buffer || ggml_host.buft_is_host(at->buffer->buft));
}

/* Cells that what K is a view of has for each sequence. */
static size_t cells_of_cache(const struct ggml_tensor *k, const struct attention *of)
{
	const struct ggml_tensor *cache = k->view_src;
	const int64_t values = (int64_t)(of->head * of->kv_heads);

	if (!cache)
		return of->cells;
	return cache->ne[0] == values ? (size_t)cache->ne[1] : ggml_host.nbytes(cache) / of->row;
}

static bool has_mask(const struct ggml_tensor *mask, const struct attention *of)
{
	const char *type = attention_kv(ggml_host.type_name((int)mask->type));

	return type && strcmp(type, "f16") == 0 && mask->nb[0] == sizeof(uint16_t) &&
	       mask->ne[0] == (int64_t)of->cells && mask->ne[1] >= (int64_t)of->tokens && mask->ne[2] == 1 &&
	       (mask->ne[3] == 1 || mask->ne[3] == (int64_t)of->sequences);
}

/* Parameters are scale, the largest bias of heads and the cap.  False: the library has no words for it. */
static bool attention_of(const struct ggml_tensor *op, struct attention *out)
{
	enum { SCALE, BIAS, CAP, PARAMETERS };
	const struct ggml_tensor *q = op->src[0], *k = op->src[1], *v = op->src[2], *mask = op->src[3];
	struct activations y = activations_of(op);
	float parameter[PARAMETERS];

	if (!q || !k || !v || op->src[4] || !activations_are_dense(&y) || k->ne[2] < 1 || q->ne[2] % k->ne[2])
		return false;
	memcpy(parameter, op->op_params, sizeof(parameter));
	*out = (struct attention){ .kv = attention_kv(ggml_host.type_name((int)k->type)),
				   .head = (size_t)q->ne[0],
				   .heads = (size_t)q->ne[2],
				   .kv_heads = (size_t)k->ne[2],
				   .tokens = (size_t)q->ne[1],
				   .cells = (size_t)k->ne[1],
				   .sequences = (size_t)q->ne[3],
				   .scale = parameter[SCALE],
				   .cap = parameter[CAP],
				   .q = activations_of(q),
				   .k = k->data,
				   .v = v->data,
				   .row = (size_t)k->nb[1],
				   .k_sequence = k->nb[3],
				   .v_sequence = v->nb[3],
				   .out = op->data };
	/* In the order of the result. */
	for (int i = 1; i <= 2; i++) {
		out->q.count[i] = (size_t)q->ne[3 - i];
		out->q.stride[i] = q->nb[3 - i];
	}
	if (mask) {
		out->mask = mask->data;
		out->mask_row = mask->nb[1];
		out->mask_sequence = mask->ne[3] > 1 ? mask->nb[3] : 0;
	}
	if (!out->kv || out->row == 0 || !is_cache(k, out) || !is_cache(v, out))
		return false;
	out->is_whole = cells_of_cache(k, out) <= out->cells;
	return k->type == v->type && parameter[BIAS] == 0 && activations_have_rows(&out->q) && out->tokens > 0 &&
	       out->cells > 0 && (!mask || has_mask(mask, out));
}

static bool takes_attention(const struct ggml_tensor *op)
{
	struct attention attention;

	return attention_of(op, &attention) && attention_is_taken(&attention);
}

static bool supports_op(struct ggml_backend_device *device, const struct ggml_tensor *op)
{
	(void)device;
	switch (ggml_host_op((int)op->op)) {
	case HOST_OP_NOTHING:
		return true;
	case HOST_OP_PRODUCT:
		return takes_product(op);
	case HOST_OP_EXPERTS:
		return takes_experts(op);
	case HOST_OP_ROWS:
		return takes_rows(op);
	case HOST_OP_ATTENTION:
		return takes_attention(op);
	default:
		return false;
	}
}

static int add_attention(struct computer *computer, struct ggml_tensor *node)
{
	struct attention_run runs[ATTENTION_RUNS_MAX];
	struct attention attention;
	size_t count;

	if (!attention_of(node, &attention))
		return 0;
	count = attention_runs(&attention, runs);
	return count ? computer_add_attention(computer, &attention, runs, count) : computer_leave(computer, node);
}

/* To what is computed next; rows are read at once. */
static int add_node(struct computer *computer, struct ggml_tensor *node)
{
	if (ggml_host_op((int)node->op) == HOST_OP_ATTENTION)
		return add_attention(computer, node);
	if (!node->src[0]->extra)
		return 0;

	const struct weights *weights = node->src[0]->extra;
	const struct ggml_tensor *second = node->src[1], *third = node->src[2];
	const struct activations x = activations_of(second);

	switch (ggml_host_op((int)node->op)) {
	case HOST_OP_EXPERTS:
		return computer_add_experts(computer, weights, &x,
					    &(struct routing){ .used = (size_t)third->ne[0],
							       .tokens = (size_t)third->ne[1],
							       .stride = third->nb[1],
							       .data = third->data },
					    node->data);
	case HOST_OP_ROWS:
		return computer_read_rows(computer, weights, second->data, (size_t)second->ne[0], (size_t)node->ne[0],
					  node->data);
	default:
		return computer_add(computer, weights, &x, node->data);
	}
}

static enum ggml_status graph_compute(struct ggml_backend *stream, struct ggml_cgraph *graph)
{
	struct computer *computer = stream->context;
	const int nodes = ggml_host.graph_n_nodes(graph);
	int is_sound = 1;

	for (int i = 0; i < nodes && is_sound; i++) {
		struct ggml_tensor *node = ggml_host.graph_node(graph, i);

		if (ggml_host_op((int)node->op) == HOST_OP_NOTHING ||
		    (are_nodes_marked && !(node->flags & FLAG_COMPUTE)))
			continue;
		is_sound = supports_op(&computing, node) && add_node(computer, node);
	}
	if (!is_sound) {
		computer_drop(computer);
		return GGML_STATUS_FAILED;
	}
	return computer_run(computer) ? GGML_STATUS_SUCCESS : GGML_STATUS_FAILED;
}

static const char *stream_name(struct ggml_backend *stream)
{
	(void)stream;
	return "tcbtune";
}

static void free_stream(struct ggml_backend *stream)
{
	computer_destroy(stream->context);
	free(stream);
}

static struct ggml_backend *init_backend(struct ggml_backend_device *device, const char *parameters)
{
	static uint8_t guid[16] = "tcbtune for ggml";
	struct ggml_backend *stream = calloc(1, sizeof(*stream));

	(void)device, (void)parameters;
	if (!stream)
		return NULL;
	*stream = (struct ggml_backend){
		.guid = &guid,
		.iface = { .get_name = stream_name, .free = free_stream, .graph_compute = graph_compute },
		.device = &computing,
		.context = computer_create(),
	};
	if (!stream->context) {
		free(stream);
		return NULL;
	}
	return stream;
}

static void set_threads(struct ggml_backend *stream, int threads)
{
	struct computer *computer = stream->context;

	computer->threads = threads > 1 ? (unsigned)threads : 1;
}

/* ---- devices ---- */

static const char *device_name(struct ggml_backend_device *device)
{
	(void)device;
	return "tcbtune";
}

static const char *device_description(struct ggml_backend_device *device)
{
	(void)device;
	return "CPU kernels that tcbtune tunes";
}

static void get_memory(struct ggml_backend_device *device, size_t *available, size_t *total)
{
	(void)device;
	*available = *total = 0; /* the host's own */
}

static enum ggml_backend_dev_type device_type(struct ggml_backend_device *device)
{
	(void)device;
	return GGML_BACKEND_DEVICE_TYPE_ACCEL;
}

static void get_properties(struct ggml_backend_device *device, struct ggml_backend_dev_props *properties)
{
	*properties = (struct ggml_backend_dev_props){
		.name = device_name(device),
		.description = device_description(device),
		.type = device_type(device),
#ifdef TCB_GGML_HAS_MMAP_SUPPORT
		.caps = { .mmap_support = true },
#endif
	};
}

static struct ggml_backend_buffer_type *get_buffer_type(struct ggml_backend_device *device)
{
	return device == &listed ? &weights_type : ggml_host.cpu_buffer_type();
}

static bool supports_buffer_type(struct ggml_backend_device *device, struct ggml_backend_buffer_type *type)
{
	(void)device;
	return type == &weights_type || ggml_host.buft_is_host(type);
}

/* ---- the registry ---- */

static const char *registry_name(struct ggml_backend_reg *self)
{
	(void)self;
	return "tcbtune";
}

static size_t device_count(struct ggml_backend_reg *self)
{
	(void)self;
	return 1;
}

static struct ggml_backend_device *get_device(struct ggml_backend_reg *self, size_t index)
{
	(void)self;
	return index == 0 ? &listed : NULL;
}

static void *get_proc_address(struct ggml_backend_reg *self, const char *name)
{
	void (*function)(struct ggml_backend *, int) = set_threads;
	void *address = NULL;

	(void)self;
	if (strcmp(name, "ggml_backend_set_n_threads") == 0)
		memcpy(&address, &function, sizeof(address));
	return address;
}

/* Does the host mark what a graph is made for? */
static int marks_nodes(void)
{
	enum { SIZE = 32 };
	struct ggml_context *context = ggml_host_new_context();
	struct ggml_tensor *x = ggml_host.new_tensor_2d(context, (int)GGML_TYPE_F32, SIZE, SIZE);
	struct ggml_tensor *y = ggml_host.mul_mat(context, x, x);
	int is_marked;

	ggml_host.build_forward_expand(ggml_host.new_graph(context), y);
	is_marked = (y->flags & FLAG_COMPUTE) != 0;
	ggml_host.free(context);
	return is_marked;
}

static struct ggml_backend_reg *init(void)
{
	are_nodes_marked = marks_nodes();
	registry = (struct ggml_backend_reg){
		.api_version = GGML_BACKEND_API_VERSION,
		.iface = { registry_name, device_count, get_device, get_proc_address },
	};
	listed = (struct ggml_backend_device){
		.iface = { .get_name = device_name,
			   .get_description = device_description,
			   .get_memory = get_memory,
			   .get_type = device_type,
			   .get_props = get_properties,
			   .init_backend = init_backend,
			   .get_buffer_type = get_buffer_type,
			   .supports_op = supports_op,
			   .supports_buft = supports_buffer_type },
		.reg = &registry,
	};
	computing = listed;
	weights_type = (struct ggml_backend_buffer_type){
		.iface = { .get_name = type_name,
			   .alloc_buffer = alloc_buffer,
			   .get_alignment = get_alignment,
			   .get_alloc_size = get_alloc_size,
			   .is_host = is_host },
		.device = &listed,
	};
	return &registry;
}

/* A tensor's header in a context has four words. */
enum { OBJECT_BYTES = 32 };

extern const struct ggml_shim GGML_SHIM_OF(ggml_shim);
void GGML_SHIM_OF(ggml_self_test)(struct ggml_backend_reg *reg, struct ggml_test *test);

const struct ggml_shim GGML_SHIM_OF(ggml_shim) = {
	.name = TCB_GGML_SHIM_NAME,
	.layout = { .interface_version = GGML_BACKEND_API_VERSION,
		    .tensor_overhead = OBJECT_BYTES + sizeof(struct ggml_tensor),
		    .tensor_data = offsetof(struct ggml_tensor, data),
		    .tensor_name = offsetof(struct ggml_tensor, name),
		    .buffer_type = offsetof(struct ggml_backend_buffer, buft),
		    .type_device = offsetof(struct ggml_backend_buffer_type, device),
		    .stream_device = offsetof(struct ggml_backend, device),
		    .device_reg = offsetof(struct ggml_backend_device, reg),
		    .properties = sizeof(struct ggml_backend_dev_props) },
	.init = init,
	.self_test = GGML_SHIM_OF(ggml_self_test),
};
