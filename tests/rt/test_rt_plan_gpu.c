/* SPDX-License-Identifier: MIT
 *
 * Plans on a GPU, the first that the driver has: those of every op are loaded
 * into a context and onto a stream of this program's own, by the library and by
 * hand, plainly and from a graph, and give the reference's result.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "device/cuda.h"
#include "device/gpu.h"
#include "instrumented.h"
#include "kernels/op.h"
#include "rt/rt_plan.h"
#include "shape_for.h"
#include "tcbrt.h"

enum { SEED = 11 };

static const struct tcb_cuda *cuda;
static char no_gpu[sizeof((struct tcb_error *)0)->message], kind[TCBRT_GPU_NAME_MAX];
static CUstream stream;
static int calls; /* that follow each other: the fake driver emulates every one */

static int open_gpu(void **state)
{
	struct tcb_error err;
	CUcontext context;
	int device;

	(void)state;
	calls = getenv("FAKE_CUDA") ? 1 : 3;
	cuda = tcb_cuda_open(&err);
	if (!cuda) {
		snprintf(no_gpu, sizeof(no_gpu), "%s", err.message);
		return 0;
	}
	return cuda->device_get(&device, 0) || cuda->context_retain(&context, device) || cuda->context_set(context) ||
	       cuda->stream_create(&stream, TCB_CUDA_STREAM_NON_BLOCKING) || tcbrt_gpu_device(kind, NULL);
}

static void check(int result)
{
	if (result != TCB_CUDA_SUCCESS)
		fail_msg("the driver says %s", tcb_cuda_error_name(cuda, result));
}

struct bench {
	struct tcbrt_plan *plan;
	struct tcbrt_plan_info info;
	struct tcbrt_gpu *gpu;
	void *stored[TCBRT_OPERANDS_MAX];
	unsigned long long operand[TCBRT_OPERANDS_MAX], workspace;
	double *reference;
	struct tcb_reference references[TCB_OUTPUTS_MAX];
};

static unsigned long long to_gpu(const void *from, size_t bytes)
{
	uint64_t address;

	check(cuda->alloc(&address, bytes));
	check(cuda->copy_in(address, from, bytes));
	return address;
}

static void bench_init(struct bench *b, const struct tcbrt *rt, const struct tcbrt_query *query)
{
	struct tcbrt_error err;

	memset(b, 0, sizeof(*b));
	if (tcbrt_plan_create(rt, query, &b->plan, &err) != TCBRT_OK ||
	    tcbrt_plan_info(b->plan, &b->info) != TCBRT_OK || tcbrt_gpu_load(b->plan, &b->gpu, &err) != TCBRT_OK)
		fail_msg("%s %zux%zux%zu: %s", query->op, query->m, query->n, query->k, err.message);
	assert_true(b->info.is_gpu);
	for (size_t i = 0; i < b->info.operand_count; i++)
		b->stored[i] = calloc(1, b->plan->operand[i].bytes);
	b->plan->problem.op->fill(&b->plan->problem, SEED, b->stored);
	for (size_t i = 0; i < b->info.operand_count; i++) {
		if (b->plan->operand[i].packed_bytes) {
			const size_t bytes = tcb_round_up(b->plan->operand[i].packed_bytes, TCBRT_ALIGNMENT);
			void *packed = aligned_alloc(TCBRT_ALIGNMENT, bytes);

			memset(packed, 0, bytes);
			assert_int_equal(tcbrt_pack(b->plan, b->stored[i], packed), TCBRT_OK);
			b->operand[i] = to_gpu(packed, b->plan->operand[i].packed_bytes);
			free(packed);
		} else {
			b->operand[i] = to_gpu(b->stored[i], b->plan->operand[i].bytes);
		}
	}
	if (b->info.workspace_bytes) {
		void *zeros = calloc(1, b->info.workspace_bytes);

		b->workspace = to_gpu(zeros, b->info.workspace_bytes);
		free(zeros);
	}
	check(cuda->context_sync()); /* the stream waits for no other */
	struct tcb_operand described[TCB_OPERANDS_MAX];
	const size_t count = b->plan->problem.op->operands(&b->plan->problem, described);

	b->reference = malloc(tcb_references_lay_out(described, count, NULL, NULL) * sizeof(double));
	tcb_references_lay_out(described, count, b->reference, b->references);
	b->plan->problem.op->reference(&b->plan->problem, b->stored, b->references);
}

