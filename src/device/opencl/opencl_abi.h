/* SPDX-License-Identifier: MIT
 *
 * The part of OpenCL's C interface (1.2) that is used here, and where its functions
 * are in the tables of libraries that only loaders open ("cl_khr_icd" in the
 * extensions' specification); tests/device/test_opencl_abi.c holds it against
 * Khronos's headers where these are found.
 */
#ifndef TCB_DEVICE_OPENCL_ABI_H
#define TCB_DEVICE_OPENCL_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef struct tcb_cl_platform_object *tcb_cl_platform;
typedef struct tcb_cl_device_object *tcb_cl_device;
typedef struct tcb_cl_context_object *tcb_cl_context;
typedef struct tcb_cl_queue_object *tcb_cl_queue;
typedef struct tcb_cl_memory_object *tcb_cl_memory;
typedef struct tcb_cl_program_object *tcb_cl_program;
typedef struct tcb_cl_kernel_object *tcb_cl_kernel;
typedef struct tcb_cl_event_object *tcb_cl_event;

enum {
	TCB_CL_SUCCESS = 0,
	TCB_CL_OUT_OF_RESOURCES = -5,
	TCB_CL_OUT_OF_HOST_MEMORY = -6,
	TCB_CL_BUILD_FAILURE = -11,
	TCB_CL_INVALID_BUILD_OPTIONS = -43,
	TCB_CL_PLATFORM_NOT_FOUND = -1001, /* of loaders */
	TCB_CL_TRUE = 1,
	TCB_CL_QUEUE_PROFILING = 1 << 1,
	TCB_CL_MEM_READ_WRITE = 1 << 0,
	TCB_CL_BUFFER_REGION = 0x1220 /* CL_BUFFER_CREATE_TYPE_REGION */
};
/* cl_device_type; ALL has all bits of 32 */
enum { TCB_CL_TYPE_CPU = 1 << 1 };
#define TCB_CL_TYPE_ALL 0xFFFFFFFFu

/* What is asked: of platforms, of devices, of programs' builds, of kernels, of events. */
enum {
	TCB_CL_PLATFORM_VERSION = 0x0901,
	TCB_CL_PLATFORM_NAME = 0x0902,

	TCB_CL_DEVICE_TYPE = 0x1000,
	TCB_CL_DEVICE_VENDOR_ID = 0x1001,
	TCB_CL_DEVICE_COMPUTE_UNITS = 0x1002,
	TCB_CL_DEVICE_WORKGROUP_MOST = 0x1004,
	TCB_CL_DEVICE_SIDES_MOST = 0x1005,
	TCB_CL_DEVICE_CLOCK_MHZ = 0x100C,
	TCB_CL_DEVICE_BUFFER_BYTES = 0x1010,
	TCB_CL_DEVICE_ALIGN_BITS = 0x1019,
	TCB_CL_DEVICE_CACHE_LINE = 0x101D,
	TCB_CL_DEVICE_CACHE_BYTES = 0x101E,
	TCB_CL_DEVICE_MEMORY_BYTES = 0x101F,
	TCB_CL_DEVICE_LOCAL_BYTES = 0x1023,
	TCB_CL_DEVICE_HAS_ECC = 0x1024,
	TCB_CL_DEVICE_NAME = 0x102B,
	TCB_CL_DRIVER_VERSION = 0x102D,
	TCB_CL_DEVICE_EXTENSIONS = 0x1030,
	TCB_CL_DEVICE_PLATFORM = 0x1031,
	TCB_CL_DEVICE_F64 = 0x1032,

	TCB_CL_BUILD_LOG = 0x1183,

	TCB_CL_KERNEL_ARGUMENTS = 0x1191,
	TCB_CL_KERNEL_WORKGROUP_MOST = 0x11B0,
	TCB_CL_KERNEL_LOCAL_BYTES = 0x11B2,

	TCB_CL_EVENT_STATUS = 0x11D3, /* CL_EVENT_COMMAND_EXECUTION_STATUS */
	TCB_CL_EVENT_START = 0x1282,
	TCB_CL_EVENT_END = 0x1283
};

struct tcb_cl_region { /* cl_buffer_region */
	size_t origin, size;
};

