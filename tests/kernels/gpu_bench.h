/* SPDX-License-Identifier: MIT
 *
 * For tests of GPU kernels: an op's kernel run in the emulator, on operands with
 * unmapped space around them, poisoned outputs and a workspace that is zeroed
 * once, and what came out of it.
 */
#ifndef TCB_TESTS_GPU_BENCH_H
#define TCB_TESTS_GPU_BENCH_H

#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/gpu.h"
#include "kernels/space.h"
#include "ptx/emulate.h"
#include "ptx/text.h"

/* The recorded GPU of CAPABILITY with SMS multiprocessors (0: its own). */
static inline struct tcb_target gpu_target(unsigned capability, unsigned sms)
{
	struct tcb_gpu gpu;
	assert_int_equal(tcb_gpu_table(capability, &gpu, NULL), TCB_OK);
	if (sms)
		gpu.device.target.sm_count = sms;
	return gpu.device.target;
}

/* A problem with its operands and what is right. */
struct gpu_bench {
	const struct tcb_op *op;
	struct tcb_problem problem;
	struct tcb_operand operand[TCB_OPERANDS_MAX];
	size_t operand_count, outputs;
	int output, weights;
	unsigned output_align; /* 4 unless the test says otherwise: most kernels may be handed part of an array */
	void *data[TCB_OPERANDS_MAX];
	struct tcb_reference reference;
	/* of the last run */
	uint64_t findings, threads;
	char message[400]; /* of its first finding */
	float first;       /* output */
};

static inline void gpu_bench_open(struct gpu_bench *b, const struct tcb_op *op, enum tcb_contract contract,
				  struct tcb_shape shape, uint64_t seed)
{
	memset(b, 0, sizeof *b);
	b->op = op;
	assert_int_equal(tcb_problem_init(op, contract, &shape, &b->problem, NULL), TCB_OK);
	b->operand_count = op->operands(&b->problem, b->operand);
	b->output = tcb_operand_output(b->operand, b->operand_count);
	b->weights = tcb_operand_weights(b->operand, b->operand_count);
	for (size_t i = 0; i < b->operand_count; i++)
		b->data[i] = test_malloc(b->operand[i].bytes);
	b->output_align = 4;
	b->outputs = b->operand[b->output].rows * b->operand[b->output].cols;
	op->fill(&b->problem, seed, b->data);
	b->reference.y = test_malloc(b->outputs * sizeof(double));
	b->reference.magnitude = test_malloc(b->outputs * sizeof(double));
	b->reference.extra = test_malloc(b->outputs * sizeof(double));
	op->reference(&b->problem, b->data, &b->reference);
}

static inline void gpu_bench_close(struct gpu_bench *b)
{
	for (size_t i = 0; i < b->operand_count; i++)
		test_free(b->data[i]);
	test_free(b->reference.y);
	test_free(b->reference.magnitude);
	test_free(b->reference.extra);
}

static inline void gpu_bench_see(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct gpu_bench *b = ctx;
	if (finding->severity == TCB_PTX_ERROR && !b->findings++)
		snprintf(b->message, sizeof b->message, "%s", finding->message);
}

