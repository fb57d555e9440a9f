/* SPDX-License-Identifier: MIT
 *
 * The program that loaded the plug-in: which ggml it has, and the functions of
 * ggml and of its OpenMP runtime that are called.
 */
#ifndef TCB_GGML_HOST_H
#define TCB_GGML_HOST_H

#include "shim.h"

enum host_op { HOST_OP_OTHER, HOST_OP_PRODUCT, HOST_OP_NOTHING };

struct ggml_host {
	const struct ggml_shim *shim;
	const char *version;
	const char *(*op_name)(int op);
	size_t (*nbytes)(const struct ggml_tensor *tensor);
	struct ggml_buffer *(*buffer_init)(struct ggml_buffer_type *type, struct ggml_buffer_calls calls, void *context,
					   size_t size);
	bool (*type_is_host)(struct ggml_buffer_type *type);
	struct ggml_buffer_type *(*cpu_buffer_type)(void);
	int (*graph_nodes)(struct ggml_graph *graph);
	struct ggml_tensor *(*graph_node)(struct ggml_graph *graph, int i);
	/* NULL all: the host has no OpenMP runtime of GNU's interface. */
	void (*parallel)(void (*fn)(void *), void *data, unsigned threads, unsigned flags);
	int (*thread)(void);
	int (*threads)(void);
};

extern struct ggml_host ggml_host;

/*
 * Fills ggml_host from the program whose code is at CALLER: the object it is in and what that was linked with, so that
 * of several ggmls in one process the one that asks is found.  0, after a line on standard error, where its version is
 * not one that the plug-in knows.
 */
int ggml_host_find(void *caller);

/* What an op of the host's numbering is to the plug-in. */
enum host_op ggml_host_op(int op);

/* One line on standard error; QUIET ones not where TCBTUNE_QUIET is set. */
void ggml_host_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void ggml_host_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
