/* SPDX-License-Identifier: MIT
 *
 * What this host has for kernels on NVIDIA GPUs: the driver, what it tells, and
 * what assembles PTX.
 */
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/program.h"
#include "device/doctor_private.h"
#include "device/gpu.h"
#include "device/nvml.h"

enum { PATH_BYTES_MAX = 512 };

/* The first of NAMES (NULL at the end) that can be loaded, by the loader's own search or from a CUDA toolkit below
 * ROOT/usr/local. */
static void *load_any(const char *root, const char *const *names)
{
	static const char *const folders[] = { "/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*/lib",
					       "/usr/local/cuda*/extras/CUPTI/lib64" };
	for (const char *const *name = names; *name; name++) {
		void *library = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
		if (library)
			return library;
		for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
			char pattern[PATH_BYTES_MAX];
			glob_t hits;
			snprintf(pattern, sizeof pattern, "%s%s/%s", root, folders[i], *name);
			if (glob(pattern, 0, NULL, &hits) == 0 && hits.gl_pathc > 0)
				library = dlopen(hits.gl_pathv[hits.gl_pathc - 1], RTLD_NOW | RTLD_LOCAL);
			globfree(&hits);
			if (library)
				return library;
		}
	}
	return NULL;
}

static void check_cuda(const char *root, struct tcb_doctor_row *row)
{
	static const char *const names[] = { "libcuda.so.1", NULL };
	void *library = load_any(root, names);
	int (*init)(unsigned), (*get_version)(int *), (*count_devices)(int *);
	int version = 0, count = 0;

	if (!library) {
		tcb_doctor_found(row, TCB_DOCTOR_MISSING, "no libcuda.so.1");
		tcb_doctor_advise(
			row, "install the NVIDIA driver to tune for an attached GPU; everything else works without");
		return;
	}
	*(void **)&init = dlsym(library, "cuInit");
	*(void **)&get_version = dlsym(library, "cuDriverGetVersion");
	*(void **)&count_devices = dlsym(library, "cuDeviceGetCount");
	int error = !init || !get_version || !count_devices ? -1 : init(0);
	if (error == 0)
		error = get_version(&version);
	if (error == 0)
		error = count_devices(&count);
	if (error != 0) {
		tcb_doctor_found(row, TCB_DOCTOR_LIMITED, "libcuda.so.1 is there, but does not start (error %d)",
				 error);
		tcb_doctor_advise(row,
				  "check with nvidia-smi that the driver is loaded and that this user may use the GPU");
		return;
	}
	tcb_doctor_found(row, TCB_DOCTOR_OK, "CUDA %d.%d, %d device%s", version / 1000, version % 1000 / 10, count,
			 count == 1 ? "" : "s");
}

/* Whether the clocks of an attached GPU are held back now; TEXT names the first and why. */
static int held_back(char *text, size_t bytes)
{
	struct tcb_gpu gpus[TCB_GPUS_MAX];
	size_t count = 0;

	text[0] = '\0';
	if (tcb_gpu_list(gpus, &count, NULL) != TCB_OK)
		return 0;
	for (size_t i = 0; i < count; i++) {
		struct tcb_gpu_state state = { 0 };
		struct tcb_nvml *nvml;
		char reasons[64];

		if (tcb_nvml_open(gpus[i].uuid, &nvml, NULL) != TCB_OK)
			continue;
		tcb_nvml_state(nvml, &state);
		tcb_nvml_close(nvml);
		if (!state.held_back)
			continue;
		tcb_nvml_reasons(state.held_back, reasons, sizeof reasons);
		snprintf(text, bytes, ", GPU %d is held back: %s", gpus[i].ordinal, reasons);
		return 1;
	}
	return 0;
}

