/* SPDX-License-Identifier: MIT
 *
 * What this host has for kernels on its processors.  Each function looks for
 * itself, so that a row tells what the product would find, not what a package
 * manager believes.
 */
#include <hwloc.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/cgroup.h"
#include "base/cpu_identity.h"
#include "device/counters_private.h"
#include "device/cpu_device.h"
#include "device/doctor_private.h"
#include "device/load.h"

enum { PATH_BYTES_MAX = 512 };
static const double LOAD_MOST = 0.1;

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
		tcb_doctor_found(row, TCB_DOCTOR_MISSING, "%s", err.message);
		tcb_doctor_advise(row, "report this processor to the authors");
		return;
	}
	for (int isa = 0; isa < TCB_ISA_COUNT; isa++) {
		if (!tcb_target_has(&host.target, (enum tcb_isa)isa))
			continue;
		size_t used = strlen(families);
		snprintf(families + used, sizeof families - used, " %s", tcb_isa_text((enum tcb_isa)isa));
	}
	int is_scalar = host.target.isa_mask == 1u << TCB_ISA_SCALAR;
	tcb_doctor_found(row, is_scalar ? TCB_DOCTOR_LIMITED : TCB_DOCTOR_OK, "%.70s:%s", host.model, families);
	if (is_scalar)
		tcb_doctor_advise(row, "only scalar kernels run here: use a processor with AVX2, or of 64-bit Arm "
				       "with dot products, or a virtual machine that shows it");
}

