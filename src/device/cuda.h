/* SPDX-License-Identifier: MIT
 *
 * The CUDA driver, opened at run time: one binary serves machines with and
 * without a GPU, and none needs the toolkit to build.
 *
 * The driver's ABI is declared here as far as it is used; where a toolkit is
 * present, tests/device/test_cuda_abi.c holds these declarations against its
 * cuda.h.  Functions are found with cuGetProcAddress at the version below, so
 * that a newer driver keeps the behaviour that this file describes.  The names are those of the functions, which cuda.h
 * hides behind macros: cuGraphInstantiate there is cuGraphInstantiateWithFlags, and cuGraphInstantiate another function
 * with two more parameters.
 */
#ifndef TCB_DEVICE_CUDA_H
#define TCB_DEVICE_CUDA_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { TCB_CUDA_VERSION = 12000 }; /* of the API that is asked for: 12.0 */

/* --- the driver's types and numbers --- */

typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;

struct tcb_cuda_attribute { /* CUlaunchAttribute */
	int id;
	char pad[4];
	union {
		char bytes[64];
		uint32_t dims[3]; /* CLUSTER_DIMENSION */
		int flag;         /* PROGRAMMATIC_STREAM_SERIALIZATION */
	} value;
};

struct tcb_cuda_config { /* CUlaunchConfig */
	unsigned grid[3], block[3], shared_bytes;
	CUstream stream;
	struct tcb_cuda_attribute *attributes;
	unsigned attribute_count;
};

/* X(id, number) of CUresult: those that are told apart here */
#define TCB_CUDA_RESULT_LIST(X)         \
	X(SUCCESS, 0)                   \
	X(INVALID_VALUE, 1)             \
	X(OUT_OF_MEMORY, 2)             \
	X(NO_DEVICE, 100)               \
	X(INVALID_IMAGE, 200)           \
	X(NO_BINARY_FOR_GPU, 209)       \
	X(INVALID_PTX, 218)             \
	X(UNSUPPORTED_PTX_VERSION, 222) \
	X(NOT_READY, 600)               \
	X(ILLEGAL_ADDRESS, 700)         \
	X(LAUNCH_OUT_OF_RESOURCES, 701) \
	X(ILLEGAL_INSTRUCTION, 715)     \
	X(MISALIGNED_ADDRESS, 716)      \
	X(LAUNCH_FAILED, 719)

/* X(id, number) of CUdevice_attribute */
#define TCB_CUDA_DEVICE_LIST(X)                     \
	X(MAX_THREADS_PER_BLOCK, 1)                 \
	X(WARP_SIZE, 10)                            \
	X(MAX_REGISTERS_PER_BLOCK, 12)              \
	X(CLOCK_RATE, 13)                           \
	X(MULTIPROCESSOR_COUNT, 16)                 \
	X(ECC_ENABLED, 32)                          \
	X(MEMORY_CLOCK_RATE, 36)                    \
	X(GLOBAL_MEMORY_BUS_WIDTH, 37)              \
	X(L2_CACHE_SIZE, 38)                        \
	X(MAX_THREADS_PER_MULTIPROCESSOR, 39)       \
	X(COMPUTE_CAPABILITY_MAJOR, 75)             \
	X(COMPUTE_CAPABILITY_MINOR, 76)             \
	X(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81) \
	X(MAX_REGISTERS_PER_MULTIPROCESSOR, 82)     \
	X(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)    \
	X(MAX_BLOCKS_PER_MULTIPROCESSOR, 106)       \
	X(RESERVED_SHARED_MEMORY_PER_BLOCK, 111)

/* X(id, number) of CUfunction_attribute */
#define TCB_CUDA_FUNCTION_LIST(X)           \
	X(LOCAL_SIZE_BYTES, 3)              \
	X(NUM_REGS, 4)                      \
	X(MAX_DYNAMIC_SHARED_SIZE_BYTES, 8) \
	X(NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 14)

/* X(id, number) of CUtensorMapDataType, the id as PTX calls it */
#define TCB_CUDA_TENSOR_LIST(X) \
	X(U8, 0) X(U16, 1) X(U32, 2) X(S32, 3) X(U64, 4) X(S64, 5) X(F16, 6) X(F32, 7) X(F64, 8) X(BF16, 9) X(TF32, 11)

enum {
#define TCB_CUDA_ENUM(id, number) TCB_CUDA_##id = number,
	TCB_CUDA_RESULT_LIST(TCB_CUDA_ENUM)
#undef TCB_CUDA_ENUM
};
enum {
#define TCB_CUDA_ENUM(id, number) TCB_CUDA_DEVICE_##id = number,
	TCB_CUDA_DEVICE_LIST(TCB_CUDA_ENUM)
#undef TCB_CUDA_ENUM
};
enum {
#define TCB_CUDA_ENUM(id, number) TCB_CUDA_TENSOR_##id = number,
	TCB_CUDA_TENSOR_LIST(TCB_CUDA_ENUM)
#undef TCB_CUDA_ENUM
		TCB_CUDA_TENSOR_SWIZZLE_NONE = 0, /* 32, 64, 128 bytes: 1, 2, 3 */
	TCB_CUDA_TENSOR_PROMOTION_256B = 3,
};
enum {
#define TCB_CUDA_ENUM(id, number) TCB_CUDA_FUNCTION_##id = number,
	TCB_CUDA_FUNCTION_LIST(TCB_CUDA_ENUM)
#undef TCB_CUDA_ENUM
		TCB_CUDA_LAUNCH_CLUSTER_DIMENSION = 4,
	TCB_CUDA_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
	TCB_CUDA_STREAM_NON_BLOCKING = 1,
	TCB_CUDA_EVENT_DEFAULT = 0,
	TCB_CUDA_CAPTURE_THREAD_LOCAL = 1,
	TCB_CUDA_JIT_ERROR_LOG_BUFFER = 5,
	TCB_CUDA_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6
};

