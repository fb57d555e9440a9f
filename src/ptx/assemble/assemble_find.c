/* SPDX-License-Identifier: MIT
 *
 * In: this machine.  Out: which assembler to use, its version, and the targets
 * that it knows, asked of the assembler itself.
 *
 * For sweeps nvJitLink comes first: once its process runs, a small kernel takes
 * half the time that ptxas needs, and it can be installed without the toolkit.
 * For somebody's file ptxas does, which is what their own build runs.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/program.h"
#include "ptx/assemble/assemble_private.h"

enum { PROBE_SECONDS = 20, VERSION_DIGITS = 10 };

#if defined(__aarch64__)
#define TOOLKIT_TARGET "targets/sbsa-linux"
#define SYSTEM_LIBRARIES "/usr/lib/aarch64-linux-gnu"
#else
#define TOOLKIT_TARGET "targets/x86_64-linux"
#define SYSTEM_LIBRARIES "/usr/lib/x86_64-linux-gnu"
#endif

/* Where a toolkit may be: what the environment names first. */
static size_t toolkits(const char *out[4])
{
	const char *named[] = { getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda", "/opt/cuda" };
	size_t count = 0;

	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		if (named[i] && named[i][0])
			out[count++] = named[i];
	return count;
}

static int find_ptxas(char *out, size_t bytes)
{
	const char *roots[4];
	char path[PATH_MAX];
	size_t count = toolkits(roots);

	if (tcb_program_find("ptxas", out, bytes) == 0)
		return 1;
	for (size_t i = 0; i < count; i++) {
		snprintf(path, sizeof path, "%s/bin/ptxas", roots[i]);
		if (tcb_program_find(path, out, bytes) == 0)
			return 1;
	}
	return tcb_program_find("/usr/lib/nvidia-cuda-toolkit/bin/ptxas", out, bytes) == 0;
}

/* The first that loads; the loader's own path (LD_LIBRARY_PATH, ld.so.cache) comes after a toolkit that is named. */
static const struct tcb_nvjitlink *find_nvjitlink(char *out, size_t bytes)
{
	static const char *const names[] = { "libnvJitLink.so.13", "libnvJitLink.so.12" };
	static const char *const folders[] = { "lib64", "lib", TOOLKIT_TARGET "/lib" };
	const char *roots[4];
	size_t count = toolkits(roots);
	const struct tcb_nvjitlink *library;

	for (size_t name = 0; name < 2; name++) {
		for (size_t i = 0; i < count * 3; i++) {
			snprintf(out, bytes, "%s/%s/%s", roots[i / 3], folders[i % 3], names[name]);
			if (access(out, R_OK) == 0 && tcb_nvjitlink_load(out, &library, NULL) == TCB_OK)
				return library;
		}
		snprintf(out, bytes, SYSTEM_LIBRARIES "/%s", names[name]);
		if (access(out, R_OK) == 0 && tcb_nvjitlink_load(out, &library, NULL) == TCB_OK)
			return library;
		snprintf(out, bytes, "%s", names[name]);
		if (tcb_nvjitlink_load(out, &library, NULL) == TCB_OK)
			return library;
	}
	return NULL;
}

static int by_number(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return (x > y) - (x < y);
}

/* "release 13.0" and each 'sm_89' of the help page. */
static void read_ptxas(const char *version, const char *help, struct tcb_assembler_info *info)
{
	const char *at = strstr(version, "release ");
	unsigned major = 0, minor = 0, most = sizeof info->targets / sizeof *info->targets;

	if (at && sscanf(at, "release %u.%u", &major, &minor) == 2)
		info->version = major * VERSION_DIGITS + minor;
	for (at = help; (at = strstr(at, "'sm_"));) {
		char *end;
		unsigned sm;
		at += strlen("'sm_");
		sm = (unsigned)strtoul(at, &end, 10);
		if (*end == '\'' && sm && !tcb_assembler_knows(info, sm) && info->target_count < most)
			info->targets[info->target_count++] = sm;
	}
	qsort(info->targets, info->target_count, sizeof *info->targets, by_number);
}

static enum tcb_status probe_ptxas(struct tcb_assembler_info *info, struct tcb_error *err)
{
	const char *const words[2][3] = { { "ptxas", "--version", NULL }, { "ptxas", "--help", NULL } };
	struct tcb_str said[2] = { { 0 }, { 0 } };
	int wait_status, timed_out;
	enum tcb_status status = TCB_OK;

	for (int i = 0; i < 2 && status == TCB_OK; i++)
		status = tcb_program_run(info->path, words[i], NULL, 0, PROBE_SECONDS, NULL, &said[i], &wait_status,
					 &timed_out, err);
	if (status == TCB_OK && said[0].data && said[1].data)
		read_ptxas(said[0].data, said[1].data, info);
	if (status == TCB_OK && !info->target_count)
		status =
			tcb_fail(err, TCB_E_FAILED, "%s does not say which targets it knows; is it ptxas?", info->path);
	tcb_str_fini(&said[0]);
	tcb_str_fini(&said[1]);
	return status;
}

static enum tcb_status probe(enum tcb_assembler kind, struct tcb_assembler_info *info, struct tcb_error *err)
{
	info->kind = kind;
	return kind == TCB_ASSEMBLER_PTXAS ? probe_ptxas(info, err) : tcb_nvjitlink_probe(info->library, info, err);
}

/* TCBTUNE_ASSEMBLER as a path: what it is goes by its name. */
static enum tcb_status from_path(const char *path, struct tcb_assembler_info *out, struct tcb_error *err)
{
	const char *base = strrchr(path, '/') + 1;

	if (strlen(path) >= sizeof out->path)
		return tcb_fail(err, TCB_E_USAGE, "TCBTUNE_ASSEMBLER is longer than %zu bytes", sizeof out->path - 1);
	strcpy(out->path, path);
	if (strstr(base, "nvJitLink")) {
		TCB_TRY(tcb_nvjitlink_load(path, &out->library, err));
		return probe(TCB_ASSEMBLER_NVJITLINK, out, err);
	}
	if (tcb_program_find(path, out->path, sizeof out->path) != 0)
		return tcb_fail(err, TCB_E_NOT_FOUND, "TCBTUNE_ASSEMBLER=%s is not a program that can be run", path);
	return probe(TCB_ASSEMBLER_PTXAS, out, err);
}

enum tcb_status tcb_assembler_find_kind(enum tcb_assembler kind, struct tcb_assembler_info *out, struct tcb_error *err)
{
	*out = (struct tcb_assembler_info){ .kind = TCB_ASSEMBLER_NONE };
	if (kind == TCB_ASSEMBLER_NVJITLINK) {
		out->library = find_nvjitlink(out->path, sizeof out->path);
		if (!out->library)
			return tcb_fail(err, TCB_E_NOT_FOUND,
					"no nvJitLink here: install the CUDA toolkit's libnvjitlink (12.0 or later), "
					"or set CUDA_HOME to where it is");
	} else if (kind == TCB_ASSEMBLER_PTXAS) {
		if (!find_ptxas(out->path, sizeof out->path))
			return tcb_fail(err, TCB_E_NOT_FOUND,
					"no ptxas here: install the CUDA toolkit's compiler, or set CUDA_HOME to "
					"where it is");
	} else {
		return tcb_fail(err, TCB_E_NOT_FOUND, "no assembler: TCBTUNE_ASSEMBLER=none");
	}
	return probe(kind, out, err);
}

enum tcb_status tcb_assembler_find(struct tcb_assembler_info *out, struct tcb_error *err)
{
	return tcb_assembler_find_first(TCB_ASSEMBLER_NVJITLINK, out, err);
}

enum tcb_status tcb_assembler_find_first(enum tcb_assembler first, struct tcb_assembler_info *out,
					 struct tcb_error *err)
{
	const enum tcb_assembler second = first == TCB_ASSEMBLER_PTXAS ? TCB_ASSEMBLER_NVJITLINK : TCB_ASSEMBLER_PTXAS;
	const char *forced = getenv("TCBTUNE_ASSEMBLER");

	*out = (struct tcb_assembler_info){ .kind = TCB_ASSEMBLER_NONE };
	if (forced && strchr(forced, '/'))
		return from_path(forced, out, err);
	if (forced && strcmp(forced, "ptxas") == 0)
		return tcb_assembler_find_kind(TCB_ASSEMBLER_PTXAS, out, err);
	if (forced && strcmp(forced, "nvjitlink") == 0)
		return tcb_assembler_find_kind(TCB_ASSEMBLER_NVJITLINK, out, err);
	if (forced && strcmp(forced, "none") == 0)
		return tcb_assembler_find_kind(TCB_ASSEMBLER_NONE, out, err);
	if (forced && forced[0])
		return tcb_fail(err, TCB_E_USAGE,
				"TCBTUNE_ASSEMBLER is '%s'; it may be ptxas, nvjitlink, none, or the path of one",
				forced);
	if (tcb_assembler_find_kind(first, out, NULL) == TCB_OK || tcb_assembler_find_kind(second, out, NULL) == TCB_OK)
		return TCB_OK;
	return tcb_fail(err, TCB_E_NOT_FOUND,
			"no PTX assembler here (neither nvJitLink nor ptxas): install the CUDA toolkit, or set "
			"CUDA_HOME to where it is");
}
