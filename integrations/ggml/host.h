/* SPDX-License-Identifier: MIT
 *
 * The program that loaded the plug-in: which ggml it has, and the functions of
 * ggml and of its OpenMP runtime that are called.
 */
#ifndef TCB_GGML_HOST_H
#define TCB_GGML_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggml_backend;
struct ggml_backend_buffer;
struct ggml_backend_buffer_type;
struct ggml_backend_device;
struct ggml_backend_reg;
struct ggml_cgraph;
struct ggml_context;
struct ggml_tensor;

enum host_op { HOST_OP_OTHER, HOST_OP_PRODUCT, HOST_OP_EXPERTS, HOST_OP_ROWS, HOST_OP_ATTENTION, HOST_OP_NOTHING };

/* What ggml_init takes, by value. */
struct ggml_host_context {
	size_t bytes;
	void *memory;
	bool no_alloc;
};

typedef void ggml_host_fn(void);

/*
 * X(member, result, parameters, name): ggml's functions.  Enums are ints to them all.  One that takes a struct which
 * generations have in their own ways is a ggml_host_fn: who calls it knows what it is.
 */
#define GGML_HOST_FUNCTIONS(X)                                                                                         \
	X(op_name, const char *, (int), "ggml_op_name")                                                                \
	X(nbytes, size_t, (const struct ggml_tensor *), "ggml_nbytes")                                                 \
	X(type_name, const char *, (int), "ggml_type_name")                                                            \
	X(type_size, size_t, (int), "ggml_type_size")                                                                  \
	X(blck_size, int64_t, (int), "ggml_blck_size")                                                                 \
	X(buffer_init, void, (void), "ggml_backend_buffer_init")                                                       \
	X(buft_is_host, bool, (struct ggml_backend_buffer_type *), "ggml_backend_buft_is_host")                        \
	X(cpu_buffer_type, struct ggml_backend_buffer_type *, (void), "ggml_backend_cpu_buffer_type")                  \
	X(graph_n_nodes, int, (struct ggml_cgraph *), "ggml_graph_n_nodes")                                            \
	X(graph_node, struct ggml_tensor *, (struct ggml_cgraph *, int), "ggml_graph_node")                            \
	/* What layouts are measured with. */                                                                          \
	X(tensor_overhead, size_t, (void), "ggml_tensor_overhead")                                                     \
	X(get_data, void *, (const struct ggml_tensor *), "ggml_get_data")                                             \
	X(get_name, const char *, (const struct ggml_tensor *), "ggml_get_name")                                       \
	X(buft_get_device, struct ggml_backend_device *, (struct ggml_backend_buffer_type *),                          \
	  "ggml_backend_buft_get_device")                                                                              \
	X(get_device, struct ggml_backend_device *, (struct ggml_backend *), "ggml_backend_get_device")                \
	X(dev_backend_reg, struct ggml_backend_reg *, (struct ggml_backend_device *), "ggml_backend_dev_backend_reg")  \
	X(dev_get_props, void, (struct ggml_backend_device *, void *), "ggml_backend_dev_get_props")                   \
	/* What the self-test drives. */                                                                               \
	X(init, struct ggml_context *, (struct ggml_host_context), "ggml_init")                                        \
	X(free, void, (struct ggml_context *), "ggml_free")                                                            \
	X(new_tensor_2d, struct ggml_tensor *, (struct ggml_context *, int, int64_t, int64_t), "ggml_new_tensor_2d")   \
	X(mul_mat, struct ggml_tensor *, (struct ggml_context *, struct ggml_tensor *, struct ggml_tensor *),          \
	  "ggml_mul_mat")                                                                                              \
	X(new_graph, struct ggml_cgraph *, (struct ggml_context *), "ggml_new_graph")                                  \
	X(build_forward_expand, void, (struct ggml_cgraph *, struct ggml_tensor *), "ggml_build_forward_expand")       \
	X(alloc_ctx_tensors, struct ggml_backend_buffer *, (struct ggml_context *, struct ggml_backend_buffer_type *), \
	  "ggml_backend_alloc_ctx_tensors_from_buft")                                                                  \
	X(tensor_set, void, (struct ggml_tensor *, const void *, size_t, size_t), "ggml_backend_tensor_set")           \
	X(tensor_get, void, (const struct ggml_tensor *, void *, size_t, size_t), "ggml_backend_tensor_get")           \
	X(tensor_memset, void, (struct ggml_tensor *, uint8_t, size_t, size_t), "ggml_backend_tensor_memset")          \
	X(tensor_copy, void, (struct ggml_tensor *, struct ggml_tensor *), "ggml_backend_tensor_copy")                 \
	X(buffer_free, void, (struct ggml_backend_buffer *), "ggml_backend_buffer_free")                               \
	X(buffer_get_size, size_t, (struct ggml_backend_buffer *), "ggml_backend_buffer_get_size")                     \
	X(buffer_clear, void, (struct ggml_backend_buffer *, uint8_t), "ggml_backend_buffer_clear")                    \
	X(buffer_reset, void, (struct ggml_backend_buffer *), "ggml_backend_buffer_reset")                             \
	X(buffer_set_usage, void, (struct ggml_backend_buffer *, int), "ggml_backend_buffer_set_usage")                \
	X(buft_name, const char *, (struct ggml_backend_buffer_type *), "ggml_backend_buft_name")                      \
	X(buft_get_alignment, size_t, (struct ggml_backend_buffer_type *), "ggml_backend_buft_get_alignment")          \
	X(buft_get_max_size, size_t, (struct ggml_backend_buffer_type *), "ggml_backend_buft_get_max_size")            \
	X(reg_name, const char *, (struct ggml_backend_reg *), "ggml_backend_reg_name")                                \
	X(reg_dev_count, size_t, (struct ggml_backend_reg *), "ggml_backend_reg_dev_count")                            \
	X(reg_dev_get, struct ggml_backend_device *, (struct ggml_backend_reg *, size_t), "ggml_backend_reg_dev_get")  \
	X(reg_get_proc_address, void *, (struct ggml_backend_reg *, const char *),                                     \
	  "ggml_backend_reg_get_proc_address")                                                                         \
	X(dev_name, const char *, (struct ggml_backend_device *), "ggml_backend_dev_name")                             \
	X(dev_description, const char *, (struct ggml_backend_device *), "ggml_backend_dev_description")               \
	X(dev_memory, void, (struct ggml_backend_device *, size_t *, size_t *), "ggml_backend_dev_memory")             \
	X(dev_type, int, (struct ggml_backend_device *), "ggml_backend_dev_type")                                      \
	X(dev_init, struct ggml_backend *, (struct ggml_backend_device *, const char *), "ggml_backend_dev_init")      \
	X(dev_buffer_type, struct ggml_backend_buffer_type *, (struct ggml_backend_device *),                          \
	  "ggml_backend_dev_buffer_type")                                                                              \
	X(dev_host_buffer_type, struct ggml_backend_buffer_type *, (struct ggml_backend_device *),                     \
	  "ggml_backend_dev_host_buffer_type")                                                                         \
	X(dev_supports_op, bool, (struct ggml_backend_device *, const struct ggml_tensor *),                           \
	  "ggml_backend_dev_supports_op")                                                                              \
	X(dev_supports_buft, bool, (struct ggml_backend_device *, struct ggml_backend_buffer_type *),                  \
	  "ggml_backend_dev_supports_buft")                                                                            \
	X(dev_offload_op, bool, (struct ggml_backend_device *, const struct ggml_tensor *),                            \
	  "ggml_backend_dev_offload_op")                                                                               \
	X(backend_name, const char *, (struct ggml_backend *), "ggml_backend_name")                                    \
	X(backend_free, void, (struct ggml_backend *), "ggml_backend_free")                                            \
	X(graph_compute, int, (struct ggml_backend *, struct ggml_cgraph *), "ggml_backend_graph_compute")             \
	X(synchronize, void, (struct ggml_backend *), "ggml_backend_synchronize")                                      \
	X(default_buffer_type, struct ggml_backend_buffer_type *, (struct ggml_backend *),                             \
	  "ggml_backend_get_default_buffer_type")

