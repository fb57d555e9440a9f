/* SPDX-License-Identifier: MIT
 *
 * In: CUDA C++ and what its macros are.  Out: PTX.  NVRTC (the CUDA Toolkit's run-time
 * compiler; "NVRTC" in its documentation has the interface) is looked for where TCBTUNE_NVRTC says, in the toolkits
 * that CUDA_HOME and CUDA_PATH name, in the usual places and on the loader's path.
 */
#include "kernelfile/nvrtc.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/program.h"

enum { OPTIONS_MAX = 128 };

typedef struct nvrtc_program *program_handle;

static struct nvrtc {
	int (*version)(int *major, int *minor);
	int (*create)(program_handle *out, const char *source, const char *name, int header_count,
		      const char *const *headers, const char *const *header_names);
	int (*destroy)(program_handle *program);
	int (*add_name)(program_handle program, const char *name);
	int (*compile)(program_handle program, int option_count, const char *const *options);
	int (*log_size)(program_handle program, size_t *out);
	int (*log)(program_handle program, char *out);
	int (*ptx_size)(program_handle program, size_t *out);
	int (*ptx)(program_handle program, char *out);
	int (*lowered)(program_handle program, const char *name, const char **out);
	char name[24], include[PATH_MAX]; /* the folder of the toolkit's headers; empty: unknown */
	int is_there;
} nvrtc;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* --- finding it --- */

#if defined(__aarch64__)
#define TOOLKIT_TARGET "targets/sbsa-linux/lib"
#else
#define TOOLKIT_TARGET "targets/x86_64-linux/lib"
#endif

static void *open_in(const char *folder)
{
	static const char *const names[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so" };
	char path[PATH_MAX];
	void *library = NULL;

	for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", names[i]);
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	return library;
}

static void *open_library(void)
{
	static const char *const inside[] = { "lib64", TOOLKIT_TARGET, "lib" };
	const char *given = getenv("TCBTUNE_NVRTC");
	const char *roots[] = { getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda", "/opt/cuda" };
	char folder[PATH_MAX];
	void *library = given && *given ? dlopen(given, RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!library && given && *given)
		library = open_in(given);
	for (size_t i = 0; !library && i < sizeof roots / sizeof *roots; i++)
		for (size_t j = 0; !library && roots[i] && *roots[i] && j < sizeof inside / sizeof *inside; j++) {
			snprintf(folder, sizeof folder, "%s/%s", roots[i], inside[j]);
			library = open_in(folder);
		}
	return library ? library : open_in("");
}

static int has_headers(const char *folder)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof path, "%s/cuda_fp16.h", folder);
	return access(path, R_OK) == 0;
}

/* The toolkit's headers: beside the library, or in a toolkit that is named or in its usual place. */
static void find_headers(void)
{
	static const char *const up[] = { "../include", "../../../include" };
	const char *roots[] = { getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda", "/opt/cuda", "/usr" };
	Dl_info info;
	char *out = nvrtc.include;
	const char *slash;

	void *address;

	memcpy(&address, &nvrtc.version, sizeof address);
	for (size_t i = 0;
	     dladdr(address, &info) && (slash = strrchr(info.dli_fname, '/')) && i < sizeof up / sizeof *up; i++) {
		snprintf(out, PATH_MAX, "%.*s%s", (int)(slash - info.dli_fname) + 1, info.dli_fname, up[i]);
		if (has_headers(out))
			return;
	}
	for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
		snprintf(out, PATH_MAX, "%s/include", roots[i] ? roots[i] : "");
		if (roots[i] && *roots[i] && has_headers(out))
			return;
	}
	*out = '\0';
}

static void load(void)
{
	const struct {
		const char *name;
		void *to;
	} rows[] = {
		{ "nvrtcVersion", &nvrtc.version },
		{ "nvrtcCreateProgram", &nvrtc.create },
		{ "nvrtcDestroyProgram", &nvrtc.destroy },
		{ "nvrtcAddNameExpression", &nvrtc.add_name },
		{ "nvrtcCompileProgram", &nvrtc.compile },
		{ "nvrtcGetProgramLogSize", &nvrtc.log_size },
		{ "nvrtcGetProgramLog", &nvrtc.log },
		{ "nvrtcGetPTXSize", &nvrtc.ptx_size },
		{ "nvrtcGetPTX", &nvrtc.ptx },
		{ "nvrtcGetLoweredName", &nvrtc.lowered },
	};
	void *library = open_library();
	int major = 0, minor = 0;

	nvrtc.is_there = library != NULL;
	for (size_t i = 0; nvrtc.is_there && i < sizeof rows / sizeof *rows; i++) {
		void *found = dlsym(library, rows[i].name);

		memcpy(rows[i].to, &found, sizeof found);
		nvrtc.is_there = found != NULL;
	}
	if (nvrtc.is_there)
		find_headers();
	if (nvrtc.is_there && nvrtc.version(&major, &minor) == 0)
		snprintf(nvrtc.name, sizeof nvrtc.name, "NVRTC %d.%d", major % 1000, minor % 1000);
}