static void bench_fini(struct bench *b)
{
	tcbrt_gpu_unload(b->gpu);
	for (size_t i = 0; i < b->info.operand_count; i++) {
		check(cuda->free(b->operand[i]));
		free(b->stored[i]);
	}
	if (b->workspace)
		check(cuda->free(b->workspace));
	free(b->reference);
	tcbrt_plan_destroy(b->plan);
}

static void poison(struct bench *b)
{
	for (size_t i = 0; i < b->info.operand_count; i++)
		if (b->plan->operand[i].role == TCBRT_ROLE_OUTPUT)
			check(cuda->fill(b->operand[i], 0xff, b->plan->operand[i].bytes, stream));
}

static void check_result(struct bench *b, const char *how)
{
	const struct tcb_code_unit *unit = &b->plan->image->unit[0];
	const struct tcb_plan bound = { .chain = unit->chain, .ulps = unit->ulps };
	struct tcb_operand described[TCB_OPERANDS_MAX];
	const size_t count = b->plan->problem.op->operands(&b->plan->problem, described);
	void *got[TCB_OPERANDS_MAX] = { NULL };
	size_t output = 0, bad = 0;

	check(cuda->stream_sync(stream));
	for (size_t i = 0; i < count; i++)
		if (described[i].role == TCB_ROLE_OUTPUT) {
			got[i] = malloc(described[i].bytes);
			check(cuda->copy_out(got[i], b->operand[i], described[i].bytes));
		}
	if (unit->class != TCB_CLASS_EXACT &&
	    !(tcb_outputs_error_ratio(&bound, described, count, b->references, got, &output, &bad) <= 1))
		fail_msg("%s %zux%zux%zu %s with %s: %s %zu is wrong", b->plan->problem.op->name,
			 b->plan->problem.shape.m, b->plan->problem.shape.n, b->plan->problem.shape.k, how,
			 b->info.tuning.geometry, described[output].name, bad);
	for (size_t i = 0; i < count; i++)
		free(got[i]);
}

static void execute(struct bench *b, unsigned flags)
{
	assert_int_equal(tcbrt_gpu_execute(b->gpu, b->operand, b->workspace, stream, flags), TCBRT_OK);
}

/* What a program does that loads the code itself. */
static void execute_by_hand(struct bench *b)
{
	struct tcbrt_gpu_code code;
	struct tcbrt_error err;
	CUmodule module;

	assert_int_equal(tcbrt_gpu_code(b->plan, &code), TCBRT_OK);
	check(cuda->module_load(&module, code.code, 0, NULL, NULL));
	for (unsigned i = 0; i < code.launch_count; i++) {
		const struct tcbrt_gpu_launch *launch = &code.launch[i];
		struct tcb_cuda_attribute cluster = { .id = TCB_CUDA_LAUNCH_CLUSTER_DIMENSION };
		struct tcb_cuda_config config = { .shared_bytes = launch->shared_bytes,
						  .stream = stream,
						  .attributes = &cluster,
						  .attribute_count = launch->cluster[0] > 0 };
		struct tcbrt_gpu_arguments arguments;
		CUfunction function;

		memcpy(config.grid, launch->grid, sizeof(config.grid));
		memcpy(config.block, launch->block, sizeof(config.block));
		memcpy(cluster.value.dims, launch->cluster, sizeof(launch->cluster));
		if (tcbrt_gpu_arguments(b->plan, i, b->operand, b->workspace, &arguments, &err) != TCBRT_OK)
			fail_msg("%s", err.message);
		check(cuda->module_function(&function, module, launch->entry));
		if (launch->shared_bytes)
			check(cuda->function_set(function, TCB_CUDA_FUNCTION_MAX_DYNAMIC_SHARED_SIZE_BYTES,
						 (int)launch->shared_bytes));
		check(cuda->launch(&config, function, arguments.pointer, NULL));
	}
	check_result(b, "by hand");
	check(cuda->module_unload(module));
}

static void execute_in_graph(struct bench *b)
{
	CUgraph graph;
	CUgraphExec exec;

	check(cuda->capture_begin(stream, TCB_CUDA_CAPTURE_THREAD_LOCAL));
	for (int call = 0; call < calls; call++)
		execute(b, TCBRT_GPU_OVERLAP);
	check(cuda->capture_end(stream, &graph));
	check(cuda->graph_instantiate(&exec, graph, 0));
	poison(b);
	for (int run = 0; run < calls; run++)
		check(cuda->graph_launch(exec, stream));
	check_result(b, "in a graph");
	check(cuda->graph_exec_destroy(exec));
	check(cuda->graph_destroy(graph));
}