/* Those that a host may do without: its own backends, of which there may be none yet, its scheduler, and what attention
 * takes. */
#define GGML_HOST_OPTIONAL(X)                                                                                         \
	X(reg_count, size_t, (void), "ggml_backend_reg_count")                                                        \
	X(reg_get, struct ggml_backend_reg *, (size_t), "ggml_backend_reg_get")                                       \
	X(init_by_type, struct ggml_backend *, (int, const char *), "ggml_backend_init_by_type")                      \
	X(add, struct ggml_tensor *, (struct ggml_context *, struct ggml_tensor *, struct ggml_tensor *), "ggml_add") \
	X(set_input, void, (struct ggml_tensor *), "ggml_set_input")                                                  \
	X(sched_new, void *,                                                                                          \
	  (struct ggml_backend **, struct ggml_backend_buffer_type **, int, size_t, bool parallel, bool take),        \
	  "ggml_backend_sched_new")                                                                                   \
	X(sched_free, void, (void *), "ggml_backend_sched_free")                                                      \
	X(sched_alloc_graph, bool, (void *, struct ggml_cgraph *), "ggml_backend_sched_alloc_graph")                  \
	X(sched_graph_compute, int, (void *, struct ggml_cgraph *), "ggml_backend_sched_graph_compute")               \
	X(flash_attn_ext, struct ggml_tensor *,                                                                       \
	  (struct ggml_context *, struct ggml_tensor *, struct ggml_tensor *, struct ggml_tensor *,                   \
	   struct ggml_tensor *, float scale, float bias, float cap),                                                 \
	  "ggml_flash_attn_ext")                                                                                      \
	X(graph_add_node, void, (struct ggml_cgraph *, struct ggml_tensor *), "ggml_graph_add_node")                  \
	X(graph_clear, void, (struct ggml_cgraph *), "ggml_graph_clear")

