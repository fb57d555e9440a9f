/* SPDX-License-Identifier: MIT
 *
 * Tuned kernels on any GPU through WebGPU: a product with Q4_K weights and a softmax,
 * planned for the device that this program makes with wgpu-native, run in it, and held
 * against plain loops.
 *
 *     webgpu [DATABASE]        (none, or an empty one: the default database)
 *
 *     cc webgpu.c $(pkg-config --cflags --libs tcbrt) -I$WGPU -L$WGPU -lwgpu_native -lm -o webgpu
 *
 * WGPU: the folder of wgpu-native's headers and library; tcbtune's scripts/fetch-wgpu.sh fetches them.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tcbrt_wgpu.h>
#include <webgpu.h>

#include <wgpu.h>

enum { CALLS = 50, N = 1000, K = 2048, ROWS = 100, COLUMNS = 3000, BLOCK = 256 };

/* Q4_K: 256 weights.  Scales and minima here are all 1, and d and dmin 2^-6 and 2^-3, as halves. */
struct block {
	unsigned char d[2], dmin[2], scales[12], codes[BLOCK / 2];
};

static void fail(const char *what, const char *why, size_t length)
{
	fprintf(stderr, "%s: %.*s\n", what, (int)length, why);
	exit(1);
}

static void require(int code, const struct tcbrt_error *err)
{
	if (code != TCBRT_OK)
		fail("libtcbrt", err->message, strlen(err->message));
}

static WGPUStringView view(const char *text)
{
	return (WGPUStringView){ text, strlen(text) };
}

/* ---- the device ---- */

static WGPUInstance instance;
static WGPUAdapter adapter;
static WGPUDevice device;
static WGPUQueue queue;

static void take_adapter(WGPURequestAdapterStatus status, WGPUAdapter taken, WGPUStringView message, void *a, void *b)
{
	(void)a, (void)b;
	if (status != WGPURequestAdapterStatus_Success)
		fail("no adapter", message.data, message.length);
	adapter = taken;
}

static void take_device(WGPURequestDeviceStatus status, WGPUDevice taken, WGPUStringView message, void *a, void *b)
{
	(void)a, (void)b;
	if (status != WGPURequestDeviceStatus_Success)
		fail("no device", message.data, message.length);
	device = taken;
}

static void take_error(WGPUDevice const *from, WGPUErrorType type, WGPUStringView message, void *a, void *b)
{
	(void)from, (void)type, (void)a, (void)b;
	fail("WebGPU", message.data, message.length);
}

/* With all that the adapter has; OUT is what libtcbrt wants to know of it, and lends INFO's texts. */
static void open_device(WGPUAdapterInfo *info, struct tcbrt_wgpu_adapter *out)
{
	static const struct {
		WGPUFeatureName name;
		unsigned feature;
	} features[] = { { WGPUFeatureName_ShaderF16, TCBRT_WGPU_F16 },
			 { (WGPUFeatureName)WGPUNativeFeature_Subgroup, TCBRT_WGPU_SUBGROUPS } };
	WGPUFeatureName wanted[2];
	WGPULimits limits = { .nextInChain = NULL };
	WGPUDeviceDescriptor descriptor = { .requiredFeatures = wanted,
					    .requiredLimits = &limits,
					    .uncapturedErrorCallbackInfo.callback = take_error };

	memset(out, 0, sizeof(*out));
	out->features = TCBRT_WGPU_DP4A; /* wgpu-native has it on every device */
	instance = wgpuCreateInstance(NULL);
	wgpuInstanceRequestAdapter(instance, NULL,
				   (WGPURequestAdapterCallbackInfo){ .mode = WGPUCallbackMode_AllowSpontaneous,
								     .callback = take_adapter });
	if (!adapter)
		fail("no adapter", "no answer", 9);
	for (size_t i = 0; i < 2; i++)
		if (wgpuAdapterHasFeature(adapter, features[i].name)) {
			wanted[descriptor.requiredFeatureCount++] = features[i].name;
			out->features |= features[i].feature;
		}
	wgpuAdapterGetLimits(adapter, &limits);
	wgpuAdapterRequestDevice(
		adapter, &descriptor,
		(WGPURequestDeviceCallbackInfo){ .mode = WGPUCallbackMode_AllowSpontaneous, .callback = take_device });
	if (!device)
		fail("no device", "no answer", 9);
	queue = wgpuDeviceGetQueue(device);
	wgpuDeviceGetLimits(device, &limits);
	wgpuAdapterGetInfo(adapter, info);
	out->vendor_id = info->vendorID;
	out->device_id = info->deviceID;
	out->backend = (int)info->backendType;
	out->type = (int)info->adapterType;
	out->device = info->device.data;
	out->device_bytes = info->device.length;
	out->description = info->description.data;
	out->description_bytes = info->description.length;
	out->version = wgpuGetVersion();
	out->workgroup_invocations = limits.maxComputeInvocationsPerWorkgroup;
	out->workgroup_size_x = limits.maxComputeWorkgroupSizeX;
	out->workgroup_bytes = limits.maxComputeWorkgroupStorageSize;
	out->workgroups = limits.maxComputeWorkgroupsPerDimension;
	out->storage_buffers = limits.maxStorageBuffersPerShaderStage;
	out->binding_bytes = limits.maxStorageBufferBindingSize < limits.maxBufferSize
				     ? limits.maxStorageBufferBindingSize
				     : limits.maxBufferSize;
}

