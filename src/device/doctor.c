/* SPDX-License-Identifier: MIT
 *
 * In: this machine.  Out: one row for each thing that tcbtune can use: whether
 * it is there, what was found, and what to do if it is not.  One function per
 * row, and the table that lists them; each looks for itself, so that a row
 * tells what the product would find, not what a package manager believes.
 */
#include <dlfcn.h>
#include <glob.h>
#include <hwloc.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cgroup.h"
#include "base/cpu_identity.h"
#include "device/counters_private.h"
#include "device/cpu_device.h"
#include "device/doctor_private.h"
#include "device/gpu.h"
#include "device/load.h"
#include "device/nvml.h"

enum { PATH_BYTES_MAX = 512 };
static const double LOAD_MOST = 0.1;

__attribute__((format(printf, 3, 4))) static void found(struct tcb_doctor_row *row, enum tcb_doctor_state state,
							const char *format, ...)
{
	va_list arguments;
	row->state = state;
	va_start(arguments, format);
	vsnprintf(row->found, sizeof row->found, format, arguments);
	va_end(arguments);
}

__attribute__((format(printf, 2, 3))) static void advise(struct tcb_doctor_row *row, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(row->advice, sizeof row->advice, format, arguments);
	va_end(arguments);
}

/* First line of ROOT/PATH into OUT; 0, or -1 if it cannot be read. */
static int read_line(const char *root, const char *path, char *out, size_t bytes)
{
	char full[PATH_BYTES_MAX];
	snprintf(full, sizeof full, "%s%s", root, path);
	FILE *file = fopen(full, "r");
	if (!file)
		return -1;
	int failed = !fgets(out, (int)bytes, file);
	fclose(file);
	if (failed)
		return -1;
	out[strcspn(out, "\n")] = '\0';
	return 0;
}

static void check_processor(const char *root, struct tcb_doctor_row *row)
{
	struct tcb_device host;
	struct tcb_error err;
	char families[128] = "";
	(void)root;
	if (tcb_cpu_identify("cpu", 1, &host, &err) != TCB_OK) {
		found(row, TCB_DOCTOR_MISSING, "%s", err.message);
		advise(row, "report this processor to the authors");
		return;
	}
	for (int isa = 0; isa < TCB_ISA_COUNT; isa++) {
		if (!tcb_target_has(&host.target, (enum tcb_isa)isa))
			continue;
		size_t used = strlen(families);
		snprintf(families + used, sizeof families - used, " %s", tcb_isa_text((enum tcb_isa)isa));
	}
	int is_scalar = host.target.isa_mask == 1u << TCB_ISA_SCALAR;
	found(row, is_scalar ? TCB_DOCTOR_LIMITED : TCB_DOCTOR_OK, "%.70s:%s", host.model, families);
	if (is_scalar)
		advise(row, "only scalar kernels run here: use a processor with AVX2, or of 64-bit Arm "
			    "with dot products, or a virtual machine that shows it");
}

static void check_cores(const char *root, struct tcb_doctor_row *row)
{
	struct tcb_place cpu;
	struct tcb_error err;
	(void)root;
	if (tcb_cpu_open("cpu", 0, &cpu, &err) != TCB_OK) {
		found(row, TCB_DOCTOR_MISSING, "%s", err.message);
		advise(row, "threads cannot be pinned here");
		return;
	}
	if (cpu.device.target.threads < cpu.device.cores) {
		found(row, TCB_DOCTOR_LIMITED, "%u of %u cores may be used", cpu.device.target.threads,
		      cpu.device.cores);
		advise(row, "affinity (taskset) or the container's CPU limit leaves out the others");
	} else {
		found(row, TCB_DOCTOR_OK, "%u of %u cores may be used", cpu.device.target.threads, cpu.device.cores);
	}
}

/* Quotas and limits from the process's own group up, of both versions (base/cgroup.h). */
static void check_control_groups(const char *root, struct tcb_doctor_row *row)
{
	struct tcb_cgroup granted;
	char processors[96] = "no quota of processors", memory[96] = "no limit of memory";
	tcb_cgroup_read(root, &granted);
	if (granted.processors)
		snprintf(processors, sizeof processors, "time of %u processor%s (%.40s)", granted.processors,
			 granted.processors == 1 ? "" : "s", granted.processors_group);
	if (granted.memory_left != SIZE_MAX)
		snprintf(memory, sizeof memory, "%zu of %zu MiB of memory left (%.40s)", granted.memory_left >> 20,
			 granted.memory_bytes >> 20, granted.memory_group);
	const int is_limited = granted.processors || granted.memory_left != SIZE_MAX;
	found(row, is_limited ? TCB_DOCTOR_LIMITED : TCB_DOCTOR_OK, "%s, %s", processors, memory);
	if (is_limited)
		advise(row, "threads, rotation and what a sweep allocates keep to it; ask for more where the job or "
			    "container is started");
}

