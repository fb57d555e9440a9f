/* SPDX-License-Identifier: MIT
 *
 * This host: its CPU devices, keyed as the tuner keys them, and the processors
 * that this process may use, counted through the affinity mask, the kernel's
 * list of sibling hardware threads and the control group's quota, as
 * src/device counts the threads of a sweep.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cgroup.h"
#include "base/cpu_identity.h"
#include "rt/runtime.h"

static void add_device(struct rt_device *out, const struct tcb_device *host, const char *name, uint32_t isa_mask)
{
	memset(out, 0, sizeof(*out));
	snprintf(out->name, sizeof(out->name), "%s", name);
	memcpy(out->key, host->key, sizeof(out->key));
	memcpy(out->arch, host->arch, sizeof(out->arch));
	out->target = host->target;
	out->target.isa_mask = isa_mask;
}

uint32_t rt_host_devices(struct rt_device *out, uint32_t capacity, struct tcb_error *err)
{
	struct tcb_device host;
	uint32_t count = 0;

	/* Asked once: CPUID is slow in virtual machines.  The families share the key, see cpu_identity.h. */
	if (tcb_cpu_identify("cpu", 1, &host, err) != TCB_OK)
		return 0;
	add_device(&out[count++], &host, "cpu", host.target.isa_mask);
	for (int isa = 0; isa < TCB_ISA_COUNT && count < capacity; isa++) {
		char name[TCB_DEVICE_NAME_MAX];

		if (!tcb_target_has(&host.target, (enum tcb_isa)isa))
			continue;
		snprintf(name, sizeof(name), "cpu:%s", tcb_isa_text((enum tcb_isa)isa));
		add_device(&out[count++], &host, name, 1u << isa | 1u << TCB_ISA_SCALAR);
	}
	return count;
}

/* Is CPU the first allowed one of its core?  SIBLINGS: "0,64" or "0-1"; an unreadable list counts CPU as a core. */
static int is_first_of_core(int cpu, const cpu_set_t *allowed)
{
	char path[96], line[256] = "";
	char *cursor = line;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
	file = fopen(path, "r");
	if (!file)
		return 1;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	fclose(file);
	while (*cursor >= '0' && *cursor <= '9') {
		long first = strtol(cursor, &cursor, 10), last = first;

		if (*cursor == '-')
			last = strtol(cursor + 1, &cursor, 10);
		for (long sibling = first; sibling <= last && sibling < CPU_SETSIZE; sibling++)
			if (CPU_ISSET((size_t)sibling, allowed))
				return sibling == cpu;
		if (*cursor == ',')
			cursor++;
	}
	return 1;
}

void rt_host_processors(unsigned *processors_out, unsigned *cores_out)
{
	cpu_set_t allowed;
	unsigned granted;

	*processors_out = *cores_out = 1;
	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return;
	*processors_out = *cores_out = 0;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET((size_t)cpu, &allowed))
			continue;
		(*processors_out)++;
		*cores_out += (unsigned)is_first_of_core(cpu, &allowed);
	}
	if (*cores_out == 0)
		*cores_out = *processors_out;
	granted = tcb_cgroup_cpu_limit("/proc/self/cgroup", "/sys/fs/cgroup");
	if (granted && granted < *cores_out)
		*cores_out = granted;
}