/* ---- buffers ---- */

/* Of BYTES, up to a multiple of 16, with what is AT, or zeros where that is NULL. */
static WGPUBuffer make_buffer(const void *at, size_t bytes)
{
	const WGPUBufferDescriptor descriptor = { .usage = WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc |
							   WGPUBufferUsage_CopyDst,
						  .size = (bytes + 15) / 16 * 16 };
	const WGPUBuffer buffer = wgpuDeviceCreateBuffer(device, &descriptor);

	if (at)
		wgpuQueueWriteBuffer(queue, buffer, 0, at, bytes);
	return buffer;
}

static void take_map(WGPUMapAsyncStatus status, WGPUStringView message, void *a, void *b)
{
	(void)a, (void)b;
	if (status != WGPUMapAsyncStatus_Success)
		fail("reading a buffer", message.data, message.length);
}

/* BYTES: a multiple of 4. */
static void read_buffer(WGPUBuffer buffer, size_t bytes, void *to)
{
	const WGPUBuffer staging = wgpuDeviceCreateBuffer(
		device,
		&(WGPUBufferDescriptor){ .usage = WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst, .size = bytes });
	const WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(device, NULL);

	wgpuCommandEncoderCopyBufferToBuffer(encoder, buffer, 0, staging, 0, bytes);
	const WGPUCommandBuffer command = wgpuCommandEncoderFinish(encoder, NULL);
	wgpuQueueSubmit(queue, 1, &command);
	wgpuBufferMapAsync(
		staging, WGPUMapMode_Read, 0, bytes,
		(WGPUBufferMapCallbackInfo){ .mode = WGPUCallbackMode_AllowSpontaneous, .callback = take_map });
	wgpuDevicePoll(device, 1, NULL);
	memcpy(to, wgpuBufferGetConstMappedRange(staging, 0, bytes), bytes);
	wgpuBufferUnmap(staging);
	wgpuBufferRelease(staging);
	wgpuCommandBufferRelease(command);
	wgpuCommandEncoderRelease(encoder);
}

/* ---- a plan that is ready to run ---- */

struct kernel {
	struct tcbrt_plan *plan;
	struct tcbrt_plan_info info;
	struct tcbrt_wgpu_code code;
	WGPUBuffer operand[TCBRT_INFO_OPERANDS_MAX], workspace;
	WGPUComputePipeline pipeline[TCBRT_LAUNCHES_MAX];
	WGPUBindGroup group[TCBRT_LAUNCHES_MAX];
};

static WGPUShaderModule make_module(const struct tcbrt_wgpu_code *code)
{
	static const char directive[] = "enable subgroups;";
	char *text = strdup(code->wgsl), *at = strstr(text, directive);

	if (at) /* wgpu-native does not know it, and needs none */
		memset(at, ' ', sizeof(directive) - 1);
	WGPUShaderSourceWGSL source = { .chain.sType = WGPUSType_ShaderSourceWGSL, .code = view(text) };
	const WGPUShaderModule module =
		wgpuDeviceCreateShaderModule(device, &(WGPUShaderModuleDescriptor){ .nextInChain = &source.chain });
	free(text);
	return module;
}

/* Launch INDEX of K: a pipeline, and what is bound to it. */
static void make_launch(struct kernel *k, WGPUShaderModule module, unsigned index)
{
	const struct tcbrt_wgpu_launch *launch = &k->code.launch[index];
	WGPUConstantEntry constants[TCBRT_WGPU_CONSTANTS_MAX] = { { .nextInChain = NULL } };
	WGPUBindGroupEntry entries[TCBRT_ARGUMENTS_MAX] = { { .nextInChain = NULL } };

	for (unsigned i = 0; i < launch->constant_count; i++) {
		constants[i].key = view(launch->constant[i].name);
		constants[i].value = launch->constant[i].value;
	}
	const WGPUComputePipelineDescriptor descriptor = { .compute = { .module = module,
									.entryPoint = view(launch->entry),
									.constantCount = launch->constant_count,
									.constants = constants } };
	k->pipeline[index] = wgpuDeviceCreateComputePipeline(device, &descriptor);
	for (unsigned i = 0; i < launch->binding_count; i++) {
		const struct tcbrt_wgpu_binding *binding = &launch->binding[i];

		entries[i].binding = binding->binding;
		entries[i].buffer = binding->operand < 0 ? k->workspace : k->operand[binding->operand];
		entries[i].offset = binding->offset;
		entries[i].size = binding->bytes;
	}
	const WGPUBindGroupLayout layout = wgpuComputePipelineGetBindGroupLayout(k->pipeline[index], 0);
	k->group[index] = wgpuDeviceCreateBindGroup(
		device, &(WGPUBindGroupDescriptor){
				.layout = layout, .entryCount = launch->binding_count, .entries = entries });
	wgpuBindGroupLayoutRelease(layout);
}

