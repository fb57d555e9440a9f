/* SPDX-License-Identifier: MIT
 *
 * Finding the host and its functions.  Op codes move between versions and are told
 * by name.
 */
#include "host.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPS_MAX = 256, CONTEXT_BYTES = 1 << 20, DEVICE_CPU = 0 };

struct ggml_host ggml_host;

static const struct {
	const char *name;
	enum host_op op;
} named[] = {
	{ "NONE", HOST_OP_NOTHING },       { "RESHAPE", HOST_OP_NOTHING },   { "VIEW", HOST_OP_NOTHING },
	{ "PERMUTE", HOST_OP_NOTHING },    { "TRANSPOSE", HOST_OP_NOTHING }, { "MUL_MAT", HOST_OP_PRODUCT },
	{ "MUL_MAT_ID", HOST_OP_EXPERTS }, { "GET_ROWS", HOST_OP_ROWS },     { "FLASH_ATTN_EXT", HOST_OP_ATTENTION },
};
enum { OPS_NAMED = sizeof(named) / sizeof(named[0]) };
static unsigned char op_kind[OPS_MAX];

static void say(const char *format, va_list args)
{
	char line[1024];

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
	size_t found = 0;

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

struct ggml_context *ggml_host_new_context(void)
{
	return ggml_host.init((struct ggml_host_context){ CONTEXT_BYTES, NULL, true });
}

/* By the function that the backend's registry has for it, if it has one. */
static void set_threads(struct ggml_backend *backend, int threads)
{
	void (*set)(struct ggml_backend *, int);
	void *found = ggml_host.reg_get_proc_address(ggml_host.dev_backend_reg(ggml_host.get_device(backend)),
						     "ggml_backend_set_n_threads");

	memcpy(&set, &found, sizeof(found));
	if (set)
		set(backend, threads);
}

struct ggml_backend *ggml_host_cpu(void)
{
	struct ggml_backend *cpu = ggml_host.init_by_type ? ggml_host.init_by_type(DEVICE_CPU, NULL) : NULL;

	if (cpu)
		set_threads(cpu, 1);
	return cpu;
}

bool ggml_host_has_turns(void)
{
	return ggml_host.init_by_type && ggml_host.graph_add_node && ggml_host.graph_clear;
}

int ggml_host_take_turn(struct ggml_host_turn *turn, struct ggml_tensor *node, unsigned threads)
{
	if (!turn->cpu && !(turn->cpu = ggml_host_cpu()))
		return 0;
	if (!turn->context && !(turn->context = ggml_host_new_context()))
		return 0;
	if (!turn->graph && !(turn->graph = ggml_host.new_graph(turn->context)))
		return 0;
	set_threads(turn->cpu, (int)threads);
	ggml_host.graph_clear(turn->graph);
	ggml_host.graph_add_node(turn->graph, node);
	return ggml_host.graph_compute(turn->cpu, turn->graph) == 0;
}

void ggml_host_turn_fini(struct ggml_host_turn *turn)
{
	if (turn->cpu)
		ggml_host.backend_free(turn->cpu);
	if (turn->context)
		ggml_host.free(turn->context);
}

/* A function pointer from an object pointer, which ISO C has no cast for. */
static int take(void *from, const char *name, void *function)
{
	void *found = dlsym(from, name);

	memcpy(function, &found, sizeof(found));
	return found != NULL;
}

/* The name of a function that FROM lacks; NULL: none. */
static const char *find_functions(void *from)
{
#define TAKE_OR_RETURN(member, result, parameters, name) \
	if (!take(from, name, &ggml_host.member))        \
		return name;
#define TAKE(member, result, parameters, name) take(from, name, &ggml_host.member);
	GGML_HOST_FUNCTIONS(TAKE_OR_RETURN)
	GGML_HOST_OPTIONAL(TAKE)
#undef TAKE
#undef TAKE_OR_RETURN
	return NULL;
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
	const char *lacking = "ggml_version";

	if (take(from, lacking, &version)) {
		ggml_host.version = version();
		lacking = find_functions(from);
		if (!lacking && !find_ops())
			lacking = "an op that the plug-in knows by name";
	}
	if (lacking) {
		ggml_host_warn("not used: the host's ggml %s does not have %s; ggml from 0.9.4 on has",
			       ggml_host.version ? ggml_host.version : "(of an unknown version)", lacking);
		ggml_host.version = NULL;
		return 0;
	}
	find_openmp(from);
	return 1;
}

int ggml_host_find(void *caller)
{
	Dl_info info = { 0 };
	void *object = NULL;
	int found;

	if (!dladdr(caller, &info) || !info.dli_fname)
		info.dli_fbase = NULL;
	if (ggml_host.version) {
		if (ggml_host.object == info.dli_fbase)
			return 1;
		ggml_host_warn("not used: another ggml (%s) of this process has the plug-in already",
			       ggml_host.version);
		return 0;
	}
	if (info.dli_fbase)
		object = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	found = find_in(object && dlsym(object, "ggml_version") ? object : RTLD_DEFAULT);
	ggml_host.object = info.dli_fbase;
	/* The host itself stays loaded without this. */
	if (object)
		dlclose(object);
	return found;
}
