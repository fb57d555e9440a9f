/* SPDX-License-Identifier: MIT
 *
 * What ggml and a backend hand each other, under ggml's own names.  With
 * TCB_GGML_NATIVE it is what the host's headers say.  Otherwise it is declared here
 * from the public interface, as one of the generations that its structs went
 * through:
 *
 *   1   0.9: interface version 2
 *   2   0.10 to 0.25, same number: tensors set and read in two dimensions
 *   3   0.26: interface version 3, buffer types that allocate several tensors at once
 *
 * Sources that include this are compiled once per generation; a function of theirs
 * that others call has the generation in its name.
 */
#ifndef TCB_GGML_INTERFACE_H
#define TCB_GGML_INTERFACE_H

#ifdef TCB_GGML_NATIVE

#include <ggml-backend-impl.h>
#include <ggml-backend.h>
#include <ggml.h>

#else

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef TCB_GGML_GENERATION
#define TCB_GGML_GENERATION 3
#endif

enum {
	GGML_BACKEND_API_VERSION = TCB_GGML_GENERATION < 3 ? 2 : 3,
	GGML_MAX_DIMS = 4,
	GGML_MAX_SRC = 10,
	GGML_MAX_OP_PARAMS = 64,
	GGML_MAX_NAME = 64
};
enum ggml_type { GGML_TYPE_F32 = 0, GGML_TYPE_I32 = 26 };
enum ggml_op { GGML_OP_NONE = 0 }; /* the others move: host.h tells them by name */
enum ggml_status { GGML_STATUS_FAILED = -1, GGML_STATUS_SUCCESS = 0 };
enum ggml_backend_dev_type { GGML_BACKEND_DEVICE_TYPE_CPU = 0, GGML_BACKEND_DEVICE_TYPE_ACCEL = 3 };
enum ggml_backend_buffer_usage { GGML_BACKEND_BUFFER_USAGE_ANY = 0, GGML_BACKEND_BUFFER_USAGE_WEIGHTS = 1 };

struct ggml_cgraph;
struct ggml_backend_buffer;
struct ggml_backend_buffer_type;
struct ggml_backend;
struct ggml_backend_device;
struct ggml_backend_reg;

struct ggml_tensor {
	enum ggml_type type; /* its number in a GGUF file */
	struct ggml_backend_buffer *buffer;
	int64_t ne[GGML_MAX_DIMS]; /* elements, the contiguous dimension first */
	size_t nb[GGML_MAX_DIMS];  /* bytes from one to the next */
	enum ggml_op op;
	int32_t op_params[GGML_MAX_OP_PARAMS / sizeof(int32_t)];
	int32_t flags;
	struct ggml_tensor *src[GGML_MAX_SRC];
	struct ggml_tensor *view_src;
	size_t view_offs;
	void *data;
	char name[GGML_MAX_NAME];
	void *extra; /* the backend's own */
	char padding[8];
};

struct ggml_backend_buffer_type_i {
	const char *(*get_name)(struct ggml_backend_buffer_type *buft);
	struct ggml_backend_buffer *(*alloc_buffer)(struct ggml_backend_buffer_type *buft, size_t size);
#if TCB_GGML_GENERATION >= 3
	void *alloc_buffer_n;
#endif
	size_t (*get_alignment)(struct ggml_backend_buffer_type *buft);
	size_t (*get_max_size)(struct ggml_backend_buffer_type *buft);
	size_t (*get_alloc_size)(struct ggml_backend_buffer_type *buft, const struct ggml_tensor *tensor);
#if TCB_GGML_GENERATION >= 3
	void *get_alloc_size_n;
#endif
	bool (*is_host)(struct ggml_backend_buffer_type *buft);
};

struct ggml_backend_buffer_type {
	struct ggml_backend_buffer_type_i iface;
	struct ggml_backend_device *device;
	void *context;
};

