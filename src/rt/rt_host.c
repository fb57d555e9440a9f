/* SPDX-License-Identifier: MIT
 *
 * This host: its CPU devices, keyed as the tuner keys them, and how many
 * processors this process may use: those of rt_processors.c, or what the control
 * group's quota grants, as src/device counts the threads of a sweep.
 */
#include <stdio.h>
#include <string.h>

#include "base/cgroup.h"
#include "rt/runtime.h"

static uint32_t add_known(const struct tcb_kind *kind, struct rt_device *out, uint32_t capacity, struct tcb_error *err)
{
	struct tcb_device known[RT_KNOWN_DEVICES_MAX];
	const uint32_t count = (uint32_t)kind->known(known, capacity, err);

	for (uint32_t i = 0; i < count; i++) {
		memset(&out[i], 0, sizeof(*out));
		memcpy(out[i].name, known[i].name, sizeof(out->name));
		memcpy(out[i].arch, known[i].arch, sizeof(out->arch));
		out[i].target = known[i].target;
		if (kind->has_threads)
			memcpy(out[i].key, known[i].key, sizeof(out->key));
	}
	return count;
}

uint32_t rt_known_devices(struct rt_device *out, uint32_t capacity, uint32_t *host_count_out, struct tcb_error *err)
{
	uint32_t count = 0;

	for (int is_other = 0; is_other < 2; is_other++) {
		for (size_t i = 0; tcb_kinds[i]; i++)
			if (tcb_kinds[i]->has_threads != is_other)
				count += add_known(tcb_kinds[i], out + count, capacity - count, err);
		if (!is_other)
			*host_count_out = count;
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
