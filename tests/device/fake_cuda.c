/* SPDX-License-Identifier: MIT
 *
 * A CUDA driver for machines without a GPU: the functions that tcbtune asks
 * libcuda.so.1 for, on the project's own PTX parser and emulator.  It takes PTX
 * as the driver's assembler would, faults as a GPU does and is of no use after
 * that, and keeps a clock of its own that tells the same time in every run.
 * fake_cuda.h says how to choose its cards.
 *
 * Where the real driver leaves something open, this one does the worst: nothing
 * happens before somebody waits for it, and streams do not wait for each other.
 */
#include "fake_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ir/tensor_map.h"

#define EXPORT __attribute__((visibility("default")))
#define DECLARE(member, symbol, parameters) EXPORT int cu##symbol parameters;
TCB_CUDA_FUNCTIONS(DECLARE)
EXPORT int cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags, int *found);

static struct CUctx_st cards[FAKE_CARDS_MAX];
static int card_count, is_initialised;
static _Thread_local struct CUctx_st *current;

/* Returns from the caller unless there is a context that works. */
#define NEED_CONTEXT()                               \
	do {                                         \
		if (!current || !current->is_open)   \
			return FAKE_INVALID_CONTEXT; \
		if (current->failed)                 \
			return current->failed;      \
	} while (0)

static struct CUctx_st *card_at(int device)
{
	return is_initialised && device >= 0 && device < card_count ? &cards[device] : NULL;
}

/* ---- the driver ---- */

int cuGetProcAddress_v2(const char *symbol, void **out, int version, uint64_t flags, int *found)
{
	static const struct {
		const char *name;
		void *address;
	} table[] = {
#define ROW(member, symbol, parameters) { "cu" #symbol, (void *)(uintptr_t)cu##symbol },
		TCB_CUDA_FUNCTIONS(ROW)
	};
	const char *lacks = getenv("FAKE_CUDA_LACKS");
	(void)flags;
	*out = NULL;
	*found = 1; /* CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND */
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		if (strcmp(table[i].name, symbol) == 0 && version >= TCB_CUDA_VERSION &&
		    !(lacks && strcmp(lacks, symbol) == 0)) {
			*out = table[i].address;
			*found = 0;
			return TCB_CUDA_SUCCESS;
		}
	}
	return FAKE_NOT_FOUND;
}

int cuInit(unsigned flags)
{
	if (flags)
		return TCB_CUDA_INVALID_VALUE;
	if (!is_initialised)
		card_count = fake_cards(cards);
	is_initialised = 1;
	return card_count ? TCB_CUDA_SUCCESS : TCB_CUDA_NO_DEVICE;
}

int cuDriverGetVersion(int *version)
{
	*version = 12040;
	return TCB_CUDA_SUCCESS;
}