/* OPERAND in the order of info.operand; of the output what it holds is of no account. */
static void make_kernel(const struct tcbrt *rt, const struct tcbrt_query *query, const void *const operand[],
			struct kernel *k)
{
	struct tcbrt_error err;

	memset(k, 0, sizeof(*k));
	require(tcbrt_plan_create(rt, query, &k->plan, &err), &err);
	tcbrt_plan_info(k->plan, &k->info);
	if (tcbrt_wgpu_code(k->plan, &k->code) != TCBRT_OK)
		fail(query->op, "no code", 7);
	for (size_t i = 0; i < k->info.operand_count; i++) {
		const struct tcbrt_operand *o = &k->info.operand[i];
		void *packed = NULL;

		if (o->packed_bytes) {
			packed = aligned_alloc(TCBRT_ALIGNMENT, (o->packed_bytes + TCBRT_ALIGNMENT - 1) /
									TCBRT_ALIGNMENT * TCBRT_ALIGNMENT);
			tcbrt_pack_operand(k->plan, i, operand[i], packed);
		}
		k->operand[i] = make_buffer(packed ? packed : operand[i], packed ? o->packed_bytes : o->bytes);
		free(packed);
	}
	if (k->info.workspace_bytes)
		k->workspace = make_buffer(NULL, k->info.workspace_bytes); /* new buffers hold zeros */
	const WGPUShaderModule module = make_module(&k->code);
	for (unsigned i = 0; i < k->code.launch_count; i++)
		make_launch(k, module, i);
	wgpuShaderModuleRelease(module);
}

static void free_kernel(struct kernel *k)
{
	for (unsigned i = 0; i < k->code.launch_count; i++) {
		wgpuBindGroupRelease(k->group[i]);
		wgpuComputePipelineRelease(k->pipeline[i]);
	}
	for (size_t i = 0; i < k->info.operand_count; i++)
		wgpuBufferRelease(k->operand[i]);
	if (k->workspace)
		wgpuBufferRelease(k->workspace);
	tcbrt_plan_destroy(k->plan);
}

/* COUNT calls in one pass, as an engine has them; returns microseconds per call, by this host's clock. */
static double run(const struct kernel *k, unsigned count)
{
	const WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(device, NULL);
	const WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(encoder, NULL);
	struct timespec from, to;

	for (unsigned call = 0; call < count; call++)
		for (unsigned i = 0; i < k->code.launch_count; i++) {
			const unsigned *dispatch = k->code.launch[i].dispatch;

			wgpuComputePassEncoderSetPipeline(pass, k->pipeline[i]);
			wgpuComputePassEncoderSetBindGroup(pass, 0, k->group[i], 0, NULL);
			wgpuComputePassEncoderDispatchWorkgroups(pass, dispatch[0], dispatch[1], dispatch[2]);
		}
	wgpuComputePassEncoderEnd(pass);
	const WGPUCommandBuffer command = wgpuCommandEncoderFinish(encoder, NULL);
	clock_gettime(CLOCK_MONOTONIC, &from);
	wgpuQueueSubmit(queue, 1, &command);
	wgpuDevicePoll(device, 1, NULL);
	clock_gettime(CLOCK_MONOTONIC, &to);
	wgpuCommandBufferRelease(command);
	wgpuComputePassEncoderRelease(pass);
	wgpuCommandEncoderRelease(encoder);
	return ((double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) / 1e3) / count;
}

static int report(const char *op, struct kernel *k, double error, double allowed)
{
	const double us = run(k, CALLS);

	printf("%s\n  source   %s (%s)\n  geometry %s\n  time     %.1f us per call\n  error    %.2g, allowed %.2g\n",
	       op, tcbrt_source_text(k->info.tuning.source), k->info.tuning.reason, k->info.tuning.geometry, us, error,
	       allowed);
	return !(error <= allowed);
}

/* ---- the two ---- */

static float drawn(void)
{
	return (float)rand() / (float)RAND_MAX - 0.5f;
}

