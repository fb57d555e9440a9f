/* SPDX-License-Identifier: MIT
 *
 * The part of webgpu.h (the C interface of WebGPU) and of wgpu-native's
 * extensions to it that is used here, as of wgpu-native 29.  Handles have the
 * interface's names, structs names of our own; tests/device/test_wgpu_abi.c
 * holds them against the library's headers where these are found.
 */
#ifndef TCB_DEVICE_WGPU_ABI_H
#define TCB_DEVICE_WGPU_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef struct WGPUAdapterImpl *WGPUAdapter;
typedef struct WGPUBindGroupImpl *WGPUBindGroup;
typedef struct WGPUBindGroupLayoutImpl *WGPUBindGroupLayout;
typedef struct WGPUBufferImpl *WGPUBuffer;
typedef struct WGPUCommandBufferImpl *WGPUCommandBuffer;
typedef struct WGPUCommandEncoderImpl *WGPUCommandEncoder;
typedef struct WGPUComputePassEncoderImpl *WGPUComputePassEncoder;
typedef struct WGPUComputePipelineImpl *WGPUComputePipeline;
typedef struct WGPUDeviceImpl *WGPUDevice;
typedef struct WGPUInstanceImpl *WGPUInstance;
typedef struct WGPUQuerySetImpl *WGPUQuerySet;
typedef struct WGPUQueueImpl *WGPUQueue;
typedef struct WGPUShaderModuleImpl *WGPUShaderModule;

enum {
	TCB_WGPU_CHAIN_WGSL = 2,             /* WGPUSType_ShaderSourceWGSL */
	TCB_WGPU_CHAIN_INSTANCE = 0x30004,   /* WGPUSType_InstanceExtras */
	TCB_WGPU_ALLOW_SPONTANEOUS = 3,      /* WGPUCallbackMode: callbacks come when they come */
	TCB_WGPU_SUCCESS = 1,                /* of every ...Status that is used */
	TCB_WGPU_QUERY_TIMESTAMP = 2,        /* WGPUQueryType */
	TCB_WGPU_MAP_READ = 1,               /* WGPUMapMode */
	TCB_WGPU_BACKENDS_PRIMARY = 0x2d,    /* WGPUInstanceBackend: Vulkan, Metal, D3D12, a browser's */
	TCB_WGPU_FEATURE_TIMESTAMPS = 9,     /* WGPUFeatureName */
	TCB_WGPU_FEATURE_F16 = 11,           /* the same */
	TCB_WGPU_FEATURE_SUBGROUPS = 0x30021 /* WGPUNativeFeature */
};
/* WGPUBufferUsage */
enum {
	TCB_WGPU_USE_MAP_READ = 1,
	TCB_WGPU_USE_COPY_FROM = 4,
	TCB_WGPU_USE_COPY_TO = 8,
	TCB_WGPU_USE_STORAGE = 0x80,
	TCB_WGPU_USE_RESOLVE = 0x200
};

struct tcb_wgpu_text { /* WGPUStringView */
	const char *data;
	size_t length;
};

struct tcb_wgpu_chain { /* WGPUChainedStruct */
	const struct tcb_wgpu_chain *next;
	int type;
};

/* WGPU...CallbackInfo of every kind but that of uncaptured errors, which has no mode */
struct tcb_wgpu_callback {
	const struct tcb_wgpu_chain *next;
	int mode;
	void (*call)(void);
	void *first, *second;
};

struct tcb_wgpu_error_callback { /* WGPUUncapturedErrorCallbackInfo */
	const struct tcb_wgpu_chain *next;
	void (*call)(const WGPUDevice *device, int type, struct tcb_wgpu_text message, void *first, void *second);
	void *first, *second;
};

struct tcb_wgpu_instance_extras { /* WGPUInstanceExtras */
	struct tcb_wgpu_chain chain;
	uint64_t backends, flags;
	int dx12_compiler, gles_version, gl_fences;
	struct tcb_wgpu_text dxc_path;
	int dxc_model, dx12_swapchain;
	const uint8_t *budget_create, *budget_loss;
	int display;
	void *display_data[2];
};