struct ggml_host {
	const void *object; /* where the object that asked begins */
	const char *version;
#define GGML_HOST_MEMBER(member, result, parameters, name) result(*member) parameters;
	GGML_HOST_FUNCTIONS(GGML_HOST_MEMBER)
	GGML_HOST_OPTIONAL(GGML_HOST_MEMBER)
#undef GGML_HOST_MEMBER
	/* NULL all: the host has no OpenMP runtime of GNU's interface. */
	void (*parallel)(void (*fn)(void *), void *data, unsigned threads, unsigned flags);
	int (*thread)(void);
	int (*threads)(void);
};

extern struct ggml_host ggml_host;

/*
 * Fills ggml_host from the program whose code is at CALLER: the object it is in and what that was linked with, so that
 * of several ggmls in one process the one that asks is found.  0, after a line on standard error, where it lacks a
 * function, or where the plug-in is another's.
 */
int ggml_host_find(void *caller);

/* What an op of the host's numbering is to the plug-in. */
enum host_op ggml_host_op(int op);

/* A context for tensors whose data is elsewhere; the caller frees it. */
struct ggml_context *ggml_host_new_context(void);
/* The host's CPU backend; the caller frees it.  For one thread: in a child (guarded.h) those that the host's OpenMP
 * runtime had started are not there.  NULL: the host has none. */
struct ggml_backend *ggml_host_cpu(void);

/* What the host's CPU backend is to compute in the middle of a graph of ours; zeros: not made yet. */
struct ggml_host_turn {
	struct ggml_backend *cpu;
	struct ggml_context *context;
	struct ggml_cgraph *graph;
};
/* Can there be such turns? */
bool ggml_host_has_turns(void);
/* NODE, alone, on THREADS of its own; 0, with nothing said: it was not computed. */
int ggml_host_take_turn(struct ggml_host_turn *turn, struct ggml_tensor *node, unsigned threads);
void ggml_host_turn_fini(struct ggml_host_turn *turn);

/* One line on standard error; what is said not where TCBTUNE_QUIET is set. */
void ggml_host_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void ggml_host_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