/* Largest difference from the plain product, over the sum of magnitudes. */
static double product_error(const struct block *weights, const float *x, const float *y)
{
	double worst = 0;

	for (size_t n = 0; n < N; n++) {
		double sum = 0, magnitude = 0;

		for (size_t k = 0; k < K; k++) {
			/* 32 low nibbles, then the high ones of the same 32 bytes. */
			const size_t in = k % BLOCK, byte = in / 64 * 32 + in % 32;
			const unsigned code = weights[(n * K + k) / BLOCK].codes[byte] >> (in / 32 % 2 * 4) & 15;
			const double product = (code / 64.0 - 1 / 8.0) * (double)x[k];

			sum += product;
			magnitude += fabs(product);
		}
		worst = fmax(worst, fabs((double)y[n] - sum) / magnitude);
	}
	return worst;
}

static int product(const struct tcbrt *rt, const struct tcbrt_wgpu_adapter *on)
{
	const struct tcbrt_query query = { .op = "q4k_matvec", .m = 1, .n = N, .k = K, .wgpu = on };
	struct block *weights = malloc(N * K / BLOCK * sizeof(*weights));
	float *x = malloc(K * sizeof(*x)), *y = calloc(N, sizeof(*y));
	const void *const operand[] = { weights, x, y };
	struct kernel k;

	for (size_t i = 0; i < N * K / BLOCK; i++) {
		/* Scales of the first four groups of 32, minima of these; the low halves of both of the others. */
		weights[i] = (struct block){ .d = { 0, 0x24 },
					     .dmin = { 0, 0x30 },
					     .scales = { 1, 1, 1, 1, 1, 1, 1, 1, 0x11, 0x11, 0x11, 0x11 } };
		for (size_t c = 0; c < BLOCK / 2; c++)
			weights[i].codes[c] = (unsigned char)(rand() % 256);
	}
	for (size_t i = 0; i < K; i++)
		x[i] = drawn();
	make_kernel(rt, &query, operand, &k);
	run(&k, 1);
	read_buffer(k.operand[2], N * sizeof(*y), y);
	/* The op's own contract quantises x to 8 bits. */
	const int is_wrong = report("q4k_matvec", &k, product_error(weights, x, y), 1e-2);
	free_kernel(&k);
	free(weights);
	free(x);
	free(y);
	return is_wrong;
}

static double softmax_error(const float *x, const float *y)
{
	double worst = 0;

	for (size_t row = 0; row < ROWS; row++) {
		const float *from = x + row * COLUMNS;
		double sum = 0;

		for (size_t i = 0; i < COLUMNS; i++)
			sum += exp((double)from[i]);
		for (size_t i = 0; i < COLUMNS; i++) {
			const double right = exp((double)from[i]) / sum;

			worst = fmax(worst, fabs((double)y[row * COLUMNS + i] - right) / right);
		}
	}
	return worst;
}

static int softmax(const struct tcbrt *rt, const struct tcbrt_wgpu_adapter *on)
{
	const struct tcbrt_query query = { .op = "softmax", .m = ROWS, .n = COLUMNS, .wgpu = on };
	const size_t count = (size_t)ROWS * COLUMNS;
	float *x = malloc(count * sizeof(*x)), *y = calloc(count, sizeof(*y));
	const void *const operand[] = { x, y };
	struct kernel k;

	for (size_t i = 0; i < count; i++)
		x[i] = 8 * drawn();
	make_kernel(rt, &query, operand, &k);
	run(&k, 1);
	read_buffer(k.operand[1], count * sizeof(*y), y);
	const int is_wrong = report("softmax", &k, softmax_error(x, y), 1e-5);
	free_kernel(&k);
	free(x);
	free(y);
	return is_wrong;
}

int main(int argc, char **argv)
{
	WGPUAdapterInfo info = { .nextInChain = NULL };
	struct tcbrt_wgpu_adapter on;
	char name[TCBRT_WGPU_NAME_MAX];
	struct tcbrt_error err;
	struct tcbrt *rt;

	if (tcbrt_open(argc > 1 && *argv[1] ? argv[1] : NULL, &rt, &err) != TCBRT_OK)
		require(tcbrt_open_empty(&rt, &err), &err);
	open_device(&info, &on);
	require(tcbrt_wgpu_device(&on, name, &err), &err);
	printf("device   %.*s, %s\n", (int)info.device.length, info.device.data, name);
	srand(1);
	const int wrong = product(rt, &on) + softmax(rt, &on);

	tcbrt_close(rt);
	wgpuAdapterInfoFreeMembers(info);
	wgpuQueueRelease(queue);
	wgpuDeviceRelease(device);
	wgpuAdapterRelease(adapter);
	wgpuInstanceRelease(instance);
	return wrong != 0;
}