static void check_hwloc(const char *root, struct tcb_doctor_row *row)
{
	unsigned version = hwloc_get_api_version();
	(void)root;
	found(row, TCB_DOCTOR_OK, "API %u.%u.%u", version >> 16, version >> 8 & 0xff, version & 0xff);
}

static void check_huge_pages(const char *root, struct tcb_doctor_row *row)
{
	char line[128] = "";
	char *open, *close;
	if (read_line(root, "/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof line) != 0 ||
	    !(open = strchr(line, '[')) || !(close = strchr(open, ']'))) {
		found(row, TCB_DOCTOR_MISSING, "this kernel has no transparent huge pages");
		advise(row, "large weights pay for more TLB misses; use a kernel with CONFIG_TRANSPARENT_HUGEPAGE");
		return;
	}
	*close = '\0';
	if (strcmp(open + 1, "never") == 0) {
		found(row, TCB_DOCTOR_LIMITED, "transparent huge pages: never");
		advise(row, "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
		return;
	}
	/* The setting allows them; whether the kernel has any to give is seen only by asking. */
	struct tcb_buffer buffer;
	size_t huge = 0, bytes = (size_t)8 << 20;
	if (tcb_buffer_alloc(TCB_BUFFER_HUGE, bytes, &buffer, NULL) == TCB_OK) {
		memset(buffer.data, 1, bytes);
		huge = tcb_buffer_huge_bytes(&buffer);
		tcb_buffer_free(&buffer);
	}
	found(row, huge == bytes ? TCB_DOCTOR_OK : TCB_DOCTOR_LIMITED,
	      "transparent huge pages: %s; %zu of 8 MiB asked for came in huge pages", open + 1, huge >> 20);
	if (huge < bytes)
		advise(row,
		       "memory is fragmented or full: free some, or as root: echo 1 > /proc/sys/vm/compact_memory");
}

static void check_clock(const char *root, struct tcb_doctor_row *row)
{
	char governor[64], no_turbo[8] = "", boost[8] = "";
	if (read_line(root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor, sizeof governor) != 0) {
		found(row, TCB_DOCTOR_LIMITED, "the clock cannot be seen or set here");
		advise(row, "nothing to do: finals are paired and interleaved, so a drifting clock cancels");
		return;
	}
	read_line(root, "/sys/devices/system/cpu/intel_pstate/no_turbo", no_turbo, sizeof no_turbo);
	read_line(root, "/sys/devices/system/cpu/cpufreq/boost", boost, sizeof boost);
	const char *turbo = "";
	if (no_turbo[0] || boost[0])
		turbo = no_turbo[0] == '1' || boost[0] == '0' ? ", turbo off" : ", turbo on";
	int is_fixed = strcmp(governor, "performance") == 0;
	found(row, is_fixed ? TCB_DOCTOR_OK : TCB_DOCTOR_LIMITED, "governor %s%s", governor, turbo);
	if (!is_fixed)
		advise(row, "for steadier numbers, as root: cpupower frequency-set -g performance");
}

/* Who has the processors right now. */
static void check_load(const char *root, struct tcb_doctor_row *row)
{
	const struct timespec wait = { .tv_nsec = 300000000 };
	struct tcb_load before, after;
	double others;

	if (root[0]) { /* another machine's files say nothing of it */
		found(row, TCB_DOCTOR_LIMITED, "not of this machine");
		advise(row, "ask the machine itself");
		return;
	}
	tcb_load_look(&before);
	nanosleep(&wait, NULL);
	tcb_load_look(&after);
	others = tcb_load_others(&before, &after);
	if (isnan(others)) {
		found(row, TCB_DOCTOR_LIMITED, "who uses the processors cannot be seen here");
		advise(row, "nothing to do; a sweep then does not know whether others disturbed it");
		return;
	}
	found(row, others > LOAD_MOST ? TCB_DOCTOR_LIMITED : TCB_DOCTOR_OK,
	      "others have %.0f %% of the processors' time", 100 * others);
	if (others > LOAD_MOST)
		advise(row, "what is measured now will be noisy: stop other work, or sweep when it has ended");
}

static void check_hardware_counters(const char *root, struct tcb_doctor_row *row)
{
	char why[TCB_COUNTER_NOTE_MAX];
	struct tcb_device host;
	int probe = tcb_perf_probe(), paranoid = tcb_perf_paranoid();
	(void)root;
	if (probe == 0) {
		found(row, TCB_DOCTOR_OK, "kernel.perf_event_paranoid %d", paranoid);
		return;
	}
	int is_virtual = tcb_cpu_identify("cpu", 1, &host, NULL) == TCB_OK && host.is_virtual;
	int is_software = tcb_software_probe() == TCB_SOFTWARE_PERF;
	tcb_perf_explain(probe, paranoid, is_virtual, why);
	found(row, TCB_DOCTOR_LIMITED, "%s", is_software ? "software events only" : "none: getrusage is used");
	advise(row, "%s", why);
}

static void check_papi(const char *root, struct tcb_doctor_row *row)
{
	char version[16], path[128], why[TCB_COUNTER_NOTE_MAX];
	(void)root;
	if (tcb_papi_probe(version, path, why) == 0) {
		found(row, TCB_DOCTOR_OK, "%s, %s", version, path);
		return;
	}
	found(row, TCB_DOCTOR_MISSING, "hardware events cannot be counted");
	advise(row, "%s", why);
}

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
		found(row, TCB_DOCTOR_MISSING, "no libcuda.so.1");
		advise(row, "install the NVIDIA driver to tune for an attached GPU; everything else works without");
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
		found(row, TCB_DOCTOR_LIMITED, "libcuda.so.1 is there, but does not start (error %d)", error);
		advise(row, "check with nvidia-smi that the driver is loaded and that this user may use the GPU");
		return;
	}
	found(row, TCB_DOCTOR_OK, "CUDA %d.%d, %d device%s", version / 1000, version % 1000 / 10, count,
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
		found(row, TCB_DOCTOR_MISSING, "no libnvidia-ml.so.1");
		advise(row, "comes with the NVIDIA driver; without it GPU throttling is not seen");
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
		found(row, TCB_DOCTOR_LIMITED, "libnvidia-ml.so.1 is there, but does not start (error %d)", error);
		advise(row, "check with nvidia-smi that the driver is loaded");
		return;
	}
	held = held_back(held_text, sizeof held_text);
	found(row, held ? TCB_DOCTOR_LIMITED : TCB_DOCTOR_OK, "driver %s%s", driver, held_text);
	if (held)
		advise(row, "its clocks are held back now: what is measured is slower than it could be; see "
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
		found(row, TCB_DOCTOR_MISSING, "%s", library ? "libcupti does not answer" : "no libcupti");
		advise(row, "install cuda-cupti of the CUDA toolkit for GPU counters");
		return;
	}
	found(row, TCB_DOCTOR_OK, "API version %u", version);
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
		found(row, TCB_DOCTOR_MISSING, "%s", library ? "libnvJitLink does not answer" : "no libnvJitLink");
		advise(row, "install libnvjitlink of the CUDA toolkit, or use ptxas, to assemble PTX");
		return;
	}
	found(row, TCB_DOCTOR_OK, "%u.%u", major, minor);
}