struct ggml_backend_buffer_i {
	void (*free_buffer)(struct ggml_backend_buffer *buffer);
	void *(*get_base)(struct ggml_backend_buffer *buffer);
	enum ggml_status (*init_tensor)(struct ggml_backend_buffer *buffer, struct ggml_tensor *tensor);
	void (*memset_tensor)(struct ggml_backend_buffer *buffer, struct ggml_tensor *tensor, uint8_t value,
			      size_t offset, size_t size);
	void (*set_tensor)(struct ggml_backend_buffer *buffer, struct ggml_tensor *tensor, const void *data,
			   size_t offset, size_t size);
	void (*get_tensor)(struct ggml_backend_buffer *buffer, const struct ggml_tensor *tensor, void *data,
			   size_t offset, size_t size);
#if TCB_GGML_GENERATION >= 2
	void *set_tensor_2d, *get_tensor_2d;
#endif
	bool (*cpy_tensor)(struct ggml_backend_buffer *buffer, const struct ggml_tensor *src, struct ggml_tensor *dst);
	void (*clear)(struct ggml_backend_buffer *buffer, uint8_t value);
	void (*reset)(struct ggml_backend_buffer *buffer);
};

struct ggml_backend_buffer {
	struct ggml_backend_buffer_i iface;
	struct ggml_backend_buffer_type *buft;
	void *context;
	size_t size;
	enum ggml_backend_buffer_usage usage;
};

struct ggml_backend_i {
	const char *(*get_name)(struct ggml_backend *backend);
	void (*free)(struct ggml_backend *backend);
	void *set_tensor_async, *get_tensor_async;
#if TCB_GGML_GENERATION >= 2
	void *set_tensor_2d_async, *get_tensor_2d_async;
#endif
	void *cpy_tensor_async;
	void (*synchronize)(struct ggml_backend *backend);
	void *graph_plan_create, *graph_plan_free, *graph_plan_update, *graph_plan_compute;
	enum ggml_status (*graph_compute)(struct ggml_backend *backend, struct ggml_cgraph *graph);
	void *event_record, *event_wait;
	void *graph_optimize;
};

struct ggml_backend {
	void *guid; /* 16 bytes */
	struct ggml_backend_i iface;
	struct ggml_backend_device *device;
	void *context;
};

struct ggml_backend_dev_caps {
	bool async, host_buffer, buffer_from_host_ptr, events;
	bool mmap_support; /* since 0.20; before, it is padding */
};

struct ggml_backend_dev_props {
	const char *name, *description;
	size_t memory_free, memory_total;
	enum ggml_backend_dev_type type;
	const char *device_id;
	struct ggml_backend_dev_caps caps;
};

struct ggml_backend_device_i {
	const char *(*get_name)(struct ggml_backend_device *device);
	const char *(*get_description)(struct ggml_backend_device *device);
	void (*get_memory)(struct ggml_backend_device *device, size_t *free, size_t *total);
	enum ggml_backend_dev_type (*get_type)(struct ggml_backend_device *device);
	void (*get_props)(struct ggml_backend_device *device, struct ggml_backend_dev_props *props);
	struct ggml_backend *(*init_backend)(struct ggml_backend_device *device, const char *parameters);
	struct ggml_backend_buffer_type *(*get_buffer_type)(struct ggml_backend_device *device);
	struct ggml_backend_buffer_type *(*get_host_buffer_type)(struct ggml_backend_device *device);
	struct ggml_backend_buffer *(*buffer_from_host_ptr)(struct ggml_backend_device *device, void *at, size_t size,
							    size_t max);
	bool (*supports_op)(struct ggml_backend_device *device, const struct ggml_tensor *op);
	bool (*supports_buft)(struct ggml_backend_device *device, struct ggml_backend_buffer_type *buft);
	bool (*offload_op)(struct ggml_backend_device *device, const struct ggml_tensor *op);
	void *event_new, *event_free, *event_synchronize;
};

struct ggml_backend_device {
	struct ggml_backend_device_i iface;
	struct ggml_backend_reg *reg;
	void *context;
};

struct ggml_backend_reg_i {
	const char *(*get_name)(struct ggml_backend_reg *reg);
	size_t (*get_device_count)(struct ggml_backend_reg *reg);
	struct ggml_backend_device *(*get_device)(struct ggml_backend_reg *reg, size_t index);
	void *(*get_proc_address)(struct ggml_backend_reg *reg, const char *name);
};

struct ggml_backend_reg {
	int api_version;
	struct ggml_backend_reg_i iface;
	void *context;
};

#endif

#endif
