/* SPDX-License-Identifier: MIT
 *
 * Opening the driver and describing its GPUs, on the fake driver; and the fake
 * driver itself: the order in which it does things, what it refuses, and what
 * is left of a context after a fault.
 */
#include "fake_gpu.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/cuda.h"
#include "device/gpu.h"

/* Runs CHECK in a child, because the driver is opened once per process; its exit status. */
static int in_child(void (*check)(void))
{
	int status;
	fflush(NULL);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		check();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

#define CHECK(holds)                                                   \
	do {                                                           \
		if (!(holds)) {                                        \
			fprintf(stderr, "%d: %s\n", __LINE__, #holds); \
			_exit(1);                                      \
		}                                                      \
	} while (0)

static const char *expected;

static void refuses(void)
{
	struct tcb_error err;
	CHECK(!tcb_cuda_open(&err) && err.status == TCB_E_UNSUPPORTED);
	CHECK(strstr(err.message, expected));
	CHECK(!tcb_cuda_open(&err) && strstr(err.message, expected)); /* the reason is kept */
}

static void opens(void)
{
	struct tcb_error err;
	const struct tcb_cuda *cuda = tcb_cuda_open(&err);
	CHECK(cuda && cuda->version == 12040 && tcb_cuda_open(&err) == cuda);
	CHECK(tcb_cuda_check(cuda, 0, "nothing", &err) == TCB_OK);
	CHECK(tcb_cuda_check(cuda, TCB_CUDA_OUT_OF_MEMORY, "much", &err) == TCB_E_NOMEM);
	CHECK(tcb_cuda_check(cuda, TCB_CUDA_ILLEGAL_ADDRESS, "running it", &err) == TCB_E_FAILED);
	CHECK(strstr(err.message, "running it: CUDA_ERROR_ILLEGAL_ADDRESS"));
	CHECK(tcb_cuda_check(cuda, 12345, "x", &err) == TCB_E_FAILED && strstr(err.message, "unknown CUDA error"));
}

static void the_driver_opens_or_says_what_is_missing(void **state)
{
	(void)state;
	fake_gpu_load("90");
	assert_int_equal(in_child(opens), 0);
	expected = "sees no GPU";
	fake_gpu_load("none");
	assert_int_equal(in_child(refuses), 0);
	fake_gpu_load("90");
	expected = "lacks cuLaunchKernelEx; tcbtune needs a driver of CUDA 12.0";
	setenv("FAKE_CUDA_LACKS", "cuLaunchKernelEx", 1);
	assert_int_equal(in_child(refuses), 0);
	assert_int_equal(in_child(opens), 1); /* the check can fail */
	unsetenv("FAKE_CUDA_LACKS");
}

static void attached_cards_are_described(void **state)
{
	struct tcb_gpu *gpus = calloc(TCB_GPUS_MAX, sizeof *gpus), one;
	struct tcb_error err;
	size_t count;
	(void)state;
	assert_non_null(gpus);
	fake_gpu_load("90,89,90:slow=5,90:sms=8");
	assert_int_equal(tcb_gpu_list(gpus, &count, &err), TCB_OK);
	assert_int_equal(count, 4);
	assert_string_equal(gpus[0].device.name, "sm_90");
	assert_string_equal(gpus[0].device.model, "Fake GPU 90-4");
	assert_string_equal(gpus[1].device.name, "sm_89");
	assert_int_equal(gpus[0].device.target.cuda.sm_count, 4);
	assert_int_equal(gpus[0].device.target.l2_bytes, 1 << 20);
	assert_int_equal(gpus[0].device.memory_bytes, 256 << 20);
	assert_true(gpus[0].read_bytes_s == 64e9);
	assert_string_equal(gpus[0].source, "driver");
	assert_non_null(strstr(gpus[0].device.driver, "CUDA 12.4"));
	assert_string_equal(gpus[2].uuid, "GPU-fafafafa-fafa-fafa-fafa-fafafafafa02");
	/* Identical cards share a key, whatever their place and speed; others do not. */
	assert_string_equal(gpus[0].device.key, gpus[2].device.key);
	assert_string_not_equal(gpus[0].device.key, gpus[1].device.key);
	assert_string_not_equal(gpus[0].device.key, gpus[3].device.key);

	assert_int_equal(tcb_gpu_open("cuda:1", 1, &one, &err), TCB_OK);
	assert_true(one.ordinal == 1 && one.device.target.cuda.capability == 89);
	assert_int_equal(tcb_gpu_open("sm_89", 1, &one, &err), TCB_OK);
	assert_int_equal(one.ordinal, 1);
	assert_int_equal(tcb_gpu_open("cuda:4", 1, &one, &err), TCB_E_NOT_FOUND);
	assert_non_null(strstr(err.message, "the driver sees 4 GPUs"));
	assert_int_equal(tcb_gpu_open("sm_80", 0, &one, &err), TCB_OK); /* the table's */
	assert_int_equal(one.ordinal, -1);
	assert_int_equal(tcb_gpu_open("sm_80", 1, &one, &err), TCB_E_NOT_FOUND);
	/* All of them together, or not. */
	assert_int_equal(tcb_gpu_open_all(gpus, &count, &err), TCB_E_USAGE);
	assert_non_null(strstr(err.message, "cuda:0 is Fake GPU 90-4 (sm_90, key "));
	assert_non_null(strstr(err.message, "cuda:1 is Fake GPU 89-4 (sm_89, key "));
	assert_int_equal(tcb_gpu_open("cuda:all", 1, &one, &err), TCB_E_USAGE);
	fake_gpu_load("90,90:slow=7,90");
	assert_int_equal(tcb_gpu_open_all(gpus, &count, &err), TCB_OK);
	assert_int_equal(count, 3);
	assert_int_equal(tcb_gpu_open("cuda:all", 1, &one, &err), TCB_OK);
	assert_int_equal(one.ordinal, 0);
	fake_gpu_load("none");
	assert_int_equal(tcb_gpu_list(gpus, &count, &err), TCB_E_UNSUPPORTED);
	assert_int_equal(count, 0);
	assert_int_equal(tcb_gpu_open_all(gpus, &count, &err), TCB_E_NOT_FOUND);
	assert_int_equal(tcb_gpu_open("cuda:all", 0, &one, &err), TCB_E_NOT_FOUND);
	free(gpus);
}

/* --- the fake driver --- */

static const char *const kernels = ".version 8.0\n.target sm_80\n.address_size 64\n"
				   /* one: *p += n; */
				   ".visible .entry one(.param .u64 p, .param .u32 n)\n{\n"
				   ".reg .b64 %a;\n.reg .b32 %v, %n;\n"
				   "ld.param.u64 %a, [p];\nld.param.u32 %n, [n];\n"
				   "ld.global.u32 %v, [%a];\nadd.u32 %v, %v, %n;\nst.global.u32 [%a], %v;\nret;\n}\n";

struct driver {
	const struct tcb_cuda *cuda;
	CUcontext context;
	CUstream stream;
	CUmodule module;
	CUfunction one;
	uint64_t memory;
};

static int load(const struct tcb_cuda *cuda, const char *text, CUmodule *module, char log[200])
{
	int options[] = { TCB_CUDA_JIT_ERROR_LOG_BUFFER, TCB_CUDA_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { log, (void *)(uintptr_t)200 };
	log[0] = '\0';
	return cuda->module_load(module, text, 2, options, values);
}

static void open_driver(struct driver *d)
{
	struct tcb_error err;
	char log[200];
	d->cuda = tcb_cuda_open(&err);
	CHECK(d->cuda);
	CHECK(d->cuda->alloc(&d->memory, 64) == 201); /* no context yet */
	CHECK(d->cuda->context_retain(&d->context, 0) == 0 && d->cuda->context_set(d->context) == 0);
	CHECK(d->cuda->stream_create(&d->stream, TCB_CUDA_STREAM_NON_BLOCKING) == 0);
	CHECK(load(d->cuda, kernels, &d->module, log) == 0);
	CHECK(d->cuda->module_function(&d->one, d->module, "one") == 0);
	CHECK(d->cuda->alloc(&d->memory, 64) == 0 && d->memory % 256 == 0);
}

static int launch(const struct driver *d, uint64_t address, uint32_t n, unsigned threads, unsigned shared)
{
	struct tcb_cuda_config config = {
		.grid = { 1, 1, 1 }, .block = { threads, 1, 1 }, .shared_bytes = shared, .stream = d->stream
	};
	void *params[] = { &address, &n };
	return d->cuda->launch(&config, d->one, params, NULL);
}

static uint32_t word(const struct driver *d)
{
	uint32_t value = 0;
	CHECK(d->cuda->copy_out(&value, d->memory, 4) == 0);
	return value;
}

/* Nothing happens before somebody waits, and then in the order of its stream only. */
static void order(void)
{
	struct driver d;
	CUevent from, to;
	float ms = -1;
	open_driver(&d);
	CHECK(d.cuda->fill(d.memory, 0, 64, d.stream) == 0);
	CHECK(launch(&d, d.memory, 5, 1, 0) == 0);
	CHECK(word(&d) == 0xa5a5a5a5); /* the stream has not been waited for */
	CHECK(d.cuda->stream_sync(d.stream) == 0 && word(&d) == 5);
	CHECK(d.cuda->fill(d.memory, 0, 64, NULL) == 0 && launch(&d, d.memory, 1, 1, 0) == 0);
	CHECK(d.cuda->stream_sync(d.stream) == 0 && word(&d) == 0); /* the fill came last: nobody said otherwise */
	CHECK(d.cuda->event_create(&from, 0) == 0 && d.cuda->event_create(&to, 0) == 0);
	CHECK(d.cuda->event_record(from, d.stream) == 0 && launch(&d, d.memory, 1, 1, 0) == 0);
	CHECK(d.cuda->event_record(to, d.stream) == 0);
	CHECK(d.cuda->event_elapsed(&ms, from, to) == TCB_CUDA_NOT_READY);
	CHECK(d.cuda->event_sync(to) == 0 && d.cuda->event_elapsed(&ms, from, to) == 0);
	CHECK(ms > 0.0005f && ms < 0.01f && word(&d) == 1);
	CHECK(d.cuda->event_destroy(from) == 0 && d.cuda->event_destroy(to) == 0);
	CHECK(d.cuda->free(d.memory) == 0 && d.cuda->free(d.memory) == TCB_CUDA_INVALID_VALUE);
	CHECK(d.cuda->module_unload(d.module) == 0 && d.cuda->stream_destroy(d.stream) == 0);
	CHECK(d.cuda->context_release(0) == 0);
}

static void graphs(void)
{
	struct driver d;
	CUgraph graph;
	CUgraphExec exec;
	uint64_t other;
	open_driver(&d);
	CHECK(d.cuda->fill(d.memory, 0, 64, d.stream) == 0);
	CHECK(d.cuda->capture_begin(d.stream, TCB_CUDA_CAPTURE_THREAD_LOCAL) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(launch(&d, d.memory, 1, 1, 0) == 0);
	CHECK(d.cuda->capture_end(d.stream, &graph) == 0);
	CHECK(d.cuda->graph_instantiate(&exec, graph, 0) == 0);
	CHECK(d.cuda->stream_sync(d.stream) == 0 && word(&d) == 0); /* captured, not run */
	CHECK(d.cuda->graph_launch(exec, d.stream) == 0 && d.cuda->graph_launch(exec, d.stream) == 0);
	CHECK(d.cuda->stream_sync(d.stream) == 0 && word(&d) == 6);
	CHECK(d.cuda->graph_exec_destroy(exec) == 0 && d.cuda->graph_destroy(graph) == 0);
	/* What would wait for the device spoils a capture. */
	CHECK(d.cuda->capture_begin(d.stream, TCB_CUDA_CAPTURE_THREAD_LOCAL) == 0);
	CHECK(d.cuda->alloc(&other, 64) == 900);
	CHECK(d.cuda->capture_end(d.stream, &graph) == 900 && !graph);
	CHECK(launch(&d, d.memory, 1, 1, 0) == 0 && d.cuda->stream_sync(d.stream) == 0 && word(&d) == 7);
}

static void refusals(void)
{
	struct driver d;
	CUmodule module;
	CUfunction function;
	char log[200];
	open_driver(&d);
	CHECK(load(d.cuda, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f()\n{\nfly;\n}\n", &module,
		   log) == TCB_CUDA_INVALID_PTX);
	CHECK(strstr(log, "ptx:6"));
	CHECK(load(d.cuda, ".version 8.6\n.target sm_100\n.address_size 64\n.visible .entry f()\n{\nret;\n}\n", &module,
		   log) == TCB_CUDA_NO_BINARY_FOR_GPU);
	CHECK(load(d.cuda, "\177ELF", &module, log) == TCB_CUDA_INVALID_IMAGE);
	CHECK(d.cuda->module_function(&function, d.module, "two") == 500);
	CHECK(launch(&d, d.memory, 1, 1025, 0) == TCB_CUDA_INVALID_VALUE);
	CHECK(launch(&d, d.memory, 1, 1, 60 << 10) == TCB_CUDA_INVALID_VALUE); /* not asked for */
	CHECK(d.cuda->function_set(d.one, TCB_CUDA_FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60 << 10) == 0);
	CHECK(launch(&d, d.memory, 1, 1, 60 << 10) == 0);
	CHECK(d.cuda->function_set(d.one, TCB_CUDA_FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65 << 10) ==
	      TCB_CUDA_INVALID_VALUE);
	CHECK(d.cuda->alloc(&d.memory, 300 << 20) == TCB_CUDA_OUT_OF_MEMORY);
	CHECK(d.cuda->context_sync() == 0); /* none of it hurt */
}

static void illegal_address(void)
{
	struct driver d;
	open_driver(&d);
	CHECK(launch(&d, d.memory + 64, 1, 1, 0) == 0); /* launches do not wait, so they cannot know */
	CHECK(d.cuda->stream_sync(d.stream) == TCB_CUDA_ILLEGAL_ADDRESS);
	CHECK(d.cuda->copy_out(&d, d.memory, 4) == TCB_CUDA_ILLEGAL_ADDRESS);
	CHECK(d.cuda->free(d.memory) == TCB_CUDA_ILLEGAL_ADDRESS);
	CHECK(launch(&d, d.memory, 1, 1, 0) == TCB_CUDA_ILLEGAL_ADDRESS);
}

static void misaligned_address(void)
{
	struct driver d;
	open_driver(&d);
	CHECK(launch(&d, d.memory + 2, 1, 1, 0) == 0);
	CHECK(d.cuda->context_sync() == TCB_CUDA_MISALIGNED_ADDRESS);
	CHECK(d.cuda->context_sync() == TCB_CUDA_MISALIGNED_ADDRESS);
}

static void freed_memory(void)
{
	struct driver d;
	open_driver(&d);
	CHECK(launch(&d, d.memory, 1, 1, 0) == 0 && d.cuda->free(d.memory) == 0);
	CHECK(launch(&d, d.memory, 1, 1, 0) == 0);
	CHECK(d.cuda->stream_sync(d.stream) == TCB_CUDA_ILLEGAL_ADDRESS);
}

static void death(void)
{
	struct driver d;
	open_driver(&d);
	CHECK(launch(&d, d.memory, 1, 1, 0) == 0 && d.cuda->stream_sync(d.stream) == 0);
	CHECK(launch(&d, d.memory, 1, 1, 0) == 0 && d.cuda->stream_sync(d.stream) == 999);
}

static void death_lasts(void)
{
	struct tcb_error err;
	CUcontext context;
	const struct tcb_cuda *cuda = tcb_cuda_open(&err);
	CHECK(cuda && cuda->context_retain(&context, 0) == 46);
	CHECK(cuda->context_retain(&context, 1) == 0);
}

static void the_fake_behaves(void **state)
{
	char mark[] = "/tmp/fake_cuda_XXXXXX", path[64];
	int fd = mkstemp(mark);
	(void)state;
	assert_true(fd >= 0);
	close(fd);
	fake_gpu_load("90");
	assert_int_equal(in_child(order), 0);
	assert_int_equal(in_child(graphs), 0);
	assert_int_equal(in_child(refusals), 0);
	assert_int_equal(in_child(illegal_address), 0);
	assert_int_equal(in_child(misaligned_address), 0);
	assert_int_equal(in_child(freed_memory), 0);
	setenv("FAKE_CUDA_DEAD", mark, 1);
	fake_gpu_load("90:dies=2,90");
	assert_int_equal(in_child(death), 0);
	assert_int_equal(in_child(death_lasts), 0);
	snprintf(path, sizeof path, "%s.0", mark);
	unlink(path);
	unlink(mark);
	unsetenv("FAKE_CUDA_DEAD");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_driver_opens_or_says_what_is_missing),
		cmocka_unit_test(attached_cards_are_described),
		cmocka_unit_test(the_fake_behaves),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
