/* SPDX-License-Identifier: MIT
 *
 * One generation of ggml's interface (interface.h), as the plug-in was compiled for
 * it: how its structs are laid out, the backend, and a test of that backend.
 */
#ifndef TCB_GGML_SHIM_H
#define TCB_GGML_SHIM_H

#include <stddef.h>

struct ggml_backend_reg;

/* What can be measured of a host without calling into structs that may be others (probe.h); 0: it could not be. */
struct ggml_layout {
	size_t interface_version; /* of the host's own backends */
	size_t tensor_overhead;   /* bytes of a tensor and its header in a context */
	size_t tensor_data, tensor_name;
	size_t buffer_type;   /* where a buffer says which type it is, behind its functions */
	size_t type_device;   /* where a buffer type says which device it is of, behind its functions */
	size_t stream_device; /* likewise of what computes */
	size_t device_reg;    /* where a device says whose it is */
	size_t properties;    /* bytes of a device's properties */
};
enum { GGML_LAYOUT_FACTS = sizeof(struct ggml_layout) / sizeof(size_t) };

/* What a self-test is doing, in memory that outlives the process that does it. */
struct ggml_test {
	const char *what; /* lent, in words: "its buffer type" */
	int has_passed;
};

struct ggml_shim {
	const char *name; /* "ggml 0.26" */
	struct ggml_layout layout;
	/* The registry, which lives as long as the plug-in. */
	struct ggml_backend_reg *(*init)(void);
	/* Drives what INIT gave by the host's own functions, a product included. */
	void (*self_test)(struct ggml_backend_reg *reg, struct ggml_test *test);
};

/* plugin.c and selftest.c, one of each generation. */
#define GGML_SHIM_JOIN(name, generation) name##_##generation
#define GGML_SHIM_NAME(name, generation) GGML_SHIM_JOIN(name, generation)
#define GGML_SHIM_OF(name) GGML_SHIM_NAME(name, TCB_GGML_SHIM)

#endif