struct tcb_wgpu_instance { /* WGPUInstanceDescriptor */
	const struct tcb_wgpu_chain *next;
	size_t feature_count;
	const int *features;
	const void *limits;
};

struct tcb_wgpu_enumerate { /* WGPUInstanceEnumerateAdapterOptions */
	const struct tcb_wgpu_chain *next;
	uint64_t backends;
};

struct tcb_wgpu_limits { /* WGPULimits */
	const struct tcb_wgpu_chain *next;
	uint32_t textures[4], bind_groups, bind_groups_and_vertex_buffers, bindings, dynamic[2];
	uint32_t sampled_textures, samplers, storage_buffers, storage_textures, uniform_buffers;
	uint64_t uniform_bytes, storage_bytes;
	uint32_t uniform_alignment, storage_alignment, vertex_buffers;
	uint64_t buffer_bytes;
	uint32_t vertex[2], variables, colors[2];
	uint32_t workgroup_bytes, workgroup_invocations, workgroup_size[3], workgroups, immediate_bytes;
};

struct tcb_wgpu_features { /* WGPUSupportedFeatures */
	size_t count;
	const int *list;
};

struct tcb_wgpu_adapter_info { /* WGPUAdapterInfo */
	const struct tcb_wgpu_chain *next;
	struct tcb_wgpu_text vendor, architecture, device, description;
	int backend, type;
	uint32_t vendor_id, device_id, subgroup_least, subgroup_most;
};

struct tcb_wgpu_device { /* WGPUDeviceDescriptor */
	const struct tcb_wgpu_chain *next;
	struct tcb_wgpu_text label;
	size_t feature_count;
	const int *features;
	const struct tcb_wgpu_limits *limits;
	struct {
		const struct tcb_wgpu_chain *next;
		struct tcb_wgpu_text label;
	} queue; /* WGPUQueueDescriptor */
	struct tcb_wgpu_callback lost;
	struct tcb_wgpu_error_callback error;
};

struct tcb_wgpu_named { /* WGPU...Descriptor of what has a label alone: shader modules, command encoders */
	const struct tcb_wgpu_chain *next;
	struct tcb_wgpu_text label;
};

struct tcb_wgpu_source { /* WGPUShaderSourceWGSL */
	struct tcb_wgpu_chain chain;
	struct tcb_wgpu_text code;
};

struct tcb_wgpu_buffer { /* WGPUBufferDescriptor */
	const struct tcb_wgpu_chain *next;
	struct tcb_wgpu_text label;
	uint64_t usage, bytes;
	uint32_t is_mapped;
};

struct tcb_wgpu_constant { /* WGPUConstantEntry */
	const struct tcb_wgpu_chain *next;
	struct tcb_wgpu_text name;
	double value;
};

struct tcb_wgpu_pipeline { /* WGPUComputePipelineDescriptor, with its WGPUComputeState */
	const struct tcb_wgpu_chain *next;
	struct tcb_wgpu_text label;
	void *layout;
	struct {
		const struct tcb_wgpu_chain *next;
		WGPUShaderModule module;
		struct tcb_wgpu_text entry;
		size_t constant_count;
		const struct tcb_wgpu_constant *constants;
	} compute;
};

struct tcb_wgpu_binding { /* WGPUBindGroupEntry */
	const struct tcb_wgpu_chain *next;
	uint32_t binding;
	WGPUBuffer buffer;
	uint64_t offset, bytes;
	void *sampler, *texture;
};

struct tcb_wgpu_bind_group { /* WGPUBindGroupDescriptor */
	const struct tcb_wgpu_chain *next;
	struct tcb_wgpu_text label;
	WGPUBindGroupLayout layout;
	size_t count;
	const struct tcb_wgpu_binding *entries;
};

