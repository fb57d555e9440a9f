/* SPDX-License-Identifier: MIT
 *
 * What each interface version of ggml fills in its own way: the struct of a
 * buffer type, and a device's properties.
 */
#ifndef TCB_GGML_SHIM_H
#define TCB_GGML_SHIM_H

#include "interface.h"

/* The calls of a buffer type that the plug-in answers. */
struct ggml_type_calls {
	const char *(*get_name)(struct ggml_buffer_type *type);
	struct ggml_buffer *(*alloc_buffer)(struct ggml_buffer_type *type, size_t size);
	size_t (*get_alignment)(struct ggml_buffer_type *type);
	size_t (*get_alloc_size)(struct ggml_buffer_type *type, const struct ggml_tensor *tensor);
	bool (*is_host)(struct ggml_buffer_type *type);
};

struct ggml_shim {
	int interface_version;
	/* The one buffer type, of DEVICE. */
	struct ggml_buffer_type *(*make_buffer_type)(const struct ggml_type_calls *calls, struct ggml_device *device);
	void (*get_properties)(struct ggml_device *device, void *properties);
};

extern const struct ggml_shim ggml_shim_v2, ggml_shim_v3;

#endif