const char *tcb_nvrtc_name(void)
{
	pthread_once(&once, load);
	return nvrtc.is_there ? nvrtc.name : NULL;
}

/* --- compiling --- */

void tcb_nvrtc_options(const struct tcb_kernel_file *file, const struct tcb_value *bound, unsigned capability,
		       struct tcb_str *out)
{
	const char *slash = strrchr(file->kernel.path, '/');

	tcb_str_addf(out, "--gpu-architecture=compute_%u%s%c", capability, capability >= 90 ? "a" : "", '\0');
	tcb_str_addf(out, "-I%.*s%c", slash ? (int)(slash - file->kernel.path) : 1, slash ? file->kernel.path : ".",
		     '\0');
	if (*nvrtc.include)
		tcb_str_addf(out, "-I%s%c", nvrtc.include, '\0');
	for (size_t i = 0; i < file->name_count; i++) {
		if (strchr(file->names[i], '['))
			continue;
		tcb_str_addf(out, "-D%s=", file->names[i]);
		tcb_value_print(&bound[i], out);
		tcb_str_add_bytes(out, "", 1);
	}
	for (size_t i = 0; i < file->kernel.option_count; i++)
		tcb_str_addf(out, "%s%c", file->kernel.options[i], '\0');
}

static enum tcb_status refuse(program_handle program, struct tcb_error *err)
{
	size_t bytes = 0;
	char *log = nvrtc.log_size(program, &bytes) == 0 && bytes ? malloc(bytes + 1) : NULL;
	char line[300];

	if (log)
		log[nvrtc.log(program, log) == 0 ? bytes : 0] = '\0';
	tcb_program_complaint(log, line, sizeof line);
	tcb_fail(err, TCB_E_FORMAT, "it does not compile: %s", line);
	free(log);
	return TCB_E_FORMAT;
}

static enum tcb_status take_ptx(program_handle program, const char *name, struct tcb_str *ptx_out,
				struct tcb_str *entry_out, struct tcb_error *err)
{
	const char *lowered = NULL;
	size_t bytes = 0;
	char *ptx = nvrtc.ptx_size(program, &bytes) == 0 && bytes > 1 ? malloc(bytes) : NULL;

	if (ptx && nvrtc.ptx(program, ptx) == 0)
		tcb_str_add_bytes(ptx_out, ptx, strnlen(ptx, bytes));
	free(ptx);
	if (nvrtc.lowered(program, name, &lowered) == 0 && lowered)
		tcb_str_add(entry_out, lowered);
	if (!ptx_out->data || !entry_out->data || ptx_out->failed || entry_out->failed)
		return tcb_fail(err, TCB_E_FORMAT, "NVRTC compiled it and has neither PTX nor kernel %.100s", name);
	return TCB_OK;
}

enum tcb_status tcb_nvrtc_compile(const struct tcb_kernel_file *file, const struct tcb_str *source,
				  const struct tcb_str *options, struct tcb_str *ptx_out, struct tcb_str *entry_out,
				  struct tcb_error *err)
{
	const char *list[OPTIONS_MAX], *option = options->data;
	program_handle program = NULL;
	int count = 0;

	for (; count < OPTIONS_MAX && option < options->data + options->length; option += strlen(option) + 1)
		list[count++] = option;
	if (nvrtc.create(&program, source->data, file->kernel.path, 0, NULL, NULL) != 0)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for compiling %s", file->kernel.name);
	if (nvrtc.add_name(program, file->kernel.name) != 0 || nvrtc.compile(program, count, list) != 0)
		return refuse(program, err);
	return take_ptx(program, file->kernel.name, ptx_out, entry_out, err);
}
