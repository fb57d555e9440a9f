/* SPDX-License-Identifier: MIT
 *
 * Interface version 3 of ggml, as in 0.26.0: buffer types that allocate several tensors
 * at once, devices that say whether files may be mapped.
 */
#include "shim.h"

struct ggml_buffer_type {
	const char *(*get_name)(struct ggml_buffer_type *type);
	struct ggml_buffer *(*alloc_buffer)(struct ggml_buffer_type *type, size_t size);
	void *alloc_buffer_n;
	size_t (*get_alignment)(struct ggml_buffer_type *type);
	size_t (*get_max_size)(struct ggml_buffer_type *type);
	size_t (*get_alloc_size)(struct ggml_buffer_type *type, const struct ggml_tensor *tensor);
	void *get_alloc_size_n;
	bool (*is_host)(struct ggml_buffer_type *type);
	struct ggml_device *device;
	void *context;
};

struct properties {
	const char *name, *description;
	size_t memory_free, memory_total;
	int type;
	const char *id;
	bool asynchronous, host_buffer, buffer_from_host_pointer, events;
	bool can_map_file;
};

static struct ggml_buffer_type *make_buffer_type(const struct ggml_type_calls *calls, struct ggml_device *device)
{
	static struct ggml_buffer_type type;

	type = (struct ggml_buffer_type){ .get_name = calls->get_name,
					  .alloc_buffer = calls->alloc_buffer,
					  .get_alignment = calls->get_alignment,
					  .get_alloc_size = calls->get_alloc_size,
					  .is_host = calls->is_host,
					  .device = device };
	return &type;
}

static void get_properties(struct ggml_device *device, void *properties)
{
	struct properties *out = properties;

	*out = (struct properties){ .name = device->calls.get_name(device),
				    .description = device->calls.get_description(device),
				    .type = device->calls.get_type(device),
				    .can_map_file = true };
}

const struct ggml_shim ggml_shim_v3 = { .interface_version = 3,
					.make_buffer_type = make_buffer_type,
					.get_properties = get_properties };