static void check_nvml(const char *root, struct tcb_doctor_row *row)
{
	static const char *const names[] = { "libnvidia-ml.so.1", NULL };
	void *library = load_any(root, names);
	int (*init)(void), (*get_driver)(char *, unsigned), (*stop)(void);
	char driver[80] = "", held_text[120] = "";
	int held;

	if (!library) {
		tcb_doctor_found(row, TCB_DOCTOR_MISSING, "no libnvidia-ml.so.1");
		tcb_doctor_advise(row, "comes with the NVIDIA driver; without it GPU throttling is not seen");
		return;
	}
	*(void **)&init = dlsym(library, "nvmlInit_v2");
	*(void **)&get_driver = dlsym(library, "nvmlSystemGetDriverVersion");
	*(void **)&stop = dlsym(library, "nvmlShutdown");
	int error = !init || !get_driver || !stop ? -1 : init();
	if (error == 0) {
		error = get_driver(driver, sizeof driver);
		stop();
	}
	if (error != 0) {
		tcb_doctor_found(row, TCB_DOCTOR_LIMITED, "libnvidia-ml.so.1 is there, but does not start (error %d)",
				 error);
		tcb_doctor_advise(row, "check with nvidia-smi that the driver is loaded");
		return;
	}
	held = held_back(held_text, sizeof held_text);
	tcb_doctor_found(row, held ? TCB_DOCTOR_LIMITED : TCB_DOCTOR_OK, "driver %s%s", driver, held_text);
	if (held)
		tcb_doctor_advise(row, "its clocks are held back now: what is measured is slower than it could be; see "
				       "'nvidia-smi -q'");
}

static void check_cupti(const char *root, struct tcb_doctor_row *row)
{
	static const char *const names[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so", NULL };
	void *library = load_any(root, names);
	int (*get_version)(uint32_t *);
	uint32_t version = 0;

	if (library)
		*(void **)&get_version = dlsym(library, "cuptiGetVersion");
	if (!library || !get_version || get_version(&version) != 0) {
		tcb_doctor_found(row, TCB_DOCTOR_MISSING, "%s", library ? "libcupti does not answer" : "no libcupti");
		tcb_doctor_advise(row, "install cuda-cupti of the CUDA toolkit for GPU counters");
		return;
	}
	tcb_doctor_found(row, TCB_DOCTOR_OK, "API version %u", version);
}

static void check_nvjitlink(const char *root, struct tcb_doctor_row *row)
{
	static const char *const names[] = { "libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so", NULL };
	void *library = load_any(root, names);
	int (*get_version)(unsigned *, unsigned *);
	unsigned major = 0, minor = 0;

	if (library)
		*(void **)&get_version = dlsym(library, "nvJitLinkVersion");
	if (!library || !get_version || get_version(&major, &minor) != 0) {
		tcb_doctor_found(row, TCB_DOCTOR_MISSING, "%s",
				 library ? "libnvJitLink does not answer" : "no libnvJitLink");
		tcb_doctor_advise(row, "install libnvjitlink of the CUDA toolkit, or use ptxas, to assemble PTX");
		return;
	}
	tcb_doctor_found(row, TCB_DOCTOR_OK, "%u.%u", major, minor);
}

/* ptxas on PATH, or in the newest toolkit below ROOT/usr/local; 0 with its path, or -1. */
static int find_ptxas(const char *root, char out[PATH_BYTES_MAX])
{
	char pattern[PATH_BYTES_MAX];
	glob_t hits;
	int is_found = 0;

	if (tcb_program_find("ptxas", out, PATH_BYTES_MAX) == 0)
		return 0;
	snprintf(pattern, sizeof pattern, "%s/usr/local/cuda*/bin/ptxas", root);
	if (glob(pattern, 0, NULL, &hits) == 0) {
		for (size_t i = hits.gl_pathc; i-- > 0 && !is_found;) {
			snprintf(out, PATH_BYTES_MAX, "%s", hits.gl_pathv[i]);
			is_found = access(out, X_OK) == 0;
		}
	}
	globfree(&hits);
	return is_found ? 0 : -1;
}

static void check_ptxas(const char *root, struct tcb_doctor_row *row)
{
	char path[PATH_BYTES_MAX];
	if (find_ptxas(root, path) == 0) {
		tcb_doctor_found(row, TCB_DOCTOR_OK, "%s", path);
		return;
	}
	tcb_doctor_found(row, TCB_DOCTOR_MISSING, "not on PATH and not in /usr/local/cuda");
	tcb_doctor_advise(row, "install cuda-nvcc of the CUDA toolkit, or put its bin folder on PATH, to assemble PTX");
}

const struct tcb_doctor_check tcb_doctor_cuda[] = {
	{ "CUDA driver", check_cuda },    { "NVML", check_nvml },   { "CUPTI", check_cupti },
	{ "nvJitLink", check_nvjitlink }, { "ptxas", check_ptxas }, { NULL, NULL },
};