static const struct tcb_shape shapes[] = { { 1, 67, 512 }, { 5, 33, 768 }, { 19, 130, 256 } };

/* The fake card has less shared memory than any of its capability, for which defaults are made. */
static int is_too_large(const struct tcb_op *op, const struct tcb_shape *shape, const struct tcbrt_tuning *tuning)
{
	const int capability = atoi(kind + strlen("sm_"));
	struct tcb_geometry geometry;
	struct tcb_footprint footprint;
	struct tcb_problem problem;
	struct tcb_gpu gpu;
	int most, device;

	check(cuda->device_get(&device, 0));
	check(cuda->device_attribute(&most, TCB_CUDA_DEVICE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device));
	assert_int_equal(tcb_gpu_table((unsigned)capability, &gpu, NULL), TCB_OK);
	assert_int_equal(tcb_geometry_parse(tuning->geometry, &geometry, NULL), TCB_OK);
	assert_int_equal(tcb_problem_init(op, op->default_contract, shape, &problem, NULL), TCB_OK);
	tcb_space_of(&problem, &gpu.device.target, &geometry)
		->footprint(&problem, &gpu.device.target, &geometry, &footprint);
	return footprint.shared_bytes > (size_t)most;
}

static void every_op_runs(void **state)
{
	size_t count, planned = 0;
	const struct tcb_op *const *ops = tcb_ops(&count);
	struct tcbrt *rt;

	(void)state;
	if (!cuda)
		skip_because("%s", no_gpu);
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	for (size_t o = 0; o < count; o++)
		for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++) {
			struct tcbrt_query query = {
				.op = ops[o]->name, .device = kind, .m = shapes[s].m, .n = shapes[s].n
			};
			struct tcbrt_tuning tuning;
			struct bench b;

			if (test_leaves_out(o * sizeof(shapes) / sizeof(*shapes) + s))
				continue;
			char words[TCB_WORDS_TEXT_MAX];
			const struct tcb_shape shape =
				shape_for(ops[o], (struct tcb_shape){ shapes[s].m, shapes[s].n, shapes[s].k });

			tcb_words_print(&shape.words, words);
			query.m = shape.m;
			query.k = shape.k;
			query.words = words;
			if (tcbrt_lookup(rt, &query, &tuning) != TCBRT_OK || is_too_large(ops[o], &shape, &tuning))
				continue;
			bench_init(&b, rt, &query);
			poison(&b);
			execute(&b, 0);
			check_result(&b, "once");
			for (int call = 0; call < calls; call++)
				execute(&b, TCBRT_GPU_OVERLAP);
			check_result(&b, "again");
			poison(&b);
			execute_by_hand(&b);
			execute_in_graph(&b);
			bench_fini(&b);
			planned++;
		}
	assert_true(planned >= test_least_of(2 * count));
	tcbrt_close(rt);
}

static void misuse_is_refused(void **state)
{
	struct tcbrt_query query = { .op = "q4k_matvec", .device = kind, .m = 1, .n = 64, .k = 512 };
	struct tcbrt_gpu_code code;
	struct tcbrt_gpu *gpu;
	struct tcbrt_plan *cpu;
	struct tcbrt_error err;
	struct tcbrt *rt;
	struct bench b;

	(void)state;
	if (!cuda)
		skip_because("%s", no_gpu);
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	bench_init(&b, rt, &query);
	assert_int_equal(tcbrt_gpu_execute(b.gpu, b.operand, b.workspace, stream, 2), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_gpu_execute(NULL, b.operand, b.workspace, stream, 0), TCBRT_E_USAGE);
	b.operand[0] += 4;
	assert_int_equal(tcbrt_gpu_execute(b.gpu, b.operand, b.workspace, stream, 0), TCBRT_E_USAGE);
	b.operand[0] -= 4;
	assert_int_equal(tcbrt_execute(b.plan, NULL, NULL, NULL), TCBRT_E_USAGE);
	bench_fini(&b);
	query.device = NULL;
	assert_int_equal(tcbrt_plan_create(rt, &query, &cpu, NULL), TCBRT_OK);
	assert_int_equal(tcbrt_gpu_load(cpu, &gpu, &err), TCBRT_E_USAGE);
	assert_null(gpu);
	assert_int_equal(tcbrt_gpu_code(cpu, &code), TCBRT_E_USAGE);
	tcbrt_gpu_unload(NULL);
	tcbrt_plan_destroy(cpu);
	tcbrt_close(rt);
}

