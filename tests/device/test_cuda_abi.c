/* SPDX-License-Identifier: MIT
 *
 * The driver's ABI as device/cuda.h declares it, held against the toolkit's
 * cuda.h: numbers, sizes and offsets.  Built only where there is a toolkit.
 */
#include "cmocka_all.h"

#include <stdlib.h>
#include <unistd.h>

/* The toolkit's own names, before ours hide them. */
#include <cuda.h>

struct numbers {
	const char *name;
	long theirs, ours;
};

#define RESULT(id, number) { #id, CUDA_##id, number },
#define DEVICE(id, number) { #id, CU_DEVICE_ATTRIBUTE_##id, number },
#define FUNCTION(id, number) { #id, CU_FUNC_ATTRIBUTE_##id, number },

/* Some results are called CUDA_ERROR_X, success is not. */
#define CUDA_INVALID_VALUE CUDA_ERROR_INVALID_VALUE
#define CUDA_OUT_OF_MEMORY CUDA_ERROR_OUT_OF_MEMORY
#define CUDA_NO_DEVICE CUDA_ERROR_NO_DEVICE
#define CUDA_INVALID_IMAGE CUDA_ERROR_INVALID_IMAGE
#define CUDA_NO_BINARY_FOR_GPU CUDA_ERROR_NO_BINARY_FOR_GPU
#define CUDA_INVALID_PTX CUDA_ERROR_INVALID_PTX
#define CUDA_UNSUPPORTED_PTX_VERSION CUDA_ERROR_UNSUPPORTED_PTX_VERSION
#define CUDA_NOT_READY CUDA_ERROR_NOT_READY
#define CUDA_ILLEGAL_ADDRESS CUDA_ERROR_ILLEGAL_ADDRESS
#define CUDA_LAUNCH_OUT_OF_RESOURCES CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
#define CUDA_ILLEGAL_INSTRUCTION CUDA_ERROR_ILLEGAL_INSTRUCTION
#define CUDA_MISALIGNED_ADDRESS CUDA_ERROR_MISALIGNED_ADDRESS
#define CUDA_LAUNCH_FAILED CUDA_ERROR_LAUNCH_FAILED

#include "device/cuda.h"

static void numbers_agree(void **state)
{
	static const struct numbers list[] = {
		TCB_CUDA_RESULT_LIST(RESULT) TCB_CUDA_DEVICE_LIST(DEVICE) TCB_CUDA_FUNCTION_LIST(FUNCTION){
			"cluster", CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, TCB_CUDA_LAUNCH_CLUSTER_DIMENSION },
		{ "programmatic", CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
		  TCB_CUDA_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION },
		{ "non-blocking", CU_STREAM_NON_BLOCKING, TCB_CUDA_STREAM_NON_BLOCKING },
		{ "event", CU_EVENT_DEFAULT, TCB_CUDA_EVENT_DEFAULT },
		{ "capture", CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, TCB_CUDA_CAPTURE_THREAD_LOCAL },
		{ "log", CU_JIT_ERROR_LOG_BUFFER, TCB_CUDA_JIT_ERROR_LOG_BUFFER },
		{ "log size", CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, TCB_CUDA_JIT_ERROR_LOG_BUFFER_SIZE_BYTES },
	};
	(void)state;
	for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
		if (list[i].theirs != list[i].ours)
			fail_msg("%s is %ld in cuda.h, %ld here", list[i].name, list[i].theirs, list[i].ours);
	}
}

static void layouts_agree(void **state)
{
	(void)state;
	assert_int_equal(sizeof(CUlaunchAttribute), sizeof(struct tcb_cuda_attribute));
	assert_int_equal(offsetof(CUlaunchAttribute, value), offsetof(struct tcb_cuda_attribute, value));
	assert_int_equal(offsetof(CUlaunchAttribute, value.clusterDim.x),
			 offsetof(struct tcb_cuda_attribute, value.dims));
	assert_int_equal(offsetof(CUlaunchAttribute, value.programmaticStreamSerializationAllowed),
			 offsetof(struct tcb_cuda_attribute, value.flag));
	assert_int_equal(sizeof(CUlaunchConfig), sizeof(struct tcb_cuda_config));
	assert_int_equal(offsetof(CUlaunchConfig, blockDimX), offsetof(struct tcb_cuda_config, block));
	assert_int_equal(offsetof(CUlaunchConfig, sharedMemBytes), offsetof(struct tcb_cuda_config, shared_bytes));
	assert_int_equal(offsetof(CUlaunchConfig, hStream), offsetof(struct tcb_cuda_config, stream));
	assert_int_equal(offsetof(CUlaunchConfig, attrs), offsetof(struct tcb_cuda_config, attributes));
	assert_int_equal(offsetof(CUlaunchConfig, numAttrs), offsetof(struct tcb_cuda_config, attribute_count));
	assert_int_equal(sizeof(CUdeviceptr), sizeof(uint64_t));
	assert_int_equal(sizeof(CUuuid), 16);
	assert_int_equal(sizeof(CUdevice), sizeof(int));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_agree),
		cmocka_unit_test(layouts_agree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