/* ptxas on PATH, or in the newest toolkit below ROOT/usr/local; 0 with its path, or -1. */
static int find_ptxas(const char *root, char out[PATH_BYTES_MAX])
{
	const char *path = getenv("PATH");
	char pattern[PATH_BYTES_MAX];
	glob_t hits;
	int is_found = 0;

	while (path && *path) {
		size_t length = strcspn(path, ":");
		snprintf(out, PATH_BYTES_MAX, "%.*s/ptxas", (int)length, path);
		if (length > 0 && access(out, X_OK) == 0)
			return 0;
		path += length + (path[length] == ':');
	}
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
		found(row, TCB_DOCTOR_OK, "%s", path);
		return;
	}
	found(row, TCB_DOCTOR_MISSING, "not on PATH and not in /usr/local/cuda");
	advise(row, "install cuda-nvcc of the CUDA toolkit, or put its bin folder on PATH, to assemble PTX");
}

static const struct {
	const char *what;
	void (*check)(const char *root, struct tcb_doctor_row *row);
} checks[] = {
	{ "processor", check_processor },
	{ "cores", check_cores },
	{ "control groups", check_control_groups },
	{ "hwloc", check_hwloc },
	{ "huge pages", check_huge_pages },
	{ "clock", check_clock },
	{ "load", check_load },
	{ "hardware counters", check_hardware_counters },
	{ "PAPI", check_papi },
	{ "CUDA driver", check_cuda },
	{ "NVML", check_nvml },
	{ "CUPTI", check_cupti },
	{ "nvJitLink", check_nvjitlink },
	{ "ptxas", check_ptxas },
};

size_t tcb_doctor_in(const char *root, struct tcb_doctor_row *out, size_t capacity)
{
	size_t count = sizeof checks / sizeof *checks;
	if (count > capacity)
		count = capacity;
	for (size_t i = 0; i < count; i++) {
		out[i] = (struct tcb_doctor_row){ .what = checks[i].what };
		checks[i].check(root, &out[i]);
	}
	return count;
}

size_t tcb_doctor(struct tcb_doctor_row *out, size_t capacity)
{
	return tcb_doctor_in("", out, capacity);
}