static struct tcbrt_plan *plan_for(const struct tcbrt *rt, const char *device)
{
	const struct tcbrt_query query = { .op = "q4k_matvec", .device = device, .m = 1, .n = 64, .k = 512 };
	struct tcbrt_plan *plan;
	struct tcbrt_error err;

	if (tcbrt_plan_create(rt, &query, &plan, &err) != TCBRT_OK)
		fail_msg("%s: %s", device, err.message);
	return plan;
}

static struct tcbrt_plan *saved_and_loaded(const struct tcbrt *rt, struct tcbrt_plan *plan)
{
	struct tcbrt_plan *loaded;
	struct tcbrt_error err;
	size_t bytes;
	void *blob;

	assert_int_equal(tcbrt_plan_save(plan, NULL, 0, &bytes), TCBRT_OK);
	blob = malloc(bytes);
	assert_int_equal(tcbrt_plan_save(plan, blob, bytes, &bytes), TCBRT_OK);
	if (tcbrt_plan_load(rt, blob, bytes, &loaded, &err) != TCBRT_OK)
		fail_msg("%s", err.message);
	free(blob);
	tcbrt_plan_destroy(plan);
	return loaded;
}

/* A plan for this model and one for the kind can be loaded, one for another model of the kind cannot. */
static void plans_are_for_their_model(void **state)
{
	char any[TCBRT_GPU_NAME_MAX], other[TCBRT_GPU_NAME_MAX];
	const char *names[] = { kind, any, other };
	const size_t length = strcspn(kind, ":");
	struct tcbrt *rt;

	(void)state;
	if (!cuda)
		skip_because("%s", no_gpu);
	assert_int_equal(strlen(kind), length + strlen(":0123456789abcdef"));
	snprintf(any, sizeof(any), "%.*s", (int)length, kind);
	snprintf(other, sizeof(other), "%s", kind);
	other[length + 1] = kind[length + 1] == '0' ? '1' : '0';
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	for (size_t i = 0; i < 6; i++) {
		struct tcbrt_plan *plan = plan_for(rt, names[i / 2]);
		struct tcbrt_error err;
		struct tcbrt_gpu *gpu;

		if (i & 1)
			plan = saved_and_loaded(rt, plan);
		assert_int_equal(tcbrt_gpu_load(plan, &gpu, &err), i / 2 == 2 ? TCBRT_E_UNSUPPORTED : TCBRT_OK);
		assert_true(i / 2 != 2 || (strstr(err.message, other) && strstr(err.message, kind)));
		tcbrt_gpu_unload(gpu);
		tcbrt_plan_destroy(plan);
	}
	tcbrt_close(rt);
}

/* The same kernel with dependent launch and without, each asked for by its geometry. */
static void tells_what_overlaps(void **state)
{
	struct tcbrt_query query = { .op = "q4k_matvec", .device = kind, .m = 1, .n = 64, .k = 512 };
	struct tcbrt_tuning tuning;
	struct tcbrt *rt;

	(void)state;
	if (!cuda)
		skip_because("%s", no_gpu);
	if (strtoul(kind + strlen("sm_"), NULL, 10) < 90)
		skip_because("%s has no dependent launch", kind);
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_OK);
	for (int pdl = 0; pdl < 2; pdl++) {
		char *at = strstr(tuning.geometry, "pdl=");
		struct bench b;

		assert_non_null(at);
		at[strlen("pdl=")] = (char)('0' + pdl);
		query.geometry = tuning.geometry;
		bench_init(&b, rt, &query);
		assert_int_equal(b.info.tuning.source, TCBRT_SOURCE_ASKED);
		assert_int_equal(b.info.overlap_launches > 0, pdl);
		poison(&b);
		execute(&b, TCBRT_GPU_OVERLAP);
		execute(&b, TCBRT_GPU_OVERLAP);
		check_result(&b, "overlapping");
		bench_fini(&b);
	}
	tcbrt_close(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_op_runs),
		cmocka_unit_test(misuse_is_refused),
		cmocka_unit_test(plans_are_for_their_model),
		cmocka_unit_test(tells_what_overlaps),
	};

	return cmocka_run_group_tests(tests, open_gpu, NULL);
}