static void check_cores(const char *root, struct tcb_doctor_row *row)
{
	struct tcb_place cpu;
	struct tcb_error err;
	(void)root;
	if (tcb_cpu_open("cpu", 0, &cpu, &err) != TCB_OK) {
		tcb_doctor_found(row, TCB_DOCTOR_MISSING, "%s", err.message);
		tcb_doctor_advise(row, "threads cannot be pinned here");
		return;
	}
	if (cpu.device.target.threads < cpu.device.cores) {
		tcb_doctor_found(row, TCB_DOCTOR_LIMITED, "%u of %u cores may be used", cpu.device.target.threads,
				 cpu.device.cores);
		tcb_doctor_advise(row, "affinity (taskset) or the container's CPU limit leaves out the others");
	} else {
		tcb_doctor_found(row, TCB_DOCTOR_OK, "%u of %u cores may be used", cpu.device.target.threads,
				 cpu.device.cores);
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
	tcb_doctor_found(row, is_limited ? TCB_DOCTOR_LIMITED : TCB_DOCTOR_OK, "%s, %s", processors, memory);
	if (is_limited)
		tcb_doctor_advise(
			row, "threads, rotation and what a sweep allocates keep to it; ask for more where the job or "
			     "container is started");
}

static void check_hwloc(const char *root, struct tcb_doctor_row *row)
{
	unsigned version = hwloc_get_api_version();
	(void)root;
	tcb_doctor_found(row, TCB_DOCTOR_OK, "API %u.%u.%u", version >> 16, version >> 8 & 0xff, version & 0xff);
}

static void check_huge_pages(const char *root, struct tcb_doctor_row *row)
{
	char line[128] = "";
	char *open, *close;
	if (read_line(root, "/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof line) != 0 ||
	    !(open = strchr(line, '[')) || !(close = strchr(open, ']'))) {
		tcb_doctor_found(row, TCB_DOCTOR_MISSING, "this kernel has no transparent huge pages");
		tcb_doctor_advise(
			row, "large weights pay for more TLB misses; use a kernel with CONFIG_TRANSPARENT_HUGEPAGE");
		return;
	}
	*close = '\0';
	if (strcmp(open + 1, "never") == 0) {
		tcb_doctor_found(row, TCB_DOCTOR_LIMITED, "transparent huge pages: never");
		tcb_doctor_advise(row, "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
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
	tcb_doctor_found(row, huge == bytes ? TCB_DOCTOR_OK : TCB_DOCTOR_LIMITED,
			 "transparent huge pages: %s; %zu of 8 MiB asked for came in huge pages", open + 1, huge >> 20);
	if (huge < bytes)
		tcb_doctor_advise(
			row,
			"memory is fragmented or full: free some, or as root: echo 1 > /proc/sys/vm/compact_memory");
}

static void check_clock(const char *root, struct tcb_doctor_row *row)
{
	char governor[64], no_turbo[8] = "", boost[8] = "";
	if (read_line(root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor, sizeof governor) != 0) {
		tcb_doctor_found(row, TCB_DOCTOR_LIMITED, "the clock cannot be seen or set here");
		tcb_doctor_advise(row, "nothing to do: finals are paired and interleaved, so a drifting clock cancels");
		return;
	}
	read_line(root, "/sys/devices/system/cpu/intel_pstate/no_turbo", no_turbo, sizeof no_turbo);
	read_line(root, "/sys/devices/system/cpu/cpufreq/boost", boost, sizeof boost);
	const char *turbo = "";
	if (no_turbo[0] || boost[0])
		turbo = no_turbo[0] == '1' || boost[0] == '0' ? ", turbo off" : ", turbo on";
	int is_fixed = strcmp(governor, "performance") == 0;
	tcb_doctor_found(row, is_fixed ? TCB_DOCTOR_OK : TCB_DOCTOR_LIMITED, "governor %s%s", governor, turbo);
	if (!is_fixed)
		tcb_doctor_advise(row, "for steadier numbers, as root: cpupower frequency-set -g performance");
}

/* Who has the processors right now. */
static void check_load(const char *root, struct tcb_doctor_row *row)
{
	const struct timespec wait = { .tv_nsec = 300000000 };
	struct tcb_load before, after;
	double others;

	if (root[0]) { /* another machine's files say nothing of it */
		tcb_doctor_found(row, TCB_DOCTOR_LIMITED, "not of this machine");
		tcb_doctor_advise(row, "ask the machine itself");
		return;
	}
	tcb_load_look(&before);
	nanosleep(&wait, NULL);
	tcb_load_look(&after);
	others = tcb_load_others(&before, &after);
	if (isnan(others)) {
		tcb_doctor_found(row, TCB_DOCTOR_LIMITED, "who uses the processors cannot be seen here");
		tcb_doctor_advise(row, "nothing to do; a sweep then does not know whether others disturbed it");
		return;
	}
	tcb_doctor_found(row, others > LOAD_MOST ? TCB_DOCTOR_LIMITED : TCB_DOCTOR_OK,
			 "others have %.0f %% of the processors' time", 100 * others);
	if (others > LOAD_MOST)
		tcb_doctor_advise(row,
				  "what is measured now will be noisy: stop other work, or sweep when it has ended");
}

static void check_hardware_counters(const char *root, struct tcb_doctor_row *row)
{
	char why[TCB_COUNTER_NOTE_MAX];
	struct tcb_device host;
	int probe = tcb_perf_probe(), paranoid = tcb_perf_paranoid();
	(void)root;
	if (probe == 0) {
		tcb_doctor_found(row, TCB_DOCTOR_OK, "kernel.perf_event_paranoid %d", paranoid);
		return;
	}
	int is_virtual = tcb_cpu_identify("cpu", 1, &host, NULL) == TCB_OK && host.is_virtual;
	int is_software = tcb_software_probe() == TCB_SOFTWARE_PERF;
	tcb_perf_explain(probe, paranoid, is_virtual, why);
	tcb_doctor_found(row, TCB_DOCTOR_LIMITED, "%s",
			 is_software ? "software events only" : "none: getrusage is used");
	tcb_doctor_advise(row, "%s", why);
}

static void check_papi(const char *root, struct tcb_doctor_row *row)
{
	char version[16], path[128], why[TCB_COUNTER_NOTE_MAX];
	(void)root;
	if (tcb_papi_probe(version, path, why) == 0) {
		tcb_doctor_found(row, TCB_DOCTOR_OK, "%s, %s", version, path);
		return;
	}
	tcb_doctor_found(row, TCB_DOCTOR_MISSING, "hardware events cannot be counted");
	tcb_doctor_advise(row, "%s", why);
}

const struct tcb_doctor_check tcb_doctor_cpu[] = {
	{ "processor", check_processor },
	{ "cores", check_cores },
	{ "control groups", check_control_groups },
	{ "hwloc", check_hwloc },
	{ "huge pages", check_huge_pages },
	{ "clock", check_clock },
	{ "load", check_load },
	{ "hardware counters", check_hardware_counters },
	{ "PAPI", check_papi },
	{ NULL, NULL },
};
