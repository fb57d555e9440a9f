/* SPDX-License-Identifier: MIT
 *
 * This host: its CPU devices, keyed as the tuner keys them, and how many
 * processors this process may use: those of rt_processors.c, or what the control
 * group's quota grants, as src/device counts the threads of a sweep.
 */
#include <stdio.h>
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

void rt_host_processors(unsigned *processors_out, unsigned *cores_out)
{
	struct rt_processor all[RT_PROCESSORS_MAX];
	struct tcb_cgroup granted;
	unsigned count, cores = 0;
	cpu_set_t allowed;

	*processors_out = *cores_out = 1;
	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return;
	count = rt_processors(RT_SYSFS_CPUS, &allowed, all);
	for (unsigned i = 0; i < count; i++)
		cores += all[i].place == 0;
	tcb_cgroup_read("", &granted);
	*processors_out = count;
	*cores_out = granted.processors && granted.processors < cores ? granted.processors : cores;
}