/* X(MEMBER, NAME behind "cl", PLACE in a library's table, RESULT, PARAMETERS).  32-bit signed results are statuses. */
#define TCB_OPENCL_FUNCTIONS(X)                                                                                      \
	X(platform_ids, GetPlatformIDs, 0, int32_t, (uint32_t, tcb_cl_platform *, uint32_t *))                       \
	X(platform_info, GetPlatformInfo, 1, int32_t, (tcb_cl_platform, uint32_t, size_t, void *, size_t *))         \
	X(device_ids, GetDeviceIDs, 2, int32_t, (tcb_cl_platform, uint64_t, uint32_t, tcb_cl_device *, uint32_t *))  \
	X(device_info, GetDeviceInfo, 3, int32_t, (tcb_cl_device, uint32_t, size_t, void *, size_t *))               \
	X(create_context, CreateContext, 4, tcb_cl_context,                                                          \
	  (const intptr_t *, uint32_t, const tcb_cl_device *, void (*)(const char *, const void *, size_t, void *),  \
	   void *, int32_t *))                                                                                       \
	X(release_context, ReleaseContext, 7, int32_t, (tcb_cl_context))                                             \
	X(create_queue, CreateCommandQueue, 9, tcb_cl_queue, (tcb_cl_context, tcb_cl_device, uint64_t, int32_t *))   \
	X(release_queue, ReleaseCommandQueue, 11, int32_t, (tcb_cl_queue))                                           \
	X(create_buffer, CreateBuffer, 14, tcb_cl_memory, (tcb_cl_context, uint64_t, size_t, void *, int32_t *))     \
	X(release_memory, ReleaseMemObject, 18, int32_t, (tcb_cl_memory))                                            \
	X(create_program, CreateProgramWithSource, 26, tcb_cl_program,                                               \
	  (tcb_cl_context, uint32_t, const char **, const size_t *, int32_t *))                                      \
	X(release_program, ReleaseProgram, 29, int32_t, (tcb_cl_program))                                            \
	X(build, BuildProgram, 30, int32_t,                                                                          \
	  (tcb_cl_program, uint32_t, const tcb_cl_device *, const char *, void (*)(tcb_cl_program, void *), void *)) \
	X(build_info, GetProgramBuildInfo, 33, int32_t,                                                              \
	  (tcb_cl_program, tcb_cl_device, uint32_t, size_t, void *, size_t *))                                       \
	X(create_kernel, CreateKernel, 34, tcb_cl_kernel, (tcb_cl_program, const char *, int32_t *))                 \
	X(release_kernel, ReleaseKernel, 37, int32_t, (tcb_cl_kernel))                                               \
	X(set_argument, SetKernelArg, 38, int32_t, (tcb_cl_kernel, uint32_t, size_t, const void *))                  \
	X(kernel_info, GetKernelInfo, 39, int32_t, (tcb_cl_kernel, uint32_t, size_t, void *, size_t *))              \
	X(kernel_group_info, GetKernelWorkGroupInfo, 40, int32_t,                                                    \
	  (tcb_cl_kernel, tcb_cl_device, uint32_t, size_t, void *, size_t *))                                        \
	X(event_info, GetEventInfo, 42, int32_t, (tcb_cl_event, uint32_t, size_t, void *, size_t *))                 \
	X(release_event, ReleaseEvent, 44, int32_t, (tcb_cl_event))                                                  \
	X(event_times, GetEventProfilingInfo, 45, int32_t, (tcb_cl_event, uint32_t, size_t, void *, size_t *))       \
	X(finish, Finish, 47, int32_t, (tcb_cl_queue))                                                               \
	X(read_buffer, EnqueueReadBuffer, 48, int32_t,                                                               \
	  (tcb_cl_queue, tcb_cl_memory, uint32_t, size_t, size_t, void *, uint32_t, const tcb_cl_event *,            \
	   tcb_cl_event *))                                                                                          \
	X(write_buffer, EnqueueWriteBuffer, 49, int32_t,                                                             \
	  (tcb_cl_queue, tcb_cl_memory, uint32_t, size_t, size_t, const void *, uint32_t, const tcb_cl_event *,      \
	   tcb_cl_event *))                                                                                          \
	X(copy_buffer, EnqueueCopyBuffer, 50, int32_t,                                                               \
	  (tcb_cl_queue, tcb_cl_memory, tcb_cl_memory, size_t, size_t, size_t, uint32_t, const tcb_cl_event *,       \
	   tcb_cl_event *))                                                                                          \
	X(launch, EnqueueNDRangeKernel, 59, int32_t,                                                                 \
	  (tcb_cl_queue, tcb_cl_kernel, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t,          \
	   const tcb_cl_event *, tcb_cl_event *))                                                                    \
	X(create_part, CreateSubBuffer, 82, tcb_cl_memory,                                                           \
	  (tcb_cl_memory, uint64_t, uint32_t, const void *, int32_t *))                                              \
	X(fill_buffer, EnqueueFillBuffer, 102, int32_t,                                                              \
	  (tcb_cl_queue, tcb_cl_memory, const void *, size_t, size_t, size_t, uint32_t, const tcb_cl_event *,        \
	   tcb_cl_event *))

#endif
