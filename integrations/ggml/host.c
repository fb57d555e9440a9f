/* SPDX-License-Identifier: MIT
 *
 * Finding the host.  The interface grows in the middle of its structs, at times
 * without a new number, so versions are taken from a list of those that were
 * tried; op codes move too and are told by name.
 */
#include "host.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPS_MAX = 256, OPS_NAMED = 6 };

struct ggml_host ggml_host;

static const struct {
	const char *version;
	const struct ggml_shim *shim;
} known[] = {
	{ "0.13.1", &ggml_shim_v2 },
	{ "0.26.0", &ggml_shim_v3 },
};
enum { KNOWN = sizeof(known) / sizeof(known[0]) };

static const struct {
	const char *name;
	enum host_op op;
} named[OPS_NAMED] = {
	{ "NONE", HOST_OP_NOTHING },    { "RESHAPE", HOST_OP_NOTHING },   { "VIEW", HOST_OP_NOTHING },
	{ "PERMUTE", HOST_OP_NOTHING }, { "TRANSPOSE", HOST_OP_NOTHING }, { "MUL_MAT", HOST_OP_PRODUCT },
};
static unsigned char op_kind[OPS_MAX];

static void say(const char *format, va_list args)
{
	char line[512];

	vsnprintf(line, sizeof(line), format, args);
	fprintf(stderr, "tcbtune for ggml: %s\n", line);
}

void ggml_host_say(const char *format, ...)
{
	va_list args;

	if (getenv("TCBTUNE_QUIET"))
		return;
	va_start(args, format);
	say(format, args);
	va_end(args);
}

void ggml_host_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
}

/* Stops at the last of the names: beyond the last op there is no name to ask for. */
static int find_ops(void)
{
	int found = 0;

	for (int op = 0; op < OPS_MAX && found < OPS_NAMED; op++)
		for (size_t i = 0; i < OPS_NAMED; i++)
			if (strcmp(ggml_host.op_name(op), named[i].name) == 0) {
				op_kind[op] = (unsigned char)named[i].op;
				found++;
			}
	return found == OPS_NAMED;
}

enum host_op ggml_host_op(int op)
{
	return op >= 0 && op < OPS_MAX ? (enum host_op)op_kind[op] : HOST_OP_OTHER;
}

/* A function pointer from an object pointer, which ISO C has no cast for. */
static int take(void *from, const char *name, void *function)
{
	void *found = dlsym(from, name);

	memcpy(function, &found, sizeof(found));
	return found != NULL;
}

static int find_functions(void *from)
{
	return take(from, "ggml_op_name", &ggml_host.op_name) & take(from, "ggml_nbytes", &ggml_host.nbytes) &
	       take(from, "ggml_backend_buffer_init", &ggml_host.buffer_init) &
	       take(from, "ggml_backend_buft_is_host", &ggml_host.type_is_host) &
	       take(from, "ggml_backend_cpu_buffer_type", &ggml_host.cpu_buffer_type) &
	       take(from, "ggml_graph_n_nodes", &ggml_host.graph_nodes) &
	       take(from, "ggml_graph_node", &ggml_host.graph_node);
}

static void find_openmp(void *from)
{
	if (getenv("TCBTUNE_OWN_POOL"))
		return;
	if (!(take(from, "GOMP_parallel", &ggml_host.parallel) & take(from, "omp_get_thread_num", &ggml_host.thread) &
	      take(from, "omp_get_num_threads", &ggml_host.threads)))
		ggml_host.parallel = NULL;
}

static int find_in(void *from)
{
	const char *(*version)(void);

	if (!take(from, "ggml_version", &version)) {
		ggml_host_warn("not used: the host's ggml does not tell its version");
		return 0;
	}
	ggml_host.version = version();
	for (size_t i = 0; i < KNOWN && !ggml_host.shim; i++)
		if (strcmp(known[i].version, ggml_host.version) == 0)
			ggml_host.shim = known[i].shim;
	if (!ggml_host.shim) {
		ggml_host_warn("not used: the host has ggml %s; this build knows %s and %s", ggml_host.version,
			       known[0].version, known[1].version);
		return 0;
	}
	if (!find_functions(from) || !find_ops()) {
		ggml_host_warn("not used: the host's ggml %s lacks functions of its version", ggml_host.version);
		ggml_host.shim = NULL;
		return 0;
	}
	find_openmp(from);
	return 1;
}

int ggml_host_find(void *caller)
{
	Dl_info info;
	void *object = NULL;
	int found;

	if (ggml_host.shim)
		return 1;
	if (dladdr(caller, &info) && info.dli_fname)
		object = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	found = find_in(object && dlsym(object, "ggml_version") ? object : RTLD_DEFAULT);
	/* The host itself stays loaded without this. */
	if (object)
		dlclose(object);
	return found;
}
