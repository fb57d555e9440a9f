/* SPDX-License-Identifier: MIT
 *
 * What a program tells of its device of WebGPU: in, the numbers of webgpu.h; out,
 * the name that results are stored under, and the limits that answers keep to.
 */
#include <stdio.h>

#include "base/kinds/wgpu_kind.h"
#include "base/sizes.h"
#include "rt/runtime.h"
#include "tcbrt_wgpu.h"

void rt_wgpu_name(const struct tcbrt_wgpu_adapter *adapter, char out[TCB_DEVICE_NAME_MAX])
{
	struct tcb_device device = { .target.wgpu.is_checked = 1 };

	tcb_wgpu_identify(&(struct tcb_wgpu_identity){ .vendor_id = adapter->vendor_id,
						       .device_id = adapter->device_id,
						       .version = adapter->version,
						       .backend = adapter->backend,
						       .type = adapter->type,
						       .device = adapter->device,
						       .description = adapter->description,
						       .device_bytes = adapter->device_bytes,
						       .description_bytes = adapter->description_bytes },
			  &device);
	tcb_wgpu_complete(&device);
	if (adapter->is_trusted)
		tcb_wgpu_trust(&device);
	(void)snprintf(out, TCB_DEVICE_NAME_MAX, "%.24s:%s", device.name, device.key);
}

void rt_wgpu_limit(const struct tcbrt_wgpu_adapter *adapter, struct tcb_target *target)
{
	struct tcb_wgpu_target *wgpu = &target->wgpu;
	const unsigned features = adapter->features;

	wgpu->features = (features & TCBRT_WGPU_F16 ? 1u << TCB_WGPU_F16 : 0) |
			 (features & TCBRT_WGPU_SUBGROUPS ? 1u << TCB_WGPU_SUBGROUPS : 0) |
			 (features & TCBRT_WGPU_DP4A ? 1u << TCB_WGPU_DP4A : 0);
	if (!(features & TCBRT_WGPU_SUBGROUPS)) {
		wgpu->subgroup_least = wgpu->subgroup_most = 0;
	} else if (adapter->subgroup_min && adapter->subgroup_max) {
		wgpu->subgroup_least = (unsigned)tcb_least(adapter->subgroup_min, UINT16_MAX);
		wgpu->subgroup_most = (unsigned)tcb_least(adapter->subgroup_max, UINT16_MAX);
	}
	/* No more than there may be in a target. */
	wgpu->workgroup_most = (unsigned)tcb_least(adapter->workgroup_invocations, UINT16_MAX);
	wgpu->size_most[0] = (unsigned)tcb_least(adapter->workgroup_size_x, UINT16_MAX);
	wgpu->grid_most = (unsigned)tcb_least(adapter->workgroups, UINT16_MAX);
	wgpu->bindings_most = (unsigned)tcb_least(adapter->storage_buffers, UINT16_MAX);
	wgpu->workgroup_bytes = adapter->workgroup_bytes;
	wgpu->binding_bytes = adapter->binding_bytes;
	wgpu->is_checked = !adapter->is_trusted;
	tcb_wgpu_guarantee(wgpu);
	tcb_kind_wgpu.complete(target);
}
