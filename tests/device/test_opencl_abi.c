/* SPDX-License-Identifier: MIT
 *
 * OpenCL's C interface as device/opencl/opencl_abi.h declares it, held against Khronos's
 * headers: numbers, types of parameters by their sizes, places in the drivers' table.
 * Built only where these headers are.
 */
#include "cmocka_all.h"

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_icd.h>

#include "device/opencl/opencl_abi.h"

static void numbers_agree(void **state)
{
	static const struct {
		int64_t theirs, ours;
	} rows[] = {
		{ CL_SUCCESS, TCB_CL_SUCCESS },
		{ CL_OUT_OF_RESOURCES, TCB_CL_OUT_OF_RESOURCES },
		{ CL_OUT_OF_HOST_MEMORY, TCB_CL_OUT_OF_HOST_MEMORY },
		{ CL_BUILD_PROGRAM_FAILURE, TCB_CL_BUILD_FAILURE },
		{ CL_INVALID_BUILD_OPTIONS, TCB_CL_INVALID_BUILD_OPTIONS },
		{ CL_PLATFORM_NOT_FOUND_KHR, TCB_CL_PLATFORM_NOT_FOUND },
		{ CL_TRUE, TCB_CL_TRUE },
		{ CL_QUEUE_PROFILING_ENABLE, TCB_CL_QUEUE_PROFILING },
		{ CL_MEM_READ_WRITE, TCB_CL_MEM_READ_WRITE },
		{ CL_BUFFER_CREATE_TYPE_REGION, TCB_CL_BUFFER_REGION },
		{ CL_DEVICE_TYPE_CPU, TCB_CL_TYPE_CPU },
		{ CL_DEVICE_TYPE_ALL, TCB_CL_TYPE_ALL },
		{ CL_PLATFORM_VERSION, TCB_CL_PLATFORM_VERSION },
		{ CL_PLATFORM_NAME, TCB_CL_PLATFORM_NAME },
		{ CL_DEVICE_TYPE, TCB_CL_DEVICE_TYPE },
		{ CL_DEVICE_VENDOR_ID, TCB_CL_DEVICE_VENDOR_ID },
		{ CL_DEVICE_MAX_COMPUTE_UNITS, TCB_CL_DEVICE_COMPUTE_UNITS },
		{ CL_DEVICE_MAX_WORK_GROUP_SIZE, TCB_CL_DEVICE_WORKGROUP_MOST },
		{ CL_DEVICE_MAX_WORK_ITEM_SIZES, TCB_CL_DEVICE_SIDES_MOST },
		{ CL_DEVICE_MAX_CLOCK_FREQUENCY, TCB_CL_DEVICE_CLOCK_MHZ },
		{ CL_DEVICE_MAX_MEM_ALLOC_SIZE, TCB_CL_DEVICE_BUFFER_BYTES },
		{ CL_DEVICE_MEM_BASE_ADDR_ALIGN, TCB_CL_DEVICE_ALIGN_BITS },
		{ CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, TCB_CL_DEVICE_CACHE_LINE },
		{ CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, TCB_CL_DEVICE_CACHE_BYTES },
		{ CL_DEVICE_GLOBAL_MEM_SIZE, TCB_CL_DEVICE_MEMORY_BYTES },
		{ CL_DEVICE_LOCAL_MEM_SIZE, TCB_CL_DEVICE_LOCAL_BYTES },
		{ CL_DEVICE_ERROR_CORRECTION_SUPPORT, TCB_CL_DEVICE_HAS_ECC },
		{ CL_DEVICE_NAME, TCB_CL_DEVICE_NAME },
		{ CL_DRIVER_VERSION, TCB_CL_DRIVER_VERSION },
		{ CL_DEVICE_EXTENSIONS, TCB_CL_DEVICE_EXTENSIONS },
		{ CL_DEVICE_PLATFORM, TCB_CL_DEVICE_PLATFORM },
		{ CL_DEVICE_DOUBLE_FP_CONFIG, TCB_CL_DEVICE_F64 },
		{ CL_PROGRAM_BUILD_LOG, TCB_CL_BUILD_LOG },
		{ CL_KERNEL_NUM_ARGS, TCB_CL_KERNEL_ARGUMENTS },
		{ CL_KERNEL_WORK_GROUP_SIZE, TCB_CL_KERNEL_WORKGROUP_MOST },
		{ CL_KERNEL_LOCAL_MEM_SIZE, TCB_CL_KERNEL_LOCAL_BYTES },
		{ CL_EVENT_COMMAND_EXECUTION_STATUS, TCB_CL_EVENT_STATUS },
		{ CL_PROFILING_COMMAND_START, TCB_CL_EVENT_START },
		{ CL_PROFILING_COMMAND_END, TCB_CL_EVENT_END },
		{ sizeof(cl_buffer_region), sizeof(struct tcb_cl_region) },
		{ offsetof(cl_buffer_region, size), offsetof(struct tcb_cl_region, size) },
		{ sizeof(cl_bitfield), sizeof(uint64_t) },
		{ sizeof(cl_int), sizeof(int32_t) },
		{ sizeof(cl_context_properties), sizeof(intptr_t) },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].theirs != rows[i].ours)
			fail_msg("row %zu: %lld is not %lld", i, (long long)rows[i].theirs, (long long)rows[i].ours);
}

static void places_agree(void **state)
{
	static const struct {
		const char *name;
		size_t theirs, ours;
	} rows[] = {
#define ROW(member, name, place, result, parameters) \
	{ #name, offsetof(cl_icd_dispatch, cl##name), (place) * sizeof(void *) },
		TCB_OPENCL_FUNCTIONS(ROW)
#undef ROW
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].theirs != rows[i].ours)
			fail_msg("cl%s is at byte %zu, not %zu", rows[i].name, rows[i].theirs, rows[i].ours);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(numbers_agree), cmocka_unit_test(places_agree) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
