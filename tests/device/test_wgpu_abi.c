/* SPDX-License-Identifier: MIT
 *
 * WebGPU's C interface as device/wgpu_abi.h declares it, held against the
 * library's headers: sizes, the offset of the last member, numbers.  Built only where
 * scripts/fetch-wgpu.sh has put them.
 */
#include "cmocka_all.h"

#include <webgpu.h>

#include <wgpu.h>

#include "base/kinds/wgpu_kind.h"
#include "device/wgpu_abi.h"

struct row {
	const char *name;
	size_t their_bytes, our_bytes, their_last, our_last;
};

#define ROW(theirs, their_member, ours, our_member)                                         \
	{                                                                                   \
#ours, sizeof(theirs), sizeof(struct ours), offsetof(theirs, their_member), \
			offsetof(struct ours, our_member)                                   \
	}

static void layouts_agree(void **state)
{
	static const struct row rows[] = {
		ROW(WGPUStringView, length, tcb_wgpu_text, length),
		ROW(WGPUChainedStruct, sType, tcb_wgpu_chain, type),
		ROW(WGPURequestDeviceCallbackInfo, userdata2, tcb_wgpu_callback, second),
		ROW(WGPUDeviceLostCallbackInfo, callback, tcb_wgpu_callback, call),
		ROW(WGPUBufferMapCallbackInfo, userdata1, tcb_wgpu_callback, first),
		ROW(WGPUUncapturedErrorCallbackInfo, userdata2, tcb_wgpu_error_callback, second),
		ROW(WGPUInstanceExtras, displayHandle, tcb_wgpu_instance_extras, display),
		ROW(WGPUInstanceExtras, budgetForDeviceLoss, tcb_wgpu_instance_extras, budget_loss),
		ROW(WGPUInstanceDescriptor, requiredLimits, tcb_wgpu_instance, limits),
		ROW(WGPUInstanceEnumerateAdapterOptions, backends, tcb_wgpu_enumerate, backends),
		ROW(WGPULimits, maxImmediateSize, tcb_wgpu_limits, immediate_bytes),
		ROW(WGPULimits, maxComputeWorkgroupsPerDimension, tcb_wgpu_limits, workgroups),
		ROW(WGPULimits, maxComputeWorkgroupStorageSize, tcb_wgpu_limits, workgroup_bytes),
		ROW(WGPULimits, maxStorageBuffersPerShaderStage, tcb_wgpu_limits, storage_buffers),
		ROW(WGPULimits, maxStorageBufferBindingSize, tcb_wgpu_limits, storage_bytes),
		ROW(WGPULimits, maxBufferSize, tcb_wgpu_limits, buffer_bytes),
		ROW(WGPUAdapterInfo, subgroupMaxSize, tcb_wgpu_adapter_info, subgroup_most),
		ROW(WGPUAdapterInfo, backendType, tcb_wgpu_adapter_info, backend),
		ROW(WGPUDeviceDescriptor, uncapturedErrorCallbackInfo, tcb_wgpu_device, error),
		ROW(WGPUDeviceDescriptor, requiredLimits, tcb_wgpu_device, limits),
		ROW(WGPUShaderModuleDescriptor, label, tcb_wgpu_named, label),
		ROW(WGPUCommandEncoderDescriptor, label, tcb_wgpu_named, label),
		ROW(WGPUShaderSourceWGSL, code, tcb_wgpu_source, code),
		ROW(WGPUBufferDescriptor, mappedAtCreation, tcb_wgpu_buffer, is_mapped),
		ROW(WGPUConstantEntry, value, tcb_wgpu_constant, value),
		ROW(WGPUComputePipelineDescriptor, compute, tcb_wgpu_pipeline, compute),
		ROW(WGPUBindGroupEntry, textureView, tcb_wgpu_binding, texture),
		ROW(WGPUBindGroupEntry, size, tcb_wgpu_binding, bytes),
		ROW(WGPUBindGroupDescriptor, entries, tcb_wgpu_bind_group, entries),
		ROW(WGPUQuerySetDescriptor, count, tcb_wgpu_query_set, count),
		ROW(WGPUPassTimestampWrites, endOfPassWriteIndex, tcb_wgpu_timestamps, end),
		ROW(WGPUComputePassDescriptor, timestampWrites, tcb_wgpu_pass, timestamps),
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (rows[i].their_bytes != rows[i].our_bytes || rows[i].their_last != rows[i].our_last)
			fail_msg("%s: %zu bytes with a member at %zu, the library has %zu and %zu", rows[i].name,
				 rows[i].our_bytes, rows[i].our_last, rows[i].their_bytes, rows[i].their_last);
	}
}

static void numbers_agree(void **state)
{
	(void)state;
	assert_int_equal(TCB_WGPU_CHAIN_WGSL, WGPUSType_ShaderSourceWGSL);
	assert_int_equal(TCB_WGPU_CHAIN_INSTANCE, WGPUSType_InstanceExtras);
	assert_int_equal(TCB_WGPU_ALLOW_SPONTANEOUS, WGPUCallbackMode_AllowSpontaneous);
	assert_int_equal(TCB_WGPU_SUCCESS, WGPUStatus_Success);
	assert_int_equal(TCB_WGPU_SUCCESS, WGPUMapAsyncStatus_Success);
	assert_int_equal(TCB_WGPU_SUCCESS, WGPURequestDeviceStatus_Success);
	assert_int_equal(TCB_WGPU_QUERY_TIMESTAMP, WGPUQueryType_Timestamp);
	assert_int_equal(TCB_WGPU_MAP_READ, WGPUMapMode_Read);
	assert_int_equal(TCB_WGPU_ADAPTER_CPU, WGPUAdapterType_CPU);
	assert_int_equal(TCB_WGPU_BACKENDS_PRIMARY, WGPUInstanceBackend_Primary);
	assert_int_equal(TCB_WGPU_FEATURE_TIMESTAMPS, WGPUFeatureName_TimestampQuery);
	assert_int_equal(TCB_WGPU_FEATURE_F16, WGPUFeatureName_ShaderF16);
	assert_int_equal(TCB_WGPU_FEATURE_SUBGROUPS, WGPUNativeFeature_Subgroup);
	assert_int_equal(TCB_WGPU_USE_MAP_READ, WGPUBufferUsage_MapRead);
	assert_int_equal(TCB_WGPU_USE_COPY_FROM, WGPUBufferUsage_CopySrc);
	assert_int_equal(TCB_WGPU_USE_COPY_TO, WGPUBufferUsage_CopyDst);
	assert_int_equal(TCB_WGPU_USE_STORAGE, WGPUBufferUsage_Storage);
	assert_int_equal(TCB_WGPU_USE_RESOLVE, WGPUBufferUsage_QueryResolve);
	assert_int_equal(sizeof(struct tcb_wgpu_pipeline),
			 offsetof(WGPUComputePipelineDescriptor, compute) + sizeof(WGPUComputeState));
	assert_int_equal(sizeof(WGPUFuture), sizeof(uint64_t));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(layouts_agree), cmocka_unit_test(numbers_agree) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