static const struct {
	int result;
	const char *name, *text;
} results[] = {
#define RESULT(id, number) { number, "CUDA_ERROR_" #id, "as the fake driver has it" },
	TCB_CUDA_RESULT_LIST(RESULT)
#undef RESULT
		{ FAKE_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE", "the device is busy or gone" },
	{ FAKE_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context" },
	{ FAKE_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle" },
	{ FAKE_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found" },
	{ FAKE_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported" },
	{ FAKE_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "not permitted while capturing" },
	{ FAKE_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error" },
};

static int describe(int error, const char **name, const char **text)
{
	for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
		if (results[i].result == error) {
			*name = results[i].name;
			*text = results[i].text;
			return TCB_CUDA_SUCCESS;
		}
	}
	return TCB_CUDA_INVALID_VALUE;
}

int cuGetErrorName(int error, const char **text)
{
	const char *unused;
	return describe(error, text, &unused);
}

int cuGetErrorString(int error, const char **text)
{
	const char *unused;
	return describe(error, &unused, text);
}

/* ---- devices ---- */

int cuDeviceGetCount(int *count)
{
	*count = card_count;
	return TCB_CUDA_SUCCESS;
}

int cuDeviceGet(int *device, int ordinal)
{
	if (!card_at(ordinal))
		return FAKE_INVALID_DEVICE;
	*device = ordinal;
	return TCB_CUDA_SUCCESS;
}

int cuDeviceGetName(char *name, int bytes, int device)
{
	if (!card_at(device))
		return FAKE_INVALID_DEVICE;
	snprintf(name, (size_t)bytes, "Fake GPU %u-%u", cards[device].capability, cards[device].sms);
	return TCB_CUDA_SUCCESS;
}

int cuDeviceGetUuid(unsigned char uuid[16], int device)
{
	if (!card_at(device))
		return FAKE_INVALID_DEVICE;
	memset(uuid, 0xfa, 16);
	uuid[15] = (unsigned char)device;
	return TCB_CUDA_SUCCESS;
}

int cuDeviceTotalMem(size_t *bytes, int device)
{
	*bytes = FAKE_MEMORY_BYTES;
	return card_at(device) ? TCB_CUDA_SUCCESS : FAKE_INVALID_DEVICE;
}

int cuDeviceGetPCIBusId(char *text, int bytes, int device)
{
	snprintf(text, (size_t)bytes, "0000:%02x:00.0", device + 1);
	return card_at(device) ? TCB_CUDA_SUCCESS : FAKE_INVALID_DEVICE;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	const struct CUctx_st *card = card_at(device);
	const struct {
		int attribute, value;
	} table[] = {
		{ TCB_CUDA_DEVICE_MAX_THREADS_PER_BLOCK, FAKE_THREADS_MAX },
		{ TCB_CUDA_DEVICE_WARP_SIZE, 32 },
		{ TCB_CUDA_DEVICE_MAX_REGISTERS_PER_BLOCK, 65536 },
		{ TCB_CUDA_DEVICE_CLOCK_RATE, 1000000 },
		{ TCB_CUDA_DEVICE_MULTIPROCESSOR_COUNT, card ? (int)card->sms : 0 },
		{ TCB_CUDA_DEVICE_ECC_ENABLED, 0 },
		{ TCB_CUDA_DEVICE_MEMORY_CLOCK_RATE, 1000000 },
		{ TCB_CUDA_DEVICE_GLOBAL_MEMORY_BUS_WIDTH, 256 },
		{ TCB_CUDA_DEVICE_L2_CACHE_SIZE, 1 << 20 },
		{ TCB_CUDA_DEVICE_MAX_THREADS_PER_MULTIPROCESSOR, 2048 },
		{ TCB_CUDA_DEVICE_COMPUTE_CAPABILITY_MAJOR, card ? (int)card->capability / 10 : 0 },
		{ TCB_CUDA_DEVICE_COMPUTE_CAPABILITY_MINOR, card ? (int)card->capability % 10 : 0 },
		{ TCB_CUDA_DEVICE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, card ? card->shared_optin + 1024 : 0 },
		{ TCB_CUDA_DEVICE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536 },
		{ TCB_CUDA_DEVICE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, card ? card->shared_optin : 0 },
		{ TCB_CUDA_DEVICE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32 },
		{ TCB_CUDA_DEVICE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024 },
	};
	if (!card)
		return FAKE_INVALID_DEVICE;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		if (table[i].attribute == attribute) {
			*value = table[i].value;
			return TCB_CUDA_SUCCESS;
		}
	}
	return TCB_CUDA_INVALID_VALUE;
}

/* ---- contexts and memory ---- */

int cuDevicePrimaryCtxRetain(CUcontext *context, int device)
{
	struct CUctx_st *card = card_at(device);
	if (!card)
		return FAKE_INVALID_DEVICE;
	if (fake_is_dead(card))
		return FAKE_DEVICE_UNAVAILABLE;
	if (!card->is_open && tcb_ptx_memory_create(&card->memory, NULL) != TCB_OK)
		return TCB_CUDA_OUT_OF_MEMORY;
	card->is_open = 1;
	*context = card;
	return TCB_CUDA_SUCCESS;
}

int cuDevicePrimaryCtxRelease(int device)
{
	struct CUctx_st *card = card_at(device);
	if (!card || !card->is_open)
		return FAKE_INVALID_DEVICE;
	while (card->buffer_count)
		(void)fake_free(card, card->buffers[0].address);
	fake_queue_clear(&card->legacy.queue);
	tcb_ptx_memory_destroy(card->memory);
	free(card->buffers);
	card->buffers = NULL;
	card->buffer_capacity = 0;
	card->is_open = card->failed = 0;
	return TCB_CUDA_SUCCESS;
}

int cuCtxSetCurrent(CUcontext context)
{
	current = context;
	return TCB_CUDA_SUCCESS;
}

int cuCtxGetDevice(int *device)
{
	NEED_CONTEXT();
	*device = (int)(current - cards);
	return TCB_CUDA_SUCCESS;
}

/* Calls that wait for all streams are not permitted while one is being captured. */
static int is_capturing(void)
{
	int found = 0;
	for (struct CUstream_st *stream = current->streams; stream; stream = stream->next) {
		if (stream->capturing)
			found = stream->capture_failed = 1;
	}
	return found;
}

int cuCtxSynchronize(void)
{
	NEED_CONTEXT();
	return is_capturing() ? FAKE_CAPTURE_UNSUPPORTED : fake_run_all(current);
}

int cuMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
	NEED_CONTEXT();
	*total_bytes = FAKE_MEMORY_BYTES;
	*free_bytes = FAKE_MEMORY_BYTES - current->used;
	return TCB_CUDA_SUCCESS;
}

int cuMemAlloc(uint64_t *address, size_t bytes)
{
	NEED_CONTEXT();
	return is_capturing() ? FAKE_CAPTURE_UNSUPPORTED : fake_alloc(current, bytes, address);
}

int cuMemFree(uint64_t address)
{
	NEED_CONTEXT();
	if (is_capturing())
		return FAKE_CAPTURE_UNSUPPORTED;
	int result = fake_run_all(current);
	return result ? result : fake_free(current, address);
}

/* WORK to STREAM, or to the graph that STREAM is captured into; NULL is the legacy stream. */
static int enqueue(CUstream stream, const struct fake_work *work)
{
	if (!stream && is_capturing())
		return FAKE_CAPTURE_UNSUPPORTED;
	if (stream && stream->capturing)
		return fake_queue_add(&stream->capturing->queue, work);
	return fake_queue_add(stream ? &stream->queue : &current->legacy.queue, work);
}

/* From pageable memory: staged when it returns, and on the device when the legacy stream gets there. */
int cuMemcpyHtoD(uint64_t to, const void *from, size_t bytes)
{
	NEED_CONTEXT();
	struct fake_work work = { .kind = FAKE_COPY_IN, .to = to, .bytes = bytes, .data = malloc(bytes ? bytes : 1) };
	if (!work.data)
		return TCB_CUDA_OUT_OF_MEMORY;
	memcpy(work.data, from, bytes);
	int result = fake_at(current, to, bytes) ? enqueue(NULL, &work) : TCB_CUDA_INVALID_VALUE;
	if (result)
		free(work.data);
	return result;
}

int cuMemcpyDtoH(void *to, uint64_t from, size_t bytes)
{
	NEED_CONTEXT();
	if (is_capturing())
		return FAKE_CAPTURE_UNSUPPORTED;
	int result = fake_run(current, &current->legacy.queue);
	const unsigned char *host = fake_at(current, from, bytes);
	if (!result && !host)
		return TCB_CUDA_INVALID_VALUE;
	if (!result)
		memcpy(to, host, bytes);
	return result;
}

int cuMemcpyDtoDAsync(uint64_t to, uint64_t from, size_t bytes, CUstream stream)
{
	NEED_CONTEXT();
	if (!fake_at(current, to, bytes) || !fake_at(current, from, bytes))
		return TCB_CUDA_INVALID_VALUE;
	return enqueue(stream, &(struct fake_work){ .kind = FAKE_COPY, .to = to, .from = from, .bytes = bytes });
}

int cuMemsetD8Async(uint64_t address, unsigned char value, size_t bytes, CUstream stream)
{
	NEED_CONTEXT();
	if (!fake_at(current, address, bytes))
		return TCB_CUDA_INVALID_VALUE;
	return enqueue(stream, &(struct fake_work){ .kind = FAKE_FILL, .to = address, .bytes = bytes, .value = value });
}

/* ---- modules ---- */

static void write_log(const char *text, unsigned count, const int *options, void **values)
{
	char *log = NULL;
	size_t room = 0;
	for (unsigned i = 0; i < count; i++) {
		if (options[i] == TCB_CUDA_JIT_ERROR_LOG_BUFFER)
			log = values[i];
		else if (options[i] == TCB_CUDA_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
			room = (size_t)(uintptr_t)values[i];
	}
	if (log && room)
		snprintf(log, room, "%s", text);
}

int cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, int *options, void **values)
{
	const char *text = image;
	struct tcb_error err;
	NEED_CONTEXT();
	if (memcmp(text, "\177ELF", 4) == 0) {
		write_log("the fake driver runs PTX only; set TCBTUNE_ASSEMBLER=none", count, options, values);
		return TCB_CUDA_INVALID_IMAGE;
	}
	struct CUmod_st *made = calloc(1, sizeof *made);
	if (!made)
		return TCB_CUDA_OUT_OF_MEMORY;
	int result = TCB_CUDA_SUCCESS;
	if (tcb_ptx_parse("ptx", text, strlen(text), &made->module, &err) != TCB_OK) {
		write_log(err.message, count, options, values);
		result = TCB_CUDA_INVALID_PTX;
	} else if (made->module->target.sm > current->capability) {
		tcb_ptx_module_destroy(made->module);
		result = TCB_CUDA_NO_BINARY_FOR_GPU;
	}
	if (result)
		free(made);
	else
		*module = made;
	return result;
}

int cuModuleUnload(CUmodule module)
{
	NEED_CONTEXT();
	int result = is_capturing() ? FAKE_CAPTURE_UNSUPPORTED : fake_run_all(current);
	if (result)
		return result;
	for (struct CUfunc_st *function = module->functions, *next; function; function = next) {
		next = function->next;
		tcb_ptx_program_destroy(function->program);
		free(function);
	}
	tcb_ptx_memory_unload(current->memory, module->module);
	tcb_ptx_module_destroy(module->module);
	free(module);
	return TCB_CUDA_SUCCESS;
}

int cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	NEED_CONTEXT();
	struct tcb_ptx_function *found = module->module->functions;
	struct tcb_error err;
	while (found && !(found->is_entry && strcmp(found->symbol->name, name) == 0))
		found = found->next;
	if (!found)
		return FAKE_NOT_FOUND;
	struct CUfunc_st *made = calloc(1, sizeof *made);
	if (!made)
		return TCB_CUDA_OUT_OF_MEMORY;
	if (tcb_ptx_program_create(found, &made->program, &err) != TCB_OK) {
		fprintf(stderr, "fake CUDA: %s\n", err.message);
		free(made);
		return FAKE_NOT_SUPPORTED;
	}
	made->function = found;
	made->shared_bytes = FAKE_SHARED_DEFAULT;
	made->next = module->functions;
	module->functions = made;
	*function = made;
	return TCB_CUDA_SUCCESS;
}

int cuFuncGetAttribute(int *value, int attribute, CUfunction function)
{
	NEED_CONTEXT();
	*value = attribute == TCB_CUDA_FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES ? function->shared_bytes
		 : attribute == TCB_CUDA_FUNCTION_NUM_REGS                    ? 32
									      : 0;
	return TCB_CUDA_SUCCESS;
}

int cuFuncSetAttribute(CUfunction function, int attribute, int value)
{
	NEED_CONTEXT();
	if (attribute == TCB_CUDA_FUNCTION_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
		function->is_wide = value;
		return value == 0 || value == 1 ? TCB_CUDA_SUCCESS : TCB_CUDA_INVALID_VALUE;
	}
	if (attribute != TCB_CUDA_FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 || value > current->shared_optin)
		return TCB_CUDA_INVALID_VALUE;
	function->shared_bytes = value;
	return TCB_CUDA_SUCCESS;
}

/* The emulator's own encoding, which its kernels decode. */
int cuTensorMapEncodeTiled(void *out, int type, unsigned rank, void *address, const uint64_t *size,
			   const uint64_t *stride, const unsigned *box, const unsigned *element_stride, int interleave,
			   int swizzle, int promotion, int fill)
{
	static const enum tcb_ptx_word types[] = {
#define TYPE(id, number) [number] = TCB_PTX_##id,
		TCB_CUDA_TENSOR_LIST(TYPE)
#undef TYPE
	};
	struct tcb_ptx_tensor_map map = { .type = types[type],
					  .rank = rank,
					  .address = (uint64_t)(uintptr_t)address,
					  .swizzle = swizzle ? 16u << swizzle : 0,
					  .fill_nan = fill };
	NEED_CONTEXT();
	(void)promotion;
	for (unsigned i = 0; i < rank; i++) {
		map.size[i] = size[i];
		map.stride[i] = i ? stride[i - 1] : 0;
		map.box[i] = box[i];
		map.element_stride[i] = element_stride[i];
	}
	return interleave || tcb_ptx_tensor_map_encode(&map, out, NULL) != TCB_OK ? TCB_CUDA_INVALID_VALUE
										  : TCB_CUDA_SUCCESS;
}

/* The parameters as the kernel will read them. */
static int take_parameters(const struct tcb_ptx_function *function, void **params, struct fake_work *work)
{
	unsigned index = 0;
	work->launch.param_bytes = tcb_ptx_param_total(function);
	if (work->launch.param_bytes > sizeof work->params)
		return FAKE_NOT_SUPPORTED;
	for (const struct tcb_ptx_symbol *param = function->params; param; param = param->next, index++)
		memcpy(work->params + tcb_ptx_param_offset(function, index), params[index],
		       tcb_ptx_symbol_bytes(param));
	return TCB_CUDA_SUCCESS;
}

int cuLaunchKernelEx(const struct tcb_cuda_config *config, CUfunction function, void **params, void **extra)
{
	NEED_CONTEXT();
	struct fake_work work = { .kind = FAKE_LAUNCH, .function = function };
	const struct tcb_ptx_directives *directives = &function->function->directives;
	uint64_t threads = 1, most = 1;
	for (int i = 0; i < 3; i++) {
		work.launch.grid[i] = config->grid[i];
		work.launch.block[i] = config->block[i];
		threads *= config->block[i];
		most *= directives->maxntid[i] ? directives->maxntid[i] : 1;
		if (!config->grid[i] || !config->block[i] || (i > 0 && config->grid[i] > 65535))
			return TCB_CUDA_INVALID_VALUE;
	}
	if (extra || threads > FAKE_THREADS_MAX || config->shared_bytes > (unsigned)function->shared_bytes)
		return TCB_CUDA_INVALID_VALUE;
	if (directives->maxntid[0] && threads > most)
		return TCB_CUDA_LAUNCH_OUT_OF_RESOURCES;
	for (unsigned i = 0; i < config->attribute_count; i++) {
		const struct tcb_cuda_attribute *attribute = &config->attributes[i];
		if (attribute->id == TCB_CUDA_LAUNCH_CLUSTER_DIMENSION)
			memcpy(work.launch.cluster, attribute->value.dims, sizeof work.launch.cluster);
		else if (attribute->id != TCB_CUDA_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION)
			return TCB_CUDA_INVALID_VALUE;
	}
	const uint32_t *cluster = work.launch.cluster;
	if (cluster[0] * cluster[1] * cluster[2] > 8 && !function->is_wide)
		return TCB_CUDA_INVALID_VALUE;
	work.launch.dynamic_shared = config->shared_bytes;
	int result = take_parameters(function->function, params, &work);
	return result ? result : enqueue(config->stream, &work);
}

/* ---- streams, events, graphs ---- */

int cuStreamCreate(CUstream *stream, unsigned flags)
{
	NEED_CONTEXT();
	if (flags != TCB_CUDA_STREAM_NON_BLOCKING) /* the others would wait for the legacy stream */
		return FAKE_NOT_SUPPORTED;
	*stream = calloc(1, sizeof **stream);
	if (!*stream)
		return TCB_CUDA_OUT_OF_MEMORY;
	(*stream)->next = current->streams;
	current->streams = *stream;
	return TCB_CUDA_SUCCESS;
}

int cuStreamDestroy(CUstream stream)
{
	NEED_CONTEXT();
	struct CUstream_st **at = &current->streams;
	int result = fake_run(current, &stream->queue);
	while (*at && *at != stream)
		at = &(*at)->next;
	if (!*at)
		return FAKE_INVALID_HANDLE;
	*at = stream->next;
	free(stream);
	return result;
}

int cuStreamSynchronize(CUstream stream)
{
	NEED_CONTEXT();
	if (stream && stream->capturing) {
		stream->capture_failed = 1;
		return FAKE_CAPTURE_UNSUPPORTED;
	}
	return fake_run(current, stream ? &stream->queue : &current->legacy.queue);
}

int cuEventCreate(CUevent *event, unsigned flags)
{
	NEED_CONTEXT();
	if (flags != TCB_CUDA_EVENT_DEFAULT)
		return FAKE_NOT_SUPPORTED;
	*event = calloc(1, sizeof **event);
	return *event ? TCB_CUDA_SUCCESS : TCB_CUDA_OUT_OF_MEMORY;
}

int cuEventDestroy(CUevent event)
{
	NEED_CONTEXT();
	int result = fake_run_all(current); /* it may still wait in a queue */
	free(event);
	return result;
}

int cuEventRecord(CUevent event, CUstream stream)
{
	NEED_CONTEXT();
	event->is_recorded = 1;
	event->is_done = 0;
	event->stream = stream;
	return enqueue(stream, &(struct fake_work){ .kind = FAKE_EVENT, .event = event });
}

int cuEventSynchronize(CUevent event)
{
	NEED_CONTEXT();
	if (!event->is_recorded)
		return TCB_CUDA_SUCCESS;
	return cuStreamSynchronize(event->stream);
}

int cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to)
{
	NEED_CONTEXT();
	if (!from->is_recorded || !to->is_recorded)
		return FAKE_INVALID_HANDLE;
	if (!from->is_done || !to->is_done)
		return TCB_CUDA_NOT_READY;
	*milliseconds = (float)(1e-6 * (to->ns - from->ns));
	return TCB_CUDA_SUCCESS;
}

int cuStreamBeginCapture(CUstream stream, int mode)
{
	NEED_CONTEXT();
	if (!stream || stream->capturing || mode != TCB_CUDA_CAPTURE_THREAD_LOCAL)
		return FAKE_CAPTURE_UNSUPPORTED;
	stream->capture_failed = 0;
	stream->capturing = calloc(1, sizeof *stream->capturing);
	return stream->capturing ? TCB_CUDA_SUCCESS : TCB_CUDA_OUT_OF_MEMORY;
}

int cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
	NEED_CONTEXT();
	if (!stream->capturing)
		return FAKE_INVALID_HANDLE;
	CUgraph made = stream->capturing;
	stream->capturing = NULL;
	*graph = NULL;
	if (!stream->capture_failed) {
		*graph = made;
		return TCB_CUDA_SUCCESS;
	}
	cuGraphDestroy(made);
	return FAKE_CAPTURE_UNSUPPORTED;
}

int cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	NEED_CONTEXT();
	if (flags)
		return FAKE_NOT_SUPPORTED;
	struct CUgraphExec_st *made = calloc(1, sizeof *made);
	int result = made ? TCB_CUDA_SUCCESS : TCB_CUDA_OUT_OF_MEMORY;
	for (struct fake_work *work = graph->queue.first; work && !result; work = work->next)
		result = fake_queue_add(&made->queue, work);
	*exec = made;
	return result;
}

int cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	NEED_CONTEXT();
	int result = TCB_CUDA_SUCCESS;
	for (struct fake_work *work = exec->queue.first; work && !result; work = work->next)
		result = enqueue(stream, work);
	return result;
}

int cuGraphExecDestroy(CUgraphExec exec)
{
	NEED_CONTEXT();
	fake_queue_clear(&exec->queue);
	free(exec);
	return TCB_CUDA_SUCCESS;
}

int cuGraphDestroy(CUgraph graph)
{
	fake_queue_clear(&graph->queue);
	free(graph);
	return TCB_CUDA_SUCCESS;
}