/* Launches KERNEL once: every launch of it in order. */
static inline void gpu_bench_launch(struct gpu_bench *b, const struct tcb_kernel *kernel, struct tcb_ptx_memory *memory,
				    const uint64_t address[], uint64_t workspace, uint64_t seed)
{
	const struct tcb_ptx_sink sink = { gpu_bench_see, b };
	for (size_t i = 0; i < kernel->launch_count && !b->findings; i++) {
		const struct tcb_launch *l = &kernel->launch[i];
		struct tcb_ptx_function *function = tcb_ptx_function_find(kernel->module, l->entry);
		struct tcb_ptx_program *program;
		struct tcb_ptx_emulation result = { 0 };
		struct tcb_error err = { 0 };
		unsigned char params[TCB_PARAMETERS_MAX];
		const size_t bytes = tcb_launch_parameters(l, address, workspace, params, sizeof params);
		struct tcb_ptx_launch launch = { .dynamic_shared = l->shared_bytes,
						 .params = params,
						 .param_bytes = bytes,
						 .step_limit = UINT64_C(1) << 24,
						 .seed = seed };
		memcpy(launch.grid, l->grid, sizeof launch.grid);
		memcpy(launch.block, l->block, sizeof launch.block);
		memcpy(launch.cluster, l->cluster, sizeof launch.cluster);
		assert_non_null(function);
		assert_int_equal(bytes, tcb_ptx_param_total(function));
		if (tcb_ptx_program_create(function, &program, &err) != TCB_OK)
			fail_msg("%s", err.message);
		if (tcb_ptx_emulate(program, &launch, memory, &sink, &result, &err) != TCB_OK)
			fail_msg("%s", err.message);
		b->threads += result.total.threads;
		tcb_ptx_program_destroy(program);
	}
}

/*
 * Runs KERNEL twice with one workspace; the largest error over what is allowed, or infinity when the runs differ or the
 * emulator found something (see b->findings and b->message).
 */
static inline double gpu_bench_run(struct gpu_bench *b, const struct tcb_kernel *kernel, uint64_t seed)
{
	const size_t workspace_bytes = kernel->workspace_bytes ? kernel->workspace_bytes : 4;
	const size_t y_bytes = b->operand[b->output].bytes;
	uint64_t address[TCB_OPERANDS_MAX], workspace;
	struct tcb_ptx_memory *memory;
	unsigned char *packed = NULL, *scratch = test_malloc(workspace_bytes);
	unsigned char *y[2] = { test_malloc(y_bytes), test_malloc(y_bytes) };
	float *got = test_malloc(b->outputs * sizeof *got);
	double ratio = 0;
	memset(scratch, 0, workspace_bytes);
	if (kernel->packed_bytes) {
		packed = test_malloc(kernel->packed_bytes);
		b->op->pack(&b->problem, (enum tcb_layout)kernel->geometry.knob[TCB_KNOB_LAYOUT], b->data[b->weights],
			    packed);
	}
	b->findings = b->threads = 0;
	for (int run = 0; run < 2; run++) {
		assert_int_equal(tcb_ptx_memory_create(&memory, NULL), TCB_OK);
		memset(y[run], 0xff, y_bytes);
		for (size_t i = 0; i < b->operand_count; i++) {
			const int is_output = (int)i == b->output, is_packed = (int)i == b->weights && packed;
			void *host = is_output ? y[run] : is_packed ? packed : b->data[i];
			const size_t bytes = is_packed ? kernel->packed_bytes : b->operand[i].bytes;
			assert_int_equal(tcb_ptx_memory_add(memory, b->operand[i].name, host, bytes,
							    is_output ? b->output_align : 16,
							    is_output ? TCB_PTX_MAY_WRITE : TCB_PTX_READ_ONLY,
							    &address[i], NULL),
					 TCB_OK);
		}
		assert_int_equal(tcb_ptx_memory_add(memory, "workspace", scratch, workspace_bytes, 256,
						    TCB_PTX_MAY_WRITE, &workspace, NULL),
				 TCB_OK);
		gpu_bench_launch(b, kernel, memory, address, workspace, seed + (uint64_t)run);
		tcb_ptx_memory_destroy(memory);
	}
	tcb_elements_to_f32(b->operand[b->output].type, y[0], b->outputs, got);
	ratio = tcb_kernel_error_ratio(kernel, &b->reference, got, b->outputs, NULL);
	b->first = got[0];
	if (b->findings || memcmp(y[0], y[1], y_bytes) != 0)
		ratio = INFINITY;
	test_free(got);
	test_free(y[0]);
	test_free(y[1]);
	test_free(scratch);
	test_free(packed);
	return ratio;
}

#endif