/* --- its functions: X(member, symbol without "cu", parameters) --- */
#define TCB_CUDA_FUNCTIONS(X)                                                                                          \
	X(init, Init, (unsigned flags))                                                                                \
	X(driver_version, DriverGetVersion, (int *version))                                                            \
	X(error_name, GetErrorName, (int error, const char **text))                                                    \
	X(error_string, GetErrorString, (int error, const char **text))                                                \
	X(device_count, DeviceGetCount, (int *count))                                                                  \
	X(device_get, DeviceGet, (int *device, int ordinal))                                                           \
	X(device_name, DeviceGetName, (char *name, int bytes, int device))                                             \
	X(device_uuid, DeviceGetUuid, (unsigned char uuid[16], int device))                                            \
	X(device_memory, DeviceTotalMem, (size_t * bytes, int device))                                                 \
	X(device_pci, DeviceGetPCIBusId, (char *text, int bytes, int device))                                          \
	X(device_attribute, DeviceGetAttribute, (int *value, int attribute, int device))                               \
	X(context_retain, DevicePrimaryCtxRetain, (CUcontext * context, int device))                                   \
	X(context_release, DevicePrimaryCtxRelease, (int device))                                                      \
	X(context_set, CtxSetCurrent, (CUcontext context))                                                             \
	X(context_device, CtxGetDevice, (int *device))                                                                 \
	X(context_sync, CtxSynchronize, (void))                                                                        \
	X(memory_info, MemGetInfo, (size_t * free_bytes, size_t * total_bytes))                                        \
	X(alloc, MemAlloc, (uint64_t * address, size_t bytes))                                                         \
	X(free, MemFree, (uint64_t address))                                                                           \
	X(copy_in, MemcpyHtoD, (uint64_t to, const void *from, size_t bytes))                                          \
	X(copy_out, MemcpyDtoH, (void *to, uint64_t from, size_t bytes))                                               \
	X(copy_device, MemcpyDtoDAsync, (uint64_t to, uint64_t from, size_t bytes, CUstream stream))                   \
	X(fill, MemsetD8Async, (uint64_t address, unsigned char value, size_t bytes, CUstream stream))                 \
	X(module_load, ModuleLoadDataEx,                                                                               \
	  (CUmodule * module, const void *image, unsigned count, int *options, void **values))                         \
	X(module_unload, ModuleUnload, (CUmodule module))                                                              \
	X(module_function, ModuleGetFunction, (CUfunction * function, CUmodule module, const char *name))              \
	X(function_get, FuncGetAttribute, (int *value, int attribute, CUfunction function))                            \
	X(function_set, FuncSetAttribute, (CUfunction function, int attribute, int value))                             \
	X(launch, LaunchKernelEx,                                                                                      \
	  (const struct tcb_cuda_config *config, CUfunction function, void **params, void **extra))                    \
	X(tensor_map, TensorMapEncodeTiled,                                                                            \
	  (void *map, int type, unsigned rank, void *address, const uint64_t *size, const uint64_t *stride,            \
	   const unsigned *box, const unsigned *element_stride, int interleave, int swizzle, int promotion, int fill)) \
	X(stream_create, StreamCreate, (CUstream * stream, unsigned flags))                                            \
	X(stream_destroy, StreamDestroy, (CUstream stream))                                                            \
	X(stream_sync, StreamSynchronize, (CUstream stream))                                                           \
	X(event_create, EventCreate, (CUevent * event, unsigned flags))                                                \
	X(event_destroy, EventDestroy, (CUevent event))                                                                \
	X(event_record, EventRecord, (CUevent event, CUstream stream))                                                 \
	X(event_sync, EventSynchronize, (CUevent event))                                                               \
	X(event_elapsed, EventElapsedTime, (float *milliseconds, CUevent from, CUevent to))                            \
	X(capture_begin, StreamBeginCapture, (CUstream stream, int mode))                                              \
	X(capture_end, StreamEndCapture, (CUstream stream, CUgraph * graph))                                           \
	X(graph_instantiate, GraphInstantiateWithFlags, (CUgraphExec * exec, CUgraph graph, unsigned long long flags)) \
	X(graph_launch, GraphLaunch, (CUgraphExec exec, CUstream stream))                                              \
	X(graph_exec_destroy, GraphExecDestroy, (CUgraphExec exec))                                                    \
	X(graph_destroy, GraphDestroy, (CUgraph graph))

struct tcb_cuda {
#define TCB_CUDA_MEMBER(member, symbol, parameters) int(*member) parameters;
	TCB_CUDA_FUNCTIONS(TCB_CUDA_MEMBER)
#undef TCB_CUDA_MEMBER
	int version; /* of the driver: 13000 for 13.0 */
};

/*
 * cuda.c: the driver, opened and initialised once per process and never closed; NULL with a line that says what is
 * missing and what to do.  A process that forks must not have called it before (the driver does not survive a fork).
 */
const struct tcb_cuda *tcb_cuda_open(struct tcb_error *err);
/* Status of a driver call: TCB_OK for 0, else TCB_E_FAILED (E_NOMEM for out of memory) with "WHAT: NAME (text)". */
enum tcb_status tcb_cuda_check(const struct tcb_cuda *cuda, int result, const char *what, struct tcb_error *err);
/* "CUDA_ERROR_ILLEGAL_ADDRESS" */
const char *tcb_cuda_error_name(const struct tcb_cuda *cuda, int result);

#endif
