/* SPDX-License-Identifier: MIT
 *
 * GPUs: what the kernels of a kind, "sm_90", may use.  Recorded kinds are there
 * without a database; another one has what the nearest recorded kind below it
 * has.  Models of a kind, "sm_90:KEY", share its limits, not its results.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpu_table.h"
#include "rt/runtime.h"

int rt_is_gpu_name(const char *name)
{
	return tcb_gpu_parse(name, NULL, NULL);
}

uint32_t rt_gpu_devices(struct rt_device *out, uint32_t capacity)
{
	struct tcb_gpu gpu;
	uint32_t count = 0;

	for (size_t kind = 0; count < capacity && tcb_gpu_kind(kind, &gpu); kind++) {
		/* Several cards of one kind: the first stands for it. */
		if (count && strcmp(out[count - 1].name, gpu.device.name) == 0)
			continue;
		memset(&out[count], 0, sizeof(*out));
		memcpy(out[count].name, gpu.device.name, sizeof(out->name));
		memcpy(out[count].arch, gpu.device.arch, sizeof(out->arch));
		out[count].is_gpu = 1;
		out[count++].target = gpu.device.target;
	}
	return count;
}

void rt_gpu_target(const char *name, struct tcb_target *out)
{
	unsigned capability = 0;
	size_t shared_most = 0;
	struct tcb_gpu gpu, below;

	tcb_gpu_parse(name, &capability, NULL);
	tcb_gpu_table_row(0, &below);
	for (size_t row = 0; tcb_gpu_table_row(row, &gpu); row++) {
		const struct tcb_target *target = &gpu.device.target;

		if (target->capability <= capability && target->capability > below.device.target.capability)
			below = gpu;
		if (target->shared_optin_bytes > shared_most)
			shared_most = target->shared_optin_bytes;
	}
	if (below.device.target.capability != capability) {
		below.device.target.capability = capability;
		/* What was measured there ran: nobody knows a smaller limit. */
		below.device.target.shared_optin_bytes = shared_most;
		tcb_gpu_complete(&below);
	}
	*out = below.device.target;
}
