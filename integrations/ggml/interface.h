/* SPDX-License-Identifier: MIT
 *
 * What ggml and a backend hand each other, as far as it is alike in every
 * version that the plug-in knows (host.c); what differs is in ggml_v2.c and
 * ggml_v3.c.  Declared from the public interface, so that no header of ggml is
 * needed.  Pointers that only ggml follows are void.
 */
#ifndef TCB_GGML_INTERFACE_H
#define TCB_GGML_INTERFACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GGML_DIMS = 4, GGML_SOURCES = 10, GGML_PARAMETERS = 16, GGML_NAME = 64 };
enum { GGML_TYPE_F32 = 0 };
enum { GGML_STATUS_FAILED = -1, GGML_STATUS_SUCCESS = 0 };
enum { GGML_DEVICE_ACCELERATOR = 3 };

struct ggml_buffer;
struct ggml_buffer_type; /* ggml_v2.c, ggml_v3.c */
struct ggml_device;
struct ggml_graph;
struct ggml_stream;
struct ggml_registry;

struct ggml_tensor {
	int type; /* its number in a GGUF file */
	struct ggml_buffer *buffer;
	int64_t ne[GGML_DIMS]; /* elements, the contiguous dimension first */
	size_t nb[GGML_DIMS];  /* bytes from one to the next */
	int op;
	int32_t parameters[GGML_PARAMETERS];
	int32_t flags;
	struct ggml_tensor *src[GGML_SOURCES];
	struct ggml_tensor *view_src;
	size_t view_offset;
	void *data;
	char name[GGML_NAME];
	void *extra; /* the backend's own */
	char padding[8];
};
_Static_assert(offsetof(struct ggml_tensor, data) == 248 && sizeof(struct ggml_tensor) == 336, "ggml's layout");

struct ggml_buffer_calls {
	void (*free_buffer)(struct ggml_buffer *buffer);
	void *(*get_base)(struct ggml_buffer *buffer);
	int (*init_tensor)(struct ggml_buffer *buffer, struct ggml_tensor *tensor);
	void (*memset_tensor)(struct ggml_buffer *buffer, struct ggml_tensor *tensor, uint8_t value, size_t offset,
			      size_t size);
	void (*set_tensor)(struct ggml_buffer *buffer, struct ggml_tensor *tensor, const void *data, size_t offset,
			   size_t size);
	void (*get_tensor)(struct ggml_buffer *buffer, const struct ggml_tensor *tensor, void *data, size_t offset,
			   size_t size);
	void (*set_tensor_2d)(struct ggml_buffer *buffer, struct ggml_tensor *tensor, const void *data, size_t offset,
			      size_t size, size_t copies, size_t stride_tensor, size_t stride_data);
	void (*get_tensor_2d)(struct ggml_buffer *buffer, const struct ggml_tensor *tensor, void *data, size_t offset,
			      size_t size, size_t copies, size_t stride_tensor, size_t stride_data);
	bool (*cpy_tensor)(struct ggml_buffer *buffer, const struct ggml_tensor *src, struct ggml_tensor *dst);
	void (*clear)(struct ggml_buffer *buffer, uint8_t value);
	void (*reset)(struct ggml_buffer *buffer);
};

struct ggml_buffer {
	struct ggml_buffer_calls calls;
	struct ggml_buffer_type *type;
	void *context;
	size_t size;
	int usage;
};

/* What ggml calls a backend: that which computes graphs. */
struct ggml_stream_calls {
	const char *(*get_name)(struct ggml_stream *stream);
	void (*free)(struct ggml_stream *stream);
	void *asynchronous[5]; /* setting, getting and copying tensors */
	void (*synchronize)(struct ggml_stream *stream);
	void *graph_plan[4];
	int (*graph_compute)(struct ggml_stream *stream, struct ggml_graph *graph);
	void *events[2];
	void *graph_optimize;
};

struct ggml_stream {
	void *guid; /* 16 bytes */
	struct ggml_stream_calls calls;
	struct ggml_device *device;
	void *context;
};

struct ggml_device_calls {
	const char *(*get_name)(struct ggml_device *device);
	const char *(*get_description)(struct ggml_device *device);
	void (*get_memory)(struct ggml_device *device, size_t *free, size_t *total);
	int (*get_type)(struct ggml_device *device);
	void (*get_properties)(struct ggml_device *device, void *properties);
	struct ggml_stream *(*init_backend)(struct ggml_device *device, const char *parameters);
	struct ggml_buffer_type *(*get_buffer_type)(struct ggml_device *device);
	struct ggml_buffer_type *(*get_host_buffer_type)(struct ggml_device *device);
	struct ggml_buffer *(*buffer_from_host_pointer)(struct ggml_device *device, void *at, size_t size, size_t max);
	bool (*supports_op)(struct ggml_device *device, const struct ggml_tensor *op);
	bool (*supports_buffer_type)(struct ggml_device *device, struct ggml_buffer_type *type);
	bool (*offload_op)(struct ggml_device *device, const struct ggml_tensor *op);
	void *events[3];
};

struct ggml_device {
	struct ggml_device_calls calls;
	struct ggml_registry *registry;
	void *context;
};

struct ggml_registry_calls {
	const char *(*get_name)(struct ggml_registry *registry);
	size_t (*get_device_count)(struct ggml_registry *registry);
	struct ggml_device *(*get_device)(struct ggml_registry *registry, size_t index);
	void *(*get_proc_address)(struct ggml_registry *registry, const char *name);
};

struct ggml_registry {
	int interface_version;
	struct ggml_registry_calls calls;
	void *context;
};

#endif