struct tcb_wgpu_query_set { /* WGPUQuerySetDescriptor */
	const struct tcb_wgpu_chain *next;
	struct tcb_wgpu_text label;
	int type;
	uint32_t count;
};

struct tcb_wgpu_timestamps { /* WGPUPassTimestampWrites */
	const struct tcb_wgpu_chain *next;
	WGPUQuerySet set;
	uint32_t begin, end;
};

struct tcb_wgpu_pass { /* WGPUComputePassDescriptor */
	const struct tcb_wgpu_chain *next;
	struct tcb_wgpu_text label;
	const struct tcb_wgpu_timestamps *timestamps;
};

/* The interface's functions: X(member, symbol without "wgpu", type, parameters) */
#define TCB_WGPU_FUNCTIONS(X)                                                                                         \
	X(create_instance, CreateInstance, WGPUInstance, (const struct tcb_wgpu_instance *with))                      \
	X(get_version, GetVersion, uint32_t, (void))                                                                  \
	X(set_log_level, SetLogLevel, void, (int level))                                                              \
	X(instance_release, InstanceRelease, void, (WGPUInstance instance))                                           \
	X(enumerate_adapters, InstanceEnumerateAdapters, size_t,                                                      \
	  (WGPUInstance instance, const struct tcb_wgpu_enumerate *with, WGPUAdapter *adapters))                      \
	X(adapter_release, AdapterRelease, void, (WGPUAdapter adapter))                                               \
	X(adapter_info, AdapterGetInfo, int, (WGPUAdapter adapter, struct tcb_wgpu_adapter_info * info))              \
	X(adapter_info_free, AdapterInfoFreeMembers, void, (struct tcb_wgpu_adapter_info info))                       \
	X(adapter_limits, AdapterGetLimits, int, (WGPUAdapter adapter, struct tcb_wgpu_limits * limits))              \
	X(adapter_has, AdapterHasFeature, uint32_t, (WGPUAdapter adapter, int feature))                               \
	X(request_device, AdapterRequestDevice, uint64_t,                                                             \
	  (WGPUAdapter adapter, const struct tcb_wgpu_device *with, struct tcb_wgpu_callback callback))               \
	X(device_release, DeviceRelease, void, (WGPUDevice device))                                                   \
	X(device_queue, DeviceGetQueue, WGPUQueue, (WGPUDevice device))                                               \
	X(device_poll, DevicePoll, uint32_t, (WGPUDevice device, uint32_t wait, const uint64_t *submission))          \
	X(create_buffer, DeviceCreateBuffer, WGPUBuffer, (WGPUDevice device, const struct tcb_wgpu_buffer *with))     \
	X(create_module, DeviceCreateShaderModule, WGPUShaderModule,                                                  \
	  (WGPUDevice device, const struct tcb_wgpu_named *with))                                                     \
	X(create_module_trusted, DeviceCreateShaderModuleTrusted, WGPUShaderModule,                                   \
	  (WGPUDevice device, const struct tcb_wgpu_named *with, uint64_t checks))                                    \
	X(create_pipeline, DeviceCreateComputePipeline, WGPUComputePipeline,                                          \
	  (WGPUDevice device, const struct tcb_wgpu_pipeline *with))                                                  \
	X(create_bind_group, DeviceCreateBindGroup, WGPUBindGroup,                                                    \
	  (WGPUDevice device, const struct tcb_wgpu_bind_group *with))                                                \
	X(create_query_set, DeviceCreateQuerySet, WGPUQuerySet,                                                       \
	  (WGPUDevice device, const struct tcb_wgpu_query_set *with))                                                 \
	X(create_encoder, DeviceCreateCommandEncoder, WGPUCommandEncoder,                                             \
	  (WGPUDevice device, const struct tcb_wgpu_named *with))                                                     \
	X(module_release, ShaderModuleRelease, void, (WGPUShaderModule module))                                       \
	X(pipeline_layout, ComputePipelineGetBindGroupLayout, WGPUBindGroupLayout,                                    \
	  (WGPUComputePipeline pipeline, uint32_t group))                                                             \
	X(pipeline_release, ComputePipelineRelease, void, (WGPUComputePipeline pipeline))                             \
	X(layout_release, BindGroupLayoutRelease, void, (WGPUBindGroupLayout layout))                                 \
	X(bind_group_release, BindGroupRelease, void, (WGPUBindGroup group))                                          \
	X(query_set_release, QuerySetRelease, void, (WGPUQuerySet set))                                               \
	X(buffer_map, BufferMapAsync, uint64_t,                                                                       \
	  (WGPUBuffer buffer, uint64_t mode, size_t offset, size_t bytes, struct tcb_wgpu_callback callback))         \
	X(buffer_mapped, BufferGetConstMappedRange, const void *, (WGPUBuffer buffer, size_t offset, size_t bytes))   \
	X(buffer_unmap, BufferUnmap, void, (WGPUBuffer buffer))                                                       \
	X(buffer_destroy, BufferDestroy, void, (WGPUBuffer buffer))                                                   \
	X(buffer_release, BufferRelease, void, (WGPUBuffer buffer))                                                   \
	X(copy_buffer, CommandEncoderCopyBufferToBuffer, void,                                                        \
	  (WGPUCommandEncoder encoder, WGPUBuffer from, uint64_t from_at, WGPUBuffer to, uint64_t to_at,              \
	   uint64_t bytes))                                                                                           \
	X(clear_buffer, CommandEncoderClearBuffer, void,                                                              \
	  (WGPUCommandEncoder encoder, WGPUBuffer buffer, uint64_t at, uint64_t bytes))                               \
	X(resolve, CommandEncoderResolveQuerySet, void,                                                               \
	  (WGPUCommandEncoder encoder, WGPUQuerySet set, uint32_t first, uint32_t count, WGPUBuffer to, uint64_t at)) \
	X(begin_pass, CommandEncoderBeginComputePass, WGPUComputePassEncoder,                                         \
	  (WGPUCommandEncoder encoder, const struct tcb_wgpu_pass *with))                                             \
	X(finish, CommandEncoderFinish, WGPUCommandBuffer,                                                            \
	  (WGPUCommandEncoder encoder, const struct tcb_wgpu_named *with))                                            \
	X(encoder_release, CommandEncoderRelease, void, (WGPUCommandEncoder encoder))                                 \
	X(command_release, CommandBufferRelease, void, (WGPUCommandBuffer command))                                   \
	X(set_pipeline, ComputePassEncoderSetPipeline, void,                                                          \
	  (WGPUComputePassEncoder pass, WGPUComputePipeline pipeline))                                                \
	X(set_bind_group, ComputePassEncoderSetBindGroup, void,                                                       \
	  (WGPUComputePassEncoder pass, uint32_t index, WGPUBindGroup group, size_t count, const uint32_t *offsets))  \
	X(dispatch, ComputePassEncoderDispatchWorkgroups, void,                                                       \
	  (WGPUComputePassEncoder pass, uint32_t x, uint32_t y, uint32_t z))                                          \
	X(end_pass, ComputePassEncoderEnd, void, (WGPUComputePassEncoder pass))                                       \
	X(pass_release, ComputePassEncoderRelease, void, (WGPUComputePassEncoder pass))                               \
	X(submit, QueueSubmit, void, (WGPUQueue queue, size_t count, const WGPUCommandBuffer *commands))              \
	X(write_buffer, QueueWriteBuffer, void,                                                                       \
	  (WGPUQueue queue, WGPUBuffer buffer, uint64_t at, const void *data, size_t bytes))                          \
	X(timestamp_period, QueueGetTimestampPeriod, float, (WGPUQueue queue))                                        \
	X(queue_release, QueueRelease, void, (WGPUQueue queue))

#endif
